/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The UDP sockets at which RoCEv2 packets arrive: one for IPv4 and one for
 * IPv6 in each network namespace that has users.
 */
#ifndef WEFT_LINK_UDP_H
#define WEFT_LINK_UDP_H

struct net;
struct sock;

/**
 * weft_udp_init - at module load, before there is a device
 *
 * Return: 0 or -ENOMEM.
 */
int weft_udp_init(void);

/**
 * weft_udp_exit - at module unload, when no user is left
 *
 * Nothing is received any more when it returns.
 */
void weft_udp_exit(void);

/**
 * weft_udp_open - packets shall be received in a namespace
 * @net: alive; not kept alive by this
 *
 * Counted: undone by as many calls of weft_udp_close().
 *
 * Context: process, may sleep. Does not take RTNL, and may be called with it.
 * Return: 0; -EADDRINUSE: another program or driver has the port; -ENOMEM or
 * another error of the sockets. Without IPv6 in the kernel IPv4 is enough.
 */
int weft_udp_open(struct net *net);

/**
 * weft_udp_close - undo weft_udp_open()
 * @net: the same, compared only unless its sockets are open: it may be gone,
 *	they were closed then
 *
 * Context: process, may sleep. Does not take RTNL, and may be called with it.
 */
void weft_udp_close(struct net *net);

/**
 * weft_udp_sock - the socket of a namespace
 * @net: alive
 * @family: AF_INET or AF_INET6
 *
 * Its multicast loop is off: what is sent with it does not come back.
 *
 * Context: any but hard interrupts, RCU read side as long as it is used.
 * Return: the socket, borrowed, or NULL.
 */
struct sock *weft_udp_sock(const struct net *net, int family);

#endif /* WEFT_LINK_UDP_H */
