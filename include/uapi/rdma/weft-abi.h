/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * weft-abi.h - the contract between weft.ko and its rdma-core provider.
 *
 * Three kinds of memory are shared, all of them rings: the send queue, the
 * receive queue (of a QP or an SRQ) and the completion queue. A ring lies in
 * mmap'd memory in one piece: a struct weft_ring_hdr, padded to
 * WEFT_RING_HDR_SIZE bytes, then a power of two of fixed-size entries.
 *
 * Indexes are free-running 32 bit counters; entry i lives in slot
 * i & (entries - 1). Each side keeps its own index privately and only
 * publishes it. The kernel never believes what it reads: the index of the
 * other side is bounded by (producer - consumer) <= entries, and an entry is
 * copied once into private memory and validated there.
 *
 * Barriers
 * ========
 *
 * Data (send, receive and completion queue alike):
 *
 *	producer                        consumer
 *
 *	write entry                     A: load-acquire producer
 *	B: store-release producer       read entry
 *	                                C: store-release consumer
 *	D: load-acquire consumer
 *	   (before the slot is reused)
 *
 * B pairs with A: whoever sees the index sees the entry. Without it the
 * consumer could read an entry that is not there yet. C pairs with D: whoever
 * sees the slot released has seen it read. Without it the producer could
 * overwrite an entry that is being read.
 *
 * Doorbell (send queue; receive queue of a QP that can no longer receive):
 *
 *	user                            kernel
 *
 *	B: store-release producer       E: store flags |= NEED_DOORBELL
 *	F: full fence                   G: full fence
 *	   load flags                      load producer
 *	   ring if NEED_DOORBELL           run again if there is an entry
 *
 * Both sides store, fence, then load what the other stores. At least one of
 * the two loads sees the other's store, so either the kernel finds the entry
 * or the user rings: a posted entry is never left behind. Without either
 * fence both loads may pass both stores and the entry would wait for ever.
 * For the receive queue E is done once, on entering the error state, before
 * the last scan that flushes the queue.
 *
 * Notification (completion queue):
 *
 *	user                            kernel
 *
 *	H: store arm                    B: store-release producer
 *	   full fence                   I: full fence
 *	   load producer (poll again)      load arm; exchange it with 0 and
 *	                                   raise the event if it was set
 *
 * The same argument: either the user's second poll finds the completion or
 * the kernel finds the ring armed.
 *
 * The end of a completion queue: the kernel stores DEAD and OVERRUN (release)
 * after the last producer index. Who finds one of them (acquire) and then no
 * entry will never find one.
 *
 * When a QP goes to RESET the kernel sets all indexes of its rings to 0 and
 * clears NEED_DOORBELL of its receive queue; no completion of the QP is added
 * after modify_qp or destroy_qp has returned. A resize carries unconsumed
 * entries, indexes, flags and arm over to the new ring.
 */
#ifndef WEFT_ABI_USER_H
#define WEFT_ABI_USER_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

/* Raised when an old provider could misread a new kernel. */
#define WEFT_ABI_VERSION	2

/* "WEFT": outside the range of the upstream enum rdma_driver_id. */
#define RDMA_DRIVER_WEFT	0x57454654

#define WEFT_RING_HDR_SIZE	256

/* flags of struct weft_ring_hdr, written by the kernel only */
enum weft_ring_flags {
	/* the next post must be followed by a doorbell */
	WEFT_RING_NEED_DOORBELL	= 1 << 0,
	/* the device is gone: nothing posted here is ever executed */
	WEFT_RING_DEAD		= 1 << 1,
	/* completion queue: it overflowed, no completion will follow */
	WEFT_RING_OVERRUN	= 1 << 2,
};

/* values of struct weft_ring_hdr.arm */
enum weft_ring_arm {
	WEFT_ARM_NONE		= 0,
	WEFT_ARM_SOLICITED	= 1,
	WEFT_ARM_ANY		= 2,
};

