// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two devices, of any driver and on any hosts, that do everything to each other
 * and look at each byte.
 *
 *	exchange [OPTION]... [ADDRESS]
 *
 * Without ADDRESS it waits for the other one, which has the same options but -d
 * and -g.
 *
 *	-d NAME	device			-t rc|uc|ud	service
 *	-g N	GID index		-m BYTES	path MTU
 *	-n N	batches			-D SECONDS	or as long as that
 *	-s N	seed			-S BYTES	longest message
 *	-T N	timeout			-R N		retry_cnt
 *	-p PORT	of TCP			-o		only the client requests
 *	-c N	traffic class		-f N		flow label
 *	-r	READs are of one packet: rdma_rxe neither answers when it is asked for
 *		the rest of one again, nor understands the answer when it asks; and no
 *		WRITE is empty: after one it fails at a READ that comes twice, as its
 *		read_reply() takes the length of the request before it
 *	-i	SEND_WITH_INV has to be among them, so both devices must have windows
 *	-L	packets may be lost: count what comes (uc, ud)
 *	-E	go on until the connection breaks, which has to be by
 *		RETRY_EXC_ERR and in time (rc; of other drivers the time is shown only)
 *
 * Work comes in batches. Both sides know from the seed what each of them will do
 * in one: the operation, the length, the place, the bytes. A batch's requests are
 * posted at once, and both sides have theirs at the same time. Atomics are all on
 * one word, so that one that is done twice, or too early, shows in the next.
 */
#include "peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>

#define SLOTS		16
#define CANARY		64		/* bytes around what may be written */
#define PLACE		64		/* offsets in a slot: less than that */
#define GRH		40
#define WORD		16		/* where the atomics' word is, in words */

struct op {
	enum ibv_wr_opcode opcode;
	bool recv;			/* completes a receive */
	bool window;			/* by the memory window */
	uint32_t length, off;
	uint32_t imm;
	int seed;			/* of its bytes */
	uint64_t add, swap;
	uint64_t found;			/* by an atomic, as it has to be */
};

/* what one side tells the other at first */
struct hello {
	uint32_t qpn, psn, rkey, mtu, windows;
	uint64_t buf;
	union ibv_gid gid;
};

/* and between batches */
struct message {
	uint32_t batch, window, stop;
};

static struct {
	const char *address, *tcp_port;
	enum ibv_qp_type type;
	int gid, mtu, batches, seconds, seed, timeout, retry, traffic_class, flow_label;
	uint32_t size;
	bool lossy, cut, one_way, short_reads, want_inv;
} opt = {
	.tcp_port = "18520", .type = IBV_QPT_RC, .gid = 0, .mtu = 0, .batches = 10,
	.seed = 1, .timeout = 14, .retry = 7, .size = 9000,
};

static struct end e;			/* ours */
static struct end peer;			/* as far as at() looks at it */
static struct ibv_mr peer_mr;
static struct hello us, them;
static struct ibv_ah *ah;
static struct ibv_mw *window;
static int me;				/* 0: the server */
static uint32_t slot_size, mtu;
static struct op mine[SLOTS], theirs[SLOTS];
static int num_mine, num_theirs;
static uint64_t operations, bytes, lost, wait_limit_ns;

/*
 * ---- What to do ----
 */

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint32_t draw_length(uint64_t *state, uint32_t max)
{
	uint32_t length;

	switch (draw(state) % 6) {
	case 0:
		length = draw(state) % 9;
		break;
	case 1: /* about some packets */
		length = mtu * (1 + draw(state) % 4) + draw(state) % 3 - 1;
		break;
	case 2:
		length = max - draw(state) % 4;
		break;
	default:
		length = draw(state) % (max + 1);
	}
	return length < max ? length : max;
}

static const enum ibv_wr_opcode rc_opcodes[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,
}; /* and SEND_WITH_INV */

static enum ibv_wr_opcode draw_opcode(uint64_t *state)
{
	if (opt.lossy)
		return IBV_WR_SEND_WITH_IMM;
	switch (opt.type) {
	case IBV_QPT_RC:
		return rc_opcodes[draw(state) % ARRAY_SIZE(rc_opcodes)];
	case IBV_QPT_UC:
		return rc_opcodes[draw(state) % 4];
	default:
		return rc_opcodes[draw(state) % 2];
	}
}

