// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process whose threads write to the queues that rdma_rxe's provider shares with the kernel, all
 * at once: indexes, entries, and good entries in between; and they resize and arm the queues
 * meanwhile. The process may only harm itself: a witness works all the time.
 */
#include "rxequeues.h"
#include "witness.h"

#include <pthread.h>

#define ROOM	65536		/* address space of a queue */
#define SHARED	8192		/* bytes that it has at least, however it is resized */

struct shared {
	char		*start;		/* its address stays when it is resized */
	struct ibv_cq	*cq;
	struct ibv_srq	*srq;
};

static struct shared shared[16];
static int num_shared;
static struct end liars[4];
static volatile bool over;

/* Let the queue have an address where a larger one has room, too. */
static void share(volatile struct rxe_queue_buf *q, struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct map maps[64];
	int i, num = all_maps(maps, 64);
	char *room = memory(ROOM);

	for (i = 0; i < num && maps[i].start != q; i++)
		;
	CHECK(i < num && maps[i].size <= ROOM);
	CHECK(mmap(room, maps[i].size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, ctx->cmd_fd,
		   maps[i].offset) == room);
	CHECK(num_shared < ARRAY_SIZE(shared));
	shared[num_shared++] = (struct shared){ room, cq, srq };
}

/* Resize a queue as the provider does, and map the new one over the old one. */
static void resize(struct shared *queue, uint32_t entries)
{
	struct {
		struct ib_uverbs_resize_cq_resp core;
		struct mminfo info;
	} resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		union {
			struct ib_uverbs_resize_cq cq;
			struct {
				struct ib_uverbs_modify_srq core;
				struct rxe_modify_srq_cmd rxe;
			} srq;
		};
	} req = {};
	size_t size = sizeof(req.hdr);

	if (queue->cq) {
		size += sizeof(req.cq);
		req.hdr.command = IB_USER_VERBS_CMD_RESIZE_CQ;
		req.hdr.out_words = sizeof(resp) / 4;
		req.cq.response = (uintptr_t)&resp;
		req.cq.cq_handle = queue->cq->handle;
		req.cq.cqe = entries;
	} else {
		size += sizeof(req.srq);
		req.hdr.command = IB_USER_VERBS_CMD_MODIFY_SRQ;
		req.srq.core.srq_handle = queue->srq->handle;
		req.srq.core.attr_mask = IBV_SRQ_MAX_WR;
		req.srq.core.max_wr = entries;
		req.srq.rxe.mmap_info_addr = (uintptr_t)&resp.info;
	}
	req.hdr.in_words = size / 4;
	if (write(ctx->cmd_fd, &req, size) == (ssize_t)size && resp.info.size <= ROOM)
		mmap(queue->start, resp.info.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     ctx->cmd_fd, resp.info.offset);
}

static const uint32_t junk[] = { 0, 1, 2, 8, 32, 33, 256, 0x7fffffff, 0xffffffff };

static void *scribble(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	uint32_t *word;
	size_t off;

	while (!over) {
		/* the indexes as often as all the rest */
		off = rand_r(&seed) % (rand_r(&seed) % 2 ? 384 : SHARED) & ~3UL;
		word = (uint32_t *)(shared[rand_r(&seed) % num_shared].start + off);
		switch (rand_r(&seed) % 4) {
		case 0:
			*word = rand_r(&seed);
			break;
		case 1:
			*word += 1;
			break;
		case 2:
			*word = junk[rand_r(&seed) % ARRAY_SIZE(junk)];
			break;
		case 3:
			*(uint8_t *)word = rand_r(&seed);
			break;
		}
	}
	return NULL;
}

