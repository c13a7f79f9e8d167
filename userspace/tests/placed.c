// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two devices, of any driver and on any hosts, with the memory placement extensions (IBA
 * annex A19): what one writes and FLUSHes is there when its ATOMIC WRITE is.
 *
 *	placed [-d NAME] [-g INDEX] [-p PORT] [ADDRESS]
 *
 * Without ADDRESS it waits for the other one.
 *
 * With rdma_rxe there is no FLUSH: its ICRC of one is of the headers twice.
 */
#include "peer.h"

#define SECONDS		60		/* for whatever the peer has to do */
#define ROUNDS		20
#define DATA		4096		/* behind the word */
#define LONGEST		(BUF / 2)
#define OPS		(IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE |	\
			 IBV_QP_EX_WITH_RDMA_WRITE)

/* device_cap_flags_ex */
#define CAP_FLUSH_GLOBAL	(1ULL << 38)
#define CAP_ATOMIC_WRITE	(1ULL << 40)

/* what one side tells the other before each connection */
struct hello {
	uint32_t qpn, psn, rkey;
	bool flushes, writes;
	uint64_t addr;
	union ibv_gid gid;
};

static struct peer_options opt;
static struct end e;
static struct ibv_mr *mr;		/* can be flushed */
static struct hello us, them;

static void look_at_device(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	us.flushes = attr.device_cap_flags_ex & CAP_FLUSH_GLOBAL && !is_other_driver();
	us.writes = attr.device_cap_flags_ex & CAP_ATOMIC_WRITE;
}

static bool both_flush(void)
{
	return us.flushes && them.flushes;
}

static void begin(void)
{
	int access = ACCESS_ALL | (us.flushes ? IBV_ACCESS_FLUSH_GLOBAL : 0);

	make(&e, CONF(.ex = true, .ops = OPS, .access = access, .gid = opt.gid));
	mr = ibv_reg_mr(pd, e.buf, BUF, access);
	CHECK(mr);
	us.qpn = e.qp->qp_num;
	us.psn = e.psn;
	us.rkey = mr->rkey;
	us.addr = (uintptr_t)e.buf;
	SAME(ibv_query_gid(ctx, 1, opt.gid, &us.gid), 0);
	tell(&us, sizeof(us));
	hear(&them, sizeof(them));
	join_peer(&e, them.qpn, them.psn, them.gid);
	meet_again();
}

static void end(void)
{
	meet_again();
	SAME(ibv_dereg_mr(mr), 0);
	unmake(&e);
}

/*
 * ---- What is there when ----
 */

static uint32_t length_of(int round)
{
	static const uint32_t lengths[] = { 1, 1023, 1024, 1025, 4096, LONGEST };

	return lengths[round % ARRAY_SIZE(lengths)];
}

static void post_write(uint64_t id, uint32_t length)
{
	struct ibv_qp_ex *qp = wr_start(&e, id);

	ibv_wr_rdma_write(qp, them.rkey, them.addr + DATA);
	ibv_wr_set_sge(qp, mr->lkey, (uintptr_t)e.buf + DATA, length);
	SAME(ibv_wr_complete(qp), 0);
}

static void post_flush(uint64_t id, uint32_t rkey, uint32_t length, uint8_t level)
{
	struct ibv_qp_ex *qp = wr_start(&e, id);

	ibv_wr_flush(qp, rkey, them.addr + DATA, length, IBV_FLUSH_GLOBAL, level);
	SAME(ibv_wr_complete(qp), 0);
}

static void post_word(uint64_t id, uint32_t rkey, uint64_t value)
{
	struct ibv_qp_ex *qp = wr_start(&e, id);

	ibv_wr_atomic_write(qp, rkey, them.addr, &value);
	SAME(ibv_wr_complete(qp), 0);
}

static void place(void)
{
	int round;

	for (round = 0; round < ROUNDS; round++) {
		note("round %d, the requester", round);
		fill(e.buf + DATA, length_of(round), round);
		post_write(1, length_of(round));
		if (both_flush())
			post_flush(2, them.rkey, length_of(round),
				   round % 2 ? IBV_FLUSH_MR : IBV_FLUSH_RANGE);
		post_word(3, them.rkey, round + 1);
		expect_wc(e.scq, 1, IBV_WC_SUCCESS);
		if (both_flush())
			SAME(expect_wc(e.scq, 2, IBV_WC_SUCCESS).opcode, IBV_WC_FLUSH);
		SAME(expect_wc(e.scq, 3, IBV_WC_SUCCESS).opcode, IBV_WC_ATOMIC_WRITE);
		meet_again();
	}
}

static void find(void)
{
	uint64_t last = now_ns() + SECONDS * 1000000000ULL;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		note("round %d, the responder", round);
		while (__atomic_load_n((uint64_t *)e.buf, __ATOMIC_ACQUIRE) != round + 1)
			if (now_ns() > last)
				FAIL("the word does not come");
		check_filled(e.buf + DATA, length_of(round), round);
		meet_again();
	}
}

/*
 * ---- What is refused ----
 */

static void expect_refused(void)
{
	struct ibv_wc wc = next_wc(e.scq); /* of rdma_rxe without a vendor_err */

	SAME(wc.wr_id, 1);
	SAME(wc.status, IBV_WC_REM_ACCESS_ERR);
	expect_state(&e, IBV_QPS_ERR);
	meet_again();
}

static void flush_without_key(void)
{
	note("FLUSH, rkey");
	post_flush(1, them.rkey ^ 1, 100, IBV_FLUSH_RANGE);
	expect_refused();
}

static void write_without_key(void)
{
	note("ATOMIC WRITE, rkey");
	post_word(1, them.rkey ^ 1, 1);
	expect_refused();
}

static void stays_zero(void)
{
	meet_again();
	check_zero(e.buf, BUF);
}

/*
 * ---- Program ----
 */

static void run(void (*requester)(void), void (*responder)(void), bool requests)
{
	begin();
	if (requests)
		requester();
	else
		responder();
	note(NULL);
	end();
}

int main(int argc, char **argv)
{
	int side;

	setvbuf(stdout, NULL, _IOLBF, 0);
	opt = peer_options(argc, argv);
	open_device();
	meet_peer(opt.address, opt.tcp_port, SECONDS);
	look_at_device();
	tell(&us, sizeof(us));
	hear(&them, sizeof(them));
	if (!us.writes || !them.writes) {
		printf("%s cannot\n", us.writes ? "the peer" : "this device");
		return 0;
	}
	/* the server requests first */
	for (side = 0; side < 2; side++) {
		run(place, find, side == !!opt.address);
		if (both_flush())
			run(flush_without_key, stays_zero, side == !!opt.address);
		run(write_without_key, stays_zero, side == !!opt.address);
	}
	printf("%d rounds each%s, all as it has to be\n", ROUNDS,
	       both_flush() ? ", flushed" : "");
	return 0;
}
