/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * weft-why.h - why something failed: the values of vendor_err, and the records of a device.
 *
 * weft-why(8) reads the records and puts them into words.
 */
#ifndef WEFT_WHY_USER_H
#define WEFT_WHY_USER_H

#include <linux/types.h>

/*
 * The reason of a failure, which is in vendor_err of its completion. "responder" marks those that
 * the responder finds; a requester is told them if both QPs belong to one user.
 *
 * Four kinds are about memory: that of a request (5, and 40 to 44), that which a peer asks for (12,
 * and 45 to 49), that of a receive (17, and 50 to 54), and that which a WRITE with immediate data
 * asks for (30, and 55 to 59). The first number of each kind means that the cause cannot be told,
 * because the memory has changed meanwhile.
 */
enum weft_fault {
	WEFT_FAULT_NONE			= 0,
	/* the QP was in ERR (or SQE) already */
	WEFT_FAULT_FLUSHED		= 1,
	/* the work request makes no sense */
	WEFT_FAULT_MALFORMED		= 2,
	/* the transport service does not have the operation */
	WEFT_FAULT_OPCODE		= 3,
	/* longer than a message may be, or not the length of an atomic */
	WEFT_FAULT_LOCAL_LENGTH		= 4,
	/* a local element, whose memory has changed meanwhile */
	WEFT_FAULT_LOCAL_PROTECTION	= 5,
	/* the address handle belongs to another protection domain, or is gone */
	WEFT_FAULT_ADDRESS		= 6,
	/* BIND_MW, LOCAL_INV, REG_MR or an mkey refused */
	WEFT_FAULT_BIND			= 7,
	/* max_rd_atomic is 0 */
	WEFT_FAULT_NO_CREDIT		= 8,
	/* no answer, and retry_cnt is used up */
	WEFT_FAULT_RETRY		= 9,
	/* no receive, and rnr_retry is used up */
	WEFT_FAULT_RNR_RETRY		= 10,
	/* responder: no receive; in no completion */
	WEFT_FAULT_RNR			= 11,
	/* responder: memory that has changed meanwhile */
	WEFT_FAULT_REMOTE_ACCESS	= 12,
	/* responder: the QP does not allow the operation */
	WEFT_FAULT_NOT_ENABLED		= 13,
	/* responder: atomic or ATOMIC WRITE to an address that is no multiple of eight */
	WEFT_FAULT_MISALIGNED		= 14,
	/* responder: max_dest_rd_atomic is 0 */
	WEFT_FAULT_NO_RESOURCES		= 15,
	/* responder: longer than the receive */
	WEFT_FAULT_RECV_LENGTH		= 16,
	/* responder: an element of the receive, whose memory has changed meanwhile */
	WEFT_FAULT_RECV_PROTECTION	= 17,
	/* responder: the receive makes no sense */
	WEFT_FAULT_RECV_MALFORMED	= 18,
	/* responder: the key of SEND_INV is not that of a window of the QP */
	WEFT_FAULT_INVALIDATE		= 19,
	/* responder: opcode or order of a packet, or what a FLUSH wants */
	WEFT_FAULT_BAD_REQUEST		= 20,
	/* the peer calls the request invalid */
	WEFT_FAULT_NAK_REQUEST		= 21,
	/* the peer does not allow the access */
	WEFT_FAULT_NAK_ACCESS		= 22,
	/* the peer could not execute the request */
	WEFT_FAULT_NAK_OPERATION	= 23,
	/* the response does not fit the request */
	WEFT_FAULT_BAD_RESPONSE		= 24,
	/* the consumer wrote an impossible index to a ring */
	WEFT_FAULT_QUEUE_INDEX		= 25,
	/* a completion was lost, because a CQ is full */
	WEFT_FAULT_CQ_OVERRUN		= 26,
	/* responder: the XRC domain has no such SRQ */
	WEFT_FAULT_XRC_SRQ		= 27,
	/* the device has been removed, or has failed (weft-inject) */
	WEFT_FAULT_REMOVED		= 28,
	/* no memory for the pages of on-demand memory */
	WEFT_FAULT_NO_MEMORY		= 29,
	/* responder: as 12, for a WRITE with immediate data */
	WEFT_FAULT_IMMEDIATE_ACCESS	= 30,
	/* 31 is no longer used */

	/* an injection rule says so, with a status that has no other cause */
	WEFT_FAULT_INJECTED		= 32,
	/* responder: the length of a message, or of one of its packets */
	WEFT_FAULT_REQUEST_LENGTH	= 33,

