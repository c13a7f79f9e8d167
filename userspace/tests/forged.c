// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a QP makes of single packets of its peer: losses, repetitions, NAKs, and what
 * counts them; responses that are not what it has asked for.
 *
 *	forged NAMESPACE PEER4
 *
 * The peer is no device: what comes from its address are packets of ours, from raw
 * sockets in NAMESPACE. What is sent there nobody answers, and nothing times out.
 */
#include "packet.h"

#include <sys/time.h>

#define RQ_PSN		0xfffffe	/* wraps soon */
#define ACK_REQUEST	0x80000000	/* beside a PSN */
#define NO_CREDITS	0x1f		/* an ACK that says nothing of them */
#define NAK_SEQUENCE	0x60
#define RNR_NAK		0x21		/* 10 us */
#define LENGTH		100

static struct end e;

static void make_connected(struct ibv_srq *srq)
{
	make(&e, CONF(.timeout = 0, .srq = srq));
	to_init(&e);
	connect_to_nobody(&e, RQ_PSN);
}

static void send_packet(uint8_t operation, uint32_t psn, uint8_t syndrome, uint32_t payload)
{
	struct spec s = {
		.opcode = RC | operation, .flags = 0x40, .pkey = 0xffff, .qpn = e.qp->qp_num,
		.psn = psn & (ACK_REQUEST | 0xffffff), .syndrome = syndrome, .payload = payload, .seed = 3,
	};
	struct packet packet;

	build(&packet, &s);
	send_all(&packet, 1, false);
}

/* by how far a counter has moved since mark() */
static const char * const names[] = {
	"out_of_sequence", "seq_naks_sent", "duplicates", "seq_naks_rcvd", "implied_naks",
	"stale_responses", "rnr_retries", "transport_retries", "retransmits", "rx_packets",
	"rx_early",
};

/* the names of mlx5 for some of them, in the same order; no retries are used up here */
static const char * const second_names[ARRAY_SIZE(names)] = {
	[2] = "duplicate_request", "packet_seq_err", "implied_nak_seq_err",
	[6] = "rnr_nak_retry_err",
};

struct moved {
	long by[ARRAY_SIZE(names)];
};

static uint64_t marked[ARRAY_SIZE(names)], second_marked[ARRAY_SIZE(names)];

static void mark(void)
{
	int i;

	sleep_ms(20);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		marked[i] = counter(names[i]);
		if (second_names[i])
			second_marked[i] = counter(second_names[i]);
	}
}

static bool has_moved(const struct moved *want)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (counter(names[i]) - marked[i] != want->by[i])
			return false;
	return true;
}

static void expect_moved(const struct moved *want)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	int i;

	do
		sleep_ms(20);
	while (!has_moved(want) && now_ns() < end);
	sleep_ms(20); /* and it stays so */
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		note("%s", names[i]);
		SAME(counter(names[i]) - marked[i], want->by[i]);
		if (second_names[i])
			SAME(counter(second_names[i]) - second_marked[i], want->by[i]);
	}
	note(NULL);
	mark();
}

enum { GAP, NAK_SENT, DUPLICATE, NAK_RCVD, IMPLIED, STALE, RNR, RETRY, AGAIN, PACKETS, EARLY };

#define EARLY_MAX	1024		/* packets that wait for earlier ones */

#define MOVED(...)	expect_moved(&(struct moved){ .by = { __VA_ARGS__ } })

/*
 * ---- The responder ----
 */

static void send_request(uint32_t psn)
{
	send_packet(SEND_ONLY, psn, 0, LENGTH);
}

