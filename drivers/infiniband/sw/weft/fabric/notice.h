/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Notices (IBA 13.4.8), which traps to the subnet manager carry. */
#ifndef WEFT_FABRIC_NOTICE_H
#define WEFT_FABRIC_NOTICE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/ib_smi.h>

/* Trap numbers (IBA 14.2.5.1) */
#define WEFT_TRAP_LINK_CHANGE	128
#define WEFT_TRAP_LOCAL_CHANGE	144
#define WEFT_TRAP_BAD_MKEY	256
#define WEFT_TRAP_BAD_PKEY	257
#define WEFT_TRAP_BAD_QKEY	258
#define WEFT_TRAP_FILTERED	259

/* Bits of weft_notice.valid; LIDs and GIDs have a bit for the source and one for the destination */
#define WEFT_NOTICE_HAS_LIDS	(BIT(15) | BIT(14))
#define WEFT_NOTICE_HAS_PKEY	BIT(13)
#define WEFT_NOTICE_HAS_SL	BIT(12)
#define WEFT_NOTICE_HAS_SQPN	BIT(11)
#define WEFT_NOTICE_HAS_DQPN	BIT(10)
#define WEFT_NOTICE_HAS_GIDS	(BIT(9) | BIT(8))

/* A Notice of the generic type. The members of the union are the details of each trap. */
struct weft_notice {
	u8	type;		/* IB_NOTICE_TYPE_* */
	u8	producer[3];	/* node type */
	__be16	trap;		/* WEFT_TRAP_* */
	__be16	issuer_lid;
	__be16	toggle;		/* 0 in a trap */
	union {
		__be16	switch_lid;	/* trap 128 */
		__be16	valid;		/* trap 259: WEFT_NOTICE_HAS_* */
	};
	union {
		u8 details[52];
		/* Trap 144: a port changed, but not by a subnet manager. */
		struct {
			__be16	lid;
			u8	reserved;
			u8	other;		/* something else than CapabilityMask changed */
			__be32	cap_mask;	/* as it is now */
			__be16	changes;	/* IB_NOTICE_TRAP_*_CHG */
		} __packed local;
		/* Trap 256: a subnet management MAD had a wrong M_Key. */
		struct {
			__be16	lid;		/* of its sender */
			__be16	dr_slid;
			u8	method;
			u8	reserved;
			__be16	attr_id;
			__be32	attr_mod;
			__be64	mkey;
			u8	reserved2;
			u8	hops;		/* IB_NOTICE_TRAP_DR_*, and hop count */
			u8	path[30];	/* return path, perhaps truncated */
		} __packed mkey;
		/* Traps 257 and 258: a packet had a wrong P_Key or Q_Key. */
		struct {
			__be16	slid;
			__be16	dlid;
			__be32	key;
			__be32	sl_sqpn;	/* SL in the upper 4 bits; QP 0: not known */
			__be32	dqpn;
			u8	sgid[16];	/* GIDs are 0 without a GRH */
			u8	dgid[16];
		} __packed key;
		/* Trap 259: a switch port filtered a packet by its P_Key. */
		struct {
			__be16	slid;
			__be16	dlid;
			__be16	pkey;
			__be32	sl_sqpn;
			__be32	dqpn;
			u8	sgid[16];
			u8	dgid[16];
			__be16	lid;		/* of the switch */
			u8	port;		/* number of the switch port */
		} __packed filter;
	};
} __packed;

/* The headers of a packet that was refused because of a key. */
struct weft_violation {
	u16		slid;
	u16		dlid;
	u8		sl;
	u32		key;
	u32		sqpn;	/* 0: not in the packet */
	u32		dqpn;
	const u8	*sgid;	/* 16 bytes; both GIDs are NULL without a GRH */
	const u8	*dgid;
};

/* Notices for the traps 128, 144 (0: CapabilityMask changed), 256, 257 or 258, and 259. */
struct weft_notice weft_notice_link_change(void);
struct weft_notice weft_notice_local_change(u8 changes);
struct weft_notice weft_notice_bad_mkey(u16 slid, const struct ib_smp *smp);
struct weft_notice weft_notice_bad_key(u16 trap, const struct weft_violation *violation);
struct weft_notice weft_notice_filtered(u8 port, const struct weft_violation *violation);

void weft_notice_merge(struct weft_notice *notice, const struct weft_notice *old);

/* The issuer of a trap, at the time when the trap is sent. */
struct weft_notice_issuer {
	u8	producer;	/* WEFT_NODE_* */
	u16	lid;
	__be32	cap_mask;
};

/* The transaction ID of notice @number, which all repetitions and the TrapRepress have. */
__be64 weft_notice_tid(u32 number);

void weft_notice_smp(struct ib_smp *smp, const struct weft_notice *notice,
		     const struct weft_notice_issuer *issuer, u32 number);

#endif /* WEFT_FABRIC_NOTICE_H */
