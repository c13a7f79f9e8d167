// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a work request does, and when it completes.
 */
#include "lib.h"

#include <arpa/inet.h>
#include <pthread.h>

static struct end a, b;

/*
 * ---- Operations ----
 */

static void send_imm(enum ibv_qp_type type)
{
	struct ibv_send_wr *wr;
	struct ibv_wc wc;

	note("type %d", type);
	make_pair(&a, &b, CONF(.type = type));
	fill(a.buf, 300, 1);
	post_recv(&b, 1, 0, 500);
	wr = swr(&a, 2, IBV_WR_SEND_WITH_IMM, 0, 300);
	wr->imm_data = htonl(0x12345678);
	post(&a, wr);
	wc = expect_ok(a.scq, 2);
	SAME(wc.opcode, IBV_WC_SEND);
	SAME(wc.qp_num, a.qp->qp_num);
	wc = expect_ok(b.rcq, 1);
	SAME(wc.opcode, IBV_WC_RECV);
	SAME(wc.wc_flags, IBV_WC_WITH_IMM);
	SAME(wc.imm_data, htonl(0x12345678));
	SAME(wc.byte_len, 300);
	SAME(wc.qp_num, b.qp->qp_num);
	check_filled(b.buf, 300, 1);
	check_zero(b.buf + 300, 200);
	/* without immediate data */
	post_recv(&b, 3, 0, 500);
	post(&a, swr(&a, 4, IBV_WR_SEND, 0, 10));
	expect_ok(a.scq, 4);
	wc = expect_ok(b.rcq, 3);
	SAME(wc.wc_flags, 0);
	SAME(wc.opcode, IBV_WC_RECV);
}

static void write_imm(enum ibv_qp_type type)
{
	struct ibv_send_wr *wr;
	struct ibv_wc wc;

	note("type %d", type);
	make_pair(&a, &b, CONF(.type = type));
	fill(a.buf, 300, 2);
	post_recv(&b, 1, 40000, 500);
	wr = at(swr(&a, 2, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 300), &b, 1000);
	wr->imm_data = htonl(0x89abcdef);
	post(&a, wr);
	SAME(expect_ok(a.scq, 2).opcode, IBV_WC_RDMA_WRITE);
	wc = expect_ok(b.rcq, 1);
	SAME(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	SAME(wc.wc_flags, IBV_WC_WITH_IMM);
	SAME(wc.imm_data, htonl(0x89abcdef));
	SAME(wc.byte_len, 300);
	check_filled(b.buf + 1000, 300, 2);
	/* its receive's memory is not touched */
	check_zero(b.buf + 40000, 500);
	/* a plain write completes nothing there */
	post_recv(&b, 3, 40000, 500);
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 300), &b, 2000));
	expect_ok(a.scq, 4);
	expect_no_wc(b.rcq);
	check_filled(b.buf + 2000, 300, 2);
}

static void immediate_rc(void)
{
	send_imm(IBV_QPT_RC);
	write_imm(IBV_QPT_RC);
}

static void immediate_uc(void)
{
	send_imm(IBV_QPT_UC);
	write_imm(IBV_QPT_UC);
}

static void read_and_atomics(void)
{
	struct ibv_send_wr *wr;
	struct ibv_wc wc;
	uint64_t v = 1000, w;

	make_pair(&a, &b, CONF());
	fill(b.buf + 100, 5000, 3);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_READ, 7, 5000), &b, 100));
	wc = expect_ok(a.scq, 1);
	SAME(wc.opcode, IBV_WC_RDMA_READ);
	SAME(wc.byte_len, 5000);
	check_filled(a.buf + 7, 5000, 3);
	memcpy(b.buf, &v, 8);
	wr = at(swr(&a, 2, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 8), &b, 0);
	wr->wr.atomic.compare_add = -1ULL;
	post(&a, wr);
	wc = expect_ok(a.scq, 2);
	SAME(wc.opcode, IBV_WC_FETCH_ADD);
	SAME(wc.byte_len, 8);
	memcpy(&w, a.buf + 8, 8);
	SAME(w, 1000);
	memcpy(&w, b.buf, 8);
	SAME(w, 999);
	/* that does not compare, and that does */
	for (v = 998; v <= 999; v++) {
		wr = at(swr(&a, 3, IBV_WR_ATOMIC_CMP_AND_SWP, 16, 8), &b, 0);
		wr->wr.atomic.compare_add = v;
		wr->wr.atomic.swap = 5;
		post(&a, wr);
		SAME(expect_ok(a.scq, 3).opcode, IBV_WC_COMP_SWAP);
		memcpy(&w, a.buf + 16, 8);
		SAME(w, 999);
		memcpy(&w, b.buf, 8);
		SAME(w, v == 999 ? 5 : 999);
	}
	expect_no_wc_now(b.rcq);
}

