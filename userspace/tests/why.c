// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Wrong programs. Each makes one mistake and prints "MISTAKE qp NUMBER vendor_err NUMBER", of the
 * queue pair that suffers; a script asks weft-why about it.
 */
#include "why.h"

#include <arpa/inet.h>
#include <signal.h>

static struct end a, b;

void made(const char *mistake, uint32_t qpn, uint32_t reason)
{
	printf("%s qp %u vendor_err %u\n", mistake, qpn, reason);
}

void fails_at(struct end *e, const char *mistake, struct ibv_send_wr *wr,
	      enum ibv_wc_status status, uint32_t reason)
{
	post(e, wr);
	SAME(expect_wc(e->scq, wr->wr_id, status).vendor_err, reason);
	made(mistake, e->qp->qp_num, reason);
}

static void fails(const char *mistake, struct ibv_send_wr *wr, enum ibv_wc_status status,
		  uint32_t reason)
{
	fails_at(&a, mistake, wr, status, reason);
}

static void write_to(const char *mistake, uint32_t rkey, uint64_t addr, uint32_t length,
		     uint32_t reason)
{
	fails(mistake, at_key(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, length), rkey, addr),
	      IBV_WC_REM_ACCESS_ERR, reason);
}

static void wrong_key(void)
{
	make_pair(&a, &b, CONF());
	write_to("wrong_key", b.mr->rkey ^ 0x5a, (uintptr_t)b.buf, 100, WEFT_FAULT_REMOTE_KEY);
}

static void missing_right(void)
{
	struct ibv_mr *mr;

	make_pair(&a, &b, CONF());
	mr = ibv_reg_mr(pd, b.buf, BUF, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(mr);
	write_to("missing_right", mr->rkey, (uintptr_t)b.buf, 100, WEFT_FAULT_REMOTE_RIGHT);
}

static void out_of_bounds(void)
{
	make_pair(&a, &b, CONF());
	write_to("out_of_bounds", b.mr->rkey, (uintptr_t)b.buf + BUF - 60, 100,
		 WEFT_FAULT_REMOTE_RANGE);
}

static void other_domain(void)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *mr;

	make_pair(&a, &b, CONF());
	CHECK(other);
	mr = ibv_reg_mr(other, b.buf, BUF, ACCESS_ALL);
	CHECK(mr);
	write_to("other_domain", mr->rkey, (uintptr_t)b.buf, 100, WEFT_FAULT_REMOTE_DOMAIN);
}

/* the memory of the request, and of the receive */
static void local_key(void)
{
	struct ibv_send_wr *wr;

	make_pair(&a, &b, CONF());
	wr = swr(&a, 7, IBV_WR_SEND, 0, 100);
	wr->sg_list->lkey ^= 0x5a;
	fails("local_key", wr, IBV_WC_LOC_PROT_ERR, WEFT_FAULT_LOCAL_KEY);
}

static void receive_range(void)
{
	struct ibv_recv_wr *wr;

	make_pair(&a, &b, CONF());
	wr = rwr(&b, 9, BUF - 60, 100);
	post_r(&b, wr);
	fails("receive_range", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_REM_OP_ERR,
	      WEFT_FAULT_RECV_RANGE);
	SAME(expect_wc(b.rcq, 9, IBV_WC_LOC_PROT_ERR).vendor_err, WEFT_FAULT_RECV_RANGE);
}

/* a window of type 2 that is bound to @a; returns its key */
static uint32_t bind_window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *wr;
	struct ibv_mr *mr;

	make_pair(&a, &b, CONF());
	mr = ibv_reg_mr(pd, a.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(mw && mr);
	wr = bind_wr(&a, 1, mw, mr, BUF);
	post(&a, wr);
	expect_ok(a.scq, 1);
	return wr->bind_mw.rkey;
}

static void window_as_lkey(void)
{
	uint32_t key = bind_window();
	struct ibv_send_wr *wr = swr(&a, 7, IBV_WR_SEND, 0, 100);

	wr->sg_list->lkey = key;
	fails("window_as_lkey", wr, IBV_WC_LOC_PROT_ERR, WEFT_FAULT_LOCAL_WINDOW);
}

