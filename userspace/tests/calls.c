// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * System calls that make no sense: doorbells, mappings, driver data of uverbs
 * commands, forks, limits.
 */
#include "lib.h"
#include "uverbs.h"

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/weft-abi.h>

static struct end a, b;

/*
 * ---- Doorbells ----
 */

static int ring(int fd, unsigned long cmd, unsigned long arg)
{
	errno = 0;
	return ioctl(fd, cmd, arg) ? errno : 0;
}

static void doorbell_arguments(void)
{
	int fd = doorbell_fd(), i;
	unsigned long qpn;
	uint32_t *word;
	char byte;

	make_pair(&a, &b, CONF());
	qpn = a.qp->qp_num;
	SAME(ring(fd, WEFT_DOORBELL_SEND, qpn), 0);
	SAME(ring(fd, WEFT_DOORBELL_RECV, qpn), 0);
	/* QP 0, QP 1 (of the kernel), none */
	for (i = 0; i < 5; i++) {
		unsigned long no = (unsigned long[]){ 0, 1, 2, 0xffffff, -1UL }[i];

		SAME(ring(fd, WEFT_DOORBELL_SEND, no), EINVAL);
		SAME(ring(fd, WEFT_DOORBELL_RECV, no), EINVAL);
		SAME(ring(fd, WEFT_ASK_SEND, no), EINVAL);
		SAME(ring(fd, WEFT_ASK_RECV, no), EINVAL);
	}
	for (i = 0; i < 0x10000; i++)
		if ((i < WEFT_DOORBELL_SEND || i > WEFT_ASK_RECV) &&
		    ring(fd, i, qpn) == 0 && i != 0x5450 && i != 0x5451 && i != 0x5421 &&
		    i != 0x5452 && i != 0x5460)
			FAIL("ioctl %#x of a doorbell succeeded", i);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~(O_NONBLOCK | O_ASYNC));
	CHECK(read(fd, &byte, 1) < 0);
	CHECK(write(fd, &byte, 1) < 0);
	CHECK(mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096) == MAP_FAILED);
	/* the process may write to its page, which changes nothing for others */
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(word != MAP_FAILED && !*word);
	memset(word, 0xff, 4096);
	check_works(&a, &b);
	memset(word, 0, 4096);
	SAME(munmap(word, 4096), 0);
	check_works(&a, &b);
	/* a QP that was */
	SAME(ibv_destroy_qp(a.qp), 0);
	SAME(ring(fd, WEFT_DOORBELL_SEND, qpn), EINVAL);
}

/* all QPs of another process, while it works */
static void doorbell_of_others(void)
{
	int fd = doorbell_fd(), status, i, *shared;
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		open_device();
		make_pair(&a, &b, CONF());
		to_state(&a, IBV_QPS_ERR);
		to_state(&a, IBV_QPS_RESET);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
		shared[1] = a.qp->qp_num;
		shared[2] = b.qp->qp_num;
		__atomic_store_n(&shared[0], 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&shared[0], __ATOMIC_ACQUIRE) == 1)
			check_works(&a, &b);
		_exit(0);
	}
	while (!__atomic_load_n(&shared[0], __ATOMIC_ACQUIRE))
		CHECK(waitpid(pid, &status, WNOHANG) == 0);
	for (i = 0; i < 5000; i++) {
		SAME(ring(fd, WEFT_DOORBELL_SEND, shared[1 + i % 2]), EINVAL);
		SAME(ring(fd, WEFT_DOORBELL_RECV, shared[1 + i % 2]), EINVAL);
	}
	__atomic_store_n(&shared[0], 2, __ATOMIC_RELEASE);
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
}

/*
 * ---- Mappings ----
 */

static void map_fails(size_t size, int prot, int flags, uint64_t offset)
{
	void *p = mmap(NULL, size, prot, flags, ctx->cmd_fd, offset);

	if (p != MAP_FAILED)
		FAIL("mmap of %#zx bytes at %#llx, protection %d, flags %#x succeeded",
		     size, (unsigned long long)offset, prot, flags);
}

