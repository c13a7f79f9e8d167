// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The uplinks of a node, which are its cables to nodes of other hosts. The node is a switch, or a
 * channel adapter on a back-to-back link. It finds other nodes by HELLO frames over an underlay.
 * A cable is plugged in when both nodes have heard of each other, and pulled out when one falls
 * silent or sends BYE, or its net device loses the carrier.
 *
 * See "Frames" in Documentation/infiniband/weft/fabric.rst for the format on the wire.
 *
 * The receive path, in soft interrupt, passes a frame to the cable whose nonces it has. A HELLO
 * without a cable is answered at once and forgotten, unless it names our nonce: then it is noted
 * for the work item. Only the work item adds and removes peer nodes, plugs cables in and pulls them
 * out.
 *
 * So a host that only sends cannot fill a table, and takes no room from the nodes that receive what
 * we send to them.
 */
#include "fabric/uplink.h"

#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "fabric/underlay.h"
#include "fabric/frame.h"
#include "fabric/node.h"
#include "fabric/peer.h"
#include "fabric/remote.h"
#include "fabric/trace.h"
#include "params.h"

static_assert(WEFT_UPLINK_PEERS <= WEFT_SWITCH_PORTS / 2);

static struct workqueue_struct *uplink_wq;

/* A peer node, which has named our nonce. */
struct uplink_entry {
	struct weft_peer	peer;	/* valid if there is a @port */
	struct weft_ibport	*port;	/* for the cable; NULL: the entry is free */
	struct weft_remote __rcu *uplink;	/* the cable; NULL: none is plugged in */
	/*
	 * A cable that has been pulled out, until a grace period has passed. Until then @port is
	 * not given back, and gets no other cable.
	 */
	struct weft_remote	*pulled;
};

/*
 * Only @work uses members that no lock is given for. It changes the peer and the port of an entry
 * with @lock held, because the receive path reads them. If the underlay is idle, only @node and
 * @underlay are valid.
 */
struct weft_uplinks {
	struct weft_uplink_node	*node;
	struct weft_underlay	*underlay;
	bool			closed;	/* @work has nothing to do any more */
	struct delayed_work	work;
	spinlock_t		lock;	/* protects the members from @notes to @told */
	/* A ring of HELLOs that name our nonce and of BYEs, for @work. */
	struct weft_peer_note	notes[WEFT_UPLINK_NOTES];
	u32			first_note;	/* the oldest */
	u32			num_notes;
	siphash_key_t		key;	/* for weft_peer_first_nonce() */
	bool			open;	/* another peer node can be added */
	bool			full;	/* the underlay works, but no peer node can be added */
	bool			told;	/* @full has been logged */
	struct uplink_entry	entries[WEFT_UPLINK_PEERS];	/* their cables are RCU */
	unsigned long		began;	/* jiffies */
	unsigned long		hello_at;	/* when the next HELLOs are due, jiffies */
};

