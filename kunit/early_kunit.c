// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Limits of the packets that a responder keeps because they have overtaken others. */
#include "fake_link.h"

#include <kunit/test.h>

#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* PSNs wrap during the tests. */
#define EARLY_PSN	0xfffffeU

static struct fake_link *early_create(struct kunit *test)
{
	const struct fake_attr attr = {
		.type = IB_QPT_RC, .psn = { EARLY_PSN, 0 }, .max_wr = 1,
	};

	return fake_link_create(test, &attr, 1);
}

static void early_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/* Deliver WRITEs of nothing. @psn counts from the first expected one. */
static void early_deliver_as(struct fake_link *link, u32 psn, u32 num, bool ackreq)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_WRITE_ONLY),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[1].qp->qpn,
		.ackreq = ackreq,
	};

	for (; num; num--) {
		hdr.psn = weft_psn_add(EARLY_PSN, psn++);
		fake_link_deliver(&link->node[0], &hdr, NULL, 0);
	}
	fake_link_run_halves(link);
}

/* One that has been sent again, by a requester that understands gap maps. */
static void early_repair(struct fake_link *link, u32 psn)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_WRITE_ONLY),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[1].qp->qpn,
		.psn = weft_psn_add(EARLY_PSN, psn),
		.ackreq = true,
		.maps = true,
	};

	fake_link_deliver(&link->node[0], &hdr, NULL, 0);
	fake_link_run_halves(link);
}

static void early_deliver(struct fake_link *link, u32 psn, u32 num)
{
	early_deliver_as(link, psn, num, true);
}

/* Let the gap become old. */
static void early_wait(struct fake_link *link)
{
	KUNIT_EXPECT_TRUE(link->test, fake_link_pass_time(link));
	fake_link_run_halves(link);
}

/* Expect one answer, with this PSN, counted as above. */
static void early_expect(struct fake_link *link, enum weft_aeth_type type, u32 psn, u32 msn)
{
	struct weft_pkt pkt;

	KUNIT_ASSERT_TRUE(link->test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.opcode, WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK));
	KUNIT_EXPECT_EQ(link->test, (int)weft_aeth_type(pkt.hdr.aeth.syndrome), (int)type);
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.psn, weft_psn_add(EARLY_PSN, psn));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.aeth.msn, msn);
	weft_pkt_free(&pkt);
	KUNIT_EXPECT_FALSE(link->test, fake_link_take(link, &pkt));
}

/* When enough packets have come after it, the missing one is lost. */
static void gap_before_many(struct kunit *test)
{
	struct fake_link *link = early_create(test);

	early_deliver(link, 1, WEFT_EARLY_GAP_PACKETS - 1);
	KUNIT_EXPECT_EQ(test, link->sent[1], 0);
	early_deliver(link, WEFT_EARLY_GAP_PACKETS, 1);
	early_expect(link, WEFT_AETH_NAK, 0, 0);
	early_deliver(link, WEFT_EARLY_GAP_PACKETS + 1, 10);
	KUNIT_EXPECT_EQ(test, link->sent[1], 1);
	early_deliver(link, 0, 1);
	early_expect(link, WEFT_AETH_ACK, WEFT_EARLY_GAP_PACKETS + 10,
		     WEFT_EARLY_GAP_PACKETS + 11);
	fake_link_expect_quiet(link);
}

/* A requester that asks for an answer to what it repeats hears of the next gap at once. */
static void gap_behind_gap(struct kunit *test)
{
	struct fake_link *link = early_create(test);

	early_deliver(link, 1, 1);
	early_deliver(link, 3, 1);
	early_wait(link);
	early_expect(link, WEFT_AETH_NAK, 0, 0);
	early_deliver(link, 0, 1);
	early_expect(link, WEFT_AETH_NAK, 2, 2);
	early_deliver(link, 2, 1);
	early_expect(link, WEFT_AETH_ACK, 3, 4);
	fake_link_expect_quiet(link);
}

/*
 * A requester that goes back is about to repeat the packet of the next gap, too, so it hears of
 * that when it is old.
 */
