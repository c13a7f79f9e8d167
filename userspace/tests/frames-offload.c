// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The offloads of RAW_PACKET QPs: they cut a long payload into frames (TSO), fill in checksums, take
 * out the tag of a VLAN, and hand over the FCS; and those of the net device (TSO, GRO).
 */
#include "frames.h"

#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <infiniband/weftdv.h>

#define TSO_MAX		65280
#define TCP_OPTIONS	12
#define TCP_HEADER	(20 + TCP_OPTIONS)
#define TCP_FLAGS	13
#define FIN		0x01
#define PSH		0x08
#define ACK		0x10
#define CWR		0x80
#define SEQ		0xfffff000u	/* of the first byte: it wraps */
#define ID		0xfffeu

/* Headers in front of a TCP segment. */
struct headers {
	uint8_t byte[128];
	uint32_t ip, tcp, length;
	bool v6;
};

static struct side a, b;

static struct ibv_qp *tso_qp(struct side *s, enum ibv_qp_type type, int max_header, int ops)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type, .send_cq = s->cq, .recv_cq = s->cq, .pd = s->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			     IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		.cap = {
			.max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 4, .max_recv_sge = 1,
			.max_inline_data = 128,
		},
		.max_tso_header = max_header,
		.send_ops_flags = ops,
	};

	return ibv_create_qp_ex(s->ctx, &init);
}

/* a sends with TSO, b receives */
static void open_tso(void)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	side_open(&a);
	side_open(&b);
	SAME(ibv_destroy_qp(a.qp), 0);
	a.qp = tso_qp(&a, IBV_QPT_RAW_PACKET, 128, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO);
	CHECK(a.qp);
	raw_ready(a.qp);
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);
	fill(a.buf, SLOTS * SLOT, 3);
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static struct headers make_headers(bool v6, bool tagged, uint8_t flags)
{
	struct headers h = { .v6 = v6, .ip = tagged ? 18 : 14 };
	uint8_t *at = h.byte + h.ip;

	memcpy(h.byte, mac_unicast, ETH_ALEN);
	memcpy(h.byte + ETH_ALEN, mac_source, ETH_ALEN);
	if (tagged)
		put32(h.byte + 12, 0x81006007);
	put16(at - 2, v6 ? ETH_P_IPV6 : ETH_P_IP);
	if (v6) {
		at[0] = 0x60;
		at[6] = IPPROTO_TCP;
		at[7] = 64;
		memset(at + 8, 0x21, 32);
		h.tcp = h.ip + 40;
	} else {
		at[0] = 0x45;
		put16(at + 4, ID);
		at[8] = 64;
		at[9] = IPPROTO_TCP;
		memcpy(at + 12, "\x0a\x0a\x09\x02\x0a\x0a\x09\x01", 8);
		h.tcp = h.ip + 20;
	}
	at = h.byte + h.tcp;
	put32(at, 999 << 16 | PORT_A);
	put32(at + 4, SEQ);
	at[12] = TCP_HEADER / 4 << 4;
	at[TCP_FLAGS] = flags;
	put16(at + 14, 500);
	memset(at + 20, 1, TCP_OPTIONS);
	h.length = h.tcp + TCP_HEADER;
	return h;
}

