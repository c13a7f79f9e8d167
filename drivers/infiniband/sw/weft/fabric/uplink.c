// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What comes is looked at in the soft interrupt: DATA and ACK go to the cable they are
 * of, a HELLO or BYE is noted for a work item. That alone knows the peers, plugs cables
 * in and pulls them out, so there is no lock for it.
 */
#include "fabric/uplink.h"

#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "fabric/carrier.h"
#include "fabric/frame.h"
#include "fabric/node.h"
#include "fabric/peer.h"
#include "fabric/remote.h"
#include "params.h"

static_assert(WEFT_UPLINK_PEERS <= WEFT_SWITCH_PORTS / 2);

static struct workqueue_struct *uplink_wq;

/**
 * struct uplink_entry - another node
 * @peer: what is known of it; valid if there is a @port
 * @port: for the cable to it, NULL: the entry is free
 * @uplink: the cable, RCU; NULL: it is not plugged in
 * @pulled: the cable when it has been pulled out, until a grace period has passed. Until then
 *	the port is neither used for another one nor given back.
 */
struct uplink_entry {
	struct weft_peer	peer;
	struct weft_ibport	*port;
	struct weft_remote __rcu *uplink;
	struct weft_remote	*pulled;
};

/**
 * struct weft_uplinks - all of a node
 *
 * Where nothing is said of locks @work alone uses it.
 *
 * @node: whose
 * @carrier: takes frames to all others, and brings theirs; idle: nothing else is valid
 * @closed: @work does nothing any more
 * @work: does all that is not done by frame
 * @lock: protects @notes, @first_note and @num_notes
 * @notes: HELLOs and BYEs that have come, a ring
 * @first_note: the oldest of them
 * @num_notes: of them
 * @entries: other nodes; their cables are read by anybody
 * @began: jiffies
 * @hello_at: jiffies when the next HELLO goes
 * @told: that there is no port for somebody
 */
struct weft_uplinks {
	struct weft_uplink_node	*node;
	struct weft_carrier	*carrier;
	bool			closed;
	struct delayed_work	work;
	spinlock_t		lock;
	struct weft_peer_note	notes[WEFT_UPLINK_NOTES];
	u32			first_note;
	u32			num_notes;
	struct uplink_entry	entries[WEFT_UPLINK_PEERS];
	unsigned long		began;
	unsigned long		hello_at;
	bool			told;
};