/* good entries again and again, so that much of what is wrong is wrong in one field only */
static void *repair(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	struct rxe_queue_buf *q;
	struct rxe_send_wqe *wqe;
	struct end *e;
	int i;

	while (!over) {
		i = rand_r(&seed) % ARRAY_SIZE(liars);
		e = &liars[i];
		q = (void *)shared[i * 3].start;
		/* the send queue, which has 32 slots */
		wqe = (void *)(q->data + (rand_r(&seed) % 32) * 512);
		wqe->wr.opcode = rand_r(&seed) % 7;
		wqe->wr.send_flags = IBV_SEND_SIGNALED;
		wqe->wr.wr.rdma.remote_addr = (uintptr_t)e->buf;
		wqe->wr.wr.rdma.rkey = e->mr->rkey;
		wqe->dma.num_sge = 1;
		wqe->dma.sge[0].addr = (uintptr_t)e->buf;
		wqe->dma.sge[0].length = rand_r(&seed) % BUF;
		wqe->dma.sge[0].lkey = e->mr->lkey;
		q->producer_index += rand_r(&seed) % 3;
		ring(e);
	}
	return NULL;
}

static void *resize_all(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	struct shared *queue;

	while (!over) {
		queue = &shared[rand_r(&seed) % num_shared];
		if (queue->cq && rand_r(&seed) % 2)
			ibv_req_notify_cq(queue->cq, rand_r(&seed) % 2);
		else if (queue->cq || queue->srq)
			resize(queue, 100 + rand_r(&seed) % 150);
	}
	return NULL;
}

static void step_to(struct end *x, struct end *y, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = step_attr(x, state == IBV_QPS_RTR ? y : NULL, state);

	/* it fails if the other threads have broken the QP meanwhile; then the next try repairs it */
	ibv_modify_qp(x->qp, &attr, step_mask(x, state));
}

static void reconnect(struct end *x, struct end *y)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
	};
	int i;

	if (state_of(x) == IBV_QPS_RTS && state_of(y) == IBV_QPS_RTS)
		return;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		step_to(x, y, states[i]);
		step_to(y, x, states[i]);
	}
}

static void liar(unsigned int seed, int ms)
{
	static void *(* const threads[])(void *) = { scribble, scribble, repair, resize_all };
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 200, .max_sge = 2 } };
	volatile struct rxe_queue_buf *srq_queue;
	struct queues queues[ARRAY_SIZE(liars)];
	struct map old[64];
	pthread_t thread;
	struct ibv_srq *srq;
	uint64_t end;
	uintptr_t i;

	open_device();
	new_maps(old, 64);
	srq = ibv_create_srq(pd, &attr);
	CHECK(srq);
	find_queues(&srq_queue, NULL);
	for (i = 0; i < ARRAY_SIZE(liars); i++) {
		make_seen(&liars[i], &queues[i], CONF(.srq = i == 3 ? srq : NULL));
		SAME(queues[i].sq->log2_elem_size, 9);
		SAME(queues[i].sq->index_mask, 31);
	}
	/* only now: an address of share() is one more mapping for make_seen() */
	for (i = 0; i < ARRAY_SIZE(liars); i++) {
		share(queues[i].sq, NULL, NULL);
		share(queues[i].scq, liars[i].scq, NULL);
		share(queues[i].rcq, liars[i].rcq, NULL);
	}
	share(srq_queue, NULL, srq);
	for (i = 0; i < 3; i++)
		share(queues[i].rq, NULL, NULL);
	connect_ends(&liars[0], &liars[1]);
	connect_ends(&liars[2], &liars[3]);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		SAME(pthread_create(&thread, NULL, threads[i], (void *)(seed * 10 + i)), 0);
	end = now_ns() + ms * 1000000ULL;
	while (now_ns() < end) {
		reconnect(&liars[0], &liars[1]);
		reconnect(&liars[2], &liars[3]);
		sleep_ms(1);
	}
	over = true;
	_exit(0);
}

static void all_at_once(void)
{
	unsigned int seed = getenv("WEFT_SEED") ? atoi(getenv("WEFT_SEED")) : 1;
	int i, rounds = repeat(3, 40);
	pid_t pid;

	witness_start();
	for (i = 0; i < rounds; i++) {
		note("seed %u, round %d", seed, i);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			alarm(0);
			liar(seed + i, 1000);
		}
		SAME(end_liar(pid, WAIT_MS), 0);
	}
	note(NULL);
	witness_end();
}

TESTS(
	TEST(all_at_once)
)
