/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The window: work requests that travel in packets, from the first packet to
 * the last answer. All are kept, so that any packet can be sent again.
 *
 * The send turn is owned or stopped in all of it but weft_window_prepare() and
 * weft_window_destroy().
 */
#ifndef WEFT_ENGINE_WINDOW_H
#define WEFT_ENGINE_WINDOW_H

#include "engine/rules.h"
#include "object/qp.h"
#include "params.h"
#include "wire/psn.h"

/**
 * weft_window_prepare - get memory for a window, while the send half still runs
 * @larger: result; without flights when the window of @qp is large enough already
 * @qp: connected; the caller holds its modify_lock
 * @entries: of the send queue that it has or gets
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int weft_window_prepare(struct weft_window *larger, const struct weft_qp *qp, u32 entries);

/**
 * weft_window_install - move what is in a QP's window to prepared memory
 * @qp: the one that @larger was prepared for
 * @larger: gets the memory that was in use before; weft_window_destroy() is due
 */
void weft_window_install(struct weft_qp *qp, struct weft_window *larger);

/**
 * weft_window_destroy - give the memory back
 * @window: any
 */
void weft_window_destroy(struct weft_window *window);

/**
 * weft_window_reset - empty the window; the next PSN is that of the send half
 * @qp: any
 */
void weft_window_reset(struct weft_qp *qp);

/**
 * weft_window_follow - the send queue is in another ring
 * @qp: any; inline data are there now
 */
void weft_window_follow(struct weft_qp *qp);

/**
 * weft_window_push - the work request just taken becomes the youngest flight
 * @qp: with room in the window; @qp->send.wqe is copied, the PSNs are taken
 * @length: bytes of the message
 * @fault: WEFT_FAULT_NONE, or why it will fail
 */
void weft_window_push(struct weft_qp *qp, u32 length, enum weft_fault fault);

/**
 * weft_window_retire - complete what can be completed, in order
 * @qp: with a window
 */
void weft_window_retire(struct weft_qp *qp);

/**
 * weft_window_rewind - send again from a PSN on
 * @qp: with a window
 * @psn: between the oldest one without an answer and the last one sent
 */
void weft_window_rewind(struct weft_qp *qp, u32 psn);

/**
 * weft_window_fail - the oldest flight fails
 * @qp: with a flight
 * @status: of the completion
 * @fault: vendor_err
 */
void weft_window_fail(struct weft_qp *qp, enum ib_wc_status status,
		      enum weft_fault fault);

static inline bool weft_window_is_empty(const struct weft_window *window)
{
	return window->head == window->tail;
}

static inline bool weft_window_is_full(const struct weft_window *window)
{
	return window->tail - window->head > window->mask;
}

/* Flight number @i, which is between the head and the tail. */
static inline struct weft_flight *weft_window_at(const struct weft_window *window, u32 i)
{
	return window->flights + (size_t)(i & window->mask) * window->stride;
}

/* One after the last PSN of a flight. */
static inline u32 weft_flight_end(const struct weft_flight *flight)
{
	return weft_psn_add(flight->first_psn, flight->psns);
}

/*
 * Number of the packet after @packet's request: of SENDs and WRITEs each packet
 * is one, READs are asked for in parts that begin where a retry cannot move them.
 */
static inline u32 weft_flight_read_end(const struct weft_flight *flight, u32 packet)
{
	return min(flight->psns, round_down(packet, WEFT_READ_PACKETS) + WEFT_READ_PACKETS);
}

/**
 * weft_window_has_credit - does the peer have a receive for a flight, as far as we know?
 * @window: of an RC QP
 * @flight: SEND, or WRITE with immediate data
 *
 * Return: false: it would be answered with an RNR NAK (IBA 9.7.7.2).
 */
static inline bool weft_window_has_credit(const struct weft_window *window,
					  const struct weft_flight *flight)
{
	return !window->limited || weft_psn_diff(flight->ssn, window->limit) <= 0;
}

/* Have the packets that go next been sent before? */
static inline bool weft_window_is_rewound(const struct weft_window *window)
{
	return weft_psn_before(window->next, window->sent);
}

/* PSNs without an answer. */
static inline u32 weft_window_unanswered(const struct weft_window *window)
{
	return (window->next - window->una) & WEFT_PSN_MASK;
}

#endif /* WEFT_ENGINE_WINDOW_H */
