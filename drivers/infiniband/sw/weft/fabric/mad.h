/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Management packets: LRH, GRH if there is one, BTH, DETH, a MAD of 256 bytes, ICRC. */
#ifndef WEFT_FABRIC_MAD_H
#define WEFT_FABRIC_MAD_H

#include <linux/types.h>
#include <rdma/ib_mad.h>

#include "wire/codec.h"

struct sk_buff;

/* The virtual lane of subnet management. */
#define WEFT_VL_SMP		15

/* The headers of a management packet. */
struct weft_mad_address {
	u16		dlid;
	u16		slid;
	u8		vl;
	u8		sl;
	u16		pkey;
	u32		dqpn;
	u32		sqpn;
	u32		qkey;
	bool		global;	/* there is a GRH */
	struct weft_grh	grh;	/* valid if @global; weft_mad_build() ignores its length */
};

enum weft_mad_kind {
	WEFT_MAD_NONE,		/* not for a management agent */
	WEFT_MAD_SUBNET,	/* on VL 15, with any content */
	WEFT_MAD_GENERAL,	/* a MAD for QP 1 on another lane */
};

enum weft_mad_kind weft_mad_kind(const struct sk_buff *skb);
bool weft_mad_parse(const struct sk_buff *skb, struct weft_mad_address *address,
		    struct ib_mad *mad);

struct sk_buff *weft_mad_build(const struct weft_mad_address *address,
			       const struct ib_mad *mad, gfp_t gfp);
void weft_mad_answer(struct weft_mad_address *address);

#endif /* WEFT_FABRIC_MAD_H */
