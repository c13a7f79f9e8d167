/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The management agents of a switch: they take the packets that are for the switch itself,
 * in a queue, answer them or send them on along their directed routes, and send traps.
 */
#ifndef WEFT_FABRIC_AGENT_H
#define WEFT_FABRIC_AGENT_H

#include <linux/skbuff.h>
#include <linux/workqueue.h>

#include "fabric/node.h"
#include "fabric/trap.h"

struct weft_fdb;
struct weft_ibport;

/**
 * struct weft_agent - the agents of a switch
 * @node: the switch
 * @fdb: its tables
 * @queue: packets for it; of those that came last the port is in their control block
 * @workqueue: runs @work, and the traps
 * @work: takes what is in @queue
 * @traps: what there is to tell
 */
struct weft_agent {
	struct weft_ibnode	*node;
	struct weft_fdb		*fdb;
	struct sk_buff_head	queue;
	struct workqueue_struct	*workqueue;
	struct work_struct	work;
	struct weft_traps	traps;
};

/**
 * weft_agent_init - make the agents
 * @agent: zeroed memory
 * @node: a switch, complete; stays
 * @fdb: its tables; stay
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int weft_agent_init(struct weft_agent *agent, struct weft_ibnode *node,
		    struct weft_fdb *fdb);

/**
 * weft_agent_exit - end the agents
 * @agent: nobody calls the functions below any more, nor will
 *
 * What is in the queue is dropped. Does nothing if weft_agent_init() failed.
 *
 * Context: process, sleeps.
 */
void weft_agent_exit(struct weft_agent *agent);

/**
 * weft_agent_receive - a packet for the switch
 * @agent: its agents
 * @port: by which it came
 * @skb: belongs to the callee
 *
 * When the queue is full it is dropped, and counted as WEFT_IBC_VL15_DROPPED. What is not on
 * that lane is dropped when it is half full, WEFT_IBC_RCV_ERRORS, and always if it is not for
 * QP 1, WEFT_IBC_RELAY_ERRORS: there is no other QP here.
 *
 * Context: any but hard interrupts.
 */
void weft_agent_receive(struct weft_agent *agent, struct weft_ibport *port,
			struct sk_buff *skb);

/**
 * weft_agent_link_changed - a port went down, or came up
 * @agent: agents of its switch
 *
 * SwitchInfo says so until the subnet manager has seen it, and it gets a trap.
 *
 * Context: any but hard interrupts.
 */
void weft_agent_link_changed(struct weft_agent *agent);

#endif /* WEFT_FABRIC_AGENT_H */
