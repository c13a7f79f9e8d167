// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Injection rules for receives: each status, and what it does to both ends. */
#include "inject.h"
#include "xrc.h"

static struct end a, b;

/*
 * The status of a receive of RC, the status that the requester gets, and the responder's event.
 * Without an answer the requester's retries are used up.
 */
static const struct {
	const char *name;
	enum ibv_wc_status status, requester;
	int vendor_err;
} receives[] = {
	{ "LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR, 16 },
	{ "LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR, IBV_WC_REM_OP_ERR, 18 },
	{ "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR, 17 },
	{ "WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR, IBV_WC_RETRY_EXC_ERR, 1 },
	{ "LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR, 19 },
	{ "REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR, 20 },
	{ "REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR, IBV_WC_REM_OP_ERR, 32 },
	{ "FATAL_ERR", IBV_WC_FATAL_ERR, IBV_WC_RETRY_EXC_ERR, 28 },
	{ "GENERAL_ERR", IBV_WC_GENERAL_ERR, IBV_WC_REM_OP_ERR, 29 },
};

/* The second of three receives fails: the first is complete, the third flushed, both are in ERR. */
void received_statuses(void)
{
	struct ibv_wc wc;
	size_t i;
	int j;

	for (i = 0; i < ARRAY_SIZE(receives); i++) {
		note("%s", receives[i].name);
		make_pair(&a, &b, CONF(.timeout = 12, .retry = 1));
		rule("receive qp=%u n=2 complete=IBV_WC_%s", b.qp->qp_num, receives[i].name);
		for (j = 1; j <= 3; j++)
			post_recv(&b, 10 + j, 0, 100);
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
		expect_ok(a.scq, 1);
		expect_ok(b.rcq, 11);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
		post(&a, swr(&a, 3, IBV_WR_SEND, 0, 100));
		wc = expect_wc(b.rcq, 12, receives[i].status);
		SAME(wc.vendor_err, receives[i].vendor_err);
		SAME(wc.qp_num, b.qp->qp_num);
		expect_wc(b.rcq, 13, IBV_WC_WR_FLUSH_ERR);
		expect_wc(a.scq, 2, receives[i].requester);
		expect_wc(a.scq, 3, IBV_WC_WR_FLUSH_ERR);
		expect_state(&a, IBV_QPS_ERR);
		expect_state(&b, IBV_QPS_ERR);
		expect_no_event();
		SAME(fired(), 1);
		unmake_both(&a, &b);
	}
}

/* UC and UD: the requester hears nothing; an aborted message ends nothing but its receive */
void unreliable_receives(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_ah *ah = ah_to(gid4, gid4);
	size_t i, j;
	int k;

	CHECK(ah);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		for (j = 0; j < ARRAY_SIZE(receives); j++) {
			const bool aborted = receives[j].status == IBV_WC_REM_ABORT_ERR;

			note("type %d, %s", types[i], receives[j].name);
			make_pair(&a, &b, CONF(.type = types[i]));
			rule("receive qp=%u service=%s n=2 complete=%s vendor_err=77", b.qp->qp_num,
			     types[i] == IBV_QPT_UC ? "uc" : "ud", receives[j].name);
			for (k = 1; k <= 3; k++)
				post_recv(&b, 10 + k, 0, 140);
			for (k = 1; k <= 3; k++) {
				struct ibv_send_wr *wr = swr(&a, k, IBV_WR_SEND, 0, 100);

				post(&a, types[i] == IBV_QPT_UD ? to_ah(wr, ah, &b) : wr);
				expect_ok(a.scq, k);
			}
			expect_ok(b.rcq, 11);
			SAME(expect_wc(b.rcq, 12, receives[j].status).vendor_err, 77);
			expect_wc(b.rcq, 13, aborted ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
			expect_state(&a, IBV_QPS_RTS);
			expect_state(&b, aborted ? IBV_QPS_RTS : IBV_QPS_ERR);
			expect_no_event();
			unmake_both(&a, &b);
		}
	}
	SAME(ibv_destroy_ah(ah), 0);
}

/* A rule for receives matches those that a message takes, by their room; RDMA takes none. */
void matched_receives(void)
{
	make_pair(&a, &b, CONF());
	rule("receive qp=%u complete=GENERAL_ERR", a.qp->qp_num);
	rule("receive qp=%u service=ud complete=GENERAL_ERR", b.qp->qp_num);
	rule("receive comm=nobody complete=GENERAL_ERR");
	rule("receive qp=%u after=50s complete=GENERAL_ERR", b.qp->qp_num);
	/* this way only, as @a may not receive */
	post_recv(&b, 3, 0, 300);
	post(&a, swr(&a, 4, IBV_WR_SEND, 0, 10));
	expect_ok(a.scq, 4);
	expect_ok(b.rcq, 3);
	rule("receive qp=%u bytes=200- complete=GENERAL_ERR", b.qp->qp_num);
	post_recv(&b, 1, 0, 199);
	post_recv(&b, 2, 0, 200);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 1);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 10));
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 1);
	/* a WRITE with immediate data takes one; nothing is written if that fails */
	memset(b.buf, 0, 100);
	fill(a.buf, 100, 3);
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100), &b, 0));
	expect_wc(a.scq, 3, IBV_WC_REM_OP_ERR);
	expect_wc(b.rcq, 2, IBV_WC_GENERAL_ERR);
	check_zero(b.buf, 100);
	unmake_both(&a, &b);
}

