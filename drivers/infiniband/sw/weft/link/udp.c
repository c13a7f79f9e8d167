// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "link/udp.h"

#include <linux/ip.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/udp.h>
#include <rdma/ib_verbs.h>

#include "compat/udp.h"
#include "engine/rx.h"
#include "inet/port.h"
#include "link/burst.h"
#include "link/gro.h"
#include "link/hook.h"
#include "link/roce_port.h"
#include "link/run.h"
#include "link/uso.h"
#include "object/dev.h"
#include "object/table.h"
#include "stats.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

/* Bytes of the shortest packet, UDP header and ICRC included. */
#define LISTEN_MIN_LENGTH \
	(sizeof(struct udphdr) + sizeof(struct weft_wire_bth) + WEFT_ICRC_LENGTH)
/* Any value but 0 makes UDP call udp_tunnel_sock_cfg.encap_rcv. */
#define LISTEN_ENCAP_TYPE	1

/* Our sockets in a namespace; NULL: the socket is not open. */
struct listen_sockets {
	struct sock __rcu	*v4;
	struct sock __rcu	*v6;
};

/* A namespace with users. */
struct listen_space {
	struct list_head	list;	/* of listen_spaces */
	const struct net	*net;	/* only compared after it has @gone */
	bool			gone;	/* it has ended; another one may have its address by now */
	u32			users;	/* calls of weft_udp_open() that have not been undone */
};

static unsigned int listen_net_id;

/* protects listen_spaces and its entries, and serializes writers of struct listen_sockets */
static DEFINE_MUTEX(listen_mutex);
static LIST_HEAD(listen_spaces);

/* Have the headers in one piece. A payload that is in pages stays there. */
static bool listen_pull_headers(struct sk_buff *skb)
{
	u32 bth = sizeof(struct udphdr) + sizeof(struct weft_wire_bth);
	const struct weft_wire_bth *at;

	if (!pskb_may_pull(skb, min(skb->len, bth)))
		return false;
	if (skb->len <= bth)
		return true;
	at = (const void *)skb->data + sizeof(struct udphdr);
	return pskb_may_pull(skb, clamp_t(u32, sizeof(struct udphdr) +
					       weft_opcode(at->opcode)->length,
					  bth, skb->len));
}

/* Have all that is read later in memory, or readable through page frags. */
static bool listen_pull(struct sk_buff *skb)
{
	const struct skb_shared_info *shared;
	int i;

	if (skb_has_frag_list(skb) && skb_linearize(skb))
		return false;
	shared = skb_shinfo(skb);
	for (i = 0; i < shared->nr_frags; i++)
		if (!skb_frag_page(&shared->frags[i]))
			return false; /* memory of a device */
	return listen_pull_headers(skb);
}

/*
 * The ICRC covers neither IPv4 options nor IPv6 extension headers, so a packet has none. The
 * fragments of a packet cannot be told from a whole packet here: IP gives the reassembled packet
 * the header that it had before.
 */
static bool listen_well_formed(struct sk_buff *skb)
{
	u32 length = be16_to_cpu(udp_hdr(skb)->len);
	u32 network = ip_hdr(skb)->version == 4 ? sizeof(struct iphdr) :
						  sizeof(struct ipv6hdr);

	return skb_network_header_len(skb) == network && length <= skb->len &&
	       length >= LISTEN_MIN_LENGTH && !pskb_trim(skb, length);
}

/* A packet, and if it came with others that @at has, those of its run. */
static void listen_one(const struct net *net, struct sk_buff *skb, struct weft_uso_cursor *at)
{
	struct weft_pkt pkt __uninitialized;

	weft_pkt_init(&pkt, skb, &weft_port_roce, net, NULL);
	if (!listen_pull(skb)) {
		weft_rx_drop(&pkt, WEFT_STAT_RX_NO_MEMORY);
		return;
	}
	if (!listen_well_formed(skb)) {
		weft_rx_drop(&pkt, WEFT_STAT_RX_MALFORMED);
		return;
	}
	__skb_pull(skb, sizeof(struct udphdr));
	if (!weft_rx_accept(&pkt))
		return;
	if (at)
		weft_run_extend(&pkt, at);
	weft_rx_accepted(&pkt);
}

/* Take a buffer apart as UDP does. Returns its packets as a list, or NULL if it was dropped. */
static struct sk_buff *listen_segment(struct sock *sk, struct sk_buff *skb)
{
	bool ipv4 = ip_hdr(skb)->version == 4;
	struct sk_buff *list;

