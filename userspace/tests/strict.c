// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Programs that work here and fail on hardware, one mistake each, and correct ones. Each prints
 * "CASE qp NUMBER"; a script compares what strict mode says. $STRICT is the mode.
 */
#include "lib.h"

#include <rdma/weft-why.h>
#include <signal.h>

static struct end a, b;

static int mode(void)
{
	return getenv("STRICT") ? atoi(getenv("STRICT")) : 1;
}

static void told(const char *name, uint32_t qpn)
{
	printf("%s qp %u\n", name, qpn);
}

/* the request @id of @e succeeds in mode 1, and fails in mode 2 */
static void warns(const char *name, struct end *e, uint64_t id, uint32_t rule)
{
	if (mode() == 2)
		SAME(expect_wc(e->scq, id, IBV_WC_GENERAL_ERR).vendor_err, rule);
	else
		expect_ok(e->scq, id);
	told(name, e->qp->qp_num);
}

/* A request may be gone before this process goes on, if others have the CPU. */
#define TIMES	40

/* Wait for request 7. Return: it has failed, as it has to, or mode 1 has seen enough of them. */
static bool has_failed(int times, uint32_t rule)
{
	struct ibv_wc wc = next_wc(a.scq);

	SAME(wc.wr_id, 7);
	if (wc.status == IBV_WC_SUCCESS) {
		CHECK(mode() != 2 || times < TIMES);
		return times == TIMES;
	}
	SAME(mode(), 2);
	SAME(wc.status, IBV_WC_GENERAL_ERR);
	SAME(wc.vendor_err, rule);
	return true;
}

static void buffer(void)
{
	int times = 0;

	make_pair(&a, &b, CONF());
	fill(a.buf, 4096, 1);
	do {
		post(&a, at(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, 4096), &b, 0));
		a.buf[0] ^= 1;
	} while (!has_failed(++times, WEFT_FAULT_STRICT_BUFFER));
	told("buffer", a.qp->qp_num);
}

/* strict mode samples a long buffer: 64 bytes in each 16 KiB of this one */
static void long_buffer(void)
{
	uint8_t *big = memory(1 << 20);
	struct ibv_mr *mr = ibv_reg_mr(pd, big, 1 << 20, ACCESS_ALL);
	struct ibv_send_wr *wr;
	int times = 0;

	CHECK(mr);
	make_pair(&a, &b, CONF());
	do {
		wr = at_key(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, 100), mr->rkey, (uintptr_t)big + (1 << 19));
		wr->sg_list[0] = (struct ibv_sge){ (uintptr_t)big, 1 << 19, mr->lkey };
		post(&a, wr);
		memset(big, times, 1 << 19);
	} while (!has_failed(++times, WEFT_FAULT_STRICT_BUFFER));
	told("long_buffer", a.qp->qp_num);
}

/*
 * The acknowledge is late, by a rule, that of a probe as well, and the memory is gone before it. The
 * local link has none.
 */
static void deregistered(void)
{
	const char *path = "/sys/kernel/debug/weft/inject";
	struct ibv_mr *mr;
	struct ibv_send_wr *wr;
	char line[128];

	make_pair(&a, &b, CONF(.timeout = 18));
	mr = ibv_reg_mr(pd, a.buf, BUF, ACCESS_ALL);
	CHECK(mr);
	snprintf(line, sizeof(line), "%s packet qp=%u opcode=ack delay=500ms\n",
		 ibv_get_device_name(ctx->device), a.qp->qp_num);
	write_text(path, line);
	wr = at(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, 100), &b, 0);
	wr->sg_list->lkey = mr->lkey;
	fill(a.buf, 100, 1);
	post(&a, wr);
	sleep_ms(100);
	check_filled(b.buf, 100, 1);
	SAME(ibv_dereg_mr(mr), 0);
	warns("deregistered", &a, 7, WEFT_FAULT_STRICT_BUFFER);
	snprintf(line, sizeof(line), "%s clear\n", ibv_get_device_name(ctx->device));
	write_text(path, line);
}

