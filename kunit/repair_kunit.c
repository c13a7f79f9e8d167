// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The repair of lost request packets, answer by answer: which packets are sent again. */
#include "fake_link.h"

#include <kunit/test.h>

#include "engine/inflight.h"
#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* PSNs wrap during the tests. */
#define REPAIR_PSN	0xfffffcU
/* PSN 0 is before half of the PSNs, and after this one. */
#define REPAIR_HIGH_PSN	0x900000U
#define REPAIR_WRITES	8

/* The first PSN of a test. */
static u32 repair_first = REPAIR_PSN;

static void repair_exit(struct kunit *test)
{
	repair_first = REPAIR_PSN;
	fake_link_destroy(test->priv);
}

static struct weft_send *repair_send(struct fake_link *link)
{
	return &link->node[0].qp->send;
}

/* Expect packets with the PSNs @psn, @psn + @step ... on the wire, and take them off. */
static void repair_expect_every(struct fake_link *link, u32 psn, u32 num, u32 step)
{
	struct weft_pkt pkt;

	fake_link_run_halves(link);
	for (; num; num--) {
		KUNIT_ASSERT_TRUE(link->test, fake_link_take(link, &pkt));
		KUNIT_EXPECT_EQ(link->test, pkt.hdr.psn, weft_psn_add(repair_first, psn));
		KUNIT_EXPECT_TRUE(link->test, pkt.hdr.ackreq);
		psn += step;
		weft_pkt_free(&pkt);
	}
	KUNIT_EXPECT_FALSE(link->test, fake_link_take(link, &pkt));
}

/* Expect packets with successive PSNs. @psn counts from the first. */
static void repair_expect(struct fake_link *link, u32 psn, u32 num)
{
	repair_expect_every(link, psn, num, 1);
}

/* Send WRITEs of one packet; @psn is that of the first. */
static void repair_write(struct fake_link *link, u32 psn, u32 num)
{
	struct fake_node *node = &link->node[0];
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_WRITE,
		.remote_addr = fake_node_addr(&link->node[1], 0),
		.rkey = link->node[1].region->key,
	};
	const struct ib_send_wr *bad;
	u32 i;

	for (i = 0; i < num; i++)
		KUNIT_ASSERT_EQ(link->test, 0, weft_post_send(&node->ib_qp.ibqp, &wr.wr, &bad));
	repair_expect(link, psn, num);
}

static struct fake_link *repair_create(struct kunit *test)
{
	const struct fake_attr attr = {
		.type = IB_QPT_RC, .psn = { repair_first, 0 }, .retry_cnt = 7, .max_wr = 64,
	};
	struct fake_link *link = fake_link_create(test, &attr, 1);

	repair_write(link, 0, REPAIR_WRITES);
	return link;
}

static void repair_answer(struct fake_link *link, u32 psn, u8 syndrome)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = weft_psn_add(repair_first, psn),
		.aeth.syndrome = syndrome,
	};

	fake_link_deliver(&link->node[1], &hdr, NULL, 0);
}

static void repair_ack(struct fake_link *link, u32 psn)
{
	repair_answer(link, psn, weft_aeth_syndrome(WEFT_AETH_ACK, WEFT_AETH_NO_CREDIT));
}

static void repair_nak(struct fake_link *link, u32 psn)
{
	repair_answer(link, psn, weft_aeth_syndrome(WEFT_AETH_NAK, WEFT_NAK_PSN_SEQUENCE));
}

/* All packets are answered. */
static void repair_end(struct fake_link *link)
{
	KUNIT_EXPECT_TRUE(link->test, weft_inflight_is_empty(&repair_send(link)->inflight));
	KUNIT_EXPECT_EQ(link->test, repair_send(link)->inflight.repair.state, WEFT_REPAIR_NONE);
	KUNIT_EXPECT_EQ(link->test, repair_send(link)->retry.left, 7);
	fake_link_expect_quiet(link);
}

/* A peer that keeps packets gets the missing one, and new ones meanwhile. */
static void peer_keeps(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_nak(link, 2);
	repair_expect(link, 2, 1);
	/* the same NAK again, from a duplicate, means the same loss */
	repair_nak(link, 2);
	repair_expect(link, 0, 0);
	repair_write(link, REPAIR_WRITES, 2);
	repair_ack(link, REPAIR_WRITES + 1);
	repair_expect(link, 0, 0);
	repair_end(link);
}

static void peer_keeps_some(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_nak(link, 0);
	repair_expect(link, 0, 1);
	repair_nak(link, 2);
	repair_expect(link, 2, 1);
	repair_nak(link, 5);
	repair_expect(link, 5, 1);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_expect(link, 0, 0);
	repair_end(link);
}

