// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection information as a kernel consumer uses it through the RDMA core: one end registers
 * memory with it, and the bytes of the wire are in plain memory at the other end. Locally and in
 * packets, by the owner's requests and by the peer's. What the tuples have to be is pi_kunit.c's
 * business.
 */
#include <linux/random.h>
#include <linux/scatterlist.h>

#include "consumer.h"
#include "object/dev.h"

#define INTERVAL	512
#define BLOCKS		8
#define DATA		(BLOCKS * INTERVAL)
#define META		(BLOCKS * 8)
#define WIRE		(DATA + META)
#define STRIDE		(INTERVAL + 8)
#define PI_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

/* The priv of a test is the consumer, whose owner is end 0. */
struct integrity {
	struct consumer		*consumer;
	struct ib_mr		*peer_mr;	/* all of the kernel's memory */
	u8			*data;
	u8			*meta;
	u8			*wire;
	u32			posted;		/* work requests of the owner */
};

struct integrity_row {
	const char		*name;
	bool			local;		/* not in packets */
	bool			by_peer;	/* the peer's requests move the data */
	bool			mem;		/* the domain has tuples */
	bool			wire;
	bool			csum;		/* the guard in memory is a checksum */
};

#define ROWS(_name, _mem, _wire, _csum)					\
	{ "local, " _name, true, false, _mem, _wire, _csum },		\
	{ "packets, " _name, false, false, _mem, _wire, _csum },	\
	{ "local, peer, " _name, true, true, _mem, _wire, _csum },	\
	{ "packets, peer, " _name, false, true, _mem, _wire, _csum }

static const struct integrity_row integrity_rows[] = {
	ROWS("pass", true, true, false),
	ROWS("pass, checksums", true, true, true),
	ROWS("wire", false, true, false),
	ROWS("memory", true, false, false),
};

static void integrity_desc(const struct integrity_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(integrity, integrity_rows, integrity_desc);

static void integrity_exit(struct kunit *test)
{
	struct integrity *integrity = test->priv;

	if (!integrity || !integrity->consumer)
		return;
	to_weft_dev(consumer_dev)->local_link = true;
	if (!IS_ERR_OR_NULL(integrity->peer_mr))
		consumer_dev->ops.dereg_mr(integrity->peer_mr, NULL);
	test->priv = integrity->consumer;
	consumer_exit(test);
}

static struct integrity *integrity_create(struct kunit *test, bool local)
{
	struct integrity *integrity = kunit_kzalloc(test, sizeof(*integrity), GFP_KERNEL);
	struct consumer *consumer;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, integrity);
	if (!(consumer_dev->attrs.kernel_cap_flags & IBK_INTEGRITY_HANDOVER))
		kunit_skip(test, "the kernel has no CRC of T10-DIF");
	to_weft_dev(consumer_dev)->local_link = local;
	consumer = consumer_create(test);
	integrity->consumer = consumer;
	test->priv = integrity;
	for (i = 0; i < 2; i++)
		consumer->end[i].create_flags = IB_QP_CREATE_INTEGRITY_EN;
	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	consumer_make_qps(test, consumer);
	consumer_connect(test, consumer, IB_QPS_RTS);
	consumer->mr = ib_alloc_mr_integrity(consumer->pd, 4, 4);
	KUNIT_ASSERT_FALSE(test, IS_ERR(consumer->mr));
	integrity->peer_mr = consumer_dev->ops.get_dma_mr(consumer->pd, PI_RIGHTS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(integrity->peer_mr));
	integrity->data = kunit_kzalloc(test, DATA, GFP_KERNEL);
	integrity->meta = kunit_kzalloc(test, META, GFP_KERNEL);
	integrity->wire = kunit_kzalloc(test, WIRE, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, integrity->data && integrity->meta && integrity->wire);
	get_random_bytes(integrity->data, DATA);
	return integrity;
}

static struct ib_sig_domain integrity_domain(bool tuples, bool csum)
{
	return (struct ib_sig_domain){
		.sig_type = tuples ? IB_SIG_TYPE_T10_DIF : IB_SIG_TYPE_NONE,
		.sig.dif = {
			.bg_type = csum ? IB_T10DIF_CSUM : IB_T10DIF_CRC,
			.pi_interval = INTERVAL,
			.app_tag = 0x4711,
			.ref_tag = 100,
			.ref_remap = true,
			.app_escape = true,
			.apptag_check_mask = 0xffff,
		},
	};
}

