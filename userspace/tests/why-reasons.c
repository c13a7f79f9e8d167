// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Wrong programs: one for each reason that why.c has none of. */
#include "why.h"
#include "xrc.h"

static struct end a, b;

/* @e's memory in another protection domain */
static struct ibv_mr *foreign(struct end *e)
{
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_mr *mr;

	CHECK(other);
	mr = ibv_reg_mr(other, e->buf, BUF, ACCESS_ALL);
	CHECK(mr);
	return mr;
}

static struct ibv_mr *readable(struct end *e)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, e->buf, BUF, IBV_ACCESS_REMOTE_READ);

	CHECK(mr);
	return mr;
}

void no_credit(void)
{
	make_pair(&a, &b, CONF(.rd = 0));
	fails_at(&a, "no_credit", at(swr(&a, 7, IBV_WR_RDMA_READ, 0, 100), &b, 0),
		 IBV_WC_LOC_QP_OP_ERR, WEFT_FAULT_NO_CREDIT);
}

void short_atomic(void)
{
	make_pair(&a, &b, CONF());
	fails_at(&a, "short_atomic", at(swr(&a, 7, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 4), &b, 0),
		 IBV_WC_LOC_LEN_ERR, WEFT_FAULT_LOCAL_LENGTH);
}

void foreign_handle(void)
{
	struct ibv_ah_attr av;
	struct ibv_pd *other = ibv_alloc_pd(ctx);
	struct ibv_ah *ah;

	CHECK(other);
	av_to(&av, gid4, gid4);
	ah = ibv_create_ah(other, &av);
	CHECK(ah);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	fails_at(&a, "foreign_handle", to_ah(swr(&a, 7, IBV_WR_SEND, 0, 100), ah, &b),
		 IBV_WC_LOC_QP_OP_ERR, WEFT_FAULT_ADDRESS);
}

/* the region does not allow windows */
void bind_refused(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	CHECK(mw);
	make_pair(&a, &b, CONF());
	fails_at(&a, "bind_refused", bind_wr(&a, 7, mw, a.mr, 100), IBV_WC_MW_BIND_ERR,
		 WEFT_FAULT_BIND);
}

void no_resources(void)
{
	make_pair(&a, &b, CONF(.dest_rd = 0));
	fails_at(&a, "no_resources", at(swr(&a, 7, IBV_WR_RDMA_READ, 0, 100), &b, 0),
		 IBV_WC_REM_INV_REQ_ERR, WEFT_FAULT_NO_RESOURCES);
}

/* SEND with invalidate names a key that is none of a window */
void foreign_window(void)
{
	struct ibv_send_wr *wr;

	make_pair(&a, &b, CONF());
	post_recv(&b, 9, 0, 100);
	wr = swr(&a, 7, IBV_WR_SEND_WITH_INV, 0, 100);
	wr->invalidate_rkey = 0x7fffff00;
	fails_at(&a, "foreign_window", wr, IBV_WC_REM_ACCESS_ERR, WEFT_FAULT_INVALIDATE);
}

/* a READ, whose element is written to */
static void read_into(const char *mistake, const struct ibv_mr *mr, size_t off, uint32_t reason)
{
	struct ibv_send_wr *wr = at(swr(&a, 7, IBV_WR_RDMA_READ, off, 100), &b, 0);

	wr->sg_list->lkey = mr->lkey;
	fails_at(&a, mistake, wr, IBV_WC_LOC_PROT_ERR, reason);
}

void local_domain(void)
{
	make_pair(&a, &b, CONF());
	read_into("local_domain", foreign(&a), 0, WEFT_FAULT_LOCAL_DOMAIN);
}

void local_right(void)
{
	make_pair(&a, &b, CONF());
	read_into("local_right", readable(&a), 0, WEFT_FAULT_LOCAL_RIGHT);
}

void local_range(void)
{
	make_pair(&a, &b, CONF());
	read_into("local_range", a.mr, BUF - 60, WEFT_FAULT_LOCAL_RANGE);
}

static void receive_into(const char *mistake, uint32_t lkey, uint32_t reason)
{
	struct ibv_recv_wr *wr = rwr(&b, 9, 0, 100);

	wr->sg_list->lkey = lkey;
	post_r(&b, wr);
	fails_at(&a, mistake, swr(&a, 7, IBV_WR_SEND, 0, 100), IBV_WC_REM_OP_ERR, reason);
}

