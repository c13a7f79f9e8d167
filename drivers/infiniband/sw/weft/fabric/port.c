// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/port.h"

#include <linux/bitfield.h>
#include <linux/build_bug.h>
#include <rdma/ib_mad.h>

#include "params.h"
#include "wire/codec.h"

/* Virtual lanes of subnet management and of data; there are no others. */
#define IBPORT_VL_SMP		15
#define IBPORT_VL_DATA		0

/* LinkWidthSupported and LinkWidthEnabled: 1X and 4X; LinkWidthActive: 4X */
#define IBPORT_WIDTHS		3
#define IBPORT_WIDTH		2
/* MTUCap, and the initial NeighborMTU */
#define IBPORT_MTU		IB_MTU_4096
/* Maximum length of a packet without its payload, from LRH to ICRC (IBA 7.7.8) */
#define IBPORT_HEADERS		124
/* SubnetTimeOut and RespTimeValue: 4.096 us * 2^18, about a second */
#define IBPORT_TIME		18

static_assert(WEFT_IB_PKEYS % 32 == 0);
static_assert(WEFT_IB_GUIDS % 8 == 0);

static u8 ibport_phys(const struct weft_ibport *port)
{
	return port->info.portphysstate_linkdown >> 4;
}

static void ibport_set_state(struct weft_ibport *port, u8 phys, u8 state)
{
	struct ib_port_info *info = &port->info;

	info->portphysstate_linkdown = phys << 4 | (info->portphysstate_linkdown & 15);
	info->linkspeed_portstate = (info->linkspeed_portstate & 0xf0) | state;
	WRITE_ONCE(port->state, state);
}

static void ibport_init_info(struct ib_port_info *info,
			     const struct weft_ibport_param *param)
{
	/* a port supports all lower speeds, too */
	u8 speeds = param->speed | (param->speed - 1);

	info->gid_prefix = cpu_to_be64(0xfe80000000000000ULL);
	info->cap_mask = cpu_to_be32(param->cap_mask);
	info->link_width_enabled = IBPORT_WIDTHS;
	info->link_width_supported = IBPORT_WIDTHS;
	info->link_width_active = IBPORT_WIDTH;
	info->linkspeed_portstate = speeds << 4;
	info->portphysstate_linkdown = IB_PORT_PHYS_STATE_POLLING;
	info->linkspeedactive_enabled = param->speed << 4 | speeds;
	info->neighbormtu_mastersmsl = IBPORT_MTU << 4;
	info->vlcap_inittype = 1 << 4;
	info->vl_arb_high_cap = WEFT_IB_VLARB / sizeof(struct ib_vl_weight_elem);
	info->vl_arb_low_cap = WEFT_IB_VLARB / sizeof(struct ib_vl_weight_elem);
	info->inittypereply_mtucap = IBPORT_MTU;
	info->operationalvl_pei_peo_fpi_fpo = 1 << 4;
	info->guid_cap = WEFT_IB_GUIDS;
	info->clientrereg_resv_subnetto = IBPORT_TIME;
	info->resv_resptimevalue = IBPORT_TIME;
	/* error thresholds: the highest values */
	info->localphyerrors_overrunerrors = 0xff;
}

/*
 * Initialize zeroed memory as a port without a cable: Polling, DOWN. Port 0 of a switch, which has
 * no cable, is LinkUp and ACTIVE (IBA 14.2.5.6).
 */
void weft_ibport_init(struct weft_ibport *port, const struct weft_ibport_param *param)
{
	spin_lock_init(&port->lock);
	port->ops = param->ops;
	port->num = param->num;
	port->guid = param->guid;
	port->guids[0] = param->guid;
	port->pkeys[0] = WEFT_DEFAULT_PKEY;
	port->mtu = IBPORT_MTU;
	port->sm_live = param->cap_mask & IB_PORT_SM;
	ibport_init_info(&port->info, param);
	if (port->num)
		ibport_set_state(port, IB_PORT_PHYS_STATE_POLLING, IB_PORT_DOWN);
	else
		ibport_set_state(port, IB_PORT_PHYS_STATE_LINK_UP, IB_PORT_ACTIVE);
}
WEFT_EXPORT_FOR_TEST(weft_ibport_init);

