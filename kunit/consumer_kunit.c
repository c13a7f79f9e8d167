// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device, and what the kernel's consumers ask of it by way of the core: completions in
 * each context, draining, the end of a shared receive queue, groups, refusals.
 */
#include <kunit/test.h>
#include <linux/irq_work.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "device.h"

#define CONSUMER_NAME	"weft_kunit0"
#define CONSUMER_WRS	64
#define CONSUMER_LENGTH	64
#define CONSUMER_MEMORY	(CONSUMER_WRS * CONSUMER_LENGTH)
/* ms that are waited for what must happen, and for what must not */
#define CONSUMER_WAIT	20000
#define CONSUMER_QUIET	50
#define CONSUMER_NOBODY	-1

struct consumer_queue;

/* A work request: its number is its place. */
struct consumer_wr {
	struct ib_cqe		cqe;
	struct consumer_queue	*queue;
};

/**
 * struct consumer_queue - a send or receive queue, as its consumer sees it
 * @wr: what has been posted, in order
 * @thread: who polls if the CQ has no context of its own
 * @done: so many have completed
 * @flushed: of these with WR_FLUSH_ERR
 * @failed: of these with another error
 * @astray: of these out of order, or in the wrong context
 * @opcode: of the last completion
 */
struct consumer_queue {
	struct consumer_wr	wr[CONSUMER_WRS];
	struct task_struct	*thread;
	u32			done;
	u32			flushed;
	u32			failed;
	u32			astray;
	enum ib_wc_opcode	opcode;
};

/* A QP, its queues and its memory. */
struct consumer_end {
	struct ib_qp		*qp;
	struct ib_cq		*cq;
	/* of a handler of the test's own, if it has one */
	struct ib_cq		*send_cq;
	struct consumer_queue	send;
	struct consumer_queue	recv;
	u8			*memory;
	atomic_t		last_wqes;
};

struct consumer {
	struct ib_pd		*pd;
	struct ib_srq		*srq;
	struct consumer_end	end[2];
};

/* The device of the suite, and its GID of 127.0.0.1. */
static struct ib_device *consumer_dev;
static union ib_gid consumer_gid;
static u16 consumer_gid_index;

static void count_up(u32 *counter)
{
	/* what else a handler notes down is there when it is counted: see counted() */
	smp_store_release(counter, *counter + 1);
}

static u32 counted(const u32 *counter)
{
	/* pairs with count_up() */
	return smp_load_acquire(counter);
}

/*
 * ---- A device ----
 */

static bool consumer_find_gid(void)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(consumer_dev, &consumer_gid, IB_GID_TYPE_ROCE_UDP_ENCAP,
				     1, NULL);
	if (IS_ERR(attr))
		return false;
	consumer_gid_index = attr->index;
	rdma_put_gid_attr(attr);
	return true;
}

static int consumer_suite_init(struct kunit_suite *suite)
{
	struct net_device *lo = init_net.loopback_dev;
	int ret, ms;

	ret = weft_device_add(CONSUMER_NAME, lo);
	if (ret)
		return ret;
	consumer_dev = ib_device_get_by_netdev(lo, (enum rdma_driver_id)RDMA_DRIVER_WEFT);
	if (!consumer_dev)
		return -ENODEV;
	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), (struct in6_addr *)&consumer_gid);
	/* the core adds GIDs in its own time */
	for (ms = 0; ms < CONSUMER_WAIT; ms += 10) {
		if (consumer_find_gid())
			return 0;
		usleep_range(10000, 11000);
	}
	return -ETIMEDOUT;
}

static void consumer_suite_exit(struct kunit_suite *suite)
{
	if (consumer_dev)
		ib_unregister_device_and_put(consumer_dev);
	consumer_dev = NULL;
}

/*
 * ---- Two QPs ----
 */

static bool consumer_in_context(const struct ib_cq *cq, const struct consumer_queue *queue)
{
	switch (cq->poll_ctx) {
	case IB_POLL_DIRECT:
		return current == queue->thread && !in_interrupt();
	case IB_POLL_SOFTIRQ:
		return in_serving_softirq();
	default:
		return current->flags & PF_WQ_WORKER && !in_interrupt();
	}
}

