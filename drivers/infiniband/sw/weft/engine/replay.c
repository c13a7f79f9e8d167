// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/replay.h"

#include <linux/slab.h>

#include "wire/psn.h"

bool weft_replay_prepare(struct weft_recv *recv)
{
	if (likely(recv->resources))
		return true;
	/*
	 * Charged to nobody, as a soft interrupt or the peer's process may be here; at most some
	 * KiB for each QP, of which the rest is charged.
	 */
	recv->resources = kcalloc(recv->max_dest_rd_atomic, sizeof(*recv->resources),
				  GFP_ATOMIC | __GFP_NOWARN);
	recv->num_resources = recv->resources ? recv->max_dest_rd_atomic : 0;
	recv->next_resource = 0;
	return recv->resources;
}

struct weft_resource *weft_replay_keep(struct weft_recv *recv, u32 psn, u32 psns,
				       enum weft_reply_kind kind)
{
	struct weft_resource *resource = &recv->resources[recv->next_resource];

	recv->next_resource = (recv->next_resource + 1) % recv->num_resources;
	*resource = (struct weft_resource){ .psn = psn, .psns = psns, .kind = kind };
	return resource;
}

/* The youngest first: PSNs come again. */
const struct weft_resource *weft_replay_find(const struct weft_recv *recv, u32 psn)
{
	const struct weft_resource *resource;
	u32 i, num = recv->num_resources;

	for (i = 1; i <= num; i++) {
		resource = &recv->resources[(recv->next_resource + num - i) % num];
		if (resource->psns &&
		    weft_psn_in_window(psn, resource->psn, resource->psns))
			return resource;
	}
	return NULL;
}

void weft_replay_free(struct weft_recv *recv)
{
	kfree(recv->resources);
	recv->resources = NULL;
	recv->num_resources = 0;
}
