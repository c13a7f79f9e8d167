// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A library to preload into programs that use mlx5's direct verbs: for devices of weft it answers
 * the functions that have a meaning there with those of libweft. It is for tests of such programs
 * and is not installed. The raw queues (mlx5dv_init_obj(), DevX) stay libmlx5's, which refuses a
 * device of weft.
 */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/weftdv.h>

/* weftdv.h has the structures, and the values, of mlx5dv.h */
#define ALIKE(type)		static_assert(sizeof(struct mlx5dv_##type) == sizeof(struct weftdv_##type), #type)
#define EQUAL(name)		static_assert((int)MLX5DV_##name == (int)WEFTDV_##name, #name)

ALIKE(qp_init_attr);
ALIKE(mkey);
ALIKE(mkey_init_attr);
ALIKE(mkey_conf_attr);
ALIKE(mkey_err);
ALIKE(mr_interleaved);
ALIKE(sig_block_attr);
ALIKE(sig_block_domain);
ALIKE(sig_crc);
ALIKE(sig_t10dif);
ALIKE(sig_caps);
EQUAL(QP_CREATE_SIG_PIPELINING);
EQUAL(QP_CREATE_ALLOW_SCATTER_TO_CQE);
EQUAL(QP_EX_WITH_MKEY_CONFIGURE);
EQUAL(QP_INIT_ATTR_MASK_SEND_OPS_FLAGS);
EQUAL(QP_INIT_ATTR_MASK_DCI_STREAMS);
EQUAL(DCTYPE_DCI);
EQUAL(MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE);
EQUAL(SIG_TYPE_CRC);
EQUAL(SIG_CRC_TYPE_CRC64_XP10);
EQUAL(SIG_T10DIF_CSUM);
EQUAL(SIG_T10DIF_FLAG_APP_REF_ESCAPE);
EQUAL(SIG_BLOCK_ATTR_FLAG_COPY_MASK);
EQUAL(BLOCK_SIZE_4160);
EQUAL(MKEY_SIG_BLOCK_BAD_APPTAG);

/* outstanding READs and atomics */
#define MOST_ATOMICS	16

/* the function that is called without this library, for other devices */
#define NEXT(name)	((typeof(&name))dlsym(RTLD_NEXT, #name))

/* A QP of weft. The newest of those with one address is the one that exists. */
struct own_qp {
	struct mlx5dv_qp_ex mlx5;
	struct weftdv_qp_ex *weft;
	struct ibv_qp *qp;
	bool streams;
	struct own_qp *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own_qp *qps;

static bool is_own(const struct ibv_context *context)
{
	return weftdv_is_supported(context->device);
}

/* Programs look for the numbers of an adapter that they know. */
int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int ret = NEXT(ibv_query_device)(context, attr);

	if (!ret && is_own(context)) {
		attr->vendor_id = 0x02c9;	/* Mellanox */
		attr->vendor_part_id = 4123;	/* ConnectX-6 */
	}
	return ret;
}

static struct weftdv_qp_ex *weft_of(struct mlx5dv_qp_ex *mlx5)
{
	return ((struct own_qp *)mlx5)->weft;
}

static void mr_interleaved(struct mlx5dv_qp_ex *qp, struct mlx5dv_mkey *mkey, uint32_t access,
			   uint32_t repeat, uint16_t num, struct mlx5dv_mr_interleaved *data)
{
	weftdv_wr_mr_interleaved(weft_of(qp), (void *)mkey, access, repeat, num, (void *)data);
}

static void mr_list(struct mlx5dv_qp_ex *qp, struct mlx5dv_mkey *mkey, uint32_t access,
		    uint16_t num, struct ibv_sge *sge)
{
	weftdv_wr_mr_list(weft_of(qp), (void *)mkey, access, num, sge);
}

