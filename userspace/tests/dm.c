// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: what is allocated, copied, registered and refused, and that
 * every operation reaches it.
 */
#include "lib.h"

#include <signal.h>

#define PAGE	4096
/* of most cases: some pages, and a piece of one */
#define LENGTH	(5 * PAGE + 104)
/* what is no alignment by accident */
#define OFFSET	(PAGE - 24)

static struct end a, b;

static uint64_t max_size(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	return attr.max_dm_size;
}

static struct ibv_dm *try_dm(size_t length, uint32_t log_align, uint32_t comp_mask)
{
	struct ibv_alloc_dm_attr attr = {
		.length = length,
		.log_align_req = log_align,
		.comp_mask = comp_mask,
	};

	return ibv_alloc_dm(ctx, &attr);
}

static struct ibv_dm *make_dm(size_t length)
{
	struct ibv_dm *dm = try_dm(length, 0, 0);

	CHECK(dm);
	return dm;
}

static struct ibv_mr *make_mr(struct ibv_dm *dm, uint64_t offset, size_t length)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(pd, dm, offset, length,
					  ACCESS_ALL | IBV_ACCESS_ZERO_BASED);

	CHECK(mr);
	return mr;
}

/* [@offset, @offset + @length) of @dm, in memory that is not to be freed */
static uint8_t *content(struct ibv_dm *dm, uint64_t offset, size_t length)
{
	uint8_t *p = malloc(length);

	CHECK(p);
	SAME(ibv_memcpy_from_dm(p, dm, offset, length), 0);
	return p;
}

/*
 * ---- Memory ----
 */

static void allocate(void)
{
	uint64_t max = max_size();
	struct ibv_dm *dm, *small;

	CHECK(max >= 1 << 20);
	REFUSED(try_dm(0, 0, 0), EINVAL);
	REFUSED(try_dm(PAGE, 0, 1), EINVAL);
	REFUSED(try_dm(PAGE, 13, 0), EINVAL);
	REFUSED(try_dm(PAGE, 255, 0), EINVAL);
	REFUSED(try_dm(max + 1, 0, 0), ENOMEM);
	REFUSED(try_dm(-1UL, 0, 0), ENOMEM);
	dm = try_dm(PAGE, 12, 0);
	CHECK(dm);
	SAME(ibv_free_dm(dm), 0);
	/* all there is, and then nothing; it comes back */
	small = make_dm(1);
	REFUSED(try_dm(max, 0, 0), ENOMEM);
	dm = make_dm(max - PAGE);
	REFUSED(try_dm(1, 0, 0), ENOMEM);
	SAME(ibv_free_dm(small), 0);
	small = make_dm(PAGE);
	SAME(ibv_free_dm(dm), 0);
	SAME(ibv_free_dm(small), 0);
	dm = make_dm(max);
	SAME(ibv_free_dm(dm), 0);
}

static void copies(void)
{
	struct ibv_dm *dm = make_dm(LENGTH), *other = make_dm(LENGTH);
	uint8_t *p = memory(LENGTH);

	check_zero(content(dm, 0, LENGTH), LENGTH);
	fill(p, LENGTH, 1);
	SAME(ibv_memcpy_to_dm(dm, 0, p, LENGTH), 0);
	check_filled(content(dm, 0, LENGTH), LENGTH, 1);
	check_zero(content(other, 0, LENGTH), LENGTH);
	fill(p, 1000, 2);
	SAME(ibv_memcpy_to_dm(dm, OFFSET, p, 1000), 0);
	check_filled(content(dm, OFFSET, 1000), 1000, 2);
	check_filled(content(dm, 0, OFFSET), OFFSET, 1);
	SAME(ibv_memcpy_to_dm(dm, LENGTH, p, 0), 0);
	/* beyond the end */
	SAME(ibv_memcpy_to_dm(dm, LENGTH, p, 4), EFAULT);
	SAME(ibv_memcpy_to_dm(dm, 4, p, LENGTH), EFAULT);
	SAME(ibv_memcpy_to_dm(dm, -4UL, p, 8), EFAULT);
	SAME(ibv_memcpy_to_dm(dm, 4, p, -4UL), EFAULT);
	SAME(ibv_memcpy_from_dm(p, dm, LENGTH - 4, 8), EFAULT);
	SAME(ibv_memcpy_from_dm(p, dm, -8UL, 8), EFAULT);
	/* as on hardware */
	SAME(ibv_memcpy_to_dm(dm, 2, p, 4), EINVAL);
	SAME(ibv_memcpy_to_dm(dm, 4, p, 3), EINVAL);
	SAME(ibv_memcpy_from_dm(p, dm, 1, 4), EINVAL);
	SAME(ibv_memcpy_from_dm(p, dm, 0, 5), EINVAL);
	check_filled(content(dm, OFFSET, 1000), 1000, 2);
	SAME(ibv_free_dm(dm), 0);
	/* it is cleared for the next one */
	dm = make_dm(LENGTH);
	check_zero(content(dm, 0, LENGTH), LENGTH);
}

