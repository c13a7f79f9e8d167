// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process writes what it likes to the queues that rdma_rxe's provider shares with the kernel, one
 * lie at a time. A malformed work request ends with an error, and nothing is lost.
 */
#include "rxequeues.h"

static struct end a, b;
static struct queues qa, qb;
static uint32_t ah_num;

static volatile void *slot(volatile struct rxe_queue_buf *q, uint32_t index)
{
	return q->data + ((size_t)(index & q->index_mask) << q->log2_elem_size);
}

static void connect_both(void)
{
	if (a.conf.type == IBV_QPT_UD) {
		to_ready(&a);
		to_ready(&b);
	} else {
		connect_ends(&a, &b);
	}
}

static void make_both(enum ibv_qp_type type)
{
	const struct conf *conf = CONF(.type = type, .timeout = 12, .retry = 3);

	make_seen(&a, &qa, conf);
	make_seen(&b, &qb, conf);
	connect_both();
}

/* A QP in RESET has empty queues again, whatever was written to them. */
static void connect_again(void)
{
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_both();
}

/*
 * ---- Completions, without the provider ----
 */

static bool poll_raw(volatile struct rxe_queue_buf *q, struct ib_uverbs_wc *wc)
{
	uint32_t index = q->consumer_index & q->index_mask;

	if (__atomic_load_n(&q->producer_index, __ATOMIC_ACQUIRE) == index)
		return false;
	memcpy(wc, (void *)slot(q, index), sizeof(*wc));
	__atomic_store_n(&q->consumer_index, (index + 1) & q->index_mask, __ATOMIC_RELEASE);
	return true;
}

static void expect_raw(volatile struct rxe_queue_buf *q, uint64_t id, int status)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct ib_uverbs_wc wc;

	while (!poll_raw(q, &wc)) {
		if (now_ns() > end)
			FAIL("no completion of %d", (int)id);
		sched_yield();
	}
	SAME(wc.wr_id, id);
	if (wc.status != status)
		FAIL("the status is %u (%s), not %u (%s)", wc.status, ibv_wc_status_str(wc.status),
		     status, ibv_wc_status_str(status));
}

static void expect_none(volatile struct rxe_queue_buf *q)
{
	struct ib_uverbs_wc wc;

	if (poll_raw(q, &wc))
		FAIL("a completion of %d too many", (int)wc.wr_id);
}

/*
 * ---- Work requests ----
 */

/* Write a good work request into the next slot; produce() posts it. */
static volatile struct rxe_send_wqe *write_send(uint64_t id, uint32_t opcode, uint32_t ahead)
{
	volatile struct rxe_send_wqe *wqe = slot(qa.sq, qa.sq->producer_index + ahead);

	memset((void *)wqe, 0, 1 << qa.sq->log2_elem_size);
	wqe->wr.wr_id = id;
	wqe->wr.opcode = opcode;
	wqe->wr.send_flags = IBV_SEND_SIGNALED;
	wqe->dma.length = wqe->dma.resid = 8;
	wqe->dma.num_sge = 1;
	wqe->dma.sge[0].addr = (uintptr_t)a.buf;
	wqe->dma.sge[0].length = 8;
	wqe->dma.sge[0].lkey = a.mr->lkey;
	switch (opcode) {
	case IB_UVERBS_WR_SEND:
		if (a.conf.type != IBV_QPT_UD)
			break;
		wqe->wr.wr.ud.remote_qpn = b.qp->qp_num;
		wqe->wr.wr.ud.remote_qkey = QKEY;
		wqe->wr.wr.ud.ah_num = ah_num;
		break;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
		wqe->wr.wr.atomic.remote_addr = (uintptr_t)b.buf;
		wqe->wr.wr.atomic.rkey = b.mr->rkey;
		break;
	case IB_UVERBS_WR_BIND_MW:
	case IB_UVERBS_WR_LOCAL_INV:
		wqe->dma.num_sge = wqe->dma.length = wqe->dma.resid = 0;
		break;
	default:
		wqe->wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
		wqe->wr.wr.rdma.rkey = b.mr->rkey;
	}
	return wqe;
}

static void produce(volatile struct rxe_queue_buf *q, uint32_t num)
{
	__atomic_store_n(&q->producer_index, (q->producer_index + num) & q->index_mask,
			 __ATOMIC_RELEASE);
}