static void window_as_receive(void)
{
	uint32_t key = bind_window();
	struct ibv_recv_wr *wr = rwr(&b, 9, 0, 100);

	wr->sg_list->lkey = key;
	post_r(&b, wr);
	fails("window_as_receive", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_REM_OP_ERR,
	      WEFT_FAULT_RECV_WINDOW);
}

static void window_of_other(void)
{
	uint32_t key = bind_window();

	write_to("window_of_other", key, (uintptr_t)a.buf, 100, WEFT_FAULT_REMOTE_WINDOW);
}

static void window_of_other_immediate(void)
{
	uint32_t key = bind_window();

	post_recv(&b, 9, 0, 100);
	fails("window_of_other_immediate",
	      at_key(swr(&a, 7, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100), key, (uintptr_t)a.buf),
	      IBV_WC_REM_ACCESS_ERR, WEFT_FAULT_IMMEDIATE_WINDOW);
}

static void operation_not_enabled(void)
{
	make(&a, CONF());
	make(&b, CONF(.access = IBV_ACCESS_LOCAL_WRITE));
	connect_ends(&a, &b);
	fails("operation_not_enabled", at(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, 100), &b, 0),
	      IBV_WC_REM_INV_REQ_ERR, WEFT_FAULT_NOT_ENABLED);
}

static void wrong_state(void)
{
	make(&a, CONF(.timeout = 12, .retry = 1));
	make(&b, CONF());
	to_init(&a);
	to_init(&b);
	to_rtr(&a, &b);
	to_rts(&a);
	fails("wrong_state", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RETRY_EXC_ERR,
	      WEFT_FAULT_RETRY_STATE);
}

/* @b is connected with a third one */
static void other_peer(void)
{
	struct end c;

	make(&a, CONF(.timeout = 12, .retry = 1));
	make(&b, CONF());
	make(&c, CONF());
	connect_ends(&b, &c);
	to_init(&a);
	to_rtr(&a, &b);
	to_rts(&a);
	fails("other_peer", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RETRY_EXC_ERR,
	      WEFT_FAULT_RETRY_OTHER_PEER);
}

/* of a device that the script has made, on this interface */
static void port_down(void)
{
	char command[64];

	if (!getenv("PORT"))
		return;
	make_pair(&a, &b, CONF(.timeout = 12, .retry = 1));
	snprintf(command, sizeof(command), "ip link set %s down", getenv("PORT"));
	SAME(system(command), 0);
	fails("port_down", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RETRY_EXC_ERR,
	      WEFT_FAULT_RETRY_PORT);
}

static void wrong_psn(void)
{
	make(&a, CONF(.timeout = 12, .retry = 1));
	make(&b, CONF());
	to_init(&a);
	to_init(&b);
	to_rtr(&a, &b);
	to_rtr(&b, &a);
	a.psn = (a.psn + 1000) & 0xffffff;
	to_rts(&a);
	to_rts(&b);
	post_recv(&b, 9, 0, 100);
	fails("wrong_psn", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RETRY_EXC_ERR,
	      WEFT_FAULT_RETRY_PSN);
}

static int pkey_index(uint16_t pkey)
{
	__be16 found;
	int i;

	for (i = 0; i < port.pkey_tbl_len; i++)
		if (!ibv_query_pkey(ctx, 1, i, &found) && found == htons(pkey))
			return i;
	FAIL("the port has no P_Key %#x", pkey);
}

/* InfiniBand: the script has put the port into a partition, which the peer does not use */
static void other_partition(void)
{
	struct ibv_qp_attr attr;

	if (port.link_layer != IBV_LINK_LAYER_INFINIBAND)
		return;
	make(&a, CONF(.timeout = 12, .retry = 1));
	make(&b, CONF());
	attr = step_attr(&a, NULL, IBV_QPS_INIT);
	attr.pkey_index = pkey_index(0x8001);
	SAME(ibv_modify_qp(a.qp, &attr, step_mask(&a, IBV_QPS_INIT)), 0);
	to_init(&b);
	to_rtr(&a, &b);
	to_rtr(&b, &a);
	to_rts(&a);
	to_rts(&b);
	post_recv(&b, 9, 0, 100);
	fails("other_partition", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RETRY_EXC_ERR,
	      WEFT_FAULT_RETRY_PKEY);
}

