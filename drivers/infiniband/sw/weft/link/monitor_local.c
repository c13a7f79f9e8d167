// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The headers are made by the code that makes those of packets. The payload is read from the
 * requester's memory, which is referenced, and pinned as far as the message has come: that of a
 * request before it is delivered, as the receiver may reply at once, that of a response behind.
 */
#include "link/monitor_local.h"

#include <linux/if_ether.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <net/ip.h>

#include "engine/inflight.h"
#include "engine/link.h"
#include "engine/reply.h"
#include "engine/transmit.h"
#include "inet/ip.h"
#include "link/ib.h"
#include "link/packet.h"
#include "link/roce.h"
#include "object/dev.h"
#include "object/monitor.h"
#include "object/qp.h"
#include "params.h"
#include "wire/aeth.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

/* Bytes in front of the BTH, at most. */
#define LOCAL_ROOM	(sizeof(struct weft_wire_lrh) + sizeof(struct weft_wire_grh))
/* Packets of a long message between two looks at what else there is to do. */
#define LOCAL_BATCH	64

/* Packets that a message would have been, and the devices that show them. */
struct local_run {
	struct weft_tx_batch	batch;
	struct weft_iter	payload;
	const struct weft_dev	*from;		/* of the sender */
	const struct weft_dev	*to;		/* of the receiver; NULL: none, or the same */
	const struct weft_qp	*waits;		/* whose turn is held meanwhile */
	u32			snap;		/* bytes that either shows; 0: no monitor */
};

static void local_begin(struct local_run *run, const struct weft_qp *sender,
			const struct weft_qp *receiver)
{
	run->from = sender->dev;
	run->to = receiver && receiver->dev != sender->dev ? receiver->dev : NULL;
	run->snap = weft_monitor_snap(run->from);
	if (run->to)
		run->snap = max(run->snap, weft_monitor_snap(run->to));
	run->waits = NULL;
}

static void local_miss(const struct local_run *run, u32 packets)
{
	weft_monitor_miss(run->from, packets);
	if (run->to)
		weft_monitor_miss(run->to, packets);
}

static void local_push_roce(struct sk_buff *skb, const struct weft_tx_batch *batch)
{
	struct weft_wire_bth *bth = (void *)skb->data;
	struct weft_ip_path path;
	u8 *trailer = skb_tail_pointer(skb) - WEFT_ICRC_LENGTH, *at = (u8 *)(bth + 1);
	u32 crc;

	weft_roce_path(batch, &path);
	path.hop_limit = path.hop_limit ?: IPDEFTTL;
	/* with a hop limit no route is needed */
	weft_ip_push(skb, &path, NULL, batch->hdr.psn);
	if (path.ipv4)
		ip_send_check(ip_hdr(skb));
	crc = path.ipv4 ? weft_icrc_begin_ipv4(ip_hdr(skb), udp_hdr(skb), bth) :
			  weft_icrc_begin_ipv6(ipv6_hdr(skb), udp_hdr(skb), bth);
	weft_icrc_store(trailer, weft_icrc_update(crc, at, trailer - at));
}

/*
 * Make a packet with @length bytes of payload. What no monitor shows is not read, but zero; the
 * monitors cut it off.
 */
static struct sk_buff *local_packet(struct local_run *run, const struct weft_hdr *hdr, u32 length)
{
	u32 headers = weft_opcode(hdr->opcode)->length, shown = min(length, run->snap);
	struct weft_tx_batch *batch = &run->batch;
	struct sk_buff *skb;

	skb = weft_monitor_alloc(run->from, LOCAL_ROOM,
				 headers + length + hdr->pad + WEFT_ICRC_LENGTH);
	if (!skb)
		return NULL;
	weft_hdr_encode(skb_put(skb, headers), hdr);
	if (length) {
		weft_packet_copy(skb_put(skb, shown), &run->payload, shown);
		weft_iter_skip(&run->payload, length - shown);
	}
	skb_put_zero(skb, length - shown + hdr->pad + WEFT_ICRC_LENGTH);
	if (batch->av->ib)
		weft_ib_push(skb, batch->qp, batch->av);
	else
		local_push_roce(skb, batch);
	return skb;
}

