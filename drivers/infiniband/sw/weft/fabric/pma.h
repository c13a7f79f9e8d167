/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The performance management agent of a node (IBA 16.1).
 */
#ifndef WEFT_FABRIC_PMA_H
#define WEFT_FABRIC_PMA_H

#include <rdma/ib_mad.h>

#include "fabric/node.h"

/**
 * weft_pma_process - answer a performance management MAD
 * @node: the agent's
 * @in_port: number of the port it came by
 * @in: request, of class PERF_MGMT; anything may be in it
 * @out: answer, valid when true is returned; may be @in
 *
 * ClassPortInfo, PortCounters and PortCountersExtended, Get and Set (which resets what
 * CounterSelect names). Counters of PortCounters stay at their greatest value. PortSelect
 * 255 adds all ports up (AllPortSelect), 0 is a switch's own port.
 *
 * Context: any but hard interrupts.
 * Return: false: it is not for the agent (a response, say).
 */
bool weft_pma_process(struct weft_ibnode *node, u8 in_port, const struct ib_mad *in,
		      struct ib_mad *out);

/**
 * weft_pma_show - answer the kernel's own query for the counters of a port without a node
 * @counts: by enum weft_ibport_counter
 * @in: request, of class PERF_MGMT
 * @out: answer, valid when true is returned; may be @in
 *
 * Get of ClassPortInfo, PortCounters and PortCountersExtended, the latter without the
 * counters of unicast and multicast packets.
 *
 * Context: any.
 * Return: false: it is no Get.
 */
bool weft_pma_show(const u64 *counts, const struct ib_mad *in, struct ib_mad *out);

#endif /* WEFT_FABRIC_PMA_H */
