// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Injection rules: a row for each thing that can match, of requests and of packets. */
#include "inject.h"
#include "xrc.h"

#define CAP_ATOMIC_WRITE	(1ULL << 40)
#define PLACEMENT_OPS		(IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

enum kind {
	SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, CMP_SWP, FETCH_ADD, ATOMIC_WRITE, FLUSH,
	LOCAL_INV, BIND_MW, KINDS,
};

/* what a rule calls each request, and the word that includes it; has it packets, and a receive? */
static const struct {
	const char *opcode, *group;
	bool packets, receives;
} kinds[KINDS] = {
	[SEND] = { "send", "send", true, true }, [SEND_IMM] = { "send-imm", "send", true, true },
	[SEND_INV] = { "send-inv", "send", true, true }, [WRITE] = { "write", "write", true },
	[WRITE_IMM] = { "write-imm", "write", true, true }, [READ] = { "read", "read", true },
	[CMP_SWP] = { "cmp-swp", "atomic", true }, [FETCH_ADD] = { "fetch-add", "atomic", true },
	[ATOMIC_WRITE] = { "atomic-write", "atomic-write", true },
	[FLUSH] = { "flush", "flush", true }, [LOCAL_INV] = { "local-inv", "local-inv" },
	[BIND_MW] = { "bind-mw", "bind-mw" },
};

static struct end a, b;
static struct ibv_mr *bindable;		/* of b.buf, for windows and FLUSH */
static uint32_t window;			/* key of a window of b */

static bool has_placement(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	return attr.device_cap_flags_ex & CAP_ATOMIC_WRITE;
}

/* They stay until the case ends. Return: there are such requests. */
static bool make_kinds(enum kind kind)
{
	const bool placement = kind == FLUSH || kind == ATOMIC_WRITE;
	struct ibv_send_wr *wr;
	struct ibv_mw *mw;

	if (placement && !has_placement())
		return false;
	if (placement)
		make_pair(&a, &b, CONF(.timeout = 12, .ex = true, .ops = PLACEMENT_OPS,
				       .access = ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL));
	else
		make_pair(&a, &b, CONF(.timeout = 12));
	bindable = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND |
					      (placement ? IBV_ACCESS_FLUSH_GLOBAL : 0));
	CHECK(bindable);
	if (kind != SEND_INV)
		return true;
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	CHECK(mw);
	wr = bind_wr(&b, 1, mw, bindable, BUF);
	window = wr->bind_mw.rkey;
	post(&b, wr);
	expect_ok(b.scq, 1);
	return true;
}

/* request 7 of @a, which works if no rule is against it */
static void post_kind(enum kind kind)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[SEND] = IBV_WR_SEND, [SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[SEND_INV] = IBV_WR_SEND_WITH_INV, [WRITE] = IBV_WR_RDMA_WRITE,
		[WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM, [READ] = IBV_WR_RDMA_READ,
		[CMP_SWP] = IBV_WR_ATOMIC_CMP_AND_SWP, [FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[LOCAL_INV] = IBV_WR_LOCAL_INV,
	};
	const bool atomic = kind == CMP_SWP || kind == FETCH_ADD;
	uint64_t value = 5;
	struct ibv_send_wr *wr;
	struct ibv_qp_ex *qp;
	struct ibv_mw *mw;

	if (kinds[kind].receives)
		post_recv(&b, 9, 0, 100);
	switch (kind) {
	case FLUSH:
		qp = wr_start(&a, 7);
		ibv_wr_flush(qp, bindable->rkey, (uintptr_t)b.buf, 100, IBV_FLUSH_GLOBAL,
			     IBV_FLUSH_RANGE);
		SAME(ibv_wr_complete(qp), 0);
		return;
	case ATOMIC_WRITE:
		qp = wr_start(&a, 7);
		ibv_wr_atomic_write(qp, b.mr->rkey, (uintptr_t)b.buf, &value);
		SAME(ibv_wr_complete(qp), 0);
		return;
	case BIND_MW:
		mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		CHECK(mw);
		post(&a, bind_wr(&a, 7, mw, bindable, 100));
		return;
	case LOCAL_INV:
	case SEND_INV:
		wr = swr(&a, 7, opcodes[kind], 0, kind == SEND_INV ? 100 : 0);
		wr->invalidate_rkey = window;
		break;
	case SEND:
	case SEND_IMM:
		wr = swr(&a, 7, opcodes[kind], 0, 100);
		break;
	default:
		wr = at(swr(&a, 7, opcodes[kind], 0, atomic ? 8 : 100), &b, 0);
	}
	post(&a, wr);
}

/* Rules with all words but those for @kind, which must not fire. */
static void other_words(const char *place, enum kind kind, const char *action)
{
	int i;

	for (i = 0; i < KINDS; i++)
		if (i != kind && strcmp(kinds[i].opcode, kinds[kind].group))
			rule("%s opcode=%s %s", place, kinds[i].opcode, action);
}

/* each opcode of a request, among rules with all others: by its own word, and that of its group */
void request_opcodes(void)
{
	int kind, i;

	for (kind = 0; kind < KINDS; kind++) {
		for (i = 0; i < 2; i++) {
			if (!make_kinds(kind))
				continue;
			note("%s", kinds[kind].opcode);
			other_words("request comm=inject", kind, "complete=GENERAL_ERR");
			rule("request comm=inject opcode=%s n=1 complete=REM_OP_ERR",
			     i ? kinds[kind].group : kinds[kind].opcode);
			post_kind(kind);
			expect_wc(a.scq, 7, IBV_WC_REM_OP_ERR);
			rule("clear");
		}
	}
}

/* the same of packets: the first one is lost, and the request completes all the same */
void packet_opcodes(void)
{
	char place[64];
	int kind, wire;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		for (kind = 0; kind < KINDS; kind++) {
			if (!kinds[kind].packets || !make_kinds(kind))
				continue;
			snprintf(place, sizeof(place), "packet qp=%u", b.qp->qp_num);
			/* fired() is about the first rule */
			rule("%s opcode=%s n=1 drop", place, kinds[kind].opcode);
			other_words(place, kind, "drop");
			post_kind(kind);
			expect_ok(a.scq, 7);
			if (kinds[kind].receives)
				expect_ok(b.rcq, 9);
			/* the local link has no packets */
			SAME(fired(), wire);
			rule("clear");
		}
	}
	force_packets(false);
}

