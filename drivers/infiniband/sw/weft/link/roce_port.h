/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* RoCE ports: packets are UDP datagrams, addresses are IP addresses, and there is one P_Key. */
#ifndef WEFT_LINK_ROCE_PORT_H
#define WEFT_LINK_ROCE_PORT_H

struct weft_port_ops;

extern const struct weft_port_ops weft_port_roce;

#endif /* WEFT_LINK_ROCE_PORT_H */
