/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * weft-abi.h - the contract between weft.ko and its rdma-core provider.
 *
 * The kernel and the provider share three kinds of rings: the send queue, the
 * receive queue (of a QP or an SRQ) and the completion queue. A ring is
 * contiguous in mmap'd memory: a struct weft_ring_hdr, padded to
 * WEFT_RING_HDR_SIZE bytes, then a power of two of fixed-size entries.
 *
 * Indexes are free-running 32 bit counters; entry i lives in slot
 * i & (entries - 1). Each side keeps its own index privately and only
 * publishes it. The kernel trusts nothing that it reads: the index of the
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
 * B pairs with A: a consumer that sees the index sees the entry. Otherwise the
 * consumer could read an entry that has not been written yet. C pairs with D:
 * when the producer sees that a slot is released, the consumer has finished
 * reading it. Otherwise the producer could overwrite an entry that is being
 * read.
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
 * Each side stores, fences, then loads the word that the other side stores. At
 * least one of the two loads sees the other side's store, so either the kernel
 * finds the entry or the user rings: a posted entry is never left behind. If
 * one of the fences were missing, both loads could come before both stores,
 * and the entry would wait for ever. For the receive queue E happens once, when
 * the QP enters the error state, before the last scan that flushes the queue.
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
 * By the same argument either the user's second poll finds the completion or
 * the kernel finds the ring armed.
 *
 * The end of a completion queue: the kernel stores DEAD and OVERRUN (release)
 * after the last producer index. If the user finds one of them (acquire), and
 * then no entry, there will never be another entry.
 *
 * When a QP goes to RESET the kernel sets all indexes of its rings to 0 and
 * clears NEED_DOORBELL of its receive queue; no completion of the QP is added
 * after modify_qp or destroy_qp has returned. A resize carries unconsumed
 * entries, indexes, flags and arm over to the new ring.
 */
#ifndef WEFT_ABI_USER_H
#define WEFT_ABI_USER_H

#include <linux/types.h>
#include <rdma/weft-attrs.h>
#include <rdma/weft-dc.h>
#include <rdma/weft-mkey.h>
#include <rdma/weft-rss.h>

/* Incremented when an old provider could misunderstand a new kernel. */
#define WEFT_ABI_VERSION	3
/*
 * The version of a device that the provider for rdma_rxe can use, too. This one opens it with
 * RDMA_DRIVER_RXE. WEFT_ABI_VERSION then is that of struct weft_alloc_ucontext_req only.
 */
#define WEFT_RXE_ABI_VERSION	2

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
 * struct weft_ring_hdr - head of a ring, with a pair of cache lines per writer
 * @producer: next index to be written; stored by the producer
 * @consumer: next index to be read; stored by the consumer
 * @arm: enum weft_ring_arm; stored by the user, cleared by the kernel
 * @flags: enum weft_ring_flags; stored by the kernel
 * @reserved_04: 0
 * @reserved_88: 0
 * @reserved_c4: 0
 *
 * The indexes are as far apart as those of a queue of rdma_rxe, so that the kernel handles the
 * queues of both ABIs alike.
 */
struct weft_ring_hdr {
	__u32	producer;
	__u32	reserved_04[31];
	__u32	consumer;
	__u32	arm;
	__u32	reserved_88[14];
	__u32	flags;
	__u32	reserved_c4[15];
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
 * The lkey of ibv_alloc_null_mr() if WEFT_UCONTEXT_NULL_KEY is set, valid in any protection domain
 * and for any address. Reads return zeros, and writes have no effect. It is not an rkey.
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
	/* kernel consumers only: a process has no region for it */
	WEFT_SQE_REG_MR		= 10,
	/* if WEFT_UCONTEXT_PLACEMENT is set */
	WEFT_SQE_FLUSH		= 11,
	WEFT_SQE_ATOMIC_WRITE	= 12,
	/* of a QP that is created for it: UD of a kernel consumer, RAW_PACKET of a process */
	WEFT_SQE_LSO		= 13,
	/* kernel consumers only: processes have no verb for them */
	WEFT_SQE_MASKED_CMP_SWP	= 14,
	WEFT_SQE_MASKED_FETCH_ADD = 15,
	/* processes only, if WEFT_UCONTEXT_MKEY is set */
	WEFT_SQE_MKEY		= 16,
	/* in place of a work request that is cancelled; completes as a SEND, likewise */
	WEFT_SQE_NOP		= 17,
	WEFT_SQE_OPCODES	= 18,
};

