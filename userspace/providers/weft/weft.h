/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef WEFT_H
#define WEFT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/driver.h>

#include "map.h"
#include "queue.h"

struct weft_td;

/**
 * struct weft_context - an open device
 * @vctx: of libibverbs
 * @doorbell_fd: takes the doorbell ioctls; closed with the context. A context that
 *	was imported has one of its own.
 * @maps: memory that QPs had, which may be that of another QP again
 * @placement: the device has FLUSH and ATOMIC WRITE
 * @ip_csum: the device has IBV_SEND_IP_CSUM, of UD
 * @null_key: the device has WEFT_NULL_KEY
 */
struct weft_context {
	struct verbs_context vctx;
	int doorbell_fd;
	struct weft_map_cache maps;
	bool placement;
	bool ip_csum;
	bool null_key;
};

/**
 * struct weft_pd - protection domain or parent domain
 * @pd: of libibverbs
 * @protection: what a parent domain was made from; NULL: not a parent domain
 * @td: thread domain of a parent domain, or NULL
 * @users: parent domains made from it, null MRs, and what was made in a parent domain
 */
struct weft_pd {
	struct ibv_pd pd;
	struct weft_pd *protection;
	struct weft_td *td;
	atomic_uint users;
};

/**
 * struct weft_sq - send queue
 * @queue: base
 * @opcodes: bit per enum ibv_wr_opcode that the QP type has; immutable
 * @send_flags: set of enum ibv_send_flags that the QP type has; immutable
 * @addressed: bit per enum weft_sqe_opcode that needs a destination of its own;
 *	immutable
 * @max_inline: bytes; immutable
 * @flags: WEFT_SQE_SIGNALED when all work requests are; immutable
 * @batch_start: index at ibv_wr_start()
 * @batch_error: first errno since ibv_wr_start()
 * @sqe: work request being built by the ibv_wr calls, or NULL
 * @unaddressed: @sqe has no destination yet
 * @batch_binds: the batch has a bind of a memory window
 */
struct weft_sq {
	struct weft_queue queue;
	uint32_t opcodes;
	uint32_t send_flags;
	uint32_t addressed;
	uint32_t max_inline;
	uint8_t flags;
	bool unaddressed;
	bool batch_binds;
	uint32_t batch_start;
	int batch_error;
	struct weft_sqe *sqe;
};

/**
 * struct weft_qp - queue pair; its address is the cookie in its completions
 * @vqp: of libibverbs
 * @sq: send queue
 * @rq: receive queue, without entries when the QP uses an SRQ
 * @rate_limit: as last set, in kbit/s: uverbs does not return it
 * @parent: parent domain it was made in, or NULL; immutable
 */
struct weft_qp {
	struct verbs_qp vqp;
	struct weft_sq sq;
	struct weft_queue rq;
	uint32_t rate_limit;
	struct weft_pd *parent;
};

/**
 * struct weft_srq - shared receive queue
 * @vsrq: of libibverbs
 * @rq: its queue
 * @parent: parent domain it was made in, or NULL; immutable
 */
struct weft_srq {
	struct verbs_srq vsrq;
	struct weft_queue rq;
	struct weft_pd *parent;
};

/**
 * struct weft_cq - completion queue
 * @vcq: of libibverbs
 * @ring: shared with the kernel; changed with @lock and @arm_lock held
 * @lock: protects all but @arm_lock; held from start_poll to end_poll
 * @arm_lock: keeps a request for notification out of a ring that is being
 *	replaced. Not @lock, so that it can be made within a batch; nests in it.
 * @consumer: next index to take
 * @producer: entries before this index may be taken
 * @cqe: current entry of a batch
 * @parent: parent domain it was made in, or NULL; immutable
 */
struct weft_cq {
	struct verbs_cq vcq;
	struct weft_ring ring;
	struct weft_lock lock;
	pthread_spinlock_t arm_lock;
	uint32_t consumer;
	uint32_t producer;
	const struct weft_cqe *cqe;
	struct weft_pd *parent;
};

