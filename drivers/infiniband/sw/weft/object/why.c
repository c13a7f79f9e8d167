// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records of failures and states, in four rings, so that no storm of one kind overwrites the
 * others. A record keeps the struct pid of its owner, not the process, so that it can be read after
 * the QP and the process are gone.
 *
 * A record may be read by root (CAP_NET_ADMIN in the initial user namespace, as for the raw output
 * of "rdma resource"), and by a process of the same user that sees the owner's process id: so not
 * from a container beside that of the owner, although root of both may be the same user.
 */
#include "object/why.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "object/dev.h"
#include "object/qp.h"
#include "trace.h"

static_assert(sizeof(struct weft_why_record) == 256);

/* Undone by put_pid(). */
void weft_owner_get(struct weft_owner *owner)
{
	owner->pid = get_pid(task_tgid(current));
	owner->user = current_euid();
}

/*
 * May one learn what happened at the other's QP? Two containers whose users are the same have
 * different namespaces of process ids.
 */
bool weft_owner_is_same(const struct weft_owner *a, const struct weft_owner *b)
{
	if (!a->pid || !b->pid)
		return a->pid == b->pid;
	return uid_eq(a->user, b->user) && ns_of_pid(a->pid) == ns_of_pid(b->pid);
}

void weft_why_open(struct weft_why *why)
{
	spin_lock_init(&why->lock);
	why->entries = kvcalloc(WEFT_WHY_RINGS * WEFT_WHY_SLOTS, sizeof(*why->entries),
				GFP_KERNEL);
}

/* Nothing happens on the device any more. */
void weft_why_close(struct weft_why *why)
{
	u32 i;

	if (!why->entries)
		return;
	for (i = 0; i < WEFT_WHY_RINGS * WEFT_WHY_SLOTS; i++)
		put_pid(why->entries[i].owner.pid);
	kvfree(why->entries);
	why->entries = NULL;
}

static u32 why_ring(u8 kind)
{
	switch (kind) {
	case WEFT_WHY_STATE:
	case WEFT_WHY_EVENT:
		return 0;
	case WEFT_WHY_VERB:
		return 2;
	case WEFT_WHY_STRICT:
		return 3;
	default:
		return 1;
	}
}

/* The same once more, directly behind the last record of its ring. */
static bool why_repeats(const struct weft_why_record *last, const struct weft_why_record *record)
{
	return last->kind == record->kind && record->kind != WEFT_WHY_STATE &&
	       last->qpn == record->qpn && last->fault == record->fault &&
	       last->status == record->status && last->pid == record->pid &&
	       last->key == record->key && last->peer_qpn == record->peer_qpn &&
	       !strcmp(last->text, record->text);
}

/* Returns the owner's reference that the caller drops. */
static struct pid *why_store(struct weft_why *why, const struct weft_why_entry *entry)
{
	const u32 ring = why_ring(entry->record.kind) * WEFT_WHY_SLOTS, *next;
	struct weft_why_entry *last, *slot;
	struct pid *before;

	next = &why->next[ring / WEFT_WHY_SLOTS];
	last = &why->entries[ring + (*next + WEFT_WHY_SLOTS - 1) % WEFT_WHY_SLOTS];
	if (why_repeats(&last->record, &entry->record)) {
		last->record.repeats++;
		last->record.time = entry->record.time;
		last->record.seq = ++why->last;
		return entry->owner.pid;
	}
	slot = &why->entries[ring + *next];
	before = slot->owner.pid;
	*slot = *entry;
	slot->record.first = slot->record.time;
	slot->record.seq = ++why->last;
	why->next[ring / WEFT_WHY_SLOTS] = (*next + 1) % WEFT_WHY_SLOTS;
	return before;
}

/* @entry has a reference to its owner, which this function takes over. From any context. */
static void why_add(struct weft_why *why, struct weft_why_entry *entry)
{
	struct pid *pid = entry->owner.pid;
	unsigned long flags;

	if (why->entries) {
		entry->record.time = ktime_get_real_ns();
		spin_lock_irqsave(&why->lock, flags);
		pid = why_store(why, entry);
		spin_unlock_irqrestore(&why->lock, flags);
	}
	put_pid(pid);
}

/* Fill in the members that all records of a QP have. */
static void why_add_qp(struct weft_qp *qp, struct weft_why_entry *entry)
{
	struct weft_why_record *record = &entry->record;

	record->qpn = qp->qpn;
	record->service = weft_qp_core_type(qp);
	/* of a DC target the caller knows the initiator */
	if (!weft_qp_is_ud(qp) && qp->type != WEFT_QPT_DCT) {
		record->peer_qpn = qp->dest_qpn;
		memcpy(record->dgid, &qp->av.dgid, sizeof(record->dgid));
	}
	record->flags |= (qp->kernel ? WEFT_WHY_KERNEL : 0) | (qp->recv.srq ? WEFT_WHY_SRQ : 0) |
			 (qp->av.local ? WEFT_WHY_LOCAL : 0) |
			 (qp->av.target ? WEFT_WHY_HERE : 0);
	strscpy_pad(record->comm, qp->owner.comm, sizeof(record->comm));
	entry->owner = qp->maker;
	get_pid(entry->owner.pid);
	why_add(&qp->dev->why, entry);
}

