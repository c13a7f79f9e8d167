// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_modify_qp(): each attribute in each transition of each service, with and without
 * IBV_QP_STATE. What a transition does not have, and a value that is wrong, are refused,
 * and then nothing at all has changed; what it needs has to be there; what is taken is
 * what ibv_query_qp() returns.
 */
#include "lib.h"
#include "qpfields.h"

#include <fcntl.h>

enum { RC, UC, UD, INI, TGT, SERVICES };

static const char * const names[SERVICES] = { "RC", "UC", "UD", "XRC_SEND", "XRC_RECV" };

static const struct transition {
	const char *name;
	enum ibv_qp_state from, to;
} transitions[] = {
	{ "RESET to INIT", IBV_QPS_RESET, IBV_QPS_INIT },
	{ "INIT to INIT", IBV_QPS_INIT, IBV_QPS_INIT },
	{ "INIT to RTR", IBV_QPS_INIT, IBV_QPS_RTR },
	{ "RTR to RTS", IBV_QPS_RTR, IBV_QPS_RTS },
	{ "RTS to RTS", IBV_QPS_RTS, IBV_QPS_RTS },
	{ "RTS to SQD", IBV_QPS_RTS, IBV_QPS_SQD },
	{ "SQD to SQD", IBV_QPS_SQD, IBV_QPS_SQD },
	{ "SQD to RTS", IBV_QPS_SQD, IBV_QPS_RTS },
	{ "SQE to RTS", IBV_QPS_SQE, IBV_QPS_RTS },
};

#define NONE	"........."
#define IGNORED	"---------"

/*
 * IBA volume 1, 11.2.5.3, and annex A14; sizes of queues as limits.rst has them. For each
 * of the transitions: R required, o optional, . refused. What is of the other half of an
 * XRC connection the kernel's core takes away (-).
 */
static const struct row {
	const char *name;
	int bit;
	const char *where[SERVICES];
} rows[] = {
	{ "CUR_STATE", IBV_QP_CUR_STATE,
	  { "...oo..oo", "...oo..oo", "...oo..oo", "...oo..oo", "...oo..oo" } },
	{ "EN_SQD_ASYNC_NOTIFY", IBV_QP_EN_SQD_ASYNC_NOTIFY,
	  { ".....o...", ".....o...", ".....o...", ".....o...", ".....o..." } },
	{ "ACCESS_FLAGS", IBV_QP_ACCESS_FLAGS,
	  { "Roooo.oo.", "Roooo.ooo", NONE, "Roooo.oo.", "Roooo.oo." } },
	{ "PKEY_INDEX", IBV_QP_PKEY_INDEX,
	  { "Roo...o..", "Roo...o..", "Roo...o..", "Roo...o..", "Roo...o.." } },
	{ "PORT", IBV_QP_PORT,
	  { "Ro....o..", "Ro....o..", "Ro.......", "Ro....o..", "Ro....o.." } },
	{ "QKEY", IBV_QP_QKEY, { NONE, NONE, "Roooo.ooo", NONE, NONE } },
	{ "AV", IBV_QP_AV,
	  { "..R...o..", "..R...o..", NONE, "..R...o..", "..R...o.." } },
	{ "PATH_MTU", IBV_QP_PATH_MTU,
	  { "..R......", "..R......", NONE, "..R......", "..R......" } },
	{ "TIMEOUT", IBV_QP_TIMEOUT,
	  { "...R..o..", NONE, NONE, "...R..o..", "...R..o.." } },
	{ "RETRY_CNT", IBV_QP_RETRY_CNT,
	  { "...R..o..", NONE, NONE, "...R..o..", IGNORED } },
	{ "RNR_RETRY", IBV_QP_RNR_RETRY,
	  { "...R..o..", NONE, NONE, "...R..o..", IGNORED } },
	{ "RQ_PSN", IBV_QP_RQ_PSN,
	  { "..R......", "..R......", NONE, "..R......", "..R......" } },
	{ "MAX_QP_RD_ATOMIC", IBV_QP_MAX_QP_RD_ATOMIC,
	  { "...R..o..", NONE, NONE, "...R..o..", IGNORED } },
	{ "ALT_PATH", IBV_QP_ALT_PATH,
	  { "..ooo.oo.", "..ooo.oo.", NONE, "..ooo.oo.", "..ooo.oo." } },
	{ "MIN_RNR_TIMER", IBV_QP_MIN_RNR_TIMER,
	  { "..Roo.oo.", NONE, NONE, IGNORED, "..Roo.oo." } },
	{ "SQ_PSN", IBV_QP_SQ_PSN,
	  { "...R.....", "...R.....", "...R.....", "...R.....", "...R....." } },
	{ "MAX_DEST_RD_ATOMIC", IBV_QP_MAX_DEST_RD_ATOMIC,
	  { "..R...o..", NONE, NONE, IGNORED, "..R...o.." } },
	{ "PATH_MIG_STATE", IBV_QP_PATH_MIG_STATE,
	  { "...oo.oo.", "...oo.oo.", NONE, "...oo.oo.", "...oo.oo." } },
	{ "CAP", IBV_QP_CAP,
	  { ".oooo.oo.", ".oooo.ooo", ".oooo.ooo", ".oooo.oo.", NONE } },
	{ "DEST_QPN", IBV_QP_DEST_QPN,
	  { "..R......", "..R......", NONE, "..R......", "..R......" } },
};

