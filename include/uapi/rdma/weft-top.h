/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Records of what the queue pairs of a device do: the content of /sys/class/infiniband/NAME/top.
 * Documentation/infiniband/weft/top.rst explains it, weft-top(8) shows it.
 *
 * pread() at N * sizeof(struct weft_top_record) returns records of the QPs with number N or more,
 * in order, as many as there is room for; 0: there is none. A reader goes on with the number after
 * that of the last record. Members are only ever added at the end, in place of reserved ones.
 */
#ifndef WEFT_TOP_USER_H
#define WEFT_TOP_USER_H

#include <linux/types.h>

/*
 * Bucket N has the latencies from 2^N to less than 2^(N+1) ns; the first one also 0, the last one
 * all that are longer.
 */
#define WEFT_TOP_BUCKETS	36

/* struct weft_top_record.flags */
enum weft_top_flags {
	/* the QP belongs to the kernel */
	WEFT_TOP_KERNEL		= 1 << 0,
	/* the path uses the local link */
	WEFT_TOP_LOCAL		= 1 << 1,
	/* latencies of the QP have been measured */
	WEFT_TOP_MEASURED	= 1 << 2,
};

/**
 * struct weft_top_record - a QP that the reader may see
 * @latency_sum: ns, of all latencies that were measured
 * @bytes: payload of the work requests that were measured
 * @latency: how many work requests had a latency, see WEFT_TOP_BUCKETS
 * @qpn: its number
 * @peer_qpn: the QP at the other end, if it is connected
 * @pid: the process that made the QP, as the reader sees it; 0: the kernel
 * @uid: its user, likewise
 * @requests: send work requests that have completed since the QP was in RESET, modulo 2^32
 * @messages: RC and XRC: messages that were received since then, modulo 2^24
 * @retries: transport retries since the QP was made
 * @rnr_retries: retries because the peer had no receive posted
 * @inflight: work requests that wait for an answer
 * @service: enum ib_qp_type
 * @state: enum ib_qp_state
 * @flags: enum weft_top_flags
 * @reserved: 0
 * @comm: name of the process
 */
struct weft_top_record {
	__aligned_u64	latency_sum;
	__aligned_u64	bytes;
	__aligned_u64	latency[WEFT_TOP_BUCKETS];
	__u32		qpn;
	__u32		peer_qpn;
	__u32		pid;
	__u32		uid;
	__u32		requests;
	__u32		messages;
	__u32		retries;
	__u32		rnr_retries;
	__u32		inflight;
	__u8		service;
	__u8		state;
	__u8		flags;
	__u8		reserved;
	char		comm[16];
};

#endif /* WEFT_TOP_USER_H */
