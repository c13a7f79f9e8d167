/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * QPs of each type in each state, for packets that nobody should send, and the memory
 * that they have, and that they do not have.
 */
#ifndef TESTS_VICTIMS_H
#define TESTS_VICTIMS_H

#include "packet.h"


/*
 * ---- Memory ----
 *
 * One mapping: what the peer may use, what it may only read, what is of another
 * protection domain, receives; and canaries around each.
 */

#define REGION		16384
#define GUARD		4096
#define RECV_BUFFER	1536
#define RECV_GUARD	64
#define RECVS		8
#define MAX_VICTIMS	80
#define OF_SRQ		(MAX_VICTIMS - 1)	/* whose receives are the SRQ's */
#define RECV_AREA	(MAX_VICTIMS * RECVS * (RECV_BUFFER + RECV_GUARD))

enum { OPEN, READ_ONLY, OTHER_PD, RECEIVES, NUM_REGIONS };

static uint8_t *arena;
static struct ibv_mr *mr[NUM_REGIONS];
static struct ibv_pd *other_pd;
static int open_access;		/* of OPEN, and of the victims */

static uint8_t *region(int i)
{
	return arena + GUARD + i * (REGION + GUARD);
}

static uint8_t *receive(int victim, int slot)
{
	return region(RECEIVES) + (victim * RECVS + slot) * (RECV_BUFFER + RECV_GUARD);
}

/* what no packet may write */
static void each_canary(void (*see_to)(const void *p, size_t length, int seed))
{
	int i;

	for (i = 0; i < NUM_REGIONS; i++)
		see_to(region(i) - GUARD, GUARD, i);
	see_to(region(OPEN), 8, 100);
	see_to(region(OPEN) + REGION - 16, 16, 101);
	see_to(region(READ_ONLY), REGION, 102);
	see_to(region(OTHER_PD), REGION, 103);
	for (i = 0; i < MAX_VICTIMS * RECVS; i++)
		see_to(receive(0, i) + RECV_BUFFER, RECV_GUARD, i);
}

static void set_canary(const void *p, size_t length, int seed)
{
	fill((void *)p, length, seed);
}

static void make_arena(void)
{
	int i;

	arena = memory(NUM_REGIONS * (REGION + GUARD) + GUARD + RECV_AREA);
	other_pd = ibv_alloc_pd(ctx);
	CHECK(other_pd);
	/* not quite to the ends, which are no ends of pages then */
	open_access = ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL;
	mr[OPEN] = ibv_reg_mr(pd, region(OPEN) + 8, REGION - 24, open_access);
	if (!mr[OPEN]) { /* no FLUSH, then */
		open_access = ACCESS_ALL;
		mr[OPEN] = ibv_reg_mr(pd, region(OPEN) + 8, REGION - 24, open_access);
	}
	mr[READ_ONLY] = ibv_reg_mr(pd, region(READ_ONLY), REGION, IBV_ACCESS_REMOTE_READ);
	mr[OTHER_PD] = ibv_reg_mr(other_pd, region(OTHER_PD), REGION, ACCESS_ALL);
	mr[RECEIVES] = ibv_reg_mr(pd, region(RECEIVES), RECV_AREA, IBV_ACCESS_LOCAL_WRITE);
	for (i = 0; i < NUM_REGIONS; i++)
		CHECK(mr[i]);
	each_canary(set_canary);
}

static void check_arena(void)
{
	note("canaries");
	each_canary(check_filled);
	note(NULL);
}

/*
 * ---- Victims ----
 */

struct victim {
	struct end e;
	enum ibv_qp_state state;
	enum ibv_wr_opcode pending;	/* requests without an answer */
	bool is_pending, v6;
	bool touched;			/* is not what it was */
	bool member;			/* of the group, as the only one */
	uint32_t rq_psn;
};

static struct victim victims[MAX_VICTIMS];
static int num_victims;
static struct ibv_cq *scq, *rcq;
static struct ibv_xrcd *xrcd;
static struct ibv_srq *srq;		/* of all XRC targets */
static uint32_t srq_num;

static bool is_xrc(const struct victim *v)
{
	return v->e.conf.type == IBV_QPT_XRC_SEND || v->e.conf.type == IBV_QPT_XRC_RECV;
}

/* a receive by its number, of a victim or the SRQ */
static int give_receive(uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)receive(id >> 8, id & 0xff), RECV_BUFFER,
			       mr[RECEIVES]->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (id >> 8 == OF_SRQ)
		return ibv_post_srq_recv(srq, &wr, &bad);
	return ibv_post_recv(victims[id >> 8].e.qp, &wr, &bad);
}

static void give_receives(int index)
{
	int i;

	for (i = 0; i < RECVS; i++)
		SAME(give_receive(index << 8 | i), 0);
}

