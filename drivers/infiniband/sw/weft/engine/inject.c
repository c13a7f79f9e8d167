// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/inject.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/math64.h>
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>

#include "engine/drop.h"
#include "engine/inflight.h"
#include "engine/late.h"
#include "engine/pace.h"
#include "engine/pkt.h"
#include "engine/rules.h"
#include "engine/rx.h"
#include "object/cq.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"
#include "wire/aeth.h"
#include "wire/codec.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* The fault that usually has a status: its vendor_err is that of a real failure. */
static enum weft_fault inject_fault(enum ib_wc_status status)
{
	enum weft_fault fault;

	for (fault = WEFT_FAULT_NONE + 1; fault < WEFT_FAULTS; fault++)
		if (weft_rules_status(fault) == status)
			return fault;
	return WEFT_FAULT_INJECTED;
}

static u32 inject_length(const struct weft_swqe *wqe)
{
	u64 length = wqe->sqe.inline_length;
	u32 i;

	for (i = 0; i < wqe->sqe.num_sge; i++)
		length += wqe->sge[i].length;
	return min_t(u64, length, U32_MAX);
}

/*
 * A work request has just been taken. The send turn is owned. Returns true: it has to wait, and an
 * event will come. If it is to fail, @slot->fault is set.
 */
bool weft_inject_request(struct weft_qp *qp, struct weft_slot *slot)
{
	struct weft_inject_event event = {
		.place = WEFT_INJECT_REQUEST,
		.qp = qp,
		.opcode = BIT(slot->wqe.sqe.opcode),
		/* it counts this request already */
		.message = qp->send.inflight.tail,
	};
	enum weft_inject_action action = WEFT_INJECT_NO_ACTION;
	const struct weft_inject_rule *rule;

	weft_assert_turn(&qp->send.turn);
	if (slot->fault)
		return false;
	event.bytes = inject_length(&slot->wqe);
	rcu_read_lock();
	rule = weft_inject_find(qp->dev, &event);
	if (rule)
		action = rule->action;
	if (action == WEFT_INJECT_COMPLETE) {
		slot->status = rule->status;
		slot->fault = rule->vendor_err ?: inject_fault(rule->status);
		slot->rule = rule->number;
	} else if (action == WEFT_INJECT_DELAY_IT) {
		weft_pace_delay(&qp->send, rule->delay);
	} else if (action == WEFT_INJECT_LATE) {
		weft_late_begin(qp, slot, rule->delay);
	}
	rcu_read_unlock();
	if (action == WEFT_INJECT_OVERRUN)
		weft_cq_overrun(qp->send_cq ?: qp->recv.cq);
	return action == WEFT_INJECT_DELAY_IT;
}

/* The same for the status of a receive. */
static enum weft_fault inject_receive_fault(enum ib_wc_status status)
{
	enum weft_fault fault;

	for (fault = WEFT_FAULT_NONE + 1; fault < WEFT_FAULTS; fault++)
		if (weft_rules_refusal(fault, WEFT_SERVICE_RC)->responder == status)
			return fault;
	return inject_fault(status);
}

/*
 * A message has just taken a receive, which is held. Returns WEFT_FAULT_INJECTED: it fails as
 * weft_recv.injected says; or WEFT_FAULT_NONE. The receive turn is owned.
 */
enum weft_fault weft_inject_receive(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	const struct weft_inject_event event = {
		.place = WEFT_INJECT_RECEIVE,
		.qp = qp,
		.bytes = min_t(u64, recv->wqe.length, U32_MAX),
	};
	const struct weft_inject_rule *rule;

	weft_assert_turn(&recv->turn);
	/* the MAD layer makes its QPs once for each device */
	if (qp->type == IB_QPT_GSI || qp->type == IB_QPT_SMI)
		return WEFT_FAULT_NONE;
	rcu_read_lock();
	rule = weft_inject_find(qp->dev, &event);
	if (rule)
		recv->injected = (struct weft_injected){
			.status = rule->status,
			.fault = rule->vendor_err ?: inject_receive_fault(rule->status),
			.rule = rule->number,
		};
	rcu_read_unlock();
	return rule ? WEFT_FAULT_INJECTED : WEFT_FAULT_NONE;
}

/* The bit of a packet's opcode in a rule. */
u32 weft_inject_opcode(const struct weft_opcode *op)
{
	switch (op->kind) {
	case WEFT_KIND_ACK:
		return WEFT_INJECT_ACK;
	case WEFT_KIND_READ_RESPONSE:
		return WEFT_INJECT_READ_RESPONSE;
	case WEFT_KIND_ATOMIC_ACK:
		return WEFT_INJECT_ATOMIC_ACK;
	default:
		return BIT(op->sqe);
	}
}