/* weft sets an mkey as a whole, so the signatures are always reset */
static void mkey_configure(struct mlx5dv_qp_ex *qp, struct mlx5dv_mkey *mkey, uint8_t setters,
			   struct mlx5dv_mkey_conf_attr *attr)
{
	struct weftdv_mkey_conf_attr conf = {
		.conf_flags = attr->conf_flags & ~MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR,
		.comp_mask = attr->comp_mask,
	};

	weftdv_wr_mkey_configure(weft_of(qp), (void *)mkey, setters, &conf);
}

static void set_access(struct mlx5dv_qp_ex *qp, uint32_t access)
{
	weftdv_wr_set_mkey_access_flags(weft_of(qp), access);
}

static void set_list(struct mlx5dv_qp_ex *qp, uint16_t num, const struct ibv_sge *sge)
{
	weftdv_wr_set_mkey_layout_list(weft_of(qp), num, sge);
}

static void set_interleaved(struct mlx5dv_qp_ex *qp, uint32_t repeat, uint16_t num,
			    const struct mlx5dv_mr_interleaved *data)
{
	weftdv_wr_set_mkey_layout_interleaved(weft_of(qp), repeat, num, (const void *)data);
}

static void set_sig_block(struct mlx5dv_qp_ex *qp, const struct mlx5dv_sig_block_attr *attr)
{
	weftdv_wr_set_mkey_sig_block(weft_of(qp), (const void *)attr);
}

static void set_dc_addr(struct mlx5dv_qp_ex *qp, struct ibv_ah *ah, uint32_t dctn, uint64_t key)
{
	weftdv_wr_set_dc_addr(weft_of(qp), ah, dctn, key);
}

static void set_dc_addr_stream(struct mlx5dv_qp_ex *qp, struct ibv_ah *ah, uint32_t dctn,
			       uint64_t key, uint16_t stream)
{
	/* perftest counts on, without streams too, and adapters ignore the number then */
	weftdv_wr_set_dc_addr_stream(weft_of(qp), ah, dctn, key,
				     ((struct own_qp *)qp)->streams ? stream : 0);
}

bool mlx5dv_is_supported(struct ibv_device *device)
{
	return weftdv_is_supported(device) || NEXT(mlx5dv_is_supported)(device);
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	if (!weftdv_is_supported(device))
		return NEXT(mlx5dv_open_device)(device, attr);
	if (attr->flags & MLX5DV_CONTEXT_FLAGS_DEVX) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return ibv_open_device(device);
}

