/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A node of a fabric, a channel adapter or a switch, as its management agents see it. */
#ifndef WEFT_FABRIC_NODE_H
#define WEFT_FABRIC_NODE_H

#include <rdma/ib_smi.h>

#include "fabric/port.h"

struct weft_ibnode;

/* External ports of a switch, which do not include port 0. */
#define WEFT_SWITCH_PORTS	36

/* NodeType (IBA 14.2.5.3) */
#define WEFT_NODE_CA		1
#define WEFT_NODE_SWITCH	2

/* A node. Only the text at @desc changes. */
struct weft_ibnode {
	u8			type;		/* WEFT_NODE_* */
	u8			num_ports;	/* external ports */
	__be64			guid;		/* node GUID and system image GUID */
	u32			vendor_id;	/* OUI */
	u16			device_id;
	u32			revision;
	/* NodeDescription: 64 bytes, padded with zeros; may change while it is read. */
	const char		*desc;
	/* By port number. [0] is the switch's own port; NULL in a channel adapter. */
	struct weft_ibport	*port[WEFT_SWITCH_PORTS + 1];
	/*
	 * Get or Set (@smp->method) SwitchInfo, LinearForwardingTable or
	 * MulticastForwardingTable in @smp->data. On an error it sets @smp->status. Returns
	 * false for any other attribute. NULL in a channel adapter. May be called with bottom
	 * halves off; does not take the lock of a port.
	 */
	bool (*switch_attribute)(struct weft_ibnode *node, struct ib_smp *smp);
};

#endif /* WEFT_FABRIC_NODE_H */