static void consumer_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct consumer_wr *wr = container_of(wc->wr_cqe, struct consumer_wr, cqe);
	struct consumer_queue *queue = wr->queue;

	queue->flushed += wc->status == IB_WC_WR_FLUSH_ERR;
	queue->failed += wc->status != IB_WC_WR_FLUSH_ERR && wc->status != IB_WC_SUCCESS;
	queue->opcode = wc->opcode;
	queue->astray += wr != &queue->wr[queue->done] || !consumer_in_context(cq, queue);
	count_up(&queue->done);
}

static void consumer_event(struct ib_event *event, void *context)
{
	struct consumer_end *end = context;

	if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		atomic_inc(&end->last_wqes);
}

static void consumer_queue_init(struct consumer_queue *queue)
{
	u32 i;

	queue->thread = current;
	for (i = 0; i < CONSUMER_WRS; i++) {
		queue->wr[i].queue = queue;
		queue->wr[i].cqe.done = consumer_done;
	}
}

static struct consumer *consumer_create(struct kunit *test)
{
	struct consumer *consumer = kunit_kzalloc(test, sizeof(*consumer), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, consumer);
	test->priv = consumer;
	for (i = 0; i < 2; i++) {
		consumer->end[i].memory = kunit_kzalloc(test, CONSUMER_MEMORY, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, consumer->end[i].memory);
		consumer_queue_init(&consumer->end[i].send);
		consumer_queue_init(&consumer->end[i].recv);
	}
	consumer->pd = ib_alloc_pd(consumer_dev, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(consumer->pd));
	return consumer;
}

static struct ib_qp_init_attr consumer_qp_attr(struct consumer_end *end)
{
	/* one more than is posted, for who drains it */
	return (struct ib_qp_init_attr){
		.event_handler = consumer_event,
		.qp_context = end,
		.send_cq = end->send_cq ?: end->cq,
		.recv_cq = end->cq,
		.cap = {
			.max_send_wr = CONSUMER_WRS + 1,
			.max_recv_wr = CONSUMER_WRS + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IB_QPT_RC,
	};
}

static void consumer_make_qps(struct kunit *test, struct consumer *consumer)
{
	struct ib_qp_init_attr attr;
	struct consumer_end *end;

	for (end = consumer->end; end < consumer->end + 2; end++) {
		attr = consumer_qp_attr(end);
		/* the second one may have it */
		if (end != consumer->end)
			attr.srq = consumer->srq;
		end->qp = ib_create_qp(consumer->pd, &attr);
		KUNIT_ASSERT_FALSE(test, IS_ERR(end->qp));
	}
}

static void consumer_make_cqs(struct kunit *test, struct consumer *consumer,
			      enum ib_poll_context context)
{
	struct consumer_end *end;

	for (end = consumer->end; end < consumer->end + 2; end++) {
		end->cq = ib_alloc_cq(consumer_dev, NULL, 2 * CONSUMER_WRS + 2, 0, context);
		KUNIT_ASSERT_FALSE(test, IS_ERR(end->cq));
	}
}

static void consumer_free_end(struct consumer_end *end)
{
	if (!IS_ERR_OR_NULL(end->qp))
		ib_destroy_qp(end->qp);
	if (!IS_ERR_OR_NULL(end->send_cq))
		ib_destroy_cq(end->send_cq);
	if (!IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
}

static void consumer_exit(struct kunit *test)
{
	struct consumer *consumer = test->priv;

	if (!consumer)
		return;
	consumer_free_end(&consumer->end[0]);
	consumer_free_end(&consumer->end[1]);
	if (!IS_ERR_OR_NULL(consumer->srq))
		ib_destroy_srq(consumer->srq);
	if (!IS_ERR_OR_NULL(consumer->pd))
		ib_dealloc_pd(consumer->pd);
}

static int consumer_modify(struct ib_qp *qp, enum ib_qp_state state, u32 peer)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer,
		.timeout = 14,
		.retry_cnt = 7,
		/* for ever: who sends without a receive waits */
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.qp_access_flags = IB_ACCESS_REMOTE_ATOMIC,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
	};
	int mask = IB_QP_STATE;

	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, &consumer_gid, 0, consumer_gid_index, 64, 0);
	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	if (state == IB_QPS_RTR)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	if (state == IB_QPS_RTS)
		mask |= IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_MAX_QP_RD_ATOMIC;
	return ib_modify_qp(qp, &attr, mask);
}