/* Set the state; the lock is held. Returns events, for weft_ibport_event() without the lock. */
u32 weft_ibport_move(struct weft_ibport *port, u8 phys, u8 state)
{
	bool was_up = ibport_phys(port) == IB_PORT_PHYS_STATE_LINK_UP;
	bool is_up = phys == IB_PORT_PHYS_STATE_LINK_UP;
	bool was_down = port->state == IB_PORT_DOWN;
	bool was_active = port->state == IB_PORT_ACTIVE;
	bool is_down = state == IB_PORT_DOWN;
	bool is_active = state == IB_PORT_ACTIVE;
	u32 events = 0;

	lockdep_assert_held(&port->lock);
	ibport_set_state(port, phys, state);
	if (was_up && !is_up)
		weft_ibport_count(port, WEFT_IBC_LINK_DOWNED);
	if (was_up != is_up || was_down != is_down)
		events |= WEFT_IBPORT_LINK;
	if (was_active != is_active)
		events |= is_active ? WEFT_IBPORT_ACTIVE : WEFT_IBPORT_ERR;
	return events;
}
WEFT_EXPORT_FOR_TEST(weft_ibport_move);

/*
 * Take the link down, and up again if there is a cable. @phys, Sleep or Polling, is the state
 * without a cable, and enables a disabled port. With 0 LinkDownDefaultState is used, and a
 * disabled port stays disabled. Otherwise as weft_ibport_move(); not for port 0 of a switch.
 */
u32 weft_ibport_retrain(struct weft_ibport *port, u8 phys)
{
	u32 events;

	if (!phys && ibport_phys(port) == IB_PORT_PHYS_STATE_DISABLED)
		return 0;
	port->disabled = false;
	if (port->failed)
		return 0;
	if (!phys)
		phys = port->info.portphysstate_linkdown & 15;
	events = weft_ibport_move(port, phys, IB_PORT_DOWN);
	if (rcu_access_pointer(port->cable))
		events |= weft_ibport_move(port, IB_PORT_PHYS_STATE_LINK_UP, IB_PORT_INIT);
	return events;
}
WEFT_EXPORT_FOR_TEST(weft_ibport_retrain);

/* Management disables the port. As weft_ibport_move(). */
u32 weft_ibport_disable(struct weft_ibport *port)
{
	port->disabled = true;
	return weft_ibport_move(port, IB_PORT_PHYS_STATE_DISABLED, IB_PORT_DOWN);
}
WEFT_EXPORT_FOR_TEST(weft_ibport_disable);

/*
 * The device of the port fails, or recovers. Until it recovers the port is Disabled, and what
 * management wants is done then. As weft_ibport_move().
 */
u32 weft_ibport_fail(struct weft_ibport *port, bool failed)
{
	port->failed = failed;
	if (failed)
		return weft_ibport_move(port, IB_PORT_PHYS_STATE_DISABLED, IB_PORT_DOWN);
	return port->disabled ? 0 : weft_ibport_retrain(port, IB_PORT_PHYS_STATE_POLLING);
}
WEFT_EXPORT_FOR_TEST(weft_ibport_fail);

/* Change the cable, and the state unless management has disabled the port. */
static u32 ibport_connect(struct weft_ibport *port, struct weft_cable *cable)
{
	unsigned long flags;
	u32 events = 0;

	spin_lock_irqsave(&port->lock, flags);
	rcu_assign_pointer(port->cable, cable);
	if (ibport_phys(port) == IB_PORT_PHYS_STATE_DISABLED)
		goto out_unlock;
	if (cable)
		events = weft_ibport_move(port, IB_PORT_PHYS_STATE_LINK_UP, IB_PORT_INIT);
	else
		events = weft_ibport_move(port, IB_PORT_PHYS_STATE_POLLING, IB_PORT_DOWN);
out_unlock:
	spin_unlock_irqrestore(&port->lock, flags);
	return events;
}

