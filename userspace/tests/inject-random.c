// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Injection rules by chance, most of which are valid and fire: for $RULES_SECONDS, to the file of root
 * or, with RULES_OF=users, to that of users. What they hurt is for a script to see.
 */
#include "inject.h"

#include <fcntl.h>
#include <time.h>

static const char *const matches[] = {
	"n=3", "every=5", "n=2 every=3", "chance=0.2 seed=4", "chance=0.01", "times=2", "bytes=1-",
	"bytes=0-99", "after=1ms", "for=20ms", "after=5ms for=50ms", "comm=ibv_rc_pingpong",
	"service=rc", "service=ud", "service=uc", "service=xrc",
};

static const char *const packet_words[] = {
	"opcode=send", "opcode=write", "opcode=ack", "opcode=read", "opcode=send-imm", "psn=0-0x7fffff",
	"position=first", "position=last", "position=only", "attempt=first", "attempt=retry",
	"peer=10.9.0.1", "peer=fd00:9::1", "dir=in", "dir=out", "path=armed",
};

static const char *const packet_actions[] = {
	/* the script looks at what these count */
	"drop", "drop", "drop", "bad-icrc", "bad-icrc", "duplicate", "delay=1ms", "delay=40ms",
	"delay=1s", "hold", "truncate=0",
	"truncate=50", "set=psn:5", "set=rkey:1", "set=address:0", "set=length:7", "set=ackreq:0",
	"set=se:1", "set=imm:9", "set=msn:3", "set=src-qp:1", "set=qkey:3", "set=srqn:1", "set=inv:2",
	"bad-data", "ce", "nak=sequence", "nak=invalid-request", "nak=remote-access",
	"nak=remote-operation", "nak=invalid-rd-request", "rnr=1", "rnr=31", "cnp", "jitter=5ms",
	"jitter=3ms reorder", "rate=10mbit", "rate=1mbit delay=1ms", "set=pkey:7", "set=fecn:1",
	"set=becn:1", "set=opcode:0x11", "set=opcode:0x64", "set=dest-qp:1", "set=dest-qp:17",
};

static const char *const request_actions[] = {
	"complete=RETRY_EXC_ERR", "complete=LOC_LEN_ERR", "complete=WR_FLUSH_ERR vendor_err=255",
	"complete=GENERAL_ERR", "cq-overrun", "delay=1ms", "delay=30ms", "delay=60s",
	"late=1ms", "late=30ms",
};

static const char *const verb_rules[] = {
	"verb verb=create_qp fail=ENOMEM", "verb verb=reg_mr n=2 fail=EFAULT",
	"verb verb=modify_qp state=RTR fail=ETIMEDOUT", "verb verb=modify_qp state=ERR fail=EIO",
	"verb verb=query_qp fail=EAGAIN", "verb verb=create_cq chance=0.5 fail=ENOSPC",
	"verb verb=create_ah fail=ENETUNREACH", "verb verb=attach_mcast fail=EPERM",
	"verb verb=alloc_ucontext n=2 fail=EMFILE", "verb fail=EINTR chance=0.1",
	"cq lose-event", "cq chance=0.1 lose-event", "cq cqn=3 lose-event",
	"alloc name=context n=2 fail=ENOMEM", "alloc name=qp fail=ENOMEM",
	"alloc name=ring n=2 fail=ENOMEM", "alloc name=region fail=ENOMEM",
	"alloc name=pages n=2 fail=ENOMEM", "alloc name=ah fail=ENOMEM",
	"alloc name=slots fail=ENOMEM", "alloc name=replay fail=ENOMEM",
	"alloc name=monitor fail=ENOMEM",
	"alloc name=packet every=2 fail=ENOMEM", "alloc name=group fail=ENOMEM",
	"alloc fail=ENOMEM chance=0.05",
};

static const char *const receive_actions[] = {
	"complete=LOC_LEN_ERR", "complete=LOC_PROT_ERR vendor_err=255", "complete=WR_FLUSH_ERR",
	"complete=REM_ABORT_ERR", "complete=FATAL_ERR", "complete=GENERAL_ERR",
};

/* what is done by a command, and has an end */
static const char *const commands[] = {
	"clear", "clear", "release", "port down", "port up", "event PORT_ERR", "event LID_CHANGE",
	"event PKEY_CHANGE", "event CLIENT_REREGISTER", "event SM_CHANGE", "event QP_FATAL qp=17",
	"clear 3", "port flap 2ms 1ms 3",
};

#define ANY(words)	((words)[rand() % ARRAY_SIZE(words)])

static void any_rule(char *text, size_t size)
{
	int packet = rand() % 3;

	if (!(rand() % 8))
		snprintf(text, size, "%s", ANY(commands));
	else if (!(rand() % 5))
		snprintf(text, size, "%s", ANY(verb_rules));
	else if (packet)
		snprintf(text, size, "packet %s %s %s", rand() % 2 ? ANY(packet_words) : "",
			 rand() % 3 ? ANY(matches) : "", ANY(packet_actions));
	else if (rand() % 2)
		snprintf(text, size, "receive %s %s", rand() % 3 ? ANY(matches) : "",
			 ANY(receive_actions));
	else
		snprintf(text, size, "request %s %s", rand() % 3 ? ANY(matches) : "",
			 ANY(request_actions));
}

void random_rules(void)
{
	const char *seconds = getenv("RULES_SECONDS"), *of = getenv("RULES_OF");
	const char *seed = getenv("WEFT_SEED"), *name = device_name();
	const bool users = of && !strcmp(of, "users");
	unsigned int state = seed && *seed ? atoi(seed) : (unsigned int)time(NULL);
	char path[128] = "/sys/kernel/debug/weft/inject", text[256], line[512];
	int taken = 0, refused = 0, full = 0;
	uint64_t end;
	ssize_t ret;
	int fd;

	if (!seconds)
		return;
	if (users)
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/inject_own", name);
	printf("seed %u\n", state);
	srand(state);
	end = now_ns() + atoi(seconds) * 1000000000ULL;
	while (now_ns() < end) {
		any_rule(text, sizeof(text));
		/* a user has room for 16 */
		if (users && !(rand() % 12))
			strcpy(text, "clear");
		if (users)
			snprintf(line, sizeof(line), "%s\n", text);
		else
			snprintf(line, sizeof(line), "%s %s\n", name, text);
		fd = open(path, O_WRONLY);
		CHECK(fd >= 0);
		ret = write(fd, line, strlen(line));
		if (ret == (ssize_t)strlen(line))
			taken++;
		else if (errno == EINVAL || errno == EPERM || errno == ENOENT)
			refused++;
		else if (errno == ENOSPC)
			full++;
		else
			FAIL("%s: errno %d", line, errno);
		close(fd);
		sleep_ms(rand() % 8);
	}
	printf("%d rules taken, %d refused, %d too many\n", taken, refused, full);
	CHECK(taken > 20);
	CHECK(refused);
}
