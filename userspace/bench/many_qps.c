// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * many_qps - what it means that there are many QPs
 *
 * usage: many_qps DEVICE GID-INDEX QPS ACTIVE ITERATIONS [hold]
 *
 * Makes QPS connected RC QPs in pairs, with 64 work requests each way, and has ACTIVE of
 * them exchange 8 bytes, a pair after the other. Prints "memory,BYTES", of the host for
 * each QP, with rings, and "pingpong,8,MIN,MEDIAN" in nanoseconds. With "hold" it
 * says "quiet" then and sleeps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cost.h"
#include "rdma.h"

#define BYTES 8

static struct device device;
static struct end *ends;
static int active, turn;

/* Bytes that nobody uses, or that only cache something. */
static long long unused(void)
{
	static const char * const names[] = { "MemFree:", "Buffers:", "Cached:", "SReclaimable:" };
	FILE *f = fopen("/proc/meminfo", "r");
	long long kib, sum = 0;
	char name[64];
	size_t i;

	if (!f)
		die("/proc/meminfo");
	while (fscanf(f, "%63s %lld%*[^\n]", name, &kib) == 2)
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (!strcmp(name, names[i]))
				sum += kib << 10;
	fclose(f);
	return sum;
}

/* The memory is shared: it is not what is looked at. */
static void make_pairs(int from, int to)
{
	int i;

	for (i = from; i < to; i++) {
		ends[i] = ends[0];
		create_qp(&ends[i]);
		if (i & 1)
			connect_ends(&ends[i - 1], &ends[i]);
	}
}

static void receive(void)
{
	turn = (turn + 2) % active;
	post_recv(&ends[turn], BYTES);
	post_recv(&ends[turn + 1], BYTES);
}

static void one_pingpong(void)
{
	post(&ends[turn], &ends[turn + 1], IBV_WR_SEND, BYTES);
	wait_completions(device.cq, device.cq, 2);
	post(&ends[turn + 1], &ends[turn], IBV_WR_SEND, BYTES);
	wait_completions(device.cq, device.cq, 2);
}

int main(int argc, char **argv)
{
	int num, first;
	long long before;

	if (argc != 6 && argc != 7) {
		fprintf(stderr, "usage: many_qps DEVICE GID-INDEX QPS ACTIVE ITERATIONS [hold]\n");
		return 2;
	}
	num = atoi(argv[3]) & ~1;
	active = atoi(argv[4]) & ~1;
	if (active < 2 || num < active)
		return 2;
	ends = calloc(num, sizeof(*ends));
	if (!ends)
		die("memory");
	memset(ends, 0, num * sizeof(*ends));
	open_device(&device, argv[1], atoi(argv[2]));
	ends[0].device = &device;
	create_memory(&ends[0], 4096);
	/* the first ones take what the kernel keeps in reserve */
	first = num / 10 & ~1;
	make_pairs(0, first);
	before = unused();
	make_pairs(first, num);
	printf("memory,%lld\n", (before - unused()) / (num - first));
	measure("pingpong", BYTES, atoi(argv[5]), receive, one_pingpong);
	if (argc == 7) {
		printf("quiet\n");
		fflush(stdout);
		pause();
	}
	return 0;
}
