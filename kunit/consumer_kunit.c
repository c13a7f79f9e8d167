// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Kernel consumers that use a device through the RDMA core: completions in each context, drains,
 * multicast groups, refusals.
 */
#include <kunit/test.h>
#include <linux/irq_work.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "consumer.h"
#include "object/mr.h"
#include "params.h"

#define CONSUMER_NOBODY	-1

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

/* Each completion comes once, in order, and in the context of its CQ. */
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
 * The sends cannot complete, as the peer has no receives. All work requests are flushed before
 * the drain returns, and no completion comes later. The QP can be drained again.
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
	consumer_quiet();
	if (row->context == IB_POLL_DIRECT)
		ib_process_cq_direct(a->cq, -1);
	consumer_expect(test, &a->send, CONSUMER_WRS, CONSUMER_WRS);
	consumer_expect(test, &a->recv, CONSUMER_WRS, CONSUMER_WRS);
}

/* A CQ that is polled in a hard interrupt. */
struct consumer_hard {
	struct irq_work		work;
	struct ib_cq		*cq;
	u32			polled;		/* number of completions */
	u32			failed;		/* of these, without success */
};

static void hard_poll(struct irq_work *work)
{
	struct consumer_hard *hard = container_of(work, struct consumer_hard, work);
	struct ib_wc wc;

	while (ib_poll_cq(hard->cq, 1, &wc) > 0) {
		hard->failed += wc.status != IB_WC_SUCCESS;
		hard->polled++;
	}
}

static void polled_in_hard_interrupt(struct kunit *test)
{
	struct consumer *consumer = consumer_pair(test, IB_POLL_DIRECT);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	struct consumer_hard hard = { .cq = a->cq };
	u32 i, ms;

	init_irq_work(&hard.work, hard_poll);
	for (i = 0; i < CONSUMER_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(b, i));
	for (i = 0; i < CONSUMER_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, i));
	for (ms = 0; ms < CONSUMER_WAIT && hard.polled < CONSUMER_WRS; ms++) {
		irq_work_queue(&hard.work);
		irq_work_sync(&hard.work);
		usleep_range(1000, 1100);
	}
	KUNIT_EXPECT_EQ(test, hard.polled, (u32)CONSUMER_WRS);
	KUNIT_EXPECT_EQ(test, hard.failed, 0U);
}

/* A QP whose completion handler posts the next send. */
struct consumer_chain {
	struct consumer_end	*end;
	struct irq_work		hard;		/* posts the first send */
	int			posting;	/* CPU that is in ib_post_send(), interrupts off */
	u32			left;		/* sends that the handler still has to post */
	u32			calls;		/* completions that the handler has polled */
	u32			nested;		/* handler calls within ib_post_send() */
	int			cpu;		/* of the completion vector */
	u32			elsewhere;	/* handler calls on other CPUs */
	u32			errors;		/* failed posts */
};

/* Interrupts are off, so a handler that runs on this CPU meanwhile is called by ib_post_send(). */
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
	chain->elsewhere += raw_smp_processor_id() != chain->cpu;
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	while (ib_poll_cq(cq, 1, &wc) > 0) {
		consumer_count_up(&chain->calls);
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

/* A hard interrupt posts the first send, and each completion posts the next one. */
static void chain_run(struct kunit *test, struct consumer_chain *chain)
{
	u32 ms;

	chain->calls = 0;
	chain->left = CONSUMER_WRS - 1;
	irq_work_queue(&chain->hard);
	for (ms = 0; ms < CONSUMER_WAIT && consumer_counted(&chain->calls) < CONSUMER_WRS; ms++)
		usleep_range(1000, 1100);
	KUNIT_EXPECT_EQ(test, chain->calls, (u32)CONSUMER_WRS);
	KUNIT_EXPECT_EQ(test, chain->nested, 0U);
	KUNIT_EXPECT_EQ(test, chain->elsewhere, 0U);
	KUNIT_EXPECT_EQ(test, chain->errors, 0U);
}

/* @cpu: that of @vector, online */
static void chain_of_vector(struct kunit *test, u32 vector, int cpu)
{
	struct ib_cq_init_attr attr = { .cqe = CONSUMER_WRS, .comp_vector = vector };
	struct consumer_chain *chain = kunit_kzalloc(test, sizeof(*chain), GFP_KERNEL);
	struct consumer *consumer = consumer_create(test);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, chain);
	chain->end = a;
	chain->posting = CONSUMER_NOBODY;
	chain->cpu = cpu;
	init_irq_work(&chain->hard, chain_begin);
	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	a->send_cq = ib_create_cq(consumer_dev, chain_handler, NULL, chain, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(a->send_cq));
	consumer_make_qps(test, consumer);
	consumer_connect(test, consumer, IB_QPS_RTS);
	ib_req_notify_cq(a->send_cq, IB_CQ_NEXT_COMP);
	for (i = 0; i < CONSUMER_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(b, i));
	chain_run(test, chain);
	KUNIT_EXPECT_TRUE(test, consumer_wait(b, &b->recv, CONSUMER_WRS));
	/* in ERR, a send is flushed at once: its completion comes soonest */
	KUNIT_EXPECT_EQ(test, 0, consumer_modify(a->qp, IB_QPS_ERR, 0));
	chain_run(test, chain);
	irq_work_sync(&chain->hard);
	consumer_exit(test);
	test->priv = NULL;
}