static void mappings(void)
{
	struct map maps[4], *map = &maps[0];
	struct ibv_cq *cq;
	int i, bit, prot = PROT_READ | PROT_WRITE;
	void *p;

	cq = ibv_create_cq(ctx, 1000, NULL, NULL, 0);
	CHECK(cq);
	SAME(new_maps(maps, 4), 1);
	/* as it is, once more */
	p = mmap(NULL, map->size, prot, MAP_SHARED, ctx->cmd_fd, map->offset);
	CHECK(p != MAP_FAILED);
	memset(p, 0x5a, map->size);
	/* may not grow */
	CHECK(mremap(p, map->size, map->size + 4096, MREMAP_MAYMOVE) == MAP_FAILED);
	map_fails(map->size + 4096, prot, MAP_SHARED, map->offset);
	map_fails(map->size - 4096, prot, MAP_SHARED, map->offset);
	map_fails(4096, prot, MAP_SHARED, map->offset);
	map_fails(map->size - 4096, prot, MAP_SHARED, map->offset + 4096);
	map_fails(map->size, prot, MAP_PRIVATE, map->offset);
	map_fails(1UL << 40, prot, MAP_SHARED, map->offset);
	for (bit = 12; bit < 63; bit++)
		map_fails(map->size, prot, MAP_SHARED, map->offset ^ 1UL << bit);
	for (i = 0; i < 1000; i++)
		if ((uint64_t)i << 12 != map->offset)
			map_fails(map->size, prot, MAP_SHARED, (uint64_t)i << 12);
	/* data that is executed is no use but no harm: only no crash is asked for */
	mmap(NULL, map->size, prot | PROT_EXEC, MAP_SHARED, ctx->cmd_fd, map->offset);
	mprotect(map->start, map->size, PROT_NONE);
	mprotect(map->start, map->size, prot);
	/* it outlives the queue, and then holds nothing of anybody */
	SAME(ibv_destroy_cq(cq), 0);
	memset(p, 0xa5, map->size);
	map_fails(map->size, prot, MAP_SHARED, map->offset);
	for (i = 0; i < 20; i++) {
		cq = ibv_create_cq(ctx, 1000, NULL, NULL, 0);
		CHECK(cq);
		memset(p, i, map->size);
		SAME(ibv_poll_cq(cq, 1, &(struct ibv_wc){}), 0);
		SAME(ibv_destroy_cq(cq), 0);
	}
	munmap(p, map->size);
}

/* without its rings a process has nothing, and the kernel does not care */
static void unmapped(void)
{
	struct map maps[16];
	int num, i;

	new_maps(maps, 16);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
	num = new_maps(maps, 16);
	SAME(num, 6);
	post_recv(&b, 1, 0, 100);
	for (i = 0; i < num; i++)
		munmap(maps[i].start, maps[i].size);
	ring(doorbell_fd(), WEFT_DOORBELL_SEND, a.qp->qp_num);
	to_state(&b, IBV_QPS_ERR);
	to_state(&a, IBV_QPS_ERR);
	sleep_ms(50);
	/* what the provider does without them is another matter: this ends here */
}

/* a child has the parent's rings too; that is no harm to anybody else */
static void forked(void)
{
	int i, status;
	pid_t pid;

	make_pair(&a, &b, CONF());
	check_works(&a, &b);
	for (i = 0; i < 10; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			/* half of them go without a word */
			if (i % 2)
				_exit(0);
			ring(doorbell_fd(), WEFT_DOORBELL_SEND, a.qp->qp_num);
			open_device();
			make_pair(&a, &b, CONF());
			check_works(&a, &b);
			exit(0);
		}
		check_works(&a, &b);
		SAME(waitpid(pid, &status, 0), pid);
		SAME(status, 0);
		check_works(&a, &b);
	}
	/* the parent goes first */
	pid = fork();
	if (!pid) {
		pid = fork();
		if (pid)
			_exit(0);
		sleep_ms(200);
		ring(doorbell_fd(), WEFT_DOORBELL_SEND, a.qp->qp_num);
		_exit(0);
	}
	SAME(waitpid(pid, &status, 0), pid);
}

/*
 * ---- Commands ----
 */

static int uverbs_open(void)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", ctx->device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static uint32_t response[256];

/* struct ib_uverbs_get_context ends with an array, which is this */
struct get_context {
	uint64_t response;
	struct weft_alloc_ucontext_req req;
};

static struct get_context get_context(void)
{
	return (struct get_context){
		.response = (uintptr_t)response,
		.req.abi_version = WEFT_ABI_VERSION,
	};
}

#define GET_CONTEXT_OUT	(sizeof(struct ib_uverbs_get_context_resp) + \
			 sizeof(struct weft_alloc_ucontext_resp))

