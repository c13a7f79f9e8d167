/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Opcodes: three bits of transport and five of operation. What a packet
 * looks like and what it does follows from the operation; a transport only
 * puts its own header in front. So there is one row an operation, and the
 * rest is computed.
 */
#ifndef WEFT_WIRE_OPCODE_H
#define WEFT_WIRE_OPCODE_H

#include <linux/bits.h>
#include <linux/init.h>
#include <linux/types.h>

#include "wire/operation.h"

/**
 * enum weft_kind - what a packet belongs to
 * @WEFT_KIND_INVALID: the opcode is reserved or not supported
 * @WEFT_KIND_SEND: part of a SEND
 * @WEFT_KIND_WRITE: part of an RDMA WRITE
 * @WEFT_KIND_REQUEST: a request that is one packet
 * @WEFT_KIND_READ_RESPONSE: response to READ, FLUSH or ATOMIC WRITE
 * @WEFT_KIND_ACK: acknowledge
 * @WEFT_KIND_ATOMIC_ACK: response to an atomic
 * @WEFT_KIND_CNP: congestion notification, neither request nor response
 */
enum weft_kind {
	WEFT_KIND_INVALID	= 0,
	WEFT_KIND_SEND,
	WEFT_KIND_WRITE,
	WEFT_KIND_REQUEST,
	WEFT_KIND_READ_RESPONSE,
	WEFT_KIND_ACK,
	WEFT_KIND_ATOMIC_ACK,
	WEFT_KIND_CNP,
};

/**
 * enum weft_segment - place of a packet in its message, two bits
 * @WEFT_SEGMENT_MIDDLE: neither starts nor ends it
 * @WEFT_SEGMENT_FIRST: starts it; the bit is set in ONLY as well
 * @WEFT_SEGMENT_LAST: ends it; the bit is set in ONLY as well
 * @WEFT_SEGMENT_ONLY: starts and ends it
 */
enum weft_segment {
	WEFT_SEGMENT_MIDDLE	= 0,
	WEFT_SEGMENT_FIRST	= BIT(0),
	WEFT_SEGMENT_LAST	= BIT(1),
	WEFT_SEGMENT_ONLY	= WEFT_SEGMENT_FIRST | WEFT_SEGMENT_LAST,
};

/**
 * enum weft_payload - how many bytes may follow the headers, pad not counted
 * @WEFT_PAYLOAD_NONE: 0
 * @WEFT_PAYLOAD_FULL: the path MTU
 * @WEFT_PAYLOAD_SOME: 1 to the path MTU
 * @WEFT_PAYLOAD_ANY: 0 to the path MTU
 * @WEFT_PAYLOAD_ATOMIC: WEFT_ATOMIC_WRITE_LENGTH
 * @WEFT_PAYLOAD_CNP: WEFT_CNP_LENGTH
 */
enum weft_payload {
	WEFT_PAYLOAD_NONE	= 0,
	WEFT_PAYLOAD_FULL,
	WEFT_PAYLOAD_SOME,
	WEFT_PAYLOAD_ANY,
	WEFT_PAYLOAD_ATOMIC,
	WEFT_PAYLOAD_CNP,
};

/**
 * enum weft_ext - extension headers, in the order they follow the BTH
 * @WEFT_EXT_XRCETH: struct weft_wire_xrceth
 * @WEFT_EXT_DETH: struct weft_wire_deth
 * @WEFT_EXT_FETH: struct weft_wire_feth
 * @WEFT_EXT_RETH: struct weft_wire_reth
 * @WEFT_EXT_ATOMIC: struct weft_wire_atomic
 * @WEFT_EXT_MASKS: struct weft_wire_masks
 * @WEFT_EXT_AETH: struct weft_wire_aeth
 * @WEFT_EXT_ATOMIC_ACK: struct weft_wire_atomic_ack
 * @WEFT_EXT_IMM: struct weft_wire_imm
 * @WEFT_EXT_IETH: struct weft_wire_ieth
 */
enum weft_ext {
	WEFT_EXT_XRCETH		= BIT(0),
	WEFT_EXT_DETH		= BIT(1),
	WEFT_EXT_FETH		= BIT(2),
	WEFT_EXT_RETH		= BIT(3),
	WEFT_EXT_ATOMIC		= BIT(4),
	WEFT_EXT_MASKS		= BIT(5),
	WEFT_EXT_AETH		= BIT(6),
	WEFT_EXT_ATOMIC_ACK	= BIT(7),
	WEFT_EXT_IMM		= BIT(8),
	WEFT_EXT_IETH		= BIT(9),
};

/**
 * enum weft_opcode_flags - what a packet does
 * @WEFT_OPCODE_REQUEST: sent by a requester
 * @WEFT_OPCODE_RESPONSE: sent by a responder
 * @WEFT_OPCODE_RECV: completes a receive work request
 */
enum weft_opcode_flags {
	WEFT_OPCODE_REQUEST	= BIT(0),
	WEFT_OPCODE_RESPONSE	= BIT(1),
	WEFT_OPCODE_RECV	= BIT(2),
};

/**
 * struct weft_opcode - all there is to know about an opcode
 * @name: of the operation, without the transport
 * @ext: enum weft_ext, extension headers present
 * @length: bytes of the BTH and all extension headers
 * @transport: enum weft_transport: whose QPs it is for
 * @kind: enum weft_kind; WEFT_KIND_INVALID: nothing else is meaningful but @transport
 * @sqe: enum weft_sqe_opcode of the request that the packet is part of, as far as it shows:
 *	immediate data and an rkey to invalidate are in the row of the last packet. Of other
 *	packets WEFT_SQE_OPCODES.
 * @segment: enum weft_segment
 * @payload: enum weft_payload
 * @flags: enum weft_opcode_flags
 */
struct weft_opcode {
	const char	*name;
	u16		ext;
	u8		length;
	u8		transport;
	u8		kind;
	u8		sqe;
	u8		segment;
	u8		payload;
	u8		flags;
};

/* Read by weft_opcode(). */
extern struct weft_opcode weft_opcodes[256];

/**
 * weft_opcode_init - fill the table; before it every opcode is invalid
 *
 * Context: Module initialisation.
 */
void __init weft_opcode_init(void);

/**
 * weft_opcode - look an opcode up
 * @opcode: any value
 *
 * Context: Any.
 * Return: Its description, never NULL; of kind WEFT_KIND_INVALID when the
 * opcode is reserved or not supported.
 */
static inline const struct weft_opcode *weft_opcode(u8 opcode)
{
	return &weft_opcodes[opcode];
}

/**
 * weft_opcode_follows - may one packet come after another?
 * @prev: opcode of the packet before, WEFT_OPCODE_NONE if there was none
 * @cur: opcode of the packet
 *
 * Within a message of several packets only MIDDLE and LAST of the same
 * message may follow, outside of one anything but these (IBA 9.7, 9.8).
 * Requests and responses are two sequences; a CNP is in neither.
 *
 * Context: Any.
 * Return: Whether @cur is valid and may follow @prev.
 */
bool weft_opcode_follows(u8 prev, u8 cur);

/**
 * weft_opcode_payload_valid - does a packet have the size its opcode wants?
 * @op: valid opcode
 * @payload: bytes, pad not counted
 * @mtu: path MTU in bytes; 0: not known, check only what does not depend on it
 *
 * Context: Any.
 * Return: Whether @payload is right.
 */
bool weft_opcode_payload_valid(const struct weft_opcode *op, u32 payload,
			       u32 mtu);

#endif /* WEFT_WIRE_OPCODE_H */
