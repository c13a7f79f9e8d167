/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The UDP sockets at which RoCEv2 packets arrive: one for IPv4 and one for IPv6 in each network
 * namespace that has users.
 */
#ifndef WEFT_LINK_UDP_H
#define WEFT_LINK_UDP_H

struct net;
struct sock;

int weft_udp_init(void);
void weft_udp_exit(void);
int weft_udp_open(struct net *net);
void weft_udp_close(struct net *net);
struct sock *weft_udp_sock(const struct net *net, int family);

#endif /* WEFT_LINK_UDP_H */
