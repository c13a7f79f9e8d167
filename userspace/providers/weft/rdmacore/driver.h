/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface between libibverbs and its providers, as far as weft uses it.
 *
 * No -dev package installs this interface, so it is declared here. It has a
 * number, which is in the name of a provider's file (libweft-rdmavNN.so) and in
 * the version of the library's private symbols (IBVERBS_PRIVATE_NN), and
 * VERBS_PABI is the number to compile for. The public part, infiniband/verbs.h,
 * may come from any release: this header relies on no member of it that has
 * been added since rdma-core 34.
 *
 * Releases that share a number are not alike: see rdmacore/ops.h, struct
 * verbs_qp, and ibv_cmd_reg_dmabuf_mr(). scripts/check-rdma-core compares all
 * declarations with the source of a release. A new number wants a layout in
 * rdmacore/ops.h, a table in release.c, and its place in scripts/build-provider.
 *
 * rdmacore/symbols lists the functions. The build makes a library without code
 * from it, with the version IBVERBS_PRIVATE_NN, to link with. Thus the provider
 * can be linked for each number on any machine; and as it asks for that version,
 * the dynamic loader refuses it beside another library, and says why. A lookup
 * by dlvsym() would have to do both by itself.
 */
#ifndef RDMACORE_DRIVER_H
#define RDMACORE_DRIVER_H

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#ifndef VERBS_PABI
#error "VERBS_PABI is the number of the interface"
#endif

/* libibverbs' objects are members of the provider's. */
#define container_of(ptr, type, member) \
	((type *)((uint8_t *)(ptr) - offsetof(type, member)))
#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof(((type *)NULL)->member))

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
/* verbs.h marks big endian types for sparse */
#ifndef __force
#define __force
#endif

static inline bool check_comp_mask(uint64_t mask, uint64_t supported)
{
	return !(mask & ~supported);
}

/*
 * Values of verbs.h that are newer than rdma-core 34. They are an ABI between
 * programs and providers, and no program can use one that its libibverbs has no
 * room for: see struct verbs_qp.
 */
enum {
	VERBS_WR_FLUSH			= 14,
	VERBS_WR_ATOMIC_WRITE		= 15,
	VERBS_QP_EX_WITH_FLUSH		= 1 << 11,
	VERBS_QP_EX_WITH_ATOMIC_WRITE	= 1 << 12,
	VERBS_FLUSH_GLOBAL		= 1 << 0,
	VERBS_FLUSH_PERSISTENT		= 1 << 1,
	VERBS_FLUSH_RANGE		= 0,
	VERBS_FLUSH_MR			= 1,
	VERBS_PARENT_DOMAIN_ALLOW_CC_UNPROTECTED_ALLOC = 1 << 2,
	VERBS_DM_MASK_HANDLE		= 1 << 0,
	VERBS_REG_MR_MASK_IOVA		= 1 << 0,
	VERBS_REG_MR_MASK_ADDR		= 1 << 1,
	VERBS_REG_MR_MASK_FD		= 1 << 2,
	VERBS_REG_MR_MASK_FD_OFFSET	= 1 << 3,
	VERBS_REG_MR_MASK_DMAH		= 1 << 4,
	/* UVERBS_x */
	VERBS_OBJECT_COMP_CNTR		= 19,
	VERBS_METHOD_COMP_CNTR_CREATE	= 0,
	VERBS_COMP_CNTR_TYPE_WRS	= 0,
	VERBS_COMP_CNTR_TYPE_BYTES	= 1,
	/* enum ibv_qp_attach_comp_cntr_op: SEND to REMOTE_RDMA_WRITE */
	VERBS_QP_ATTACH_COMP_CNTR_OPS	= (1 << 6) - 1,
};

/*
 * Devices
 */

/* kind */
enum {
	VERBS_MATCH_MODALIAS	= 2,
	VERBS_MATCH_DRIVER_ID	= 3,
};

/* A table of them ends with an empty entry. */
struct verbs_match_ent {
	void *driver_data;
	union {
		const char *modalias;
		uint64_t driver_id;
	} u;
	uint16_t vendor;
	uint16_t device;
	uint8_t kind;
};

struct verbs_sysfs_dev;

/* libibverbs uses all of it but the first member, which it sets, too. */
struct verbs_device {
	struct ibv_device device;
	const void *ops;
	int refcount;
	void *entry[2];
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs_dev);
	struct verbs_context *(*alloc_context)(struct ibv_device *device,
					       int cmd_fd, void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *device,
						int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct verbs_device *device);
};

/*
 * Contexts
 *
 * struct verbs_context grows at its beginning, also where the number stays the
 * same (rdma-core 62). The library stores the size that it has in front of the
 * struct ibv_context at the end; by that a provider finds the beginning.
 */

/* The most bytes that any supported release uses. */
#define VERBS_CONTEXT_MAX	2048

