// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls that make QPs and change them. A QP mostly goes on towards RTS, connected to another
 * one of its world; what is wrong with a call is drawn, and the model says whether it is.
 */
#include "sequences.h"

static const enum ibv_qp_type types[SERVICES] = {
	IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
	IBV_QPT_RAW_PACKET,
};

static const char * const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

/*
 * ---- Creating ----
 */

struct qp *new_qp(struct obj *o, enum service service, uint32_t num)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	CHECK(qp);
	qp->service = service;
	qp->num = num;
	qp->maker = o;
	qp->handles = 1;
	qp->link = w->qps;
	w->qps = qp;
	o->q = qp;
	return qp;
}

/* what is wrong is as in spoil_creation() */
static int draw_creation(struct ibv_qp_init_attr_ex *attr, enum service service,
			 unsigned int bad, const struct obj *srq)
{
	attr->cap = (struct ibv_qp_cap){
		.max_send_wr = 1 + below(12), .max_recv_wr = 1 + below(12),
		.max_send_sge = 1 + below(3), .max_recv_sge = 1 + below(3),
		.max_inline_data = below(2) * below(100),
	};
	attr->sq_sig_all = one_in(8);
	if (service == TGT)
		memset(&attr->cap, 0, sizeof(attr->cap));
	switch (bad) {
	case 1:
		attr->cap.max_send_wr = 32769;
		break;
	case 2:
		attr->cap.max_send_sge = 33;
		break;
	case 3:
		attr->cap.max_inline_data = 1025;
		break;
	case 4:
		attr->qp_type = IBV_QPT_DRIVER;
		return EOPNOTSUPP;
	default:
		/* the core: one of XRC is for no QP */
		return srq && (srq->domain || service == RAW) ? EINVAL : 0;
	}
	return EINVAL;
}

bool create_qp_of(enum service service)
{
	struct ibv_qp_init_attr_ex attr = {};
	enum kind kind = service == RAW ? RAWQP : QP;
	struct obj *pd = some(PD), *scq, *rcq, *srq = NULL, *xrcd = NULL, *o;
	unsigned int bad = service != TGT && one_in(8) ? 1 + below(4) : 0;
	int want, context;
	struct ibv_qp *iqp;
	struct qp *qp;

	if (service == TGT)
		xrcd = some(XRCD);
	if (full(kind) || (service == TGT ? !xrcd : !pd))
		return false;
	context = service == TGT ? xrcd->context : pd->context;
	scq = some_of(CQ, context);
	rcq = one_in(2) ? scq : some_of(CQ, context);
	if (!scq && service != TGT)
		return false;
	if ((service < INI && one_in(3)) || (service == RAW && one_in(12)))
		srq = some_of(SRQ, context);
	attr.qp_type = types[service];
	want = draw_creation(&attr, service, bad, srq);
	o = add(kind, context, NULL);
	o->deaf = service == RAW && one_in(4);
	if (o->deaf)
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	attr.qp_context = o;
	if (service == TGT) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = xrcd->ixrcd;
	} else {
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
		attr.pd = pd->ipd;
		attr.send_cq = scq->icq;
		attr.recv_cq = service == INI ? NULL : rcq->icq;
		attr.srq = srq ? srq->isrq : NULL;
	}
	call("create_qp QP %u of type %d, context %d, PD %u, CQs %u %u, SRQ %u, XRCD %u, cap %u %u",
	     o->id, attr.qp_type, context, xrcd ? 0 : pd->id, xrcd ? 0 : scq->id,
	     xrcd ? 0 : rcq->id, srq ? srq->id : 0, xrcd ? xrcd->id : 0, attr.cap.max_send_wr,
	     attr.cap.max_recv_wr);
	iqp = ibv_create_qp_ex(w->context[context], &attr);
	result(kind == QP ? V_CREATE_QP : V_CREATE_RAW, error_of(iqp), want);
	if (!iqp) {
		forget(o);
		return true;
	}
	o->iqp = iqp;
	qp = new_qp(o, service, iqp->qp_num);
	qp->cap = attr.cap;
	qp->sq.max = attr.cap.max_send_wr;
	qp->rq.max = attr.cap.max_recv_wr;
	qp->sig_all = attr.sq_sig_all;
	CHECK(qp->sq.max <= MAX_WR && qp->rq.max <= MAX_WR);
	if (xrcd) {
		o->xrcd = xrcd;
		qp->domain = xrcd->domain;
		hold(xrcd);
	} else {
		qp->pd = pd;
		qp->scq = scq;
		qp->rcq = service == INI ? NULL : rcq;
		qp->srq = srq;
		hold_pd(pd, false);
		hold(scq);
		hold(qp->rcq);
		hold(srq);
	}
	check_qp(o);
	return true;
}

