// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/lso.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/ip.h>

#include "engine/ipcsum.h"

/* Offsets in the TCP header, which struct tcphdr has only as bit fields. */
#define LSO_TCP_DOFF	12
#define LSO_TCP_FLAGS	13
#define LSO_TCP_FIN	0x01
#define LSO_TCP_PSH	0x08
#define LSO_TCP_CWR	0x80

/* Byte by byte, because the headers need not be aligned. */
static u32 lso_get(const u8 *at)
{
	return at[0] << 8 | at[1];
}

static void lso_put(u8 *at, u32 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static bool lso_is_v6(const u8 *header)
{
	return lso_get(header) == ETH_P_IPV6;
}

/* Offset of the TCP header; 0: there is none. */
static u32 lso_tcp(const struct weft_lso *lso)
{
	const u8 *ip = lso->header + WEFT_IPCSUM_ENCAP;
	u32 at = (ip[0] & 15) * 4;

	switch (lso_get(lso->header)) {
	case ETH_P_IPV6:
		if (ip[0] >> 4 != 6 || ip[offsetof(struct ipv6hdr, nexthdr)] != IPPROTO_TCP)
			return 0;
		return WEFT_IPCSUM_ENCAP + sizeof(struct ipv6hdr);
	case ETH_P_IP:
		if (ip[0] >> 4 != 4 || at < sizeof(struct iphdr) ||
		    ip[offsetof(struct iphdr, protocol)] != IPPROTO_TCP ||
		    lso_get(ip + offsetof(struct iphdr, frag_off)) & (IP_MF | IP_OFFSET))
			return 0;
		return WEFT_IPCSUM_ENCAP + at;
	default:
		return 0;
	}
}

/*
 * Are these the headers of IPoIB, IPv4 (no fragment) or IPv6, and TCP, and nothing else; and does
 * the length of a packet fit into the field that IP has for it?
 */
bool weft_lso_valid(const struct weft_lso *lso)
{
	u32 tcp, length;

	if (!lso->mss || lso->length > WEFT_LSO_HEADERS ||
	    lso->length < WEFT_IPCSUM_ENCAP + sizeof(struct iphdr) + sizeof(struct tcphdr) ||
	    lso->length - WEFT_IPCSUM_ENCAP + lso->mss > U16_MAX)
		return false;
	tcp = lso_tcp(lso);
	if (!tcp || tcp + sizeof(struct tcphdr) > lso->length)
		return false;
	length = (lso->header[tcp + LSO_TCP_DOFF] >> 4) * 4;
	return length >= sizeof(struct tcphdr) && tcp + length == lso->length;
}
WEFT_EXPORT_FOR_TEST(weft_lso_valid);

/* Bytes of the longest packet, headers included, of an LSO with @length bytes of payload. */
u32 weft_lso_longest(const struct weft_lso *lso, u32 length)
{
	return lso->length + min_t(u32, lso->mss, length);
}
WEFT_EXPORT_FOR_TEST(weft_lso_longest);

/* Cut @bytes that have been sent off the payload. */
static void lso_advance(struct weft_lso_cut *cut, u32 bytes)
{
	struct weft_span *span;
	u32 piece;

	for (; bytes; bytes -= piece) {
		span = &cut->span[cut->at];
		piece = min_t(u64, bytes, span->length);
		span->addr += piece;
		span->length -= piece;
		if (!span->length)
			cut->at++;
	}
}

/*
 * Begin to cut, or go on after the first @done bytes, which have been sent in whole packets. @lso
 * is valid. @sgl has at most WEFT_LSO_MAX_LENGTH bytes, and stays resolved until the cut ends.
 */
void weft_lso_begin(struct weft_lso_cut *cut, const struct weft_lso *lso,
		    const struct weft_sgl *sgl, u32 done)
{
	cut->lso = lso;
	cut->length = sgl->length;
	cut->done = done;
	cut->at = 1;
	cut->num = sgl->num;
	memcpy(cut->span + 1, sgl->span, sgl->num * sizeof(*sgl->span));
	lso_advance(cut, done);
}
WEFT_EXPORT_FOR_TEST(weft_lso_begin);

/* Set the length, and in IPv4 the identification, which each packet has to itself (RFC 791). */
static void lso_build_ip(const struct weft_lso_cut *cut, u8 *header)
{
	u8 *ip = header + WEFT_IPCSUM_ENCAP;
	u32 length = cut->lso->length - WEFT_IPCSUM_ENCAP + cut->bytes;
	u8 *id = ip + offsetof(struct iphdr, id);

	if (lso_is_v6(header)) {
		lso_put(ip + offsetof(struct ipv6hdr, payload_len),
			length - sizeof(struct ipv6hdr));
		return;
	}
	lso_put(ip + offsetof(struct iphdr, tot_len), length);
	lso_put(id, lso_get(id) + cut->done / cut->lso->mss);
}

/* CWR is only in the first packet (RFC 3168), FIN and PSH only in the last one. */
static void lso_build_tcp(const struct weft_lso_cut *cut, u8 *tcp)
{
	u8 *at = tcp + offsetof(struct tcphdr, seq);
	u32 seq = (lso_get(at) << 16 | lso_get(at + 2)) + cut->done;

	lso_put(at, seq >> 16);
	lso_put(at + 2, seq);
	if (cut->done)
		tcp[LSO_TCP_FLAGS] &= ~LSO_TCP_CWR;
	if (cut->done + cut->bytes < cut->length)
		tcp[LSO_TCP_FLAGS] &= ~(LSO_TCP_FIN | LSO_TCP_PSH);
}

/*
 * Make the current packet. Its checksums are still to be filled in (weft_ipcsum_fill()). Returns
 * its bytes.
 */
u32 weft_lso_packet(struct weft_lso_cut *cut, struct weft_iter *packet)
{
	const struct weft_lso *lso = cut->lso;
	struct weft_span *first = &cut->span[cut->at - 1];

	cut->bytes = min_t(u32, lso->mss, cut->length - cut->done);
	memcpy(cut->header, lso->header, lso->length);
	lso_build_ip(cut, cut->header);
	lso_build_tcp(cut, cut->header + lso_tcp(lso));
	first->region = NULL;
	first->addr = (uintptr_t)cut->header;
	first->length = lso->length;
	packet->span = first;
	packet->left = cut->num - cut->at + 2;
	packet->offset = 0;
	return lso->length + cut->bytes;
}
WEFT_EXPORT_FOR_TEST(weft_lso_packet);

/* The current packet has been sent. Returns the bytes of payload that have been sent in all. */
u32 weft_lso_sent(struct weft_lso_cut *cut)
{
	lso_advance(cut, cut->bytes);
	cut->done += cut->bytes;
	return cut->done;
}
WEFT_EXPORT_FOR_TEST(weft_lso_sent);
