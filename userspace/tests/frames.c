// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RAW_PACKET QPs and flow steering between contexts of one device: states, queues, lengths,
 * checksums, rules. frames-offload.c has what an adapter does to frames, frames-count.c counters of
 * rules, frames-rss.c WQs, frames-wire.c what needs another net device.
 */
#include "frames.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

const uint8_t mac_unicast[ETH_ALEN] = { 2, 0, 0, 0, 0, 0x42 };
const uint8_t mac_group[ETH_ALEN] = { 1, 0x50, 0x56, 0x19, 0x20, 0xa7 };
const uint8_t mac_source[ETH_ALEN] = { 2, 0, 0, 0, 0, 0x41 };

static struct side a, b;

struct ibv_qp *raw_qp(struct side *s, int sq, int rq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = s->cq, .recv_cq = s->cq,
		.cap = {
			.max_send_wr = sq, .max_recv_wr = rq, .max_send_sge = sq ? 4 : 0,
			.max_recv_sge = rq ? 4 : 0, .max_inline_data = sq ? 128 : 0,
		},
	};

	return ibv_create_qp(s->pd, &init);
}

int raw_step(struct ibv_qp *qp, enum ibv_qp_state state, int more)
{
	struct ibv_qp_attr attr = {
		.qp_state = state, .port_num = 1, .rate_limit = 100000,
		.cur_qp_state = IBV_QPS_RTR, .cap.max_send_wr = 32,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | more);
}

void raw_ready(struct ibv_qp *qp)
{
	SAME(raw_step(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	SAME(raw_step(qp, IBV_QPS_RTR, 0), 0);
	SAME(raw_step(qp, IBV_QPS_RTS, 0), 0);
}

void side_open_in(struct side *s, struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 256, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG |
					IBV_WC_EX_WITH_CVLAN,
	};

	s->ctx = context;
	s->pd = ibv_alloc_pd(context);
	CHECK(s->pd);
	s->cq_ex = ibv_create_cq_ex(context, &attr);
	CHECK(s->cq_ex);
	s->cq = ibv_cq_ex_to_cq(s->cq_ex);
	s->buf = memory(SLOTS * SLOT);
	s->mr = ibv_reg_mr(s->pd, s->buf, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE);
	CHECK(s->mr);
	s->qp = raw_qp(s, SLOTS, SLOTS);
	CHECK(s->qp);
	raw_ready(s->qp);
}

void side_open(struct side *s)
{
	struct ibv_context *context = ibv_open_device(ctx->device);

	CHECK(context);
	side_open_in(s, context);
}

void side_close(struct side *s)
{
	SAME(ibv_destroy_qp(s->qp), 0);
	SAME(ibv_dereg_mr(s->mr), 0);
	SAME(ibv_destroy_cq(s->cq), 0);
	SAME(ibv_dealloc_pd(s->pd), 0);
	SAME(ibv_close_device(s->ctx), 0);
}

static struct ibv_sge sge_of(struct side *s, int slot, uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)s->buf + slot * SLOT + offset, .length = length,
		.lkey = s->mr->lkey,
	};
}

void side_recv(struct side *s, int slot, uint32_t length)
{
	struct ibv_sge sge = sge_of(s, slot, 0, length);
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	memset(s->buf + slot * SLOT, 0, SLOT);
	SAME(ibv_post_recv(s->qp, &wr, &bad), 0);
}

void side_recv_all(struct side *s)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		side_recv(s, i, SLOT);
}

static int try_send(struct side *s, int slot, uint32_t length, int flags)
{
	struct ibv_sge sge = sge_of(s, slot, 0, length);
	struct ibv_send_wr wr = {
		.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | flags,
	}, *bad;

	return ibv_post_send(s->qp, &wr, &bad);
}

void side_send(struct side *s, int slot, uint32_t length, int flags)
{
	struct ibv_wc wc;

	SAME(try_send(s, slot, length, flags), 0);
	wc = expect_ok(s->cq, slot);
	SAME(wc.opcode, IBV_WC_SEND);
}

struct ibv_wc side_got_(const char *file, int line, struct side *s, int slot, uint32_t length)
{
	struct ibv_wc wc = expect_wc_(file, line, s->cq, slot, IBV_WC_SUCCESS);

