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

enum weftdv_sig_type {
	WEFTDV_SIG_TYPE_T10DIF,
	WEFTDV_SIG_TYPE_CRC,
};

enum weftdv_sig_prot_caps {
	WEFTDV_SIG_PROT_CAP_T10DIF	= 1 << WEFTDV_SIG_TYPE_T10DIF,
	WEFTDV_SIG_PROT_CAP_CRC		= 1 << WEFTDV_SIG_TYPE_CRC,
};

enum weftdv_sig_t10dif_bg_type {
	WEFTDV_SIG_T10DIF_CRC,
	WEFTDV_SIG_T10DIF_CSUM,
};

enum weftdv_sig_t10dif_bg_caps {
	WEFTDV_SIG_T10DIF_BG_CAP_CRC	= 1 << WEFTDV_SIG_T10DIF_CRC,
	WEFTDV_SIG_T10DIF_BG_CAP_CSUM	= 1 << WEFTDV_SIG_T10DIF_CSUM,
};

enum weftdv_sig_crc_type {
	WEFTDV_SIG_CRC_TYPE_CRC32,
	WEFTDV_SIG_CRC_TYPE_CRC32C,
	WEFTDV_SIG_CRC_TYPE_CRC64_XP10,
};

enum weftdv_sig_crc_type_caps {
	WEFTDV_SIG_CRC_TYPE_CAP_CRC32	= 1 << WEFTDV_SIG_CRC_TYPE_CRC32,
	WEFTDV_SIG_CRC_TYPE_CAP_CRC32C	= 1 << WEFTDV_SIG_CRC_TYPE_CRC32C,
	WEFTDV_SIG_CRC_TYPE_CAP_CRC64_XP10 = 1 << WEFTDV_SIG_CRC_TYPE_CRC64_XP10,
};

enum weftdv_block_size {
	WEFTDV_BLOCK_SIZE_512,
	WEFTDV_BLOCK_SIZE_520,
	WEFTDV_BLOCK_SIZE_4048,
	WEFTDV_BLOCK_SIZE_4096,
	WEFTDV_BLOCK_SIZE_4160,
};

enum weftdv_block_size_caps {
	WEFTDV_BLOCK_SIZE_CAP_512	= 1 << WEFTDV_BLOCK_SIZE_512,
	WEFTDV_BLOCK_SIZE_CAP_520	= 1 << WEFTDV_BLOCK_SIZE_520,
	WEFTDV_BLOCK_SIZE_CAP_4048	= 1 << WEFTDV_BLOCK_SIZE_4048,
	WEFTDV_BLOCK_SIZE_CAP_4096	= 1 << WEFTDV_BLOCK_SIZE_4096,
	WEFTDV_BLOCK_SIZE_CAP_4160	= 1 << WEFTDV_BLOCK_SIZE_4160,
};

struct weftdv_sig_caps {
	uint64_t block_size;	/* enum weftdv_block_size_caps */
	uint32_t block_prot;	/* enum weftdv_sig_prot_caps */
	uint16_t t10dif_bg;	/* enum weftdv_sig_t10dif_bg_caps */
	uint16_t crc_type;	/* enum weftdv_sig_crc_type_caps */
};

/* struct weftdv_device_attr.comp_mask */
enum weftdv_device_attr_mask {
	WEFTDV_DEVICE_ATTR_QP		= 1 << 0,	/* qp_create_flags, send_ops_flags */
	WEFTDV_DEVICE_ATTR_MKEY		= 1 << 1,	/* mkey_create_flags, max_mkey_entries */
	WEFTDV_DEVICE_ATTR_SIG		= 1 << 2,	/* sig_caps */
	WEFTDV_DEVICE_ATTR_DC		= 1 << 3,	/* dc_caps */
};

struct weftdv_dc_caps {
	uint32_t dc_types;	/* a bit for each enum weftdv_dc_type; 0: there is no DC */
	/* of the streams of an initiator; both are 0 if there are none */
	uint8_t max_log_num_concurent;
	uint8_t max_log_num_errored;
};

