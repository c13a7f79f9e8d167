/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* RoCE ports: packets are UDP datagrams, addresses are IP addresses, and there is one P_Key. */
#ifndef WEFT_LINK_ROCE_PORT_H
#define WEFT_LINK_ROCE_PORT_H

#include <rdma/ib_verbs.h>

struct net;
struct weft_port_ops;

extern const struct weft_port_ops weft_port_roce;

bool weft_roce_has_qp(const struct net *net, const union ib_gid *gid, int ifindex, u32 qpn);

#endif /* WEFT_LINK_ROCE_PORT_H */
