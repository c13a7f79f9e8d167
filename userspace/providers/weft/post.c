/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Posting of work requests to send queues. recv.c has receive queues, to which
 * the same applies.
 *
 * A call writes all its entries, then publishes them together and rings the
 * doorbell at most once. It does so without the lock, as the kernel may execute
 * the work requests in that ioctl, and other threads can post meanwhile.
 *
 * A work request that is reported as failed is never executed. Therefore it is
 * checked completely before its entry is published.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "sge.h"
#include "weft.h"

enum {
	SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
		     IBV_SEND_INLINE,
};

/* Sets of enum weft_sqe_opcode */
enum {
	INLINE_OPS	= 1 << WEFT_SQE_SEND | 1 << WEFT_SQE_SEND_IMM |
			  1 << WEFT_SQE_SEND_INV | 1 << WEFT_SQE_WRITE |
			  1 << WEFT_SQE_WRITE_IMM,
	DATA_OPS	= INLINE_OPS | 1 << WEFT_SQE_READ |
			  1 << WEFT_SQE_CMP_SWP | 1 << WEFT_SQE_FETCH_ADD |
			  1 << WEFT_SQE_LSO,
	/* ibv_wr_atomic_write() takes its data as an argument, not by ibv_wr_set_sge() and so on */
	POST_INLINE_OPS	= INLINE_OPS | 1 << WEFT_SQE_ATOMIC_WRITE,
	POST_DATA_OPS	= DATA_OPS | 1 << WEFT_SQE_ATOMIC_WRITE,
};

/*
 * The length of an ATOMIC WRITE. Each slot has room for these bytes, or for a
 * pointer.
 */
#define ATOMIC_WRITE_LENGTH	8

/* The bits of a memory window's key that the consumer chooses. */
#define MW_KEY_MASK		0xffU

uint32_t weft_addressed_opcodes(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD || type == IBV_QPT_XRC_SEND ||
			       type == IBV_QPT_DRIVER ?
	       POST_DATA_OPS | 1 << WEFT_SQE_FLUSH : 0;
}

static const uint8_t sqe_opcodes[] = {
	[IBV_WR_RDMA_WRITE]		= WEFT_SQE_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= WEFT_SQE_WRITE_IMM,
	[IBV_WR_SEND]			= WEFT_SQE_SEND,
	[IBV_WR_SEND_WITH_IMM]		= WEFT_SQE_SEND_IMM,
	[IBV_WR_RDMA_READ]		= WEFT_SQE_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP]	= WEFT_SQE_CMP_SWP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD]	= WEFT_SQE_FETCH_ADD,
	[IBV_WR_LOCAL_INV]		= WEFT_SQE_LOCAL_INV,
	[IBV_WR_BIND_MW]		= WEFT_SQE_BIND_MW,
	[IBV_WR_SEND_WITH_INV]		= WEFT_SQE_SEND_INV,
	[IBV_WR_TSO]			= WEFT_SQE_LSO,
	[VERBS_WR_ATOMIC_WRITE]		= WEFT_SQE_ATOMIC_WRITE,
};

/*
 * The table of ibv_post_send(3), except that UC has no SEND_WITH_INV: there is
 * no such opcode on the wire (IBA volume 1, table 38). FLUSH cannot be posted
 * this way, as struct ibv_send_wr has no members for its parameters.
 */
uint32_t weft_send_opcodes(struct ibv_context *context, enum ibv_qp_type type)
{
	const uint32_t placement = to_weft_context(context)->placement ?
				   1 << VERBS_WR_ATOMIC_WRITE : 0;
	const uint32_t ud = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM;
	const uint32_t uc = ud | 1 << IBV_WR_RDMA_WRITE |
			    1 << IBV_WR_RDMA_WRITE_WITH_IMM |
			    1 << IBV_WR_LOCAL_INV | 1 << IBV_WR_BIND_MW;
	const uint32_t rc = uc | 1 << IBV_WR_RDMA_READ |
			    1 << IBV_WR_ATOMIC_CMP_AND_SWP |
			    1 << IBV_WR_ATOMIC_FETCH_AND_ADD |
			    1 << IBV_WR_SEND_WITH_INV | placement;

	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return rc;
	case IBV_QPT_UC:
		return uc;
	case IBV_QPT_UD:
		return ud;
	case IBV_QPT_RAW_PACKET:
		return 1 << IBV_WR_SEND;
	default:
		return 0;
	}
}

