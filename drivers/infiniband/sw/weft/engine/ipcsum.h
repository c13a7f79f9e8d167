/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checksums of IPv4, TCP and UDP in the packets of IPoIB, for consumers that leave them to the
 * adapter: IB_SEND_IP_CSUM and IB_WC_IP_CSUM_OK.
 *
 * A packet is the payload of a datagram: the four bytes of RFC 4391, which contain the EtherType,
 * then IPv4, or IPv6 without extension headers.
 */
#ifndef WEFT_ENGINE_IPCSUM_H
#define WEFT_ENGINE_IPCSUM_H

#include <linux/types.h>

struct weft_iter;

/* Bytes in front of the IP header (RFC 4391). */
#define WEFT_IPCSUM_ENCAP	4U

/*
 * Store the checksums of a packet, whatever is in their fields. A fragment, or a packet of another
 * protocol than TCP and UDP, gets only the checksum of IPv4. Bytes that are no packet, or are fewer
 * than their headers say, are left alone.
 */
void weft_ipcsum_fill(void *packet, u32 length);

/*
 * Are the checksums of TCP or UDP, and of IPv4, right? Also false if there is none to verify: the
 * packet is a fragment or of another protocol, or UDP has left its checksum out. @packet has at
 * least @length bytes left.
 */
bool weft_ipcsum_verify(struct weft_iter packet, u32 length);

#endif /* WEFT_ENGINE_IPCSUM_H */
