/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * PortInfo (IBA 14.2.5.6), as a subnet manager reads and sets it.
 */
#ifndef WEFT_FABRIC_PORTINFO_H
#define WEFT_FABRIC_PORTINFO_H

#include <linux/bits.h>

#include "fabric/node.h"

/* clientrereg_resv_subnetto: ClientReregister. It is an order, and not kept. */
#define WEFT_PORTINFO_REREGISTER	BIT(7)

/**
 * weft_portinfo_get - PortInfo as Get returns it
 * @node: of the port
 * @port: which; its lock is held
 * @info: result, but for LocalPortNum
 *
 * External ports of a switch have nothing that belongs to an end of a path.
 */
void weft_portinfo_get(const struct weft_ibnode *node, const struct weft_ibport *port,
		       struct ib_port_info *info);

/**
 * weft_portinfo_set - Set PortInfo
 * @node: of the port
 * @port: which; its lock is held
 * @set: what came; anything may be in it
 * @events: result: enum weft_ibport_event
 *
 * What is read only is ignored, and so is what the port does not have: the state of a
 * switch's own port never changes, its external ports have no LID; they alone filter.
 *
 * Return: false: a field is invalid, nothing has been changed.
 */
bool weft_portinfo_set(const struct weft_ibnode *node, struct weft_ibport *port,
		       const struct ib_port_info *set, u32 *events);

#endif /* WEFT_FABRIC_PORTINFO_H */
