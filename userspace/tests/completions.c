// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a completion says, by both ways to poll, and completion queues that get another
 * size while they are in use.
 */
#include "lib.h"

#include <rdma/weft-why.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#define GRH		40
#define IMM		0x12345678
#define SL		3
/* vendor_err */
#define FLUSHED		1

static struct end a, b;

/*
 * ---- Both ways to poll ----
 */

/* by ibv_start_poll() and so on, not by ibv_poll_cq() */
static bool ex;

static struct ibv_cq *make_cq_ex(struct end *e)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = e->conf.cqe,
		.cq_context = e,
		.channel = e->conf.channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &attr);

	CHECK(cq);
	return ibv_cq_ex_to_cq(cq);
}

/* as make(), with the completion queues that are to be polled now */
static void make_polled(struct end *e, const struct conf *conf)
{
	make(e, conf);
	if (!ex)
		return;
	SAME(ibv_destroy_qp(e->qp), 0);
	SAME(ibv_destroy_cq(e->scq), 0);
	SAME(ibv_destroy_cq(e->rcq), 0);
	e->scq = make_cq_ex(e);
	e->rcq = make_cq_ex(e);
	e->qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
		.send_cq = e->scq, .recv_cq = e->rcq, .qp_type = conf->type,
		.cap = { .max_send_wr = conf->sq, .max_recv_wr = conf->rq,
			 .max_send_sge = conf->sge, .max_recv_sge = conf->sge },
	});
	CHECK(e->qp);
}

/* all that there is to read */
static struct ibv_wc read_wc(struct ibv_cq_ex *cq)
{
	struct ibv_wc wc = {
		.wr_id = cq->wr_id,
		.status = cq->status,
		.opcode = ibv_wc_read_opcode(cq),
		.vendor_err = ibv_wc_read_vendor_err(cq),
		.byte_len = ibv_wc_read_byte_len(cq),
		.qp_num = ibv_wc_read_qp_num(cq),
		.src_qp = ibv_wc_read_src_qp(cq),
		.wc_flags = ibv_wc_read_wc_flags(cq),
		.slid = ibv_wc_read_slid(cq),
		.sl = ibv_wc_read_sl(cq),
		.dlid_path_bits = ibv_wc_read_dlid_path_bits(cq),
	};

	if (wc.wc_flags & IBV_WC_WITH_INV)
		wc.invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
	else
		wc.imm_data = ibv_wc_read_imm_data(cq);
	return wc;
}

static int poll_ex(struct ibv_cq_ex *cq, int max, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = {};
	int num, ret = ibv_start_poll(cq, &attr);

	if (ret == ENOENT)
		return 0;
	SAME(ret, 0);
	for (num = 0; !ret; ret = num < max ? ibv_next_poll(cq) : ENOENT)
		wc[num++] = read_wc(cq);
	ibv_end_poll(cq);
	SAME(ret, ENOENT);
	return num;
}

static int poll_some(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int num;

	if (ex)
		return poll_ex((struct ibv_cq_ex *)cq, max, wc);
	num = ibv_poll_cq(cq, max, wc);
	if (num < 0 || num > max)
		FAIL("ibv_poll_cq: %d of %d", num, max);
	return num;
}

/*
 * ---- Fields ----
 */

/* all completions, in order; by ibv_poll_cq(), and by the other way */
static struct {
	struct ibv_wc wc[32];
	int num;
} seen[2];

/*
 * Return: the next @num completions, as they are kept. Numbers of objects, which another
 * time are others, are right and not kept.
 */
static struct ibv_wc *take(struct end *e, struct ibv_cq *cq, int num)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct ibv_wc *wc = &seen[ex].wc[seen[ex].num];
	int i, got = 0;

	CHECK(seen[ex].num + num <= ARRAY_SIZE(seen[ex].wc));
	while (got < num) {
		got += poll_some(cq, num - got, wc + got);
		if (now_ns() > end)
			FAIL("%d of %d completions came", got, num);
		sched_yield();
	}
	SAME(poll_some(cq, 1, &(struct ibv_wc){}), 0);
	seen[ex].num += num;
	for (i = 0; i < num; i++) {
		SAME(wc[i].qp_num, e->qp->qp_num);
		wc[i].qp_num = 0;
	}
	return wc;
}

