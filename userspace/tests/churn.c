// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * churn N [unwatched]: create and destroy one of each kind of object N times, in several
 * states. The kernel must not have more memory in use afterwards, nor pages pinned; this is
 * not looked at where others use memory, too.
 */
#include "lib.h"
#include "usage.h"

static struct end a, b;

static void churn_qps(int i)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_send_wr *bad;
	struct conf conf = *CONF(.type = types[i % 3], .cqe = 16);

	make(&a, &conf);
	make(&b, &conf);
	if (conf.type == IBV_QPT_UD) {
		to_ready(&a);
		to_ready(&b);
	} else if (i % 5) {
		connect_ends(&a, &b);
		post_recv(&a, 1, 0, 100);
		post_recv(&b, 1, 0, 100);
		if (i % 2)
			post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
		if (i % 7 == 0) {
			/* one that waits when its QP is destroyed */
			ibv_post_send(b.qp, swr(&b, 3, IBV_WR_SEND, 0, 200), &bad);
			to_state(&a, IBV_QPS_ERR);
		}
	}
	if (i % 11 == 0)
		SAME(ibv_resize_cq(a.scq, 100), 0);
	unmake(&a);
	unmake(&b);
}

static void churn_others(int i)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 16, .max_sge = 2 } };
	struct ibv_srq_attr resize = { .max_wr = 64 };
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_attr);
	struct ibv_mw *mw = ibv_alloc_mw(pd, i % 2 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_ah *ah = ah_to(gid4, gid4);

	CHECK(srq && mw && channel && other);
	if (i % 4 == 0)
		SAME(ibv_modify_srq(srq, &resize, IBV_SRQ_MAX_WR), 0);
	SAME(ibv_destroy_ah(ah), 0);
	SAME(ibv_dealloc_pd(other), 0);
	SAME(ibv_destroy_comp_channel(channel), 0);
	SAME(ibv_dealloc_mw(mw), 0);
	SAME(ibv_destroy_srq(srq), 0);
}

/* a window that is still bound when it goes */
static void churn_bound(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mr *mr;

	make_pair(&a, &b, CONF());
	mr = ibv_reg_mr(pd, a.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(mw && mr);
	bind.bind_info = (struct ibv_mw_bind_info){ mr, (uintptr_t)a.buf, 100,
						    IBV_ACCESS_REMOTE_WRITE };
	SAME(ibv_bind_mw(a.qp, mw, &bind), 0);
	expect_ok(a.scq, 0);
	SAME(ibv_dealloc_mw(mw), 0);
	SAME(ibv_dereg_mr(mr), 0);
	unmake(&a);
	unmake(&b);
}

/* pages that are pinned for a message, and no longer */
static void churn_paged(void)
{
	struct ibv_mr *mr;

	make_pair(&a, &b, CONF());
	mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(mr);
	post(&a, at_key(swr(&a, 0, IBV_WR_RDMA_WRITE, 0, 10000), mr->rkey,
			(uintptr_t)b.buf));
	expect_ok(a.scq, 0);
	SAME(ibv_dereg_mr(mr), 0);
	unmake(&a);
	unmake(&b);
}

/* things that fail halfway */
static void churn_failures(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 33, 1, 0 } };
	void *p = memory(8192);

	munmap(p + 4096, 4096);
	CHECK(!ibv_reg_mr(pd, p, 8192, ACCESS_ALL));
	munmap(p, 4096);
	attr.send_cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	attr.recv_cq = attr.send_cq;
	CHECK(!ibv_create_qp(pd, &attr));
	SAME(ibv_destroy_cq(attr.send_cq), 0);
	CHECK(!ibv_create_cq(ctx, 1 << 30, NULL, NULL, 0));
}

static void churn(int num)
{
	int i;

	for (i = 0; i < num; i++) {
		note("cycle %d", i);
		churn_qps(i);
		churn_others(i);
		if (i % 10 == 0)
			churn_bound();
		if (i % 10 == 2)
			churn_paged();
		if (i % 10 == 5)
			churn_failures();
	}
	note(NULL);
}

int main(int argc, char **argv)
{
	int num = argc > 1 ? atoi(argv[1]) : 500;

	open_device();
	if (argc > 2) {
		churn(num);
		return 0;
	}
	/* caches fill, the cyclic numbers' trees grow */
	churn(num / 5 + 50);
	return !!usage_watch(churn, num);
}
