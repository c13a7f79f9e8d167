/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The forwarding data base of a switch: SwitchInfo, and the tables that the subnet
 * manager sets by blocks. Read without a lock, by each packet.
 */
#ifndef WEFT_FABRIC_FDB_H
#define WEFT_FABRIC_FDB_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_smi.h>

#include "fabric/node.h"

/* Entries: all unicast LIDs, and the multicast LIDs from WEFT_LID_MCAST on. */
#define WEFT_FDB_LIDS		WEFT_LID_MCAST
#define WEFT_FDB_MLIDS		1024
/* No port: what is sent there is dropped. */
#define WEFT_FDB_NONE		0xff

/**
 * struct weft_fdb - forwarding data base
 * @lock: who writes holds it
 * @top: LinearFDBTop: the last LID that is forwarded
 * @defaults: DefaultPort, DefaultMulticastPrimaryPort and -NotPrimaryPort; kept, of no
 *	effect: there is no random table, and multicast LIDs have no default
 * @life_time: LifeTimeValue; kept: a packet does not get old in here
 * @state_change: bit 0: PortStateChange
 * @mcast: bitmap of ports by multicast LID
 * @linear: port by LID
 */
struct weft_fdb {
	spinlock_t	lock;
	u16		top;
	u8		defaults[3];
	u8		life_time;
	unsigned long	state_change;
	u64		mcast[WEFT_FDB_MLIDS];
	u8		linear[WEFT_FDB_LIDS];
};

/**
 * weft_fdb_create - make one that forwards nothing
 *
 * Context: process, may sleep.
 * Return: it, or NULL: no memory. For weft_fdb_destroy().
 */
struct weft_fdb *weft_fdb_create(void);

/**
 * weft_fdb_destroy - free it
 * @fdb: nobody reads it any more
 */
void weft_fdb_destroy(struct weft_fdb *fdb);

/**
 * weft_fdb_port - by which port a packet leaves
 * @fdb: the tables
 * @lid: its destination, any
 *
 * Return: number of the port, 0: the switch itself; WEFT_FDB_NONE: by none.
 */
u8 weft_fdb_port(const struct weft_fdb *fdb, u16 lid);

/**
 * weft_fdb_ports - by which ports a multicast packet leaves
 * @fdb: the tables
 * @lid: its destination, WEFT_LID_MCAST or more
 *
 * Return: bitmap of ports, 0: by none.
 */
u64 weft_fdb_ports(const struct weft_fdb *fdb, u16 lid);

/**
 * weft_fdb_attribute - Get or Set an attribute that is about forwarding
 * @fdb: the tables
 * @smp: see weft_ibnode.switch_attribute; its method may be the one of the answer
 * @set: whether it is a Set
 *
 * Context: any but hard interrupts.
 * Return: false: there is no such attribute.
 */
bool weft_fdb_attribute(struct weft_fdb *fdb, struct ib_smp *smp, bool set);

#endif /* WEFT_FABRIC_FDB_H */