uint32_t weft_send_flags(struct ibv_context *context, enum ibv_qp_type type)
{
	const bool ip_csum = type == IBV_QPT_RAW_PACKET ||
			     (type == IBV_QPT_UD &&
			      to_weft_context(context)->ip_csum);

	return SEND_FLAGS | (ip_csum ? IBV_SEND_IP_CSUM : 0);
}

uint64_t weft_wr_ops(struct ibv_context *context, uint32_t opcodes)
{
	const unsigned int tail = to_weft_context(context)->qp_mask;
	uint64_t ops = opcodes & ~(1U << VERBS_WR_ATOMIC_WRITE);

	if (opcodes & 1 << VERBS_WR_ATOMIC_WRITE) {
		if (tail > VERBS_QP_ATOMIC_WRITE)
			ops |= VERBS_QP_EX_WITH_ATOMIC_WRITE;
		if (tail > VERBS_QP_FLUSH)
			ops |= VERBS_QP_EX_WITH_FLUSH;
	}
	return ops;
}

static_assert(IBV_SEND_SIGNALED >> 1 == WEFT_SQE_SIGNALED &&
	      IBV_SEND_SOLICITED >> 1 == WEFT_SQE_SOLICITED &&
	      IBV_SEND_FENCE << 2 == WEFT_SQE_FENCE &&
	      (IBV_SEND_INLINE | IBV_SEND_IP_CSUM) ==
		      (WEFT_SQE_INLINE | WEFT_SQE_IP_CSUM),
	      "flags are moved together");

static inline uint8_t sqe_flags(unsigned int send_flags)
{
	return (send_flags & (IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)) >> 1 |
	       (send_flags & IBV_SEND_FENCE) << 2 |
	       (send_flags & (IBV_SEND_INLINE | IBV_SEND_IP_CSUM));
}

/*
 * 0, or the errno if no work request can be posted to the send queue. SQD, SQE
 * and ERR accept work requests, which are then held back or flushed.
 */
static inline int sq_refusal(const struct weft_qp *qp)
{
	if (unlikely(qp->vqp.qp.state < IBV_QPS_RTS))
		return EINVAL;
	if (weft_queue_dead(&qp->sq.queue))
		return EIO;
	return weft_queue_asks(&qp->sq.queue) ?
		       weft_queue_ask(&qp->sq.queue) : 0;
}

static inline void put_ud(struct weft_sqe *sqe, struct ibv_ah *ah,
			  uint32_t remote_qpn, uint32_t remote_qkey)
{
	sqe->ud.ah_id = to_weft_ah(ah)->ah_id;
	sqe->ud.remote_qpn = remote_qpn;
	sqe->ud.remote_qkey = remote_qkey;
	sqe->ud.pkey_index = 0;
}

/*
 * Range and access are checked against the region when the work request is
 * executed, as the region may change until then.
 */
static int put_bind(struct weft_sqe *sqe, const struct ibv_mw *mw,
		    uint32_t new_rkey, const struct ibv_mw_bind_info *info)
{
	if (!info->mr && info->length)
		return EINVAL;

	sqe->mw.addr = info->addr;
	sqe->mw.length = info->length;
	sqe->mw.rkey = mw->rkey;
	sqe->mw.new_rkey = new_rkey;
	sqe->mw.lkey = info->mr ? info->mr->lkey : 0;
	sqe->mw.access = info->mw_access_flags;
	return 0;
}

/*
 * Give @mw the key that the bind @sqe will give it, as soon as the post cannot
 * fail any more. If the completion is an error, the consumer restores the old
 * key.
 */
static void follow_bind(struct ibv_mw *mw, const struct weft_sqe *sqe)
{
	mw->rkey = (mw->rkey & ~MW_KEY_MASK) | (sqe->mw.new_rkey & MW_KEY_MASK);
}

/*
 * ibv_bind_mw() binds windows of type 1; all other calls bind windows of type
 * 2.
 */
static int put_window(struct weft_sqe *sqe, const struct ibv_send_wr *wr,
		      enum ibv_mw_type window)
{
	struct ibv_mw *mw = wr->bind_mw.mw;

