// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/resource.h"

#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>
#include <rdma/weft-resource.h>

#include "link/local.h"
#include "object/cq.h"
#include "object/mr.h"
#include "object/qp.h"
#include "object/srq.h"
#include "object/table.h"
#include "pause.h"
#include "wire/psn.h"

static_assert(sizeof(struct weft_raw_qp) == 96);
static_assert(sizeof(struct weft_raw_cq) == 16);
static_assert(sizeof(struct weft_raw_mr) == 32);
static_assert(sizeof(struct weft_raw_srq) == 24);

/* QP 0 and QP 1 are of one device, other QPNs are unique on the host. */
#define RESOURCE_LAST_SPECIAL	1

/* The values change at any time; two figures need not be of the same moment. */
struct resource_figure {
	const char	*name;
	u32		value;
};

static int resource_put(struct sk_buff *msg, const struct resource_figure *figures, u32 num)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	u32 i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < num; i++) {
		if (rdma_nl_put_driver_u32(msg, figures[i].name, figures[i].value)) {
			nla_nest_cancel(msg, nest);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, nest);
	return 0;
}

/* Receives that are posted. A QP that is not in RESET has its rings as long as the lock is held. */
static u32 resource_receives(struct weft_qp *qp)
{
	int num = 0;

	mutex_lock(&qp->modify_lock);
	if (weft_qp_state(qp) != IB_QPS_RESET && qp->recv.ring)
		num = weft_ring_pending(qp->recv.ring) + READ_ONCE(qp->recv.held);
	mutex_unlock(&qp->modify_lock);
	return max(num, 0);
}

static u32 resource_srq_receives(struct weft_srq *srq)
{
	unsigned long flags;
	int num = 0;

	spin_lock_irqsave(&srq->lock, flags);
	if (srq->ring)
		num = weft_ring_pending(srq->ring);
	spin_unlock_irqrestore(&srq->lock, flags);
	return max(num, 0);
}

/*
 * Receives of the SRQ of a QP, which lives as long as a QP that is not in RESET. An XRC target has
 * one only while it executes a request, and only the owner of its turn may look.
 */
static u32 resource_qp_srq_receives(struct weft_qp *qp)
{
	u32 num = 0;

	mutex_lock(&qp->modify_lock);
	if (weft_qp_state(qp) != IB_QPS_RESET && !qp->xrcd && qp->recv.srq)
		num = resource_srq_receives(qp->recv.srq);
	mutex_unlock(&qp->modify_lock);
	return num;
}

/* Is a CQ of the QP in error, because it was full? The same holds for CQs. */
static bool resource_cq_overrun(struct weft_qp *qp)
{
	bool overrun = false;

	mutex_lock(&qp->modify_lock);
	if (weft_qp_state(qp) != IB_QPS_RESET)
		overrun = (qp->send_cq && READ_ONCE(qp->send_cq->overrun)) ||
			  (!qp->xrcd && qp->recv.cq && READ_ONCE(qp->recv.cq->overrun));
	mutex_unlock(&qp->modify_lock);
	return overrun;
}

/* Milliseconds from @from to @to, if a packet waits for its answer, and the ack timeout runs. */
static u32 resource_ms(const struct weft_send *send, ktime_t from, ktime_t to)
{
	if (READ_ONCE(send->inflight.una) == READ_ONCE(send->inflight.sent) ||
	    !weft_send_is_busy(send) || !READ_ONCE(send->retry.timeout) || to <= from)
		return 0;
	return min_t(u64, div_u64(to - from, NSEC_PER_MSEC), U32_MAX);
}

/*
 * Requests (WEFT_QP_PACKET_CREDITS: their packets) that the peer still has receives for, as far as
 * it has said.
 */
