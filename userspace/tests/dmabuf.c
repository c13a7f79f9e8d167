// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions of dma-bufs. $EXPORTER says whose: udmabuf (memory of a memfd), or
 * vgem (a graphics card that is none).
 */
#include "lib.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>

#include <linux/udmabuf.h>

#define PAGE	4096
#define SIZE	(40 * PAGE)
/* of most regions: bytes of the buffer before it, bytes, and its address */
#define OFFSET	(3 * PAGE + 96)
#define LENGTH	(30 * PAGE)
#define IOVA	(0x7700000000ULL + OFFSET)

static struct end a, b;

/*
 * ---- Exporters ----
 */

/* a dma-buf, and where this process sees it */
struct buffer {
	int fd;
	uint8_t *map;
};

static struct buffer make_udmabuf(void)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = SIZE };
	struct buffer buffer;
	int device;

	device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	CHECK(device >= 0);
	create.memfd = memfd_create("weft", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	CHECK(create.memfd != -1U);
	CHECK(!ftruncate(create.memfd, SIZE));
	CHECK(!fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	buffer.fd = ioctl(device, UDMABUF_CREATE, &create);
	CHECK(buffer.fd >= 0);
	buffer.map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, create.memfd, 0);
	CHECK(buffer.map != MAP_FAILED);
	close(create.memfd);
	close(device);
	return buffer;
}

/* linux-libc-dev may be without <drm/drm.h> */
struct drm_version {
	int version[3];
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};

struct drm_create_dumb {
	uint32_t height, width, bpp, flags, handle, pitch;
	uint64_t size;
};

struct drm_prime {
	uint32_t handle, flags;
	int32_t fd;
};

#define DRM_VERSION	_IOWR('d', 0x00, struct drm_version)
#define DRM_PRIME	_IOWR('d', 0x2d, struct drm_prime)
#define DRM_CREATE_DUMB	_IOWR('d', 0xb2, struct drm_create_dumb)

static int open_vgem(void)
{
	char path[32], name[16];
	int fd, i;

	for (i = 0; i < 64; i++) {
		struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		memset(name, 0, sizeof(name));
		if (!ioctl(fd, DRM_VERSION, &version) && !strcmp(name, "vgem"))
			return fd;
		close(fd);
	}
	FAIL("no vgem among the cards of /dev/dri");
}

/* @flags: O_RDWR or O_RDONLY */
static struct buffer make_vgem(int flags)
{
	struct drm_create_dumb dumb = { .height = SIZE / PAGE, .width = PAGE, .bpp = 8 };
	struct drm_prime prime = { .flags = O_CLOEXEC | flags };
	int card = open_vgem(), prot = flags == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ;
	struct buffer buffer;

	CHECK(!ioctl(card, DRM_CREATE_DUMB, &dumb));
	CHECK(dumb.size >= SIZE);
	prime.handle = dumb.handle;
	CHECK(!ioctl(card, DRM_PRIME, &prime));
	buffer.fd = prime.fd;
	buffer.map = mmap(NULL, SIZE, prot, MAP_SHARED, prime.fd, 0);
	CHECK(buffer.map != MAP_FAILED);
	close(card);
	return buffer;
}

static bool is_vgem(void)
{
	const char *exporter = getenv("EXPORTER");

	return exporter && !strcmp(exporter, "vgem");
}

static struct buffer make_buffer(void)
{
	return is_vgem() ? make_vgem(O_RDWR) : make_udmabuf();
}

static struct ibv_mr *reg(const struct buffer *buffer)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, OFFSET, LENGTH, IOVA, buffer->fd, ACCESS_ALL);

	CHECK(mr);
	return mr;
}

/*
 * ---- Access ----
 */

/* @opcode between @off of a.buf and [@at, @at + @length) of @mr */
static struct ibv_send_wr *remote(enum ibv_wr_opcode opcode, size_t off, uint32_t length,
				  const struct ibv_mr *mr, uint64_t at)
{
	return at_key(swr(&a, 1, opcode, off, length), mr->rkey, IOVA + at);
}

