/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Directed routes (IBA 14.2.2): how a switch forwards packets that carry a list of ports. */
#ifndef WEFT_FABRIC_ROUTE_H
#define WEFT_FABRIC_ROUTE_H

#include <rdma/ib_smi.h>

enum weft_route_verdict {
	WEFT_ROUTE_DROP,
	WEFT_ROUTE_PORT,	/* send it by weft_route.port, with permissive LIDs */
	WEFT_ROUTE_LID,		/* the directed part ends here: send it to weft_route.lid */
	WEFT_ROUTE_HERE,	/* it is a request to this switch */
};

struct weft_route {
	enum weft_route_verdict	verdict;
	u8			port;	/* WEFT_ROUTE_PORT; not 0 */
	u16			lid;	/* WEFT_ROUTE_LID */
};

struct weft_route weft_route_smp(struct ib_smp *smp, u8 in_port, bool by_lid, u8 ports);

#endif /* WEFT_FABRIC_ROUTE_H */
