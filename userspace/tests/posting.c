// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting: what is refused, how that is said, and that a work request which was
 * refused never runs. By ibv_post_send() and friends, then by ibv_wr_start().
 */
#include "lib.h"

#include <arpa/inet.h>
#include <pthread.h>

static struct end a, b;

/* a list; each writes its number as one byte at that offset of @b */
static struct ibv_send_wr *numbered(int first, int num)
{
	struct ibv_send_wr *head = NULL, *last = NULL, *wr;
	int i;

	for (i = first; i < first + num; i++) {
		a.buf[i] = i + 1;
		wr = at(swr(&a, i, IBV_WR_RDMA_WRITE, i, 1), &b, i);
		if (last)
			last->next = wr;
		else
			head = wr;
		last = wr;
	}
	return head;
}

static struct ibv_send_wr *nth(struct ibv_send_wr *wr, int n)
{
	while (n--)
		wr = wr->next;
	return wr;
}

/* @first to @first + @num - 1 were executed, none behind them */
static void expect_executed(int first, int num)
{
	int i;

	for (i = first; i < first + num; i++) {
		expect_ok(a.scq, i);
		SAME(b.buf[i], (uint8_t)(i + 1));
	}
	expect_no_wc(a.scq);
	check_zero(b.buf + first + num, 100);
}

/*
 * ---- ibv_post_send() ----
 */

static void send_queue_full(void)
{
	struct ibv_send_wr *wr, *bad = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int max;

	make_pair(&a, &b, CONF(.sq = 20, .cqe = 256));
	SAME(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
	max = init.cap.max_send_wr;
	CHECK(max >= 20 && max <= 64 - 5);
	wr = numbered(0, max + 5);
	SAME(ibv_post_send(a.qp, wr, &bad), ENOMEM);
	CHECK(bad == nth(wr, max));
	expect_executed(0, max);
	/* all of it is free again */
	wr = numbered(0, max);
	SAME(ibv_post_send(a.qp, wr, &bad), 0);
	sleep_ms(30);
	/* done, but not polled */
	wr = numbered(0, 1);
	SAME(ibv_post_send(a.qp, wr, &bad), ENOMEM);
	CHECK(bad == wr);
}

static void receive_queue_full(void)
{
	struct ibv_recv_wr *wrs[40], *bad = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int i, max;

	make_pair(&a, &b, CONF(.rq = 20));
	SAME(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
	max = init.cap.max_recv_wr;
	CHECK(max >= 20 && max < 40);
	for (i = 0; i < 40; i++) {
		wrs[i] = rwr(&b, i, 0, 10);
		if (i)
			wrs[i - 1]->next = wrs[i];
	}
	SAME(ibv_post_recv(b.qp, wrs[0], &bad), ENOMEM);
	CHECK(bad == wrs[max]);
	for (i = 0; i < max; i++) {
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 10));
		expect_ok(a.scq, i);
		expect_ok(b.rcq, i);
	}
	post(&a, swr(&a, 99, IBV_WR_SEND, 0, 10));
	expect_no_wc(b.rcq);
	/* too many elements: those before are posted, those behind are not */
	wrs[0]->next = wrs[1];
	wrs[1]->num_sge = 33;
	SAME(ibv_post_recv(b.qp, wrs[0], &bad), EINVAL);
	CHECK(bad == wrs[1]);
	expect_ok(b.rcq, 0);
	wrs[1]->num_sge = -1;
	SAME(ibv_post_recv(b.qp, wrs[1], &bad), EINVAL);
	CHECK(bad == wrs[1]);
	post(&a, swr(&a, 98, IBV_WR_SEND, 0, 10));
	expect_no_wc(b.rcq);
}

/* what spoils the third of five work requests */
struct spoil {
	const char *name;
	void (*spoil)(struct ibv_send_wr *wr);
};

static void sge_33(struct ibv_send_wr *wr)
{
	wr->num_sge = 33;
}

