// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RC: every status that a work request can fail with, and what else happens
 * then, at both ends (IBA volume 1, 9.9.2 and 10.10).
 */
#include "lib.h"

#include <rdma/weft-why.h>

static struct end a, b;
static uint32_t reason;		/* vendor_err of what failed last, see fails() */

/*
 * ---- No receive work request ----
 */

static void rnr_then_success(void)
{
	int i;

	make_pair(&a, &b, CONF(.rnr_timer = 14)); /* 1 ms; for ever */
	fill(a.buf, 500, 1);
	for (i = 0; i < 2; i++) {
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 500));
		expect_no_wc(a.scq);
		post_recv(&b, 2, 0, 500);
		expect_ok(a.scq, 1);
		SAME(expect_ok(b.rcq, 2).byte_len, 500);
		check_filled(b.buf, 500, 1);
	}
	expect_state(&a, IBV_QPS_RTS);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_event();
}

static void rnr_write_imm(void)
{
	struct ibv_send_wr *wr;

	make_pair(&a, &b, CONF(.rnr_timer = 14));
	fill(a.buf, 500, 1);
	wr = at(swr(&a, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 500), &b, 1000);
	post(&a, wr);
	expect_no_wc(a.scq);
	post_recv(&b, 2, 0, 0);
	expect_ok(a.scq, 1);
	expect_ok(b.rcq, 2);
	check_filled(b.buf + 1000, 500, 1);
}

