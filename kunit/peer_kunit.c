// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of fabric/peer.c: two nodes agree on a cable, while frames between them may get lost. A
 * third party can send with the address of either node, but does not receive what is sent to that
 * address.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/prandom.h>
#include <linux/random.h>

#include "fabric/peer.h"
#include "params.h"

#define PEER_SEED	0x70656572

/* Arbitrary, but shortly before jiffies wrap. */
#define PEER_NOW	((unsigned long)-5)
/* One HELLO causes fewer than these from both nodes. */
#define PEER_TALK	10

struct peer_node {
	siphash_key_t		key;	/* for weft_peer_first_nonce() */
	bool			known;	/* it has an entry of the other node, @peer */
	struct weft_peer	peer;
	bool			deaf;	/* it receives nothing */
};

struct peer_pair {
	struct peer_node	node[2];
	unsigned long		now;	/* jiffies */
	u32			said;	/* HELLOs since peer_say() */
};

static const u8 peer_mac[2][ETH_ALEN] = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 } };

static struct weft_underlay_addr peer_addr(u32 of)
{
	struct weft_underlay_addr addr = {};

	ether_addr_copy(addr.mac, peer_mac[of]);
	return addr;
}

/* The nonce of node @from for the other node. */
static u32 peer_nonce(const struct peer_pair *pair, u32 from)
{
	const struct peer_node *node = &pair->node[from];
	struct weft_underlay_addr addr = peer_addr(!from);

	return node->known ? node->peer.nonce : weft_peer_first_nonce(&node->key, &addr);
}

/* A HELLO from the address of node @from. */
static struct weft_peer_note peer_note_of(u32 from, u32 nonce, u32 heard)
{
	return (struct weft_peer_note) {
		.frame = { .type = WEFT_FRAME_HELLO, .nonce = nonce, .heard = heard },
		.hello = { .guid = cpu_to_be64(0x100 + from), .max_frame = 1500 },
		.from = peer_addr(from),
	};
}

/* The HELLO that @from sends now: to the other node, or to all if it does not know that. */
static struct weft_peer_note peer_note(const struct peer_pair *pair, u32 from)
{
	const struct peer_node *node = &pair->node[from];

	return node->known ? peer_note_of(from, node->peer.nonce, node->peer.heard) :
			     peer_note_of(from, 0, 0);
}

static void peer_hear(struct peer_pair *pair, u32 by, const struct weft_peer_note *note);

/* Process a HELLO as an uplink does. */
static u32 peer_take(struct peer_pair *pair, u32 by, const struct weft_peer_note *note)
{
	struct peer_node *node = &pair->node[by];
	u32 actions;

	if (!node->known)
		weft_peer_init(&node->peer, note, pair->now);
	node->known = true;
	actions = weft_peer_hear(&node->peer, note, pair->now);
	if (actions & WEFT_PEER_FORGET) {
		get_random_bytes(&node->key, sizeof(node->key));
		node->known = false;
		node->peer.up = false;
	}
	if (actions & WEFT_PEER_PLUG)
		node->peer.up = true;
	return actions;
}

static void peer_reply(struct peer_pair *pair, u32 from, const struct weft_peer_note *note,
		       enum weft_peer_verdict verdict, u32 actions)
{
	struct weft_peer_note reply = peer_note(pair, from);

	if (verdict == WEFT_PEER_ANSWER) {
		reply = peer_note_of(from, peer_nonce(pair, from), note->frame.nonce);
		reply.hello.answer = true;
	} else if (!(actions & (WEFT_PEER_REPLY | WEFT_PEER_PLUG))) {
		return;
	}
	peer_hear(pair, !from, &reply);
}

