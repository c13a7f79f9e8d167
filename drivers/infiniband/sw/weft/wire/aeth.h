/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The syndrome of an AETH (IBA 9.7.5): two bits say what it is, five bits how
 * much or why.
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

/* Code of an ACK that says nothing about credits. */
#define WEFT_AETH_NO_CREDIT	31

/**
 * enum weft_aeth_type - what a syndrome says
 * @WEFT_AETH_ACK: acknowledge; the code is a credit count
 * @WEFT_AETH_RNR_NAK: receiver not ready; the code is a timer
 * @WEFT_AETH_RESERVED: no meaning yet
 * @WEFT_AETH_NAK: negative acknowledge; the code is an enum weft_nak
 */
enum weft_aeth_type {
	WEFT_AETH_ACK		= 0,
	WEFT_AETH_RNR_NAK	= 1,
	WEFT_AETH_RESERVED	= 2,
	WEFT_AETH_NAK		= 3,
};

/**
 * enum weft_nak - why a request was refused
 * @WEFT_NAK_PSN_SEQUENCE: a packet is missing, send again from the PSN on
 * @WEFT_NAK_INVALID_REQUEST: not allowed or not understood
 * @WEFT_NAK_REMOTE_ACCESS: the remote key does not allow it
 * @WEFT_NAK_REMOTE_OPERATION: the responder failed
 * @WEFT_NAK_INVALID_RD_REQUEST: reliable datagram only
 */
enum weft_nak {
	WEFT_NAK_PSN_SEQUENCE		= 0,
	WEFT_NAK_INVALID_REQUEST	= 1,
	WEFT_NAK_REMOTE_ACCESS		= 2,
	WEFT_NAK_REMOTE_OPERATION	= 3,
	WEFT_NAK_INVALID_RD_REQUEST	= 4,
};

/**
 * weft_aeth_syndrome - put a syndrome together
 * @type: what it is
 * @code: credit code, timer code or enum weft_nak
 *
 * Context: Any.
 * Return: The syndrome.
 */
static inline u8 weft_aeth_syndrome(enum weft_aeth_type type, u8 code)
{
	return FIELD_PREP(WEFT_AETH_TYPE, type) |
	       FIELD_PREP(WEFT_AETH_CODE, code);
}

/**
 * weft_aeth_type - what a syndrome is
 * @syndrome: from the wire; its top bit is reserved and ignored
 *
 * Context: Any.
 * Return: The type, one of four.
 */
static inline enum weft_aeth_type weft_aeth_type(u8 syndrome)
{
	return FIELD_GET(WEFT_AETH_TYPE, syndrome);
}

/**
 * weft_aeth_code - how much or why
 * @syndrome: from the wire
 *
 * Context: Any.
 * Return: Credit code, timer code or enum weft_nak, 0 to 31.
 */
static inline u8 weft_aeth_code(u8 syndrome)
{
	return FIELD_GET(WEFT_AETH_CODE, syndrome);
}

/**
 * weft_aeth_step - the series that credits and RNR timers count by
 * @code: 0 to 31
 *
 * Powers of two and what lies half way between them: 0 1 2 3 4 6 8 12 16 24.
 *
 * Context: Any.
 * Return: Element @code of the series.
 */
static inline u32 weft_aeth_step(u8 code)
{
	if (code < 2)
		return code;
	return (code & 1 ? 3 : 2) << (code / 2 - 1);
}

/**
 * weft_aeth_credits - credits that an ACK grants
 * @code: 0 to 30; 31 is WEFT_AETH_NO_CREDIT and grants no number
 *
 * Context: Any.
 * Return: Receive requests the responder has.
 */
static inline u32 weft_aeth_credits(u8 code)
{
	return weft_aeth_step(code);
}

/**
 * weft_aeth_credit_code - code for a number of credits
 * @credits: receive requests there are
 *
 * Context: Any.
 * Return: The code that grants the most without granting more than @credits.
 */
static inline u8 weft_aeth_credit_code(u32 credits)
{
	u32 log;

	if (credits < 2)
		return credits;
	credits = min_t(u32, credits, weft_aeth_step(WEFT_AETH_NO_CREDIT - 1));
	log = ilog2(credits);
	return 2 * log + (credits >> (log - 1) & 1);
}

/**
 * weft_aeth_rnr_usec - how long an RNR NAK asks to wait (IBA table 45)
 * @code: 0 to 31
 *
 * Context: Any.
 * Return: Microseconds, 10 to 655360; code 0 is the longest.
 */
static inline u32 weft_aeth_rnr_usec(u8 code)
{
	return (code ? weft_aeth_step(code) : 65536) * 10;
}

#endif /* WEFT_WIRE_AETH_H */
