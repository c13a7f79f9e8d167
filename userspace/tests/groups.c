// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QP in multicast groups.
 *
 *	groups 4|6 LAST [FIRST]		from FIRST (0) on, before LAST
 *
 * It says "attached" when it is in all, and leaves them when it reads a line.
 */
#include "lib.h"

#include <arpa/inet.h>

static union ibv_gid group(int family, int i)
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

int main(int argc, char **argv)
{
	int family, last, first, i;
	union ibv_gid gid;
	struct end e;
	char line[64];

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	family = atoi(argv[1]);
	last = atoi(argv[2]);
	first = argc > 3 ? atoi(argv[3]) : 0;
	open_device();
	make(&e, CONF(.type = IBV_QPT_UD));
	to_ready(&e);
	for (i = first; i < last; i++) {
		note("group %d", i);
		gid = group(family, i);
		SAME(ibv_attach_mcast(e.qp, &gid, 0), 0);
	}
	printf("attached\n");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (i = first; i < last; i++) {
		note("group %d", i);
		gid = group(family, i);
		SAME(ibv_detach_mcast(e.qp, &gid, 0), 0);
	}
	note(NULL);
	unmake(&e);
	printf("detached\n");
	return 0;
}
