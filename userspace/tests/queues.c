// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues and shared receive queues: limits, notification, resizing.
 */
#include "lib.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>

static struct end a, b;

/*
 * ---- Shared receive queues ----
 */

static struct ibv_srq *make_srq(int max_wr)
{
	struct ibv_srq_init_attr attr = {
		.attr.max_wr = max_wr,
		.attr.max_sge = 2,
	};
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	CHECK(srq);
	CHECK(attr.attr.max_wr >= max_wr);
	CHECK(attr.attr.max_sge >= 2);
	return srq;
}

static struct ibv_srq_attr query_srq(struct ibv_srq *srq)
{
	struct ibv_srq_attr attr;

	SAME(ibv_query_srq(srq, &attr), 0);
	return attr;
}

/* @b receives from @srq */
static void make_srq_pair(struct ibv_srq *srq)
{
	make(&a, CONF(.sq = 64));
	make(&b, CONF(.srq = srq));
	connect_ends(&a, &b);
}

static void send_to_srq(uint64_t id, uint64_t recv_id)
{
	post(&a, swr(&a, id, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, id);
	expect_ok(b.rcq, recv_id);
}

static void srq_in_order(void)
{
	struct ibv_srq *srq = make_srq(16);
	struct ibv_recv_wr *bad;
	int i;

	make_srq_pair(srq);
	/* the QP has no receive queue of its own */
	REFUSED(ibv_post_recv(b.qp, rwr(&b, 1, 0, 100), &bad), EINVAL);
	for (i = 0; i < 16; i++)
		post_srq(srq, &b, i, 0, 100);
	for (i = 0; i < 16; i++)
		send_to_srq(i, i);
	/* empty: RNR */
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	expect_no_wc(a.scq);
	post_srq(srq, &b, 2, 0, 100);
	expect_ok(a.scq, 1);
	expect_ok(b.rcq, 2);
}

static void srq_full(void)
{
	struct ibv_srq *srq = make_srq(8);
	struct ibv_recv_wr *wrs[12], *bad;
	int max = query_srq(srq).max_wr, i;

	SAME(max, 8);
	make_srq_pair(srq);
	for (i = 0; i < 12; i++) {
		wrs[i] = rwr(&b, i, 0, 100);
		if (i)
			wrs[i - 1]->next = wrs[i];
	}
	SAME(ibv_post_srq_recv(srq, wrs[0], &bad), ENOMEM);
	CHECK(bad == wrs[8]);
	for (i = 0; i < 8; i++)
		send_to_srq(i, i);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	expect_no_wc(b.rcq);
	/* too many elements */
	wrs[0] = rwr(&b, 50, 0, 100);
	wrs[0]->num_sge = 20;
	SAME(ibv_post_srq_recv(srq, wrs[0], &bad), EINVAL);
	CHECK(bad == wrs[0]);
	expect_no_wc(b.rcq);
}

static void set_limit(struct ibv_srq *srq, int limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	SAME(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
}

static void srq_limit_one_shot(void)
{
	struct ibv_srq *srq = make_srq(16);
	int i, round;

	make_srq_pair(srq);
	SAME(query_srq(srq).srq_limit, 0);
	for (round = 0; round < 2; round++) {
		note("round %d", round);
		for (i = 0; i < 8; i++)
			post_srq(srq, &b, i, 0, 100);
		set_limit(srq, 4);
		SAME(query_srq(srq).srq_limit, 4);
		for (i = 0; i < 4; i++)
			send_to_srq(i, i);
		/* four are left: not below the limit */
		expect_no_event();
		SAME(query_srq(srq).srq_limit, 4);
		send_to_srq(4, 4);
		expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
		SAME(query_srq(srq).srq_limit, 0);
		for (i = 5; i < 8; i++)
			send_to_srq(i, i);
		expect_no_event();
	}
	/* armed below the limit: at once */
	set_limit(srq, 2);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	expect_no_event();
	SAME(query_srq(srq).srq_limit, 0);
	/* 0 disarms */
	for (i = 0; i < 8; i++)
		post_srq(srq, &b, i, 0, 100);
	set_limit(srq, 4);
	set_limit(srq, 0);
	for (i = 0; i < 8; i++)
		send_to_srq(i, i);
	expect_no_event();
}

static void srq_limit_too_high(void)
{
	struct ibv_srq *srq = make_srq(16);
	struct ibv_srq_attr attr = { .srq_limit = 17 };

	REFUSED(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	SAME(query_srq(srq).srq_limit, 0);
	/* neither of both, when one is wrong */
	attr.max_wr = 1 << 20;
	attr.srq_limit = 3;
	REFUSED(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR), EINVAL);
	SAME(query_srq(srq).srq_limit, 0);
	SAME(query_srq(srq).max_wr, 16);
	attr.max_wr = 32;
	attr.srq_limit = 50;
	REFUSED(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR), EINVAL);
	SAME(query_srq(srq).max_wr, 16);
}

static int resize_srq(struct ibv_srq *srq, int max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr };

	return ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
}

