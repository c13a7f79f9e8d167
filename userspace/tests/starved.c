// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging when there is no memory: the kernel's fault injection lets no page be
 * allocated by who pins for us. It has been told whom that is (verbs/542-own-starved).
 * And what has to succeed without memory, now or later, or to fail as a whole: the script says
 * which function gets none.
 */
#include "lib.h"

#include <arpa/inet.h>

#define INJECTION	"/sys/kernel/debug/fail_page_alloc/"
#define SLAB		"/sys/kernel/debug/failslab/"
#define PAGED		(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)
#define PATIENT		CONF(.timeout = 18)
#define PAGE		4096
#define VLAN		"starved5"
/* vendor_err */
#define NO_MEMORY	29

static struct end a, b;

/*
 * ---- Fault injection ----
 */

static void set(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), INJECTION "%s", name);
	write_text(path, value);
}

/* from now on: so many times, -1: until feed() */
static void starve(int times)
{
	char value[16];

	snprintf(value, sizeof(value), "%d", times);
	set("times", value);
	set("probability", "100");
}

static void feed(void)
{
	set("probability", "0");
}

/*
 * ---- Ends ----
 */

/*
 * Memory without pages, in a paged region, takes the place of the end's. Shared memory,
 * as it has pages of its own when it is read, too.
 */
static void make_paged(struct end *e)
{
	SAME(ibv_dereg_mr(e->mr), 0);
	munmap(e->buf, BUF);
	e->buf = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(e->buf != MAP_FAILED);
	e->mr = ibv_reg_mr(pd, e->buf, BUF, PAGED);
	CHECK(e->mr);
}

/* as an error has left them */
static void again(void)
{
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
}

/*
 * ---- The requester's memory ----
 */

/* @wr cannot be executed, and can when there is memory again */
static void fails_here(struct ibv_send_wr *wr)
{
	note("opcode %d", wr->opcode);
	starve(-1);
	post(&a, wr);
	SAME(expect_wc(a.scq, wr->wr_id, IBV_WC_GENERAL_ERR).vendor_err, NO_MEMORY);
	feed();
	expect_state(&a, IBV_QPS_ERR);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_wc_now(b.rcq);
	expect_no_event();
	again();
	if (wr->opcode == IBV_WR_SEND)
		post_recv(&b, 9, 0, 100);
	post(&a, wr);
	expect_ok(a.scq, wr->wr_id);
	if (wr->opcode == IBV_WR_SEND)
		expect_ok(b.rcq, 9);
}

/* each has a page of its own */
static void requester(void)
{
	make_pair(&a, &b, PATIENT);
	make_paged(&a);
	post_recv(&b, 8, 0, 100);
	fails_here(swr(&a, 1, IBV_WR_SEND, 0, 100));
	fails_here(at(swr(&a, 2, IBV_WR_RDMA_WRITE, PAGE, 100), &b, 0));
	fails_here(at(swr(&a, 3, IBV_WR_RDMA_READ, 2 * PAGE, 100), &b, 0));
	fails_here(at(swr(&a, 4, IBV_WR_ATOMIC_FETCH_AND_ADD, 3 * PAGE, 8), &b, 0));
	check_works(&a, &b);
}

/* those that nobody answers; receives go on */
static void unreliable_requester(void)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UC));
	make_paged(&a);
	starve(-1);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	SAME(expect_wc(a.scq, 1, IBV_WC_GENERAL_ERR).vendor_err, NO_MEMORY);
	feed();
	expect_state(&a, IBV_QPS_SQE);
	expect_no_event();
	to_state(&a, IBV_QPS_RTS);
	check_works(&a, &b);
}

/*
 * ---- The responder's memory ----
 */

/* @b cannot execute @wr, which would have been good for both */
static void fails_there(struct ibv_send_wr *wr)
{
	note("opcode %d", wr->opcode);
	starve(-1);
	post(&a, wr);
	SAME(expect_wc(a.scq, wr->wr_id, IBV_WC_REM_OP_ERR).vendor_err, NO_MEMORY);
	feed();
	if (wr->opcode != IBV_WR_SEND)
		expect_event(IBV_EVENT_QP_FATAL, b.qp);
	expect_state(&a, IBV_QPS_ERR);
	expect_state(&b, IBV_QPS_ERR);
}

