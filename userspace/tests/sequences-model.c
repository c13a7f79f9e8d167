// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The model of objects: how long they live, the states and attributes of QPs, and
 * asynchronous events. It is written from IBA volume 1 (11.2.5.3 and annex A14), the table
 * of the kernel's core, the manual pages of libibverbs and conformance.rst, not from weft.
 */
#include "qpfields.h"
#include "sequences.h"

#include <pthread.h>
#include <sched.h>

/*
 * ---- Objects ----
 */

struct obj *some(enum kind kind)
{
	return w->num[kind] ? w->obj[kind][below(w->num[kind])] : NULL;
}

struct obj *some_of(enum kind kind, int context)
{
	struct obj *fit[MAX_OBJECTS];
	int i, num = 0;

	for (i = 0; i < w->num[kind]; i++)
		if (w->obj[kind][i]->context == context)
			fit[num++] = w->obj[kind][i];
	return num ? fit[below(num)] : NULL;
}

struct obj *add(enum kind kind, int context, void *ptr)
{
	struct obj *o = calloc(1, sizeof(*o));

	CHECK(o && w->num[kind] < MAX_OBJECTS);
	o->kind = kind;
	o->id = ++w->next_id;
	o->context = context;
	o->ptr = ptr;
	o->world = w;
	o->group = -1;
	if (kind == CQ) {
		o->pend = calloc(MAX_PENDING, sizeof(*o->pend));
		CHECK(o->pend);
	}
	w->obj[kind][w->num[kind]++] = o;
	return o;
}

/* The parent domain of a protection domain keeps that one, and what is made by it does, too. */
struct obj *base_of(struct obj *pd)
{
	return pd && pd->parent ? pd->pd : pd;
}

void hold(struct obj *o)
{
	if (o)
		o->users++;
}

void drop(struct obj *o)
{
	if (o)
		o->users--;
}

/* @loose: an object that does not keep a parent domain, only what that is made of */
void hold_pd(struct obj *pd, bool loose)
{
	if (pd->parent) {
		pd->users += !loose;
		pd->loose += loose;
	}
	hold(base_of(pd));
}

void drop_pd(struct obj *pd, bool loose)
{
	if (pd->parent) {
		pd->users -= !loose;
		pd->loose -= loose;
	}
	drop(base_of(pd));
}

void forget(struct obj *o)
{
	int i;

	for (i = 0; w->obj[o->kind][i] != o; i++)
		;
	w->obj[o->kind][i] = w->obj[o->kind][--w->num[o->kind]];
	forget_events(o);
	free(o->pend);
	free(o->steering);
	free(o);
}

/*
 * ---- States ----
 */

#define A(_name)	IBV_QP_##_name
#define FIRST		(A(PKEY_INDEX) | A(PORT))
#define PATH		(A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN))
#define RESPONDER	(A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))
#define REQUESTER	(A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC))
#define PATHS		(A(ALT_PATH) | A(ACCESS_FLAGS) | A(PATH_MIG_STATE))
#define EACH(_mask)	{ _mask, _mask, _mask, _mask, _mask }
#define DC		(1 << DCI | 1 << DCT)

/*
 * In the order of enum service: RC, UC, UD, XRC initiator and target, RAW_PACKET, DC initiator and
 * target. DC is not in IBA; its columns are those of mlx5.
 */
