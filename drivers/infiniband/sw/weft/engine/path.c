// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A requester learns about the path to its peer while it uses it: its round trip, its window, the
 * rate that congestion control allows. All of that belongs to one path, so the code that gives a QP
 * another path, or none, calls weft_path_forget(). Facts about the peer itself stay: its credits,
 * and whether it keeps packets that overtake others.
 */
#include "engine/path.h"

#include "engine/link.h"
#include "engine/pace.h"
#include "engine/window.h"
#include "object/dev.h"
#include "params.h"

static atomic64_t path_numbers;

/*
 * Whether messages of the local link may pass has to be judged again, see weft_migration_meeting().
 * Both turns are stopped.
 */
void weft_path_renew(struct weft_qp *qp)
{
	qp->path = atomic64_inc_return(&path_numbers);
	qp->send.met = 0;
}

/*
 * The QP gets another path, whose round trip, window, congestion and route are not known. Both
 * turns are stopped.
 */
void weft_path_forget(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	weft_path_renew(qp);
	/* the answer to a packet of the old path measures no round trip of the new one */
	send->retry.measuring = false;
	send->retry.round_trip = 0;
	send->retry.repair_due = KTIME_MAX;
	send->retry.backoff = 0;
	weft_window_init(&send->window, send->retry.timeout);
	weft_window_begin(&send->window, send->inflight.una, ktime_get());
	send->cc = (struct weft_cc){};
	weft_pace_limit(send, 0, qp->mtu);
	qp->dev->wire->forget(&send->tx);
}
WEFT_EXPORT_FOR_TEST(weft_path_forget);