	if (wc.opcode != IBV_WC_RECV || wc.byte_len != length || wc.wc_flags & IBV_WC_GRH)
		failed(file, line, "opcode %d, %u bytes, not %u, flags %#x", wc.opcode,
		       wc.byte_len, length, wc.wc_flags);
	return wc;
}

static void same_bytes(const uint8_t *got, const uint8_t *want, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (got[i] != want[i])
			FAIL("byte %zu of %zu is %#x, not %#x", i, length, got[i], want[i]);
}

uint16_t checksum(const void *p, size_t length, uint32_t sum)
{
	const uint8_t *at = p;
	size_t i;

	for (i = 0; i < length; i++)
		sum += i % 2 ? at[i] : at[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

uint8_t *frame_ip(uint8_t *frame, const uint8_t *mac, uint8_t protocol, uint32_t payload)
{
	uint8_t *ip = frame + ETH_HLEN;

	memset(frame, 0, ETH_HLEN + 20);
	memcpy(frame, mac, ETH_ALEN);
	memcpy(frame + ETH_ALEN, mac_source, ETH_ALEN);
	put16(frame + 12, ETH_P_IP);
	ip[0] = 0x45;
	put16(ip + 2, 20 + payload);
	ip[8] = 64;
	ip[9] = protocol;
	memcpy(ip + 12, "\x0a\x0a\x09\x02\x0a\x0a\x09\x01", 8);
	put16(ip + 10, checksum(ip, 20, 0));
	return ip + 20;
}

void frame_udp_header(uint8_t *udp, uint16_t port, uint32_t payload)
{
	uint32_t i, sum = IPPROTO_UDP + 8 + payload;
	const uint8_t *addresses = udp - 8;

	put16(udp, 999);
	put16(udp + 2, port);
	put16(udp + 4, 8 + payload);
	put16(udp + 6, 0);
	for (i = 0; i < 8; i += 2)
		sum += addresses[i] << 8 | addresses[i + 1];
	put16(udp + 6, checksum(udp, 8 + payload, sum) ?: 0xffff);
}

uint32_t frame_udp(uint8_t *frame, const uint8_t *mac, uint16_t port, uint32_t payload)
{
	uint8_t *udp = frame_ip(frame, mac, IPPROTO_UDP, 8 + payload);
	uint32_t i;

	for (i = 0; i < payload; i++)
		udp[8 + i] = i * 7 + port;
	frame_udp_header(udp, port, payload);
	return 42 + payload;
}

void rule_mac(struct rule *rule, const uint8_t *mac)
{
	struct ibv_flow_spec_eth eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth) };

	memcpy(eth.val.dst_mac, mac, ETH_ALEN);
	memset(eth.mask.dst_mac, 0xff, ETH_ALEN);
	rule_add(rule, &eth, sizeof(eth));
}

void rule_tag(struct rule *rule, uint32_t tag)
{
	struct ibv_flow_spec_action_tag action = {
		.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(action), .tag_id = tag,
	};

	rule_add(rule, &action, sizeof(action));
}

void rule_drop(struct rule *rule)
{
	struct ibv_flow_spec_action_drop action = {
		.type = IBV_FLOW_SPEC_ACTION_DROP, .size = sizeof(action),
	};

	rule_add(rule, &action, sizeof(action));
}

void rule_count(struct rule *rule, struct ibv_counters *counters)
{
	struct ibv_flow_spec_counter_action action = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(action), .counters = counters,
	};

	rule_add(rule, &action, sizeof(action));
}

struct ibv_flow *rule_make(struct side *s, struct rule *rule)
{
	struct ibv_flow *flow = ibv_create_flow(s->qp, &rule->attr);

	CHECK(flow);
	return flow;
}

/* a rule of @s for frames to @mac */
static struct ibv_flow *steer_mac(struct side *s, const uint8_t *mac)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	rule_mac(&rule, mac);
	return rule_make(s, &rule);
}

static void open_sides(void)
{
	side_open(&a);
	side_open(&b);
}

/* ---- the QP ---- */

