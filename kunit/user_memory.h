/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory of a process for a test, which has none. */
#ifndef WEFT_KUNIT_USER_MEMORY_H
#define WEFT_KUNIT_USER_MEMORY_H

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/kmemleak.h>
#include <linux/mman.h>

/* Returns the address of @length bytes. */
static inline unsigned long map_user_memory(struct kunit *test, size_t length)
{
	unsigned long address = kunit_vm_mmap(test, NULL, 0, length, PROT_READ | PROT_WRITE,
					      MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(address));
	/* KUnit keeps a reference to the mm for ever, which is no leak of weft's */
	kmemleak_ignore(current->mm);
	return address;
}

#endif
