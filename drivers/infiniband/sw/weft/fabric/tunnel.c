// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An underlay that sends frames in UDP, over IPv4 and IPv6, to a list of hosts (peers), which may
 * be behind routers. Datagrams from other addresses are dropped and counted.
 *
 * There is a socket for each address family, which is bound to the net device. So two fabrics in a
 * namespace do not receive each other's datagrams. Datagrams also leave by that net device.
 */
#include "fabric/tunnel.h"

#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "compat/dst_cache.h"
#include "compat/udp.h"
#include "fabric/underlay_addr.h"
#include "inet/ip.h"
#include "inet/port.h"

/* encap_type of struct udp_tunnel_sock_cfg: any value but 0 enables encap_rcv. */
#define TUNNEL_ENCAP_TYPE	1

/* The way to a peer. */
struct tunnel_way {
	struct weft_underlay_addr	to;
	struct dst_cache	cache;	/* the route, and our address */
};

struct tunnel_ways {
	u32			num;
	struct tunnel_way	way[];
};

struct tunnel {
	struct weft_underlay	underlay;
	bool			opened;	/* between open() and close() */
	bool			up;	/* the sockets are open; written under RTNL */
	struct sock		*v4;	/* under RTNL */
	struct sock		*v6;	/* likewise; NULL: the kernel has no IPv6 */
	struct tunnel_ways __rcu *ways;	/* written under RTNL */
	atomic64_t		strangers;	/* datagrams that did not come from a peer */
};

/* How a datagram gets to a peer. Owns a reference to @dst. */
struct tunnel_route {
	struct dst_entry	*dst;
	struct weft_ip_path	ip;
};

static const struct weft_underlay_ops tunnel_ops;

static struct tunnel *tunnel_of(struct weft_underlay *underlay)
{
	return container_of(underlay, struct tunnel, underlay);
}

/*
 * ---- Ways ----
 */

static void ways_free(struct tunnel_ways *ways)
{
	u32 i;

	for (i = 0; i < ways->num; i++)
		dst_cache_destroy(&ways->way[i].cache);
	kfree(ways);
}

static struct tunnel_ways *ways_create(const struct weft_underlay_addrs *peers)
{
	struct tunnel_ways *ways = kzalloc(struct_size(ways, way, peers->num), GFP_KERNEL);
	u32 i;

	if (!ways)
		return NULL;
	ways->num = peers->num;
	for (i = 0; i < peers->num; i++) {
		ways->way[i].to = peers->addr[i];
		if (dst_cache_init(&ways->way[i].cache, GFP_KERNEL)) {
			/* caches that have not been initialized are NULL, which is allowed */
			ways_free(ways);
			return NULL;
		}
	}
	return ways;
}

static struct tunnel_way *ways_find(struct tunnel_ways *ways, const struct weft_underlay_addr *to)
{
	u32 i;

	for (i = 0; i < ways->num; i++)
		if (weft_underlay_addr_equal(&ways->way[i].to, to))
			return &ways->way[i];
	return NULL;
}

static struct tunnel_ways *tunnel_ways_rtnl(const struct tunnel *tunnel)
{
	return rtnl_dereference(tunnel->ways);
}

/*
 * ---- Routes ----
 */

/* The route is kept with the way. A route to an address of this host does not count. */
static struct dst_entry *tunnel_lookup(struct net_device *ndev, struct tunnel_way *way,
				       struct weft_ip_path *ip)
{
	struct dst_entry *dst = weft_ip_route(dev_net(ndev), ip, ndev->ifindex);
	const struct net_device *out;

	if (!dst)
		return NULL;
	out = READ_ONCE(dst->dev);
	if (out != ndev && out->flags & IFF_LOOPBACK) {
		dst_release(dst);
		return NULL;
	}
	if (ip->ipv4)
		dst_cache_set_ip4(&way->cache, dst, weft_ip_v4(&ip->saddr));
	else
		dst_cache_set_ip6(&way->cache, dst, &ip->saddr);
	return dst;
}

static struct dst_entry *tunnel_cached(struct tunnel_way *way, struct weft_ip_path *ip)
{
	struct rtable *rt;
	__be32 saddr;

	if (!ip->ipv4)
		return dst_cache_get_ip6(&way->cache, &ip->saddr);
	rt = dst_cache_get_ip4(&way->cache, &saddr);
	if (!rt)
		return NULL;
	ipv6_addr_set_v4mapped(saddr, &ip->saddr);
	return &rt->dst;
}

