/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* This host's end of a cable to a node of another host. */
#ifndef WEFT_FABRIC_REMOTE_H
#define WEFT_FABRIC_REMOTE_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "fabric/arq.h"
#include "fabric/port.h"
#include "fabric/underlay_addr.h"

struct weft_underlay;

struct weft_remote_param {
	struct workqueue_struct	*wq;	/* WQ_MEM_RECLAIM: memory may be written out by the cable */
	struct weft_underlay	*underlay;
	struct weft_ibport	*port;
	struct weft_underlay_addr	to;	/* of the peer node */
	/* See struct weft_arq_param. */
	u32			nonce;
	u32			heard;
	u32			max_frame;
	/* Called after @useless has been set, perhaps more than once and with locks held. */
	void (*abandon)(void *context);
	void			*context;
};

struct weft_remote {
	struct weft_cable	cable;
	struct weft_arq		arq;
	struct hrtimer		timer;	/* weft_arq_ops.arm */
	struct work_struct	work;	/* weft_arq_ops.more */
	struct weft_remote_param param;	/* immutable */

	/* These three are accessed without a lock. */
	u16			max_frame;	/* of the last HELLO */
	unsigned long		heard_at;	/* jiffies when the last frame came */
	/* To be pulled out: no acknowledgments, or management took the link down. Never cleared. */
	bool			useless;
};

struct weft_remote *weft_remote_create(const struct weft_remote_param *param);
bool weft_remote_is(const struct weft_remote *remote, const struct weft_frame *frame,
		    const struct weft_underlay_addr *from);
void weft_remote_receive(struct weft_remote *remote, const struct weft_frame *frame,
			 struct sk_buff *skb);
void weft_remote_plug(struct weft_remote *remote);
void weft_remote_pull(struct weft_remote *remote);
void weft_remote_free(struct weft_remote *remote);

#endif /* WEFT_FABRIC_REMOTE_H */