/**
 * struct weft_ring_hdr - head of a ring, one cache line per writer
 * @producer: next index to be written; stored by the producer
 * @consumer: next index to be read; stored by the consumer
 * @arm: enum weft_ring_arm; stored by the user, cleared by the kernel
 * @flags: enum weft_ring_flags; stored by the kernel
 * @reserved_04: 0
 * @reserved_48: 0
 * @reserved_84: 0
 */
struct weft_ring_hdr {
	__u32	producer;
	__u32	reserved_04[15];
	__u32	consumer;
	__u32	arm;
	__u32	reserved_48[14];
	__u32	flags;
	__u32	reserved_84[15];
};

/**
 * struct weft_sge - one scatter/gather element, as struct ibv_sge
 * @addr: address within the memory region
 * @length: bytes
 * @lkey: local key
 */
struct weft_sge {
	__aligned_u64	addr;
	__u32		length;
	__u32		lkey;
};

/*
 * Where WEFT_UCONTEXT_NULL_KEY is set: the lkey of ibv_alloc_null_mr(), in any protection
 * domain. At any address zeros are read, and what is written is lost. It is no rkey.
 */
#define WEFT_NULL_KEY		0xff

/* struct weft_sqe.opcode */
enum weft_sqe_opcode {
	WEFT_SQE_SEND		= 0,
	WEFT_SQE_SEND_IMM	= 1,
	WEFT_SQE_SEND_INV	= 2,
	WEFT_SQE_WRITE		= 3,
	WEFT_SQE_WRITE_IMM	= 4,
	WEFT_SQE_READ		= 5,
	WEFT_SQE_CMP_SWP	= 6,
	WEFT_SQE_FETCH_ADD	= 7,
	WEFT_SQE_LOCAL_INV	= 8,
	WEFT_SQE_BIND_MW	= 9,
	/* of kernel consumers: a process has no region for it */
	WEFT_SQE_REG_MR		= 10,
	/* where WEFT_UCONTEXT_PLACEMENT is set */
	WEFT_SQE_FLUSH		= 11,
	WEFT_SQE_ATOMIC_WRITE	= 12,
	/* of kernel consumers: the QP of a process cannot be made for it */
	WEFT_SQE_LSO		= 13,
	/* of kernel consumers: no verb of a process asks for them */
	WEFT_SQE_MASKED_CMP_SWP	= 14,
	WEFT_SQE_MASKED_FETCH_ADD = 15,
	WEFT_SQE_OPCODES	= 16,
};

/* struct weft_sqe.flags */
enum weft_sqe_flags {
	WEFT_SQE_SIGNALED	= 1 << 0,
	WEFT_SQE_SOLICITED	= 1 << 1,
	WEFT_SQE_FENCE		= 1 << 2,
	/* the payload of @length bytes stands in place of the sge list */
	WEFT_SQE_INLINE		= 1 << 3,
	/* UD, where WEFT_UCONTEXT_IP_CSUM is set: fill in the checksums of IP, TCP, UDP */
	WEFT_SQE_IP_CSUM	= 1 << 4,
	WEFT_SQE_FLAGS		= (1 << 5) - 1,
};

