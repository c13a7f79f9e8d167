/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device, and a consumer in the kernel that has two QPs on it, which are connected: what it
 * does goes by way of the core.
 */
#ifndef KUNIT_CONSUMER_H
#define KUNIT_CONSUMER_H

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#define CONSUMER_WRS	64
#define CONSUMER_LENGTH	64
#define CONSUMER_MEMORY	(CONSUMER_WRS * CONSUMER_LENGTH)
/* ms that are waited for what must happen, and for what must not */
#define CONSUMER_WAIT	20000
#define CONSUMER_QUIET	50

struct consumer_queue;

/**
 * struct consumer_wr - a work request: its number is its place
 * @cqe: what its completion calls
 * @queue: it is of this one
 */
struct consumer_wr {
	struct ib_cqe		cqe;
	struct consumer_queue	*queue;
};

/**
 * struct consumer_queue - a send or receive queue, as its consumer sees it
 * @wr: what has been posted, in order
 * @thread: who polls if the CQ has no context of its own
 * @done: so many have completed
 * @flushed: of these with WR_FLUSH_ERR
 * @failed: of these with another error
 * @astray: of these out of order, or in the wrong context
 * @last: the last completion
 */
struct consumer_queue {
	struct consumer_wr	wr[CONSUMER_WRS];
	struct task_struct	*thread;
	u32			done;
	u32			flushed;
	u32			failed;
	u32			astray;
	struct ib_wc		last;
};

/**
 * struct consumer_end - a QP, its queues and its memory
 * @qp: the QP
 * @cq: of its receives, and of its sends if there is no @send_cq
 * @send_cq: one with a handler of the test's own, or NULL
 * @send: its send queue
 * @recv: its receive queue, or what it takes of the shared one
 * @sges: elements of a send, 0: one
 * @memory: CONSUMER_MEMORY bytes: CONSUMER_LENGTH for each work request
 * @last_wqes: IB_EVENT_QP_LAST_WQE_REACHED that it has got
 */
struct consumer_end {
	struct ib_qp		*qp;
	struct ib_cq		*cq;
	struct ib_cq		*send_cq;
	struct consumer_queue	send;
	struct consumer_queue	recv;
	u32			sges;
	u8			*memory;
	atomic_t		last_wqes;
};

/**
 * struct consumer - two QPs, and what they have in common
 * @pd: protection domain
 * @srq: of the second QP, or NULL
 * @mr: one that the test has made, or NULL
 * @end: the QPs
 */
struct consumer {
	struct ib_pd		*pd;
	struct ib_srq		*srq;
	struct ib_mr		*mr;
	struct consumer_end	end[2];
};

/* The device of the suite that runs. */
extern struct ib_device *consumer_dev;

/**
 * consumer_suite_init - make a device on lo, and wait for its GID of 127.0.0.1
 * @suite: whichever
 *
 * Return: 0 or -errno.
 */
int consumer_suite_init(struct kunit_suite *suite);

/**
 * consumer_suite_exit - remove it
 * @suite: whichever
 */
void consumer_suite_exit(struct kunit_suite *suite);

/**
 * consumer_create - a consumer with a protection domain and memory
 * @test: the test, whose priv it is; consumer_exit() is to be its exit
 *
 * Return: the consumer.
 */
struct consumer *consumer_create(struct kunit *test);

/**
 * consumer_exit - free what a consumer has
 * @test: the test
 */
void consumer_exit(struct kunit *test);

/**
 * consumer_make_cqs - a CQ for each end
 * @test: the test
 * @consumer: the consumer
 * @context: where they are polled
 */
void consumer_make_cqs(struct kunit *test, struct consumer *consumer,
		       enum ib_poll_context context);

/**
 * consumer_qp_attr - what a QP is to be like
 * @end: its end, which has a CQ
 *
 * Return: attributes, with room for one work request more than there are, for who drains it.
 */
