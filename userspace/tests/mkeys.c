// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libweft: what it says of a device, QPs with flags of its own, and mkeys: keys whose
 * memory is a list or an interleaved pattern of other regions.
 */
#include "mkeys.h"

#define MKEY_OPS	(WEFTDV_QP_EX_WITH_MR_LIST | WEFTDV_QP_EX_WITH_MR_INTERLEAVED |	\
			 WEFTDV_QP_EX_WITH_MKEY_CONFIGURE)

struct end a, b;

static struct ibv_qp_init_attr_ex init_attr(struct end *e)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RC, .send_cq = e->scq, .recv_cq = e->rcq, .pd = pd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 4 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_LOCAL_INV,
	};
}

static struct weftdv_qp_init_attr dv_attr(uint64_t ops)
{
	return (struct weftdv_qp_init_attr){
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS, .send_ops_flags = ops,
	};
}

/* give @e a QP with the builders of mkeys; @inline_data makes room for longer lists */
static void make_dv(struct end *e, uint32_t inline_data, uint32_t flags)
{
	struct weftdv_qp_init_attr dv = dv_attr(MKEY_OPS);
	struct ibv_qp_init_attr_ex attr;

	make(e, CONF());
	SAME(ibv_destroy_qp(e->qp), 0);
	attr = init_attr(e);
	attr.cap.max_inline_data = inline_data;
	dv.comp_mask |= WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
	dv.create_flags = flags;
	e->qp = weftdv_create_qp(ctx, &attr, &dv);
	CHECK(e->qp);
}

void make_both_with(uint32_t inline_data)
{
	make_dv(&a, inline_data, 0);
	make_dv(&b, inline_data, 0);
	connect_ends(&a, &b);
}

void make_pipelined(void)
{
	make_dv(&a, 64, WEFTDV_QP_CREATE_SIG_PIPELINING);
	make_dv(&b, 0, 0);
	connect_ends(&a, &b);
}

void make_both(void)
{
	make_both_with(0);
}

void again(void)
{
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
}

struct weftdv_qp_ex *dv_of(struct end *e)
{
	struct weftdv_qp_ex *dv = weftdv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(e->qp));

	CHECK(dv);
	return dv;
}

struct weftdv_mkey *mkey_for(struct ibv_pd *in, uint32_t flags, int entries)
{
	struct weftdv_mkey_init_attr attr = {
		.pd = in, .create_flags = WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = entries,
	};
	struct weftdv_mkey *mkey = weftdv_create_mkey(&attr);

	CHECK(mkey);
	return mkey;
}

static struct weftdv_mkey *mkey_of(int entries)
{
	return mkey_for(pd, 0, entries);
}

struct ibv_sge part(struct ibv_mr *mr, size_t off, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)mr->addr + off, length, mr->lkey };
}

/* Post a list; the completion is not looked at. */
static void post_list(struct end *e, struct weftdv_mkey *mkey, int access, int num,
		      struct ibv_sge *sge)
{
	struct ibv_qp_ex *qp = wr_start(e, 700);

	weftdv_wr_mr_list(dv_of(e), mkey, access, num, sge);
	SAME(ibv_wr_complete(qp), 0);
}

static void set_list(struct end *e, struct weftdv_mkey *mkey, int access, int num,
		     struct ibv_sge *sge)
{
	post_list(e, mkey, access, num, sge);
	SAME(expect_ok(e->scq, 700).opcode, WEFTDV_WC_MKEY);
}

void fails(struct end *e)
{
	SAME(expect_wc(e->scq, 700, IBV_WC_MW_BIND_ERR).vendor_err, 7);
	expect_state(e, IBV_QPS_ERR);
	again();
}

static void list_fails(struct weftdv_mkey *mkey, int access, int num, struct ibv_sge *sge)
{
	post_list(&a, mkey, access, num, sge);
	fails(&a);
}

void invalidate(struct end *e, struct weftdv_mkey *mkey)
{
	struct ibv_qp_ex *qp = wr_start(e, 701);

	ibv_wr_local_inv(qp, mkey->rkey);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(e->scq, 701);
}

enum ibv_wc_status rdma(enum ibv_wr_opcode op, uint32_t lkey, uint64_t addr, uint32_t length,
			uint32_t rkey, uint64_t remote)
{
	struct ibv_qp_ex *qp = wr_start(&a, 702);

	if (op == IBV_WR_RDMA_READ)
		ibv_wr_rdma_read(qp, rkey, remote);
	else
		ibv_wr_rdma_write(qp, rkey, remote);
	ibv_wr_set_sge(qp, lkey, addr, length);
	SAME(ibv_wr_complete(qp), 0);
	return next_wc(a.scq).status;
}

/*
 * ---- The library and QPs ----
 */