/*
 * Plug in a cable: LinkUp, INIT, unless the port is disabled. The cable must exist until a grace
 * period after weft_ibport_unplug(). Tells the node.
 */
void weft_ibport_plug(struct weft_ibport *port, struct weft_cable *cable)
{
	weft_ibport_tell(port, ibport_connect(port, cable));
}
WEFT_EXPORT_FOR_TEST(weft_ibport_plug);

/* Pull out the cable, if any: Polling, DOWN, unless the port is disabled. Tells the node. */
void weft_ibport_unplug(struct weft_ibport *port)
{
	weft_ibport_tell(port, ibport_connect(port, NULL));
}
WEFT_EXPORT_FOR_TEST(weft_ibport_unplug);

static bool ibport_is_ready(const struct weft_ibport *port)
{
	return rcu_access_pointer(port->cable) &&
	       ibport_phys(port) != IB_PORT_PHYS_STATE_DISABLED;
}

bool weft_ibport_is_ready(struct weft_ibport *port)
{
	unsigned long flags;
	bool ready;

	spin_lock_irqsave(&port->lock, flags);
	ready = ibport_is_ready(port);
	spin_unlock_irqrestore(&port->lock, flags);
	return ready;
}

bool weft_ibport_is_disabled(struct weft_ibport *port)
{
	unsigned long flags;
	bool disabled;

	spin_lock_irqsave(&port->lock, flags);
	disabled = ibport_phys(port) == IB_PORT_PHYS_STATE_DISABLED;
	spin_unlock_irqrestore(&port->lock, flags);
	return disabled;
}

/*
 * Let the link follow the state of the other end of the cable: to LinkUp, INIT if both ends are
 * ready (@up), otherwise to Polling, DOWN. With @anew a link that is up goes down first. A
 * disabled port does not change. Takes the lock; any context but hard interrupts. Returns a set
 * of enum weft_ibport_event, for weft_ibport_tell().
 */
u32 weft_ibport_follow(struct weft_ibport *port, bool up, bool anew)
{
	unsigned long flags;
	u32 events = 0;
	bool is_up;

	spin_lock_irqsave(&port->lock, flags);
	is_up = ibport_phys(port) == IB_PORT_PHYS_STATE_LINK_UP;
	if (is_up && (anew || !up))
		events = weft_ibport_move(port, IB_PORT_PHYS_STATE_POLLING, IB_PORT_DOWN);
	if (up && (anew || !is_up) && ibport_is_ready(port))
		events |= weft_ibport_move(port, IB_PORT_PHYS_STATE_LINK_UP, IB_PORT_INIT);
	spin_unlock_irqrestore(&port->lock, flags);
	return events;
}
WEFT_EXPORT_FOR_TEST(weft_ibport_follow);

void weft_ibport_tell(struct weft_ibport *port, u32 events)
{
	if (events)
		port->ops->event(port, events);
}
WEFT_EXPORT_FOR_TEST(weft_ibport_tell);

static void ibport_tell_cable(struct weft_ibport *port)
{
	struct weft_cable *cable;

	rcu_read_lock();
	cable = rcu_dereference(port->cable);
	if (cable && cable->link)
		cable->link(cable, port);
	rcu_read_unlock();
}

void weft_ibport_event(struct weft_ibport *port, u32 events)
{
	weft_ibport_tell(port, events);
	if (events & WEFT_IBPORT_LINK)
		ibport_tell_cable(port);
}
WEFT_EXPORT_FOR_TEST(weft_ibport_event);

/*
 * Count a packet with a wrong Q_Key or P_Key in PortInfo. Any context.
 *
 * PortRcvConstraintErrors does not count these: it is for the filters of a switch (IBA 16.1.3.5).
 */
