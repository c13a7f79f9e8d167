// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets of those who are not the peer: they end no QP, take no receive, and leave the
 * peer's packets their place (see security.rst).
 *
 *	strangers NAMESPACE PEER4 PEER6
 *
 * On this host they come from ordinary sockets of a process without privileges, which knows
 * all QP numbers and PSNs; on the other end of the cable from raw sockets in NAMESPACE.
 */
#include "packet.h"

#include <sys/ioctl.h>

#define RQ_PSN		1000
#define LENGTH		100
#define FLOOD		3000

static struct end a, b;

static struct spec request(uint8_t opcode, const struct end *to, uint32_t psn)
{
	return (struct spec){
		.opcode = opcode, .flags = 0x40, .pkey = 0xffff, .qpn = to->qp->qp_num,
		.psn = psn & 0xffffff, .payload = payload_of(opcode), .seed = 9, .qkey = QKEY,
		.sqpn = 17,
	};
}

/*
 * ---- On this host ----
 */

/* As the kernel makes it for a socket that is not connected: no identification, and DF. */
static void send_by_socket(int sock, uint16_t source, struct packet *packet)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	uint8_t *ip = packet->data, *udp = ip + 20;
	int length = packet->length - 28;
	uint32_t crc;

	put16(ip + 4, 0);
	put16(ip + 6, 0x4000);
	put16(udp, source);
	crc = htole32(~icrc(ip, udp, ip + packet->length - 4));
	memcpy(ip + packet->length - 4, &crc, 4);
	to.sin_addr = to4;
	SAME(sendto(sock, udp + 8, length, 0, (struct sockaddr *)&to, sizeof(to)), length);
}

static int open_socket(uint16_t *source)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = to4 };
	socklen_t length = sizeof(from);
	int sock = socket(AF_INET, SOCK_DGRAM, 0), discover = IP_PMTUDISC_DO;

	CHECK(sock >= 0);
	SAME(setsockopt(sock, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)), 0);
	SAME(bind(sock, (struct sockaddr *)&from, sizeof(from)), 0);
	SAME(getsockname(sock, (struct sockaddr *)&from, &length), 0);
	*source = ntohs(from.sin_port);
	return sock;
}

/* Each operation of a service, with the PSN that @to expects, to it and by the way it answers. */
static void forge(const struct end *to, uint8_t service)
{
	struct packet packet;
	struct spec s;
	uint16_t source;
	int sock, op;

	CHECK(!setgid(65534) && !setuid(65534));
	sock = open_socket(&source);
	for (op = 0; op < 32; op++) {
		s = request(service | op, to, to->psn);
		s.syndrome = 0x61;	/* of an ACK: invalid request */
		from4 = to4;
		build(&packet, &s);
		send_by_socket(sock, source, &packet);
	}
	exit(0);
}

/* They go to @to by a process of their own; each is counted. */
static void forged_to(const struct end *to, uint8_t service)
{
	uint64_t before = counter("rx_wrong_address"), others = counter("rx_opcode") +
			  counter("rx_malformed");
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid)
		forge(to, service);
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
	sleep_ms(50);
	SAME(counter("rx_wrong_address") + counter("rx_opcode") + counter("rx_malformed"),
	     before + others + 32);
	CHECK(counter("rx_wrong_address") > before);
}

static void local_connection(enum ibv_qp_type type, uint8_t service)
{
	note("QP type %d", type);
	make_pair(&a, &b, CONF(.type = type, .rnr_timer = 20));
	post_recv(&a, 1, 0, LENGTH);
	post_recv(&b, 2, 0, LENGTH);
	forged_to(&b, service);
	forged_to(&a, service);
	expect_no_wc_now(a.rcq);
	expect_no_wc_now(b.rcq);
	expect_no_event();
	check_zero(b.buf, BUF);
	SAME(state_of(&a), IBV_QPS_RTS);
	SAME(state_of(&b), IBV_QPS_RTS);
	fill(a.buf, LENGTH, 1);
	post(&a, swr(&a, 3, IBV_WR_SEND, 0, LENGTH));
	expect_ok(a.scq, 3);
	expect_ok(b.rcq, 2);
	check_filled(b.buf, LENGTH, 1);
	unmake(&a);
	unmake(&b);
}

