// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging: regions of an address range, whatever is there when it is accessed.
 */
#include "lib.h"

#include <fcntl.h>

#define PAGED		(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)
#define MiB		(1UL << 20)
/* longer than what is pinned at a time (4 MiB), and no multiple of anything */
#define LONG		(9 * MiB + 12345)

static struct end a, b;
static size_t page;
static bool whole;	/* regions are of the whole address space: implicit ODP */

static void *map_at(void *addr, size_t size)
{
	void *p = mmap(addr, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (addr ? MAP_FIXED : 0), -1, 0);

	CHECK(p != MAP_FAILED);
	/* nothing but what is asked for shall come */
	if (size < 2 * MiB)
		madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

/* never touched memory, in a paged region, takes the place of the end's */
static void make_paged(struct end *e, size_t size)
{
	SAME(ibv_dereg_mr(e->mr), 0);
	munmap(e->buf, BUF);
	e->buf = map_at(NULL, size);
	e->mr = whole ? ibv_reg_mr(pd, NULL, SIZE_MAX, PAGED) : ibv_reg_mr(pd, e->buf, size, PAGED);
	CHECK(e->mr);
}

static void make_both(const struct conf *conf, size_t size)
{
	page = sysconf(_SC_PAGESIZE);
	make_pair(&a, &b, conf);
	make_paged(&a, size);
	make_paged(&b, size);
}

/* as an error has left them */
static void again(void)
{
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
}

static bool is_resident(void *p)
{
	unsigned char there;

	SAME(mincore((void *)((uintptr_t)p & -page), 1, &there), 0);
	return there & 1;
}

static void write_to(size_t off, uint32_t length, int seed)
{
	fill(a.buf, length, seed);
	post(&a, at(swr(&a, seed, IBV_WR_RDMA_WRITE, 0, length), &b, off));
}

static void write_ok(size_t off, uint32_t length, int seed)
{
	write_to(off, length, seed);
	expect_ok(a.scq, seed);
	check_filled(b.buf + off, length, seed);
}

static void write_refused(size_t off, uint32_t length, int seed)
{
	write_to(off, length, seed);
	expect_wc(a.scq, seed, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	again();
}

static void advertised(void)
{
	struct ibv_device_attr_ex attr;
	const uint32_t sends = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
			       IBV_ODP_SUPPORT_SRQ_RECV;
	uint32_t all = sends | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
		       IBV_ODP_SUPPORT_ATOMIC;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	/* with ATOMIC WRITE, itself and FLUSH, for which newer libraries have words */
	if (attr.device_cap_flags_ex & 1ULL << 40)
		all |= 1 << 6 | 1 << 7;
	SAME(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	SAME(attr.odp_caps.per_transport_caps.rc_odp_caps, all);
	SAME(attr.xrc_odp_caps, all & ~IBV_ODP_SUPPORT_RECV);
	SAME(attr.odp_caps.per_transport_caps.uc_odp_caps, sends | IBV_ODP_SUPPORT_WRITE);
	SAME(attr.odp_caps.per_transport_caps.ud_odp_caps, sends);
}

/* memory that nobody has touched: what is read is zeros, what is written arrives */
static void untouched(void)
{
	static const uint32_t lengths[] = { 1, 100, 4096, 4097, 20000, 300000 };
	struct ibv_send_wr *wr;
	uint32_t length;
	int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		length = lengths[i];
		note("%u bytes", length);
		make_both(CONF(), MiB);
		/* from nothing to nothing */
		post_recv(&b, 1, 100, length);
		post(&a, swr(&a, 2, IBV_WR_SEND, 50, length));
		SAME(expect_ok(b.rcq, 1).byte_len, length);
		expect_ok(a.scq, 2);
		check_zero(b.buf, MiB);
		CHECK(is_resident(b.buf + 100));
		madvise(b.buf, MiB, MADV_DONTNEED);

		write_ok(333, length, 3 + i);
		madvise(a.buf, MiB, MADV_DONTNEED);
		post(&a, at(swr(&a, 4, IBV_WR_RDMA_READ, 777, length), &b, 333));
		expect_ok(a.scq, 4);
		check_filled(a.buf + 777, length, 3 + i);
		check_zero(a.buf, 777);

		madvise(a.buf, MiB, MADV_DONTNEED);
		madvise(b.buf, MiB, MADV_DONTNEED);
		wr = at(swr(&a, 5, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 8), &b, 64);
		wr->wr.atomic.compare_add = 42;
		post(&a, wr);
		expect_ok(a.scq, 5);
		SAME(*(uint64_t *)(a.buf + 8), 0);
		SAME(*(uint64_t *)(b.buf + 64), 42);
		wr = at(swr(&a, 6, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 8), &b, 64);
		wr->wr.atomic.compare_add = 42;
		wr->wr.atomic.swap = 43;
		post(&a, wr);
		expect_ok(a.scq, 6);
		SAME(*(uint64_t *)(a.buf + 8), 42);
		SAME(*(uint64_t *)(b.buf + 64), 43);
		check_works(&a, &b);
	}
}

/* elements in several regions, paged and not, and two times the same memory */
static void elements(void)
{
	struct ibv_mr *pinned;
	struct ibv_send_wr *wr;
	struct ibv_recv_wr *rwr_;
	uint8_t *fixed;
	int i;

	make_both(CONF(), MiB);
	fixed = memory(BUF);
	pinned = ibv_reg_mr(pd, fixed, BUF, ACCESS_ALL);
	CHECK(pinned);
	for (i = 0; i < 20; i++) {
		note("round %d", i);
		madvise(b.buf, MiB, MADV_DONTNEED);
		fill(a.buf, 10000, i);
		fill(fixed, 5000, i + 100);
		rwr_ = rwr(&b, 1, 0, 3000);
		rwr_->num_sge = 3;
		rwr_->sg_list[1] = (struct ibv_sge){ (uintptr_t)b.buf + 500000, 20000, b.mr->lkey };
		rwr_->sg_list[2] = (struct ibv_sge){ (uintptr_t)b.buf + 800000, 20000, b.mr->lkey };
		post_r(&b, rwr_);
		wr = swr(&a, 2, IBV_WR_SEND, 0, 10000);
		wr->num_sge = 3;
		wr->sg_list[1] = (struct ibv_sge){ (uintptr_t)fixed, 5000, pinned->lkey };
		wr->sg_list[2] = (struct ibv_sge){ (uintptr_t)a.buf, 10000, a.mr->lkey };
		post(&a, wr);
		expect_ok(a.scq, 2);
		SAME(expect_ok(b.rcq, 1).byte_len, 25000);
		/* put it together */
		memmove(b.buf + 3000, b.buf + 500000, 20000);
		memmove(b.buf + 23000, b.buf + 800000, 2000);
		check_filled(b.buf, 10000, i);
		check_filled(b.buf + 10000, 5000, i + 100);
		check_filled(b.buf + 15000, 10000, i);
	}
}

/* after the paged element of @wr one of @length bytes that is not */
static void mixed_list(struct ibv_send_wr *wr, struct ibv_mr *pinned, uint32_t length)
{
	wr->num_sge = 2;
	wr->sg_list[1] = (struct ibv_sge){ (uintptr_t)pinned->addr, length, pinned->lkey };
}

/* what has only the first packets of a message in it is other memory for the next message */
static void replaced(void)
{
	const uint32_t paged = 4096, rest = 60000;
	struct ibv_send_wr *wr;
	struct ibv_mr *pinned;
	int i;

	make_both(CONF(), MiB);
	pinned = ibv_reg_mr(pd, memory(BUF), BUF, ACCESS_ALL);
	CHECK(pinned);
	for (i = 0; i < 10; i++) {
		note("SEND %d", i);
		madvise(a.buf, MiB, MADV_DONTNEED);
		fill(a.buf, paged, i);
		fill(pinned->addr, rest, i + 100);
		post_recv(&b, 1, 0, paged + rest);
		wr = swr(&a, 2, IBV_WR_SEND, 0, paged);
		mixed_list(wr, pinned, rest);
		post(&a, wr);
		expect_ok(a.scq, 2);
		SAME(expect_ok(b.rcq, 1).byte_len, paged + rest);
		check_filled(b.buf, paged, i);
		check_filled(b.buf + paged, rest, i + 100);

		note("READ %d", i);
		madvise(a.buf, MiB, MADV_DONTNEED);
		memset(pinned->addr, 0, rest);
		wr = at(swr(&a, 3, IBV_WR_RDMA_READ, 0, paged), &b, 0);
		mixed_list(wr, pinned, rest);
		post(&a, wr);
		expect_ok(a.scq, 3);
		check_filled(a.buf, paged, i);
		check_filled(pinned->addr, rest, i + 100);
	}
}

/* messages that are longer than what is pinned at a time */
static void windows(void)
{
	make_both(CONF(.timeout = 20), 10 * MiB);
	note("WRITE");
	write_ok(10, LONG, 1);
	note("WRITE again");
	madvise(b.buf, 10 * MiB, MADV_DONTNEED);
	write_ok(10, LONG, 2);
	note("READ");
	madvise(a.buf, 10 * MiB, MADV_DONTNEED);
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_READ, 77, LONG), &b, 10));
	expect_ok(a.scq, 3);
	check_filled(a.buf + 77, LONG, 2);
	note("SEND");
	madvise(b.buf, 10 * MiB, MADV_DONTNEED);
	fill(a.buf, LONG, 4);
	post_recv(&b, 4, 20, LONG + 100);
	post(&a, swr(&a, 5, IBV_WR_SEND, 0, LONG));
	SAME(expect_ok(b.rcq, 4).byte_len, LONG);
	expect_ok(a.scq, 5);
	check_filled(b.buf + 20, LONG, 4);
	note("only one side is paged");
	SAME(ibv_dereg_mr(a.mr), 0);
	a.mr = ibv_reg_mr(pd, a.buf, 10 * MiB, ACCESS_ALL);
	CHECK(a.mr);
	madvise(b.buf, 10 * MiB, MADV_DONTNEED);
	write_ok(10, LONG, 6);
	check_works(&a, &b);
}

