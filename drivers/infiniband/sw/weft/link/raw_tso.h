/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* TSO of a RAW_PACKET QP: headers and a long payload, which the kernel cuts into frames. */
#ifndef WEFT_LINK_RAW_TSO_H
#define WEFT_LINK_RAW_TSO_H

#include <linux/types.h>

struct sk_buff;
struct weft_lso;
struct weft_qp;

bool weft_raw_tso_valid(const struct weft_lso *lso);
struct sk_buff *weft_raw_tso_build(struct weft_qp *qp, const struct weft_lso *lso);

#endif /* WEFT_LINK_RAW_TSO_H */
