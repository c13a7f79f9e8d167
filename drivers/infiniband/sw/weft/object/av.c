// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/av.h"

#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "fabric/fabric.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/refuse.h"
#include "object/table.h"
#include "ring/rxe.h"

atomic_t weft_path_generation = ATOMIC_INIT(1);

/* After a GID or LID of this host was added or removed: every path is looked up again. */
void weft_path_changed(void)
{
	if (!atomic_inc_return(&weft_path_generation))
		atomic_inc(&weft_path_generation);
}

static void av_set_source(struct weft_av *av, const struct ib_gid_attr *sgid_attr)
{
	const struct net_device *ndev;

	av->sgid = sgid_attr->gid;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(sgid_attr);
	if (!IS_ERR(ndev)) {
		av->net = dev_net(ndev);
		av->ifindex = ndev->ifindex;
	}
	rcu_read_unlock();
}

static void av_set_route(struct weft_av *av, const struct ib_global_route *grh)
{
	av->grh = true;
	av->dgid = grh->dgid;
	/* as adapters do, ignore the bits that the header does not have: UCX sets all 32 */
	av->flow_label = grh->flow_label & IB_GRH_FLOWLABEL_MASK;
	av->sgid_index = grh->sgid_index;
	av->hop_limit = grh->hop_limit;
	av->traffic_class = grh->traffic_class;
}

/*
 * No port has LID 0, so packets to it are lost; the core creates handles for it while there is
 * no subnet manager. Multicast needs a GRH (IBA 7.10).
 */
static int av_init_ib(struct weft_av *av, const struct weft_dev *dev,
		      const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	av->ib = true;
	av->port = &dev->hca->port;
	av->fabric = dev->hca->fabric;
	av->dlid = rdma_ah_get_dlid(attr);
	av->path_bits = rdma_ah_get_path_bits(attr);
	av->multicast = av->dlid >= WEFT_LID_MCAST && av->dlid != WEFT_LID_PERMISSIVE;
	if (av->grh)
		av->sgid = grh->sgid_attr->gid;
	if (av->multicast && !av->grh)
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "ah_attr: dlid %#x is a multicast LID, which needs a GRH",
				   av->dlid);
	return weft_check_max(&dev->ibdev, "ah_attr", "dlid", rdma_ah_get_dlid(attr), U16_MAX) ?:
	       weft_check_max(&dev->ibdev, "ah_attr", "src_path_bits", av->path_bits, 127);
}

/*
 * Set @av->local: decide whether the path uses the local link. weft_av_init() does this for
 * RoCE. For InfiniBand the caller does, as IPoIB and management need packets.
 */
void weft_av_find_peer(struct weft_av *av, const struct weft_dev *dev)
{
	/* only switches know the members of an InfiniBand group, so multicast needs packets */
	av->local = READ_ONCE(dev->local_link) &&
		    (av->multicast ? !av->ib : weft_av_target(av));
}

static void av_init_roce(struct weft_av *av, const struct weft_dev *dev,
			 const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	av->multicast = rdma_is_multicast_addr((struct in6_addr *)grh->dgid.raw);
	av_set_source(av, grh->sgid_attr);
	weft_av_find_peer(av, dev);
}

/*
 * Make an address vector of attributes that the core has checked.
 *
 * Return: 0; -EINVAL: no GRH (which InfiniBand needs for multicast only), no such port or
 * source GID, or a reserved value.
 */
int weft_av_init(struct weft_av *av, struct weft_dev *dev,
		 const struct rdma_ah_attr *attr)
{
	bool has_grh = rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	if (weft_check_port(&dev->ibdev, "ah_attr", rdma_ah_get_port_num(attr)) ||
	    weft_check_max(&dev->ibdev, "ah_attr", "sl", rdma_ah_get_sl(attr), 15))
		return -EINVAL;
	if (has_grh && !grh->sgid_attr)
		return weft_refuse(&dev->ibdev, -EINVAL, "ah_attr: no GID with the sgid_index %u",
				   grh->sgid_index);
	*av = (struct weft_av){
		.sl = rdma_ah_get_sl(attr),
		.static_rate = rdma_ah_get_static_rate(attr),
	};
	if (has_grh)
		av_set_route(av, grh);
	if (dev->hca)
		return av_init_ib(av, dev, attr);
	if (!has_grh)
		return weft_refuse(&dev->ibdev, -EINVAL, "ah_attr: a RoCE port needs a GRH");
	av_init_roce(av, dev, attr);
	return 0;
}

/*
 * weft_av_init() for the vector that an old provider for rdma_rxe, which knows no ids of address
 * handles, copies into each work request. From any context.
 */