static void srq_resize_with_outstanding(void)
{
	struct ibv_srq *srq = make_srq(16);
	struct ibv_recv_wr *bad;
	int i, next = 0, posted = 0;

	make_srq_pair(srq);
	/* not from the start of the ring */
	for (; posted < 10; posted++)
		post_srq(srq, &b, posted, 0, 100);
	for (; next < 5; next++)
		send_to_srq(1000 + next, next);
	for (; posted < 21; posted++)
		post_srq(srq, &b, posted, 0, 100);
	CHECK(ibv_post_srq_recv(srq, rwr(&b, 1, 0, 100), &bad) == ENOMEM);
	SAME(resize_srq(srq, 64), 0);
	SAME(query_srq(srq).max_wr, 64);
	for (; posted < next + 64; posted++)
		post_srq(srq, &b, posted, 0, 100);
	CHECK(ibv_post_srq_recv(srq, rwr(&b, 1, 0, 100), &bad) == ENOMEM);
	for (i = 0; i < 50; i++, next++)
		send_to_srq(1000 + next, next);
	/* 14 are outstanding: not so small */
	CHECK(resize_srq(srq, 8));
	SAME(query_srq(srq).max_wr, 64);
	SAME(resize_srq(srq, 16), 0);
	SAME(query_srq(srq).max_wr, 16);
	post_srq(srq, &b, posted++, 0, 100);
	post_srq(srq, &b, posted++, 0, 100);
	CHECK(ibv_post_srq_recv(srq, rwr(&b, 1, 0, 100), &bad) == ENOMEM);
	for (; next < posted; next++)
		send_to_srq(1000 + next, next);
	expect_no_event();
}

static void srq_last_wqe_reached(void)
{
	struct ibv_srq *srq;
	int i;

	for (i = 0; i < 2; i++) {
		note("round %d", i);
		srq = make_srq(16);
		make_srq_pair(srq);
		post_srq(srq, &b, 1, 0, 100);
		send_to_srq(2, 1);
		post_srq(srq, &b, 3, 0, 100);
		if (i) {
			/* by a fault instead */
			post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 10), &b, BUF));
			expect_wc(a.scq, 4, IBV_WC_REM_ACCESS_ERR);
			expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
		} else {
			to_state(&b, IBV_QPS_ERR);
		}
		expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, b.qp);
		expect_no_event();
		/* what is in the SRQ belongs to all */
		expect_no_wc(b.rcq);
		post(&b, swr(&b, 5, IBV_WR_SEND, 0, 10));
		expect_wc(b.scq, 5, IBV_WC_WR_FLUSH_ERR);
		expect_no_event();
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_destroy_qp(b.qp), 0);
	}
}

/* two QPs, one SRQ */
static void srq_shared(void)
{
	struct ibv_srq *srq = make_srq(16);
	struct end c, d;
	int i;

	make_srq_pair(srq);
	make(&c, CONF());
	make(&d, CONF(.srq = srq));
	connect_ends(&c, &d);
	REFUSED(ibv_destroy_srq(srq), EBUSY);
	for (i = 0; i < 10; i++)
		post_srq(srq, &b, i, 0, 100);
	for (i = 0; i < 10; i += 2) {
		send_to_srq(100, i);
		post(&c, swr(&c, 101, IBV_WR_SEND, 0, 100));
		expect_ok(c.scq, 101);
		SAME(expect_ok(d.rcq, i + 1).qp_num, d.qp->qp_num);
	}
	to_state(&b, IBV_QPS_ERR);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, b.qp);
	post_srq(srq, &b, 50, 0, 100);
	post(&c, swr(&c, 102, IBV_WR_SEND, 0, 100));
	expect_ok(c.scq, 102);
	expect_ok(d.rcq, 50);
	SAME(ibv_destroy_qp(b.qp), 0);
	SAME(ibv_destroy_qp(d.qp), 0);
	SAME(ibv_destroy_srq(srq), 0);
}

