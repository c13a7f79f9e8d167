// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/ah.h"

#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/weft-abi.h>

#include "object/dev.h"
#include "object/inject.h"
#include "object/refuse.h"
#include "object/strict.h"
#include "object/table.h"
#include "object/ucontext.h"
#include "pause.h"
#include "ring/rxe.h"

/*
 * A work request finds this by the id of an address handle. It is not part of struct weft_ah, which
 * the core frees without a grace period.
 */
struct weft_ah_entry {
	struct rcu_head		rcu;
	u32			id;
	const struct ib_pd	*pd;	/* only compared */
	spinlock_t		lock;	/* protects the members below */
	struct weft_av		av;
	/* strict mode: the QP whose request has used it last, which request, and when */
	u32			user;
	u32			request;
	u32			epoch;
	ktime_t			used;
};

/* the provider for rdma_rxe gets the id, too */
static_assert(sizeof(struct weft_create_ah_resp) == sizeof(struct rxe_create_ah_resp));

static struct weft_ah *to_weft_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct weft_ah, ibah);
}

static int ah_publish(struct weft_dev *dev, struct weft_ah_entry *entry, gfp_t gfp)
{
	unsigned long flags;
	int ret;

	/* callers may hold spinlocks with interrupts disabled, as ib_cm does */
	xa_lock_irqsave(&dev->ahs, flags);
	ret = __xa_alloc_cyclic(&dev->ahs, &entry->id, entry,
				XA_LIMIT(1, WEFT_MAX_AH), &dev->ah_next, gfp);
	xa_unlock_irqrestore(&dev->ahs, flags);
	return ret < 0 ? -ENOMEM : 0;
}

static void ah_unpublish(struct weft_dev *dev, struct weft_ah_entry *entry)
{
	unsigned long flags;

	xa_lock_irqsave(&dev->ahs, flags);
	__xa_erase(&dev->ahs, entry->id);
	xa_unlock_irqrestore(&dev->ahs, flags);
	kfree_rcu(entry, rcu);
}

int weft_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata)
{
	struct weft_dev *dev = to_weft_dev(ibah->device);
	struct weft_create_ah_resp resp = {};
	struct weft_ah_entry *entry;
	bool nameless;
	int ret;

	ret = weft_udata_empty(udata);
	/* an old provider for rdma_rxe wants no id, see weft_av_from_rxe() */
	nameless = weft_udata_rxe(udata) && !udata->outlen;
	if (!ret && udata && !nameless && udata->outlen < sizeof(resp))
		ret = -EINVAL;
	if (ret)
		return weft_refuse_request(ibah->device, ret, "create AH", udata);
	ret = weft_inject_verb(ibah->device, WEFT_VERB_CREATE_AH);
	if (ret)
		return ret;
	if (weft_inject_no_memory(dev, NULL, WEFT_ALLOC_AH))
		return -ENOMEM;
	entry = kzalloc(sizeof(*entry), (init->flags & RDMA_CREATE_AH_SLEEPABLE ?
					 GFP_KERNEL : GFP_ATOMIC) | (udata ? __GFP_ACCOUNT : 0));
	if (!entry)
		return -ENOMEM;
	spin_lock_init(&entry->lock);
	entry->pd = ibah->pd;
	ret = weft_av_init(&entry->av, dev, init->ah_attr);
	if (ret) {
		ret = weft_refuse(ibah->device, ret, "create AH: invalid ah_attr");
		goto err_free_entry;
	}
	/* kernel consumers are IPoIB and management, which need packets */
	if (entry->av.ib && udata)
		weft_av_find_peer(&entry->av, dev);
	ret = ah_publish(dev, entry, GFP_ATOMIC);
	if (ret)
		goto err_free_entry;
	weft_pause(WEFT_PAUSE_AH_CREATE_PUBLISHED);
	resp.ah_id = entry->id;
	if (udata && !nameless) {
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret) {
			ah_unpublish(dev, entry);
			return ret;
		}
	}
	to_weft_ah(ibah)->entry = entry;
	return 0;

err_free_entry:
	kfree(entry);
	return ret;
}

int weft_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct weft_ah_entry *entry = to_weft_ah(ibah)->entry;
	unsigned long flags;
	struct weft_av av;
	int ret;

	ret = weft_av_init(&av, to_weft_dev(ibah->device), attr);
	if (ret)
		return weft_refuse(ibah->device, ret, "modify AH: invalid ah_attr");
	spin_lock_irqsave(&entry->lock, flags);
	entry->av = av;
	spin_unlock_irqrestore(&entry->lock, flags);
	return 0;
}

