// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * States in which nothing is sent: ERR, SQE, SQD, and RESET.
 */
#include "lib.h"

#include <pthread.h>

/* work requests of a queue that races with ERR, and how many come surely later */
#define RACE		4096
#define LATE		8

static struct end a, b;

/* three that wait for a receive at @b, the first of them on its way */
static void stuck_sends(int first)
{
	int i;

	for (i = 0; i < 3; i++)
		post(&a, swr(&a, first + i, IBV_WR_SEND, i * 100, 100));
	expect_no_wc(a.scq);
}

/*
 * ---- ERR ----
 */

static void error_flushes_in_order(void)
{
	struct ibv_wc wc;
	int i;

	make_pair(&a, &b, CONF());
	for (i = 0; i < 5; i++)
		post_recv(&a, 20 + i, 0, 100);
	stuck_sends(1);
	to_state(&a, IBV_QPS_ERR);
	for (i = 0; i < 3; i++) {
		wc = expect_wc(a.scq, 1 + i, IBV_WC_WR_FLUSH_ERR);
		SAME(wc.qp_num, a.qp->qp_num);
	}
	for (i = 0; i < 5; i++) {
		wc = expect_wc(a.rcq, 20 + i, IBV_WC_WR_FLUSH_ERR);
		SAME(wc.qp_num, a.qp->qp_num);
	}
	expect_state(&a, IBV_QPS_ERR);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_event();
}

/* by modify_qp the send queue before the receive queue: one CQ shows that */
static void error_flushes_sends_first(void)
{
	int round, i;

	make(&a, CONF(.one_cq = true));
	for (round = 0; round < 200; round++) {
		note("round %d", round);
		to_init(&a);
		for (i = 0; i < 5; i++)
			post_recv(&a, 20 + i, 0, 100);
		to_rtr(&a, &a);
		to_rts(&a);
		to_state(&a, IBV_QPS_SQD);
		for (i = 0; i < 3; i++)
			post(&a, swr(&a, i, IBV_WR_SEND, 0, 100));
		to_state(&a, IBV_QPS_ERR);
		for (i = 0; i < 3; i++)
			expect_wc(a.scq, i, IBV_WC_WR_FLUSH_ERR);
		for (i = 0; i < 5; i++)
			expect_wc(a.scq, 20 + i, IBV_WC_WR_FLUSH_ERR);
		to_state(&a, IBV_QPS_RESET);
	}
}

/* what is posted later is flushed too, however late */
static void error_flushes_late_posts(void)
{
	int i;

	make_pair(&a, &b, CONF());
	to_state(&a, IBV_QPS_ERR);
	for (i = 0; i < 40; i++) {
		note("round %d", i);
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 100));
		expect_wc(a.scq, i, IBV_WC_WR_FLUSH_ERR);
		post_recv(&a, 100 + i, 0, 100);
		expect_wc(a.rcq, 100 + i, IBV_WC_WR_FLUSH_ERR);
		if (i % 10 == 0)
			sleep_ms(20);
	}
}

/* unsignaled ones as well, each with its completion */
static void error_flushes_unsignaled(void)
{
	struct ibv_send_wr *wr;
	int i;

	make_pair(&a, &b, CONF());
	for (i = 0; i < 4; i++) {
		wr = swr(&a, i, IBV_WR_SEND, 0, 100);
		wr->send_flags = 0;
		post(&a, wr);
	}
	to_state(&a, IBV_QPS_ERR);
	for (i = 0; i < 4; i++)
		expect_wc(a.scq, i, IBV_WC_WR_FLUSH_ERR);
	expect_no_wc(a.scq);
}

static void error_from_every_state(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	int type, steps;

	for (type = 0; type < 3; type++) {
		for (steps = 0; steps < 4; steps++) {
			note("type %d after %d steps", types[type], steps);
			make(&a, CONF(.type = types[type]));
			if (steps > 0) {
				to_init(&a);
				post_recv(&a, 5, 0, 100);
			}
			if (steps > 1)
				to_rtr(&a, &a);
			if (steps > 2)
				to_rts(&a);
			to_state(&a, IBV_QPS_ERR);
			if (steps > 0)
				expect_wc(a.rcq, 5, IBV_WC_WR_FLUSH_ERR);
			expect_no_event();
			to_state(&a, IBV_QPS_RESET);
			expect_state(&a, IBV_QPS_RESET);
			unmake(&a);
		}
	}
}

