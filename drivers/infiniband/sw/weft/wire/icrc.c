// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The two checksums of a packet (IBA 7.8, A17).
 *
 * The ICRC is the CRC-32 of Ethernet over everything that does not change on the way; fields that
 * may change count as ones. A caller begins with the headers up to the BTH, continues with all
 * that follows, pad included, in as many pieces as it likes, and ends with weft_icrc_store() or
 * weft_icrc_matches(). The VCRC of an InfiniBand link is a CRC-16 over all bytes as they are,
 * from the LRH to the ICRC.
 *
 * Both checksums process the lowest bit of a byte first, and are sent complemented, lowest byte
 * first.
 */
#include "wire/icrc.h"

#include <asm/byteorder.h>
#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/udp.h>

#include "compat/crc32.h"
#include "wire/headers.h"

#define ICRC_INIT	0xffffffff
/*
 * The CRC of 8 bytes of ones. An LRH counts as ones if a router may replace it (7.8.1), and
 * so does the LRH that a RoCEv2 packet does not have (A17).
 */
#define ICRC_AFTER_ONES	0xdebb20e3

/* Bytes of the headers that differ in each packet: the identification and the PSN. */
#define ICRC_CHANGING	6
/* Headers that each CPU remembers; a power of two. */
#define ICRC_SEEN	16

/* The headers of a RoCEv2 packet up to the BTH, without what may change on the way. */
union icrc_head {
	struct {
		struct iphdr		ip;
		struct udphdr		udp;
		struct weft_wire_bth	bth;
	} __packed v4;
	struct {
		struct ipv6hdr		ip;
		struct udphdr		udp;
		struct weft_wire_bth	bth;
	} __packed v6;
	u64 words[8];
};

/*
 * A CRC is linear: that of the headers of a packet is the one with zeros in place of what differs
 * in each packet, with that of each of these bytes, and the zeros behind it, added without carry.
 */
struct icrc_seen {
	union icrc_head	head;	/* with zeros; all zero: empty */
	u32		crc;
};

static DEFINE_PER_CPU(struct icrc_seen, icrc_seen[ICRC_SEEN]);
/* by the byte, the one that comes first in the headers at first, and its value */
static u32 icrc_changing[ICRC_CHANGING][256] __ro_after_init;

/* The CRC of byte @value and @zeros more. */
static u32 __init icrc_of_byte(u8 value, u32 zeros)
{
	u8 bytes[sizeof(union icrc_head)] = { value };

	return crc32_le(0, bytes, 1 + zeros);
}

void __init weft_icrc_init(void)
{
	u32 id = sizeof_field(union icrc_head, v4) - offsetof(struct iphdr, id) - 1, value;

	compat_crc32_init();
	for (value = 0; value < 256; value++) {
		icrc_changing[0][value] = icrc_of_byte(value, id);
		icrc_changing[1][value] = icrc_of_byte(value, id - 1);
		icrc_changing[2][value] = icrc_of_byte(value, 3);
		icrc_changing[3][value] = icrc_of_byte(value, 2);
		icrc_changing[4][value] = icrc_of_byte(value, 1);
		icrc_changing[5][value] = icrc_of_byte(value, 0);
	}
}

void weft_icrc_exit(void)
{
	compat_crc32_exit();
}

u32 weft_icrc_bytes(u32 crc, const void *data, size_t len)
{
	return crc32_le(crc, data, len);
}
WEFT_EXPORT_FOR_TEST(weft_icrc_bytes);

/* resv8a has the congestion marks, which may change on the way. */
static void icrc_mask_bth(struct weft_wire_bth *bth)
{
	bth->dqpn |= cpu_to_be32(WEFT_BTH_RESV8A);
}

static bool icrc_same(const union icrc_head *a, const union icrc_head *b, u32 words)
{
	u64 difference = 0;
	u32 i;

	for (i = 0; i < words; i++)
		difference |= a->words[i] ^ b->words[i];
	return !difference;
}

/*
 * The CRC of headers with zeros in place of what differs in each packet. With bottom halves off
 * nothing else uses the memory of the CPU, but for PREEMPT_RT.
 */
static __always_inline u32 icrc_head_crc(const union icrc_head *head, u32 length)
{
	u32 words = DIV_ROUND_UP(length, sizeof(u64));
	u64 key = head->words[words - 1] ^ head->words[words - 2] ^ head->words[words - 3];
	struct icrc_seen *seen;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !in_softirq())
		return weft_icrc_update(ICRC_AFTER_ONES, head, length);
	seen = this_cpu_ptr(&icrc_seen[hash_64(key, ilog2(ICRC_SEEN))]);
	if (unlikely(!icrc_same(&seen->head, head, words))) {
		memcpy(&seen->head, head, words * sizeof(u64));
		seen->crc = weft_icrc_update(ICRC_AFTER_ONES, head, length);
	}
	return seen->crc;
}

static u32 icrc_of_psn(__be32 psn)
{
	u32 value = be32_to_cpu(psn);

	return icrc_changing[2][value >> 24] ^ icrc_changing[3][value >> 16 & 0xff] ^
	       icrc_changing[4][value >> 8 & 0xff] ^ icrc_changing[5][value & 0xff];
}

static u32 icrc_of_id(__be16 id)
{
	u16 value = be16_to_cpu(id);

	return icrc_changing[0][value >> 8] ^ icrc_changing[1][value & 0xff];
}

/*
 * The ICRC of the headers of a RoCEv2 packet. All fields have their final value, but for those
 * that may change on the way (IPv4: TOS, TTL, checksum; IPv6: traffic class, flow label, hop
 * limit) and the UDP checksum. The IPv4 header has no options (A17), as the ICRC would not
 * protect these.
 */
