// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Injection rules: verbs of rarer objects; CNPs, headers, what is late or waits. */
#include "inject.h"

#include <fcntl.h>

static struct end a, b;

/* verbs of objects that few programs have, each once; the next call works */
void rarer_verbs(void)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 4096 };
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_counters_init_attr counters = {};
	struct ibv_srq_attr srq_attr;
	struct ibv_sge sge;
	struct ibv_srq *srq;
	struct ibv_dm *dm;

	make(&a, CONF());
	rule("verb verb=alloc_dm n=1 fail=ENOMEM");
	REFUSED(ibv_alloc_dm(ctx, &dm_attr), ENOMEM);
	dm = ibv_alloc_dm(ctx, &dm_attr);
	CHECK(dm);
	rule("verb verb=reg_dm_mr n=1 fail=EACCES");
	REFUSED(ibv_reg_dm_mr(pd, dm, 0, 4096, ACCESS_ALL | IBV_ACCESS_ZERO_BASED), EACCES);
	CHECK(ibv_reg_dm_mr(pd, dm, 0, 4096, ACCESS_ALL | IBV_ACCESS_ZERO_BASED));
	rule("verb verb=alloc_xrcd n=1 fail=EBUSY");
	REFUSED(ibv_open_xrcd(ctx, &xrcd), EBUSY);
	CHECK(ibv_open_xrcd(ctx, &xrcd));
	rule("verb verb=create_counters n=1 fail=ENOSPC");
	REFUSED(ibv_create_counters(ctx, &counters), ENOSPC);
	CHECK(ibv_create_counters(ctx, &counters));
	srq = ibv_create_srq(pd, &srq_init);
	CHECK(srq);
	rule("verb verb=query_srq n=1 fail=EAGAIN");
	REFUSED(ibv_query_srq(srq, &srq_attr), EAGAIN);
	SAME(ibv_query_srq(srq, &srq_attr), 0);
	/* the device refuses it, as the region is pinned, but by another errno */
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 100, a.mr->lkey };
	rule("verb verb=advise_mr n=1 fail=EIO");
	REFUSED(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EIO);
	REFUSED(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	rule("clear");
}

/* those of raw packets: a WQ, a table of it, a flow */
void raw_verbs(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .cap = { 1, 1, 1, 1, 0 },
	};
	struct ibv_wq_init_attr wq_init = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1 };
	struct ibv_rwq_ind_table_init_attr table = {};
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} flow = {
		.attr = { .size = sizeof(flow), .num_of_specs = 1, .port = 1 },
		.eth = {
			.type = IBV_FLOW_SPEC_ETH, .size = sizeof(flow.eth),
			.val.dst_mac = { 2, 0, 0, 0, 0, 9 },
			.mask.dst_mac = { 255, 255, 255, 255, 255, 255 },
		},
	};
	struct ibv_wq *wq;
	struct ibv_qp *qp;

	make(&a, CONF());
	wq_init.pd = pd;
	wq_init.cq = a.rcq;
	rule("verb verb=create_wq n=1 fail=EMFILE");
	REFUSED(ibv_create_wq(ctx, &wq_init), EMFILE);
	wq = ibv_create_wq(ctx, &wq_init);
	CHECK(wq);
	table.ind_tbl = &wq;
	rule("verb verb=create_rwq_ind_table n=1 fail=ENOSPC");
	REFUSED(ibv_create_rwq_ind_table(ctx, &table), ENOSPC);
	CHECK(ibv_create_rwq_ind_table(ctx, &table));
	init.send_cq = a.scq;
	init.recv_cq = a.rcq;
	qp = ibv_create_qp(pd, &init);
	CHECK(qp);
	rule("verb verb=create_flow qp=%u n=1 fail=EBUSY", qp->qp_num);
	REFUSED(ibv_create_flow(qp, &flow.attr), EBUSY);
	CHECK(ibv_create_flow(qp, &flow.attr));
	rule("clear");
}

/* One SEND by ibv_wr_start() and ibv_wr_complete(); returns the errno. */
static int send_by_ops(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(ex);
	ex->wr_id = 8;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)mr->addr, 8);
	return ibv_wr_complete(ex);
}

/* A list of two receives; returns the errno, and in @bad the number of the refused one. */
static int recv_two(struct ibv_qp *qp, struct ibv_srq *srq, uint64_t *bad)
{
	struct ibv_recv_wr wr[2] = { { .wr_id = 1, .next = wr + 1 }, { .wr_id = 2 } }, *bad_wr = NULL;
	int ret = srq ? ibv_post_srq_recv(srq, wr, &bad_wr) : ibv_post_recv(qp, wr, &bad_wr);

	*bad = bad_wr ? bad_wr->wr_id : 0;
	return ret;
}

