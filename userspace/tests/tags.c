// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tag matching: an SRQ with a list of tags, messages that one of them matches and that none does,
 * eager and by rendezvous, and the operations on the list.
 */
#include "lib.h"

#include <endian.h>
#include <infiniband/tm_types.h>

#define TMH	((uint32_t)sizeof(struct ibv_tmh))
#define HEADERS	(TMH + (uint32_t)sizeof(struct ibv_rvh))
#define FLAGS_ALL (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID)

static struct end a, b;			/* @b has the SRQ */
static struct ibv_cq_ex *cq;		/* that of the SRQ */
static struct ibv_srq *srq;
static struct ibv_mr *mr;		/* memory of the SRQ */
static uint8_t *buf;
static uint32_t num_tags = 64;
static uint32_t seen;			/* unexpected messages */

/* a completion of the SRQ's CQ */
struct completion {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t length;
	struct ibv_wc_tm_info info;
};

static bool try_poll(struct completion *c)
{
	struct ibv_poll_cq_attr attr = {};
	int ret = ibv_start_poll(cq, &attr);

	if (ret == ENOENT)
		return false;
	SAME(ret, 0);
	c->wr_id = cq->wr_id;
	c->status = cq->status;
	c->opcode = ibv_wc_read_opcode(cq);
	c->flags = ibv_wc_read_wc_flags(cq);
	c->length = ibv_wc_read_byte_len(cq);
	ibv_wc_read_tm_info(cq, &c->info);
	ibv_end_poll(cq);
	return true;
}

static struct completion next(void)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct completion c = {};

	while (!try_poll(&c))
		CHECK(now_ns() < end);
	return c;
}

static void nothing_more(void)
{
	struct completion c = {};

	sleep_ms(QUIET_MS);
	CHECK(!try_poll(&c));
}

static void expect(uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags)
{
	struct completion c = next();

	SAME(c.status, IBV_WC_SUCCESS);
	SAME(c.wr_id, wr_id);
	SAME(c.opcode, opcode);
	SAME(c.flags, flags);
	SAME(c.info.tag, 0);
	SAME(c.info.priv, 0);
}

static void expect_status(uint64_t wr_id, enum ibv_wc_status status)
{
	struct completion c = next();

	SAME(c.status, status);
	SAME(c.wr_id, wr_id);
}

static void expect_match(uint64_t wr_id, unsigned int flags, uint64_t tag, uint32_t length)
{
	struct completion c = next();

	SAME(c.status, IBV_WC_SUCCESS);
	SAME(c.wr_id, wr_id);
	SAME(c.opcode, IBV_WC_TM_RECV);
	SAME(c.flags, flags);
	SAME(c.length, length);
	SAME(c.info.tag, tag);
	SAME(c.info.priv, 0xabcd0000 + (uint16_t)tag);
}

static struct ibv_srq_init_attr_ex attributes(void)
{
	return (struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = 64, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.cq = ibv_cq_ex_to_cq(cq),
		.tm_cap = { .max_num_tags = num_tags, .max_ops = 16 },
	};
}

static void make_srq(void)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 4096,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO,
	};
	struct ibv_srq_init_attr_ex attr;

	cq = ibv_create_cq_ex(ctx, &cq_attr);
	CHECK(cq);
	attr = attributes();
	srq = ibv_create_srq_ex(ctx, &attr);
	CHECK(srq);
	buf = memory(BUF);
	mr = ibv_reg_mr(pd, buf, BUF, ACCESS_ALL);
	CHECK(mr);
}

/* also another pair for the SRQ */
static void make_qps(void)
{
	make(&a, CONF(.sq = 64, .rq = 64));
	make(&b, CONF(.sq = 0, .rq = 0, .srq = srq));
	connect_ends(&a, &b);
}

static void make_connected(void)
{
	make_srq();
	make_qps();
}

static struct ibv_ops_wr op(enum ibv_ops_wr_opcode opcode, uint64_t id)
{
	return (struct ibv_ops_wr){
		.wr_id = id, .opcode = opcode, .flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC,
		.tm = { .unexpected_cnt = seen },
	};
}