int weft_uplink_init(void)
{
	/* memory may be written out by a fabric */
	uplink_wq = alloc_workqueue("weft_uplink", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return uplink_wq ? 0 : -ENOMEM;
}

void weft_uplink_exit(void)
{
	destroy_workqueue(uplink_wq);
}

/* Have the work done now. */
static void uplinks_kick(struct weft_uplinks *uplinks)
{
	mod_delayed_work(uplink_wq, &uplinks->work, 0);
}

static void uplinks_abandon(void *context)
{
	uplinks_kick(context);
}

/* What both take, as it is now: an MTU can be changed. */
static u32 uplink_max_frame(const struct weft_uplinks *uplinks, const struct weft_peer *peer)
{
	u32 ours = uplinks->carrier->ops->max_frame(uplinks->carrier, &peer->station);
	u32 both = min_t(u32, ours, peer->max_frame);

	return clamp_t(u32, both, WEFT_FRAME_MIN_MTU,
		       WEFT_FRAME_PACKET + sizeof(struct weft_wire_frame));
}

/* The cable of an entry; for @work, or when that is not run. */
static struct weft_remote *uplink_get(const struct uplink_entry *entry)
{
	return rcu_dereference_protected(entry->uplink, true);
}

/* Without memory it is tried again with the next HELLO. */
static void uplink_plug(struct weft_uplinks *uplinks, struct uplink_entry *entry)
{
	const struct weft_peer *peer = &entry->peer;
	struct weft_remote_param param = {
		.wq = uplink_wq, .carrier = uplinks->carrier, .port = entry->port, .to = peer->station,
		.nonce = peer->nonce, .heard = peer->heard,
		.max_frame = uplink_max_frame(uplinks, peer),
		.abandon = uplinks_abandon, .context = uplinks,
	};
	struct weft_remote *uplink = weft_remote_create(&param);

	if (!uplink)
		return;
	entry->peer.up = true;
	/* the port first: what comes by a cable finds it plugged in */
	weft_remote_plug(uplink);
	rcu_assign_pointer(entry->uplink, uplink);
}

/* To be followed by uplinks_settle(). */
static void uplink_pull(struct uplink_entry *entry)
{
	struct weft_remote *uplink = uplink_get(entry);

	RCU_INIT_POINTER(entry->uplink, NULL);
	weft_remote_pull(uplink);
	entry->pulled = uplink;
}

/* Neither a port nor a frame that comes knows any more what has been pulled out. */
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

static void uplinks_forget(struct weft_uplinks *uplinks, struct uplink_entry *entry)
{
	uplinks->node->ops->give(uplinks->node, entry->port);
	entry->port = NULL;
	uplinks->told = false;
}

/* What we take, whoever sends it. */
static u32 uplinks_max_frame(const struct weft_uplinks *uplinks)
{
	return uplinks->carrier->ops->max_frame(uplinks->carrier, NULL);
}

static struct sk_buff *uplinks_build_hello(const struct weft_uplinks *uplinks,
					   const struct weft_frame *frame)
{
	struct weft_hello hello = {
		.guid = uplinks->node->guid,
		.type = uplinks->node->type,
		.max_frame = min_t(u32, uplinks_max_frame(uplinks), U16_MAX),
	};
	struct weft_frame_room room = weft_carrier_room(uplinks->carrier);
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
	struct sk_buff *skb = uplinks_build_hello(uplinks, &frame);

	if (skb)
		weft_carrier_send_all(uplinks->carrier, skb);
}

/*
 * As long as DATA may be: where that does not get through there is no cable. With a port
 * that is disabled there is none either: the other end is told that it is not heard.
 */
static void uplinks_hello(const struct weft_uplinks *uplinks, const struct uplink_entry *entry)
{
	const struct weft_peer *peer = &entry->peer;
	struct weft_frame frame = {
		.type = WEFT_FRAME_HELLO, .nonce = peer->nonce,
		.heard = weft_ibport_is_disabled(entry->port) ? 0 : peer->heard,
		.length = uplink_max_frame(uplinks, peer) - sizeof(struct weft_wire_frame),
	};
	struct sk_buff *skb = uplinks_build_hello(uplinks, &frame);

	if (skb)
		weft_carrier_send(uplinks->carrier, &peer->station, skb);
}

static void uplinks_bye(const struct weft_uplinks *uplinks, const struct weft_peer *peer)
{
	struct weft_frame frame = {
		.type = WEFT_FRAME_BYE, .nonce = peer->nonce, .heard = peer->heard,
	};
	struct weft_frame_room room = weft_carrier_room(uplinks->carrier);
	struct sk_buff *skb = weft_frame_build(&frame, NULL, 0, &room);

	if (skb)
		weft_carrier_send(uplinks->carrier, &peer->station, skb);
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
	/* plugged in before the other end knows that it may be */
	if (actions & WEFT_PEER_PLUG && !weft_ibport_is_disabled(entry->port))
		uplink_plug(uplinks, entry);
	if (actions & WEFT_PEER_REPLY)
		uplinks_hello(uplinks, entry);
}

/* Can anything be sent, and come back? */
static bool uplinks_usable(const struct weft_uplinks *uplinks)
{
	const struct net_device *ndev = uplinks->carrier->ndev;

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

/* A BYE has no GUID; by their nonces both ends know each other. */
static bool uplinks_is_from(const struct uplink_entry *entry, const struct weft_peer_note *note)
{
	if (note->frame.type == WEFT_FRAME_BYE)
		return weft_station_equal(&entry->peer.station, &note->from) &&
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

/* With a port, so that there is one when it comes to plug the cable in. */
static struct uplink_entry *uplinks_take(struct weft_uplinks *uplinks)
{
	struct uplink_entry *entry;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		entry = &uplinks->entries[i];
		if (entry->port)
			continue;
		entry->port = uplinks->node->ops->take(uplinks->node);
		return entry->port ? entry : NULL;
	}
	return NULL;
}

/* Those that wait for one another would do so for ever if none of them gave up. */
static bool uplinks_make_room(struct weft_uplinks *uplinks)
{
	struct uplink_entry *entry;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		entry = &uplinks->entries[i];
		if (!entry->port || !weft_peer_is_vain(&entry->peer, jiffies))
			continue;
		uplinks_forget(uplinks, entry);
		return true;
	}
	return false;
}

static struct uplink_entry *uplinks_add(struct weft_uplinks *uplinks,
					const struct weft_peer_note *note)
{
	struct uplink_entry *entry = uplinks_take(uplinks);

	if (!entry && uplinks_make_room(uplinks))
		entry = uplinks_take(uplinks);
	if (entry) {
		weft_peer_init(&entry->peer, note, jiffies);
		return entry;
	}
	if (!uplinks->told)
		net_warn_ratelimited("weft: %s: no cable to %s %016llx: all are in use\n",
				     uplinks->carrier->ndev->name,
				     note->hello.type == WEFT_NODE_CA ? "HCA" : "switch",
				     be64_to_cpu(note->hello.guid));
	uplinks->told = true;
	return NULL;
}

static void uplinks_hear(struct weft_uplinks *uplinks, const struct weft_peer_note *note)
{
	struct uplink_entry *entry;
	u32 actions = 0;

	if (note->frame.type == WEFT_FRAME_HELLO && note->hello.guid == uplinks->node->guid)
		return; /* a loop */
	entry = uplinks_find(uplinks, note);
	if (!entry && note->frame.type == WEFT_FRAME_HELLO) {
		entry = uplinks_add(uplinks, note);
		actions = WEFT_PEER_REPLY;
	}
	if (entry)
		uplinks_act(uplinks, entry,
			    actions | weft_peer_hear(&entry->peer, note, jiffies));
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

/* A HELLO comes again; so what is too much is not missed. */
static void uplinks_note(struct weft_uplinks *uplinks, const struct weft_peer_note *note)
{
	bool room;

	spin_lock_bh(&uplinks->lock);
	room = uplinks->num_notes < WEFT_UPLINK_NOTES;
	if (room) {
		uplinks->notes[(uplinks->first_note + uplinks->num_notes) %
			       WEFT_UPLINK_NOTES] = *note;
		uplinks->num_notes++;
	}
	spin_unlock_bh(&uplinks->lock);
	if (room)
		uplinks_kick(uplinks);
}

/*
 * Whatever comes by a cable has the right nonces, so it counts as a HELLO. Returns what is to
 * be done.
 */
static u32 uplinks_check(struct weft_uplinks *uplinks, struct uplink_entry *entry)
{
	struct weft_peer *peer = &entry->peer;
	unsigned long heard_at;
	u32 actions = 0;

	if (peer->up) {
		heard_at = READ_ONCE(uplink_get(entry)->heard_at);
		if (time_after(heard_at, peer->agreed_at))
			peer->agreed_at = heard_at;
		weft_arq_resize(&uplink_get(entry)->arq, uplink_max_frame(uplinks, peer));
		if (READ_ONCE(uplink_get(entry)->useless) ||
		    weft_ibport_is_disabled(entry->port)) {
			weft_peer_down(peer);
			actions = WEFT_PEER_PULL | WEFT_PEER_REPLY;
		}
	}
	return actions | weft_peer_check(peer, jiffies);
}

/* Those that are to be pulled out are first: all of them wait for the same grace period. */
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

/* In a hurry: new here, alone, or with somebody that there is no cable to yet. */
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

/* Does it look for others? A channel adapter has one port. */
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

/* To everybody, for those that are new; and to each one, naming its nonce. */
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
	/* no more than one ring: others want to be run, too */
	for (i = 0; i < WEFT_UPLINK_NOTES && uplinks_take_note(uplinks, &note); i++)
		if (uplinks_usable(uplinks))
			uplinks_hear(uplinks, &note);
	if (uplinks_usable(uplinks)) {
		uplinks_check_all(uplinks);
		uplinks_hello_all(uplinks);
	} else {
		uplinks_forget_all(uplinks);
	}
	/* nothing when it has been kicked meanwhile */
	queue_delayed_work(uplink_wq, &uplinks->work, msecs_to_jiffies(WEFT_HELLO_FAST_MS));
}

/* RCU read side. What has other nonces is of a cable that is not any more. */
static struct weft_remote *uplinks_by_frame(const struct weft_uplinks *uplinks,
					    const struct weft_frame *frame,
					    const struct weft_station *from)
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
				const struct weft_station *from, struct sk_buff *skb)
{
	struct weft_remote *uplink = uplinks_by_frame(uplinks, NULL, from);

	if (uplink)
		weft_ibport_count(uplink->param.port, WEFT_IBC_SYMBOL_ERRORS);
	kfree_skb(skb);
}

