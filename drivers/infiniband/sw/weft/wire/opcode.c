// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Properties of each opcode. An opcode is a transport (three bits) and an operation (five bits).
 * The operation decides what a packet contains and does; the transport only adds its own header.
 * Therefore opcode.c has one row for each operation, and computes the table from these.
 */
#include "wire/opcode.h"

#include <linux/cache.h>
#include <linux/kernel.h>
#include <rdma/weft-abi.h>

#include "wire/headers.h"

#define RC	BIT(WEFT_TRANSPORT_RC)
#define UC	BIT(WEFT_TRANSPORT_UC)
#define UD	BIT(WEFT_TRANSPORT_UD)
#define CNP	BIT(WEFT_TRANSPORT_CNP)
#define XRC	BIT(WEFT_TRANSPORT_XRC)
#define OWN	BIT(WEFT_TRANSPORT_OWN)

#define REQUEST		WEFT_OPCODE_REQUEST
#define RESPONSE	WEFT_OPCODE_RESPONSE
#define RECV		(WEFT_OPCODE_REQUEST | WEFT_OPCODE_RECV)

#define RETH		WEFT_EXT_RETH
#define AETH		WEFT_EXT_AETH
#define IMM		WEFT_EXT_IMM
#define IETH		WEFT_EXT_IETH
#define MASKED		(WEFT_EXT_ATOMIC | WEFT_EXT_MASKS)

/* The properties of an operation that do not depend on the transport. */
struct op_row {
	u8			operation;
	u8			transports;
	struct weft_opcode	opcode;
};

#define ROW(_operation, _transports, _kind, _sqe, _segment, _payload, _flags, _ext) {	\
	.operation	= WEFT_OP_##_operation,				\
	.transports	= (_transports),				\
	.opcode		= {						\
		.name		= #_operation,				\
		.ext		= (_ext),				\
		.kind		= WEFT_KIND_##_kind,			\
		.sqe		= WEFT_SQE_##_sqe,			\
		.segment	= WEFT_SEGMENT_##_segment,		\
		.payload	= WEFT_PAYLOAD_##_payload,		\
		.flags		= (_flags),				\
	},								\
}

/* IBA table 38, A14 and A19; op_prefix() adds the headers of the transport. */
static const struct op_row op_rows[] __initconst = {
	ROW(SEND_FIRST,     RC | UC | XRC, SEND, SEND, FIRST, FULL, REQUEST, 0),
	ROW(SEND_MIDDLE,    RC | UC | XRC, SEND, SEND, MIDDLE, FULL, REQUEST, 0),
	ROW(SEND_LAST,      RC | UC | XRC, SEND, SEND, LAST, SOME, RECV, 0),
	ROW(SEND_LAST_IMM,  RC | UC | XRC, SEND, SEND_IMM, LAST, SOME, RECV, IMM),
	ROW(SEND_ONLY,      RC | UC | UD | XRC, SEND, SEND, ONLY, ANY, RECV, 0),
	ROW(SEND_ONLY_IMM,  RC | UC | UD | XRC, SEND, SEND_IMM, ONLY, ANY, RECV, IMM),
	ROW(SEND_LAST_INV,  RC | XRC, SEND, SEND_INV, LAST, SOME, RECV, IETH),
	ROW(SEND_ONLY_INV,  RC | XRC, SEND, SEND_INV, ONLY, ANY, RECV, IETH),
	ROW(WRITE_FIRST,    RC | UC | XRC, WRITE, WRITE, FIRST, FULL, REQUEST, RETH),
	ROW(WRITE_MIDDLE,   RC | UC | XRC, WRITE, WRITE, MIDDLE, FULL, REQUEST, 0),
	ROW(WRITE_LAST,     RC | UC | XRC, WRITE, WRITE, LAST, SOME, REQUEST, 0),
	ROW(WRITE_LAST_IMM, RC | UC | XRC, WRITE, WRITE_IMM, LAST, SOME, RECV, IMM),
	ROW(WRITE_ONLY,     RC | UC | XRC, WRITE, WRITE, ONLY, ANY, REQUEST, RETH),
	ROW(WRITE_ONLY_IMM, RC | UC | XRC, WRITE, WRITE_IMM, ONLY, ANY, RECV, RETH | IMM),
	ROW(READ_REQUEST,   RC | XRC, REQUEST, READ, ONLY, NONE, REQUEST, RETH),
	ROW(CMP_SWP,        RC | XRC, REQUEST, CMP_SWP, ONLY, NONE, REQUEST, WEFT_EXT_ATOMIC),
	ROW(FETCH_ADD,      RC | XRC, REQUEST, FETCH_ADD, ONLY, NONE, REQUEST, WEFT_EXT_ATOMIC),
	ROW(MASKED_CMP_SWP, OWN, REQUEST, MASKED_CMP_SWP, ONLY, NONE, REQUEST, MASKED),
	ROW(MASKED_FETCH_ADD, OWN, REQUEST, MASKED_FETCH_ADD, ONLY, NONE, REQUEST, MASKED),
	ROW(FLUSH,          RC | XRC, REQUEST, FLUSH, ONLY, NONE, REQUEST, WEFT_EXT_FETH | RETH),
	ROW(ATOMIC_WRITE,   RC | XRC, REQUEST, ATOMIC_WRITE, ONLY, ATOMIC, REQUEST, RETH),
	ROW(READ_RESPONSE_FIRST,  RC | XRC, READ_RESPONSE, OPCODES, FIRST, FULL, RESPONSE, AETH),
	ROW(READ_RESPONSE_MIDDLE, RC | XRC, READ_RESPONSE, OPCODES, MIDDLE, FULL, RESPONSE, 0),
	ROW(READ_RESPONSE_LAST,   RC | XRC, READ_RESPONSE, OPCODES, LAST, SOME, RESPONSE, AETH),
	ROW(READ_RESPONSE_ONLY,   RC | XRC, READ_RESPONSE, OPCODES, ONLY, ANY, RESPONSE, AETH),
	ROW(ACK,            RC | XRC, ACK, OPCODES, ONLY, NONE, RESPONSE, AETH),
	ROW(GAP_MAP,        OWN, ACK, OPCODES, ONLY, MAP, RESPONSE, AETH),
	ROW(ATOMIC_ACK,     RC | XRC, ATOMIC_ACK, OPCODES, ONLY, NONE, RESPONSE,
	    AETH | WEFT_EXT_ATOMIC_ACK),
	ROW(CNP,            CNP, CNP, OPCODES, ONLY, CNP, 0, 0),
};

