// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The way of a frame:
 *
 * 1. Each sniffer gets a copy, of frames that leave, too.
 * 2. RoCEv2 and the frames of an InfiniBand fabric go on to the stack.
 * 3. Rules are tried in the order of their ranks. Each QP with a matching rule of one group gets
 *    a copy. If the group traps, or a rule drops it, the frame ends there.
 * 4. What no rule has taken and the host does not want is copied for default rules.
 * 5. All else goes on to the stack, untouched.
 *
 * A frame that leaves is tried by the rules for such frames first. If none drops it, sniffers get a
 * copy.
 *
 * An InfiniBand port has no frames. There the rules of a UD QP that sends in the name of another QP
 * (IBV_QP_CREATE_SOURCE_QPN) decide which of the IPoIB datagrams sent to that number it gets.
 *
 * RTNL serializes changes of the rules. Frames are steered under RCU; a rule, its QP and a group
 * are freed after a grace period.
 */
#include "link/steer.h"

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "engine/pkt.h"
#include "fabric/port.h"
#include "flow/count.h"
#include "flow/table.h"
#include "link/packet.h"
#include "link/raw_frame.h"
#include "link/raw_recv.h"
#include "link/tap.h"
#include "link/tx_credit.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/qp.h"
#include "object/rss.h"
#include "pause.h"
#include "stats.h"
#include "wire/opcode.h"

struct weft_steer_rule {
	struct weft_flow_rule	flow;		/* NORMAL */
	struct rcu_head		rcu;
	struct list_head	node;		/* in @rules; under RTNL */
	struct list_head	other;		/* in @defaults or @sniffers */
	enum ib_flow_attr_type	type;
	struct weft_steering	*steering;
	struct weft_qp		*qp;
	struct weft_tap_filter	filter;
};

/* All rules of a device. */
struct weft_steering {
	struct weft_dev		*dev;
	struct weft_tap		tap;
	bool			away;		/* the net device is between two namespaces */
	struct work_struct	back;		/* takes the tap up again */
	struct list_head	rules;		/* under RTNL */
	struct weft_flow_table	table;		/* NORMAL */
	struct weft_flow_table	egress;		/* NORMAL, for frames that leave */
	struct list_head	defaults;	/* ALL_DEFAULT and MC_DEFAULT; RCU */
	struct list_head	sniffers;	/* RCU */
};

/* A frame that is being steered. */
struct steer_frame {
	struct weft_dev		*dev;
	struct sk_buff		*skb;		/* as it came, but for its beginning */
	u32			mac;		/* bytes of the header in front of skb->data */
	u32			pushed;		/* bytes to be pulled from @skb in the end */
	/* NULL, or the context that sends it, whose QPs do not get it, see steer_is_own() */
	const struct weft_doorbell *sender;
	struct sk_buff		*list;		/* as QPs get it: made when the first wants it */
	bool			made;
};

/* The frames as they are on a wire. */
static struct sk_buff *steer_frames(struct steer_frame *frame)
{
	if (frame->made)
		return frame->list;
	frame->list = weft_raw_frames(frame->skb, frame->mac);
	frame->made = true;
	if (!frame->list) {
		weft_stats_inc(frame->dev, WEFT_STAT_RX_NO_MEMORY);
	} else if (frame->list == frame->skb) {
		frame->pushed = frame->mac;
		frame->mac = 0;
	}
	return frame->list;
}

static void steer_end(struct steer_frame *frame)
{
	if (frame->list == frame->skb)
		__skb_pull(frame->skb, frame->pushed);
	else
		weft_raw_frames_free(frame->list);
}

static void steer_count(struct weft_flow_count *count, struct steer_frame *frame)
{
	const struct sk_buff *skb = frame->skb;

	if (likely(!count))
		return;
	if (!skb_is_gso(skb)) {
		weft_flow_count_add(count, 1, skb->len + frame->mac +
				    (skb_vlan_tag_present(skb) ? VLAN_HLEN : 0));
		return;
	}
	for (skb = steer_frames(frame); skb; skb = skb->next)
		weft_flow_count_add(count, 1, skb->len);
}

