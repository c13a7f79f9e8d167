// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Errors of dynamic connections: each of them is the initiator's, and the target goes on
 * for others.
 */
#include "dc.h"

#include <pthread.h>
#include <signal.h>

#define MiB		(1UL << 20)

static struct dci i, other;
static struct dct t;

static void make_all(void)
{
	make_dci(&i);
	make_dci(&other);
	make_dct(&t);
}

/* request @id of @i has failed, and is all that has come of it; the target has not noticed */
static void fails(uint64_t id, enum ibv_wc_status status)
{
	expect_wc(i.cq, id, status);
	expect_dc_state(i.qp, IBV_QPS_ERR);
	expect_no_wc_now(i.cq);
	SAME(dc_state(t.qp), IBV_QPS_RTR);
	check_dc_works(&other, &t);
	restart(&i);
	check_dc_works(&i, &t);
}

void wrong_key(void)
{
	struct dct wrong;

	make_all();
	wrong = t;
	wrong.key ^= 1ULL << 63;
	dct_recv(&t, 1, 0, 100);
	dci_send(&i, &wrong, 2, 0, 50);
	dci_send(&i, &t, 3, 0, 50);
	expect_wc(i.cq, 2, IBV_WC_REM_ACCESS_ERR);
	expect_wc(i.cq, 3, IBV_WC_WR_FLUSH_ERR);
	restart(&i);
	/* its receive is still there */
	dci_send(&i, &t, 4, 0, 50);
	expect_ok(i.cq, 4);
	dct_got(&t, &i, 1, 50);
	wrong.key = 0;
	dci_rdma(&i, &wrong, IBV_WR_RDMA_READ, 5, 0, 50);
	fails(5, IBV_WC_REM_ACCESS_ERR);
	expect_no_event();
}

/* the rights of the target, of its regions, and those of its PD only */
void rights(void)
{
	struct dct reads;

	make_all();
	dci_rdma(&i, &(struct dct){ .qp = t.qp, .key = t.key, .buf = t.buf, .mr = i.mr },
		 IBV_WR_RDMA_WRITE, 1, 0, 50);
	fails(1, IBV_WC_REM_ACCESS_ERR);
	dci_rdma(&i, &t, IBV_WR_RDMA_WRITE, 2, BUF - 10, 10);
	expect_ok(i.cq, 2);
	dci_rdma(&i, &t, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 4, 8);
	fails(3, IBV_WC_REM_INV_REQ_ERR);

	dc_conf.access = IBV_ACCESS_REMOTE_READ;
	reads = (struct dct){};
	make_dct(&reads);
	dci_rdma(&i, &reads, IBV_WR_RDMA_READ, 4, 0, 50);
	expect_ok(i.cq, 4);
	dci_rdma(&i, &reads, IBV_WR_RDMA_WRITE, 5, 0, 50);
	fails(5, IBV_WC_REM_INV_REQ_ERR);
	dci_rdma(&i, &reads, IBV_WR_ATOMIC_CMP_AND_SWP, 6, 0, 8);
	fails(6, IBV_WC_REM_INV_REQ_ERR);
	/* an initiator without READs under way */
	dci_to(i.qp, IBV_QPS_RESET);
	dci_to(i.qp, IBV_QPS_INIT);
	dci_to(i.qp, IBV_QPS_RTR);
	dc_conf.rd = 0;
	dci_to(i.qp, IBV_QPS_RTS);
	dc_conf.rd = 4;
	dci_rdma(&i, &reads, IBV_WR_RDMA_READ, 7, 0, 50);
	fails(7, IBV_WC_LOC_QP_OP_ERR);
}

