/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The syndrome of an AETH (IBA 9.7.5): a type of two bits and a code of five bits, whose
 * meaning depends on the type. The top bit is reserved and ignored on receipt.
 */
#ifndef WEFT_WIRE_AETH_H
#define WEFT_WIRE_AETH_H

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define WEFT_AETH_TYPE		GENMASK(6, 5)
#define WEFT_AETH_CODE		GENMASK(4, 0)

/* The code of an ACK that carries no credit count. */
#define WEFT_AETH_NO_CREDIT	31

enum weft_aeth_type {
	WEFT_AETH_ACK		= 0,	/* the code is a credit count */
	WEFT_AETH_RNR_NAK	= 1,	/* receiver not ready; the code is a timer */
	WEFT_AETH_RESERVED	= 2,
	WEFT_AETH_NAK		= 3,	/* the code is an enum weft_nak */
};

/* Why the responder refused a request. */
enum weft_nak {
	WEFT_NAK_PSN_SEQUENCE		= 0,	/* a packet is missing: resend from the PSN on */
	WEFT_NAK_INVALID_REQUEST	= 1,
	WEFT_NAK_REMOTE_ACCESS		= 2,
	WEFT_NAK_REMOTE_OPERATION	= 3,
	WEFT_NAK_INVALID_RD_REQUEST	= 4,	/* reliable datagram only */
};

static inline u8 weft_aeth_syndrome(enum weft_aeth_type type, u8 code)
{
	return FIELD_PREP(WEFT_AETH_TYPE, type) |
	       FIELD_PREP(WEFT_AETH_CODE, code);
}

static inline enum weft_aeth_type weft_aeth_type(u8 syndrome)
{
	return FIELD_GET(WEFT_AETH_TYPE, syndrome);
}

static inline u8 weft_aeth_code(u8 syndrome)
{
	return FIELD_GET(WEFT_AETH_CODE, syndrome);
}

/*
 * Credit counts and RNR timers share one scale: the powers of two and the values half way
 * between them, 0 1 2 3 4 6 8 12 16 24 and so on.
 */
static inline u32 weft_aeth_step(u8 code)
{
	if (code < 2)
		return code;
	return (code & 1 ? 3 : 2) << (code / 2 - 1);
}

/* The receive requests that an ACK announces; @code is not WEFT_AETH_NO_CREDIT. */
static inline u32 weft_aeth_credits(u8 code)
{
	return weft_aeth_step(code);
}

/* Round down to a code: an ACK must not announce more receive requests than there are. */
static inline u8 weft_aeth_credit_code(u32 credits)
{
	u32 log;

	if (credits < 2)
		return credits;
	credits = min_t(u32, credits, weft_aeth_step(WEFT_AETH_NO_CREDIT - 1));
	log = ilog2(credits);
	return 2 * log + (credits >> (log - 1) & 1);
}

/* How long an RNR NAK asks the requester to wait (IBA table 45). Code 0 is the longest time. */
static inline u32 weft_aeth_rnr_usec(u8 code)
{
	return (code ? weft_aeth_step(code) : 65536) * 10;
}

#endif /* WEFT_WIRE_AETH_H */
