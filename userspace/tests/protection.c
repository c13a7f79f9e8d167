// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys that do not allow an access, local and remote ones, of each operation of each
 * service (IBA volume 1, 9.9.2, 9.9.3 and 10.6.3): what is said to whom, and that
 * nothing else happens.
 */
#include "lib.h"

#include <rdma/weft-why.h>

#include <fcntl.h>

/* what the memory of the ends is filled with */
#define SEED_A		1
#define SEED_B		2

/* what a vendor_err of weft-why.h is more than the first of its block */
enum cause { KEY, DOMAIN, RIGHT, RANGE };

struct service {
	const char *name;
	enum ibv_qp_type type;	/* of XRC: of the sender */
	bool srq;
};

static struct end a, b;			/* who sends, and who receives */
static struct ibv_pd *other_pd;
static struct ibv_xrcd *xrcd;
static struct ibv_ah *ah;		/* of UD */
static struct ibv_srq *srq;		/* of @b, if it has one */
static uint32_t srqn;			/* of XRC */
static struct ibv_mr *spare;		/* of spoil functions */
static struct ibv_mw *window;		/* of @b, */
static struct ibv_mr *window_mr;	/* onto this */

static bool is_xrc(const struct service *service)
{
	return service->type == IBV_QPT_XRC_SEND;
}

static bool is_reliable(const struct service *service)
{
	return service->type == IBV_QPT_RC || is_xrc(service);
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_send(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_SEND_WITH_INV;
}

/*
 * ---- Two ends, connected ----
 */

static void fill_both(void)
{
	fill(a.buf, BUF, SEED_A);
	fill(b.buf, BUF, SEED_B);
}

static void check_both(void)
{
	check_filled(a.buf, BUF, SEED_A);
	check_filled(b.buf, BUF, SEED_B);
}

static void make_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 4 } };

	srq = ibv_create_srq(pd, &attr);
	CHECK(srq);
}

static void make_xrc_srq(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 4 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = b.rcq,
	};

	srq = ibv_create_srq_ex(ctx, &attr);
	CHECK(srq);
	SAME(ibv_get_srq_num(srq, &srqn), 0);
}

static void replace_qp(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	SAME(ibv_destroy_qp(e->qp), 0);
	e->qp = ibv_create_qp_ex(ctx, attr);
	CHECK(e->qp);
}

/* The core leaves out which attributes of RC a half does not have: lib.c need not know. */
static void make_xrc(void)
{
	struct ibv_qp_init_attr_ex ini = {
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
		.send_cq = a.scq,
		.cap = { .max_send_wr = 16, .max_send_sge = 4 },
	};
	struct ibv_qp_init_attr_ex tgt = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	if (!xrcd)
		xrcd = ibv_open_xrcd(ctx, &attr);
	CHECK(xrcd);
	tgt.xrcd = xrcd;
	make_xrc_srq();
	replace_qp(&a, &ini);
	replace_qp(&b, &tgt);
}

static void join(const struct service *service)
{
	if (service->type == IBV_QPT_UD) {
		to_ready(&a);
		to_ready(&b);
	} else {
		connect_ends(&a, &b);
	}
}

static void make_ends(const struct service *service)
{
	enum ibv_qp_type type = is_xrc(service) ? IBV_QPT_RC : service->type;

	if (!other_pd)
		other_pd = ibv_alloc_pd(ctx);
	CHECK(other_pd);
	if (service->srq && !is_xrc(service))
		make_srq();
	make(&a, CONF(.type = type));
	make(&b, CONF(.type = type, .srq = srq));
	if (is_xrc(service))
		make_xrc();
	ah = type == IBV_QPT_UD ? ah_to(gid4, gid4) : NULL;
	join(service);
	fill_both();
}

static void unmake_ends(void)
{
	if (window) {
		SAME(ibv_dealloc_mw(window), 0);
		SAME(ibv_dereg_mr(window_mr), 0);
	}
	if (spare)
		SAME(ibv_dereg_mr(spare), 0);
	if (ah)
		SAME(ibv_destroy_ah(ah), 0);
	SAME(ibv_destroy_qp(a.qp), 0);
	SAME(ibv_destroy_qp(b.qp), 0);
	if (srq)
		SAME(ibv_destroy_srq(srq), 0);
	a.qp = NULL;
	b.qp = NULL;
	window = NULL;
	spare = NULL;
	srq = NULL;
	srqn = 0;
	unmake(&a);
	unmake(&b);
}

