/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The window of a requester. The send turn is owned. */
#ifndef WEFT_ENGINE_WINDOW_H
#define WEFT_ENGINE_WINDOW_H

#include "object/send.h"

void weft_window_init(struct weft_window *window, bool measured);
void weft_window_measured(struct weft_window *window, u32 ns);
void weft_window_begin(struct weft_window *window, u32 una, ktime_t now);
void weft_window_lost(struct weft_window *window, u32 una, u32 sent, u32 kept, u32 round_trip,
		      ktime_t now);

#endif /* WEFT_ENGINE_WINDOW_H */
