// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A device that fails by a command, and works again; events that it raises by name. */
#include "inject.h"

#include <poll.h>
#include <pthread.h>
#include <sys/utsname.h>

/* IBV_EVENT_DEVICE_SPEED_CHANGE, for which older libraries have no name */
#define EVENT_SPEED_CHANGE	20

static struct end a, b;

static void expect_port(enum ibv_port_state state)
{
	struct ibv_port_attr attr;
	int tries;

	for (tries = 0; tries < 2000; tries++) {
		SAME(ibv_query_port(ctx, 1, &attr), 0);
		if (attr.state == state)
			return;
		sleep_ms(10);
	}
	FAIL("the port is in state %d, not %d", attr.state, state);
}

/* these events come, in any order, and perhaps others of the port between them */
static void await_events(unsigned long wanted)
{
	struct pollfd ready = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (wanted) {
		SAME(poll(&ready, 1, WAIT_MS), 1);
		SAME(ibv_get_async_event(ctx, &event), 0);
		wanted &= ~(1UL << event.event_type);
		ibv_ack_async_event(&event);
	}
}

/* After recovery a subnet manager has to bring a port of InfiniBand up. */
static void recover(void)
{
	rule("device recover");
	await_events(1UL << IBV_EVENT_PORT_ACTIVE);
	expect_port(IBV_PORT_ACTIVE);
}

/* no new object while the device has failed, and no post */
static void expect_dead(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad_wr = NULL;
	struct ibv_recv_wr recv = {}, *bad_recv = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	REFUSED(ibv_alloc_pd(ctx), EIO);
	REFUSED(ibv_create_cq(ctx, 4, NULL, NULL, 0), EIO);
	REFUSED(ibv_reg_mr(pd, a.buf, 100, 0), EIO);
	REFUSED(ibv_open_device(ctx->device), EIO);
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EIO);
	SAME(ibv_post_send(a.qp, &wr, &bad_wr), EIO);
	CHECK(bad_wr == &wr);
	SAME(ibv_post_recv(b.qp, &recv, &bad_recv), EIO);
	CHECK(bad_recv == &recv);
	expect_no_wc_now(a.scq);
	expect_no_wc_now(b.rcq);
}

/* Outstanding work ends, all calls are refused, and QPs that are made after the recovery work. */
void device_fatal(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_attr bad = { .qp_state = IBV_QPS_ERR, .pkey_index = 0xffff };
	struct ibv_wc wc;
	struct end c, d;
	int wire;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		make_pair(&a, &b, CONF(.timeout = 20));
		make(&c, CONF());
		to_init(&c);
		make(&d, CONF());
		post_recv(&b, 10, 0, 100);
		/* it waits for a receive */
		post(&b, swr(&b, 1, IBV_WR_SEND, 0, 100));
		expect_no_wc(b.scq);
		rule("device fatal");
		await_events(1UL << IBV_EVENT_PORT_ERR | 1UL << IBV_EVENT_DEVICE_FATAL);
		wc = expect_wc(b.scq, 1, IBV_WC_FATAL_ERR);
		SAME(wc.vendor_err, 28);
		wc = expect_wc(b.rcq, 10, IBV_WC_FATAL_ERR);
		SAME(wc.vendor_err, 28);
		expect_port(IBV_PORT_DOWN);
		expect_dead();
		/* what was there can be destroyed */
		unmake(&c);
		refused_as("device fatal", "the device has failed already", EALREADY);
		recover();
		refused_as("device recover", "the device has not failed", EALREADY);
		/* a QP that was there stays in ERR; one that was in RESET works */
		expect_state(&a, IBV_QPS_ERR);
		expect_state(&b, IBV_QPS_ERR);
		SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EIO);
		/* to ERR it may go, and attributes are checked nevertheless */
		SAME(ibv_modify_qp(a.qp, &bad, IBV_QP_STATE | IBV_QP_PKEY_INDEX), EINVAL);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
		expect_wc(a.scq, 2, IBV_WC_FATAL_ERR);
		unmake(&a);
		make(&a, CONF());
		connect_ends(&a, &d);
		check_works(&a, &d);
		unmake(&a);
		unmake(&b);
		unmake(&d);
	}
	force_packets(false);
}

static volatile bool races_end;

/* The device may have failed in between, and nothing else may have happened. */
static bool fails(int error)
{
	if (error)
		SAME(error, EIO);
	return error;
}

/* the errno of a call that returns an object, or 0 */
static int none(const void *object)
{
	return object ? 0 : errno;
}

static bool modify_fails(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = step_attr(e, state == IBV_QPS_RTR ? e : NULL, state);

	return fails(ibv_modify_qp(e->qp, &attr, step_mask(e, state)));
}

static void poll_all(struct end *e)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(e->scq, 1, &wc) > 0 || ibv_poll_cq(e->rcq, 1, &wc) > 0)
		SAME(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_FATAL_ERR ||
		     wc.status == IBV_WC_WR_FLUSH_ERR, true);
}

/* messages of the QP to itself, until one cannot be posted */
static void post_until_it_fails(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, 3000, e->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	}, *bad_send;
	int i, error = 0;

	for (i = 0; i < 50 && error != EIO; i++) {
		error = ibv_post_recv(e->qp, &recv, &bad_recv);
		if (!error)
			error = ibv_post_send(e->qp, &send, &bad_send);
		/* a queue that is full */
		if (error != ENOMEM)
			fails(error);
		poll_all(e);
	}
}

