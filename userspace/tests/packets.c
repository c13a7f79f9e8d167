// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that nobody should send.
 *
 *	packets NAMESPACE PEER4 PEER6 cases
 *	packets NAMESPACE PEER4 PEER6 fuzz NUMBER SEED [trains]
 *
 * QPs of the device, of each type in each state, have a peer with these
 * addresses, which is no device: what comes from there comes from raw sockets in
 * NAMESPACE. The headers below IP are all ours, and so is the ICRC.
 *
 * Each packet has to be in exactly one counter: rx_packets if a QP got it, or one
 * of the other counters. Memory that nobody gave away must stay as it is.
 */
#include "victims.h"

#define ROUND		1024		/* after so many all is looked at */
#define GSI_QKEY	0x80010000

/*
 * ---- Counters ----
 */

static const char * const counters[] = {
	"rx_packets", "rx_malformed", "rx_icrc", "rx_unknown_qp", "rx_wrong_address", "rx_pkey",
	"rx_not_ready", "rx_opcode", "ud_dropped_qkey", "rx_queue_full",
};

#define NUM_COUNTERS	ARRAY_SIZE(counters)

static uint64_t at_first[NUM_COUNTERS], at_last[NUM_COUNTERS];

static uint64_t read_counters(uint64_t *values)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < NUM_COUNTERS; i++) {
		values[i] = counter(counters[i]);
		sum += values[i];
	}
	return sum;
}

static void show_counters(const uint64_t *from)
{
	int i;

	for (i = 0; i < NUM_COUNTERS; i++)
		printf("  %-18s %lu\n", counters[i], at_last[i] - from[i]);
}

/* The sum has to get to @sum, and not further. */
static void expect_sum(uint64_t sum, const uint64_t *from)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL, is;

	do {
		sleep_ms(12);
		is = read_counters(at_last);
	} while (is < sum && now_ns() < end);
	if (is == sum)
		return;
	show_counters(from);
	FAIL("%ld packets more were counted than sent", (long)(is - sum));
}

/*
 * ---- Cases: what each counter counts ----
 */

static uint8_t transport(const struct victim *v)
{
	if (is_xrc(v))
		return XRC;
	return v->e.conf.type == IBV_QPT_RC ? RC : v->e.conf.type == IBV_QPT_UC ? UC : UD;
}

/* a SEND that is right */
static struct spec good_send(struct victim *v)
{
	return (struct spec){
		.v6 = v->v6, .opcode = transport(v) | SEND_ONLY, .pkey = 0xffff,
		.qpn = v->e.qp->qp_num, .psn = v->rq_psn, .qkey = QKEY, .sqpn = PEER_QPN,
		.payload = 101, .seed = 7, .srqn = srq_num,
	};
}

/* @names: of those that it may be in */
static void expect_counter(const char *names, const struct spec *s)
{
	uint64_t before[NUM_COUNTERS], sum = read_counters(before);
	struct packet packet;
	int i;

	build(&packet, s);
	if (s->may_fragment)
		send_fragments(&packet, s->v6);
	else
		send_all(&packet, 1, s->v6);
	note("%s, IPv%d, opcode %#x", names, s->v6 ? 6 : 4, s->opcode);
	expect_sum(sum + 1, before);
	for (i = 0; i < NUM_COUNTERS; i++)
		if (at_last[i] != before[i] && !strstr(names, counters[i])) {
			show_counters(before);
			FAIL("it is in another counter");
		}
	note(NULL);
}

#define COUNTED(names, v, ...)						\
	do {								\
		struct spec s_ = good_send(v), *s = &s_;		\
									\
		__VA_ARGS__;						\
		expect_counter(names, s);				\
	} while (0)

