// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processes that share a context: what one has made, another one imports.
 */
#include "lib.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

static struct end a, b;

static struct ibv_context *import(void)
{
	int fd = dup(ctx->cmd_fd);
	struct ibv_context *imported;

	CHECK(fd >= 0);
	imported = ibv_import_device(fd);
	CHECK(imported);
	SAME(imported->cmd_fd, fd);
	return imported;
}

/* from here on this process works in a context, and a PD, that it imported */
static void move_to_import(void)
{
	struct ibv_context *imported = import();
	struct ibv_pd *imported_pd = ibv_import_pd(imported, pd->handle);

	CHECK(imported_pd);
	ctx = imported;
	pd = imported_pd;
}

/*
 * ---- Objects ----
 */

static void objects(void)
{
	struct ibv_context *other;
	struct ibv_mr *mr, *mr2;
	struct ibv_pd *pd2;
	void *p = memory(3 * 4096);

	mr = ibv_reg_mr(pd, p, 3 * 4096, ACCESS_ALL);
	CHECK(mr);
	other = import();
	SAME(other->num_comp_vectors, ctx->num_comp_vectors);
	CHECK(other->async_fd != ctx->async_fd);
	pd2 = ibv_import_pd(other, pd->handle);
	CHECK(pd2);
	mr2 = ibv_import_mr(pd2, mr->handle);
	CHECK(mr2);
	SAME(mr2->lkey, mr->lkey);
	SAME(mr2->rkey, mr->rkey);
	SAME(mr2->length, mr->length);
	SAME(mr2->handle, mr->handle);
	CHECK(!mr2->addr);
	ibv_unimport_mr(mr2);
	/* its new length, too */
	SAME(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p, 4096, 0), 0);
	mr2 = ibv_import_mr(pd2, mr->handle);
	CHECK(mr2);
	SAME(mr2->length, 4096);
	/* either of both may end what both have */
	SAME(ibv_dereg_mr(mr2), 0);
	CHECK(!ibv_import_mr(pd2, mr->handle));
	CHECK(ibv_dereg_mr(mr));
	ibv_unimport_pd(pd2);
	pd2 = ibv_import_pd(other, pd->handle);
	CHECK(pd2);
	SAME(ibv_dealloc_pd(pd2), 0);
	CHECK(!ibv_import_pd(other, pd->handle));
	SAME(ibv_close_device(other), 0);
	/* this one goes on */
	pd = ibv_alloc_pd(ctx);
	CHECK(pd);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

static void refused(void)
{
	struct ibv_context *other = import();
	struct ibv_mr *mr;
	struct ibv_cq *cq;

	mr = ibv_reg_mr(pd, memory(4096), 4096, 0);
	cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	CHECK(mr && cq);
	REFUSED(ibv_import_device(-1), EINVAL);
	CHECK(!ibv_import_device(STDIN_FILENO));
	note("no such object");
	REFUSED(ibv_import_pd(other, 0xffff), ENOENT);
	REFUSED(ibv_import_mr(pd, 0xffff), ENOENT);
	REFUSED(ibv_import_dm(other, 0xffff), ENOENT);
	note("another kind of object");
	CHECK(!ibv_import_pd(other, mr->handle));
	CHECK(!ibv_import_pd(other, cq->handle));
	CHECK(!ibv_import_mr(pd, pd->handle));
	CHECK(!ibv_import_dm(other, pd->handle));
	note(NULL);
	SAME(ibv_close_device(other), 0);
}