/**
 * struct weft_sqe - a send work request, followed by its sge list or payload
 * @wr_id: returned in the completion
 * @opcode: enum weft_sqe_opcode
 * @flags: enum weft_sqe_flags
 * @num_sge: elements that follow; 0 when WEFT_SQE_INLINE
 * @inline_length: bytes that follow when WEFT_SQE_INLINE, else 0
 * @ex: immediate data (network order as given by the consumer) of SEND_IMM
 *	and WRITE_IMM; rkey of SEND_INV and LOCAL_INV
 * @rkey: remote key of WRITE, READ, atomics, FLUSH and ATOMIC_WRITE
 * @remote_addr: likewise, the remote address
 * @atomic: operands of CMP_SWP (compare, swap) and FETCH_ADD (compare_add); of the masked
 *	ones the bits that are compared, or that end a field, and the bits that are swapped
 * @xrc: beside @atomic: @xrc.srqn, number of the peer's SRQ, of all that an XRC
 *	initiator sends
 * @ud: destination of a UD work request; @ud.ah_id from weft_create_ah_resp
 * @mw: BIND_MW: the window, by any key @mw.rkey that it ever had; the low
 *	eight bits of its key after the bind, @mw.new_rkey; the region @mw.lkey, and the range.
 *	Length 0 unbinds a type 1 window. REG_MR: the region @mw.rkey, likewise
 *	@mw.new_rkey, @mw.access and the address @mw.addr
 * @flush: FLUSH: bytes from @remote_addr on, the values of enum
 *	ibv_placement_type and of enum ibv_selectivity_level. Nothing follows;
 *	of ATOMIC_WRITE eight bytes do, inline or by elements.
 */
struct weft_sqe {
	__aligned_u64	wr_id;
	__u8		opcode;
	__u8		flags;
	__u16		num_sge;
	__u32		inline_length;
	__u32		ex;
	__u32		rkey;
	__aligned_u64	remote_addr;
	union {
		struct {
			__aligned_u64	compare_add;
			__aligned_u64	swap;
			__aligned_u64	compare_add_mask;
			__aligned_u64	swap_mask;
		} atomic;
		struct {
			__aligned_u64	atomic[2];
			__u32		srqn;
			__u32		reserved_3c;
		} xrc;
		struct {
			__u32		ah_id;
			__u32		remote_qpn;
			__u32		remote_qkey;
			__u32		pkey_index;
		} ud;
		struct {
			__aligned_u64	addr;
			__aligned_u64	length;
			__u32		rkey;
			__u32		new_rkey;
			__u32		lkey;
			__u32		access;
		} mw;
		struct {
			__u32		length;
			__u8		placement;
			__u8		selectivity;
		} flush;
	};
};

/**
 * struct weft_rqe - a receive work request, followed by its sge list
 * @wr_id: returned in the completion
 * @num_sge: elements that follow
 * @reserved_0c: 0
 */
struct weft_rqe {
	__aligned_u64	wr_id;
	__u32		num_sge;
	__u32		reserved_0c;
};

/* struct weft_cqe.wc_flags, the values of enum ibv_wc_flags */
enum weft_cqe_wc_flags {
	WEFT_WC_GRH		= 1 << 0,
	WEFT_WC_WITH_IMM	= 1 << 1,
	WEFT_WC_IP_CSUM_OK	= 1 << 2,
	WEFT_WC_WITH_INV	= 1 << 3,
};

/* struct weft_cqe.flags */
enum weft_cqe_flags {
	/* of the receive queue (else of the send queue) */
	WEFT_CQE_RECV		= 1 << 0,
	/* the receive came from an SRQ */
	WEFT_CQE_SRQ		= 1 << 1,
};

/* struct weft_cqe.sl of a datagram on RoCE, for a process: what network it came by */
enum weft_cqe_roce_sl {
	WEFT_SL_ROCE_IPV6	= 9,
	WEFT_SL_ROCE_IPV4	= 10,
};

/**
 * struct weft_cqe - a work completion
 * @wr_id: of the work request
 * @cookie: what the consumer gave at QP creation, to find its QP again
 * @timestamp: device clock (CLOCK_MONOTONIC_RAW, ns) at completion
 * @qp_num: the local QP
 * @src_qp: UD: the sender
 * @byte_len: bytes received or read
 * @ex: immediate data (network order) or invalidated rkey
 * @wqe_index: ring index of the work request that completed; all work
 *	requests of the same queue before it are complete as well. Not
 *	meaningful with WEFT_CQE_SRQ.
 * @vendor_err: enum weft_fault of an error completion, says why
 * @pkey_index: UD GSI: index of the P_Key
 * @slid: UD on InfiniBand: source LID
 * @status: the value of enum ibv_wc_status
 * @opcode: the value of enum ibv_wc_opcode
 * @wc_flags: enum weft_cqe_wc_flags
 * @flags: enum weft_cqe_flags
 * @sl: UD: service level; on RoCE, for a process: enum weft_cqe_roce_sl
 * @dlid_path_bits: UD on InfiniBand
 * @network_hdr_type: GSI on RoCE: enum rdma_network_type
 * @port_num: port the message came in by
 * @vlan_id: GSI on RoCE: VLAN the message came in by, 0xffff: none
 * @reserved_3e: 0
 */