/* It arrives: with this the ICRC that we compute is right, too. */
static void arrives_as(struct victim *v, const struct spec *s)
{
	int grh = v->e.conf.type == IBV_QPT_UD ? 40 : 0;
	struct ibv_wc wc;

	drain();
	expect_counter("rx_packets", s);
	wc = next_wc(rcq);
	SAME(wc.status, IBV_WC_SUCCESS);
	SAME(wc.wr_id >> 8, is_xrc(v) ? OF_SRQ : v - victims);
	SAME(wc.byte_len, 101 + grh);
	check_filled(receive(wc.wr_id >> 8, wc.wr_id & 0xff) + grh, 101, 7);
	if (is_xrc(v))
		SAME(give_receive(wc.wr_id), 0);
	arm(v);
}

static void arrives(struct victim *v)
{
	struct spec s = good_send(v);

	arrives_as(v, &s);
}

/* IP has put it together, and it is one packet */
static void arrives_in_fragments(struct victim *v)
{
	struct spec s = good_send(v);

	s.may_fragment = true;
	arrives_as(v, &s);
}

/* UDP's own is looked at before any of ours, and counted there */
static void arrives_with_checksum(struct victim *v)
{
	struct spec s = good_send(v);
	struct packet packet;

	s.bad_checksum = true;
	build(&packet, &s);
	send_all(&packet, 1, s.v6);
	s.bad_checksum = false;
	s.checksum = true;
	arrives_as(v, &s);
}

/* A group is for datagrams to it, and for nothing else. */
static void cases_of_group(bool v6)
{
	struct victim *v = find(IBV_QPT_UD, IBV_QPS_RTS, v6);
	struct spec s = good_send(v);

	s.group = true;
	s.qpn = 0xffffff;
	arrives_as(v, &s);
	COUNTED("rx_wrong_address", v, s->group = true);
	COUNTED("rx_unknown_qp", v, s->qpn = 0xffffff);
	COUNTED("rx_unknown_qp", v, s->group = true, s->qpn = 0xffffff, s->opcode = RC | SEND_ONLY);
	COUNTED("rx_pkey", v, s->group = true, s->qpn = 0xffffff, s->pkey = 0x1234);
	COUNTED("ud_dropped_qkey", v, s->group = true, s->qpn = 0xffffff, s->qkey = 1);
	COUNTED("rx_icrc", v, s->group = true, s->qpn = 0xffffff, s->bad_icrc = true);
	COUNTED("rx_malformed", v, s->group = true, s->qpn = 0xffffff, s->flags = 1);
}

static void cases_of(enum ibv_qp_type type, bool v6)
{
	struct victim *v = find(type, IBV_QPS_RTR, v6);

	arrives(v);
	arrives_in_fragments(v);
	arrives_with_checksum(v);
	arrives(find(type, IBV_QPS_RTS, v6));
	arrives(find(type, IBV_QPS_SQD, v6));
	if (type != IBV_QPT_RC)
		arrives(find(type, IBV_QPS_SQE, v6));
	/* that the QP has no address yet is as true */
	COUNTED("rx_not_ready rx_wrong_address", find(type, IBV_QPS_RESET, v6));
	COUNTED("rx_not_ready rx_wrong_address", find(type, IBV_QPS_INIT, v6));
	COUNTED("rx_not_ready", find(type, IBV_QPS_ERR, v6));
	COUNTED("rx_icrc", v, s->bad_icrc = true);
	COUNTED("rx_icrc", v, s->bad_icrc = s->may_fragment = true);
	COUNTED("rx_unknown_qp", v, s->qpn = 0xfffff0);
	COUNTED("rx_pkey", v, s->pkey = 0x1234);
	COUNTED("rx_opcode", v, s->opcode = (type == IBV_QPT_UC ? RC : UC) | SEND_ONLY);
	if (type != IBV_QPT_RC) /* there it has an answer, and so it is the QP's */
		COUNTED("rx_malformed", v, s->opcode |= 0x1f);
	COUNTED("rx_malformed", v, s->opcode = 0xff);
	COUNTED("rx_malformed", v, s->opcode = OWN | SEND_ONLY);
	if (type != IBV_QPT_RC)
		COUNTED("rx_opcode", v, s->opcode = OWN | FETCH_ADD; s->payload = 0);
	COUNTED("rx_malformed", v, s->flags = 1); /* the version */
	COUNTED("rx_malformed", v, s->payload = 0; s->pad = 1);
	COUNTED("rx_malformed", v, s->payload = 0; s->cut = 5);
	COUNTED("rx_malformed", v, s->payload = 0; s->cut = 1000; s->no_icrc = true);
	if (type != IBV_QPT_UD)
		COUNTED("rx_wrong_address", v, s->stranger = true);
	else
		COUNTED("ud_dropped_qkey", v, s->qkey++);
	if (type == IBV_QPT_UD) /* longer than a MAD, for which QP 1 has no room */
		COUNTED("rx_malformed", v, s->qpn = 1; s->qkey = GSI_QKEY; s->payload = 260);
	/* what may be in a packet that is right */
	COUNTED("rx_packets", v, s->qpn |= 0xc0000000); /* congestion was seen */
	COUNTED("rx_packets", v, s->flags = 0xc0); /* SE, and M as hardware has it */
	arm(v);
	/* all that was nothing to the QP */
	arrives(v);
}