/*
 * The completion handler runs on the CPU of its vector, and ib_post_send() never calls it, whether
 * the send is posted in a hard interrupt or by the handler.
 */
static void handler_is_not_nested(struct kunit *test)
{
	u32 vector = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (cpu_online(cpu))
			chain_of_vector(test, vector, cpu);
		vector++;
	}
}

/* A QP that gets an asynchronous event. */
struct consumer_told {
	struct task_struct	*posting;	/* task that is in ib_post_send() */
	u32			times;		/* calls of the event handler */
	u32			nested;		/* of these, within ib_post_send() */
};

static void told_handler(struct ib_event *event, void *context)
{
	struct consumer_told *told = context;

	if (event->event != IB_EVENT_COMM_EST)
		return;
	told->nested += READ_ONCE(told->posting) == current;
	consumer_count_up(&told->times);
}

/* ib_post_send() causes an event of the peer QP, but does not call the event handler. */
static void event_is_not_nested(struct kunit *test)
{
	struct consumer_told *told = kunit_kzalloc(test, sizeof(*told), GFP_KERNEL);
	struct consumer *consumer = consumer_create(test);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	u32 ms;

	KUNIT_ASSERT_NOT_NULL(test, told);
	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	consumer_make_qps(test, consumer);
	b->qp->event_handler = told_handler;
	b->qp->qp_context = told;
	consumer_connect(test, consumer, IB_QPS_RTR);
	KUNIT_ASSERT_EQ(test, 0, consumer_modify(a->qp, IB_QPS_RTS, b->qp->qp_num));
	KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(b, 0));
	WRITE_ONCE(told->posting, current);
	KUNIT_EXPECT_EQ(test, 0, consumer_post_send(a, 0));
	WRITE_ONCE(told->posting, NULL);
	KUNIT_EXPECT_TRUE(test, consumer_wait(b, &b->recv, 1));
	for (ms = 0; ms < CONSUMER_WAIT && !consumer_counted(&told->times); ms++)
		usleep_range(1000, 1100);
	consumer_quiet();
	KUNIT_EXPECT_EQ(test, told->times, 1U);
	KUNIT_EXPECT_EQ(test, told->nested, 0U);
	/* destroy the QPs before @told is freed */
	consumer_exit(test);
	test->priv = NULL;
}

/*
 * ---- Groups ----
 */

/* Both the core and the driver refuse to destroy a QP that is attached to a group. */
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
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_detach_mcast(a->qp, &group, 0));
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(a->qp));
	a->qp = NULL;
}

/*
 * ---- Masked atomics ----
 */

/* A masked atomic on the local link, and the remote word before and after it. */
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
	KUNIT_EXPECT_EQ(test, a->send.last.opcode, row->opcode);
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
	/* no DMA device: DMA addresses are kernel addresses */
	KUNIT_EXPECT_NULL(test, consumer_dev->dma_device);
}

static void refused_objects(struct kunit *test)
{
	static const u32 flags[] = {
		IB_QP_CREATE_NETIF_QP, IB_QP_CREATE_CROSS_CHANNEL, IB_QP_CREATE_MANAGED_SEND,
		IB_QP_CREATE_MANAGED_RECV, IB_QP_CREATE_IPOIB_UD_LSO,
	};
	const struct ib_cq_init_attr cq_attr = { .cqe = 1, .flags = BIT(2) };
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
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(ib_create_cq(consumer_dev, NULL, NULL, NULL, &cq_attr)));
	/* this thread has no memory of a process */
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(weft_reg_user_mr(consumer->pd, 0, PAGE_SIZE, 0,
						 IB_ACCESS_ON_DEMAND, NULL, NULL)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			consumer_dev->ops.advise_mr(consumer->pd,
						    IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0,
						    NULL));
}