static void sge_negative(struct ibv_send_wr *wr)
{
	wr->num_sge = -1;
}

static void inline_too_long(struct ibv_send_wr *wr)
{
	wr->send_flags |= IBV_SEND_INLINE;
	wr->sg_list->length = 1025;
}

static void inline_sum_too_long(struct ibv_send_wr *wr)
{
	wr->send_flags |= IBV_SEND_INLINE;
	wr->sg_list[0].length = 600;
	wr->sg_list[1] = wr->sg_list[0];
	wr->num_sge = 2;
}

static void inline_sum_wraps(struct ibv_send_wr *wr)
{
	wr->send_flags |= IBV_SEND_INLINE;
	wr->sg_list[1] = wr->sg_list[0];
	wr->sg_list[1].length = -1U;
	wr->num_sge = 2;
}

static void inline_read(struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_RDMA_READ;
	wr->send_flags |= IBV_SEND_INLINE;
}

static void opcode_unknown(struct ibv_send_wr *wr)
{
	wr->opcode = 200;
}

static void opcode_huge(struct ibv_send_wr *wr)
{
	wr->opcode = -1;
}

static void opcode_tso(struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_TSO;
}

static void flag_unknown(struct ibv_send_wr *wr)
{
	wr->send_flags |= 1 << 20;
}

static void flag_csum(struct ibv_send_wr *wr)
{
	wr->send_flags |= IBV_SEND_IP_CSUM;
}

static const struct spoil spoils[] = {
	{ "33 elements", sge_33 }, { "-1 elements", sge_negative },
	{ "1025 bytes inline", inline_too_long }, { "2 * 600 inline", inline_sum_too_long },
	{ "inline wraps", inline_sum_wraps }, { "inline read", inline_read },
	{ "opcode 200", opcode_unknown }, { "opcode -1", opcode_huge },
	{ "opcode TSO", opcode_tso }, { "unknown flag", flag_unknown },
	{ "checksum flag", flag_csum },
};

static void refused_in_a_list(void)
{
	struct ibv_send_wr *wr, *bad;
	int i;

	make_pair(&a, &b, CONF(.sge = 4, .inline_data = 1024));
	for (i = 0; i < ARRAY_SIZE(spoils); i++) {
		note("%s", spoils[i].name);
		memset(b.buf, 0, BUF);
		wr = numbered(0, 5);
		spoils[i].spoil(nth(wr, 2));
		bad = NULL;
		SAME(ibv_post_send(a.qp, wr, &bad), EINVAL);
		CHECK(bad == nth(wr, 2));
		expect_executed(0, 2);
	}
	expect_state(&a, IBV_QPS_RTS);
	check_works(&a, &b);
}

/* each type with each opcode */
static void opcodes_of_types(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW,
		IBV_WR_SEND_WITH_INV, IBV_WR_TSO, IBV_WR_DRIVER1,
	};
	static const struct {
		enum ibv_qp_type type;
		int allowed; /* the first so many, without those of 'except' */
		unsigned int except;
	} types[] = {
		{ IBV_QPT_RC, 10, 0 },
		/* ibv_post_send(3); SEND_WITH_INV is not on the wire of UC */
		{ IBV_QPT_UC, 9, 1 << 4 | 1 << 5 | 1 << 6 },
		{ IBV_QPT_UD, 2, 0 },
	};
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_ah *ah = ah_to(gid4, gid4);
	struct ibv_send_wr *wr, *bad;
	int t, i, ret;

	for (t = 0; t < ARRAY_SIZE(types); t++) {
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			note("type %d, opcode %d", types[t].type, ops[i]);
			make_pair(&a, &b, CONF(.type = types[t].type));
			wr = swr(&a, 1, ops[i], 0, 8);
			if (ops[i] == IBV_WR_BIND_MW)
				wr->bind_mw.mw = mw;
			else if (types[t].type == IBV_QPT_UD)
				to_ah(wr, ah, &b);
			else
				at(wr, &b, 0);
			bad = NULL;
			ret = ibv_post_send(a.qp, wr, &bad);
			if (i < types[t].allowed && !(types[t].except & 1 << i)) {
				SAME(ret, 0);
			} else {
				SAME(ret, EINVAL);
				CHECK(bad == wr);
				expect_no_wc_now(a.scq);
				expect_state(&a, IBV_QPS_RTS);
			}
			SAME(ibv_destroy_qp(a.qp), 0);
			SAME(ibv_destroy_qp(b.qp), 0);
		}
	}
}

