/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A back-to-back link: a fabric without a switch. RTNL is held in all functions; they may sleep. */
#ifndef WEFT_FABRIC_B2B_H
#define WEFT_FABRIC_B2B_H

#include "fabric/port.h"

struct weft_underlay;
struct weft_b2b;

struct weft_b2b *weft_b2b_create(struct weft_underlay *underlay);
void weft_b2b_destroy(struct weft_b2b *b2b);
bool weft_b2b_is_empty(const struct weft_b2b *b2b);
int weft_b2b_attach(struct weft_b2b *b2b, struct weft_ibport *port);
void weft_b2b_detach(struct weft_b2b *b2b, struct weft_ibport *port);
void weft_b2b_update(struct weft_b2b *b2b);

#endif /* WEFT_FABRIC_B2B_H */
