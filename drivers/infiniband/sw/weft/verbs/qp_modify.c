// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

/*
 * modify_qp: do all lookups and allocations, stop requester and responder, validate everything,
 * then commit everything. The commit cannot fail.
 */

#include "pause.h"
#include "verbs/qp.h"

#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "compat/placement.h"
#include "engine/migration.h"
#include "engine/odp.h"
#include "engine/pace.h"
#include "engine/path.h"
#include "engine/requester.h"
#include "engine/retry.h"
#include "engine/responder.h"
#include "engine/rules.h"
#include "engine/inflight.h"
#include "link/local.h"
#include "object/dev.h"
#include "object/profile.h"
#include "object/qp.h"
#include "object/refuse.h"
#include "object/ucontext.h"
#include "verbs/dc.h"
#include "verbs/qp_resize.h"
#include "verbs/qp_state.h"
#include "trace.h"
#include "wire/psn.h"

/* Programs give a QP the access flags of their regions, including those for FLUSH and ODP. */
#define QP_ACCESS	(COMPAT_ACCESS_FLUSH | IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ACCESS_ON_DEMAND | IB_ACCESS_OPTIONAL)

/* The new values that struct ib_qp_attr has no members for. */
struct qp_change {
	struct weft_av		av;
	struct weft_av		alternate;
	/* source of the alternate path; a reference, or NULL if the core holds one */
	const struct ib_gid_attr *alt_source;
	/* memory for inflight requests, if the new path or send queue needs more */
	struct weft_inflight	inflight;
	struct weft_qp_resize	resize;
	/* of the rate limit, in bytes; 0: the default */
	u32			burst;
};