static void send_inv(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *wr;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	uint32_t rkey;

	make_pair(&a, &b, CONF());
	CHECK(mw);
	mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(mr);
	wr = bind_wr(&b, 1, mw, mr, 1000);
	rkey = wr->bind_mw.rkey;
	post(&b, wr);
	SAME(expect_ok(b.scq, 1).opcode, IBV_WC_BIND_MW);
	wr = at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 0);
	wr->wr.rdma.rkey = rkey;
	post(&a, wr);
	expect_ok(a.scq, 2);
	post_recv(&b, 3, 0, 100);
	wr = swr(&a, 4, IBV_WR_SEND_WITH_INV, 0, 60);
	wr->invalidate_rkey = rkey;
	post(&a, wr);
	expect_ok(a.scq, 4);
	wc = expect_ok(b.rcq, 3);
	SAME(wc.wc_flags, IBV_WC_WITH_INV);
	SAME(wc.invalidated_rkey, rkey);
	SAME(wc.opcode, IBV_WC_RECV);
	SAME(wc.byte_len, 60);
	wr = at(swr(&a, 5, IBV_WR_RDMA_WRITE, 0, 100), &b, 0);
	wr->wr.rdma.rkey = rkey;
	post(&a, wr);
	expect_wc(a.scq, 5, IBV_WC_REM_ACCESS_ERR);
}

/*
 * ---- Lengths ----
 */

static void zero_length(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct ibv_send_wr *wr;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 2; i++) {
		note("type %d", types[i]);
		make_pair(&a, &b, CONF(.type = types[i]));
		post_recv(&b, 1, 0, 0);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 0));
		expect_ok(a.scq, 2);
		SAME(expect_ok(b.rcq, 1).byte_len, 0);
		/* an element of no length has no key worth a look (C9-88) */
		wr = swr(&a, 3, IBV_WR_SEND, 0, 0);
		wr->num_sge = 1;
		post_recv(&b, 4, 0, 10);
		post(&a, wr);
		expect_ok(a.scq, 3);
		SAME(expect_ok(b.rcq, 4).byte_len, 0);
		wr = at(swr(&a, 5, IBV_WR_RDMA_WRITE, 0, 0), &b, 0);
		wr->wr.rdma.rkey = 0;
		wr->wr.rdma.remote_addr = 1;
		post(&a, wr);
		expect_ok(a.scq, 5);
		post_recv(&b, 6, 0, 0);
		wr = at(swr(&a, 7, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 0), &b, 0);
		wr->imm_data = htonl(7);
		wr->wr.rdma.rkey = 0;
		post(&a, wr);
		expect_ok(a.scq, 7);
		wc = expect_ok(b.rcq, 6);
		SAME(wc.byte_len, 0);
		SAME(wc.imm_data, htonl(7));
	}
	make_pair(&a, &b, CONF());
	wr = at(swr(&a, 8, IBV_WR_RDMA_READ, 0, 0), &b, 0);
	wr->wr.rdma.rkey = 0;
	post(&a, wr);
	SAME(expect_ok(a.scq, 8).byte_len, 0);
	check_works(&a, &b);
}