/*
 * ---- Values ----
 */

/* what ibv_query_qp() returns as it was set; the core does not return en_sqd_async_notify */
static const struct field fields[] = {
	FIELD(STATE, qp_state), QP_FIELDS, FIELD(PATH_MIG_STATE, path_mig_state),
};

static void copy_fields(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].bit & mask)
			memcpy((char *)to + fields[i].offset,
			       (const char *)from + fields[i].offset, fields[i].size);
}

static struct ibv_qp_attr good_attr(const struct transition *t)
{
	struct ibv_qp_attr attr = {
		.qp_state = t->to,
		.cur_qp_state = t->from,
		.en_sqd_async_notify = 1,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.qkey = 0x4711,
		.path_mtu = IBV_MTU_512,
		.path_mig_state = IBV_MIG_MIGRATED,
		.dest_qp_num = 0x424242,
		.rq_psn = 0x123456,
		.sq_psn = 0xabcdef,
		.max_dest_rd_atomic = 5,
		.max_rd_atomic = 6,
		.min_rnr_timer = 13,
		.timeout = 17,
		.retry_cnt = 4,
		.rnr_retry = 3,
		.alt_port_num = 1,
		.alt_timeout = 12,
	};

	av_to(&attr.ah_attr, gid4, gid4);
	attr.ah_attr.sl = 3;
	av_to(&attr.alt_ah_attr, gid4, gid4);
	attr.alt_ah_attr.grh.traffic_class = 0x44;
	return attr;
}

/* all of it as good, and what can differ does */
static struct ibv_qp_attr other_attr(const struct transition *t)
{
	struct ibv_qp_attr attr = good_attr(t);

	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	attr.qkey = 0x4712;
	attr.max_dest_rd_atomic = 1;
	attr.max_rd_atomic = 2;
	attr.min_rnr_timer = 3;
	attr.timeout = 9;
	attr.retry_cnt = 2;
	attr.rnr_retry = 1;
	attr.ah_attr.sl = 5;
	attr.ah_attr.static_rate = IBV_RATE_20_GBPS;
	attr.ah_attr.grh.traffic_class = 0x68;
	attr.ah_attr.grh.flow_label = 0x54321;
	return attr;
}

#define WRONG(_name, _member, _value)					\
	static void wrong_##_name(struct ibv_qp_attr *attr)		\
	{								\
		attr->_member = (_value);				\
	}