/*
 * Find the route to a peer. While the sockets are open the net device is up, so it stays in its
 * namespace. Bottom halves off, RCU read side. Returns the way, with a reference to a route in
 * @route, or NULL if there is none.
 */
static struct tunnel_way *tunnel_route(struct tunnel *tunnel, struct tunnel_way *way,
				       struct tunnel_route *route)
{
	struct net_device *ndev = tunnel->underlay.ndev;

	if (!READ_ONCE(tunnel->up))
		return NULL;
	route->ip = (struct weft_ip_path){
		.daddr = way->to.ip,
		.sport = htons(WEFT_TUNNEL_PORT),
		.dport = htons(WEFT_TUNNEL_PORT),
		.ipv4 = weft_underlay_addr_is_ipv4(&way->to),
	};
	if (!route->ip.ipv4 && !(IS_ENABLED(CONFIG_IPV6) && READ_ONCE(tunnel->v6)))
		return NULL;
	route->dst = tunnel_cached(way, &route->ip) ?: tunnel_lookup(ndev, way, &route->ip);
	return route->dst ? way : NULL;
}

/*
 * ---- Transmission ----
 */

/* Frames have a better checksum than UDP's, but IPv6 requires that one. */
static void tunnel_sum_ipv6(struct sk_buff *skb, const struct weft_ip_path *ip)
{
	u32 length = skb->len - sizeof(struct ipv6hdr);

	udp6_set_csum(false, skb, &ip->saddr, &ip->daddr, length);
}

/* Consumes the reference to the route. */
static void tunnel_output(struct sk_buff *skb, const struct tunnel_route *route)
{
	struct net_device *out = READ_ONCE(route->dst->dev);

	skb_dst_set(skb, route->dst);
	if (skb_cow_head(skb, LL_RESERVED_SPACE(out) + route->dst->header_len +
			 weft_ip_headers(route->ip.ipv4))) {
		kfree_skb(skb);
		return;
	}
	skb->ip_summed = CHECKSUM_NONE;
	weft_ip_push(skb, &route->ip, route->dst, 0);
	if (route->ip.ipv4) {
		ip_local_out(dev_net(out), NULL, skb);
	} else {
		tunnel_sum_ipv6(skb, &route->ip);
		ip6_local_out(dev_net(out), NULL, skb);
	}
}

static void tunnel_xmit(struct tunnel *tunnel, struct tunnel_way *way, struct sk_buff *skb)
{
	struct tunnel_route route;

	if (tunnel_route(tunnel, way, &route))
		tunnel_output(skb, &route);
	else
		kfree_skb(skb);
}

static void tunnel_send(struct weft_underlay *underlay, const struct weft_underlay_addr *to,
			struct sk_buff *skb)
{
	struct tunnel *tunnel = tunnel_of(underlay);
	struct tunnel_way *way;

	local_bh_disable();
	rcu_read_lock();
	way = ways_find(rcu_dereference(tunnel->ways), to);
	if (way)
		tunnel_xmit(tunnel, way, skb);
	else
		kfree_skb(skb);
	rcu_read_unlock();
	local_bh_enable();
}

static void tunnel_send_all(struct weft_underlay *underlay, struct sk_buff *skb)
{
	struct tunnel *tunnel = tunnel_of(underlay);
	struct tunnel_ways *ways;
	struct sk_buff *copy;
	u32 i;

	local_bh_disable();
	rcu_read_lock();
	ways = rcu_dereference(tunnel->ways);
	for (i = 0; i < ways->num; i++) {
		copy = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (copy)
			tunnel_xmit(tunnel, &ways->way[i], copy);
	}
	rcu_read_unlock();
	local_bh_enable();
	consume_skb(skb);
}

/* The MTU of the route includes the path MTU that routers have reported. */
static u32 tunnel_path_mtu(struct tunnel *tunnel, const struct weft_underlay_addr *to)
{
	struct tunnel_route route;
	struct tunnel_way *way;
	u32 mtu = 0;

	local_bh_disable();
	rcu_read_lock();
	way = ways_find(rcu_dereference(tunnel->ways), to);
	if (way && tunnel_route(tunnel, way, &route)) {
		mtu = dst_mtu(route.dst);
		dst_release(route.dst);
	}
	rcu_read_unlock();
	local_bh_enable();
	return mtu;
}

static u32 tunnel_max_frame(struct weft_underlay *underlay, const struct weft_underlay_addr *to)
{
	u32 headers = weft_ip_headers(to && weft_underlay_addr_is_ipv4(to));
	u32 mtu = READ_ONCE(underlay->ndev->mtu);

	if (to)
		mtu = min(mtu, tunnel_path_mtu(tunnel_of(underlay), to));
	return mtu > headers ? mtu - headers : 0;
}

