// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What ibv_query_device(3) says there is no more of, and what the rdma cgroup leaves.
 */
#include "lib.h"

#include <grp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static struct ibv_device_attr dev;

/* hundreds of thousands of system calls, perhaps on a machine that is emulated */
#define LONG_TIME	400

/*
 * ---- Of a device ----
 */

/* One more than there may be is refused; one less, and it is not. Nothing is lost. */
static void pds(void)
{
	struct ibv_pd **all, *more;
	int num = 0;

	alarm(LONG_TIME);
	SAME(ibv_query_device(ctx, &dev), 0);
	all = calloc(dev.max_pd, sizeof(*all));
	CHECK(all);
	while (num < dev.max_pd && (all[num] = ibv_alloc_pd(ctx)))
		num++;
	/* that of this program, and those of the kernel, count as well */
	CHECK(num < dev.max_pd && num > dev.max_pd - 100);
	REFUSED(ibv_alloc_pd(ctx), ENOMEM);
	SAME(ibv_dealloc_pd(all[--num]), 0);
	more = ibv_alloc_pd(ctx);
	CHECK(more);
	REFUSED(ibv_alloc_pd(ctx), ENOMEM);
	SAME(ibv_dealloc_pd(more), 0);
	while (num)
		SAME(ibv_dealloc_pd(all[--num]), 0);
	free(all);
}

static void address_handles(void)
{
	struct ibv_ah_attr attr;
	struct ibv_ah **all;
	int num = 0;

	alarm(LONG_TIME);
	SAME(ibv_query_device(ctx, &dev), 0);
	all = calloc(dev.max_ah, sizeof(*all));
	CHECK(all);
	memset(&attr, 0, sizeof(attr));
	av_to(&attr, gid4, gid4);
	/* to a group: of that nobody has to ask for an address */
	memcpy(attr.grh.dgid.raw + 12, (uint8_t[]){ 239, 7, 0, 1 }, 4);
	while (num < dev.max_ah && (all[num] = ibv_create_ah(pd, &attr)))
		num++;
	/* the kernel may have some, too */
	CHECK(num > dev.max_ah - 100);
	REFUSED(ibv_create_ah(pd, &attr), ENOMEM);
	SAME(ibv_destroy_ah(all[--num]), 0);
	all[num] = ibv_create_ah(pd, &attr);
	CHECK(all[num++]);
	while (num)
		SAME(ibv_destroy_ah(all[--num]), 0);
	free(all);
}

/* a group of its own for each number, of link scope */
static union ibv_gid group(uint32_t num)
{
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0x77, 0x65, 0x66, 0x74 } };

	num = htobe32(num);
	memcpy(gid.raw + 12, &num, sizeof(num));
	return gid;
}

static int attach(struct end *e, uint32_t num)
{
	union ibv_gid gid = group(num);

	return ibv_attach_mcast(e->qp, &gid, 0);
}

static int detach(struct end *e, uint32_t num)
{
	union ibv_gid gid = group(num);

	return ibv_detach_mcast(e->qp, &gid, 0);
}

static void multicast_groups(void)
{
	struct end a;
	int num;

	/* the kernel looks at all that are there for each one more */
	alarm(LONG_TIME);
	SAME(ibv_query_device(ctx, &dev), 0);
	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	for (num = 0; num < dev.max_mcast_grp; num++) {
		note("group %d", num);
		SAME(attach(&a, num), 0);
	}
	REFUSED(attach(&a, num), ENOMEM);
	/* again is not one more */
	SAME(attach(&a, 0), 0);
	SAME(detach(&a, 5), 0);
	SAME(attach(&a, num), 0);
	REFUSED(attach(&a, 5), ENOMEM);
	SAME(detach(&a, num), 0);
	while (num--)
		if (num != 5)
			SAME(detach(&a, num), 0);
	unmake(&a);
}