/* RoCE has one P_Key, so that a wrong index is refused at once */
static void wrong_pkey(void)
{
	struct ibv_qp_attr attr;

	make(&a, CONF());
	attr = step_attr(&a, NULL, IBV_QPS_INIT);
	attr.pkey_index = 1;
	SAME(ibv_modify_qp(a.qp, &attr, step_mask(&a, IBV_QPS_INIT)), EINVAL);
	made("wrong_pkey", a.qp->qp_num, 0);
}

static void wrong_qkey(void)
{
	struct ibv_send_wr *wr;
	struct ibv_ah *ah = ah_to(gid4, gid4);

	CHECK(ah);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	post_recv(&b, 9, 0, 200);
	wr = to_ah(swr(&a, 7, IBV_WR_SEND, 0, 100), ah, &b);
	wr->wr.ud.remote_qkey = QKEY ^ 1;
	post(&a, wr);
	expect_ok(a.scq, 7);
	expect_no_wc(b.rcq);
	made("wrong_qkey", a.qp->qp_num, WEFT_FAULT_QKEY);
}

static void no_receive(void)
{
	make_pair(&a, &b, CONF(.rnr_retry = 1));
	fails("no_receive", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RNR_RETRY_EXC_ERR,
	      WEFT_FAULT_RNR_RETRY);
}

static void short_receive(void)
{
	make_pair(&a, &b, CONF());
	post_recv(&b, 9, 0, 60);
	fails("short_receive", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_REM_INV_REQ_ERR,
	      WEFT_FAULT_RECV_LENGTH);
}

static void misaligned_atomic(void)
{
	make_pair(&a, &b, CONF());
	fails("misaligned_atomic",
	      at(swr(&a, 7, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8), &b, 4),
	      IBV_WC_REM_INV_REQ_ERR, WEFT_FAULT_MISALIGNED);
}

/* what a process has to know of a queue pair of another one */
struct far_end {
	uint32_t qpn, psn;
};

static void dead_peer(void)
{
	struct far_end near, far;
	struct ibv_qp other = {};
	struct end peer = { .qp = &other };
	int up[2], down[2];
	pid_t child;

	SAME(pipe(up) || pipe(down), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		open_device();
		make(&b, CONF());
		far = (struct far_end){ b.qp->qp_num, b.psn };
		SAME(write(up[1], &far, sizeof(far)), sizeof(far));
		SAME(read(down[0], &near, sizeof(near)), sizeof(near));
		other.qp_num = near.qpn;
		peer.psn = near.psn;
		peer.conf.gid = b.conf.gid;
		to_init(&b);
		to_rtr(&b, &peer);
		to_rts(&b);
		SAME(write(up[1], "", 1), 1);
		pause();
	}
	make(&a, CONF(.timeout = 12, .retry = 1));
	SAME(read(up[0], &far, sizeof(far)), sizeof(far));
	near = (struct far_end){ a.qp->qp_num, a.psn };
	SAME(write(down[1], &near, sizeof(near)), sizeof(near));
	other.qp_num = far.qpn;
	peer.psn = far.psn;
	peer.conf.gid = a.conf.gid;
	to_init(&a);
	to_rtr(&a, &peer);
	to_rts(&a);
	SAME(read(up[0], &far, 1), 1);
	kill(child, SIGKILL);
	SAME(waitpid(child, NULL, 0), child);
	fails("dead_peer", at_key(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, 100), 1, 0),
	      IBV_WC_RETRY_EXC_ERR, WEFT_FAULT_RETRY_NO_QP);
}