int weft_uplink_init(void)
{
	/* memory may be written out over a fabric */
	uplink_wq = alloc_workqueue("weft_uplink", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return uplink_wq ? 0 : -ENOMEM;
}

void weft_uplink_exit(void)
{
	destroy_workqueue(uplink_wq);
}

/* Run the work item now. */
static void uplinks_kick(struct weft_uplinks *uplinks)
{
	mod_delayed_work(uplink_wq, &uplinks->work, 0);
}

static void uplinks_abandon(void *context)
{
	uplinks_kick(context);
}

/* The longest frame that both nodes can receive. Either MTU may change at any time. */
static u32 uplink_max_frame(const struct weft_uplinks *uplinks, const struct weft_peer *peer)
{
	u32 ours = uplinks->underlay->ops->max_frame(uplinks->underlay, &peer->addr);
	u32 both = min_t(u32, ours, peer->max_frame);

	return clamp_t(u32, both, WEFT_FRAME_MIN_MTU,
		       WEFT_FRAME_PACKET + sizeof(struct weft_wire_frame));
}

/* For the work item, or while that cannot run. */
static struct weft_remote *uplink_get(const struct uplink_entry *entry)
{
	return rcu_dereference_protected(entry->uplink, true);
}

/* Returns false without memory; the next HELLO tries again. */
static bool uplink_plug(struct weft_uplinks *uplinks, struct uplink_entry *entry)
{
	const struct weft_peer *peer = &entry->peer;
	struct weft_remote_param param = {
		.wq = uplink_wq, .underlay = uplinks->underlay,
		.port = entry->port, .to = peer->addr,
		.nonce = peer->nonce, .heard = peer->heard,
		.max_frame = uplink_max_frame(uplinks, peer),
		.abandon = uplinks_abandon, .context = uplinks,
	};
	struct weft_remote *uplink = weft_remote_create(&param);

	if (!uplink)
		return false;
	uplink->max_frame = peer->max_frame;
	spin_lock_bh(&uplinks->lock);
	entry->peer.up = true;
	spin_unlock_bh(&uplinks->lock);
	/* before the receive path can find it: frames that come need the port to have its cable */
	weft_remote_plug(uplink);
	rcu_assign_pointer(entry->uplink, uplink);
	return true;
}

/* The caller has to call uplinks_settle() later. */
static void uplink_pull(struct uplink_entry *entry)
{
	struct weft_remote *uplink = uplink_get(entry);

	RCU_INIT_POINTER(entry->uplink, NULL);
	weft_remote_pull(uplink);
	entry->pulled = uplink;
}

/*
 * Free the cables that have been pulled out, when neither ports nor the receive path use them any
 * more.
 */
static void uplinks_settle(struct weft_uplinks *uplinks)
{
	bool waited = false;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		if (!uplinks->entries[i].pulled)
			continue;
		if (!waited)
			synchronize_net();
		waited = true;
		weft_remote_free(uplinks->entries[i].pulled);
		uplinks->entries[i].pulled = NULL;
	}
}

/* Free an entry. The new key gives the same node another first nonce for its next cable. */
static void uplinks_forget(struct weft_uplinks *uplinks, struct uplink_entry *entry)
{
	struct weft_ibport *port = entry->port;

	spin_lock_bh(&uplinks->lock);
	entry->port = NULL;
	get_random_bytes(&uplinks->key, sizeof(uplinks->key));
	uplinks->told = false;
	spin_unlock_bh(&uplinks->lock);
	uplinks->node->ops->give(uplinks->node, port);
}

/* The longest frame that this node can receive. */
static u32 uplinks_max_frame(const struct weft_uplinks *uplinks)
{
	return uplinks->underlay->ops->max_frame(uplinks->underlay, NULL);
}

/* The longest HELLO for a path. The MTU may become any number at any time; a HELLO must fit. */
static u32 uplink_hello_length(u32 max_frame)
{
	const u32 header = sizeof(struct weft_wire_frame);

	return clamp_t(u32, max_frame, header + sizeof(struct weft_wire_hello),
		       header + WEFT_FRAME_PACKET) - header;
}

static struct sk_buff *uplinks_build_hello(const struct weft_uplinks *uplinks,
					   const struct weft_frame *frame, bool answer)
{
	struct weft_hello hello = {
		.guid = uplinks->node->guid,
		.type = uplinks->node->type,
		.answer = answer,
		.max_frame = min_t(u32, uplinks_max_frame(uplinks), U16_MAX),
	};
	struct weft_frame_headroom room = weft_underlay_headroom(uplinks->underlay);
	struct sk_buff *skb = weft_frame_build(frame, NULL, 0, &room);

	if (skb)
		weft_hello_encode(skb->data + sizeof(struct weft_wire_frame), &hello);
	return skb;
}

static void uplinks_hello_everybody(const struct weft_uplinks *uplinks)
{
	struct weft_frame frame = {
		.type = WEFT_FRAME_HELLO, .length = sizeof(struct weft_wire_hello),
	};
	struct sk_buff *skb = uplinks_build_hello(uplinks, &frame, false);

	if (skb)
		weft_underlay_send_all(uplinks->underlay, skb);
}

/*
 * The HELLO is as long as DATA may be: there must be no cable where long frames do not get through.
 * While the port is disabled there must be none either, so the HELLO tells the peer node that it is
 * not heard.
 */
static void uplinks_hello(const struct weft_uplinks *uplinks, const struct uplink_entry *entry)
{
	const struct weft_peer *peer = &entry->peer;
	struct weft_frame frame = {
		.type = WEFT_FRAME_HELLO, .nonce = peer->nonce,
		.heard = weft_ibport_is_disabled(entry->port) ? 0 : peer->heard,
		.length = uplink_hello_length(uplink_max_frame(uplinks, peer)),
	};
	struct sk_buff *skb = uplinks_build_hello(uplinks, &frame, false);

	if (skb)
		weft_underlay_send(uplinks->underlay, &peer->addr, skb);
}