/**
 * struct weft_ah - address handle
 * @ah: of libibverbs
 * @ah_id: what work requests call it
 */
struct weft_ah {
	struct ibv_ah ah;
	uint32_t ah_id;
};

/**
 * struct weft_dm - device memory
 * @vdm: of libibverbs
 * @map: where it is mapped
 * @map_size: bytes of @map
 * @length: bytes that may be used
 */
struct weft_dm {
	struct verbs_dm vdm;
	uint8_t *map;
	size_t map_size;
	size_t length;
};

static inline struct weft_context *to_weft_context(struct ibv_context *context)
{
	return container_of(context, struct weft_context, vctx.context);
}

static inline struct weft_pd *to_weft_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct weft_pd, pd);
}

static inline struct weft_qp *to_weft_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct weft_qp, vqp.qp);
}

static inline struct weft_qp *to_weft_qp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct weft_qp, vqp.qp_ex);
}

static inline struct weft_srq *to_weft_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct weft_srq, vsrq.srq);
}

static inline struct weft_cq *to_weft_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct weft_cq, vcq.cq);
}

static inline struct weft_cq *to_weft_cq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct weft_cq, vcq.cq_ex);
}

static inline struct weft_ah *to_weft_ah(struct ibv_ah *ah)
{
	return container_of(ah, struct weft_ah, ah);
}

static inline struct weft_dm *to_weft_dm(struct ibv_dm *dm)
{
	return container_of(dm, struct weft_dm, vdm.dm);
}

/* A PD with a thread domain: the consumer promises one thread at a time. */
static inline bool weft_pd_shared(struct ibv_pd *pd)
{
	return !to_weft_pd(pd)->td;
}

/**
 * weft_parent_use - something is made in a domain
 * @pd: a parent domain, which it keeps; or a PD, whose users the kernel counts; or NULL
 *
 * Return: the parent domain, for weft_parent_unuse() when it is destroyed, or NULL.
 */
static inline struct weft_pd *weft_parent_use(struct ibv_pd *pd)
{
	struct weft_pd *parent = pd ? to_weft_pd(pd) : NULL;

	if (!parent || !parent->protection)
		return NULL;
	atomic_fetch_add(&parent->users, 1);
	return parent;
}

static inline void weft_parent_unuse(struct weft_pd *parent)
{
	if (parent)
		atomic_fetch_sub(&parent->users, 1);
}

/**
 * weft_cq_clean - take the completions of a QP out of a CQ
 * @cq: locked by this function
 * @qp: the kernel adds no completion of it any more
 *
 * What is left keeps its order. Slots are given back at once, so that a CQ that
 * is big enough for the QPs there are does not overflow because of those that
 * were.
 */
void weft_cq_clean(struct weft_cq *cq, const struct weft_qp *qp);

/**
 * weft_send_opcodes - what ibv_post_send() can post to a QP of a type
 * @context: the device
 * @type: QP type
 *
 * Return: bit per enum ibv_wr_opcode; 0 for a type that is not supported.
 */
uint32_t weft_send_opcodes(struct ibv_context *context, enum ibv_qp_type type);

/**
 * weft_send_flags - what may be said of work requests of a QP of a type
 * @context: the device
 * @type: QP type
 *
 * Return: set of enum ibv_send_flags.
 */
uint32_t weft_send_flags(struct ibv_context *context, enum ibv_qp_type type);

/**
 * weft_wr_ops - what the ibv_wr functions can post to such a QP
 * @opcodes: from weft_send_opcodes()
 *
 * Return: enum ibv_qp_create_send_ops_flags.
 */
uint64_t weft_wr_ops(uint32_t opcodes);

/**
 * weft_addressed_opcodes - what names its destination in each work request
 * @type: QP type
 *
 * An address handle on UD, an SRQ on XRC.
 *
 * Return: bit per enum weft_sqe_opcode.
 */
uint32_t weft_addressed_opcodes(enum ibv_qp_type type);

