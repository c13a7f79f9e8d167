/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Both ends of a send queue: the next work request in, completions out, and
 * what is executed without a peer.
 *
 * The send turn is owned in all of it.
 */
#ifndef WEFT_ENGINE_SENDQ_H
#define WEFT_ENGINE_SENDQ_H

#include "engine/rules.h"
#include "mem/copy.h"
#include "object/qp.h"
#include "ring/sqe.h"

struct weft_odp;

/* Sets of enum weft_sqe_opcode; who asks has made sure that the opcode is one. */
#define WEFT_SENDQ_LOCAL	(BIT(WEFT_SQE_LOCAL_INV) | BIT(WEFT_SQE_BIND_MW) | \
				 BIT(WEFT_SQE_REG_MR))
#define WEFT_SENDQ_MASKED	(BIT(WEFT_SQE_MASKED_CMP_SWP) | BIT(WEFT_SQE_MASKED_FETCH_ADD))
#define WEFT_SENDQ_ATOMIC	(BIT(WEFT_SQE_CMP_SWP) | BIT(WEFT_SQE_FETCH_ADD) | \
				 WEFT_SENDQ_MASKED)
#define WEFT_SENDQ_DATA		(BIT(WEFT_SQE_READ) | WEFT_SENDQ_ATOMIC)
#define WEFT_SENDQ_RESPONSE	(WEFT_SENDQ_DATA | BIT(WEFT_SQE_FLUSH) | \
				 BIT(WEFT_SQE_ATOMIC_WRITE))
/* Those whose messages have one length. */
#define WEFT_SENDQ_FIXED	(WEFT_SENDQ_RESPONSE & ~BIT(WEFT_SQE_READ))

static inline bool weft_sendq_is_atomic(u8 opcode)
{
	return BIT(opcode) & WEFT_SENDQ_ATOMIC;
}

/* An atomic that IBA does not have? */
static inline bool weft_sendq_is_masked(u8 opcode)
{
	return BIT(opcode) & WEFT_SENDQ_MASKED;
}

/* Does it take a receive of the peer's? */
static inline bool weft_sendq_needs_receive(u8 opcode)
{
	return opcode <= WEFT_SQE_SEND_INV || opcode == WEFT_SQE_WRITE_IMM;
}

/* Does the peer answer with more than an acknowledge? It keeps the answer then. */
static inline bool weft_sendq_is_response(u8 opcode)
{
	return BIT(opcode) & WEFT_SENDQ_RESPONSE;
}

/* Does the peer send data back? */
static inline bool weft_sendq_returns_data(u8 opcode)
{
	return BIT(opcode) & WEFT_SENDQ_DATA;
}

static inline bool weft_sendq_is_local(u8 opcode)
{
	return BIT(opcode) & WEFT_SENDQ_LOCAL;
}

/* Does it wait for accesses to end? */
static inline bool weft_sendq_may_sleep(u8 opcode)
{
	return opcode == WEFT_SQE_LOCAL_INV;
}

/**
 * weft_sendq_disarm - what is posted from now on will be found without a doorbell
 * @qp: the QP; weft_sendq_look() is due
 *
 * Worth it when that takes a while: for a single short message it is cheaper to leave the
 * client ring than to ask it anew, which takes a barrier.
 */
static __always_inline void weft_sendq_disarm(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	weft_assert_turn(&send->turn);
	if (!send->doorbell_armed)
		return;
	weft_ring_set_flags(send->ring, 0, WEFT_RING_NEED_DOORBELL);
	send->doorbell_armed = false;
}

/**
 * weft_sendq_look - is there a next work request?
 * @qp: the QP
 * @ahead: work requests that have been taken and are not complete
 *
 * With an empty queue the client is asked to ring, unless it has been. The order of
 * looking and asking: see the proof in weft-abi.h. What is returned is what the client's
 * index said when it was read last: nobody has to read it again.
 *
 * Return: how many there are; 0: none; negative: the client's index is impossible.
 */
static __always_inline int weft_sendq_look(struct weft_qp *qp, int ahead)
{
	struct weft_send *send = &qp->send;
	int pending = weft_ring_pending(send->ring);

	weft_assert_turn(&send->turn);
	if (!send->doorbell_armed && pending >= 0 && pending <= ahead) {
		weft_ring_arm_doorbell(send->ring);
		send->doorbell_armed = true;
		pending = weft_ring_pending(send->ring);
	}
	return pending < 0 ? pending : max(pending - ahead, 0);
}

/**
 * weft_sendq_next - copy the next work request
 * @qp: the QP
 * @ahead: work requests that have been taken and are not complete
 *
 * Into @qp->send.wqe; sets @qp->send.malformed. With an empty queue the client
 * is asked to ring.
 *
 * Return: false: there is none.
 */
static __always_inline bool weft_sendq_next(struct weft_qp *qp, u32 ahead)
{
	struct weft_send *send = &qp->send;
	int more = weft_sendq_look(qp, ahead);

	if (!more)
		return false;
	if (unlikely(more < 0)) {
		weft_qp_fatal(qp, WEFT_FAULT_QUEUE_INDEX);
		return false;
	}
	if (more > 1)
		weft_sendq_disarm(qp);
	send->malformed = weft_sq_next(send->ring, ahead, &send->wqe);
	return true;
}

/**
 * weft_sendq_check - whether a work request may be executed
 * @qp: the QP
 *
 * Return: WEFT_FAULT_NONE, or what is wrong with @qp->send.wqe.
 */
