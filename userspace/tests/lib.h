/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the test programs have in common.
 *
 * A program is a table of cases. Each case runs in a process of its own, so
 * that one that fails, hangs or crashes does no harm to the next, and leaves
 * behind what the kernel has to clean up. A failed check says what was expected
 * and ends the case.
 */
#ifndef TESTS_LIB_H
#define TESTS_LIB_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* how long to wait for what must happen, and for what must not */
#define WAIT_MS		20000
#define QUIET_MS	60

/* memory of an end */
#define BUF		65536

#define QKEY		0x1ee7c0de

/* everything that ibv_query_qp() can be asked for */
#define QP_ATTRS	((1 << 21) - 1)

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(_name)	{ #_name, _name }

/* main() of a program; the arguments are names of cases, none: all */
int run_tests(const struct test *tests, int num, int argc, char **argv);

#define TESTS(...)							\
	int main(int argc, char **argv)					\
	{								\
		static const struct test tests[] = { __VA_ARGS__ };	\
									\
		return run_tests(tests, ARRAY_SIZE(tests), argc, argv);	\
	}

__attribute__((noreturn, format(printf, 3, 4)))
void failed(const char *file, int line, const char *format, ...);
#define FAIL(...)	failed(__FILE__, __LINE__, __VA_ARGS__)

/* context of the checks that follow, shown when one fails; NULL: none */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);

#define CHECK(cond)							\
	do {								\
		if (!(cond))						\
			FAIL("expected: %s (errno %d, %s)", #cond,	\
			     errno, strerror(errno));			\
	} while (0)

