/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An underlay: what takes frames from host to host. There are two, Ethernet (fabric/ether.h)
 * and UDP (fabric/tunnel.h).
 */
#ifndef WEFT_FABRIC_UNDERLAY_H
#define WEFT_FABRIC_UNDERLAY_H

#include <linux/types.h>

#include "fabric/frame.h"

struct net_device;
struct sk_buff;
struct weft_underlay;
struct weft_underlay_addr;

/**
 * struct weft_underlay_ops - one kind of it
 *
 * A frame that does not get away is as good as lost.
 *
 * @open: frames may come from now on. Context: process, RTNL is held. Return: 0, or why not.
 * @close: none comes any more, none is sent any more, when it returns. Context: process,
 *	sleeps; RTNL may be held.
 * @update: the net device has gone up or down, while it is open. Context: process, RTNL is
 *	held.
 * @send: a frame, sealed, to an address; while it is open. Belongs to the callee. Context:
 *	any but hard interrupts.
 * @send_all: the same to all that there may be
 * @max_frame: bytes of a frame that get to an address, or with NULL that can be received.
 *	Context: process, with NULL any. Return: 0: there is no way.
 * @destroy: free it; it is closed. Context: process, sleeps; RTNL may be held.
 * @head: bytes in front of a frame, beside those of the net device
 */
struct weft_underlay_ops {
	int (*open)(struct weft_underlay *underlay);
	void (*close)(struct weft_underlay *underlay);
	void (*update)(struct weft_underlay *underlay);
	void (*send)(struct weft_underlay *underlay, const struct weft_underlay_addr *to,
		     struct sk_buff *skb);
	void (*send_all)(struct weft_underlay *underlay, struct sk_buff *skb);
	u32 (*max_frame)(struct weft_underlay *underlay, const struct weft_underlay_addr *to);
	void (*destroy)(struct weft_underlay *underlay);
	u16 head;
};

/**
 * struct weft_underlay - what takes frames from host to host
 * @ops: what kind it is
 * @ndev: net device; who has made it keeps it
 * @idle: nobody else can be on the net device: it is not to be opened
 * @receive: a frame has come, not shared, perhaps not in one piece, and nobody's: it has no
 *	destructor; belongs to the callee. Soft interrupt, RCU read side. Set by who opens it.
 * @context: first argument of @receive
 */
struct weft_underlay {
	const struct weft_underlay_ops *ops;
	struct net_device	*ndev;
	bool			idle;
	void (*receive)(void *context, const struct weft_underlay_addr *from, struct sk_buff *skb);
	void			*context;
};

/**
 * weft_underlay_headroom - what is to be left around a frame
 * @underlay: that is to take it
 *
 * Return: bytes before and behind it.
 */
struct weft_frame_headroom weft_underlay_headroom(const struct weft_underlay *underlay);

/**
 * weft_underlay_send - seal a frame and send it
 * @underlay: open
 * @to: where
 * @frame: from weft_frame_build(); belongs to the callee
 *
 * Context: any but hard interrupts.
 */
void weft_underlay_send(struct weft_underlay *underlay, const struct weft_underlay_addr *to,
			struct sk_buff *frame);

/**
 * weft_underlay_send_all - seal a frame and send it to everybody
 * @underlay: open
 * @frame: from weft_frame_build(); belongs to the callee
 *
 * Context: any but hard interrupts.
 */
void weft_underlay_send_all(struct weft_underlay *underlay, struct sk_buff *frame);

#endif /* WEFT_FABRIC_UNDERLAY_H */
