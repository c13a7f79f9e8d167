// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fair_cost - how long a short message waits for a long one on the same CPU
 *
 * usage: fair_cost DEVICE GID-INDEX OPERATION SIZE ITERATIONS
 *
 * A process reads or writes SIZE bytes at a time (OPERATION), over and over. Another one,
 * which comes first whenever the kernel looks (SCHED_FIFO), wakes up now and then, sends 8
 * bytes between two QPs of its own and polls both completions. Prints "OPERATION,SIZE,NS":
 * from the time it was to wake up, at worst. With SIZE 0 there is nobody to wait for.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cost.h"
#include "rdma.h"

#define BYTES		8
#define PERIOD_NS	7000000

static struct device device;
static struct end ends[2];

/* The memory of both is the same. */
static void create_ends(char **argv, uint32_t size)
{
	open_device(&device, argv[1], atoi(argv[2]));
	ends[0].device = &device;
	create_memory(&ends[0], size);
	ends[1] = ends[0];
	create_qp(&ends[0]);
	create_qp(&ends[1]);
	connect_ends(&ends[0], &ends[1]);
}

static void move_for_ever(char **argv, uint32_t size, int ready)
{
	bool read = !strcmp(argv[3], "read");

	create_ends(argv, size);
	for (;;) {
		post(&ends[0], &ends[1], read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, size);
		if (ready >= 0)
			close(ready);
		ready = -1;
		wait_completions(device.cq, device.cq, 1);
	}
}

/* Return: once the process has begun. */
static pid_t start_mover(char **argv, uint32_t size)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(ready[0]);
		move_for_ever(argv, size, ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1))
		die("read");
	return pid;
}

/* Nanoseconds from @at until an exchange that begins then is over. */
static uint64_t exchange(uint64_t at)
{
	const struct timespec time = { at / 1000000000, at % 1000000000 };

	post_recv(&ends[1], BYTES);
	if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL))
		die("clock_nanosleep");
	post(&ends[0], &ends[1], IBV_WR_SEND, BYTES);
	wait_completions(device.cq, device.cq, 2);
	return now() - at;
}

int main(int argc, char **argv)
{
	const struct sched_param first = { .sched_priority = 1 };
	uint64_t worst = 0, took;
	pid_t mover = 0;
	uint32_t size;
	int i;

	if (argc != 6) {
		fprintf(stderr, "usage: fair_cost DEVICE GID-INDEX OPERATION SIZE ITERATIONS\n");
		return 2;
	}
	size = strtoul(argv[4], NULL, 0);
	if (size)
		mover = start_mover(argv, size);
	create_ends(argv, BYTES);
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("sched_setscheduler");
	for (i = 0; i < atoi(argv[5]); i++) {
		took = exchange(now() + PERIOD_NS);
		worst = took > worst ? took : worst;
	}
	if (size && (waitpid(mover, NULL, WNOHANG) || kill(mover, SIGKILL)))
		die("the other process has ended");
	printf("%s,%u,%llu\n", argv[3], size, (unsigned long long)worst);
	return 0;
}
