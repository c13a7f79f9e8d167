/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A queue pair: identity, attributes, requester (send) and responder (recv). */
#ifndef WEFT_OBJECT_QP_H
#define WEFT_OBJECT_QP_H

#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

#include "object/av.h"
#include "object/dc.h"
#include "object/dev.h"
#include "object/event.h"
#include "object/hca.h"
#include "object/inject.h"
#include "object/migration.h"
#include "object/recv.h"
#include "object/send.h"
#include "object/why.h"
#include "wire/operation.h"

struct weft_comp_cntrs;
struct weft_cq;
struct weft_dev;
struct weft_doorbell;
struct weft_link;
struct weft_rss;
struct weft_srq;

/* A queue pair. Members are immutable after creation unless a lock or writer is named. */
struct weft_qp {
	struct rcu_head		rcu;
	refcount_t		refs;		/* of the owner, lookups, and queued work items */
	u32			qpn;
	u32			src_qpn;	/* UD: source QPN of its datagrams, usually @qpn */
	enum ib_qp_type		type;		/* DC: WEFT_QPT_DCI or WEFT_QPT_DCT */
	/* XRC: TGT for INI; DC: DCT for DCI; otherwise the same as @type */
	enum ib_qp_type		peer_type;
	/* UD also for SMI and GSI, which are QP 0 and 1; RC also for DC; RAW_PACKET: none */
	enum weft_transport	transport;
	/*
	 * enum ib_qp_state, read without a lock. Written by modify_qp with both turns
	 * stopped, and by the owner of either turn with weft_qp_set_error(), weft_qp_set_sqe()
	 * or weft_qp_set_sqd().
	 */
	u32			state;
	bool			kernel;		/* its consumer is in the kernel */
	bool			sig_all;
	u8			flags;		/* enum weft_qp_flags */
	bool			wq;		/* the receive half of a WQ */
	/*
	 * enum weft_fault that has put the QP into ERR, or 0; reported in the vendor_err of
	 * flushed work requests. Set by weft_qp_fatal(), and when the device of a process's QP
	 * is removed; cleared with both turns stopped.
	 */
	u32			fault;
	/* enum ib_qp_create_flags; that of a WQ loses and gets CVLAN_STRIPPING at any time */
	u32			create_flags;
	kuid_t			user;		/* charged for the QP, see weft_user() */
	struct weft_inject_owner owner;		/* for injection rules */
	struct weft_owner	maker;		/* may read the records of the QP */
	u64			cookie;		/* returned in every completion */
	u32			dev_id;
	struct weft_dev		*dev;		/* not used after destroy_qp */
	struct ib_qp		*ibqp;		/* not used after destroy_qp */
	struct ib_pd		*pd;		/* of the requester; NULL: XRC target */
	struct ib_xrcd		*xrcd;		/* XRC target, else NULL */
	struct weft_cq		*send_cq;
	/* completion counters, or NULL; written once, in RESET or INIT, under @modify_lock */
	struct weft_comp_cntrs	*cntrs;
	struct weft_rss		*rss;		/* RSS QP, else NULL */
	struct weft_dc		*dc;		/* DC QP, else NULL */
	/* may ring this QP; NULL: kernel QP, or XRC target (which belongs to no process) */
	struct weft_doorbell	*doorbell;

	/* written with both turns stopped */
	struct weft_stats __percpu *stats;	/* counters of @dev, or of an rdma_counter */
	const struct weft_link	*link;		/* connected; a UD QP chooses one per address */
	/* connected: path to the peer; see @migration, and for DC struct weft_dc */
	struct weft_av		av;
	u64			path;		/* number of @av, see weft_path_renew() */
	u32			dest_qpn;	/* connected */
	u32			qkey;		/* UD */
	u16			pkey_index;
	u32			mtu;		/* connected: path MTU in bytes */
	u32			access;		/* enum ib_access_flags that the peer has */
	struct weft_migration	migration;