static void library(void)
{
	struct weftdv_device_attr attr = { .comp_mask = ~0ULL };

	CHECK(weftdv_is_supported(ctx->device));
	SAME(weftdv_query_device(ctx, &attr), 0);
	SAME(attr.comp_mask, WEFTDV_DEVICE_ATTR_QP | WEFTDV_DEVICE_ATTR_MKEY |
			     WEFTDV_DEVICE_ATTR_SIG | WEFTDV_DEVICE_ATTR_DC);
	SAME(attr.qp_create_flags, WEFTDV_QP_CREATE_DISABLE_SCATTER_TO_CQE |
				   WEFTDV_QP_CREATE_ALLOW_SCATTER_TO_CQE |
				   WEFTDV_QP_CREATE_TUNNEL_OFFLOADS |
				   WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC |
				   WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC |
				   WEFTDV_QP_CREATE_PACKET_BASED_CREDIT_MODE |
				   WEFTDV_QP_CREATE_SIG_PIPELINING);
	SAME(attr.send_ops_flags, MKEY_OPS);
	SAME(attr.mkey_create_flags, WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				     WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE);
	SAME(attr.max_mkey_entries, 32);
	/* only what was asked for */
	attr = (struct weftdv_device_attr){ .comp_mask = WEFTDV_DEVICE_ATTR_MKEY };
	SAME(weftdv_query_device(ctx, &attr), 0);
	SAME(attr.comp_mask, WEFTDV_DEVICE_ATTR_MKEY);
	SAME(attr.send_ops_flags, 0);
	SAME(attr.max_mkey_entries, 32);
}

static void before_poll(uint32_t flag)
{
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS, .create_flags = flag,
	};
	struct ibv_qp_init_attr_ex attr;
	struct ibv_send_wr *wr;
	int i;

	make(&a, CONF());
	make(&b, CONF());
	SAME(ibv_destroy_qp(b.qp), 0);
	attr = init_attr(&b);
	b.qp = weftdv_create_qp(ctx, &attr, &dv);
	CHECK(b.qp);
	connect_ends(&a, &b);
	fill(a.buf, 32, 5);
	post_recv(&b, 1, 100, 32);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 32));
	expect_ok(a.scq, 1);
	check_filled(b.buf + 100, 32, 5);
	expect_ok(b.rcq, 1);
	fill(a.buf, 16, 6);
	wr = swr(&b, 2, IBV_WR_RDMA_READ, 200, 16);
	wr->wr.rdma.remote_addr = ADDR(a, 0);
	wr->wr.rdma.rkey = a.mr->rkey;
	post(&b, wr);
	for (i = 0; i < 1000 && memcmp(a.buf, b.buf + 200, 16); i++)
		sleep_ms(1);
	check_filled(b.buf + 200, 16, 6);
	expect_ok(b.scq, 2);
	/* a QP without builders */
	REFUSED(weftdv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(b.qp)), EOPNOTSUPP);
}

/* one flag promises that no data wait for the poll, the other one allows it: they never do */
static void data_before_poll(void)
{
	before_poll(WEFTDV_QP_CREATE_DISABLE_SCATTER_TO_CQE);
	before_poll(WEFTDV_QP_CREATE_ALLOW_SCATTER_TO_CQE);
}

/* messages of several packets, for which the receives come late or in time, at both ends */
static void packet_credits(void)
{
	int i;

	force_packets(true);
	make_dv(&a, 0, WEFTDV_QP_CREATE_PACKET_BASED_CREDIT_MODE);
	make_dv(&b, 0, WEFTDV_QP_CREATE_PACKET_BASED_CREDIT_MODE);
	connect_ends(&a, &b);
	fill(a.buf, 9000, 8);
	for (i = 0; i < repeat(40, 400); i++) {
		if (i % 3)
			post_recv(&b, i, 10000 * (i % 4), 9000);
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 9000 - 100 * (i % 50)));
		if (!(i % 3))
			post_recv(&b, i, 10000 * (i % 4), 9000);
		expect_ok(a.scq, i);
		SAME(expect_ok(b.rcq, i).byte_len, 9000 - 100 * (i % 50));
		check_filled(b.buf + 10000 * (i % 4), 9000 - 100 * (i % 50), 8);
	}
	force_packets(false);
}

