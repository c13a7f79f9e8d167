// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Injection rules for packets, and for the port. */
#include "inject.h"

#include <arpa/inet.h>
#include <poll.h>

static struct end a, b;

static void make_wire(const struct conf *conf)
{
	force_packets(true);
	make_pair(&a, &b, conf);
}

void send_three(struct end *from, struct end *to, int id)
{
	uint32_t length = 2 * (128 << port.active_mtu) + 100;

	fill(from->buf, length, id);
	memset(to->buf, 0, length);
	post_recv(to, id + 100, 0, length);
	post(from, swr(from, id, IBV_WR_SEND, 0, length));
	expect_ok(from->scq, id);
	expect_ok(to->rcq, id + 100);
	check_filled(to->buf, length, id);
}

/* one packet is lost, the first attempt of each, a retry as well: all of it is made good */
void lost_packets(void)
{
	static const char *const rules[] = {
		"packet qp=%u opcode=send position=first n=1 drop",
		"packet qp=%u opcode=send position=last n=1 drop",
		"packet qp=%u opcode=send n=2 drop",
		"packet qp=%u opcode=send attempt=first n=2 drop",
		"packet qp=%u opcode=send n=1 every=1 times=4 drop",
		"packet qp=%u opcode=send n=1 bad-icrc",
		"packet qp=%u bytes=100 n=1 drop",
	};
	uint64_t again, icrc, injected;
	size_t i;

	make_wire(CONF(.timeout = 12));
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		sleep_ms(20);
		again = counter("retransmits") + counter("probes");
		icrc = counter("rx_icrc");
		injected = counter("rx_injected");
		rule(rules[i], b.qp->qp_num);
		send_three(&a, &b, i);
		sleep_ms(20);
		CHECK(fired() > 0);
		CHECK(counter("retransmits") + counter("probes") > again);
		if (strstr(rules[i], "icrc"))
			SAME(counter("rx_icrc"), icrc + 1);
		else
			SAME(counter("rx_injected"), injected + fired());
		rule("clear");
	}
	/* an acknowledge: what the peer has executed is not executed again */
	rule("packet qp=%u opcode=ack n=1 drop", a.qp->qp_num);
	send_three(&a, &b, 50);
	SAME(fired(), 1);
	unmake_wire(&a, &b);
}

/* the retry of a lost packet is lost, too, as long as a rule says so */
void lost_retries(void)
{
	uint64_t retries;

	make_wire(CONF(.timeout = 12, .retry = 3));
	rule("packet qp=%u attempt=first n=1 drop\n%s packet qp=%u attempt=retry n=1 drop",
	     b.qp->qp_num, device_name(), b.qp->qp_num);
	send_three(&a, &b, 1);
	rule("clear");
	rule("packet qp=%u drop", b.qp->qp_num);
	retries = counter("transport_retries");
	post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 2, IBV_WC_RETRY_EXC_ERR);
	SAME(counter("transport_retries"), retries + 3);
	/* the first attempt and three retries, and probes in between */
	CHECK(fired() >= 4);
	unmake_wire(&a, &b);
}