/* the peer of one that is in ERR: not there */
static void error_receives_nothing(void)
{
	make_pair(&a, &b, CONF(.timeout = 12, .retry = 2));
	to_state(&b, IBV_QPS_ERR);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
}

/*
 * A thread that posts while another one sets ERR
 */
struct race {
	void (*post)(int i);
	int posted;		/* so far */
	bool flushing;		/* ERR has been set */
};

static struct race race;

static void race_receive(int i)
{
	post_recv(&a, i, 0, 100);
}

static void race_send(int i)
{
	post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
}

static bool race_flushing(void)
{
	return __atomic_load_n(&race.flushing, __ATOMIC_ACQUIRE);
}

static void *race_post(void *arg)
{
	int i, end;

	for (i = 0; i < RACE - LATE && !race_flushing(); i++) {
		race.post(i);
		__atomic_store_n(&race.posted, i + 1, __ATOMIC_RELEASE);
	}
	while (!race_flushing())
		sched_yield();
	for (end = i + LATE; i < end; i++)
		race.post(i);
	race.posted = end;
	return NULL;
}

/* ERR when there are @from of them */
static void race_once(void (*post)(int i), int from)
{
	pthread_t thread;

	race = (struct race){ .post = post };
	SAME(pthread_create(&thread, NULL, race_post, NULL), 0);
	while (__atomic_load_n(&race.posted, __ATOMIC_ACQUIRE) < from)
		sched_yield();
	to_state(&a, IBV_QPS_ERR);
	__atomic_store_n(&race.flushing, true, __ATOMIC_RELEASE);
	SAME(pthread_join(thread, NULL), 0);
}

/* as new, and what is still on its way has other PSNs */
static void race_again(void)
{
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	a.psn = (a.psn + 3 * RACE) & 0xffffff;
	connect_ends(&a, &b);
}

/* whether a receive is posted before, during or after: it completes once */
static void error_races_receives(void)
{
	int num = repeat(200, 500), i, n;

	make_pair(&a, &b, CONF(.rq = RACE, .cqe = RACE));
	for (i = 0; i < num; i++) {
		race_once(race_receive, i % 50);
		note("round %d, %d posted", i, race.posted);
		for (n = 0; n < race.posted; n++)
			expect_wc(a.rcq, n, IBV_WC_WR_FLUSH_ERR);
		expect_no_wc_now(a.rcq);
		race_again();
	}
}

/* sends, too; none is executed behind one that was flushed */
static void error_races_sends(void)
{
	int num = repeat(100, 300), i, n;
	enum ibv_wc_status status;
	struct ibv_wc wc;

	make_pair(&a, &b, CONF(.sq = RACE, .cqe = RACE));
	for (i = 0; i < num; i++) {
		race_once(race_send, i % 20);
		note("round %d, %d posted", i, race.posted);
		for (n = 0, status = IBV_WC_SUCCESS; n < race.posted; n++, status = wc.status) {
			wc = next_wc(a.scq);
			SAME(wc.wr_id, n);
			CHECK(wc.status == IBV_WC_WR_FLUSH_ERR || wc.status == status);
		}
		SAME(status, IBV_WC_WR_FLUSH_ERR);
		expect_no_wc_now(a.scq);
		race_again();
	}
}

/*
 * ---- RESET ----
 */

static void reset_clears(void)
{
	int i;

	make_pair(&a, &b, CONF(.sq = 16, .rq = 16));
	for (i = 0; i < 16; i++)
		post_recv(&a, 20 + i, 1000, 100);
	stuck_sends(1);
	to_state(&a, IBV_QPS_RESET);
	expect_no_wc(a.scq);
	expect_no_wc(a.rcq);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	/* old receives are gone: this one comes first */
	post_recv(&a, 50, 0, 100);
	post(&b, swr(&b, 51, IBV_WR_SEND, 0, 100));
	expect_ok(b.scq, 51);
	expect_ok(a.rcq, 50);
	/* and room for as many as ever */
	for (i = 0; i < 16; i++) {
		post_recv(&a, 60 + i, 0, 100);
		post(&a, swr(&a, 80 + i, IBV_WR_SEND, 0, 100));
	}
	for (i = 0; i < 16; i++)
		post_recv(&b, 100 + i, 0, 100);
	for (i = 0; i < 16; i++) {
		expect_ok(a.scq, 80 + i);
		expect_ok(b.rcq, 100 + i);
	}
	expect_no_wc_now(b.rcq);
}