/* @retries times @timer_ms is how long it takes, and not ten times as long */
static void rnr_exceeded(int retries, int timer, int min_ms)
{
	uint64_t start, ms;

	note("rnr_retry %d, min_rnr_timer %d", retries, timer);
	make_pair(&a, &b, CONF(.rnr_retry = retries, .rnr_timer = timer));
	post_recv(&a, 9, 0, 100);
	start = now_ns();
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	expect_wc(a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	ms = (now_ns() - start) / 1000000;
	if (ms < min_ms || ms > 10 * min_ms + 5000)
		FAIL("took %d ms, expected about %d ms", (int)ms, min_ms);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	expect_state(&a, IBV_QPS_ERR);
	/* the responder has done nothing wrong */
	expect_state(&b, IBV_QPS_RTS);
	expect_no_wc_now(b.rcq);
	expect_no_event();
	unmake(&a);
	unmake(&b);
}

static void rnr_retry_exc(void)
{
	rnr_exceeded(0, 31, 0);
	rnr_exceeded(1, 24, 40);	/* 40.96 ms */
	rnr_exceeded(5, 20, 50);	/* 10.24 ms */
	rnr_exceeded(6, 14, 6);		/* 1.28 ms */
}

/* a success gives all retries back */
static void rnr_count_starts_again(void)
{
	int i;

	make_pair(&a, &b, CONF(.rnr_retry = 1, .rnr_timer = 0)); /* 655 ms */
	for (i = 0; i < 3; i++) {
		post(&a, swr(&a, 10 + i, IBV_WR_SEND, 0, 100));
		sleep_ms(20);
		post_recv(&b, 20 + i, 0, 100);
		expect_ok(a.scq, 10 + i);
		expect_ok(b.rcq, 20 + i);
	}
}

/*
 * ---- Nobody answers ----
 */

static void retries_exceeded(int timeout, int retries)
{
	uint64_t start, ms, min_ms;

	post_recv(&a, 9, 0, 100);
	start = now_ns();
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	ms = (now_ns() - start) / 1000000;
	min_ms = (4096ULL << timeout) * (retries + 1) / 1000000;
	if (ms < min_ms || ms > 10 * min_ms + 5000)
		FAIL("took %d ms, expected about %d ms", (int)ms, (int)min_ms);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	expect_state(&a, IBV_QPS_ERR);
	expect_no_event();
}

static void retry_exc_peer_reset(void)
{
	make_pair(&a, &b, CONF(.timeout = 14, .retry = 2)); /* 67 ms */
	to_state(&b, IBV_QPS_RESET);
	retries_exceeded(14, 2);
	expect_state(&b, IBV_QPS_RESET);
}

static void retry_exc_peer_destroyed(void)
{
	make_pair(&a, &b, CONF(.timeout = 15, .retry = 0));
	SAME(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	retries_exceeded(15, 0);
}

static void retry_exc_peer_in_error(void)
{
	make_pair(&a, &b, CONF(.timeout = 12, .retry = 7));
	to_state(&b, IBV_QPS_ERR);
	retries_exceeded(12, 7);
}

static void retry_exc_peer_in_init(void)
{
	make(&a, CONF(.timeout = 14, .retry = 1));
	make(&b, CONF());
	to_init(&a);
	to_init(&b);
	to_rtr(&a, &b);
	to_rts(&a);
	retries_exceeded(14, 1);
	expect_state(&b, IBV_QPS_INIT);
}

/* nor does a QP that is connected to another one */
static void retry_exc_not_connected(void)
{
	struct end c;

	make_pair(&a, &b, CONF(.timeout = 14, .retry = 1));
	make(&c, CONF(.timeout = 14, .retry = 1));
	/* a packet does not say which QP sent it: there the PSN is all there is */
	c.psn = (a.psn + (packets_forced() ? 1000 : 0)) & 0xffffff;
	to_init(&c);
	to_rtr(&c, &b);
	to_rts(&c);
	post_recv(&b, 5, 0, 100);
	post(&c, swr(&c, 1, IBV_WR_SEND, 0, 100));
	expect_wc(c.scq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_no_wc_now(b.rcq);
	expect_state(&b, IBV_QPS_RTS);
	/* which is still usable */
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 5);
}

/* of another service */
static void retry_exc_other_type(void)
{
	make(&a, CONF(.timeout = 14, .retry = 1));
	make(&b, CONF(.type = IBV_QPT_UC));
	connect_ends(&a, &b);
	retries_exceeded(14, 1);
	expect_state(&b, IBV_QPS_RTS);
}

static void retry_exc_wrong_psn(void)
{
	make(&a, CONF(.timeout = 14, .retry = 1));
	make(&b, CONF());
	to_init(&a);
	to_init(&b);
	to_rtr(&a, &b);
	to_rtr(&b, &a);
	a.psn = (a.psn + 5) & 0xffffff;
	to_rts(&a);
	to_rts(&b);
	retries_exceeded(14, 1);
	check_zero(b.buf, 100);
}

static void retry_until_there(void)
{
	make(&a, CONF(.timeout = 16, .retry = 7)); /* 268 ms each */
	make(&b, CONF());
	to_init(&a);
	to_init(&b);
	to_rtr(&a, &b);
	to_rts(&a);
	fill(a.buf, 100, 3);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_no_wc(a.scq);
	to_rtr(&b, &a);
	expect_ok(a.scq, 1);
	check_filled(b.buf, 100, 3);
}

/* timeout 0: for ever, but not longer than the QP */
static void timeout_0(void)
{
	make_pair(&a, &b, CONF(.timeout = 0, .retry = 0));
	to_state(&b, IBV_QPS_RESET);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	sleep_ms(300);
	expect_no_wc_now(a.scq);
	to_state(&a, IBV_QPS_ERR);
	expect_wc(a.scq, 1, IBV_WC_WR_FLUSH_ERR);
}

/*
 * ---- The responder refuses ----
 */

/* @wr fails with @status, and the requester goes to ERR */
static void fails(struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	post_recv(&a, 90, 60000, 100);
	wr->wr_id = 1;
	post(&a, wr);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 10));
	reason = expect_wc(a.scq, 1, status).vendor_err;
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.rcq, 90, IBV_WC_WR_FLUSH_ERR);
	expect_state(&a, IBV_QPS_ERR);
}

