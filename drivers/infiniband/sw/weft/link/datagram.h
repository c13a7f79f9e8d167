/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The link of a UD QP: it passes each datagram to the local link, to the device's wire, or to both.
 */
#ifndef WEFT_LINK_DATAGRAM_H
#define WEFT_LINK_DATAGRAM_H

struct weft_link;

extern const struct weft_link weft_link_datagrams;

#endif /* WEFT_LINK_DATAGRAM_H */