static void consumer_connect(struct kunit *test, struct consumer *consumer)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct ib_qp *qp[2] = { consumer->end[0].qp, consumer->end[1].qp };
	u32 s, i;

	for (s = 0; s < ARRAY_SIZE(states); s++)
		for (i = 0; i < 2; i++)
			KUNIT_ASSERT_EQ(test, 0, consumer_modify(qp[i], states[s],
								 qp[!i]->qp_num));
}

static struct consumer *consumer_pair(struct kunit *test, enum ib_poll_context context)
{
	struct consumer *consumer = consumer_create(test);

	consumer_make_cqs(test, consumer, context);
	consumer_make_qps(test, consumer);
	consumer_connect(test, consumer);
	return consumer;
}

static struct ib_sge consumer_sge(const struct consumer_end *end, u32 i)
{
	return (struct ib_sge){
		.addr = ib_dma_map_single(consumer_dev, end->memory + i * CONSUMER_LENGTH,
					  CONSUMER_LENGTH, DMA_BIDIRECTIONAL),
		.length = CONSUMER_LENGTH,
		.lkey = end->qp->pd->local_dma_lkey,
	};
}

static int consumer_post_send(struct consumer_end *end, u32 i)
{
	struct ib_sge sge = consumer_sge(end, i);
	struct ib_send_wr wr = {
		.wr_cqe = &end->send.wr[i].cqe,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_send(end->qp, &wr, NULL);
}

static int consumer_post_recv(struct consumer_end *end, u32 i)
{
	struct ib_sge sge = consumer_sge(end, i);
	struct ib_recv_wr wr = {
		.wr_cqe = &end->recv.wr[i].cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(end->qp, &wr, NULL);
}

/* Until so many are done; of those that nobody polls for us, by us. */
static bool consumer_wait(struct consumer_end *end, const struct consumer_queue *queue, u32 num)
{
	int ms;

	for (ms = 0; ms < CONSUMER_WAIT; ms++) {
		if (end->cq->poll_ctx == IB_POLL_DIRECT)
			ib_process_cq_direct(end->cq, -1);
		if (counted(&queue->done) >= num)
			return true;
		usleep_range(1000, 1100);
	}
	return false;
}

static void consumer_expect(struct kunit *test, const struct consumer_queue *queue, u32 done,
			    u32 flushed)
{
	KUNIT_EXPECT_EQ(test, counted(&queue->done), done);
	KUNIT_EXPECT_EQ(test, queue->flushed, flushed);
	KUNIT_EXPECT_EQ(test, queue->failed, 0U);
	KUNIT_EXPECT_EQ(test, queue->astray, 0U);
}

/*
 * ---- Contexts ----
 */

struct consumer_context_row {
	const char		*name;
	enum ib_poll_context	context;
};

static const struct consumer_context_row consumer_context_rows[] = {
	{ "direct", IB_POLL_DIRECT },
	{ "softirq", IB_POLL_SOFTIRQ },
	{ "workqueue", IB_POLL_WORKQUEUE },
	{ "unbound workqueue", IB_POLL_UNBOUND_WORKQUEUE },
};

static void consumer_context_desc(const struct consumer_context_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(consumer_context, consumer_context_rows, consumer_context_desc);

/* Each completion once, in order, and where its CQ wants it. */
static void completes_in_context(struct kunit *test)
{
	const struct consumer_context_row *row = test->param_value;
	struct consumer *consumer = consumer_pair(test, row->context);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	u32 i;

	memset(a->memory, 0x5a, CONSUMER_MEMORY);
	for (i = 0; i < CONSUMER_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(b, i));
	for (i = 0; i < CONSUMER_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, i));
	KUNIT_EXPECT_TRUE(test, consumer_wait(a, &a->send, CONSUMER_WRS));
	KUNIT_EXPECT_TRUE(test, consumer_wait(b, &b->recv, CONSUMER_WRS));
	consumer_expect(test, &a->send, CONSUMER_WRS, 0);
	consumer_expect(test, &b->recv, CONSUMER_WRS, 0);
	KUNIT_EXPECT_MEMEQ(test, a->memory, b->memory, CONSUMER_MEMORY);
	ib_drain_qp(a->qp);
	ib_drain_qp(b->qp);
}

/*
 * What is outstanding, and cannot go on as the peer has no receives, is flushed before the
 * drain returns. It can be drained again, and nothing comes after it.
 */
static void drains_in_context(struct kunit *test)
{
	const struct consumer_context_row *row = test->param_value;
	struct consumer *consumer = consumer_pair(test, row->context);
	struct consumer_end *a = &consumer->end[0];
	u32 i;

	for (i = 0; i < CONSUMER_WRS; i++) {
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(a, i));
		KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, i));
	}
	ib_drain_qp(a->qp);
	consumer_expect(test, &a->send, CONSUMER_WRS, CONSUMER_WRS);
	consumer_expect(test, &a->recv, CONSUMER_WRS, CONSUMER_WRS);
	ib_drain_qp(a->qp);
	usleep_range(CONSUMER_QUIET * 1000, CONSUMER_QUIET * 1100);
	if (row->context == IB_POLL_DIRECT)
		ib_process_cq_direct(a->cq, -1);
	consumer_expect(test, &a->send, CONSUMER_WRS, CONSUMER_WRS);
	consumer_expect(test, &a->recv, CONSUMER_WRS, CONSUMER_WRS);
}