/* The QP, or one of its queues, that receives a linear frame. */
static struct weft_qp *steer_queue(struct weft_qp *qp, const struct sk_buff *skb)
{
	if (likely(!qp->rss))
		return qp;
	weft_pause(WEFT_PAUSE_RSS_PICKED);
	return weft_rss_pick(qp->rss, skb->data, skb->len);
}

/* Is the frame of the context of @qp, which does not want such frames? */
static bool steer_is_own(const struct steer_frame *frame, const struct weft_qp *qp)
{
	u8 kind;

	if (likely(!frame->sender || frame->sender != qp->doorbell))
		return false;
	kind = is_multicast_ether_addr(frame->skb->data) ? WEFT_QP_LOOPBACK_MULTICAST :
							   WEFT_QP_LOOPBACK_UNICAST;
	return !(qp->flags & kind);
}

static bool steer_csum_ok(const struct weft_qp *qp, const struct sk_buff *skb)
{
	return unlikely(qp->flags & WEFT_QP_TUNNEL_OFFLOADS) ?
	       weft_raw_frame_inner_csum_ok(skb) : weft_raw_frame_csum_ok(skb);
}

/* Gives each frame of the list to a QP that a rule names. The QP may have been destroyed. */
static bool steer_give(struct steer_frame *frame, struct weft_qp *qp, u32 tag)
{
	struct sk_buff *skb;

	if (steer_is_own(frame, qp))
		return false;
	weft_pause(WEFT_PAUSE_STEER_FOUND);
	if (!refcount_inc_not_zero(&qp->refs))
		return false;
	weft_pause(WEFT_PAUSE_STEER_OWNED);
	for (skb = steer_frames(frame); skb; skb = skb->next)
		weft_raw_recv(steer_queue(qp, skb), skb, tag, steer_csum_ok(qp, skb));
	weft_qp_put(qp);
	return true;
}

static void steer_sniff(struct weft_steering *steering, struct steer_frame *frame)
{
	const struct weft_steer_rule *rule;

	list_for_each_entry_rcu(rule, &steering->sniffers, other)
		steer_give(frame, rule->qp, WEFT_FLOW_NO_TAG);
}

/* Gives a frame to the QPs of matching rules. Returns whether the frame ends there. */
static bool steer_normal(struct weft_steering *steering, struct steer_frame *frame,
			 const struct weft_flow_key *key)
{
	struct rhlist_head *list, *at;
	struct weft_flow_group *group;
	struct weft_flow_rule *flow;
	bool ends, match;

	weft_flow_for_each_group(group, &steering->table) {
		list = weft_flow_find(group, key);
		ends = false;
		rhl_for_each_entry_rcu(flow, at, list, node) {
			struct weft_qp *qp = container_of(flow, struct weft_steer_rule, flow)->qp;

			match = flow->drop ? !steer_is_own(frame, qp) :
					     steer_give(frame, qp, flow->tag);
			if (match)
				steer_count(flow->count, frame);
			ends |= match && (flow->drop || group->trap);
		}
		if (ends)
			return true;
	}
	return false;
}

/* Does the host want frames to this address? */
static bool steer_is_for_host(const struct net_device *ndev, const u8 *mac)
{
	const struct netdev_hw_addr *group;

	/* the interface's list of further addresses also has those of rules */
	if (!is_multicast_ether_addr(mac))
		return ether_addr_equal(mac, ndev->dev_addr);
	if (is_broadcast_ether_addr(mac))
		return true;
	list_for_each_entry_rcu(group, &ndev->mc.list, list)
		if (ether_addr_equal(mac, group->addr))
			return true;
	return false;
}

