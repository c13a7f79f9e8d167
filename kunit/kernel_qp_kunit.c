// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * verbs/qp.h: what kernel consumers can create and post, and what is refused.
 */
#include <kunit/test.h>
#include <linux/skbuff.h>

#include "engine/rx.h"
#include "fake_link.h"
#include "object/hca.h"
#include "object/srq.h"
#include "verbs/qp.h"
#include "wire/operation.h"

/* An additional QP on a node of a fake link. */
struct kernel_qp {
	struct weft_ib_qp	ib;
	struct ib_qp_init_attr	init;		/* valid for UD */
};

static struct fake_link *kernel_link(struct kunit *test)
{
	struct fake_attr attr = {
		.type = IB_QPT_RC, .retry_cnt = 1, .max_rd_atomic = 1, .max_wr = 4,
	};

	return fake_link_create(test, &attr, 1);
}

static struct kernel_qp *kernel_prepare(struct kunit *test)
{
	struct kernel_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct fake_node *node = &kernel_link(test)->node[0];

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->ib.ibqp = (struct ib_qp){ .device = &node->dev.ibdev, .pd = &node->pd };
	qp->init = (struct ib_qp_init_attr){
		.send_cq = &node->send_cq.ibcq,
		.recv_cq = &node->recv_cq.ibcq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_UD,
		.port_num = 1,
	};
	return qp;
}

static int kernel_create(struct kernel_qp *qp)
{
	struct ib_qp_init_attr init = qp->init;

	return weft_create_qp(&qp->ib.ibqp, &init, NULL);
}

static void kernel_destroy(struct kunit *test, struct kernel_qp *qp)
{
	KUNIT_EXPECT_EQ(test, weft_destroy_qp(&qp->ib.ibqp, NULL), 0);
}

/* A source QPN may be set for UD only, and has 24 bits. The default is the QP's own number. */
static void source_qpn_of_the_kernel(struct kunit *test)
{
	struct kernel_qp *qp = kernel_prepare(test);

	qp->init.source_qpn = 0x123456;
	KUNIT_ASSERT_EQ(test, kernel_create(qp), 0);
	KUNIT_EXPECT_EQ(test, qp->ib.qp->src_qpn, qp->ib.qp->qpn);
	kernel_destroy(test, qp);

	qp->init.create_flags = IB_QP_CREATE_SOURCE_QPN;
	KUNIT_ASSERT_EQ(test, kernel_create(qp), 0);
	KUNIT_EXPECT_EQ(test, qp->ib.qp->src_qpn, 0x123456);
	KUNIT_EXPECT_NE(test, qp->ib.qp->qpn, 0x123456);
	kernel_destroy(test, qp);

	qp->init.source_qpn = 1 << 24;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EINVAL);
	qp->init.source_qpn = 7;
	qp->init.qp_type = IB_QPT_RC;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EOPNOTSUPP);
	qp->init.qp_type = IB_QPT_UC;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EOPNOTSUPP);
}

static void flags_refused(struct kunit *test)
{
	static const u32 flags[] = {
		IB_QP_CREATE_NETIF_QP, IB_QP_CREATE_CROSS_CHANNEL, IB_QP_CREATE_MANAGED_SEND,
		IB_QP_CREATE_MANAGED_RECV, IB_QP_CREATE_SCATTER_FCS,
		IB_QP_CREATE_CVLAN_STRIPPING,
		/* needs an InfiniBand port */
		IB_QP_CREATE_IPOIB_UD_LSO,
	};
	static const enum ib_qp_type types[] = { IB_QPT_UD, IB_QPT_RC, IB_QPT_UC };
	struct kernel_qp *qp = kernel_prepare(test);
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		for (j = 0; j < ARRAY_SIZE(types); j++) {
			qp->init.create_flags = flags[i];
			qp->init.qp_type = types[j];
			KUNIT_EXPECT_EQ_MSG(test, kernel_create(qp), -EOPNOTSUPP,
					    "flags %#x, type %d", flags[i], types[j]);
		}
}

