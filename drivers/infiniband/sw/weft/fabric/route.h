/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Directed routes (IBA 14.2.2): where a switch sends a subnet management packet that has
 * its way written in it, a list of ports.
 */
#ifndef WEFT_FABRIC_ROUTE_H
#define WEFT_FABRIC_ROUTE_H

#include <rdma/ib_smi.h>

/**
 * enum weft_route_verdict - where a packet goes
 * @WEFT_ROUTE_DROP: nowhere
 * @WEFT_ROUTE_PORT: out by a port, with permissive LIDs
 * @WEFT_ROUTE_LID: to a LID: the directed part of its route ends here
 * @WEFT_ROUTE_HERE: it is a request to this switch
 */
enum weft_route_verdict {
	WEFT_ROUTE_DROP,
	WEFT_ROUTE_PORT,
	WEFT_ROUTE_LID,
	WEFT_ROUTE_HERE,
};

/**
 * struct weft_route - where a packet goes
 * @verdict: enum weft_route_verdict
 * @port: with WEFT_ROUTE_PORT, not 0
 * @lid: with WEFT_ROUTE_LID
 */
struct weft_route {
	enum weft_route_verdict	verdict;
	u8			port;
	u16			lid;
};

/**
 * weft_route_smp - take a directed route one step further
 * @smp: of class SUBN_DIRECTED_ROUTE; anything may be in it. Its hop pointer and return
 *	path are brought up to date.
 * @in_port: by which it came; 0: it is an answer of the switch
 * @by_lid: it came to a LID of the switch, and not with the permissive one
 * @ports: external ports of the switch
 *
 * Return: what is to be done with it.
 */
struct weft_route weft_route_smp(struct ib_smp *smp, u8 in_port, bool by_lid, u8 ports);

#endif /* WEFT_FABRIC_ROUTE_H */