/* The packets behind those that the peer has kept are lost, too: it says nothing of them. */
static void end_is_lost(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_nak(link, 1);
	repair_expect(link, 1, 1);
	repair_ack(link, 5);
	repair_expect(link, 6, 2);
	repair_ack(link, 7);
	/* the peer still keeps packets */
	repair_write(link, REPAIR_WRITES, 3);
	repair_nak(link, REPAIR_WRITES);
	repair_expect(link, REPAIR_WRITES, 1);
	repair_ack(link, REPAIR_WRITES + 2);
	repair_end(link);
}

/* A peer that keeps nothing, as IBA has it, costs one round trip once. */
static void peer_keeps_nothing(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_nak(link, 2);
	repair_expect(link, 2, 1);
	repair_write(link, REPAIR_WRITES, 1);
	repair_ack(link, 2);
	repair_expect(link, 3, REPAIR_WRITES - 2);
	/* the new packet has arrived before these */
	repair_nak(link, 3);
	repair_expect(link, 0, 0);
	repair_ack(link, REPAIR_WRITES);
	repair_write(link, REPAIR_WRITES + 1, 4);
	repair_nak(link, REPAIR_WRITES + 2);
	repair_expect(link, REPAIR_WRITES + 2, 3);
	repair_ack(link, REPAIR_WRITES + 4);
	repair_end(link);
}

/* Stop sending, as if the tx credit were used up, and go on. */
static void repair_stall(struct fake_link *link)
{
	repair_send(link)->tx.stalled = true;
}

static void repair_unstall(struct fake_link *link)
{
	struct weft_tx *tx = &repair_send(link)->tx;

	tx->stalled = false;
	weft_turn_post(tx->turn, WEFT_EV_RUN);
}

/* The missing packet arrives before it can be sent again, and nothing has to be. */
static void packet_was_late(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_stall(link);
	repair_nak(link, 2);
	repair_expect(link, 0, 0);
	repair_ack(link, 4);
	repair_unstall(link);
	repair_expect(link, 0, 0);
	repair_write(link, REPAIR_WRITES, 1);
	repair_ack(link, REPAIR_WRITES);
	repair_end(link);
}

/* Packets 4 to 7 are to be sent again, the first two of them have been, and no other can be. */
static void repair_half(struct fake_link *link)
{
	struct weft_inflight *inflight = &repair_send(link)->inflight;

	repair_nak(link, 1);
	repair_expect(link, 1, 1);
	repair_stall(link);
	repair_ack(link, 3);
	repair_expect(link, 0, 0);
	KUNIT_ASSERT_EQ(link->test, inflight->next, weft_psn_add(REPAIR_PSN, 4));
	/* as if two had been sent */
	inflight->next = weft_psn_add(REPAIR_PSN, 6);
	inflight->cur += 2;
}

/* A repair is answered while only its first packets have been sent: the rest follows. */
static void repair_is_answered_early(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_half(link);
	repair_ack(link, 4);
	repair_unstall(link);
	repair_expect(link, 6, REPAIR_WRITES - 6);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* The gap map that node 1 sends: it misses @psn, and keeps the packets that have a bit in @kept. */
static void repair_map(struct fake_link *link, u32 psn, unsigned long kept, u32 lost)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_OWN, WEFT_OP_GAP_MAP),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = weft_psn_add(repair_first, psn),
		.aeth.syndrome = weft_aeth_syndrome(WEFT_AETH_NAK, WEFT_NAK_PSN_SEQUENCE),
	};
	struct weft_wire_map wire;
	struct weft_map map = { .lost = lost };

	map.kept[0] = kept;
	weft_map_encode(&wire, &map);
	fake_link_deliver(&link->node[1], &hdr, &wire, sizeof(wire));
}

