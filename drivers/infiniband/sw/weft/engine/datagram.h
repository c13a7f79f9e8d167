/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Datagrams on their way out: which link, or both.
 */
#ifndef WEFT_ENGINE_DATAGRAM_H
#define WEFT_ENGINE_DATAGRAM_H

struct weft_answer;
struct weft_datagram;
struct weft_qp;

/**
 * weft_datagram_send - send the current work request of a UD QP
 * @qp: send turn owned, @qp->send.sgl resolved
 * @dgram: @dgram->req is built and @dgram->atomic said, the rest is filled in
 * @answer: result
 *
 * Context: may sleep, unless @dgram->atomic.
 */
void weft_datagram_send(struct weft_qp *qp, struct weft_datagram *dgram,
			struct weft_answer *answer);

#endif /* WEFT_ENGINE_DATAGRAM_H */
