// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fake_link.h"

#include <linux/hrtimer.h>
#include <linux/ip.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>

#include <kunit/test.h>

#include "compat/placement.h"
#include "engine/inflight.h"
#include "engine/piggyback.h"
#include "engine/requester.h"
#include "engine/rx.h"
#include "engine/transmit.h"
#include "fake_bulk.h"
#include "link/packet.h"
#include "link/roce_port.h"
#include "mem/copy.h"
#include "object/vector.h"
#include "stats.h"
#include "verbs/qp.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define FAKE_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 COMPAT_ACCESS_FLUSH)
#define FAKE_CQE	1024
#define FAKE_SGE	4
/* Hours: no test waits for real time. */
#define FAKE_TIMEOUT	31
/* 655 ms, the longest there is. */
#define FAKE_RNR_TIMER	0
/* Percent of the packets that could wait for others, and do not. */
#define FAKE_NO_HOLD	25
/* With so few retries left the wire makes no faults. */
#define FAKE_MERCY	4
/* Coprime to FAKE_PAGES, to map each page once. */
#define FAKE_SHUFFLE	7
/* More steps than any test takes: a test that takes more never ends. */
#define FAKE_STEPS	200000

/**
 * struct fake_cb - skb->cb of a packet
 * @link: the wire
 * @tx: transmitter that is charged for it; NULL: a copy of another packet
 */
struct fake_cb {
	struct fake_link	*link;
	struct weft_tx		*tx;
};

static struct fake_cb *fake_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct fake_cb) > sizeof(skb->cb));
	return (struct fake_cb *)skb->cb;
}

static struct fake_node *fake_node_of(const struct weft_dev *dev)
{
	return container_of(dev, struct fake_node, dev);
}

static struct weft_turn *fake_turn(struct fake_link *link, u32 half)
{
	struct weft_qp *qp = link->node[half / 2].qp;

	return half % 2 ? &qp->recv.turn : &qp->send.turn;
}

static struct weft_tx *fake_tx(struct fake_link *link, u32 half)
{
	struct weft_qp *qp = link->node[half / 2].qp;

	return half % 2 ? &qp->recv.tx : &qp->send.tx;
}

/*
 * Is a QP so short of retries that the wire must make no faults? Running out of retries is tested
 * separately.
 */
static bool fake_is_merciful(struct fake_link *link)
{
	u32 i;

	for (i = 0; i < FAKE_NODES; i++) {
		const struct weft_send *send = &link->node[i].qp->send;

		if (send->retry.cnt > FAKE_MERCY && send->retry.left <= FAKE_MERCY)
			return true;
	}
	return false;
}

static bool fake_chance(struct fake_link *link, u32 percent)
{
	return percent && fake_random(link, 100) < percent &&
	       (percent == 100 || !fake_is_merciful(link));
}

/* ---- packets ---- */

static void fake_freed(struct sk_buff *skb)
{
	atomic_dec(&fake_cb(skb)->link->alive);
}

static void fake_own(struct fake_link *link, struct sk_buff *skb, struct weft_tx *tx)
{
	*fake_cb(skb) = (struct fake_cb){ .link = link, .tx = tx };
	skb->destructor = fake_freed;
	atomic_inc(&link->alive);
	if (tx)
		atomic_add(skb->len, &tx->queued);
}

static void fake_put_ip(struct sk_buff *skb, __be32 saddr, __be32 daddr)
{
	struct iphdr *ip;

	skb_reset_network_header(skb);
	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->saddr = saddr;
	ip->daddr = daddr;
	__skb_pull(skb, sizeof(*ip));
}

static void fake_copy(void *to, struct weft_iter *from, u32 length)
{
	struct weft_span span = { .addr = (uintptr_t)to, .length = length };
	struct weft_iter iter;

	weft_span_iter(&span, &iter);
	if (length)
		weft_copy(&iter, from, length);
}

