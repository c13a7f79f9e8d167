/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Differences between kernels in the state that GRO keeps in a packet. */
#ifndef WEFT_COMPAT_GRO_H
#define WEFT_COMPAT_GRO_H

#include <net/gro.h>

/* Bytes from the start of the data to the network header. */
static inline u32 compat_gro_network_offset(const struct sk_buff *skb)
{
#ifdef COMPAT_HAS_GRO_NETWORK_OFFSET
	return NAPI_GRO_CB(skb)->network_offset;
#else
	return skb_network_offset(skb);
#endif
}

#endif /* WEFT_COMPAT_GRO_H */