static void types_refused(struct kunit *test)
{
	struct kernel_qp *qp = kernel_prepare(test);

	/* only InfiniBand ports have QP 0 */
	qp->init.qp_type = IB_QPT_SMI;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EOPNOTSUPP);
	qp->init.qp_type = IB_QPT_RAW_PACKET;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EOPNOTSUPP);
	/* kernel work requests have no field for the remote SRQ number */
	qp->init.qp_type = IB_QPT_XRC_INI;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EOPNOTSUPP);
	qp->init.qp_type = IB_QPT_GSI;
	qp->init.port_num = 2;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EINVAL);
}

/* no SRQ with tags: the kernel has no operations for them */
static void srqs_refused(struct kunit *test)
{
	struct kernel_qp *qp = kernel_prepare(test);
	struct weft_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct ib_srq_init_attr init = {
		.srq_type = IB_SRQT_TM,
		.attr = { .max_wr = 1, .max_sge = 1 },
		.ext = { .cq = qp->init.send_cq, .tag_matching.max_num_tags = 1 },
	};

	KUNIT_ASSERT_NOT_NULL(test, srq);
	srq->ibsrq.device = qp->ib.ibqp.device;
	srq->ibsrq.srq_type = init.srq_type;
	KUNIT_EXPECT_EQ(test, weft_create_srq(&srq->ibsrq, &init, NULL), -EOPNOTSUPP);
	/* no type at all */
	init.srq_type = 7;
	KUNIT_EXPECT_EQ(test, weft_create_srq(&srq->ibsrq, &init, NULL), -EOPNOTSUPP);
}

static void cqs_are_wanted(struct kunit *test)
{
	struct kernel_qp *qp = kernel_prepare(test);
	struct ib_qp_init_attr init = qp->init;

	qp->init.send_cq = NULL;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EINVAL);
	qp->init = init;
	qp->init.recv_cq = NULL;
	KUNIT_EXPECT_EQ(test, kernel_create(qp), -EINVAL);
	qp->init = init;
	KUNIT_ASSERT_EQ(test, kernel_create(qp), 0);
	kernel_destroy(test, qp);
}

static u32 packets_freed;

static void packet_freed(struct sk_buff *skb)
{
	packets_freed++;
}

static void kernel_deliver(struct kunit *test, struct weft_qp *qp, u8 operation)
{
	struct weft_pkt pkt = {
		.skb = alloc_skb(SZ_1K, GFP_KERNEL), .qp = qp, .dev = qp->dev,
		.hdr = { .opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, operation), .dqpn = qp->qpn },
	};

	KUNIT_ASSERT_NOT_NULL(test, pkt.skb);
	pkt.skb->destructor = packet_freed;
	local_bh_disable();
	rcu_read_lock();
	weft_rx_deliver(&pkt);
	rcu_read_unlock();
	local_bh_enable();
}

/* Packets are freed if the QP is destroyed between their lookup and their delivery. */
static void packets_after_the_end(struct kunit *test)
{
	struct kernel_qp *kernel = kernel_prepare(test);
	struct weft_qp *qp;

	kernel->init.qp_type = IB_QPT_RC;
	KUNIT_ASSERT_EQ(test, kernel_create(kernel), 0);
	qp = kernel->ib.qp;
	weft_qp_hold(qp);
	weft_qp_hold(qp);
	kernel_destroy(test, kernel);
	packets_freed = 0;
	kernel_deliver(test, qp, WEFT_OP_SEND_ONLY);
	kernel_deliver(test, qp, WEFT_OP_ACK);
	KUNIT_EXPECT_EQ(test, packets_freed, 2);
}