static volatile struct rxe_recv_wqe *write_recv(volatile struct rxe_queue_buf *q, uint64_t id)
{
	volatile struct rxe_recv_wqe *wqe = slot(q, q->producer_index);

	memset((void *)wqe, 0, 1 << q->log2_elem_size);
	wqe->wr_id = id;
	wqe->dma.length = wqe->dma.resid = 100;
	wqe->dma.num_sge = 1;
	wqe->dma.sge[0].addr = (uintptr_t)b.buf;
	wqe->dma.sge[0].length = 100;
	wqe->dma.sge[0].lkey = b.mr->lkey;
	return wqe;
}

/* One field that is wrong, and how the work request then ends. */
struct wrong {
	const char	*name;
	uint32_t	opcode;		/* of a work request that is good otherwise */
	size_t		offset, size;	/* of the field */
	uint64_t	value;
	int		status;		/* enum ibv_wc_status */
	int		other;		/* of a receive: the status at the peer */
};

#define FIELD(type, field)	offsetof(type, field), sizeof(((type *)0)->field)
#define WRONG(op, field, value, status)	\
	{ #op ", " #field " = " #value, IB_UVERBS_WR_##op, FIELD(struct rxe_send_wqe, field), \
	  value, IBV_WC_##status }
#define WRONG_RECV(field, value, status, other)	\
	{ #field " = " #value, 0, FIELD(struct rxe_recv_wqe, field), value, IBV_WC_##status, \
	  IBV_WC_##other }

static void spoil(volatile void *wqe, const struct wrong *wrong)
{
	memcpy((char *)wqe + wrong->offset, &wrong->value, wrong->size);
}

/* a work request with a wrong field, and a good one that follows */
static void post_wrong(const struct wrong *wrong)
{
	volatile struct rxe_send_wqe *wqe;
	int i;

	note("%s", wrong->name);
	for (i = 0; i < 2; i++) {
		wqe = write_send(10 + i, wrong->opcode, i);
		if (!i)
			spoil(wqe, wrong);
	}
	produce(qa.sq, 2);
	SAME(ring(&a), 0);
	expect_raw(qa.scq, 10, wrong->status);
	expect_raw(qa.scq, 11, wrong->status ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	expect_none(qa.scq);
	if (wrong->status == IBV_WC_REM_ACCESS_ERR)
		expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	if (wrong->status)
		connect_again();
}

static void send_fields(void)
{
	static const struct wrong table[] = {
		/* no opcode, or one of kernel consumers */
		WRONG(RDMA_WRITE, wr.opcode, 10, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.opcode, 11, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.opcode, 12, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.opcode, 13, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.opcode, 16, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.opcode, 0xff, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.opcode, 0x80000000, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.opcode, 0xffffffff, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.send_flags, 0x12, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.send_flags, 0x22, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, wr.send_flags, 0x80000002, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, dma.num_sge, 31, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, dma.num_sge, 33, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, dma.num_sge, 0x10001, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, dma.num_sge, 0x10000001, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, dma.num_sge, 0xffffffff, LOC_QP_OP_ERR),
		WRONG(RDMA_WRITE, dma.sge[0].lkey, 0, LOC_PROT_ERR),
		WRONG(RDMA_WRITE, dma.sge[0].lkey, 0xffffffff, LOC_PROT_ERR),
		WRONG(RDMA_WRITE, dma.sge[0].addr, 0, LOC_PROT_ERR),
		WRONG(RDMA_WRITE, dma.sge[0].addr, -4ULL, LOC_PROT_ERR),
		WRONG(RDMA_WRITE, dma.sge[0].length, 0x7fffffff, LOC_PROT_ERR),
		WRONG(RDMA_WRITE, wr.wr.rdma.rkey, 0, REM_ACCESS_ERR),
		WRONG(RDMA_WRITE, wr.wr.rdma.rkey, 0xffffffff, REM_ACCESS_ERR),
		WRONG(RDMA_WRITE, wr.wr.rdma.remote_addr, 8, REM_ACCESS_ERR),
		WRONG(RDMA_WRITE, wr.wr.rdma.remote_addr, -4ULL, REM_ACCESS_ERR),
		WRONG(RDMA_READ, dma.sge[0].lkey, 0, LOC_PROT_ERR),
		WRONG(RDMA_READ, wr.wr.rdma.rkey, 0, REM_ACCESS_ERR),
		WRONG(ATOMIC_CMP_AND_SWP, wr.wr.atomic.rkey, 0, REM_ACCESS_ERR),
		WRONG(ATOMIC_CMP_AND_SWP, dma.sge[0].length, 4, LOC_LEN_ERR),
		WRONG(LOCAL_INV, wr.ex.invalidate_rkey, 0x12345600, MW_BIND_ERR),
		WRONG(BIND_MW, wr.wr.mw.mw_rkey, 0x12345600, MW_BIND_ERR),
		/* the kernel has no use for these */
		WRONG(RDMA_WRITE, dma.length, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, dma.resid, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, dma.cur_sge, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, dma.sge_offset, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, state, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, status, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, mask, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, first_psn, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, ssn, 0xffffffff, SUCCESS),
		WRONG(RDMA_WRITE, iova, -1ULL, SUCCESS),
	};
	int i;

	make_both(IBV_QPT_RC);
	for (i = 0; i < ARRAY_SIZE(table); i++)
		post_wrong(&table[i]);
	note(NULL);
	expect_no_event();
}

/* no more inline data than the slot has room for */
static void inline_lengths(void)
{
	uint32_t room, i;

	make_both(IBV_QPT_RC);
	room = (1 << qa.sq->log2_elem_size) - sizeof(struct rxe_send_wqe);
	const uint32_t lengths[] = { room, room + 1, 4096, 0x7fffffff, 0xffffffff };

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		volatile struct rxe_send_wqe *wqe = write_send(i, IB_UVERBS_WR_RDMA_WRITE, 0);

		note("length %#x", lengths[i]);
		wqe->wr.send_flags |= IBV_SEND_INLINE;
		wqe->dma.length = lengths[i];
		memset((void *)&wqe->dma.sge, 0x5a, room);
		memset(b.buf, 0, BUF);
		produce(qa.sq, 1);
		SAME(ring(&a), 0);
		expect_raw(qa.scq, i, i ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_SUCCESS);
		SAME(b.buf[room - 1], i ? 0 : 0x5a);
		check_zero(b.buf + room, 100);
		if (i)
			connect_again();
	}
}

/* the number of the address handle, as the provider writes it */
static void find_ah_num(void)
{
	volatile struct rxe_send_wqe *wqe = slot(qa.sq, qa.sq->producer_index);

	post(&a, to_ah(swr(&a, 1, IBV_WR_SEND, 0, 8), ah_to(gid4, gid4), &b));
	expect_raw(qa.scq, 1, IBV_WC_SUCCESS);
	ah_num = wqe->wr.wr.ud.ah_num;
	CHECK(ah_num);
}

static void datagram_fields(void)
{
	static const struct wrong table[] = {
		WRONG(SEND, wr.wr.ud.ah_num, 0x7fffffff, LOC_QP_OP_ERR),
		WRONG(SEND, wr.wr.ud.ah_num, 0xffffffff, LOC_QP_OP_ERR),
		WRONG(SEND, wr.wr.ud.remote_qpn, 0xffffffff, SUCCESS),
		WRONG(SEND, wr.wr.ud.remote_qkey, 1, SUCCESS),
		/* the kernel uses the address handle instead */
		WRONG(SEND, wr.wr.ud.av.grh.sgid_index, 0xff, SUCCESS),
		WRONG(SEND, wr.wr.ud.av.port_num, 0xff, SUCCESS),
		WRONG(SEND, wr.wr.ud.av.network_type, 0xff, SUCCESS),
		WRONG(SEND, wr.opcode, IB_UVERBS_WR_RDMA_WRITE, LOC_QP_OP_ERR),
		WRONG(SEND, wr.opcode, 10, LOC_QP_OP_ERR),
		WRONG(SEND, dma.num_sge, 0xffffffff, LOC_QP_OP_ERR),
	};
	volatile struct rxe_send_wqe *wqe;
	int i;

	make_both(IBV_QPT_UD);
	find_ah_num();
	for (i = 0; i < ARRAY_SIZE(table); i++)
		post_wrong(&table[i]);
	note("no address handle");
	wqe = write_send(10, IB_UVERBS_WR_SEND, 0);
	wqe->wr.wr.ud.ah_num = 0;
	memset((void *)&wqe->wr.wr.ud.av, 0xff, sizeof(wqe->wr.wr.ud.av));
	produce(qa.sq, 1);
	SAME(ring(&a), 0);
	expect_raw(qa.scq, 10, IBV_WC_LOC_QP_OP_ERR);
	note(NULL);
	expect_no_event();
}

static void receive_fields(void)
{
	static const struct wrong table[] = {
		WRONG_RECV(dma.num_sge, 31, LOC_QP_OP_ERR, REM_OP_ERR),
		WRONG_RECV(dma.num_sge, 0x10001, LOC_QP_OP_ERR, REM_OP_ERR),
		WRONG_RECV(dma.num_sge, 0xffffffff, LOC_QP_OP_ERR, REM_OP_ERR),
		WRONG_RECV(dma.sge[0].lkey, 0, LOC_PROT_ERR, REM_OP_ERR),
		WRONG_RECV(dma.sge[0].addr, 0, LOC_PROT_ERR, REM_OP_ERR),
		WRONG_RECV(dma.sge[0].length, 7, LOC_LEN_ERR, REM_INV_REQ_ERR),
		WRONG_RECV(dma.length, 0, SUCCESS, SUCCESS),
		WRONG_RECV(dma.cur_sge, 0xffffffff, SUCCESS, SUCCESS),
		WRONG_RECV(dma.sge_offset, 0xffffffff, SUCCESS, SUCCESS),
	};
	int i;

	make_both(IBV_QPT_RC);
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		note("%s", table[i].name);
		spoil(write_recv(qb.rq, 20), &table[i]);
		produce(qb.rq, 1);
		write_send(10, IB_UVERBS_WR_SEND, 0);
		produce(qa.sq, 1);
		SAME(ring(&a), 0);
		expect_raw(qa.scq, 10, table[i].other);
		expect_raw(qb.rcq, 20, table[i].status);
		if (!table[i].status)
			continue;
		connect_again();
	}
	note(NULL);
	expect_no_event();
}

/* A slot of an SRQ has room for more elements than were asked for, as it is a power of two. */
static void srq_elements(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 17 } };
	volatile struct rxe_queue_buf *queue;
	volatile struct rxe_recv_wqe *wqe;
	struct ibv_srq *srq;
	uint32_t room, i;
	struct map old[64];

	new_maps(old, 64);
	srq = ibv_create_srq(pd, &attr);
	CHECK(srq);
	find_queues(&queue, NULL);
	make_seen(&a, &qa, CONF());
	make_seen(&b, &qb, CONF(.srq = srq));
	connect_both();
	room = ((1 << queue->log2_elem_size) - sizeof(*wqe)) / sizeof(struct rxe_sge);
	CHECK(room > 17);
	SAME(attr.attr.max_sge, room);
	fill(a.buf, room, 5);
	wqe = write_recv(queue, 30);
	wqe->dma.num_sge = room;
	for (i = 0; i < room; i++) {
		wqe->dma.sge[i].addr = (uintptr_t)b.buf + i;
		wqe->dma.sge[i].length = 1;
		wqe->dma.sge[i].lkey = b.mr->lkey;
	}
	produce(queue, 1);
	write_send(10, IB_UVERBS_WR_SEND, 0)->dma.sge[0].length = room;
	produce(qa.sq, 1);
	SAME(ring(&a), 0);
	expect_raw(qa.scq, 10, IBV_WC_SUCCESS);
	expect_raw(qb.rcq, 30, IBV_WC_SUCCESS);
	check_filled(b.buf, room, 5);

	wqe = write_recv(queue, 31);
	wqe->dma.num_sge = room + 1;
	produce(queue, 1);
	write_send(11, IB_UVERBS_WR_SEND, 0);
	produce(qa.sq, 1);
	SAME(ring(&a), 0);
	expect_raw(qa.scq, 11, IBV_WC_REM_OP_ERR);
	expect_raw(qb.rcq, 31, IBV_WC_LOC_QP_OP_ERR);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, b.qp);
	expect_no_event();
}