static const struct edge {
	enum ibv_qp_state from, to;
	int need[SERVICES], may[SERVICES];
	int absent;			/* a bit for each service that does not have it */
} edges[] = {
	{ IBV_QPS_RESET, IBV_QPS_RESET },
	{ IBV_QPS_RESET, IBV_QPS_INIT,
	  { FIRST | A(ACCESS_FLAGS), FIRST | A(ACCESS_FLAGS), FIRST | A(QKEY),
	    FIRST | A(ACCESS_FLAGS), FIRST | A(ACCESS_FLAGS), A(PORT), FIRST,
	    FIRST | A(ACCESS_FLAGS) } },
	{ IBV_QPS_INIT, IBV_QPS_INIT, {},
	  { FIRST | A(ACCESS_FLAGS), FIRST | A(ACCESS_FLAGS), FIRST | A(QKEY),
	    FIRST | A(ACCESS_FLAGS), FIRST | A(ACCESS_FLAGS), 0, FIRST }, 1 << DCT },
	{ IBV_QPS_INIT, IBV_QPS_RTR,
	  { PATH | RESPONDER, PATH, 0, PATH, PATH | RESPONDER, 0, A(PATH_MTU),
	    A(PATH_MTU) | A(AV) | A(MIN_RNR_TIMER) },
	  { A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX),
	    A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX), A(PKEY_INDEX) | A(QKEY),
	    A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX),
	    A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX), 0, A(PKEY_INDEX) | A(AV) } },
	{ IBV_QPS_RTR, IBV_QPS_RTS,
	  { REQUESTER | A(SQ_PSN), A(SQ_PSN), A(SQ_PSN), REQUESTER | A(SQ_PSN),
	    A(TIMEOUT) | A(SQ_PSN), 0, REQUESTER | A(SQ_PSN) },
	  { A(CUR_STATE) | PATHS | A(MIN_RNR_TIMER), A(CUR_STATE) | PATHS,
	    A(CUR_STATE) | A(QKEY), A(CUR_STATE) | PATHS,
	    A(CUR_STATE) | PATHS | A(MIN_RNR_TIMER), 0, A(MIN_RNR_TIMER) }, 1 << DCT },
	{ IBV_QPS_RTS, IBV_QPS_RTS, {},
	  { A(CUR_STATE) | PATHS | A(MIN_RNR_TIMER), A(CUR_STATE) | PATHS,
	    A(CUR_STATE) | A(QKEY), A(CUR_STATE) | PATHS,
	    A(CUR_STATE) | PATHS | A(MIN_RNR_TIMER), 0, A(MIN_RNR_TIMER) }, 1 << DCT },
	{ IBV_QPS_RTS, IBV_QPS_SQD, {}, EACH(A(EN_SQD_ASYNC_NOTIFY)), DC },
	/* PORT of UC: the core's uverbs adds it to each new path */
	{ IBV_QPS_SQD, IBV_QPS_SQD, {},
	  { A(PORT) | A(AV) | REQUESTER | RESPONDER | PATHS | A(PKEY_INDEX),
	    A(PORT) | A(AV) | PATHS | A(PKEY_INDEX), A(PKEY_INDEX) | A(QKEY),
	    A(PORT) | A(AV) | REQUESTER | PATHS | A(PKEY_INDEX),
	    A(PORT) | A(AV) | A(TIMEOUT) | RESPONDER | PATHS | A(PKEY_INDEX) } },
	{ IBV_QPS_SQD, IBV_QPS_RTS, {},
	  { A(CUR_STATE) | PATHS | A(MIN_RNR_TIMER), A(CUR_STATE) | PATHS,
	    A(CUR_STATE) | A(QKEY), A(CUR_STATE) | PATHS,
	    A(CUR_STATE) | PATHS | A(MIN_RNR_TIMER) } },
	{ IBV_QPS_SQE, IBV_QPS_RTS, {},
	  { 0, A(CUR_STATE) | A(ACCESS_FLAGS), A(CUR_STATE) | A(QKEY), 0, 0 } },
};

/* what the core takes away, as it is of the other half of an XRC connection */
static int counts(enum service service, int mask)
{
	if (service == INI)
		return mask & ~RESPONDER;
	if (service == TGT)
		return mask & ~(A(MAX_QP_RD_ATOMIC) | A(RETRY_CNT) | A(RNR_RETRY));
	return mask;
}

static const struct edge *edge_of(const struct qp *qp, enum ibv_qp_state to)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(edges); i++)
		if (edges[i].from == qp->state && edges[i].to == to &&
		    !(edges[i].absent & 1 << qp->service))
			return &edges[i];
	return NULL;
}

/* limits.rst: sizes of queues, but not of XRC targets, RAW_PACKET and DC */
static bool may_resize(const struct qp *qp, const struct edge *edge)
{
	return qp->service < TGT && edge->from != IBV_QPS_RESET &&
	       !(edge->from == IBV_QPS_RTS && edge->to == IBV_QPS_SQD);
}

int required(const struct qp *qp, enum ibv_qp_state to)
{
	const struct edge *edge = edge_of(qp, to);

	return edge ? edge->need[qp->service] : 0;
}

int optional(const struct qp *qp, enum ibv_qp_state to)
{
	const struct edge *edge = edge_of(qp, to);

	return edge ? edge->may[qp->service] | (may_resize(qp, edge) ? A(CAP) : 0) : 0;
}

