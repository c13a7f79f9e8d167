// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/portinfo.h"

#include <linux/bitfield.h>

/* Fields of mkeyprot_resv_lmc */
#define PORTINFO_MKEY_PROT	GENMASK(7, 6)
#define PORTINFO_LMC		GENMASK(2, 0)
/* Field of clientrereg_resv_subnetto */
#define PORTINFO_SUBNET_TIMEOUT	GENMASK(4, 0)
/* Values of LinkWidthEnabled and LinkSpeedEnabled: all that is supported */
#define PORTINFO_ALL_WIDTHS	255
#define PORTINFO_ALL_SPEEDS	15

static u8 nibble_high(u8 byte)
{
	return byte >> 4;
}

static u8 nibble_low(u8 byte)
{
	return byte & 15;
}

static void nibble_set_high(u8 *byte, u8 value)
{
	*byte = value << 4 | nibble_low(*byte);
}

static void nibble_set_low(u8 *byte, u8 value)
{
	*byte = (*byte & 0xf0) | value;
}

static bool portinfo_is_external(const struct weft_ibnode *node,
				 const struct weft_ibport *port)
{
	return node->type == WEFT_NODE_SWITCH && port->num;
}

/*
 * Get PortInfo without LocalPortNum. The lock of the port is held.
 *
 * External ports of a switch have no fields of an endport.
 */
void weft_portinfo_get(const struct weft_ibnode *node, const struct weft_ibport *port,
		       struct ib_port_info *info)
{
	*info = port->info;
	if (!portinfo_is_external(node, port))
		return;
	info->gid_prefix = 0;
	info->cap_mask = 0;
	info->guid_cap = 0;
}

static bool portinfo_enable(u8 supported, u8 all, u8 wanted, u8 *enabled)
{
	if (wanted == all)
		wanted = supported;
	if (wanted & ~supported)
		return false;
	if (wanted)
		*enabled = wanted;
	return true;
}

static bool portinfo_take_width_speed(struct ib_port_info *info,
				      const struct ib_port_info *set)
{
	u8 speed = nibble_low(info->linkspeedactive_enabled);

	if (!portinfo_enable(info->link_width_supported, PORTINFO_ALL_WIDTHS,
			     set->link_width_enabled, &info->link_width_enabled))
		return false;
	if (!portinfo_enable(nibble_high(info->linkspeed_portstate), PORTINFO_ALL_SPEEDS,
			     nibble_low(set->linkspeedactive_enabled), &speed))
		return false;
	nibble_set_low(&info->linkspeedactive_enabled, speed);
	return true;
}

static bool portinfo_take_mtu(struct ib_port_info *info, const struct ib_port_info *set,
			      bool own)
{
	u8 mtu = nibble_high(set->neighbormtu_mastersmsl);

	/* a subnet manager may leave out the MTU of a switch's own port */
	if (!mtu && own)
		return true;
	if (!mtu || mtu > nibble_low(info->inittypereply_mtucap))
		return false;
	nibble_set_high(&info->neighbormtu_mastersmsl, mtu);
	return true;
}

/* Take the fields of the link, which every port has. */
static bool portinfo_take_link(struct ib_port_info *info, const struct ib_port_info *set,
			       bool own)
{
	u8 vls = nibble_high(set->operationalvl_pei_peo_fpi_fpo);
	u8 link_down = nibble_low(set->portphysstate_linkdown);

	if (!portinfo_take_width_speed(info, set) || !portinfo_take_mtu(info, set, own))
		return false;
	if (vls > nibble_high(info->vlcap_inittype) || link_down > IB_PORT_PHYS_STATE_POLLING)
		return false;
	if (vls)
		nibble_set_high(&info->operationalvl_pei_peo_fpi_fpo, vls);
	if (link_down)
		nibble_set_low(&info->portphysstate_linkdown, link_down);
	nibble_set_high(&info->inittypereply_mtucap, nibble_high(set->inittypereply_mtucap));
	info->vl_high_limit = set->vl_high_limit;
	info->vlstallcnt_hoqlife = set->vlstallcnt_hoqlife;
	info->localphyerrors_overrunerrors = set->localphyerrors_overrunerrors;
	return true;
}

