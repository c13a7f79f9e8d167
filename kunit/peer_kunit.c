// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fabric/peer.c: two nodes that hear each other, or not, agree on a cable.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/prandom.h>

#include "fabric/peer.h"
#include "params.h"

#define PEER_SEED	0x70656572

/* Any time, and close to where jiffies wrap. */
#define PEER_NOW	((unsigned long)-5)

/* Two nodes, 0 and 1: what each knows of the other. */
struct peer_pair {
	struct weft_peer	peer[2];
	unsigned long		now;
};

static const u8 peer_mac[2][ETH_ALEN] = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 } };

/* What node @from says now. */
static struct weft_peer_note peer_note(const struct peer_pair *pair, u32 from)
{
	struct weft_peer_note note = {
		.frame = {
			.type = WEFT_FRAME_HELLO, .nonce = pair->peer[from].nonce,
			.heard = pair->peer[from].heard,
		},
		.hello = { .guid = cpu_to_be64(0x100 + from), .max_frame = 1500 },
	};

	ether_addr_copy(note.from.mac, peer_mac[from]);
	return note;
}

/* It is heard; the cable is plugged in and pulled out as is to be done. */
static u32 peer_hear(struct peer_pair *pair, u32 by, const struct weft_peer_note *note)
{
	u32 actions = weft_peer_hear(&pair->peer[by], note, pair->now);

	if (actions & WEFT_PEER_PLUG)
		pair->peer[by].up = true;
	return actions;
}

static u32 peer_say(struct peer_pair *pair, u32 from)
{
	struct weft_peer_note note = peer_note(pair, from);

	return peer_hear(pair, !from, &note);
}

static void peer_meet(struct peer_pair *pair)
{
	struct weft_peer_note note;
	u32 by;

	for (by = 0; by < 2; by++) {
		note = peer_note(pair, !by);
		weft_peer_init(&pair->peer[by], &note, pair->now);
	}
}

static void peer_connect(struct kunit *test, struct peer_pair *pair)
{
	pair->now = PEER_NOW;
	peer_meet(pair);
	peer_say(pair, 0);
	peer_say(pair, 1);
	peer_say(pair, 0);
	KUNIT_ASSERT_TRUE(test, pair->peer[0].up && pair->peer[1].up);
}

/* Until both are up again, however often each of them says something. */
static void peer_reconnect(struct kunit *test, struct peer_pair *pair)
{
	u32 i;

	for (i = 0; i < 6 && !(pair->peer[0].up && pair->peer[1].up); i++)
		peer_say(pair, i % 2);
	KUNIT_EXPECT_TRUE(test, pair->peer[0].up && pair->peer[1].up);
	KUNIT_EXPECT_EQ(test, pair->peer[0].heard, pair->peer[1].nonce);
	KUNIT_EXPECT_EQ(test, pair->peer[1].heard, pair->peer[0].nonce);
}

static void three_hellos(struct kunit *test)
{
	struct peer_pair pair = { .now = PEER_NOW };

	peer_meet(&pair);
	KUNIT_EXPECT_NE(test, pair.peer[0].nonce, 0U);
	KUNIT_EXPECT_EQ(test, peer_say(&pair, 0), WEFT_PEER_REPLY);
	KUNIT_EXPECT_EQ(test, peer_say(&pair, 1), WEFT_PEER_REPLY | WEFT_PEER_PLUG);
	KUNIT_EXPECT_EQ(test, peer_say(&pair, 0), WEFT_PEER_PLUG);
	/* there is nothing more to say */
	KUNIT_EXPECT_EQ(test, peer_say(&pair, 1), 0U);
	KUNIT_EXPECT_EQ(test, peer_say(&pair, 0), 0U);
}

/* Who is heard only, or hears only, gets no cable. */
static void one_way_is_no_cable(struct kunit *test)
{
	struct peer_pair pair = { .now = PEER_NOW };
	u32 i;

	peer_meet(&pair);
	peer_say(&pair, 0);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, peer_say(&pair, 0), 0U);
	KUNIT_EXPECT_FALSE(test, pair.peer[0].up || pair.peer[1].up);
}

