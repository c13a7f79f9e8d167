/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef WEFT_H
#define WEFT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/weftdv.h>

#include "map.h"
#include "queue.h"
#include "rdmacore/driver.h"

struct weft_create_dc_req;
struct weft_create_qp_resp;
struct weft_td;

struct weft_context {
	/* struct verbs_context of libibverbs, in which struct ibv_context is the last member */
	uint64_t vctx[VERBS_CONTEXT_MAX / sizeof(uint64_t)];
	/* in @vctx */
	struct ibv_context *context;
	/* for the doorbell ioctls; an imported context has one of its own */
	int doorbell_fd;
	/* the member of a mapped struct weft_posting, or a 0 if the kernel has none */
	const weft_word *posting;
	/* mappings of destroyed QPs, which another QP may get again */
	struct weft_map_cache maps;
	/* the device has FLUSH and ATOMIC WRITE */
	bool placement;
	/* the device has IBV_SEND_IP_CSUM for UD */
	bool ip_csum;
	/* the device has WEFT_NULL_KEY */
	bool null_key;
	/* the device has mkeys */
	bool mkeys;
	/* mkeys may have signatures */
	bool signatures;
	/* credits of RC QPs may be packets */
	bool packet_credits;
	/* the device has dynamic connections */
	bool dc;
	/* index of comp_mask in struct verbs_qp.tail */
	unsigned int qp_mask;
};

/**
 * struct weft_pd - protection domain or parent domain
 * @pd: of libibverbs
 * @protection: the PD that a parent domain was created from; NULL: not a
 *	parent domain
 * @td: thread domain of a parent domain, or NULL
 * @users: parent domains created from it, null MRs, and objects created in a
 *	parent domain
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
 * @opcodes: the opcodes of the QP type, a bit per enum ibv_wr_opcode; immutable
 * @send_flags: the enum ibv_send_flags of the QP type; immutable
 * @addressed: the opcodes whose work requests name their destination, a bit per
 *	enum weft_sqe_opcode; immutable
 * @connectionless: the QP type is UD or RAW_PACKET; immutable
 * @max_inline: bytes; immutable
 * @max_entries: of an mkey, that fit into a slot; immutable
 * @max_tso_header: bytes, 0: the QP has no TSO; immutable
 * @flags: WEFT_SQE_SIGNALED if all work requests are signaled; immutable
 * @batch_start: index at ibv_wr_start()
 * @batch_error: first errno since ibv_wr_start()
 * @sqe: work request that the ibv_wr calls are building, or NULL
 * @unfinished: @sqe lacks its destination, or setters of an mkey
 * @setters: that @sqe still lacks
 * @set: those that it has had, a bit each
 * @sign: the mkey was created for signatures
 * @batch_binds: the batch binds a memory window
 */
struct weft_sq {
	struct weft_queue queue;
	uint32_t opcodes;
	uint32_t send_flags;
	uint32_t addressed;
	uint32_t max_inline;
	uint32_t max_tso_header;
	uint32_t max_entries;
	uint8_t flags;
	bool connectionless;
	bool unfinished;
	bool batch_binds;
	uint8_t setters;
	uint8_t set;
	bool sign;
	uint32_t batch_start;
	int batch_error;
	struct weft_sqe *sqe;
};

/**
 * struct weft_qp - queue pair; its address is the cookie in its completions
 * @vqp: of libibverbs
 * @sq: send queue
 * @rq: receive queue, without entries if the QP uses an SRQ
 * @rate_limit: the last value set, in kbit/s, as uverbs does not return it
 * @parent: parent domain in which it was created, or NULL; immutable
 * @dv: builders of mkeys, those of @dv_ops, and setters of DC; immutable
 * @dv_ops: enum weftdv_qp_create_send_ops_flags; immutable
 * @pipelines: it stops at a wrong signature; immutable
 * @dc: enum weftdv_dc_type, 0: not a DC QP; immutable
 * @streams: of a DC initiator, a stream may be from 0 to this one; immutable
 */
struct weft_qp {
	struct verbs_qp vqp;
	struct weft_sq sq;
	struct weft_queue rq;
	uint32_t rate_limit;
	struct weft_pd *parent;
	struct weftdv_qp_ex dv;
	uint64_t dv_ops;
	bool pipelines;
	uint8_t dc;
	uint16_t streams;
};