/* Take the fields of an endport, which is a port of a channel adapter or a switch's own port. */
static bool portinfo_take_end(struct ib_port_info *info, const struct ib_port_info *set)
{
	u16 sm_lid = be16_to_cpu(set->sm_lid);
	u16 lid = be16_to_cpu(set->lid);

	if (!lid || lid >= WEFT_LID_MCAST || sm_lid >= WEFT_LID_MCAST)
		return false;
	info->mkey = set->mkey;
	info->gid_prefix = set->gid_prefix;
	info->lid = set->lid;
	info->sm_lid = set->sm_lid;
	info->mkey_lease_period = set->mkey_lease_period;
	info->mkeyprot_resv_lmc = set->mkeyprot_resv_lmc & (PORTINFO_MKEY_PROT | PORTINFO_LMC);
	nibble_set_low(&info->neighbormtu_mastersmsl, nibble_low(set->neighbormtu_mastersmsl));
	info->mkey_violations = set->mkey_violations;
	info->pkey_violations = set->pkey_violations;
	info->qkey_violations = set->qkey_violations;
	info->clientrereg_resv_subnetto =
		set->clientrereg_resv_subnetto & PORTINFO_SUBNET_TIMEOUT;
	return true;
}

static bool portinfo_is_move_valid(u8 now, u8 state, u8 phys)
{
	if (phys > IB_PORT_PHYS_STATE_DISABLED)
		return false;
	/* repeated Sets are valid, as the response to the first one may have been lost */
	switch (state) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		return true;
	case IB_PORT_ARMED:
		return !phys && now >= IB_PORT_INIT;
	case IB_PORT_ACTIVE:
		return !phys && now >= IB_PORT_ARMED;
	default:
		return false;
	}
}

static u32 portinfo_move(struct weft_ibport *port, u8 state, u8 phys)
{
	if (phys == IB_PORT_PHYS_STATE_DISABLED)
		return weft_ibport_disable(port);
	if (phys || state == IB_PORT_DOWN)
		return weft_ibport_retrain(port, phys);
	/* the state never goes back: a Set of ARMED in ACTIVE has no effect */
	if (state > port->state)
		return weft_ibport_move(port, IB_PORT_PHYS_STATE_LINK_UP, state);
	return 0;
}

static u32 portinfo_changes(const struct ib_port_info *old, const struct ib_port_info *new)
{
	u32 events = 0;

	if (old->lid != new->lid ||
	    (old->mkeyprot_resv_lmc ^ new->mkeyprot_resv_lmc) & PORTINFO_LMC)
		events |= WEFT_IBPORT_LID;
	if (old->sm_lid != new->sm_lid ||
	    nibble_low(old->neighbormtu_mastersmsl) != nibble_low(new->neighbormtu_mastersmsl))
		events |= WEFT_IBPORT_SM;
	if (old->gid_prefix != new->gid_prefix)
		events |= WEFT_IBPORT_GID;
	return events;
}

static void portinfo_commit(struct weft_ibport *port, const struct ib_port_info *info)
{
	port->info = *info;
	WRITE_ONCE(port->lid, be16_to_cpu(info->lid));
	WRITE_ONCE(port->lmc, info->mkeyprot_resv_lmc & PORTINFO_LMC);
	WRITE_ONCE(port->sm_lid, be16_to_cpu(info->sm_lid));
	WRITE_ONCE(port->mtu, nibble_high(info->neighbormtu_mastersmsl));
	WRITE_ONCE(port->filters, nibble_low(info->operationalvl_pei_peo_fpi_fpo));
}

/*
 * Set PortInfo to unchecked values; @events becomes a set of enum weft_ibport_event. The lock of
 * the port is held. Returns false if a field is invalid; then nothing has changed.
 *
 * Read-only fields are ignored, and so are fields that this kind of port does not have: the state
 * of a switch's own port never changes, external ports of a switch have no LID, and no other ports
 * have filters.
 */
bool weft_portinfo_set(const struct weft_ibnode *node, struct weft_ibport *port,
		       const struct ib_port_info *set, u32 *events)
{
	bool external = portinfo_is_external(node, port);
	u8 phys = nibble_high(set->portphysstate_linkdown);
	u8 state = nibble_low(set->linkspeed_portstate);
	struct ib_port_info new = port->info;

	lockdep_assert_held(&port->lock);
	if (port->num && !portinfo_is_move_valid(port->state, state, phys))
		return false;
	if (!portinfo_take_link(&new, set, !port->num))
		return false;
	if (!external && !portinfo_take_end(&new, set))
		return false;
	if (external)
		nibble_set_low(&new.operationalvl_pei_peo_fpi_fpo,
			       nibble_low(set->operationalvl_pei_peo_fpi_fpo));
	*events = portinfo_changes(&port->info, &new);
	portinfo_commit(port, &new);
	if (port->num)
		*events |= portinfo_move(port, state, phys);
	if (!external && set->clientrereg_resv_subnetto & WEFT_PORTINFO_REREGISTER)
		*events |= WEFT_IBPORT_REREGISTER;
	return true;
}
