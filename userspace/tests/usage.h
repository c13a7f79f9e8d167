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

/* how often a thing has to grow in a row before it is a leak */
#define USAGE_WINDOWS	3

struct usage;

/* Read what the kernel has in use. Something has been done @num times by then. */
struct usage *usage_take(int num);

/* Say what @u has. */
void usage_show(const struct usage *u);

/*
 * Say what of @u[@num] is more than it may be in each of the @num usages after the first.
 *
 * Return: how many things
 */
int usage_growing(struct usage * const *u, int num);

#endif /* TESTS_USAGE_H */