	/* inline is refused here, as nothing may fail after follow_bind() */
	if (mw->type != window || wr->send_flags & IBV_SEND_INLINE ||
	    put_bind(sqe, mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info))
		return EINVAL;
	follow_bind(mw, sqe);
	return 0;
}

static int put_inline(const struct weft_sq *sq, struct weft_sqe *sqe,
		      const struct ibv_sge *sge, uint32_t num_sge)
{
	uint8_t *to = (uint8_t *)(sqe + 1);
	uint32_t room = sq->max_inline;

	for (; num_sge; num_sge--, sge++) {
		if (unlikely(sge->length > room))
			return EINVAL;
		if (likely(sge->length))
			memcpy(to, (void *)(uintptr_t)sge->addr, sge->length);
		to += sge->length;
		room -= sge->length;
	}
	sqe->num_sge = 0;
	sqe->inline_length = sq->max_inline - room;
	return 0;
}

static inline int put_data(const struct weft_sq *sq, struct weft_sqe *sqe,
			   const struct ibv_send_wr *wr)
{
	uint32_t op = 1 << sqe->opcode;

	if (wr->send_flags & IBV_SEND_INLINE) {
		if (unlikely(!(op & POST_INLINE_OPS)))
			return EINVAL;
		return put_inline(sq, sqe, wr->sg_list, wr->num_sge);
	}

	sqe->inline_length = 0;
	if (likely(op & POST_DATA_OPS)) {
		sqe->num_sge = wr->num_sge;
		put_sges((struct weft_sge *)(sqe + 1), wr->sg_list,
			 wr->num_sge);
	} else {
		sqe->num_sge = 0;
	}
	return 0;
}

static inline void put_atomic(struct weft_sqe *sqe,
			      const struct ibv_send_wr *wr)
{
	sqe->remote_addr = wr->wr.atomic.remote_addr;
	sqe->rkey = wr->wr.atomic.rkey;
	sqe->atomic.compare_add = wr->wr.atomic.compare_add;
	sqe->atomic.swap = wr->wr.atomic.swap;
}

/* The bytes of the Ethernet header, with which each frame begins. */
#define ETHERNET_HEADER		14

