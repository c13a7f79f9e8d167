// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lists of elements: lists of memory of several kinds, and which of a receive's memory
 * counts for a message.
 */
#include "lib.h"

#include <rdma/weft-why.h>

#define MiB		(1UL << 20)
#define PAGED		(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)

static struct end a, b;
static struct ibv_ah *ah;		/* of UD */

static void make_ends(enum ibv_qp_type type, struct ibv_srq *srq)
{
	make(&a, CONF(.type = type, .timeout = 20));
	make(&b, CONF(.type = type, .srq = srq));
	if (type == IBV_QPT_UD) {
		to_ready(&a);
		to_ready(&b);
	} else {
		connect_ends(&a, &b);
	}
	ah = type == IBV_QPT_UD ? ah_to(gid4, gid4) : NULL;
}

static struct ibv_srq *make_srq(struct ibv_pd *srq_pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 4 } };
	struct ibv_srq *srq = ibv_create_srq(srq_pd, &attr);

	CHECK(srq);
	return srq;
}

static void send_to(uint64_t id, uint32_t length)
{
	struct ibv_send_wr *wr = swr(&a, id, IBV_WR_SEND, 0, length);

	post(&a, ah ? to_ah(wr, ah, &b) : wr);
}

static struct ibv_sge element(struct ibv_mr *mr, size_t off, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)mr->addr + off, length, mr->lkey };
}

/*
 * ---- Memory of several kinds ----
 */

static struct ibv_mr *map_paged(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	CHECK(p != MAP_FAILED);
	mr = ibv_reg_mr(pd, p, size, PAGED);
	CHECK(mr);
	return mr;
}

/* [@far][@near], or half of @near on each side of @far; return: elements */
static int far_list(struct ibv_sge *list, bool between, struct ibv_sge near, struct ibv_sge far)
{
	if (!between) {
		list[0] = far;
		list[1] = near;
		return 2;
	}
	near.length /= 2;
	list[0] = near;
	list[1] = far;
	list[2] = near;
	list[2].addr += near.length;
	return 3;
}

/* @whole has what a list with @near and @far in it has, which is 0 in @far */
static void check_far(const uint8_t *whole, bool between, const uint8_t *near, uint32_t length,
		      uint32_t far)
{
	uint32_t before = between ? length / 2 : 0;

	SAME(memcmp(whole, near, before), 0);
	check_zero(whole + before, far);
	SAME(memcmp(whole + before + far, near + before, length - before), 0);
}

/*
 * Paged memory that a message gets to only after more than is pinned at a time (4 MiB), and
 * that is memory without pages, or pinned: then the pages have not been asked for.
 */
static void far_memory(bool between, bool null)
{
	const uint32_t far = packets_forced() ? 5 * MiB : 9 * MiB, near = 8192;
	struct ibv_mr *gap, *mine = map_paged(10 * MiB), *theirs = map_paged(10 * MiB);
	uint32_t length = near + far;
	struct ibv_send_wr *wr;
	struct ibv_recv_wr *rw;
	struct ibv_sge rest;

	note("%s, %s", between ? "between" : "behind", null ? "null" : "pinned");
	gap = null ? ibv_alloc_null_mr(pd) : ibv_reg_mr(pd, memory(far), far, ACCESS_ALL);
	CHECK(gap);
	rest = element(gap, 0, far);

	/* the list of a SEND */
	fill(mine->addr, near, 1);
	rw = rwr(&b, 1, 0, 1);
	rw->sg_list[0] = element(theirs, 0, length);
	post_r(&b, rw);
	wr = swr(&a, 2, IBV_WR_SEND, 0, 1);
	wr->num_sge = far_list(wr->sg_list, between, element(mine, 0, near), rest);
	post(&a, wr);
	expect_ok(a.scq, 2);
	SAME(expect_ok(b.rcq, 1).byte_len, length);
	check_far(theirs->addr, between, mine->addr, near, far);

	/* the list of a READ gets back what has just been sent */
	madvise(mine->addr, 10 * MiB, MADV_DONTNEED);
	wr = at_key(swr(&a, 3, IBV_WR_RDMA_READ, 0, 1), theirs->rkey, (uintptr_t)theirs->addr);
	wr->num_sge = far_list(wr->sg_list, between, element(mine, 0, near), rest);
	post(&a, wr);
	expect_ok(a.scq, 3);
	check_filled(mine->addr, near, 1);

	/* the list of a receive */
	memcpy(mine->addr, theirs->addr, length);
	madvise(theirs->addr, 10 * MiB, MADV_DONTNEED);
	rw = rwr(&b, 4, 0, 1);
	rw->num_sge = far_list(rw->sg_list, between, element(theirs, 0, near), rest);
	post_r(&b, rw);
	wr = swr(&a, 5, IBV_WR_SEND, 0, 1);
	wr->sg_list[0] = element(mine, 0, length);
	post(&a, wr);
	expect_ok(a.scq, 5);
	SAME(expect_ok(b.rcq, 4).byte_len, length);
	check_filled(theirs->addr, near, 1);

	SAME(ibv_dereg_mr(gap), 0);
	SAME(ibv_dereg_mr(mine), 0);
	SAME(ibv_dereg_mr(theirs), 0);
}

