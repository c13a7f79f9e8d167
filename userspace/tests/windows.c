// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows and memory regions (IBA volume 1, 10.6.7).
 */
#include "lib.h"

static struct end a, b;
static struct ibv_mr *mr;	/* of b.buf, windows can be bound to it */

static void make_both(void)
{
	make_pair(&a, &b, CONF());
	mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(mr);
}

static struct ibv_mw *window(enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);

	CHECK(mw);
	SAME(mw->type, type);
	return mw;
}

/* access by @rkey from @a: does it work? Both are connected again after a no. */
static bool access_works(enum ibv_wr_opcode op, uint32_t rkey, uint64_t addr, int length)
{
	struct ibv_send_wr *wr = at(swr(&a, 500, op, 0, length), &b, 0);
	struct ibv_wc wc;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = rkey;
	} else {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
	}
	post(&a, wr);
	wc = next_wc(a.scq);
	SAME(wc.wr_id, 500);
	if (wc.status == IBV_WC_SUCCESS)
		return true;
	SAME(wc.status, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	return false;
}

#define ADDR(off)	((uintptr_t)b.buf + (off))

static bool can_write(uint32_t rkey, size_t off, int length)
{
	return access_works(IBV_WR_RDMA_WRITE, rkey, ADDR(off), length);
}

static struct ibv_mw_bind bind_of(struct ibv_mr *region, size_t off, size_t length, int access)
{
	struct ibv_mw_bind bind = {
		.wr_id = 600,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = region,
			.addr = ADDR(off),
			.length = length,
			.mw_access_flags = access,
		},
	};

	return bind;
}

static void bind_1(struct ibv_mw *mw, size_t off, size_t length, int access)
{
	struct ibv_mw_bind bind = bind_of(mr, off, length, access);

	SAME(ibv_bind_mw(b.qp, mw, &bind), 0);
	SAME(expect_ok(b.scq, 600).opcode, IBV_WC_BIND_MW);
}

static void bind_1_fails(struct ibv_mw *mw, struct ibv_mw_bind bind)
{
	uint32_t rkey = mw->rkey;

	SAME(ibv_bind_mw(b.qp, mw, &bind), 0);
	SAME(expect_wc(b.scq, 600, IBV_WC_MW_BIND_ERR).vendor_err, 7);
	expect_state(&b, IBV_QPS_ERR);
	mw->rkey = rkey;
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
}

