/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Conversion between packet headers and structs in CPU order. The layers above the wire layer
 * use these structs only.
 */
#ifndef WEFT_WIRE_CODEC_H
#define WEFT_WIRE_CODEC_H

#include <linux/bitmap.h>
#include <linux/types.h>

#include "wire/headers.h"

/* Why a packet cannot be decoded. */
enum weft_malformed {
	WEFT_MALFORMED_NONE	= 0,
	WEFT_MALFORMED_SHORT,		/* it ends within its headers */
	WEFT_MALFORMED_VERSION,		/* unknown version of the LRH, GRH or BTH */
	WEFT_MALFORMED_NEXT_HEADER,	/* unknown header after the LRH or GRH */
	WEFT_MALFORMED_LENGTH,		/* wrong length field, or not a multiple of 4 bytes */
	WEFT_MALFORMED_OPCODE,		/* reserved or not supported */
	WEFT_MALFORMED_PAD,		/* more pad than payload */
	WEFT_MALFORMED_PAYLOAD,		/* the opcode does not allow this payload length */
	WEFT_MALFORMED_INJECTED,	/* nothing, but a rule wants it to be refused */
	WEFT_MALFORMED_COUNT,		/* number of values */
};

/*
 * The BTH and its extension headers. The opcode decides which of the extension headers are
 * present (weft_opcode(opcode)->ext); the others are zero after decoding and ignored by the
 * encoder.
 */
struct weft_hdr {
	u32		length;		/* bytes of all headers; ignored by the encoder */
	u32		payload;	/* bytes without the pad; ignored by the encoder */
	u8		opcode;
	u8		pad;		/* bytes of pad after the payload, 0 to 3 */
	u8		tver;		/* transport header version, 0 */
	bool		se;		/* solicited event */
	bool		migreq;
	bool		fecn;
	bool		becn;
	bool		ackreq;
	bool		maps;		/* its sender is a weft, which understands gap maps */
	bool		again;		/* READ response of a weft: has been sent before */
	u16		pkey;
	u32		dqpn;		/* 24 bits */
	u32		psn;		/* 24 bits */
	__be32		imm;		/* as the consumer gave it, not converted */
	struct {
		u32	rkey;		/* to invalidate */
	} ieth;
	struct {
		u32	srqn;		/* 24 bits */
	} xrceth;
	struct {
		u32	qkey;
		u32	sqpn;		/* 24 bits */
	} deth;
	struct {
		u8	placement;	/* enum weft_placement */
		u8	selectivity;	/* enum weft_selectivity */
	} feth;
	struct {
		u64	va;
		u32	rkey;
		u32	length;		/* bytes of the whole message */
	} reth;
	struct {
		u8	syndrome;	/* see aeth.h */
		u32	msn;		/* 24 bits */
	} aeth;
	struct {
		u64	va;
		u32	rkey;
		u64	swap_add;
		u64	compare;
	} atomic;
	/* masked atomics, see struct weft_wire_masks */
	struct {
		u64	swap;
		u64	compare_add;
	} masks;
	struct {
		u64	original;	/* the value before the atomic operation */
	} atomic_ack;
};

struct weft_lrh {
	u16	length;			/* bytes from the LRH to the end of the ICRC */
	u16	dlid;
	u16	slid;
	u8	vl;			/* 0 to 15 */
	u8	sl;			/* 0 to 15 */
	u8	lnh;			/* enum weft_lnh */
};

struct weft_grh {
	u32	flow_label;		/* 20 bits */
	u16	length;			/* bytes from the end of the GRH to the end of the ICRC */
	u8	tclass;
	u8	hop_limit;
	u8	sgid[16];
	u8	dgid[16];
};

/* A gap map: the responder tells which packets it keeps, counted from a PSN. */
struct weft_map {
	u32		lost;		/* of so many packets, those that are not kept are lost */
	DECLARE_BITMAP(kept, WEFT_MAP_PACKETS);
};

enum weft_malformed weft_hdr_decode(struct weft_hdr *hdr, const u8 *buf, size_t len);
size_t weft_hdr_encode(u8 *buf, const struct weft_hdr *hdr);
enum weft_malformed weft_lrh_decode(struct weft_lrh *lrh, const u8 *buf, size_t len);
size_t weft_lrh_encode(u8 *buf, const struct weft_lrh *lrh);
enum weft_malformed weft_grh_decode(struct weft_grh *grh, const u8 *buf, size_t len);
size_t weft_grh_encode(u8 *buf, const struct weft_grh *grh);
void weft_map_decode(struct weft_map *map, const struct weft_wire_map *wire);
void weft_map_encode(struct weft_wire_map *wire, const struct weft_map *map);

#endif /* WEFT_WIRE_CODEC_H */