static void qp_refused(void)
{
	static const struct {
		const char *name;
		enum ibv_qp_type type;
		uint64_t mask;
		uint32_t flags;
		uint64_t ops;
		int error;
	} rows[] = {
		{ "unknown mask", IBV_QPT_RC, 1 << 4, 0, 0, EINVAL },
		{ "DC of RC", IBV_QPT_RC, WEFTDV_QP_INIT_ATTR_MASK_DC, 0, 0, EINVAL },
		{ "DRIVER without DC", IBV_QPT_DRIVER, 0, 0, 0, EINVAL },
		{ "a DC target that sends", IBV_QPT_DRIVER, WEFTDV_QP_INIT_ATTR_MASK_DC, 0, 0,
		  EINVAL },
		{ "both of scatter to CQE", IBV_QPT_RC, 1, 3 << 3, 0, EINVAL },
		{ "tunnels", IBV_QPT_RC, 1, WEFTDV_QP_CREATE_TUNNEL_OFFLOADS, 0, EOPNOTSUPP },
		{ "UC", IBV_QPT_RC, 1, WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC, 0,
		  EOPNOTSUPP },
		{ "MC", IBV_QPT_RC, 1, WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC, 0,
		  EOPNOTSUPP },
		{ "packet-based credits of UC", IBV_QPT_UC, 1,
		  WEFTDV_QP_CREATE_PACKET_BASED_CREDIT_MODE, 0, EOPNOTSUPP },
		{ "pipelining of UC", IBV_QPT_UC, 1, WEFTDV_QP_CREATE_SIG_PIPELINING, 0,
		  EOPNOTSUPP },
		{ "pipelining of UD", IBV_QPT_UD, 1, WEFTDV_QP_CREATE_SIG_PIPELINING, 0,
		  EOPNOTSUPP },
		{ "unknown flag", IBV_QPT_RC, 1, 1u << 31, 0, EOPNOTSUPP },
		{ "unknown operation", IBV_QPT_RC, 4, 0, 1 << 3, EOPNOTSUPP },
		{ "mkeys of UC", IBV_QPT_UC, 4, 0, MKEY_OPS, EOPNOTSUPP },
		{ "mkeys of UD", IBV_QPT_UD, 4, 0, MKEY_OPS, EOPNOTSUPP },
	};
	struct ibv_qp_init_attr_ex attr;
	struct weftdv_qp_init_attr dv;
	int i;

	make(&a, CONF());
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("%s", rows[i].name);
		attr = init_attr(&a);
		attr.qp_type = rows[i].type;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
		dv = (struct weftdv_qp_init_attr){
			.comp_mask = rows[i].mask, .create_flags = rows[i].flags,
			.send_ops_flags = rows[i].ops,
			.dc_init_attr.dc_type = WEFTDV_DCTYPE_DCT,
		};
		REFUSED(weftdv_create_qp(ctx, &attr, &dv), rows[i].error);
	}
	note(NULL);
	/* without ibv_wr_start() there is no way to use the builders */
	attr = init_attr(&a);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	dv = dv_attr(MKEY_OPS);
	REFUSED(weftdv_create_qp(ctx, &attr, &dv), EINVAL);
	/* none of the attributes: a QP like any other */
	attr = init_attr(&a);
	CHECK(weftdv_create_qp(ctx, &attr, NULL));
}

static void mkey_refused(void)
{
	struct weftdv_mkey_init_attr attr = { .pd = pd, .max_entries = 4 };

	REFUSED(weftdv_create_mkey(&attr), EINVAL);
	attr.create_flags = WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE;
	REFUSED(weftdv_create_mkey(&attr), EINVAL);
	attr.create_flags = 1 << 2 | WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT;
	REFUSED(weftdv_create_mkey(&attr), EOPNOTSUPP);
	attr.create_flags = WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT;
	attr.max_entries = 0;
	REFUSED(weftdv_create_mkey(&attr), EINVAL);
	attr.max_entries = 33;
	REFUSED(weftdv_create_mkey(&attr), EINVAL);
}

/*
 * ---- Lists and patterns ----
 */

/* three parts of two regions, the second over the border of a page */
static int three_parts(struct ibv_sge *sge)
{
	struct ibv_mr *other = ibv_reg_mr(pd, a.buf + 32768, 8192, REMOTE);

	CHECK(other);
	sge[0] = part(a.mr, 100, 10);
	sge[1] = part(other, 4096 - 50, 100);
	sge[2] = part(a.mr, 7, 1);
	return 111;
}

static void check_parts(const uint8_t *wire)
{
	SAME(memcmp(wire, a.buf + 100, 10), 0);
	SAME(memcmp(wire + 10, a.buf + 32768 + 4096 - 50, 100), 0);
	SAME(wire[110], a.buf[7]);
}

