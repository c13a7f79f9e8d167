// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rendezvous of tag matching: the responder has its own QP read the data of a message.
 *
 * The send queue of a QP whose SRQ has tags is in the kernel, and no process posts to it. The owner
 * of the receive turn is its client, the requester executes what is in it as ever, and
 * weft_inflight_push_tagged() knows that its completions belong to receives.
 */
#include "engine/rendezvous.h"

#include "object/qp.h"
#include "object/tag.h"

/* Is there room for the two requests of weft_rendezvous_begin()? Receive turn owned. */
bool weft_rendezvous_has_room(const struct weft_qp *qp)
{
	return weft_ring_has_room(qp->send.ring, 2);
}

/*
 * A tag has matched a rendezvous request, which weft_recv.tagged has: READ the data into the memory
 * of the tag, and then tell the peer with a copy of the headers. Receive turn owned.
 */
void weft_rendezvous_begin(struct weft_qp *qp)
{
	const struct weft_tagged *tagged = qp->recv.tagged;
	struct weft_ring *ring = qp->send.ring;
	struct weft_wire_tag fin = tagged->header;
	struct weft_sqe *sqe;

	weft_assert_turn(&qp->recv.turn);
	sqe = weft_ring_reserve(ring);
	*sqe = (struct weft_sqe){
		.wr_id = qp->recv.wqe.wr_id,
		.opcode = WEFT_SQE_READ,
		.flags = WEFT_SQE_SIGNALED,
		.num_sge = 1,
		.rkey = be32_to_cpu(fin.rkey),
		.remote_addr = be64_to_cpu(fin.va),
	};
	memcpy(sqe + 1, &tagged->sge, sizeof(tagged->sge));
	weft_ring_submit(ring);

	sqe = weft_ring_reserve(ring);
	*sqe = (struct weft_sqe){
		.opcode = WEFT_SQE_SEND,
		.flags = WEFT_SQE_FENCE | WEFT_SQE_INLINE,
		.inline_length = sizeof(fin),
	};
	fin.opcode = WEFT_TMH_FIN;
	memcpy(sqe + 1, &fin, sizeof(fin));
	weft_ring_submit(ring);
	weft_pause(WEFT_PAUSE_RENDEZVOUS_POSTED);
	weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
}