static void type_1(void)
{
	struct ibv_mw *mw;
	uint32_t first, second;
	struct end c, d;

	make_both();
	mw = window(IBV_MW_TYPE_1);
	/* not bound: nothing */
	CHECK(!can_write(mw->rkey, 0, 8));
	first = mw->rkey;
	bind_1(mw, 1000, 100, IBV_ACCESS_REMOTE_WRITE);
	CHECK(mw->rkey != first);
	first = mw->rkey;
	/* the range, the right */
	CHECK(can_write(first, 1000, 100));
	CHECK(can_write(first, 1099, 1));
	CHECK(!can_write(first, 999, 1));
	CHECK(!can_write(first, 1001, 100));
	CHECK(!access_works(IBV_WR_RDMA_READ, first, ADDR(1000), 8));
	CHECK(!access_works(IBV_WR_ATOMIC_FETCH_AND_ADD, first, ADDR(1000), 8));
	/* any QP of the PD */
	make_pair(&c, &d, CONF());
	post(&c, ({ struct ibv_send_wr *wr = at(swr(&c, 1, IBV_WR_RDMA_WRITE, 0, 8), &d, 0);
		    wr->wr.rdma.rkey = first; wr->wr.rdma.remote_addr = ADDR(1000); wr; }));
	expect_ok(c.scq, 1);
	/* bound anew: the old key is void */
	bind_1(mw, 2000, 64, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	second = mw->rkey;
	CHECK(second != first);
	CHECK(!can_write(first, 1000, 8));
	CHECK(!can_write(first, 2000, 8));
	CHECK(!can_write(second, 2000, 8));
	CHECK(access_works(IBV_WR_RDMA_READ, second, ADDR(2000), 64));
	CHECK(access_works(IBV_WR_ATOMIC_FETCH_AND_ADD, second, ADDR(2056), 8));
	/* of no length: not bound */
	bind_1(mw, 0, 0, 0);
	CHECK(!access_works(IBV_WR_RDMA_READ, second, ADDR(2000), 8));
	CHECK(!access_works(IBV_WR_RDMA_READ, mw->rkey, ADDR(2000), 8));
	SAME(ibv_dealloc_mw(mw), 0);
	SAME(ibv_dereg_mr(mr), 0);
}

static void bind_refused(void)
{
	struct ibv_mr *no_bind, *no_write;
	struct ibv_mw *mw;

	make_both();
	mw = window(IBV_MW_TYPE_1);
	no_bind = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL);
	no_write = ibv_reg_mr(pd, b.buf, BUF, IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_READ);
	CHECK(no_bind && no_write);
	note("region without MW_BIND");
	bind_1_fails(mw, bind_of(no_bind, 0, 100, IBV_ACCESS_REMOTE_READ));
	note("region without local write, window to write");
	bind_1_fails(mw, bind_of(no_write, 0, 100, IBV_ACCESS_REMOTE_WRITE));
	note("the same for atomics");
	bind_1_fails(mw, bind_of(no_write, 0, 100, IBV_ACCESS_REMOTE_ATOMIC));
	note("region ends before the window");
	bind_1_fails(mw, bind_of(mr, BUF - 99, 100, IBV_ACCESS_REMOTE_READ));
	note("window of a huge length");
	bind_1_fails(mw, bind_of(mr, 0, -1UL, IBV_ACCESS_REMOTE_READ));
	note("window begins before the region");
	bind_1_fails(mw, bind_of(mr, -1, 100, IBV_ACCESS_REMOTE_READ));
	note(NULL);
	bind_1(mw, 0, 100, IBV_ACCESS_REMOTE_READ);
	SAME(ibv_dealloc_mw(mw), 0);
	/* a region without local write can be read through a window */
	mw = window(IBV_MW_TYPE_1);
	mr = no_write;
	bind_1(mw, 0, 100, IBV_ACCESS_REMOTE_READ);
	CHECK(access_works(IBV_WR_RDMA_READ, mw->rkey, ADDR(0), 100));
	expect_no_event();
}

/* a region, and a window of @type, of another PD */
static void make_others(struct ibv_mr **other_mr, struct ibv_mw **other_mw,
			enum ibv_mw_type type)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);

	CHECK(other);
	*other_mr = ibv_reg_mr(other, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	*other_mw = ibv_alloc_mw(other, type);
	CHECK(*other_mr && *other_mw);
}

/* libibverbs looks whether both are of one PD, the device whether it is that of the QP */
static void bind_other_pd(void)
{
	struct ibv_mw *mw, *other_mw;
	struct ibv_mw_bind bind;
	struct ibv_mr *other_mr;

	make_both();
	mw = window(IBV_MW_TYPE_1);
	make_others(&other_mr, &other_mw, IBV_MW_TYPE_1);
	note("region");
	bind = bind_of(other_mr, 0, 100, IBV_ACCESS_REMOTE_READ);
	SAME(ibv_bind_mw(b.qp, mw, &bind), EPERM);
	note("window");
	bind = bind_of(mr, 0, 100, IBV_ACCESS_REMOTE_READ);
	SAME(ibv_bind_mw(b.qp, other_mw, &bind), EPERM);
	expect_no_wc(b.scq);
	note("both");
	bind_1_fails(other_mw, bind_of(other_mr, 0, 100, IBV_ACCESS_REMOTE_READ));
	note(NULL);
	SAME(ibv_dereg_mr(other_mr), 0);
	bind_1(mw, 0, 100, IBV_ACCESS_REMOTE_READ);
	expect_no_event();
}

static struct ibv_send_wr *bind_2(struct ibv_mw *mw, uint32_t rkey, size_t off, size_t length,
				  int access)
{
	struct ibv_send_wr *wr = swr(&b, 700, IBV_WR_BIND_MW, 0, 0);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info.mr = mr;
	wr->bind_mw.bind_info.addr = ADDR(off);
	wr->bind_mw.bind_info.length = length;
	wr->bind_mw.bind_info.mw_access_flags = access;
	return wr;
}