#define modify_refuse(_qp, _err, _fmt, ...) \
	weft_refuse(&(_qp)->dev->ibdev, _err, "modify QP %u: " _fmt, (_qp)->qpn, ##__VA_ARGS__)

static enum ib_mtu port_mtu(const struct weft_dev *dev)
{
	return dev->hca ? READ_ONCE(dev->hca->port.mtu) : iboe_get_mtu(READ_ONCE(dev->ndev->mtu));
}

/*
 * The subnet manager may change the MTU of an InfiniBand port at any time; the port drops longer
 * packets. A net device that is too small for any packet counts as 256, as in query_port.
 */
static enum ib_mtu port_datagram_mtu(const struct weft_dev *dev)
{
	return dev->hca ? IB_MTU_4096 : port_mtu(dev) ?: IB_MTU_256;
}

static u32 port_pkeys(const struct weft_dev *dev)
{
	return dev->hca ? WEFT_IB_PKEYS : WEFT_PKEY_TBL_LEN;
}

/* The allowed values of an attribute that is a number. */
struct attr_range {
	int		bit;
	const char	*name;
	u32		value;
	u32		min;
	u32		max;
};

static int attr_check_numbers(const struct weft_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	const u32 mtu = mask & IB_QP_PATH_MTU ? port_mtu(qp->dev) : 0;
	const u32 pkey = port_pkeys(qp->dev) - 1;
	const struct attr_range ranges[] = {
		{ IB_QP_PKEY_INDEX, "pkey_index", attr->pkey_index, 0, pkey },
		{ IB_QP_PORT, "port_num", attr->port_num, 1, 1 },
		{ IB_QP_PATH_MTU, "path_mtu", attr->path_mtu, IB_MTU_256, mtu },
		{ IB_QP_DEST_QPN, "dest_qp_num", attr->dest_qp_num, 0, 0xffffff },
		{ IB_QP_TIMEOUT, "timeout", attr->timeout, 0, 31 },
		{ IB_QP_RETRY_CNT, "retry_cnt", attr->retry_cnt, 0, 7 },
		{ IB_QP_RNR_RETRY, "rnr_retry", attr->rnr_retry, 0, 7 },
		{ IB_QP_MIN_RNR_TIMER, "min_rnr_timer", attr->min_rnr_timer, 0, 31 },
		{ IB_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", attr->max_rd_atomic,
		  0, WEFT_MAX_RD_ATOMIC },
		{ IB_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", attr->max_dest_rd_atomic,
		  0, WEFT_MAX_RD_ATOMIC },
		{ IB_QP_ALT_PATH, "alt_pkey_index", attr->alt_pkey_index, 0, pkey },
		{ IB_QP_ALT_PATH, "alt_port_num", attr->alt_port_num, 1, 1 },
		{ IB_QP_ALT_PATH, "alt_timeout", attr->alt_timeout, 0, 31 },
		{ IB_QP_RATE_LIMIT, "rate_limit", attr->rate_limit, 0, WEFT_MAX_RATE },
	};
	const struct attr_range *range;

	for (range = ranges; range < ranges + ARRAY_SIZE(ranges); range++)
		if (mask & range->bit && (range->value < range->min || range->value > range->max))
			return modify_refuse(qp, -EINVAL, "%s %u is not from %u to %u", range->name,
					     range->value, range->min, range->max);
	return 0;
}

static int attr_check_access(const struct weft_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int access = mask & IB_QP_ACCESS_FLAGS ? attr->qp_access_flags & ~QP_ACCESS : 0;

	return access ? modify_refuse(qp, -EINVAL, "qp_access_flags %#x are not supported",
				      access) : 0;
}

static void qp_log_attrs(const struct weft_qp *qp, enum ib_qp_state from, enum ib_qp_state to,
			 const char *rule, u32 attrs)
{
	char names[WEFT_QP_ATTR_NAMES];

	if (!attrs)
		return;
	weft_qp_attr_names(attrs, names, sizeof(names));
	ibdev_dbg(&qp->dev->ibdev, "modify QP %u: %s to %s %s%s\n", qp->qpn,
		  weft_qp_state_name(from), weft_qp_state_name(to), rule, names);
}

static int qp_check_transition(const struct weft_qp *qp, enum ib_qp_state from,
			       enum ib_qp_state to, int mask)
{
	u32 missing, excess;

	if (weft_qp_state_allows(qp->type, from, to, mask))
		return 0;
	if (!weft_qp_state_attrs(qp->type, from, to, mask, &missing, &excess))
		return modify_refuse(qp, -EINVAL, "no transition from %s to %s",
				     weft_qp_state_name(from), weft_qp_state_name(to));
	qp_log_attrs(qp, from, to, "requires", missing);
	qp_log_attrs(qp, from, to, "does not take", excess);
	return -EINVAL;
}

static int qp_check_migration(const struct weft_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	static const char * const names[] = { "MIGRATED", "REARM", "ARMED" };
	u32 to = attr->path_mig_state;

	if (!(mask & IB_QP_PATH_MIG_STATE) ||
	    weft_migration_allows(qp, to, mask & IB_QP_ALT_PATH))
		return 0;
	if (to >= ARRAY_SIZE(names))
		return modify_refuse(qp, -EINVAL, "path_mig_state %u is unknown", to);
	return modify_refuse(qp, -EINVAL, "path_mig_state %s is not allowed in %s%s", names[to],
			     names[READ_ONCE(qp->migration.state)],
			     qp->migration.loaded ? "" : " without an alternate path");
}

/* A QP takes packets from one network namespace, so both paths have to be in it. */
static int qp_check_alternate(const struct weft_qp *qp, const struct qp_change *change, int mask)
{
	const struct weft_av *path = mask & IB_QP_AV ? &change->av : &qp->av;

	if (!(mask & IB_QP_ALT_PATH))
		return 0;
	if (change->alternate.multicast)
		return modify_refuse(qp, -EINVAL, "alt_ah_attr is a multicast address");
	if (change->alternate.net != path->net)
		return modify_refuse(qp, -EINVAL,
				     "alt_ah_attr is in another network namespace than ah_attr");
	return 0;
}

/* Both turns are stopped, so that the state does not change. */
static int qp_validate(struct weft_qp *qp, const struct ib_qp_attr *attr, int mask,
		       const struct qp_change *change)
{
	enum ib_qp_state from = weft_qp_state(qp);
	enum ib_qp_state to = mask & IB_QP_STATE ? attr->qp_state : from;
	int ret;

	/* an empty mask is allowed in any state (ibv_modify_qp(3)), except for DC */
	if (!mask && !qp->dc)
		return 0;
	/* a device that goes ends DC QPs in RESET, too, and a process does not */
	if (qp->dc && mask == IB_QP_STATE && to == IB_QPS_ERR && qp->fault == WEFT_FAULT_REMOVED)
		return 0;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != from)
		return modify_refuse(qp, -EINVAL, "cur_qp_state is %s, but the QP is in %s",
				     weft_qp_state_name(attr->cur_qp_state),
				     weft_qp_state_name(from));
	ret = qp_check_transition(qp, from, to, mask) ?: attr_check_numbers(qp, attr, mask) ?:
	      attr_check_access(qp, attr, mask);
	if (ret)
		return ret;
	/* attributes cannot change while the send queue is draining (IBA 10.3.1.5) */
	if (from == IB_QPS_SQD && to == IB_QPS_SQD && mask & ~IB_QP_STATE &&
	    weft_send_is_busy(&qp->send))
		return modify_refuse(qp, -EINVAL, "the send queue is still draining");
	return qp_check_migration(qp, attr, mask) ?: qp_check_alternate(qp, change, mask);
}