/* more completions than the queue has room for, which nobody polls */
static void full_cq(void)
{
	int i;

	make_pair(&a, &b, CONF(.cqe = 4, .one_cq = true));
	for (i = 0; i < 12; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_state(&a, IBV_QPS_ERR);
	made("full_cq", a.qp->qp_num, WEFT_FAULT_CQ_OVERRUN);
}

static void dry_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	CHECK(srq);
	make_pair(&a, &b, CONF(.srq = srq, .rnr_retry = 1));
	fails("dry_srq", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RNR_RETRY_EXC_ERR,
	      WEFT_FAULT_RNR_RETRY_SRQ);
}

/* the other address of the device, which the peer does not use */
static void wrong_gid(void)
{
	struct ibv_qp_attr attr;

	make(&a, CONF(.timeout = 12, .retry = 1));
	make(&b, CONF());
	to_init(&a);
	to_init(&b);
	attr = step_attr(&a, &b, IBV_QPS_RTR);
	av_to(&attr.ah_attr, gid6, gid6);
	SAME(ibv_modify_qp(a.qp, &attr, step_mask(&a, IBV_QPS_RTR)), 0);
	to_rtr(&b, &a);
	to_rts(&a);
	to_rts(&b);
	fails("wrong_gid", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RETRY_EXC_ERR,
	      WEFT_FAULT_RETRY_ADDRESS);
}

/* an address that nobody has, but the neighbour table: the script has put it there */
static void foreign_gid(void)
{
	struct ibv_qp_attr attr;

	make(&a, CONF(.timeout = 12, .retry = 1));
	make(&b, CONF());
	to_init(&a);
	attr = step_attr(&a, &b, IBV_QPS_RTR);
	attr.ah_attr.grh.dgid.raw[15] = 99;
	SAME(ibv_modify_qp(a.qp, &attr, step_mask(&a, IBV_QPS_RTR)), 0);
	to_rts(&a);
	fails("foreign_gid", swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_RETRY_EXC_ERR,
	      WEFT_FAULT_RETRY);
}

/* more failures than there are records; the newest are left */
static void flood(void)
{
	int i, num = repeat(2 * WEFT_WHY_SLOTS + 8, 4 * WEFT_WHY_SLOTS);

	for (i = 0; i < num; i++) {
		make_pair(&a, &b, CONF());
		post(&a, at_key(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, 100), b.mr->rkey ^ 0x5a,
				(uintptr_t)b.buf));
		expect_wc(a.scq, 7, IBV_WC_REM_ACCESS_ERR);
		unmake(&a);
		unmake(&b);
	}
}

/* a live pair: the request waits until the script has seen it */
static void waiting(void)
{
	if (!getenv("WAITING"))
		return;
	make_pair(&a, &b, CONF(.rnr_timer = 0));
	post(&a, swr(&a, 7, IBV_WR_SEND, 0, 100));
	made("waiting", a.qp->qp_num, 0);
	sleep_ms(60000);
}

TESTS(
	TEST(wrong_key), TEST(missing_right), TEST(out_of_bounds), TEST(other_domain),
	TEST(local_key), TEST(receive_range), TEST(window_as_lkey), TEST(window_as_receive),
	TEST(window_of_other), TEST(window_of_other_immediate), TEST(operation_not_enabled),
	TEST(wrong_state), TEST(other_peer), TEST(port_down), TEST(wrong_psn), TEST(other_partition), TEST(wrong_pkey), TEST(wrong_qkey),
	TEST(no_receive), TEST(short_receive), TEST(misaligned_atomic), TEST(dead_peer),
	TEST(full_cq), TEST(dry_srq), TEST(wrong_gid), TEST(foreign_gid),
	TEST(flood), TEST(waiting), TEST(no_credit), TEST(short_atomic), TEST(foreign_handle),
	TEST(bind_refused), TEST(no_resources), TEST(foreign_window),
	TEST(local_domain), TEST(local_right), TEST(local_range), TEST(receive_key),
	TEST(receive_domain), TEST(receive_right), TEST(immediate_key), TEST(immediate_domain),
	TEST(immediate_right), TEST(immediate_range), TEST(no_srq), TEST(bad_request),
	TEST(request_length), TEST(dropped_message), TEST(dropped_datagram),
)