/* a receive that does not fit is the QP's misfortune, not the SRQ's */
static void srq_receive_too_small(void)
{
	struct ibv_srq *srq = make_srq(16);

	make_srq_pair(srq);
	post_srq(srq, &b, 1, 0, 50);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	expect_wc(a.scq, 2, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(b.rcq, 1, IBV_WC_LOC_LEN_ERR);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, b.qp);
	expect_no_event();
}

/* what its QPs ask for a receive queue of their own is ignored */
static void srq_ignores_receive_caps(void)
{
	struct ibv_qp_init_attr attr = {
		.srq = make_srq(16), .qp_type = IBV_QPT_RC, .cap = { 1, -1U, 1, -1U, 0 },
	};

	make(&a, CONF());
	attr.send_cq = a.scq;
	attr.recv_cq = a.rcq;
	CHECK(ibv_create_qp(pd, &attr));
	SAME(attr.cap.max_recv_wr, 0);
	SAME(attr.cap.max_recv_sge, 0);
}

/*
 * ---- Completion queues: size ----
 */

/* @num completions of @a, which are there when this returns */
static void complete(int first, int num)
{
	int i;

	for (i = 0; i < num; i++)
		post(&a, at(swr(&a, first + i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
	sleep_ms(30);
}

static void cq_resize_with_outstanding(void)
{
	int i;

	make_pair(&a, &b, CONF(.sq = 64, .cqe = 16));
	SAME(a.scq->cqe, 16);
	complete(0, 10);
	for (i = 0; i < 6; i++)
		expect_ok(a.scq, i);
	complete(10, 12);
	SAME(ibv_resize_cq(a.scq, 64), 0);
	SAME(a.scq->cqe, 64);
	for (; i < 10; i++)
		expect_ok(a.scq, i);
	complete(22, 40);
	/* 52 are outstanding */
	CHECK(ibv_resize_cq(a.scq, 32));
	SAME(a.scq->cqe, 64);
	for (; i < 50; i++)
		expect_ok(a.scq, i);
	SAME(ibv_resize_cq(a.scq, 16), 0);
	SAME(a.scq->cqe, 16);
	for (; i < 62; i++)
		expect_ok(a.scq, i);
	expect_no_wc_now(a.scq);
	REFUSED(ibv_resize_cq(a.scq, 0), EINVAL);
	REFUSED(ibv_resize_cq(a.scq, 1 << 30), EINVAL);
	complete(70, 3);
	expect_ok(a.scq, 70);
	expect_no_event();
}

static void cq_full_is_no_overrun(void)
{
	int i, round;

	make_pair(&a, &b, CONF(.sq = 64, .cqe = 8));
	for (round = 0; round < 5; round++) {
		complete(0, 8);
		for (i = 0; i < 8; i++)
			expect_ok(a.scq, i);
	}
	expect_no_event();
}

static void cq_overrun(void)
{
	struct ibv_wc wc;
	int i;

	make_pair(&a, &b, CONF(.sq = 64, .cqe = 8));
	post_recv(&a, 60, 0, 100);
	complete(0, 20);
	expect_event(IBV_EVENT_CQ_ERR, a.scq);
	expect_event(IBV_EVENT_QP_FATAL, a.qp);
	expect_no_event();
	/* flushed, and why */
	SAME(expect_wc(a.rcq, 60, IBV_WC_WR_FLUSH_ERR).vendor_err, 26);
	expect_state(&a, IBV_QPS_ERR);
	expect_state(&b, IBV_QPS_RTS);
	/* those that fitted, then it is broken for ever */
	for (i = 0; i < 8; i++)
		expect_ok(a.scq, i);
	for (i = 0; i < 3; i++)
		CHECK(ibv_poll_cq(a.scq, 1, &wc) < 0);
	post(&a, swr(&a, 50, IBV_WR_SEND, 0, 8));
	sleep_ms(20);
	CHECK(ibv_poll_cq(a.scq, 1, &wc) < 0);
	expect_no_event();
}

/* the responder's queue overruns */
static void cq_overrun_receive(void)
{
	struct ibv_wc wc;
	int i;

	make_pair(&a, &b, CONF(.sq = 64, .rq = 64, .cqe = 64));
	SAME(ibv_resize_cq(b.rcq, 4), 0);
	for (i = 0; i < 8; i++)
		post_recv(&b, i, 0, 100);
	for (i = 0; i < 8; i++)
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 100));
	expect_event(IBV_EVENT_CQ_ERR, b.rcq);
	expect_event(IBV_EVENT_QP_FATAL, b.qp);
	expect_state(&b, IBV_QPS_ERR);
	for (i = 0; i < 4; i++) {
		expect_ok(b.rcq, i);
		expect_ok(a.scq, i);
	}
	CHECK(ibv_poll_cq(b.rcq, 1, &wc) < 0);
	expect_no_event();
}

/* one queue, two QPs: the event comes once, the queue is lost to both */
static void cq_overrun_shared(void)
{
	struct ibv_cq *cq;
	struct end c, d;
	int i;

	make_pair(&a, &b, CONF(.sq = 64, .cqe = 4));
	cq = a.scq;
	make(&c, CONF(.cqe = 4));
	make(&d, CONF());
	SAME(ibv_destroy_qp(c.qp), 0);
	c.qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
		.send_cq = cq, .recv_cq = c.rcq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	});
	CHECK(c.qp);
	connect_ends(&c, &d);
	complete(0, 6);
	expect_event(IBV_EVENT_CQ_ERR, cq);
	expect_event(IBV_EVENT_QP_FATAL, a.qp);
	/* which had nothing to complete */
	expect_event(IBV_EVENT_QP_FATAL, c.qp);
	expect_state(&c, IBV_QPS_ERR);
	post(&c, at(swr(&c, 9, IBV_WR_RDMA_WRITE, 0, 8), &d, 0));
	expect_no_event();
	for (i = 0; i < 4; i++)
		expect_ok(cq, i);
	CHECK(ibv_poll_cq(cq, 1, &(struct ibv_wc){}) < 0);
}