static void unreliable(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq;
	int i;

	make_both(CONF(.type = IBV_QPT_UC), MiB);
	for (i = 0; i < 10; i++) {
		note("UC, round %d", i);
		madvise(b.buf, MiB, MADV_DONTNEED);
		fill(a.buf, 10000, i);
		post_recv(&b, 1, 0, 10000);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 10000));
		expect_ok(a.scq, 2);
		expect_ok(b.rcq, 1);
		check_filled(b.buf, 10000, i);
		post_recv(&b, 3, 0, 0);
		post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 10000), &b, 50000));
		expect_ok(a.scq, 4);
		expect_ok(b.rcq, 3);
		check_filled(b.buf + 50000, 10000, i);
	}
	note(NULL);
	srq = ibv_create_srq(pd, &init);
	CHECK(srq);
	make_both(CONF(.srq = srq), MiB);
	for (i = 0; i < 10; i++) {
		note("SRQ, round %d", i);
		madvise(b.buf, MiB, MADV_DONTNEED);
		fill(a.buf, 10000, i);
		post_srq(srq, &b, 1, i * page, 10000);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 10000));
		expect_ok(a.scq, 2);
		expect_ok(b.rcq, 1);
		check_filled(b.buf + i * page, 10000, i);
	}
}

static void datagrams(void)
{
	struct ibv_ah *ah;
	int i;

	make_both(CONF(.type = IBV_QPT_UD), MiB);
	ah = ah_to(gid4, gid4);
	for (i = 0; i < 20; i++) {
		note("round %d", i);
		madvise(b.buf, MiB, MADV_DONTNEED);
		fill(a.buf, 1000, i);
		post_recv(&b, 1, 4000, 1040);
		post(&a, to_ah(swr(&a, 2, IBV_WR_SEND, 0, 1000), ah, &b));
		expect_ok(a.scq, 2);
		SAME(expect_ok(b.rcq, 1).byte_len, 1040);
		check_filled(b.buf + 4040, 1000, i);
	}
}

