/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Partition enforcement at the external ports of a switch. A packet whose P_Key is not in the
 * port's table is dropped, and the subnet manager gets trap 259. Packets on VL 15 always pass.
 *
 * In all functions the filter is WEFT_IBPORT_PKEY_IN or WEFT_IBPORT_PKEY_OUT, and the context is
 * any, unless stated otherwise.
 */
#ifndef WEFT_FABRIC_FILTER_H
#define WEFT_FABRIC_FILTER_H

#include <linux/skbuff.h>

#include "fabric/port.h"
#include "fabric/trap.h"

bool weft_filter_matches(const struct weft_ibport *port, enum weft_ibport_filter filter, u16 pkey);
void weft_filter_refused(struct weft_traps *traps, struct weft_ibport *port,
			 enum weft_ibport_filter filter, const struct weft_violation *violation);
bool weft_filter_inspect(struct weft_traps *traps, struct weft_ibport *port,
			 enum weft_ibport_filter filter, const struct sk_buff *skb);

/* Does a port let a P_Key pass, because it matches or because the port does not filter? */
static inline bool weft_filter_passes(const struct weft_ibport *port,
				      enum weft_ibport_filter filter, u16 pkey)
{
	return !(READ_ONCE(port->filters) & filter) ||
	       weft_filter_matches(port, filter, pkey);
}

/* Does a port let a packet pass? If it does not, the packet has been counted. */
static inline bool weft_filter_admits(struct weft_traps *traps, struct weft_ibport *port,
				      enum weft_ibport_filter filter, const struct sk_buff *skb)
{
	return likely(!(READ_ONCE(port->filters) & filter)) ||
	       weft_filter_inspect(traps, port, filter, skb);
}

/* weft_ibport_xmit(), with its rules, unless the port filters the packet out. */
static inline void weft_filter_xmit(struct weft_traps *traps, struct weft_ibport *port,
				    struct sk_buff *skb)
{
	if (weft_filter_admits(traps, port, WEFT_IBPORT_PKEY_OUT, skb))
		weft_ibport_xmit(port, skb);
	else
		kfree_skb(skb);
}

#endif /* WEFT_FABRIC_FILTER_H */
