/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The other path of a connected QP (IBA 17.2.8).
 */
#ifndef WEFT_OBJECT_MIGRATION_H
#define WEFT_OBJECT_MIGRATION_H

#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "object/av.h"

/**
 * struct weft_migration - where a QP goes when it leaves its path
 *
 * Written with both turns stopped, under the modify_lock, unless it says otherwise.
 *
 * @state: enum ib_mig_state. The owner of either turn makes ARMED of REARM, with
 *	cmpxchg(); read by the owner of either.
 * @loaded: @av is an alternate path, and was not used yet
 * @known: @av is one, or it is the path that was left: packets may still come from
 *	there
 * @failed: PATH_MIG_ERR has been raised since REARM; atomic
 * @asked: what a half asks @work for, atomic
 * @timeout: attribute of the alternate path, as of weft_send
 * @port_num: likewise
 * @pkey_index: likewise
 * @av: the path; local if the QP's own is
 * @work: migrates; holds a reference to the QP while queued
 */
struct weft_migration {
	u32			state;
	bool			loaded;
	bool			known;
	u32			failed;
	unsigned long		asked;
	u8			timeout;
	u8			port_num;
	u16			pkey_index;
	struct weft_av		av;
	struct work_struct	work;
};

#endif /* WEFT_OBJECT_MIGRATION_H */