/* other memory at the same place: what comes then is there */
static void mapped_anew(void)
{
	int i;

	make_both(CONF(), MiB);
	for (i = 0; i < 200; i++) {
		note("round %d", i);
		write_ok(i % 5000, 50000, i);
		/* one under way, wherever it goes */
		write_to(i % 5000, 50000, 1000 + i);
		map_at(b.buf, MiB);
		expect_ok(a.scq, 1000 + i);
		map_at(b.buf, MiB);
		if (i % 2)
			map_at(a.buf, MiB);
	}
	check_works(&a, &b);
}

static uint32_t sum_of(const uint8_t *p, size_t length)
{
	uint32_t sum = 0;

	while (length--)
		sum = sum * 31 + *p++;
	return sum;
}

/* a child has what was there, and nothing that comes later; the parent has all */
static void forked(void)
{
	uint32_t before;
	int i, status;
	pid_t pid;

	make_both(CONF(), MiB);
	write_ok(0, 50000, 1);
	for (i = 0; i < 30; i++) {
		note("round %d", i);
		write_to(0, 50000, 2 + i);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			/* one that was under way is in it, or is not; or some of it */
			before = sum_of(b.buf, 50000);
			sleep_ms(20);
			_exit(sum_of(b.buf, 50000) != before);
		}
		expect_ok(a.scq, 2 + i);
		check_filled(b.buf, 50000, 2 + i);
		write_ok(0, 50000, 100 + i);
		write_ok(0, 50000, 200 + i);
		SAME(waitpid(pid, &status, 0), pid);
		SAME(status, 0);
	}
}