/*
 * ---- Reception ----
 */

/*
 * Datagrams from other addresses, and from another port of a peer, are dropped as strangers. But
 * any user on the host of a peer may be able to send from the right port, so a match is no proof.
 * Therefore nothing has an effect without a nonce that only the kernel there has been told
 * (fabric/peer.h).
 */
static bool tunnel_is_peer(struct tunnel *tunnel, const struct sk_buff *skb,
			   const struct weft_underlay_addr *from)
{
	return udp_hdr(skb)->source == htons(WEFT_TUNNEL_PORT) &&
	       ways_find(rcu_dereference(tunnel->ways), from);
}

/* @skb begins with the UDP header, in one piece. Soft interrupt, RCU read side. */
static int tunnel_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct tunnel *tunnel = rcu_dereference_sk_user_data(sk);
	struct weft_underlay_addr from;

	if (!tunnel)
		goto out_free;
	if (sk->sk_family == AF_INET)
		weft_underlay_addr_set_ipv4(&from, ip_hdr(skb)->saddr);
	else
		from.ip = ipv6_hdr(skb)->saddr;
	if (!tunnel_is_peer(tunnel, skb, &from)) {
		atomic64_inc(&tunnel->strangers);
		goto out_free;
	}
	__skb_pull(skb, sizeof(struct udphdr));
	/* the frame may be queued for long, and must not hold a socket or a route */
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	tunnel->underlay.receive(tunnel->underlay.context, &from, skb);
	return 0;

out_free:
	kfree_skb(skb);
	return 0;
}

/*
 * ---- Sockets ----
 */

static struct sock *tunnel_sock_create(struct tunnel *tunnel, int family)
{
	struct net_device *ndev = tunnel->underlay.ndev;
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(WEFT_TUNNEL_PORT),
		.bind_ifindex = ndev->ifindex,
		.use_udp6_rx_checksums = true,
		.ipv6_v6only = true,
	};
	struct udp_tunnel_sock_cfg config = {
		.sk_user_data = tunnel,
		.encap_type = TUNNEL_ENCAP_TYPE,
		.encap_rcv = tunnel_rcv,
	};
	struct socket *sock;
	int ret;

	ret = udp_sock_create(dev_net(ndev), &port, &sock);
	if (ret)
		return ERR_PTR(ret);
	setup_udp_tunnel_sock(dev_net(ndev), sock->sk, &config);
	return sock->sk;
}

static bool tunnel_no_ipv6(const struct sock *sk)
{
	return PTR_ERR(sk) == -EAFNOSUPPORT || PTR_ERR(sk) == -EPFNOSUPPORT;
}

static int tunnel_sockets_open(struct tunnel *tunnel)
{
	struct sock *v4, *v6;

	v4 = tunnel_sock_create(tunnel, AF_INET);
	if (IS_ERR(v4))
		return PTR_ERR(v4);
	v6 = tunnel_sock_create(tunnel, AF_INET6);
	if (IS_ERR(v6) && !tunnel_no_ipv6(v6)) {
		udp_tunnel_sock_release(v4);
		synchronize_net();
		return PTR_ERR(v6);
	}
	tunnel->v4 = v4;
	WRITE_ONCE(tunnel->v6, IS_ERR(v6) ? NULL : v6);
	WRITE_ONCE(tunnel->up, true);
	return 0;
}

static int tunnel_start(struct tunnel *tunnel)
{
	int ret = tunnel_sockets_open(tunnel);

	if (ret == -EADDRINUSE)
		weft_port_taken(dev_net(tunnel->underlay.ndev), WEFT_TUNNEL_PORT,
				tunnel->underlay.ndev->ifindex);
	else if (ret)
		netdev_warn(tunnel->underlay.ndev, "weft: no UDP port %u for InfiniBand: %d\n",
			    WEFT_TUNNEL_PORT, ret);
	return ret;
}

static void tunnel_stop(struct tunnel *tunnel)
{
	struct tunnel_ways *ways = rcu_dereference_protected(tunnel->ways, true);
	u32 i;

	WRITE_ONCE(tunnel->up, false);
	udp_tunnel_sock_release(tunnel->v4);
	if (tunnel->v6)
		udp_tunnel_sock_release(tunnel->v6);
	/* wait until no frame is being sent or received on any CPU */
	synchronize_net();
	tunnel->v4 = NULL;
	tunnel->v6 = NULL;
	/* the cached routes are those of the present namespace */
	for (i = 0; i < ways->num; i++)
		dst_cache_reset_now(&ways->way[i].cache);
}

