// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checksums of IPv4, TCP and UDP in the packets of IPoIB, for consumers that leave them to the
 * adapter: IB_SEND_IP_CSUM and IB_WC_IP_CSUM_OK.
 *
 * A packet is the payload of a datagram: the four bytes of RFC 4391, which contain the EtherType,
 * then IPv4, or IPv6 without extension headers. In an Ethernet frame four other bytes are in front
 * of IP, and the caller knows the EtherType.
 */
#include "engine/ipcsum.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>

#include "mem/copy.h"

/* Bytes up to the checksum of TCP behind the longest IPv4 header. */
#define IPCSUM_HEADERS	(WEFT_IPCSUM_ENCAP + 60U + sizeof(struct tcphdr))

/**
 * struct ipcsum_place - offsets and lengths in a packet
 * @ip_length: length of the IPv4 header; 0: IPv6
 * @addresses: offset of the IP addresses
 * @address_bytes: length of both addresses
 * @transport: offset of the TCP or UDP header
 * @end: end of the TCP or UDP data, by the length that IP has
 * @protocol: IPPROTO_TCP or IPPROTO_UDP; 0: another one, or a fragment
 * @check: offset of the TCP or UDP checksum
 */
struct ipcsum_place {
	u32	ip_length;
	u32	addresses;
	u32	address_bytes;
	u32	transport;
	u32	end;
	u8	protocol;
	u32	check;
};

/* Byte by byte, because a packet need not be aligned. */
static u32 ipcsum_word(const u8 *at)
{
	return at[0] << 8 | at[1];
}

static void ipcsum_find_transport(struct ipcsum_place *place, const u8 *head, u32 have,
				  u8 protocol)
{
	u32 at = place->transport, length = place->end - at;

	if (protocol == IPPROTO_TCP && length >= sizeof(struct tcphdr) &&
	    have - at >= sizeof(struct tcphdr)) {
		place->check = at + offsetof(struct tcphdr, check);
		place->protocol = protocol;
	} else if (protocol == IPPROTO_UDP && length >= sizeof(struct udphdr) &&
		   have - at >= sizeof(struct udphdr) &&
		   ipcsum_word(head + at + offsetof(struct udphdr, len)) == length) {
		place->check = at + offsetof(struct udphdr, check);
		place->protocol = protocol;
	}
}

static bool ipcsum_find_v4(struct ipcsum_place *place, const u8 *head, u32 have, u32 length)
{
	const u8 *ip = head + WEFT_IPCSUM_ENCAP;
	u32 total;

	if (have < WEFT_IPCSUM_ENCAP + sizeof(struct iphdr) || ip[0] >> 4 != 4)
		return false;
	place->ip_length = (ip[0] & 15) * 4;
	place->transport = WEFT_IPCSUM_ENCAP + place->ip_length;
	total = ipcsum_word(ip + offsetof(struct iphdr, tot_len));
	place->end = WEFT_IPCSUM_ENCAP + total;
	if (place->ip_length < sizeof(struct iphdr) || place->transport > have ||
	    total < place->ip_length || place->end > length)
		return false;
	place->addresses = WEFT_IPCSUM_ENCAP + offsetof(struct iphdr, saddr);
	place->address_bytes = 8;
	if (!(ipcsum_word(ip + offsetof(struct iphdr, frag_off)) & (IP_MF | IP_OFFSET)))
		ipcsum_find_transport(place, head, have, ip[offsetof(struct iphdr, protocol)]);
	return true;
}

static bool ipcsum_find_v6(struct ipcsum_place *place, const u8 *head, u32 have, u32 length)
{
	const u8 *ip = head + WEFT_IPCSUM_ENCAP;

	place->transport = WEFT_IPCSUM_ENCAP + sizeof(struct ipv6hdr);
	if (have < place->transport || ip[0] >> 4 != 6)
		return false;
	place->end = place->transport +
		     ipcsum_word(ip + offsetof(struct ipv6hdr, payload_len));
	if (place->end > length)
		return false;
	place->addresses = WEFT_IPCSUM_ENCAP + offsetof(struct ipv6hdr, saddr);
	place->address_bytes = 32;
	ipcsum_find_transport(place, head, have, ip[offsetof(struct ipv6hdr, nexthdr)]);
	return true;
}

/* @head has the first @have of the packet's @length bytes. */
static bool ipcsum_find(struct ipcsum_place *place, u32 type, const u8 *head, u32 have,
			u32 length)
{
	*place = (struct ipcsum_place){};
	switch (type) {
	case ETH_P_IP:
		return ipcsum_find_v4(place, head, have, length);
	case ETH_P_IPV6:
		return ipcsum_find_v6(place, head, have, length);
	default:
		return false;
	}
}

static __wsum ipcsum_pseudo_header(const struct ipcsum_place *place, const u8 *head)
{
	__wsum sum = csum_partial(head + place->addresses, place->address_bytes, 0);

	sum = csum_add(sum, (__force __wsum)cpu_to_be32(place->end - place->transport));
	return csum_add(sum, (__force __wsum)cpu_to_be32(place->protocol));
}

static void ipcsum_store(u8 *at, __sum16 sum)
{
	memcpy(at, &sum, sizeof(sum));
}