WRONG(cur_state, cur_qp_state, IBV_QPS_ERR)
WRONG(cur_state_77, cur_qp_state, 77)
WRONG(access, qp_access_flags, 1 << 30)
WRONG(pkey, pkey_index, 1)
WRONG(port_0, port_num, 0)
WRONG(port_2, port_num, 2)
WRONG(no_grh, ah_attr.is_global, 0)
WRONG(av_port, ah_attr.port_num, 2)
WRONG(gid_index, ah_attr.grh.sgid_index, port.gid_tbl_len - 1)
WRONG(sl, ah_attr.sl, 16)
WRONG(mtu_0, path_mtu, 0)
WRONG(mtu_6, path_mtu, 6)
WRONG(timeout, timeout, 32)
WRONG(retry, retry_cnt, 8)
WRONG(rnr_retry, rnr_retry, 8)
WRONG(rd, max_rd_atomic, 129)
WRONG(dest_rd, max_dest_rd_atomic, 129)
WRONG(rnr_timer, min_rnr_timer, 32)
WRONG(alt_port, alt_port_num, 2)
WRONG(alt_av_port, alt_ah_attr.port_num, 2)
WRONG(alt_timeout, alt_timeout, 32)
WRONG(alt_pkey, alt_pkey_index, 1)
WRONG(alt_no_grh, alt_ah_attr.is_global, 0)
WRONG(alt_gid_index, alt_ah_attr.grh.sgid_index, port.gid_tbl_len - 1)
WRONG(alt_sl, alt_ah_attr.sl, 16)
WRONG(mig_armed, path_mig_state, IBV_MIG_ARMED)
WRONG(mig_rearm, path_mig_state, IBV_MIG_REARM)
WRONG(mig_3, path_mig_state, 3)
WRONG(sge, cap.max_send_sge, 33)
WRONG(inline_data, cap.max_inline_data, 1025)
WRONG(send_wr, cap.max_send_wr, 32769)
WRONG(dest, dest_qp_num, 1 << 24)

static const struct wrong {
	int bit;
	const char *name;
	void (*set)(struct ibv_qp_attr *attr);
} wrongs[] = {
	{ IBV_QP_CUR_STATE, "ERR", wrong_cur_state },
	{ IBV_QP_CUR_STATE, "77", wrong_cur_state_77 },
	{ IBV_QP_ACCESS_FLAGS, "an unknown flag", wrong_access },
	{ IBV_QP_PKEY_INDEX, "1", wrong_pkey },
	{ IBV_QP_PORT, "0", wrong_port_0 },
	{ IBV_QP_PORT, "2", wrong_port_2 },
	{ IBV_QP_AV, "no GRH", wrong_no_grh },
	{ IBV_QP_AV, "port 2", wrong_av_port },
	{ IBV_QP_AV, "an empty GID index", wrong_gid_index },
	{ IBV_QP_AV, "sl 16", wrong_sl },
	{ IBV_QP_PATH_MTU, "0", wrong_mtu_0 },
	{ IBV_QP_PATH_MTU, "6", wrong_mtu_6 },
	{ IBV_QP_TIMEOUT, "32", wrong_timeout },
	{ IBV_QP_RETRY_CNT, "8", wrong_retry },
	{ IBV_QP_RNR_RETRY, "8", wrong_rnr_retry },
	{ IBV_QP_MAX_QP_RD_ATOMIC, "129", wrong_rd },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "129", wrong_dest_rd },
	{ IBV_QP_MIN_RNR_TIMER, "32", wrong_rnr_timer },
	{ IBV_QP_ALT_PATH, "alt_port_num 2", wrong_alt_port },
	{ IBV_QP_ALT_PATH, "port 2", wrong_alt_av_port },
	{ IBV_QP_ALT_PATH, "timeout 32", wrong_alt_timeout },
	{ IBV_QP_ALT_PATH, "pkey_index 1", wrong_alt_pkey },
	{ IBV_QP_ALT_PATH, "no GRH", wrong_alt_no_grh },
	{ IBV_QP_ALT_PATH, "an empty GID index", wrong_alt_gid_index },
	{ IBV_QP_ALT_PATH, "sl 16", wrong_alt_sl },
	{ IBV_QP_PATH_MIG_STATE, "ARMED", wrong_mig_armed },
	{ IBV_QP_PATH_MIG_STATE, "REARM, and there is no path", wrong_mig_rearm },
	{ IBV_QP_PATH_MIG_STATE, "3", wrong_mig_3 },
	{ IBV_QP_CAP, "33 elements", wrong_sge },
	{ IBV_QP_CAP, "1025 bytes inline", wrong_inline_data },
	{ IBV_QP_CAP, "32769 sends", wrong_send_wr },
	{ IBV_QP_DEST_QPN, "25 bits", wrong_dest },
};