static struct ibv_send_wr *local_inv(uint32_t rkey)
{
	struct ibv_send_wr *wr = swr(&b, 800, IBV_WR_LOCAL_INV, 0, 0);

	wr->invalidate_rkey = rkey;
	return wr;
}

static void type_2(void)
{
	struct ibv_send_wr *wr;
	struct ibv_mw *mw;
	struct end c, d;
	uint32_t rkey;

	make_both();
	mw = window(IBV_MW_TYPE_2);
	rkey = ibv_inc_rkey(mw->rkey);
	post(&b, bind_2(mw, rkey, 1000, 100, IBV_ACCESS_REMOTE_WRITE));
	SAME(expect_ok(b.scq, 700).opcode, IBV_WC_BIND_MW);
	CHECK(can_write(rkey, 1000, 100));
	/* by the QP it was bound with, and no other (type 2B) */
	make_pair(&c, &d, CONF());
	wr = at(swr(&c, 1, IBV_WR_RDMA_WRITE, 0, 8), &d, 0);
	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = ADDR(1000);
	post(&c, wr);
	expect_wc(c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, d.qp);
	CHECK(can_write(rkey, 1000, 8));
	post(&b, local_inv(rkey));
	SAME(expect_ok(b.scq, 800).opcode, IBV_WC_LOCAL_INV);
	CHECK(!can_write(rkey, 1000, 8));
	/* and again, with the next key, whatever struct ibv_mw says of the last one */
	mw->rkey ^= 0x55;
	post(&b, bind_2(mw, ibv_inc_rkey(rkey), 0, 64, IBV_ACCESS_REMOTE_READ));
	expect_ok(b.scq, 700);
	CHECK(access_works(IBV_WR_RDMA_READ, ibv_inc_rkey(rkey), ADDR(0), 64));
	CHECK(!access_works(IBV_WR_RDMA_READ, rkey, ADDR(0), 64));
	SAME(ibv_dealloc_mw(mw), 0);
	CHECK(!access_works(IBV_WR_RDMA_READ, ibv_inc_rkey(rkey), ADDR(0), 64));
}

/* zero based: addresses count from its begin */
static void type_2_zero_based(void)
{
	struct ibv_mw *mw;
	uint32_t rkey;

	make_both();
	mw = window(IBV_MW_TYPE_2);
	rkey = ibv_inc_rkey(mw->rkey);
	fill(a.buf, 50, 9);
	post(&b, bind_2(mw, rkey, 1000, 100, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED));
	expect_ok(b.scq, 700);
	CHECK(access_works(IBV_WR_RDMA_WRITE, rkey, 20, 50));
	check_filled(b.buf + 1020, 50, 9);
	CHECK(!access_works(IBV_WR_RDMA_WRITE, rkey, ADDR(1000), 8));
	CHECK(!access_works(IBV_WR_RDMA_WRITE, rkey, 93, 8));
}

static void type_2_fails(struct ibv_send_wr *wr)
{
	uint64_t id = wr->wr_id;

	post(&b, wr);
	SAME(expect_wc(b.scq, id, IBV_WC_MW_BIND_ERR).vendor_err, 7);
	expect_state(&b, IBV_QPS_ERR);
	expect_no_event();
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
}

