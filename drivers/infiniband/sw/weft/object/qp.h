/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A queue pair: identity, attributes, and its two halves. Behind it is the room for the
 * lists of both, as long as its work requests can be.
 *
 * What the core calls a QP (struct ib_qp, freed by the core as soon as
 * destroy_qp returns) is only a handle to struct weft_qp, which is counted
 * and freed after a grace period: a peer may find it by its number at any
 * time, and a reference keeps nothing but the memory. What a half may still
 * use is decided by the QP's state, read with the half's turn owned:
 * destroy_qp stops both turns and sets RESET before it gives anything back.
 */
#ifndef WEFT_OBJECT_QP_H
#define WEFT_OBJECT_QP_H

#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

#include "object/av.h"
#include "object/dev.h"
#include "object/event.h"
#include "object/hca.h"
#include "object/migration.h"
#include "object/recv.h"
#include "object/send.h"
#include "wire/operation.h"

struct weft_cq;
struct weft_dev;
struct weft_doorbell;
struct weft_link;
struct weft_srq;

/**
 * struct weft_qp - a queue pair
 *
 * Immutable after creation unless a lock or writer is named.
 *
 * @rcu: freed after a grace period
 * @refs: one for the owner, one for each lookup and queued work
 * @qpn: QP number
 * @src_qpn: UD: the number that its datagrams come from; @qpn, unless it was created
 *	with another one
 * @type: transport service; SMI and GSI are UD QPs with the numbers 0 and 1
 * @peer_type: connected: what the peer has to be: XRC initiators are connected with XRC
 *	targets, others with their like
 * @transport: how it says that on the wire
 * @state: enum ib_qp_state. Written by modify_qp with both turns stopped, and
 *	by the owner of either turn with weft_qp_set_error() or
 *	weft_qp_set_sqe(). Read by anybody.
 * @kernel: the consumer is in the kernel
 * @sig_all: every send work request is signaled
 * @fault: enum weft_fault that ends it, for the vendor_err of what is flushed, or 0. Set
 *	by weft_qp_fatal(), and when the device is being removed (of a process's QP);
 *	cleared with both turns stopped
 * @create_flags: enum ib_qp_create_flags
 * @user: on whose account it is, see weft_user()
 * @cookie: returned in every completion
 * @dev: the device; not used after destroy_qp
 * @dev_id: of the device
 * @ibqp: the core's handle; not used after destroy_qp
 * @pd: protection domain of @send; NULL: an XRC target
 * @xrcd: of an XRC target, else NULL
 * @send_cq: completions of @send
 * @doorbell: the file descriptor that may ring; NULL for a kernel QP, and for an
 *	XRC target, which is not one process's
 * @migration: connected: another path
 * @resize_lock: serialises resizes, which wait for the process to have its page
 * @modify_lock: serialises modify, query, destroy and migration
 * @attr: attributes as last modified, under @modify_lock. What a half needs
 *	is copied into the half.
 * @cap: real capabilities
 * @av: connected: where to, with both turns stopped; see @migration
 * @dest_qpn: connected: the peer, with both turns stopped
 * @qkey: UD, with both turns stopped
 * @pkey_index: entry of the port's P_Key table, with both turns stopped
 * @mtu: connected: path MTU in bytes, with both turns stopped
 * @access: enum ib_access_flags the peer may use, with both turns stopped
 * @stats: what it counts into: @dev's or those of a counter, with both turns
 *	stopped
 * @link: what carries the messages of a connected QP, with both turns stopped;
 *	a UD QP chooses for each address
 * @post_lock: a kernel consumer's producer side of both rings
 * @events: affiliated asynchronous ones
 * @mcast_groups: groups it is attached to, under the core's or mcast's lock
 * @late: takes the receive turn, for an acknowledge that has waited long enough. Scheduled
 *	with that turn owned; weft_responder_reset(), which has stopped it, waits for the end.
 * @send: send half
 * @recv: receive half
 */
struct weft_qp {
	struct rcu_head		rcu;
	refcount_t		refs;
	u32			qpn;
	u32			src_qpn;
	enum ib_qp_type		type;
	enum ib_qp_type		peer_type;
	enum weft_transport	transport;
	u32			state;
	bool			kernel;
	bool			sig_all;
	u32			fault;
	u32			create_flags;
	kuid_t			user;
	u64			cookie;
	u32			dev_id;
	struct weft_dev		*dev;
	struct ib_qp		*ibqp;
	struct ib_pd		*pd;
	struct ib_xrcd		*xrcd;
	struct weft_cq		*send_cq;
	struct weft_doorbell	*doorbell;
	struct weft_stats __percpu *stats;
	const struct weft_link	*link;
	struct weft_av		av;
	u32			dest_qpn;
	u32			qkey;
	u16			pkey_index;
	u32			mtu;
	u32			access;
	struct weft_migration	migration;

