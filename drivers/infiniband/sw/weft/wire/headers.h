/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Headers as they lie on the wire: IBA volume 1 chapters 7 to 9, annexes A14
 * (XRC), A17 (RoCEv2) and A19 (FLUSH, ATOMIC WRITE); one is weft's own.
 *
 * Every field is in network order; codec.c alone converts them. The structs
 * are packed because a packet may start at any address. Bits without a mask are
 * reserved: sent as zero and ignored on receipt, for later versions of the
 * protocol to use.
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
/* Bytes that it can say. */
#define WEFT_LRH_LENGTH_MAX	(2047 * 4)

/**
 * struct weft_wire_lrh - local route header (IBA 7.7)
 * @vl_lver: virtual lane, link version
 * @sl_lnh: service level, link next header
 * @dlid: destination LID
 * @length: words of 4 bytes from the first of the LRH to the ICRC
 * @slid: source LID
 */
struct weft_wire_lrh {
	u8	vl_lver;
	u8	sl_lnh;
	__be16	dlid;
	__be16	length;
	__be16	slid;
} __packed;
static_assert(sizeof(struct weft_wire_lrh) == 8);

/**
 * enum weft_lnh - what follows an LRH (IBA 7.7)
 * @WEFT_LNH_RAW: an EtherType
 * @WEFT_LNH_IPV6: an IPv6 header that is no GRH
 * @WEFT_LNH_BTH: a BTH
 * @WEFT_LNH_GRH: a GRH, then a BTH
 */
enum weft_lnh {
	WEFT_LNH_RAW	= 0,
	WEFT_LNH_IPV6	= 1,
	WEFT_LNH_BTH	= 2,
	WEFT_LNH_GRH	= 3,
};

/* IP version and next header of a GRH. */
#define WEFT_GRH_IPVER		6
#define WEFT_GRH_NEXT_IBA	0x1b

/* version */
#define WEFT_GRH_VERSION	GENMASK(31, 28)
#define WEFT_GRH_TCLASS		GENMASK(27, 20)
#define WEFT_GRH_FLOW_LABEL	GENMASK(19, 0)

/**
 * struct weft_wire_grh - global route header (IBA 8.3)
 * @version: IP version (6), traffic class, flow label
 * @length: bytes from the end of the GRH to the ICRC
 * @next_header: 0x1b, IBA transport
 * @hop_limit: as in IPv6
 * @sgid: source GID
 * @dgid: destination GID
 */
