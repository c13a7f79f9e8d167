// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_modify_qp(): all or nothing, in every transition; ibv_query_qp() returns
 * what was set.
 */
#include "lib.h"

#include <signal.h>

static struct end e, peer;

/* everything that can be asked for */
struct state {
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
};

static struct state query(void)
{
	struct state s;

	memset(&s, 0, sizeof(s));
	SAME(ibv_query_qp(e.qp, &s.attr, QP_ATTRS, &s.init), 0);
	return s;
}

static void expect_unchanged(const struct state *before)
{
	struct state now = query();
	const uint8_t *x = (uint8_t *)&before->attr, *y = (uint8_t *)&now.attr;
	size_t i;

	for (i = 0; i < sizeof(now.attr); i++)
		if (x[i] != y[i])
			FAIL("the attributes have changed, at byte %zu of struct ibv_qp_attr: %#x, %#x",
			     i, x[i], y[i]);
	SAME(memcmp(&before->init, &now.init, sizeof(now.init)), 0);
	SAME(e.qp->state, now.attr.qp_state);
}

/* attributes that are right for each transition */
static struct ibv_qp_attr good_attr(void)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.qkey = 0x4711,
		.path_mtu = IBV_MTU_512,
		.dest_qp_num = peer.qp->qp_num,
		.rq_psn = 0x123456,
		.sq_psn = 0xabcdef,
		.max_dest_rd_atomic = 5,
		.max_rd_atomic = 6,
		.min_rnr_timer = 13,
		.timeout = 17,
		.retry_cnt = 4,
		.rnr_retry = 3,
	};

	av_to(&attr.ah_attr, gid4, gid4);
	attr.ah_attr.grh.traffic_class = 0x68;
	attr.ah_attr.grh.flow_label = 0xabc54321;
	attr.ah_attr.sl = 3;
	attr.ah_attr.static_rate = IBV_RATE_20_GBPS;
	return attr;
}

#define INIT_C	(IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define INIT_UD	(IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RTR_UC	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC	(RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_RC	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
		 IBV_QP_MAX_QP_RD_ATOMIC)

/* the masks that lead on, by type */
static const struct {
	enum ibv_qp_type type;
	int masks[3];
} ways[] = {
	{ IBV_QPT_RC, { INIT_C, RTR_RC, RTS_RC } },
	{ IBV_QPT_UC, { INIT_C, RTR_UC, IBV_QP_SQ_PSN } },
	{ IBV_QPT_UD, { INIT_UD, 0, IBV_QP_SQ_PSN } },
};

static int way_mask(int type, int step)
{
	return ways[type].masks[step] | IBV_QP_STATE;
}

/* from RESET, @steps steps on */
static void advance(int type, int from, int steps)
{
	struct ibv_qp_attr attr = good_attr();
	int i;

	for (i = from; i < steps; i++) {
		attr.qp_state = IBV_QPS_INIT + i;
		SAME(ibv_modify_qp(e.qp, &attr, way_mask(type, i)), 0);
		expect_state(&e, IBV_QPS_INIT + i);
	}
}

/*
 * ---- Refused ----
 */

static void set_gid_index(struct ibv_qp_attr *attr)
{
	attr->ah_attr.grh.sgid_index = port.gid_tbl_len - 1;
}

static void set_no_grh(struct ibv_qp_attr *attr)
{
	attr->ah_attr.is_global = 0;
}

static void set_av_port(struct ibv_qp_attr *attr)
{
	attr->ah_attr.port_num = 2;
}

#define SET(_name, _member, _value)					\
	static void set_##_name(struct ibv_qp_attr *attr)		\
	{								\
		attr->_member = (_value);				\
	}

SET(pkey, pkey_index, 1)
SET(port_0, port_num, 0)
SET(port_2, port_num, 2)
SET(access, qp_access_flags, 1 << 30)
SET(mtu_0, path_mtu, 0)
SET(mtu_6, path_mtu, 6)
SET(mtu_big, path_mtu, IBV_MTU_4096)
SET(dest, dest_qp_num, 1 << 24)
SET(dest_rd, max_dest_rd_atomic, 129)
SET(rnr_timer, min_rnr_timer, 32)
SET(timeout, timeout, 32)
SET(retry, retry_cnt, 8)
SET(rnr_retry, rnr_retry, 8)
SET(rd, max_rd_atomic, 129)
SET(rd_255, max_rd_atomic, 255)