static bool create_qp(void)
{
	return create_qp_of(below(RAW));
}

/* of a target; its number alone is enough, whatever it is */
static bool open_qp(void)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct obj *xrcd = some(XRCD), *target = some(QP), *o;
	bool is_ok;

	if (!xrcd || !target || w->num[QP] == MAX_OBJECTS)
		return false;
	if (target->q->service != TGT && !one_in(8))
		return false;
	attr.xrcd = xrcd->ixrcd;
	attr.qp_num = target->q->num;
	if (one_in(8))
		attr.qp_type = IBV_QPT_RC;
	is_ok = target->q->service == TGT && target->q->domain == xrcd->domain &&
		attr.qp_type == IBV_QPT_XRC_RECV;
	o = add(QP, xrcd->context, NULL);
	call("open_qp QP %u of QP %u by XRCD %u", o->id, target->id, xrcd->id);
	o->iqp = ibv_open_qp(w->context[xrcd->context], &attr);
	result(V_OPEN_QP, o->iqp ? 0 : errno, is_ok ? 0 : EINVAL);
	if (!o->iqp) {
		forget(o);
		return true;
	}
	o->q = target->q;
	o->q->handles++;
	o->xrcd = xrcd;
	hold(xrcd);
	check_qp(o);
	return true;
}

/*
 * ---- Modifying ----
 */

static bool fits(const struct qp *qp, const struct qp *other)
{
	if (qp == other)
		return false;
	if (qp->service == INI || qp->service == TGT)
		return qp->service + other->service == INI + TGT;
	return qp->service == other->service;
}

/* one that is not yet connected, or to this one, and can be */
static struct qp *partner_of(const struct qp *qp)
{
	struct qp *other, *best = NULL;
	int score, most = -1;

	for (other = w->qps; other; other = other->link) {
		if (!fits(qp, other))
			continue;
		score = below(4) + 4 * (other->state != IBV_QPS_RESET) +
			8 * !(other->set & IBV_QP_DEST_QPN) +
			16 * (other->set & IBV_QP_DEST_QPN && other->attr.dest_qp_num == qp->num);
		if (score > most) {
			best = other;
			most = score;
		}
	}
	return best;
}

static uint32_t wanted_size(uint32_t there)
{
	return one_in(4) || there > MAX_WR - 12 ? 0 : there + 1 + below(MAX_WR / 2 > there ? 12 : 4);
}

static struct ibv_qp_attr draw_attr(const struct qp *qp, enum ibv_qp_state to)
{
	static const int accesses[] = {
		ACCESS_ALL, ACCESS_ALL, ACCESS_ALL, IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_REMOTE_WRITE, 0,
	};
	struct qp *partner = partner_of(qp);
	uint32_t num = partner ? partner->num : below(1 << 24);
	struct qp *peer = qp_of(qp->attr.dest_qp_num);
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.cur_qp_state = qp->state,
		.en_sqd_async_notify = below(2),
		.qp_access_flags = accesses[below(ARRAY_SIZE(accesses))],
		.port_num = 1,
		.qkey = 1 + (one_in(8) ? below(2) : 0),
		.path_mtu = IBV_MTU_256 + below(port.active_mtu - IBV_MTU_256 + 1),
		.path_mig_state = IBV_MIG_MIGRATED,
		.dest_qp_num = num,
		.rq_psn = partner ? partner->psn : below(1 << 24),
		.sq_psn = qp->psn,
		.max_dest_rd_atomic = one_in(8) ? 0 : 1 + below(16),
		.max_rd_atomic = one_in(8) ? 0 : 1 + below(16),
		.min_rnr_timer = 1 + below(8),
		.timeout = 5 + below(6),
		.retry_cnt = below(3),
		.rnr_retry = one_in(2) ? 7 : below(3),
		.alt_port_num = 1,
		.alt_timeout = below(12),
		.cap = qp->cap,
	};

	if (peer && peer->attr.dest_qp_num == qp->num && peer->set & IBV_QP_RQ_PSN)
		attr.sq_psn = peer->expected;
	attr.sq_psn |= below(2) << 24;
	attr.cap.max_send_wr = wanted_size(qp->sq.tail - qp->sq.polled);
	attr.cap.max_recv_wr = wanted_size(qp->rq.tail - qp->rq.polled);
	av_to(&attr.ah_attr, gid4, gid4);
	attr.ah_attr.sl = below(8);
	attr.ah_attr.grh.traffic_class = below(64) * 4;
	attr.ah_attr.grh.flow_label = below(1 << 20);
	av_to(&attr.alt_ah_attr, gid4, gid4);
	attr.alt_ah_attr.sl = below(8);
	return attr;
}