/* Node @by hears a HELLO and replies, the other one replies to that, and so on. */
static void peer_hear(struct peer_pair *pair, u32 by, const struct weft_peer_note *note)
{
	enum weft_peer_verdict verdict = WEFT_PEER_TAKE;
	struct peer_node *node = &pair->node[by];
	struct weft_peer *peer = node->known ? &node->peer : NULL;
	u32 actions = 0;

	pair->said++;
	if (node->deaf)
		return;
	/* otherwise it has the nonces of the cable */
	if (!peer || !peer->up || note->frame.nonce != peer->heard ||
	    note->frame.heard != peer->nonce)
		verdict = weft_peer_judge(peer, &note->frame, peer_nonce(pair, by), pair->now);
	if (verdict == WEFT_PEER_TAKE)
		actions = peer_take(pair, by, note);
	peer_reply(pair, by, note, verdict, actions);
}

static u32 peer_say(struct peer_pair *pair, u32 from)
{
	struct weft_peer_note note = peer_note(pair, from);

	pair->said = 0;
	peer_hear(pair, !from, &note);
	return pair->said;
}

/* Start a node, or restart it. */
static void peer_start(struct peer_pair *pair, u32 which)
{
	pair->node[which] = (struct peer_node) {};
	get_random_bytes(&pair->node[which].key, sizeof(pair->node[which].key));
}

static bool peer_is_up(const struct peer_pair *pair, u32 which)
{
	return pair->node[which].known && pair->node[which].peer.up;
}

/* Do both nodes have the same cable? */
static bool peer_agree(const struct peer_pair *pair)
{
	const struct weft_peer *one = &pair->node[0].peer, *other = &pair->node[1].peer;

	return peer_is_up(pair, 0) && peer_is_up(pair, 1) &&
	       one->heard == other->nonce && other->heard == one->nonce;
}

static void peer_meet(struct peer_pair *pair)
{
	pair->now = PEER_NOW;
	pair->said = 0;
	peer_start(pair, 0);
	peer_start(pair, 1);
}

static void peer_connect(struct kunit *test, struct peer_pair *pair)
{
	peer_meet(pair);
	peer_say(pair, 0);
	KUNIT_ASSERT_TRUE(test, peer_agree(pair));
}

/* The nodes get a cable again after a few HELLOs, which cause a limited number of others. */
static void peer_reconnect(struct kunit *test, struct peer_pair *pair)
{
	u32 i;

	for (i = 0; i < 4 && !peer_agree(pair); i++)
		KUNIT_EXPECT_LT(test, peer_say(pair, i % 2), PEER_TALK);
	KUNIT_EXPECT_TRUE(test, peer_agree(pair));
}

/* Let time pass without a HELLO, and check the other node as an uplink does. */
static u32 peer_check_after(struct peer_pair *pair, u32 which, unsigned long time)
{
	u32 actions;

	pair->now += time;
	actions = weft_peer_check(&pair->node[which].peer, pair->now);
	if (actions & WEFT_PEER_FORGET)
		pair->node[which].known = false;
	return actions;
}

static unsigned long peer_dead(void)
{
	return msecs_to_jiffies(WEFT_HELLO_DEAD_MS);
}

static void one_word_is_enough(struct kunit *test)
{
	struct peer_pair pair = {};
	u32 from;

	for (from = 0; from < 2; from++) {
		peer_meet(&pair);
		KUNIT_EXPECT_LT(test, peer_say(&pair, from), PEER_TALK);
		KUNIT_EXPECT_TRUE(test, peer_agree(&pair));
		KUNIT_EXPECT_NE(test, pair.node[0].peer.nonce, 0U);
		/* a HELLO needs no reply any more */
		KUNIT_EXPECT_EQ(test, peer_say(&pair, 0), 1U);
		KUNIT_EXPECT_EQ(test, peer_say(&pair, 1), 1U);
	}
}

