/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The alternate path of a connected QP (IBA 17.2.8). */
#ifndef WEFT_OBJECT_MIGRATION_H
#define WEFT_OBJECT_MIGRATION_H

#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "object/av.h"

/* Written under the modify_lock, with both turns stopped, unless a writer is named. */
struct weft_migration {
	/* enum ib_mig_state; the owner of either turn changes REARM to ARMED with cmpxchg() */
	u32			state;
	bool			loaded;		/* @av is an alternate path, not used yet */
	/* packets may come by @av: it is the alternate path, or the path that was left last */
	bool			known;
	u32			failed;		/* PATH_MIG_ERR raised since REARM; atomic */
	unsigned long		asked;		/* requests to @work (engine/migration.c); atomic */
	u8			timeout;	/* attributes of the alternate path */
	u8			port_num;
	u16			pkey_index;
	struct weft_av		av;		/* uses the local link if the QP's own path does */
	struct work_struct	work;		/* holds a reference to the QP while queued */
};

#endif /* WEFT_OBJECT_MIGRATION_H */
