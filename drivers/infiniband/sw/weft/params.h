/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Limits and defaults, each with its unit and its reason. No code. */
#ifndef WEFT_PARAMS_H
#define WEFT_PARAMS_H

#include <linux/sizes.h>

/* An OUI that is assigned to nobody, because weft has none of its own. */
#define WEFT_VENDOR_ID		0xffffff
#define WEFT_PART_ID		1
#define WEFT_HW_VER		1

/* Work requests of a queue, and completions of a CQ: powers of two, as the sizes of rings are. */
#define WEFT_MAX_QP_WR		32768
#define WEFT_MAX_SRQ_WR		32768
#define WEFT_MAX_CQE		(1 << 22)
/* Scatter/gather elements of a work request. */
#define WEFT_MAX_SGE		32
/*
 * The limit for an RDMA READ that the core is told. A READ may have WEFT_MAX_SGE elements, too, but
 * with a greater value NFS would limit its regions to that number of pages.
 */
#define WEFT_MAX_SGE_RD		16
/* Bytes of inline data: enough for a message of a key-value store. */
#define WEFT_MAX_INLINE		1024
/* Bytes of a message (IBA 9.7.6). */
#define WEFT_MAX_MSG		(1U << 31)

/*
 * The page cache of a context keeps at most this number of pieces of memory of destroyed QPs for
 * new QPs, each of at most this number of bytes. A QP with a few hundred work requests needs less.
 */
#define WEFT_PAGE_CACHE_PIECES	16U
#define WEFT_PAGE_CACHE_BYTES	(PAGE_SIZE > SZ_16K ? 4 * PAGE_SIZE : SZ_64K)

/* QP numbers have 24 bits. 0 and 1 are special QPs; the first few numbers are not used. */
#define WEFT_MIN_QPN		16
#define WEFT_MAX_QPN		((1 << 24) - 2)
/* Objects of a device. The limits are so high that memory is the limit in practice. */
#define WEFT_MAX_QP		(1 << 18)
#define WEFT_MAX_CQ		(1 << 18)
#define WEFT_MAX_SRQ		(1 << 18)
/* Tags of an SRQ: each message is compared with them one by one. */
#define WEFT_MAX_TAGS		1023
/* Bytes of a rendezvous request: two headers, and some for the program. It fits any MTU. */
#define WEFT_MAX_RNDV_HEADER	64
/* Requests of the rendezvous of a QP that may be under way, two for each. */
#define WEFT_RNDV_WQES		64
#define WEFT_MAX_RWQ_TABLES	(1 << 16)
/* Entries of an indirection table, as a logarithm: as with usual adapters. */
#define WEFT_MAX_LOG_RSS	11
#define WEFT_MAX_COMP_CNTR	(1 << 18)
#define WEFT_MAX_PD		(1 << 18)
#define WEFT_MAX_AH		(1 << 18)
/* Memory keys have 24 bits of index and 8 bits that the consumer chooses. */
#define WEFT_MAX_MR		((1 << 23) - 1)
#define WEFT_MAX_MW		((1 << 23) - 1)
#define WEFT_MAX_KEY_INDEX	((1 << 24) - 1)
/* Bytes of all device memory of a device: some more than the largest NICs have. */
#define WEFT_MAX_DM_SIZE	SZ_64M
/* Blocks of a fast registration: 4 MiB in pages. */
#define WEFT_MAX_FASTREG_BLOCKS	1024
/* Slots for the newest QPs of the host, and regions of a device, to find them without a tree. */
#define WEFT_NEWEST_QPS		1024U
#define WEFT_NEWEST_REGIONS	256U
/* Outstanding RDMA READs and atomics of a QP, each way. */
#define WEFT_MAX_RD_ATOMIC	128
#define WEFT_MAX_MCAST_GRP	8192
#define WEFT_MAX_MCAST_ATTACH	1024
/* Groups that a net device joins again at a time, because others wait for RTNL. */
#define WEFT_REJOIN_GROUPS	64

/* Entries of the GID table: one for each address of each VLAN. */
#define WEFT_GID_TBL_LEN	256
#define WEFT_PKEY_TBL_LEN	1
#define WEFT_DEFAULT_PKEY	0xffff

/*
 * Bytes copied between two checks for a reason to stop: enough that the check costs nothing, and
 * few enough (some 25 us) that a dying process does not wait.
 */
