/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets of a batch that go through IP as one buffer.
 */
#ifndef WEFT_LINK_BURST_H
#define WEFT_LINK_BURST_H

#include <linux/types.h>

struct net_device;
struct sk_buff;

/*
 * Bytes that have to be free in front of each packet but the first one, besides those of
 * the route's net device. What comes later may take the burst apart inside of a tunnel,
 * or tagged: it looks for room in front of the first one only, and copies the headers of
 * that to where there has to be some in front of the others. The longest tunnel: Ethernet
 * with two tags, IPv6, UDP and GENEVE with all options, and Ethernet again.
 */
#define WEFT_BURST_HEADROOM	384U

/**
 * struct weft_burst - packets of one batch, being collected; all zero: none
 * @head: the first one, which has the others in its list
 * @last: the last one
 * @packets: how many
 * @size: bytes of the first one, from the BTH to the ICRC; none is larger
 * @length: bytes of all, with the headers of IP and UDP of the first one
 */
struct weft_burst {
	struct sk_buff	*head;
	struct sk_buff	*last;
	u32		packets;
	u32		size;
	u32		length;
};

/**
 * weft_burst_takes - whether there is room for another packet
 * @burst: any
 * @size: bytes of the packet, from the BTH to the ICRC
 *
 * Return: whether weft_burst_add() may be called.
 */
bool weft_burst_takes(const struct weft_burst *burst, u32 size);

/**
 * weft_burst_add - append a packet
 * @burst: takes it
 * @skb: complete, from the IP header to the ICRC, with WEFT_BURST_HEADROOM in front unless it
 *	is the first one; belongs to the burst
 */
void weft_burst_add(struct weft_burst *burst, struct sk_buff *skb);

/**
 * weft_burst_close - there will be no more
 * @burst: not empty
 * @ndev: the route's net device
 *
 * Return: what goes to IP.
 */
struct sk_buff *weft_burst_close(const struct weft_burst *burst,
				 const struct net_device *ndev);

/**
 * weft_burst_open - take apart what has come
 * @head: a list of packets (SKB_GSO_FRAGLIST), from the first one's UDP header on
 *
 * Return: true: @head is the first of a list (&sk_buff.next) of packets from the UDP header on;
 * false: the kernel has to do it, as others have this burst, too, or it has changed on
 * its way. Nothing has happened then.
 */
bool weft_burst_open(struct sk_buff *head);

#endif /* WEFT_LINK_BURST_H */
