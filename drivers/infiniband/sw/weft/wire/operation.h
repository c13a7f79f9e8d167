/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The numbers that make up an opcode, as IBA assigns them, and two operations of weft's own in
 * the range that IBA leaves to manufacturers.
 */
#ifndef WEFT_WIRE_OPERATION_H
#define WEFT_WIRE_OPERATION_H

/* @transport: enum weft_transport; @operation: enum weft_operation */
#define WEFT_OPCODE(transport, operation)	((transport) << 5 | (operation))

/* An opcode that is never valid: "no packet yet" for weft_opcode_follows(). */
#define WEFT_OPCODE_NONE	0xff

/* The upper three bits of an opcode. */
enum weft_transport {
	WEFT_TRANSPORT_RC	= 0,
	WEFT_TRANSPORT_UC	= 1,
	WEFT_TRANSPORT_RD	= 2,	/* reliable datagram, not supported */
	WEFT_TRANSPORT_UD	= 3,
	WEFT_TRANSPORT_CNP	= 4,	/* congestion notification packet (IBA A17) */
	WEFT_TRANSPORT_XRC	= 5,	/* IBA A14 */
	WEFT_TRANSPORT_OWN	= 6,	/* manufacturer specific; weft uses it on RC QPs */
	WEFT_TRANSPORT_NONE	= 8,	/* of a RAW_PACKET QP: no opcode has it */
};

/*
 * The lower five bits of an opcode (IBA table 38, A19 for FLUSH and ATOMIC WRITE). The same
 * number means another operation with WEFT_TRANSPORT_CNP and WEFT_TRANSPORT_OWN.
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
	/* an empty one is the response to FLUSH and ATOMIC WRITE */
	WEFT_OP_READ_RESPONSE_ONLY	= 0x10,
	WEFT_OP_ACK			= 0x11,	/* positive or negative */
	WEFT_OP_ATOMIC_ACK		= 0x12,	/* response to CMP_SWP and FETCH_ADD */
	WEFT_OP_CMP_SWP			= 0x13,
	WEFT_OP_FETCH_ADD		= 0x14,
	WEFT_OP_SEND_LAST_INV		= 0x16,
	WEFT_OP_SEND_ONLY_INV		= 0x17,
	WEFT_OP_FLUSH			= 0x1c,
	WEFT_OP_ATOMIC_WRITE		= 0x1d,
	/* of WEFT_TRANSPORT_CNP */
	WEFT_OP_CNP			= 0x01,
	/* of WEFT_TRANSPORT_OWN */
	WEFT_OP_GAP_MAP			= 0x11,	/* a sequence NAK that names all gaps */
	WEFT_OP_MASKED_CMP_SWP		= 0x13,
	WEFT_OP_MASKED_FETCH_ADD	= 0x14,
};

#endif /* WEFT_WIRE_OPERATION_H */