/* Makes the expected frame with @bytes of payload from @done on; returns its length. */
static uint32_t expected(uint8_t *to, const struct headers *h, const uint8_t *payload,
			 uint32_t done, uint32_t bytes, uint32_t all, uint32_t number)
{
	uint32_t segment = TCP_HEADER + bytes, sum = IPPROTO_TCP + segment, i;
	uint8_t *ip = to + h->ip, *tcp = to + h->tcp;

	memcpy(to, h->byte, h->length);
	memcpy(to + h->length, payload + done, bytes);
	if (h->v6) {
		put16(ip + 4, segment);
	} else {
		put16(ip + 2, 20 + segment);
		put16(ip + 4, ID + number);
		put16(ip + 10, checksum(ip, 20, 0));
	}
	put32(tcp + 4, SEQ + done);
	if (done)
		tcp[TCP_FLAGS] &= ~CWR;
	if (done + bytes < all)
		tcp[TCP_FLAGS] &= ~(FIN | PSH);
	for (i = h->v6 ? 8 : 12; i < (h->v6 ? 40 : 20); i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	put16(tcp + 16, checksum(tcp, segment, sum));
	return h->length + bytes;
}

/* Makes a datagram of UDP of a frame of expected(): the header of TCP is a part of the payload. */
static void as_udp(uint8_t *frame, const struct headers *h, uint32_t length)
{
	uint32_t datagram = length - h->tcp, sum = IPPROTO_UDP + datagram, i;
	uint8_t *ip = frame + h->ip, *udp = frame + h->tcp;

	ip[h->v6 ? 6 : 9] = IPPROTO_UDP;
	if (!h->v6) {
		put16(ip + 10, 0);
		put16(ip + 10, checksum(ip, 20, 0));
	}
	put16(udp + 4, datagram);
	put16(udp + 6, 0);
	for (i = h->v6 ? 8 : 12; i < (h->v6 ? 40 : 20); i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	put16(udp + 6, checksum(udp, datagram, sum) ?: 0xffff);
}

/* the payload is the beginning of a.buf, in @num elements */
static int try_tso(struct headers *h, uint32_t length, uint32_t mss, int num, int flags)
{
	struct ibv_sge sge[4];
	struct ibv_send_wr wr = {
		.wr_id = 77, .sg_list = sge, .num_sge = num, .opcode = IBV_WR_TSO,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.tso = { .hdr = h->byte, .hdr_sz = h->length, .mss = mss },
	}, *bad;
	uint32_t done = 0;
	int i;

	for (i = 0; i < num; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)a.buf + done, .lkey = a.mr->lkey,
			.length = i + 1 < num ? length / num : length - done,
		};
		done += sge[i].length;
	}
	return ibv_post_send(a.qp, &wr, &bad);
}

static int try_tso_ex(struct headers *h, uint32_t length, uint32_t mss)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a.qp);
	int ret;

	qp->wr_id = 77;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(qp);
	ibv_wr_send_tso(qp, h->byte, h->length, mss);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, length);
	ret = ibv_wr_complete(qp);
	/* the headers are the program's again */
	memset(h->byte, 0xee, sizeof(h->byte));
	return ret;
}

static void tso_run(struct headers h, uint32_t length, uint32_t mss, int num)
{
	uint32_t frames = length ? (length + mss - 1) / mss : 1, done = 0, i, j, bytes;
	struct headers sent = h;
	uint8_t want[SLOT];
	struct ibv_wc wc;

	note("IPv%d, %u bytes of %u, header of %u", h.v6 ? 6 : 4, length, mss, h.length);
	for (i = 0; i < frames; i++)
		side_recv(&b, i, SLOT);
	if (num)
		SAME(try_tso(&sent, length, mss, num, 0), 0);
	else
		SAME(try_tso_ex(&sent, length, mss), 0);
	SAME(expect_ok(a.cq, 77).opcode, IBV_WC_TSO);
	for (i = 0; i < frames; i++, done += bytes) {
		bytes = length - done < mss ? length - done : mss;
		wc = side_got(&b, i, expected(want, &h, a.buf, done, bytes, length, i));
		SAME(!!(wc.wc_flags & IBV_WC_IP_CSUM_OK), !h.v6);
		for (j = 0; j < h.length + bytes; j++)
			if (b.buf[i * SLOT + j] != want[j])
				FAIL("frame %u: byte %u is %#x, not %#x", i, j,
				     b.buf[i * SLOT + j], want[j]);
	}
	note(NULL);
}

void tso_frames(void)
{
	open_tso();
	tso_run(make_headers(false, false, ACK), 5500, 1000, 4);
	tso_run(make_headers(false, false, ACK | PSH | FIN | CWR), 3001, 1000, 0);
	tso_run(make_headers(true, false, ACK | PSH), 4000, 1000, 3);
	tso_run(make_headers(true, false, ACK | CWR), 1441, 720, 0);
	tso_run(make_headers(false, true, ACK | FIN), 60000, 1400, 2);
	tso_run(make_headers(true, true, ACK), 100, 8, 1);
	tso_run(make_headers(false, false, ACK), TSO_MAX, 1400, 4);
	/* no more than one frame */
	tso_run(make_headers(false, false, ACK | PSH), 1000, 1000, 1);
	tso_run(make_headers(true, false, ACK), 1, 1000, 1);
	tso_run(make_headers(false, false, ACK | FIN), 0, 1000, 0);
	expect_no_wc(b.cq);
}

