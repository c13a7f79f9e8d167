/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions that the provider has for libweft.
 *
 * libibverbs loads one of the provider's files, that with the number of its private interface.
 * libweft.so.1 is the same for all of them: it looks for the file that has been loaded, and calls
 * the functions of the table that it exports. Nothing private to libibverbs is in the table, and
 * members are only ever added at its end, so the two files may come from different versions of
 * weft.
 */
#ifndef LIBWEFT_TABLE_H
#define LIBWEFT_TABLE_H

#include <stddef.h>

#include <infiniband/weftdv.h>

/**
 * struct weft_dv_table - functions of the provider
 * @size: bytes of the table; members beyond it do not exist
 * @is_own: does the provider drive this device? The other functions are called only for such.
 * @query_device: see the manual page of each; so are the rest
 * @create_qp: create a QP
 * @qp_ex: the builder's functions; NULL: the QP has none
 * @create_mkey: create an mkey
 * @destroy_mkey: destroy it
 * @mkey_check: read its error
 * @cancel: cancel work requests
 * @stream_reset: end the error of a stream
 */
struct weft_dv_table {
	size_t size;
	bool (*is_own)(const struct ibv_device *device);
	int (*query_device)(struct ibv_context *context,
			    struct weftdv_device_attr *attr);
	struct ibv_qp *(*create_qp)(struct ibv_context *context,
				    struct ibv_qp_init_attr_ex *attr,
				    struct weftdv_qp_init_attr *dv_attr);
	struct weftdv_qp_ex *(*qp_ex)(struct ibv_qp_ex *qp);
	struct weftdv_mkey *(*create_mkey)(struct weftdv_mkey_init_attr *attr);
	int (*destroy_mkey)(struct weftdv_mkey *mkey);
	int (*mkey_check)(struct weftdv_mkey *mkey,
			  struct weftdv_mkey_err *err_info);
	int (*cancel)(struct weftdv_qp_ex *wqp, uint64_t wr_id);
	int (*stream_reset)(struct ibv_qp *qp, uint16_t stream_id);
};

/* The table's name in the provider, a const struct weft_dv_table. */
#define WEFT_DV_TABLE	weft_dv_table

#endif /* LIBWEFT_TABLE_H */