/* A queue may hold more than one can ask for, as one of its slots, a power of two, is empty. */
static void largest(void)
{
	struct ibv_srq_attr change = { .srq_limit = 3 };
	struct ibv_srq_init_attr attr = { .attr = { .max_sge = 1 } };
	struct ibv_device_attr device;
	struct ibv_srq_attr now;
	struct ibv_srq *srq;

	SAME(ibv_query_device(ctx, &device), 0);
	attr.attr.max_wr = device.max_srq_wr;
	srq = ibv_create_srq(pd, &attr);
	CHECK(srq);
	CHECK(attr.attr.max_wr > device.max_srq_wr);
	SAME(ibv_modify_srq(srq, &change, IBV_SRQ_LIMIT), 0);
	/* fewer receives than that are posted */
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	SAME(ibv_query_srq(srq, &now), 0);
	SAME(now.max_wr, attr.attr.max_wr);
	change.max_wr = device.max_srq_wr + 1;
	REFUSED(ibv_modify_srq(srq, &change, IBV_SRQ_MAX_WR), EINVAL);
	change.max_wr = 100;
	SAME(ibv_modify_srq(srq, &change, IBV_SRQ_MAX_WR), 0);
	SAME(ibv_query_srq(srq, &now), 0);
	SAME(now.max_wr, 127);
	/* the largest send and receive queue, too */
	make_seen(&a, &qa, CONF(.sq = device.max_qp_wr, .rq = device.max_qp_wr));
	make_seen(&b, &qb, CONF());
	connect_both();
	CHECK(qa.sq->index_mask >= device.max_qp_wr);
	write_send(1, IB_UVERBS_WR_RDMA_WRITE, 0);
	produce(qa.sq, 1);
	SAME(ring(&a), 0);
	expect_raw(qa.scq, 1, IBV_WC_SUCCESS);
	expect_no_event();
}