static void loses_requests(void)
{
	int i;

	for (i = 0; i < 8; i++)
		post_recv(&e, i, 4096 * i, 4096);
	mark();
	/* the first one is missing: a NAK says so once, and those behind it wait */
	send_request(RQ_PSN + 1);
	MOVED([EARLY] = 1, [NAK_SENT] = 1, [PACKETS] = 1);
	send_request(RQ_PSN + 2);
	MOVED([EARLY] = 1, [PACKETS] = 1);
	expect_no_wc_now(e.rcq);
	send_request(RQ_PSN);
	MOVED([PACKETS] = 1);
	for (i = 0; i < 3; i++) {
		SAME(expect_ok(e.rcq, i).byte_len, LENGTH);
		check_filled(e.buf + 4096 * i, LENGTH, 3);
	}
	/* the gap is closed: a NAK says the next one again */
	send_request(RQ_PSN + 4);
	MOVED([EARLY] = 1, [NAK_SENT] = 1, [PACKETS] = 1);
	/* requests that have been executed come once more */
	send_request(RQ_PSN);
	send_request(RQ_PSN + 1);
	MOVED([DUPLICATE] = 2, [PACKETS] = 2);
	/* there is room for so many, and no more */
	for (i = 1; i < EARLY_MAX + 8; i++)
		send_request(RQ_PSN + 4 + i);
	MOVED([EARLY] = EARLY_MAX - 1, [GAP] = 8, [PACKETS] = EARLY_MAX + 7);
	expect_no_wc(e.rcq);
}

/* what is sent to the peer */
static int ear;

static void open_ear(const char *netns)
{
	struct timeval limit = { .tv_sec = WAIT_MS / 1000 };
	int here = enter_netns(netns);

	ear = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
	CHECK(ear >= 0);
	CHECK(!setsockopt(ear, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	leave_netns(here);
}

/* the syndrome of the next ACK, which has to be of this PSN */
static uint8_t hear_ack(uint32_t psn)
{
	uint8_t packet[MAX_PACKET], *udp, *bth;
	uint32_t heard;

	do {
		CHECK(recv(ear, packet, sizeof(packet), 0) > 0);
		udp = packet + (packet[0] & 15) * 4;
		bth = udp + 8;
	} while ((udp[2] << 8 | udp[3]) != PORT || bth[0] != (RC | ACK));
	heard = bth[9] << 16 | bth[10] << 8 | bth[11];
	SAME(heard, psn & 0xffffff);
	return bth[12];
}

/* an ACK says how many receives there are; those of an SRQ are for others, too (IBA 9.7.7.2) */
static void grants_credits(struct ibv_srq *srq)
{
	static const uint8_t code_of_left[] = { 0, 1, 2, 3, 4, 4, 5, 5 };
	int i, num = ARRAY_SIZE(code_of_left);

	make_connected(srq);
	for (i = 0; i < num; i++) {
		if (srq)
			post_srq(srq, &e, i, 4096 * i, 4096);
		else
			post_recv(&e, i, 4096 * i, 4096);
	}
	for (i = 0; i < num; i++) {
		send_request(ACK_REQUEST | ((RQ_PSN + i) & 0xffffff));
		SAME(hear_ack(RQ_PSN + i), srq ? NO_CREDITS : code_of_left[num - 1 - i]);
		expect_ok(e.rcq, i);
	}
	unmake(&e);
}

/*
 * ---- The requester ----
 */

static uint64_t tx_packets;	/* that are sent before requests */

/* without probes, as the peer may take its time */
static uint64_t sent_packets(void)
{
	uint64_t probes = counter("probes");

	return counter("tx_packets") - probes;
}

static void begin_requests(void)
{
	sleep_ms(20);
	tx_packets = sent_packets();
}

/*
 * Wait until @num packets have been sent since begin_requests(). ibv_post_send() may leave that to
 * a task that begins its turn in the kernel, as after ibv_modify_qp(); until then an answer answers
 * nothing.
 */
static void expect_requests(int num)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (sent_packets() < tx_packets + num && now_ns() < end)
		sleep_ms(1);
	SAME(sent_packets(), tx_packets + num);
}

static void request(uint64_t id, enum ibv_wr_opcode opcode)
{
	post(&e, at(swr(&e, id, opcode, 32768, LENGTH), &e, 0));
}

static void send_answer(uint32_t psn, uint8_t syndrome)
{
	send_packet(ACK, psn, syndrome, 0);
}

static void hears_of_losses(void)
{
	int i;

	mark();
	begin_requests();
	for (i = 0; i < 3; i++)
		request(i, IBV_WR_RDMA_WRITE);
	expect_requests(3);
	/* the first one has arrived, the second one has not; the peer may have kept the third */
	send_answer(e.psn + 1, NAK_SEQUENCE);
	MOVED([NAK_RCVD] = 1, [RETRY] = 1, [AGAIN] = 1, [PACKETS] = 1);
	expect_ok(e.scq, 0);
	/* said twice: they are on their way already */
	send_answer(e.psn + 1, NAK_SEQUENCE);
	MOVED([NAK_RCVD] = 1, [PACKETS] = 1);
	send_answer(e.psn + 2, NO_CREDITS);
	MOVED([PACKETS] = 1);
	expect_ok(e.scq, 1);
	expect_ok(e.scq, 2);
	/* what nobody waits for any more, or has never asked for */
	send_answer(e.psn, NO_CREDITS);
	send_answer(e.psn + 100, NO_CREDITS);
	MOVED([STALE] = 2, [PACKETS] = 2);
}

/* the WRITE behind a READ is answered, the READ is not */
static void misses_a_response(void)
{
	uint32_t psn = e.psn + 3;

	mark();
	begin_requests();
	request(3, IBV_WR_RDMA_READ);
	request(4, IBV_WR_RDMA_WRITE);
	expect_requests(2);
	send_answer(psn + 1, NO_CREDITS);
	MOVED([EARLY] = 1, [IMPLIED] = 1, [RETRY] = 1, [AGAIN] = 2, [PACKETS] = 1);
	expect_no_wc_now(e.scq);
	/* the acknowledge has waited for it */
	send_packet(RESPONSE_ONLY, psn, NO_CREDITS, LENGTH);
	expect_ok(e.scq, 3);
	check_filled(e.buf + 32768, LENGTH, 3);
	expect_ok(e.scq, 4);
	MOVED([PACKETS] = 1);
	send_answer(psn + 1, NO_CREDITS);
	MOVED([STALE] = 1, [PACKETS] = 1);
}

static void is_told_to_wait(void)
{
	uint32_t psn = e.psn + 5;

	mark();
	begin_requests();
	request(5, IBV_WR_SEND);
	expect_requests(1);
	send_answer(psn, RNR_NAK);
	MOVED([RNR] = 1, [AGAIN] = 1, [PACKETS] = 1);
	send_answer(psn, NO_CREDITS);
	expect_ok(e.scq, 5);
	MOVED([PACKETS] = 1);
}

static void await(const char *name, uint64_t least)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (counter(name) < least && now_ns() < end)
		sleep_ms(5);
	CHECK(counter(name) >= least);
}

