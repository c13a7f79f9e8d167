/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The part of a device that exists only with an InfiniBand port: a channel adapter as the
 * fabric and its subnet manager see it.
 */
#ifndef WEFT_OBJECT_HCA_H
#define WEFT_OBJECT_HCA_H

#include <linux/workqueue.h>

#include "fabric/node.h"
#include "fabric/trap.h"

struct weft_dev;
struct weft_fabric;

struct weft_hca {
	struct weft_dev		*dev;
	struct weft_ibport	port;
	struct weft_ibnode	node;		/* answers of the management agents */
	struct weft_traps	traps;		/* to be sent to the subnet manager */
	struct weft_fabric	*fabric;	/* that @port is connected to; under RTNL */
	bool			leaving;	/* being removed, or moved to another namespace */
	struct sk_buff_head	rx;		/* from this host to this port, for @rx_work */
	struct work_struct	rx_work;	/* receives packets sent with a turn owned */
};

#endif /* WEFT_OBJECT_HCA_H */
