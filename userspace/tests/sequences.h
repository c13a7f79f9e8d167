/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random sequences of verbs, compared with a model.
 *
 * A world is a graph of objects of one context or two, which one thread changes by one call
 * at a step. sequences-model.c says by the specifications what a call returns, and which
 * completions and events come of it; sequences-wires.c what becomes of work requests;
 * sequences-objects.c, sequences-qps.c and sequences-work.c draw the calls, legal and not,
 * sequences-raw.c those of WQs, RAW_PACKET QPs and rules, sequences-dc.c those of libweft.
 */
#ifndef TESTS_SEQUENCES_H
#define TESTS_SEQUENCES_H

#include "lib.h"

#define TRACED		24		/* calls that are shown when one fails */
#define MAX_OBJECTS	10		/* of a kind */
#define CONTEXTS	2
#define MAX_WR		64		/* of a queue */
#define MAX_PENDING	1024		/* completions of a CQ, events of a world */
#define SPACE		32768		/* memory of a world */
#define GROUPS		4		/* multicast groups of a world */
#define FILES		2		/* that name XRC domains */
#define LONGEST		200		/* bytes of a message: it is one packet */
#define FRAME		14		/* bytes of a frame: the header of Ethernet */
#define MAX_TABLE	8		/* entries of an indirection table */

/* RAWQP: RAW_PACKET, also with an indirection table */
enum kind {
	PD, TD, MR, DM, MW, CHANNEL, CQ, SRQ, XRCD, QP, AH, WQ, TABLE, RAWQP, FLOW, COUNTERS, DCQP,
	MKEY, KINDS,
};
/* RSS QPs and WQs have no service, nor the states of one */
enum service { RC, UC, UD, INI, TGT, RAW, DCI, DCT, SERVICES, RSS, WORKQ };
enum mr_kind { MR_PLAIN, MR_PAGED, MR_EMPTY, MR_DEVICE, MR_KINDS };

struct obj;
struct world;

/* an XRC domain: several handles of several contexts, if a file names it */
struct domain {
	int handles;
	int file;			/* -1: none */
};

struct element {
	uint32_t lkey, length;
	uint64_t addr;
};

struct send {
	uint64_t id;
	enum ibv_wr_opcode op;
	bool signaled, solicited, inlined, begun;
	bool ah_is_ok;			/* it is of the QP's domain */
	struct element from;
	uint32_t rkey;
	uint64_t remote;
	struct obj *ah, *mw, *region;	/* of a window: what it is bound to */
	uint32_t qpn, qkey, srqn, key;
	uint64_t start, size;
	int access;
	int group;			/* -1: none */
};

struct receive {
	uint64_t id;
	struct element to;
};

/* A queue of work requests, by number: [polled, begun) wait to be polled, or are unsignaled. */
struct sendq {
	struct send wr[MAX_WR];
	uint32_t max, polled, next, tail;
};

struct recvq {
	struct receive wr[MAX_WR];
	uint32_t max, polled, next, tail;
};

/* A QP; that of an XRC target has several handles. A WQ is one with a receive queue alone. */
struct qp {
	enum service service;
	uint32_t num;
	enum ibv_qp_state state;
	enum ibv_qp_state known;	/* which the program knows: see limits.rst */
	struct ibv_qp_attr attr;	/* what has been set, since RESET: the bits of set */
	int set;
	struct ibv_qp_cap cap;
	bool sig_all, draining, notify, greeted, sent, received;
	bool lasted;			/* LAST_WQE_REACHED has been told */
	uint32_t psn, expected;		/* of the next message to send, to receive */
	struct sendq sq;
	struct recvq rq;
	struct obj *scq, *rcq, *srq, *pd;
	struct domain *domain;
	struct obj *maker;		/* gets the events, NULL: nobody */
	int handles;
	unsigned int groups;		/* attached to */
	struct world *world;
	struct qp *link;		/* next in the world's list */
};

struct pending {
	struct qp *qp;
	uint64_t id;
	bool receive, solicited;
	bool behind;			/* behind the sends of the same QP */
	bool harmless;			/* whether it has been executed makes no difference */
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint32_t length;
};