struct weft_cqe {
	__aligned_u64	wr_id;
	__aligned_u64	cookie;
	__aligned_u64	timestamp;
	__u32		qp_num;
	__u32		src_qp;
	__u32		byte_len;
	__u32		ex;
	__u32		wqe_index;
	__u32		vendor_err;
	__u16		pkey_index;
	__u16		slid;
	__u8		status;
	__u8		opcode;
	__u8		wc_flags;
	__u8		flags;
	__u8		sl;
	__u8		dlid_path_bits;
	__u8		network_hdr_type;
	__u8		port_num;
	__u16		vlan_id;
	__u16		reserved_3e;
};

/*
 * Doorbell: an ioctl on the file descriptor that alloc_ucontext returned, the
 * QP number as its argument. It fails with EIO when the device is gone and
 * with EINVAL when the context has no such QP.
 */
#define WEFT_DOORBELL_SEND	0x5701	/* _IO('W', 1) */
#define WEFT_DOORBELL_RECV	0x5702	/* _IO('W', 2) */

/**
 * struct weft_ring_resp - where and how big a ring is
 * @mmap_key: offset to give to mmap() of the command file descriptor
 * @mmap_size: bytes to map, with all that is in the same memory; 0: there is no
 *	such ring
 * @entries: power of two
 * @stride: bytes per entry
 * @offset: of the header, from where the memory is mapped
 */
struct weft_ring_resp {
	__aligned_u64	mmap_key;
	__u32		mmap_size;
	__u32		entries;
	__u32		stride;
	__u32		offset;
};

/**
 * struct weft_alloc_ucontext_req - what the provider can do
 * @comp_mask: 0, for extensions
 * @abi_version: WEFT_ABI_VERSION the provider was built with
 * @reserved_0c: 0
 */
struct weft_alloc_ucontext_req {
	__aligned_u64	comp_mask;
	__u32		abi_version;
	__u32		reserved_0c;
};

/* struct weft_alloc_ucontext_resp.comp_mask */
enum weft_ucontext_mask {
	/* the device has WEFT_SQE_FLUSH and WEFT_SQE_ATOMIC_WRITE */
	WEFT_UCONTEXT_PLACEMENT	= 1 << 0,
	/* the device has WEFT_SQE_IP_CSUM */
	WEFT_UCONTEXT_IP_CSUM	= 1 << 1,
	/* WEFT_NULL_KEY names memory that is none */
	WEFT_UCONTEXT_NULL_KEY	= 1 << 2,
};

/**
 * struct weft_alloc_ucontext_resp - what the kernel can do
 * @comp_mask: enum weft_ucontext_mask
 * @doorbell_fd: file descriptor for the doorbell ioctls, close-on-exec; the
 *	provider closes it
 * @max_inline: bytes of inline data a send queue can be made for
 */
struct weft_alloc_ucontext_resp {
	__aligned_u64	comp_mask;
	__s32		doorbell_fd;
	__u32		max_inline;
};

/**
 * struct weft_query_device_resp - what struct ib_uverbs_ex_query_device_resp has
 *	no room for
 * @comp_mask: 0, for extensions
 * @qp_rate_limit_min: kbit/s
 * @qp_rate_limit_max: kbit/s
 * @supported_qpts: whose rate can be limited, a bit per enum ib_qp_type
 * @reserved_14: 0
 */