static u32 resource_credits(const struct weft_qp *qp)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	u32 used = READ_ONCE(qp->flags) & WEFT_QP_PACKET_CREDITS ? READ_ONCE(inflight->taking) :
								  READ_ONCE(inflight->ssn);
	u32 left = (READ_ONCE(inflight->limit) - used) & WEFT_PSN_MASK;

	/* a request may be sent ahead of the credits */
	return READ_ONCE(inflight->limited) && left <= WEFT_PSN_MASK / 2 ? left : 0;
}

/*
 * The core shows these figures to everybody, but the raw form to administrators only. PSNs are in
 * the raw form only, because a forged packet needs nothing else to be accepted.
 */
static int resource_put_qp(struct sk_buff *msg, struct weft_qp *qp)
{
	const struct weft_send *send = &qp->send;
	const ktime_t now = ktime_get();
	const struct resource_figure figures[] = {
		{ "sq_entries", READ_ONCE(qp->cap.max_send_wr) },
		{ "rq_entries", READ_ONCE(qp->cap.max_recv_wr) },
		{ "local_link", READ_ONCE(qp->link) == &weft_link_local },
		{ "mtu", READ_ONCE(qp->mtu) },
		{ "retry_left", READ_ONCE(send->retry.left) },
		{ "rnr_left", READ_ONCE(send->retry.rnr_left) },
		{ "src_qpn", qp->src_qpn },
		{ "inflight", READ_ONCE(send->inflight.tail) - READ_ONCE(send->inflight.head) },
		{ "rnr_wait", READ_ONCE(send->retry.rnr_wait) },
		{ "srq", qp->recv.srq || qp->type == IB_QPT_XRC_TGT },
		{ "receives", resource_receives(qp) },
		{ "srq_receives", resource_qp_srq_receives(qp) },
		{ "cq_overrun", resource_cq_overrun(qp) },
		{ "silent_ms", resource_ms(send, READ_ONCE(send->retry.silent), now) },
		{ "timeout_ms", resource_ms(send, now, READ_ONCE(send->retry.deadline)) },
		{ "credits", resource_credits(qp) },
		{ "fault", READ_ONCE(qp->fault) },
	};

	return resource_put(msg, figures, ARRAY_SIZE(figures));
}

/* The driver may have destroyed its QP while the core still has @ibqp, so it is looked up. */
static struct weft_qp *resource_get_qp(const struct ib_qp *ibqp)
{
	const u32 id = to_weft_dev(ibqp->device)->id;
	struct weft_qp *qp;

	if (ibqp->qp_num <= RESOURCE_LAST_SPECIAL)
		return weft_qp_get_special(id, ibqp->qp_num);
	qp = weft_qp_get(ibqp->qp_num);
	if (!qp || qp->dev_id == id)
		return qp;
	weft_qp_put(qp);
	return NULL;
}

int weft_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct weft_qp *qp = resource_get_qp(ibqp);
	int ret;

	if (!qp)
		return 0;
	weft_pause(WEFT_PAUSE_RESOURCE_QP);
	ret = resource_put_qp(msg, qp);
	weft_qp_put(qp);
	return ret;
}

int weft_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	const struct weft_cq *cq = to_weft_cq(ibcq);
	const struct resource_figure figures[] = {
		{ "overrun", READ_ONCE(cq->overrun) },
		{ "timestamp", cq->timestamp },
		{ "moderation", READ_ONCE(cq->moderation.count) },
	};

	return resource_put(msg, figures, ARRAY_SIZE(figures));
}

int weft_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ib_mr)
{
	const struct weft_mr *mr = to_weft_mr(ib_mr);
	const struct resource_figure figures[] = {
		{ "access", READ_ONCE(mr->access) },
		{ "pinned", !!READ_ONCE(mr->umem) },
		{ "dmabuf", !!READ_ONCE(mr->dmabuf) },
	};

	return resource_put(msg, figures, ARRAY_SIZE(figures));
}

