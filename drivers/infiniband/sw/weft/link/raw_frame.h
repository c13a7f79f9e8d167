/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Frames as RAW_PACKET QPs get them: as they are on a wire. */
#ifndef WEFT_LINK_RAW_FRAME_H
#define WEFT_LINK_RAW_FRAME_H

#include <linux/skbuff.h>

struct weft_flow_key;

u16 weft_raw_frame_network(const void *frame, u32 length, u32 *offset);
void weft_raw_frame_key(struct weft_flow_key *key, const struct sk_buff *skb, u32 mac);
struct sk_buff *weft_raw_frames(struct sk_buff *skb, u32 mac);
void weft_raw_frames_free(struct sk_buff *list);

/* A frame of weft_raw_frames(): are the checksums of IPv4 and of TCP or UDP right? */
static inline bool weft_raw_frame_csum_ok(const struct sk_buff *skb)
{
	return skb->cb[0];
}

bool weft_raw_frame_inner_csum_ok(const struct sk_buff *skb);

#endif /* WEFT_LINK_RAW_FRAME_H */
