/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two QPs, and a wire between them that loses, repeats and reorders packets and at times has no tx
 * credit left, all as chosen by a seed.
 *
 * Nothing happens by itself: no work item runs and no timer expires. The next thing that happens is
 * that a packet arrives, that a requester or responder with an event runs, or that a stalled
 * transmitter gets credit; fake_link_step() chooses. When nothing of this is left,
 * fake_link_pass_time() lets the next timer expire. So real time plays no role, and a seed always
 * leads to the same run.
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
/* Pages of a node's memory. A region maps them in another order. */
#define FAKE_PAGES		16U
#define FAKE_MEMORY		(FAKE_PAGES * PAGE_SIZE)
/* Bytes of inline data a request may have. */
#define FAKE_INLINE		100
/* Packets that one packet overtakes at most. */
#define FAKE_OVERTAKEN		3U
/* Asynchronous events that are counted: those of a QP, and one of a CQ. */
#define FAKE_EVENTS		(IB_EVENT_QP_LAST_WQE_REACHED + 1)

/**
 * struct fake_faults - what the wire does to packets, each in percent
 * @loss: packets lost
 * @duplicate: packets that arrive twice
 * @reorder: packets that overtake up to FAKE_OVERTAKEN others
 * @stall: batches for which the tx credit is used up part of the way
 * @busy: packets that arrive while the turn of their requester or responder is owned, and so go
 *	into its backlog
 * @hurry: steps in which a timer expires although packets are under way: too early for the engine,
 *	or else too early for the peer
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
 * @rnr_retry: as in struct ib_qp_attr
 * @max_rd_atomic: as in struct ib_qp_attr, in both directions
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
 * @dev: the device, without the members that only the core and the verbs use
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
 * @expired: the timer has expired in real time, which is ignored
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
 * @wire: packets under way, the oldest first
 * @alive: packets that have not been freed
 * @sent: packets that each node has sent
 * @watch_psn: a PSN
 * @watched: how often node 0 has sent a request with @watch_psn
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

/*
 * Make two connected QPs in RTS. @seed determines all choices, and the contents of the memory. The
 * test ends if there is no memory.
 */
struct fake_link *fake_link_create(struct kunit *test, const struct fake_attr *attr,
				   u64 seed);

/* Destroy the QPs, and check that nothing is left. @link may be NULL. */
void fake_link_destroy(struct fake_link *link);

/* Let one thing happen. False: nothing can happen before time passes. */
bool fake_link_step(struct fake_link *link);

/* Nothing is under way: let a timer expire. False: none runs. */
bool fake_link_pass_time(struct fake_link *link);

/* Let things happen, and time pass, until nothing more can happen. */
void fake_link_settle(struct fake_link *link);

/* Run requesters and responders until none has an event. No packet arrives. */
void fake_link_run_halves(struct fake_link *link);

/* Let a packet that the test has made arrive now. Sets @hdr->pad. */
void fake_link_deliver(struct fake_node *from, struct weft_hdr *hdr,
		       const void *payload, u32 length);

/* Take the oldest packet off the wire, and decode it; the caller frees it. False: there is none. */
bool fake_link_take(struct fake_link *link, struct weft_pkt *pkt);

/*
 * All requests are complete, and nothing can happen: expect that no packet is alive, no memory is
 * referenced, and no transmitter has packets under way or waits.
 */
void fake_link_expect_quiet(struct fake_link *link);

/* Copy from a node's memory; @offset is that in the region. */
void fake_node_read(const struct fake_node *node, u32 offset, void *to, u32 length);

/* The address of a byte of the region, for a work request. */
static inline u64 fake_node_addr(const struct fake_node *node, u32 offset)
{
	return node->region->iova + offset;
}

/* Choose a number less than @below, which is not 0. */
static inline u32 fake_random(struct fake_link *link, u32 below)
{
	return prandom_u32_state(&link->random) % below;
}

static inline struct fake_node *fake_node_peer(struct fake_node *node)
{
	return &node->link->node[node == &node->link->node[0]];
}

#endif /* KUNIT_FAKE_LINK_H */