struct weftdv_device_attr {
	uint64_t comp_mask;	/* in: what to fill in; out: what was filled in */
	uint64_t qp_create_flags;	/* those of enum weftdv_qp_create_flags that work */
	uint64_t send_ops_flags;	/* those of enum weftdv_qp_create_send_ops_flags that work */
	uint32_t mkey_create_flags;	/* those of enum weftdv_mkey_init_attr_flags that work */
	uint32_t max_mkey_entries;
	struct weftdv_sig_caps sig_caps;	/* zeros if there are no signatures */
	struct weftdv_dc_caps dc_caps;
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
	WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT		= 1 << 0,
	WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE	= 1 << 1,
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

enum weftdv_sig_t10dif_flags {
	WEFTDV_SIG_T10DIF_FLAG_REF_REMAP	= 1 << 0,
	WEFTDV_SIG_T10DIF_FLAG_APP_ESCAPE	= 1 << 1,
	WEFTDV_SIG_T10DIF_FLAG_APP_REF_ESCAPE	= 1 << 2,
};

struct weftdv_sig_t10dif {
	enum weftdv_sig_t10dif_bg_type bg_type;
	uint16_t bg;
	uint16_t app_tag;
	uint32_t ref_tag;
	uint16_t flags;	/* enum weftdv_sig_t10dif_flags */
};

struct weftdv_sig_crc {
	enum weftdv_sig_crc_type type;
	uint64_t seed;
};

struct weftdv_sig_block_domain {
	enum weftdv_sig_type sig_type;
	union {
		const struct weftdv_sig_t10dif *dif;
		const struct weftdv_sig_crc *crc;
	} sig;
	enum weftdv_block_size block_size;
	uint64_t comp_mask;	/* 0 */
};

enum weftdv_sig_mask {
	WEFTDV_SIG_MASK_T10DIF_GUARD	= 0xc0,
	WEFTDV_SIG_MASK_T10DIF_APPTAG	= 0x30,
	WEFTDV_SIG_MASK_T10DIF_REFTAG	= 0x0f,
	WEFTDV_SIG_MASK_CRC32		= 0xf0,
	WEFTDV_SIG_MASK_CRC32C		= WEFTDV_SIG_MASK_CRC32,
	WEFTDV_SIG_MASK_CRC64_XP10	= 0xff,
};

enum weftdv_sig_block_attr_flags {
	WEFTDV_SIG_BLOCK_ATTR_FLAG_COPY_MASK	= 1 << 0,
};

struct weftdv_sig_block_attr {
	const struct weftdv_sig_block_domain *mem;
	const struct weftdv_sig_block_domain *wire;
	uint32_t flags;	/* enum weftdv_sig_block_attr_flags */
	uint8_t check_mask;
	uint8_t copy_mask;
	uint64_t comp_mask;	/* 0 */
};

enum weftdv_mkey_err_type {
	WEFTDV_MKEY_NO_ERR,
	WEFTDV_MKEY_SIG_BLOCK_BAD_GUARD,
	WEFTDV_MKEY_SIG_BLOCK_BAD_REFTAG,
	WEFTDV_MKEY_SIG_BLOCK_BAD_APPTAG,
};

struct weftdv_sig_err {
	uint64_t actual_value;
	uint64_t expected_value;
	uint64_t offset;
};

struct weftdv_mkey_err {
	enum weftdv_mkey_err_type err_type;
	union {
		struct weftdv_sig_err sig;
	} err;
};

int weftdv_mkey_check(struct weftdv_mkey *mkey,
		      struct weftdv_mkey_err *err_info);

int weftdv_dci_stream_id_reset(struct ibv_qp *qp, uint16_t stream_id);

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
	void (*wr_set_mkey_sig_block)(struct weftdv_qp_ex *wqp,
				      const struct weftdv_sig_block_attr *attr);
	void (*wr_set_dc_addr)(struct weftdv_qp_ex *wqp, struct ibv_ah *ah,
			       uint32_t remote_dctn, uint64_t remote_dc_key);
	void (*wr_set_dc_addr_stream)(struct weftdv_qp_ex *wqp,
				      struct ibv_ah *ah, uint32_t remote_dctn,
				      uint64_t remote_dc_key,
				      uint16_t stream_id);
};

struct weftdv_qp_ex *weftdv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp);

int weftdv_qp_cancel_posted_send_wrs(struct weftdv_qp_ex *wqp, uint64_t wr_id);

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

static inline void
weftdv_wr_set_mkey_sig_block(struct weftdv_qp_ex *wqp,
			     const struct weftdv_sig_block_attr *attr)
{
	wqp->wr_set_mkey_sig_block(wqp, attr);
}

static inline void weftdv_wr_set_dc_addr(struct weftdv_qp_ex *wqp,
					 struct ibv_ah *ah,
					 uint32_t remote_dctn,
					 uint64_t remote_dc_key)
{
	wqp->wr_set_dc_addr(wqp, ah, remote_dctn, remote_dc_key);
}

static inline void weftdv_wr_set_dc_addr_stream(struct weftdv_qp_ex *wqp,
						struct ibv_ah *ah,
						uint32_t remote_dctn,
						uint64_t remote_dc_key,
						uint16_t stream_id)
{
	wqp->wr_set_dc_addr_stream(wqp, ah, remote_dctn, remote_dc_key,
				   stream_id);
}

#ifdef __cplusplus
}
#endif

#endif /* _WEFTDV_H_ */
