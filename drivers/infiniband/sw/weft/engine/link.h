/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Links, as the engine sees them. A QP's link executes its inflight requests: the local link moves
 * messages from memory to memory, the others send packets in batches.
 */
#ifndef WEFT_ENGINE_LINK_H
#define WEFT_ENGINE_LINK_H

#include "engine/message.h"
#include "object/tx.h"
#include "wire/codec.h"

struct weft_av;
struct weft_lso;
struct weft_slot;
struct weft_tx;

/* The work that a run of the requester may do before it defers the rest to a work item. */
struct weft_budget {
	s64	bytes;	/* bytes that may be moved */
	u32	sent;	/* bytes that the present step has sent, for a QP whose rate is limited */
	u32	wqes;	/* steps */
	bool	atomic;	/* the run must not sleep or take long */
	bool	no_preempt;	/* preemption is off while it owns a peer's turn (link/local.c) */
	struct weft_held *held;	/* what weft_link.hold() has kept in this run; NULL: it may not */
};

/* A UD message on its way. */
struct weft_datagram {
	/* the request; the link fills in the members that depend on it */
	struct weft_request	req;
	struct weft_slot	*slot;	/* the inflight request */
	struct weft_av		*av;
	u32			qpn;	/* destination QP; WEFT_MCAST_QPN: the members of a group */
	u32			qkey;	/* Q_Key it carries */
	u16			pkey;	/* P_Key it carries */
	/* the link fills in the checksums of IP and TCP or UDP; InfiniBand only */
	bool			ip_csum;
	/* the message is cut into packets with these headers; NULL: it is one packet */
	const struct weft_lso	*lso;
	bool			atomic;	/* the link must not sleep or take long */
};

/* Packets of one message, to be sent one after the other. */
struct weft_tx_batch {
	struct weft_qp		*qp;
	const struct weft_av	*av;
	struct weft_tx		*tx;	/* of the requester or responder whose turn is owned */
	/*
	 * headers of the first packet. The next ones have the PSNs that follow, and the opcodes
	 * below. @hdr.ackreq and @hdr.se are for the last packet.
	 */
	struct weft_hdr		hdr;
	u8			middle;	/* opcode of the packets between the first and the last */
	u8			last;	/* opcode of the last packet, if there is more than one */
	u32			num;	/* packets, at least 1 */
	u32			mtu;	/* bytes of payload of each packet but the last */
	u32			length;	/* bytes of payload in all */
	/* the payload, advanced by the link; not used if @length is 0 */
	struct weft_iter	*payload;
	/*
	 * packets may refer to the payload's pages instead of a copy. A packet whose payload
	 * changes before it arrives is lost, so a packet that is sent again is always a copy, and
	 * so is a packet whose payload may change.
	 */
	bool			by_reference;
	bool			again;	/* some of these packets have been sent before */
	/* as in struct weft_datagram; never together with @by_reference */
	bool			ip_csum;
};

/**
 * struct weft_link - a way to carry messages or packets
 * @execute: execute an inflight request, or the next part of it: complete it, fail it, or leave it
 *	waiting (engine/inflight.h, engine/retry.h). The send turn is owned. May sleep unless
 *	@budget->atomic. Returns WEFT_DONE: there may be more to do; WEFT_LATER: nothing to do
 *	before the next event; WEFT_STOPPED: a work item goes on.
 * @datagram: carry a datagram. The send turn is owned, its memory is in weft_send.sgl. Returns
 *	WEFT_DONE: it has left, or is lost; WEFT_LATER; WEFT_STOPPED; WEFT_AS_PACKETS.
 * @xmit: send packets. The turn of @batch->tx is owned. Any context but hard interrupts. Returns
 *	the number of packets that have left or been lost on the way (to the engine that is the
 *	same). Less than @batch->num: the tx credit is used up, and the turn will get
 *	WEFT_EV_RUN. NULL: the link has no packets.
 * @hold: keep the packet of a batch that is one packet, to let it leave with those of the requests
 *	behind it, or an acknowledge to let it leave with such packets. The send turn is owned,
 *	for an acknowledge also the receive turn; bottom halves are off until @release. Returns
 *	false: it has to be sent now. NULL: the link keeps none.
 * @release: send what has been kept. Returns false: nothing has left, and the turn will get
 *	WEFT_EV_RUN.
 * @forget: drop the cached route of a transmitter, and what it waits for on that route. Its turn is
 *	owned or stopped.
 */
struct weft_link {
	enum weft_verdict (*execute)(struct weft_qp *qp, struct weft_slot *slot,
				     struct weft_budget *budget);
	enum weft_verdict (*datagram)(struct weft_qp *qp, struct weft_datagram *dgram);
	u32 (*xmit)(struct weft_tx_batch *batch);
	bool (*hold)(struct weft_tx_batch *batch, struct weft_held *held);
	bool (*release)(struct weft_qp *qp, struct weft_held *held);
	void (*forget)(struct weft_tx *tx);
};

#endif /* WEFT_ENGINE_LINK_H */