static void says_what_it_can(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	SAME(attr.raw_packet_caps, IBV_RAW_PACKET_CAP_IP_CSUM | IBV_RAW_PACKET_CAP_SCATTER_FCS |
	     IBV_RAW_PACKET_CAP_CVLAN_STRIPPING);
	CHECK(attr.device_cap_flags_ex & IBV_DEVICE_RAW_SCATTER_FCS);
	CHECK(attr.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING);
	CHECK(attr.orig_attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM);
	CHECK(attr.packet_pacing_caps.supported_qpts & 1 << IBV_QPT_RAW_PACKET);
	SAME(attr.tso_caps.max_tso, 65280);
	SAME(attr.tso_caps.supported_qpts, 1 << IBV_QPT_RAW_PACKET);
}

static void states(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	side_open(&a);
	qp = raw_qp(&a, 16, 16);
	CHECK(qp);
	REFUSED(raw_step(qp, IBV_QPS_INIT, 0), EINVAL);
	REFUSED(raw_step(qp, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX), EINVAL);
	REFUSED(raw_step(qp, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_QKEY), EINVAL);
	REFUSED(raw_step(qp, IBV_QPS_RTR, 0), EINVAL);
	SAME(raw_step(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	REFUSED(raw_step(qp, IBV_QPS_INIT, IBV_QP_PORT), EINVAL);
	SAME(raw_step(qp, IBV_QPS_INIT, 0), 0);
	REFUSED(raw_step(qp, IBV_QPS_RTR, IBV_QP_RATE_LIMIT), EINVAL);
	REFUSED(raw_step(qp, IBV_QPS_RTR, IBV_QP_AV), EINVAL);
	SAME(raw_step(qp, IBV_QPS_RTR, 0), 0);
	REFUSED(raw_step(qp, IBV_QPS_RTS, IBV_QP_SQ_PSN), EINVAL);
	REFUSED(raw_step(qp, IBV_QPS_RTS, IBV_QP_CUR_STATE), EINVAL);
	REFUSED(raw_step(qp, IBV_QPS_RTS, IBV_QP_CAP), EINVAL);
	SAME(raw_step(qp, IBV_QPS_RTS, IBV_QP_RATE_LIMIT), 0);
	SAME(raw_step(qp, IBV_QPS_RTS, IBV_QP_RATE_LIMIT), 0);
	SAME(raw_step(qp, IBV_QPS_RTS, 0), 0);
	SAME(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP | IBV_QP_PORT, &init), 0);
	SAME(attr.qp_state, IBV_QPS_RTS);
	SAME(attr.port_num, 1);
	SAME(init.qp_type, IBV_QPT_RAW_PACKET);
	CHECK(attr.cap.max_send_wr >= 16 && attr.cap.max_recv_wr >= 16);
	REFUSED(raw_step(qp, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY), EINVAL);
	SAME(raw_step(qp, IBV_QPS_SQD, 0), 0);
	SAME(raw_step(qp, IBV_QPS_SQD, 0), 0);
	REFUSED(raw_step(qp, IBV_QPS_RTS, IBV_QP_RATE_LIMIT), EINVAL);
	SAME(raw_step(qp, IBV_QPS_RTS, 0), 0);
	SAME(raw_step(qp, IBV_QPS_ERR, 0), 0);
	SAME(raw_step(qp, IBV_QPS_RESET, 0), 0);
	SAME(ibv_destroy_qp(qp), 0);
	side_close(&a);
}

static void queues(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp;

	side_open(&a);
	qp = raw_qp(&a, 0, 16);
	CHECK(qp);
	raw_ready(qp);
	SAME(ibv_destroy_qp(qp), 0);
	qp = raw_qp(&a, 16, 0);
	CHECK(qp);
	raw_ready(qp);
	SAME(ibv_destroy_qp(qp), 0);

	init.send_cq = a.cq;
	init.recv_cq = a.cq;
	init.srq = ibv_create_srq(a.pd, &srq_attr);
	CHECK(init.srq);
	REFUSED(ibv_create_qp(a.pd, &init), EINVAL);
	SAME(ibv_destroy_srq(init.srq), 0);

	ex.pd = a.pd;
	ex.send_cq = a.cq;
	ex.recv_cq = a.cq;
	ex.create_flags = 1 << 20;
	REFUSED(ibv_create_qp_ex(a.ctx, &ex), EOPNOTSUPP);
	ex.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	qp = ibv_create_qp_ex(a.ctx, &ex);
	CHECK(qp);
	SAME(ibv_destroy_qp(qp), 0);
	ex.create_flags = 0;
	ex.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ex.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
	REFUSED(ibv_create_qp_ex(a.ctx, &ex), EOPNOTSUPP);
	ex.send_ops_flags = IBV_QP_EX_WITH_SEND;
	qp = ibv_create_qp_ex(a.ctx, &ex);
	CHECK(qp);
	SAME(ibv_destroy_qp(qp), 0);
	side_close(&a);
}

/* the core checks the capability; a context that was opened before gives no rights */
static void needs_net_raw(void)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	side_open(&a);
	rule_mac(&rule, mac_unicast);
	SAME(setresuid(65534, 65534, 65534), 0);
	REFUSED(raw_qp(&a, 4, 4), EPERM);
	REFUSED(ibv_create_flow(a.qp, &rule.attr), EPERM);
}

