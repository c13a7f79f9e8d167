// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls that post work requests, poll completions, and ask for events.
 */
#include "sequences.h"

#include <sched.h>

#define LIST	3		/* work requests of a call */

static uint64_t next_wr_id(bool receive)
{
	return (uint64_t)++w->next_id << 1 | receive;
}

/*
 * ---- Elements ----
 */

static bool may_use(const struct obj *mr, struct obj *pd, int right)
{
	return !mr->spoilt && mr->size >= 8 && base_of(mr->pd) == base_of(pd) &&
	       (!right || mr->access & right);
}

/* a region of @pd, with that right; or, now and then, any */
static struct obj *some_region(struct obj *pd, int right, bool paged)
{
	struct obj *mr = some(MR);
	int tries;

	for (tries = 0; mr && tries < 20; tries++, mr = some(MR))
		if (may_use(mr, pd, right) && (paged || mr->mr_kind != MR_PAGED))
			return mr;
	return NULL;
}

/* Return: whether there is memory for it */
static bool draw_element(struct element *e, struct obj *pd, bool written, bool paged)
{
	struct obj *mr = some_region(pd, written ? IBV_ACCESS_LOCAL_WRITE : 0, paged);

	if (!mr)
		return false;
	e->length = below(mr->size < LONGEST ? mr->size + 1 : LONGEST + 1);
	e->addr = mr->start + below(mr->size - e->length + 1);
	e->lkey = mr->imr->lkey;
	return true;
}

/* a key, of a window as well, of @pd or perhaps not */
static void draw_remote(struct send *wr, struct obj *pd, int right, bool may_be_wrong)
{
	struct obj *o = one_in(3) ? some(MW) : NULL;

	if (!o || (!o->bound && !may_be_wrong))
		o = may_be_wrong && one_in(2) ? some(MR) : some_region(pd, right, true);
	if (!o) {
		wr->rkey = 0x12345600;
		wr->remote = 4096;
		return;
	}
	wr->rkey = o->kind == MW ? o->key : o->imr->rkey;
	wr->remote = o->start + (o->size > wr->from.length ? below(o->size - wr->from.length) : 0);
	if (wr->op == IBV_WR_ATOMIC_FETCH_AND_ADD && !one_in(12))
		wr->remote = (wr->remote + 7) & ~7ULL;
	if (may_be_wrong && one_in(3))
		wr->remote += o->size;
}

/*
 * ---- Sends ----
 */

static const enum ibv_wr_opcode ops[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_LOCAL_INV, IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_BIND_MW, IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV,
};

static enum ibv_wr_opcode draw_op(const struct qp *qp)
{
	static const int usable[SERVICES] = { 11, 8, 2, 4, 1, 1 };

	return ops[below(usable[qp->service])];
}

static int right_of(enum ibv_wr_opcode op)
{
	return op == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ :
	       op == IBV_WR_ATOMIC_FETCH_AND_ADD ? IBV_ACCESS_REMOTE_ATOMIC :
	       op == IBV_WR_RDMA_WRITE || op == IBV_WR_RDMA_WRITE_WITH_IMM ?
	       IBV_ACCESS_REMOTE_WRITE : 0;
}

static void draw_datagram(struct send *wr, const struct qp *qp)
{
	struct obj *to = some(QP);

	wr->ah = some_of(AH, qp->maker->context);
	if (!wr->ah)
		return;
	wr->ah_is_ok = base_of(wr->ah->pd) == base_of(qp->pd);
	wr->group = wr->ah->group;
	wr->qpn = wr->group >= 0 ? 0xffffff : to->q->num;
	wr->qkey = one_in(8) ? 2 : 1;
}

static void draw_bind(struct send *wr, const struct qp *qp)
{
	struct obj *mw = some(MW), *mr = some(MR);

	wr->mw = mw;
	wr->region = mr;
	if (!mw || !mr || mw->mw_type != IBV_MW_TYPE_2 || mr->spoilt || mw->context != mr->context ||
	    mw->context != qp->maker->context) {
		wr->mw = NULL;
		return;
	}
	wr->size = below(mr->size + 1) + one_in(16);
	wr->start = mr->start + (mr->size > wr->size ? below(mr->size - wr->size + 1) : 0);
	wr->access = (one_in(2) ? IBV_ACCESS_REMOTE_WRITE : 0) |
		     (one_in(2) ? IBV_ACCESS_REMOTE_READ : 0);
	wr->key = ibv_inc_rkey(mw->key);
}