/*
 * ---- A QP ----
 */

static struct end e;
static struct ibv_ah *ah;
static struct ibv_qp_attr want;		/* what has been set */
static int set;				/* which of it */

static struct ibv_qp_attr query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	SAME(ibv_query_qp(e.qp, &attr, QP_ATTRS, &init), 0);
	return attr;
}

static void expect_set(void)
{
	struct ibv_qp_attr attr = query();
	const struct field *field;
	int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		field = &fields[i];
		if (field->bit & set && memcmp((char *)&attr + field->offset,
					       (char *)&want + field->offset, field->size))
			FAIL("ibv_query_qp() does not return the %s that was set", field->name);
	}
}

static void modify(struct ibv_qp_attr attr, int mask)
{
	copy_fields(&want, &attr, mask);
	set |= mask;
	SAME(ibv_modify_qp(e.qp, &attr, mask), 0);
	expect_set();
}

/* The core has ENODATA for an empty GID index. */
static void refuse(struct ibv_qp_attr attr, int mask)
{
	struct ibv_qp_attr before = query(), after;
	int ret = ibv_modify_qp(e.qp, &attr, mask);
	size_t i;

	if (ret != EINVAL && ret != ENODATA)
		FAIL("expected EINVAL, got %d", ret);
	after = query();
	for (i = 0; i < sizeof(after); i++)
		if (((uint8_t *)&before)[i] != ((uint8_t *)&after)[i])
			FAIL("changed, though refused: byte %zu of struct ibv_qp_attr", i);
	expect_set();
}

static int required(int service, const struct transition *t)
{
	int i, mask = 0;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].where[service][t - transitions] == 'R')
			mask |= rows[i].bit;
	return mask;
}

static void make_xrc(int service)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV };

	SAME(ibv_destroy_qp(e.qp), 0);
	if (service == INI) {
		attr = (struct ibv_qp_init_attr_ex){
			.qp_type = IBV_QPT_XRC_SEND,
			.comp_mask = IBV_QP_INIT_ATTR_PD,
			.pd = pd,
			.send_cq = e.scq,
			.cap = { .max_send_wr = 16, .max_send_sge = 2 },
		};
	} else {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = ibv_open_xrcd(ctx, &domain);
		CHECK(attr.xrcd);
	}
	e.qp = ibv_create_qp_ex(ctx, &attr);
	CHECK(e.qp);
}

static void make_service(int service)
{
	static const enum ibv_qp_type types[SERVICES] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC, IBV_QPT_RC,
	};

	make(&e, CONF(.type = types[service]));
	if (service == INI || service == TGT)
		make_xrc(service);
	ah = ah_to(gid4, gid4);
}

/* by a work request that fails */
static void break_send_queue(int service)
{
	struct ibv_send_wr *wr = swr(&e, 1, IBV_WR_SEND, 0, 8);

	wr->sg_list->lkey = 0;
	post(&e, service == UD ? to_ah(wr, ah, &e) : wr);
	expect_wc(e.scq, 1, IBV_WC_LOC_PROT_ERR);
	expect_state(&e, IBV_QPS_SQE);
	want.qp_state = IBV_QPS_SQE;
}

static bool has_state(int service, enum ibv_qp_state state)
{
	return state != IBV_QPS_SQE || service == UC || service == UD;
}

/* from RESET, with what is required and no more */
static void reach(int service, enum ibv_qp_state state)
{
	static const int steps[] = { 0, 2, 3 };
	const struct transition *t;
	int i;

	to_state(&e, IBV_QPS_RESET);
	want = (struct ibv_qp_attr){};
	set = 0;
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		t = &transitions[steps[i]];
		if (t->to <= state)
			modify(good_attr(t), IBV_QP_STATE | required(service, t));
	}
	if (state == IBV_QPS_SQE)
		break_send_queue(service);
	else if (state > IBV_QPS_RTS)
		modify((struct ibv_qp_attr){ .qp_state = state }, IBV_QP_STATE);
}

/*
 * ---- Each attribute ----
 */

