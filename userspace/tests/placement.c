// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory placement extensions (IBA annex A19): FLUSH and ATOMIC WRITE. Where the
 * device does not say that it has them all of it has to be refused, and that is the
 * one case there is.
 */
#include "lib.h"

#include <pthread.h>

/* device_cap_flags_ex */
#define CAP_FLUSH_GLOBAL	(1ULL << 38)
#define CAP_FLUSH_PERSISTENT	(1ULL << 39)
#define CAP_ATOMIC_WRITE	(1ULL << 40)

#define OPS	(IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

static struct end a, b;
static struct ibv_mr *mr;	/* of b.buf, can be flushed */

static uint64_t caps(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	return attr.device_cap_flags_ex;
}

static bool placement(void)
{
	return caps() & CAP_ATOMIC_WRITE;
}

/* Return: there is something to be tried. */
static bool make_both(const struct conf *conf)
{
	if (!placement())
		return false;
	make_pair(&a, &b, conf);
	mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL);
	CHECK(mr);
	return true;
}

#define MAKE(...)							\
	make_both(CONF(.ex = true, .ops = OPS, .inline_data = 16,	\
		       .access = ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL |	\
				 IBV_ACCESS_FLUSH_PERSISTENT, __VA_ARGS__))

static void reconnect(void)
{
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
}

#define ADDR(off)	((uintptr_t)b.buf + (off))

static void atomic_write(uint64_t id, uint32_t rkey, uint64_t addr, uint64_t value)
{
	struct ibv_qp_ex *qp = wr_start(&a, id);

	ibv_wr_atomic_write(qp, rkey, addr, &value);
	SAME(ibv_wr_complete(qp), 0);
}

static int try_flush(uint64_t id, uint32_t rkey, uint64_t addr, size_t length, uint8_t type,
		     uint8_t level)
{
	struct ibv_qp_ex *qp = wr_start(&a, id);

	ibv_wr_flush(qp, rkey, addr, length, type, level);
	return ibv_wr_complete(qp);
}

static void flush(uint64_t id, uint32_t rkey, uint64_t addr, size_t length, uint8_t type,
		  uint8_t level)
{
	SAME(try_flush(id, rkey, addr, length, type, level), 0);
}

static uint64_t word(size_t off)
{
	return __atomic_load_n((uint64_t *)(b.buf + off), __ATOMIC_ACQUIRE);
}

/* The last request was refused, as @event says to the responder. Both work again then. */
static void expect_refused_by(uint64_t id, enum ibv_wc_status status, enum ibv_event_type event)
{
	expect_wc(a.scq, id, status);
	expect_event(event, b.qp);
	expect_state(&a, IBV_QPS_ERR);
	expect_state(&b, IBV_QPS_ERR);
	reconnect();
}

static void expect_refused(uint64_t id, enum ibv_wc_status status)
{
	expect_refused_by(id, status, IBV_EVENT_QP_ACCESS_ERR);
}

/*
 * ---- What the device says ----
 */

static struct ibv_qp *try_create(enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = a.scq, .recv_cq = a.rcq, .qp_type = type, .pd = pd,
		.cap = { 1, 1, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = ops,
	};

	return ibv_create_qp_ex(ctx, &attr);
}

static void capabilities(void)
{
	struct ibv_send_wr *bad;
	struct ibv_qp *qp;

	make_pair(&a, &b, CONF());
	if (placement()) {
		CHECK(caps() & CAP_FLUSH_GLOBAL);
		qp = try_create(IBV_QPT_RC, OPS);
		CHECK(qp);
		SAME(ibv_destroy_qp(qp), 0);
		CHECK(ibv_reg_mr(pd, b.buf, BUF, IBV_ACCESS_FLUSH_GLOBAL));
		return;
	}
	CHECK(!(caps() & (CAP_FLUSH_GLOBAL | CAP_FLUSH_PERSISTENT)));
	REFUSED(try_create(IBV_QPT_RC, IBV_QP_EX_WITH_FLUSH), EOPNOTSUPP);
	REFUSED(try_create(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE), EOPNOTSUPP);
	SAME(ibv_post_send(a.qp, at(swr(&a, 1, IBV_WR_ATOMIC_WRITE, 0, 8), &b, 0), &bad), EINVAL);
	CHECK(!ibv_reg_mr(pd, b.buf, BUF, IBV_ACCESS_FLUSH_GLOBAL));
	CHECK(!ibv_reg_mr(pd, b.buf, BUF, IBV_ACCESS_FLUSH_PERSISTENT));
	check_works(&a, &b);
}

