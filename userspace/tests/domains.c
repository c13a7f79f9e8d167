// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parent domains and thread domains: what is made in them works, and they stay until it
 * is gone. Queues are the kernel's memory, so allocators have nothing to allocate.
 */
#include "lib.h"

static struct end a, b;
static int called;

static void *no_alloc(struct ibv_pd *parent, void *context, size_t size, size_t alignment,
		      uint64_t type)
{
	called++;
	return NULL;
}

static void no_free(struct ibv_pd *parent, void *context, void *p, uint64_t type)
{
	called++;
}

static struct ibv_td *make_td(void)
{
	struct ibv_td_init_attr attr = {};
	struct ibv_td *td = ibv_alloc_td(ctx, &attr);

	CHECK(td);
	return td;
}

/* with allocators that have nothing */
static struct ibv_pd *make_parent(struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.td = td,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = no_alloc,
		.free = no_free,
		.pd_context = &called,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &attr);

	CHECK(parent);
	return parent;
}

static void is_used(struct ibv_pd *domain)
{
	REFUSED(ibv_dealloc_pd(domain), EBUSY);
}

/* Each of the three keeps the domain, which cannot be taken from below what is in it. */
static void kept(void)
{
	struct ibv_pd *domain = make_parent(NULL);
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = domain,
	};
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;

	note("a CQ");
	cq = ibv_create_cq_ex(ctx, &attr);
	CHECK(cq);
	is_used(domain);
	note("an SRQ");
	srq = ibv_create_srq(domain, &srq_attr);
	CHECK(srq);
	qp = ibv_create_qp(domain, &(struct ibv_qp_init_attr){
		.send_cq = ibv_cq_ex_to_cq(cq), .recv_cq = ibv_cq_ex_to_cq(cq), .srq = srq,
		.qp_type = IBV_QPT_RC, .cap = { 4, 0, 1, 0, 0 },
	});
	CHECK(qp);
	SAME(ibv_destroy_qp(qp), 0);
	is_used(domain);
	SAME(ibv_destroy_srq(srq), 0);
	is_used(domain);
	SAME(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	note("a QP of other queues");
	cq = ibv_create_cq_ex(ctx, &(struct ibv_cq_init_attr_ex){ .cqe = 4 });
	CHECK(cq);
	qp = ibv_create_qp(domain, &(struct ibv_qp_init_attr){
		.send_cq = ibv_cq_ex_to_cq(cq), .recv_cq = ibv_cq_ex_to_cq(cq),
		.qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 },
	});
	CHECK(qp);
	is_used(domain);
	SAME(ibv_destroy_qp(qp), 0);
	SAME(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	SAME(ibv_dealloc_pd(domain), 0);
	SAME(ibv_dealloc_pd(pd), 0);
}

/* a CQ, an SRQ, two QPs and their memory: all of @domain, whose memory is that of pd */
static void exchange_in(struct ibv_pd *domain)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 64,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = domain,
	};
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_pd *plain = pd;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;

	make(&a, CONF());
	mr = a.mr;
	pd = domain;
	cq = ibv_create_cq_ex(ctx, &attr);
	CHECK(cq);
	srq = ibv_create_srq(pd, &srq_attr);
	CHECK(srq);
	make(&b, CONF(.srq = srq));
	SAME(ibv_destroy_qp(a.qp), 0);
	SAME(ibv_destroy_cq(a.scq), 0);
	a.scq = ibv_cq_ex_to_cq(cq);
	a.qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
		.send_cq = a.scq, .recv_cq = a.rcq, .qp_type = IBV_QPT_RC,
		.cap = { 16, 16, 1, 1, 0 },
	});
	CHECK(a.qp);
	connect_ends(&a, &b);
	fill(a.buf, 1000, 1);
	post_srq(srq, &b, 1, 0, 1000);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 1000));
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 1);
	check_filled(b.buf, 1000, 1);
	/* a region of the one is good for the other: they are the same protection domain */
	post(&b, at_key(swr(&b, 3, IBV_WR_RDMA_WRITE, 0, 1000), mr->rkey,
			(uintptr_t)a.buf + 5000));
	expect_ok(b.scq, 3);
	check_filled(a.buf + 5000, 1000, 1);
	unmake(&a);
	unmake(&b);
	SAME(ibv_destroy_srq(srq), 0);
	pd = plain;
}

static void parent(void)
{
	struct ibv_pd *domain = make_parent(NULL);

	exchange_in(domain);
	SAME(called, 0);
	/* the one within it stays */
	REFUSED(ibv_dealloc_pd(pd), EBUSY);
	SAME(ibv_dealloc_pd(domain), 0);
	SAME(ibv_dealloc_pd(pd), 0);
}

static void thread(void)
{
	struct ibv_td *td = make_td();
	struct ibv_pd *first = make_parent(td), *second = make_parent(td);

	exchange_in(first);
	exchange_in(second);
	SAME(called, 0);
	REFUSED(ibv_dealloc_td(td), EBUSY);
	SAME(ibv_dealloc_pd(first), 0);
	REFUSED(ibv_dealloc_td(td), EBUSY);
	SAME(ibv_dealloc_pd(second), 0);
	SAME(ibv_dealloc_td(td), 0);
}

static void refused(void)
{
	struct ibv_td_init_attr td_attr = { .comp_mask = 1 };
	struct ibv_parent_domain_init_attr attr = {};
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 16, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = pd,
	};

	REFUSED(ibv_alloc_td(ctx, &td_attr), EINVAL);
	note("no protection domain");
	REFUSED(ibv_alloc_parent_domain(ctx, &attr), EINVAL);
	note("unknown bit");
	attr.pd = pd;
	attr.comp_mask = 1 << 20;
	REFUSED(ibv_alloc_parent_domain(ctx, &attr), EINVAL);
	note("a CQ of what is no parent domain");
	REFUSED(ibv_create_cq_ex(ctx, &cq_attr), EINVAL);
	/* nothing of that counts as a user */
	SAME(ibv_dealloc_pd(pd), 0);
}

TESTS(
	TEST(parent), TEST(thread), TEST(kept), TEST(refused)
)