static int try_op(struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad = NULL;
	int ret = ibv_post_srq_ops(srq, wr, &bad);

	if (ret)
		CHECK(bad == wr);
	return ret;
}

/* add a tag with memory at @off; the receive has the id of the tag */
static uint32_t add_masked(uint64_t tag, uint64_t mask, size_t off, uint32_t length, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)buf + off, length, mr->lkey };
	struct ibv_ops_wr wr = op(IBV_WR_TAG_ADD, 1000 + id);

	wr.tm.add.recv_wr_id = id;
	wr.tm.add.sg_list = &sge;
	wr.tm.add.num_sge = 1;
	wr.tm.add.tag = tag;
	wr.tm.add.mask = mask;
	SAME(try_op(&wr), 0);
	expect(1000 + id, IBV_WC_TM_ADD, 0);
	return wr.tm.handle;
}

static uint32_t add(uint64_t tag, size_t off, uint32_t length)
{
	return add_masked(tag, UINT64_MAX, off, length, tag);
}

static void del(uint32_t handle, enum ibv_wc_status status)
{
	struct ibv_ops_wr wr = op(IBV_WR_TAG_DEL, 77);

	wr.tm.handle = handle;
	SAME(try_op(&wr), 0);
	if (status)
		expect_status(77, status);
	else
		expect(77, IBV_WC_TM_DEL, 0);
}

static void sync_counts(uint32_t count, unsigned int flags)
{
	struct ibv_ops_wr wr = op(IBV_WR_TAG_SYNC, 78);

	wr.tm.unexpected_cnt = count;
	SAME(try_op(&wr), 0);
	expect(78, IBV_WC_TM_SYNC, flags);
}

static void untagged(uint64_t id, size_t off, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)buf + off, length, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	SAME(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

static void put_header(uint8_t opcode, uint64_t tag)
{
	struct ibv_tmh tmh = {
		.opcode = opcode, .tag = htobe64(tag), .app_ctx = htobe32(0xabcd0000 + (uint16_t)tag),
	};

	memcpy(a.buf, &tmh, sizeof(tmh));
}

/* @length bytes from the beginning of @a's buffer, with the header */
static void send_header(uint8_t opcode, uint64_t tag, uint32_t length)
{
	put_header(opcode, tag);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, length));
}

static void send_eager(uint64_t tag, uint32_t payload)
{
	send_header(IBV_TMH_EAGER, tag, TMH + payload);
	expect_ok(a.scq, 1);
}

/* ask to have @length bytes at @off read; the message has @more bytes behind its headers */
static void request(uint64_t tag, size_t off, uint32_t length, uint32_t rkey, uint32_t more)
{
	struct ibv_rvh rvh = {
		.va = htobe64((uintptr_t)a.buf + off), .rkey = htobe32(rkey), .len = htobe32(length),
	};

	memcpy(a.buf + TMH, &rvh, sizeof(rvh));
	send_header(IBV_TMH_RNDV, tag, HEADERS + more);
}

static void expect_fin(uint64_t id, uint64_t tag, size_t off)
{
	struct ibv_tmh *tmh = (struct ibv_tmh *)(a.buf + off);

	SAME(expect_ok(a.rcq, id).byte_len, HEADERS);
	SAME(tmh->opcode, IBV_TMH_FIN);
	SAME(be64toh(tmh->tag), tag);
	SAME(be32toh(tmh->app_ctx), 0xabcd0000 + (uint16_t)tag);
	SAME(memcmp(a.buf + off + TMH, a.buf + TMH, HEADERS - TMH), 0);
}

static void capabilities(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	CHECK(attr.tm_caps.flags & IBV_TM_CAP_RC);
	CHECK(attr.tm_caps.max_num_tags >= 64);
	CHECK(attr.tm_caps.max_ops >= 16);
	SAME(attr.tm_caps.max_sge, 1);
	CHECK(attr.tm_caps.max_rndv_hdr_size >= HEADERS);
}