static void check_done(const struct ibv_wc *wc, uint64_t id, enum ibv_wc_opcode opcode)
{
	SAME(wc->wr_id, id);
	SAME(wc->status, IBV_WC_SUCCESS);
	SAME(wc->opcode, opcode);
	SAME(wc->vendor_err, 0);
}

static void check_received(const struct ibv_wc *wc, uint64_t id, enum ibv_wc_opcode opcode,
			   int flags, uint32_t byte_len)
{
	check_done(wc, id, opcode);
	SAME(wc->wc_flags, flags);
	SAME(wc->byte_len, byte_len);
	if (flags & IBV_WC_WITH_IMM)
		SAME(wc->imm_data, htonl(IMM));
}

static void check_failed(const struct ibv_wc *wc, uint64_t id, enum ibv_wc_status status,
			 uint32_t reason)
{
	SAME(wc->wr_id, id);
	SAME(wc->status, status);
	SAME(wc->vendor_err, reason);
}

/* where a datagram came from; on an InfiniBand port with several LIDs by which of them */
static void check_source(struct ibv_wc *wc, const struct ibv_ah_attr *av)
{
	bool ib = port.link_layer == IBV_LINK_LAYER_INFINIBAND;

	SAME(wc->src_qp, a.qp->qp_num);
	wc->src_qp = 0;
	SAME(wc->slid, ib ? port.lid | av->src_path_bits : 0);
	SAME(wc->dlid_path_bits, ib ? av->dlid & ((1 << port.lmc) - 1) : 0);
	/* packets of RoCE do not carry it: as of mlx5 it says IPv4 */
	SAME(wc->sl, ib ? SL : 10);
	SAME(wc->pkey_index, 0);
}

