// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/cq.h"

#include <rdma/uverbs_ioctl.h>

#include "object/count.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/qp.h"
#include "object/queue.h"
#include "object/profile.h"
#include "object/refuse.h"
#include "object/table.h"
#include "object/ucontext.h"
#include "object/vector.h"
#include "pause.h"
#include "stats.h"

static void cq_tell(struct weft_events *events, enum ib_event_type type)
{
	struct weft_cq *cq = container_of(events, struct weft_cq, events);
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = type,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

/* The recv.cq of an XRC target is that of the SRQ of the current request, so it does not count. */
static bool cq_is_of(const struct weft_cq *cq, const struct weft_qp *qp)
{
	return qp->send_cq == cq || (qp->recv.cq == cq && !qp->xrcd);
}

static void cq_fail_worker(struct work_struct *work)
{
	struct weft_cq *cq = container_of(work, struct weft_cq, fail_work);
	u32 dev_id = to_weft_dev(cq->ibcq.device)->id;
	unsigned long index = 0;
	struct weft_qp *qp;

	while ((qp = weft_qp_next(dev_id, &index))) {
		weft_pause(WEFT_PAUSE_CQ_FAIL_QP);
		if (cq_is_of(cq, qp))
			weft_qp_fatal_now(qp, READ_ONCE(cq->fault));
		weft_qp_put(qp);
	}
}

/*
 * Let a work item move all QPs of a CQ in error to ERR, for the enum weft_fault @fault. A QP that
 * is created later fails with its first completion. From any context; only the first call counts.
 */
void weft_cq_fail(struct weft_cq *cq, u32 fault)
{
	if (READ_ONCE(cq->fault))
		return;
	WRITE_ONCE(cq->fault, fault);
	weft_queue_work(&cq->fail_work);
}

static void cq_overrun_event(struct weft_cq *cq)
{
	weft_stats_inc(to_weft_dev(cq->ibcq.device), WEFT_STAT_CQ_OVERRUNS);
	weft_events_raise(&cq->events, IB_EVENT_CQ_ERR);
}

/* Does a rule say that the event is lost? */
static noinline bool cq_event_is_lost(struct weft_cq *cq)
{
	const struct weft_inject_event event = {
		.place = WEFT_INJECT_CQ,
		.owner = &cq->owner,
		.cqn = cq->ibcq.res.id,
	};
	bool lost;

	rcu_read_lock();
	lost = weft_inject_find(to_weft_dev(cq->ibcq.device), &event);
	rcu_read_unlock();
	return lost;
}

/* Raise an event that was requested. Without the lock. */
static void cq_notify(struct weft_cq *cq)
{
	if (!weft_inject_is_on() || !cq_event_is_lost(cq))
		weft_vector_raise(cq);
}

/* End the delay of an event. Return: whether an event was requested. */
static bool cq_raise(struct weft_cq *cq)
{
	struct weft_moderation *moderation = &cq->moderation;
	bool solicited = moderation->solicited;

	moderation->unraised = 0;
	moderation->solicited = false;
	return weft_ring_disarm(cq->ring, solicited);
}

/* Count a completion. Return: whether an event is due and was requested. */
static bool cq_moderate(struct weft_cq *cq, bool solicited)
{
	struct weft_moderation *moderation = &cq->moderation;

	moderation->solicited |= solicited;
	if (++moderation->unraised >= moderation->count || cq->overrun)
		return cq_raise(cq);
	if (moderation->ns && !hrtimer_is_queued(&moderation->timer))
		hrtimer_start(&moderation->timer, ns_to_ktime(moderation->ns),
			      HRTIMER_MODE_REL_SOFT);
	return false;
}

/* The delay of the moderated event is over. */
static enum hrtimer_restart cq_late(struct hrtimer *timer)
{
	struct weft_cq *cq = container_of(timer, struct weft_cq, moderation.timer);
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	notify = cq->moderation.unraised && cq_raise(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cq_notify(cq);
	return HRTIMER_NORESTART;
}

int weft_modify_cq(struct ib_cq *ibcq, u16 count, u16 usec)
{
	struct weft_cq *cq = to_weft_cq(ibcq);
	unsigned long flags;

	hrtimer_cancel(&cq->moderation.timer);
	spin_lock_irqsave(&cq->lock, flags);
	cq->moderation.count = count;
	cq->moderation.ns = usec * (u64)NSEC_PER_USEC;
	spin_unlock_irqrestore(&cq->lock, flags);
	weft_pause(WEFT_PAUSE_CQ_MODIFY);
	/* raise an event that was delayed under the old terms */
	cq_late(&cq->moderation.timer);
	return 0;
}

/* Slow path of weft_cq_push(), with the lock: overflow, moderation. Return: weft_cq_sequel bits. */
u32 weft_cq_settle(struct weft_cq *cq, bool pushed, bool solicited)
{
	u32 sequel = 0;

	lockdep_assert_held(&cq->lock);
	if (cq->overrun)
		return WEFT_CQ_LOST;
	if (!pushed && !cq->ignore_overrun) {
		cq->overrun = true;
		weft_ring_set_flags(cq->ring, WEFT_RING_OVERRUN, 0);
		sequel = WEFT_CQ_LOST | WEFT_CQ_ERROR;
		/* an overrun counts as a completion, so that a waiting consumer wakes up */
		solicited = true;
	}
	if (cq->moderation.count ? cq_moderate(cq, solicited) :
				   weft_ring_disarm(cq->ring, solicited))
		sequel |= WEFT_CQ_NOTIFY;
	return sequel;
}

/* The steps in @sequel. Return: that of weft_cq_push(). */
bool weft_cq_finish(struct weft_cq *cq, u32 sequel)
{
	if (sequel & WEFT_CQ_ERROR)
		cq_overrun_event(cq);
	weft_pause(WEFT_PAUSE_CQ_NOTIFY);
	/* without the lock: cq->ring may have been replaced since weft_cq_push() */
	if (sequel & WEFT_CQ_NOTIFY)
		cq_notify(cq);
	return !(sequel & WEFT_CQ_LOST);
}

/* As if a completion had found no room: the next one finds the CQ in error. Context: any. */
void weft_cq_overrun(struct weft_cq *cq)
{
	unsigned long flags;
	u32 sequel;

	spin_lock_irqsave(&cq->lock, flags);
	sequel = weft_cq_settle(cq, false, true);
	spin_unlock_irqrestore(&cq->lock, flags);
	weft_cq_finish(cq, sequel);
}

#define CQ_FLAGS	(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | \
			 IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)

static int cq_check_attr(const struct ib_device *ibdev, const struct ib_cq_init_attr *attr)
{
	u32 flags = attr->flags & ~CQ_FLAGS;

	if (flags)
		return weft_refuse(ibdev, -EINVAL, "create CQ: flags %#x are not supported", flags);
	return weft_check_range(ibdev, "create CQ", "cqe", attr->cqe, 1, WEFT_MAX_CQE) ?:
	       weft_check_max(ibdev, "create CQ", "comp_vector", attr->comp_vector,
			      ibdev->num_comp_vectors - 1);
}

static struct weft_ring *cq_create_ring(u32 cqe, struct ib_udata *udata,
					struct weft_ring_resp *resp)
{
	struct ib_ucontext *uctx = weft_udata_ucontext(udata);

	return weft_udata_rxe(udata) ? weft_rxe_create(cqe, WEFT_RXE_CQ_STRIDE, uctx, resp) :
	       weft_ring_create(cqe, sizeof(struct weft_cqe), uctx, resp);
}

static int cq_make(struct weft_cq *cq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct weft_create_cq_resp resp = {};
	int ret;

	spin_lock_init(&cq->lock);
	spin_lock_init(&cq->poll_lock);
	mutex_init(&cq->resize_lock);
	cq->user = udata;
	if (cq->user)
		weft_inject_own(&cq->owner);
	weft_events_init(&cq->events, !cq->user, cq_tell);
	INIT_WORK(&cq->fail_work, cq_fail_worker);
	weft_vector_init(cq, attr->comp_vector);
	hrtimer_setup(&cq->moderation.timer, cq_late, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	cq->timestamp = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	cq->ignore_overrun = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	cq->ring = weft_inject_no_memory(to_weft_dev(cq->ibcq.device), NULL, WEFT_ALLOC_RING) ?
		   ERR_PTR(-ENOMEM) : cq_create_ring(attr->cqe, udata, &resp.cq);
	if (IS_ERR(cq->ring))
		return PTR_ERR(cq->ring);
	cq->ibcq.cqe = cq->ring->entries;
	if (!udata)
		return 0;
	ret = weft_udata_rxe(udata) ? weft_udata_tell_rxe(udata, &resp.cq) :
				      ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret)
		weft_ring_destroy(cq->ring);
	return ret;
}

int weft_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct weft_dev *dev = to_weft_dev(ibcq->device);
	int ret;

	ret = weft_inject_verb(ibcq->device, WEFT_VERB_CREATE_CQ) ?:
	      cq_check_attr(ibcq->device, attr) ?:
	      weft_profile_check(ibcq->device, udata, WEFT_PROFILE_CQE, attr->cqe);
	if (ret)
		return ret;
	ret = weft_udata_rxe(udata) ? weft_udata_empty(udata) :
	      weft_udata_check(udata, sizeof(struct weft_create_cq_req),
			       sizeof(struct weft_create_cq_resp));
	if (ret)
		return weft_refuse_request(ibcq->device, ret, "create CQ", udata);
	ret = weft_count_take(&dev->num_cq, WEFT_MAX_CQ);
	if (ret)
		return ret;
	ret = cq_make(to_weft_cq(ibcq), attr, udata);
	weft_pause(WEFT_PAUSE_CQ_CREATE_TOLD);
	if (ret)
		weft_count_give(&dev->num_cq);
	return ret;
}

