/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Caches of routes, in the newest kernel's words: without IPv6 there are none for it, and
 * nobody asks for one.
 */
#ifndef WEFT_COMPAT_DST_CACHE_H
#define WEFT_COMPAT_DST_CACHE_H

#include <net/dst_cache.h>

#if !IS_ENABLED(CONFIG_IPV6)
static inline struct dst_entry *dst_cache_get_ip6(struct dst_cache *cache, struct in6_addr *saddr)
{
	return NULL;
}

static inline void dst_cache_set_ip6(struct dst_cache *cache, struct dst_entry *dst,
				     const struct in6_addr *saddr)
{
}
#endif

#endif /* WEFT_COMPAT_DST_CACHE_H */