static void commit_send(struct weft_send *send, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_SQ_PSN)
		send->psn = attr->sq_psn & WEFT_PSN_MASK;
	if (mask & IB_QP_TIMEOUT)
		weft_retry_set_timeout(send, attr->timeout);
	if (mask & IB_QP_RETRY_CNT)
		send->retry.cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		send->retry.rnr_cnt = attr->rnr_retry;
	if (mask & (IB_QP_RETRY_CNT | IB_QP_RNR_RETRY))
		weft_retry_refill(&send->retry);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		send->max_rd_atomic = attr->max_rd_atomic;
}

static void commit_recv(struct weft_recv *recv, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_RQ_PSN) {
		recv->psn = attr->rq_psn & WEFT_PSN_MASK;
		recv->ack_psn = weft_psn_add(recv->psn, -1);
	}
	if (mask & IB_QP_MIN_RNR_TIMER)
		recv->rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		recv->max_dest_rd_atomic = attr->max_dest_rd_atomic;
}

/* query_qp returns the attributes as they were given, but PSNs with 24 bits. */
static void commit_attr(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask)
{
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = from->pkey_index;
	if (mask & IB_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IB_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = from->rq_psn & WEFT_PSN_MASK;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = from->sq_psn & WEFT_PSN_MASK;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = from->en_sqd_async_notify;
	if (mask & IB_QP_RATE_LIMIT)
		to->rate_limit = from->rate_limit;
}

/* The send queue is drained, so no request on the old path waits for a response. */
static void commit_path(struct weft_qp *qp, const struct weft_av *av)
{
	if (qp->type == WEFT_QPT_DCI) {
		qp->dc->path = *av;
		return;
	}
	qp->av = *av;
	qp->link = av->local || qp->dc ? &weft_link_local : qp->dev->wire;
	weft_path_forget(qp);
	qp->dev->wire->forget(&qp->recv.tx);
	/* those of a probe: the local link would take them for its own */
	weft_odp_forget(&qp->send.odp);
	weft_inflight_reset(qp);
	weft_migration_follow(qp);
}

/* A kernel consumer that posts at the same time finds RESET, or its work request is dropped. */
static void qp_reset_rings(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	unsigned long flags;

	spin_lock_irqsave(&qp->post_lock, flags);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	weft_ring_reset(qp->send.ring);
	if (recv->ring) {
		weft_ring_reset(recv->ring);
		weft_ring_set_flags(recv->ring, 0, WEFT_RING_NEED_DOORBELL);
	}
	spin_unlock_irqrestore(&qp->post_lock, flags);
}

static void qp_reset(struct weft_qp *qp)
{
	weft_requester_reset(qp);
	weft_responder_reset(qp);
	weft_migration_reset(qp);
	qp_reset_rings(qp);
	qp->fault = 0;
	qp->attr = (struct ib_qp_attr){};
	qp->av = (struct weft_av){};
	qp->access = 0;
	WRITE_ONCE(qp->qkey, 0);
	qp->pkey_index = 0;
	if (qp->dc)
		weft_dc_reset(qp->dc);
}

static void qp_enter(struct weft_qp *qp, enum ib_qp_state to,
		     const struct ib_qp_attr *attr, int mask)
{
	trace_weft_qp_state(qp->qpn, weft_qp_state(qp), to);
	weft_why_state(qp, weft_qp_state(qp), to);
	switch (to) {
	case IB_QPS_RESET:
		qp_reset(qp);
		break;
	case IB_QPS_RTR:
		if (weft_qp_is_ud(qp) || weft_qp_is_raw(qp))
			qp->mtu = ib_mtu_enum_to_int(port_datagram_mtu(qp->dev));
		/* modify_qp has no such attribute of a DC target */
		if (qp->type == WEFT_QPT_DCT)
			qp->recv.max_dest_rd_atomic = WEFT_MAX_RD_ATOMIC;
		break;
	case IB_QPS_RTS:
		/* perhaps before the queue has drained */
		qp->send.stopped = false;
		break;
	case IB_QPS_SQD:
		/* a QP that is in SQD already waits for the event of its transition into SQD */
		if (weft_qp_state(qp) == IB_QPS_SQD)
			break;
		qp->send.drained = false;
		qp->send.sqd_notify = mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
				      attr->en_sqd_async_notify;
		break;
	default:
		break;
	}
	WRITE_ONCE(qp->state, to);
}

static void qp_commit(struct weft_qp *qp, const struct ib_qp_attr *attr, int mask,
		      struct qp_change *change)
{
	commit_attr(&qp->attr, attr, mask);
	commit_send(&qp->send, attr, mask);
	commit_recv(&qp->recv, attr, mask);
	weft_inflight_install(qp, &change->inflight);
	if (mask & IB_QP_AV)
		commit_path(qp, &change->av);
	if (mask & IB_QP_ALT_PATH)
		weft_migration_load(qp, &change->alternate, attr);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		weft_responder_resize(qp);
	if (mask & IB_QP_SQ_PSN)
		weft_inflight_reset(qp);
	if (mask & IB_QP_PATH_MTU)
		qp->mtu = ib_mtu_enum_to_int(attr->path_mtu);
	if (mask & IB_QP_DEST_QPN)
		qp->dest_qpn = attr->dest_qp_num;
	if (mask & IB_QP_QKEY)
		WRITE_ONCE(qp->qkey, attr->qkey);
	if (mask & IB_QP_PKEY_INDEX)
		qp->pkey_index = attr->pkey_index;
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->access = attr->qp_access_flags;
	if (mask & IB_QP_STATE)
		qp_enter(qp, attr->qp_state, attr, mask);
	if (mask & IB_QP_RATE_LIMIT)
		weft_pace_set(&qp->send, attr->rate_limit, change->burst, qp->mtu);
	if (mask & IB_QP_PATH_MIG_STATE)
		weft_migration_set(qp, attr->path_mig_state);
}

/* Does what ib_modify_qp() does for InfiniBand; for RoCE it refuses an alternate path. */
static int modify_set_alternate(const struct weft_qp *qp, const struct weft_alt_path *path,
				struct ib_qp_attr *attr, struct qp_change *change)
{
	struct ib_device *ibdev = &qp->dev->ibdev;
	struct rdma_ah_attr *ah = &attr->alt_ah_attr;
	const struct ib_gid_attr *source;
	union ib_gid dgid;

	source = rdma_get_gid_attr(ibdev, path->port_num, path->sgid_index);
	if (IS_ERR(source))
		return modify_refuse(qp, -EINVAL, "alt_ah_attr has no GID with the index %u",
				     path->sgid_index);
	change->alt_source = source;
	attr->alt_port_num = path->alt_port_num;
	attr->alt_timeout = path->timeout;
	attr->alt_pkey_index = path->pkey_index;
	memcpy(dgid.raw, path->dgid, sizeof(dgid.raw));
	memset(ah, 0, sizeof(*ah));
	ah->type = rdma_ah_find_type(ibdev, path->port_num);
	rdma_ah_set_port_num(ah, path->port_num);
	rdma_ah_set_sl(ah, path->sl);
	rdma_ah_set_static_rate(ah, path->static_rate);
	rdma_ah_set_grh(ah, &dgid, path->flow_label, path->sgid_index, path->hop_limit,
			path->traffic_class);
	ah->grh.sgid_attr = source;
	return 0;
}

static int modify_read_alternate(struct weft_qp *qp, const struct weft_alt_path *path,
				 struct ib_qp_attr *attr, int *mask,
				 struct qp_change *change)
{
	if (!path->port_num)
		return memchr_inv(path, 0, sizeof(*path)) ?
		       modify_refuse(qp, -EINVAL, "alt_ah_attr has no port_num") : 0;
	if (path->reserved_1b || path->reserved_1f)
		return modify_refuse(qp, -EINVAL, "reserved bytes of the alternate path are set");
	if (*mask & IB_QP_ALT_PATH)
		return modify_refuse(qp, -EINVAL, "two alternate paths");
	if (!rdma_is_port_valid(&qp->dev->ibdev, path->port_num))
		return modify_refuse(qp, -EINVAL, "port_num %u of alt_ah_attr is not 1",
				     path->port_num);
	*mask |= IB_QP_ALT_PATH;
	return modify_set_alternate(qp, path, attr, change);
}

static bool modify_has_cap(const struct weft_modify_qp_req *req)
{
	return req->max_send_wr || req->max_recv_wr || req->max_send_sge ||
	       req->max_recv_sge || req->max_inline_data;
}

/*
 * uverbs does not pass capabilities, the burst and packet size of a rate limit, or the alternate
 * path of a RoCE QP, so the provider passes them in its own request. Older providers send the
 * request without the alternate path, which is at its end.
 */
static int modify_read_request(struct weft_qp *qp, struct ib_udata *udata,
			       struct ib_qp_attr *attr, int *mask, struct qp_change *change)
{
	size_t resp_size = *mask & IB_QP_CAP ? sizeof(struct weft_modify_qp_resp) : 0;
	struct weft_modify_qp_req req;
	int ret;

	if (!udata || (!udata->inlen && !(*mask & (IB_QP_CAP | IB_QP_RATE_LIMIT))))
		return weft_udata_empty(udata);
	ret = weft_udata_read(udata, &req, offsetof(struct weft_modify_qp_req, alt), sizeof(req),
			      resp_size);
	if (ret)
		return weft_refuse_request(&qp->dev->ibdev, ret, "modify QP", udata);
	if (req.reserved_24)
		return modify_refuse(qp, -EINVAL, "reserved bytes of the request are set");
	if (modify_has_cap(&req) && !(*mask & IB_QP_CAP))
		return modify_refuse(qp, -EINVAL, "cap is set without IBV_QP_CAP");
	if ((req.max_burst_sz || req.typical_pkt_sz) &&
	    !(*mask & IB_QP_RATE_LIMIT && attr->rate_limit))
		return modify_refuse(qp, -EINVAL,
				     "max_burst_sz %u and typical_pkt_sz %u without a rate_limit",
				     req.max_burst_sz, req.typical_pkt_sz);
	change->burst = req.max_burst_sz;
	attr->cap = (struct ib_qp_cap){
		.max_send_wr = req.max_send_wr,
		.max_recv_wr = req.max_recv_wr,
		.max_send_sge = req.max_send_sge,
		.max_recv_sge = req.max_recv_sge,
		.max_inline_data = req.max_inline_data,
	};
	return modify_read_alternate(qp, &req.alt, attr, mask, change);
}

/*
 * On the transition from SQE to RTS, older work requests have to be flushed (IBA 10.3.1.6). A
 * program that polled the failed one may get here before the requester has flushed them.
 */
static void modify_leaves_sqe(struct weft_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (weft_qp_state(qp) == IB_QPS_SQE && mask & IB_QP_STATE &&
	    attr->qp_state == IB_QPS_RTS)
		weft_requester_flush(qp);
}

/* Requester and responder are stopped from the validation until the end of the commit. */
static int modify_stopped(struct weft_qp *qp, const struct ib_qp_attr *attr, int mask,
			  struct qp_change *change)
{
	int ret;

	weft_pause(WEFT_PAUSE_QP_MODIFY_BEGIN);
	weft_turn_stop(&qp->send.turn);
	weft_pause(WEFT_PAUSE_QP_MODIFY_SEND_STOPPED);
	weft_turn_stop(&qp->recv.turn);
	weft_pause(WEFT_PAUSE_QP_MODIFY_STOPPED);
	modify_leaves_sqe(qp, attr, mask);
	ret = qp_validate(qp, attr, mask, change);
	weft_pause(WEFT_PAUSE_QP_MODIFY_VALID);
	if (!ret && mask & IB_QP_CAP)
		ret = weft_qp_resize_switch(qp, &change->resize);
	if (!ret)
		qp_commit(qp, attr, mask, change);
	/*
	 * Flush the send queue before the receive queue; once the turns are resumed, responder and
	 * requester do not wait for each other.
	 */
	if (!ret && weft_qp_state(qp) == IB_QPS_ERR)
		weft_requester_flush(qp);
	weft_pause(WEFT_PAUSE_QP_MODIFY_DONE);
	weft_turn_resume(&qp->recv.turn);
	weft_pause(WEFT_PAUSE_QP_MODIFY_RECV_RESUMED);
	weft_turn_resume(&qp->send.turn);
	return ret;
}

/*
 * Lookups and allocations come before the turns are stopped, because a peer on this host waits
 * while they are.
 */
static int modify_prepare(struct weft_qp *qp, const struct ib_qp_attr *attr, int mask,
			  struct qp_change *change)
{
	const struct weft_ring *sq = change->resize.sq ?: qp->send.ring;
	bool packets = change->resize.sq && qp->send.inflight.mask;
	int ret;

	if (mask & IB_QP_AV) {
		ret = weft_av_init(&change->av, qp->dev, &attr->ah_attr);
		if (ret)
			return modify_refuse(qp, ret, "invalid ah_attr");
		if (change->av.ib)
			weft_av_find_peer(&change->av, qp->dev);
		packets |= !change->av.local && !qp->dc;
	}
	if (mask & IB_QP_ALT_PATH) {
		ret = weft_av_init(&change->alternate, qp->dev, &attr->alt_ah_attr);
		if (ret)
			return modify_refuse(qp, ret, "invalid alt_ah_attr");
	}
	return packets ? weft_inflight_prepare(&change->inflight, qp, sq->entries) : 0;
}

/*
 * weft_qp_fail() takes each QP to ERR under the same lock. A kernel consumer that keeps its QPs may
 * reset them, as it does after a driver's reset.
 */
static int modify_check_device(const struct weft_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_ERR)
		return 0;
	if (READ_ONCE(qp->dev->inject.dead))
		return modify_refuse(qp, -EIO, "the device has failed");
	return qp->fault == WEFT_FAULT_REMOVED && !qp->kernel ?
	       modify_refuse(qp, -EIO, "the device has failed since the QP was made") : 0;
}

