// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The subnet management agent of a node (IBA 14.2), which answers the requests of a subnet
 * manager. Its caller receives and forwards packets, so the agent does not touch the hop pointer
 * of a directed route.
 */
#include "fabric/sma.h"

#include <linux/jiffies.h>
#include <linux/string.h>

#include "fabric/portinfo.h"

/* Entries of a block of P_KeyTable and of GUIDInfo */
#define SMA_PKEYS		32
#define SMA_GUIDS		8

/* M_KeyProtectBits in mkeyprot_resv_lmc, and the least value that protects Get, too */
#define SMA_MKEY_PROT_SHIFT	6
#define SMA_MKEY_PROT_READ	2

/* Blocks of VLArbitrationTable: the lower halves of the low and the high priority table */
#define SMA_VLARB_LOW		1
#define SMA_VLARB_HIGH		3

/* A Get or Set that is being answered. */
struct sma_request {
	struct weft_ibnode	*node;
	u8			in_port;
	struct ib_smp		*smp;	/* the request, which becomes the response */
	u32			mod;	/* attribute modifier */
	struct weft_sma_effect	*effect;
	bool			gone;	/* the response has no way back */
};

static bool sma_is_switch(const struct sma_request *req)
{
	return req->node->type == WEFT_NODE_SWITCH;
}

static bool sma_is_set(const struct sma_request *req)
{
	return req->smp->method == IB_MGMT_METHOD_SET;
}

static struct weft_ibport *sma_port(const struct weft_ibnode *node, u32 num)
{
	return num <= node->num_ports ? node->port[num] : NULL;
}

/* The endport, with the LID, the M_Key and the tables. */
static struct weft_ibport *sma_own_port(const struct weft_ibnode *node, u8 in_port)
{
	return sma_port(node, node->type == WEFT_NODE_SWITCH ? 0 : in_port);
}

static void sma_changed(struct sma_request *req, struct weft_ibport *port, u32 events)
{
	if (!events)
		return;
	req->effect->port = port;
	req->effect->events = events;
}

static u16 sma_node_desc(struct sma_request *req)
{
	memcpy(req->smp->data, req->node->desc, sizeof(req->smp->data));
	return 0;
}

static u16 sma_node_info(struct sma_request *req)
{
	const struct weft_ibnode *node = req->node;
	struct ib_node_info info = {
		.base_version = IB_MGMT_BASE_VERSION,
		.class_version = 1,
		.node_type = node->type,
		.num_ports = node->num_ports,
		.sys_guid = node->guid,
		.node_guid = node->guid,
		.port_guid = sma_own_port(node, req->in_port)->guid,
		.partition_cap = cpu_to_be16(WEFT_IB_PKEYS),
		.device_id = cpu_to_be16(node->device_id),
		.revision = cpu_to_be32(node->revision),
		.local_port_num = req->in_port,
		.vendor_id = { node->vendor_id >> 16, node->vendor_id >> 8, node->vendor_id },
	};

	memcpy(req->smp->data, &info, sizeof(info));
	return 0;
}

static u16 sma_guid_info(struct sma_request *req)
{
	struct weft_ibport *port = sma_own_port(req->node, req->in_port);
	__be64 set[SMA_GUIDS], *guids;
	unsigned long flags;
	u32 events = 0;

	if (req->mod >= WEFT_IB_GUIDS / SMA_GUIDS)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	memcpy(set, req->smp->data, sizeof(set));
	spin_lock_irqsave(&port->lock, flags);
	guids = &port->guids[req->mod * SMA_GUIDS];
	if (!req->mod)
		set[0] = guids[0];
	if (sma_is_set(req) && memcmp(guids, set, sizeof(set))) {
		memcpy(guids, set, sizeof(set));
		events = WEFT_IBPORT_GID;
	}
	memcpy(req->smp->data, guids, sizeof(set));
	spin_unlock_irqrestore(&port->lock, flags);
	sma_changed(req, port, events);
	return 0;
}