/* A packet of a request of @kind, at its responder or for an answer at its requester. */
struct row {
	const char *rule;
	enum kind kind;
	bool answer, never;
};

static void packet_row(const struct row *row, int wire)
{
	make_kinds(row->kind);
	rule("packet qp=%u n=1 %s drop", row->answer ? a.qp->qp_num : b.qp->qp_num, row->rule);
	post_kind(row->kind);
	expect_ok(a.scq, 7);
	SAME(fired(), wire && !row->never);
	rule("clear");
	unmake(&a);
}

/* what else a packet matches by; each row loses one, and its request completes all the same */
void packet_matches(void)
{
	char mine[32], other[32];
	const struct row rows[] = {
		{ "position=only", SEND }, { "position=first", SEND }, { "position=last", SEND },
		{ "dir=in", WRITE }, { "service=rc", WRITE }, { "service=uc", WRITE, .never = true },
		{ "service=xrc", WRITE, .never = true }, { "service=ud", WRITE, .never = true },
		{ "comm=inject", WRITE }, { "comm=injec", WRITE, .never = true },
		{ mine, READ }, { other, READ, .never = true },
		{ "opcode=read-response", READ, .answer = true },
		{ "opcode=atomic-ack", FETCH_ADD, .answer = true },
		{ "opcode=atomic-ack", CMP_SWP, .answer = true },
		{ "opcode=read-response", FETCH_ADD, .answer = true, .never = true },
		{ "opcode=atomic-ack", READ, .answer = true, .never = true },
		{ "opcode=ack", WRITE, .answer = true },
		{ "opcode=ack", READ, .answer = true, .never = true },
		{ "bytes=100", WRITE }, { "bytes=101-", WRITE, .never = true },
		{ "attempt=first", WRITE }, { "attempt=retry", WRITE, .never = true },
	};
	size_t i;
	int wire;

	snprintf(mine, sizeof(mine), "pid=%d", getpid());
	snprintf(other, sizeof(other), "pid=%d", getpid() + 1);
	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			packet_row(&rows[i], wire);
	}
	force_packets(false);
}

/* A UC message with a lost packet is not sent again: its request completes, and nothing arrives. */
void unreliable_matches(void)
{
	int wire;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		make_pair(&a, &b, CONF(.type = IBV_QPT_UC));
		rule("packet qp=%u service=uc n=1 drop", b.qp->qp_num);
		fill(a.buf, 100, 3);
		post_recv(&b, 9, 200, 100);
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_ok(a.scq, 1);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
		expect_ok(a.scq, 2);
		expect_ok(b.rcq, 9);
		SAME(fired(), wire);
		if (wire)
			check_zero(b.buf, 100);
		else
			check_filled(b.buf, 100, 3);
		rule("clear");
		unmake(&a);
		unmake(&b);
	}
	force_packets(false);
}

/* XRC: the service, and the SRQ that a message goes to, which a rule can exchange */
void xrc_matches(void)
{
	struct sink one = {}, two = {};

	force_packets(true);
	conf.timeout = 12;
	make_connected();
	make_sink(&one, xrcd);
	make_sink(&two, xrcd);
	rule("packet qp=%u service=rc drop", tgt->qp_num);
	rule("packet qp=%u service=xrc opcode=send n=1 drop", tgt->qp_num);
	sink_post(&one, 1, 0, 100);
	send_to(one.num, IBV_WR_SEND, 0, 100, 11);
	expect_ok(scq, 11);
	expect_received(&one, 1, 100, 0);
	SAME(fired(), 0);
	rule("clear");
	rule("packet qp=%u service=xrc n=1 set=srqn:%u", tgt->qp_num, two.num);
	sink_post(&one, 2, 0, 100);
	sink_post(&two, 3, 0, 100);
	send_to(one.num, IBV_WR_SEND, 0, 100, 12);
	expect_ok(scq, 12);
	expect_received(&two, 3, 100, 0);
	expect_no_wc_now(one.cq);
	SAME(fired(), 1);
	rule("clear");
	force_packets(false);
}