static uint64_t wr_length(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

/* The headers of a TSO are at the end of the slot. The kernel checks what they are. */
static int put_tso(const struct weft_sq *sq, struct weft_sqe *sqe,
		   const void *header, uint16_t length, uint16_t mss)
{
	struct weft_lso *lso;

	if (length < ETHERNET_HEADER || length > sq->max_tso_header ||
	    mss < WEFT_TSO_MIN_MSS)
		return EINVAL;
	lso = (void *)((uint8_t *)sqe + sq->queue.ring.stride - sizeof(*lso));
	lso->mss = mss;
	lso->length = length;
	memcpy(lso->header, header, length);
	return 0;
}

static int put_frame(const struct weft_sq *sq, struct weft_sqe *sqe,
		     const struct ibv_send_wr *wr)
{
	uint64_t length = wr_length(wr);

	if (sqe->opcode != WEFT_SQE_LSO)
		return length < ETHERNET_HEADER ? EINVAL : 0;
	if (length > WEFT_TSO_MAX_LENGTH || wr->send_flags & IBV_SEND_INLINE)
		return EINVAL;
	return put_tso(sq, sqe, wr->tso.hdr, wr->tso.hdr_sz, wr->tso.mss);
}

/* What a QP that is not connected has to know, or to check. */
static inline int put_connectionless(const struct weft_qp *qp,
				     struct weft_sqe *sqe,
				     const struct ibv_send_wr *wr)
{
	if (qp->vqp.qp.qp_type == IBV_QPT_RAW_PACKET)
		return put_frame(&qp->sq, sqe, wr);
	if (unlikely(!wr->wr.ud.ah))
		return EINVAL;
	put_ud(sqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	return 0;
}

static inline int put_operation(const struct weft_qp *qp, struct weft_sqe *sqe,
				const struct ibv_send_wr *wr,
				enum ibv_mw_type window)
{
	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND)
		sqe->xrc.srqn = wr->qp_type.xrc.remote_srqn;

	switch ((unsigned int)wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case VERBS_WR_ATOMIC_WRITE:
		sqe->remote_addr = wr->wr.rdma.remote_addr;
		sqe->rkey = wr->wr.rdma.rkey;
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		put_atomic(sqe, wr);
		return 0;
	case IBV_WR_BIND_MW:
		return put_window(sqe, wr, window);
	default:
		break;
	}

	if (qp->sq.connectionless)
		return put_connectionless(qp, sqe, wr);
	return 0;
}

static inline bool sq_has_opcode(const struct weft_sq *sq,
				 enum ibv_wr_opcode opcode)
{
	return opcode < ARRAY_SIZE(sqe_opcodes) &&
	       (sq->opcodes & 1 << opcode);
}

static inline int sq_put(struct weft_qp *qp, const struct ibv_send_wr *wr,
			 enum ibv_mw_type window)
{
	struct weft_sq *sq = &qp->sq;
	struct weft_sqe *sqe;
	int ret;

	if (unlikely(!sq_has_opcode(sq, wr->opcode) ||
		     (wr->send_flags & ~sq->send_flags) ||
		     (uint32_t)wr->num_sge > sq->queue.max_sge))
		return EINVAL;
	if (unlikely(weft_queue_full(&sq->queue)))
		return ENOMEM;

	sqe = weft_ring_slot(&sq->queue.ring, sq->queue.producer);
	sqe->wr_id = wr->wr_id;
	sqe->opcode = sqe_opcodes[wr->opcode];
	sqe->flags = sqe_flags(wr->send_flags) | sq->flags;
	sqe->ex = wr->invalidate_rkey;
	ret = put_operation(qp, sqe, wr, window);
	if (unlikely(ret))
		return ret;
	ret = put_data(sq, sqe, wr);
	if (unlikely(ret))
		return ret;

	sq->queue.producer++;
	return 0;
}

static int sq_post(struct weft_qp *qp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr, enum ibv_mw_type window)
{
	struct weft_queue *queue = &qp->sq.queue;
	uint32_t first;
	int ret;

	weft_lock(&queue->lock);
	first = queue->producer;
	ret = sq_refusal(qp);
	while (wr && !ret) {
		ret = sq_put(qp, wr, window);
		if (likely(!ret))
			wr = wr->next;
	}
	weft_queue_commit(queue, first);

	if (unlikely(ret))
		*bad_wr = wr;
	return ret;
}

int weft_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr)
{
	return sq_post(to_weft_qp(ibqp), wr, bad_wr, IBV_MW_TYPE_2);
}

int weft_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		 struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	struct ibv_send_wr *bad_wr;

	/* zero based addresses are for type 2 windows */
	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL;

	return sq_post(to_weft_qp(ibqp), &wr, &bad_wr, IBV_MW_TYPE_1);
}

/* Record an error of the batch, of which the first one is reported. Returns NULL. */
static __attribute__((noinline)) struct weft_sqe *wr_fail(struct weft_sq *sq,
							   int error)
{
	if (!sq->batch_error)
		sq->batch_error = error;
	sq->sqe = NULL;
	return NULL;
}

static inline struct weft_sqe *wr_begin(struct weft_qp *qp, uint8_t opcode)
{
	unsigned int flags = qp->vqp.qp_ex.wr_flags;
	struct weft_sq *sq = &qp->sq;
	struct weft_sqe *sqe;

	if (unlikely(sq->batch_error))
		return NULL;
	if (unlikely(sq->unfinished || (flags & ~sq->send_flags)))
		return wr_fail(sq, EINVAL);
	if (unlikely(weft_queue_full(&sq->queue)))
		return wr_fail(sq, ENOMEM);

	sqe = weft_ring_slot(&sq->queue.ring, sq->queue.producer);
	sqe->wr_id = qp->vqp.qp_ex.wr_id;
	sqe->opcode = opcode;
	sqe->flags = sqe_flags(flags & ~IBV_SEND_INLINE) | sq->flags;
	sqe->num_sge = 0;
	sqe->inline_length = 0;

	sq->sqe = sqe;
	sq->unfinished = sq->addressed & 1 << opcode;
	sq->queue.producer++;
	return sqe;
}

