/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node of a fabric: a channel adapter or a switch, as its management agents see it.
 * No code.
 */
#ifndef WEFT_FABRIC_NODE_H
#define WEFT_FABRIC_NODE_H

#include <rdma/ib_smi.h>

#include "fabric/port.h"

struct weft_ibnode;

/* Ports of a switch, its own (number 0) not counted. */
#define WEFT_SWITCH_PORTS	36

/* NodeType (IBA 14.2.5.3) */
#define WEFT_NODE_CA		1
#define WEFT_NODE_SWITCH	2

/**
 * struct weft_ibnode - a node
 *
 * Immutable but @desc.
 *
 * @type: WEFT_NODE_CA or WEFT_NODE_SWITCH
 * @num_ports: external ports
 * @guid: node GUID; also the system image's
 * @vendor_id: OUI
 * @device_id: what the vendor calls it
 * @revision: of it
 * @desc: node description, 64 bytes, padded with zeros; may change while it is read
 * @port: by number; [0] is a switch's own, and NULL in a channel adapter
 * @switch_attribute: switch: Get or Set of SwitchInfo, LinearForwardingTable or
 *	MulticastForwardingTable, in @smp->data; @smp->method says which of the two. Sets
 *	@smp->status where it has to. Returns false: there is no such attribute. NULL in a
 *	channel adapter. May be called with bottom halves off; takes no lock of a port.
 */
struct weft_ibnode {
	u8			type;
	u8			num_ports;
	__be64			guid;
	u32			vendor_id;
	u16			device_id;
	u32			revision;
	const char		*desc;
	struct weft_ibport	*port[WEFT_SWITCH_PORTS + 1];
	bool (*switch_attribute)(struct weft_ibnode *node, struct ib_smp *smp);
};

#endif /* WEFT_FABRIC_NODE_H */
