// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void die(const char *what)
{
	perror(what);
	exit(1);
}

uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t median(uint64_t *t, int num)
{
	qsort(t, num, sizeof(*t), compare);
	return t[num / 2];
}

static uint64_t clock_cost(void)
{
	uint64_t best = UINT64_MAX, t;
	int i;

	for (i = 0; i < 100; i++) {
		t = now();
		t = now() - t;
		if (t < best)
			best = t;
	}
	return best;
}

void measure(const char *name, uint64_t size, int iterations, void (*before)(void),
	     void (*one)(void))
{
	uint64_t *t, start, middle, cost = clock_cost();
	int i;

	if (iterations < 1) {
		fprintf(stderr, "%s: no iterations\n", name);
		exit(2);
	}
	t = calloc(iterations, sizeof(*t));
	if (!t)
		die("memory");
	for (i = 0; i < iterations; i++) {
		if (before)
			before();
		start = now();
		one();
		start = now() - start;
		t[i] = start > cost ? start - cost : 0;
	}
	middle = median(t, iterations);
	printf("%s,%llu,%llu,%llu\n", name, (unsigned long long)size,
	       (unsigned long long)t[0], (unsigned long long)middle);
	fflush(stdout);
	free(t);
}