/* Does a Set disable the port that its response would leave by? The port is disabled at once. */
static bool sma_is_cut_off(const struct sma_request *req, const struct weft_ibport *port,
			   const struct ib_port_info *set)
{
	const struct ib_smp *smp = req->smp;

	if (set->portphysstate_linkdown >> 4 != IB_PORT_PHYS_STATE_DISABLED)
		return false;
	/* a request without hops comes from this node */
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE && !smp->hop_cnt &&
	    smp->dr_slid == cpu_to_be16(WEFT_LID_PERMISSIVE))
		return false;
	return port->num && port->num == req->in_port;
}

static u8 sma_mkey_prot(const struct ib_port_info *info)
{
	return info->mkeyprot_resv_lmc >> SMA_MKEY_PROT_SHIFT;
}

static u16 sma_port_info(struct sma_request *req)
{
	/* only subnet managers that know of extended speeds set the highest bit */
	u8 num = req->mod & 0xff;
	struct weft_ibport *port;
	struct ib_port_info info;
	unsigned long flags;
	bool valid = true;
	u32 events = 0;

	port = num ? sma_port(req->node, num) : sma_own_port(req->node, req->in_port);
	if (!port)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	memcpy(&info, req->smp->data, sizeof(info));
	spin_lock_irqsave(&port->lock, flags);
	if (sma_is_set(req)) {
		valid = weft_portinfo_set(req->node, port, &info, &events);
		req->gone = valid && sma_is_cut_off(req, port, &info);
	}
	weft_portinfo_get(req->node, port, &info);
	spin_unlock_irqrestore(&port->lock, flags);
	if (!sma_is_set(req) && sma_mkey_prot(&info) && info.mkey != req->smp->mkey)
		info.mkey = 0;
	/* IBA o14-12.2.1: the response to this Set has ClientReregister, and no later Get */
	if (events & WEFT_IBPORT_REREGISTER)
		info.clientrereg_resv_subnetto |= WEFT_PORTINFO_REREGISTER;
	info.local_port_num = req->in_port;
	memcpy(req->smp->data, &info, sizeof(info));
	sma_changed(req, port, events);
	return valid ? 0 : IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
}

static bool sma_set_pkeys(u16 *pkeys, const __be16 *set)
{
	bool changed = false;
	int i;

	for (i = 0; i < SMA_PKEYS; i++) {
		if (pkeys[i] == be16_to_cpu(set[i]))
			continue;
		WRITE_ONCE(pkeys[i], be16_to_cpu(set[i]));
		changed = true;
	}
	return changed;
}

/* Each port of a switch has a table. The tables of external ports are for partition enforcement. */
static struct weft_ibport *sma_pkey_port(const struct sma_request *req)
{
	if (sma_is_switch(req))
		return sma_port(req->node, req->mod >> 16);
	return sma_own_port(req->node, req->in_port);
}

static u16 sma_pkey_table(struct sma_request *req)
{
	struct weft_ibport *port = sma_pkey_port(req);
	u32 block = req->mod & 0xffff;
	__be16 set[SMA_PKEYS];
	unsigned long flags;
	u32 events = 0;
	u16 *pkeys;
	int i;

	if (!port || block >= WEFT_IB_PKEYS / SMA_PKEYS)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	pkeys = &port->pkeys[block * SMA_PKEYS];
	memcpy(set, req->smp->data, sizeof(set));
	spin_lock_irqsave(&port->lock, flags);
	if (sma_is_set(req) && sma_set_pkeys(pkeys, set))
		events = WEFT_IBPORT_PKEY;
	for (i = 0; i < SMA_PKEYS; i++)
		set[i] = cpu_to_be16(pkeys[i]);
	spin_unlock_irqrestore(&port->lock, flags);
	memcpy(req->smp->data, set, sizeof(set));
	sma_changed(req, port, events);
	return 0;
}

/* Get or Set a table that is stored without effect. */
static void sma_exchange(struct sma_request *req, struct weft_ibport *port, u8 *table,
			 size_t size)
{
	unsigned long flags;

	spin_lock_irqsave(&port->lock, flags);
	if (sma_is_set(req))
		memcpy(table, req->smp->data, size);
	memset(req->smp->data, 0, sizeof(req->smp->data));
	memcpy(req->smp->data, table, size);
	spin_unlock_irqrestore(&port->lock, flags);
}