static void rejoin(const struct service *service)
{
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	join(service);
}

static void post_to(struct end *from, struct end *to, struct ibv_send_wr *wr)
{
	if (ah)
		to_ah(wr, ah, to);
	if (srqn)
		wr->qp_type.xrc.remote_srqn = srqn;
	post(from, wr);
}

static void post_b(struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;

	if (srq)
		SAME(ibv_post_srq_recv(srq, wr, &bad), 0);
	else
		post_r(&b, wr);
}

/* it arrives, in the receive @id that is at offset 50000 */
static void check_arrives(struct end *from, struct end *to, uint64_t id)
{
	int grh = ah ? 40 : 0;

	post_to(from, to, swr(from, 80, IBV_WR_SEND, 0, 100));
	expect_ok(from->scq, 80);
	SAME(expect_ok(to->rcq, id).byte_len, grh + 100);
	check_filled(to->buf + 50000 + grh, 100, from == &a ? SEED_A : SEED_B);
	expect_no_wc_now(to->rcq);
}

/* what SEND_WITH_INV is to invalidate: the key, by which a peer may write */
static uint32_t bind_window(void)
{
	struct ibv_send_wr *wr;

	window = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	CHECK(window);
	window_mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(window_mr);
	wr = bind_wr(&b, 70, window, window_mr, BUF);
	post(&b, wr);
	expect_ok(b.scq, 70);
	return wr->bind_mw.rkey;
}

/* a work request that works: from or to offset 0 of @a, to or from 4096 of @b */
static struct ibv_send_wr *work(enum ibv_wr_opcode op, uint32_t length, int elements)
{
	struct ibv_send_wr *wr;

	if (is_atomic(op))
		length = 8;
	wr = swr(&a, 1, op, 0, length / elements);
	wr->num_sge = elements;
	wr->sg_list[1] = wr->sg_list[0];
	wr->sg_list[1].addr += 30000;
	if (op == IBV_WR_SEND_WITH_INV)
		wr->invalidate_rkey = bind_window();
	if (!is_send(op))
		at(wr, &b, 4096);
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr->wr.atomic.compare_add = 1;
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP)
		memcpy(&wr->wr.atomic.compare_add, b.buf + 4096, 8);
	return wr;
}

/*
 * ---- How to spoil a key, or what goes with it ----
 */

struct place {
	uint32_t *key;
	uint64_t *addr;
	uint32_t length;
	uint32_t step;			/* of addresses */
	bool remote;
	struct end *e;			/* whose memory it is */
	int without;			/* rights of a region that are not enough; -1: all are */
};

static struct place local_place(struct end *e, struct ibv_sge *sge, int without)
{
	return (struct place){
		.key = &sge->lkey, .addr = &sge->addr, .length = sge->length,
		.step = 1, .e = e, .without = without,
	};
}

static struct place remote_place(struct ibv_send_wr *wr, uint32_t length)
{
	int right = IBV_ACCESS_REMOTE_WRITE;

	if (wr->opcode == IBV_WR_RDMA_READ)
		right = IBV_ACCESS_REMOTE_READ;
	if (is_atomic(wr->opcode))
		return (struct place){
			.key = &wr->wr.atomic.rkey, .addr = &wr->wr.atomic.remote_addr,
			.length = 8, .step = 8, .remote = true, .e = &b,
			.without = ACCESS_ALL & ~IBV_ACCESS_REMOTE_ATOMIC,
		};
	return (struct place){
		.key = &wr->wr.rdma.rkey, .addr = &wr->wr.rdma.remote_addr,
		.length = length, .step = 1, .remote = true, .e = &b,
		.without = ACCESS_ALL & ~right,
	};
}

static void other_index(struct place *place)
{
	*place->key ^= 0x100;
}

static void other_low_byte(struct place *place)
{
	*place->key ^= 1;
}

static void no_key(struct place *place)
{
	*place->key = 0;
}

static void register_spare(struct place *place, struct ibv_pd *whose, int access)
{
	spare = ibv_reg_mr(whose, place->e->buf, BUF, access);
	CHECK(spare);
	*place->key = place->remote ? spare->rkey : spare->lkey;
}

static void without_right(struct place *place)
{
	register_spare(place, pd, place->without);
}

static void of_other_pd(struct place *place)
{
	register_spare(place, other_pd, ACCESS_ALL);
}