/* Return: errno */
static int try_context(const struct get_context *get, size_t in, size_t out)
{
	int fd = uverbs_open(), ret;

	ret = command(fd, IB_USER_VERBS_CMD_GET_CONTEXT, get, in, out);
	if (!ret) {
		struct ib_uverbs_get_context_resp *resp = (void *)response;
		struct weft_alloc_ucontext_resp *weft = (void *)(resp + 1);

		close(resp->async_fd);
		close(weft->doorbell_fd);
	}
	close(fd);
	return ret;
}

static void context_data(void)
{
	struct get_context get = get_context();
	int i, fds;

	SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), 0);
	fds = open("/dev/null", O_RDONLY);
	close(fds);
	for (i = 0; i < sizeof(get.req); i += 4) {
		note("%d bytes of driver data", i);
		SAME(try_context(&get, sizeof(get.response) + i, GET_CONTEXT_OUT), EINVAL);
	}
	for (i = 0; i < sizeof(struct weft_alloc_ucontext_resp); i += 4) {
		note("room for %d bytes of response", i);
		SAME(try_context(&get, sizeof(get),
				 sizeof(struct ib_uverbs_get_context_resp) + i), EINVAL);
	}
	note("unknown bit");
	get.req.comp_mask = 1ULL << 63;
	SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), EINVAL);
	note("versions");
	get = get_context();
	get.req.abi_version = 0;
	SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), EINVAL);
	get.req.abi_version = WEFT_ABI_VERSION + 1;
	SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), EINVAL);
	note("reserved");
	get = get_context();
	get.req.reserved_0c = 1;
	SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), EINVAL);
	note("response to nowhere");
	get = get_context();
	get.response = 8;
	SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), EFAULT);
	get.response = 0xffff888000000000;
	SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), EFAULT);
	note("a failure keeps no file descriptor");
	i = open("/dev/null", O_RDONLY);
	SAME(i, fds);
	close(i);
}

/* commands that carry driver data, and garbage for all else */
static const int commands[] = {
	IB_USER_VERBS_CMD_ALLOC_PD, IB_USER_VERBS_CMD_CREATE_AH, IB_USER_VERBS_CMD_REG_MR,
	IB_USER_VERBS_CMD_CREATE_CQ, IB_USER_VERBS_CMD_RESIZE_CQ, IB_USER_VERBS_CMD_CREATE_QP,
	IB_USER_VERBS_CMD_MODIFY_QP, IB_USER_VERBS_CMD_CREATE_SRQ,
	IB_USER_VERBS_CMD_MODIFY_SRQ, IB_USER_VERBS_CMD_ALLOC_MW,
	IB_USER_VERBS_CMD_REREG_MR, IB_USER_VERBS_CMD_QUERY_DEVICE,
	IB_USER_VERBS_CMD_POST_SEND, IB_USER_VERBS_CMD_POST_RECV,
	IB_USER_VERBS_CMD_POST_SRQ_RECV, IB_USER_VERBS_CMD_POLL_CQ,
	IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, IB_USER_VERBS_CMD_DESTROY_AH,
	IB_USER_VERBS_CMD_DESTROY_QP, IB_USER_VERBS_CMD_DESTROY_CQ,
	IB_USER_VERBS_CMD_DESTROY_SRQ, IB_USER_VERBS_CMD_DEALLOC_PD,
	IB_USER_VERBS_CMD_DEREG_MR, IB_USER_VERBS_CMD_DEALLOC_MW,
	IB_USER_VERBS_CMD_ATTACH_MCAST, IB_USER_VERBS_CMD_DETACH_MCAST,
	IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, IB_USER_VERBS_CMD_QUERY_QP,
	IB_USER_VERBS_CMD_QUERY_SRQ, IB_USER_VERBS_CMD_QUERY_PORT,
	IB_USER_VERBS_CMD_OPEN_QP, IB_USER_VERBS_CMD_CREATE_XSRQ,
};

/* words as they are likely to be found in a command */
static uint32_t word(unsigned int *seed)
{
	static const uint32_t likely[] = {
		0, 0, 0, 1, 1, 2, 3, 4, 8, 16, 32, 64, 1000, 4096, 32768, -1U, 0x80000000,
		0x7fffffff, 0xffffff,
	};
	int i = rand_r(seed) % (ARRAY_SIZE(likely) + 2);

	return i < ARRAY_SIZE(likely) ? likely[i] : rand_r(seed);
}