static void list_local_with(bool forced)
{
	struct weftdv_mkey *mkey;
	struct ibv_sge sge[3];
	uint8_t old[111];
	int length;

	force_packets(forced);
	make_both();
	fill(a.buf, BUF, 1);
	mkey = mkey_of(3);
	SAME(mkey->lkey, mkey->rkey);
	length = three_parts(sge);
	set_list(&a, mkey, IBV_ACCESS_LOCAL_WRITE, 3, sge);
	/* gather */
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, length, b.mr->rkey, ADDR(b, 0)), 0);
	check_parts(b.buf);
	/* scatter: bytes around the parts stay */
	fill(b.buf, length, 77);
	memcpy(old, a.buf, sizeof(old));
	SAME(rdma(IBV_WR_RDMA_READ, mkey->lkey, 0, length, b.mr->rkey, ADDR(b, 0)), 0);
	check_parts(b.buf);
	SAME(memcmp(a.buf + 8, old + 8, 92), 0);
	SAME(a.buf[110], old[110]);
	/* a part of it: the last byte of the first part, and the first of the second */
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 9, 2, b.mr->rkey, ADDR(b, 500)), 0);
	SAME(b.buf[500], a.buf[109]);
	SAME(b.buf[501], a.buf[32768 + 4096 - 50]);
	/* a receive into it */
	fill(a.buf, BUF, 2);
	fill(b.buf, length, 78);
	struct ibv_sge into = { 0, length, mkey->lkey };
	struct ibv_recv_wr recv = { .wr_id = 9, .sg_list = &into, .num_sge = 1 }, *bad;

	SAME(ibv_post_recv(a.qp, &recv, &bad), 0);
	post(&b, swr(&b, 3, IBV_WR_SEND, 0, length));
	expect_ok(b.scq, 3);
	SAME(expect_ok(a.rcq, 9).byte_len, length);
	check_parts(b.buf);
	SAME(weftdv_destroy_mkey(mkey), 0);
	force_packets(false);
}

static void list_local(void)
{
	list_local_with(false);
}

static void list_local_in_packets(void)
{
	list_local_with(true);
}

/* by the peer, whose rights are those of the mkey */
static void list_remote_with(bool forced)
{
	struct weftdv_mkey *mkey;
	struct ibv_sge sge[2];

	force_packets(forced);
	make_both();
	fill(b.buf, BUF, 1);
	mkey = mkey_of(2);
	/* longer than a packet */
	sge[0] = part(b.mr, 20000, 9000);
	sge[1] = part(b.mr, 5, 9000);
	set_list(&b, mkey, IBV_ACCESS_REMOTE_READ, 2, sge);
	SAME(rdma(IBV_WR_RDMA_READ, a.mr->lkey, ADDR(a, 0), 18000, mkey->rkey, 0), 0);
	SAME(memcmp(a.buf, b.buf + 20000, 9000), 0);
	SAME(memcmp(a.buf + 9000, b.buf + 5, 9000), 0);
	SAME(rdma(IBV_WR_RDMA_WRITE, a.mr->lkey, ADDR(a, 0), 8, mkey->rkey, 0),
	     IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	again();
	/* configured anew, without an invalidation */
	set_list(&b, mkey, REMOTE, 2, sge);
	fill(a.buf, 18000, 3);
	SAME(rdma(IBV_WR_RDMA_WRITE, a.mr->lkey, ADDR(a, 0), 18000, mkey->rkey, 0), 0);
	SAME(memcmp(a.buf, b.buf + 20000, 9000), 0);
	SAME(memcmp(a.buf + 9000, b.buf + 5, 9000), 0);
	/* one byte too many */
	SAME(rdma(IBV_WR_RDMA_WRITE, a.mr->lkey, ADDR(a, 0), 8, mkey->rkey, 17993),
	     IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
	again();
	SAME(rdma(IBV_WR_RDMA_WRITE, a.mr->lkey, ADDR(a, 0), 8, mkey->rkey, 17992), 0);
	SAME(weftdv_destroy_mkey(mkey), 0);
	force_packets(false);
}

static void list_remote(void)
{
	list_remote_with(false);
}

static void list_remote_in_packets(void)
{
	list_remote_with(true);
}

static void post_pattern(struct end *e, struct weftdv_mkey *mkey, int access, uint32_t repeat,
			 int num, struct weftdv_mr_interleaved *data)
{
	struct ibv_qp_ex *qp = wr_start(e, 700);

	weftdv_wr_mr_interleaved(dv_of(e), mkey, access, repeat, num, data);
	SAME(ibv_wr_complete(qp), 0);
}

static void interleaved(void)
{
	struct weftdv_mr_interleaved data[2];
	struct weftdv_mkey *mkey;
	int i;

	make_both();
	fill(a.buf, BUF, 1);
	mkey = mkey_of(2);
	data[0] = (struct weftdv_mr_interleaved){ ADDR(a, 0), 8, 2, a.mr->lkey };
	data[1] = (struct weftdv_mr_interleaved){ ADDR(a, 1000), 5, 100, a.mr->lkey };
	post_pattern(&a, mkey, IBV_ACCESS_LOCAL_WRITE, 3, 2, data);
	SAME(expect_ok(a.scq, 700).opcode, WEFTDV_WC_MKEY);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, 39, b.mr->rkey, ADDR(b, 0)), 0);
	for (i = 0; i < 3; i++) {
		SAME(memcmp(b.buf + 13 * i, a.buf + 10 * i, 8), 0);
		SAME(memcmp(b.buf + 13 * i + 8, a.buf + 1000 + 105 * i, 5), 0);
	}
	/* from the middle of the second pass */
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 20, 10, b.mr->rkey, ADDR(b, 100)), 0);
	SAME(memcmp(b.buf + 100, b.buf + 20, 10), 0);
	/* and back; what is skipped stays */
	fill(b.buf, 39, 9);
	SAME(rdma(IBV_WR_RDMA_READ, mkey->lkey, 0, 39, b.mr->rkey, ADDR(b, 0)), 0);
	for (i = 0; i < 3; i++)
		SAME(memcmp(b.buf + 13 * i, a.buf + 10 * i, 8), 0);
	SAME(rdma(IBV_WR_RDMA_WRITE, a.mr->lkey, ADDR(a, 8), 2, b.mr->rkey, ADDR(b, 60)), 0);
	fill(a.buf + 2000, 100, 1);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 38, 2, b.mr->rkey, ADDR(b, 0)),
	     IBV_WC_LOC_PROT_ERR);
	again();
	/* the last pass does not need room for its skip, but for its bytes */
	data[0] = (struct weftdv_mr_interleaved){ ADDR(a, BUF - 28), 8, 2, a.mr->lkey };
	post_pattern(&a, mkey, 0, 3, 1, data);
	expect_ok(a.scq, 700);
	data[0].addr++;
	post_pattern(&a, mkey, 0, 3, 1, data);
	fails(&a);
	SAME(weftdv_destroy_mkey(mkey), 0);
}