/* a message has one packet, several, or only the header */
static void eager(void)
{
	const uint32_t lengths[] = { 1000, 20000, 1, 0, 30000 };
	size_t i;

	make_connected();
	fill(a.buf, BUF, 3);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(buf, 0, BUF);
		add(0x1234567800000000 + i, 8, 30000);
		send_eager(0x1234567800000000 + i, lengths[i]);
		expect_match(0x1234567800000000 + i, FLAGS_ALL, 0x1234567800000000 + i, lengths[i]);
		check_zero(buf, 8);
		SAME(memcmp(buf + 8, a.buf + TMH, lengths[i]), 0);
		check_zero(buf + 8 + lengths[i], 100);
	}
	nothing_more();
}

/* a tag without memory */
static void empty(void)
{
	struct ibv_ops_wr wr = op(IBV_WR_TAG_ADD, 5);

	make_connected();
	wr.tm.add.recv_wr_id = 6;
	wr.tm.add.tag = 7;
	wr.tm.add.mask = UINT64_MAX;
	wr.flags = 0;
	SAME(try_op(&wr), 0);
	send_eager(7, 0);
	expect_match(6, FLAGS_ALL, 7, 0);
}

/* the oldest tag that matches takes the message */
static void order(void)
{
	make_connected();
	add_masked(0x10, 0xf0, 0, 100, 1);
	add_masked(0x11, UINT64_MAX, 100, 100, 2);
	add_masked(0x20, 0xf0, 200, 100, 3);
	add_masked(0x10, 0xf0, 300, 100, 4);
	add_masked(0, 0, 400, 100, 5);
	fill(a.buf, BUF, 1);
	send_eager(0x11, 20);
	expect_match(1, FLAGS_ALL, 0x11, 20);
	send_eager(0x11, 20);
	expect_match(2, FLAGS_ALL, 0x11, 20);
	send_eager(0xff11, 20);
	expect_match(4, FLAGS_ALL, 0xff11, 20);
	send_eager(0x11, 20);
	expect_match(5, FLAGS_ALL, 0x11, 20);
	send_eager(0xaa2b, 20);
	expect_match(3, FLAGS_ALL, 0xaa2b, 20);
	SAME(memcmp(buf + 200, a.buf + TMH, 20), 0);
}

static void expect_unexpected(uint64_t id, uint32_t length)
{
	struct completion c = next();

	SAME(c.status, IBV_WC_SUCCESS);
	SAME(c.wr_id, id);
	SAME(c.opcode, IBV_WC_TM_RECV);
	SAME(c.flags, 0);
	SAME(c.length, length);
	SAME(c.info.tag, 0);
}

/* after an unexpected message newer tags wait until the counts agree */
static void unexpected(void)
{
	struct ibv_ops_wr wr;

	make_connected();
	add(1, 0, 100);
	untagged(50, 1000, 2000);
	untagged(51, 4000, 2000);
	fill(a.buf, BUF, 1);
	send_eager(2, 500);
	expect_unexpected(50, TMH + 500);
	SAME(memcmp(buf + 1000, a.buf, TMH + 500), 0);

	/* the process does not say that it has seen the message */
	wr = op(IBV_WR_TAG_ADD, 60);
	wr.flags = IBV_OPS_SIGNALED;
	wr.tm.add.tag = 2;
	wr.tm.add.mask = UINT64_MAX;
	wr.tm.add.recv_wr_id = 61;
	SAME(try_op(&wr), 0);
	expect(60, IBV_WC_TM_ADD, IBV_WC_TM_SYNC_REQ);
	/* older tags go on */
	send_eager(1, 10);
	expect_match(1, FLAGS_ALL, 1, 10);
	send_eager(2, 0);
	expect_unexpected(51, TMH);
	sync_counts(1, IBV_WC_TM_SYNC_REQ);
	sync_counts(2, 0);
	send_eager(2, 0);
	expect_match(61, FLAGS_ALL, 2, 0);
	seen = 2;
	add(9, 0, 10);
	send_eager(9, 10);
	expect_match(9, FLAGS_ALL, 9, 10);
}

