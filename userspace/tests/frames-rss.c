// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* WQs, indirection tables and RSS QPs. */
#include "frames-hash.h"

#include <poll.h>
#include <pthread.h>

#define PER_WQ		(SLOTS / WQS)

struct spread {
	struct ibv_wq *wq[WQS];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	struct ibv_flow *flow;
};

static struct side a, b;

/* ---- objects of b ---- */

static struct ibv_wq_init_attr wq_attr(void)
{
	return (struct ibv_wq_init_attr){
		.wq_type = IBV_WQT_RQ, .max_wr = PER_WQ, .max_sge = 2, .pd = b.pd, .cq = b.cq,
	};
}

static struct ibv_wq *wq_new(void)
{
	struct ibv_wq_init_attr attr = wq_attr();
	struct ibv_wq *wq = ibv_create_wq(b.ctx, &attr);

	CHECK(wq);
	CHECK(attr.max_wr >= PER_WQ && attr.max_sge >= 2);
	SAME(wq->state, IBV_WQS_RESET);
	return wq;
}

static int wq_to(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	return ibv_modify_wq(wq, &attr);
}

static int wq_recv(struct ibv_wq *wq, int slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b.buf + slot * SLOT, .length = SLOT, .lkey = b.mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int ret = ibv_post_wq_recv(wq, &wr, &bad);

	CHECK(!ret || bad == &wr);
	return ret;
}

static struct ibv_rwq_ind_table *table_try(struct ibv_wq **wq, int wqs, int log)
{
	static struct ibv_wq *entries[1 << 14];
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = log, .ind_tbl = entries };
	int i;

	/* a WQ may be in a table several times */
	for (i = 0; i < 1 << log && i < (int)ARRAY_SIZE(entries); i++)
		entries[i] = wq[i % wqs];
	return ibv_create_rwq_ind_table(b.ctx, &attr);
}

static struct ibv_qp_init_attr_ex rss_attr(struct ibv_rwq_ind_table *table, uint64_t fields)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.pd = b.pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(hash_key), .rx_hash_key = hash_key,
			.rx_hash_fields_mask = fields,
		},
	};
}

static struct ibv_qp *rss_try(struct ibv_rwq_ind_table *table, uint64_t fields)
{
	struct ibv_qp_init_attr_ex attr = rss_attr(table, fields);

	return ibv_create_qp_ex(b.ctx, &attr);
}

static struct ibv_flow *steer_to(struct ibv_qp *qp)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_flow *flow;

	rule_mac(&rule, mac_unicast);
	flow = ibv_create_flow(qp, &rule.attr);
	CHECK(flow);
	return flow;
}

static void rss_make(struct spread *s, uint64_t fields)
{
	s->qp = rss_try(s->table, fields);
	CHECK(s->qp);
	s->flow = steer_to(s->qp);
}

static void rss_unmake(struct spread *s)
{
	SAME(ibv_destroy_flow(s->flow), 0);
	SAME(ibv_destroy_qp(s->qp), 0);
}

/* WQs that are ready and full, and a table */
static void spread_open(struct spread *s)
{
	int i, j;

	for (i = 0; i < WQS; i++) {
		s->wq[i] = wq_new();
		SAME(wq_to(s->wq[i], IBV_WQS_RDY), 0);
		for (j = 0; j < PER_WQ; j++)
			SAME(wq_recv(s->wq[i], i * PER_WQ + j), 0);
	}
	s->table = table_try(s->wq, WQS, LOG_TABLE);
	CHECK(s->table);
}

static void spread_close(struct spread *s)
{
	int i;

	SAME(ibv_destroy_rwq_ind_table(s->table), 0);
	for (i = 0; i < WQS; i++)
		SAME(ibv_destroy_wq(s->wq[i]), 0);
}

static void open_sides(void)
{
	side_open(&a);
	/* events are read from this context */
	side_open_in(&b, ctx);
}

/* ---- what a WQ got ---- */