static void ud_without_ah(void)
{
	struct ibv_send_wr *wr, *bad = NULL;

	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	wr = swr(&a, 1, IBV_WR_SEND, 0, 10);
	SAME(ibv_post_send(a.qp, wr, &bad), EINVAL);
	CHECK(bad == wr);
	expect_state(&a, IBV_QPS_RTS);
}

/* RoCE has no checksums to fill in, not of UD either */
static void ud_checksum_flag(void)
{
	struct ibv_send_wr *wr, *bad = NULL;
	struct ibv_ah *ah = ah_to(gid4, gid4);

	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	wr = to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), ah, &b);
	wr->send_flags |= IBV_SEND_IP_CSUM;
	SAME(ibv_post_send(a.qp, wr, &bad), EINVAL);
	CHECK(bad == wr);
	expect_no_wc(a.scq);
	expect_state(&a, IBV_QPS_RTS);
	wr->send_flags &= ~IBV_SEND_IP_CSUM;
	post(&a, wr);
	expect_ok(a.scq, 1);
}

static int try_send(struct end *e)
{
	struct ibv_send_wr *wr = swr(e, 1, IBV_WR_SEND, 0, 0), *bad = NULL;
	int ret = ibv_post_send(e->qp, wr, &bad);

	if (ret)
		CHECK(bad == wr);
	return ret;
}

static int try_recv(struct end *e)
{
	struct ibv_recv_wr *wr = rwr(e, 1, 0, 10), *bad = NULL;
	int ret = ibv_post_recv(e->qp, wr, &bad);

	if (ret)
		CHECK(bad == wr);
	return ret;
}

static void states(void)
{
	make(&a, CONF());
	make(&b, CONF());
	SAME(try_send(&a), EINVAL);
	SAME(try_recv(&a), EINVAL);
	to_init(&a);
	SAME(try_send(&a), EINVAL);
	SAME(try_recv(&a), 0);
	to_rtr(&a, &b);
	SAME(try_send(&a), EINVAL);
	SAME(try_recv(&a), 0);
	to_rts(&a);
	to_state(&a, IBV_QPS_RESET);
	SAME(try_send(&a), EINVAL);
	SAME(try_recv(&a), EINVAL);
	to_init(&a);
	to_init(&b);
	to_rtr(&a, &b);
	to_rtr(&b, &a);
	to_rts(&a);
	to_rts(&b);
	expect_no_wc(a.scq);
	expect_no_wc(b.rcq);
	check_works(&a, &b);
	to_state(&a, IBV_QPS_ERR);
	SAME(try_send(&a), 0);
	SAME(try_recv(&a), 0);
	to_state(&a, IBV_QPS_RESET);
	SAME(try_send(&a), EINVAL);
	SAME(try_recv(&a), EINVAL);
}

/*
 * ---- ibv_create_qp() ----
 */

static struct ibv_qp *try_create(const struct ibv_qp_cap *cap, enum ibv_qp_type type,
				 struct ibv_qp_init_attr *attr)
{
	*attr = (struct ibv_qp_init_attr){
		.send_cq = a.scq, .recv_cq = a.rcq, .qp_type = type, .cap = *cap,
	};
	return ibv_create_qp(pd, attr);
}

