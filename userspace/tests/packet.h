/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets of RoCEv2 as they lie on the wire, right or wrong, and raw sockets to
 * send them.
 */
#ifndef TESTS_PACKET_H
#define TESTS_PACKET_H

#include "lib.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <sched.h>
#include <sys/socket.h>

#define PORT		4791
#define MTU		1024
#define BATCH		64		/* packets of one system call */
#define PEER_QPN	0x123456	/* of a peer that does not exist */
#define MAX_PACKET	1480		/* of IP: the cable has an MTU of 1500 */

/*
 * ---- Random numbers ----
 */

static uint64_t random_state;

/* splitmix64 */
static uint64_t draw(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
	return draw() % n;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

/*
 * ---- Opcodes (IBA table 38, annex A19; of OWN two, the masked atomics) ----
 */

enum { RC = 0x00, UC = 0x20, UD = 0x60, CNP = 0x80, XRC = 0xa0, OWN = 0xc0 };

enum {
	SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
	WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM,
	READ_REQUEST, RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY,
	ACK, ATOMIC_ACK, CMP_SWP, FETCH_ADD, SEND_LAST_INV = 0x16, SEND_ONLY_INV,
	NUM_OPERATIONS, FLUSH = 0x1c, ATOMIC_WRITE,
};

enum { RETH = 1, ATOMIC = 2, AETH = 4, ORIGINAL = 8, IMM = 16, IETH = 32, FETH = 64 };

/* extension headers, and what payload there may be: none, all, some, any, 8 bytes */
enum { NONE, FULL, SOME, ANY, WORD };

static const struct {
	uint8_t ext, payload;
} operations[32] = {
	[SEND_FIRST] = { 0, FULL },
	[SEND_MIDDLE] = { 0, FULL },
	[SEND_LAST] = { 0, SOME },
	[SEND_LAST_IMM] = { IMM, SOME },
	[SEND_ONLY] = { 0, ANY },
	[SEND_ONLY_IMM] = { IMM, ANY },
	[WRITE_FIRST] = { RETH, FULL },
	[WRITE_MIDDLE] = { 0, FULL },
	[WRITE_LAST] = { 0, SOME },
	[WRITE_LAST_IMM] = { IMM, SOME },
	[WRITE_ONLY] = { RETH, ANY },
	[WRITE_ONLY_IMM] = { RETH | IMM, ANY },
	[READ_REQUEST] = { RETH, NONE },
	[RESPONSE_FIRST] = { AETH, FULL },
	[RESPONSE_MIDDLE] = { 0, FULL },
	[RESPONSE_LAST] = { AETH, SOME },
	[RESPONSE_ONLY] = { AETH, ANY },
	[ACK] = { AETH, NONE },
	[ATOMIC_ACK] = { AETH | ORIGINAL, NONE },
	[CMP_SWP] = { ATOMIC, NONE },
	[FETCH_ADD] = { ATOMIC, NONE },
	[SEND_LAST_INV] = { IETH, SOME },
	[SEND_ONLY_INV] = { IETH, ANY },
	[FLUSH] = { FETH | RETH, NONE },
	[ATOMIC_WRITE] = { RETH, WORD },
};

static bool is_response(uint8_t opcode)
{
	return (opcode & 31) >= RESPONSE_FIRST && (opcode & 31) <= ATOMIC_ACK;
}

static inline uint32_t payload_of(uint8_t opcode)
{
	switch (operations[opcode & 31].payload) {
	case NONE:
		return 0;
	case FULL:
		return MTU;
	case SOME:
		return 1 + below(MTU);
	case WORD:
		return 8;
	default:
		return one_in(3) ? below(MTU + 1) : below(32);
	}
}

/*
 * ---- Packets ----
 */

struct spec {
	bool v6, stranger;		/* from another address */
	bool group;			/* to one */
	uint8_t opcode, flags;		/* flags without the pad */
	uint16_t pkey;
	uint32_t qpn, psn;		/* and what is above their 24 bits */
	uint32_t qkey, sqpn, srqn;
	uint64_t va, add, compare;
	uint64_t swap_mask, compare_mask;
	uint32_t rkey, length, feth;
	uint8_t syndrome;
	uint32_t msn, imm;
	uint32_t payload;
	int seed;			/* of the payload */
	bool checksum;			/* of UDP; without it there is none */
	/* what is wrong with it */
	int pad;			/* wrong by that much */
	int cut, extra;			/* bytes less or more, before the ICRC */
	int scribble;			/* bytes of the headers that are random */
	int udp_short;			/* the UDP length is less by that */
	bool options;			/* of IPv4 */
	bool may_fragment;		/* IPv4 without DF */
	bool noise;			/* no header at all */
	bool bad_icrc, no_icrc, bad_checksum;
};

struct packet {
	uint8_t data[MAX_PACKET + 200];
	int length;
};

static uint32_t crc_table[256];

static void make_crc_table(void)
{
	uint32_t crc;
	int i, j;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (j = 0; j < 8; j++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		crc_table[i] = crc;
	}
}

static uint32_t crc32(uint32_t crc, const uint8_t *p, size_t length)
{
	while (length--)
		crc = crc >> 8 ^ crc_table[(crc ^ *p++) & 0xff];
	return crc;
}

/* of the packet of IP from @ip to @end; what routers change counts as ones (A17) */
static uint32_t icrc(const uint8_t *ip, const uint8_t *udp, const uint8_t *end)
{
	uint8_t head[100], *p = head;
	size_t ip_length = udp - ip, in_head = end - udp < 20 ? end - udp : 20;

	memset(p, 0xff, 8);
	p += 8;
	memcpy(p, ip, ip_length);
	if (ip[0] >> 4 == 4) {
		p[1] = 0xff;		/* tos */
		p[8] = 0xff;		/* ttl */
		p[10] = p[11] = 0xff;	/* checksum */
	} else {
		p[0] |= 0x0f;		/* traffic class, flow label */
		p[1] = p[2] = p[3] = 0xff;
		p[7] = 0xff;		/* hop limit */
	}
	p += ip_length;
	memcpy(p, udp, in_head);
	p[6] = p[7] = 0xff;		/* checksum */
	if (in_head >= 13)
		p[12] = 0xff;		/* above the destination QP */
	p += in_head;
	return crc32(crc32(~0, head, p - head), udp + in_head, end - udp - in_head);
}

static uint8_t *put16(uint8_t *p, uint16_t value)
{
	value = htobe16(value);
	memcpy(p, &value, 2);
	return p + 2;
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
	value = htobe32(value);
	memcpy(p, &value, 4);
	return p + 4;
}

static uint8_t *put64(uint8_t *p, uint64_t value)
{
	value = htobe64(value);
	memcpy(p, &value, 8);
	return p + 8;
}

static void put_random(uint8_t *p, int num)
{
	while (num-- > 0)
		*p++ = draw();
}

static uint8_t *put_headers(uint8_t *p, const struct spec *s, int pad)
{
	uint8_t ext = operations[s->opcode & 31].ext;

	*p++ = s->opcode;
	*p++ = s->flags | (pad & 3) << 4;
	p = put16(p, s->pkey);
	p = put32(p, s->qpn);
	p = put32(p, s->psn);
	if ((s->opcode & 0xe0) == UD) {
		p = put32(p, s->qkey);
		p = put32(p, s->sqpn);
	}
	if ((s->opcode & 0xe0) == XRC && !is_response(s->opcode))
		p = put32(p, s->srqn);
	if (ext & FETH)
		p = put32(p, s->feth);
	if (ext & RETH) {
		p = put64(p, s->va);
		p = put32(p, s->rkey);
		p = put32(p, s->length);
	}
	if (ext & ATOMIC) {
		p = put64(p, s->va);
		p = put32(p, s->rkey);
		p = put64(p, s->add);
		p = put64(p, s->compare);
	}
	if (ext & ATOMIC && (s->opcode & 0xe0) == OWN) {
		p = put64(p, s->swap_mask);
		p = put64(p, s->compare_mask);
	}
	if (ext & AETH)
		p = put32(p, (uint32_t)s->syndrome << 24 | (s->msn & 0xffffff));
	if (ext & ORIGINAL)
		p = put64(p, s->add);
	if (ext & IMM)
		p = put32(p, s->imm);
	if (ext & IETH)
		p = put32(p, s->rkey);
	return p;
}

static struct in_addr from4, stranger4, to4, group4;
static struct in6_addr from6, stranger6, to6, group6;

/* ours, those of the peer and of a stranger, and a group for either family */
static inline void find_addresses(const char *peer4, const char *peer6)
{
	union ibv_gid gid;

	CHECK(inet_pton(AF_INET, peer4, &from4) == 1);
	CHECK(inet_pton(AF_INET6, peer6, &from6) == 1);
	stranger4.s_addr = from4.s_addr ^ htonl(0x40);
	stranger6 = from6;
	stranger6.s6_addr[15] ^= 0x40;
	CHECK(gid6 >= 0);
	SAME(ibv_query_gid(ctx, 1, gid4, &gid), 0);
	memcpy(&to4, gid.raw + 12, 4);
	SAME(ibv_query_gid(ctx, 1, gid6, &gid), 0);
	memcpy(&to6, gid.raw, 16);
	CHECK(inet_pton(AF_INET, "239.7.0.1", &group4) == 1);
	CHECK(inet_pton(AF_INET6, "ff1e::7:1", &group6) == 1);
}

/* @e, in INIT, gets a peer that does not exist; forged packets come from its address, from4 */
static inline void connect_to_nobody(struct end *e, uint32_t rq_psn)
{
	struct ibv_qp_attr attr = step_attr(e, NULL, IBV_QPS_RTR);

	attr.dest_qp_num = PEER_QPN;
	attr.rq_psn = rq_psn;
	attr.path_mtu = IBV_MTU_1024;
	av_to(&attr.ah_attr, gid4, gid4);
	memcpy(attr.ah_attr.grh.dgid.raw + 12, &from4, 4);
	SAME(ibv_modify_qp(e->qp, &attr, step_mask(e, IBV_QPS_RTR)), 0);
	to_rts(e);
}

/* Most packets are of few flows, whose headers are the same: a receiver may join them (GRO). */
static bool trains;

/* One of @num values, for a member of the headers; the same as before in most packets of trains. */
static inline uint32_t draw_flow(uint32_t *last, uint32_t num)
{
	if (!trains || one_in(12))
		*last = below(num);
	return *last;
}

static uint8_t *put_ip(uint8_t *p, const struct spec *s)
{
	static uint32_t label, tos;
	static uint16_t id;

	if (s->v6) {
		p = put32(p, 0x60000000 | draw_flow(&label, 1 << 20));
		p = put16(p, 0); /* later */
		*p++ = IPPROTO_UDP;
		*p++ = 64;
		memcpy(p, s->stranger ? &stranger6 : &from6, 16);
		memcpy(p + 16, s->group ? &group6 : &to6, 16);
		return p + 32;
	}
	*p++ = s->options ? 0x46 : 0x45;
	*p++ = draw_flow(&tos, 256) & ~3;
	p = put16(p, 0); /* later */
	if (trains && one_in(20))
		id += below(3);
	p = put16(p, ++id ?: ++id);
	p = put16(p, s->may_fragment ? 0 : 0x4000);
	*p++ = 64;
	*p++ = IPPROTO_UDP;
	p = put16(p, 0); /* the kernel does that */
	memcpy(p, s->stranger ? &stranger4 : &from4, 4);
	memcpy(p + 4, s->group ? &group4 : &to4, 4);
	p += 8;
	return s->options ? put32(p, 0x01010100) : p;
}

static uint32_t add_words(uint32_t sum, const uint8_t *p, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	return sum;
}

/* of what the header of UDP says there is; 0 would mean that there is none */
static uint16_t udp_checksum(const uint8_t *ip, const uint8_t *udp)
{
	uint16_t length = udp[4] << 8 | udp[5];
	uint32_t sum = IPPROTO_UDP + length;

	sum = ip[0] >> 4 == 4 ? add_words(sum, ip + 12, 8) : add_words(sum, ip + 8, 32);
	sum = add_words(sum, udp, length);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff ? sum : ~sum;
}

static void build(struct packet *packet, const struct spec *s)
{
	uint8_t *ip = packet->data, *udp, *bth, *p;
	int pad = -s->payload & 3, total;
	static uint32_t port;

	udp = put_ip(ip, s);
	bth = udp + 8;
	p = put_headers(bth, s, pad + s->pad);
	if (s->scribble)
		put_random(bth + below(p - bth), 1 + below(s->scribble));
	fill(p, s->payload, s->seed);
	p += s->payload;
	memset(p, 0, pad);
	p += pad;
	p -= s->cut < p - bth ? s->cut : p - bth;
	put_random(p, s->extra);
	p += s->extra;
	if (s->noise)
		put_random(bth, p - bth);
	total = p - ip + (s->no_icrc ? 0 : 4);
	if (total > MAX_PACKET) {
		p -= total - MAX_PACKET;
		total = MAX_PACKET;
	}
	put16(udp, 0xc000 | draw_flow(&port, trains ? 2 : 0x4000));
	put16(udp + 2, PORT);
	put16(udp + 4, total - (udp - ip));
	put16(udp + 6, 0);
	put16(ip + (s->v6 ? 4 : 2), s->v6 ? total - 40 : total);
	if (!s->no_icrc) {
		uint32_t crc = htole32(~icrc(ip, udp, p));

		if (s->bad_icrc)
			crc ^= 1U << below(32);
		memcpy(p, &crc, 4);
	}
	/* the UDP of the receiver cuts the rest off */
	if (s->udp_short && s->udp_short <= total - (udp + 8 - ip))
		put16(udp + 4, total - (udp - ip) - s->udp_short);
	if (s->checksum || s->bad_checksum)
		put16(udp + 6, udp_checksum(ip, udp) ^ (s->bad_checksum ? 0x1000 : 0) ?: 1);
	packet->length = total;
}

static int sock4, sock6;

/* Returns with @num more packets on their way. */
static void send_all(struct packet *packets, int num, bool v6)
{
	struct sockaddr_in6 sin6[BATCH];
	struct sockaddr_in sin[BATCH];
	struct mmsghdr msgs[BATCH] = {};
	struct iovec iovs[BATCH];
	int i, done;

	for (i = 0; i < num; i++) {
		sin6[i] = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
		memcpy(&sin6[i].sin6_addr, packets[i].data + 24, 16);
		sin[i] = (struct sockaddr_in){ .sin_family = AF_INET };
		memcpy(&sin[i].sin_addr, packets[i].data + 16, 4);
		iovs[i] = (struct iovec){ packets[i].data, packets[i].length };
		msgs[i].msg_hdr.msg_iov = &iovs[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
		msgs[i].msg_hdr.msg_name = v6 ? (void *)&sin6[i] : (void *)&sin[i];
		msgs[i].msg_hdr.msg_namelen = v6 ? sizeof(sin6[i]) : sizeof(sin[i]);
	}
	for (i = 0; i < num; i += done) {
		done = sendmmsg(v6 ? sock6 : sock4, msgs + i, num - i, 0);
		if (done <= 0)
			FAIL("sendmmsg of %d bytes: %s", packets[i].length, strerror(errno));
	}
}

/* Bytes behind the headers of IP in the first of two fragments. */
#define FRAGMENT	64

static uint32_t fragmented;		/* packets so far: the number of IPv6 fragments */

/* @offset, of these bytes; @more: another one follows */
static void fragment_ipv4(struct packet *to, const struct packet *from, int offset, bool more)
{
	int length = more ? FRAGMENT : from->length - 20 - offset;

	memcpy(to->data, from->data, 20);
	memcpy(to->data + 20, from->data + 20 + offset, length);
	to->length = 20 + length;
	put16(to->data + 2, to->length);
	put16(to->data + 6, offset / 8 | (more ? 0x2000 : 0));
}

static void fragment_ipv6(struct packet *to, const struct packet *from, int offset, bool more)
{
	int length = more ? FRAGMENT : from->length - 40 - offset;
	uint8_t *p = to->data + 40;

	memcpy(to->data, from->data, 40);
	put16(to->data + 4, 8 + length);
	to->data[6] = IPPROTO_FRAGMENT;
	*p++ = IPPROTO_UDP;
	*p++ = 0;
	p = put16(p, offset | more);
	p = put32(p, fragmented);
	memcpy(p, from->data + 40 + offset, length);
	to->length = 40 + 8 + length;
}

/* The same packet in two pieces. */
static inline void send_fragments(const struct packet *packet, bool v6)
{
	void (*fragment)(struct packet *, const struct packet *, int, bool);
	struct packet two[2];

	fragmented++;
	fragment = v6 ? fragment_ipv6 : fragment_ipv4;
	fragment(&two[0], packet, 0, true);
	fragment(&two[1], packet, FRAGMENT, false);
	send_all(two, 2, v6);
}

/* Returns what leave_netns() wants. */
static int enter_netns(const char *name)
{
	int here = open("/proc/self/ns/net", O_RDONLY), there;
	char path[256];

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	there = open(path, O_RDONLY);
	CHECK(here >= 0 && there >= 0);
	CHECK(!setns(there, CLONE_NEWNET));
	close(there);
	return here;
}

static void leave_netns(int here)
{
	CHECK(!setns(here, CLONE_NEWNET));
	close(here);
}

static void open_sockets(const char *netns)
{
	int here = enter_netns(netns);

	sock4 = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	sock6 = socket(AF_INET6, SOCK_RAW, IPPROTO_RAW);
	CHECK(sock4 >= 0 && sock6 >= 0);
	leave_netns(here);
}

#endif /* TESTS_PACKET_H */
