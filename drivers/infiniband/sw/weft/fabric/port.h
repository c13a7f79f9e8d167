/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An InfiniBand port of a channel adapter (HCA) or of a switch: its attributes, tables and
 * counters as management sees them, and the cable that is plugged into it.
 *
 * A packet of a fabric is a socket buffer whose data begin with the LRH, where its network header
 * is, and end with the ICRC. Its protocol is WEFT_IB_ETHERTYPE. The LRH of a packet that is sent
 * is complete. The ICRC is not computed: a local cable makes no errors, and frames have a
 * checksum of their own.
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

/* IEEE 802 local experimental EtherType 1, for frames and for packets inside this host. */
#define WEFT_IB_ETHERTYPE	0x88b5

/* Entries of a port's tables, which management accesses in blocks of 32 and of 8. */
#define WEFT_IB_PKEYS		64
#define WEFT_IB_GUIDS		16
/* Bytes of a virtual lane arbitration table, which has 32 entries. */
#define WEFT_IB_VLARB		64

/* LIDs (IBA 4.1.3) */
#define WEFT_LID_PERMISSIVE	0xffff
#define WEFT_LID_MCAST		0xc000

/* A set of changes of a port, in the order in which consumers are to learn of them. */
enum weft_ibport_event {
	WEFT_IBPORT_LID		= BIT(0),	/* LID or LMC changed */
	WEFT_IBPORT_SM		= BIT(1),	/* LID or SL of the subnet manager changed */
	WEFT_IBPORT_GID		= BIT(2),	/* GID prefix or a GUID changed */
	WEFT_IBPORT_PKEY	= BIT(3),	/* P_Key table changed */
	WEFT_IBPORT_ERR		= BIT(4),	/* left the state ACTIVE */
	WEFT_IBPORT_ACTIVE	= BIT(5),	/* entered the state ACTIVE */
	WEFT_IBPORT_REREGISTER	= BIT(6),	/* the subnet manager set ClientReregister */
	/* PortPhysicalState changed to or from LinkUp, or PortState to or from DOWN */
	WEFT_IBPORT_LINK	= BIT(7),
};

/* Counters of a port (IBA 16.1.3.5, 16.1.4.11). Data is in words of 4 bytes, LRH to ICRC. */
enum weft_ibport_counter {
	WEFT_IBC_XMIT_DATA,
	WEFT_IBC_RCV_DATA,
	WEFT_IBC_XMIT_PKTS,
	WEFT_IBC_RCV_PKTS,
	WEFT_IBC_UNICAST_XMIT,
	WEFT_IBC_UNICAST_RCV,
	WEFT_IBC_MULTICAST_XMIT,
	WEFT_IBC_MULTICAST_RCV,
	WEFT_IBC_SYMBOL_ERRORS,		/* damaged frames of an uplink */
	WEFT_IBC_LINK_RECOVERIES,	/* times an uplink went back to repeat frames */
	WEFT_IBC_LINK_DOWNED,
	/* Malformed packets, and those for which the agents of a switch had no room. */
	WEFT_IBC_RCV_ERRORS,
	/* Switch: packets without a route, in a loop, or for a QP that the switch does not have. */
	WEFT_IBC_RELAY_ERRORS,
	/* Not sent: port down, queue full, or longer than NeighborMTU allows. */
	WEFT_IBC_XMIT_DISCARDS,
	WEFT_IBC_XMIT_CONSTRAINT,	/* switch: P_Key filtered on the way out */
	WEFT_IBC_RCV_CONSTRAINT,	/* switch: P_Key filtered on the way in, or raw packet */
	WEFT_IBC_VL15_DROPPED,		/* no room for a packet on VL 15 */
	WEFT_IBC_XMIT_WAIT,		/* times a packet had to wait for an uplink's window */
	WEFT_IBC_COUNT,
};

/* The filters of an external port of a switch, a set with the bits of PortInfo. */
enum weft_ibport_filter {
	WEFT_IBPORT_RAW_OUT	= BIT(0),	/* FilterRawOutbound; no raw packet gets there */
	WEFT_IBPORT_RAW_IN	= BIT(1),	/* FilterRawInbound */
	WEFT_IBPORT_PKEY_OUT	= BIT(2),	/* PartitionEnforcementOutbound */
	WEFT_IBPORT_PKEY_IN	= BIT(3),	/* PartitionEnforcementInbound */
};

/* Control block of a packet on its way through the fabric of this host. */
struct weft_hop {
	bool	nested;	/* the caller that passes the packet on may own the turn of a QP */
	u8	hops;	/* uplinks that the packet has crossed; 0 if its sender is on this host */
};

static inline struct weft_hop *weft_hop(struct sk_buff *skb)
{
	return (struct weft_hop *)skb->cb;
}

/**
 * struct weft_cable - what connects a port with another one
 * @xmit: carry a packet, which belongs to the callee, from the port @from to the other end.
 *	Bottom halves are off, RCU read side. The caller may own the turn of a QP, so the receiver
 *	must only forward or queue the packet, and not process it here.
 * @link: management took the link of the port @from down, or up, or down and up; the other end
 *	has to follow. May be NULL. RCU read side, any context but hard interrupts; no lock of a
 *	port is held. Calls weft_ibport_tell(), never weft_ibport_event(), which would call it
 *	again.
 */
