/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The newest kernel's interface to pages of another process. */
#ifndef WEFT_COMPAT_GUP_H
#define WEFT_COMPAT_GUP_H

#include <linux/mm.h>

#ifndef COMPAT_HAS_GUP_WITHOUT_VMAS
static inline long compat_pin_user_pages_remote(struct mm_struct *mm, unsigned long start,
						unsigned long nr_pages, unsigned int gup_flags,
						struct page **pages, int *locked)
{
	return pin_user_pages_remote(mm, start, nr_pages, gup_flags, pages, NULL, locked);
}

#define pin_user_pages_remote compat_pin_user_pages_remote
#endif

#endif /* WEFT_COMPAT_GUP_H */
