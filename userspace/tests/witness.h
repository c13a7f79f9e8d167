/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A witness: a process with a connection of its own on the same device, which has
 * to work all the time, whatever another process does to its own queues.
 */
#ifndef TESTS_WITNESS_H
#define TESTS_WITNESS_H

#include "lib.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

static pid_t witness_pid;
static int *witness_stop, *witness_rounds;

static void witness_start(void)
{
	struct end a, b;
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	witness_stop = shared;
	witness_rounds = shared + 1;
	witness_pid = fork();
	CHECK(witness_pid >= 0);
	if (witness_pid)
		return;
	note("witness");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_device();
	make_pair(&a, &b, CONF());
	while (!__atomic_load_n(witness_stop, __ATOMIC_RELAXED)) {
		check_works(&a, &b);
		__atomic_add_fetch(witness_rounds, 1, __ATOMIC_RELAXED);
	}
	expect_no_event();
	_exit(0);
}

static void witness_end(void)
{
	int status, before = *witness_rounds;
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	/* it is alive now, not only at the start */
	while (__atomic_load_n(witness_rounds, __ATOMIC_RELAXED) < before + 3) {
		if (waitpid(witness_pid, &status, WNOHANG) == witness_pid)
			FAIL("the witness failed after %d rounds", before);
		if (now_ns() > end)
			FAIL("the witness hangs after %d rounds", before);
		sleep_ms(1);
	}
	*witness_stop = 1;
	SAME(waitpid(witness_pid, &status, 0), witness_pid);
	if (status)
		FAIL("the witness failed: status %#x", status);
}

/*
 * Wait for the end of the process that harms itself. It may loop in its own library, as it has put
 * garbage there; it can be killed. Return: its status.
 */
static inline int end_liar(pid_t pid, int ms)
{
	uint64_t end = now_ns() + ms * 1000000ULL;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (now_ns() > end) {
			end = now_ns();
			kill(pid, SIGKILL);
			SAME(waitpid(pid, &status, 0), pid);
			break;
		}
		sleep_ms(5);
	}
	if (now_ns() > end + WAIT_MS * 1000000ULL)
		FAIL("the process could not be killed");
	return status;
}

#endif /* TESTS_WITNESS_H */