static void deregistered(struct place *place)
{
	register_spare(place, pd, ACCESS_ALL);
	SAME(ibv_dereg_mr(spare), 0);
	spare = NULL;
}

/* by a message of the same QPs, as somebody might remember it */
static void use_spare(struct place *place)
{
	struct ibv_recv_wr *recv = rwr(&b, 71, 50000, 100);
	struct ibv_send_wr *wr = swr(&a, 72, IBV_WR_SEND, 0, 8);

	if (place->remote) {
		wr->opcode = IBV_WR_RDMA_WRITE;
		at_key(wr, spare->rkey, (uintptr_t)b.buf);
	} else {
		post_b(recv);
		(place->e == &a ? wr->sg_list : recv->sg_list)->lkey = spare->lkey;
	}
	post_to(&a, &b, wr);
	expect_ok(a.scq, 72);
	if (!place->remote)
		expect_ok(b.rcq, 71);
	/* as goes_on() begins with it again */
	a.psn = (a.psn + 1) & 0xffffff;
	fill_both();
}

static void deregistered_after_use(struct place *place)
{
	register_spare(place, pd, ACCESS_ALL);
	use_spare(place);
	SAME(ibv_dereg_mr(spare), 0);
	spare = NULL;
}

static void before(struct place *place)
{
	*place->addr = (uintptr_t)place->e->buf - place->step;
}

static void too_far(struct place *place)
{
	*place->addr = (uintptr_t)place->e->buf + BUF - place->length + place->step;
}

static void behind(struct place *place)
{
	*place->addr = (uintptr_t)place->e->buf + BUF;
}

static void over_all(struct place *place)
{
	*place->addr = -(uint64_t)(place->length / 2) & -(uint64_t)place->step;
}

static const struct way {
	const char *name;
	void (*spoil)(struct place *place);
	enum cause cause;
} ways[] = {
	{ "another index", other_index, KEY },
	{ "another low byte", other_low_byte, KEY },
	{ "key 0", no_key, KEY },
	{ "another PD", of_other_pd, DOMAIN },
	{ "deregistered", deregistered, KEY },
	{ "used and deregistered", deregistered_after_use, KEY },
	{ "before the region", before, RANGE },
	{ "one step too far", too_far, RANGE },
	{ "behind the region", behind, RANGE },
	{ "over the end of all addresses", over_all, RANGE },
	{ "without the right", without_right, RIGHT },
};

/* Return: whether it can be spoiled in this way */
static bool can_spoil(const struct way *way, const struct place *place)
{
	return way->spoil != without_right || place->without >= 0;
}

/*
 * ---- Local keys of work requests to send ----
 */

static void fails(const struct service *service, struct ibv_send_wr *wr, enum cause cause)
{
	post_recv(&b, 91, 50000, 200);
	post_recv(&a, 90, 50000, 200);
	post_to(&a, &b, wr);
	post_to(&a, &b, swr(&a, 2, IBV_WR_SEND, 0, 10));
	SAME(expect_wc(a.scq, 1, IBV_WC_LOC_PROT_ERR).vendor_err,
	     WEFT_FAULT_LOCAL_KEY + cause);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	if (is_reliable(service))
		expect_wc(a.rcq, 90, IBV_WC_WR_FLUSH_ERR);
	expect_state(&a, is_reliable(service) ? IBV_QPS_ERR : IBV_QPS_SQE);
}

/* @a can be used again, and @b goes on as if nothing had been: it had not */
static void goes_on(const struct service *service)
{
	if (is_reliable(service)) {
		to_state(&a, IBV_QPS_RESET);
		to_init(&a);
		to_rtr(&a, &b);
		to_rts(&a);
	} else {
		to_state(&a, IBV_QPS_RTS);
		check_arrives(&b, &a, 90);
	}
	check_arrives(&a, &b, 91);
	if (!window)
		return;
	/* nor has it been invalidated */
	post(&a, at_key(swr(&a, 81, IBV_WR_RDMA_WRITE, 0, 100), window->rkey,
			(uintptr_t)b.buf));
	expect_ok(a.scq, 81);
}

