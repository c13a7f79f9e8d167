/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A program that runs at both ends, with devices of any driver and on any hosts: what
 * one tells the other, by TCP.
 */
#ifndef TESTS_PEER_H
#define TESTS_PEER_H

#include "lib.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

static int sock;

static void tell(const void *p, size_t size)
{
	if (send(sock, p, size, MSG_NOSIGNAL) != (ssize_t)size)
		FAIL("the peer is gone: %s", strerror(errno));
}

static void hear(void *p, size_t size)
{
	size_t done;
	ssize_t num;

	for (done = 0; done < size; done += num) {
		/* interrupted as well when the host is suspended */
		do
			num = recv(sock, (char *)p + done, size - done, MSG_WAITALL);
		while (num < 0 && errno == EINTR);
		if (num <= 0)
			FAIL("the peer is gone, or late: %zd (%s)", num, strerror(errno));
	}
}

/* Without @address the other one comes here. It has so many @seconds for an answer. */
static void meet_peer(const char *address, const char *tcp_port, int seconds)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_family = AF_INET };
	struct timeval limit = { .tv_sec = seconds };
	struct addrinfo *info;
	int fd, one = 1;

	if (!address)
		hints.ai_flags = AI_PASSIVE;
	CHECK(!getaddrinfo(address, tcp_port, &hints, &info));
	fd = socket(info->ai_family, SOCK_STREAM, 0);
	CHECK(fd >= 0);
	if (address) {
		CHECK(!connect(fd, info->ai_addr, info->ai_addrlen));
		sock = fd;
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		CHECK(!bind(fd, info->ai_addr, info->ai_addrlen));
		CHECK(!listen(fd, 1));
		sock = accept(fd, NULL, NULL);
		CHECK(sock >= 0);
		close(fd);
	}
	freeaddrinfo(info);
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static inline bool is_other_driver(void)
{
	return !strncmp(ibv_get_device_name(ctx->device), "rxe", 3);
}

/* of programs that have no others: [-d NAME] [-g INDEX] [-p PORT] [ADDRESS] */
struct peer_options {
	const char *address, *tcp_port;
	int gid;
};

static inline struct peer_options peer_options(int argc, char **argv)
{
	struct peer_options opt = { .tcp_port = "18520" };
	int c;

	while ((c = getopt(argc, argv, "d:g:p:")) != -1) {
		switch (c) {
		case 'd':
			setenv("WEFT_DEVICE", optarg, 1);
			break;
		case 'g':
			opt.gid = atoi(optarg);
			break;
		case 'p':
			opt.tcp_port = optarg;
			break;
		default:
			exit(2);
		}
	}
	opt.address = argv[optind];
	return opt;
}

/* a QP that was made with the index of a GID, with the peer's, in a path MTU of 1024 */
static inline void join_peer(struct end *e, uint32_t qpn, uint32_t psn, union ibv_gid gid)
{
	struct ibv_qp_attr attr = step_attr(e, NULL, IBV_QPS_RTR);

	to_init(e);
	attr.dest_qp_num = qpn;
	attr.rq_psn = psn;
	attr.path_mtu = IBV_MTU_1024;
	av_to(&attr.ah_attr, e->conf.gid, e->conf.gid);
	attr.ah_attr.grh.dgid = gid;
	SAME(ibv_modify_qp(e->qp, &attr, step_mask(e, IBV_QPS_RTR)), 0);
	to_rts(e);
}

/* the other one has got as far */
static inline void meet_again(void)
{
	char ready = 0;

	tell(&ready, 1);
	hear(&ready, 1);
}

#endif /* TESTS_PEER_H */