/* the most that fits: by max_inline_data, and by the mkey */
static void longest(void)
{
	struct ibv_sge sge[33];
	struct weftdv_mkey *mkey;
	struct ibv_qp_ex *qp;
	int i;

	make_both_with(512);
	fill(a.buf, BUF, 1);
	mkey = mkey_of(32);
	for (i = 0; i < 33; i++)
		sge[i] = part(a.mr, 1000 - 20 * i, 3);
	set_list(&a, mkey, 0, 32, sge);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, 96, b.mr->rkey, ADDR(b, 0)), 0);
	for (i = 0; i < 32; i++)
		SAME(memcmp(b.buf + 3 * i, a.buf + 1000 - 20 * i, 3), 0);
	qp = wr_start(&a, 1);
	weftdv_wr_mr_list(dv_of(&a), mkey, 0, 33, sge);
	SAME(ibv_wr_complete(qp), EINVAL);
	SAME(weftdv_destroy_mkey(mkey), 0);
	mkey = mkey_of(3);
	list_fails(mkey, 0, 4, sge);
	set_list(&a, mkey, 0, 3, sge);
}

static void setters(void)
{
	struct weftdv_mkey_conf_attr conf = {};
	struct weftdv_mkey *mkey;
	struct weftdv_qp_ex *dv;
	struct ibv_sge sge[9];
	struct ibv_qp_ex *qp;
	int i;

	make_both();
	for (i = 0; i < 9; i++)
		sge[i] = part(a.mr, 64 * i, 64);
	mkey = mkey_of(4);
	dv = dv_of(&a);
	/* in either order; the layout alone means: to be read here */
	qp = wr_start(&a, 700);
	weftdv_wr_mkey_configure(dv, mkey, 2, &conf);
	weftdv_wr_set_mkey_layout_list(dv, 1, sge);
	weftdv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE);
	/* and work that uses it in the same batch */
	qp->wr_id = 702;
	ibv_wr_rdma_read(qp, b.mr->rkey, ADDR(b, 0));
	ibv_wr_set_sge(qp, mkey->lkey, 0, 64);
	SAME(ibv_wr_complete(qp), 0);
	SAME(expect_ok(a.scq, 700).opcode, WEFTDV_WC_MKEY);
	expect_ok(a.scq, 702);
	qp = wr_start(&a, 700);
	weftdv_wr_mkey_configure(dv, mkey, 1, &conf);
	weftdv_wr_set_mkey_layout_list(dv, 1, sge);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(a.scq, 700);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, 64, b.mr->rkey, ADDR(b, 0)), 0);
	SAME(rdma(IBV_WR_RDMA_READ, mkey->lkey, 0, 64, b.mr->rkey, ADDR(b, 0)),
	     IBV_WC_LOC_PROT_ERR);
	again();

