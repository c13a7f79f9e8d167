/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Management datagrams that the core has received, or that stay on the host. */
#ifndef WEFT_VERBS_MAD_H
#define WEFT_VERBS_MAD_H

#include <rdma/ib_verbs.h>

/*
 * Lets the agents of an InfiniBand port respond. @wc is NULL for a query by sysfs. @flags, which
 * can skip the checks of M_Key and B_Key, is ignored: the core sets it for the performance agent
 * only, which has no such check.
 *
 * Any context but hard interrupts. Returns a set of IB_MAD_RESULT_*.
 */
int weft_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		     const struct ib_wc *wc, const struct ib_grh *grh,
		     const struct ib_mad *in, struct ib_mad *out, size_t *out_size,
		     u16 *out_pkey);

/*
 * Shows the counters of a RoCE port below ports/1/counters. It responds only to the core's own
 * queries, which have no @wc: RoCE has no performance management, so MADs of others go on to the
 * agents of the core and of programs, and neither read nor reset a counter.
 */
int weft_process_mad_roce(struct ib_device *ibdev, int flags, u32 port_num,
			  const struct ib_wc *wc, const struct ib_grh *grh,
			  const struct ib_mad *in, struct ib_mad *out, size_t *out_size,
			  u16 *out_pkey);

#endif /* WEFT_VERBS_MAD_H */