struct weft_wire_grh {
	__be32	version;
	__be16	length;
	u8	next_header;
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
#define WEFT_BTH_PSN		GENMASK(23, 0)

/**
 * struct weft_wire_bth - base transport header (IBA 9.2, A17)
 * @opcode: transport and operation, see opcode.h
 * @flags: solicited event, migration request, pad count, transport version
 * @pkey: partition key
 * @dqpn: congestion marks, destination QP
 * @psn: acknowledge request, packet sequence number
 */
struct weft_wire_bth {
	u8	opcode;
	u8	flags;
	__be16	pkey;
	__be32	dqpn;
	__be32	psn;
} __packed;
static_assert(sizeof(struct weft_wire_bth) == 12);

/* sqpn */
#define WEFT_DETH_SQPN		GENMASK(23, 0)

/**
 * struct weft_wire_deth - datagram extended transport header (IBA 9.3)
 * @qkey: queue key
 * @sqpn: source QP
 */
struct weft_wire_deth {
	__be32	qkey;
	__be32	sqpn;
} __packed;
static_assert(sizeof(struct weft_wire_deth) == 8);

/* srqn */
#define WEFT_XRCETH_SRQN	GENMASK(23, 0)

/**
 * struct weft_wire_xrceth - XRC extended transport header (IBA A14)
 * @srqn: destination SRQ
 */
struct weft_wire_xrceth {
	__be32	srqn;
} __packed;
static_assert(sizeof(struct weft_wire_xrceth) == 4);

/**
 * struct weft_wire_reth - RDMA extended transport header (IBA 9.3)
 * @va: virtual address
 * @rkey: remote key
 * @length: bytes of the whole message
 */
struct weft_wire_reth {
	__be64	va;
	__be32	rkey;
	__be32	length;
} __packed;
static_assert(sizeof(struct weft_wire_reth) == 16);

/* bits */
#define WEFT_FETH_SELECTIVITY	GENMASK(5, 4)
#define WEFT_FETH_PLACEMENT	GENMASK(3, 0)

/**
 * struct weft_wire_feth - flush extended transport header (IBA A19)
 * @bits: selectivity level, placement types
 */
struct weft_wire_feth {
	__be32	bits;
} __packed;
static_assert(sizeof(struct weft_wire_feth) == 4);

/**
 * enum weft_placement - what a FLUSH shall reach, a set
 * @WEFT_PLACEMENT_GLOBAL: whoever looks sees the data
 * @WEFT_PLACEMENT_PERSISTENT: they are still there when the power has gone
 * @WEFT_PLACEMENTS: all of them
 */
enum weft_placement {
	WEFT_PLACEMENT_GLOBAL		= BIT(0),
	WEFT_PLACEMENT_PERSISTENT	= BIT(1),
	WEFT_PLACEMENTS			= WEFT_PLACEMENT_GLOBAL | WEFT_PLACEMENT_PERSISTENT,
};

/**
 * enum weft_selectivity - what a FLUSH is about
 * @WEFT_SELECT_RANGE: the range of the RETH
 * @WEFT_SELECT_REGION: all that the key of the RETH names
 */
enum weft_selectivity {
	WEFT_SELECT_RANGE	= 0,
	WEFT_SELECT_REGION	= 1,
};

/* syndrome */
#define WEFT_AETH_SYNDROME	GENMASK(31, 24)
#define WEFT_AETH_MSN		GENMASK(23, 0)

/**
 * struct weft_wire_aeth - ACK extended transport header (IBA 9.3)
 * @syndrome: syndrome (see aeth.h), message sequence number
 */
struct weft_wire_aeth {
	__be32	syndrome;
} __packed;
static_assert(sizeof(struct weft_wire_aeth) == 4);

/**
 * struct weft_wire_atomic - atomic extended transport header (IBA 9.3)
 * @va: virtual address
 * @rkey: remote key
 * @swap_add: value to store, or to add
 * @compare: value to compare with
 */
struct weft_wire_atomic {
	__be64	va;
	__be32	rkey;
	__be64	swap_add;
	__be64	compare;
} __packed;
static_assert(sizeof(struct weft_wire_atomic) == 28);

/**
 * struct weft_wire_masks - follows a struct weft_wire_atomic, of no standard
 * @swap: bits that are swapped; of FETCH & ADD 0
 * @compare_add: bits that are compared; of FETCH & ADD the uppermost of each field
 */
struct weft_wire_masks {
	__be64	swap;
	__be64	compare_add;
} __packed;
static_assert(sizeof(struct weft_wire_masks) == 16);

/**
 * struct weft_wire_atomic_ack - atomic ACK extended transport header (IBA 9.3)
 * @original: value found at the remote address
 */
struct weft_wire_atomic_ack {
	__be64	original;
} __packed;
static_assert(sizeof(struct weft_wire_atomic_ack) == 8);

/**
 * struct weft_wire_imm - immediate data extended transport header (IBA 9.3)
 * @data: four bytes of the consumer's
 */
struct weft_wire_imm {
	__be32	data;
} __packed;
static_assert(sizeof(struct weft_wire_imm) == 4);

/**
 * struct weft_wire_ieth - invalidate extended transport header (IBA 9.3)
 * @rkey: key to invalidate
 */
struct weft_wire_ieth {
	__be32	rkey;
} __packed;
static_assert(sizeof(struct weft_wire_ieth) == 4);

/* Bytes from the BTH to the last extension header: masked atomics. */
#define WEFT_HDR_MAX_LENGTH						\
	(sizeof(struct weft_wire_bth) + sizeof(struct weft_wire_atomic) +	\
	 sizeof(struct weft_wire_masks))

/* Payload of an ATOMIC WRITE, and the reserved bytes that fill up a CNP. */
#define WEFT_ATOMIC_WRITE_LENGTH	8
#define WEFT_CNP_LENGTH			16

/* Bytes of the checksums behind the payload. */
#define WEFT_ICRC_LENGTH		4
#define WEFT_VCRC_LENGTH		2

#endif /* WEFT_WIRE_HEADERS_H */