/* Figures of on-demand paging, by the names of mlx5; weft has no pages that it could invalidate. */
int weft_fill_stat_mr_entry(struct sk_buff *msg, struct ib_mr *ib_mr)
{
	const struct weft_mr *mr = to_weft_mr(ib_mr);
	const struct weft_region *region;
	u64 faults, prefetches;
	struct nlattr *table;

	if (!(READ_ONCE(mr->access) & IB_ACCESS_ON_DEMAND))
		return 0;
	/* see weft_fill_res_mr_entry_raw() */
	rcu_read_lock();
	region = READ_ONCE(mr->region);
	faults = atomic64_read(&region->odp_faults);
	prefetches = atomic64_read(&region->odp_prefetches);
	rcu_read_unlock();
	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_stat_hwcounter_entry(msg, "page_faults", faults) ||
	    rdma_nl_stat_hwcounter_entry(msg, "page_prefetch", prefetches)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

int weft_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct weft_srq *srq = to_weft_srq(ibsrq);
	const struct resource_figure figures[] = {
		{ "max_sge", srq->max_sge },
		{ "limit", READ_ONCE(srq->limit) },
		{ "error", READ_ONCE(srq->error) },
		{ "receives", resource_srq_receives(srq) },
	};

	return resource_put(msg, figures, ARRAY_SIZE(figures));
}

static u8 resource_qp_flags(const struct weft_qp *qp)
{
	return (READ_ONCE(qp->link) == &weft_link_local ? WEFT_RAW_QP_LOCAL : 0) |
	       (qp->kernel ? WEFT_RAW_QP_KERNEL : 0) |
	       (qp->sig_all ? WEFT_RAW_QP_SIG_ALL : 0) |
	       (weft_send_is_busy(&qp->send) ? WEFT_RAW_QP_BUSY : 0);
}

static void resource_raw_sizes(struct weft_raw_qp *raw, const struct ib_qp_cap *cap)
{
	raw->max_send_wr = READ_ONCE(cap->max_send_wr);
	raw->max_recv_wr = READ_ONCE(cap->max_recv_wr);
	raw->max_send_sge = READ_ONCE(cap->max_send_sge);
	raw->max_recv_sge = READ_ONCE(cap->max_recv_sge);
	raw->max_inline_data = READ_ONCE(cap->max_inline_data);
}

static void resource_raw_queues(struct weft_raw_qp *raw, const struct weft_qp *qp)
{
	const struct weft_send *send = &qp->send;
	const struct weft_recv *recv = &qp->recv;

	raw->next_sq_psn = READ_ONCE(send->psn);
	raw->unanswered_psn = READ_ONCE(send->inflight.una);
	raw->next_rq_psn = READ_ONCE(recv->psn);
	raw->msn = READ_ONCE(recv->msn);
	raw->timeout = READ_ONCE(send->retry.timeout);
	raw->retry_cnt = READ_ONCE(send->retry.cnt);
	raw->rnr_retry = READ_ONCE(send->retry.rnr_cnt);
	raw->min_rnr_timer = READ_ONCE(recv->rnr_timer);
	raw->max_rd_atomic = READ_ONCE(send->max_rd_atomic);
	raw->max_dest_rd_atomic = READ_ONCE(recv->max_dest_rd_atomic);
	raw->retry_left = READ_ONCE(send->retry.left);
	raw->rnr_left = READ_ONCE(send->retry.rnr_left);
}

static void resource_raw_path(struct weft_raw_qp *raw, const struct weft_av *av)
{
	raw->sgid_index = READ_ONCE(av->sgid_index);
	raw->sl = READ_ONCE(av->sl);
	raw->dlid = READ_ONCE(av->dlid);
	memcpy(raw->dgid, &av->dgid, sizeof(raw->dgid));
}

static struct weft_raw_qp resource_raw_qp(const struct weft_qp *qp)
{
	struct weft_raw_qp raw = {
		.qpn = qp->qpn,
		.dest_qpn = READ_ONCE(qp->dest_qpn),
		.src_qpn = qp->src_qpn,
		.type = qp->dc ? IB_QPT_DRIVER : qp->type,
		.state = weft_qp_state(qp),
		.path_mig_state = READ_ONCE(qp->migration.state),
		.flags = resource_qp_flags(qp),
		.access = READ_ONCE(qp->access),
		.qkey = READ_ONCE(qp->qkey),
		.mtu = READ_ONCE(qp->mtu),
		.pkey_index = READ_ONCE(qp->pkey_index),
	};

