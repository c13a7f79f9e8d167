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
/* Pages of a node's memory, as long on each architecture. A region maps them in another order. */
#define FAKE_PAGES		16U
#define FAKE_PAGE_SHIFT		12
#define FAKE_PAGE		(1UL << FAKE_PAGE_SHIFT)
#define FAKE_MEMORY		(FAKE_PAGES * FAKE_PAGE)
/* Bytes of inline data a request may have. */
#define FAKE_INLINE		100
/* Packets that one packet overtakes at most. */
#define FAKE_OVERTAKEN		3U
/* Asynchronous events that are counted: those of a QP, and one of a CQ. */
#define FAKE_EVENTS		(IB_EVENT_QP_LAST_WQE_REACHED + 1)

/* Faults of the wire, each in percent of the packets. */
struct fake_faults {
	u32	loss;		/* packets lost */
	u32	duplicate;	/* packets that arrive twice */
	u32	reorder;	/* packets that overtake up to FAKE_OVERTAKEN others */
	u32	stall;		/* batches for which the tx credit is used up part of the way */
	/*
	 * packets that arrive while the turn of their requester or responder is owned, and so go
	 * into its backlog
	 */
	u32	busy;
	u32	bulk;		/* packets that arrive as one buffer with those behind them */
	/*
	 * steps in which a timer expires although packets are under way: too early for the engine,
	 * in time for a probe, or too early for the peer
	 */
	u32	hurry;
};

/* Attributes of both QPs. */
struct fake_attr {
	enum ib_qp_type	type;			/* RC or UC */
	u32		psn[FAKE_NODES];	/* first PSN of each node's requests */
	u8		retry_cnt;		/* as in struct ib_qp_attr */
	u8		rnr_retry;		/* as in struct ib_qp_attr */
	u8		max_rd_atomic;		/* as in struct ib_qp_attr, in both directions */
	u32		max_wr;			/* entries of each queue */
	bool		sig_all;		/* every request is signaled */
};

/* A device with a QP, CQs and memory. */
struct fake_node {
	/* the device, without the members that only the core and the verbs use */
	struct weft_dev		dev;
	struct ib_pd		pd;
	struct weft_cq		send_cq;		/* completions of requests */
	struct weft_cq		recv_cq;		/* completions of receives */
	struct weft_ib_qp	ib_qp;			/* the core's handle of @qp */
	struct weft_qp		*qp;			/* connected to the other node's */
	/* all of @memory, with all rights; a test may kill it and set NULL */
	struct weft_region	*region;
	void			*blocks[FAKE_PAGES];	/* of @region */
	u8			*memory;		/* FAKE_MEMORY bytes */
	__be32			ip;			/* address */
	struct fake_link	*link;
	/* the timer has expired in real time, which is ignored */
	bool			expired;
	bool			ticked;		/* likewise that of an acknowledge which waits */
	/* how often each enum ib_event_type was raised */
	u32			events[FAKE_EVENTS];
	u32			comp_events;		/* completion events of @recv_cq */
};

/* The wire. */
struct fake_link {
	struct kunit		*test;
	struct rnd_state	random;			/* source of all choices */
	struct fake_faults	faults;			/* what it does to packets */
	struct fake_node	node[FAKE_NODES];	/* its ends */
	struct sk_buff_head	wire;			/* packets under way, the oldest first */
	atomic_t		alive;			/* packets that have not been freed */
	u32			sent[FAKE_NODES];	/* packets that each node has sent */
	u8			tos;			/* traffic class of all packets */
	bool			holds;			/* it keeps all packets that it may keep */
	u32			watch_psn;		/* a PSN */
	/* how often node 0 has sent a request with @watch_psn */
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

/*
 * Nothing is under way: let a gap before packets that are kept become old, or a timer expire.
 * False: neither is there.
 */
bool fake_link_pass_time(struct fake_link *link);

/* A period in which an acknowledge of @node waits ends. False: none waits. */
bool fake_link_tick(struct fake_node *node);

/* Let all timers expire whose time has come. */
void fake_link_look(struct fake_link *link);

/* Let a packet of the wire arrive now. */
void fake_link_arrive(struct fake_link *link, struct sk_buff *skb);

/* Lose a packet of the wire. */
void fake_link_drop(struct fake_link *link, struct sk_buff *skb);

/* Let things happen, and time pass, until nothing more can happen. */
void fake_link_settle(struct fake_link *link);

/* Run requesters and responders until none has an event. No packet arrives. */
void fake_link_run_halves(struct fake_link *link);

/* Node 0 posts a WRITE of nothing, and sends it. It does not arrive yet. */
void fake_link_write(struct fake_link *link);

/* Let a packet that the test has made arrive now. Sets @hdr->pad. */
void fake_link_deliver(struct fake_node *from, struct weft_hdr *hdr,
		       const void *payload, u32 length);

/* Take the oldest packet off the wire, and decode it; the caller frees it. False: there is none. */
bool fake_link_take(struct fake_link *link, struct weft_pkt *pkt);

/* Lose the newest packet on the wire. */
void fake_link_lose(struct fake_link *link);

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
