/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Properties of each opcode. */
#ifndef WEFT_WIRE_OPCODE_H
#define WEFT_WIRE_OPCODE_H

#include <linux/bits.h>
#include <linux/init.h>
#include <linux/types.h>

#include "wire/operation.h"

/* The kind of message that a packet is part of. */
enum weft_kind {
	WEFT_KIND_INVALID	= 0,	/* the opcode is reserved or not supported */
	WEFT_KIND_SEND,
	WEFT_KIND_WRITE,
	WEFT_KIND_REQUEST,		/* of one packet; weft_opcode.sqe says which */
	WEFT_KIND_READ_RESPONSE,	/* to READ, FLUSH or ATOMIC WRITE */
	WEFT_KIND_ACK,
	WEFT_KIND_ATOMIC_ACK,		/* to any atomic */
	WEFT_KIND_CNP,			/* neither request nor response */
};

/* The place of a packet in its message. ONLY is FIRST and LAST, so each can be tested as a bit. */
enum weft_segment {
	WEFT_SEGMENT_MIDDLE	= 0,
	WEFT_SEGMENT_FIRST	= BIT(0),
	WEFT_SEGMENT_LAST	= BIT(1),
	WEFT_SEGMENT_ONLY	= WEFT_SEGMENT_FIRST | WEFT_SEGMENT_LAST,
};

/* How many bytes of payload a packet has, not counting the pad. */
enum weft_payload {
	WEFT_PAYLOAD_NONE	= 0,
	WEFT_PAYLOAD_FULL,		/* the path MTU */
	WEFT_PAYLOAD_SOME,		/* 1 to the path MTU */
	WEFT_PAYLOAD_ANY,		/* 0 to the path MTU */
	WEFT_PAYLOAD_ATOMIC,		/* WEFT_ATOMIC_WRITE_LENGTH */
	WEFT_PAYLOAD_CNP,		/* WEFT_CNP_LENGTH */
	WEFT_PAYLOAD_MAP,		/* WEFT_MAP_LENGTH */
};

/* The extension headers, in the order in which they follow the BTH. */
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

enum weft_opcode_flags {
	WEFT_OPCODE_REQUEST	= BIT(0),	/* sent by a requester */
	WEFT_OPCODE_RESPONSE	= BIT(1),	/* sent by a responder */
	WEFT_OPCODE_RECV	= BIT(2),	/* completes a receive work request */
};

/* A congestion notification packet. */
#define WEFT_OPCODE_CNP		WEFT_OPCODE(WEFT_TRANSPORT_CNP, WEFT_OP_CNP)

struct weft_opcode {
	const char	*name;		/* of the operation, without the transport */
	u16		ext;		/* enum weft_ext, the extension headers present */
	u8		length;		/* bytes of the BTH and all extension headers */
	u8		transport;	/* enum weft_transport of the QPs that use it */
	u8		kind;		/* INVALID: only @transport is meaningful */
	/*
	 * enum weft_sqe_opcode of a request, as far as the packet shows it: immediate data and an
	 * rkey to invalidate show in the last packet only. Other packets have WEFT_SQE_OPCODES.
	 */
	u8		sqe;
	u8		segment;
	u8		payload;
	u8		flags;		/* enum weft_opcode_flags */
};

extern struct weft_opcode weft_opcodes[256];

void __init weft_opcode_init(void);

static inline const struct weft_opcode *weft_opcode(u8 opcode)
{
	return &weft_opcodes[opcode];
}

bool weft_opcode_follows(u8 prev, u8 cur);
bool weft_opcode_payload_valid(const struct weft_opcode *op, u32 payload, u32 mtu);

#endif /* WEFT_WIRE_OPCODE_H */