/* which frames a rule is for; of those with the same ones, what must be the same, too */
struct steering {
	bool egress, trap;
	int rank, address, port;	/* -1: any port */
	bool drop;
	uint32_t tag;			/* 0: none */
};

struct obj {
	enum kind kind;
	unsigned int id;
	int context;
	int users;			/* objects that keep it */
	int loose;			/* of a parent domain: those that only should */
	struct world *world;
	struct obj *pd, *td, *dm, *cq, *channel, *xrcd, *bound;
	union {
		void *ptr;
		struct ibv_pd *ipd;
		struct ibv_td *itd;
		struct ibv_mr *imr;
		struct ibv_dm *idm;
		struct ibv_mw *imw;
		struct ibv_comp_channel *ichannel;
		struct ibv_cq *icq;
		struct ibv_srq *isrq;
		struct ibv_xrcd *ixrcd;
		struct ibv_qp *iqp;
		struct ibv_ah *iah;
		struct ibv_wq *iwq;
		struct ibv_rwq_ind_table *itable;
		struct ibv_flow *iflow;
		struct ibv_counters *icounters;
		struct weftdv_mkey *imkey;
	};
	bool parent;			/* PD */
	enum mr_kind mr_kind;
	bool spoilt;			/* MR: a refused ibv_rereg_mr() */
	uint64_t start, size;		/* MR, MW: addresses; DM */
	int access;
	uint32_t key;			/* MW: that counts now */
	int mw_type;
	uint32_t bound_qpn;
	struct pending *pend;		/* CQ */
	unsigned int num_pend, cqe;
	int armed;			/* 0: not, 1: for solicited ones, 2: for any */
	int told;			/* events that have to come */
	struct domain *domain;		/* XRCD, SRQ of XRC */
	struct recvq rq;		/* SRQ */
	uint32_t max_sge, limit, srqn;
	uint32_t floor;			/* SRQ: receives whose completions were polled */
	struct qp *q;			/* QP */
	int group;			/* AH: -1: to one */
	struct obj *member[MAX_TABLE];	/* TABLE */
	int members;
	struct obj *table;		/* RAWQP, of RSS */
	bool deaf;			/* RAWQP: no receive is posted to it */
	struct steering *steering;	/* FLOW: of the type NORMAL */
	struct obj *target, *counters;	/* FLOW */
	uint32_t attached, values;	/* COUNTERS */
};

struct event {
	enum ibv_event_type type;
	struct obj *obj;
	bool certain;
	bool stale;			/* of a state that the QP has left */
};

struct world {
	unsigned int number;
	uint64_t seed, random;
	unsigned long step, steps;
	struct ibv_context *context[CONTEXTS];
	struct obj *obj[KINDS][MAX_OBJECTS];
	int num[KINDS];
	unsigned int next_id;
	struct qp *qps;
	uint8_t *space;
	struct event expected[MAX_PENDING];
	int num_expected;
	struct event got[MAX_PENDING];	/* by whichever thread; under the lock of events */
	int num_got;
	bool must_sync;			/* before the next call */
	char trace[TRACED][256];
	unsigned int traced;
	int file[FILES];
	struct domain *named[FILES];
	unsigned long done[64], refused[64];	/* calls */
	unsigned long statuses[32], events[32];
};

extern __thread struct world *w;
extern bool infiniband, paging, one_thread;
extern bool has_frames, may_use_frames;		/* the port; this process, by CAP_NET_RAW */

