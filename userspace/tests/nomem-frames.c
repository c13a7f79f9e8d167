// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* RAW_PACKET QPs, rules of flow steering and their counters; WQs, indirection tables, RSS QPs. */
#include "nomem.h"

#include "flows.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>

#define WQS		4
#define LOG_TABLE	3
#define SLOT		2048
#define RECEIVES	16
#define TYPE		0x88b6		/* of Ethernet, for experiments; weft has 0x88b5 */

static const uint8_t mac[ETH_ALEN] = { 2, 0, 0, 0, 0, 0x42 };

/* A context does not receive its own frames, so these QPs are in another one. */
static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
} other;

static struct ibv_qp *qp;

static struct ibv_qp *raw_qp(struct ibv_pd *in, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 4,
			 .max_recv_sge = 4 },
	};

	return ibv_create_qp(in, &attr);
}

static int create_raw_qp(void)
{
	return of_pointer(qp = raw_qp(pd, a.scq));
}

static void create_raw_qp_undo(void)
{
	SAME(ibv_destroy_qp(qp), 0);
}

static enum ibv_qp_state target;
static int step_up(void)
{
	struct ibv_qp_attr attr = { .qp_state = target, .port_num = 1 };
	int mask = IBV_QP_STATE | (target == IBV_QPS_INIT ? IBV_QP_PORT : 0);

	return of_number(ibv_modify_qp(qp, &attr, mask));
}

/* to the state before */
static void step_up_undo(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	enum ibv_qp_state last = target;

	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	for (target = IBV_QPS_INIT; target < last; target++)
		SAME(step_up(), 0);
}

/*
 * ---- Rules ----
 */

static struct rule rule;
static struct ibv_flow *flow;
static struct ibv_counters *counters;

static int create_flow(void)
{
	return of_pointer(flow = ibv_create_flow(qp, &rule.attr));
}

static void create_flow_undo(void)
{
	SAME(ibv_destroy_flow(flow), 0);
}

static int create_counters(void)
{
	struct ibv_counters_init_attr attr = {};

	return of_pointer(counters = ibv_create_counters(ctx, &attr));
}

static void create_counters_undo(void)
{
	SAME(ibv_destroy_counters(counters), 0);
}

static int create_counting_flow(void)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = IBV_COUNTER_PACKETS };
	int ret = create_counters();

	if (ret)
		return ret;
	SAME(ibv_attach_counters_point_flow(counters, &attr, NULL), 0);
	((struct ibv_flow_spec_counter_action *)rule.specs)->counters = counters;
	ret = create_flow();
	if (ret)
		create_counters_undo();
	return ret;
}

static void create_counting_flow_undo(void)
{
	create_flow_undo();
	create_counters_undo();
}

static int read_counters(void)
{
	uint64_t value;

	return of_number(ibv_read_counters(counters, &value, 1,
					   IBV_READ_COUNTERS_ATTR_PREFER_CACHED));
}

static void add_mac(struct rule *to)
{
	struct ibv_flow_spec_eth eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth) };

	memcpy(eth.val.dst_mac, mac, ETH_ALEN);
	memset(eth.mask.dst_mac, 0xff, ETH_ALEN);
	rule_add(to, &eth, sizeof(eth));
}

/* addresses and a port, and a tag for what matches */
static void add_fields(struct rule *to)
{
	struct ibv_flow_spec_ipv4 ipv4 = {
		.type = IBV_FLOW_SPEC_IPV4, .size = sizeof(ipv4), .val.dst_ip = htonl(0x0a090901),
		.mask.dst_ip = 0xffffffff,
	};
	struct ibv_flow_spec_action_tag tag = {
		.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(tag), .tag_id = 77,
	};

	add_mac(to);
	rule_add(to, &ipv4, sizeof(ipv4));
	rule_udp(to, 4000);
	rule_add(to, &tag, sizeof(tag));
}

static void walk_rules(void)
{
	static const enum ibv_flow_attr_type types[] = {
		IBV_FLOW_ATTR_ALL_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT, IBV_FLOW_ATTR_SNIFFER,
	};
	struct ibv_flow_spec_counter_action count = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(count),
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		rule = rule_new(types[i]);
		WALK(create_flow);
	}
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	add_fields(&rule);
	WALK(create_flow);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	WALK(create_flow);
	WALK(create_counters);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_add(&rule, &count, sizeof(count));
	add_fields(&rule);
	WALK(create_counting_flow);
	SAME(create_counting_flow(), 0);
	walk("read_counters", read_counters, nothing);
	create_counting_flow_undo();
}

/*
 * ---- A frame ----
 */

void open_frames(void)
{
	make(&a, CONF());
	SAME(create_raw_qp(), 0);
	for (target = IBV_QPS_INIT; target <= IBV_QPS_RTS; target++)
		SAME(step_up(), 0);
	other.ctx = ibv_open_device(ctx->device);
	CHECK(other.ctx);
	other.pd = ibv_alloc_pd(other.ctx);
	CHECK(other.pd);
	other.cq = ibv_create_cq(other.ctx, 256, NULL, NULL, 0);
	CHECK(other.cq);
	other.buf = memory(RECEIVES * SLOT);
	other.mr = ibv_reg_mr(other.pd, other.buf, RECEIVES * SLOT, IBV_ACCESS_LOCAL_WRITE);
	CHECK(other.mr);
	other.qp = raw_qp(other.pd, other.cq);
	CHECK(other.qp);
	for (target = IBV_QPS_INIT; target <= IBV_QPS_RTS; target++) {
		struct ibv_qp_attr attr = { .qp_state = target, .port_num = 1 };

		SAME(ibv_modify_qp(other.qp, &attr, IBV_QP_STATE |
				   (target == IBV_QPS_INIT ? IBV_QP_PORT : 0)), 0);
	}
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	add_mac(&rule);
	other.flow = ibv_create_flow(other.qp, &rule.attr);
	CHECK(other.flow);
}

