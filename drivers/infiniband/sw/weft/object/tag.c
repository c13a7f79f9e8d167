// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The tag list of an SRQ: operations of the process change it, messages take entries out of it.
 */
#include "object/tag.h"

#include <linux/mm.h>

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

#include "object/cq.h"
#include "object/refuse.h"
#include "object/srq.h"
#include "params.h"
#include "pause.h"

/* The bits of a handle that are the index of the entry. */
#define TAG_INDEX_BITS	10
static_assert(WEFT_MAX_TAGS < 1 << TAG_INDEX_BITS);

struct weft_tags *weft_tags_create(u32 num)
{
	struct weft_tags *tags = kvzalloc(struct_size(tags, tag, num), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!tags)
		return NULL;
	mutex_init(&tags->op_lock);
	INIT_LIST_HEAD(&tags->active);
	INIT_LIST_HEAD(&tags->waiting);
	INIT_LIST_HEAD(&tags->free);
	tags->num = num;
	for (i = 0; i < num; i++) {
		tags->tag[i].handle = i;
		list_add_tail(&tags->tag[i].list, &tags->free);
	}
	return tags;
}

void weft_tags_destroy(struct weft_tags *tags)
{
	if (!tags)
		return;
	mutex_destroy(&tags->op_lock);
	kvfree(tags);
}

static void tags_free(struct weft_tags *tags, struct weft_tag *tag)
{
	tag->linked = false;
	tag->handle += 1 << TAG_INDEX_BITS;
	list_move(&tag->list, &tags->free);
}

static struct weft_tag *tags_find(struct weft_tags *tags, u64 value)
{
	struct weft_tag *tag;

	list_for_each_entry(tag, &tags->active, list)
		if ((value & tag->mask) == tag->tag)
			return tag;
	return NULL;
}

static enum weft_tag_kind tags_kind(const struct weft_tagged *tagged)
{
	if (tagged->have < WEFT_TMH_LENGTH)
		return WEFT_TAG_NO_TAG;
	switch (tagged->header.opcode) {
	case WEFT_TMH_EAGER:
		return WEFT_TAG_EAGER;
	case WEFT_TMH_RNDV:
		return tagged->have == sizeof(tagged->header) &&
		       tagged->length <= WEFT_MAX_RNDV_HEADER ? WEFT_TAG_RNDV : WEFT_TAG_UNEXPECTED;
	default:
		return WEFT_TAG_NO_TAG;
	}
}

/*
 * Give a message the entry that matches. The list in @wqe has room for all of the message: the
 * memory of the tag, and the null region for the headers. The caller holds the lock of the SRQ.
 *
 * Return: 0; -ENOENT: the message gets an ordinary receive; -EAGAIN: the QP cannot read now.
 */
int weft_tags_match(struct weft_tags *tags, struct weft_tagged *tagged, struct weft_rwqe *wqe)
{
	const struct weft_sge nowhere = { .length = WEFT_TMH_LENGTH, .lkey = WEFT_NULL_KEY };
	struct weft_tag *tag;

	tagged->kind = tags_kind(tagged);
	if (tagged->kind < WEFT_TAG_EAGER)
		return -ENOENT;
	tag = tags_find(tags, be64_to_cpu(tagged->header.tag));
	if (!tag) {
		tagged->kind = WEFT_TAG_UNEXPECTED;
		return -ENOENT;
	}
	tagged->sge = tag->sge;
	wqe->wr_id = tag->recv_wr_id;
	wqe->index = 0;
	wqe->num_sge = 2;
	if (tagged->kind == WEFT_TAG_EAGER) {
		wqe->sge[0] = nowhere;
		wqe->sge[1] = tag->sge;
	} else if (be32_to_cpu(tagged->header.length) > tag->sge.length) {
		tagged->kind = WEFT_TAG_INCOMPLETE;
		wqe->sge[0] = tag->sge;
		wqe->sge[1] = nowhere;
		wqe->sge[1].length = WEFT_MAX_RNDV_HEADER;
	} else if (tagged->can_read) {
		tagged->sge.length = be32_to_cpu(tagged->header.length);
		wqe->sge[0] = nowhere;
		wqe->sge[0].length = WEFT_MAX_RNDV_HEADER;
		wqe->num_sge = 1;
	} else {
		return -EAGAIN;
	}
	wqe->length = wqe->sge[0].length;
	if (wqe->num_sge == 2)
		wqe->length += wqe->sge[1].length;
	tags_free(tags, tag);
	return 0;
}

/* The count that the process reports: if nothing is unknown to it, the newer tags may match. */
static void tags_report(struct weft_tags *tags, u32 seen)
{
	tags->reported = seen;
	if (seen == tags->unexpected)
		list_splice_tail_init(&tags->waiting, &tags->active);
}

/* An unexpected message has failed: no completion tells the process to count it. */
void weft_tags_uncount(struct weft_tags *tags)
{
	tags->unexpected--;
	tags_report(tags, tags->reported);
}

static struct weft_tag *tags_by_handle(struct weft_tags *tags, u32 handle)
{
	u32 index = handle & ((1 << TAG_INDEX_BITS) - 1);
	struct weft_tag *tag = index < tags->num ? &tags->tag[index] : NULL;

	return tag && tag->linked && tag->handle == handle ? tag : NULL;
}

/* Take a free entry for ADD. A message cannot match it before tags_link(). */
static struct weft_tag *tags_new(struct weft_tags *tags, const struct weft_tag_op *op)
{
	struct weft_tag *tag = list_first_entry_or_null(&tags->free, struct weft_tag, list);

