// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of fabric/arq.c: two ends of a cable, with a wire between them that loses, duplicates and
 * reorders frames, and a simulated clock.
 */
#include <kunit/test.h>
#include <linux/list.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "fabric/arq.h"
#include "params.h"

#define ARQ_SEED	0x61727173
#define ARQ_HEADER	sizeof(struct weft_wire_frame)
/* A packet: bytes before its number, maximum length, and number of different contents. */
#define ARQ_LRH		8
#define ARQ_LONGEST	4356
#define ARQ_PLACES	256
/* Packets in each direction over a bad wire, and random frames. */
#define ARQ_PACKETS	320
#define ARQ_GARBAGE	8000
#define ARQ_MS		1000000ULL
#define ARQ_US		1000ULL
/* Latency of the wire, and the most that a late frame takes in addition. */
#define ARQ_DELAY	(20 * ARQ_US)
#define ARQ_LATE	(400 * ARQ_US)

/* Properties of a wire; probabilities are per mille. */
struct arq_wire {
	const char	*name;
	u32		lost;
	u32		doubled;
	u32		late;
	u32		max_frame;
};

struct arq_end {
	struct weft_arq		arq;
	struct arq_model	*model;
	u64			alarm;	/* time that arm() was called with; 0: none */
	bool			more;	/* more() was called */
	u32			next;	/* number of the packet that has to come next */
	u32			vl15;	/* packets of VL 15 that have come */
	u8			hops;	/* of the last packet that has come */
	u32			counters[WEFT_IBC_COUNT];
	u64			given_up;	/* time when give_up() was called; 0: it was not */
};

/* A frame on the wire, in the order of arrival. */
struct arq_flying {
	struct list_head	list;
	struct sk_buff		*skb;
	u32			to;
	u64			when;
};

struct arq_model {
	struct kunit		*test;
	struct arq_wire		does;
	struct arq_end		end[2];
	struct list_head	wire;
	struct rnd_state	rnd;
	u64			now;
	u32			frames;
	u32			max_frame;
};

static const struct arq_wire arq_clean = { .max_frame = 1500 };
static const struct arq_wire arq_large = { .max_frame = 4400 };
static const struct arq_wire arq_dead = { .lost = 1000, .max_frame = 1500 };

/* Packets whose destructors have been called. */
static u32 arq_freed;
/* The contents of packets; the number of a packet selects where its bytes begin. */
static u8 arq_noise[ARQ_LONGEST + ARQ_PLACES];

static struct arq_end *arq_end_of(struct weft_arq *arq)
{
	return container_of(arq, struct arq_end, arq);
}

static bool arq_happens(struct arq_model *model, u32 of_1000)
{
	return prandom_u32_state(&model->rnd) % 1000 < of_1000;
}

static void arq_fly(struct arq_model *model, struct sk_buff *skb, u32 to)
{
	struct arq_flying *flying = kzalloc(sizeof(*flying), GFP_ATOMIC), *other;

	KUNIT_ASSERT_NOT_NULL(model->test, flying);
	flying->skb = skb;
	flying->to = to;
	flying->when = model->now + ARQ_DELAY;
	if (arq_happens(model, model->does.late))
		flying->when += prandom_u32_state(&model->rnd) % ARQ_LATE;
	list_for_each_entry_reverse(other, &model->wire, list)
		if (other->when <= flying->when)
			break;
	list_add(&flying->list, &other->list);
}

static void arq_model_send(struct weft_arq *arq, struct sk_buff *frame)
{
	struct arq_end *end = arq_end_of(arq);
	struct arq_model *model = end->model;
	u32 to = end == &model->end[0];

	KUNIT_EXPECT_GE(model->test, skb_headroom(frame), 14U);
	KUNIT_EXPECT_LE(model->test, frame->len, model->does.max_frame);
	model->frames++;
	if (arq_happens(model, model->does.doubled))
		arq_fly(model, skb_clone(frame, GFP_ATOMIC), to);
	if (arq_happens(model, model->does.lost))
		kfree_skb(frame);
	else
		arq_fly(model, frame, to);
}

static const u8 *arq_content(u32 number)
{
	return arq_noise + number % ARQ_PLACES;
}