static void uplinks_act(struct weft_uplinks *uplinks, struct uplink_entry *entry, u32 actions)
{
	if (actions & WEFT_PEER_PULL) {
		uplink_pull(entry);
		uplinks_settle(uplinks);
	}
	if (actions & WEFT_PEER_FORGET) {
		uplinks_forget(uplinks, entry);
		return;
	}
	/* plug the cable in before the peer node learns that it may do so, too */
	if (actions & WEFT_PEER_PLUG && !weft_ibport_is_disabled(entry->port) &&
	    uplink_plug(uplinks, entry))
		actions |= WEFT_PEER_REPLY;
	if (actions & WEFT_PEER_REPLY)
		uplinks_hello(uplinks, entry);
}

/* Can frames be sent and received? */
static bool uplinks_usable(const struct weft_uplinks *uplinks)
{
	const struct net_device *ndev = uplinks->underlay->ndev;

	return netif_running(ndev) && netif_carrier_ok(ndev) &&
	       uplinks_max_frame(uplinks) >= WEFT_FRAME_MIN_MTU;
}

static void uplinks_forget_all(struct weft_uplinks *uplinks)
{
	struct uplink_entry *entry;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		entry = &uplinks->entries[i];
		if (entry->port && entry->peer.up)
			uplink_pull(entry);
	}
	uplinks_settle(uplinks);
	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		if (uplinks->entries[i].port)
			uplinks_forget(uplinks, &uplinks->entries[i]);
}

/* A BYE has no GUID, but it has both nonces. */
static bool uplinks_is_from(const struct uplink_entry *entry, const struct weft_peer_note *note)
{
	if (note->frame.type == WEFT_FRAME_BYE)
		return weft_underlay_addr_equal(&entry->peer.addr, &note->from) &&
		       entry->peer.nonce == note->frame.heard;
	return entry->peer.guid == note->hello.guid;
}

static struct uplink_entry *uplinks_find(struct weft_uplinks *uplinks,
					 const struct weft_peer_note *note)
{
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		if (uplinks->entries[i].port && uplinks_is_from(&uplinks->entries[i], note))
			return &uplinks->entries[i];
	return NULL;
}

/* An entry reserves a port, so that there is one when the cable is to be plugged in. */
static struct uplink_entry *uplinks_take(struct weft_uplinks *uplinks,
					 const struct weft_peer_note *note)
{
	struct uplink_entry *entry;
	struct weft_ibport *port;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		entry = &uplinks->entries[i];
		if (entry->port)
			continue;
		port = uplinks->node->ops->take(uplinks->node);
		if (!port)
			return NULL;
		spin_lock_bh(&uplinks->lock);
		entry->port = port;
		weft_peer_init(&entry->peer, note, jiffies);
		spin_unlock_bh(&uplinks->lock);
		return entry;
	}
	return NULL;
}

/* Nodes that wait for each other in a circle would do so for ever if none of them gave up. */
static struct uplink_entry *uplinks_vain(struct weft_uplinks *uplinks)
{
	struct uplink_entry *entry;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		entry = &uplinks->entries[i];
		if (entry->port && weft_peer_is_vain(&entry->peer, jiffies))
			return entry;
	}
	return NULL;
}

static bool uplinks_has_room(struct weft_uplinks *uplinks)
{
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		if (!uplinks->entries[i].port)
			return uplinks->node->ops->has(uplinks->node) || uplinks_vain(uplinks);
	return uplinks_vain(uplinks);
}

/* Find out whether HELLOs of unknown nodes are to be answered. */
static void uplinks_look_for_room(struct weft_uplinks *uplinks)
{
	bool usable = uplinks_usable(uplinks), room = usable && uplinks_has_room(uplinks);

	spin_lock_bh(&uplinks->lock);
	uplinks->open = room;
	uplinks->full = usable && !room;
	spin_unlock_bh(&uplinks->lock);
}