static void type_2_refused(void)
{
	struct ibv_send_wr *wr, *bad;
	struct ibv_mw_bind bind;
	struct ibv_mw *mw, *mw1;
	uint32_t rkey;

	make_both();
	mw = window(IBV_MW_TYPE_2);
	mw1 = window(IBV_MW_TYPE_1);
	/* each type has its call */
	bind = bind_of(mr, 0, 100, IBV_ACCESS_REMOTE_READ);
	SAME(ibv_bind_mw(b.qp, mw, &bind), EINVAL);
	wr = bind_2(mw1, ibv_inc_rkey(mw1->rkey), 0, 100, IBV_ACCESS_REMOTE_READ);
	SAME(ibv_post_send(b.qp, wr, &bad), EINVAL);
	expect_no_wc_now(b.scq);
	rkey = ibv_inc_rkey(mw->rkey);
	note("of no length");
	type_2_fails(bind_2(mw, rkey, 0, 0, IBV_ACCESS_REMOTE_READ));
	note("out of the region");
	type_2_fails(bind_2(mw, rkey, BUF - 10, 11, IBV_ACCESS_REMOTE_READ));
	note("LOCAL_INV: not bound");
	type_2_fails(local_inv(mw->rkey));
	note("LOCAL_INV of nothing");
	type_2_fails(local_inv(0x12345600));
	note("LOCAL_INV of a region");
	type_2_fails(local_inv(mr->rkey));
	note("bound already");
	post(&b, bind_2(mw, rkey, 0, 100, IBV_ACCESS_REMOTE_READ));
	expect_ok(b.scq, 700);
	mw->rkey = rkey;
	type_2_fails(bind_2(mw, ibv_inc_rkey(rkey), 0, 50, IBV_ACCESS_REMOTE_READ));
	note("LOCAL_INV of type 1");
	bind_1(mw1, 0, 100, IBV_ACCESS_REMOTE_READ);
	type_2_fails(local_inv(mw1->rkey));
	CHECK(access_works(IBV_WR_RDMA_READ, mw1->rkey, ADDR(0), 100));
}

/* struct ibv_mw has the key that was posted last, and the old one if nothing was */
static void type_2_key(void)
{
	struct ibv_send_wr *first, *second, *bad;
	struct ibv_mw *mw, *other;
	uint32_t old, rkey;

	make_both();
	mw = window(IBV_MW_TYPE_2);
	other = window(IBV_MW_TYPE_2);
	old = mw->rkey;
	rkey = ibv_inc_rkey(old);
	note("refused");
	first = bind_2(mw, rkey, 0, 100, IBV_ACCESS_REMOTE_READ);
	first->bind_mw.bind_info.mr = NULL;
	SAME(ibv_post_send(b.qp, first, &bad), EINVAL);
	first = bind_2(mw, rkey, 0, 100, IBV_ACCESS_REMOTE_READ);
	first->send_flags |= IBV_SEND_INLINE;
	SAME(ibv_post_send(b.qp, first, &bad), EINVAL);
	SAME(mw->rkey, old);
	note("the second of two is refused");
	first = bind_2(mw, rkey, 0, 100, IBV_ACCESS_REMOTE_READ);
	second = bind_2(other, ibv_inc_rkey(other->rkey), 0, 100, IBV_ACCESS_REMOTE_READ);
	second->send_flags |= IBV_SEND_INLINE;
	first->next = second;
	old = other->rkey;
	SAME(ibv_post_send(b.qp, first, &bad), EINVAL);
	CHECK(bad == second);
	SAME(mw->rkey, rkey);
	SAME(other->rkey, old);
	expect_ok(b.scq, 700);
	CHECK(access_works(IBV_WR_RDMA_READ, mw->rkey, ADDR(0), 100));
	note("bound again, all by what struct ibv_mw says");
	post(&b, local_inv(mw->rkey));
	expect_ok(b.scq, 800);
	post(&b, bind_2(mw, ibv_inc_rkey(mw->rkey), 0, 100, IBV_ACCESS_REMOTE_READ));
	expect_ok(b.scq, 700);
	SAME(mw->rkey, ibv_inc_rkey(rkey));
	CHECK(access_works(IBV_WR_RDMA_READ, mw->rkey, ADDR(0), 100));
	note("the low eight bits are the program's choice");
	rkey = mw->rkey;
	post(&b, local_inv(rkey));
	expect_ok(b.scq, 800);
	post(&b, bind_2(mw, 0x7f, 0, 100, IBV_ACCESS_REMOTE_READ));
	expect_ok(b.scq, 700);
	SAME(mw->rkey, (rkey & ~0xffU) | 0x7f);
	CHECK(access_works(IBV_WR_RDMA_READ, mw->rkey, ADDR(0), 100));
}