/*
 * ---- Indexes ----
 */

static const uint32_t lies[] = {
	0x80000000, 0xffffffff, 0x7fffffff, 0x10000, 1000, 0xdeadbeef,
};

/* Only the bits of an index count that the queue has slots for. */
static void producer_beyond(void)
{
	uint32_t index;
	int i;

	make_both(IBV_QPT_RC);
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		note("producer | %#x", lies[i]);
		write_send(i, IB_UVERBS_WR_RDMA_WRITE, 0);
		index = qa.sq->producer_index + 1;
		qa.sq->producer_index = (index & qa.sq->index_mask) |
					(lies[i] & ~qa.sq->index_mask);
		SAME(ring(&a), 0);
		expect_raw(qa.scq, i, IBV_WC_SUCCESS);
		qa.sq->producer_index = index & qa.sq->index_mask;
	}
	expect_none(qa.scq);
	expect_no_event();
}

/* Entries that nobody has written are work requests, too. */
static void producer_far(void)
{
	volatile struct rxe_send_wqe *entry;
	uint32_t num;
	int i;

	make_both(IBV_QPT_RC);
	num = qa.sq->index_mask;
	for (i = 0; i <= num; i++)
		write_send(i, IB_UVERBS_WR_RDMA_WRITE, i);
	qa.sq->producer_index = (qa.sq->producer_index - 1) & num;
	SAME(ring(&a), 0);
	for (i = 0; i < num; i++)
		expect_raw(qa.scq, i, IBV_WC_SUCCESS);
	expect_none(qa.scq);
	/* a receive queue full of zeros takes messages of no length */
	memset((void *)qb.rq->data, 0, (qb.rq->index_mask + 1) << qb.rq->log2_elem_size);
	qb.rq->producer_index = qb.rq->index_mask;
	entry = write_send(50, IB_UVERBS_WR_SEND, 0);
	entry->dma.num_sge = 0;
	entry->dma.length = 0;
	produce(qa.sq, 1);
	SAME(ring(&a), 0);
	expect_raw(qa.scq, 50, IBV_WC_SUCCESS);
	expect_raw(qb.rcq, 0, IBV_WC_SUCCESS);
	expect_no_event();
}

