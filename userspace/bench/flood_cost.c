// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flood_cost - what a datagram costs that nobody wants, beside one of UDP
 *
 * usage: flood_cost KIND SIZE ITERATIONS ADDRESS NETNS
 *
 *	udp	to a socket of UDP whose buffer is full
 *	noise	to RoCE's port: no packet of RoCE, as its version is another one
 *	qpn	a SEND to a QP that there is not
 *	icrc	one to QP 1, whose ICRC is wrong
 *
 * The sender is in the namespace NETNS, the receiver in that of whoever calls this. SIZE is
 * that of the payload of UDP. Prints "KIND,SIZE,MIN,MEDIAN" as verbs_cost does: to send it,
 * with all that follows at the receiver.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cost.h"

#define ROCE_PORT	4791

/* a BTH, and the opcodes of the SENDs that fit in a packet (IBA 9.2) */
#define BTH		12
#define RC_SEND_ONLY	0x04
#define UD_SEND_ONLY	0x64
#define NO_QPN		0x765432

static unsigned char packet[65000];
static uint32_t size;
static int sender;

static void one_datagram(void)
{
	if (send(sender, packet, size, 0) != (ssize_t)size)
		die("send");
}

static void set_bth(unsigned char opcode, uint32_t qpn)
{
	packet[0] = opcode;
	packet[2] = 0xff; /* the default P_Key */
	packet[3] = 0xff;
	packet[5] = qpn >> 16;
	packet[6] = qpn >> 8;
	packet[7] = qpn;
}

/* Return: the port of a socket that takes no more than it has */
static int full_socket(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int least = 1, fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t length = sizeof(addr);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) ||
	    bind(fd, (void *)&addr, length) || getsockname(fd, (void *)&addr, &length))
		die("socket");
	return ntohs(addr.sin_port);
}

static int port_of(const char *kind)
{
	if (!strcmp(kind, "udp"))
		return full_socket();
	if (!strcmp(kind, "noise"))
		packet[1] = 0x0f;
	else if (!strcmp(kind, "qpn"))
		set_bth(RC_SEND_ONLY, NO_QPN);
	else if (!strcmp(kind, "icrc"))
		set_bth(UD_SEND_ONLY, 1);
	else
		die(kind);
	return ROCE_PORT;
}

static void open_sender(const char *address, const char *netns, int port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	char path[256];

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	if (setns(open(path, O_RDONLY), CLONE_NEWNET))
		die(netns);
	if (inet_pton(AF_INET, address, &addr.sin_addr) != 1)
		die(address);
	sender = socket(AF_INET, SOCK_DGRAM, 0);
	if (sender < 0 || connect(sender, (void *)&addr, sizeof(addr)))
		die("connect");
}

int main(int argc, char **argv)
{
	int i;

	if (argc != 6) {
		fprintf(stderr, "usage: flood_cost KIND SIZE ITERATIONS ADDRESS NETNS\n");
		return 2;
	}
	size = atoi(argv[2]);
	if (size < BTH || size > sizeof(packet))
		die("SIZE");
	open_sender(argv[4], argv[5], port_of(argv[1]));
	/* until the buffer is full, and caches are warm */
	for (i = 0; i < 100; i++)
		one_datagram();
	measure(argv[1], size, atoi(argv[3]), NULL, one_datagram);
	return 0;
}
