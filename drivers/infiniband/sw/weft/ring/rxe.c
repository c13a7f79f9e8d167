// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "ring/rxe.h"

#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat/placement.h"
#include "ring/pages.h"
#include "ring/ring.h"
#include "ring/sqe.h"

/* The indexes of the queue are those of a struct weft_ring_hdr that begins here. */
#define RXE_HDR		offsetof(struct rxe_queue_buf, producer_index)

static_assert(offsetof(struct rxe_queue_buf, consumer_index) - RXE_HDR ==
	      offsetof(struct weft_ring_hdr, consumer));
static_assert(offsetof(struct rxe_queue_buf, data) == RXE_HDR + WEFT_RING_HDR_SIZE);
static_assert(sizeof(struct rxe_sge) == sizeof(struct weft_sge));
static_assert(sizeof(struct ib_uverbs_wc) <= WEFT_RXE_CQ_STRIDE);

/* The operands of a FLUSH in struct rxe_send_wr, which older kernels do not define. */
struct rxe_flush {
	__aligned_u64	remote_addr;
	u32		length;
	u32		rkey;
	u8		type;
	u8		level;
};

/*
 * Create an empty queue for at least @entries entries of @stride bytes, a power of two. @uctx is
 * the context of the process that shares it. Returns the ring or ERR_PTR(-ENOMEM).
 */
struct weft_ring *weft_rxe_create(u32 entries, u32 stride, struct ib_ucontext *uctx,
				  struct weft_ring_resp *resp)
{
	u32 slots = roundup_pow_of_two(entries + 1);
	struct rxe_queue_buf *queue;
	struct weft_pages *pages;
	struct weft_ring *ring;

	pages = weft_pages_alloc(sizeof(*queue) + (size_t)slots * stride, uctx);
	if (IS_ERR(pages))
		return ERR_CAST(pages);
	queue = pages->mem;
	queue->log2_elem_size = ilog2(stride);
	queue->index_mask = slots - 1;
	ring = weft_ring_place(pages, RXE_HDR, slots, stride, resp);
	weft_pages_put(pages);
	if (IS_ERR(ring))
		return ring;
	ring->entries = slots - 1;
	ring->index_mask = slots - 1;
	ring->rxe = true;
	ring->stage = kzalloc(sizeof(*ring->stage), GFP_KERNEL_ACCOUNT);
	if (!ring->stage) {
		weft_ring_destroy(ring);
		return ERR_PTR(-ENOMEM);
	}
	return ring;
}
WEFT_EXPORT_FOR_TEST(weft_rxe_create);

/* An opcode of enum ib_wr_opcode, which is also that of a process. */
static int rxe_opcode(u32 opcode)
{
	switch (opcode) {
	case IB_UVERBS_WR_BIND_MW:
		return WEFT_SQE_BIND_MW;
	case IB_UVERBS_WR_FLUSH:
		return WEFT_SQE_FLUSH;
	default:
		return weft_sqe_opcode(opcode);
	}
}

static void rxe_mw(const struct rxe_send_wr *wr, struct weft_sqe *sqe)
{
	sqe->mw.addr = wr->wr.mw.addr;
	sqe->mw.length = wr->wr.mw.length;
	sqe->mw.rkey = wr->wr.mw.mw_rkey;
	sqe->mw.new_rkey = wr->wr.mw.rkey;
	sqe->mw.lkey = wr->wr.mw.mr_lkey;
	sqe->mw.access = wr->wr.mw.access;
}

/* The provider leaves @flush->length 0, as rdma_rxe does not look at it. */
static void rxe_flush(const struct rxe_flush *flush, u32 length, struct weft_sqe *sqe)
{
	sqe->remote_addr = flush->remote_addr;
	sqe->rkey = flush->rkey;
	sqe->flush.length = length;
	sqe->flush.placement = flush->type;
	sqe->flush.selectivity = flush->level;
}

static void rxe_operands(const struct rxe_send_wqe *rxe, struct weft_sqe *sqe)
{
	const struct rxe_send_wr *wr = &rxe->wr;

	switch (sqe->opcode) {
	case WEFT_SQE_SEND:
	case WEFT_SQE_SEND_IMM:
		sqe->ud.ah_id = wr->wr.ud.ah_num;
		sqe->ud.remote_qpn = wr->wr.ud.remote_qpn;
		sqe->ud.remote_qkey = wr->wr.ud.remote_qkey;
		sqe->ud.pkey_index = wr->wr.ud.pkey_index;
		break;
	case WEFT_SQE_WRITE:
	case WEFT_SQE_WRITE_IMM:
	case WEFT_SQE_READ:
	case WEFT_SQE_ATOMIC_WRITE:
		sqe->remote_addr = wr->wr.rdma.remote_addr;
		sqe->rkey = wr->wr.rdma.rkey;
		break;
	case WEFT_SQE_CMP_SWP:
	case WEFT_SQE_FETCH_ADD:
		sqe->remote_addr = wr->wr.atomic.remote_addr;
		sqe->rkey = wr->wr.atomic.rkey;
		sqe->atomic.compare_add = wr->wr.atomic.compare_add;
		sqe->atomic.swap = wr->wr.atomic.swap;
		break;
	case WEFT_SQE_BIND_MW:
		rxe_mw(wr, sqe);
		break;
	case WEFT_SQE_FLUSH:
		rxe_flush((const void *)&wr->wr, rxe->dma.length, sqe);
		break;
	default:
		break;
	}
}

