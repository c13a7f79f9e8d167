// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters, by ioctl(), because libibverbs has them from rdma-core 65 on only: which
 * completions they count, of which QPs, and what is refused.
 */
#include "lib.h"

#include <sys/ioctl.h>

#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/weft-abi.h>

/* of kernel headers that are newer than those here may be */
enum {
	OBJECT_DEVICE = 0, OBJECT_QP = 4, OBJECT_COMP_CNTR = 19,
	DEVICE_QUERY_COMP_CNTR_CAPS = 8,
	QP_ATTACH_COMP_CNTR = 2,
	COMP_CNTR_CREATE = 0, COMP_CNTR_DESTROY, COMP_CNTR_MODIFY, COMP_CNTR_READ,
	TYPE = 0x1000,			/* attribute of weft's: WRS, BYTES */
	COMPLETED = 0, FAILED,
	SET = 0, INC,
	SEND = 1, RECV = 2, READ = 4, REMOTE_READ = 8, WRITE = 16, REMOTE_WRITE = 32,
	WRS = 0, BYTES,
};

struct attr {
	uint16_t id, len;
	uint64_t data;
};

#define IN(_id, _value)		{ .id = (_id), .len = sizeof(_value), .data = (_value) }
#define HANDLE(_id, _handle)	{ .id = (_id), .data = (_handle) }
#define OUT(_id, _to)		{ .id = (_id), .len = sizeof(*(_to)), .data = (uintptr_t)(_to) }

static struct {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[4];
} command;

/* Return: 0 or errno; the attributes stay in @command. */
static int call_attrs(int object, int method, const struct attr *attrs, int num)
{
	int i;

	memset(&command, 0, sizeof(command));
	command.hdr = (struct ib_uverbs_ioctl_hdr){
		.length = sizeof(command.hdr) + num * sizeof(command.attrs[0]),
		.object_id = object, .method_id = method, .num_attrs = num,
		.driver_id = RDMA_DRIVER_WEFT,
	};
	for (i = 0; i < num; i++)
		command.attrs[i] = (struct ib_uverbs_attr){
			.attr_id = attrs[i].id, .len = attrs[i].len, .data = attrs[i].data,
			.flags = UVERBS_ATTR_F_MANDATORY,
		};
	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &command) ? errno : 0;
}

#define CALL(_object, _method, ...)						\
	({ const struct attr attrs_[] = { __VA_ARGS__ };			\
	   call_attrs(_object, _method, attrs_, ARRAY_SIZE(attrs_)); })

static uint32_t counter_new(uint32_t type)
{
	SAME(CALL(OBJECT_COMP_CNTR, COMP_CNTR_CREATE, HANDLE(0, 0), IN(TYPE, type)), 0);
	return command.attrs[0].data;
}

static int counter_destroy(uint32_t handle)
{
	return CALL(OBJECT_COMP_CNTR, COMP_CNTR_DESTROY, HANDLE(0, handle));
}

static int counter_change(uint32_t handle, int entry, int op, uint64_t value)
{
	return CALL(OBJECT_COMP_CNTR, COMP_CNTR_MODIFY, HANDLE(0, handle),
		    IN(1, (uint64_t)entry), IN(2, (uint64_t)op), IN(3, value));
}

static uint64_t counter_read(uint32_t handle, int entry)
{
	uint64_t value = -1;

	SAME(CALL(OBJECT_COMP_CNTR, COMP_CNTR_READ, HANDLE(0, handle),
		  IN(1, (uint64_t)entry), OUT(2, &value)), 0);
	return value;
}

static int attach(struct end *e, uint32_t handle, uint32_t ops)
{
	return CALL(OBJECT_QP, QP_ATTACH_COMP_CNTR, HANDLE(0, e->qp->handle), HANDLE(1, handle),
		    IN(2, ops));
}

static void expect(uint32_t handle, uint64_t good, uint64_t bad)
{
	SAME(counter_read(handle, COMPLETED), good);
	SAME(counter_read(handle, FAILED), bad);
}

static void says_what_it_can(void)
{
	uint32_t max = 0, ops = 0;
	uint64_t value = 0;

	SAME(CALL(OBJECT_DEVICE, DEVICE_QUERY_COMP_CNTR_CAPS, OUT(0, &max), OUT(1, &value),
		  OUT(2, &ops)), 0);
	SAME(max, 1 << 18);
	SAME(value, -1ULL);
	SAME(ops, 63);
}