/* a message that asks for no tag is not counted as unexpected */
static void no_tag(void)
{
	make_connected();
	add_masked(0, 0, 0, 1000, 1);
	untagged(50, 1000, 2000);
	untagged(51, 4000, 2000);
	untagged(52, 8000, 2000);
	untagged(53, 12000, 2000);
	fill(a.buf, BUF, 1);
	send_header(IBV_TMH_NO_TAG, 0, 800);
	expect(50, IBV_WC_TM_NO_TAG, 0);
	SAME(memcmp(buf + 1000, a.buf, 800), 0);
	send_header(IBV_TMH_FIN, 0, HEADERS);
	expect(51, IBV_WC_TM_NO_TAG, 0);
	send_header(200, 0, 100);
	expect(52, IBV_WC_TM_NO_TAG, 0);
	send_header(IBV_TMH_EAGER, 0, TMH - 1);
	expect(53, IBV_WC_TM_NO_TAG, 0);
	sync_counts(0, 0);
	/* nothing has taken the tag */
	send_header(IBV_TMH_EAGER, 3, TMH);
	expect_match(1, FLAGS_ALL, 3, 0);
}

/* rendezvous requests that are none: too short for the header, too long for the capability */
static void odd_requests(void)
{
	struct ibv_device_attr_ex attr;

	make_connected();
	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	add_masked(0, 0, 0, 1000, 1);
	untagged(50, 1000, 2000);
	untagged(51, 4000, 6000);
	send_header(IBV_TMH_RNDV, 5, HEADERS - 1);
	expect_unexpected(50, HEADERS - 1);
	request(5, 0, 10, a.mr->rkey, attr.tm_caps.max_rndv_hdr_size - HEADERS + 1);
	expect_unexpected(51, attr.tm_caps.max_rndv_hdr_size + 1);
	sync_counts(2, 0);
}

static void deletion(void)
{
	uint32_t first, second;

	make_connected();
	first = add(1, 0, 100);
	second = add(2, 0, 100);
	CHECK(first != second);
	del(first, IBV_WC_SUCCESS);
	del(first, IBV_WC_TM_ERR);
	/* the entry is used again; the old handle is not valid for that */
	CHECK(add(3, 0, 100) != first);
	del(first, IBV_WC_TM_ERR);
	del(UINT32_MAX, IBV_WC_TM_ERR);
	send_eager(2, 0);
	expect_match(2, FLAGS_ALL, 2, 0);
	del(second, IBV_WC_TM_ERR);
	/* 1 is gone */
	untagged(50, 1000, 100);
	send_eager(1, 0);
	expect_unexpected(50, TMH);
}

static void expect_read(uint64_t tag, uint32_t length)
{
	expect_match(tag, IBV_WC_TM_MATCH, tag, length);
	expect(tag, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
}

static void rendezvous(void)
{
	const uint32_t lengths[] = { 1000, 20000, 1, 0, 30000 };
	uint32_t i;

	make_connected();
	fill(a.buf, BUF, 3);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(buf, 0, BUF);
		post_recv(&a, 10 + i, 60000, 100);
		add(i, 8, 30000);
		request(i, 4096, lengths[i], a.mr->rkey, i);
		expect_ok(a.scq, 1);
		expect_read(i, lengths[i]);
		expect_fin(10 + i, i, 60000);
		check_zero(buf, 8);
		SAME(memcmp(buf + 8, a.buf + 4096, lengths[i]), 0);
		check_zero(buf + 8 + lengths[i], 100);
	}
	nothing_more();
	expect_no_wc_now(b.scq);
	expect_no_wc_now(b.rcq);
}