	if (!tag)
		return NULL;
	list_del_init(&tag->list);
	tag->tag = op->tag;
	tag->mask = op->mask;
	tag->recv_wr_id = op->recv_wr_id;
	tag->sge = op->sge;
	return tag;
}

static void tags_link(struct weft_srq *srq, struct weft_tag *tag)
{
	struct weft_tags *tags = srq->tags;

	spin_lock_irq(&srq->lock);
	tag->linked = true;
	list_add_tail(&tag->list,
		      tags->reported == tags->unexpected ? &tags->active : &tags->waiting);
	spin_unlock_irq(&srq->lock);
}

static void tags_complete(struct weft_srq *srq, const struct weft_tag_op *op, u8 status,
			  bool differ)
{
	struct weft_cq *cq = to_weft_cq(srq->ibsrq.ext.cq);
	unsigned long flags = weft_cq_begin(cq);
	struct weft_cqe cqe = {
		.wr_id = op->wr_id,
		.status = status,
		.opcode = WEFT_WC_TM_ADD + op->opcode,
		.wc_flags = differ ? WEFT_WC_TM_SYNC_REQ : 0,
		.flags = WEFT_CQE_RECV | WEFT_CQE_SRQ,
		.port_num = 1,
	};

	/* if the CQ is full it raises an event, as for any completion */
	weft_cq_push(cq, &cqe, status, flags);
}

static int tags_check(struct ib_srq *ibsrq, const struct weft_tag_op *op)
{
	if (!to_weft_srq(ibsrq)->tags)
		return weft_refuse(ibsrq->device, -EINVAL, "tag operation: the SRQ has no tags");
	if (op->opcode > WEFT_TAG_SYNC)
		return weft_refuse(ibsrq->device, -EINVAL,
				   "tag operation: opcode %u is not supported", op->opcode);
	if (op->flags & ~(WEFT_TAG_SIGNALED | WEFT_TAG_COUNT) ||
	    memchr_inv(op->reserved_3a, 0, sizeof(op->reserved_3a)))
		return weft_refuse(ibsrq->device, -EINVAL,
				   "tag operation: flags %#x are not supported, or reserved bytes are set",
				   op->flags);
	return 0;
}

/*
 * The completion of ADD comes before the entry can match, so it also comes before those of the
 * message that matches.
 */
static int tags_execute(struct weft_srq *srq, const struct weft_tag_op *op,
			struct uverbs_attr_bundle *attrs)
{
	struct weft_tags *tags = srq->tags;
	struct weft_tag *tag = NULL;
	u8 status = IB_WC_SUCCESS;
	int ret = 0;
	bool differ;

	lockdep_assert_held(&tags->op_lock);
	spin_lock_irq(&srq->lock);
	if (op->opcode == WEFT_TAG_ADD) {
		tag = tags_new(tags, op);
		if (!tag) {
			spin_unlock_irq(&srq->lock);
			return weft_refuse(srq->ibsrq.device, -ENOMEM,
					   "tag operation: the list of %u tags is full", tags->num);
		}
	} else if (op->opcode == WEFT_TAG_DEL) {
		struct weft_tag *old = tags_by_handle(tags, op->handle);

		if (old)
			tags_free(tags, old);
		else
			status = WEFT_WC_TM_ERR;
	}
	if (op->flags & WEFT_TAG_COUNT)
		tags_report(tags, op->unexpected);
	differ = tags->reported != tags->unexpected;
	spin_unlock_irq(&srq->lock);
	weft_pause(WEFT_PAUSE_TAG_NEW);
	if (tag)
		ret = uverbs_copy_to(attrs, WEFT_ATTR_SRQ_TAG_RESP, &tag->handle,
				     sizeof(tag->handle));
	if (ret) {
		spin_lock_irq(&srq->lock);
		tags_free(tags, tag);
		spin_unlock_irq(&srq->lock);
		return ret;
	}
	if (op->flags & WEFT_TAG_SIGNALED)
		tags_complete(srq, op, status, differ);
	weft_pause(WEFT_PAUSE_TAG_TOLD);
	if (tag)
		tags_link(srq, tag);
	return 0;
}

static int UVERBS_HANDLER(WEFT_METHOD_SRQ_TAG)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *ibsrq = uverbs_attr_get_obj(attrs, WEFT_ATTR_SRQ_TAG_HANDLE);
	struct weft_srq *srq = to_weft_srq(ibsrq);
	struct weft_tag_op op;
	int ret;

	ret = uverbs_copy_from(&op, attrs, WEFT_ATTR_SRQ_TAG_OP) ?: tags_check(ibsrq, &op);
	if (ret)
		return ret;
	mutex_lock(&srq->tags->op_lock);
	ret = tags_execute(srq, &op, attrs);
	mutex_unlock(&srq->tags->op_lock);
	return ret;
}

DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_SRQ_TAG,
			    UVERBS_ATTR_IDR(WEFT_ATTR_SRQ_TAG_HANDLE,
					    UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(WEFT_ATTR_SRQ_TAG_OP,
					       UVERBS_ATTR_TYPE(struct weft_tag_op),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(WEFT_ATTR_SRQ_TAG_RESP,
						UVERBS_ATTR_TYPE(u32),
						UA_MANDATORY));

ADD_UVERBS_METHODS(srq_methods, UVERBS_OBJECT_SRQ, &UVERBS_METHOD(WEFT_METHOD_SRQ_TAG));

const struct uapi_definition weft_tag_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &srq_methods),
	{ }
};