/* completions that were not polled yet go too, those of others do not */
static void reset_clears_completions(void)
{
	int i;

	make_pair(&a, &b, CONF());
	for (i = 0; i < 4; i++) {
		post_recv(&b, 10 + i, 0, 100);
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 100));
	}
	sleep_ms(50);
	to_state(&a, IBV_QPS_RESET);
	expect_no_wc_now(a.scq);
	for (i = 0; i < 4; i++)
		expect_ok(b.rcq, 10 + i);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	check_works(&a, &b);
}

static void reset_after_error(void)
{
	int i;

	make_pair(&a, &b, CONF());
	for (i = 0; i < 20; i++) {
		note("round %d", i);
		post_recv(&a, 1, 0, 100);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
		to_state(&a, IBV_QPS_ERR);
		to_state(&a, IBV_QPS_RESET);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
		check_works(&a, &b);
		expect_no_wc_now(a.scq);
		expect_no_wc_now(a.rcq);
	}
}

/* destroyed with work in its queues: nothing is reported of it any more */
static void destroyed_with_work(void)
{
	make_pair(&a, &b, CONF());
	post_recv(&a, 20, 1000, 100);
	stuck_sends(1);
	SAME(ibv_destroy_qp(a.qp), 0);
	expect_no_wc(a.scq);
	expect_no_wc(a.rcq);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_event();
}

/*
 * ---- SQE: unreliable services ----
 */

/* fails at the sender, two wait behind it */
static void send_fault(struct ibv_ah *ah)
{
	struct ibv_send_wr *wr[3];
	int i;

	for (i = 0; i < 3; i++) {
		wr[i] = swr(&a, 1 + i, IBV_WR_SEND, 0, 100);
		if (ah)
			to_ah(wr[i], ah, &b);
		if (i)
			wr[i - 1]->next = wr[i];
	}
	wr[0]->sg_list->lkey = 0;
	post(&a, wr[0]);
	expect_wc(a.scq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	expect_state(&a, IBV_QPS_SQE);
}

static void sqe(enum ibv_qp_type type)
{
	struct ibv_ah *ah = type == IBV_QPT_UD ? ah_to(gid4, gid4) : NULL;
	struct ibv_send_wr *wr;
	int i;

	make_pair(&a, &b, CONF(.type = type));
	for (i = 0; i < 3; i++) {
		note("round %d", i);
		post_recv(&a, 30, 1000, 200);
		send_fault(ah);
		/* posts are flushed, receives are not */
		wr = swr(&a, 4, IBV_WR_SEND, 0, 100);
		post(&a, ah ? to_ah(wr, ah, &b) : wr);
		expect_wc(a.scq, 4, IBV_WC_WR_FLUSH_ERR);
		expect_no_wc_now(a.rcq);
		wr = swr(&b, 5, IBV_WR_SEND, 0, 100);
		post(&b, ah ? to_ah(wr, ah, &a) : wr);
		expect_ok(b.scq, 5);
		expect_ok(a.rcq, 30);
		/* not by way of another state */
		REFUSED(try_state(&a, IBV_QPS_SQD), EINVAL);
		REFUSED(try_state(&a, IBV_QPS_RTR), EINVAL);
		expect_state(&a, IBV_QPS_SQE);
		to_state(&a, IBV_QPS_RTS);
		expect_state(&a, IBV_QPS_RTS);
		post_recv(&b, 31, 0, 200);
		wr = swr(&a, 6, IBV_WR_SEND, 0, 100);
		post(&a, ah ? to_ah(wr, ah, &b) : wr);
		expect_ok(a.scq, 6);
		expect_ok(b.rcq, 31);
	}
	send_fault(ah);
	to_state(&a, IBV_QPS_ERR);
	to_state(&a, IBV_QPS_RESET);
	expect_no_event();
}

static void sqe_uc(void)
{
	sqe(IBV_QPT_UC);
}

static void sqe_ud(void)
{
	sqe(IBV_QPT_UD);
}

/* an address handle that was destroyed is a fault of the work request */
static void sqe_ah_of_other_pd(void)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx), *ours = pd;
	struct ibv_ah *ah;

	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	pd = other;
	ah = ah_to(gid4, gid4);
	pd = ours;
	post(&a, to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), ah, &b));
	SAME(expect_wc(a.scq, 1, IBV_WC_LOC_QP_OP_ERR).vendor_err, 6);
	expect_state(&a, IBV_QPS_SQE);
	to_state(&a, IBV_QPS_RTS);
}

