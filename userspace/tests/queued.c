// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams for a UD QP whose first one waits for memory: with the wrong Q_Key they do not wait
 * behind it, and are dropped and counted at once, with or without a GRH.
 */
#include "lib.h"

#define GRH	40
#define LENGTH	100
#define GOOD	9
/* more than the queue holds */
#define BAD	1500

static struct end a, b;

static void send_to(struct ibv_ah *ah, uint64_t id, uint32_t qkey)
{
	struct ibv_send_wr *wr = to_ah(swr(&a, id, IBV_WR_SEND, 0, LENGTH), ah, &b);

	wr->wr.ud.remote_qkey = qkey;
	post(&a, wr);
	expect_ok(a.scq, id);
}

static void wrong_qkeys(bool grh)
{
	uint64_t before = counter("ud_dropped_qkey");
	struct ibv_port_attr old, now;
	struct ibv_ah_attr av;
	struct ibv_ah *ah;
	uint8_t *held;
	int fd, i;

	note("GRH %d", grh);
	force_packets(true);
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	av_to(&av, gid4, gid4);
	av.is_global = grh;
	av.dlid = port.lid;
	ah = ibv_create_ah(pd, &av);
	CHECK(ah);
	held = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(held != MAP_FAILED);
	fd = uffd_hold(held, BUF);
	SAME(ibv_dereg_mr(b.mr), 0);
	b.mr = ibv_reg_mr(pd, held, BUF, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(b.mr);
	munmap(b.buf, BUF);
	b.buf = held;
	for (i = 0; i < GOOD; i++)
		post_recv(&b, i, i * (GRH + LENGTH), GRH + LENGTH);
	SAME(ibv_query_port(ctx, 1, &old), 0);
	send_to(ah, 1, QKEY);
	sleep_ms(100);
	expect_no_wc_now(b.rcq);
	for (i = 0; i < BAD; i++)
		send_to(ah, 2, QKEY + 1);
	for (i = 0; i < WAIT_MS && counter("ud_dropped_qkey") < before + BAD; i += 20)
		sleep_ms(20);
	SAME(counter("ud_dropped_qkey"), before + BAD);
	SAME(ibv_query_port(ctx, 1, &now), 0);
	CHECK(now.qkey_viol_cntr > old.qkey_viol_cntr);
	for (i = 1; i < GOOD; i++)
		send_to(ah, 3, QKEY);
	sleep_ms(100);
	uffd_answer(fd, held, BUF);
	for (i = 0; i < GOOD; i++)
		SAME(expect_ok(b.rcq, i).byte_len, GRH + LENGTH);
	SAME(ibv_destroy_ah(ah), 0);
	unmake(&a);
	unmake(&b);
}

static void wrong_qkeys_wait_not(void)
{
	wrong_qkeys(true);
	wrong_qkeys(false);
}

TESTS(TEST(wrong_qkeys_wait_not))
