/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Partition enforcement at the external ports of a switch: packets whose P_Key is not in
 * the port's table are dropped there, and the subnet manager is told (trap 259). Of what
 * is on the lane of subnet management each packet passes.
 */
#ifndef WEFT_FABRIC_FILTER_H
#define WEFT_FABRIC_FILTER_H

#include <linux/skbuff.h>

#include "fabric/port.h"
#include "fabric/trap.h"

/**
 * weft_filter_matches - whether a P_Key has an entry in the table of a port
 * @port: of a switch
 * @filter: WEFT_IBPORT_PKEY_IN or WEFT_IBPORT_PKEY_OUT
 * @pkey: of a packet
 *
 * The table has the P_Keys of who is behind the port. Outbound they match as there
 * (weft_ibport_find_pkey()). Inbound it is who has sent the packet: a limited member may
 * say so, but not that it is a full one.
 *
 * Context: any.
 * Return: true when it has.
 */
bool weft_filter_matches(const struct weft_ibport *port, enum weft_ibport_filter filter,
			 u16 pkey);

/**
 * weft_filter_refused - a packet does not pass
 * @traps: of the switch
 * @port: of it
 * @filter: WEFT_IBPORT_PKEY_IN or WEFT_IBPORT_PKEY_OUT
 * @violation: the packet
 *
 * Counted in PortRcvConstraintErrors or PortXmitConstraintErrors; and it is told.
 *
 * Context: any.
 */
void weft_filter_refused(struct weft_traps *traps, struct weft_ibport *port,
			 enum weft_ibport_filter filter,
			 const struct weft_violation *violation);

/* weft_filter_admits() of a port that filters */
bool weft_filter_inspect(struct weft_traps *traps, struct weft_ibport *port,
			 enum weft_ibport_filter filter, const struct sk_buff *skb);

/**
 * weft_filter_passes - whether a port lets a P_Key pass
 * @port: of a switch
 * @filter: WEFT_IBPORT_PKEY_IN or WEFT_IBPORT_PKEY_OUT
 * @pkey: of a packet
 *
 * Context: any.
 * Return: true when it does: it matches, or the port does not filter.
 */
static inline bool weft_filter_passes(const struct weft_ibport *port,
				      enum weft_ibport_filter filter, u16 pkey)
{
	return !(READ_ONCE(port->filters) & filter) ||
	       weft_filter_matches(port, filter, pkey);
}

/**
 * weft_filter_admits - whether a port lets a packet pass
 * @traps: of the switch
 * @port: of it
 * @filter: WEFT_IBPORT_PKEY_IN or WEFT_IBPORT_PKEY_OUT
 * @skb: a packet of a fabric; it is not written to, and stays the caller's
 *
 * Context: any.
 * Return: true; false: it is to be dropped, all else is done (weft_filter_refused()).
 */
static inline bool weft_filter_admits(struct weft_traps *traps, struct weft_ibport *port,
				      enum weft_ibport_filter filter,
				      const struct sk_buff *skb)
{
	return likely(!(READ_ONCE(port->filters) & filter)) ||
	       weft_filter_inspect(traps, port, filter, skb);
}

/**
 * weft_filter_xmit - send a packet if the port lets it pass
 * @traps: of the switch
 * @port: by which it leaves
 * @skb: belongs to the callee
 *
 * Context: see weft_ibport_xmit().
 */
static inline void weft_filter_xmit(struct weft_traps *traps, struct weft_ibport *port,
				    struct sk_buff *skb)
{
	if (weft_filter_admits(traps, port, WEFT_IBPORT_PKEY_OUT, skb))
		weft_ibport_xmit(port, skb);
	else
		kfree_skb(skb);
}

#endif /* WEFT_FABRIC_FILTER_H */