/* packets that come twice, or late, change nothing but the time */
void twice_and_late(void)
{
	uint64_t begin;
	int i;

	/* without a timeout no probe is sent, which would not be late */
	make_wire(CONF(.timeout = 0));
	rule("packet duplicate");
	for (i = 0; i < 5; i++)
		send_three(&a, &b, i);
	rule("clear");
	rule("packet qp=%u n=1 delay=100ms", b.qp->qp_num);
	begin = now_ns();
	post(&a, at(swr(&a, 20, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 20);
	CHECK(now_ns() - begin >= 100000000);
	rule("clear");
	/* behind its successors */
	rule("packet qp=%u opcode=send position=first n=1 delay=20ms", b.qp->qp_num);
	send_three(&a, &b, 30);
	SAME(fired(), 1);
	/* the QP is gone when its packet is due */
	rule("clear");
	rule("packet qp=%u delay=100ms", b.qp->qp_num);
	post(&a, at(swr(&a, 40, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	sleep_ms(20);
	unmake_wire(&a, &b);
	sleep_ms(200);
}

/* behind a right ICRC, so nobody notices: the first byte of the payload differs */
void bad_data(void)
{
	make_wire(CONF());
	rule("packet qp=%u opcode=write n=1 bad-data", b.qp->qp_num);
	fill(a.buf, 5000, 7);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 5000), &b, 0));
	expect_ok(a.scq, 1);
	SAME(b.buf[0], a.buf[0] ^ 0xff);
	SAME(memcmp(a.buf + 1, b.buf + 1, 4999), 0);
	/* the sender's memory is what it was */
	check_filled(a.buf, 5000, 7);
	unmake_wire(&a, &b);
}

static const struct {
	const char *nak;
	enum ibv_wc_status status;
} naks[] = {
	{ "nak=sequence", IBV_WC_SUCCESS },
	{ "nak=invalid-request", IBV_WC_REM_INV_REQ_ERR },
	{ "nak=remote-access", IBV_WC_REM_ACCESS_ERR },
	{ "nak=remote-operation", IBV_WC_REM_OP_ERR },
	{ "nak=invalid-rd-request", IBV_WC_BAD_RESP_ERR },
	{ "rnr=14", IBV_WC_SUCCESS },
};

/* an acknowledge that becomes a NAK; a NAK that asks for a retry is one */
void each_nak(void)
{
	uint64_t begin;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(naks); i++) {
		make_wire(CONF(.timeout = 14));
		rule("packet qp=%u n=1 %s", a.qp->qp_num, naks[i].nak);
		begin = now_ns();
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_wc(a.scq, 1, naks[i].status);
		/* timer 14: 1.28 ms (IBA table 45) */
		if (!strncmp(naks[i].nak, "rnr", 3))
			CHECK(now_ns() - begin >= 1280000);
		SAME(fired(), 1);
		expect_state(&a, naks[i].status ? IBV_QPS_ERR : IBV_QPS_RTS);
		unmake_wire(&a, &b);
	}
	make_wire(CONF(.rnr_retry = 2));
	rule("packet qp=%u rnr=1", a.qp->qp_num);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	SAME(fired(), 3);
	unmake_wire(&a, &b);
}

/* a request is refused in place of being executed; what that means for both ends is IBA's */
void refused_requests(void)
{
	static const struct {
		const char *nak;
		enum ibv_wc_status status;
		enum ibv_event_type event;
	} rows[] = {
		{ "nak=invalid-request", IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR },
		{ "nak=remote-access", IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR },
		{ "nak=remote-operation", IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL },
	};
	uint64_t begin;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		make_wire(CONF(.timeout = 14));
		memset(b.buf, 0, 100);
		rule("packet qp=%u opcode=write n=1 %s", b.qp->qp_num, rows[i].nak);
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_wc(a.scq, 1, rows[i].status);
		expect_event(rows[i].event, b.qp);
		check_zero(b.buf, 100);
		expect_state(&b, IBV_QPS_ERR);
		unmake_wire(&a, &b);
	}
	/* what asks for a retry is executed then, once */
	make_wire(CONF(.timeout = 18));
	rule("packet qp=%u opcode=send n=1 nak=sequence", b.qp->qp_num);
	send_three(&a, &b, 1);
	SAME(fired(), 1);
	rule("clear");
	rule("packet qp=%u opcode=send n=1 rnr=14", b.qp->qp_num);
	begin = now_ns();
	send_three(&a, &b, 2);
	CHECK(now_ns() - begin >= 1280000);
	rule("clear");
	rule("packet qp=%u opcode=fetch-add n=1 rnr=1", b.qp->qp_num);
	*(uint64_t *)b.buf = 5;
	post(&a, at(swr(&a, 3, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8), &b, 0));
	expect_ok(a.scq, 3);
	SAME(*(uint64_t *)a.buf, 5);
	unmake_wire(&a, &b);
	make_wire(CONF(.rnr_retry = 2));
	rule("packet qp=%u opcode=read rnr=1", b.qp->qp_num);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_READ, 0, 100), &b, 0));
	expect_wc(a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	SAME(fired(), 3);
	unmake_wire(&a, &b);
}

