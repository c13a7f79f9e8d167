// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters of rules.
 */
#include "frames.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static struct side a, b;

static void open_sides(void)
{
	side_open(&a);
	side_open(&b);
}

static struct ibv_counters *make_counters(struct side *s)
{
	struct ibv_counters_init_attr attr = {};
	struct ibv_counters *counters = ibv_create_counters(s->ctx, &attr);

	CHECK(counters);
	return counters;
}

static int attach(struct ibv_counters *counters, int what, uint32_t index)
{
	struct ibv_counter_attach_attr attr = { .counter_desc = what, .index = index };

	return ibv_attach_counters_point_flow(counters, &attr, NULL);
}

struct ibv_counters *usual_counters(struct side *s)
{
	struct ibv_counters *counters = make_counters(s);

	SAME(attach(counters, IBV_COUNTER_PACKETS, 0), 0);
	SAME(attach(counters, IBV_COUNTER_BYTES, 1), 0);
	SAME(attach(counters, IBV_COUNTER_BYTES, 3), 0);
	SAME(attach(counters, IBV_COUNTER_PACKETS, 3), 0);
	return counters;
}

void have_counted(struct ibv_counters *counters, uint64_t packets, uint64_t bytes)
{
	uint64_t value[5] = { 9, 9, 9, 9, 9 };
	int flags;

	for (flags = 0; flags < 2; flags++) {
		SAME(ibv_read_counters(counters, value, 4, flags), 0);
		SAME(value[0], packets);
		SAME(value[1], bytes);
		SAME(value[2], 0);
		SAME(value[3], packets + bytes);
		SAME(value[4], 9);
	}
}

/* a rule for UDP to @port that counts */
static struct ibv_flow *count_port(struct side *s, uint16_t port, struct ibv_counters *counters,
				   bool drop, int flags)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	rule_mac(&rule, mac_unicast);
	rule_udp(&rule, port);
	rule_count(&rule, counters);
	if (drop)
		rule_drop(&rule);
	rule.attr.flags = flags;
	return ibv_create_flow(s->qp, &rule.attr);
}

static void send_to(uint16_t port, uint32_t payload)
{
	side_send(&a, 0, frame_udp(a.buf, mac_unicast, port, payload), 0);
}

