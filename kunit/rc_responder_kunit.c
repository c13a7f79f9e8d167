// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The responder, packet by packet, and its answers. */
#include "fake_link.h"

#include <kunit/test.h>

#include "compat/placement.h"
#include "engine/early.h"
#include "engine/odp.h"
#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define RESP_STEPS	8
#define RESP_PSN	0xfffffeU
/* Offset of receives, and their length: three packets and some bytes. */
#define RESP_RECV	(4 * FAKE_PAGE)
#define RESP_RECV_BYTES	800
#define RESP_PAYLOAD	512
#define RESP_RESOURCES	2
/* The first word of the memory that is read or written. */
#define RESP_WORD	1000
#define RESP_ADD	1
#define RESP_RNR_TIMER	13

/**
 * enum resp_answer - the answer to a packet
 * @NOTHING: nothing
 * @ACK: acknowledge
 * @RNR: RNR NAK
 * @NAK_SEQUENCE: NAK, PSN sequence error
 * @NAK_REQUEST: NAK, invalid request
 * @NAK_ACCESS: NAK, remote access error
 * @DATA: READ response
 * @ATOMIC: atomic acknowledge
 * @DONE: READ response without data
 */
enum resp_answer {
	NOTHING,
	ACK,
	RNR,
	NAK_SEQUENCE,
	NAK_REQUEST,
	NAK_ACCESS,
	DATA,
	ATOMIC,
	DONE,
};

/**
 * struct resp_step - a packet, and the answer
 * @operation: enum weft_operation
 * @own: the packet is of WEFT_TRANSPORT_OWN; its masks are 0
 * @psn: counted from the first expected PSN
 * @length: bytes of payload
 * @total: length in the RETH
 * @skip: RETH: offset from the beginning of the memory
 * @rkey: added to the right key
 * @placement: FETH: enum weft_placement
 * @selectivity: FETH: enum weft_selectivity
 * @ackreq: an acknowledge is requested
 * @post: number of receives posted before the packet
 * @old: in place of a packet, time passes until the gap is old
 * @wrap: before the packet, so many packets arrive that the first PSN is expected again
 * @answer: the answer
 * @at: its PSN, counted as @psn
 * @msn: its MSN
 * @value: ATOMIC: counted from RESP_WORD
 */
struct resp_step {
	u8			operation;
	bool			own;
	s32			psn;
	u32			length;
	u32			total;
	u32			skip;
	u32			rkey;
	u8			placement;
	u8			selectivity;
	bool			ackreq;
	u32			post;
	bool			old;
	bool			wrap;
	enum resp_answer	answer;
	s32			at;
	u32			msn;
	u64			value;
};

/**
 * struct resp_row - packets one after the other
 * @name: of the row
 * @uc: the connection is unreliable, so there are no answers
 * @received: receives that complete successfully
 * @failed: another completes with REM_INV_REQ_ERR, and the QP goes to ERR
 * @event: raised once, and the QP goes to ERR; 0: neither
 * @steps: entries used
 * @step: packets
 */
struct resp_row {
	const char		*name;
	bool			uc;
	u32			received;
	bool			failed;
	enum ib_event_type	event;
	u32			steps;
	struct resp_step	step[RESP_STEPS];
};

