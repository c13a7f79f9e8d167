// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The model of work requests: what becomes of each, by IBA volume 1 (9.7 to 9.9, 10.6, 10.7,
 * 11.6) and annex A14, which completions come of it, and in which order.
 */
#include "sequences.h"

#include <sched.h>

/* of execute(): it waits for a receive; of UC: the peer drops it, and the sender is not told */
#define WAITS	-1
#define DROPPED	-2

/*
 * ---- Completions ----
 */

static void push(struct obj *cq, struct pending what)
{
	remark("%llu of QP number %#x completes with %d", (unsigned long long)what.id,
	       what.qp->num, what.status);
	CHECK(cq->num_pend < cq->cqe && cq->num_pend < MAX_PENDING);
	cq->pend[cq->num_pend++] = what;
	if (cq->armed == 2 || (cq->armed && (what.status || what.solicited))) {
		cq->armed = 0;
		cq->told += !!cq->channel;
		/* RESET would take a completion back that a work item has not made yet */
		w->must_sync = true;
	}
	/* what has failed may depend on what the next call changes */
	if (what.status && what.status != IBV_WC_WR_FLUSH_ERR)
		w->must_sync = true;
}

static enum ibv_wc_opcode opcode_of(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

static void flush_sends(struct qp *qp)
{
	const struct send *wr;

	for (; qp->sq.next != qp->sq.tail; qp->sq.next++) {
		wr = &qp->sq.wr[qp->sq.next % MAX_WR];
		push(qp->scq, (struct pending){ .qp = qp, .id = wr->id, .harmless = true,
						.status = IBV_WC_WR_FLUSH_ERR });
	}
}

static void flush_receives(struct qp *qp, bool behind)
{
	const struct receive *wr;

	for (; qp->rq.next != qp->rq.tail; qp->rq.next++) {
		wr = &qp->rq.wr[qp->rq.next % MAX_WR];
		push(qp->rcq, (struct pending){ .qp = qp, .id = wr->id, .receive = true,
						.harmless = true, .behind = behind,
						.status = IBV_WC_WR_FLUSH_ERR });
	}
}

/* what is posted to a QP in ERR */
void flush_both(struct qp *qp)
{
	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		flush_sends(qp);
	if (qp->state == IBV_QPS_ERR)
		flush_receives(qp, false);
}

/* @ordered: the sends come first */
static void stop(struct qp *qp, bool ordered)
{
	qp->state = IBV_QPS_ERR;
	qp->draining = false;
	flush_sends(qp);
	flush_receives(qp, ordered);
	if (qp->srq && !qp->lasted) {
		qp->lasted = true;
		expect_async(IBV_EVENT_QP_LAST_WQE_REACHED, qp->maker, true);
	}
}

void set_error(struct qp *qp)
{
	stop(qp, true);
}

static void forget_completions(struct obj *cq, const struct qp *qp)
{
	unsigned int i, left = 0;

	for (i = 0; i < cq->num_pend; i++) {
		if (cq->pend[i].qp != qp)
			cq->pend[left++] = cq->pend[i];
		else if (cq->pend[i].receive && qp->srq)
			qp->srq->floor++;
	}
	cq->num_pend = left;
}

/* RESET, or the QP is destroyed: what was not polled is gone as well */
void clear_queues(struct qp *qp)
{
	if (qp->scq)
		forget_completions(qp->scq, qp);
	if (qp->rcq)
		forget_completions(qp->rcq, qp);
	qp->sq.polled = qp->sq.next = qp->sq.tail = 0;
	qp->rq.polled = qp->rq.next = qp->rq.tail = 0;
}

/* how many completions @cq may have to take, if all goes wrong */
unsigned int promised(const struct obj *cq)
{
	unsigned int num = 0, i;
	const struct obj *srq;
	const struct qp *qp;

	for (qp = w->qps; qp; qp = qp->link) {
		if (qp->scq == cq)
			num += qp->sq.tail - qp->sq.polled;
		if (qp->rcq == cq)
			num += qp->srq ? qp->srq->rq.tail - qp->srq->rq.next :
					 qp->rq.tail - qp->rq.polled;
	}
	for (i = 0; i < w->num[SRQ]; i++) {
		srq = w->obj[SRQ][i];
		if (srq->cq == cq)
			num += srq->rq.tail - srq->rq.next;
	}
	return num + cq->num_pend;
}

static void release(struct qp *qp, struct obj *srq, const struct pending *what)
{
	uint32_t i;

	if (srq) {
		srq->floor++;
	} else if (what->receive) {
		qp->rq.polled++;
	} else {
		for (i = qp->sq.polled; qp->sq.wr[i % MAX_WR].id != what->id; i++)
			CHECK(i != qp->sq.next);
		qp->sq.polled = i + 1;
	}
}

static void check_fields(const struct pending *want, const struct ibv_wc *wc)
{
	if (wc->status != want->status)
		mismatch("completion %llu: expected %s; got %s, vendor_err %u",
			 (unsigned long long)wc->wr_id, ibv_wc_status_str(want->status),
			 ibv_wc_status_str(wc->status), wc->vendor_err);
	if (want->status && !wc->vendor_err)
		mismatch("completion %llu, %s: vendor_err does not say why",
			 (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status));
	if (!want->status && wc->opcode != want->opcode)
		mismatch("completion %llu: expected opcode %d, got %d",
			 (unsigned long long)wc->wr_id, want->opcode, wc->opcode);
	if (!want->status && want->receive && wc->byte_len != want->length)
		mismatch("completion %llu: expected %u bytes, got %u",
			 (unsigned long long)wc->wr_id, want->length, wc->byte_len);
}

static struct obj *srq_of(const struct obj *cq, const struct pending *what)
{
	int i;

	if (!what->receive)
		return NULL;
	if (what->qp->srq)
		return what->qp->srq;
	for (i = 0; i < w->num[SRQ]; i++)
		if (what->qp->service == TGT && w->obj[SRQ][i]->cq == cq)
			return w->obj[SRQ][i];
	return NULL;
}

void take_completion(struct obj *cq, const struct ibv_wc *wc)
{
	struct pending *p = cq->pend, *end = p + cq->num_pend;
	bool sends = false;

	for (; p < end; p++) {
		if (p->qp->num == wc->qp_num && p->id == wc->wr_id)
			break;
		if (p->qp->num == wc->qp_num && p->receive == (wc->wr_id & 1))
			mismatch("completion %llu (%s) of QP number %#x came before %llu",
				 (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
				 wc->qp_num, (unsigned long long)p->id);
		sends |= p->qp->num == wc->qp_num;
	}
	if (p == end)
		mismatch("completion %llu of QP number %#x, %s, vendor_err %u, was not expected",
			 (unsigned long long)wc->wr_id, wc->qp_num,
			 ibv_wc_status_str(wc->status), wc->vendor_err);
	if (p->behind && sends)
		mismatch("receive %llu of QP number %#x was flushed before its sends",
			 (unsigned long long)wc->wr_id, wc->qp_num);
	check_fields(p, wc);
	w->statuses[wc->status]++;
	release(p->qp, srq_of(cq, p), p);
	memmove(p, p + 1, (end - p - 1) * sizeof(*p));
	cq->num_pend--;
}

void sync_cq(struct obj *cq)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct ibv_wc wc;
	int ret;

	while (cq->num_pend) {
		ret = ibv_poll_cq(cq->icq, 1, &wc);
		if (ret < 0)
			mismatch("ibv_poll_cq() of CQ %u: %d", cq->id, ret);
		if (ret)
			take_completion(cq, &wc);
		else if (now_ns() > end)
			mismatch("expected completion %llu of QP number %#x, %s; none came",
				 (unsigned long long)cq->pend->id, cq->pend->qp->num,
				 ibv_wc_status_str(cq->pend->status));
		else
			sched_yield();
	}
	if (ibv_poll_cq(cq->icq, 1, &wc) > 0)
		take_completion(cq, &wc);
}

void sync_all(void)
{
	int i;

	for (i = 0; i < w->num[CQ]; i++)
		sync_cq(w->obj[CQ][i]);
	w->must_sync = false;
}

bool idle(const struct obj *cq)
{
	return !cq->num_pend;
}

/*
 * ---- Memory ----
 */

static bool inside(uint64_t start, uint64_t size, uint64_t addr, uint64_t length)
{
	return addr >= start && addr - start <= size && length <= size - (addr - start);
}

bool local_is_ok(const struct element *e, struct obj *domain, bool written)
{
	struct obj *mr;
	int i;

	for (i = 0; e->length && i < w->num[MR]; i++) {
		mr = w->obj[MR][i];
		if (mr->imr->lkey == e->lkey)
			return base_of(mr->pd) == base_of(domain) &&
			       inside(mr->start, mr->size, e->addr, e->length) &&
			       (!written || mr->access & IBV_ACCESS_LOCAL_WRITE);
	}
	return !e->length;
}

/* @num: of the QP that is accessed */
static bool remote_is_ok(const struct send *wr, struct obj *domain, uint32_t num, int right)
{
	struct obj *o;
	int i;

	/* of no length: nothing is looked at */
	if (!wr->from.length)
		return true;
	for (i = 0; i < w->num[MR]; i++) {
		o = w->obj[MR][i];
		if (o->imr->rkey == wr->rkey)
			return base_of(o->pd) == base_of(domain) && o->access & right &&
			       inside(o->start, o->size, wr->remote, wr->from.length);
	}
	for (i = 0; i < w->num[MW]; i++) {
		o = w->obj[MW][i];
		if (o->bound && o->key == wr->rkey)
			return base_of(o->pd) == base_of(domain) && o->access & right &&
			       (o->mw_type == IBV_MW_TYPE_1 || o->bound_qpn == num) &&
			       inside(o->start, o->size, wr->remote, wr->from.length);
	}
	return false;
}

static struct obj *window_of(const struct qp *qp, uint32_t key)
{
	struct obj *mw;
	int i;

	for (i = 0; i < w->num[MW]; i++) {
		mw = w->obj[MW][i];
		if (mw->mw_type == IBV_MW_TYPE_2 && mw->bound && mw->key == key &&
		    mw->bound_qpn == qp->num)
			return mw;
	}
	return NULL;
}

static void unbind(struct obj *mw)
{
	drop(mw->bound);
	mw->bound = NULL;
}

static enum ibv_wc_status bind_window(struct qp *qp, const struct send *wr)
{
	struct obj *mw = wr->mw, *region = wr->region;
	bool first = mw->mw_type == IBV_MW_TYPE_1;

	if (base_of(mw->pd) != base_of(qp->pd) || (!first && (mw->bound || !wr->size)))
		return IBV_WC_MW_BIND_ERR;
	if (wr->size && (base_of(region->pd) != base_of(qp->pd) ||
			 !(region->access & IBV_ACCESS_MW_BIND) ||
			 !inside(region->start, region->size, wr->start, wr->size) ||
			 (wr->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
			  !(region->access & IBV_ACCESS_LOCAL_WRITE))))
		return IBV_WC_MW_BIND_ERR;
	if (mw->bound)
		unbind(mw);
	remark("MW %u has key %#x, was %#x", mw->id, wr->key, mw->key);
	mw->key = wr->key;
	mw->start = wr->start;
	mw->size = wr->size;
	mw->access = wr->access;
	mw->bound_qpn = first ? 0 : qp->num;
	if (wr->size) {
		mw->bound = region;
		hold(region);
	}
	return IBV_WC_SUCCESS;
}

/*
 * ---- The other end ----
 */

struct qp *qp_of(uint32_t num)
{
	struct qp *qp;

	for (qp = w->qps; qp && qp->num != num; qp = qp->link)
		;
	return qp;
}

static bool receives(const struct qp *qp)
{
	return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS ||
	       qp->state == IBV_QPS_SQD || qp->state == IBV_QPS_SQE;
}

static struct qp *peer_of(const struct qp *qp)
{
	struct qp *peer = qp_of(qp->attr.dest_qp_num);

	if (!peer || peer->service != (qp->service == INI ? TGT : qp->service) ||
	    peer->attr.dest_qp_num != qp->num || !(peer->set & IBV_QP_DEST_QPN))
		return NULL;
	return receives(peer) ? peer : NULL;
}

static struct obj *sink_of(const struct qp *peer, const struct send *wr)
{
	int i;

	if (peer->service != TGT)
		return peer->srq;
	for (i = 0; i < w->num[SRQ]; i++)
		if (w->obj[SRQ][i]->domain && w->obj[SRQ][i]->domain == peer->domain &&
		    w->obj[SRQ][i]->srqn == wr->srqn)
			return w->obj[SRQ][i];
	return NULL;
}

static struct recvq *queue_of(struct qp *peer, struct obj *sink)
{
	return sink ? &sink->rq : &peer->rq;
}

void check_limit(struct obj *srq)
{
	if (srq->limit && srq->rq.tail - srq->rq.next < srq->limit) {
		srq->limit = 0;
		expect_async(IBV_EVENT_SRQ_LIMIT_REACHED, srq, true);
	}
}

/* the first packet that a QP in RTR gets; @certain: whether it has been executed */
static void greet(struct qp *peer, bool certain)
{
	int i;

	if (peer->state != IBV_QPS_RTR || peer->service == UD)
		return;
	for (i = 0; i < w->num_expected; i++)
		if (w->expected[i].type == IBV_EVENT_COMM_EST &&
		    w->expected[i].obj == peer->maker && !w->expected[i].stale)
			w->expected[i].certain |= certain;
	if (!peer->greeted)
		expect_async(IBV_EVENT_COMM_EST, peer->maker, certain);
	peer->greeted = true;
}

/* a receive has completed with the error */
static enum ibv_wc_status refuse(struct qp *peer, enum ibv_wc_status status)
{
	greet(peer, false);
	stop(peer, false);
	return status;
}

/* none has, so there is an event */
static enum ibv_wc_status refuse_with(struct qp *peer, enum ibv_event_type event,
				      enum ibv_wc_status status)
{
	expect_async(event, peer->maker, true);
	return refuse(peer, status);
}

static void received(struct qp *peer, struct obj *sink, const struct send *wr,
		     enum ibv_wc_status status, uint32_t length)
{
	struct recvq *rq = queue_of(peer, sink);
	bool written = wr->op == IBV_WR_RDMA_WRITE_WITH_IMM;

	push(sink && sink->cq ? sink->cq : peer->rcq, (struct pending){
		.qp = peer, .id = rq->wr[rq->next % MAX_WR].id, .receive = true,
		.solicited = wr->solicited, .status = status, .length = length,
		.opcode = written ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV });
	rq->next++;
	if (sink)
		check_limit(sink);
}

static bool is_empty(const struct recvq *rq)
{
	return rq->next == rq->tail;
}

/* a reliable message finds no receive */
static int not_ready(const struct qp *qp)
{
	return qp->attr.rnr_retry == 7 ? WAITS : IBV_WC_RNR_RETRY_EXC_ERR;
}

/* a SEND, or a WRITE with immediate data that may write */
static int deliver(struct qp *qp, struct qp *peer, const struct send *wr)
{
	struct obj *sink = sink_of(peer, wr), *domain = sink ? sink->pd : peer->pd, *mw;
	struct recvq *rq = queue_of(peer, sink);
	const struct receive *to;
	bool reliable = qp->service != UC, sent = wr->op != IBV_WR_RDMA_WRITE_WITH_IMM;

	if (is_empty(rq)) {
		greet(peer, false);
		w->must_sync = true;
		return reliable ? not_ready(qp) : DROPPED;
	}
	to = &rq->wr[rq->next % MAX_WR];
	if (sent && wr->from.length > to->to.length) {
		w->must_sync = true;
		greet(peer, false);
		if (!reliable)
			return DROPPED;
		received(peer, sink, wr, IBV_WC_LOC_LEN_ERR, 0);
		return refuse(peer, IBV_WC_REM_INV_REQ_ERR);
	}
	if (sent && wr->from.length && !local_is_ok(&(struct element){
			to->to.lkey, wr->from.length, to->to.addr }, domain, true)) {
		received(peer, sink, wr, IBV_WC_LOC_PROT_ERR, 0);
		return refuse(peer, IBV_WC_REM_OP_ERR);
	}
	mw = window_of(peer, wr->rkey);
	if (wr->op == IBV_WR_SEND_WITH_INV && !mw) {
		received(peer, sink, wr, IBV_WC_LOC_ACCESS_ERR, 0);
		return refuse(peer, IBV_WC_REM_ACCESS_ERR);
	}
	if (wr->op == IBV_WR_SEND_WITH_INV)
		unbind(mw);
	received(peer, sink, wr, IBV_WC_SUCCESS, wr->from.length);
	return IBV_WC_SUCCESS;
}

/* a WRITE, a READ or an atomic operation */
static int access_memory(struct qp *qp, struct qp *peer, const struct send *wr)
{
	struct obj *sink = sink_of(peer, wr);
	/* the keys of an XRC target are those of the SRQ's domain */
	struct obj *domain = peer->service == TGT ? sink->pd : peer->pd;
	bool reading = wr->op == IBV_WR_RDMA_READ, reliable = qp->service != UC;
	bool atomic = wr->op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	int right = reading ? IBV_ACCESS_REMOTE_READ :
		    atomic ? IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_WRITE;
	bool enabled = peer->attr.qp_access_flags & right;
	/* an access that is called an invalid request */
	bool invalid = ((reading || atomic) && !peer->attr.max_dest_rd_atomic) ||
		       (atomic && wr->remote % 8);

	if (enabled && !invalid && remote_is_ok(wr, domain, peer->num, right))
		return IBV_WC_SUCCESS;
	w->must_sync = true;
	if (!reliable) {
		greet(peer, false);
		return DROPPED;
	}
	if (!enabled)
		return refuse_with(peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
	/* a receive comes before the key, and is told of the fault */
	if (wr->op == IBV_WR_RDMA_WRITE_WITH_IMM) {
		if (is_empty(queue_of(peer, sink))) {
			greet(peer, false);
			return not_ready(qp);
		}
		received(peer, sink, wr, IBV_WC_LOC_ACCESS_ERR, 0);
		return refuse(peer, IBV_WC_REM_ACCESS_ERR);
	}
	return refuse_with(peer, IBV_EVENT_QP_ACCESS_ERR, invalid ? IBV_WC_REM_INV_REQ_ERR :
								    IBV_WC_REM_ACCESS_ERR);
}

/* it writes to the requester's memory */
static bool reads(const struct send *wr)
{
	return wr->op == IBV_WR_RDMA_READ || wr->op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_send(const struct send *wr)
{
	return wr->op == IBV_WR_SEND || wr->op == IBV_WR_SEND_WITH_IMM ||
	       wr->op == IBV_WR_SEND_WITH_INV;
}

static int connected(struct qp *qp, const struct send *wr)
{
	struct qp *peer = peer_of(qp);
	int ret;

	if (!wr->inlined && !local_is_ok(&wr->from, qp->pd, reads(wr)))
		return IBV_WC_LOC_PROT_ERR;
	if (reads(wr) && !qp->attr.max_rd_atomic)
		return IBV_WC_LOC_QP_OP_ERR;
	qp->sent = true;
	if (!peer) {
		w->must_sync = true;
		return qp->service == UC ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR;
	}
	peer->received = true;
	if (peer->service == TGT && !sink_of(peer, wr))
		return refuse_with(peer, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR);
	ret = is_send(wr) ? IBV_WC_SUCCESS : access_memory(qp, peer, wr);
	if (!ret && (is_send(wr) || wr->op == IBV_WR_RDMA_WRITE_WITH_IMM))
		ret = deliver(qp, peer, wr);
	if (ret == DROPPED) {
		qp->psn = (qp->psn + 1) & 0xffffff;
		return IBV_WC_SUCCESS;
	}
	if (ret != IBV_WC_SUCCESS)
		return ret;
	greet(peer, true);
	qp->psn = (qp->psn + 1) & 0xffffff;
	peer->expected = qp->psn;
	return ret;
}

static bool takes_datagram(const struct send *wr, const struct qp *to)
{
	const struct obj *sink = to->srq;
	const struct recvq *rq = sink ? &sink->rq : &to->rq;

	return to->service == UD && receives(to) && to->attr.qkey == wr->qkey &&
	       rq->next != rq->tail &&
	       rq->wr[rq->next % MAX_WR].to.length >= wr->from.length + 40;
}

static int datagram(struct qp *qp, const struct send *wr)
{
	struct qp *to;

	if (!wr->ah_is_ok)
		return IBV_WC_LOC_QP_OP_ERR;
	if (!wr->inlined && !local_is_ok(&wr->from, qp->pd, false))
		return IBV_WC_LOC_PROT_ERR;
	qp->sent = true;
	for (to = w->qps; to; to = to->link) {
		if (wr->group >= 0 ? !(to->groups & 1 << wr->group) : to->num != wr->qpn)
			continue;
		if (takes_datagram(wr, to))
			received(to, to->srq, wr, IBV_WC_SUCCESS, wr->from.length + 40);
	}
	w->must_sync = true;
	return IBV_WC_SUCCESS;
}

static int execute(struct qp *qp, const struct send *wr)
{
	struct obj *mw;

	/* nobody receives the frame */
	if (qp->service == RAW)
		return wr->inlined || local_is_ok(&wr->from, qp->pd, false) ? IBV_WC_SUCCESS :
									      IBV_WC_LOC_PROT_ERR;
	switch (wr->op) {
	case IBV_WR_BIND_MW:
		return bind_window(qp, wr);
	case IBV_WR_LOCAL_INV:
		mw = window_of(qp, wr->rkey);
		if (mw)
			unbind(mw);
		return mw ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
	default:
		return qp->service == UD ? datagram(qp, wr) : connected(qp, wr);
	}
}

/*
 * ---- Send queues ----
 */

static void finish(struct qp *qp, const struct send *wr, enum ibv_wc_status status)
{
	qp->sq.next++;
	if (status || wr->signaled || qp->sig_all)
		push(qp->scq, (struct pending){ .qp = qp, .id = wr->id, .status = status,
						.opcode = opcode_of(wr->op) });
	if (status && (qp->service == UC || qp->service == UD || qp->service == RAW)) {
		qp->state = IBV_QPS_SQE;
		flush_sends(qp);
	} else if (status) {
		stop(qp, false);
	} else if (qp->draining) {
		qp->draining = false;
		if (qp->notify)
			expect_async(IBV_EVENT_SQ_DRAINED, qp->maker, true);
	}
}

/* Return: whether anything has happened */
static bool step(struct qp *qp)
{
	struct send *wr = &qp->sq.wr[qp->sq.next % MAX_WR];
	int status;

	if (qp->sq.next == qp->sq.tail)
		return false;
	if (qp->state != IBV_QPS_RTS && !(qp->state == IBV_QPS_SQD && qp->draining))
		return false;
	status = execute(qp, wr);
	wr->begun = true;
	if (status == WAITS)
		return false;
	/* its peer, which is perhaps itself, may have stopped it */
	finish(qp, wr, status);
	return true;
}

void run(void)
{
	struct qp *qp;
	bool more;

	do {
		more = false;
		for (qp = w->qps; qp; qp = qp->link)
			more |= step(qp);
	} while (more);
}

/* how many QPs have a request that waits for one of these receives, or may */
unsigned int waiting_at(const struct recvq *rq)
{
	unsigned int num = 0;
	struct qp *qp, *peer;

	for (qp = w->qps; qp; qp = qp->link) {
		if (qp->sq.next == qp->sq.tail || qp->service == UD)
			continue;
		peer = peer_of(qp);
		num += peer && queue_of(peer, sink_of(peer, &qp->sq.wr[qp->sq.next % MAX_WR])) == rq;
	}
	return num;
}

static bool are_good(const struct recvq *rq, struct obj *domain)
{
	uint32_t i;

	for (i = rq->next; i != rq->tail; i++)
		if (!local_is_ok(&rq->wr[i % MAX_WR].to, domain, true))
			return false;
	return true;
}

/* limits.rst: an SRQ's receive that was too short for one QP stays with that QP */
static bool is_too_short(const struct obj *srq, uint32_t length)
{
	uint32_t i;

	for (i = srq ? srq->rq.next : 0; srq && i != srq->rq.tail; i++)
		if (srq->rq.wr[i % MAX_WR].to.length < length)
			return true;
	return false;
}

static bool datagram_is_predictable(const struct send *wr)
{
	const struct obj *srq = NULL;
	struct qp *to;

	for (to = w->qps; to; to = to->link) {
		if (wr->group >= 0 ? !(to->groups & 1 << wr->group) : to->num != wr->qpn)
			continue;
		/* of members that share an SRQ, any may have the first receive */
		if (wr->group >= 0 && to->srq && to->srq == srq)
			return false;
		srq = to->srq ? to->srq : srq;
		if (to->service == UD && !are_good(to->srq ? &to->srq->rq : &to->rq,
						   to->srq ? to->srq->pd : to->pd))
			return false;
		if (to->service == UD && is_too_short(to->srq, wr->from.length + 40))
			return false;
		/* what is dropped is dropped later, perhaps */
		if ((wr->group >= 0 || infiniband) && !takes_datagram(wr, to))
			return false;
	}
	return true;
}

/*
 * Whether the specifications say what becomes of it. They do not if PSNs do not fit, if two
 * QPs wait for the same receive, or if an unreliable service finds one that is no good.
 */
bool predictable(const struct qp *qp, const struct send *wr)
{
	struct qp *peer, *to = qp_of(qp->attr.dest_qp_num);
	struct recvq *rq;
	struct obj *sink;

	if (wr->op == IBV_WR_BIND_MW || wr->op == IBV_WR_LOCAL_INV || qp->service == RAW)
		return true;
	/* one fault at a time: IBA does not order those of the requester */
	if (!wr->inlined && !local_is_ok(&wr->from, qp->pd, reads(wr)))
		return qp->service == UD ? wr->ah_is_ok : !reads(wr) || qp->attr.max_rd_atomic;
	if (qp->service == UD)
		return datagram_is_predictable(wr);
	if (to == qp)
		return false;
	peer = peer_of(qp);
	if (!peer)
		return !to || !receives(to) || (qp->service == RC && to->service == RC);
	sink = sink_of(peer, wr);
	rq = queue_of(peer, sink);
	if (qp->service == UC && is_too_short(sink, is_send(wr) ? LONGEST : 0))
		return false;
	/* limits.rst: nor does one that a WRITE without the right to write has taken */
	if (qp->service == UC && sink && wr->op == IBV_WR_RDMA_WRITE_WITH_IMM &&
	    !(peer->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE &&
	      remote_is_ok(wr, peer->pd, peer->num, IBV_ACCESS_REMOTE_WRITE)))
		return false;
	if (qp->service == UC && !are_good(rq, sink ? sink->pd : peer->pd))
		return false;
	if (qp->service != UC && peer->expected != qp->psn)
		return false;
	return waiting_at(rq) <= (qp->sq.next != qp->sq.tail);
}
