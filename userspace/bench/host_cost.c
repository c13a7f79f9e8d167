// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * host_cost - what the host's own means cost, to compare with
 *
 * usage: host_cost OPERATION SIZE ITERATIONS [ADDRESS NETNS]
 *
 *	syscall		a bare one
 *	memcpy		in user space
 *	vmread, pread	a copy by the kernel from page to page: process_vm_readv() of this
 *			process, which looks each page up; a read of a file in memory
 *	pipe, unix	SIZE bytes to another process and 8 bytes back
 *	tcp		the same over TCP, by the loopback device; with an ADDRESS, to
 *			a process whose socket is in the namespace NETNS
 *	crc32, digest_null	the kernel's (AF_ALG); the difference is the checksum
 *
 * Prints "OPERATION,SIZE,MIN,MEDIAN" as verbs_cost does.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cost.h"

#define ANSWER 8

static char *buf[2];
static uint32_t size;
static int file, hash;
/* our end of a connection: what is read from, and written to */
static int in, out;
static const char *address, *netns;

static void one_syscall(void)
{
	syscall(SYS_getppid);
}

static void one_memcpy(void)
{
	memcpy(buf[0], buf[1], size);
}

static void one_vmread(void)
{
	struct iovec to = { buf[0], size }, from = { buf[1], size };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)size)
		die("process_vm_readv");
}

static void one_pread(void)
{
	if (pread(file, buf[0], size, 0) != (ssize_t)size)
		die("pread");
}

static void one_hash(void)
{
	if (send(hash, buf[0], size, MSG_MORE) != (ssize_t)size)
		die("AF_ALG");
}

/* Return: whether all of it was moved */
static int move(int fd, int writing, char *at, uint32_t length)
{
	uint32_t done = 0;
	ssize_t n;

	while (done < length) {
		n = writing ? write(fd, at + done, length - done) :
			      read(fd, at + done, length - done);
		if (n <= 0)
			return 0;
		done += n;
	}
	return 1;
}

static void one_talk(void)
{
	if (!move(out, 1, buf[0], size) || !move(in, 0, buf[1], ANSWER))
		die("talk");
}

/* The other process: reads what comes, answers. */
static void start_echo(int from, int to)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (move(from, 0, buf[0], size) && move(to, 1, buf[1], ANSWER))
		;
	_exit(0);
}

static void open_pipe(void)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		die("pipe");
	start_echo(there[0], back[1]);
	in = back[0];
	out = there[1];
}

static void open_unix(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	start_echo(pair[1], pair[1]);
	in = pair[0];
	out = pair[0];
}

static void enter(int ns)
{
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die("namespace");
}

/* A socket is of the namespace in which it was made. */
static int listen_there(struct sockaddr_in *addr)
{
	int here = open("/proc/self/ns/net", O_RDONLY), listener;
	socklen_t length = sizeof(*addr);
	char path[256];

	if (netns) {
		snprintf(path, sizeof(path), "/run/netns/%s", netns);
		enter(open(path, O_RDONLY));
	}
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)addr, length) || listen(listener, 1) ||
	    getsockname(listener, (void *)addr, &length))
		die("tcp");
	if (netns)
		enter(here);
	close(here);
	return listener;
}

static void open_tcp(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int listener, peer, one = 1;

	if (inet_pton(AF_INET, address ? address : "127.0.0.1", &addr.sin_addr) != 1)
		die(address);
	listener = listen_there(&addr);
	in = socket(AF_INET, SOCK_STREAM, 0);
	out = in;
	if (connect(in, (void *)&addr, sizeof(addr)))
		die("tcp");
	peer = accept(listener, NULL, NULL);
	if (peer < 0)
		die("tcp");
	setsockopt(in, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	start_echo(peer, peer);
}

static void open_file(void)
{
	file = memfd_create("bench", 0);
	if (file < 0 || !move(file, 1, buf[1], size))
		die("memfd");
}

static void open_hash(const char *name)
{
	static const unsigned char key[4]; /* what a CRC begins with */
	struct sockaddr_alg addr = { .salg_family = AF_ALG, .salg_type = "hash" };
	int s = socket(AF_ALG, SOCK_SEQPACKET, 0);

	strncpy((char *)addr.salg_name, name, sizeof(addr.salg_name) - 1);
	if (s < 0 || bind(s, (void *)&addr, sizeof(addr)))
		die(name);
	if (setsockopt(s, SOL_ALG, ALG_SET_KEY, key, sizeof(key)))
		die(name);
	hash = accept(s, NULL, NULL);
	if (hash < 0)
		die(name);
}

static void open_crc32(void)
{
	open_hash("crc32");
}

static void open_null(void)
{
	open_hash("digest_null");
}

static const struct operation {
	const char *name;
	void (*open)(void), (*one)(void);
} operations[] = {
	{ "syscall", NULL, one_syscall },
	{ "memcpy", NULL, one_memcpy },
	{ "vmread", NULL, one_vmread },
	{ "pread", open_file, one_pread },
	{ "pipe", open_pipe, one_talk },
	{ "unix", open_unix, one_talk },
	{ "tcp", open_tcp, one_talk },
	{ "crc32", open_crc32, one_hash },
	{ "digest_null", open_null, one_hash },
};

static void get_memory(void)
{
	size_t length = size < 4096 ? 4096 : size;
	int i;

	for (i = 0; i < 2; i++) {
		if (posix_memalign((void **)&buf[i], 2 << 20, length))
			die("memory");
		memset(buf[i], 1, length);
	}
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc != 4 && argc != 6) {
		fprintf(stderr, "usage: host_cost OPERATION SIZE ITERATIONS [ADDRESS NETNS]\n");
		return 2;
	}
	size = atoi(argv[2]);
	address = argc == 6 ? argv[4] : NULL;
	netns = argc == 6 ? argv[5] : NULL;
	get_memory();
	for (i = 0; i < ARRAY_SIZE(operations); i++) {
		if (strcmp(argv[1], operations[i].name))
			continue;
		if (operations[i].open)
			operations[i].open();
		measure(argv[1], size, atoi(argv[3]), NULL, operations[i].one);
		return 0;
	}
	fprintf(stderr, "host_cost: no operation '%s'\n", argv[1]);
	return 2;
}