#define WEFT_COPY_CHUNK		SZ_256K
/* A doorbell leaves the rest to a work item after this number of bytes or work requests. */
#define WEFT_DOORBELL_BYTES	SZ_16M
#define WEFT_DOORBELL_WQES	1024
/* A work item queues itself again after this number of work requests. */
#define WEFT_WORK_WQES		4096

/*
 * Bytes of ODP memory that are pinned for a message at a time. A longer message goes in chunks, so
 * that a process with many waiting messages cannot pin all memory. At least WEFT_COPY_CHUNK.
 */
#define WEFT_ODP_CHUNK		SZ_4M
/*
 * The messages of all users have at most this part of the memory pinned, and second ends
 * (mem/odp_room.c) as much again.
 */
#define WEFT_ODP_MEMORY_PART	8

/* Strict mode: how long a request is held, as if an adapter read its memory so late. */
#define WEFT_STRICT_HOLD_NS	200000ULL

/* Inflight work requests of a QP. A power of two. */
#define WEFT_INFLIGHT_WQES	256
/*
 * Request packets of a QP without a response: fewer than the backlog of a net device (1000), so
 * that no packet of a burst is lost on the way to the peer.
 */
#define WEFT_INFLIGHT_PACKETS	256
/* The same on a path of which nothing is known, see engine/window.c. A power of two. */
#define WEFT_FIRST_WINDOW	16
/* The same on a path whose round trip is at least so long, see engine/window.c. */
#define WEFT_LONG_PATH_US	200
#define WEFT_LARGEST_WINDOW	768
/*
 * Response packets of one READ request. A longer READ is sent as several requests, so that its
 * data stays within the inflight window, and a lost packet costs no more than one request.
 */
#define WEFT_READ_PACKETS	128
/* Packets of a tx batch. */
#define WEFT_TX_BATCH_PACKETS	32
/* Packets of a long message after which the requester asks for an ACK. */
#define WEFT_ACK_PACKETS	32
/* Rate limits of a QP in kbit/s, up to the speed of the fastest net devices. */
#define WEFT_MIN_RATE		1U
#define WEFT_MAX_RATE		400000000U
/* Bytes of a frame of a RAW_PACKET QP: what lo, which has the greatest MTU, can send. */
#define WEFT_RAW_LONGEST	(SZ_64K + 64U)
/*
 * Congestion control, by the names that mlx5 has for these parameters (rpg_min_rate and so on).
 * Rates are in kbit/s. The period is longer than that of mlx5, because software is slower, and
 * grows with the round trip of a QP.
 */
/* 1019/1024 of alpha is left after each period; alpha of the first CNP, in 1/1024. */
#define WEFT_DCE_TCP_G			1019U
#define WEFT_INITIAL_ALPHA_VALUE	1023U
/* Microseconds, at least: the period in which alpha changes, and in which a rate is cut once. */
#define WEFT_DCE_TCP_RTT		100U
/* Periods between two increases by time, and bytes between two increases by bytes. */
#define WEFT_RPG_TIME_RESET		3U
#define WEFT_RPG_BYTE_RESET		SZ_2M
/* Increases of either kind after which the target grows, too, and by how much. */
#define WEFT_RPG_THRESHOLD		1U
#define WEFT_RPG_AI_RATE		5000U
#define WEFT_RPG_HAI_RATE		50000U
/* No cut goes below this rate, or takes more than this part of it (percent). */
#define WEFT_RPG_MIN_RATE		1000U
#define WEFT_RPG_MIN_DEC_FAC		50U
/* The completions of a QP that can wait because of injection rules. */
#define WEFT_LATE_CQES			256U
/* Microseconds between two CNPs of a QP, at least, and their DSCP. */
#define WEFT_MIN_TIME_BETWEEN_CNPS	50U
#define WEFT_CNP_DSCP			48U
/*
 * Packets that wait for the requester or the responder, and bytes of their memory. A well-behaved
 * peer sends fewer: WEFT_LARGEST_WINDOW of the greatest MTU take 6 MiB.
 */
#define WEFT_QUEUE_PACKETS	1024
#define WEFT_QUEUE_BYTES	SZ_8M
/*
 * Each backlog has room for WEFT_QUEUE_OWN_BYTES, or one packet. All share the rest: those of the
 * host hold at most WEFT_QUEUE_TOTAL_BYTES, or 1 / WEFT_QUEUE_MEMORY_PART of its memory if that is
 * less, and one gets at most 1 / WEFT_QUEUE_PART of what is left of that.
 */
