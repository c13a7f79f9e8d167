// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An adapter delivers packets one by one. GRO makes bursts (link/burst.c) of those that arrive in
 * the same NAPI poll, so that routing, firewall and UDP handle them as one packet. The kernel's own
 * GRO of UDP wants checksums, and refuses the packets of a tunnel socket.
 *
 * A burst that is taken apart on the way gets new IPv4 identifications, which count up, and in a
 * tunnel needs headroom, which a received packet may not have. So packets are joined only if they
 * are for a QP of this host, and their identifications count up. Whatever else arrives at the port,
 * and is perhaps only to be forwarded, is left alone.
 */
#include "link/gro.h"

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/gro.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>

#include "compat/gro.h"
#include "link/burst.h"
#include "link/roce_port.h"
#include "wire/headers.h"
#include "wire/opcode.h"

/* The headers of a packet, and where its BTH is, from the start of the data. */
struct gro_headers {
	const void		*ip;
	const struct udphdr	*udp;
	const struct weft_wire_bth *bth;
	u32			network;	/* bytes of the IP header */
	u32			offset;
};

/* Returns false if the packet is none of RoCE, or the ICRC does not cover all of its headers. */
static bool gro_parse(const struct sock *sk, struct sk_buff *skb, struct gro_headers *headers)
{
	u32 offset = skb_gro_offset(skb), front, length = skb_gro_len(skb);
	const u8 *at;

	headers->network = sk->sk_family == AF_INET ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	headers->offset = offset;
	front = headers->network + sizeof(struct udphdr);
	if (length < sizeof(struct weft_wire_bth) ||
	    compat_gro_network_offset(skb) + front != offset)
		return false;
	at = skb_gro_header(skb, offset + sizeof(struct weft_wire_bth), offset - front);
	if (!at)
		return false;
	headers->ip = at;
	headers->udp = (const void *)at + headers->network;
	headers->bth = (const void *)(headers->udp + 1);
	return be16_to_cpu(headers->udp->len) == sizeof(struct udphdr) + length;
}

/* The packet that others of the same flow have been joined to, or may be. */
static struct sk_buff *gro_find(const struct list_head *held)
{
	struct sk_buff *first;

	list_for_each_entry(first, held, list)
		if (NAPI_GRO_CB(first)->same_flow)
			return first;
	return NULL;
}

/* Will another packet probably follow at once? */
static bool gro_continues(const struct gro_headers *headers)
{
	const struct weft_opcode *op = weft_opcode(headers->bth->opcode);

	return !(op->segment & WEFT_SEGMENT_LAST) ||
	       (op->flags & WEFT_OPCODE_REQUEST &&
		!(headers->bth->psn & cpu_to_be32(WEFT_BTH_ACKREQ)));
}

/* Would the headers of packet @number of a burst come from those of the first one, @first? */
static bool gro_follows(const struct gro_headers *headers, const void *first, u16 number)
{
	const struct ipv6hdr *six = headers->ip, *first6 = first;
	const struct iphdr *ip = headers->ip, *first4 = first;

	if (ip->version == 6)
		return *(const __be32 *)six == *(const __be32 *)first6 &&
		       six->hop_limit == first6->hop_limit;
	return ip->tos == first4->tos && ip->ttl == first4->ttl &&
	       ip->frag_off == first4->frag_off &&
	       be16_to_cpu(ip->id) == (u16)(be16_to_cpu(first4->id) + number);
}

/* Is the packet for a QP that receives at its destination address? */
static bool gro_is_ours(const struct sock *sk, const struct sk_buff *skb,
			const struct gro_headers *headers)
{
	const struct ipv6hdr *six = headers->ip;
	const struct iphdr *ip = headers->ip;
	union ib_gid gid;

	if (ip->version == 6)
		memcpy(&gid, &six->daddr, sizeof(gid));
	else
		ipv6_addr_set_v4mapped(ip->daddr, (struct in6_addr *)gid.raw);
	return weft_roce_has_qp(sock_net(sk), &gid, ip->version == 6 ? skb->dev->ifindex : 0,
				be32_to_cpu(headers->bth->dqpn) & WEFT_BTH_DQPN);
}

