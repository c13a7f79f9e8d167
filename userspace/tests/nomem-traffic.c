// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages for which there is no memory: each ends, by success or by an error that conformance.rst
 * has for it, and what succeeds has its bytes.
 *
 * The allocations of the thread that posts fail one after the other, as those of calls do; then one
 * in ten of all that weft makes, in any context.
 */
#include "nomem.h"

#include <endian.h>

#define FAULTS		"/sys/kernel/debug/"
#define TIMES		1000000
#define PERCENT		10
#define LOSS_MS		20

static int errors, lost;		/* messages that ended so */
static bool suffers;			/* those that may be lost are waited for no longer than LOSS_MS */

static void set_fault(const char *kind, const char *file, int value)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), FAULTS "%s/%s", kind, file);
	snprintf(text, sizeof(text), "%d", value);
	write_text(path, text);
}

static int times_left(const char *kind)
{
	char path[64];

	snprintf(path, sizeof(path), FAULTS "%s/times", kind);
	return read_number(path);
}

/* so many of a hundred allocations fail */
static void fail_some(int percent)
{
	set_fault("failslab", "probability", percent);
	set_fault("fail_page_alloc", "probability", percent);
}

/* Whether @status is an error of those that want of memory may cause; it is counted. */
static bool has_failed(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return false;
	case IBV_WC_GENERAL_ERR:	/* pages of the requester */
	case IBV_WC_REM_OP_ERR:		/* of the responder */
	case IBV_WC_RETRY_EXC_ERR:	/* packets */
	case IBV_WC_RNR_RETRY_EXC_ERR:
	case IBV_WC_MW_BIND_ERR:	/* a layout */
		errors++;
		return true;
	default:
		FAIL("a message ends with %s", ibv_wc_status_str(status));
	}
}

/*
 * @one does one message. Each message may take seconds, if its packets get no memory again and
 * again, but no longer than next_wc() waits.
 */
static int (*message)(int i);
static int number, percent;
static void again(void)
{
	fail_some(0);
	connect_again();
	fail_some(percent);
}

static int next_message(void)
{
	return message(number++);
}

static void suffer(const char *name, int (*one)(int i), int rounds)
{
	char text[64];
	int i, left;

	message = one;
	errors = lost = percent = 0;
	suffers = true;
	snprintf(text, sizeof(text), "%s%s", name, packets_forced() ? ", packets" : "");
	walk(text, next_message, nothing);
	set_fault("failslab", "times", TIMES);
	set_fault("fail_page_alloc", "times", TIMES);
	percent = PERCENT;
	fail_some(percent);
	for (i = 0; i < rounds; i++) {
		note("%s, message %d", text, i);
		one(number++);
	}
	percent = 0;
	fail_some(0);
	left = times_left("failslab") + times_left("fail_page_alloc");
	set_fault("failslab", "times", -1);
	set_fault("fail_page_alloc", "times", -1);
	printf("%s: %d messages, %d allocations failed, %d errors, %d lost\n", text, rounds,
	       2 * TIMES - left, errors, lost);
	/* now that there is memory */
	suffers = false;
	i = errors + lost;
	for (left = 0; left < 5; left++)
		one(number++);
	SAME(errors + lost, i);
}

/*
 * ---- Connections ----
 */

static uint32_t length_of(int i)
{
	static const uint32_t lengths[] = { 0, 1, 100, 1024, 4096, 9000, 30000 };

	return lengths[i % ARRAY_SIZE(lengths)];
}

static bool paged;			/* both ends have memory that comes when it is used */

static void page_out(void)
{
	if (!paged)
		return;
	madvise(a.buf, BUF, MADV_DONTNEED);
	madvise(b.buf, BUF, MADV_DONTNEED);
}

static int reliable(int i)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	enum ibv_wr_opcode op = opcodes[i % ARRAY_SIZE(opcodes)];
	bool reads = op == IBV_WR_RDMA_READ, atomic = op == IBV_WR_ATOMIC_FETCH_AND_ADD;
	bool received = op != IBV_WR_RDMA_WRITE && !reads && !atomic;
	uint32_t length = atomic ? 8 : length_of(i / ARRAY_SIZE(opcodes));
	struct ibv_send_wr *wr = swr(&a, 1, op, 0, length);
	uint64_t word = i;

	page_out();
	fill((reads ? &b : &a)->buf, length, i);
	if (atomic)
		memcpy(b.buf, &word, 8);
	if (received)
		post_recv(&b, 2, 0, op == IBV_WR_RDMA_WRITE_WITH_IMM ? 0 : length);
	if (op != IBV_WR_SEND && op != IBV_WR_SEND_WITH_IMM)
		at(wr, &b, 0);
	wr->wr.atomic.compare_add = atomic ? 5 : wr->wr.atomic.compare_add;
	post(&a, wr);
	if (has_failed(next_wc(a.scq).status)) {
		again();
		return 0;
	}
	if (received)
		expect_ok(b.rcq, 2);
	if (atomic) {
		memcpy(&word, b.buf, 8);
		SAME(word, i + 5);
	} else {
		check_filled((reads ? &a : &b)->buf, length, i);
	}
	return 0;
}

