// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Injection rules for posts to SRQs of XRC and of tag matching, from an imported context, from a
 * child, and when the device is removed.
 */
#include "inject.h"
#include "xrc.h"

static struct end a, b;

/* a receive to @srq; returns the errno, and whether it was named as the bad one */
static int try_srq(struct ibv_srq *srq, const struct ibv_mr *mr, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, 100, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int ret = ibv_post_srq_recv(srq, &wr, &bad);

	CHECK(!ret || bad == &wr);
	return ret;
}

/* the initiator's request and the SRQ's receive are refused once, and work the next time */
void refused_xrc_posts(void)
{
	struct sink one = {};
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	conf.timeout = 12;
	make_connected();
	make_sink(&one, xrcd);
	rule("verb verb=post_srq_recv n=2 fail=ENOMEM");
	SAME(try_srq(one.srq, one.mr, 1), 0);
	SAME(try_srq(one.srq, one.mr, 2), ENOMEM);
	SAME(try_srq(one.srq, one.mr, 3), 0);
	SAME(fired(), 1);
	rule("clear");
	rule("verb verb=post_send service=rc fail=EIO");
	rule("verb verb=post_send qp=%u service=xrc n=1 fail=EAGAIN", ini->qp_num);
	sge = (struct ibv_sge){ (uintptr_t)from, 100, from_mr->lkey };
	wr = request(IBV_WR_SEND, &sge, 11);
	SAME(try_send(ini, one.num, &wr), EAGAIN);
	expect_no_wc(scq);
	SAME(try_send(ini, one.num, &wr), 0);
	expect_ok(scq, 11);
	expect_ok(one.cq, 1);
	send_to(one.num, IBV_WR_SEND, 0, 100, 12);
	expect_ok(scq, 12);
	expect_ok(one.cq, 3);
	expect_no_wc_now(one.cq);
	rule("clear");
}

/* receives of an SRQ with tags; what is done to its list of tags is no post */
void refused_tag_posts(void)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 64, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &cq_attr);
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM, .pd = pd,
		.tm_cap = { .max_num_tags = 4, .max_ops = 4 },
	};
	struct ibv_ops_wr op = { .wr_id = 9, .opcode = IBV_WR_TAG_SYNC }, *bad;
	struct ibv_srq *srq;

	CHECK(cq);
	init.cq = ibv_cq_ex_to_cq(cq);
	srq = ibv_create_srq_ex(ctx, &init);
	CHECK(srq);
	make(&a, CONF());
	rule("verb verb=post_srq_recv comm=inject n=1 fail=EBUSY");
	SAME(try_srq(srq, a.mr, 1), EBUSY);
	SAME(try_srq(srq, a.mr, 2), 0);
	SAME(fired(), 1);
	rule("clear");
	rule("verb verb=post_srq_recv fail=EBUSY");
	SAME(ibv_post_srq_ops(srq, &op, &bad), 0);
	SAME(try_srq(srq, a.mr, 3), EBUSY);
	SAME(fired(), 1);
	rule("clear");
	SAME(try_srq(srq, a.mr, 4), 0);
	SAME(ibv_destroy_srq(srq), 0);
}

/* from here on in a context that is imported, which asks as well */
void refused_imported_posts(void)
{
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	int fd = dup(ctx->cmd_fd);
	struct ibv_context *imported;

	CHECK(fd >= 0);
	/* one rule is older than the import, and the other one younger */
	rule("verb verb=post_recv n=1 fail=EMFILE");
	imported = ibv_import_device(fd);
	CHECK(imported);
	pd = ibv_import_pd(imported, pd->handle);
	CHECK(pd);
	ctx = imported;
	make_pair(&a, &b, CONF());
	SAME(ibv_post_recv(b.qp, rwr(&b, 1, 0, 100), &(struct ibv_recv_wr *){ NULL }), EMFILE);
	SAME(ibv_post_recv(b.qp, rwr(&b, 2, 0, 100), &(struct ibv_recv_wr *){ NULL }), 0);
	rule("verb verb=post_send qp=%u n=1 fail=EACCES", a.qp->qp_num);
	SAME(ibv_post_send(a.qp, &wr, &bad), EACCES);
	SAME(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_ok(a.scq, 7);
	expect_ok(b.rcq, 2);
	rule("clear");
	unmake(&a);
	unmake(&b);
}

/* a child posts to a QP of its parent: the rule is for the process that posts */
void refused_forked_posts(void)
{
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	int go[2], status;
	char byte = 0;
	pid_t child;

	make_pair(&a, &b, CONF());
	post_recv(&b, 1, 0, 100);
	SAME(pipe(go), 0);
	child = fork();
	if (!child) {
		close(go[1]);
		SAME(read(go[0], &byte, 1), 1);
		SAME(ibv_post_send(a.qp, &wr, &bad), ENOSPC);
		CHECK(bad == &wr);
		_exit(0);
	}
	CHECK(child > 0);
	rule("verb verb=post_send pid=%d fail=ENOSPC", child);
	SAME(write(go[1], &byte, 1), 1);
	SAME(waitpid(child, &status, 0), child);
	SAME(status, 0);
	SAME(fired(), 1);
	expect_no_wc(a.scq);
	/* not for the parent */
	SAME(ibv_post_send(a.qp, &wr, &bad), 0);
	expect_ok(a.scq, 7);
	expect_ok(b.rcq, 1);
	SAME(fired(), 1);
	rule("clear");
	close(go[0]);
	close(go[1]);
	unmake(&a);
	unmake(&b);
}

/* the device goes while rules name posts: the posts fail as without a rule */
void removed_posts(void)
{
	struct ibv_send_wr wr = { .wr_id = 2, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	int tries, sent = 0, received = 0, shared = 0;
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_srq *srq;

	if (!getenv("REMOVAL"))
		return;
	srq = ibv_create_srq(pd, &init);
	CHECK(srq);
	make_pair(&a, &b, CONF());
	post_recv(&b, 1, 0, 100);
	rule("verb verb=post_send qp=%u fail=ENOMEM", a.qp->qp_num);
	rule("verb verb=post_recv fail=EBUSY");
	rule("verb verb=post_srq_recv fail=EAGAIN");
	SAME(ibv_post_send(a.qp, &wr, &bad), ENOMEM);
	SAME(ibv_post_recv(b.qp, &recv, &bad_recv), EBUSY);
	SAME(try_srq(srq, a.mr, 1), EAGAIN);
	printf("running\n");
	fflush(stdout);
	expect_wc(b.rcq, 1, IBV_WC_FATAL_ERR);
	/* until the queues are gone a rule may still fire, or a post be accepted */
	for (tries = 0; tries < 2000; tries++) {
		sent = ibv_post_send(a.qp, &wr, &bad);
		received = ibv_post_recv(b.qp, &recv, &bad_recv);
		shared = try_srq(srq, a.mr, 2);
		if (sent == EIO && received == EIO && shared == EIO)
			return;
		CHECK(!sent || sent == ENOMEM || sent == EIO);
		CHECK(!received || received == EBUSY || received == ENOMEM || received == EIO);
		CHECK(!shared || shared == EAGAIN || shared == ENOMEM || shared == EIO);
		sleep_ms(10);
	}
	FAIL("posts do not fail: %d, %d, %d", sent, received, shared);
}