static void cases_of_xrc(bool v6)
{
	struct victim *v = find(IBV_QPT_XRC_RECV, IBV_QPS_RTR, v6);
	struct victim *ini = find(IBV_QPT_XRC_SEND, IBV_QPS_RTS, v6);

	arrives(v);
	arrives(find(IBV_QPT_XRC_RECV, IBV_QPS_RTS, v6));
	COUNTED("rx_not_ready rx_wrong_address", find(IBV_QPT_XRC_RECV, IBV_QPS_INIT, v6));
	COUNTED("rx_not_ready", find(IBV_QPT_XRC_RECV, IBV_QPS_ERR, v6));
	COUNTED("rx_icrc", v, s->bad_icrc = true);
	COUNTED("rx_wrong_address", v, s->stranger = true);
	/* the number of the SRQ is cut off */
	COUNTED("rx_malformed", v, s->payload = 0; s->cut = 1);
	COUNTED("rx_malformed", v, s->payload = 0; s->cut = 4);
	/* requests go one way, answers the other */
	COUNTED("rx_opcode", v, s->opcode = RC | SEND_ONLY);
	COUNTED("rx_opcode", v, s->opcode = XRC | ACK; s->payload = 0);
	COUNTED("rx_opcode", ini);
	arrives(v);
	/* no such SRQ: that is answered */
	COUNTED("rx_packets", v, s->srqn ^= 0xabcdef);
	expect_state(&v->e, IBV_QPS_ERR);
	arm(v);
	arrives(v);
}

static int cases(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	int i, v6;

	make_victims();
	sleep_ms(200); /* until all that has to be is flushed */
	read_counters(at_first);
	for (v6 = 0; v6 < 2; v6++) {
		for (i = 0; i < ARRAY_SIZE(types); i++)
			cases_of(types[i], v6);
		cases_of_xrc(v6);
		cases_of_group(v6);
	}
	check_arena();
	read_counters(at_last);
	show_counters(at_first);
	return 0;
}

/*
 * ---- Fuzzing ----
 */

static void draw_remote(struct spec *s)
{
	int i = below(NUM_REGIONS);

	/* mostly what is right, or nearly */
	if (!one_in(4))
		i = OPEN;
	s->rkey = mr[i]->rkey;
	s->va = (uintptr_t)mr[i]->addr + below(REGION + 64) - (one_in(4) ? 32 : 0);
	s->length = s->payload;
	if ((s->opcode & 31) == READ_REQUEST)
		s->length = below(one_in(2) ? 5000 : REGION);
	if ((s->opcode & 31) == WRITE_FIRST)
		s->length = MTU + below(4 * MTU);
	if ((s->opcode & 31) >= CMP_SWP && (s->opcode & 31) <= FETCH_ADD)
		s->va &= ~7ULL;
	if ((s->opcode & 31) == ATOMIC_WRITE)
		s->va &= ~7ULL;
	if ((s->opcode & 31) == FLUSH) {
		s->length = below(REGION);
		s->feth = one_in(4) ? draw() : 1 | below(2) << 4;
	}
	if ((s->opcode & 31) >= SEND_LAST_INV && (s->opcode & 31) <= SEND_ONLY_INV)
		s->rkey = one_in(2) ? mr[OPEN]->rkey : draw();
}

