/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The newest kernel's interface to route caches. Without IPv6 it has no functions for IPv6; weft
 * needs them to compile, but then never calls them.
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