static int modify_locked(struct weft_qp *qp, struct ib_qp_attr *attr, int mask,
			 struct qp_change *change)
{
	int ret;

	mutex_lock(&qp->modify_lock);
	ret = modify_check_device(qp, attr, mask) ?:
	      modify_prepare(qp, attr, mask, change) ?: modify_stopped(qp, attr, mask, change);
	weft_inflight_free(&change->inflight);
	if (!ret && mask & IB_QP_CAP)
		attr->cap = qp->cap;
	mutex_unlock(&qp->modify_lock);
	return ret;
}

static int modify_resize(struct weft_qp *qp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata, struct qp_change *change)
{
	int ret;

	mutex_lock(&qp->resize_lock);
	ret = weft_qp_resize_prepare(qp, &attr->cap, udata, &change->resize);
	weft_pause(WEFT_PAUSE_QP_RESIZE_TOLD);
	if (!ret)
		ret = modify_locked(qp, attr, mask, change);
	weft_qp_resize_end(&change->resize);
	mutex_unlock(&qp->resize_lock);
	return ret;
}

static int modify_check_profile(const struct ib_qp *ibqp, const struct ib_udata *udata,
				const struct ib_qp_attr *attr, int mask)
{
	struct ib_device *ibdev = ibqp->device;

	return (mask & IB_QP_CAP && weft_strict_is_on() && udata ?
		weft_profile_check_cap(to_weft_dev(ibdev), &attr->cap, ibqp->srq) : 0) ?:
	       (mask & IB_QP_MAX_QP_RD_ATOMIC ?
		weft_profile_check(ibdev, udata, WEFT_PROFILE_READS, attr->max_rd_atomic) : 0) ?:
	       (mask & IB_QP_MAX_DEST_RD_ATOMIC ?
		weft_profile_check(ibdev, udata, WEFT_PROFILE_DEST_READS,
				   attr->max_dest_rd_atomic) : 0);
}