struct weft_cable {
	void (*xmit)(struct weft_cable *cable, struct weft_ibport *from,
		     struct sk_buff *skb);
	void (*link)(struct weft_cable *cable, struct weft_ibport *from);
};

/**
 * struct weft_ibport_ops - callbacks of a port to its node
 * @receive: a packet has come, and has been counted; it belongs to the callee. Bottom halves are
 *	off, RCU read side. If @nested, the caller may own the turn of a QP, see weft_cable.xmit.
 * @event: @events is a set of enum weft_ibport_event. No lock is held, any context but hard
 *	interrupts.
 */
struct weft_ibport_ops {
	void (*receive)(struct weft_ibport *port, struct sk_buff *skb, bool nested);
	void (*event)(struct weft_ibport *port, u32 events);
};

struct weft_ibport {
	spinlock_t		lock;	/* for everything that management sets; interrupts off */
	const struct weft_ibport_ops *ops;
	u8			num;	/* port number in the node; 0: the switch's own port */
	__be64			guid;
	/* PortInfo, without the fields that depend on the request (LocalPortNum). Under @lock. */
	struct ib_port_info	info;

	/* Copies of fields of @info, in CPU order, for readers without @lock. */
	u16			lid;	/* 0: none yet */
	u8			lmc;
	u8			mtu;	/* NeighborMTU, enum ib_mtu */
	u16			sm_lid;
	u8			state;	/* enum ib_port_state */
	u8			filters; /* enum weft_ibport_filter; external switch ports */

	u16			pkeys[WEFT_IB_PKEYS];	/* CPU order; written under @lock */
	__be64			guids[WEFT_IB_GUIDS];	/* GUIDInfo; written under @lock */
	/* SLtoVLMappingTable, two SLs a byte, and VLArbitrationTable, low and high; under @lock. */
	u8			sl_to_vl[8];
	u8			vl_arb[2][WEFT_IB_VLARB];
	/* End of the M_Key lease in jiffies; 0: no lease is running. Under @lock. */
	unsigned long		mkey_expires;
	bool			disabled; /* by management; under @lock */
	bool			failed;	/* the device has, so it is Disabled; under @lock */
	bool			sm_live; /* IsSM is set in CapabilityMask; read without @lock */
	atomic64_t		counters[WEFT_IBC_COUNT];
	/* Values of @counters that PortCounters and PortCountersExtended show as 0. */
	u64			base[WEFT_IBC_COUNT];
	u64			base_ext[WEFT_IBC_COUNT];
	struct weft_cable __rcu	*cable;	/* NULL: nothing is plugged in */
};

struct weft_ibport_param {
	const struct weft_ibport_ops *ops;
	u8		num;
	__be64		guid;
	u32		cap_mask;	/* CapabilityMask, IB_PORT_* */
	/* The highest LinkSpeed: 1 (2.5 Gb/s a lane), 2 or 4. The width is 4X. */
	u8		speed;
};

void weft_ibport_init(struct weft_ibport *port, const struct weft_ibport_param *param);
void weft_ibport_plug(struct weft_ibport *port, struct weft_cable *cable);
void weft_ibport_unplug(struct weft_ibport *port);
u32 weft_ibport_move(struct weft_ibport *port, u8 phys, u8 state);
u32 weft_ibport_retrain(struct weft_ibport *port, u8 phys);
u32 weft_ibport_disable(struct weft_ibport *port);
u32 weft_ibport_fail(struct weft_ibport *port, bool failed);

/* A port is ready when it has a cable and is not disabled. These take the lock. */
bool weft_ibport_is_ready(struct weft_ibport *port);
bool weft_ibport_is_disabled(struct weft_ibport *port);

u32 weft_ibport_follow(struct weft_ibport *port, bool up, bool anew);

/* Tell the node of events, or node and cable of events that management caused. No lock is held. */
void weft_ibport_tell(struct weft_ibport *port, u32 events);
void weft_ibport_event(struct weft_ibport *port, u32 events);

void weft_ibport_violation(struct weft_ibport *port, bool qkey);
void weft_ibport_xmit(struct weft_ibport *port, struct sk_buff *skb);
void weft_ibport_deliver(struct weft_ibport *port, struct sk_buff *skb, bool nested);

static inline void weft_ibport_count(struct weft_ibport *port, enum weft_ibport_counter counter)
{
	atomic64_inc(&port->counters[counter]);
}

/* Is a unicast LID one of the port's LIDs, with any path bits? */
static inline bool weft_ibport_has_lid(const struct weft_ibport *port, u16 lid)
{
	u16 own = READ_ONCE(port->lid);

	return own && (lid ^ own) >> READ_ONCE(port->lmc) == 0;
}

/* Equal in 15 bits, not 0 (the invalid P_Key), and not both limited members (IBA 10.9.3). */
static inline bool weft_pkeys_match(u16 a, u16 b)
{
	return a & 0x7fff && !((a ^ b) & 0x7fff) && (a | b) & 0x8000;
}

int weft_ibport_find_pkey(const struct weft_ibport *port, u16 pkey);

#endif /* WEFT_FABRIC_PORT_H */