#define SAME(got, want)							\
	do {								\
		long long got_ = (got), want_ = (want);			\
									\
		if (got_ != want_)					\
			FAIL("%s: expected %s = %lld (%#llx), got %lld (%#llx)", \
			     #got, #want, want_, want_, got_, got_);	\
	} while (0)

/* a call that returns 0, or -1 or NULL, with that errno */
#define REFUSED(call, error)						\
	do {								\
		errno = 0;						\
		long ret_ = (long)(call);				\
		int errno_ = ret_ > 0 ? (int)ret_ : errno;		\
									\
		if (errno_ != (error))					\
			FAIL("%s: expected %s, got %ld, errno %d (%s)",	\
			     #call, strerror(error), ret_, errno_,	\
			     strerror(errno_));				\
	} while (0)

/* the device, $WEFT_DEVICE or weft0, opened before each case */
extern struct ibv_context *ctx;
extern struct ibv_pd *pd;
extern struct ibv_port_attr port;
extern int gid4, gid6;			/* their indexes; on InfiniBand -1 */
void open_context(void);		/* ctx alone, as the device has perhaps no addresses */
void open_device(void);			/* for a child that forks itself */
void open_named(const char *name);	/* this one from now on */
bool packets_forced(void);		/* no local link, see weft(7) */
void force_packets(bool forced);	/* on paths that are set afterwards */
uint64_t counter(const char *name);	/* of the port; it is read each 10 ms at most */
uint64_t device_counter(const char *name);	/* of the device, likewise */

int repeat(int num, int full);		/* how often, as count() of scripts/tests/lib.sh */
uint64_t now_ns(void);
void sleep_ms(int ms);
void *memory(size_t size);		/* of pages, zeroed */
int uffd_hold(void *p, size_t size);	/* its pages come with uffd_answer() */
void uffd_answer(int fd, void *p, size_t size);
void fill(void *p, size_t length, int seed);
void check_filled(const void *p, size_t length, int seed);
void check_zero(const void *p, size_t length);

/* how to make an end; CONF() has the values that fit most */
struct conf {
	enum ibv_qp_type type;
	int sq, rq, sge, inline_data, cqe;
	bool sig_all, ex;
	bool one_cq;			/* for both queues */
	uint64_t ops;			/* of the ibv_wr functions, more than usual */
	int access;
	int timeout, retry, rnr_retry, rnr_timer, rd, dest_rd;
	int gid;			/* index; -1: IPv4 */
	struct ibv_srq *srq;
	struct ibv_comp_channel *channel;
	int vector;			/* of both CQs */
};

#define ACCESS_ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |	\
		    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

#define CONF(...)							\
	(&(struct conf){						\
		.type = IBV_QPT_RC, .sq = 16, .rq = 16, .sge = 4,	\
		.cqe = 256, .access = ACCESS_ALL, .timeout = 14,	\
		.retry = 7, .rnr_retry = 7, .rnr_timer = 12, .rd = 4,	\
		.dest_rd = 4, .gid = -1, __VA_ARGS__			\
	})

/* a QP, what it needs, and memory of BUF bytes */
struct end {
	struct conf conf;
	struct ibv_qp *qp;
	struct ibv_cq *scq, *rcq;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint32_t psn;
};

void make(struct end *e, const struct conf *conf);	/* in RESET */
void unmake(struct end *e);
void to_init(struct end *e);
void to_rtr(struct end *e, const struct end *peer);
void to_rts(struct end *e);
void to_ready(struct end *e);				/* a UD QP, to RTS */
/* what these three ask for, and the bits that lead to a state from the one before */
struct ibv_qp_attr step_attr(const struct end *e, const struct end *peer,
			     enum ibv_qp_state state);
int step_mask(const struct end *e, enum ibv_qp_state state);

/* memory of the kernel that this process has mapped: a ring, or both of a QP */
struct map {
	void *start;
	size_t size;
	uint64_t offset;
};

int all_maps(struct map *maps, int max);
int new_maps(struct map *maps, int max);		/* since the last call */
int doorbell_fd(void);
void write_text(const char *path, const char *text);	/* to a file of the kernel's */
long read_number(const char *path);			/* of one */

int try_state(struct end *e, enum ibv_qp_state state);
void to_state(struct end *e, enum ibv_qp_state state);
enum ibv_qp_state state_of(struct end *e);
void connect_ends(struct end *a, struct end *b);
/* both made and connected; of UD: ready */
void make_pair(struct end *a, struct end *b, const struct conf *conf);
void av_to(struct ibv_ah_attr *av, int from_gid, int to_gid);
struct ibv_ah *ah_to(int from_gid, int to_gid);

/*
 * Work requests that live until 64 more are made. Signaled, with one element at
 * @off of the buffer, or none if @length is 0.
 */
struct ibv_send_wr *swr(struct end *e, uint64_t id, enum ibv_wr_opcode opcode,
			size_t off, uint32_t length);
struct ibv_recv_wr *rwr(struct end *e, uint64_t id, size_t off, uint32_t length);

/* binds @mw, with its next key, to the beginning of @e's buffer, a part of @mr */
static inline struct ibv_send_wr *bind_wr(struct end *e, uint64_t id, struct ibv_mw *mw,
					  struct ibv_mr *mr, size_t length)
{
	struct ibv_send_wr *wr = swr(e, id, IBV_WR_BIND_MW, 0, 0);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr->bind_mw.bind_info.mr = mr;
	wr->bind_mw.bind_info.addr = (uintptr_t)e->buf;
	wr->bind_mw.bind_info.length = length;
	wr->bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	return wr;
}

/* give @wr a remote address (of an atomic as well), an AH */
struct ibv_send_wr *at(struct ibv_send_wr *wr, const struct end *peer, size_t off);
struct ibv_send_wr *at_key(struct ibv_send_wr *wr, uint32_t rkey, uint64_t addr);
struct ibv_send_wr *to_ah(struct ibv_send_wr *wr, struct ibv_ah *ah, const struct end *peer);

/* the same with ibv_wr_start() and friends, of a QP that has them: signaled */
struct ibv_qp_ex *wr_start(struct end *e, uint64_t id);

void post(struct end *e, struct ibv_send_wr *wr);
void post_r(struct end *e, struct ibv_recv_wr *wr);
void post_recv(struct end *e, uint64_t id, size_t off, uint32_t length);
void post_srq(struct ibv_srq *srq, struct end *e, uint64_t id, size_t off, uint32_t length);

/* the next completion, which has to come soon and to be this one */
struct ibv_wc next_wc_(const char *file, int line, struct ibv_cq *cq);
struct ibv_wc expect_wc_(const char *file, int line, struct ibv_cq *cq, uint64_t id,
			 enum ibv_wc_status status);
#define next_wc(cq)			next_wc_(__FILE__, __LINE__, cq)
#define expect_wc(cq, id, status)	expect_wc_(__FILE__, __LINE__, cq, id, status)
#define expect_ok(cq, id)		expect_wc(cq, id, IBV_WC_SUCCESS)
void expect_no_wc_(const char *file, int line, struct ibv_cq *cq, int ms);
#define expect_no_wc(cq)		expect_no_wc_(__FILE__, __LINE__, cq, QUIET_MS)
#define expect_no_wc_now(cq)		expect_no_wc_(__FILE__, __LINE__, cq, 0)

/* the next asynchronous event, of any object */
void expect_event_(const char *file, int line, enum ibv_event_type type, void *element);
#define expect_event(type, element)	expect_event_(__FILE__, __LINE__, type, element)
void expect_no_event_(const char *file, int line, int ms);
#define expect_no_event()		expect_no_event_(__FILE__, __LINE__, QUIET_MS)

/* wait until the QP is in this state */
void expect_state_(const char *file, int line, struct end *e, enum ibv_qp_state state);
#define expect_state(e, state)		expect_state_(__FILE__, __LINE__, e, state)

/*
 * @wr, posted to @a, is refused by @b, which says so; then both are connected
 * again
 */
void expect_refusal_(const char *file, int line, struct end *a, struct end *b,
		     struct ibv_send_wr *wr);
#define expect_refusal(a, b, wr)	expect_refusal_(__FILE__, __LINE__, a, b, wr)

/* a send from @a arrives at @b, both ways: the connection works */
void check_works_(const char *file, int line, struct end *a, struct end *b);
#define check_works(a, b)		check_works_(__FILE__, __LINE__, a, b)

#endif /* TESTS_LIB_H */