#define PACKET(_operation, _psn, ...) \
	{ .operation = WEFT_OP_##_operation, .psn = (_psn), __VA_ARGS__ }
#define ASK	.ackreq = true
#define OWN	.own = true
#define TO(_placement)	.placement = WEFT_PLACEMENT_##_placement
#define TIME(...) { .old = true, __VA_ARGS__ }
#define BACK(_answer, _at, _msn) .answer = (_answer), .at = (_at), .msn = (_msn)
#define STEPS(...)							\
	.steps = sizeof((struct resp_step[]){ __VA_ARGS__ }) /		\
		 sizeof(struct resp_step),				\
	.step = { __VA_ARGS__ }
/* A row whose last packet is invalid: NAK, ERR, and an event unless a receive has been taken. */
#define INVALID	.event = IB_EVENT_QP_REQ_ERR
#define VIOLATION .event = IB_EVENT_QP_ACCESS_ERR
#define TAKEN	.failed = true

static const struct resp_row resp_rows[] = {
	/* IBA 9.7.5.1.2: acknowledged when requested, together with the packets before */
	{ "SEND", .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .length = 100, .post = 1, ASK, BACK(ACK, 0, 1))) },
	{ "coalesced acknowledge", .received = 2,
	  STEPS(PACKET(SEND_ONLY, 0, .length = 100, .post = 2),
		PACKET(SEND_ONLY, 1, ASK, BACK(ACK, 1, 2))) },
	{ "SEND of three packets", .received = 1,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(SEND_MIDDLE, 1, .length = 256, ASK, BACK(ACK, 1, 0)),
		PACKET(SEND_LAST_IMM, 2, .length = 1, ASK, BACK(ACK, 2, 1))) },
	{ "WRITE of nothing",
	  STEPS(PACKET(WRITE_ONLY, 0, .rkey = 1, ASK, BACK(ACK, 0, 1))) },

	/* packets that overtake others wait for them */
	{ "gap", .received = 3,
	  STEPS(PACKET(SEND_ONLY, 2, .post = 3, ASK),
		PACKET(SEND_ONLY, 1),
		PACKET(SEND_ONLY, 0, BACK(ACK, 2, 3))) },
	{ "gap, then what is wrong ahead", INVALID, .received = 1,
	  STEPS(PACKET(READ_REQUEST, 2, .length = 5),
		PACKET(SEND_MIDDLE, 1, .length = 3),
		PACKET(SEND_ONLY, 0, .post = 1, BACK(NAK_REQUEST, 1, 1))) },
	{ "gap, then no receive", .received = 2,
	  STEPS(PACKET(SEND_ONLY, 2),
		PACKET(SEND_ONLY, 1),
		PACKET(SEND_ONLY, 0, .post = 1, BACK(RNR, 1, 1)),
		PACKET(SEND_ONLY, 2),
		PACKET(SEND_ONLY, 1, .post = 1, ASK, BACK(ACK, 1, 2))) },

	/* IBA 9.7.4.1.2, 9.7.5.1.1: one NAK, until the expected packet comes */
	{ "old gap", .received = 3,
	  STEPS(PACKET(SEND_ONLY, 1, .post = 3),
		TIME(BACK(NAK_SEQUENCE, 0, 0)),
		PACKET(SEND_ONLY, 2, ASK),
		PACKET(SEND_ONLY, 0, ASK, BACK(ACK, 2, 3))) },

	/* IBA 9.7.1: half of the PSN space is behind the expected PSN */
	{ "farthest ahead",
	  STEPS(PACKET(SEND_ONLY, (1 << 23) - 1), TIME(BACK(NAK_SEQUENCE, 0, 0))) },
	{ "farthest behind", .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 1),
		PACKET(SEND_ONLY, 1 - (1 << 23), BACK(ACK, 0, 1))) },

	/* IBA 9.7.5.1.4: acknowledged again, with the newest PSN, not executed */
	{ "SEND again", .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 2, ASK, BACK(ACK, 0, 1)),
		PACKET(SEND_ONLY, 0, BACK(ACK, 0, 1)),
		PACKET(SEND_ONLY, 0, ASK, BACK(ACK, 0, 1))) },
	{ "older SEND again", .received = 3,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 4),
		PACKET(SEND_ONLY, 1),
		PACKET(SEND_ONLY, 2),
		PACKET(SEND_ONLY, 1, BACK(ACK, 2, 3))) },
	{ "SEND again in a message", .received = 2,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 3),
		PACKET(SEND_FIRST, 1, .length = 256),
		PACKET(SEND_ONLY, 0, BACK(ACK, 1, 1)),
		PACKET(SEND_FIRST, 1, .length = 256, BACK(ACK, 1, 1)),
		PACKET(SEND_LAST, 2, .length = 1, ASK, BACK(ACK, 2, 2))) },

	/* an acknowledge does not have the PSN of a request with a response */
	{ "SEND again, behind an atomic", .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 1),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 0),
		PACKET(SEND_ONLY, 0, ASK, BACK(ACK, 0, 2)),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 0)) },
	{ "SEND again, behind a READ", .received = 2,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 2, ASK, BACK(ACK, 0, 1)),
		PACKET(READ_REQUEST, 1, .total = 600, BACK(DATA, 1, 2)),
		PACKET(SEND_ONLY, 0, BACK(ACK, 0, 2)),
		PACKET(SEND_ONLY, 4, ASK, BACK(ACK, 4, 3)),
		PACKET(SEND_ONLY, 0, BACK(ACK, 4, 3))) },
	{ "SEND again of a connection before",
	  STEPS(PACKET(FETCH_ADD, 0, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(SEND_ONLY, -1, BACK(ACK, -1, 1))) },

	/* IBA 9.7.5.2.8: the packets that follow are dropped until the request is repeated */
	{ "RNR", .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, BACK(RNR, 0, 0)),
		PACKET(SEND_ONLY, 1),
		PACKET(SEND_ONLY, 0, BACK(RNR, 0, 0)),
		PACKET(SEND_ONLY, 0, .post = 1, ASK, BACK(ACK, 0, 1)),
		PACKET(SEND_ONLY, 1, BACK(RNR, 1, 1))) },
	{ "RNR of the last packet", .received = 1,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = 257),
		PACKET(WRITE_LAST_IMM, 1, .length = 1, ASK, BACK(RNR, 1, 0)),
		PACKET(WRITE_LAST_IMM, 1, .length = 1, ASK, .post = 1, BACK(ACK, 1, 1))) },
	{ "RNR of a WRITE of one packet", .received = 1,
	  STEPS(PACKET(WRITE_ONLY_IMM, 0, .length = 9, .total = 9, BACK(RNR, 0, 0)),
		PACKET(WRITE_ONLY_IMM, 0, .length = 9, .total = 9, .post = 1, ASK,
		       BACK(ACK, 0, 1))) },

	/* IBA 9.7.4.1.3: opcode sequence */
	{ "MIDDLE without FIRST", INVALID,
	  STEPS(PACKET(SEND_MIDDLE, 0, .length = 256, .post = 1, BACK(NAK_REQUEST, 0, 0)),
		PACKET(SEND_ONLY, 0, ASK)) },
	{ "LAST without FIRST", INVALID,
	  STEPS(PACKET(WRITE_LAST, 0, .length = 1, BACK(NAK_REQUEST, 0, 0))) },
	{ "FIRST after FIRST", TAKEN,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 2),
		PACKET(SEND_FIRST, 1, .length = 256, BACK(NAK_REQUEST, 1, 0))) },
	{ "ONLY in a message", INVALID,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = 300),
		PACKET(SEND_ONLY, 1, .post = 1, BACK(NAK_REQUEST, 1, 0))) },
	{ "WRITE MIDDLE in a SEND", TAKEN,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(WRITE_MIDDLE, 1, .length = 256, BACK(NAK_REQUEST, 1, 0))) },
	{ "READ in a message", TAKEN,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(READ_REQUEST, 1, .total = 1, BACK(NAK_REQUEST, 1, 0))) },
	{ "MIDDLE after LAST", .received = 1, INVALID,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 2),
		PACKET(SEND_LAST, 1, .length = 256),
		PACKET(SEND_MIDDLE, 2, .length = 256, BACK(NAK_REQUEST, 2, 1))) },

	/* IBA 9.7.4.1.4: opcode validation */
	{ "reserved opcode", INVALID,
	  STEPS({ .operation = 0x15, BACK(NAK_REQUEST, 0, 0) }) },
	{ "last of all opcodes", INVALID,
	  STEPS({ .operation = 0x1f, .length = 7, BACK(NAK_REQUEST, 0, 0) }) },

	/* IBA 9.7.4.1.6: length validation */
	{ "FIRST shorter than the MTU", VIOLATION,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 255, .post = 1, BACK(NAK_REQUEST, 0, 0))) },
	{ "FIRST longer than the MTU", VIOLATION,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 257, .post = 1, BACK(NAK_REQUEST, 0, 0))) },
	{ "MIDDLE shorter than the MTU", TAKEN,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(SEND_MIDDLE, 1, .length = 1, BACK(NAK_REQUEST, 1, 0))) },
	{ "LAST of nothing", TAKEN,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(SEND_LAST, 1, BACK(NAK_REQUEST, 1, 0))) },
	{ "LAST longer than the MTU", TAKEN,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(SEND_LAST, 1, .length = 257, BACK(NAK_REQUEST, 1, 0))) },
	{ "ONLY longer than the MTU", VIOLATION,
	  STEPS(PACKET(SEND_ONLY, 0, .length = 260, .post = 1, BACK(NAK_REQUEST, 0, 0))) },
	{ "READ with payload", VIOLATION,
	  STEPS(PACKET(READ_REQUEST, 0, .length = 4, .total = 4, BACK(NAK_REQUEST, 0, 0))) },
	{ "atomic with payload", VIOLATION,
	  STEPS(PACKET(FETCH_ADD, 0, .length = 1, BACK(NAK_REQUEST, 0, 0))) },
	{ "masked atomic with payload", VIOLATION,
	  STEPS(PACKET(MASKED_FETCH_ADD, 0, OWN, .length = 8, BACK(NAK_REQUEST, 0, 0))) },
	{ "WRITE ONLY, more than announced", VIOLATION,
	  STEPS(PACKET(WRITE_ONLY, 0, .length = 9, .total = 8, BACK(NAK_REQUEST, 0, 0))) },
	{ "WRITE ONLY, less than announced", VIOLATION,
	  STEPS(PACKET(WRITE_ONLY, 0, .length = 8, .total = 9, BACK(NAK_REQUEST, 0, 0))) },
	{ "WRITE FIRST of a whole message", VIOLATION,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = 256, BACK(NAK_REQUEST, 0, 0))) },
	{ "WRITE MIDDLE, all that was announced", VIOLATION,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = 512),
		PACKET(WRITE_MIDDLE, 1, .length = 256, BACK(NAK_REQUEST, 1, 0))) },
	{ "WRITE LAST, more than announced", VIOLATION,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = 260),
		PACKET(WRITE_LAST, 1, .length = 5, BACK(NAK_REQUEST, 1, 0))) },
	{ "WRITE LAST, less than announced", VIOLATION,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = 260),
		PACKET(WRITE_LAST, 1, .length = 3, BACK(NAK_REQUEST, 1, 0))) },
	{ "WRITE longer than 2^31", VIOLATION,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = (1U << 31) + 1,
		       BACK(NAK_REQUEST, 0, 0))) },
	{ "READ longer than 2^31", VIOLATION,
	  STEPS(PACKET(READ_REQUEST, 0, .total = (1U << 31) + 1, BACK(NAK_REQUEST, 0, 0))) },

	/* IBA 9.7.4.1.5: R_Key validation */
	{ "WRITE, wrong key", .event = IB_EVENT_QP_ACCESS_ERR,
	  STEPS(PACKET(WRITE_ONLY, 0, .length = 1, .total = 1, .rkey = 1,
		       BACK(NAK_ACCESS, 0, 0)),
		PACKET(WRITE_ONLY, 0, ASK)) },
	{ "READ, wrong key", .event = IB_EVENT_QP_ACCESS_ERR,
	  STEPS(PACKET(READ_REQUEST, 0, .total = 1, .rkey = 1, BACK(NAK_ACCESS, 0, 0))) },
	{ "READ of nothing, wrong key",
	  STEPS(PACKET(READ_REQUEST, 0, .rkey = 1, BACK(DATA, 0, 1))) },
	{ "all of it is checked first", .event = IB_EVENT_QP_ACCESS_ERR,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = FAKE_MEMORY + 1,
		       BACK(NAK_ACCESS, 0, 0))) },

	/* IBA 9.7.5.1.5: a READ, and a repeated READ that begins at any packet */
	{ "READ", .received = 1,
	  STEPS(PACKET(READ_REQUEST, 0, .total = 600, BACK(DATA, 0, 1)),
		PACKET(SEND_ONLY, 3, ASK, .post = 1, BACK(ACK, 3, 2))) },
	{ "READ of one packet",
	  STEPS(PACKET(READ_REQUEST, 0, .total = 256, BACK(DATA, 0, 1)),
		PACKET(READ_REQUEST, 1, .total = 1, BACK(DATA, 1, 2))) },
	{ "READ acknowledges what is before", .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 1),
		PACKET(READ_REQUEST, 1, .total = 1, BACK(DATA, 1, 2))) },
	{ "READ again",
	  STEPS(PACKET(READ_REQUEST, 0, .total = 600, BACK(DATA, 0, 1)),
		PACKET(READ_REQUEST, 0, .total = 600, BACK(DATA, 0, 1))) },
	{ "READ again, its end",
	  STEPS(PACKET(READ_REQUEST, 0, .total = 600, BACK(DATA, 0, 1)),
		PACKET(READ_REQUEST, 1, .total = 344, .skip = 256, BACK(DATA, 1, 1)),
		PACKET(READ_REQUEST, 2, .total = 88, .skip = 512, BACK(DATA, 2, 1))) },
	{ "READ again, its middle",
	  STEPS(PACKET(READ_REQUEST, 0, .total = 600, BACK(DATA, 0, 1)),
		PACKET(READ_REQUEST, 1, .total = 256, .skip = 256, BACK(DATA, 1, 1))) },
	{ "READ again, not the same",
	  STEPS(PACKET(READ_REQUEST, 0, .total = 600, BACK(DATA, 0, 1)),
		PACKET(READ_REQUEST, 0, .total = 601),
		PACKET(READ_REQUEST, 0, .total = 600, .rkey = 1),
		PACKET(READ_REQUEST, 0, .total = 600, .skip = 1),
		PACKET(READ_REQUEST, 1, .total = 344),
		PACKET(READ_REQUEST, 2, .total = 89, .skip = 512),
		PACKET(FETCH_ADD, 0)) },
	{ "READ again, with payload",
	  STEPS(PACKET(READ_REQUEST, 0, .total = 1, BACK(DATA, 0, 1)),
		PACKET(READ_REQUEST, 0, .total = 1, .length = 8)) },

	/* IBA 9.7.5.1.5, 9.4.5: a repeated atomic is answered, not executed */
	{ "atomic again",
	  STEPS(PACKET(FETCH_ADD, 0, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(FETCH_ADD, 0, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 1),
		PACKET(FETCH_ADD, 0, BACK(ATOMIC, 0, 2), .value = 0),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 1),
		PACKET(FETCH_ADD, 2, BACK(ATOMIC, 2, 3), .value = 2)) },
	{ "atomic again, too old",
	  STEPS(PACKET(FETCH_ADD, 0, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 1),
		PACKET(FETCH_ADD, 2, BACK(ATOMIC, 2, 3), .value = 2),
		PACKET(FETCH_ADD, 0),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 3), .value = 1)) },
	{ "masked atomic again",
	  STEPS(PACKET(MASKED_FETCH_ADD, 0, OWN, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(MASKED_FETCH_ADD, 0, OWN, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 1),
		PACKET(MASKED_FETCH_ADD, 0, OWN, BACK(ATOMIC, 0, 2), .value = 0),
		PACKET(MASKED_CMP_SWP, 2, OWN, BACK(ATOMIC, 2, 3), .value = 2),
		PACKET(MASKED_CMP_SWP, 2, OWN, BACK(ATOMIC, 2, 3), .value = 2)) },
	{ "atomic again that was none", .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 1, ASK, BACK(ACK, 0, 1)),
		PACKET(FETCH_ADD, 0),
		PACKET(READ_REQUEST, 0, .total = 4)) },
	{ "COMPARE & SWAP that fails, again",
	  STEPS(PACKET(CMP_SWP, 0, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 0),
		PACKET(CMP_SWP, 0, BACK(ATOMIC, 0, 2), .value = 0)) },
	{ "atomic again, 2^24 packets after another",
	  STEPS(PACKET(FETCH_ADD, 0, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(FETCH_ADD, 0, .wrap = true, BACK(ATOMIC, 0, 2), .value = 1),
		PACKET(FETCH_ADD, 0, BACK(ATOMIC, 0, 2), .value = 1)) },
	{ "READ again, 2^24 packets after another",
	  STEPS(PACKET(READ_REQUEST, 0, .total = 600, BACK(DATA, 0, 1)),
		PACKET(READ_REQUEST, 0, .total = 300, .skip = 8, .wrap = true,
		       BACK(DATA, 0, 2)),
		PACKET(READ_REQUEST, 0, .total = 300, .skip = 8, BACK(DATA, 0, 2))) },

	/* IBA A19: FLUSH */
	{ "FLUSH", .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .post = 1),
		PACKET(FLUSH, 1, .total = 8, TO(GLOBAL), BACK(DONE, 1, 2)),
		PACKET(FLUSH, 2, .total = FAKE_MEMORY, TO(PERSISTENT), BACK(DONE, 2, 3)),
		PACKET(FLUSH, 3, .skip = FAKE_MEMORY, .placement = WEFT_PLACEMENTS,
		       BACK(DONE, 3, 4))) },
	{ "FLUSH of the region",
	  STEPS(PACKET(FLUSH, 0, .skip = 1U << 30, .total = 0xffffffff, TO(GLOBAL),
		       .selectivity = 1, BACK(DONE, 0, 1))) },
	{ "FLUSH again",
	  STEPS(PACKET(FLUSH, 0, .total = 8, TO(GLOBAL), BACK(DONE, 0, 1)),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 0),
		PACKET(FLUSH, 0, .total = 8, TO(GLOBAL), BACK(DONE, 0, 2)),
		PACKET(READ_REQUEST, 0, .total = 8),
		PACKET(FETCH_ADD, 0),
		PACKET(FLUSH, 1, .total = 8, TO(GLOBAL))) },
	{ "FLUSH of nothing, wrong key", .event = IB_EVENT_QP_ACCESS_ERR,
	  STEPS(PACKET(FLUSH, 0, TO(GLOBAL), .rkey = 1, BACK(NAK_ACCESS, 0, 0))) },
	{ "FLUSH of the region, wrong key", .event = IB_EVENT_QP_ACCESS_ERR,
	  STEPS(PACKET(FLUSH, 0, TO(GLOBAL), .rkey = 1, .selectivity = 1,
		       BACK(NAK_ACCESS, 0, 0))) },
	{ "FLUSH beyond the region", .event = IB_EVENT_QP_ACCESS_ERR,
	  STEPS(PACKET(FLUSH, 0, .skip = 1, .total = FAKE_MEMORY, TO(GLOBAL),
		       BACK(NAK_ACCESS, 0, 0))) },
	{ "FLUSH to nowhere", INVALID,
	  STEPS(PACKET(FLUSH, 0, .total = 8, BACK(NAK_REQUEST, 0, 0))) },
	{ "FLUSH to what is not defined", INVALID,
	  STEPS(PACKET(FLUSH, 0, .total = 8, .placement = 5, BACK(NAK_REQUEST, 0, 0))) },
	{ "FLUSH of what is not defined", INVALID,
	  STEPS(PACKET(FLUSH, 0, .total = 8, TO(GLOBAL), .selectivity = 2,
		       BACK(NAK_REQUEST, 0, 0))) },
	{ "FLUSH with payload", VIOLATION,
	  STEPS(PACKET(FLUSH, 0, .total = 8, .length = 8, TO(GLOBAL), BACK(NAK_REQUEST, 0, 0))) },
	{ "FLUSH in a message", INVALID,
	  STEPS(PACKET(WRITE_FIRST, 0, .length = 256, .total = 300),
		PACKET(FLUSH, 1, .total = 8, TO(GLOBAL), BACK(NAK_REQUEST, 1, 0))) },

	/* IBA A19: a repeated ATOMIC WRITE (of zeros here) is answered, not executed */
	{ "ATOMIC WRITE again",
	  STEPS(PACKET(ATOMIC_WRITE, 0, .length = 8, .total = 8, BACK(DONE, 0, 1)),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = -(u64)RESP_WORD),
		PACKET(ATOMIC_WRITE, 0, .length = 8, .total = 8, BACK(DONE, 0, 2)),
		PACKET(FETCH_ADD, 2, BACK(ATOMIC, 2, 3), .value = 1 - (u64)RESP_WORD)) },
	{ "ATOMIC WRITE again that was an atomic",
	  STEPS(PACKET(FETCH_ADD, 0, BACK(ATOMIC, 0, 1), .value = 0),
		PACKET(ATOMIC_WRITE, 0, .length = 8, .total = 8),
		PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2), .value = 1)) },
	{ "ATOMIC WRITE, wrong key", .event = IB_EVENT_QP_ACCESS_ERR,
	  STEPS(PACKET(ATOMIC_WRITE, 0, .length = 8, .total = 8, .rkey = 1,
		       BACK(NAK_ACCESS, 0, 0))) },
	{ "ATOMIC WRITE beyond the region", .event = IB_EVENT_QP_ACCESS_ERR,
	  STEPS(PACKET(ATOMIC_WRITE, 0, .length = 8, .total = 8, .skip = FAKE_MEMORY,
		       BACK(NAK_ACCESS, 0, 0))) },
	{ "ATOMIC WRITE, misaligned", VIOLATION,
	  STEPS(PACKET(ATOMIC_WRITE, 0, .length = 8, .total = 8, .skip = 4,
		       BACK(NAK_REQUEST, 0, 0))) },
	{ "ATOMIC WRITE, more than announced", VIOLATION,
	  STEPS(PACKET(ATOMIC_WRITE, 0, .length = 8, .total = 4, BACK(NAK_REQUEST, 0, 0))) },
	{ "ATOMIC WRITE of four bytes", VIOLATION,
	  STEPS(PACKET(ATOMIC_WRITE, 0, .length = 4, .total = 4, BACK(NAK_REQUEST, 0, 0))) },
	{ "ATOMIC WRITE of 16 bytes", VIOLATION,
	  STEPS(PACKET(ATOMIC_WRITE, 0, .length = 16, .total = 16, BACK(NAK_REQUEST, 0, 0))) },

	/* IBA 9.8.2.2: a broken message is dropped without an answer */
	{ "UC, SEND", .uc = true, .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .length = 5, .post = 1)) },
	{ "UC, any first PSN", .uc = true, .received = 2,
	  STEPS(PACKET(SEND_ONLY, 77, .length = 5, .post = 2),
		PACKET(SEND_FIRST, -5, .length = 256),
		PACKET(SEND_LAST, -4, .length = 256)) },
	{ "UC, middle is missing", .uc = true, .received = 1,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 2),
		PACKET(SEND_LAST, 2, .length = 1),
		PACKET(SEND_LAST, 1, .length = 1),
		PACKET(SEND_ONLY, 3, .length = 1)) },
	{ "UC, last is missing", .uc = true, .received = 1,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(SEND_FIRST, 2, .length = 256),
		PACKET(SEND_LAST, 3, .length = 1)) },
	{ "UC, first is missing", .uc = true,
	  STEPS(PACKET(SEND_MIDDLE, 0, .length = 256, .post = 1),
		PACKET(SEND_LAST, 1, .length = 1)) },
	{ "UC, WRITE in a SEND", .uc = true, .received = 1,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(WRITE_LAST_IMM, 1, .length = 1),
		PACKET(SEND_LAST, 2, .length = 1),
		PACKET(WRITE_ONLY_IMM, 3, .length = 4, .total = 4)) },
	{ "UC, wrong length", .uc = true,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 255, .post = 1),
		PACKET(SEND_LAST, 1, .length = 1),
		PACKET(SEND_ONLY, 2, .length = 257)) },
	{ "UC, wrong key", .uc = true,
	  STEPS(PACKET(WRITE_ONLY_IMM, 0, .length = 1, .total = 1, .rkey = 1, .post = 1)) },
	{ "UC, no receive", .uc = true, .received = 1,
	  STEPS(PACKET(SEND_ONLY, 0, .length = 1),
		PACKET(WRITE_FIRST, 1, .length = 256, .total = 257),
		PACKET(WRITE_LAST_IMM, 2, .length = 1),
		PACKET(SEND_ONLY, 3, .length = 1, .post = 1)) },
	{ "UC, too long for the receive", .uc = true, .received = 1,
	  STEPS(PACKET(SEND_FIRST, 0, .length = 256, .post = 1),
		PACKET(SEND_MIDDLE, 1, .length = 256),
		PACKET(SEND_MIDDLE, 2, .length = 256),
		PACKET(SEND_MIDDLE, 3, .length = 256),
		PACKET(SEND_ONLY, 4, .length = 1)) },
};