/* struct weft_sqe.flags */
enum weft_sqe_flags {
	WEFT_SQE_SIGNALED	= 1 << 0,
	WEFT_SQE_SOLICITED	= 1 << 1,
	WEFT_SQE_FENCE		= 1 << 2,
	/* @inline_length bytes of payload follow in place of the sge list */
	WEFT_SQE_INLINE		= 1 << 3,
	/*
	 * RAW_PACKET, and UD if WEFT_UCONTEXT_IP_CSUM is set: fill in the checksums of IP, TCP,
	 * UDP
	 */
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
 * @remote_addr: remote address of the same operations
 * @atomic: operands of CMP_SWP (@atomic.compare_add, @atomic.swap) and FETCH_ADD
 *	(@atomic.compare_add). Masked CMP_SWP: @atomic.compare_add_mask has the bits to compare,
 *	@atomic.swap_mask the bits to swap. Masked FETCH_ADD: @atomic.compare_add_mask has the
 *	top bit of each field.
 * @xrc: in addition to @atomic, every request of an XRC initiator has the number of the peer's
 *	SRQ, @xrc.srqn
 * @dc: in addition to @atomic, every request of a DC initiator that is not local has its
 *	destination, @dc.to
 * @ud: destination of a UD work request; @ud.ah_id from weft_create_ah_resp
 * @mw: BIND_MW: @mw.rkey is any key that the window ever had, @mw.new_rkey the low eight bits
 *	of its key after the bind, @mw.lkey the region; @mw.addr, @mw.length and @mw.access are
 *	the range and the rights. Length 0 unbinds a type 1 window. REG_MR: @mw.rkey is the
 *	region, @mw.new_rkey its new key, with the same index; @mw.access and @mw.addr are its
 *	rights and address.
 * @mkey: MKEY: gives the mkey whose key is @mkey.key the memory of the elements that follow and the
 *	rights in @mkey.access; the first byte has the address 0. With WEFT_MKEY_INTERLEAVED in
 *	@mkey.flags each element has another one behind it, of which only the address is set: the
 *	bytes to skip in front of the next of @mkey.passes passes, below 2^32. With
 *	WEFT_MKEY_SIGNED the memory has the signatures @mkey.memory, and addresses are those of
 *	a stream that has the signatures @mkey.wire.
 * @flush: FLUSH: the number of bytes from @remote_addr on, the values of enum
 *	ibv_placement_type and of enum ibv_selectivity_level. FLUSH has no elements and no
 *	payload; ATOMIC_WRITE has eight bytes, inline or in elements.
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
			__aligned_u64	atomic[2];
			struct weft_dc_address to;
		} dc;
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
			__u32		key;
			__u32		access;
			__u32		passes;
			__u32		flags;
			struct weft_signature memory;
			struct weft_signature wire;
		} mkey;
		struct {
			__u32		length;
			__u8		placement;
			__u8		selectivity;
		} flush;
	};
};

/* The most bytes of headers in a WEFT_SQE_LSO. */
#define WEFT_LSO_HEADERS	188
/* RAW_PACKET: the least struct weft_lso.mss, and the most bytes of payload */
#define WEFT_TSO_MIN_MSS	8
#define WEFT_TSO_MAX_LENGTH	65280

/**
 * struct weft_lso - what a WEFT_SQE_LSO has beside its payload
 * @mss: bytes of payload in each packet but the last
 * @length: bytes of @header
 * @header: template for each packet
 *
 * It is at the end of the slot, which has no other use for these bytes if the QP is created for
 * WEFT_SQE_LSO.
 */
