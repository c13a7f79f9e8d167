// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * verbs_cost - what a verbs operation costs between two QPs of one process
 *
 * usage: verbs_cost DEVICE[,DEVICE] GID-INDEX[,INDEX] OPERATION SIZE ITERATIONS
 *
 * OPERATION: send, pingpong, write, read, fadd; batch, 32 WRITEs that are posted by one call; or
 * ucwrite, a WRITE on UC, which needs no answer: if what arrives is dropped it shows what the
 * sender alone costs. Each iteration lasts from
 * ibv_post_send() until every completion was polled (pingpong: until the answer was, as its last
 * acknowledge may come with the next message); between two empty polls
 * the process yields. Prints "OPERATION,SIZE,MIN,MEDIAN" in nanoseconds of
 * CLOCK_MONOTONIC, less the cost of reading the clock. In a guest whose clock
 * counts instructions these are instructions. With two devices each has an end.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "rdma.h"

#define BATCH 32

static struct device devices[2];
static struct end ends[2];
static uint32_t size;

static void wait(int number)
{
	wait_completions(ends[0].device->cq, ends[1].device->cq, number);
}

static void one_send(void)
{
	post(&ends[0], &ends[1], IBV_WR_SEND, size);
	wait(2);
}

static void one_pingpong(void)
{
	int e;

	for (e = 0; e < 2; e++) {
		post(&ends[e], &ends[!e], IBV_WR_SEND, size);
		wait_message(ends[0].device->cq, ends[1].device->cq);
	}
}

static void one_write(void)
{
	post(&ends[0], &ends[1], IBV_WR_RDMA_WRITE, size);
	wait(1);
}

static void one_batch(void)
{
	post_batch(&ends[0], &ends[1], size, BATCH);
	wait(1);
}

static void one_read(void)
{
	post(&ends[0], &ends[1], IBV_WR_RDMA_READ, size);
	wait(1);
}

static void one_fadd(void)
{
	post(&ends[0], &ends[1], IBV_WR_ATOMIC_FETCH_AND_ADD, size);
	wait(1);
}

static void receive_there(void)
{
	post_recv(&ends[1], size);
}

static void receive_both(void)
{
	post_recv(&ends[0], size);
	post_recv(&ends[1], size);
}

static const struct operation {
	const char *name;
	void (*one)(void), (*before)(void);
} operations[] = {
	{ "send", one_send, receive_there },
	{ "pingpong", one_pingpong, receive_both },
	{ "write", one_write, NULL },
	{ "read", one_read, NULL },
	{ "fadd", one_fadd, NULL },
	{ "batch", one_batch, NULL },
	{ "ucwrite", one_write, NULL },
};

static const struct operation *find_operation(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	fprintf(stderr, "verbs_cost: no operation '%s'\n", name);
	exit(2);
}

/* Each end has its own device, or both have the first one. */
static void create_ends(char *names, const char *indexes, bool uc)
{
	char *second = strchr(names, ',');
	const char *index = strchr(indexes, ',');
	int e;

	if (second)
		*second++ = 0;
	open_device(&devices[0], names, atoi(indexes));
	if (second)
		open_device(&devices[1], second, atoi(index ? index + 1 : indexes));
	for (e = 0; e < 2; e++) {
		ends[e].device = &devices[second ? e : 0];
		create_memory(&ends[e], size);
		ends[e].uc = uc;
		create_qp(&ends[e]);
	}
	connect_ends(&ends[0], &ends[1]);
}

int main(int argc, char **argv)
{
	const struct operation *op;

	if (argc != 6) {
		fprintf(stderr, "usage: verbs_cost DEVICE[,DEVICE] GID-INDEX[,INDEX] OPERATION SIZE ITERATIONS\n");
		return 2;
	}
	op = find_operation(argv[3]);
	size = atoi(argv[4]);
	create_ends(argv[1], argv[2], !strcmp(op->name, "ucwrite"));
	measure(op->name, size, atoi(argv[5]), op->before, op->one);
	return 0;
}