/**
 * struct consumer_chain - a QP whose completion handler posts the next send
 * @end: its
 * @hard: what is to happen in a hard interrupt
 * @posting: the CPU that is in ib_post_send() just now, without interrupts
 * @left: sends that the handler still posts
 * @calls: of the handler
 * @nested: those on the stack of ib_post_send()
 * @errors: posts that failed
 */
struct consumer_chain {
	struct consumer_end	*end;
	struct irq_work		hard;
	int			posting;
	u32			left;
	u32			calls;
	u32			nested;
	u32			errors;
};

/* Whatever runs on this CPU meanwhile is called by ib_post_send(). */
static void chain_post(struct consumer_chain *chain)
{
	unsigned long flags;
	int ret;

	local_irq_save(flags);
	WRITE_ONCE(chain->posting, raw_smp_processor_id());
	ret = consumer_post_send(chain->end, 0);
	WRITE_ONCE(chain->posting, CONSUMER_NOBODY);
	local_irq_restore(flags);
	chain->errors += ret != 0;
}

static void chain_handler(struct ib_cq *cq, void *context)
{
	struct consumer_chain *chain = context;
	struct ib_wc wc;

	chain->nested += READ_ONCE(chain->posting) == raw_smp_processor_id();
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	while (ib_poll_cq(cq, 1, &wc) > 0) {
		count_up(&chain->calls);
		if (!chain->left)
			continue;
		chain->left--;
		chain_post(chain);
	}
}

static void chain_begin(struct irq_work *work)
{
	chain_post(container_of(work, struct consumer_chain, hard));
}

/* One begins, and each completion posts the next one. */
static void chain_run(struct kunit *test, struct consumer_chain *chain)
{
	u32 ms;

	chain->calls = 0;
	chain->left = CONSUMER_WRS - 1;
	irq_work_queue(&chain->hard);
	for (ms = 0; ms < CONSUMER_WAIT && counted(&chain->calls) < CONSUMER_WRS; ms++)
		usleep_range(1000, 1100);
	KUNIT_EXPECT_EQ(test, chain->calls, (u32)CONSUMER_WRS);
	KUNIT_EXPECT_EQ(test, chain->nested, 0U);
	KUNIT_EXPECT_EQ(test, chain->errors, 0U);
}