/* Posts of processes: a rule refuses the n-th, of which nothing is posted. */
void refused_posts(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_init);
	struct ibv_send_wr wr = {
		.wr_id = 7, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad_wr;
	struct ibv_wq_init_attr wq_init = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1 };
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_wq_attr attr = {};
	struct ibv_context *other;
	struct ibv_wq *wq;
	uint64_t bad;
	int i;

	CHECK(srq);
	make_pair(&a, &b, CONF(.ex = true));
	rule("verb verb=post_send qp=%u n=3 fail=ENOMEM", a.qp->qp_num);
	for (i = 0; i < 5; i++) {
		post_recv(&b, i, 0, 64);
		bad_wr = NULL;
		SAME(ibv_post_send(a.qp, &wr, &bad_wr), i == 2 ? ENOMEM : 0);
		CHECK(bad_wr == (i == 2 ? &wr : NULL));
		if (i == 2) {
			expect_no_wc(a.scq);
			continue;
		}
		expect_ok(a.scq, 7);
		expect_ok(b.rcq, i < 2 ? i : i - 1);
	}
	SAME(fired(), 1);
	rule("clear");
	rule("verb verb=post_send comm=inject service=rc n=2 fail=EAGAIN");
	SAME(send_by_ops(a.qp, a.mr), 0);
	SAME(send_by_ops(a.qp, a.mr), EAGAIN);
	expect_ok(a.scq, 8);
	expect_ok(b.rcq, 4);
	expect_no_wc(a.scq);
	rule("clear");
	rule("verb verb=post_recv pid=%d n=1 fail=EBUSY", getpid());
	SAME(recv_two(b.qp, NULL, &bad), EBUSY);
	SAME(bad, 1);
	SAME(recv_two(b.qp, NULL, &bad), 0);
	rule("verb verb=post_srq_recv n=1 fail=EINVAL");
	SAME(recv_two(NULL, srq, &bad), EINVAL);
	SAME(bad, 1);
	SAME(recv_two(NULL, srq, &bad), 0);
	/* a context that comes after the rule, and a WQ */
	rule("verb verb=post_recv n=3 fail=EMFILE");
	other = ibv_open_device(ctx->device);
	CHECK(other);
	wq_init.pd = ibv_alloc_pd(other);
	wq_init.cq = ibv_create_cq(other, 4, NULL, NULL, 0);
	CHECK(wq_init.pd && wq_init.cq);
	wq = ibv_create_wq(other, &wq_init);
	CHECK(wq);
	attr.attr_mask = IBV_WQ_ATTR_STATE;
	attr.wq_state = IBV_WQS_RDY;
	SAME(ibv_modify_wq(wq, &attr), 0);
	for (i = 0; i < 4; i++)
		SAME(ibv_post_wq_recv(wq, &recv, &bad_recv), i == 2 ? EMFILE : 0);
	rule("clear");
	/* of another process, and of no post */
	rule("verb verb=post_send comm=nobody fail=EIO");
	rule("verb comm=inject fail=EIO");
	SAME(ibv_post_send(a.qp, &wr, &bad_wr), 0);
	expect_ok(a.scq, 7);
	/* without its doorbell a queue takes one more post, as without a rule */
	close(doorbell_fd());
	SAME(ibv_post_send(a.qp, &wr, &bad_wr), 0);
	REFUSED(ibv_post_send(a.qp, &wr, &bad_wr), EIO);
	rule("clear");
}

static void counts_to(const char *name, uint64_t value)
{
	int tries;

	for (tries = 0; tries < 500 && counter(name) < value; tries++)
		sleep_ms(10);
	SAME(counter(name), value);
}

/* each packet is answered by a CNP as well, although none has a mark, however soon they come */
void answered_by_cnps(void)
{
	uint64_t marked = counter("np_ecn_marked_roce_packets");
	uint64_t sent = counter("np_cnp_sent"), handled = counter("rp_cnp_handled");

	force_packets(true);
	make_pair(&a, &b, CONF(.timeout = 18));
	rule("packet qp=%u opcode=send cnp", b.qp->qp_num);
	send_three(&a, &b, 1);
	counts_to("rp_cnp_handled", handled + 3);
	SAME(counter("np_cnp_sent"), sent + 3);
	SAME(counter("np_ecn_marked_roce_packets"), marked);
	SAME(fired(), 3);
	unmake_wire(&a, &b);
}