static uint32_t draw_psn(struct victim *v, uint8_t opcode)
{
	bool response = is_response(opcode);
	uint32_t base = response ? v->e.psn : v->rq_psn;

	switch (below(8)) {
	case 0:
		return draw() & 0xffffff;
	case 1: /* duplicates, gaps */
		return (base + below(16) - 8) & 0xffffff;
	default:
		return (base + (response ? below(8) : 0)) & 0xffffff;
	}
}

static uint8_t draw_syndrome(void)
{
	switch (below(6)) {
	case 0:
		return 0x20 | below(32);	/* RNR NAK */
	case 1:
		return 0x60 | below(6);		/* NAK */
	case 2:
		return draw();
	default:
		return below(32);		/* ACK */
	}
}

static void draw_fault(struct spec *s)
{
	switch (below(18)) {
	case 0:
		s->opcode = draw();
		break;
	case 1:
		s->opcode ^= 1 << below(8);
		break;
	case 2:
		s->flags = draw() & 0xcf;
		break;
	case 3:
		s->pkey = one_in(2) ? draw() : 0x7fff;
		break;
	case 4:
		s->qpn = one_in(2) ? draw() & 0xffffff : s->qpn ^ 1 << below(32);
		if (one_in(8))
			s->qpn = 0xffffff; /* a group, but the address is none */
		break;
	case 5:
		s->psn = draw();
		break;
	case 6:
		s->pad = below(4);
		break;
	case 7:
		s->cut = 1 + below(one_in(2) ? 4 : 64);
		break;
	case 8:
		s->extra = 1 + below(one_in(2) ? 8 : 400);
		break;
	case 9:
		s->scribble = 1 + below(8);
		break;
	case 10:
		s->bad_icrc = true;
		break;
	case 11:
		s->no_icrc = true;
		s->cut = below(80);
		break;
	case 12:
		s->rkey = one_in(2) ? draw() : s->rkey ^ 1 << below(32);
		break;
	case 13:
		s->va = one_in(2) ? draw() : s->va ^ 1ULL << below(64);
		break;
	case 14:
		s->length = one_in(2) ? draw() : s->length ^ 1 << below(32);
		break;
	case 15:
		s->payload = below(MTU + 300);
		break;
	case 16:
		s->stranger = true;
		break;
	default:
		s->qkey = draw();
		if (one_in(4))
			s->udp_short = 1 + below(40);
		else if (one_in(4))
			s->options = !s->v6;
		break;
	}
}

static uint8_t draw_opcode(const struct victim *v)
{
	uint8_t service = transport(v);

	if (service == UD)
		return UD | (SEND_ONLY + below(2));
	if (service == UC)
		return UC | below(WRITE_ONLY_IMM + 1);
	if ((v->is_pending || v->e.conf.type == IBV_QPT_XRC_SEND) && !one_in(4))
		return service | (RESPONSE_FIRST + below(ATOMIC_ACK - RESPONSE_FIRST + 1));
	if (one_in(8))
		return service | (FLUSH + below(2));
	if (one_in(8))
		return OWN | (CMP_SWP + below(2));
	return service | below(NUM_OPERATIONS);
}