#define BAD(error, ...)							\
	do {								\
		qp = wr_start(&a, 1);					\
		ibv_wr_rdma_write(qp, b.mr->rkey, ADDR(b, 0));		\
		ibv_wr_set_sge(qp, a.mr->lkey, ADDR(a, 0), 8);		\
		__VA_ARGS__;						\
		SAME(ibv_wr_complete(qp), error);			\
	} while (0)
	note("builder");
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 0, &conf));
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 1, &conf));
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 1, &conf);
	    weftdv_wr_set_mkey_access_flags(dv, 0));
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 2, &conf);
	    weftdv_wr_set_mkey_layout_list(dv, 1, sge));
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 2, &conf);
	    weftdv_wr_set_mkey_layout_list(dv, 1, sge);
	    weftdv_wr_set_mkey_layout_list(dv, 1, sge));
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 1, &conf);
	    weftdv_wr_set_mkey_layout_list(dv, 1, sge);
	    weftdv_wr_set_mkey_access_flags(dv, 0));
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 2, &conf);
	    weftdv_wr_set_mkey_layout_list(dv, 1, sge);
	    ibv_wr_rdma_write(qp, b.mr->rkey, ADDR(b, 0)));
	BAD(EINVAL, weftdv_wr_set_mkey_access_flags(dv, 0));
	BAD(EINVAL, weftdv_wr_mr_list(dv, mkey, IBV_ACCESS_REMOTE_ATOMIC, 1, sge));
	BAD(EINVAL, weftdv_wr_mr_list(dv, mkey, 0, 0, sge));
	BAD(EINVAL, weftdv_wr_mr_list(dv, mkey, 0, 9, sge));
	BAD(EINVAL, weftdv_wr_mr_list(dv, mkey, 0, 1, sge);
	    ibv_wr_set_sge(qp, a.mr->lkey, ADDR(a, 0), 8));
	conf.comp_mask = 1;
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 1, &conf));
	conf = (struct weftdv_mkey_conf_attr){ .conf_flags = 1 };
	BAD(EINVAL, weftdv_wr_mkey_configure(dv, mkey, 1, &conf));
	note(NULL);
	/* nothing of them was posted; an abort takes all back */
	qp = wr_start(&a, 1);
	weftdv_wr_mr_list(dv, mkey, 0, 1, sge);
	ibv_wr_abort(qp);
	expect_no_wc(a.scq);
	check_works(&a, &b);
}

/*
 * ---- What the kernel refuses ----
 */

static void leaves_refused(void)
{
	struct weftdv_mkey *mkey, *other, *foreign;
	struct ibv_pd *pd2 = ibv_alloc_pd(ctx);
	struct ibv_mr *mr;
	struct ibv_sge sge[2];

	CHECK(pd2);
	make_both();
	mkey = mkey_of(2);
	other = mkey_of(2);
	foreign = mkey_for(pd2, 0, 2);
	sge[0] = part(a.mr, 0, 64);
	sge[1] = part(a.mr, 64, 64);
	note("unknown key");
	sge[1].lkey ^= 1;
	list_fails(mkey, 0, 2, sge);
	note("key 0");
	sge[1].lkey = 0;
	list_fails(mkey, 0, 2, sge);
	note("null MR");
	sge[1].lkey = WEFT_NULL_KEY;
	list_fails(mkey, 0, 2, sge);
	note("itself");
	sge[1] = (struct ibv_sge){ 0, 64, mkey->lkey };
	list_fails(mkey, 0, 2, sge);
	note("another mkey, which has memory");
	sge[1] = part(a.mr, 64, 64);
	set_list(&a, other, 0, 2, sge);
	sge[1] = (struct ibv_sge){ 0, 64, other->lkey };
	list_fails(mkey, 0, 2, sge);
	note("another PD");
	mr = ibv_reg_mr(pd2, a.buf, BUF, REMOTE);
	CHECK(mr);
	sge[1] = part(mr, 0, 64);
	list_fails(mkey, 0, 2, sge);
	note("an mkey of another PD");
	sge[1] = part(a.mr, 64, 64);
	list_fails(foreign, 0, 2, sge);
	note("rights");
	mr = ibv_reg_mr(pd, a.buf, BUF, 0);
	CHECK(mr);
	sge[1] = part(mr, 0, 64);
	list_fails(mkey, IBV_ACCESS_LOCAL_WRITE, 2, sge);
	list_fails(mkey, REMOTE, 2, sge);
	/* what the peer may do is a right of the mkey */
	set_list(&a, mkey, IBV_ACCESS_REMOTE_READ, 2, sge);
	SAME(rdma(IBV_WR_RDMA_READ, a.mr->lkey, ADDR(a, 512), 128, mkey->rkey, 0), 0);
	sge[1] = part(a.mr, 64, 64);
	list_fails(mkey, IBV_ACCESS_REMOTE_WRITE, 2, sge);
	note("on-demand");
	mr = ibv_reg_mr(pd, a.buf, BUF, REMOTE | IBV_ACCESS_ON_DEMAND);
	if (mr) {
		sge[1] = part(mr, 0, 64);
		list_fails(mkey, 0, 2, sge);
	}
	note("no bytes");
	sge[1] = part(a.mr, 0, 0);
	list_fails(mkey, 0, 2, sge);
	note("beyond the end");
	sge[1] = part(a.mr, BUF - 63, 64);
	list_fails(mkey, 0, 2, sge);
	sge[1] = part(a.mr, 0, -1U);
	list_fails(mkey, 0, 2, sge);
	sge[1] = (struct ibv_sge){ -64ULL, 128, a.mr->lkey };
	list_fails(mkey, 0, 2, sge);
	/* the refused requests have not changed the mkey */
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, 128, b.mr->rkey, ADDR(b, 0)), 0);
	note("a window");
	SAME(rdma(IBV_WR_RDMA_WRITE, a.mr->lkey, ADDR(a, 0), 8, foreign->rkey, 0),
	     IBV_WC_REM_ACCESS_ERR);
}

