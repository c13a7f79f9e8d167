/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the tests of mkeys. */
#ifndef TESTS_MKEYS_H
#define TESTS_MKEYS_H

#include "lib.h"

#include <infiniband/weftdv.h>
#include <rdma/weft-abi.h>

#define REMOTE		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define ADDR(e, off)	((uintptr_t)(e).buf + (off))

/* QPs with the builders of mkeys */
extern struct end a, b;

void make_both(void);			/* and connect them */
void make_both_with(uint32_t inline_data);	/* likewise, with room for longer lists */
void make_pipelined(void);		/* likewise; @a stops at wrong signatures */
void again(void);			/* connect them again */
struct weftdv_qp_ex *dv_of(struct end *e);
struct weftdv_mkey *mkey_for(struct ibv_pd *in, uint32_t flags, int entries);
struct ibv_sge part(struct ibv_mr *mr, size_t off, uint32_t length);
void invalidate(struct end *e, struct weftdv_mkey *mkey);

/* RDMA of @a, locally by @lkey and @addr, remotely by @rkey and @remote */
enum ibv_wc_status rdma(enum ibv_wr_opcode op, uint32_t lkey, uint64_t addr, uint32_t length,
			uint32_t rkey, uint64_t remote);

/* the work request 700 of @e, which changes an mkey, has failed */
void fails(struct end *e);

/* an entry of the send ring that is being built: it has this wr_id */
volatile struct weft_sqe *sqe_of(uint64_t wr_id);

/* mkeys-signature.c */
void signatures(void);
void signatures_in_packets(void);
void signatures_remote(void);
void signatures_remote_in_packets(void);
void signed_messages(void);
void signed_patterns(void);
void two_writers(void);
void tags(void);
void copies(void);
void errors(void);
void signatures_refused(void);
void signed_entries_refused(void);

/* mkeys-pipeline.c */
void pipeline_stops(void);
void pipeline_stops_in_packets(void);
void pipeline_reads(void);
void pipeline_reads_in_packets(void);
void cancelled(void);
void cancel_refused(void);

/* mkeys-random.c */
void random_entries(void);
void changing_entries(void);
void random_builders(void);

#endif /* TESTS_MKEYS_H */