struct weft_query_device_resp {
	__aligned_u64	comp_mask;
	__u32		qp_rate_limit_min;
	__u32		qp_rate_limit_max;
	__u32		supported_qpts;
	__u32		reserved_14;
};

struct weft_create_cq_req {
	__aligned_u64	comp_mask;
};

struct weft_create_cq_resp {
	__aligned_u64	comp_mask;
	struct weft_ring_resp cq;
};

struct weft_resize_cq_req {
	__aligned_u64	comp_mask;
};

/**
 * struct weft_resize_cq_resp - the new ring of a resized CQ
 * @cq: the ring; what was not polled yet has been carried over. The consumer
 *	goes on at the consumer index it finds in the new header.
 */
struct weft_resize_cq_resp {
	struct weft_ring_resp cq;
};

/**
 * struct weft_create_qp_req - of a user QP
 * @comp_mask: 0, for extensions
 * @cookie: returned in every completion of this QP
 */
struct weft_create_qp_req {
	__aligned_u64	comp_mask;
	__aligned_u64	cookie;
};

/**
 * struct weft_create_qp_resp - rings of a QP
 * @comp_mask: 0, for extensions
 * @sq: send queue
 * @rq: receive queue, absent when the QP has an SRQ; in the same memory
 * @pages_id: of that memory. When neither ring is used any more the context may
 *	keep it for another QP: the same memory has the same id then, and no
 *	other memory of the context ever has. A process that has it mapped
 *	still need not map it again. The headers are as new; the entries are
 *	not cleared. 0: it is not kept.
 */
struct weft_create_qp_resp {
	__aligned_u64	comp_mask;
	struct weft_ring_resp sq;
	struct weft_ring_resp rq;
	__aligned_u64	pages_id;
};

/**
 * struct weft_alt_path - an alternate path on RoCE
 * @dgid: destination address
 * @flow_label: as in struct ib_global_route
 * @sgid_index: likewise
 * @hop_limit: likewise
 * @traffic_class: likewise
 * @sl: as in struct rdma_ah_attr
 * @static_rate: likewise
 * @port_num: likewise; 0: no path is given, and all else is 0, too
 * @timeout: alt_timeout of struct ib_qp_attr
 * @reserved_1b: 0
 * @pkey_index: alt_pkey_index
 * @alt_port_num: alt_port_num
 * @reserved_1f: 0
 *
 * The core takes one with IB_QP_ALT_PATH on InfiniBand only.
 */
struct weft_alt_path {
	__u8		dgid[16];
	__u32		flow_label;
	__u8		sgid_index;
	__u8		hop_limit;
	__u8		traffic_class;
	__u8		sl;
	__u8		static_rate;
	__u8		port_num;
	__u8		timeout;
	__u8		reserved_1b;
	__u16		pkey_index;
	__u8		alt_port_num;
	__u8		reserved_1f;
};

/**
 * struct weft_modify_qp_req - what struct ib_uverbs_ex_modify_qp has no room for
 * @comp_mask: 0, for extensions
 * @max_send_wr: with IB_QP_CAP, as in struct ib_qp_cap; 0: stays as it is
 * @max_recv_wr: likewise
 * @max_send_sge: likewise; not more than the QP has
 * @max_recv_sge: likewise
 * @max_inline_data: likewise
 * @max_burst_sz: with IB_QP_RATE_LIMIT, bytes that may go at a time; 0: as many
 *	as the kernel likes
 * @typical_pkt_sz: with IB_QP_RATE_LIMIT, a hint
 * @reserved_24: 0
 * @alt: stands for IB_QP_ALT_PATH
 */
struct weft_modify_qp_req {
	__aligned_u64	comp_mask;
	__u32		max_send_wr;
	__u32		max_recv_wr;
	__u32		max_send_sge;
	__u32		max_recv_sge;
	__u32		max_inline_data;
	__u32		max_burst_sz;
	__u32		typical_pkt_sz;
	__u32		reserved_24;
	struct weft_alt_path alt;
};