static inline size_t verbs_context_size(const struct ibv_context *context)
{
	return container_of(context, struct verbs_context, context)->sz;
}

static inline void *verbs_context_start(struct ibv_context *context)
{
	return (uint8_t *)(context + 1) - verbs_context_size(context);
}

/*
 * Objects
 */

struct verbs_mr {
	struct ibv_mr ibv_mr;
	int mr_type;
	int access;
};

/* mr_type */
enum {
	IBV_MR_TYPE_MR		= 0,
	IBV_MR_TYPE_NULL_MR	= 1,
};

/* struct ibv_mr_init_attr; comp_mask says which members are valid */
struct verbs_mr_init_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct ibv_dmah *dmah;
};

/* @context is all of struct ibv_dmah */
struct verbs_dmah {
	struct ibv_context *context;
	uint32_t handle;
};

/* all of struct ibv_comp_cntr */
struct verbs_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
};

/* struct ibv_comp_cntr_init_attr; @type is an enum */
struct verbs_comp_cntr_init_attr {
	uint32_t comp_mask;
	uint32_t type;
	uint32_t flags;
};

struct verbs_qp_attach_comp_cntr_attr {
	uint32_t comp_mask;
	uint32_t op_mask;
};

struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

struct verbs_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t comp_mask;
	uint32_t handle;
};

struct verbs_srq {
	struct ibv_srq srq;
	enum ibv_srq_type srq_type;
	struct verbs_xrcd *xrcd;
	struct ibv_cq *cq;
	uint32_t srq_num;
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
};

struct verbs_counters {
	struct ibv_counters counters;
	uint32_t handle;
};

struct verbs_dm {
	/* from 35 on the last four bytes are the handle, which were padding before */
	struct ibv_dm dm;
	uint32_t handle;
};

/* struct ibv_dm.handle, valid with VERBS_DM_MASK_HANDLE */
static inline void verbs_dm_set_handle(struct verbs_dm *dm, uint32_t handle)
{
	uint8_t *to = (uint8_t *)&dm->dm.comp_mask + sizeof(dm->dm.comp_mask);

	memcpy(to, &handle, sizeof(handle));
	dm->dm.comp_mask = VERBS_DM_MASK_HANDLE;
	dm->handle = handle;
}

/*
 * The library's own members follow struct ibv_qp_ex, which has grown while the
 * number stayed 34: in rdma-core 44 by wr_atomic_write and in 45 by wr_flush. So
 * @comp_mask is at @tail[0], [1] or [2]: weft_find_qp_mask().
 */
union verbs_qp_tail {
	void (*wr_atomic_write)(struct ibv_qp_ex *qp, uint32_t rkey,
				uint64_t remote_addr, const void *atomic_wr);
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey,
			 uint64_t remote_addr, size_t len, uint8_t type,
			 uint8_t level);
	uint32_t comp_mask;
	struct verbs_xrcd *xrcd;
};

enum {
	VERBS_QP_ATOMIC_WRITE	= 0,
	VERBS_QP_FLUSH		= 1,
	VERBS_QP_TAIL_SIZE	= 4,
};

/* comp_mask */
enum {
	VERBS_QP_EX		= 1 << 1,
};

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
		struct {
			uint8_t common[offsetofend(struct ibv_qp_ex, wr_abort)];
			union verbs_qp_tail tail[VERBS_QP_TAIL_SIZE];
		};
	};
};

/*
 * Commands: a header and what the kernel takes. The driver's own request, if it
 * has one, follows without a gap. The library writes all of it but the latter.
 */
struct verbs_ex_hdr {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_ex_cmd_hdr ex_hdr;
};

#define VERBS_CMD(name, hdr_type, request)	\
	struct name {				\
		struct hdr_type hdr;		\
		struct request core;		\
	}