static const struct {
	const char *name;
	int mask;
	void (*set)(struct ibv_qp_attr *attr);
} wrongs[] = {
	{ "pkey_index 1", IBV_QP_PKEY_INDEX, set_pkey },
	{ "port 0", IBV_QP_PORT, set_port_0 },
	{ "port 2", IBV_QP_PORT, set_port_2 },
	{ "unknown access flag", IBV_QP_ACCESS_FLAGS, set_access },
	{ "path_mtu 0", IBV_QP_PATH_MTU, set_mtu_0 },
	{ "path_mtu 6", IBV_QP_PATH_MTU, set_mtu_6 },
	{ "path_mtu of more than the port", IBV_QP_PATH_MTU, set_mtu_big },
	{ "dest_qp_num of 25 bits", IBV_QP_DEST_QPN, set_dest },
	{ "max_dest_rd_atomic", IBV_QP_MAX_DEST_RD_ATOMIC, set_dest_rd },
	{ "min_rnr_timer 32", IBV_QP_MIN_RNR_TIMER, set_rnr_timer },
	{ "timeout 32", IBV_QP_TIMEOUT, set_timeout },
	{ "retry_cnt 8", IBV_QP_RETRY_CNT, set_retry },
	{ "rnr_retry 8", IBV_QP_RNR_RETRY, set_rnr_retry },
	{ "max_rd_atomic 129", IBV_QP_MAX_QP_RD_ATOMIC, set_rd },
	{ "max_rd_atomic 255", IBV_QP_MAX_QP_RD_ATOMIC, set_rd_255 },
	{ "empty GID index", IBV_QP_AV, set_gid_index },
	{ "no GRH", IBV_QP_AV, set_no_grh },
	{ "port of the AV", IBV_QP_AV, set_av_port },
};

/* one attribute is out of range: no other is set, nor the state */
static void invalid_values(void)
{
	struct ibv_qp_attr attr;
	struct state before;
	int t, step, i, tried = 0;

	make(&peer, CONF());
	for (t = 0; t < ARRAY_SIZE(ways); t++) {
		make(&e, CONF(.type = ways[t].type));
		for (step = 0; step < 3; step++) {
			before = query();
			for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
				if (!(wrongs[i].mask & ways[t].masks[step]))
					continue;
				note("type %d, to state %d, %s", ways[t].type, step + 1,
				     wrongs[i].name);
				attr = good_attr();
				attr.qp_state = IBV_QPS_INIT + step;
				wrongs[i].set(&attr);
				/* EINVAL, but the core has ENODATA for a GID */
				CHECK(ibv_modify_qp(e.qp, &attr, way_mask(t, step)));
				expect_unchanged(&before);
				tried++;
			}
			advance(t, step, step + 1);
		}
	}
	CHECK(tried > 20);
}

/* one that is required is missing; one that is not for this step is given */
static void invalid_masks(void)
{
	struct ibv_qp_attr attr;
	struct state before;
	int t, step, bit, mask;

	make(&peer, CONF());
	for (t = 0; t < ARRAY_SIZE(ways); t++) {
		make(&e, CONF(.type = ways[t].type));
		for (step = 0; step < 3; step++) {
			before = query();
			for (bit = 1; bit < 1 << 21; bit <<= 1) {
				note("type %d, to state %d, bit %#x", ways[t].type,
				     step + 1, bit);
				mask = way_mask(t, step);
				if (bit == IBV_QP_STATE)
					continue;
				/* optional ones, which good_attr() has */
				if (!(mask & bit) &&
				    (bit & (IBV_QP_CUR_STATE | IBV_QP_CAP | IBV_QP_ACCESS_FLAGS |
					    IBV_QP_PKEY_INDEX | IBV_QP_QKEY |
					    IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE |
					    IBV_QP_ALT_PATH)))
					continue;
				attr = good_attr();
				attr.qp_state = IBV_QPS_INIT + step;
				CHECK(ibv_modify_qp(e.qp, &attr, mask ^ bit));
				expect_unchanged(&before);
			}
			advance(t, step, step + 1);
		}
	}
}