/* the next completion is of a receive of this WQ, with a's frame; it is posted again */
static void wq_got(struct ibv_wq *wq, uint32_t length)
{
	struct ibv_wc wc = next_wc(b.cq);

	SAME(wc.status, IBV_WC_SUCCESS);
	SAME(wc.opcode, IBV_WC_RECV);
	SAME(wc.byte_len, length);
	SAME(wc.qp_num, wq->wq_num);
	SAME(memcmp(b.buf + wc.wr_id * SLOT, a.buf, length), 0);
	SAME(wq_recv(wq, wc.wr_id), 0);
}

/* the same, but others' frames may come, too */
static void wq_saw(struct ibv_wq *wq, uint32_t length)
{
	struct ibv_wc wc;

	do {
		wc = next_wc(b.cq);
		SAME(wc.status, IBV_WC_SUCCESS);
		SAME(wq_recv(wq, wc.wr_id), 0);
	} while (wc.byte_len != length || memcmp(b.buf + wc.wr_id * SLOT, a.buf, length));
}

/* ---- what can be seen and refused ---- */

void rss_caps(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	SAME(attr.rss_caps.supported_qpts, 1 << IBV_QPT_RAW_PACKET);
	SAME(attr.rss_caps.rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
	SAME(attr.rss_caps.rx_hash_fields_mask, HASH_ALL);
	SAME(attr.rss_caps.max_rwq_indirection_table_size, 2048);
	CHECK(attr.rss_caps.max_rwq_indirection_tables >= 1024);
	SAME(attr.max_wq_type_rq, attr.orig_attr.max_qp);
}

static void wq_refused_flags(uint32_t flag, bool works)
{
	struct ibv_wq_init_attr attr = wq_attr();
	struct ibv_wq *wq;

	attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	attr.create_flags = flag;
	if (!works) {
		REFUSED(ibv_create_wq(b.ctx, &attr), EOPNOTSUPP);
		return;
	}
	wq = ibv_create_wq(b.ctx, &attr);
	CHECK(wq);
	SAME(ibv_destroy_wq(wq), 0);
}

/* As many tables as the device has, and one more. */
static void too_many_tables(struct ibv_wq *wq, uint32_t max)
{
	struct ibv_rwq_ind_table **tables = calloc(max, sizeof(*tables));
	uint32_t i;

	CHECK(tables);
	for (i = 0; i < max; i++) {
		tables[i] = table_try(&wq, 1, 0);
		CHECK(tables[i]);
	}
	REFUSED(table_try(&wq, 1, 0), ENOMEM);
	for (i = 0; i < max; i++)
		SAME(ibv_destroy_rwq_ind_table(tables[i]), 0);
	free(tables);
}

void wq_refused(void)
{
	struct ibv_wq_init_attr attr;
	struct ibv_device_attr_ex dev;
	struct ibv_wq *wq;

	open_sides();
	SAME(ibv_query_device_ex(ctx, NULL, &dev), 0);
	attr = wq_attr();
	attr.wq_type = 1;
	REFUSED(ibv_create_wq(b.ctx, &attr), EINVAL);
	attr = wq_attr();
	attr.max_wr = 0;
	REFUSED(ibv_create_wq(b.ctx, &attr), EINVAL);
	attr.max_wr = dev.orig_attr.max_qp_wr + 1;
	REFUSED(ibv_create_wq(b.ctx, &attr), EINVAL);
	attr = wq_attr();
	attr.max_sge = dev.orig_attr.max_sge + 1;
	REFUSED(ibv_create_wq(b.ctx, &attr), EINVAL);
	attr.max_sge = dev.orig_attr.max_sge;
	wq = ibv_create_wq(b.ctx, &attr);
	CHECK(wq);
	SAME(ibv_destroy_wq(wq), 0);
	attr = wq_attr();
	attr.comp_mask = 1 << 20;
	REFUSED(ibv_create_wq(b.ctx, &attr), EOPNOTSUPP);
	wq_refused_flags(IBV_WQ_FLAGS_CVLAN_STRIPPING,
			 dev.raw_packet_caps & IBV_RAW_PACKET_CAP_CVLAN_STRIPPING);
	wq_refused_flags(IBV_WQ_FLAGS_SCATTER_FCS,
			 dev.raw_packet_caps & IBV_RAW_PACKET_CAP_SCATTER_FCS);
	wq_refused_flags(IBV_WQ_FLAGS_DELAY_DROP,
			 dev.raw_packet_caps & IBV_RAW_PACKET_CAP_DELAY_DROP);
	wq_refused_flags(IBV_WQ_FLAGS_PCI_WRITE_END_PADDING, true);
	wq_refused_flags(1 << 20, false);

	wq = wq_new();
	if (repeat(0, 1))
		too_many_tables(wq, dev.rss_caps.max_rwq_indirection_tables);
	REFUSED(table_try(&wq, 1, 12), EINVAL);
	REFUSED(table_try(&wq, 1, 14), EINVAL);
	SAME(ibv_destroy_wq(wq), 0);
}

void rss_refused(void)
{
	static const struct {
		uint64_t fields;
		int error;
	} rows[] = {
		{ 0, EINVAL },
		{ HASH_INNER, EINVAL },
		{ IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6, EINVAL },
		{ HASH_IPV4 | HASH_TCP | HASH_UDP, EINVAL },
		{ HASH_IPV4 | IBV_RX_HASH_DST_PORT_UDP | HASH_SPI, EINVAL },
		{ HASH_IPV4 | 1 << 9, EOPNOTSUPP },
		{ HASH_IPV4 | 1ULL << 63, EOPNOTSUPP },
	};
	struct ibv_qp_init_attr_ex attr;
	struct spread s;
	uint32_t i;

	open_sides();
	spread_open(&s);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("fields %#llx", (unsigned long long)rows[i].fields);
		REFUSED(rss_try(s.table, rows[i].fields), rows[i].error);
	}
	note(NULL);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.rx_hash_conf.rx_hash_key_len = 39;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EINVAL);
	attr.rx_hash_conf.rx_hash_key_len = 255;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EINVAL);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.rx_hash_conf.rx_hash_function = 1 << 1;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EOPNOTSUPP);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.comp_mask &= ~IBV_QP_INIT_ATTR_RX_HASH;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EINVAL);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.comp_mask &= ~IBV_QP_INIT_ATTR_IND_TABLE;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EINVAL);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EINVAL);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EINVAL);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.send_cq = b.cq;
	attr.cap.max_send_wr = 1;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EINVAL);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.cap.max_recv_wr = 1;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EINVAL);
	attr = rss_attr(s.table, HASH_IPV4);
	attr.qp_type = IBV_QPT_UD;
	REFUSED(ibv_create_qp_ex(b.ctx, &attr), EOPNOTSUPP);
	SAME(setresuid(65534, 65534, 65534), 0);
	REFUSED(rss_try(s.table, HASH_IPV4), EPERM);
}