/* ---- frames ---- */

static void lengths(void)
{
	static const uint32_t good[] = { 14, 15, 60, 61, 1024, 1500, 1514 };
	uint64_t dropped;
	uint32_t i, j;

	open_sides();
	steer_mac(&b, mac_unicast);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		note("length %u", good[i]);
		side_recv(&b, i, SLOT);
		for (j = 0; j < SLOT; j++)
			a.buf[j] = j * 5 + i;
		memcpy(a.buf, mac_unicast, ETH_ALEN);
		side_send(&a, 0, good[i], good[i] < 100 ? IBV_SEND_INLINE : 0);
		side_got(&b, i, good[i]);
		same_bytes(b.buf + i * SLOT, a.buf, good[i]);
		check_zero(b.buf + i * SLOT + good[i], SLOT - good[i]);
	}
	note(NULL);
	/* no Ethernet header */
	REFUSED(try_send(&a, 0, 13, 0), EINVAL);
	REFUSED(try_send(&a, 0, 0, IBV_SEND_INLINE), EINVAL);
	/* too long for the net device: it does not send it, and the consumer learns nothing */
	dropped = counter("tx_dropped");
	side_recv(&b, 0, SLOT);
	side_send(&a, 0, 1515, 0);
	expect_no_wc(b.cq);
	SAME(counter("tx_dropped"), dropped + 1);
	/* longer than those of any net device */
	side_send(&a, 0, 65601, 0);
	expect_no_wc(b.cq);
	SAME(counter("tx_dropped"), dropped + 2);
	side_send(&a, 0, 100, 0);
	side_got(&b, 0, 100);
}