struct weft_sqe *weft_wr_begin(struct weft_qp *qp, uint8_t opcode)
{
	return wr_begin(qp, opcode);
}

struct weft_sqe *weft_wr_fail(struct weft_sq *sq, int error)
{
	return wr_fail(sq, error);
}

static inline void wr_begin_ex(struct ibv_qp_ex *ibqp, uint8_t opcode,
			       uint32_t ex)
{
	struct weft_sqe *sqe = wr_begin(to_weft_qp_ex(ibqp), opcode);

	if (likely(sqe))
		sqe->ex = ex;
}

static inline struct weft_sqe *wr_begin_rdma(struct ibv_qp_ex *ibqp,
					     uint8_t opcode, uint32_t rkey,
					     uint64_t remote_addr)
{
	struct weft_sqe *sqe = wr_begin(to_weft_qp_ex(ibqp), opcode);

	if (likely(sqe)) {
		sqe->rkey = rkey;
		sqe->remote_addr = remote_addr;
	}
	return sqe;
}

static void wr_send(struct ibv_qp_ex *ibqp)
{
	wr_begin(to_weft_qp_ex(ibqp), WEFT_SQE_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm_data)
{
	wr_begin_ex(ibqp, WEFT_SQE_SEND_IMM, (__force uint32_t)imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	wr_begin_ex(ibqp, WEFT_SQE_SEND_INV, invalidate_rkey);
}

static void wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	wr_begin_ex(ibqp, WEFT_SQE_LOCAL_INV, invalidate_rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
			  uint64_t remote_addr)
{
	wr_begin_rdma(ibqp, WEFT_SQE_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	struct weft_sqe *sqe;

	sqe = wr_begin_rdma(ibqp, WEFT_SQE_WRITE_IMM, rkey, remote_addr);
	if (likely(sqe))
		sqe->ex = (__force uint32_t)imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
			 uint64_t remote_addr)
{
	wr_begin_rdma(ibqp, WEFT_SQE_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct weft_sqe *sqe;

	sqe = wr_begin_rdma(ibqp, WEFT_SQE_CMP_SWP, rkey, remote_addr);
	if (likely(sqe)) {
		sqe->atomic.compare_add = compare;
		sqe->atomic.swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	struct weft_sqe *sqe;

	sqe = wr_begin_rdma(ibqp, WEFT_SQE_FETCH_ADD, rkey, remote_addr);
	if (likely(sqe)) {
		sqe->atomic.compare_add = add;
		sqe->atomic.swap = 0;
	}
}

static void wr_atomic_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
			    uint64_t remote_addr, const void *atomic_wr)
{
	struct weft_sqe *sqe;

	sqe = wr_begin_rdma(ibqp, WEFT_SQE_ATOMIC_WRITE, rkey, remote_addr);
	if (likely(sqe)) {
		sqe->flags |= WEFT_SQE_INLINE;
		sqe->inline_length = ATOMIC_WRITE_LENGTH;
		memcpy(sqe + 1, atomic_wr, ATOMIC_WRITE_LENGTH);
	}
}

static void wr_flush(struct ibv_qp_ex *ibqp, uint32_t rkey,
		     uint64_t remote_addr, size_t len, uint8_t type,
		     uint8_t level)
{
	struct weft_sqe *sqe;

	sqe = wr_begin_rdma(ibqp, WEFT_SQE_FLUSH, rkey, remote_addr);
	if (unlikely(!sqe))
		return;
	if (!type || type & ~(VERBS_FLUSH_GLOBAL | VERBS_FLUSH_PERSISTENT) ||
	    level > VERBS_FLUSH_MR || len > UINT32_MAX) {
		wr_fail(&to_weft_qp_ex(ibqp)->sq, EINVAL);
		return;
	}
	sqe->flush.length = len;
	sqe->flush.placement = type;
	sqe->flush.selectivity = level;
}

static void wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct weft_qp *qp = to_weft_qp_ex(ibqp);
	struct weft_sqe *sqe;

	sqe = wr_begin(qp, WEFT_SQE_BIND_MW);
	if (unlikely(!sqe))
		return;
	if (mw->type != IBV_MW_TYPE_2 || put_bind(sqe, mw, rkey, info)) {
		wr_fail(&qp->sq, EINVAL);
		return;
	}
	/* for wr_follow_binds(); the kernel reads nothing behind the SQE of a bind */
	memcpy(sqe + 1, &mw, sizeof(mw));
	qp->sq.batch_binds = true;
}

/* The batch cannot fail any more: give its windows their new keys. */
static void wr_follow_binds(const struct weft_sq *sq)
{
	const struct weft_queue *queue = &sq->queue;
	const struct weft_sqe *sqe;
	struct ibv_mw *mw;
	uint32_t i;

	for (i = sq->batch_start; i != queue->producer; i++) {
		sqe = weft_ring_slot(&queue->ring, i);
		if (sqe->opcode != WEFT_SQE_BIND_MW)
			continue;
		memcpy(&mw, sqe + 1, sizeof(mw));
		follow_bind(mw, sqe);
	}
}

static void wr_send_tso(struct ibv_qp_ex *ibqp, void *hdr, uint16_t hdr_sz,
			uint16_t mss)
{
	struct weft_sq *sq = &to_weft_qp_ex(ibqp)->sq;
	struct weft_sqe *sqe = wr_begin(to_weft_qp_ex(ibqp), WEFT_SQE_LSO);

	if (likely(sqe) && put_tso(sq, sqe, hdr, hdr_sz, mss))
		wr_fail(sq, EINVAL);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct weft_sq *sq = &to_weft_qp_ex(ibqp)->sq;

	if (unlikely(!sq->sqe || !ah || ibqp->qp_base.qp_type != IBV_QPT_UD)) {
		wr_fail(sq, EINVAL);
		return;
	}
	put_ud(sq->sqe, ah, remote_qpn, remote_qkey);
	sq->unfinished = false;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ibqp, uint32_t remote_srqn)
{
	struct weft_sq *sq = &to_weft_qp_ex(ibqp)->sq;

	if (unlikely(!sq->sqe || !sq->unfinished ||
		     ibqp->qp_base.qp_type != IBV_QPT_XRC_SEND)) {
		wr_fail(sq, EINVAL);
		return;
	}
	sq->sqe->xrc.srqn = remote_srqn;
	sq->unfinished = false;
}

/* The work request being built. It fails unless its opcode is in @ops and its data @fits. */
static inline struct weft_sqe *wr_current(struct weft_sq *sq, uint32_t ops,
					  bool fits)
{
	struct weft_sqe *sqe = sq->sqe;

	if (unlikely(!sqe || !fits || !(ops & 1 << sqe->opcode)))
		return wr_fail(sq, EINVAL);
	return sqe;
}

static inline void wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
				   const struct ibv_sge *sg_list)
{
	struct weft_sq *sq = &to_weft_qp_ex(ibqp)->sq;
	struct weft_sqe *sqe;

	sqe = wr_current(sq, DATA_OPS, num_sge <= sq->queue.max_sge);
	if (unlikely(!sqe))
		return;
	sqe->num_sge = num_sge;
	put_sges((struct weft_sge *)(sqe + 1), sg_list, num_sge);
}

static void wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	wr_set_sge_list(ibqp, 1, &sge);
}

static inline void wr_set_inline_data_list(struct ibv_qp_ex *ibqp,
					   size_t num_buf,
					   const struct ibv_data_buf *buf_list)
{
	struct weft_sq *sq = &to_weft_qp_ex(ibqp)->sq;
	size_t room = sq->max_inline;
	struct weft_sqe *sqe;
	uint8_t *to;
	size_t i;

	sqe = wr_current(sq, INLINE_OPS, true);
	if (unlikely(!sqe))
		return;

	to = (uint8_t *)(sqe + 1);
	for (i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > room)) {
			wr_fail(sq, EINVAL);
			return;
		}
		if (likely(buf_list[i].length))
			memcpy(to, buf_list[i].addr, buf_list[i].length);
		to += buf_list[i].length;
		room -= buf_list[i].length;
	}
	sqe->flags |= WEFT_SQE_INLINE;
	sqe->inline_length = sq->max_inline - room;
}

