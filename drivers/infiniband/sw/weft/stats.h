/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Counters of a port and of a device. */
#ifndef WEFT_STATS_H
#define WEFT_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct ib_device;
struct rdma_hw_stats;
struct weft_dev;

/*
 * X(id, name shown to users, description). The names are part of the interface to user space: add
 * new counters at the end, and never rename one. From OUT_OF_BUFFER to RP_CNP_IGNORED the names are
 * those of mlx5, which monitoring programs know, and have the meaning that they have there.
 */
#define WEFT_STATS(X)							\
	X(SENT_MESSAGES, sent_messages,					\
	  "Requests that were handed to a link, retries not counted.")	\
	X(SENT_BYTES, sent_bytes,					\
	  "Payload bytes of these requests, of READs what was asked for.") \
	X(RCVD_MESSAGES, rcvd_messages,					\
	  "Requests executed for a remote QP, completely and without a fault.") \
	X(RCVD_BYTES, rcvd_bytes,					\
	  "Payload bytes of these requests.")				\
	X(RNR_NAKS_SENT, rnr_naks_sent,					\
	  "Requests turned away because no receive was posted.")	\
	X(RNR_RETRIES, rnr_retries,					\
	  "Requests tried again after the peer was not ready.")		\
	X(TRANSPORT_RETRIES, transport_retries,				\
	  "Retries: no answer came in time, or one said that something was lost.") \
	X(NAKS_SENT, naks_sent,						\
	  "Requests refused: access, invalid request, operational error.") \
	X(UD_DROPPED_NO_RECEIVE, ud_dropped_no_receive,			\
	  "Datagrams dropped because no receive was posted.")		\
	X(UD_DROPPED_QKEY, ud_dropped_qkey,				\
	  "Datagrams dropped because their Q_Key was wrong.")		\
	X(UD_DROPPED_NO_QP, ud_dropped_no_qp,				\
	  "Datagrams dropped because their QP is missing, of another type or not ready.") \
	X(MCAST_COPIES, mcast_copies,					\
	  "Copies of multicast datagrams delivered to a QP.")		\
	X(DOORBELLS, doorbells,						\
	  "System calls that told of posted send requests.")		\
	X(CQ_OVERRUNS, cq_overruns,					\
	  "Completion queues that overflowed.")				\
	X(FLUSHED_WRS, flushed_wrs,					\
	  "Work requests completed without being executed.")		\
	X(TX_PACKETS, tx_packets,					\
	  "Packets sent.")						\
	X(TX_DROPPED, tx_dropped,					\
	  "Packets not sent: no route, too long for it, no memory, refused by the queue.") \
	X(TX_STALLS, tx_stalls,						\
	  "Times a QP had to wait for packets to leave: its own, or others' in a full queue.")	\
	X(RX_PACKETS, rx_packets,					\
	  "Packets that a QP received; those of a multicast group count once for each.") \
	X(RX_MALFORMED, rx_malformed,					\
	  "Packets dropped for their form: lengths, IP options, version, opcode.") \
	X(RX_ICRC, rx_icrc,						\
	  "Packets dropped because their ICRC was wrong.")		\
	X(RX_UNKNOWN_QP, rx_unknown_qp,					\
	  "Packets dropped because there is no such QP or group here.")	\
	X(RX_WRONG_ADDRESS, rx_wrong_address,				\
	  "Packets dropped because they came from or went to an address that is not the QP's.") \
	X(RX_PKEY, rx_pkey,						\
	  "Packets dropped because their P_Key was wrong.")		\
	X(RX_NOT_READY, rx_not_ready,					\
	  "Packets dropped because the QP or the port was in no state to receive.") \
	X(RX_OPCODE, rx_opcode,						\
	  "Packets dropped because their opcode is not one of the QP's transport service.") \
	X(RX_QUEUE_FULL, rx_queue_full,					\
	  "Packets dropped because too many were waiting for the QP, or the port.")	\
	X(DUPLICATES, duplicates,					\
	  "Requests received again.")					\
	X(OUT_OF_SEQUENCE, out_of_sequence,				\
	  "Requests received after others had been lost, dropped.")	\
	X(SEQ_NAKS_SENT, seq_naks_sent,					\
	  "NAKs sent because requests had been lost.")			\
	X(SEQ_NAKS_RCVD, seq_naks_rcvd,					\
	  "NAKs received because requests had been lost.")		\
	X(IMPLIED_NAKS, implied_naks,					\
	  "Responses found missing by those that came after them.")	\
	X(STALE_RESPONSES, stale_responses,				\
	  "Responses that nobody waited for, dropped.")			\
	X(RETRANSMITS, retransmits,					\
	  "Request packets sent again.")				\
	X(MIGRATIONS, migrations,					\
	  "Times a QP has changed to its alternate path.")		\
	X(RX_NO_MEMORY, rx_no_memory,					\
	  "Packets, or copies of them for a group, dropped for want of memory.")	\
	X(RX_TOO_LONG, rx_too_long,					\
	  "Messages of UC and UD dropped because they were longer than the receive.") \
	X(OUT_OF_BUFFER, out_of_buffer,					\
	  "Messages that found no receive posted.")			\
	X(PACKET_SEQ_ERR, packet_seq_err,				\
	  "Sequence error NAKs received, with retries left.")		\
	X(LOCAL_ACK_TIMEOUT_ERR, local_ack_timeout_err,			\
	  "Ack timeouts that expired, with retries left.")		\
	X(REQ_CQE_ERROR, req_cqe_error,					\
	  "Send work requests completed with an error, flushed ones included.")	\
	X(REQ_CQE_FLUSH_ERROR, req_cqe_flush_error,			\
	  "Send work requests flushed.")				\
	X(RESP_CQE_ERROR, resp_cqe_error,				\
	  "Receives completed with an error, flushed ones included.")	\
	X(RESP_CQE_FLUSH_ERROR, resp_cqe_flush_error,			\
	  "Receives flushed.")						\
	X(REQ_REMOTE_ACCESS_ERRORS, req_remote_access_errors,		\
	  "Requests that failed because the peer reported a remote access error.") \
	X(REQ_REMOTE_INVALID_REQUEST, req_remote_invalid_request,	\
	  "Requests that failed because the peer reported an invalid request.")	\
	X(REQ_TRANSPORT_RETRIES_EXCEEDED, req_transport_retries_exceeded, \
	  "Requests that failed because no transport retries were left.") \
	X(REQ_RNR_RETRIES_EXCEEDED, req_rnr_retries_exceeded,		\
	  "Requests that failed because no RNR retries were left.")	\
	X(RESP_REMOTE_ACCESS_ERRORS, resp_remote_access_errors,		\
	  "Requests refused for their rkey: the key, its rights or its range.")	\
	X(RESP_LOCAL_LENGTH_ERROR, resp_local_length_error,		\
	  "Messages that were longer than the receive.")		\
	X(RX_WRITE_REQUESTS, rx_write_requests,				\
	  "WRITEs among rcvd_messages.")				\
	X(RX_READ_REQUESTS, rx_read_requests,				\
	  "READs among rcvd_messages.")					\
	X(RX_ATOMIC_REQUESTS, rx_atomic_requests,			\
	  "Atomics, and ATOMIC WRITEs, among rcvd_messages.")		\
	X(RX_INJECTED, rx_injected,					\
	  "Packets dropped because an injection rule says so.")		\
	X(RX_MERGED, rx_merged,						\
	  "Packets that came in one buffer with the one before, and were processed with it.") \
	X(RX_EARLY, rx_early,						\
	  "Packets that overtook others, and were kept until these came.") \
	X(NP_ECN_MARKED, np_ecn_marked_roce_packets,			\
	  "Packets of connected QPs that came with a congestion mark (ECN CE).") \
	X(NP_CNP_SENT, np_cnp_sent,					\
	  "Congestion notification packets sent.")			\
	X(RP_CNP_HANDLED, rp_cnp_handled,				\
	  "Congestion notification packets received, and obeyed.")	\
	X(RP_CNP_IGNORED, rp_cnp_ignored,				\
	  "Congestion notification packets received while attribute cc was off.") \
	X(PROBES, probes,						\
	  "Request packets repeated while the peer was silent; not in retransmits.")