static void transfer(struct ibv_send_wr *wr)
{
	post(&a, wr);
	expect_ok(a.scq, 1);
}

static void remote_access(void)
{
	struct buffer buffer = make_buffer();
	struct ibv_mr *mr = reg(&buffer);
	uint8_t *region = buffer.map + OFFSET;

	make_pair(&a, &b, CONF());
	/* in, at a place that is aligned to nothing */
	fill(a.buf, 5 * PAGE, 1);
	transfer(remote(IBV_WR_RDMA_WRITE, 0, 5 * PAGE, mr, 1001));
	check_filled(region + 1001, 5 * PAGE, 1);
	check_zero(buffer.map, OFFSET + 1001);
	check_zero(region + 1001 + 5 * PAGE, LENGTH - 1001 - 5 * PAGE);
	/* out, what somebody else has written */
	fill(region + 8 * PAGE, 6 * PAGE, 2);
	transfer(remote(IBV_WR_RDMA_READ, 7, 6 * PAGE, mr, 8 * PAGE));
	check_filled(a.buf + 7, 6 * PAGE, 2);
	/* to the last byte, and not beyond */
	fill(a.buf, 100, 3);
	transfer(remote(IBV_WR_RDMA_WRITE, 0, 100, mr, LENGTH - 100));
	check_filled(region + LENGTH - 100, 100, 3);
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_WRITE, 0, 100, mr, LENGTH - 99));
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_READ, 0, 1, mr, -1UL));
	check_zero(region + LENGTH, SIZE - OFFSET - LENGTH);
	/* and nothing any more */
	SAME(ibv_dereg_mr(mr), 0);
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_WRITE, 0, 8, mr, 0));
	check_filled(region + LENGTH - 100, 100, 3);
	check_works(&a, &b);
}

static void local_access(void)
{
	struct buffer from = make_buffer(), to = make_buffer();
	struct ibv_mr *src = reg(&from), *dst = reg(&to);
	struct ibv_send_wr *wr;
	struct ibv_recv_wr *recv;
	int i;

	make_pair(&a, &b, CONF());
	fill(from.map + OFFSET + 5, 20 * PAGE, 4);
	for (i = 1; i <= 20 * PAGE; i = i * 3 + 1) {
		recv = rwr(&b, 2, 0, 1);
		recv->sg_list->addr = IOVA + 16;
		recv->sg_list->length = i;
		recv->sg_list->lkey = dst->lkey;
		post_r(&b, recv);
		wr = swr(&a, 1, IBV_WR_SEND, 0, 1);
		wr->sg_list->addr = IOVA + 5;
		wr->sg_list->length = i;
		wr->sg_list->lkey = src->lkey;
		transfer(wr);
		SAME(expect_ok(b.rcq, 2).byte_len, i);
		check_filled(to.map + OFFSET + 16, i, 4);
		check_zero(to.map + OFFSET + 16 + i, PAGE);
		memset(to.map + OFFSET + 16, 0, i);
	}
	/* from one to the other, and back to another place */
	wr = remote(IBV_WR_RDMA_WRITE, 0, 1, dst, 300);
	wr->sg_list[0] = (struct ibv_sge){ IOVA + 5, 10 * PAGE, src->lkey };
	transfer(wr);
	check_filled(to.map + OFFSET + 300, 10 * PAGE, 4);
	memset(from.map, 0, SIZE);
	wr = remote(IBV_WR_RDMA_READ, 0, 1, dst, 300);
	wr->sg_list[0] = (struct ibv_sge){ IOVA + 2 * PAGE, 10 * PAGE, src->lkey };
	transfer(wr);
	check_filled(from.map + OFFSET + 2 * PAGE, 10 * PAGE, 4);
}

