/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An InfiniBand port: of a channel adapter (HCA) or of a switch. What management
 * sees of it, its tables and counters, and the cable that is plugged into it.
 *
 * A packet of a fabric is a socket buffer whose data begin with the LRH and end with
 * the ICRC; its network header is at the LRH, its protocol is WEFT_IB_ETHERTYPE. The
 * LRH of what is sent is right. The ICRC is not computed: a local cable makes no errors,
 * and frames have a checksum of their own.
 */
#ifndef WEFT_FABRIC_PORT_H
#define WEFT_FABRIC_PORT_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_smi.h>

struct weft_ibport;

/* IEEE 802 local experimental EtherType 1: of frames, and of packets in this host. */
#define WEFT_IB_ETHERTYPE	0x88b5

/* Entries of a port's tables; both are asked for in blocks, of 32 and of 8. */
#define WEFT_IB_PKEYS		64
#define WEFT_IB_GUIDS		16
/* Bytes of a virtual lane arbitration table: low and high, 32 entries each. */
#define WEFT_IB_VLARB		64

/* LIDs (IBA 4.1.3) */
#define WEFT_LID_PERMISSIVE	0xffff
#define WEFT_LID_MCAST		0xc000

/**
 * enum weft_ibport_event - what has happened to a port, a set
 *
 * In the order in which they are to be told.
 *
 * @WEFT_IBPORT_LID: its LID or LMC is another
 * @WEFT_IBPORT_SM: LID or SL of its subnet manager is another
 * @WEFT_IBPORT_GID: the GID prefix or a GUID is another
 * @WEFT_IBPORT_PKEY: its P_Key table is another
 * @WEFT_IBPORT_ERR: it is not active any more
 * @WEFT_IBPORT_ACTIVE: it has become active
 * @WEFT_IBPORT_REREGISTER: the subnet manager wants all to register anew
 * @WEFT_IBPORT_LINK: its physical link came or went, or it changed between DOWN and
 *	another state (what a switch sets PortStateChange for)
 */
enum weft_ibport_event {
	WEFT_IBPORT_LID		= BIT(0),
	WEFT_IBPORT_SM		= BIT(1),
	WEFT_IBPORT_GID		= BIT(2),
	WEFT_IBPORT_PKEY	= BIT(3),
	WEFT_IBPORT_ERR		= BIT(4),
	WEFT_IBPORT_ACTIVE	= BIT(5),
	WEFT_IBPORT_REREGISTER	= BIT(6),
	WEFT_IBPORT_LINK	= BIT(7),
};

/**
 * enum weft_ibport_counter - what a port counts (IBA 16.1.3.5, 16.1.4.11)
 * @WEFT_IBC_XMIT_DATA: words of 4 bytes sent, from the LRH to the ICRC
 * @WEFT_IBC_RCV_DATA: words received
 * @WEFT_IBC_XMIT_PKTS: packets sent
 * @WEFT_IBC_RCV_PKTS: packets received
 * @WEFT_IBC_UNICAST_XMIT: of them to one destination
 * @WEFT_IBC_UNICAST_RCV: of them to one destination
 * @WEFT_IBC_MULTICAST_XMIT: of them to a group
 * @WEFT_IBC_MULTICAST_RCV: of them to a group
 * @WEFT_IBC_SYMBOL_ERRORS: frames of the link that were damaged
 * @WEFT_IBC_LINK_RECOVERIES: times the link had to send again
 * @WEFT_IBC_LINK_DOWNED: times the link went down
 * @WEFT_IBC_RCV_ERRORS: packets received that were malformed, or that a switch's own agents
 *	had no room for, but those of subnet management
 * @WEFT_IBC_RELAY_ERRORS: switch: packets it has no way for, or that go in circles, or that
 *	are for a QP which it does not have
 * @WEFT_IBC_XMIT_DISCARDS: packets not sent: the port was down, or out of room, or they
 *	were longer than NeighborMTU allows
 * @WEFT_IBC_XMIT_CONSTRAINT: switch: packets not sent because of their P_Key
 * @WEFT_IBC_RCV_CONSTRAINT: switch: packets refused because of their P_Key, or raw ones
 * @WEFT_IBC_VL15_DROPPED: subnet management packets for which there was no room
 * @WEFT_IBC_XMIT_WAIT: times there was something to send, but no credit
 * @WEFT_IBC_COUNT: number of values
 */
