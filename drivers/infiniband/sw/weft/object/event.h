/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Affiliated asynchronous events of a QP, a CQ or an SRQ. */
#ifndef WEFT_OBJECT_EVENT_H
#define WEFT_OBJECT_EVENT_H

#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

/*
 * A kernel consumer's event handler may take a lock that the consumer holds while it posts, so
 * it must not run in the call chain of a verb (Documentation/infiniband/core_locking.rst): a
 * work item calls it. uverbs takes events in any context.
 */
struct weft_events {
	/* calls the event handler of the object */
	void			(*tell)(struct weft_events *events, enum ib_event_type type);
	bool			deferred;	/* to @work */
	unsigned long		pending;	/* events for @work, a bit per enum ib_event_type */
	struct work_struct	work;
};

void weft_events_init(struct weft_events *events, bool kernel,
		      void (*tell)(struct weft_events *events, enum ib_event_type type));
void weft_events_raise(struct weft_events *events, enum ib_event_type type);
void weft_events_end(struct weft_events *events);

#endif /* WEFT_OBJECT_EVENT_H */
