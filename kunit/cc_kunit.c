// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion control: the arithmetic beside a model that does nothing lazily, and the packets that
 * cause it.
 */
#include "fake_link.h"

#include <kunit/test.h>

#include "engine/cc.h"
#include "engine/pace.h"
#include "params.h"
#include "stats.h"
#include "verbs/qp.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define CC_SEED		0x64637163
#define CC_EVENTS	400
#define CC_LINE		10000000U
#define CC_IDLE_STEPS	1024

/* ---- the arithmetic ---- */

/**
 * struct cc_model - DCQCN with timers, which are looked at each microsecond
 * @limited: there is a limit
 * @seen: a CNP has come since the last step of alpha
 * @rate: the limit
 * @target: of the increases
 * @alpha: in 1/1024
 * @bytes: sent since the last increase by bytes
 * @time_steps: increases by time since the last cut
 * @byte_steps: increases by bytes since then
 * @idle: increases by time since anything else has happened
 * @now: microseconds
 * @alpha_at: when alpha changes next
 * @time_at: when the rate increases next
 * @cut_until: no cut before
 * @period: of alpha
 */
struct cc_model {
	bool	limited;
	bool	seen;
	u64	rate;
	u64	target;
	u64	alpha;
	u64	bytes;
	u32	time_steps;
	u32	byte_steps;
	u32	idle;
	u64	now;
	u64	alpha_at;
	u64	time_at;
	u64	cut_until;
	u32	period;
};

static void model_increase(struct cc_model *model)
{
	if (model->time_steps > 1 && model->byte_steps > 1)
		model->target += 50000;
	else
		model->target += 5000;
	if (model->target > CC_LINE)
		model->target = CC_LINE;
	model->rate = (model->rate + model->target + 1) / 2;
	if (model->rate >= CC_LINE)
		model->limited = false;
}

static void model_tick(struct cc_model *model)
{
	model->now++;
	if (!model->limited)
		return;
	if (model->now == model->alpha_at) {
		model->alpha = (model->alpha * 1019 + (model->seen ? 1024 * 5 : 0)) / 1024;
		model->seen = false;
		model->alpha_at += model->period;
	}
	if (model->now == model->time_at) {
		model->time_steps++;
		model->time_at += 3 * model->period;
		model_increase(model);
		if (++model->idle > CC_IDLE_STEPS)
			model->limited = false;
	}
}

static void model_sent(struct cc_model *model, u32 bytes)
{
	if (!model->limited)
		return;
	model->bytes += bytes;
	while (model->limited && model->bytes >= 2 << 20) {
		model->bytes -= 2 << 20;
		model->byte_steps++;
		model_increase(model);
	}
}

static void model_cut(struct cc_model *model, const struct weft_cc_path *path, bool lost)
{
	u64 cut;

	if (!model->limited) {
		*model = (struct cc_model){
			.limited = true, .rate = path->rate, .target = path->rate, .alpha = 1023,
			.now = model->now, .period = path->period,
			.alpha_at = model->now + path->period,
			.time_at = model->now + 3 * path->period,
		};
	}
	if (!lost)
		model->seen = true;
	if (model->now < model->cut_until)
		return;
	cut = model->rate * (lost ? 1024 : model->alpha) / 2048;
	if (model->time_steps)
		model->target = model->rate;
	model->rate = max(model->rate - min(cut, model->rate / 2), 1000ULL);
	model->time_steps = 0;
	model->byte_steps = 0;
	model->bytes = 0;
	model->cut_until = model->now + path->period;
	/* alpha keeps the instants of its steps, with the new period from the next one on */
	model->alpha_at = model->alpha_at - model->period + path->period;
	model->period = path->period;
	model->time_at = model->now + 3 * path->period;
}

/**
 * struct cc_row - what happens
 * @name: of the row
 * @period: us
 * @pause: us between two events, at most
 * @cnp: percent of the events that are CNPs
 * @loss: percent of the events that are losses; the others are packets that leave
 * @idle: now and then nothing happens for so many us
 */
struct cc_row {
	const char	*name;
	u32		period;
	u32		pause;
	u32		cnp;
	u32		loss;
	u32		idle;
};

