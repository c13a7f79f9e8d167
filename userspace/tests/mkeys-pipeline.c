// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs that stop at a wrong signature, in front of the next fence, and work requests that are
 * cancelled there.
 */
#include "mkeys.h"

#define BLOCK		512U
#define SIGNED		(BLOCK + 4)	/* with its CRC */

/* where the peer has data, and where it has blocks with signatures */
#define PLAIN		8192
#define STREAM		16384

/* an mkey of @a for two blocks at @off, with CRC32C on the wire or in memory */
static struct weftdv_mkey *crc_mkey(size_t off, bool wire)
{
	struct weftdv_mkey *mkey = mkey_for(pd, WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE, 1);
	struct weftdv_sig_crc crc = { WEFTDV_SIG_CRC_TYPE_CRC32C, UINT32_MAX };
	struct weftdv_sig_block_domain domain = {
		.sig_type = WEFTDV_SIG_TYPE_CRC, .sig.crc = &crc,
		.block_size = WEFTDV_BLOCK_SIZE_512,
	};
	struct weftdv_sig_block_attr sig = { .check_mask = 0xff };
	struct ibv_sge sge = part(a.mr, off, 2 * (wire ? BLOCK : SIGNED));
	struct weftdv_mkey_conf_attr conf = {};
	struct ibv_qp_ex *qp = wr_start(&a, 700);

	*(wire ? &sig.wire : &sig.mem) = &domain;
	weftdv_wr_mkey_configure(dv_of(&a), mkey, 3, &conf);
	weftdv_wr_set_mkey_sig_block(dv_of(&a), &sig);
	weftdv_wr_set_mkey_access_flags(dv_of(&a), REMOTE);
	weftdv_wr_set_mkey_layout_list(dv_of(&a), 1, &sge);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(a.scq, 700);
	return mkey;
}

static bool is_wrong(struct weftdv_mkey *mkey)
{
	struct weftdv_mkey_err err = {};

	SAME(weftdv_mkey_check(mkey, &err), 0);
	return err.err_type != WEFTDV_MKEY_NO_ERR;
}

/* @a: two blocks between its mkey and the plain memory of @b, not posted yet */
static void transfer(struct ibv_qp_ex *qp, struct weftdv_mkey *mkey, bool read, size_t remote,
		     uint32_t length)
{
	if (read)
		ibv_wr_rdma_read(qp, b.mr->rkey, ADDR(b, remote));
	else
		ibv_wr_rdma_write(qp, b.mr->rkey, ADDR(b, remote));
	ibv_wr_set_sge(qp, mkey->lkey, 0, length);
}

static void answer(struct ibv_qp_ex *qp, uint64_t id, unsigned int flags, uint32_t length)
{
	qp->wr_id = id;
	qp->wr_flags = flags;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, a.mr->lkey, ADDR(a, 0), length);
}

/* the transfer 1, and behind it the answer 2 */
static void transaction(struct weftdv_mkey *mkey, bool read, size_t remote, uint32_t length,
			unsigned int fence)
{
	struct ibv_qp_ex *qp = wr_start(&a, 1);

	transfer(qp, mkey, read, remote, length);
	answer(qp, 2, IBV_SEND_SIGNALED | fence, 20);
	SAME(ibv_wr_complete(qp), 0);
}

static void good(void)
{
	expect_ok(a.scq, 1);
	expect_ok(a.scq, 2);
	SAME(expect_ok(b.rcq, 1).byte_len, 20);
}

static void stopped(struct weftdv_mkey *mkey)
{
	expect_event(IBV_EVENT_SQ_DRAINED, a.qp);
	expect_state(&a, IBV_QPS_SQD);
	expect_ok(a.scq, 1);
	expect_no_wc(a.scq);
	expect_no_wc_now(b.rcq);
	CHECK(is_wrong(mkey));
}

/* take the answer back, and give another one */
static void other_answer(void)
{
	struct ibv_qp_ex *qp;

	SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&a), 2), 1);
	SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&a), 2), 0);
	qp = wr_start(&a, 3);
	answer(qp, 3, IBV_SEND_SIGNALED | IBV_SEND_FENCE, 30);
	SAME(ibv_wr_complete(qp), 0);
	expect_no_wc_now(a.scq);
	to_state(&a, IBV_QPS_RTS);
	SAME(expect_ok(a.scq, 2).opcode, IBV_WC_SEND);
	SAME(expect_ok(a.scq, 3).opcode, IBV_WC_SEND);
	SAME(expect_ok(b.rcq, 1).byte_len, 30);
}

