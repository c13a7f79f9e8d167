// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "wire/codec.h"

#include <asm/byteorder.h>
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/string.h>

#include "wire/opcode.h"

static const u8 *decode_bth(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_bth *bth = (const void *)p;
	u32 dqpn = be32_to_cpu(bth->dqpn);
	u32 psn = be32_to_cpu(bth->psn);

	hdr->opcode = bth->opcode;
	hdr->se = bth->flags & WEFT_BTH_SE;
	hdr->migreq = bth->flags & WEFT_BTH_MIGREQ;
	hdr->pad = FIELD_GET(WEFT_BTH_PAD, bth->flags);
	hdr->tver = FIELD_GET(WEFT_BTH_TVER, bth->flags);
	hdr->pkey = be16_to_cpu(bth->pkey);
	hdr->fecn = dqpn & WEFT_BTH_FECN;
	hdr->becn = dqpn & WEFT_BTH_BECN;
	hdr->dqpn = FIELD_GET(WEFT_BTH_DQPN, dqpn);
	hdr->ackreq = psn & WEFT_BTH_ACKREQ;
	hdr->maps = psn & WEFT_BTH_MAPS;
	hdr->again = psn & WEFT_BTH_AGAIN;
	hdr->psn = FIELD_GET(WEFT_BTH_PSN, psn);
	return p + sizeof(*bth);
}

static const u8 *decode_xrceth(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_xrceth *xrceth = (const void *)p;

	hdr->xrceth.srqn = FIELD_GET(WEFT_XRCETH_SRQN,
				     be32_to_cpu(xrceth->srqn));
	return p + sizeof(*xrceth);
}

static const u8 *decode_deth(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_deth *deth = (const void *)p;

	hdr->deth.qkey = be32_to_cpu(deth->qkey);
	hdr->deth.sqpn = FIELD_GET(WEFT_DETH_SQPN, be32_to_cpu(deth->sqpn));
	return p + sizeof(*deth);
}

static const u8 *decode_feth(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_feth *feth = (const void *)p;
	u32 bits = be32_to_cpu(feth->bits);

	hdr->feth.placement = FIELD_GET(WEFT_FETH_PLACEMENT, bits);
	hdr->feth.selectivity = FIELD_GET(WEFT_FETH_SELECTIVITY, bits);
	return p + sizeof(*feth);
}

static const u8 *decode_reth(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_reth *reth = (const void *)p;

	hdr->reth.va = be64_to_cpu(reth->va);
	hdr->reth.rkey = be32_to_cpu(reth->rkey);
	hdr->reth.length = be32_to_cpu(reth->length);
	return p + sizeof(*reth);
}

static const u8 *decode_atomic(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_atomic *atomic = (const void *)p;

	hdr->atomic.va = be64_to_cpu(atomic->va);
	hdr->atomic.rkey = be32_to_cpu(atomic->rkey);
	hdr->atomic.swap_add = be64_to_cpu(atomic->swap_add);
	hdr->atomic.compare = be64_to_cpu(atomic->compare);
	return p + sizeof(*atomic);
}

static const u8 *decode_masks(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_masks *masks = (const void *)p;

	hdr->masks.swap = be64_to_cpu(masks->swap);
	hdr->masks.compare_add = be64_to_cpu(masks->compare_add);
	return p + sizeof(*masks);
}

static const u8 *decode_aeth(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_aeth *aeth = (const void *)p;
	u32 syndrome = be32_to_cpu(aeth->syndrome);

	hdr->aeth.syndrome = FIELD_GET(WEFT_AETH_SYNDROME, syndrome);
	hdr->aeth.msn = FIELD_GET(WEFT_AETH_MSN, syndrome);
	return p + sizeof(*aeth);
}

static const u8 *decode_atomic_ack(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_atomic_ack *ack = (const void *)p;

	hdr->atomic_ack.original = be64_to_cpu(ack->original);
	return p + sizeof(*ack);
}

static const u8 *decode_imm(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_imm *imm = (const void *)p;

	hdr->imm = imm->data;
	return p + sizeof(*imm);
}

static const u8 *decode_ieth(struct weft_hdr *hdr, const u8 *p)
{
	const struct weft_wire_ieth *ieth = (const void *)p;

	hdr->ieth.rkey = be32_to_cpu(ieth->rkey);
	return p + sizeof(*ieth);
}