struct weft_lso {
	__u16		mss;
	__u16		length;
	__u8		header[WEFT_LSO_HEADERS];
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
	WEFT_WC_TM_SYNC_REQ	= 1 << 4,
	WEFT_WC_TM_MATCH	= 1 << 5,
	WEFT_WC_TM_DATA_VALID	= 1 << 6,
};

/* struct weft_cqe.opcode: what the kernel has no names for */
enum weft_cqe_opcode {
	WEFT_WC_TM_ADD		= 130,
	WEFT_WC_TM_DEL		= 131,
	WEFT_WC_TM_SYNC		= 132,
	WEFT_WC_TM_RECV		= 133,
	WEFT_WC_TM_NO_TAG	= 134,
};

/* struct weft_cqe.status, likewise */
enum weft_cqe_status {
	WEFT_WC_TM_ERR		= 22,
	WEFT_WC_TM_RNDV_INCOMPLETE = 23,
};

/* struct weft_cqe.opcode of a WEFT_SQE_MKEY: IBV_WC_DRIVER1 */
#define WEFT_WC_MKEY		135

/* struct weft_cqe.flags */
enum weft_cqe_flags {
	/* completion of the receive queue (else of the send queue) */
	WEFT_CQE_RECV		= 1 << 0,
	/* the receive work request came from an SRQ */
	WEFT_CQE_SRQ		= 1 << 1,
	/* a tag has matched: the members of struct weft_cqe for that are valid */
	WEFT_CQE_TAG		= 1 << 2,
};

/* struct weft_cqe.sl of a datagram on RoCE, for a process: the network protocol it came by */
enum weft_cqe_roce_sl {
	WEFT_SL_ROCE_IPV6	= 9,
	WEFT_SL_ROCE_IPV4	= 10,
};

/**
 * struct weft_cqe - a work completion
 * @wr_id: of the work request
 * @cookie: value that the consumer gave at QP creation, to find the QP
 * @timestamp: device clock (CLOCK_MONOTONIC_RAW, ns) at completion
 * @qp_num: the local QP
 * @src_qp: UD: the sender's QP
 * @byte_len: bytes received or read
 * @ex: immediate data (network order) or invalidated rkey; RAW_PACKET: the tag of
 *	the rule that matched
 * @wqe_index: ring index of the work request that completed; all work
 *	requests of the same queue before it are complete as well. Not
 *	meaningful with WEFT_CQE_SRQ.
 * @vendor_err: error completion: the reason, an enum weft_fault
 * @pkey_index: UD GSI: index of the P_Key
 * @slid: UD on InfiniBand: source LID
 * @status: the value of enum ibv_wc_status
 * @opcode: the value of enum ibv_wc_opcode
 * @wc_flags: enum weft_cqe_wc_flags
 * @flags: enum weft_cqe_flags
 * @sl: UD: service level; on RoCE, for a process: enum weft_cqe_roce_sl
 * @dlid_path_bits: UD on InfiniBand
 * @network_hdr_type: GSI on RoCE: enum rdma_network_type
 * @port_num: port that received the message
 * @vlan_id: GSI on RoCE: VLAN of the message, 0xffff: none; RAW_PACKET: the tag of a VLAN that has
 *	been taken out of the frame, or 0
 * @reserved_3e: 0
 * @tag_high: with WEFT_CQE_TAG: upper half of the tag in the message's header
 * @tag_low: with WEFT_CQE_TAG: lower half of the tag
 * @app_ctx: with WEFT_CQE_TAG: app_ctx of the header
 */
