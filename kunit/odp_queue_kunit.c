// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ODP queues: how the threads are shared out among users and contexts.
 */
#include "mem/odp_queue.h"

#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/slab.h>

#include <kunit/test.h>

/* These follow from the limits in mem/odp_queue.c. */
#define ALL_HALF	256
#define USER_HALF	64
#define LONE_CONTEXT	32
#define LONE_PREFETCHES	2

#define ITEMS		1200
#define QUEUES		32

/* The time that work items may take to begin, and the time after which no more do. */
#define PATIENCE_MS	10000
#define QUIET_MS	100

/* A work item that is blocked until @fixture->go. */
struct stuck {
	struct weft_odp_work	item;
	struct fixture		*fixture;
};

struct fixture {
	struct completion	go;		/* lets work items end */
	atomic_t		begun;		/* number of work items that have begun */
	atomic_t		ended;		/* number of work items that have ended */
	struct weft_odp_queue	*queue[QUEUES];
	int			queues;		/* entries in use of @queue */
	struct stuck		*stuck;
	int			num;		/* entries in use of @stuck */
};

static void stuck_worker(struct work_struct *work)
{
	struct stuck *stuck = container_of(work, struct stuck, item.work);
	struct weft_odp_queue *queue = stuck->item.odp_queue;
	enum weft_odp_work_kind kind = stuck->item.kind;
	struct fixture *fixture = stuck->fixture;

	atomic_inc(&fixture->begun);
	wait_for_completion(&fixture->go);
	atomic_inc(&fixture->ended);
	weft_odp_queue_leave(queue, kind);
}

static int odp_queue_test_init(struct kunit *test)
{
	struct fixture *fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fixture);
	fixture->stuck = kunit_kcalloc(test, ITEMS, sizeof(*fixture->stuck), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture->stuck);
	init_completion(&fixture->go);
	test->priv = fixture;
	return 0;
}

static bool comes_to(const atomic_t *counter, int want)
{
	int i;

	for (i = 0; i < PATIENCE_MS && atomic_read(counter) < want; i += 20)
		msleep(20);
	return atomic_read(counter) == want;
}

static void odp_queue_test_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	int i;

	complete_all(&fixture->go);
	/* items that are still queued begin as others end */
	comes_to(&fixture->ended, fixture->num);
	KUNIT_EXPECT_EQ(test, fixture->num, atomic_read(&fixture->ended));
	for (i = 0; i < fixture->num; i++)
		flush_work(&fixture->stuck[i].item.work);
	for (i = 0; i < fixture->queues; i++)
		weft_odp_queue_put(fixture->queue[i]);
}

/* Create the queue of a context of user @uid. */
static struct weft_odp_queue *odp_queue_of(struct kunit *test, u32 uid)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_queue *queue;
	const struct cred *old;
	struct cred *new;

	KUNIT_ASSERT_LT(test, fixture->queues, QUEUES);
	new = prepare_creds();
	KUNIT_ASSERT_NOT_NULL(test, new);
	new->uid = KUIDT_INIT(uid);
	old = override_creds(new);
	queue = weft_odp_queue_create();
	revert_creds(old);
	put_cred(new);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	fixture->queue[fixture->queues++] = queue;
	return queue;
}

static struct stuck *fill(struct kunit *test, struct weft_odp_queue *queue,
			  enum weft_odp_work_kind kind, int num)
{
	struct fixture *fixture = test->priv;
	struct stuck *first = &fixture->stuck[fixture->num];
	int i;

	KUNIT_ASSERT_LE(test, fixture->num + num, ITEMS);
	for (i = 0; i < num; i++) {
		first[i].fixture = fixture;
		weft_odp_queue_add(queue, kind, &first[i].item, stuck_worker);
	}
	fixture->num += num;
	return first;
}

/* @want work items begin, and then no more do. */
static void expect_begun(struct kunit *test, int want)
{
	struct fixture *fixture = test->priv;

	comes_to(&fixture->begun, want);
	msleep(QUIET_MS);
	KUNIT_EXPECT_EQ(test, want, atomic_read(&fixture->begun));
}

/* No context takes more than it leaves to the others, and each gets at least one thread. */
static void odp_queue_test_contexts(struct kunit *test)
{
	int i, begun = LONE_CONTEXT;

	fill(test, odp_queue_of(test, 1000), WEFT_ODP_WORK_MESSAGES, 2 * LONE_CONTEXT);
	expect_begun(test, begun);
	fill(test, odp_queue_of(test, 1000), WEFT_ODP_WORK_MESSAGES, 2 * LONE_CONTEXT);
	begun += LONE_CONTEXT / 2;
	expect_begun(test, begun);
	for (i = 0; i < 10; i++) {
		fill(test, odp_queue_of(test, 1000), WEFT_ODP_WORK_MESSAGES, 1);
		expect_begun(test, ++begun);
	}
}

