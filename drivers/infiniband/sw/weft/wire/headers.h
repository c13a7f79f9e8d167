/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packet headers in wire format: IBA volume 1 chapters 7 to 9, annexes A14 (XRC), A17 (RoCEv2)
 * and A19 (FLUSH, ATOMIC WRITE), and one header of weft's own.
 *
 * Every field is in network order; only codec.c converts them. The structs are packed because a
 * packet may start at any address. Bits without a mask are reserved: weft sends them as zero and
 * ignores them on receipt, so that later versions of the protocol can use them.
 */
#ifndef WEFT_WIRE_HEADERS_H
#define WEFT_WIRE_HEADERS_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

/* vl_lver */
#define WEFT_LRH_VL		GENMASK(7, 4)
#define WEFT_LRH_LVER		GENMASK(3, 0)
/* sl_lnh */
#define WEFT_LRH_SL		GENMASK(7, 4)
#define WEFT_LRH_LNH		GENMASK(1, 0)
/* length, in words of 4 bytes from the LRH to the ICRC */
#define WEFT_LRH_LENGTH		GENMASK(10, 0)
/* The largest length that fits the field, in bytes. */
#define WEFT_LRH_LENGTH_MAX	(2047 * 4)

/* Local route header (IBA 7.7). */
struct weft_wire_lrh {
	u8	vl_lver;	/* virtual lane, link version */
	u8	sl_lnh;		/* service level, link next header */
	__be16	dlid;
	__be16	length;
	__be16	slid;
} __packed;
static_assert(sizeof(struct weft_wire_lrh) == 8);

/* The header that follows an LRH (IBA 7.7). */
enum weft_lnh {
	WEFT_LNH_RAW	= 0,	/* an EtherType */
	WEFT_LNH_IPV6	= 1,	/* an IPv6 header that is not a GRH */
	WEFT_LNH_BTH	= 2,
	WEFT_LNH_GRH	= 3,	/* a GRH, then a BTH */
};

#define WEFT_GRH_IPVER		6
#define WEFT_GRH_NEXT_IBA	0x1b

/* version */
#define WEFT_GRH_VERSION	GENMASK(31, 28)
#define WEFT_GRH_TCLASS		GENMASK(27, 20)
#define WEFT_GRH_FLOW_LABEL	GENMASK(19, 0)

/* Global route header (IBA 8.3), an IPv6 header. */
struct weft_wire_grh {
	__be32	version;	/* IP version (6), traffic class, flow label */
	__be16	length;		/* bytes from the end of the GRH to the end of the ICRC */
	u8	next_header;	/* WEFT_GRH_NEXT_IBA */
	u8	hop_limit;
	u8	sgid[16];
	u8	dgid[16];
} __packed;
static_assert(sizeof(struct weft_wire_grh) == 40);

/* flags */
#define WEFT_BTH_SE		BIT(7)
#define WEFT_BTH_MIGREQ		BIT(6)
#define WEFT_BTH_PAD		GENMASK(5, 4)
#define WEFT_BTH_TVER		GENMASK(3, 0)
/* dqpn; the upper byte is resv8a of IBA, which the ICRC does not protect */
#define WEFT_BTH_RESV8A		GENMASK(31, 24)
#define WEFT_BTH_FECN		BIT(31)
#define WEFT_BTH_BECN		BIT(30)
#define WEFT_BTH_DQPN		GENMASK(23, 0)
/* psn */
#define WEFT_BTH_ACKREQ		BIT(31)
/* reserved by IBA; an end of RC says so that it understands gap maps, see engine/repair.c */
#define WEFT_BTH_MAPS		BIT(30)
/* reserved by IBA, too: a READ response that has been sent before, to a peer that is a weft */
#define WEFT_BTH_AGAIN		BIT(29)
#define WEFT_BTH_PSN		GENMASK(23, 0)

/* Base transport header (IBA 9.2, A17). */
struct weft_wire_bth {
	u8	opcode;		/* see opcode.h */
	u8	flags;		/* solicited event, migration request, pad count, version */
	__be16	pkey;
	__be32	dqpn;		/* congestion marks, destination QP */
	__be32	psn;		/* acknowledge request, packet sequence number */
} __packed;
static_assert(sizeof(struct weft_wire_bth) == 12);

/* sqpn */
#define WEFT_DETH_SQPN		GENMASK(23, 0)

/* Datagram extended transport header (IBA 9.3). */
struct weft_wire_deth {
	__be32	qkey;
	__be32	sqpn;
} __packed;
static_assert(sizeof(struct weft_wire_deth) == 8);