static void tso_fails(struct headers h, uint32_t length, uint32_t mss)
{
	SAME(try_tso(&h, length, mss, 1, 0), 0);
	expect_wc(a.cq, 77, IBV_WC_LOC_QP_OP_ERR);
	SAME(raw_step(a.qp, IBV_QPS_RTS, 0), 0);
}

void tso_refused(void)
{
	struct headers h = make_headers(false, false, ACK), bad = h;
	uint64_t dropped = counter("tx_dropped");
	struct ibv_qp *qp;

	open_tso();
	REFUSED(tso_qp(&a, IBV_QPT_RAW_PACKET, 189, IBV_QP_EX_WITH_TSO), EINVAL);
	REFUSED(tso_qp(&a, IBV_QPT_UD, 64, IBV_QP_EX_WITH_SEND), EOPNOTSUPP);
	REFUSED(tso_qp(&a, IBV_QPT_RAW_PACKET, 0, IBV_QP_EX_WITH_TSO), EOPNOTSUPP);

	bad.length = 13;
	REFUSED(try_tso(&bad, 1000, 500, 1, 0), EINVAL);
	bad.length = 129;
	REFUSED(try_tso(&bad, 1000, 500, 1, 0), EINVAL);
	REFUSED(try_tso(&h, 1000, 7, 1, 0), EINVAL);
	REFUSED(try_tso(&h, 100, 50, 1, IBV_SEND_INLINE), EINVAL);
	REFUSED(try_tso(&h, TSO_MAX + 1, 1000, 2, 0), EINVAL);
	/* by ibv_wr_start(), the length of the payload is not known at once */
	bad = h;
	SAME(try_tso_ex(&bad, TSO_MAX + 1, 1000), 0);
	expect_wc(a.cq, 77, IBV_WC_LOC_LEN_ERR);
	SAME(raw_step(a.qp, IBV_QPS_RTS, 0), 0);
	bad = h;
	REFUSED(try_tso_ex(&bad, 1000, 7), EINVAL);
	bad = h;
	bad.length = 129;
	REFUSED(try_tso_ex(&bad, 1000, 500), EINVAL);
	/* headers that are not those of TCP, or not all of them */
	bad = h;
	bad.byte[h.ip + 9] = IPPROTO_UDP;
	tso_fails(bad, 1000, 500);
	bad = h;
	bad.byte[h.ip + 6] = 0x20;
	tso_fails(bad, 1000, 500);
	bad = h;
	bad.byte[h.ip] = 0x44;
	tso_fails(bad, 1000, 500);
	bad = h;
	bad.byte[h.tcp + 12] = 0x40;
	tso_fails(bad, 1000, 500);
	bad = h;
	bad.length--;
	tso_fails(bad, 1000, 500);
	bad = h;
	bad.byte[12] = 0x88;
	tso_fails(bad, 1000, 500);
	bad = h;
	bad.length = 14;
	tso_fails(bad, 1000, 500);
	expect_no_wc(b.cq);

	/* frames that are too long for the net device */
	SAME(try_tso(&h, 3000, 1460, 1, 0), 0);
	expect_ok(a.cq, 77);
	expect_no_wc(b.cq);
	SAME(counter("tx_dropped"), dropped + 1);
	tso_run(h, 3000, 1448, 1);

	/* a QP that is not created for it */
	qp = a.qp;
	a.qp = raw_qp(&a, 4, 0);
	CHECK(a.qp);
	raw_ready(a.qp);
	REFUSED(try_tso(&h, 1000, 500, 1, 0), EINVAL);
	SAME(ibv_destroy_qp(a.qp), 0);
	a.qp = qp;
}

/* IBV_WC_IP_CSUM_OK is for IPv4 alone, see ibv_poll_cq(3) */
static bool sums_are_ok(int slot, uint32_t length)
{
	return side_got(&b, slot, length).wc_flags & IBV_WC_IP_CSUM_OK;
}