/**
 * struct weft_modify_qp_resp - the new rings of a QP
 * @comp_mask: 0, for extensions
 * @sq: send queue; of size 0: it stays where it is
 * @rq: receive queue, likewise
 *
 * What was posted and is not complete has been carried over, the producer goes
 * on at its index.
 */
struct weft_modify_qp_resp {
	__aligned_u64	comp_mask;
	struct weft_ring_resp sq;
	struct weft_ring_resp rq;
};

struct weft_create_srq_req {
	__aligned_u64	comp_mask;
};

/**
 * struct weft_create_srq_resp - ring of an SRQ
 * @comp_mask: 0, for extensions
 * @rq: the ring
 * @srqn: SRQ number
 * @reserved_24: 0
 */
struct weft_create_srq_resp {
	__aligned_u64	comp_mask;
	struct weft_ring_resp rq;
	__u32		srqn;
	__u32		reserved_24;
};

/**
 * struct weft_modify_srq_req - uverbs has no response to modify_srq
 * @comp_mask: 0, for extensions
 * @ring_addr: user address of a struct weft_ring_resp. When IB_SRQ_MAX_WR is
 *	in the mask the kernel writes the new ring there. What was posted and
 *	not consumed has been carried over; the producer goes on at the
 *	producer index it finds in the new header.
 */
struct weft_modify_srq_req {
	__aligned_u64	comp_mask;
	__aligned_u64	ring_addr;
};

/**
 * struct weft_create_ah_resp - name of an address handle in a weft_sqe
 * @ah_id: for struct weft_sqe.ud
 * @reserved_04: 0
 */
struct weft_create_ah_resp {
	__u32		ah_id;
	__u32		reserved_04;
};

/*
 * Methods and attributes beyond those of the core, in the driver's namespace.
 */