static void datagrams(void)
{
	int lids = 1 << port.lmc;
	struct ibv_ah_attr av;
	struct ibv_send_wr *wr;
	struct ibv_wc *wc;
	struct ibv_ah *ah;

	make_polled(&a, CONF(.type = IBV_QPT_UD));
	make_polled(&b, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	to_ready(&b);
	av_to(&av, gid4, gid4);
	av.sl = SL;
	av.dlid |= 2 % lids;
	av.src_path_bits = 1 % lids;
	ah = ibv_create_ah(pd, &av);
	CHECK(ah);
	post_recv(&b, 1, 0, 200);
	post_recv(&b, 2, 0, 200);
	wr = to_ah(swr(&a, 3, IBV_WR_SEND_WITH_IMM, 0, 100), ah, &b);
	wr->imm_data = htonl(IMM);
	post(&a, wr);
	post(&a, to_ah(swr(&a, 4, IBV_WR_SEND, 0, 50), ah, &b));
	wc = take(&a, a.scq, 2);
	check_done(&wc[0], 3, IBV_WC_SEND);
	check_done(&wc[1], 4, IBV_WC_SEND);
	wc = take(&b, b.rcq, 2);
	check_received(&wc[0], 1, IBV_WC_RECV, IBV_WC_GRH | IBV_WC_WITH_IMM, GRH + 100);
	check_received(&wc[1], 2, IBV_WC_RECV, IBV_WC_GRH, GRH + 50);
	check_source(&wc[0], &av);
	check_source(&wc[1], &av);
	SAME(ibv_destroy_ah(ah), 0);
	unmake(&a);
	unmake(&b);
}

/* a window of @mr for the peer of @b, to be invalidated */
static uint32_t bind_window(struct ibv_mw *mw, struct ibv_mr *mr)
{
	struct ibv_send_wr *wr = bind_wr(&b, 10, mw, mr, 1000);
	uint32_t rkey = wr->bind_mw.rkey;

	post(&b, wr);
	check_done(take(&b, b.scq, 1), 10, IBV_WC_BIND_MW);
	return rkey;
}

static void post_messages(uint32_t rkey)
{
	struct ibv_send_wr *wr;
	int i;

	for (i = 0; i < 4; i++)
		post_recv(&b, 11 + i, 0, 1000);
	post(&a, swr(&a, 20, IBV_WR_SEND, 0, 300));
	wr = swr(&a, 21, IBV_WR_SEND_WITH_INV, 0, 60);
	wr->invalidate_rkey = rkey;
	post(&a, wr);
	wr = at(swr(&a, 22, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 400), &b, 1000);
	wr->imm_data = htonl(IMM);
	post(&a, wr);
	wr = swr(&a, 23, IBV_WR_SEND_WITH_IMM, 0, 0);
	wr->imm_data = htonl(IMM);
	post(&a, wr);
	post(&a, at(swr(&a, 24, IBV_WR_RDMA_READ, 0, 5000), &b, 0));
	post(&a, at(swr(&a, 25, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8), &b, 0));
}

static void messages(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, b.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_wc *wc;
	uint32_t rkey;

	CHECK(mr && mw);
	rkey = bind_window(mw, mr);
	post_messages(rkey);
	wc = take(&a, a.scq, 6);
	check_done(&wc[0], 20, IBV_WC_SEND);
	check_done(&wc[1], 21, IBV_WC_SEND);
	check_done(&wc[2], 22, IBV_WC_RDMA_WRITE);
	check_done(&wc[3], 23, IBV_WC_SEND);
	check_received(&wc[4], 24, IBV_WC_RDMA_READ, 0, 5000);
	check_received(&wc[5], 25, IBV_WC_FETCH_ADD, 0, 8);
	wc = take(&b, b.rcq, 4);
	check_received(&wc[0], 11, IBV_WC_RECV, 0, 300);
	check_received(&wc[1], 12, IBV_WC_RECV, IBV_WC_WITH_INV, 60);
	SAME(wc[1].invalidated_rkey, rkey);
	wc[1].invalidated_rkey = 0;
	check_received(&wc[2], 13, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, 400);
	check_received(&wc[3], 14, IBV_WC_RECV, IBV_WC_WITH_IMM, 0);
	SAME(ibv_dealloc_mw(mw), 0);
	SAME(ibv_dereg_mr(mr), 0);
}

static void errors(void)
{
	struct ibv_wc *wc;

	post_recv(&a, 30, 0, 100);
	post_recv(&b, 31, 0, 100);
	post_recv(&b, 32, 0, 100);
	post(&a, at_key(swr(&a, 33, IBV_WR_RDMA_WRITE, 0, 100), b.mr->rkey ^ 0x100, 0));
	post(&a, swr(&a, 34, IBV_WR_SEND, 0, 100));
	post(&a, at(swr(&a, 35, IBV_WR_RDMA_READ, 0, 100), &b, 0));
	wc = take(&a, a.scq, 3);
	check_failed(&wc[0], 33, IBV_WC_REM_ACCESS_ERR,
		     WEFT_FAULT_REMOTE_KEY);
	check_failed(&wc[1], 34, IBV_WC_WR_FLUSH_ERR, FLUSHED);
	check_failed(&wc[2], 35, IBV_WC_WR_FLUSH_ERR, FLUSHED);
	check_failed(take(&a, a.rcq, 1), 30, IBV_WC_WR_FLUSH_ERR, FLUSHED);
	wc = take(&b, b.rcq, 2);
	check_failed(&wc[0], 31, IBV_WC_WR_FLUSH_ERR, FLUSHED);
	check_failed(&wc[1], 32, IBV_WC_WR_FLUSH_ERR, FLUSHED);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	expect_no_event();
}

static void connection(void)
{
	make_polled(&a, CONF());
	make_polled(&b, CONF());
	connect_ends(&a, &b);
	messages();
	errors();
	unmake(&a);
	unmake(&b);
}

static void check_same(const struct ibv_wc *one, const struct ibv_wc *other)
{
	SAME(one->wr_id, other->wr_id);
	SAME(one->status, other->status);
	SAME(one->opcode, other->opcode);
	SAME(one->vendor_err, other->vendor_err);
	SAME(one->byte_len, other->byte_len);
	SAME(one->imm_data, other->imm_data);
	SAME(one->src_qp, other->src_qp);
	SAME(one->wc_flags, other->wc_flags);
	SAME(one->slid, other->slid);
	SAME(one->sl, other->sl);
	SAME(one->dlid_path_bits, other->dlid_path_bits);
}

static void cq_ex_fields(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		ex = i;
		note("%s", ex ? "ibv_start_poll" : "ibv_poll_cq");
		datagrams();
		connection();
	}
	SAME(seen[1].num, seen[0].num);
	for (i = 0; i < seen[0].num; i++) {
		note("completion %d, wr_id %lu", i, seen[0].wc[i].wr_id);
		check_same(&seen[1].wc[i], &seen[0].wc[i]);
	}
}