/* Packets must arrive complete and in order. The number is where the BTH would be. */
static void arq_check_packet(struct arq_end *end, struct sk_buff *packet)
{
	struct kunit *test = end->model->test;
	const u8 *number_at;
	u32 number;

	KUNIT_ASSERT_EQ(test, skb_linearize(packet), 0);
	number_at = packet->data + ARQ_LRH;
	memcpy(&number, number_at, sizeof(number));
	KUNIT_EXPECT_EQ(test, number, end->next);
	end->next = number + 1;
	KUNIT_EXPECT_EQ(test, memcmp(number_at + sizeof(number), arq_content(number),
				     packet->len - ARQ_LRH - sizeof(number)), 0);
}

static void arq_model_deliver(struct weft_arq *arq, struct sk_buff *packet)
{
	struct arq_end *end = arq_end_of(arq);
	struct weft_lrh lrh;

	KUNIT_EXPECT_TRUE(end->model->test, weft_frame_lrh(&lrh, packet));
	KUNIT_EXPECT_EQ(end->model->test, lrh.length, packet->len);
	end->hops = weft_hop(packet)->hops;
	if (lrh.vl == 15)
		end->vl15++;
	else
		arq_check_packet(end, packet);
	kfree_skb(packet);
}

static void arq_model_arm(struct weft_arq *arq, u64 when)
{
	arq_end_of(arq)->alarm = when;
}

static void arq_model_count(struct weft_arq *arq, enum weft_ibport_counter counter)
{
	arq_end_of(arq)->counters[counter]++;
}

static void arq_model_more(struct weft_arq *arq)
{
	arq_end_of(arq)->more = true;
}

static void arq_model_give_up(struct weft_arq *arq)
{
	arq_end_of(arq)->given_up = arq_end_of(arq)->model->now;
}

static const struct weft_arq_ops arq_model_ops = {
	.send = arq_model_send,
	.deliver = arq_model_deliver,
	.arm = arq_model_arm,
	.count = arq_model_count,
	.more = arq_model_more,
	.give_up = arq_model_give_up,
};

static struct arq_model *arq_model_create(struct kunit *test, const struct arq_wire *does)
{
	struct arq_model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	struct weft_arq_param param = {
		.ops = &arq_model_ops, .max_frame = does->max_frame, .room = { 16, 0 },
	};
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, model);
	model->test = test;
	model->does = *does;
	model->now = 5000 * ARQ_MS;
	INIT_LIST_HEAD(&model->wire);
	prandom_seed_state(&model->rnd, ARQ_SEED);
	for (i = 0; i < 2; i++) {
		model->end[i].model = model;
		param.nonce = 1 + i;
		param.heard = 2 - i;
		weft_arq_init(&model->end[i].arq, &param);
	}
	arq_freed = 0;
	return model;
}

static void arq_model_destroy(struct arq_model *model)
{
	struct arq_flying *flying, *next;
	u32 i;

	list_for_each_entry_safe(flying, next, &model->wire, list) {
		kfree_skb(flying->skb);
		kfree(flying);
	}
	for (i = 0; i < 2; i++) {
		weft_arq_stop(&model->end[i].arq);
		weft_arq_destroy(&model->end[i].arq);
	}
}

/* Every frame on the wire is valid, as the wire does not damage frames. */
static void arq_arrive(struct arq_model *model, struct arq_flying *flying)
{
	struct sk_buff *skb = flying->skb;
	struct weft_frame frame;

	list_del(&flying->list);
	model->now = max(model->now, flying->when);
	KUNIT_ASSERT_TRUE(model->test, weft_frame_decode(&frame, skb->data, skb->len));
	KUNIT_EXPECT_EQ(model->test, frame.heard, flying->to + 1);
	__skb_pull(skb, ARQ_HEADER);
	/* the net device may have left anything there */
	memset(skb->cb, 0xff, sizeof(skb->cb));
	weft_arq_receive(&model->end[flying->to].arq, &frame, skb, model->now);
	kfree(flying);
}

static void arq_alarm(struct arq_model *model, struct arq_end *end)
{
	model->now = max(model->now, end->alarm);
	end->alarm = 0;
	weft_arq_timeout(&end->arq, model->now);
}