/* IBV_SEND_IP_CSUM, and IBV_WC_IP_CSUM_OK: each bit of @kind is one of two */
static void sums_of(unsigned int kind)
{
	bool v6 = kind & 1, tagged = kind & 2, udp = kind & 4;
	struct headers h = make_headers(v6, tagged, ACK);
	uint8_t want[SLOT], *sent = a.buf + SLOT;
	uint32_t length;

	note("%s in IPv%d, %s tag", udp ? "UDP" : "TCP", v6 ? 6 : 4, tagged ? "a" : "no");
	length = expected(want, &h, a.buf, 0, 201, 201, 0);
	if (udp)
		as_udp(want, &h, length);
	memcpy(sent, want, length);
	/* whatever is in the fields */
	put16(sent + h.tcp + (udp ? 6 : 16), 0x1234);
	if (!v6)
		put16(sent + h.ip + 10, 0x4321);
	side_recv(&b, 0, SLOT);
	side_recv(&b, 1, SLOT);
	side_send(&a, 1, length, IBV_SEND_IP_CSUM);
	SAME(sums_are_ok(0, length), !v6);
	SAME(memcmp(b.buf, want, length), 0);
	/* one bit of the payload is wrong */
	memcpy(sent, want, length);
	sent[length - 1] ^= 1;
	side_send(&a, 1, length, 0);
	CHECK(!sums_are_ok(1, length));
	SAME(memcmp(b.buf + SLOT, sent, length), 0);
}

void sums_of_all(void)
{
	unsigned int kind;

	open_tso();
	for (kind = 0; kind < 8; kind++)
		sums_of(kind);
	note(NULL);
}

struct tunnel {
	const char *name;
	uint16_t port;			/* of UDP; 0: the protocol of IP is GRE */
	uint8_t header[8];
	uint32_t length;		/* of the header */
	bool whole;			/* it carries frames, not IP packets */
};

/* Puts the frame @inner of @length bytes into a tunnel. @sums: UDP has a checksum. */
static uint32_t in_tunnel(uint8_t *to, const struct tunnel *t, const uint8_t *inner,
			  uint32_t length, bool sums)
{
	uint32_t skip = t->whole ? 0 : ETH_HLEN, udp = t->port ? 8 : 0;
	uint32_t payload = udp + t->length + length - skip;
	uint8_t *at = frame_ip(to, mac_unicast, udp ? IPPROTO_UDP : IPPROTO_GRE, payload);

	memcpy(at + udp, t->header, t->length);
	memcpy(at + udp + t->length, inner + skip, length - skip);
	if (udp)
		frame_udp_header(at, t->port, payload - udp);
	if (udp && !sums)
		put16(at + 6, 0);
	return ETH_HLEN + 20 + payload;
}

static void wq_post(struct ibv_wq *wq, int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b.buf + slot * SLOT, .length = SLOT, .lkey = b.mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	SAME(ibv_post_wq_recv(wq, &wr, &bad), 0);
}

/* a WQ of b that is ready, and the attributes of an RSS QP that has no other one */
static struct ibv_wq *make_wq(struct ibv_wq_init_attr *init, struct ibv_qp_init_attr_ex *qp)
{
	static uint8_t key[40] = { 1 };
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr table = {};
	struct ibv_wq *wq;

	init->pd = b.pd;
	init->cq = b.cq;
	wq = ibv_create_wq(b.ctx, init);
	CHECK(wq);
	SAME(ibv_modify_wq(wq, &attr), 0);
	table.ind_tbl = &wq;
	*qp = (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RAW_PACKET, .pd = b.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.rwq_ind_tbl = ibv_create_rwq_ind_table(b.ctx, &table),
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key), .rx_hash_key = key,
		},
	};
	CHECK(qp->rwq_ind_tbl);
	return wq;
}

/* the WQ of b's RSS QP; NULL: it has another one */
static struct ibv_wq *only_wq;

/* Is a frame in a.buf said to be right, with one bit of the byte @damage changed, if that is not 0? */
static bool frame_is_ok(uint32_t length, uint32_t damage)
{
	uint8_t *sent = a.buf + SLOT;
	bool ok;

	sent[damage] ^= !!damage;
	if (only_wq)
		wq_post(only_wq, 0);
	else
		side_recv(&b, 0, SLOT);
	side_send(&a, 1, length, 0);
	ok = sums_are_ok(0, length);
	SAME(memcmp(b.buf, sent, length), 0);
	sent[damage] ^= !!damage;
	return ok;
}