/* a QP that is made, connected with itself, used, and destroyed, over and over */
static void *qp_lives(void *arg)
{
	struct end *e = arg;
	struct ibv_qp_init_attr init = {
		.send_cq = e->scq, .recv_cq = e->rcq, .qp_type = IBV_QPT_RC,
		.cap = { 8, 8, 1, 1, 0 },
	};

	while (!races_end) {
		e->qp = ibv_create_qp(pd, &init);
		if (fails(none(e->qp)))
			continue;
		if (!modify_fails(e, IBV_QPS_INIT) && !modify_fails(e, IBV_QPS_RTR) &&
		    !modify_fails(e, IBV_QPS_RTS))
			post_until_it_fails(e);
		/* these two always work */
		to_state(e, IBV_QPS_ERR);
		poll_all(e);
		SAME(ibv_destroy_qp(e->qp), 0);
	}
	return NULL;
}

/* what is no QP */
static void *objects_live(void *arg)
{
	struct end *e = arg;
	struct ibv_context *other;
	struct ibv_ah_attr av;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_ah *ah;

	av_to(&av, gid4, gid4);
	while (!races_end) {
		cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
		if (!fails(none(cq)))
			SAME(ibv_destroy_cq(cq), 0);
		mr = ibv_reg_mr(pd, e->buf, 100, 0);
		if (!fails(none(mr)))
			SAME(ibv_dereg_mr(mr), 0);
		ah = ibv_create_ah(pd, &av);
		if (!fails(none(ah)))
			SAME(ibv_destroy_ah(ah), 0);
		other = ibv_open_device(ctx->device);
		if (!fails(none(other)))
			SAME(ibv_close_device(other), 0);
	}
	return NULL;
}

/* the device fails and recovers while objects are made, used, changed and destroyed */
void fatal_races(void)
{
	void *(*const lives[])(void *) = { qp_lives, qp_lives, objects_live };
	struct end ends[ARRAY_SIZE(lives)];
	pthread_t threads[ARRAY_SIZE(lives)];
	int wire, i, rounds = repeat(20, 60);
	size_t j;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		races_end = false;
		for (j = 0; j < ARRAY_SIZE(lives); j++) {
			make(&ends[j], CONF(.timeout = 14));
			SAME(ibv_destroy_qp(ends[j].qp), 0);
			SAME(pthread_create(&threads[j], NULL, lives[j], &ends[j]), 0);
		}
		for (i = 0; i < rounds; i++) {
			rule("device fatal");
			sleep_ms(rand() % 4);
			rule("device recover");
			sleep_ms(rand() % 40);
		}
		races_end = true;
		for (j = 0; j < ARRAY_SIZE(lives); j++)
			SAME(pthread_join(threads[j], NULL), 0);
		expect_port(IBV_PORT_ACTIVE);
		make_pair(&a, &b, CONF());
		check_works(&a, &b);
		unmake_wire(&a, &b);
	}
}

/* a rule and a failed device: the rule stays; the commands say what is wrong with them */
void refused_fatals(void)
{
	refused("device", "a device is told fatal or recover");
	refused("device fatal now", "a device is told fatal or recover");
	refused("device off", "a device is told fatal or recover");
	refused_as("device recover", "the device has not failed", EALREADY);
}

/* the event of a work queue, which stays as it is; a QP is none */
void wq_fatal_event(void)
{
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1 };
	struct ibv_wq_attr attr = {
		.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY,
	};
	struct ibv_recv_wr recv = {}, *bad;
	char line[64];
	struct ibv_wq *wq;

	make_pair(&a, &b, CONF());
	snprintf(line, sizeof(line), "event WQ_FATAL qp=%u", a.qp->qp_num);
	refused_as(line, "no such QP here, or it has no such queue", ENOENT);
	refused("event WQ_FATAL", "the event needs qp=NUMBER");
	/* an InfiniBand device has no work queues */
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	init.pd = pd;
	init.cq = a.rcq;
	wq = ibv_create_wq(ctx, &init);
	CHECK(wq);
	snprintf(line, sizeof(line), "event WQ_FATAL qp=%u", wq->wq_num);
	refused(line, "the QP is in RESET or INIT");
	SAME(ibv_modify_wq(wq, &attr), 0);
	rule("event WQ_FATAL qp=%u", wq->wq_num);
	expect_event(IBV_EVENT_WQ_FATAL, wq);
	/* a post would fail in ERR, or be flushed */
	SAME(ibv_post_wq_recv(wq, &recv, &bad), 0);
	expect_no_wc(a.rcq);
	SAME(ibv_destroy_wq(wq), 0);
}

/* kernels from 7.0 on have the event */
void speed_event(void)
{
	struct utsname kernel;

	SAME(uname(&kernel), 0);
	if (atoi(kernel.release) < 7) {
		refused_as("event DEVICE_SPEED_CHANGE", "this kernel has no such event",
			   EOPNOTSUPP);
		return;
	}
	refused("event DEVICE_SPEED_CHANGE qp=5", "the event is one of the port");
	rule("event DEVICE_SPEED_CHANGE");
	expect_event(EVENT_SPEED_CHANGE, NULL);
}
