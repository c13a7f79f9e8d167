/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libweft: the direct verbs, for programs to link with. The provider has the code, see table.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "table.h"

#define STRING_(name)	#name
#define STRING(name)	STRING_(name)

/* Copies the name by which libibverbs has loaded its provider for weft to @data. */
static int find_provider(struct dl_phdr_info *object, size_t size, void *data)
{
	if (!strstr(object->dlpi_name, "/libweft-rdmav") ||
	    strlen(object->dlpi_name) >= PATH_MAX)
		return 0;
	strcpy(data, object->dlpi_name);
	return 1;
}

/*
 * The table of the provider that libibverbs has loaded, or NULL. A process that has a struct
 * ibv_device of weft has loaded it, and never unloads it.
 */
static const struct weft_dv_table *loaded_table(void)
{
	static const struct weft_dv_table *_Atomic loaded;
	const struct weft_dv_table *table = atomic_load(&loaded);
	char name[PATH_MAX];
	void *provider;

	/* nothing may be opened from within dl_iterate_phdr() */
	if (table || !dl_iterate_phdr(find_provider, name))
		return table;
	/* by its name this is the same object, and not a second one */
	provider = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	if (!provider)
		return NULL;
	table = dlsym(provider, STRING(WEFT_DV_TABLE));
	atomic_store(&loaded, table);
	dlclose(provider);
	return table;
}

/* The table for a device, if the provider has @member; else NULL with errno EOPNOTSUPP. */
static const struct weft_dv_table *table_for(const struct ibv_device *device,
					     size_t member)
{
	const struct weft_dv_table *table = loaded_table();

	if (table && table->size > member && table->is_own(device))
		return table;
	errno = EOPNOTSUPP;
	return NULL;
}

#define TABLE_FOR(device, member) \
	table_for(device, offsetof(struct weft_dv_table, member))

bool weftdv_is_supported(struct ibv_device *device)
{
	const struct weft_dv_table *table = loaded_table();

	return table && table->is_own(device);
}

int weftdv_query_device(struct ibv_context *context,
			struct weftdv_device_attr *attr)
{
	const struct weft_dv_table *table = TABLE_FOR(context->device,
						      query_device);

	return table ? table->query_device(context, attr) : EOPNOTSUPP;
}

struct ibv_qp *weftdv_create_qp(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *qp_attr,
				struct weftdv_qp_init_attr *weft_qp_attr)
{
	const struct weft_dv_table *table = TABLE_FOR(context->device,
						      create_qp);

	return table ? table->create_qp(context, qp_attr, weft_qp_attr) : NULL;
}

struct weftdv_qp_ex *weftdv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	const struct weft_dv_table *table;

	table = TABLE_FOR(qp->qp_base.context->device, qp_ex);
	return table ? table->qp_ex(qp) : NULL;
}

struct weftdv_mkey *weftdv_create_mkey(struct weftdv_mkey_init_attr *attr)
{
	const struct weft_dv_table *table;

	table = TABLE_FOR(attr->pd->context->device, create_mkey);
	return table ? table->create_mkey(attr) : NULL;
}

/* Only weftdv_create_mkey() makes an mkey, so the table is there. */
int weftdv_destroy_mkey(struct weftdv_mkey *mkey)
{
	return loaded_table()->destroy_mkey(mkey);
}

/* An older provider has no mkeys with signatures. */
int weftdv_mkey_check(struct weftdv_mkey *mkey,
		      struct weftdv_mkey_err *err_info)
{
	const struct weft_dv_table *table = loaded_table();

	if (table->size <= offsetof(struct weft_dv_table, mkey_check))
		return EOPNOTSUPP;
	return table->mkey_check(mkey, err_info);
}

/* An older provider has no QPs that take work requests back. */
int weftdv_qp_cancel_posted_send_wrs(struct weftdv_qp_ex *wqp, uint64_t wr_id)
{
	const struct weft_dv_table *table = loaded_table();

	if (table->size <= offsetof(struct weft_dv_table, cancel))
		return -EOPNOTSUPP;
	return table->cancel(wqp, wr_id);
}

int weftdv_dci_stream_id_reset(struct ibv_qp *qp, uint16_t stream_id)
{
	const struct weft_dv_table *table;

	table = TABLE_FOR(qp->context->device, stream_reset);
	return table ? table->stream_reset(qp, stream_id) : EOPNOTSUPP;
}
