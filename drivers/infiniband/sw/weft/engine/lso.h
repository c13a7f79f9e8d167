/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Large send offload (LSO): a long piece of a TCP stream is cut into packets of IPoIB. */
#ifndef WEFT_ENGINE_LSO_H
#define WEFT_ENGINE_LSO_H

#include "mem/copy.h"
#include "params.h"
#include "ring/sqe.h"

/* Bytes of one LSO. */
#define WEFT_LSO_MAX_LENGTH	65536U

/* An LSO that is being cut into packets. */
struct weft_lso_cut {
	/* the headers, and the payload of each packet */
	const struct weft_lso	*lso;
	u32			length;				/* bytes of payload in all */
	u32			done;				/* bytes that have been sent */
	u32			bytes;				/* bytes in the current packet */
	u8			header[WEFT_LSO_HEADERS];	/* headers of the current packet */
	/* the span that the unsent payload begins in */
	u32			at;
	/* spans of payload, from @span[1] on */
	u32			num;
	/*
	 * the payload; what has been sent is cut off. The entry before @at refers to @header, so
	 * the current packet is a list of spans that begins there.
	 */
	struct weft_span	span[1 + WEFT_MAX_SGE];
};

bool weft_lso_valid(const struct weft_lso *lso);
u32 weft_lso_longest(const struct weft_lso *lso, u32 length);
void weft_lso_begin(struct weft_lso_cut *cut, const struct weft_lso *lso,
		    const struct weft_sgl *sgl, u32 done);
u32 weft_lso_packet(struct weft_lso_cut *cut, struct weft_iter *packet);
u32 weft_lso_sent(struct weft_lso_cut *cut);

#endif /* WEFT_ENGINE_LSO_H */
