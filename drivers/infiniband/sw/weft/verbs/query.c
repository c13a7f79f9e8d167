// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/query.h"

#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include <rdma/weft-abi.h>

#include "compat/placement.h"
#include "compat/t10dif.h"
#include "link/udp.h"
#include "object/av.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/refuse.h"
#include "object/table.h"
#include "object/ucontext.h"
#include "params.h"
#include "pause.h"
#include "stats.h"
#include "verbs/flow.h"
#include "verbs/rss.h"
#include "verbs/speed.h"

/* 4.096 us << 15 is 134 ms: a loaded host may take so long to run the task that responds. */
#define QUERY_CA_ACK_DELAY	15

/* Completion timestamps are in nanoseconds. */
#define QUERY_CLOCK_KHZ		1000000

/* The unit of ib_device_ops.query_port_speed, in Mbit/s. */
#define QUERY_SPEED_UNIT	100

#define QUERY_DEVICE_CAPS \
	(IB_DEVICE_RESIZE_MAX_WR | IB_DEVICE_BAD_QKEY_CNTR | \
	 IB_DEVICE_UD_AV_PORT_ENFORCE | IB_DEVICE_CURR_QP_STATE_MOD | \
	 IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SYS_IMAGE_GUID | \
	 IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_SRQ_RESIZE | IB_DEVICE_MEM_WINDOW | \
	 IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_MEM_MGT_EXTENSIONS | \
	 IB_DEVICE_XRC | IB_DEVICE_PCI_WRITE_END_PADDING | IB_DEVICE_AUTO_PATH_MIG)

/* Capabilities of a port with Ethernet frames. */
#define QUERY_RAW_CAPS \
	(IB_DEVICE_RAW_IP_CSUM | IB_DEVICE_RAW_SCATTER_FCS | IB_DEVICE_MANAGED_FLOW_STEERING)

static u64 query_fw_ver(void)
{
	unsigned int major, minor, patch;

	if (sscanf(WEFT_VERSION, "%u.%u.%u", &major, &minor, &patch) != 3)
		return 0;
	return (u64)major << 32 | minor << 16 | patch;
}

static void query_object_limits(struct ib_device_attr *attr)
{
	attr->max_qp = WEFT_MAX_QP;
	attr->max_qp_wr = WEFT_MAX_QP_WR;
	attr->max_send_sge = WEFT_MAX_SGE;
	attr->max_recv_sge = WEFT_MAX_SGE;
	attr->max_sge_rd = WEFT_MAX_SGE_RD;
	attr->max_cq = WEFT_MAX_CQ;
	attr->max_cqe = WEFT_MAX_CQE;
	attr->max_mr = WEFT_MAX_MR;
	attr->max_mr_size = U64_MAX;
	attr->max_fast_reg_page_list_len = WEFT_MAX_FASTREG_BLOCKS;
	attr->max_mw = WEFT_MAX_MW;
	attr->max_pd = WEFT_MAX_PD;
	attr->max_ah = WEFT_MAX_AH;
	attr->max_srq = WEFT_MAX_SRQ;
	attr->max_srq_wr = WEFT_MAX_SRQ_WR;
	attr->max_srq_sge = WEFT_MAX_SGE;
	attr->max_qp_rd_atom = WEFT_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = WEFT_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = WEFT_MAX_QP * WEFT_MAX_RD_ATOMIC;
	attr->max_mcast_grp = WEFT_MAX_MCAST_GRP;
	attr->max_mcast_qp_attach = WEFT_MAX_MCAST_ATTACH;
	attr->max_total_mcast_qp_attach = WEFT_MAX_MCAST_GRP * WEFT_MAX_MCAST_ATTACH;
}

/* Values without a member of struct ib_device_attr. An older provider knows only the first ones. */
static int query_respond(const struct weft_dev *dev, struct ib_udata *udata)
{
	struct weft_query_device_resp resp = {
		.qp_rate_limit_min = WEFT_MIN_RATE,
		.qp_rate_limit_max = WEFT_MAX_RATE,
		.supported_qpts = BIT(IB_QPT_RC) | BIT(IB_QPT_UC) | BIT(IB_QPT_UD) |
				  BIT(IB_QPT_XRC_INI) |
				  (weft_flow_has_raw(dev) ? BIT(IB_QPT_RAW_PACKET) : 0),
		.max_tso = weft_flow_has_raw(dev) ? WEFT_TSO_MAX_LENGTH : 0,
		.tso_qpts = weft_flow_has_raw(dev) ? BIT(IB_QPT_RAW_PACKET) : 0,
		.rx_hash_fields = weft_flow_has_raw(dev) ? WEFT_RSS_FIELDS : 0,
		.rx_hash_functions = weft_flow_has_raw(dev) ? WEFT_RX_HASH_TOEPLITZ : 0,
	};

	if (!udata || !udata->outlen)
		return 0;
	return ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
}