/* Process the next event, work items first. Returns false if there is none before @until. */
static bool arq_step(struct arq_model *model, u64 until)
{
	struct arq_flying *first = list_first_entry_or_null(&model->wire, struct arq_flying, list);
	u64 when = first ? first->when : U64_MAX;
	struct arq_end *end = NULL;
	u32 i;

	for (i = 0; i < 2; i++) {
		if (model->end[i].more) {
			model->end[i].more = false;
			weft_arq_drain(&model->end[i].arq);
			return true;
		}
		if (!model->end[i].alarm || model->end[i].alarm >= when)
			continue;
		end = &model->end[i];
		when = end->alarm;
	}
	if (when > until)
		return false;
	if (end)
		arq_alarm(model, end);
	else
		arq_arrive(model, first);
	return true;
}

/* Process all events of a period. */
static void arq_run(struct arq_model *model, u64 time)
{
	u64 until = model->now + time;

	while (arq_step(model, until))
		;
	model->now = until;
}

static void arq_free(struct sk_buff *skb)
{
	arq_freed++;
}

static struct sk_buff *arq_packet(struct kunit *test, u32 number, u32 length, u8 vl)
{
	struct weft_lrh lrh = { .length = length, .dlid = 1, .vl = vl, .lnh = WEFT_LNH_BTH };
	struct sk_buff *skb = alloc_skb(length, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	weft_lrh_encode(skb_put(skb, ARQ_LRH), &lrh);
	skb_put_data(skb, &number, sizeof(number));
	skb_put_data(skb, arq_content(number), length - skb->len);
	skb->destructor = arq_free;
	return skb;
}

static void arq_xmit(struct arq_model *model, u32 from, u32 number, u32 length)
{
	weft_arq_xmit(&model->end[from].arq, arq_packet(model->test, number, length, 0),
		      model->now);
}

/* Send packets with the numbers from 0 on at once. */
static void arq_xmit_many(struct arq_model *model, u32 from, u32 num, u32 length)
{
	u32 i;

	for (i = 0; i < num; i++)
		arq_xmit(model, from, i, length);
}

static u32 arq_counted(const struct arq_model *model, enum weft_ibport_counter counter)
{
	return model->end[0].counters[counter];
}

static u32 arq_any_length(struct arq_model *model)
{
	return 24 + prandom_u32_state(&model->rnd) % ((4352 - 24) / 4 + 1) * 4;
}

static const struct arq_wire arq_wires[] = {
	{ "clean", 0, 0, 0, 1500 },
	{ "clean, large frames", 0, 0, 0, 4400 },
	{ "clean, smallest frames", 0, 0, 0, 512 },
	{ "1 per mille lost", 1, 0, 0, 1500 },
	{ "1 percent lost", 10, 0, 0, 1500 },
	{ "10 percent lost", 100, 0, 0, 1500 },
	{ "30 percent lost", 300, 0, 0, 4400 },
	{ "5 percent doubled", 0, 50, 0, 1500 },
	{ "all doubled", 0, 1000, 0, 1500 },
	{ "5 percent late", 0, 0, 50, 1501 },
	{ "half is late", 0, 0, 500, 1500 },
	{ "all of it", 50, 50, 50, 777 },
	{ "all of it, large frames", 20, 20, 20, 4400 },
};

static void arq_wire_name(const struct arq_wire *wire, char *name)
{
	strscpy(name, wire->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(arq_wire, arq_wires, arq_wire_name);

/* Both ends send, first more than the window takes, and then a packet now and then. */
static void all_arrives(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, test->param_value);
	u32 i;

	for (i = 0; i < ARQ_PACKETS; i++) {
		arq_xmit(model, 0, i, arq_any_length(model));
		arq_xmit(model, 1, i, arq_any_length(model));
		if (i >= ARQ_PACKETS / 2)
			arq_run(model, ARQ_MS / 2);
	}
	arq_run(model, 20000 * ARQ_MS);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, model->end[i].next, (u32)ARQ_PACKETS);
		KUNIT_EXPECT_EQ(test, model->end[i].given_up, 0ULL);
		KUNIT_EXPECT_EQ(test, model->end[i].counters[WEFT_IBC_SYMBOL_ERRORS], 0U);
		KUNIT_EXPECT_EQ(test, model->end[i].counters[WEFT_IBC_XMIT_DISCARDS], 0U);
	}
	KUNIT_EXPECT_EQ(test, arq_freed, 2U * ARQ_PACKETS);
	KUNIT_EXPECT_TRUE(test, list_empty(&model->wire));
	arq_model_destroy(model);
}