static void wait_for_index(volatile uint32_t *index, uint32_t value)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (*index != value)
		CHECK(now_ns() < end);
}

/* the kernel does not read the indexes that it writes, nor what describes the queue */
static void kernel_side(void)
{
	uint32_t mask, log2;
	int i;

	make_both(IBV_QPT_RC);
	mask = qa.sq->index_mask;
	log2 = qa.sq->log2_elem_size;
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		note("%#x", lies[i]);
		write_send(i, IB_UVERBS_WR_RDMA_WRITE, 0);
		qa.sq->consumer_index = lies[i];
		qa.sq->index_mask = lies[i];
		qa.sq->log2_elem_size = lies[i];
		qa.scq->producer_index = lies[i];
		/* last: the kernel may look at the queue before the doorbell, too */
		qa.sq->producer_index = i + 1;
		SAME(ring(&a), 0);
		wait_for_index(&qa.scq->producer_index, i + 1);
		expect_raw(qa.scq, i, IBV_WC_SUCCESS);
		wait_for_index(&qa.sq->consumer_index, i + 1);
		qa.sq->index_mask = mask;
		qa.sq->log2_elem_size = log2;
	}
	expect_no_event();
}

/* a completion queue without room for any */
static void completion_consumer(void)
{
	make_both(IBV_QPT_RC);
	qa.scq->consumer_index = (qa.scq->producer_index + 1) & qa.scq->index_mask;
	write_send(1, IB_UVERBS_WR_RDMA_WRITE, 0);
	produce(qa.sq, 1);
	SAME(ring(&a), 0);
	expect_event(IBV_EVENT_CQ_ERR, a.scq);
	expect_event(IBV_EVENT_QP_FATAL, a.qp);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_event();
}

