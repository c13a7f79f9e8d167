/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets of one length as one buffer, which the net device cuts up (tx-udp-segmentation). */
#ifndef WEFT_LINK_USO_H
#define WEFT_LINK_USO_H

#include <linux/skbuff.h>

#include "object/tx.h"

struct net_device;

/* Where the next packet is, when a received buffer is taken apart. */
struct weft_uso_cursor {
	const struct sk_buff	*skb;
	u32			offset;		/* from the UDP header */
	u32			fragment;	/* the fragment that it is in, or will be */
	u32			start;		/* where that begins, from the UDP header */
	u32			number;		/* of the packet */
	u32			truesize;	/* of @piece without fragments */
	struct sk_buff		*piece;		/* the last packet, or NULL; referenced */
};

bool weft_uso_fits(const struct net_device *ndev, bool ipv4);
void *weft_uso_add(struct weft_uso *uso, const struct net_device *ndev, u32 size, u32 left);
void weft_uso_close(struct weft_uso *uso, u16 id);
bool weft_uso_open(struct weft_uso_cursor *at, const struct sk_buff *skb);
struct sk_buff *weft_uso_next(struct weft_uso_cursor *at);
const u8 *weft_uso_peek(struct weft_uso_cursor *at, u32 *size);
bool weft_uso_append(struct weft_uso_cursor *at, u32 cut, u32 skip);
void weft_uso_end(struct weft_uso_cursor *at);

/* Have all packets been asked for? */
static inline bool weft_uso_is_done(const struct weft_uso_cursor *at)
{
	return at->offset == at->skb->len;
}

#endif /* WEFT_LINK_USO_H */