/* Put the end of the payload, and @trailer zeros, into pages, as some net devices do. */
static bool fake_put_frags(struct fake_link *link, struct sk_buff *skb,
			   struct weft_iter *payload, u32 length, u32 trailer)
{
	struct page *page = alloc_page(GFP_ATOMIC | __GFP_ZERO);
	u32 cut = fake_random(link, length);

	if (!page)
		return false;
	fake_copy(page_address(page), payload, length);
	if (cut) {
		get_page(page);
		skb_add_rx_frag(skb, 0, page, 0, cut, FAKE_PAGE / 2);
	}
	skb_add_rx_frag(skb, !!cut, page, cut, length - cut + trailer, FAKE_PAGE / 2);
	return true;
}

/* Encode headers also with an opcode that the codec does not know. Return: bytes. */
static u32 fake_encode(u8 *to, const struct weft_hdr *hdr)
{
	struct weft_hdr valid = *hdr;

	if (!weft_opcode(hdr->opcode)->length)
		valid.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_SEND_ONLY);
	weft_hdr_encode(to, &valid);
	*to = hdr->opcode;
	return weft_opcode(valid.opcode)->length;
}

static struct sk_buff *fake_packet(struct fake_node *from, struct weft_hdr *hdr,
				   struct weft_iter *payload, u32 length)
{
	u8 headers[WEFT_HDR_MAX_LENGTH];
	struct fake_link *link = from->link;
	u32 header, trailer, linear = length;
	struct sk_buff *skb;

	hdr->pad = -length & 3;
	/* the ICRC is not checked */
	trailer = hdr->pad + WEFT_ICRC_LENGTH;
	header = fake_encode(headers, hdr);
	if (fake_random(link, 2))
		linear = min(length, (u32)WEFT_HDR_MAX_LENGTH - header);
	skb = alloc_skb(sizeof(struct iphdr) + WEFT_HDR_MAX_LENGTH + linear + trailer,
			GFP_ATOMIC);
	if (!skb)
		return NULL;
	fake_put_ip(skb, from->ip, fake_node_peer(from)->ip);
	ip_hdr(skb)->tos = link->tos;
	skb_put_data(skb, headers, header);
	fake_copy(skb_put(skb, linear), payload, linear);
	if (linear == length) {
		skb_put_zero(skb, trailer);
	} else if (!fake_put_frags(link, skb, payload, length - linear, trailer)) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

/* ---- what the engine sees ---- */

/* A link relies on this. Expectations only: aborting the test here would leave locks held. */
static void fake_check_run(const struct weft_tx_batch *batch)
{
	struct fake_node *node = fake_node_of(batch->qp->dev);
	struct kunit *test = node->link->test;

	KUNIT_EXPECT_PTR_EQ(test, batch->qp, node->qp);
	KUNIT_EXPECT_PTR_EQ(test, batch->av, &batch->qp->av);
	KUNIT_EXPECT_TRUE(test, test_bit(WEFT_TURN_OWNED, &batch->tx->turn->bits));
	KUNIT_EXPECT_EQ(test, batch->mtu, FAKE_MTU);
	KUNIT_EXPECT_EQ(test, batch->hdr.dqpn, fake_node_peer(node)->qp->qpn);
	KUNIT_EXPECT_EQ(test, batch->hdr.psn, batch->hdr.psn & WEFT_PSN_MASK);
	KUNIT_EXPECT_LE(test, batch->num, WEFT_TX_BATCH_PACKETS);
	KUNIT_EXPECT_EQ(test, batch->num, weft_rules_psn_count(batch->length, batch->mtu));
}

/* Take the headers and payload of one packet of a batch. Return: bytes of payload. */
static u32 fake_take_of_run(const struct weft_tx_batch *batch, u32 i, struct weft_hdr *hdr)
{
	*hdr = batch->hdr;
	return weft_packet_header(batch, i, hdr);
}

/* Make packet number @i of a batch. Return: NULL: no memory counts as a loss. */
static struct sk_buff *fake_make(struct fake_node *node, const struct weft_tx_batch *batch, u32 i)
{
	struct fake_link *link = node->link;
	struct weft_hdr hdr;
	u32 length = fake_take_of_run(batch, i, &hdr);
	const struct weft_opcode *op = weft_opcode(hdr.opcode);
	struct sk_buff *skb;