static void local_key(const struct service *service, enum ibv_wr_opcode op, int elements,
		      const struct way *way)
{
	int without = op == IBV_WR_RDMA_READ || is_atomic(op) ? IBV_ACCESS_REMOTE_READ : -1;
	struct ibv_send_wr *wr;
	struct place place;

	note("%s, opcode %d, %s, element %d", service->name, op, way->name, elements);
	make_ends(service);
	wr = work(op, 100, elements);
	place = local_place(&a, &wr->sg_list[elements - 1], without);
	if (can_spoil(way, &place)) {
		way->spoil(&place);
		fails(service, wr, way->cause);
		expect_state(&b, IBV_QPS_RTS);
		expect_no_wc_now(a.rcq);
		expect_no_wc_now(b.rcq);
		expect_no_event_(__FILE__, __LINE__, 0);
		check_both();
		goes_on(service);
	}
	unmake_ends();
}

/* The same work request succeeds when it is not spoiled. */
static void local_key_right(const struct service *service, enum ibv_wr_opcode op, int elements)
{
	note("%s, opcode %d, right", service->name, op);
	make_ends(service);
	post_recv(&b, 91, 50000, 200);
	post_to(&a, &b, work(op, 100, elements));
	expect_ok(a.scq, 1);
	unmake_ends();
}

static void local_keys(void)
{
	/* UD has the first two, UC the first four */
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV,
	};
	static const struct service services[] = {
		{ "RC", IBV_QPT_RC }, { "UC", IBV_QPT_UC }, { "UD", IBV_QPT_UD },
	};
	static const int num_ops[] = { 8, 4, 2 };
	int s, o, elements, w;

	for (s = 0; s < ARRAY_SIZE(services); s++) {
		for (o = 0; o < num_ops[s]; o++) {
			for (elements = 1; elements <= 2; elements++) {
				local_key_right(&services[s], ops[o], elements);
				for (w = 0; w < ARRAY_SIZE(ways); w++)
					local_key(&services[s], ops[o], elements, &ways[w]);
			}
		}
	}
}

/*
 * ---- Local keys of receives ----
 */

/* @b is in ERR: what becomes of the next receive, and which events there are */
static void receiver_fails(const struct service *service, enum cause cause)
{
	SAME(expect_wc(b.rcq, 91, IBV_WC_LOC_PROT_ERR).vendor_err,
	     WEFT_FAULT_RECV_KEY + cause);
	if (!srq)
		expect_wc(b.rcq, 92, IBV_WC_WR_FLUSH_ERR);
	else if (!is_xrc(service))
		expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, b.qp);
	expect_state(&b, IBV_QPS_ERR);
	expect_no_wc_now(b.rcq);
	expect_no_event_(__FILE__, __LINE__, 0);
	check_both();
}

static void receive_key(const struct service *service, enum ibv_wr_opcode op, int elements,
			const struct way *way)
{
	struct ibv_recv_wr *recv;
	struct ibv_send_wr *wr;
	struct place place;

	note("%s, opcode %d, receive, %s, element %d", service->name, op, way->name, elements);
	make_ends(service);
	wr = work(op, 100, 1);
	/* the message gets to each byte of it */
	recv = rwr(&b, 91, 20000, (service->type == IBV_QPT_UD ? 140 : 100) / elements);
	recv->num_sge = elements;
	recv->sg_list[1] = recv->sg_list[0];
	recv->sg_list[1].addr += 10000;
	place = local_place(&b, &recv->sg_list[elements - 1], IBV_ACCESS_REMOTE_READ);
	way->spoil(&place);
	post_b(recv);
	post_b(rwr(&b, 92, 50000, 200));
	post_to(&a, &b, wr);
	if (is_reliable(service))
		expect_wc(a.scq, 1, IBV_WC_REM_OP_ERR);
	else
		expect_ok(a.scq, 1);
	expect_state(&a, is_reliable(service) ? IBV_QPS_ERR : IBV_QPS_RTS);
	receiver_fails(service, way->cause);
	rejoin(service);
	if (!srq)
		post_recv(&b, 92, 50000, 200);
	check_arrives(&a, &b, 92);
	unmake_ends();
}