static void hello_to_all_is_a_sign_of_life(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note note;

	peer_connect(test, &pair);
	pair.now += msecs_to_jiffies(WEFT_HELLO_DEAD_MS) + 1;
	note = peer_note(&pair, 0);
	note.frame.nonce = 0;
	note.frame.heard = 0;
	KUNIT_EXPECT_EQ(test, peer_hear(&pair, 1, &note), 0U);
	/* but not one that it hears us */
	KUNIT_EXPECT_EQ(test, weft_peer_check(&pair.peer[1], pair.now),
			WEFT_PEER_PULL | WEFT_PEER_REPLY);
}

static void silence(struct kunit *test)
{
	struct peer_pair pair;
	u32 nonce;

	peer_connect(test, &pair);
	nonce = pair.peer[0].nonce;
	pair.now += msecs_to_jiffies(WEFT_HELLO_DEAD_MS);
	KUNIT_EXPECT_EQ(test, weft_peer_check(&pair.peer[0], pair.now), 0U);
	pair.now++;
	KUNIT_EXPECT_EQ(test, weft_peer_check(&pair.peer[0], pair.now),
			WEFT_PEER_PULL | WEFT_PEER_FORGET | WEFT_PEER_REPLY);
	KUNIT_EXPECT_FALSE(test, pair.peer[0].up);
	KUNIT_EXPECT_NE(test, pair.peer[0].nonce, nonce);
}

/* One end alone has pulled the cable out: the other one learns of it. */
static void pulled_at_one_end(struct kunit *test)
{
	struct peer_pair pair;
	u32 actions;

	peer_connect(test, &pair);
	weft_peer_down(&pair.peer[0]);
	/* it does not know yet, and what it says is of the old cable */
	KUNIT_EXPECT_EQ(test, peer_say(&pair, 1), 0U);
	KUNIT_EXPECT_EQ(test, pair.peer[0].heard, 0U);
	actions = peer_say(&pair, 0);
	KUNIT_EXPECT_EQ(test, actions, WEFT_PEER_PULL | WEFT_PEER_REPLY);
	KUNIT_EXPECT_FALSE(test, pair.peer[1].up);
	peer_reconnect(test, &pair);
}

static void pulled_at_both_ends(struct kunit *test)
{
	struct peer_pair pair;

	peer_connect(test, &pair);
	weft_peer_down(&pair.peer[0]);
	weft_peer_down(&pair.peer[1]);
	peer_reconnect(test, &pair);
}

static void restart(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note note;

	peer_connect(test, &pair);
	note = peer_note(&pair, 1);
	weft_peer_init(&pair.peer[0], &note, pair.now);
	KUNIT_EXPECT_EQ(test, peer_say(&pair, 0), WEFT_PEER_PULL | WEFT_PEER_REPLY);
	peer_reconnect(test, &pair);
}

static void late_hello_is_no_restart(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note late;

	peer_connect(test, &pair);
	late = peer_note(&pair, 0);
	weft_peer_down(&pair.peer[0]);
	peer_reconnect(test, &pair);
	KUNIT_EXPECT_EQ(test, peer_hear(&pair, 1, &late), 0U);
	KUNIT_EXPECT_TRUE(test, pair.peer[1].up);
}

static void bye(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note note;

	peer_connect(test, &pair);
	note = peer_note(&pair, 0);
	note.frame.type = WEFT_FRAME_BYE;
	note.frame.heard++;
	KUNIT_EXPECT_EQ(test, peer_hear(&pair, 1, &note), 0U);
	note.frame.heard--;
	note.frame.nonce++;
	KUNIT_EXPECT_EQ(test, peer_hear(&pair, 1, &note), 0U);
	note.frame.nonce--;
	KUNIT_EXPECT_EQ(test, peer_hear(&pair, 1, &note), WEFT_PEER_PULL | WEFT_PEER_FORGET);
}

static void other_mac_is_not_heard(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note note;

	peer_connect(test, &pair);
	note = peer_note(&pair, 0);
	note.frame.nonce++;
	note.frame.heard = 0;
	note.from.mac[0] ^= 4;
	KUNIT_EXPECT_EQ(test, peer_hear(&pair, 1, &note), 0U);
	KUNIT_EXPECT_TRUE(test, pair.peer[1].up);
}

