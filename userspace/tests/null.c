// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that is none (ibv_alloc_null_mr(3)): zeros are read, what is written is gone.
 */
#include "lib.h"

#define GRH	40

static struct end a, b;
static struct ibv_mr *null;

static void make_both(const struct conf *conf)
{
	make_pair(&a, &b, conf);
	null = ibv_alloc_null_mr(pd);
	CHECK(null);
}

/* an element of a list becomes @length bytes of nothing, at an odd address */
static void nothing(struct ibv_sge *sge, uint32_t length)
{
	*sge = (struct ibv_sge){ .addr = 0xfffffffffffff801, .length = length, .lkey = null->lkey };
}

static struct ibv_send_wr *of_nothing(struct ibv_send_wr *wr)
{
	nothing(wr->sg_list, wr->sg_list->length);
	return wr;
}

static void recv_nothing(struct end *e, uint64_t id, uint32_t length)
{
	struct ibv_recv_wr *wr = rwr(e, id, 0, length);

	nothing(wr->sg_list, length);
	post_r(e, wr);
}

/* it belongs to its PD, and has no more to be changed */
static void allocated(void)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *first, *second;
	uint8_t *buf = memory(4096);

	CHECK(other);
	first = ibv_alloc_null_mr(other);
	second = ibv_alloc_null_mr(other);
	CHECK(first && second && first != second);
	CHECK(first->pd == other && first->context == ctx);
	SAME(ibv_dealloc_pd(other), EBUSY);
	REFUSED(ibv_rereg_mr(first, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buf, 4096, 0), EINVAL);
	SAME(ibv_dereg_mr(first), 0);
	SAME(ibv_dealloc_pd(other), EBUSY);
	SAME(ibv_dereg_mr(second), 0);
	SAME(ibv_dealloc_pd(other), 0);
}

/* in a list, between memory that is some */
static void gathered(void)
{
	struct ibv_send_wr *wr;
	int i;

	make_both(CONF());
	for (i = 0; i < 2; i++) {
		fill(a.buf, BUF, 1);
		fill(b.buf, BUF, 2);
		wr = swr(&a, 1, i ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, 0, 100);
		wr->num_sge = 3;
		nothing(&wr->sg_list[1], 20001);
		wr->sg_list[2] = wr->sg_list[0];
		if (i)
			at(wr, &b, 0);
		else
			post_recv(&b, 2, 0, BUF);
		post(&a, wr);
		expect_ok(a.scq, 1);
		if (!i)
			SAME(expect_ok(b.rcq, 2).byte_len, 20201);
		check_filled(b.buf, 100, 1);
		check_zero(b.buf + 100, 20001);
		check_filled(b.buf + 20101, 100, 1);
	}
	expect_no_event();
}

static void scattered(void)
{
	struct ibv_send_wr *wr;
	struct ibv_recv_wr *rwr_;
	int i;

	make_both(CONF());
	for (i = 0; i < 2; i++) {
		fill(a.buf, BUF, 1);
		memset(b.buf, 0, BUF);
		if (i) {
			/* READ: what is between is left out */
			wr = at(swr(&b, 1, IBV_WR_RDMA_READ, 0, 100), &a, 0);
			wr->num_sge = 3;
			nothing(&wr->sg_list[1], 20000);
			wr->sg_list[2] = wr->sg_list[0];
			wr->sg_list[2].addr += 100;
			post(&b, wr);
			SAME(expect_ok(b.scq, 1).byte_len, 20200);
		} else {
			rwr_ = rwr(&b, 2, 0, 100);
			rwr_->num_sge = 3;
			nothing(&rwr_->sg_list[1], 20000);
			rwr_->sg_list[2] = rwr_->sg_list[0];
			rwr_->sg_list[2].addr += 100;
			post_r(&b, rwr_);
			post(&a, swr(&a, 1, IBV_WR_SEND, 0, 20200));
			expect_ok(a.scq, 1);
			SAME(expect_ok(b.rcq, 2).byte_len, 20200);
		}
		check_filled(b.buf, 100, 1);
		SAME(memcmp(b.buf + 100, a.buf + 20100, 100), 0);
		check_zero(b.buf + 200, BUF - 200);
	}
	expect_no_event();
}

