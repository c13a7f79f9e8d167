// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/mad.h"

#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/minmax.h>
#include <rdma/ib_pack.h>

#include "fabric/port.h"

/* Room in front of a packet for the header of a frame. */
#define MAD_HEADROOM		128
/* Hop limit of the response to a packet with a GRH: the maximum. */
#define MAD_HOP_LIMIT		255

#define MAD_HEADERS_LENGTH \
	(sizeof(struct weft_wire_bth) + sizeof(struct weft_wire_deth))

/* Parse the GRH, if there is one, and advance @offset beyond it. */
static bool mad_parse_grh(const struct sk_buff *skb, const struct weft_lrh *lrh,
			  struct weft_mad_address *address, u32 *offset)
{
	u8 buf[sizeof(struct weft_wire_grh)];

	address->global = lrh->lnh == WEFT_LNH_GRH;
	if (!address->global)
		return true;
	if (skb_copy_bits(skb, *offset, buf, sizeof(buf)) ||
	    weft_grh_decode(&address->grh, buf, lrh->length - *offset))
		return false;
	*offset += sizeof(buf);
	return true;
}

static bool mad_parse_bth(const struct sk_buff *skb, const struct weft_lrh *lrh,
			  struct weft_mad_address *address, u32 *offset)
{
	u8 buf[MAD_HEADERS_LENGTH];
	struct weft_hdr hdr;

	/* all management packets have the same length, which includes the headers */
	if (lrh->length != *offset + sizeof(buf) + IB_MGMT_MAD_SIZE + WEFT_ICRC_LENGTH ||
	    skb_copy_bits(skb, *offset, buf, sizeof(buf)) ||
	    buf[0] != IB_OPCODE_UD_SEND_ONLY ||
	    weft_hdr_decode(&hdr, buf, sizeof(buf) + IB_MGMT_MAD_SIZE) ||
	    hdr.payload != IB_MGMT_MAD_SIZE)
		return false;
	address->pkey = hdr.pkey;
	address->dqpn = hdr.dqpn;
	address->sqpn = hdr.deth.sqpn;
	address->qkey = hdr.deth.qkey;
	*offset += sizeof(buf);
	return true;
}

static bool mad_parse_lrh(const struct sk_buff *skb, struct weft_lrh *lrh)
{
	u8 buf[sizeof(struct weft_wire_lrh)];

	return !skb_copy_bits(skb, 0, buf, sizeof(buf)) &&
	       weft_lrh_decode(lrh, buf, skb->len) == WEFT_MALFORMED_NONE;
}

/* Parse all headers; @offset becomes that of the MAD. */
static bool mad_parse_address(const struct sk_buff *skb, const struct weft_lrh *lrh,
			      struct weft_mad_address *address, u32 *offset)
{
	memset(address, 0, sizeof(*address));
	address->dlid = lrh->dlid;
	address->slid = lrh->slid;
	address->vl = lrh->vl;
	address->sl = lrh->sl;
	*offset = sizeof(struct weft_wire_lrh);
	return mad_parse_grh(skb, lrh, address, offset) &&
	       mad_parse_bth(skb, lrh, address, offset);
}

/*
 * Classify an unchecked packet of a fabric by its headers. The packet may be nonlinear and is not
 * written to. Any context.
 */
enum weft_mad_kind weft_mad_kind(const struct sk_buff *skb)
{
	struct weft_mad_address address;
	struct weft_lrh lrh;
	u32 offset;

	if (!mad_parse_lrh(skb, &lrh))
		return WEFT_MAD_NONE;
	if (lrh.vl == WEFT_VL_SMP)
		return WEFT_MAD_SUBNET;
	if (mad_parse_address(skb, &lrh, &address, &offset) && address.dqpn == 1)
		return WEFT_MAD_GENERAL;
	return WEFT_MAD_NONE;
}

/*
 * Parse an unchecked packet, as weft_mad_kind(). Returns false if it is malformed or not a
 * management packet; the results are not valid then.
 */
bool weft_mad_parse(const struct sk_buff *skb, struct weft_mad_address *address,
		    struct ib_mad *mad)
{
	struct weft_lrh lrh;
	u32 offset;

	return mad_parse_lrh(skb, &lrh) && mad_parse_address(skb, &lrh, address, &offset) &&
	       !skb_copy_bits(skb, offset, mad, IB_MGMT_MAD_SIZE);
}
WEFT_EXPORT_FOR_TEST(weft_mad_parse);

static u32 mad_length(const struct weft_mad_address *address)
{
	u32 length = sizeof(struct weft_wire_lrh) + MAD_HEADERS_LENGTH +
		     IB_MGMT_MAD_SIZE + WEFT_ICRC_LENGTH;

	return address->global ? length + sizeof(struct weft_wire_grh) : length;
}

static void mad_put_lrh(struct sk_buff *skb, const struct weft_mad_address *address)
{
	const struct weft_lrh lrh = {
		.length = mad_length(address),
		.dlid = address->dlid,
		.slid = address->slid,
		.vl = address->vl,
		.sl = address->sl,
		.lnh = address->global ? WEFT_LNH_GRH : WEFT_LNH_BTH,
	};

	weft_lrh_encode(skb_put(skb, sizeof(struct weft_wire_lrh)), &lrh);
}

static void mad_put_grh(struct sk_buff *skb, const struct weft_mad_address *address)
{
	struct weft_grh grh = address->grh;

	grh.length = MAD_HEADERS_LENGTH + IB_MGMT_MAD_SIZE + WEFT_ICRC_LENGTH;
	weft_grh_encode(skb_put(skb, sizeof(struct weft_wire_grh)), &grh);
}

static void mad_put_bth(struct sk_buff *skb, const struct weft_mad_address *address)
{
	const struct weft_hdr hdr = {
		.opcode = IB_OPCODE_UD_SEND_ONLY,
		.pkey = address->pkey,
		.dqpn = address->dqpn,
		.deth.qkey = address->qkey,
		.deth.sqpn = address->sqpn,
	};
	u8 buf[WEFT_HDR_MAX_LENGTH];

	weft_hdr_encode(buf, &hdr);
	skb_put_data(skb, buf, MAD_HEADERS_LENGTH);
}

/* Make a management packet. Returns NULL without memory. */
struct sk_buff *weft_mad_build(const struct weft_mad_address *address,
			       const struct ib_mad *mad, gfp_t gfp)
{
	struct sk_buff *skb = alloc_skb(MAD_HEADROOM + mad_length(address), gfp);

	if (!skb)
		return NULL;
	skb_reserve(skb, MAD_HEADROOM);
	skb_reset_network_header(skb);
	skb->protocol = cpu_to_be16(WEFT_IB_ETHERTYPE);
	mad_put_lrh(skb, address);
	if (address->global)
		mad_put_grh(skb, address);
	mad_put_bth(skb, address);
	skb_put_data(skb, mad, IB_MGMT_MAD_SIZE);
	skb_put_zero(skb, WEFT_ICRC_LENGTH);
	return skb;
}
WEFT_EXPORT_FOR_TEST(weft_mad_build);

/* Turn the address of a request into that of its response. P_Key and Q_Key stay. */
void weft_mad_answer(struct weft_mad_address *address)
{
	u32 i;

	swap(address->dlid, address->slid);
	swap(address->dqpn, address->sqpn);
	for (i = 0; i < sizeof(address->grh.sgid); i++)
		swap(address->grh.sgid[i], address->grh.dgid[i]);
	address->grh.hop_limit = MAD_HOP_LIMIT;
}