enum weft_ibport_counter {
	WEFT_IBC_XMIT_DATA,
	WEFT_IBC_RCV_DATA,
	WEFT_IBC_XMIT_PKTS,
	WEFT_IBC_RCV_PKTS,
	WEFT_IBC_UNICAST_XMIT,
	WEFT_IBC_UNICAST_RCV,
	WEFT_IBC_MULTICAST_XMIT,
	WEFT_IBC_MULTICAST_RCV,
	WEFT_IBC_SYMBOL_ERRORS,
	WEFT_IBC_LINK_RECOVERIES,
	WEFT_IBC_LINK_DOWNED,
	WEFT_IBC_RCV_ERRORS,
	WEFT_IBC_RELAY_ERRORS,
	WEFT_IBC_XMIT_DISCARDS,
	WEFT_IBC_XMIT_CONSTRAINT,
	WEFT_IBC_RCV_CONSTRAINT,
	WEFT_IBC_VL15_DROPPED,
	WEFT_IBC_XMIT_WAIT,
	WEFT_IBC_COUNT,
};

/**
 * enum weft_ibport_filter - what an external port of a switch keeps out, a set
 *
 * The same bits as in PortInfo.
 *
 * @WEFT_IBPORT_RAW_OUT: FilterRawOutbound; no raw packet gets as far as that
 * @WEFT_IBPORT_RAW_IN: FilterRawInbound
 * @WEFT_IBPORT_PKEY_OUT: PartitionEnforcementOutbound: what the P_Key table does not have,
 *	of what leaves
 * @WEFT_IBPORT_PKEY_IN: PartitionEnforcementInbound: likewise, of what comes
 */
enum weft_ibport_filter {
	WEFT_IBPORT_RAW_OUT	= BIT(0),
	WEFT_IBPORT_RAW_IN	= BIT(1),
	WEFT_IBPORT_PKEY_OUT	= BIT(2),
	WEFT_IBPORT_PKEY_IN	= BIT(3),
};

/**
 * struct weft_hop - control block of a packet on its way through the fabric of this host
 * @nested: who brings it may hold the turn of a QP
 * @hops: cables to other hosts that it has gone by; one that begins here has 0
 */
struct weft_hop {
	bool	nested;
	u8	hops;
};

static inline struct weft_hop *weft_hop(struct sk_buff *skb)
{
	return (struct weft_hop *)skb->cb;
}

/**
 * struct weft_cable - what a port is connected with
 * @xmit: carry a packet to the other end. Bottom halves off, RCU read side; the caller
 *	may hold the turn of a QP, so what is at the other end must not be run from here
 *	but by a queue, unless it only forwards. The packet belongs to the callee.
 *	@from is the port it leaves.
 * @link: management has taken the link of @from down, or up, or both in a row; the other
 *	end has to follow. NULL: it does not. RCU read side, any context but hard
 *	interrupts; no lock of a port is held. Calls weft_ibport_tell(), never
 *	weft_ibport_event().
 */
struct weft_cable {
	void (*xmit)(struct weft_cable *cable, struct weft_ibport *from,
		     struct sk_buff *skb);
	void (*link)(struct weft_cable *cable, struct weft_ibport *from);
};

/**
 * struct weft_ibport_ops - what the node that has a port does
 * @receive: a packet has come. Bottom halves off, RCU read side; the same holds as for
 *	weft_cable.xmit when it is nested, that is, the caller may hold the turn of a QP.
 *	Counted already; the packet belongs to the callee.
 * @event: something has happened, a set of enum weft_ibport_event; no lock is held, any
 *	context but hard interrupts
 */
struct weft_ibport_ops {
	void (*receive)(struct weft_ibport *port, struct sk_buff *skb, bool nested);
	void (*event)(struct weft_ibport *port, u32 events);
};