/* Without losses no frame is repeated, and few frames are ACKs. */
static void nothing_is_sent_twice(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);

	arq_xmit_many(model, 0, 1600, 1024);
	arq_run(model, 1000 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, model->end[1].next, 1600U);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_LINK_RECOVERIES), 0U);
	KUNIT_EXPECT_EQ(test, model->frames, 1600U + 1600U / WEFT_ARQ_ACK_FRAMES);
	arq_model_destroy(model);
}

static void lost_frame_is_told_once(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);
	struct arq_flying *first;
	u64 began = model->now;

	arq_xmit_many(model, 0, 60, 1024);
	first = list_first_entry(&model->wire, struct arq_flying, list);
	list_del(&first->list);
	kfree_skb(first->skb);
	kfree(first);
	while (model->end[1].next < 60 && arq_step(model, U64_MAX))
		;
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_LINK_RECOVERIES), 1U);
	/* frames there, GAP back, repetition there: no timeout had to expire */
	KUNIT_EXPECT_EQ(test, model->now - began, 3 * ARQ_DELAY);
	arq_run(model, 100 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_LINK_RECOVERIES), 1U);
	KUNIT_EXPECT_EQ(test, arq_freed, 60U);
	arq_model_destroy(model);
}

static void last_frame_lost(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_dead);
	u64 began = model->now;

	arq_xmit(model, 0, 0, 1024);
	model->does.lost = 0;
	while (!model->end[1].next && arq_step(model, U64_MAX))
		;
	KUNIT_EXPECT_EQ(test, model->now - began, WEFT_ARQ_RETRY_US * ARQ_US + ARQ_DELAY);
	KUNIT_EXPECT_EQ(test, model->end[1].next, 1U);
	arq_model_destroy(model);
}

static void gives_up_once(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_dead);
	struct arq_end *end = &model->end[0];
	u64 began = model->now;

	arq_xmit(model, 0, 0, 4096);
	arq_xmit(model, 0, 1, 24);
	arq_run(model, 10000 * ARQ_MS);
	KUNIT_EXPECT_GE(test, end->given_up - began, WEFT_ARQ_GIVE_UP_US * ARQ_US);
	KUNIT_EXPECT_LE(test, end->given_up - began,
			(WEFT_ARQ_GIVE_UP_US + WEFT_ARQ_MAX_RETRY_US) * ARQ_US);
	/* both packets have four frames together */
	KUNIT_EXPECT_EQ(test, model->frames, 4 + 4 * end->counters[WEFT_IBC_LINK_RECOVERIES]);
	KUNIT_EXPECT_LE(test, end->counters[WEFT_IBC_LINK_RECOVERIES], 30U);
	KUNIT_EXPECT_EQ(test, arq_freed, 0U);
	arq_xmit(model, 0, 2, 24);
	KUNIT_EXPECT_EQ(test, end->counters[WEFT_IBC_XMIT_DISCARDS], 1U);
	KUNIT_EXPECT_EQ(test, end->alarm, 0ULL);
	arq_model_destroy(model);
	KUNIT_EXPECT_EQ(test, arq_freed, 3U);
}

/* A caller of weft_arq_receive() or weft_arq_timeout() reads the clock before it gets the lock. */
static void late_clock_is_no_silence(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);
	struct weft_frame gap = {
		.type = WEFT_FRAME_ACK, .flags = WEFT_FRAME_GAP, .nonce = 2, .heard = 1,
		.ack = WEFT_FRAME_FIRST_SEQ,
	};
	struct weft_arq *arq = &model->end[0].arq;
	u64 early = model->now - 5 * ARQ_MS;

	arq_xmit(model, 0, 0, 1024);
	weft_arq_receive(arq, &gap, arq_packet(test, 0, 24, 0), early);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_LINK_RECOVERIES), 1U);
	weft_arq_timeout(arq, early + WEFT_ARQ_RETRY_US * ARQ_US);
	KUNIT_EXPECT_EQ(test, model->end[0].given_up, 0ULL);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_LINK_RECOVERIES), 2U);
	arq_run(model, 100 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, model->end[1].next, 1U);
	KUNIT_EXPECT_FALSE(test, arq->stopped);
	arq_model_destroy(model);
}