static void decode_ext(struct weft_hdr *hdr, const u8 *p, u16 ext)
{
	if (ext & WEFT_EXT_XRCETH)
		p = decode_xrceth(hdr, p);
	if (ext & WEFT_EXT_DETH)
		p = decode_deth(hdr, p);
	if (ext & WEFT_EXT_FETH)
		p = decode_feth(hdr, p);
	if (ext & WEFT_EXT_RETH)
		p = decode_reth(hdr, p);
	if (ext & WEFT_EXT_ATOMIC)
		p = decode_atomic(hdr, p);
	if (ext & WEFT_EXT_MASKS)
		p = decode_masks(hdr, p);
	if (ext & WEFT_EXT_AETH)
		p = decode_aeth(hdr, p);
	if (ext & WEFT_EXT_ATOMIC_ACK)
		p = decode_atomic_ack(hdr, p);
	if (ext & WEFT_EXT_IMM)
		p = decode_imm(hdr, p);
	if (ext & WEFT_EXT_IETH)
		p = decode_ieth(hdr, p);
}

/*
 * Decode the BTH and its extension headers. @len counts the bytes from the BTH to the end of the
 * pad, without the ICRC; only the first WEFT_HDR_MAX_LENGTH of them have to be readable at @buf.
 *
 * The checks here do not depend on the QP, so they do not include whether the payload fits the
 * path MTU (see weft_opcode_payload_valid()). Two of the errors are to be answered with a NAK
 * (IBA 9.7.5), for which @hdr is filled in: the fields of the BTH after WEFT_MALFORMED_OPCODE,
 * all fields after WEFT_MALFORMED_PAYLOAD. After any other error @hdr is not valid.
 */
enum weft_malformed weft_hdr_decode(struct weft_hdr *hdr, const u8 *buf,
				    size_t len)
{
	const struct weft_opcode *op;
	const u8 *p;

	memset(hdr, 0, sizeof(*hdr));
	if (len < sizeof(struct weft_wire_bth))
		return WEFT_MALFORMED_SHORT;
	p = decode_bth(hdr, buf);
	if (hdr->tver)
		return WEFT_MALFORMED_VERSION;
	op = weft_opcode(hdr->opcode);
	if (op->kind == WEFT_KIND_INVALID)
		return WEFT_MALFORMED_OPCODE;

	if (len < op->length)
		return WEFT_MALFORMED_SHORT;
	if (len % 4)
		return WEFT_MALFORMED_LENGTH;
	if (hdr->pad > len - op->length)
		return WEFT_MALFORMED_PAD;
	if (op->ext)
		decode_ext(hdr, p, op->ext);
	hdr->length = op->length;
	hdr->payload = len - op->length - hdr->pad;
	if (!weft_opcode_payload_valid(op, hdr->payload, 0))
		return WEFT_MALFORMED_PAYLOAD;
	return WEFT_MALFORMED_NONE;
}
WEFT_EXPORT_FOR_TEST(weft_hdr_decode);

static u8 *encode_bth(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_bth *bth = (void *)p;

	bth->opcode = hdr->opcode;
	bth->flags = FIELD_PREP(WEFT_BTH_SE, hdr->se) |
		     FIELD_PREP(WEFT_BTH_MIGREQ, hdr->migreq) |
		     FIELD_PREP(WEFT_BTH_PAD, hdr->pad & 3) |
		     FIELD_PREP(WEFT_BTH_TVER, hdr->tver & 15);
	bth->pkey = cpu_to_be16(hdr->pkey);
	bth->dqpn = cpu_to_be32(FIELD_PREP(WEFT_BTH_FECN, hdr->fecn) |
				FIELD_PREP(WEFT_BTH_BECN, hdr->becn) |
				(hdr->dqpn & WEFT_BTH_DQPN));
	bth->psn = cpu_to_be32(FIELD_PREP(WEFT_BTH_ACKREQ, hdr->ackreq) |
			       FIELD_PREP(WEFT_BTH_MAPS, hdr->maps) |
			       FIELD_PREP(WEFT_BTH_AGAIN, hdr->again) |
			       (hdr->psn & WEFT_BTH_PSN));
	return p + sizeof(*bth);
}

static u8 *encode_xrceth(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_xrceth *xrceth = (void *)p;

	xrceth->srqn = cpu_to_be32(hdr->xrceth.srqn & WEFT_XRCETH_SRQN);
	return p + sizeof(*xrceth);
}

static u8 *encode_deth(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_deth *deth = (void *)p;

	deth->qkey = cpu_to_be32(hdr->deth.qkey);
	deth->sqpn = cpu_to_be32(hdr->deth.sqpn & WEFT_DETH_SQPN);
	return p + sizeof(*deth);
}

static u8 *encode_feth(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_feth *feth = (void *)p;
	u32 placement = hdr->feth.placement & 15;
	u32 selectivity = hdr->feth.selectivity & 3;

	feth->bits = cpu_to_be32(FIELD_PREP(WEFT_FETH_PLACEMENT, placement) |
				 FIELD_PREP(WEFT_FETH_SELECTIVITY, selectivity));
	return p + sizeof(*feth);
}

static u8 *encode_reth(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_reth *reth = (void *)p;

	reth->va = cpu_to_be64(hdr->reth.va);
	reth->rkey = cpu_to_be32(hdr->reth.rkey);
	reth->length = cpu_to_be32(hdr->reth.length);
	return p + sizeof(*reth);
}