static void local_show(const struct local_run *run, struct sk_buff *skb)
{
	struct sk_buff *copy;

	if (run->to && weft_monitor_snap(run->to)) {
		copy = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (copy)
			weft_monitor_show(run->to, copy, WEFT_MONITOR_LOCAL);
		else
			weft_monitor_miss(run->to, 1);
	}
	weft_monitor_show(run->from, skb, WEFT_MONITOR_LOCAL);
}

/* A long message is in process context. Does it hold up somebody who waits? */
static bool local_hurries(const struct local_run *run, u32 i)
{
	if (run->batch.length <= WEFT_COPY_CHUNK || i % LOCAL_BATCH)
		return false;
	cond_resched();
	return weft_turn_stopping(&run->batch.qp->send.turn) || fatal_signal_pending(current) ||
	       (run->waits && weft_turn_stopping(&run->waits->recv.turn));
}

static void local_run(struct local_run *run)
{
	struct weft_tx_batch *batch = &run->batch;
	struct weft_hdr hdr = batch->hdr;
	struct sk_buff *skb;
	u32 i, length;

	for (i = 0; i < batch->num; i++) {
		if (local_hurries(run, i)) {
			local_miss(run, batch->num - i);
			break;
		}
		length = weft_packet_header(batch, i, &hdr);
		skb = local_packet(run, &hdr, length);
		if (skb)
			local_show(run, skb);
		else if (length)
			weft_iter_skip(&run->payload, length);
	}
}

/*
 * The packets of bytes @from to @to (exclusive), which begin and end with a packet: a part of a
 * long message is WEFT_ODP_CHUNK long. Those that do not are left out, as not all of their memory
 * may be pinned.
 */
static u32 local_packets(const struct weft_qp *qp, const struct weft_slot *slot, u64 from, u64 to,
			 u32 *first)
{
	u32 end = to == slot->length ? slot->psns : div_u64(to, qp->mtu);

	*first = DIV_ROUND_UP_ULL(from, qp->mtu);
	return end > *first ? end - *first : 0;
}

/* Place the payload of a run at packet @first of the message. */
static void local_payload(struct local_run *run, struct weft_qp *qp, u32 first)
{
	weft_sgl_iter(&qp->send.sgl, &run->payload);
	if (first)
		weft_iter_skip(&run->payload, (u64)first * qp->mtu);
	run->batch.payload = &run->payload;
}

/*
 * Show bytes @from to @to of a request, or if it has a response the packet that asks for all of it.
 * @peer: NULL: there is none.
 */
void weft_monitor_request(struct weft_qp *qp, const struct weft_qp *peer,
			  const struct weft_slot *slot, u64 from, u64 to)
{
	struct local_run run;
	u32 first, num;

	local_begin(&run, qp, peer);
	if (!run.snap)
		return;
	num = local_packets(qp, slot, from, to, &first);
	if (weft_opdef_responds(slot->op)) {
		if (from)
			return;
		num = slot->psns;
	}
	if (!num)
		return;
	weft_transmit_describe(qp, slot, first, first + num, &run.batch);
	run.batch.hdr.ackreq = weft_qp_is_reliable(qp) && !weft_opdef_responds(slot->op) &&
			       first + num == slot->psns;
	run.waits = peer;
	if (run.batch.length)
		local_payload(&run, qp, first);
	local_run(&run);
}

/* Describe an answer of @peer: a packet with the opcode of @operation. */
static void local_reply(struct local_run *run, struct weft_qp *peer, u8 operation, u32 psn,
			u8 syndrome)
{
	run->batch = (struct weft_tx_batch){
		.qp = peer,
		.av = peer->dc ? &peer->dc->path : &peer->av,
		.num = 1,
		.mtu = peer->mtu,
		.hdr = {
			.opcode = WEFT_OPCODE(peer->transport, operation),
			.migreq = weft_qp_has_migrated(peer),
			.pkey = weft_qp_pkey(peer),
			.dqpn = peer->dc ? peer->dc->initiator : peer->dest_qpn,
			.psn = psn,
			.aeth.syndrome = syndrome,
			.aeth.msn = peer->recv.msn,
		},
	};
}

static u8 local_ack(const struct weft_qp *peer)
{
	return weft_aeth_syndrome(WEFT_AETH_ACK, weft_reply_credits(peer));
}