/* a PD with parent domains stays for those */
static void parent_domain(void)
{
	struct ibv_parent_domain_init_attr attr = { };
	struct ibv_context *other = import();
	struct ibv_pd *imported, *parent;

	imported = ibv_import_pd(other, pd->handle);
	CHECK(imported);
	attr.pd = imported;
	parent = ibv_alloc_parent_domain(other, &attr);
	CHECK(parent);
	ibv_unimport_pd(imported);
	CHECK(ibv_reg_mr(parent, memory(4096), 4096, 0));
	SAME(ibv_dealloc_pd(parent), 0);
	ibv_unimport_pd(imported);
	SAME(ibv_close_device(other), 0);
}

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 3 * 4096 + 8 };
	struct ibv_context *other = import();
	struct ibv_dm *dm, *dm2;
	struct ibv_pd *pd2;
	struct ibv_mr *mr;
	uint8_t p[1000];

	dm = ibv_alloc_dm(ctx, &attr);
	CHECK(dm);
	fill(p, sizeof(p), 1);
	SAME(ibv_memcpy_to_dm(dm, 8000, p, sizeof(p)), 0);
	dm2 = ibv_import_dm(other, dm->handle);
	CHECK(dm2);
	memset(p, 0, sizeof(p));
	SAME(ibv_memcpy_from_dm(p, dm2, 8000, sizeof(p)), 0);
	check_filled(p, sizeof(p), 1);
	fill(p, sizeof(p), 2);
	SAME(ibv_memcpy_to_dm(dm2, 0, p, sizeof(p)), 0);
	memset(p, 0, sizeof(p));
	SAME(ibv_memcpy_from_dm(p, dm, 0, sizeof(p)), 0);
	check_filled(p, sizeof(p), 2);
	/* as long as the other one */
	SAME(ibv_memcpy_from_dm(p, dm2, attr.length - 4, 4), 0);
	SAME(ibv_memcpy_from_dm(p, dm2, attr.length - 4, 8), EFAULT);
	pd2 = ibv_import_pd(other, pd->handle);
	CHECK(pd2);
	mr = ibv_reg_dm_mr(pd2, dm2, 0, attr.length, IBV_ACCESS_ZERO_BASED);
	CHECK(mr);
	REFUSED(ibv_free_dm(dm), EBUSY);
	SAME(ibv_dereg_mr(mr), 0);
	ibv_unimport_dm(dm2);
	SAME(ibv_memcpy_from_dm(p, dm, 0, sizeof(p)), 0);
	check_filled(p, sizeof(p), 2);
	dm2 = ibv_import_dm(other, dm->handle);
	CHECK(dm2);
	SAME(ibv_free_dm(dm2), 0);
	CHECK(!ibv_import_dm(other, dm->handle));
	CHECK(ibv_free_dm(dm));
}

/*
 * ---- Processes ----
 */

/* what two processes tell each other */
struct message {
	uint32_t qpn, psn, rkey, lkey, handle;
	uint64_t addr;
};

static int peer_fd;		/* a socket */

static pid_t start(void (*child)(void))
{
	int fds[2];
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds));
	pid = fork();
	CHECK(pid >= 0);
	peer_fd = fds[!pid];
	close(fds[!!pid]);
	if (pid)
		return pid;
	child();
	fflush(stdout);
	_exit(0);
}

static void ended_well(pid_t pid)
{
	int status;

	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
}

static void tell(const struct message *message)
{
	SAME(send(peer_fd, message, sizeof(*message), MSG_NOSIGNAL), sizeof(*message));
}

static struct message hear(void)
{
	struct message message;

	SAME(recv(peer_fd, &message, sizeof(message), 0), sizeof(message));
	return message;
}

static void meet(void)
{
	struct message message = { };

	tell(&message);
	hear();
}

static struct message self(const struct end *e)
{
	return (struct message){
		.qpn = e->qp->qp_num,
		.psn = e->psn,
		.rkey = e->mr->rkey,
		.lkey = e->mr->lkey,
		.handle = e->mr->handle,
		.addr = (uintptr_t)e->buf,
	};
}

/* connect @e with what the other process has. Return: what it said. */
static struct message connect_peer(struct end *e)
{
	struct message mine = self(e), other;
	struct ibv_qp qp = { };
	struct end peer = { .conf = e->conf, .qp = &qp };

	tell(&mine);
	other = hear();
	qp.qp_num = other.qpn;
	peer.psn = other.psn;
	to_init(e);
	to_rtr(e, &peer);
	to_rts(e);
	meet();
	return other;
}

/* works with the parent's memory, by its keys: in the same PD they are good */
static void writer(void)
{
	struct ibv_send_wr *wr;
	struct ibv_mr *imported;
	struct message other;

	move_to_import();
	make(&a, CONF());
	other = connect_peer(&a);
	imported = ibv_import_mr(pd, other.handle);
	CHECK(imported);
	SAME(imported->rkey, other.rkey);
	/* from here to there */
	fill(a.buf, 5000, 1);
	post(&a, at_key(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 5000), imported->rkey, other.addr));
	expect_ok(a.scq, 1);
	/* from there to there */
	wr = at_key(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 1), imported->rkey, other.addr + 10000);
	wr->sg_list[0] = (struct ibv_sge){ other.addr, 5000, imported->lkey };
	post(&a, wr);
	expect_ok(a.scq, 2);
	/* and a receive into there */
	wr = swr(&a, 3, IBV_WR_SEND, 0, 1000);
	meet();
	post(&a, wr);
	expect_ok(a.scq, 3);
	meet();
	ibv_unimport_mr(imported);
	SAME(ibv_destroy_qp(a.qp), 0);
	ibv_unimport_pd(pd);
	SAME(ibv_close_device(ctx), 0);
}