static void stops(bool read)
{
	const size_t remote = read ? STREAM : PLAIN;
	const uint32_t length = 2 * (read ? SIGNED : BLOCK);
	struct weftdv_mkey *mkey;
	uint8_t *byte;

	make_pipelined();
	/* its change makes the second signature wrong */
	byte = read ? b.buf + STREAM + SIGNED + 9 : a.buf + 1024 + SIGNED + 9;
	mkey = crc_mkey(1024, read);
	/* the signatures that are to be checked are made by the way back */
	fill(read ? a.buf + 1024 : b.buf + PLAIN, 2 * BLOCK, 7);
	SAME(rdma(read ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, mkey->lkey, 0, length,
		  b.mr->rkey, ADDR(b, remote)), 0);

	post_recv(&b, 1, 0, 64);
	transaction(mkey, read, remote, length, IBV_SEND_FENCE);
	good();
	expect_state(&a, IBV_QPS_RTS);
	CHECK(!is_wrong(mkey));

	*byte ^= 1;
	post_recv(&b, 1, 0, 64);
	transaction(mkey, read, remote, length, IBV_SEND_FENCE);
	stopped(mkey);
	other_answer();

	post_recv(&b, 1, 0, 64);
	if (!read) {
		/* an answer without a fence does not wait */
		transaction(mkey, read, remote, length, 0);
		good();
		expect_state(&a, IBV_QPS_RTS);
		post_recv(&b, 2, 0, 64);
		answer(wr_start(&a, 4), 4, IBV_SEND_SIGNALED | IBV_SEND_FENCE, 1);
		SAME(ibv_wr_complete(ibv_qp_to_qp_ex(a.qp)), 0);
		expect_event(IBV_EVENT_SQ_DRAINED, a.qp);
		expect_no_wc(a.scq);
		/* the process may go on */
		to_state(&a, IBV_QPS_RTS);
		expect_ok(a.scq, 4);
		expect_ok(b.rcq, 2);
		CHECK(is_wrong(mkey));
		post_recv(&b, 1, 0, 64);
	}
	*byte ^= 1;
	transaction(mkey, read, remote, length, IBV_SEND_FENCE);
	good();
	CHECK(!is_wrong(mkey));
}

void pipeline_stops(void)
{
	stops(false);
}

void pipeline_stops_in_packets(void)
{
	force_packets(true);
	stops(false);
}

void pipeline_reads(void)
{
	stops(true);
}

void pipeline_reads_in_packets(void)
{
	force_packets(true);
	stops(true);
}

/* a wrong signature, and the QP in SQD in front of whatever @fill_queue posts next, with a fence */
static struct weftdv_mkey *stop_now(void)
{
	struct weftdv_mkey *mkey;

	make_pipelined();
	mkey = crc_mkey(1024, false);
	memset(a.buf + 1024, 0xa5, 2 * SIGNED);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, 2 * BLOCK, b.mr->rkey, ADDR(b, PLAIN)), 0);
	return mkey;
}

/* several at once, inline or not, with completions or not, and others between them */
void cancelled(void)
{
	struct ibv_qp_ex *qp;
	int wire, i;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		CHECK(is_wrong(stop_now()));
		stop_now();
		for (i = 0; i < 3; i++)
			post_recv(&b, i, 0, 64);
		fill(a.buf, 30, 3);
		qp = wr_start(&a, 5);
		answer(qp, 5, IBV_SEND_SIGNALED | IBV_SEND_FENCE, 10);
		answer(qp, 6, IBV_SEND_SIGNALED, 11);
		answer(qp, 5, 0, 12);
		qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		ibv_wr_send(qp);
		ibv_wr_set_inline_data(qp, a.buf, 13);
		answer(qp, 7, IBV_SEND_SIGNALED, 14);
		SAME(ibv_wr_complete(qp), 0);
		expect_event(IBV_EVENT_SQ_DRAINED, a.qp);
		SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&a), 8), 0);
		SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&a), 5), 3);
		to_state(&a, IBV_QPS_RTS);
		expect_ok(a.scq, 5);
		expect_ok(a.scq, 6);
		expect_ok(a.scq, 5);
		expect_ok(a.scq, 7);
		SAME(expect_ok(b.rcq, 0).byte_len, 11);
		SAME(expect_ok(b.rcq, 1).byte_len, 14);
		expect_no_wc(b.rcq);
		/* in ERR they are flushed like others */
		stop_now();
		qp = wr_start(&a, 5);
		answer(qp, 5, IBV_SEND_SIGNALED | IBV_SEND_FENCE, 10);
		SAME(ibv_wr_complete(qp), 0);
		expect_event(IBV_EVENT_SQ_DRAINED, a.qp);
		SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&a), 5), 1);
		to_state(&a, IBV_QPS_ERR);
		expect_wc(a.scq, 5, IBV_WC_WR_FLUSH_ERR);
		/* and RESET forgets that a signature was wrong */
		to_state(&a, IBV_QPS_RESET);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
		post_recv(&b, 1, 0, 64);
		answer(wr_start(&a, 2), 2, IBV_SEND_SIGNALED | IBV_SEND_FENCE, 10);
		SAME(ibv_wr_complete(ibv_qp_to_qp_ex(a.qp)), 0);
		expect_ok(a.scq, 2);
		expect_ok(b.rcq, 1);
	}
	force_packets(false);
}

void cancel_refused(void)
{
	make_pipelined();
	SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&a), 1), -EINVAL);
	to_state(&a, IBV_QPS_SQD);
	SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&a), 1), 0);
	to_state(&a, IBV_QPS_ERR);
	SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&a), 1), -EINVAL);
	/* created without the flag */
	to_state(&b, IBV_QPS_SQD);
	SAME(weftdv_qp_cancel_posted_send_wrs(dv_of(&b), 1), -EOPNOTSUPP);
}