void weft_ibport_violation(struct weft_ibport *port, bool qkey)
{
	__be16 *count = qkey ? &port->info.qkey_violations : &port->info.pkey_violations;
	unsigned long flags;

	spin_lock_irqsave(&port->lock, flags);
	if (*count != cpu_to_be16(U16_MAX))
		*count = cpu_to_be16(be16_to_cpu(*count) + 1);
	spin_unlock_irqrestore(&port->lock, flags);
}
WEFT_EXPORT_FOR_TEST(weft_ibport_violation);

static bool ibport_is_multicast(const struct weft_lrh *lrh)
{
	return lrh->dlid >= WEFT_LID_MCAST && lrh->dlid != WEFT_LID_PERMISSIVE;
}

static void ibport_count_xmit(struct weft_ibport *port, const struct weft_lrh *lrh)
{
	atomic64_add(lrh->length / 4, &port->counters[WEFT_IBC_XMIT_DATA]);
	weft_ibport_count(port, WEFT_IBC_XMIT_PKTS);
	weft_ibport_count(port, ibport_is_multicast(lrh) ? WEFT_IBC_MULTICAST_XMIT :
							   WEFT_IBC_UNICAST_XMIT);
}

static void ibport_count_rcv(struct weft_ibport *port, const struct weft_lrh *lrh)
{
	atomic64_add(lrh->length / 4, &port->counters[WEFT_IBC_RCV_DATA]);
	weft_ibport_count(port, WEFT_IBC_RCV_PKTS);
	weft_ibport_count(port, ibport_is_multicast(lrh) ? WEFT_IBC_MULTICAST_RCV :
							   WEFT_IBC_UNICAST_RCV);
}

/* IBA 7.2.7: data leave in ACTIVE only, VL 15 in all states but DOWN. */
static bool ibport_may_xmit(struct weft_ibport *port, const struct weft_lrh *lrh)
{
	u8 state = READ_ONCE(port->state);

	if (lrh->vl == IBPORT_VL_SMP)
		return state != IB_PORT_DOWN;
	return state == IB_PORT_ACTIVE;
}

/* The MTU of VL 15 is 256 on every link. */
static bool ibport_fits(const struct weft_lrh *lrh, enum ib_mtu mtu)
{
	if (lrh->vl == IBPORT_VL_SMP)
		mtu = IB_MTU_256;
	return lrh->length <= ib_mtu_enum_to_int(mtu) + IBPORT_HEADERS;
}

/*
 * Send a packet, which belongs to the callee, or drop and count it if the state or the MTU of the
 * link (IBA 7.7.8) does not allow it. Context as for weft_cable.xmit.
 */
void weft_ibport_xmit(struct weft_ibport *port, struct sk_buff *skb)
{
	struct weft_wire_lrh room, *wire;
	struct weft_cable *cable;
	struct weft_lrh lrh;

	cable = rcu_dereference_check(port->cable, rcu_read_lock_bh_held());
	wire = skb_header_pointer(skb, 0, sizeof(room), &room);
	if (!cable || !wire ||
	    weft_lrh_decode(&lrh, (u8 *)wire, skb->len) != WEFT_MALFORMED_NONE ||
	    !ibport_may_xmit(port, &lrh) || !ibport_fits(&lrh, READ_ONCE(port->mtu))) {
		weft_ibport_count(port, WEFT_IBC_XMIT_DISCARDS);
		kfree_skb(skb);
		return;
	}
	ibport_count_xmit(port, &lrh);
	cable->xmit(cable, port, skb);
}
WEFT_EXPORT_FOR_TEST(weft_ibport_xmit);

/* Read and check the LRH, and cut off padding behind the ICRC. */
static bool ibport_open(struct sk_buff *skb, struct weft_lrh *lrh)
{
	if (!pskb_may_pull(skb, sizeof(struct weft_wire_lrh)))
		return false;
	if (weft_lrh_decode(lrh, skb->data, skb->len) != WEFT_MALFORMED_NONE)
		return false;
	if (lrh->vl == IBPORT_VL_SMP && ibport_is_multicast(lrh))
		return false;
	if (lrh->vl != IBPORT_VL_SMP && lrh->vl != IBPORT_VL_DATA)
		return false;
	if (!ibport_fits(lrh, IBPORT_MTU))
		return false;
	return !pskb_trim(skb, lrh->length);
}