/* an InfiniBand port has no CNPs, so a rule for them is refused; others are taken */
void refused_cnps(void)
{
	bool ib = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	char line[128];

	snprintf(line, sizeof(line), "echo %s packet cnp >/sys/kernel/debug/weft/inject",
		 device_name());
	SAME(!system(line), !ib);
	rule("packet qp=0 drop");
	rule("clear");
}

/* fields of the BTH; with another partition or destination the packet is for nobody */
void changed_bth(void)
{
	static const struct {
		const char *what, *drop;
		enum ibv_wc_status status;
	} rows[] = {
		{ "set=fecn:1", NULL, IBV_WC_SUCCESS },
		{ "set=becn:1", NULL, IBV_WC_SUCCESS },
		{ "set=pkey:0x1234", "rx_pkey", IBV_WC_SUCCESS },
		{ "set=dest-qp:0xfffffe", "rx_unknown_qp", IBV_WC_SUCCESS },
		{ "set=opcode:0x1f", NULL, IBV_WC_REM_INV_REQ_ERR },
		/* an acknowledge to the responder, which expects none */
		{ "set=opcode:0x11", NULL, IBV_WC_SUCCESS },
		/* of UD, to a QP of RC */
		{ "set=opcode:0x64", "rx_opcode", IBV_WC_SUCCESS },
	};
	uint64_t dropped = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("%s", rows[i].what);
		force_packets(true);
		make_pair(&a, &b, CONF(.timeout = 12));
		if (rows[i].drop)
			dropped = counter(rows[i].drop);
		rule("packet qp=%u opcode=write n=1 %s", b.qp->qp_num, rows[i].what);
		fill(a.buf, 100, i);
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_wc(a.scq, 1, rows[i].status);
		SAME(fired(), 1);
		if (rows[i].drop)
			counts_to(rows[i].drop, dropped + 1);
		if (rows[i].status)
			expect_event(IBV_EVENT_QP_REQ_ERR, b.qp);
		else
			check_filled(b.buf, 100, i);
		unmake_wire(&a, &b);
	}
}

