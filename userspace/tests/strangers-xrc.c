// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packets of strangers for both ends of an extended reliable connection. */
#include "strangers.h"

#include "xrc.h"

#define LENGTH		100

static struct sink sink;

static enum ibv_qp_state state_of_qp(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	SAME(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static void check_untouched(void)
{
	expect_no_wc_now(sink.cq);
	check_zero(sink.buf, BUF);
	SAME(state_of_qp(tgt), IBV_QPS_RTS);
}

static struct victim target(uint32_t psn)
{
	return (struct victim){
		.service = SERVICE_XRC, .qpn = tgt->qp_num, .psn = psn, .srqn = sink.num,
	};
}

void xrc_of_this_host(void)
{
	struct victim victim;
	int i;

	make_connected();
	make_sink(&sink, xrcd);
	sink_post(&sink, 1, 0, LENGTH);
	for (i = 0; i < num_ways_here; i++) {
		victim = target(PSN_INI);
		forged_here(&victim, &ways_here[i]);
		victim.qpn = ini->qp_num;
		victim.psn = PSN_TGT;
		forged_here(&victim, &ways_here[i]);
		check_untouched();
		SAME(state_of_qp(ini), IBV_QPS_RTS);
	}
	expect_no_event();
	send_to(sink.num, IBV_WR_SEND, 0, LENGTH, 2);
	expect_ok(scq, 2);
	expect_received(&sink, 1, LENGTH, 0);
}

/* A target whose initiator does not exist, and the SRQ. */
static void make_peerless(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 0x123456,
		.rq_psn = PEER_PSN, .min_rnr_timer = 12, .max_dest_rd_atomic = 4,
	};

	xrcd = open_domain(NULL, O_CREAT);
	tgt = make_target();
	set_init(tgt);
	av_to_nobody(&attr.ah_attr, false);
	SAME(ibv_modify_qp(tgt, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			   IBV_QP_MIN_RNR_TIMER), 0);
	set_rts(tgt, PSN_TGT, 0);
	make_sink(&sink, xrcd);
}

void xrc_elsewhere(void)
{
	struct victim victim;
	int i;

	make_peerless();
	sink_post(&sink, 1, 0, LENGTH);
	for (i = 0; i < num_ways_elsewhere; i++) {
		victim = target(PEER_PSN);
		forged_elsewhere(&victim, &ways_elsewhere[i]);
		check_untouched();
	}
	expect_no_event();
}

static void post_held(int i, size_t off, uint32_t length)
{
	sink_post(&sink, i, off, length);
}

void xrc_queue(void)
{
	struct queue queue = { .post = post_held };

	make_peerless();
	SAME(ibv_dereg_mr(sink.mr), 0);
	sink.buf = queue.held = held_memory();
	sink.mr = ibv_reg_mr(sink.pd, sink.buf, HELD, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(sink.mr);
	queue.cq = sink.cq;
	queue.victim = target(PEER_PSN);
	queue_is_not_filled(&queue, false);
	SAME(state_of_qp(tgt), IBV_QPS_RTS);
}