/* all pairs of states but those that there are */
static void transitions(void)
{
	static const char allowed[7][8] = {
		/* to: RESET INIT RTR RTS SQD SQE ERR */
		/* RESET */ "XX....X",
		/* INIT  */ "XXX...X",
		/* RTR   */ "X..X..X",
		/* RTS   */ "X..XX.X",
		/* SQD   */ "X..XX.X",
		/* SQE   */ "X..X..X",
		/* ERR   */ "X.....X",
	};
	struct ibv_qp_attr attr;
	struct state before;
	int t, from, to;

	make(&peer, CONF());
	for (t = 0; t < 3; t++) {
		for (from = 0; from < 7; from++) {
			if (from == IBV_QPS_SQE)
				continue; /* by a fault only, see flush.c */
			make(&e, CONF(.type = ways[t].type));
			advance(t, 0, from <= IBV_QPS_RTS ? from : 3);
			if (from > IBV_QPS_RTS)
				to_state(&e, from);
			for (to = 0; to < 7; to++) {
				if (allowed[from][to] == 'X')
					continue;
				note("type %d, from %d to %d", ways[t].type, from, to);
				before = query();
				attr = good_attr();
				attr.qp_state = to;
				REFUSED(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE |
						      (to >= 1 && to <= 3 ?
						       ways[t].masks[to - 1] : 0)), EINVAL);
				expect_unchanged(&before);
			}
			attr.qp_state = 77;
			CHECK(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE));
			expect_unchanged(&before);
			note("type %d, from %d to ERR and RESET", ways[t].type, from);
			to_state(&e, IBV_QPS_ERR);
			to_state(&e, IBV_QPS_ERR);
			to_state(&e, IBV_QPS_RESET);
			to_state(&e, IBV_QPS_RESET);
			unmake(&e);
		}
	}
}

/* cur_qp_state is what the caller believes; it is looked at */
static void cur_state(void)
{
	struct ibv_qp_attr attr;
	struct state before;
	int cur;

	make(&peer, CONF());
	make(&e, CONF());
	attr = good_attr();
	advance(0, 0, 2);
	before = query();
	attr.qp_state = IBV_QPS_RTS;
	for (cur = 0; cur <= IBV_QPS_ERR; cur++) {
		if (cur == IBV_QPS_RTR)
			continue;
		note("cur_qp_state %d, it is RTR", cur);
		attr.cur_qp_state = cur;
		REFUSED(ibv_modify_qp(e.qp, &attr, way_mask(0, 2) | IBV_QP_CUR_STATE),
			EINVAL);
		expect_unchanged(&before);
	}
	attr.cur_qp_state = IBV_QPS_RTR;
	SAME(ibv_modify_qp(e.qp, &attr, way_mask(0, 2) | IBV_QP_CUR_STATE), 0);
	expect_state(&e, IBV_QPS_RTS);
	attr.cur_qp_state = IBV_QPS_SQD;
	REFUSED(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	attr.cur_qp_state = IBV_QPS_RTS;
	SAME(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
}

/*
 * ---- Set and read ----
 */

static void query_rc(void)
{
	struct ibv_qp_attr want;
	struct state got;

	make(&peer, CONF());
	make(&e, CONF(.sig_all = true));
	want = good_attr();
	got = query();
	SAME(got.attr.qp_state, IBV_QPS_RESET);
	SAME(got.attr.dest_qp_num, 0);
	advance(0, 0, 3);
	got = query();
	SAME(got.attr.qp_state, IBV_QPS_RTS);
	SAME(got.attr.cur_qp_state, IBV_QPS_RTS);
	SAME(got.attr.port_num, want.port_num);
	SAME(got.attr.pkey_index, want.pkey_index);
	SAME(got.attr.qp_access_flags, want.qp_access_flags);
	SAME(got.attr.path_mtu, want.path_mtu);
	SAME(got.attr.dest_qp_num, want.dest_qp_num);
	SAME(got.attr.rq_psn, want.rq_psn);
	SAME(got.attr.sq_psn, want.sq_psn);
	SAME(got.attr.max_dest_rd_atomic, want.max_dest_rd_atomic);
	SAME(got.attr.max_rd_atomic, want.max_rd_atomic);
	SAME(got.attr.min_rnr_timer, want.min_rnr_timer);
	SAME(got.attr.timeout, want.timeout);
	SAME(got.attr.retry_cnt, want.retry_cnt);
	SAME(got.attr.rnr_retry, want.rnr_retry);
	SAME(got.attr.path_mig_state, IBV_MIG_MIGRATED);
	SAME(got.attr.sq_draining, 0);
	SAME(got.attr.ah_attr.is_global, 1);
	SAME(got.attr.ah_attr.port_num, 1);
	SAME(got.attr.ah_attr.sl, want.ah_attr.sl);
	SAME(got.attr.ah_attr.static_rate, want.ah_attr.static_rate);
	SAME(got.attr.ah_attr.grh.sgid_index, want.ah_attr.grh.sgid_index);
	/* not the hop_limit: the core puts the route's in its place */
	SAME(got.attr.ah_attr.grh.traffic_class, want.ah_attr.grh.traffic_class);
	SAME(got.attr.ah_attr.grh.flow_label, 0x54321); /* 20 bits of it */
	SAME(memcmp(&got.attr.ah_attr.grh.dgid, &want.ah_attr.grh.dgid, 16), 0);
	SAME(got.init.qp_type, IBV_QPT_RC);
	SAME(got.init.sq_sig_all, 1);
	CHECK(got.init.qp_context == &e);
	CHECK(got.init.send_cq == e.scq);
	CHECK(got.init.recv_cq == e.rcq);
	CHECK(!got.init.srq);
	CHECK(got.init.cap.max_send_wr >= 16);
	CHECK(!memcmp(&got.init.cap, &got.attr.cap, sizeof(got.init.cap)));
	/* nothing of a former life */
	to_state(&e, IBV_QPS_RESET);
	got = query();
	SAME(got.attr.dest_qp_num, 0);
	SAME(got.attr.qp_access_flags, 0);
}

static void query_live_changes(void)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ,
				    .min_rnr_timer = 5 };
	struct state got;

	make(&peer, CONF());
	make(&e, CONF());
	advance(0, 0, 3);
	SAME(ibv_modify_qp(e.qp, &attr, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER), 0);
	got = query();
	SAME(got.attr.qp_access_flags, IBV_ACCESS_REMOTE_READ);
	SAME(got.attr.min_rnr_timer, 5);
	SAME(got.attr.timeout, 17);
}

