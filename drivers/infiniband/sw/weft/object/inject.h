/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rules that make a device fail on purpose (Documentation/infiniband/weft/inject.rst).
 *
 * A device has a table of rules. What happens on the device (a work request, a packet, a verb) is
 * an event for which the table is searched; the first rule that fires decides. Without a rule on
 * any device of the host a static key skips all of this.
 */
#ifndef WEFT_OBJECT_INJECT_H
#define WEFT_OBJECT_INJECT_H

#include <linux/hrtimer.h>
#include <linux/jump_label.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "object/why.h"

struct seq_file;
struct weft_dev;
struct weft_qp;

/* The rules of one device, at most; those of all users, and of one user. */
#define WEFT_INJECT_RULES	256U
#define WEFT_INJECT_USERS_RULES	128U
#define WEFT_INJECT_USER_RULES	16U
/* The longest time in a rule, in ns. */
#define WEFT_INJECT_TIME	(60ULL * NSEC_PER_SEC)
/* The highest rate in a rule, in kbit/s. */
#define WEFT_INJECT_RATE	(1000U * 1000 * 1000)
/* Chances are in millionths. */
#define WEFT_INJECT_CERTAIN	1000000U

/* An event that rules are searched for. */
enum weft_inject_place {
	WEFT_INJECT_REQUEST,	/* a work request that the requester has taken */
	WEFT_INJECT_PACKET,	/* a packet that has arrived for a QP, and is valid */
	WEFT_INJECT_VERB,	/* a call of the control path */
	WEFT_INJECT_SENT,	/* a packet that leaves */
	WEFT_INJECT_CQ,		/* a completion event that is due, of a CQ that waits for one */
	WEFT_INJECT_ALLOC,	/* an allocation of memory */
	WEFT_INJECT_RECEIVE,	/* a receive that a message has just taken */
	WEFT_INJECT_PLACES
};

enum weft_inject_action {
	WEFT_INJECT_NO_ACTION,
	WEFT_INJECT_COMPLETE,	/* request, receive: complete it with an error */
	WEFT_INJECT_OVERRUN,	/* request: as if the CQ were full */
	WEFT_INJECT_DELAY_IT,	/* request, packet: go on later */
	WEFT_INJECT_DROP,	/* packet */
	WEFT_INJECT_DUPLICATE,	/* packet: deliver it twice */
	WEFT_INJECT_BAD_ICRC,	/* packet: as if its ICRC were wrong */
	WEFT_INJECT_BAD_DATA,	/* packet: change a byte of payload, behind the check of the ICRC */
	WEFT_INJECT_ANSWER,	/* packet: an acknowledge that becomes a NAK */
	WEFT_INJECT_REFUSE,	/* packet: answer a request with a NAK in place of executing it */
	WEFT_INJECT_HOLD,	/* packet: deliver it when it is released */
	WEFT_INJECT_TRUNCATE,	/* packet: cut its payload, behind the check of the ICRC */
	WEFT_INJECT_SET,	/* packet: change a field of its headers, behind the same check */
	WEFT_INJECT_FAIL,	/* verb, allocation: return an errno */
	WEFT_INJECT_MARK,	/* packet: as if a router had marked it (ECN CE) */
	WEFT_INJECT_LATE,	/* request: execute it, and complete it later */
	WEFT_INJECT_CNP,	/* packet: answer it by a CNP, too */
	WEFT_INJECT_LOSE,	/* CQ: raise no event, although one was requested */
};

enum weft_inject_verb {
	WEFT_VERB_ALLOC_UCONTEXT,
	WEFT_VERB_ALLOC_PD,
	WEFT_VERB_CREATE_CQ,
	WEFT_VERB_RESIZE_CQ,
	WEFT_VERB_CREATE_QP,
	WEFT_VERB_MODIFY_QP,
	WEFT_VERB_QUERY_QP,
	WEFT_VERB_CREATE_SRQ,
	WEFT_VERB_MODIFY_SRQ,
	WEFT_VERB_CREATE_AH,
	WEFT_VERB_REG_MR,
	WEFT_VERB_REREG_MR,
	WEFT_VERB_ALLOC_MR,
	WEFT_VERB_ALLOC_MW,
	WEFT_VERB_ATTACH_MCAST,
	WEFT_VERB_CREATE_WQ,
	WEFT_VERB_CREATE_RWQ_IND_TABLE,
	WEFT_VERB_CREATE_FLOW,
	WEFT_VERB_CREATE_COUNTERS,
	WEFT_VERB_ALLOC_DM,
	WEFT_VERB_REG_DM_MR,
	WEFT_VERB_ALLOC_XRCD,
	WEFT_VERB_ADVISE_MR,
	WEFT_VERB_QUERY_SRQ,
	/* posts; only rules that name them are for them */
	WEFT_VERB_POST_SEND,
	WEFT_VERB_POST_RECV,
	WEFT_VERB_POST_SRQ_RECV,
	WEFT_VERBS
};

