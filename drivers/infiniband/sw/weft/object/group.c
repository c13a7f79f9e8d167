// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * IP multicast memberships of a net device, which make the net device receive the frames of a
 * group, and tell routers and switches about it (IGMP, MLD). They may be lost at any time, and
 * are joined again.
 *
 * IP keeps memberships in the in_device or inet6_dev of the net device. They are lost when IP
 * removes that configuration: when the MTU becomes too small for the family, or the net device
 * moves to another namespace. Then they are joined again in the next configuration. Only what
 * was joined in the present configuration is left again; other memberships there are not ours.
 */
#include "object/group.h"

#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ipv6.h>

static const struct in6_addr *group_address(const struct weft_membership *membership)
{
	return (const struct in6_addr *)membership->mgid.raw;
}

static __be32 group_address_ipv4(const struct weft_membership *membership)
{
	return group_address(membership)->s6_addr32[3];
}

static bool group_is_ipv4(const struct weft_membership *membership)
{
	return ipv6_addr_v4mapped(group_address(membership)) &&
	       ipv4_is_multicast(group_address_ipv4(membership));
}

static bool group_is_ipv6(const struct weft_membership *membership)
{
	return IS_ENABLED(CONFIG_IPV6) &&
	       ipv6_addr_is_multicast(group_address(membership));
}

static int group_enter_ipv4(struct weft_groups *groups, struct weft_membership *membership)
{
	if (!groups->in_dev)
		return -ENODEV;
	ip_mc_inc_group(groups->in_dev, group_address_ipv4(membership));
	list_move_tail(&membership->node, &groups->ipv4.joined);
	return 0;
}

static int group_enter_ipv6(struct weft_groups *groups, struct weft_membership *membership)
{
	int ret;

	if (!groups->in6_dev)
		return -ENODEV;
	ret = ipv6_dev_mc_inc(groups->ndev, group_address(membership));
	if (!ret)
		list_move_tail(&membership->node, &groups->ipv6.joined);
	return ret;
}

static int group_enter(struct weft_groups *groups, struct weft_membership *membership)
{
	int ret = -EINVAL;

	if (group_is_ipv4(membership))
		ret = group_enter_ipv4(groups, membership);
	else if (group_is_ipv6(membership))
		ret = group_enter_ipv6(groups, membership);
	membership->joined = !ret;
	return ret;
}

static void group_quit(struct weft_groups *groups, struct weft_membership *membership)
{
	if (group_is_ipv4(membership))
		ip_mc_dec_group(groups->in_dev, group_address_ipv4(membership));
	else if (IS_ENABLED(CONFIG_IPV6))
		ipv6_dev_mc_dec(groups->ndev, group_address(membership));
}

/* The configuration that kept the joined memberships has been removed. */
static void memberships_lose(struct weft_memberships *memberships)
{
	struct weft_membership *membership;

	list_for_each_entry(membership, &memberships->joined, node)
		membership->joined = false;
	list_splice_tail_init(&memberships->joined, &memberships->lost);
}

static void groups_look_ipv4(struct weft_groups *groups)
{
	struct in_device *present = __in_dev_get_rtnl(groups->ndev);
	struct in_device *before = groups->in_dev;

	if (present == before)
		return;
	memberships_lose(&groups->ipv4);
	if (present)
		in_dev_hold(present);
	groups->in_dev = present;
	if (before)
		in_dev_put(before);
}

static void groups_look_ipv6(struct weft_groups *groups)
{
	struct inet6_dev *present = __in6_dev_get(groups->ndev);
	struct inet6_dev *before = groups->in6_dev;

	if (present == before)
		return;
	memberships_lose(&groups->ipv6);
	if (present)
		in6_dev_hold(present);
	groups->in6_dev = present;
	if (before)
		in6_dev_put(before);
}

/*
 * Compare the configurations of the net device with those at the last look. The reference keeps
 * an old one from being freed, so an equal pointer means the same configuration.
 */
static void groups_look(struct weft_groups *groups)
{
	ASSERT_RTNL();
	groups_look_ipv4(groups);
	if (IS_ENABLED(CONFIG_IPV6))
		groups_look_ipv6(groups);
}

static struct weft_membership *memberships_lost(struct weft_memberships *memberships)
{
	return list_first_entry_or_null(&memberships->lost, struct weft_membership, node);
}

