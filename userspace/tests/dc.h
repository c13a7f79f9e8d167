/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Initiators and targets of dynamic connections. */
#ifndef TESTS_DC_H
#define TESTS_DC_H

#include "lib.h"

#include <infiniband/weftdv.h>
#include <rdma/weft-abi.h>

#define KEY		0x1122334455667788ULL
#define DCI_OPS		(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |		\
			 IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |	\
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |	\
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |				\
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |				\
			 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)

/* an initiator, its CQ, and memory of BUF bytes */
struct dci {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	struct ibv_ah *ah;		/* of this host */
};

/* a target, its CQ and SRQ, and memory of BUF bytes in a PD of its own */
struct dct {
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint64_t key;
};

/* how QPs are made and modified */
struct dc_conf {
	int access;			/* of targets and their memory */
	uint8_t timeout, retry, rnr_retry, rnr_timer, rd;
	struct weftdv_dci_streams *streams;
	uint64_t ops;			/* of initiators, beside DCI_OPS */
};
extern struct dc_conf dc_conf;

struct ibv_qp_init_attr_ex dci_attr(struct ibv_cq *cq);
struct ibv_qp_init_attr_ex dct_attr(const struct dct *t);
struct weftdv_qp_init_attr dc_attr(enum weftdv_dc_type type, uint64_t key);
struct ibv_qp *create_dci(struct ibv_cq *cq);
struct ibv_qp *create_dct(const struct dct *t);

/* the attributes that lead to a state, and their bits */
struct ibv_qp_attr dc_step(enum ibv_qp_state state);
int dci_mask(enum ibv_qp_state state);
int dct_mask(enum ibv_qp_state state);
void dci_to(struct ibv_qp *qp, enum ibv_qp_state state);
void dct_to(struct ibv_qp *qp, enum ibv_qp_state state);
enum ibv_qp_state dc_state(struct ibv_qp *qp);
void expect_dc_state(struct ibv_qp *qp, enum ibv_qp_state state);

void make_dci(struct dci *i);		/* in RTS */
void make_dct(struct dct *t);		/* in RTR */
void restart(struct dci *i);		/* an initiator that has failed */
void dct_recv(struct dct *t, uint64_t id, size_t off, uint32_t length);

struct ibv_qp_ex *dci_start(struct dci *i, uint64_t id);
/* the setters of the request that has been begun, and the end of it */
int dci_finish_stream(struct dci *i, const struct dct *t, uint16_t stream, size_t off,
		      uint32_t length);
int dci_finish(struct dci *i, const struct dct *t, size_t off, uint32_t length);
/* a whole request */
void dci_send(struct dci *i, const struct dct *t, uint64_t id, size_t off, uint32_t length);
void dci_rdma(struct dci *i, const struct dct *t, enum ibv_wr_opcode op, uint64_t id, size_t off,
	      uint32_t length);
struct ibv_wc dct_got(struct dct *t, const struct dci *i, uint64_t id, uint32_t length);
void check_dc_works_(const char *file, int line, struct dci *i, struct dct *t);
#define check_dc_works(i, t)	check_dc_works_(__FILE__, __LINE__, i, t)

/* dc-errors.c */
void wrong_key(void);
void rights(void);
void nobody(void);
void other_host(void);
void no_receives(void);
void too_long(void);
void bad_receives(void);
void bad_addresses(void);
void forged(void);
void flushed(void);
void paging(void);
void overtaken(void);
void destroyed_target(void);
void killed_initiators(void);
void removed(void);

/* dc-streams.c */
void refused_streams(void);
void streams(void);
void failed_streams(void);
void reset_streams(void);
void ends_all_streams(void);

/* dc-requests.c */
void raw_requests(void);
void raw_requests_leave_nothing(void);

#endif /* TESTS_DC_H */
