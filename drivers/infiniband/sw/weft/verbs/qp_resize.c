// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/qp_resize.h"

#include <linux/log2.h>

#include "engine/requester.h"
#include "object/qp.h"
#include "object/refuse.h"
#include "object/ucontext.h"
#include "params.h"
#include "ring/ring.h"

#define resize_refuse(_qp, _fmt, ...) \
	weft_refuse(&(_qp)->dev->ibdev, -EINVAL, "modify QP %u: " _fmt, (_qp)->qpn, ##__VA_ARGS__)

static int resize_check_max(const struct weft_qp *qp, const char *name, u32 value, u32 max)
{
	return value > max ? resize_refuse(qp, "%s %u is above %u", name, value, max) : 0;
}

/* Only the number of work requests can change (IBA 11.2.5.2), not the size of a slot. */
static int resize_check(const struct weft_qp *qp, const struct ib_qp_cap *cap)
{
	int ret;

	if (qp->type == IB_QPT_XRC_TGT)
		return resize_refuse(qp, "XRC_TGT has no queues");
	if (qp->dc)
		return resize_refuse(qp, "the queue of a DC QP stays as it is");
	if (qp->recv.tagged && cap->max_send_wr)
		return resize_refuse(qp, "the send queue belongs to the SRQ with tags");
	ret = resize_check_max(qp, "max_send_wr", cap->max_send_wr, WEFT_MAX_QP_WR) ?:
	      resize_check_max(qp, "max_send_sge", cap->max_send_sge, qp->cap.max_send_sge) ?:
	      resize_check_max(qp, "max_inline_data", cap->max_inline_data,
			       qp->cap.max_inline_data);
	if (ret || !qp->recv.ring)
		return ret;
	return resize_check_max(qp, "max_recv_wr", cap->max_recv_wr, WEFT_MAX_QP_WR) ?:
	       resize_check_max(qp, "max_recv_sge", cap->max_recv_sge, qp->cap.max_recv_sge);
}

/* Returns NULL if @old already has the right size. */
static struct weft_ring *resize_ring(const struct weft_ring *old, u32 max_wr,
				     struct ib_ucontext *uctx, struct weft_ring_resp *resp)
{
	if (!max_wr || roundup_pow_of_two(max_wr) == old->entries)
		return NULL;
	return weft_ring_create_like(old, max_wr, uctx, resp);
}

static int resize_rings(struct weft_qp *qp, struct ib_ucontext *uctx,
			struct weft_qp_resize *resize, struct weft_modify_qp_resp *resp)
{
	struct weft_ring *ring;

	ring = resize_ring(qp->send.ring, resize->max_send_wr, uctx, &resp->sq);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	resize->sq = ring;
	if (!qp->recv.ring)
		return 0;
	ring = resize_ring(qp->recv.ring, resize->max_recv_wr, uctx, &resp->rq);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	resize->rq = ring;
	return 0;
}

/*
 * Creates the new rings and writes the response to @udata, which is NULL for a kernel consumer.
 * The caller holds resize_lock, but not modify_lock, and the turns are not stopped. Members of
 * @cap that are 0 change nothing; those of the receive queue are ignored if there is none.
 *
 * -EINVAL: more work requests than a QP can have, or more elements or inline data than this QP
 * has. weft_qp_resize_end() is due in any case.
 */
int weft_qp_resize_prepare(struct weft_qp *qp, const struct ib_qp_cap *cap,
			   struct ib_udata *udata, struct weft_qp_resize *resize)
{
	struct weft_modify_qp_resp resp = {};
	int ret;

	*resize = (struct weft_qp_resize){
		.max_send_wr = cap->max_send_wr,
		.max_recv_wr = qp->recv.ring ? cap->max_recv_wr : 0,
	};
	ret = resize_check(qp, cap);
	if (ret)
		return ret;
	ret = resize_rings(qp, weft_udata_ucontext(udata), resize, &resp);
	/*
	 * The response is copied before the switch, which cannot be undone, and while the turns are
	 * not stopped: otherwise a peer would wait for a page fault of this process.
	 */
	if (!ret && udata)
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	return ret;
}

static int resize_check_fits(const struct weft_qp *qp, const struct weft_ring *ring,
			     const char *name, u32 max_wr)
{
	int pending;

	if (!max_wr)
		return 0;
	pending = weft_ring_pending(ring);
	if (pending < 0)
		return resize_refuse(qp, "the indexes of a queue are invalid");
	return pending > max_wr ?
	       resize_refuse(qp, "%s %u is below the %d outstanding work requests", name, max_wr,
			     pending) : 0;
}

/* Copies the contents of the old rings to the new ones; the old rings do not change. */
static int resize_carry(struct weft_qp *qp, const struct weft_qp_resize *resize)
{
	int ret;

	ret = resize_check_fits(qp, qp->send.ring, "max_send_wr", resize->max_send_wr) ?:
	      resize_check_fits(qp, qp->recv.ring, "max_recv_wr", resize->max_recv_wr);
	if (ret)
		return ret;
	/* a process may still move its indexes, which harms only itself */
	if (resize->sq) {
		ret = weft_ring_carry_over(resize->sq, qp->send.ring, false);
		if (ret)
			return ret;
	}
	return resize->rq ? weft_ring_carry_over(resize->rq, qp->recv.ring, false) : 0;
}

static int resize_exchange(struct weft_qp *qp, struct weft_qp_resize *resize)
{
	struct weft_ring *sq = qp->send.ring, *rq = qp->recv.ring;
	int ret = resize_carry(qp, resize);

	if (ret)
		return ret;
	if (resize->sq) {
		weft_requester_follow(qp, resize->sq);
		resize->sq = sq;
	}
	if (resize->rq) {
		qp->recv.ring = resize->rq;
		resize->rq = rq;
	}
	return 0;
}

/*
 * Puts the new rings in place of the old ones. Both turns are stopped. -EINVAL: more work requests
 * are outstanding than were requested; then nothing has changed.
 */
int weft_qp_resize_switch(struct weft_qp *qp, struct weft_qp_resize *resize)
{
	unsigned long flags;
	int ret;

	if (qp->kernel) {
		spin_lock_irqsave(&qp->post_lock, flags);
		ret = resize_exchange(qp, resize);
		spin_unlock_irqrestore(&qp->post_lock, flags);
	} else {
		/* the provider posts nothing during the call */
		ret = resize_exchange(qp, resize);
	}
	if (ret)
		return ret;
	/* the send queue of a QP whose SRQ has tags is not the process's */
	if (!qp->recv.tagged)
		qp->cap.max_send_wr = qp->send.ring->entries;
	qp->cap.max_recv_wr = qp->recv.ring ? qp->recv.ring->entries : 0;
	return 0;
}

/* Destroys the rings that are not in use. */
void weft_qp_resize_end(struct weft_qp_resize *resize)
{
	weft_ring_destroy(resize->rq);
	weft_ring_destroy(resize->sq);
}