static void sums_in(const struct tunnel *t, bool looks)
{
	struct headers h4 = make_headers(false, false, ACK), h6 = make_headers(true, false, ACK);
	uint32_t bytes, length, outer = ETH_HLEN + 20;
	uint8_t inner[SLOT], *sent = a.buf + SLOT;

	note("%s, %s", t->name, looks ? "with offloads" : "without");
	bytes = expected(inner, &h4, a.buf, 0, 201, 201, 0);
	length = in_tunnel(sent, t, inner, bytes, false);
	SAME(frame_is_ok(length, 0), looks);
	CHECK(!frame_is_ok(length, length - 1));
	/* the TTL of the inner and of the outer IP header */
	CHECK(!frame_is_ok(length, length - bytes + h4.ip + 8));
	CHECK(!frame_is_ok(length, ETH_HLEN + 8));
	if (t->port) {
		length = in_tunnel(sent, t, inner, bytes, true);
		CHECK(frame_is_ok(length, 0));
		CHECK(!frame_is_ok(length, outer + 6));
		inner[bytes - 1] ^= 1;
		in_tunnel(sent, t, inner, bytes, true);
		SAME(frame_is_ok(length, 0), !looks);
		/* it ends before its IP header says so */
		inner[bytes - 1] ^= 1;
		length = in_tunnel(sent, t, inner, bytes - 8, true);
		SAME(frame_is_ok(length, 0), !looks);
	}
	/* this header says that IPv4 follows */
	if (t->header[2] == 0x08)
		return;
	bytes = expected(inner, &h6, a.buf, 0, 201, 201, 0);
	CHECK(!frame_is_ok(in_tunnel(sent, t, inner, bytes, false), 0));
}

/* The checksums of the packet in a tunnel count if b's QP looks at them. */
static void sums_in_all(bool looks)
{
	static const struct tunnel tunnels[] = {
		{ "VXLAN", 4789, "\x08\0\0\0\0\0\x2a", 8, true },
		{ "MPLS", 6635, "\0\0\x71\x40", 4 },
		{ "GRE", 0, "\0\0\x08\0", 4 },
		{ "frames in GRE", 0, "\0\0\x65\x58", 4, true },
		{ "MPLS in GRE", 0, "\0\0\x88\x47\0\0\x71\x40", 8 },
	};
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct headers h = make_headers(false, false, ACK);
	struct ibv_flow *flow;
	size_t i;

	rule_mac(&rule, mac_unicast);
	flow = rule_make(&b, &rule);
	for (i = 0; i < ARRAY_SIZE(tunnels); i++)
		sums_in(&tunnels[i], looks);
	note("no tunnel");
	CHECK(frame_is_ok(expected(a.buf + SLOT, &h, a.buf, 0, 201, 201, 0), 0));
	SAME(ibv_destroy_flow(flow), 0);
	note(NULL);
}

/* b gets another QP, with these attributes, which looks into tunnels or not */
static void tunnel_qp(struct ibv_qp_init_attr_ex *attr, bool looks)
{
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = looks ? WEFTDV_QP_CREATE_TUNNEL_OFFLOADS : 0,
	};

	SAME(ibv_destroy_qp(b.qp), 0);
	attr->pd = b.pd;
	b.qp = weftdv_create_qp(b.ctx, attr, &dv);
	CHECK(b.qp);
}

/* WEFTDV_QP_CREATE_TUNNEL_OFFLOADS */
void sums_in_tunnels(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET, .comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = { .max_recv_wr = SLOTS, .max_recv_sge = 1 },
	};
	int looks;

	side_open(&a);
	side_open(&b);
	attr.send_cq = b.cq;
	attr.recv_cq = b.cq;
	for (looks = 0; looks < 2; looks++) {
		tunnel_qp(&attr, looks);
		raw_ready(b.qp);
		sums_in_all(looks);
	}
}

/* the same flag of an RSS QP is for the frames that its WQs get */
void sums_in_tunnels_by_rss(void)
{
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1 };
	struct ibv_qp_init_attr_ex attr;
	int looks;

	side_open(&a);
	side_open(&b);
	only_wq = make_wq(&wq, &attr);
	for (looks = 0; looks < 2; looks++) {
		tunnel_qp(&attr, looks);
		sums_in_all(looks);
	}
}

