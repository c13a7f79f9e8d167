/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages of the local link on the monitors of their devices (object/monitor.h), as the packets
 * that they would have been. The send turn of @qp is owned, and so is the receive turn of @peer.
 */
#ifndef WEFT_LINK_MONITOR_LOCAL_H
#define WEFT_LINK_MONITOR_LOCAL_H

#include <linux/types.h>

struct weft_datagram;
struct weft_qp;
struct weft_refusal;
struct weft_slot;

void weft_monitor_request(struct weft_qp *qp, const struct weft_qp *peer,
			  const struct weft_slot *slot, u64 from, u64 to);
void weft_monitor_answer(struct weft_qp *qp, struct weft_qp *peer, const struct weft_slot *slot,
			 u64 from);
void weft_monitor_fetched(struct weft_qp *qp, struct weft_qp *peer, const struct weft_slot *slot,
			  u64 from, u64 to);
void weft_monitor_refusal(struct weft_qp *qp, struct weft_qp *peer, const struct weft_slot *slot,
			  const struct weft_refusal *refusal, u8 rnr_timer);
void weft_monitor_datagram(struct weft_qp *qp, const struct weft_qp *peer,
			   const struct weft_datagram *dgram);

#endif /* WEFT_LINK_MONITOR_LOCAL_H */