int weft_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct weft_ah_entry *entry = to_weft_ah(ibah)->entry;
	unsigned long flags;

	*attr = (struct rdma_ah_attr){};
	spin_lock_irqsave(&entry->lock, flags);
	weft_av_to_attr(&entry->av, attr);
	spin_unlock_irqrestore(&entry->lock, flags);
	return 0;
}

/* The last request of @qp names handle @id, and is held for a while. The send turn is owned. */
void weft_ah_hold(struct weft_qp *qp, u32 id)
{
	struct weft_ah_entry *entry;
	unsigned long flags;

	rcu_read_lock();
	entry = xa_load(&qp->dev->ahs, id);
	if (entry && entry->pd == qp->pd) {
		spin_lock_irqsave(&entry->lock, flags);
		entry->user = qp->qpn;
		entry->request = qp->send.inflight.tail - 1;
		entry->epoch = qp->send.inflight.epoch;
		entry->used = ktime_get();
		spin_unlock_irqrestore(&entry->lock, flags);
	}
	rcu_read_unlock();
}

/* A request that takes longer is not waited for. */
#define AH_WAIT_NS	NSEC_PER_SEC

/* Is a request in flight that names a handle of @dev? Then @user is its QP, with a reference. */
static bool ah_is_used(const struct weft_dev *dev, struct weft_ah_entry *entry,
		       struct weft_qp **user)
{
	const struct weft_inflight *inflight;
	struct weft_qp *qp = NULL;
	u32 request, epoch, head;

	spin_lock_irq(&entry->lock);
	request = entry->request;
	epoch = entry->epoch;
	if (entry->user && ktime_before(ktime_get(), ktime_add_ns(entry->used, AH_WAIT_NS)))
		qp = weft_qp_get(entry->user);
	spin_unlock_irq(&entry->lock);
	if (!qp)
		return false;
	*user = qp;
	inflight = &qp->send.inflight;
	head = READ_ONCE(inflight->head);
	/* the number may be that of a QP of another device by now, and that device may go */
	if (qp->dev == dev && weft_qp_state(qp) == IB_QPS_RTS &&
	    epoch == READ_ONCE(inflight->epoch) &&
	    request - head < READ_ONCE(inflight->tail) - head)
		return true;
	weft_qp_put(qp);
	return false;
}

/*
 * A process destroys a handle. If that is too early, it waits until the request is complete, or
 * (mode 2) is refused. A process that ends, or another thread of which goes on sending, is let
 * through.
 */
static int ah_strict(const struct weft_dev *dev, struct weft_ah_entry *entry)
{
	const ktime_t end = ktime_add_ns(ktime_get(), AH_WAIT_NS);
	struct weft_qp *user;
	bool fail;

	while (!(current->flags & PF_EXITING) && !fatal_signal_pending(current) &&
	       ktime_before(ktime_get(), end) && ah_is_used(dev, entry, &user)) {
		fail = weft_strict_qp(user, WEFT_FAULT_STRICT_ADDRESS,
				      "its address handle is destroyed before the request is complete");
		weft_qp_put(user);
		if (fail)
			return -EBUSY;
		usleep_range(50, 200);
	}
	return 0;
}

int weft_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	int ret = weft_strict_is_on() && flags & RDMA_DESTROY_AH_SLEEPABLE && ibah->uobject ?
		  ah_strict(to_weft_dev(ibah->device), to_weft_ah(ibah)->entry) : 0;

	if (ret)
		return weft_refuse(ibah->device, ret, "destroy AH: a request uses it");
	ah_unpublish(to_weft_dev(ibah->device), to_weft_ah(ibah)->entry);
	weft_pause(WEFT_PAUSE_AH_DESTROY);
	return 0;
}

/* The id that names the handle in work requests. */
u32 weft_ah_id(struct ib_ah *ibah)
{
	return to_weft_ah(ibah)->entry->id;
}

/* Copy the address vector of handle @id. Return: false: there is no such handle in @pd. */
bool weft_ah_lookup(struct weft_dev *dev, u32 id, const struct ib_pd *pd,
		    struct weft_av *av)
{
	struct weft_ah_entry *entry;
	unsigned long flags;
	bool found = false;

	rcu_read_lock();
	entry = xa_load(&dev->ahs, id);
	weft_pause(WEFT_PAUSE_AH_FOUND);
	if (entry && entry->pd == pd) {
		spin_lock_irqsave(&entry->lock, flags);
		if (!entry->av.multicast && (entry->av.local || !entry->av.ib))
			weft_av_target(&entry->av);
		*av = entry->av;
		spin_unlock_irqrestore(&entry->lock, flags);
		found = true;
	}
	rcu_read_unlock();
	return found;
}