/* around each boundary there is */
static void lengths(void)
{
	static const int about[] = { 1, 64, 256, 1024, 4096, 8192, 32768 };
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	int i, t, delta, length;

	for (t = 0; t < 2; t++) {
		make_pair(&a, &b, CONF(.type = types[t]));
		for (i = 0; i < ARRAY_SIZE(about); i++) {
			for (delta = -1; delta <= 1; delta++) {
				length = about[i] + delta;
				note("type %d, %d bytes", types[t], length);
				memset(b.buf, 0, BUF);
				fill(a.buf + 3, length, i);
				post_recv(&b, 1, 5, length);
				post(&a, swr(&a, 2, IBV_WR_SEND, 3, length));
				expect_ok(a.scq, 2);
				SAME(expect_ok(b.rcq, 1).byte_len, length);
				check_zero(b.buf, 5);
				check_filled(b.buf + 5, length, i);
				check_zero(b.buf + 5 + length, 100);
			}
		}
	}
}

static volatile bool scribbling;

static void *scribble(void *memory)
{
	volatile uint64_t *word = memory;
	size_t i = 0;

	while (scribbling)
		word[i++ % ((256 << 10) / sizeof(*word))]++;
	return NULL;
}

/* What is sent or read may change meanwhile: anything arrives then, but it does. */
static void changing_memory(void)
{
	size_t length = 256 << 10;
	uint8_t *from = memory(length), *to = memory(length);
	struct ibv_mr *from_mr = ibv_reg_mr(pd, from, length, ACCESS_ALL);
	struct ibv_mr *to_mr = ibv_reg_mr(pd, to, length, ACCESS_ALL);
	struct ibv_send_wr *wr;
	pthread_t thread;
	int i;

	CHECK(from_mr && to_mr);
	make_pair(&a, &b, CONF());
	scribbling = true;
	SAME(pthread_create(&thread, NULL, scribble, from), 0);
	for (i = 0; i < 20; i++) {
		wr = swr(&a, i, i % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 0, 1);
		wr->sg_list[0] = i % 2 ?
			(struct ibv_sge){ (uintptr_t)to, length, to_mr->lkey } :
			(struct ibv_sge){ (uintptr_t)from, length, from_mr->lkey };
		wr->wr.rdma.remote_addr = (uintptr_t)(i % 2 ? from : to);
		wr->wr.rdma.rkey = i % 2 ? from_mr->rkey : to_mr->rkey;
		post(&a, wr);
		expect_ok(a.scq, i);
	}
	scribbling = false;
	SAME(pthread_join(thread, NULL), 0);
	fill(from, length, 7);
	post(&a, wr);
	expect_ok(a.scq, i - 1);
	check_filled(to, length, 7);
	check_works(&a, &b);
}

/* a message that takes many pieces, with a PSN that wraps in it */
static void long_message(void)
{
	size_t length = 48 << 20;
	uint8_t *from = memory(length), *to = memory(length + 4096);
	struct ibv_mr *from_mr = ibv_reg_mr(pd, from, length, ACCESS_ALL);
	struct ibv_mr *to_mr = ibv_reg_mr(pd, to, length + 4096, ACCESS_ALL);
	struct ibv_send_wr *wr;

	CHECK(from_mr && to_mr);
	make_pair(&a, &b, CONF());
	fill(from, length, 6);
	wr = swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 1);
	wr->sg_list[0] = (struct ibv_sge){ (uintptr_t)from, length, from_mr->lkey };
	wr->wr.rdma.remote_addr = (uintptr_t)to + 1;
	wr->wr.rdma.rkey = to_mr->rkey;
	post(&a, wr);
	expect_ok(a.scq, 1);
	check_zero(to, 1);
	check_filled(to + 1, length, 6);
	check_zero(to + 1 + length, 4095);
	memset(from, 0, length);
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr_id = 2;
	post(&a, wr);
	SAME(expect_ok(a.scq, 2).byte_len, length);
	check_filled(from, length, 6);
	check_works(&a, &b);
}

/*
 * ---- Elements and inline data ----
 */

