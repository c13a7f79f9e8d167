/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that have overtaken others. All functions but weft_early_init() need the turn, owned or
 * stopped.
 */
#ifndef WEFT_ENGINE_EARLY_H
#define WEFT_ENGINE_EARLY_H

#include "object/early.h"

struct weft_dev;
struct weft_map;
struct weft_pkt;

void weft_early_init(struct weft_early *early, struct weft_turn *turn);
bool weft_early_keep(struct weft_early *early, struct weft_dev *dev, struct weft_pkt *pkt);
bool weft_early_is_newest(const struct weft_early *early, u32 psn);
bool weft_early_is_ready(const struct weft_early *early, u32 psn);
void weft_early_take(struct weft_early *early, struct weft_dev *dev, struct weft_pkt *pkt);
u32 weft_early_response(const struct weft_early *early, u32 none);
void weft_early_later(struct weft_early *early);
u32 weft_early_lost(struct weft_early *early, u32 psn);
bool weft_early_is_old(struct weft_early *early, u32 psn);
void weft_early_map(struct weft_early *early, u32 psn, bool all, struct weft_map *map);
void weft_early_purge(struct weft_early *early, struct weft_dev *dev);
void weft_early_reset(struct weft_early *early, struct weft_dev *dev);

#endif /* WEFT_ENGINE_EARLY_H */