/* The memory of a receive is none of a WRITE_WITH_IMM's. */
static void receive_not_used(const struct service *service, const struct way *way)
{
	struct ibv_recv_wr *recv;
	struct place place;
	struct ibv_wc wc;

	note("%s, WRITE_WITH_IMM, receive, %s", service->name, way->name);
	make_ends(service);
	recv = rwr(&b, 91, 20000, 100);
	place = local_place(&b, recv->sg_list, IBV_ACCESS_REMOTE_READ);
	way->spoil(&place);
	post_b(recv);
	post_to(&a, &b, work(IBV_WR_RDMA_WRITE_WITH_IMM, 100, 1));
	expect_ok(a.scq, 1);
	wc = expect_ok(b.rcq, 91);
	SAME(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	SAME(wc.byte_len, 100);
	check_filled(b.buf + 4096, 100, SEED_A);
	check_filled(b.buf, 4096, SEED_B);
	unmake_ends();
}

static void receive_keys_of(const struct service *service, const struct way *way)
{
	int elements;

	for (elements = 1; elements <= 2; elements++) {
		receive_key(service, IBV_WR_SEND, elements, way);
		receive_key(service, IBV_WR_SEND_WITH_IMM, elements, way);
		if (service->type == IBV_QPT_RC)
			receive_key(service, IBV_WR_SEND_WITH_INV, elements, way);
	}
	if (service->type != IBV_QPT_UD)
		receive_not_used(service, way);
}

static void receive_keys(void)
{
	static const struct service services[] = {
		{ "RC", IBV_QPT_RC }, { "UC", IBV_QPT_UC }, { "UD", IBV_QPT_UD },
		{ "RC with an SRQ", IBV_QPT_RC, true }, { "UC with an SRQ", IBV_QPT_UC, true },
		{ "UD with an SRQ", IBV_QPT_UD, true }, { "XRC", IBV_QPT_XRC_SEND, true },
	};
	int s, w;

	for (s = 0; s < ARRAY_SIZE(services); s++)
		for (w = 0; w < ARRAY_SIZE(ways); w++)
			receive_keys_of(&services[s], &ways[w]);
}

/*
 * ---- Remote keys ----
 */

static const struct service uc = { "UC", IBV_QPT_UC };
static const struct service xrc = { "XRC", IBV_QPT_XRC_SEND, true };

/* nobody is told: it is dropped, and what comes behind it arrives */
static void remote_key_uc(enum ibv_wr_opcode op, uint32_t length, const struct way *way)
{
	struct ibv_send_wr *wr;
	struct place place;

	note("opcode %d, %d bytes, %s", op, length, way->name);
	make_ends(&uc);
	post_recv(&b, 91, 50000, 200);
	wr = work(op, length, 1);
	place = remote_place(wr, length);
	way->spoil(&place);
	post(&a, wr);
	expect_ok(a.scq, 1);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 0));
	expect_ok(a.scq, 2);
	/* the receive that a WRITE_WITH_IMM would have taken is still there */
	SAME(expect_ok(b.rcq, 91).opcode, IBV_WC_RECV);
	expect_state(&a, IBV_QPS_RTS);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_wc_now(b.rcq);
	expect_no_event_(__FILE__, __LINE__, 0);
	check_both();
	check_works(&a, &b);
	unmake_ends();
}

/* The same work request has its effect when it is not spoiled. */
static void remote_key_uc_right(enum ibv_wr_opcode op, uint32_t length)
{
	note("opcode %d, %d bytes, right", op, length);
	make_ends(&uc);
	post_recv(&b, 91, 50000, 200);
	post(&a, work(op, length, 1));
	if (op == IBV_WR_RDMA_WRITE)
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 0));
	expect_ok(a.scq, 1);
	expect_ok(b.rcq, 91);
	check_filled(b.buf + 4096, length, SEED_A);
	unmake_ends();
}

static void remote_keys_uc(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	static const int lengths[] = { 100, 20000 };
	int o, l, w;

	for (o = 0; o < ARRAY_SIZE(ops); o++) {
		for (l = 0; l < ARRAY_SIZE(lengths); l++) {
			remote_key_uc_right(ops[o], lengths[l]);
			for (w = 0; w < ARRAY_SIZE(ways); w++)
				remote_key_uc(ops[o], lengths[l], &ways[w]);
		}
	}
}

/* @wr is refused: the requester is told by a NAK, the responder by an event or by a receive */
static void refused_xrc(struct ibv_send_wr *wr, uint32_t fault)
{
	bool received = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || is_send(wr->opcode);

	post_to(&a, &b, wr);
	post_to(&a, &b, swr(&a, 2, IBV_WR_SEND, 0, 10));
	SAME(expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR).vendor_err, fault);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_state(&a, IBV_QPS_ERR);
	expect_state(&b, IBV_QPS_ERR);
	if (!received)
		expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	expect_no_event_(__FILE__, __LINE__, 0);
}

