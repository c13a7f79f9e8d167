/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RC or UC QPs, both ends of which are held by one process. What fails ends the program.
 */
#ifndef BENCH_RDMA_H
#define BENCH_RDMA_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	union ibv_gid gid;
	int gid_index;
	enum ibv_mtu mtu;
};

/* memory that an end sends from, receives to and lets its peer access */
struct end {
	struct device *device;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buf;
	bool uc;		/* the QP is UC, not RC */
};

void open_device(struct device *device, const char *name, int gid_index);

/* @end's memory of at least @size bytes, registered */
void create_memory(struct end *end, uint32_t size);
/* @end's QP, with room for 64 work requests each way */
void create_qp(struct end *end);
/* connects both ways */
void connect_ends(struct end *a, struct end *b);

void post_recv(struct end *end, uint32_t size);
/* of an atomic @size is 8 */
void post(struct end *end, struct end *peer, enum ibv_wr_opcode opcode, uint32_t size);
/* @num of them by one call, the last one signaled */
void post_batch(struct end *end, struct end *peer, uint32_t size, int num);

/* polls @a and @b (they may be the same), yields after two empty polls, until @number came */
void wait_completions(struct ibv_cq *a, struct ibv_cq *b, int number);
/* likewise, until a message has come, perhaps with completions of SENDs */
void wait_message(struct ibv_cq *a, struct ibv_cq *b);

#endif /* BENCH_RDMA_H */