static void moved(void)
{
	uint8_t *to, *old;

	make_both(CONF(), MiB);
	write_ok(0, 50000, 1);
	old = b.buf;
	to = mmap(NULL, MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(to != MAP_FAILED);
	CHECK(mremap(b.buf, MiB, MiB, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	/* it has moved away from the region */
	write_refused(0, 50000, 2);
	check_filled(to, 50000, 1);
	/* and others are where it was */
	map_at(old, MiB);
	write_ok(0, 50000, 3);
	check_filled(to, 50000, 1);
	check_works(&a, &b);
}

#define PIECES		8
#define PIECE		100000

/* how many are done before one finds nothing there; those behind it are flushed */
static int pieces_done(void)
{
	struct ibv_wc wc;
	int i, done = 0;

	for (i = 0; i < PIECES; i++) {
		wc = next_wc(a.scq);
		SAME(wc.wr_id, i);
		if (done == i && wc.status == IBV_WC_SUCCESS)
			done++;
		else
			SAME(wc.status, done == i ? IBV_WC_REM_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
	}
	return done;
}

static void post_pieces(int seed)
{
	struct ibv_send_wr *wrs[PIECES];
	int i;

	fill(a.buf, PIECES * PIECE, seed);
	for (i = 0; i < PIECES; i++) {
		wrs[i] = at(swr(&a, i, IBV_WR_RDMA_WRITE, i * PIECE, PIECE), &b, i * PIECE);
		if (i)
			wrs[i - 1]->next = wrs[i];
	}
	post(&a, wrs[0]);
}

static void move(uint8_t *from, uint8_t *to)
{
	CHECK(mremap(from, MiB, MiB, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
}

/* away, or away and back: the memory has all that was done, wherever it is now */
static void moved_under_traffic(void)
{
	uint8_t *away;
	int i, done;
	bool back;

	make_both(CONF(), MiB);
	for (i = 0; i < 40; i++) {
		back = i % 2;
		note("round %d", i);
		away = mmap(NULL, MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(away != MAP_FAILED);
		post_pieces(i);
		/* now at once, now when some of them are done */
		usleep(i / 2 * 20);
		move(b.buf, away);
		if (back)
			move(away, b.buf);
		done = pieces_done();
		SAME(memcmp(back ? b.buf : away, a.buf, done * PIECE), 0);
		if (done < PIECES) {
			expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
			again();
		}
		if (!back) {
			write_refused(0, PIECE, 1000 + i);
			move(away, b.buf);
		}
		write_ok(0, PIECE, 2000 + i);
	}
	expect_no_event();
	check_works(&a, &b);
}

static void truncated(void)
{
	char name[] = "/tmp/weft-paging-XXXXXX";
	uint8_t got[20000];
	int fd, i;

	make_both(CONF(), MiB);
	fd = mkstemp(name);
	CHECK(fd >= 0);
	unlink(name);
	SAME(ftruncate(fd, MiB), 0);
	CHECK(mmap(b.buf, MiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == b.buf);
	for (i = 0; i < 5; i++) {
		note("round %d", i);
		write_ok(123, 20000, 10 * i);
		SAME(pread(fd, got, sizeof(got), 123), 20000);
		check_filled(got, sizeof(got), 10 * i);
		/* one under way */
		write_to(123, 20000, 10 * i + 1);
		SAME(ftruncate(fd, 0), 0);
		if (next_wc(a.scq).status != IBV_WC_SUCCESS)
			again();
		note("round %d, no file", i);
		fill(a.buf, 20000, 10 * i + 2);
		post(&a, at(swr(&a, 10 * i + 2, IBV_WR_RDMA_WRITE, 0, 20000), &b, 123));
		expect_wc(a.scq, 10 * i + 2, IBV_WC_REM_ACCESS_ERR);
		again();
		SAME(ftruncate(fd, MiB), 0);
		check_zero(b.buf, MiB);
	}
}

/* what fails outside of a region fails where nothing is mapped, in the same way */
static void unmapped(void)
{
	struct ibv_send_wr *wr;

	make_both(CONF(), MiB);
	note("WRITE beyond the last page");
	SAME(munmap(b.buf + 64 * page, MiB - 64 * page), 0);
	write_refused(64 * page - 100, 200, 1);
	note("READ");
	post(&a, at(swr(&a, 2, IBV_WR_RDMA_READ, 0, 200), &b, 64 * page - 100));
	expect_wc(a.scq, 2, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	again();
	note("atomic");
	wr = at(swr(&a, 3, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8), &b, 64 * page);
	post(&a, wr);
	expect_wc(a.scq, 3, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	again();
	note("receive");
	post_recv(&b, 4, 64 * page - 100, 200);
	post(&a, swr(&a, 5, IBV_WR_SEND, 0, 200));
	expect_wc(a.scq, 5, IBV_WC_REM_OP_ERR);
	expect_wc(b.rcq, 4, IBV_WC_LOC_PROT_ERR);
	again();
	note("receive of which enough is there");
	post_recv(&b, 6, 64 * page - 300, 10000);
	post(&a, swr(&a, 7, IBV_WR_SEND, 0, 300));
	expect_ok(a.scq, 7);
	expect_ok(b.rcq, 6);
	note("send");
	SAME(munmap(a.buf + 64 * page, MiB - 64 * page), 0);
	post(&a, swr(&a, 8, IBV_WR_SEND, 64 * page - 100, 200));
	expect_wc(a.scq, 8, IBV_WC_LOC_PROT_ERR);
	again();
	note("place for a READ");
	post(&a, at(swr(&a, 9, IBV_WR_RDMA_READ, 64 * page - 100, 200), &b, 0));
	expect_wc(a.scq, 9, IBV_WC_LOC_PROT_ERR);
	again();
	note("outside of the region");
	write_refused(MiB - 1, 2, 10);
	note("read-only memory");
	SAME(mprotect(b.buf, 64 * page, PROT_READ), 0);
	write_refused(0, 200, 11);
	post(&a, at(swr(&a, 12, IBV_WR_RDMA_READ, 0, 200), &b, 0));
	expect_ok(a.scq, 12);
	note(NULL);
	SAME(mprotect(b.buf, 64 * page, PROT_READ | PROT_WRITE), 0);
	check_works(&a, &b);
}

static void implicit(void)
{
	uint8_t *p;
	int i;

	whole = true;
	make_both(CONF(), MiB);
	write_ok(0, 100000, 1);
	for (i = 0; i < 20; i++) {
		p = map_at(NULL, MiB);
		b.buf = p;
		write_ok(10 * i, 100000, 2 + i);
	}
	note("an address of the kernel's");
	b.buf = (void *)-65536UL;
	post(&a, at(swr(&a, 50, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 50, IBV_WC_REM_ACCESS_ERR);
	again();
	b.buf = NULL;
	post(&a, at(swr(&a, 51, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 51, IBV_WC_REM_ACCESS_ERR);
	again();
	note("not a whole address space");
	REFUSED(ibv_reg_mr(pd, (void *)(16 * MiB), SIZE_MAX, PAGED), EINVAL);
	REFUSED(ibv_reg_mr(pd, NULL, SIZE_MAX, PAGED | IBV_ACCESS_ZERO_BASED), EINVAL);
	b.buf = p;
	check_works(&a, &b);
}

static void implicit_of_services(void)
{
	whole = true;
	untouched();
	unreliable();
	datagrams();
}

/* a memory window onto a paged region */
static void window_onto_it(void)
{
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *wr;
	struct ibv_mw *mw;

	make_both(CONF(), MiB);
	SAME(ibv_dereg_mr(b.mr), 0);
	b.mr = ibv_reg_mr(pd, b.buf, MiB, PAGED | IBV_ACCESS_MW_BIND);
	CHECK(b.mr);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	CHECK(mw);
	bind.bind_info = (struct ibv_mw_bind_info){
		.mr = b.mr, .addr = (uintptr_t)b.buf + 5000, .length = 20000,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	SAME(ibv_bind_mw(b.qp, mw, &bind), 0);
	expect_ok(b.scq, 1);
	fill(a.buf, 20000, 2);
	wr = at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 20000), &b, 5000);
	wr->wr.rdma.rkey = mw->rkey;
	post(&a, wr);
	expect_ok(a.scq, 2);
	check_filled(b.buf + 5000, 20000, 2);
	check_zero(b.buf, 5000);
	REFUSED(ibv_dereg_mr(b.mr), EBUSY);
	REFUSED(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     PAGED | IBV_ACCESS_MW_BIND), EBUSY);
	SAME(ibv_dealloc_mw(mw), 0);
	SAME(ibv_dereg_mr(b.mr), 0);
}

static void reregistered(void)
{
	struct ibv_mr *pinned, *read_only;
	uint8_t *other;
	int status;
	pid_t pid;

	make_both(CONF(), MiB);
	other = map_at(NULL, MiB);
	write_ok(0, 5000, 1);
	note("rights");
	SAME(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND), 0);
	write_refused(0, 5000, 2);
	SAME(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, PAGED), 0);
	write_ok(0, 5000, 3);
	note("memory");
	SAME(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, MiB, 0), 0);
	write_refused(0, 5000, 4);
	b.buf = other;
	write_ok(0, 5000, 5);
	note("not paged any more");
	REFUSED(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL),
		EOPNOTSUPP);
	write_ok(0, 5000, 6);
	note("paged from now on");
	pinned = ibv_reg_mr(pd, b.buf, MiB, ACCESS_ALL);
	CHECK(pinned);
	REFUSED(ibv_rereg_mr(pinned, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, PAGED),
		EOPNOTSUPP);
	SAME(ibv_dereg_mr(pinned), 0);
	note("by another process, which has the context and no such memory");
	read_only = ibv_reg_mr(pd, b.buf, MiB, IBV_ACCESS_REMOTE_READ);
	CHECK(read_only);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		REFUSED(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, MiB, 0),
			EINVAL);
		REFUSED(ibv_rereg_mr(read_only, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				     ACCESS_ALL), EINVAL);
		_exit(0);
	}
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
	write_ok(0, 5000, 7);
}

static int advise(struct ibv_mr *mr, size_t off, uint32_t length,
		  enum ibv_advise_mr_advice advice, uint32_t flags)
{
	struct ibv_sge sge = { (uintptr_t)b.buf + off, length, mr->lkey };

	return ibv_advise_mr(pd, advice, flags, &sge, 1);
}

#define FLUSH		IBV_ADVISE_MR_FLAG_FLUSH
#define READING		IBV_ADVISE_MR_ADVICE_PREFETCH
#define WRITING		IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
#define NO_FAULT	IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT

static void advised(void)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *read_only, *pinned;
	struct ibv_mr unknown;
	struct ibv_sge sge;
	struct ibv_mw *mw;
	int i;

	make_both(CONF(), MiB);
	read_only = ibv_reg_mr(pd, b.buf, MiB, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	CHECK(read_only);
	note("now");
	CHECK(!is_resident(b.buf + 10 * page));
	SAME(advise(b.mr, 10 * page, 2 * page, WRITING, FLUSH), 0);
	CHECK(is_resident(b.buf + 10 * page));
	CHECK(is_resident(b.buf + 11 * page));
	CHECK(!is_resident(b.buf + 12 * page));
	SAME(advise(b.mr, 0, MiB, READING, FLUSH), 0);
	SAME(advise(read_only, 0, MiB, READING, FLUSH), 0);
	note("later");
	madvise(b.buf, MiB, MADV_DONTNEED);
	CHECK(!is_resident(b.buf + 100 * page));
	SAME(advise(b.mr, 100 * page, page, WRITING, 0), 0);
	for (i = 0; i < 500 && !is_resident(b.buf + 100 * page); i++)
		sleep_ms(10);
	CHECK(is_resident(b.buf + 100 * page));
	note("only what is there");
	madvise(b.buf, MiB, MADV_DONTNEED);
	SAME(advise(b.mr, 0, MiB, NO_FAULT, FLUSH), 0);
	SAME(advise(b.mr, 0, MiB, NO_FAULT, 0), 0);
	CHECK(!is_resident(b.buf));
	note("bad key");
	unknown = *b.mr;
	unknown.lkey ^= 1;
	REFUSED(advise(&unknown, 0, page, WRITING, FLUSH), ENOENT);
	REFUSED(advise(&unknown, 0, page, WRITING, 0), ENOENT);
	note("a window");
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	CHECK(mw);
	unknown.lkey = mw->rkey;
	REFUSED(advise(&unknown, 0, page, WRITING, FLUSH), EINVAL);
	SAME(ibv_dealloc_mw(mw), 0);
	note("not paged");
	pinned = ibv_reg_mr(pd, b.buf, MiB, ACCESS_ALL);
	CHECK(pinned);
	REFUSED(advise(pinned, 0, page, WRITING, FLUSH), ENOENT);
	note("another protection domain");
	sge = (struct ibv_sge){ (uintptr_t)b.buf, page, b.mr->lkey };
	REFUSED(ibv_advise_mr(other, READING, FLUSH, &sge, 1), EPERM);
	note("not to be written");
	REFUSED(advise(read_only, 0, page, WRITING, FLUSH), EPERM);
	note("outside of the region");
	REFUSED(advise(b.mr, MiB - page + 1, page, READING, FLUSH), EFAULT);
	REFUSED(advise(b.mr, -1, page, READING, 0), EFAULT);
	note("nothing there");
	SAME(ibv_dereg_mr(pinned), 0);
	SAME(munmap(b.buf + 64 * page, page), 0);
	REFUSED(advise(b.mr, 60 * page, 10 * page, READING, FLUSH), EFAULT);
	SAME(advise(b.mr, 60 * page, 10 * page, READING, 0), 0);
	note("unknown advice");
	REFUSED(advise(b.mr, 0, page, 77, FLUSH), EOPNOTSUPP);
	note(NULL);
	check_works(&a, &b);
}

static void late_receive(void)
{
	int fd;

	make_both(CONF(.timeout = 20), MiB);
	fd = uffd_hold(b.buf, MiB);
	note("WRITE");
	write_to(0, 5000, 1);
	expect_no_wc(a.scq);
	uffd_answer(fd, b.buf, 2 * page);
	expect_ok(a.scq, 1);
	check_filled(b.buf, 5000, 1);
	note("SEND, and a doorbell meanwhile");
	fill(a.buf, 5000, 2);
	post_recv(&b, 2, 10 * page, 5000);
	post(&a, swr(&a, 3, IBV_WR_SEND, 0, 5000));
	expect_no_wc(a.scq);
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 5000), &b, 0));
	expect_no_wc(a.scq);
	expect_no_wc(b.rcq);
	uffd_answer(fd, b.buf + 10 * page, 2 * page);
	expect_ok(b.rcq, 2);
	expect_ok(a.scq, 3);
	expect_ok(a.scq, 4);
	check_filled(b.buf + 10 * page, 5000, 2);
	close(fd);
	check_works(&a, &b);
}

static void late_send(void)
{
	int fd;

	make_both(CONF(.timeout = 20), MiB);
	fd = uffd_hold(a.buf, MiB);
	note("SEND");
	post_recv(&b, 1, 0, 5000);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 5000));
	expect_no_wc(a.scq);
	uffd_answer(fd, a.buf, 2 * page);
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 1);
	check_zero(b.buf, 5000);
	note("READ");
	fill(b.buf, 5000, 3);
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_READ, 10 * page, 5000), &b, 0));
	expect_no_wc(a.scq);
	uffd_answer(fd, a.buf + 10 * page, 2 * page);
	expect_ok(a.scq, 3);
	check_filled(a.buf + 10 * page, 5000, 3);
	close(fd);
	check_works(&a, &b);
}