#define RXE_FLAGS	(IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE)

static u8 rxe_flags(u32 flags)
{
	return (flags & IB_SEND_SIGNALED ? WEFT_SQE_SIGNALED : 0) |
	       (flags & IB_SEND_SOLICITED ? WEFT_SQE_SOLICITED : 0) |
	       (flags & IB_SEND_FENCE ? WEFT_SQE_FENCE : 0) |
	       (flags & IB_SEND_INLINE ? WEFT_SQE_INLINE : 0);
}

/*
 * ibv_wr_set_inline_data() and ibv_wr_atomic_write() leave their data there without the flag. The
 * length of a FLUSH is not that of data.
 */
static bool rxe_is_inline(const struct rxe_send_wqe *rxe, const struct weft_sqe *sqe)
{
	return rxe->wr.send_flags & IB_SEND_INLINE ||
	       (rxe->dma.length && !rxe->dma.num_sge && sqe->opcode != WEFT_SQE_FLUSH);
}

int weft_rxe_sq_next(const struct weft_ring *ring, u32 ahead, struct weft_swqe *wqe)
{
	const struct rxe_send_wqe __weft_shared *from = weft_ring_take(ring, ahead);
	struct weft_sqe *sqe = &wqe->sqe;
	struct rxe_send_wqe rxe;
	int opcode;

	weft_shared_copy(&rxe, from, sizeof(rxe));
	opcode = rxe_opcode(rxe.wr.opcode);
	*sqe = (struct weft_sqe){
		.wr_id = rxe.wr.wr_id,
		.opcode = opcode < 0 ? WEFT_SQE_SEND : opcode,
		.flags = rxe_flags(rxe.wr.send_flags),
		.ex = rxe.wr.ex.invalidate_rkey,
	};
	wqe->index = ring->device + ahead;
	if (opcode < 0 || rxe.wr.send_flags & ~RXE_FLAGS)
		return -EINVAL;
	rxe_operands(&rxe, sqe);
	if (rxe_is_inline(&rxe, sqe)) {
		sqe->flags |= WEFT_SQE_INLINE;
		sqe->inline_length = rxe.dma.length;
		wqe->inline_data = weft_sq_inline(ring, wqe->index);
		return sqe->inline_length <= ring->stride - sizeof(rxe) ? 0 : -EINVAL;
	}
	if (!weft_sges_fit(rxe.dma.num_sge, ring->stride - sizeof(rxe)))
		return -EINVAL;
	sqe->num_sge = rxe.dma.num_sge;
	weft_shared_copy_sges(wqe->sge, from + 1, sqe->num_sge);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_rxe_sq_next);

/* The vector in a datagram of a process whose provider knows no ids of address handles. */
void weft_rxe_copy_av(const struct weft_ring *ring, u32 index, struct rxe_av *av)
{
	const struct rxe_send_wqe __weft_shared *from = weft_ring_slot(ring, index);

	weft_shared_copy(av, &from->wr.wr.ud.av, sizeof(*av));
}

int weft_rxe_rq_peek(const struct weft_ring *ring, struct weft_rwqe *wqe)
{
	const struct rxe_recv_wqe __weft_shared *from = weft_ring_take(ring, 0);
	struct rxe_recv_wqe rxe;

	weft_shared_copy(&rxe, from, sizeof(rxe));
	wqe->index = ring->device;
	wqe->wr_id = rxe.wr_id;
	wqe->num_sge = 0;
	wqe->length = 0;
	if (!weft_sges_fit(rxe.dma.num_sge, ring->stride - sizeof(rxe)))
		return -EINVAL;
	wqe->num_sge = rxe.dma.num_sge;
	wqe->length = weft_shared_copy_sges(wqe->sge, from + 1, wqe->num_sge);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_rxe_rq_peek);

/* Write the staged completion into the slot that weft_ring_push() publishes next. */
void weft_rxe_store_cqe(const struct weft_ring *ring)
{
	const struct weft_cqe *cqe = ring->stage;
	struct ib_uverbs_wc *wc = (void __force *)weft_ring_slot(ring, ring->device);

	*wc = (struct ib_uverbs_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.ex.invalidate_rkey = cqe->ex,
		.qp_num = cqe->qp_num,
		.src_qp = cqe->src_qp,
		.wc_flags = cqe->wc_flags,
		.pkey_index = cqe->pkey_index,
		.slid = cqe->slid,
		.sl = cqe->sl,
		.dlid_path_bits = cqe->dlid_path_bits,
		.port_num = cqe->port_num,
	};
}
WEFT_EXPORT_FOR_TEST(weft_rxe_store_cqe);
