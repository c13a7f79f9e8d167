/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Response packets and their absence: acknowledges, data, retries (IBA 9.7.5.2,
 * 9.7.6). It belongs to the send half.
 */
#ifndef WEFT_ENGINE_COMPLETER_H
#define WEFT_ENGINE_COMPLETER_H

struct weft_pkt;
struct weft_qp;

/**
 * weft_completer_packet - a response packet has come
 * @qp: destination
 * @pkt: decoded; its memory belongs to the callee
 *
 * Context: soft interrupts.
 */
void weft_completer_packet(struct weft_qp *qp, struct weft_pkt *pkt);

/**
 * weft_completer_work - process the responses that wait
 * @qp: send turn owned
 * @most: of them
 *
 * Return: true: there are more, and they need not wait for anything.
 */
bool weft_completer_work(struct weft_qp *qp, u32 most);

#endif /* WEFT_ENGINE_COMPLETER_H */
