// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The repair of lost request packets.
 *
 * IBA has the requester go back to the PSN that a sequence NAK names, and send everything from
 * there on again. But a responder may have kept the packets that came after the lost one, as weft's
 * does. So the requester sends the lost packet alone, with an acknowledge request, and goes on with
 * new packets. The answer tells the rest:
 *
 * - A NAK for a later PSN: the responder has kept packets behind that one. The next repair begins.
 * - An acknowledge of all packets sent before the repair: it is over.
 * - An acknowledge that ends earlier: all packets before the repair have arrived or are lost, and
 *   the responder would have sent a NAK if it had kept any behind this PSN. So the requester sends
 *   those from there to the repair again. If the responder has acknowledged the repaired packet
 *   only, it keeps none at all (rdma_rxe, adapters): the requester goes back, and does so at once
 *   when it gets the next NAK.
 *
 * That is one loss in a round trip. The packets of a repair also say (WEFT_BTH_MAPS) that the
 * requester understands gap maps. A responder of another make ignores that. weft's answers by gap
 * maps from then on, in place of sequence NAKs: they say which packets it keeps, and up to where
 * those that it does not keep are lost. So all losses of a round trip are repaired in the next one.
 *
 * To send the packets the requester goes back to them, and then forward again to where it was.
 */
#include "engine/repair.h"

#include <linux/bitmap.h>
#include <linux/slab.h>

#include "engine/inflight.h"
#include "engine/retry.h"
#include "params.h"

/* The time to wait doubles as often. */
#define REPAIR_MAX_AGAIN	8

/* A packet has the bit of its PSN modulo the number of bits; those from una on have room. */
static u32 repair_bit(u32 psn)
{
	return psn % WEFT_MAP_PACKETS;
}

/* The request packets before weft_inflight.next whose responses are not complete. */
static u32 repair_reads(const struct weft_inflight *inflight)
{
	const struct weft_slot *slot;
	u32 i, from, to, reads = 0;

	for (i = inflight->head; i != inflight->tail; i++) {
		slot = weft_inflight_at(inflight, i);
		if (!slot->psns || !weft_psn_before(slot->first_psn, inflight->next))
			continue;
		if (!weft_opdef_responds(slot->op) ||
		    !weft_psn_before(inflight->una, weft_slot_end(slot)))
			continue;
		from = weft_psn_before(slot->first_psn, inflight->una) ?
		       (inflight->una - slot->first_psn) & WEFT_PSN_MASK : 0;
		to = min(slot->psns, (inflight->next - slot->first_psn) & WEFT_PSN_MASK);
		reads += DIV_ROUND_UP(to, WEFT_READ_PACKETS) - from / WEFT_READ_PACKETS;
	}
	return reads;
}

/* Go forward again to where the requester was before the repair. */
static void repair_resume(struct weft_inflight *inflight)
{
	/* all of these have been answered meanwhile */
	if (weft_psn_before(inflight->repair.next, inflight->una)) {
		weft_inflight_seek(inflight, inflight->una);
		return;
	}
	inflight->next = inflight->repair.next;
	inflight->cur = inflight->repair.cur;
	inflight->reads = repair_reads(inflight);
}

/* Go back to @psn, to send the packets from there to @end again. */
static void repair_go_to(struct weft_inflight *inflight, u32 psn, u32 end)
{
	struct weft_repair *repair = &inflight->repair;

	if (repair->state != WEFT_REPAIR_WANTED) {
		repair->next = inflight->next;
		repair->cur = inflight->cur;
	}
	repair->state = WEFT_REPAIR_WANTED;
	repair->psn = psn;
	repair->end = end;
	repair->last = weft_psn_add(end, -1);
	weft_inflight_seek(inflight, psn);
	inflight->reads = repair_reads(inflight);
}

/* Go back to weft_inflight.una, to send the packets before @end again. Return: false: can't. */
static bool repair_go_back(struct weft_qp *qp, u32 end)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_slot *slot;

	repair_go_to(inflight, inflight->una, end);
	slot = weft_inflight_at(inflight, inflight->cur);
	/* the answer to a READ tells nothing of what is behind it */
	if (!weft_opdef_responds(slot->op))
		return true;
	weft_inflight_rewind(qp, inflight->una);
	return false;
}