/* nobody answers: the retries are used up */
void nobody(void)
{
	struct ibv_qp plain = {};
	struct dct none;
	struct end rc;

	dc_conf.timeout = 10;
	dc_conf.retry = 2;
	make_all();
	none = t;
	none.qp = &plain;
	plain.qp_num = 0xfffff0;
	dci_send(&i, &none, 1, 0, 50);
	fails(1, IBV_WC_RETRY_EXC_ERR);
	/* QPs of other types, one of them an initiator */
	make(&rc, CONF());
	to_init(&rc);
	plain.qp_num = rc.qp->qp_num;
	dci_send(&i, &none, 2, 0, 50);
	fails(2, IBV_WC_RETRY_EXC_ERR);
	plain.qp_num = other.qp->qp_num;
	dci_send(&i, &none, 3, 0, 50);
	fails(3, IBV_WC_RETRY_EXC_ERR);
	plain.qp_num = 1;
	dci_send(&i, &none, 4, 0, 50);
	fails(4, IBV_WC_RETRY_EXC_ERR);
	/* a target that is not in RTR yet, and one that is no more */
	none = t;
	none.qp = create_dct(&t);
	dci_send(&i, &none, 5, 0, 50);
	fails(5, IBV_WC_RETRY_EXC_ERR);
	dct_to(none.qp, IBV_QPS_INIT);
	dci_send(&i, &none, 6, 0, 50);
	fails(6, IBV_WC_RETRY_EXC_ERR);
	dct_to(none.qp, IBV_QPS_RTR);
	check_dc_works(&i, &none);
	plain.qp_num = none.qp->qp_num;
	SAME(ibv_destroy_qp(none.qp), 0);
	none.qp = &plain;
	dci_send(&i, &none, 7, 0, 50);
	fails(7, IBV_WC_RETRY_EXC_ERR);
	/* an RC QP that is connected with a target gets no answer either */
	SAME(ibv_destroy_qp(rc.qp), 0);
}

/* a target on another host, or of an address that is not this device's, cannot be reached */
void other_host(void)
{
	struct ibv_ah_attr av;
	struct dci away;

	dc_conf.timeout = 10;
	dc_conf.retry = 2;
	make_all();
	av_to(&av, gid4, gid4);
	/* an address that nobody has, but the neighbour table: the script has put it there */
	av.grh.dgid.raw[15] = 99;
	if (port.link_layer == IBV_LINK_LAYER_INFINIBAND)
		av.dlid += 1000;
	away = i;
	away.ah = ibv_create_ah(pd, &av);
	CHECK(away.ah);
	dci_send(&away, &t, 1, 0, 50);
	fails(1, IBV_WC_RETRY_EXC_ERR);
	if (gid6 == gid4)
		return;
	/* another address of this host is as good */
	SAME(ibv_destroy_ah(i.ah), 0);
	i.ah = ah_to(gid6, gid6);
	check_dc_works(&i, &t);
}

void no_receives(void)
{
	make_all();
	dc_conf.rnr_retry = 2;
	dci_to(i.qp, IBV_QPS_RESET);
	dci_to(i.qp, IBV_QPS_INIT);
	dci_to(i.qp, IBV_QPS_RTR);
	dci_to(i.qp, IBV_QPS_RTS);
	dci_send(&i, &t, 1, 0, 50);
	fails(1, IBV_WC_RNR_RETRY_EXC_ERR);
	dci_rdma(&i, &t, IBV_WR_RDMA_WRITE_WITH_IMM, 2, 0, 50);
	fails(2, IBV_WC_RNR_RETRY_EXC_ERR);
	/* for ever, and then there is one */
	dci_send(&other, &t, 3, 0, 50);
	expect_no_wc(other.cq);
	dct_recv(&t, 4, 0, 50);
	expect_ok(other.cq, 3);
	dct_got(&t, &other, 4, 50);
}

/* the receive is lost, and the sender is; the target and its SRQ go on */
void too_long(void)
{
	struct ibv_wc wc;

	make_all();
	dct_recv(&t, 1, 0, 40);
	dci_send(&i, &t, 2, 0, 50);
	wc = expect_wc(t.cq, 1, IBV_WC_LOC_LEN_ERR);
	SAME(wc.qp_num, t.qp->qp_num);
	fails(2, IBV_WC_REM_INV_REQ_ERR);
	expect_no_event();
}

/* the target's own receives are wrong */
void bad_receives(void)
{
	struct ibv_sge sge = { (uintptr_t)t.buf, 100, 0x12345600 };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	make_all();
	SAME(ibv_post_srq_recv(t.srq, &wr, &bad), 0);
	dci_send(&i, &t, 2, 0, 50);
	expect_wc(t.cq, 1, IBV_WC_LOC_PROT_ERR);
	fails(2, IBV_WC_REM_OP_ERR);
}

void bad_addresses(void)
{
	struct ibv_pd *own = pd;
	struct dci wrong;

	make_all();
	wrong = i;
	pd = ibv_alloc_pd(ctx);
	CHECK(pd);
	wrong.ah = ah_to(gid4, gid4);
	pd = own;
	dci_send(&wrong, &t, 1, 0, 50);
	fails(1, IBV_WC_LOC_QP_OP_ERR);
	/* local memory of another PD */
	wrong = i;
	wrong.mr = t.mr;
	dci_send(&wrong, &t, 2, 0, 50);
	fails(2, IBV_WC_LOC_PROT_ERR);
}