/* May the packet become part of the burst that begins with @first? */
static bool gro_takes(const struct sock *sk, const struct sk_buff *first,
		      const struct sk_buff *skb, const struct gro_headers *headers)
{
	const void *ip = first->data + headers->offset - sizeof(struct udphdr) - headers->network;
	u32 length = skb_gro_len(skb);

	return length <= skb_shinfo(first)->gso_size &&
	       first->len + length <= WEFT_BURST_MAX_LENGTH &&
	       gro_follows(headers, ip, NAPI_GRO_CB(first)->count) &&
	       (NAPI_GRO_CB(first)->count > 1 || gro_is_ours(sk, first, headers));
}

/*
 * Returns false without memory, and then nothing has changed. @headers must not be read afterwards.
 */
static bool gro_join(struct sk_buff *first, struct sk_buff *skb, const struct gro_headers *headers)
{
	u32 offset = headers->offset, front = headers->network + sizeof(struct udphdr);
	struct skb_shared_info *shared = skb_shinfo(first);

	if (!pskb_may_pull(skb, offset))
		return false;
	/* senders count these packets by the memory that they hold, which changes now */
	skb_orphan(skb);
	skb_orphan(first);
	skb_set_network_header(skb, offset - front);
	skb_set_transport_header(skb, offset - sizeof(struct udphdr));
	__skb_pull(skb, offset);
	if (!shared->frag_list) {
		const struct udphdr *udp = (void *)first->data + offset - sizeof(*udp);

		shared->frag_list = skb;
		/* for the kernel, should the socket be closed before the burst is complete */
		shared->gso_type = SKB_GSO_FRAGLIST;
		/* if it is not 0, the kernel replaces it before weft_gro_complete() */
		NAPI_GRO_CB(first)->csum = (__force __wsum)udp->check;
	} else {
		NAPI_GRO_CB(first)->last->next = skb;
	}
	NAPI_GRO_CB(first)->last = skb;
	NAPI_GRO_CB(first)->count++;
	first->len += skb->len;
	first->data_len += skb->len;
	first->truesize += skb->truesize;
	shared->flags |= skb_shinfo(skb)->flags & SKBFL_SHARED_FRAG;
	NAPI_GRO_CB(skb)->same_flow = 1;
	return true;
}

/*
 * A packet has come, and @held has those that GRO keeps. The UDP header has been pulled, and its
 * checksum (if it has one) is right. Returns the packet that GRO must pass on now, or NULL. Soft
 * interrupt, RCU read side.
 */
struct sk_buff *weft_gro_receive(struct sock *sk, struct list_head *held, struct sk_buff *skb)
{
	struct sk_buff *first = gro_find(held);
	struct gro_headers headers;
	bool more;

	if (NAPI_GRO_CB(skb)->flush || !gro_parse(sk, skb, &headers)) {
		NAPI_GRO_CB(skb)->flush = 1;
		return first;
	}
	more = gro_continues(&headers);
	if (first && gro_takes(sk, first, skb, &headers) && gro_join(first, skb, &headers))
		return more ? NULL : first;
	/* GRO keeps no packet that nothing will be joined to */
	if (!more)
		NAPI_GRO_CB(skb)->flush = 1;
	return first;
}

/* Is each packet but the first in the list? Not if the socket is younger than the burst. */
static bool gro_is_list(const struct sk_buff *first)
{
	const struct sk_buff *skb;
	u32 count = 1;

	skb_walk_frags(first, skb)
		count++;
	return count == NAPI_GRO_CB(first)->count;
}

/*
 * No more packets will be joined to the first one, @skb, whose BTH is at @offset. Returns 0, or
 * -EINVAL: it is to be dropped.
 */
int weft_gro_complete(struct sock *sk, struct sk_buff *skb, int offset)
{
	struct udphdr *udp = (void *)skb->data + offset - sizeof(*udp);

	if (!gro_is_list(skb))
		return -EINVAL;
	if (udp->check)
		udp->check = (__force __sum16)NAPI_GRO_CB(skb)->csum;
	skb->encapsulation = 0;
	weft_burst_mark(skb, NAPI_GRO_CB(skb)->count, true);
	return 0;
}