	__skb_push(skb, -skb_mac_offset(skb));
	list = udp_rcv_segment(sk, skb, ipv4);
	for (skb = list; skb; skb = skb->next)
		__skb_pull(skb, skb_transport_offset(skb));
	return list;
}

/* The packets of a buffer of USO, one after the other. */
static void listen_uso(struct sock *sk, struct sk_buff *skb, struct weft_uso_cursor *at)
{
	struct weft_pkt rest __uninitialized;
	struct sk_buff *piece;

	while ((piece = weft_uso_next(at)))
		listen_one(sock_net(sk), piece, at);
	weft_uso_end(at);
	if (likely(weft_uso_is_done(at))) {
		napi_consume_skb(skb, 1);
		return;
	}
	weft_pkt_init(&rest, skb, &weft_port_roce, sock_net(sk), NULL);
	weft_rx_drop(&rest, WEFT_STAT_RX_NO_MEMORY);
}

/* The packets of a list. */
static void listen_list(struct sock *sk, struct sk_buff *skb)
{
	struct sk_buff *next;

	skb_list_walk_safe(skb, skb, next) {
		skb_mark_not_on_list(skb);
		listen_one(sock_net(sk), skb, NULL);
	}
}

/*
 * A packet, or several as one buffer, have arrived. Its data begin with the UDP header, and its
 * checksum (if it has one) is verified. Soft interrupt, RCU read side.
 */
static int listen_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct weft_uso_cursor at;

	if (likely(!skb_is_gso(skb)))
		listen_one(sock_net(sk), skb, NULL);
	else if (skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST)
		listen_list(sk, weft_burst_open(skb) ? skb : listen_segment(sk, skb));
	else if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4 && weft_uso_open(&at, skb))
		listen_uso(sk, skb, &at);
	else
		listen_list(sk, listen_segment(sk, skb));
	return 0;
}

/*
 * Did we send the packet that an ICMP error is about? The kernel learns from the error (the MTU of
 * the path, for example) only if a socket claims the packet. No socket has sent it, so any packet
 * to our port from a source port of RoCEv2 counts as ours.
 */
static int listen_err_lookup(struct sock *sk, struct sk_buff *skb)
{
	return be16_to_cpu(udp_hdr(skb)->source) < IB_ROCE_UDP_ENCAP_VALID_PORT_MIN ?
	       -ENOENT : 0;
}

static struct sock *listen_create(struct net *net, int family)
{
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = cpu_to_be16(ROCE_V2_UDP_DPORT),
		/* without UDP checksums: the ICRC is better */
		.ipv6_v6only = true,
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = LISTEN_ENCAP_TYPE,
		.encap_rcv = listen_rcv,
		.encap_err_lookup = listen_err_lookup,
		.gro_receive = weft_gro_receive,
		.gro_complete = weft_gro_complete,
	};
	struct socket *sock;
	int ret;

	ret = udp_sock_create(net, &port, &sock);
	if (ret)
		return ERR_PTR(ret);
	/* for IPv4 setup_udp_tunnel_sock() does it */
	if (family == AF_INET6)
		inet6_clear_bit(MC6_LOOP, sock->sk);
	setup_udp_tunnel_sock(net, sock->sk, &tunnel);
	/* receive bursts as they are */
	udp_allow_gso(sock->sk);
	/* nothing inside of a packet uses a checksum of the whole, so UDP need not compute one */
	inet_dec_convert_csum(sock->sk);
	return sock->sk;
}

static bool listen_no_ipv6(const struct sock *sk)
{
	return PTR_ERR(sk) == -EAFNOSUPPORT || PTR_ERR(sk) == -EPFNOSUPPORT;
}

static int listen_sockets_open(struct net *net)
{
	struct listen_sockets *sockets = net_generic(net, listen_net_id);
	struct sock *v4, *v6;
	int ret;

	lockdep_assert_held(&listen_mutex);
	ret = weft_hook_open(net);
	if (ret)
		return ret;
	v4 = listen_create(net, AF_INET);
	if (IS_ERR(v4)) {
		ret = PTR_ERR(v4);
		goto close_hook;
	}
	v6 = listen_create(net, AF_INET6);
	if (IS_ERR(v6) && !listen_no_ipv6(v6)) {
		ret = PTR_ERR(v6);
		goto release_v4;
	}
	rcu_assign_pointer(sockets->v4, v4);
	rcu_assign_pointer(sockets->v6, IS_ERR(v6) ? NULL : v6);
	return 0;

release_v4:
	udp_tunnel_sock_release(v4);
close_hook:
	weft_hook_close(net);
	return ret;
}