static void steer_defaults(struct weft_steering *steering, struct steer_frame *frame,
			   const u8 *mac)
{
	const struct weft_steer_rule *rule;

	if (list_empty(&steering->defaults) || steer_is_for_host(steering->dev->ndev, mac))
		return;
	list_for_each_entry_rcu(rule, &steering->defaults, other)
		if (rule->type == IB_FLOW_ATTR_ALL_DEFAULT || is_multicast_ether_addr(mac))
			steer_give(frame, rule->qp, WEFT_FLOW_NO_TAG);
}

static bool steer_is_reserved(const struct weft_flow_key *key)
{
	return key->outer.ether_type == htons(WEFT_IB_ETHERTYPE) ||
	       (key->outer.has & WEFT_FLOW_UDP && !(key->outer.has & WEFT_FLOW_MPLS) &&
		key->outer.dst_port == htons(ROCE_V2_UDP_DPORT));
}

/* Is the port down by a command, so that frames are the host's alone? */
static bool steer_is_silent(const struct weft_steering *steering)
{
	return weft_inject_is_on() && weft_inject_is_silent(&steering->dev->inject);
}

/*
 * A frame has arrived: @skb, whose data are behind @mac bytes of header. Returns whether the frame
 * is taken: the stack does not get it, and the caller frees it. Context: soft interrupt, under RCU.
 */
bool weft_steer_in(struct weft_steering *steering, struct sk_buff *skb, u32 mac)
{
	struct steer_frame frame = { .dev = steering->dev, .skb = skb, .mac = mac };
	struct weft_flow_key key __uninitialized;
	bool taken = false;

	if (steer_is_silent(steering))
		return false;
	steer_sniff(steering, &frame);
	if (!list_empty(&steering->table.groups) || !list_empty(&steering->defaults)) {
		weft_raw_frame_key(&key, skb, frame.mac);
		if (!steer_is_reserved(&key)) {
			taken = steer_normal(steering, &frame, &key);
			if (!taken)
				steer_defaults(steering, &frame, key.outer.dst_mac);
		}
	}
	steer_end(&frame);
	return taken;
}

/*
 * Does a rule drop a frame that is to leave? Rules without a drop let it go, and count it if
 * @counts says so.
 */
static bool steer_egress(struct weft_steering *steering, struct steer_frame *frame,
			 const struct weft_flow_key *key, bool counts)
{
	struct rhlist_head *list, *at;
	struct weft_flow_group *group;
	struct weft_flow_rule *flow;
	bool drop = false;

	weft_flow_for_each_group(group, &steering->egress) {
		list = weft_flow_find(group, key);
		if (!list)
			continue;
		rhl_for_each_entry_rcu(flow, at, list, node) {
			drop = flow->drop;
			if (drop || counts)
				steer_count(flow->count, frame);
		}
		if (drop || group->trap)
			break;
	}
	return drop;
}

/*
 * Has the net device refused this frame of a QP of the device before? Then the rules have seen it.
 * The frame keeps the QP, but not the device of the QP.
 */
static bool steer_was_seen(const struct weft_steering *steering, const struct sk_buff *skb)
{
	const struct weft_tx *tx = weft_tx_credit_of(skb);

	return tx && tx->again && tx->turn->qp->dev_id == steering->dev->id;
}

/*
 * A frame leaves. Returns whether a rule drops it; the caller frees it then. Context: bottom halves
 * are off, under RCU.
 */
bool weft_steer_out(struct weft_steering *steering, struct sk_buff *skb)
{
	struct steer_frame frame = { .dev = steering->dev, .skb = skb };
	bool drop = false, seen = steer_was_seen(steering, skb);
	struct weft_flow_key key __uninitialized;

	if (steer_is_silent(steering))
		return false;
	if (!list_empty(&steering->egress.groups)) {
		weft_raw_frame_key(&key, skb, 0);
		drop = !steer_is_reserved(&key) && steer_egress(steering, &frame, &key, !seen);
	}
	if (!drop && !seen)
		steer_sniff(steering, &frame);
	steer_end(&frame);
	return drop;
}

