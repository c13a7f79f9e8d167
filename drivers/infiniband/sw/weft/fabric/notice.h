/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Notices (IBA 13.4.8): what a trap to the subnet manager carries.
 */
#ifndef WEFT_FABRIC_NOTICE_H
#define WEFT_FABRIC_NOTICE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/ib_smi.h>

/* Numbers of traps (IBA 14.2.5.1) */
#define WEFT_TRAP_LINK_CHANGE	128
#define WEFT_TRAP_LOCAL_CHANGE	144
#define WEFT_TRAP_BAD_MKEY	256
#define WEFT_TRAP_BAD_PKEY	257
#define WEFT_TRAP_BAD_QKEY	258
#define WEFT_TRAP_FILTERED	259

/* weft_notice.valid, by field; LIDs and GIDs are those of both ends */
#define WEFT_NOTICE_HAS_LIDS	(BIT(15) | BIT(14))
#define WEFT_NOTICE_HAS_PKEY	BIT(13)
#define WEFT_NOTICE_HAS_SL	BIT(12)
#define WEFT_NOTICE_HAS_SQPN	BIT(11)
#define WEFT_NOTICE_HAS_DQPN	BIT(10)
#define WEFT_NOTICE_HAS_GIDS	(BIT(9) | BIT(8))

/**
 * struct weft_notice - Notice, of generic type
 * @type: IB_NOTICE_TYPE_*
 * @producer: kind of node
 * @trap: WEFT_TRAP_*
 * @issuer_lid: LID of who sends it
 * @toggle: of who is asked for it; 0 in a trap
 * @switch_lid: trap 128: of the switch
 * @valid: trap 259: which of its fields say something, WEFT_NOTICE_HAS_*
 * @details: of other traps
 * @local: trap 144: what has changed at a port from its own side
 * @local.lid: of the port
 * @local.other: it is not CapabilityMask, or not alone
 * @local.cap_mask: as it is now
 * @local.changes: IB_NOTICE_TRAP_*_CHG
 * @mkey: trap 256: a subnet management MAD with a wrong M_Key
 * @mkey.lid: who has sent it
 * @mkey.dr_slid: and with a directed route
 * @mkey.method: of it
 * @mkey.attr_id: of it
 * @mkey.attr_mod: of it
 * @mkey.mkey: of it
 * @mkey.hops: IB_NOTICE_TRAP_DR_*, and hops of a directed route
 * @mkey.path: its return path, as much as there is room for
 * @key: traps 257 and 258: a packet with a wrong P_Key or Q_Key
 * @key.slid: who has sent it
 * @key.dlid: to whom
 * @key.key: that it had
 * @key.sl_sqpn: service level in the upper 4 bits, sender's QP; 0: the packet does not say
 * @key.dqpn: destination QP
 * @key.sgid: sender's, 0: it had no GRH
 * @key.dgid: likewise
 * @filter: trap 259: a packet with a P_Key that a port of a switch does not let pass
 * @filter.slid: who has sent it
 * @filter.dlid: to whom
 * @filter.pkey: that it had
 * @filter.sl_sqpn: as in @key
 * @filter.dqpn: destination QP
 * @filter.sgid: sender's
 * @filter.dgid: destination's
 * @filter.lid: of the switch
 * @filter.port: number of its port
 */
struct weft_notice {
	u8	type;
	u8	producer[3];
	__be16	trap;
	__be16	issuer_lid;
	__be16	toggle;
	union {
		__be16	switch_lid;
		__be16	valid;
	};
	union {
		u8 details[52];
		struct {
			__be16	lid;
			u8	reserved;
			u8	other;
			__be32	cap_mask;
			__be16	changes;
		} __packed local;
		struct {
			__be16	lid;
			__be16	dr_slid;
			u8	method;
			u8	reserved;
			__be16	attr_id;
			__be32	attr_mod;
			__be64	mkey;
			u8	reserved2;
			u8	hops;
			u8	path[30];
		} __packed mkey;
		struct {
			__be16	slid;
			__be16	dlid;
			__be32	key;
			__be32	sl_sqpn;
			__be32	dqpn;
			u8	sgid[16];
			u8	dgid[16];
		} __packed key;
		struct {
			__be16	slid;
			__be16	dlid;
			__be16	pkey;
			__be32	sl_sqpn;
			__be32	dqpn;
			u8	sgid[16];
			u8	dgid[16];
			__be16	lid;
			u8	port;
		} __packed filter;
	};
} __packed;

/**
 * struct weft_violation - a packet that was refused because of a key
 * @slid: source LID
 * @dlid: destination LID
 * @sl: service level
 * @key: that it had
 * @sqpn: source QP; 0: it does not say
 * @dqpn: destination QP
 * @sgid: source address, 16 bytes; NULL: no GRH
 * @dgid: destination address, likewise
 */
struct weft_violation {
	u16		slid;
	u16		dlid;
	u8		sl;
	u32		key;
	u32		sqpn;
	u32		dqpn;
	const u8	*sgid;
	const u8	*dgid;
};

/**
 * weft_notice_link_change - trap 128: the state of a switch port has changed
 *
 * Return: the notice.
 */
struct weft_notice weft_notice_link_change(void);

/**
 * weft_notice_local_change - trap 144: a port or its node was changed from its own side
 * @changes: IB_NOTICE_TRAP_*_CHG; 0: CapabilityMask alone
 *
 * Return: the notice.
 */
struct weft_notice weft_notice_local_change(u8 changes);

/**
 * weft_notice_bad_mkey - trap 256: a MAD had a wrong M_Key
 * @slid: who has sent it
 * @smp: the MAD
 *
 * Return: the notice.
 */
struct weft_notice weft_notice_bad_mkey(u16 slid, const struct ib_smp *smp);

/**
 * weft_notice_bad_key - traps 257 and 258: a packet had a wrong P_Key or Q_Key
 * @trap: WEFT_TRAP_BAD_PKEY or WEFT_TRAP_BAD_QKEY
 * @violation: the packet
 *
 * Return: the notice.
 */
struct weft_notice weft_notice_bad_key(u16 trap, const struct weft_violation *violation);

/**
 * weft_notice_filtered - trap 259: a port of a switch has not let a packet pass
 * @port: its number
 * @violation: the packet
 *
 * Return: the notice.
 */
struct weft_notice weft_notice_filtered(u8 port, const struct weft_violation *violation);

/**
 * weft_notice_merge - a notice takes the place of one that was not heard yet
 * @notice: the new one; what is lost with @old and could not be asked for is added
 * @old: of the same trap
 */
void weft_notice_merge(struct weft_notice *notice, const struct weft_notice *old);

/**
 * struct weft_notice_issuer - who sends a trap, as it is now
 * @producer: kind of node: WEFT_NODE_CA or WEFT_NODE_SWITCH
 * @lid: of its port
 * @cap_mask: of its port
 */
struct weft_notice_issuer {
	u8	producer;
	u16	lid;
	__be32	cap_mask;
};

/**
 * weft_notice_tid - the transaction of a trap
 * @number: counts the things that there were to tell
 *
 * Return: transaction ID, for all times it is sent; that which represses it has the same.
 */
__be64 weft_notice_tid(u32 number);

/**
 * weft_notice_smp - make a trap
 * @smp: result
 * @notice: what there is to tell
 * @issuer: who does
 * @number: see weft_notice_tid()
 */
void weft_notice_smp(struct ib_smp *smp, const struct weft_notice *notice,
		     const struct weft_notice_issuer *issuer, u32 number);

#endif /* WEFT_FABRIC_NOTICE_H */