/* srqn */
#define WEFT_XRCETH_SRQN	GENMASK(23, 0)

/* XRC extended transport header (IBA A14): the destination SRQ. */
struct weft_wire_xrceth {
	__be32	srqn;
} __packed;
static_assert(sizeof(struct weft_wire_xrceth) == 4);

/* RDMA extended transport header (IBA 9.3). */
struct weft_wire_reth {
	__be64	va;
	__be32	rkey;
	__be32	length;		/* bytes of the whole message */
} __packed;
static_assert(sizeof(struct weft_wire_reth) == 16);

/* bits */
#define WEFT_FETH_SELECTIVITY	GENMASK(5, 4)
#define WEFT_FETH_PLACEMENT	GENMASK(3, 0)

/* Flush extended transport header (IBA A19). */
struct weft_wire_feth {
	__be32	bits;
} __packed;
static_assert(sizeof(struct weft_wire_feth) == 4);

/* The guarantees that a FLUSH asks for, a set. */
enum weft_placement {
	WEFT_PLACEMENT_GLOBAL		= BIT(0),	/* every reader sees the data */
	WEFT_PLACEMENT_PERSISTENT	= BIT(1),	/* the data survives a loss of power */
	WEFT_PLACEMENTS			= WEFT_PLACEMENT_GLOBAL | WEFT_PLACEMENT_PERSISTENT,
};

/* The memory that a FLUSH applies to. */
enum weft_selectivity {
	WEFT_SELECT_RANGE	= 0,	/* the range of the RETH */
	WEFT_SELECT_REGION	= 1,	/* all memory that the rkey of the RETH names */
};

/* syndrome */
#define WEFT_AETH_SYNDROME	GENMASK(31, 24)
#define WEFT_AETH_MSN		GENMASK(23, 0)

/* ACK extended transport header (IBA 9.3). */
struct weft_wire_aeth {
	__be32	syndrome;	/* syndrome (see aeth.h), message sequence number */
} __packed;
static_assert(sizeof(struct weft_wire_aeth) == 4);

/* Atomic extended transport header (IBA 9.3). */
struct weft_wire_atomic {
	__be64	va;
	__be32	rkey;
	__be64	swap_add;
	__be64	compare;
} __packed;
static_assert(sizeof(struct weft_wire_atomic) == 28);

/* The masks of a masked atomic, after a struct weft_wire_atomic. It is not part of IBA. */
struct weft_wire_masks {
	__be64	swap;		/* CMP_SWP: the bits to swap; FETCH_ADD: 0 */
	__be64	compare_add;	/* CMP_SWP: the bits to compare; FETCH_ADD: each field's top bit */
} __packed;
static_assert(sizeof(struct weft_wire_masks) == 16);

/* Atomic ACK extended transport header (IBA 9.3): the value before the operation. */
struct weft_wire_atomic_ack {
	__be64	original;
} __packed;
static_assert(sizeof(struct weft_wire_atomic_ack) == 8);

/* Immediate data extended transport header (IBA 9.3). */
struct weft_wire_imm {
	__be32	data;
} __packed;
static_assert(sizeof(struct weft_wire_imm) == 4);

/* Invalidate extended transport header (IBA 9.3): the rkey to invalidate. */
struct weft_wire_ieth {
	__be32	rkey;
} __packed;
static_assert(sizeof(struct weft_wire_ieth) == 4);

/* The most bytes from the BTH to the end of the last extension header: a masked atomic. */
#define WEFT_HDR_MAX_LENGTH						\
	(sizeof(struct weft_wire_bth) + sizeof(struct weft_wire_atomic) +	\
	 sizeof(struct weft_wire_masks))

/* Packets that a gap map tells of. */
#define WEFT_MAP_PACKETS	1024

/* The payload of a gap map. Its AETH is that of a sequence NAK, for the first missing packet. */
struct weft_wire_map {
	/* this many packets from the PSN on: those of them that are not kept are lost */
	__be32	lost;
	/* packet PSN + n is kept: bit n % 8 of byte n / 8 */
	u8	kept[WEFT_MAP_PACKETS / 8];
} __packed;
#define WEFT_MAP_LENGTH		132
static_assert(sizeof(struct weft_wire_map) == WEFT_MAP_LENGTH);

/* The payload of an ATOMIC WRITE, and the reserved bytes that follow the BTH of a CNP. */
#define WEFT_ATOMIC_WRITE_LENGTH	8
#define WEFT_CNP_LENGTH			16

#define WEFT_ICRC_LENGTH		4
#define WEFT_VCRC_LENGTH		2

#endif /* WEFT_WIRE_HEADERS_H */
