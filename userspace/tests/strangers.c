// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets of those who are not the peer: they end no QP, take no receive, and leave the
 * peer's packets their place (see security.rst).
 *
 *	strangers NAMESPACE PEER4 PEER6
 *
 * On this host they come from ordinary sockets of a process without privileges, which knows
 * all QP numbers and PSNs; on the other end of the cable from raw sockets in NAMESPACE. There
 * $WEFT_OTHER is an interface of another network and its address.
 */
#include "strangers.h"

#include "packet.h"

#include <net/if.h>
#include <sys/ioctl.h>

#define LENGTH		100
#define FLOOD		1100
#define QUEUE		1024		/* packets that a queue holds */
#define SMALL_MTU	1280
#define AETH_NO_LIMIT	0x1f		/* an acknowledge without flow control of receives */

static struct end a, b;

const struct way ways_here[] = {
	{ "IPv4" },
	{ "IPv6", .v6 = true },
	{ "fragments of IPv6", .v6 = true, .fragments = true },
	{ "another address of this host", .other_network = true },
};
const int num_ways_here = ARRAY_SIZE(ways_here);

const struct way ways_elsewhere[] = {
	{ "IPv4" },
	{ "IPv6", .v6 = true },
	{ "fragments of IPv4", .fragments = true },
	{ "fragments of IPv6", .v6 = true, .fragments = true },
	{ "another network", .other_network = true },
};
const int num_ways_elsewhere = ARRAY_SIZE(ways_elsewhere);

static struct spec request(uint8_t operation, const struct victim *to)
{
	uint8_t opcode = to->service | operation;

	return (struct spec){
		.opcode = opcode, .flags = 0x40, .pkey = 0xffff, .qpn = to->qpn,
		.psn = to->psn & 0xffffff, .payload = payload_of(opcode), .seed = 9, .qkey = QKEY,
		.sqpn = 17, .srqn = to->srqn,
	};
}

/* Packets dropped for their operation, before their address is looked at, are counted elsewhere. */
static uint64_t dropped(void)
{
	return counter("rx_wrong_address") + counter("rx_opcode") + counter("rx_malformed");
}

static void all_dropped(uint64_t value)
{
	int ms;

	for (ms = 0; dropped() < value && ms < WAIT_MS; ms += 20)
		sleep_ms(20);
	SAME(dropped(), value);
}

/* in time, and no more than that */
static void becomes(const char *name, uint64_t value)
{
	int ms;

	for (ms = 0; counter(name) < value && ms < WAIT_MS; ms += 20)
		sleep_ms(20);
	SAME(counter(name), value);
}

/*
 * ---- On this host ----
 */

/* As the kernel makes it for a socket that is not connected: no identification, and DF. */
static void send_by_socket(int sock, uint16_t source, struct packet *packet, bool v6)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	uint8_t *ip = packet->data, *udp = ip + (v6 ? 40 : 20);
	int length = packet->length - (udp + 8 - ip);
	uint32_t crc;

	if (!v6) {
		put16(ip + 4, 0);
		put16(ip + 6, 0x4000);
	}
	put16(udp, source);
	crc = htole32(~icrc(ip, udp, ip + packet->length - 4));
	memcpy(ip + packet->length - 4, &crc, 4);
	to.sin_addr = to4;
	sin6.sin6_addr = to6;
	SAME(sendto(sock, udp + 8, length, 0, v6 ? (struct sockaddr *)&sin6 : (struct sockaddr *)&to,
		    v6 ? sizeof(sin6) : sizeof(to)), length);
}

static int open_socket(uint16_t *source, const struct way *way)
{
	int sock = socket(way->v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	int discover = IP_PMTUDISC_DO, small = SMALL_MTU;
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = from4 };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_addr = from6 };
	socklen_t length = way->v6 ? sizeof(sin6) : sizeof(from);
	void *address = way->v6 ? (void *)&sin6 : (void *)&from;

	CHECK(sock >= 0);
	if (!way->v6)
		SAME(setsockopt(sock, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)), 0);
	if (way->fragments)
		SAME(setsockopt(sock, IPPROTO_IPV6, IPV6_MTU, &small, sizeof(small)), 0);
	SAME(bind(sock, address, length), 0);
	SAME(getsockname(sock, address, &length), 0);
	*source = ntohs(way->v6 ? sin6.sin6_port : from.sin_port);
	return sock;
}