/*
 * ---- Traffic ----
 */

#define AHEAD	64		/* messages under way, which fit every size below */
#define MANY	16		/* completions at once */
#define LAST	0xffffffff	/* the last message's immediate data */

/* one of both threads that post and poll, each its end and queue */
static struct side {
	struct end *end;
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;	/* NULL: it does not sleep */
	bool armed;
	long done, slept;
} sender, receiver;

static int stop;

static void sleep_until_notified(struct side *s)
{
	struct pollfd fd = { .fd = s->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, WAIT_MS) <= 0)
		FAIL("no event after %ld completions", s->done);
	SAME(ibv_get_cq_event(s->channel, &cq, &context), 0);
	CHECK(cq == s->cq && context == s->end);
	ibv_ack_cq_events(cq, 1);
	s->slept++;
}

/* there is nothing to be polled: ask, look again, sleep */
static void wait_by_event(struct side *s)
{
	if (s->armed)
		sleep_until_notified(s);
	else
		SAME(ibv_req_notify_cq(s->cq, 0), 0);
	s->armed = !s->armed;
}

/* Return: how many came, none is missing and none comes twice */
static int take_some(struct side *s, struct ibv_wc *wc, enum ibv_wc_opcode opcode)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	int i, num;

	while (!(num = poll_some(s->cq, 1 + s->done % MANY, wc))) {
		if (s->channel)
			wait_by_event(s);
		else if (now_ns() > end)
			FAIL("nothing comes after %ld completions", s->done);
		else
			sched_yield();
	}
	for (i = 0; i < num; i++) {
		check_done(&wc[i], s->done + i, opcode);
		SAME(wc[i].qp_num, s->end->qp->qp_num);
	}
	__atomic_store_n(&s->done, s->done + num, __ATOMIC_RELAXED);
	return num;
}

static uint32_t length_of(long i)
{
	return i % 100;
}

static void post_message(long i, bool last)
{
	struct ibv_send_wr *wr = swr(&a, i, IBV_WR_SEND_WITH_IMM, 0, length_of(i));

	wr->imm_data = htonl(last ? LAST : i);
	post(&a, wr);
}

static void *send_all(void *arg)
{
	struct ibv_wc wc[MANY];
	bool last = false;
	long posted = 0;

	while (!last || sender.done < posted) {
		for (; !last && posted < sender.done + AHEAD; posted++) {
			last = __atomic_load_n(&stop, __ATOMIC_RELAXED);
			post_message(posted, last);
		}
		take_some(&sender, wc, IBV_WC_SEND);
	}
	return NULL;
}

/* Return: whether it was the last one */
static bool check_message(const struct ibv_wc *wc)
{
	uint32_t imm = ntohl(wc->imm_data);

	SAME(wc->byte_len, length_of(wc->wr_id));
	SAME(wc->wc_flags, IBV_WC_WITH_IMM);
	if (imm != LAST)
		SAME(imm, wc->wr_id);
	return imm == LAST;
}

