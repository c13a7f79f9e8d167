/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* RoCEv2: packets of a QP in UDP datagrams, by the routes of the host. */
#ifndef WEFT_LINK_ROCE_H
#define WEFT_LINK_ROCE_H

struct weft_link;

/* Has xmit(), datagram() and forget(). */
extern const struct weft_link weft_link_roce;

#endif /* WEFT_LINK_ROCE_H */