/* other services have neither, and no struct ibv_send_wr can ask for FLUSH */
static void rc_only(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_ah *ah = ah_to(gid4, gid4);
	struct ibv_send_wr *wr, *bad;
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		note("type %d", types[i]);
		make_pair(&a, &b, CONF(.type = types[i]));
		wr = swr(&a, 1, IBV_WR_FLUSH, 0, 0);
		if (types[i] == IBV_QPT_UD)
			to_ah(wr, ah, &b);
		else
			at(wr, &b, 0);
		SAME(ibv_post_send(a.qp, wr, &bad), EINVAL);
		CHECK(bad == wr);
		if (types[i] == IBV_QPT_RC)
			continue;
		wr->opcode = IBV_WR_ATOMIC_WRITE;
		SAME(ibv_post_send(a.qp, wr, &bad), EINVAL);
		REFUSED(try_create(types[i], IBV_QP_EX_WITH_FLUSH), EOPNOTSUPP);
		REFUSED(try_create(types[i], IBV_QP_EX_WITH_ATOMIC_WRITE), EOPNOTSUPP);
		expect_no_wc_now(a.scq);
		expect_state(&a, IBV_QPS_RTS);
	}
}

/*
 * ---- ATOMIC WRITE ----
 */

static void atomic_write_data(void)
{
	static const size_t offsets[] = { 0, 8, 4088, 4096, BUF - 8 };
	struct ibv_wc wc;
	size_t off;
	int i;

	if (!MAKE())
		return;
	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		off = offsets[i];
		note("offset %zu", off);
		memset(b.buf, 0, BUF);
		atomic_write(i, mr->rkey, ADDR(off), 0x0123456789abcdef + i);
		wc = expect_ok(a.scq, i);
		SAME(wc.opcode, IBV_WC_ATOMIC_WRITE);
		SAME(word(off), 0x0123456789abcdef + i);
		check_zero(b.buf, off);
		check_zero(b.buf + off + 8, BUF - off - 8);
	}
	expect_no_wc(b.rcq);
	expect_no_event();
}

/* by ibv_post_send(): inline, one element, two elements */
static void atomic_write_posted(void)
{
	struct ibv_send_wr *wr;
	int i;

	if (!MAKE())
		return;
	for (i = 0; i < 3; i++) {
		note("way %d", i);
		fill(a.buf, 20, i);
		wr = at(swr(&a, i, IBV_WR_ATOMIC_WRITE, 4 * i, i == 2 ? 3 : 8), &b, 64);
		if (!i)
			wr->send_flags |= IBV_SEND_INLINE;
		if (i == 2) {
			wr->sg_list[1] = wr->sg_list[0];
			wr->sg_list[1].addr += 3;
			wr->sg_list[1].length = 5;
			wr->num_sge = 2;
		}
		post(&a, wr);
		SAME(expect_ok(a.scq, i).opcode, IBV_WC_ATOMIC_WRITE);
		SAME(memcmp(b.buf + 64, a.buf + 4 * i, 8), 0);
	}
	check_zero(b.buf, 64);
	check_zero(b.buf + 72, 100);
}

#define ROUNDS	500

/* behind what was written before; in order; as many as the queue holds */
static void atomic_write_order(void)
{
	struct ibv_qp_ex *qp;
	uint64_t value;
	int i;

	if (!MAKE(.rd = 1, .dest_rd = 1))
		return;
	qp = ibv_qp_to_qp_ex(a.qp);
	for (value = 1; value <= ROUNDS; value++) {
		fill(a.buf, 5000, value);
		ibv_wr_start(qp);
		qp->wr_id = value;
		qp->wr_flags = 0;
		ibv_wr_rdma_write(qp, mr->rkey, ADDR(4096));
		ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 5000);
		for (i = 0; i < 3; i++) {
			uint64_t part = value << 8 | i;

			if (i == 2)
				qp->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_atomic_write(qp, mr->rkey, ADDR(0), &part);
		}
		SAME(ibv_wr_complete(qp), 0);
		while (word(0) >> 8 != value)
			;
		/* seen before the completion */
		check_filled(b.buf + 4096, 5000, value);
		expect_ok(a.scq, value);
		SAME(word(0), value << 8 | 2);
	}
}