int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *attr)
{
	struct weftdv_device_attr weft = {
		.comp_mask = WEFTDV_DEVICE_ATTR_SIG | WEFTDV_DEVICE_ATTR_DC,
	};
	uint64_t mask = attr->comp_mask;
	int ret;

	if (!is_own(context))
		return NEXT(mlx5dv_query_device)(context, attr);
	ret = weftdv_query_device(context, &weft);
	if (ret)
		return ret;
	memset(attr, 0, offsetof(struct mlx5dv_context, cqe_comp_caps));
	attr->comp_mask = mask & (MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD |
				  MLX5DV_CONTEXT_MASK_DC_ODP_CAPS |
				  MLX5DV_CONTEXT_MASK_DCI_STREAMS |
				  MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM);
	if (mask & MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD)
		memcpy(&attr->sig_caps, &weft.sig_caps, sizeof(attr->sig_caps));
	if (mask & MLX5DV_CONTEXT_MASK_DC_ODP_CAPS)
		attr->dc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_SRQ_RECV |
				    IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
	if (mask & MLX5DV_CONTEXT_MASK_DCI_STREAMS)
		attr->dci_streams_caps = (struct mlx5dv_dci_streams_caps){
			.max_log_num_concurent = weft.dc_caps.max_log_num_concurent,
			.max_log_num_errored = weft.dc_caps.max_log_num_errored,
		};
	if (mask & MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM) {
		/* programs post as many, and do not expect more than adapters have */
		attr->max_dc_rd_atom = MOST_ATOMICS;
		attr->max_dc_init_rd_atom = MOST_ATOMICS;
	}
	return 0;
}

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				struct mlx5dv_qp_init_attr *mlx5_attr)
{
	struct ibv_qp_ex *ex;
	struct own_qp *own;

	if (!is_own(context))
		return NEXT(mlx5dv_create_qp)(context, attr, mlx5_attr);
	own = calloc(1, sizeof(*own));
	if (!own)
		return NULL;
	own->qp = weftdv_create_qp(context, attr, (void *)mlx5_attr);
	if (!own->qp) {
		/* programs do not say more than that it failed */
		fprintf(stderr, "mlx5dv: no QP: %m (type %d, attributes %#x, %#llx, flags %#x)\n",
			attr->qp_type, attr->comp_mask,
			mlx5_attr ? (unsigned long long)mlx5_attr->comp_mask : 0,
			mlx5_attr ? mlx5_attr->create_flags : 0);
		free(own);
		return NULL;
	}
	own->mlx5 = (struct mlx5dv_qp_ex){
		.wr_mr_interleaved = mr_interleaved,
		.wr_mr_list = mr_list,
		.wr_mkey_configure = mkey_configure,
		.wr_set_mkey_access_flags = set_access,
		.wr_set_mkey_layout_list = set_list,
		.wr_set_mkey_layout_interleaved = set_interleaved,
		.wr_set_mkey_sig_block = set_sig_block,
		.wr_set_dc_addr = set_dc_addr,
		.wr_set_dc_addr_stream = set_dc_addr_stream,
	};
	own->streams = mlx5_attr &&
		       mlx5_attr->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	/* a QP without builders has none */
	ex = ibv_qp_to_qp_ex(own->qp);
	own->weft = ex ? weftdv_qp_ex_from_ibv_qp_ex(ex) : NULL;
	pthread_mutex_lock(&lock);
	own->next = qps;
	qps = own;
	pthread_mutex_unlock(&lock);
	return own->qp;
}

struct mlx5dv_qp_ex *mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	struct own_qp *own;

	/* a DCT has no builders, and programs ask all the same */
	if (!qp)
		return NULL;
	if (!is_own(qp->qp_base.context))
		return NEXT(mlx5dv_qp_ex_from_ibv_qp_ex)(qp);
	pthread_mutex_lock(&lock);
	for (own = qps; own && own->qp != &qp->qp_base; own = own->next)
		;
	pthread_mutex_unlock(&lock);
	return own ? &own->mlx5 : NULL;
}

/* An mkey does not name its device, so a process has mkeys of weft only. */
struct mlx5dv_mkey *mlx5dv_create_mkey(struct mlx5dv_mkey_init_attr *attr)
{
	return (void *)weftdv_create_mkey((void *)attr);
}

int mlx5dv_destroy_mkey(struct mlx5dv_mkey *mkey)
{
	return weftdv_destroy_mkey((void *)mkey);
}

int _mlx5dv_mkey_check(struct mlx5dv_mkey *mkey, struct mlx5dv_mkey_err *error, size_t size)
{
	if (size < sizeof(*error))
		return EINVAL;
	return weftdv_mkey_check((void *)mkey, (void *)error);
}

int mlx5dv_qp_cancel_posted_send_wrs(struct mlx5dv_qp_ex *qp, uint64_t wr_id)
{
	return weftdv_qp_cancel_posted_send_wrs(weft_of(qp), wr_id);
}

int mlx5dv_dci_stream_id_reset(struct ibv_qp *qp, uint16_t stream)
{
	if (!is_own(qp->context))
		return NEXT(mlx5dv_dci_stream_id_reset)(qp, stream);
	return weftdv_dci_stream_id_reset(qp, stream);
}

/* It tells an adapter which QP an address handle is for, and weft needs no such thing. */
int mlx5dv_map_ah_to_qp(struct ibv_ah *ah, uint32_t qpn)
{
	return is_own(ah->context) ? EOPNOTSUPP : NEXT(mlx5dv_map_ah_to_qp)(ah, qpn);
}