	KUNIT_EXPECT_TRUE_MSG(link->test, weft_opcode_payload_valid(op, length, FAKE_MTU),
			      "opcode %#x with %u bytes", hdr.opcode, length);
	/* IBA 9.2.3: only in the last packet of a message that takes a receive */
	KUNIT_EXPECT_TRUE(link->test, !hdr.se || op->flags & WEFT_OPCODE_RECV);
	KUNIT_EXPECT_TRUE(link->test, !hdr.se || op->segment & WEFT_SEGMENT_LAST);
	skb = fake_packet(node, &hdr, batch->payload, length);
	if (!skb)
		return NULL;
	skb->mark = node == link->node && hdr.psn == link->watch_psn &&
		    op->flags & WEFT_OPCODE_REQUEST;
	fake_own(link, skb, batch->tx);
	return skb;
}

static void fake_send(struct fake_node *node, struct sk_buff *skb)
{
	struct fake_link *link = node->link;

	link->sent[node - link->node]++;
	link->watched += skb->mark;
	skb_queue_tail(&link->wire, skb);
}

static u32 fake_xmit(struct weft_tx_batch *batch)
{
	struct fake_node *node = fake_node_of(batch->qp->dev);
	u32 i, room = batch->num;
	struct sk_buff *skb;

	fake_check_run(batch);
	if (batch->tx->stalled)
		return 0; /* it is stalled again */
	if (fake_chance(node->link, node->link->faults.stall)) {
		room = fake_random(node->link, batch->num);
		batch->tx->stalled = true;
	}
	for (i = 0; i < room; i++) {
		skb = fake_make(node, batch, i);
		if (skb)
			fake_send(node, skb);
	}
	return room;
}

static bool fake_hold(struct weft_tx_batch *batch, struct weft_held *held)
{
	struct fake_node *node = fake_node_of(batch->qp->dev);
	struct sk_buff *skb;

	fake_check_run(batch);
	if (batch->tx->stalled || (!node->link->holds && fake_chance(node->link, FAKE_NO_HOLD)))
		return false;
	skb = fake_make(node, batch, 0);
	if (!skb)
		return false;
	skb->next = NULL;
	*(held->packets ? &held->burst.last->next : &held->burst.head) = skb;
	held->burst.last = skb;
	if (!held->packets++)
		held->psn = batch->hdr.psn;
	return true;
}

static bool fake_release(struct weft_qp *qp, struct weft_held *held)
{
	struct fake_node *node = fake_node_of(qp->dev);
	bool full = fake_chance(node->link, node->link->faults.stall);
	struct sk_buff *skb, *next;

	KUNIT_EXPECT_TRUE(node->link->test, test_bit(WEFT_TURN_OWNED, &qp->send.turn.bits));
	for (skb = held->burst.head; skb; skb = next) {
		next = skb->next;
		skb_mark_not_on_list(skb);
		if (full) {
			atomic_sub(skb->len, &fake_cb(skb)->tx->queued);
			kfree_skb(skb);
		} else {
			fake_send(node, skb);
		}
	}
	*held = (struct weft_held){};
	qp->send.tx.stalled |= full;
	return !full;
}

static void fake_forget(struct weft_tx *tx)
{
	tx->dst = NULL;
}

static const struct weft_link fake_link_ops = {
	.execute = weft_transmit,
	.xmit = fake_xmit,
	.hold = fake_hold,
	.release = fake_release,
	.forget = fake_forget,
};

/* ---- what happens ---- */

/* Receive a packet as a link does in a soft interrupt. */
static void fake_receive(struct fake_node *node, struct sk_buff *skb)
{
	struct weft_pkt pkt;

	weft_pkt_init(&pkt, skb, &weft_port_roce, NULL, &node->dev);
	pkt.qp = node->qp;
	weft_pkt_decode(&pkt);
	KUNIT_EXPECT_EQ(node->link->test, pkt.hdr.dqpn, node->qp->qpn);
	weft_qp_hold(node->qp);
	local_bh_disable();
	rcu_read_lock();
	weft_rx_deliver(&pkt);
	rcu_read_unlock();
	local_bh_enable();
}

/* Receive a packet while another CPU owns both turns. */
static void fake_receive_busy(struct fake_node *node, struct sk_buff *skb)
{
	bool send = weft_turn_try(&node->qp->send.turn);
	bool recv = weft_turn_try(&node->qp->recv.turn);

	fake_receive(node, skb);
	if (send)
		weft_turn_release(&node->qp->send.turn);
	if (recv)
		weft_turn_release(&node->qp->recv.turn);
}

static void fake_take_off(struct fake_link *link, struct sk_buff *skb)
{
	struct weft_tx *tx = fake_cb(skb)->tx;

	skb_unlink(skb, &link->wire);
	if (tx)
		atomic_sub(skb->len, &tx->queued);
}

static struct sk_buff *fake_take(struct fake_link *link, u32 i)
{
	struct sk_buff *skb = skb_peek(&link->wire);