int weft_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct weft_cq *cq = to_weft_cq(ibcq);
	struct weft_ring *ring = cq->ring;

	weft_pause(WEFT_PAUSE_CQ_DESTROY_BEGIN);
	hrtimer_cancel(&cq->moderation.timer);
	weft_vector_quiesce(cq);
	cancel_work_sync(&cq->fail_work);
	weft_events_end(&cq->events);
	weft_pause(WEFT_PAUSE_CQ_DESTROY_QUIET);
	/* in a core without rdma_restrack_begin_del(), netlink may still show the CQ */
	spin_lock_irq(&cq->lock);
	cq->ring = NULL;
	spin_unlock_irq(&cq->lock);
	weft_ring_destroy(ring);
	weft_count_give(&to_weft_dev(ibcq->device)->num_cq);
	return 0;
}

/* Return: the ring to destroy, the old one or, on failure, the new one. */
static struct weft_ring *cq_switch_ring(struct weft_cq *cq,
					struct weft_ring *ring, int *ret)
{
	struct weft_ring *old = cq->ring;
	int tries = WEFT_RING_CARRIES;
	unsigned long flags;
	u32 copied;

	lockdep_assert_held(&cq->resize_lock);
	do {
		copied = weft_ring_carry_ahead(ring, old, true);
		spin_lock_irqsave(&cq->lock, flags);
		*ret = weft_ring_carry_rest(ring, old, true, copied);
		if (!*ret)
			cq->ring = ring;
		spin_unlock_irqrestore(&cq->lock, flags);
	} while (*ret == -EAGAIN && --tries);
	return *ret ? ring : old;
}

