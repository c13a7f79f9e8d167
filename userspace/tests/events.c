// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events, of completion channels and asynchronous ones: how they are got and
 * acknowledged, and what becomes of them with their object.
 */
#include "lib.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

static struct end a, b;

/*
 * ---- Destroying an object ----
 */

/* a thread that destroys something, and has to wait */
struct destroyer {
	int (*destroy)(void *object);
	void *object;
	pthread_t thread;
	int ret;
	bool done;
};

static void *destroyer_run(void *arg)
{
	struct destroyer *d = arg;

	d->ret = d->destroy(d->object);
	__atomic_store_n(&d->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void start_destroying(struct destroyer *d, int (*destroy)(void *), void *object)
{
	*d = (struct destroyer){ .destroy = destroy, .object = object };
	SAME(pthread_create(&d->thread, NULL, destroyer_run, d), 0);
}

static void expect_waiting(const struct destroyer *d)
{
	sleep_ms(QUIET_MS);
	if (__atomic_load_n(&d->done, __ATOMIC_ACQUIRE))
		FAIL("destroyed (%d), though an event has not been acknowledged", d->ret);
}

static void expect_destroyed(struct destroyer *d)
{
	/* for ever, if it waits still: the alarm ends that */
	SAME(pthread_join(d->thread, NULL), 0);
	SAME(d->ret, 0);
}

static int destroy_cq(void *cq)
{
	return ibv_destroy_cq(cq);
}

static int destroy_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

static int destroy_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

static struct ibv_async_event get_async(enum ibv_event_type type)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	SAME(poll(&fd, 1, WAIT_MS), 1);
	SAME(ibv_get_async_event(ctx, &event), 0);
	SAME(event.event_type, type);
	return event;
}

static void write_to(struct end *from, uint64_t id, int length)
{
	post(from, at(swr(from, id, IBV_WR_RDMA_WRITE, 0, length), &b, 0));
}

static struct ibv_comp_channel *channel;

static void make_channel(void)
{
	channel = ibv_create_comp_channel(ctx);
	CHECK(channel);
	SAME(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
}

/* Return: whether there is an event to be got, within @ms */
static bool channel_has_event(int ms)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

	return poll(&fd, 1, ms) == 1;
}

/* one that is not acknowledged */
static void get_event(struct end *e)
{
	struct ibv_cq *cq;
	void *context;

	CHECK(channel_has_event(WAIT_MS));
	SAME(ibv_get_cq_event(channel, &cq, &context), 0);
	CHECK(cq == e->scq);
	CHECK(context == e);
}

static void raise_event(struct end *e, uint64_t id)
{
	SAME(ibv_req_notify_cq(e->scq, 0), 0);
	write_to(e, id, 8);
	expect_ok(e->scq, id);
}

/* ibv_destroy_cq() waits until all that were got have been acknowledged, however */
static void cq_waits(void)
{
	struct destroyer d;
	int i;

	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	for (i = 0; i < 3; i++) {
		raise_event(&a, i);
		get_event(&a);
	}
	REFUSED(ibv_destroy_cq(a.scq), EBUSY);
	SAME(ibv_destroy_qp(a.qp), 0);
	start_destroying(&d, destroy_cq, a.scq);
	expect_waiting(&d);
	ibv_ack_cq_events(a.scq, 1);
	expect_waiting(&d);
	ibv_ack_cq_events(a.scq, 2);
	expect_destroyed(&d);
}

/* acknowledged before: it waits for nobody */
static void cq_acknowledged(void)
{
	int i;

	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	for (i = 0; i < 5; i++) {
		raise_event(&a, i);
		get_event(&a);
	}
	ibv_ack_cq_events(a.scq, 5);
	SAME(ibv_destroy_qp(a.qp), 0);
	SAME(ibv_destroy_cq(a.scq), 0);
}

/* CQ_ERR is one of its events, too */
static void cq_waits_for_async(void)
{
	struct ibv_async_event event, fatal;
	struct destroyer d;
	int i;

	make_pair(&a, &b, CONF(.sq = 64, .cqe = 4));
	for (i = 0; i < 6; i++)
		write_to(&a, i, 8);
	event = get_async(IBV_EVENT_CQ_ERR);
	CHECK(event.element.cq == a.scq);
	fatal = get_async(IBV_EVENT_QP_FATAL);
	CHECK(fatal.element.qp == a.qp);
	ibv_ack_async_event(&fatal);
	SAME(ibv_destroy_qp(a.qp), 0);
	start_destroying(&d, destroy_cq, a.scq);
	expect_waiting(&d);
	ibv_ack_async_event(&event);
	expect_destroyed(&d);
}

static void qp_waits(void)
{
	struct ibv_async_event event;
	struct destroyer d;

	make_pair(&a, &b, CONF());
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 10), &b, BUF));
	expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	event = get_async(IBV_EVENT_QP_ACCESS_ERR);
	CHECK(event.element.qp == b.qp);
	CHECK(event.element.qp->qp_context == &b);
	start_destroying(&d, destroy_qp, b.qp);
	expect_waiting(&d);
	ibv_ack_async_event(&event);
	expect_destroyed(&d);
}

