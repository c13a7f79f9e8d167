// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/srq.h"

#include <rdma/uverbs_ioctl.h>
#include <rdma/weft-attrs.h>

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

#include "object/count.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/profile.h"
#include "object/refuse.h"
#include "object/tag.h"
#include "object/ucontext.h"
#include "object/xrc.h"
#include "pause.h"

static atomic_t srq_next_number = ATOMIC_INIT(0);

static void srq_tell(struct weft_events *events, enum ib_event_type type)
{
	struct weft_srq *srq = container_of(events, struct weft_srq, events);
	struct ib_event event = {
		.device = srq->ibsrq.device,
		.element.srq = &srq->ibsrq,
		.event = type,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

/* Whether the limit event is due; disarms it. */
static bool srq_below_limit(struct weft_srq *srq, int pending)
{
	lockdep_assert_held(&srq->lock);
	if (!srq->limit || pending < 0 || pending >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

/*
 * weft_srq_take(), or if @tagged is not NULL weft_srq_take_tagged(): one lock, so that no tag is
 * added between the comparison of a message and its count as unexpected.
 */
static __always_inline int srq_take(struct weft_srq *srq, u64 least, struct weft_tagged *tagged,
				    struct weft_rwqe *wqe)
{
	bool limit = false, error = false;
	unsigned long flags;
	int pending, ret = -EAGAIN;

	spin_lock_irqsave(&srq->lock, flags);
	if (tagged) {
		ret = weft_tags_match(srq->tags, tagged, wqe);
		if (ret != -ENOENT) {
			spin_unlock_irqrestore(&srq->lock, flags);
			return ret;
		}
		ret = -EAGAIN;
	}
	pending = srq->error ? -EIO : weft_ring_pending(srq->ring);
	if (pending > 0) {
		ret = weft_rq_peek(srq->ring, wqe);
		if (!ret && wqe->length < least) {
			ret = -EMSGSIZE;
		} else {
			weft_ring_release(srq->ring);
			limit = srq_below_limit(srq, pending - 1);
			if (!ret && tagged && tagged->kind == WEFT_TAG_UNEXPECTED)
				srq->tags->unexpected++;
		}
	} else if (pending < 0) {
		ret = -EIO;
		error = !srq->error;
		srq->error = true;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (limit)
		weft_events_raise(&srq->events, IB_EVENT_SRQ_LIMIT_REACHED);
	if (error)
		weft_events_raise(&srq->events, IB_EVENT_SRQ_ERR);
	return ret;
}

/*
 * Take the next receive work request, and raise SRQ_LIMIT_REACHED if the queue has fallen below
 * its limit.
 *
 * Return: 0; -EAGAIN: empty; -EMSGSIZE: the next one has room for less than @least bytes, and
 * stays in the queue; -EINVAL: the one taken is malformed; -EIO: the queue is in error.
 */
int weft_srq_take(struct weft_srq *srq, u64 least, struct weft_rwqe *wqe)
{
	return srq_take(srq, least, NULL, wqe);
}

/*
 * Take the receive for a message: that of the tag that matches, or else the next one of the queue.
 * Return: as weft_srq_take(); -EAGAIN: also if the QP has no room for the requests of a rendezvous.
 */
int weft_srq_take_tagged(struct weft_srq *srq, struct weft_tagged *tagged, struct weft_rwqe *wqe)
{
	return srq_take(srq, 0, tagged, wqe);
}

/* The receive that a message has taken ends without success, and is not to be counted. */
void weft_srq_uncount(struct weft_srq *srq, const struct weft_tagged *tagged)
{
	unsigned long flags;

	if (tagged->kind != WEFT_TAG_UNEXPECTED)
		return;
	spin_lock_irqsave(&srq->lock, flags);
	weft_tags_uncount(srq->tags);
	spin_unlock_irqrestore(&srq->lock, flags);
}

/* Tags are for processes: the kernel has no operations for them. */
static int srq_check_tags(const struct ib_device *ibdev, const struct ib_srq_init_attr *init,
			  struct ib_udata *udata)
{
	if (init->srq_type != IB_SRQT_TM)
		return 0;
	if (!udata || weft_udata_rxe(udata))
		return weft_refuse(ibdev, -EOPNOTSUPP,
				   "create SRQ: tags are for processes with weft's provider");
	return weft_check_range(ibdev, "create SRQ", "max_num_tags",
				init->ext.tag_matching.max_num_tags, 1, WEFT_MAX_TAGS);
}

static int srq_check_attr(const struct ib_device *ibdev, const struct ib_srq_init_attr *init)
{
	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC &&
	    init->srq_type != IB_SRQT_TM)
		return weft_refuse(ibdev, -EOPNOTSUPP, "create SRQ: srq_type %u is not supported",
				   init->srq_type);
	return weft_check_range(ibdev, "create SRQ", "max_wr", init->attr.max_wr, 1,
				WEFT_MAX_SRQ_WR) ?:
	       weft_check_max(ibdev, "create SRQ", "max_sge", init->attr.max_sge, WEFT_MAX_SGE);
}

static int srq_name(struct weft_srq *srq)
{
	if (srq->ibsrq.srq_type != IB_SRQT_XRC) {
		srq->srqn = (u32)atomic_inc_return(&srq_next_number) & 0xffffff;
		return 0;
	}
	srq->xrc = weft_xrc_publish(srq);
	if (IS_ERR(srq->xrc))
		return PTR_ERR(srq->xrc);
	srq->ibsrq.ext.xrc.srq_num = srq->srqn;
	return 0;
}

static void srq_end(struct weft_srq *srq)
{
	struct weft_ring *ring = srq->ring;

	if (srq->xrc)
		weft_xrc_unpublish(srq->xrc);
	weft_pause(WEFT_PAUSE_SRQ_DESTROY);
	weft_events_end(&srq->events);
	/* in a core without rdma_restrack_begin_del(), netlink may still show the SRQ */
	spin_lock_irq(&srq->lock);
	srq->ring = NULL;
	spin_unlock_irq(&srq->lock);
	weft_ring_destroy(ring);
	weft_tags_destroy(srq->tags);
}

static int srq_tell_rxe(struct ib_udata *udata, const struct weft_create_srq_resp *resp)
{
	struct rxe_create_srq_resp rxe = {
		.mi = weft_rxe_mminfo(&resp->rq),
		.srq_num = resp->srqn,
	};

	return udata->outlen < sizeof(rxe) ? -EINVAL : ib_copy_to_udata(udata, &rxe, sizeof(rxe));
}

static int srq_make(struct weft_srq *srq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	struct weft_create_srq_resp resp = {};
	bool rxe = weft_udata_rxe(udata);
	u32 stride;
	int ret;

	spin_lock_init(&srq->lock);
	spin_lock_init(&srq->post_lock);
	mutex_init(&srq->modify_lock);
	weft_events_init(&srq->events, !udata, srq_tell);
	stride = weft_rq_stride(rxe, init->attr.max_sge);
	/* all that a process can write into a slot: the lists of its QPs have room for so many */
	srq->max_sge = weft_rq_sges(rxe, stride);
	if (weft_inject_no_memory(to_weft_dev(srq->ibsrq.device), NULL, WEFT_ALLOC_RING))
		return -ENOMEM;
	srq->ring = rxe ? weft_rxe_create(init->attr.max_wr, stride, weft_udata_ucontext(udata),
					  &resp.rq) :
			  weft_ring_create(init->attr.max_wr, stride, weft_udata_ucontext(udata),
					   &resp.rq);
	if (IS_ERR(srq->ring))
		return PTR_ERR(srq->ring);
	if (init->srq_type == IB_SRQT_TM)
		srq->tags = weft_tags_create(init->ext.tag_matching.max_num_tags);
	ret = init->srq_type == IB_SRQT_TM && !srq->tags ? -ENOMEM : srq_name(srq);
	if (ret) {
		weft_tags_destroy(srq->tags);
		weft_ring_destroy(srq->ring);
		return ret;
	}
	weft_pause(WEFT_PAUSE_SRQ_CREATE_NAMED);
	init->attr.max_wr = srq->ring->entries;
	init->attr.max_sge = srq->max_sge;
	resp.srqn = srq->srqn;
	if (udata) {
		ret = rxe ? srq_tell_rxe(udata, &resp) :
			    ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret)
			srq_end(srq);
	}
	return ret;
}

int weft_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	struct weft_dev *dev = to_weft_dev(ibsrq->device);
	int ret;

	ret = weft_inject_verb(ibsrq->device, WEFT_VERB_CREATE_SRQ) ?:
	      srq_check_attr(ibsrq->device, init) ?: srq_check_tags(ibsrq->device, init, udata) ?:
	      weft_profile_check(ibsrq->device, udata, WEFT_PROFILE_SRQS, 1);
	if (ret)
		return ret;
	ret = weft_udata_rxe(udata) ? weft_udata_empty(udata) :
	      weft_udata_check(udata, sizeof(struct weft_create_srq_req),
			       sizeof(struct weft_create_srq_resp));
	if (ret)
		return weft_refuse_request(ibsrq->device, ret, "create SRQ", udata);
	ret = weft_count_take(&dev->num_srq, WEFT_MAX_SRQ);
	if (ret)
		return ret;
	ret = srq_make(to_weft_srq(ibsrq), init, udata);
	if (ret)
		weft_count_give(&dev->num_srq);
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_create_srq);

/* Return: the ring to destroy, the old one or, on failure, the new one. */
static struct weft_ring *srq_switch_ring(struct weft_srq *srq,
					 struct weft_ring *ring, int *ret)
{
	struct weft_ring *old = srq->ring;
	int tries = WEFT_RING_CARRIES;
	unsigned long flags;
	u32 copied;

	lockdep_assert_held(&srq->modify_lock);
	do {
		copied = weft_ring_carry_ahead(ring, old, false);
		spin_lock_irqsave(&srq->post_lock, flags);
		spin_lock(&srq->lock);
		*ret = weft_ring_carry_rest(ring, old, false, copied);
		if (!*ret)
			srq->ring = ring;
		spin_unlock(&srq->lock);
		spin_unlock_irqrestore(&srq->post_lock, flags);
	} while (*ret == -EAGAIN && --tries);
	return *ret ? ring : old;
}

/* A process cannot get a response, so its request has the address where it wants the new ring. */
static int srq_tell_ring(const struct weft_srq *srq, struct ib_udata *udata,
			 const struct weft_ring_resp *resp)
{
	struct weft_modify_srq_req req;

	if (udata->inlen < sizeof(req))
		return weft_refuse_request(srq->ibsrq.device, -EINVAL, "modify SRQ", udata);
	if (ib_copy_from_udata(&req, udata, sizeof(req)))
		return -EFAULT;
	return copy_to_user(u64_to_user_ptr(req.ring_addr), resp, sizeof(*resp)) ? -EFAULT : 0;
}

static int srq_tell_rxe_ring(const struct weft_srq *srq, struct ib_udata *udata,
			     const struct weft_ring_resp *resp)
{
	struct mminfo info = weft_rxe_mminfo(resp);
	struct rxe_modify_srq_cmd req;

	if (udata->inlen < sizeof(req))
		return weft_refuse_request(srq->ibsrq.device, -EINVAL, "modify SRQ", udata);
	if (ib_copy_from_udata(&req, udata, sizeof(req)))
		return -EFAULT;
	return copy_to_user(u64_to_user_ptr(req.mmap_info_addr), &info, sizeof(info)) ? -EFAULT : 0;
}

static int srq_resize(struct weft_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	struct weft_ring_resp resp = {};
	struct weft_ring *ring;
	int ret;

	ring = weft_ring_create_like(srq->ring, max_wr, weft_udata_ucontext(udata), &resp);
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	/* first tell the process: a switch of rings cannot be undone */
	ret = !udata ? 0 : ring->rxe ? srq_tell_rxe_ring(srq, udata, &resp) :
				       srq_tell_ring(srq, udata, &resp);
	if (ret) {
		weft_ring_destroy(ring);
		return ret;
	}
	weft_pause(WEFT_PAUSE_SRQ_RESIZE_TOLD);
	weft_ring_destroy(srq_switch_ring(srq, ring, &ret));
	return ret == -EINVAL ?
	       weft_refuse(srq->ibsrq.device, ret,
			   "modify SRQ: max_wr %u is below the posted work requests", max_wr) : ret;
}

static int srq_set_limit(struct weft_srq *srq, u32 limit)
{
	unsigned long flags;
	bool below;

	spin_lock_irqsave(&srq->lock, flags);
	srq->limit = limit;
	below = srq_below_limit(srq, weft_ring_pending(srq->ring));
	spin_unlock_irqrestore(&srq->lock, flags);
	if (below)
		weft_events_raise(&srq->events, IB_EVENT_SRQ_LIMIT_REACHED);
	return 0;
}

static int srq_check_change(const struct weft_srq *srq, const struct ib_srq_attr *attr, u32 mask)
{
	const struct ib_device *ibdev = srq->ibsrq.device;
	u32 limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : 0;
	/* a queue of rdma_rxe's ABI may hold more than one can ask for */
	u32 max_wr = mask & IB_SRQ_MAX_WR ? attr->max_wr : srq->ring->entries;
	int ret = 0;

	if (mask & IB_SRQ_MAX_WR)
		ret = weft_check_range(ibdev, "modify SRQ", "max_wr", max_wr, 1, WEFT_MAX_SRQ_WR);
	return ret ?:
	       weft_check_max(ibdev, "modify SRQ", "srq_limit", limit, max_wr) ?:
	       weft_check_max(ibdev, "modify SRQ", "the present srq_limit", srq->limit, max_wr);
}

int weft_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	const u32 unsupported = mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT);
	struct weft_srq *srq = to_weft_srq(ibsrq);
	int ret;

	if (unsupported)
		return weft_refuse(ibsrq->device, -EINVAL,
				   "modify SRQ: srq_attr_mask %#x is not supported", unsupported);
	ret = weft_inject_verb(ibsrq->device, WEFT_VERB_MODIFY_SRQ);
	if (ret)
		return ret;
	/* the request of the provider for rdma_rxe is only an address, which is read later */
	ret = weft_udata_rxe(udata) ? 0 :
	      weft_udata_check(udata, sizeof(struct weft_modify_srq_req), 0);
	if (ret)
		return weft_refuse_request(ibsrq->device, ret, "modify SRQ", udata);
	mutex_lock(&srq->modify_lock);
	ret = srq_check_change(srq, attr, mask);
	if (!ret && mask & IB_SRQ_MAX_WR)
		ret = srq_resize(srq, attr->max_wr, udata);
	if (!ret && mask & IB_SRQ_LIMIT)
		ret = srq_set_limit(srq, attr->srq_limit);
	mutex_unlock(&srq->modify_lock);
	return ret;
}

