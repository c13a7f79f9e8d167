/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The buffer of a packet on its way out, from the BTH to the ICRC.
 */
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

/**
 * weft_packet_build - make a packet, but for the ICRC
 * @batch: whose packet it is; @batch->payload is advanced
 * @hdr: its headers
 * @length: bytes of payload
 * @room: bytes to be left free in front
 * @linear: all of it has to be in one piece
 *
 * The ICRC is zero.
 *
 * Context: the turn of @batch->tx is owned, soft interrupts are off.
 * Return: the buffer, or NULL; then @batch->payload is where it was.
 */
struct sk_buff *weft_packet_build(const struct weft_tx_batch *batch, const struct weft_hdr *hdr,
				  u32 length, u32 room, bool linear);

/**
 * weft_packet_seal - compute the ICRC
 * @skb: from weft_packet_build(), with headers in front
 * @bth: where its BTH is
 * @crc: of all up to the end of the BTH, see wire/icrc.h
 */
void weft_packet_seal(struct sk_buff *skb, const void *bth, u32 crc);

/**
 * weft_packet_header - what is different in the packets of a batch
 * @batch: the batch
 * @i: number of the packet
 * @hdr: result; that of the packet before, of the first one @batch->hdr
 *
 * Return: bytes of payload it has.
 */
u32 weft_packet_header(const struct weft_tx_batch *batch, u32 i, struct weft_hdr *hdr);

/**
 * weft_packet_lost - packets of a batch do not leave, and are not tried again
 * @batch: the batch; @batch->payload is where that of the first one begins, and is advanced
 * @i: number of the first one
 * @packets: how many
 *
 * Context: the turn of @batch->tx is owned.
 */
void weft_packet_lost(struct weft_tx_batch *batch, u32 i, u32 packets);

/**
 * weft_packet_datagram - send a UD message as the one packet it is, or an LSO as several
 * @qp: send turn owned; the memory is in @qp->send.sgl
 * @dgram: the datagram
 * @xmit: sends a batch, see struct weft_link
 *
 * Return: as weft_link.datagram.
 */
enum weft_verdict weft_packet_datagram(struct weft_qp *qp, struct weft_datagram *dgram,
				       u32 (*xmit)(struct weft_tx_batch *batch));

#endif /* WEFT_LINK_PACKET_H */