/* An older node begins with its nonce, and does not know of answers. */
static void older_node(struct kunit *test)
{
	struct peer_pair pair = {};
	struct weft_peer_note note;

	peer_meet(&pair);
	note = peer_note_of(0, 77, 0);
	pair.node[0].deaf = true;
	peer_hear(&pair, 1, &note);
	KUNIT_EXPECT_FALSE(test, pair.node[1].known);
	note = peer_note_of(0, 77, peer_nonce(&pair, 1));
	peer_hear(&pair, 1, &note);
	KUNIT_EXPECT_TRUE(test, peer_is_up(&pair, 1));
	KUNIT_EXPECT_EQ(test, pair.node[1].peer.heard, 77U);
}

/* If only one node hears the other one, neither gets an entry. */
static void one_way_is_no_cable(struct kunit *test)
{
	struct peer_pair pair = {};
	u32 i;

	peer_meet(&pair);
	pair.node[0].deaf = true;
	for (i = 0; i < 10; i++) {
		peer_say(&pair, i % 2);
		KUNIT_EXPECT_FALSE(test, pair.node[0].known || pair.node[1].known);
	}
}

/* Answers are short, and no proof that long frames get through. */
static void answers_are_no_cable(struct kunit *test)
{
	struct peer_pair pair = {};
	struct weft_peer_note note;
	u32 i;

	peer_meet(&pair);
	pair.node[0].deaf = true;
	for (i = 0; i < 10; i++) {
		note = peer_note_of(0, 77, peer_nonce(&pair, 1));
		note.hello.answer = true;
		peer_hear(&pair, 1, &note);
	}
	KUNIT_EXPECT_TRUE(test, pair.node[1].known);
	KUNIT_EXPECT_FALSE(test, peer_is_up(&pair, 1));
	note.hello.answer = false;
	peer_hear(&pair, 1, &note);
	KUNIT_EXPECT_TRUE(test, peer_is_up(&pair, 1));
}

/*
 * Send frames with the address of node @from that somebody could forge without seeing the nonces:
 * with old nonces and guesses. For each of them the other node must come to the verdict @expected,
 * and take no action.
 */
static void peer_forge(struct kunit *test, struct peer_pair *pair, u32 from,
		       enum weft_peer_verdict expected)
{
	struct peer_node *node = &pair->node[!from];
	struct weft_peer *peer = node->known ? &node->peer : NULL, before = node->peer;
	u32 nonce = peer_nonce(pair, !from), i;
	const u32 words[][2] = {
		{ 0, 0 }, { 0, nonce }, { 666, 0 }, { 666, nonce ^ 1 }, { before.heard, 0 },
		{ before.heard, nonce ^ 1 }, { nonce, 0 }, { 0, before.heard },
	};
	struct weft_peer_note note;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		note = peer_note_of(from, words[i][0], words[i][1]);
		note.hello.max_frame = 512;
		KUNIT_EXPECT_EQ(test, weft_peer_judge(peer, &note.frame, nonce, pair->now),
				expected);
		if (peer)
			KUNIT_EXPECT_EQ(test, weft_peer_hear(peer, &note, pair->now), 0U);
		note.frame.type = WEFT_FRAME_BYE;
		if (peer)
			KUNIT_EXPECT_EQ(test, weft_peer_hear(peer, &note, pair->now), 0U);
	}
	/* only heard_at may change */
	before.heard_at = node->peer.heard_at;
	KUNIT_EXPECT_MEMEQ(test, &node->peer, &before, sizeof(before));
}

static void forged_hello_pulls_nothing(struct kunit *test)
{
	struct peer_pair pair = {};
	struct weft_peer_note note;

	peer_connect(test, &pair);
	peer_forge(test, &pair, 0, WEFT_PEER_DROP);
	/* even with the right nonce, as the cable is in use */
	note = peer_note_of(0, 666, pair.node[1].peer.nonce);
	peer_hear(&pair, 1, &note);
	KUNIT_EXPECT_TRUE(test, peer_agree(&pair));
	KUNIT_EXPECT_EQ(test, pair.node[1].peer.max_frame, 1500);
}