/* Is @psn one before weft_gaps.lost that the peer misses, and that has not been sent again? */
static bool repair_is_lost(const struct weft_gaps *gaps, u32 psn)
{
	return weft_psn_before(psn, gaps->lost) && !test_bit(repair_bit(psn), gaps->kept) &&
	       !test_bit(repair_bit(psn), gaps->again);
}

/* How many packets may be sent again: those that have been, and are unanswered, fill a window. */
static u32 repair_room(const struct weft_send *send)
{
	const struct weft_gaps *gaps = send->inflight.repair.gaps;
	DECLARE_BITMAP(unanswered, WEFT_MAP_PACKETS);
	u32 num;

	bitmap_andnot(unanswered, gaps->again, gaps->kept, WEFT_MAP_PACKETS);
	num = bitmap_weight(unanswered, WEFT_MAP_PACKETS);
	return send->window.packets > num ? send->window.packets - num : 0;
}

/*
 * Go back to the first packets that the peer misses by its gap maps. Those of a READ are the ones
 * that ask for its parts. Return: false: there are none, or no more may be sent now.
 */
static bool repair_next(struct weft_send *send)
{
	struct weft_inflight *inflight = &send->inflight;
	const struct weft_gaps *gaps = inflight->repair.gaps;
	const struct weft_slot *slot;
	u32 i, psn, end, from, room;

	if (!gaps)
		return false;
	room = repair_room(send);
	if (!room)
		return false;
	for (i = inflight->head; i != inflight->tail; i++) {
		slot = weft_inflight_at(inflight, i);
		if (!slot->psns)
			continue;
		if (!weft_psn_before(slot->first_psn, gaps->lost))
			break;
		end = weft_slot_end(slot);
		/* no map tells of the packets behind these, and there may be millions */
		if (weft_psn_before(gaps->lost, end))
			end = gaps->lost;
		from = weft_psn_before(slot->first_psn, inflight->una) ?
		       (inflight->una - slot->first_psn) & WEFT_PSN_MASK : 0;
		if (weft_opdef_responds(slot->op)) {
			from = round_up(from, WEFT_READ_PACKETS);
			for (; from < slot->psns; from += WEFT_READ_PACKETS) {
				psn = weft_psn_add(slot->first_psn, from);
				if (!weft_psn_before(psn, gaps->lost))
					break;
				if (!repair_is_lost(gaps, psn))
					continue;
				end = weft_psn_add(slot->first_psn, weft_slot_read_end(slot, from));
				repair_go_to(inflight, psn, end);
				inflight->repair.last = psn;
				return true;
			}
			continue;
		}
		psn = weft_psn_add(slot->first_psn, from);
		while (weft_psn_before(psn, end) && !repair_is_lost(gaps, psn))
			psn = weft_psn_add(psn, 1);
		if (!weft_psn_before(psn, end))
			continue;
		for (from = psn; room && weft_psn_before(from, end) && repair_is_lost(gaps, from);
		     room--)
			from = weft_psn_add(from, 1);
		repair_go_to(inflight, psn, from);
		return true;
	}
	return false;
}

/* How often nothing has come since weft_inflight.una was missing first. */
static u8 repair_again(const struct weft_inflight *inflight)
{
	const struct weft_repair *repair = &inflight->repair;

	if (repair->state != WEFT_REPAIR_SENT || repair->psn != inflight->una)
		return 0;
	return min(repair->again + 1, REPAIR_MAX_AGAIN);
}

/* A repair has been sent, and what the peer owes first is a response: look again later. */
void weft_repair_wait(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	inflight->repair.again = repair_again(inflight);
	inflight->repair.psn = inflight->una;
	weft_retry_repair(qp);
}

/* Nothing is known of the packets from weft_inflight.una on. */
static void repair_reset(struct weft_gaps *gaps, const struct weft_inflight *inflight)
{
	*gaps = (struct weft_gaps){ .lost = inflight->una, .mark = inflight->sent };
}

