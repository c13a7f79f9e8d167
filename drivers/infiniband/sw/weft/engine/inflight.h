/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Inflight requests: work requests that travel in packets, from the first packet to
 * the last answer. All are kept, so that any packet can be sent again.
 *
 * The send turn is owned or stopped in all of it but weft_inflight_prepare() and
 * weft_inflight_destroy().
 */
#ifndef WEFT_ENGINE_INFLIGHT_H
#define WEFT_ENGINE_INFLIGHT_H

#include "engine/rules.h"
#include "object/qp.h"
#include "params.h"
#include "wire/psn.h"

/**
 * weft_inflight_prepare - get memory for a inflight, while the send half still runs
 * @larger: result; without slots when those of @qp are enough already
 * @qp: connected; the caller holds its modify_lock
 * @entries: of the send queue that it has or gets
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int weft_inflight_prepare(struct weft_inflight *larger, const struct weft_qp *qp, u32 entries);

/**
 * weft_inflight_install - move what is in a QP's window to prepared memory
 * @qp: the one that @larger was prepared for
 * @larger: gets the memory that was in use before; weft_inflight_destroy() is due
 */
void weft_inflight_install(struct weft_qp *qp, struct weft_inflight *larger);

/**
 * weft_inflight_destroy - give the memory back
 * @inflight: any
 */
void weft_inflight_destroy(struct weft_inflight *inflight);

/**
 * weft_inflight_reset - empty the window; the next PSN is that of the send half
 * @qp: any
 */
void weft_inflight_reset(struct weft_qp *qp);

/**
 * weft_inflight_follow - the send queue is in another ring
 * @qp: any; inline data are there now
 */
void weft_inflight_follow(struct weft_qp *qp);

/**
 * weft_inflight_push - the work request just taken becomes the youngest inflight request
 * @qp: with a free slot; @qp->send.wqe is copied, the PSNs are taken
 * @length: bytes of the message
 * @fault: WEFT_FAULT_NONE, or why it will fail
 */
void weft_inflight_push(struct weft_qp *qp, u32 length, enum weft_fault fault);

/**
 * weft_inflight_retire - complete what can be completed, in order
 * @qp: with slots
 */
void weft_inflight_retire(struct weft_qp *qp);

/**
 * weft_inflight_rewind - send again from a PSN on
 * @qp: with slots
 * @psn: between the oldest one without an answer and the last one sent
 */
void weft_inflight_rewind(struct weft_qp *qp, u32 psn);

/**
 * weft_inflight_fail - the oldest inflight request fails
 * @qp: with an inflight request
 * @status: of the completion
 * @fault: vendor_err
 */
void weft_inflight_fail(struct weft_qp *qp, enum ib_wc_status status,
			enum weft_fault fault);

static inline bool weft_inflight_is_empty(const struct weft_inflight *inflight)
{
	return inflight->head == inflight->tail;
}

static inline bool weft_inflight_is_full(const struct weft_inflight *inflight)
{
	return inflight->tail - inflight->head > inflight->mask;
}

/* Slot number @i, which is between the head and the tail. */
static inline struct weft_slot *weft_inflight_at(const struct weft_inflight *inflight, u32 i)
{
	return inflight->slots + (size_t)(i & inflight->mask) * inflight->stride;
}

/* One after the last PSN of a slot. */
static inline u32 weft_slot_end(const struct weft_slot *slot)
{
	return weft_psn_add(slot->first_psn, slot->psns);
}

/*
 * Number of the packet after @packet's request: of SENDs and WRITEs each packet
 * is one, READs are asked for in parts that begin where a retry cannot move them.
 */
static inline u32 weft_slot_read_end(const struct weft_slot *slot, u32 packet)
{
	return min(slot->psns, round_down(packet, WEFT_READ_PACKETS) + WEFT_READ_PACKETS);
}

/**
 * weft_inflight_has_credit - does the peer have a receive for a slot, as far as we know?
 * @inflight: of an RC QP
 * @slot: SEND, or WRITE with immediate data
 *
 * Return: false: it would be answered with an RNR NAK (IBA 9.7.7.2).
 */
static inline bool weft_inflight_has_credit(const struct weft_inflight *inflight,
					    const struct weft_slot *slot)
{
	return !inflight->limited || weft_psn_diff(slot->ssn, inflight->limit) <= 0;
}

/* Have the packets that go next been sent before? */
static inline bool weft_inflight_is_rewound(const struct weft_inflight *inflight)
{
	return weft_psn_before(inflight->next, inflight->sent);
}

/* PSNs without an answer. */
static inline u32 weft_inflight_unanswered(const struct weft_inflight *inflight)
{
	return (inflight->next - inflight->una) & WEFT_PSN_MASK;
}

#endif /* WEFT_ENGINE_INFLIGHT_H */
