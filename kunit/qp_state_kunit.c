// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Compare verbs/qp_state.c with the RDMA core's ib_modify_qp_is_ok(), which has the table of
 * IBA 11.2.5.3 in another form. DC, which neither of them has, is compared with what mlx5 checks.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "object/dc.h"
#include "verbs/qp_state.h"

#define QP_STATE_SEED	0x71707374
#define QP_STATE_RANDOM	200
#define QP_STATES	(IB_QPS_ERR + 1)
#define QP_BITS		32
/* Attributes that the core's table lacks, in some kernels or all; see additional_attributes(). */
#define QP_ADDITIONAL	(IB_QP_CAP | IB_QP_RATE_LIMIT)
/* An attribute that the core's table lacks for UC in SQD; see path_of_uc(). */
#define QP_ADDITIONAL_UC IB_QP_PORT

struct qp_state_type {
	const char	*name;
	enum ib_qp_type	type;
};

static const struct qp_state_type qp_state_types[] = {
	{ "RC", IB_QPT_RC },
	{ "UC", IB_QPT_UC },
	{ "UD", IB_QPT_UD },
	{ "GSI", IB_QPT_GSI },
	{ "SMI", IB_QPT_SMI },
	{ "XRC_INI", IB_QPT_XRC_INI },
	{ "XRC_TGT", IB_QPT_XRC_TGT },
	{ "RAW_PACKET", IB_QPT_RAW_PACKET },
};

