// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * With or without packets: that is chosen when a path is set, whatever is chosen later.
 */
#include "lib.h"

static struct end a, b;
static bool forced;		/* how the device was found */

static const union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 4, 1 } };

static struct ibv_ah *ah_made(bool with_packets, bool multicast)
{
	struct ibv_ah_attr av;
	struct ibv_ah *ah;

	force_packets(with_packets);
	av_to(&av, gid4, gid4);
	if (multicast)
		av.grh.dgid = group;
	ah = ibv_create_ah(pd, &av);
	CHECK(ah);
	return ah;
}

static void make_ud(void)
{
	int i;

	forced = packets_forced();
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	for (i = 0; i < 8; i++)
		post_recv(&b, i, 0, 200);
}

/* Return: how often it has come */
static int send_by(struct ibv_ah *ah, uint32_t qpn)
{
	struct ibv_send_wr *wr = to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), ah, &b);
	uint64_t end = now_ns() + 2000000000ULL;
	struct ibv_wc wc;
	int num = 0;

	wr->wr.ud.remote_qpn = qpn;
	post(&a, wr);
	expect_ok(a.scq, 1);
	while (now_ns() < end) {
		if (!ibv_poll_cq(b.rcq, 1, &wc)) {
			sleep_ms(1);
			continue;
		}
		/* another one would be there soon */
		if (!num++)
			end = now_ns() + 300000000ULL;
	}
	return num;
}

static uint64_t sent_packets(void)
{
	sleep_ms(20);
	return counter("tx_packets");
}

static void unicast(void)
{
	struct ibv_ah *local, *wire;
	uint64_t before;
	int num;

	make_ud();
	local = ah_made(false, false);
	wire = ah_made(true, false);
	before = sent_packets();
	num = send_by(local, b.qp->qp_num);
	force_packets(false);
	SAME(num, 1);
	SAME(sent_packets(), before);
	num = send_by(wire, b.qp->qp_num);
	force_packets(forced);
	SAME(num, 1);
	SAME(sent_packets(), before + 1);
}

/* It goes out either way; to this host once. */
static void multicast(void)
{
	struct ibv_ah *local, *wire;
	uint64_t before;
	int num;

	make_ud();
	SAME(ibv_attach_mcast(b.qp, &group, 0), 0);
	local = ah_made(false, true);
	wire = ah_made(true, true);
	before = sent_packets();
	num = send_by(local, 0xffffff);
	force_packets(false);
	SAME(num, 1);
	num = send_by(wire, 0xffffff);
	force_packets(forced);
	SAME(num, 1);
	SAME(sent_packets(), before + 2);
}

TESTS(
	TEST(unicast), TEST(multicast)
)