static void multicast_members(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_recv_sge = 1 },
	};
	union ibv_gid gid = group(1);
	struct ibv_qp **qp;
	int i;

	SAME(ibv_query_device(ctx, &dev), 0);
	init.send_cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	CHECK(init.send_cq);
	init.recv_cq = init.send_cq;
	qp = calloc(dev.max_mcast_qp_attach + 1, sizeof(*qp));
	for (i = 0; i <= dev.max_mcast_qp_attach; i++) {
		qp[i] = ibv_create_qp(pd, &init);
		CHECK(qp[i]);
		if (i < dev.max_mcast_qp_attach)
			SAME(ibv_attach_mcast(qp[i], &gid, 0), 0);
	}
	i--;
	REFUSED(ibv_attach_mcast(qp[i], &gid, 0), ENOMEM);
	SAME(ibv_detach_mcast(qp[7], &gid, 0), 0);
	SAME(ibv_attach_mcast(qp[i], &gid, 0), 0);
	REFUSED(ibv_attach_mcast(qp[7], &gid, 0), ENOMEM);
	for (; i >= 0; i--) {
		if (i != 7)
			SAME(ibv_detach_mcast(qp[i], &gid, 0), 0);
		SAME(ibv_destroy_qp(qp[i]), 0);
	}
	SAME(ibv_destroy_cq(init.send_cq), 0);
}

/* run by a user who has no rights, up to his exit; he tells when he has begun to wait */
static pid_t user(uid_t uid, void (*what)(void))
{
	int ready[2];
	pid_t pid;
	char byte;

	CHECK(!pipe(ready));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(!setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid));
		CHECK(!prctl(PR_SET_PDEATHSIG, SIGKILL));
		open_device();
		SAME(ibv_query_device(ctx, &dev), 0);
		alarm(LONG_TIME);
		what();
		SAME(write(ready[1], "", 1), 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		FAIL("user %d has failed", uid);
	close(ready[0]);
	return pid;
}

static void end_user(pid_t pid)
{
	SAME(kill(pid, SIGKILL), 0);
	SAME(waitpid(pid, NULL, 0), pid);
}

/* of one user: groups that he alone is in, from this number on */
static int groups_from;

/* until he is refused: it has to be after so many */
static void take_groups(int want)
{
	struct end a;
	int num = 0;

	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	while (num <= want) {
		note("group %d", num);
		if (attach(&a, groups_from + num))
			break;
		num++;
	}
	note(NULL);
	SAME(num, want);
	REFUSED(attach(&a, groups_from + num), ENOMEM);
	/* one for another is as many as before */
	SAME(detach(&a, groups_from), 0);
	SAME(attach(&a, groups_from + num), 0);
	REFUSED(attach(&a, groups_from), ENOMEM);
}

static void take_half(void)
{
	take_groups(dev.max_mcast_grp / 2);
}

static void take_quarter(void)
{
	take_groups(dev.max_mcast_grp / 4);
}

/* Who has no rights cannot take all groups: another user still has his. */
static void multicast_groups_of_users(void)
{
	pid_t first, second;
	struct end a;

	alarm(2 * LONG_TIME);
	SAME(ibv_query_device(ctx, &dev), 0);
	first = user(65534, take_half);
	groups_from = dev.max_mcast_grp;
	second = user(65533, take_quarter);
	/* a privileged one has of the rest what he wants */
	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	SAME(attach(&a, 2 * dev.max_mcast_grp), 0);
	SAME(detach(&a, 2 * dev.max_mcast_grp), 0);
	unmake(&a);
	end_user(second);
	end_user(first);
}

static struct ibv_qp *member(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	CHECK(qp);
	return qp;
}

/* until he is refused: it has to be after so many */
static void take_members(int want)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	union ibv_gid gid = group(1);
	int num = 0;

	CHECK(cq);
	while (num <= want && !ibv_attach_mcast(member(cq), &gid, 0))
		num++;
	SAME(num, want);
	REFUSED(ibv_attach_mcast(member(cq), &gid, 0), ENOMEM);
}

static void be_half(void)
{
	take_members(dev.max_mcast_qp_attach / 2);
}