/* one of them, or both, of another PD than the QP; only the device looks */
static void type_2_other_pd(void)
{
	struct ibv_mw *mw, *other_mw;
	struct ibv_mr *other_mr;
	struct ibv_send_wr *wr;
	uint32_t rkey;

	make_both();
	mw = window(IBV_MW_TYPE_2);
	rkey = ibv_inc_rkey(mw->rkey);
	make_others(&other_mr, &other_mw, IBV_MW_TYPE_2);
	note("region");
	wr = bind_2(mw, rkey, 0, 100, IBV_ACCESS_REMOTE_READ);
	wr->bind_mw.bind_info.mr = other_mr;
	type_2_fails(wr);
	note("window");
	type_2_fails(bind_2(other_mw, ibv_inc_rkey(other_mw->rkey), 0, 100,
			    IBV_ACCESS_REMOTE_READ));
	note("both");
	wr = bind_2(other_mw, ibv_inc_rkey(other_mw->rkey), 0, 100, IBV_ACCESS_REMOTE_READ);
	wr->bind_mw.bind_info.mr = other_mr;
	type_2_fails(wr);
	note(NULL);
	/* nothing is bound to it, and the window is as it was */
	SAME(ibv_dereg_mr(other_mr), 0);
	post(&b, bind_2(mw, rkey, 0, 100, IBV_ACCESS_REMOTE_READ));
	expect_ok(b.scq, 700);
	CHECK(access_works(IBV_WR_RDMA_READ, rkey, ADDR(0), 100));
}

/*
 * ---- By ibv_wr_start() ----
 */

/* 1000 bytes at the begin of @b that may be written */
static void wr_bind(struct ibv_mw *mw, uint32_t rkey)
{
	const struct ibv_mw_bind_info info = {
		.mr = mr,
		.addr = ADDR(0),
		.length = 1000,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp_ex *qp = wr_start(&b, 900);

	ibv_wr_bind_mw(qp, mw, rkey, &info);
	SAME(ibv_wr_complete(qp), 0);
	SAME(expect_ok(b.scq, 900).opcode, IBV_WC_BIND_MW);
}

static void wr_local_inv(uint32_t rkey)
{
	struct ibv_qp_ex *qp = wr_start(&b, 901);

	ibv_wr_local_inv(qp, rkey);
	SAME(ibv_wr_complete(qp), 0);
	SAME(expect_ok(b.scq, 901).opcode, IBV_WC_LOCAL_INV);
}

/* the peer's way; the message arrives at 2000 */
static void wr_send_inv(uint32_t rkey)
{
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;

	fill(a.buf, 60, 3);
	post_recv(&b, 902, 2000, 100);
	qp = wr_start(&a, 903);
	ibv_wr_send_inv(qp, rkey);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 60);
	SAME(ibv_wr_complete(qp), 0);
	SAME(expect_ok(a.scq, 903).opcode, IBV_WC_SEND);
	wc = expect_ok(b.rcq, 902);
	SAME(wc.opcode, IBV_WC_RECV);
	SAME(wc.wc_flags, IBV_WC_WITH_INV);
	SAME(wc.invalidated_rkey, rkey);
	SAME(wc.byte_len, 60);
	check_filled(b.buf + 2000, 60, 3);
}

static void make_both_ex(enum ibv_qp_type type)
{
	make_pair(&a, &b, CONF(.type = type, .ex = true));
	mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(mr);
}

/* bound, invalidated by the peer, bound again, and invalidated by its owner */
static void wr_invalidate(void)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);

	make_both_ex(IBV_QPT_RC);
	wr_bind(mw, rkey);
	fill(a.buf, 100, 1);
	CHECK(can_write(rkey, 0, 100));
	check_filled(b.buf, 100, 1);
	wr_send_inv(rkey);
	CHECK(!can_write(rkey, 0, 100));
	rkey = ibv_inc_rkey(rkey);
	wr_bind(mw, rkey);
	fill(a.buf, 100, 2);
	CHECK(can_write(rkey, 0, 100));
	check_filled(b.buf, 100, 2);
	wr_local_inv(rkey);
	fill(a.buf, 100, 4);
	CHECK(!can_write(rkey, 0, 100));
	check_filled(b.buf, 100, 2);
	check_works(&a, &b);
}

/* UC has no SEND_WITH_INV, and does not say when it drops something */
static void wr_invalidate_uc(void)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);

	make_both_ex(IBV_QPT_UC);
	wr_bind(mw, rkey);
	fill(a.buf, 100, 1);
	CHECK(can_write(rkey, 500, 100));
	check_works(&a, &b);
	check_filled(b.buf + 500, 100, 1);
	wr_local_inv(rkey);
	fill(a.buf, 100, 2);
	CHECK(can_write(rkey, 500, 100));
	check_works(&a, &b);
	check_filled(b.buf + 500, 100, 1);
}