static void integrity_map(struct kunit *test, struct integrity *integrity, bool mem)
{
	struct scatterlist data, meta;

	sg_init_one(&data, integrity->data, DATA);
	sg_init_one(&meta, integrity->meta, META);
	KUNIT_ASSERT_EQ(test, 1, ib_dma_map_sg(consumer_dev, &data, 1, DMA_BIDIRECTIONAL));
	KUNIT_ASSERT_EQ(test, 1, ib_dma_map_sg(consumer_dev, &meta, 1, DMA_BIDIRECTIONAL));
	KUNIT_ASSERT_EQ(test, 0, ib_map_mr_sg_pi(integrity->consumer->mr, &data, 1, NULL,
						 mem ? &meta : NULL, mem, NULL, SZ_4K));
	KUNIT_EXPECT_EQ(test, 0ULL, integrity->consumer->mr->iova);
	KUNIT_EXPECT_EQ(test, (u64)DATA + (mem ? META : 0), integrity->consumer->mr->length);
	KUNIT_EXPECT_EQ(test, mem ? META : 0, integrity->consumer->mr->sig_attrs->meta_length);
}

/* Post as the owner's next work request, and wait for it. */
static void integrity_post(struct kunit *test, struct integrity *integrity, struct ib_send_wr *wr)
{
	struct consumer_end *owner = &integrity->consumer->end[0];

	wr->wr_cqe = &owner->send.wr[integrity->posted++].cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(owner->qp, wr, NULL));
	KUNIT_ASSERT_TRUE(test, consumer_wait(owner, &owner->send, integrity->posted));
	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, owner->send.last.status);
}

static struct ib_reg_wr integrity_reg_wr(struct integrity *integrity)
{
	struct ib_mr *mr = integrity->consumer->mr;

	return (struct ib_reg_wr){
		.wr.opcode = IB_WR_REG_MR_INTEGRITY,
		.mr = mr,
		.key = mr->rkey,
		.access = PI_RIGHTS,
	};
}

/* Map and register as @row says, with a new key. As some consumers do, set the attributes last. */
static void integrity_register(struct kunit *test, struct integrity *integrity,
			       const struct integrity_row *row)
{
	struct ib_mr *mr = integrity->consumer->mr;
	struct ib_reg_wr reg;

	integrity_map(test, integrity, row->mem);
	mr->sig_attrs->check_mask = IB_SIG_CHECK_GUARD | IB_SIG_CHECK_REFTAG | IB_SIG_CHECK_APPTAG;
	mr->sig_attrs->mem = integrity_domain(row->mem, row->csum);
	mr->sig_attrs->wire = integrity_domain(row->wire, false);
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	reg = integrity_reg_wr(integrity);
	integrity_post(test, integrity, &reg.wr);
}

static void integrity_invalidate(struct kunit *test, struct integrity *integrity)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = integrity->consumer->mr->rkey,
	};

	integrity_post(test, integrity, &wr);
}

/* Move the data from the owner to @wire, or with @back from there to the owner. */
static void integrity_move(struct kunit *test, struct integrity *integrity,
			   const struct integrity_row *row, bool back)
{
	struct consumer_end *end = &integrity->consumer->end[row->by_peer];
	struct ib_mr *mr = integrity->consumer->mr;
	u64 wire = ib_dma_map_single(consumer_dev, integrity->wire, WIRE, DMA_BIDIRECTIONAL);
	struct ib_sge sge = { .addr = mr->iova, .length = mr->length, .lkey = mr->lkey };
	struct ib_rdma_wr wr = {
		.wr.opcode = back == row->by_peer ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = wire,
		.rkey = integrity->peer_mr->rkey,
	};
	u32 done = consumer_counted(&end->send.done);

	/* as rdma_rw_ctx_signature_init() does */
	if (!row->wire)
		sge.length -= mr->sig_attrs->meta_length;
	if (!row->by_peer) {
		integrity_post(test, integrity, &wr.wr);
		return;
	}
	sge.addr = wire;
	sge.lkey = end->qp->pd->local_dma_lkey;
	sge.length = row->wire ? WIRE : DATA;
	wr.remote_addr = mr->iova;
	wr.rkey = mr->rkey;
	wr.wr.wr_cqe = &end->send.wr[done].cqe;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(end->qp, &wr.wr, NULL));
	KUNIT_ASSERT_TRUE(test, consumer_wait(end, &end->send, done + 1));
	KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, end->send.last.status);
}

