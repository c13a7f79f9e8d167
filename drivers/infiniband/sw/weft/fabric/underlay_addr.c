// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/underlay_addr.h"

#include <linux/in.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#define ADDR_SEPARATORS	", \t\r\n"

void weft_underlay_addr_set_ipv4(struct weft_underlay_addr *addr, __be32 address)
{
	ipv6_addr_set_v4mapped(address, &addr->ip);
}
WEFT_EXPORT_FOR_TEST(weft_underlay_addr_set_ipv4);

/* Is this address of an underlay in UDP one of IPv4? */
bool weft_underlay_addr_is_ipv4(const struct weft_underlay_addr *addr)
{
	return ipv6_addr_v4mapped(&addr->ip);
}
WEFT_EXPORT_FOR_TEST(weft_underlay_addr_is_ipv4);

/* Can this be the address of a single host, other than this one? */
static bool addr_is_host_ipv4(__be32 address)
{
	return !ipv4_is_zeronet(address) && !ipv4_is_loopback(address) &&
	       !ipv4_is_multicast(address) && !ipv4_is_lbcast(address);
}

static bool addr_is_host(const struct weft_underlay_addr *addr)
{
	if (weft_underlay_addr_is_ipv4(addr))
		return addr_is_host_ipv4(addr->ip.s6_addr32[3]);
	return !ipv6_addr_any(&addr->ip) && !ipv6_addr_loopback(&addr->ip) &&
	       !ipv6_addr_is_multicast(&addr->ip);
}

static bool addr_parse(struct weft_underlay_addr *addr, const char *text)
{
	const char *end;
	__be32 ipv4;

	if (in4_pton(text, -1, (u8 *)&ipv4, -1, &end) && !*end)
		weft_underlay_addr_set_ipv4(addr, ipv4);
	else if (!in6_pton(text, -1, addr->ip.s6_addr, -1, &end) || *end)
		return false;
	return addr_is_host(addr);
}

static bool addrs_have(const struct weft_underlay_addrs *list,
		       const struct weft_underlay_addr *addr)
{
	u32 i;

	for (i = 0; i < list->num; i++)
		if (weft_underlay_addr_equal(&list->addr[i], addr))
			return true;
	return false;
}

static int addrs_add(struct weft_underlay_addrs *list, const char *text)
{
	struct weft_underlay_addr addr;

	if (!addr_parse(&addr, text))
		return -EINVAL;
	if (addrs_have(list, &addr))
		return 0;
	if (list->num == ARRAY_SIZE(list->addr))
		return -E2BIG;
	list->addr[list->num++] = addr;
	return 0;
}

/*
 * Read IP addresses that are separated by commas or white space; there may be none. On an error
 * the list does not change: -EINVAL if a word is not the address of a host, -E2BIG, -ENOMEM. May
 * sleep.
 */
int weft_underlay_addrs_parse(struct weft_underlay_addrs *list, const char *text)
{
	char *copy = kstrdup(text, GFP_KERNEL), *rest = copy, *word;
	struct weft_underlay_addrs new = {};
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	while (!ret && (word = strsep(&rest, ADDR_SEPARATORS)))
		if (*word)
			ret = addrs_add(&new, word);
	kfree(copy);
	if (!ret)
		*list = new;
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_underlay_addrs_parse);

static int addr_print(const struct weft_underlay_addr *addr, char *buf, size_t size)
{
	if (weft_underlay_addr_is_ipv4(addr))
		return scnprintf(buf, size, "%pI4", &addr->ip.s6_addr32[3]);
	return scnprintf(buf, size, "%pI6c", &addr->ip);
}

/* Write the addresses, separated by spaces, and a newline. Returns the length without the NUL. */
int weft_underlay_addrs_print(const struct weft_underlay_addrs *list, char *buf, size_t size)
{
	int length = 0;
	u32 i;

	for (i = 0; i < list->num; i++) {
		if (i)
			length += scnprintf(buf + length, size - length, " ");
		length += addr_print(&list->addr[i], buf + length, size - length);
	}
	return length + scnprintf(buf + length, size - length, "\n");
}
WEFT_EXPORT_FOR_TEST(weft_underlay_addrs_print);