/* executed at once, but the completion is late, and those behind it; also of packets */
void late_completions(void)
{
	uint64_t begin;
	int wire;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		make_pair(&a, &b, CONF());
		rule("request qp=%u n=2 late=400ms", a.qp->qp_num);
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_ok(a.scq, 1);
		fill(a.buf, 200, 3);
		memset(b.buf, 0, 200);
		begin = now_ns();
		post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE, 100, 100), &b, 100));
		sleep_ms(100);
		check_filled(b.buf, 200, 3);
		expect_no_wc_now(a.scq);
		expect_ok(a.scq, 2);
		CHECK(now_ns() - begin >= 400000000);
		expect_ok(a.scq, 3);
		rule("clear");
		check_works(&a, &b);

		/* ERR, RESET and the end of the QP do not wait for it */
		rule("request qp=%u n=1 late=60s", a.qp->qp_num);
		post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_no_wc(a.scq);
		rule("clear");
		expect_no_wc(a.scq);
		to_state(&a, IBV_QPS_ERR);
		expect_ok(a.scq, 4);
		to_state(&a, IBV_QPS_RESET);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
		check_works(&a, &b);
		rule("request qp=%u late=60s", a.qp->qp_num);
		post(&a, at(swr(&a, 5, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_no_wc(a.scq);
		/* a failure comes behind what was late, at once */
		post(&a, at_key(swr(&a, 6, IBV_WR_RDMA_WRITE, 0, 100), 1, 0));
		expect_ok(a.scq, 5);
		expect_wc(a.scq, 6, IBV_WC_REM_ACCESS_ERR);
		expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
		to_state(&a, IBV_QPS_RESET);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
		post(&a, at(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_no_wc(a.scq);
		unmake_wire(&a, &b);
	}
}

/* more completions than can wait: the oldest come at once, all in order */
void many_late_completions(void)
{
	int i, most = 300;

	make_pair(&a, &b, CONF(.sq = 512, .cqe = 1024));
	rule("request qp=%u late=60s", a.qp->qp_num);
	for (i = 0; i < most; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
	for (i = 0; i <= 256; i++)
		expect_ok(a.scq, i);
	expect_no_wc(a.scq);
	to_state(&a, IBV_QPS_ERR);
	for (; i < most; i++)
		expect_ok(a.scq, i);
	unmake_wire(&a, &b);
}

/* completions that are late by different times; and more than the CQ has room for */
void late_and_full(void)
{
	uint64_t begin;
	int i;

	make_pair(&a, &b, CONF());
	rule("request qp=%u n=1 late=100ms", a.qp->qp_num);
	rule("request qp=%u n=1 late=500ms", a.qp->qp_num);
	begin = now_ns();
	for (i = 1; i <= 3; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
	expect_ok(a.scq, 1);
	expect_ok(a.scq, 2);
	CHECK(now_ns() - begin >= 500000000);
	expect_ok(a.scq, 3);
	unmake_wire(&a, &b);

	make_pair(&a, &b, CONF(.sq = 64, .cqe = 8));
	rule("request qp=%u late=200ms", a.qp->qp_num);
	for (i = 0; i <= a.scq->cqe; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
	expect_event(IBV_EVENT_CQ_ERR, a.scq);
	expect_event(IBV_EVENT_QP_FATAL, a.qp);
	expect_no_event();
	unmake_wire(&a, &b);
}

/* A packet without memory is sent later, or lost and sent again. */
void no_packet(void)
{
	force_packets(true);
	make_pair(&a, &b, CONF(.timeout = 12));
	rule("alloc name=packet n=1 fail=ENOMEM");
	fill(a.buf, 3000, 5);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 3000), &b, 0));
	expect_ok(a.scq, 1);
	check_filled(b.buf, 3000, 5);
	SAME(fired(), 1);
	unmake_wire(&a, &b);
}

/* A device holds a thousand packets, and a slow link a minute of them; others are lost. */
void too_many_held(void)
{
	const int most = 1024, more = 70;
	struct ibv_ah *ah;
	uint64_t full;
	int i;

	force_packets(true);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD, .rq = 2048, .cqe = 4096));
	ah = ah_to(gid4, gid4);
	for (i = 0; i < most + more; i++)
		post_recv(&b, i, 0, 1100);
	rule("packet qp=%u hold", b.qp->qp_num);
	for (i = 0; i < most + more; i++) {
		post(&a, to_ah(swr(&a, i, IBV_WR_SEND, 0, 8), ah, &b));
		expect_ok(a.scq, i);
	}
	expect_no_wc(b.rcq);
	SAME(fired(), most + more);
	rule("release");
	for (i = 0; i < most; i++)
		expect_ok(b.rcq, i);
	expect_no_wc(b.rcq);
	rule("clear");
	/* each takes 8.2 s, and the last ones are lost */
	full = counter("rx_queue_full");
	rule("packet qp=%u rate=1kbit", b.qp->qp_num);
	for (i = 0; i < 9; i++) {
		post(&a, to_ah(swr(&a, i, IBV_WR_SEND, 0, 1000), ah, &b));
		expect_ok(a.scq, i);
	}
	expect_no_wc(b.rcq);
	SAME(fired(), 9);
	SAME(counter("rx_queue_full"), full + 2);
	unmake_wire(&a, &b);
}

/* packets that a slow link delays: by chance, but in order, and no faster than its rate */
void slow_links(void)
{
	uint64_t begin, retransmits;
	int i;

	force_packets(true);
	make_pair(&a, &b, CONF(.timeout = 20));
	rule("packet qp=%u opcode=send jitter=30ms seed=5", b.qp->qp_num);
	for (i = 1; i <= 5; i++)
		send_three(&a, &b, i);
	/* the requester probes for an answer that is late */
	CHECK(fired() >= 15);
	rule("clear");
	retransmits = counter("retransmits");
	rule("packet qp=%u opcode=write rate=1mbit", b.qp->qp_num);
	fill(a.buf, 20000, 6);
	begin = now_ns();
	post(&a, at(swr(&a, 6, IBV_WR_RDMA_WRITE, 0, 20000), &b, 0));
	expect_ok(a.scq, 6);
	/* 160 ms for the payload, less the last packet's part of clocks that are not exact */
	CHECK(now_ns() - begin >= 159000000);
	check_filled(b.buf, 20000, 6);
	sleep_ms(20);
	SAME(counter("retransmits"), retransmits);
	rule("clear");
	/* some overtake others, which is made good */
	rule("packet qp=%u opcode=send jitter=20ms reorder", b.qp->qp_num);
	for (i = 7; i <= 11; i++)
		send_three(&a, &b, i);
	unmake_wire(&a, &b);
}

/* by the number of the message: of a QP's requests, and of those that have begun to arrive */
void messages(void)
{
	int i;

	make_pair(&a, &b, CONF());
	rule("request qp=%u message=3-4 complete=GENERAL_ERR", a.qp->qp_num);
	for (i = 1; i <= 3; i++) {
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_wc(a.scq, i, i == 3 ? IBV_WC_GENERAL_ERR : IBV_WC_SUCCESS);
	}
	/* they are counted anew from RTS on */
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 4);
	unmake_wire(&a, &b);

	force_packets(true);
	make_pair(&a, &b, CONF(.timeout = 12));
	rule("packet qp=%u message=2 position=last n=1 drop", b.qp->qp_num);
	send_three(&a, &b, 1);
	SAME(fired(), 0);
	send_three(&a, &b, 2);
	SAME(fired(), 1);
	send_three(&a, &b, 3);
	unmake_wire(&a, &b);
}