/* An acknowledgment at an earlier time than the transmission counts as no delay. */
static void late_clock_is_no_delay(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);
	struct weft_frame ack = {
		.type = WEFT_FRAME_ACK, .nonce = 2, .heard = 1, .ack = WEFT_FRAME_FIRST_SEQ + 1,
	};

	arq_xmit(model, 0, 0, 1024);
	weft_arq_receive(&model->end[0].arq, &ack, arq_packet(test, 0, 24, 0),
			 model->now - ARQ_US);
	KUNIT_EXPECT_EQ(test, arq_freed, 2U);
	KUNIT_EXPECT_EQ(test, model->end[0].arq.sender.rtt, 0ULL);
	arq_model_destroy(model);
}

/* The other end may be silent for any time while everything has been acknowledged. */
static void idle_does_not_give_up(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);
	u32 i;

	for (i = 0; i < 5; i++) {
		arq_xmit(model, 0, i, 1024);
		arq_run(model, 5000 * ARQ_MS);
	}
	KUNIT_EXPECT_EQ(test, model->end[1].next, 5U);
	KUNIT_EXPECT_EQ(test, model->end[0].given_up, 0ULL);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_LINK_RECOVERIES), 0U);
	arq_model_destroy(model);
}

static void window_has_an_end(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_large);
	u32 more = 2 * WEFT_ARQ_WAIT_BYTES / 4096;

	arq_xmit_many(model, 0, WEFT_ARQ_WINDOW + more, 4096);
	KUNIT_EXPECT_EQ(test, model->frames, WEFT_ARQ_WINDOW);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_WAIT), more);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 0U);
	KUNIT_EXPECT_EQ(test, arq_freed, 0U);
	arq_run(model, 2000 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, model->end[1].next, WEFT_ARQ_WINDOW + more);
	KUNIT_EXPECT_EQ(test, arq_freed, WEFT_ARQ_WINDOW + more);
	arq_model_destroy(model);
}

/*
 * Senders limit themselves, so only very many senders reach the limit. The test pretends that all
 * but one of the packets, or bytes, of the limit are waiting.
 */
static void queue_of_senders_has_an_end(struct kunit *test)
{
	static const struct weft_arq_load all_but_one[] = {
		{ WEFT_ARQ_OWNED_PACKETS - 1, 0 },
		{ 0, WEFT_ARQ_OWNED_BYTES - 1024 },
	};
	struct arq_model *model;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all_but_one); i++) {
		model = arq_model_create(test, &arq_clean);
		arq_xmit_many(model, 0, WEFT_ARQ_WINDOW, 1024);
		model->end[0].arq.sender.owned = all_but_one[i];
		arq_xmit(model, 0, WEFT_ARQ_WINDOW, 1024);
		KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 0U);
		arq_xmit(model, 0, WEFT_ARQ_WINDOW + 1, 1024);
		KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 1U);
		KUNIT_EXPECT_EQ(test, arq_freed, 1U);
		arq_run(model, 100 * ARQ_MS);
		KUNIT_EXPECT_EQ(test, model->end[1].next, WEFT_ARQ_WINDOW + 1);
		KUNIT_EXPECT_EQ(test, model->end[0].arq.sender.owned.packets,
				all_but_one[i].packets);
		KUNIT_EXPECT_EQ(test, model->end[0].arq.sender.owned.bytes,
				all_but_one[i].bytes);
		arq_model_destroy(model);
	}
}

/* A kind of packets that no sender waits for; it may use 1/@part of their limit. */
struct arq_kind {
	const char	*name;
	bool		group;
	u32		part;
};

static const struct arq_kind arq_kinds[] = {
	{ "to one, from another host", false, 1 },
	{ "a copy for a group", true, WEFT_ARQ_COPY_PART },
};

static void arq_kind_name(const struct arq_kind *kind, char *name)
{
	strscpy(name, kind->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(arq_kind, arq_kinds, arq_kind_name);

static void arq_xmit_as(struct arq_model *model, u32 number, u32 length, bool group, bool waits)
{
	struct sk_buff *skb = arq_packet(model->test, number, length, 0);

	if (group)
		((struct weft_wire_lrh *)skb->data)->dlid = cpu_to_be16(WEFT_LID_MCAST);
	if (!waits)
		skb->destructor = NULL;
	weft_arq_xmit(&model->end[0].arq, skb, model->now);
}

/*
 * Packets without a waiting sender have a limit, and each kind may use a part of it. Packets with a
 * sender, to a group or not, take no room from those, and find room nevertheless.
 */
static void arq_expect_room(struct kunit *test, u32 length, u32 all)
{
	const struct arq_kind *kind = test->param_value;
	struct arq_model *model = arq_model_create(test, &arq_large);
	u32 owned = WEFT_ARQ_WINDOW + all + 100, i;

	for (i = 0; i < owned; i++)
		arq_xmit_as(model, i, length, i % 2, true);
	for (; i < owned + all / kind->part; i++)
		arq_xmit_as(model, i, length, kind->group, false);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 0U);
	arq_xmit_as(model, i, length, kind->group, false);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 1U);
	for (; i < owned + all; i++)
		arq_xmit_as(model, i, length, false, false);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 1U);
	arq_xmit_as(model, i, length, false, false);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 2U);
	arq_xmit_as(model, i, length, kind->group, true);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 2U);
	arq_run(model, 2000 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, model->end[1].next, owned + all + 1);
	arq_model_destroy(model);
}

