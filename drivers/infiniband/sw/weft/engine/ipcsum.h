/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The checksums of IPv4, TCP and UDP in a packet of IPoIB, computed and verified for those
 * who leave that to the adapter: IB_SEND_IP_CSUM and IB_WC_IP_CSUM_OK.
 *
 * A packet is a datagram's payload: the four bytes of RFC 4391 with the EtherType, then
 * IPv4 or IPv6. The latter has a header that tells TCP or UDP, without extensions.
 */
#ifndef WEFT_ENGINE_IPCSUM_H
#define WEFT_ENGINE_IPCSUM_H

#include <linux/types.h>

struct weft_iter;

/* Bytes of the encapsulation in front of the IP header. */
#define WEFT_IPCSUM_ENCAP	4U

/**
 * weft_ipcsum_fill - store the checksums of a packet
 * @packet: where it is, in one piece
 * @length: bytes
 *
 * Whatever is in their fields does not matter: the pseudo header is made anew. Of a
 * fragment, or of another protocol, only IPv4's own is stored. What is no packet, or is
 * not as long as it says, is left alone.
 */
void weft_ipcsum_fill(void *packet, u32 length);

/**
 * weft_ipcsum_verify - are the checksums of a packet right?
 * @packet: its first byte; at least @length bytes left
 * @length: bytes
 *
 * Return: true: the one of TCP or UDP is, and of IPv4 its own, too. false: one is wrong,
 * or there is none: of UDP it may be left out.
 */
bool weft_ipcsum_verify(struct weft_iter packet, u32 length);

#endif /* WEFT_ENGINE_IPCSUM_H */
