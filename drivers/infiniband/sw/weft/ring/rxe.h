/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues of rdma_rxe's user ABI (rdma/rdma_user_rxe.h), so that the provider for rdma_rxe, which
 * every rdma-core has, drives a weft device.
 *
 * Such a queue is a ring like those of weft-abi.h but for three things: its entries have other
 * formats; its indexes wrap at the number of slots; and the client counts it as full when one slot
 * is left. The functions below translate the entries, from and to private copies.
 */
#ifndef WEFT_RING_RXE_H
#define WEFT_RING_RXE_H

#include <linux/types.h>
#include <rdma/rdma_user_rxe.h>
#include <rdma/weft-abi.h>

struct ib_ucontext;
struct weft_ring;
struct weft_rwqe;
struct weft_swqe;

/* Bytes of an entry of a send or receive queue, before its list or inline data. */
#define WEFT_RXE_SQ_HEAD	sizeof(struct rxe_send_wqe)
#define WEFT_RXE_RQ_HEAD	sizeof(struct rxe_recv_wqe)
/* Bytes of an entry of a completion queue: a struct ib_uverbs_wc, and a power of two. */
#define WEFT_RXE_CQ_STRIDE	64

struct weft_ring *weft_rxe_create(u32 entries, u32 stride, struct ib_ucontext *uctx,
				  struct weft_ring_resp *resp);

/* Where the process finds a queue. */
static inline struct mminfo weft_rxe_mminfo(const struct weft_ring_resp *where)
{
	return (struct mminfo){ .offset = where->mmap_key, .size = where->mmap_size };
}

/* The siblings of weft_sq_next() and weft_rq_peek(). */
int weft_rxe_sq_next(const struct weft_ring *ring, u32 ahead, struct weft_swqe *wqe);
int weft_rxe_rq_peek(const struct weft_ring *ring, struct weft_rwqe *wqe);
void weft_rxe_copy_av(const struct weft_ring *ring, u32 index, struct rxe_av *av);
void weft_rxe_store_cqe(const struct weft_ring *ring);

#endif /* WEFT_RING_RXE_H */