/* one value is out of range; all of it in @mask or not */
static void spoil_value(struct ibv_qp_attr *attr, const struct qp *qp)
{
	switch (below(16)) {
	case 0:
		attr->port_num = 2 * below(2);
		break;
	case 1:
		attr->pkey_index = port.pkey_tbl_len;
		break;
	case 2:
		attr->qp_access_flags |= 1 << 30;
		break;
	case 3:
		attr->path_mtu = below(2) * 6;
		break;
	case 4:
		attr->dest_qp_num |= 1 << 24;
		break;
	case 5:
		attr->max_dest_rd_atomic = 129;
		break;
	case 6:
		attr->max_rd_atomic = 129;
		break;
	case 7:
		attr->min_rnr_timer = 32;
		break;
	case 8:
		attr->timeout = 32;
		break;
	case 9:
		attr->retry_cnt = 8;
		break;
	case 10:
		attr->rnr_retry = 8;
		break;
	case 11:
		attr->ah_attr.grh.sgid_index = port.gid_tbl_len - 1;
		break;
	case 12:
		attr->ah_attr.sl = 16;
		break;
	case 13:
		attr->alt_timeout = 32;
		break;
	case 14:
		attr->path_mig_state = one_in(2) ? IBV_MIG_ARMED : 3;
		break;
	default:
		attr->cur_qp_state = (qp->state + 1) % IBV_QPS_ERR;
	}
}

static enum ibv_qp_state draw_state(const struct qp *qp)
{
	static const enum ibv_qp_state from_rts[] = {
		IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QPS_ERR, IBV_QPS_RESET,
	};

	switch (qp->state) {
	case IBV_QPS_RESET:
		return one_in(20) ? IBV_QPS_ERR : IBV_QPS_INIT;
	case IBV_QPS_INIT:
		return one_in(8) ? IBV_QPS_INIT : IBV_QPS_RTR;
	case IBV_QPS_RTR:
		return one_in(20) ? IBV_QPS_ERR : IBV_QPS_RTS;
	case IBV_QPS_RTS:
		return from_rts[below(ARRAY_SIZE(from_rts))];
	case IBV_QPS_SQD:
		return one_in(3) ? IBV_QPS_SQD : IBV_QPS_RTS;
	case IBV_QPS_SQE:
		return one_in(4) ? IBV_QPS_ERR : IBV_QPS_RTS;
	default:
		return IBV_QPS_RESET;
	}
}

/* some of what the transition may have beside what it must */
static int draw_mask(const struct qp *qp, enum ibv_qp_state to)
{
	int mask = required(qp, to), may = optional(qp, to), bit;

	for (bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1)
		if (may & bit && one_in(5))
			mask |= bit;
	return mask | (to == qp->state && one_in(2) ? 0 : IBV_QP_STATE);
}

/* whether the specifications say what comes of it */
static bool is_specified(const struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	uint32_t i;

	if (qp->state != IBV_QPS_SQD || !(mask & IBV_QP_STATE) || attr->qp_state != IBV_QPS_RTS)
		return true;
	if (qp->draining)
		return false;
	for (i = qp->sq.next; i != qp->sq.tail; i++)
		if (!predictable(qp, &qp->sq.wr[i % MAX_WR]))
			return false;
	return true;
}