/* so does the responder, with @event if not -1: a receive completes with the error instead */
static void refused(struct ibv_send_wr *wr, enum ibv_wc_status status, int event)
{
	fails(wr, status);
	expect_state(&b, IBV_QPS_ERR);
	if (event >= 0)
		expect_event(event, b.qp);
	expect_no_event();
}

static const enum ibv_wr_opcode rdma_ops[] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* from offset 0 of @a to offset 4096 of @b, which holds zeroes */
static struct ibv_send_wr *rdma(enum ibv_wr_opcode op)
{
	struct ibv_send_wr *wr = at(swr(&a, 1, op, 0, is_atomic(op) ? 8 : 64), &b, 4096);

	fill(a.buf, 64, 5);
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr->wr.atomic.compare_add = 1;
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP)
		wr->wr.atomic.swap = 1;
	return wr;
}

static uint32_t *rkey_of(struct ibv_send_wr *wr)
{
	return is_atomic(wr->opcode) ? &wr->wr.atomic.rkey : &wr->wr.rdma.rkey;
}

static uint64_t *addr_of(struct ibv_send_wr *wr)
{
	return is_atomic(wr->opcode) ? &wr->wr.atomic.remote_addr :
				       &wr->wr.rdma.remote_addr;
}

static void spoil_rkey(struct ibv_send_wr *wr)
{
	*rkey_of(wr) ^= 0x100;
}

static void spoil_rkey_low(struct ibv_send_wr *wr)
{
	*rkey_of(wr) ^= 1;
}

static void spoil_rkey_zero(struct ibv_send_wr *wr)
{
	*rkey_of(wr) = 0;
}

static void spoil_end(struct ibv_send_wr *wr)
{
	if (is_atomic(wr->opcode))
		*addr_of(wr) = (uintptr_t)b.buf + BUF;
	else
		*addr_of(wr) = (uintptr_t)b.buf + BUF - 63;
}

static void spoil_start(struct ibv_send_wr *wr)
{
	*addr_of(wr) = (uintptr_t)b.buf - 8;
}

static void spoil_wrap(struct ibv_send_wr *wr)
{
	*addr_of(wr) = is_atomic(wr->opcode) ? -8ULL : -32ULL;
}

static void spoil_right(struct ibv_send_wr *wr)
{
	struct ibv_mr *mr;
	int access = ACCESS_ALL;

	if (wr->opcode == IBV_WR_RDMA_READ)
		access &= ~IBV_ACCESS_REMOTE_READ;
	else if (is_atomic(wr->opcode))
		access &= ~IBV_ACCESS_REMOTE_ATOMIC;
	else
		access &= ~IBV_ACCESS_REMOTE_WRITE;
	mr = ibv_reg_mr(pd, b.buf, BUF, access);
	CHECK(mr);
	*rkey_of(wr) = mr->rkey;
}

static void spoil_pd(struct ibv_send_wr *wr)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *mr;

	CHECK(other);
	mr = ibv_reg_mr(other, b.buf, BUF, ACCESS_ALL);
	CHECK(mr);
	*rkey_of(wr) = mr->rkey;
}

static void spoil_dereg(struct ibv_send_wr *wr)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL);

	CHECK(mr);
	*rkey_of(wr) = mr->rkey;
	SAME(ibv_dereg_mr(mr), 0);
}

