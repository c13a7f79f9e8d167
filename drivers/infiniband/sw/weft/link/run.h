/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets of one message that are processed as one. */
#ifndef WEFT_LINK_RUN_H
#define WEFT_LINK_RUN_H

struct weft_pkt;
struct weft_uso_cursor;

void weft_run_extend(struct weft_pkt *pkt, struct weft_uso_cursor *at);

#endif /* WEFT_LINK_RUN_H */