static void resp_row_desc(const struct resp_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(resp_row, resp_rows, resp_row_desc);

static struct fake_link *resp_create(struct kunit *test, enum ib_qp_type type)
{
	const struct fake_attr attr = {
		.type = type,
		.psn = { RESP_PSN, 0 },
		.max_rd_atomic = RESP_RESOURCES,
		.max_wr = 16,
	};
	struct fake_link *link = fake_link_create(test, &attr, 1);

	*(u64 *)link->node[1].blocks[0] = RESP_WORD;
	link->node[1].qp->recv.rnr_timer = RESP_RNR_TIMER;
	return link;
}

static void resp_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

static u32 resp_psn(s32 step)
{
	return weft_psn_add(RESP_PSN, step);
}

static void resp_post(struct fake_node *node)
{
	struct ib_sge sge = {
		.addr = fake_node_addr(node, RESP_RECV),
		.length = RESP_RECV_BYTES,
		.lkey = node->region->key,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	KUNIT_ASSERT_EQ(node->link->test, 0, weft_post_recv(&node->ib_qp.ibqp, &wr, &bad));
}

static u8 resp_opcode(const struct resp_step *step, bool uc)
{
	if (step->own)
		return WEFT_OPCODE(WEFT_TRANSPORT_OWN, step->operation);
	return WEFT_OPCODE(uc ? WEFT_TRANSPORT_UC : WEFT_TRANSPORT_RC, step->operation);
}

static void resp_deliver(struct fake_link *link, const struct resp_step *step, bool uc)
{
	static const u8 payload[RESP_PAYLOAD];
	struct fake_node *node = &link->node[1];
	struct weft_hdr hdr = {
		.opcode = resp_opcode(step, uc),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = node->qp->qpn,
		.psn = resp_psn(step->psn),
		.ackreq = step->ackreq,
		.reth.va = fake_node_addr(node, step->skip),
		.reth.rkey = node->region->key + step->rkey,
		.reth.length = step->total,
		.atomic.va = fake_node_addr(node, 0),
		.atomic.rkey = node->region->key + step->rkey,
		.atomic.swap_add = RESP_ADD,
		.feth.placement = step->placement,
		.feth.selectivity = step->selectivity,
	};
	u32 i;

	if (step->old) {
		fake_link_pass_time(link);
		fake_link_run_halves(link);
		return;
	}
	for (i = 0; i < step->post; i++)
		resp_post(node);
	if (step->wrap)
		node->qp->recv.psn = RESP_PSN;
	fake_link_deliver(&link->node[0], &hdr, payload, step->length);
}

/* ---- answers ---- */

static u8 resp_syndrome(const struct weft_recv *recv, enum resp_answer answer)
{
	switch (answer) {
	case RNR:
		return weft_aeth_syndrome(WEFT_AETH_RNR_NAK, RESP_RNR_TIMER);
	case NAK_SEQUENCE:
		return weft_aeth_syndrome(WEFT_AETH_NAK, WEFT_NAK_PSN_SEQUENCE);
	case NAK_REQUEST:
		return weft_aeth_syndrome(WEFT_AETH_NAK, WEFT_NAK_INVALID_REQUEST);
	case NAK_ACCESS:
		return weft_aeth_syndrome(WEFT_AETH_NAK, WEFT_NAK_REMOTE_ACCESS);
	default:
		return weft_aeth_syndrome(WEFT_AETH_ACK,
					  weft_ring_pending(recv->ring) + recv->held);
	}
}

static u8 resp_operation(const struct resp_step *step, u32 i, u32 num)
{
	if (step->answer == ATOMIC)
		return WEFT_OP_ATOMIC_ACK;
	if (step->answer != DATA && step->answer != DONE)
		return WEFT_OP_ACK;
	if (num == 1)
		return WEFT_OP_READ_RESPONSE_ONLY;
	if (!i)
		return WEFT_OP_READ_RESPONSE_FIRST;
	return i + 1 < num ? WEFT_OP_READ_RESPONSE_MIDDLE : WEFT_OP_READ_RESPONSE_LAST;
}

/* Expect the memory's contents in the payload of a response packet. */
static void resp_expect_data(struct fake_link *link, const struct resp_step *step,
			     const struct weft_pkt *pkt, u32 i)
{
	u32 length = min(step->total - i * FAKE_MTU, FAKE_MTU);
	u8 memory[FAKE_MTU], payload[FAKE_MTU];

	KUNIT_ASSERT_EQ(link->test, pkt->hdr.payload, length);
	fake_node_read(&link->node[1], step->skip + i * FAKE_MTU, memory, length);
	skb_copy_bits(pkt->skb, pkt->hdr.length, payload, length);
	KUNIT_EXPECT_MEMEQ(link->test, payload, memory, length);
}

static void resp_expect_packet(struct fake_link *link, const struct resp_step *step,
			       const struct weft_pkt *pkt, u32 i, u32 num)
{
	struct kunit *test = link->test;

	KUNIT_EXPECT_EQ(test, pkt->hdr.opcode, resp_operation(step, i, num));
	KUNIT_EXPECT_EQ(test, pkt->hdr.psn, resp_psn(step->at + i));
	KUNIT_EXPECT_EQ(test, pkt->hdr.dqpn, link->node[0].qp->qpn);
	if (weft_opcode(pkt->hdr.opcode)->ext & WEFT_EXT_AETH) {
		KUNIT_EXPECT_EQ(test, pkt->hdr.aeth.syndrome,
				resp_syndrome(&link->node[1].qp->recv, step->answer));
		KUNIT_EXPECT_EQ(test, pkt->hdr.aeth.msn, step->msn);
	}
	if (step->answer == ATOMIC)
		KUNIT_EXPECT_EQ(test, pkt->hdr.atomic_ack.original,
				RESP_WORD + step->value);
	if (step->answer == DATA)
		resp_expect_data(link, step, pkt, i);
	else
		KUNIT_EXPECT_EQ(test, pkt->hdr.payload, 0);
}

static void resp_expect_answer(struct fake_link *link, const struct resp_step *step)
{
	u32 i, num = 1;
	struct weft_pkt pkt;

	if (step->answer == NOTHING)
		num = 0;
	else if (step->answer == DATA)
		num = weft_rules_psn_count(step->total, FAKE_MTU);
	for (i = 0; fake_link_take(link, &pkt); i++) {
		if (i < num)
			resp_expect_packet(link, step, &pkt, i, num);
		weft_pkt_free(&pkt);
	}
	KUNIT_EXPECT_EQ(link->test, i, num);
}

/* ---- cases ---- */

static void resp_expect_received(struct fake_node *node, const struct resp_row *row)
{
	u32 num[IB_WC_GENERAL_ERR + 1] = {};
	struct ib_wc wc;

	while (weft_poll_cq(&node->recv_cq.ibcq, 1, &wc) == 1)
		num[wc.status]++;
	KUNIT_EXPECT_EQ(node->link->test, num[IB_WC_SUCCESS], row->received);
	KUNIT_EXPECT_EQ(node->link->test, num[IB_WC_REM_INV_REQ_ERR], row->failed);
}

static void packets_in_order(struct kunit *test)
{
	const struct resp_row *row = test->param_value;
	struct fake_link *link = resp_create(test, row->uc ? IB_QPT_UC : IB_QPT_RC);
	struct fake_node *node = &link->node[1];
	u32 i;

	for (i = 0; i < row->steps; i++) {
		enum kunit_status before = test->status;

		resp_deliver(link, &row->step[i], row->uc);
		resp_expect_answer(link, &row->step[i]);
		if (before != test->status)
			kunit_info(test, "it was packet %u", i);
	}
	weft_early_purge(&node->qp->recv.early, &node->dev);
	fake_link_settle(link);
	resp_expect_received(node, row);
	KUNIT_EXPECT_EQ(test, node->qp->state, row->event || row->failed ? IB_QPS_ERR : IB_QPS_RTS);
	for (i = 0; i < FAKE_EVENTS; i++)
		KUNIT_EXPECT_EQ_MSG(test, node->events[i], row->event && i == row->event,
				    "event %u", i);
	fake_link_expect_quiet(link);
}

/* When a READ is repeated while it is being answered, the rest of the first answer is not sent. */
static void read_again_while_answered(struct kunit *test)
{
	const u32 packets = 8;
	const struct resp_step read = PACKET(READ_REQUEST, 0, .total = packets * FAKE_MTU);
	struct fake_link *link = resp_create(test, IB_QPT_RC);
	u32 first;

	link->faults.stall = 100;
	resp_deliver(link, &read, false);
	first = link->sent[1];
	KUNIT_EXPECT_LT(test, first, packets);
	link->faults.stall = 0;
	resp_deliver(link, &read, false);
	fake_link_settle(link);
	KUNIT_EXPECT_EQ(test, link->sent[1], first + packets);
	fake_link_expect_quiet(link);
}

/* Answer a READ of two packets. */
static void resp_read_whole(struct fake_link *link)
{
	const struct resp_step read = PACKET(READ_REQUEST, 0, .total = 2 * FAKE_MTU);

	resp_deliver(link, &read, false);
	fake_link_settle(link);
	KUNIT_EXPECT_EQ(link->test, link->sent[1], 2);
}

/* The READ is repeated after its key has been invalidated: there is no answer. */
static void resp_read_late(struct fake_link *link)
{
	struct fake_node *node = &link->node[1];
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_READ_REQUEST),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = node->qp->qpn,
		.psn = RESP_PSN,
		.reth = {
			.va = fake_node_addr(node, 0),
			.rkey = node->region->key,
			.length = 2 * FAKE_MTU,
		},
	};

	weft_region_kill(node->region);
	node->region = NULL;
	fake_link_deliver(&link->node[0], &hdr, NULL, 0);
	fake_link_settle(link);
	KUNIT_EXPECT_EQ(link->test, link->sent[1], 2);
}