static void command_fuzz(void)
{
	int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 3000;
	struct get_context get = get_context();
	unsigned int seed = 1;
	uint32_t body[64];
	int fd = -1, i, j, in, number, accepted = 0;

	for (i = 0; i < rounds; i++) {
		if (i % 500 == 0) {
			if (fd >= 0)
				close(fd);
			fd = uverbs_open();
			SAME(command(fd, IB_USER_VERBS_CMD_GET_CONTEXT, &get, sizeof(get),
				     GET_CONTEXT_OUT), 0);
			/* objects 0 to ... that garbage can name */
			for (j = 0; j < 3; j++) {
				memset(body, 0, sizeof(body));
				*(uint64_t *)body = (uintptr_t)response;
				command(fd, IB_USER_VERBS_CMD_ALLOC_PD, body, 8, 4);
				body[4] = 16;
				body[6] = -1;
				command(fd, IB_USER_VERBS_CMD_CREATE_CQ, body, 40, 64);
			}
		}
		number = commands[rand_r(&seed) % ARRAY_SIZE(commands)];
		in = rand_r(&seed) % 48 + 1;
		for (j = 0; j < in; j++)
			body[j] = word(&seed);
		if (rand_r(&seed) % 8)
			*(uint64_t *)body = (uintptr_t)response;
		if (!command(fd, number, body, in * 4, rand_r(&seed) % 40 * 4))
			accepted++;
	}
	close(fd);
	printf("%d of %d commands were accepted\n", accepted, rounds);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

#define RESIZERS	4

/* one of several threads that resize a CQ, and none keeps the others from it */
static void *resizer(void *arg)
{
	const struct ibv_cq *cq = arg;
	struct {
		struct ib_uverbs_resize_cq_resp core;
		struct weft_resize_cq_resp weft;
	} resp;
	struct {
		struct ib_uverbs_resize_cq core;
		struct weft_resize_cq_req weft;
	} cmd = {
		.core.response = (uintptr_t)&resp,
		.core.cq_handle = cq->handle,
	};
	int i;

	for (i = 0; i < 2000; i++) {
		cmd.core.cqe = 1 << i % 8;
		SAME(command(ctx->cmd_fd, IB_USER_VERBS_CMD_RESIZE_CQ, &cmd, sizeof(cmd),
			     sizeof(resp)), 0);
		SAME(resp.weft.cq.entries, cmd.core.cqe);
	}
	return NULL;
}

static void resizers(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	pthread_t t[RESIZERS];
	int i;

	CHECK(cq);
	for (i = 0; i < RESIZERS; i++)
		SAME(pthread_create(&t[i], NULL, resizer, cq), 0);
	for (i = 0; i < RESIZERS; i++)
		SAME(pthread_join(t[i], NULL), 0);
	SAME(ibv_destroy_cq(cq), 0);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

/*
 * ---- Limits ----
 */

static long status_kb(const char *key)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long value = -1;

	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = atol(line + strlen(key) + 1);
	fclose(f);
	return value;
}

static void locked_memory(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	uint8_t *p = memory(16 << 20);
	struct ibv_mr *mr;
	int i;

	CHECK(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534));
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK(!setresuid(65534, 65534, 65534));
	SAME(status_kb("VmPin:"), 0);
	for (i = 0; i < 200; i++) {
		REFUSED(ibv_reg_mr(pd, p, 16 << 20, ACCESS_ALL), ENOMEM);
		mr = ibv_reg_mr(pd, p, 512 << 10, ACCESS_ALL);
		CHECK(mr);
		SAME(status_kb("VmPin:"), 512);
		CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p, 16 << 20, 0));
		SAME(status_kb("VmPin:"), 512);
		SAME(ibv_dereg_mr(mr), 0);
	}
	SAME(status_kb("VmPin:"), 0);
	mr = ibv_reg_mr(pd, p, 1 << 20, ACCESS_ALL);
	CHECK(mr);
	REFUSED(ibv_reg_mr(pd, p, 4096, ACCESS_ALL), ENOMEM);
}

#define CGROUPS		"/tmp/weft-cgroups"
#define CGROUP		CGROUPS "/weft"

/* bytes of this process, by its memory cgroup */
static long charged(void)
{
	return read_number(CGROUP "/memory.current");
}