enum weft_methods_dm {
	/* of UVERBS_OBJECT_DM: describe it to a process that imports it */
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

enum weft_methods_pd {
	/* of UVERBS_OBJECT_PD: succeeds, if there is one */
	WEFT_METHOD_PD_QUERY	= (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_attrs_query_pd {
	/* the handle */
	WEFT_ATTR_QUERY_PD_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
};

enum weft_attrs_query_context {
	/*
	 * of UVERBS_METHOD_QUERY_CONTEXT: struct weft_alloc_ucontext_resp,
	 * mandatory. The doorbell is a new one, for the process that asks.
	 */
	WEFT_ATTR_QUERY_CONTEXT_RESP = (1U << UVERBS_ID_NS_SHIFT),
};

/**
 * struct weft_dm_resp - where device memory is
 * @mmap_key: offset to give to mmap() of the command file descriptor
 * @mmap_size: bytes to map
 * @length: bytes that were asked for
 */
struct weft_dm_resp {
	__aligned_u64	mmap_key;
	__aligned_u64	mmap_size;
	__aligned_u64	length;
};

/*
 * What RDMA_NLDEV_ATTR_RES_RAW has ("rdma resource show qp -r"), in the order of bytes of
 * the host. Later versions are longer, what is there stays where it is. Figures that
 * change while they are read need not be of one moment.
 */

/* struct weft_raw_qp.flags */
enum weft_raw_qp_flags {
	/* the path leads to the local link */
	WEFT_RAW_QP_LOCAL	= 1 << 0,
	/* of the kernel */
	WEFT_RAW_QP_KERNEL	= 1 << 1,
	WEFT_RAW_QP_SIG_ALL	= 1 << 2,
	/* a request has been begun and is not complete */
	WEFT_RAW_QP_BUSY	= 1 << 3,
};

/**
 * struct weft_raw_qp - of a QP
 * @qpn: its number
 * @dest_qpn: of the peer
 * @src_qpn: that packets say they are from
 * @type: enum ib_qp_type
 * @state: enum ib_qp_state
 * @path_mig_state: enum ib_mig_state
 * @flags: enum weft_raw_qp_flags
 * @access: enum ib_access_flags
 * @qkey: of UD
 * @mtu: bytes of a packet's payload
 * @max_send_wr: the capabilities it has
 * @max_recv_wr: likewise
 * @max_send_sge: likewise
 * @max_recv_sge: likewise
 * @max_inline_data: likewise
 * @next_sq_psn: of the next request
 * @unanswered_psn: the oldest one that waits for an answer
 * @next_rq_psn: that is expected
 * @msn: messages that have been received, 24 bits
 * @pkey_index: of the port's table
 * @timeout: as in struct ib_qp_attr
 * @retry_cnt: likewise
 * @rnr_retry: likewise
 * @min_rnr_timer: likewise
 * @max_rd_atomic: likewise
 * @max_dest_rd_atomic: likewise
 * @retry_left: of @retry_cnt
 * @rnr_left: of @rnr_retry
 * @sgid_index: of the path
 * @sl: likewise
 * @dlid: likewise, on InfiniBand
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
	/* of the kernel */
	WEFT_RAW_CQ_KERNEL	= 1 << 2,
};

/**
 * struct weft_raw_cq - of a completion queue
 * @entries: of its ring
 * @completions: that have come, modulo 2^32
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
	/* of pinned memory of a process */
	WEFT_RAW_MR_PINNED	= 1 << 0,
	/* of a dma-buf */
	WEFT_RAW_MR_DMABUF	= 1 << 1,
	/* on-demand paging */
	WEFT_RAW_MR_PAGED	= 1 << 2,
	/* fast registration, of the kernel */
	WEFT_RAW_MR_FASTREG	= 1 << 3,
};

/**
 * struct weft_raw_mr - of a memory region
 * @iova: first address
 * @length: bytes
 * @key: lkey and rkey
 * @access: enum ib_access_flags
 * @flags: enum weft_raw_mr_flags
 * @windows: that are bound to it
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
 * struct weft_raw_srq - of a shared receive queue
 * @srqn: its number
 * @entries: of its ring
 * @taken: receives that messages have got, modulo 2^32
 * @max_sge: elements of a receive
 * @limit: that raises an event; 0: none
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

/*
 * Bytes of each structure, which the kernel and the provider both assert: true
 * when check(name, size) is for all.
 */
#define WEFT_ABI_SIZES(check)				\
	(check(weft_ring_hdr, 192) &&			\
	 check(weft_sge, 16) &&				\
	 check(weft_sqe, 64) &&				\
	 check(weft_rqe, 16) &&				\
	 check(weft_cqe, 64) &&				\
	 check(weft_ring_resp, 24) &&			\
	 check(weft_alloc_ucontext_req, 16) &&		\
	 check(weft_alloc_ucontext_resp, 16) &&		\
	 check(weft_query_device_resp, 24) &&		\
	 check(weft_create_cq_req, 8) &&		\
	 check(weft_create_cq_resp, 32) &&		\
	 check(weft_resize_cq_req, 8) &&		\
	 check(weft_resize_cq_resp, 24) &&		\
	 check(weft_create_qp_req, 16) &&		\
	 check(weft_create_qp_resp, 64) &&		\
	 check(weft_alt_path, 32) &&			\
	 check(weft_modify_qp_req, 72) &&		\
	 check(weft_modify_qp_resp, 56) &&		\
	 check(weft_create_srq_req, 8) &&		\
	 check(weft_create_srq_resp, 40) &&		\
	 check(weft_modify_srq_req, 16) &&		\
	 check(weft_create_ah_resp, 8) &&		\
	 check(weft_dm_resp, 24) &&			\
	 check(weft_raw_qp, 96) &&			\
	 check(weft_raw_cq, 16) &&			\
	 check(weft_raw_mr, 32) &&			\
	 check(weft_raw_srq, 24))

#endif /* WEFT_ABI_USER_H */