static void lists(void)
{
	struct ibv_sge send[3], recv[2];
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = send, .num_sge = 3, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_recv_wr recv_wr = { .wr_id = 2, .sg_list = recv, .num_sge = 2 }, *bad_recv;

	open_sides();
	steer_mac(&b, mac_unicast);
	fill(a.buf, 3 * SLOT, 1);
	memcpy(a.buf, mac_unicast, ETH_ALEN);
	send[0] = sge_of(&a, 0, 0, 7);
	send[1] = sge_of(&a, 1, 3, 200);
	send[2] = sge_of(&a, 2, 1, 33);
	recv[0] = sge_of(&b, 0, 0, 100);
	recv[1] = sge_of(&b, 1, 0, 1000);
	SAME(ibv_post_recv(b.qp, &recv_wr, &bad_recv), 0);
	SAME(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_ok(a.cq, 1);
	side_got(&b, 2, 240);
	same_bytes(b.buf, a.buf, 7);
	same_bytes(b.buf + 7, a.buf + SLOT + 3, 93);
	same_bytes(b.buf + SLOT, a.buf + SLOT + 96, 107);
	same_bytes(b.buf + SLOT + 107, a.buf + 2 * SLOT + 1, 33);

	/* memory that is not the program's: the QP stops sending, and goes on when it is told */
	send[1].lkey ^= 0x100;
	SAME(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_wc(a.cq, 1, IBV_WC_LOC_PROT_ERR);
	SAME(raw_step(a.qp, IBV_QPS_RTS, 0), 0);
	side_recv(&b, 3, SLOT);
	side_send(&a, 0, 60, 0);
	side_got(&b, 3, 60);
}

/* a receive that does not fit stays for the next frame */
static void receives(void)
{
	uint64_t too_long = counter("rx_too_long"), none = counter("out_of_buffer");

	open_sides();
	steer_mac(&b, mac_unicast);
	frame_udp(a.buf, mac_unicast, PORT_A, 400);
	side_send(&a, 0, 300, 0);
	expect_no_wc(b.cq);
	SAME(counter("out_of_buffer"), none + 1);
	side_recv(&b, 0, 299);
	side_send(&a, 0, 300, 0);
	expect_no_wc(b.cq);
	SAME(counter("rx_too_long"), too_long + 1);
	side_send(&a, 0, 299, 0);
	side_got(&b, 0, 299);
	expect_no_event();

	/* memory that has gone, as libpcap leaves it: the QP ends */
	side_recv(&b, 1, SLOT);
	side_recv(&b, 2, SLOT);
	SAME(ibv_dereg_mr(b.mr), 0);
	side_send(&a, 0, 100, 0);
	expect_wc(b.cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(b.cq, 2, IBV_WC_WR_FLUSH_ERR);
	side_send(&a, 0, 100, 0);
}

/* a QP receives from RTR on; in INIT receives are posted */
static void receives_in_rtr(void)
{
	struct ibv_qp *qp;

	open_sides();
	SAME(ibv_destroy_qp(b.qp), 0);
	qp = raw_qp(&b, 0, 16);
	CHECK(qp);
	b.qp = qp;
	/* rules can be made before */
	steer_mac(&b, mac_unicast);
	SAME(raw_step(qp, IBV_QPS_INIT, IBV_QP_PORT), 0);
	side_recv(&b, 1, SLOT);
	frame_udp(a.buf, mac_unicast, PORT_A, 100);
	side_send(&a, 0, 100, 0);
	expect_no_wc(b.cq);
	SAME(raw_step(qp, IBV_QPS_RTR, 0), 0);
	side_send(&a, 0, 101, 0);
	side_got(&b, 1, 101);
}

static void own_context(void)
{
	struct side c;

	side_open(&a);
	side_open_in(&b, a.ctx);
	side_open(&c);
	steer_mac(&b, mac_group);
	side_recv(&b, 0, SLOT);
	frame_udp(a.buf, mac_group, PORT_A, 100);
	side_send(&a, 0, 142, 0);
	expect_no_wc(b.cq);
	memcpy(c.buf, a.buf, SLOT);
	side_send(&c, 0, 142, 0);
	side_got(&b, 0, 142);
}

/* ---- checksums ---- */

static void checksums(void)
{
	uint8_t want[SLOT];
	uint32_t length;
	struct ibv_wc wc;
	int i;

	open_sides();
	steer_mac(&b, mac_unicast);
	length = frame_udp(want, mac_unicast, PORT_A, 101);
	for (i = 0; i < 4; i++)
		side_recv(&b, i, SLOT);
	/* whatever is in the fields */
	memcpy(a.buf, want, SLOT);
	put16(a.buf + 24, 0x1234);
	put16(a.buf + 40, 0x4321);
	side_send(&a, 0, length, IBV_SEND_IP_CSUM);
	wc = side_got(&b, 0, length);
	CHECK(wc.wc_flags & IBV_WC_IP_CSUM_OK);
	same_bytes(b.buf, want, length);
	/* without the flag they stay as they are, and the receiver learns it */
	side_send(&a, 0, length, 0);
	wc = side_got(&b, 1, length);
	CHECK(!(wc.wc_flags & IBV_WC_IP_CSUM_OK));
	same_bytes(b.buf + SLOT, a.buf, length);
	/* the header alone is wrong */
	memcpy(a.buf, want, SLOT);
	a.buf[22]--;
	side_send(&a, 0, length, 0);
	CHECK(!(side_got(&b, 2, length).wc_flags & IBV_WC_IP_CSUM_OK));
	/* what is no IP is left alone */
	put16(a.buf + 12, 0x88b7);
	side_send(&a, 0, length, IBV_SEND_IP_CSUM);
	CHECK(!(side_got(&b, 3, length).wc_flags & IBV_WC_IP_CSUM_OK));
	same_bytes(b.buf + 3 * SLOT, a.buf, length);
}

/* ---- rules ---- */

/* which of two QPs gets a frame to @port: bit 0 is b, bit 1 is c */
static int who_gets(struct side *c, uint16_t port)
{
	struct side *sides[] = { &b, c };
	uint32_t length = frame_udp(a.buf, mac_unicast, port, 50);
	struct ibv_wc wc;
	int i, got = 0;

	side_send(&a, 0, length, 0);
	for (i = 0; i < 2; i++) {
		while (ibv_poll_cq(sides[i]->cq, 1, &wc) == 1) {
			SAME(wc.status, IBV_WC_SUCCESS);
			got |= 1 << i;
		}
	}
	return got;
}

static struct ibv_flow *steer_port(struct side *s, uint16_t port, int priority, int flags,
				   bool drop)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	rule_mac(&rule, mac_unicast);
	if (port)
		rule_udp(&rule, port);
	if (drop)
		rule_drop(&rule);
	rule.attr.priority = priority;
	rule.attr.flags = flags;
	return ibv_create_flow(s->qp, &rule.attr);
}

static void priorities(void)
{
	struct ibv_flow *wide, *narrow, *other;
	struct side c;

	open_sides();
	side_open(&c);
	side_recv_all(&b);
	side_recv_all(&c);
	SAME(who_gets(&c, 1), 0);
	wide = steer_port(&b, 0, 2, 0, false);
	CHECK(wide);
	SAME(who_gets(&c, 1), 1);
	narrow = steer_port(&c, 1, 3, 0, false);
	CHECK(narrow);
	SAME(who_gets(&c, 1), 1);
	SAME(ibv_destroy_flow(narrow), 0);
	narrow = steer_port(&c, 1, 1, 0, false);
	CHECK(narrow);
	SAME(who_gets(&c, 1), 2);
	SAME(who_gets(&c, 2), 1);
	SAME(ibv_destroy_flow(narrow), 0);
	/* the same rule for another QP: both get the frame */
	other = steer_port(&c, 0, 2, 0, false);
	CHECK(other);
	SAME(who_gets(&c, 1), 3);
	SAME(ibv_destroy_flow(other), 0);
	/* it lets the frame go on */
	other = steer_port(&c, 1, 0, IBV_FLOW_ATTR_FLAGS_DONT_TRAP, false);
	CHECK(other);
	SAME(who_gets(&c, 1), 3);
	SAME(ibv_destroy_flow(other), 0);
	/* within a priority, such a rule is the first */
	other = steer_port(&c, 0, 2, IBV_FLOW_ATTR_FLAGS_DONT_TRAP, false);
	CHECK(other);
	SAME(who_gets(&c, 1), 3);
	SAME(ibv_destroy_flow(other), 0);
	/* it drops */
	other = steer_port(&c, 1, 1, 0, true);
	CHECK(other);
	SAME(who_gets(&c, 1), 0);
	SAME(who_gets(&c, 2), 1);
	SAME(ibv_destroy_flow(other), 0);
	REFUSED(steer_port(&c, 0, 2, 0, true), EEXIST);
	SAME(ibv_destroy_flow(wide), 0);
	SAME(who_gets(&c, 1), 0);
}

static void tags(void)
{
	static const uint32_t tag[] = { 0xffffff, 0, 0x123456 };
	struct ibv_poll_cq_attr poll = {};
	struct rule rule;
	uint32_t i, length;

	open_sides();
	for (i = 0; i < ARRAY_SIZE(tag); i++) {
		rule = rule_new(IBV_FLOW_ATTR_NORMAL);
		rule_mac(&rule, mac_unicast);
		rule_udp(&rule, PORT_A + i);
		if (tag[i])
			rule_tag(&rule, tag[i]);
		rule_make(&b, &rule);
	}
	rule_tag(&rule, 1);
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	for (i = 0; i < ARRAY_SIZE(tag); i++) {
		note("tag %#x", tag[i]);
		side_recv(&b, i, SLOT);
		length = frame_udp(a.buf, mac_unicast, PORT_A + i, 10);
		side_send(&a, 0, length, 0);
		SAME(ibv_start_poll(b.cq_ex, &poll), 0);
		SAME(b.cq_ex->wr_id, i);
		SAME(ibv_wc_read_flow_tag(b.cq_ex), tag[i]);
		ibv_end_poll(b.cq_ex);
	}
}

/* makes a rule for a label stack that begins with @label, behind the specs of @rule */
static void rule_label(struct rule rule, uint32_t label, uint32_t tag)
{
	struct ibv_flow_spec_mpls mpls = {
		.type = IBV_FLOW_SPEC_MPLS, .size = sizeof(mpls), .val.label = htonl(label << 12),
		.mask.label = htonl(0xfffff000),
	};

	rule_add(&rule, &mpls, sizeof(mpls));
	rule_tag(&rule, tag);
	rule_make(&b, &rule);
}

/* sends @length bytes of a.buf; returns the tag of the rule that takes them to b, or 0 */
static uint32_t tag_of(uint32_t length)
{
	struct ibv_poll_cq_attr poll = {};
	uint32_t tag;

	side_send(&a, 0, length, 0);
	if (ibv_start_poll(b.cq_ex, &poll))
		return 0;
	tag = ibv_wc_read_flow_tag(b.cq_ex);
	ibv_end_poll(b.cq_ex);
	return tag;
}

/* MPLS behind Ethernet, in UDP and in GRE, by the place of its spec */
static void labels(void)
{
	struct ibv_flow_spec_gre gre = { .type = IBV_FLOW_SPEC_GRE, .size = sizeof(gre) };
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	int i;

	open_sides();
	for (i = 0; i < 8; i++)
		side_recv(&b, i, SLOT);
	rule_mac(&rule, mac_unicast);
	rule_label(rule, 0x12345, 1);
	rule_udp(&rule, 6635);
	rule_label(rule, 9, 2);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_add(&rule, &gre, sizeof(gre));
	rule_label(rule, 9, 3);

	frame_udp(a.buf, mac_unicast, 6635, 40);
	memcpy(a.buf + 42, "\0\0\x91\x40", 4);
	SAME(tag_of(82), 2);
	a.buf[44] = 0x81;
	SAME(tag_of(82), 0);
	/* the same stack in UDP to another port */
	a.buf[44] = 0x91;
	put16(a.buf + 36, 6636);
	SAME(tag_of(82), 0);
	a.buf[23] = IPPROTO_GRE;
	memcpy(a.buf + 34, "\0\0\x88\x47\0\0\x91\x40", 8);
	SAME(tag_of(82), 3);
	put16(a.buf + 36, 0x88b7);
	SAME(tag_of(82), 0);
	memcpy(a.buf + 12, "\x88\x47\x12\x34\x50\x40\0\0\x01\x40", 10);
	SAME(tag_of(82), 1);
	a.buf[14] = 0x13;
	SAME(tag_of(82), 0);
}

static void refused_rules(void)
{
	struct ibv_flow_spec_ipv4_ext ttl = {
		.type = IBV_FLOW_SPEC_IPV4_EXT, .size = sizeof(ttl), .mask.ttl = 1,
	};
	struct ibv_flow_spec_esp esp = { .type = IBV_FLOW_SPEC_ESP, .size = sizeof(esp) };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_flow *flow;
	struct ibv_qp *ud;
	struct rule rule;

	side_open(&b);
	init.send_cq = b.cq;
	init.recv_cq = b.cq;
	ud = ibv_create_qp(b.pd, &init);
	CHECK(ud);

	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_mac(&rule, mac_unicast);
	REFUSED(ibv_create_flow(ud, &rule.attr), EOPNOTSUPP);
	rule.attr.priority = 16;
	REFUSED(ibv_create_flow(b.qp, &rule.attr), ENOMEM);
	rule.attr.priority = 15;
	rule.attr.flags = 1;
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	rule.attr.flags = 0;
	rule.attr.port = 2;
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	rule.attr.port = 1;
	rule.attr.type = 77;
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	rule.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	rule.attr.type = IBV_FLOW_ATTR_SNIFFER;
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	rule = rule_new(IBV_FLOW_ATTR_SNIFFER);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	rule.attr.type = IBV_FLOW_ATTR_ALL_DEFAULT;
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_add(&rule, &ttl, sizeof(ttl));
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EOPNOTSUPP);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_add(&rule, &esp, sizeof(esp));
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EOPNOTSUPP);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_tag(&rule, 1 << 24);
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);

	/* a rule keeps its QP */
	flow = steer_mac(&b, mac_unicast);
	REFUSED(ibv_destroy_qp(b.qp), EBUSY);
	SAME(ibv_destroy_flow(flow), 0);
	SAME(ibv_destroy_qp(ud), 0);
	side_close(&b);
}

