// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/ib_port.h"

#include <rdma/ib_mad.h>

#include "compat/port_speed.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/refuse.h"
#include "params.h"
#include "verbs/attributes.h"
#include "verbs/mad.h"

/* CapabilityMask bits that the host may change: they announce agents that run at the port. */
#define IBP_AGENTS \
	(IB_PORT_SM | IB_PORT_CM_SUP | IB_PORT_DEVICE_MGMT_SUP | IB_PORT_SNMP_TUNNEL_SUP | \
	 IB_PORT_VENDOR_CLASS_SUP)

/* One lane of SDR, 2.5 Gb/s, in the unit of ib_device_ops.query_port_speed, 100 Mb/s. */
#define IBP_SDR_SPEED	25

static struct weft_ibport *ibp_of(struct ib_device *ibdev)
{
	return &to_weft_dev(ibdev)->hca->port;
}

static void ibp_info(const struct ib_port_info *info, struct ib_port_attr *attr)
{
	attr->state = info->linkspeed_portstate & 15;
	attr->phys_state = info->portphysstate_linkdown >> 4;
	attr->max_mtu = info->inittypereply_mtucap & 15;
	attr->active_mtu = info->neighbormtu_mastersmsl >> 4;
	attr->subnet_prefix = be64_to_cpu(info->gid_prefix);
	attr->port_cap_flags = be32_to_cpu(info->cap_mask);
	attr->bad_pkey_cntr = be16_to_cpu(info->pkey_violations);
	attr->qkey_viol_cntr = be16_to_cpu(info->qkey_violations);
	attr->lid = be16_to_cpu(info->lid);
	attr->sm_lid = be16_to_cpu(info->sm_lid);
	attr->lmc = info->mkeyprot_resv_lmc & 7;
	attr->max_vl_num = info->vlcap_inittype >> 4;
	attr->sm_sl = info->neighbormtu_mastersmsl & 15;
	attr->subnet_timeout = info->clientrereg_resv_subnetto & 31;
	attr->init_type_reply = info->inittypereply_mtucap >> 4;
	attr->active_width = info->link_width_active;
	attr->active_speed = info->linkspeedactive_enabled >> 4;
}

static int ibp_query_port(struct ib_device *ibdev, u32 port_num, struct ib_port_attr *attr)
{
	struct weft_ibport *port = ibp_of(ibdev);
	struct ib_port_info info;
	unsigned long flags;

	if (weft_check_port(ibdev, "query port", port_num))
		return -EINVAL;
	spin_lock_irqsave(&port->lock, flags);
	info = port->info;
	spin_unlock_irqrestore(&port->lock, flags);
	ibp_info(&info, attr);
	attr->gid_tbl_len = WEFT_IB_GUIDS;
	attr->pkey_tbl_len = WEFT_IB_PKEYS;
	attr->max_msg_sz = WEFT_MAX_MSG;
	return 0;
}

/* The value of each speed up to QDR is its multiple of SDR: 1, 2, 4. */
static int __maybe_unused ibp_query_port_speed(struct ib_device *ibdev, u32 port_num,
					       u64 *speed)
{
	struct ib_port_attr attr = {};
	int ret = ibp_query_port(ibdev, port_num, &attr);
	int lanes;

	if (ret)
		return ret;
	lanes = attr.state == IB_PORT_DOWN ? 0 : ib_width_enum_to_int(attr.active_width);
	*speed = lanes * attr.active_speed * IBP_SDR_SPEED;
	return 0;
}

static int ibp_modify_port(struct ib_device *ibdev, u32 port_num, int mask,
			   struct ib_port_modify *modify)
{
	struct weft_ibport *port = ibp_of(ibdev);
	struct weft_notice notice = weft_notice_local_change(0);
	unsigned long flags;
	u32 before, caps;

	if (weft_check_port(ibdev, "modify port", port_num))
		return -EINVAL;
	caps = (modify->set_port_cap_mask | modify->clr_port_cap_mask) & ~IBP_AGENTS;
	if (mask & ~IB_PORT_RESET_QKEY_CNTR || caps)
		return weft_refuse(ibdev, -EOPNOTSUPP,
				   "modify port: mask %#x, capabilities %#x cannot be modified",
				   mask & ~IB_PORT_RESET_QKEY_CNTR, caps);
	spin_lock_irqsave(&port->lock, flags);
	before = be32_to_cpu(port->info.cap_mask);
	caps = (before | modify->set_port_cap_mask) & ~modify->clr_port_cap_mask;
	port->info.cap_mask = cpu_to_be32(caps);
	WRITE_ONCE(port->sm_live, caps & IB_PORT_SM);
	if (mask & IB_PORT_RESET_QKEY_CNTR)
		port->info.qkey_violations = 0;
	spin_unlock_irqrestore(&port->lock, flags);
	if (caps != before)
		weft_traps_raise(&to_weft_dev(ibdev)->hca->traps, &notice);
	return 0;
}

static int ibp_immutable(struct ib_device *ibdev, u32 port_num,
			 struct ib_port_immutable *immutable)
{
	if (weft_check_port(ibdev, "get port immutable", port_num))
		return -EINVAL;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	immutable->gid_tbl_len = WEFT_IB_GUIDS;
	immutable->pkey_tbl_len = WEFT_IB_PKEYS;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer ibp_link_layer(struct ib_device *ibdev, u32 port_num)
{
	return IB_LINK_LAYER_INFINIBAND;
}

static int ibp_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *pkey)
{
	if (weft_check_port(ibdev, "query P_Key", port_num) ||
	    weft_check_max(ibdev, "query P_Key", "index", index, WEFT_IB_PKEYS - 1))
		return -EINVAL;
	*pkey = READ_ONCE(ibp_of(ibdev)->pkeys[index]);
	return 0;
}

/* An entry without a GUID reads as the zero GID. */
static int ibp_query_gid(struct ib_device *ibdev, u32 port_num, int index, union ib_gid *gid)
{
	struct weft_ibport *port = ibp_of(ibdev);
	unsigned long flags;

	if (weft_check_port(ibdev, "query GID", port_num) ||
	    weft_check_max(ibdev, "query GID", "index", (u32)index, WEFT_IB_GUIDS - 1))
		return -EINVAL;
	memset(gid, 0, sizeof(*gid));
	spin_lock_irqsave(&port->lock, flags);
	if (port->guids[index]) {
		gid->global.subnet_prefix = port->info.gid_prefix;
		gid->global.interface_id = port->guids[index];
	}
	spin_unlock_irqrestore(&port->lock, flags);
	return 0;
}

const struct ib_device_ops weft_ib_port_ops = {
	.device_group = &weft_attribute_ib_group,
	.get_link_layer = ibp_link_layer,
	.get_port_immutable = ibp_immutable,
	.modify_port = ibp_modify_port,
	.process_mad = weft_process_mad,
	.query_gid = ibp_query_gid,
	.query_pkey = ibp_query_pkey,
	.query_port = ibp_query_port,
	COMPAT_QUERY_PORT_SPEED(ibp_query_port_speed)
};
