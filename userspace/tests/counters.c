// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters: each counts what it is said to count, and nothing else. What depends on
 * the link is one thing without packets and another one with them.
 */
#include "lib.h"

#include <arpa/inet.h>

static struct end a, b;

/*
 * ---- How far each has moved ----
 */

#define ANY	(-1)

/* all but those that every message moves */
static const char * const quiet[] = {
	"rnr_naks_sent", "rnr_retries", "transport_retries", "naks_sent",
	"ud_dropped_no_receive", "ud_dropped_qkey", "ud_dropped_no_qp", "mcast_copies",
	"cq_overruns", "flushed_wrs", "tx_dropped", "tx_stalls", "rx_malformed", "rx_icrc",
	"rx_unknown_qp", "rx_wrong_address", "rx_pkey", "rx_not_ready", "rx_opcode",
	"rx_queue_full", "duplicates", "out_of_sequence", "seq_naks_sent", "seq_naks_rcvd",
	"implied_naks", "stale_responses", "retransmits", "migrations", "rx_no_memory",
	"rx_too_long",
	/* by the names of mlx5 */
	"out_of_buffer", "packet_seq_err", "local_ack_timeout_err", "req_cqe_error",
	"req_cqe_flush_error", "resp_cqe_error", "resp_cqe_flush_error",
	"req_remote_access_errors", "req_remote_invalid_request",
	"req_transport_retries_exceeded", "req_rnr_retries_exceeded",
	"resp_remote_access_errors", "resp_local_length_error", "duplicate_request",
	"rnr_nak_retry_err", "implied_nak_seq_err", "rx_icrc_encapsulated", "rx_early",
	"np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled", "rp_cnp_ignored", "probes",
	"rx_merged",
};

static const char * const busy[] = {
	"sent_messages", "sent_bytes", "rcvd_messages", "rcvd_bytes", "tx_packets", "rx_packets",
	"rx_write_requests", "rx_read_requests", "rx_atomic_requests",
};

#define NUM_QUIET	ARRAY_SIZE(quiet)
#define NUM_ALL		(NUM_QUIET + ARRAY_SIZE(busy))

struct moved {
	const char *name;
	long by;
};

static uint64_t before[NUM_ALL], now[NUM_ALL];
static bool packets;

static const char *name_of(int i)
{
	return i < NUM_QUIET ? quiet[i] : busy[i - NUM_QUIET];
}

static void read_all(uint64_t *values)
{
	int i;

	sleep_ms(20);
	for (i = 0; i < NUM_ALL; i++)
		values[i] = counter(name_of(i));
}

static void begin(void)
{
	packets = packets_forced();
	read_all(before);
}

/* Those that @list does not name stand still, but the busy ones. */
static long expected(const struct moved *list, int i)
{
	for (; list->name; list++)
		if (!strcmp(list->name, name_of(i)))
			return list->by;
	return i < NUM_QUIET ? 0 : ANY;
}

static bool is_as_expected(const struct moved *list, int i)
{
	long by = expected(list, i);

	return by == ANY || now[i] - before[i] == by;
}

static bool are_as_expected(const struct moved *list)
{
	int i;

	for (i = 0; i < NUM_ALL; i++)
		if (!is_as_expected(list, i))
			return false;
	return true;
}

static void expect_moved(const struct moved *list)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	int i;

	do
		read_all(now);
	while (!are_as_expected(list) && now_ns() < end);
	read_all(now); /* and it stays so */
	for (i = 0; i < NUM_ALL; i++)
		if (!is_as_expected(list, i))
			FAIL("%s: %ld more, expected %ld", name_of(i), (long)(now[i] - before[i]),
			     expected(list, i));
	memcpy(before, now, sizeof(before));
}

#define MOVED(...)	expect_moved((struct moved[]){ __VA_ARGS__, {} })

/* all answers come in time, however slow the machine is */
#define PATIENT(...)	CONF(.timeout = 20, __VA_ARGS__)

/*
 * ---- Connected ----
 */

static void transfer_some(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		post_recv(&b, i, 0, 100);
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 100));
		expect_ok(a.scq, i);
	}
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE, 0, 10000), &b, 0));
	expect_ok(a.scq, 3);
}