	struct mutex		resize_lock;	/* one resize at a time; may wait for page faults */
	struct mutex		modify_lock;	/* modify, query, destroy, migration */
	/* as last modified, under @modify_lock; requester and responder have copies */
	struct ib_qp_attr	attr;
	struct ib_qp_cap	cap;		/* actual capabilities */
	spinlock_t		post_lock;	/* kernel consumer: producer side of both rings */
	struct weft_events	events;
	atomic_t		mcast_groups;	/* attachments, see object/mcast.c */
	/*
	 * Sends an acknowledge that has been delayed long enough; takes the receive turn.
	 * Scheduled with that turn owned, or by weft_piggyback.timer. weft_responder_reset() has
	 * stopped the turn and ended the timer, and waits for the tasklet to end.
	 */
	struct tasklet_struct	late;
	atomic64_t		cnp_at;		/* ktime of the last CNP that was sent */
	struct weft_inject_seen	seen;		/* while there are injection rules; no lock */

	struct weft_send	send ____cacheline_aligned_in_smp;
	struct weft_recv	recv ____cacheline_aligned_in_smp;
};

/* The core's handle of a QP; freed by the core. */
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

/* The responder takes messages in RTR, RTS, SQD and SQE (IBA 10.3.1). Receive turn owned. */
static inline bool weft_qp_can_receive(const struct weft_qp *qp)
{
	enum ib_qp_state state = weft_qp_state(qp);

	return state >= IB_QPS_RTR && state <= IB_QPS_SQE;
}

static inline bool weft_qp_is_ud(const struct weft_qp *qp)
{
	return qp->transport == WEFT_TRANSPORT_UD;
}

static inline bool weft_qp_is_raw(const struct weft_qp *qp)
{
	return qp->transport == WEFT_TRANSPORT_NONE;
}

/* Subnet management (QP 0) works before the port is active. */
static inline bool weft_qp_port_open(const struct weft_qp *qp)
{
	return weft_dev_port_active(qp->dev) || qp->type == IB_QPT_SMI;
}

/* The current P_Key of outgoing packets; QP 1 has one per work request instead. */
static inline u16 weft_qp_pkey(const struct weft_qp *qp)
{
	const struct weft_hca *hca = qp->dev->hca;

	return likely(!hca) ? WEFT_DEFAULT_PKEY : READ_ONCE(hca->port.pkeys[qp->pkey_index]);
}

/* Whether every request is acknowledged. */
static inline bool weft_qp_is_reliable(const struct weft_qp *qp)
{
	return qp->transport == WEFT_TRANSPORT_RC || qp->transport == WEFT_TRANSPORT_XRC;
}

/* No alternate path is in reserve. This is the MigReq bit of packets. */
static inline bool weft_qp_has_migrated(const struct weft_qp *qp)
{
	return READ_ONCE(qp->migration.state) == IB_MIG_MIGRATED;
}

/* It would leave its path for the alternate one if that failed. */
static inline bool weft_qp_is_armed(const struct weft_qp *qp)
{
	return READ_ONCE(qp->migration.state) == IB_MIG_ARMED;
}

static inline void weft_qp_hold(struct weft_qp *qp)
{
	refcount_inc(&qp->refs);
}

void weft_qp_free(struct weft_qp *qp);

static inline void weft_qp_put(struct weft_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		weft_qp_free(qp);
}

bool weft_qp_set_error(struct weft_qp *qp);
void weft_qp_set_sqe(struct weft_qp *qp);
bool weft_qp_set_sqd(struct weft_qp *qp);
void weft_qp_events_init(struct weft_qp *qp);
void weft_qp_event(struct weft_qp *qp, enum ib_event_type type);
int weft_qp_event_now(struct weft_qp *qp, enum ib_event_type type);
void weft_qp_fatal(struct weft_qp *qp, u32 fault);
void weft_qp_lost(struct weft_qp *qp, struct weft_cq *cq, u32 fault);
void weft_qp_fatal_now(struct weft_qp *qp, u32 fault);

/* enum ib_qp_type, as the core and processes know it */
static inline u8 weft_qp_core_type(const struct weft_qp *qp)
{
	return qp->dc ? IB_QPT_DRIVER : qp->type;
}

#endif /* WEFT_OBJECT_QP_H */
