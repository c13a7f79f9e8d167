/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* InfiniBand: a QP's packets go by LID, through the fabric. */
#ifndef WEFT_LINK_IB_H
#define WEFT_LINK_IB_H

#include <linux/types.h>

struct sk_buff;
struct weft_av;
struct weft_hca;
struct weft_ibport;
struct weft_link;
struct weft_qp;

extern const struct weft_link weft_link_ib;

void weft_ib_open(struct weft_hca *hca);
void weft_ib_close(struct weft_hca *hca);
void weft_ib_push(struct sk_buff *skb, const struct weft_qp *qp, const struct weft_av *av);
void weft_ib_send(struct weft_hca *hca, u16 dlid, struct sk_buff *skb);
void weft_ib_receive(struct weft_ibport *port, struct sk_buff *skb, bool nested);

#endif /* WEFT_LINK_IB_H */