/*
 * @qp is about to send a frame: QPs of other contexts get it, as from an adapter that loops back
 * what it sends, and those of its own context that were created for it. Returns whether it stays on
 * this host, because it is to the net device itself and a rule has taken it, or because a rule for
 * frames that leave drops it. Context: process.
 *
 * lo loops all frames by itself.
 */
bool weft_steer_loop(struct weft_qp *qp, struct sk_buff *skb)
{
	struct steer_frame frame = { .dev = qp->dev, .skb = skb, .sender = qp->doorbell };
	const struct net_device *ndev = qp->dev->ndev;
	struct weft_steering *steering;
	bool taken = false, drop = false;
	struct weft_flow_key key __uninitialized;

	if (!rcu_access_pointer(qp->dev->steering) || ndev->flags & IFF_LOOPBACK)
		return false;
	local_bh_disable();
	rcu_read_lock();
	steering = rcu_dereference(qp->dev->steering);
	weft_raw_frame_key(&key, skb, 0);
	if (!steer_is_reserved(&key)) {
		drop = steer_egress(steering, &frame, &key, false);
		taken = !drop && steer_normal(steering, &frame, &key);
		if (!drop && !taken && is_multicast_ether_addr(key.outer.dst_mac))
			steer_defaults(steering, &frame, key.outer.dst_mac);
	}
	taken = drop || (taken && ether_addr_equal(key.outer.dst_mac, ndev->dev_addr));
	rcu_read_unlock();
	steer_end(&frame);
	local_bh_enable();
	return taken;
}

/* The QP with the first rule that matches a datagram, or NULL. Under RCU. */
static struct weft_qp *steer_find_datagram(struct weft_steering *steering,
					   const struct weft_pkt *pkt)
{
	u32 length = min_t(u32, pkt->hdr.payload, WEFT_FLOW_HEADERS);
	struct weft_payload_spans spans __uninitialized;
	u8 bytes[WEFT_FLOW_HEADERS] __uninitialized;
	struct weft_flow_key key __uninitialized;
	struct weft_flow_group *group;
	struct weft_iter payload;
	struct rhlist_head *list;

	weft_pkt_payload(pkt, &spans, &payload);
	weft_packet_copy(bytes, &payload, length);
	weft_flow_parse_ipoib(&key, pkt->hdr.dqpn, bytes, length);
	weft_flow_for_each_group(group, &steering->table) {
		list = weft_flow_find(group, &key);
		if (list)
			return container_of(list, struct weft_steer_rule, flow.node)->qp;
	}
	return NULL;
}

/* Has an InfiniBand port rules for datagrams? */
bool weft_steer_has_rules(const struct weft_dev *dev)
{
	const struct weft_steering *steering;
	bool has;

	rcu_read_lock();
	steering = rcu_dereference(dev->steering);
	has = steering && !list_empty(&steering->table.groups);
	rcu_read_unlock();
	return has;
}

/*
 * A packet has arrived at an InfiniBand port that has, or had, rules. Returns whether it is a
 * datagram that a rule matches; @to is the QP that gets it then, with a reference, or NULL if that
 * QP is being destroyed.
 */
bool weft_steer_datagram(const struct weft_pkt *pkt, struct weft_qp **to)
{
	if (pkt->hdr.opcode >> 5 != WEFT_TRANSPORT_UD || !weft_steer_has_rules(pkt->dev))
		return false;
	rcu_read_lock();
	/* the first rule makes it, and it stays as long as the device */
	*to = steer_find_datagram(rcu_dereference(pkt->dev->steering), pkt);
	if (!*to) {
		rcu_read_unlock();
		return false;
	}
	if (!refcount_inc_not_zero(&(*to)->refs))
		*to = NULL;
	rcu_read_unlock();
	return true;
}

static bool steer_wants_out(const struct weft_steering *steering)
{
	return !list_empty(&steering->sniffers) || !list_empty(&steering->egress.groups);
}

/* Registers the hooks that the rules want. Returns 0 or -ENOMEM. */
static int steer_open(struct weft_steering *steering)
{
	if (steering->away || steering->dev->hca)
		return 0;
	return weft_tap_open(&steering->tap, steer_wants_out(steering));
}