int weft_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct weft_srq *srq = to_weft_srq(ibsrq);
	int ret = weft_inject_verb(ibsrq->device, WEFT_VERB_QUERY_SRQ);

	if (ret)
		return ret;
	mutex_lock(&srq->modify_lock);
	attr->max_wr = srq->ring->entries;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	mutex_unlock(&srq->modify_lock);
	return 0;
}

int weft_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	srq_end(to_weft_srq(ibsrq));
	weft_count_give(&to_weft_dev(ibsrq->device)->num_srq);
	return 0;
}

/*
 * Write a receive work request of a kernel consumer into the ring of an SRQ or QP. The caller
 * excludes other producers. Return: 0; -EINVAL: too many elements; -ENOMEM: full.
 */
int weft_rq_write(struct weft_ring *ring, u32 max_sge, const struct ib_recv_wr *wr)
{
	struct weft_rqe *rqe;

	if (wr->num_sge < 0 || wr->num_sge > max_sge)
		return -EINVAL;
	rqe = weft_ring_reserve(ring);
	if (!rqe)
		return -ENOMEM;
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	rqe->reserved_0c = 0;
	static_assert(sizeof(struct ib_sge) == sizeof(struct weft_sge));
	memcpy(rqe + 1, wr->sg_list, wr->num_sge * sizeof(struct weft_sge));
	weft_ring_submit(ring);
	return 0;
}

