/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The address of a node on another host, and lists of such addresses as users write them.
 */
#ifndef WEFT_FABRIC_UNDERLAY_ADDR_H
#define WEFT_FABRIC_UNDERLAY_ADDR_H

#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <linux/types.h>

#include "params.h"

/**
 * struct weft_underlay_addr - where a node on another host is
 *
 * What a member leaves of it is zero, so addresses are compared as a whole.
 *
 * @mac: on the same Ethernet
 * @ip: behind routers; an address of IPv4 is mapped (::ffff:192.0.2.1)
 */
struct weft_underlay_addr {
	union {
		u8		mac[ETH_ALEN];
		struct in6_addr	ip;
	};
};

/**
 * struct weft_underlay_addrs - addresses of hosts
 * @num: of them
 * @addr: each is there once
 */
struct weft_underlay_addrs {
	u32				num;
	struct weft_underlay_addr	addr[WEFT_UPLINK_PEERS];
};

static inline bool weft_underlay_addr_equal(const struct weft_underlay_addr *a,
					    const struct weft_underlay_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/**
 * weft_underlay_addr_set_ipv4 - make one of an address
 * @addr: result
 * @address: of IPv4
 */
void weft_underlay_addr_set_ipv4(struct weft_underlay_addr *addr, __be32 address);

/**
 * weft_underlay_addr_is_ipv4 - which kind of address it has
 * @addr: behind routers
 *
 * Return: true: IPv4, false: IPv6.
 */
bool weft_underlay_addr_is_ipv4(const struct weft_underlay_addr *addr);

/**
 * weft_underlay_addrs_parse - read a list of addresses
 * @list: result; not changed if it fails
 * @text: addresses of IPv4 and IPv6, with commas or white space in between; perhaps none
 *
 * Context: may sleep.
 * Return: 0; -EINVAL: something is no address of a host; -E2BIG: too many; -ENOMEM.
 */
int weft_underlay_addrs_parse(struct weft_underlay_addrs *list, const char *text);

/**
 * weft_underlay_addrs_print - write a list of addresses, with spaces in between
 * @list: what to write
 * @buf: result, ends with a newline
 * @size: of @buf
 *
 * Return: bytes.
 */
int weft_underlay_addrs_print(const struct weft_underlay_addrs *list, char *buf, size_t size);

#endif /* WEFT_FABRIC_UNDERLAY_ADDR_H */
