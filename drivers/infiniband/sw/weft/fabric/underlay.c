// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/underlay.h"

#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "fabric/frame.h"

/* The room that a frame for this underlay needs before and behind it. */
struct weft_frame_headroom weft_underlay_headroom(const struct weft_underlay *underlay)
{
	const struct net_device *ndev = underlay->ndev;

	return (struct weft_frame_headroom) {
		.head = LL_RESERVED_SPACE(ndev) + underlay->ops->head,
		.tail = ndev->needed_tailroom,
	};
}

void weft_underlay_send(struct weft_underlay *underlay, const struct weft_underlay_addr *to,
			struct sk_buff *frame)
{
	weft_frame_seal(frame);
	underlay->ops->send(underlay, to, frame);
}

void weft_underlay_send_all(struct weft_underlay *underlay, struct sk_buff *frame)
{
	weft_frame_seal(frame);
	underlay->ops->send_all(underlay, frame);
}
