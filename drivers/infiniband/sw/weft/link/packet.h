/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The buffer of a packet on its way out, from the BTH to the ICRC.
 */
#ifndef WEFT_LINK_PACKET_H
#define WEFT_LINK_PACKET_H

#include <linux/types.h>

struct sk_buff;
struct weft_hdr;
struct weft_run;

/**
 * weft_packet_build - make a packet, but for the ICRC
 * @run: whose packet it is; @run->payload is advanced
 * @hdr: its headers
 * @length: bytes of payload
 * @room: bytes to be left free in front
 *
 * Context: the turn of @run->flow is owned.
 * Return: the buffer, or NULL; then @run->payload may be anywhere.
 */
struct sk_buff *weft_packet_build(const struct weft_run *run, const struct weft_hdr *hdr,
				  u32 length, u32 room);

/**
 * weft_packet_seal - compute the ICRC
 * @skb: from weft_packet_build(), with headers in front
 * @bth: where its BTH is
 * @crc: of all up to the end of the BTH, see wire/icrc.h
 */
void weft_packet_seal(struct sk_buff *skb, const void *bth, u32 crc);

#endif /* WEFT_LINK_PACKET_H */