/* b receives by a QP with these flags */
static void open_flags(int flags)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.cap = { .max_recv_wr = SLOTS, .max_recv_sge = 1 },
		.create_flags = flags,
	};

	side_open(&a);
	side_open(&b);
	SAME(ibv_destroy_qp(b.qp), 0);
	init.send_cq = b.cq;
	init.recv_cq = b.cq;
	init.pd = b.pd;
	b.qp = ibv_create_qp_ex(b.ctx, &init);
	CHECK(b.qp);
	raw_ready(b.qp);
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);
}

/*
 * Puts a frame with @length bytes into a.buf: with a tag of this type, or none (0). A tag of
 * priority 3 and DEI, VID 0x123.
 */
static void put_frame(uint32_t length, uint16_t tag_type)
{
	uint8_t *at = a.buf + 2 * ETH_ALEN;

	fill(a.buf, length, length);
	memcpy(a.buf, mac_unicast, ETH_ALEN);
	memcpy(a.buf + ETH_ALEN, mac_source, ETH_ALEN);
	put16(at, 0x88b7);
	if (!tag_type)
		return;
	put16(at, tag_type);
	put16(at + 2, 0x7123);
	if (length >= 18)
		put16(at + 4, 0x88b7);
}

/* b gets the frame @slot of @length bytes; returns ibv_wc_read_cvlan() */
static uint16_t got_frame(int slot, uint32_t length)
{
	struct ibv_poll_cq_attr poll = {};
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	uint16_t cvlan;
	int ret;

	do
		ret = ibv_start_poll(b.cq_ex, &poll);
	while (ret == ENOENT && now_ns() < end);
	SAME(ret, 0);
	SAME(b.cq_ex->wr_id, slot);
	SAME(b.cq_ex->status, IBV_WC_SUCCESS);
	SAME(ibv_wc_read_byte_len(b.cq_ex), length);
	cvlan = ibv_wc_read_cvlan(b.cq_ex);
	ibv_end_poll(b.cq_ex);
	return cvlan;
}

static void send_frame(uint32_t length, uint16_t tag_type)
{
	note("%u bytes, type %#x", length, tag_type);
	put_frame(length, tag_type);
	side_send(&a, 0, length, 0);
}

void strips_vlan(void)
{
	uint64_t too_long;

	open_flags(IBV_QP_CREATE_CVLAN_STRIPPING);
	side_recv(&b, 0, SLOT);
	send_frame(100, ETH_P_8021Q);
	SAME(got_frame(0, 96), 0x7123);
	SAME(memcmp(b.buf, a.buf, 12), 0);
	SAME(memcmp(b.buf + 12, a.buf + 16, 84), 0);
	check_zero(b.buf + 96, SLOT - 96);
	/* nothing else is a tag of a customer's VLAN */
	side_recv(&b, 1, SLOT);
	send_frame(100, 0);
	SAME(got_frame(1, 100), 0);
	SAME(memcmp(b.buf + SLOT, a.buf, 100), 0);
	side_recv(&b, 2, SLOT);
	send_frame(100, ETH_P_8021AD);
	SAME(got_frame(2, 100), 0);
	SAME(memcmp(b.buf + 2 * SLOT, a.buf, 100), 0);
	/* not all of a tag */
	side_recv(&b, 3, SLOT);
	send_frame(17, ETH_P_8021Q);
	SAME(got_frame(3, 17), 0);
	/* the longest frame; what is left of it counts */
	too_long = counter("rx_too_long");
	side_recv(&b, 4, 1513);
	send_frame(1518, ETH_P_8021Q);
	expect_no_wc(b.cq);
	SAME(counter("rx_too_long"), too_long + 1);
	send_frame(1517, ETH_P_8021Q);
	SAME(got_frame(4, 1513), 0x7123);
	note(NULL);
}

