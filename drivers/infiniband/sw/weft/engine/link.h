/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the engine needs of a link: the local one carries messages, the others
 * batches of packets.
 */
#ifndef WEFT_ENGINE_LINK_H
#define WEFT_ENGINE_LINK_H

#include "engine/message.h"
#include "wire/codec.h"

struct weft_av;
struct weft_tx;
struct weft_lso;

/**
 * enum weft_outcome - what became of a message
 * @WEFT_OUTCOME_DONE: delivered (reliable), or gone its way (unreliable)
 * @WEFT_OUTCOME_REFUSED: the responder refused it, see @status and @fault
 * @WEFT_OUTCOME_FLUSHED: it is not sent any more, and the send queue goes on
 * @WEFT_OUTCOME_RNR: the responder has no receive work request
 * @WEFT_OUTCOME_LOST: no answer
 * @WEFT_OUTCOME_STOPPED: given up halfway because somebody wants one of the
 *	turns or the task is being killed, or not begun because it might sleep;
 *	to be done again from the start, an LSO from weft_send.done
 * @WEFT_OUTCOME_STALLED: a packet did not fit, or the peer has to wait for odp
 *	memory; the send turn will get an event, then it is to be done again, likewise
 */
enum weft_outcome {
	WEFT_OUTCOME_DONE,
	WEFT_OUTCOME_REFUSED,
	WEFT_OUTCOME_FLUSHED,
	WEFT_OUTCOME_RNR,
	WEFT_OUTCOME_LOST,
	WEFT_OUTCOME_STOPPED,
	WEFT_OUTCOME_STALLED,
};

/**
 * struct weft_answer - what became of a message
 * @outcome: which
 * @status: REFUSED: status of the work request
 * @fault: REFUSED: why
 * @rnr_timer: RNR: encoded time to wait
 */
struct weft_answer {
	enum weft_outcome	outcome;
	enum ib_wc_status	status;
	enum weft_fault		fault;
	u8			rnr_timer;
};

/**
 * struct weft_datagram - a UD message on its way
 * @req: the request; the link fills in what only it knows
 * @av: where to
 * @qpn: destination QP, WEFT_MCAST_QPN: the members of a group
 * @qkey: Q_Key it carries
 * @pkey: P_Key it carries
 * @ip_csum: the checksums of IP and above are to be filled in; on InfiniBand only
 * @lso: it is cut into packets with these headers; NULL: it is one packet
 * @atomic: nothing may sleep, nor go on for long
 */
struct weft_datagram {
	struct weft_request	req;
	struct weft_av		*av;
	u32			qpn;
	u32			qkey;
	u16			pkey;
	bool			ip_csum;
	const struct weft_lso	*lso;
	bool			atomic;
};

/**
 * struct weft_tx_batch - packets of one message, to be sent one after the other
 * @qp: sender
 * @av: where to
 * @tx: of the half whose turn is owned
 * @hdr: of the first packet. Those behind it have PSNs that follow, and the
 *	opcodes below; @hdr.ackreq and @hdr.se are meant for the last one.
 * @middle: opcode of the packets between the first and the last
 * @last: opcode of the last packet, when there is more than one
 * @num: packets, at least 1
 * @mtu: bytes of payload of each packet but the last
 * @length: bytes of payload in all
 * @payload: where they are; advanced. Not looked at when @length is 0.
 * @by_reference: they need not be copied. If they change before they have arrived
 *	the packet is lost, so not for what may change, and not a second time.
 * @ip_csum: the same as in struct weft_datagram, not @by_reference
 */
struct weft_tx_batch {
	struct weft_qp		*qp;
	const struct weft_av	*av;
	struct weft_tx		*tx;
	struct weft_hdr		hdr;
	u8			middle;
	u8			last;
	u32			num;
	u32			mtu;
	u32			length;
	struct weft_iter	*payload;
	bool			by_reference;
	bool			ip_csum;
};

/**
 * struct weft_link - carries messages or packets
 * @message: of a connected QP: carry a message to its end. The send turn of
 *	@qp is owned; @local is what it sends from or reads into. May sleep
 *	unless @atomic. NULL: the link has packets only.
 * @datagram: of a UD QP: the same. May sleep unless @dgram->atomic: then it has packets
 *	alone.
 * @xmit: send packets. The turn of @batch->tx is owned. Any context but hard
 *	interrupts. Returns how many packets have gone (or been lost on the
 *	way, which is no concern of the engine's); fewer than @batch->num only
 *	when there is no more room, and then the turn will get WEFT_EV_RUN.
 *	NULL: the link has no packets.
 * @forget: forget the route of a tx, and what it waits for there; its turn is owned or
 *	stopped. May be NULL.
 */
struct weft_link {
	void (*message)(struct weft_qp *qp, const struct weft_request *req,
			const struct weft_sgl *local, bool atomic,
			struct weft_answer *answer);
	void (*datagram)(struct weft_qp *qp, struct weft_datagram *dgram,
			 const struct weft_sgl *local, struct weft_answer *answer);
	u32 (*xmit)(struct weft_tx_batch *batch);
	void (*forget)(struct weft_tx *tx);
};

#endif /* WEFT_ENGINE_LINK_H */