static bool uplinks_is_first(struct weft_uplinks *uplinks, const struct weft_peer_note *note)
{
	u32 nonce;

	spin_lock_bh(&uplinks->lock);
	nonce = weft_peer_first_nonce(&uplinks->key, &note->from);
	spin_unlock_bh(&uplinks->lock);
	return note->frame.type == WEFT_FRAME_HELLO && note->frame.heard == nonce;
}

/* Another node may have taken the last entry since this one was answered. */
static struct uplink_entry *uplinks_add(struct weft_uplinks *uplinks,
					const struct weft_peer_note *note)
{
	struct uplink_entry *entry, *vain;

	if (!uplinks_is_first(uplinks, note))
		return NULL;
	entry = uplinks_take(uplinks, note);
	vain = entry ? NULL : uplinks_vain(uplinks);
	if (vain) {
		uplinks_forget(uplinks, vain);
		entry = uplinks_take(uplinks, note);
	}
	uplinks_look_for_room(uplinks);
	return entry;
}

static void uplinks_hear(struct weft_uplinks *uplinks, const struct weft_peer_note *note)
{
	struct uplink_entry *entry = uplinks_find(uplinks, note) ?: uplinks_add(uplinks, note);
	u32 actions;

	if (!entry)
		return;
	spin_lock_bh(&uplinks->lock);
	actions = weft_peer_hear(&entry->peer, note, jiffies);
	spin_unlock_bh(&uplinks->lock);
	trace_weft_hello(be64_to_cpu(note->hello.guid), note->frame.nonce, note->frame.heard,
			 actions);
	uplinks_act(uplinks, entry, actions);
}

static bool uplinks_take_note(struct weft_uplinks *uplinks, struct weft_peer_note *note)
{
	bool any;

	spin_lock_bh(&uplinks->lock);
	any = uplinks->num_notes;
	if (any) {
		*note = uplinks->notes[uplinks->first_note % WEFT_UPLINK_NOTES];
		uplinks->first_note++;
		uplinks->num_notes--;
	}
	spin_unlock_bh(&uplinks->lock);
	return any;
}

/*
 * Queue a HELLO or BYE for the work item. It may be dropped if the ring is full: a HELLO is
 * repeated, and without a BYE the peer node falls silent.
 */
static void uplinks_note(struct weft_uplinks *uplinks, const struct weft_peer_note *note)
{
	lockdep_assert_held(&uplinks->lock);
	if (uplinks->num_notes == WEFT_UPLINK_NOTES)
		return;
	uplinks->notes[(uplinks->first_note + uplinks->num_notes) % WEFT_UPLINK_NOTES] = *note;
	uplinks->num_notes++;
	uplinks_kick(uplinks);
}

/* All frames of the cable had the right nonces, so they count as HELLOs. */
static void uplinks_refresh(const struct weft_uplinks *uplinks, struct uplink_entry *entry)
{
	struct weft_remote *uplink = uplink_get(entry);
	unsigned long heard_at = READ_ONCE(uplink->heard_at);
	struct weft_peer *peer = &entry->peer;

	peer->max_frame = READ_ONCE(uplink->max_frame);
	if (time_after(heard_at, peer->agreed_at))
		peer->agreed_at = heard_at;
	if (time_after(heard_at, peer->heard_at))
		peer->heard_at = heard_at;
	if (READ_ONCE(uplink->useless) || weft_ibport_is_disabled(entry->port))
		weft_peer_down(peer);
}

/* Returns a set of enum weft_peer_action. */
static u32 uplinks_check(struct weft_uplinks *uplinks, struct uplink_entry *entry)
{
	bool up = entry->peer.up;
	u32 actions;

	spin_lock_bh(&uplinks->lock);
	if (up)
		uplinks_refresh(uplinks, entry);
	actions = up && !entry->peer.up ? WEFT_PEER_PULL | WEFT_PEER_REPLY : 0;
	actions |= weft_peer_check(&entry->peer, jiffies);
	spin_unlock_bh(&uplinks->lock);
	if (entry->peer.up)
		weft_arq_resize(&uplink_get(entry)->arq, uplink_max_frame(uplinks, &entry->peer));
	return actions;
}

