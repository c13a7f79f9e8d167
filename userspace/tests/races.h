/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Races: races.c has the cases, races-sides.c the objects, races-work.c what is done to them.
 */
#ifndef TESTS_RACES_H
#define TESTS_RACES_H

#include "lib.h"
#include "xrc.h"

#include <infiniband/weftdv.h>

#define ACTORS		3
#define PAUSE		"/sys/kernel/debug/weft/pause"
#define MAX_IDS		4096

/* each side is a process, with a device of its own */
enum { NEAR, FAR, SIDES };

/* who does it: a side, in a process of its own; the side itself; or who has no objects */
enum where { AT_NEAR, AT_FAR, AT_FAR_ITSELF, ELSEWHERE };

/* what there has to be for it */
enum {
	HAS_RC		= 1,
	HAS_SRQ		= 2,	/* of the far end of RC */
	HAS_UD		= 4,
	HAS_XRC		= 8,
	HAS_GROUP	= 16,	/* with a member at each side */
	HAS_PAGED	= 32,	/* memory of the far side, which the near one writes to */
	HAS_WINDOW	= 64,	/* likewise */
	IN_PACKETS	= 128,
	LOCALLY		= 256,	/* or by the local link; who posts needs one of the two */
	HAS_RAW		= 512,	/* RAW_PACKET QPs of both sides on the near device */
	HAS_MKEY	= 1024,	/* of the far side, whose memory the near one writes to */
	/* the device and its address, as calls for objects of its own have to succeed */
	STAYS		= 2048,
	HAS_DC		= 4096,	/* an initiator here, a target there */
	HAS_TAGS	= 8192,	/* an RC QP of the far side whose SRQ has tags, and its peer */
	HAS_RSS		= 16384,	/* of the far side, with HAS_RAW */
	HAS_MONITOR	= 32768,	/* of the near device */
	HAS_NETNS	= 65536,	/* with a device of its own */
};

/* what it leaves behind */
enum {
	DESTROYS	= 1,	/* without an object */
	REMOVES		= 2,	/* without a device */
	KILLS_FAR	= 4,	/* without a process */
	MOVES		= 8,	/* without an address */
	FAILS		= 16,	/* with QPs in ERR */
	EMPTIES		= 32,	/* without the network namespace */
};

struct op {
	const char *name;
	enum where where;
	int needs, leaves;
	int (*act)(void);	/* Return: errno, or 0 */
};

struct actor {
	const struct op *op;
	int go, done, err;
	pid_t pid;
	uint64_t asleep;	/* since when */
};

/* what one side knows of the other one */
struct numbers {
	union ibv_gid gid;
	uint16_t lid;
	uint32_t rc_qpn, rc_psn, ud_qpn, xrc_qpn, srqn;
	uint32_t key, paged_key, window_key, mkey;
	uint64_t addr, paged_addr;
	uint32_t tagged_qpn, tagged_psn, dctn, dc_key;
	uint64_t dc_addr;
};

/* of all processes of a case */
struct shared {
	int needs, leaves;
	bool together;		/* who posts does it in the side's process, one after the other */
	struct numbers side[SIDES];
	int ready[SIDES][2];
	int finish;
	struct actor actor[ACTORS];
	uint64_t next_id;
	uint8_t completed[MAX_IDS];
};

/* what a side has, as a process of it sees it */
struct mine {
	const struct numbers *peer;
	struct end rc, ud, member;
	struct ibv_srq *srq;
	struct ibv_qp *ini, *tgt;
	struct ibv_xrcd *xrcd;
	struct sink sink;
	uint8_t *from;
	struct ibv_mr *from_mr;
	struct ibv_ah *ah, *group_ah;
	union ibv_gid group, other_group;
	uint8_t *paged;
	struct ibv_mr *paged_mr, *bound_mr;
	struct ibv_mw *window;
	struct weftdv_mkey *mkey;
	struct ibv_mr *part;	/* of it */
	struct end raw;
	struct ibv_flow *flow, *sniffer;	/* of the far side */
	struct ibv_wq *wq;			/* likewise */
	struct ibv_cq *wq_cq;
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *rss;
	struct ibv_flow *rss_flow;
	struct ibv_qp *dc;			/* initiator or target */
	struct ibv_cq *dc_cq;
	struct ibv_srq *dc_srq;
	struct ibv_ah *dc_ah;
	struct ibv_mr *dc_mr;
	struct end tagged;
	struct ibv_srq *tags;
	struct ibv_cq *tags_cq;
};

extern struct shared *sh;
extern struct mine my;
extern const struct op ops[];
extern const int num_ops;

extern const char * const devices[SIDES];

/* the MAC that frames are sent to ends so */
#define RAW_TO		0x42
#define RSS_TO		0x44
/* where the sender of frames has one to the latter */
#define RSS_FRAME	4096
/* and who sends to tags an eager message, and a request for a rendezvous; and of how many bytes */
#define TAG_EAGER	4096
#define TAG_RNDV	12288
#define TAG_BYTES	1000
#define TAG		7
#define MONITOR		"wraces0"

#define PAGED_BYTES	16384
/* of InfiniBand */
#define GROUP_LID	0xc777

uint64_t new_id(void);			/* of a work request */
void set_path(struct ibv_ah_attr *av, union ibv_gid dgid, uint16_t dlid);
int bind_window(void);
int set_mkey(void);
struct ibv_flow *make_flow(struct ibv_qp *qp, uint8_t last);	/* for a MAC that ends so */
int add_tag(uint64_t tag, uint32_t *handle);
__attribute__((noreturn)) void be_side(int side);

#endif /* TESTS_RACES_H */