static void qp_state_type_desc(const struct qp_state_type *type, char *desc)
{
	strscpy(desc, type->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(qp_state_type, qp_state_types, qp_state_type_desc);

/* A difference between weft and the core. */
struct qp_state_difference {
	enum ib_qp_state	from;
	enum ib_qp_state	to;
	u32			given;	/* attributes other than IB_QP_STATE */
	bool			ours;	/* weft allows the transition, or else the core does */
};

/* for all types of QPs */
static const struct qp_state_difference qp_state_differences[] = {
	/* IBA 11.2.5.3 allows Error from any state; the core does not from Reset */
	{ IB_QPS_RESET, IB_QPS_ERR, 0, true },
};

/* The transitions with required attributes, from IBA 11.2.5.3. */
struct qp_state_required {
	enum ib_qp_type		type;
	enum ib_qp_state	from;
	enum ib_qp_state	to;
	u32			mask;
};

static const struct qp_state_required qp_state_required_rows[] = {
	{ IB_QPT_RC, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ IB_QPT_RC, IB_QPS_INIT, IB_QPS_RTR,
	  IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
	  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER },
	{ IB_QPT_RC, IB_QPS_RTR, IB_QPS_RTS,
	  IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
	  IB_QP_MAX_QP_RD_ATOMIC },
	{ IB_QPT_UC, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ IB_QPT_UC, IB_QPS_INIT, IB_QPS_RTR,
	  IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN },
	{ IB_QPT_UC, IB_QPS_RTR, IB_QPS_RTS, IB_QP_SQ_PSN },
	{ IB_QPT_UD, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY },
	{ IB_QPT_UD, IB_QPS_RTR, IB_QPS_RTS, IB_QP_SQ_PSN },
	/* the port of GSI and SMI QPs is set at their creation */
	{ IB_QPT_GSI, IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ IB_QPT_GSI, IB_QPS_RTR, IB_QPS_RTS, IB_QP_SQ_PSN },
	{ IB_QPT_SMI, IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_QKEY },
	{ IB_QPT_SMI, IB_QPS_RTR, IB_QPS_RTS, IB_QP_SQ_PSN },
	/* IBA A14: XRC_INI is like the requester of an RC QP, XRC_TGT like its responder */
	{ IB_QPT_XRC_INI, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ IB_QPT_XRC_INI, IB_QPS_INIT, IB_QPS_RTR,
	  IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN },
	{ IB_QPT_XRC_INI, IB_QPS_RTR, IB_QPS_RTS,
	  IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
	  IB_QP_MAX_QP_RD_ATOMIC },
	{ IB_QPT_XRC_TGT, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ IB_QPT_XRC_TGT, IB_QPS_INIT, IB_QPS_RTR,
	  IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
	  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER },
	{ IB_QPT_XRC_TGT, IB_QPS_RTR, IB_QPS_RTS, IB_QP_SQ_PSN | IB_QP_TIMEOUT },
	{ IB_QPT_RAW_PACKET, IB_QPS_RESET, IB_QPS_INIT, IB_QP_PORT },
};

/* The transitions of DC QPs with attributes, from mlx5; IB_QP_STATE is always required. */
static const struct qp_state_dc {
	enum ib_qp_type		type;
	enum ib_qp_state	from;
	enum ib_qp_state	to;
	u32			required;
	u32			optional;
} qp_state_dc_rows[] = {
	{ WEFT_QPT_DCI, IB_QPS_RESET, IB_QPS_INIT, IB_QP_PKEY_INDEX | IB_QP_PORT, 0 },
	{ WEFT_QPT_DCI, IB_QPS_INIT, IB_QPS_INIT, 0, IB_QP_PKEY_INDEX | IB_QP_PORT },
	{ WEFT_QPT_DCI, IB_QPS_INIT, IB_QPS_RTR, IB_QP_PATH_MTU, IB_QP_PKEY_INDEX | IB_QP_AV },
	{ WEFT_QPT_DCI, IB_QPS_RTR, IB_QPS_RTS,
	  IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC |
	  IB_QP_SQ_PSN, IB_QP_MIN_RNR_TIMER },
	{ WEFT_QPT_DCI, IB_QPS_RTS, IB_QPS_RTS, 0, IB_QP_MIN_RNR_TIMER },
	{ WEFT_QPT_DCT, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0 },
	{ WEFT_QPT_DCT, IB_QPS_INIT, IB_QPS_RTR,
	  IB_QP_MIN_RNR_TIMER | IB_QP_AV | IB_QP_PATH_MTU, 0 },
};

static const struct qp_state_type qp_state_dc_types[] = {
	{ "DC initiator", WEFT_QPT_DCI },
	{ "DC target", WEFT_QPT_DCT },
};

KUNIT_ARRAY_PARAM(qp_state_dc_type, qp_state_dc_types, qp_state_type_desc);

static bool is_dc(enum ib_qp_type type)
{
	return type == WEFT_QPT_DCI || type == WEFT_QPT_DCT;
}

/* NULL: the transition has no attributes, or there is none. */
static const struct qp_state_dc *qp_state_dc(enum ib_qp_type type, enum ib_qp_state from,
					     enum ib_qp_state to)
{
	const struct qp_state_dc *row = qp_state_dc_rows;
	int i;

	for (i = 0; i < ARRAY_SIZE(qp_state_dc_rows); i++, row++)
		if (row->type == type && row->from == from && row->to == to)
			return row;
	return NULL;
}

/* A target ends by its destruction only, and an initiator in RESET has nothing to end. */
static bool dc_allows(enum ib_qp_type type, enum ib_qp_state from, enum ib_qp_state to, u32 mask)
{
	const struct qp_state_dc *row = qp_state_dc(type, from, to);
	u32 required = IB_QP_STATE | (row ? row->required : 0);

	if (!row && !(type == WEFT_QPT_DCI &&
		      (to == IB_QPS_RESET || (to == IB_QPS_ERR && from != IB_QPS_RESET))))
		return false;
	return (mask & required) == required && !(mask & ~(required | (row ? row->optional : 0)));
}

static u32 qp_state_required(enum ib_qp_type type, enum ib_qp_state from,
			     enum ib_qp_state to)
{
	const struct qp_state_required *row = qp_state_required_rows;
	const struct qp_state_dc *dc = qp_state_dc(type, from, to);
	int i;

	if (is_dc(type))
		return IB_QP_STATE | (dc ? dc->required : 0);
	for (i = 0; i < ARRAY_SIZE(qp_state_required_rows); i++, row++)
		if (row->type == type && row->from == from && row->to == to)
			return row->mask;
	return 0;
}

/* A transition for which attribute masks are compared. */
struct transition {
	struct kunit		*test;
	enum ib_qp_type		type;
	enum ib_qp_state	from;
	enum ib_qp_state	to;
	u32			seen;
	u32			compared;
	u32			allowed;
};

static bool is_known(struct transition *t, u32 mask, bool ours)
{
	const struct qp_state_difference *row = qp_state_differences;
	int i;

	for (i = 0; i < ARRAY_SIZE(qp_state_differences); i++, row++) {
		if (row->from != t->from || row->to != t->to || row->ours != ours ||
		    row->given != (mask & ~IB_QP_STATE))
			continue;
		t->seen |= BIT(i);
		return true;
	}
	return false;
}

/* The core does not know the types of DC. */
static bool core_allows(const struct transition *t, u32 mask)
{
	if (is_dc(t->type))
		return dc_allows(t->type, t->from, t->to, mask);
	return ib_modify_qp_is_ok(t->from, t->to, t->type,
				  (enum ib_qp_attr_mask)mask);
}

static u32 additional(const struct transition *t)
{
	if (is_dc(t->type))
		return 0;
	if (t->type == IB_QPT_UC && t->from == IB_QPS_SQD && t->to == IB_QPS_SQD)
		return QP_ADDITIONAL | QP_ADDITIONAL_UC;
	return QP_ADDITIONAL;
}

static void compare(struct transition *t, u32 mask)
{
	bool ours, core;

	if (mask & additional(t))
		return;
	ours = weft_qp_state_allows(t->type, t->from, t->to, mask);
	core = core_allows(t, mask);
	t->compared++;
	t->allowed += core;
	if (ours == core || is_known(t, mask, ours))
		return;
	KUNIT_FAIL(t->test, "state %d to %d, mask %#x: ours %d, the core's %d",
		   t->from, t->to, mask, ours, core);
}

static void compare_bits(struct transition *t, u32 required)
{
	int i, j;

	compare(t, 0);
	compare(t, required);
	for (i = 0; i < QP_BITS; i++) {
		compare(t, BIT(i));
		compare(t, required ^ BIT(i));
		for (j = 0; j < i; j++)
			compare(t, required ^ BIT(i) ^ BIT(j));
	}
}

/* Compare all sets of the attributes that the core allows one at a time. */
static void compare_subsets(struct transition *t, u32 required)
{
	u32 optional = 0, set = 0;
	int i;

	for (i = 0; i < QP_BITS; i++)
		if (core_allows(t, required | BIT(i)))
			optional |= BIT(i) & ~required & ~QP_ADDITIONAL;
	do {
		compare(t, required | set);
		/* the next subset; 0 after the last one */
		set = (set - optional) & optional;
	} while (set);
}

static void compare_random(struct transition *t, u32 required, struct rnd_state *rnd)
{
	u32 dense, sparse;
	int i;

	for (i = 0; i < QP_STATE_RANDOM; i++) {
		dense = prandom_u32_state(rnd);
		sparse = prandom_u32_state(rnd) & prandom_u32_state(rnd) &
			 prandom_u32_state(rnd);
		compare(t, dense);
		compare(t, required | dense);
		compare(t, required ^ sparse);
	}
}

static void compare_transitions(struct transition *t)
{
	struct rnd_state rnd;
	u32 required;

	kunit_info(t->test, "seed %#x", QP_STATE_SEED);
	prandom_seed_state(&rnd, QP_STATE_SEED);
	for (t->from = 0; t->from < QP_STATES; t->from++) {
		for (t->to = 0; t->to < QP_STATES; t->to++) {
			required = qp_state_required(t->type, t->from, t->to);
			compare_bits(t, required);
			compare_subsets(t, required);
			compare_random(t, required, &rnd);
		}
	}
	kunit_info(t->test, "%u masks, %u of them allowed", t->compared, t->allowed);
}

static void allows_what_the_core_does(struct kunit *test)
{
	const struct qp_state_type *param = test->param_value;
	struct transition t = { .test = test, .type = param->type };

	compare_transitions(&t);
	/* fail if a listed difference no longer exists */
	KUNIT_EXPECT_EQ(test, t.seen, BIT(ARRAY_SIZE(qp_state_differences)) - 1);
}

static void allows_what_mlx5_does(struct kunit *test)
{
	const struct qp_state_type *param = test->param_value;
	struct transition t = { .test = test, .type = param->type };

	compare_transitions(&t);
	KUNIT_EXPECT_EQ(test, 0, t.seen);
	KUNIT_EXPECT_GT(test, t.allowed, 0);
}

/* The comparison starts from the required attributes, so these have to be right. */
static void required_is_required(struct kunit *test)
{
	const struct qp_state_required *row;
	int i, bit;

	for (i = 0; i < ARRAY_SIZE(qp_state_required_rows); i++) {
		row = &qp_state_required_rows[i];
		KUNIT_EXPECT_TRUE(test, weft_qp_state_allows(row->type, row->from,
							     row->to, row->mask));
		for (bit = 0; bit < QP_BITS; bit++)
			if (row->mask & BIT(bit))
				KUNIT_EXPECT_FALSE(test,
						   weft_qp_state_allows(row->type, row->from,
									row->to,
									row->mask ^ BIT(bit)));
	}
}

/* IBA 10.3.1: the transitions of the state diagram that a consumer may request */
static const char * const qp_state_arrows[QP_STATES] = {
	/* to:	Reset Init RTR RTS SQD SQE Error */
	[IB_QPS_RESET]	= "xx....x",
	[IB_QPS_INIT]	= "xxx...x",
	[IB_QPS_RTR]	= "x..x..x",
	[IB_QPS_RTS]	= "x..xx.x",
	[IB_QPS_SQD]	= "x..xx.x",
	[IB_QPS_SQE]	= "x..x..x",
	[IB_QPS_ERR]	= "x.....x",
};

static void arrows_of_the_diagram(struct kunit *test)
{
	const struct qp_state_type *param = test->param_value;
	int from, to;
	bool arrow;

	for (from = 0; from < QP_STATES; from++) {
		for (to = 0; to < QP_STATES; to++) {
			arrow = qp_state_arrows[from][to] == 'x';
			KUNIT_EXPECT_EQ_MSG(test,
					    weft_qp_state_allows(param->type, from, to,
								 qp_state_required(param->type,
										   from, to)),
					    arrow, "state %d to %d", from, to);
		}
	}
}

/* No transition leads a DC QP to SQD or SQE. */
static const char * const qp_state_dc_arrows[][QP_STATES] = {
	{
		/* to:	Reset Init RTR RTS SQD SQE Error */
		[IB_QPS_RESET]	= "xx.....",
		[IB_QPS_INIT]	= "xxx...x",
		[IB_QPS_RTR]	= "x..x..x",
		[IB_QPS_RTS]	= "x..x..x",
		[IB_QPS_SQD]	= "x.....x",
		[IB_QPS_SQE]	= "x.....x",
		[IB_QPS_ERR]	= "x.....x",
	}, {
		[IB_QPS_RESET]	= ".x.....",
		[IB_QPS_INIT]	= "..x....",
		[IB_QPS_RTR]	= ".......",
		[IB_QPS_RTS]	= ".......",
		[IB_QPS_SQD]	= ".......",
		[IB_QPS_SQE]	= ".......",
		[IB_QPS_ERR]	= ".......",
	},
};

/* DC QPs change their state only if IB_QP_STATE asks for it. */
static void arrows_of_dc(struct kunit *test)
{
	const struct qp_state_type *param = test->param_value;
	const char * const *arrows = qp_state_dc_arrows[param - qp_state_dc_types];
	int from, to;
	u32 required;

	for (from = 0; from < QP_STATES; from++) {
		for (to = 0; to < QP_STATES; to++) {
			required = qp_state_required(param->type, from, to);
			KUNIT_EXPECT_EQ_MSG(test,
					    weft_qp_state_allows(param->type, from, to, required),
					    arrows[from][to] == 'x', "state %d to %d", from, to);
			KUNIT_EXPECT_FALSE_MSG(test,
					       weft_qp_state_allows(param->type, from, to,
								    required & ~IB_QP_STATE),
					       "state %d to %d", from, to);
		}
	}
}

/* An attribute that the core's table lacks. */
struct qp_state_additional {
	u32		mask;
	/* transitions that allow it, for all types but XRC targets */
	const char	*where[QP_STATES];
};

static const struct qp_state_additional qp_state_additional_rows[] = {
	{
		.mask = IB_QP_CAP,
		.where = {
			/* to:	Reset Init RTR RTS SQD SQE Error */
			[IB_QPS_RESET]	= ".......",
			[IB_QPS_INIT]	= ".xx....",
			[IB_QPS_RTR]	= "...x...",
			[IB_QPS_RTS]	= "...x...",
			[IB_QPS_SQD]	= "...xx..",
			[IB_QPS_SQE]	= "...x...",
			[IB_QPS_ERR]	= ".......",
		},
	}, {
		/* the transitions are those of RC in Linux 7.0 */
		.mask = IB_QP_RATE_LIMIT,
		.where = {
			[IB_QPS_RESET]	= ".......",
			[IB_QPS_INIT]	= "..x....",
			[IB_QPS_RTR]	= "...x...",
			[IB_QPS_RTS]	= "...x...",
			[IB_QPS_SQD]	= ".......",
			[IB_QPS_SQE]	= ".......",
			[IB_QPS_ERR]	= ".......",
		},
	},
};

/* XRC targets have none of them, and RAW_PACKET has those that the core's table has. */
static bool has_additional(enum ib_qp_type type, enum ib_qp_state from, enum ib_qp_state to,
			   u32 mask)
{
	if (type == IB_QPT_RAW_PACKET)
		return mask == IB_QP_RATE_LIMIT && to == IB_QPS_RTS &&
		       (from == IB_QPS_RTR || from == IB_QPS_RTS);
	return type != IB_QPT_XRC_TGT;
}

static void additional_attributes(struct kunit *test)
{
	const struct qp_state_type *param = test->param_value;
	const struct qp_state_additional *row;
	int i, from, to;
	u32 mask;

	for (i = 0; i < ARRAY_SIZE(qp_state_additional_rows) * QP_STATES * QP_STATES; i++) {
		row = &qp_state_additional_rows[i / QP_STATES / QP_STATES];
		from = i / QP_STATES % QP_STATES;
		to = i % QP_STATES;
		mask = qp_state_required(param->type, from, to) | row->mask;
		KUNIT_EXPECT_EQ_MSG(test, weft_qp_state_allows(param->type, from, to, mask),
				    row->where[from][to] == 'x' &&
				    has_additional(param->type, from, to, row->mask),
				    "state %d to %d, mask %#x", from, to, mask);
		/* it does not replace a required attribute */
		if (mask != row->mask)
			KUNIT_EXPECT_FALSE(test, weft_qp_state_allows(param->type, from, to,
								      row->mask));
	}
}

/*
 * uverbs adds the port whenever a process sets a path in SQD. The core's table allows the port for
 * RC but not for UC, so no process could change the path of a UC QP.
 */
static void path_of_uc(struct kunit *test)
{
	u32 mask = IB_QP_AV | QP_ADDITIONAL_UC;

	KUNIT_EXPECT_TRUE(test, weft_qp_state_allows(IB_QPT_UC, IB_QPS_SQD, IB_QPS_SQD, mask));
	KUNIT_EXPECT_TRUE(test, weft_qp_state_allows(IB_QPT_RC, IB_QPS_SQD, IB_QPS_SQD, mask));
	KUNIT_EXPECT_FALSE(test, weft_qp_state_allows(IB_QPT_UC, IB_QPS_SQD, IB_QPS_RTS, mask));
	KUNIT_EXPECT_FALSE(test, weft_qp_state_allows(IB_QPT_UD, IB_QPS_SQD, IB_QPS_SQD, mask));
	/* fail if the difference no longer exists */
	KUNIT_EXPECT_FALSE(test, ib_modify_qp_is_ok(IB_QPS_SQD, IB_QPS_SQD, IB_QPT_UC,
						    (enum ib_qp_attr_mask)mask));
}

static struct kunit_case qp_state_cases[] = {
	KUNIT_CASE_PARAM(allows_what_the_core_does, qp_state_type_gen_params),
	KUNIT_CASE(required_is_required),
	KUNIT_CASE_PARAM(arrows_of_the_diagram, qp_state_type_gen_params),
	KUNIT_CASE_PARAM(allows_what_mlx5_does, qp_state_dc_type_gen_params),
	KUNIT_CASE_PARAM(arrows_of_dc, qp_state_dc_type_gen_params),
	KUNIT_CASE_PARAM(additional_attributes, qp_state_type_gen_params),
	KUNIT_CASE(path_of_uc),
	{}
};

static struct kunit_suite qp_state_suite = {
	.name = "weft_qp_state",
	.test_cases = qp_state_cases,
};

kunit_test_suite(qp_state_suite);