static bool transition_is_ok(const struct qp *qp, enum ibv_qp_state to, int mask)
{
	const struct edge *edge = edge_of(qp, to);
	bool dc = 1 << qp->service & DC;
	int need, may;

	if (mask == 0)
		return !dc;
	if (dc && !(mask & A(STATE)))
		return false;
	/* a DC target has to be destroyed; an initiator in RESET cannot fail */
	if (to == IBV_QPS_ERR || to == IBV_QPS_RESET)
		return mask == A(STATE) && qp->service != DCT &&
		       (!dc || to == IBV_QPS_RESET || qp->state != IBV_QPS_RESET);
	if (!edge)
		return false;
	need = edge->need[qp->service];
	may = need | optional(qp, to) | A(STATE);
	return (mask & need) == need && !(mask & ~may);
}

static bool av_is_ok(const struct ibv_ah_attr *av)
{
	return av->port_num == 1 && av->sl < 16 && (av->is_global || infiniband) &&
	       av->grh.sgid_index < port.gid_tbl_len - 1;
}

static bool cap_is_ok(const struct qp *qp, const struct ibv_qp_cap *cap)
{
	bool own = !qp->srq && qp->service != INI;

	return cap->max_send_wr <= 32768 && (!own || cap->max_recv_wr <= 32768) &&
	       cap->max_send_sge <= qp->cap.max_send_sge &&
	       (!own || cap->max_recv_sge <= qp->cap.max_recv_sge) &&
	       cap->max_inline_data <= qp->cap.max_inline_data &&
	       (!cap->max_send_wr || cap->max_send_wr >= qp->sq.tail - qp->sq.polled) &&
	       (!own || !cap->max_recv_wr ||
		cap->max_recv_wr >= qp->rq.tail - qp->rq.polled);
}

