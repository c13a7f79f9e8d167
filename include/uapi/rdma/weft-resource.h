/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * The content of RDMA_NLDEV_ATTR_RES_RAW ("rdma resource show qp -r"), in host byte order. Later
 * versions may append members, but do not move any. Values that change while they are read may be
 * from different moments.
 */
#ifndef WEFT_RESOURCE_USER_H
#define WEFT_RESOURCE_USER_H

#include <linux/types.h>

/* struct weft_raw_qp.flags */
enum weft_raw_qp_flags {
	/* the path leads to the local link */
	WEFT_RAW_QP_LOCAL	= 1 << 0,
	/* the QP belongs to a kernel consumer */
	WEFT_RAW_QP_KERNEL	= 1 << 1,
	WEFT_RAW_QP_SIG_ALL	= 1 << 2,
	/* a request has been started and is not complete */
	WEFT_RAW_QP_BUSY	= 1 << 3,
};

/**
 * struct weft_raw_qp - a QP
 * @qpn: its number
 * @dest_qpn: number of the peer
 * @src_qpn: the source QP number in its packets
 * @type: enum ib_qp_type
 * @state: enum ib_qp_state
 * @path_mig_state: enum ib_mig_state
 * @flags: enum weft_raw_qp_flags
 * @access: enum ib_access_flags
 * @qkey: UD only
 * @mtu: the most bytes of payload in a packet
 * @max_send_wr: the QP's actual capability, as in struct ib_qp_cap
 * @max_recv_wr: the QP's actual capability
 * @max_send_sge: the QP's actual capability
 * @max_recv_sge: the QP's actual capability
 * @max_inline_data: the QP's actual capability
 * @next_sq_psn: PSN of the next request
 * @unanswered_psn: PSN of the oldest request that waits for its acknowledge
 * @next_rq_psn: PSN of the expected request
 * @msn: number of messages received, 24 bits
 * @pkey_index: in the port's table
 * @timeout: as in struct ib_qp_attr
 * @retry_cnt: as in struct ib_qp_attr
 * @rnr_retry: as in struct ib_qp_attr
 * @min_rnr_timer: as in struct ib_qp_attr
 * @max_rd_atomic: as in struct ib_qp_attr
 * @max_dest_rd_atomic: as in struct ib_qp_attr
 * @retry_left: retries left of @retry_cnt
 * @rnr_left: retries left of @rnr_retry
 * @sgid_index: of the path
 * @sl: of the path
 * @dlid: of the path, on InfiniBand
 * @reserved_4e: 0
 * @dgid: of the path
 */
struct weft_raw_qp {
	__u32	qpn;
	__u32	dest_qpn;
	__u32	src_qpn;
	__u8	type;
	__u8	state;
	__u8	path_mig_state;
	__u8	flags;
	__u32	access;
	__u32	qkey;
	__u32	mtu;
	__u32	max_send_wr;
	__u32	max_recv_wr;
	__u32	max_send_sge;
	__u32	max_recv_sge;
	__u32	max_inline_data;
	__u32	next_sq_psn;
	__u32	unanswered_psn;
	__u32	next_rq_psn;
	__u32	msn;
	__u16	pkey_index;
	__u8	timeout;
	__u8	retry_cnt;
	__u8	rnr_retry;
	__u8	min_rnr_timer;
	__u8	max_rd_atomic;
	__u8	max_dest_rd_atomic;
	__u8	retry_left;
	__u8	rnr_left;
	__u8	sgid_index;
	__u8	sl;
	__u16	dlid;
	__u16	reserved_4e;
	__u8	dgid[16];
};

/* struct weft_raw_cq.flags */
enum weft_raw_cq_flags {
	WEFT_RAW_CQ_OVERRUN	= 1 << 0,
	WEFT_RAW_CQ_TIMESTAMPS	= 1 << 1,
	/* the CQ belongs to a kernel consumer */
	WEFT_RAW_CQ_KERNEL	= 1 << 2,
};

/**
 * struct weft_raw_cq - a completion queue
 * @entries: of its ring
 * @completions: number of completions so far, modulo 2^32
 * @flags: enum weft_raw_cq_flags
 * @moderation_count: as set by ibv_modify_cq()
 */
struct weft_raw_cq {
	__u32	entries;
	__u32	completions;
	__u32	flags;
	__u32	moderation_count;
};

/* struct weft_raw_mr.flags */
enum weft_raw_mr_flags {
	/* pinned memory of a process */
	WEFT_RAW_MR_PINNED	= 1 << 0,
	/* a dma-buf */
	WEFT_RAW_MR_DMABUF	= 1 << 1,
	/* on-demand paging */
	WEFT_RAW_MR_PAGED	= 1 << 2,
	/* fast registration, by a kernel consumer */
	WEFT_RAW_MR_FASTREG	= 1 << 3,
};

/**
 * struct weft_raw_mr - a memory region
 * @iova: first address
 * @length: bytes
 * @key: lkey and rkey
 * @access: enum ib_access_flags
 * @flags: enum weft_raw_mr_flags
 * @windows: number of memory windows bound to it
 */
struct weft_raw_mr {
	__aligned_u64	iova;
	__aligned_u64	length;
	__u32		key;
	__u32		access;
	__u32		flags;
	__u32		windows;
};

/* struct weft_raw_srq.flags */
enum weft_raw_srq_flags {
	WEFT_RAW_SRQ_ERROR	= 1 << 0,
	WEFT_RAW_SRQ_XRC	= 1 << 1,
};

/**
 * struct weft_raw_srq - a shared receive queue
 * @srqn: its number
 * @entries: of its ring
 * @taken: receive work requests that messages have taken so far, modulo 2^32
 * @max_sge: elements of a receive work request
 * @limit: limit that raises an event; 0: none
 * @flags: enum weft_raw_srq_flags
 */
struct weft_raw_srq {
	__u32	srqn;
	__u32	entries;
	__u32	taken;
	__u32	max_sge;
	__u32	limit;
	__u32	flags;
};

#endif /* WEFT_RESOURCE_USER_H */
