/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* PortInfo (IBA 14.2.5.6), as a subnet manager reads and sets it. */
#ifndef WEFT_FABRIC_PORTINFO_H
#define WEFT_FABRIC_PORTINFO_H

#include <linux/bits.h>

#include "fabric/node.h"

/* ClientReregister, in clientrereg_resv_subnetto: a command, which is not stored. */
#define WEFT_PORTINFO_REREGISTER	BIT(7)

void weft_portinfo_get(const struct weft_ibnode *node, const struct weft_ibport *port,
		       struct ib_port_info *info);
bool weft_portinfo_set(const struct weft_ibnode *node, struct weft_ibport *port,
		       const struct ib_port_info *set, u32 *events);

#endif /* WEFT_FABRIC_PORTINFO_H */
