/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Limits and defaults, each with its unit and its reason. No code.
 */
#ifndef WEFT_PARAMS_H
#define WEFT_PARAMS_H

#include <linux/sizes.h>

/* An OUI that is nobody's: weft has none of its own. */
#define WEFT_VENDOR_ID		0xffffff
#define WEFT_PART_ID		1
#define WEFT_HW_VER		1

/* Work requests a queue can be made for. A power of two: rings are. */
#define WEFT_MAX_QP_WR		32768
#define WEFT_MAX_SRQ_WR		32768
/* Completions a CQ can be made for; the ring is one power of two. */
#define WEFT_MAX_CQE		(1 << 22)
/* Scatter/gather elements of a work request. */
#define WEFT_MAX_SGE		32
/*
 * What the core is told of an RDMA READ, which has room for as many as others: with more
 * NFS would make its regions no longer than so many pages.
 */
#define WEFT_MAX_SGE_RD		16
/* Bytes of inline data: what fits a message of a key-value store. */
#define WEFT_MAX_INLINE		1024
/* Bytes of a message (IBA 9.7.6): 2^31. */
#define WEFT_MAX_MSG		(1U << 31)

/*
 * What a context keeps of its QPs that are gone for those that come: so many pieces of
 * memory, of at most so many bytes each. A QP with a few hundred work requests has less.
 */
#define WEFT_PAGE_CACHE_PIECES	16U
#define WEFT_PAGE_CACHE_BYTES	SZ_64K

/* QP numbers are 24 bits; 0 and 1 are special, the first few kept free. */
#define WEFT_MIN_QPN		16
#define WEFT_MAX_QPN		((1 << 24) - 2)
/* Objects of a device: large enough to be no limit before memory is. */
#define WEFT_MAX_QP		(1 << 18)
#define WEFT_MAX_CQ		(1 << 18)
#define WEFT_MAX_SRQ		(1 << 18)
#define WEFT_MAX_PD		(1 << 18)
#define WEFT_MAX_AH		(1 << 18)
/* Memory keys are 24 bits of index and 8 bits of the consumer. */
#define WEFT_MAX_MR		((1 << 23) - 1)
#define WEFT_MAX_MW		((1 << 23) - 1)
#define WEFT_MAX_KEY_INDEX	((1 << 24) - 1)
/* Bytes of a device's memory in all: what the largest NICs have, and some more. */
#define WEFT_MAX_DM_SIZE	SZ_64M
/* Blocks of a fast registration: 4 MiB in pages. */
#define WEFT_MAX_FASTREG_BLOCKS	1024
/* So many of the host's QPs, of a device's regions are found without a tree. */
#define WEFT_NEWEST_QPS		1024U
#define WEFT_NEWEST_REGIONS	256U
/* Outstanding RDMA READs and atomics of a QP, each way. */
#define WEFT_MAX_RD_ATOMIC	128
#define WEFT_MAX_MCAST_GRP	8192
#define WEFT_MAX_MCAST_ATTACH	1024
/* Groups that a net device joins again while others wait for RTNL. */
#define WEFT_REJOIN_GROUPS	64

/* Entries of the GID table: each address of each VLAN counts. */
#define WEFT_GID_TBL_LEN	256
#define WEFT_PKEY_TBL_LEN	1
#define WEFT_DEFAULT_PKEY	0xffff

/*
 * Bytes copied between two looks at whether to stop: long enough to cost
 * nothing, short enough (some 25 us) for a dying process.
 */
#define WEFT_COPY_CHUNK		SZ_256K
/*
 * What one doorbell may do in its caller's time: after so many bytes or work
 * requests the rest is left to a work item.
 */
#define WEFT_DOORBELL_BYTES	SZ_16M
#define WEFT_DOORBELL_WQES	1024
/* What a work item may do before it queues itself again. */
#define WEFT_WORK_WQES		4096

/*
 * Bytes of on-demand paging memory that are pinned for a message at a time. A longer
 * message goes in windows, so that one process cannot pin all memory by having many
 * messages that wait for something. Not less than WEFT_COPY_CHUNK.
 */
#define WEFT_ODP_CHUNK		SZ_4M