int weft_av_from_rxe(struct weft_av *av, struct weft_dev *dev, const struct rxe_av *from)
{
	struct rdma_ah_attr attr = {
		.type = RDMA_AH_ATTR_TYPE_ROCE,
		.port_num = from->port_num,
		.ah_flags = IB_AH_GRH,
		.grh = {
			.flow_label = from->grh.flow_label,
			.sgid_index = from->grh.sgid_index,
			.hop_limit = from->grh.hop_limit,
			.traffic_class = from->grh.traffic_class,
		},
	};
	int ret;

	static_assert(sizeof(attr.grh.dgid) == sizeof(from->grh.dgid));
	memcpy(&attr.grh.dgid, &from->grh.dgid, sizeof(attr.grh.dgid));
	attr.grh.sgid_attr = rdma_get_gid_attr(&dev->ibdev, 1, from->grh.sgid_index);
	if (IS_ERR(attr.grh.sgid_attr))
		return PTR_ERR(attr.grh.sgid_attr);
	ret = weft_av_init(av, dev, &attr);
	rdma_put_gid_attr(attr.grh.sgid_attr);
	return ret;
}

static bool av_is_from(const struct weft_av *av, const struct weft_gid *entry)
{
	return entry && entry->net == av->net && entry->ifindex == av->ifindex &&
	       !READ_ONCE(entry->gone) && !memcmp(&entry->gid, &av->sgid, sizeof(av->sgid));
}

/*
 * RCU read side. The entry of the source address may have another index by now: the core
 * allocates a new one when an address is removed and added again, as all addresses of a bond
 * are on failover.
 */
static const struct weft_gid *av_find_source(const struct weft_av *av,
					     const struct weft_dev *dev)
{
	const struct weft_gid *entry = rcu_dereference(dev->gids[av->sgid_index]);
	u32 i;

	if (likely(av_is_from(av, entry)))
		return entry;
	for (i = 0; i < WEFT_GID_TBL_LEN; i++) {
		entry = rcu_dereference(dev->gids[i]);
		if (av_is_from(av, entry))
			return entry;
	}
	return NULL;
}

/*
 * The namespace by which packets of a path leave, from any context but hard interrupts.
 *
 * Return: for put_net(); NULL: the device does not have the source address any more.
 */
struct net *weft_av_source_net(const struct weft_av *av, struct weft_dev *dev)
{
	const struct weft_gid *entry;
	struct net *net = NULL;

	if (!av->net)
		return NULL;
	rcu_read_lock();
	entry = av_find_source(av, dev);
	if (entry)
		net = maybe_get_net(entry->net);
	rcu_read_unlock();
	return net;
}

/* For query_ah and query_qp. Takes no reference to an sgid_attr. */
void weft_av_to_attr(const struct weft_av *av, struct rdma_ah_attr *attr)
{
	attr->type = av->ib ? RDMA_AH_ATTR_TYPE_IB : RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_sl(attr, av->sl);
	rdma_ah_set_static_rate(attr, av->static_rate);
	if (av->ib) {
		rdma_ah_set_dlid(attr, av->dlid);
		rdma_ah_set_path_bits(attr, av->path_bits);
	}
	if (av->grh)
		rdma_ah_set_grh(attr, (union ib_gid *)&av->dgid, av->flow_label,
				av->sgid_index, av->hop_limit, av->traffic_class);
}

/* Slow path of weft_av_target(). */
void weft_av_look_up(struct weft_av *av, u32 generation)
{
	av->target = av->ib ? weft_dev_find_lid(av->fabric, av->dlid) :
			      weft_dev_find_gid(av->net, &av->dgid, av->ifindex);
	av->generation = generation;
}

/*
 * InfiniBand: the source LID of a path, with its path bits. The permissive LID while the port
 * has no LID (IBA 14.2.2).
 */
u16 weft_av_source_lid(const struct weft_av *av)
{
	u16 lid = READ_ONCE(av->port->lid);

	return lid ? lid | (av->path_bits & (BIT(READ_ONCE(av->port->lmc)) - 1)) :
		     WEFT_LID_PERMISSIVE;
}

/* InfiniBand part of weft_av_meets(): the LIDs, and the switch or cable between the ports. */
bool weft_av_meets_lids(const struct weft_av *av, const struct weft_av *from)
{
	return av->ib && av->fabric == from->fabric &&
	       av->dlid == weft_av_source_lid(from) &&
	       from->dlid == weft_av_source_lid(av) &&
	       (av->port == from->port || weft_fabric_leads(av->fabric, from->dlid, av->port));
}