/* The input port does not matter in a switch, because there is only one data lane. */
static u16 sma_sl_to_vl(struct sma_request *req)
{
	u8 in = req->mod >> 8 & 0xff, out = req->mod & 0xff;
	struct weft_ibport *port;

	if (sma_is_switch(req))
		port = sma_port(req->node, in) ? sma_port(req->node, out) : NULL;
	else
		port = sma_own_port(req->node, req->in_port);
	if (!port)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	sma_exchange(req, port, port->sl_to_vl, sizeof(port->sl_to_vl));
	return 0;
}

static u16 sma_vl_arb(struct sma_request *req)
{
	u32 part = req->mod >> 16;
	struct weft_ibport *port;
	u8 *table;

	if (sma_is_switch(req))
		port = sma_port(req->node, req->mod & 0xffff);
	else
		port = sma_own_port(req->node, req->in_port);
	/* VLArbitrationLowCap and HighCap leave out the upper halves */
	if (!port || (part != SMA_VLARB_LOW && part != SMA_VLARB_HIGH))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	table = port->vl_arb[part == SMA_VLARB_HIGH];
	sma_exchange(req, port, table, WEFT_IB_VLARB);
	return 0;
}

/* An attribute that nodes of all types support. */
struct sma_attribute {
	__be16	id;
	bool	set;			/* Set is supported */
	u16	(*process)(struct sma_request *req);	/* returns the status */
};

static const struct sma_attribute sma_attributes[] = {
	{ IB_SMP_ATTR_NODE_DESC, false, sma_node_desc },
	{ IB_SMP_ATTR_NODE_INFO, false, sma_node_info },
	{ IB_SMP_ATTR_GUID_INFO, true, sma_guid_info },
	{ IB_SMP_ATTR_PORT_INFO, true, sma_port_info },
	{ IB_SMP_ATTR_PKEY_TABLE, true, sma_pkey_table },
	{ IB_SMP_ATTR_SL_TO_VL_TABLE, true, sma_sl_to_vl },
	{ IB_SMP_ATTR_VL_ARB_TABLE, true, sma_vl_arb },
};

static u16 sma_switch_attribute(struct sma_request *req)
{
	struct weft_ibnode *node = req->node;

	req->smp->status = 0;
	if (!node->switch_attribute || !node->switch_attribute(node, req->smp))
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	return be16_to_cpu(req->smp->status);
}

static u16 sma_process_attribute(struct sma_request *req)
{
	const struct sma_attribute *attr = sma_attributes;
	const struct sma_attribute *end = attr + ARRAY_SIZE(sma_attributes);

	while (attr < end && attr->id != req->smp->attr_id)
		attr++;
	if (attr < end && sma_is_set(req) && !attr->set)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	if (!sma_is_set(req))
		memset(req->smp->data, 0, sizeof(req->smp->data));
	return attr < end ? attr->process(req) : sma_switch_attribute(req);
}

/* IBA 14.2.4.2: when the lease has expired, anybody may read the M_Key. */
static void sma_end_lease(struct weft_ibport *port)
{
	if (!port->mkey_expires || time_before(jiffies, port->mkey_expires))
		return;
	port->info.mkeyprot_resv_lmc &= BIT(SMA_MKEY_PROT_SHIFT) - 1;
	port->mkey_expires = 0;
}

static void sma_count_violation(struct weft_ibport *port)
{
	u16 period = be16_to_cpu(port->info.mkey_lease_period);
	u16 count = be16_to_cpu(port->info.mkey_violations);

	if (count != U16_MAX)
		port->info.mkey_violations = cpu_to_be16(count + 1);
	/* 0 means that no lease is running */
	if (period && !port->mkey_expires)
		port->mkey_expires = (jiffies + period * HZ) ?: 1;
}

static bool sma_check_mkey_locked(struct weft_ibport *port, const struct ib_smp *smp)
{
	const struct ib_port_info *info = &port->info;

	sma_end_lease(port);
	if (!info->mkey || info->mkey == smp->mkey) {
		port->mkey_expires = 0;
		return true;
	}
	if (smp->method == IB_MGMT_METHOD_GET && sma_mkey_prot(info) < SMA_MKEY_PROT_READ)
		return true;
	sma_count_violation(port);
	return false;
}

