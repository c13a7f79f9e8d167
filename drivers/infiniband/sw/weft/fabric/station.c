// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/station.h"

#include <linux/in.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#define STATION_SEPARATORS	", \t\r\n"

void weft_station_set_ipv4(struct weft_station *station, __be32 address)
{
	ipv6_addr_set_v4mapped(address, &station->ip);
}
WEFT_EXPORT_FOR_TEST(weft_station_set_ipv4);

bool weft_station_is_ipv4(const struct weft_station *station)
{
	return ipv6_addr_v4mapped(&station->ip);
}
WEFT_EXPORT_FOR_TEST(weft_station_is_ipv4);

/* Of one host, and not of this one by definition. */
static bool station_is_host_ipv4(__be32 address)
{
	return !ipv4_is_zeronet(address) && !ipv4_is_loopback(address) &&
	       !ipv4_is_multicast(address) && !ipv4_is_lbcast(address);
}

static bool station_is_host(const struct weft_station *station)
{
	if (weft_station_is_ipv4(station))
		return station_is_host_ipv4(station->ip.s6_addr32[3]);
	return !ipv6_addr_any(&station->ip) && !ipv6_addr_loopback(&station->ip) &&
	       !ipv6_addr_is_multicast(&station->ip);
}

static bool station_parse(struct weft_station *station, const char *text)
{
	const char *end;
	__be32 ipv4;

	if (in4_pton(text, -1, (u8 *)&ipv4, -1, &end) && !*end)
		weft_station_set_ipv4(station, ipv4);
	else if (!in6_pton(text, -1, station->ip.s6_addr, -1, &end) || *end)
		return false;
	return station_is_host(station);
}

static bool stations_have(const struct weft_stations *list, const struct weft_station *station)
{
	u32 i;

	for (i = 0; i < list->num; i++)
		if (weft_station_equal(&list->station[i], station))
			return true;
	return false;
}

static int stations_add(struct weft_stations *list, const char *text)
{
	struct weft_station station;

	if (!station_parse(&station, text))
		return -EINVAL;
	if (stations_have(list, &station))
		return 0;
	if (list->num == ARRAY_SIZE(list->station))
		return -E2BIG;
	list->station[list->num++] = station;
	return 0;
}

int weft_stations_parse(struct weft_stations *list, const char *text)
{
	char *copy = kstrdup(text, GFP_KERNEL), *rest = copy, *word;
	struct weft_stations new = {};
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	while (!ret && (word = strsep(&rest, STATION_SEPARATORS)))
		if (*word)
			ret = stations_add(&new, word);
	kfree(copy);
	if (!ret)
		*list = new;
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_stations_parse);

static int station_print(const struct weft_station *station, char *buf, size_t size)
{
	if (weft_station_is_ipv4(station))
		return scnprintf(buf, size, "%pI4", &station->ip.s6_addr32[3]);
	return scnprintf(buf, size, "%pI6c", &station->ip);
}

int weft_stations_print(const struct weft_stations *list, char *buf, size_t size)
{
	int length = 0;
	u32 i;

	for (i = 0; i < list->num; i++) {
		if (i)
			length += scnprintf(buf + length, size - length, " ");
		length += station_print(&list->station[i], buf + length, size - length);
	}
	return length + scnprintf(buf + length, size - length, "\n");
}
WEFT_EXPORT_FOR_TEST(weft_stations_print);