/* All that are lost are sent again at once, and each once. */
static void map_names_all(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_map(link, 1, BIT(1) | BIT(3), 4);
	repair_expect_every(link, 1, 2, 2);
	/* not again, when it is named again, and another one only when it is lost, too */
	repair_map(link, 1, BIT(1) | BIT(3) | BIT(5), 3);
	repair_expect(link, 0, 0);
	repair_map(link, 1, BIT(1) | BIT(3) | BIT(5), 5);
	repair_expect(link, 5, 1);
	KUNIT_EXPECT_EQ(test, repair_send(link)->inflight.repair.gaps->num, 3);
	KUNIT_EXPECT_EQ(test, repair_send(link)->retry.left, 7);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* When the last one of them has arrived, the others are lost again. */
static void map_after_loss(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_map(link, 1, BIT(1) | BIT(3) | BIT(5), 5);
	repair_expect_every(link, 1, 3, 2);
	repair_map(link, 3, BIT(1) | BIT(2) | BIT(3), 3);
	repair_expect(link, 3, 1);
	/* behind what the peer keeps, the rest is lost */
	repair_ack(link, 6);
	repair_expect(link, 7, 1);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* Packets of a run are lost again only if the last one of the run has arrived. */
static void map_of_run(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_map(link, 1, BIT(5), 5);
	repair_expect(link, 1, 5);
	repair_map(link, 3, BIT(3), 3);
	repair_expect(link, 0, 0);
	repair_map(link, 4, BIT(1) | BIT(2), 1);
	repair_expect(link, 4, 1);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/*
 * A packet that has been sent again is lost once more if another one that was sent again after it
 * has arrived, although the last one of them has not.
 */
static void map_of_older(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_map(link, 1, BIT(1), 1);
	repair_expect(link, 1, 1);
	repair_map(link, 1, BIT(1) | BIT(3) | BIT(5), 5);
	repair_expect_every(link, 3, 2, 2);
	repair_map(link, 1, BIT(1) | BIT(2) | BIT(3) | BIT(5), 5);
	repair_expect(link, 1, 1);
	repair_map(link, 1, BIT(1) | BIT(2) | BIT(3) | BIT(5), 5);
	repair_expect(link, 0, 0);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* No more than a window of packets is sent again at a time. */
static void map_of_many(struct kunit *test)
{
	struct fake_link *link = repair_create(test);
	struct weft_window *window = &repair_send(link)->window;

	window->packets = 2;
	repair_map(link, 1, BIT(5), 5);
	repair_expect(link, 1, window->packets);
	repair_map(link, 1 + window->packets, BIT(5 - window->packets), 5 - window->packets);
	repair_expect(link, 1 + window->packets, min(5 - window->packets, window->packets));
	window->packets = WEFT_INFLIGHT_PACKETS;
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* A peer drops what it had kept. */
static void map_takes_back(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_map(link, 1, BIT(1) | BIT(3), 3);
	repair_expect_every(link, 1, 2, 2);
	repair_map(link, 2, BIT(2), 2);
	repair_expect(link, 2, 1);
	KUNIT_EXPECT_EQ(test, repair_send(link)->inflight.repair.gaps->num, 1);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* A peer can't name packets that have not been sent. */
static void map_of_more(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_map(link, 6, ~0UL, U32_MAX);
	repair_expect(link, 6, 1);
	KUNIT_EXPECT_EQ(test, repair_send(link)->inflight.repair.gaps->num, 1);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* The first map of a QP comes in a repair: what it does not name is not lost. */
static void first_map_in_repair(struct kunit *test)
{
	struct fake_link *link;

	repair_first = REPAIR_HIGH_PSN;
	link = repair_create(test);
	repair_nak(link, 1);
	repair_expect(link, 1, 1);
	repair_map(link, 2, BIT(1), 1);
	repair_expect(link, 2, 1);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* Packets that the peer keeps leave room for others. */
static void map_makes_room(struct kunit *test)
{
	struct fake_link *link = repair_create(test);
	struct weft_send *send = repair_send(link);
	u32 room = weft_inflight_room(send);

	repair_map(link, 0, BIT(1) | BIT(2) | BIT(4), 1);
	repair_expect(link, 0, 1);
	KUNIT_EXPECT_EQ(test, weft_inflight_room(send), room + 3);
	repair_ack(link, 2);
	KUNIT_EXPECT_EQ(test, weft_inflight_room(send), room + 4);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/*
 * A requester that has gone back, and has sent a part of its packets again, repairs one of them.
 * Then the answer to the first transmissions comes, and nothing is left to be sent.
 */
static void repair_after_going_back(struct kunit *test)
{
	struct fake_link *link = repair_create(test);
	struct weft_send *send = repair_send(link);

	send->window.packets = 2;
	KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
	repair_expect(link, 0, 2);
	repair_stall(link);
	repair_nak(link, 1);
	repair_expect(link, 0, 0);
	KUNIT_ASSERT_EQ(test, send->inflight.repair.state, WEFT_REPAIR_WANTED);
	repair_ack(link, REPAIR_WRITES - 1);
	send->window.packets = WEFT_INFLIGHT_PACKETS;
	repair_unstall(link);
	repair_expect(link, 0, 0);
	repair_write(link, REPAIR_WRITES, 1);
	repair_ack(link, REPAIR_WRITES);
	KUNIT_EXPECT_TRUE(test, weft_inflight_is_empty(&send->inflight));
	fake_link_expect_quiet(link);
}

/* A packet of a repair is lost again before all of the repair has been sent. */
static void repair_loses_again(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_half(link);
	repair_nak(link, 5);
	repair_unstall(link);
	repair_expect(link, 5, 1);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* The first packet that a map names was late; the others are sent again all the same. */
static void map_after_late_packet(struct kunit *test)
{
	struct fake_link *link = repair_create(test);

	repair_stall(link);
	repair_map(link, 1, BIT(1) | BIT(3), 3);
	repair_expect(link, 0, 0);
	repair_ack(link, 2);
	repair_unstall(link);
	repair_expect(link, 3, 1);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

static void repair_expire(struct fake_link *link)
{
	hrtimer_cancel(&repair_send(link)->retry.timer);
	weft_turn_post(&repair_send(link)->turn, WEFT_EV_TIMER);
}

/* The repair is lost: it is repeated early, which is no retry, and then by the ack timeout. */
static void repair_is_lost(struct kunit *test)
{
	struct fake_link *link = repair_create(test);
	struct weft_retry *retry = &repair_send(link)->retry;

	/* in virtual time no round trip can be measured */
	retry->round_trip = NSEC_PER_SEC;
	repair_nak(link, 2);
	repair_expect(link, 2, 1);
	KUNIT_EXPECT_LT(test, retry->repair_due, retry->deadline);
	/* not yet */
	repair_expire(link);
	repair_expect(link, 0, 0);
	retry->repair_due = 0;
	repair_expire(link);
	repair_expect(link, 2, 1);
	KUNIT_EXPECT_EQ(test, retry->left, 6);
	KUNIT_EXPECT_EQ(test, repair_send(link)->inflight.repair.again, 1);
	KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
	repair_expect(link, 2, REPAIR_WRITES - 2);
	KUNIT_EXPECT_EQ(test, retry->left, 5);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* Another answer starts the timer while a repair is overdue: the timer expires all the same. */
static void repair_is_overdue(struct kunit *test)
{
	struct fake_link *link = repair_create(test);
	struct weft_retry *retry = &repair_send(link)->retry;

	retry->round_trip = NSEC_PER_SEC;
	repair_nak(link, 2);
	repair_expect(link, 2, 1);
	hrtimer_cancel(&retry->timer);
	retry->repair_due = ktime_sub_ns(ktime_get(), NSEC_PER_MSEC);
	weft_retry_start(link->node[0].qp);
	KUNIT_EXPECT_LT(test, hrtimer_get_expires(&retry->timer), retry->deadline);
	repair_ack(link, REPAIR_WRITES - 1);
	repair_end(link);
}

/* Each NAK without progress costs a retry, with or without repairs (IBA 9.9.2.1.1). */
static void repairs_used_up(struct kunit *test)
{
	struct fake_link *link = repair_create(test);
	struct ib_wc wc;
	u32 i;

	repair_send(link)->retry.cnt = 2;
	repair_send(link)->retry.left = 2;
	repair_nak(link, 0);
	repair_expect(link, 0, 1);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
		repair_expect(link, 0, i ? 0 : REPAIR_WRITES);
	}
	KUNIT_EXPECT_EQ(test, link->node[0].qp->state, IB_QPS_ERR);
	fake_link_settle(link);
	KUNIT_ASSERT_EQ(test, weft_poll_cq(&link->node[0].send_cq.ibcq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, (int)wc.status, IB_WC_RETRY_EXC_ERR);
}

static struct kunit_case repair_cases[] = {
	KUNIT_CASE(peer_keeps),
	KUNIT_CASE(peer_keeps_some),
	KUNIT_CASE(end_is_lost),
	KUNIT_CASE(peer_keeps_nothing),
	KUNIT_CASE(packet_was_late),
	KUNIT_CASE(repair_is_answered_early),
	KUNIT_CASE(map_names_all),
	KUNIT_CASE(map_after_loss),
	KUNIT_CASE(map_of_run),
	KUNIT_CASE(map_of_older),
	KUNIT_CASE(map_of_many),
	KUNIT_CASE(map_takes_back),
	KUNIT_CASE(map_of_more),
	KUNIT_CASE(first_map_in_repair),
	KUNIT_CASE(map_makes_room),
	KUNIT_CASE(repair_after_going_back),
	KUNIT_CASE(repair_loses_again),
	KUNIT_CASE(map_after_late_packet),
	KUNIT_CASE(repair_is_lost),
	KUNIT_CASE(repair_is_overdue),
	KUNIT_CASE(repairs_used_up),
	{}
};

static struct kunit_suite repair_suite = {
	.name = "weft_rc_repair",
	.exit = repair_exit,
	.test_cases = repair_cases,
};

kunit_test_suite(repair_suite);
