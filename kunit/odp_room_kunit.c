// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Room for pinned pages: what a user may take beside others, and how messages of one user make room
 * for each other.
 */
#include "mem/odp_pins.h"
#include "mem/odp_room.h"
#include "mem/region.h"
#include "user_memory.h"

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/mm.h>

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#define USERS		3
#define MOST		120
/* Pages of a message in these tests. */
#define PAGES		4
#define LENGTH		(PAGES * PAGE_SIZE)
/* Longer than a work item waits until it makes room again. */
#define QUIET_MS	400
/* How often a test looks, and the time between two looks. */
#define PATIENCE	500
#define LOOK_MS		20

struct message {
	struct weft_odp_pins	*holder;
	struct completion	done;
	bool			requested;
};

struct fixture {
	u32			most;	/* weft_odp_room_most of the module */
	struct weft_odp_room	room[USERS];
	struct weft_region_table table;
	int			pd;	/* only its address is used */
	struct weft_region	*region;	/* memory of the current process */
	struct weft_accessor	who;
	struct message		message[3];
};

static int room_test_init(struct kunit *test)
{
	struct fixture *fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, fixture);
	fixture->most = weft_odp_room_most;
	for (i = 0; i < USERS; i++)
		weft_odp_room_init(&fixture->room[i]);
	weft_region_table_init(&fixture->table);
	weft_odp_room_most = MOST;
	test->priv = fixture;
	return 0;
}

static void room_test_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	int i, line;

	for (i = 0; i < ARRAY_SIZE(fixture->message); i++) {
		weft_odp_pins_forget(fixture->message[i].holder);
		if (fixture->message[i].requested)
			wait_for_completion(&fixture->message[i].done);
	}
	for (i = 0; i < USERS; i++)
		for (line = 0; line < WEFT_ODP_LINES; line++)
			weft_odp_room_give(&fixture->room[i], line, fixture->room[i].pages[line]);
	weft_odp_room_most = fixture->most;
	if (fixture->region)
		weft_region_kill(fixture->region);
	weft_region_table_destroy(&fixture->table);
}

/* A message of a user, which does not wait if it finds no room. */
static bool take(struct weft_odp_room *room, u32 pages, bool second)
{
	struct weft_odp_ticket ticket;
	bool taken;

	weft_odp_ticket_init(&ticket, second ? WEFT_ODP_SECOND : WEFT_ODP_FIRST, pages);
	taken = weft_odp_room_take(room, &ticket);
	weft_odp_room_leave(room, &ticket);
	return taken;
}

/* How much the user can take, page by page. */
static u32 takes(struct weft_odp_room *room, bool second)
{
	u32 pages = 0;

	while (take(room, 1, second))
		pages++;
	return pages;
}

/* One alone has half, the next one half of the rest, and so on; and what is given back counts. */
static void room_test_shares(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_room *room = fixture->room;

	KUNIT_EXPECT_EQ(test, MOST / 2, takes(&room[0], false));
	KUNIT_EXPECT_EQ(test, MOST / 4, takes(&room[1], false));
	KUNIT_EXPECT_EQ(test, MOST / 8, takes(&room[2], false));
	weft_odp_room_give(&room[0], WEFT_ODP_FIRST, MOST / 2);
	/* 45 are taken: no user has more than is left then */
	KUNIT_EXPECT_EQ(test, (MOST - 45) / 2, takes(&room[0], false));
	KUNIT_EXPECT_EQ(test, 4U, takes(&room[1], false));
}

/* A user without pages gets those of a long message, while there are any. */
static void room_test_first(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_room *room = fixture->room;

	takes(&room[0], false);
	KUNIT_EXPECT_TRUE(test, take(&room[1], MOST, false));
	KUNIT_EXPECT_FALSE(test, take(&room[2], 1, false));
	KUNIT_EXPECT_FALSE(test, take(&room[1], 1, false));
	weft_odp_room_give(&room[1], WEFT_ODP_FIRST, MOST);
	KUNIT_EXPECT_FALSE(test, take(&room[0], 1, false));
	KUNIT_EXPECT_TRUE(test, take(&room[2], 1, false));
}