static void messages(void)
{
	make_pair(&a, &b, PATIENT());
	begin();
	transfer_some();
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_READ, 0, 20000), &b, 0));
	expect_ok(a.scq, 4);
	MOVED({ "sent_messages", 5 }, { "sent_bytes", 30300 }, { "rcvd_messages", 5 },
	      { "rcvd_bytes", 30300 }, { "tx_packets", packets ? ANY : 0 },
	      { "rx_packets", packets ? ANY : 0 }, { "rx_write_requests", 1 },
	      { "rx_read_requests", 1 }, { "rx_atomic_requests", 0 });
	post(&a, at(swr(&a, 5, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8), &b, 0));
	expect_ok(a.scq, 5);
	MOVED({ "rcvd_messages", 1 }, { "rx_write_requests", 0 }, { "rx_read_requests", 0 },
	      { "rx_atomic_requests", 1 });
}

static void not_ready(void)
{
	make_pair(&a, &b, PATIENT(.rnr_retry = 2, .rnr_timer = 14));
	begin();
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	expect_wc(a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	MOVED({ "rnr_naks_sent", 3 }, { "rnr_retries", 2 }, { "retransmits", packets ? 2 : 0 },
	      { "rcvd_messages", 0 }, { "out_of_buffer", 3 }, { "rnr_nak_retry_err", 2 },
	      { "req_cqe_error", 1 }, { "req_rnr_retries_exceeded", 1 });
}

static void refused(void)
{
	make_pair(&a, &b, PATIENT());
	begin();
	post(&a, at_key(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), b.mr->rkey ^ 0xff00,
			(uintptr_t)b.buf));
	expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	MOVED({ "naks_sent", 1 }, { "rcvd_messages", 0 }, { "rx_write_requests", 0 },
	      { "req_cqe_error", 1 }, { "req_remote_access_errors", 1 },
	      { "resp_remote_access_errors", 1 });
}

static void too_long(void)
{
	make_pair(&a, &b, PATIENT());
	begin();
	post_recv(&b, 1, 0, 99);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	expect_wc(b.rcq, 1, IBV_WC_LOC_LEN_ERR);
	expect_wc(a.scq, 2, IBV_WC_REM_INV_REQ_ERR);
	MOVED({ "naks_sent", 1 }, { "rcvd_messages", 0 }, { "req_cqe_error", 1 },
	      { "req_remote_invalid_request", 1 }, { "resp_cqe_error", 1 },
	      { "resp_local_length_error", 1 });
}

/* A UC requester learns nothing, so the responder's counters are all that there is. */
static void unreliable(void)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UC));
	begin();
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 1);
	MOVED({ "out_of_buffer", 1 }, { "rcvd_messages", 0 });
	post_recv(&b, 2, 0, 99);
	post(&a, swr(&a, 3, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 3);
	MOVED({ "rx_too_long", 1 }, { "resp_local_length_error", 1 }, { "rcvd_messages", 0 });
	post(&a, at_key(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 100), b.mr->rkey ^ 0xff00,
			(uintptr_t)b.buf));
	expect_ok(a.scq, 4);
	MOVED({ "resp_remote_access_errors", 1 }, { "rx_write_requests", 0 });
}

/* A probe is sent after 10 ms, so an ack timeout of 8 ms sees none. */
static void unanswered(void)
{
	make_pair(&a, &b, CONF(.timeout = 11, .retry = 2));
	to_state(&b, IBV_QPS_ERR);
	begin();
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	MOVED({ "transport_retries", 2 }, { "retransmits", packets ? 2 : 0 },
	      { "rx_not_ready", packets ? 3 : 0 }, { "local_ack_timeout_err", 2 },
	      { "req_cqe_error", 1 }, { "req_transport_retries_exceeded", 1 });
}

