/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Checksums of IPv4, TCP and UDP in the packets of IPoIB (IB_SEND_IP_CSUM, IB_WC_IP_CSUM_OK). */
#ifndef WEFT_ENGINE_IPCSUM_H
#define WEFT_ENGINE_IPCSUM_H

#include <linux/types.h>

struct weft_iter;

/* Bytes in front of the IP header (RFC 4391). */
#define WEFT_IPCSUM_ENCAP	4U

void weft_ipcsum_fill(void *packet, u32 length);
void weft_ipcsum_fill_typed(void *packet, u32 type, u32 length);
bool weft_ipcsum_verify(struct weft_iter packet, u32 length);
bool weft_ipcsum_verify_linear(const void *packet, u32 type, u32 length);
bool weft_ipcsum_verify_tunnel(const void *packet, u32 type, u32 length);

#endif /* WEFT_ENGINE_IPCSUM_H */