int weft_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct weft_resize_cq_resp resp = {};
	struct weft_cq *cq = to_weft_cq(ibcq);
	struct weft_ring *ring;
	int ret;

	ret = weft_inject_verb(ibcq->device, WEFT_VERB_RESIZE_CQ) ?:
	      weft_check_range(ibcq->device, "resize CQ", "cqe", cqe, 1, WEFT_MAX_CQE) ?:
	      weft_profile_check(ibcq->device, udata, WEFT_PROFILE_CQE, cqe);
	if (ret)
		return ret;
	if (!udata)
		return weft_refuse(ibcq->device, -EINVAL, "resize CQ: a kernel CQ has its size");
	ret = weft_udata_rxe(udata) ? weft_udata_empty(udata) :
	      weft_udata_check(udata, sizeof(struct weft_resize_cq_req), sizeof(resp));
	if (ret)
		return weft_refuse_request(ibcq->device, ret, "resize CQ", udata);
	ring = cq_create_ring(cqe, udata, &resp.cq);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	/* first tell the process: a switch of rings cannot be undone */
	ret = ring->rxe ? weft_udata_tell_rxe(udata, &resp.cq) :
			  ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret) {
		weft_ring_destroy(ring);
		return ret;
	}
	weft_pause(WEFT_PAUSE_CQ_RESIZE_TOLD);
	mutex_lock(&cq->resize_lock);
	ring = cq_switch_ring(cq, ring, &ret);
	weft_pause(WEFT_PAUSE_CQ_RESIZE_SWITCHED);
	weft_ring_destroy(ring);
	if (!ret)
		ibcq->cqe = cq->ring->entries;
	else if (ret == -EINVAL)
		ret = weft_refuse(ibcq->device, ret,
				  "resize CQ: cqe %u is below the completions in the queue", cqe);
	mutex_unlock(&cq->resize_lock);
	return ret;
}