static void query_ud(void)
{
	struct ibv_qp_attr attr = { .qkey = 99 };
	struct state got;

	make(&peer, CONF());
	make(&e, CONF(.type = IBV_QPT_UD));
	advance(2, 0, 3);
	got = query();
	SAME(got.attr.qkey, 0x4711);
	SAME(got.attr.sq_psn, 0xabcdef);
	SAME(got.attr.port_num, 1);
	SAME(got.init.qp_type, IBV_QPT_UD);
	SAME(ibv_modify_qp(e.qp, &attr, IBV_QP_QKEY), 0);
	got = query();
	SAME(got.attr.qkey, 99);
}

/* the boundaries themselves are fine */
static void valid_extremes(void)
{
	struct ibv_qp_attr attr;
	struct state got;

	make(&peer, CONF());
	make(&e, CONF());
	advance(0, 0, 1);
	attr = good_attr();
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_256;
	attr.rq_psn = 0xffffff;
	attr.max_dest_rd_atomic = 128;
	attr.min_rnr_timer = 31;
	SAME(ibv_modify_qp(e.qp, &attr, way_mask(0, 1)), 0);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0xffffff;
	attr.timeout = 31;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 128;
	SAME(ibv_modify_qp(e.qp, &attr, way_mask(0, 2)), 0);
	got = query();
	SAME(got.attr.timeout, 31);
	SAME(got.attr.max_rd_atomic, 128);
	SAME(got.attr.max_dest_rd_atomic, 128);
	SAME(got.attr.sq_psn, 0xffffff);
}