/*
 * A duplicate of a READ arrives late, when its key has been invalidated, as the requester has
 * asked.
 */
static void read_again_without_key(struct kunit *test)
{
	struct fake_link *link = resp_create(test, IB_QPT_RC);

	resp_read_whole(link);
	resp_read_late(link);
	KUNIT_EXPECT_EQ(test, link->node[1].qp->state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, link->node[1].events[IB_EVENT_QP_ACCESS_ERR], 0);
	fake_link_expect_quiet(link);
}

/*
 * The same with ODP memory, which has been pinned meanwhile: a later message must not find these
 * pages, because other memory may be at the address then.
 */
static void read_again_without_pages(struct kunit *test)
{
	struct fake_link *link = resp_create(test, IB_QPT_RC);
	struct fake_node *node = &link->node[1];
	struct weft_odp *odp = &node->qp->recv.odp;
	struct weft_odp_pins *pins = weft_odp_pins_alloc(1);

	KUNIT_ASSERT_NOT_NULL(test, pins);
	resp_read_whole(link);
	pins->holder = &odp->pins;
	atomic_set(&pins->state, 1); /* pinned */
	odp->pins = pins;
	weft_odp_carry(odp);
	resp_read_late(link);
	KUNIT_EXPECT_NULL(test, odp->pins);
	KUNIT_EXPECT_FALSE(test, odp->parked);
	fake_link_expect_quiet(link);
}