/* an RSS QP has no queues and no states; it keeps its table, which keeps its WQs */
void rss_objects(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_recv_wr wr = {}, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_wq_init_attr attr;
	struct ibv_qp_attr qp_attr;
	struct spread s;
	struct ibv_cq *cq;
	struct ibv_pd *own;
	struct ibv_wq *wq;

	open_sides();
	spread_open(&s);
	rss_make(&s, HASH_IPV4);
	REFUSED(raw_step(s.qp, IBV_QPS_INIT, IBV_QP_PORT), EOPNOTSUPP);
	REFUSED(ibv_post_recv(s.qp, &wr, &bad_recv), EINVAL);
	REFUSED(ibv_post_send(s.qp, &send, &bad_send), EINVAL);
	SAME(ibv_query_qp(s.qp, &qp_attr, IBV_QP_STATE | IBV_QP_CAP, &init), 0);
	SAME(qp_attr.qp_state, IBV_QPS_RESET);
	SAME(qp_attr.cap.max_send_wr, 0);
	SAME(qp_attr.cap.max_recv_wr, 0);
	SAME(init.qp_type, IBV_QPT_RAW_PACKET);

	REFUSED(ibv_destroy_qp(s.qp), EBUSY);
	REFUSED(ibv_destroy_rwq_ind_table(s.table), EBUSY);
	REFUSED(ibv_destroy_wq(s.wq[1]), EBUSY);
	rss_unmake(&s);
	REFUSED(ibv_destroy_wq(s.wq[1]), EBUSY);
	spread_close(&s);

	cq = ibv_create_cq(b.ctx, 4, NULL, NULL, 0);
	own = ibv_alloc_pd(b.ctx);
	CHECK(cq && own);
	attr = wq_attr();
	attr.cq = cq;
	attr.pd = own;
	wq = ibv_create_wq(b.ctx, &attr);
	CHECK(wq);
	REFUSED(ibv_destroy_cq(cq), EBUSY);
	REFUSED(ibv_dealloc_pd(own), EBUSY);
	SAME(ibv_destroy_wq(wq), 0);
	SAME(ibv_destroy_cq(cq), 0);
	SAME(ibv_dealloc_pd(own), 0);
}

