/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Port events for events of a net device: weft dispatches them itself.
 *
 * A core that can dispatch them does so for only one RDMA device of a net device, and for none of
 * a bond, and goes by the state of the net device that the GIDs come from. A driver with
 * ib_device_ops.report_port_event disables that.
 */
#ifndef WEFT_COMPAT_PORT_EVENT_H
#define WEFT_COMPAT_PORT_EVENT_H

#include <rdma/ib_verbs.h>

#ifdef COMPAT_HAS_CORE_PORT_EVENTS
static inline void compat_ignore_port_event(struct ib_device *ibdev, struct net_device *ndev,
					    unsigned long event)
{
}

/* Member of struct ib_device_ops: the driver dispatches port events itself. */
#define COMPAT_OWN_PORT_EVENTS .report_port_event = compat_ignore_port_event,
#else
#define COMPAT_OWN_PORT_EVENTS
#endif

/* The type of that event, or an errno. */
#ifdef COMPAT_HAS_PORT_SPEED
#define COMPAT_EVENT_SPEED_CHANGE	IB_EVENT_DEVICE_SPEED_CHANGE
#else
#define COMPAT_EVENT_SPEED_CHANGE	(-EOPNOTSUPP)
#endif

/* The caller sets device and port of @event. Older cores have no such event. */
static inline void compat_dispatch_speed_change(struct ib_event *event)
{
#ifdef COMPAT_HAS_PORT_SPEED
	event->event = IB_EVENT_DEVICE_SPEED_CHANGE;
	ib_dispatch_event(event);
#endif
}

#endif /* WEFT_COMPAT_PORT_EVENT_H */
