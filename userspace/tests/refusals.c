// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two devices, of any driver and on any hosts, each of which refuses what the other one
 * should not have asked for.
 *
 *	refusals [-d NAME] [-g INDEX] [-p PORT] [ADDRESS]
 *
 * Without ADDRESS it waits for the other one. Of both ends all is looked at: the status
 * and the vendor_err of the request, of what is behind it and of the receive, the states
 * and the events, and the memory (IBA volume 1, 9.9.2 and 10.10).
 *
 * Of rdma_rxe only what it makes of our NAKs. It has neither these events nor a
 * vendor_err, and what it completes its receives with is its own affair: that of one that
 * is too short, or has a bad lkey, with LOC_QP_OP_ERR. It is shown.
 */
#include "peer.h"

#define SECONDS		60		/* for whatever the peer has to do */
#define PATH_MTU	1024
#define SHORT		100		/* bytes of one packet, */
#define LONG		(2 * PATH_MTU + SHORT)	/* and of three */
#define TARGET		8192		/* of what is refused, at both ends */
#define RECEIVES	32768
#define RECEIVE		8192		/* bytes */

enum fault {
	KEY, BEYOND, REGION, SERVICE, MISALIGNED, NO_RECEIVE, SHORT_RECEIVE, RECEIVE_KEY,
};

struct refusal {
	const char *name;
	enum ibv_wr_opcode opcode;
	enum fault fault;
	uint32_t length;
	enum ibv_wc_status status;	/* of the request */
	enum ibv_wc_status receive;	/* of the receive; 0: flushed, if there is one */
	enum ibv_wc_status by_rxe;	/* of the request; 0: as it has to be */
};