/* The CRC of IEEE 802.3, bit by bit. */
static uint32_t crc_of(const uint8_t *at, uint32_t length)
{
	uint32_t crc = ~0u, i;

	for (; length; length--) {
		crc ^= *at++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

void scatters_fcs(void)
{
	static const uint32_t lengths[] = { 14, 59, 60, 61, 1000, 1514 };
	uint32_t i, length, padded, crc;
	uint8_t want[SLOT];

	open_flags(IBV_QP_CREATE_SCATTER_FCS);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		length = lengths[i];
		padded = length < 60 ? 60 : length;
		side_recv(&b, i, padded + 4);
		send_frame(length, 0);
		SAME(got_frame(i, padded + 4), 0);
		memset(want, 0, sizeof(want));
		memcpy(want, a.buf, length);
		crc = htole32(crc_of(want, padded));
		memcpy(want + padded, &crc, 4);
		SAME(memcmp(b.buf + i * SLOT, want, SLOT), 0);
	}
	/* it has no room without the FCS */
	side_recv(&b, 0, 103);
	send_frame(100, 0);
	expect_no_wc(b.cq);
	side_close(&a);

	/* the FCS is that of the frame with its tag */
	open_flags(IBV_QP_CREATE_SCATTER_FCS | IBV_QP_CREATE_CVLAN_STRIPPING);
	side_recv(&b, 0, SLOT);
	send_frame(40, ETH_P_8021Q);
	SAME(got_frame(0, 60), 0x7123);
	memset(want, 0, sizeof(want));
	memcpy(want, a.buf, 40);
	crc = htole32(crc_of(want, 60));
	SAME(memcmp(b.buf, want, 12), 0);
	SAME(memcmp(b.buf + 12, want + 16, 44), 0);
	SAME(memcmp(b.buf + 56, &crc, 4), 0);
	note(NULL);
}

static int wq_strip(struct ibv_wq *wq, bool strip)
{
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_FLAGS,
		.flags = strip ? IBV_WQ_FLAGS_CVLAN_STRIPPING : 0,
		.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING,
	};

	return ibv_modify_wq(wq, &attr);
}

/* the same of a WQ, which may change its mind about the tag, but not about the FCS */
void wq_shapes(void)
{
	struct ibv_wq_init_attr wq_init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1,
		.comp_mask = IBV_WQ_INIT_ATTR_FLAGS,
		.create_flags = IBV_WQ_FLAGS_CVLAN_STRIPPING | IBV_WQ_FLAGS_SCATTER_FCS,
	};
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_qp_init_attr_ex init;
	struct ibv_wq_attr attr;
	struct ibv_wq *wq;
	uint32_t crc;

	side_open(&a);
	side_open(&b);
	wq = make_wq(&wq_init, &init);
	SAME(ibv_destroy_qp(b.qp), 0);
	b.qp = ibv_create_qp_ex(b.ctx, &init);
	CHECK(b.qp);
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);

	wq_post(wq, 0);
	send_frame(100, ETH_P_8021Q);
	SAME(got_frame(0, 100), 0x7123);
	crc = htole32(crc_of(a.buf, 100));
	SAME(memcmp(b.buf, a.buf, 12), 0);
	SAME(memcmp(b.buf + 12, a.buf + 16, 84), 0);
	SAME(memcmp(b.buf + 96, &crc, 4), 0);

	SAME(wq_strip(wq, false), 0);
	wq_post(wq, 1);
	send_frame(100, ETH_P_8021Q);
	SAME(got_frame(1, 104), 0);
	SAME(memcmp(b.buf + SLOT, a.buf, 100), 0);
	SAME(memcmp(b.buf + SLOT + 100, &crc, 4), 0);

	SAME(wq_strip(wq, true), 0);
	wq_post(wq, 2);
	send_frame(100, ETH_P_8021Q);
	SAME(got_frame(2, 100), 0x7123);

	/* a refusal, of the flags or of the state, changes nothing */
	attr = (struct ibv_wq_attr){
		.attr_mask = IBV_WQ_ATTR_FLAGS,
		.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING | IBV_WQ_FLAGS_SCATTER_FCS,
	};
	REFUSED(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	attr.attr_mask |= IBV_WQ_ATTR_CURR_STATE;
	attr.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING;
	attr.curr_wq_state = IBV_WQS_ERR;
	REFUSED(ibv_modify_wq(wq, &attr), EINVAL);
	wq_post(wq, 3);
	send_frame(100, ETH_P_8021Q);
	SAME(got_frame(3, 100), 0x7123);
	note(NULL);
}

/* Turns the net device's own TSO on or off. */
static void set_offload(int fd, bool on)
{
	struct ethtool_value value = { .cmd = ETHTOOL_STSO, .data = on };
	struct ifreq request = { .ifr_data = (void *)&value };

	strcpy(request.ifr_name, getenv("WEFT_OWN_NETDEV") ?: "raw0");
	SAME(ioctl(fd, SIOCETHTOOL, &request), 0);
}

