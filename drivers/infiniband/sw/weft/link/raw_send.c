// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A work request is a whole frame, from the destination MAC on and without FCS. It goes to the net
 * device as if a program had sent it by a packet socket, so queueing disciplines and tcpdump see
 * it. The work request completes when the frame has been handed to the net device.
 */
#include "link/raw_send.h"

#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>

#include "engine/gather.h"
#include "engine/inflight.h"
#include "engine/ipcsum.h"
#include "link/packet.h"
#include "link/raw_frame.h"
#include "link/raw_tso.h"
#include "link/steer.h"
#include "link/tx_credit.h"
#include "object/dev.h"
#include "object/qp.h"
#include "pause.h"
#include "stats.h"

/* weft_slot.done: the receivers on this device have got the frame */
#define RAW_LOOPED	1

/* Finds the headers; fills in checksums, if the consumer wants that (IBV_SEND_IP_CSUM). */
static void raw_set_headers(struct sk_buff *skb, bool checksums)
{
	u32 offset, type = weft_raw_frame_network(skb->data, skb->len, &offset);

	skb_reset_mac_header(skb);
	skb->protocol = eth_hdr(skb)->h_proto;
	skb_set_network_header(skb, offset);
	skb_set_transport_header(skb, offset);
	if (checksums)
		weft_ipcsum_fill_typed(skb->data + offset - WEFT_IPCSUM_ENCAP, type,
				       skb->len - offset + WEFT_IPCSUM_ENCAP);
}

/* The memory of the frame is in weft_send.sgl. Returns NULL if there is no memory. */
static struct sk_buff *raw_build(struct weft_qp *qp, bool checksums)
{
	struct net_device *ndev = qp->dev->ndev;
	u32 room = LL_RESERVED_SPACE(ndev), length = qp->send.sgl.length;
	struct weft_iter payload;
	struct sk_buff *skb;

	/* without I/O, because the reclaim of memory may wait for a turn, of a kernel consumer */
	skb = alloc_skb(room + length + ndev->needed_tailroom, GFP_NOIO | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, room);
	weft_sgl_iter(&qp->send.sgl, &payload);
	weft_packet_copy(skb_put(skb, length), &payload, length);
	skb->dev = ndev;
	raw_set_headers(skb, checksums);
	return skb;
}

/* A frame of a VLAN may be longer by its tag, as in Ethernet. The longest frame of a TSO counts. */
static bool raw_fits(const struct net_device *ndev, const struct sk_buff *skb)
{
	u32 most = READ_ONCE(ndev->mtu) + ETH_HLEN;
	u32 length = skb_is_gso(skb) ? skb_headlen(skb) + skb_shinfo(skb)->gso_size : skb->len;

	return length <= most + (eth_type_vlan(skb->protocol) ? VLAN_HLEN : 0);
}

/* Does the net device queue packets, and have none now? */
static bool raw_queue_is_empty(const struct net_device *ndev)
{
	bool queues;

	rcu_read_lock();
	queues = rcu_dereference(netdev_get_tx_queue(ndev, 0)->qdisc)->enqueue;
	rcu_read_unlock();
	return queues && qdisc_all_tx_empty(ndev);
}

/*
 * The net device has refused a frame: is it worth another try? A full queue is. If the queue was
 * empty at another try, and is empty still, a filter (nftables, tc) drops the frame.
 */
static bool raw_may_wait(const struct weft_tx_batch *batch, bool was_empty)
{
	if (weft_tx_credit_wait(batch))
		return true;
	if (was_empty && raw_queue_is_empty(batch->qp->dev->ndev))
		return false;
	return weft_tx_credit_backoff(batch);
}

/*
 * Hand the frame over. A queue that is full makes the work request wait, so that a program need not
 * know how fast the net device is. WEFT_DONE: it has left or is lost; WEFT_LATER.
 */
static enum weft_verdict raw_transmit(struct weft_qp *qp, struct sk_buff *skb)
{
	const struct weft_tx_batch batch = { .qp = qp, .tx = &qp->send.tx };
	bool was_empty = false;
	int ret;