/* more at a time than the QP's own send queue holds: the sender waits */
static void many_rendezvous(void)
{
	struct completion c;
	int i, round, matched = 0, read = 0;

	make_connected();
	fill(a.buf + 4096, 4096, 3);
	for (i = 0; i < 60; i++) {
		post_recv(&a, i, 60000, 100);
		add_masked(0, 0, i * 1000, 1000, i);
	}
	for (round = 0; round < 60; round++)
		request(1, 4096, 1000, a.mr->rkey, 0);
	while (read < 60) {
		c = next();
		SAME(c.status, IBV_WC_SUCCESS);
		SAME(c.opcode, IBV_WC_TM_RECV);
		if (c.flags == IBV_WC_TM_MATCH) {
			SAME(c.wr_id, matched++);
		} else {
			SAME(c.flags, IBV_WC_TM_DATA_VALID);
			SAME(c.wr_id, read);
			SAME(memcmp(buf + read * 1000, a.buf + 4096, 1000), 0);
			read++;
		}
	}
	SAME(matched, 60);
	for (i = 0; i < 60; i++)
		expect_ok(a.rcq, i);
}

/* a tag with too little memory gets the headers; its process reads the data by itself */
static void incomplete(void)
{
	struct completion c;

	make_connected();
	fill(a.buf, BUF, 1);
	add(5, 0, 999);
	request(5, 4096, 1000, a.mr->rkey, 0);
	c = next();
	SAME(c.status, IBV_WC_TM_RNDV_INCOMPLETE);
	SAME(c.wr_id, 5);
	SAME(c.info.tag, 5);
	SAME(memcmp(buf, a.buf, HEADERS), 0);
	check_zero(buf + HEADERS, 999 - HEADERS);
	/* less than the headers need */
	memset(buf, 0, BUF);
	add(6, 0, 10);
	request(6, 4096, 1000, a.mr->rkey, 0);
	c = next();
	SAME(c.status, IBV_WC_TM_RNDV_INCOMPLETE);
	SAME(memcmp(buf, a.buf, 10), 0);
	check_zero(buf + 10, 100);
	nothing_more();
	/* the connection goes on */
	expect_ok(a.scq, 1);
	expect_ok(a.scq, 1);
	add(7, 0, 1000);
	send_eager(7, 10);
	expect_match(7, FLAGS_ALL, 7, 10);
}