/* All operations of each transport work with ODP; for example, UD has no WRITE. */
static void query_odp(struct ib_odp_caps *caps)
{
	const u32 datagrams = IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_SRQ_RECV;
	const u32 all = datagrams | IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
			IB_ODP_SUPPORT_ATOMIC | COMPAT_ODP_PLACEMENT_CAPS;

	caps->general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps = all;
	caps->per_transport_caps.xrc_odp_caps = all & ~IB_ODP_SUPPORT_RECV;
	caps->per_transport_caps.uc_odp_caps = datagrams | IB_ODP_SUPPORT_WRITE;
	caps->per_transport_caps.ud_odp_caps = datagrams;
}

/* RAW_PACKET QPs, whose checksums weft computes and verifies, and rules that give them frames. */
static void query_raw(struct ib_device_attr *attr)
{
	attr->device_cap_flags |= QUERY_RAW_CAPS;
	attr->raw_packet_caps = IB_RAW_PACKET_CAP_IP_CSUM | IB_RAW_PACKET_CAP_CVLAN_STRIPPING |
				IB_RAW_PACKET_CAP_SCATTER_FCS;
	attr->max_wq_type_rq = WEFT_MAX_QP;
	attr->rss_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET);
	attr->rss_caps.max_rwq_indirection_tables = WEFT_MAX_RWQ_TABLES;
	attr->rss_caps.max_rwq_indirection_table_size = 1 << WEFT_MAX_LOG_RSS;
}

/* An operation on a tag list is done when its call returns: any number may be under way. */
static void query_tags(struct ib_tm_caps *caps)
{
	caps->max_rndv_hdr_size = WEFT_MAX_RNDV_HEADER;
	caps->max_num_tags = WEFT_MAX_TAGS;
	caps->flags = IB_TM_CAP_RNDV_RC;
	caps->max_ops = WEFT_MAX_TAG_OPS;
	caps->max_sge = 1;
}

/* ib_alloc_mr_integrity() gives this to kernel consumers. */
static void query_integrity(struct ib_device_attr *attr)
{
	if (!COMPAT_INTEGRITY_CAPS)
		return;
	attr->max_pi_fast_reg_page_list_len = WEFT_MAX_FASTREG_BLOCKS;
	attr->sig_prot_cap = IB_PROT_T10DIF_TYPE_1 | IB_PROT_T10DIF_TYPE_2 | IB_PROT_T10DIF_TYPE_3;
	attr->sig_guard_cap = IB_GUARD_T10DIF_CRC | IB_GUARD_T10DIF_CSUM;
}

/* The provider for rdma_rxe has no verbs for this. */
static void query_hide_from_rxe(struct ib_device_attr *attr)
{
	attr->device_cap_flags &= ~(IB_DEVICE_XRC | IB_DEVICE_AUTO_PATH_MIG | QUERY_RAW_CAPS);
	attr->raw_packet_caps = 0;
	attr->max_wq_type_rq = 0;
	memset(&attr->rss_caps, 0, sizeof(attr->rss_caps));
	memset(&attr->tm_caps, 0, sizeof(attr->tm_caps));
	memset(&attr->cq_caps, 0, sizeof(attr->cq_caps));
	attr->odp_caps.per_transport_caps.xrc_odp_caps = 0;
	attr->max_dm_size = 0;
	attr->timestamp_mask = 0;
	attr->hca_core_clock = 0;
}