/* ---- states ---- */

static struct ibv_wq *wq_in(enum ibv_wq_state state)
{
	struct ibv_wq *wq = wq_new();

	if (state != IBV_WQS_RESET)
		SAME(wq_to(wq, IBV_WQS_RDY), 0);
	if (state == IBV_WQS_ERR)
		SAME(wq_to(wq, IBV_WQS_ERR), 0);
	return wq;
}

void wq_states(void)
{
	static const bool allowed[3][3] = {
		[IBV_WQS_RESET] = { true, true, false },
		[IBV_WQS_RDY] = { true, true, true },
		[IBV_WQS_ERR] = { true, false, true },
	};
	struct ibv_wq_attr attr;
	struct ibv_wq *wq;
	int from, to;

	open_sides();
	for (from = IBV_WQS_RESET; from <= IBV_WQS_ERR; from++) {
		for (to = IBV_WQS_RESET; to <= IBV_WQS_ERR; to++) {
			note("from %d to %d", from, to);
			wq = wq_in(from);
			SAME(wq_to(wq, to), allowed[from][to] ? 0 : EINVAL);
			SAME(wq->state, allowed[from][to] ? to : from);
			/* a refusal changes nothing */
			SAME(wq_recv(wq, 0), wq->state == IBV_WQS_RESET ? EINVAL : 0);
			if (wq->state == IBV_WQS_ERR)
				expect_wc(b.cq, 0, IBV_WC_WR_FLUSH_ERR);
			SAME(ibv_destroy_wq(wq), 0);
		}
	}
	note(NULL);
	wq = wq_in(IBV_WQS_RDY);
	attr = (struct ibv_wq_attr){
		.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE,
		.wq_state = IBV_WQS_ERR, .curr_wq_state = IBV_WQS_RESET,
	};
	REFUSED(ibv_modify_wq(wq, &attr), EINVAL);
	attr.curr_wq_state = IBV_WQS_UNKNOWN;
	REFUSED(ibv_modify_wq(wq, &attr), EINVAL);
	attr.curr_wq_state = IBV_WQS_RDY;
	attr.wq_state = 99;
	REFUSED(ibv_modify_wq(wq, &attr), EINVAL);
	attr.wq_state = IBV_WQS_ERR;
	SAME(ibv_modify_wq(wq, &attr), 0);
	attr.attr_mask = 0;
	REFUSED(ibv_modify_wq(wq, &attr), EINVAL);
	attr.attr_mask = 1 << 10;
	REFUSED(ibv_modify_wq(wq, &attr), EINVAL);
	attr = (struct ibv_wq_attr){
		.attr_mask = IBV_WQ_ATTR_FLAGS, .flags_mask = IBV_WQ_FLAGS_PCI_WRITE_END_PADDING,
	};
	REFUSED(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	attr.flags_mask = 0;
	SAME(ibv_modify_wq(wq, &attr), 0);
	SAME(ibv_destroy_wq(wq), 0);
}

void wq_posts(void)
{
	struct ibv_sge sge[17] = {};
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = ARRAY_SIZE(sge) }, *bad;
	struct ibv_wq_init_attr attr;
	struct ibv_wq *wq;
	uint32_t i;

	open_sides();
	attr = wq_attr();
	wq = ibv_create_wq(b.ctx, &attr);
	CHECK(wq);
	SAME(wq_to(wq, IBV_WQS_RDY), 0);
	REFUSED(ibv_post_wq_recv(wq, &wr, &bad), EINVAL);
	for (i = 0; i < attr.max_wr; i++)
		SAME(wq_recv(wq, i), 0);
	REFUSED(wq_recv(wq, 0), ENOMEM);
	/* all of them come back in their order, and those that follow at once */
	SAME(wq_to(wq, IBV_WQS_ERR), 0);
	for (i = 0; i < attr.max_wr; i++)
		SAME(expect_wc(b.cq, i, IBV_WC_WR_FLUSH_ERR).qp_num, wq->wq_num);
	SAME(wq_recv(wq, 7), 0);
	expect_wc(b.cq, 7, IBV_WC_WR_FLUSH_ERR);
	/* RESET forgets completions and receives, and the whole queue is free again */
	SAME(wq_recv(wq, 8), 0);
	SAME(wq_to(wq, IBV_WQS_RESET), 0);
	expect_no_wc(b.cq);
	SAME(wq_to(wq, IBV_WQS_RDY), 0);
	for (i = 0; i < attr.max_wr; i++)
		SAME(wq_recv(wq, i), 0);
	SAME(wq_to(wq, IBV_WQS_RESET), 0);
	expect_no_wc(b.cq);
	SAME(ibv_destroy_wq(wq), 0);
	expect_no_event();
}

