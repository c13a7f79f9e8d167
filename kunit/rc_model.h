/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random requests of connected QPs over a wire, and what the model says of them.
 *
 * Both nodes may have requests. They are chosen first, then posted while things
 * happen, each when there is room for it. When all is done, the model executes
 * them too, and completions and memory must be the same.
 */
#ifndef KUNIT_RC_MODEL_H
#define KUNIT_RC_MODEL_H

#include "fake_link.h"
#include "oracle.h"

struct kunit;

/* Requests of each node. */
#define RC_REQUESTS	24
/* Entries of each queue: fewer, so that they wrap and are full at times. */
#define RC_QUEUE	8
#define RC_MAX_MESSAGE	(8 * FAKE_MTU)
/* No run takes so many steps. */
#define RC_STEPS	300000

/*
 * The memory of a node. What one direction of the connection writes the other
 * one never uses, so that there is one right result.
 */
#define RC_ZONE		(2 * PAGE_SIZE)
#define RC_SOURCE	0		/* never written */
#define RC_SINK		RC_ZONE		/* results of READs and atomics */
#define RC_REMOTE	(2 * RC_ZONE)	/* what the peer reads and writes */
#define RC_RECV		(3 * RC_ZONE)	/* what the peer sends */

/**
 * struct rc_row - a wire, and a seed
 * @name: what is bad about the wire
 * @faults: how bad
 * @late: receives are posted too late
 * @drain: the send queues are drained now and then
 * @resize: the queues get another size now and then
 * @seed: of all that happens
 */
struct rc_row {
	const char		*name;
	struct fake_faults	faults;
	bool			late;
	bool			drain;
	bool			resize;
	u64			seed;
};

/**
 * struct rc_way - what one node asks of the other
 * @oracle: the model, and its lists
 * @send: requests of the node
 * @recv: receives of the peer
 * @send_wc: for the model
 * @recv_wc: for the model
 * @sent: requests posted
 * @received: receives posted
 * @reading: pieces of the peer's zone with READs that no fence has waited for
 */
struct rc_way {
	struct oracle_way	oracle;
	struct oracle_send	send[RC_REQUESTS];
	struct oracle_recv	recv[RC_REQUESTS];
	struct ib_wc		send_wc[RC_REQUESTS];
	struct ib_wc		recv_wc[RC_REQUESTS];
	u32			sent;
	u32			received;
	u64			reading;
};

/**
 * struct rc - a test
 * @test: the test
 * @row: what the wire is like, how the test goes on
 * @link: the wire
 * @way: by requester
 * @image: the memory of each node as it should be
 */
struct rc {
	struct kunit		*test;
	const struct rc_row	*row;
	struct fake_link	*link;
	struct rc_way		way[FAKE_NODES];
	u8			image[FAKE_NODES][FAKE_MEMORY];
};

/**
 * rc_create - make connected QPs, and a model without requests
 * @test: the test
 * @attr: of the QPs
 * @row: what the wire is like; must stay
 *
 * Return: it all; the test ends if there is no memory.
 */
struct rc *rc_create(struct kunit *test, const struct fake_attr *attr,
		     const struct rc_row *row);

/**
 * rc_choose_length - choose how long a message is
 * @rc: the test
 *
 * Return: bytes, RC_MAX_MESSAGE at most.
 */
u32 rc_choose_length(struct rc *rc);

/**
 * rc_choose_sge - choose pieces of a zone, some perhaps empty
 * @rc: the test
 * @sge: result, ORACLE_SGE entries
 * @zone: offset of the zone
 * @length: bytes of all pieces
 *
 * Return: number of pieces.
 */
u32 rc_choose_sge(struct rc *rc, struct oracle_sge *sge, u32 zone, u32 length);

/**
 * rc_choose_remote - choose what a request reads or writes at the peer
 * @rc: the test
 * @opcode: of the request
 * @length: bytes
 *
 * Return: offset in the peer's memory.
 */
u32 rc_choose_remote(struct rc *rc, enum ib_wr_opcode opcode, u32 length);

/**
 * rc_choose_recv - choose a receive that any message fits into
 * @rc: the test
 * @recv: result
 * @i: number of the receive
 */
void rc_choose_recv(struct rc *rc, struct oracle_recv *recv, u32 i);

/**
 * rc_choose_way - choose requests of a node, and the receives they take
 * @rc: the test
 * @way: of the node
 * @num: requests it has then, those it had before included
 */
void rc_choose_way(struct rc *rc, struct rc_way *way, u32 num);

/**
 * rc_next_send - post the next request of a node
 * @rc: the test
 * @i: the node
 *
 * Return: false: there is none, or no room.
 */
bool rc_next_send(struct rc *rc, u32 i);

/**
 * rc_next_recv - post the next receive for a node's requests
 * @rc: the test
 * @i: the node, whose peer receives
 *
 * Return: false: there is none, or no room.
 */
bool rc_next_recv(struct rc *rc, u32 i);

/**
 * rc_modify - change the state of a QP, which must succeed
 * @node: whose QP
 * @state: the new one
 * @mask: attributes besides IB_QP_STATE; a drain is notified
 */
void rc_modify(struct fake_node *node, enum ib_qp_state state, int mask);

/**
 * rc_step - something happens, or something is posted
 * @rc: the test
 *
 * Return: false: all is done.
 */
bool rc_step(struct rc *rc);

/**
 * rc_run - go on until all is done
 * @rc: the test
 */
void rc_run(struct rc *rc);

/**
 * rc_expect - completions and memory are what the model says, all is quiet
 * @rc: the test, all is done
 */
void rc_expect(struct rc *rc);

/**
 * rc_expect_stats - the faults that should be there were there, and no others
 * @rc: the test, all requests have succeeded
 * @row: what the wire is like
 */
void rc_expect_stats(struct rc *rc, const struct rc_row *row);

/**
 * rc_expect_all_posted - all requests and receives were posted
 * @rc: the test
 */
void rc_expect_all_posted(struct rc *rc);

/**
 * rc_expect_events - no asynchronous event was raised, but perhaps one
 * @rc: the test
 * @event: raised once at node 1, if it is not 0
 */
void rc_expect_events(struct rc *rc, u32 event);

#endif /* KUNIT_RC_MODEL_H */
