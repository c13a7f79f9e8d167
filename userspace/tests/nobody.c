// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An address of the link's network that nobody has, which ends in 99. The core looks for it
 * for one second.
 */
#include "lib.h"

static struct ibv_ah_attr nobody(int gid)
{
	struct ibv_ah_attr av;

	av_to(&av, gid, gid);
	av.grh.dgid.raw[15] = 99;
	return av;
}

static void asked(int gid)
{
	struct ibv_ah_attr av = nobody(gid);

	REFUSED(ibv_create_ah(pd, &av), ETIMEDOUT);
}

static void connected(int gid)
{
	struct ibv_qp_attr attr;
	struct end a, b;

	make(&a, CONF(.gid = gid));
	make(&b, CONF(.gid = gid));
	to_init(&a);
	attr = step_attr(&a, &b, IBV_QPS_RTR);
	attr.ah_attr = nobody(gid);
	SAME(ibv_modify_qp(a.qp, &attr, step_mask(&a, IBV_QPS_RTR)), ETIMEDOUT);
	/* it is as it was, and as good */
	SAME(state_of(&a), IBV_QPS_INIT);
	connect_ends(&a, &b);
	check_works(&a, &b);
}

static void ah_v4(void)
{
	asked(gid4);
}

static void ah_v6(void)
{
	asked(gid6);
}

static void qp_v4(void)
{
	connected(gid4);
}

static void qp_v6(void)
{
	connected(gid6);
}

TESTS(TEST(ah_v4), TEST(ah_v6), TEST(qp_v4), TEST(qp_v6))