int weft_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata)
{
	int ret = weft_udata_empty(udata);

	if (ret)
		return weft_refuse_request(ibdev, ret, "query device", udata);
	memset(attr, 0, sizeof(*attr));
	query_object_limits(attr);
	attr->max_pkeys = to_weft_dev(ibdev)->hca ? WEFT_IB_PKEYS : WEFT_PKEY_TBL_LEN;
	attr->fw_ver = query_fw_ver();
	attr->sys_image_guid = to_weft_dev(ibdev)->guid;
	attr->vendor_id = WEFT_VENDOR_ID;
	attr->vendor_part_id = WEFT_PART_ID;
	attr->hw_ver = WEFT_HW_VER;
	attr->page_size_cap = GENMASK_ULL(31, PAGE_SHIFT);
	attr->device_cap_flags = QUERY_DEVICE_CAPS | COMPAT_PLACEMENT_CAPS;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY |
				 IBK_SG_GAPS_REG | IBK_ON_DEMAND_PAGING | COMPAT_INTEGRITY_CAPS;
	query_integrity(attr);
	if (to_weft_dev(ibdev)->hca) {
		attr->device_cap_flags |= IB_DEVICE_UD_IP_CSUM | IB_DEVICE_MANAGED_FLOW_STEERING;
		attr->kernel_cap_flags |= IBK_UD_TSO;
	}
	if (weft_flow_has_raw(to_weft_dev(ibdev)))
		query_raw(attr);
	query_odp(&attr->odp_caps);
	query_tags(&attr->tm_caps);
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->masked_atomic_cap = attr->atomic_cap;
	attr->local_ca_ack_delay = QUERY_CA_ACK_DELAY;
	attr->max_dm_size = WEFT_MAX_DM_SIZE;
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = QUERY_CLOCK_KHZ;
	/* the provider for rdma_rxe wants no response */
	if (to_weft_dev(ibdev)->rxe && udata && !udata->outlen)
		query_hide_from_rxe(attr);
	return query_respond(to_weft_dev(ibdev), udata);
}

/* The version of the driver. */
void weft_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, WEFT_VERSION, IB_FW_VERSION_NAME_MAX);
}

/* Only the node description can be modified, else -EOPNOTSUPP. */
int weft_modify_device(struct ib_device *ibdev, int mask,
		       struct ib_device_modify *modify)
{
	struct weft_notice notice = weft_notice_local_change(IB_NOTICE_TRAP_NODE_DESC_CHG);
	struct weft_hca *hca = to_weft_dev(ibdev)->hca;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return weft_refuse(ibdev, -EOPNOTSUPP,
				   "modify device: only the node description can be modified");
	if (!(mask & IB_DEVICE_MODIFY_NODE_DESC))
		return 0;
	memcpy(ibdev->node_desc, modify->node_desc, sizeof(ibdev->node_desc));
	if (hca)
		weft_traps_raise(&hca->traps, &notice);
	return 0;
}

static u8 query_phys_state(const struct weft_dev *dev)
{
	if (weft_dev_port_active(dev))
		return IB_PORT_PHYS_STATE_LINK_UP;
	if (netif_running(dev->ndev))
		return IB_PORT_PHYS_STATE_POLLING;
	return IB_PORT_PHYS_STATE_DISABLED;
}

static enum ib_mtu query_mtu(const struct net_device *ndev)
{
	enum ib_mtu mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));

	/* InfiniBand has no value for an MTU that is too small for any packet */
	return mtu ? mtu : IB_MTU_256;
}

/* Takes RTNL. */
int weft_query_port(struct ib_device *ibdev, u32 port_num,
		    struct ib_port_attr *attr)
{
	struct weft_dev *dev = to_weft_dev(ibdev);

	if (weft_check_port(ibdev, "query port", port_num))
		return -EINVAL;
	attr->state = READ_ONCE(dev->port_state);
	attr->phys_state = query_phys_state(dev);
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = query_mtu(dev->ndev);
	attr->gid_tbl_len = WEFT_GID_TBL_LEN;
	attr->pkey_tbl_len = WEFT_PKEY_TBL_LEN;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = WEFT_MAX_MSG;
	attr->max_vl_num = 1;
	attr->qkey_viol_cntr = weft_stats_sum(dev, WEFT_STAT_UD_DROPPED_QKEY);
	weft_speed_query(dev, attr);
	return 0;
}

/* The exact speed of the net device in units of 100 Mbit/s; 0: the port is down. Takes RTNL. */
int weft_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed)
{
	struct weft_dev *dev = to_weft_dev(ibdev);
	u64 mbps;

	if (weft_check_port(ibdev, "query port speed", port_num))
		return -EINVAL;
	/* rounded up, because 0 says that the port is down */
	mbps = weft_speed_mbps(dev);
	*speed = weft_dev_port_active(dev) ? DIV_ROUND_UP(mbps, QUERY_SPEED_UNIT) : 0;
	return 0;
}

/* Only the capability bits of the kernel's agents can be modified, else -EOPNOTSUPP. */
int weft_modify_port(struct ib_device *ibdev, u32 port_num, int mask,
		     struct ib_port_modify *modify)
{
	const u32 caps = (modify->set_port_cap_mask | modify->clr_port_cap_mask) &
			 ~(IB_PORT_CM_SUP | IB_PORT_DEVICE_MGMT_SUP);

