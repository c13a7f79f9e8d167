// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * engine/migration.c: the effect of a packet, by the path that it comes on, and of the work item.
 */
#include "fake_link.h"

#include <kunit/test.h>
#include <net/ipv6.h>

#include "engine/migration.h"
#include "engine/path.h"

#define MIG_TIMEOUT	9

enum mig_path { OWN, OTHER, NEITHER };

/**
 * struct mig_case - a packet, and its effect
 * @state: enum ib_mig_state
 * @path: path that it comes on
 * @migreq: its MigReq bit
 * @verdict: what becomes of it
 * @then: state right after it
 * @moved: the QP is on the other path after the work item has run
 * @error: PATH_MIG_ERR is raised
 */
struct mig_case {
	u32			state;
	enum mig_path		path;
	bool			migreq;
	enum weft_path_verdict	verdict;
	u32			then;
	bool			moved;
	bool			error;
};

#define YES	WEFT_PATH_YES
#define NO	WEFT_PATH_NO
#define LATER	WEFT_PATH_LATER

static const struct mig_case mig_cases[] = {
	{ IB_MIG_MIGRATED, OWN, true, YES, IB_MIG_MIGRATED },
	{ IB_MIG_MIGRATED, OWN, false, YES, IB_MIG_MIGRATED },
	{ IB_MIG_MIGRATED, OTHER, true, NO, IB_MIG_MIGRATED },
	{ IB_MIG_MIGRATED, OTHER, false, NO, IB_MIG_MIGRATED },
	{ IB_MIG_MIGRATED, NEITHER, true, NO, IB_MIG_MIGRATED },
	{ IB_MIG_REARM, OWN, true, YES, IB_MIG_REARM },
	{ IB_MIG_REARM, OWN, false, YES, IB_MIG_ARMED },
	{ IB_MIG_REARM, OTHER, true, LATER, IB_MIG_REARM, .moved = true },
	{ IB_MIG_REARM, OTHER, false, YES, IB_MIG_ARMED },
	{ IB_MIG_REARM, NEITHER, true, NO, IB_MIG_REARM },
	{ IB_MIG_REARM, NEITHER, false, NO, IB_MIG_REARM },
	{ IB_MIG_ARMED, OWN, true, YES, IB_MIG_ARMED },
	{ IB_MIG_ARMED, OWN, false, YES, IB_MIG_ARMED },
	{ IB_MIG_ARMED, OTHER, true, LATER, IB_MIG_ARMED, .moved = true },
	{ IB_MIG_ARMED, OTHER, false, YES, IB_MIG_ARMED },
	{ IB_MIG_ARMED, NEITHER, true, NO, IB_MIG_ARMED, .error = true },
	{ IB_MIG_ARMED, NEITHER, false, NO, IB_MIG_ARMED },
};

static void mig_gid(union ib_gid *gid, u32 ip)
{
	ipv6_addr_set_v4mapped(htonl(ip), (struct in6_addr *)gid->raw);
}

static struct weft_av mig_other_av(void)
{
	struct weft_av av = {};

	mig_gid(&av.sgid, 0xc6336401); /* RFC 5737 */
	mig_gid(&av.dgid, 0xc6336402);
	return av;
}

static struct fake_link *mig_create(struct kunit *test)
{
	struct fake_attr attr = {
		.type = IB_QPT_RC, .retry_cnt = 1, .max_rd_atomic = 1, .max_wr = 4,
	};
	struct ib_qp_attr alt = { .alt_timeout = MIG_TIMEOUT, .alt_port_num = 1 };
	struct fake_link *link = fake_link_create(test, &attr, 1);
	struct weft_av av = mig_other_av();

	weft_migration_load(link->node[0].qp, &av, &alt);
	return link;
}

static struct weft_pkt mig_packet(const struct weft_qp *qp, enum mig_path path, bool migreq)
{
	struct weft_av other = mig_other_av();
	const struct weft_av *av = path == OWN ? &qp->av : &other;
	struct weft_pkt pkt = { .sgid = av->dgid, .dgid = av->sgid };

	if (path == NEITHER)
		pkt.sgid.raw[15] ^= 0x80;
	pkt.hdr.migreq = migreq;
	return pkt;
}

static void mig_work(struct weft_qp *qp)
{
	weft_qp_hold(qp);
	qp->migration.work.func(&qp->migration.work);
}

static void mig_expect_path(struct kunit *test, const struct weft_qp *qp, bool moved)
{
	struct weft_av other = mig_other_av();
	bool there = !memcmp(&qp->av.dgid, &other.dgid, sizeof(other.dgid));

	KUNIT_EXPECT_EQ(test, there, moved);
	if (!moved)
		return;
	KUNIT_EXPECT_EQ(test, qp->migration.state, (u32)IB_MIG_MIGRATED);
	KUNIT_EXPECT_EQ(test, (int)qp->send.retry.timeout, MIG_TIMEOUT);
	KUNIT_EXPECT_FALSE(test, qp->migration.loaded);
}

