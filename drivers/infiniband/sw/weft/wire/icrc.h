/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two checksums of a packet (IBA 7.8, A17).
 *
 * The ICRC is the CRC-32 of Ethernet over all that does not change on the
 * way; what may change counts as ones. Begin with the headers up to the BTH,
 * go on with whatever follows in as many pieces as it comes in, pad included,
 * then store or compare. The VCRC of an InfiniBand link is a CRC-16 over all
 * bytes as they are, LRH to ICRC.
 *
 * Both take the bits of a byte from the lowest on and go out complemented,
 * lowest byte first.
 */
#ifndef WEFT_WIRE_ICRC_H
#define WEFT_WIRE_ICRC_H

#include <linux/types.h>

struct iphdr;
struct ipv6hdr;
struct udphdr;
struct weft_wire_bth;
struct weft_wire_grh;
struct weft_wire_lrh;

/* Where a VCRC begins. */
#define WEFT_VCRC_INIT	0xffff

/**
 * weft_icrc_init - at module load: look for the fastest way to compute it
 */
void weft_icrc_init(void);

/**
 * weft_icrc_exit - at module unload
 */
void weft_icrc_exit(void);

/**
 * weft_icrc_begin_ipv4 - ICRC of the headers of a RoCEv2 packet
 * @ip: the header as it is on the wire, all but @ip.tos, @ip.ttl and @ip.check
 *	final. It has no options (A17); they would not be protected.
 * @udp: all but @udp.check final
 * @bth: the header as it is on the wire
 *
 * Context: Any.
 * Return: For weft_icrc_update() and the end.
 */
u32 weft_icrc_begin_ipv4(const struct iphdr *ip, const struct udphdr *udp,
			 const struct weft_wire_bth *bth);

/**
 * weft_icrc_begin_ipv6 - ICRC of the headers of a RoCEv2 packet
 * @ip: the header as it is on the wire, all but traffic class, flow label and
 *	hop limit final
 * @udp: all but @udp.check final
 * @bth: the header as it is on the wire
 *
 * Context: Any.
 * Return: For weft_icrc_update() and the end.
 */
u32 weft_icrc_begin_ipv6(const struct ipv6hdr *ip, const struct udphdr *udp,
			 const struct weft_wire_bth *bth);

/**
 * weft_icrc_begin_ib - ICRC of the headers of an InfiniBand packet
 * @lrh: all but the virtual lane final; not looked at when there is a GRH,
 *	which makes all of it replaceable
 * @grh: all but traffic class, flow label and hop limit final; NULL: none
 * @bth: the header as it is on the wire
 *
 * Context: Any.
 * Return: For weft_icrc_update() and the end.
 */
u32 weft_icrc_begin_ib(const struct weft_wire_lrh *lrh,
		       const struct weft_wire_grh *grh,
		       const struct weft_wire_bth *bth);

/**
 * weft_icrc_bytes - go on with some bytes: see weft_icrc_update()
 * @crc: so far
 * @data: bytes
 * @len: how many
 *
 * Context: Any.
 * Return: The ICRC so far.
 */
u32 weft_icrc_bytes(u32 crc, const void *data, size_t len);

/**
 * weft_icrc_update - go on with some bytes
 * @crc: so far
 * @data: bytes
 * @len: how many; may be 0, as some pieces of a packet are empty
 *
 * Context: Any.
 * Return: The ICRC so far.
 */
static inline u32 weft_icrc_update(u32 crc, const void *data, size_t len)
{
	return len ? weft_icrc_bytes(crc, data, len) : crc;
}

/**
 * weft_icrc_store - end: write the ICRC
 * @trailer: where its 4 bytes go
 * @crc: of all before it
 *
 * Context: Any.
 */
void weft_icrc_store(u8 *trailer, u32 crc);

/**
 * weft_icrc_matches - end: compare the ICRC
 * @trailer: its 4 bytes as received
 * @crc: of all before it
 *
 * Context: Any.
 * Return: Whether it is the right one.
 */
bool weft_icrc_matches(const u8 *trailer, u32 crc);

/**
 * weft_vcrc_update - go on with some bytes
 * @crc: so far, WEFT_VCRC_INIT at first
 * @data: bytes
 * @len: how many, may be 0
 *
 * Context: Any.
 * Return: The VCRC so far.
 */
u16 weft_vcrc_update(u16 crc, const void *data, size_t len);

/**
 * weft_vcrc_store - end: write the VCRC
 * @trailer: where its 2 bytes go
 * @crc: of all before it
 *
 * Context: Any.
 */
void weft_vcrc_store(u8 *trailer, u16 crc);

/**
 * weft_vcrc_matches - end: compare the VCRC
 * @trailer: its 2 bytes as received
 * @crc: of all before it
 *
 * Context: Any.
 * Return: Whether it is the right one.
 */
bool weft_vcrc_matches(const u8 *trailer, u16 crc);

#endif /* WEFT_WIRE_ICRC_H */