	if (weft_check_port(ibdev, "modify port", port_num))
		return -EINVAL;
	/* agents of the kernel announce themselves, but nobody reads the bits of a RoCE port */
	if (mask || caps)
		return weft_refuse(ibdev, -EOPNOTSUPP,
				   "modify port: mask %#x, capabilities %#x are not for RoCE",
				   mask, caps);
	return 0;
}

int weft_get_port_immutable(struct ib_device *ibdev, u32 port_num,
			    struct ib_port_immutable *immutable)
{
	if (weft_check_port(ibdev, "get port immutable", port_num))
		return -EINVAL;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = WEFT_GID_TBL_LEN;
	immutable->pkey_tbl_len = WEFT_PKEY_TBL_LEN;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/* Where the core allocates QPs: the node of the net device. */
int weft_get_numa_node(struct ib_device *ibdev)
{
	return dev_to_node(&ibdev->dev);
}

enum rdma_link_layer weft_get_link_layer(struct ib_device *ibdev, u32 port_num)
{
	return IB_LINK_LAYER_ETHERNET;
}

int weft_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *pkey)
{
	if (weft_check_port(ibdev, "query P_Key", port_num) ||
	    weft_check_max(ibdev, "query P_Key", "index", index, WEFT_PKEY_TBL_LEN - 1))
		return -EINVAL;
	*pkey = WEFT_DEFAULT_PKEY;
	return 0;
}

/* A free entry reads as the zero GID. */
int weft_query_gid(struct ib_device *ibdev, u32 port_num, int index,
		   union ib_gid *gid)
{
	const struct weft_gid *entry;

	if (weft_check_port(ibdev, "query GID", port_num) ||
	    weft_check_max(ibdev, "query GID", "index", (u32)index, WEFT_GID_TBL_LEN - 1))
		return -EINVAL;
	rcu_read_lock();
	entry = rcu_dereference(to_weft_dev(ibdev)->gids[index]);
	*gid = entry ? entry->gid : zgid;
	rcu_read_unlock();
	return 0;
}

static void query_set_gid(const struct ib_gid_attr *attr, struct weft_gid *entry)
{
	weft_dev_set_gid(to_weft_dev(attr->device), attr->index, entry);
	/* after the change, so that a new lookup finds it */
	weft_path_changed();
}

/*
 * The core holds the net device, which leaves a namespace before that is freed. Returns the
 * namespace with a reference; NULL if it ends, or if there is no net device.
 */
static struct net *query_gid_net(const struct ib_gid_attr *attr, int *ifindex)
{
	const struct net_device *ndev;
	struct net *net = NULL;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	if (ndev) {
		net = maybe_get_net(dev_net(ndev));
		*ifindex = ndev->ifindex;
	}
	rcu_read_unlock();
	return net;
}

/*
 * entry->net is no reference: the sockets in link/udp.c keep track of the namespace until it ends
 * or they are closed.
 */
int weft_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct weft_gid *entry;
	int ret = -ENODEV;

	if (weft_check_max(attr->device, "add GID", "index", attr->index, WEFT_GID_TBL_LEN - 1))
		return -EINVAL;
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->dev = to_weft_dev(attr->device);
	entry->index = attr->index;
	entry->gid = attr->gid;
	entry->net = query_gid_net(attr, &entry->ifindex);
	if (!entry->net) {
		ret = weft_refuse(attr->device, ret, "add GID: the network namespace is ending");
		goto err_free;
	}
	weft_pause(WEFT_PAUSE_GID_ADD);
	ret = weft_udp_open(entry->net);
	if (!ret)
		query_set_gid(attr, entry);
	put_net(entry->net);
	if (ret)
		goto err_free;
	return 0;

err_free:
	kfree(entry);
	return ret;
}

int weft_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct weft_dev *dev = to_weft_dev(attr->device);
	const struct weft_gid *entry;
	struct net *net;

	if (weft_check_max(attr->device, "delete GID", "index", attr->index,
			   WEFT_GID_TBL_LEN - 1))
		return -EINVAL;
	/* the core serializes the changes of its table */
	entry = rcu_dereference_protected(dev->gids[attr->index], true);
	net = entry ? entry->net : NULL;
	query_set_gid(attr, NULL);
	weft_pause(WEFT_PAUSE_GID_DEL);
	if (net)
		weft_udp_close(net);
	return 0;
}