/* Expect the error @type in @block, or with @block -1 none. */
static void integrity_expect(struct kunit *test, struct integrity *integrity, int block,
			     enum ib_sig_err_type type)
{
	struct ib_mr_status status;

	KUNIT_ASSERT_EQ(test, 0, ib_check_mr_status(integrity->consumer->mr, IB_MR_CHECK_SIG_STATUS,
						    &status));
	KUNIT_ASSERT_EQ(test, block < 0 ? 0U : IB_MR_CHECK_SIG_STATUS, status.fail_status);
	if (block < 0)
		return;
	KUNIT_EXPECT_EQ(test, (int)type, (int)status.sig_err.err_type);
	KUNIT_EXPECT_EQ(test, block, (int)(status.sig_err.sig_err_offset / STRIDE));
	KUNIT_EXPECT_EQ(test, integrity->consumer->mr->lkey, status.sig_err.key);
}

/* Register, move, and expect an error in @block; then invalidate. */
static void integrity_cycle(struct kunit *test, struct integrity *integrity,
			    const struct integrity_row *row, bool back, int block,
			    enum ib_sig_err_type type)
{
	integrity_register(test, integrity, row);
	integrity_move(test, integrity, row, back);
	integrity_invalidate(test, integrity);
	integrity_expect(test, integrity, block, type);
}

/* Let one side make all tuples: those of memory from data on the wire. */
static void integrity_fill_meta(struct kunit *test, struct integrity *integrity,
				const struct integrity_row *row)
{
	struct integrity_row fill = *row;

	fill.wire = false;
	memcpy(integrity->wire, integrity->data, DATA);
	integrity_cycle(test, integrity, &fill, true, -1, 0);
}

/* There and back, then with damage on either side. */
static void moves_and_checks(struct kunit *test)
{
	const struct integrity_row *row = test->param_value;
	struct integrity *integrity = integrity_create(test, row->local);
	u8 *good = kunit_kzalloc(test, DATA + META, GFP_KERNEL), *second;

	KUNIT_ASSERT_NOT_NULL(test, good);
	if (row->mem)
		integrity_fill_meta(test, integrity, row);
	memcpy(good, integrity->data, DATA);
	memcpy(good + DATA, integrity->meta, META);
	integrity_cycle(test, integrity, row, false, -1, 0);
	second = integrity->wire + (row->wire ? STRIDE : INTERVAL);
	KUNIT_EXPECT_EQ(test, 0, memcmp(good + INTERVAL, second, INTERVAL));
	memset(integrity->data, 0, DATA);
	memset(integrity->meta, 0, META);
	integrity_cycle(test, integrity, row, true, -1, 0);
	KUNIT_EXPECT_EQ(test, 0, memcmp(good, integrity->data, DATA));
	KUNIT_EXPECT_EQ(test, 0, memcmp(good + DATA, integrity->meta, META));
	if (row->mem) {
		integrity->meta[8 * 5 + 7] ^= 1;
		integrity->meta[8 * 6 + 1] ^= 1;
		integrity_cycle(test, integrity, row, false, 5, IB_SIG_BAD_REFTAG);
		integrity->meta[8 * 5 + 7] ^= 1;
		integrity->data[INTERVAL * 7 + 1] ^= 1;
		integrity_cycle(test, integrity, row, false, 6, IB_SIG_BAD_GUARD);
		memcpy(integrity->meta, good + DATA, META);
		memcpy(integrity->data, good, DATA);
	}
	if (row->wire) {
		integrity_cycle(test, integrity, row, false, -1, 0);
		integrity->wire[STRIDE * 7 + INTERVAL + 3] ^= 1;
		integrity_cycle(test, integrity, row, true, 7, IB_SIG_BAD_APPTAG);
		integrity->wire[STRIDE * 3 + 9] ^= 1;
		integrity_cycle(test, integrity, row, true, 3, IB_SIG_BAD_GUARD);
	}
}