struct consumer_opcode_row {
	const char	*name;
	u32		opcode;
};

static const struct consumer_opcode_row consumer_opcode_rows[] = {
	/* the QP has not been created for it */
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

/* A refused request between two valid ones: the first one is executed, the last one is not. */
static void refused_requests(struct kunit *test)
{
	const struct consumer_opcode_row *row = test->param_value;
	struct consumer *consumer = consumer_pair(test, IB_POLL_WORKQUEUE);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	/* as large as the largest kind of work request */
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
	consumer_quiet();
	consumer_expect(test, &a->send, 2, 0);
	consumer_expect(test, &b->recv, 2, 0);
	ib_drain_qp(b->qp);
}

#define CONSUMER_ALT_TIMEOUT	9

/* The alternate path is a copy of the QP's own, so it is valid. */
static void alternate_set(struct ib_qp_attr *attr)
{
	attr->alt_ah_attr = attr->ah_attr;
	attr->alt_port_num = 1;
	attr->alt_timeout = CONSUMER_ALT_TIMEOUT;
}

static void alternate_query(struct kunit *test, struct ib_qp *qp, struct ib_qp_attr *attr)
{
	struct ib_qp_init_attr init;

	memset(attr, 0, sizeof(*attr));
	KUNIT_ASSERT_EQ(test, 0, ib_query_qp(qp, attr, 0, &init));
}

/* Give an alternate path with a transition to @state, or (@alone) in @state without one. */
static void alternate_refused(struct kunit *test, struct ib_qp *qp, enum ib_qp_state state,
			      u32 peer, bool alone)
{
	struct ib_qp_attr attr, before, after;
	int mask = consumer_state_attr(&attr, state, peer);

	alternate_set(&attr);
	alternate_query(test, qp, &before);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			ib_modify_qp(qp, &attr, IB_QP_ALT_PATH | (alone ? 0 : mask)));
	alternate_query(test, qp, &after);
	KUNIT_EXPECT_MEMEQ(test, &after, &before, sizeof(before));
}

/* The same alternate path is accepted by the driver, if the core is bypassed. */
static void alternate_taken(struct kunit *test, struct ib_qp *qp, u32 peer)
{
	const struct ib_gid_attr *source;
	struct ib_qp_attr attr;

	consumer_state_attr(&attr, IB_QPS_RTS, peer);
	alternate_set(&attr);
	source = rdma_get_gid_attr(consumer_dev, 1, attr.ah_attr.grh.sgid_index);
	KUNIT_ASSERT_FALSE(test, IS_ERR(source));
	attr.alt_ah_attr.grh.sgid_attr = source;
	KUNIT_EXPECT_EQ(test, 0, consumer_dev->ops.modify_qp(qp, &attr, IB_QP_ALT_PATH, NULL));
	rdma_put_gid_attr(source);
	alternate_query(test, qp, &attr);
	KUNIT_EXPECT_EQ(test, (int)attr.alt_timeout, CONSUMER_ALT_TIMEOUT);
}

/* The core refuses alternate paths on RoCE in all states. */
static void alternate_path_is_refused(struct kunit *test)
{
	static const enum ib_qp_state states[] = { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS };
	struct consumer *consumer = consumer_create(test);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	u32 i;

	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	consumer_make_qps(test, consumer);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (i)
			alternate_refused(test, a->qp, states[i], b->qp->qp_num, false);
		KUNIT_ASSERT_EQ(test, 0, consumer_modify(a->qp, states[i], b->qp->qp_num));
		KUNIT_ASSERT_EQ(test, 0, consumer_modify(b->qp, states[i], a->qp->qp_num));
	}
	alternate_refused(test, a->qp, IB_QPS_RTS, b->qp->qp_num, true);
	KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(b, 0));
	KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, 0));
	KUNIT_EXPECT_TRUE(test, consumer_wait(a, &a->send, 1));
	KUNIT_EXPECT_TRUE(test, consumer_wait(b, &b->recv, 1));
	consumer_expect(test, &a->send, 1, 0);
	consumer_expect(test, &b->recv, 1, 0);
	alternate_taken(test, a->qp, b->qp->qp_num);
}