static void atomics(void)
{
	struct buffer buffer = make_buffer();
	struct ibv_mr *mr = reg(&buffer);
	uint64_t *word = (uint64_t *)(buffer.map + OFFSET + PAGE);
	struct ibv_send_wr *wr;
	int i;

	make_pair(&a, &b, CONF());
	*word = 5;
	for (i = 0; i < 10; i++) {
		wr = remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, mr, PAGE);
		wr->wr.atomic.compare_add = 100;
		transfer(wr);
		SAME(*(uint64_t *)a.buf, 5 + i * 100);
	}
	SAME(*word, 1005);
	wr = remote(IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, mr, PAGE);
	wr->wr.atomic.compare_add = 1005;
	wr->wr.atomic.swap = -7;
	transfer(wr);
	SAME(*(uint64_t *)a.buf, 1005);
	SAME(*word, -7);
	SAME(word[-1], 0);
	SAME(word[1], 0);
}

/* rights are those of the region */
static void rights(void)
{
	struct buffer buffer = make_buffer();
	struct ibv_mr *mr;

	make_pair(&a, &b, CONF());
	fill(buffer.map + OFFSET, 100, 5);
	mr = ibv_reg_dmabuf_mr(pd, OFFSET, LENGTH, IOVA, buffer.fd, IBV_ACCESS_REMOTE_READ);
	CHECK(mr);
	transfer(remote(IBV_WR_RDMA_READ, 0, 100, mr, 0));
	check_filled(a.buf, 100, 5);
	expect_refusal(&a, &b, remote(IBV_WR_RDMA_WRITE, 0, 100, mr, 0));
	check_filled(buffer.map + OFFSET, 100, 5);
}

/* of no length, at either end: only accesses of no bytes */
static void empty(void)
{
	struct buffer buffer = make_buffer();
	uint64_t offset;

	make_pair(&a, &b, CONF());
	for (offset = 0; offset <= SIZE; offset += SIZE) {
		/* the core wants the two at the same place of a page */
		struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, offset, 0, IOVA - OFFSET, buffer.fd,
						      ACCESS_ALL);

		CHECK(mr);
		transfer(remote(IBV_WR_RDMA_WRITE, 0, 0, mr, -OFFSET));
		transfer(remote(IBV_WR_RDMA_READ, 0, 0, mr, -OFFSET));
		expect_refusal(&a, &b, remote(IBV_WR_RDMA_WRITE, 0, 1, mr, -OFFSET));
		expect_refusal(&a, &b, remote(IBV_WR_RDMA_READ, 0, 1, mr, -OFFSET - 1));
		SAME(ibv_dereg_mr(mr), 0);
	}
	check_zero(buffer.map, SIZE);
}

/*
 * ---- Life ----
 */

/* the region keeps the memory, whoever lets go of it */
static void all_is_closed(void)
{
	struct buffer buffer = make_buffer();
	struct ibv_mr *mr = reg(&buffer), *other = reg(&buffer);

	make_pair(&a, &b, CONF());
	fill(buffer.map + OFFSET, 2 * PAGE, 6);
	munmap(buffer.map, SIZE);
	close(buffer.fd);
	SAME(ibv_dereg_mr(other), 0);
	transfer(remote(IBV_WR_RDMA_READ, 0, 2 * PAGE, mr, 0));
	check_filled(a.buf, 2 * PAGE, 6);
	fill(a.buf, 2 * PAGE, 7);
	transfer(remote(IBV_WR_RDMA_WRITE, 0, 2 * PAGE, mr, 100));
	memset(a.buf, 0, 2 * PAGE);
	transfer(remote(IBV_WR_RDMA_READ, 0, 2 * PAGE, mr, 100));
	check_filled(a.buf, 2 * PAGE, 7);
	SAME(ibv_dereg_mr(mr), 0);
}

static void process_ends(void)
{
	struct buffer buffer = make_buffer();
	int i, status;
	pid_t pid;

	for (i = 0; i < 10; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			open_device();
			reg(&buffer);
			reg(&buffer);
			kill(getpid(), SIGKILL);
		}
		SAME(waitpid(pid, &status, 0), pid);
		CHECK(WIFSIGNALED(status));
	}
	make_pair(&a, &b, CONF());
	fill(buffer.map + OFFSET, 100, 8);
	transfer(remote(IBV_WR_RDMA_READ, 0, 100, reg(&buffer), 0));
	check_filled(a.buf, 100, 8);
}