/**
 * weft_set_wr_ops - fill in the ibv_wr functions
 * @qp: with its type and opcodes
 * @ops: enum ibv_qp_create_send_ops_flags that the consumer asked for
 */
void weft_set_wr_ops(struct weft_qp *qp, uint64_t ops);

/* weft.c, pd.c, mem.c, ah.c */
struct ibv_pd *weft_alloc_pd(struct ibv_context *context);
int weft_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *weft_import_pd(struct ibv_context *context, uint32_t handle);
void weft_unimport_pd(struct ibv_pd *ibpd);
struct ibv_td *weft_alloc_td(struct ibv_context *context,
			     struct ibv_td_init_attr *attr);
int weft_dealloc_td(struct ibv_td *td);
struct ibv_pd *
weft_alloc_parent_domain(struct ibv_context *context,
			 struct ibv_parent_domain_init_attr *attr);
/* What the kernel has answered with @ret: the region, or NULL and errno, and it is freed. */
struct ibv_mr *weft_new_mr(struct verbs_mr *vmr, int ret);
struct ibv_mr *weft_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			   uint64_t hca_va, int access);
struct ibv_mr *weft_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				  size_t length, uint64_t iova, int fd,
				  int access);
struct ibv_mr *weft_alloc_null_mr(struct ibv_pd *pd);
int weft_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		  void *addr, size_t length, int access);
int weft_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		   uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge);
int weft_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *weft_import_mr(struct ibv_pd *pd, uint32_t handle);
void weft_unimport_mr(struct ibv_mr *mr);
struct ibv_mw *weft_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int weft_dealloc_mw(struct ibv_mw *mw);
struct ibv_ah *weft_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int weft_destroy_ah(struct ibv_ah *ibah);

/* dm.c */
struct ibv_dm *weft_alloc_dm(struct ibv_context *context,
			     struct ibv_alloc_dm_attr *attr);
int weft_free_dm(struct ibv_dm *ibdm);
struct ibv_dm *weft_import_dm(struct ibv_context *context, uint32_t handle);
void weft_unimport_dm(struct ibv_dm *ibdm);
struct ibv_mr *weft_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
			      uint64_t offset, size_t length,
			      unsigned int access);

/* cq.c */
struct ibv_cq *weft_create_cq(struct ibv_context *context, int cqe,
			      struct ibv_comp_channel *channel,
			      int comp_vector);
struct ibv_cq_ex *weft_create_cq_ex(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr);
int weft_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int weft_resize_cq(struct ibv_cq *ibcq, int cqe);
int weft_destroy_cq(struct ibv_cq *ibcq);
int weft_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int weft_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);

/* srq.c */
struct ibv_srq *weft_create_srq(struct ibv_pd *pd,
				struct ibv_srq_init_attr *attr);
struct ibv_srq *weft_create_srq_ex(struct ibv_context *context,
				   struct ibv_srq_init_attr_ex *attr);
int weft_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		    int attr_mask);
int weft_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int weft_destroy_srq(struct ibv_srq *ibsrq);
int weft_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num);

/* xrc.c */
struct ibv_xrcd *weft_open_xrcd(struct ibv_context *context,
				struct ibv_xrcd_init_attr *attr);
int weft_close_xrcd(struct ibv_xrcd *ibxrcd);

/* qp.c */
struct ibv_qp *weft_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *weft_create_qp_ex(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *weft_open_qp(struct ibv_context *context,
			    struct ibv_qp_open_attr *attr);
int weft_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		  struct ibv_qp_init_attr *init_attr);
int weft_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		   int attr_mask);
int weft_modify_qp_rate_limit(struct ibv_qp *ibqp,
			      struct ibv_qp_rate_limit_attr *attr);
int weft_destroy_qp(struct ibv_qp *ibqp);

/* post.c */
int weft_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr);
int weft_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr);
int weft_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr);
int weft_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		 struct ibv_mw_bind *bind);

#endif /* WEFT_H */