/* ---- traffic ---- */

/* Each frame gets to the WQ that the hash of these fields names. */
static void rss_spreads(struct spread *s, uint64_t fields)
{
	int frames = repeat(60, 200), used = 0, i, want, length;
	struct traffic t;

	for (i = 0; i < frames; i++) {
		t = random_traffic();
		want = oracle(&t, fields);
		note("fields %#llx, frame %d: tunnel %d, IPv%d, protocol %d",
		     (unsigned long long)fields, i, t.tunnel, t.outer.version, t.outer.protocol);
		length = put_traffic(a.buf, &t);
		side_send(&a, 0, length, 0);
		wq_got(s->wq[want], length);
		used |= 1 << want;
	}
	/* not all of them to one WQ */
	CHECK(used & (used - 1));
}

/* each set of fields with frames of all kinds */
void rss_fields(void)
{
	static const uint64_t rows[] = {
		IBV_RX_HASH_SRC_IPV4, IBV_RX_HASH_DST_IPV4, HASH_IPV4, IBV_RX_HASH_SRC_IPV6,
		IBV_RX_HASH_DST_IPV6, HASH_IPV6, IBV_RX_HASH_SRC_PORT_TCP,
		IBV_RX_HASH_DST_PORT_TCP, HASH_TCP, IBV_RX_HASH_SRC_PORT_UDP,
		IBV_RX_HASH_DST_PORT_UDP, HASH_UDP, HASH_SPI, HASH_IPV4 | HASH_TCP,
		HASH_IPV4 | HASH_UDP, HASH_IPV4 | HASH_SPI, HASH_IPV6 | HASH_TCP,
		HASH_IPV6 | HASH_UDP, HASH_IPV6 | HASH_SPI,
		IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_PORT_TCP, HASH_INNER | HASH_IPV4,
		HASH_INNER | HASH_IPV6, HASH_INNER | HASH_TCP, HASH_INNER | HASH_UDP,
		HASH_INNER | HASH_IPV4 | HASH_TCP, HASH_INNER | HASH_IPV6 | HASH_UDP,
		HASH_INNER | HASH_SPI,
	};
	uint32_t row;
	struct spread s;

	open_sides();
	spread_open(&s);
	srand(36);
	for (row = 0; row < ARRAY_SIZE(rows); row++) {
		rss_make(&s, rows[row]);
		rss_spreads(&s, rows[row]);
		rss_unmake(&s);
	}
	note(NULL);
	spread_close(&s);
}