static void patterns_refused(void)
{
	static const struct {
		const char *name;
		uint32_t repeat, count, skip;
	} rows[] = {
		{ "many passes", -1U, 1, 0 },
		{ "long ones", 2, BUF / 2 + 1, 0 },
		{ "all of 32 bits", -1U, -1U, -1U },
		{ "skips", 2, 8, -1U },
		{ "skips that wrap", 1U << 31, 1, -1U },
		{ "no bytes", 1, 0, 8 },
	};
	struct weftdv_mr_interleaved data;
	struct weftdv_mkey *mkey;
	struct ibv_qp_ex *qp;
	int i;

	make_both();
	mkey = mkey_of(4);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("%s", rows[i].name);
		data = (struct weftdv_mr_interleaved){ ADDR(a, 0), rows[i].count, rows[i].skip,
						       a.mr->lkey };
		post_pattern(&a, mkey, 0, rows[i].repeat, 1, &data);
		fails(&a);
	}
	note(NULL);
	qp = wr_start(&a, 1);
	weftdv_wr_mr_interleaved(dv_of(&a), mkey, 0, 0, 1, &data);
	SAME(ibv_wr_complete(qp), EINVAL);
	/* overlapping passes of one byte, as many as there are */
	data = (struct weftdv_mr_interleaved){ ADDR(a, 0), 1, 0, a.mr->lkey };
	post_pattern(&a, mkey, 0, BUF, 1, &data);
	expect_ok(a.scq, 700);
	fill(a.buf, BUF, 4);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, BUF, b.mr->rkey, ADDR(b, 0)), 0);
	check_filled(b.buf, BUF, 4);
}

volatile struct weft_sqe *sqe_of(uint64_t wr_id)
{
	struct map maps[64];
	int i, num = all_maps(maps, 64);

	for (i = 0; i < num; i++)
		for (size_t off = 0; off + 64 <= maps[i].size; off += 64) {
			struct weft_sqe *sqe = (void *)((char *)maps[i].start + off);

			if (sqe->wr_id == wr_id && sqe->opcode == WEFT_SQE_MKEY)
				return sqe;
		}
	FAIL("no entry has the wr_id");
}

/* a hostile process writes entries that no builder writes */
static void entries_refused(void)
{
	const uint64_t id = 0x5eedf00ddeadbee5;
	volatile struct weft_sqe *sqe;
	volatile struct weft_sge *sge;
	struct weftdv_mkey *mkey;
	struct ibv_sge parts[4];
	struct ibv_qp_ex *qp;
	int i;

	make_both();
	mkey = mkey_of(4);
	for (i = 0; i < 4; i++)
		parts[i] = part(a.mr, 64 * i, 64);
	for (i = 0; i < 12; i++) {
		note("lie %d", i);
		qp = wr_start(&a, id + i);
		weftdv_wr_mr_list(dv_of(&a), mkey, 0, 4, parts);
		sqe = sqe_of(id + i);
		sge = (void *)(sqe + 1);
		switch (i) {
		case 0: sqe->mkey.flags = 1 << 3; break;
		case 1: sqe->mkey.flags = -1U; break;
		/* as skips they would have nothing but an address, of 32 bits */
		case 2: sqe->mkey.flags = 1; break;
		case 3:
			sqe->mkey.flags = 1;
			sqe->num_sge = 3;
			break;
		case 4:
			sqe->mkey.flags = 1;
			sqe->num_sge = 2;
			sge[1].length = 0;
			sge[1].lkey = 0;
			sge[1].addr = 1ULL << 32;
			break;
		case 5: sqe->mkey.passes = 0; break;
		case 6: sqe->mkey.passes = -1U; break;
		case 7: sqe->mkey.access = IBV_ACCESS_REMOTE_ATOMIC; break;
		case 8: sqe->mkey.access = -1U; break;
		case 9: sqe->num_sge = 0; break;
		case 10: sqe->mkey.key = a.mr->lkey; break;
		case 11:
			sqe->num_sge = 0;
			sqe->flags |= WEFT_SQE_INLINE;
			sqe->inline_length = 64;
			break;
		}
		SAME(ibv_wr_complete(qp), 0);
		expect_wc(a.scq, id + i, IBV_WC_MW_BIND_ERR);
		/* the next scan must not find it */
		sqe->wr_id = 0;
		again();
	}
	note(NULL);
	set_list(&a, mkey, 0, 4, parts);
}