/* memory that no limit of locked memory counts: 4 MiB each */
static void rings_are_charged(void)
{
	struct ibv_cq *cq[4];
	long before;
	int i;

	CHECK(!mkdir(CGROUPS, 0700) || errno == EEXIST);
	SAME(mount("none", CGROUPS, "cgroup2", 0, NULL), 0);
	write_text(CGROUPS "/cgroup.subtree_control", "+memory");
	CHECK(!mkdir(CGROUP, 0700) || errno == EEXIST);
	write_text(CGROUP "/cgroup.procs", "0");
	before = charged();
	for (i = 0; i < ARRAY_SIZE(cq); i++) {
		cq[i] = ibv_create_cq(ctx, 65536, NULL, NULL, 0);
		CHECK(cq[i]);
	}
	CHECK(charged() >= before + (15 << 20));
	for (i = 0; i < ARRAY_SIZE(cq); i++)
		SAME(ibv_destroy_cq(cq[i]), 0);
	CHECK(charged() < before + (4 << 20));
	write_text(CGROUPS "/cgroup.procs", "0");
	SAME(rmdir(CGROUP), 0);
	SAME(umount(CGROUPS), 0);
}

#define MAX_DESCRIPTORS	64

/*
 * By write(): the ioctl() that libibverbs makes a context with leaks a reference to the task
 * in Linux when the driver refuses.
 */
static void no_descriptors(void)
{
	struct rlimit limit = { MAX_DESCRIPTORS, MAX_DESCRIPTORS };
	struct get_context get = get_context();
	int fds[MAX_DESCRIPTORS], num = 0, i;

	make_pair(&a, &b, CONF());
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	while ((fds[num] = open("/dev/null", O_RDONLY)) >= 0)
		num++;
	SAME(errno, EMFILE);
	/* one for the device, one for its events, one for doorbells */
	for (i = 1; i <= 3; i++) {
		note("%d descriptors are free", i);
		close(fds[--num]);
		SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), i < 3 ? EMFILE : 0);
		SAME(try_context(&get, sizeof(get), GET_CONTEXT_OUT), i < 3 ? EMFILE : 0);
	}
	check_works(&a, &b);
}

/* modify_qp of @a as uverbs gets it, with @ours bytes of our request; the answer goes to @page */
static int raw_modify_with(size_t ours, int mask, int max_send_wr, void *page)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		struct ib_uverbs_ex_modify_qp core;
		struct weft_modify_qp_req req;
	} cmd = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP,
			.in_words = sizeof(cmd.core) / 8,
			.out_words = sizeof(struct ib_uverbs_ex_modify_qp_resp) / 8,
		},
		.ex = {
			.response = (uintptr_t)page,
			.provider_in_words = ours / 8,
			.provider_out_words = sizeof(struct weft_modify_qp_resp) / 8,
		},
		.core.base = { .qp_handle = a.qp->handle, .attr_mask = mask, .min_rnr_timer = 1 },
		.req.max_send_wr = max_send_wr,
	};

	errno = 0;
	return write(ctx->cmd_fd, &cmd, sizeof(cmd) - sizeof(cmd.req) + ours) < 0 ? errno : 0;
}

static int raw_modify(int mask, int max_send_wr, void *page)
{
	return raw_modify_with(sizeof(struct weft_modify_qp_req), mask, max_send_wr, page);
}

/* A resize of nothing. */
struct raw_resize {
	uint8_t *page;
	int error;
};

static void *resize_into(void *arg)
{
	struct raw_resize *raw = arg;

	raw->error = raw_modify(IBV_QP_CAP, 0, raw->page);
	return NULL;
}

/* What waits for a page that does not come holds up nobody who looks, or goes on. */
static void resize_without_end(void)
{
	long size = sysconf(_SC_PAGESIZE);
	struct raw_resize raw = { .page = memory(size) };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	pthread_t thread;
	int fd;

	make_pair(&a, &b, CONF());
	fd = uffd_hold(raw.page, size);
	SAME(pthread_create(&thread, NULL, resize_into, &raw), 0);
	sleep_ms(300);
	note("meanwhile");
	SAME(ibv_query_qp(a.qp, &attr, QP_ATTRS, &init), 0);
	SAME(system("timeout 10 rdma resource show qp >/dev/null"), 0);
	check_works(&a, &b);
	SAME(pthread_tryjoin_np(thread, NULL), EBUSY);
	note("then");
	uffd_answer(fd, raw.page, size);
	SAME(pthread_join(thread, NULL), 0);
	SAME(raw.error, 0);
	close(fd);
	check_works(&a, &b);
}