/* RC has no SQE */
static void sqe_not_for_rc(void)
{
	make_pair(&a, &b, CONF());
	REFUSED(try_state(&a, IBV_QPS_SQE), EINVAL);
	expect_state(&a, IBV_QPS_RTS);
	check_works(&a, &b);
}

/*
 * ---- SQD ----
 */

static int to_sqd(struct end *e, int notify)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD,
		.en_sqd_async_notify = notify,
	};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE |
			     (notify >= 0 ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0));
}

static int sq_draining(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	SAME(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), 0);
	SAME(attr.qp_state, IBV_QPS_SQD);
	return attr.sq_draining;
}

static void sqd_event_when_asked(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	int i, notify;

	for (i = 0; i < 3; i++) {
		make_pair(&a, &b, CONF(.type = types[i]));
		for (notify = 1; notify >= -1; notify--) {
			note("type %d, notify %d", types[i], notify);
			SAME(to_sqd(&a, notify), 0);
			if (notify > 0)
				expect_event(IBV_EVENT_SQ_DRAINED, a.qp);
			expect_no_event();
			SAME(sq_draining(&a), 0);
			to_state(&a, IBV_QPS_RTS);
		}
		unmake(&a);
		unmake(&b);
	}
}

/*
 * The event, and how many of stuck_sends(1) completed before it: what has been
 * begun, one of them on the local link, perhaps all in packets.
 */
static int drained(void)
{
	struct ibv_wc wc;
	int begun = 0;

	expect_event(IBV_EVENT_SQ_DRAINED, a.qp);
	while (ibv_poll_cq(a.scq, 1, &wc) == 1) {
		SAME(wc.wr_id, ++begun);
		SAME(wc.status, IBV_WC_SUCCESS);
	}
	CHECK(begun == 1 || (packets_forced() && begun));
	return begun;
}

/* the event comes after the last completion, and once */
static void sqd_drains(void)
{
	int i, j, begun;

	make_pair(&a, &b, CONF(.rnr_timer = 14));
	for (i = 0; i < 3; i++) {
		note("round %d", i);
		stuck_sends(1);
		SAME(to_sqd(&a, 1), 0);
		SAME(sq_draining(&a), 1);
		expect_no_event();
		expect_no_wc_now(a.scq);
		post_recv(&b, 11, 0, 100);
		post_recv(&b, 12, 0, 100);
		post_recv(&b, 13, 0, 100);
		begun = drained();
		SAME(sq_draining(&a), 0);
		/* the others wait, and those that are posted now */
		post(&a, swr(&a, 4, IBV_WR_SEND, 0, 0));
		expect_no_wc(a.scq);
		for (j = 0; j < begun; j++)
			expect_ok(b.rcq, 11 + j);
		expect_no_wc_now(b.rcq);
		post_recv(&b, 14, 0, 100);
		to_state(&a, IBV_QPS_RTS);
		for (j = begun; j < 4; j++) {
			expect_ok(a.scq, 1 + j);
			expect_ok(b.rcq, 11 + j);
		}
		expect_no_event();
	}
}

static void sqd_receives(void)
{
	make_pair(&a, &b, CONF());
	SAME(to_sqd(&a, 0), 0);
	post_recv(&a, 1, 0, 100);
	post(&b, swr(&b, 2, IBV_WR_SEND, 0, 100));
	expect_ok(b.scq, 2);
	expect_ok(a.rcq, 1);
	fill(b.buf, 100, 4);
	post(&b, at(swr(&b, 3, IBV_WR_RDMA_WRITE, 0, 100), &a, 500));
	expect_ok(b.scq, 3);
	check_filled(a.buf + 500, 100, 4);
	post(&b, at(swr(&b, 4, IBV_WR_RDMA_READ, 1000, 100), &a, 500));
	expect_ok(b.scq, 4);
	check_filled(b.buf + 1000, 100, 4);
	expect_state(&a, IBV_QPS_SQD);
}

