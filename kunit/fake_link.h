/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two QPs, and a wire between them that loses, repeats and reorders packets and
 * has no room for them at times, all as its seed says.
 *
 * Nothing happens by itself: no work item runs and no timer expires. What can
 * happen next is a packet that arrives, a half with an event that runs, or a
 * half without room that gets some; fake_link_step() chooses. When nothing can,
 * fake_link_pass_time() lets the next timer expire. So real time plays no role,
 * and what a seed leads to can be seen again.
 */
#ifndef KUNIT_FAKE_LINK_H
#define KUNIT_FAKE_LINK_H

#include <linux/prandom.h>
#include <linux/skbuff.h>

#include "engine/link.h"
#include "engine/pkt.h"
#include "object/cq.h"
#include "object/dev.h"
#include "object/qp.h"

struct kunit;

#define FAKE_MTU		256U
#define FAKE_NODES		2
/* Pages of memory of a node. A region shows them in another order. */
#define FAKE_PAGES		16U
#define FAKE_MEMORY		(FAKE_PAGES * PAGE_SIZE)
/* Bytes of inline data a request may have. */
#define FAKE_INLINE		100
/* So many packets may be overtaken by one. */
#define FAKE_OVERTAKEN		3U
/* Asynchronous events that are counted: those of a QP, and one of a CQ. */
#define FAKE_EVENTS		(IB_EVENT_QP_LAST_WQE_REACHED + 1)

/**
 * struct fake_faults - what the wire does to packets, in percent of them
 * @loss: lost
 * @duplicate: arrive twice
 * @reorder: overtake up to FAKE_OVERTAKEN others
 * @stall: of the batches: do not fit as a whole
 * @busy: arrive while somebody else runs the half they are for, so that they are
 *	left to it
 * @hurry: of the steps: a timer expires although not all is quiet, too early
 *	for the engine, or else too early for the peer
 */
struct fake_faults {
	u32	loss;
	u32	duplicate;
	u32	reorder;
	u32	stall;
	u32	busy;
	u32	hurry;
};

/**
 * struct fake_attr - attributes of both QPs
 * @type: RC or UC
 * @psn: first PSN of each node's requests
 * @retry_cnt: as in struct ib_qp_attr
 * @rnr_retry: likewise
 * @max_rd_atomic: likewise, of both directions
 * @max_wr: entries of each queue
 * @sig_all: every request is signaled
 */
struct fake_attr {
	enum ib_qp_type	type;
	u32		psn[FAKE_NODES];
	u8		retry_cnt;
	u8		rnr_retry;
	u8		max_rd_atomic;
	u32		max_wr;
	bool		sig_all;
};

/**
 * struct fake_node - a device with a QP, CQs and memory
 * @dev: the device; what only the core and the verbs use is not filled in
 * @pd: protection domain
 * @send_cq: completions of requests
 * @recv_cq: completions of receives
 * @ib_qp: the core's handle of @qp
 * @qp: connected to the other node's
 * @region: all of @memory, with all rights; a test may kill it and set NULL
 * @blocks: of @region
 * @memory: FAKE_MEMORY bytes
 * @ip: address
 * @link: the wire
 * @expired: the timer has expired in real time, in which nobody is interested
 * @events: how often each enum ib_event_type was raised
 * @comp_events: completion events of @recv_cq
 */
struct fake_node {
	struct weft_dev		dev;
	struct ib_pd		pd;
	struct weft_cq		send_cq;
	struct weft_cq		recv_cq;
	struct weft_ib_qp	ib_qp;
	struct weft_qp		*qp;
	struct weft_region	*region;
	void			*blocks[FAKE_PAGES];
	u8			*memory;
	__be32			ip;
	struct fake_link	*link;
	bool			expired;
	u32			events[FAKE_EVENTS];
	u32			comp_events;
};

/**
 * struct fake_link - the wire
 * @test: the test
 * @random: source of all choices
 * @faults: what it does to packets
 * @node: its ends
 * @wire: packets on their way, the oldest first
 * @alive: packets that are not freed
 * @sent: packets each node has sent
 * @watch_psn: a PSN
 * @watched: requests of node 0 with @watch_psn that were sent
 */
struct fake_link {
	struct kunit		*test;
	struct rnd_state	random;
	struct fake_faults	faults;
	struct fake_node	node[FAKE_NODES];
	struct sk_buff_head	wire;
	atomic_t		alive;
	u32			sent[FAKE_NODES];
	u32			watch_psn;
	u32			watched;
};

/**
 * fake_link_create - make two connected QPs
 * @test: the test
 * @attr: of the QPs, which are in RTS
 * @seed: of all choices, and of what is in the memory
 *
 * Return: the wire; the test ends if there is no memory.
 */
struct fake_link *fake_link_create(struct kunit *test, const struct fake_attr *attr,
				   u64 seed);

/**
 * fake_link_destroy - destroy the QPs; see that nothing is left behind
 * @link: may be NULL
 */
void fake_link_destroy(struct fake_link *link);

/**
 * fake_link_step - something happens
 * @link: the wire
 *
 * Return: false: nothing can happen before time passes.
 */
bool fake_link_step(struct fake_link *link);

/**
 * fake_link_pass_time - nothing is under way: a timer expires
 * @link: the wire
 *
 * Return: false: none runs.
 */
bool fake_link_pass_time(struct fake_link *link);

/**
 * fake_link_settle - let things happen, and time pass, until nothing can
 * @link: the wire
 */
void fake_link_settle(struct fake_link *link);

/**
 * fake_link_run_halves - let halves run until none has an event
 * @link: the wire; no packet arrives
 */
void fake_link_run_halves(struct fake_link *link);

/**
 * fake_link_deliver - a packet that the test made arrives now
 * @from: the sender
 * @hdr: headers, @hdr->pad is set here
 * @payload: bytes behind them
 * @length: number of these
 */
void fake_link_deliver(struct fake_node *from, struct weft_hdr *hdr,
		       const void *payload, u32 length);

/**
 * fake_link_take - take the oldest packet off the wire
 * @link: the wire
 * @pkt: result, decoded; to be freed with weft_pkt_free()
 *
 * Return: false: there is none.
 */
bool fake_link_take(struct fake_link *link, struct weft_pkt *pkt);

/**
 * fake_link_expect_quiet - what must be true when all requests are complete
 * @link: the wire, nothing can happen
 *
 * No packet is alive, no memory referenced, no transmitter has packets or waits.
 */
void fake_link_expect_quiet(struct fake_link *link);

/**
 * fake_node_read - copy out of a node's memory
 * @node: the node
 * @offset: of its region
 * @to: where to
 * @length: bytes
 */
void fake_node_read(const struct fake_node *node, u32 offset, void *to, u32 length);

/**
 * fake_node_addr - address of a byte for a work request
 * @node: the node
 * @offset: of its region
 *
 * Return: the address.
 */
static inline u64 fake_node_addr(const struct fake_node *node, u32 offset)
{
	return node->region->iova + offset;
}

/**
 * fake_random - choose a number
 * @link: the wire
 * @below: limit, not 0
 *
 * Return: a number less than @below.
 */
static inline u32 fake_random(struct fake_link *link, u32 below)
{
	return prandom_u32_state(&link->random) % below;
}

static inline struct fake_node *fake_node_peer(struct fake_node *node)
{
	return &node->link->node[node == &node->link->node[0]];
}

#endif /* KUNIT_FAKE_LINK_H */