/* Cables that have to be pulled out come first, so that they share a grace period. */
static void uplinks_check_all(struct weft_uplinks *uplinks)
{
	u32 actions[WEFT_UPLINK_PEERS] = {};
	struct uplink_entry *entry;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		entry = &uplinks->entries[i];
		if (!entry->port)
			continue;
		actions[i] = uplinks_check(uplinks, entry);
		if (actions[i] & WEFT_PEER_PULL)
			uplink_pull(entry);
	}
	uplinks_settle(uplinks);
	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		if (uplinks->entries[i].port)
			uplinks_act(uplinks, &uplinks->entries[i], actions[i] & ~WEFT_PEER_PULL);
}

/* HELLOs are frequent at first, and while there is no peer node or one of them has no cable. */
static u32 uplinks_period(const struct weft_uplinks *uplinks)
{
	const struct uplink_entry *entry;
	u32 up = 0;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		entry = &uplinks->entries[i];
		if (entry->port && !entry->peer.up)
			return WEFT_HELLO_FAST_MS;
		up += !!entry->port;
	}
	if (!up || time_before(jiffies, uplinks->began + msecs_to_jiffies(WEFT_HELLO_EAGER_MS)))
		return WEFT_HELLO_FAST_MS;
	return WEFT_HELLO_SLOW_MS;
}

/* Does the node look for other nodes? A channel adapter has one port only. */
static bool uplinks_is_open(const struct weft_uplinks *uplinks)
{
	int i;

	if (uplinks->node->type != WEFT_NODE_CA)
		return true;
	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		if (uplinks->entries[i].port && uplinks->entries[i].peer.up)
			return false;
	return true;
}

/*
 * One HELLO is for all nodes that do not know this one yet, and one for each peer node, with its
 * nonce.
 */
static void uplinks_hello_all(struct weft_uplinks *uplinks)
{
	int i;

	if (time_before(jiffies, uplinks->hello_at))
		return;
	if (uplinks_is_open(uplinks))
		uplinks_hello_everybody(uplinks);
	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		if (uplinks->entries[i].port)
			uplinks_hello(uplinks, &uplinks->entries[i]);
	uplinks->hello_at = jiffies + msecs_to_jiffies(uplinks_period(uplinks));
}

static void uplinks_work(struct work_struct *work)
{
	struct weft_uplinks *uplinks = container_of(to_delayed_work(work), struct weft_uplinks,
						    work);
	struct weft_peer_note note;
	u32 i;

	if (READ_ONCE(uplinks->closed))
		return;
	/* at most one ring, so that a flood does not keep other work from being done */
	for (i = 0; i < WEFT_UPLINK_NOTES && uplinks_take_note(uplinks, &note); i++)
		if (uplinks_usable(uplinks))
			uplinks_hear(uplinks, &note);
	if (uplinks_usable(uplinks)) {
		uplinks_check_all(uplinks);
		uplinks_hello_all(uplinks);
	} else {
		uplinks_forget_all(uplinks);
	}
	uplinks_look_for_room(uplinks);
	/* has no effect if uplinks_kick() has been called meanwhile */
	queue_delayed_work(uplink_wq, &uplinks->work, msecs_to_jiffies(WEFT_HELLO_FAST_MS));
}

/* Frames with other nonces are of a cable that does not exist any more. RCU read side. */
static struct weft_remote *uplinks_by_frame(const struct weft_uplinks *uplinks,
					    const struct weft_frame *frame,
					    const struct weft_underlay_addr *from)
{
	struct weft_remote *uplink;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		uplink = rcu_dereference(uplinks->entries[i].uplink);
		if (uplink && weft_remote_is(uplink, frame, from))
			return uplink;
	}
	return NULL;
}

static void uplinks_rcv_damaged(const struct weft_uplinks *uplinks,
				const struct weft_underlay_addr *from, struct sk_buff *skb)
{
	struct weft_remote *uplink = uplinks_by_frame(uplinks, NULL, from);

	if (uplink)
		weft_ibport_count(uplink->param.port, WEFT_IBC_SYMBOL_ERRORS);
	kfree_skb(skb);
}

static void uplinks_rcv_cable(const struct weft_uplinks *uplinks,
			      const struct weft_frame *frame,
			      const struct weft_underlay_addr *from, struct sk_buff *skb)
{
	struct weft_remote *uplink = uplinks_by_frame(uplinks, frame, from);

	if (uplink)
		weft_remote_receive(uplink, frame, skb);
	else
		kfree_skb(skb);
}

