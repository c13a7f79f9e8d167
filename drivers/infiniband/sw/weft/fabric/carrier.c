// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/carrier.h"

#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include "fabric/frame.h"

struct weft_frame_room weft_carrier_room(const struct weft_carrier *carrier)
{
	const struct net_device *ndev = carrier->ndev;

	return (struct weft_frame_room) {
		.head = LL_RESERVED_SPACE(ndev) + carrier->ops->head,
		.tail = ndev->needed_tailroom,
	};
}

void weft_carrier_send(struct weft_carrier *carrier, const struct weft_station *to,
		       struct sk_buff *frame)
{
	weft_frame_seal(frame);
	carrier->ops->send(carrier, to, frame);
}

void weft_carrier_send_all(struct weft_carrier *carrier, struct sk_buff *frame)
{
	weft_frame_seal(frame);
	carrier->ops->send_all(carrier, frame);
}