/* A lost membership whose family has a configuration, so that it can be joined again. */
static struct weft_membership *groups_lost(struct weft_groups *groups)
{
	struct weft_membership *lost = NULL;

	if (groups->in_dev)
		lost = memberships_lost(&groups->ipv4);
	if (!lost && groups->in6_dev)
		lost = memberships_lost(&groups->ipv6);
	return lost;
}

/*
 * Look for changes of the net device's configuration, after IP has made them. Drops references
 * to what IP has removed, as the removal of the net device waits for them.
 *
 * Return: whether weft_groups_rejoin() has something to do.
 */
bool weft_groups_look(struct weft_groups *groups)
{
	groups_look(groups);
	return groups_lost(groups);
}

/*
 * After weft_groups_look(), join again at most *@most groups, and subtract their number.
 * Return: 0 or -ENOMEM.
 */
int weft_groups_rejoin(struct weft_groups *groups, u32 *most)
{
	struct weft_membership *lost;
	int ret = 0;

	ASSERT_RTNL();
	while (*most && !ret && (lost = groups_lost(groups))) {
		ret = group_enter(groups, lost);
		--*most;
	}
	return ret;
}

/* @groups is zeroed. @ndev outlives it. Needs no RTNL. */
void weft_groups_init(struct weft_groups *groups, struct net_device *ndev)
{
	groups->ndev = ndev;
	INIT_LIST_HEAD(&groups->ipv4.joined);
	INIT_LIST_HEAD(&groups->ipv4.lost);
	INIT_LIST_HEAD(&groups->ipv6.joined);
	INIT_LIST_HEAD(&groups->ipv6.lost);
}

/* Drop the references of @groups, which has no membership left. */
void weft_groups_put(struct weft_groups *groups)
{
	if (groups->in_dev)
		in_dev_put(groups->in_dev);
	if (groups->in6_dev)
		in6_dev_put(groups->in6_dev);
}

static int memberships_each(struct weft_memberships *memberships,
			    int (*visit)(struct weft_membership *membership, void *arg),
			    void *arg)
{
	struct weft_membership *membership, *next;
	int ret;

	list_for_each_entry_safe(membership, next, &memberships->joined, node) {
		ret = visit(membership, arg);
		if (ret)
			return ret;
	}
	list_for_each_entry_safe(membership, next, &memberships->lost, node) {
		ret = visit(membership, arg);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Call @visit for each membership, joined or lost, until it returns nonzero. It may end that
 * membership. Return: the last value of @visit, or 0.
 */
int weft_groups_each(struct weft_groups *groups,
		     int (*visit)(struct weft_membership *membership, void *arg), void *arg)
{
	ASSERT_RTNL();
	return memberships_each(&groups->ipv4, visit, arg) ?:
	       memberships_each(&groups->ipv6, visit, arg);
}

/*
 * Let the net device receive packets to group @mgid. IP counts, so others may join the same
 * group. The caller keeps @membership until weft_group_leave().
 *
 * Return: 0; -EINVAL: not a multicast address, or no IPv6; -ENODEV: the net device has no
 * configuration of the family; -ENOMEM.
 */
int weft_group_join(struct weft_groups *groups, struct weft_membership *membership,
		    const union ib_gid *mgid)
{
	membership->mgid = *mgid;
	INIT_LIST_HEAD(&membership->node);
	groups_look(groups);
	return group_enter(groups, membership);
}

/*
 * weft_group_join(), but a failed join counts as lost and is tried again. @mgid is a group that
 * another net device has joined.
 */
void weft_group_await(struct weft_groups *groups, struct weft_membership *membership,
		      const union ib_gid *mgid)
{
	struct weft_memberships *family;

	if (!weft_group_join(groups, membership, mgid))
		return;
	family = group_is_ipv4(membership) ? &groups->ipv4 : &groups->ipv6;
	list_add_tail(&membership->node, &family->lost);
}

/* Undo weft_group_join() or weft_group_await(); the membership may have been lost meanwhile. */
void weft_group_leave(struct weft_groups *groups, struct weft_membership *membership)
{
	groups_look(groups);
	if (membership->joined)
		group_quit(groups, membership);
	list_del(&membership->node);
}