static void set_and_read(void)
{
	uint32_t cntr = counter_new(WRS);

	expect(cntr, 0, 0);
	SAME(counter_change(cntr, COMPLETED, SET, 40), 0);
	SAME(counter_change(cntr, COMPLETED, INC, 2), 0);
	SAME(counter_change(cntr, FAILED, INC, 7), 0);
	expect(cntr, 42, 7);
	SAME(counter_change(cntr, FAILED, SET, -1ULL), 0);
	SAME(counter_change(cntr, FAILED, INC, 2), 0);
	expect(cntr, 42, 1);
	REFUSED(counter_change(cntr, 2, SET, 0), EINVAL);
	REFUSED(counter_change(cntr, COMPLETED, 2, 0), EINVAL);
	SAME(counter_destroy(cntr), 0);
	REFUSED(counter_destroy(cntr), ENOENT);
}

/* each operation by a counter of its own, in work requests and in bytes */
static void counts(void)
{
	static const uint32_t of_a[] = { SEND, READ, WRITE }, of_b[] = { RECV, REMOTE_READ, REMOTE_WRITE };
	uint32_t local[3], remote[3], bytes[2], i;
	struct end a, b, c, d;

	make(&a, CONF());
	make(&b, CONF());
	make(&c, CONF());
	make(&d, CONF());
	for (i = 0; i < 3; i++) {
		local[i] = counter_new(WRS);
		remote[i] = counter_new(WRS);
		SAME(attach(&a, local[i], of_a[i]), 0);
		SAME(attach(&b, remote[i], of_b[i]), 0);
	}
	for (i = 0; i < 2; i++)
		bytes[i] = counter_new(BYTES);
	SAME(attach(&c, bytes[0], SEND | READ | WRITE), 0);
	SAME(attach(&d, bytes[1], RECV | REMOTE_READ | REMOTE_WRITE), 0);
	connect_ends(&a, &b);
	connect_ends(&c, &d);
	for (i = 0; i < 2; i++) {
		struct end *from = i ? &c : &a, *to = i ? &d : &b;
		struct ibv_send_wr *wr;

		post_recv(to, 1, 0, 1000);
		post_recv(to, 2, 0, 1000);
		/* the first of them has no completion in a CQ */
		wr = swr(from, 3, IBV_WR_SEND, 0, 100);
		wr->send_flags = 0;
		post(from, wr);
		post(from, at(swr(from, 4, IBV_WR_RDMA_WRITE, 0, 200), to, 0));
		expect_ok(from->scq, 4);
		post(from, at(swr(from, 5, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 30000), to, 0));
		expect_ok(from->scq, 5);
		post(from, at(swr(from, 6, IBV_WR_RDMA_READ, 0, 4), to, 0));
		expect_ok(from->scq, 6);
		/* of no kind that a counter counts */
		post(from, at(swr(from, 7, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8), to, 0));
		expect_ok(from->scq, 7);
		expect_ok(to->rcq, 1);
		expect_ok(to->rcq, 2);
	}
	expect(local[0], 1, 0);
	expect(local[1], 1, 0);
	expect(local[2], 2, 0);
	expect(remote[0], 2, 0);
	expect(remote[1], 1, 0);
	expect(remote[2], 2, 0);
	expect(bytes[0], 100 + 200 + 30000 + 4, 0);
	/* what arrives with immediate data counts as a receive and as a WRITE */
	expect(bytes[1], 100 + 200 + 30000 + 30000 + 4, 0);
	unmake(&a);
	unmake(&b);
	for (i = 0; i < 3; i++) {
		SAME(counter_destroy(local[i]), 0);
		SAME(counter_destroy(remote[i]), 0);
	}
}

