// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a QP makes of single packets of its peer: losses, repetitions, NAKs, and what
 * counts them.
 *
 *	forged NAMESPACE PEER4
 *
 * The peer is no device: what comes from its address are packets of ours, from raw
 * sockets in NAMESPACE. What is sent there nobody answers, and nothing times out.
 */
#include "packet.h"

#define PEER_QPN	0x123456
#define RQ_PSN		0xfffffe	/* wraps soon */
#define NO_CREDITS	0x1f		/* an ACK that says nothing of them */
#define NAK_SEQUENCE	0x60
#define RNR_NAK		0x21		/* 10 us */
#define LENGTH		100

static struct end e;

static void make_connected(void)
{
	struct ibv_qp_attr attr;

	make(&e, CONF(.timeout = 0));
	to_init(&e);
	attr = step_attr(&e, NULL, IBV_QPS_RTR);
	attr.dest_qp_num = PEER_QPN;
	attr.rq_psn = RQ_PSN;
	attr.path_mtu = IBV_MTU_1024;
	av_to(&attr.ah_attr, gid4, gid4);
	memcpy(attr.ah_attr.grh.dgid.raw + 12, &from4, 4);
	SAME(ibv_modify_qp(e.qp, &attr, step_mask(&e, IBV_QPS_RTR)), 0);
	to_rts(&e);
}

static void send_packet(uint8_t operation, uint32_t psn, uint8_t syndrome, uint32_t payload)
{
	struct spec s = {
		.opcode = RC | operation, .flags = 0x40, .pkey = 0xffff, .qpn = e.qp->qp_num,
		.psn = psn & 0xffffff, .syndrome = syndrome, .payload = payload, .seed = 3,
	};
	struct packet packet;

	build(&packet, &s);
	send_all(&packet, 1, false);
}

/* by how far a counter has moved since mark() */
static const char * const names[] = {
	"out_of_sequence", "seq_naks_sent", "duplicates", "seq_naks_rcvd", "implied_naks",
	"stale_responses", "rnr_retries", "transport_retries", "retransmits", "rx_packets",
};

struct moved {
	long by[ARRAY_SIZE(names)];
};

static uint64_t marked[ARRAY_SIZE(names)];

static void mark(void)
{
	int i;

	sleep_ms(20);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		marked[i] = counter(names[i]);
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
	}
	note(NULL);
	mark();
}

enum { GAP, NAK_SENT, DUPLICATE, NAK_RCVD, IMPLIED, STALE, RNR, RETRY, AGAIN, PACKETS };

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
	/* the first two are missing; that is said once */
	send_request(RQ_PSN + 2);
	MOVED([GAP] = 1, [NAK_SENT] = 1, [PACKETS] = 1);
	send_request(RQ_PSN + 3);
	MOVED([GAP] = 1, [PACKETS] = 1);
	send_request(RQ_PSN);
	send_request(RQ_PSN + 1);
	MOVED([PACKETS] = 2);
	/* the gap is closed: the next one is said again */
	send_request(RQ_PSN + 3);
	MOVED([GAP] = 1, [NAK_SENT] = 1, [PACKETS] = 1);
	/* what is there comes once more, and is not executed */
	send_request(RQ_PSN);
	send_request(RQ_PSN + 1);
	MOVED([DUPLICATE] = 2, [PACKETS] = 2);
	for (i = 0; i < 2; i++) {
		SAME(expect_ok(e.rcq, i).byte_len, LENGTH);
		check_filled(e.buf + 4096 * i, LENGTH, 3);
	}
	expect_no_wc(e.rcq);
}

/*
 * ---- The requester ----
 */

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
	for (i = 0; i < 3; i++)
		request(i, IBV_WR_RDMA_WRITE);
	/* the first one has arrived, the others have not */
	send_answer(e.psn + 1, NAK_SEQUENCE);
	MOVED([NAK_RCVD] = 1, [RETRY] = 1, [AGAIN] = 2, [PACKETS] = 1);
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
	request(3, IBV_WR_RDMA_READ);
	request(4, IBV_WR_RDMA_WRITE);
	send_answer(psn + 1, NO_CREDITS);
	MOVED([IMPLIED] = 1, [RETRY] = 1, [AGAIN] = 2, [PACKETS] = 1);
	expect_no_wc_now(e.scq);
	send_packet(RESPONSE_ONLY, psn, NO_CREDITS, LENGTH);
	expect_ok(e.scq, 3);
	check_filled(e.buf + 32768, LENGTH, 3);
	send_answer(psn + 1, NO_CREDITS);
	expect_ok(e.scq, 4);
	MOVED([PACKETS] = 2);
}

static void is_told_to_wait(void)
{
	uint32_t psn = e.psn + 5;

	mark();
	request(5, IBV_WR_SEND);
	send_answer(psn, RNR_NAK);
	MOVED([RNR] = 1, [AGAIN] = 1, [PACKETS] = 1);
	send_answer(psn, NO_CREDITS);
	expect_ok(e.scq, 5);
	MOVED([PACKETS] = 1);
}

int main(int argc, char **argv)
{
	union ibv_gid gid;

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
	make_connected();
	loses_requests();
	hears_of_losses();
	misses_a_response();
	is_told_to_wait();
	expect_state(&e, IBV_QPS_RTS);
	printf("all of it is counted\n");
	return 0;
}