static void take(int service, const struct transition *t, const struct row *row, int mask)
{
	struct ibv_qp_attr attr = good_attr(t), other = other_attr(t);

	copy_fields(&attr, &other, row->bit);
	modify(attr, mask | row->bit);
	expect_state(&e, t->to);
	reach(service, t->from);
}

static void refuse_wrong(const struct transition *t, const struct row *row, int mask)
{
	struct ibv_qp_attr attr;
	int i;

	for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
		if (wrongs[i].bit != row->bit)
			continue;
		note("%s, %s: %s", t->name, row->name, wrongs[i].name);
		attr = good_attr(t);
		wrongs[i].set(&attr);
		refuse(attr, mask | row->bit);
	}
}

/* @mask: what is required, and perhaps IBV_QP_STATE */
static void try_attribute(int service, const struct transition *t, const struct row *row,
			  int mask)
{
	char where = row->where[service][t - transitions];

	note("%s, %s, mask %#x", t->name, row->name, mask);
	switch (where) {
	case '.':
		refuse(good_attr(t), mask | row->bit);
		break;
	case 'R':
		refuse(good_attr(t), mask & ~row->bit);
		refuse_wrong(t, row, mask);
		break;
	case 'o':
		refuse_wrong(t, row, mask);
		note("%s, %s, mask %#x", t->name, row->name, mask);
		take(service, t, row, mask);
		break;
	}
}

static void try_transition(int service, const struct transition *t)
{
	int i, mask = required(service, t);

	reach(service, t->from);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		try_attribute(service, t, &rows[i], mask | IBV_QP_STATE);
		if (t->from == t->to)
			try_attribute(service, t, &rows[i], mask);
	}
}

/* on the way to RESET and to ERR, and in ERR, nothing can be set */
static void try_end(int service, enum ibv_qp_state from)
{
	struct transition t = { .from = from };
	int i;

	reach(service, from);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].where[service][0] == '-')
			continue;
		note("from state %d, %s", from, rows[i].name);
		t.to = IBV_QPS_RESET;
		refuse(good_attr(&t), IBV_QP_STATE | rows[i].bit);
		t.to = IBV_QPS_ERR;
		refuse(good_attr(&t), IBV_QP_STATE | rows[i].bit);
		if (from == IBV_QPS_ERR || from == IBV_QPS_RESET)
			refuse(good_attr(&t), rows[i].bit);
	}
	modify((struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, IBV_QP_STATE);
}

static void try_service(int service)
{
	enum ibv_qp_state from;
	int i;

	make_service(service);
	printf("%s\n", names[service]);
	for (i = 0; i < ARRAY_SIZE(transitions); i++)
		if (has_state(service, transitions[i].from))
			try_transition(service, &transitions[i]);
	for (from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++)
		if (has_state(service, from))
			try_end(service, from);
}

static void rc(void)
{
	try_service(RC);
}

static void uc(void)
{
	try_service(UC);
}

static void ud(void)
{
	try_service(UD);
}

static void xrc_send(void)
{
	try_service(INI);
}

static void xrc_recv(void)
{
	try_service(TGT);
}

/*
 * ---- And what comes of it ----
 */

static struct end a, b;

static void set_path(struct end *end, int gid)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	to_state(end, IBV_QPS_SQD);
	av_to(&attr.ah_attr, gid, gid);
	SAME(ibv_modify_qp(end->qp, &attr, IBV_QP_AV), 0);
	SAME(ibv_query_qp(end->qp, &attr, IBV_QP_AV, &init), 0);
	SAME(attr.ah_attr.grh.sgid_index, gid);
	to_state(end, IBV_QPS_RTS);
}

/* IBA 10.3.1.5: the path can be another one when the send queue has drained */
static void other_path(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	int i;

	CHECK(gid6 >= 0);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		note("type %d", types[i]);
		make_pair(&a, &b, CONF(.type = types[i]));
		check_works(&a, &b);
		set_path(&a, gid6);
		set_path(&b, gid6);
		check_works(&a, &b);
		set_path(&a, gid4);
		set_path(&b, gid4);
		check_works(&a, &b);
		unmake(&a);
		unmake(&b);
	}
	expect_no_event();
}

TESTS(
	TEST(rc), TEST(uc), TEST(ud), TEST(xrc_send), TEST(xrc_recv), TEST(other_path)
)