static const struct cc_row cc_rows[] = {
	{ "few CNPs", 100, 200, 3, 0, 0 },
	{ "many CNPs", 100, 100, 50, 0, 0 },
	{ "losses", 100, 500, 0, 5, 0 },
	{ "both, long round trip", 3000, 2000, 10, 2, 0 },
	{ "idle times", 100, 100, 10, 1, 20000 },
	{ "longer idle times", 100, 100, 30, 1, 400000 },
};

static void cc_row_desc(const struct cc_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cc_row, cc_rows, cc_row_desc);

static void cc_compare(struct kunit *test, const struct weft_cc *cc, const struct cc_model *model)
{
	KUNIT_ASSERT_EQ(test, cc->rate, model->limited ? (u32)model->rate : 0);
	if (!model->limited)
		return;
	KUNIT_ASSERT_EQ(test, cc->target, (u32)model->target);
	KUNIT_ASSERT_EQ(test, cc->alpha, (u16)model->alpha);
	KUNIT_ASSERT_GE(test, cc->rate, WEFT_RPG_MIN_RATE);
}

static void rate_as_in_model(struct kunit *test)
{
	const struct cc_row *row = test->param_value;
	const struct weft_cc_path path = {
		.line = CC_LINE, .rate = CC_LINE / 2, .period = row->period,
	};
	struct cc_model model = {};
	struct weft_cc cc = {};
	struct rnd_state random;
	u32 i, pause, what, bytes, limited = 0;
	ktime_t now;

	prandom_seed_state(&random, CC_SEED);
	for (i = 0; i < CC_EVENTS; i++) {
		pause = prandom_u32_state(&random) % (row->pause + 1);
		if (row->idle && i % 40 == 39)
			pause += row->idle;
		while (pause--)
			model_tick(&model);
		now = ms_to_ktime(1) + model.now * NSEC_PER_USEC;
		what = prandom_u32_state(&random) % 100;
		if (what < row->cnp) {
			weft_dcqcn_congested(&cc, &path, now);
			model_cut(&model, &path, false);
		} else if (what < row->cnp + row->loss) {
			weft_dcqcn_lost(&cc, &path, now);
			model_cut(&model, &path, true);
		} else {
			bytes = prandom_u32_state(&random) % (2 << 20);
			weft_dcqcn_advance(&cc, &path, now);
			weft_dcqcn_sent(&cc, &path, bytes);
			model_sent(&model, bytes);
		}
		model.idle = 0;
		cc_compare(test, &cc, &model);
		limited += model.limited;
	}
	KUNIT_EXPECT_GT(test, limited, CC_EVENTS / 10);
}

/* However many CNPs come, the rate has a lower bound; without them the limit goes away. */
static void rate_is_bounded(struct kunit *test)
{
	const struct weft_cc_path path = {
		.line = CC_LINE, .rate = CC_LINE, .period = WEFT_DCE_TCP_RTT,
	};
	struct weft_cc cc = {};
	ktime_t now = ms_to_ktime(1);
	u32 i;

	for (i = 0; i < 1000; i++) {
		weft_dcqcn_congested(&cc, &path, now);
		KUNIT_ASSERT_GE(test, cc.rate, WEFT_RPG_MIN_RATE);
		now = ktime_add_us(now, WEFT_DCE_TCP_RTT);
	}
	KUNIT_EXPECT_EQ(test, cc.rate, WEFT_RPG_MIN_RATE);
	/* one increase by time */
	weft_dcqcn_advance(&cc, &path, ktime_add_us(now, 200));
	KUNIT_EXPECT_EQ(test, cc.time_stage, 1);
	weft_dcqcn_advance(&cc, &path, ktime_add_ms(now, 1000));
	KUNIT_EXPECT_EQ(test, cc.rate, 0);
}

/* ---- the packets ---- */

static struct fake_link *cc_create_as(struct kunit *test, enum ib_qp_type type)
{
	const struct fake_attr attr = { .type = type, .retry_cnt = 7, .max_wr = 8 };
	struct fake_link *link = fake_link_create(test, &attr, 1);
	u32 i;

	for (i = 0; i < FAKE_NODES; i++) {
		link->node[i].dev.cc = WEFT_CC_AUTO;
		link->node[i].dev.speed = CC_LINE / 1000;
	}
	return link;
}