static struct ibv_cq *make_lossy_cq(int cqe)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &attr);

	CHECK(cq);
	SAME(ibv_cq_ex_to_cq(cq)->cqe, cqe);
	return ibv_cq_ex_to_cq(cq);
}

/* @e with other completion queues */
static void make_lossy(struct end *e)
{
	make(e, CONF());
	SAME(ibv_destroy_qp(e->qp), 0);
	SAME(ibv_destroy_cq(e->scq), 0);
	SAME(ibv_destroy_cq(e->rcq), 0);
	e->scq = make_lossy_cq(8);
	e->rcq = make_lossy_cq(4);
	e->qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
		.send_cq = e->scq, .recv_cq = e->rcq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	});
	CHECK(e->qp);
}

/* what finds no room is lost, and that is all */
static void cq_overrun_ignored(void)
{
	int i, round;

	make_lossy(&a);
	make_lossy(&b);
	connect_ends(&a, &b);
	for (round = 0; round < 3; round++) {
		note("round %d", round);
		memset(b.buf, 0, BUF);
		fill(a.buf, 100, round);
		for (i = 0; i < 20; i++)
			post_recv(&b, i, i * 100, 100);
		for (i = 0; i < 20; i++)
			post(&a, swr(&a, i, IBV_WR_SEND, 0, 100));
		/* all are executed, those that are not reported as well */
		while (!((volatile uint8_t *)b.buf)[1999])
			sleep_ms(1);
		sleep_ms(30);
		for (i = 0; i < 20; i++)
			check_filled(b.buf + i * 100, 100, round);
		for (i = 0; i < 8; i++)
			expect_ok(a.scq, i);
		for (i = 0; i < 4; i++)
			expect_ok(b.rcq, i);
		expect_no_wc_now(a.scq);
		expect_no_wc_now(b.rcq);
		/* what comes later says that their room is free */
		check_works(&a, &b);
	}
	expect_state(&a, IBV_QPS_RTS);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_event();
}