static void *receive_all(void *arg)
{
	struct ibv_wc wc[MANY];
	bool last = false;
	long posted = 0;
	int i, num;

	while (!last) {
		for (; posted < receiver.done + AHEAD; posted++)
			post_recv(&b, posted, 0, 100);
		num = take_some(&receiver, wc, IBV_WC_RECV);
		for (i = 0; i < num; i++) {
			CHECK(!last);
			last = check_message(&wc[i]);
		}
	}
	return NULL;
}

static struct ibv_comp_channel *make_channel(bool wanted)
{
	struct ibv_comp_channel *channel = wanted ? ibv_create_comp_channel(ctx) : NULL;

	CHECK(channel || !wanted);
	return channel;
}

/* queues of which each has its channel, or none */
static void make_sides(bool events)
{
	sender = (struct side){ .end = &a, .channel = make_channel(events) };
	receiver = (struct side){ .end = &b, .channel = make_channel(events) };
	make_polled(&a, CONF(.sq = AHEAD, .cqe = AHEAD, .rnr_timer = 1,
			     .channel = sender.channel));
	make_polled(&b, CONF(.rq = AHEAD, .cqe = AHEAD, .rnr_timer = 1,
			     .channel = receiver.channel));
	connect_ends(&a, &b);
	sender.cq = a.scq;
	receiver.cq = b.rcq;
}

static void unmake_sides(void)
{
	unmake(&a);
	unmake(&b);
	if (sender.channel)
		SAME(ibv_destroy_comp_channel(sender.channel), 0);
	if (receiver.channel)
		SAME(ibv_destroy_comp_channel(receiver.channel), 0);
}

static void resize(struct side *s, int cqe)
{
	int ret = ibv_resize_cq(s->cq, cqe);

	if (ret)
		FAIL("resize to %d: %s", cqe, strerror(ret));
	CHECK(s->cq->cqe >= cqe);
}

static void expect_progress(struct side *s, long before)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (__atomic_load_n(&s->done, __ATOMIC_RELAXED) < before + 2) {
		if (now_ns() > end)
			FAIL("it has stopped after %ld messages", before);
		sched_yield();
	}
}

static void resize_both(int round)
{
	static const int size[] = { 4096, 64, 1000, 64, 65, 2048, 128, 4095 };
	long sent = __atomic_load_n(&sender.done, __ATOMIC_RELAXED);
	long received = __atomic_load_n(&receiver.done, __ATOMIC_RELAXED);

	resize(&sender, size[round % 8]);
	resize(&receiver, size[(round + 3) % 8]);
	resize(&receiver, size[(round + 4) % 8]);
	resize(&sender, size[(round + 1) % 8]);
	expect_progress(&sender, sent);
	expect_progress(&receiver, received);
}

static void resize_under_traffic(bool events)
{
	int i, rounds = repeat(75, 300);
	pthread_t t[2];

	make_sides(events);
	stop = 0;
	SAME(pthread_create(&t[0], NULL, send_all, NULL), 0);
	SAME(pthread_create(&t[1], NULL, receive_all, NULL), 0);
	for (i = 0; i < rounds; i++) {
		note("%s, %s, round %d", ex ? "ibv_start_poll" : "ibv_poll_cq",
		     events ? "events" : "no events", i);
		resize_both(i);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	SAME(pthread_join(t[0], NULL), 0);
	SAME(pthread_join(t[1], NULL), 0);
	SAME(sender.done, receiver.done);
	CHECK(!events || (sender.slept && receiver.slept));
	expect_no_wc_now(a.scq);
	expect_no_wc_now(b.rcq);
	expect_no_event();
	unmake_sides();
}

static void cq_resize_under_traffic(void)
{
	resize_under_traffic(false);
	resize_under_traffic(true);
	ex = true;
	resize_under_traffic(false);
	resize_under_traffic(true);
}

TESTS(
	TEST(cq_ex_fields), TEST(cq_resize_under_traffic)
)