/* Wait until no more work items begin. Returns how many have begun. */
static int all_begun(const struct fixture *fixture)
{
	int last, begun = -1;

	do {
		last = begun;
		msleep(2 * QUIET_MS);
		begun = atomic_read(&fixture->begun);
	} while (begun != last);
	return begun;
}

/* Users with many contexts leave threads for other users. */
static void odp_queue_test_users(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	int i, begun;
	u32 user;

	for (user = 0; user < 6; user++)
		for (i = 0; i < 4; i++)
			fill(test, odp_queue_of(test, 1000 + user), WEFT_ODP_WORK_MESSAGES, 40);
	/* except for the first one of each user, the threads are of one half of all */
	begun = all_begun(fixture);
	KUNIT_EXPECT_GE(test, begun, 2 * USER_HALF);
	KUNIT_EXPECT_LE(test, begun, ALL_HALF + 6);
	fill(test, odp_queue_of(test, 2000), WEFT_ODP_WORK_MESSAGES, 1);
	expect_begun(test, begun + 1);
	fill(test, odp_queue_of(test, 2001), WEFT_ODP_WORK_MESSAGES, 1);
	expect_begun(test, begun + 2);
	/* kernel consumers get a thread, too */
	fill(test, NULL, WEFT_ODP_WORK_MESSAGES, 1);
	expect_begun(test, begun + 3);
}

static void odp_queue_test_prefetches(struct kunit *test)
{
	struct weft_odp_queue *queue = odp_queue_of(test, 1000);

	fill(test, queue, WEFT_ODP_WORK_PREFETCHES, 100);
	expect_begun(test, LONE_PREFETCHES);
	fill(test, queue, WEFT_ODP_WORK_MESSAGES, 1);
	expect_begun(test, LONE_PREFETCHES + 1);
	fill(test, queue, WEFT_ODP_WORK_RELEASES, 1);
	expect_begun(test, LONE_PREFETCHES + 2);
	fill(test, odp_queue_of(test, 1000), WEFT_ODP_WORK_PREFETCHES, 1);
	expect_begun(test, LONE_PREFETCHES + 3);
}

/* An item can be canceled while it waits, but not after it has begun. */
static void odp_queue_test_cancel(struct kunit *test)
{
	struct weft_odp_queue *queue = odp_queue_of(test, 1000);
	struct fixture *fixture = test->priv;
	struct stuck *stuck;
	int i;

	stuck = fill(test, queue, WEFT_ODP_WORK_MESSAGES, LONE_CONTEXT + 3);
	expect_begun(test, LONE_CONTEXT);
	KUNIT_EXPECT_FALSE(test, weft_odp_queue_cancel(&stuck[0].item, WEFT_ODP_WORK_MESSAGES));
	for (i = LONE_CONTEXT; i < LONE_CONTEXT + 3; i++) {
		/* not if it has ended, and waits for other work */
		KUNIT_ASSERT_FALSE(test, weft_odp_queue_cancel(&stuck[i].item,
							       WEFT_ODP_WORK_RELEASES));
		KUNIT_ASSERT_TRUE(test, weft_odp_queue_cancel(&stuck[i].item,
							      WEFT_ODP_WORK_MESSAGES));
		weft_odp_queue_drop(queue);
	}
	fixture->num -= 3;
	expect_begun(test, LONE_CONTEXT);
	/* the queue is empty, so a new item is the next one to begin */
	fill(test, queue, WEFT_ODP_WORK_MESSAGES, 1);
	expect_begun(test, LONE_CONTEXT);
	complete(&fixture->go);
	expect_begun(test, LONE_CONTEXT + 1);
}

static struct kunit_case odp_queue_test_cases[] = {
	KUNIT_CASE(odp_queue_test_contexts),
	KUNIT_CASE(odp_queue_test_users),
	KUNIT_CASE(odp_queue_test_prefetches),
	KUNIT_CASE(odp_queue_test_cancel),
	{}
};

static struct kunit_suite odp_queue_test_suite = {
	.name = "weft_odp_queue",
	.init = odp_queue_test_init,
	.exit = odp_queue_test_exit,
	.test_cases = odp_queue_test_cases,
};

kunit_test_suite(odp_queue_test_suite);