/* a port that goes down and up twice, by itself */
void port_flaps(void)
{
	int i;

	make_pair(&a, &b, CONF(.timeout = 17));
	rule("port flap 50ms 30ms 2");
	for (i = 0; i < 2; i++) {
		expect_event(IBV_EVENT_PORT_ERR, NULL);
		expect_event(IBV_EVENT_PORT_ACTIVE, NULL);
	}
	expect_no_event();
	check_works(&a, &b);
	/* a command ends it */
	rule("port flap 10s 10s 1000");
	expect_event(IBV_EVENT_PORT_ERR, NULL);
	rule("port up");
	expect_event(IBV_EVENT_PORT_ACTIVE, NULL);
	expect_no_event();
	unmake_wire(&a, &b);
}

/* a word of weft-why about the QP, which waits */
static void why_says(const struct end *e, const char *what)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "../tools/weft-why qp %u >/tmp/inject-why; grep -qE '%s' /tmp/inject-why",
		 e->qp->qp_num, what);
	if (system(line)) {
		CHECK(!system("cat /tmp/inject-why"));
		FAIL("weft-why does not say '%s'", what);
	}
}

/* the figures of a QP that waits: for a peer that is silent, for receives of its SRQ */
void waiting_figures(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct end c;
	int wire;

	CHECK(srq);
	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		/* a try each 2147 ms, which is no answer; weft-why may take seconds */
		make_pair(&a, &b, CONF(.timeout = 19));
		to_state(&b, IBV_QPS_RESET);
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		sleep_ms(2300);
		why_says(&a, "waits: .*the peer has been silent for ([2-9]|1[0-9])[0-9]{3} ms; "
			     "[0-6] retries left, the next in [0-9]+ ms");
		unmake_wire(&a, &b);
	}
	make(&c, CONF(.srq = srq));
	connect_ends(&c, &c);
	why_says(&c, "waits: .*the SRQ is dry");
	post_srq(srq, &c, 1, 0, 100);
	why_says(&c, "now: .*state RTS");
	CHECK(system("grep -q 'SRQ is dry' /tmp/inject-why"));
	unmake(&c);
}

/* weft-why names the rule that made a request or a receive fail, or that acted on packets */
void named_rules(void)
{
	int wire;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		make_pair(&a, &b, CONF(.timeout = 12, .retry = 1));
		rule("request qp=%u complete=GENERAL_ERR", a.qp->qp_num);
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_wc(a.scq, 1, IBV_WC_GENERAL_ERR);
		/* also when it has been removed */
		rule("clear");
		why_says(&a, "rule [0-9]+ of weft-inject for weft[_a-z0-9]* "
			     "\\(request qp=[0-9]+ complete=GENERAL_ERR\\) made it fail, as if: ");
		unmake_wire(&a, &b);

		force_packets(wire);
		make_pair(&a, &b, CONF());
		rule("receive qp=%u complete=LOC_LEN_ERR", b.qp->qp_num);
		post_recv(&b, 2, 0, 100);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
		expect_wc(a.scq, 2, IBV_WC_REM_INV_REQ_ERR);
		why_says(&b, "\\(receive qp=[0-9]+ complete=LOC_LEN_ERR\\) made it fail, as if: ");
		/* the requester sees what the other end has recorded */
		why_says(&a, "\\(receive qp=[0-9]+ complete=LOC_LEN_ERR\\) made it fail, as if: ");
		unmake_wire(&a, &b);
	}
	/* the responder's rule, which only its packets have met */
	force_packets(true);
	make_pair(&a, &b, CONF(.timeout = 12, .retry = 1));
	rule("packet qp=%u drop", b.qp->qp_num);
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 3, IBV_WC_RETRY_EXC_ERR);
	why_says(&a, "injected: .*\\(packet qp=[0-9]+ drop\\) has acted on packets of QP 0x");
	unmake_wire(&a, &b);
	/* a failure that no rule has to do with */
	make_pair(&a, &b, CONF());
	rule("packet qp=0 drop");
	post(&a, at_key(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 100), 1, 0));
	expect_wc(a.scq, 4, IBV_WC_REM_ACCESS_ERR);
	why_says(&a, "failed with REM_ACCESS_ERR");
	CHECK(system("grep -q weft-inject /tmp/inject-why"));
	unmake_wire(&a, &b);
}
