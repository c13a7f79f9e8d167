/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ODP memory of a message (on-demand paging). */
#ifndef WEFT_ENGINE_ODP_H
#define WEFT_ENGINE_ODP_H

#include "engine/verdict.h"
#include "mem/copy.h"
#include "mem/odp_pins.h"
#include "object/odp.h"

struct weft_qp;
struct weft_recv;
struct weft_turn;

/* The memory that a message needs now. */
struct weft_odp_need {
	struct weft_odp		*odp;		/* of the requester or responder */
	struct weft_turn	*turn;		/* of the same, owned */
	/* see weft_sgl_resolve(), or the right that an rkey must grant */
	u32			access;
	u64			offset;		/* first byte of the list that will be accessed */
	/* bytes that will be accessed; at most WEFT_ODP_CHUNK may be at a time */
	u64			length;
	/* bytes behind these that will probably be accessed soon */
	u64			ahead;
	/* bytes of the list that the message takes, U64_MAX: all; see weft_sgl_resolve() */
	u64			end;
	bool			anew;		/* a message begins */
	enum weft_fault		refusal;	/* the fault if the memory may not be accessed */
};

struct weft_result weft_odp_resolve(const struct weft_odp_need *need,
				    const struct weft_accessor *who, struct weft_sgl *sgl,
				    const struct weft_sge *sge, u32 num);
void weft_odp_forget(struct weft_odp *odp);

/* The message is over, whether its last part was ODP memory or not. No span refers to its pages. */
static inline void weft_odp_end(struct weft_odp *odp)
{
	if (unlikely(odp->pins))
		weft_odp_forget(odp);
}

/*
 * Keep the pages when the spans that now refer to them are released, because more of the message
 * comes. Attaching another span undoes this.
 */
static inline void weft_odp_keep(struct weft_odp *odp)
{
	if (unlikely(odp->pins))
		odp->pins->keep = true;
}

/* weft_odp_keep(), and the next weft_odp_resolve() with @anew will not forget the pages. */
static inline void weft_odp_carry(struct weft_odp *odp)
{
	if (unlikely(odp->pins)) {
		odp->pins->keep = true;
		odp->parked = true;
	}
}

/*
 * The other end of the message waits for its pages, and will have them first. If this end has
 * pages, they are released meanwhile, so it asks for them again, as the second end.
 */
static inline void weft_odp_second(struct weft_odp *odp)
{
	odp->second = odp->pins;
}

void weft_odp_wait(struct weft_recv *recv, struct weft_qp *qp);
void weft_odp_wake(struct weft_recv *recv);

#endif /* WEFT_ENGINE_ODP_H */
