/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ODP memory of a message (on-demand paging).
 *
 * The engine resolves memory as if it were there. If some of it is ODP memory, it calls
 * weft_odp_resolve() instead, which either finds the pages pinned, or has them pinned and returns
 * WEFT_LATER. The requester or responder then leaves the message as it is and gives its turn
 * back. It tries again at the next event, as it would anyway, so nobody has to end a wait.
 *
 * The pages go with the last span that refers to them, unless weft_odp_keep() says that
 * more of the message is to come. A message of which one part is ODP memory may have others that
 * are not: the senders and receivers of packets call weft_odp_end() after the last one. On the
 * local link, pages that the last chunk did not need are kept until the next message begins,
 * which forgets them (@anew below).
 */
#ifndef WEFT_ENGINE_ODP_H
#define WEFT_ENGINE_ODP_H

#include "engine/verdict.h"
#include "mem/copy.h"
#include "mem/odp_pins.h"
#include "object/odp.h"

struct weft_qp;
struct weft_recv;
struct weft_turn;

/**
 * struct weft_odp_need - what a message needs of its memory now
 * @odp: of the half
 * @turn: of the half, owned
 * @access: see weft_sgl_resolve(), or the right that an rkey has to grant
 * @offset: first byte of the list that will be accessed
 * @length: bytes that will be; at most WEFT_ODP_CHUNK are then
 * @ahead: bytes after those that will probably be, soon
 * @end: bytes of the list that the message takes, U64_MAX: all; see weft_sgl_resolve()
 * @anew: it is the beginning of a message
 * @refusal: what to call it when the memory may not be accessed
 */
struct weft_odp_need {
	struct weft_odp		*odp;
	struct weft_turn	*turn;
	u32			access;
	u64			offset;
	u64			length;
	u64			ahead;
	u64			end;
	bool			anew;
	enum weft_fault		refusal;
};

/**
 * weft_odp_resolve - weft_sgl_resolve() of a list with ODP memory
 * @need: what is needed
 * @who: on whose behalf
 * @sgl: result
 * @sge: private copy of the list; instead of lkeys there may be rkeys
 * @num: elements
 *
 * Return: WEFT_DONE: weft_sgl_release() is due. @sgl ends with the bytes that are
 * needed: nothing behind them may be accessed, ODP memory or not. WEFT_LATER; or WEFT_FAILED:
 * WEFT_FAULT_NO_MEMORY or @need->refusal.
 */
struct weft_result weft_odp_resolve(const struct weft_odp_need *need,
				    const struct weft_accessor *who, struct weft_sgl *sgl,
				    const struct weft_sge *sge, u32 num);

/**
 * weft_odp_forget - a half does not need its pages any more
 * @odp: no span refers to them
 */
void weft_odp_forget(struct weft_odp *odp);

/**
 * weft_odp_end - the message is over, whether its last part was ODP or not
 * @odp: no span refers to its pages
 */
static inline void weft_odp_end(struct weft_odp *odp)
{
	if (unlikely(odp->pins))
		weft_odp_forget(odp);
}

/**
 * weft_odp_keep - the pages will be needed again when the spans are gone
 * @odp: spans may refer to its pages; a span that is attached later undoes it
 */
static inline void weft_odp_keep(struct weft_odp *odp)
{
	if (unlikely(odp->pins))
		odp->pins->keep = true;
}

/**
 * weft_odp_carry - the same, and what comes is no beginning of a message for them
 * @odp: see weft_odp_keep()
 */
static inline void weft_odp_carry(struct weft_odp *odp)
{
	if (unlikely(odp->pins)) {
		odp->pins->keep = true;
		odp->parked = true;
	}
}

/**
 * weft_odp_wait - the send half of another QP waits for the pages of a receive half
 * @recv: turn owned
 * @qp: the other QP; its send turn gets WEFT_EV_RUN, perhaps too early
 */
void weft_odp_wait(struct weft_recv *recv, struct weft_qp *qp);

/**
 * weft_odp_wake - let it look again, if one waits
 * @recv: turn owned or stopped
 */
void weft_odp_wake(struct weft_recv *recv);

#endif /* WEFT_ENGINE_ODP_H */
