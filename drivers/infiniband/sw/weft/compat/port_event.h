/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who turns events of a net device into port events.
 *
 * Where the core can, it does so for one RDMA device of a net device, for
 * none of a bond, and by the state of the net device the GIDs come from,
 * unless the driver says that it does it.
 */
#ifndef WEFT_COMPAT_PORT_EVENT_H
#define WEFT_COMPAT_PORT_EVENT_H

#include <rdma/ib_verbs.h>

#ifdef COMPAT_HAS_CORE_PORT_EVENTS
static inline void compat_ignore_port_event(struct ib_device *ibdev,
					    struct net_device *ndev,
					    unsigned long event)
{
}

/* Member of struct ib_device_ops: the driver dispatches its port events. */
#define COMPAT_OWN_PORT_EVENTS .report_port_event = compat_ignore_port_event,
#else
#define COMPAT_OWN_PORT_EVENTS
#endif

/* @event has its device and its port. Older cores have no word for it. */
static inline void compat_dispatch_speed_change(struct ib_event *event)
{
#ifdef COMPAT_HAS_PORT_SPEED
	event->event = IB_EVENT_DEVICE_SPEED_CHANGE;
	ib_dispatch_event(event);
#endif
}

#endif /* WEFT_COMPAT_PORT_EVENT_H */