/*
 * The peer misses the packet at weft_inflight.una: go back to that one only. Return: false: go back
 * to send all packets again.
 */
bool weft_repair_begin(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_repair *repair = &inflight->repair;
	u8 again = repair_again(inflight);

	if (repair->state == WEFT_REPAIR_WANTED)
		repair_resume(inflight);
	else if (repair->state == WEFT_REPAIR_NONE && repair->gaps)
		repair_reset(repair->gaps, inflight);
	if (repair->goes_back || !weft_psn_before(inflight->una, inflight->next) ||
	    !repair_go_back(qp, weft_psn_add(inflight->una, 1)))
		return false;
	repair->again = again;
	if (!again)
		repair->named = true;
	return true;
}

/* The packet with that bit has been sent again. */
static void repair_mark(struct weft_gaps *gaps, u32 bit, bool first)
{
	__set_bit(bit, gaps->again);
	if (first)
		__set_bit(bit, gaps->older);
}

/*
 * The older ones of the packets that have been sent again are lost once more if one of the others
 * has arrived; or a new one that was sent after them, and the peer calls what it misses before that
 * lost. Then the others are the older ones.
 */
static void repair_age(struct weft_gaps *gaps, const struct weft_inflight *inflight)
{
	DECLARE_BITMAP(newer, WEFT_MAP_PACKETS);

	bitmap_andnot(newer, gaps->again, gaps->older, WEFT_MAP_PACKETS);
	if (!bitmap_intersects(newer, gaps->kept, WEFT_MAP_PACKETS) &&
	    !weft_psn_before(gaps->mark, gaps->lost))
		return;
	bitmap_andnot(gaps->again, newer, gaps->kept, WEFT_MAP_PACKETS);
	bitmap_copy(gaps->older, gaps->again, WEFT_MAP_PACKETS);
	gaps->mark = inflight->sent;
}

/* Forget what was known of the packets from @from to (excluding) @to. */
static void repair_forget(struct weft_gaps *gaps, u32 from, u32 to)
{
	u32 bit;

	for (; from != to; from = weft_psn_add(from, 1)) {
		bit = repair_bit(from);
		gaps->num -= __test_and_clear_bit(bit, gaps->kept);
		__clear_bit(bit, gaps->again);
		__clear_bit(bit, gaps->older);
	}
	if (weft_psn_before(gaps->lost, to))
		gaps->lost = to;
}

/* By the gap maps: has the last packet of the repair arrived? */
static bool repair_has_arrived(const struct weft_inflight *inflight)
{
	const struct weft_repair *repair = &inflight->repair;

	return weft_psn_before(repair->last, inflight->una) ||
	       (weft_psn_in_window(repair->last, inflight->una, WEFT_MAP_PACKETS) &&
		test_bit(repair_bit(repair->last), repair->gaps->kept));
}

/* The state after packets have been sent, or are not needed any more: other packets may be. */
static void repair_go_on(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	if (repair_next(&qp->send))
		return;
	inflight->repair.state = WEFT_REPAIR_SENT;
	repair_resume(inflight);
	weft_retry_repair(qp);
}

/* A sequence NAK without a gap map: the peer keeps no packets. */
void weft_repair_unmap(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	if (unlikely(inflight->repair.gaps))
		repair_reset(inflight->repair.gaps, inflight);
}

/* Packets have been sent. */
void weft_repair_sent(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_repair *repair = &inflight->repair;
	struct weft_gaps *gaps = repair->gaps;
	bool first = gaps && bitmap_empty(gaps->older, WEFT_MAP_PACKETS);
	u32 psn;

	if (first)
		gaps->mark = inflight->sent;
	/* a READ has more PSNs than there are bits */
	for (psn = repair->psn; gaps && psn != inflight->next &&
	     weft_psn_in_window(psn, inflight->una, WEFT_MAP_PACKETS); psn = weft_psn_add(psn, 1))
		repair_mark(gaps, repair_bit(psn), first);
	if (!weft_psn_before(inflight->next, repair->end))
		repair_go_on(qp);
}

