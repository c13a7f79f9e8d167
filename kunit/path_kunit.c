// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A requester forgets the facts about a path with the path, whatever replaces it. */
#include "fake_link.h"

#include <kunit/test.h>

#include "engine/migration.h"
#include "engine/pace.h"
#include "engine/pkt.h"
#include "engine/requester.h"
#include "engine/window.h"
#include "params.h"
#include "verbs/qp.h"

#define PATH_RATE	50000U	/* kbit/s */
#define PATH_NS		(50 * NSEC_PER_MSEC)

struct path_case {
	const char	*name;
	void		(*change)(struct weft_qp *qp);
	/* an attribute of the QP, which modify_qp has set, outlives its path */
	bool		keeps_rate;
};

static void path_migrate(struct weft_qp *qp)
{
	struct ib_qp_attr alt = { .alt_timeout = 14, .alt_port_num = 1 };
	struct weft_av av = qp->av;

	av.dgid.raw[15]++;
	weft_migration_load(qp, &av, &alt);
	weft_migration_set(qp, IB_MIG_REARM);
	qp->migration.state = IB_MIG_ARMED;
	/* as modify_qp does */
	weft_migration_set(qp, IB_MIG_MIGRATED);
}

/* The peer has migrated: a packet comes by the other path, and a work item follows it. */
static void path_follow(struct weft_qp *qp)
{
	struct ib_qp_attr alt = { .alt_timeout = 14, .alt_port_num = 1 };
	struct weft_av av = qp->av;
	struct weft_pkt pkt = { .dgid = av.sgid, .hdr.migreq = true };

	av.dgid.raw[15]++;
	pkt.sgid = av.dgid;
	weft_migration_load(qp, &av, &alt);
	qp->migration.state = IB_MIG_ARMED;
	weft_migration_examine(qp, &pkt);
	weft_qp_hold(qp);
	qp->migration.work.func(&qp->migration.work);
}

static const struct path_case path_cases[] = {
	{ "migration by software", path_migrate, .keeps_rate = true },
	{ "migration of the peer", path_follow, .keeps_rate = true },
	{ "reset", weft_requester_reset },
};

static void path_case_desc(const struct path_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(path_case, path_cases, path_case_desc);

static void path_is_forgotten(struct kunit *test)
{
	const struct path_case *c = test->param_value;
	const struct fake_attr attr = { .type = IB_QPT_RC, .retry_cnt = 7, .max_wr = 4 };
	struct fake_link *link = fake_link_create(test, &attr, 1);
	struct weft_qp *qp = link->node[0].qp;
	struct weft_send *send = &qp->send;
	struct weft_window fresh;
	static const struct weft_cc none;
	u32 i;

	weft_window_init(&fresh, true);
	weft_pace_set(send, 2 * PATH_RATE, 0, qp->mtu);
	for (i = 0; i < 20; i++) {
		send->window.full = true;
		weft_window_measured(&send->window, PATH_NS);
	}
	send->retry.round_trip = PATH_NS;
	send->retry.measuring = true;
	send->retry.repair_due = 0;
	send->retry.backoff = 3;
	send->cc.rate = PATH_RATE;
	send->cc.target = PATH_RATE;
	weft_pace_limit(send, PATH_RATE, qp->mtu);
	KUNIT_ASSERT_EQ(test, send->window.packets, (u32)WEFT_LARGEST_WINDOW);
	KUNIT_ASSERT_EQ(test, send->pace.rate, PATH_RATE);
	c->change(qp);
	KUNIT_EXPECT_EQ(test, send->retry.round_trip, 0U);
	KUNIT_EXPECT_FALSE(test, send->retry.measuring);
	KUNIT_EXPECT_EQ(test, ktime_to_ns(send->retry.repair_due), KTIME_MAX);
	KUNIT_EXPECT_EQ(test, send->retry.backoff, 0);
	KUNIT_EXPECT_EQ(test, send->window.arrived, send->inflight.una);
	fresh.arrived = send->window.arrived;
	fresh.since = send->window.since;
	KUNIT_EXPECT_MEMEQ(test, &send->window, &fresh, sizeof(fresh));
	KUNIT_EXPECT_MEMEQ(test, &send->cc, &none, sizeof(none));
	KUNIT_EXPECT_EQ(test, send->pace.rate, c->keeps_rate ? 2 * PATH_RATE : 0U);
}

static void path_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

static struct kunit_case path_kunit_cases[] = {
	KUNIT_CASE_PARAM(path_is_forgotten, path_case_gen_params),
	{}
};

static struct kunit_suite path_suite = {
	.name = "weft_path",
	.exit = path_exit,
	.test_cases = path_kunit_cases,
};

kunit_test_suite(path_suite);
