/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The headers of tag matching, at the beginning of a message's payload: <infiniband/tm_types.h>,
 * and tag_matching.md of rdma-core.
 */
#ifndef WEFT_WIRE_TAG_H
#define WEFT_WIRE_TAG_H

#include <linux/build_bug.h>
#include <linux/types.h>

/* weft_wire_tag.opcode */
enum weft_wire_tag_opcode {
	WEFT_TMH_NO_TAG	= 0,
	WEFT_TMH_RNDV	= 1,	/* rendezvous request: the receiver reads the data */
	WEFT_TMH_FIN	= 2,	/* the receiver has read them */
	WEFT_TMH_EAGER	= 3,	/* the data follow the first header */
};

/* Tag matching header, and what follows it in WEFT_TMH_RNDV and WEFT_TMH_FIN. */
struct weft_wire_tag {
	u8	opcode;		/* enum weft_wire_tag_opcode */
	u8	reserved[3];
	__be32	app_ctx;	/* for the receiver's program */
	__be64	tag;
	__be64	va;		/* rendezvous header: where the data are */
	__be32	rkey;
	__be32	length;
} __packed;
static_assert(sizeof(struct weft_wire_tag) == 32);

/* Bytes of the tag matching header, which every message has. */
#define WEFT_TMH_LENGTH		16

#endif /* WEFT_WIRE_TAG_H */