int weft_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct weft_srq *srq = to_weft_srq(ibsrq);
	int ret = weft_inject_post(to_weft_dev(ibsrq->device), WEFT_VERB_POST_SRQ_RECV, NULL);
	unsigned long flags;

	if (ret && bad_wr)
		*bad_wr = wr;
	spin_lock_irqsave(&srq->post_lock, flags);
	for (; wr && !ret; wr = ret ? wr : wr->next) {
		ret = weft_rq_write(srq->ring, srq->max_sge, wr);
		if (ret && bad_wr)
			*bad_wr = wr;
	}
	spin_unlock_irqrestore(&srq->post_lock, flags);
	return ret;
}

static int UVERBS_HANDLER(WEFT_METHOD_SRQ_ASK)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *ibsrq = uverbs_attr_get_obj(attrs, WEFT_ATTR_SRQ_ASK_HANDLE);

	return weft_inject_ask(to_weft_dev(ibsrq->device), WEFT_VERB_POST_SRQ_RECV, NULL);
}

DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_SRQ_ASK,
			    UVERBS_ATTR_IDR(WEFT_ATTR_SRQ_ASK_HANDLE,
					    UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY));

ADD_UVERBS_METHODS(srq_ask, UVERBS_OBJECT_SRQ, &UVERBS_METHOD(WEFT_METHOD_SRQ_ASK));

const struct uapi_definition weft_srq_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &srq_ask),
	{ }
};