#define REFUSAL(_name, _opcode, _fault, _length, _status, ...)		\
	{ _name, IBV_WR_ ## _opcode, _fault, _length, IBV_WC_ ## _status, __VA_ARGS__ }

static const struct refusal refusals[] = {
	REFUSAL("WRITE, rkey", RDMA_WRITE, KEY, SHORT, REM_ACCESS_ERR),
	REFUSAL("WRITE of three packets, rkey", RDMA_WRITE, KEY, LONG, REM_ACCESS_ERR),
	REFUSAL("READ, rkey", RDMA_READ, KEY, SHORT, REM_ACCESS_ERR),
	REFUSAL("atomic, rkey", ATOMIC_FETCH_AND_ADD, KEY, 8, REM_ACCESS_ERR),
	REFUSAL("WRITE, one byte too far", RDMA_WRITE, BEYOND, LONG, REM_ACCESS_ERR),
	REFUSAL("READ, one byte too far", RDMA_READ, BEYOND, LONG, REM_ACCESS_ERR),
	REFUSAL("atomic, beyond the region", ATOMIC_FETCH_AND_ADD, BEYOND, 8, REM_ACCESS_ERR),
	REFUSAL("WRITE, right of the region", RDMA_WRITE, REGION, SHORT, REM_ACCESS_ERR),
	REFUSAL("READ, right of the region", RDMA_READ, REGION, LONG, REM_ACCESS_ERR),
	REFUSAL("atomic, right of the region", ATOMIC_CMP_AND_SWP, REGION, 8, REM_ACCESS_ERR),
	REFUSAL("WRITE, right of the QP", RDMA_WRITE, SERVICE, SHORT, REM_INV_REQ_ERR),
	REFUSAL("READ, right of the QP", RDMA_READ, SERVICE, SHORT, REM_INV_REQ_ERR),
	REFUSAL("atomic, right of the QP", ATOMIC_CMP_AND_SWP, SERVICE, 8, REM_INV_REQ_ERR),
	REFUSAL("atomic, misaligned", ATOMIC_FETCH_AND_ADD, MISALIGNED, 8, REM_INV_REQ_ERR),
	REFUSAL("SEND, no receive", SEND, NO_RECEIVE, SHORT, RNR_RETRY_EXC_ERR),
	REFUSAL("WRITE with immediate data, no receive", RDMA_WRITE_WITH_IMM, NO_RECEIVE, SHORT,
		RNR_RETRY_EXC_ERR),
	/* rdma_rxe takes the receive for malformed, and its answer is REM_OP_ERR */
	REFUSAL("SEND, receive too short", SEND, SHORT_RECEIVE, SHORT, REM_INV_REQ_ERR,
		IBV_WC_LOC_LEN_ERR, IBV_WC_REM_OP_ERR),
	REFUSAL("SEND of three packets, receive too short", SEND, SHORT_RECEIVE, LONG,
		REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_OP_ERR),
	REFUSAL("SEND, lkey of the receive", SEND, RECEIVE_KEY, SHORT, REM_OP_ERR,
		IBV_WC_LOC_PROT_ERR),
};

/* what one side tells the other before each of them */
struct hello {
	uint32_t qpn, psn, rkey, bad_rkey;
	uint64_t addr, bad_addr;
	union ibv_gid gid;
	bool is_rxe;
};

static struct peer_options opt;
static struct end e;			/* ours */
static struct ibv_mr *limited;
static struct hello us, them;

static bool is_atomic(const struct refusal *r)
{
	return r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || r->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

/* the right that a request needs */
static int right(const struct refusal *r)
{
	if (is_atomic(r))
		return IBV_ACCESS_REMOTE_ATOMIC;
	return r->opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

/*
 * ---- What there is to see ----
 */

/* vendor_err of what packets can tell, see conformance.rst */
static uint32_t reason(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_WR_FLUSH_ERR:
		return 1;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return 10;
	case IBV_WC_LOC_LEN_ERR:
		return 16;
	case IBV_WC_LOC_PROT_ERR:
		return 50; /* the key of a receive */
	case IBV_WC_REM_INV_REQ_ERR:
		return 21;
	case IBV_WC_REM_ACCESS_ERR:
		return 22;
	case IBV_WC_REM_OP_ERR:
		return 23;
	default:
		return 0;
	}
}

static void expect_status(struct ibv_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc = next_wc(cq);

	if (wc.wr_id != id || wc.status != status)
		FAIL("expected completion %d, %s; got %d, %s, vendor_err %u", (int)id,
		     ibv_wc_status_str(status), (int)wc.wr_id, ibv_wc_status_str(wc.status),
		     wc.vendor_err);
	SAME(wc.qp_num, e.qp->qp_num);
	if (!us.is_rxe)
		SAME(wc.vendor_err, reason(status));
}

/* that the responder is told of what its requester has done, if no receive tells */
static enum ibv_event_type event_of(enum fault fault)
{
	return fault == SERVICE ? IBV_EVENT_QP_REQ_ERR : IBV_EVENT_QP_ACCESS_ERR;
}

/*
 * ---- Connection ----
 */

static void introduce(const struct refusal *r)
{
	us.qpn = e.qp->qp_num;
	us.psn = e.psn;
	us.rkey = e.mr->rkey;
	us.bad_rkey = us.rkey;
	us.addr = (uintptr_t)e.buf;
	us.bad_addr = us.addr + TARGET;
	us.is_rxe = is_other_driver();
	SAME(ibv_query_gid(ctx, 1, opt.gid, &us.gid), 0);
	if (r->fault == KEY)
		us.bad_rkey ^= 1;
	else if (r->fault == BEYOND)
		us.bad_addr = us.addr + BUF - r->length + (is_atomic(r) ? 8 : 1);
	else if (r->fault == MISALIGNED)
		us.bad_addr += 4;
	else if (r->fault == REGION)
		us.bad_rkey = limited->rkey;
	tell(&us, sizeof(us));
	hear(&them, sizeof(them));
}

static void begin(const struct refusal *r, bool refuser)
{
	int denied = refuser && r->fault == SERVICE ? right(r) : 0;

	/* by ibv_wr_start() librxe takes an atomic that is misaligned */
	make(&e, CONF(.ex = true, .access = ACCESS_ALL & ~denied, .rnr_retry = 1,
		      .rnr_timer = 14, .gid = opt.gid));
	limited = ibv_reg_mr(pd, e.buf, BUF, ACCESS_ALL & ~right(r));
	CHECK(limited);
	introduce(r);
	join_peer(&e, them.qpn, them.psn, them.gid);
}

static void end(void)
{
	SAME(ibv_dereg_mr(limited), 0);
	unmake(&e);
}

/*
 * ---- The requester ----
 */

static void post_atomic(const struct refusal *r)
{
	struct ibv_qp_ex *qp = wr_start(&e, 2);

	if (r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		ibv_wr_atomic_fetch_add(qp, them.bad_rkey, them.bad_addr, 1);
	else
		ibv_wr_atomic_cmp_swp(qp, them.bad_rkey, them.bad_addr, 0, 1);
	ibv_wr_set_sge(qp, e.mr->lkey, (uintptr_t)e.buf + TARGET, 8);
	SAME(ibv_wr_complete(qp), 0);
}

static void post_bad(const struct refusal *r)
{
	struct ibv_send_wr *wr = swr(&e, 2, r->opcode, TARGET, r->length);

	if (is_atomic(r)) {
		post_atomic(r);
		return;
	}
	if (r->opcode != IBV_WR_SEND)
		at_key(wr, them.bad_rkey, them.bad_addr);
	post(&e, wr);
}

static void request(const struct refusal *r)
{
	enum ibv_wc_status status = them.is_rxe && r->by_rxe ? r->by_rxe : r->status;
	enum ibv_wr_opcode allowed = r->opcode == IBV_WR_RDMA_READ ? IBV_WR_RDMA_WRITE :
								     IBV_WR_RDMA_READ;

	fill(e.buf + TARGET, r->length, 1);
	post_recv(&e, 9, RECEIVES, RECEIVE);
	post(&e, at_key(swr(&e, 1, allowed, 0, SHORT), them.rkey, them.addr));
	post_bad(r);
	post(&e, swr(&e, 3, IBV_WR_SEND, 0, SHORT));
	expect_status(e.scq, 1, IBV_WC_SUCCESS);
	expect_status(e.scq, 2, status);
	expect_status(e.scq, 3, IBV_WC_WR_FLUSH_ERR);
	expect_status(e.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	expect_state(&e, IBV_QPS_ERR);
	expect_no_event_(__FILE__, __LINE__, 0);
	/* neither a READ nor an atomic has brought anything */
	check_filled(e.buf + TARGET, r->length, 1);
	printf("%s: %s\n", r->name, ibv_wc_status_str(status));
}

/*
 * ---- The responder ----
 */

static void prepare(const struct refusal *r)
{
	struct ibv_recv_wr *wr = rwr(&e, 91, RECEIVES, RECEIVE);

	if (r->fault == NO_RECEIVE)
		return;
	if (r->fault == SHORT_RECEIVE)
		wr->sg_list->length = r->length - 1;
	if (r->fault == RECEIVE_KEY)
		wr->sg_list->lkey ^= 1;
	post_r(&e, wr);
	post_recv(&e, 92, RECEIVES + RECEIVE, RECEIVE);
}

static void show_receives(const struct refusal *r)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(e.rcq, 1, &wc) > 0)
		printf("(%s: receive %d of rdma_rxe: %s)\n", r->name, (int)wc.wr_id,
		       ibv_wc_status_str(wc.status));
}

static void has_refused(const struct refusal *r)
{
	if (us.is_rxe) {
		show_receives(r);
		return;
	}
	check_zero(e.buf, RECEIVES);
	check_zero(e.buf + RECEIVES + RECEIVE, BUF - RECEIVES - RECEIVE);
	if (r->fault == NO_RECEIVE) {
		expect_no_wc_now(e.rcq);
		expect_state(&e, IBV_QPS_RTS);
	} else {
		expect_status(e.rcq, 91, r->receive ?: IBV_WC_WR_FLUSH_ERR);
		expect_status(e.rcq, 92, IBV_WC_WR_FLUSH_ERR);
		expect_state(&e, IBV_QPS_ERR);
		if (!r->receive)
			expect_event(event_of(r->fault), e.qp);
	}
	expect_no_event_(__FILE__, __LINE__, 0);
}

/*
 * ---- Program ----
 */

static void run(const struct refusal *r, bool refuser)
{
	note("%s, the %s", r->name, refuser ? "responder" : "requester");
	begin(r, refuser);
	if (refuser)
		prepare(r);
	meet_again();
	if (!refuser)
		request(r);
	meet_again();
	if (refuser)
		has_refused(r);
	end();
	note(NULL);
}

int main(int argc, char **argv)
{
	int side, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	opt = peer_options(argc, argv);
	open_device();
	meet_peer(opt.address, opt.tcp_port, SECONDS);
	/* the server requests first */
	for (side = 0; side < 2; side++)
		for (i = 0; i < ARRAY_SIZE(refusals); i++)
			run(&refusals[i], side == !opt.address);
	printf("%d refusals each, all as it has to be\n", i);
	return 0;
}
