/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weft.h"
#include "weft-abi.h"

#define NSEC_PER_SEC	1000000000ULL

enum {
	CQ_FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
		   IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	CQ_WC_FLAGS = IBV_WC_STANDARD_FLAGS |
		      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		      IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG |
		      IBV_WC_EX_WITH_TM_INFO |
		      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
};

/*
 * The CQ is empty: 0, or -EIO if it will stay empty for ever. The kernel sets
 * these flags after the last completion, so what the ring contains after the
 * flags have been read is final.
 */
static __attribute__((noinline)) int cq_empty(struct weft_cq *cq)
{
	uint32_t flags = weft_ring_flags_final(&cq->ring);

	if (likely(!(flags & (WEFT_RING_DEAD | WEFT_RING_OVERRUN))))
		return 0;

	cq->producer = weft_ring_producer(&cq->ring);
	if (cq->producer != cq->consumer)
		return 0;
	return -EIO;
}

/* How many completions can be taken: 0 to @wanted, or -EIO if there will never be one. */
static inline int cq_available(struct weft_cq *cq, uint32_t wanted)
{
	int ret;

	if (cq->producer - cq->consumer < wanted) {
		cq->producer = weft_ring_producer(&cq->ring);
		if (cq->producer == cq->consumer) {
			ret = cq_empty(cq);
			if (ret)
				return ret;
		}
	}
	if (cq->producer - cq->consumer < wanted)
		return cq->producer - cq->consumer;
	return wanted;
}

/* Free the slots of the work queue that a completion releases. */
static inline void cq_free_slots(const struct weft_cqe *cqe)
{
	struct weft_qp *qp = (struct weft_qp *)(uintptr_t)cqe->cookie;

	if (!(cqe->flags & WEFT_CQE_RECV))
		weft_word_release(&qp->sq.queue.released, cqe->wqe_index + 1);
	else if (!(cqe->flags & WEFT_CQE_SRQ))
		weft_word_release(&qp->rq.released, cqe->wqe_index + 1);
}

#define QP_NUMS_SIZE	(2 * sizeof(uint32_t))

static_assert(offsetof(struct ibv_wc, src_qp) ==
		      offsetof(struct ibv_wc, qp_num) + sizeof(uint32_t) &&
	      offsetof(struct weft_cqe, src_qp) ==
		      offsetof(struct weft_cqe, qp_num) + sizeof(uint32_t),
	      "both numbers are copied at once");

static inline void cq_fill_wc(const struct weft_cqe *cqe, struct ibv_wc *wc)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->invalidated_rkey = cqe->ex;
	/* copies src_qp, too */
	memcpy(&wc->qp_num, &cqe->qp_num, QP_NUMS_SIZE);
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

/* Uses a copy of the ring, as the compiler must assume that any store could change @cq->ring. */
static inline void cq_take(struct weft_cq *cq, uint32_t count,
			   struct ibv_wc *wc)
{
	const struct weft_ring ring = cq->ring;
	uint32_t consumer = cq->consumer;
	const struct weft_cqe *cqe;

	for (; count; count--, consumer++, wc++) {
		cqe = weft_ring_slot(&ring, consumer);
		cq_free_slots(cqe);
		cq_fill_wc(cqe, wc);
	}
	cq->consumer = consumer;
	weft_ring_release(&ring, consumer);
}

int weft_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct weft_cq *cq = to_weft_cq(ibcq);
	int count;

	if (unlikely(num_entries <= 0))
		return 0;

	weft_lock(&cq->lock);
	count = cq_available(cq, num_entries);
	if (count > 0)
		cq_take(cq, count, wc);
	weft_unlock(&cq->lock);

	if (unlikely(count < 0))
		errno = -count;
	return count;
}

/* Takes no lock against pollers, but keeps the ring from being replaced meanwhile. */
int weft_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct weft_cq *cq = to_weft_cq(ibcq);

	weft_lock(&cq->arm_lock);
	weft_ring_arm(&cq->ring, solicited_only ? WEFT_ARM_SOLICITED :
						  WEFT_ARM_ANY);
	weft_unlock(&cq->arm_lock);
	return 0;
}

static void cq_show(struct weft_cq *cq)
{
	cq->cqe = weft_ring_slot(&cq->ring, cq->consumer++);
	cq_free_slots(cq->cqe);
	cq->vcq.cq_ex.wr_id = cq->cqe->wr_id;
	cq->vcq.cq_ex.status = cq->cqe->status;
}