/*
 * ---- The doorbell ----
 */

static void doorbell_states(void)
{
	make_seen(&a, &qa, CONF());
	make_seen(&b, &qb, CONF());
	SAME(ring(&a), EINVAL);
	to_init(&a);
	to_init(&b);
	SAME(ring(&a), EINVAL);
	to_rtr(&a, &b);
	to_rtr(&b, &a);
	SAME(ring(&a), EINVAL);
	to_rts(&a);
	to_rts(&b);
	SAME(ring(&a), 0);
	/* a work request waits in SQD, however often the process rings */
	to_state(&a, IBV_QPS_SQD);
	write_send(1, IB_UVERBS_WR_RDMA_WRITE, 0);
	produce(qa.sq, 1);
	SAME(ring(&a), 0);
	sleep_ms(QUIET_MS);
	expect_none(qa.scq);
	to_state(&a, IBV_QPS_RTS);
	expect_raw(qa.scq, 1, IBV_WC_SUCCESS);
	/* and those in ERR are flushed, of both queues */
	to_state(&a, IBV_QPS_ERR);
	write_send(2, IB_UVERBS_WR_RDMA_WRITE, 0);
	produce(qa.sq, 1);
	write_recv(qa.rq, 3);
	produce(qa.rq, 1);
	SAME(ring(&a), 0);
	expect_raw(qa.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_raw(qa.rcq, 3, IBV_WC_WR_FLUSH_ERR);
}

/* No work request comes with the call; a call that is shorter than it says is refused. */
static void doorbell_requests(void)
{
	const size_t wr = sizeof(struct ib_uverbs_send_wr), sge = sizeof(struct ib_uverbs_sge);

	make_both(IBV_QPT_RC);
	SAME(ring_with(&a, 1, 0, wr), EINVAL);
	SAME(ring_with(&a, 1, 1, wr + sge), EINVAL);
	CHECK(ring_with(&a, 1, 0, 0));
	CHECK(ring_with(&a, 0, 1, 0));
	CHECK(ring_with(&a, 0xffffffff, 0xffffffff, wr + sge));
	sleep_ms(QUIET_MS);
	expect_none(qa.scq);
	write_send(1, IB_UVERBS_WR_RDMA_WRITE, 0);
	produce(qa.sq, 1);
	SAME(ring(&a), 0);
	expect_raw(qa.scq, 1, IBV_WC_SUCCESS);
	expect_no_event();
}

TESTS(
	TEST(send_fields), TEST(inline_lengths), TEST(datagram_fields), TEST(receive_fields),
	TEST(srq_elements), TEST(largest), TEST(producer_beyond), TEST(producer_far),
	TEST(kernel_side), TEST(completion_consumer), TEST(doorbell_states),
	TEST(doorbell_requests)
)