static bool is_atomic(const struct op *op)
{
	return op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	       op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

/* rdma_rxe looks at the rkey of no bytes at times; and see -r */
static bool may_be_empty(const struct op *op)
{
	switch (op->opcode) {
	case IBV_WR_RDMA_READ:
		return false;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return !op->window && !opt.short_reads;
	default:
		return true;
	}
}

static uint64_t first_word(int batch)
{
	return 0x0101010101010101 * (batch & 0xff);
}

/* what @side does in a batch; the last one takes the window away, if there is one */
static int plan(struct op *ops, int batch, int side)
{
	uint64_t state = opt.seed * 1000003ULL + batch * 2 + side;
	bool inv = us.windows && them.windows && batch % 3 == 2;
	uint64_t word = first_word(batch);
	int i;

	for (i = 0; i < SLOTS; i++) {
		struct op *op = &ops[i];

		memset(op, 0, sizeof(*op));
		op->opcode = draw_opcode(&state);
		if (i == SLOTS - 1 && inv)
			op->opcode = IBV_WR_SEND_WITH_INV;
		/* of UC nothing else says that those before it have come */
		if (i == SLOTS - 1 && opt.type == IBV_QPT_UC && !opt.lossy)
			op->opcode = IBV_WR_SEND;
		op->recv = op->opcode == IBV_WR_SEND || op->opcode == IBV_WR_SEND_WITH_IMM ||
			   op->opcode == IBV_WR_SEND_WITH_INV ||
			   op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
		op->length = draw_length(&state, opt.type == IBV_QPT_UD ? mtu : opt.size);
		op->off = CANARY + draw(&state) % PLACE;
		op->imm = opt.lossy ? batch << 8 | i : draw(&state);
		op->seed = (batch * SLOTS + i) * 2 + side;
		op->window = inv && op->opcode == IBV_WR_RDMA_WRITE && draw(&state) % 2;
		if (!op->length && !may_be_empty(op))
			op->length = 1;
		if (op->opcode == IBV_WR_RDMA_READ && opt.short_reads && op->length > mtu)
			op->length = mtu;
		if (!is_atomic(op))
			continue;
		op->length = 8;
		op->off &= ~7;
		op->found = word;
		op->add = draw(&state);
		op->swap = draw(&state);
		if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			word += op->add;
		else if (draw(&state) % 4)
			op->add = word; /* it will compare */
		if (op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP && op->add == word)
			word = op->swap;
	}
	return SLOTS;
}

/* the word after all of @ops */
static uint64_t last_word(const struct op *ops, int num, int batch)
{
	uint64_t word = first_word(batch);
	int i;

	for (i = 0; i < num; i++) {
		if (ops[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			word += ops[i].add;
		else if (is_atomic(&ops[i]) && ops[i].add == word)
			word = ops[i].swap;
	}
	return word;
}

/*
 * ---- Where ----
 *
 * A page for the word, then a slot for each request in three areas: what we send
 * and read into, what the peer writes and sends to, what the peer reads.
 */

enum area { OURS, WRITTEN, READ };

static size_t place(enum area area, int slot)
{
	return 4096 + ((size_t)area * SLOTS + slot) * slot_size;
}

static void put_canary(size_t from, size_t length)
{
	memset(e.buf + from - CANARY, 0xa5, length + 2 * CANARY);
}

static void check_canary(size_t from, size_t length)
{
	int i;

	for (i = 0; i < CANARY; i++)
		if (e.buf[from - 1 - i] != 0xa5 || e.buf[from + length + i] != 0xa5)
			FAIL("memory beside %u bytes was written", (unsigned int)length);
}

/*
 * ---- The other side ----
 */

/* Return: whether the peer wants to stop */
static bool sync_peer(int batch, uint32_t window_rkey, bool stop, uint32_t *peer_window)
{
	struct message out = { batch, window_rkey, stop }, in;

	tell(&out, sizeof(out));
	hear(&in, sizeof(in));
	SAME(in.batch, batch);
	if (peer_window)
		*peer_window = in.window;
	return in.stop;
}

/*
 * ---- Connection ----
 */

static enum ibv_mtu mtu_value(uint32_t num)
{
	switch (num) {
	case 256:
		return IBV_MTU_256;
	case 512:
		return IBV_MTU_512;
	case 1024:
		return IBV_MTU_1024;
	case 2048:
		return IBV_MTU_2048;
	default:
		return IBV_MTU_4096;
	}
}

static void make_memory(void)
{
	size_t size;

	slot_size = (opt.size + GRH + 2 * CANARY + PLACE + 63) & ~63;
	size = place(READ, SLOTS);
	SAME(ibv_dereg_mr(e.mr), 0);
	munmap(e.buf, BUF);
	e.buf = memory(size);
	e.mr = ibv_reg_mr(pd, e.buf, size, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(e.mr);
}

static void introduce(void)
{
	struct ibv_device_attr attr;

	SAME(ibv_query_device(ctx, &attr), 0);
	us.qpn = e.qp->qp_num;
	us.psn = e.psn = 0xfffff0 + me; /* wraps soon */
	us.rkey = e.mr->rkey;
	us.buf = (uintptr_t)e.buf;
	us.mtu = opt.mtu ?: 128 << port.active_mtu;
	us.windows = opt.type == IBV_QPT_RC &&
		     attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	SAME(ibv_query_gid(ctx, 1, opt.gid, &us.gid), 0);
	tell(&us, sizeof(us));
	hear(&them, sizeof(them));
	if (opt.want_inv && !(us.windows && them.windows))
		FAIL("%s has no memory windows", us.windows ? "the peer" : "this device");
	mtu = us.mtu < them.mtu ? us.mtu : them.mtu;
	peer.buf = (uint8_t *)(uintptr_t)them.buf;
	peer.mr = &peer_mr;
	peer_mr.rkey = them.rkey;
}

static void join(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_value(mtu),
		.min_rnr_timer = 12,
		.max_dest_rd_atomic = 4,
		.dest_qp_num = them.qpn,
		.rq_psn = them.psn,
		.ah_attr.is_global = 1,
		.ah_attr.port_num = 1,
		.ah_attr.grh.sgid_index = opt.gid,
		.ah_attr.grh.dgid = them.gid,
		.ah_attr.grh.hop_limit = 64,
		.ah_attr.grh.traffic_class = opt.traffic_class,
		.ah_attr.grh.flow_label = opt.flow_label,
	};
	int mask = IBV_QP_STATE;

	to_init(&e);
	if (opt.type == IBV_QPT_UD) {
		ah = ibv_create_ah(pd, &attr.ah_attr);
		CHECK(ah);
	} else {
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (opt.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	SAME(ibv_modify_qp(e.qp, &attr, mask), 0);
	to_rts(&e);
}

static struct ibv_wc wait_wc(struct ibv_cq *cq, const char *what)
{
	uint64_t end = now_ns() + wait_limit_ns;
	struct ibv_wc wc;
	int num, spins = 0;

	while (!(num = ibv_poll_cq(cq, 1, &wc))) {
		if (now_ns() > end)
			FAIL("expected %s, none came", what);
		if (++spins > 20)
			usleep(200);
		else
			sched_yield();
	}
	SAME(num, 1);
	return wc;
}

static struct ibv_wc wait_ok(struct ibv_cq *cq, uint64_t id, const char *what)
{
	struct ibv_wc wc = wait_wc(cq, what);

	if (wc.status)
		FAIL("%s %llu: %s, vendor_err %u", what, (unsigned long long)wc.wr_id,
		     ibv_wc_status_str(wc.status), wc.vendor_err);
	SAME(wc.wr_id, id);
	return wc;
}

/* Return: the window's key */
static uint32_t bind_window(void)
{
	struct ibv_send_wr *wr;

	if (!window) {
		window = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		CHECK(window);
	}
	wr = bind_wr(&e, 500, window, e.mr, place(READ, 0));
	post(&e, wr);
	wait_ok(e.scq, 500, "bind");
	/* not every provider has done so */
	window->rkey = wr->bind_mw.rkey;
	return window->rkey;
}

/*
 * ---- A batch ----
 */

static void prepare(int batch)
{
	uint64_t word = first_word(batch);
	int grh = opt.type == IBV_QPT_UD ? GRH : 0, i;

	memcpy(e.buf + WORD * 8, &word, 8);
	for (i = 0; i < num_theirs; i++) {
		struct op *op = &theirs[i];
		size_t at = place(WRITTEN, i) + op->off;
		bool direct = op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

		put_canary(at, op->length + grh);
		if (op->recv)
			post_recv(&e, i, at, direct ? 0 : op->length + grh);
		if (op->opcode == IBV_WR_RDMA_READ)
			fill(e.buf + place(READ, i) + op->off, op->length, op->seed);
	}
	for (i = 0; i < num_mine; i++) {
		struct op *op = &mine[i];
		size_t at = place(OURS, i) + op->off;

		put_canary(at, op->length);
		if (op->opcode != IBV_WR_RDMA_READ && !is_atomic(op))
			fill(e.buf + at, op->length, op->seed);
	}
}

static void request(int i, uint32_t window_rkey)
{
	struct op *op = &mine[i];
	struct ibv_send_wr *wr = swr(&e, i, op->opcode, place(OURS, i) + op->off, op->length);

	wr->imm_data = htonl(op->imm);
	/* of some, whatever they are */
	if (i % 3 == 0)
		wr->send_flags |= IBV_SEND_SOLICITED;
	if (opt.type == IBV_QPT_UD) {
		wr->wr.ud.ah = ah;
		wr->wr.ud.remote_qpn = them.qpn;
		wr->wr.ud.remote_qkey = QKEY;
	} else if (is_atomic(op)) {
		at(wr, &peer, WORD * 8);
		wr->wr.atomic.compare_add = op->add;
		wr->wr.atomic.swap = op->swap;
	} else if (op->opcode == IBV_WR_SEND_WITH_INV) {
		wr->invalidate_rkey = window_rkey;
	} else {
		at(wr, &peer, place(op->opcode == IBV_WR_RDMA_READ ? READ : WRITTEN, i) + op->off);
		if (op->window)
			wr->wr.rdma.rkey = window_rkey;
	}
	post(&e, wr);
}

static void check_mine(int i)
{
	struct op *op = &mine[i];
	size_t at = place(OURS, i) + op->off;
	uint64_t found;

	note("batch request %d, opcode %d, %u bytes", i, op->opcode, op->length);
	check_canary(at, op->length);
	if (is_atomic(op)) {
		memcpy(&found, e.buf + at, 8);
		SAME(found, op->found);
	} else {
		check_filled(e.buf + at, op->length, op->seed);
	}
}

static void check_recv(const struct op *op, const struct ibv_wc *wc, uint32_t window_rkey)
{
	int grh = opt.type == IBV_QPT_UD ? GRH : 0;

	SAME(wc->byte_len, op->length + grh);
	SAME(wc->qp_num, e.qp->qp_num);
	SAME(wc->opcode, op->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM :
								    IBV_WC_RECV);
	if (grh)
		SAME(wc->src_qp, them.qpn);
	switch (op->opcode) {
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		CHECK(wc->wc_flags & IBV_WC_WITH_IMM);
		SAME(ntohl(wc->imm_data), op->imm);
		break;
	case IBV_WR_SEND_WITH_INV:
		/* rdma_rxe does not tell a process of it */
		if (is_other_driver())
			break;
		CHECK(wc->wc_flags & IBV_WC_WITH_INV);
		SAME(wc->invalidated_rkey, window_rkey);
		break;
	default:
		CHECK(!(wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)));
	}
}

static void check_theirs(int i)
{
	int grh = opt.type == IBV_QPT_UD ? GRH : 0;
	struct op *op = &theirs[i];
	size_t at = place(WRITTEN, i) + op->off;

	note("the peer's request %d, opcode %d, %u bytes", i, op->opcode, op->length);
	check_canary(at, op->length + grh);
	if (op->opcode != IBV_WR_RDMA_READ && !is_atomic(op))
		check_filled(e.buf + at + grh, op->length, op->seed);
}

static void wait_theirs(uint32_t window_rkey)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; i < num_theirs; i++) {
		if (!theirs[i].recv)
			continue;
		note("the peer's request %d, opcode %d, %u bytes", i, theirs[i].opcode,
		     theirs[i].length);
		wc = wait_ok(e.rcq, i, "receive");
		check_recv(&theirs[i], &wc, window_rkey);
	}
}

/* Return: whether to go on */
static bool run_batch(int batch, bool stop)
{
	uint32_t ours = 0, remote = 0;
	uint64_t word;
	int i;

	num_mine = opt.one_way && !me ? 0 : plan(mine, batch, opt.one_way ? 1 : me);
	num_theirs = opt.one_way && me ? 0 : plan(theirs, batch, opt.one_way ? 1 : !me);
	prepare(batch);
	if (num_theirs && theirs[num_theirs - 1].opcode == IBV_WR_SEND_WITH_INV)
		ours = bind_window();
	note("before batch %d", batch);
	stop |= sync_peer(batch, ours, stop, &remote);

	for (i = 0; i < num_mine; i++)
		request(i, remote);
	for (i = 0; i < num_mine; i++) {
		note("batch %d: request %d, opcode %d, %u bytes", batch, i, mine[i].opcode,
		     mine[i].length);
		wait_ok(e.scq, i, "completion");
		bytes += mine[i].length;
	}
	operations += num_mine;
	wait_theirs(ours);
	note("after batch %d", batch);
	sync_peer(batch, 0, 0, NULL);

	for (i = 0; i < num_mine; i++)
		check_mine(i);
	for (i = 0; i < num_theirs; i++)
		check_theirs(i);
	note("the word of batch %d", batch);
	memcpy(&word, e.buf + WORD * 8, 8);
	SAME(word, last_word(theirs, num_theirs, batch));
	return !stop;
}

/*
 * ---- Where packets may be lost ----
 *
 * Each message says by its immediate data what it is. A receive is for whatever
 * comes next. It may come twice or late, if the network sees to that: UC goes on
 * with whatever first packet it gets (IBA 9.8.2.2).
 */

static void post_slot(int slot)
{
	put_canary(place(WRITTEN, slot) + CANARY, opt.size + GRH);
	post_recv(&e, slot, place(WRITTEN, slot) + CANARY, opt.size + GRH);
}

static int take_lossy(int batch, int ms)
{
	uint64_t end = now_ns() + ms * 1000000ULL;
	int grh = opt.type == IBV_QPT_UD ? GRH : 0, got = 0;
	struct ibv_wc wc;
	struct op ops[SLOTS], *op;
	uint32_t imm;
	size_t at;

	do {
		if (!ibv_poll_cq(e.rcq, 1, &wc)) {
			usleep(200);
			continue;
		}
		SAME(wc.status, IBV_WC_SUCCESS);
		imm = ntohl(wc.imm_data);
		note("batch %d: received %#x", batch, imm);
		CHECK((int)(imm >> 8) <= batch && (imm & 0xff) < SLOTS);
		plan(ops, imm >> 8, opt.one_way ? 1 : !me);
		op = &ops[imm & 0xff];
		at = place(WRITTEN, wc.wr_id) + CANARY;
		SAME(wc.byte_len, op->length + grh);
		check_filled(e.buf + at + grh, op->length, op->seed);
		check_canary(at, opt.size + GRH);
		post_slot(wc.wr_id);
		got++;
	} while (now_ns() < end && got < SLOTS);
	return got;
}

static bool run_lossy(int batch, bool stop)
{
	int i, got;

	num_mine = plan(mine, batch, me);
	num_theirs = 0;
	prepare(batch);
	note("before batch %d", batch);
	stop |= sync_peer(batch, 0, stop, NULL);
	for (i = 0; i < num_mine; i++)
		request(i, 0);
	for (i = 0; i < num_mine; i++)
		wait_ok(e.scq, i, "completion");
	operations += num_mine;
	got = take_lossy(batch, 150);
	lost += SLOTS - got; /* less than none if some come twice */
	note("after batch %d", batch);
	sync_peer(batch, 0, 0, NULL);
	return !stop;
}

static void begin_lossy(void)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		post_slot(i);
}

/*
 * ---- Until it breaks ----
 */

static void write_some(uint64_t id)
{
	uint32_t length = 2 * opt.size < 65536 ? opt.size : 32768;

	post(&e, at(swr(&e, id, IBV_WR_RDMA_WRITE, place(OURS, 0), length), &peer,
		    place(WRITTEN, 0)));
}

static int until_cut(void)
{
	uint64_t try = 4096ULL << opt.timeout, all = try * (opt.retry + 1);
	uint64_t last, took;
	struct ibv_wc wc;
	int i;

	sync_peer(0, 0, 0, NULL);
	for (i = 0; i < 4; i++)
		write_some(i);
	for (;; i++) {
		last = now_ns();
		wc = wait_wc(e.scq, "completion");
		if (wc.status)
			break;
		if (i == 20)
			printf("running\n");
		write_some(i);
	}
	took = now_ns() - last;
	printf("%s after %d ms, which is %d times the timeout\n",
	       wc.status == IBV_WC_RETRY_EXC_ERR ? "RETRY_EXC_ERR" : ibv_wc_status_str(wc.status),
	       (int)(took / 1000000), (int)(took / try));
	SAME(wc.status, IBV_WC_RETRY_EXC_ERR);
	for (i = 0; i < 3; i++)
		SAME(wait_wc(e.scq, "flushed request").status, IBV_WC_WR_FLUSH_ERR);
	expect_state(&e, IBV_QPS_ERR);
	if (is_other_driver())
		return 0;
	/* IBA 9.9.2.4.1: a try is the timeout at least, and four times that at most */
	if (took < all * 3 / 4)
		FAIL("that is less than %d tries", opt.retry + 1);
	if (took > 4 * all + wait_limit_ns / 20)
		FAIL("that is more than %d tries may take", opt.retry + 1);
	return 0;
}

/*
 * ---- Program ----
 */

static int work(void)
{
	uint64_t end = now_ns() + opt.seconds * 1000000000ULL;
	bool stop, more = true;
	int batch;

	if (opt.lossy)
		begin_lossy();
	for (batch = 1; more; batch++) {
		if (batch == 3)
			printf("running\n");
		stop = opt.seconds ? now_ns() > end : batch >= opt.batches;
		more = opt.lossy ? run_lossy(batch, stop) : run_batch(batch, stop);
	}
	note(NULL);
	expect_state(&e, IBV_QPS_RTS);
	if (!opt.seconds) /* it is run that long to see a port go */
		expect_no_event_(__FILE__, __LINE__, 0);
	printf("%d batches, %llu requests of ours", batch - 1, (unsigned long long)operations);
	if (opt.lossy)
		printf(", %lld did not come\n", (long long)lost);
	else
		printf(" with %llu bytes, all as it has to be\n", (unsigned long long)bytes);
	/* if nothing came at all, it was no bad network but none */
	if (opt.lossy && lost >= operations)
		FAIL("nothing came");
	return 0;
}

static enum ibv_qp_type service(const char *name)
{
	if (!strcmp(name, "uc"))
		return IBV_QPT_UC;
	if (!strcmp(name, "ud"))
		return IBV_QPT_UD;
	return IBV_QPT_RC;
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "d:g:t:m:n:D:s:S:T:R:p:c:f:oriLE")) != -1) {
		switch (c) {
		case 'd':
			setenv("WEFT_DEVICE", optarg, 1);
			break;
		case 'g':
			opt.gid = atoi(optarg);
			break;
		case 't':
			opt.type = service(optarg);
			break;
		case 'm':
			opt.mtu = atoi(optarg);
			break;
		case 'n':
			opt.batches = atoi(optarg);
			break;
		case 'D':
			opt.seconds = atoi(optarg);
			break;
		case 's':
			opt.seed = atoi(optarg);
			break;
		case 'S':
			opt.size = atoi(optarg);
			break;
		case 'T':
			opt.timeout = atoi(optarg);
			break;
		case 'R':
			opt.retry = atoi(optarg);
			break;
		case 'p':
			opt.tcp_port = optarg;
			break;
		case 'c':
			opt.traffic_class = strtol(optarg, NULL, 0);
			break;
		case 'f':
			opt.flow_label = strtol(optarg, NULL, 0);
			break;
		case 'o':
			opt.one_way = true;
			break;
		case 'r':
			opt.short_reads = true;
			break;
		case 'i':
			opt.want_inv = true;
			break;
		case 'L':
			opt.lossy = true;
			break;
		case 'E':
			opt.cut = true;
			break;
		default:
			exit(2);
		}
	}
	opt.address = argv[optind];
}

int main(int argc, char **argv)
{
	const char *kernel = getenv("WEFT_KERNEL");

	setvbuf(stdout, NULL, _IOLBF, 0);
	options(argc, argv);
	wait_limit_ns = (kernel && !strcmp(kernel, "debug") ? 90 : 40) * 1000000000ULL;
	open_device();
	if (opt.type == IBV_QPT_UD && opt.size < 4096)
		opt.size = 4096;
	make(&e, CONF(.type = opt.type, .sq = 2 * SLOTS, .rq = 2 * SLOTS, .timeout = opt.timeout,
		      .retry = opt.retry, .gid = opt.gid));
	make_memory();
	me = opt.address ? 1 : 0;
	meet_peer(opt.address, opt.tcp_port, wait_limit_ns / 1000000000);
	introduce();
	join();
	sync_peer(0, 0, 0, NULL);
	return opt.cut ? until_cut() : work();
}
