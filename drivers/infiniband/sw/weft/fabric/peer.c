// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The state that is kept of a peer node, which is a node of another host, and the rules by which
 * both nodes agree on a cable between them. The caller serializes all calls for a peer node.
 *
 * Anybody can send a HELLO with the address of another node, but only a node that receives what
 * we send to that address learns our nonce. So a HELLO has no effect unless it names our nonce.
 *
 * See "HELLO" in Documentation/infiniband/weft/fabric.rst.
 */
#include "fabric/peer.h"

#include <linux/jiffies.h>
#include <linux/random.h>

#include "params.h"

static u32 peer_new_nonce(u32 old)
{
	u32 nonce;

	do
		nonce = get_random_u32();
	while (!nonce || nonce == old);
	return nonce;
}

/*
 * Our nonce for an address that has no entry yet. It is computed from a secret key, as a SYN
 * cookie is, so that invented nodes take no memory. A caller that frees an entry made by
 * weft_peer_init() must change the key.
 */
u32 weft_peer_first_nonce(const siphash_key_t *key, const struct weft_underlay_addr *addr)
{
	return (u32)siphash(addr, sizeof(*addr), key) ?: 1;
}
WEFT_EXPORT_FOR_TEST(weft_peer_first_nonce);

/*
 * Decide about a HELLO that does not have the nonces of a cable. @peer is the sender's entry, or
 * NULL; @nonce is ours, from the entry or weft_peer_first_nonce(); times are in jiffies.
 *
 * A HELLO cannot replace a cable: a node that has restarted waits until the old one is pulled out.
 */
enum weft_peer_verdict weft_peer_judge(struct weft_peer *peer, const struct weft_frame *frame,
				       u32 nonce, unsigned long now)
{
	if (peer)
		peer->heard_at = now;
	if (peer && peer->up)
		return WEFT_PEER_DROP;
	return frame->nonce && frame->heard == nonce ? WEFT_PEER_TAKE : WEFT_PEER_ANSWER;
}
WEFT_EXPORT_FOR_TEST(weft_peer_judge);

/* Make an entry from the first HELLO with our nonce, which weft_peer_hear() gets next. */
void weft_peer_init(struct weft_peer *peer, const struct weft_peer_note *note,
		    unsigned long now)
{
	*peer = (struct weft_peer) {
		.guid = note->hello.guid,
		.addr = note->from,
		.nonce = note->frame.heard,
		.max_frame = note->hello.max_frame,
		.heard_at = now,
		.agreed_at = now,
	};
}
WEFT_EXPORT_FOR_TEST(weft_peer_init);

/*
 * The cable is pulled out, or has become useless. Chooses another nonce, so that no old frame is
 * taken for one of the next cable and the peer node learns that it has to start over.
 */
void weft_peer_down(struct weft_peer *peer)
{
	peer->nonce = peer_new_nonce(peer->nonce);
	peer->heard = 0;
	peer->up = false;
}
WEFT_EXPORT_FOR_TEST(weft_peer_down);

static u32 peer_bye(const struct weft_peer *peer, const struct weft_frame *frame)
{
	if (!peer->up || frame->nonce != peer->heard || frame->heard != peer->nonce)
		return 0;
	return WEFT_PEER_PULL | WEFT_PEER_FORGET;
}

/*
 * An answer to a HELLO may be shorter than DATA. So it does not prove that long frames get through,
 * and does not plug the cable in. Every other HELLO with our nonce does both.
 */
static u32 peer_hello(struct weft_peer *peer, const struct weft_peer_note *note,
		      unsigned long now)
{
	u32 nonce = note->frame.nonce, actions = 0;

	if (!nonce || note->frame.heard != peer->nonce || (peer->up && nonce != peer->heard))
		return 0;
	peer->heard_at = now;
	peer->agreed_at = now;
	peer->max_frame = note->hello.max_frame;
	if (nonce != peer->heard)
		actions |= WEFT_PEER_REPLY;
	if (!peer->up && !note->hello.answer)
		actions |= WEFT_PEER_PLUG;
	peer->heard = nonce;
	return actions;
}

/* Process a HELLO or BYE of a peer node. Returns a set of enum weft_peer_action. */
u32 weft_peer_hear(struct weft_peer *peer, const struct weft_peer_note *note,
		   unsigned long now)
{
	/* another node with the same GUID: the first one stays */
	if (!weft_underlay_addr_equal(&peer->addr, &note->from))
		return 0;
	if (note->frame.type == WEFT_FRAME_BYE)
		return peer_bye(peer, &note->frame);
	return peer_hello(peer, note, now);
}
WEFT_EXPORT_FOR_TEST(weft_peer_hear);

/* Check for a peer node that has fallen silent. Returns a set of enum weft_peer_action. */
u32 weft_peer_check(struct weft_peer *peer, unsigned long now)
{
	unsigned long dead = msecs_to_jiffies(WEFT_HELLO_DEAD_MS);
	u32 actions = 0;

	if (peer->up && time_after(now, peer->agreed_at + dead)) {
		weft_peer_down(peer);
		actions = WEFT_PEER_PULL | WEFT_PEER_REPLY;
	}
	if (!peer->up && time_after(now, peer->heard_at + dead))
		actions |= WEFT_PEER_FORGET;
	return actions;
}
WEFT_EXPORT_FOR_TEST(weft_peer_check);

/*
 * Has there been no cable to this peer node for so long that its port may go to another node? The
 * timeout depends on the nonce: of several nodes that wait for each other in a circle, one gives
 * up first.
 */
bool weft_peer_is_vain(const struct weft_peer *peer, unsigned long now)
{
	u32 timeout = WEFT_HELLO_DEAD_MS + peer->nonce % WEFT_HELLO_DEAD_MS;

	return !peer->up && time_after(now, peer->agreed_at + msecs_to_jiffies(timeout));
}
WEFT_EXPORT_FOR_TEST(weft_peer_is_vain);