static void datagram_buffer(void)
{
	struct ibv_ah *ah = ah_to(gid4, gid4);
	int times = 0;

	CHECK(ah);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	for (;;) {
		post_recv(&b, 9, 0, 200);
		post(&a, to_ah(swr(&a, 7, IBV_WR_SEND, 0, 100), ah, &b));
		a.buf[0] ^= 1;
		if (has_failed(++times, WEFT_FAULT_STRICT_BUFFER))
			break;
		expect_ok(b.rcq, 9);
	}
	told("datagram_buffer", a.qp->qp_num);
}

/* the receive comes soon, so that nothing is to be seen but the rule */
static void late_receive(void)
{
	make_pair(&a, &b, CONF());
	post(&a, swr(&a, 7, IBV_WR_SEND, 0, 100));
	post_recv(&b, 9, 0, 100);
	warns("late_receive", &a, 7, WEFT_FAULT_STRICT_RNR);
}

/* of UC such a message is lost, and nobody else says so */
static void late_message_receive(void)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UC));
	post(&a, swr(&a, 7, IBV_WR_SEND, 0, 100));
	warns("late_message_receive", &a, 7, WEFT_FAULT_STRICT_RNR);
}

static void late_datagram_receive(void)
{
	struct ibv_ah *ah = ah_to(gid4, gid4);

	CHECK(ah);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	post(&a, to_ah(swr(&a, 7, IBV_WR_SEND, 0, 100), ah, &b));
	post_recv(&b, 9, 0, 200);
	warns("late_datagram_receive", &a, 7, WEFT_FAULT_STRICT_RNR);
}

static void early_destroy_ah(void)
{
	struct ibv_ah *ah = ah_to(gid4, gid4);
	int times, ret = 0;

	CHECK(ah);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	for (times = 0; times < TIMES && !ret; times++) {
		ah = times ? ah_to(gid4, gid4) : ah;
		post_recv(&b, 9, 0, 200);
		post(&a, to_ah(swr(&a, 7, IBV_WR_SEND, 0, 100), ah, &b));
		ret = ibv_destroy_ah(ah);
		/* the handle goes after the request */
		expect_ok(a.scq, 7);
		expect_ok(b.rcq, 9);
	}
	SAME(ret, mode() == 2 ? EBUSY : 0);
	if (ret)
		SAME(ibv_destroy_ah(ah), 0);
	told("early_destroy_ah", a.qp->qp_num);
}

static void destroyed_qp(void)
{
	struct ibv_ah *ah = ah_to(gid4, gid4);
	struct ibv_send_wr *wr;

	CHECK(ah);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	wr = to_ah(swr(&a, 7, IBV_WR_SEND, 0, 100), ah, &b);
	unmake(&b);
	post(&a, wr);
	warns("destroyed_qp", &a, 7, WEFT_FAULT_STRICT_NO_QP);
}

static void destroyed_peer(void)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UC));
	unmake(&b);
	post(&a, swr(&a, 7, IBV_WR_SEND, 0, 100));
	warns("destroyed_peer", &a, 7, WEFT_FAULT_STRICT_NO_QP);
}

static void wrong_qkey(void)
{
	struct ibv_ah *ah = ah_to(gid4, gid4);
	struct ibv_send_wr *wr;

	CHECK(ah);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	post_recv(&b, 9, 0, 200);
	wr = to_ah(swr(&a, 7, IBV_WR_SEND, 0, 100), ah, &b);
	wr->wr.ud.remote_qkey = QKEY ^ 1;
	post(&a, wr);
	warns("wrong_qkey", &a, 7, WEFT_FAULT_STRICT_QKEY);
}

