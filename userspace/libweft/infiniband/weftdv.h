/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Direct verbs of weft: what its devices have beyond libibverbs. The functions have manual pages,
 * weftdv_create_qp(3) and others.
 */
#ifndef _WEFTDV_H_
#define _WEFTDV_H_

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

bool weftdv_is_supported(struct ibv_device *device);

/* struct weftdv_device_attr.comp_mask */
enum weftdv_device_attr_mask {
	WEFTDV_DEVICE_ATTR_QP		= 1 << 0,	/* qp_create_flags, send_ops_flags */
	WEFTDV_DEVICE_ATTR_MKEY		= 1 << 1,	/* mkey_create_flags, max_mkey_entries */
};

struct weftdv_device_attr {
	uint64_t comp_mask;	/* in: what to fill in; out: what was filled in */
	uint64_t qp_create_flags;	/* those of enum weftdv_qp_create_flags that work */
	uint64_t send_ops_flags;	/* those of enum weftdv_qp_create_send_ops_flags that work */
	uint32_t mkey_create_flags;	/* those of enum weftdv_mkey_init_attr_flags that work */
	uint32_t max_mkey_entries;
};

int weftdv_query_device(struct ibv_context *context, struct weftdv_device_attr *attr);

enum weftdv_qp_init_attr_mask {
	WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS	= 1 << 0,
	WEFTDV_QP_INIT_ATTR_MASK_DC			= 1 << 1,
	WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS		= 1 << 2,
	WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS		= 1 << 3,
};

enum weftdv_qp_create_flags {
	WEFTDV_QP_CREATE_TUNNEL_OFFLOADS		= 1 << 0,
	WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC	= 1 << 1,
	WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC	= 1 << 2,
	WEFTDV_QP_CREATE_DISABLE_SCATTER_TO_CQE		= 1 << 3,
	WEFTDV_QP_CREATE_ALLOW_SCATTER_TO_CQE		= 1 << 4,
	WEFTDV_QP_CREATE_PACKET_BASED_CREDIT_MODE	= 1 << 5,
	WEFTDV_QP_CREATE_SIG_PIPELINING			= 1 << 6,
};

enum weftdv_dc_type {
	WEFTDV_DCTYPE_DCT	= 1,
	WEFTDV_DCTYPE_DCI,
};

struct weftdv_dci_streams {
	uint8_t log_num_concurent;
	uint8_t log_num_errored;
};

struct weftdv_dc_init_attr {
	enum weftdv_dc_type dc_type;
	union {
		uint64_t dct_access_key;
		struct weftdv_dci_streams dci_streams;
	};
};

enum weftdv_qp_create_send_ops_flags {
	WEFTDV_QP_EX_WITH_MR_INTERLEAVED	= 1 << 0,
	WEFTDV_QP_EX_WITH_MR_LIST		= 1 << 1,
	WEFTDV_QP_EX_WITH_MKEY_CONFIGURE	= 1 << 2,
};

struct weftdv_qp_init_attr {
	uint64_t comp_mask;	/* enum weftdv_qp_init_attr_mask */
	uint32_t create_flags;	/* enum weftdv_qp_create_flags */
	struct weftdv_dc_init_attr dc_init_attr;
	uint64_t send_ops_flags;	/* enum weftdv_qp_create_send_ops_flags */
};

struct ibv_qp *weftdv_create_qp(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *qp_attr,
				struct weftdv_qp_init_attr *weft_qp_attr);

enum weftdv_mkey_init_attr_flags {
	WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT	= 1 << 0,
};

struct weftdv_mkey_init_attr {
	struct ibv_pd *pd;
	uint32_t create_flags;	/* enum weftdv_mkey_init_attr_flags */
	uint16_t max_entries;
};

struct weftdv_mkey {
	uint32_t lkey;
	uint32_t rkey;
};

