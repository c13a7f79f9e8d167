// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that somebody else has made, through the module's own codec.
 *
 *	captured FILE FROM [OPCODE]...
 *
 * Of each packet of RoCEv2 in a file of tcpdump that is FROM an IP address, headers
 * are decoded, and encoded again: that has to give the same bytes, and the ICRC of
 * the packet has to be the one that the module computes. Each OPCODE, a number, has
 * to be there.
 *
 * The files of drivers/infiniband/sw/weft/wire are compiled into this program, with
 * kernel.h in front of them.
 */
#include <arpa/inet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/codec.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

#define PORT		4791
#define ETHERNET	14
#define MAX_FRAME	65536

struct pcap_file {
	u32 magic, version, zone, accuracy, longest, network;
};

struct pcap_frame {
	u32 seconds, fraction, captured, length;
};

static u32 packets, wrong, seen[256];

static void complain(u8 opcode, const char *what, const u8 *is, const u8 *should, size_t len)
{
	size_t i;

	if (++wrong > 10)
		return;
	printf("packet %u, %s: %s\n  captured ", packets, weft_opcode(opcode)->name ?: "?", what);
	for (i = 0; i < len; i++)
		printf("%02x", is[i]);
	printf("\n  encoded  ");
	for (i = 0; i < len; i++)
		printf("%02x", should[i]);
	printf("\n");
}

/* @len: from the BTH to the ICRC; @crc: of all before what follows the BTH */
static void check(const u8 *bth, size_t len, u32 crc)
{
	u8 again[WEFT_HDR_MAX_LENGTH], icrc[WEFT_ICRC_LENGTH];
	size_t in_crc = len - WEFT_ICRC_LENGTH;
	enum weft_malformed malformed;
	struct weft_hdr hdr;

	packets++;
	seen[bth[0]]++;
	malformed = weft_hdr_decode(&hdr, bth, in_crc);
	if (malformed) {
		printf("packet %u, opcode %#x: malformed (%d)\n", packets, bth[0], malformed);
		wrong++;
		return;
	}
	if (weft_hdr_encode(again, &hdr) != hdr.length || memcmp(again, bth, hdr.length))
		complain(bth[0], "other headers", bth, again, hdr.length);
	crc = weft_icrc_update(crc, bth + sizeof(struct weft_wire_bth),
			       in_crc - sizeof(struct weft_wire_bth));
	weft_icrc_store(icrc, crc);
	if (!weft_icrc_matches(bth + in_crc, crc))
		complain(bth[0], "another ICRC", bth + in_crc, icrc, sizeof(icrc));
}

static void check_udp(const u8 *ip, const u8 *at, size_t room)
{
	const struct weft_wire_bth *bth = (const void *)(at + sizeof(struct udphdr));
	const struct udphdr *udp = (const void *)at;
	size_t len = ntohs(udp->len);

	if (ntohs(udp->dest) != PORT)
		return;
	if (len > room || len < sizeof(*udp) + sizeof(*bth) + WEFT_ICRC_LENGTH) {
		printf("%zu bytes of UDP in %zu\n", len, room);
		wrong++;
		return;
	}
	check((const u8 *)bth, len - sizeof(*udp),
	      ip[0] >> 4 == 4 ? weft_icrc_begin_ipv4((const void *)ip, udp, bth) :
				weft_icrc_begin_ipv6((const void *)ip, udp, bth));
}

/* @from: 16 bytes, or the 4 of an IPv4 address */
static void check_frame(const u8 *frame, size_t len, const u8 *from, bool v6)
{
	size_t header = v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	const u8 *ip = frame + ETHERNET;

	if (len < ETHERNET + header + sizeof(struct udphdr))
		return;
	if (frame[12] != (v6 ? 0x86 : 0x08) || frame[13] != (v6 ? 0xdd : 0x00))
		return;
	if (ip[v6 ? 6 : 9] != IPPROTO_UDP || memcmp(ip + (v6 ? 8 : 12), from, v6 ? 16 : 4))
		return;
	check_udp(ip, ip + header, len - ETHERNET - header);
}

static void check_file(const char *name, const u8 *from, bool v6)
{
	static u8 frame[MAX_FRAME];
	struct pcap_frame head;
	struct pcap_file file;
	FILE *f = fopen(name, "r");

	if (!f || fread(&file, sizeof(file), 1, f) != 1 || file.magic != 0xa1b2c3d4 ||
	    file.network != 1) {
		fprintf(stderr, "%s: no file of tcpdump with Ethernet\n", name);
		exit(2);
	}
	while (fread(&head, sizeof(head), 1, f) == 1) {
		if (head.captured > sizeof(frame) ||
		    fread(frame, 1, head.captured, f) != head.captured) {
			fprintf(stderr, "%s: cut off\n", name);
			exit(2);
		}
		check_frame(frame, head.captured, from, v6);
	}
	fclose(f);
}

int main(int argc, char **argv)
{
	bool v6 = argc > 2 && strchr(argv[2], ':');
	u8 from[16];
	int i;

	if (argc < 3 || inet_pton(v6 ? AF_INET6 : AF_INET, argv[2], from) != 1) {
		fprintf(stderr, "usage: captured FILE FROM [OPCODE]...\n");
		return 2;
	}
	weft_opcode_init();
	weft_icrc_init();
	check_file(argv[1], from, v6);
	for (i = 0; i < 256; i++)
		if (seen[i])
			printf("%6u %#x %s\n", seen[i], i, weft_opcode(i)->name ?: "?");
	for (i = 3; i < argc; i++) {
		if (seen[strtoul(argv[i], NULL, 0) & 255])
			continue;
		printf("there was no opcode %s\n", argv[i]);
		wrong++;
	}
	printf("%u packets, %u wrong\n", packets, wrong);
	return wrong || !packets;
}