/* Allocations that can fail by name. */
enum weft_inject_alloc {
	WEFT_ALLOC_CONTEXT,	/* of a process that opens the device */
	WEFT_ALLOC_QP,
	WEFT_ALLOC_RING,	/* of a QP, CQ or SRQ, when it is made */
	WEFT_ALLOC_SLOTS,	/* for requests in flight, when packets may be sent */
	WEFT_ALLOC_REGION,
	WEFT_ALLOC_PAGES,	/* those of a region of a process are pinned */
	WEFT_ALLOC_AH,
	WEFT_ALLOC_GROUP,	/* of multicast */
	WEFT_ALLOC_REPLAY,	/* what the responder keeps of READs and atomics */
	WEFT_ALLOC_PACKET,	/* that is sent */
	WEFT_ALLOC_MONITOR,	/* a packet that a monitor shows */
	WEFT_ALLOCS
};

/* The members of a rule that have to match. */
enum weft_inject_match {
	WEFT_MATCH_QP		= BIT(0),
	WEFT_MATCH_PID		= BIT(1),
	WEFT_MATCH_COMM		= BIT(2),
	WEFT_MATCH_SERVICE	= BIT(3),
	WEFT_MATCH_OPCODE	= BIT(4),
	WEFT_MATCH_BYTES	= BIT(5),
	WEFT_MATCH_PSN		= BIT(6),
	WEFT_MATCH_SEGMENT	= BIT(7),
	WEFT_MATCH_ATTEMPT	= BIT(8),
	WEFT_MATCH_VERB		= BIT(9),
	WEFT_MATCH_STATE	= BIT(10),
	WEFT_MATCH_PEER		= BIT(11),
	WEFT_MATCH_TIME		= BIT(12),
	WEFT_MATCH_CQ		= BIT(13),
	WEFT_MATCH_ALLOC	= BIT(14),
	WEFT_MATCH_MESSAGE	= BIT(15),
	WEFT_MATCH_ARMED	= BIT(16),
};

/* A field of the headers that a rule changes. */
enum weft_inject_field {
	WEFT_FIELD_SE,
	WEFT_FIELD_ACKREQ,
	WEFT_FIELD_PSN,
	WEFT_FIELD_IMM,
	WEFT_FIELD_INV,
	WEFT_FIELD_SRQN,
	WEFT_FIELD_QKEY,
	WEFT_FIELD_SRC_QP,
	WEFT_FIELD_RKEY,
	WEFT_FIELD_ADDRESS,
	WEFT_FIELD_LENGTH,
	WEFT_FIELD_MSN,
	WEFT_FIELD_FECN,
	WEFT_FIELD_BECN,
	/* with these the packet may be for nobody */
	WEFT_FIELD_OPCODE,
	WEFT_FIELD_PKEY,
	WEFT_FIELD_DEST_QP,
};

/*
 * Bits of an opcode in a rule: those of enum weft_sqe_opcode, also for the request packets of such
 * an operation, and these for responses.
 */
enum weft_inject_response {
	WEFT_INJECT_ACK			= BIT(24),
	WEFT_INJECT_READ_RESPONSE	= BIT(25),
	WEFT_INJECT_ATOMIC_ACK		= BIT(26),
};

/* The process that has made a QP or CQ; all zero for a kernel consumer's. */
struct weft_inject_owner {
	pid_t	pid;			/* of the thread group, in the initial namespace */
	char	comm[TASK_COMM_LEN];
};

