// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ODP memory of a message (on-demand paging).
 *
 * The engine resolves memory as if its pages were present. If some of it is ODP memory, it calls
 * weft_odp_resolve() instead, which either finds the pages pinned, or has a work item pin them and
 * returns WEFT_LATER. The requester or responder then leaves the message as it is and gives its
 * turn back. It tries again at the next event, as it would anyway, so no special case ends the
 * wait.
 *
 * The pages are unpinned with the last span that refers to them, unless weft_odp_keep() says that
 * more of the message will come. The last part of a message need not be ODP memory even if earlier
 * ones were, so code that sends or receives packets calls weft_odp_end() after the last one. On the
 * local link, pages that the last chunk did not need are kept until the next message begins and
 * forgets them (@anew below).
 */
#include "engine/odp.h"

#include <rdma/ib_verbs.h>

#include "mem/odp_queue.h"
#include "mem/odp_room.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"

#define ODP_WRITE	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC)

/* A part of a span; @length 0: nothing. */
struct odp_part {
	u64	addr;
	u64	length;
};

/* The part of @span between @start and @end. @span begins at byte @at of the list. */
static struct odp_part odp_part(const struct weft_span *span, u64 at, u64 start, u64 end)
{
	u64 from = max(at, start), to = min(at + span->length, end);

	if (from >= to)
		return (struct odp_part){};
	return (struct odp_part){ span->addr + (from - at), to - from };
}

static u64 odp_length(const struct weft_odp_need *need)
{
	return min_t(u64, need->length, WEFT_ODP_CHUNK);
}

/*
 * Take references to all regions that the message accesses, and may access within @ahead bytes,
 * without the pages of ODP regions. A fault of memory that it may never access is ignored: the list
 * ends there.
 */
static int odp_open(const struct weft_odp_need *need, u64 ahead,
		    const struct weft_accessor *who, struct weft_sgl *sgl,
		    const struct weft_sge *sge, u32 num)
{
	u64 limit = ahead > U64_MAX - need->end ? U64_MAX : need->end + ahead, length;
	struct weft_span *span = sgl->span;
	int err;

	sgl->length = 0;
	sgl->num = 0;
	for (; num && sgl->length < limit; num--, sge++) {
		length = min_t(u64, sge->length, limit - sgl->length);
		if (!length)
			continue;
		err = weft_region_resolve_odp(who, sge->lkey, sge->addr, length, need->access,
					      span);
		if (err && length > need->end - min(sgl->length, need->end)) {
			limit = need->end;
			if (sgl->length >= limit)
				return 0;
			length = limit - sgl->length;
			err = weft_region_resolve_odp(who, sge->lkey, sge->addr, length,
						      need->access, span);
		}
		if (err)
			return err;
		sgl->length += length;
		sgl->num++;
		span++;
	}
	return 0;
}

static bool odp_span_is_odp(const struct weft_span *span)
{
	return span->region && span->region->mm;
}

static bool odp_is_final(int err)
{
	return err == -EACCES || err == -ENOMEM;
}

/*
 * Attach pinned pages to the spans of a list. Return: 0; an error that is final; else -EFAULT if
 * any pages have not been asked for; else -EINPROGRESS.
 */
static int odp_attach(const struct weft_odp_need *need, struct weft_sgl *sgl)
{
	u64 at = 0, end = need->offset + odp_length(need);
	struct odp_part part;
	int err, ret = 0;
	u32 i;

	for (i = 0; i < sgl->num; at += sgl->span[i++].length) {
		part = odp_part(&sgl->span[i], at, need->offset, end);
		if (!part.length || !odp_span_is_odp(&sgl->span[i]))
			continue;
		err = weft_odp_pins_attach(need->odp->pins, &sgl->span[i], part.addr,
					   part.length, need->access & ODP_WRITE);
		if (odp_is_final(err))
			return err;
		if (err && ret != -EFAULT)
			ret = err;
	}
	return ret;
}

static void odp_done(void *arg)
{
	struct weft_turn *turn = arg;
	struct weft_qp *qp = turn->qp;

	weft_turn_post(turn, WEFT_EV_RUN);
	weft_qp_put(qp);
}

/*
 * How many bytes to pin: those that are needed now, and those that may be needed soon, but few of
 * these while the user's room is short. The regions of all spans belong to one context.
 */
static u64 odp_request_length(const struct weft_odp_need *need, const struct weft_sgl *sgl)
{
	u64 ahead = need->ahead;
	u32 i;

	for (i = 0; i < sgl->num && !odp_span_is_odp(&sgl->span[i]); i++)
		;
	if (i < sgl->num &&
	    weft_odp_room_is_short(weft_odp_queue_room(sgl->span[i].region->odp_queue)))
		ahead = min_t(u64, ahead, WEFT_COPY_CHUNK);
	return min_t(u64, need->length + ahead, WEFT_ODP_CHUNK);
}