/*
 * ---- What is refused ----
 */

static struct ibv_mr *try(int fd, uint64_t offset, size_t length, uint64_t iova, int access)
{
	return ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

static void refused(void)
{
	struct buffer buffer = make_buffer();
	int fd = buffer.fd, null = open("/dev/null", O_RDWR);
	struct ibv_mr *mr;

	note("file");
	REFUSED(try(-1, 0, PAGE, 0, ACCESS_ALL), EBADF);
	REFUSED(try(1000, 0, PAGE, 0, ACCESS_ALL), EBADF);
	REFUSED(try(null, 0, PAGE, 0, ACCESS_ALL), EINVAL);
	REFUSED(try(ctx->cmd_fd, 0, PAGE, 0, ACCESS_ALL), EINVAL);
	note("place");
	REFUSED(try(fd, SIZE + PAGE, 0, 0, ACCESS_ALL), EINVAL);
	REFUSED(try(fd, 0, SIZE + 1, 0, ACCESS_ALL), EINVAL);
	REFUSED(try(fd, PAGE, SIZE, PAGE, ACCESS_ALL), EINVAL);
	REFUSED(try(fd, SIZE, 1, 0, ACCESS_ALL), EINVAL);
	REFUSED(try(fd, SIZE + PAGE, 1, 0, ACCESS_ALL), EINVAL);
	REFUSED(try(fd, -PAGE, 2 * PAGE, 0, ACCESS_ALL), EINVAL);
	REFUSED(try(fd, PAGE, -1UL, 0, ACCESS_ALL), EINVAL);
	REFUSED(try(fd, 0, -1UL, 0, ACCESS_ALL), EINVAL);
	note("address");
	REFUSED(try(fd, 0, PAGE, 8, ACCESS_ALL), EINVAL);
	REFUSED(try(fd, 0, 2 * PAGE, -PAGE, ACCESS_ALL), EINVAL);
	note("rights");
	REFUSED(try(fd, 0, PAGE, 0, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	CHECK(!try(fd, 0, PAGE, 0, ACCESS_ALL | IBV_ACCESS_MW_BIND));
	CHECK(!try(fd, 0, PAGE, 0, ACCESS_ALL | IBV_ACCESS_ON_DEMAND));
	CHECK(!try(fd, 0, PAGE, 0, ACCESS_ALL | 1 << 18));
	note(NULL);
	/* all of it, the last byte, a hint */
	CHECK(try(fd, 0, SIZE, 0, ACCESS_ALL));
	CHECK(try(fd, SIZE - 1, 1, PAGE - 1, ACCESS_ALL));
	mr = try(fd, 0, SIZE, 0, ACCESS_ALL | IBV_ACCESS_RELAXED_ORDERING);
	CHECK(mr);
	/* it stays as it is */
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL));
	SAME(ibv_dereg_mr(mr), 0);
	close(fd);
	REFUSED(try(fd, 0, PAGE, 0, ACCESS_ALL), EBADF);
}

/* a file that is open for reading */
static void read_only(void)
{
	struct buffer buffer;

	if (!is_vgem())
		return;
	buffer = make_vgem(O_RDONLY);
	REFUSED(try(buffer.fd, 0, PAGE, 0, ACCESS_ALL), EACCES);
	REFUSED(try(buffer.fd, 0, PAGE, 0, IBV_ACCESS_LOCAL_WRITE), EACCES);
	CHECK(try(buffer.fd, 0, PAGE, 0, IBV_ACCESS_REMOTE_READ));
}

TESTS(
	TEST(remote_access), TEST(local_access), TEST(atomics), TEST(rights), TEST(empty),
	TEST(all_is_closed), TEST(process_ends), TEST(refused), TEST(read_only)
)