static void flushed(void)
{
	int i;

	make_pair(&a, &b, PATIENT());
	begin();
	for (i = 0; i < 4; i++)
		post_recv(&b, i, 0, 100);
	to_state(&b, IBV_QPS_ERR);
	post_recv(&b, 4, 0, 100);
	for (i = 0; i < 5; i++)
		expect_wc(b.rcq, i, IBV_WC_WR_FLUSH_ERR);
	to_state(&a, IBV_QPS_ERR);
	for (i = 0; i < 3; i++)
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 100));
	for (i = 0; i < 3; i++)
		expect_wc(a.scq, i, IBV_WC_WR_FLUSH_ERR);
	MOVED({ "flushed_wrs", 8 }, { "sent_messages", 0 }, { "req_cqe_error", 3 },
	      { "req_cqe_flush_error", 3 }, { "resp_cqe_error", 5 },
	      { "resp_cqe_flush_error", 5 });
}

/* what else moves when the QP fails depends on what is on its way then */
static void overrun(void)
{
	uint64_t overruns = counter("cq_overruns");
	int i;

	make_pair(&a, &b, CONF(.timeout = 20, .sq = 64, .cqe = 8));
	for (i = 0; i < 20; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_event(IBV_EVENT_CQ_ERR, a.scq);
	expect_state(&a, IBV_QPS_ERR);
	sleep_ms(20);
	SAME(counter("cq_overruns"), overruns + 1);
}

/*
 * ---- Of the device ----
 */

struct device_counts {
	uint64_t qp_errors, registrations, prefetches, page_waits;
};

static struct device_counts device_counts(void)
{
	sleep_ms(20); /* the core keeps them for 10 */
	return (struct device_counts){
		.qp_errors = device_counter("qp_errors"),
		.registrations = device_counter("registrations"),
		.prefetches = device_counter("prefetches"),
		.page_waits = device_counter("page_waits"),
	};
}

/* One of each. */
static void of_the_device(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uint8_t *p = memory(4 * page);
	struct device_counts first, last;
	struct ibv_sge sge;

	make_pair(&a, &b, PATIENT());
	first = device_counts();
	b.buf = p;
	b.mr = ibv_reg_mr(pd, p, 4 * page, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(b.mr);
	last = device_counts();
	SAME(last.registrations - first.registrations, 1);
	sge = (struct ibv_sge){ (uintptr_t)p, page, b.mr->lkey };
	SAME(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			   &sge, 1), 0);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 2 * page));
	expect_ok(a.scq, 1);
	last = device_counts();
	SAME(last.prefetches - first.prefetches, 1);
	SAME(last.page_waits - first.page_waits, 1);
	SAME(last.qp_errors - first.qp_errors, 0);

	/* an error takes both ends; a program that does so is none */
	post(&a, at_key(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), b.mr->rkey ^ 0xff00,
			(uintptr_t)p));
	expect_wc(a.scq, 2, IBV_WC_REM_ACCESS_ERR);
	expect_state(&b, IBV_QPS_ERR);
	make_pair(&a, &b, CONF());
	to_state(&a, IBV_QPS_ERR);
	last = device_counts();
	SAME(last.qp_errors - first.qp_errors, 2);
	SAME(last.prefetches - first.prefetches, 1);
	SAME(last.page_waits - first.page_waits, 1);
}

/*
 * ---- Datagrams ----
 */

static struct ibv_ah *ah;

static struct ibv_send_wr *datagram(const struct end *to)
{
	return to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), ah, to);
}

static void send_datagram(struct ibv_send_wr *wr)
{
	post(&a, wr);
	expect_ok(a.scq, 1);
}

static void make_ud(void)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	ah = ah_to(gid4, gid4);
	begin();
}

static void no_receive(void)
{
	make_ud();
	send_datagram(datagram(&b));
	MOVED({ "ud_dropped_no_receive", 1 }, { "out_of_buffer", 1 }, { "rcvd_messages", 0 });
	post_recv(&b, 2, 0, 200);
	send_datagram(datagram(&b));
	expect_ok(b.rcq, 2);
	MOVED({ "rcvd_messages", 1 }, { "rcvd_bytes", 100 });
}

static void wrong_qkey(void)
{
	struct ibv_send_wr *wr;

	make_ud();
	post_recv(&b, 2, 0, 200);
	wr = datagram(&b);
	wr->wr.ud.remote_qkey++;
	send_datagram(wr);
	MOVED({ "ud_dropped_qkey", 1 }, { "rcvd_messages", 0 });
}