static void gap_behind_gap_later(struct kunit *test)
{
	struct fake_link *link = early_create(test);

	early_deliver_as(link, 1, 1, false);
	early_deliver_as(link, 3, 1, false);
	early_wait(link);
	early_expect(link, WEFT_AETH_NAK, 0, 0);
	early_deliver_as(link, 0, 1, false);
	KUNIT_EXPECT_EQ(test, link->sent[1], 1);
	early_wait(link);
	early_expect(link, WEFT_AETH_NAK, 2, 2);
	early_deliver(link, 2, 1);
	early_expect(link, WEFT_AETH_ACK, 3, 4);
	fake_link_expect_quiet(link);
}

/* Expect a gap map: @psn is missing, as above; the first packets from there on that are kept. */
static void early_expect_map(struct fake_link *link, u32 psn, u8 kept, u32 lost)
{
	struct weft_payload_spans spans;
	struct weft_wire_map wire;
	struct weft_span span = { .addr = (uintptr_t)&wire, .length = sizeof(wire) };
	struct weft_iter to, from;
	struct weft_map map;
	struct weft_pkt pkt;

	KUNIT_ASSERT_TRUE(link->test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.opcode,
			WEFT_OPCODE(WEFT_TRANSPORT_OWN, WEFT_OP_GAP_MAP));
	KUNIT_EXPECT_EQ(link->test, pkt.malformed, WEFT_MALFORMED_NONE);
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.psn, weft_psn_add(EARLY_PSN, psn));
	weft_pkt_payload(&pkt, &spans, &from);
	weft_span_iter(&span, &to);
	weft_copy(&to, &from, sizeof(wire));
	weft_map_decode(&map, &wire);
	KUNIT_EXPECT_EQ(link->test, map.kept[0] & 0xff, (unsigned long)kept);
	KUNIT_EXPECT_EQ(link->test, map.lost, lost);
	weft_pkt_free(&pkt);
	KUNIT_EXPECT_FALSE(link->test, fake_link_take(link, &pkt));
}

/* A requester that understands gap maps gets one for each gap, and when later packets are lost. */
static void gap_map(struct kunit *test)
{
	struct fake_link *link = early_create(test);

	early_deliver(link, 1, 1);
	early_deliver(link, 3, 2);
	early_wait(link);
	early_expect(link, WEFT_AETH_NAK, 0, 0);
	early_repair(link, 0);
	early_expect_map(link, 2, BIT(1) | BIT(2), 2);
	/* nothing that is new */
	early_deliver(link, 3, 1);
	KUNIT_EXPECT_EQ(test, link->sent[1], 2);
	early_deliver(link, 6, 1);
	KUNIT_EXPECT_EQ(test, link->sent[1], 2);
	early_wait(link);
	early_expect_map(link, 2, BIT(1) | BIT(2) | BIT(4), 4);
	/* the answer to a repair is lost */
	early_repair(link, 0);
	early_expect_map(link, 2, BIT(1) | BIT(2) | BIT(4), 4);
	early_repair(link, 2);
	early_expect_map(link, 5, BIT(1), 1);
	early_repair(link, 5);
	early_expect(link, WEFT_AETH_ACK, 6, 7);
	fake_link_expect_quiet(link);
}

/* Packets that others may still overtake are not called lost. */
static void gap_map_is_careful(struct kunit *test)
{
	struct fake_link *link = early_create(test);

	early_repair(link, 0);
	early_expect(link, WEFT_AETH_ACK, 0, 1);
	early_deliver(link, 2, WEFT_EARLY_GAP_PACKETS / 2);
	early_deliver(link, WEFT_EARLY_GAP_PACKETS / 2 + 3, WEFT_EARLY_GAP_PACKETS / 2);
	early_expect_map(link, 1, 0xfe, 2);
	KUNIT_EXPECT_FALSE(test, fake_link_pass_time(link));
	early_repair(link, 1);
	early_expect_map(link, WEFT_EARLY_GAP_PACKETS / 2 + 2, 0xfe, WEFT_EARLY_GAP_PACKETS / 2);
	early_repair(link, WEFT_EARLY_GAP_PACKETS / 2 + 2);
	early_expect(link, WEFT_AETH_ACK, WEFT_EARLY_GAP_PACKETS + 2, WEFT_EARLY_GAP_PACKETS + 3);
	fake_link_expect_quiet(link);
}

