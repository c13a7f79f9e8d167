// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * This host's end of a cable to a node of another host: an ARQ end (fabric/arq.h) with its
 * underlay, timer and port. Cables between two ports of this host are in fabric/local_cable.h.
 */
#include "fabric/remote.h"

#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "fabric/underlay.h"

static struct weft_remote *remote_of(struct weft_arq *arq)
{
	return container_of(arq, struct weft_remote, arq);
}

static void remote_send(struct weft_arq *arq, struct sk_buff *frame)
{
	const struct weft_remote_param *param = &remote_of(arq)->param;

	weft_underlay_send(param->underlay, &param->to, frame);
}

static void remote_deliver(struct weft_arq *arq, struct sk_buff *packet)
{
	weft_ibport_deliver(remote_of(arq)->param.port, packet, false);
}

static void remote_arm(struct weft_arq *arq, u64 when)
{
	hrtimer_start(&remote_of(arq)->timer, ns_to_ktime(when), HRTIMER_MODE_ABS_SOFT);
}

static void remote_count(struct weft_arq *arq, enum weft_ibport_counter counter)
{
	weft_ibport_count(remote_of(arq)->param.port, counter);
}

static void remote_more(struct weft_arq *arq)
{
	queue_work(remote_of(arq)->param.wq, &remote_of(arq)->work);
}

static void remote_abandon(struct weft_remote *remote)
{
	WRITE_ONCE(remote->useless, true);
	remote->param.abandon(remote->param.context);
}

static void remote_give_up(struct weft_arq *arq)
{
	remote_abandon(remote_of(arq));
}

static const struct weft_arq_ops remote_arq_ops = {
	.send = remote_send,
	.deliver = remote_deliver,
	.arm = remote_arm,
	.count = remote_count,
	.more = remote_more,
	.give_up = remote_give_up,
};

static enum hrtimer_restart remote_timeout(struct hrtimer *timer)
{
	struct weft_remote *remote = container_of(timer, struct weft_remote, timer);

	rcu_read_lock();
	weft_arq_timeout(&remote->arq, ktime_get_ns());
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

static void remote_work(struct work_struct *work)
{
	local_bh_disable();
	rcu_read_lock();
	weft_arq_drain(&container_of(work, struct weft_remote, work)->arq);
	rcu_read_unlock();
	local_bh_enable();
}

static void remote_xmit(struct weft_cable *cable, struct weft_ibport *from, struct sk_buff *skb)
{
	struct weft_remote *remote = container_of(cable, struct weft_remote, cable);

	weft_arq_xmit(&remote->arq, skb, ktime_get_ns());
}

/* Another cable will bring the link up at both ends. While the port is disabled there is none. */
static void remote_link(struct weft_cable *cable, struct weft_ibport *from)
{
	remote_abandon(container_of(cable, struct weft_remote, cable));
}

/* Make a cable, not plugged in; copies @param. Uses GFP_NOIO; returns NULL without memory. */
struct weft_remote *weft_remote_create(const struct weft_remote_param *param)
{
	struct weft_arq_param arq = {
		.ops = &remote_arq_ops,
		.nonce = param->nonce,
		.heard = param->heard,
		.max_frame = param->max_frame,
		.room = weft_underlay_headroom(param->underlay),
	};
	struct weft_remote *remote = kzalloc(sizeof(*remote), GFP_NOIO);

	if (!remote)
		return NULL;
	remote->cable.xmit = remote_xmit;
	remote->cable.link = remote_link;
	remote->param = *param;
	remote->heard_at = jiffies;
	weft_arq_init(&remote->arq, &arq);
	INIT_WORK(&remote->work, remote_work);
	hrtimer_setup(&remote->timer, remote_timeout, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	return remote;
}

/* Is a frame with this header of the cable? Without a header only the address counts. */
bool weft_remote_is(const struct weft_remote *remote, const struct weft_frame *frame,
		    const struct weft_underlay_addr *from)
{
	const struct weft_remote_param *param = &remote->param;

	return weft_underlay_addr_equal(&param->to, from) &&
	       (!frame || (frame->nonce == param->heard && frame->heard == param->nonce));
}

/* A DATA or ACK frame has come by the cable, see weft_arq_receive(). */
void weft_remote_receive(struct weft_remote *remote, const struct weft_frame *frame,
			 struct sk_buff *skb)
{
	WRITE_ONCE(remote->heard_at, jiffies);
	weft_arq_receive(&remote->arq, frame, skb, ktime_get_ns());
}

/* Plug the cable into its port. Process context. */
void weft_remote_plug(struct weft_remote *remote)
{
	weft_ibport_plug(remote->param.port, &remote->cable);
}

/* Without a BYE the peer node would have to wait until this node seems silent. */
static void remote_bye(const struct weft_remote *remote)
{
	const struct weft_remote_param *param = &remote->param;
	struct weft_frame frame = {
		.type = WEFT_FRAME_BYE, .nonce = param->nonce, .heard = param->heard,
	};
	struct weft_frame_headroom room = weft_underlay_headroom(param->underlay);
	struct sk_buff *skb = weft_frame_build(&frame, NULL, 0, &room);

	if (skb)
		weft_underlay_send(param->underlay, &param->to, skb);
}

/* Pull the cable out and send BYE. New frames must not find the cable any more. Sleeps. */
void weft_remote_pull(struct weft_remote *remote)
{
	weft_ibport_unplug(remote->param.port);
	weft_arq_stop(&remote->arq);
	hrtimer_cancel(&remote->timer);
	cancel_work_sync(&remote->work);
	remote_bye(remote);
}

/* The cable has been pulled out, and a grace period has passed since. */
void weft_remote_free(struct weft_remote *remote)
{
	weft_arq_destroy(&remote->arq);
	kfree(remote);
}