/* as a packet it has a counter for each of the reasons */
static void no_qp(void)
{
	struct ibv_send_wr *wr;
	struct end rc, rc_peer;

	make_ud();
	wr = datagram(&b);
	wr->wr.ud.remote_qpn = 0x7ffff0;
	send_datagram(wr);
	MOVED({ packets ? "rx_unknown_qp" : "ud_dropped_no_qp", 1 });
	make_pair(&rc, &rc_peer, CONF());
	send_datagram(datagram(&rc));
	MOVED({ packets ? "rx_opcode" : "ud_dropped_no_qp", 1 });
	to_state(&b, IBV_QPS_ERR);
	send_datagram(datagram(&b));
	MOVED({ packets ? "rx_not_ready" : "ud_dropped_no_qp", 1 });
}

static const union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 3, 1 } };

static struct ibv_ah *ah_to_group(void)
{
	struct ibv_ah_attr av;
	struct ibv_ah *to;

	av_to(&av, gid4, gid4);
	av.grh.dgid = group;
	to = ibv_create_ah(pd, &av);
	CHECK(to);
	return to;
}

static struct ibv_send_wr *to_group(struct ibv_ah *to)
{
	struct ibv_send_wr *wr = to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), to, &b);

	wr->wr.ud.remote_qpn = 0xffffff;
	return wr;
}

static void copies(void)
{
	struct end c;

	make_ud();
	make(&c, CONF(.type = IBV_QPT_UD));
	to_ready(&c);
	SAME(ibv_attach_mcast(b.qp, &group, 0), 0);
	SAME(ibv_attach_mcast(c.qp, &group, 0), 0);
	post_recv(&b, 2, 0, 200);
	post_recv(&c, 3, 0, 200);
	send_datagram(to_group(ah_to_group()));
	expect_ok(b.rcq, 2);
	expect_ok(c.rcq, 3);
	MOVED({ "mcast_copies", 2 }, { "rcvd_messages", 2 });
}

/*
 * ---- A queue of packets that is full ----
 */

#define FLOOD	1100	/* more than may wait for a QP, which are 1024 */

/* receives in memory that does not come until it is told to */
static int hold_receives(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int i, fd;

	b.buf = memory(page);
	b.mr = ibv_reg_mr(pd, b.buf, page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	CHECK(b.mr);
	fd = uffd_hold(b.buf, page);
	for (i = 0; i < FLOOD; i++)
		post_recv(&b, i, 0, 140);
	return fd;
}

static void queue_full(void)
{
	uint64_t dropped = counter("rx_queue_full");
	int fd, i;

	if (!packets_forced())
		return;
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD, .rq = FLOOD, .cqe = FLOOD));
	ah = ah_to(gid4, gid4);
	fd = hold_receives();
	for (i = 0; i < FLOOD; i++)
		send_datagram(datagram(&b));
	sleep_ms(200); /* until the last one is there */
	dropped = counter("rx_queue_full") - dropped;
	CHECK(dropped > 0 && dropped <= FLOOD - 1024);
	uffd_answer(fd, b.buf, sysconf(_SC_PAGESIZE));
	for (i = 0; i < FLOOD - dropped; i++)
		expect_ok(b.rcq, i);
	expect_no_wc(b.rcq);
}

/*
 * ---- Counters that the specification has for a port ----
 */

#define GSI_QKEY	0x80010000
#define GRH		40

#define CLASS_PERF	4
#define METHOD_GET	1
#define METHOD_SET	2
#define METHOD_GET_RESP	0x81
#define PORT_COUNTERS	htons(0x12)
#define UNSUPPORTED	htons(0xc)

struct perf_mad {
	uint8_t base_version, mgmt_class, class_version, method;
	uint16_t status, class_specific;
	uint64_t tid;
	uint16_t attr_id, reserved_12;
	uint32_t attr_mod;
	uint8_t reserved_18[40];
	uint8_t reserved_40, port_select;
	uint16_t counter_select;
	uint8_t counters[188];
};

static uint64_t port_counter(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/counters/%s",
		 ibv_get_device_name(ctx->device), name);
	return read_number(path);
}