/*
 * The newest packet comes again, from a requester that understands gap maps, so no answer has come
 * there: it is told of the gap at once, and again. Older packets come in a repair.
 */
static void gap_is_probed(struct kunit *test)
{
	struct fake_link *link = early_create(test);

	early_deliver(link, 1, 1);
	early_wait(link);
	early_expect(link, WEFT_AETH_NAK, 0, 0);
	early_repair(link, 1);
	early_expect_map(link, 0, BIT(1), 1);
	early_repair(link, 1);
	early_expect_map(link, 0, BIT(1), 1);
	early_deliver(link, 3, 1);
	early_repair(link, 1);
	KUNIT_EXPECT_EQ(test, link->sent[1], 3);
	early_repair(link, 5);
	early_expect_map(link, 0, BIT(1) | BIT(3) | BIT(5), 5);
	early_repair(link, 0);
	early_expect_map(link, 2, BIT(1) | BIT(3), 3);
	early_repair(link, 2);
	early_expect_map(link, 4, BIT(1), 1);
	early_repair(link, 4);
	early_expect(link, WEFT_AETH_ACK, 5, 6);
	fake_link_expect_quiet(link);
}

/* Without room a packet that has overtaken others is dropped, and refused as IBA says. */
static void gap_without_room(struct kunit *test)
{
	struct fake_link *link = early_create(test);
	atomic_t *bytes = &link->node[1].dev.early_bytes;

	atomic_set(bytes, WEFT_EARLY_DEV_BYTES);
	early_deliver(link, 1, 1);
	early_expect(link, WEFT_AETH_NAK, 0, 0);
	early_deliver(link, 0, 1);
	early_expect(link, WEFT_AETH_ACK, 0, 1);
	atomic_set(bytes, 0);
	fake_link_expect_quiet(link);
}

/* A peer can't make a QP keep more packets than it may, and none is left in @state. */
static void early_end(struct kunit *test, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	struct fake_link *link = early_create(test);
	struct fake_node *node = &link->node[1];

	early_deliver(link, 1, WEFT_EARLY_PACKETS + 10);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&node->qp->recv.early.packets), WEFT_EARLY_PACKETS);
	KUNIT_EXPECT_EQ(test, atomic_read(&node->dev.early_bytes), node->qp->recv.early.bytes);
	early_expect(link, WEFT_AETH_NAK, 0, 0);
	KUNIT_ASSERT_EQ(test, 0, weft_modify_qp(&node->ib_qp.ibqp, &attr, IB_QP_STATE, NULL));
	fake_link_settle(link);
	fake_link_expect_quiet(link);
}

static void error_with_early_packets(struct kunit *test)
{
	early_end(test, IB_QPS_ERR);
}

static void reset_with_early_packets(struct kunit *test)
{
	early_end(test, IB_QPS_RESET);
}

static void destroy_with_early_packets(struct kunit *test)
{
	early_deliver(early_create(test), 1, WEFT_EARLY_PACKETS);
}

static struct kunit_case early_cases[] = {
	KUNIT_CASE(gap_before_many),
	KUNIT_CASE(gap_behind_gap),
	KUNIT_CASE(gap_behind_gap_later),
	KUNIT_CASE(gap_map),
	KUNIT_CASE(gap_map_is_careful),
	KUNIT_CASE(gap_is_probed),
	KUNIT_CASE(gap_without_room),
	KUNIT_CASE(error_with_early_packets),
	KUNIT_CASE(reset_with_early_packets),
	KUNIT_CASE(destroy_with_early_packets),
	{}
};

static struct kunit_suite early_suite = {
	.name = "weft_rc_early",
	.exit = early_exit,
	.test_cases = early_cases,
};

kunit_test_suite(early_suite);