static void steer_close(struct weft_steering *steering)
{
	bool all = list_empty(&steering->rules) || steering->away;

	if (all || !steer_wants_out(steering))
		weft_tap_close(&steering->tap, all);
}

/* The net device has come to a namespace. */
static void steer_back(struct work_struct *work)
{
	struct weft_steering *steering = container_of(work, struct weft_steering, back);
	struct weft_steer_rule *rule;

	rtnl_lock();
	if (steering->away && steering->dev->ndev->reg_state == NETREG_REGISTERED) {
		steering->away = false;
		list_for_each_entry(rule, &steering->rules, node)
			if (weft_tap_add_filter(&steering->tap, &rule->filter)) {
				rule->filter.want = WEFT_TAP_NOTHING;
				ibdev_warn(&steering->dev->ibdev,
					   "the interface does not receive for a rule of QP %u\n",
					   rule->qp->qpn);
			}
		if (!list_empty(&steering->rules) && steer_open(steering))
			ibdev_warn(&steering->dev->ibdev,
				   "no memory: rules of flow steering get no frames any more\n");
	}
	rtnl_unlock();
}

static struct weft_steering *steer_of(struct weft_dev *dev)
{
	struct weft_steering *steering = rtnl_dereference(dev->steering);

	if (steering)
		return steering;
	steering = kzalloc(sizeof(*steering), GFP_KERNEL);
	if (!steering)
		return NULL;
	steering->dev = dev;
	weft_tap_init(&steering->tap, dev->ndev, steering);
	steering->away = dev->ndev->reg_state != NETREG_REGISTERED;
	INIT_WORK(&steering->back, steer_back);
	INIT_LIST_HEAD(&steering->rules);
	weft_flow_table_init(&steering->table);
	weft_flow_table_init(&steering->egress);
	INIT_LIST_HEAD(&steering->defaults);
	INIT_LIST_HEAD(&steering->sniffers);
	rcu_assign_pointer(dev->steering, steering);
	return steering;
}

/*
 * Let the net device receive more for the rule; nothing more without a whole MAC address, or for
 * that of the net device. A second address would make one promiscuous that cannot filter two.
 */
static void steer_choose_filter(struct weft_steer_rule *rule, const struct ib_flow_attr *attr,
				const struct weft_flow_spec *spec)
{
	struct weft_tap_filter *filter = &rule->filter;

	if (attr->flags & IB_FLOW_ATTR_FLAGS_EGRESS || rule->qp->dev->hca)
		return;
	switch (rule->type) {
	case IB_FLOW_ATTR_ALL_DEFAULT:
	case IB_FLOW_ATTR_SNIFFER:
		filter->want = WEFT_TAP_ALL;
		return;
	case IB_FLOW_ATTR_MC_DEFAULT:
		filter->want = WEFT_TAP_GROUPS;
		return;
	default:
		break;
	}
	if (!is_broadcast_ether_addr(spec->mask.outer.dst_mac) ||
	    is_broadcast_ether_addr(spec->value.outer.dst_mac) ||
	    is_zero_ether_addr(spec->value.outer.dst_mac) ||
	    ether_addr_equal(spec->value.outer.dst_mac, rule->qp->dev->ndev->dev_addr))
		return;
	ether_addr_copy(filter->mac, spec->value.outer.dst_mac);
	filter->want = is_multicast_ether_addr(filter->mac) ? WEFT_TAP_MULTICAST :
							      WEFT_TAP_UNICAST;
}

static int steer_link(struct weft_steering *steering, struct weft_steer_rule *rule,
		      const struct ib_flow_attr *attr, const struct weft_flow_spec *spec)
{
	bool trap = !(attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP);
	int ret = 0;

	if (rule->type == IB_FLOW_ATTR_NORMAL)
		ret = weft_flow_add(attr->flags & IB_FLOW_ATTR_FLAGS_EGRESS ?
				    &steering->egress : &steering->table, &rule->flow, spec,
				    weft_flow_rank(spec, attr->priority, trap), trap);
	else if (rule->type == IB_FLOW_ATTR_SNIFFER)
		list_add_tail_rcu(&rule->other, &steering->sniffers);
	else
		list_add_tail_rcu(&rule->other, &steering->defaults);
	if (!ret)
		list_add_tail(&rule->node, &steering->rules);
	return ret;
}