static void queue_of_others_has_an_end(struct kunit *test)
{
	arq_expect_room(test, 4096, WEFT_ARQ_WAIT_BYTES / 4096);
	arq_expect_room(test, 24, WEFT_ARQ_WAIT_PACKETS);
}

/* A packet of VL 15 does not wait, and is neither repeated nor kept. */
static void vl15_goes_by(struct kunit *test)
{
	static const struct arq_wire clean = { .max_frame = 512 };
	struct arq_model *model = arq_model_create(test, &clean);

	arq_xmit_many(model, 0, 2 * WEFT_ARQ_WINDOW, 256);
	weft_arq_xmit(&model->end[0].arq, arq_packet(test, 0, 328, 15), model->now);
	KUNIT_EXPECT_EQ(test, arq_freed, 1U);
	weft_arq_xmit(&model->end[0].arq, arq_packet(test, 0, 492, 15), model->now);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 1U);
	arq_run(model, ARQ_DELAY);
	KUNIT_EXPECT_EQ(test, model->end[1].vl15, 1U);
	arq_run(model, 1000 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, model->end[1].vl15, 1U);
	KUNIT_EXPECT_EQ(test, model->end[1].next, 2 * WEFT_ARQ_WINDOW);
	arq_model_destroy(model);
}

/* Packets of one frame or several, with repetitions. */
static void hops_are_counted(struct kunit *test)
{
	static const struct arq_wire bad = { .lost = 200, .max_frame = 1500 };
	static const u32 lengths[] = { 24, 1024, 4096 };
	struct arq_model *model = arq_model_create(test, &bad);
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < 24; i++) {
		skb = arq_packet(test, i, lengths[i % ARRAY_SIZE(lengths)], 0);
		weft_hop(skb)->hops = i;
		weft_arq_xmit(&model->end[0].arq, skb, model->now);
		arq_run(model, 500 * ARQ_MS);
		KUNIT_EXPECT_EQ(test, model->end[1].next, i + 1);
		KUNIT_EXPECT_EQ(test, model->end[1].hops, i + 1);
	}
	model->does.lost = 0;
	skb = arq_packet(test, 0, 328, 15);
	weft_hop(skb)->hops = WEFT_MAX_HOPS;
	weft_arq_xmit(&model->end[0].arq, skb, model->now);
	arq_run(model, ARQ_DELAY);
	KUNIT_EXPECT_EQ(test, model->end[1].vl15, 1U);
	KUNIT_EXPECT_EQ(test, model->end[1].hops, WEFT_MAX_HOPS + 1);
	arq_model_destroy(model);
}

/* Another CPU is busy with the frames that are in the FIFO. */
static void vl15_without_room_is_counted(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);
	struct weft_arq *arq = &model->end[0].arq;
	u32 i;

	arq->out.busy = true;
	for (i = 0; i < WEFT_ARQ_FIFO; i++)
		weft_arq_xmit(arq, arq_packet(test, 0, 328, 15), model->now);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 0U);
	weft_arq_xmit(arq, arq_packet(test, 0, 328, 15), model->now);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 1U);
	arq->out.busy = false;
	weft_arq_timeout(arq, model->now);
	arq_run(model, ARQ_DELAY);
	KUNIT_EXPECT_EQ(test, model->end[1].vl15, WEFT_ARQ_FIFO);
	KUNIT_EXPECT_EQ(test, arq_freed, WEFT_ARQ_FIFO + 1);
	arq_model_destroy(model);
}