static void responder(void)
{
	make_pair(&a, &b, PATIENT);
	make_paged(&b);
	post_recv(&b, 8, 0, 100);
	post_recv(&b, 9, PAGE, 100);
	fails_there(swr(&a, 1, IBV_WR_SEND, 0, 100));
	SAME(expect_wc(b.rcq, 8, IBV_WC_LOC_QP_OP_ERR).vendor_err, NO_MEMORY);
	expect_wc(b.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	expect_no_event();
	again();
	fails_there(at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 2 * PAGE));
	again();
	fails_there(at(swr(&a, 3, IBV_WR_RDMA_READ, 0, 100), &b, 3 * PAGE));
	again();
	fails_there(at(swr(&a, 4, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8), &b, 4 * PAGE));
	expect_no_event();
	expect_no_wc_now(b.rcq);
	again();
	check_works(&a, &b);
}

/* the sender does not know */
static void unreliable_responder(void)
{
	struct ibv_ah *ah = ah_to(gid4, gid4);
	uint64_t dropped = counter("rx_no_memory");
	int i;

	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	make_paged(&b);
	post_recv(&b, 1, 0, 200);
	starve(-1);
	post(&a, to_ah(swr(&a, 2, IBV_WR_SEND, 0, 100), ah, &b));
	expect_ok(a.scq, 2);
	for (i = 0; i < 500 && counter("rx_no_memory") == dropped; i++)
		sleep_ms(20);
	SAME(counter("rx_no_memory"), dropped + 1);
	feed();
	expect_no_event();
	expect_state(&b, IBV_QPS_RTS);
	/* the receive stays */
	post(&a, to_ah(swr(&a, 3, IBV_WR_SEND, 0, 100), ah, &b));
	expect_ok(a.scq, 3);
	expect_ok(b.rcq, 1);
}

/*
 * ---- Not for ever ----
 */

/* it is tried more than once */
static void for_a_moment(void)
{
	make_pair(&a, &b, PATIENT);
	make_paged(&b);
	fill(a.buf, 100, 1);
	starve(1);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 1);
	SAME(read_number(INJECTION "times"), 0);
	feed();
	check_filled(b.buf, 100, 1);
	expect_no_event();
}

/*
 * ---- Multicast groups ----
 */

#define GROUP		"239.0.0.77"
static union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 77 } };

static void send_to_group(struct ibv_ah *to, uint64_t id)
{
	struct ibv_send_wr *wr = to_ah(swr(&a, id, IBV_WR_SEND, 0, 100), to, &a);

	wr->wr.ud.remote_qpn = 0xffffff;
	post(&a, wr);
	expect_ok(a.scq, id);
}

/* weft_detach_mcast() gets no memory, and succeeds */
static void leaves_group(void)
{
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1, .grh.sgid_index = gid4,
				  .grh.hop_limit = 1, .grh.dgid = group };
	struct ibv_ah *to = ibv_create_ah(pd, &av);
	struct end c;
	int i, left = 100;

	CHECK(to);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	make(&c, CONF(.type = IBV_QPT_UD));
	to_ready(&c);
	SAME(ibv_attach_mcast(c.qp, &group, 0), 0);
	for (i = 0; i < 4; i++) {
		SAME(ibv_attach_mcast(b.qp, &group, 0), 0);
		write_text(SLAB "probability", "100");
		SAME(ibv_detach_mcast(b.qp, &group, 0), 0);
		write_text(SLAB "probability", "0");
		/* what the network stack asks for may be more than once */
		CHECK(read_number(SLAB "times") < left);
		left = read_number(SLAB "times");
		post_recv(&c, i, 0, 200);
		post_recv(&b, i, 0, 200);
		send_to_group(to, i);
		expect_ok(c.rcq, i);
		expect_no_wc_now(b.rcq);
	}
	SAME(ibv_destroy_qp(b.qp), 0);
}