static void too_long(void)
{
	make_connected();
	/* the receive before has had more room */
	untagged(50, 1000, 2000);
	send_header(IBV_TMH_NO_TAG, 0, 800);
	expect_ok(a.scq, 1);
	expect(50, IBV_WC_TM_NO_TAG, 0);
	memset(buf + 1000, 0, 800);
	add(5, 0, 99);
	send_header(IBV_TMH_EAGER, 5, TMH + 100);
	expect_wc(a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_status(5, IBV_WC_LOC_LEN_ERR);
	expect_state(&b, IBV_QPS_ERR);
	check_zero(buf, 200);
}

/* memory of a tag that is none */
static void bad_memory(void)
{
	struct ibv_ops_wr wr = op(IBV_WR_TAG_ADD, 60);
	struct ibv_sge sge;

	make_connected();
	sge = (struct ibv_sge){ (uintptr_t)buf + BUF - 10, 20, mr->lkey };
	wr.tm.add.sg_list = &sge;
	wr.tm.add.num_sge = 1;
	wr.tm.add.recv_wr_id = 61;
	SAME(try_op(&wr), 0);
	expect(60, IBV_WC_TM_ADD, 0);
	send_header(IBV_TMH_EAGER, 5, TMH + 20);
	expect_wc(a.scq, 1, IBV_WC_REM_OP_ERR);
	expect_status(61, IBV_WC_LOC_PROT_ERR);
}

/* a line for weft-inject's file, behind the name of the device */
static void inject(const char *text)
{
	char line[128];

	snprintf(line, sizeof(line), "%s %s", ibv_get_device_name(ctx->device), text);
	write_text("/sys/kernel/debug/weft/inject", line);
}

/*
 * A rule lets a receive fail: one with a tag, eager or by rendezvous, or one without. The others
 * stay.
 */
static void injected(void)
{
	static const struct {
		uint64_t id;
		const char *rule;
		enum ibv_wc_status status, requester;
	} rows[] = {
		{ 5, "receive n=1 complete=LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR },
		{ 6, "receive n=1 complete=LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR,
		  IBV_WC_REM_INV_REQ_ERR },
		{ 50, "receive n=1 complete=GENERAL_ERR", IBV_WC_GENERAL_ERR, IBV_WC_REM_OP_ERR },
	};
	size_t i;

	make_connected();
	for (i = 5; i <= 7; i++)
		add(i, 1000 * i, 1000);
	untagged(50, 50000, 2000);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("%s, id %d", rows[i].rule, (int)rows[i].id);
		inject(rows[i].rule);
		if (rows[i].id == 6)
			request(6, 4096, 1000, a.mr->rkey, 0);
		else
			send_header(IBV_TMH_EAGER, rows[i].id, TMH + 100);
		expect_wc(a.scq, 1, rows[i].requester);
		expect_status(rows[i].id, rows[i].status);
		nothing_more();
		expect_state(&b, IBV_QPS_ERR);
		check_zero(buf, BUF);
		inject("clear");
		make_qps();
	}
	send_eager(7, 100);
	expect_match(7, FLAGS_ALL, 7, 100);
	nothing_more();
}

/* While a message waits for its pages the QP ends: the receive is flushed, or forgotten. */
static void ends_meanwhile(void)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_ERR, IBV_QPS_RESET };
	struct ibv_mr *normal;
	uint8_t *held;
	size_t i;
	int fd;

	make_connected();
	normal = mr;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		note("to state %d", states[i]);
		held = memory(BUF);
		mr = ibv_reg_mr(pd, held, BUF, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
		CHECK(mr);
		fd = uffd_hold(held, BUF);
		add(5, held - buf, 1000);
		send_header(IBV_TMH_EAGER, 5, TMH + 100);
		expect_no_wc(a.scq);
		to_state(&b, states[i]);
		if (states[i] == IBV_QPS_ERR)
			expect_status(5, IBV_WC_WR_FLUSH_ERR);
		nothing_more();
		close(fd);
		make_qps();
	}
	mr = normal;
	add(6, 0, 1000);
	send_eager(6, 100);
	expect_match(6, FLAGS_ALL, 6, 100);
	nothing_more();
}

/* a peer that names memory that is not its own, or not to be read */
static void bad_request(void)
{
	make_connected();
	add(5, 0, 1000);
	request(5, BUF - 10, 20, a.mr->rkey, 0);
	/* in packets the READ may come before the acknowledge, and flushes the request */
	SAME(next_wc(a.scq).wr_id, 1);
	expect_match(5, IBV_WC_TM_MATCH, 5, 20);
	expect_status(5, IBV_WC_REM_ACCESS_ERR);
	expect_state(&b, IBV_QPS_ERR);
}