/* completions of a QP that was destroyed are gone */
static void cq_of_destroyed_qp(void)
{
	struct ibv_cq *cq;
	int i;

	make_pair(&a, &b, CONF(.sq = 64, .cqe = 16));
	cq = a.scq;
	for (i = 0; i < 10; i++) {
		note("round %d", i);
		complete(0, 6);
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_poll_cq(cq, 1, &(struct ibv_wc){}), 0);
		a.qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
			.send_cq = cq, .recv_cq = a.rcq, .qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = 16, .max_recv_wr = 16,
				 .max_send_sge = 1, .max_recv_sge = 1 },
		});
		CHECK(a.qp);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
	}
	expect_no_event();
}

/*
 * ---- Completion queues: notification ----
 */

static struct ibv_comp_channel *channel;

static void make_channel(void)
{
	channel = ibv_create_comp_channel(ctx);
	CHECK(channel);
	SAME(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
}

/* Return: the queue whose notification came, NULL: none */
static struct ibv_cq *notified(int ms)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, ms) <= 0 || ibv_get_cq_event(channel, &cq, &context))
		return NULL;
	ibv_ack_cq_events(cq, 1);
	CHECK(context == &a || context == &b);
	return cq;
}

static void notify_one_shot(void)
{
	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	/* not asked for */
	check_works(&a, &b);
	CHECK(!notified(QUIET_MS));
	SAME(ibv_req_notify_cq(b.rcq, 0), 0);
	CHECK(!notified(QUIET_MS));
	check_works(&a, &b);
	CHECK(notified(WAIT_MS) == b.rcq);
	check_works(&a, &b);
	CHECK(!notified(QUIET_MS));
	/* a send completion */
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	complete(0, 3);
	CHECK(notified(WAIT_MS) == a.scq);
	CHECK(!notified(QUIET_MS));
}

/* what is there already notifies nobody */
static void notify_only_new(void)
{
	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	complete(0, 3);
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	CHECK(!notified(QUIET_MS));
	complete(3, 1);
	CHECK(notified(WAIT_MS) == a.scq);
}

static void send_flagged(enum ibv_wr_opcode op, int flags)
{
	struct ibv_ah *ah = a.conf.type == IBV_QPT_UD ? ah_to(gid4, gid4) : NULL;
	struct ibv_send_wr *wr = swr(&a, 1, op, 0, 10);

	post_recv(&b, 2, 0, 40 + 10);
	if (op == IBV_WR_RDMA_WRITE_WITH_IMM)
		at(wr, &b, 0);
	if (ah)
		to_ah(wr, ah, &b);
	wr->send_flags |= flags;
	post(&a, wr);
	expect_ok(a.scq, 1);
	expect_ok(b.rcq, 2);
	if (ah)
		SAME(ibv_destroy_ah(ah), 0);
}

static void notify_solicited_of(enum ibv_qp_type type)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	int i, num = type == IBV_QPT_UD ? 2 : ARRAY_SIZE(ops);

	make_pair(&a, &b, CONF(.type = type, .channel = channel));
	for (i = 0; i < num; i++) {
		note("type %d, opcode %d", type, ops[i]);
		SAME(ibv_req_notify_cq(b.rcq, 1), 0);
		send_flagged(ops[i], 0);
		CHECK(!notified(QUIET_MS));
		send_flagged(ops[i], IBV_SEND_SOLICITED);
		CHECK(notified(WAIT_MS) == b.rcq);
		send_flagged(ops[i], IBV_SEND_SOLICITED);
		CHECK(!notified(QUIET_MS));
	}
	/* asking for less does not take back having asked for more */
	SAME(ibv_req_notify_cq(b.rcq, 0), 0);
	SAME(ibv_req_notify_cq(b.rcq, 1), 0);
	send_flagged(IBV_WR_SEND, 0);
	CHECK(notified(WAIT_MS) == b.rcq);
	/* and asking for more adds to it */
	SAME(ibv_req_notify_cq(b.rcq, 1), 0);
	SAME(ibv_req_notify_cq(b.rcq, 0), 0);
	send_flagged(IBV_WR_SEND, 0);
	CHECK(notified(WAIT_MS) == b.rcq);
	unmake(&a);
	unmake(&b);
}

