/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The form in which a RAW_PACKET QP wants its frames: without a VLAN's tag, with the FCS. */
#ifndef WEFT_LINK_RAW_SHAPE_H
#define WEFT_LINK_RAW_SHAPE_H

#include "mem/copy.h"

/* The parts that are copied: two of the frame, padding, FCS. */
struct weft_raw_shape {
	struct weft_span	part[4];
	u32			num;
	u32			length;		/* of all parts */
	u16			cvlan;		/* the tag that is left out, or 0 */
	__le32			fcs;
};

void weft_raw_shape(struct weft_raw_shape *shape, const void *frame, u32 length, u32 create_flags);

#endif /* WEFT_LINK_RAW_SHAPE_H */