/* Bytes of each extension header, indexed by the bit number in enum weft_ext. */
static const u8 op_ext_length[] __initconst = {
	sizeof(struct weft_wire_xrceth),
	sizeof(struct weft_wire_deth),
	sizeof(struct weft_wire_feth),
	sizeof(struct weft_wire_reth),
	sizeof(struct weft_wire_atomic),
	sizeof(struct weft_wire_masks),
	sizeof(struct weft_wire_aeth),
	sizeof(struct weft_wire_atomic_ack),
	sizeof(struct weft_wire_imm),
	sizeof(struct weft_wire_ieth),
};

struct weft_opcode weft_opcodes[256] __ro_after_init;
WEFT_EXPORT_FOR_TEST(weft_opcodes);

static u8 __init op_length(u16 ext)
{
	u8 length = sizeof(struct weft_wire_bth);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op_ext_length); i++)
		if (ext & BIT(i))
			length += op_ext_length[i];
	return length;
}

/* The header that the transport adds. XRC responses have none: they need no SRQ. */
static u16 __init op_prefix(u8 transport, u8 flags)
{
	if (transport == WEFT_TRANSPORT_UD)
		return WEFT_EXT_DETH;
	if (transport == WEFT_TRANSPORT_XRC && flags & WEFT_OPCODE_REQUEST)
		return WEFT_EXT_XRCETH;
	return 0;
}

/* RC QPs use the manufacturer specific opcodes. */
static u8 __init op_service(u8 transport)
{
	return transport == WEFT_TRANSPORT_OWN ? WEFT_TRANSPORT_RC : transport;
}

static void __init op_fill(const struct op_row *row, u8 transport)
{
	struct weft_opcode *op;

	op = &weft_opcodes[WEFT_OPCODE(transport, row->operation)];
	*op = row->opcode;
	op->transport = op_service(transport);
	op->ext |= op_prefix(transport, op->flags);
	op->length = op_length(op->ext);
}

/* Fill the table, at module load. Before that every opcode is invalid. */
void __init weft_opcode_init(void)
{
	unsigned int i;
	u8 transport;

	for (i = 0; i < ARRAY_SIZE(weft_opcodes); i++) {
		weft_opcodes[i].transport = i >> 5;
		weft_opcodes[i].sqe = WEFT_SQE_OPCODES;
	}
	for (i = 0; i < ARRAY_SIZE(op_rows); i++)
		for (transport = 0; transport < 8; transport++)
			if (op_rows[i].transports & BIT(transport))
				op_fill(&op_rows[i], transport);
}

/*
 * Is @cur valid, and may it follow @prev (WEFT_OPCODE_NONE for the first packet)? A message must
 * be complete before another one begins (IBA 9.7, 9.8). Requests and responses are two separate
 * sequences; a CNP belongs to neither.
 */
bool weft_opcode_follows(u8 prev, u8 cur)
{
	const struct weft_opcode *p = weft_opcode(prev);
	const struct weft_opcode *c = weft_opcode(cur);

	if (c->kind == WEFT_KIND_INVALID)
		return false;
	if (p->kind == WEFT_KIND_INVALID || p->segment & WEFT_SEGMENT_LAST)
		return c->segment & WEFT_SEGMENT_FIRST;
	return !(c->segment & WEFT_SEGMENT_FIRST) && c->kind == p->kind &&
	       c->transport == p->transport;
}
WEFT_EXPORT_FOR_TEST(weft_opcode_follows);

/*
 * Does a packet with the valid opcode @op have the right payload length (without the pad)? If the
 * path MTU is not known, @mtu is 0, and only the rules that do not depend on it are checked.
 */
bool weft_opcode_payload_valid(const struct weft_opcode *op, u32 payload,
			       u32 mtu)
{
	if (!mtu && op->payload == WEFT_PAYLOAD_FULL)
		return payload;
	if (!mtu)
		mtu = U32_MAX;

	switch (op->payload) {
	case WEFT_PAYLOAD_FULL:
		return payload == mtu;
	case WEFT_PAYLOAD_SOME:
		return payload && payload <= mtu;
	case WEFT_PAYLOAD_ANY:
		return payload <= mtu;
	case WEFT_PAYLOAD_ATOMIC:
		return payload == WEFT_ATOMIC_WRITE_LENGTH;
	case WEFT_PAYLOAD_CNP:
		return payload == WEFT_CNP_LENGTH;
	case WEFT_PAYLOAD_MAP:
		return payload == WEFT_MAP_LENGTH;
	default:
		return !payload;
	}
}
WEFT_EXPORT_FOR_TEST(weft_opcode_payload_valid);
