/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A station: where a node of another host is, and lists of stations as users write them.
 */
#ifndef WEFT_FABRIC_STATION_H
#define WEFT_FABRIC_STATION_H

#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/string.h>
#include <linux/types.h>

#include "params.h"

/**
 * struct weft_station - where a node of another host is
 *
 * What a member leaves of it is zero, so stations are compared as a whole.
 *
 * @mac: on the same Ethernet
 * @ip: behind routers; an address of IPv4 is mapped (::ffff:192.0.2.1)
 */
struct weft_station {
	union {
		u8		mac[ETH_ALEN];
		struct in6_addr	ip;
	};
};

/**
 * struct weft_stations - addresses of hosts
 * @num: of them
 * @station: each is there once
 */
struct weft_stations {
	u32			num;
	struct weft_station	station[WEFT_UPLINK_PEERS];
};

static inline bool weft_station_equal(const struct weft_station *a, const struct weft_station *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/**
 * weft_station_set_ipv4 - make one of an address
 * @station: result
 * @address: of IPv4
 */
void weft_station_set_ipv4(struct weft_station *station, __be32 address);

/**
 * weft_station_is_ipv4 - which kind of address it has
 * @station: behind routers
 *
 * Return: true: IPv4, false: IPv6.
 */
bool weft_station_is_ipv4(const struct weft_station *station);

/**
 * weft_stations_parse - read a list of addresses
 * @list: result; not changed if it fails
 * @text: addresses of IPv4 and IPv6, with commas or white space in between; perhaps none
 *
 * Context: may sleep.
 * Return: 0; -EINVAL: something is no address of a host; -E2BIG: too many; -ENOMEM.
 */
int weft_stations_parse(struct weft_stations *list, const char *text);

/**
 * weft_stations_print - write a list of addresses, with spaces in between
 * @list: what to write
 * @buf: result, ends with a newline
 * @size: of @buf
 *
 * Return: bytes.
 */
int weft_stations_print(const struct weft_stations *list, char *buf, size_t size);

#endif /* WEFT_FABRIC_STATION_H */