/* Second ends have as much room again, and take nobody's room of the other line. */
static void room_test_second(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_room *room = fixture->room;
	struct weft_odp_ticket ticket;

	weft_odp_ticket_init(&ticket, WEFT_ODP_FIRST, 1);
	KUNIT_EXPECT_EQ(test, MOST / 2, takes(&room[0], false));
	KUNIT_EXPECT_FALSE(test, weft_odp_room_take(&room[0], &ticket));
	KUNIT_EXPECT_EQ(test, MOST / 2, takes(&room[0], true));
	KUNIT_EXPECT_FALSE(test, take(&room[0], 1, true));
	KUNIT_EXPECT_EQ(test, MOST / 4, takes(&room[1], false));
	weft_odp_room_leave(&room[0], &ticket);
}

/* Messages of a user do not overtake each other, short ones no long one. */
static void room_test_order(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_room *room = fixture->room;
	struct weft_odp_ticket first, second;

	weft_odp_ticket_init(&first, WEFT_ODP_FIRST, 10);
	weft_odp_ticket_init(&second, WEFT_ODP_FIRST, 1);
	takes(&room[0], false);
	KUNIT_EXPECT_FALSE(test, weft_odp_room_take(&room[0], &first));
	KUNIT_EXPECT_FALSE(test, weft_odp_room_take(&room[0], &second));
	KUNIT_EXPECT_TRUE(test, weft_odp_room_is_next(&room[0], &first));
	weft_odp_room_give(&room[0], WEFT_ODP_FIRST, 5);
	KUNIT_EXPECT_FALSE(test, weft_odp_room_take(&room[0], &second));
	KUNIT_EXPECT_FALSE(test, weft_odp_room_take(&room[0], &first));
	/* another user has no part in it */
	KUNIT_EXPECT_TRUE(test, take(&room[1], 1, false));
	weft_odp_room_give(&room[1], WEFT_ODP_FIRST, 1);
	weft_odp_room_give(&room[0], WEFT_ODP_FIRST, 5);
	KUNIT_EXPECT_FALSE(test, weft_odp_room_take(&room[0], &second));
	KUNIT_EXPECT_TRUE(test, weft_odp_room_take(&room[0], &first));
	KUNIT_EXPECT_TRUE(test, weft_odp_room_is_next(&room[0], &second));
	weft_odp_room_give(&room[0], WEFT_ODP_FIRST, 1);
	KUNIT_EXPECT_TRUE(test, weft_odp_room_take(&room[0], &second));
}

static void room_test_short(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_room *room = fixture->room;

	KUNIT_EXPECT_FALSE(test, weft_odp_room_is_short(&room[0]));
	KUNIT_EXPECT_TRUE(test, take(&room[0], MOST / 3, false));
	KUNIT_EXPECT_FALSE(test, weft_odp_room_is_short(&room[0]));
	KUNIT_EXPECT_TRUE(test, take(&room[0], 1, false));
	KUNIT_EXPECT_TRUE(test, weft_odp_room_is_short(&room[0]));
	KUNIT_EXPECT_FALSE(test, weft_odp_room_is_short(&room[1]));
}

/* Give the test a process with memory, which is a region, and room for one message and a half. */
static void make_region(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_region *region;

	region = weft_region_alloc(&fixture->table, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	region->iova = map_user_memory(test, LENGTH);
	region->pd = &fixture->pd;
	region->access = IB_ACCESS_LOCAL_WRITE;
	region->length = LENGTH;
	region->mm = current->mm;
	region->blocks = WEFT_NO_BLOCKS;
	region->page_shift = WEFT_NO_BLOCKS_SHIFT;
	weft_region_publish(region);
	fixture->region = region;
	fixture->who.table = &fixture->table;
	fixture->who.pd = &fixture->pd;
	weft_odp_room_most = 2 * PAGES;
}

static void room_test_done(void *arg)
{
	complete_all(arg);
}

static struct weft_odp_pins *request(struct kunit *test, int i)
{
	struct fixture *fixture = test->priv;
	struct message *message = &fixture->message[i];
	struct weft_odp_pins *pins = weft_odp_pins_alloc(1);

	KUNIT_ASSERT_NOT_NULL(test, pins);
	init_completion(&message->done);
	message->requested = true;
	weft_odp_pins_add(pins, fixture->region, fixture->region->iova, LENGTH, true);
	weft_odp_pins_request(pins, &message->holder, room_test_done, &message->done);
	return pins;
}

/* Write to the first page, and keep the pages for the rest of the message. Return: the error. */
static int access(struct kunit *test, struct weft_odp_pins *pins)
{
	struct fixture *fixture = test->priv;
	u64 addr = fixture->region->iova, contiguous;
	struct weft_span span;
	int err;

	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve_odp(&fixture->who, fixture->region->key, addr,
							 LENGTH, IB_ACCESS_LOCAL_WRITE, &span));
	err = weft_odp_pins_attach(pins, &span, addr, 8, true);
	if (!err) {
		*(u8 *)weft_region_at(&span, addr, &contiguous) = 1;
		pins->keep = true;
	}
	weft_region_put(span.region);
	return err;
}