/* datagrams, whose bytes begin with the GRH; one counter of two QPs */
static void counts_datagrams(void)
{
	struct end a = {}, b = {};
	uint32_t wrs = counter_new(WRS), bytes = counter_new(BYTES);
	struct ibv_ah *ah;

	make(&a, CONF(.type = IBV_QPT_UD));
	make(&b, CONF(.type = IBV_QPT_UD));
	SAME(attach(&a, wrs, SEND), 0);
	SAME(attach(&b, wrs, SEND), 0);
	SAME(attach(&b, bytes, RECV), 0);
	to_ready(&a);
	to_ready(&b);
	ah = ah_to(gid4, gid4);
	post_recv(&b, 1, 0, 1000);
	post_recv(&a, 2, 0, 1000);
	post(&a, to_ah(swr(&a, 3, IBV_WR_SEND, 0, 50), ah, &b));
	post(&b, to_ah(swr(&b, 4, IBV_WR_SEND, 0, 50), ah, &a));
	expect_ok(a.scq, 3);
	expect_ok(b.scq, 4);
	expect_ok(b.rcq, 1);
	expect_ok(a.rcq, 2);
	expect(wrs, 2, 0);
	expect(bytes, 90, 0);
}

static void counts_failures(void)
{
	uint32_t sent = counter_new(BYTES), received = counter_new(WRS);
	struct end a, b;

	make(&a, CONF());
	make(&b, CONF());
	SAME(attach(&a, sent, SEND | WRITE), 0);
	SAME(attach(&b, received, RECV | REMOTE_WRITE), 0);
	connect_ends(&a, &b);
	post_recv(&b, 1, 0, 8);
	post_recv(&b, 2, 0, 8);
	post(&a, at_key(swr(&a, 3, IBV_WR_RDMA_WRITE, 0, 8), ~0, 0));
	expect_wc(a.scq, 3, IBV_WC_REM_ACCESS_ERR);
	post(&a, swr(&a, 4, IBV_WR_SEND, 0, 8));
	expect_wc(a.scq, 4, IBV_WC_WR_FLUSH_ERR);
	to_state(&b, IBV_QPS_ERR);
	expect_wc(b.rcq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(b.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	expect(sent, 0, 2);
	/* a WRITE that is refused never was one of this QP's */
	expect(received, 0, 2);
	/* another life of the QP counts on */
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	REFUSED(attach(&a, sent, SEND), EBUSY);
	connect_ends(&a, &b);
	check_works(&a, &b);
	CHECK(counter_read(sent, COMPLETED) > 0);
	CHECK(counter_read(received, COMPLETED) > 0);
}

static void refused(void)
{
	uint32_t cntr = counter_new(WRS), other = counter_new(WRS), type;
	struct end a, b;

	for (type = 2; type < 4; type++)
		REFUSED(CALL(OBJECT_COMP_CNTR, COMP_CNTR_CREATE, HANDLE(0, 0), IN(TYPE, type)),
			EOPNOTSUPP);
	make(&a, CONF());
	make(&b, CONF());
	REFUSED(attach(&a, cntr, 0), EINVAL);
	REFUSED(attach(&a, cntr, 64), EINVAL);
	REFUSED(attach(&a, 12345, SEND), ENOENT);
	SAME(attach(&a, cntr, SEND | READ), 0);
	REFUSED(attach(&a, other, READ), EBUSY);
	REFUSED(counter_destroy(cntr), EBUSY);
	to_init(&a);
	SAME(attach(&a, other, RECV), 0);
	to_init(&b);
	to_rtr(&a, &b);
	REFUSED(attach(&a, other, WRITE), EINVAL);
	to_rtr(&b, &a);
	to_rts(&a);
	to_rts(&b);
	REFUSED(attach(&b, other, WRITE), EINVAL);
	check_works(&a, &b);
	/* of what was refused nothing has stayed */
	expect(other, 1, 0);
	expect(cntr, 1, 0);
	unmake(&a);
	SAME(counter_destroy(cntr), 0);
	SAME(counter_destroy(other), 0);
}

/* the process ends with all of it */
static void left_behind(void)
{
	struct end a, b;
	int i;

	make(&a, CONF());
	make(&b, CONF());
	for (i = 0; i < 6; i++) {
		SAME(attach(&a, counter_new(WRS), 1 << i), 0);
		SAME(attach(&b, counter_new(BYTES), 1 << i), 0);
	}
	connect_ends(&a, &b);
	check_works(&a, &b);
}

TESTS(
	TEST(says_what_it_can), TEST(set_and_read), TEST(counts), TEST(counts_datagrams),
	TEST(counts_failures), TEST(refused), TEST(left_behind)
)