static void rem_access_err(void)
{
	static const struct {
		const char *name;
		void (*spoil)(struct ibv_send_wr *wr);
	} ways[] = {
		{ "index of rkey", spoil_rkey },
		{ "low byte of rkey", spoil_rkey_low },
		{ "rkey 0", spoil_rkey_zero },
		{ "one byte too far", spoil_end },
		{ "before the region", spoil_start },
		{ "over the end of all addresses", spoil_wrap },
		{ "no right", spoil_right },
		{ "another PD", spoil_pd },
		{ "deregistered", spoil_dereg },
	};
	struct ibv_send_wr *wr;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		for (j = 0; j < ARRAY_SIZE(rdma_ops); j++) {
			note("%s, opcode %d", ways[i].name, rdma_ops[j]);
			make_pair(&a, &b, CONF());
			post_recv(&b, 91, 50000, 100);
			wr = rdma(rdma_ops[j]);
			ways[i].spoil(wr);
			refused(wr, IBV_WC_REM_ACCESS_ERR, rdma_ops[j] == IBV_WR_RDMA_WRITE_WITH_IMM ?
				-1 : IBV_EVENT_QP_ACCESS_ERR);
			expect_wc(b.rcq, 91, rdma_ops[j] == IBV_WR_RDMA_WRITE_WITH_IMM ?
					     IBV_WC_LOC_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
			check_zero(b.buf, BUF);
			check_filled(a.buf, 64, 5);
			/* not unmake(): a region of spoil_right is left */
			SAME(ibv_destroy_qp(a.qp), 0);
			SAME(ibv_destroy_qp(b.qp), 0);
		}
	}
}

/* the QP does not allow the operation, though the region does */
static void not_enabled(void)
{
	static const int denied[] = {
		IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC,
	};
	int j;

	for (j = 0; j < ARRAY_SIZE(rdma_ops); j++) {
		note("opcode %d", rdma_ops[j]);
		make(&a, CONF());
		make(&b, CONF(.access = ACCESS_ALL & ~denied[j]));
		connect_ends(&a, &b);
		post_recv(&b, 91, 50000, 100);
		refused(rdma(rdma_ops[j]), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
		expect_wc(b.rcq, 91, IBV_WC_WR_FLUSH_ERR);
		check_zero(b.buf, BUF);
		unmake(&a);
		unmake(&b);
	}
}

/* changed while it works */
static void access_flags_changed(void)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };

	make_pair(&a, &b, CONF());
	post(&a, rdma(IBV_WR_RDMA_WRITE));
	expect_ok(a.scq, 1);
	SAME(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	post(&a, rdma(IBV_WR_RDMA_READ));
	expect_ok(a.scq, 1);
	refused(rdma(IBV_WR_RDMA_WRITE), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

static void misaligned_atomic(void)
{
	struct ibv_send_wr *wr;
	int i, off;

	for (off = 1; off < 8; off += off < 4 ? 1 : 3) {
		for (i = 3; i < 5; i++) {
			note("opcode %d, offset %d", rdma_ops[i], off);
			make_pair(&a, &b, CONF());
			wr = rdma(rdma_ops[i]);
			*addr_of(wr) += off;
			refused(wr, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR);
			check_zero(b.buf, BUF);
			unmake(&a);
			unmake(&b);
		}
	}
}

static void no_responder_resources(void)
{
	int i;

	for (i = 2; i < 5; i++) {
		note("opcode %d", rdma_ops[i]);
		make_pair(&a, &b, CONF(.dest_rd = 0));
		post(&a, rdma(IBV_WR_RDMA_WRITE));
		expect_ok(a.scq, 1);
		refused(rdma(rdma_ops[i]), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR);
		unmake(&a);
		unmake(&b);
	}
}

/* LOC_LEN_ERR there, REM_INV_REQ_ERR here */
static void receive_too_small(void)
{
	make_pair(&a, &b, CONF());
	post_recv(&b, 91, 50000, 99);
	post_recv(&b, 92, 50000, 200);
	refused(swr(&a, 1, IBV_WR_SEND, 0, 100), IBV_WC_REM_INV_REQ_ERR, -1);
	expect_wc(b.rcq, 91, IBV_WC_LOC_LEN_ERR);
	expect_wc(b.rcq, 92, IBV_WC_WR_FLUSH_ERR);
	expect_no_wc_now(b.rcq);
}

static void receive_too_small_of_many(void)
{
	struct ibv_recv_wr *wr;
	int i;

	make_pair(&a, &b, CONF());
	wr = rwr(&b, 91, 50000, 25);
	for (i = 1; i < 4; i++)
		wr->sg_list[i] = wr->sg_list[0];
	wr->num_sge = 4;
	post_r(&b, wr);
	refused(swr(&a, 1, IBV_WR_SEND, 0, 101), IBV_WC_REM_INV_REQ_ERR, -1);
	expect_wc(b.rcq, 91, IBV_WC_LOC_LEN_ERR);
}

static void receive_none(void)
{
	make_pair(&a, &b, CONF());
	post_recv(&b, 91, 0, 0);
	refused(swr(&a, 1, IBV_WR_SEND, 0, 1), IBV_WC_REM_INV_REQ_ERR, -1);
	expect_wc(b.rcq, 91, IBV_WC_LOC_LEN_ERR);
}

/* the receive's own elements are at fault: LOC_PROT_ERR there, REM_OP_ERR here */
static void receive_bad_element(void)
{
	static const char * const names[] = {
		"lkey", "too long", "before", "no local write", "second element",
		"another PD",
	};
	struct ibv_recv_wr *wr;
	struct ibv_pd *other;
	int i;

	other = ibv_alloc_pd(ctx);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		note("%s", names[i]);
		make_pair(&a, &b, CONF());
		wr = rwr(&b, 91, 50000, 100);
		switch (i) {
		case 0:
			wr->sg_list[0].lkey ^= 0x100;
			break;
		case 1:
			wr->sg_list[0].addr = (uintptr_t)b.buf + BUF - 99;
			break;
		case 2:
			wr->sg_list[0].addr = (uintptr_t)b.buf - 1;
			break;
		case 3:
			wr->sg_list[0].lkey = ibv_reg_mr(pd, b.buf, BUF,
							 IBV_ACCESS_REMOTE_READ)->lkey;
			break;
		case 4:
			wr->sg_list[0].length = 99;
			wr->sg_list[1] = wr->sg_list[0];
			wr->sg_list[1].lkey ^= 0x100;
			wr->num_sge = 2;
			break;
		case 5:
			wr->sg_list[0].lkey = ibv_reg_mr(other, b.buf, BUF, ACCESS_ALL)->lkey;
			break;
		}
		post_r(&b, wr);
		post_recv(&b, 92, 50000, 100);
		refused(swr(&a, 1, IBV_WR_SEND, 0, 100), IBV_WC_REM_OP_ERR, -1);
		expect_wc(b.rcq, 91, IBV_WC_LOC_PROT_ERR);
		expect_wc(b.rcq, 92, IBV_WC_WR_FLUSH_ERR);
		check_zero(b.buf, BUF);
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_destroy_qp(b.qp), 0);
	}
}