/* Work requests of a QP that are on the wire. A power of two. */
#define WEFT_INFLIGHT_WQES	256
/*
 * Request packets of a QP without an answer: less than a net device's backlog
 * (1000), so that a burst does not get lost on its way to the peer.
 */
#define WEFT_INFLIGHT_PACKETS	256
/*
 * Packets that one READ request asks for. A longer READ is several requests, so
 * that its data stay in the window, and a lost packet costs no more than that.
 */
#define WEFT_READ_PACKETS	128
/* Packets handed to a link at a time. */
#define WEFT_TX_BATCH_PACKETS	32
/* Packets after which an acknowledge is asked for in a long message. */
#define WEFT_ACK_PACKETS	32
/* kbit/s that a QP's rate can be limited to: what the fastest net devices have. */
#define WEFT_MIN_RATE		1U
#define WEFT_MAX_RATE		400000000U
/*
 * Packets that wait for a half, and bytes of their memory; a well-behaved peer sends no more:
 * WEFT_INFLIGHT_PACKETS of the greatest MTU take 2 MiB.
 */
#define WEFT_QUEUE_PACKETS	1024
#define WEFT_QUEUE_BYTES	SZ_8M
/*
 * What a soft interrupt may do for a QP before it leaves the rest to a work
 * item.
 */
#define WEFT_SOFTIRQ_WQES	64
#define WEFT_SOFTIRQ_BYTES	SZ_64K
/* Bytes of memory a half's packets may take until they have left. */
#define WEFT_TX_BYTES		SZ_512K

/* Bytes of a packet of a fabric: the greatest MTU, and more than all headers are. */
#define WEFT_FRAME_PACKET	(4096U + 256U)
/* Frames of an uplink without an acknowledgment. A power of two. */
#define WEFT_ARQ_WINDOW		128U
/* That many may always be under way, whatever has been lost. */
#define WEFT_ARQ_MIN_WINDOW	16U
/* Frames, and microseconds, after which what has come is acknowledged. */
#define WEFT_ARQ_ACK_FRAMES	16U
#define WEFT_ARQ_ACK_US		1000
/* Microseconds without one until frames are sent again: at first, and at most. */
#define WEFT_ARQ_RETRY_US	2000
#define WEFT_ARQ_MAX_RETRY_US	50000
/* Microseconds in which a gap is told, and repaired, once. */
#define WEFT_ARQ_GAP_US		1000
/* Microseconds without an acknowledgment after which there is no link any more. */
#define WEFT_ARQ_GIVE_UP_US	1000000
/* What may wait for the window, in bytes and packets: a few ms of a fast link. */
#define WEFT_ARQ_WAIT_BYTES	SZ_4M
#define WEFT_ARQ_WAIT_PACKETS	4096U
/* Copies for a group have one part of so many of that, and leave the rest to others. */
#define WEFT_ARQ_COPY_PART	2U
/* The same of packets whose senders have no more than WEFT_TX_BYTES each under way. */
#define WEFT_ARQ_OWNED_BYTES	SZ_64M
#define WEFT_ARQ_OWNED_PACKETS	65536U
/* Packets, or frames, that wait until another CPU has handed those before them on. */
#define WEFT_ARQ_FIFO		1024U
/* As many of them are handed on before the rest is left to a work item. */
#define WEFT_ARQ_BUDGET		64U

/* Cables between hosts that a packet goes by at most: as many as a directed route has. */
#define WEFT_MAX_HOPS		64U
/* Nodes of other hosts that a switch has a cable to; half of its ports are for its own host. */
#define WEFT_UPLINK_PEERS	18
/* HELLOs that have come and are not looked at yet. */
#define WEFT_UPLINK_NOTES	64U
/* ms between two HELLOs, while there is somebody to get to know and later. */
#define WEFT_HELLO_FAST_MS	100
#define WEFT_HELLO_SLOW_MS	500
/* ms that a new node is in a hurry. */
#define WEFT_HELLO_EAGER_MS	3000
/* ms of silence after which a peer is gone: three HELLOs, and some. */
#define WEFT_HELLO_DEAD_MS	1600

#endif /* WEFT_PARAMS_H */
