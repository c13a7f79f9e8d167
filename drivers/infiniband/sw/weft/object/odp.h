/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ODP memory of a requester or responder. */
#ifndef WEFT_OBJECT_ODP_H
#define WEFT_OBJECT_ODP_H

#include <linux/types.h>

struct weft_odp_pins;

/* ODP memory of a message. Only the owner of the turn writes it. */
struct weft_odp {
	struct weft_odp_pins	*pins;	/* being pinned, or pinned and perhaps in use; NULL: none */
	/* a message waits for @pins, or has just got them, so they are not outdated */
	bool			parked;
	/* the next pages are those of the second end of a message, see mem/odp_room.c */
	bool			second;
};

#endif /* WEFT_OBJECT_ODP_H */