/* Alive, but it has another one: its port may be given to somebody else, in time. */
static void waiting_in_vain(struct kunit *test)
{
	unsigned long dead = msecs_to_jiffies(WEFT_HELLO_DEAD_MS);
	struct peer_pair pair = { .now = PEER_NOW };
	u32 nonce;

	peer_meet(&pair);
	for (nonce = 1; nonce < 4 * WEFT_HELLO_DEAD_MS; nonce++) {
		pair.peer[0].nonce = nonce;
		KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(&pair.peer[0], pair.now));
		KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(&pair.peer[0], pair.now + dead));
		KUNIT_EXPECT_TRUE(test,
				  weft_peer_is_vain(&pair.peer[0], pair.now + 2 * dead + 1));
	}
	/* not all at the same time */
	pair.now += dead + dead / 2;
	pair.peer[0].nonce = WEFT_HELLO_DEAD_MS;
	KUNIT_EXPECT_TRUE(test, weft_peer_is_vain(&pair.peer[0], pair.now));
	pair.peer[0].nonce = WEFT_HELLO_DEAD_MS - 1;
	KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(&pair.peer[0], pair.now));
}

static void cable_is_not_vain(struct kunit *test)
{
	unsigned long dead = msecs_to_jiffies(WEFT_HELLO_DEAD_MS);
	struct peer_pair pair;

	peer_connect(test, &pair);
	KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(&pair.peer[0], pair.now + 3 * dead));
	weft_peer_down(&pair.peer[0]);
	KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(&pair.peer[0], pair.now + dead));
	KUNIT_EXPECT_TRUE(test, weft_peer_is_vain(&pair.peer[0], pair.now + 3 * dead));
}

/* Both think the same of the cable, or one of them learns that it is wrong. */
static bool peer_agree(const struct peer_pair *pair)
{
	return pair->peer[0].up && pair->peer[1].up &&
	       pair->peer[0].heard == pair->peer[1].nonce &&
	       pair->peer[1].heard == pair->peer[0].nonce;
}

/*
 * HELLOs that get lost, or come late, and ends that pull the cable out for no reason:
 * as soon as they leave that off, a few HELLOs are enough.
 */
static void they_always_agree(struct kunit *test)
{
	struct weft_peer_note late[2];
	struct peer_pair pair;
	struct rnd_state rnd;
	u32 i, j, from;

	prandom_seed_state(&rnd, PEER_SEED);
	peer_connect(test, &pair);
	late[0] = peer_note(&pair, 0);
	late[1] = peer_note(&pair, 1);
	for (i = 0; i < 1000; i++) {
		for (j = 0; j < 20; j++) {
			from = prandom_u32_state(&rnd) % 2;
			if (prandom_u32_state(&rnd) % 8 == 0)
				weft_peer_down(&pair.peer[from]);
			if (prandom_u32_state(&rnd) % 4 == 0)
				late[from] = peer_note(&pair, from);
			if (prandom_u32_state(&rnd) % 4 == 0)
				peer_hear(&pair, !from, &late[from]);
			if (prandom_u32_state(&rnd) % 2)
				peer_say(&pair, from);
		}
		for (j = 0; j < 6 && !peer_agree(&pair); j++)
			peer_say(&pair, j % 2);
		KUNIT_ASSERT_TRUE(test, peer_agree(&pair));
	}
}

static struct kunit_case peer_cases[] = {
	KUNIT_CASE(three_hellos),
	KUNIT_CASE(one_way_is_no_cable),
	KUNIT_CASE(hello_to_all_is_a_sign_of_life),
	KUNIT_CASE(silence),
	KUNIT_CASE(pulled_at_one_end),
	KUNIT_CASE(pulled_at_both_ends),
	KUNIT_CASE(restart),
	KUNIT_CASE(late_hello_is_no_restart),
	KUNIT_CASE(bye),
	KUNIT_CASE(other_mac_is_not_heard),
	KUNIT_CASE(waiting_in_vain),
	KUNIT_CASE(cable_is_not_vain),
	KUNIT_CASE(they_always_agree),
	{}
};

static struct kunit_suite peer_suite = {
	.name = "weft_peer",
	.test_cases = peer_cases,
};

kunit_test_suite(peer_suite);