static void capabilities(void)
{
	static const struct ibv_qp_cap good[] = {
		{ 1, 1, 1, 1, 0 }, { 0, 0, 0, 0, 0 }, { 7, 9, 3, 5, 100 },
		{ 32768, 1, 1, 1, 0 }, { 1, 32768, 1, 1, 0 }, { 1, 1, 32, 32, 1024 },
		{ 100, 0, 2, 0, 0 }, { 0, 100, 0, 2, 0 },
	}, bad[] = {
		{ 32769, 1, 1, 1, 0 }, { 1, 32769, 1, 1, 0 }, { 1, 1, 33, 1, 0 },
		{ 1, 1, 1, 33, 0 }, { 1, 1, 1, 1, 1025 }, { -1U, 1, 1, 1, 0 },
		{ 1, -1U, 1, 1, 0 }, { 1, 1, -1U, 1, 0 }, { 1, 1, 1, -1U, 0 },
		{ 1, 1, 1, 1, -1U },
	};
	struct ibv_device_attr dev;
	struct ibv_qp_init_attr attr, init;
	struct ibv_qp_attr qattr;
	struct ibv_qp *qp;
	int i;

	SAME(ibv_query_device(ctx, &dev), 0);
	SAME(dev.max_qp_wr, 32768);
	SAME(dev.max_sge, 32);
	make(&a, CONF());
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		note("good %d", i);
		qp = try_create(&good[i], IBV_QPT_RC, &attr);
		CHECK(qp);
		CHECK(attr.cap.max_send_wr >= good[i].max_send_wr);
		CHECK(attr.cap.max_recv_wr >= good[i].max_recv_wr);
		CHECK(attr.cap.max_send_sge >= good[i].max_send_sge);
		CHECK(attr.cap.max_recv_sge >= good[i].max_recv_sge);
		CHECK(attr.cap.max_inline_data >= good[i].max_inline_data);
		SAME(ibv_query_qp(qp, &qattr, IBV_QP_CAP, &init), 0);
		SAME(memcmp(&init.cap, &attr.cap, sizeof(init.cap)), 0);
		SAME(memcmp(&qattr.cap, &attr.cap, sizeof(init.cap)), 0);
		SAME(ibv_destroy_qp(qp), 0);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		note("bad %d", i);
		REFUSED(try_create(&bad[i], IBV_QPT_RC, &attr), EINVAL);
	}
	note(NULL);
	REFUSED(try_create(&good[0], IBV_QPT_DRIVER, &attr), EOPNOTSUPP);
	CHECK(!try_create(&good[0], 99, &attr));
}

/* what it says it can do it can do */
static void capabilities_are_real(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_send_wr *wr;
	struct ibv_recv_wr *rw;
	int i, max;

	make_pair(&a, &b, CONF(.sge = 5, .inline_data = 30, .sq = 3, .rq = 3));
	SAME(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
	max = init.cap.max_send_sge;
	CHECK(max <= 32);
	wr = swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 10);
	for (i = 1; i < max; i++)
		wr->sg_list[i] = wr->sg_list[0];
	wr->num_sge = max;
	post(&a, at(wr, &b, 0));
	expect_ok(a.scq, 1);
	max = init.cap.max_inline_data;
	wr = at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, max), &b, 0);
	wr->send_flags |= IBV_SEND_INLINE;
	post(&a, wr);
	expect_ok(a.scq, 2);
	max = init.cap.max_recv_sge;
	rw = rwr(&b, 3, 0, 10);
	for (i = 1; i < max; i++)
		rw->sg_list[i] = rw->sg_list[0];
	rw->num_sge = max;
	post_r(&b, rw);
	post(&a, swr(&a, 4, IBV_WR_SEND, 0, max * 10));
	expect_ok(a.scq, 4);
	expect_ok(b.rcq, 3);
}

/*
 * ---- ibv_wr_start() ----
 */

static void wr_number(struct ibv_qp_ex *qp, int i)
{
	a.buf[i] = i + 1;
	qp->wr_id = i;
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.buf + i);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf + i, 1);
}