static void sges(enum ibv_wr_opcode op)
{
	struct ibv_send_wr *wr;
	struct ibv_recv_wr *rw;
	int i, off = 0, total = 0;

	make_pair(&a, &b, CONF(.sge = 32));
	fill(a.buf, 20000, 8);
	wr = swr(&a, 1, op, 0, 1);
	rw = rwr(&b, 2, 0, 1);
	/* pieces of 1, 2, 3 ... bytes, with gaps; there the other way round */
	for (i = 0; i < 32; i++) {
		wr->sg_list[i] = wr->sg_list[0];
		wr->sg_list[i].addr = (uintptr_t)a.buf + 20000 + off;
		wr->sg_list[i].length = i + 1;
		memcpy(a.buf + 20000 + off, a.buf + total, i + 1);
		off += i + 10;
		total += i + 1;
	}
	for (i = 0, off = 0; i < 32; i++) {
		rw->sg_list[i] = rw->sg_list[0];
		rw->sg_list[i].addr = (uintptr_t)b.buf + 20000 + off;
		rw->sg_list[i].length = 32 - i;
		off += 32 - i + 5;
	}
	rw->num_sge = 32;
	wr->num_sge = 32;
	if (op == IBV_WR_SEND)
		post_r(&b, rw);
	else
		at(wr, &b, 0);
	post(&a, wr);
	expect_ok(a.scq, 1);
	if (op == IBV_WR_SEND) {
		SAME(expect_ok(b.rcq, 2).byte_len, total);
		for (i = 0, off = 0; i < 32; i++) {
			memcpy(b.buf + off, (void *)rw->sg_list[i].addr,
			       rw->sg_list[i].length);
			off += rw->sg_list[i].length;
		}
	}
	check_filled(b.buf, total, 8);
}

static void sges_send(void)
{
	sges(IBV_WR_SEND);
}

static void sges_write(void)
{
	sges(IBV_WR_RDMA_WRITE);
}

static void sges_read(void)
{
	struct ibv_send_wr *wr;
	int i, off = 0;

	make_pair(&a, &b, CONF(.sge = 32));
	fill(b.buf, 32 * 33 / 2, 8);
	wr = at(swr(&a, 1, IBV_WR_RDMA_READ, 0, 1), &b, 0);
	for (i = 0; i < 32; i++) {
		wr->sg_list[i] = wr->sg_list[0];
		wr->sg_list[i].addr = (uintptr_t)a.buf + 1000 * i;
		wr->sg_list[i].length = i + 1;
	}
	wr->num_sge = 32;
	post(&a, wr);
	SAME(expect_ok(a.scq, 1).byte_len, 32 * 33 / 2);
	for (i = 0; i < 32; i++) {
		memcpy(a.buf + 40000 + off, a.buf + 1000 * i, i + 1);
		off += i + 1;
		check_zero(a.buf + 1000 * i + i + 1, 10);
	}
	check_filled(a.buf + 40000, off, 8);
}

/* the data are taken at the time of the call, from any memory */
static void inline_data(enum ibv_wr_opcode op, int length)
{
	uint8_t *data = memory(4096);
	struct ibv_send_wr *wr;

	note("opcode %d, %d bytes", op, length);
	make_pair(&a, &b, CONF(.inline_data = 1024, .rnr_timer = 14));
	fill(data, length, 4);
	wr = swr(&a, 1, op, 0, 1);
	wr->sg_list[0].addr = (uintptr_t)data;
	wr->sg_list[0].length = length / 3;
	wr->sg_list[0].lkey = 0xdead;
	wr->sg_list[1].addr = (uintptr_t)data + length / 3;
	wr->sg_list[1].length = length - length / 3;
	wr->sg_list[1].lkey = 0xbeef;
	wr->num_sge = 2;
	wr->send_flags |= IBV_SEND_INLINE;
	if (op != IBV_WR_SEND && op != IBV_WR_SEND_WITH_IMM)
		at(wr, &b, 0);
	else
		post_recv(&a, 9, 0, 10);
	post(&a, wr);
	/* SENDs have no receive to go to yet */
	munmap(data, 4096);
	wr->sg_list[0].addr = 0;
	if (op != IBV_WR_RDMA_WRITE)
		post_recv(&b, 2, 0, length);
	expect_ok(a.scq, 1);
	check_filled(b.buf, length, 4);
	unmake(&a);
	unmake(&b);
}

