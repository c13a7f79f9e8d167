// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "link/inject.h"

#include <linux/rcupdate.h>

#include "engine/inject.h"
#include "engine/link.h"
#include "link/packet.h"
#include "object/av.h"
#include "object/qp.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* Only the requester knows which of its packets it has sent before. */
static bool inject_is_again(const struct weft_tx_batch *batch, u32 psn)
{
	const struct weft_send *send = &batch->qp->send;

	return batch->tx == &send->tx ? weft_qp_is_reliable(batch->qp) &&
					weft_psn_before(psn, send->inflight.sent) : batch->again;
}

/* The action of the rule that fires for the packet with the headers @hdr, if one does. */
static enum weft_inject_action inject_look(const struct weft_tx_batch *batch,
					   const struct weft_hdr *hdr, u32 length)
{
	const struct weft_opcode *op = weft_opcode(hdr->opcode);
	struct weft_inject_event event = {
		.place = WEFT_INJECT_SENT,
		.qp = batch->qp,
		.opcode = weft_inject_opcode(op),
		.bytes = length,
		.psn = hdr->psn,
		.peer = &batch->av->dgid,
		.segment = op->segment,
		.again = inject_is_again(batch, hdr->psn),
		.armed = weft_qp_is_armed(batch->qp),
	};
	enum weft_inject_action action = WEFT_INJECT_NO_ACTION;
	const struct weft_inject_rule *rule;

	if (weft_inject_is_silent(&batch->qp->dev->inject))
		return WEFT_INJECT_DROP;
	rcu_read_lock();
	rule = weft_inject_find(batch->qp->dev, &event);
	if (rule) {
		action = rule->action;
		WRITE_ONCE(batch->qp->seen.rule, rule->number);
	}
	rcu_read_unlock();
	return action;
}

/*
 * Send the packets of @batch by @xmit, which is that of the link, one by one, unless a rule says
 * otherwise. Returns that of weft_link.xmit; a packet that a rule drops has left.
 */
u32 weft_inject_xmit(struct weft_tx_batch *batch, u32 (*xmit)(struct weft_tx_batch *batch))
{
	struct weft_hdr hdr = batch->hdr;
	enum weft_inject_action action;
	struct weft_tx_batch one;
	struct weft_iter start;
	u32 i, length;

	for (i = 0; i < batch->num; i++) {
		length = weft_packet_header(batch, i, &hdr);
		action = inject_look(batch, &hdr, length);
		if (action == WEFT_INJECT_DROP) {
			weft_packet_lost(batch, i, 1);
			continue;
		}
		one = *batch;
		one.hdr = hdr;
		one.num = 1;
		one.length = length;
		if (length)
			start = *batch->payload;
		if (!xmit(&one))
			break;
		if (action != WEFT_INJECT_DUPLICATE)
			continue;
		/* without tx credit there is no second one */
		if (length)
			*batch->payload = start;
		if (!xmit(&one) && length)
			weft_iter_skip(batch->payload, length);
	}
	return i;
}
