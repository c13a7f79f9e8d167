// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * verbs_rate - WRITEs a second, of several QPs on as many CPUs at once
 *
 * usage: verbs_rate DEVICE GID-INDEX PROCESSES SIZE BATCH MILLISECONDS [threads]
 *
 * Each process is bound to a CPU of its own and has both ends of a connection, a
 * context and a CQ. They begin together, and post batches for so long. Prints
 * messages a second of all of them. With "threads" they are threads of one process, with one
 * context and one memory region; only QPs and CQs are their own.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"
#include "rdma.h"

#define MAX_PROCESSES 64
/* memory of an end whose region is that of all threads: no two share a page */
#define STRIDE (2 << 20)

struct shared {
	int ready;
	struct {
		uint64_t messages, ns;
	} of[MAX_PROCESSES];
};

static struct shared *shared;
static uint32_t size;
static int processes, batch;

static void bind_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void one_batch(struct end *ends)
{
	post_batch(&ends[0], &ends[1], size, batch);
	wait_completions(ends[0].device->cq, ends[0].device->cq, 1);
}

/* Nobody begins before all are ready. */
static void meet(void)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) < processes)
		usleep(100);
}

/* Post batches for @ns; @ends have a device and memory. */
static void work(int me, struct end *ends, uint64_t ns)
{
	uint64_t start, messages = 0, past = 0;
	int e;

	for (e = 0; e < 2; e++)
		create_qp(&ends[e]);
	connect_ends(&ends[0], &ends[1]);
	one_batch(ends);
	meet();
	start = now();
	while (past < ns) {
		one_batch(ends);
		messages += batch;
		past = now() - start;
	}
	shared->of[me].messages = messages;
	shared->of[me].ns = past;
}

static void run(int me, const char *name, int gid_index, uint64_t ns)
{
	struct device device;
	struct end ends[2] = { { .device = &device }, { .device = &device } };
	int e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bind_cpu(me);
	open_device(&device, name, gid_index);
	for (e = 0; e < 2; e++)
		create_memory(&ends[e], size);
	work(me, ends, ns);
	_exit(0);
}

/* the device and the region that all threads use, and how long they run */
static struct end common;
static uint64_t common_ns;

static void *run_thread(void *arg)
{
	int me = (uintptr_t)arg, e;
	struct device device = *common.device;
	struct end ends[2];

	bind_cpu(me);
	device.cq = ibv_create_cq(device.context, 256, NULL, NULL, 0);
	if (!device.cq)
		die("ibv_create_cq");
	for (e = 0; e < 2; e++)
		ends[e] = (struct end){
			.device = &device,
			.mr = common.mr,
			.buf = common.buf + (2 * me + e) * STRIDE,
		};
	work(me, ends, common_ns);
	return NULL;
}

static void run_threads(const char *name, int gid_index, uint64_t ns)
{
	static struct device device;
	pthread_t threads[MAX_PROCESSES];
	int i;

	open_device(&device, name, gid_index);
	common.device = &device;
	common_ns = ns;
	create_memory(&common, 2 * processes * STRIDE);
	for (i = 0; i < processes; i++) {
		errno = pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)i);
		if (errno)
			die("pthread_create");
	}
	for (i = 0; i < processes; i++)
		pthread_join(threads[i], NULL);
}

static void run_processes(const char *name, int gid_index, uint64_t ns)
{
	int i, status;

	for (i = 0; i < processes; i++)
		if (!fork())
			run(i, name, gid_index, ns);
	for (i = 0; i < processes; i++)
		if (wait(&status) < 0 || status)
			die("a process failed");
}

int main(int argc, char **argv)
{
	bool threads = argc == 8 && !strcmp(argv[7], "threads");
	double rate = 0;
	int i;

	if (argc != 7 && !threads) {
		fprintf(stderr, "usage: verbs_rate DEVICE GID-INDEX PROCESSES SIZE BATCH MILLISECONDS [threads]\n");
		return 2;
	}
	processes = atoi(argv[3]);
	size = atoi(argv[4]);
	batch = atoi(argv[5]);
	if (processes < 1 || processes > MAX_PROCESSES || batch < 1 || batch > 64 || size > STRIDE)
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("memory");
	(threads ? run_threads : run_processes)(argv[1], atoi(argv[2]), atoi(argv[6]) * 1000000ULL);
	for (i = 0; i < processes; i++)
		rate += shared->of[i].messages * 1e9 / shared->of[i].ns;
	printf("%.0f\n", rate);
	return 0;
}
