/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Records of what went wrong on a device, and of the states of its QPs: a few of each kind, the
 * newest ones. Documentation/infiniband/weft/why.rst is for their readers.
 *
 * They are written where a failure is decided, and cost nothing as long as nothing fails. A QP is
 * in INIT, RTR, RTS or ERR a few times in its life, so that is recorded, too.
 */
#ifndef WEFT_OBJECT_WHY_H
#define WEFT_OBJECT_WHY_H

#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-why.h>

#include "mem/blame.h"

struct file;
struct pid;
struct pid_namespace;
struct user_namespace;
struct weft_dev;
struct weft_qp;

/* The process that has made a QP, or calls a verb. */
struct weft_owner {
	struct pid	*pid;	/* of the thread group, with a reference; NULL: the kernel */
	kuid_t		user;
};

/* The reader of a file of records, for as long as it reads. */
struct weft_reader {
	bool			all;	/* root */
	kuid_t			user;
	struct user_namespace	*users;
	struct pid_namespace	*pids;
};

/* A record, and what decides who may read it. The region is for its registrant, and for root. */
struct weft_why_entry {
	struct weft_why_record	record;
	struct weft_owner	owner;
	struct weft_registrant	region;
};

/* Size of the file that weft_why_read() reads. */
#define WEFT_WHY_BYTES	(WEFT_WHY_RINGS * WEFT_WHY_SLOTS * sizeof(struct weft_why_record))

struct weft_why {
	spinlock_t		lock;
	u64			last;				/* sequence number */
	u32			next[WEFT_WHY_RINGS];		/* slot to be overwritten */
	/* rings of WEFT_WHY_SLOTS; NULL: there was no memory, so nothing is recorded */
	struct weft_why_entry	*entries;
};

void weft_owner_get(struct weft_owner *owner);
bool weft_owner_is_same(const struct weft_owner *a, const struct weft_owner *b);
struct weft_reader weft_reader(const struct file *file);
bool weft_reader_sees(const struct weft_reader *reader, kuid_t user, struct pid *pid);

void weft_why_open(struct weft_why *why);
void weft_why_close(struct weft_why *why);
void weft_why_state(struct weft_qp *qp, u8 from, u8 to);
void weft_why_event(struct weft_qp *qp, enum ib_event_type type);
void weft_why_failure(struct weft_qp *qp, struct weft_why_entry *entry);
void weft_why_call(struct weft_dev *dev, struct weft_why_entry *entry);
__printf(3, 4)
void weft_why_verb(const struct ib_device *ibdev, long err, const char *format, ...);
void weft_why_region(struct weft_why_entry *entry, const struct weft_blame *blame);
ssize_t weft_why_read(struct weft_why *why, const struct file *file, char *buf, loff_t from,
		      size_t size);

#endif /* WEFT_OBJECT_WHY_H */