static void steer_unlink(struct weft_steer_rule *rule)
{
	if (rule->type == IB_FLOW_ATTR_NORMAL)
		weft_flow_remove(&rule->flow);
	else
		list_del_rcu(&rule->other);
	list_del(&rule->node);
	kfree_rcu(rule, rcu);
}

static int steer_add_locked(struct weft_steer_rule *rule, const struct ib_flow_attr *attr,
			    const struct weft_flow_spec *spec)
{
	struct weft_steering *steering = steer_of(rule->qp->dev);
	int ret;

	if (!steering)
		return -ENOMEM;
	rule->steering = steering;
	ret = steering->away ? 0 : weft_tap_add_filter(&steering->tap, &rule->filter);
	if (ret)
		return ret;
	ret = steer_link(steering, rule, attr, spec);
	if (ret) {
		if (!steering->away)
			weft_tap_remove_filter(&steering->tap, &rule->filter);
		return ret;
	}
	return steer_open(steering);
}

/*
 * @count, or NULL, exists until a grace period after the rule. Undone by weft_steer_remove().
 * Returns the rule, -EEXIST, -ENOMEM, or the net device's error.
 */
struct weft_steer_rule *weft_steer_add(struct weft_qp *qp, const struct ib_flow_attr *attr,
				       const struct weft_flow_spec *spec,
				       struct weft_flow_count *count)
{
	struct weft_steer_rule *rule = kzalloc(sizeof(*rule), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!rule)
		return ERR_PTR(-ENOMEM);
	rule->qp = qp;
	rule->type = attr->type;
	rule->flow.count = count;
	rtnl_lock();
	steer_choose_filter(rule, attr, spec);
	ret = steer_add_locked(rule, attr, spec);
	rtnl_unlock();
	weft_pause(WEFT_PAUSE_STEER_ADDED);
	if (!ret)
		return rule;
	/* only steer_open() fails with the rule in the lists */
	if (rule->node.next)
		weft_steer_remove(rule);
	else
		kfree(rule);
	return ERR_PTR(ret);
}

/* The QP gets no frame any more, but for those that are being steered. */
void weft_steer_remove(struct weft_steer_rule *rule)
{
	struct weft_steering *steering = rule->steering;

	weft_pause(WEFT_PAUSE_STEER_REMOVE);
	rtnl_lock();
	if (!steering->away)
		weft_tap_remove_filter(&steering->tap, &rule->filter);
	steer_unlink(rule);
	steer_close(steering);
	rtnl_unlock();
}

/* The net device leaves its namespace, or goes for good. */
void weft_steer_leave(struct weft_dev *dev)
{
	struct weft_steering *steering = rtnl_dereference(dev->steering);
	struct weft_steer_rule *rule;

	if (!steering || steering->away)
		return;
	list_for_each_entry(rule, &steering->rules, node)
		weft_tap_remove_filter(&steering->tap, &rule->filter);
	steering->away = true;
	steer_close(steering);
}

/*
 * The net device is in a namespace again. The rest comes later, because the caller may hold a lock
 * of the net device that filters take.
 */
void weft_steer_return(struct weft_dev *dev)
{
	struct weft_steering *steering = rtnl_dereference(dev->steering);

	if (steering)
		schedule_work(&steering->back);
}

/* No rule is left, no QP, and no reader. Context: process, without RTNL. */
void weft_steer_free(struct weft_dev *dev)
{
	struct weft_steering *steering = rcu_dereference_protected(dev->steering, true);

	if (!steering)
		return;
	cancel_work_sync(&steering->back);
	kfree(steering);
}
