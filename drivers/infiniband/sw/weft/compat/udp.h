/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The newest kernel's interface to UDP tunnel sockets.
 *
 * Stable updates and distributions have backported the change of the two functions below one at a
 * time. So the kernel version does not tell what they take, and _Generic finds out.
 */
#ifndef WEFT_COMPAT_UDP_H
#define WEFT_COMPAT_UDP_H

#include <linux/ipv6.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

/* @sk if @function has the prototype @type, else the struct socket of @sk. */
#define COMPAT_SOCK_FOR(function, type, sk) \
	_Generic(&(function), type : (sk), default : (sk)->sk_socket)

#define COMPAT_SETUP_TAKES_SOCK \
	void (*)(struct net *, struct sock *, struct udp_tunnel_sock_cfg *)
#define COMPAT_RELEASE_TAKES_SOCK \
	void (*)(struct sock *)

#define setup_udp_tunnel_sock(net, sk, cfg)				\
	setup_udp_tunnel_sock(net,					\
			      COMPAT_SOCK_FOR(setup_udp_tunnel_sock,	\
					      COMPAT_SETUP_TAKES_SOCK, sk), \
			      cfg)

#define udp_tunnel_sock_release(sk)					\
	udp_tunnel_sock_release(COMPAT_SOCK_FOR(udp_tunnel_sock_release, \
						COMPAT_RELEASE_TAKES_SOCK, sk))

/* Older kernels have a bit field in place of each flag of an IPv6 socket. */
#ifndef inet6_clear_bit
#define COMPAT_CLEAR_MC6_LOOP(sk)	(inet6_sk(sk)->mc_loop = 0)
#define inet6_clear_bit(nr, sk)		COMPAT_CLEAR_##nr(sk)
#endif

static inline struct udp_table *compat_udp_table(const struct net *net)
{
#ifdef COMPAT_HAS_NETNS_UDP_TABLE
	return net->ipv4.udp_table;
#else
	return &udp_table;
#endif
}

#endif /* WEFT_COMPAT_UDP_H */
