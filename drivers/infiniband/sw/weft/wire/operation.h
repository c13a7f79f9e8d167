/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The values of an opcode, as IBA gave them out; and two of weft, from those that it has left
 * to manufacturers.
 */
#ifndef WEFT_WIRE_OPERATION_H
#define WEFT_WIRE_OPERATION_H

/**
 * WEFT_OPCODE - put an opcode together
 * @transport: enum weft_transport
 * @operation: enum weft_operation
 */
#define WEFT_OPCODE(transport, operation)	((transport) << 5 | (operation))

/* An opcode that is never valid: "no packet yet" for weft_opcode_follows(). */
#define WEFT_OPCODE_NONE	0xff

/**
 * enum weft_transport - upper three bits of an opcode
 * @WEFT_TRANSPORT_RC: reliable connection
 * @WEFT_TRANSPORT_UC: unreliable connection
 * @WEFT_TRANSPORT_RD: reliable datagram, not supported
 * @WEFT_TRANSPORT_UD: unreliable datagram
 * @WEFT_TRANSPORT_CNP: congestion notification packet (IBA A17)
 * @WEFT_TRANSPORT_XRC: extended reliable connection (IBA A14)
 * @WEFT_TRANSPORT_OWN: manufacturer specific; what weft has there is of reliable connections
 */
enum weft_transport {
	WEFT_TRANSPORT_RC	= 0,
	WEFT_TRANSPORT_UC	= 1,
	WEFT_TRANSPORT_RD	= 2,
	WEFT_TRANSPORT_UD	= 3,
	WEFT_TRANSPORT_CNP	= 4,
	WEFT_TRANSPORT_XRC	= 5,
	WEFT_TRANSPORT_OWN	= 6,
};

/**
 * enum weft_operation - lower five bits of an opcode (IBA table 38)
 * @WEFT_OP_SEND_FIRST: first packet of several
 * @WEFT_OP_SEND_MIDDLE: neither first nor last
 * @WEFT_OP_SEND_LAST: last packet of several
 * @WEFT_OP_SEND_LAST_IMM: last, with immediate data
 * @WEFT_OP_SEND_ONLY: whole message
 * @WEFT_OP_SEND_ONLY_IMM: whole message, with immediate data
 * @WEFT_OP_WRITE_FIRST: RDMA WRITE, first packet of several
 * @WEFT_OP_WRITE_MIDDLE: neither first nor last
 * @WEFT_OP_WRITE_LAST: last packet of several
 * @WEFT_OP_WRITE_LAST_IMM: last, with immediate data
 * @WEFT_OP_WRITE_ONLY: whole message
 * @WEFT_OP_WRITE_ONLY_IMM: whole message, with immediate data
 * @WEFT_OP_READ_REQUEST: RDMA READ
 * @WEFT_OP_READ_RESPONSE_FIRST: first packet of several
 * @WEFT_OP_READ_RESPONSE_MIDDLE: neither first nor last
 * @WEFT_OP_READ_RESPONSE_LAST: last packet of several
 * @WEFT_OP_READ_RESPONSE_ONLY: whole response; empty, it answers FLUSH and
 *	ATOMIC WRITE
 * @WEFT_OP_ACK: acknowledge, positive or negative
 * @WEFT_OP_ATOMIC_ACK: answer to COMPARE & SWAP and FETCH & ADD
 * @WEFT_OP_CMP_SWP: COMPARE & SWAP
 * @WEFT_OP_FETCH_ADD: FETCH & ADD
 * @WEFT_OP_SEND_LAST_INV: last packet of several, with a key to invalidate
 * @WEFT_OP_SEND_ONLY_INV: whole message, with a key to invalidate
 * @WEFT_OP_FLUSH: FLUSH (IBA A19)
 * @WEFT_OP_ATOMIC_WRITE: ATOMIC WRITE (IBA A19)
 * @WEFT_OP_CNP: the one operation of WEFT_TRANSPORT_CNP
 * @WEFT_OP_MASKED_CMP_SWP: of WEFT_TRANSPORT_OWN: COMPARE & SWAP of some bits
 * @WEFT_OP_MASKED_FETCH_ADD: of WEFT_TRANSPORT_OWN: FETCH & ADD of several fields
 */
enum weft_operation {
	WEFT_OP_SEND_FIRST		= 0x00,
	WEFT_OP_SEND_MIDDLE		= 0x01,
	WEFT_OP_SEND_LAST		= 0x02,
	WEFT_OP_SEND_LAST_IMM		= 0x03,
	WEFT_OP_SEND_ONLY		= 0x04,
	WEFT_OP_SEND_ONLY_IMM		= 0x05,
	WEFT_OP_WRITE_FIRST		= 0x06,
	WEFT_OP_WRITE_MIDDLE		= 0x07,
	WEFT_OP_WRITE_LAST		= 0x08,
	WEFT_OP_WRITE_LAST_IMM		= 0x09,
	WEFT_OP_WRITE_ONLY		= 0x0a,
	WEFT_OP_WRITE_ONLY_IMM		= 0x0b,
	WEFT_OP_READ_REQUEST		= 0x0c,
	WEFT_OP_READ_RESPONSE_FIRST	= 0x0d,
	WEFT_OP_READ_RESPONSE_MIDDLE	= 0x0e,
	WEFT_OP_READ_RESPONSE_LAST	= 0x0f,
	WEFT_OP_READ_RESPONSE_ONLY	= 0x10,
	WEFT_OP_ACK			= 0x11,
	WEFT_OP_ATOMIC_ACK		= 0x12,
	WEFT_OP_CMP_SWP			= 0x13,
	WEFT_OP_FETCH_ADD		= 0x14,
	WEFT_OP_SEND_LAST_INV		= 0x16,
	WEFT_OP_SEND_ONLY_INV		= 0x17,
	WEFT_OP_FLUSH			= 0x1c,
	WEFT_OP_ATOMIC_WRITE		= 0x1d,
	WEFT_OP_CNP			= 0x01,
	WEFT_OP_MASKED_CMP_SWP		= 0x13,
	WEFT_OP_MASKED_FETCH_ADD	= 0x14,
};

#endif /* WEFT_WIRE_OPERATION_H */