/* Other CPUs have put WEFT_ARQ_WINDOW frames into the FIFO. */
static struct arq_model *arq_full_fifo(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);

	model->end[0].arq.out.busy = true;
	arq_xmit_many(model, 0, WEFT_ARQ_WINDOW, 24);
	model->end[0].arq.out.busy = false;
	return model;
}

/* A CPU does not go on until the FIFO is empty, because others may be filling it. */
static void frames_have_a_budget(struct kunit *test)
{
	struct arq_model *model = arq_full_fifo(test);

	weft_arq_drain(&model->end[0].arq);
	KUNIT_EXPECT_EQ(test, model->frames, WEFT_ARQ_BUDGET);
	KUNIT_EXPECT_TRUE(test, model->end[0].more);
	arq_run(model, 100 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_LINK_RECOVERIES), 0U);
	KUNIT_EXPECT_EQ(test, model->end[1].next, WEFT_ARQ_WINDOW);
	arq_model_destroy(model);
}

static void packets_have_a_budget(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);
	struct arq_end *end = &model->end[1];

	end->arq.in.busy = true;
	arq_xmit_many(model, 0, WEFT_ARQ_WINDOW, 24);
	arq_run(model, ARQ_DELAY);
	end->arq.in.busy = false;
	weft_arq_drain(&end->arq);
	KUNIT_EXPECT_EQ(test, end->next, WEFT_ARQ_BUDGET);
	KUNIT_EXPECT_TRUE(test, end->more);
	arq_run(model, 0);
	KUNIT_EXPECT_EQ(test, end->next, WEFT_ARQ_WINDOW);
	arq_model_destroy(model);
}

/* A frame and an alarm that were under way when a cable was pulled have no effect. */
static void pulled_cable_has_no_more(struct kunit *test)
{
	struct arq_model *model = arq_full_fifo(test);
	const struct weft_frame ack = {
		.type = WEFT_FRAME_ACK, .nonce = 2, .heard = 1, .ack = WEFT_FRAME_FIRST_SEQ + 1,
	};

	weft_arq_stop(&model->end[0].arq);
	weft_arq_drain(&model->end[0].arq);
	KUNIT_EXPECT_FALSE(test, model->end[0].more);
	weft_arq_receive(&model->end[0].arq, &ack, arq_packet(test, 0, 24, 0), model->now);
	KUNIT_EXPECT_EQ(test, arq_freed, 1U);
	weft_arq_timeout(&model->end[0].arq, model->now + 5000 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_LINK_RECOVERIES), 0U);
	KUNIT_EXPECT_EQ(test, model->end[0].given_up, 0ULL);
	arq_model_destroy(model);
	KUNIT_EXPECT_EQ(test, arq_freed, WEFT_ARQ_WINDOW + 1);
}

static void malformed_is_not_sent(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);
	static const u32 length[][2] = { { 1024, 1020 }, { 1024, 7 }, { 4356, 4356 } };
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(length); i++) {
		skb = arq_packet(test, 0, length[i][0], 0);
		skb_trim(skb, length[i][1]);
		weft_arq_xmit(&model->end[0].arq, skb, model->now);
	}
	KUNIT_EXPECT_EQ(test, arq_counted(model, WEFT_IBC_XMIT_DISCARDS), 3U);
	/* bytes behind the end of a packet are not sent */
	skb = arq_packet(test, 0, 1028, 0);
	skb->data[5] -= 1;
	weft_arq_xmit(&model->end[0].arq, skb, model->now);
	arq_run(model, 100 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, model->end[1].next, 1U);
	KUNIT_EXPECT_EQ(test, arq_freed, 4U);
	arq_model_destroy(model);
}