static void forged_hello_keeps_nobody_out(struct kunit *test)
{
	struct peer_pair pair = {};

	peer_connect(test, &pair);
	weft_peer_down(&pair.node[0].peer);
	weft_peer_down(&pair.node[1].peer);
	peer_forge(test, &pair, 0, WEFT_PEER_ANSWER);
	peer_forge(test, &pair, 1, WEFT_PEER_ANSWER);
	peer_reconnect(test, &pair);
}

/* Invented nodes get no entry, and do not change the nonce of the address that they use. */
static void invented_nodes_are_not_kept(struct kunit *test)
{
	struct peer_pair pair = {};
	u32 i, nonce;

	peer_meet(&pair);
	nonce = peer_nonce(&pair, 1);
	for (i = 0; i < 100; i++)
		peer_forge(test, &pair, 0, WEFT_PEER_ANSWER);
	KUNIT_EXPECT_EQ(test, peer_nonce(&pair, 1), nonce);
	KUNIT_EXPECT_FALSE(test, pair.node[1].known);
	peer_say(&pair, 0);
	KUNIT_EXPECT_TRUE(test, peer_agree(&pair));
}

/* A nonce is valid for one address at one node. */
static void first_nonce_is_of_an_address(struct kunit *test)
{
	struct weft_underlay_addr one = peer_addr(0), other = peer_addr(1);
	siphash_key_t key = { { 1, 2 } }, other_key = { { 1, 3 } };
	u32 nonce = weft_peer_first_nonce(&key, &one);

	KUNIT_EXPECT_NE(test, nonce, 0U);
	KUNIT_EXPECT_EQ(test, weft_peer_first_nonce(&key, &one), nonce);
	KUNIT_EXPECT_NE(test, weft_peer_first_nonce(&key, &other), nonce);
	KUNIT_EXPECT_NE(test, weft_peer_first_nonce(&other_key, &one), nonce);
}

static void hello_to_all_is_a_sign_of_life(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note note;

	peer_connect(test, &pair);
	pair.now += peer_dead() + 1;
	note = peer_note_of(0, 0, 0);
	peer_hear(&pair, 1, &note);
	/* but no proof that it hears us */
	KUNIT_EXPECT_EQ(test, peer_check_after(&pair, 1, 0), WEFT_PEER_PULL | WEFT_PEER_REPLY);
}

static void silence(struct kunit *test)
{
	struct peer_pair pair;
	u32 nonce;

	peer_connect(test, &pair);
	nonce = pair.node[0].peer.nonce;
	KUNIT_EXPECT_EQ(test, peer_check_after(&pair, 0, peer_dead()), 0U);
	KUNIT_EXPECT_EQ(test, peer_check_after(&pair, 0, 1),
			WEFT_PEER_PULL | WEFT_PEER_FORGET | WEFT_PEER_REPLY);
	KUNIT_EXPECT_FALSE(test, pair.node[0].peer.up);
	KUNIT_EXPECT_NE(test, pair.node[0].peer.nonce, nonce);
}

/* One end pulls the cable out, and its BYE is lost: the other end has to time out. */
static void pulled_at_one_end(struct kunit *test)
{
	struct peer_pair pair;

	peer_connect(test, &pair);
	weft_peer_down(&pair.node[0].peer);
	peer_say(&pair, 1);
	peer_say(&pair, 0);
	KUNIT_EXPECT_FALSE(test, peer_is_up(&pair, 0));
	KUNIT_EXPECT_TRUE(test, peer_is_up(&pair, 1));
	pair.now += peer_dead() + 1;
	peer_say(&pair, 0);
	KUNIT_EXPECT_EQ(test, peer_check_after(&pair, 1, 0), WEFT_PEER_PULL | WEFT_PEER_REPLY);
	peer_reconnect(test, &pair);
}

static void pulled_at_both_ends(struct kunit *test)
{
	struct peer_pair pair;

	peer_connect(test, &pair);
	weft_peer_down(&pair.node[0].peer);
	weft_peer_down(&pair.node[1].peer);
	peer_reconnect(test, &pair);
}