/*
 * The answer is not longer than the HELLO, so that a forged HELLO causes no more traffic than it is
 * itself.
 */
static void uplinks_answer(const struct weft_uplinks *uplinks, const struct weft_peer_note *note,
			   u32 nonce)
{
	struct weft_frame frame = {
		.type = WEFT_FRAME_HELLO, .nonce = nonce, .heard = note->frame.nonce,
		.length = clamp_t(u32, note->frame.length, sizeof(struct weft_wire_hello),
				  uplink_hello_length(uplinks_max_frame(uplinks))),
	};
	struct sk_buff *skb = uplinks_build_hello(uplinks, &frame, true);

	if (skb)
		weft_underlay_send(uplinks->underlay, &note->from, skb);
}

/* A node that gets no answer does not learn our nonce. */
static void uplinks_refuse(struct weft_uplinks *uplinks, const struct weft_hello *hello)
{
	if (!uplinks->full || uplinks->told)
		return;
	net_warn_ratelimited("weft: %s: no cable to %s %016llx: all are in use\n",
			     uplinks->underlay->ndev->name,
			     hello->type == WEFT_NODE_CA ? "HCA" : "switch",
			     be64_to_cpu(hello->guid));
	uplinks->told = true;
}

/* @nonce becomes our nonce for a node that has no entry. */
static enum weft_peer_verdict uplinks_judge_new(struct weft_uplinks *uplinks,
						const struct weft_peer_note *note, u32 *nonce)
{
	*nonce = weft_peer_first_nonce(&uplinks->key, &note->from);
	if (uplinks->open)
		return weft_peer_judge(NULL, &note->frame, *nonce, jiffies);
	uplinks_refuse(uplinks, &note->hello);
	return WEFT_PEER_DROP;
}

/* A disabled port gets no cable, so no answer may tell the peer node that it is heard. */
static enum weft_peer_verdict uplinks_judge(struct weft_uplinks *uplinks,
					    const struct weft_peer_note *note, u32 *nonce)
{
	struct uplink_entry *entry = uplinks_find(uplinks, note);
	enum weft_peer_verdict verdict;

	if (!entry)
		return uplinks_judge_new(uplinks, note, nonce);
	/* another node with the same GUID: the first one stays */
	if (!weft_underlay_addr_equal(&entry->peer.addr, &note->from))
		return WEFT_PEER_DROP;
	*nonce = entry->peer.nonce;
	verdict = weft_peer_judge(&entry->peer, &note->frame, *nonce, jiffies);
	if (verdict == WEFT_PEER_ANSWER && weft_ibport_is_disabled(entry->port))
		return WEFT_PEER_DROP;
	return verdict;
}

/* A HELLO that does not have the nonces of a cable. */
static void uplinks_meet(struct weft_uplinks *uplinks, const struct weft_peer_note *note)
{
	enum weft_peer_verdict verdict;
	u32 nonce;

	spin_lock_bh(&uplinks->lock);
	verdict = uplinks_judge(uplinks, note, &nonce);
	if (verdict == WEFT_PEER_TAKE)
		uplinks_note(uplinks, note);
	spin_unlock_bh(&uplinks->lock);
	if (verdict == WEFT_PEER_ANSWER)
		uplinks_answer(uplinks, note, nonce);
}

static void uplinks_rcv_hello(struct weft_uplinks *uplinks, const struct weft_peer_note *note)
{
	struct weft_remote *uplink = uplinks_by_frame(uplinks, &note->frame, &note->from);

	if (note->hello.guid == uplinks->node->guid)
		return; /* our own HELLO, in a loop */
	if (uplink) {
		WRITE_ONCE(uplink->max_frame, note->hello.max_frame);
		WRITE_ONCE(uplink->heard_at, jiffies);
	} else if (!READ_ONCE(uplinks->closed) && uplinks_usable(uplinks)) {
		uplinks_meet(uplinks, note);
	}
}

static void uplinks_rcv_bye(struct weft_uplinks *uplinks, const struct weft_peer_note *note)
{
	if (!uplinks_by_frame(uplinks, &note->frame, &note->from))
		return;
	spin_lock_bh(&uplinks->lock);
	uplinks_note(uplinks, note);
	spin_unlock_bh(&uplinks->lock);
}

