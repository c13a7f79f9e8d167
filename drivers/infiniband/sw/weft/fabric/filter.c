// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/filter.h"

#include <linux/bitfield.h>
#include <rdma/ib_pack.h>

#include "fabric/mad.h"
#include "fabric/notice.h"
#include "wire/codec.h"
#include "wire/headers.h"

/* The transport service in an opcode */
#define FILTER_SERVICE		GENMASK(7, 5)

#define FILTER_FULL_MEMBER	0x8000

/* Headers of a packet. @grh is valid if the LRH says that there is one. */
struct filter_packet {
	struct weft_lrh		lrh;
	struct weft_wire_grh	grh;
	struct weft_wire_bth	bth;
	struct weft_wire_deth	deth;
};

static bool filter_is_global(const struct filter_packet *packet)
{
	return packet->lrh.lnh == WEFT_LNH_GRH;
}

static bool filter_is_datagram(const struct filter_packet *packet)
{
	return (packet->bth.opcode & FILTER_SERVICE) == IB_OPCODE_UD;
}

/* Returns false if the LRH is malformed. */
static bool filter_read_lrh(struct filter_packet *packet, const struct sk_buff *skb)
{
	struct weft_wire_lrh room;
	const void *wire = skb_header_pointer(skb, 0, sizeof(room), &room);

	return wire && weft_lrh_decode(&packet->lrh, wire, skb->len) == WEFT_MALFORMED_NONE;
}

/*
 * Read the headers behind the LRH; returns false if they are malformed. Without a complete DETH
 * that is zero.
 */
static bool filter_read(struct filter_packet *packet, const struct sk_buff *skb)
{
	u32 offset = sizeof(struct weft_wire_lrh);

	if (filter_is_global(packet)) {
		if (skb_copy_bits(skb, offset, &packet->grh, sizeof(packet->grh)) ||
		    FIELD_GET(WEFT_GRH_VERSION, be32_to_cpu(packet->grh.version)) !=
		    WEFT_GRH_IPVER)
			return false;
		offset += sizeof(packet->grh);
	}
	if (skb_copy_bits(skb, offset, &packet->bth, sizeof(packet->bth)))
		return false;
	offset += sizeof(packet->bth);
	if (!filter_is_datagram(packet) ||
	    offset + sizeof(packet->deth) + WEFT_ICRC_LENGTH > packet->lrh.length ||
	    skb_copy_bits(skb, offset, &packet->deth, sizeof(packet->deth)))
		packet->deth = (struct weft_wire_deth){};
	return true;
}

static void filter_count(struct weft_ibport *port, enum weft_ibport_filter filter)
{
	weft_ibport_count(port, filter == WEFT_IBPORT_PKEY_IN ? WEFT_IBC_RCV_CONSTRAINT :
								WEFT_IBC_XMIT_CONSTRAINT);
}

static void filter_refuse(struct weft_traps *traps, struct weft_ibport *port,
			  enum weft_ibport_filter filter, const struct filter_packet *packet)
{
	const struct weft_violation violation = {
		.slid = packet->lrh.slid,
		.dlid = packet->lrh.dlid,
		.sl = packet->lrh.sl,
		.key = be16_to_cpu(packet->bth.pkey),
		.sqpn = FIELD_GET(WEFT_DETH_SQPN, be32_to_cpu(packet->deth.sqpn)),
		.dqpn = FIELD_GET(WEFT_BTH_DQPN, be32_to_cpu(packet->bth.dqpn)),
		.sgid = filter_is_global(packet) ? packet->grh.sgid : NULL,
		.dgid = filter_is_global(packet) ? packet->grh.dgid : NULL,
	};

	weft_filter_refused(traps, port, filter, &violation);
}

/*
 * Does a P_Key match an entry in the table of a switch port?
 *
 * The table has the P_Keys of the nodes behind the port. Outbound, a P_Key matches as it does at
 * those nodes. Inbound, it is the P_Key that the sender claims: a limited member must not claim to
 * be a full one.
 */
bool weft_filter_matches(const struct weft_ibport *port, enum weft_ibport_filter filter,
			 u16 pkey)
{
	u16 own;
	int i;

	if (filter != WEFT_IBPORT_PKEY_IN)
		return weft_ibport_find_pkey(port, pkey) >= 0;
	/* the invalid P_Key, which is in the unused entries of the table */
	if (!(pkey & ~FILTER_FULL_MEMBER))
		return false;
	for (i = 0; i < WEFT_IB_PKEYS; i++) {
		own = READ_ONCE(port->pkeys[i]);
		if (own == pkey || own == (pkey | FILTER_FULL_MEMBER))
			return true;
	}
	return false;
}

/* Count a packet that the filter refused in Port*ConstraintErrors, and raise trap 259. */
void weft_filter_refused(struct weft_traps *traps, struct weft_ibport *port,
			 enum weft_ibport_filter filter,
			 const struct weft_violation *violation)
{
	struct weft_notice notice = weft_notice_filtered(port->num, violation);

	filter_count(port, filter);
	weft_traps_raise(traps, &notice);
}

/* The slow path of weft_filter_admits(), for a port that filters. */
bool weft_filter_inspect(struct weft_traps *traps, struct weft_ibport *port,
			 enum weft_ibport_filter filter, const struct sk_buff *skb)
{
	struct filter_packet packet;

	/* a malformed packet is counted by its sender or receiver */
	if (!filter_read_lrh(&packet, skb) || packet.lrh.vl == WEFT_VL_SMP)
		return true;
	if (!filter_read(&packet, skb)) {
		filter_count(port, filter);
		return false;
	}
	if (weft_filter_matches(port, filter, be16_to_cpu(packet.bth.pkey)))
		return true;
	filter_refuse(traps, port, filter, &packet);
	return false;
}
