/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The management agents of a switch. */
#ifndef WEFT_FABRIC_AGENT_H
#define WEFT_FABRIC_AGENT_H

#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include "fabric/node.h"
#include "fabric/trap.h"

struct weft_fdb;
struct weft_ibport;

struct weft_agent {
	struct weft_ibnode	*node;
	struct weft_fdb		*fdb;
	struct sk_buff_head	queue;
	struct workqueue_struct	*workqueue;	/* runs @work and the work of @traps */
	struct work_struct	work;		/* processes @queue */
	struct weft_traps	traps;
};

int weft_agent_init(struct weft_agent *agent, struct weft_ibnode *node, struct weft_fdb *fdb);
void weft_agent_exit(struct weft_agent *agent);
void weft_agent_receive(struct weft_agent *agent, struct weft_ibport *port, struct sk_buff *skb);
void weft_agent_link_changed(struct weft_agent *agent);

#endif /* WEFT_FABRIC_AGENT_H */