static void uplinks_rcv_cable(const struct weft_uplinks *uplinks,
			      const struct weft_frame *frame,
			      const struct weft_station *from, struct sk_buff *skb)
{
	struct weft_remote *uplink = uplinks_by_frame(uplinks, frame, from);

	if (uplink)
		weft_remote_receive(uplink, frame, skb);
	else
		kfree_skb(skb);
}

static void uplinks_rcv_note(struct weft_uplinks *uplinks, const struct weft_frame *frame,
			     const struct weft_station *from, struct sk_buff *skb)
{
	struct weft_peer_note note = { .frame = *frame, .from = *from };
	struct weft_wire_hello buf;
	const void *hello;

	if (frame->type == WEFT_FRAME_HELLO) {
		hello = skb_header_pointer(skb, 0, sizeof(buf), &buf);
		if (!hello || !weft_hello_decode(&note.hello, hello))
			goto out_free;
	}
	uplinks_note(uplinks, &note);
out_free:
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

static void uplinks_rcv(void *context, const struct weft_station *from, struct sk_buff *skb)
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
	struct weft_carrier *carrier = uplinks->carrier;
	int ret;

	spin_lock_init(&uplinks->lock);
	INIT_DELAYED_WORK(&uplinks->work, uplinks_work);
	uplinks->began = jiffies;
	uplinks->hello_at = jiffies;
	carrier->receive = uplinks_rcv;
	carrier->context = uplinks;
	ret = carrier->ops->open(carrier);
	if (!ret)
		uplinks_kick(uplinks);
	return ret;
}

