// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

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

void weft_peer_init(struct weft_peer *peer, const struct weft_peer_note *note,
		    unsigned long now)
{
	*peer = (struct weft_peer) {
		.guid = note->hello.guid,
		.station = note->from,
		.nonce = peer_new_nonce(0),
		.max_frame = note->hello.max_frame,
		.heard_at = now,
		.agreed_at = now,
	};
}
WEFT_EXPORT_FOR_TEST(weft_peer_init);

void weft_peer_down(struct weft_peer *peer)
{
	peer->nonce = peer_new_nonce(peer->nonce);
	peer->heard = 0;
	peer->up = false;
}
WEFT_EXPORT_FOR_TEST(weft_peer_down);

static u32 peer_bye(const struct weft_peer *peer, const struct weft_frame *frame)
{
	if (frame->nonce != peer->heard || frame->heard != peer->nonce)
		return 0;
	return (peer->up ? WEFT_PEER_PULL : 0) | WEFT_PEER_FORGET;
}

/* It has begun anew, or is new. */
static u32 peer_learn(struct weft_peer *peer, u32 nonce)
{
	u32 actions = WEFT_PEER_REPLY;

	if (peer->up) {
		actions |= WEFT_PEER_PULL;
		weft_peer_down(peer);
	}
	peer->heard = nonce;
	return actions;
}

static u32 peer_hello(struct weft_peer *peer, const struct weft_frame *frame,
		      unsigned long now)
{
	u32 actions = 0;

	if (!frame->nonce)
		return 0;
	/*
	 * Of a cable that is not any more: it does not know yet, or this one is late. If
	 * neither knows what the other one says now, one has to begin with nothing.
	 */
	if (frame->heard && frame->heard != peer->nonce) {
		if (!peer->up)
			peer->heard = 0;
		return 0;
	}
	if (frame->nonce != peer->heard)
		actions = peer_learn(peer, frame->nonce);
	if (frame->heard != peer->nonce)
		return actions;
	peer->agreed_at = now;
	return peer->up ? actions : actions | WEFT_PEER_PLUG;
}

u32 weft_peer_hear(struct weft_peer *peer, const struct weft_peer_note *note,
		   unsigned long now)
{
	/* two with the same GUID: the one that was here first */
	if (!weft_station_equal(&peer->station, &note->from))
		return 0;
	if (note->frame.type == WEFT_FRAME_BYE)
		return peer_bye(peer, &note->frame);
	peer->heard_at = now;
	peer->max_frame = note->hello.max_frame;
	return peer_hello(peer, &note->frame, now);
}
WEFT_EXPORT_FOR_TEST(weft_peer_hear);

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

bool weft_peer_is_vain(const struct weft_peer *peer, unsigned long now)
{
	u32 patience = WEFT_HELLO_DEAD_MS + peer->nonce % WEFT_HELLO_DEAD_MS;

	return !peer->up && time_after(now, peer->agreed_at + msecs_to_jiffies(patience));
}
WEFT_EXPORT_FOR_TEST(weft_peer_is_vain);