static void tells_what_it_can(struct kunit *test)
{
	struct ib_device_attr *attrs = &consumer_dev->attrs;

	integrity_create(test, true);
	KUNIT_EXPECT_EQ(test, attrs->sig_prot_cap, IB_PROT_T10DIF_TYPE_1 | IB_PROT_T10DIF_TYPE_2 |
						   IB_PROT_T10DIF_TYPE_3);
	KUNIT_EXPECT_EQ(test, attrs->sig_guard_cap, IB_GUARD_T10DIF_CRC | IB_GUARD_T10DIF_CSUM);
	KUNIT_EXPECT_NE(test, attrs->max_pi_fast_reg_page_list_len, 0U);
}

static void allocations_are_bounded(struct kunit *test)
{
	struct integrity *integrity = integrity_create(test, true);
	u32 max = consumer_dev->attrs.max_pi_fast_reg_page_list_len;
	struct ib_pd *pd = integrity->consumer->pd;
	struct scatterlist sg[5];
	struct ib_mr *mr;

	KUNIT_EXPECT_EQ(test, -EINVAL, (int)PTR_ERR(ib_alloc_mr_integrity(pd, max + 1, 1)));
	KUNIT_EXPECT_EQ(test, -EINVAL, (int)PTR_ERR(ib_alloc_mr_integrity(pd, 1, max + 1)));
	KUNIT_EXPECT_EQ(test, -EINVAL, (int)PTR_ERR(ib_alloc_mr_integrity(pd, 0, 1)));
	KUNIT_EXPECT_EQ(test, -EINVAL, (int)PTR_ERR(ib_alloc_mr_integrity(pd, 1, 0)));
	mr = ib_alloc_mr_integrity(pd, max, max);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	ib_dereg_mr(mr);
	sg_init_table(sg, 5);
	KUNIT_EXPECT_EQ(test, -ENOMEM, ib_map_mr_sg_pi(integrity->consumer->mr, sg, 5, NULL, sg, 1,
						       NULL, SZ_4K));
	KUNIT_EXPECT_EQ(test, -ENOMEM, ib_map_mr_sg_pi(integrity->consumer->mr, sg, 1, NULL, sg, 5,
						       NULL, SZ_4K));
}

/* Expect that posting fails. */
static void integrity_refuses(struct kunit *test, struct integrity *integrity, struct ib_qp *qp,
			      struct ib_reg_wr *wr)
{
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_post_send(qp, &wr->wr, NULL));
}

static void registrations_are_refused(struct kunit *test)
{
	struct integrity *integrity = integrity_create(test, true);
	struct ib_qp *qp = integrity->consumer->end[0].qp;
	struct ib_mr *mr = integrity->consumer->mr, *plain;
	struct ib_reg_wr reg = integrity_reg_wr(integrity);
	struct ib_sge sge = {};

	integrity_map(test, integrity, true);
	/* no attributes */
	integrity_refuses(test, integrity, qp, &reg);
	mr->sig_attrs->mem = integrity_domain(true, false);
	reg.access |= IB_ACCESS_REMOTE_ATOMIC;
	integrity_refuses(test, integrity, qp, &reg);
	reg.access = PI_RIGHTS;
	reg.wr.num_sge = 1;
	reg.wr.sg_list = &sge;
	integrity_refuses(test, integrity, qp, &reg);
	reg.wr.num_sge = 0;
	reg.wr.opcode = IB_WR_REG_MR;
	integrity_refuses(test, integrity, qp, &reg);
	plain = ib_alloc_mr(integrity->consumer->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(plain));
	reg.mr = plain;
	reg.wr.opcode = IB_WR_REG_MR_INTEGRITY;
	integrity_refuses(test, integrity, qp, &reg);
	ib_dereg_mr(plain);
	/* it is good otherwise, but a second one has to wait for the status of the first */
	reg.mr = mr;
	integrity_post(test, integrity, &reg.wr);
	integrity_refuses(test, integrity, qp, &reg);
	integrity_invalidate(test, integrity);
	integrity_refuses(test, integrity, qp, &reg);
	integrity_expect(test, integrity, -1, 0);
	integrity_map(test, integrity, true);
	integrity_post(test, integrity, &reg.wr);
}