static void be_quarter(void)
{
	take_members(dev.max_mcast_qp_attach / 4);
}

/* Nor the places of a group that others want to hear, too. */
static void multicast_members_of_users(void)
{
	pid_t first, second;

	SAME(ibv_query_device(ctx, &dev), 0);
	first = user(65534, be_half);
	second = user(65533, be_quarter);
	end_user(second);
	end_user(first);
}

/* the largest there may be, and one more */
static void sizes(void)
{
	struct ibv_srq_init_attr attr = {};
	struct ibv_srq *srq;
	struct ibv_cq *cq;

	SAME(ibv_query_device(ctx, &dev), 0);
	REFUSED(ibv_create_cq(ctx, dev.max_cqe + 1, NULL, NULL, 0), EINVAL);
	cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	CHECK(cq);
	REFUSED(ibv_resize_cq(cq, dev.max_cqe + 1), EINVAL);
	SAME(ibv_destroy_cq(cq), 0);
	attr.attr.max_wr = dev.max_srq_wr + 1;
	attr.attr.max_sge = 1;
	REFUSED(ibv_create_srq(pd, &attr), EINVAL);
	attr.attr.max_wr = 1;
	attr.attr.max_sge = dev.max_srq_sge + 1;
	REFUSED(ibv_create_srq(pd, &attr), EINVAL);
	attr.attr.max_wr = dev.max_srq_wr;
	attr.attr.max_sge = dev.max_srq_sge;
	srq = ibv_create_srq(pd, &attr);
	CHECK(srq);
	SAME(attr.attr.max_wr, dev.max_srq_wr);
	SAME(ibv_destroy_srq(srq), 0);
}

/*
 * ---- Of a cgroup ----
 */

#define CGROUPS		"/tmp/weft-limits"
#define CGROUP		CGROUPS "/weft"

/* a number, or "max" */
static void limit(const char *handles, const char *objects)
{
	char text[128];

	snprintf(text, sizeof(text), "%s hca_handle=%s hca_object=%s",
		 ibv_get_device_name(ctx->device), handles, objects);
	write_text(CGROUP "/rdma.max", text);
}

/* this process is in a cgroup with these limits */
static void enter(const char *handles, const char *objects)
{
	CHECK(!mkdir(CGROUPS, 0700) || errno == EEXIST);
	SAME(mount("none", CGROUPS, "cgroup2", 0, NULL), 0);
	write_text(CGROUPS "/cgroup.subtree_control", "+rdma");
	CHECK(!mkdir(CGROUP, 0700) || errno == EEXIST);
	limit(handles, objects);
	write_text(CGROUP "/cgroup.procs", "0");
}

/*
 * The kernel forgets limits that nothing is charged to when they are raised, and not when
 * the cgroup goes: then it finds freed memory when the device goes.
 */
static void leave(void)
{
	write_text(CGROUPS "/cgroup.procs", "0");
	limit("max", "max");
	SAME(rmdir(CGROUP), 0);
	SAME(umount(CGROUPS), 0);
}

/* what the cgroup has of the device; nothing is no line */
static int charged(const char *what)
{
	char line[256], *found;
	FILE *f = fopen(CGROUP "/rdma.current", "r");
	int value = 0;

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, ibv_get_device_name(ctx->device),
			    strlen(ibv_get_device_name(ctx->device))))
			continue;
		found = strstr(line, what);
		CHECK(found);
		value = atoi(found + strlen(what) + 1);
	}
	fclose(f);
	return value;
}

