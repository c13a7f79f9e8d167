/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Between bytes and CPU order. Everything above the wire layer sees the
 * structs below and no header.
 */
#ifndef WEFT_WIRE_CODEC_H
#define WEFT_WIRE_CODEC_H

#include <linux/types.h>

#include "wire/headers.h"

/**
 * enum weft_malformed - what is wrong with the form of a packet
 * @WEFT_MALFORMED_NONE: nothing
 * @WEFT_MALFORMED_SHORT: it ends within its headers
 * @WEFT_MALFORMED_VERSION: unknown version of the LRH, the GRH or the BTH
 * @WEFT_MALFORMED_NEXT_HEADER: what follows the LRH or the GRH is not ours
 * @WEFT_MALFORMED_LENGTH: a length field and the bytes there are do not agree,
 *	or they are no multiple of 4
 * @WEFT_MALFORMED_OPCODE: reserved or not supported
 * @WEFT_MALFORMED_PAD: more pad than payload
 * @WEFT_MALFORMED_PAYLOAD: payload where the opcode allows none, none where it
 *	wants some, or not the one length it allows
 * @WEFT_MALFORMED_COUNT: number of values
 */
enum weft_malformed {
	WEFT_MALFORMED_NONE	= 0,
	WEFT_MALFORMED_SHORT,
	WEFT_MALFORMED_VERSION,
	WEFT_MALFORMED_NEXT_HEADER,
	WEFT_MALFORMED_LENGTH,
	WEFT_MALFORMED_OPCODE,
	WEFT_MALFORMED_PAD,
	WEFT_MALFORMED_PAYLOAD,
	WEFT_MALFORMED_COUNT,
};

/**
 * struct weft_hdr - the BTH and its extension headers
 *
 * Which of the extension headers are there says weft_opcode(@opcode)->ext;
 * the others are zero after decoding and not looked at when encoding.
 *
 * @length: bytes of all headers; not looked at when encoding
 * @payload: bytes that follow them, pad not counted; not looked at when
 *	encoding
 * @opcode: transport and operation
 * @pad: bytes of pad behind the payload, 0 to 3
 * @tver: transport header version, 0
 * @se: solicited event
 * @migreq: migration state is "migrated"
 * @fecn: forward congestion
 * @becn: backward congestion
 * @ackreq: an acknowledge is wanted
 * @pkey: partition key
 * @dqpn: destination QP, 24 bits
 * @psn: packet sequence number, 24 bits
 * @imm: immediate data; bytes of the consumer's, so in the order they came
 * @ieth: invalidate
 * @ieth.rkey: key to invalidate
 * @xrceth: XRC
 * @xrceth.srqn: destination SRQ, 24 bits
 * @deth: datagram
 * @deth.qkey: queue key
 * @deth.sqpn: source QP, 24 bits
 * @feth: flush
 * @feth.placement: enum weft_placement
 * @feth.selectivity: enum weft_selectivity
 * @reth: RDMA
 * @reth.va: remote address
 * @reth.rkey: remote key
 * @reth.length: bytes of the whole message
 * @aeth: acknowledge
 * @aeth.syndrome: see aeth.h
 * @aeth.msn: message sequence number, 24 bits
 * @atomic: operands
 * @atomic.va: remote address
 * @atomic.rkey: remote key
 * @atomic.swap_add: value to store, or to add
 * @atomic.compare: value to compare with
 * @masks: of a masked atomic
 * @masks.swap: bits that are swapped
 * @masks.compare_add: bits that are compared, or that end a field
 * @atomic_ack: result
 * @atomic_ack.original: value found at the remote address
 */
struct weft_hdr {
	u32		length;
	u32		payload;
	u8		opcode;
	u8		pad;
	u8		tver;
	bool		se;
	bool		migreq;
	bool		fecn;
	bool		becn;
	bool		ackreq;
	u16		pkey;
	u32		dqpn;
	u32		psn;
	__be32		imm;
	struct {
		u32	rkey;
	} ieth;
	struct {
		u32	srqn;
	} xrceth;
	struct {
		u32	qkey;
		u32	sqpn;
	} deth;
	struct {
		u8	placement;
		u8	selectivity;
	} feth;
	struct {
		u64	va;
		u32	rkey;
		u32	length;
	} reth;
	struct {
		u8	syndrome;
		u32	msn;
	} aeth;
	struct {
		u64	va;
		u32	rkey;
		u64	swap_add;
		u64	compare;
	} atomic;
	struct {
		u64	swap;
		u64	compare_add;
	} masks;
	struct {
		u64	original;
	} atomic_ack;
};