/* as many as a program with a socket for each needs; all of them are found */
static void many_rules(void)
{
	int num = repeat(500, 10000), i;
	struct ibv_flow **flows = calloc(num, sizeof(*flows));

	CHECK(flows);
	open_sides();
	for (i = 0; i < num; i++) {
		flows[i] = steer_port(&b, 10000 + i, 0, 0, false);
		CHECK(flows[i]);
	}
	for (i = 0; i < num; i += num / 50) {
		side_recv(&b, 1, SLOT);
		side_send(&a, 0, frame_udp(a.buf, mac_unicast, 10000 + i, 20), 0);
		side_got(&b, 1, 62);
	}
	for (i = 0; i < num; i++)
		SAME(ibv_destroy_flow(flows[i]), 0);
	side_recv(&b, 1, SLOT);
	side_send(&a, 0, frame_udp(a.buf, mac_unicast, 10000, 20), 0);
	expect_no_wc(b.cq);
}

/* says "running", and works until the device is removed */
static void removed(void)
{
	struct ibv_wc wc;
	int ret;

	if (!getenv("REMOVAL"))
		return;
	open_sides();
	steer_mac(&b, mac_group);
	side_recv(&b, 1, SLOT);
	side_send(&a, 0, frame_udp(a.buf, mac_group, PORT_A, 20), 0);
	side_got(&b, 1, 62);
	printf("running\n");
	fflush(stdout);
	do {
		ret = try_send(&a, 0, 62, 0);
		while (ibv_poll_cq(a.cq, 1, &wc) == 1)
			if (wc.status == IBV_WC_FATAL_ERR)
				return;
	} while (!ret || ret == ENOMEM);
	SAME(ret, EIO);
}

