/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Peer nodes, which are nodes of other hosts, and the rules for a cable to one. */
#ifndef WEFT_FABRIC_PEER_H
#define WEFT_FABRIC_PEER_H

#include <linux/bits.h>
#include <linux/siphash.h>
#include <linux/types.h>

#include "fabric/frame.h"
#include "fabric/underlay_addr.h"

/* A set of actions for the caller, in this order. */
enum weft_peer_action {
	WEFT_PEER_PULL		= BIT(0),	/* pull the cable out */
	WEFT_PEER_FORGET	= BIT(1),	/* free the entry of the peer node */
	WEFT_PEER_REPLY		= BIT(2),	/* send it a HELLO now */
	WEFT_PEER_PLUG		= BIT(3),	/* plug a cable in, then send it a HELLO */
};

/* The fate of a HELLO that does not have the nonces of a cable. */
enum weft_peer_verdict {
	WEFT_PEER_DROP,
	/* it does not name our nonce: answer it with that nonce, and store nothing */
	WEFT_PEER_ANSWER,
	/* it names our nonce, so its source address is genuine: weft_peer_hear() */
	WEFT_PEER_TAKE,
};

/* A HELLO or BYE that has come. */
struct weft_peer_note {
	struct weft_frame	frame;
	struct weft_hello	hello;	/* of a HELLO */
	struct weft_underlay_addr	from;
};

struct weft_peer {
	__be64		guid;	/* node GUID */
	struct weft_underlay_addr addr;
	u32		nonce;	/* ours, for the present cable or the next one */
	u32		heard;	/* the peer node's nonce; 0: not known yet */
	u16		max_frame;	/* of its last HELLO */
	bool		up;	/* there is a cable */
	/* Jiffies of the last HELLO, even of one that does not name our nonce and may be forged. */
	unsigned long	heard_at;
	unsigned long	agreed_at;	/* jiffies when a frame last named our nonce */
};

u32 weft_peer_first_nonce(const siphash_key_t *key, const struct weft_underlay_addr *addr);
enum weft_peer_verdict weft_peer_judge(struct weft_peer *peer, const struct weft_frame *frame,
				       u32 nonce, unsigned long now);
void weft_peer_init(struct weft_peer *peer, const struct weft_peer_note *note, unsigned long now);
u32 weft_peer_hear(struct weft_peer *peer, const struct weft_peer_note *note, unsigned long now);
u32 weft_peer_check(struct weft_peer *peer, unsigned long now);
bool weft_peer_is_vain(const struct weft_peer *peer, unsigned long now);
void weft_peer_down(struct weft_peer *peer);

#endif /* WEFT_FABRIC_PEER_H */