static void notify_solicited(void)
{
	make_channel();
	notify_solicited_of(IBV_QPT_RC);
	notify_solicited_of(IBV_QPT_UC);
	notify_solicited_of(IBV_QPT_UD);
}

/* errors count as solicited, successes of one's own sends do not */
static void notify_solicited_errors(void)
{
	struct ibv_send_wr *wr;

	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	SAME(ibv_req_notify_cq(a.scq, 1), 0);
	wr = at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 8), &b, 0);
	wr->send_flags |= IBV_SEND_SOLICITED;
	post(&a, wr);
	expect_ok(a.scq, 1);
	CHECK(!notified(QUIET_MS));
	wr = swr(&a, 2, IBV_WR_SEND, 0, 10);
	wr->sg_list->lkey = 0;
	post(&a, wr);
	expect_wc(a.scq, 2, IBV_WC_LOC_PROT_ERR);
	CHECK(notified(WAIT_MS) == a.scq);
	/* flushed ones */
	SAME(ibv_req_notify_cq(a.rcq, 1), 0);
	post_recv(&a, 3, 0, 10);
	expect_wc(a.rcq, 3, IBV_WC_WR_FLUSH_ERR);
	CHECK(notified(WAIT_MS) == a.rcq);
	/* a receive that fails */
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	SAME(ibv_req_notify_cq(b.rcq, 1), 0);
	post_recv(&b, 4, 0, 5);
	post(&a, swr(&a, 5, IBV_WR_SEND, 0, 10));
	expect_wc(b.rcq, 4, IBV_WC_LOC_LEN_ERR);
	CHECK(notified(WAIT_MS) == b.rcq);
}

/* who sleeps must learn that nothing will come any more */
static void notify_overrun(void)
{
	make_channel();
	make_pair(&a, &b, CONF(.sq = 64, .cqe = 8, .channel = channel));
	complete(0, 8);
	SAME(ibv_req_notify_cq(a.scq, 1), 0);
	complete(8, 1);
	CHECK(notified(WAIT_MS) == a.scq);
	expect_event(IBV_EVENT_CQ_ERR, a.scq);
}

static void moderate(struct ibv_cq *cq, int count, int usec)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = usec },
	};

	SAME(ibv_modify_cq(cq, &attr), 0);
}

static void notify_moderated(void)
{
	struct ibv_modify_cq_attr refused = { .attr_mask = IBV_CQ_ATTR_MODERATE << 1 };
	struct ibv_device_attr_ex attr;
	uint64_t start;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	CHECK(attr.cq_mod_caps.max_cq_count >= 4 && attr.cq_mod_caps.max_cq_period >= 60000);
	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	REFUSED(ibv_modify_cq(a.scq, &refused), EINVAL);
	/* only what is solicited, and then what is not */
	moderate(b.rcq, 2, 0);
	SAME(ibv_req_notify_cq(b.rcq, 1), 0);
	send_flagged(IBV_WR_SEND, IBV_SEND_SOLICITED);
	CHECK(!notified(QUIET_MS));
	send_flagged(IBV_WR_SEND, 0);
	CHECK(notified(WAIT_MS) == b.rcq);
	/* by number */
	moderate(a.scq, 4, 0);
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	complete(0, 3);
	CHECK(!notified(QUIET_MS));
	complete(3, 1);
	CHECK(notified(WAIT_MS) == a.scq);
	complete(4, 8);
	CHECK(!notified(QUIET_MS));
	/* by time, and not before */
	moderate(a.scq, 1000, 60000);
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	CHECK(!notified(QUIET_MS));
	start = now_ns();
	complete(12, 1);
	CHECK(notified(WAIT_MS) == a.scq);
	CHECK(now_ns() - start >= 60000000);
	/* what waits is told when there is no moderation any more */
	moderate(a.scq, 1000, 0);
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	complete(13, 1);
	CHECK(!notified(QUIET_MS));
	moderate(a.scq, 0, 0);
	CHECK(notified(WAIT_MS) == a.scq);
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	complete(14, 1);
	CHECK(notified(WAIT_MS) == a.scq);
}