static void wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
			       size_t length)
{
	const struct ibv_data_buf buf = {
		.addr = addr,
		.length = length,
	};

	wr_set_inline_data_list(ibqp, 1, &buf);
}

/* The queue stays locked until wr_complete() or wr_abort(). */
static void wr_start(struct ibv_qp_ex *ibqp)
{
	struct weft_qp *qp = to_weft_qp_ex(ibqp);
	struct weft_sq *sq = &qp->sq;

	weft_lock(&sq->queue.lock);
	sq->batch_start = sq->queue.producer;
	sq->batch_error = sq_refusal(qp);
	sq->batch_binds = false;
	sq->unfinished = false;
	sq->sqe = NULL;
}

static void wr_abort(struct ibv_qp_ex *ibqp)
{
	struct weft_sq *sq = &to_weft_qp_ex(ibqp)->sq;

	sq->queue.producer = sq->batch_start;
	weft_unlock(&sq->queue.lock);
}

/* Post all work requests or none, as the consumer cannot learn which one failed. */
static int wr_complete(struct ibv_qp_ex *ibqp)
{
	struct weft_sq *sq = &to_weft_qp_ex(ibqp)->sq;
	int ret;

	if (unlikely(sq->unfinished))
		wr_fail(sq, EINVAL);
	if (unlikely(sq->batch_error)) {
		ret = sq->batch_error;
		wr_abort(ibqp);
		return ret;
	}
	if (unlikely(sq->batch_binds))
		wr_follow_binds(sq);

	weft_queue_commit(&sq->queue, sq->batch_start);
	return 0;
}

