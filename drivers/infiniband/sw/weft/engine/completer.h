/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The completer: the part of the requester that processes response packets: acknowledges, data,
 * NAKs (IBA 9.7.5.2, 9.7.6).
 */
#ifndef WEFT_ENGINE_COMPLETER_H
#define WEFT_ENGINE_COMPLETER_H

struct weft_pkt;
struct weft_qp;

void weft_completer_packet(struct weft_qp *qp, struct weft_pkt *pkt);
void weft_completer_overdue(struct weft_qp *qp);
bool weft_completer_work(struct weft_qp *qp, u32 most);

#endif /* WEFT_ENGINE_COMPLETER_H */