/**
 * struct weft_ibport - a port
 *
 * @lock: protects what management reads and sets, interrupts off
 * @ops: of its node
 * @num: its number in its node; 0: of a switch, for itself
 * @guid: port GUID (EUI-64)
 * @info: PortInfo as it is now, but for the fields that depend on who asks
 *	(local_port_num). Under @lock.
 * @lid: the same as in @info, CPU order, as all of these for those who read without
 *	lock; 0: none yet
 * @lmc: lower bits of a LID that do not count
 * @mtu: NeighborMTU, enum ib_mtu
 * @sm_lid: of its subnet manager
 * @state: enum ib_port_state
 * @filters: enum weft_ibport_filter; none but of external ports of a switch
 * @pkeys: P_Key table, CPU order; written under @lock, read by anybody
 * @guids: GUIDInfo; written under @lock
 * @sl_to_vl: SLtoVLMappingTable, two SLs a byte, under @lock
 * @vl_arb: VLArbitrationTable, low and high, under @lock
 * @mkey_expires: jiffies when the M_Key lease ends, 0: it does not run; under @lock
 * @sm_live: IsSM is set in the capability mask (read without lock)
 * @counters: enum weft_ibport_counter
 * @base: counters when PortCounters was last reset
 * @base_ext: counters when PortCountersExtended was last reset
 * @cable: what is plugged in, RCU; NULL: nothing
 */
struct weft_ibport {
	spinlock_t		lock;
	const struct weft_ibport_ops *ops;
	u8			num;
	__be64			guid;
	struct ib_port_info	info;
	u16			lid;
	u8			lmc;
	u8			mtu;
	u16			sm_lid;
	u8			state;
	u8			filters;
	u16			pkeys[WEFT_IB_PKEYS];
	__be64			guids[WEFT_IB_GUIDS];
	u8			sl_to_vl[8];
	u8			vl_arb[2][WEFT_IB_VLARB];
	unsigned long		mkey_expires;
	bool			sm_live;
	atomic64_t		counters[WEFT_IBC_COUNT];
	u64			base[WEFT_IBC_COUNT];
	u64			base_ext[WEFT_IBC_COUNT];
	struct weft_cable __rcu	*cable;
};

/**
 * struct weft_ibport_param - what a port is made with
 * @ops: of its node
 * @num: its number
 * @guid: port GUID
 * @cap_mask: CapabilityMask of PortInfo, IB_PORT_*
 * @speed: LinkSpeedSupported, Enabled and Active: 1 (2.5 Gb/s a lane), 2 or 4; the
 *	width is 4X
 */
struct weft_ibport_param {
	const struct weft_ibport_ops *ops;
	u8		num;
	__be64		guid;
	u32		cap_mask;
	u8		speed;
};

/**
 * weft_ibport_init - make a port, nothing plugged in: DOWN, Polling
 * @port: zeroed memory
 * @param: what it is to be
 *
 * P_Key 0 is the full member of the default partition, GUID 0 is the port's, the GID
 * prefix is that of link-local addresses. Port 0 of a switch has no cable and is
 * LinkUp and ACTIVE (IBA 14.2.5.6).
 */
void weft_ibport_init(struct weft_ibport *port, const struct weft_ibport_param *param);

/**
 * weft_ibport_plug - plug a cable in: LinkUp, INIT
 * @port: has none
 * @cable: stays until weft_ibport_unplug() and a grace period
 *
 * Does nothing to the state when management has disabled the port. Raises the event.
 *
 * Context: any but hard interrupts.
 */
void weft_ibport_plug(struct weft_ibport *port, struct weft_cable *cable);

/**
 * weft_ibport_unplug - pull the cable out: Polling, DOWN
 * @port: may have none
 *
 * Raises the events. LID and the like stay. After a grace period nothing is sent by the
 * cable any more.
 *
 * Context: any but hard interrupts.
 */
void weft_ibport_unplug(struct weft_ibport *port);

/**
 * weft_ibport_move - give a port another state
 * @port: its lock is held
 * @phys: enum ib_port_phys_state
 * @state: enum ib_port_state
 *
 * Return: enum weft_ibport_event, for weft_ibport_event() when the lock is free.
 */
u32 weft_ibport_move(struct weft_ibport *port, u8 phys, u8 state);

/**
 * weft_ibport_retrain - let the link go down, and come up again if there is a cable
 * @port: its lock is held; not port 0 of a switch
 * @phys: sleep or polling: what it is while there is no cable, and it is enabled again
 *	if it was disabled; 0: LinkDownDefaultState says it, and it stays disabled
 *
 * Return: as weft_ibport_move().
 */
u32 weft_ibport_retrain(struct weft_ibport *port, u8 phys);

/**
 * weft_ibport_is_ready - whether one end of a link is
 * @port: its lock is not held
 *
 * Context: any but hard interrupts.
 * Return: true when a cable is plugged in, and management has not disabled the port.
 */
bool weft_ibport_is_ready(struct weft_ibport *port);