/* Receive a random frame with the right nonces. */
static void arq_inject(struct arq_model *model, u32 seq_span, u32 ack_span)
{
	struct weft_frame frame = {
		.type = prandom_u32_state(&model->rnd) % 2 ? WEFT_FRAME_DATA : WEFT_FRAME_ACK,
		.length = 1 + prandom_u32_state(&model->rnd) % 1400,
		.flags = prandom_u32_state(&model->rnd) & 15,
		.nonce = 2, .heard = 1,
	};
	struct weft_wire_frame wire;
	struct sk_buff *skb;

	weft_frame_encode(&wire, &frame);
	if (!weft_frame_decode(&frame, &wire, 1500))
		return;
	skb = alloc_skb(1500, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(model->test, skb);
	prandom_bytes_state(&model->rnd, skb_put(skb, frame.length), frame.length);
	skb->data[0] &= 0xf0;
	frame.seq = model->end[0].arq.receiver.expected;
	frame.ack = model->end[0].arq.sender.una;
	if (seq_span)
		frame.seq += prandom_u32_state(&model->rnd) % seq_span - seq_span / 2;
	if (ack_span)
		frame.ack += prandom_u32_state(&model->rnd) % ack_span - ack_span / 2;
	weft_arq_receive(&model->end[0].arq, &frame, skb, model->now);
}

/* Frames with numbers out of reach do no harm. */
static void strange_numbers(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_clean);
	struct weft_frame frame = {
		.type = WEFT_FRAME_DATA, .flags = WEFT_FRAME_FIRST | WEFT_FRAME_LAST,
		.length = 24, .nonce = 2, .heard = 1,
	};
	u32 i;

	for (i = 0; i < 300; i++) {
		arq_xmit(model, 1, i, 2048);
		arq_xmit(model, 0, i, 2048);
		frame.seq = model->end[0].arq.receiver.expected + 1000 + 7777777 * i;
		frame.ack = model->end[0].arq.sender.tail + 1 + 5000000 * i;
		weft_arq_receive(&model->end[0].arq, &frame, arq_packet(test, 0, 24, 0),
				 model->now);
		arq_run(model, 100 * ARQ_US);
	}
	arq_run(model, 1000 * ARQ_MS);
	KUNIT_EXPECT_EQ(test, model->end[0].next, 300U);
	KUNIT_EXPECT_EQ(test, model->end[1].next, 300U);
	KUNIT_EXPECT_GT(test, arq_counted(model, WEFT_IBC_SYMBOL_ERRORS), 300U);
	arq_model_destroy(model);
}

/* Random frames: the window must not overflow, and all memory must be freed. */
static void garbage(struct kunit *test)
{
	struct arq_model *model = arq_model_create(test, &arq_dead);
	u32 i;

	for (i = 0; i < ARQ_GARBAGE; i++) {
		if (i % 4 == 0)
			weft_arq_xmit(&model->end[0].arq, arq_packet(test, i, 3000, 0),
				      model->now);
		arq_inject(model, i % 300, i % 1000);
		KUNIT_ASSERT_LE(test, model->end[0].arq.sender.tail -
				model->end[0].arq.sender.una, WEFT_ARQ_WINDOW);
		model->now += 10 * ARQ_US;
		if (model->end[0].alarm && model->now >= model->end[0].alarm)
			arq_alarm(model, &model->end[0]);
	}
	KUNIT_EXPECT_EQ(test, model->end[0].next, 0U);
	arq_model_destroy(model);
	KUNIT_EXPECT_EQ(test, arq_freed, ARQ_GARBAGE / 4U);
}

static struct kunit_case arq_cases[] = {
	KUNIT_CASE_PARAM(all_arrives, arq_wire_gen_params),
	KUNIT_CASE(nothing_is_sent_twice),
	KUNIT_CASE(lost_frame_is_told_once),
	KUNIT_CASE(last_frame_lost),
	KUNIT_CASE(gives_up_once),
	KUNIT_CASE(late_clock_is_no_silence),
	KUNIT_CASE(late_clock_is_no_delay),
	KUNIT_CASE(idle_does_not_give_up),
	KUNIT_CASE(window_has_an_end),
	KUNIT_CASE(queue_of_senders_has_an_end),
	KUNIT_CASE_PARAM(queue_of_others_has_an_end, arq_kind_gen_params),
	KUNIT_CASE(vl15_goes_by),
	KUNIT_CASE(vl15_without_room_is_counted),
	KUNIT_CASE(hops_are_counted),
	KUNIT_CASE(frames_have_a_budget),
	KUNIT_CASE(packets_have_a_budget),
	KUNIT_CASE(pulled_cable_has_no_more),
	KUNIT_CASE(malformed_is_not_sent),
	KUNIT_CASE(strange_numbers),
	KUNIT_CASE(garbage),
	{}
};

static int arq_suite_init(struct kunit_suite *suite)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, ARQ_SEED);
	prandom_bytes_state(&rnd, arq_noise, sizeof(arq_noise));
	return 0;
}

static struct kunit_suite arq_suite = {
	.name = "weft_arq",
	.suite_init = arq_suite_init,
	.test_cases = arq_cases,
};

kunit_test_suite(arq_suite);