static u8 *encode_atomic(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_atomic *atomic = (void *)p;

	atomic->va = cpu_to_be64(hdr->atomic.va);
	atomic->rkey = cpu_to_be32(hdr->atomic.rkey);
	atomic->swap_add = cpu_to_be64(hdr->atomic.swap_add);
	atomic->compare = cpu_to_be64(hdr->atomic.compare);
	return p + sizeof(*atomic);
}

static u8 *encode_masks(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_masks *masks = (void *)p;

	masks->swap = cpu_to_be64(hdr->masks.swap);
	masks->compare_add = cpu_to_be64(hdr->masks.compare_add);
	return p + sizeof(*masks);
}

static u8 *encode_aeth(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_aeth *aeth = (void *)p;

	aeth->syndrome = cpu_to_be32(FIELD_PREP(WEFT_AETH_SYNDROME,
						hdr->aeth.syndrome) |
				     (hdr->aeth.msn & WEFT_AETH_MSN));
	return p + sizeof(*aeth);
}

static u8 *encode_atomic_ack(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_atomic_ack *ack = (void *)p;

	ack->original = cpu_to_be64(hdr->atomic_ack.original);
	return p + sizeof(*ack);
}

static u8 *encode_imm(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_imm *imm = (void *)p;

	imm->data = hdr->imm;
	return p + sizeof(*imm);
}

static u8 *encode_ieth(u8 *p, const struct weft_hdr *hdr)
{
	struct weft_wire_ieth *ieth = (void *)p;

	ieth->rkey = cpu_to_be32(hdr->ieth.rkey);
	return p + sizeof(*ieth);
}

static u8 *encode_ext(u8 *p, const struct weft_hdr *hdr, u16 ext)
{
	if (ext & WEFT_EXT_XRCETH)
		p = encode_xrceth(p, hdr);
	if (ext & WEFT_EXT_DETH)
		p = encode_deth(p, hdr);
	if (ext & WEFT_EXT_FETH)
		p = encode_feth(p, hdr);
	if (ext & WEFT_EXT_RETH)
		p = encode_reth(p, hdr);
	if (ext & WEFT_EXT_ATOMIC)
		p = encode_atomic(p, hdr);
	if (ext & WEFT_EXT_MASKS)
		p = encode_masks(p, hdr);
	if (ext & WEFT_EXT_AETH)
		p = encode_aeth(p, hdr);
	if (ext & WEFT_EXT_ATOMIC_ACK)
		p = encode_atomic_ack(p, hdr);
	if (ext & WEFT_EXT_IMM)
		p = encode_imm(p, hdr);
	if (ext & WEFT_EXT_IETH)
		p = encode_ieth(p, hdr);
	return p;
}

/*
 * Encode the BTH and its extension headers into @buf, which has room for WEFT_HDR_MAX_LENGTH
 * bytes. Values wider than their field are cut. Returns the bytes written, 0 if the opcode is not
 * valid.
 */
size_t weft_hdr_encode(u8 *buf, const struct weft_hdr *hdr)
{
	const struct weft_opcode *op = weft_opcode(hdr->opcode);

	if (op->kind == WEFT_KIND_INVALID)
		return 0;
	return encode_ext(encode_bth(buf, hdr), hdr, op->ext) - buf;
}
WEFT_EXPORT_FOR_TEST(weft_hdr_encode);

/*
 * Decode an LRH. @len counts the bytes from the LRH to the end of the ICRC, or a few more, as an
 * Ethernet frame has a minimum size. @lrh is valid after WEFT_MALFORMED_NONE only.
 */
enum weft_malformed weft_lrh_decode(struct weft_lrh *lrh, const u8 *buf,
				    size_t len)
{
	const struct weft_wire_lrh *wire = (const void *)buf;
	size_t min = sizeof(*wire) + sizeof(struct weft_wire_bth) +
		     WEFT_ICRC_LENGTH;

	memset(lrh, 0, sizeof(*lrh));
	if (len < sizeof(*wire))
		return WEFT_MALFORMED_SHORT;
	if (FIELD_GET(WEFT_LRH_LVER, wire->vl_lver))
		return WEFT_MALFORMED_VERSION;

	lrh->length = FIELD_GET(WEFT_LRH_LENGTH, be16_to_cpu(wire->length)) * 4;
	lrh->dlid = be16_to_cpu(wire->dlid);
	lrh->slid = be16_to_cpu(wire->slid);
	lrh->vl = FIELD_GET(WEFT_LRH_VL, wire->vl_lver);
	lrh->sl = FIELD_GET(WEFT_LRH_SL, wire->sl_lnh);
	lrh->lnh = FIELD_GET(WEFT_LRH_LNH, wire->sl_lnh);
	if (lrh->lnh != WEFT_LNH_BTH && lrh->lnh != WEFT_LNH_GRH)
		return WEFT_MALFORMED_NEXT_HEADER;
	if (lrh->lnh == WEFT_LNH_GRH)
		min += sizeof(struct weft_wire_grh);
	if (lrh->length < min || lrh->length > len)
		return WEFT_MALFORMED_LENGTH;
	return WEFT_MALFORMED_NONE;
}
WEFT_EXPORT_FOR_TEST(weft_lrh_decode);