/* SEND_WITH_INV of what is no window of the QP */
static void invalidate_refused(void)
{
	struct ibv_send_wr *wr;

	make_pair(&a, &b, CONF());
	post_recv(&b, 91, 50000, 100);
	wr = swr(&a, 1, IBV_WR_SEND_WITH_INV, 0, 100);
	wr->invalidate_rkey = 0x7fffff00;
	refused(wr, IBV_WC_REM_ACCESS_ERR, -1);
	expect_wc(b.rcq, 91, IBV_WC_LOC_ACCESS_ERR);
}

/*
 * ---- The requester itself ----
 */

/* @wr fails with @status; nothing is seen of it at the responder */
static void local_fault(struct ibv_send_wr *wr, enum ibv_wc_status status)
{
	post_recv(&b, 91, 50000, 100);
	fails(wr, status);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_wc_now(b.rcq);
	expect_no_event();
	check_zero(b.buf, BUF);
	SAME(ibv_destroy_qp(a.qp), 0);
	SAME(ibv_destroy_qp(b.qp), 0);
}

static void local_protection(enum ibv_wr_opcode op)
{
	struct ibv_send_wr *wr;
	int i;

	for (i = 0; i < 4; i++) {
		note("opcode %d, way %d", op, i);
		make_pair(&a, &b, CONF());
		wr = swr(&a, 1, op, 0, is_atomic(op) ? 8 : 100);
		if (op != IBV_WR_SEND)
			at(wr, &b, 0);
		switch (i) {
		case 0:
			wr->sg_list->lkey ^= 0x100;
			break;
		case 1:
			wr->sg_list->addr = (uintptr_t)a.buf + BUF - 7;
			break;
		case 2:
			wr->sg_list->addr = (uintptr_t)a.buf - 1;
			break;
		case 3:
			wr->sg_list->lkey = 0;
			break;
		}
		local_fault(wr, IBV_WC_LOC_PROT_ERR);
	}
}

