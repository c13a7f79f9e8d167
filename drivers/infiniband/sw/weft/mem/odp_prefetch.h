/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Prefetches of ODP regions (ibv_advise_mr()). */
#ifndef WEFT_MEM_ODP_PREFETCH_H
#define WEFT_MEM_ODP_PREFETCH_H

#include <linux/types.h>

struct mm_struct;
struct pid;

int weft_odp_prefetch(struct mm_struct *mm, struct pid *tgid, u64 start, u64 length, bool write);

#endif /* WEFT_MEM_ODP_PREFETCH_H */