static bool reading = true;

static void *read_words(void *unused)
{
	uint64_t value;

	while (__atomic_load_n(&reading, __ATOMIC_RELAXED)) {
		value = word(128);
		if (value && value != -1ULL)
			FAIL("half a word: %#llx", (unsigned long long)value);
	}
	return unused;
}

static void atomic_write_whole(void)
{
	pthread_t thread;
	int i;

	if (!MAKE())
		return;
	SAME(pthread_create(&thread, NULL, read_words, NULL), 0);
	for (i = 0; i < 4 * ROUNDS; i++) {
		atomic_write(i, mr->rkey, ADDR(128), i & 1 ? -1ULL : 0);
		expect_ok(a.scq, i);
	}
	__atomic_store_n(&reading, false, __ATOMIC_RELAXED);
	SAME(pthread_join(thread, NULL), 0);
}

static void atomic_write_misaligned(void)
{
	struct ibv_mr *odd;
	int i;

	if (!MAKE())
		return;
	for (i = 1; i < 8; i++) {
		note("by %d", i);
		atomic_write(i, mr->rkey, ADDR(64 + i), -1ULL);
		expect_refused(i, IBV_WC_REM_INV_REQ_ERR);
	}
	note("memory, not the address");
	odd = ibv_reg_mr(pd, b.buf + 4, 4096, ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
	CHECK(odd);
	atomic_write(8, odd->rkey, 0, -1ULL);
	expect_refused(8, IBV_WC_REM_INV_REQ_ERR);
	/* it may cross a page there */
	atomic_write(9, odd->rkey, 4088, -1ULL);
	expect_refused(9, IBV_WC_REM_INV_REQ_ERR);
	check_zero(b.buf, BUF);
	check_works(&a, &b);
}

static void atomic_write_rights(void)
{
	struct ibv_mr *readable;

	if (!MAKE())
		return;
	readable = ibv_reg_mr(pd, b.buf, BUF, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
					      IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(readable);
	note("of the region");
	atomic_write(1, readable->rkey, ADDR(0), 1);
	expect_refused(1, IBV_WC_REM_ACCESS_ERR);
	note("key");
	atomic_write(2, mr->rkey + 1, ADDR(0), 1);
	expect_refused(2, IBV_WC_REM_ACCESS_ERR);
	note("range");
	atomic_write(3, mr->rkey, ADDR(BUF), 1);
	expect_refused(3, IBV_WC_REM_ACCESS_ERR);
	note("of the QP");
	a.conf.access = b.conf.access = ACCESS_ALL & ~IBV_ACCESS_REMOTE_WRITE;
	reconnect();
	atomic_write(4, mr->rkey, ADDR(0), 1);
	expect_refused_by(4, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	check_zero(b.buf, BUF);
}

/* what is wrong with it here */
static void atomic_write_local_errors(void)
{
	static const int lengths[] = { 0, 1, 7, 9, 16 };
	struct ibv_send_wr *wr, *bad;
	struct ibv_qp_ex *qp;
	uint64_t value = 1;
	int i;

	if (!MAKE())
		return;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		note("%d bytes", lengths[i]);
		post(&a, at(swr(&a, i, IBV_WR_ATOMIC_WRITE, 0, lengths[i]), &b, 0));
		expect_wc(a.scq, i, IBV_WC_LOC_LEN_ERR);
		expect_state(&a, IBV_QPS_ERR);
		reconnect();
	}
	note("lkey");
	wr = at(swr(&a, 5, IBV_WR_ATOMIC_WRITE, 0, 8), &b, 0);
	wr->sg_list->lkey++;
	post(&a, wr);
	expect_wc(a.scq, 5, IBV_WC_LOC_PROT_ERR);
	reconnect();
	note("too much inline");
	wr = at(swr(&a, 6, IBV_WR_ATOMIC_WRITE, 0, 2048), &b, 0);
	wr->send_flags |= IBV_SEND_INLINE;
	SAME(ibv_post_send(a.qp, wr, &bad), EINVAL);
	note("data, once more");
	qp = wr_start(&a, 7);
	ibv_wr_atomic_write(qp, mr->rkey, ADDR(0), &value);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 8);
	SAME(ibv_wr_complete(qp), EINVAL);
	note(NULL);
	expect_no_wc(a.scq);
	expect_no_event();
	check_zero(b.buf, BUF);
	check_works(&a, &b);
}

/*
 * ---- FLUSH ----
 */

static void flush_data(void)
{
	static const struct {
		size_t off, length;
		uint8_t level;
	} rows[] = {
		{ 0, BUF, IBV_FLUSH_RANGE }, { 100, 1, IBV_FLUSH_RANGE },
		{ BUF, 0, IBV_FLUSH_RANGE }, { 0, 0, IBV_FLUSH_MR },
		/* of these nothing counts but the key */
		{ 12345678, -1U, IBV_FLUSH_MR },
	};
	int i;

	if (!MAKE())
		return;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("row %d", i);
		fill(a.buf, 10000, i);
		post(&a, at(swr(&a, 100, IBV_WR_RDMA_WRITE, 0, 10000), &b, 2000));
		flush(i, mr->rkey, ADDR(rows[i].off), rows[i].length, IBV_FLUSH_GLOBAL,
		      rows[i].level);
		SAME(expect_ok(a.scq, 100).opcode, IBV_WC_RDMA_WRITE);
		SAME(expect_ok(a.scq, i).opcode, IBV_WC_FLUSH);
		check_filled(b.buf + 2000, 10000, i);
		check_zero(b.buf, 2000);
	}
	expect_no_wc(b.rcq);
	expect_no_event();
}