static void uplinks_rcv_note(struct weft_uplinks *uplinks, const struct weft_frame *frame,
			     const struct weft_underlay_addr *from, struct sk_buff *skb)
{
	struct weft_peer_note note = { .frame = *frame, .from = *from };
	struct weft_wire_hello buf;
	const void *hello;

	if (frame->type == WEFT_FRAME_BYE) {
		uplinks_rcv_bye(uplinks, &note);
	} else {
		hello = skb_header_pointer(skb, 0, sizeof(buf), &buf);
		if (hello && weft_hello_decode(&note.hello, hello))
			uplinks_rcv_hello(uplinks, &note);
	}
	consume_skb(skb);
}

static bool uplinks_rcv_header(struct weft_frame *frame, struct sk_buff *skb)
{
	if (!pskb_may_pull(skb, sizeof(struct weft_wire_frame)) ||
	    !weft_frame_decode(frame, skb->data, skb->len) ||
	    !weft_frame_is_intact(skb, frame->length))
		return false;
	__skb_pull(skb, sizeof(struct weft_wire_frame));
	return !pskb_trim(skb, frame->length);
}

static void uplinks_rcv(void *context, const struct weft_underlay_addr *from, struct sk_buff *skb)
{
	struct weft_uplinks *uplinks = context;
	struct weft_frame frame;

	if (!uplinks_rcv_header(&frame, skb))
		uplinks_rcv_damaged(uplinks, from, skb);
	else if (frame.type == WEFT_FRAME_DATA || frame.type == WEFT_FRAME_ACK)
		uplinks_rcv_cable(uplinks, &frame, from, skb);
	else
		uplinks_rcv_note(uplinks, &frame, from, skb);
}

static int uplinks_start(struct weft_uplinks *uplinks)
{
	struct weft_underlay *underlay = uplinks->underlay;
	int ret;

	spin_lock_init(&uplinks->lock);
	get_random_bytes(&uplinks->key, sizeof(uplinks->key));
	INIT_DELAYED_WORK(&uplinks->work, uplinks_work);
	uplinks->began = jiffies;
	uplinks->hello_at = jiffies;
	underlay->receive = uplinks_rcv;
	underlay->context = uplinks;
	ret = underlay->ops->open(underlay);
	if (!ret)
		uplinks_kick(uplinks);
	return ret;
}

/*
 * Start to look for other nodes and connect with them. @node and @underlay, which is closed, must
 * exist until weft_uplinks_close(). RTNL is held. Errors: -ENOMEM, or that of opening the underlay.
 */
struct weft_uplinks *weft_uplinks_open(struct weft_uplink_node *node,
				       struct weft_underlay *underlay)
{
	struct weft_uplinks *uplinks = kvzalloc(sizeof(*uplinks), GFP_KERNEL);
	int ret;

	if (!uplinks)
		return ERR_PTR(-ENOMEM);
	uplinks->node = node;
	uplinks->underlay = underlay;
	if (underlay->idle)
		return uplinks;
	ret = uplinks_start(uplinks);
	if (!ret)
		return uplinks;
	kvfree(uplinks);
	return ERR_PTR(ret);
}
WEFT_EXPORT_FOR_TEST(weft_uplinks_open);

/* Send BYE by all cables and pull them out. Sleeps; RTNL may be held. */
void weft_uplinks_close(struct weft_uplinks *uplinks)
{
	if (!uplinks->underlay->idle) {
		/*
		 * if a frame still queues the work item, that does nothing, and the entries are
		 * ours
		 */
		WRITE_ONCE(uplinks->closed, true);
		cancel_delayed_work_sync(&uplinks->work);
		uplinks_forget_all(uplinks);
		/* waits until uplinks_rcv() has returned on all CPUs */
		uplinks->underlay->ops->close(uplinks->underlay);
		cancel_delayed_work_sync(&uplinks->work);
	}
	kvfree(uplinks);
}
WEFT_EXPORT_FOR_TEST(weft_uplinks_close);

/* The net device of the underlay went up or down. RTNL is held. */
void weft_uplinks_update(struct weft_uplinks *uplinks)
{
	struct weft_underlay *underlay = uplinks->underlay;

	if (underlay->idle)
		return;
	underlay->ops->update(underlay);
	uplinks_kick(uplinks);
}
WEFT_EXPORT_FOR_TEST(weft_uplinks_update);
