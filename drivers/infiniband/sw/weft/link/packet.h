/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Socket buffers of packets to be sent, from the BTH to the ICRC. */
#ifndef WEFT_LINK_PACKET_H
#define WEFT_LINK_PACKET_H

#include <linux/types.h>

struct sk_buff;
struct weft_datagram;
struct weft_hdr;
struct weft_iter;
struct weft_qp;
struct weft_tx_batch;

void *weft_packet_fragment(u32 size);
struct sk_buff *weft_packet_alloc(u32 head);
void weft_packet_copy(void *at, struct weft_iter *payload, u32 length);
struct sk_buff *weft_packet_build(const struct weft_tx_batch *batch, const struct weft_hdr *hdr,
				  u32 length, u32 room, bool linear);
void weft_packet_seal(struct sk_buff *skb, const void *bth, u32 crc);
u32 weft_packet_header(const struct weft_tx_batch *batch, u32 i, struct weft_hdr *hdr);
void weft_packet_lost(struct weft_tx_batch *batch, u32 i, u32 packets);
void weft_packet_describe(struct weft_qp *qp, const struct weft_datagram *dgram,
			  struct weft_iter *payload, struct weft_tx_batch *batch);
enum weft_verdict weft_packet_datagram(struct weft_qp *qp, struct weft_datagram *dgram,
				       u32 (*xmit)(struct weft_tx_batch *batch));

#endif /* WEFT_LINK_PACKET_H */
