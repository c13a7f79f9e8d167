/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* RoCEv2: packets of a QP in UDP datagrams, by the routes of the host. */
#ifndef WEFT_LINK_ROCE_H
#define WEFT_LINK_ROCE_H

struct weft_ip_path;
struct weft_link;
struct weft_tx_batch;

/* Has xmit(), datagram() and forget(). */
extern const struct weft_link weft_link_roce;

void weft_roce_path(const struct weft_tx_batch *batch, struct weft_ip_path *path);

#endif /* WEFT_LINK_ROCE_H */