static void notify_survives_resize(void)
{
	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	SAME(ibv_resize_cq(a.scq, 1000), 0);
	complete(0, 1);
	CHECK(notified(WAIT_MS) == a.scq);
	CHECK(!notified(QUIET_MS));
}

/* nobody is there to be told */
static void notify_without_channel(void)
{
	make_pair(&a, &b, CONF());
	SAME(ibv_req_notify_cq(b.rcq, 0), 0);
	check_works(&a, &b);
	SAME(ibv_req_notify_cq(b.rcq, 1), 0);
	check_works(&a, &b);
	expect_no_event();
}

/*
 * ---- Completion queues: the other way to poll ----
 */

static uint64_t device_clock(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	SAME(ibv_query_rt_values_ex(ctx, &values), 0);
	return values.raw_clock.tv_nsec;
}

static uint64_t wall_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static struct ibv_cq_ex *make_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &attr);

	CHECK(cq);
	attr.wc_flags |= 1 << 20;
	REFUSED(ibv_create_cq_ex(ctx, &attr), EOPNOTSUPP);
	attr.wc_flags = 0;
	attr.flags = 1 << 20;
	REFUSED(ibv_create_cq_ex(ctx, &attr), EOPNOTSUPP);
	return cq;
}

/* both clocks, and the order in which it happened */
static void cq_timestamps(void)
{
	struct ibv_cq_ex *cq = make_cq_ex();
	struct ibv_poll_cq_attr attr = {};
	uint64_t before, after, first, wall;

	make(&a, CONF());
	make(&b, CONF());
	SAME(ibv_destroy_qp(a.qp), 0);
	a.qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
		.send_cq = ibv_cq_ex_to_cq(cq), .recv_cq = a.rcq, .qp_type = IBV_QPT_RC,
		.cap = { 16, 16, 1, 1, 0 },
	});
	CHECK(a.qp);
	connect_ends(&a, &b);
	SAME(ibv_start_poll(cq, &attr), ENOENT);
	before = device_clock();
	wall = wall_clock();
	sleep_ms(1);
	complete(7, 2);
	after = device_clock();
	SAME(ibv_start_poll(cq, &attr), 0);
	SAME(cq->wr_id, 7);
	SAME(cq->status, IBV_WC_SUCCESS);
	SAME(ibv_wc_read_opcode(cq), IBV_WC_RDMA_WRITE);
	SAME(ibv_wc_read_qp_num(cq), a.qp->qp_num);
	first = ibv_wc_read_completion_ts(cq);
	CHECK(first > before && first < after);
	CHECK(ibv_wc_read_completion_wallclock_ns(cq) > wall);
	CHECK(ibv_wc_read_completion_wallclock_ns(cq) < wall_clock());
	SAME(ibv_next_poll(cq), 0);
	SAME(cq->wr_id, 8);
	CHECK(ibv_wc_read_completion_ts(cq) >= first);
	SAME(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	attr.comp_mask = 1;
	SAME(ibv_start_poll(cq, &attr), EINVAL);
}

static void cq_entries_refused(void)
{
	REFUSED(ibv_create_cq(ctx, 0, NULL, NULL, 0), EINVAL);
	REFUSED(ibv_create_cq(ctx, 1 << 30, NULL, NULL, 0), EINVAL);
}

TESTS(
	TEST(srq_in_order), TEST(srq_full), TEST(srq_limit_one_shot),
	TEST(srq_limit_too_high), TEST(srq_resize_with_outstanding),
	TEST(srq_last_wqe_reached), TEST(srq_shared), TEST(srq_receive_too_small),
	TEST(srq_ignores_receive_caps),
	TEST(cq_resize_with_outstanding), TEST(cq_full_is_no_overrun), TEST(cq_overrun),
	TEST(cq_overrun_receive), TEST(cq_overrun_shared), TEST(cq_overrun_ignored),
	TEST(cq_of_destroyed_qp),
	TEST(notify_one_shot), TEST(notify_only_new), TEST(notify_solicited),
	TEST(notify_solicited_errors), TEST(notify_overrun), TEST(notify_moderated),
	TEST(notify_survives_resize), TEST(notify_without_channel), TEST(cq_timestamps),
	TEST(cq_entries_refused)
)
