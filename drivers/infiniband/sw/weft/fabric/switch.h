/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A switch in software, one for each underlying net device. */
#ifndef WEFT_FABRIC_SWITCH_H
#define WEFT_FABRIC_SWITCH_H

#include "fabric/node.h"

struct weft_switch;
struct weft_violation;

struct weft_switch *weft_switch_create(__be64 guid, const char *name, u8 speed);
void weft_switch_destroy(struct weft_switch *sw);
struct weft_ibnode *weft_switch_node(struct weft_switch *sw);
bool weft_switch_has_port(const struct weft_switch *sw);
struct weft_ibport *weft_switch_take_port(struct weft_switch *sw, bool upper);
void weft_switch_give_port(struct weft_switch *sw, struct weft_ibport *port);
u8 weft_switch_way(const struct weft_switch *sw, u16 lid);
void weft_switch_refused(struct weft_switch *sw, struct weft_ibport *port, u8 filter,
			 const struct weft_violation *violation);

#endif /* WEFT_FABRIC_SWITCH_H */