/*
 * The peer is silent, so the requester probes it. What comes then is nothing that could answer, and
 * changes nothing; the right answer is still the right one.
 */
static void answers_probes_badly(void)
{
	uint64_t probes, retries, stale, naks;
	uint32_t psn;

	make(&e, CONF(.timeout = 20));
	to_init(&e);
	connect_to_nobody(&e, RQ_PSN);
	psn = e.psn;
	/* a probe comes after two round trips, of which this is one */
	begin_requests();
	request(0, IBV_WR_RDMA_WRITE);
	expect_requests(1);
	send_answer(psn, NO_CREDITS);
	expect_ok(e.scq, 0);
	probes = counter("probes");
	retries = counter("transport_retries");
	stale = counter("stale_responses");
	naks = counter("packet_seq_err");
	request(1, IBV_WR_RDMA_WRITE);
	await("probes", probes + 1);
	/* of what has been answered, and of what has not been sent */
	send_answer(psn, NO_CREDITS);
	send_answer(psn, NAK_SEQUENCE);
	send_answer(psn + 2, NO_CREDITS);
	send_answer(psn + 2, NAK_SEQUENCE);
	send_answer(psn + 2, RNR_NAK);
	send_packet(RESPONSE_ONLY, psn + 2, NO_CREDITS, LENGTH);
	await("stale_responses", stale + 6);
	expect_no_wc_now(e.scq);
	expect_state(&e, IBV_QPS_RTS);
	/* that is no answer either */
	probes = counter("probes");
	await("probes", probes + 1);
	SAME(counter("transport_retries"), retries);
	SAME(counter("packet_seq_err"), naks);
	send_answer(psn + 1, NO_CREDITS);
	expect_ok(e.scq, 1);
	/* nothing is waited for any more */
	sleep_ms(50);
	probes = counter("probes");
	sleep_ms(200);
	SAME(counter("probes"), probes);
	unmake(&e);
}