static void victim_to_rtr(struct victim *v)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.min_rnr_timer = 12,
		.max_dest_rd_atomic = 4,
		.dest_qp_num = PEER_QPN,
		.rq_psn = v->rq_psn,
		.ah_attr.is_global = 1,
		.ah_attr.port_num = 1,
		.ah_attr.grh.sgid_index = v->v6 ? gid6 : gid4,
		.ah_attr.grh.hop_limit = 64,
	};
	int mask = IBV_QP_STATE;

	if (v->e.conf.type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (v->e.conf.type == IBV_QPT_RC || v->e.conf.type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (v->v6) {
		memcpy(attr.ah_attr.grh.dgid.raw, &from6, 16);
	} else {
		memset(attr.ah_attr.grh.dgid.raw + 10, 0xff, 2);
		memcpy(attr.ah_attr.grh.dgid.raw + 12, &from4, 4);
	}
	SAME(ibv_modify_qp(v->e.qp, &attr, mask), 0);
}

static void victim_to_rts(struct victim *v)
{
	struct ibv_qp_attr attr = step_attr(&v->e, NULL, IBV_QPS_RTS);
	int mask = step_mask(&v->e, IBV_QPS_RTS);

	if (is_xrc(v))
		mask |= IBV_QP_TIMEOUT;
	if (v->e.conf.type == IBV_QPT_XRC_SEND)
		mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	SAME(ibv_modify_qp(v->e.qp, &attr, mask), 0);
}

static void post_pending(struct victim *v)
{
	struct ibv_sge sge = { (uintptr_t)region(OPEN) + 1024, 2000, mr[OPEN]->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1000 + (v - victims), .sg_list = &sge, .num_sge = 1,
		.opcode = v->pending, .send_flags = IBV_SEND_SIGNALED,
		.qp_type.xrc.remote_srqn = srq_num,
	};
	int i;

	if (v->pending == IBV_WR_ATOMIC_FETCH_AND_ADD)
		sge.length = 8;
	if (v->state == IBV_QPS_SQE)
		sge.lkey ^= 0xffff00; /* that is what makes it one */
	if (v->e.conf.type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah_to(gid4, gid4);
		wr.wr.ud.remote_qpn = PEER_QPN;
		wr.wr.ud.remote_qkey = QKEY;
		sge.length = 100;
	}
	for (i = 0; i < (v->state == IBV_QPS_SQE ? 1 : 4); i++)
		SAME(ibv_post_send(v->e.qp, &wr, &bad), 0);
	if (v->state == IBV_QPS_SQE)
		for (i = 0; i < 1000 && state_of(&v->e) != IBV_QPS_SQE; i++)
			sleep_ms(1);
	if (v->e.conf.type == IBV_QPT_UD)
		SAME(ibv_destroy_ah(wr.wr.ud.ah), 0);
}

/* into the state that it is to be in */
static void arm(struct victim *v)
{
	note("victim %d: type %d, to state %d", (int)(v - victims), v->e.conf.type, v->state);
	to_state(&v->e, IBV_QPS_RESET);
	v->touched = false;
	v->e.psn = draw() & 0xffffff;
	v->rq_psn = draw() & 0xffffff;
	if (v->state == IBV_QPS_RESET)
		return;
	to_init(&v->e);
	if (!is_xrc(v))
		give_receives(v - victims);
	if (v->state == IBV_QPS_INIT)
		return;
	victim_to_rtr(v);
	if (v->state == IBV_QPS_RTR)
		return;
	victim_to_rts(v);
	if (v->is_pending || v->state == IBV_QPS_SQE)
		post_pending(v);
	if (v->state == IBV_QPS_SQD || v->state == IBV_QPS_ERR)
		to_state(&v->e, v->state);
	expect_state(&v->e, v->state);
	note(NULL);
}

static struct ibv_qp *victim_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = scq, .recv_cq = rcq, .qp_type = type,
		.cap = { 16, 2 * RECVS, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
	};

	if (type == IBV_QPT_XRC_SEND) {
		attr.recv_cq = NULL;
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	} else if (type == IBV_QPT_XRC_RECV) {
		attr = (struct ibv_qp_init_attr_ex){
			.qp_type = type, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
		};
	}
	return ibv_create_qp_ex(ctx, &attr);
}

static void add_victim(enum ibv_qp_type type, enum ibv_qp_state state, int pending, bool v6)
{
	struct victim *v = &victims[num_victims++];

	CHECK(num_victims < MAX_VICTIMS);
	v->e.conf = *CONF(.type = type, .access = open_access, .timeout = 0, .retry = 7);
	v->state = state;
	v->is_pending = pending >= 0;
	v->pending = pending >= 0 ? pending : IBV_WR_SEND;
	v->v6 = v6;
	v->e.qp = victim_qp(type);
	CHECK(v->e.qp);
	arm(v);
}

