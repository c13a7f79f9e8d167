// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The figures of QPs that no tool of the core has. What "rdma resource" and "rdma statistic" show
 * is not repeated here.
 */
#include "verbs/top.h"

#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "link/local.h"
#include "object/dev.h"
#include "object/latency.h"
#include "object/qp.h"
#include "object/table.h"
#include "object/why.h"

static_assert(sizeof(struct weft_top_record) == 360);

static void top_latency(struct weft_top_record *record, const struct weft_latency *latency)
{
	u32 i;

	if (!latency)
		return;
	record->flags |= WEFT_TOP_MEASURED;
	record->latency_sum = READ_ONCE(latency->sum);
	record->bytes = READ_ONCE(latency->bytes);
	for (i = 0; i < WEFT_TOP_BUCKETS; i++)
		record->latency[i] = READ_ONCE(latency->count[i]);
}

/* The values change at any time; two of them need not be of the same moment. */
static void top_record(struct weft_qp *qp, const struct weft_reader *reader,
		       struct weft_top_record *record)
{
	const struct weft_send *send = &qp->send;

	*record = (struct weft_top_record){
		.qpn = qp->qpn,
		.peer_qpn = weft_qp_is_ud(qp) ? 0 : READ_ONCE(qp->dest_qpn),
		.pid = pid_nr_ns(qp->maker.pid, reader->pids),
		.uid = from_kuid_munged(reader->users, qp->maker.user),
		.requests = READ_ONCE(send->inflight.head),
		.messages = weft_qp_is_reliable(qp) ? READ_ONCE(qp->recv.msn) : 0,
		.retries = READ_ONCE(send->retry.retries),
		.rnr_retries = READ_ONCE(send->retry.rnr_retries),
		.inflight = READ_ONCE(send->inflight.tail) - READ_ONCE(send->inflight.head),
		.service = weft_qp_core_type(qp),
		.state = weft_qp_state(qp),
		.flags = (qp->kernel ? WEFT_TOP_KERNEL : 0) |
			 (READ_ONCE(qp->link) == &weft_link_local ? WEFT_TOP_LOCAL : 0),
	};
	strscpy_pad(record->comm, qp->owner.comm, sizeof(record->comm));
	/* pairs with that of latency_create() */
	top_latency(record, smp_load_acquire(&send->latency));
}

/*
 * Read records of the QPs whose numbers are at least @from divided by the size of a record. The
 * credentials of the opener of @file, and the reader's namespace of process ids, decide which.
 * Returns the bytes; 0: no such QP; -EINVAL: @from is no multiple, or @size less than a record.
 */
ssize_t weft_top_read(struct weft_dev *dev, const struct file *file, char *buf, loff_t from,
		      size_t size)
{
	const struct weft_reader reader = weft_reader(file);
	struct weft_top_record record;
	unsigned long index;
	struct weft_qp *qp;
	size_t done = 0;
	u64 first, rest;

	first = div64_u64_rem(from, sizeof(record), &rest);
	if (rest || size < sizeof(record))
		return -EINVAL;
	/* QP 0 and QP 1 are not in the table; QPs after @index are found */
	index = min_t(u64, first ? first - 1 : 0, U32_MAX);
	while (size - done >= sizeof(record) && (qp = weft_qp_next(dev->id, &index))) {
		if (weft_reader_sees(&reader, qp->maker.user, qp->maker.pid)) {
			top_record(qp, &reader, &record);
			memcpy(buf + done, &record, sizeof(record));
			done += sizeof(record);
		}
		weft_qp_put(qp);
		cond_resched();
	}
	return done;
}