struct weft_uplinks *weft_uplinks_open(struct weft_uplink_node *node,
				       struct weft_carrier *carrier)
{
	struct weft_uplinks *uplinks = kvzalloc(sizeof(*uplinks), GFP_KERNEL);
	int ret;

	if (!uplinks)
		return ERR_PTR(-ENOMEM);
	uplinks->node = node;
	uplinks->carrier = carrier;
	if (carrier->idle)
		return uplinks;
	ret = uplinks_start(uplinks);
	if (!ret)
		return uplinks;
	kvfree(uplinks);
	return ERR_PTR(ret);
}

static void uplinks_bye_all(struct weft_uplinks *uplinks)
{
	const struct uplink_entry *entry;
	int i;

	for (i = 0; i < WEFT_UPLINK_PEERS; i++) {
		entry = &uplinks->entries[i];
		if (entry->port && entry->peer.heard)
			uplinks_bye(uplinks, &entry->peer);
	}
}

void weft_uplinks_close(struct weft_uplinks *uplinks)
{
	if (!uplinks->carrier->idle) {
		/* from now on the entries are ours, even if a frame has the work run */
		WRITE_ONCE(uplinks->closed, true);
		cancel_delayed_work_sync(&uplinks->work);
		uplinks_bye_all(uplinks);
		uplinks_forget_all(uplinks);
		/* waits for what is being received */
		uplinks->carrier->ops->close(uplinks->carrier);
		cancel_delayed_work_sync(&uplinks->work);
	}
	kvfree(uplinks);
}

void weft_uplinks_carrier(struct weft_uplinks *uplinks)
{
	struct weft_carrier *carrier = uplinks->carrier;

	if (carrier->idle)
		return;
	carrier->ops->update(carrier);
	uplinks_kick(uplinks);
}