/*
 * X(id, second name): the names of mlx5 for counters that weft has by another name. The last one is
 * for RoCE ports only.
 */
#define WEFT_STAT_ALIASES(X)						\
	X(DUPLICATES, duplicate_request)				\
	X(RNR_RETRIES, rnr_nak_retry_err)				\
	X(IMPLIED_NAKS, implied_nak_seq_err)				\
	X(RX_ICRC, rx_icrc_encapsulated)

/* Counters of a device, in the same form. */
#define WEFT_DEV_STATS(X)						\
	X(QP_ERRORS, qp_errors,						\
	  "QPs that an error, not a program, took to the state ERR.")	\
	X(REGISTRATIONS, registrations,					\
	  "Memory regions that were made.")				\
	X(PREFETCHES, prefetches,					\
	  "Requests to prefetch memory of on-demand paging.")		\
	X(PAGE_WAITS, page_waits,					\
	  "Times that a message had to wait for memory of on-demand paging.")

#define WEFT_STAT_ENUM(id, ...) WEFT_STAT_##id,

enum weft_stat {
	WEFT_STATS(WEFT_STAT_ENUM)
	WEFT_STAT_NUM,
};

#undef WEFT_STAT_ENUM

#define WEFT_DEV_STAT_ENUM(id, ...) WEFT_DEV_STAT_##id,

