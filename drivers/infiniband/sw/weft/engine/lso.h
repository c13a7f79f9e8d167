/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A long piece of a TCP stream is cut into packets of IPoIB: large send offload.
 */
#ifndef WEFT_ENGINE_LSO_H
#define WEFT_ENGINE_LSO_H

#include "mem/copy.h"
#include "params.h"
#include "ring/sqe.h"

/* Bytes of a stream that may be sent at once. */
#define WEFT_LSO_MAX_LENGTH	65536U

/**
 * struct weft_lso_cut - a stream that is being cut
 * @lso: how
 * @length: of the stream
 * @done: bytes of it that have been sent
 * @bytes: of it that are in the current packet
 * @header: of the current packet
 * @at: where in @span the stream goes on
 * @num: spans of the stream, from @span[1] on
 * @span: what has been sent is taken away; the one before @at is @header's
 */
struct weft_lso_cut {
	const struct weft_lso	*lso;
	u32			length;
	u32			done;
	u32			bytes;
	u8			header[WEFT_LSO_HEADERS];
	u32			at;
	u32			num;
	struct weft_span	span[1 + WEFT_MAX_SGE];
};

/**
 * weft_lso_valid - can packets be made with it?
 * @lso: as it was posted
 *
 * Return: true: the headers are those of IPoIB, IPv4 (no fragment) or IPv6, and TCP, and
 * nothing else; and IP has a word for the length of a packet.
 */
bool weft_lso_valid(const struct weft_lso *lso);

/**
 * weft_lso_longest - how long a packet gets
 * @lso: valid
 * @length: of the stream
 *
 * Return: bytes of the first one.
 */
u32 weft_lso_longest(const struct weft_lso *lso, u32 length);

/**
 * weft_lso_begin - begin to cut, or go on
 * @cut: result
 * @lso: valid
 * @sgl: the stream, of WEFT_LSO_MAX_LENGTH bytes at most; resolved as long as it is cut
 * @done: bytes that have been sent, of whole packets
 */
void weft_lso_begin(struct weft_lso_cut *cut, const struct weft_lso *lso,
		    const struct weft_sgl *sgl, u32 done);

/**
 * weft_lso_packet - the current packet
 * @cut: some is left
 * @packet: its first byte
 *
 * Its checksums are to be filled in yet, see weft_ipcsum_fill().
 *
 * Return: its bytes.
 */
u32 weft_lso_packet(struct weft_lso_cut *cut, struct weft_iter *packet);

/**
 * weft_lso_sent - the current packet has been sent
 * @cut: after weft_lso_packet()
 *
 * Return: bytes of the stream that have been, in all.
 */
u32 weft_lso_sent(struct weft_lso_cut *cut);

#endif /* WEFT_ENGINE_LSO_H */