static struct fake_link *cc_create(struct kunit *test)
{
	return cc_create_as(test, IB_QPT_RC);
}

static void cc_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/* Node 1 tells node 0 of congestion. */
static void cc_notify(struct fake_link *link)
{
	static const u8 nothing[WEFT_CNP_LENGTH];
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE_CNP,
		.becn = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
	};

	fake_link_deliver(&link->node[1], &hdr, nothing, sizeof(nothing));
	fake_link_run_halves(link);
}

static u64 cc_count(struct fake_link *link, u32 node, enum weft_stat stat)
{
	return weft_stats_sum(&link->node[node].dev, stat);
}

static void cnp_cuts_rate(struct kunit *test)
{
	static const enum ib_qp_type types[] = { IB_QPT_RC, IB_QPT_UC };
	struct weft_send *send;
	struct fake_link *link;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		link = cc_create_as(test, types[i]);
		send = &link->node[0].qp->send;
		cc_notify(link);
		KUNIT_EXPECT_EQ(test, cc_count(link, 0, WEFT_STAT_RP_CNP_HANDLED), 1);
		KUNIT_EXPECT_EQ(test, cc_count(link, 0, WEFT_STAT_RX_PACKETS), 1);
		/* half of it, and more with the time that has passed in reality */
		KUNIT_EXPECT_GE(test, send->pace.rate, CC_LINE / 2);
		KUNIT_EXPECT_LT(test, send->pace.rate, CC_LINE);
		KUNIT_EXPECT_TRUE(test, send->paced);
		/* an attribute that is lower stays */
		weft_pace_set(send, 1000, 0, FAKE_MTU);
		KUNIT_EXPECT_EQ(test, send->pace.rate, 1000);
		weft_pace_set(send, 0, 0, FAKE_MTU);
		KUNIT_EXPECT_EQ(test, send->pace.rate, send->cc.rate);
		fake_link_destroy(link);
		test->priv = NULL;
	}
}

static void cnp_with_cc_off(struct kunit *test)
{
	struct fake_link *link = cc_create(test);

	link->node[0].dev.cc = WEFT_CC_OFF;
	cc_notify(link);
	KUNIT_EXPECT_EQ(test, cc_count(link, 0, WEFT_STAT_RP_CNP_IGNORED), 1);
	KUNIT_EXPECT_EQ(test, cc_count(link, 0, WEFT_STAT_RP_CNP_HANDLED), 0);
	KUNIT_EXPECT_FALSE(test, link->node[0].qp->send.paced);
}

static void cnp_of_stranger(struct kunit *test)
{
	struct fake_link *link = cc_create(test);
	__be32 ip = link->node[1].ip;

	link->node[1].ip = htonl(0xc00002fe);
	cc_notify(link);
	link->node[1].ip = ip;
	KUNIT_EXPECT_EQ(test, cc_count(link, 0, WEFT_STAT_RX_WRONG_ADDRESS), 1);
	KUNIT_EXPECT_EQ(test, cc_count(link, 0, WEFT_STAT_RP_CNP_HANDLED), 0);
	KUNIT_EXPECT_FALSE(test, link->node[0].qp->send.paced);
}

/* Node 0 sends a WRITE of nothing, which arrives with this traffic class. */
static void cc_write(struct fake_link *link, u32 psn, u8 tos)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_WRITE_ONLY),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[1].qp->qpn,
		.psn = psn,
	};

	link->tos = tos;
	fake_link_deliver(&link->node[0], &hdr, NULL, 0);
	link->tos = 0;
	fake_link_run_halves(link);
}

