/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The local link: both QPs are on this host.
 *
 * A message is copied once, from memory region to memory region, while its sender owns its own send
 * turn and the receiver's receive turn. There are no packets, but all rules of the transport hold:
 * order, PSNs, access checks, RNR, retries if the peer does not answer, NAKs.
 */
#ifndef WEFT_LINK_LOCAL_H
#define WEFT_LINK_LOCAL_H

#include "engine/link.h"

extern const struct weft_link weft_link_local;

/* weft_link.datagram for an address handle of this host. */
enum weft_verdict weft_local_datagram(struct weft_qp *qp, struct weft_datagram *dgram);

#endif /* WEFT_LINK_LOCAL_H */