	/* a local element: no region has the key */
	WEFT_FAULT_LOCAL_KEY		= 40,
	/* a local element: its region belongs to another protection domain */
	WEFT_FAULT_LOCAL_DOMAIN		= 41,
	/* a local element: its region does not grant the right to write */
	WEFT_FAULT_LOCAL_RIGHT		= 42,
	/* a local element: not within its region */
	WEFT_FAULT_LOCAL_RANGE		= 43,
	/* a local element: its key is that of a memory window */
	WEFT_FAULT_LOCAL_WINDOW		= 44,
	/* responder: no region has the key */
	WEFT_FAULT_REMOTE_KEY		= 45,
	/* responder: the region belongs to another protection domain than the QP */
	WEFT_FAULT_REMOTE_DOMAIN	= 46,
	/* responder: the region does not grant the right */
	WEFT_FAULT_REMOTE_RIGHT		= 47,
	/* responder: not within the region */
	WEFT_FAULT_REMOTE_RANGE		= 48,
	/* responder: the memory window is bound to another QP */
	WEFT_FAULT_REMOTE_WINDOW	= 49,
	/* responder: an element of the receive: no region has the key */
	WEFT_FAULT_RECV_KEY		= 50,
	/* responder: an element of the receive: its region belongs to another protection domain */
	WEFT_FAULT_RECV_DOMAIN		= 51,
	/* responder: an element of the receive: its region does not grant the right to write */
	WEFT_FAULT_RECV_RIGHT		= 52,
	/* responder: an element of the receive: not within its region */
	WEFT_FAULT_RECV_RANGE		= 53,
	/* responder: an element of the receive: its key is that of a memory window */
	WEFT_FAULT_RECV_WINDOW		= 54,
	/* responder: as 45, for a WRITE with immediate data */
	WEFT_FAULT_IMMEDIATE_KEY	= 55,
	/* responder: as 46, for a WRITE with immediate data */
	WEFT_FAULT_IMMEDIATE_DOMAIN	= 56,
	/* responder: as 47, for a WRITE with immediate data */
	WEFT_FAULT_IMMEDIATE_RIGHT	= 57,
	/* responder: as 48, for a WRITE with immediate data */
	WEFT_FAULT_IMMEDIATE_RANGE	= 58,
	/* responder: as 49, for a WRITE with immediate data */
	WEFT_FAULT_IMMEDIATE_WINDOW	= 59,

	/* as 9: the port of the requester is down */
	WEFT_FAULT_RETRY_PORT		= 60,
	/* as 9: the host of the destination address is this one, and has no such QP */
	WEFT_FAULT_RETRY_NO_QP		= 61,
	/* as 9: the state of the peer does not receive */
	WEFT_FAULT_RETRY_STATE		= 62,
	/* as 9: the peer is connected with another QP */
	WEFT_FAULT_RETRY_OTHER_PEER	= 63,
	/* as 9: the addresses of the two QPs do not match */
	WEFT_FAULT_RETRY_ADDRESS	= 64,
	/* as 9: the P_Keys of the two QPs do not match */
	WEFT_FAULT_RETRY_PKEY		= 65,
	/* as 9: the peer expects another PSN */
	WEFT_FAULT_RETRY_PSN		= 66,
	/* as 10: the peer takes its receives from an SRQ, which is empty */
	WEFT_FAULT_RNR_RETRY_SRQ	= 67,

	/* responder: the Q_Key of a datagram is wrong; in no completion */
	WEFT_FAULT_QKEY			= 70,

	/*
	 * Strict mode, from here on: what works here, and fails on hardware. In completions only
	 * while the mode is 2.
	 *
	 * The memory of a request has changed before the request was complete.
	 */
	WEFT_FAULT_STRICT_BUFFER	= 80,
	/* a message found no receive */
	WEFT_FAULT_STRICT_RNR		= 81,
	/* more than the adapter of the profile has; in no completion */
	WEFT_FAULT_STRICT_PROFILE	= 82,
	/* an address handle was destroyed while a request used it; in no completion */
	WEFT_FAULT_STRICT_ADDRESS	= 83,
	/* a datagram to a QP number of this host that belongs to no QP (any more) */
	WEFT_FAULT_STRICT_NO_QP		= 84,
	/* a datagram with another Q_Key than that of its destination */
	WEFT_FAULT_STRICT_QKEY		= 85,
	/* a message to a QP in another partition */
	WEFT_FAULT_STRICT_PKEY		= 86,
	/* a process that has not made the QP posts to it; in no completion */
	WEFT_FAULT_STRICT_FORK		= 87,
};

/* The first reason of strict mode. */
#define WEFT_FAULT_STRICT	WEFT_FAULT_STRICT_BUFFER