static void forge(const struct victim *victim, const struct way *way)
{
	struct packet packet;
	struct spec s;
	uint16_t source;
	int sock, op;

	CHECK(!setgid(65534) && !setuid(65534));
	from4 = to4;
	from6 = to6;
	if (way->other_network)
		from4.s_addr = htonl(INADDR_LOOPBACK);
	sock = open_socket(&source, way);
	for (op = 0; op < 32; op++) {
		s = request(op, victim);
		s.v6 = way->v6;
		s.syndrome = 0x61;	/* of an ACK: invalid request */
		if (way->fragments)
			s.payload = SMALL_MTU;
		build(&packet, &s);
		send_by_socket(sock, source, &packet, way->v6);
	}
	exit(0);
}

void forged_here(const struct victim *victim, const struct way *way)
{
	uint64_t before = dropped(), addresses = counter("rx_wrong_address");
	pid_t pid = fork();
	int status;

	note("service %#x, %s", victim->service, way->name);
	CHECK(pid >= 0);
	if (!pid)
		forge(victim, way);
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
	all_dropped(before + 32);
	CHECK(counter("rx_wrong_address") > addresses);
}

static struct victim victim_of(const struct end *e, uint8_t service)
{
	return (struct victim){ .service = service, .qpn = e->qp->qp_num, .psn = e->psn };
}

/* nothing has come of what was sent to either end, and both work */
static void check_untouched(void)
{
	expect_no_wc_now(a.rcq);
	expect_no_wc_now(b.rcq);
	expect_no_event();
	check_zero(b.buf, BUF);
	SAME(state_of(&a), IBV_QPS_RTS);
	SAME(state_of(&b), IBV_QPS_RTS);
}

static void local_connection(enum ibv_qp_type type, uint8_t service, int gid)
{
	struct victim victim;
	int i;

	make_pair(&a, &b, CONF(.type = type, .rnr_timer = 20, .gid = gid));
	post_recv(&a, 1, 0, LENGTH);
	post_recv(&b, 2, 0, LENGTH);
	for (i = 0; i < num_ways_here; i++) {
		victim = victim_of(&b, service);
		forged_here(&victim, &ways_here[i]);
		victim = victim_of(&a, service);
		forged_here(&victim, &ways_here[i]);
		check_untouched();
	}
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
	local_connection(IBV_QPT_RC, RC, gid4);
	local_connection(IBV_QPT_UC, UC, gid4);
	local_connection(IBV_QPT_RC, RC, gid6);
	local_connection(IBV_QPT_UC, UC, gid6);
}

/* Without the Q_Key there is no datagram. */
static void datagrams_of_this_host(void)
{
	struct victim victim;
	struct packet packet;
	struct spec s;
	uint16_t source;
	uint64_t before;
	int sock, i;

	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	victim = victim_of(&a, UD);
	from4 = to4;
	from6 = to6;
	for (i = 0; i < 2; i++) {
		note("%s", ways_here[i].name);
		post_recv(&a, 1, 0, 2000);
		sock = open_socket(&source, &ways_here[i]);
		before = counter("ud_dropped_qkey");
		s = request(SEND_ONLY, &victim);
		s.v6 = ways_here[i].v6;
		s.qkey ^= 1;
		build(&packet, &s);
		send_by_socket(sock, source, &packet, s.v6);
		becomes("ud_dropped_qkey", before + 1);
		expect_no_wc(a.rcq);
		/* who knows it is heard, as IBA has it; that the test can send is shown here */
		s.qkey ^= 1;
		build(&packet, &s);
		send_by_socket(sock, source, &packet, s.v6);
		expect_ok(a.rcq, 1);
		close(sock);
	}
}

/*
 * ---- At the other end of the cable ----
 */

static struct in_addr other4;
static int other_sock = -1;

/* $WEFT_OTHER: INTERFACE ADDRESS */
static void open_other(const char *netns)
{
	const char *other = getenv("WEFT_OTHER");
	char name[IFNAMSIZ + 1], address[64];
	int here;

	if (!other)
		return;
	SAME(sscanf(other, "%16s %63s", name, address), 2);
	CHECK(inet_pton(AF_INET, address, &other4) == 1);
	here = enter_netns(netns);
	other_sock = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	CHECK(other_sock >= 0);
	SAME(setsockopt(other_sock, SOL_SOCKET, SO_BINDTODEVICE, name, strlen(name)), 0);
	leave_netns(here);
}

/* whether there is such a way here */
static bool can_go(const struct way *way)
{
	return !way->other_network || other_sock >= 0;
}