/* packets stay away until they are released, and come in their order */
void held_packets(void)
{
	uint32_t length = 2 * (128 << port.active_mtu) + 100;

	make_wire(CONF(.timeout = 20));
	rule("packet qp=%u opcode=send hold", b.qp->qp_num);
	fill(a.buf, length, 1);
	post_recv(&b, 101, 0, length);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, length));
	expect_no_wc(b.rcq);
	/* the requester probes for an answer */
	CHECK(fired() >= 3);
	rule("release");
	expect_ok(b.rcq, 101);
	expect_ok(a.scq, 1);
	check_filled(b.buf, length, 1);
	/* without its rules a device has nothing to hold */
	rule("clear");
	rule("packet qp=%u opcode=send hold", b.qp->qp_num);
	post_recv(&b, 102, 0, length);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	expect_no_wc(b.rcq);
	rule("clear");
	expect_ok(b.rcq, 102);
	expect_ok(a.scq, 2);
	rule("packet hold");
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	sleep_ms(20);
	unmake_wire(&a, &b);
	rule("release");
}

/* a field of a packet whose ICRC was right: the receiver believes it */
void changed_fields(void)
{
	static const struct {
		const char *what;
		enum ibv_wc_status status;
	} rows[] = {
		{ "opcode=write set=rkey:1", IBV_WC_REM_ACCESS_ERR },
		{ "opcode=write set=address:0xfffffffffffffff0", IBV_WC_REM_ACCESS_ERR },
		{ "opcode=write set=length:101", IBV_WC_REM_INV_REQ_ERR },
		{ "opcode=write truncate=96", IBV_WC_REM_INV_REQ_ERR },
		{ "opcode=write truncate=100", IBV_WC_SUCCESS },
		/* neither of them has such a field */
		{ "opcode=write set=qkey:5", IBV_WC_SUCCESS },
		{ "opcode=ack set=rkey:5", IBV_WC_SUCCESS },
		/* lost on either side, so the requester repeats it */
		{ "opcode=write set=psn:0x777777", IBV_WC_SUCCESS },
		{ "opcode=ack set=psn:0x777777", IBV_WC_SUCCESS },
	};
	struct ibv_wc wc;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		make_wire(CONF(.timeout = 12));
		rule("packet qp=%u n=1 %s", strstr(rows[i].what, "ack") ? a.qp->qp_num : b.qp->qp_num,
		     rows[i].what);
		fill(a.buf, 100, i);
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_wc(a.scq, 1, rows[i].status);
		SAME(fired(), 1);
		if (!rows[i].status)
			check_filled(b.buf, 100, i);
		else
			/* of a key, a range or a length */
			expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
		unmake_wire(&a, &b);
	}
	make_wire(CONF());
	rule("packet qp=%u opcode=send-imm n=1 set=imm:0x01020304", b.qp->qp_num);
	post_recv(&b, 7, 0, 0);
	post(&a, swr(&a, 8, IBV_WR_SEND_WITH_IMM, 0, 0));
	expect_ok(a.scq, 8);
	wc = expect_ok(b.rcq, 7);
	SAME(ntohl(wc.imm_data), 0x01020304);
	unmake_wire(&a, &b);
	make_wire(CONF(.type = IBV_QPT_UD));
	rule("packet qp=%u n=1 set=qkey:0x1234", b.qp->qp_num);
	post_recv(&b, 7, 0, 200);
	post(&a, to_ah(swr(&a, 8, IBV_WR_SEND, 0, 100), ah_to(gid4, gid4), &b));
	expect_ok(a.scq, 8);
	expect_no_wc(b.rcq);
	post(&a, to_ah(swr(&a, 9, IBV_WR_SEND, 0, 100), ah_to(gid4, gid4), &b));
	expect_ok(a.scq, 9);
	expect_ok(b.rcq, 7);
	unmake_wire(&a, &b);
}