static void loc_prot_err(void)
{
	local_protection(IBV_WR_SEND);
	local_protection(IBV_WR_RDMA_WRITE);
	local_protection(IBV_WR_RDMA_READ);
	local_protection(IBV_WR_ATOMIC_FETCH_AND_ADD);
}

/* READ and atomics write to local memory */
static void loc_prot_err_no_local_write(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct ibv_send_wr *wr;
	struct ibv_mr *mr;
	int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		make_pair(&a, &b, CONF());
		mr = ibv_reg_mr(pd, a.buf, BUF, 0);
		CHECK(mr);
		/* while SEND only reads it */
		post_recv(&b, 3, 1000, 8);
		wr = swr(&a, 4, IBV_WR_SEND, 0, 8);
		wr->sg_list->lkey = mr->lkey;
		post(&a, wr);
		expect_ok(a.scq, 4);
		expect_ok(b.rcq, 3);
		wr = at(swr(&a, 1, ops[i], 0, 8), &b, 0);
		wr->sg_list->lkey = mr->lkey;
		local_fault(wr, IBV_WC_LOC_PROT_ERR);
	}
}

static void loc_len_err_atomic(void)
{
	static const int lengths[] = { 0, 4, 7, 9, 16 };
	int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		note("%d bytes", lengths[i]);
		make_pair(&a, &b, CONF());
		local_fault(at(swr(&a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, lengths[i]),
			       &b, 0), IBV_WC_LOC_LEN_ERR);
	}
}

/* two elements of four bytes are eight */
static void atomic_two_elements(void)
{
	struct ibv_send_wr *wr;
	uint64_t before = 0x1122334455667788, result;

	make_pair(&a, &b, CONF());
	memcpy(b.buf, &before, 8);
	wr = at(swr(&a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 100, 4), &b, 0);
	wr->sg_list[1] = wr->sg_list[0];
	wr->sg_list[1].addr += 100;
	wr->num_sge = 2;
	wr->wr.atomic.compare_add = 1;
	post(&a, wr);
	expect_ok(a.scq, 1);
	memcpy(&result, a.buf + 100, 4);
	memcpy((char *)&result + 4, a.buf + 200, 4);
	SAME(result, before);
	memcpy(&result, b.buf, 8);
	SAME(result, before + 1);
}

static void loc_qp_op_err_no_credit(void)
{
	int i;

	for (i = 2; i < 5; i++) {
		note("opcode %d", rdma_ops[i]);
		make_pair(&a, &b, CONF(.rd = 0));
		post(&a, rdma(IBV_WR_RDMA_WRITE));
		expect_ok(a.scq, 1);
		memset(b.buf, 0, BUF);
		local_fault(rdma(rdma_ops[i]), IBV_WC_LOC_QP_OP_ERR);
	}
}

/* an unsignaled work request that fails is reported */
static void unsignaled_error(void)
{
	struct ibv_send_wr *wr;

	make_pair(&a, &b, CONF());
	wr = swr(&a, 1, IBV_WR_SEND, 0, 100);
	wr->sg_list->lkey = 0;
	wr->send_flags = 0;
	local_fault(wr, IBV_WC_LOC_PROT_ERR);
}