/* @num packets like @s, by @way; @step is the difference of two PSNs */
static void send_many(struct spec s, const struct way *way, uint32_t step, int num)
{
	static struct packet packets[BATCH];
	struct in_addr from = from4;
	int i, done, sock = sock4;

	if (way->other_network) {
		from4 = other4;
		sock4 = other_sock;
	}
	s.v6 = way->v6;
	s.may_fragment = way->fragments;
	s.stranger &= !way->other_network;
	for (done = 0; done < num; done += i) {
		for (i = 0; i < BATCH && done + i < num; i++) {
			build(&packets[i], &s);
			if (way->fragments && packets[i].length > 60 + FRAGMENT)
				send_fragments(&packets[i], s.v6);
			s.psn += step;
		}
		if (!way->fragments || packets[0].length <= 60 + FRAGMENT)
			send_all(packets, i, s.v6);
	}
	from4 = from;
	sock4 = sock;
}

void forged_elsewhere(const struct victim *victim, const struct way *way)
{
	uint64_t before = dropped(), addresses = counter("rx_wrong_address");
	struct spec s;
	int op;

	if (!can_go(way))
		return;
	note("service %#x, %s", victim->service, way->name);
	for (op = 0; op < 32; op++) {
		s = request(op, victim);
		s.syndrome = 0x61;
		s.stranger = true;
		send_many(s, way, 0, 1);
	}
	all_dropped(before + 32);
	CHECK(counter("rx_wrong_address") > addresses);
}

void av_to_nobody(struct ibv_ah_attr *av, bool v6)
{
	int gid = v6 ? gid6 : gid4;

	av_to(av, gid, gid);
	if (v6)
		memcpy(av->grh.dgid.raw, &from6, 16);
	else
		memcpy(av->grh.dgid.raw + 12, &from4, 4);
}

/* @e's peer does not exist, and has the address of the packets that are not forged */
static void make_peerless(struct end *e, enum ibv_qp_type type, bool v6)
{
	struct ibv_qp_attr attr;

	make(e, CONF(.type = type, .timeout = 0, .gid = v6 ? gid6 : gid4));
	to_init(e);
	attr = step_attr(e, NULL, IBV_QPS_RTR);
	attr.dest_qp_num = PEER_QPN;
	attr.rq_psn = PEER_PSN;
	attr.path_mtu = IBV_MTU_1024;
	av_to_nobody(&attr.ah_attr, v6);
	SAME(ibv_modify_qp(e->qp, &attr, step_mask(e, IBV_QPS_RTR)), 0);
	to_rts(e);
}

static void connection_elsewhere(enum ibv_qp_type type, uint8_t service, bool v6)
{
	struct victim victim;
	struct spec s;
	int i;

	make_peerless(&a, type, v6);
	post_recv(&a, 1, 0, LENGTH);
	victim = victim_of(&a, service);
	victim.psn = PEER_PSN;
	for (i = 0; i < num_ways_elsewhere; i++) {
		forged_elsewhere(&victim, &ways_elsewhere[i]);
		expect_no_wc_now(a.rcq);
		check_zero(a.buf, BUF);
		SAME(state_of(&a), IBV_QPS_RTS);
	}
	expect_no_event();
	/* it is the peer's */
	s = request(SEND_ONLY, &victim);
	s.payload = LENGTH;
	send_many(s, &ways_elsewhere[v6], 1, 1);
	SAME(expect_ok(a.rcq, 1).byte_len, LENGTH);
	check_filled(a.buf, LENGTH, 9);
	unmake(&a);
}

static void connections_elsewhere(void)
{
	connection_elsewhere(IBV_QPT_RC, RC, false);
	connection_elsewhere(IBV_QPT_UC, UC, false);
	connection_elsewhere(IBV_QPT_RC, RC, true);
	connection_elsewhere(IBV_QPT_UC, UC, true);
}

static int held_fd;