/* a process that ends gives all of it back, regions or not */
static void process_ends(void)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 4; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			open_device();
			make_mr(make_dm(max_size()), 0, PAGE);
			if (i % 2)
				_exit(0);
			kill(getpid(), SIGKILL);
		}
		SAME(waitpid(pid, &status, 0), pid);
		SAME(WIFSIGNALED(status), i % 2 == 0);
	}
	SAME(ibv_free_dm(make_dm(max_size())), 0);
}

/*
 * ---- Regions ----
 */

static struct ibv_mr *try_mr(struct ibv_dm *dm, uint64_t offset, size_t length, int access)
{
	return ibv_reg_dm_mr(pd, dm, offset, length, access);
}

static void reg_refused(void)
{
	struct ibv_dm *dm = make_dm(LENGTH);
	int zero = IBV_ACCESS_ZERO_BASED;
	struct ibv_mr *mr;

	REFUSED(try_mr(dm, 0, LENGTH, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	REFUSED(try_mr(dm, 0, LENGTH, zero | IBV_ACCESS_REMOTE_WRITE), EINVAL);
	REFUSED(try_mr(dm, 0, LENGTH, zero | IBV_ACCESS_MW_BIND), EOPNOTSUPP);
	REFUSED(try_mr(dm, 0, LENGTH, zero | IBV_ACCESS_HUGETLB), EOPNOTSUPP);
	REFUSED(try_mr(dm, 0, LENGTH + 1, zero), EINVAL);
	REFUSED(try_mr(dm, 1, LENGTH, zero), EINVAL);
	REFUSED(try_mr(dm, LENGTH, 1, zero), EINVAL);
	REFUSED(try_mr(dm, -1UL, 2, zero), EINVAL);
	REFUSED(try_mr(dm, 1, -1UL, zero), EINVAL);
	/* nothing is, and so are hints */
	mr = try_mr(dm, LENGTH, 0, zero);
	CHECK(mr);
	SAME(ibv_dereg_mr(mr), 0);
	mr = try_mr(dm, LENGTH - 1, 1, zero | IBV_ACCESS_RELAXED_ORDERING);
	CHECK(mr);
	SAME(ibv_dereg_mr(mr), 0);
	SAME(ibv_free_dm(dm), 0);
}

static void free_with_regions(void)
{
	struct ibv_dm *dm = make_dm(LENGTH);
	struct ibv_mr *mr = make_mr(dm, 0, LENGTH), *other = make_mr(dm, 8, 100);
	uint8_t *p = memory(LENGTH);

	fill(p, LENGTH, 3);
	SAME(ibv_memcpy_to_dm(dm, 0, p, LENGTH), 0);
	REFUSED(ibv_free_dm(dm), EBUSY);
	SAME(ibv_dereg_mr(mr), 0);
	REFUSED(ibv_free_dm(dm), EBUSY);
	check_filled(content(dm, 0, LENGTH), LENGTH, 3);
	/* such a region stays as it is */
	CHECK(ibv_rereg_mr(other, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL));
	CHECK(ibv_rereg_mr(other, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p, LENGTH, 0));
	SAME(ibv_dereg_mr(other), 0);
	SAME(ibv_free_dm(dm), 0);
}

/* @opcode between @off of a.buf and [@addr, @addr + @length) of @mr */
static struct ibv_send_wr *remote(enum ibv_wr_opcode opcode, size_t off, uint32_t length,
				  const struct ibv_mr *mr, uint64_t addr)
{
	return at_key(swr(&a, 1, opcode, off, length), mr->rkey, addr);
}

static void transfer(struct ibv_send_wr *wr)
{
	post(&a, wr);
	expect_ok(a.scq, 1);
}

static void remote_access(void)
{
	struct ibv_dm *dm = make_dm(LENGTH);
	struct ibv_mr *mr = make_mr(dm, OFFSET, 3 * PAGE), *read_only;

	make_pair(&a, &b, CONF());
	fill(a.buf, 2 * PAGE, 4);
	transfer(remote(IBV_WR_RDMA_WRITE, 0, 2 * PAGE, mr, 4));
	check_filled(content(dm, OFFSET + 4, 2 * PAGE), 2 * PAGE, 4);
	check_zero(content(dm, 0, OFFSET + 4), OFFSET + 4);
	memset(a.buf, 0, 2 * PAGE);
	transfer(remote(IBV_WR_RDMA_READ, 0, 2 * PAGE, mr, 4));
	check_filled(a.buf, 2 * PAGE, 4);
	/* to the last byte, and not beyond */
	fill(a.buf, 100, 5);
	transfer(remote(IBV_WR_RDMA_WRITE, 0, 100, mr, 3 * PAGE - 100));
	check_filled(content(dm, OFFSET + 3 * PAGE - 100, 100), 100, 5);
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_WRITE, 0, 100, mr, 3 * PAGE - 99));
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_READ, 0, 8, mr, -8UL));
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_WRITE, 0, 8, mr, 3 * PAGE));
	/* only what was granted */
	read_only = ibv_reg_dm_mr(pd, dm, 0, LENGTH,
				  IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_READ);
	CHECK(read_only);
	transfer(remote(IBV_WR_RDMA_READ, 0, 100, read_only, OFFSET + 3 * PAGE - 100));
	check_filled(a.buf, 100, 5);
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_WRITE, 0, 8, read_only, 0));
	expect_refusal(&a, &b, remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, read_only, 0));
	check_filled(content(dm, OFFSET + 3 * PAGE - 100, 100), 100, 5);
	/* and nothing any more */
	SAME(ibv_dereg_mr(mr), 0);
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_WRITE, 0, 8, mr, 0));
	check_works(&a, &b);
}