/* of a datagram: the sender that its receiver sees */
void changed_datagrams(void)
{
	struct ibv_wc wc;
	int wire;

	for (wire = 1; wire >= 0; wire--) {
		force_packets(wire);
		make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
		rule("packet qp=%u n=1 set=src-qp:0x1234", b.qp->qp_num);
		post_recv(&b, 7, 0, 200);
		post_recv(&b, 8, 0, 200);
		post(&a, to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), ah_to(gid4, gid4), &b));
		expect_ok(a.scq, 1);
		wc = expect_ok(b.rcq, 7);
		SAME(wc.src_qp, wire ? 0x1234 : a.qp->qp_num);
		post(&a, to_ah(swr(&a, 2, IBV_WR_SEND, 0, 100), ah_to(gid4, gid4), &b));
		expect_ok(a.scq, 2);
		wc = expect_ok(b.rcq, 8);
		SAME(wc.src_qp, a.qp->qp_num);
		unmake_wire(&a, &b);
	}
}

/* @e's completion event of a solicited receive has come, or comes within @ms */
static bool is_solicited(struct end *e, int ms)
{
	struct pollfd fd = { .fd = e->conf.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (!poll(&fd, 1, ms))
		return false;
	SAME(ibv_get_cq_event(e->conf.channel, &cq, &context), 0);
	CHECK(cq == e->rcq);
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* The bits SE and AckReq, the MSN of an acknowledge, the key that a SEND invalidates. */
void solicited_and_asked(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_send_wr *wr;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	uint64_t again;
	uint32_t key;
	int i;

	CHECK(channel);
	make_wire(CONF(.timeout = 12, .channel = channel));
	for (i = 0; i < 4; i++) {
		/* nobody asks for the event, and a rule does; somebody asks, and a rule does not */
		if (i % 2)
			rule("packet qp=%u opcode=send set=se:%d", b.qp->qp_num, i == 1);
		SAME(ibv_req_notify_cq(b.rcq, 1), 0);
		post_recv(&b, 9, 0, 100);
		wr = swr(&a, i, IBV_WR_SEND, 0, 100);
		wr->send_flags |= i >= 2 ? IBV_SEND_SOLICITED : 0;
		post(&a, wr);
		expect_ok(a.scq, i);
		expect_ok(b.rcq, 9);
		SAME(is_solicited(&b, i == 1 || i == 2 ? 10000 : 100), i == 1 || i == 2);
		if (i % 2)
			rule("clear");
	}
	/* Without its AckReq a request is not acknowledged before it comes again. */
	sleep_ms(20);
	again = counter("retransmits") + counter("probes");
	rule("packet qp=%u opcode=write n=1 set=ackreq:0", b.qp->qp_num);
	post(&a, at(swr(&a, 5, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 5);
	SAME(fired(), 1);
	sleep_ms(20);
	CHECK(counter("retransmits") + counter("probes") > again);
	rule("clear");
	/* An acknowledge of another message number is one all the same, as its PSN is right. */
	rule("packet qp=%u opcode=ack n=1 set=msn:0x123456", a.qp->qp_num);
	post(&a, at(swr(&a, 6, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 6);
	SAME(fired(), 1);
	rule("clear");
	/* the key of SEND with invalidate: the one that the rule has is none of a window */
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(mw && mr);
	wr = bind_wr(&b, 1, mw, mr, 100);
	key = wr->bind_mw.rkey;
	post(&b, wr);
	expect_ok(b.scq, 1);
	rule("packet qp=%u opcode=send-inv n=1 set=inv:0x7fffff00", b.qp->qp_num);
	post_recv(&b, 9, 0, 100);
	wr = swr(&a, 7, IBV_WR_SEND_WITH_INV, 0, 100);
	wr->invalidate_rkey = key;
	post(&a, wr);
	expect_wc(a.scq, 7, IBV_WC_REM_ACCESS_ERR);
	SAME(fired(), 1);
	rule("clear");
	force_packets(false);
}

/* An address as a rule has it: of IPv4, of IPv6, or a GID. */
static const char *address(int index)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	static char text[INET6_ADDRSTRLEN];
	union ibv_gid gid;

	SAME(ibv_query_gid(ctx, 1, index, &gid), 0);
	if (memcmp(gid.raw, mapped, sizeof(mapped)))
		CHECK(inet_ntop(AF_INET6, gid.raw, text, sizeof(text)));
	else
		CHECK(inet_ntop(AF_INET, gid.raw + sizeof(mapped), text, sizeof(text)));
	return text;
}

/* by the address that a packet is from, and by the time since the rule was added */
void peers_and_times(void)
{
	uint64_t begin;

	make_wire(CONF(.timeout = 12));
	rule("packet qp=%u peer=10.250.1.1 drop", b.qp->qp_num);
	send_three(&a, &b, 1);
	SAME(fired(), 0);
	rule("clear");
	rule("packet qp=%u peer=%s n=1 drop", b.qp->qp_num, address(gid4));
	send_three(&a, &b, 2);
	SAME(fired(), 1);
	rule("clear");
	rule("packet dir=out peer=10.250.1.1 drop");
	send_three(&a, &b, 8);
	SAME(fired(), 0);
	rule("clear");
	rule("packet dir=out qp=%u peer=%s n=1 drop", a.qp->qp_num, address(gid4));
	send_three(&a, &b, 9);
	SAME(fired(), 1);
	rule("clear");
	rule("packet qp=%u after=50s drop", b.qp->qp_num);
	send_three(&a, &b, 3);
	SAME(fired(), 0);
	unmake_wire(&a, &b);
	/* the cable is out for 200 ms */
	make_wire(CONF(.timeout = 15));
	rule("packet qp=%u for=200ms drop", b.qp->qp_num);
	begin = now_ns();
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 4);
	CHECK(now_ns() - begin >= 190000000);
	CHECK(fired() > 0);
	rule("clear");
	rule("request qp=%u after=10ms for=50s complete=GENERAL_ERR", a.qp->qp_num);
	sleep_ms(15);
	post(&a, at(swr(&a, 5, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 5, IBV_WC_GENERAL_ERR);
	unmake_wire(&a, &b);
}

/* A message of three packets loses its second one, by its PSN; with IPv6; the retry of what was lost. */
void message_matches(void)
{
	make_wire(CONF(.timeout = 12));
	rule("packet qp=%u position=only opcode=send drop", b.qp->qp_num);
	send_three(&a, &b, 1);
	SAME(fired(), 0);
	rule("clear");
	rule("packet qp=%u psn=%u opcode=send n=1 drop", b.qp->qp_num, (a.psn + 4) & 0xffffff);
	send_three(&a, &b, 2);
	SAME(fired(), 1);
	rule("clear");
	rule("packet dir=out qp=%u opcode=send attempt=retry n=1 drop", a.qp->qp_num);
	send_three(&a, &b, 3);
	SAME(fired(), 0);
	rule("packet dir=out qp=%u opcode=send n=2 drop", a.qp->qp_num);
	send_three(&a, &b, 4);
	SAME(fired(), 1);
	unmake_wire(&a, &b);
	make_wire(CONF(.timeout = 12, .gid = gid6));
	rule("packet qp=%u peer=%s n=1 drop", b.qp->qp_num, address(gid6));
	send_three(&a, &b, 5);
	SAME(fired(), 1);
	rule("clear");
	rule("packet dir=out qp=%u peer=%s n=1 drop", a.qp->qp_num, address(gid6));
	send_three(&a, &b, 6);
	SAME(fired(), 1);
	if (gid6 != gid4) {
		rule("clear");
		rule("packet peer=%s drop", address(gid4));
		send_three(&a, &b, 7);
		SAME(fired(), 0);
	}
	unmake_wire(&a, &b);
}

/* packets that leave; the peer that lost them is on the same device here */
void leaving_packets(void)
{
	uint64_t dropped, retransmits;

	make_wire(CONF(.timeout = 12));
	dropped = counter("tx_dropped");
	retransmits = counter("retransmits");
	rule("packet dir=out qp=%u opcode=send position=last n=1 drop", a.qp->qp_num);
	send_three(&a, &b, 1);
	SAME(fired(), 1);
	rule("clear");
	rule("packet dir=out qp=%u opcode=send attempt=first n=2 drop", a.qp->qp_num);
	send_three(&a, &b, 2);
	SAME(fired(), 1);
	rule("clear");
	rule("packet dir=out qp=%u opcode=ack n=1 drop", b.qp->qp_num);
	send_three(&a, &b, 3);
	SAME(fired(), 1);
	rule("clear");
	rule("packet dir=out qp=%u opcode=read-response position=first n=1 drop", b.qp->qp_num);
	fill(b.buf, 10000, 4);
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_READ, 0, 10000), &b, 0));
	expect_ok(a.scq, 4);
	check_filled(a.buf, 10000, 4);
	SAME(fired(), 1);
	rule("clear");
	sleep_ms(20);
	SAME(counter("tx_dropped"), dropped + 4);
	CHECK(counter("retransmits") > retransmits);
	rule("packet dir=out qp=%u duplicate", a.qp->qp_num);
	send_three(&a, &b, 5);
	CHECK(fired() >= 3);
	rule("clear");
	rule("packet dir=out qp=%u drop", a.qp->qp_num);
	post(&a, at(swr(&a, 6, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 6, IBV_WC_RETRY_EXC_ERR);
	/* the first attempt and each retry, and probes in between */
	CHECK(fired() >= 8);
	unmake_wire(&a, &b);
}

static enum ibv_port_state port_state(void)
{
	struct ibv_port_attr attr;

	SAME(ibv_query_port(ctx, 1, &attr), 0);
	return attr.state;
}

/* a port is down although its net device is up; packets, and the local link, wait for it */
void port_down(void)
{
	uint64_t begin;
	int wire;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		make_pair(&a, &b, CONF(.timeout = 15));
		rule("port down");
		expect_event(IBV_EVENT_PORT_ERR, NULL);
		SAME(port_state(), IBV_PORT_DOWN);
		begin = now_ns();
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		sleep_ms(100);
		expect_no_wc_now(a.scq);
		rule("port up");
		expect_event(IBV_EVENT_PORT_ACTIVE, NULL);
		SAME(port_state(), IBV_PORT_ACTIVE);
		expect_ok(a.scq, 1);
		CHECK(now_ns() - begin >= 100000000);
		rule("port down\n%s port down", device_name());
		expect_event(IBV_EVENT_PORT_ERR, NULL);
		post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_wc(a.scq, 2, IBV_WC_RETRY_EXC_ERR);
		rule("port up");
		expect_event(IBV_EVENT_PORT_ACTIVE, NULL);
		force_packets(false);
		unmake(&a);
		unmake(&b);
	}
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

/* a mark of congestion: the receiver tells the sender, by one CNP each time */
void marked_packets(void)
{
	uint64_t marked = counter("np_ecn_marked_roce_packets");
	uint64_t sent = counter("np_cnp_sent"), handled = counter("rp_cnp_handled");
	int i, tries;

	make_wire(CONF(.timeout = 18));
	for (i = 1; i <= 3; i++) {
		rule("packet qp=%u opcode=send position=last ce", b.qp->qp_num);
		send_three(&a, &b, i);
		/* the CNP may arrive after the acknowledge */
		for (tries = 0; tries < 500 && counter("rp_cnp_handled") < handled + i; tries++)
			sleep_ms(10);
		SAME(fired(), 1);
		SAME(counter("np_ecn_marked_roce_packets"), marked + i);
		SAME(counter("np_cnp_sent"), sent + i);
		SAME(counter("rp_cnp_handled"), handled + i);
		rule("clear");
	}
	unmake_wire(&a, &b);
}