enum weft_dev_stat {
	WEFT_DEV_STATS(WEFT_DEV_STAT_ENUM)
	WEFT_DEV_STAT_NUM,
};

#undef WEFT_DEV_STAT_ENUM

/* The counters of one CPU, by enum weft_stat. */
struct weft_stats {
	u64 count[WEFT_STAT_NUM];
};

/*
 * Any context. @whose is a struct weft_qp if the caller owns one of its turns (which keeps
 * qp->stats from changing), else a struct weft_dev.
 */
#define weft_stats_add(whose, stat, n) \
	this_cpu_add((whose)->stats->count[stat], n)
#define weft_stats_inc(whose, stat) \
	this_cpu_inc((whose)->stats->count[stat])

/* Counts a message and its bytes; @messages is WEFT_STAT_SENT_MESSAGES or ..._RCVD_MESSAGES. */
static __always_inline void weft_stats_message(struct weft_stats __percpu *stats,
					       enum weft_stat messages, u32 length)
{
	BUILD_BUG_ON(WEFT_STAT_SENT_BYTES != WEFT_STAT_SENT_MESSAGES + 1 ||
		     WEFT_STAT_RCVD_BYTES != WEFT_STAT_RCVD_MESSAGES + 1);
	this_cpu_inc(stats->count[messages]);
	this_cpu_add(stats->count[messages + 1], length);
}

/* An atomic operation: too slow for the path of a message that has all it needs. */
#define weft_dev_stats_inc(dev, stat) \
	atomic64_inc(&(dev)->counts[stat])

const char *weft_stats_name(enum weft_stat stat);
u64 weft_stats_sum(const struct weft_dev *dev, enum weft_stat stat);
void weft_stats_fill(const struct weft_stats __percpu *stats, struct rdma_hw_stats *to);

/* Members of struct ib_device_ops. */
struct rdma_hw_stats *weft_alloc_hw_device_stats(struct ib_device *ibdev);
struct rdma_hw_stats *weft_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num);
int weft_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port_num, int index);

#endif /* WEFT_STATS_H */