/* Is there memory behind the mkey for an access? */
static void expect_memory(struct weftdv_mkey *mkey, bool some)
{
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, 8, b.mr->rkey, ADDR(b, 0)),
	     some ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
	if (!some)
		again();
}

/* Without memory there is no access; a region that goes or changes takes it away. */
static void life(void)
{
	struct weftdv_mkey *mkey;
	struct ibv_sge parts[2], sge;
	struct ibv_mr *mr, *mr2;

	make_both();
	mkey = mkey_of(2);
	expect_memory(mkey, false);
	mr = ibv_reg_mr(pd, a.buf, BUF, REMOTE);
	mr2 = ibv_reg_mr(pd, a.buf, BUF, REMOTE);
	CHECK(mr && mr2);
	parts[0] = part(mr, 0, 64);
	parts[1] = part(mr2, 0, 64);
	set_list(&a, mkey, 0, 2, parts);
	expect_memory(mkey, true);
	/* the other part goes with the first one */
	SAME(ibv_dereg_mr(mr), 0);
	expect_memory(mkey, false);
	set_list(&a, mkey, 0, 1, &parts[1]);
	expect_memory(mkey, true);
	SAME(ibv_rereg_mr(mr2, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
	     0);
	expect_memory(mkey, false);
	set_list(&a, mkey, 0, 1, &parts[1]);
	expect_memory(mkey, true);
	invalidate(&a, mkey);
	expect_memory(mkey, false);
	/* twice does no harm */
	invalidate(&a, mkey);
	SAME(ibv_dereg_mr(mr2), 0);
	/* a layout that a region has left may be replaced by one with others */
	mr = ibv_reg_mr(pd, a.buf, BUF, REMOTE);
	CHECK(mr);
	parts[0] = part(mr, 0, 64);
	set_list(&a, mkey, 0, 1, parts);
	parts[1] = part(a.mr, 0, 64);
	set_list(&a, mkey, 0, 1, &parts[1]);
	SAME(ibv_dereg_mr(mr), 0);
	expect_memory(mkey, true);
	/* and so does its end */
	mr = ibv_reg_mr(pd, a.buf, BUF, REMOTE);
	CHECK(mr);
	sge = part(mr, 0, 64);
	set_list(&a, mkey, 0, 1, &sge);
	SAME(weftdv_destroy_mkey(mkey), 0);
	SAME(ibv_dereg_mr(mr), 0);
	/* a process that ends leaves the rest to the kernel */
	mkey = mkey_of(1);
	sge = part(a.mr, 0, 64);
	set_list(&a, mkey, REMOTE, 1, &sge);
}

/* The peer invalidates no mkey. */
static void not_by_the_peer(void)
{
	struct weftdv_mkey *mkey;
	struct ibv_send_wr *wr;
	struct ibv_sge sge;

	make_both();
	mkey = mkey_of(1);
	sge = part(b.mr, 0, 64);
	set_list(&b, mkey, REMOTE, 1, &sge);
	post_recv(&b, 1, 0, 64);
	wr = swr(&a, 1, IBV_WR_SEND_WITH_INV, 0, 8);
	wr->invalidate_rkey = mkey->rkey;
	post(&a, wr);
	expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_wc(b.rcq, 1, IBV_WC_LOC_ACCESS_ERR);
	again();
	SAME(rdma(IBV_WR_RDMA_WRITE, a.mr->lkey, ADDR(a, 0), 8, mkey->rkey, 0), 0);
}

TESTS(
	TEST(library), TEST(data_before_poll), TEST(packet_credits), TEST(qp_refused),
	TEST(mkey_refused), TEST(list_local), TEST(list_local_in_packets), TEST(list_remote),
	TEST(list_remote_in_packets), TEST(interleaved), TEST(longest), TEST(setters),
	TEST(leaves_refused), TEST(patterns_refused), TEST(entries_refused), TEST(life),
	TEST(not_by_the_peer), TEST(signatures), TEST(signatures_in_packets),
	TEST(signatures_remote), TEST(signatures_remote_in_packets), TEST(signed_messages),
	TEST(signed_patterns), TEST(two_writers), TEST(tags), TEST(copies), TEST(errors),
	TEST(signatures_refused), TEST(signed_entries_refused), TEST(pipeline_stops),
	TEST(pipeline_stops_in_packets), TEST(pipeline_reads), TEST(pipeline_reads_in_packets),
	TEST(cancelled), TEST(cancel_refused), TEST(random_entries), TEST(changing_entries),
	TEST(random_builders)
)
