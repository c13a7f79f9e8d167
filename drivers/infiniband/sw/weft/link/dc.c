// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The local link between a DC initiator and the target that a request names. There are no packets
 * for DC, so a target that is not on this host gives no answer.
 *
 * All messages to a target use its responder, one at a time, whichever initiator they are from. A
 * message that waits for pages leaves its receive and its progress there. So that two such messages
 * do not restart each other for ever, other initiators wait for it, but not for long.
 */
#include "link/dc.h"

#include "engine/inflight.h"
#include "engine/odp.h"
#include "engine/retry.h"
#include "object/ah.h"
#include "object/dev.h"
#include "object/monitor.h"
#include "object/qp.h"
#include "pause.h"
#include "stats.h"

/* How long a message that has paused may hold up those of other initiators. */
#define DC_PAUSE_NS	(100 * NSEC_PER_MSEC)
#define DC_NUMBER	(BIT(WEFT_DC_STREAM_SHIFT) - 1)

/*
 * Find the destination of the oldest request, which is about to be executed: it becomes the path of
 * the initiator. Return: false: the request has failed, or is flushed because its stream has.
 */
bool weft_dc_begin(struct weft_qp *dci, struct weft_slot *slot)
{
	const struct weft_dc_address *to = &slot->wqe.sqe.dc.to;
	u32 stream = weft_dc_stream(to);

	weft_assert_turn(&dci->send.turn);
	if (unlikely(stream && !dci->dc->streams)) {
		weft_inflight_fault(dci, WEFT_FAULT_MALFORMED);
		return false;
	}
	if (unlikely(test_bit(stream, dci->dc->errored))) {
		weft_inflight_flush(dci);
		return false;
	}
	if (!weft_ah_lookup(dci->dev, to->ah_id, dci->pd, &dci->av) || dci->av.multicast) {
		weft_inflight_fault(dci, WEFT_FAULT_ADDRESS);
		return false;
	}
	weft_pause(WEFT_PAUSE_AH_USE);
	dci->dest_qpn = to->dctn & DC_NUMBER;
	return true;
}

/* The path that answers would take: the monitor shows it. */
static noinline void dc_set_path_back(struct weft_qp *dct, const struct weft_qp *dci)
{
	struct weft_av *back = &dct->dc->path;

	*back = dct->av;
	back->dgid = dci->av.sgid;
	back->sgid = dci->av.dgid;
	if (back->ib)
		back->dlid = weft_av_source_lid(&dci->av);
}

/*
 * May the request begin, or go on, at @dct, whose receive turn is owned? WEFT_DONE; WEFT_LATER; or
 * WEFT_FAILED, and the target, which is not to blame, stays as it is.
 */
struct weft_result weft_dc_enter(struct weft_qp *dci, struct weft_qp *dct, struct weft_slot *slot,
				 struct weft_request *req)
{
	struct weft_dc *dc = dct->dc;
	bool mine = dc->paused_until && dc->initiator == dci->qpn;

	weft_assert_turn(&dct->recv.turn);
	if (unlikely(slot->wqe.sqe.dc.to.key != dc->key)) {
		weft_stats_inc(dct, WEFT_STAT_RESP_REMOTE_ACCESS_ERRORS);
		weft_stats_inc(dct, WEFT_STAT_NAKS_SENT);
		/* the reason for an earlier refusal is not that for this one */
		dct->recv.refused = (struct weft_refused){};
		if (weft_monitor_is_on())
			dc_set_path_back(dct, dci);
		return weft_failed(WEFT_FAULT_REMOTE_ACCESS);
	}
	if (unlikely(dc->paused_until && !mine)) {
		/* another message would line up behind it, and so they would go on for ever */
		if (weft_odp_pins_in_line(dct->recv.odp.pins))
			dc->paused_until = ktime_add_ns(ktime_get(), DC_PAUSE_NS);
		if (ktime_before(ktime_get(), dc->paused_until)) {
			weft_retry_busy(dci);
			return weft_result(WEFT_LATER);
		}
		weft_odp_forget(&dct->recv.odp);
		dc->paused_until = 0;
	}
	/* another message has taken the place of this one: it starts from its first byte */
	if (unlikely(slot->done && !mine)) {
		slot->done = 0;
		weft_turn_post(&dci->send.turn, WEFT_EV_RUN);
		return weft_result(WEFT_LATER);
	}
	weft_pause(WEFT_PAUSE_DC_ENTERED);
	WRITE_ONCE(dc->initiator, dci->qpn);
	if (weft_monitor_is_on())
		dc_set_path_back(dct, dci);
	req->src_qpn = dci->qpn;
	return weft_result(WEFT_DONE);
}

/* The request is done, or has paused: @verdict. */
void weft_dc_leave(struct weft_qp *dci, struct weft_qp *dct, enum weft_verdict verdict)
{
	bool paused = verdict == WEFT_LATER || verdict == WEFT_STOPPED;

	weft_assert_turn(&dct->recv.turn);
	dct->dc->paused_until = unlikely(paused) ? ktime_add_ns(ktime_get(), DC_PAUSE_NS) : 0;
}