/* query_ah sets all of the attributes: the MAD layer passes uninitialized memory. */
static void address_handle_is_told(struct kunit *test)
{
	struct consumer *consumer = consumer_create(test);
	struct rdma_ah_attr found, want;
	struct ib_qp_attr path;
	struct ib_ah *ah;

	consumer_state_attr(&path, IB_QPS_RTR, 0);
	ah = rdma_create_ah(consumer->pd, &path.ah_attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ah));
	want = path.ah_attr;
	want.grh.sgid_attr = NULL;
	memset(&found, 0xff, sizeof(found));
	KUNIT_EXPECT_EQ(test, 0, consumer_dev->ops.query_ah(ah, &found));
	KUNIT_EXPECT_MEMEQ(test, &found, &want, sizeof(want));
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

static void address_handle_is_modified(struct kunit *test)
{
	struct consumer *consumer = consumer_create(test);
	struct rdma_ah_attr found = {};
	struct ib_qp_attr path;
	struct ib_ah *ah;

	consumer_state_attr(&path, IB_QPS_RTR, 0);
	ah = rdma_create_ah(consumer->pd, &path.ah_attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ah));
	rdma_ah_set_sl(&path.ah_attr, 5);
	KUNIT_EXPECT_EQ(test, 0, rdma_modify_ah(ah, &path.ah_attr));
	rdma_ah_set_sl(&path.ah_attr, 16);
	KUNIT_EXPECT_EQ(test, -EINVAL, rdma_modify_ah(ah, &path.ah_attr));
	/* the core lets neither of these through */
	rdma_ah_set_sl(&path.ah_attr, 6);
	path.ah_attr.grh.sgid_attr = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL, consumer_dev->ops.modify_ah(ah, &path.ah_attr));
	rdma_ah_set_ah_flags(&path.ah_attr, 0);
	KUNIT_EXPECT_EQ(test, -EINVAL, consumer_dev->ops.modify_ah(ah, &path.ah_attr));
	KUNIT_EXPECT_EQ(test, 0, consumer_dev->ops.query_ah(ah, &found));
	KUNIT_EXPECT_EQ(test, rdma_ah_get_sl(&found), 5);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

static void full_srq(struct kunit *test)
{
	struct ib_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	static struct ib_sge sge[WEFT_MAX_SGE + 1];
	struct consumer *consumer = consumer_create(test);
	struct ib_recv_wr wr = { .sg_list = sge };
	const struct ib_recv_wr *bad = NULL;
	struct ib_srq *srq = ib_create_srq(consumer->pd, &init);
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(srq));
	KUNIT_ASSERT_EQ(test, 0, ib_query_srq(srq, &init.attr));
	wr.num_sge = init.attr.max_sge + 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_post_srq_recv(srq, &wr, &bad));
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)&wr);
	wr.num_sge = 1;
	for (i = 0; i < init.attr.max_wr; i++)
		KUNIT_EXPECT_EQ(test, 0, ib_post_srq_recv(srq, &wr, NULL));
	/* a caller need not want to know which one */
	KUNIT_EXPECT_EQ(test, -ENOMEM, ib_post_srq_recv(srq, &wr, NULL));
	KUNIT_EXPECT_EQ(test, -ENOMEM, ib_post_srq_recv(srq, &wr, &bad));
	ib_destroy_srq(srq);
}

static struct kunit_case consumer_cases[] = {
	KUNIT_CASE_PARAM(completes_in_context, consumer_context_gen_params),
	KUNIT_CASE_PARAM(drains_in_context, consumer_context_gen_params),
	KUNIT_CASE(polled_in_hard_interrupt),
	KUNIT_CASE(handler_is_not_nested),
	KUNIT_CASE(event_is_not_nested),
	KUNIT_CASE(attached_is_not_destroyed),
	KUNIT_CASE_PARAM(masked_atomics, consumer_masked_gen_params),
	KUNIT_CASE(masked_atomics_are_told),
	KUNIT_CASE(what_is_not_there_is_not_told),
	KUNIT_CASE(refused_objects),
	KUNIT_CASE_PARAM(refused_requests, consumer_opcode_gen_params),
	KUNIT_CASE(alternate_path_is_refused),
	KUNIT_CASE(address_handle_is_told),
	KUNIT_CASE(address_handle_is_modified),
	KUNIT_CASE(full_srq),
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