/* the word is changed, its value is nobody's */
static void atomics(void)
{
	uint64_t *word;
	struct ibv_send_wr *wr;

	make_both(CONF());
	word = (uint64_t *)b.buf;
	*word = 5;
	wr = at(of_nothing(swr(&a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8)), &b, 0);
	wr->wr.atomic.compare_add = 7;
	post(&a, wr);
	expect_ok(a.scq, 1);
	SAME(*word, 12);
	wr = at(of_nothing(swr(&a, 2, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8)), &b, 0);
	wr->wr.atomic.compare_add = 12;
	wr->wr.atomic.swap = 99;
	post(&a, wr);
	expect_ok(a.scq, 2);
	SAME(*word, 99);
}

/* what one has written nobody reads */
static void no_secrets(void)
{
	int i;

	make_both(CONF());
	for (i = 0; i < 3; i++) {
		fill(a.buf, 16384, 3);
		recv_nothing(&b, 1, 16384);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 16384));
		expect_ok(a.scq, 2);
		expect_ok(b.rcq, 1);
		fill(a.buf, 16384, 4);
		post(&b, of_nothing(at(swr(&b, 3, IBV_WR_RDMA_WRITE, 0, 16384), &a, 0)));
		expect_ok(b.scq, 3);
		check_zero(a.buf, 16384);
	}
}

static void datagrams(void)
{
	struct ibv_send_wr *wr;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	make_both(CONF(.type = IBV_QPT_UD));
	ah = ah_to(gid4, gid4);
	fill(a.buf, BUF, 1);
	fill(b.buf, BUF, 2);
	post_recv(&b, 1, 0, 2000);
	wr = to_ah(of_nothing(swr(&a, 2, IBV_WR_SEND, 0, 1000)), ah, &b);
	post(&a, wr);
	expect_ok(a.scq, 2);
	SAME(expect_ok(b.rcq, 1).byte_len, 1000 + GRH);
	check_zero(b.buf + GRH, 1000);
	/* header and data */
	recv_nothing(&b, 3, 2000);
	post(&a, to_ah(swr(&a, 4, IBV_WR_SEND, 0, 1000), ah, &b));
	expect_ok(a.scq, 4);
	wc = expect_ok(b.rcq, 3);
	SAME(wc.byte_len, 1000 + GRH);
	SAME(wc.src_qp, a.qp->qp_num);
	SAME(ibv_destroy_ah(ah), 0);
}

static void shared_receives(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);
	struct ibv_recv_wr *wr, *bad;

	CHECK(srq);
	make_both(CONF(.srq = srq));
	wr = rwr(&b, 1, 0, 5000);
	nothing(wr->sg_list, 5000);
	SAME(ibv_post_srq_recv(srq, wr, &bad), 0);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 5000));
	expect_ok(a.scq, 2);
	SAME(expect_ok(b.rcq, 1).byte_len, 5000);
}

static void unreliable(void)
{
	make_both(CONF(.type = IBV_QPT_UC));
	fill(b.buf, BUF, 1);
	post(&a, of_nothing(at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 3000), &b, 0)));
	expect_ok(a.scq, 1);
	recv_nothing(&b, 2, 10);
	post(&a, swr(&a, 3, IBV_WR_SEND, 0, 10));
	expect_ok(a.scq, 3);
	expect_ok(b.rcq, 2);
	check_zero(b.buf, 3000);
}