/* An iWARP operation. The work request posted before it is executed. */
static void read_with_inv_refused(struct kunit *test)
{
	struct fake_link *link = kernel_link(test);
	struct fake_node *node = &link->node[0];
	struct ib_rdma_wr read = {
		.wr.opcode = IB_WR_RDMA_READ_WITH_INV, .wr.send_flags = IB_SEND_SIGNALED,
		.remote_addr = fake_node_addr(&link->node[1], 0),
		.rkey = link->node[1].region->key,
	};
	struct ib_rdma_wr write = {
		.wr.opcode = IB_WR_RDMA_WRITE, .wr.send_flags = IB_SEND_SIGNALED,
		.wr.next = &read.wr, .remote_addr = read.remote_addr, .rkey = read.rkey,
	};
	const struct ib_send_wr *bad = NULL;
	struct ib_wc wc[2];

	KUNIT_EXPECT_EQ(test, weft_post_send(&node->ib_qp.ibqp, &write.wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&read.wr);
	fake_link_settle(link);
	KUNIT_EXPECT_EQ(test, weft_poll_cq(&node->send_cq.ibcq, 2, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc[0].opcode, IB_WC_RDMA_WRITE);
}

/*
 * In connected mode (RC), IPoIB may leave opcode and flags of its last UD datagram in the work
 * request. It is executed as a SEND.
 */
static void datagram_left_over(struct kunit *test)
{
	struct weft_hca *hca = kunit_kzalloc(test, sizeof(*hca), GFP_KERNEL);
	struct fake_link *link = kernel_link(test);
	struct fake_node *node = &link->node[0];
	struct ib_ud_wr send = {
		.wr.opcode = IB_WR_LSO, .wr.send_flags = IB_SEND_SIGNALED | IB_SEND_IP_CSUM,
		.hlen = 60, .mss = 2000,
	};
	struct ib_recv_wr recv = {};
	struct ib_wc wc[2];

	KUNIT_ASSERT_NOT_NULL(test, hca);
	KUNIT_EXPECT_EQ(test, weft_post_recv(&link->node[1].ib_qp.ibqp, &recv, NULL), 0);
	/* RoCE has no IPoIB, so such a request is refused */
	KUNIT_EXPECT_EQ(test, weft_post_send(&node->ib_qp.ibqp, &send.wr, NULL), -EINVAL);
	hca->port.pkeys[0] = WEFT_DEFAULT_PKEY;
	node->dev.hca = hca;
	KUNIT_EXPECT_EQ(test, weft_post_send(&node->ib_qp.ibqp, &send.wr, NULL), 0);
	fake_link_settle(link);
	node->dev.hca = NULL;
	KUNIT_EXPECT_EQ(test, weft_poll_cq(&node->send_cq.ibcq, 2, wc), 1);
	KUNIT_EXPECT_EQ(test, wc[0].status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc[0].opcode, IB_WC_SEND);
}

/* weft_qp_end() spares kernel QPs: the core tells their consumers, which drain them. */
static void end_spares_the_kernel(struct kunit *test)
{
	struct fake_node *node = &kernel_link(test)->node[0];

	weft_qp_end(node->qp);
	KUNIT_EXPECT_EQ(test, weft_qp_state(node->qp), IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, node->qp->fault, 0U);
}

static void kernel_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

static struct kunit_case kernel_qp_cases[] = {
	KUNIT_CASE(source_qpn_of_the_kernel),
	KUNIT_CASE(flags_refused),
	KUNIT_CASE(types_refused),
	KUNIT_CASE(srqs_refused),
	KUNIT_CASE(cqs_are_wanted),
	KUNIT_CASE(packets_after_the_end),
	KUNIT_CASE(read_with_inv_refused),
	KUNIT_CASE(datagram_left_over),
	KUNIT_CASE(end_spares_the_kernel),
	{}
};

static struct kunit_suite kernel_qp_suite = {
	.name = "weft_kernel_qp",
	.exit = kernel_exit,
	.test_cases = kernel_qp_cases,
};

kunit_test_suite(kernel_qp_suite);
