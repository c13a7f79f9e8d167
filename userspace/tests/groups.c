// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QP in multicast groups.
 *
 *	groups 4|6 LAST [FIRST]		from FIRST (0) on, before LAST
 *
 * It says "attached" when it is in all. Then it does what it reads, and says when it has:
 *
 *	send		a datagram to each
 *	receive		one, from any
 *	detach		leave them, and end
 */
#include "lib.h"

#include <arpa/inet.h>

#define RECEIVES	8
#define LENGTH		100

static struct end e;
static int family, first, last;

static union ibv_gid group(int i)
{
	union ibv_gid gid = {};
	char text[64];

	if (family == 4) {
		memset(gid.raw + 10, 0xff, 2);
		snprintf(text, sizeof(text), "239.7.%d.%d", i / 250, 1 + i % 250);
		CHECK(inet_pton(AF_INET, text, gid.raw + 12) == 1);
	} else {
		snprintf(text, sizeof(text), "ff1e::7:%x", 1 + i);
		CHECK(inet_pton(AF_INET6, text, gid.raw) == 1);
	}
	return gid;
}

static void attach(void)
{
	union ibv_gid gid;
	int i;

	for (i = first; i < last; i++) {
		note("group %d", i);
		gid = group(i);
		SAME(ibv_attach_mcast(e.qp, &gid, 0), 0);
	}
	note(NULL);
}

static void detach(void)
{
	union ibv_gid gid;
	int i;

	for (i = first; i < last; i++) {
		note("group %d", i);
		gid = group(i);
		SAME(ibv_detach_mcast(e.qp, &gid, 0), 0);
	}
	note(NULL);
}

static void post_receive(uint64_t id)
{
	post_recv(&e, id, 4096 + 1024 * id, 1024);
}

static void receive_one(void)
{
	static uint64_t id;

	SAME(expect_ok(e.rcq, id).byte_len, 40 + LENGTH);
	post_receive(id);
	id = (id + 1) % RECEIVES;
}

static void send_to(int i)
{
	int gid = family == 4 ? gid4 : gid6;
	struct ibv_send_wr *wr;
	struct ibv_ah_attr av;
	struct ibv_ah *ah;

	CHECK(gid >= 0);
	av_to(&av, gid, gid);
	av.grh.dgid = group(i);
	ah = ibv_create_ah(pd, &av);
	CHECK(ah);
	wr = to_ah(swr(&e, i, IBV_WR_SEND, 0, LENGTH), ah, &e);
	wr->wr.ud.remote_qpn = 0xffffff;
	post(&e, wr);
	expect_ok(e.scq, i);
	SAME(ibv_destroy_ah(ah), 0);
}

static void send_to_each(void)
{
	int i;

	for (i = first; i < last; i++)
		send_to(i);
}

/* what it reads, until that is "detach"; false: nobody says anything any more */
static bool obey(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "detach\n"))
			return true;
		if (!strcmp(line, "send\n"))
			send_to_each();
		else if (!strcmp(line, "receive\n"))
			receive_one();
		else
			FAIL("what is %s", line);
		printf("done: %s", line);
	}
	return false;
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	family = atoi(argv[1]);
	last = atoi(argv[2]);
	first = argc > 3 ? atoi(argv[3]) : 0;
	open_device();
	make(&e, CONF(.type = IBV_QPT_UD));
	to_ready(&e);
	for (i = 0; i < RECEIVES; i++)
		post_receive(i);
	attach();
	printf("attached\n");
	if (!obey())
		return 1;
	detach();
	unmake(&e);
	printf("detached\n");
	return 0;
}