/* Receives of an SRQ: only the QP that has taken the one that fails gets into ERR. */
void srq_receives(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct end c, d;
	int i;

	CHECK(srq);
	make(&a, CONF(.timeout = 12, .retry = 1));
	make(&b, CONF(.srq = srq));
	make(&c, CONF());
	make(&d, CONF(.srq = srq));
	connect_ends(&a, &b);
	connect_ends(&c, &d);
	rule("receive qp=%u n=1 complete=LOC_PROT_ERR", b.qp->qp_num);
	for (i = 1; i <= 2; i++)
		post_srq(srq, &d, i, 0, 100);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	expect_wc(a.scq, 1, IBV_WC_REM_OP_ERR);
	expect_wc(b.rcq, 1, IBV_WC_LOC_PROT_ERR);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, b.qp);
	post(&c, swr(&c, 2, IBV_WR_SEND, 0, 100));
	expect_ok(c.scq, 2);
	expect_ok(d.rcq, 2);
	expect_state(&d, IBV_QPS_RTS);
	unmake_both(&a, &b);
	unmake(&c);
	unmake(&d);
	SAME(ibv_destroy_srq(srq), 0);
}

/* the completion of an XRC target's receive comes to the CQ of the SRQ that the message names */
void xrc_receives(void)
{
	struct sink one = {};
	struct ibv_wc wc;

	conf.timeout = 12;
	make_connected();
	make_sink(&one, xrcd);
	rule("receive qp=%u service=xrc n=2 complete=LOC_LEN_ERR vendor_err=5", tgt->qp_num);
	sink_post(&one, 1, 0, 100);
	sink_post(&one, 2, 0, 100);
	sink_post(&one, 3, 0, 100);
	send_to(one.num, IBV_WR_SEND, 0, 100, 11);
	expect_ok(scq, 11);
	expect_ok(one.cq, 1);
	send_to(one.num, IBV_WR_SEND, 0, 100, 12);
	expect_wc(scq, 12, IBV_WC_REM_INV_REQ_ERR);
	wc = expect_wc(one.cq, 2, IBV_WC_LOC_LEN_ERR);
	SAME(wc.vendor_err, 5);
	/* the third stays in the SRQ, for other targets */
	expect_no_wc(one.cq);
	rule("clear");
}

/* a message to an XRC target that its second packet breaks off, before it has named an SRQ */
void xrc_broken_messages(void)
{
	static const struct {
		const char *rule;
		enum ibv_wc_status status, requester;
	} rows[] = {
		{ "set=opcode:0xa0", IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR },
		{ "set=srqn:0x7fffff", IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR },
		{ "nak=invalid-request", IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR },
		{ "nak=remote-operation", IBV_WC_LOC_QP_OP_ERR, IBV_WC_REM_OP_ERR },
	};
	size_t i;

	conf.timeout = 12;
	force_packets(true);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sink one = {};

		note("%s", rows[i].rule);
		make_connected();
		make_sink(&one, xrcd);
		rule("packet qp=%u opcode=send n=2 %s", tgt->qp_num, rows[i].rule);
		sink_post(&one, 1, 0, 20000);
		sink_post(&one, 2, 20000, 20000);
		send_to(one.num, IBV_WR_SEND, 0, 20000, 11);
		expect_wc(scq, 11, rows[i].requester);
		expect_wc(one.cq, 1, rows[i].status);
		/* others may need the second */
		expect_no_wc(one.cq);
		expect_no_event();
		rule("clear");
	}
	force_packets(false);
}

/* a status that no receive has, and what else is not for receives */
void refused_receives(void)
{
	static const struct {
		const char *text, *answer;
	} rows[] = {
		{ "receive complete=RETRY_EXC_ERR", "no receive completes with this status" },
		{ "receive complete=RNR_RETRY_EXC_ERR", "no receive completes with this status" },
		{ "receive complete=REM_ACCESS_ERR", "no receive completes with this status" },
		{ "receive complete=REM_OP_ERR", "no receive completes with this status" },
		{ "receive complete=MW_BIND_ERR", "no receive completes with this status" },
		{ "receive complete=BAD_RESP_ERR", "no receive completes with this status" },
		{ "receive complete=SUCCESS", "no receive completes with this status" },
		{ "receive complete=LOC_LEN_ERR vendor_err=256", "number out of range" },
		{ "receive delay=1ms", "not for this kind of rule" },
		{ "receive opcode=send complete=LOC_LEN_ERR", "not for this kind of rule" },
		{ "receive qp=5", "no action" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		refused(rows[i].text, rows[i].answer);
}
