/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the kernel has in use, before and after: memory, the objects of each slab
 * cache, pinned pages.
 */
#ifndef TESTS_USAGE_H
#define TESTS_USAGE_H

/*
 * Do @work, which does something @num times and undoes it. What is a leak is there each
 * time: if anything grows, it is done again, and has to grow again.
 *
 * Return: how many things grow
 */
int usage_watch(void (*work)(int num), int num);

#endif /* TESTS_USAGE_H */