static bool values_are_ok(const struct qp *qp, const struct ibv_qp_attr *a, int mask)
{
	int known = ACCESS_ALL | IBV_ACCESS_MW_BIND;

	if (mask & A(CUR_STATE) && a->cur_qp_state != qp->state)
		return false;
	if (mask & A(PORT) && a->port_num != 1)
		return false;
	if (mask & A(PKEY_INDEX) && a->pkey_index >= port.pkey_tbl_len)
		return false;
	if (mask & A(ACCESS_FLAGS) && a->qp_access_flags & ~known)
		return false;
	if (mask & A(AV) && !av_is_ok(&a->ah_attr))
		return false;
	if (mask & A(ALT_PATH) && !(av_is_ok(&a->alt_ah_attr) && a->alt_port_num == 1 &&
				    a->alt_timeout < 32))
		return false;
	if (mask & A(PATH_MTU) && (a->path_mtu < IBV_MTU_256 || a->path_mtu > port.active_mtu))
		return false;
	/* a path is loaded, and in the state MIGRATED: there is none to be armed */
	if (mask & A(PATH_MIG_STATE) && a->path_mig_state != IBV_MIG_MIGRATED)
		return false;
	return !(mask & A(DEST_QPN) && a->dest_qp_num >> 24) &&
	       !(mask & A(MAX_QP_RD_ATOMIC) && a->max_rd_atomic > 128) &&
	       !(mask & A(MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > 128) &&
	       !(mask & A(MIN_RNR_TIMER) && a->min_rnr_timer > 31) &&
	       !(mask & A(TIMEOUT) && a->timeout > 31) &&
	       !(mask & A(RETRY_CNT) && a->retry_cnt > 7) &&
	       !(mask & A(RNR_RETRY) && a->rnr_retry > 7) &&
	       !(mask & A(CAP) && !cap_is_ok(qp, &a->cap));
}

int modify_result(const struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state to = mask & A(STATE) ? attr->qp_state : qp->state;

	mask = counts(qp->service, mask);
	if (!transition_is_ok(qp, to, mask) || !values_are_ok(qp, attr, mask))
		return EINVAL;
	/* what the send queue may still look at */
	if (qp->state == IBV_QPS_SQD && to == IBV_QPS_SQD && qp->draining && mask & ~A(STATE))
		return EINVAL;
	return 0;
}

/*
 * ---- Attributes ----
 */

static const struct field fields[] = { QP_FIELDS };

/* The program does not wait for an event of the state that it leaves: it may not come. */
static void doubt(enum ibv_event_type type, const struct obj *o)
{
	int i;

	for (i = 0; i < w->num_expected; i++)
		if (w->expected[i].type == type && w->expected[i].obj == o)
			w->expected[i] = (struct event){ type, w->expected[i].obj, false, true };
}

static void enter(struct qp *qp, enum ibv_qp_state to, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state from = qp->state;

	qp->state = to;
	if (from == IBV_QPS_SQD)
		doubt(IBV_EVENT_SQ_DRAINED, qp->maker);
	if (to == IBV_QPS_RESET) {
		doubt(IBV_EVENT_QP_LAST_WQE_REACHED, qp->maker);
		doubt(IBV_EVENT_COMM_EST, qp->maker);
		clear_queues(qp);
		qp->set = 0;
		qp->sent = qp->received = qp->greeted = qp->lasted = qp->draining = false;
	} else if (to == IBV_QPS_INIT && from == IBV_QPS_RESET) {
		qp->psn = below(1 << 24);
	} else if (to == IBV_QPS_SQD && from == IBV_QPS_RTS) {
		qp->draining = qp->sq.next != qp->sq.tail &&
			       qp->sq.wr[qp->sq.next % MAX_WR].begun;
		qp->notify = mask & A(EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify;
		if (qp->notify && !qp->draining)
			expect_async(IBV_EVENT_SQ_DRAINED, qp->maker, true);
	} else if (to == IBV_QPS_ERR && from != IBV_QPS_ERR) {
		set_error(qp);
	}
	if (to == IBV_QPS_RTS)
		qp->draining = false;
}

/* ibv_modify_qp() has succeeded; of sizes @attr has what they are */
void modified(struct qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	int i;

	mask = counts(qp->service, mask);
	if (mask & A(AV) && qp->state == IBV_QPS_SQD)
		mask |= A(PORT);
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].bit & mask)
			memcpy((char *)&qp->attr + fields[i].offset,
			       (const char *)attr + fields[i].offset, fields[i].size);
	if (mask & A(AV))
		qp->attr.port_num = qp->attr.ah_attr.port_num;
	qp->attr.rq_psn &= 0xffffff;
	qp->attr.sq_psn &= 0xffffff;
	qp->set |= mask;
	if (mask & A(STATE))
		qp->known = attr->qp_state;
	if (mask & A(RQ_PSN))
		qp->expected = qp->attr.rq_psn;
	if (mask & A(SQ_PSN))
		qp->psn = qp->attr.sq_psn;
	if (mask & A(STATE) && (attr->qp_state != qp->state || qp->state == IBV_QPS_RESET))
		enter(qp, attr->qp_state, attr, mask);
	if (mask & A(CAP)) {
		qp->cap = attr->cap;
		qp->sq.max = qp->cap.max_send_wr;
		qp->rq.max = qp->cap.max_recv_wr;
	}
}

/* all that ibv_query_qp() says of it */
void check_qp(struct obj *o)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct qp *qp = o->q;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int i, skip = (qp->received ? A(RQ_PSN) : 0) | (qp->sent ? A(SQ_PSN) : 0);

	memset(&attr, 0, sizeof(attr));
	i = ibv_query_qp(o->iqp, &attr, QP_ATTRS, &init);
	if (i)
		mismatch("ibv_query_qp() of QP %u: %d (%s)", o->id, i, strerror(i));
	qp->known = attr.qp_state;
	if (attr.qp_state != qp->state || attr.cur_qp_state != qp->state)
		mismatch("QP %u is in state %d, by cur_qp_state %d; expected %d", o->id,
			 attr.qp_state, attr.cur_qp_state, qp->state);
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].bit & qp->set & ~skip &&
		    memcmp((char *)&attr + fields[i].offset,
			   (char *)&qp->attr + fields[i].offset, fields[i].size))
			mismatch("QP %u: ibv_query_qp() does not return the %s that was set, %#x "
				 "but %#x", o->id, fields[i].name,
				 *((uint8_t *)&qp->attr + fields[i].offset),
				 *((uint8_t *)&attr + fields[i].offset));
	if (memcmp(&attr.cap, &qp->cap, sizeof(attr.cap)) ||
	    memcmp(&init.cap, &qp->cap, sizeof(init.cap)))
		mismatch("QP %u: cap is %u %u %u %u %u, expected %u %u %u %u %u", o->id,
			 attr.cap.max_send_wr, attr.cap.max_recv_wr, attr.cap.max_send_sge,
			 attr.cap.max_recv_sge, attr.cap.max_inline_data, qp->cap.max_send_wr,
			 qp->cap.max_recv_wr, qp->cap.max_send_sge, qp->cap.max_recv_sge,
			 qp->cap.max_inline_data);
	/* what had no completion may still be on its way */
	while (qp->state == IBV_QPS_SQD && attr.sq_draining && !qp->draining && now_ns() < end)
		SAME(ibv_query_qp(o->iqp, &attr, QP_ATTRS, &init), 0);
	if (qp->state == IBV_QPS_SQD && attr.sq_draining != qp->draining)
		mismatch("QP %u: sq_draining is %d, expected %d", o->id, attr.sq_draining,
			 qp->draining);
	if (qp->state == IBV_QPS_RESET && (attr.dest_qp_num || attr.qp_access_flags))
		mismatch("QP %u in RESET has attributes of before: dest_qp_num %#x, access %#x",
			 o->id, attr.dest_qp_num, attr.qp_access_flags);
}