/* no length is too much, but that of a message */
static void long_ones(void)
{
	/* in packets it takes its time */
	uint32_t length = packets_forced() ? 1 << 23 : 1U << 31;

	make_both(CONF());
	recv_nothing(&b, 1, length);
	post(&a, of_nothing(swr(&a, 2, IBV_WR_SEND, 0, length)));
	expect_ok(a.scq, 2);
	SAME(expect_ok(b.rcq, 1).byte_len, length);
	/* too small is too small */
	recv_nothing(&b, 3, length / 2);
	post(&a, of_nothing(swr(&a, 4, IBV_WR_SEND, 0, length / 2 + 1)));
	expect_wc(a.scq, 4, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(b.rcq, 3, IBV_WC_LOC_LEN_ERR);
}

/* one byte more than a message may have: of one element, of two, or with paged memory */
static struct ibv_send_wr *one_too_many(struct ibv_send_wr *wr, int how, struct ibv_mr *paged)
{
	const uint32_t longest = 1U << 31;

	if (!how) {
		nothing(wr->sg_list, longest + 1);
		return wr;
	}
	if (how == 2)
		wr->sg_list[0] = (struct ibv_sge){ (uintptr_t)paged->addr, 1, paged->lkey };
	nothing(&wr->sg_list[1], longest);
	wr->num_sge = 2;
	return wr;
}

static void too_long(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	struct ibv_mr *paged;
	unsigned int i;
	int how;

	paged = ibv_reg_mr(pd, memory(4096), 4096, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(paged);
	make_both(CONF());
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		for (how = 0; how < 3; how++) {
			note("opcode %d, way %d", opcodes[i], how);
			recv_nothing(&b, 1, 100);
			post(&a, one_too_many(at(swr(&a, 2, opcodes[i], 0, 1), &b, 0), how, paged));
			SAME(expect_wc(a.scq, 2, IBV_WC_LOC_LEN_ERR).vendor_err, 4);
			expect_state(&a, IBV_QPS_ERR);
			/* nobody else learns of it */
			expect_state(&b, IBV_QPS_RTS);
			expect_no_wc_now(b.rcq);
			to_state(&a, IBV_QPS_RESET);
			to_state(&b, IBV_QPS_RESET);
			connect_ends(&a, &b);
		}
	}
	note(NULL);
	expect_no_event();
	check_works(&a, &b);
}

/* it is no rkey, and no window can be bound to it */
static void not_remote(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .wr_id = 9, .send_flags = IBV_SEND_SIGNALED };
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	unsigned int i;

	CHECK(mw);
	make_both(CONF());
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		note("opcode %d", opcodes[i]);
		expect_refusal(&a, &b, at_key(swr(&a, i, opcodes[i], 0, 8), null->lkey, 4096));
		expect_refusal(&a, &b, at_key(swr(&a, i, opcodes[i], 0, 8), null->rkey, 4096));
	}
	note("window");
	bind.bind_info = (struct ibv_mw_bind_info){
		.mr = null, .length = 8, .mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	SAME(ibv_bind_mw(a.qp, mw, &bind), 0);
	SAME(expect_wc(a.scq, 9, IBV_WC_MW_BIND_ERR).vendor_err, 7);
}

/* keys beside it are nobody's */
static void other_keys(void)
{
	struct ibv_send_wr *wr;
	int i;

	make_both(CONF());
	for (i = 0; i < 8; i++) {
		note("bit %d", i);
		wr = of_nothing(swr(&a, i, IBV_WR_SEND, 0, 8));
		wr->sg_list->lkey ^= 1 << i;
		post(&a, wr);
		expect_wc(a.scq, i, IBV_WC_LOC_PROT_ERR);
		to_state(&a, IBV_QPS_RESET);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
	}
	recv_nothing(&b, 10, 8);
	post(&a, of_nothing(swr(&a, 11, IBV_WR_SEND, 0, 8)));
	expect_ok(a.scq, 11);
	expect_ok(b.rcq, 10);
}

TESTS(
	TEST(allocated), TEST(gathered), TEST(scattered), TEST(atomics), TEST(no_secrets),
	TEST(datagrams), TEST(shared_receives), TEST(unreliable), TEST(long_ones),
	TEST(too_long), TEST(not_remote), TEST(other_keys)
)
