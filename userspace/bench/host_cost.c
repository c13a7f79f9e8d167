// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * host_cost - what the host's own means cost, to compare with
 *
 * usage: host_cost
 *
 * Prints "OPERATION,SIZE,MIN,MEDIAN" as verbs_cost does, for a bare system
 * call, memcpy, and a round trip and a transfer over a TCP connection.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)

static int tcp[2];
static char *buf[2];
static uint32_t size;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void one_syscall(void)
{
	syscall(SYS_getppid);
}

static void one_memcpy(void)
{
	memcpy(buf[0], buf[1], size);
}

static void transfer(int fd, int out)
{
	uint32_t done = 0;
	ssize_t n;

	while (done < size) {
		n = out ? write(fd, buf[0], size - done) : read(fd, buf[1], size - done);
		if (n <= 0)
			die("tcp");
		done += n;
	}
}

static void one_tcp(void)
{
	transfer(tcp[0], 1);
	size = size > 8 ? 8 : size;
	transfer(tcp[0], 0);
}

/* The other end: reads what comes, answers 8 bytes. */
static void *echo(void *arg)
{
	uint32_t expected = *(uint32_t *)arg, done;
	char *to = malloc(expected);
	ssize_t n;

	for (;;) {
		for (done = 0; done < expected; done += n) {
			n = read(tcp[1], to, expected - done);
			if (n <= 0)
				return NULL;
		}
		if (write(tcp[1], to, 8) != 8)
			return NULL;
	}
}

static void connect_tcp(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	socklen_t length = sizeof(addr);

	tcp[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&addr, length) || listen(listener, 1) ||
	    getsockname(listener, (void *)&addr, &length) ||
	    connect(tcp[0], (void *)&addr, length))
		die("tcp");
	tcp[1] = accept(listener, NULL, NULL);
	close(listener);
	setsockopt(tcp[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(tcp[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure(const char *name, void (*one)(void), uint32_t bytes, int iterations)
{
	uint64_t *t = calloc(iterations, sizeof(*t)), start, cost = now();
	int i;

	cost = now() - cost;
	for (i = 0; i < iterations; i++) {
		size = bytes;
		start = now();
		one();
		t[i] = now() - start - cost;
	}
	qsort(t, iterations, sizeof(*t), compare);
	printf("%s,%u,%llu,%llu\n", name, bytes, (unsigned long long)t[0],
	       (unsigned long long)t[iterations / 2]);
	free(t);
}

static void measure_tcp(const char *name, uint32_t bytes, int iterations)
{
	pthread_t thread;

	connect_tcp();
	if (pthread_create(&thread, NULL, echo, &bytes))
		die("thread");
	measure(name, one_tcp, bytes, iterations);
	shutdown(tcp[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	close(tcp[0]);
	close(tcp[1]);
}

int main(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		buf[i] = malloc(MIB);
		memset(buf[i], 1, MIB);
	}
	measure("syscall", one_syscall, 0, 300);
	measure("memcpy", one_memcpy, 65536, 30);
	measure("memcpy", one_memcpy, MIB, 12);
	measure_tcp("tcp", 8, 300);
	measure_tcp("tcp", 65536, 30);
	measure_tcp("tcp", MIB, 12);
	return 0;
}