struct weftdv_mkey *weftdv_create_mkey(struct weftdv_mkey_init_attr *mkey_init_attr);
int weftdv_destroy_mkey(struct weftdv_mkey *mkey);

/* The opcode of the completion of a work request that configures an mkey. */
#define WEFTDV_WC_MKEY	IBV_WC_DRIVER1

struct weftdv_mr_interleaved {
	uint64_t addr;
	uint32_t bytes_count;
	uint32_t bytes_skip;
	uint32_t lkey;
};

struct weftdv_mkey_conf_attr {
	uint32_t conf_flags;	/* 0 */
	uint64_t comp_mask;	/* 0 */
};

struct weftdv_qp_ex {
	uint64_t comp_mask;
	void (*wr_mr_list)(struct weftdv_qp_ex *wqp, struct weftdv_mkey *mkey,
			   uint32_t access_flags, uint16_t num_sges,
			   struct ibv_sge *sge);
	void (*wr_mr_interleaved)(struct weftdv_qp_ex *wqp, struct weftdv_mkey *mkey,
				  uint32_t access_flags, uint32_t repeat_count,
				  uint16_t num_interleaved,
				  struct weftdv_mr_interleaved *data);
	void (*wr_mkey_configure)(struct weftdv_qp_ex *wqp, struct weftdv_mkey *mkey,
				  uint8_t num_setters,
				  struct weftdv_mkey_conf_attr *attr);
	void (*wr_set_mkey_access_flags)(struct weftdv_qp_ex *wqp,
					 uint32_t access_flags);
	void (*wr_set_mkey_layout_list)(struct weftdv_qp_ex *wqp,
					uint16_t num_sges, const struct ibv_sge *sge);
	void (*wr_set_mkey_layout_interleaved)(struct weftdv_qp_ex *wqp,
					       uint32_t repeat_count,
					       uint16_t num_interleaved,
					       const struct weftdv_mr_interleaved *data);
};

struct weftdv_qp_ex *weftdv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp);

static inline void weftdv_wr_mr_list(struct weftdv_qp_ex *wqp,
				     struct weftdv_mkey *mkey,
				     uint32_t access_flags, uint16_t num_sges,
				     struct ibv_sge *sge)
{
	wqp->wr_mr_list(wqp, mkey, access_flags, num_sges, sge);
}

static inline void weftdv_wr_mr_interleaved(struct weftdv_qp_ex *wqp,
					    struct weftdv_mkey *mkey,
					    uint32_t access_flags,
					    uint32_t repeat_count,
					    uint16_t num_interleaved,
					    struct weftdv_mr_interleaved *data)
{
	wqp->wr_mr_interleaved(wqp, mkey, access_flags, repeat_count,
			       num_interleaved, data);
}

static inline void weftdv_wr_mkey_configure(struct weftdv_qp_ex *wqp,
					    struct weftdv_mkey *mkey,
					    uint8_t num_setters,
					    struct weftdv_mkey_conf_attr *attr)
{
	wqp->wr_mkey_configure(wqp, mkey, num_setters, attr);
}

static inline void weftdv_wr_set_mkey_access_flags(struct weftdv_qp_ex *wqp,
						   uint32_t access_flags)
{
	wqp->wr_set_mkey_access_flags(wqp, access_flags);
}

static inline void weftdv_wr_set_mkey_layout_list(struct weftdv_qp_ex *wqp,
						  uint16_t num_sges,
						  const struct ibv_sge *sge)
{
	wqp->wr_set_mkey_layout_list(wqp, num_sges, sge);
}

static inline void
weftdv_wr_set_mkey_layout_interleaved(struct weftdv_qp_ex *wqp,
				      uint32_t repeat_count,
				      uint16_t num_interleaved,
				      const struct weftdv_mr_interleaved *data)
{
	wqp->wr_set_mkey_layout_interleaved(wqp, repeat_count, num_interleaved,
					    data);
}

#ifdef __cplusplus
}
#endif

#endif /* _WEFTDV_H_ */