void receive_key(void)
{
	make_pair(&a, &b, CONF());
	receive_into("receive_key", b.mr->lkey ^ 0x5a, WEFT_FAULT_RECV_KEY);
}

void receive_domain(void)
{
	make_pair(&a, &b, CONF());
	receive_into("receive_domain", foreign(&b)->lkey, WEFT_FAULT_RECV_DOMAIN);
}

void receive_right(void)
{
	make_pair(&a, &b, CONF());
	receive_into("receive_right", readable(&b)->lkey, WEFT_FAULT_RECV_RIGHT);
}

static void write_immediate(const char *mistake, uint32_t rkey, size_t off, uint32_t reason)
{
	post_recv(&b, 9, 0, 100);
	fails_at(&a, mistake, at_key(swr(&a, 7, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100), rkey,
				     (uintptr_t)b.buf + off), IBV_WC_REM_ACCESS_ERR, reason);
}

void immediate_key(void)
{
	make_pair(&a, &b, CONF());
	write_immediate("immediate_key", b.mr->rkey ^ 0x5a, 0, WEFT_FAULT_IMMEDIATE_KEY);
}

void immediate_domain(void)
{
	make_pair(&a, &b, CONF());
	write_immediate("immediate_domain", foreign(&b)->rkey, 0, WEFT_FAULT_IMMEDIATE_DOMAIN);
}

void immediate_right(void)
{
	make_pair(&a, &b, CONF());
	write_immediate("immediate_right", readable(&b)->rkey, 0, WEFT_FAULT_IMMEDIATE_RIGHT);
}

void immediate_range(void)
{
	make_pair(&a, &b, CONF());
	write_immediate("immediate_range", b.mr->rkey, BUF - 60, WEFT_FAULT_IMMEDIATE_RANGE);
}

/* XRC: a number that no SRQ has */
void no_srq(void)
{
	make_connected();
	send_to(0x7fffff, IBV_WR_SEND, 0, 100, 7);
	SAME(expect_wc(scq, 7, IBV_WC_REM_INV_REQ_ERR).vendor_err, WEFT_FAULT_XRC_SRQ);
	made("no_srq", ini->qp_num, WEFT_FAULT_XRC_SRQ);
}

/* A sender with wrong headers, which a rule makes of a right one: the local link has no packets. */
static void with_header(const char *mistake, const char *field, uint32_t reason)
{
	char line[128];

	make_pair(&a, &b, CONF());
	if (!packets_forced())
		return;
	snprintf(line, sizeof(line), "%s packet qp=%u opcode=write n=1 set=%s\n",
		 ibv_get_device_name(ctx->device), b.qp->qp_num, field);
	write_text("/sys/kernel/debug/weft/inject", line);
	fails_at(&a, mistake, at(swr(&a, 7, IBV_WR_RDMA_WRITE, 0, 100), &b, 0),
		 IBV_WC_REM_INV_REQ_ERR, reason);
	snprintf(line, sizeof(line), "%s clear\n", ibv_get_device_name(ctx->device));
	write_text("/sys/kernel/debug/weft/inject", line);
}

void bad_request(void)
{
	with_header("bad_request", "opcode:0x1f", WEFT_FAULT_BAD_REQUEST);
}

void request_length(void)
{
	with_header("request_length", "length:101", WEFT_FAULT_REQUEST_LENGTH);
}

/* Nobody is told of what UC and UD drop: the record is the receiver's. */
void dropped_message(void)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UC));
	/* the rest of it is dropped because of its first packet */
	post(&a, swr(&a, 7, IBV_WR_SEND, 0, 20000));
	expect_ok(a.scq, 7);
	expect_no_wc(b.rcq);
	made("dropped_message", b.qp->qp_num, WEFT_FAULT_RNR);
}

void dropped_datagram(void)
{
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	post(&a, to_ah(swr(&a, 7, IBV_WR_SEND, 0, 100), ah_to(gid4, gid4), &b));
	expect_ok(a.scq, 7);
	expect_no_wc(b.rcq);
	made("dropped_datagram", b.qp->qp_num, WEFT_FAULT_RNR);
}
