/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A model of a reliable connection, without packets: each request is executed in its turn, at once
 * and as a whole. The engine must come to the same result whatever happens to its packets.
 */
#ifndef KUNIT_ORACLE_H
#define KUNIT_ORACLE_H

#include <rdma/ib_verbs.h>

#include "compat/placement.h"

#define ORACLE_SGE	3

/* A piece of memory; @offset is from the first byte of the node's memory. */
struct oracle_sge {
	u32	offset;
	u32	length;
};

/* A request. */
struct oracle_send {
	u64			wr_id;			/* returned in its completion */
	/* SEND, WRITE (both with or without immediate data), READ, atomic or ATOMIC WRITE */
	enum ib_wr_opcode	opcode;
	int			flags;			/* enum ib_send_flags */
	u32			num_sge;		/* elements of @sge */
	struct oracle_sge	sge[ORACLE_SGE];	/* in the memory of the requester */
	/* all but SEND: offset in the memory of the responder */
	u32			remote;
	__be32			imm;			/* immediate data */
	u64			compare_add;		/* operand of an atomic */
	u64			swap;			/* operand of COMPARE & SWAP */
	u64			compare_add_mask;	/* of a masked atomic */
	u64			swap_mask;		/* of masked COMPARE & SWAP */
};

/* A receive. */
struct oracle_recv {
	u64			wr_id;			/* returned in its completion */
	u32			num_sge;		/* elements of @sge */
	struct oracle_sge	sge[ORACLE_SGE];	/* in the memory of the responder */
};

/* The requests of one node, and the receives of the other. */
struct oracle_way {
	u8			*local;		/* image of the requester's memory */
	u8			*remote;	/* image of the responder's memory */
	struct oracle_send	*send;		/* requests in order */
	u32			num_send;
	struct oracle_recv	*recv;		/* receives in order */
	u32			num_recv;
	bool			sig_all;	/* every request is signaled */
	/* request that fails and is not executed; those behind it are flushed */
	u32			fail_at;
	enum ib_wc_status	status;		/* its status */
	/* the responder fails, too, and the receives that are left are flushed */
	bool			fail_both;
	/* if not IB_WC_SUCCESS, the first of these receives has this status instead */
	enum ib_wc_status	recv_status;
	/* result: completions at the requester; of a failed request only wr_id and status */
	struct ib_wc		*send_wc;
	u32			num_send_wc;	/* result: number of these */
	struct ib_wc		*recv_wc;	/* result: completions at the responder */
	u32			num_recv_wc;	/* result: number of these */
	u32			messages;	/* result: requests executed */
	u32			psns;		/* result: PSNs they took */
};

/*
 * Execute all requests of @way, which has as many receives as they take. @mtu: bytes of a packet.
 */
void oracle_execute(struct oracle_way *way, u32 mtu);

/* Bytes of a message with this list. */
u32 oracle_length(const struct oracle_sge *sge, u32 num);

static inline bool oracle_is_masked(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_MASKED_ATOMIC_CMP_AND_SWP ||
	       opcode == IB_WR_MASKED_ATOMIC_FETCH_AND_ADD;
}

static inline bool oracle_is_atomic(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_ATOMIC_CMP_AND_SWP || opcode == IB_WR_ATOMIC_FETCH_AND_ADD ||
	       oracle_is_masked(opcode);
}

/* Does it access one word? */
static inline bool oracle_is_word(enum ib_wr_opcode opcode)
{
	return oracle_is_atomic(opcode) || opcode == IB_WR_ATOMIC_WRITE;
}

/* Do data come back? */
static inline bool oracle_is_response(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_RDMA_READ || oracle_is_atomic(opcode);
}

static inline bool oracle_has_imm(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_SEND_WITH_IMM || opcode == IB_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool oracle_is_send(enum ib_wr_opcode opcode)
{
	return opcode == IB_WR_SEND || opcode == IB_WR_SEND_WITH_IMM;
}

static inline bool oracle_takes_recv(enum ib_wr_opcode opcode)
{
	return oracle_is_send(opcode) || oracle_has_imm(opcode);
}

#endif /* KUNIT_ORACLE_H */
