/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The local link: both QPs are on this host. */
#ifndef WEFT_LINK_LOCAL_H
#define WEFT_LINK_LOCAL_H

#include "engine/link.h"

extern const struct weft_link weft_link_local;

enum weft_verdict weft_local_datagram(struct weft_qp *qp, struct weft_datagram *dgram);

#endif /* WEFT_LINK_LOCAL_H */
