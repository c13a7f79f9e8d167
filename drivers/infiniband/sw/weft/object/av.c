// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/av.h"

#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "object/dev.h"
#include "object/table.h"

/* Counts changes of addresses; 0 is no generation. */
static atomic_t path_generation = ATOMIC_INIT(1);

void weft_path_changed(void)
{
	if (!atomic_inc_return(&path_generation))
		atomic_inc(&path_generation);
}

static const struct net *av_net(const struct ib_gid_attr *sgid_attr)
{
	const struct net_device *ndev;
	const struct net *net = NULL;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(sgid_attr);
	if (!IS_ERR(ndev))
		net = dev_net(ndev);
	rcu_read_unlock();
	return net;
}

int weft_av_init(struct weft_av *av, struct weft_dev *dev,
		 const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    rdma_ah_get_port_num(attr) != 1 || !grh->sgid_attr ||
	    grh->flow_label > 0xfffff || rdma_ah_get_sl(attr) > 15)
		return -EINVAL;
	*av = (struct weft_av){
		.sgid = grh->sgid_attr->gid,
		.dgid = grh->dgid,
		.net = av_net(grh->sgid_attr),
		.flow_label = grh->flow_label,
		.sgid_index = grh->sgid_index,
		.hop_limit = grh->hop_limit,
		.traffic_class = grh->traffic_class,
		.sl = rdma_ah_get_sl(attr),
		.static_rate = rdma_ah_get_static_rate(attr),
		.multicast = rdma_is_multicast_addr((struct in6_addr *)grh->dgid.raw),
	};
	av->local = READ_ONCE(dev->local_link) && (av->multicast || weft_av_target(av));
	return 0;
}

void weft_av_to_attr(const struct weft_av *av, struct rdma_ah_attr *attr)
{
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_sl(attr, av->sl);
	rdma_ah_set_static_rate(attr, av->static_rate);
	rdma_ah_set_grh(attr, (union ib_gid *)&av->dgid, av->flow_label,
			av->sgid_index, av->hop_limit, av->traffic_class);
}

u32 weft_av_target(struct weft_av *av)
{
	u32 generation = atomic_read_acquire(&path_generation);

	if (unlikely(av->generation != generation)) {
		av->target = weft_dev_find_gid(av->net, &av->dgid);
		av->generation = generation;
	}
	return av->target;
}