static bool is_done(struct kunit *test, int i)
{
	struct fixture *fixture = test->priv;

	return wait_for_completion_timeout(&fixture->message[i].done, 20 * HZ);
}

/* A message waits for one that has not used its pages, but takes them away when it has. */
static void room_test_messages(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *first, *second;

	make_region(test);
	first = request(test, 0);
	KUNIT_ASSERT_TRUE(test, is_done(test, 0));
	/* neither old nor too new */
	first->until = jiffies + 1000 * HZ;
	second = request(test, 1);
	msleep(QUIET_MS);
	KUNIT_EXPECT_FALSE(test, completion_done(&fixture->message[1].done));
	KUNIT_EXPECT_TRUE(test, weft_odp_pins_pending(second));
	KUNIT_EXPECT_EQ(test, PAGES, first->charged);
	KUNIT_EXPECT_EQ(test, 0, access(test, first));
	KUNIT_ASSERT_TRUE(test, is_done(test, 1));
	KUNIT_EXPECT_EQ(test, PAGES, second->charged);
	KUNIT_EXPECT_EQ(test, 0U, first->charged);
	/* the holder has to request the pages again */
	KUNIT_EXPECT_EQ(test, -EFAULT, access(test, first));
	KUNIT_EXPECT_EQ(test, 0, access(test, second));
}

/* A message that does not use its pages loses them after a while if another one waits. */
static void room_test_unused(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *first, *second;
	int i;

	make_region(test);
	first = request(test, 0);
	KUNIT_ASSERT_TRUE(test, is_done(test, 0));
	second = request(test, 1);
	for (i = 0; i < PATIENCE && !completion_done(&fixture->message[1].done); i++) {
		/* neither too new nor old, however long it takes */
		first->until = jiffies + HZ / 2;
		msleep(LOOK_MS);
	}
	KUNIT_EXPECT_LT(test, i, PATIENCE);
	KUNIT_ASSERT_TRUE(test, is_done(test, 1));
	KUNIT_EXPECT_TRUE(test, first->seen_fresh);
	KUNIT_EXPECT_EQ(test, 0U, first->charged);
	KUNIT_EXPECT_EQ(test, -EFAULT, access(test, first));
	KUNIT_EXPECT_EQ(test, 0, access(test, second));
}

/* A message that waits for room can be forgotten, and others do not wait for it. */
static void room_test_forget(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *first;

	make_region(test);
	first = request(test, 0);
	KUNIT_ASSERT_TRUE(test, is_done(test, 0));
	first->until = jiffies + 1000 * HZ;
	request(test, 1);
	msleep(QUIET_MS);
	KUNIT_EXPECT_FALSE(test, completion_done(&fixture->message[1].done));
	weft_odp_pins_forget(fixture->message[1].holder);
	KUNIT_EXPECT_TRUE(test, is_done(test, 1));
	weft_odp_pins_forget(fixture->message[0].holder);
	request(test, 2);
	KUNIT_EXPECT_TRUE(test, is_done(test, 2));
}

static struct kunit_case room_test_cases[] = {
	KUNIT_CASE(room_test_shares),
	KUNIT_CASE(room_test_first),
	KUNIT_CASE(room_test_second),
	KUNIT_CASE(room_test_order),
	KUNIT_CASE(room_test_short),
	KUNIT_CASE(room_test_messages),
	KUNIT_CASE(room_test_unused),
	KUNIT_CASE(room_test_forget),
	{}
};

static struct kunit_suite room_test_suite = {
	.name = "weft_odp_room",
	.init = room_test_init,
	.exit = room_test_exit,
	.test_cases = room_test_cases,
};

kunit_test_suite(room_test_suite);
