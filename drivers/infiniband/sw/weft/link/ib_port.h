/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * InfiniBand ports: packets have LIDs, virtual lanes and P_Keys, and the subnet manager is told of
 * wrong keys.
 */
#ifndef WEFT_LINK_IB_PORT_H
#define WEFT_LINK_IB_PORT_H

struct weft_port_ops;

extern const struct weft_port_ops weft_port_ib;

#endif /* WEFT_LINK_IB_PORT_H */