/*
 * ---- Asynchronous events ----
 */

/* A thread gets events of others, too, as they share a context. */
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

void expect_async(enum ibv_event_type type, struct obj *o, bool certain)
{
	if (!o)
		return;
	CHECK(w->num_expected < MAX_PENDING);
	w->expected[w->num_expected++] = (struct event){ type, o, certain, false };
}

static void remove_events(struct event *events, int *num, const struct obj *o)
{
	int i, left = 0;

	for (i = 0; i < *num; i++)
		if (events[i].obj != o)
			events[left++] = events[i];
	*num = left;
}

/* It is gone, and with it what nobody has read. */
void forget_events(struct obj *o)
{
	remove_events(w->expected, &w->num_expected, o);
	pthread_mutex_lock(&events_lock);
	remove_events(w->got, &w->num_got, o);
	pthread_mutex_unlock(&events_lock);
}

static bool is_of_object(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return false;
	default:
		return true;
	}
}

static struct obj *object_of(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return event->element.cq->cq_context;
	case IBV_EVENT_WQ_FATAL:
		return event->element.wq->wq_context;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return event->element.srq->srq_context;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return event->element.qp->qp_context;
	default:
		return NULL;
	}
}

static int find_event(const struct event *got, bool certain)
{
	int i;

	for (i = 0; i < w->num_expected; i++)
		if (w->expected[i].type == got->type && w->expected[i].obj == got->obj &&
		    w->expected[i].certain == certain)
			return i;
	return -1;
}

static void match(const struct event *got)
{
	int i = find_event(got, true);

	if (i < 0)
		i = find_event(got, false);
	if (i < 0)
		mismatch("event '%s' of object %u was not expected",
			 ibv_event_type_str(got->type), got->obj->id);
	memmove(&w->expected[i], &w->expected[i + 1],
		(--w->num_expected - i) * sizeof(w->expected[0]));
	w->events[got->type]++;
}

void read_events(void)
{
	struct ibv_async_event event;
	struct event got[MAX_PENDING];
	struct obj *o;
	int i, num;

	pthread_mutex_lock(&events_lock);
	for (i = 0; i < CONTEXTS; i++) {
		while (w->context[i] && !ibv_get_async_event(w->context[i], &event)) {
			o = object_of(&event);
			if (is_of_object(&event)) {
				if (!o)
					mismatch("event '%s' is of an object without a context",
						 ibv_event_type_str(event.event_type));
				CHECK(o->world->num_got < MAX_PENDING);
				o->world->got[o->world->num_got++] =
					(struct event){ event.event_type, o, true, false };
			}
			ibv_ack_async_event(&event);
		}
	}
	num = w->num_got;
	memcpy(got, w->got, num * sizeof(got[0]));
	w->num_got = 0;
	pthread_mutex_unlock(&events_lock);
	for (i = 0; i < num; i++)
		match(&got[i]);
}

static const struct event *missing(void)
{
	int i;

	for (i = 0; i < w->num_expected; i++)
		if (w->expected[i].certain)
			return &w->expected[i];
	return NULL;
}

/* wait for those that have to come */
void settle_events(void)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	read_events();
	while (missing()) {
		if (now_ns() > end)
			mismatch("expected event '%s' of object %u, none came",
				 ibv_event_type_str(missing()->type), missing()->obj->id);
		sched_yield();
		read_events();
	}
}