static int cq_start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct weft_cq *cq = to_weft_cq_ex(ibcq);
	int count;

	if (unlikely(attr->comp_mask))
		return EINVAL;

	weft_lock(&cq->lock);
	count = cq_available(cq, 1);
	if (unlikely(count <= 0)) {
		weft_unlock(&cq->lock);
		return count ? -count : ENOENT;
	}
	cq_show(cq);
	return 0;
}

static int cq_next_poll(struct ibv_cq_ex *ibcq)
{
	struct weft_cq *cq = to_weft_cq_ex(ibcq);
	int count;

	count = cq_available(cq, 1);
	if (unlikely(count <= 0))
		return count ? -count : ENOENT;
	cq_show(cq);
	return 0;
}

static void cq_end_poll(struct ibv_cq_ex *ibcq)
{
	struct weft_cq *cq = to_weft_cq_ex(ibcq);

	weft_ring_release(&cq->ring, cq->consumer);
	weft_unlock(&cq->lock);
}

static enum ibv_wc_opcode cq_read_opcode(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->opcode;
}

static uint32_t cq_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->vendor_err;
}

static uint32_t cq_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->byte_len;
}

/* Consumers also read the invalidated rkey by this function; it is in host order. */
static __be32 cq_read_imm_data(struct ibv_cq_ex *ibcq)
{
	return (__force __be32)to_weft_cq_ex(ibcq)->cqe->ex;
}

static uint32_t cq_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->qp_num;
}

static uint32_t cq_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->src_qp;
}

static unsigned int cq_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->wc_flags;
}

static uint32_t cq_read_slid(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->slid;
}

static uint8_t cq_read_sl(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->sl;
}

static uint8_t cq_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->dlid_path_bits;
}

static uint64_t cq_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_weft_cq_ex(ibcq)->cqe->timestamp;
}

/* The word of immediate data and invalidated rkeys: a frame has neither. */
static uint32_t cq_read_flow_tag(struct ibv_cq_ex *ibcq)
{
	const struct weft_cqe *cqe = to_weft_cq_ex(ibcq)->cqe;

	return cqe->wc_flags & (WEFT_WC_WITH_IMM | WEFT_WC_WITH_INV) ? 0 :
								       cqe->ex;
}

/* Datagrams have a value that says that there is no VLAN. */
static uint16_t cq_read_cvlan(struct ibv_cq_ex *ibcq)
{
	uint16_t vlan = to_weft_cq_ex(ibcq)->cqe->vlan_id;

	return vlan == UINT16_MAX ? 0 : vlan;
}

static void cq_read_tm_info(struct ibv_cq_ex *ibcq, struct ibv_wc_tm_info *info)
{
	const struct weft_cqe *cqe = to_weft_cq_ex(ibcq)->cqe;

	*info = (struct ibv_wc_tm_info){};
	if (!(cqe->flags & WEFT_CQE_TAG))
		return;
	info->tag = (uint64_t)cqe->tag_high << 32 | cqe->tag_low;
	info->priv = cqe->app_ctx;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/*
 * The wall clock minus the age of the completion. Both clocks are read each
 * time: as their rates differ, a stored offset would drift.
 */
static uint64_t cq_read_wallclock_ns(struct ibv_cq_ex *ibcq)
{
	uint64_t age = clock_ns(CLOCK_MONOTONIC_RAW) -
		       to_weft_cq_ex(ibcq)->cqe->timestamp;

	return clock_ns(CLOCK_REALTIME) - age;
}

static void cq_set_ex_ops(struct ibv_cq_ex *cq)
{
	cq->start_poll = cq_start_poll;
	cq->next_poll = cq_next_poll;
	cq->end_poll = cq_end_poll;
	cq->read_opcode = cq_read_opcode;
	cq->read_vendor_err = cq_read_vendor_err;
	cq->read_byte_len = cq_read_byte_len;
	cq->read_imm_data = cq_read_imm_data;
	cq->read_qp_num = cq_read_qp_num;
	cq->read_src_qp = cq_read_src_qp;
	cq->read_wc_flags = cq_read_wc_flags;
	cq->read_slid = cq_read_slid;
	cq->read_sl = cq_read_sl;
	cq->read_dlid_path_bits = cq_read_dlid_path_bits;
	cq->read_completion_ts = cq_read_completion_ts;
	cq->read_cvlan = cq_read_cvlan;
	cq->read_flow_tag = cq_read_flow_tag;
	cq->read_tm_info = cq_read_tm_info;
	cq->read_completion_wallclock_ns = cq_read_wallclock_ns;
}

static void cq_restart(struct weft_cq *cq)
{
	cq->consumer = weft_ring_consumer(&cq->ring);
	cq->producer = cq->consumer;
}

static struct weft_cq *cq_create(struct ibv_context *context,
				 struct ibv_cq_init_attr_ex *attr, bool locked)
{
	struct uweft_create_cq_resp resp = {};
	struct uweft_create_cq cmd = {};
	struct weft_cq *cq;
	int ret;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	ret = ibv_cmd_create_cq_ex(context, attr,
#if VERBS_PABI >= 59
				   NULL,
#endif
				   &cq->vcq, &cmd.ibv_cmd, sizeof(cmd),
				   &resp.ibv_resp, sizeof(resp), 0);
	if (ret)
		goto err_free_cq;

	ret = weft_ring_map(&cq->ring, context->cmd_fd, &resp.drv.cq);
	if (ret)
		goto err_destroy_cq;

	cq_restart(cq);
	weft_lock_init(&cq->lock, locked);
	weft_lock_init(&cq->arm_lock, true);
	return cq;

err_destroy_cq:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free_cq:
	free(cq);
	errno = ret;
	return NULL;
}

struct ibv_cq *weft_create_cq(struct ibv_context *context, int cqe,
			      struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct weft_cq *cq;

	cq = cq_create(context, &attr, true);
	return cq ? &cq->vcq.cq : NULL;
}

/* 0, or an errno if the device does not support an attribute. */
static int cq_check_attr(const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD))
		return EOPNOTSUPP;
	if (!check_comp_mask(attr->wc_flags, CQ_WC_FLAGS))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    !check_comp_mask(attr->flags, CQ_FLAGS))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    !to_weft_pd(attr->parent_domain)->protection)
		return EINVAL;
	return 0;
}