/* struct ibv_mw has the new key when the batch is complete, and not if it is given up */
static void wr_key(void)
{
	struct ibv_mw *mw = window(IBV_MW_TYPE_2), *other = window(IBV_MW_TYPE_2);
	uint32_t old = mw->rkey, other_old = other->rkey;
	struct ibv_mw_bind_info info;
	struct ibv_qp_ex *qp;

	make_both_ex(IBV_QPT_RC);
	info = bind_of(mr, 0, 100, IBV_ACCESS_REMOTE_WRITE).bind_info;
	note("given up");
	qp = wr_start(&b, 1);
	ibv_wr_bind_mw(qp, mw, ibv_inc_rkey(old), &info);
	ibv_wr_abort(qp);
	SAME(mw->rkey, old);
	note("something behind it is refused");
	qp = wr_start(&b, 2);
	ibv_wr_bind_mw(qp, mw, ibv_inc_rkey(old), &info);
	ibv_wr_bind_mw(qp, window(IBV_MW_TYPE_1), 1, &info);
	SAME(ibv_wr_complete(qp), EINVAL);
	SAME(mw->rkey, old);
	note("others around it");
	qp = wr_start(&b, 3);
	ibv_wr_bind_mw(qp, mw, ibv_inc_rkey(old), &info);
	ibv_wr_local_inv(qp, ibv_inc_rkey(old));
	ibv_wr_bind_mw(qp, other, ibv_inc_rkey(other_old), &info);
	ibv_wr_bind_mw(qp, mw, ibv_inc_rkey(ibv_inc_rkey(old)), &info);
	SAME(ibv_wr_complete(qp), 0);
	SAME(mw->rkey, ibv_inc_rkey(ibv_inc_rkey(old)));
	SAME(other->rkey, ibv_inc_rkey(other_old));
	SAME(expect_ok(b.scq, 3).opcode, IBV_WC_BIND_MW);
	SAME(expect_ok(b.scq, 3).opcode, IBV_WC_LOCAL_INV);
	SAME(expect_ok(b.scq, 3).opcode, IBV_WC_BIND_MW);
	SAME(expect_ok(b.scq, 3).opcode, IBV_WC_BIND_MW);
	note(NULL);
	CHECK(can_write(mw->rkey, 0, 100));
	CHECK(can_write(other->rkey, 0, 100));
	/* a batch without a bind after one with several */
	wr_local_inv(mw->rkey);
	SAME(mw->rkey, ibv_inc_rkey(ibv_inc_rkey(old)));
}

/*
 * ---- Regions ----
 */

static void dereg_with_window(void)
{
	struct ibv_mw *mw, *other;

	make_both();
	mw = window(IBV_MW_TYPE_1);
	other = window(IBV_MW_TYPE_1);
	bind_1(mw, 0, 100, IBV_ACCESS_REMOTE_WRITE);
	bind_1(other, 0, 100, IBV_ACCESS_REMOTE_WRITE);
	REFUSED(ibv_dereg_mr(mr), EBUSY);
	CHECK(can_write(mw->rkey, 0, 8));
	CHECK(can_write(mr->rkey, 0, 8));
	bind_1(mw, 0, 0, 0);
	REFUSED(ibv_dereg_mr(mr), EBUSY);
	SAME(ibv_dealloc_mw(other), 0);
	SAME(ibv_dereg_mr(mr), 0);
	SAME(ibv_dealloc_mw(mw), 0);
}

