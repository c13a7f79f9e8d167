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
#include <linux/ip.h>
#include <linux/ipv6.h>
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

void weft_icrc_init(void)
{
	compat_crc32_init();
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

u32 weft_icrc_begin_ipv4(const struct iphdr *ip, const struct udphdr *udp,
			 const struct weft_wire_bth *bth)
{
	struct {
		struct iphdr		ip;
		struct udphdr		udp;
		struct weft_wire_bth	bth;
	} __packed head __aligned(8);

	memcpy(&head.ip, ip, sizeof(head.ip));
	memcpy(&head.udp, udp, sizeof(head.udp));
	memcpy(&head.bth, bth, sizeof(head.bth));
	head.ip.tos = 0xff;
	head.ip.ttl = 0xff;
	head.ip.check = (__force __sum16)0xffff;
	head.udp.check = (__force __sum16)0xffff;
	icrc_mask_bth(&head.bth);
	return weft_icrc_update(ICRC_AFTER_ONES, &head, sizeof(head));
}
WEFT_EXPORT_FOR_TEST(weft_icrc_begin_ipv4);

u32 weft_icrc_begin_ipv6(const struct ipv6hdr *ip, const struct udphdr *udp,
			 const struct weft_wire_bth *bth)
{
	struct {
		struct ipv6hdr		ip;
		struct udphdr		udp;
		struct weft_wire_bth	bth;
	} __packed head __aligned(8);

	memcpy(&head.ip, ip, sizeof(head.ip));
	memcpy(&head.udp, udp, sizeof(head.udp));
	memcpy(&head.bth, bth, sizeof(head.bth));
	head.ip.priority = 0xf;
	memset(head.ip.flow_lbl, 0xff, sizeof(head.ip.flow_lbl));
	head.ip.hop_limit = 0xff;
	head.udp.check = (__force __sum16)0xffff;
	icrc_mask_bth(&head.bth);
	return weft_icrc_update(ICRC_AFTER_ONES, &head, sizeof(head));
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