struct ib_qp_init_attr consumer_qp_attr(struct consumer_end *end);

/**
 * consumer_make_qps - the two QPs
 * @test: the test
 * @consumer: with CQs, and with an SRQ if the second QP is to have that
 */
void consumer_make_qps(struct kunit *test, struct consumer *consumer);

/**
 * consumer_state_attr - what a QP wants to get into another state
 * @attr: result, with a path whatever the state
 * @state: the state
 * @peer: number of the other QP
 *
 * Return: enum ib_qp_attr_mask: what is wanted of it.
 */
int consumer_state_attr(struct ib_qp_attr *attr, enum ib_qp_state state, u32 peer);

/**
 * consumer_modify - a QP into another state, with all that this wants
 * @qp: the QP
 * @state: the state
 * @peer: number of the other QP
 *
 * Return: what ib_modify_qp() does.
 */
int consumer_modify(struct ib_qp *qp, enum ib_qp_state state, u32 peer);

/**
 * consumer_connect - both QPs into RTR, or RTS
 * @test: the test
 * @consumer: with QPs in RESET
 * @last: which one
 */
void consumer_connect(struct kunit *test, struct consumer *consumer, enum ib_qp_state last);

/**
 * consumer_pair - a consumer with two connected QPs
 * @test: the test
 * @context: where their CQs are polled
 *
 * Return: the consumer.
 */
struct consumer *consumer_pair(struct kunit *test, enum ib_poll_context context);

/**
 * consumer_sge - the memory of a work request
 * @end: the end
 * @i: number of the work request
 *
 * Return: an element.
 */
struct ib_sge consumer_sge(const struct consumer_end *end, u32 i);

/**
 * consumer_post_send - post a SEND
 * @end: the end
 * @i: number of the work request
 *
 * Return: what ib_post_send() does.
 */
int consumer_post_send(struct consumer_end *end, u32 i);

/**
 * consumer_post_recv - post a receive
 * @end: the end
 * @i: number of the work request
 *
 * Return: what ib_post_recv() does.
 */
int consumer_post_recv(struct consumer_end *end, u32 i);

/**
 * consumer_post_rdma - post a READ or WRITE of the beginning of an end's memory
 * @end: the end
 * @i: number of the work request
 * @opcode: of it
 * @addr: of the other end's memory
 * @rkey: likewise
 * @length: bytes
 *
 * Return: what ib_post_send() does.
 */
int consumer_post_rdma(struct consumer_end *end, u32 i, enum ib_wr_opcode opcode, u64 addr,
		       u32 rkey, u32 length);

/**
 * consumer_quiet - give what must not happen the time to
 */
void consumer_quiet(void);

/**
 * consumer_wait - wait until so many are done; of those that nobody polls for us, by us
 * @end: the end
 * @queue: its queue
 * @num: so many
 *
 * Return: false when it took too long.
 */
bool consumer_wait(struct consumer_end *end, const struct consumer_queue *queue, u32 num);

/**
 * consumer_expect - what has to have become of a queue
 * @test: the test
 * @queue: the queue
 * @done: so many have completed, in order and where they should
 * @flushed: so many of them flushed, and none with another error
 */
void consumer_expect(struct kunit *test, const struct consumer_queue *queue, u32 done,
		     u32 flushed);

/**
 * consumer_last_wqe - wait until an end has been told of its last receive so often
 * @end: the end
 * @num: so often
 *
 * Return: false when it took too long.
 */
bool consumer_last_wqe(struct consumer_end *end, int num);

static inline void consumer_count_up(u32 *counter)
{
	/* what else a handler notes down is there when it is counted: see consumer_counted() */
	smp_store_release(counter, *counter + 1);
}

static inline u32 consumer_counted(const u32 *counter)
{
	/* pairs with consumer_count_up() */
	return smp_load_acquire(counter);
}

#endif /* KUNIT_CONSUMER_H */
