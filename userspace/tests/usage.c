// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "usage.h"

#include "lib.h"

#include <fcntl.h>

#define MAX_ITEMS	600

/* one thing, and by how much it may grow from one usage to the next */
struct item {
	char name[64];
	long value;
	long limit;
};

struct usage {
	struct item items[MAX_ITEMS];
	int num;
};

static void add(struct usage *u, const char *name, long value, long limit)
{
	struct item *item = &u->items[u->num++];

	CHECK(u->num <= MAX_ITEMS);
	snprintf(item->name, sizeof(item->name), "%s", name);
	item->value = value;
	item->limit = limit;
}

static FILE *open_proc(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file)
		FAIL("cannot read %s", path);
	return file;
}

/* the number behind @key; 0: there is no such line */
static long number_of(const char *path, const char *key)
{
	FILE *file = open_proc(path);
	size_t length = strlen(key);
	long value = 0;
	char line[256];

	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, length))
			value = atol(line + length);
	fclose(file);
	return value;
}

/* pages that are free, and kept by a CPU */
static long kept_kb(void)
{
	FILE *file = open_proc("/proc/zoneinfo");
	long pages = 0, count;
	char line[256];

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " count: %ld", &count) == 1)
			pages += count;
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Rings are pages that no line counts, so those are what all the lines leave over. */
static long uncounted_kb(void)
{
	/* stacks are in VmallocUsed */
	static const char * const counted[] = {
		"MemFree:", "Buffers:", "Cached:", "SwapCached:", "AnonPages:", "Slab:",
		"PageTables:", "SecPageTables:", "VmallocUsed:", "Percpu:",
	};
	long kb = number_of("/proc/meminfo", "MemTotal:") - kept_kb();
	int i;

	for (i = 0; i < ARRAY_SIZE(counted); i++)
		kb -= number_of("/proc/meminfo", counted[i]);
	return kb;
}

/* half a megabyte for the rest of the system, and 200 bytes each time */
static void add_memory(struct usage *u, int num)
{
	static const char * const keys[] = {
		"SUnreclaim:", "VmallocUsed:", "Percpu:", "KernelStack:", "PageTables:",
	};
	long limit = 512 + num / 5;
	int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		add(u, keys[i], number_of("/proc/meminfo", keys[i]), limit);
	add(u, "uncounted pages:", uncounted_kb(), limit);
}

/* nobody else pins any, in a guest; and what this process is charged for is exact */
static void add_pins(struct usage *u)
{
	long pinned = number_of("/proc/vmstat", "nr_foll_pin_acquired ");

	CHECK(pinned);
	add(u, "pinned pages:", pinned - number_of("/proc/vmstat", "nr_foll_pin_released "), 0);
	add(u, "VmPin:", number_of("/proc/self/status", "VmPin:"), 0);
}

static void trigger(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	/* some caches have another name there; then they are not as exact */
	if (fd < 0)
		return;
	if (write(fd, value, strlen(value)) < 0)
		printf("%s: %s\n", path, strerror(errno));
	close(fd);
}

/* each cache of slabinfo */
static void each_cache(void (*call)(struct usage *u, const char *name, long objects, int num),
		       struct usage *u, int num)
{
	FILE *file = open_proc("/proc/slabinfo");
	char line[512], name[64];
	long objects;

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %ld", name, &objects) == 2)
			call(u, name, objects, num);
	fclose(file);
}

/* CPUs keep free objects, which count as if they were used */
static void shrink_cache(struct usage *u, const char *name, long objects, int num)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", name);
	trigger(path, "1");
}

/* Some, and one for each twenty times: of what is done each tenth time all is seen. */
static void add_cache(struct usage *u, const char *name, long objects, int num)
{
	/* freed many at a time, after thousands: what was mapped has other objects, too */
	if (strcmp(name, "vmap_area"))
		add(u, name, objects, 20 + num / 20);
}

/* What is freed by work items and after grace periods is free afterwards. */
static void settle(void)
{
	sleep_ms(500);
	/* of dentries and the like, and what kfree_rcu() has collected */
	trigger("/proc/sys/vm/drop_caches", "2");
	each_cache(shrink_cache, NULL, 0);
	sleep_ms(1000);
	each_cache(shrink_cache, NULL, 0);
	trigger("/proc/sys/vm/stat_refresh", "1");
}

/* The own records of the debug kernel and of UML grow; kmemleak says who leaks memory there. */
struct usage *usage_take(int num)
{
	const char *kernel = getenv("WEFT_KERNEL");
	struct usage *u = calloc(1, sizeof(*u));

	CHECK(u);
	settle();
	add_pins(u);
	if (kernel && (!strcmp(kernel, "debug") || !strcmp(kernel, "uml")))
		return u;
	add_memory(u, num);
	each_cache(add_cache, u, num);
	return u;
}

static long value_of(const struct usage *u, const char *name)
{
	int i;

	for (i = 0; i < u->num; i++)
		if (!strcmp(u->items[i].name, name))
			return u->items[i].value;
	return 0;
}

void usage_show(const struct usage *u)
{
	int i;

	/* the lines that are not of a cache */
	for (i = 0; i < u->num; i++)
		if (strchr(u->items[i].name, ':'))
			printf("%s%s %ld", i ? ", " : "", u->items[i].name, u->items[i].value);
	printf("\n");
}

/* whether @item is more than it may be in each of @num usages after the one before */
static bool grows(struct usage * const *u, int num, const struct item *item)
{
	int i;

	for (i = 1; i <= num; i++)
		if (value_of(u[i], item->name) - value_of(u[i - 1], item->name) <= item->limit)
			return false;
	return true;
}

int usage_growing(struct usage * const *u, int num)
{
	const struct item *item;
	int i, count = 0;

	for (i = 0; i < u[num]->num; i++) {
		item = &u[num]->items[i];
		if (!grows(u, num, item))
			continue;
		printf("%-20s %8ld, %+ld, expected at most %+ld\n", item->name, item->value,
		       item->value - value_of(u[num - 1], item->name), item->limit);
		count++;
	}
	return count;
}

int usage_watch(void (*work)(int num), int num)
{
	struct usage *u[USAGE_WINDOWS + 1];
	int i, j, count = 0;

	u[0] = usage_take(num);
	for (i = 1; i <= USAGE_WINDOWS; i++) {
		work(num);
		u[i] = usage_take(num);
		count = usage_growing(u, i);
		printf("%d times: of %d things %d grow\n", num, u[i]->num, count);
		if (!count)
			break;
	}
	for (j = 0; j < i && j <= USAGE_WINDOWS; j++)
		free(u[j]);
	return count;
}
