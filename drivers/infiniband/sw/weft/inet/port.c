// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "inet/port.h"

#include <linux/cred.h>
#include <linux/net.h>
#include <linux/udp.h>
#include <linux/uidgid.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/udp.h>

#include "compat/udp.h"

static bool port_conflicts(const struct sock *sk, const struct net *net, u16 port, int ifindex)
{
	int bound = READ_ONCE(sk->sk_bound_dev_if);

	return net_eq(sock_net(sk), net) && inet_sk(sk)->inet_num == port &&
	       (!bound || !ifindex || bound == ifindex);
}

/*
 * A socket that the kernel receives from has a function in another module, whose name tells more
 * than anything else: that of rdma_rxe, VXLAN or L2TP, for instance. The kernel does not know which
 * process has a socket, but ss(8) does.
 */
static void port_describe(const struct sock *sk, u32 inum, u16 port)
{
	void *receive = READ_ONCE(udp_sk(sk)->encap_rcv);

	if (receive)
		pr_warn("weft: UDP port %u of network namespace %u is taken by %ps of the kernel: remove the device or tunnel that this belongs to\n",
			port, inum, receive);
	else if (sk->sk_socket && sk->sk_socket->file)
		pr_warn("weft: UDP port %u of network namespace %u is taken by a process of user %u: 'ss -aunp sport = :%u' there shows which\n",
			port, inum, from_kuid_munged(&init_user_ns, READ_ONCE(sk->sk_uid)), port);
	else
		pr_warn("weft: UDP port %u of network namespace %u is taken by a socket of the kernel: unload the module that it belongs to\n",
			port, inum);
}

/*
 * Log which socket keeps weft from binding the UDP port, for all interfaces if @ifindex is 0.
 * For an administrator, who learns from "rdma link add" only that an address is in use.
 */
void weft_port_taken(struct net *net, u16 port, int ifindex)
{
	struct udp_hslot *slot = udp_hashslot(compat_udp_table(net), net, port);
	bool found = false;
	struct sock *sk;

	/* a socket leaves the slot before its struct socket and its file are freed */
	spin_lock_bh(&slot->lock);
	sk_for_each(sk, &slot->head) {
		if (!port_conflicts(sk, net, port, ifindex))
			continue;
		port_describe(sk, net->ns.inum, port);
		found = true;
		break;
	}
	spin_unlock_bh(&slot->lock);
	if (!found)
		pr_warn("weft: UDP port %u of network namespace %u was taken, and is free now: try again\n",
			port, net->ns.inum);
}