/* a rendezvous waits for an answer that never comes; all goes away */
static void destroyed(void)
{
	make_connected();
	add(5, 0, 1000);
	add(6, 0, 1000);
	/* no receive for FIN */
	request(5, 4096, 1000, a.mr->rkey, 0);
	expect_ok(a.scq, 1);
	expect_read(5, 1000);
	REFUSED(ibv_destroy_srq(srq), EBUSY);
	SAME(ibv_destroy_qp(b.qp), 0);
	SAME(ibv_destroy_srq(srq), 0);
	nothing_more();
	SAME(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* one list for several connections */
static void connections(void)
{
	struct end c = {}, d = {};
	uint32_t i;

	make_connected();
	make(&c, CONF(.sq = 64, .rq = 64));
	make(&d, CONF(.sq = 0, .rq = 0, .srq = srq));
	connect_ends(&c, &d);
	for (i = 0; i < 20; i++)
		add_masked(i, UINT64_MAX, i * 100, 100, i);
	for (i = 0; i < 20; i++) {
		struct end *from = i & 1 ? &a : &c;
		struct ibv_tmh tmh = { .opcode = IBV_TMH_EAGER, .tag = htobe64(i) };

		memcpy(from->buf, &tmh, sizeof(tmh));
		post(from, swr(from, 1, IBV_WR_SEND, 0, TMH + i));
		expect_ok(from->scq, 1);
		SAME(next().wr_id, i);
	}
}

/* an unexpected message that ends its connection is not counted: new tags of others match */
static void unexpected_fails(void)
{
	struct end c = {}, d = {};

	make_connected();
	make(&c, CONF(.sq = 64, .rq = 64));
	make(&d, CONF(.sq = 0, .rq = 0, .srq = srq));
	connect_ends(&c, &d);
	untagged(50, 4000, 20);
	send_header(IBV_TMH_EAGER, 99, TMH + 100);
	expect_wc(a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_status(50, IBV_WC_LOC_LEN_ERR);
	add(7, 0, 100);
	a = c;
	b = d;
	send_eager(7, 10);
	expect_match(7, FLAGS_ALL, 7, 10);
}

/* other operations of the peer, and a receive that is not for a tag */
static void other_operations(void)
{
	struct completion c;

	make_connected();
	fill(a.buf, BUF, 1);
	add(5, 0, 1000);
	untagged(50, 0, 100);
	post(&a, at_key(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 2000), mr->rkey, (uintptr_t)buf));
	expect_ok(a.scq, 1);
	SAME(memcmp(buf, a.buf, 2000), 0);
	post(&a, at_key(swr(&a, 2, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 2000), mr->rkey,
			(uintptr_t)buf + 4000));
	expect_ok(a.scq, 2);
	c = next();
	SAME(c.wr_id, 50);
	SAME(c.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	SAME(c.flags, IBV_WC_WITH_IMM);
	sync_counts(0, 0);
	/* immediate data of a message that matches */
	put_header(IBV_TMH_EAGER, 5);
	post(&a, swr(&a, 3, IBV_WR_SEND_WITH_IMM, 0, TMH + 10));
	expect_ok(a.scq, 3);
	expect_match(5, FLAGS_ALL | IBV_WC_WITH_IMM, 5, 10);
}

/* no tag and no receive: the sender tries again */
static void not_ready(void)
{
	make_connected();
	send_header(IBV_TMH_EAGER, 5, 100);
	nothing_more();
	expect_no_wc_now(a.scq);
	add(5, 0, 1000);
	expect_ok(a.scq, 1);
	expect_match(5, FLAGS_ALL, 5, 100 - TMH);
	/* it has not been counted as unexpected */
	sync_counts(0, 0);
}

static void full_list(void)
{
	struct ibv_ops_wr wr = op(IBV_WR_TAG_ADD, 60);
	uint32_t handle = 0, i;

	num_tags = 5;
	make_connected();
	for (i = 0; i < 5; i++)
		handle = add(i, 0, 100);
	REFUSED(try_op(&wr), ENOMEM);
	del(handle, IBV_WC_SUCCESS);
	add(7, 0, 100);
	REFUSED(try_op(&wr), ENOMEM);
	send_eager(2, 10);
	expect_match(2, FLAGS_ALL, 2, 10);
	add(8, 0, 100);
}

static void refused_operations(void)
{
	struct ibv_srq_init_attr plain = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_ops_wr wr = op(IBV_WR_TAG_SYNC, 60), second, *bad;
	struct ibv_sge sge[2] = {};

	make_connected();
	wr.opcode = 3;
	REFUSED(try_op(&wr), EINVAL);
	wr = op(IBV_WR_TAG_SYNC, 60);
	wr.flags = 4;
	REFUSED(try_op(&wr), EINVAL);
	wr = op(IBV_WR_TAG_ADD, 60);
	wr.tm.add.sg_list = sge;
	wr.tm.add.num_sge = 2;
	REFUSED(try_op(&wr), EINVAL);
	wr.tm.add.num_sge = -1;
	REFUSED(try_op(&wr), EINVAL);
	nothing_more();

	/* those before it are done */
	second = wr;
	wr = op(IBV_WR_TAG_SYNC, 61);
	wr.next = &second;
	SAME(ibv_post_srq_ops(srq, &wr, &bad), EINVAL);
	CHECK(bad == &second);
	expect(61, IBV_WC_TM_SYNC, 0);

	srq = ibv_create_srq(pd, &plain);
	CHECK(srq);
	wr = op(IBV_WR_TAG_SYNC, 60);
	REFUSED(try_op(&wr), EINVAL);
}

static void refused_creations(void)
{
	struct ibv_device_attr_ex dev;
	struct ibv_srq_init_attr_ex attr;
	struct ibv_qp_init_attr qp = {
		.cap = { .max_send_wr = 1, .max_send_sge = 1 }, .qp_type = IBV_QPT_RC,
	};

	make_srq();
	SAME(ibv_query_device_ex(ctx, NULL, &dev), 0);
	attr = attributes();
	attr.tm_cap.max_num_tags = 0;
	REFUSED(ibv_create_srq_ex(ctx, &attr), EINVAL);
	attr = attributes();
	attr.tm_cap.max_num_tags = dev.tm_caps.max_num_tags + 1;
	REFUSED(ibv_create_srq_ex(ctx, &attr), EINVAL);
	attr = attributes();
	attr.tm_cap.max_ops = dev.tm_caps.max_ops + 1;
	REFUSED(ibv_create_srq_ex(ctx, &attr), EINVAL);
	attr = attributes();
	attr.comp_mask &= ~IBV_SRQ_INIT_ATTR_CQ;
	REFUSED(ibv_create_srq_ex(ctx, &attr), EINVAL);
	attr = attributes();
	attr.comp_mask &= ~IBV_SRQ_INIT_ATTR_TM;
	REFUSED(ibv_create_srq_ex(ctx, &attr), EINVAL);
	attr = attributes();
	attr.tm_cap.max_num_tags = dev.tm_caps.max_num_tags;
	attr.tm_cap.max_ops = dev.tm_caps.max_ops;
	CHECK(ibv_create_srq_ex(ctx, &attr));

	qp.send_cq = ibv_cq_ex_to_cq(cq);
	qp.recv_cq = qp.send_cq;
	qp.srq = srq;
	/* its send queue belongs to the SRQ */
	REFUSED(ibv_create_qp(pd, &qp), EINVAL);
	qp.cap.max_send_wr = 0;
	qp.qp_type = IBV_QPT_UC;
	REFUSED(ibv_create_qp(pd, &qp), EINVAL);
	qp.qp_type = IBV_QPT_UD;
	REFUSED(ibv_create_qp(pd, &qp), EINVAL);
	qp.qp_type = IBV_QPT_RC;
	CHECK(ibv_create_qp(pd, &qp));
	SAME(qp.cap.max_send_wr, 0);
}

/* nobody can post to the QP, nor give it a send queue */
static void no_send_queue(void)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = 16 } };
	struct ibv_send_wr *bad;

	make_connected();
	CHECK(ibv_post_send(b.qp, swr(&b, 1, IBV_WR_SEND, 0, 0), &bad));
	attr.qp_state = IBV_QPS_RTS;
	REFUSED(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | IBV_QP_CAP), EINVAL);
	add(1, 0, 100);
	send_eager(1, 50);
	expect_match(1, FLAGS_ALL, 1, 50);
}

TESTS(
	TEST(capabilities), TEST(eager), TEST(empty), TEST(order), TEST(unexpected),
	TEST(no_tag), TEST(odd_requests), TEST(deletion), TEST(rendezvous),
	TEST(many_rendezvous), TEST(incomplete), TEST(too_long), TEST(bad_memory),
	TEST(injected), TEST(ends_meanwhile), TEST(bad_request), TEST(destroyed),
	TEST(connections), TEST(unexpected_fails), TEST(other_operations), TEST(not_ready),
	TEST(full_list), TEST(refused_operations), TEST(refused_creations),
	TEST(no_send_queue)
)