	while (i--)
		skb = skb_peek_next(skb, &link->wire);
	fake_take_off(link, skb);
	return skb;
}

static struct fake_node *fake_destination(struct fake_link *link, const struct sk_buff *skb)
{
	return &link->node[ip_hdr(skb)->daddr == link->node[1].ip];
}

/* Put a copy of a packet behind all that are under way. */
static void fake_repeat(struct fake_link *link, struct sk_buff *skb)
{
	struct sk_buff *copy = skb_copy(skb, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(link->test, copy);
	fake_own(link, copy, NULL);
	skb_queue_tail(&link->wire, copy);
}

static void fake_arrival(struct fake_link *link)
{
	u32 among = min(skb_queue_len(&link->wire), FAKE_OVERTAKEN + 1), i = 0;
	struct sk_buff *skb;

	if (fake_chance(link, link->faults.reorder))
		i = fake_random(link, among);
	skb = fake_take(link, i);
	if (fake_chance(link, link->faults.loss)) {
		kfree_skb(skb);
		return;
	}
	if (fake_chance(link, link->faults.duplicate))
		fake_repeat(link, skb);
	if (fake_chance(link, link->faults.bulk))
		fake_bulk_arrive(fake_destination(link, skb), skb,
				 fake_chance(link, link->faults.busy));
	else if (fake_chance(link, link->faults.busy))
		fake_receive_busy(fake_destination(link, skb), skb);
	else
		fake_receive(fake_destination(link, skb), skb);
}

void fake_link_arrive(struct fake_link *link, struct sk_buff *skb)
{
	fake_take_off(link, skb);
	fake_receive(fake_destination(link, skb), skb);
}

void fake_link_drop(struct fake_link *link, struct sk_buff *skb)
{
	fake_take_off(link, skb);
	kfree_skb(skb);
}

static bool fake_has_event(struct fake_link *link, u32 half)
{
	return fake_turn(link, half)->bits & WEFT_TURN_EVENTS;
}

static void fake_run(struct fake_link *link, u32 half)
{
	struct weft_turn *turn = fake_turn(link, half);
	struct weft_retry *retry = &turn->qp->send.retry;

	KUNIT_ASSERT_TRUE(link->test, weft_turn_try(turn));
	turn->run(turn->qp);
	/* nothing waits for longer than the ack timeout, and an RNR delay is shorter than 1 s */
	if (hrtimer_is_queued(&retry->timer))
		KUNIT_EXPECT_LE(link->test, hrtimer_get_remaining(&retry->timer),
				max_t(s64, NSEC_PER_SEC, 4096LL << retry->timeout));
}

static bool fake_is_stalled(struct fake_link *link, u32 half)
{
	return fake_tx(link, half)->stalled;
}

static void fake_make_room(struct fake_link *link, u32 half)
{
	struct weft_tx *tx = fake_tx(link, half);

	tx->stalled = false;
	weft_turn_post(tx->turn, WEFT_EV_RUN);
}

/*
 * When a timer expires: too early, when a probe is due, when the ack timeout has come, or when the
 * engine's times say so.
 */
enum fake_expiry {
	FAKE_EARLY,
	FAKE_PROBE,
	FAKE_TIMEOUT_OVER,
	FAKE_LOOK,
};

/*
 * Let a node's timer expire, in virtual time: the engine starts it once, and then only moves the
 * times that it waits for.
 */
static bool fake_expire(struct fake_node *node, enum fake_expiry expiry)
{
	struct weft_send *send = &node->qp->send;

	if (!hrtimer_cancel(&send->retry.timer) && !node->expired)
		return false;
	node->expired = false;
	if (expiry != FAKE_LOOK)
		send->retry.quiet = expiry == FAKE_PROBE ? -3600LL * NSEC_PER_SEC : ktime_get();
	if (expiry == FAKE_TIMEOUT_OVER)
		send->retry.deadline = 0;
	weft_turn_post(&send->turn, WEFT_EV_TIMER);
	return true;
}

static void fake_hurry(struct fake_link *link)
{
	struct fake_node *node = &link->node[fake_random(link, FAKE_NODES)];

	/* an RNR delay never ends early */
	fake_expire(node, node->qp->send.retry.rnr_wait ? FAKE_TIMEOUT_OVER :
							  fake_random(link, FAKE_TIMEOUT_OVER + 1));
}

bool fake_link_tick(struct fake_node *node)
{
	struct weft_piggyback *piggyback = &node->qp->recv.piggyback;
	bool waits = piggyback->waits, old = piggyback->old;

	local_bh_disable();
	KUNIT_EXPECT_EQ(node->link->test, weft_piggyback_tick(node->qp), waits && !old);
	local_bh_enable();
	return waits;
}

bool fake_link_step(struct fake_link *link)
{
	u32 half, first = fake_random(link, 2 * FAKE_NODES), i;

	if (fake_chance(link, link->faults.hurry))
		fake_hurry(link);
	if (fake_chance(link, link->faults.hurry))
		fake_link_tick(&link->node[first % FAKE_NODES]);
	if (!skb_queue_empty(&link->wire) && fake_random(link, 2)) {
		fake_arrival(link);
		return true;
	}
	for (i = 0; i < 2 * FAKE_NODES; i++) {
		half = (first + i) % (2 * FAKE_NODES);
		if (fake_has_event(link, half)) {
			fake_run(link, half);
			return true;
		}
		if (fake_is_stalled(link, half)) {
			fake_make_room(link, half);
			return true;
		}
	}
	if (skb_queue_empty(&link->wire))
		return false;
	fake_arrival(link);
	return true;
}

static struct weft_early *fake_early(struct fake_link *link, u32 half)
{
	struct weft_qp *qp = link->node[half / 2].qp;

	return half % 2 ? &qp->recv.early : &qp->send.early;
}

/* Let the gap of a requester or responder become old. */
static bool fake_gap_ages(struct fake_link *link, u32 half)
{
	struct weft_early *early = fake_early(link, half);

	if (weft_early_is_empty(early) || !early->due || early->old)
		return false;
	early->old = true;
	weft_turn_post(fake_turn(link, half), WEFT_EV_TIMER);
	return true;
}

void fake_link_look(struct fake_link *link)
{
	struct weft_early *early;
	u32 i;

	for (i = 0; i < 2 * FAKE_NODES; i++) {
		early = fake_early(link, i);
		if (!ktime_after(early->due, ktime_get()))
			fake_gap_ages(link, i);
	}
	for (i = 0; i < FAKE_NODES; i++)
		fake_expire(&link->node[i], FAKE_LOOK);
}

bool fake_link_pass_time(struct fake_link *link)
{
	u32 first = fake_random(link, FAKE_NODES), i;

	for (i = 0; i < 2 * FAKE_NODES; i++)
		if (fake_gap_ages(link, i) || fake_link_tick(&link->node[i % FAKE_NODES]))
			return true;
	for (i = 0; i < FAKE_NODES; i++)
		if (fake_expire(&link->node[(first + i) % FAKE_NODES], FAKE_TIMEOUT_OVER))
			return true;
	return false;
}

void fake_link_settle(struct fake_link *link)
{
	u32 steps = 0;

	while (fake_link_step(link) || fake_link_pass_time(link)) {
		steps++;
		KUNIT_ASSERT_LT(link->test, steps, FAKE_STEPS);
	}
}

void fake_link_run_halves(struct fake_link *link)
{
	u32 half, steps = 0;
	bool any;

	do {
		any = false;
		for (half = 0; half < 2 * FAKE_NODES; half++) {
			if (!fake_has_event(link, half))
				continue;
			fake_run(link, half);
			any = true;
			KUNIT_ASSERT_LT(link->test, steps++, FAKE_STEPS);
		}
	} while (any);
}

void fake_link_write(struct fake_link *link)
{
	const struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_WRITE,
		.remote_addr = fake_node_addr(&link->node[1], 0),
		.rkey = link->node[1].region->key,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(link->test, 0, weft_post_send(&link->node[0].ib_qp.ibqp, &wr.wr, &bad));
	fake_link_run_halves(link);
}

void fake_link_deliver(struct fake_node *from, struct weft_hdr *hdr,
		       const void *payload, u32 length)
{
	struct weft_span span = { .addr = (uintptr_t)payload, .length = length };
	struct weft_iter iter;
	struct sk_buff *skb;

	weft_span_iter(&span, &iter);
	skb = fake_packet(from, hdr, &iter, length);
	KUNIT_ASSERT_NOT_NULL(from->link->test, skb);
	fake_own(from->link, skb, NULL);
	fake_receive(fake_node_peer(from), skb);
}

bool fake_link_take(struct fake_link *link, struct weft_pkt *pkt)
{
	if (skb_queue_empty(&link->wire))
		return false;
	weft_pkt_init(pkt, fake_take(link, 0), &weft_port_roce, NULL, NULL);
	weft_pkt_decode(pkt);
	return true;
}

void fake_link_lose(struct fake_link *link)
{
	KUNIT_ASSERT_FALSE(link->test, skb_queue_empty(&link->wire));
	kfree_skb(fake_take(link, skb_queue_len(&link->wire) - 1));
}

/* ---- creation ---- */

static enum hrtimer_restart fake_timer_expired(struct hrtimer *timer)
{
	struct weft_qp *qp = container_of(timer, struct weft_qp, send.retry.timer);

	fake_node_of(qp->dev)->expired = true;
	return HRTIMER_NORESTART;
}

/* See fake_link_tick(). */
static enum hrtimer_restart fake_wait_expired(struct hrtimer *timer)
{
	struct weft_qp *qp = container_of(timer, struct weft_qp, recv.piggyback.timer);

	fake_node_of(qp->dev)->ticked = true;
	return HRTIMER_NORESTART;
}

/* See fake_gap_ages(). */
static enum hrtimer_restart fake_gap_expired(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

static void fake_qp_event(struct ib_event *event, void *context)
{
	struct fake_node *node = context;

	if (event->event < FAKE_EVENTS)
		node->events[event->event]++;
}

static void fake_comp_event(struct ib_cq *ibcq, void *context)
{
	struct fake_node *node = context;

	node->comp_events++;
}

static void fake_cq_create(struct fake_node *node, struct weft_cq *cq)
{
	struct kunit *test = node->link->test;

	cq->ibcq.device = &node->dev.ibdev;
	cq->ibcq.comp_handler = fake_comp_event;
	cq->ibcq.cq_context = node;
	spin_lock_init(&cq->lock);
	spin_lock_init(&cq->poll_lock);
	cq->ring = weft_ring_create(FAKE_CQE, sizeof(struct weft_cqe), NULL, NULL);
	if (IS_ERR(cq->ring)) {
		cq->ring = NULL;
		KUNIT_FAIL_AND_ABORT(test, "no memory for a CQ");
	}
	/* call its handler at once, not from a tasklet */
	cq->user = true;
	weft_vector_init(cq, 0);
}

static void fake_cq_destroy(struct weft_cq *cq)
{
	weft_ring_destroy(cq->ring);
}

static void fake_memory_create(struct fake_node *node)
{
	struct kunit *test = node->link->test;
	struct weft_region *region;
	u32 i;

	node->memory = kvmalloc(FAKE_MEMORY, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, node->memory);
	prandom_bytes_state(&node->link->random, node->memory, FAKE_MEMORY);
	for (i = 0; i < FAKE_PAGES; i++)
		node->blocks[i] = node->memory + i * FAKE_SHUFFLE % FAKE_PAGES * FAKE_PAGE;
	region = weft_region_alloc(&node->dev.regions, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	region->access = FAKE_ACCESS;
	region->pd = &node->pd;
	region->iova = 0x7f0000000000ULL + (node - node->link->node) * 0x100000;
	region->length = FAKE_MEMORY;
	region->base = region->iova;
	region->blocks = node->blocks;
	region->page_shift = FAKE_PAGE_SHIFT;
	weft_region_publish(region);
	node->region = region;
}

static void fake_node_create(struct fake_node *node, const struct fake_attr *attr)
{
	struct ib_qp_init_attr init = {
		.send_cq = &node->send_cq.ibcq,
		.recv_cq = &node->recv_cq.ibcq,
		.cap = {
			.max_send_wr = attr->max_wr,
			.max_recv_wr = attr->max_wr,
			.max_send_sge = FAKE_SGE,
			.max_recv_sge = FAKE_SGE,
			.max_inline_data = FAKE_INLINE,
		},
		.sq_sig_type = attr->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = attr->type,
		.port_num = 1,
	};
	struct kunit *test = node->link->test;
	struct ib_qp *ibqp = &node->ib_qp.ibqp;

	weft_region_table_init(&node->dev.regions);
	node->dev.wire = &fake_link_ops;
	node->dev.port_ops = &weft_port_roce;
	node->dev.port_state = IB_PORT_ACTIVE;
	node->dev.stats = alloc_percpu(struct weft_stats);
	KUNIT_ASSERT_NOT_NULL(test, node->dev.stats);
	node->pd.device = &node->dev.ibdev;
	fake_memory_create(node);
	fake_cq_create(node, &node->send_cq);
	fake_cq_create(node, &node->recv_cq);
	ibqp->device = &node->dev.ibdev;
	ibqp->pd = &node->pd;
	ibqp->event_handler = fake_qp_event;
	ibqp->qp_context = node;
	KUNIT_ASSERT_EQ(test, weft_create_qp(ibqp, &init, NULL), 0);
	node->qp = node->ib_qp.qp;
	/* from now on only fake_link_step() makes things happen, and events are raised at once */
	node->qp->events.deferred = false;
	disable_work(&node->qp->send.turn.work);
	disable_work(&node->qp->recv.turn.work);
	disable_work(&node->qp->migration.work);
	hrtimer_setup(&node->qp->send.retry.timer, fake_timer_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&node->qp->send.early.timer, fake_gap_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&node->qp->recv.early.timer, fake_gap_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&node->qp->recv.piggyback.timer, fake_wait_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

static void fake_gid(union ib_gid *gid, __be32 ip)
{
	ipv6_addr_set_v4mapped(ip, (struct in6_addr *)gid->raw);
}

/* Do what modify_qp does, without looking up the path in the core. */
static void fake_connect(struct fake_node *node, const struct fake_attr *attr)
{
	struct fake_node *peer = fake_node_peer(node);
	struct weft_qp *qp = node->qp;
	struct weft_inflight inflight;

	fake_gid(&qp->av.sgid, node->ip);
	fake_gid(&qp->av.dgid, peer->ip);
	qp->link = &fake_link_ops;
	qp->dest_qpn = peer->qp->qpn;
	qp->mtu = FAKE_MTU;
	qp->access = FAKE_ACCESS;
	qp->recv.psn = attr->psn[peer - node->link->node];
	qp->recv.ack_psn = weft_psn_add(qp->recv.psn, -1);
	qp->recv.rnr_timer = FAKE_RNR_TIMER;
	qp->recv.max_dest_rd_atomic = attr->max_rd_atomic;
	qp->send.psn = attr->psn[node - node->link->node];
	qp->send.retry.cnt = attr->retry_cnt;
	qp->send.retry.rnr_cnt = attr->rnr_retry;
	qp->send.max_rd_atomic = attr->max_rd_atomic;
	KUNIT_ASSERT_EQ(node->link->test,
			weft_inflight_prepare(&inflight, qp, qp->send.ring->entries), 0);
	weft_inflight_install(qp, &inflight);
	weft_requester_reset(qp);
	/* now, as tests begin with a large window */
	qp->send.retry.timeout = FAKE_TIMEOUT;
	WRITE_ONCE(qp->state, IB_QPS_RTS);
}

struct fake_link *fake_link_create(struct kunit *test, const struct fake_attr *attr,
				   u64 seed)
{
	struct fake_link *link = kvzalloc(sizeof(*link), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, link);
	test->priv = link;
	link->test = test;
	prandom_seed_state(&link->random, seed);
	skb_queue_head_init(&link->wire);
	for (i = 0; i < FAKE_NODES; i++) {
		link->node[i].link = link;
		link->node[i].ip = htonl(0xc0000201 + i); /* RFC 5737 */
		fake_node_create(&link->node[i], attr);
	}
	for (i = 0; i < FAKE_NODES; i++)
		fake_connect(&link->node[i], attr);
	return link;
}

/* ---- the end ---- */

static void fake_node_destroy(struct fake_node *node)
{
	if (node->qp) {
		KUNIT_EXPECT_EQ(node->link->test, refcount_read(&node->qp->refs), 1);
		weft_destroy_qp(&node->ib_qp.ibqp, NULL);
	}
	fake_cq_destroy(&node->recv_cq);
	fake_cq_destroy(&node->send_cq);
	if (node->region) {
		/* weft_region_kill() would wait for ever otherwise */
		KUNIT_EXPECT_EQ(node->link->test, refcount_read(&node->region->refs), 1);
		if (refcount_read(&node->region->refs) == 1)
			weft_region_kill(node->region);
	}
	weft_region_table_destroy(&node->dev.regions);
	kvfree(node->memory);
	free_percpu(node->dev.stats);
}

void fake_link_destroy(struct fake_link *link)
{
	u32 i;

	if (!link)
		return;
	skb_queue_purge(&link->wire);
	for (i = 0; i < FAKE_NODES; i++)
		if (link->node[i].link)
			fake_node_destroy(&link->node[i]);
	KUNIT_EXPECT_EQ(link->test, atomic_read(&link->alive), 0);
	kvfree(link);
}

void fake_node_read(const struct fake_node *node, u32 offset, void *to, u32 length)
{
	u32 run;

	for (; length; length -= run, offset += run, to += run) {
		run = min_t(u32, length, FAKE_PAGE - offset % FAKE_PAGE);
		memcpy(to, node->blocks[offset / FAKE_PAGE] + offset % FAKE_PAGE, run);
	}
}