/**
 * struct weft_lrh - local route header
 * @length: bytes from the first of the LRH to the last of the ICRC
 * @dlid: destination LID
 * @slid: source LID
 * @vl: virtual lane, 0 to 15
 * @sl: service level, 0 to 15
 * @lnh: enum weft_lnh
 */
struct weft_lrh {
	u16	length;
	u16	dlid;
	u16	slid;
	u8	vl;
	u8	sl;
	u8	lnh;
};

/**
 * struct weft_grh - global route header
 * @flow_label: 20 bits
 * @length: bytes from the end of the GRH to the last of the ICRC
 * @tclass: traffic class
 * @hop_limit: as in IPv6
 * @sgid: source GID
 * @dgid: destination GID
 */
struct weft_grh {
	u32	flow_label;
	u16	length;
	u8	tclass;
	u8	hop_limit;
	u8	sgid[16];
	u8	dgid[16];
};

/**
 * weft_hdr_decode - read the BTH and its extension headers
 * @hdr: result
 * @buf: the packet from the BTH on; only the first WEFT_HDR_MAX_LENGTH bytes
 *	of it (or @len, if that is less) need to be in memory
 * @len: bytes of the packet from the BTH to the pad, ICRC not counted
 *
 * What is refused here is wrong whatever the QP. Some of it has an answer
 * (IBA 9.7.5: NAK invalid request), so that @hdr is good for one:
 * with WEFT_MALFORMED_OPCODE the fields of the BTH are valid, with
 * WEFT_MALFORMED_PAYLOAD all fields, with anything else none. Whether the
 * payload fits the path MTU is for weft_opcode_payload_valid(), as decode does
 * not know the QP.
 *
 * Context: Any.
 * Return: WEFT_MALFORMED_NONE or what is wrong.
 */
enum weft_malformed weft_hdr_decode(struct weft_hdr *hdr, const u8 *buf,
				    size_t len);

/**
 * weft_hdr_encode - write the BTH and its extension headers
 * @buf: room for WEFT_HDR_MAX_LENGTH bytes
 * @hdr: what to write; fields wider than on the wire are cut
 *
 * Context: Any.
 * Return: Bytes written; 0 and nothing written if the opcode is not valid.
 */
size_t weft_hdr_encode(u8 *buf, const struct weft_hdr *hdr);

/**
 * weft_lrh_decode - read a local route header
 * @lrh: result, valid with WEFT_MALFORMED_NONE only
 * @buf: the packet from the LRH on, the first 8 bytes of it in memory
 * @len: bytes of the packet from the LRH to the ICRC; there may be some more,
 *	as an Ethernet frame has a minimum size
 *
 * Context: Any.
 * Return: WEFT_MALFORMED_NONE or what is wrong.
 */
enum weft_malformed weft_lrh_decode(struct weft_lrh *lrh, const u8 *buf,
				    size_t len);

/**
 * weft_lrh_encode - write a local route header
 * @buf: room for 8 bytes
 * @lrh: what to write; @lrh.length is a multiple of 4
 *
 * Context: Any.
 * Return: Bytes written.
 */
size_t weft_lrh_encode(u8 *buf, const struct weft_lrh *lrh);

/**
 * weft_grh_decode - read a global route header
 * @grh: result, valid with WEFT_MALFORMED_NONE only
 * @buf: the packet from the GRH on, the first 40 bytes of it in memory
 * @len: bytes of the packet from the GRH to the ICRC
 *
 * Context: Any.
 * Return: WEFT_MALFORMED_NONE or what is wrong.
 */
enum weft_malformed weft_grh_decode(struct weft_grh *grh, const u8 *buf,
				    size_t len);

/**
 * weft_grh_encode - write a global route header
 * @buf: room for 40 bytes
 * @grh: what to write
 *
 * Context: Any.
 * Return: Bytes written.
 */
size_t weft_grh_encode(u8 *buf, const struct weft_grh *grh);

#endif /* WEFT_WIRE_CODEC_H */