/* pages that never come: everything can be ended, and soon */
static void never(void)
{
	int fd_a, fd_b;

	note("ERR and RESET");
	make_both(CONF(.timeout = 20), MiB);
	fd_b = uffd_hold(b.buf, MiB);
	post_recv(&b, 1, 0, 5000);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 5000));
	expect_no_wc(a.scq);
	to_state(&b, IBV_QPS_ERR);
	expect_wc(b.rcq, 1, IBV_WC_WR_FLUSH_ERR);
	to_state(&a, IBV_QPS_ERR);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	again();
	write_to(0, 5000, 3);
	expect_no_wc(a.scq);
	to_state(&b, IBV_QPS_RESET);
	to_state(&a, IBV_QPS_RESET);
	connect_ends(&a, &b);
	note("deregistration");
	write_to(0, 5000, 4);
	expect_no_wc(a.scq);
	SAME(ibv_dereg_mr(b.mr), 0);
	note("destruction");
	SAME(ibv_destroy_qp(b.qp), 0);
	SAME(ibv_destroy_qp(a.qp), 0);

	note("the sender's");
	make_both(CONF(.timeout = 20), MiB);
	fd_a = uffd_hold(a.buf, MiB);
	post_recv(&b, 5, 0, 5000);
	post(&a, swr(&a, 6, IBV_WR_SEND, 0, 5000));
	expect_no_wc(a.scq);
	SAME(ibv_dereg_mr(a.mr), 0);
	to_state(&a, IBV_QPS_ERR);
	expect_wc(a.scq, 6, IBV_WC_WR_FLUSH_ERR);
	SAME(ibv_destroy_qp(a.qp), 0);
	SAME(ibv_destroy_qp(b.qp), 0);
	close(fd_a);
	close(fd_b);
}