/* programs draw a number of 32 bits for a PSN, and tell the peer 24 of them */
static void psn_of_32_bits(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		note("type %d", types[i]);
		make(&e, CONF(.type = types[i]));
		make(&peer, CONF(.type = types[i]));
		to_init(&e);
		to_init(&peer);
		peer.psn = 0x7000007;
		to_rtr(&e, &peer);
		e.psn = 5;
		to_rtr(&peer, &e);
		e.psn = 0xff000005;
		to_rts(&e);
		peer.psn = 7;
		to_rts(&peer);
		SAME(ibv_query_qp(e.qp, &attr, IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init), 0);
		SAME(attr.sq_psn, 5);
		SAME(attr.rq_psn, 7);
		check_works(&e, &peer);
		unmake(&e);
		unmake(&peer);
	}
}

/* ibv_modify_qp(3): the mask may be 0 */
static void nothing_to_modify(void)
{
	struct ibv_qp_attr attr = {};
	struct state before;
	int t, steps;

	make(&peer, CONF());
	for (t = 0; t < ARRAY_SIZE(ways); t++) {
		make(&e, CONF(.type = ways[t].type));
		for (steps = 0; steps <= 3; steps++) {
			note("type %d after %d steps", ways[t].type, steps);
			if (steps)
				advance(t, steps - 1, steps);
			before = query();
			SAME(ibv_modify_qp(e.qp, &attr, 0), 0);
			expect_unchanged(&before);
		}
		to_state(&e, IBV_QPS_ERR);
		SAME(ibv_modify_qp(e.qp, &attr, 0), 0);
		expect_state(&e, IBV_QPS_ERR);
	}
}

/* the upper half of Q_Keys is for who may open raw sockets */
static void privileged_qkey(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x80000001,
	};
	struct state got;

	make(&e, CONF(.type = IBV_QPT_UD));
	SAME(ibv_modify_qp(e.qp, &attr, way_mask(2, 0)), 0);
	got = query();
	SAME(got.attr.qkey, 0x80000001);
	to_state(&e, IBV_QPS_RESET);
	CHECK(!setresuid(65534, 65534, 65534));
	REFUSED(ibv_modify_qp(e.qp, &attr, way_mask(2, 0)), EPERM);
	expect_state(&e, IBV_QPS_RESET);
	attr.qkey = 0x7fffffff;
	SAME(ibv_modify_qp(e.qp, &attr, way_mask(2, 0)), 0);
}

/*
 * ---- Names ----
 */

/* a number that was just used is not used again soon */
static void qpn_not_reused(void)
{
	uint8_t *seen = memory(1 << 24);
	struct ibv_qp_init_attr attr;
	struct ibv_qp *qp;
	int i;

	make(&e, CONF());
	for (i = 0; i < 500; i++) {
		attr = (struct ibv_qp_init_attr){
			.send_cq = e.scq, .recv_cq = e.rcq, .qp_type = IBV_QPT_RC,
			.cap = { 1, 1, 1, 1, 0 },
		};
		qp = ibv_create_qp(pd, &attr);
		CHECK(qp);
		CHECK(qp->qp_num > 1 && qp->qp_num < 0xffffff);
		if (seen[qp->qp_num])
			FAIL("QP number %#x again after %d others", qp->qp_num, i);
		seen[qp->qp_num] = 1;
		SAME(ibv_destroy_qp(qp), 0);
	}
}

/* nor are keys, at least their last eight bits change */
static void rkey_not_reused(void)
{
	struct ibv_mr *mr;
	uint32_t last = 0;
	int i;

	make(&e, CONF());
	for (i = 0; i < 100; i++) {
		mr = ibv_reg_mr(pd, e.buf, BUF, ACCESS_ALL);
		CHECK(mr);
		CHECK(mr->rkey != last);
		last = mr->rkey;
		SAME(ibv_dereg_mr(mr), 0);
	}
}

/* enhanced connection establishment: there is nothing to agree on */
static void ece(void)
{
	struct ibv_ece asked = { .vendor_id = 0xffffff, .options = 1 }, none = {};
	struct state before;
	int steps;

	make(&peer, CONF());
	make(&e, CONF());
	for (steps = 0; steps <= 3; steps++) {
		note("after %d steps", steps);
		if (steps)
			advance(0, steps - 1, steps);
		before = query();
		REFUSED(ibv_set_ece(e.qp, &asked), EOPNOTSUPP);
		REFUSED(ibv_set_ece(e.qp, &none), EOPNOTSUPP);
		REFUSED(ibv_query_ece(e.qp, &asked), EOPNOTSUPP);
		expect_unchanged(&before);
	}
}