static bool cq_shared(const struct ibv_cq_init_attr_ex *attr)
{
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return false;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		return weft_pd_shared(attr->parent_domain);
	return true;
}

struct ibv_cq_ex *weft_create_cq_ex(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr)
{
	struct weft_cq *cq;
	int ret;

	ret = cq_check_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}

	cq = cq_create(context, attr, cq_shared(attr));
	if (!cq)
		return NULL;

	cq_set_ex_ops(&cq->vcq.cq_ex);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		cq->parent = weft_parent_use(attr->parent_domain);
	return &cq->vcq.cq_ex;
}

int weft_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

/*
 * The kernel moves the completions that were not polled to a new ring. Both
 * locks are held from before that until the new ring is mapped; otherwise a poll
 * or a request for notification could go to the old ring.
 */
int weft_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct uweft_resize_cq_resp resp = {};
	struct weft_cq *cq = to_weft_cq(ibcq);
	struct uweft_resize_cq cmd = {};
	int ret;

	weft_lock(&cq->lock);
	weft_lock(&cq->arm_lock);
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (!ret) {
		ret = weft_ring_replace(&cq->ring, ibcq->context->cmd_fd,
					&resp.drv.cq);
		cq_restart(cq);
	}
	weft_unlock(&cq->arm_lock);
	weft_unlock(&cq->lock);
	return ret;
}

/*
 * Walk from the newest to the oldest completion, and move those that stay
 * towards the newest. The kernel writes only to slots from the producer index
 * on, which this does not touch.
 */
void weft_cq_clean(struct weft_cq *cq, const struct weft_qp *qp)
{
	uint64_t cookie = (uintptr_t)qp;
	struct weft_cqe *cqe;
	uint32_t from;
	uint32_t to;

	weft_lock(&cq->lock);
	cq->producer = weft_ring_producer(&cq->ring);
	to = cq->producer;
	/* the process may have corrupted the index: do not walk for ever */
	if (to - cq->consumer > cq->ring.entries)
		cq->consumer = to;
	for (from = cq->producer; from != cq->consumer;) {
		cqe = weft_ring_slot(&cq->ring, --from);
		if (cqe->cookie == cookie)
			continue;
		if (--to != from)
			*(struct weft_cqe *)weft_ring_slot(&cq->ring, to) =
				*cqe;
	}
	if (to != cq->consumer) {
		cq->consumer = to;
		weft_ring_release(&cq->ring, to);
	}
	weft_unlock(&cq->lock);
}

int weft_destroy_cq(struct ibv_cq *ibcq)
{
	struct weft_cq *cq = to_weft_cq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	weft_ring_unmap(&cq->ring);
	weft_parent_unuse(cq->parent);
	free(cq);
	return 0;
}