/* WEFTDV_QP_CREATE_TUNNEL_OFFLOADS leaves the hash as it is: the fields say of which packet */
void rss_tunnels(void)
{
	static const uint64_t rows[] = {
		HASH_IPV4 | HASH_UDP, HASH_INNER | HASH_IPV4 | HASH_TCP,
		HASH_INNER | HASH_IPV6 | HASH_UDP, HASH_INNER | HASH_SPI,
	};
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = WEFTDV_QP_CREATE_TUNNEL_OFFLOADS,
	};
	struct ibv_qp_init_attr_ex attr;
	struct spread s;
	uint32_t row;

	open_sides();
	spread_open(&s);
	srand(38);
	for (row = 0; row < ARRAY_SIZE(rows); row++) {
		attr = rss_attr(s.table, rows[row]);
		s.qp = weftdv_create_qp(b.ctx, &attr, &dv);
		CHECK(s.qp);
		s.flow = steer_to(s.qp);
		rss_spreads(&s, rows[row]);
		rss_unmake(&s);
	}
	note(NULL);
	spread_close(&s);
}

/* the largest table, where the upper bits of its index say which WQ */
void rss_large(void)
{
	enum { LOG = 11, PER = (1 << LOG) / WQS };
	static struct ibv_wq *entries[1 << LOG];
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = LOG, .ind_tbl = entries };
	struct ibv_rwq_ind_table *small;
	struct traffic t;
	struct spread s;
	int i, length;

	open_sides();
	spread_open(&s);
	for (i = 0; i < 1 << LOG; i++)
		entries[i] = s.wq[i / PER];
	small = s.table;
	s.table = ibv_create_rwq_ind_table(b.ctx, &attr);
	CHECK(s.table);
	rss_make(&s, HASH_IPV4 | HASH_UDP);
	srand(37);
	for (i = 0; i < 100; i++) {
		t = random_traffic();
		length = put_traffic(a.buf, &t);
		side_send(&a, 0, length, 0);
		wq_got(s.wq[oracle_of(&t, HASH_IPV4 | HASH_UDP) % (1 << LOG) / PER], length);
	}
	rss_unmake(&s);
	SAME(ibv_destroy_rwq_ind_table(small), 0);
	spread_close(&s);
}

/* a frame for this WQ, of a QP that hashes the source address */
static uint32_t frame_for(int wq)
{
	struct traffic t = { .tunnel = PLAIN };

	do {
		t.outer = random_packet();
		t.outer.version = 4;
	} while (oracle(&t, IBV_RX_HASH_SRC_IPV4) != wq);
	return put_traffic(a.buf, &t);
}

/* the states of one WQ are nothing to the others; what goes to one that is not ready is dropped */
void rss_moves(void)
{
	uint64_t dropped, none = counter("out_of_buffer");
	struct spread s;
	uint32_t length;
	int i;

	open_sides();
	spread_open(&s);
	rss_make(&s, IBV_RX_HASH_SRC_IPV4);
	for (i = 0; i < WQS; i++) {
		length = frame_for(i);
		side_send(&a, 0, length, 0);
		wq_got(s.wq[i], length);
	}
	SAME(wq_to(s.wq[2], IBV_WQS_RESET), 0);
	dropped = counter("rx_not_ready");
	side_send(&a, 0, frame_for(2), 0);
	expect_no_wc(b.cq);
	SAME(counter("rx_not_ready"), dropped + 1);
	length = frame_for(1);
	side_send(&a, 0, length, 0);
	wq_got(s.wq[1], length);

	/* ready again, but empty */
	SAME(wq_to(s.wq[2], IBV_WQS_RDY), 0);
	side_send(&a, 0, frame_for(2), 0);
	expect_no_wc(b.cq);
	SAME(counter("out_of_buffer"), none + 1);
	SAME(wq_recv(s.wq[2], 2 * PER_WQ), 0);
	length = frame_for(2);
	side_send(&a, 0, length, 0);
	wq_got(s.wq[2], length);

	SAME(wq_to(s.wq[2], IBV_WQS_ERR), 0);
	expect_wc(b.cq, 2 * PER_WQ, IBV_WC_WR_FLUSH_ERR);
	side_send(&a, 0, frame_for(2), 0);
	expect_no_wc(b.cq);
	length = frame_for(3);
	side_send(&a, 0, length, 0);
	wq_got(s.wq[3], length);
	rss_unmake(&s);
	spread_close(&s);
	expect_no_event();
}