static void wr_operations(void)
{
	struct ibv_data_buf bufs[2];
	struct ibv_sge sges[2];
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	uint64_t v = 7;

	make_pair(&a, &b, CONF(.ex = true, .inline_data = 256));
	fill(a.buf, 200, 1);
	post_recv(&b, 20, 1000, 100);
	post_recv(&b, 21, 2000, 100);
	post_recv(&b, 22, 3000, 100);
	memcpy(b.buf + 800, &v, 8);
	qp = wr_start(&a, 0);
	qp->wr_id = 1;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 100);
	qp->wr_id = 2;
	ibv_wr_send_imm(qp, htonl(99));
	ibv_wr_set_inline_data(qp, a.buf, 100);
	qp->wr_id = 3;
	ibv_wr_rdma_write_imm(qp, b.mr->rkey, (uintptr_t)b.buf, htonl(98));
	bufs[0] = (struct ibv_data_buf){ a.buf, 50 };
	bufs[1] = (struct ibv_data_buf){ a.buf + 50, 70 };
	ibv_wr_set_inline_data_list(qp, 2, bufs);
	qp->wr_id = 4;
	ibv_wr_rdma_read(qp, b.mr->rkey, (uintptr_t)b.buf);
	sges[0] = (struct ibv_sge){ (uintptr_t)a.buf + 4000, 20, a.mr->lkey };
	sges[1] = (struct ibv_sge){ (uintptr_t)a.buf + 4020, 100, a.mr->lkey };
	ibv_wr_set_sge_list(qp, 2, sges);
	qp->wr_id = 5;
	ibv_wr_atomic_fetch_add(qp, b.mr->rkey, (uintptr_t)b.buf + 800, 1);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf + 5000, 8);
	qp->wr_id = 6;
	ibv_wr_atomic_cmp_swp(qp, b.mr->rkey, (uintptr_t)b.buf + 800, 8, 100);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf + 5008, 8);
	qp->wr_id = 7;
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.buf + 600);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 100);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(a.scq, 1);
	expect_ok(a.scq, 2);
	expect_ok(a.scq, 3);
	expect_ok(a.scq, 4);
	expect_ok(a.scq, 5);
	expect_ok(a.scq, 6);
	expect_ok(a.scq, 7);
	expect_ok(b.rcq, 20);
	wc = expect_ok(b.rcq, 21);
	SAME(wc.imm_data, htonl(99));
	wc = expect_ok(b.rcq, 22);
	SAME(wc.imm_data, htonl(98));
	SAME(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	check_filled(b.buf + 1000, 100, 1);
	check_filled(b.buf + 2000, 100, 1);
	check_filled(b.buf, 120, 1);
	check_filled(a.buf + 4000, 120, 1);
	check_filled(b.buf + 600, 100, 1);
	memcpy(&v, b.buf + 800, 8);
	SAME(v, 100);
	memcpy(&v, a.buf + 5000, 8);
	SAME(v, 7);
	memcpy(&v, a.buf + 5008, 8);
	SAME(v, 8);
}

static void wr_operations_uc(void)
{
	struct ibv_data_buf bufs[2];
	struct ibv_qp_ex *qp;
	struct ibv_wc wc;
	int i;

	make_pair(&a, &b, CONF(.ex = true, .type = IBV_QPT_UC, .inline_data = 256));
	fill(a.buf, 200, 1);
	for (i = 0; i < 3; i++)
		post_recv(&b, 20 + i, 1000 + i * 1000, 100);
	qp = wr_start(&a, 0);
	qp->wr_id = 1;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 100);
	qp->wr_id = 2;
	ibv_wr_send_imm(qp, htonl(99));
	ibv_wr_set_inline_data(qp, a.buf, 100);
	qp->wr_id = 3;
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.buf + 600);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 100);
	qp->wr_id = 4;
	ibv_wr_rdma_write_imm(qp, b.mr->rkey, (uintptr_t)b.buf, htonl(98));
	bufs[0] = (struct ibv_data_buf){ a.buf, 50 };
	bufs[1] = (struct ibv_data_buf){ a.buf + 50, 70 };
	ibv_wr_set_inline_data_list(qp, 2, bufs);
	SAME(ibv_wr_complete(qp), 0);
	for (i = 1; i <= 4; i++)
		SAME(expect_ok(a.scq, i).opcode, i < 3 ? IBV_WC_SEND : IBV_WC_RDMA_WRITE);
	SAME(expect_ok(b.rcq, 20).wc_flags, 0);
	SAME(expect_ok(b.rcq, 21).imm_data, htonl(99));
	wc = expect_ok(b.rcq, 22);
	SAME(wc.imm_data, htonl(98));
	SAME(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	check_filled(b.buf + 1000, 100, 1);
	check_filled(b.buf + 2000, 100, 1);
	check_filled(b.buf + 600, 100, 1);
	check_filled(b.buf, 120, 1);
	check_works(&a, &b);
}