/* and a process can exit, with all of it */
static void never_exit(void)
{
	make_both(CONF(.timeout = 20), MiB);
	uffd_hold(b.buf, MiB);
	uffd_hold(a.buf + MiB / 2, MiB / 2);
	write_to(0, 5000, 1);
	expect_no_wc(a.scq);
	post(&a, swr(&a, 2, IBV_WR_SEND, MiB / 2, 5000));
	SAME(advise(b.mr, 0, MiB, WRITING, 0), 0);
}

/* a region is the memory of the process that registered it, not of its child */
static void whose_memory(void)
{
	int up[2], status;
	pid_t pid;
	char c;

	SAME(pipe(up), 0);
	make_both(CONF(), MiB);
	write_ok(0, 5000, 1);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		SAME(read(up[0], &c, 1), 1);
		check_filled(b.buf, 5000, 1);
		_exit(0);
	}
	write_ok(0, 5000, 2);
	SAME(write(up[1], "x", 1), 1);
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
}

TESTS(
	TEST(advertised), TEST(untouched), TEST(elements), TEST(replaced), TEST(windows),
	TEST(unreliable), TEST(datagrams), TEST(mapped_anew), TEST(forked), TEST(moved),
	TEST(moved_under_traffic), TEST(truncated), TEST(unmapped), TEST(implicit),
	TEST(implicit_of_services), TEST(window_onto_it), TEST(reregistered), TEST(advised),
	TEST(late_receive), TEST(late_send), TEST(never), TEST(never_exit), TEST(whose_memory)
)