static bool is_paged(uint32_t lkey)
{
	int i;

	for (i = 0; i < w->num[MR]; i++)
		if (w->obj[MR][i]->imr->lkey == lkey)
			return w->obj[MR][i]->access & IBV_ACCESS_ON_DEMAND;
	return false;
}

/* Return: whether there is what it takes */
static bool draw_send(struct send *wr, const struct qp *qp)
{
	struct qp *peer = qp_of(qp->attr.dest_qp_num);
	unsigned int bad = one_in(10) ? 1 + below(3) : 0;
	struct obj *o = some(MW), *sink = qp->service == INI ? some(SRQ) : NULL;
	struct obj *domain = sink ? sink->pd : peer ? peer->pd : NULL;
	bool reads;

	*wr = (struct send){ .id = next_wr_id(false), .op = draw_op(qp), .group = -1 };
	/* it is signaled if the other end does not see it either: else nobody knows when it is done */
	wr->signaled = right_of(wr->op) || qp->service == RAW || !one_in(5);
	wr->solicited = one_in(3);
	reads = wr->op == IBV_WR_RDMA_READ || wr->op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	if (wr->op == IBV_WR_BIND_MW) {
		draw_bind(wr, qp);
		return wr->mw && (qp->sq.next == qp->sq.tail) && qp->state != IBV_QPS_SQD;
	}
	if (wr->op == IBV_WR_LOCAL_INV || wr->op == IBV_WR_SEND_WITH_INV)
		wr->rkey = o ? o->key : 0;
	if (wr->op == IBV_WR_LOCAL_INV)
		return o && (o->bound || one_in(8));
	if (!draw_element(&wr->from, bad == 1 ? some(PD) : qp->pd, reads && bad != 2, true))
		return false;
	if (wr->op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr->from.length = 8;
	/* a frame has a header */
	if (qp->service == RAW && wr->from.length < FRAME)
		return false;
	wr->signaled |= is_paged(wr->from.lkey);
	if (bad == 3 && !right_of(wr->op))
		wr->from.lkey ^= 0x80000000;
	if (qp->service == UD)
		draw_datagram(wr, qp);
	else if (right_of(wr->op))
		draw_remote(wr, domain, right_of(wr->op),
			    bad == 3 && wr->op != IBV_WR_RDMA_WRITE_WITH_IMM);
	wr->srqn = sink ? sink->srqn : one_in(2) ? 0x123456 : 1;
	if (!reads && wr->from.length <= qp->cap.max_inline_data && one_in(2))
		wr->inlined = true;
	return qp->service != UD || wr->ah;
}

struct batch {
	struct send send[LIST];
	struct ibv_send_wr wr[LIST];
	struct ibv_sge sge[LIST][33];
	int num, spoilt;		/* which is wrong, -1: none */
};

static void spell(struct batch *b, int i, const struct qp *qp)
{
	struct send *s = &b->send[i];
	struct ibv_send_wr *wr = &b->wr[i];

	memset(wr, 0, sizeof(*wr));
	b->sge[i][0] = (struct ibv_sge){ s->from.addr, s->from.length, s->from.lkey };
	if (s->inlined)
		b->sge[i][0].addr = (uintptr_t)w->space;
	wr->wr_id = s->id;
	wr->opcode = s->op;
	wr->sg_list = b->sge[i];
	wr->num_sge = s->from.length ? 1 : 0;
	wr->send_flags = (s->signaled ? IBV_SEND_SIGNALED : 0) |
			 (s->solicited ? IBV_SEND_SOLICITED : 0) |
			 (s->inlined ? IBV_SEND_INLINE : 0);
	if (i)
		b->wr[i - 1].next = wr;
	if (s->op == IBV_WR_BIND_MW) {
		wr->bind_mw.mw = s->mw->imw;
		wr->bind_mw.rkey = s->key;
		wr->bind_mw.bind_info = (struct ibv_mw_bind_info){
			s->region->imr, s->start, s->size, s->access };
	} else if (s->op == IBV_WR_LOCAL_INV || s->op == IBV_WR_SEND_WITH_INV) {
		wr->invalidate_rkey = s->rkey;
	} else if (qp->service == UD) {
		wr->wr.ud.ah = s->ah->iah;
		wr->wr.ud.remote_qpn = s->qpn;
		wr->wr.ud.remote_qkey = s->qkey;
	} else {
		at_key(wr, s->rkey, s->remote);
	}
	if (qp->service == INI)
		wr->qp_type.xrc.remote_srqn = s->srqn;
}

/* what no QP takes */
static void spoil_send(struct batch *b, int i, const struct qp *qp)
{
	struct ibv_send_wr *wr = &b->wr[i];

	b->spoilt = i;
	switch (below(qp->service == RAW ? 5 : 4)) {
	case 0:
		wr->opcode = qp->service == UC ? IBV_WR_RDMA_READ :
			     qp->service == UD ? IBV_WR_RDMA_WRITE : 200;
		break;
	case 1:
		wr->opcode = IBV_WR_SEND;
		wr->num_sge = qp->cap.max_send_sge + 1;
		break;
	case 2:
		wr->send_flags |= 1 << 20;
		break;
	case 4:
		b->sge[i][0].length = below(FRAME);
		break;
	default:
		wr->opcode = IBV_WR_SEND;
		wr->num_sge = 1;
		wr->send_flags |= IBV_SEND_INLINE;
		b->sge[i][0] = (struct ibv_sge){ (uintptr_t)w->space,
						 qp->cap.max_inline_data + 1, 0 };
	}
}

static bool sends(const struct qp *qp)
{
	return qp->known >= IBV_QPS_RTS;
}

static bool draw_batch(struct batch *b, const struct qp *qp)
{
	int wanted = one_in(2) ? 1 : 1 + below(LIST), i;

	b->spoilt = -1;
	for (i = 0; i < wanted; i++) {
		if (!draw_send(&b->send[i], qp) || !predictable(qp, &b->send[i]))
			break;
		spell(b, i, qp);
		if (b->send[i].op == IBV_WR_BIND_MW || b->send[i].group >= 0 || infiniband) {
			i++;
			break;
		}
	}
	b->num = b->send[0].op == IBV_WR_BIND_MW && i ? 1 : i;
	/* a bind that follows another request is left out */
	for (i = 1; i < b->num; i++)
		if (b->send[i].op == IBV_WR_BIND_MW)
			b->num = i;
	if (b->num)
		b->wr[b->num - 1].next = NULL;
	return b->num;
}

static void posted(struct qp *qp, const struct batch *b, int num)
{
	int i;

	for (i = 0; i < num; i++)
		qp->sq.wr[qp->sq.tail++ % MAX_WR] = b->send[i];
	flush_both(qp);
	run();
}

/* Its own work request may stop it: by then all that its peer has sent has to have arrived. */
static void settle_peer(const struct qp *qp)
{
	struct qp *other;

	for (other = w->qps; other; other = other->link)
		if (other->scq && other->attr.dest_qp_num == qp->num)
			sync_cq(other->scq);
}

bool post_send_to(struct obj *o)
{
	struct ibv_send_wr *bad = NULL;
	int room, taken, want = 0, ret;
	struct qp *qp = o->q;
	struct batch b;

	if (qp->maker != o || (!sends(qp) && !one_in(16)))
		return false;
	if (qp->service == TGT || !draw_batch(&b, qp))
		return false;
	settle_peer(qp);
	if (promised(qp->scq) + b.num > qp->scq->cqe)
		sync_cq(qp->scq);
	if (promised(qp->scq) + b.num > qp->scq->cqe)
		return false;
	room = qp->sq.max - (qp->sq.tail - qp->sq.polled);
	taken = b.num;
	if (!sends(qp)) {
		taken = 0;
		want = EINVAL;
	} else if (room < b.num) {
		taken = room;
		want = ENOMEM;
	} else if (one_in(12)) {
		taken = below(b.num);
		spoil_send(&b, taken, qp);
		want = EINVAL;
	}
	call("post_send QP %u (state %d), %d of op %d %d %d, ids %llu.., length %u, lkey %#x, "
	     "rkey %#x, wrong %d", o->id, qp->state, b.num, b.send[0].op,
	     b.num > 1 ? (int)b.send[1].op : -1, b.num > 2 ? (int)b.send[2].op : -1,
	     (unsigned long long)b.send[0].id, b.send[0].from.length, b.send[0].from.lkey,
	     b.send[0].rkey, b.spoilt);
	ret = ibv_post_send(o->iqp, b.wr, &bad);
	result(o->kind == QP ? V_POST_SEND : V_POST_RAW_SEND, ret, want);
	if (want && bad != &b.wr[taken])
		mismatch("ibv_post_send() names %td as the bad one, not %d", bad - b.wr, taken);
	posted(qp, &b, taken);
	return true;
}

static bool post_send(void)
{
	struct obj *o = some(QP);

	return o && post_send_to(o);
}

/* a window of type 1 has a call of its own */
static bool bind_mw(void)
{
	struct obj *o = some(QP), *mw = some(MW), *mr = some(MR);
	struct send *wr;
	struct ibv_mw_bind bind = {};
	struct batch b = {};
	struct qp *qp;
	int want;

	if (!o || !mw || !mr || mr->spoilt || o->q->maker != o || o->q->service > UC ||
	    o->context != mw->context || o->context != mr->context)
		return false;
	qp = o->q;
	if (qp->sq.next != qp->sq.tail || qp->state == IBV_QPS_SQD ||
	    promised(qp->scq) + 1 > qp->scq->cqe || (!sends(qp) && !one_in(8)))
		return false;
	wr = &b.send[0];
	*wr = (struct send){ .id = next_wr_id(false), .op = IBV_WR_BIND_MW, .signaled = true,
			     .mw = mw, .region = mr, .group = -1 };
	wr->size = one_in(4) ? 0 : below(mr->size + 1) + one_in(16);
	wr->start = mr->start + (mr->size > wr->size ? below(mr->size - wr->size + 1) : 0);
	wr->access = (one_in(2) ? IBV_ACCESS_REMOTE_WRITE : 0) |
		     (one_in(2) ? IBV_ACCESS_REMOTE_ATOMIC : 0) | IBV_ACCESS_REMOTE_READ;
	bind.wr_id = wr->id;
	bind.send_flags = IBV_SEND_SIGNALED;
	bind.bind_info = (struct ibv_mw_bind_info){ mr->imr, wr->start, wr->size, wr->access };
	want = mw->mw_type != IBV_MW_TYPE_1 ? EINVAL : mw->pd != mr->pd ? EPERM :
	       !sends(qp) ? EINVAL : qp->sq.tail - qp->sq.polled == qp->sq.max ? ENOMEM : 0;
	sync_all();
	want = want == ENOMEM && qp->sq.tail - qp->sq.polled < qp->sq.max ? 0 : want;
	call("bind_mw MW %u to MR %u by QP %u (state %d), %llu bytes, id %llu", mw->id, mr->id,
	     o->id, qp->state, (unsigned long long)wr->size, (unsigned long long)wr->id);
	result(V_BIND_MW, ibv_bind_mw(o->iqp, mw->imw, &bind), want);
	wr->key = mw->imw->rkey;
	if (!want)
		posted(qp, &b, 1);
	return true;
}

/*
 * ---- Receives ----
 */

struct receives {
	struct receive receive[LIST];
	struct ibv_recv_wr wr[LIST];
	struct ibv_sge sge[LIST][33];
	int num;
};

static bool draw_receives(struct receives *r, struct obj *pd, bool datagrams, bool spoil)
{
	int wanted = 1 + below(LIST), i;
	struct element *e;

	for (i = 0; i < wanted; i++) {
		r->receive[i].id = next_wr_id(true);
		e = &r->receive[i].to;
		if (!draw_element(e, pd, true, !datagrams))
			break;
		/* mostly as long as it can be: a datagram has 40 bytes more */
		if (!one_in(8) && (e->length < 40 + LONGEST)) {
			struct obj *mr = some_region(pd, IBV_ACCESS_LOCAL_WRITE, !datagrams);

			if (mr && mr->size >= 40 + LONGEST) {
				e->length = 40 + LONGEST;
				e->addr = mr->start + below(mr->size - e->length + 1);
				e->lkey = mr->imr->lkey;
			}
		}
		if (spoil && one_in(16))
			e->lkey ^= 0x80000000;
		r->sge[i][0] = (struct ibv_sge){ e->addr, e->length, e->lkey };
		r->wr[i] = (struct ibv_recv_wr){ .wr_id = r->receive[i].id, .sg_list = r->sge[i],
						 .num_sge = e->length ? 1 : 0 };
		if (i)
			r->wr[i - 1].next = &r->wr[i];
	}
	r->num = i;
	return i;
}

/* a QP or a WQ */
bool post_receives_to(struct obj *o)
{
	enum verb verb = o->kind == WQ ? V_POST_WQ : o->kind == QP ? V_POST_RECV : V_POST_RAW_RECV;
	struct ibv_recv_wr *bad = NULL;
	int room, taken, want = 0, ret, i;
	struct receives r;
	struct qp *qp = o->q;

	if (qp->maker != o)
		return false;
	if (qp->service == TGT || ((qp->srq || qp->service == INI) && !one_in(16)))
		return false;
	if (!draw_receives(&r, qp->pd, qp->service == UD, qp->service == RC || o->kind != QP))
		return false;
	if (qp->rcq && promised(qp->rcq) + r.num > qp->rcq->cqe)
		sync_cq(qp->rcq);
	if (qp->rcq && promised(qp->rcq) + r.num > qp->rcq->cqe)
		return false;
	room = qp->rq.max - (qp->rq.tail - qp->rq.polled);
	taken = r.num;
	if (qp->state == IBV_QPS_RESET || qp->srq || qp->service == INI) {
		taken = 0;
		want = EINVAL;
	} else if (room < r.num) {
		taken = room;
		want = ENOMEM;
	} else if (one_in(12)) {
		taken = below(r.num);
		r.wr[taken].num_sge = one_in(2) ? -1 : (int)qp->cap.max_recv_sge + 1;
		want = EINVAL;
	}
	call("%s %u (state %d), %d, ids %llu.., length %u, lkey %#x", verb_names[verb], o->id,
	     qp->state, r.num, (unsigned long long)r.receive[0].id, r.receive[0].to.length,
	     r.receive[0].to.lkey);
	ret = o->kind == WQ ? ibv_post_wq_recv(o->iwq, r.wr, &bad) :
			      ibv_post_recv(o->iqp, r.wr, &bad);
	result(verb, ret, want);
	if (want && bad != &r.wr[taken])
		mismatch("%s names %td as the bad one, not %d", verb_names[verb], bad - r.wr,
			 taken);
	for (i = 0; i < taken; i++)
		qp->rq.wr[qp->rq.tail++ % MAX_WR] = r.receive[i];
	flush_both(qp);
	run();
	return true;
}

static bool post_receives(void)
{
	struct obj *o = some(QP);

	return o && post_receives_to(o);
}

/* all CQs that its receives may complete to have room for @num more */
static bool has_room(const struct obj *srq, unsigned int num)
{
	struct qp *qp;

	if (srq->cq && promised(srq->cq) + num > srq->cq->cqe)
		return false;
	for (qp = w->qps; qp; qp = qp->link)
		if (qp->srq == srq && promised(qp->rcq) + num > qp->rcq->cqe)
			return false;
	return true;
}

static bool post_to_srq(void)
{
	struct obj *srq = some(SRQ);
	struct ibv_recv_wr *bad = NULL;
	int room, taken, want = 0, i;
	struct receives r;

	if (!srq || waiting_at(&srq->rq) > 1 || !draw_receives(&r, srq->pd, true, srq->domain))
		return false;
	sync_all();
	if (!has_room(srq, r.num))
		return false;
	room = srq->rq.max - (srq->rq.tail - srq->rq.next);
	taken = r.num;
	if (room < r.num) {
		taken = room;
		want = ENOMEM;
	} else if (one_in(12)) {
		taken = below(r.num);
		r.wr[taken].num_sge = srq->max_sge + 1;
		want = EINVAL;
	}
	call("post_srq_recv SRQ %u, %d, ids %llu.., length %u", srq->id, r.num,
	     (unsigned long long)r.receive[0].id, r.receive[0].to.length);
	result(V_POST_SRQ, ibv_post_srq_recv(srq->isrq, r.wr, &bad), want);
	if (want && bad != &r.wr[taken])
		mismatch("ibv_post_srq_recv() names %td as the bad one, not %d", bad - r.wr, taken);
	for (i = 0; i < taken; i++)
		srq->rq.wr[srq->rq.tail++ % MAX_WR] = r.receive[i];
	run();
	return true;
}

/*
 * ---- Completions ----
 */

static bool poll_cq(void)
{
	struct obj *cq = some(CQ);
	struct ibv_wc wc[4];
	int i, num;

	if (!cq || (!cq->num_pend && !one_in(8)))
		return false;
	call("poll_cq CQ %u, %u expected", cq->id, cq->num_pend);
	num = ibv_poll_cq(cq->icq, 1 + below(ARRAY_SIZE(wc)), wc);
	result(V_POLL, num < 0 ? num : 0, 0);
	for (i = 0; i < num; i++)
		take_completion(cq, &wc[i]);
	return true;
}

static bool req_notify(void)
{
	struct obj *cq = some(CQ);
	bool solicited = one_in(2);

	if (!cq)
		return false;
	sync_all();
	call("req_notify_cq CQ %u, %s", cq->id, solicited ? "solicited" : "any");
	result(V_NOTIFY, ibv_req_notify_cq(cq->icq, solicited), 0);
	/* by IBA 11.4.2.2 a request for any is not taken back by one for solicited */
	if (cq->armed < (solicited ? 1 : 2))
		cq->armed = solicited ? 1 : 2;
	return true;
}

static int told(const struct obj *channel)
{
	int i, num = 0;

	for (i = 0; i < w->num[CQ]; i++)
		if (w->obj[CQ][i]->channel == channel)
			num += w->obj[CQ][i]->told;
	return num;
}

static bool get_cq_event(void)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct obj *channel = some(CHANNEL);
	struct ibv_cq *cq = NULL;
	void *context = NULL;
	int wanted, ret;

	if (!channel)
		return false;
	wanted = told(channel);
	call("get_cq_event of channel %u, %d expected", channel->id, wanted);
	do {
		errno = 0;
		ret = ibv_get_cq_event(channel->ichannel, &cq, &context);
	} while (ret && wanted && now_ns() < end && !sched_yield());
	result(V_EVENTS, ret ? errno : 0, wanted ? 0 : EAGAIN);
	if (ret)
		return true;
	if (((struct obj *)context)->icq != cq || !((struct obj *)context)->told)
		mismatch("the event is of CQ %u, which has none", ((struct obj *)context)->id);
	((struct obj *)context)->told--;
	ibv_ack_cq_events(cq, 1);
	return true;
}

static bool get_async_events(void)
{
	call("get_async_event, %d expected", w->num_expected);
	if (one_in(2))
		read_events();
	else
		settle_events();
	result(V_EVENTS, 0, 0);
	return true;
}

const struct action work_actions[] = {
	{ "post_send", post_send, 60 }, { "post_recv", post_receives, 26 },
	{ "post_srq", post_to_srq, 12 }, { "bind_mw", bind_mw, 8 }, { "poll", poll_cq, 14 },
	{ "req_notify", req_notify, 4 }, { "get_cq_event", get_cq_event, 4 },
	{ "get_async_event", get_async_events, 4 },
};
const int num_work_actions = ARRAY_SIZE(work_actions);
