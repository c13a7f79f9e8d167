/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The link of a RAW_PACKET QP: its messages are frames of the net device. */
#ifndef WEFT_LINK_RAW_SEND_H
#define WEFT_LINK_RAW_SEND_H

#include "engine/link.h"

extern const struct weft_link weft_link_raw;

#endif /* WEFT_LINK_RAW_SEND_H */
