// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/event.h"

#include <linux/bitops.h>

#include "object/queue.h"

static void events_worker(struct work_struct *work)
{
	struct weft_events *events = container_of(work, struct weft_events, work);
	unsigned long pending = xchg(&events->pending, 0);
	unsigned int type;

	for_each_set_bit(type, &pending, BITS_PER_LONG)
		events->tell(events, type);
}

void weft_events_init(struct weft_events *events, bool kernel,
		      void (*tell)(struct weft_events *events, enum ib_event_type type))
{
	events->tell = tell;
	events->deferred = kernel;
	events->pending = 0;
	INIT_WORK(&events->work, events_worker);
}

/*
 * Raise an event, from any context. A kernel consumer gets one event for all of a type that
 * were raised before its handler runs; pending events come in the order of enum ib_event_type.
 */
void weft_events_raise(struct weft_events *events, enum ib_event_type type)
{
	if (!events->deferred) {
		events->tell(events, type);
		return;
	}
	set_bit(type, &events->pending);
	weft_queue_work(&events->work);
}

/*
 * Wait for the handler to end. No event is raised any more. Process context, but not a handler
 * of these events.
 */
void weft_events_end(struct weft_events *events)
{
	cancel_work_sync(&events->work);
}