#define WEFT_QUEUE_OWN_BYTES	SZ_32K
#define WEFT_QUEUE_TOTAL_BYTES	SZ_128M
#define WEFT_QUEUE_MEMORY_PART	16
#define WEFT_QUEUE_PART		8
/*
 * Packets that have overtaken others, and bytes of their memory: of a requester or responder, and
 * of all those of a device. Some more packets than a weft has unanswered.
 */
#define WEFT_EARLY_PACKETS	1024
#define WEFT_EARLY_BYTES	SZ_4M
#define WEFT_EARLY_DEV_BYTES	SZ_64M
/*
 * A packet is lost when so many later ones have come, or so many microseconds have passed. Networks
 * that spread a flow over several paths reorder less: their paths differ by the queue of a switch.
 */
#define WEFT_EARLY_GAP_PACKETS	64
#define WEFT_EARLY_GAP_US	1000
/*
 * An acknowledge waits for a packet to leave with for one to two of these periods, if the process
 * has so often sent something after a message; after waits in vain, more often is needed.
 */
#define WEFT_PIGGYBACK_US	200
#define WEFT_PIGGYBACK_PAIRS	4
#define WEFT_PIGGYBACK_MOST_PAIRS	128
/*
 * A soft interrupt leaves the rest to a work item after this number of work requests or bytes of a
 * QP.
 */
#define WEFT_SOFTIRQ_WQES	64
#define WEFT_SOFTIRQ_BYTES	SZ_64K
/* Bytes of memory that the packets of a requester, or of a responder, take until they have left. */
#define WEFT_TX_BYTES		SZ_512K

/* Bytes of a packet of a fabric: the greatest MTU and room for all headers. */
#define WEFT_FRAME_PACKET	(4096U + 256U)
/* Unacknowledged frames of an uplink. A power of two. */
#define WEFT_ARQ_WINDOW		128U
/* The window never shrinks below this number of frames, however many are lost. */
#define WEFT_ARQ_MIN_WINDOW	16U
/* Received frames, and microseconds, after which an acknowledgment is sent. */
#define WEFT_ARQ_ACK_FRAMES	16U
#define WEFT_ARQ_ACK_US		1000
/* The ack timeout of an uplink in microseconds: at first, and at most. */
#define WEFT_ARQ_RETRY_US	2000
#define WEFT_ARQ_MAX_RETRY_US	50000
/* Microseconds in which a gap is reported, and repaired, only once. */
#define WEFT_ARQ_GAP_US		1000
/* Microseconds without an acknowledgment after which the link is down. */
#define WEFT_ARQ_GIVE_UP_US	1000000
/* Bytes and packets that may wait for the window: a few ms of a fast link. */
#define WEFT_ARQ_WAIT_BYTES	SZ_4M
#define WEFT_ARQ_WAIT_PACKETS	4096U
/* Copies for multicast groups may take the fraction 1/WEFT_ARQ_COPY_PART of the limits above. */
#define WEFT_ARQ_COPY_PART	2U
/* The limits for packets of senders with tx credit, which have at most WEFT_TX_BYTES each. */
#define WEFT_ARQ_OWNED_BYTES	SZ_64M
#define WEFT_ARQ_OWNED_PACKETS	65536U
/* Packets, or frames, that wait while another CPU hands on the earlier ones. */
#define WEFT_ARQ_FIFO		1024U
/* Packets, or frames, after which that CPU leaves the rest to a work item. */
#define WEFT_ARQ_BUDGET		64U

/* Cables between hosts that a packet may take: as many as a directed route has. */
#define WEFT_MAX_HOPS		64U
/* Cables of a switch to nodes of other hosts; half of its ports are for its own host. */
#define WEFT_UPLINK_PEERS	18
/* Received HELLOs that are not processed yet. */
#define WEFT_UPLINK_NOTES	64U
/* ms between two HELLOs: while a node looks for peer nodes, and later. */
#define WEFT_HELLO_FAST_MS	100
#define WEFT_HELLO_SLOW_MS	500
/* ms for which a new node sends HELLOs at the fast rate. */
#define WEFT_HELLO_EAGER_MS	3000
/* ms of silence after which a peer node is gone: a bit more than three slow HELLOs. */
#define WEFT_HELLO_DEAD_MS	1600

#endif /* WEFT_PARAMS_H */