bool modify_this_qp(struct obj *o)
{
	struct qp *qp = o->q;
	struct ibv_qp_attr attr;
	enum ibv_qp_state to = draw_state(qp);
	enum verb verb = o->kind == QP ? V_MODIFY_QP :
			 o->kind == RAWQP ? V_MODIFY_RAW : V_MODIFY_DC;
	int mask, want;

	/* no great hurry to leave where work is done */
	if (qp->state == IBV_QPS_RTS && to != IBV_QPS_RTS && !one_in(3))
		return false;
	attr = draw_attr(qp, to);
	mask = draw_mask(qp, to);
	if (one_in(6))
		spoil_value(&attr, qp);
	else if (one_in(6))
		mask ^= 1 << below(21);
	else if (one_in(10))
		attr.qp_state = below(IBV_QPS_ERR + 2);
	want = modify_result(qp, &attr, mask);
	if (!want && !is_specified(qp, &attr, mask))
		return false;
	if (!(mask == IBV_QP_STATE && attr.qp_state == IBV_QPS_RESET && may_lose(o)))
		sync_all();
	want = modify_result(qp, &attr, mask);
	call("modify_qp QP %u (%s), state %d, mask %#x, dest %#x, psns %#x %#x, rnr %u, access %#x",
	     o->id, states[qp->state], attr.qp_state, mask, attr.dest_qp_num, attr.rq_psn,
	     attr.sq_psn, attr.rnr_retry, attr.qp_access_flags);
	/* the core has ENODATA for an empty GID index */
	result_of(verb, ibv_modify_qp(o->iqp, &attr, mask), want,
		  want && attr.ah_attr.grh.sgid_index == port.gid_tbl_len - 1 ? ENODATA : want);
	if (!want)
		modified(qp, &attr, mask);
	run();
	if (w->must_sync)
		sync_all();
	check_qp(o);
	return true;
}

static bool modify_qp(void)
{
	struct obj *o = some(QP);

	return o && modify_this_qp(o);
}

static bool query_qp(void)
{
	struct obj *o = some(QP);

	if (!o)
		return false;
	sync_all();
	call("query_qp QP %u", o->id);
	check_qp(o);
	result(V_QUERY_QP, 0, 0);
	return true;
}

/*
 * ---- Groups ----
 */

static uint16_t lid_of(int group)
{
	return infiniband ? 0xc000 + 16 * w->number + group : 0;
}

static bool attach(void)
{
	int group = below(GROUPS), want;
	struct obj *o = some(QP);
	union ibv_gid gid = group_gid(group);
	bool single = one_in(8);

	/* the core does not make the lock of one that was opened (ib_uverbs_open_qp()) */
	if (!o || o->q->maker != o || (o->q->service != UD && !one_in(8)))
		return false;
	if (single)
		SAME(ibv_query_gid(w->context[o->context], 1, gid4, &gid), 0);
	want = single || o->q->service != UD ? EINVAL : 0;
	call("attach_mcast QP %u, group %d%s", o->id, group, single ? ", no group" : "");
	result(V_ATTACH, ibv_attach_mcast(o->iqp, &gid, lid_of(group)), want);
	if (!want)
		o->q->groups |= 1 << group;
	return true;
}

static void detach_from(struct obj *o, int group)
{
	union ibv_gid gid = group_gid(group);
	bool is_member = o->q->groups & 1 << group;

	call("detach_mcast QP %u, group %d", o->id, group);
	result(V_DETACH, ibv_detach_mcast(o->iqp, &gid, lid_of(group)), is_member ? 0 : EINVAL);
	o->q->groups &= ~(1 << group);
}

static bool detach(void)
{
	struct obj *o = some(QP);

	if (!o || o->q->maker != o || (!o->q->groups && !one_in(8)))
		return false;
	sync_all();
	detach_from(o, below(GROUPS));
	return true;
}

void detach_all(struct obj *o)
{
	int i;

	for (i = 0; i < GROUPS; i++)
		if (o->q->groups & 1 << i)
			detach_from(o, i);
}

const struct action qp_actions[] = {
	{ "create_qp", create_qp, 10 }, { "open_qp", open_qp, 3 },
	{ "modify_qp", modify_qp, 50 }, { "query_qp", query_qp, 4 },
	{ "attach", attach, 3 }, { "detach", detach, 3 },
};
const int num_qp_actions = ARRAY_SIZE(qp_actions);