static void chain_of_vector(struct kunit *test, u32 vector)
{
	struct ib_cq_init_attr attr = { .cqe = CONSUMER_WRS, .comp_vector = vector };
	struct consumer_chain *chain = kunit_kzalloc(test, sizeof(*chain), GFP_KERNEL);
	struct consumer *consumer = consumer_create(test);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, chain);
	chain->end = a;
	chain->posting = CONSUMER_NOBODY;
	init_irq_work(&chain->hard, chain_begin);
	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	a->send_cq = ib_create_cq(consumer_dev, chain_handler, NULL, chain, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a->send_cq));
	consumer_make_qps(test, consumer);
	consumer_connect(test, consumer);
	ib_req_notify_cq(a->send_cq, IB_CQ_NEXT_COMP);
	for (i = 0; i < CONSUMER_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(b, i));
	chain_run(test, chain);
	KUNIT_EXPECT_TRUE(test, consumer_wait(b, &b->recv, CONSUMER_WRS));
	/* what is posted in a state of error completes soonest */
	KUNIT_EXPECT_EQ(test, 0, consumer_modify(a->qp, IB_QPS_ERR, 0));
	chain_run(test, chain);
	irq_work_sync(&chain->hard);
	consumer_exit(test);
	test->priv = NULL;
}

/*
 * From hard interrupts, and from a handler of completions: the handler is never called by
 * ib_post_send(), on whichever CPU.
 */
static void handler_is_not_nested(struct kunit *test)
{
	u32 vector;

	for (vector = 0; vector < consumer_dev->num_comp_vectors; vector++)
		chain_of_vector(test, vector);
}

/*
 * ---- Shared receive queues ----
 */

static bool consumer_last_wqe(struct consumer_end *end, int num)
{
	int ms;

	for (ms = 0; ms < CONSUMER_WAIT; ms++) {
		if (atomic_read(&end->last_wqes) == num)
			return true;
		usleep_range(1000, 1100);
	}
	return false;
}

/* In the state of error once, whatever is done there, and again in the next one. */
static void last_wqe_is_told_once(struct kunit *test)
{
	struct ib_srq_init_attr attr = { .attr = { .max_wr = CONSUMER_WRS, .max_sge = 1 } };
	struct consumer *consumer = consumer_create(test);
	struct consumer_end *b = &consumer->end[1];
	int i;

	consumer->srq = ib_create_srq(consumer->pd, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(consumer->srq));
	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	consumer_make_qps(test, consumer);
	for (i = 1; i < 4; i++) {
		consumer_connect(test, consumer);
		KUNIT_EXPECT_EQ(test, atomic_read(&b->last_wqes), i - 1);
		KUNIT_EXPECT_EQ(test, 0, consumer_modify(b->qp, IB_QPS_ERR, 0));
		KUNIT_EXPECT_TRUE(test, consumer_last_wqe(b, i));
		KUNIT_EXPECT_EQ(test, 0, consumer_modify(b->qp, IB_QPS_ERR, 0));
		ib_drain_sq(b->qp);
		usleep_range(CONSUMER_QUIET * 1000, CONSUMER_QUIET * 1100);
		KUNIT_EXPECT_EQ(test, atomic_read(&b->last_wqes), i);
		KUNIT_ASSERT_EQ(test, 0, consumer_modify(b->qp, IB_QPS_RESET, 0));
		KUNIT_ASSERT_EQ(test, 0, consumer_modify(consumer->end[0].qp, IB_QPS_RESET, 0));
	}
}

/*
 * ---- Groups ----
 */

/* The core counts for itself, and the device as well, whoever asks it. */
static void attached_is_not_destroyed(struct kunit *test)
{
	struct consumer *consumer = consumer_create(test);
	struct consumer_end *a = &consumer->end[0];
	struct ib_qp_init_attr attr;
	union ib_gid group;

	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	attr = consumer_qp_attr(a);
	attr.qp_type = IB_QPT_UD;
	a->qp = ib_create_qp(consumer->pd, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a->qp));
	/* 239.1.1.7 */
	ipv6_addr_set_v4mapped(htonl(0xef010107), (struct in6_addr *)&group);
	KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(a->qp, &group, 0));
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(a->qp), -EBUSY);
	KUNIT_ASSERT_EQ(test, consumer_dev->ops.destroy_qp(a->qp, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(a->qp, &group, 0));
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(a->qp));
	a->qp = NULL;
}

/*
 * ---- Masked atomics ----
 */

