/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The performance management agent of a node (IBA 16.1). */
#ifndef WEFT_FABRIC_PMA_H
#define WEFT_FABRIC_PMA_H

#include <rdma/ib_mad.h>

#include "fabric/node.h"

bool weft_pma_process(struct weft_ibnode *node, u8 in_port, const struct ib_mad *in,
		      struct ib_mad *out);
bool weft_pma_show(const u64 *counts, const struct ib_mad *in, struct ib_mad *out);

#endif /* WEFT_FABRIC_PMA_H */