static void others_have_no_status(struct kunit *test)
{
	struct integrity *integrity = integrity_create(test, true);
	struct ib_mr_status status;
	struct scatterlist sg;
	struct ib_mr *plain;

	KUNIT_EXPECT_EQ(test, -EINVAL, ib_check_mr_status(integrity->consumer->mr, 2, &status));
	plain = ib_alloc_mr(integrity->consumer->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(plain));
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_check_mr_status(plain, IB_MR_CHECK_SIG_STATUS, &status));
	ib_dereg_mr(plain);
	sg_init_one(&sg, integrity->data, DATA);
	ib_dma_map_sg(consumer_dev, &sg, 1, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, -EINVAL, consumer_dev->ops.map_mr_sg(integrity->consumer->mr, &sg, 1,
								   NULL));
}

/* The flag is for RC, and a QP without it cannot register. */
static void qps_need_the_flag(struct kunit *test)
{
	struct integrity *integrity = integrity_create(test, true);
	struct consumer_end *end = &integrity->consumer->end[0];
	struct ib_qp_init_attr attr = consumer_qp_attr(end);
	struct ib_reg_wr reg = integrity_reg_wr(integrity);
	struct ib_qp *qp;

	attr.qp_type = IB_QPT_UC;
	qp = ib_create_qp(integrity->consumer->pd, &attr);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, (int)PTR_ERR(qp));
	attr = consumer_qp_attr(end);
	attr.create_flags = 0;
	qp = ib_create_qp(integrity->consumer->pd, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(qp));
	ib_destroy_qp(end->qp);
	end->qp = qp;
	KUNIT_ASSERT_EQ(test, 0, consumer_modify(qp, IB_QPS_INIT, 0));
	KUNIT_ASSERT_EQ(test, 0, consumer_modify(qp, IB_QPS_RTR,
						 integrity->consumer->end[1].qp->qp_num));
	KUNIT_ASSERT_EQ(test, 0, consumer_modify(qp, IB_QPS_RTS, 0));
	integrity_map(test, integrity, true);
	integrity->consumer->mr->sig_attrs->mem = integrity_domain(true, false);
	integrity_refuses(test, integrity, qp, &reg);
}

/* Beyond the last tuple on the wire there is no memory. */
static void bounds_are_those_of_the_wire(struct kunit *test)
{
	static const struct integrity_row row = {
		.local = true, .by_peer = true, .mem = true, .wire = true,
	};
	struct integrity *integrity = integrity_create(test, true);
	struct consumer_end *peer = &integrity->consumer->end[1];

	integrity_register(test, integrity, &row);
	KUNIT_ASSERT_EQ(test, 0, consumer_post_rdma(peer, 0, IB_WR_RDMA_READ, WIRE - 8,
						    integrity->consumer->mr->rkey, 8));
	KUNIT_ASSERT_TRUE(test, consumer_wait(peer, &peer->send, 1));
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, peer->send.last.status);
	KUNIT_ASSERT_EQ(test, 0, consumer_post_rdma(peer, 1, IB_WR_RDMA_READ, WIRE - 8,
						    integrity->consumer->mr->rkey, 9));
	KUNIT_ASSERT_TRUE(test, consumer_wait(peer, &peer->send, 2));
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR, peer->send.last.status);
}

static struct kunit_case integrity_cases[] = {
	KUNIT_CASE(tells_what_it_can),
	KUNIT_CASE_PARAM(moves_and_checks, integrity_gen_params),
	KUNIT_CASE(allocations_are_bounded),
	KUNIT_CASE(registrations_are_refused),
	KUNIT_CASE(others_have_no_status),
	KUNIT_CASE(qps_need_the_flag),
	KUNIT_CASE(bounds_are_those_of_the_wire),
	{}
};

static struct kunit_suite integrity_suite = {
	.name = "weft_integrity",
	.suite_init = consumer_suite_init,
	.suite_exit = consumer_suite_exit,
	.exit = integrity_exit,
	.test_cases = integrity_cases,
};

kunit_test_suite(integrity_suite);