static void rereg(void)
{
	uint8_t *other = memory(BUF);
	struct ibv_pd *other_pd = ibv_alloc_pd(ctx);
	struct ibv_mw *mw;
	uint32_t rkey;

	make_both();
	fill(a.buf, 100, 1);
	/* rights */
	SAME(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND), 0);
	CHECK(!can_write(mr->rkey, 0, 8));
	CHECK(access_works(IBV_WR_RDMA_READ, mr->rkey, ADDR(0), 8));
	/* memory */
	SAME(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
			  NULL, other, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND), 0);
	rkey = mr->rkey;
	fill(a.buf, 100, 1);
	CHECK(access_works(IBV_WR_RDMA_WRITE, rkey, (uintptr_t)other + 50, 100));
	check_filled(other + 50, 100, 1);
	CHECK(!can_write(rkey, 0, 8));
	/* not while a window is bound */
	mw = window(IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = bind_of(mr, 0, 64, IBV_ACCESS_REMOTE_WRITE);

	bind.bind_info.addr = (uintptr_t)other;
	SAME(ibv_bind_mw(b.qp, mw, &bind), 0);
	expect_ok(b.scq, 600);
	REFUSED(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL), EBUSY);
	SAME(ibv_dealloc_mw(mw), 0);
	/* PD */
	SAME(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other_pd, NULL, 0, 0), 0);
	CHECK(!access_works(IBV_WR_RDMA_WRITE, mr->rkey, (uintptr_t)other, 8));
	SAME(ibv_dereg_mr(mr), 0);
}

/* one byte, or none, by the lkey of @region: from @a, or to @b */
static void local_access(const struct ibv_mr *region, struct ibv_send_wr *wr,
			 struct ibv_recv_wr *recv, bool from)
{
	struct ibv_sge *sge = from ? wr->sg_list : recv->sg_list;

	sge->addr = (uintptr_t)region->addr;
	sge->lkey = region->lkey;
	post_r(&b, recv);
	post(&a, wr);
}

static void check_empty_local(const struct ibv_mr *empty, bool from)
{
	struct ibv_send_wr *wr = swr(&a, 1, IBV_WR_SEND, 0, 1);
	struct ibv_recv_wr *recv = rwr(&b, 2, 0, 1);

	wr->sg_list->length = 0;
	recv->sg_list->length = from;
	local_access(empty, wr, recv, from);
	expect_ok(a.scq, 1);
	SAME(expect_ok(b.rcq, 2).byte_len, 0);

	local_access(empty, swr(&a, 3, IBV_WR_SEND, 0, 1), rwr(&b, 4, 0, 1), from);
	expect_wc(a.scq, 3, from ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_OP_ERR);
	if (!from)
		expect_wc(b.rcq, 4, IBV_WC_LOC_PROT_ERR);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
}

/* the keys are good for nothing but accesses of no bytes */
static void check_empty(const struct ibv_mr *empty)
{
	uint64_t addr = (uintptr_t)empty->addr;

	SAME(empty->length, 0);
	CHECK(access_works(IBV_WR_RDMA_WRITE, empty->rkey, addr, 0));
	CHECK(access_works(IBV_WR_RDMA_READ, empty->rkey, addr, 0));
	CHECK(!access_works(IBV_WR_RDMA_WRITE, empty->rkey, addr, 1));
	CHECK(!access_works(IBV_WR_RDMA_READ, empty->rkey, addr, 1));
	CHECK(!access_works(IBV_WR_RDMA_WRITE, empty->rkey, addr - 1, 1));
	CHECK(!access_works(IBV_WR_ATOMIC_FETCH_AND_ADD, empty->rkey, addr & ~7UL, 8));
	check_empty_local(empty, true);
	check_empty_local(empty, false);
}