/* WEFT_WHY_NO_STATE: before it was created, after it was destroyed. */
void weft_why_state(struct weft_qp *qp, u8 from, u8 to)
{
	struct weft_why_entry entry = {
		.record = { .kind = WEFT_WHY_STATE, .from = from, .to = to },
	};

	why_add_qp(qp, &entry);
}

void weft_why_event(struct weft_qp *qp, enum ib_event_type type)
{
	struct weft_why_entry entry = {
		.record = { .kind = WEFT_WHY_EVENT, .status = type },
	};

	why_add_qp(qp, &entry);
}

/* @entry is zeroed but for what the caller knows of the failure. */
void weft_why_failure(struct weft_qp *qp, struct weft_why_entry *entry)
{
	why_add_qp(qp, entry);
	trace_weft_failure(qp->qpn, &entry->record);
}

/* @entry is zeroed but for what the caller knows of a call of the current process. */
void weft_why_call(struct weft_dev *dev, struct weft_why_entry *entry)
{
	strscpy_pad(entry->record.comm, current->comm, sizeof(entry->record.comm));
	weft_owner_get(&entry->owner);
	entry->record.pid = pid_nr(entry->owner.pid);
	why_add(&dev->why, entry);
}

/* A line of weft_refuse(). */
void weft_why_verb(const struct ib_device *ibdev, long err, const char *format, ...)
{
	struct weft_dev *dev = container_of(ibdev, struct weft_dev, ibdev);
	struct weft_why_entry entry = {
		.record = { .kind = WEFT_WHY_VERB, .status = -err },
	};
	va_list args;

	va_start(args, format);
	vscnprintf(entry.record.text, sizeof(entry.record.text), format, args);
	va_end(args);
	weft_why_call(dev, &entry);
}

/* Put down the region that came nearest. */
void weft_why_region(struct weft_why_entry *entry, const struct weft_blame *blame)
{
	struct weft_why_record *record = &entry->record;

	if (!blame->found)
		return;
	record->flags |= WEFT_WHY_REGION;
	record->region_key = blame->key;
	record->region_access = blame->access;
	record->region_addr = blame->addr;
	record->region_length = blame->length;
	entry->region = blame->by;
}

/* The reader of @file: its opener, with the namespace of process ids of the caller. */
struct weft_reader weft_reader(const struct file *file)
{
	return (struct weft_reader){
		.all = file_ns_capable(file, &init_user_ns, CAP_NET_ADMIN),
		.user = file->f_cred->euid,
		.users = file->f_cred->user_ns,
		.pids = task_active_pid_ns(current),
	};
}

/* @pid: of the process that it is about; NULL: the kernel */
bool weft_reader_sees(const struct weft_reader *reader, kuid_t user, struct pid *pid)
{
	return reader->all ||
	       (pid && uid_eq(reader->user, user) && pid_nr_ns(pid, reader->pids));
}

/* The region may be that of another user, in another protection domain. */
static void why_show_region(const struct weft_reader *reader, struct weft_why_record *record,
			    const struct weft_registrant *by)
{
	struct pid *pid;

	if (!(record->flags & WEFT_WHY_REGION))
		return;
	rcu_read_lock();
	pid = find_pid_ns(by->tgid, &init_pid_ns);
	if (weft_reader_sees(reader, by->user, pid)) {
		record->region_pid = pid ? pid_nr_ns(pid, reader->pids) : by->tgid;
	} else {
		record->flags &= ~WEFT_WHY_REGION;
		record->region_key = 0;
		record->region_access = 0;
		record->region_addr = 0;
		record->region_length = 0;
	}
	rcu_read_unlock();
}

/* Copy a record as the reader may see it. */
static void why_show(struct weft_why *why, u32 slot, const struct weft_reader *reader,
		     struct weft_why_record *record)
{
	const struct weft_why_entry *entry = &why->entries[slot];
	struct weft_registrant by;

	spin_lock_irq(&why->lock);
	*record = (struct weft_why_record){};
	by = entry->region;
	if (entry->record.seq && weft_reader_sees(reader, entry->owner.user, entry->owner.pid)) {
		*record = entry->record;
		record->pid = pid_nr_ns(entry->owner.pid, reader->pids);
		record->uid = from_kuid_munged(reader->users, entry->owner.user);
	}
	spin_unlock_irq(&why->lock);
	why_show_region(reader, record, &by);
}

/*
 * Read a piece of the file of records. The credentials of the opener of @file, and the reader's
 * namespace of process ids, decide which records it has.
 */
ssize_t weft_why_read(struct weft_why *why, const struct file *file, char *buf, loff_t from,
		      size_t size)
{
	const struct weft_reader reader = weft_reader(file);
	struct weft_why_record record;
	size_t done = 0, piece;
	u32 offset;

	if (!why->entries)
		return 0;
	while (done < size && from + done < WEFT_WHY_BYTES) {
		offset = (from + done) % sizeof(record);
		piece = min(size - done, sizeof(record) - offset);
		why_show(why, (from + done) / sizeof(record), &reader, &record);
		memcpy(buf + done, (char *)&record + offset, piece);
		done += piece;
	}
	return done;
}