/* entries of the ring that no builder writes */
static volatile struct weft_sqe *entry_of(uint64_t wr_id)
{
	struct map maps[64];
	int n, num = all_maps(maps, 64);

	for (n = 0; n < num; n++)
		for (size_t off = 0; off + 64 <= maps[n].size; off += 64) {
			struct weft_sqe *sqe = (void *)((char *)maps[n].start + off);

			if (sqe->wr_id == wr_id && sqe->dc.to.key == KEY)
				return sqe;
		}
	FAIL("no entry has the wr_id");
}

void forged(void)
{
	const uint64_t id = 0x5eedf00ddeadbee5;
	volatile struct weft_sqe *sqe;
	struct ibv_qp_ex *ex;
	int n;

	make_all();
	for (n = 0; n < 4; n++) {
		note("entry %d", n);
		ex = dci_start(&i, id);
		ibv_wr_send(ex);
		weftdv_wr_set_dc_addr(weftdv_qp_ex_from_ibv_qp_ex(ex), i.ah, t.qp->qp_num, t.key);
		ibv_wr_set_sge(ex, i.mr->lkey, (uintptr_t)i.buf, 50);
		sqe = entry_of(id);
		switch (n) {
		case 0:	/* a stream */
			sqe->dc.to.dctn |= 1u << WEFT_DC_STREAM_SHIFT;
			break;
		case 1:	/* no address handle */
			sqe->dc.to.ah_id = 0;
			break;
		case 2:
			sqe->dc.to.ah_id = ~0u;
			break;
		default:
			sqe->opcode = WEFT_SQE_LSO;
			break;
		}
		SAME(ibv_wr_complete(ex), 0);
		fails(id, IBV_WC_LOC_QP_OP_ERR);
		sqe->wr_id = 0;
	}
}

