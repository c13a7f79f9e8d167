/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An underlay carries frames from host to host. There are two kinds: Ethernet (fabric/ether.h)
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
 * struct weft_underlay_ops - the functions of one kind of underlay
 *
 * Sending reports no errors: a frame that could not be sent counts as lost on the way.
 *
 * @open: start to receive. Context: process, RTNL is held. Return: 0 or an error.
 * @close: stop; when it returns, no frame is received or sent any more. Context: process,
 *	sleeps; RTNL may be held.
 * @update: the net device of an open underlay went up or down. Context: process, RTNL is held.
 * @send: send a sealed frame, which belongs to the callee, to an address. The underlay is open.
 *	Context: any but hard interrupts.
 * @send_all: the same, to all hosts that the underlay reaches
 * @max_frame: length in bytes of the longest frame that reaches an address, or, with NULL, that
 *	can be received. Context: process; with NULL any. Return: 0 if the address cannot be
 *	reached.
 * @destroy: free a closed underlay. Context: process, sleeps; RTNL may be held.
 * @head: headroom in bytes that a frame needs in addition to that of the net device
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

struct weft_underlay {
	const struct weft_underlay_ops *ops;
	struct net_device	*ndev;	/* the creator of the underlay holds the reference */
	bool			idle;	/* no other host can be on @ndev: do not open it */
	/*
	 * Called for each frame, in soft interrupt and RCU read side. Set, like @context, before
	 * the underlay is opened. The frame belongs to the callee. It is not shared, has no
	 * destructor, and may be nonlinear.
	 */
	void (*receive)(void *context, const struct weft_underlay_addr *from, struct sk_buff *skb);
	void			*context;
};

struct weft_frame_headroom weft_underlay_headroom(const struct weft_underlay *underlay);

/* Seal and send a frame, which belongs to the callee. Any context but hard interrupts. */
void weft_underlay_send(struct weft_underlay *underlay, const struct weft_underlay_addr *to,
			struct sk_buff *frame);
void weft_underlay_send_all(struct weft_underlay *underlay, struct sk_buff *frame);

#endif /* WEFT_FABRIC_UNDERLAY_H */
