/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The two checksums of a packet (IBA 7.8, A17). */
#ifndef WEFT_WIRE_ICRC_H
#define WEFT_WIRE_ICRC_H

#include <linux/init.h>
#include <linux/types.h>

struct iphdr;
struct ipv6hdr;
struct udphdr;
struct weft_wire_bth;
struct weft_wire_grh;
struct weft_wire_lrh;

#define WEFT_VCRC_INIT	0xffff

/* At module load: find the fastest implementation. */
void __init weft_icrc_init(void);
void weft_icrc_exit(void);

u32 weft_icrc_begin_ipv4(const struct iphdr *ip, const struct udphdr *udp,
			 const struct weft_wire_bth *bth);
u32 weft_icrc_begin_ipv6(const struct ipv6hdr *ip, const struct udphdr *udp,
			 const struct weft_wire_bth *bth);

u32 weft_icrc_begin_ib(const struct weft_wire_lrh *lrh, const struct weft_wire_grh *grh,
		       const struct weft_wire_bth *bth);
u32 weft_icrc_bytes(u32 crc, const void *data, size_t len);

/* Continue with @len bytes, which may be 0. */
static inline u32 weft_icrc_update(u32 crc, const void *data, size_t len)
{
	return len ? weft_icrc_bytes(crc, data, len) : crc;
}

/* Write the ICRC to the 4 bytes at @trailer, or compare it with them. */
void weft_icrc_store(u8 *trailer, u32 crc);
bool weft_icrc_matches(const u8 *trailer, u32 crc);

/* Begin with WEFT_VCRC_INIT. The trailer is 2 bytes long. */
u16 weft_vcrc_update(u16 crc, const void *data, size_t len);
void weft_vcrc_store(u8 *trailer, u16 crc);
bool weft_vcrc_matches(const u8 *trailer, u16 crc);

#endif /* WEFT_WIRE_ICRC_H */