static void packet_by_path(struct kunit *test)
{
	const struct mig_case *c;
	struct fake_node *node;
	struct fake_link *link;
	struct weft_pkt pkt;
	u32 i, again;

	for (i = 0; i < ARRAY_SIZE(mig_cases); i++) {
		c = &mig_cases[i];
		kunit_info(test, "case %u\n", i);
		link = mig_create(test);
		node = &link->node[0];
		node->qp->migration.state = c->state;
		for (again = 0; again < 2; again++) {
			pkt = mig_packet(node->qp, c->path, c->migreq);
			KUNIT_EXPECT_EQ(test, (int)weft_migration_examine(node->qp, &pkt),
					(int)c->verdict);
		}
		KUNIT_EXPECT_EQ(test, node->qp->migration.state, c->then);
		KUNIT_EXPECT_EQ(test, node->events[IB_EVENT_PATH_MIG_ERR], (u32)c->error);
		mig_work(node->qp);
		mig_expect_path(test, node->qp, c->moved);
		KUNIT_EXPECT_EQ(test, node->events[IB_EVENT_PATH_MIG], (u32)c->moved);
		test->priv = NULL;
		fake_link_destroy(link);
	}
}

/*
 * Packets that come by the path which the QP has left are accepted until an alternate path is
 * loaded.
 */
static void path_left_behind(struct kunit *test)
{
	struct fake_link *link = mig_create(test);
	struct weft_qp *qp = link->node[0].qp;
	struct weft_pkt pkt = mig_packet(qp, OWN, false);
	struct ib_qp_attr alt = { .alt_port_num = 1 };
	struct weft_av av = mig_other_av();

	qp->migration.state = IB_MIG_ARMED;
	weft_migration_set(qp, IB_MIG_MIGRATED);
	mig_expect_path(test, qp, true);
	mig_work(qp);
	KUNIT_EXPECT_EQ(test, link->node[0].events[IB_EVENT_PATH_MIG], 1);
	KUNIT_EXPECT_EQ(test, (int)weft_migration_examine(qp, &pkt), (int)YES);
	KUNIT_EXPECT_EQ(test, qp->migration.state, (u32)IB_MIG_MIGRATED);
	av.dgid.raw[15]++;
	weft_migration_load(qp, &av, &alt);
	KUNIT_EXPECT_EQ(test, (int)weft_migration_examine(qp, &pkt), (int)NO);
}

static void allowed_of_software(struct kunit *test)
{
	struct fake_link *link = mig_create(test);
	struct weft_qp *qp = link->node[0].qp;
	u32 state;

	for (state = IB_MIG_MIGRATED; state <= IB_MIG_ARMED; state++) {
		qp->migration.state = state;
		KUNIT_EXPECT_TRUE(test, weft_migration_allows(qp, IB_MIG_REARM, false));
		KUNIT_EXPECT_FALSE(test, weft_migration_allows(qp, IB_MIG_ARMED, true));
		KUNIT_EXPECT_FALSE(test, weft_migration_allows(qp, 3, true));
		KUNIT_EXPECT_EQ(test, weft_migration_allows(qp, IB_MIG_MIGRATED, false),
				state != IB_MIG_REARM);
	}
	qp->migration.state = IB_MIG_MIGRATED;
	qp->migration.loaded = false;
	KUNIT_EXPECT_FALSE(test, weft_migration_allows(qp, IB_MIG_REARM, false));
	KUNIT_EXPECT_TRUE(test, weft_migration_allows(qp, IB_MIG_REARM, true));
}

static void mig_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/* Two QPs of the local link compare their paths once, until one of them changes. */
static void meeting_is_remembered(struct kunit *test)
{
	struct fake_link *link = mig_create(test);
	struct weft_qp *qp = link->node[0].qp, *peer = link->node[1].qp;

	KUNIT_EXPECT_NE(test, qp->send.met, peer->path);
	KUNIT_EXPECT_EQ(test, (int)weft_migration_meeting(qp, peer), (int)YES);
	KUNIT_EXPECT_EQ(test, qp->send.met, peer->path);
	KUNIT_EXPECT_NE(test, peer->send.met, qp->path);

	weft_migration_set(qp, IB_MIG_REARM);
	KUNIT_EXPECT_NE(test, qp->send.met, peer->path);
	KUNIT_EXPECT_EQ(test, (int)weft_migration_meeting(qp, peer), (int)YES);
	KUNIT_EXPECT_NE(test, qp->send.met, peer->path);
	qp->migration.state = IB_MIG_MIGRATED;

	KUNIT_EXPECT_EQ(test, (int)weft_migration_meeting(qp, peer), (int)YES);
	KUNIT_EXPECT_EQ(test, qp->send.met, peer->path);
	weft_path_forget(peer);
	peer->av.dgid.raw[15] ^= 1;
	KUNIT_EXPECT_EQ(test, (int)weft_migration_meeting(qp, peer), (int)NO);
	KUNIT_EXPECT_NE(test, qp->send.met, peer->path);
	test->priv = NULL;
	fake_link_destroy(link);
}

static struct kunit_case mig_kunit_cases[] = {
	KUNIT_CASE(packet_by_path),
	KUNIT_CASE(meeting_is_remembered),
	KUNIT_CASE(path_left_behind),
	KUNIT_CASE(allowed_of_software),
	{}
};

static struct kunit_suite mig_suite = {
	.name = "weft_migration",
	.exit = mig_exit,
	.test_cases = mig_kunit_cases,
};

kunit_test_suite(mig_suite);