/*
 * Was the packet sent before? Only those are known that have come since there are rules. The first
 * packet of a message counts it.
 */
static bool inject_was_seen(struct weft_inject_seen *seen, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	bool response = op->flags & WEFT_OPCODE_RESPONSE;
	u32 psn = pkt->hdr.psn;

	/* a first packet that was lost counts when it is sent again */
	if (!response && op->segment & WEFT_SEGMENT_FIRST &&
	    (!seen->messages || weft_psn_before(seen->begin, psn))) {
		seen->messages++;
		seen->begin = psn;
	}
	if (seen->known[response] && weft_psn_before(psn, seen->next[response]))
		return true;
	/* two CPUs may do so at the same time; then the lower number may stay */
	seen->next[response] = weft_psn_add(psn, 1);
	seen->known[response] = true;
	return false;
}

/* The number of the message that a request packet belongs to, if that is the newest; else 0. */
static u32 inject_message(const struct weft_inject_seen *seen, const struct weft_pkt *pkt)
{
	bool response = weft_opcode(pkt->hdr.opcode)->flags & WEFT_OPCODE_RESPONSE;

	return response || weft_psn_before(pkt->hdr.psn, seen->begin) ? 0 : seen->messages;
}

static void inject_drop(struct weft_pkt *pkt, enum weft_stat why)
{
	weft_pkt_drop(pkt, pkt->dev, why);
	weft_qp_put(pkt->qp);
}

/*
 * When a packet of @bytes arrives that @rule delays; 0: it would wait for too long. Those of a rule
 * keep their order, unless it says otherwise. The lock of the queue is held.
 */
static ktime_t inject_when(struct weft_inject_rule *rule, u32 bytes)
{
	/* a user's packets must not take the place of those of others for long */
	u64 most = rule->who.pid ? NSEC_PER_SEC : WEFT_INJECT_TIME;
	u64 match = atomic64_read(&rule->fired);
	u32 draw = jhash_2words((u32)match, (u32)(match >> 32), ~rule->seed);
	ktime_t now = ktime_get(), sent = now, due;

	if (rule->rate)
		sent = ktime_add_ns(max(rule->sent, now), weft_pace_ns(bytes, rule->rate));
	due = ktime_add_ns(sent, rule->delay + mul_u64_u32_shr(rule->jitter, draw, 32));
	if (!rule->reorder)
		due = max(due, rule->last);
	if (rule->rate && ktime_sub(sent, now) > most)
		return 0;
	rule->sent = sent;
	rule->last = max(due, rule->last);
	return due;
}

/* Let the packet arrive again later, or when it is released. */
static void inject_hold(struct weft_pkt *pkt, struct weft_inject_rule *rule)
{
	struct weft_inject *inject = &pkt->dev->inject;
	struct sk_buff *skb = pkt->skb, *at;
	unsigned long flags;

	if (skb_queue_len_lockless(&inject->held) >= WEFT_QUEUE_PACKETS) {
		inject_drop(pkt, WEFT_STAT_RX_QUEUE_FULL);
		return;
	}
	skb_orphan(skb);
	weft_pkt_keep(pkt);
	spin_lock_irqsave(&inject->held.lock, flags);
	skb->tstamp = rule->action == WEFT_INJECT_HOLD ? KTIME_MAX : inject_when(rule, skb->len);
	if (!skb->tstamp) {
		spin_unlock_irqrestore(&inject->held.lock, flags);
		inject_drop(pkt, WEFT_STAT_RX_QUEUE_FULL);
		return;
	}
	skb_queue_reverse_walk(&inject->held, at)
		if (at->tstamp <= skb->tstamp)
			break;
	__skb_queue_after(&inject->held, at, skb);
	if (skb_peek(&inject->held) == skb)
		hrtimer_start(&inject->timer, skb->tstamp, HRTIMER_MODE_ABS_SOFT);
	spin_unlock_irqrestore(&inject->held.lock, flags);
	weft_qp_put(pkt->qp);
}

/* Take the first packet if it is due; otherwise start the timer. */
static struct sk_buff *inject_due(struct weft_inject *inject)
{
	struct sk_buff *skb;
	unsigned long flags;

	spin_lock_irqsave(&inject->held.lock, flags);
	skb = skb_peek(&inject->held);
	if (skb && skb->tstamp > ktime_get()) {
		hrtimer_start(&inject->timer, skb->tstamp, HRTIMER_MODE_ABS_SOFT);
		skb = NULL;
	}
	if (skb)
		__skb_unlink(skb, &inject->held);
	spin_unlock_irqrestore(&inject->held.lock, flags);
	return skb;
}

/* In a soft interrupt. The QP of a packet may be gone, so it is looked up again. */
static enum hrtimer_restart inject_expired(struct hrtimer *timer)
{
	struct weft_inject *inject = container_of(timer, struct weft_inject, timer);
	struct weft_dev *dev = container_of(inject, struct weft_dev, inject);
	struct weft_pkt pkt __uninitialized;
	struct sk_buff *skb;