/* The receive queue of a QP that libibverbs does not know, see weft-abi.h. */
struct weft_wq {
	struct ibv_wq wq;
	struct weft_qp half;
};

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
 * @arm_lock: keeps requests for notification out of a ring that is being
 *	replaced. It is not @lock, because a consumer may request a notification
 *	between start_poll and end_poll. Nests in @lock.
 * @consumer: index of the next entry to take
 * @producer: entries before this index can be taken
 * @cqe: current entry between start_poll and end_poll
 * @parent: parent domain in which it was created, or NULL; immutable
 */
struct weft_cq {
	struct verbs_cq vcq;
	struct weft_ring ring;
	struct weft_lock lock;
	struct weft_lock arm_lock;
	uint32_t consumer;
	uint32_t producer;
	const struct weft_cqe *cqe;
	struct weft_pd *parent;
};

struct weft_ah {
	struct ibv_ah ah;
	/* for struct weft_sqe.ud */
	uint32_t ah_id;
};

/* Device memory, mapped into the process. */
struct weft_dm {
	struct verbs_dm vdm;
	uint8_t *map;
	size_t map_size;
	/* bytes that the consumer may use */
	size_t length;
};

static inline struct weft_context *to_weft_context(struct ibv_context *context)
{
	return container_of(verbs_context_start(context), struct weft_context,
			    vctx);
}

static inline struct verbs_context *weft_vctx(struct weft_context *context)
{
	return (struct verbs_context *)context->vctx;
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

static inline struct weft_wq *to_weft_wq(struct ibv_wq *wq)
{
	return container_of(wq, struct weft_wq, wq);
}

static inline struct weft_qp *to_weft_qp_dv(struct weftdv_qp_ex *dv)
{
	return container_of(dv, struct weft_qp, dv);
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

/* Queues need locks, unless the PD has a thread domain: then one thread at a time uses them. */
static inline bool weft_pd_shared(struct ibv_pd *pd)
{
	return !to_weft_pd(pd)->td;
}

/*
 * An object is created in @pd, which may be NULL. If it is a parent domain, count the object as a
 * user and return the domain, for weft_parent_unuse() when the object is destroyed. Otherwise
 * return NULL: the kernel counts the users of a PD.
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

/*
 * Remove the completions of @qp, for which the kernel adds no more completions, from a CQ. The
 * other completions keep their order. The slots become free at once, so a CQ that is large enough
 * for the existing QPs does not overflow because of earlier ones.
 */
void weft_cq_clean(struct weft_cq *cq, const struct weft_qp *qp);

/*
 * The opcodes that ibv_post_send() can post to a QP, a bit per enum ibv_wr_opcode. 0: the type is
 * not supported.
 */
uint32_t weft_send_opcodes(struct ibv_context *context, enum ibv_qp_type type);

/* The enum ibv_send_flags that ibv_post_send() accepts. */
uint32_t weft_send_flags(struct ibv_context *context, enum ibv_qp_type type);

/*
 * The enum ibv_qp_create_send_ops_flags for opcodes of weft_send_opcodes(), as far as
 * libibverbs has the functions.
 */
uint64_t weft_wr_ops(struct ibv_context *context, uint32_t opcodes);

/*
 * The opcodes whose work requests name their destination (UD: an address handle, XRC: an SRQ, DC:
 * an address handle and a target), a bit per enum weft_sqe_opcode.
 */
uint32_t weft_addressed_opcodes(enum ibv_qp_type type);

/* Set the ibv_wr functions that the consumer asked for by enum ibv_qp_create_send_ops_flags. */
void weft_set_wr_ops(struct weft_qp *qp, uint64_t ops);

/*
 * For builders outside of post.c: begin a work request, or record the first error of the batch.
 * NULL: the batch fails.
 */
struct weft_sqe *weft_wr_begin(struct weft_qp *qp, uint8_t opcode);
struct weft_sqe *weft_wr_fail(struct weft_sq *sq, int error);

/**
 * struct weft_mkey - mkey
 * @dv: for the program
 * @mw: to the kernel it is a memory window of type 2
 * @sign: it may have signatures; immutable
 */
struct weft_mkey {
	struct weftdv_mkey dv;
	struct ibv_mw mw;
	bool sign;
};

/* Set the functions that build mkeys, those of enum weftdv_qp_create_send_ops_flags. */
void weft_set_mkey_ops(struct weft_qp *qp, uint64_t ops);

/* release.c */

/*
 * Give libibverbs the functions of a new context. Returns 0, or EPROTO after a message if this
 * release of libibverbs is unknown.
 */
int weft_set_ops(struct weft_context *context, const struct ibv_device *device);

/* weft.c, pd.c, mem.c, ah.c */
bool weft_is_own(const struct ibv_device *device);
int weft_query_device_ex(struct ibv_context *context,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size);
int weft_query_port(struct ibv_context *context, uint8_t port_num,
		    struct ibv_port_attr *attr);
int weft_query_rt_values(struct ibv_context *context,
			 struct ibv_values_ex *values);
void weft_free_context(struct ibv_context *ibctx);
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
/* Finish a registration with result @ret: return the MR, or free it, set errno and return NULL. */
struct ibv_mr *weft_new_mr(struct verbs_mr *vmr, int ret);
struct ibv_mr *weft_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			   uint64_t hca_va, int access);
struct ibv_mr *weft_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				  size_t length, uint64_t iova, int fd,
				  int access);
