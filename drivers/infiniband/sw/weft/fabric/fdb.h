/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The forwarding database of a switch: SwitchInfo and the forwarding tables, which the subnet
 * manager sets in blocks. The data path reads it without a lock.
 */
#ifndef WEFT_FABRIC_FDB_H
#define WEFT_FABRIC_FDB_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_smi.h>

#include "fabric/node.h"

/* Table sizes: all unicast LIDs, and the multicast LIDs from WEFT_LID_MCAST on. */
#define WEFT_FDB_LIDS		WEFT_LID_MCAST
#define WEFT_FDB_MLIDS		1024
/* Not a port: packets for a LID with this entry are dropped. */
#define WEFT_FDB_NONE		0xff

struct weft_fdb {
	spinlock_t	lock;		/* serializes writers */
	u16		top;		/* LinearFDBTop: the last LID that is forwarded */
	/*
	 * DefaultPort, DefaultMulticastPrimaryPort and DefaultMulticastNotPrimaryPort. Stored
	 * without effect: there is no random table, and unknown multicast LIDs are dropped.
	 */
	u8		defaults[3];
	u8		life_time;	/* LifeTimeValue; stored without effect */
	unsigned long	state_change;	/* bit 0: PortStateChange */
	u64		mcast[WEFT_FDB_MLIDS];	/* bitmap of ports */
	u8		linear[WEFT_FDB_LIDS];	/* port number */
};

/* Make a database without routes. May sleep; returns NULL without memory. */
struct weft_fdb *weft_fdb_create(void);
void weft_fdb_destroy(struct weft_fdb *fdb);

u8 weft_fdb_port(const struct weft_fdb *fdb, u16 lid);
u64 weft_fdb_ports(const struct weft_fdb *fdb, u16 lid);
bool weft_fdb_attribute(struct weft_fdb *fdb, struct ib_smp *smp, bool set);

#endif /* WEFT_FABRIC_FDB_H */
