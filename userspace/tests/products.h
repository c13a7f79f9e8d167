/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random work of every service over memory of every kind, and a model that says byte by byte
 * what has to become of it. products.c has the rounds, products-memory.c the memory and its
 * keys, products-mkeys.c what an mkey makes of memory, products-work.c makes the work,
 * products-model.c says what becomes of it, and products-pairs.c posts it and looks at the
 * completions.
 */
#ifndef TESTS_PRODUCTS_H
#define TESTS_PRODUCTS_H

#include "lib.h"

#define PAGE		4096UL
#define MiB		(1UL << 20)
#define LIST		32		/* elements of a list */
#define KEYS		3		/* of an area */
#define WINDOWS		24		/* half of them of type 2 */
#define GRH		40
#define MAX_MSG		(1ULL << 31)
#define INLINE		120

enum kind {
	KIND_NULL, KIND_PINNED, KIND_HUGE, KIND_PAGED, KIND_WHOLE, KIND_FILE, KIND_DEVICE,
	KIND_DMABUF, KIND_MKEY, KIND_WINDOW_1, KIND_WINDOW_2, KIND_EMPTY, KIND_INLINE, KINDS
};

/* TAG: RC, with an SRQ that has tags */
enum service { RC, RC_SRQ, UC, UC_SRQ, UD, UD_SRQ, XRC, DC, TAG, SERVICES };

enum op {
	OP_SEND, OP_SEND_IMM, OP_SEND_INV, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_CMP_SWP,
	OP_FETCH_ADD, OP_FLUSH, OP_ATOMIC_WRITE, OPS
};

/* how a kind of memory was used */
enum use { USE_GATHER, USE_PLACE, USE_REMOTE, USES };

extern const char * const kind_names[KINDS];
extern const char * const service_names[SERVICES];
extern const char * const op_names[OPS];

/* what has run to success, and the statuses of what has not */
extern unsigned long done_ops[OPS][SERVICES];
extern unsigned long done_kinds[USES][KINDS][SERVICES];
extern unsigned long done_statuses[IBV_WC_TM_RNDV_INCOMPLETE + 1];
extern unsigned long done_changes, done_long, done_unexpected, done_matched;

extern size_t longest;			/* length of a message */
extern bool packets;			/* none is handed over by the local link */
extern bool has_placement;		/* FLUSH and ATOMIC WRITE */

/* random numbers that a seed determines: one below @n; whether one in @n comes true */
uint64_t below(uint64_t n);
bool one_in(unsigned int n);

/* print the work of this round, then fail */
void show_round(void);
#define WRONG(...)			\
	do {				\
		show_round();		\
		FAIL(__VA_ARGS__);	\
	} while (0)

/*
 * ---- Memory ----
 */

struct area;

/* of a region or of a window that is bound */
struct key {
	struct area *area;
	enum kind kind;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct weftdv_mkey *mkey;
	struct ibv_pd *pd;
	uint32_t number;		/* lkey and rkey */
	uint32_t qpn;			/* of a window of type 2 */
	size_t off, length;		/* of the area, */
	uint64_t addr;			/* which have this address */
	int access;
	bool valid;
	int bound;			/* windows onto it */
	struct key *parent;		/* of a window */
	struct end *owner;		/* a window of type 2 is bound with its QP */
};

struct area {
	enum kind kind;
	bool big;
	uint8_t *p;			/* NULL: of the device, or of an mkey */
	uint8_t *model;
	size_t size;
	size_t present;			/* bytes; beyond them there is no file */
	uint64_t addr;			/* of its first byte, by its keys */
	struct ibv_dm *dm;
	int fd;
	struct key keys[KEYS];
};

extern struct area areas[];
extern unsigned int num_areas;
extern struct key windows[WINDOWS];
extern struct ibv_pd *pds[2];
extern struct ibv_mr *nulls[2];
extern bool had[KINDS];

void make_memory(void);
void change_memory(void);		/* between rounds */
void stir_memory(void);			/* from now on, without a change that shows */
struct area *random_area(enum kind kind, bool big);
uint32_t dead_key(void);		/* a number that no key has any more */
void kill_window(struct key *window);
void check_memory(bool all);

/*
 * products-mkeys.c: the parts of two buffers of which an mkey makes @area. mkey_read() and
 * mkey_write() do so without it. A new layout is for new mkeys.
 */
void make_layout(struct area *area);
void new_layout(void);
void mkey_read(size_t off, uint8_t *data, size_t length);
void mkey_write(size_t off, uint8_t *data, size_t length);
void check_gaps(void);
struct weftdv_mkey *mkey_open(struct ibv_pd *whose, int access);

/* a range of memory; area NULL: the null key's */
struct piece {
	struct area *area;
	size_t off, length;
	enum kind kind;
};

enum missing { THERE, NO_KEY, NO_PAGES, UNKNOWN };

static inline bool is_wrong(enum missing missing)
{
	return missing == NO_KEY || missing == NO_PAGES;
}

/* what a key and an address name */
enum missing resolve(struct piece *piece, uint32_t number, uint64_t addr, uint64_t length,
		     int access, struct ibv_pd *whose, uint32_t qpn);
struct key *find_key(uint32_t number);
bool key_allows(const struct key *key, size_t off, size_t length, int access,
		struct ibv_pd *whose, uint32_t qpn);

/* ranges that work of this round uses, so that no two depend on who is first */
struct claim {
	struct area *area;
	size_t off, length;
	bool write;
	bool remote;			/* the responder accesses it */
	bool reply;			/* of a READ or an atomic: a fence waits for it */
	bool alone;			/* orders do not help */
	bool fence;
	int flow;
	uint64_t id;
};