static void connections_of_this_host(void)
{
	local_connection(IBV_QPT_RC, RC);
	local_connection(IBV_QPT_UC, UC);
}

/* Without the Q_Key there is no datagram. */
static void datagrams_of_this_host(void)
{
	struct packet packet;
	struct spec s;
	uint16_t source;
	uint64_t before;
	int sock;

	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	post_recv(&a, 1, 0, 2000);
	sock = open_socket(&source);
	before = counter("ud_dropped_qkey");
	s = request(UD | SEND_ONLY, &a, 0);
	s.qkey ^= 1;
	from4 = to4;
	build(&packet, &s);
	send_by_socket(sock, source, &packet);
	expect_no_wc(a.rcq);
	SAME(counter("ud_dropped_qkey"), before + 1);
	/* who knows it is heard, as IBA has it; that the test can send is shown here */
	s.qkey ^= 1;
	build(&packet, &s);
	send_by_socket(sock, source, &packet);
	expect_ok(a.rcq, 1);
}

/*
 * ---- At the other end of the cable ----
 */

/* @num packets like @s, each of which has a PSN that is @step behind that of the one before. */
static void send_many(struct spec s, uint32_t step, int num)
{
	static struct packet packets[BATCH];
	int i, done;

	s.payload = LENGTH;
	for (done = 0; done < num; done += i) {
		for (i = 0; i < BATCH && done + i < num; i++) {
			build(&packets[i], &s);
			s.psn += step;
		}
		send_all(packets, i, false);
	}
}

/*
 * The first of 9 packets like @good waits for memory, and others behind that. Then more packets like
 * @bad come than the queue holds: each is counted in @name, and none takes the place of a good one.
 */
static void queue_is_not_filled(struct spec good, struct spec bad, const char *name, uint32_t length)
{
	uint64_t before;
	uint8_t *held;
	int fd, i;

	held = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(held != MAP_FAILED);
	fd = uffd_hold(held, 4096);
	SAME(ibv_dereg_mr(a.mr), 0);
	a.mr = ibv_reg_mr(pd, held, 4096, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(a.mr);
	munmap(a.buf, BUF);
	a.buf = held;
	for (i = 0; i < 9; i++)
		post_recv(&a, i, i * length, length);
	send_many(good, 1, 1);
	sleep_ms(100);
	expect_no_wc_now(a.rcq);
	before = counter(name);
	send_many(bad, 0, FLOOD);
	for (i = 0; i < WAIT_MS && counter(name) < before + FLOOD; i += 20)
		sleep_ms(20);
	SAME(counter(name), before + FLOOD);
	good.psn++;
	send_many(good, 1, 8);
	sleep_ms(100);
	uffd_answer(fd, held, 4096);
	for (i = 0; i < 9; i++)
		SAME(expect_ok(a.rcq, i).byte_len, length);
	SAME(state_of(&a), IBV_QPS_RTS);
}

/* The queue of a connected QP is its peer's. */
static void queue_is_the_peers(void)
{
	struct spec good, bad;

	make(&a, CONF(.timeout = 0));
	to_init(&a);
	connect_to_nobody(&a, RQ_PSN);
	good = request(RC | SEND_ONLY, &a, RQ_PSN);
	bad = request(RC | SEND_ONLY, &a, RQ_PSN + 1);
	bad.stranger = true;
	queue_is_not_filled(good, bad, "rx_wrong_address", LENGTH);
}

/* That of a UD QP is for those who have the Q_Key. */
static void queue_wants_the_qkey(void)
{
	struct spec good, bad;

	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	good = request(UD | SEND_ONLY, &a, 0);
	bad = good;
	bad.qkey ^= 1;
	queue_is_not_filled(good, bad, "ud_dropped_qkey", LENGTH + 40);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(connections_of_this_host), TEST(datagrams_of_this_host),
		TEST(queue_is_the_peers), TEST(queue_wants_the_qkey),
	};

	if (argc < 4)
		FAIL("usage: strangers NAMESPACE PEER4 PEER6 [CASE]...");
	make_crc_table();
	open_device();
	find_addresses(argv[2], argv[3]);
	open_sockets(argv[1]);
	argv[3] = argv[0];
	return run_tests(tests, ARRAY_SIZE(tests), argc - 3, argv + 3);
}