/* @body, and behind it what a provider that knows more may ask for */
static void try_more(int number, const void *body, size_t in, size_t out)
{
	uint8_t buf[256] = {};

	note("command %d", number);
	memcpy(buf, body, in);
	SAME(command(ctx->cmd_fd, number, buf, in, out), 0);
	SAME(command(ctx->cmd_fd, number, buf, in + 16, out), 0);
	memset(response, 0xff, sizeof(response));
	SAME(command(ctx->cmd_fd, number, buf, in, out + 16), 0);
	check_zero((uint8_t *)response + out, 16);
	CHECK(((uint8_t *)response)[out + 16] == 0xff);
	buf[in + 12] = 1;
	SAME(command(ctx->cmd_fd, number, buf, in + 16, out), EINVAL);
}

/* What is asked for and not known is refused, whatever the call. */
static void asks_for_more(void)
{
	struct ib_uverbs_alloc_pd alloc_pd = { .response = (uintptr_t)response };
	struct ib_uverbs_alloc_mw alloc_mw = {
		.response = (uintptr_t)response, .pd_handle = pd->handle, .mw_type = IBV_MW_TYPE_1,
	};
	struct ib_uverbs_reg_mr reg_mr = {
		.response = (uintptr_t)response, .pd_handle = pd->handle, .length = 4096,
		.access_flags = IBV_ACCESS_LOCAL_WRITE,
	};
	struct ib_uverbs_open_xrcd open_xrcd = {
		.response = (uintptr_t)response, .fd = -1, .oflags = O_CREAT,
	};
	struct {
		struct ib_uverbs_create_cq core;
		struct weft_create_cq_req weft;
	} create_cq = {
		.core = { .response = (uintptr_t)response, .cqe = 16, .comp_channel = -1 },
	};
	struct {
		struct ib_uverbs_resize_cq core;
		struct weft_resize_cq_req weft;
	} resize_cq = {
		.core = { .response = (uintptr_t)response, .cqe = 16 },
	};
	struct {
		struct ib_uverbs_create_srq core;
		struct weft_create_srq_req weft;
	} create_srq = {
		.core = { .response = (uintptr_t)response, .pd_handle = pd->handle,
			  .max_wr = 16, .max_sge = 1 },
	};
	struct ib_uverbs_rereg_mr rereg_mr = {
		.response = (uintptr_t)response, .flags = IBV_REREG_MR_CHANGE_ACCESS,
		.access_flags = IBV_ACCESS_LOCAL_WRITE,
	};
	struct ib_uverbs_create_ah create_ah = {
		.response = (uintptr_t)response, .pd_handle = pd->handle,
		.attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .sgid_index = gid4, .hop_limit = 64 },
		},
	};
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	union ibv_gid own;

	make_pair(&a, &b, CONF());
	SAME(ibv_query_gid(ctx, 1, gid4, &own), 0);
	memcpy(create_ah.attr.grh.dgid, own.raw, sizeof(own));
	CHECK(cq);
	resize_cq.core.cq_handle = cq->handle;
	rereg_mr.mr_handle = a.mr->handle;
	try_more(IB_USER_VERBS_CMD_CREATE_AH, &create_ah, sizeof(create_ah),
		 sizeof(struct ib_uverbs_create_ah_resp) + sizeof(struct weft_create_ah_resp));
	try_more(IB_USER_VERBS_CMD_CREATE_CQ, &create_cq, sizeof(create_cq),
		 sizeof(struct ib_uverbs_create_cq_resp) + sizeof(struct weft_create_cq_resp));
	try_more(IB_USER_VERBS_CMD_RESIZE_CQ, &resize_cq, sizeof(resize_cq),
		 sizeof(struct ib_uverbs_resize_cq_resp) + sizeof(struct weft_resize_cq_resp));
	try_more(IB_USER_VERBS_CMD_CREATE_SRQ, &create_srq, sizeof(create_srq),
		 sizeof(struct ib_uverbs_create_srq_resp) + sizeof(struct weft_create_srq_resp));
	try_more(IB_USER_VERBS_CMD_REREG_MR, &rereg_mr, sizeof(rereg_mr),
		 sizeof(struct ib_uverbs_rereg_mr_resp));
	reg_mr.start = (uintptr_t)a.buf;
	reg_mr.hca_va = reg_mr.start;
	try_more(IB_USER_VERBS_CMD_ALLOC_PD, &alloc_pd, sizeof(alloc_pd),
		 sizeof(struct ib_uverbs_alloc_pd_resp));
	try_more(IB_USER_VERBS_CMD_ALLOC_MW, &alloc_mw, sizeof(alloc_mw),
		 sizeof(struct ib_uverbs_alloc_mw_resp));
	try_more(IB_USER_VERBS_CMD_REG_MR, &reg_mr, sizeof(reg_mr),
		 sizeof(struct ib_uverbs_reg_mr_resp));
	try_more(IB_USER_VERBS_CMD_OPEN_XRCD, &open_xrcd, sizeof(open_xrcd),
		 sizeof(struct ib_uverbs_open_xrcd_resp));
	note("modify_qp");
	SAME(raw_modify(IBV_QP_MIN_RNR_TIMER, 0, response), 0);
	SAME(raw_modify(IBV_QP_MIN_RNR_TIMER, 1, response), EINVAL);
	check_works(&a, &b);
}