static void wr_abort_rolls_back(void)
{
	struct ibv_qp_ex *qp;
	int i;

	make_pair(&a, &b, CONF(.ex = true, .sq = 16));
	for (i = 0; i < 10; i++) {
		note("round %d", i);
		memset(b.buf, 0, BUF);
		qp = wr_start(&a, 0);
		wr_number(qp, 10);
		wr_number(qp, 11);
		wr_number(qp, 12);
		ibv_wr_abort(qp);
		expect_no_wc_now(a.scq);
		qp = wr_start(&a, 0);
		wr_number(qp, 0);
		wr_number(qp, 1);
		SAME(ibv_wr_complete(qp), 0);
		expect_executed(0, 2);
	}
	/* an empty batch */
	qp = wr_start(&a, 0);
	SAME(ibv_wr_complete(qp), 0);
	qp = wr_start(&a, 0);
	ibv_wr_abort(qp);
	expect_no_wc_now(a.scq);
}

static void *reset_a(void *unused)
{
	to_state(&a, IBV_QPS_RESET);
	return NULL;
}

/* what is posted while the QP is on its way to RESET is gone with all that was before */
static void wr_reset_meanwhile(void)
{
	struct ibv_qp_ex *qp;
	pthread_t thread;
	int i;

	make_pair(&a, &b, CONF(.ex = true, .sq = 16));
	for (i = 0; i < 5; i++) {
		note("round %d", i);
		qp = wr_start(&a, 0);
		wr_number(qp, 0);
		wr_number(qp, 1);
		SAME(ibv_wr_complete(qp), 0);
		expect_executed(0, 2);
		memset(b.buf, 0, BUF);
		qp = wr_start(&a, 0);
		wr_number(qp, 2);
		SAME(pthread_create(&thread, NULL, reset_a, NULL), 0);
		while (state_of(&a) != IBV_QPS_RESET)
			;
		sleep_ms(20);
		ibv_wr_complete(qp);
		pthread_join(thread, NULL);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
		expect_no_wc(a.scq);
		check_zero(b.buf, BUF);
		expect_no_event();
	}
	check_works(&a, &b);
}

/* one of a batch is wrong: none runs, and the error is said once */
static void wr_error_rolls_back(void)
{
	struct ibv_sge sges[40];
	uint8_t data[2048];
	struct ibv_qp_ex *qp;
	int way, error;

	memset(sges, 0, sizeof(sges));
	make_pair(&a, &b, CONF(.ex = true, .sq = 16, .inline_data = 256));
	for (way = 0; way < 6; way++) {
		note("way %d", way);
		memset(b.buf, 0, BUF);
		qp = wr_start(&a, 0);
		error = EINVAL;
		wr_number(qp, 0);
		qp->wr_id = 1;
		switch (way) {
		case 0:
			ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.buf + 1);
			ibv_wr_set_sge_list(qp, 40, sges);
			break;
		case 1:
			ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.buf + 1);
			ibv_wr_set_inline_data(qp, data, sizeof(data));
			break;
		case 2:
			ibv_wr_rdma_read(qp, b.mr->rkey, (uintptr_t)b.buf + 1);
			ibv_wr_set_inline_data(qp, data, 8);
			break;
		case 3:
			qp->wr_flags = 1 << 20;
			ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.buf + 1);
			ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 1);
			qp->wr_flags = IBV_SEND_SIGNALED;
			break;
		case 4:
			error = ENOMEM;
			for (int i = 1; i < 20; i++)
				wr_number(qp, i);
			break;
		case 5:
			ibv_wr_local_inv(qp, 5);
			ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 1);
			break;
		}
		wr_number(qp, 2);
		SAME(ibv_wr_complete(qp), error);
		expect_executed(0, 0);
		qp = wr_start(&a, 0);
		wr_number(qp, 0);
		SAME(ibv_wr_complete(qp), 0);
		expect_executed(0, 1);
	}
	check_works(&a, &b);
}

