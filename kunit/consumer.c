// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "consumer.h"

#include <linux/netdevice.h>
#include <linux/sched.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include <rdma/weft-abi.h>

#include "device.h"

#define CONSUMER_NAME	"weft_kunit0"

/* The device of the suite, and its GID of 127.0.0.1. */
struct ib_device *consumer_dev;
static union ib_gid consumer_gid;
static u16 consumer_gid_index;

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

int consumer_suite_init(struct kunit_suite *suite)
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
	/* the core adds GIDs asynchronously */
	for (ms = 0; ms < CONSUMER_WAIT; ms += 10) {
		if (consumer_find_gid())
			return 0;
		usleep_range(10000, 11000);
	}
	return -ETIMEDOUT;
}

void consumer_suite_exit(struct kunit_suite *suite)
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
	queue->last = *wc;
	queue->astray += wr != &queue->wr[queue->done] || !consumer_in_context(cq, queue);
	consumer_count_up(&queue->done);
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

struct consumer *consumer_create(struct kunit *test)
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

struct ib_qp_init_attr consumer_qp_attr(struct consumer_end *end)
{
	/* one more than the tests post, for a drain */
	return (struct ib_qp_init_attr){
		.event_handler = consumer_event,
		.qp_context = end,
		.send_cq = end->send_cq ?: end->cq,
		.recv_cq = end->cq,
		.cap = {
			.max_send_wr = CONSUMER_WRS + 1,
			.max_recv_wr = CONSUMER_WRS + 1,
			.max_send_sge = end->sges ?: 1,
			.max_recv_sge = 1,
		},
		/* the work requests of ib_drain_*() have no IB_SEND_SIGNALED */
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.create_flags = end->create_flags,
	};
}

void consumer_make_qps(struct kunit *test, struct consumer *consumer)
{
	struct ib_qp_init_attr attr;
	struct consumer_end *end;

	for (end = consumer->end; end < consumer->end + 2; end++) {
		attr = consumer_qp_attr(end);
		/* only the second QP may use the SRQ */
		if (end != consumer->end)
			attr.srq = consumer->srq;
		end->qp = ib_create_qp(consumer->pd, &attr);
		KUNIT_ASSERT_FALSE(test, IS_ERR(end->qp));
	}
}

void consumer_make_cqs(struct kunit *test, struct consumer *consumer,
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

void consumer_exit(struct kunit *test)
{
	struct consumer *consumer = test->priv;

	if (!consumer)
		return;
	consumer_free_end(&consumer->end[0]);
	consumer_free_end(&consumer->end[1]);
	if (!IS_ERR_OR_NULL(consumer->mr))
		ib_dereg_mr(consumer->mr);
	if (!IS_ERR_OR_NULL(consumer->srq))
		ib_destroy_srq(consumer->srq);
	if (!IS_ERR_OR_NULL(consumer->pd))
		ib_dealloc_pd(consumer->pd);
}

int consumer_state_attr(struct ib_qp_attr *attr, enum ib_qp_state state, u32 peer)
{
	int mask = IB_QP_STATE;

	*attr = (struct ib_qp_attr){
		.qp_state = state,
		.port_num = 1,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer,
		.timeout = 14,
		.retry_cnt = 7,
		/* infinite, so a SEND without a receive waits */
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_ATOMIC,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
	};
	attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr->ah_attr, 1);
	rdma_ah_set_grh(&attr->ah_attr, &consumer_gid, 0, consumer_gid_index, 64, 0);
	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	if (state == IB_QPS_RTR)
		mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	if (state == IB_QPS_RTS)
		mask |= IB_QP_SQ_PSN | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			IB_QP_MAX_QP_RD_ATOMIC;
	return mask;
}

int consumer_modify(struct ib_qp *qp, enum ib_qp_state state, u32 peer)
{
	struct ib_qp_attr attr;
	int mask = consumer_state_attr(&attr, state, peer);

	return ib_modify_qp(qp, &attr, mask);
}

void consumer_connect(struct kunit *test, struct consumer *consumer, enum ib_qp_state last)
{
	struct ib_qp *qp[2] = { consumer->end[0].qp, consumer->end[1].qp };
	enum ib_qp_state state;
	u32 i;

	for (state = IB_QPS_INIT; state <= last; state++)
		for (i = 0; i < 2; i++)
			KUNIT_ASSERT_EQ(test, 0, consumer_modify(qp[i], state,
								 qp[!i]->qp_num));
}

struct consumer *consumer_pair(struct kunit *test, enum ib_poll_context context)
{
	struct consumer *consumer = consumer_create(test);

	consumer_make_cqs(test, consumer, context);
	consumer_make_qps(test, consumer);
	consumer_connect(test, consumer, IB_QPS_RTS);
	return consumer;
}

struct ib_sge consumer_sge(const struct consumer_end *end, u32 i)
{
	return (struct ib_sge){
		.addr = ib_dma_map_single(consumer_dev, end->memory + i * CONSUMER_LENGTH,
					  CONSUMER_LENGTH, DMA_BIDIRECTIONAL),
		.length = CONSUMER_LENGTH,
		.lkey = end->qp->pd->local_dma_lkey,
	};
}

int consumer_post_send(struct consumer_end *end, u32 i)
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

int consumer_post_recv(struct consumer_end *end, u32 i)
{
	struct ib_sge sge = consumer_sge(end, i);
	struct ib_recv_wr wr = {
		.wr_cqe = &end->recv.wr[i].cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(end->qp, &wr, NULL);
}

int consumer_post_rdma(struct consumer_end *end, u32 i, enum ib_wr_opcode opcode, u64 addr,
		       u32 rkey, u32 length)
{
	struct ib_sge sge = consumer_sge(end, 0);
	struct ib_rdma_wr wr = {
		.wr.wr_cqe = &end->send.wr[i].cqe,
		.wr.opcode = opcode,
		.wr.send_flags = IB_SEND_SIGNALED,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = addr,
		.rkey = rkey,
	};

	sge.length = length;
	return ib_post_send(end->qp, &wr.wr, NULL);
}

void consumer_quiet(void)
{
	usleep_range(CONSUMER_QUIET * 1000, CONSUMER_QUIET * 1100);
}

bool consumer_wait(struct consumer_end *end, const struct consumer_queue *queue, u32 num)
{
	int ms;

	for (ms = 0; ms < CONSUMER_WAIT; ms++) {
		if (end->cq->poll_ctx == IB_POLL_DIRECT)
			ib_process_cq_direct(end->cq, -1);
		if (consumer_counted(&queue->done) >= num)
			return true;
		usleep_range(1000, 1100);
	}
	return false;
}

void consumer_expect(struct kunit *test, const struct consumer_queue *queue, u32 done,
		     u32 flushed)
{
	KUNIT_EXPECT_EQ(test, consumer_counted(&queue->done), done);
	KUNIT_EXPECT_EQ(test, queue->flushed, flushed);
	KUNIT_EXPECT_EQ(test, queue->failed, 0U);
	KUNIT_EXPECT_EQ(test, queue->astray, 0U);
}

bool consumer_last_wqe(struct consumer_end *end, int num)
{
	int ms;

	for (ms = 0; ms < CONSUMER_WAIT; ms++) {
		if (atomic_read(&end->last_wqes) == num)
			return true;
		usleep_range(1000, 1100);
	}
	return false;
}