	struct mutex		resize_lock;
	struct mutex		modify_lock;
	struct ib_qp_attr	attr;
	struct ib_qp_cap	cap;
	spinlock_t		post_lock;
	struct weft_events	events;
	atomic_t		mcast_groups;
	struct tasklet_struct	late;

	struct weft_send	send ____cacheline_aligned_in_smp;
	struct weft_recv	recv ____cacheline_aligned_in_smp;
};

/**
 * struct weft_ib_qp - a QP as the core sees it
 * @ibqp: first, freed by the core
 * @qp: the QP
 */
struct weft_ib_qp {
	struct ib_qp		ibqp;
	struct weft_qp		*qp;
};

static inline struct weft_qp *to_weft_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct weft_ib_qp, ibqp)->qp;
}

static inline enum ib_qp_state weft_qp_state(const struct weft_qp *qp)
{
	return READ_ONCE(qp->state);
}

/**
 * weft_qp_can_receive - whether the receive half takes messages
 * @qp: receive turn owned
 *
 * Return: true in RTR, RTS, SQD and SQE (IBA 10.3.1).
 */
static inline bool weft_qp_can_receive(const struct weft_qp *qp)
{
	enum ib_qp_state state = weft_qp_state(qp);

	return state >= IB_QPS_RTR && state <= IB_QPS_SQE;
}

static inline bool weft_qp_is_ud(const struct weft_qp *qp)
{
	return qp->transport == WEFT_TRANSPORT_UD;
}

/**
 * weft_qp_port_open - whether messages may leave and arrive
 * @qp: any
 *
 * Return: true when the port is active; subnet management does not wait for that.
 */
static inline bool weft_qp_port_open(const struct weft_qp *qp)
{
	return weft_dev_port_active(qp->dev) || qp->type == IB_QPT_SMI;
}

/**
 * weft_qp_pkey - the P_Key of what a QP sends, but for QP 1, which has one for each
 *	work request
 * @qp: one of its turns owned
 *
 * Return: what the table has now.
 */
static inline u16 weft_qp_pkey(const struct weft_qp *qp)
{
	const struct weft_hca *hca = qp->dev->hca;

	return likely(!hca) ? WEFT_DEFAULT_PKEY : READ_ONCE(hca->port.pkeys[qp->pkey_index]);
}

/* Is each request answered? */
static inline bool weft_qp_is_reliable(const struct weft_qp *qp)
{
	return qp->transport == WEFT_TRANSPORT_RC || qp->transport == WEFT_TRANSPORT_XRC;
}

/* Is there no other path in reserve? MigReq of a packet says so. */
static inline bool weft_qp_has_migrated(const struct weft_qp *qp)
{
	return READ_ONCE(qp->migration.state) == IB_MIG_MIGRATED;
}

static inline void weft_qp_hold(struct weft_qp *qp)
{
	refcount_inc(&qp->refs);
}

/* The last reference is gone: see weft_qp_put(). */
void weft_qp_free(struct weft_qp *qp);

/**
 * weft_qp_put - drop a reference
 * @qp: freed after a grace period when it was the last
 */
static inline void weft_qp_put(struct weft_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		weft_qp_free(qp);
}

/**
 * weft_qp_set_error - into ERR, from a state in which a half may run
 * @qp: either turn owned
 *
 * Both halves are made to flush.
 *
 * Return: true if it was not in ERR, nor put there by the other half meanwhile.
 */
bool weft_qp_set_error(struct weft_qp *qp);

/**
 * weft_qp_set_sqe - from RTS or SQD into SQE
 * @qp: UC or UD, send turn owned
 */
void weft_qp_set_sqe(struct weft_qp *qp);

/* In create_qp; weft_events_end() in destroy_qp. */
void weft_qp_events_init(struct weft_qp *qp);

/**
 * weft_qp_event - raise an affiliated asynchronous event
 * @qp: either turn owned, in a state in which a half may run
 * @type: of the event
 *
 * Context: any.
 */
void weft_qp_event(struct weft_qp *qp, enum ib_event_type type);

/**
 * weft_qp_fatal - raise QP_FATAL and go into ERR, unless in ERR already
 * @qp: either turn owned
 * @fault: enum weft_fault: why
 */
void weft_qp_fatal(struct weft_qp *qp, u32 fault);

/**
 * weft_qp_lost - a completion found no room: see weft_cq_push()
 * @qp: either turn owned; weft_qp_fatal()
 * @cq: in error; so are all its QPs, soon
 * @fault: enum weft_fault: why
 */
void weft_qp_lost(struct weft_qp *qp, struct weft_cq *cq, u32 fault);

/**
 * weft_qp_fatal_now - the same of a QP that somebody else may be at work with
 * @qp: referenced; what is in RESET, INIT or ERR stays there
 * @fault: enum weft_fault: why
 *
 * Context: process, may sleep; takes the modify_lock, and stops a turn.
 */
void weft_qp_fatal_now(struct weft_qp *qp, u32 fault);

#endif /* WEFT_OBJECT_QP_H */
