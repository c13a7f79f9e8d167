/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Management datagrams that the core has received, or that do not leave the host.
 */
#ifndef WEFT_VERBS_MAD_H
#define WEFT_VERBS_MAD_H

#include <rdma/ib_verbs.h>

/**
 * weft_process_mad - have the agents of a port answer
 * @ibdev: with an InfiniBand port
 * @flags: enum, of M_Key and B_Key checks; not looked at: the core sets them for the
 *	performance agent alone, which has no such check
 * @port_num: the port it came by
 * @wc: of its receive, NULL: from sysfs
 * @grh: of its receive
 * @in: what has come
 * @out: the answer
 * @out_size: bytes of @out
 * @out_pkey: P_Key index of the answer, as the core has set it
 *
 * Context: any but hard interrupts.
 * Return: a set of IB_MAD_RESULT_*, see ib_verbs.h.
 */
int weft_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		     const struct ib_wc *wc, const struct ib_grh *grh,
		     const struct ib_mad *in, struct ib_mad *out, size_t *out_size,
		     u16 *out_pkey);

/**
 * weft_process_mad_roce - show the counters of a RoCE port below ports/1/counters
 * @ibdev: with a RoCE port
 * @flags: see weft_process_mad()
 * @port_num: see weft_process_mad()
 * @wc: see weft_process_mad()
 * @grh: see weft_process_mad()
 * @in: see weft_process_mad()
 * @out: see weft_process_mad()
 * @out_size: see weft_process_mad()
 * @out_pkey: see weft_process_mad()
 *
 * Answers the core's own queries, which have no @wc. RoCE has no performance management: MADs
 * of others go on to the agents of the core and of programs, so they neither read nor reset a
 * counter.
 *
 * Context: any but hard interrupts.
 * Return: a set of IB_MAD_RESULT_*, see ib_verbs.h.
 */
int weft_process_mad_roce(struct ib_device *ibdev, int flags, u32 port_num,
			  const struct ib_wc *wc, const struct ib_grh *grh,
			  const struct ib_mad *in, struct ib_mad *out, size_t *out_size,
			  u16 *out_pkey);

#endif /* WEFT_VERBS_MAD_H */