/* a table with one entry needs no hash; its WQ belongs to two QPs */
void rss_single(void)
{
	struct ibv_rwq_ind_table *table;
	struct traffic t;
	struct ibv_flow *sniffer;
	struct ibv_qp *qp, *other;
	struct ibv_wq *wq;
	struct rule rule = rule_new(IBV_FLOW_ATTR_SNIFFER);
	uint32_t length, i;

	open_sides();
	wq = wq_in(IBV_WQS_RDY);
	for (i = 0; i < PER_WQ; i++)
		SAME(wq_recv(wq, i), 0);
	table = table_try(&wq, 1, 0);
	CHECK(table);
	qp = rss_try(table, 0);
	other = rss_try(table, HASH_IPV6);
	CHECK(qp && other);
	CHECK(qp->qp_num != other->qp_num && qp->qp_num != wq->wq_num);
	steer_to(qp);
	t = random_traffic();
	length = put_traffic(a.buf, &t);
	side_send(&a, 0, length, 0);
	wq_got(wq, length);
	expect_no_wc(b.cq);
	/* what leaves is seen, too */
	sniffer = ibv_create_flow(other, &rule.attr);
	CHECK(sniffer);
	side_send(&a, 0, length, 0);
	wq_saw(wq, length);
	wq_saw(wq, length);
	/* memory that has gone ends the WQ */
	SAME(ibv_destroy_flow(sniffer), 0);
	SAME(ibv_dereg_mr(b.mr), 0);
	side_send(&a, 0, length, 0);
	SAME(next_wc(b.cq).status, IBV_WC_LOC_PROT_ERR);
	for (i = 0; i < PER_WQ - 1; i++)
		SAME(next_wc(b.cq).status, IBV_WC_WR_FLUSH_ERR);
	REFUSED(wq_to(wq, IBV_WQS_RDY), EINVAL);
	SAME(wq_to(wq, IBV_WQS_RESET), 0);
	SAME(wq_to(wq, IBV_WQS_RDY), 0);
}

/* The flag is of the RSS QP, whose queues get what the context itself has sent. */
void rss_loopback(void)
{
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC,
	};
	struct ibv_rwq_ind_table *table;
	struct ibv_qp_init_attr_ex attr;
	struct ibv_flow *flow;
	struct ibv_qp *qp;
	struct ibv_wq *wq;

	side_open_in(&b, ctx);
	side_open_in(&a, ctx);
	wq = wq_in(IBV_WQS_RDY);
	SAME(wq_recv(wq, 0), 0);
	table = table_try(&wq, 1, 0);
	CHECK(table);
	qp = rss_try(table, 0);
	CHECK(qp);
	flow = steer_to(qp);
	frame_udp(a.buf, mac_unicast, PORT_A, 100);
	side_send(&a, 0, 142, 0);
	expect_no_wc(b.cq);
	SAME(ibv_destroy_flow(flow), 0);
	attr = rss_attr(table, 0);
	qp = weftdv_create_qp(ctx, &attr, &dv);
	CHECK(qp);
	steer_to(qp);
	side_send(&a, 0, 142, 0);
	wq_got(wq, 142);
}

