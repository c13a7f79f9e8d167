// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Persistent memory, which is mapped from the device DAX that WEFT_DAX names: it can be
 * registered like any other, and a FLUSH may ask for its persistence, where the kernel
 * knows that.
 */
#include "lib.h"

#include <fcntl.h>

/* device_cap_flags_ex */
#define CAP_FLUSH_PERSISTENT	(1ULL << 39)

#define HUGE	(2UL << 20)	/* what a device DAX is mapped in */
#define LENGTH	20000
#define PERSISTENT	(ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)

static struct end a, b;
static uint8_t *dax;		/* HUGE bytes, and as many of ordinary memory behind them */

static bool placement(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	return attr.device_cap_flags_ex & CAP_FLUSH_PERSISTENT;
}

static uint8_t *map(void *where, int flags, int fd)
{
	void *p = mmap(where, HUGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void make_both(const struct conf *conf)
{
	const char *path = getenv("WEFT_DAX");
	uint8_t *room;
	int fd;

	CHECK(path);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	room = mmap(NULL, 3 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(room != MAP_FAILED);
	room = (uint8_t *)(((uintptr_t)room + HUGE - 1) & -HUGE);
	dax = map(room, MAP_SHARED | MAP_FIXED, fd);
	map(room + HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
	close(fd);
	memset(dax, 0, HUGE);
	make_pair(&a, &b, conf);
}

#define MAKE_PERSISTENT()						\
	make_both(CONF(.ex = true, .ops = IBV_QP_EX_WITH_RDMA_WRITE |	\
					  IBV_QP_EX_WITH_FLUSH,		\
		       .access = PERSISTENT))

static struct ibv_mr *reg(size_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, dax, length, access);

	CHECK(mr);
	return mr;
}

/* a WRITE, and a FLUSH of it to persistence, or of all there is */
static void write_and_flush(struct ibv_mr *mr, size_t off, uint8_t type, uint8_t level, int seed)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a.qp);

	fill(a.buf, LENGTH, seed);
	ibv_wr_start(qp);
	qp->wr_id = seed;
	qp->wr_flags = 0;
	ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)dax + off);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, LENGTH);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(qp, mr->rkey, (uintptr_t)dax + off, LENGTH, type, level);
	SAME(ibv_wr_complete(qp), 0);
}

static void mapped(void)
{
	struct ibv_mr *mr;

	make_both(CONF());
	mr = reg(HUGE, ACCESS_ALL);
	fill(a.buf, LENGTH, 1);
	post(&a, at_key(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, LENGTH), mr->rkey,
			(uintptr_t)dax + 4095));
	expect_ok(a.scq, 1);
	check_filled(dax + 4095, LENGTH, 1);
	memset(a.buf, 0, LENGTH);
	post(&a, at_key(swr(&a, 2, IBV_WR_RDMA_READ, 0, LENGTH), mr->rkey,
			(uintptr_t)dax + 4095));
	expect_ok(a.scq, 2);
	check_filled(a.buf, LENGTH, 1);
}

static void flushed(void)
{
	static const uint8_t types[] = {
		IBV_FLUSH_PERSISTENT, IBV_FLUSH_GLOBAL, IBV_FLUSH_PERSISTENT | IBV_FLUSH_GLOBAL,
	};
	struct ibv_mr *mr;
	int i;

	if (!placement())
		return;
	MAKE_PERSISTENT();
	mr = reg(HUGE, PERSISTENT);
	for (i = 0; i < 2 * ARRAY_SIZE(types); i++) {
		note("type %d, level %d", types[i / 2], i % 2);
		write_and_flush(mr, 123456 * i, types[i / 2],
				i % 2 ? IBV_FLUSH_MR : IBV_FLUSH_RANGE, 10 + i);
		expect_ok(a.scq, 10 + i);
		check_filled(dax + 123456 * i, LENGTH, 10 + i);
	}
}

static void refused(void)
{
	struct ibv_mr *mr;

	if (!placement())
		return;
	MAKE_PERSISTENT();
	note("not all of it is persistent");
	REFUSED(ibv_reg_mr(pd, dax, 2 * HUGE, PERSISTENT), EINVAL);
	REFUSED(ibv_reg_mr(pd, dax + HUGE - 4096, 8192, PERSISTENT), EINVAL);
	note("it was not said when it was registered");
	mr = reg(HUGE, ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL);
	write_and_flush(mr, 0, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE, 1);
	expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	note("it is said later");
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	SAME(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, PERSISTENT), 0);
	write_and_flush(mr, 0, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE, 2);
	expect_ok(a.scq, 2);
	check_filled(dax, LENGTH, 2);
}

TESTS(
	TEST(mapped), TEST(flushed), TEST(refused)
)