/**
 * struct consumer_masked_row - a masked atomic, by the local link
 * @name: of the row
 * @wr: the request, but for where to
 * @before: word of the peer's
 * @after: likewise
 * @opcode: of the completion
 */
struct consumer_masked_row {
	const char		*name;
	struct ib_atomic_wr	wr;
	u64			before;
	u64			after;
	enum ib_wc_opcode	opcode;
};

#define CONSUMER_SWAP(...)							\
	{ .wr.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP, __VA_ARGS__ }
#define CONSUMER_ADD(...)							\
	{ .wr.opcode = IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, __VA_ARGS__ }

static const struct consumer_masked_row consumer_masked_rows[] = {
	{ "swap", CONSUMER_SWAP(.compare_add = 0x1134, .compare_add_mask = 0xf0ff,
				.swap = U64_MAX, .swap_mask = 0xff0000),
	  0x1234, 0xff1234, IB_WC_MASKED_COMP_SWAP },
	{ "no swap", CONSUMER_SWAP(.compare_add = 0x1134, .compare_add_mask = 0xff00,
				   .swap = U64_MAX, .swap_mask = 0xff0000),
	  0x1234, 0x1234, IB_WC_MASKED_COMP_SWAP },
	{ "add to one field", CONSUMER_ADD(.compare_add = 3), U64_MAX, 2, IB_WC_MASKED_FETCH_ADD },
	{ "add to two fields", CONSUMER_ADD(.compare_add = 0x0000000200000003ULL,
					    .compare_add_mask = 0x8000000080000000ULL),
	  0xffffffffffffffffULL, 0x0000000100000002ULL, IB_WC_MASKED_FETCH_ADD },
};

static void consumer_masked_desc(const struct consumer_masked_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(consumer_masked, consumer_masked_rows, consumer_masked_desc);

static int consumer_post_atomic(struct consumer_end *end, const struct ib_atomic_wr *like,
				u64 remote_addr, u32 rkey)
{
	struct ib_sge sge = consumer_sge(end, 0);
	struct ib_atomic_wr wr = *like;

	sge.length = sizeof(u64);
	wr.wr.wr_cqe = &end->send.wr[0].cqe;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	wr.wr.sg_list = &sge;
	wr.wr.num_sge = 1;
	wr.remote_addr = remote_addr;
	wr.rkey = rkey;
	return ib_post_send(end->qp, &wr.wr, NULL);
}

static void masked_atomics(struct kunit *test)
{
	const struct consumer_masked_row *row = test->param_value;
	struct consumer *consumer = consumer_pair(test, IB_POLL_WORKQUEUE);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	u64 *word = (u64 *)b->memory;
	struct ib_mr *mr;

	*word = row->before;
	mr = consumer_dev->ops.get_dma_mr(consumer->pd,
					  IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_EQ(test, 0, consumer_post_atomic(a, &row->wr, (uintptr_t)word, mr->rkey));
	KUNIT_EXPECT_TRUE(test, consumer_wait(a, &a->send, 1));
	consumer_expect(test, &a->send, 1, 0);
	KUNIT_EXPECT_EQ(test, a->send.opcode, row->opcode);
	KUNIT_EXPECT_EQ(test, *(u64 *)a->memory, row->before);
	KUNIT_EXPECT_EQ(test, *word, row->after);
	KUNIT_EXPECT_EQ(test, 0, consumer_dev->ops.dereg_mr(mr, NULL));
}

static void masked_atomics_are_told(struct kunit *test)
{
	const struct ib_device_attr *attr = &consumer_dev->attrs;

	KUNIT_EXPECT_EQ(test, attr->atomic_cap, IB_ATOMIC_GLOB);
	KUNIT_EXPECT_EQ(test, attr->masked_atomic_cap, IB_ATOMIC_GLOB);
}

/*
 * ---- Refusals ----
 */

static void what_is_not_there_is_not_told(struct kunit *test)
{
	const struct ib_device_attr *attr = &consumer_dev->attrs;

	KUNIT_EXPECT_FALSE(test, attr->kernel_cap_flags & IBK_INTEGRITY_HANDOVER);
	KUNIT_EXPECT_EQ(test, attr->sig_prot_cap, 0);
	KUNIT_EXPECT_EQ(test, attr->sig_guard_cap, 0);
	/* addresses are those of the CPU */
	KUNIT_EXPECT_NULL(test, consumer_dev->dma_device);
}

static void refused_objects(struct kunit *test)
{
	static const u32 flags[] = {
		IB_QP_CREATE_INTEGRITY_EN, IB_QP_CREATE_NETIF_QP, IB_QP_CREATE_CROSS_CHANNEL,
		IB_QP_CREATE_MANAGED_SEND, IB_QP_CREATE_MANAGED_RECV, IB_QP_CREATE_IPOIB_UD_LSO,
	};
	struct consumer *consumer = consumer_create(test);
	struct ib_qp_init_attr attr;
	u32 i;

	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		attr = consumer_qp_attr(&consumer->end[0]);
		attr.create_flags = flags[i];
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(ib_create_qp(consumer->pd, &attr)),
				    -EOPNOTSUPP, "flags %#x", flags[i]);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_alloc_mr_integrity(consumer->pd, 8, 8)), -EOPNOTSUPP);
}