/* A node that has restarted gets a cable after the other node has timed out. */
static void restart(struct kunit *test)
{
	struct peer_pair pair;
	u32 i, nonce;

	peer_connect(test, &pair);
	nonce = pair.node[1].peer.nonce;
	peer_start(&pair, 0);
	for (i = 0; i < 10; i++)
		peer_say(&pair, i % 2);
	KUNIT_EXPECT_TRUE(test, peer_is_up(&pair, 1));
	KUNIT_EXPECT_FALSE(test, peer_is_up(&pair, 0));
	pair.now += peer_dead() + 1;
	peer_say(&pair, 0);
	KUNIT_EXPECT_EQ(test, peer_check_after(&pair, 1, 0), WEFT_PEER_PULL | WEFT_PEER_REPLY);
	peer_reconnect(test, &pair);
	KUNIT_EXPECT_NE(test, pair.node[1].peer.nonce, nonce);
}

/* HELLOs that pretend a restart have no effect while the real node is alive. */
static void holder_is_not_silent(struct kunit *test)
{
	unsigned long pause = msecs_to_jiffies(WEFT_HELLO_SLOW_MS);
	struct peer_pair pair;
	u32 i, nonce;

	peer_connect(test, &pair);
	nonce = pair.node[1].peer.nonce;
	for (i = 0; i < 20; i++) {
		peer_forge(test, &pair, 0, WEFT_PEER_DROP);
		KUNIT_EXPECT_EQ(test, peer_check_after(&pair, 1, pause), 0U);
		peer_say(&pair, 0);
		peer_say(&pair, 1);
	}
	KUNIT_EXPECT_TRUE(test, peer_agree(&pair));
	KUNIT_EXPECT_EQ(test, pair.node[1].peer.nonce, nonce);
}

static void late_hello_is_no_restart(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note late;

	peer_connect(test, &pair);
	late = peer_note(&pair, 0);
	weft_peer_down(&pair.node[0].peer);
	weft_peer_down(&pair.node[1].peer);
	peer_reconnect(test, &pair);
	peer_hear(&pair, 1, &late);
	KUNIT_EXPECT_TRUE(test, peer_agree(&pair));
}

static void bye(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note note;
	struct weft_peer *peer = &pair.node[1].peer;

	peer_connect(test, &pair);
	note = peer_note(&pair, 0);
	note.frame.type = WEFT_FRAME_BYE;
	note.frame.heard++;
	KUNIT_EXPECT_EQ(test, weft_peer_hear(peer, &note, pair.now), 0U);
	note.frame.heard--;
	note.frame.nonce++;
	KUNIT_EXPECT_EQ(test, weft_peer_hear(peer, &note, pair.now), 0U);
	note.frame.nonce--;
	KUNIT_EXPECT_EQ(test, weft_peer_hear(peer, &note, pair.now),
			WEFT_PEER_PULL | WEFT_PEER_FORGET);
}

static void other_mac_is_not_heard(struct kunit *test)
{
	struct peer_pair pair;
	struct weft_peer_note note;

	peer_connect(test, &pair);
	weft_peer_down(&pair.node[1].peer);
	note = peer_note_of(0, 666, pair.node[1].peer.nonce);
	note.from.mac[0] ^= 4;
	KUNIT_EXPECT_EQ(test, weft_peer_hear(&pair.node[1].peer, &note, pair.now), 0U);
	KUNIT_EXPECT_EQ(test, pair.node[1].peer.heard, 0U);
}