void close_frames(void)
{
	SAME(ibv_destroy_flow(other.flow), 0);
	SAME(ibv_destroy_qp(other.qp), 0);
	SAME(ibv_dereg_mr(other.mr), 0);
	SAME(ibv_destroy_cq(other.cq), 0);
	SAME(ibv_dealloc_pd(other.pd), 0);
	SAME(ibv_close_device(other.ctx), 0);
	create_raw_qp_undo();
	unmake(&a);
}

void send_frame(int seed)
{
	struct ibv_sge recv_sge = {
		(uintptr_t)other.buf + seed % RECEIVES * SLOT, SLOT, other.mr->lkey,
	};
	struct ibv_recv_wr recv = { .wr_id = seed % RECEIVES, .sg_list = &recv_sge, .num_sge = 1 };
	struct ibv_recv_wr *bad_recv;
	struct ibv_sge sge = { (uintptr_t)a.buf, 1000, a.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	/* as many as there are places: an older one is overwritten by what comes late alone */
	ibv_post_recv(other.qp, &recv, &bad_recv);
	memcpy(a.buf, mac, ETH_ALEN);
	memcpy(a.buf + ETH_ALEN, "\x02\0\0\0\0\x41", ETH_ALEN);
	a.buf[12] = TYPE >> 8;
	a.buf[13] = TYPE & 0xff;
	memcpy(a.buf + ETH_HLEN, &seed, sizeof(seed));
	fill(a.buf + ETH_HLEN + sizeof(seed), 1000 - ETH_HLEN - sizeof(seed), seed);
	SAME(ibv_post_send(qp, &wr, &bad), 0);
	expect_ok(a.scq, 1);
}

int got_frame(void)
{
	struct ibv_wc wc;
	uint8_t *at;
	int seed;

	if (!ibv_poll_cq(other.cq, 1, &wc))
		return -1;
	SAME(wc.status, IBV_WC_SUCCESS);
	SAME(wc.byte_len, 1000);
	at = other.buf + wc.wr_id * SLOT + ETH_HLEN;
	memcpy(&seed, at, sizeof(seed));
	check_filled(at + sizeof(seed), 1000 - ETH_HLEN - sizeof(seed), seed);
	return seed;
}

static void uses_frames(void)
{
	int ms, seed;

	open_frames();
	send_frame(5);
	for (ms = 0; (seed = got_frame()) < 0 && ms < WAIT_MS; ms++)
		sleep_ms(1);
	SAME(seed, 5);
	close_frames();
}

void frames(void)
{
	make(&a, CONF());
	WALK(create_raw_qp);
	CHECK(failures);
	SAME(create_raw_qp(), 0);
	for (target = IBV_QPS_INIT; target <= IBV_QPS_RTS; target++) {
		WALK(step_up);
		SAME(step_up(), 0);
	}
	walk_rules();
	create_raw_qp_undo();
	unmake(&a);
	uses_frames();
}

/*
 * ---- Receive queues that a hash chooses ----
 */

static struct ibv_wq *wq[WQS];
static int create_wq(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 2, .pd = pd, .cq = a.rcq,
	};

	return of_pointer(wq[0] = ibv_create_wq(ctx, &attr));
}

static void create_wq_undo(void)
{
	SAME(ibv_destroy_wq(wq[0]), 0);
}

static int start_wq(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };

	return of_number(ibv_modify_wq(wq[0], &attr));
}

static void start_wq_undo(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RESET };

	SAME(ibv_modify_wq(wq[0], &attr), 0);
}

static struct ibv_rwq_ind_table *table;
static int create_table(void)
{
	struct ibv_wq *entries[1 << LOG_TABLE];
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = LOG_TABLE, .ind_tbl = entries,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = wq[i % WQS];
	return of_pointer(table = ibv_create_rwq_ind_table(ctx, &attr));
}

static void create_table_undo(void)
{
	SAME(ibv_destroy_rwq_ind_table(table), 0);
}

static int create_rss_qp(void)
{
	static uint8_t key[40] = { 1, 2, 3 };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET, .pd = pd, .rwq_ind_tbl = table,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ, .rx_hash_key = key,
			.rx_hash_key_len = sizeof(key),
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
		},
	};

	return of_pointer(qp = ibv_create_qp_ex(ctx, &attr));
}

static void create_rss_qp_undo(void)
{
	SAME(ibv_destroy_qp(qp), 0);
}

void spreads(void)
{
	int i;

	make(&a, CONF());
	WALK(create_wq);
	CHECK(failures);
	for (i = WQS - 1; i >= 0; i--) {
		SAME(create_wq(), 0);
		WALK(start_wq);
		SAME(start_wq(), 0);
		wq[i] = wq[0];
	}
	WALK(create_table);
	SAME(create_table(), 0);
	WALK(create_rss_qp);
	SAME(create_rss_qp(), 0);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	add_fields(&rule);
	walk("flow to an RSS QP", create_flow, create_flow_undo);
	create_rss_qp_undo();
	create_table_undo();
	for (i = 0; i < WQS; i++)
		SAME(ibv_destroy_wq(wq[i]), 0);
}