struct weft_cqe {
	__aligned_u64	wr_id;
	__aligned_u64	cookie;
	__aligned_u64	timestamp;
	__u32		qp_num;
	union {
		__u32	src_qp;
		__u32	tag_high;
	};
	__u32		byte_len;
	__u32		ex;
	__u32		wqe_index;
	__u32		vendor_err;
	union {
		struct {
			__u16	pkey_index;
			__u16	slid;
		};
		__u32	tag_low;
	};
	__u8		status;
	__u8		opcode;
	__u8		wc_flags;
	__u8		flags;
	__u8		sl;
	__u8		dlid_path_bits;
	__u8		network_hdr_type;
	__u8		port_num;
	union {
		struct {
			__u16	vlan_id;
			__u16	reserved_3e;
		};
		__u32	app_ctx;
	};
};

/*
 * Doorbell: an ioctl on the file descriptor that alloc_ucontext returned, with
 * the QP number as its argument. It fails with EIO if the device is gone and
 * with EINVAL if the context has no such QP.
 */
#define WEFT_DOORBELL_SEND	0x5701	/* _IO('W', 1) */
#define WEFT_DOORBELL_RECV	0x5702	/* _IO('W', 2) */
/*
 * Before a post, while struct weft_posting says so: may it be? Returns 0, or the errno that the
 * post has to return, as a positive number. Fails like a doorbell.
 */
#define WEFT_ASK_SEND		0x5703	/* _IO('W', 3) */
#define WEFT_ASK_RECV		0x5704	/* _IO('W', 4) */

/**
 * struct weft_posting - what the kernel tells all posts of a context; mmap() of one page of the
 *	doorbell's file descriptor, at offset 0, if the response has WEFT_UCONTEXT_POSTING
 * @ask: not 0: a rule (Documentation/infiniband/weft/inject.rst) may refuse a post, so the provider
 *	asks by WEFT_ASK_SEND, WEFT_ASK_RECV or WEFT_METHOD_SRQ_ASK first
 */
struct weft_posting {
	__u32	ask;
};

/**
 * struct weft_ring_resp - location and size of a ring
 * @mmap_key: offset for mmap() of the command file descriptor
 * @mmap_size: bytes to map, including other rings in the same memory; 0: there
 *	is no such ring
 * @entries: power of two
 * @stride: bytes per entry
 * @offset: of the header in the mapping
 */
struct weft_ring_resp {
	__aligned_u64	mmap_key;
	__u32		mmap_size;
	__u32		entries;
	__u32		stride;
	__u32		offset;
};

/**
 * struct weft_alloc_ucontext_req - the provider's capabilities
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
	/* the device has WEFT_NULL_KEY */
	WEFT_UCONTEXT_NULL_KEY	= 1 << 2,
	/* the device has WEFT_SQE_MKEY and struct weft_alloc_mw_req */
	WEFT_UCONTEXT_MKEY	= 1 << 3,
	/* there is a struct weft_posting */
	WEFT_UCONTEXT_POSTING	= 1 << 4,
	/* the device has WEFT_MKEY_SIGNED, WEFT_METHOD_MW_CHECK and WEFT_QP_SIG_PIPELINING */
	WEFT_UCONTEXT_SIGNATURES = 1 << 5,
	/* the device has WEFT_QP_PACKET_CREDITS */
	WEFT_UCONTEXT_PACKET_CREDITS = 1 << 6,
	/* the device has IB_QPT_DRIVER by struct weft_create_dc_req */
	WEFT_UCONTEXT_DC	= 1 << 7,
};

/**
 * struct weft_alloc_ucontext_resp - the kernel's capabilities
 * @comp_mask: enum weft_ucontext_mask
 * @doorbell_fd: file descriptor for the doorbell ioctls, close-on-exec; the
 *	provider closes it
 * @max_inline: the most bytes of inline data that a send queue can have
 */
struct weft_alloc_ucontext_resp {
	__aligned_u64	comp_mask;
	__s32		doorbell_fd;
	__u32		max_inline;
};