static struct ibv_srq *make_srq(void)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = &b, .attr = { .max_wr = 16, .max_sge = 1 },
	};
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	CHECK(srq);
	return srq;
}

/* armed while it is empty: there is the event */
static void raise_limit(struct ibv_srq *srq)
{
	struct ibv_srq_attr limit = { .srq_limit = 1 };

	SAME(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
}

static void srq_waits(void)
{
	struct ibv_srq *srq = make_srq();
	struct ibv_async_event event;
	struct destroyer d;

	raise_limit(srq);
	event = get_async(IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(event.element.srq == srq);
	CHECK(event.element.srq->srq_context == &b);
	start_destroying(&d, destroy_srq, srq);
	expect_waiting(&d);
	ibv_ack_async_event(&event);
	expect_destroyed(&d);
}

/* What nobody has got need not be acknowledged, and nobody gets it any more. */
static void unread_go(void)
{
	struct ibv_srq *srq = make_srq();

	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	raise_limit(srq);
	SAME(ibv_destroy_srq(srq), 0);
	raise_event(&a, 1);
	post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 10), &b, BUF));
	expect_wc(a.scq, 2, IBV_WC_REM_ACCESS_ERR);
	expect_state(&b, IBV_QPS_ERR);
	SAME(ibv_destroy_qp(b.qp), 0);
	SAME(ibv_destroy_qp(a.qp), 0);
	CHECK(channel_has_event(WAIT_MS));
	SAME(ibv_destroy_cq(a.scq), 0);
	CHECK(!channel_has_event(QUIET_MS));
	expect_no_event();
}

/*
 * ---- Getting them ----
 */

/* each queue's event names it, in the order in which they came */
static void shared_channel(void)
{
	make_channel();
	make_pair(&a, &b, CONF(.channel = channel));
	REFUSED(ibv_destroy_comp_channel(channel), EBUSY);
	raise_event(&b, 1);
	CHECK(channel_has_event(WAIT_MS));
	raise_event(&a, 2);
	get_event(&b);
	get_event(&a);
	CHECK(!channel_has_event(QUIET_MS));
	ibv_ack_cq_events(a.scq, 1);
	ibv_ack_cq_events(b.scq, 1);
	unmake(&a);
	unmake(&b);
	SAME(ibv_destroy_comp_channel(channel), 0);
}

/* a descriptor that does not block says that there is none */
static void none_there(void)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	make_channel();
	make(&a, CONF(.channel = channel));
	REFUSED(ibv_get_cq_event(channel, &cq, &context), EAGAIN);
	REFUSED(ibv_get_async_event(ctx, &event), EAGAIN);
	SAME(ibv_req_notify_cq(a.scq, 0), 0);
	REFUSED(ibv_get_cq_event(channel, &cq, &context), EAGAIN);
}

/* one that blocks waits */
static void *wait_for_event(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	SAME(ibv_get_cq_event(channel, &cq, &context), 0);
	CHECK(context == arg);
	ibv_ack_cq_events(cq, 1);
	return cq;
}

static void who_waits_is_woken(void)
{
	pthread_t thread;
	void *cq;
	int i;

	channel = ibv_create_comp_channel(ctx);
	CHECK(channel);
	make_pair(&a, &b, CONF(.channel = channel));
	for (i = 0; i < 20; i++) {
		SAME(ibv_req_notify_cq(a.scq, 0), 0);
		SAME(pthread_create(&thread, NULL, wait_for_event, &a), 0);
		if (i % 2)
			sleep_ms(10);
		write_to(&a, i, 8);
		expect_ok(a.scq, i);
		SAME(pthread_join(thread, &cq), 0);
		CHECK(cq == a.scq);
	}
}

/* the events of a context are not those of another one */
static void of_the_context(void)
{
	struct ibv_context *first = ctx;
	struct ibv_srq *srq;

	open_device();
	srq = make_srq();
	raise_limit(srq);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	ctx = first;
	expect_no_event();
}

TESTS(
	TEST(cq_waits), TEST(cq_acknowledged), TEST(cq_waits_for_async), TEST(qp_waits),
	TEST(srq_waits), TEST(unread_go), TEST(shared_channel), TEST(none_there),
	TEST(who_waits_is_woken), TEST(of_the_context)
)