int weft_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	const int unsupported = mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT);
	struct weft_qp *qp = to_weft_qp(ibqp);
	struct qp_change change = {};
	int ret;

	if (unsupported)
		return modify_refuse(qp, -EOPNOTSUPP, "attr_mask %#x is not supported",
				     unsupported);
	if (qp->rss)
		return modify_refuse(qp, -EOPNOTSUPP, "an RSS QP has no states");
	ret = weft_inject_qp_verb(ibqp, WEFT_VERB_MODIFY_QP,
				  mask & IB_QP_STATE ? attr->qp_state : IB_QPS_ERR + 1) ?:
	      modify_read_request(qp, udata, attr, &mask, &change) ?:
	      modify_check_profile(ibqp, udata, attr, mask);
	if (!ret && mask & IB_QP_CAP)
		ret = modify_resize(qp, attr, mask, udata, &change);
	else if (!ret)
		ret = modify_locked(qp, attr, mask, &change);
	if (change.alt_source)
		rdma_put_gid_attr(change.alt_source);
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_modify_qp);

/*
 * Move the QP to ERR and complete its outstanding work requests with FATAL_ERR. A QP in RESET,
 * which is also the state of a destroyed one, has nothing outstanding. May sleep.
 */
static void qp_end(struct weft_qp *qp)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct qp_change change = {};

	mutex_lock(&qp->modify_lock);
	if (weft_qp_state(qp) != IB_QPS_RESET) {
		WRITE_ONCE(qp->fault, WEFT_FAULT_REMOVED);
		modify_stopped(qp, &attr, IB_QP_STATE, &change);
	}
	mutex_unlock(&qp->modify_lock);
	flush_work(&qp->recv.turn.work);
	flush_work(&qp->send.turn.work);
}

/*
 * When the device is removed. A kernel QP stays as it is, because the core tells its consumer. May
 * sleep.
 */
void weft_qp_end(struct weft_qp *qp)
{
	if (!qp->kernel)
		qp_end(qp);
}
WEFT_EXPORT_FOR_TEST(weft_qp_end);

/*
 * When the device has failed. The QPs of the MAD layer stay as they are, because it makes them once
 * for each device. May sleep.
 */
void weft_qp_fail(struct weft_qp *qp)
{
	if (qp->type != IB_QPT_GSI && qp->type != IB_QPT_SMI)
		qp_end(qp);
}