static void far_elements(void)
{
	int i;

	make_ends(IBV_QPT_RC, NULL);
	for (i = 0; i < 4; i++)
		far_memory(i & 1, i & 2);
	note(NULL);
	check_works(&a, &b);
}

/*
 * ---- Which memory of a receive counts ----
 */

/*
 * A receive whose second element no message of up to @room bytes gets to: programs post
 * { NULL, 1024, 0 } for messages that they know to be empty.
 */
static void post_unreached(struct ibv_srq *srq, uint64_t id, uint32_t room)
{
	struct ibv_recv_wr *wr = rwr(&b, id, 0, room), *bad;

	wr->sg_list[room ? 1 : 0] = (struct ibv_sge){ 0, 1024, 0 };
	wr->num_sge = room ? 2 : 1;
	if (srq)
		SAME(ibv_post_srq_recv(srq, wr, &bad), 0);
	else
		post_r(&b, wr);
}

static void unreached(enum ibv_qp_type type, bool shared)
{
	struct ibv_srq *srq = shared ? make_srq(pd) : NULL;
	uint32_t header = type == IBV_QPT_UD ? 40 : 0, length;

	note("QP type %d%s", type, shared ? ", SRQ" : "");
	make_ends(type, srq);
	for (length = 0; length <= 1000; length += 500) {
		fill(a.buf, length, length);
		memset(b.buf, 0, BUF);
		post_unreached(srq, 1, header + length);
		send_to(2, length);
		expect_ok(a.scq, 2);
		SAME(expect_ok(b.rcq, 1).byte_len, header + length);
		check_filled(b.buf + header, length, length);
	}
}

static void unreached_elements(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		unreached(types[i], false);
	unreached(IBV_QPT_RC, true);
	unreached(IBV_QPT_UD, true);
}

/* of a message of several packets the same counts */
static void unreached_by_packets(void)
{
	make_ends(IBV_QPT_RC, NULL);
	fill(a.buf, 20000, 7);
	post_unreached(NULL, 1, 20000);
	send_to(2, 20000);
	expect_ok(a.scq, 2);
	SAME(expect_ok(b.rcq, 1).byte_len, 20000);
	check_filled(b.buf, 20000, 7);
	/* one byte more gets to the bad one */
	post_unreached(NULL, 3, 20000);
	send_to(4, 20001);
	expect_wc(a.scq, 4, IBV_WC_REM_OP_ERR);
	expect_wc(b.rcq, 3, IBV_WC_LOC_PROT_ERR);
}

/* Receives of an SRQ are of its protection domain, what a peer names by a key is of the QP's. */
static void domain_of_srq(void)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_recv_wr *wr, *bad;
	struct ibv_srq *srq;
	struct ibv_mr *mr;

	CHECK(other);
	srq = make_srq(other);
	make_ends(IBV_QPT_RC, srq);
	mr = ibv_reg_mr(other, memory(BUF), BUF, ACCESS_ALL);
	CHECK(mr);
	fill(a.buf, 1000, 1);
	wr = rwr(&b, 1, 0, 1);
	wr->sg_list[0] = element(mr, 0, 1000);
	SAME(ibv_post_srq_recv(srq, wr, &bad), 0);
	send_to(2, 1000);
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 1);
	check_filled(mr->addr, 1000, 1);
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE, 0, 1000), &b, 5000));
	expect_ok(a.scq, 3);
	check_filled(b.buf + 5000, 1000, 1);
	/* memory of the QP's domain is not the SRQ's */
	post_srq(srq, &b, 4, 0, 1000);
	send_to(5, 1000);
	expect_wc(a.scq, 5, IBV_WC_REM_OP_ERR);
	expect_wc(b.rcq, 4, IBV_WC_LOC_PROT_ERR);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	post(&a, at_key(swr(&a, 6, IBV_WR_RDMA_WRITE, 0, 8), mr->rkey, (uintptr_t)mr->addr));
	expect_wc(a.scq, 6, IBV_WC_REM_ACCESS_ERR);
}

/*
 * ---- Messages that are too long for it ----
 */