void counts_frames(void)
{
	struct ibv_flow *flow, *other, *dropping;
	struct ibv_counters *counters, *drops;

	open_sides();
	counters = usual_counters(&b);
	drops = usual_counters(&b);
	flow = count_port(&b, 1, counters, false, 0);
	CHECK(flow);
	dropping = count_port(&b, 3, drops, true, 0);
	CHECK(dropping);
	have_counted(counters, 0, 0);
	side_recv(&b, 1, SLOT);
	send_to(1, 100);
	side_got(&b, 1, 142);
	have_counted(counters, 1, 142);
	/* nothing else counts; what matches counts without a receive, too */
	send_to(2, 100);
	send_to(1, 10);
	have_counted(counters, 2, 142 + 52);
	have_counted(drops, 0, 0);
	send_to(3, 1000);
	have_counted(drops, 1, 1042);
	/* two rules of one object */
	other = count_port(&b, 2, counters, false, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	CHECK(other);
	send_to(2, 200);
	have_counted(counters, 3, 142 + 52 + 242);
	/* the object stays as long as it has a rule, and counts */
	REFUSED(ibv_destroy_counters(counters), EBUSY);
	SAME(ibv_destroy_flow(flow), 0);
	have_counted(counters, 3, 142 + 52 + 242);
	SAME(ibv_destroy_flow(other), 0);
	/* and begins again with its next first rule */
	flow = count_port(&b, 1, counters, false, 0);
	CHECK(flow);
	have_counted(counters, 0, 0);
	send_to(1, 0);
	have_counted(counters, 1, 42);
	SAME(ibv_destroy_flow(flow), 0);
	SAME(ibv_destroy_counters(counters), 0);
	SAME(ibv_destroy_flow(dropping), 0);
	SAME(ibv_destroy_counters(drops), 0);
}

void counters_refused(void)
{
	struct ibv_counters_init_attr bad_init = { .comp_mask = 1 };
	struct ibv_counter_attach_attr bad = { .comp_mask = 1 };
	struct ibv_counters *counters, *empty;
	struct ibv_flow *flow;
	struct rule rule;
	uint64_t value[4];

	open_sides();
	REFUSED(ibv_create_counters(b.ctx, &bad_init), EOPNOTSUPP);
	counters = usual_counters(&b);
	empty = make_counters(&b);
	REFUSED(ibv_attach_counters_point_flow(counters, &bad, NULL), EOPNOTSUPP);
	REFUSED(attach(counters, 2, 0), EINVAL);
	REFUSED(attach(counters, IBV_COUNTER_BYTES, 1024), EINVAL);
	/* no rule has it, or it counts nothing */
	REFUSED(ibv_read_counters(counters, value, 4, 0), EINVAL);
	REFUSED(count_port(&b, 1, empty, false, 0), EINVAL);
	flow = count_port(&b, 1, counters, false, 0);
	CHECK(flow);
	bad.comp_mask = 0;
	REFUSED(ibv_attach_counters_point_flow(counters, &bad, flow), ENOTSUP);
	REFUSED(attach(counters, IBV_COUNTER_BYTES, 2), EBUSY);
	REFUSED(ibv_read_counters(counters, value, 3, 0), EINVAL);
	REFUSED(ibv_read_counters(counters, value, 4, 2), EINVAL);
	/* a rule that fails does not count */
	REFUSED(count_port(&b, 1, counters, true, 0), EEXIST);
	/* two of them */
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_udp(&rule, 5);
	rule_count(&rule, counters);
	rule_count(&rule, counters);
	REFUSED(ibv_create_flow(b.qp, &rule.attr), EINVAL);
	SAME(ibv_destroy_flow(flow), 0);
	SAME(attach(counters, IBV_COUNTER_BYTES, 2), 0);
	SAME(ibv_destroy_counters(counters), 0);
	SAME(ibv_destroy_counters(empty), 0);
}

/* A rule that drops ends the way of a frame, also if it would let others go on (DONT_TRAP). */
void drops_and_ends(void)
{
	struct ibv_counters *drops, *passes;
	struct ibv_flow *drop, *behind;
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	open_sides();
	drops = usual_counters(&b);
	passes = usual_counters(&b);
	rule.attr.priority = 1;
	rule_udp(&rule, 1);
	rule_count(&rule, passes);
	behind = rule_make(&b, &rule);
	side_recv(&b, 1, SLOT);
	drop = count_port(&b, 1, drops, true, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	CHECK(drop);
	send_to(1, 100);
	expect_no_wc(b.cq);
	have_counted(drops, 1, 142);
	have_counted(passes, 0, 0);
	SAME(ibv_destroy_flow(drop), 0);
	send_to(1, 100);
	side_got(&b, 1, 142);
	have_counted(passes, 1, 142);
	SAME(ibv_destroy_flow(behind), 0);
	SAME(ibv_destroy_counters(passes), 0);
	SAME(ibv_destroy_counters(drops), 0);
}

/* 256 shapes of rules, each another mask, and no more. A rule of a shape that exists is welcome. */
void many_shapes(void)
{
	enum { SHAPES = 256 };
	struct ibv_flow_spec_ipv4 spec = {
		.type = IBV_FLOW_SPEC_IPV4, .size = sizeof(spec), .val.src_ip = htonl(0x0a000000),
	};
	struct ibv_flow *flows[SHAPES + 1];
	struct rule rule;
	int i;

	side_open(&b);
	for (i = 0; i <= SHAPES; i++) {
		note("shape %d", i);
		spec.mask.src_ip = htonl(0xff000000 + i);
		rule = rule_new(IBV_FLOW_ATTR_NORMAL);
		rule_add(&rule, &spec, sizeof(spec));
		flows[i] = ibv_create_flow(b.qp, &rule.attr);
		if (i == SHAPES)
			CHECK(!flows[i] && errno == ENOMEM);
		else
			CHECK(flows[i]);
	}
	note(NULL);
	spec.mask.src_ip = htonl(0xff000000);
	spec.val.src_ip = htonl(0x0b000000);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_add(&rule, &spec, sizeof(spec));
	flows[SHAPES] = rule_make(&b, &rule);
	for (i = 0; i <= SHAPES; i++)
		SAME(ibv_destroy_flow(flows[i]), 0);
	flows[0] = rule_make(&b, &rule);
	SAME(ibv_destroy_flow(flows[0]), 0);
}

static atomic_bool churned;

static void *sends(void *arg)
{
	uint32_t payload = 0;

	while (!churned)
		send_to(PORT_A, payload++ % 500);
	return NULL;
}

/* While a sends, rules with counters come and go: of frames that arrive, of frames that leave. */
void churns_rules(void)
{
	int num = repeat(30, 200), i;
	uint64_t first[4], second[4];
	struct ibv_counters *counters;
	struct ibv_flow *flow;
	uint64_t all = 0;
	pthread_t thread;

	open_sides();
	SAME(pthread_create(&thread, NULL, sends, NULL), 0);
	for (i = 0; i < num; i++) {
		note("rule %d", i);
		counters = usual_counters(&b);
		flow = count_port(&b, PORT_A, counters, i & 1, i & 2 ? i & 4 ?
				  IBV_FLOW_ATTR_FLAGS_DONT_TRAP : IBV_FLOW_ATTR_FLAGS_EGRESS : 0);
		CHECK(flow);
		if (!(i % 5))
			sleep_ms(20);
		SAME(ibv_read_counters(counters, first, 4, 0), 0);
		SAME(ibv_read_counters(counters, second, 4, 0), 0);
		CHECK(second[0] >= first[0] && second[1] >= first[1]);
		all += second[0];
		SAME(ibv_destroy_flow(flow), 0);
		SAME(ibv_destroy_counters(counters), 0);
	}
	churned = true;
	SAME(pthread_join(thread, NULL), 0);
	CHECK(all);
	note(NULL);
}

/*
 * Frames wait for the page of a receive, as many as there is room for; and then for the work item,
 * in order.
 */
void frames_wait(void)
{
	const int most = 1024, more = 76;
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_sge sge = { .length = SLOT };
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;
	uint64_t full = counter("rx_queue_full");
	size_t page = sysconf(_SC_PAGESIZE);
	void *held = memory(page);
	pthread_t thread;
	struct ibv_mr *mr;
	int fd, i;

	open_sides();
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);
	mr = ibv_reg_mr(b.pd, held, page, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	CHECK(mr);
	fd = uffd_hold(held, page);
	sge.addr = (uintptr_t)held;
	sge.lkey = mr->lkey;
	SAME(ibv_post_recv(b.qp, &wr, &bad), 0);
	for (i = 0; i < most + more; i++)
		send_to(PORT_A, 20);
	sleep_ms(QUIET_MS);
	SAME(counter("rx_queue_full"), full + more);
	SAME(pthread_create(&thread, NULL, sends, NULL), 0);
	sleep_ms(QUIET_MS);
	uffd_answer(fd, held, page);
	side_got(&b, 5, 62);
	sleep_ms(QUIET_MS);
	churned = true;
	SAME(pthread_join(thread, NULL), 0);
	/* nothing waits any more */
	sleep_ms(QUIET_MS);
	side_recv(&b, 6, SLOT);
	send_to(PORT_A, 30);
	side_got(&b, 6, 72);
	close(fd);
}

#define STARVE	"/sys/kernel/debug/fail_page_alloc/"

/*
 * A frame whose on-demand receive gets no memory is dropped and counted; the QP and the receive
 * stay. $WEFT_STARVE: the fault injection knows whom to give none.
 */
void frame_without_memory(void)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	uint64_t dropped = counter("rx_no_memory");
	struct ibv_recv_wr wr = { .wr_id = 5, .num_sge = 1 }, *bad;
	struct ibv_sge sge = { .length = SLOT };
	struct ibv_mr *mr;
	void *paged;
	int i;

	if (!getenv("WEFT_STARVE"))
		return;
	open_sides();
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);
	paged = mmap(NULL, SLOT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(paged != MAP_FAILED);
	mr = ibv_reg_mr(b.pd, paged, SLOT, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	CHECK(mr);
	sge.addr = (uintptr_t)paged;
	sge.lkey = mr->lkey;
	wr.sg_list = &sge;
	SAME(ibv_post_recv(b.qp, &wr, &bad), 0);
	write_text(STARVE "times", "-1");
	write_text(STARVE "probability", "100");
	send_to(1, 100);
	for (i = 0; i < 500 && counter("rx_no_memory") == dropped; i++)
		sleep_ms(20);
	write_text(STARVE "probability", "0");
	SAME(counter("rx_no_memory"), dropped + 1);
	expect_no_event();
	expect_no_wc(b.cq);
	send_to(2, 100);
	side_got(&b, 5, 142);
	SAME(memcmp(paged, a.buf, 142), 0);
}