/* A peer node is alive but gives us no cable: its port may be given away after some time. */
static void waiting_in_vain(struct kunit *test)
{
	unsigned long dead = peer_dead(), now;
	struct peer_pair pair;
	struct weft_peer *peer = &pair.node[0].peer;
	u32 nonce;

	peer_connect(test, &pair);
	weft_peer_down(peer);
	now = pair.now;
	for (nonce = 1; nonce < 4 * WEFT_HELLO_DEAD_MS; nonce++) {
		peer->nonce = nonce;
		KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(peer, now));
		KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(peer, now + dead));
		KUNIT_EXPECT_TRUE(test, weft_peer_is_vain(peer, now + 2 * dead + 1));
	}
	/* the time depends on the nonce */
	now += dead + dead / 2;
	peer->nonce = WEFT_HELLO_DEAD_MS;
	KUNIT_EXPECT_TRUE(test, weft_peer_is_vain(peer, now));
	peer->nonce = WEFT_HELLO_DEAD_MS - 1;
	KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(peer, now));
}

static void cable_is_not_vain(struct kunit *test)
{
	unsigned long dead = peer_dead();
	struct peer_pair pair;

	peer_connect(test, &pair);
	KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(&pair.node[0].peer, pair.now + 3 * dead));
	weft_peer_down(&pair.node[0].peer);
	KUNIT_EXPECT_FALSE(test, weft_peer_is_vain(&pair.node[0].peer, pair.now + dead));
	KUNIT_EXPECT_TRUE(test, weft_peer_is_vain(&pair.node[0].peer, pair.now + 3 * dead));
}

/* HELLOs that arrive late or get lost, nodes that restart or pull the cable out. */
static void peer_trouble(struct peer_pair *pair, struct rnd_state *rnd,
			 struct weft_peer_note *late)
{
	u32 from = prandom_u32_state(rnd) % 2;

	if (prandom_u32_state(rnd) % 8 == 0)
		weft_peer_down(&pair->node[from].peer);
	if (prandom_u32_state(rnd) % 16 == 0)
		peer_start(pair, from);
	pair->node[0].deaf = prandom_u32_state(rnd) % 4 == 0;
	pair->node[1].deaf = prandom_u32_state(rnd) % 4 == 0;
	if (prandom_u32_state(rnd) % 4 == 0)
		late[from] = peer_note(pair, from);
	if (prandom_u32_state(rnd) % 4 == 0)
		peer_hear(pair, !from, &late[from]);
	if (prandom_u32_state(rnd) % 2)
		peer_say(pair, from);
}

/* Once the trouble ends and dead cables have timed out, a few HELLOs are enough. */
static void they_always_agree(struct kunit *test)
{
	struct weft_peer_note late[2];
	struct peer_pair pair;
	struct rnd_state rnd;
	u32 i, j;

	prandom_seed_state(&rnd, PEER_SEED);
	peer_connect(test, &pair);
	late[0] = peer_note(&pair, 0);
	late[1] = peer_note(&pair, 1);
	for (i = 0; i < 1000; i++) {
		for (j = 0; j < 20; j++)
			peer_trouble(&pair, &rnd, late);
		pair.node[0].deaf = false;
		pair.node[1].deaf = false;
		pair.now += peer_dead() + 1;
		for (j = 0; j < 2; j++)
			peer_say(&pair, j);
		for (j = 0; j < 2; j++)
			if (peer_is_up(&pair, j))
				peer_check_after(&pair, j, 0);
		peer_reconnect(test, &pair);
		KUNIT_ASSERT_TRUE(test, peer_agree(&pair));
	}
}

static struct kunit_case peer_cases[] = {
	KUNIT_CASE(one_word_is_enough),
	KUNIT_CASE(older_node),
	KUNIT_CASE(one_way_is_no_cable),
	KUNIT_CASE(answers_are_no_cable),
	KUNIT_CASE(forged_hello_pulls_nothing),
	KUNIT_CASE(forged_hello_keeps_nobody_out),
	KUNIT_CASE(invented_nodes_are_not_kept),
	KUNIT_CASE(first_nonce_is_of_an_address),
	KUNIT_CASE(hello_to_all_is_a_sign_of_life),
	KUNIT_CASE(silence),
	KUNIT_CASE(pulled_at_one_end),
	KUNIT_CASE(pulled_at_both_ends),
	KUNIT_CASE(restart),
	KUNIT_CASE(holder_is_not_silent),
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