VERBS_CMD(ibv_alloc_mw, ib_uverbs_cmd_hdr, ib_uverbs_alloc_mw);
VERBS_CMD(ibv_alloc_pd, ib_uverbs_cmd_hdr, ib_uverbs_alloc_pd);
VERBS_CMD(ibv_create_cq_ex, verbs_ex_hdr, ib_uverbs_ex_create_cq);
VERBS_CMD(ibv_create_qp_ex, verbs_ex_hdr, ib_uverbs_ex_create_qp);
VERBS_CMD(ibv_create_srq, ib_uverbs_cmd_hdr, ib_uverbs_create_srq);
VERBS_CMD(ibv_create_xsrq, ib_uverbs_cmd_hdr, ib_uverbs_create_xsrq);
VERBS_CMD(ibv_create_wq, verbs_ex_hdr, ib_uverbs_ex_create_wq);
VERBS_CMD(ibv_get_context, ib_uverbs_cmd_hdr, ib_uverbs_get_context);
VERBS_CMD(ibv_modify_cq, verbs_ex_hdr, ib_uverbs_ex_modify_cq);
VERBS_CMD(ibv_modify_qp, ib_uverbs_cmd_hdr, ib_uverbs_modify_qp);
VERBS_CMD(ibv_modify_qp_ex, verbs_ex_hdr, ib_uverbs_ex_modify_qp);
VERBS_CMD(ibv_modify_srq, ib_uverbs_cmd_hdr, ib_uverbs_modify_srq);
VERBS_CMD(ibv_modify_wq, verbs_ex_hdr, ib_uverbs_ex_modify_wq);
VERBS_CMD(ibv_open_qp, ib_uverbs_cmd_hdr, ib_uverbs_open_qp);
VERBS_CMD(ibv_open_xrcd, ib_uverbs_cmd_hdr, ib_uverbs_open_xrcd);
VERBS_CMD(ibv_query_port, ib_uverbs_cmd_hdr, ib_uverbs_query_port);
VERBS_CMD(ibv_query_qp, ib_uverbs_cmd_hdr, ib_uverbs_query_qp);
VERBS_CMD(ibv_query_srq, ib_uverbs_cmd_hdr, ib_uverbs_query_srq);
VERBS_CMD(ibv_reg_mr, ib_uverbs_cmd_hdr, ib_uverbs_reg_mr);
VERBS_CMD(ibv_rereg_mr, ib_uverbs_cmd_hdr, ib_uverbs_rereg_mr);
VERBS_CMD(ibv_resize_cq, ib_uverbs_cmd_hdr, ib_uverbs_resize_cq);

/*
 * struct NAME and NAME_resp: a command and its response with what the driver
 * adds to them.
 */
#define VERBS_DRIVER_CMD(name, command, drv_request)			\
	struct name {							\
		struct command ibv_cmd;					\
		struct drv_request drv;					\
	};								\
	static_assert(sizeof(struct name) == sizeof(struct command) +	\
		      sizeof(struct drv_request), "without a gap")
#define VERBS_DRIVER_RESP(name, response, drv_response)			\
	struct name##_resp {						\
		struct response ibv_resp;				\
		struct drv_response drv;				\
	};								\
	static_assert(sizeof(struct name##_resp) == sizeof(struct response) + \
		      sizeof(struct drv_response), "without a gap")

/*
 * Commands of the newer kind, a list of attributes
 */
struct ibv_command_buffer {
	/* attributes of a caller further down, to be sent along */
	struct ibv_command_buffer *next;
	struct ib_uverbs_attr *next_attr;
	struct ib_uverbs_attr *last_attr;
	/* only for commands that are translated to the older kind */
	uint8_t uhw_in_idx;
	uint8_t uhw_out_idx;
	uint8_t uhw_in_headroom_dwords;
	uint8_t uhw_out_headroom_dwords;
	uint8_t flags;
	struct ib_uverbs_ioctl_hdr hdr;
};

/* A command buffer with room for attributes, which follow it. */
#define VERBS_COMMAND_ATTRS	3

union verbs_command {
	struct ibv_command_buffer buffer;
	uint8_t room[sizeof(struct ibv_command_buffer) +
		     VERBS_COMMAND_ATTRS * sizeof(struct ib_uverbs_attr)];
};

static inline void verbs_command_init(union verbs_command *cmd,
				      uint16_t object_id, uint16_t method_id)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->buffer.hdr.object_id = object_id;
	cmd->buffer.hdr.method_id = method_id;
	cmd->buffer.next_attr = cmd->buffer.hdr.attrs;
	cmd->buffer.last_attr = cmd->buffer.hdr.attrs + VERBS_COMMAND_ATTRS;
	/* none */
	cmd->buffer.uhw_in_idx = 0xff;
	cmd->buffer.uhw_out_idx = 0xff;
}

static inline void verbs_command_add(union verbs_command *cmd, uint16_t attr_id,
				     uint64_t data, uint16_t len)
{
	assert(cmd->buffer.next_attr < cmd->buffer.last_attr);
	*cmd->buffer.next_attr++ = (struct ib_uverbs_attr){
		.attr_id = attr_id,
		.len = len,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = data,
	};
}

/* The object that a handle names. */
static inline void verbs_command_add_obj(union verbs_command *cmd,
					 uint16_t attr_id, uint32_t handle)
{
	verbs_command_add(cmd, attr_id, handle, 0);
}

/* Add an attribute of more than eight bytes that the kernel reads. */
static inline void verbs_command_add_in(union verbs_command *cmd,
					uint16_t attr_id, const void *from,
					size_t len)
{
	verbs_command_add(cmd, attr_id, (uintptr_t)from, len);
}

/* Where the kernel writes. */
static inline void verbs_command_add_out(union verbs_command *cmd,
					 uint16_t attr_id, void *to, size_t len)
{
	verbs_command_add(cmd, attr_id, (uintptr_t)to, len);
}

#include "functions.h"

#endif /* RDMACORE_DRIVER_H */