	resource_raw_sizes(&raw, &qp->cap);
	resource_raw_queues(&raw, qp);
	resource_raw_path(&raw, &qp->av);
	return raw;
}

int weft_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct weft_qp *qp = resource_get_qp(ibqp);
	struct weft_raw_qp raw;

	/* the core leaves the entry out, while it would fail without any data */
	if (!qp)
		return -EAGAIN;
	raw = resource_raw_qp(qp);
	weft_qp_put(qp);
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(raw), &raw);
}

int weft_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct weft_cq *cq = to_weft_cq(ibcq);
	struct weft_raw_cq raw = {};
	unsigned long flags;

	weft_pause(WEFT_PAUSE_RESOURCE_CQ);
	spin_lock_irqsave(&cq->lock, flags);
	if (!cq->ring) {
		/* the CQ is being destroyed: see weft_fill_res_qp_entry_raw() */
		spin_unlock_irqrestore(&cq->lock, flags);
		return -EAGAIN;
	}
	raw.entries = cq->ring->entries;
	raw.completions = cq->ring->device;
	raw.flags = (cq->overrun ? WEFT_RAW_CQ_OVERRUN : 0) |
		    (cq->timestamp ? WEFT_RAW_CQ_TIMESTAMPS : 0) |
		    (cq->user ? 0 : WEFT_RAW_CQ_KERNEL);
	raw.moderation_count = cq->moderation.count;
	spin_unlock_irqrestore(&cq->lock, flags);
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(raw), &raw);
}

static u32 resource_mr_flags(const struct weft_mr *mr, const struct weft_region *region)
{
	return (READ_ONCE(mr->umem) ? WEFT_RAW_MR_PINNED : 0) |
	       (READ_ONCE(mr->dmabuf) ? WEFT_RAW_MR_DMABUF : 0) |
	       (region->mm ? WEFT_RAW_MR_PAGED : 0) |
	       (region->fastreg ? WEFT_RAW_MR_FASTREG : 0);
}

int weft_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ib_mr)
{
	const struct weft_mr *mr = to_weft_mr(ib_mr);
	const struct weft_region *region;
	struct weft_raw_mr raw = {};

	/* a concurrent rereg_mr frees the old region after a grace period */
	rcu_read_lock();
	region = READ_ONCE(mr->region);
	weft_pause(WEFT_PAUSE_RESOURCE_MR);
	raw.iova = READ_ONCE(region->iova);
	raw.length = READ_ONCE(region->length);
	raw.key = READ_ONCE(region->key);
	raw.access = READ_ONCE(region->access);
	raw.flags = resource_mr_flags(mr, region);
	raw.windows = max(atomic_read(&region->bound), 0);
	rcu_read_unlock();
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(raw), &raw);
}

int weft_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct weft_srq *srq = to_weft_srq(ibsrq);
	struct weft_raw_srq raw = {};
	unsigned long flags;

	weft_pause(WEFT_PAUSE_RESOURCE_SRQ);
	spin_lock_irqsave(&srq->lock, flags);
	if (!srq->ring) {
		spin_unlock_irqrestore(&srq->lock, flags);
		return -EAGAIN;
	}
	raw.srqn = srq->srqn;
	raw.entries = srq->ring->entries;
	raw.taken = srq->ring->device;
	raw.max_sge = srq->max_sge;
	raw.limit = srq->limit;
	raw.flags = (srq->error ? WEFT_RAW_SRQ_ERROR : 0) | (srq->xrc ? WEFT_RAW_SRQ_XRC : 0);
	spin_unlock_irqrestore(&srq->lock, flags);
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, sizeof(raw), &raw);
}