/* Have the pages pinned that are needed now, and those that may be needed soon. */
static void odp_request(const struct weft_odp_need *need, const struct weft_sgl *sgl)
{
	u64 at = 0, length = odp_request_length(need, sgl);
	struct weft_odp_pins *pins = weft_odp_pins_alloc(sgl->num);
	struct odp_part part;
	u32 i;

	if (!pins) {
		/* try again when the turn's work item runs */
		weft_turn_post(need->turn, WEFT_EV_RUN);
		return;
	}
	for (i = 0; i < sgl->num; at += sgl->span[i++].length) {
		part = odp_part(&sgl->span[i], at, need->offset, need->offset + length);
		if (part.length && odp_span_is_odp(&sgl->span[i]))
			weft_odp_pins_add(pins, sgl->span[i].region, part.addr, part.length,
					  need->access & ODP_WRITE);
	}
	pins->line = need->odp->second ? WEFT_ODP_SECOND : WEFT_ODP_FIRST;
	need->odp->second = false;
	weft_dev_stats_inc(need->turn->qp->dev, WEFT_DEV_STAT_PAGE_WAITS);
	weft_qp_hold(need->turn->qp);
	weft_odp_pins_request(pins, &need->odp->pins, odp_done, need->turn);
}

/* Some pages are missing. Ask for all of them: those that are pinned may be outdated. */
static void odp_renew(const struct weft_odp_need *need, const struct weft_accessor *who,
		      struct weft_sgl *sgl, const struct weft_sge *sge, u32 num)
{
	weft_sgl_release(sgl);
	weft_odp_pins_forget(need->odp->pins);
	if (!odp_open(need, need->ahead, who, sgl, sge, num))
		odp_request(need, sgl);
	else /* a key has just been destroyed: the next attempt will fail */
		weft_turn_post(need->turn, WEFT_EV_RUN);
	weft_sgl_release(sgl);
}

/*
 * weft_sgl_resolve() for a list with ODP memory. @sgl ends with the bytes that @need names, and
 * nothing behind them may be accessed, ODP memory or not. @sge is a private copy of the list, and
 * may have rkeys instead of lkeys. Returns WEFT_DONE: the caller calls weft_sgl_release();
 * WEFT_LATER; or WEFT_FAILED with WEFT_FAULT_NO_MEMORY or @need->refusal.
 */
struct weft_result weft_odp_resolve(const struct weft_odp_need *need,
				    const struct weft_accessor *who, struct weft_sgl *sgl,
				    const struct weft_sge *sge, u32 num)
{
	struct weft_odp *odp = need->odp;
	int err;

	weft_assert_turn(need->turn);
	/* pages left over from another message may be outdated */
	if (need->anew && !odp->parked)
		weft_odp_forget(odp);
	odp->parked = false;
	err = odp_open(need, 0, who, sgl, sge, num);
	if (!err)
		err = odp_attach(need, sgl);
	if (!err) {
		weft_sgl_cut(sgl, need->offset + odp_length(need));
		return weft_result(WEFT_DONE);
	}
	if (err == -EFAULT) {
		odp_renew(need, who, sgl, sge, num);
		odp->parked = true;
		return weft_result(WEFT_LATER);
	}
	weft_sgl_release(sgl);
	if (err == -EINPROGRESS) {
		odp->parked = true;
		return weft_result(WEFT_LATER);
	}
	weft_odp_forget(odp);
	return weft_failed(err == -ENOMEM ? WEFT_FAULT_NO_MEMORY : need->refusal);
}

/* The message does not need its pages any more. No span refers to them. */
void weft_odp_forget(struct weft_odp *odp)
{
	weft_odp_pins_forget(odp->pins);
	odp->parked = false;
	odp->second = false;
}

/*
 * The requester of @qp waits for pages of another QP's responder @recv, whose turn is owned. Its
 * send turn gets WEFT_EV_RUN, perhaps too early. One requester is remembered; a new one wakes it.
 */
void weft_odp_wait(struct weft_recv *recv, struct weft_qp *qp)
{
	weft_assert_turn(&recv->turn);
	if (recv->waiter == qp)
		return;
	weft_odp_wake(recv);
	weft_qp_hold(qp);
	recv->waiter = qp;
}

/* Wake the requester that waits, if any. The turn of @recv is owned or stopped. */
void weft_odp_wake(struct weft_recv *recv)
{
	struct weft_qp *qp = recv->waiter;

	if (likely(!qp))
		return;
	recv->waiter = NULL;
	weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
	weft_qp_put(qp);
}