static_assert(IBV_QP_EX_WITH_RDMA_WRITE == 1 << IBV_WR_RDMA_WRITE &&
	      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM ==
		      1 << IBV_WR_RDMA_WRITE_WITH_IMM &&
	      IBV_QP_EX_WITH_SEND == 1 << IBV_WR_SEND &&
	      IBV_QP_EX_WITH_SEND_WITH_IMM == 1 << IBV_WR_SEND_WITH_IMM &&
	      IBV_QP_EX_WITH_RDMA_READ == 1 << IBV_WR_RDMA_READ &&
	      IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP ==
		      1 << IBV_WR_ATOMIC_CMP_AND_SWP &&
	      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD ==
		      1 << IBV_WR_ATOMIC_FETCH_AND_ADD &&
	      IBV_QP_EX_WITH_LOCAL_INV == 1 << IBV_WR_LOCAL_INV &&
	      IBV_QP_EX_WITH_BIND_MW == 1 << IBV_WR_BIND_MW &&
	      IBV_QP_EX_WITH_SEND_WITH_INV == 1 << IBV_WR_SEND_WITH_INV &&
	      IBV_QP_EX_WITH_TSO == 1 << IBV_WR_TSO,
	      "bits of opcodes are flags of the ibv_wr functions, but for the newest");

void weft_set_wr_ops(struct weft_qp *qp, uint64_t ops)
{
	struct ibv_qp_ex *ibqp = &qp->vqp.qp_ex;

	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ibqp->wr_rdma_write = wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ibqp->wr_rdma_write_imm = wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_SEND)
		ibqp->wr_send = wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ibqp->wr_send_imm = wr_send_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ibqp->wr_rdma_read = wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ibqp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ibqp->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		ibqp->wr_local_inv = wr_local_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		ibqp->wr_bind_mw = wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ibqp->wr_send_inv = wr_send_inv;
	if (ops & IBV_QP_EX_WITH_TSO)
		ibqp->wr_send_tso = wr_send_tso;
	if (ops & VERBS_QP_EX_WITH_ATOMIC_WRITE)
		qp->vqp.tail[VERBS_QP_ATOMIC_WRITE].wr_atomic_write =
			wr_atomic_write;
	if (ops & VERBS_QP_EX_WITH_FLUSH)
		qp->vqp.tail[VERBS_QP_FLUSH].wr_flush = wr_flush;

	ibqp->wr_set_ud_addr = wr_set_ud_addr;
	ibqp->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ibqp->wr_set_sge = wr_set_sge;
	ibqp->wr_set_sge_list = wr_set_sge_list;
	ibqp->wr_set_inline_data = wr_set_inline_data;
	ibqp->wr_set_inline_data_list = wr_set_inline_data_list;
	ibqp->wr_start = wr_start;
	ibqp->wr_complete = wr_complete;
	ibqp->wr_abort = wr_abort;
}
