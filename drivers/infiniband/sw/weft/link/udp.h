/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The UDP sockets at which RoCEv2 packets arrive: one for IPv4 and one for IPv6 in each network
 * namespace that has users.
 */
#ifndef WEFT_LINK_UDP_H
#define WEFT_LINK_UDP_H

struct net;
struct sock;

/* At module load, before there is a device. Returns 0 or -ENOMEM. */
int weft_udp_init(void);

/* At module unload, when no user is left. Nothing is received any more when it returns. */
void weft_udp_exit(void);

/*
 * Receive packets in a namespace, until as many calls of weft_udp_close(). @net is alive, and not
 * kept alive by this. May sleep; RTNL may be held.
 *
 * Returns 0; -EADDRINUSE: another program or driver has the port; -ENOMEM or another error of the
 * sockets. IPv4 is enough if the kernel has no IPv6.
 */
int weft_udp_open(struct net *net);

/*
 * Undo weft_udp_open(). @net may be gone if its sockets have been closed, so it is only compared.
 * May sleep; RTNL may be held.
 */
void weft_udp_close(struct net *net);

/*
 * The socket of a namespace for AF_INET or AF_INET6, or NULL. Its multicast loop is off, so packets
 * that are sent with it do not come back. The socket may be used in the RCU read side of the
 * caller. Any context but hard interrupts.
 */
struct sock *weft_udp_sock(const struct net *net, int family);

#endif /* WEFT_LINK_UDP_H */