/* sequences.c */
uint64_t below(uint64_t n);
bool one_in(unsigned int n);
__attribute__((noreturn, format(printf, 1, 2))) void mismatch(const char *format, ...);
__attribute__((format(printf, 1, 2))) void call(const char *format, ...);
/* more of the last call */
__attribute__((format(printf, 1, 2))) void remark(const char *format, ...);
enum verb {
	V_ALLOC_PD, V_PARENT, V_ALLOC_TD, V_REG_MR, V_REREG_MR, V_ALLOC_DM, V_ALLOC_MW, V_BIND_MW,
	V_CHANNEL, V_CREATE_CQ, V_RESIZE_CQ, V_NOTIFY, V_CREATE_SRQ, V_MODIFY_SRQ, V_QUERY_SRQ,
	V_OPEN_XRCD, V_CREATE_QP, V_OPEN_QP, V_MODIFY_QP, V_QUERY_QP, V_CREATE_AH, V_ATTACH,
	V_DETACH, V_DESTROY, V_POST_SEND, V_POST_RECV, V_POST_SRQ, V_POLL, V_EVENTS, V_OPEN,
	V_CLOSE, V_CREATE_WQ, V_MODIFY_WQ, V_POST_WQ, V_CREATE_TABLE, V_CREATE_RAW, V_MODIFY_RAW,
	V_POST_RAW_SEND, V_POST_RAW_RECV, V_CREATE_RSS, V_USE_RSS, V_CREATE_FLOW, V_CREATE_COUNTERS,
	V_ATTACH_COUNTERS, V_READ_COUNTERS, V_DESTROY_RAW, V_CREATE_DC, V_MODIFY_DC, V_USE_DC,
	V_CREATE_MKEY, V_DESTROY_DC, VERBS,
};
extern const char * const verb_names[VERBS];
/* what a call has returned; @other: as good as @want */
void result_of(enum verb verb, int got, int want, int other);
#define result(verb, got, want)		result_of(verb, got, want, want)

/* sequences-model.c */
struct obj *some(enum kind kind);		/* NULL: none */
struct obj *some_of(enum kind kind, int context);
struct obj *add(enum kind kind, int context, void *ptr);
void forget(struct obj *o);
struct obj *base_of(struct obj *pd);
void hold(struct obj *o);
void hold_pd(struct obj *pd, bool loose);
void drop_pd(struct obj *pd, bool loose);
void drop(struct obj *o);
int modify_result(const struct qp *qp, const struct ibv_qp_attr *attr, int mask);
int required(const struct qp *qp, enum ibv_qp_state to);
int optional(const struct qp *qp, enum ibv_qp_state to);
void modified(struct qp *qp, const struct ibv_qp_attr *attr, int mask);
void check_qp(struct obj *o);
void expect_async(enum ibv_event_type type, struct obj *o, bool certain);
void forget_events(struct obj *o);
void read_events(void);
void settle_events(void);

/* sequences-wires.c */
void complete(struct qp *qp, bool receive, struct pending what);
void run(void);
void set_error(struct qp *qp);
void flush_both(struct qp *qp);
void clear_queues(struct qp *qp);
unsigned int promised(const struct obj *cq);
void take_completion(struct obj *cq, const struct ibv_wc *wc);
void sync_cq(struct obj *cq);
void sync_all(void);
bool idle(const struct obj *cq);
unsigned int waiting_at(const struct recvq *rq);
bool local_is_ok(const struct element *e, struct obj *domain, bool written);
bool predictable(const struct qp *qp, const struct send *wr);
struct qp *qp_of(uint32_t num);
void check_limit(struct obj *srq);

/* sequences-objects.c, sequences-qps.c, sequences-work.c, sequences-raw.c, sequences-dc.c */
/* Return: whether there was a call */
struct action {
	const char *name;
	bool (*run)(void);
	int weight;
};
extern const struct action object_actions[], qp_actions[], work_actions[], raw_actions[];
extern const struct action dc_actions[];
extern const int num_object_actions, num_qp_actions, num_work_actions, num_raw_actions;
extern const int num_dc_actions;
unsigned int wrong(unsigned int num);
bool full(enum kind kind);
int some_context(void);
int error_of(const void *ptr);
struct qp *new_qp(struct obj *o, enum service service, uint32_t num);
bool create_qp_of(enum service service);
bool modify_this_qp(struct obj *o);
bool post_send_to(struct obj *o);
bool post_receives_to(struct obj *o);
int destroy_raw(struct obj *o);
int destroy_mkey(struct obj *o);
void vanish_raw(struct obj *o);
void close_all(void);
bool destroy(struct obj *o);
union ibv_gid group_gid(int group);
void detach_all(struct obj *o);
bool may_lose(const struct obj *o);

#endif /* TESTS_SEQUENCES_H */
