/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The performance management agent of a node (IBA 16.1). */
#ifndef WEFT_FABRIC_PMA_H
#define WEFT_FABRIC_PMA_H

#include <rdma/ib_mad.h>

#include "fabric/node.h"

/*
 * Answer @in, a MAD of class PERF_MGMT that is otherwise unchecked and came by port @in_port.
 * @out may be @in. Returns false if the agent does not answer such a MAD. Any context but hard
 * interrupts.
 */
bool weft_pma_process(struct weft_ibnode *node, u8 in_port, const struct ib_mad *in,
		      struct ib_mad *out);

/*
 * weft_pma_process() for a port that has no node: answer a query of the kernel from @counts, by
 * enum weft_ibport_counter. Returns false if it is not a Get. Any context.
 */
bool weft_pma_show(const u64 *counts, const struct ib_mad *in, struct ib_mad *out);

#endif /* WEFT_FABRIC_PMA_H */