/**
 * struct weft_query_device_resp - members that struct ib_uverbs_ex_query_device_resp
 *	has no room for
 * @comp_mask: 0, for extensions
 * @qp_rate_limit_min: kbit/s
 * @qp_rate_limit_max: kbit/s
 * @supported_qpts: the QP types with a rate limit, a bit per enum ib_qp_type
 * @max_tso: bytes of payload in a TSO, 0: there is no TSO
 * @tso_qpts: the QP types with TSO, as @supported_qpts
 * @reserved_1c: 0
 * @rx_hash_fields: of RSS QPs, enum weft_rx_hash_fields
 * @rx_hash_functions: of RSS QPs, enum weft_rx_hash_function
 * @reserved_29: 0
 */
struct weft_query_device_resp {
	__aligned_u64	comp_mask;
	__u32		qp_rate_limit_min;
	__u32		qp_rate_limit_max;
	__u32		supported_qpts;
	__u32		max_tso;
	__u32		tso_qpts;
	__u32		reserved_1c;
	__aligned_u64	rx_hash_fields;
	__u8		rx_hash_functions;
	__u8		reserved_29[7];
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
 * @cq: the ring. Completions that were not polled yet have been carried over;
 *	the consumer continues at the consumer index in the new header.
 */
struct weft_resize_cq_resp {
	struct weft_ring_resp cq;
};

/* LOOPBACK: a RAW_PACKET QP also receives such frames of its own context, by its rules. */
enum weft_qp_flags {
	WEFT_QP_LOOPBACK_UNICAST	= 1 << 0,
	WEFT_QP_LOOPBACK_MULTICAST	= 1 << 1,	/* also broadcast */
	WEFT_QP_TUNNEL_OFFLOADS		= 1 << 2,	/* WEFT_WC_IP_CSUM_OK of tunnels */
	/*
	 * RC: if the signature of an mkey is wrong, go to SQD and raise SQ_DRAINED in front of the
	 * next work request with WEFT_SQE_FENCE
	 */
	WEFT_QP_SIG_PIPELINING		= 1 << 3,
	/*
	 * RC: the credits of an acknowledge are packets, not messages (IBA 9.7.7.2); both ends have
	 * to have it
	 */
	WEFT_QP_PACKET_CREDITS		= 1 << 4,
};

#define WEFT_QP_RAW_FLAGS	7U

/**
 * struct weft_create_qp_req - creation of a user QP
 * @comp_mask: 0, for extensions
 * @cookie: returned in every completion of this QP
 * @max_tso_header: RAW_PACKET: the most bytes of headers in a WEFT_SQE_LSO, up to WEFT_LSO_HEADERS;
 *	0: the QP is not created for it
 * @flags: enum weft_qp_flags; RAW_PACKET: of WEFT_QP_RAW_FLAGS; RC: WEFT_QP_SIG_PIPELINING, if
 *	WEFT_UCONTEXT_SIGNATURES is set, and WEFT_QP_PACKET_CREDITS, if WEFT_UCONTEXT_PACKET_CREDITS
 *	is set; else 0
 */
struct weft_create_qp_req {
	__aligned_u64	comp_mask;
	__aligned_u64	cookie;
	__u32		max_tso_header;
	__u32		flags;
};

/**
 * struct weft_create_qp_resp - rings of a QP
 * @comp_mask: 0, for extensions
 * @sq: send queue
 * @rq: receive queue, absent if the QP has an SRQ; in the same memory as @sq
 * @pages_id: identifies that memory. When neither ring is used any more, the
 *	context may keep the memory for another QP. Then it has the same id
 *	again, and no other memory of the context ever has that id, so a process
 *	that still has it mapped need not map it again. The headers have been
 *	initialized, but the entries have not been cleared. 0: the memory is
 *	never kept.
 */
struct weft_create_qp_resp {
	__aligned_u64	comp_mask;
	struct weft_ring_resp sq;
	struct weft_ring_resp rq;
	__aligned_u64	pages_id;
};

/*
 * A WQ is the receive queue of a QP without another queue: create_wq takes struct
 * weft_create_qp_req, and its response is struct weft_create_qp_resp. WEFT_DOORBELL_RECV takes the
 * number of the WQ, which is also weft_cqe.qp_num. RESET of a WQ is RESET of the QP.
 */

/**
 * struct weft_alt_path - an alternate path on RoCE
 * @dgid: destination address
 * @flow_label: as in struct ib_global_route
 * @sgid_index: as in struct ib_global_route
 * @hop_limit: as in struct ib_global_route
 * @traffic_class: as in struct ib_global_route
 * @sl: as in struct rdma_ah_attr
 * @static_rate: as in struct rdma_ah_attr
 * @port_num: as in struct rdma_ah_attr; 0: no path is given, and all other
 *	members are 0, too
 * @timeout: alt_timeout of struct ib_qp_attr
 * @reserved_1b: 0
 * @pkey_index: alt_pkey_index of struct ib_qp_attr
 * @alt_port_num: alt_port_num of struct ib_qp_attr
 * @reserved_1f: 0
 *
 * The core accepts IB_QP_ALT_PATH on InfiniBand only.
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
 * struct weft_modify_qp_req - members that struct ib_uverbs_ex_modify_qp has no
 *	room for
 * @comp_mask: 0, for extensions
 * @max_send_wr: with IB_QP_CAP, as in struct ib_qp_cap; 0: unchanged
 * @max_recv_wr: as @max_send_wr
 * @max_send_sge: as @max_send_wr; not more than the QP has
 * @max_recv_sge: as @max_send_sge
 * @max_inline_data: as @max_send_sge
 * @max_burst_sz: with IB_QP_RATE_LIMIT, bytes that may be sent at once; 0: the
 *	kernel chooses
 * @typical_pkt_sz: with IB_QP_RATE_LIMIT, a hint
 * @reserved_24: 0
 * @alt: in place of IB_QP_ALT_PATH
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
 * @sq: send queue; size 0: the ring is unchanged
 * @rq: receive queue; size 0: the ring is unchanged
 *
 * Work requests that were posted and are not complete have been carried over;
 * the producer continues at its index.
 */
struct weft_modify_qp_resp {
	__aligned_u64	comp_mask;
	struct weft_ring_resp sq;
	struct weft_ring_resp rq;
};

/**
 * struct weft_flow_counter - a value of an ibv_counters object
 * @description: the value of enum ibv_counter_description
 * @index: where ibv_read_counters() stores it, below WEFT_FLOW_COUNTERS
 */
struct weft_flow_counter {
	__u32		description;
	__u32		index;
};

#define WEFT_FLOW_COUNTERS	1024

/**
 * struct weft_create_flow_req - a rule of flow steering
 * @comp_mask: 0, for extensions
 * @counters: address of the struct weft_flow_counter of the rule's IB_FLOW_SPEC_ACTION_COUNT
 * @num_counters: how many, up to WEFT_FLOW_COUNTERS; 0 unless it is the first rule to count there
 * @reserved_14: 0
 */
struct weft_create_flow_req {
	__aligned_u64	comp_mask;
	__aligned_u64	counters;
	__u32		num_counters;
	__u32		reserved_14;
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

/* struct weft_tag_op.opcode, the values of enum ibv_ops_wr_opcode */
enum weft_tag_opcode {
	WEFT_TAG_ADD		= 0,
	WEFT_TAG_DEL		= 1,
	WEFT_TAG_SYNC		= 2,
};

/* struct weft_tag_op.flags, the values of enum ibv_ops_flags */
enum weft_tag_flags {
	WEFT_TAG_SIGNALED	= 1 << 0,
	/* @unexpected is valid */
	WEFT_TAG_COUNT		= 1 << 1,
};

/**
 * struct weft_tag_op - an operation on the tag list of an SRQ of the type IB_SRQT_TM
 * @wr_id: returned in its completion
 * @recv_wr_id: ADD: returned in the completions of the message that matches
 * @tag: ADD: what the tag of a message has to be
 * @mask: ADD: the bits of the message's tag that are compared
 * @sge: ADD: where the message goes; an empty one if there is no memory
 * @unexpected: with WEFT_TAG_COUNT: how many unexpected messages the process has seen
 * @handle: DEL: that of the entry
 * @opcode: enum weft_tag_opcode
 * @flags: enum weft_tag_flags
 * @reserved_3a: 0
 */
struct weft_tag_op {
	__aligned_u64	wr_id;
	__aligned_u64	recv_wr_id;
	__aligned_u64	tag;
	__aligned_u64	mask;
	struct weft_sge	sge;
	__u32		unexpected;
	__u32		handle;
	__u8		opcode;
	__u8		flags;
	__u8		reserved_3a[6];
};

/* As many operations may be under way as a program likes: each is done when the call returns. */
#define WEFT_MAX_TAG_OPS	32768

/**
 * struct weft_modify_srq_req - modification of an SRQ; uverbs has no response to it
 * @comp_mask: 0, for extensions
 * @ring_addr: user address of a struct weft_ring_resp. If IB_SRQ_MAX_WR is in
 *	the mask the kernel writes the new ring there. Work requests that were
 *	posted and not consumed have been carried over; the producer continues
 *	at the producer index in the new header.
 */
struct weft_modify_srq_req {
	__aligned_u64	comp_mask;
	__aligned_u64	ring_addr;
};

/**
 * struct weft_create_ah_resp - identifies an address handle in a weft_sqe
 * @ah_id: for struct weft_sqe.ud
 * @reserved_04: 0
 */
struct weft_create_ah_resp {
	__u32		ah_id;
	__u32		reserved_04;
};

/**
 * struct weft_dm_resp - location of device memory
 * @mmap_key: offset for mmap() of the command file descriptor
 * @mmap_size: bytes to map
 * @length: bytes that were requested
 */
struct weft_dm_resp {
	__aligned_u64	mmap_key;
	__aligned_u64	mmap_size;
	__aligned_u64	length;
};

/*
 * The size of each structure, which both the kernel and the provider assert:
 * true if check(name, size) is true for all of them.
 */
#define WEFT_ABI_SIZES(check)				\
	(check(weft_ring_hdr, 256) &&			\
	 check(weft_sge, 16) &&				\
	 check(weft_signature, 8) &&			\
	 check(weft_sqe, 64) &&				\
	 check(weft_lso, 192) &&				\
	 check(weft_rqe, 16) &&				\
	 check(weft_cqe, 64) &&				\
	 check(weft_ring_resp, 24) &&			\
	 check(weft_posting, 4) &&			\
	 check(weft_alloc_ucontext_req, 16) &&		\
	 check(weft_alloc_ucontext_resp, 16) &&		\
	 check(weft_query_device_resp, 48) &&		\
	 check(weft_create_cq_req, 8) &&		\
	 check(weft_create_cq_resp, 32) &&		\
	 check(weft_resize_cq_req, 8) &&		\
	 check(weft_resize_cq_resp, 24) &&		\
	 check(weft_create_qp_req, 24) &&		\
	 check(weft_create_qp_resp, 64) &&		\
	 check(weft_create_rss_req, 64) &&		\
	 check(weft_dc_address, 16) &&			\
	 check(weft_create_dc_req, 32) &&		\
	 check(weft_alt_path, 32) &&			\
	 check(weft_modify_qp_req, 72) &&		\
	 check(weft_modify_qp_resp, 56) &&		\
	 check(weft_flow_counter, 8) &&			\
	 check(weft_create_flow_req, 24) &&		\
	 check(weft_create_srq_req, 8) &&		\
	 check(weft_create_srq_resp, 40) &&		\
	 check(weft_tag_op, 64) &&			\
	 check(weft_modify_srq_req, 16) &&		\
	 check(weft_create_ah_resp, 8) &&		\
	 check(weft_alloc_mw_req, 16) &&		\
	 check(weft_mkey_error, 32) &&			\
	 check(weft_dm_resp, 24))

#endif /* WEFT_ABI_USER_H */
