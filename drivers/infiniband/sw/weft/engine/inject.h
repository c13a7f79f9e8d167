/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The actions of rules (object/inject.h) on requests and packets. */
#ifndef WEFT_ENGINE_INJECT_H
#define WEFT_ENGINE_INJECT_H

#include "object/inject.h"

struct weft_opcode;
struct weft_pkt;
struct weft_slot;

void weft_inject_open(struct weft_dev *dev);
void weft_inject_close(struct weft_dev *dev);
void weft_inject_release(struct weft_dev *dev);
bool weft_inject_request(struct weft_qp *qp, struct weft_slot *slot);
enum weft_fault weft_inject_receive(struct weft_qp *qp);
bool weft_inject_packet(struct weft_pkt *pkt);
u32 weft_inject_opcode(const struct weft_opcode *op);

#endif /* WEFT_ENGINE_INJECT_H */