/*
 * ---- Bad responses ----
 *
 * What was not asked for ends the request, and the QP (IBA 9.9.2.4.1).
 */

#define BAD_RESPONSE	24		/* vendor_err, see conformance.rst */
#define NAK_RD_REQUEST	0x64		/* nothing for RC */
#define NAK_RESERVED	0x65
#define NAK_LAST	0x7f		/* reserved, too */
#define THREE		(2 * MTU + LENGTH)	/* bytes: a READ response of three packets */
#define SINK		32768

struct answer {
	uint8_t operation, syndrome;
	uint32_t payload;
};

/* a request, and what comes for it with one PSN after the other: the last one is bad */
struct bad {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t length;
	int answers;
	struct answer answer[3];
};

#define DATA(_operation, _payload)	{ RESPONSE_ ## _operation, NO_CREDITS, _payload }
#define NAK(_syndrome)			{ ACK, _syndrome, 0 }
#define WORD_BACK			{ ATOMIC_ACK, NO_CREDITS, 0 }
#define BAD(_name, _opcode, _length, ...)					\
	{ _name, IBV_WR_ ## _opcode, _length,					\
	  ARRAY_SIZE(((struct answer[]){ __VA_ARGS__ })), { __VA_ARGS__ } }

static const struct bad bads[] = {
	BAD("one byte short", RDMA_READ, LENGTH, DATA(ONLY, LENGTH - 1)),
	BAD("one byte too long", RDMA_READ, LENGTH, DATA(ONLY, LENGTH + 1)),
	BAD("no bytes", RDMA_READ, LENGTH, DATA(ONLY, 0)),
	BAD("first one is short", RDMA_READ, THREE, DATA(FIRST, MTU - 1)),
	BAD("first one is long", RDMA_READ, THREE, DATA(FIRST, MTU + 1)),
	BAD("middle one is short", RDMA_READ, THREE, DATA(FIRST, MTU), DATA(MIDDLE, MTU - 1)),
	BAD("middle one is long", RDMA_READ, THREE, DATA(FIRST, MTU), DATA(MIDDLE, MTU + 1)),
	BAD("last one is short", RDMA_READ, THREE,
	    DATA(FIRST, MTU), DATA(MIDDLE, MTU), DATA(LAST, LENGTH - 1)),
	BAD("last one is long", RDMA_READ, THREE,
	    DATA(FIRST, MTU), DATA(MIDDLE, MTU), DATA(LAST, LENGTH + 1)),
	BAD("one packet of three", RDMA_READ, THREE, DATA(ONLY, MTU)),
	BAD("one packet short", RDMA_READ, THREE, DATA(FIRST, MTU), DATA(LAST, MTU)),
	BAD("the middle is missing", RDMA_READ, THREE, DATA(FIRST, MTU), DATA(LAST, LENGTH)),
	BAD("does not end", RDMA_READ, THREE,
	    DATA(FIRST, MTU), DATA(MIDDLE, MTU), DATA(MIDDLE, MTU)),
	BAD("READ response to a WRITE", RDMA_WRITE, LENGTH, DATA(ONLY, LENGTH)),
	BAD("READ response to an atomic", ATOMIC_FETCH_AND_ADD, 8, DATA(ONLY, 8)),
	BAD("atomic response to a READ", RDMA_READ, 8, WORD_BACK),
	BAD("atomic response to a SEND", SEND, LENGTH, WORD_BACK),
	BAD("NAK of reliable datagrams", RDMA_WRITE, LENGTH, NAK(NAK_RD_REQUEST)),
	BAD("reserved NAK", RDMA_WRITE, LENGTH, NAK(NAK_RESERVED)),
	BAD("the last of the reserved NAKs", SEND, LENGTH, NAK(NAK_LAST)),
	BAD("reserved NAK of a READ", RDMA_READ, LENGTH, NAK(NAK_RESERVED)),
	BAD("reserved NAK of an atomic", ATOMIC_FETCH_AND_ADD, 8, NAK(NAK_RESERVED)),
	BAD("reserved NAK within a READ", RDMA_READ, THREE, DATA(FIRST, MTU), NAK(NAK_RESERVED)),
};

