/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Socket buffers of packets to be sent, from the BTH to the ICRC. */
#ifndef WEFT_LINK_PACKET_H
#define WEFT_LINK_PACKET_H

#include <linux/types.h>

struct sk_buff;
struct weft_answer;
struct weft_datagram;
struct weft_hdr;
struct weft_qp;
struct weft_tx_batch;
struct weft_sgl;

/*
 * Make a packet of @batch, with an ICRC of zero and @room bytes of headroom, and advance
 * @batch->payload by @length. @linear: the packet must be in one piece. The turn of @batch->tx is
 * owned, bottom halves are off. Returns NULL without memory; then @batch->payload has not moved.
 */
struct sk_buff *weft_packet_build(const struct weft_tx_batch *batch, const struct weft_hdr *hdr,
				  u32 length, u32 room, bool linear);

/*
 * Compute and store the ICRC. @skb is from weft_packet_build(), with headers in front, and its BTH
 * at @bth. @crc covers everything up to the end of the BTH, see wire/icrc.h.
 */
void weft_packet_seal(struct sk_buff *skb, const void *bth, u32 crc);

/*
 * Update the headers for packet number @i of a batch. @hdr has those of the packet before, or
 * @batch->hdr. Returns its bytes of payload.
 */
u32 weft_packet_header(const struct weft_tx_batch *batch, u32 i, struct weft_hdr *hdr);

/*
 * Count packets @i to @i + @packets of a batch as lost; they are not tried again. @batch->payload
 * is at the first of them, and is advanced. The turn of @batch->tx is owned.
 */
void weft_packet_lost(struct weft_tx_batch *batch, u32 i, u32 packets);

/*
 * weft_link.datagram of links with packets: send a UD message as one packet, or an LSO as several,
 * by @xmit (see struct weft_link). The memory is in @qp->send.sgl.
 */
enum weft_verdict weft_packet_datagram(struct weft_qp *qp, struct weft_datagram *dgram,
				       u32 (*xmit)(struct weft_tx_batch *batch));

#endif /* WEFT_LINK_PACKET_H */