/* Make a persistent region that takes several pieces to flush: one page many times. */
static struct weft_region *resp_create_large(struct fake_link *link)
{
	struct fake_node *node = &link->node[1];
	struct kunit *test = link->test;
	struct weft_region *region;
	u32 i;

	region = weft_region_alloc(&node->dev.regions, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, region);
	region->access = COMPAT_ACCESS_FLUSH;
	region->pd = &node->pd;
	region->length = 4 * WEFT_COPY_CHUNK;
	region->page_shift = PAGE_SHIFT;
	region->blocks = kunit_kcalloc(test, region->length / PAGE_SIZE,
				       sizeof(*region->blocks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, region->blocks);
	for (i = 0; i < region->length / PAGE_SIZE; i++)
		region->blocks[i] = node->blocks[0];
	weft_region_publish(region);
	return region;
}

/* A FLUSH to persistence is done in pieces, and the requests behind it wait. */
static void flush_in_pieces(struct kunit *test)
{
	const struct resp_step flush = PACKET(FLUSH, 0, TO(PERSISTENT), .selectivity = 1,
					      BACK(DONE, 0, 1));
	const struct resp_step behind = PACKET(FETCH_ADD, 1, BACK(ATOMIC, 1, 2));
	struct fake_link *link = resp_create(test, IB_QPT_RC);
	struct weft_region *region = resp_create_large(link);
	struct resp_step step = flush;
	struct weft_pkt pkt;

	step.rkey = region->key - link->node[1].region->key;
	resp_deliver(link, &step, false);
	resp_deliver(link, &behind, false);
	KUNIT_EXPECT_EQ(test, link->sent[1], 0);
	KUNIT_EXPECT_EQ(test, (int)link->node[1].qp->recv.response.kind,
			(int)WEFT_RESPONSE_FLUSH);
	fake_link_run_halves(link);
	KUNIT_ASSERT_TRUE(test, fake_link_take(link, &pkt));
	resp_expect_packet(link, &flush, &pkt, 0, 1);
	weft_pkt_free(&pkt);
	resp_expect_answer(link, &behind);
	KUNIT_EXPECT_EQ(test, refcount_read(&region->refs), 1);
	weft_region_kill(region);
	fake_link_expect_quiet(link);
}

/* The memory is deregistered while it is being flushed: the FLUSH is refused. */
static void flush_memory_gone(struct kunit *test)
{
	struct resp_step flush = PACKET(FLUSH, 0, TO(PERSISTENT), .selectivity = 1);
	const struct resp_step refused = PACKET(FLUSH, 0, BACK(NAK_ACCESS, 0, 1));
	struct fake_link *link = resp_create(test, IB_QPT_RC);
	struct weft_region *region = resp_create_large(link);
	struct fake_node *node = &link->node[1];

	flush.rkey = region->key - node->region->key;
	resp_deliver(link, &flush, false);
	weft_region_kill(region);
	fake_link_run_halves(link);
	resp_expect_answer(link, &refused);
	KUNIT_EXPECT_EQ(test, node->qp->state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, node->events[IB_EVENT_QP_ACCESS_ERR], 1);
	fake_link_expect_quiet(link);
}

/* The consumer sees the completion, and wants to stop the QP. */
static void resp_stop(struct ib_cq *ibcq, void *context)
{
	struct fake_node *node = context;

	set_bit(WEFT_TURN_STOP, &node->qp->recv.turn.bits);
}

/* A program may reset or destroy its QP once it has the last message: the peer is acknowledged. */
static void acknowledge_before_reset(struct kunit *test)
{
	const struct resp_step send = PACKET(SEND_ONLY, 0, .length = 100, .post = 1, ASK);
	struct fake_link *link = resp_create(test, IB_QPT_RC);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct fake_node *node = &link->node[1];
	struct weft_pkt pkt;

	node->recv_cq.ibcq.comp_handler = resp_stop;
	KUNIT_ASSERT_EQ(test, 0, weft_req_notify_cq(&node->recv_cq.ibcq, IB_CQ_NEXT_COMP));
	resp_deliver(link, &send, false);
	resp_expect_received(node, &(struct resp_row){ .received = 1 });
	KUNIT_EXPECT_EQ(test, link->sent[1], 0);
	KUNIT_ASSERT_EQ(test, 0, weft_modify_qp(&node->ib_qp.ibqp, &attr, IB_QP_STATE, NULL));
	KUNIT_ASSERT_TRUE(test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(test, pkt.hdr.opcode, WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK));
	KUNIT_EXPECT_EQ(test, pkt.hdr.psn, RESP_PSN);
	KUNIT_EXPECT_EQ(test, weft_aeth_type(pkt.hdr.aeth.syndrome), WEFT_AETH_ACK);
	weft_pkt_free(&pkt);
	KUNIT_EXPECT_EQ(test, link->sent[1], 1);
}

static struct kunit_case resp_cases[] = {
	KUNIT_CASE_PARAM(packets_in_order, resp_row_gen_params),
	KUNIT_CASE(read_again_while_answered),
	KUNIT_CASE(read_again_without_key),
	KUNIT_CASE(read_again_without_pages),
	KUNIT_CASE(flush_in_pieces),
	KUNIT_CASE(flush_memory_gone),
	KUNIT_CASE(acknowledge_before_reset),
	{}
};

static struct kunit_suite resp_suite = {
	.name = "weft_rc_responder",
	.exit = resp_exit,
	.test_cases = resp_cases,
};

kunit_test_suite(resp_suite);