static void listen_sockets_close(struct net *net)
{
	struct listen_sockets *sockets = net_generic(net, listen_net_id);
	struct sock *v4, *v6;

	v4 = rcu_replace_pointer(sockets->v4, NULL, lockdep_is_held(&listen_mutex));
	v6 = rcu_replace_pointer(sockets->v6, NULL, lockdep_is_held(&listen_mutex));
	/* readers may still use the sockets: they are freed after a grace period */
	udp_tunnel_sock_release(v4);
	if (v6)
		udp_tunnel_sock_release(v6);
	weft_hook_close(net);
}

static struct listen_space *listen_find(const struct net *net, bool gone)
{
	struct listen_space *space;

	lockdep_assert_held(&listen_mutex);
	list_for_each_entry(space, &listen_spaces, list)
		if (space->net == net && space->gone == gone)
			return space;
	return NULL;
}

static int listen_space_open(struct net *net)
{
	struct listen_space *space = kzalloc(sizeof(*space), GFP_KERNEL);
	int ret;

	if (!space)
		return -ENOMEM;
	ret = listen_sockets_open(net);
	if (ret) {
		kfree(space);
		return ret;
	}
	space->net = net;
	space->users = 1;
	list_add(&space->list, &listen_spaces);
	return 0;
}

/*
 * Receive packets in a namespace, until as many calls of weft_udp_close(). @net is alive, and not
 * kept alive by this. May sleep; RTNL may be held.
 *
 * Returns 0; -EADDRINUSE: another program or driver has the port; -ENOMEM or another error of the
 * sockets. IPv4 is enough if the kernel has no IPv6.
 */
int weft_udp_open(struct net *net)
{
	struct listen_space *space;
	int ret = 0;

	mutex_lock(&listen_mutex);
	space = listen_find(net, false);
	if (space)
		space->users++;
	else
		ret = listen_space_open(net);
	mutex_unlock(&listen_mutex);
	if (ret == -EADDRINUSE)
		weft_port_taken(net, ROCE_V2_UDP_DPORT, 0);
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_udp_open);

/*
 * Undo weft_udp_open(). @net may be gone if its sockets have been closed, so it is only compared.
 * May sleep; RTNL may be held.
 */
void weft_udp_close(struct net *net)
{
	struct listen_space *space;

	mutex_lock(&listen_mutex);
	/*
	 * Another namespace may have the address of one that has ended, and the two users cannot be
	 * told apart. The user of the ended namespace is closed first: so the sockets of the other
	 * one may stay open for too long, but never close too early.
	 */
	space = listen_find(net, true) ?: listen_find(net, false);
	if (!WARN_ON(!space) && !--space->users) {
		if (!space->gone)
			listen_sockets_close(net);
		list_del(&space->list);
		kfree(space);
	}
	mutex_unlock(&listen_mutex);
}
WEFT_EXPORT_FOR_TEST(weft_udp_close);

/*
 * The socket of a namespace for AF_INET or AF_INET6, or NULL. Its multicast loop is off, so packets
 * that are sent with it do not come back. The socket may be used in the RCU read side of the
 * caller. Any context but hard interrupts.
 */
struct sock *weft_udp_sock(const struct net *net, int family)
{
	const struct listen_sockets *sockets = net_generic(net, listen_net_id);

	return rcu_dereference(*(family == AF_INET ? &sockets->v4 : &sockets->v6));
}
WEFT_EXPORT_FOR_TEST(weft_udp_sock);

/* Users may be left, because net devices move out of a namespace that ends. */
static void listen_net_exit(struct net *net)
{
	struct listen_space *space;

	weft_dev_net_gone(net);
	mutex_lock(&listen_mutex);
	space = listen_find(net, false);
	if (space) {
		listen_sockets_close(net);
		space->gone = true;
	}
	mutex_unlock(&listen_mutex);
}

static struct pernet_operations listen_net_ops = {
	.exit = listen_net_exit,
	.id = &listen_net_id,
	.size = sizeof(struct listen_sockets),
};

/* At module load, before there is a device. Returns 0 or -ENOMEM. */
int weft_udp_init(void)
{
	return register_pernet_subsys(&listen_net_ops);
}

/* At module unload, when no user is left. Nothing is received any more when it returns. */
void weft_udp_exit(void)
{
	unregister_pernet_subsys(&listen_net_ops);
	/* a packet may have found its socket just before that was closed */
	synchronize_rcu();
}