/* InfiniBand: the script has put the port into a partition, which the peer does not use */
static void partition_of(enum ibv_qp_type type, const char *name)
{
	struct ibv_send_wr *wr;
	struct ibv_qp_attr attr;
	__be16 found;
	int i;

	if (port.link_layer != IBV_LINK_LAYER_INFINIBAND)
		return;
	make(&a, CONF(.type = type, .timeout = 12, .retry = 1));
	make(&b, CONF(.type = type));
	attr = step_attr(&a, NULL, IBV_QPS_INIT);
	for (i = 0; i < port.pkey_tbl_len; i++)
		if (!ibv_query_pkey(ctx, 1, i, &found) && found == htobe16(0x8001))
			attr.pkey_index = i;
	CHECK(attr.pkey_index);
	SAME(ibv_modify_qp(a.qp, &attr, step_mask(&a, IBV_QPS_INIT)), 0);
	to_init(&b);
	to_rtr(&a, type == IBV_QPT_UD ? NULL : &b);
	to_rtr(&b, type == IBV_QPT_UD ? NULL : &a);
	to_rts(&a);
	to_rts(&b);
	post_recv(&b, 9, 0, 200);
	wr = swr(&a, 7, IBV_WR_SEND, 0, 100);
	post(&a, type == IBV_QPT_UD ? to_ah(wr, ah_to(gid4, gid4), &b) : wr);
	/* only RC is told, when its retries are over */
	if (type == IBV_QPT_RC && mode() == 1) {
		expect_wc(a.scq, 7, IBV_WC_RETRY_EXC_ERR);
		told(name, a.qp->qp_num);
	} else {
		warns(name, &a, 7, WEFT_FAULT_STRICT_PKEY);
	}
	expect_no_wc(b.rcq);
}

static void other_partition(void)
{
	partition_of(IBV_QPT_UC, "other_partition");
}

static void connection_partition(void)
{
	partition_of(IBV_QPT_RC, "connection_partition");
}

static void datagram_partition(void)
{
	partition_of(IBV_QPT_UD, "datagram_partition");
}

/* the child has the rings and the doorbell of its parent */
static void forked(void)
{
	struct ibv_send_wr *wr, *bad;
	pid_t child;
	int status;

	make_pair(&a, &b, CONF());
	post_recv(&b, 9, 0, 100);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		wr = swr(&a, 7, IBV_WR_SEND, 0, 100);
		ibv_post_send(a.qp, wr, &bad);
		_exit(0);
	}
	SAME(waitpid(child, &status, 0), child);
	SAME(status, 0);
	if (mode() == 2)
		expect_no_wc(b.rcq);
	else
		expect_ok(b.rcq, 9);
	told("forked", a.qp->qp_num);
}

/* each figure that the script's profile (e810) has, and weft exceeds */
static void profile(void)
{
	const int refused = mode() == 2 ? EINVAL : 0;
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	}, wish;
	struct ibv_qp_attr attr;

	CHECK(cq);
	wish = init;
	wish.cap.max_send_sge = 7;
	REFUSED(ibv_create_qp(pd, &wish) ? 0 : -1, refused);
	wish = init;
	wish.cap.max_recv_sge = 7;
	REFUSED(ibv_create_qp(pd, &wish) ? 0 : -1, refused);
	wish = init;
	wish.cap.max_send_wr = 8128;
	REFUSED(ibv_create_qp(pd, &wish) ? 0 : -1, refused);
	wish = init;
	wish.cap.max_recv_wr = 8128;
	REFUSED(ibv_create_qp(pd, &wish) ? 0 : -1, refused);
	wish = init;
	wish.cap.max_inline_data = 102;
	REFUSED(ibv_create_qp(pd, &wish) ? 0 : -1, refused);
	wish = init;
	wish.qp_type = IBV_QPT_UC;
	REFUSED(ibv_create_qp(pd, &wish) ? 0 : -1, mode() == 2 ? EOPNOTSUPP : 0);
	REFUSED(ibv_create_srq(pd, &srq_attr) ? 0 : -1, mode() == 2 ? EOPNOTSUPP : 0);
	REFUSED(ibv_create_cq(ctx, 1048575, NULL, NULL, 0) ? 0 : -1, refused);
	make(&a, CONF(.rd = 9));
	make(&b, CONF(.dest_rd = 9));
	to_init(&a);
	to_init(&b);
	to_rtr(&a, &b);
	attr = step_attr(&b, &a, IBV_QPS_RTR);
	SAME(ibv_modify_qp(b.qp, &attr, step_mask(&b, IBV_QPS_RTR)), refused);
	attr = step_attr(&a, NULL, IBV_QPS_RTS);
	SAME(ibv_modify_qp(a.qp, &attr, step_mask(&a, IBV_QPS_RTS)), refused);
	told("profile", 0);
}

/* @sges elements of a send, in a QP of @type */
static void profile_sges(const char *name, enum ibv_qp_type type, int sges, int refused)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = sges,
			 .max_recv_sge = 1 },
	};

	CHECK(cq);
	REFUSED(ibv_create_qp(pd, &init) ? 0 : -1, mode() == 2 ? refused : 0);
	told(name, 0);
}