static inline enum weft_fault weft_sendq_check(const struct weft_qp *qp)
{
	const struct weft_send *send = &qp->send;
	u8 opcode = send->wqe.sqe.opcode;

	if (unlikely(send->malformed))
		return WEFT_FAULT_MALFORMED;
	if (unlikely(!(BIT(opcode) & send->opcodes)))
		return WEFT_FAULT_OPCODE;
	if (unlikely(weft_sendq_is_response(opcode) && !send->max_rd_atomic))
		return WEFT_FAULT_NO_CREDIT;
	return WEFT_FAULT_NONE;
}

/**
 * weft_sendq_allows - may such a work request be posted at all?
 * @qp: the QP
 * @opcode: enum weft_sqe_opcode
 *
 * Return: true: the service has the operation; LSO: the QP was made for it; masked atomics:
 * it is an RC QP of a kernel consumer.
 */
bool weft_sendq_allows(const struct weft_qp *qp, u8 opcode);

/**
 * weft_sendq_length_valid - whether a message may be so long
 * @opcode: enum weft_sqe_opcode
 * @length: bytes
 *
 * Return: true when it may.
 */
static __always_inline bool weft_sendq_length_valid(u8 opcode, u64 length)
{
	if (likely(!(BIT(opcode) & WEFT_SENDQ_FIXED)))
		return length <= WEFT_MAX_MSG;
	return length == (opcode == WEFT_SQE_FLUSH ? 0 : sizeof(u64));
}

/* The rights that a work request needs to its own memory. */
static __always_inline u32 weft_sendq_access(u8 opcode)
{
	return weft_sendq_returns_data(opcode) ? IB_ACCESS_LOCAL_WRITE : 0;
}

/* Inline data are a list of one element that needs no reference. */
static __always_inline void weft_sendq_inline(struct weft_sgl *sgl, const void *data,
					      u32 length)
{
	sgl->length = length;
	sgl->num = length ? 1 : 0;
	sgl->span[0].region = NULL;
	sgl->span[0].addr = (uintptr_t)data;
	sgl->span[0].length = length;
}

/**
 * weft_sendq_gather - resolve the memory of a work request
 * @qp: the QP; @qp->send.sgl is the result
 * @sqe: the request
 * @sge: its list
 * @inline_data: its payload when WEFT_SQE_INLINE
 *
 * Return: WEFT_FAULT_NONE: weft_sgl_release() is due; WEFT_FAULT_PAGES:
 * weft_sendq_page() is; or why not.
 */
static __always_inline enum weft_fault
weft_sendq_gather(struct weft_qp *qp, const struct weft_sqe *sqe, const struct weft_sge *sge,
		  const void *inline_data)
{
	struct weft_sgl *sgl = &qp->send.sgl;
	int err;

	weft_assert_turn(&qp->send.turn);
	if (sqe->flags & WEFT_SQE_INLINE) {
		weft_sendq_inline(sgl, inline_data, sqe->inline_length);
	} else {
		err = weft_sgl_resolve(sgl, &qp->send.who, sge, sqe->num_sge, U64_MAX,
				       weft_sendq_access(sqe->opcode));
		if (unlikely(err))
			return err == -EFAULT ? WEFT_FAULT_PAGES : WEFT_FAULT_LOCAL_PROTECTION;
	}
	if (likely(weft_sendq_length_valid(sqe->opcode, sgl->length)))
		return WEFT_FAULT_NONE;
	weft_sgl_release(sgl);
	return WEFT_FAULT_LOCAL_LENGTH;
}

/**
 * weft_sendq_measure - check a work request that will be sent in packets
 * @qp: the QP; @qp->send.wqe is looked at
 * @length: result: bytes of the message
 *
 * Memory that data are to come into has to be there; that of data that go out is
 * looked at when they do.
 *
 * Return: WEFT_FAULT_NONE, or what is wrong with it.
 */
enum weft_fault weft_sendq_measure(struct weft_qp *qp, u32 *length);

/**
 * weft_sendq_page - what weft_sendq_gather() does, when some of the memory is odp
 * @qp: the QP; @qp->send.sgl is the result
 * @odp: of the send half
 * @sqe: the request
 * @sge: its list
 * @offset: first byte of the message that will be accessed
 * @length: bytes that will be, of which WEFT_ODP_CHUNK may; 0: it is only checked
 *
 * Return: WEFT_FAULT_NONE: weft_sgl_release() is due; WEFT_FAULT_PAGES: there will be
 * an event when it is worth to try again; or why not.
 */
enum weft_fault weft_sendq_page(struct weft_qp *qp, struct weft_odp *odp,
				const struct weft_sqe *sqe, const struct weft_sge *sge,
				u64 offset, u64 length);

/**
 * weft_sendq_local - execute LOCAL_INV, BIND_MW or REG_MR
 * @qp: the QP
 * @sqe: the request
 *
 * Context: process, because LOCAL_INV waits for accesses to end; else any.
 * Return: WEFT_FAULT_NONE or WEFT_FAULT_BIND.
 */
enum weft_fault weft_sendq_local(struct weft_qp *qp, const struct weft_sqe *sqe);

/**
 * weft_sendq_complete - complete the oldest work request and release its slot
 * @qp: the QP
 * @sqe: the request
 * @index: of the slot
 * @status: of the completion
 * @fault: vendor_err
 * @byte_len: bytes
 */
void weft_sendq_complete(struct weft_qp *qp, const struct weft_sqe *sqe, u32 index,
			 enum ib_wc_status status, enum weft_fault fault, u32 byte_len);

/**
 * weft_sendq_fail - the same for one that failed; the QP follows (IBA 10.3.1)
 * @qp: the QP
 * @sqe: the request
 * @index: of the slot
 * @status: of the completion
 * @fault: vendor_err
 */
void weft_sendq_fail(struct weft_qp *qp, const struct weft_sqe *sqe, u32 index,
		     enum ib_wc_status status, enum weft_fault fault);

#endif /* WEFT_ENGINE_SENDQ_H */