/* so that the net device is in it, and asks for nothing when it joins */
static void join_by_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ip_mreq join = { .imr_multiaddr.s_addr = inet_addr(GROUP) };
	union ibv_gid own;

	SAME(ibv_query_gid(ctx, 1, gid4, &own), 0);
	memcpy(&join.imr_interface, own.raw + 12, 4);
	SAME(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join)), 0);
}

static bool vlan_is_member(void)
{
	return !system("ip maddr show dev " VLAN " | grep -q 'inet *" GROUP "'");
}

/* a group is joined with all VLANs, or not at all (weft_reach_join() gets no memory) */
static void joins_vlan_or_fails(void)
{
	SAME(system("ip link add link eth0 name " VLAN " type vlan id 5"), 0);
	join_by_socket();
	make(&a, CONF(.type = IBV_QPT_UD));
	write_text(SLAB "probability", "100");
	REFUSED(ibv_attach_mcast(a.qp, &group, 0), ENOMEM);
	write_text(SLAB "probability", "0");
	REFUSED(ibv_detach_mcast(a.qp, &group, 0), EINVAL);
	CHECK(!vlan_is_member());
	SAME(ibv_attach_mcast(a.qp, &group, 0), 0);
	CHECK(vlan_is_member());
	SAME(ibv_detach_mcast(a.qp, &group, 0), 0);
	CHECK(!vlan_is_member());
	SAME(system("ip link del " VLAN), 0);
}

/* a VLAN that comes joins later (reach_worker() gets no memory) */
static void vlan_joins_later(void)
{
	long left = read_number(SLAB "times");
	int i;

	make(&a, CONF(.type = IBV_QPT_UD));
	SAME(ibv_attach_mcast(a.qp, &group, 0), 0);
	write_text(SLAB "probability", "100");
	SAME(system("ip link add link eth0 name " VLAN " type vlan id 5"), 0);
	for (i = 0; i < WAIT_MS && read_number(SLAB "times") == left; i += 10)
		sleep_ms(10);
	write_text(SLAB "probability", "0");
	CHECK(read_number(SLAB "times") < left);
	for (i = 0; i < WAIT_MS && !vlan_is_member(); i += 100)
		sleep_ms(100);
	CHECK(vlan_is_member());
	SAME(system("ip link del " VLAN), 0);
}

/*
 * ---- All or nothing ----
 */

static struct ibv_qp_attr all_of(const struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};

	SAME(ibv_query_qp(e->qp, &attr, step_mask(e, IBV_QPS_RTR), &init), 0);
	return attr;
}

/*
 * a path of packets wants memory (weft_inflight_prepare()): without it nothing has changed, and
 * it can be tried again
 */
static void connects_later(void)
{
	struct ibv_qp_attr before, after, attr;

	force_packets(true);
	make(&a, CONF());
	make(&b, CONF());
	to_init(&a);
	to_init(&b);
	before = all_of(&a);
	attr = step_attr(&a, &b, IBV_QPS_RTR);
	write_text(SLAB "probability", "100");
	REFUSED(ibv_modify_qp(a.qp, &attr, step_mask(&a, IBV_QPS_RTR)), ENOMEM);
	write_text(SLAB "probability", "0");
	after = all_of(&a);
	SAME(memcmp(&before, &after, sizeof(after)), 0);
	SAME(after.qp_state, IBV_QPS_INIT);
	SAME(after.dest_qp_num, 0);
	to_rtr(&a, &b);
	to_rtr(&b, &a);
	to_rts(&a);
	to_rts(&b);
	check_works(&a, &b);
	force_packets(false);
}

TESTS(
	TEST(requester), TEST(unreliable_requester), TEST(responder),
	TEST(unreliable_responder), TEST(for_a_moment), TEST(leaves_group),
	TEST(joins_vlan_or_fails), TEST(vlan_joins_later), TEST(connects_later)
)