static void wr_states(void)
{
	struct ibv_qp_ex *qp;

	make(&a, CONF(.ex = true));
	make(&b, CONF(.ex = true));
	qp = wr_start(&a, 0);
	wr_number(qp, 0);
	SAME(ibv_wr_complete(qp), EINVAL);
	connect_ends(&a, &b);
	expect_executed(0, 0);
	qp = wr_start(&a, 0);
	wr_number(qp, 0);
	SAME(ibv_wr_complete(qp), 0);
	expect_executed(0, 1);
	to_state(&a, IBV_QPS_ERR);
	qp = wr_start(&a, 0);
	wr_number(qp, 1);
	SAME(ibv_wr_complete(qp), 0);
	expect_wc(a.scq, 1, IBV_WC_WR_FLUSH_ERR);
}

static void wr_ud(void)
{
	struct ibv_ah *ah = ah_to(gid4, gid4);
	struct ibv_qp_ex *qp;

	make_pair(&a, &b, CONF(.ex = true, .type = IBV_QPT_UD));
	post_recv(&b, 9, 0, 200);
	qp = wr_start(&a, 0);
	qp->wr_id = 1;
	ibv_wr_send_imm(qp, htonl(5));
	ibv_wr_set_ud_addr(qp, ah, b.qp->qp_num, QKEY);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 10);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(a.scq, 1);
	SAME(expect_ok(b.rcq, 9).imm_data, htonl(5));
	/* without an address */
	qp = wr_start(&a, 0);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 10);
	SAME(ibv_wr_complete(qp), EINVAL);
	qp = wr_start(&a, 0);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 10);
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, ah, b.qp->qp_num, QKEY);
	SAME(ibv_wr_complete(qp), EINVAL);
	expect_no_wc(a.scq);
}

/* operations that the type does not have, flags that nobody knows */
static void create_ex_refused(void)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t ops;
		uint32_t mask, flags;
	} bad[] = {
		{ IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_SEND_WITH_INV },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ },
		{ IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_TSO },
		{ IBV_QPT_RC, 1ULL << 40 },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_SEND, 1 << 20 },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_SEND, IBV_QP_INIT_ATTR_MAX_TSO_HEADER },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_SEND, IBV_QP_INIT_ATTR_CREATE_FLAGS, 1 << 20 },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_SEND, IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  IBV_QP_CREATE_SOURCE_QPN },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_SEND, IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  IBV_QP_CREATE_SCATTER_FCS },
		{ IBV_QPT_UD, IBV_QP_EX_WITH_SEND, IBV_QP_INIT_ATTR_CREATE_FLAGS,
		  IBV_QP_CREATE_CVLAN_STRIPPING },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_SEND, IBV_QP_INIT_ATTR_IND_TABLE },
		{ IBV_QPT_RC, IBV_QP_EX_WITH_SEND, IBV_QP_INIT_ATTR_RX_HASH },
	};
	struct ibv_qp_init_attr_ex attr;
	int i;

	make(&a, CONF());
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		note("%d", i);
		attr = (struct ibv_qp_init_attr_ex){
			.send_cq = a.scq, .recv_cq = a.rcq, .pd = pd,
			.qp_type = bad[i].type,
			.cap = { 1, 1, 1, 1, 0 },
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
				     bad[i].mask,
			.send_ops_flags = bad[i].ops,
			.create_flags = bad[i].flags,
		};
		REFUSED(ibv_create_qp_ex(ctx, &attr), EOPNOTSUPP);
	}
}