/* The ABI has the values of enum ibv_wc_flags, which are not those of enum ib_wc_flags. */
static int cqe_wc_flags(const struct weft_cqe *cqe)
{
	int flags = 0;

	if (cqe->wc_flags & WEFT_WC_GRH)
		flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
	if (cqe->wc_flags & WEFT_WC_WITH_IMM)
		flags |= IB_WC_WITH_IMM;
	if (cqe->wc_flags & WEFT_WC_WITH_INV)
		flags |= IB_WC_WITH_INVALIDATE;
	if (cqe->wc_flags & WEFT_WC_IP_CSUM_OK)
		flags |= IB_WC_IP_CSUM_OK;
	return flags;
}

static void cqe_to_wc(const struct weft_cqe *cqe, struct ib_wc *wc)
{
	*wc = (struct ib_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp = (struct ib_qp *)(uintptr_t)cqe->cookie,
		.src_qp = cqe->src_qp,
		.slid = cqe->slid,
		.wc_flags = cqe_wc_flags(cqe),
		.pkey_index = cqe->pkey_index,
		.sl = cqe->sl,
		.dlid_path_bits = cqe->dlid_path_bits,
		.port_num = cqe->port_num,
		.network_hdr_type = cqe->network_hdr_type,
	};
	if (cqe->wc_flags & WEFT_WC_WITH_INV)
		wc->ex.invalidate_rkey = cqe->ex;
	else
		wc->ex.imm_data = (__be32 __force)cqe->ex;
	if (cqe->wc_flags & WEFT_WC_GRH && cqe->vlan_id != WEFT_VLAN_NONE) {
		wc->vlan_id = cqe->vlan_id;
		wc->wc_flags |= IB_WC_WITH_VLAN;
	}
}

int weft_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct weft_cq *cq = to_weft_cq(ibcq);
	struct weft_cqe cqe;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&cq->poll_lock, flags);
	for (i = 0; i < num && weft_ring_pop(cq->ring, &cqe); i++)
		cqe_to_wc(&cqe, &wc[i]);
	spin_unlock_irqrestore(&cq->poll_lock, flags);
	return i;
}
WEFT_EXPORT_FOR_TEST(weft_poll_cq);

int weft_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct weft_cq *cq = to_weft_cq(ibcq);
	/* the CQ of a process can be resized meanwhile, which frees the ring */
	spinlock_t *lock = cq->user ? &cq->lock : &cq->poll_lock;
	unsigned long irq_flags;
	int ret = 0;

	spin_lock_irqsave(lock, irq_flags);
	weft_ring_arm(cq->ring, (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED ?
		      WEFT_ARM_SOLICITED : WEFT_ARM_ANY);
	if (flags & IB_CQ_REPORT_MISSED_EVENTS && !cq->user)
		ret = !!weft_ring_has_completions(cq->ring);
	spin_unlock_irqrestore(lock, irq_flags);
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_req_notify_cq);
