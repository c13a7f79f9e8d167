// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/replay.h"

#include <linux/slab.h>

#include "object/qp.h"
#include "wire/psn.h"

/*
 * Allocate the replay slots, if there are none yet; max_dest_rd_atomic is not 0. False: no memory.
 */
bool weft_replay_prepare(struct weft_recv *recv)
{
	const struct weft_qp *qp = container_of(recv, struct weft_qp, recv);

	if (likely(recv->replay))
		return true;
	if (weft_inject_no_memory(qp->dev, qp, WEFT_ALLOC_REPLAY))
		return false;
	/*
	 * Not charged to a memory cgroup: this runs in a soft interrupt or in the peer's process.
	 * It is a few KiB at most for each QP, and the rest of the QP is charged.
	 */
	recv->replay = kcalloc(recv->max_dest_rd_atomic, sizeof(*recv->replay),
			       GFP_ATOMIC | __GFP_NOWARN);
	recv->replay_slots = recv->replay ? recv->max_dest_rd_atomic : 0;
	recv->replay_next = 0;
	return recv->replay;
}

/*
 * Keep an answer in place of the oldest one. @psn is that of the request, @psns the number of PSNs
 * of the responses. The caller fills in the other members.
 */
struct weft_replay_slot *weft_replay_keep(struct weft_recv *recv, u32 psn, u32 psns,
					  enum weft_response_kind kind)
{
	struct weft_replay_slot *slot = &recv->replay[recv->replay_next];

	recv->replay_next = (recv->replay_next + 1) % recv->replay_slots;
	*slot = (struct weft_replay_slot){ .psn = psn, .psns = psns, .kind = kind };
	return slot;
}

/*
 * Find the answer to a request by the PSN of the request or of any packet of the answer, or NULL.
 *
 * Search from the youngest answer to the oldest: PSNs wrap around, and an old one may have the same
 * PSN.
 */
const struct weft_replay_slot *weft_replay_find(const struct weft_recv *recv, u32 psn)
{
	const struct weft_replay_slot *slot;
	u32 i, num = recv->replay_slots;

	for (i = 1; i <= num; i++) {
		slot = &recv->replay[(recv->replay_next + num - i) % num];
		if (slot->psns &&
		    weft_psn_in_window(psn, slot->psn, slot->psns))
			return slot;
	}
	return NULL;
}

/* Forget all answers and free the memory. */
void weft_replay_free(struct weft_recv *recv)
{
	kfree(recv->replay);
	recv->replay = NULL;
	recv->replay_slots = 0;
}