struct ibv_mr *weft_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
struct ibv_dmah *weft_alloc_dmah(struct ibv_context *context,
				 struct ibv_dmah_init_attr *attr);
int weft_dealloc_dmah(struct ibv_dmah *ibdmah);
struct ibv_comp_cntr *
weft_create_comp_cntr(struct ibv_context *context,
		      struct ibv_comp_cntr_init_attr *ibattr);
int weft_destroy_comp_cntr(struct ibv_comp_cntr *ibcntr);
int weft_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *ibcntr,
			     struct ibv_qp_attach_comp_cntr_attr *ibattr);
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

/* tag.c */
int weft_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr,
		      struct ibv_ops_wr **bad_wr);

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
/* Map the rings of a QP, and set up its queues. Returns 0, or an errno. */
int weft_qp_init_queues(struct weft_qp *qp,
			const struct ibv_qp_init_attr_ex *attr,
			const struct weft_create_qp_resp *resp);
/* After a RESET. */
void weft_qp_restart(struct weft_qp *qp);
/* The kernel does not have the QP any more. */
void weft_qp_end_queues(struct weft_qp *qp);

/* The attributes that weftdv_create_qp() adds to those of ibv_create_qp_ex(). */
struct weft_qp_extra {
	/* enum weftdv_qp_create_send_ops_flags; the send queue has room for their lists */
	uint64_t mkey_ops;
	uint32_t flags;		/* enum weft_qp_flags */
	/* the request for a DC QP, without cookie; NULL: another QP */
	const struct weft_create_dc_req *dc;
};

struct ibv_qp *weft_create_qp_extra(struct ibv_context *context,
				    struct ibv_qp_init_attr_ex *attr,
				    const struct weft_qp_extra *extra);

/* dc.c */
/*
 * Turn the attributes of a DC QP into the request for it. Returns 0, or an errno: EINVAL what makes
 * no sense, EOPNOTSUPP what the device does not have.
 */
int weft_dc_request(struct ibv_context *context,
		    const struct ibv_qp_init_attr_ex *attr,
		    const struct weftdv_qp_init_attr *dv_attr,
		    struct weft_create_dc_req *req);
/* Set the functions of a DC initiator. */
void weft_set_dc_ops(struct weft_qp *qp, const struct weft_create_dc_req *req);

int weft_dci_stream_id_reset(struct ibv_qp *ibqp, uint16_t stream_id);

/* wq.c */
struct ibv_wq *weft_create_wq(struct ibv_context *context,
			      struct ibv_wq_init_attr *attr);
int weft_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr);
int weft_destroy_wq(struct ibv_wq *ibwq);

/* rss.c */
struct ibv_rwq_ind_table *
weft_create_rwq_ind_table(struct ibv_context *context,
			  struct ibv_rwq_ind_table_init_attr *attr);
int weft_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
struct ibv_qp *weft_create_rss_qp(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr,
				  uint32_t flags);

/* flow.c */
struct ibv_flow *weft_create_flow(struct ibv_qp *ibqp,
				  struct ibv_flow_attr *attr);
int weft_destroy_flow(struct ibv_flow *flow);

/* counters.c */
struct ibv_counters *weft_create_counters(struct ibv_context *context,
					  struct ibv_counters_init_attr *attr);
int weft_destroy_counters(struct ibv_counters *counters);
int weft_attach_counters_point_flow(struct ibv_counters *counters,
				    struct ibv_counter_attach_attr *attr,
				    struct ibv_flow *flow);
int weft_read_counters(struct ibv_counters *counters, uint64_t *values,
		       uint32_t num, uint32_t flags);
void weft_counters_begin(struct ibv_counters *counters,
			 struct weft_create_flow_req *req);
void weft_counters_end(struct ibv_counters *counters, int more);

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