/* each is the sum of some in hw_counters */
static void of_the_port(void)
{
	uint64_t sent, rcvd, packets_sent;

	make_pair(&a, &b, PATIENT());
	sent = port_counter("port_xmit_data");
	rcvd = port_counter("port_rcv_data");
	packets_sent = port_counter("port_xmit_packets");
	transfer_some();
	SAME(port_counter("port_xmit_data") - sent, 10300 / 4);
	SAME(port_counter("port_rcv_data") - rcvd, 10300 / 4);
	CHECK(!packets_forced() || port_counter("port_xmit_packets") >= packets_sent + 6);
	sleep_ms(20);
	SAME(port_counter("port_xmit_data"), counter("sent_bytes") / 4);
	SAME(port_counter("port_rcv_data"), counter("rcvd_bytes") / 4);
	SAME(port_counter("port_xmit_packets"), counter("tx_packets"));
	SAME(port_counter("port_rcv_packets"), counter("rx_packets"));
	SAME(port_counter("port_xmit_discards"), counter("tx_dropped"));
	SAME(port_counter("port_rcv_errors"),
	     counter("rx_malformed") + counter("rx_icrc") + counter("rx_queue_full") +
	     counter("rx_no_memory"));
	SAME(port_counter("symbol_error"), 0);
}

static void to_ready_gsi(struct end *e)
{
	struct ibv_qp_attr attr = step_attr(e, NULL, IBV_QPS_INIT);

	attr.qkey = GSI_QKEY;
	SAME(ibv_modify_qp(e->qp, &attr, step_mask(e, IBV_QPS_INIT)), 0);
	to_rtr(e, NULL);
	to_rts(e);
}

/* the answer of QP 1 of this port to @method of PortCounters */
static struct perf_mad ask(struct ibv_ah *to, uint8_t method)
{
	struct ibv_send_wr *wr = swr(&a, 1, IBV_WR_SEND, 0, sizeof(struct perf_mad));
	const struct perf_mad mad = {
		.base_version = 1, .mgmt_class = CLASS_PERF, .class_version = 1,
		.method = method, .tid = 0x1234, .attr_id = PORT_COUNTERS,
		.port_select = 1, .counter_select = htons(0xffff),
	};
	struct perf_mad answer;

	post_recv(&a, 2, 4096, GRH + sizeof(mad));
	memcpy(a.buf, &mad, sizeof(mad));
	wr->wr.ud.ah = to;
	wr->wr.ud.remote_qpn = 1;
	wr->wr.ud.remote_qkey = GSI_QKEY;
	post(&a, wr);
	expect_ok(a.scq, 1);
	SAME(expect_ok(a.rcq, 2).byte_len, GRH + sizeof(mad));
	memcpy(&answer, a.buf + 4096 + GRH, sizeof(answer));
	SAME(answer.method, METHOD_GET_RESP);
	SAME(answer.tid, mad.tid);
	return answer;
}

/*
 * A MAD reads and resets the counters of an InfiniBand port, as the specification has it. A RoCE
 * port has no such agent: the core says so, and returns the request.
 */
static void asked_by_others(void)
{
	bool ib = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	static const uint8_t nothing[sizeof(((struct perf_mad *)0)->counters)];
	struct perf_mad answer;
	uint64_t sent;

	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready_gsi(&a);
	ah = ah_to(gid4, gid4);
	ask(ah, METHOD_GET);
	sent = port_counter("port_xmit_data");
	CHECK(sent);
	answer = ask(ah, METHOD_GET);
	SAME(answer.status, ib ? 0 : UNSUPPORTED);
	SAME(!memcmp(answer.counters, nothing, sizeof(nothing)), !ib);
	answer = ask(ah, METHOD_SET);
	SAME(answer.status, ib ? 0 : UNSUPPORTED);
	/* those of the answer are the first that are counted after a reset */
	CHECK((port_counter("port_xmit_data") > sent) == !ib);
}

TESTS(
	TEST(messages), TEST(not_ready), TEST(refused), TEST(too_long),
	TEST(unreliable), TEST(unanswered), TEST(flushed), TEST(overrun), TEST(of_the_device), TEST(no_receive), TEST(wrong_qkey), TEST(no_qp),
	TEST(copies), TEST(queue_full), TEST(of_the_port), TEST(asked_by_others)
)
