/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Management packets: LRH, perhaps GRH, BTH, DETH, a MAD of 256 bytes, ICRC.
 */
#ifndef WEFT_FABRIC_MAD_H
#define WEFT_FABRIC_MAD_H

#include <linux/types.h>
#include <rdma/ib_mad.h>

#include "wire/codec.h"

struct sk_buff;

/* The virtual lane of subnet management. */
#define WEFT_VL_SMP		15

/**
 * struct weft_mad_address - what the headers of a management packet say
 * @dlid: destination LID
 * @slid: source LID
 * @vl: virtual lane
 * @sl: service level
 * @pkey: P_Key
 * @dqpn: destination QP
 * @sqpn: source QP
 * @qkey: Q_Key
 * @global: there is a GRH
 * @grh: valid when @global; its length is not looked at by weft_mad_build()
 */
struct weft_mad_address {
	u16		dlid;
	u16		slid;
	u8		vl;
	u8		sl;
	u16		pkey;
	u32		dqpn;
	u32		sqpn;
	u32		qkey;
	bool		global;
	struct weft_grh	grh;
};

/**
 * enum weft_mad_kind - what is for a management agent
 * @WEFT_MAD_NONE: nothing of that
 * @WEFT_MAD_SUBNET: it is on the lane of subnet management, whatever is in it
 * @WEFT_MAD_GENERAL: a MAD for QP 1 on another lane
 */
enum weft_mad_kind {
	WEFT_MAD_NONE,
	WEFT_MAD_SUBNET,
	WEFT_MAD_GENERAL,
};

/**
 * weft_mad_kind - tell by its headers what kind of management packet it is
 * @skb: a packet of a fabric; anything may be in it. It is not written to, and its data
 *	may be anywhere.
 *
 * Context: any.
 * Return: its kind.
 */
enum weft_mad_kind weft_mad_kind(const struct sk_buff *skb);

/**
 * weft_mad_parse - take a management packet apart
 * @skb: a packet of a fabric; anything may be in it. It is not written to, and its data
 *	may be anywhere.
 * @address: result
 * @mad: result
 *
 * Context: any.
 * Return: true; false: it is malformed, or is none (@address and @mad are not valid).
 */
bool weft_mad_parse(const struct sk_buff *skb, struct weft_mad_address *address,
		    struct ib_mad *mad);

/**
 * weft_mad_build - make a management packet
 * @address: what is to be in the headers
 * @mad: the MAD
 * @gfp: how to allocate
 *
 * Return: a packet of a fabric; NULL: no memory.
 */
struct sk_buff *weft_mad_build(const struct weft_mad_address *address,
			       const struct ib_mad *mad, gfp_t gfp);

/**
 * weft_mad_answer - from the address of a request to that of its answer
 * @address: what was received by is sent to
 *
 * P_Key and Q_Key stay. Where the request had a permissive LID the answer has one, too.
 */
void weft_mad_answer(struct weft_mad_address *address);

#endif /* WEFT_FABRIC_MAD_H */