static void inline_1k(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		inline_data(ops[i], 1024);
		inline_data(ops[i], 1);
		inline_data(ops[i], 0);
	}
}

static void inline_datagram(void)
{
	struct ibv_send_wr *wr;
	struct ibv_ah_attr av;

	make_pair(&a, &b, CONF(.type = IBV_QPT_UD, .inline_data = 1024));
	av_to(&av, gid4, gid4);
	post_recv(&b, 2, 0, 2000);
	fill(a.buf, 1024, 5);
	wr = to_ah(swr(&a, 1, IBV_WR_SEND, 0, 1024), ibv_create_ah(pd, &av), &b);
	wr->sg_list->lkey = 0xdead;
	wr->send_flags |= IBV_SEND_INLINE;
	post(&a, wr);
	memset(a.buf, 0, 1024);
	expect_ok(a.scq, 1);
	expect_ok(b.rcq, 2);
	check_filled(b.buf + 40, 1024, 5);
}

/*
 * ---- Signaling, order ----
 */

static void unsignaled(void)
{
	struct ibv_send_wr *wr;
	int i, j;

	make_pair(&a, &b, CONF(.sq = 16));
	/* the queue is passed three times */
	for (i = 0; i < 12; i++) {
		for (j = 0; j < 4; j++) {
			wr = at(swr(&a, i * 4 + j, IBV_WR_RDMA_WRITE, 0, 8), &b, 0);
			if (j < 3)
				wr->send_flags = 0;
			post(&a, wr);
		}
		expect_ok(a.scq, i * 4 + 3);
	}
	expect_no_wc(a.scq);
}

/* their room comes back with the next completion, not before */
static void unsignaled_take_room(void)
{
	struct ibv_send_wr *wr, *bad;
	int i;

	make_pair(&a, &b, CONF(.sq = 16));
	for (i = 0; i < 15; i++) {
		wr = at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0);
		wr->send_flags = 0;
		post(&a, wr);
	}
	post(&a, at(swr(&a, 15, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
	sleep_ms(50);
	wr = at(swr(&a, 16, IBV_WR_RDMA_WRITE, 0, 8), &b, 0);
	SAME(ibv_post_send(a.qp, wr, &bad), ENOMEM);
	CHECK(bad == wr);
	expect_ok(a.scq, 15);
	for (i = 20; i < 36; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
	for (i = 20; i < 36; i++)
		expect_ok(a.scq, i);
}

static void sig_all(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_send_wr *wr;
	int i;

	make_pair(&a, &b, CONF(.sig_all = true));
	SAME(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
	SAME(init.sq_sig_all, 1);
	for (i = 0; i < 5; i++) {
		wr = at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0);
		wr->send_flags = 0;
		post(&a, wr);
	}
	for (i = 0; i < 5; i++)
		expect_ok(a.scq, i);
}

/* what a READ brought is what a fenced work request behind it sends */
static void fence(void)
{
	struct ibv_send_wr *read, *send;
	int i;

	make_pair(&a, &b, CONF());
	for (i = 0; i < 20; i++) {
		note("round %d", i);
		memset(a.buf, 0, 20000);
		memset(b.buf + 20000, 0, 20000);
		fill(b.buf, 20000, i);
		read = at(swr(&a, 1, IBV_WR_RDMA_READ, 0, 20000), &b, 0);
		send = at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 20000), &b, 20000);
		send->send_flags |= IBV_SEND_FENCE;
		read->next = send;
		post(&a, read);
		expect_ok(a.scq, 1);
		expect_ok(a.scq, 2);
		check_filled(b.buf + 20000, 20000, i);
	}
}

/* receives complete in the order of the sends */
static void order(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct ibv_wc wc;
	int i, t;

	for (t = 0; t < 2; t++) {
		make_pair(&a, &b, CONF(.type = types[t], .sq = 16, .rq = 64));
		for (i = 0; i < 500; i++) {
			note("type %d, message %d", types[t], i);
			memcpy(a.buf, &i, 4);
			post_recv(&b, i, (i % 16) * 4, 4);
			post(&a, swr(&a, i, IBV_WR_SEND, 0, 4));
			expect_ok(a.scq, i);
			wc = expect_ok(b.rcq, i);
			SAME(wc.byte_len, 4);
			SAME(memcmp(b.buf + (i % 16) * 4, &i, 4), 0);
		}
	}
}

/*
 * ---- A QP that is connected to itself ----
 */

static void self_connected(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	int i;

	for (i = 0; i < 2; i++) {
		note("type %d", types[i]);
		make(&a, CONF(.type = types[i]));
		connect_ends(&a, &a);
		fill(a.buf, 1000, 1);
		post_recv(&a, 1, 5000, 1000);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 1000));
		expect_ok(a.scq, 2);
		expect_ok(a.rcq, 1);
		check_filled(a.buf + 5000, 1000, 1);
		post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE, 0, 1000), &a, 7000));
		expect_ok(a.scq, 3);
		check_filled(a.buf + 7000, 1000, 1);
	}
	make(&a, CONF(.rnr_timer = 14));
	connect_ends(&a, &a);
	fill(a.buf, 1000, 1);
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_READ, 9000, 1000), &a, 0));
	expect_ok(a.scq, 4);
	check_filled(a.buf + 9000, 1000, 1);
	post(&a, swr(&a, 5, IBV_WR_SEND, 0, 1000));
	expect_no_wc(a.scq);
	post_recv(&a, 6, 5000, 1000);
	expect_ok(a.scq, 5);
	expect_ok(a.rcq, 6);
	/* both roles fail at once */
	post_recv(&a, 7, 0, 10);
	post(&a, at(swr(&a, 8, IBV_WR_RDMA_WRITE, 0, 10), &a, BUF));
	/* in packets the NAK comes to a QP that is in ERR already */
	expect_wc(a.scq, 8, packets_forced() ? IBV_WC_WR_FLUSH_ERR : IBV_WC_REM_ACCESS_ERR);
	expect_wc(a.rcq, 7, IBV_WC_WR_FLUSH_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, a.qp);
	expect_no_event();
	to_state(&a, IBV_QPS_RESET);
	SAME(ibv_destroy_qp(a.qp), 0);
}