void flushed(void)
{
	make_all();
	dci_send(&i, &t, 1, 0, 50);
	dci_send(&i, &t, 2, 0, 50);
	dci_to(i.qp, IBV_QPS_ERR);
	expect_wc(i.cq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(i.cq, 2, IBV_WC_WR_FLUSH_ERR);
	dci_send(&i, &t, 3, 0, 50);
	expect_wc(i.cq, 3, IBV_WC_WR_FLUSH_ERR);
	restart(&i);
	check_dc_works(&i, &t);
}

/*
 * ---- Two at a time ----
 */

/* long messages whose pages come while they are sent, from two initiators to one target */
void paging(void)
{
	const size_t size = 24 * MiB;
	struct ibv_mr *from[2], *to;
	uint8_t *src[2], *dst;
	struct dci *both[2] = { &i, &other };
	struct ibv_qp_ex *ex;
	int n, round;

	make_all();
	dst = memory(2 * size);
	to = ibv_reg_mr(t.pd, dst, 2 * size, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(to);
	for (n = 0; n < 2; n++) {
		src[n] = memory(size);
		fill(src[n], size, n + 1);
		from[n] = ibv_reg_mr(pd, src[n], size, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
		CHECK(from[n]);
	}
	for (round = 0; round < repeat(2, 8); round++) {
		madvise(dst, 2 * size, MADV_DONTNEED);
		for (n = 0; n < 2; n++) {
			ex = dci_start(both[n], 1);
			ibv_wr_rdma_write(ex, to->rkey, (uintptr_t)dst + n * size);
			weftdv_wr_set_dc_addr(weftdv_qp_ex_from_ibv_qp_ex(ex), both[n]->ah,
					      t.qp->qp_num, t.key);
			ibv_wr_set_sge(ex, from[n]->lkey, (uintptr_t)src[n], size);
			SAME(ibv_wr_complete(ex), 0);
		}
		for (n = 0; n < 2; n++)
			expect_ok(both[n]->cq, 1);
		for (n = 0; n < 2; n++)
			check_filled(dst + n * size, size, n + 1);
	}
}

/* A message that waits between two of its parts is overtaken, and starts again then. */
void overtaken(void)
{
	const size_t part = 4 * MiB;	/* what is pinned at a time */
	uint8_t *src = memory(2 * part), *dst = memory(2 * part);
	struct ibv_mr *from, *to;
	struct ibv_qp_ex *ex;
	int fd;

	make_all();
	/* the pages of the second part are not to come with those of the first */
	madvise(src, 2 * part, MADV_NOHUGEPAGE);
	to = ibv_reg_mr(t.pd, dst, 2 * part, ACCESS_ALL);
	from = ibv_reg_mr(pd, src, 2 * part, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(to && from);
	fill(src, part, 1);
	fd = uffd_hold(src + part, part);
	ex = dci_start(&i, 1);
	ibv_wr_rdma_write(ex, to->rkey, (uintptr_t)dst);
	weftdv_wr_set_dc_addr(weftdv_qp_ex_from_ibv_qp_ex(ex), i.ah, t.qp->qp_num, t.key);
	ibv_wr_set_sge(ex, from->lkey, (uintptr_t)src, 2 * part);
	SAME(ibv_wr_complete(ex), 0);
	while (memcmp(dst + part - 64, src + part - 64, 64))
		sleep_ms(1);
	expect_no_wc(i.cq);
	check_dc_works(&other, &t);
	uffd_answer(fd, src + part, part);
	expect_ok(i.cq, 1);
	check_filled(dst, part, 1);
	check_zero(dst + part, part);
	close(fd);
}

static volatile bool over;
static volatile uint32_t number;	/* of the target */

/* Sends what fits; each error starts the initiator again. Returns the number of successes. */
static void *keep_sending(void *arg)
{
	struct dci *from = arg;
	struct dct to = t;
	struct ibv_qp qp = {};
	struct ibv_wc wc;
	long done = 0;

	to.qp = &qp;
	while (!over) {
		qp.qp_num = number;
		dci_rdma(from, &to, IBV_WR_RDMA_WRITE, 1, 0, 30000);
		dci_rdma(from, &to, IBV_WR_RDMA_READ, 2, 30000, 30000);
		wc = next_wc(from->cq);
		done += wc.status == IBV_WC_SUCCESS;
		wc = next_wc(from->cq);
		if (wc.status != IBV_WC_SUCCESS)
			restart(from);
	}
	return (void *)done;
}

/* while two send to it, the target is destroyed and made again */
void destroyed_target(void)
{
	struct dci from[2] = {};
	pthread_t threads[2];
	struct ibv_qp *old;
	void *done;
	int n;

	dc_conf.timeout = 8;
	dc_conf.retry = 1;
	make_dct(&t);
	number = t.qp->qp_num;
	make_dci(&from[0]);
	make_dci(&from[1]);
	for (n = 0; n < 2; n++)
		SAME(pthread_create(&threads[n], NULL, keep_sending, &from[n]), 0);
	for (n = 0; n < repeat(60, 400); n++) {
		sleep_ms(n % 4);
		old = t.qp;
		t.qp = create_dct(&t);
		dct_to(t.qp, IBV_QPS_INIT);
		dct_to(t.qp, IBV_QPS_RTR);
		number = t.qp->qp_num;
		sleep_ms(1);
		SAME(ibv_destroy_qp(old), 0);
	}
	over = true;
	for (n = 0; n < 2; n++) {
		SAME(pthread_join(threads[n], &done), 0);
		CHECK((long)done > 0);
	}
	check_dc_works(&from[0], &t);
}

/* processes that send to the target are killed; others go on */
void killed_initiators(void)
{
	uint32_t rkey;
	int n, k, status;
	pid_t child;

	make_all();
	rkey = t.mr->rkey;
	number = t.qp->qp_num;
	for (n = 0; n < repeat(8, 40); n++) {
		child = fork();
		if (!child) {
			struct ibv_qp qp = { .qp_num = number };
			struct ibv_mr mr = { .rkey = rkey };
			struct dct to = { .qp = &qp, .mr = &mr, .buf = t.buf, .key = t.key };
			struct dci from = {};

			open_device();
			make_dci(&from);
			for (k = 0;; k++) {
				dci_rdma(&from, &to, IBV_WR_RDMA_WRITE, k, 0, BUF);
				expect_ok(from.cq, k);
			}
		}
		CHECK(child > 0);
		sleep_ms(30 + n * 7 % 50);
		SAME(kill(child, SIGKILL), 0);
		SAME(waitpid(child, &status, 0), child);
		CHECK(WIFSIGNALED(status));
		check_dc_works(&i, &t);
	}
}

/* The device is removed while requests wait for receives; the script does it, if REMOVAL is set. */
void removed(void)
{
	if (!getenv("REMOVAL"))
		return;
	dc_conf.rnr_timer = 14;
	make_all();
	dci_send(&i, &t, 1, 0, 50);
	dci_send(&i, &t, 2, 0, 50);
	printf("running\n");
	expect_wc(i.cq, 1, IBV_WC_FATAL_ERR);
	expect_wc(i.cq, 2, IBV_WC_FATAL_ERR);
}
