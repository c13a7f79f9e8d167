/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Methods and attributes of uverbs in addition to those of the core, in the driver's namespace.
 * The structures are in weft-abi.h.
 */
#ifndef WEFT_ATTRS_USER_H
#define WEFT_ATTRS_USER_H

#include <rdma/ib_user_ioctl_cmds.h>

enum weft_methods_dm {
	/* of UVERBS_OBJECT_DM: describe the memory to a process that imports it */
	WEFT_METHOD_DM_QUERY	= (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_attrs_alloc_dm {
	/* of UVERBS_METHOD_DM_ALLOC: struct weft_dm_resp, mandatory */
	WEFT_ATTR_ALLOC_DM_RESP	= (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_attrs_query_dm {
	/* the handle */
	WEFT_ATTR_QUERY_DM_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	/* struct weft_dm_resp */
	WEFT_ATTR_QUERY_DM_RESP,
};

enum weft_attrs_create_comp_cntr {
	/* of UVERBS_METHOD_COMP_CNTR_CREATE: __u32, enum weft_comp_cntr_type; without it WRS */
	WEFT_ATTR_CREATE_COMP_CNTR_TYPE = (1U << UVERBS_ID_NS_SHIFT),
};

/* enum ibv_comp_cntr_type */
enum weft_comp_cntr_type {
	WEFT_COMP_CNTR_WRS	= 0,
	WEFT_COMP_CNTR_BYTES	= 1,
};

enum weft_methods_pd {
	/* of UVERBS_OBJECT_PD: succeeds if the PD exists */
	WEFT_METHOD_PD_QUERY	= (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_attrs_query_pd {
	/* the handle */
	WEFT_ATTR_QUERY_PD_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_methods_mw {
	/* of UVERBS_OBJECT_MW: read and forget the error of an mkey with signatures */
	WEFT_METHOD_MW_CHECK	= (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_attrs_mw_check {
	/* the handle */
	WEFT_ATTR_MW_CHECK_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	/* struct weft_mkey_error */
	WEFT_ATTR_MW_CHECK_RESP,
};

enum weft_methods_qp {
	/* of UVERBS_OBJECT_QP: end the error of a stream of a DC initiator */
	WEFT_METHOD_QP_STREAM	= (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_attrs_qp_stream {
	/* the handle */
	WEFT_ATTR_QP_STREAM_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	/* __u32, the stream */
	WEFT_ATTR_QP_STREAM_ID,
};

enum weft_methods_srq {
	/* of UVERBS_OBJECT_SRQ: execute an operation on the tag list */
	WEFT_METHOD_SRQ_TAG	= (1U << UVERBS_ID_NS_SHIFT),
	/* of UVERBS_OBJECT_SRQ: fails with the errno that a post has to return, see weft_posting */
	WEFT_METHOD_SRQ_ASK,
};

enum weft_attrs_srq_ask {
	/* the handle */
	WEFT_ATTR_SRQ_ASK_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_attrs_srq_tag {
	/* the handle */
	WEFT_ATTR_SRQ_TAG_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	/* struct weft_tag_op */
	WEFT_ATTR_SRQ_TAG_OP,
	/* __u32, ADD: handle of the new entry */
	WEFT_ATTR_SRQ_TAG_RESP,
};

enum weft_attrs_query_context {
	/*
	 * of UVERBS_METHOD_QUERY_CONTEXT: struct weft_alloc_ucontext_resp,
	 * mandatory. Its doorbell is a new file descriptor for the calling process.
	 */
	WEFT_ATTR_QUERY_CONTEXT_RESP = (1U << UVERBS_ID_NS_SHIFT),
};

#endif /* WEFT_ATTRS_USER_H */