/* unreliable: a message without a receive is lost, the sender does not care */
static void uc_loses(void)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UC));
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 1);
	post_recv(&b, 2, 0, 100);
	expect_no_wc(b.rcq);
	/* a write to where it may not is dropped as well */
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE, 0, 100), &b, BUF));
	expect_ok(a.scq, 3);
	expect_state(&b, IBV_QPS_RTS);
	to_state(&b, IBV_QPS_RESET);
	post(&a, swr(&a, 4, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 4);
	expect_state(&a, IBV_QPS_RTS);
	/* the sender goes on counting, the receiver takes what comes */
	to_init(&b);
	post_recv(&b, 5, 0, 100);
	to_rtr(&b, &a);
	post(&a, swr(&a, 6, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 6);
	expect_ok(b.rcq, 5);
	expect_event(IBV_EVENT_COMM_EST, b.qp);
	expect_no_event();
}

/* IPv6 addresses, and from one to the other family's device */
static void over_ipv6(void)
{
	if (gid6 < 0)
		FAIL("no GID of an IPv6 address");
	make_pair(&a, &b, CONF(.gid = gid6));
	check_works(&a, &b);
	make_pair(&a, &b, CONF(.gid = gid6, .type = IBV_QPT_UC));
	check_works(&a, &b);
}

TESTS(
	TEST(immediate_rc), TEST(immediate_uc), TEST(read_and_atomics), TEST(send_inv),
	TEST(zero_length), TEST(lengths), TEST(long_message),
	TEST(changing_memory),
	TEST(sges_send), TEST(sges_write), TEST(sges_read), TEST(inline_1k),
	TEST(inline_datagram),
	TEST(unsignaled), TEST(unsignaled_take_room), TEST(sig_all), TEST(fence),
	TEST(order), TEST(self_connected), TEST(uc_loses), TEST(over_ipv6)
)