static void draw_spec(struct spec *s)
{
	struct victim *v = &victims[below(num_victims)];
	int i;

	/* more of those that listen */
	for (i = 0; i < 3 && v->state != IBV_QPS_RTR && v->state != IBV_QPS_RTS; i++)
		v = &victims[below(num_victims)];
	*s = (struct spec){
		.v6 = v->v6, .flags = one_in(2) ? 0 : (draw() & 0xc0), .pkey = 0xffff,
		.qpn = v->e.qp->qp_num | (one_in(8) ? draw() << 30 : 0),
		.qkey = QKEY, .sqpn = one_in(4) ? draw() : PEER_QPN, .add = draw(),
		.compare = draw(), .swap_mask = draw(), .compare_mask = draw(),
		.syndrome = draw_syndrome(), .msn = draw(), .imm = draw(),
		.srqn = one_in(8) ? draw() : srq_num, .checksum = one_in(4),
	};
	s->opcode = draw_opcode(v);
	s->payload = payload_of(s->opcode);
	s->psn = draw_psn(v, s->opcode) | (one_in(2) ? 0x80000000 : 0);
	draw_remote(s);
	if (one_in(40)) { /* the one that all ports have */
		s->qpn = 1;
		s->qkey = GSI_QKEY;
		s->opcode = UD | SEND_ONLY;
		s->payload = one_in(2) ? 256 : below(MTU);
	}
	if ((s->opcode & 0xe0) == UD && one_in(4)) {
		s->group = true;
		s->qpn = one_in(8) ? s->qpn : 0xffffff;
	}
	if (one_in(50)) {
		s->opcode = CNP | 1;
		s->payload = 16;
	}
	if (one_in(30)) {
		s->noise = true;
		s->payload = below(MTU);
	}
	for (i = below(4) - 1; i > 0; i--)
		draw_fault(s);
	/* if it is as it should be, the next one is to follow it */
	if (s->psn << 8 == v->rq_psn << 8 && one_in(4) == 0)
		v->rq_psn = (v->rq_psn + 1) & 0xffffff;
}

static void send_batch(int num)
{
	static struct packet packets[2][BATCH];
	int count[2] = {}, i;
	struct spec s;

	for (i = 0; i < num; i++) {
		draw_spec(&s);
		build(&packets[s.v6][count[s.v6]++], &s);
	}
	for (i = 0; i < 2; i++)
		send_all(packets[i], count[i], i);
}

static void fuzz_round(int num)
{
	int batch;

	for (; num > 0; num -= batch) {
		batch = num < BATCH ? num : BATCH;
		send_batch(batch);
		drain();
	}
}

static int fuzz(int num, int seed)
{
	uint64_t sum, start = now_ns();
	int sent, round, i;

	random_state = seed;
	make_victims();
	sum = read_counters(at_first);
	for (sent = 0; sent < num; sent += round) {
		round = num - sent < ROUND ? num - sent : ROUND;
		fuzz_round(round);
		note("after %d packets, seed %d", sent + round, seed);
		expect_sum(sum + sent + round, at_first);
		check_arena();
		repair();
	}
	printf("%d packets in %.1f s, seed %d:\n", sent, (now_ns() - start) / 1e9, seed);
	show_counters(at_first);
	/* each kind was there, but for the queue, which nobody can fill at will */
	for (i = 0; i < NUM_COUNTERS - 1 && num >= 10000; i++)
		if (at_last[i] == at_first[i])
			FAIL("%s: none", counters[i]);
	destroy_victims();
	for (i = 0; i < NUM_REGIONS; i++)
		SAME(ibv_dereg_mr(mr[i]), 0);
	check_arena();
	return 0;
}

/*
 * ---- Program ----
 */

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 5 && argc != 7 && argc != 8) {
		fprintf(stderr, "usage: packets NAMESPACE PEER4 PEER6 cases|fuzz NUMBER SEED [trains]\n");
		return 2;
	}
	make_crc_table();
	open_sockets(argv[1]);
	open_device();
	find_addresses(argv[2], argv[3]);
	make_arena();
	if (argc == 5)
		return cases();
	trains = argc == 8;
	return fuzz(atoi(argv[5]), atoi(argv[6]));
}