u32 weft_icrc_begin_ipv4(const struct iphdr *ip, const struct udphdr *udp,
			 const struct weft_wire_bth *bth)
{
	union icrc_head head __uninitialized;

	memcpy(&head.v4.ip, ip, sizeof(head.v4.ip));
	memcpy(&head.v4.udp, udp, sizeof(head.v4.udp));
	memcpy(&head.v4.bth, bth, sizeof(head.v4.bth));
	head.v4.ip.tos = 0xff;
	head.v4.ip.id = 0;
	head.v4.ip.ttl = 0xff;
	head.v4.ip.check = (__force __sum16)0xffff;
	head.v4.udp.check = (__force __sum16)0xffff;
	icrc_mask_bth(&head.v4.bth);
	head.v4.bth.psn = 0;
	return icrc_head_crc(&head, sizeof(head.v4)) ^ icrc_of_id(ip->id) ^ icrc_of_psn(bth->psn);
}
WEFT_EXPORT_FOR_TEST(weft_icrc_begin_ipv4);

u32 weft_icrc_begin_ipv6(const struct ipv6hdr *ip, const struct udphdr *udp,
			 const struct weft_wire_bth *bth)
{
	union icrc_head head __uninitialized;

	memcpy(&head.v6.ip, ip, sizeof(head.v6.ip));
	memcpy(&head.v6.udp, udp, sizeof(head.v6.udp));
	memcpy(&head.v6.bth, bth, sizeof(head.v6.bth));
	head.v6.ip.priority = 0xf;
	memset(head.v6.ip.flow_lbl, 0xff, sizeof(head.v6.ip.flow_lbl));
	head.v6.ip.hop_limit = 0xff;
	head.v6.udp.check = (__force __sum16)0xffff;
	icrc_mask_bth(&head.v6.bth);
	/* with it, the word has only zeros that are not part of the headers */
	head.words[7] = 0;
	return icrc_head_crc(&head, sizeof(head.v6)) ^ icrc_of_psn(bth->psn);
}
WEFT_EXPORT_FOR_TEST(weft_icrc_begin_ipv6);

static u32 icrc_lrh(const struct weft_wire_lrh *lrh)
{
	struct weft_wire_lrh head;

	memcpy(&head, lrh, sizeof(head));
	head.vl_lver |= WEFT_LRH_VL;
	return weft_icrc_update(ICRC_INIT, &head, sizeof(head));
}

/* With a GRH the LRH counts as ones, as a router replaces it. */
static u32 icrc_grh(const struct weft_wire_grh *grh)
{
	struct weft_wire_grh head;

	memcpy(&head, grh, sizeof(head));
	head.version |= cpu_to_be32(WEFT_GRH_TCLASS | WEFT_GRH_FLOW_LABEL);
	head.hop_limit = 0xff;
	return weft_icrc_update(ICRC_AFTER_ONES, &head, sizeof(head));
}

/*
 * The ICRC of the headers of an InfiniBand packet. @grh may be NULL. With a GRH @lrh is not used,
 * as a router replaces the whole LRH; without one all of it but the virtual lane has its final
 * value.
 */
u32 weft_icrc_begin_ib(const struct weft_wire_lrh *lrh,
		       const struct weft_wire_grh *grh,
		       const struct weft_wire_bth *bth)
{
	u32 crc = grh ? icrc_grh(grh) : icrc_lrh(lrh);
	struct weft_wire_bth head;

	memcpy(&head, bth, sizeof(head));
	icrc_mask_bth(&head);
	return weft_icrc_update(crc, &head, sizeof(head));
}
WEFT_EXPORT_FOR_TEST(weft_icrc_begin_ib);

void weft_icrc_store(u8 *trailer, u32 crc)
{
	__le32 wire = cpu_to_le32(~crc);

	memcpy(trailer, &wire, sizeof(wire));
}
WEFT_EXPORT_FOR_TEST(weft_icrc_store);

bool weft_icrc_matches(const u8 *trailer, u32 crc)
{
	__le32 wire = cpu_to_le32(~crc);

	return !memcmp(trailer, &wire, sizeof(wire));
}
WEFT_EXPORT_FOR_TEST(weft_icrc_matches);

/*
 * CRC-16 of each value of four bits, polynomial 0x100b, lowest bit first. The table is small,
 * and the loop slow: the links of weft carry no VCRC.
 */
static const u16 vcrc_table[16] = {
	0x0000, 0x1a01, 0x3402, 0x2e03, 0x6804, 0x7205, 0x5c06, 0x4607,
	0xd008, 0xca09, 0xe40a, 0xfe0b, 0xb80c, 0xa20d, 0x8c0e, 0x960f,
};

u16 weft_vcrc_update(u16 crc, const void *data, size_t len)
{
	const u8 *p = data;

	while (len--) {
		crc ^= *p++;
		crc = crc >> 4 ^ vcrc_table[crc & 15];
		crc = crc >> 4 ^ vcrc_table[crc & 15];
	}
	return crc;
}
WEFT_EXPORT_FOR_TEST(weft_vcrc_update);

void weft_vcrc_store(u8 *trailer, u16 crc)
{
	__le16 wire = cpu_to_le16(~crc);

	memcpy(trailer, &wire, sizeof(wire));
}
WEFT_EXPORT_FOR_TEST(weft_vcrc_store);

bool weft_vcrc_matches(const u8 *trailer, u16 crc)
{
	__le16 wire = cpu_to_le16(~crc);

	return !memcmp(trailer, &wire, sizeof(wire));
}
WEFT_EXPORT_FOR_TEST(weft_vcrc_matches);