TESTS(
	TEST(says_what_it_can), TEST(states), TEST(queues), TEST(needs_net_raw), TEST(lengths),
	TEST(lists), TEST(receives), TEST(receives_in_rtr), TEST(own_context),
	TEST(self_loopback), TEST(checksums), TEST(sums_of_all), TEST(sums_in_tunnels),
	TEST(sums_in_tunnels_by_rss),
	TEST(tso_frames), TEST(tso_refused), TEST(strips_vlan), TEST(scatters_fcs), TEST(wq_shapes),
	TEST(one_sided), TEST(paced), TEST(specs), TEST(random_rules),
	TEST(priorities), TEST(tags), TEST(labels), TEST(refused_rules), TEST(counts_frames),
	TEST(counters_refused), TEST(churns_rules), TEST(frames_wait), TEST(many_rules),
	TEST(drops_and_ends), TEST(many_shapes), TEST(frame_without_memory), TEST(removed),
	TEST(rss_caps), TEST(wq_refused), TEST(rss_refused), TEST(rss_objects), TEST(wq_states),
	TEST(wq_posts), TEST(rss_fields), TEST(rss_tunnels), TEST(rss_large), TEST(rss_moves),
	TEST(rss_single), TEST(rss_loopback), TEST(rss_fatal), TEST(rss_injected), TEST(rss_churn), TEST(rss_removed),
	TEST(wire_in), TEST(wire_out), TEST(wire_tags), TEST(wire_aggregates), TEST(wire_host),
	TEST(wire_reserved), TEST(wire_sniffer), TEST(wire_defaults), TEST(wire_filters),
	TEST(wire_hostile), TEST(wire_churn), TEST(wire_tso), TEST(wire_gro), TEST(wire_jumbo),
	TEST(wire_egress), TEST(wire_queue), TEST(wire_no_queue), TEST(wire_filtered),
	TEST(wire_port_down), TEST(wire_hooks), TEST(watches), TEST(loops),
	TEST(net_raw_here), TEST(wire_moves_busy), TEST(wire_moves)
)