static uint64_t word(struct ibv_dm *dm, uint64_t offset)
{
	uint64_t value;

	SAME(ibv_memcpy_from_dm(&value, dm, offset, 8), 0);
	return value;
}

static void atomics(void)
{
	struct ibv_dm *dm = make_dm(LENGTH);
	struct ibv_mr *mr = make_mr(dm, OFFSET, 2 * PAGE), *odd;
	uint64_t value = 40;
	struct ibv_send_wr *wr;
	int i;

	make_pair(&a, &b, CONF());
	SAME(ibv_memcpy_to_dm(dm, OFFSET + 16, &value, 8), 0);
	for (i = 0; i < 10; i++) {
		wr = remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, mr, 16);
		wr->wr.atomic.compare_add = 7;
		transfer(wr);
		SAME(*(uint64_t *)a.buf, 40 + i * 7);
	}
	SAME(word(dm, OFFSET + 16), 110);
	for (i = 0; i < 2; i++) {
		wr = remote(IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, mr, 16);
		wr->wr.atomic.compare_add = 110;
		wr->wr.atomic.swap = 1ULL << 60;
		transfer(wr);
		SAME(*(uint64_t *)a.buf, i ? 1ULL << 60 : 110);
	}
	SAME(word(dm, OFFSET + 16), 1ULL << 60);
	SAME(word(dm, OFFSET + 8), 0);
	SAME(word(dm, OFFSET + 24), 0);
	/* no word of such a region is aligned */
	odd = make_mr(dm, OFFSET + 4, PAGE);
	expect_refusal(&a, &b, remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, odd, 0));
}

/* its lkey: what is sent, received, read from, and scattered */
static void local_access(void)
{
	struct ibv_dm *from = make_dm(LENGTH), *to = make_dm(LENGTH);
	struct ibv_mr *src = make_mr(from, OFFSET, 4 * PAGE);
	struct ibv_mr *dst = make_mr(to, 12, 4 * PAGE), *read_only;
	uint8_t *p = memory(LENGTH);
	struct ibv_send_wr *wr;
	struct ibv_recv_wr *recv;

	make_pair(&a, &b, CONF());
	fill(p, 3 * PAGE, 6);
	SAME(ibv_memcpy_to_dm(from, OFFSET + 8, p, 3 * PAGE), 0);
	/* received in two pieces, one of them in usual memory */
	recv = rwr(&b, 2, 0, 1000);
	recv->num_sge = 2;
	recv->sg_list[1] = (struct ibv_sge){ .addr = 20, .length = 3 * PAGE, .lkey = dst->lkey };
	post_r(&b, recv);
	wr = swr(&a, 1, IBV_WR_SEND, 0, 3 * PAGE);
	wr->sg_list[0].addr = 8;
	wr->sg_list[0].lkey = src->lkey;
	transfer(wr);
	SAME(expect_ok(b.rcq, 2).byte_len, 3 * PAGE);
	check_filled(b.buf, 1000, 6);
	memcpy(p, b.buf, 1000);
	SAME(ibv_memcpy_from_dm(p + 1000, to, 32, 3 * PAGE - 1000), 0);
	check_filled(p, 3 * PAGE, 6);
	/* written from one to the other, read back into a third place */
	wr = remote(IBV_WR_RDMA_WRITE, 0, 2 * PAGE, dst, 100);
	wr->sg_list[0].addr = 8;
	wr->sg_list[0].lkey = src->lkey;
	transfer(wr);
	check_filled(content(to, 112, 2 * PAGE), 2 * PAGE, 6);
	wr = remote(IBV_WR_RDMA_READ, 0, PAGE, dst, 100);
	wr->sg_list[0].addr = 3 * PAGE;
	wr->sg_list[0].lkey = src->lkey;
	transfer(wr);
	check_filled(content(from, OFFSET + 3 * PAGE, PAGE), PAGE, 6);
	/* what may not be written, is not */
	read_only = ibv_reg_dm_mr(pd, from, 0, LENGTH, IBV_ACCESS_ZERO_BASED);
	CHECK(read_only);
	wr = remote(IBV_WR_RDMA_READ, 0, PAGE, dst, 0);
	wr->sg_list[0].addr = 0;
	wr->sg_list[0].lkey = read_only->lkey;
	post(&a, wr);
	expect_wc(a.scq, 1, IBV_WC_LOC_PROT_ERR);
	check_zero(content(from, 0, OFFSET + 8), OFFSET + 8);
}

TESTS(
	TEST(allocate), TEST(copies), TEST(process_ends), TEST(reg_refused),
	TEST(free_with_regions), TEST(remote_access), TEST(atomics), TEST(local_access)
)