/* The payload arrives at the other end of the cable; returns the number of packets there. */
static uint32_t wire_tso_run(int fd, uint32_t length)
{
	static uint8_t packet[70000];
	struct headers h = make_headers(false, false, ACK);
	uint32_t done = 0, number = 0;
	ssize_t got;

	SAME(try_tso(&h, length, 1000, 1, 0), 0);
	expect_ok(a.cq, 77);
	while (done < length) {
		got = recv(fd, packet, sizeof(packet), 0);
		CHECK(got > (ssize_t)h.length);
		if (memcmp(packet, mac_unicast, ETH_ALEN))
			continue;
		SAME(memcmp(packet + h.length, a.buf + done, got - h.length), 0);
		done += got - h.length;
		number++;
	}
	SAME(done, length);
	return number;
}

/* One buffer until the net device, which passes it on if it can cut it. */
void wire_tso(void)
{
	int fd = packet_socket(getenv("WEFT_WIRE"), ETH_P_IP, false);

	open_tso();
	set_offload(fd, true);
	SAME(wire_tso_run(fd, 60000), 1);
	set_offload(fd, false);
	SAME(wire_tso_run(fd, 60000), 60);
	set_offload(fd, true);
}

static void command(const char *format, const char *name)
{
	char text[256];

	snprintf(text, sizeof(text), format, name);
	SAME(system(text), 0);
}

/*
 * b gets each packet of a stream as it was sent. Returns whether @tap saw that the kernel had joined
 * some: it does not if the next one takes longer than a jiffy.
 */
static bool gro_run(int out, int tap, bool v6, bool udp)
{
	enum { PIECE = 1000, ALL = 7123, PIECES = 8 };
	static uint8_t want[PIECES][SLOT], packet[70000];
	struct headers h = make_headers(v6, false, ACK | PSH);
	uint32_t length[PIECES], done = 0, bytes, i;
	bool joined = false;
	ssize_t got;

	note("%s in IPv%d", udp ? "UDP" : "TCP", v6 ? 6 : 4);
	while (recv(tap, packet, sizeof(packet), MSG_DONTWAIT) >= 0)
		continue;
	for (i = 0; i < PIECES; i++) {
		side_recv(&b, i, SLOT);
		bytes = ALL - done < PIECE ? ALL - done : PIECE;
		length[i] = expected(want[i], &h, a.buf, done, bytes, ALL, i);
		if (udp)
			as_udp(want[i], &h, length[i]);
		done += bytes;
	}
	for (i = 0; i < PIECES; i++)
		SAME(send(out, want[i], length[i], 0), (ssize_t)length[i]);
	for (i = 0; i < PIECES; i++) {
		SAME(sums_are_ok(i, length[i]), !v6);
		SAME(memcmp(b.buf + i * SLOT, want[i], length[i]), 0);
	}
	while ((got = recv(tap, packet, sizeof(packet), MSG_DONTWAIT)) >= 0)
		joined |= got > 2 * PIECE;
	return joined;
}

/* The kernel joins packets that arrive (GRO) in two ways: pages of one buffer, or a list of buffers. */
void wire_gro(void)
{
	const char *own = getenv("WEFT_OWN_NETDEV") ?: "raw0", *wire = getenv("WEFT_WIRE");
	int out = packet_socket(wire, 0, false), tap = packet_socket(own, ETH_P_ALL, false);
	unsigned int kind, list, tries;

	/* a veth has GRO for what the other end has not cut; packets wait for more of them */
	command("ethtool -K %s tso off", wire);
	command("ethtool -K %s gro on rx-udp-gro-forwarding on", own);
	command("echo 200000000 >/sys/class/net/%s/gro_flush_timeout", own);
	open_tso();
	for (list = 0; list < 2; list++) {
		if (list)
			command("ethtool -K %s rx-gro-list on", own);
		for (kind = 0; kind < 4; kind++) {
			for (tries = 50; tries && !gro_run(out, tap, kind & 1, kind & 2); tries--)
				continue;
			CHECK(tries);
		}
	}
	note(NULL);
	command("echo 0 >/sys/class/net/%s/gro_flush_timeout", own);
	command("ethtool -K %s gro off rx-udp-gro-forwarding off rx-gro-list off", own);
	command("ethtool -K %s tso on", wire);
}