static int tunnel_open(struct weft_underlay *underlay)
{
	struct tunnel *tunnel = tunnel_of(underlay);
	int ret = 0;

	ASSERT_RTNL();
	if (underlay->ndev->flags & IFF_UP)
		ret = tunnel_start(tunnel);
	tunnel->opened = !ret;
	return ret;
}

static void tunnel_close(struct weft_underlay *underlay)
{
	struct tunnel *tunnel = tunnel_of(underlay);

	if (tunnel->up)
		tunnel_stop(tunnel);
	tunnel->opened = false;
}

/*
 * The sockets are open only while the net device is up, so none is left behind when it moves to
 * another namespace. After an error the next update tries again.
 */
static void tunnel_update(struct weft_underlay *underlay)
{
	struct tunnel *tunnel = tunnel_of(underlay);
	bool up = underlay->ndev->flags & IFF_UP;

	ASSERT_RTNL();
	if (up && !tunnel->up)
		tunnel_start(tunnel);
	else if (!up && tunnel->up)
		tunnel_stop(tunnel);
}

static void tunnel_destroy(struct weft_underlay *underlay)
{
	struct tunnel *tunnel = tunnel_of(underlay);

	WARN_ON(tunnel->opened);
	ways_free(rcu_dereference_protected(tunnel->ways, true));
	kfree(tunnel);
}

static const struct weft_underlay_ops tunnel_ops = {
	.open = tunnel_open,
	.close = tunnel_close,
	.update = tunnel_update,
	.send = tunnel_send,
	.send_all = tunnel_send_all,
	.max_frame = tunnel_max_frame,
	.destroy = tunnel_destroy,
	.head = sizeof(struct ipv6hdr) + sizeof(struct udphdr),
};

/*
 * Make an underlay whose frames leave and arrive by @ndev. On the loopback device it is idle. The
 * address of this host may be among the peers, and is ignored. Sleeps; returns NULL without memory.
 */
struct weft_underlay *weft_tunnel_create(struct net_device *ndev,
					 const struct weft_underlay_addrs *peers)
{
	struct tunnel *tunnel = kzalloc(sizeof(*tunnel), GFP_KERNEL);
	struct tunnel_ways *ways = ways_create(peers);

	if (!tunnel || !ways) {
		kfree(tunnel);
		if (ways)
			ways_free(ways);
		return NULL;
	}
	tunnel->underlay.ops = &tunnel_ops;
	tunnel->underlay.ndev = ndev;
	tunnel->underlay.idle = ndev->flags & IFF_LOOPBACK;
	rcu_assign_pointer(tunnel->ways, ways);
	return &tunnel->underlay;
}
WEFT_EXPORT_FOR_TEST(weft_tunnel_create);

/* Was the underlay made by weft_tunnel_create()? */
bool weft_underlay_is_tunnel(const struct weft_underlay *underlay)
{
	return underlay->ops == &tunnel_ops;
}
WEFT_EXPORT_FOR_TEST(weft_underlay_is_tunnel);

/* Datagrams of hosts that are not peers any more are dropped. RTNL is held; sleeps. */
int weft_tunnel_set_peers(struct weft_underlay *underlay, const struct weft_underlay_addrs *peers)
{
	struct tunnel *tunnel = tunnel_of(underlay);
	struct tunnel_ways *ways = ways_create(peers), *old = tunnel_ways_rtnl(tunnel);

	if (!ways)
		return -ENOMEM;
	rcu_assign_pointer(tunnel->ways, ways);
	synchronize_net();
	ways_free(old);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_tunnel_set_peers);

/* RTNL is held. */
void weft_tunnel_get_peers(struct weft_underlay *underlay, struct weft_underlay_addrs *peers)
{
	const struct tunnel_ways *ways = tunnel_ways_rtnl(tunnel_of(underlay));
	u32 i;

	for (i = 0; i < ways->num; i++)
		peers->addr[i] = ways->way[i].to;
	peers->num = ways->num;
}
WEFT_EXPORT_FOR_TEST(weft_tunnel_get_peers);

/* Number of datagrams that were dropped because they did not come from a peer. */
u64 weft_tunnel_strangers(struct weft_underlay *underlay)
{
	return atomic64_read(&tunnel_of(underlay)->strangers);
}
WEFT_EXPORT_FOR_TEST(weft_tunnel_strangers);