struct consumer_opcode_row {
	const char	*name;
	u32		opcode;
};

static const struct consumer_opcode_row consumer_opcode_rows[] = {
	{ "integrity", IB_WR_REG_MR_INTEGRITY },
	{ "READ with invalidate", IB_WR_RDMA_READ_WITH_INV },
	{ "LSO", IB_WR_LSO },
	{ "none", 0x7f },
};

static void consumer_opcode_desc(const struct consumer_opcode_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(consumer_opcode, consumer_opcode_rows, consumer_opcode_desc);

/* Between two that are good: the first one is done, and the last one not begun. */
static void refused_requests(struct kunit *test)
{
	const struct consumer_opcode_row *row = test->param_value;
	struct consumer *consumer = consumer_pair(test, IB_POLL_WORKQUEUE);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	/* as long as the longest kind of request */
	union { struct ib_send_wr wr; u8 all[256]; } bad = { .wr.opcode = row->opcode };
	struct ib_send_wr last = { .wr_cqe = &a->send.wr[1].cqe, .opcode = IB_WR_SEND };
	struct ib_send_wr first = { .wr_cqe = &a->send.wr[0].cqe, .opcode = IB_WR_SEND };
	const struct ib_send_wr *culprit = NULL;
	u32 i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(b, i));
	first.send_flags = IB_SEND_SIGNALED;
	first.next = &bad.wr;
	bad.wr.next = &last;
	KUNIT_EXPECT_EQ(test, ib_post_send(a->qp, &first, &culprit), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, culprit, (const struct ib_send_wr *)&bad.wr);
	KUNIT_EXPECT_TRUE(test, consumer_wait(a, &a->send, 1));
	KUNIT_EXPECT_EQ(test, 0, consumer_post_send(a, 1));
	KUNIT_EXPECT_TRUE(test, consumer_wait(b, &b->recv, 2));
	usleep_range(CONSUMER_QUIET * 1000, CONSUMER_QUIET * 1100);
	consumer_expect(test, &a->send, 2, 0);
	consumer_expect(test, &b->recv, 2, 0);
	ib_drain_qp(b->qp);
}

static struct kunit_case consumer_cases[] = {
	KUNIT_CASE_PARAM(completes_in_context, consumer_context_gen_params),
	KUNIT_CASE_PARAM(drains_in_context, consumer_context_gen_params),
	KUNIT_CASE(handler_is_not_nested),
	KUNIT_CASE(last_wqe_is_told_once),
	KUNIT_CASE(attached_is_not_destroyed),
	KUNIT_CASE_PARAM(masked_atomics, consumer_masked_gen_params),
	KUNIT_CASE(masked_atomics_are_told),
	KUNIT_CASE(what_is_not_there_is_not_told),
	KUNIT_CASE(refused_objects),
	KUNIT_CASE_PARAM(refused_requests, consumer_opcode_gen_params),
	{}
};

static struct kunit_suite consumer_suite = {
	.name = "weft_consumer",
	.suite_init = consumer_suite_init,
	.suite_exit = consumer_suite_exit,
	.exit = consumer_exit,
	.test_cases = consumer_cases,
};

kunit_test_suite(consumer_suite);