/* The PSNs after the highest ones that have arrived for a QP while there were rules. */
struct weft_inject_seen {
	u32	next[2];		/* of requests, and of responses */
	bool	known[2];
	u32	messages;		/* that have begun to arrive */
	u32	begin;			/* the PSN of the first packet of the last of them */
	u32	rule;			/* number of the last rule that has acted on one, or 0 */
};

/* Something that rules are searched for. */
struct weft_inject_event {
	enum weft_inject_place	place;
	const struct weft_qp	*qp;		/* NULL: a CQ, or a verb without one */
	const struct weft_inject_owner *owner;	/* of a CQ */
	u32			cqn;		/* of a CQ, as "rdma resource" shows it */
	u32			opcode;		/* a bit, see enum weft_inject_response */
	u32			bytes;
	u32			psn;
	u32			message;	/* from 1 on; 0: not known */
	const union ib_gid	*peer;		/* the address that the packet is from, or to */
	u8			segment;	/* enum weft_segment */
	bool			again;		/* the packet was sent before */
	/* it takes the path of a QP that can leave it for its alternate path */
	bool			armed;
	u8			verb;
	u8			state;		/* modify_qp: the state asked for */
	u8			alloc;		/* enum weft_inject_alloc */
	bool			process;	/* a post: of the current process */
};

struct weft_inject_range {
	u32	from;
	u32	to;
};

/* A rule. Immutable but for the two counters, and the times of its packets. */
struct weft_inject_rule {
	struct rcu_head		rcu;
	/* a user, for whose QPs alone it is, with a reference to the writer; no pid: root */
	struct weft_owner	who;
	u8			place;		/* enum weft_inject_place */
	u8			action;		/* enum weft_inject_action */
	u32			fields;		/* enum weft_inject_match */
	u32			qpn;
	u32			cqn;
	struct weft_inject_owner owner;
	u32			services;	/* bit per enum weft_transport */
	u32			opcodes;
	struct weft_inject_range bytes;
	struct weft_inject_range psn;
	struct weft_inject_range messages;
	u8			segment;
	bool			again;
	u8			verb;
	u8			state;
	u8			alloc;
	union ib_gid		peer;		/* an IPv4 address is mapped */
	/* since the rule was added; then, in ktime_get_mono_fast_ns() */
	u64			begin;
	u64			end;
	/* which of the matches fire: from @nth on each @every-th, by chance, at most @times */
	u64			nth;
	u64			every;
	u64			times;
	u32			chance;
	u32			seed;
	/* the action */
	u8			status;		/* enum ib_wc_status */
	u8			vendor_err;	/* 0: that of a usual cause of @status */
	u8			syndrome;	/* of the AETH */
	int			error;
	u64			delay;		/* ns */
	u64			jitter;		/* ns that are added by chance, at most */
	u32			rate;		/* kbit/s; 0: no limit */
	bool			reorder;	/* a longer delay does not hold those behind */
	/* of packets, under the lock of weft_inject.held */
	ktime_t			sent;		/* when all of them have left, at @rate */
	ktime_t			last;		/* when the last of them arrives */
	u8			field;		/* enum weft_inject_field */
	u64			value;		/* of @field; bytes of payload that are left */

	u32			number;		/* in its device, from 1 on, never used again */
	atomic64_t		matched;
	atomic64_t		fired;
	char			text[];		/* as it was written */
};

struct weft_inject_table {
	struct rcu_head		rcu;
	u32			num;
	struct weft_inject_rule	*rules[];
};

/* A context whose process has to ask before it posts, while a rule names a post. */
struct weft_inject_poster {
	struct list_head	node;		/* of weft_inject.posters, under the lock there */
	struct weft_posting	*posting;	/* shared with the process */
};

/* A port that goes down and up by itself. Under RTNL. */
struct weft_inject_flap {
	struct delayed_work	work;
	unsigned long		down;		/* jiffies that it stays so */
	unsigned long		up;
	u32			left;		/* times that it still goes up, or 0 */
};