/* struct weft_why_record.kind */
enum weft_why_kind {
	WEFT_WHY_NONE		= 0,
	/* a QP has changed its state */
	WEFT_WHY_STATE		= 1,
	/* an asynchronous event of a QP */
	WEFT_WHY_EVENT		= 2,
	/* a send work request has failed */
	WEFT_WHY_REQUEST	= 3,
	/* a responder has refused a request, or dropped a message or datagram */
	WEFT_WHY_REFUSAL	= 4,
	/* a QP cannot go on */
	WEFT_WHY_QP		= 5,
	/* a call of a verb was refused */
	WEFT_WHY_VERB		= 6,
	/* something that fails on hardware: strict mode */
	WEFT_WHY_STRICT		= 7,
};

/*
 * Records of each kind that a device keeps: of states and events, of failures, of verbs, of strict
 * mode.
 */
#define WEFT_WHY_SLOTS		96
#define WEFT_WHY_RINGS		4
/* struct weft_why_record.from and .to: the QP did not exist yet, or exists no more */
#define WEFT_WHY_NO_STATE	0xff

/* struct weft_why_record.flags */
enum weft_why_flags {
	/* the cause is an injection rule */
	WEFT_WHY_INJECTED	= 1 << 0,
	/* the path used the local link */
	WEFT_WHY_LOCAL		= 1 << 1,
	/* @region_addr and so on are set, of the region that came nearest */
	WEFT_WHY_REGION		= 1 << 2,
	/* the destination address was that of a device of this host */
	WEFT_WHY_HERE		= 1 << 3,
	/* the QP takes its receives from an SRQ */
	WEFT_WHY_SRQ		= 1 << 4,
	/* the QP, or the caller of the verb, belongs to the kernel */
	WEFT_WHY_KERNEL		= 1 << 5,
};

/**
 * struct weft_why_record - an entry of /sys/class/infiniband/NAME/why
 * @seq: number of the record on its device; 0: none, or not for the reader
 * @time: when, in ns of CLOCK_REALTIME; of the last one, if @repeats
 * @first: when it happened first
 * @wr_id: REQUEST: of the work request
 * @addr: first address of the memory that was to be accessed
 * @length: bytes that were to be accessed, or of the message
 * @region_addr: first address of the region that came nearest
 * @region_length: its bytes
 * @got: what was wrong (PSN, Q_Key, P_Key, QP number, length), as @fault says
 * @want: what would have been right
 * @repeats: how often the same has happened again, directly afterwards
 * @qpn: the QP; VERB: 0; STRICT: 0 if it was a call
 * @peer_qpn: the QP at the other end; of a datagram: its sender
 * @pid: the process that made the QP, or called the verb, as the reader sees it; 0: the kernel
 * @uid: its user, likewise
 * @key: memory key
 * @access: enum ib_access_flags that the access needs
 * @region_key: key of the region that came nearest
 * @region_access: enum ib_access_flags that it grants
 * @region_pid: process that registered it, as the reader sees it
 * @kind: enum weft_why_kind
 * @service: enum ib_qp_type
 * @opcode: REQUEST: enum weft_sqe_opcode
 * @status: REQUEST: enum ib_wc_status; EVENT: enum ib_event_type; VERB: errno
 * @fault: enum weft_fault
 * @from: STATE: enum ib_qp_state
 * @to: STATE: enum ib_qp_state; REQUEST: that of the peer, with RETRY_STATE
 * @flags: enum weft_why_flags
 * @dgid: destination address of a connected QP
 * @comm: name of the process
 * @text: VERB: the rule; STRICT: what was done; REQUEST and REFUSAL: "DEVICE NUMBER[: RULE]", the
 *	injection rule that made it fail, or that has acted on packets; or nothing
 */
struct weft_why_record {
	__aligned_u64	seq;
	__aligned_u64	time;
	__aligned_u64	first;
	__aligned_u64	wr_id;
	__aligned_u64	addr;
	__aligned_u64	length;
	__aligned_u64	region_addr;
	__aligned_u64	region_length;
	__aligned_u64	got;
	__aligned_u64	want;
	__u32		repeats;
	__u32		qpn;
	__u32		peer_qpn;
	__u32		pid;
	__u32		uid;
	__u32		key;
	__u32		access;
	__u32		region_key;
	__u32		region_access;
	__u32		region_pid;
	__u8		kind;
	__u8		service;
	__u8		opcode;
	__u8		status;
	__u8		fault;
	__u8		from;
	__u8		to;
	__u8		flags;
	__u8		dgid[16];
	char		comm[16];
	char		text[96];
};

#endif /* WEFT_WHY_USER_H */