	weft_tx_credit_take(&qp->send.tx, skb);
	/* in one go: a full queue runs empty while a task waits for a CPU */
	local_bh_disable();
	if (unlikely(qp->send.tx.backoffs))
		was_empty = raw_queue_is_empty(qp->dev->ndev);
	ret = dev_queue_xmit(skb);
	local_bh_enable();
	if (unlikely(ret == NET_XMIT_DROP) && raw_may_wait(&batch, was_empty))
		return WEFT_LATER;
	qp->send.tx.backoffs = 0;
	weft_stats_inc(qp, net_xmit_eval(ret) ? WEFT_STAT_TX_DROPPED : WEFT_STAT_TX_PACKETS);
	return WEFT_DONE;
}

static enum weft_verdict raw_send(struct weft_qp *qp, struct weft_slot *slot,
				  const struct weft_lso *lso)
{
	struct sk_buff *skb = lso->length ? weft_raw_tso_build(qp, lso) :
			      raw_build(qp, slot->wqe.sqe.flags & WEFT_SQE_IP_CSUM);

	weft_pause(WEFT_PAUSE_RAW_BUILT);
	if (unlikely(!skb || !raw_fits(qp->dev->ndev, skb) || !weft_qp_port_open(qp))) {
		weft_stats_inc(qp, WEFT_STAT_TX_DROPPED);
		kfree_skb(skb);
		return WEFT_DONE;
	}
	if (slot->done != RAW_LOOPED && weft_steer_loop(qp, skb)) {
		weft_stats_inc(qp, WEFT_STAT_TX_PACKETS);
		consume_skb(skb);
		return WEFT_DONE;
	}
	qp->send.tx.again = slot->done == RAW_LOOPED;
	slot->done = RAW_LOOPED;
	return raw_transmit(qp, skb);
}

/* Checks what is to be sent. A TSO is copied to @lso; a frame has none, of length 0. */
static enum weft_fault raw_read(const struct weft_qp *qp, const struct weft_slot *slot,
				struct weft_lso *lso)
{
	u32 length = qp->send.sgl.length;

	lso->length = 0;
	if (likely(!slot->op->create_flag))
		return length < ETH_HLEN ? WEFT_FAULT_LOCAL_LENGTH : WEFT_FAULT_NONE;
	if (length > WEFT_TSO_MAX_LENGTH)
		return WEFT_FAULT_LOCAL_LENGTH;
	weft_sq_copy_lso(lso, qp->send.ring, slot->wqe.index);
	return weft_raw_tso_valid(lso) ? WEFT_FAULT_NONE : WEFT_FAULT_MALFORMED;
}

static enum weft_verdict raw_slot(struct weft_qp *qp, struct weft_slot *slot,
				  struct weft_budget *budget)
{
	const struct weft_tx_batch batch = { .qp = qp, .tx = &qp->send.tx };
	enum weft_verdict verdict = WEFT_DONE;
	struct weft_result result;
	struct weft_lso lso;
	u32 length;

	if (budget->atomic)
		return WEFT_STOPPED;
	if (!weft_tx_credit_left(&batch))
		return WEFT_LATER;
	result = weft_gather(qp, &qp->send.odp, slot, 0, WEFT_ODP_CHUNK);
	if (likely(result.verdict == WEFT_DONE)) {
		result = weft_failed(raw_read(qp, slot, &lso));
		if (unlikely(result.verdict))
			weft_sgl_release(&qp->send.sgl);
	}
	if (unlikely(result.verdict == WEFT_FAILED)) {
		weft_inflight_fault(qp, result.fault);
		return WEFT_DONE;
	}
	if (unlikely(result.verdict))
		return result.verdict;
	length = qp->send.sgl.length;
	if (likely(length <= WEFT_RAW_LONGEST))
		verdict = raw_send(qp, slot, &lso);
	else
		weft_stats_inc(qp, WEFT_STAT_TX_DROPPED);
	weft_sgl_release(&qp->send.sgl);
	if (verdict != WEFT_DONE)
		return verdict;
	budget->bytes -= length;
	budget->sent += length;
	weft_stats_message(qp->stats, WEFT_STAT_SENT_MESSAGES, length);
	weft_inflight_done(qp, slot, length);
	return WEFT_DONE;
}

const struct weft_link weft_link_raw = {
	.execute = raw_slot,
};
