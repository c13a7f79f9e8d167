// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prefetches of a process that is gone: others do not notice.
 */
#include "lib.h"

#include <signal.h>
#include <sys/prctl.h>

#define PAGED		(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)
#define GiB		(1UL << 30)

static void *paged(size_t size, struct ibv_mr **mr)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	*mr = ibv_reg_mr(pd, p, size, PAGED);
	CHECK(*mr);
	return p;
}

/* later, and nobody waits for it */
static void prefetch(const struct ibv_mr *mr, void *p, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)p, length, mr->lkey };

	SAME(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1), 0);
}

static long available_kb(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[256];
	long kb = -1;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %ld", &kb) == 1)
			break;
	fclose(file);
	CHECK(kb >= 0);
	return kb;
}

/* more than there is */
static void prefetch_all(void)
{
	struct ibv_mr *mr;
	uint8_t *p = paged(64 * GiB, &mr);
	int i;

	for (i = 0; i < 64; i++)
		prefetch(mr, p + i * GiB, GiB);
}

/* soon all that was there before is there again, and stays */
static void memory_comes_back(long before)
{
	int i, good = 0;
	long kb;

	for (i = 0; i < 100 && good < 10; i++) {
		kb = available_kb();
		good = kb > before - 64 * 1024 ? good + 1 : 0;
		sleep_ms(100);
	}
	if (good < 10)
		FAIL("MemAvailable was %ld kB, is %ld kB", before, kb);
}

static void exits(void)
{
	long before = available_kb();
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		open_device();
		prefetch_all();
		_exit(0);
	}
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
	memory_comes_back(before);
}

static void end_child(pid_t pid)
{
	int status;

	SAME(kill(pid, SIGKILL), 0);
	SAME(waitpid(pid, &status, 0), pid);
}

/* it goes on, but the memory is not its any more */
static void executes(void)
{
	long before = available_kb();
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open_device();
		prefetch_all();
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	sleep_ms(200);
	memory_comes_back(before);
	end_child(pid);
}

TESTS(
	TEST(exits), TEST(executes)
)