static u8 local_read_opcode(const struct weft_qp *peer, const struct weft_slot *slot, u32 packet)
{
	bool last = packet + 1 == slot->psns;

	if (!packet)
		return WEFT_OPCODE(peer->transport, last ? WEFT_OP_READ_RESPONSE_ONLY :
							   WEFT_OP_READ_RESPONSE_FIRST);
	return WEFT_OPCODE(peer->transport, last ? WEFT_OP_READ_RESPONSE_LAST :
						   WEFT_OP_READ_RESPONSE_MIDDLE);
}

/* Show bytes @from to @to of the response to a READ, which are in the memory of @qp now. */
void weft_monitor_fetched(struct weft_qp *qp, struct weft_qp *peer, const struct weft_slot *slot,
			  u64 from, u64 to)
{
	struct local_run run;
	u32 first, num;

	local_begin(&run, peer, qp);
	num = local_packets(qp, slot, from, to, &first);
	if (!run.snap || !num)
		return;
	local_reply(&run, peer, WEFT_OP_READ_RESPONSE_ONLY, weft_psn_add(slot->first_psn, first),
		    local_ack(peer));
	run.batch.mtu = qp->mtu;
	run.batch.num = num;
	run.batch.length = min_t(u64, slot->length - (u64)first * qp->mtu, (u64)num * qp->mtu);
	run.batch.hdr.opcode = local_read_opcode(peer, slot, first);
	run.batch.middle = WEFT_OPCODE(peer->transport, WEFT_OP_READ_RESPONSE_MIDDLE);
	run.batch.last = local_read_opcode(peer, slot, first + num - 1);
	run.waits = peer;
	if (run.batch.length)
		local_payload(&run, qp, first);
	/*
	 * The signatures of the wire are gone, and to read those of memory is to check them. So the
	 * payload is shown as zeros.
	 */
	if (run.batch.length && weft_iter_has_pi(&run.payload))
		run.snap = 0;
	local_run(&run);
}

/* Show the answer to a message that has been executed; bytes from @from on have not been shown. */
void weft_monitor_answer(struct weft_qp *qp, struct weft_qp *peer, const struct weft_slot *slot,
			 u64 from)
{
	u8 operation = WEFT_OP_ACK;
	struct local_run run;
	u32 psn = slot->first_psn;

	if (!weft_qp_is_reliable(qp))
		return;
	switch (slot->op->response) {
	case WEFT_RESPONSE_READ:
		weft_monitor_fetched(qp, peer, slot, from, slot->length);
		return;
	case WEFT_RESPONSE_ATOMIC:
		operation = WEFT_OP_ATOMIC_ACK;
		break;
	case WEFT_RESPONSE_DONE:
		operation = WEFT_OP_READ_RESPONSE_ONLY;
		break;
	default:
		psn = weft_psn_add(psn, slot->psns - 1);
		break;
	}
	local_begin(&run, peer, qp);
	if (!run.snap)
		return;
	local_reply(&run, peer, operation, psn, local_ack(peer));
	if (operation == WEFT_OP_ATOMIC_ACK) {
		local_payload(&run, qp, 0);
		weft_packet_copy(&run.batch.hdr.atomic_ack.original, &run.payload, sizeof(u64));
	}
	local_run(&run);
}

/* Show the NAK or RNR NAK for a message that has been refused. */
void weft_monitor_refusal(struct weft_qp *qp, struct weft_qp *peer, const struct weft_slot *slot,
			  const struct weft_refusal *refusal, u8 rnr_timer)
{
	struct local_run run;

	local_begin(&run, peer, qp);
	if (!run.snap)
		return;
	local_reply(&run, peer, WEFT_OP_ACK, slot->first_psn,
		    weft_reply_syndrome(refusal, rnr_timer));
	local_run(&run);
}

/*
 * Show a datagram to @peer, or to nobody. The local link gives datagrams no PSNs, so they get those
 * that packets would have.
 */
void weft_monitor_datagram(struct weft_qp *qp, const struct weft_qp *peer,
			   const struct weft_datagram *dgram)
{
	struct local_run run;

	local_begin(&run, qp, peer);
	if (!run.snap)
		return;
	weft_packet_describe(qp, dgram, &run.payload, &run.batch);
	weft_sgl_iter(&qp->send.sgl, &run.payload);
	local_run(&run);
	qp->send.psn = weft_psn_add(qp->send.psn, 1);
}
