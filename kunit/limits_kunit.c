// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * object/count.h: the device allows as many objects as it reports, and not one more. The test
 * sets the counters instead of creating most of the objects, as no guest has the memory for them.
 */
#include <kunit/test.h>
#include <linux/netdevice.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "device.h"
#include "object/dev.h"
#include "object/mw.h"

#define LIMITS_NAME	"weft_kunit1"

static struct ib_device *limits_dev;

static int limits_suite_init(struct kunit_suite *suite)
{
	struct net_device *lo = init_net.loopback_dev;
	int ret = weft_device_add(LIMITS_NAME, lo);

	if (ret)
		return ret;
	limits_dev = ib_device_get_by_netdev(lo, (enum rdma_driver_id)RDMA_DRIVER_WEFT);
	return limits_dev ? 0 : -ENODEV;
}

static void limits_suite_exit(struct kunit_suite *suite)
{
	if (limits_dev)
		ib_unregister_device_and_put(limits_dev);
	limits_dev = NULL;
}

/* A counter of the device that is set so that one more object may be created. */
struct limits_count {
	atomic_t	*num;
	int		before;		/* the counter's true value */
};

static struct limits_count limits_leave_one(atomic_t *num, int max)
{
	struct limits_count count = { .num = num, .before = atomic_read(num) };

	atomic_set(num, max - 1);
	return count;
}

/* Refused objects and destroyed objects are not counted. */
static void limits_end(struct kunit *test, const struct limits_count *count, int max)
{
	KUNIT_EXPECT_EQ(test, atomic_read(count->num), max - 1);
	atomic_set(count->num, count->before);
}

static struct ib_pd *limits_pd(struct kunit *test)
{
	struct ib_pd *pd = ib_alloc_pd(limits_dev, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR(pd));
	return pd;
}

static struct ib_cq *limits_create_cq(void)
{
	const struct ib_cq_init_attr attr = { .cqe = 1 };

	return ib_create_cq(limits_dev, NULL, NULL, NULL, &attr);
}

static void one_cq_more(struct kunit *test)
{
	int max = limits_dev->attrs.max_cq;
	struct limits_count count = limits_leave_one(&to_weft_dev(limits_dev)->num_cq, max);
	struct ib_cq *cq = limits_create_cq();

	KUNIT_EXPECT_FALSE(test, IS_ERR(cq));
	KUNIT_EXPECT_EQ(test, PTR_ERR(limits_create_cq()), -ENOMEM);
	if (!IS_ERR(cq))
		ib_destroy_cq(cq);
	limits_end(test, &count, max);
}

static struct ib_qp *limits_create_qp(struct ib_pd *pd, struct ib_cq *cq)
{
	struct ib_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IB_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ib_create_qp(pd, &attr);
}

static void one_qp_more(struct kunit *test)
{
	int max = limits_dev->attrs.max_qp;
	struct limits_count count;
	struct ib_pd *pd = limits_pd(test);
	struct ib_cq *cq = limits_create_cq();
	struct ib_qp *qp;

	KUNIT_ASSERT_FALSE(test, IS_ERR(cq));
	count = limits_leave_one(&to_weft_dev(limits_dev)->num_qp, max);
	qp = limits_create_qp(pd, cq);
	KUNIT_EXPECT_FALSE(test, IS_ERR(qp));
	KUNIT_EXPECT_EQ(test, PTR_ERR(limits_create_qp(pd, cq)), -ENOMEM);
	if (!IS_ERR(qp))
		ib_destroy_qp(qp);
	limits_end(test, &count, max);
	ib_destroy_cq(cq);
	ib_dealloc_pd(pd);
}

static struct ib_srq *limits_create_srq(struct ib_pd *pd)
{
	struct ib_srq_init_attr attr = {
		.srq_type = IB_SRQT_BASIC, .attr = { .max_wr = 1, .max_sge = 1 },
	};

	return ib_create_srq(pd, &attr);
}

static void one_srq_more(struct kunit *test)
{
	int max = limits_dev->attrs.max_srq;
	struct limits_count count = limits_leave_one(&to_weft_dev(limits_dev)->num_srq, max);
	struct ib_pd *pd = limits_pd(test);
	struct ib_srq *srq = limits_create_srq(pd);

	KUNIT_EXPECT_FALSE(test, IS_ERR(srq));
	KUNIT_EXPECT_EQ(test, PTR_ERR(limits_create_srq(pd)), -ENOMEM);
	if (!IS_ERR(srq))
		ib_destroy_srq(srq);
	limits_end(test, &count, max);
	ib_dealloc_pd(pd);
}

static void one_mr_more(struct kunit *test)
{
	int max = limits_dev->attrs.max_mr;
	struct ib_pd *pd = limits_pd(test);
	struct limits_count count = limits_leave_one(&to_weft_dev(limits_dev)->num_mr, max);
	struct ib_mr *mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1);

	KUNIT_EXPECT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1)), -ENOMEM);
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	limits_end(test, &count, max);
	ib_dealloc_pd(pd);
}

/* Only processes have memory windows, so the core has no function to allocate one. */
static void one_mw_more(struct kunit *test)
{
	int max = limits_dev->attrs.max_mw;
	struct ib_pd *pd = limits_pd(test);
	struct weft_mw first = {
		.ib_mw = { .device = limits_dev, .pd = pd, .type = IB_MW_TYPE_2 },
	};
	struct weft_mw more = first;
	struct limits_count count = limits_leave_one(&to_weft_dev(limits_dev)->num_mw, max);
	int ret = weft_alloc_mw(&first.ib_mw, NULL);

	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, weft_alloc_mw(&more.ib_mw, NULL), -ENOMEM);
	if (!ret)
		weft_dealloc_mw(&first.ib_mw);
	limits_end(test, &count, max);
	ib_dealloc_pd(pd);
}

static struct kunit_case limits_cases[] = {
	KUNIT_CASE(one_cq_more),
	KUNIT_CASE(one_qp_more),
	KUNIT_CASE(one_srq_more),
	KUNIT_CASE(one_mr_more),
	KUNIT_CASE(one_mw_more),
	{}
};

static struct kunit_suite limits_suite = {
	.name = "weft_limits",
	.suite_init = limits_suite_init,
	.suite_exit = limits_suite_exit,
	.test_cases = limits_cases,
};

kunit_test_suite(limits_suite);