	rcu_read_lock();
	while ((skb = inject_due(inject))) {
		skb->tstamp = 0;
		weft_pkt_again(skb, &pkt);
		/* the details of an InfiniBand port need it before the QP is known */
		pkt.dev = dev->hca ? dev : NULL;
		weft_rx_again(&pkt);
	}
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

/* Let all packets of @dev that rules hold arrive now, in their order. */
void weft_inject_release(struct weft_dev *dev)
{
	struct weft_inject *inject = &dev->inject;
	ktime_t now = ktime_get();
	struct sk_buff *skb;
	unsigned long flags;

	spin_lock_irqsave(&inject->held.lock, flags);
	/* they are the last of the queue; no other one is due before now */
	while ((skb = skb_peek_tail(&inject->held)) && skb->tstamp == KTIME_MAX) {
		__skb_unlink(skb, &inject->held);
		skb->tstamp = now;
		__skb_queue_head(&inject->held, skb);
	}
	if (!skb_queue_empty(&inject->held))
		hrtimer_start(&inject->timer, now, HRTIMER_MODE_ABS_SOFT);
	spin_unlock_irqrestore(&inject->held.lock, flags);
}

static void inject_duplicate(struct weft_pkt *pkt)
{
	struct weft_pkt copy = *pkt;

	copy.skb = skb_clone(pkt->skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!copy.skb)
		return;
	skb_orphan(copy.skb);
	weft_qp_hold(copy.qp);
	weft_rx_deliver(&copy);
}

/*
 * Replace the buffer by a copy that can be changed: the pages of a packet may be those of its
 * sender's memory. Returns false: there is no memory for it.
 */
static bool inject_copy(struct weft_pkt *pkt)
{
	struct sk_buff *copy = skb_copy(pkt->skb, GFP_ATOMIC | __GFP_NOWARN);

	if (!copy)
		return false;
	consume_skb(pkt->skb);
	pkt->skb = copy;
	return true;
}

/* Change the first byte of the payload. */
static void inject_bad_data(struct weft_pkt *pkt)
{
	if (pkt->hdr.payload && inject_copy(pkt))
		pkt->skb->data[pkt->hdr.length] ^= 0xff;
}

/* Mark a packet of RoCE in its IP header, as it may be decoded again later. */
static void inject_mark(struct weft_pkt *pkt)
{
	if (pkt->dev->hca || !inject_copy(pkt))
		return;
	if (ip_hdr(pkt->skb)->version == 4)
		ipv4_change_dsfield(ip_hdr(pkt->skb), 0xff, INET_ECN_CE);
	else
		ipv6_change_dsfield(ipv6_hdr(pkt->skb), 0xff, INET_ECN_CE);
	pkt->ce = WEFT_CE_MARKED;
}

/* The packet may be decoded again later, so its bytes change, and not only @pkt->hdr. */
static void inject_answer(struct weft_pkt *pkt, u8 syndrome)
{
	if (!inject_copy(pkt))
		return;
	pkt->hdr.aeth.syndrome = syndrome;
	weft_hdr_encode(pkt->skb->data, &pkt->hdr);
}

/* Change a field, if the packet has it. Returns true: it is for nobody then, and gone. */
static bool inject_set(struct weft_pkt *pkt, enum weft_inject_field field, u64 value)
{
	struct weft_hdr *hdr = &pkt->hdr;

	if (!inject_copy(pkt))
		return false;
	/* the encoder ignores the fields of headers that the packet does not have */
	switch (field) {
	case WEFT_FIELD_SE:
		hdr->se = value;
		break;
	case WEFT_FIELD_ACKREQ:
		hdr->ackreq = value;
		break;
	case WEFT_FIELD_PSN:
		hdr->psn = value;
		break;
	case WEFT_FIELD_IMM:
		hdr->imm = cpu_to_be32(value);
		break;
	case WEFT_FIELD_INV:
		hdr->ieth.rkey = value;
		break;
	case WEFT_FIELD_SRQN:
		hdr->xrceth.srqn = value;
		break;
	case WEFT_FIELD_QKEY:
		hdr->deth.qkey = value;
		break;
	case WEFT_FIELD_SRC_QP:
		hdr->deth.sqpn = value;
		break;
	case WEFT_FIELD_RKEY:
		hdr->reth.rkey = value;
		hdr->atomic.rkey = value;
		break;
	case WEFT_FIELD_ADDRESS:
		hdr->reth.va = value;
		hdr->atomic.va = value;
		break;
	case WEFT_FIELD_LENGTH:
		hdr->reth.length = value;
		break;
	case WEFT_FIELD_MSN:
		hdr->aeth.msn = value;
		break;
	case WEFT_FIELD_FECN:
		hdr->fecn = value;
		break;
	case WEFT_FIELD_BECN:
		hdr->becn = value;
		break;
	case WEFT_FIELD_OPCODE:
		/* the headers that follow are read anew from bytes that the encoder would change */
		pkt->skb->data[0] = value;
		return !weft_rx_changed(pkt);
	case WEFT_FIELD_PKEY:
		hdr->pkey = value;
		break;
	case WEFT_FIELD_DEST_QP:
		hdr->dqpn = value;
		break;
	}
	weft_hdr_encode(pkt->skb->data, hdr);
	return !weft_rx_changed(pkt);
}

/* Leave @bytes of payload, a pad and room for the ICRC, which nobody looks at any more. */
static void inject_truncate(struct weft_pkt *pkt, u64 bytes)
{
	struct weft_hdr *hdr = &pkt->hdr;

	if (bytes >= hdr->payload || !inject_copy(pkt))
		return;
	hdr->pad = -bytes & 3;
	skb_trim(pkt->skb, hdr->length + bytes + hdr->pad + WEFT_ICRC_LENGTH);
	weft_hdr_encode(pkt->skb->data, hdr);
	weft_pkt_decode(pkt);
}

/* Returns true: the packet is gone. */
static bool inject_act(struct weft_pkt *pkt, struct weft_inject_rule *rule)
{
	switch (rule->action) {
	case WEFT_INJECT_DROP:
		inject_drop(pkt, WEFT_STAT_RX_INJECTED);
		return true;
	case WEFT_INJECT_BAD_ICRC:
		inject_drop(pkt, WEFT_STAT_RX_ICRC);
		return true;
	case WEFT_INJECT_DELAY_IT:
	case WEFT_INJECT_HOLD:
		inject_hold(pkt, rule);
		return true;
	case WEFT_INJECT_DUPLICATE:
		inject_duplicate(pkt);
		return false;
	case WEFT_INJECT_BAD_DATA:
		inject_bad_data(pkt);
		return false;
	case WEFT_INJECT_MARK:
		inject_mark(pkt);
		return false;
	case WEFT_INJECT_CNP:
		pkt->ce |= WEFT_CE_RULE;
		return false;
	case WEFT_INJECT_TRUNCATE:
		inject_truncate(pkt, rule->value);
		return false;
	case WEFT_INJECT_SET:
		return inject_set(pkt, rule->field, rule->value);
	case WEFT_INJECT_REFUSE:
		if (weft_qp_is_reliable(pkt->qp))
			weft_pkt_refuse(pkt, rule->syndrome);
		return false;
	default:
		inject_answer(pkt, rule->syndrome);
		return false;
	}
}

/*
 * A valid packet has arrived for @pkt->qp, of @pkt->dev. Returns true: the packet is gone, and the
 * reference to the QP with it. Context: bottom halves off, RCU read side.
 */
bool weft_inject_packet(struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	struct weft_inject_event event = {
		.place = WEFT_INJECT_PACKET,
		.qp = pkt->qp,
		.opcode = weft_inject_opcode(op),
		.bytes = pkt->hdr.payload,
		.psn = pkt->hdr.psn,
		.peer = &pkt->sgid,
		.segment = op->segment,
		.armed = weft_qp_is_armed(pkt->qp) && !pkt->hdr.migreq,
	};
	struct weft_inject_rule *rule;

	if (weft_inject_is_silent(&pkt->dev->inject)) {
		inject_drop(pkt, WEFT_STAT_RX_INJECTED);
		return true;
	}
	/* a message of a kind that weft does not know, see rx_has_answer() */
	if (pkt->malformed)
		return false;
	event.again = inject_was_seen(&pkt->qp->seen, pkt);
	event.message = inject_message(&pkt->qp->seen, pkt);
	rule = weft_inject_find(pkt->dev, &event);
	if (!rule)
		return false;
	WRITE_ONCE(pkt->qp->seen.rule, rule->number);
	return inject_act(pkt, rule);
}

/* Prepare a new device. */
void weft_inject_open(struct weft_dev *dev)
{
	skb_queue_head_init(&dev->inject.held);
	INIT_LIST_HEAD(&dev->inject.posters);
	hrtimer_setup(&dev->inject.timer, inject_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

/* Nothing happens on @dev any more, except that the timer may expire. Context: process. */
void weft_inject_close(struct weft_dev *dev)
{
	weft_inject_allow(dev, false);
	weft_inject_remove(dev, 0);
	weft_inject_port_down(dev, false);
	weft_inject_die(dev, false);
	hrtimer_cancel(&dev->inject.timer);
	skb_queue_purge(&dev->inject.held);
}
