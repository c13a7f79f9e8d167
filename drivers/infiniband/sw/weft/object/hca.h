/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a device with an InfiniBand port has: a channel adapter as the fabric and its
 * subnet manager see it. No code.
 */
#ifndef WEFT_OBJECT_HCA_H
#define WEFT_OBJECT_HCA_H

#include <linux/workqueue.h>

#include "fabric/node.h"
#include "fabric/trap.h"

struct weft_dev;
struct weft_fabric;

/**
 * struct weft_hca - a channel adapter
 * @dev: the device
 * @port: its one port
 * @node: what the agents answer with
 * @traps: what there is to tell the subnet manager
 * @fabric: which @port is connected with; under RTNL
 * @leaving: the device is being removed, or moves to another namespace
 * @rx: packets of this host for the port, to be received by @rx_work
 * @rx_work: receives what came from the turn of a QP
 */
struct weft_hca {
	struct weft_dev		*dev;
	struct weft_ibport	port;
	struct weft_ibnode	node;
	struct weft_traps	traps;
	struct weft_fabric	*fabric;
	bool			leaving;
	struct sk_buff_head	rx;
	struct work_struct	rx_work;
};

#endif /* WEFT_OBJECT_HCA_H */
