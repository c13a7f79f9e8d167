/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tag matching: the tags of an SRQ, and the message that they are compared with. */
#ifndef WEFT_OBJECT_TAG_H
#define WEFT_OBJECT_TAG_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/weft-abi.h>

#include "wire/tag.h"

struct weft_rwqe;

/* An SRQ with tags tells these kinds of messages apart. */
enum weft_tag_kind {
	WEFT_TAG_NO_TAG,	/* it has no tag, or no valid header */
	WEFT_TAG_UNEXPECTED,	/* no tag matches */
	/* from here on a tag matches */
	WEFT_TAG_EAGER,
	WEFT_TAG_RNDV,		/* the data are to be read from the peer */
	WEFT_TAG_INCOMPLETE,	/* likewise, but the memory of the tag is too short */
};

/**
 * struct weft_tagged - the message that a QP of an SRQ with tags is receiving
 * @header: its first bytes
 * @have: how many these are
 * @length: of the message, or of its first packet
 * @can_read: the QP has room for the requests of a rendezvous
 * @kind: set with the receive that the message gets
 * @sge: the memory of the tag that matches; WEFT_TAG_RNDV: as much of it as there are data
 *
 * The owner of the receive turn writes it.
 */
struct weft_tagged {
	struct weft_wire_tag	header;
	u32			have;
	u32			length;
	bool			can_read;
	enum weft_tag_kind	kind;
	struct weft_sge		sge;
};

/**
 * struct weft_tag - an entry of a tag list
 * @list: in one of the lists of struct weft_tags
 * @tag: as in struct weft_tag_op
 * @mask: as in struct weft_tag_op
 * @recv_wr_id: as in struct weft_tag_op
 * @sge: as in struct weft_tag_op
 * @handle: the index of the entry, and above it how often the entry has been used
 * @linked: a message can still match, or will when the counts agree
 */
struct weft_tag {
	struct list_head	list;
	u64			tag;
	u64			mask;
	u64			recv_wr_id;
	struct weft_sge		sge;
	u32			handle;
	bool			linked;
};

/**
 * struct weft_tags - the tag list of an SRQ
 * @op_lock: held by an operation
 * @active: tags that messages are compared with, the oldest first
 * @waiting: newer tags: an unexpected message that the process does not know of yet may be theirs
 * @free: entries that are not in use
 * @unexpected: messages that no tag has matched
 * @reported: how many of them the process says that it has seen
 * @num: entries of @tag
 * @tag: all entries
 *
 * The lock of the SRQ protects it, except for @op_lock.
 */
struct weft_tags {
	struct mutex		op_lock;	/* one operation at a time */
	struct list_head	active;
	struct list_head	waiting;
	struct list_head	free;
	u32			unexpected;
	u32			reported;
	u32			num;
	struct weft_tag		tag[];
};

struct weft_tags *weft_tags_create(u32 num);
void weft_tags_destroy(struct weft_tags *tags);
int weft_tags_match(struct weft_tags *tags, struct weft_tagged *tagged, struct weft_rwqe *wqe);
void weft_tags_uncount(struct weft_tags *tags);

extern const struct uapi_definition weft_tag_uapi[];

#endif /* WEFT_OBJECT_TAG_H */