/* each operation that there is, or might be, asked of each type */
static void send_ops_of_types(void)
{
	const uint64_t ud = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t uc = ud | IBV_QP_EX_WITH_RDMA_WRITE |
			    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	const uint64_t rc = uc | IBV_QP_EX_WITH_RDMA_READ |
			    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
			    IBV_QP_EX_WITH_SEND_WITH_INV;
	/* FLUSH and ATOMIC_WRITE: placement.c knows where they are */
	const uint64_t placement = 3 << 11;
	const struct {
		enum ibv_qp_type type;
		uint64_t ops, unsure;
	} types[] = {
		{ IBV_QPT_RC, rc, placement }, { IBV_QPT_UC, uc }, { IBV_QPT_UD, ud },
		{ IBV_QPT_XRC_SEND, rc, placement },
	};
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp;
	int t, op;

	make(&a, CONF());
	for (t = 0; t < ARRAY_SIZE(types); t++) {
		for (op = 0; op < 64; op++) {
			note("type %d, operation %d", types[t].type, op);
			attr = (struct ibv_qp_init_attr_ex){
				.send_cq = a.scq, .recv_cq = a.rcq, .pd = pd,
				.qp_type = types[t].type,
				.cap = { 1, 1, 1, 1, 0 },
				.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
				.send_ops_flags = 1ULL << op,
			};
			if (types[t].ops >> op & 1) {
				qp = ibv_create_qp_ex(ctx, &attr);
				CHECK(qp);
				SAME(ibv_destroy_qp(qp), 0);
			} else if (!(types[t].unsure >> op & 1)) {
				REFUSED(ibv_create_qp_ex(ctx, &attr), EOPNOTSUPP);
			}
		}
	}
}

/* a hint that is taken, and changes nothing */
static void pci_write_end_padding(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_qp_init_attr_ex attr;
	struct ibv_device_attr_ex dev;
	int i;

	SAME(ibv_query_device_ex(ctx, NULL, &dev), 0);
	CHECK(dev.device_cap_flags_ex & IBV_DEVICE_PCI_WRITE_END_PADDING);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		note("type %d", types[i]);
		make(&a, CONF(.type = types[i]));
		make(&b, CONF(.type = types[i]));
		SAME(ibv_destroy_qp(a.qp), 0);
		attr = (struct ibv_qp_init_attr_ex){
			.send_cq = a.scq, .recv_cq = a.rcq, .pd = pd,
			.qp_type = types[i],
			.cap = { 4, 4, 1, 1, 0 },
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
			.create_flags = IBV_QP_CREATE_PCI_WRITE_END_PADDING,
		};
		a.qp = ibv_create_qp_ex(ctx, &attr);
		CHECK(a.qp);
		if (types[i] == IBV_QPT_UD)
			continue;
		connect_ends(&a, &b);
		check_works(&a, &b);
		unmake(&a);
		unmake(&b);
	}
}

TESTS(
	TEST(send_queue_full), TEST(receive_queue_full), TEST(refused_in_a_list),
	TEST(opcodes_of_types), TEST(ud_without_ah), TEST(ud_checksum_flag), TEST(states),
	TEST(capabilities), TEST(capabilities_are_real),
	TEST(wr_operations), TEST(wr_operations_uc), TEST(wr_abort_rolls_back), TEST(wr_reset_meanwhile),
	TEST(wr_error_rolls_back), TEST(wr_states), TEST(wr_ud),
	TEST(create_ex_refused), TEST(send_ops_of_types), TEST(pci_write_end_padding)
)
