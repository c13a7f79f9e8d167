/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cable to a node of another host, this end of it: fabric/arq.h, with an underlay, a timer and a
 * port. The other kind of cable, between two ports of this host, is fabric/local_cable.h.
 */
#ifndef WEFT_FABRIC_REMOTE_H
#define WEFT_FABRIC_REMOTE_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "fabric/arq.h"
#include "fabric/port.h"
#include "fabric/underlay_addr.h"

struct weft_underlay;

/**
 * struct weft_remote_param - what a cable is made with
 * @wq: has memory of its own: memory may be written out by the cable
 * @underlay: takes its frames
 * @port: where it is to be plugged in
 * @to: where the other end is
 * @nonce: of this end
 * @heard: of the other end
 * @max_frame: see struct weft_arq_param
 * @abandon: the cable is @useless from now on; any context but hard interrupts, perhaps with
 *	locks held, and perhaps several times
 * @context: argument of @abandon
 */
struct weft_remote_param {
	struct workqueue_struct	*wq;
	struct weft_underlay	*underlay;
	struct weft_ibport	*port;
	struct weft_underlay_addr	to;
	u32			nonce;
	u32			heard;
	u32			max_frame;
	void (*abandon)(void *context);
	void			*context;
};

/**
 * struct weft_remote - a cable to another node
 * @cable: that is plugged in
 * @arq: this end of it
 * @timer: of @arq
 * @work: hands on what @arq has left over
 * @param: immutable
 * @max_frame: what the other end takes, as it said last; anybody
 * @heard_at: jiffies when a frame came by it last; anybody
 * @useless: it is to be pulled out: the other end does not acknowledge, or management
 *	has taken the link down; set once, by anybody
 */
struct weft_remote {
	struct weft_cable	cable;
	struct weft_arq		arq;
	struct hrtimer		timer;
	struct work_struct	work;
	struct weft_remote_param param;
	u16			max_frame;
	unsigned long		heard_at;
	bool			useless;
};

/**
 * weft_remote_create - make a cable
 * @param: copied
 *
 * Context: process; memory may be written out by this very cable.
 * Return: the cable, plugged in nowhere, or NULL: no memory.
 */
struct weft_remote *weft_remote_create(const struct weft_remote_param *param);

/**
 * weft_remote_is - does a frame have the nonces of a cable?
 * @remote: the cable
 * @frame: header of a frame; NULL: of any
 * @from: who sent it
 *
 * Return: true when it comes by that cable.
 */
bool weft_remote_is(const struct weft_remote *remote, const struct weft_frame *frame,
		    const struct weft_underlay_addr *from);

/**
 * weft_remote_receive - a frame has come by a cable
 * @remote: the cable
 * @frame: its header: DATA or ACK
 * @skb: what follows the header, no padding; not shared. Belongs to the callee.
 *
 * Context: soft interrupt, RCU read side.
 */
void weft_remote_receive(struct weft_remote *remote, const struct weft_frame *frame,
			 struct sk_buff *skb);

/**
 * weft_remote_plug - plug a cable into its port
 * @remote: the cable
 *
 * Context: process.
 */
void weft_remote_plug(struct weft_remote *remote);

/**
 * weft_remote_pull - pull a cable out of its port, and say good-bye
 * @remote: plugged in; no frame is given to it any more
 *
 * Context: process, sleeps.
 */
void weft_remote_pull(struct weft_remote *remote);

/**
 * weft_remote_free - free a cable
 * @remote: has been pulled out, and a grace period has passed
 */
void weft_remote_free(struct weft_remote *remote);

#endif /* WEFT_FABRIC_REMOTE_H */
