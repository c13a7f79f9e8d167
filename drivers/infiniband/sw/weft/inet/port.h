/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef WEFT_INET_PORT_H
#define WEFT_INET_PORT_H

#include <linux/types.h>

struct net;

/*
 * Logs which socket keeps weft from binding the UDP port, for all interfaces if @ifindex is 0.
 * For an administrator, who learns from "rdma link add" only that an address is in use.
 */
void weft_port_taken(struct net *net, u16 port, int ifindex);

#endif /* WEFT_INET_PORT_H */