/* Words of a message may be stored in any order, but for the last one: no promise. */
static void data_in_order(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	};
	int i, t;

	make(&peer, CONF());
	for (t = 0; t < ARRAY_SIZE(ways); t++) {
		make(&e, CONF(.type = ways[t].type));
		for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
			note("type %d opcode %d", ways[t].type, opcodes[i]);
			SAME(ibv_query_qp_data_in_order(e.qp, opcodes[i], 0), 0);
			SAME(ibv_query_qp_data_in_order(e.qp, opcodes[i],
							IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS), 0);
		}
	}
}

/* sends short datagrams to a QP of the parent, without end */
static void send_for_ever(uint32_t qpn)
{
	struct ibv_send_wr *wr;
	struct ibv_wc wc;
	struct ibv_ah *ah;

	open_device();
	make(&peer, CONF(.type = IBV_QPT_UD, .sq = 64));
	to_ready(&peer);
	ah = ah_to(gid4, gid4);
	for (;;) {
		wr = to_ah(swr(&peer, 1, IBV_WR_SEND, 0, 1000), ah, &peer);
		wr->wr.ud.remote_qpn = qpn;
		post(&peer, wr);
		expect_ok(peer.scq, 1);
		while (ibv_poll_cq(peer.scq, 1, &wc) > 0)
			;
	}
}

/* Senders on the host write to the receiver's memory themselves: it can be modified anyway. */
static void under_senders(void)
{
	struct ibv_qp_attr attr = { .qkey = QKEY };
	uint64_t began, worst = 0, took;
	pid_t pids[6];
	int i;

	make(&e, CONF(.type = IBV_QPT_UD));
	to_ready(&e);
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (!pids[i])
			send_for_ever(e.qp->qp_num);
	}
	sleep_ms(500);
	for (i = 0; i < 50; i++) {
		began = now_ns();
		SAME(ibv_modify_qp(e.qp, &attr, IBV_QP_QKEY), 0);
		took = now_ns() - began;
		worst = took > worst ? took : worst;
	}
	began = now_ns();
	unmake(&e);
	took = now_ns() - began;
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		kill(pids[i], SIGKILL);
		SAME(waitpid(pids[i], NULL, 0), pids[i]);
	}
	printf("modify %llu ms at worst, destroy %llu ms\n",
	       (unsigned long long)worst / 1000000, (unsigned long long)took / 1000000);
	CHECK(worst < WAIT_MS * 1000000ULL && took < WAIT_MS * 1000000ULL);
}

/*
 * ---- Reasons ----
 */

/*
 * Several verbs, each refused for one reason. With dynamic debug the kernel's log has the reasons,
 * which 505-own-modify looks for.
 */
static void reasons(void)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 33 } };
	struct ibv_alloc_dm_attr dm = { .length = 1 << 30 };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 1, .max_send_sge = 33 },
	};
	struct ibv_qp_attr attr;

	make(&peer, CONF());
	make(&e, CONF());
	init.send_cq = e.scq;
	init.recv_cq = e.rcq;
	REFUSED(ibv_create_qp(pd, &init), EINVAL);
	REFUSED(ibv_create_srq(pd, &srq), EINVAL);
	REFUSED(ibv_create_cq(ctx, 1 << 30, NULL, NULL, 0), EINVAL);
	REFUSED(ibv_alloc_dm(ctx, &dm), ENOMEM);
	REFUSED(ibv_reg_mr(pd, NULL, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	attr = good_attr();
	attr.qp_state = IBV_QPS_RTS;
	REFUSED(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE), EINVAL);
	attr.qp_state = IBV_QPS_INIT;
	REFUSED(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_SQ_PSN), EINVAL);
	attr.pkey_index = 7;
	REFUSED(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE | INIT_C), EINVAL);
}

TESTS(
	TEST(invalid_values), TEST(invalid_masks), TEST(transitions), TEST(cur_state),
	TEST(query_rc), TEST(query_live_changes), TEST(query_ud), TEST(valid_extremes),
	TEST(psn_of_32_bits), TEST(nothing_to_modify), TEST(ece), TEST(data_in_order),
	TEST(privileged_qkey), TEST(qpn_not_reused), TEST(rkey_not_reused),
	TEST(under_senders), TEST(reasons)
)