static void keys_of_others(void)
{
	pid_t pid = start(writer);

	make(&b, CONF());
	connect_peer(&b);
	post_recv(&b, 9, 20000, 1000);
	meet();
	SAME(expect_ok(b.rcq, 9).byte_len, 1000);
	meet();
	check_filled(b.buf, 5000, 1);
	check_filled(b.buf + 10000, 5000, 1);
	check_filled(b.buf + 20000, 1000, 1);
	ended_well(pid);
	/* its QP is gone: what this one sends is for nobody */
	SAME(ibv_destroy_qp(b.qp), 0);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

/* goes on in the context when whoever made it has closed it */
static void heir(void)
{
	struct message other;

	move_to_import();
	make_pair(&a, &b, CONF());
	other = hear();
	check_works(&a, &b);
	/* what the first one made is there, and its memory */
	post(&a, at_key(swr(&a, 5, IBV_WR_RDMA_READ, 0, 3000), other.rkey, other.addr));
	expect_ok(a.scq, 5);
	check_filled(a.buf, 3000, 4);
	unmake(&a);
	unmake(&b);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
	meet();
}

static void first_one_closes(void)
{
	pid_t pid = start(heir);
	struct message mine;
	uint8_t *p;

	make(&a, CONF());
	fill(a.buf, 3000, 4);
	mine = self(&a);
	p = a.buf;
	SAME(ibv_close_device(ctx), 0);
	tell(&mine);
	meet();
	check_filled(p, 3000, 4);
	ended_well(pid);
}

/* dies in the middle of something */
static void victim(void)
{
	move_to_import();
	make_pair(&a, &b, CONF());
	meet();
	for (;;)
		check_works(&a, &b);
}

static void other_one_dies(void)
{
	int i, status;
	pid_t pid;

	make_pair(&a, &b, CONF());
	for (i = 0; i < 5; i++) {
		pid = start(victim);
		meet();
		check_works(&a, &b);
		kill(pid, SIGKILL);
		check_works(&a, &b);
		SAME(waitpid(pid, &status, 0), pid);
		SAME(WIFSIGNALED(status), 1);
		check_works(&a, &b);
		close(peer_fd);
	}
	unmake(&a);
	unmake(&b);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

#define MAX_FILES	48

static int open_files(void)
{
	int fd, num = 0;

	for (fd = 0; fd < MAX_FILES; fd++)
		num += fcntl(fd, F_GETFD) >= 0;
	return num;
}

/* Return: whether a context can be imported with so many file descriptors left */
static bool imports_with(int spare)
{
	int fillers[MAX_FILES], num = 0, fd = dup(ctx->cmd_fd), before;
	struct ibv_context *imported;

	CHECK(fd >= 0);
	while ((fillers[num] = dup(0)) >= 0)
		num++;
	CHECK(num > spare);
	while (spare--)
		close(fillers[--num]);
	before = open_files();
	imported = ibv_import_device(fd);
	if (imported)
		SAME(ibv_close_device(imported), 0);
	else
		close(fd);	/* it may have been done */
	SAME(open_files(), before - 1);
	while (num)
		close(fillers[--num]);
	return imported;
}

/* a failure leaves nothing open */
static void no_descriptors(void)
{
	struct rlimit limit = { MAX_FILES, MAX_FILES };
	int spare, works = 0;

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(!imports_with(0));
	for (spare = 1; spare < 16; spare++) {
		note("%d descriptors left", spare);
		works += imports_with(spare);
	}
	CHECK(works > 0);
	note(NULL);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

/*
 * ---- Removal ----
 */

/* until the device is removed, which somebody else does: $REMOVAL is set then */
static void work_until_gone(void)
{
	uint64_t end = now_ns() + 60000000000ULL;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int ret;

	make(&a, CONF());
	connect_ends(&a, &a);
	meet();
	while (now_ns() < end) {
		ret = ibv_post_send(a.qp, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 5000), &a, 8000),
				    &bad);
		if (ret) {
			SAME(ret, EIO);
			SAME(ibv_close_device(ctx), 0);
			return;
		}
		/* whatever its status, while the QP is being destroyed */
		while (!ibv_poll_cq(a.scq, 1, &wc) && now_ns() < end)
			sched_yield();
	}
	FAIL("the device has not gone");
}

static void importer_until_gone(void)
{
	move_to_import();
	work_until_gone();
}

static void removal(void)
{
	pid_t pid;

	if (!getenv("REMOVAL"))
		return;
	pid = start(importer_until_gone);
	printf("running\n");
	work_until_gone();
	ended_well(pid);
}

TESTS(
	TEST(objects), TEST(refused), TEST(parent_domain), TEST(device_memory),
	TEST(keys_of_others), TEST(first_one_closes), TEST(other_one_dies),
	TEST(no_descriptors), TEST(removal)
)