/* what has come before the bad one is there, and nothing of that */
static void check_sink(const struct bad *bad)
{
	uint32_t good = (bad->answers - 1) * MTU;
	int i;

	for (i = 0; i < bad->answers - 1; i++)
		check_filled(e.buf + SINK + i * MTU, MTU, 3);
	check_zero(e.buf + SINK + good, BUF - SINK - good);
}

static void answers_badly(const struct bad *bad)
{
	uint32_t psn;
	int i;

	note("%s", bad->name);
	make_connected(NULL);
	psn = e.psn;
	post_recv(&e, 9, 0, 4096);
	begin_requests();
	/* not answered, but for what is answered behind it */
	post(&e, at(swr(&e, 1, IBV_WR_RDMA_WRITE, 0, LENGTH), &e, 0));
	post(&e, at(swr(&e, 2, bad->opcode, SINK, bad->length), &e, 0));
	post(&e, at(swr(&e, 3, IBV_WR_RDMA_WRITE, 0, LENGTH), &e, 0));
	expect_requests(3);
	for (i = 0; i < bad->answers; i++)
		send_packet(bad->answer[i].operation, ++psn, bad->answer[i].syndrome,
			    bad->answer[i].payload);
	expect_ok(e.scq, 1);
	SAME(expect_wc(e.scq, 2, IBV_WC_BAD_RESP_ERR).vendor_err, BAD_RESPONSE);
	expect_wc(e.scq, 3, IBV_WC_WR_FLUSH_ERR);
	expect_wc(e.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	expect_state(&e, IBV_QPS_ERR);
	check_sink(bad);
	/* whatever comes now, and is asked for */
	send_answer(psn + 1, NO_CREDITS);
	post(&e, at(swr(&e, 4, IBV_WR_RDMA_READ, SINK, LENGTH), &e, 0));
	post_recv(&e, 10, 0, 4096);
	expect_wc(e.scq, 4, IBV_WC_WR_FLUSH_ERR);
	expect_wc(e.rcq, 10, IBV_WC_WR_FLUSH_ERR);
	expect_no_event_(__FILE__, __LINE__, 0);
	unmake(&e);
	note(NULL);
}

int main(int argc, char **argv)
{
	struct ibv_srq *srq;
	union ibv_gid gid;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 3) {
		fprintf(stderr, "usage: forged NAMESPACE PEER4\n");
		return 2;
	}
	make_crc_table();
	open_sockets(argv[1]);
	open_device();
	CHECK(inet_pton(AF_INET, argv[2], &from4) == 1);
	SAME(ibv_query_gid(ctx, 1, gid4, &gid), 0);
	memcpy(&to4, gid.raw + 12, 4);
	make_connected(NULL);
	loses_requests();
	hears_of_losses();
	misses_a_response();
	is_told_to_wait();
	expect_state(&e, IBV_QPS_RTS);
	printf("all of it is counted\n");
	unmake(&e);
	answers_probes_badly();
	printf("bad answers to probes change nothing\n");
	open_ear(argv[1]);
	grants_credits(NULL);
	srq = ibv_create_srq(pd, &(struct ibv_srq_init_attr){ .attr = { .max_wr = 16, .max_sge = 1 } });
	CHECK(srq);
	grants_credits(srq);
	SAME(ibv_destroy_srq(srq), 0);
	printf("credits are those that there are\n");
	for (i = 0; i < ARRAY_SIZE(bads); i++)
		answers_badly(&bads[i]);
	printf("%d bad responses are told of\n", i);
	return 0;
}