static void make_srq(void)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = RECVS, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = pd, .cq = rcq,
	};

	xrcd = ibv_open_xrcd(ctx, &domain);
	CHECK(xrcd);
	attr.xrcd = xrcd;
	srq = ibv_create_srq_ex(ctx, &attr);
	CHECK(srq);
	SAME(ibv_get_srq_num(srq, &srq_num), 0);
	give_receives(OF_SRQ);
}

static void add_xrc_victims(bool v6)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		add_victim(IBV_QPT_XRC_RECV, states[i], -1, v6);
	add_victim(IBV_QPT_XRC_SEND, IBV_QPS_RTS, -1, v6);
	add_victim(IBV_QPT_XRC_SEND, IBV_QPS_RTS, IBV_WR_SEND, v6);
	add_victim(IBV_QPT_XRC_SEND, IBV_QPS_RTS, IBV_WR_RDMA_READ, v6);
}

static struct victim *find(enum ibv_qp_type type, enum ibv_qp_state state, bool v6)
{
	int i;

	for (i = 0; i < num_victims; i++)
		if (victims[i].e.conf.type == type && victims[i].state == state &&
		    victims[i].v6 == v6 && !victims[i].is_pending)
			return &victims[i];
	FAIL("no such victim");
}

/* what is sent to the group counts once, as there is one member */
static union ibv_gid group_gid(bool v6)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	if (v6)
		memcpy(gid.raw, &group6, 16);
	else
		memcpy(gid.raw + 12, &group4, 4);
	return gid;
}

static void join_group(bool v6)
{
	struct victim *v = find(IBV_QPT_UD, IBV_QPS_RTS, v6);
	union ibv_gid gid = group_gid(v6);

	SAME(ibv_attach_mcast(v->e.qp, &gid, 0), 0);
	v->member = true;
}

static void make_victims(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD,
		IBV_QPS_SQE, IBV_QPS_ERR,
	};
	static const enum ibv_wr_opcode pending[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	int i, j, v6;

	scq = ibv_create_cq(ctx, 65536, NULL, NULL, 0);
	rcq = ibv_create_cq(ctx, 65536, NULL, NULL, 0);
	CHECK(scq && rcq);
	make_srq();
	for (v6 = 0; v6 < 2; v6++) {
		add_xrc_victims(v6);
		for (i = 0; i < ARRAY_SIZE(types); i++)
			for (j = 0; j < ARRAY_SIZE(states); j++)
				if (types[i] != IBV_QPT_RC || states[j] != IBV_QPS_SQE)
					add_victim(types[i], states[j], -1, v6);
		for (i = 0; i < ARRAY_SIZE(pending); i++)
			add_victim(IBV_QPT_RC, IBV_QPS_RTS, pending[i], v6);
		join_group(v6);
	}
}

/* take completions, give receives back */
static void drain(void)
{
	struct ibv_wc wc;
	int index;

	while (ibv_poll_cq(scq, 1, &wc) > 0)
		if (wc.wr_id >= 1000 && victims[wc.wr_id - 1000].is_pending)
			victims[wc.wr_id - 1000].touched = true;
	while (ibv_poll_cq(rcq, 1, &wc) > 0) {
		index = wc.wr_id >> 8;
		CHECK(index < num_victims || index == OF_SRQ);
		if (wc.status && index != OF_SRQ) {
			victims[index].touched |= victims[index].state != IBV_QPS_ERR;
			continue;
		}
		/* a WRITE with immediate data says how much it has written */
		if (!wc.status && wc.opcode == IBV_WC_RECV && wc.byte_len > RECV_BUFFER)
			FAIL("%u bytes in a receive of %d", wc.byte_len, RECV_BUFFER);
		give_receive(wc.wr_id); /* not if the QP is in RESET */
	}
}

static void repair(void)
{
	int i;

	drain();
	for (i = 0; i < num_victims; i++) {
		struct victim *v = &victims[i];

		/* now and then any: its PSN may be far from what we think */
		if (v->touched || state_of(&v->e) != v->state || one_in(4))
			arm(v);
	}
	/* who was reset may have taken one away */
	for (i = 0; i < RECVS && !give_receive(OF_SRQ << 8 | i); i++)
		;
	drain();
}

static void destroy_victims(void)
{
	union ibv_gid gid;
	int i;

	for (i = 0; i < num_victims; i++) {
		gid = group_gid(victims[i].v6);
		if (victims[i].member)
			SAME(ibv_detach_mcast(victims[i].e.qp, &gid, 0), 0);
		SAME(ibv_destroy_qp(victims[i].e.qp), 0);
	}
}

#endif /* TESTS_VICTIMS_H */