/* An answer has advanced weft_inflight.una from @from during a repair. */
void weft_repair_progress(struct weft_qp *qp, u32 from)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_repair *repair = &inflight->repair;
	bool kept = false;

	if (repair->gaps) {
		repair_forget(repair->gaps, from, inflight->una);
		kept = repair->gaps->num;
	}
	if (repair->state == WEFT_REPAIR_WANTED) {
		if (!weft_psn_before(inflight->next, inflight->una)) {
			/* the answer may be that to packets of this repair, of which more follow */
			if (weft_psn_before(repair->psn, inflight->una))
				repair->psn = inflight->una;
			return;
		}
		/* the packets were late, not lost */
		repair_resume(inflight);
		if (kept) {
			repair_go_on(qp);
			return;
		}
		repair->state = WEFT_REPAIR_NONE;
	} else if (!weft_psn_before(inflight->una, repair->next) && !kept) {
		repair->state = WEFT_REPAIR_NONE;
	}
}

/* An acknowledge has ended before the packets that were sent before the repair do. */
void weft_repair_acked(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_repair *repair = &inflight->repair;

	if (!weft_psn_before(repair->last, inflight->una))
		return;
	/* a gap map will tell what is missing before the packets that the peer keeps */
	if (repair->gaps && repair->gaps->num)
		return;
	if (repair->named && inflight->una == repair->end && !repair->gaps) {
		repair->goes_back = true;
		weft_inflight_rewind(qp, inflight->una);
		/* a NAK that asks for the same is on its way */
		inflight->retried = true;
		return;
	}
	if (repair_go_back(qp, repair->next)) {
		repair->again = 0;
		repair->named = false;
	}
}

/*
 * A gap map has come, which acknowledges all packets before weft_inflight.una. Packets that have
 * been sent again are lost once more if the last one of them has arrived, or others that were sent
 * after them have. Return: false: nothing has to be sent again.
 */
bool weft_repair_map(struct weft_qp *qp, const struct weft_map *map)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_repair *repair = &inflight->repair;
	u32 sent = (inflight->sent - inflight->una) & WEFT_PSN_MASK;
	struct weft_gaps *gaps = repair->gaps;
	u32 i, bit, lost;

	/* a requester that has gone back sends everything again */
	if (repair->state != WEFT_REPAIR_WANTED && weft_inflight_is_rewound(inflight))
		return false;
	if (!gaps)
		gaps = kzalloc(sizeof(*gaps), GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	if (!gaps) {
		if (!weft_repair_begin(qp))
			weft_inflight_rewind(qp, inflight->una);
		return true;
	}
	if (!repair->gaps || repair->state == WEFT_REPAIR_NONE)
		repair_reset(gaps, inflight);
	repair->gaps = gaps;
	repair->goes_back = false;
	/* the AETH says that the first one is missing; the peer may have dropped what it kept */
	for (i = 0; i < min_t(u32, sent, WEFT_MAP_PACKETS); i++) {
		bit = repair_bit(inflight->una + i);
		if (i && test_bit(i, map->kept))
			gaps->num += !__test_and_set_bit(bit, gaps->kept);
		else if (!i || i < map->lost)
			gaps->num -= __test_and_clear_bit(bit, gaps->kept);
	}
	lost = weft_psn_add(inflight->una, min3(map->lost, sent, (u32)WEFT_MAP_PACKETS));
	if (weft_psn_before(gaps->lost, lost))
		gaps->lost = lost;
	repair_age(gaps, inflight);
	if (repair->state == WEFT_REPAIR_SENT && repair_has_arrived(inflight)) {
		bitmap_zero(gaps->again, WEFT_MAP_PACKETS);
		bitmap_zero(gaps->older, WEFT_MAP_PACKETS);
	}
	if (repair->state == WEFT_REPAIR_WANTED || !repair_next(&qp->send))
		return false;
	repair->again = 0;
	repair->named = false;
	return true;
}