/* IBA 14.2.4 */
static bool sma_check_mkey(struct weft_ibport *port, const struct ib_smp *smp,
			   struct weft_sma_effect *effect)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&port->lock, flags);
	ok = sma_check_mkey_locked(port, smp);
	spin_unlock_irqrestore(&port->lock, flags);
	if (ok)
		return true;
	effect->port = port;
	effect->bad_mkey = true;
	return false;
}

static bool sma_is_version_known(const struct ib_smp *smp)
{
	return smp->base_version == IB_MGMT_BASE_VERSION && smp->class_version == 1;
}

static bool sma_is_get_or_set(const struct ib_smp *smp)
{
	return smp->method == IB_MGMT_METHOD_GET || smp->method == IB_MGMT_METHOD_SET;
}

/* A subnet manager at the port answers SMInfo, which the M_Key does not protect. */
static bool sma_is_for_sm(const struct weft_ibport *port, const struct ib_smp *smp)
{
	return smp->attr_id == IB_SMP_ATTR_SM_INFO && sma_is_get_or_set(smp) &&
	       sma_is_version_known(smp) && READ_ONCE(port->sm_live);
}

/* A MAD that gets no response, or is for another agent. */
static bool sma_is_passed(const struct weft_ibport *port, const struct ib_smp *smp)
{
	return smp->method & IB_MGMT_METHOD_RESP || smp->method == IB_MGMT_METHOD_TRAP ||
	       smp->method == IB_MGMT_METHOD_REPORT || sma_is_for_sm(port, smp);
}

static enum weft_sma_verdict sma_reply(struct ib_smp *smp, u16 status)
{
	smp->method = IB_MGMT_METHOD_GET_RESP;
	smp->status = cpu_to_be16(status);
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		smp->status |= IB_SMP_DIRECTION;
	return WEFT_SMA_REPLY;
}

/* Errors that do not depend on the port or the attribute. */
static u16 sma_check_form(const struct ib_smp *smp)
{
	if (!sma_is_version_known(smp))
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (!sma_is_get_or_set(smp) && smp->method != IB_MGMT_METHOD_TRAP_REPRESS)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD;
	return 0;
}

/*
 * Answer a subnet management MAD. @in is of class SUBN_LID_ROUTED or SUBN_DIRECTED_ROUTE, and
 * otherwise unchecked. @in_port: number of the port by which the MAD came; for a switch 0 if it
 * came to the switch's LID and no port is meant. @out: the response, valid with WEFT_SMA_REPLY; may
 * be @in. @effect is always filled in. Any context but hard interrupts.
 *
 * A subnet manager at the port answers SMInfo; without one it is an unsupported attribute. Get
 * returns what was Set, but for ClientReregister. Unknown methods, attributes and modifiers get the
 * status of IBA 13.4.7.
 */
enum weft_sma_verdict weft_sma_process(struct weft_ibnode *node, u8 in_port,
				       const struct ib_smp *in, struct ib_smp *out,
				       struct weft_sma_effect *effect)
{
	struct weft_ibport *port = sma_own_port(node, in_port);
	struct sma_request req = {
		.node = node,
		.in_port = in_port,
		.smp = out,
		.mod = be32_to_cpu(in->attr_mod),
		.effect = effect,
	};
	u16 status;

	*effect = (struct weft_sma_effect){};
	if (!port || in_port > node->num_ports)
		return WEFT_SMA_DROP;
	if (sma_is_passed(port, in))
		return WEFT_SMA_PASS;
	memmove(out, in, sizeof(*out));
	status = sma_check_form(out);
	if (!status && !sma_check_mkey(port, out, effect))
		return WEFT_SMA_DROP;
	/* it has no response */
	if (out->method == IB_MGMT_METHOD_TRAP_REPRESS) {
		effect->represses = !status;
		return WEFT_SMA_DROP;
	}
	if (!status)
		status = sma_process_attribute(&req);
	return req.gone ? WEFT_SMA_DROP : sma_reply(out, status);
}
WEFT_EXPORT_FOR_TEST(weft_sma_process);
