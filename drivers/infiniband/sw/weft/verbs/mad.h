/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Management datagrams that the core has received, or that stay on the host. */
#ifndef WEFT_VERBS_MAD_H
#define WEFT_VERBS_MAD_H

#include <rdma/ib_verbs.h>

int weft_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
		     const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey);
int weft_process_mad_roce(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
			  const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
			  size_t *out_size, u16 *out_pkey);

#endif /* WEFT_VERBS_MAD_H */