/* what came before the failed one is not touched */
static void earlier_succeed(void)
{
	struct ibv_send_wr *wrs[4];
	int i;

	make_pair(&a, &b, CONF());
	fill(a.buf, 100, 9);
	for (i = 0; i < 4; i++) {
		wrs[i] = at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 100), &b, i * 100);
		if (i)
			wrs[i - 1]->next = wrs[i];
	}
	wrs[2]->sg_list->lkey = 0;
	post(&a, wrs[0]);
	expect_ok(a.scq, 0);
	expect_ok(a.scq, 1);
	expect_wc(a.scq, 2, IBV_WC_LOC_PROT_ERR);
	expect_wc(a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	check_filled(b.buf, 100, 9);
	check_filled(b.buf + 100, 100, 9);
	check_zero(b.buf + 200, 200);
}

/* a connection that failed is as good as new after RESET */
static void used_again(void)
{
	make_pair(&a, &b, CONF());
	post_recv(&b, 91, 0, 10);
	refused(swr(&a, 1, IBV_WR_SEND, 0, 100), IBV_WC_REM_INV_REQ_ERR, -1);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	check_works(&a, &b);
}

/*
 * ---- vendor_err ----
 *
 * conformance.rst has the numbers.
 */

static void reasons_of_requester(void)
{
	struct ibv_send_wr *wr;

	make_pair(&a, &b, CONF());
	local_fault(at(swr(&a, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 4), &b, 0),
		    IBV_WC_LOC_LEN_ERR);
	SAME(reason, 4);
	make_pair(&a, &b, CONF());
	wr = swr(&a, 1, IBV_WR_SEND, 0, 100);
	wr->sg_list->lkey = 0;
	local_fault(wr, IBV_WC_LOC_PROT_ERR);
	SAME(reason, WEFT_FAULT_LOCAL_KEY);
	make_pair(&a, &b, CONF(.rd = 0));
	local_fault(rdma(IBV_WR_RDMA_READ), IBV_WC_LOC_QP_OP_ERR);
	SAME(reason, 8);
	make_pair(&a, &b, CONF(.timeout = 12, .retry = 0));
	to_state(&b, IBV_QPS_RESET);
	fails(rdma(IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
	SAME(reason, WEFT_FAULT_RETRY_STATE);
	make_pair(&a, &b, CONF(.rnr_retry = 0));
	fails(swr(&a, 1, IBV_WR_SEND, 0, 100), IBV_WC_RNR_RETRY_EXC_ERR);
	SAME(reason, 10);
	post(&a, swr(&a, 3, IBV_WR_SEND, 0, 100));
	SAME(expect_wc(a.scq, 3, IBV_WC_WR_FLUSH_ERR).vendor_err, 1);
}

static void reasons_of_responder(void)
{
	struct ibv_send_wr *wr;
	struct ibv_recv_wr *rw;

	make_pair(&a, &b, CONF());
	wr = rdma(IBV_WR_RDMA_WRITE);
	spoil_rkey(wr);
	refused(wr, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	SAME(reason, WEFT_FAULT_REMOTE_KEY);
	make(&a, CONF());
	make(&b, CONF(.access = IBV_ACCESS_LOCAL_WRITE));
	connect_ends(&a, &b);
	refused(rdma(IBV_WR_RDMA_WRITE), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	SAME(reason, 13);
	make_pair(&a, &b, CONF());
	wr = rdma(IBV_WR_ATOMIC_FETCH_AND_ADD);
	*addr_of(wr) += 1;
	refused(wr, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR);
	SAME(reason, 14);
	make_pair(&a, &b, CONF(.dest_rd = 0));
	refused(rdma(IBV_WR_RDMA_READ), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR);
	SAME(reason, 15);
	make_pair(&a, &b, CONF());
	post_recv(&b, 91, 0, 10);
	post_recv(&b, 92, 0, 10);
	refused(swr(&a, 1, IBV_WR_SEND, 0, 100), IBV_WC_REM_INV_REQ_ERR, -1);
	SAME(reason, 16);
	SAME(expect_wc(b.rcq, 91, IBV_WC_LOC_LEN_ERR).vendor_err, 16);
	SAME(expect_wc(b.rcq, 92, IBV_WC_WR_FLUSH_ERR).vendor_err, 1);
	make_pair(&a, &b, CONF());
	rw = rwr(&b, 91, 0, 100);
	rw->sg_list->lkey ^= 0x100;
	post_r(&b, rw);
	refused(swr(&a, 1, IBV_WR_SEND, 0, 100), IBV_WC_REM_OP_ERR, -1);
	SAME(reason, WEFT_FAULT_RECV_KEY);
	SAME(expect_wc(b.rcq, 91, IBV_WC_LOC_PROT_ERR).vendor_err, WEFT_FAULT_RECV_KEY);
	make_pair(&a, &b, CONF());
	post_recv(&b, 91, 0, 100);
	wr = swr(&a, 1, IBV_WR_SEND_WITH_INV, 0, 100);
	wr->invalidate_rkey = 0x7fffff00;
	refused(wr, IBV_WC_REM_ACCESS_ERR, -1);
	SAME(reason, 19);
	SAME(expect_wc(b.rcq, 91, IBV_WC_LOC_ACCESS_ERR).vendor_err, 19);
}

/*
 * ---- No device ----
 */

/*
 * What is outstanding will never be done. Somebody else removes the device: $REMOVAL
 * is set then.
 */
static void fatal_err(void)
{
	struct ibv_wc wc;
	struct end c;

	if (!getenv("REMOVAL"))
		return;
	make_pair(&a, &b, CONF(.rnr_timer = 14));
	make(&c, CONF(.type = IBV_QPT_UD));
	to_init(&c);
	post_recv(&a, 10, 0, 100);
	post_recv(&a, 11, 0, 100);
	post_recv(&c, 12, 0, 100);
	/* there is no receive for them */
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	printf("running\n");
	wc = expect_wc(a.scq, 1, IBV_WC_FATAL_ERR);
	SAME(wc.vendor_err, 28);
	SAME(wc.qp_num, a.qp->qp_num);
	expect_wc(a.scq, 2, IBV_WC_FATAL_ERR);
	expect_wc(a.rcq, 10, IBV_WC_FATAL_ERR);
	expect_wc(a.rcq, 11, IBV_WC_FATAL_ERR);
	expect_wc(c.rcq, 12, IBV_WC_FATAL_ERR);
	expect_event(IBV_EVENT_DEVICE_FATAL, NULL);
	/* and after those there are no others */
	SAME(ibv_poll_cq(a.scq, 1, &wc), -EIO);
}

TESTS(
	TEST(rnr_then_success), TEST(rnr_write_imm), TEST(rnr_retry_exc),
	TEST(rnr_count_starts_again),
	TEST(retry_exc_peer_reset), TEST(retry_exc_peer_destroyed),
	TEST(retry_exc_peer_in_error), TEST(retry_exc_peer_in_init),
	TEST(retry_exc_not_connected), TEST(retry_exc_other_type),
	TEST(retry_exc_wrong_psn), TEST(retry_until_there), TEST(timeout_0),
	TEST(rem_access_err), TEST(not_enabled), TEST(access_flags_changed),
	TEST(misaligned_atomic), TEST(no_responder_resources),
	TEST(receive_too_small), TEST(receive_too_small_of_many), TEST(receive_none),
	TEST(receive_bad_element), TEST(invalidate_refused),
	TEST(loc_prot_err), TEST(loc_prot_err_no_local_write), TEST(loc_len_err_atomic),
	TEST(atomic_two_elements), TEST(loc_qp_op_err_no_credit), TEST(unsignaled_error),
	TEST(earlier_succeed), TEST(used_again), TEST(reasons_of_requester),
	TEST(reasons_of_responder), TEST(fatal_err)
)