static void profile_connectx5(void)
{
	profile_sges("profile_connectx5", IBV_QPT_RC, 31, EINVAL);
}

static void profile_efa(void)
{
	profile_sges("profile_efa", IBV_QPT_UD, 3, EINVAL);
	profile_sges("profile_efa", IBV_QPT_RC, 1, EOPNOTSUPP);
}

/* Calls that make something larger, or add one too many. The number of QPs comes last. */
static void profile_grows(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .cap.max_send_wr = 8128 };
	int n = 2, refused = mode() == 2 ? EINVAL : 0;

	CHECK(cq);
	SAME(ibv_resize_cq(cq, 1048575), refused);
	make_pair(&a, &b, CONF());
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), refused);
	attr.cap = (struct ibv_qp_cap){ .max_recv_wr = 8128 };
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), refused);
	while (n < 4093 && ibv_create_qp(pd, &init))
		n++;
	if (mode() == 2)
		SAME(errno, ENOMEM);
	/* the kernel has a QP of the device, too */
	CHECK(mode() == 2 ? n > 4000 && n < 4093 : n == 4093);
	told("profile_grows", 0);
}

/* a correct program gets no warning */
static void correct(void)
{
	struct ibv_ah *ah = ah_to(gid4, gid4);
	struct ibv_send_wr *wr;
	struct end c, d;
	int i;

	CHECK(ah);
	make_pair(&a, &b, CONF(.inline_data = 64));
	for (i = 0; i < 200; i++) {
		fill(a.buf, 3000, i);
		post_recv(&b, 9, 0, 4096);
		post(&a, swr(&a, 7, IBV_WR_SEND, 0, 3000));
		expect_ok(b.rcq, 9);
		check_filled(b.buf, 3000, i);
		expect_ok(a.scq, 7);
		/* inline data are the provider's as soon as the call returns */
		wr = at(swr(&a, 8, IBV_WR_RDMA_WRITE, 0, 64), &b, 8192);
		wr->send_flags |= IBV_SEND_INLINE;
		post(&a, wr);
		a.buf[0] ^= 0xff;
		expect_ok(a.scq, 8);
		post(&a, at(swr(&a, 6, IBV_WR_RDMA_READ, 16384, 1000), &b, 8192));
		expect_ok(a.scq, 6);
	}
	/* one in sixteen is signaled, and polled, and the memory is not touched before */
	for (i = 0; i < 640; i++) {
		wr = at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0);
		if (i % 16 != 15)
			wr->send_flags = 0;
		post(&a, wr);
		if (i % 16 == 15) {
			expect_ok(a.scq, i);
			a.buf[0]++;
		}
	}
	make_pair(&c, &d, CONF(.type = IBV_QPT_UD));
	for (i = 0; i < 200; i++) {
		c.buf[0] = i;
		post_recv(&d, 9, 0, 200);
		post(&c, to_ah(swr(&c, 7, IBV_WR_SEND, 0, 100), ah, &d));
		expect_ok(c.scq, 7);
		expect_ok(d.rcq, 9);
		SAME(d.buf[40], (uint8_t)i);
	}
	/* memory of a flushed request belongs to the program again */
	post_recv(&d, 9, 0, 200);
	post(&c, to_ah(swr(&c, 7, IBV_WR_SEND, 0, 100), ah, &d));
	to_state(&c, IBV_QPS_ERR);
	next_wc(c.scq);
	c.buf[0] ^= 1;
	SAME(ibv_destroy_ah(ah), 0);
	told("correct", a.qp->qp_num);
}

TESTS(
	TEST(buffer), TEST(long_buffer), TEST(datagram_buffer), TEST(late_receive),
	TEST(late_datagram_receive), TEST(early_destroy_ah), TEST(destroyed_qp),
	TEST(deregistered), TEST(late_message_receive), TEST(destroyed_peer), TEST(wrong_qkey),
	TEST(other_partition), TEST(connection_partition), TEST(datagram_partition), TEST(forked),
	TEST(profile), TEST(profile_connectx5), TEST(profile_efa), TEST(profile_grows),
	TEST(correct),
)