/* attributes of the send queue: only when it has drained */
static void sqd_modify(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .retry_cnt = 3, .timeout = 9 };
	struct ibv_qp_init_attr init;
	int i;

	make_pair(&a, &b, CONF(.rnr_timer = 14));
	stuck_sends(1);
	SAME(to_sqd(&a, 1), 0);
	/* once more, and without a word of the event: it has been asked for */
	SAME(to_sqd(&a, -1), 0);
	REFUSED(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_RETRY_CNT | IBV_QP_TIMEOUT),
		EINVAL);
	SAME(ibv_query_qp(a.qp, &attr, QP_ATTRS, &init), 0);
	SAME(attr.retry_cnt, 7);
	SAME(attr.timeout, 14);
	for (i = 0; i < 3; i++)
		post_recv(&b, 10 + i, 0, 100);
	i = drained();
	attr.qp_state = IBV_QPS_SQD;
	attr.retry_cnt = 3;
	attr.timeout = 9;
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_RETRY_CNT | IBV_QP_TIMEOUT), 0);
	SAME(ibv_query_qp(a.qp, &attr, QP_ATTRS, &init), 0);
	SAME(attr.retry_cnt, 3);
	SAME(attr.timeout, 9);
	/* to the same state is no way into it: no event again */
	expect_no_event();
	to_state(&a, IBV_QPS_RTS);
	while (i < 3)
		expect_ok(a.scq, ++i);
}

static void sqd_to_error_and_reset(void)
{
	make_pair(&a, &b, CONF(.rnr_timer = 14));
	stuck_sends(1);
	SAME(to_sqd(&a, 1), 0);
	to_state(&a, IBV_QPS_ERR);
	expect_wc(a.scq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	stuck_sends(1);
	SAME(to_sqd(&a, 0), 0);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	check_works(&a, &b);
}

/* a failure while it drains: ERR */
static void sqd_fails(void)
{
	make_pair(&a, &b, CONF(.timeout = 15, .retry = 1));
	to_state(&b, IBV_QPS_RESET);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	SAME(to_sqd(&a, 1), 0);
	expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_state(&a, IBV_QPS_ERR);
	expect_no_event();
}

/*
 * ---- RTR ----
 */

static void comm_est(enum ibv_qp_type type)
{
	int i;

	make(&a, CONF(.type = type));
	make(&b, CONF(.type = type));
	for (i = 0; i < 2; i++) {
		note("type %d, round %d", type, i);
		to_init(&a);
		to_init(&b);
		post_recv(&b, 1, 0, 100);
		post_recv(&b, 2, 0, 100);
		to_rtr(&b, &a);
		to_rtr(&a, &b);
		to_rts(&a);
		expect_no_event();
		post(&a, swr(&a, 3, IBV_WR_SEND, 0, 100));
		expect_ok(a.scq, 3);
		expect_ok(b.rcq, 1);
		expect_event(IBV_EVENT_COMM_EST, b.qp);
		post(&a, swr(&a, 4, IBV_WR_SEND, 0, 100));
		expect_ok(a.scq, 4);
		expect_ok(b.rcq, 2);
		expect_no_event();
		expect_state(&b, IBV_QPS_RTR);
		to_rts(&b);
		check_works(&b, &a);
		expect_no_event();
		/* it is new again after RESET */
		to_state(&a, IBV_QPS_RESET);
		to_state(&b, IBV_QPS_RESET);
	}
	unmake(&a);
	unmake(&b);
}

static void comm_est_once(void)
{
	comm_est(IBV_QPT_RC);
	comm_est(IBV_QPT_UC);
}

/* in RTS it knows */
static void comm_est_not_in_rts(void)
{
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
	expect_no_event();
}

/* INIT: receives may be posted, what comes is dropped without a word */
static void init_drops(void)
{
	make(&a, CONF(.type = IBV_QPT_UC));
	make(&b, CONF(.type = IBV_QPT_UC));
	to_init(&b);
	post_recv(&b, 1, 0, 100);
	to_init(&a);
	to_rtr(&a, &b);
	to_rts(&a);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 2);
	expect_no_wc(b.rcq);
	expect_no_event();
	to_rtr(&b, &a);
	post(&a, swr(&a, 3, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 3);
	expect_ok(b.rcq, 1);
}

TESTS(
	TEST(error_flushes_in_order), TEST(error_flushes_sends_first),
	TEST(error_flushes_late_posts),
	TEST(error_flushes_unsignaled), TEST(error_from_every_state),
	TEST(error_receives_nothing),
	TEST(error_races_receives), TEST(error_races_sends),
	TEST(reset_clears), TEST(reset_clears_completions), TEST(reset_after_error),
	TEST(destroyed_with_work),
	TEST(sqe_uc), TEST(sqe_ud), TEST(sqe_ah_of_other_pd), TEST(sqe_not_for_rc),
	TEST(sqd_event_when_asked), TEST(sqd_drains), TEST(sqd_receives), TEST(sqd_modify),
	TEST(sqd_to_error_and_reset), TEST(sqd_fails),
	TEST(comm_est_once), TEST(comm_est_not_in_rts), TEST(init_drops)
)