/* Nobody is told, and no stranger ends a QP, nor drains an SRQ. */
static void too_long(enum ibv_qp_type type, bool shared)
{
	struct ibv_srq *srq = shared ? make_srq(pd) : NULL;
	uint32_t header = type == IBV_QPT_UD ? 40 : 0;
	uint64_t before;
	int i;

	note("QP type %d%s", type, shared ? ", SRQ" : "");
	make_ends(type, srq);
	before = counter("rx_too_long");
	for (i = 0; i < 3; i++) {
		if (srq)
			post_srq(srq, &b, i, 1000 * i, header + 100);
		else
			post_recv(&b, i, 1000 * i, header + 100);
	}
	fill(a.buf, 1000, 3);
	for (i = 10; i < 20; i++) {
		send_to(i, i < 15 ? 101 : 1000);
		expect_ok(a.scq, i);
	}
	expect_no_wc(b.rcq);
	SAME(counter("rx_too_long"), before + 10);
	for (i = 0; i < 3; i++) {
		send_to(20 + i, 100);
		expect_ok(a.scq, 20 + i);
		SAME(expect_ok(b.rcq, i).byte_len, header + 100);
		check_filled(b.buf + 1000 * i + header, 100, 3);
	}
	expect_no_event();
	SAME(state_of(&b), IBV_QPS_RTS);
}

static void too_long_is_dropped(void)
{
	too_long(IBV_QPT_UC, false);
	too_long(IBV_QPT_UD, false);
	too_long(IBV_QPT_UD, true);
}

/* of a message of UC that has several packets, the last one alone may be too much */
static void too_long_by_packets(void)
{
	make_ends(IBV_QPT_UC, NULL);
	fill(a.buf, 20000, 1);
	post_recv(&b, 1, 0, 19000);
	send_to(2, 20000);
	expect_ok(a.scq, 2);
	expect_no_wc(b.rcq);
	fill(a.buf, 19000, 2);
	send_to(3, 19000);
	expect_ok(a.scq, 3);
	SAME(expect_ok(b.rcq, 1).byte_len, 19000);
	check_filled(b.buf, 19000, 2);
	expect_no_event();
}

/*
 * ---- A WRITE that takes a receive and may not write ----
 */

static void immediate_refused(struct ibv_send_wr *wr)
{
	post_recv(&b, 10, 0, 0);
	post_recv(&b, 11, 0, 0);
	post(&a, wr);
	SAME(expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR).vendor_err, WEFT_FAULT_IMMEDIATE_KEY);
	SAME(expect_wc(b.rcq, 10, IBV_WC_LOC_ACCESS_ERR).vendor_err, WEFT_FAULT_IMMEDIATE_KEY);
	expect_wc(b.rcq, 11, IBV_WC_WR_FLUSH_ERR);
	expect_state(&b, IBV_QPS_ERR);
}

static void immediate_of_bad_key(void)
{
	struct ibv_send_wr *wr;

	make_ends(IBV_QPT_RC, NULL);
	wr = at(swr(&a, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100), &b, 0);
	wr->wr.rdma.rkey ^= 0x100;
	immediate_refused(wr);
	expect_no_event();

	make(&a, CONF());
	make(&b, CONF(.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
	connect_ends(&a, &b);
	wr = at(swr(&a, 2, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100), &b, 0);
	/* the QP says no before a receive is looked for */
	post(&a, wr);
	SAME(expect_wc(a.scq, 2, IBV_WC_REM_INV_REQ_ERR).vendor_err, WEFT_FAULT_NOT_ENABLED);
	expect_event(IBV_EVENT_QP_REQ_ERR, b.qp);
}

/* In packets the first of several is refused before anybody knows of the immediate data. */
static void immediate_of_packets(void)
{
	struct ibv_send_wr *wr;

	make_ends(IBV_QPT_RC, NULL);
	wr = at(swr(&a, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 20000), &b, 0);
	wr->wr.rdma.rkey ^= 0x100;
	if (!packets_forced()) {
		immediate_refused(wr);
		return;
	}
	post_recv(&b, 10, 0, 0);
	post(&a, wr);
	expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	SAME(expect_wc(b.rcq, 10, IBV_WC_WR_FLUSH_ERR).vendor_err, 1);
}

/* Without immediate data no receive is taken. */
static void no_immediate(void)
{
	struct ibv_send_wr *wr;

	make_ends(IBV_QPT_RC, NULL);
	post_recv(&b, 10, 0, 0);
	wr = at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0);
	wr->wr.rdma.rkey ^= 0x100;
	post(&a, wr);
	SAME(expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR).vendor_err, WEFT_FAULT_REMOTE_KEY);
	expect_wc(b.rcq, 10, IBV_WC_WR_FLUSH_ERR);
}

TESTS(
	TEST(far_elements), TEST(unreached_elements), TEST(unreached_by_packets),
	TEST(domain_of_srq), TEST(too_long_is_dropped), TEST(too_long_by_packets),
	TEST(immediate_of_bad_key), TEST(immediate_of_packets), TEST(no_immediate)
)
