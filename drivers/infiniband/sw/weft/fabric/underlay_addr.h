/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The underlay address of a node on another host, and lists of such addresses as text. */
#ifndef WEFT_FABRIC_UNDERLAY_ADDR_H
#define WEFT_FABRIC_UNDERLAY_ADDR_H

#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <linux/types.h>

#include "params.h"

/* Bytes that a member does not cover are zero, so addresses are compared as a whole. */
struct weft_underlay_addr {
	union {
		u8		mac[ETH_ALEN];	/* Ethernet */
		struct in6_addr	ip;		/* UDP; IPv4 is mapped (::ffff:192.0.2.1) */
	};
};

struct weft_underlay_addrs {
	u32				num;
	struct weft_underlay_addr	addr[WEFT_UPLINK_PEERS];	/* no duplicates */
};

static inline bool weft_underlay_addr_equal(const struct weft_underlay_addr *a,
					    const struct weft_underlay_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void weft_underlay_addr_set_ipv4(struct weft_underlay_addr *addr, __be32 address);
bool weft_underlay_addr_is_ipv4(const struct weft_underlay_addr *addr);
int weft_underlay_addrs_parse(struct weft_underlay_addrs *list, const char *text);
int weft_underlay_addrs_print(const struct weft_underlay_addrs *list, char *buf, size_t size);

#endif /* WEFT_FABRIC_UNDERLAY_ADDR_H */