static void make_paged(struct end *e)
{
	SAME(ibv_dereg_mr(e->mr), 0);
	e->mr = ibv_reg_mr(pd, e->buf, BUF, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(e->mr);
	paged = true;
}

static void connections(int rounds)
{
	make_pair(&a, &b, CONF());
	suffer("RC", reliable, rounds);
	make_paged(&a);
	make_paged(&b);
	suffer("RC, on-demand", reliable, rounds);
	paged = false;
	unmake(&a);
	unmake(&b);
}

static uint64_t may_take_until(void)
{
	return now_ns() + (suffers ? LOSS_MS : WAIT_MS) * 1000000ULL;
}

/* Messages that may be lost say by their immediate data which they are. */
static void look_for(struct end *e, int wanted, int grh)
{
	uint64_t end = may_take_until();
	struct ibv_wc wc;

	do {
		if (!ibv_poll_cq(e->rcq, 1, &wc))
			continue;
		SAME(wc.status, IBV_WC_SUCCESS);
		check_filled(e->buf + grh, wc.byte_len - grh, be32toh(wc.imm_data));
		post_recv(e, 2, 0, 1024 + grh);
		if ((int)be32toh(wc.imm_data) == wanted)
			return;
	} while (now_ns() < end);
	lost++;
}

static int unreliable(int i)
{
	struct ibv_send_wr *wr = swr(&a, 1, IBV_WR_SEND_WITH_IMM, 0, 1 + i % 1000);

	wr->imm_data = htobe32(i);
	fill(a.buf, 1 + i % 1000, i);
	post(&a, wr);
	expect_ok(a.scq, 1);
	look_for(&b, i, 0);
	return 0;
}

static struct ibv_ah *ah;
static int datagram(int i)
{
	struct ibv_send_wr *wr = swr(&a, 1, IBV_WR_SEND_WITH_IMM, 0, 1 + i % 1000);

	wr->imm_data = htobe32(i);
	fill(a.buf, 1 + i % 1000, i);
	post(&a, to_ah(wr, ah, &b));
	expect_ok(a.scq, 1);
	look_for(&b, i, 40);
	return 0;
}

static void lossy(int rounds)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UC));
	post_recv(&b, 2, 0, 1024);
	suffer("UC", unreliable, rounds);
	unmake(&a);
	unmake(&b);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	ah = ah_to(gid4, gid4);
	post_recv(&b, 2, 0, 1024 + 40);
	suffer("UD", datagram, rounds);
	SAME(ibv_destroy_ah(ah), 0);
	unmake(&a);
	unmake(&b);
}

static int frame(int i)
{
	uint64_t end;

	send_frame(i);
	end = may_take_until();
	do {
		if (got_frame() == i)
			return 0;
	} while (now_ns() < end);
	lost++;
	return 0;
}

static void raw_frames(int rounds)
{
	open_frames();
	suffer("frames", frame, rounds);
	close_frames();
}

/*
 * ---- Initiators, mkeys ----
 */

static int dc_message(int i)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	enum ibv_wr_opcode op = opcodes[i % ARRAY_SIZE(opcodes)];
	uint32_t length = 1 + length_of(i / ARRAY_SIZE(opcodes));
	bool reads = op == IBV_WR_RDMA_READ;

	page_out();
	fill((reads ? &b : &a)->buf, length, i);
	if (has_failed(dc_request(op, length))) {
		fail_some(0);
		dc_restart();
		fail_some(percent);
		return 0;
	}
	if (op == IBV_WR_SEND)
		expect_ok(b.rcq, 2);
	check_filled((reads ? &a : &b)->buf, length, i);
	return 0;
}

static void initiators(int rounds)
{
	make_dc();
	make_paged(&a);
	make_paged(&b);
	suffer("DC, on-demand", dc_message, rounds);
	paged = false;
	unmake_dc();
}

static struct weftdv_mkey *mkey;
static int mkey_message(int i)
{
	struct ibv_qp_ex *qp;
	bool reads = i % 2;
	int part;

	if (has_failed(mkey_list(&b, mkey))) {
		again();
		return 0;
	}
	fill(a.buf, 32768, i);
	fill(b.buf, BUF, i + 1);
	qp = wr_start(&a, 1);
	if (reads)
		ibv_wr_rdma_read(qp, mkey->rkey, 0);
	else
		ibv_wr_rdma_write(qp, mkey->rkey, 0);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 32768);
	SAME(ibv_wr_complete(qp), 0);
	if (has_failed(next_wc(a.scq).status))
		again();
	else
		for (part = 0; part < 8; part++)
			SAME(memcmp(a.buf + part * 4096, b.buf + part * 8192, 4096), 0);
	while (has_failed(mkey_invalidate(&b, mkey)))
		again();
	return 0;
}

static void keys(int rounds)
{
	make_dv(&a);
	make_dv(&b);
	connect_ends(&a, &b);
	mkey = mkey_new(0);
	CHECK(mkey);
	suffer("mkeys", mkey_message, rounds);
	SAME(weftdv_destroy_mkey(mkey), 0);
	unmake(&a);
	unmake(&b);
}

void traffic(void)
{
	int rounds = repeat(60, 120);

	connections(rounds);
	lossy(rounds);
	keys(rounds);
	if (packets_forced())
		return;
	/* these know no other way than the local one */
	initiators(rounds);
	if (port.link_layer == IBV_LINK_LAYER_ETHERNET)
		raw_frames(rounds);
}