/* Encode an LRH; @lrh->length is a multiple of 4. Returns the bytes written. */
size_t weft_lrh_encode(u8 *buf, const struct weft_lrh *lrh)
{
	struct weft_wire_lrh *wire = (void *)buf;

	wire->vl_lver = FIELD_PREP(WEFT_LRH_VL, lrh->vl & 15);
	wire->sl_lnh = FIELD_PREP(WEFT_LRH_SL, lrh->sl & 15) |
		       FIELD_PREP(WEFT_LRH_LNH, lrh->lnh & 3);
	wire->dlid = cpu_to_be16(lrh->dlid);
	wire->length = cpu_to_be16(lrh->length / 4 & WEFT_LRH_LENGTH);
	wire->slid = cpu_to_be16(lrh->slid);
	return sizeof(*wire);
}
WEFT_EXPORT_FOR_TEST(weft_lrh_encode);

/*
 * Decode a GRH. @len counts the bytes from the GRH to the end of the ICRC, exactly. @grh is valid
 * after WEFT_MALFORMED_NONE only.
 */
enum weft_malformed weft_grh_decode(struct weft_grh *grh, const u8 *buf,
				    size_t len)
{
	const struct weft_wire_grh *wire = (const void *)buf;
	u32 version;

	memset(grh, 0, sizeof(*grh));
	if (len < sizeof(*wire))
		return WEFT_MALFORMED_SHORT;
	version = be32_to_cpu(wire->version);
	if (FIELD_GET(WEFT_GRH_VERSION, version) != WEFT_GRH_IPVER)
		return WEFT_MALFORMED_VERSION;
	if (wire->next_header != WEFT_GRH_NEXT_IBA)
		return WEFT_MALFORMED_NEXT_HEADER;

	grh->flow_label = FIELD_GET(WEFT_GRH_FLOW_LABEL, version);
	grh->length = be16_to_cpu(wire->length);
	grh->tclass = FIELD_GET(WEFT_GRH_TCLASS, version);
	grh->hop_limit = wire->hop_limit;
	memcpy(grh->sgid, wire->sgid, sizeof(grh->sgid));
	memcpy(grh->dgid, wire->dgid, sizeof(grh->dgid));
	if (grh->length != len - sizeof(*wire))
		return WEFT_MALFORMED_LENGTH;
	return WEFT_MALFORMED_NONE;
}
WEFT_EXPORT_FOR_TEST(weft_grh_decode);

/* Encode a GRH. Returns the bytes written. */
size_t weft_grh_encode(u8 *buf, const struct weft_grh *grh)
{
	struct weft_wire_grh *wire = (void *)buf;

	wire->version = cpu_to_be32(FIELD_PREP(WEFT_GRH_VERSION,
					       WEFT_GRH_IPVER) |
				    FIELD_PREP(WEFT_GRH_TCLASS, grh->tclass) |
				    (grh->flow_label & WEFT_GRH_FLOW_LABEL));
	wire->length = cpu_to_be16(grh->length);
	wire->next_header = WEFT_GRH_NEXT_IBA;
	wire->hop_limit = grh->hop_limit;
	memcpy(wire->sgid, grh->sgid, sizeof(wire->sgid));
	memcpy(wire->dgid, grh->dgid, sizeof(wire->dgid));
	return sizeof(*wire);
}
WEFT_EXPORT_FOR_TEST(weft_grh_encode);

void weft_map_decode(struct weft_map *map, const struct weft_wire_map *wire)
{
	u32 i;

	map->lost = be32_to_cpu(wire->lost);
	bitmap_zero(map->kept, WEFT_MAP_PACKETS);
	for (i = 0; i < WEFT_MAP_PACKETS; i++)
		if (wire->kept[i / 8] & BIT(i % 8))
			__set_bit(i, map->kept);
}
WEFT_EXPORT_FOR_TEST(weft_map_decode);

void weft_map_encode(struct weft_wire_map *wire, const struct weft_map *map)
{
	u32 i;

	*wire = (struct weft_wire_map){ .lost = cpu_to_be32(map->lost) };
	for_each_set_bit(i, map->kept, WEFT_MAP_PACKETS)
		wire->kept[i / 8] |= BIT(i % 8);
}
WEFT_EXPORT_FOR_TEST(weft_map_encode);