/* The core tells providers that requests and responses may be longer than the kernel knows. */
static void says_so(void)
{
	struct weft_alloc_ucontext_req req = { .abi_version = WEFT_ABI_VERSION };
	const char *kernel = getenv("WEFT_KERNEL");
	struct weft_alloc_ucontext_resp resp = {};
	uint64_t support = 0;
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[3];
	} get = {
		.hdr = {
			.length = sizeof(get), .object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_GET_CONTEXT, .num_attrs = 3,
			.driver_id = RDMA_DRIVER_WEFT,
		},
		.attrs = {
			{ .attr_id = UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, .len = sizeof(support),
			  .data = (uintptr_t)&support },
			{ .attr_id = UVERBS_ATTR_UHW_IN, .len = sizeof(req),
			  .data = (uintptr_t)&req },
			{ .attr_id = UVERBS_ATTR_UHW_OUT, .len = sizeof(resp),
			  .data = (uintptr_t)&resp },
		},
	};
	int i;

	for (i = 0; i < get.hdr.num_attrs; i++)
		get.attrs[i].flags = UVERBS_ATTR_F_MANDATORY;
	SAME(ioctl(uverbs_open(), RDMA_VERBS_IOCTL, &get), 0);
	/* IB_UVERBS_CORE_SUPPORT_ROBUST_UDATA */
	if (kernel && !strncmp(kernel, "7.", 2))
		SAME(support & 2, 2);
}

/* Capabilities, and a rate, are what our request says: without it they are not guessed. */
static void asks_for_nothing(void)
{
	const size_t least = offsetof(struct weft_modify_qp_req, alt);
	struct ib_uverbs_modify_qp plain = { .attr_mask = IBV_QP_MIN_RNR_TIMER };
	size_t ours;

	make_pair(&a, &b, CONF());
	plain.qp_handle = a.qp->handle;
	note("a command without room for it");
	SAME(command(ctx->cmd_fd, IB_USER_VERBS_CMD_MODIFY_QP, &plain, sizeof(plain), 0), 0);
	plain.attr_mask = IBV_QP_CAP;
	SAME(command(ctx->cmd_fd, IB_USER_VERBS_CMD_MODIFY_QP, &plain, sizeof(plain), 0), EINVAL);
	for (ours = 0; ours < least; ours += 8) {
		note("%zu bytes", ours);
		SAME(raw_modify_with(ours, IBV_QP_CAP, 0, response), EINVAL);
		SAME(raw_modify_with(ours, IBV_QP_RATE_LIMIT, 0, response), EINVAL);
	}
	note("as much as it takes");
	SAME(raw_modify_with(least, IBV_QP_CAP, 0, response), 0);
	check_works(&a, &b);
}

TESTS(
	TEST(doorbell_arguments), TEST(doorbell_of_others), TEST(mappings), TEST(unmapped),
	TEST(forked), TEST(context_data), TEST(command_fuzz), TEST(resizers),
	TEST(locked_memory), TEST(rings_are_charged), TEST(no_descriptors),
	TEST(resize_without_end), TEST(asks_for_more), TEST(says_so),
	TEST(asks_for_nothing)
)
