/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef WEFT_INET_PORT_H
#define WEFT_INET_PORT_H

#include <linux/types.h>

struct net;

void weft_port_taken(struct net *net, u16 port, int ifindex);

#endif /* WEFT_INET_PORT_H */
