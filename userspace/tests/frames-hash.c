// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The oracle computes the hash bit by bit from what a frame was made of. */
#include "frames-hash.h"

/* that of Microsoft's examples, and of many drivers */
uint8_t hash_key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static void random_bytes(uint8_t *at, size_t length)
{
	while (length--)
		*at++ = rand() >> 4;
}

struct packet random_packet(void)
{
	static const int protocols[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ESP, IPPROTO_ICMP };
	struct packet packet = {
		.version = rand() % 2 ? 4 : 6, .protocol = protocols[rand() % 4],
		.later = rand() % 8 == 0,
	};

	random_bytes(packet.src, sizeof(packet.src));
	random_bytes(packet.dst, sizeof(packet.dst));
	random_bytes(packet.ports, sizeof(packet.ports));
	/* neither RoCE nor a tunnel */
	packet.ports[2] |= 0x80;
	return packet;
}

struct traffic random_traffic(void)
{
	struct traffic t = { .tunnel = rand() % TUNNELS, .outer = random_packet() };

	if (t.tunnel == PLAIN)
		return t;
	t.inner = random_packet();
	t.outer.version = 4;
	t.outer.later = false;
	t.outer.protocol = t.tunnel == GRE || t.tunnel == MPLS_GRE ? IPPROTO_GRE : IPPROTO_UDP;
	memcpy(t.outer.ports + 2, t.tunnel == MPLS ? "\x19\xeb" : "\x12\xb5", 2);
	return t;
}

/* Returns the end of the IP header and eight bytes of transport. */
static uint8_t *put_packet(uint8_t *at, const struct packet *p)
{
	bool fragment = p->later && p->version == 6;

	if (p->version == 4) {
		memset(at, 0, 20);
		at[0] = 0x45;
		at[3] = 200;
		at[7] = p->later ? 100 : 0;
		at[8] = 64;
		at[9] = p->protocol;
		memcpy(at + 12, p->src, 4);
		memcpy(at + 16, p->dst, 4);
		at += 20;
	} else {
		memset(at, 0, 48);
		at[0] = 0x60;
		at[5] = 180;
		at[6] = fragment ? IPPROTO_FRAGMENT : p->protocol;
		at[7] = 64;
		memcpy(at + 8, p->src, 16);
		memcpy(at + 24, p->dst, 16);
		at += 40;
		if (fragment) {
			at[0] = p->protocol;
			at[2] = 1;
			at += 8;
		}
	}
	memset(at, 0, 8);
	if (p->protocol != IPPROTO_GRE)
		memcpy(at, p->ports, 4);
	return at + 8;
}

static uint8_t *put_ethernet(uint8_t *at, const struct packet *p)
{
	memcpy(at, mac_unicast, ETH_ALEN);
	memcpy(at + ETH_ALEN, mac_source, ETH_ALEN);
	memcpy(at + 12, p->version == 4 ? "\x08\x00" : "\x86\xdd", 2);
	return at + ETH_HLEN;
}

uint32_t put_traffic(uint8_t *frame, const struct traffic *t)
{
	uint8_t *at = put_packet(put_ethernet(frame, &t->outer), &t->outer);

	if (t->tunnel == VXLAN) {
		memset(at, 0, 8);
		at = put_packet(put_ethernet(at + 8, &t->inner), &t->inner);
	} else if (t->tunnel == MPLS) {
		memcpy(at, "\0\0\x70\x40\0\0\x91\x40", 8);
		at = put_packet(at + 8, &t->inner);
	} else if (t->tunnel == GRE) {
		memcpy(at - 6, t->inner.version == 4 ? "\x08\x00" : "\x86\xdd", 2);
		at = put_packet(at - 4, &t->inner);
	} else if (t->tunnel == MPLS_GRE) {
		memcpy(at - 6, "\x88\x47\0\0\x70\x40\0\0\x91\x40", 10);
		at = put_packet(at + 4, &t->inner);
	}
	random_bytes(at, 40);
	return at + 40 - frame;
}

struct input {
	uint8_t bytes[40];
	int length;
};

static void add_field(struct input *in, bool wanted, const uint8_t *field, int length)
{
	if (!wanted)
		return;
	memcpy(in->bytes + in->length, field, length);
	in->length += length;
}

static struct input oracle_input(const struct packet *p, uint64_t fields)
{
	bool four = p->version == 4, tcp = !p->later && p->protocol == IPPROTO_TCP;
	bool udp = !p->later && p->protocol == IPPROTO_UDP;
	bool esp = !p->later && p->protocol == IPPROTO_ESP;
	int size = four ? 4 : 16;
	struct input in = {};

	if (fields & (four ? HASH_IPV6 : HASH_IPV4))
		return in;
	add_field(&in, fields & (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6), p->src, size);
	add_field(&in, fields & (IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_DST_IPV6), p->dst, size);
	add_field(&in, tcp && fields & IBV_RX_HASH_SRC_PORT_TCP, p->ports, 2);
	add_field(&in, tcp && fields & IBV_RX_HASH_DST_PORT_TCP, p->ports + 2, 2);
	add_field(&in, udp && fields & IBV_RX_HASH_SRC_PORT_UDP, p->ports, 2);
	add_field(&in, udp && fields & IBV_RX_HASH_DST_PORT_UDP, p->ports + 2, 2);
	add_field(&in, esp && fields & HASH_SPI, p->ports, 4);
	return in;
}

static bool bit_of(const uint8_t *bytes, int bit)
{
	return bytes[bit / 8] >> (7 - bit % 8) & 1;
}

static uint32_t oracle_hash(const struct input *in)
{
	uint32_t hash = 0;
	int i, j;

	for (i = 0; i < 8 * in->length; i++)
		for (j = 0; j < 32 && bit_of(in->bytes, i); j++)
			hash ^= (uint32_t)bit_of(hash_key, i + j) << (31 - j);
	return hash;
}

uint32_t oracle_of(const struct traffic *t, uint64_t fields)
{
	struct input in = {};

	if (!(fields & HASH_INNER))
		in = oracle_input(&t->outer, fields);
	else if (t->tunnel != PLAIN)
		in = oracle_input(&t->inner, fields);
	return oracle_hash(&in);
}

int oracle(const struct traffic *t, uint64_t fields)
{
	return oracle_of(t, fields) % (1 << LOG_TABLE) % WQS;
}