static void got_events(struct ibv_cq *cq, struct ibv_wq *wq)
{
	struct pollfd ready = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	int got = 0;

	while (got != 3) {
		SAME(poll(&ready, 1, WAIT_MS), 1);
		SAME(ibv_get_async_event(ctx, &event), 0);
		if (event.event_type == IBV_EVENT_WQ_FATAL && event.element.wq == wq)
			got |= 1;
		else if (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq)
			got |= 2;
		else
			FAIL("event '%s'", ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

/* the CQ overflows, and takes its WQ along */
void rss_fatal(void)
{
	struct ibv_wq_init_attr attr;
	struct ibv_rwq_ind_table *table;
	struct ibv_flow *flow;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wq *wq;
	uint32_t i;

	open_sides();
	cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	CHECK(cq);
	attr = wq_attr();
	attr.cq = cq;
	wq = ibv_create_wq(ctx, &attr);
	CHECK(wq);
	SAME(wq_to(wq, IBV_WQS_RDY), 0);
	for (i = 0; i < PER_WQ; i++)
		SAME(wq_recv(wq, i), 0);
	table = table_try(&wq, 1, 0);
	CHECK(table);
	qp = rss_try(table, 0);
	CHECK(qp);
	flow = steer_to(qp);
	for (i = 0; i <= (uint32_t)cq->cqe; i++)
		side_send(&a, 0, frame_for(0), 0);
	got_events(cq, wq);
	REFUSED(wq_to(wq, IBV_WQS_RDY), EINVAL);
	SAME(ibv_destroy_flow(flow), 0);
	SAME(ibv_destroy_qp(qp), 0);
	SAME(ibv_destroy_rwq_ind_table(table), 0);
	SAME(ibv_destroy_wq(wq), 0);
	SAME(ibv_destroy_cq(cq), 0);
}

/* a line for weft-inject's file, behind the name of the device */
static void inject(const char *format, const char *status, uint32_t number)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "%s ", ibv_get_device_name(ctx->device));

	snprintf(line + length, sizeof(line) - length, format, number, status);
	write_text("/sys/kernel/debug/weft/inject", line);
}

/* a rule lets a receive of one WQ fail: the WQ follows, the others do not */
void rss_injected(void)
{
	static const struct {
		const char *name;
		enum ibv_wc_status status;
		bool ends;
	} rows[] = {
		{ "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR, true },
		{ "FATAL_ERR", IBV_WC_FATAL_ERR, true },
		{ "WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR, true },
		{ "REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR, false },
	};
	struct ibv_wc wc;
	struct spread s;
	uint32_t length;
	size_t i;
	int j;

	open_sides();
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("%s", rows[i].name);
		spread_open(&s);
		rss_make(&s, IBV_RX_HASH_SRC_IPV4);
		inject("receive qp=%u complete=%s n=2 vendor_err=77", rows[i].name,
		       s.wq[1]->wq_num);
		for (j = 0; j < 2; j++) {
			length = frame_for(2);
			side_send(&a, 0, length, 0);
			wq_got(s.wq[2], length);
		}
		length = frame_for(1);
		side_send(&a, 0, length, 0);
		wq_got(s.wq[1], length);
		side_send(&a, 0, length, 0);
		wc = next_wc(b.cq);
		SAME(wc.status, rows[i].status);
		SAME(wc.vendor_err, 77);
		SAME(wc.qp_num, s.wq[1]->wq_num);
		for (j = 1; rows[i].ends && j < PER_WQ; j++)
			SAME(next_wc(b.cq).status, IBV_WC_WR_FLUSH_ERR);
		expect_no_event();
		side_send(&a, 0, length, 0);
		if (rows[i].ends)
			expect_no_wc(b.cq);
		else
			wq_got(s.wq[1], length);
		inject("clear", "", 0);
		rss_unmake(&s);
		spread_close(&s);
	}
}

static volatile bool churn_ends;

static void *churn_sends(void *arg)
{
	struct traffic t;

	while (!churn_ends) {
		t = random_traffic();
		side_send(&a, 0, put_traffic(a.buf, &t), 0);
	}
	return NULL;
}

/* WQs change their states, and objects come and go, while frames arrive */
void rss_churn(void)
{
	int rounds = repeat(20, 100), i, j;
	pthread_t thread;
	struct spread s;

	open_sides();
	SAME(pthread_create(&thread, NULL, churn_sends, NULL), 0);
	for (i = 0; i < rounds; i++) {
		spread_open(&s);
		rss_make(&s, i % 2 ? HASH_IPV4 | HASH_UDP : HASH_INNER | HASH_IPV6);
		for (j = 0; j < 3 * WQS; j++)
			wq_to(s.wq[rand() % WQS], rand() % 3);
		rss_unmake(&s);
		spread_close(&s);
	}
	churn_ends = true;
	SAME(pthread_join(thread, NULL), 0);
	expect_no_event();
}

/* says "running", and waits until the device is removed */
void rss_removed(void)
{
	struct spread s;
	uint32_t length;

	if (!getenv("REMOVAL"))
		return;
	open_sides();
	spread_open(&s);
	rss_make(&s, IBV_RX_HASH_SRC_IPV4);
	length = frame_for(1);
	side_send(&a, 0, length, 0);
	wq_got(s.wq[1], length);
	printf("running\n");
	fflush(stdout);
	SAME(next_wc(b.cq).status, IBV_WC_FATAL_ERR);
}