/* of no length, at a place in memory, between two pages, and where no memory is */
static void reg_empty(void)
{
	uint8_t *p = memory(8192);
	struct ibv_mr *empty;
	int i;

	make_both();
	for (i = 0; i < 8; i++) {
		uint8_t *at = (uint8_t *[]){ p + 100, p + 4096, p + 8192, NULL }[i / 2];
		int access = ACCESS_ALL | (i % 2 ? IBV_ACCESS_ON_DEMAND : 0);

		note("at %p, access %#x", at, access);
		empty = ibv_reg_mr(pd, at, 0, access);
		CHECK(empty);
		check_empty(empty);
		SAME(ibv_dereg_mr(empty), 0);
	}
	note(NULL);
	/* of no length, too, the core wants address and iova at the same place of a page */
	REFUSED(ibv_reg_mr_iova(pd, p, 0, 8, ACCESS_ALL), EINVAL);
	/* zero based; no window fits it */
	empty = ibv_reg_mr(pd, p, 0, ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
	CHECK(empty);
	CHECK(access_works(IBV_WR_RDMA_WRITE, empty->rkey, 0, 0));
	CHECK(!access_works(IBV_WR_RDMA_WRITE, empty->rkey, 0, 1));
	mr = ibv_reg_mr(pd, b.buf, 0, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(mr);
	bind_1_fails(window(IBV_MW_TYPE_1), bind_of(mr, 0, 1, IBV_ACCESS_REMOTE_READ));
}

/* to a region with memory; libibverbs does not let it go back, but another key is as good */
static void rereg_empty(void)
{
	struct ibv_mr *empty;

	make_both();
	empty = ibv_reg_mr(pd, NULL, 0, ACCESS_ALL);
	CHECK(empty);
	SAME(ibv_rereg_mr(empty, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			  IBV_ACCESS_REMOTE_READ), 0);
	CHECK(!access_works(IBV_WR_RDMA_READ, empty->rkey, 0, 1));
	SAME(ibv_rereg_mr(empty, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
			  NULL, b.buf, BUF, ACCESS_ALL), 0);
	fill(a.buf, 100, 3);
	CHECK(can_write(empty->rkey, 500, 100));
	check_filled(b.buf + 500, 100, 3);
	SAME(ibv_dereg_mr(empty), 0);
	/* a paged one stays paged */
	empty = ibv_reg_mr(pd, NULL, 0, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(empty);
	CHECK(ibv_rereg_mr(empty, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL));
	SAME(ibv_rereg_mr(empty, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b.buf, BUF, 0), 0);
	fill(a.buf, 100, 4);
	CHECK(can_write(empty->rkey, 600, 100));
	check_filled(b.buf + 600, 100, 4);
	SAME(ibv_dereg_mr(empty), 0);
}

static void reg_refused(void)
{
	uint8_t *p = memory(8192);
	uint8_t *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* remote write needs local write */
	REFUSED(ibv_reg_mr(pd, p, 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	REFUSED(ibv_reg_mr(pd, p, 4096, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	CHECK(!ibv_reg_mr(pd, p, -1UL, ACCESS_ALL));
	CHECK(!ibv_reg_mr(pd, p, 4096, 1 << 18));
	munmap(p + 4096, 4096);
	REFUSED(ibv_reg_mr(pd, p, 8192, ACCESS_ALL), EFAULT);
	REFUSED(ibv_reg_mr(pd, ro, 4096, ACCESS_ALL), EFAULT);
	CHECK(ibv_reg_mr(pd, ro, 4096, IBV_ACCESS_REMOTE_READ));
	/* hints are fine */
	CHECK(ibv_reg_mr(pd, p, 4096, ACCESS_ALL | IBV_ACCESS_RELAXED_ORDERING));
}

static void iova(void)
{
	struct ibv_mr *mr2;

	make_both();
	fill(a.buf, 100, 2);
	mr2 = ibv_reg_mr_iova(pd, b.buf, BUF, 0x7000000000000000 + ((uintptr_t)b.buf & 4095),
			      ACCESS_ALL);
	CHECK(mr2);
	CHECK(access_works(IBV_WR_RDMA_WRITE, mr2->rkey,
			   0x7000000000000000 + ((uintptr_t)b.buf & 4095) + 300, 100));
	check_filled(b.buf + 300, 100, 2);
	CHECK(!access_works(IBV_WR_RDMA_WRITE, mr2->rkey, ADDR(300), 100));
	mr2 = ibv_reg_mr(pd, b.buf + 1000, 5000, ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
	CHECK(mr2);
	CHECK(access_works(IBV_WR_RDMA_WRITE, mr2->rkey, 4900, 100));
	check_filled(b.buf + 5900, 100, 2);
	CHECK(!access_works(IBV_WR_RDMA_WRITE, mr2->rkey, 4901, 100));
}

TESTS(
	TEST(type_1), TEST(bind_refused), TEST(bind_other_pd), TEST(type_2),
	TEST(type_2_zero_based), TEST(type_2_refused), TEST(type_2_other_pd),
	TEST(type_2_key), TEST(wr_invalidate), TEST(wr_invalidate_uc), TEST(wr_key),
	TEST(dereg_with_window), TEST(rereg), TEST(reg_empty), TEST(rereg_empty),
	TEST(reg_refused), TEST(iova)
)