/* A marked packet is answered by a CNP; another one soon after it is not. */
static void mark_causes_cnp(struct kunit *test)
{
	struct fake_link *link = cc_create(test);
	struct weft_qp *qp = link->node[1].qp;
	struct weft_pkt pkt;

	cc_write(link, 0, 2);
	KUNIT_EXPECT_FALSE(test, fake_link_take(link, &pkt));
	/* it waits for the one before it */
	cc_write(link, 2, 0xb8 | 3);
	KUNIT_ASSERT_TRUE(test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(test, pkt.hdr.opcode, 0x81);
	KUNIT_EXPECT_TRUE(test, pkt.hdr.becn);
	KUNIT_EXPECT_EQ(test, pkt.hdr.dqpn, link->node[0].qp->qpn);
	KUNIT_EXPECT_EQ(test, pkt.hdr.psn, 0);
	KUNIT_EXPECT_EQ(test, pkt.hdr.payload, 16);
	weft_pkt_free(&pkt);
	/* hours until the next one */
	atomic64_set(&qp->cnp_at, KTIME_MAX);
	cc_write(link, 1, 3);
	KUNIT_EXPECT_FALSE(test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(test, qp->recv.psn, 3);
	KUNIT_EXPECT_EQ(test, cc_count(link, 1, WEFT_STAT_NP_ECN_MARKED), 2);
	KUNIT_EXPECT_EQ(test, cc_count(link, 1, WEFT_STAT_NP_CNP_SENT), 1);
	/* none if the device says so */
	atomic64_set(&qp->cnp_at, 0);
	link->node[1].dev.cc = WEFT_CC_OFF;
	cc_write(link, 3, 3);
	KUNIT_EXPECT_FALSE(test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(test, cc_count(link, 1, WEFT_STAT_NP_ECN_MARKED), 3);
}

/* Congestion control is switched off while a limit holds: the limit ends with the next packet. */
static void off_ends_limit(struct kunit *test)
{
	struct fake_link *link = cc_create(test);
	struct weft_send *send = &link->node[0].qp->send;

	cc_notify(link);
	KUNIT_ASSERT_TRUE(test, send->paced);
	link->node[0].dev.cc = WEFT_CC_OFF;
	fake_link_write(link);
	KUNIT_EXPECT_EQ(test, send->cc.rate, 0);
	KUNIT_EXPECT_FALSE(test, send->paced);
	fake_link_settle(link);
}

/* Only the law for networks that tell of congestion takes no loss for it. */
static void loss_cuts_rate(struct kunit *test)
{
	static const enum weft_cc_mode modes[] = { WEFT_CC_AUTO, WEFT_CC_DCQCN };
	struct fake_link *link;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		link = cc_create(test);
		link->node[0].dev.cc = modes[i];
		fake_link_write(link);
		fake_link_lose(link);
		KUNIT_ASSERT_TRUE(test, fake_link_pass_time(link));
		fake_link_run_halves(link);
		KUNIT_EXPECT_EQ(test, !!link->node[0].qp->send.cc.rate,
				(modes[i] == WEFT_CC_DCQCN));
		fake_link_settle(link);
		fake_link_destroy(link);
		test->priv = NULL;
	}
}

/* It need not be a request. */
static void marked_answer_causes_cnp(struct kunit *test)
{
	struct fake_link *link = cc_create(test);

	fake_link_write(link);
	link->tos = 3;
	fake_link_arrive(link, skb_peek(&link->wire));
	fake_link_run_halves(link);
	link->tos = 0;
	KUNIT_ASSERT_NOT_NULL(test, skb_peek(&link->wire));
	fake_link_arrive(link, skb_peek(&link->wire));
	KUNIT_EXPECT_EQ(test, cc_count(link, 0, WEFT_STAT_NP_ECN_MARKED), 1);
	KUNIT_EXPECT_EQ(test, cc_count(link, 0, WEFT_STAT_NP_CNP_SENT), 1);
	fake_link_settle(link);
}

static struct kunit_case cc_cases[] = {
	KUNIT_CASE_PARAM(rate_as_in_model, cc_row_gen_params),
	KUNIT_CASE(rate_is_bounded),
	KUNIT_CASE(cnp_cuts_rate),
	KUNIT_CASE(cnp_with_cc_off),
	KUNIT_CASE(cnp_of_stranger),
	KUNIT_CASE(mark_causes_cnp),
	KUNIT_CASE(off_ends_limit),
	KUNIT_CASE(loss_cuts_rate),
	KUNIT_CASE(marked_answer_causes_cnp),
	{}
};

static struct kunit_suite cc_suite = {
	.name = "weft_cc",
	.exit = cc_exit,
	.test_cases = cc_cases,
};

kunit_test_suite(cc_suite);