static void ipcsum_fill_ip(const struct ipcsum_place *place, u8 *ip)
{
	ipcsum_store(ip + offsetof(struct iphdr, check), 0);
	ipcsum_store(ip + offsetof(struct iphdr, check),
		     csum_fold(csum_partial(ip, place->ip_length, 0)));
}

static void ipcsum_fill_transport(const struct ipcsum_place *place, u8 *packet)
{
	__sum16 sum;

	ipcsum_store(packet + place->check, 0);
	sum = csum_fold(csum_partial(packet + place->transport,
				     place->end - place->transport,
				     ipcsum_pseudo_header(place, packet)));
	/* in UDP, 0 means that there is no checksum */
	if (place->protocol == IPPROTO_UDP && !sum)
		sum = CSUM_MANGLED_0;
	ipcsum_store(packet + place->check, sum);
}

/*
 * Store the checksums of a packet, whatever is in their fields. A fragment, or a packet of another
 * protocol than TCP and UDP, gets only the checksum of IPv4. Bytes that are no packet, or are fewer
 * than their headers say, are left alone.
 */
void weft_ipcsum_fill(void *packet, u32 length)
{
	if (length >= WEFT_IPCSUM_ENCAP)
		weft_ipcsum_fill_typed(packet, ipcsum_word(packet), length);
}
WEFT_EXPORT_FOR_TEST(weft_ipcsum_fill);

/* The same, with the EtherType @type instead of the one in @packet. */
void weft_ipcsum_fill_typed(void *packet, u32 type, u32 length)
{
	struct ipcsum_place place;

	if (!ipcsum_find(&place, type, packet, length, length))
		return;
	if (place.ip_length)
		ipcsum_fill_ip(&place, packet + WEFT_IPCSUM_ENCAP);
	if (place.protocol)
		ipcsum_fill_transport(&place, packet);
}

static __wsum ipcsum_add(__wsum sum, struct weft_iter *from, u32 length)
{
	u32 done = 0;
	u64 piece;
	void *at;

	while (done < length) {
		at = weft_iter_piece(from, &piece);
		piece = min_t(u64, piece, length - done);
		sum = csum_block_add(sum, csum_partial(at, piece, 0), done);
		weft_iter_skip(from, piece);
		done += piece;
	}
	return sum;
}

/*
 * Are the headers right, and is there a checksum of TCP or UDP? Then @sum is that of the pseudo
 * header.
 */
static bool ipcsum_verify_head(struct ipcsum_place *place, u32 type, const u8 *head, u32 have,
			       u32 length, __wsum *sum)
{
	if (!ipcsum_find(place, type, head, have, length) || !place->protocol)
		return false;
	if (place->protocol == IPPROTO_UDP && !ipcsum_word(head + place->check))
		return false;
	if (place->ip_length &&
	    csum_fold(csum_partial(head + WEFT_IPCSUM_ENCAP, place->ip_length, 0)))
		return false;
	*sum = ipcsum_pseudo_header(place, head);
	return true;
}

/*
 * Are the checksums of TCP or UDP, and of IPv4, right? Also false if there is none to verify: the
 * packet is a fragment or of another protocol, or UDP has left its checksum out; or if the packet
 * has protection information. @packet has at least @length bytes left.
 */
bool weft_ipcsum_verify(struct weft_iter packet, u32 length)
{
	u32 have = min_t(u32, length, IPCSUM_HEADERS);
	u8 head[IPCSUM_HEADERS] __aligned(4);
	struct weft_span span = { .addr = (uintptr_t)head, .length = have };
	struct weft_iter from = packet, to;
	struct ipcsum_place place;
	__wsum sum;

	if (have < WEFT_IPCSUM_ENCAP || weft_iter_has_pi(&packet))
		return false;
	weft_span_iter(&span, &to);
	weft_copy(&to, &from, have);
	if (!ipcsum_verify_head(&place, ipcsum_word(head), head, have, length, &sum))
		return false;
	weft_iter_skip(&packet, place.transport);
	return !csum_fold(ipcsum_add(sum, &packet, place.end - place.transport));
}
WEFT_EXPORT_FOR_TEST(weft_ipcsum_verify);

/* The same of a packet in one piece, with the EtherType @type instead of the one in @packet. */
bool weft_ipcsum_verify_linear(const void *packet, u32 type, u32 length)
{
	struct ipcsum_place place;
	__wsum sum;

	return ipcsum_verify_head(&place, type, packet, length, length, &sum) &&
	       !csum_fold(csum_partial(packet + place.transport, place.end - place.transport, sum));
}
WEFT_EXPORT_FOR_TEST(weft_ipcsum_verify_linear);

/*
 * Are the checksums of the headers in front of a tunnel right? That of UDP may be left out. Others
 * are those of the tunnel, and are not looked at.
 */
bool weft_ipcsum_verify_tunnel(const void *packet, u32 type, u32 length)
{
	const u8 *head = packet;
	struct ipcsum_place place;

	if (!ipcsum_find(&place, type, head, length, length) ||
	    (place.ip_length &&
	     csum_fold(csum_partial(head + WEFT_IPCSUM_ENCAP, place.ip_length, 0))))
		return false;
	return place.protocol != IPPROTO_UDP || !ipcsum_word(head + place.check) ||
	       !csum_fold(csum_partial(head + place.transport, place.end - place.transport,
				       ipcsum_pseudo_header(&place, head)));
}
