/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pages of a process: faulting in and pinning. */
#ifndef WEFT_MEM_ODP_GET_H
#define WEFT_MEM_ODP_GET_H

#include <linux/types.h>

struct mem_cgroup;
struct mm_struct;
struct page;

struct weft_odp_visit {
	struct mm_struct	*mm;
	struct mem_cgroup	*before;	/* the active memory cgroup before the visit */
};

bool weft_odp_visit(struct weft_odp_visit *visit, struct mm_struct *mm);
void weft_odp_visit_end(const struct weft_odp_visit *visit);
long weft_odp_get(struct mm_struct *mm, u64 start, u32 num, bool write, struct page **pages);
long weft_odp_get_now(struct mm_struct *mm, u64 start, u32 num, bool write, struct page **pages);

#endif /* WEFT_MEM_ODP_GET_H */
