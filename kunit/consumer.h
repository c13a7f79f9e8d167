/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A device, and a kernel consumer with two QPs on it that are connected with each other. The
 * consumer uses the device through the RDMA core.
 */
#ifndef KUNIT_CONSUMER_H
#define KUNIT_CONSUMER_H

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#define CONSUMER_WRS	64
#define CONSUMER_LENGTH	64
#define CONSUMER_MEMORY	(CONSUMER_WRS * CONSUMER_LENGTH)
/* ms to wait for something that must happen, and for something that must not */
#define CONSUMER_WAIT	20000
#define CONSUMER_QUIET	50

struct consumer_queue;

/* A work request. Its index in consumer_queue.wr is its number. */
struct consumer_wr {
	struct ib_cqe		cqe;
	struct consumer_queue	*queue;
};

/* A send or receive queue, as its consumer sees it. */
struct consumer_queue {
	struct consumer_wr	wr[CONSUMER_WRS];
	struct task_struct	*thread;	/* polls an IB_POLL_DIRECT CQ */
	u32			done;		/* number of completions */
	u32			flushed;	/* of these, with WR_FLUSH_ERR */
	u32			failed;		/* of these, with another error */
	u32			astray;		/* of these, out of order or in a wrong context */
	struct ib_wc		last;
};

/* A QP, its queues and its memory. */
struct consumer_end {
	struct ib_qp		*qp;
	struct ib_cq		*cq;
	struct ib_cq		*send_cq;	/* with a handler of the test; NULL: @cq */
	struct consumer_queue	send;
	struct consumer_queue	recv;		/* or receives taken from the SRQ */
	u32			sges;		/* elements of a send; 0: one */
	u32			create_flags;	/* enum ib_qp_create_flags of @qp */
	u8			*memory;	/* CONSUMER_LENGTH bytes per work request */
	atomic_t		last_wqes;	/* number of LAST_WQE_REACHED events */
};

struct consumer {
	struct ib_pd		*pd;
	struct ib_srq		*srq;		/* of the second QP, or NULL */
	struct ib_mr		*mr;		/* created by the test, or NULL */
	struct consumer_end	end[2];
};

/* The device of the suite that runs. */
extern struct ib_device *consumer_dev;

/* Create a device on lo, and wait for its GID of 127.0.0.1. */
int consumer_suite_init(struct kunit_suite *suite);
void consumer_suite_exit(struct kunit_suite *suite);

/* Create a consumer with PD and memory as the priv of a test whose exit is consumer_exit(). */
struct consumer *consumer_create(struct kunit *test);
void consumer_exit(struct kunit *test);

/* Create a CQ for each end. */
void consumer_make_cqs(struct kunit *test, struct consumer *consumer,
		       enum ib_poll_context context);

/* Attributes for a QP of @end, which has a CQ. There is room for a drain beyond CONSUMER_WRS. */
struct ib_qp_init_attr consumer_qp_attr(struct consumer_end *end);

/* Create both QPs; the second one uses the SRQ, if there is one. */
void consumer_make_qps(struct kunit *test, struct consumer *consumer);

/*
 * Fill in the attributes required for a transition to @state, and a path in any case. @peer: QP
 * number. Return: enum ib_qp_attr_mask of the required ones.
 */
int consumer_state_attr(struct ib_qp_attr *attr, enum ib_qp_state state, u32 peer);

/* Modify a QP to @state with the required attributes. Return: that of ib_modify_qp(). */
int consumer_modify(struct ib_qp *qp, enum ib_qp_state state, u32 peer);

/* Modify both QPs from RESET to @last, which is RTR or RTS. */
void consumer_connect(struct kunit *test, struct consumer *consumer, enum ib_qp_state last);

/* Create a consumer with CQs and two connected QPs. */
struct consumer *consumer_pair(struct kunit *test, enum ib_poll_context context);

/* The memory of work request @i. */
struct ib_sge consumer_sge(const struct consumer_end *end, u32 i);

/* Post a SEND or a receive as work request @i. Return: that of ib_post_send() or _recv(). */
int consumer_post_send(struct consumer_end *end, u32 i);
int consumer_post_recv(struct consumer_end *end, u32 i);

/*
 * Post a READ or WRITE as work request @i. Locally it uses the first @length bytes of the memory
 * of @end; @addr and @rkey are those of the other end. Return: that of ib_post_send().
 */
int consumer_post_rdma(struct consumer_end *end, u32 i, enum ib_wr_opcode opcode, u64 addr,
		       u32 rkey, u32 length);

/* Wait for something that must not happen. */
void consumer_quiet(void);

/*
 * Wait until @num work requests of @queue, a queue of @end, have completed. Polls the CQ if it
 * is IB_POLL_DIRECT. Return: false: timeout.
 */
bool consumer_wait(struct consumer_end *end, const struct consumer_queue *queue, u32 num);

/*
 * Expect that @done work requests have completed, in order and in the right context, that
 * @flushed of them were flushed, and that none has another error.
 */
void consumer_expect(struct kunit *test, const struct consumer_queue *queue, u32 done,
		     u32 flushed);

/* Wait until an end has got @num LAST_WQE_REACHED events. Return: false: timeout. */
bool consumer_last_wqe(struct consumer_end *end, int num);

static inline void consumer_count_up(u32 *counter)
{
	/* pairs with consumer_counted(): what the handler wrote before is visible */
	smp_store_release(counter, *counter + 1);
}

static inline u32 consumer_counted(const u32 *counter)
{
	/* pairs with consumer_count_up() */
	return smp_load_acquire(counter);
}

#endif /* KUNIT_CONSUMER_H */