#define MAX_CLAIMS 4096
extern struct claim claims[MAX_CLAIMS];
extern unsigned int num_claims;
bool claim(const struct claim *c);

/* what may be as before, or already as it would be; @data NULL: anything */
void maybe(const struct piece *piece, const uint8_t *data);
void settle_maybes(void);

/*
 * ---- Work ----
 */

struct list {
	struct ibv_sge sge[LIST];
	unsigned int num;
	uint64_t length;
};

struct recv {
	uint64_t id;
	struct list list;
};

#define MAX_RECVS 64
#define MAX_WORK 10
#define TMH 16

/* what a message of the service TAG is to be for its receiver */
enum tagged { NO_TAG, UNEXPECTED, MATCHED };

/* in the list of an SRQ, for one message of this round */
struct tag {
	uint64_t value;
	struct recv recv;		/* with a place for the header, which goes nowhere */
	uint32_t handle;
	bool posted, taken;
};

/* a receive queue, or a shared one */
struct queue {
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	uint32_t srqn;
	struct recv recv[MAX_RECVS];	/* those that wait, the oldest first */
	unsigned int num;
	struct recv fresh[MAX_RECVS];	/* those that are yet to be posted */
	unsigned int num_fresh;
	bool used;			/* in this round */
	struct tag tags[MAX_WORK];
	unsigned int num_tags;
	uint32_t unexpected;		/* messages with a tag that none matched */
	uint32_t seen;			/* those of earlier rounds */
};

/* a completion that has to come */
struct want {
	uint64_t id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	int64_t byte_len;		/* -1: not looked at */
	unsigned int flags;
	uint32_t ex;			/* immediate data, or the key */
	uint32_t src_qp;
};

#define MAX_WANTS 256

struct wants {
	struct want want[MAX_WANTS];
	unsigned int num, got;
};

struct side {
	struct end e;
	struct queue own, *queue;
	struct wants sent, received;
	int event;			/* -1: none */
};

struct pair {
	enum service service;
	struct side side[2];
	bool sig_all;
	bool used, failed;		/* in this round */
};

struct work {
	uint64_t id;
	enum op op;
	unsigned int flags;
	bool ex;			/* posted by ibv_wr_start() and friends */
	struct list list;
	uint64_t length;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t more;			/* immediate data, or a key to be invalidated */
	uint64_t compare_add, swap;
	enum ibv_wc_status status;
	unsigned int received;		/* completions of the receiver there are by then */
	enum tagged tagged;
	struct tag *tag;		/* that matches; NULL: none, as no message gets that far */
};

/* work of one direction of a pair */
struct flow {
	struct pair *pair;
	int from;			/* its sender */
	int number;
	bool bad;			/* something in it shall fail */
	bool failed;			/* something has: the sender has stopped */
	bool dead;			/* the receiver has */
	bool starved;			/* it shall have no more receives */
	unsigned int num;
	struct work work[MAX_WORK];
	struct recv used[MAX_WORK];	/* receives that were consumed, to be shown */
	unsigned int num_used;
};

#define MAX_FLOWS 6
extern struct flow flows[MAX_FLOWS];
extern unsigned int num_flows;

#define MAX_PAIRS 11
extern struct pair pairs[MAX_PAIRS];
extern unsigned int num_pairs;

static inline bool is_ud(enum service service)
{
	return service == UD || service == UD_SRQ;
}

static inline bool is_reliable(enum service service)
{
	return service == RC || service == RC_SRQ || service == XRC || service == DC ||
	       service == TAG;
}

/* one side sends, the other one receives, and can bind no windows of type 2 */
static inline bool is_one_way(enum service service)
{
	return service == XRC || service == DC || service == TAG;
}

static inline bool is_send(enum op op)
{
	return op <= OP_SEND_INV;
}

static inline bool is_atomic(enum op op)
{
	return op == OP_CMP_SWP || op == OP_FETCH_ADD;
}

/* the responder answers it with more than an acknowledge */
static inline bool is_reply(enum op op)
{
	return op == OP_READ || is_atomic(op);
}

static inline bool takes_receive(enum op op)
{
	return is_send(op) || op == OP_WRITE_IMM;
}

static inline struct side *sender(struct flow *flow)
{
	return &flow->pair->side[flow->from];
}

static inline struct side *receiver(struct flow *flow)
{
	return &flow->pair->side[!flow->from];
}

static inline int access_of(enum op op)
{
	switch (op) {
	case OP_READ:
		return IBV_ACCESS_REMOTE_READ;
	case OP_CMP_SWP:
	case OP_FETCH_ADD:
		return IBV_ACCESS_REMOTE_ATOMIC;
	case OP_FLUSH:
		return IBV_ACCESS_FLUSH_GLOBAL;
	default:
		return IBV_ACCESS_REMOTE_WRITE;
	}
}

uint64_t next_id(void);
bool plan_flow(struct flow *flow);		/* it, and what becomes of it */
void execute(struct flow *flow, struct work *work);
void want_last(struct flow *flow);		/* the last work is signaled, whatever it was */
void want_flush(struct flow *flow);		/* of what is left, when both sides are in ERR */

void make_pairs(void);
void bind_window(struct key *window);
void post_flow(struct flow *flow);
void finish_round(void);
void remove_tags(void);				/* that no message has got */
struct ibv_pd *remote_pd(const struct flow *flow);

#endif /* TESTS_PRODUCTS_H */