/* what the annex is for: data, FLUSH, and then the word that says so */
static void flush_then_write(void)
{
	struct ibv_qp_ex *qp;
	uint64_t value;

	if (!MAKE(.rd = 2, .dest_rd = 2))
		return;
	qp = ibv_qp_to_qp_ex(a.qp);
	for (value = 1; value <= 100; value++) {
		fill(a.buf, 3000, value);
		ibv_wr_start(qp);
		qp->wr_id = value;
		qp->wr_flags = 0;
		ibv_wr_rdma_write(qp, mr->rkey, ADDR(4096));
		ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 3000);
		ibv_wr_flush(qp, mr->rkey, ADDR(4096), 3000, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
		/* with a fence or without: both are executed in order */
		qp->wr_flags = IBV_SEND_SIGNALED | (value & 1 ? IBV_SEND_FENCE : 0);
		ibv_wr_atomic_write(qp, mr->rkey, ADDR(0), &value);
		SAME(ibv_wr_complete(qp), 0);
		expect_ok(a.scq, value);
		SAME(word(0), value);
		check_filled(b.buf + 4096, 3000, value);
	}
}

static void flush_refused(void)
{
	struct ibv_mr *plain;

	if (!MAKE())
		return;
	plain = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL);
	CHECK(plain);
	note("right of the region");
	flush(1, plain->rkey, ADDR(0), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_refused(1, IBV_WC_REM_ACCESS_ERR);
	flush(2, plain->rkey, ADDR(0), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	expect_refused(2, IBV_WC_REM_ACCESS_ERR);
	note("type");
	flush(3, mr->rkey, ADDR(0), 8, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE);
	expect_refused(3, IBV_WC_REM_ACCESS_ERR);
	flush(4, mr->rkey, ADDR(0), 8, IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
	expect_refused(4, IBV_WC_REM_ACCESS_ERR);
	note("key, of nothing, too");
	flush(5, mr->rkey + 1, ADDR(0), 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_refused(5, IBV_WC_REM_ACCESS_ERR);
	note("range");
	flush(6, mr->rkey, ADDR(1), BUF, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_refused(6, IBV_WC_REM_ACCESS_ERR);
	flush(7, mr->rkey, ADDR(-1), 1, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_refused(7, IBV_WC_REM_ACCESS_ERR);
	note("right of the QP");
	a.conf.access = b.conf.access = ACCESS_ALL | IBV_ACCESS_FLUSH_PERSISTENT;
	reconnect();
	flush(8, mr->rkey, ADDR(0), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_refused_by(8, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	note(NULL);
	check_works(&a, &b);
}

/* refused by the call: nothing of the batch runs */
static void flush_not_posted(void)
{
	static const struct {
		size_t length;
		uint8_t type, level;
	} bad[] = {
		{ 8, 0, IBV_FLUSH_RANGE }, { 8, 4, IBV_FLUSH_RANGE }, { 8, 0x81, IBV_FLUSH_MR },
		{ 8, IBV_FLUSH_GLOBAL, 2 }, { 1UL << 32, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE },
	};
	struct ibv_qp_ex *qp;
	uint64_t value = 1;
	int i;

	if (!MAKE())
		return;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		note("row %d", i);
		qp = wr_start(&a, i);
		ibv_wr_atomic_write(qp, mr->rkey, ADDR(0), &value);
		ibv_wr_flush(qp, mr->rkey, ADDR(0), bad[i].length, bad[i].type, bad[i].level);
		SAME(ibv_wr_complete(qp), EINVAL);
	}
	note("with data");
	qp = wr_start(&a, 9);
	ibv_wr_flush(qp, mr->rkey, ADDR(0), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 8);
	SAME(ibv_wr_complete(qp), EINVAL);
	note(NULL);
	expect_no_wc(a.scq);
	check_zero(b.buf, BUF);
	check_works(&a, &b);
}

/* ordinary memory: nobody promises that it is there tomorrow */
static void persistence(void)
{
	int error = caps() & CAP_FLUSH_PERSISTENT ? EINVAL : EOPNOTSUPP;
	struct ibv_mr *plain;

	if (!placement())
		return;
	make(&b, CONF());
	REFUSED(ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_FLUSH_PERSISTENT), error);
	plain = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL);
	CHECK(plain);
	CHECK(ibv_rereg_mr(plain, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   ACCESS_ALL | IBV_ACCESS_FLUSH_PERSISTENT));
	CHECK(ibv_rereg_mr(plain, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION,
			   NULL, b.buf, 4096, ACCESS_ALL | IBV_ACCESS_FLUSH_PERSISTENT));
	SAME(ibv_rereg_mr(plain, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			  ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL), 0);
	SAME(ibv_dereg_mr(plain), 0);
}

static int bind_window(struct ibv_mw *mw, struct ibv_mr *region, int access)
{
	struct ibv_mw_bind bind = {
		.wr_id = 600,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = region, .addr = ADDR(1024), .length = 512,
			.mw_access_flags = access,
		},
	};

	SAME(ibv_bind_mw(b.qp, mw, &bind), 0);
	return next_wc(b.scq).status;
}

/* a window can be flushed if it says so, and if its region can be */
static void flush_window(void)
{
	struct ibv_mr *plain, *region;
	struct ibv_mw *mw;
	uint32_t rkey;

	if (!MAKE())
		return;
	plain = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	region = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND |
					    IBV_ACCESS_FLUSH_GLOBAL);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	CHECK(plain && region && mw);
	rkey = mw->rkey;
	SAME(bind_window(mw, plain, IBV_ACCESS_FLUSH_GLOBAL), IBV_WC_MW_BIND_ERR);
	mw->rkey = rkey;
	reconnect();
	SAME(bind_window(mw, region, IBV_ACCESS_REMOTE_WRITE), IBV_WC_SUCCESS);
	atomic_write(1, mw->rkey, ADDR(1024), 1);
	expect_ok(a.scq, 1);
	flush(2, mw->rkey, ADDR(1024), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_refused(2, IBV_WC_REM_ACCESS_ERR);
	SAME(bind_window(mw, region, IBV_ACCESS_FLUSH_GLOBAL), IBV_WC_SUCCESS);
	flush(3, mw->rkey, ADDR(1024), 512, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_ok(a.scq, 3);
	flush(4, mw->rkey, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	expect_ok(a.scq, 4);
	flush(5, mw->rkey, ADDR(1024), 513, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_refused(5, IBV_WC_REM_ACCESS_ERR);
	SAME(ibv_dealloc_mw(mw), 0);
}

/*
 * ---- Both ----
 */

/* of paged memory: FLUSH wants none of it to be there, a word comes when it is written */
static void paged(void)
{
	const int access = ACCESS_ALL | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_FLUSH_GLOBAL;
	unsigned char there[BUF / 4096] = {};
	struct ibv_mr *region, *odd;
	uint8_t *p;
	int error;

	if (!MAKE())
		return;
	error = caps() & CAP_FLUSH_PERSISTENT ? EINVAL : EOPNOTSUPP;
	p = memory(BUF);
	region = ibv_reg_mr(pd, p, BUF, access);
	odd = ibv_reg_mr(pd, p + 4, 8192, access | IBV_ACCESS_ZERO_BASED);
	CHECK(region && odd);
	flush(1, region->rkey, (uintptr_t)p, BUF, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_ok(a.scq, 1);
	flush(2, region->rkey, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	expect_ok(a.scq, 2);
	SAME(mincore(p, BUF, there), 0);
	check_zero(there, sizeof(there));
	atomic_write(3, region->rkey, (uintptr_t)p + 4088, 0x0123456789abcdef);
	flush(4, region->rkey, (uintptr_t)p, BUF, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_ok(a.scq, 3);
	expect_ok(a.scq, 4);
	SAME(*(uint64_t *)(p + 4088), 0x0123456789abcdef);
	note("misaligned in memory, and over the end of a page");
	atomic_write(5, odd->rkey, 0, -1ULL);
	expect_refused(5, IBV_WC_REM_INV_REQ_ERR);
	atomic_write(6, odd->rkey, 4088, -1ULL);
	expect_refused(6, IBV_WC_REM_INV_REQ_ERR);
	note("persistence");
	flush(7, region->rkey, (uintptr_t)p, 8, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE);
	expect_refused(7, IBV_WC_REM_ACCESS_ERR);
	REFUSED(ibv_reg_mr(pd, p, BUF, access | IBV_ACCESS_FLUSH_PERSISTENT), error);
	REFUSED(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     access | IBV_ACCESS_FLUSH_PERSISTENT), error);
	note(NULL);
	check_zero(p, 4088);
	check_zero(p + 4096, BUF - 4096);
	check_works(&a, &b);
}

/* they take what READs and atomics take */
static void credits(void)
{
	if (!placement())
		return;
	note("none here");
	MAKE(.rd = 0);
	atomic_write(1, mr->rkey, ADDR(0), 1);
	expect_wc(a.scq, 1, IBV_WC_LOC_QP_OP_ERR);
	reconnect();
	flush(2, mr->rkey, ADDR(0), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_wc(a.scq, 2, IBV_WC_LOC_QP_OP_ERR);
	note("none there");
	MAKE(.dest_rd = 0);
	atomic_write(3, mr->rkey, ADDR(0), 1);
	expect_refused(3, IBV_WC_REM_INV_REQ_ERR);
	flush(4, mr->rkey, ADDR(0), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_refused(4, IBV_WC_REM_INV_REQ_ERR);
	check_zero(b.buf, BUF);
}

/* in ERR they are flushed, in order */
static void in_error(void)
{
	if (!MAKE())
		return;
	to_state(&a, IBV_QPS_ERR);
	atomic_write(1, mr->rkey, ADDR(0), 1);
	flush(2, mr->rkey, ADDR(0), 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_wc(a.scq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	check_zero(b.buf, 8);
}

TESTS(
	TEST(capabilities), TEST(rc_only), TEST(atomic_write_data), TEST(atomic_write_posted),
	TEST(atomic_write_order), TEST(atomic_write_whole), TEST(atomic_write_misaligned),
	TEST(atomic_write_rights), TEST(atomic_write_local_errors), TEST(flush_data),
	TEST(flush_then_write), TEST(flush_refused), TEST(flush_not_posted), TEST(persistence),
	TEST(flush_window), TEST(paged), TEST(credits), TEST(in_error)
)