void *held_memory(void)
{
	void *held = mmap(NULL, HELD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(held != MAP_FAILED);
	held_fd = uffd_hold(held, HELD);
	return held;
}

void queue_is_not_filled(const struct queue *queue, bool v6)
{
	const char *name = queue->victim.service == UD ? "ud_dropped_qkey" : "rx_wrong_address";
	struct spec good = request(queue->of_requester ? RESPONSE_ONLY : SEND_ONLY, &queue->victim);
	struct spec bad;
	uint32_t length = LENGTH + queue->grh;
	uint64_t before;
	int i, way;

	good.payload = LENGTH;
	good.syndrome = AETH_NO_LIMIT;
	bad = good;
	if (queue->victim.service == UD)
		bad.qkey ^= 1;
	else
		bad.stranger = true;
	for (i = 0; i < HELD_RECEIVES; i++)
		queue->post(i, i * length, length);
	send_many(good, &ways_elsewhere[v6], 1, 1);
	sleep_ms(100);
	expect_no_wc_now(queue->cq);
	bad.psn++;
	for (way = 0; way < num_ways_elsewhere; way++) {
		if (!can_go(&ways_elsewhere[way]))
			continue;
		note("service %#x, %s", queue->victim.service, ways_elsewhere[way].name);
		before = counter(name);
		send_many(bad, &ways_elsewhere[way], 0, FLOOD);
		becomes(name, before + FLOOD);
	}
	good.psn++;
	send_many(good, &ways_elsewhere[v6], 1, HELD_RECEIVES - 1);
	sleep_ms(100);
	uffd_answer(held_fd, queue->held, HELD);
	for (i = 0; i < HELD_RECEIVES; i++)
		SAME(expect_ok(queue->cq, i).byte_len, length);
	close(held_fd);
}

static void post_held(int i, size_t off, uint32_t length)
{
	post_recv(&a, i, off, length);
}

/* @a's buffer is held, until it is answered */
static void hold_buffer(void)
{
	SAME(ibv_dereg_mr(a.mr), 0);
	munmap(a.buf, BUF);
	a.buf = held_memory();
	a.mr = ibv_reg_mr(pd, a.buf, HELD, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(a.mr);
}

static void flood(uint8_t service, bool v6)
{
	struct queue queue = { .post = post_held, .cq = a.rcq, .grh = service == UD ? 40 : 0 };

	hold_buffer();
	queue.held = a.buf;
	queue.victim = victim_of(&a, service);
	queue.victim.psn = PEER_PSN;
	queue_is_not_filled(&queue, v6);
	SAME(state_of(&a), IBV_QPS_RTS);
}

/* The queue of a connected QP is its peer's. */
static void queue_is_the_peers(void)
{
	make_peerless(&a, IBV_QPT_RC, false);
	flood(RC, false);
}

static void queue_is_the_peers_v6(void)
{
	make_peerless(&a, IBV_QPT_UC, true);
	flood(UC, true);
}

static void post_read(int i, size_t off, uint32_t length)
{
	post(&a, at(swr(&a, i, IBV_WR_RDMA_READ, off, length), &a, 0));
}

/* So is that of its requester. */
static void responses_are_the_peers(void)
{
	struct queue queue = { .post = post_read, .of_requester = true };

	make_peerless(&a, IBV_QPT_RC, false);
	hold_buffer();
	queue.held = a.buf;
	queue.cq = a.scq;
	queue.victim = victim_of(&a, RC);
	queue.victim.psn = a.psn;
	queue_is_not_filled(&queue, false);
	SAME(state_of(&a), IBV_QPS_RTS);
}

/* That of a UD QP is for those who have the Q_Key. */
static void queue_wants_the_qkey(void)
{
	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	flood(UD, false);
}

/* A stranger who has the Q_Key fills the queue, and no more than that. */
static void queue_is_bounded(void)
{
	uint64_t before = counter("rx_queue_full"), kept;
	struct victim victim;
	struct spec s;
	int i;

	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	hold_buffer();
	post_held(0, 0, LENGTH + 40);
	victim = victim_of(&a, UD);
	s = request(SEND_ONLY, &victim);
	s.payload = LENGTH;
	send_many(s, &ways_elsewhere[0], 0, FLOOD);
	for (i = 0; i < WAIT_MS && counter("rx_queue_full") + QUEUE < before + FLOOD - 2; i += 20)
		sleep_ms(20);
	sleep_ms(100);
	kept = FLOOD - (counter("rx_queue_full") - before);
	CHECK(kept && kept <= QUEUE + 2);
	uffd_answer(held_fd, a.buf, HELD);
	expect_ok(a.rcq, 0);
	SAME(state_of(&a), IBV_QPS_RTS);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(connections_of_this_host), TEST(datagrams_of_this_host),
		TEST(xrc_of_this_host), TEST(connections_elsewhere), TEST(xrc_elsewhere),
		TEST(queue_is_the_peers), TEST(queue_is_the_peers_v6), TEST(responses_are_the_peers),
		TEST(xrc_queue),
		TEST(queue_wants_the_qkey), TEST(queue_is_bounded),
	};

	if (argc < 4)
		FAIL("usage: strangers NAMESPACE PEER4 PEER6 [CASE]...");
	make_crc_table();
	open_device();
	find_addresses(argv[2], argv[3]);
	open_sockets(argv[1]);
	open_other(argv[1]);
	argv[3] = argv[0];
	return run_tests(tests, ARRAY_SIZE(tests), argc - 3, argv + 3);
}