static void remote_key_xrc(enum ibv_wr_opcode op, const struct way *way)
{
	struct ibv_send_wr *wr;
	struct place place;

	note("XRC, opcode %d, %s", op, way->name);
	make_ends(&xrc);
	post_b(rwr(&b, 91, 50000, 200));
	post_b(rwr(&b, 92, 50000, 200));
	wr = work(op, 100, 1);
	place = remote_place(wr, 100);
	way->spoil(&place);
	refused_xrc(wr, way->cause + (op == IBV_WR_RDMA_WRITE_WITH_IMM ? WEFT_FAULT_IMMEDIATE_KEY :
									  WEFT_FAULT_REMOTE_KEY));
	/* which it has taken; others that share the SRQ need the rest */
	if (op == IBV_WR_RDMA_WRITE_WITH_IMM)
		expect_wc(b.rcq, 91, IBV_WC_LOC_ACCESS_ERR);
	expect_no_wc_now(b.rcq);
	check_both();
	rejoin(&xrc);
	check_arrives(&a, &b, op == IBV_WR_RDMA_WRITE_WITH_IMM ? 92 : 91);
	unmake_ends();
}

static void remote_key_xrc_right(enum ibv_wr_opcode op)
{
	note("XRC, opcode %d, right", op);
	make_ends(&xrc);
	post_b(rwr(&b, 91, 50000, 200));
	post_to(&a, &b, work(op, 100, 1));
	expect_ok(a.scq, 1);
	unmake_ends();
}

/* a SEND has no remote key but what it invalidates */
static void send_inv_xrc(const char *name, uint32_t (*key)(void))
{
	struct ibv_send_wr *wr;

	note("XRC, SEND_WITH_INV, %s", name);
	make_ends(&xrc);
	post_b(rwr(&b, 91, 20000, 200));
	post_b(rwr(&b, 92, 50000, 200));
	wr = swr(&a, 1, IBV_WR_SEND_WITH_INV, 0, 100);
	wr->invalidate_rkey = key();
	refused_xrc(wr, WEFT_FAULT_INVALIDATE);
	SAME(expect_wc(b.rcq, 91, IBV_WC_LOC_ACCESS_ERR).vendor_err,
	     WEFT_FAULT_INVALIDATE);
	expect_no_wc_now(b.rcq);
	rejoin(&xrc);
	check_arrives(&a, &b, 92);
	post_to(&a, &b, work(IBV_WR_RDMA_WRITE, 100, 1));
	expect_ok(a.scq, 1);
	unmake_ends();
}

static uint32_t key_zero(void)
{
	return 0;
}

static uint32_t key_of_nothing(void)
{
	return 0x7fffff00;
}

static uint32_t key_of_region(void)
{
	return b.mr->rkey;
}

static uint32_t key_of_free_window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	CHECK(mw);
	return mw->rkey;
}

static uint32_t key_of_other_pd(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(other_pd, IBV_MW_TYPE_2);

	CHECK(mw);
	return mw->rkey;
}

static void remote_keys_xrc(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	int o, w;

	for (o = 0; o < ARRAY_SIZE(ops); o++) {
		remote_key_xrc_right(ops[o]);
		for (w = 0; w < ARRAY_SIZE(ways); w++)
			remote_key_xrc(ops[o], &ways[w]);
	}
	send_inv_xrc("key 0", key_zero);
	send_inv_xrc("of nothing", key_of_nothing);
	send_inv_xrc("of a region", key_of_region);
	send_inv_xrc("of a window that is not bound", key_of_free_window);
	send_inv_xrc("of another PD's window", key_of_other_pd);
}

/* the QP does not allow it, though the region does: nobody is told, and nothing is used up */
static void not_enabled_uc(void)
{
	struct ibv_wc wc;

	make(&a, CONF(.type = IBV_QPT_UC));
	make(&b, CONF(.type = IBV_QPT_UC, .access = IBV_ACCESS_LOCAL_WRITE));
	connect_ends(&a, &b);
	fill_both();
	post_recv(&b, 91, 0, 100);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 1);
	post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100), &b, 0));
	expect_ok(a.scq, 2);
	expect_no_wc(b.rcq);
	post(&a, swr(&a, 3, IBV_WR_SEND, 0, 0));
	expect_ok(a.scq, 3);
	wc = expect_ok(b.rcq, 91);
	SAME(wc.opcode, IBV_WC_RECV);
	SAME(wc.byte_len, 0);
	check_both();
	expect_no_event();
}

TESTS(
	TEST(local_keys), TEST(receive_keys), TEST(remote_keys_uc), TEST(remote_keys_xrc),
	TEST(not_enabled_uc)
)
