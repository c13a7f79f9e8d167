/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Affiliated asynchronous events: of a QP, a CQ or an SRQ.
 */
#ifndef WEFT_OBJECT_EVENT_H
#define WEFT_OBJECT_EVENT_H

#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/**
 * struct weft_events - events of an object
 *
 * A kernel consumer's handler is called by a work item: it may want a lock that the consumer
 * holds while it posts (Documentation/infiniband/core_locking.rst: never in the call chain of
 * a verb). uverbs takes an event whoever brings it.
 *
 * @tell: calls the object's handler
 * @deferred: by @work; immutable
 * @pending: bit per enum ib_event_type that @work has to tell
 * @work: tells
 */
struct weft_events {
	void			(*tell)(struct weft_events *events, enum ib_event_type type);
	bool			deferred;
	unsigned long		pending;
	struct work_struct	work;
};

/**
 * weft_events_init - of an object that is made
 * @events: the object's
 * @kernel: its consumer is in the kernel
 * @tell: calls the object's handler
 */
void weft_events_init(struct weft_events *events, bool kernel,
		      void (*tell)(struct weft_events *events, enum ib_event_type type));

/**
 * weft_events_raise - something happened to an object
 * @events: the object's
 * @type: what
 *
 * What happens again before a kernel consumer has been told of it is told once, and of what
 * happens together it is told in the order of enum ib_event_type.
 *
 * Context: any.
 */
void weft_events_raise(struct weft_events *events, enum ib_event_type type);

/**
 * weft_events_end - of an object to which nothing happens any more
 * @events: the object's; nobody is told from then on
 *
 * Context: process, not in a handler of the object's events.
 */
void weft_events_end(struct weft_events *events);

#endif /* WEFT_OBJECT_EVENT_H */
