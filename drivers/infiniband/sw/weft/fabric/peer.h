/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is known of another node on the net device, and whether there is to be a cable
 * to it: the rules by which both ends agree on that. Without locks: its owner has one.
 *
 * Anybody can send a HELLO with the address of another node. Only who receives what we send
 * to that address knows our nonce, so nothing of a HELLO counts unless it names that.
 *
 * See "HELLO" in Documentation/infiniband/weft/fabric.rst.
 */
#ifndef WEFT_FABRIC_PEER_H
#define WEFT_FABRIC_PEER_H

#include <linux/bits.h>
#include <linux/siphash.h>
#include <linux/types.h>

#include "fabric/frame.h"
#include "fabric/underlay_addr.h"

/**
 * enum weft_peer_action - what is to be done, in this order
 * @WEFT_PEER_PULL: the cable is to be pulled out
 * @WEFT_PEER_FORGET: it is gone
 * @WEFT_PEER_REPLY: it shall have a HELLO at once
 * @WEFT_PEER_PLUG: a cable is to be plugged in, and it shall have a HELLO when it is
 */
enum weft_peer_action {
	WEFT_PEER_PULL		= BIT(0),
	WEFT_PEER_FORGET	= BIT(1),
	WEFT_PEER_REPLY		= BIT(2),
	WEFT_PEER_PLUG		= BIT(3),
};

/**
 * enum weft_peer_verdict - what becomes of a HELLO that comes by no cable
 * @WEFT_PEER_DROP: nothing
 * @WEFT_PEER_ANSWER: it does not name our nonce: the answer says that nonce, and names the one of
 *	the HELLO. Nothing is kept.
 * @WEFT_PEER_TAKE: it names our nonce, so it is from where it says: weft_peer_hear()
 */
enum weft_peer_verdict {
	WEFT_PEER_DROP,
	WEFT_PEER_ANSWER,
	WEFT_PEER_TAKE,
};

/**
 * struct weft_peer_note - a HELLO or BYE that has come
 * @frame: its header
 * @hello: what followed; of a HELLO
 * @from: who sent it
 */
struct weft_peer_note {
	struct weft_frame	frame;
	struct weft_hello	hello;
	struct weft_underlay_addr	from;
};

/**
 * struct weft_peer - another node: a switch, or a channel adapter that hangs on none
 * @guid: node GUID of it
 * @addr: where it is
 * @nonce: ours, of this cable or the next one
 * @heard: its nonce; 0: not heard yet
 * @max_frame: what it takes
 * @up: there is a cable
 * @heard_at: jiffies of its last sign of life, which anybody may have sent
 * @agreed_at: jiffies when it named our nonce last
 */
struct weft_peer {
	__be64		guid;
	struct weft_underlay_addr addr;
	u32		nonce;
	u32		heard;
	u16		max_frame;
	bool		up;
	unsigned long	heard_at;
	unsigned long	agreed_at;
};

/**
 * weft_peer_first_nonce - our nonce for a node that nothing is known of yet
 * @key: secret; another one after weft_peer_init() and the end of what that has made
 * @addr: where the node is
 *
 * It is computed rather than kept, as anybody can invent nodes.
 *
 * Return: the nonce.
 */
u32 weft_peer_first_nonce(const siphash_key_t *key, const struct weft_underlay_addr *addr);

/**
 * weft_peer_judge - a HELLO has come, by no cable
 * @peer: its sender; NULL: nothing is known of that yet
 * @frame: its header
 * @nonce: ours, of @peer or weft_peer_first_nonce()
 * @now: jiffies
 *
 * While there is a cable only its end, or silence, makes room for another one: a node that has
 * begun anew has to wait for that.
 *
 * Return: what becomes of it.
 */
enum weft_peer_verdict weft_peer_judge(struct weft_peer *peer, const struct weft_frame *frame,
				       u32 nonce, unsigned long now);

/**
 * weft_peer_init - a node has named our nonce for the first time
 * @peer: result
 * @note: a HELLO that does; weft_peer_hear() is to be called with it, too
 * @now: jiffies
 */
void weft_peer_init(struct weft_peer *peer, const struct weft_peer_note *note,
		    unsigned long now);

/**
 * weft_peer_hear - it has sent something
 * @peer: the node
 * @note: a HELLO or BYE of it
 * @now: jiffies
 *
 * Return: what is to be done, a set of enum weft_peer_action.
 */
u32 weft_peer_hear(struct weft_peer *peer, const struct weft_peer_note *note,
		   unsigned long now);

/**
 * weft_peer_check - has it fallen silent?
 * @peer: the node
 * @now: jiffies
 *
 * Return: what is to be done, a set of enum weft_peer_action.
 */
u32 weft_peer_check(struct weft_peer *peer, unsigned long now);

/**
 * weft_peer_is_vain - has it been waited for in vain?
 * @peer: the node
 * @now: jiffies
 *
 * For when there is another one that the port could be had for. How long it takes is
 * another time for each nonce: if several wait for one another, one gives up first.
 *
 * Return: true when it is alive, but there has been no cable to it for long.
 */
bool weft_peer_is_vain(const struct weft_peer *peer, unsigned long now);

/**
 * weft_peer_down - the cable is pulled out, or cannot be used any more
 * @peer: the node
 *
 * The next one has another nonce, so nothing that was sent by this one is taken for it,
 * and the other end learns that it has to begin anew.
 */
void weft_peer_down(struct weft_peer *peer);

#endif /* WEFT_FABRIC_PEER_H */
