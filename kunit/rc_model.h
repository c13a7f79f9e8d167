/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random requests of connected QPs over a wire, compared with a model.
 *
 * Both nodes may have requests. They are chosen first; then each is posted, when there is room for
 * it, while things happen on the wire. In the end the model executes them, too, and completions and
 * memory must be the same.
 */
#ifndef KUNIT_RC_MODEL_H
#define KUNIT_RC_MODEL_H

#include "fake_link.h"
#include "oracle.h"

struct kunit;

/* Requests of each node. */
#define RC_REQUESTS	24
/* Entries of each queue: fewer, so that queues wrap and are sometimes full. */
#define RC_QUEUE	8
#define RC_MAX_MESSAGE	(8 * FAKE_MTU)
/* More steps than any run takes. */
#define RC_STEPS	300000

/*
 * The memory of a node. One direction of the connection never uses what the other one writes, so
 * there is one right result.
 */
#define RC_ZONE		(2 * FAKE_PAGE)
#define RC_SOURCE	0		/* never written */
#define RC_SINK		RC_ZONE		/* results of READs and atomics */
#define RC_REMOTE	(2 * RC_ZONE)	/* what the peer reads and writes */
#define RC_RECV		(3 * RC_ZONE)	/* what the peer sends */

/* A wire, and a seed. */
struct rc_row {
	const char		*name;
	struct fake_faults	faults;	/* of the wire */
	bool			forget;	/* packets that overtake others are not kept */
	bool			late;	/* receives are posted too late */
	bool			drain;	/* the send queues are drained now and then */
	bool			resize;	/* the queues are resized now and then */
	u64			seed;	/* of all that happens */
};

/* The requests of one node to the other. */
struct rc_way {
	struct oracle_way	oracle;			/* the model, and its lists */
	struct oracle_send	send[RC_REQUESTS];	/* requests of the node */
	struct oracle_recv	recv[RC_REQUESTS];	/* receives of the peer */
	struct ib_wc		send_wc[RC_REQUESTS];	/* completions, for the model */
	struct ib_wc		recv_wc[RC_REQUESTS];	/* completions of the peer, for the model */
	u32			sent;			/* requests posted */
	u32			received;		/* receives posted */
	/* pieces of the peer's zone that READs use, after which no fence has come */
	u64			reading;
};

/* A test. */
struct rc {
	struct kunit		*test;
	const struct rc_row	*row;			/* the wire, and how the test proceeds */
	struct fake_link	*link;
	struct rc_way		way[FAKE_NODES];	/* by requester */
	/* the memory that each node should have */
	u8			image[FAKE_NODES][FAKE_MEMORY];
};

/*
 * Make connected QPs, and a model without requests. @row must stay valid. The test ends if there is
 * no memory.
 */
struct rc *rc_create(struct kunit *test, const struct fake_attr *attr,
		     const struct rc_row *row);

/* Choose the length of a message, RC_MAX_MESSAGE at most. */
u32 rc_choose_length(struct rc *rc);

/*
 * Choose pieces of a zone, some perhaps empty, with @length bytes in all. @sge has ORACLE_SGE
 * entries. Returns the number of pieces.
 */
u32 rc_choose_sge(struct rc *rc, struct oracle_sge *sge, u32 zone, u32 length);

/* Choose the memory of the peer that a request reads or writes. Returns its offset. */
u32 rc_choose_remote(struct rc *rc, enum ib_wr_opcode opcode, u32 length);

/* Choose receive number @i, which any message fits into. */
void rc_choose_recv(struct rc *rc, struct oracle_recv *recv, u32 i);

/* Choose more requests of a node, until it has @num, and the receives that they take. */
void rc_choose_way(struct rc *rc, struct rc_way *way, u32 num);

/* Post the next request of node @i. False: there is none, or no room. */
bool rc_next_send(struct rc *rc, u32 i);

/* Post the next receive for requests of node @i, at its peer. False: there is none, or no room. */
bool rc_next_recv(struct rc *rc, u32 i);

/*
 * Change the state of a node's QP, which must succeed. @mask: attributes besides IB_QP_STATE; a
 * drain is notified.
 */
void rc_modify(struct fake_node *node, enum ib_qp_state state, int mask);

/* Let something happen, or post something. False: all is done. */
bool rc_step(struct rc *rc);

/* rc_step() until all is done. */
void rc_run(struct rc *rc);

/* All is done: expect completions and memory as in the model, and that all is quiet. */
void rc_expect(struct rc *rc);

/* All requests have succeeded: expect the counters of the faults that @row has, and no others. */
void rc_expect_stats(struct rc *rc, const struct rc_row *row);

void rc_expect_all_posted(struct rc *rc);

/* Expect no asynchronous event, except @event once at node 1 if it is not 0. */
void rc_expect_events(struct rc *rc, u32 event);

#endif /* KUNIT_RC_MODEL_H */