static void cgroup_objects(void)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { .max_send_wr = 1 } };
	struct ibv_alloc_dm_attr dm = { .length = 4096 };
	struct ibv_ah_attr av = {};
	struct ibv_pd *first, *second;
	void *p = memory(4096);
	struct ibv_cq *cq;
	int i;

	enter("4", "3");
	av_to(&av, gid4, gid4);
	first = ibv_alloc_pd(ctx);
	second = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	CHECK(first && second && cq);
	init.send_cq = cq;
	init.recv_cq = cq;
	for (i = 0; i < 3; i++) {
		SAME(charged("hca_object"), 3);
		REFUSED(ibv_alloc_pd(ctx), EAGAIN);
		REFUSED(ibv_create_cq(ctx, 16, NULL, NULL, 0), EAGAIN);
		REFUSED(ibv_create_srq(first, &srq), EAGAIN);
		REFUSED(ibv_create_qp(first, &init), EAGAIN);
		REFUSED(ibv_reg_mr(first, p, 4096, 0), EAGAIN);
		REFUSED(ibv_alloc_mw(first, IBV_MW_TYPE_1), EAGAIN);
		REFUSED(ibv_create_ah(first, &av), EAGAIN);
		REFUSED(ibv_alloc_dm(ctx, &dm), EAGAIN);
		/* what is given back is there again */
		SAME(ibv_dealloc_pd(second), 0);
		SAME(charged("hca_object"), 2);
		second = ibv_alloc_pd(ctx);
		CHECK(second);
	}
	SAME(ibv_dealloc_pd(second), 0);
	SAME(ibv_dealloc_pd(first), 0);
	SAME(ibv_destroy_cq(cq), 0);
	SAME(charged("hca_object"), 0);
	leave();
}

/* what a process has that dies is given back as well */
static void cgroup_handles(void)
{
	const char *kernel = getenv("WEFT_KERNEL");
	struct ibv_context *more;
	int status;
	pid_t pid;

	enter("1", "100");
	pid = fork();
	if (!pid) {
		open_device();
		CHECK(ibv_alloc_pd(ctx));
		SAME(charged("hca_handle"), 1);
		/* the core (UVERBS_METHOD_GET_CONTEXT) keeps this task then, a leak */
		if (!kernel || strcmp(kernel, "debug"))
			REFUSED(ibv_open_device(ctx->device), EAGAIN);
		_exit(0);
	}
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
	SAME(charged("hca_handle"), 0);
	SAME(charged("hca_object"), 0);
	more = ibv_open_device(ctx->device);
	CHECK(more);
	SAME(charged("hca_handle"), 1);
	SAME(ibv_close_device(more), 0);
	SAME(charged("hca_handle"), 0);
	leave();
}

/*
 * ---- Of a memory cgroup ----
 */

/* what is allocated and charged to nobody; the rest has caches of its own */
static long uncharged_objects(void)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[512], name[64];
	long num = 0, objects;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %ld", name, &objects) == 2 &&
		    !strncmp(name, "kmalloc-", 8) && strncmp(name, "kmalloc-cg-", 11))
			num += objects;
	fclose(file);
	return num;
}

#define HANDLES		10000
/* of each: struct ib_uobject, and what the core allocates for us (struct weft_ah) */
#define CORE_OBJECTS	2

/* all but the core's part of an address handle */
static void handles_are_charged(void)
{
	static struct ibv_ah *all[HANDLES];
	struct ibv_ah_attr attr = {};
	long before, more;
	int i;

	av_to(&attr, gid4, gid4);
	memcpy(attr.grh.dgid.raw + 12, (uint8_t[]){ 239, 7, 0, 1 }, 4);
	before = uncharged_objects();
	for (i = 0; i < HANDLES; i++) {
		all[i] = ibv_create_ah(pd, &attr);
		CHECK(all[i]);
	}
	more = uncharged_objects() - before;
	if (more > HANDLES * CORE_OBJECTS + HANDLES / 2)
		FAIL("%d handles, and %ld objects that nobody pays for", HANDLES, more);
	for (i = 0; i < HANDLES; i++)
		SAME(ibv_destroy_ah(all[i]), 0);
}

TESTS(
	TEST(pds), TEST(address_handles), TEST(multicast_groups), TEST(multicast_members),
	TEST(multicast_groups_of_users), TEST(multicast_members_of_users),
	TEST(sizes), TEST(cgroup_objects), TEST(cgroup_handles), TEST(handles_are_charged)
)