/**
 * weft_ibport_is_disabled - whether management has disabled a port
 * @port: its lock is not held
 *
 * Context: any but hard interrupts.
 * Return: true when it has.
 */
bool weft_ibport_is_disabled(struct weft_ibport *port);

/**
 * weft_ibport_follow - let the link go up or down because of the other end
 * @port: its lock is not held
 * @up: both ends are ready: LinkUp, INIT; else Polling, DOWN, unless it is disabled
 * @anew: if it is up it goes down first
 *
 * Context: any but hard interrupts.
 * Return: enum weft_ibport_event, for weft_ibport_tell().
 */
u32 weft_ibport_follow(struct weft_ibport *port, bool up, bool anew);

/**
 * weft_ibport_tell - tell the node what has happened
 * @port: its lock is not held
 * @events: enum weft_ibport_event; 0: nothing is done
 */
void weft_ibport_tell(struct weft_ibport *port, u32 events);

/**
 * weft_ibport_event - tell the node, and the cable, what management has done
 * @port: its lock is not held
 * @events: enum weft_ibport_event; 0: nothing is done
 *
 * Context: any but hard interrupts.
 */
void weft_ibport_event(struct weft_ibport *port, u32 events);

/**
 * weft_ibport_violation - count a packet with a wrong key in PortInfo
 * @port: its lock is not held
 * @qkey: the Q_Key was wrong; else the P_Key
 *
 * Not PortRcvConstraintErrors: that is for the filters of a switch (IBA 16.1.3.5).
 *
 * Context: any.
 */
void weft_ibport_violation(struct weft_ibport *port, bool qkey);

/**
 * weft_ibport_xmit - send a packet, and count it
 * @port: by which it leaves
 * @skb: belongs to the callee
 *
 * Dropped, and counted as discarded, when the state does not allow it: in INIT and ARMED
 * subnet management packets alone leave (those on VL 15). The same when it is longer than
 * the link's MTU allows (IBA 7.7.8).
 *
 * Context: bottom halves off, RCU read side; see weft_cable.xmit.
 */
void weft_ibport_xmit(struct weft_ibport *port, struct sk_buff *skb);

/**
 * weft_ibport_deliver - a cable brings a packet
 * @port: where it arrives
 * @skb: belongs to the callee; weft_hop.hops is valid
 * @nested: the caller may hold the turn of a QP, see struct weft_hop
 *
 * Counts; drops what the state does not allow (in INIT all but subnet management packets)
 * and what is malformed (weft_lrh_decode()), or longer than MTUCap allows. A port that is
 * ARMED becomes ACTIVE by the first packet of data, and raises the event.
 *
 * Context: bottom halves off, RCU read side; the lock of the port is not held.
 */
void weft_ibport_deliver(struct weft_ibport *port, struct sk_buff *skb, bool nested);

/**
 * weft_ibport_count - count one
 * @port: the port
 * @counter: what
 *
 * Context: any.
 */
static inline void weft_ibport_count(struct weft_ibport *port,
				     enum weft_ibport_counter counter)
{
	atomic64_inc(&port->counters[counter]);
}

/**
 * weft_ibport_has_lid - whether a unicast LID is one of a port's
 * @port: the port
 * @lid: destination of a packet
 *
 * Return: true when it is, whatever the path bits.
 */
static inline bool weft_ibport_has_lid(const struct weft_ibport *port, u16 lid)
{
	u16 own = READ_ONCE(port->lid);

	return own && (lid ^ own) >> READ_ONCE(port->lmc) == 0;
}

/**
 * weft_pkeys_match - whether two P_Keys are of one partition, and may talk
 * @a: one
 * @b: the other one
 *
 * Return: true if their lower 15 bits are equal, and not 0, which is no partition's, and
 * not both are limited members (IBA 10.9.3).
 */
static inline bool weft_pkeys_match(u16 a, u16 b)
{
	return a & 0x7fff && !((a ^ b) & 0x7fff) && (a | b) & 0x8000;
}

/**
 * weft_ibport_find_pkey - where the P_Key of a packet is in the table
 * @port: the port
 * @pkey: of a packet
 *
 * See weft_pkeys_match().
 *
 * Return: index of a matching entry, or -ENOENT.
 */
int weft_ibport_find_pkey(const struct weft_ibport *port, u16 pkey);

#endif /* WEFT_FABRIC_PORT_H */
