// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of memory that is not simply a process's own: huge pages, memory that is
 * shared, files.
 */
#include "lib.h"

#include <fcntl.h>

#define HUGE	(2 << 20)
#define SIZE	(2 * HUGE)
#define LENGTH	20000
/* across the end of a page, and of a huge page */
#define AT	(HUGE - 12345)

static struct end a, b;

static struct ibv_mr *reg(void *p, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, p, SIZE, access);

	CHECK(mr);
	return mr;
}

static void *map(int prot, int flags, int fd)
{
	void *p = mmap(NULL, SIZE, prot, flags, fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void write_at(struct ibv_mr *mr, size_t off, int seed)
{
	fill(a.buf, LENGTH, seed);
	post(&a, at_key(swr(&a, seed, IBV_WR_RDMA_WRITE, 0, LENGTH), mr->rkey,
			(uintptr_t)mr->addr + off));
	expect_ok(a.scq, seed);
}

static void read_at(struct ibv_mr *mr, size_t off, int seed)
{
	memset(a.buf, 0, LENGTH);
	post(&a, at_key(swr(&a, seed, IBV_WR_RDMA_READ, 0, LENGTH), mr->rkey,
			(uintptr_t)mr->addr + off));
	expect_ok(a.scq, seed);
	check_filled(a.buf, LENGTH, seed);
}

/* what is in @seen is what is in the region, whoever has put it there */
static void exchange(struct ibv_mr *mr, uint8_t *seen)
{
	static const size_t offs[] = { 0, 4095, AT, SIZE - LENGTH };
	int i;

	for (i = 0; i < ARRAY_SIZE(offs); i++) {
		note("at %zu", offs[i]);
		write_at(mr, offs[i], 1 + i);
		check_filled(seen + offs[i], LENGTH, 1 + i);
		fill(seen + offs[i], LENGTH, 11 + i);
		read_at(mr, offs[i], 11 + i);
	}
	/* and not one byte more */
	post(&a, at_key(swr(&a, 99, IBV_WR_RDMA_WRITE, 0, LENGTH), mr->rkey,
			(uintptr_t)mr->addr + SIZE - LENGTH + 1));
	expect_wc(a.scq, 99, IBV_WC_REM_ACCESS_ERR);
	SAME(ibv_dereg_mr(mr), 0);
}

static void huge_pages(void)
{
	uint8_t *p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);

	make_pair(&a, &b, CONF());
	exchange(reg(p, ACCESS_ALL), p);
}

/* seen by another mapping of it */
static void shared(int flags)
{
	int fd = memfd_create("weft", flags);

	CHECK(fd >= 0);
	SAME(ftruncate(fd, SIZE), 0);
	make_pair(&a, &b, CONF());
	exchange(reg(map(PROT_READ | PROT_WRITE, MAP_SHARED, fd), ACCESS_ALL),
		 map(PROT_READ | PROT_WRITE, MAP_SHARED, fd));
}

static void shared_memory(void)
{
	shared(0);
}

static void shared_huge_pages(void)
{
	shared(MFD_HUGETLB);
}

/* SIZE bytes, of which LENGTH at AT are of pattern 1 */
static int make_file(void)
{
	char name[] = "/tmp/weft-mappings-XXXXXX";
	uint8_t data[LENGTH];
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	unlink(name);
	SAME(ftruncate(fd, SIZE), 0);
	fill(data, LENGTH, 1);
	SAME(pwrite(fd, data, LENGTH, AT), LENGTH);
	return fd;
}

/* what is written to it is not in the file */
static void private_file(void)
{
	uint8_t data[LENGTH];
	int fd = make_file();
	uint8_t *p = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	struct ibv_mr *mr = reg(p, ACCESS_ALL);

	make_pair(&a, &b, CONF());
	read_at(mr, AT, 1);
	write_at(mr, AT, 2);
	check_filled(p + AT, LENGTH, 2);
	SAME(pread(fd, data, LENGTH, AT), LENGTH);
	check_filled(data, LENGTH, 1);
	exchange(mr, p);
}

/* a mapping that only reads */
static void read_only_file(void)
{
	int fd = make_file();
	uint8_t *p = map(PROT_READ, MAP_PRIVATE, fd);
	struct ibv_mr *mr;

	make_pair(&a, &b, CONF());
	REFUSED(ibv_reg_mr(pd, p, SIZE, ACCESS_ALL), EFAULT);
	mr = reg(p, IBV_ACCESS_REMOTE_READ);
	read_at(mr, AT, 1);
	post(&a, at_key(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), mr->rkey, (uintptr_t)p));
	expect_wc(a.scq, 2, IBV_WC_REM_ACCESS_ERR);
	SAME(ibv_dereg_mr(mr), 0);
}

/* a region keeps its pages when the mapping goes, and no others come */
static void unmapped(void)
{
	int fd = memfd_create("weft", 0);
	uint8_t *seen, *p;
	struct ibv_mr *mr;

	CHECK(fd >= 0);
	SAME(ftruncate(fd, SIZE), 0);
	seen = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	p = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	mr = reg(p, ACCESS_ALL);
	SAME(munmap(p, SIZE), 0);
	CHECK(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == p);
	make_pair(&a, &b, CONF());
	write_at(mr, AT, 1);
	check_filled(seen + AT, LENGTH, 1);
	check_zero(p, SIZE);
	SAME(ibv_dereg_mr(mr), 0);
}

TESTS(
	TEST(huge_pages), TEST(shared_memory), TEST(shared_huge_pages), TEST(private_file),
	TEST(read_only_file), TEST(unmapped)
)