/* The rules of a device, and packets that wait because of them. */
struct weft_inject {
	/* written under the lock of object/inject.c; NULL: there are no rules */
	struct weft_inject_table __rcu *table;
	u32			number;		/* of the last rule; under that lock */
	bool			allowed;	/* users may have rules */
	bool			port_down;	/* although the net device is up; under RTNL */
	bool			dead;		/* the device has failed by a command; under RTNL */
	struct weft_inject_flap	flap;
	struct list_head	node;		/* of the devices; under that lock */
	struct list_head	posters;	/* struct weft_inject_poster; under that lock */
	/* packets that are delayed, in the order of their time (sk_buff.tstamp) */
	struct sk_buff_head	held;
	struct hrtimer		timer;		/* expires when the first of @held is due */
};

/* Counts the rules of all devices, and the ports and devices that are down by a command. */
DECLARE_STATIC_KEY_FALSE(weft_inject_key);

static __always_inline bool weft_inject_is_on(void)
{
	return static_branch_unlikely(&weft_inject_key);
}

/* Does no packet arrive or leave? */
static inline bool weft_inject_is_silent(const struct weft_inject *inject)
{
	return READ_ONCE(inject->port_down) || READ_ONCE(inject->dead);
}

const char *weft_inject_unfit(const struct weft_dev *dev, const struct weft_inject_rule *rule);
int weft_inject_add(struct weft_dev *dev, struct weft_inject_rule *rule);
int weft_inject_remove(struct weft_dev *dev, u32 number);
int weft_inject_allow(struct weft_dev *dev, bool allow);
int weft_inject_remove_own(struct weft_dev *dev, const struct weft_owner *who, u32 number);
ssize_t weft_inject_show_own(struct weft_dev *dev, const struct weft_owner *who, char *buf,
			     size_t size);
void weft_inject_port_down(struct weft_dev *dev, bool down);
void weft_inject_die(struct weft_dev *dev, bool dead);
void weft_inject_show(struct seq_file *seq);
struct weft_inject_rule *weft_inject_find(const struct weft_dev *dev,
					  const struct weft_inject_event *event);
void weft_inject_name(const struct weft_dev *dev, u32 number, char *text, size_t size);
bool weft_inject_fires(struct weft_inject_rule *rule);
void weft_inject_own(struct weft_inject_owner *owner);
int weft_inject_fail_verb(struct ib_device *ibdev, enum weft_inject_verb verb, struct ib_qp *ibqp,
			  u8 state);

int weft_inject_fail_post(const struct weft_dev *dev, enum weft_inject_verb verb,
			  const struct weft_qp *qp);
int weft_inject_ask(struct weft_dev *dev, enum weft_inject_verb verb, const struct weft_qp *qp);
void weft_inject_watch(struct weft_dev *dev, struct weft_inject_poster *poster);
void weft_inject_unwatch(struct weft_inject_poster *poster);

/* The errno that a rule makes a verb return; 0: no rule fires. Context: any. */
static __always_inline int weft_inject_verb(struct ib_device *ibdev, enum weft_inject_verb verb)
{
	return weft_inject_is_on() ? weft_inject_fail_verb(ibdev, verb, NULL, 0) : 0;
}

/* The same for a verb of a QP. @state: that modify_qp asks for, or IB_QPS_ERR + 1. */
static __always_inline int weft_inject_qp_verb(struct ib_qp *ibqp, enum weft_inject_verb verb,
					       u8 state)
{
	return weft_inject_is_on() ? weft_inject_fail_verb(ibqp->device, verb, ibqp, state) : 0;
}

/* The same for a post of a kernel consumer. @qp: NULL for an SRQ. */
static __always_inline int weft_inject_post(const struct weft_dev *dev, enum weft_inject_verb verb,
					    const struct weft_qp *qp)
{
	return weft_inject_is_on() ? weft_inject_fail_post(dev, verb, qp) : 0;
}

bool weft_inject_fail_alloc(const struct weft_dev *dev, const struct weft_qp *qp,
			    enum weft_inject_alloc alloc);

/*
 * Does a rule say that there is no memory? @qp: for which the memory is, if that exists already.
 * Context: any.
 */
static __always_inline bool weft_inject_no_memory(const struct weft_dev *dev,
						  const struct weft_qp *qp,
						  enum weft_inject_alloc alloc)
{
	return weft_inject_is_on() && weft_inject_fail_alloc(dev, qp, alloc);
}

#endif /* WEFT_OBJECT_INJECT_H */
