/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rendezvous of tag matching: the responder has its own QP read the data of a message. */
#ifndef WEFT_ENGINE_RENDEZVOUS_H
#define WEFT_ENGINE_RENDEZVOUS_H

#include <linux/types.h>

struct weft_qp;

bool weft_rendezvous_has_room(const struct weft_qp *qp);
void weft_rendezvous_begin(struct weft_qp *qp);

#endif /* WEFT_ENGINE_RENDEZVOUS_H */