/*
 * The counter for a packet that ibport_open() refused. Raw packets are always refused, but count as
 * filtered where management has set FilterRawInbound.
 */
static enum weft_ibport_counter ibport_refusal(const struct weft_ibport *port,
					       const struct sk_buff *skb)
{
	const struct weft_wire_lrh *wire;
	struct weft_wire_lrh room;

	wire = skb_header_pointer(skb, 0, sizeof(room), &room);
	if (wire && READ_ONCE(port->filters) & WEFT_IBPORT_RAW_IN &&
	    FIELD_GET(WEFT_LRH_LNH, wire->sl_lnh) < WEFT_LNH_BTH)
		return WEFT_IBC_RCV_CONSTRAINT;
	return WEFT_IBC_RCV_ERRORS;
}

/* IBA 7.2.7: data are received in ARMED and ACTIVE, VL 15 in all states but DOWN. */
static bool ibport_may_receive(struct weft_ibport *port, const struct weft_lrh *lrh)
{
	u8 state = READ_ONCE(port->state);

	if (lrh->vl == IBPORT_VL_SMP)
		return state != IB_PORT_DOWN;
	return state == IB_PORT_ARMED || state == IB_PORT_ACTIVE;
}

/*
 * IBA 7.2.7: data from the other end prove that it is ACTIVE, so the subnet manager has armed the
 * whole subnet. The port need not wait until the subnet manager sets it to ACTIVE, too.
 */
static void ibport_activate(struct weft_ibport *port)
{
	unsigned long flags;
	u32 events = 0;

	spin_lock_irqsave(&port->lock, flags);
	if (port->state == IB_PORT_ARMED)
		events = weft_ibport_move(port, ibport_phys(port), IB_PORT_ACTIVE);
	spin_unlock_irqrestore(&port->lock, flags);
	weft_ibport_tell(port, events);
}

/*
 * A cable delivers a packet, which belongs to the callee; weft_hop.hops is valid. With @nested the
 * caller may own the turn of a QP. The first data packet moves an ARMED port to ACTIVE. Bottom
 * halves off, RCU read side, lock not held.
 */
void weft_ibport_deliver(struct weft_ibport *port, struct sk_buff *skb, bool nested)
{
	struct weft_lrh lrh;

	if (READ_ONCE(port->state) == IB_PORT_DOWN)
		goto err_free;
	if (!ibport_open(skb, &lrh)) {
		weft_ibport_count(port, ibport_refusal(port, skb));
		goto err_free;
	}
	if (!ibport_may_receive(port, &lrh))
		goto err_free;
	if (lrh.vl != IBPORT_VL_SMP && unlikely(READ_ONCE(port->state) == IB_PORT_ARMED))
		ibport_activate(port);
	ibport_count_rcv(port, &lrh);
	weft_hop(skb)->nested = nested;
	port->ops->receive(port, skb, nested);
	return;

err_free:
	kfree_skb(skb);
}
WEFT_EXPORT_FOR_TEST(weft_ibport_deliver);

/* The index of a matching entry, preferably one of a full member, or -ENOENT. */
int weft_ibport_find_pkey(const struct weft_ibport *port, u16 pkey)
{
	int limited = -ENOENT;
	u16 own;
	int i;

	if (!(pkey & 0x7fff))
		return -ENOENT;
	for (i = 0; i < WEFT_IB_PKEYS; i++) {
		own = READ_ONCE(port->pkeys[i]);
		if ((own ^ pkey) & 0x7fff)
			continue;
		if (own & 0x8000)
			return i;
		if (limited < 0 && pkey & 0x8000)
			limited = i;
	}
	return limited;
}
WEFT_EXPORT_FOR_TEST(weft_ibport_find_pkey);
