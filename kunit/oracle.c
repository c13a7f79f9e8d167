// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "oracle.h"

#include <linux/string.h>

u32 oracle_length(const struct oracle_sge *sge, u32 num)
{
	u32 length = 0;

	while (num--)
		length += sge[num].length;
	return length;
}

/* The address of byte number @i of a list. */
static u8 *byte_at(u8 *memory, const struct oracle_sge *sge, u32 i)
{
	while (i >= sge->length) {
		i -= sge->length;
		sge++;
	}
	return memory + sge->offset + i;
}

static enum ib_wc_opcode send_wc_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
		return IB_WC_MASKED_COMP_SWAP;
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return IB_WC_MASKED_FETCH_ADD;
	case IB_WR_ATOMIC_WRITE:
		return IB_WC_ATOMIC_WRITE;
	default:
		return IB_WC_SEND;
	}
}

static void complete_send(struct oracle_way *way, const struct oracle_send *send,
			  enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS && !way->sig_all && !(send->flags & IB_SEND_SIGNALED))
		return;
	way->send_wc[way->num_send_wc++] = (struct ib_wc){
		.wr_id = send->wr_id,
		.status = status,
		.opcode = send_wc_opcode(send->opcode),
		.byte_len = oracle_length(send->sge, send->num_sge),
	};
}

static void complete_recv(struct oracle_way *way, const struct oracle_send *send)
{
	struct ib_wc *wc = &way->recv_wc[way->num_recv_wc];

	*wc = (struct ib_wc){
		.wr_id = way->recv[way->num_recv_wc].wr_id,
		.status = IB_WC_SUCCESS,
		.opcode = oracle_is_send(send->opcode) ? IB_WC_RECV :
							 IB_WC_RECV_RDMA_WITH_IMM,
		.byte_len = oracle_length(send->sge, send->num_sge),
	};
	if (oracle_has_imm(send->opcode)) {
		wc->wc_flags = IB_WC_WITH_IMM;
		wc->ex.imm_data = send->imm;
	}
	way->num_recv_wc++;
}

/* Add bit by bit, as on paper. */
static u64 add_fields(u64 a, u64 b, u64 ends)
{
	u64 sum = 0, bit;
	u32 i, digit = 0;

	for (i = 0; i < 64; i++) {
		bit = 1ULL << i;
		digit += !!(a & bit) + !!(b & bit);
		if (digit & 1)
			sum |= bit;
		digit = ends & bit ? 0 : digit / 2;
	}
	return sum;
}

static u64 swap_bits(u64 before, const struct oracle_send *send)
{
	u64 bit, after = before;
	u32 i;

	for (i = 0; i < 64; i++) {
		bit = 1ULL << i;
		if (send->compare_add_mask & bit && (before & bit) != (send->compare_add & bit))
			return before;
		if (send->swap_mask & bit)
			after = (after & ~bit) | (send->swap & bit);
	}
	return after;
}

static u64 after_atomic(u64 before, const struct oracle_send *send)
{
	switch (send->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return before == send->compare_add ? send->swap : before;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
		return swap_bits(before, send);
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return add_fields(before, send->compare_add, send->compare_add_mask);
	default:
		return before + send->compare_add;
	}
}

static void execute_atomic(struct oracle_way *way, const struct oracle_send *send)
{
	u64 before, after;
	u32 i;

	memcpy(&before, way->remote + send->remote, sizeof(before));
	after = after_atomic(before, send);
	memcpy(way->remote + send->remote, &after, sizeof(after));
	for (i = 0; i < sizeof(before); i++)
		*byte_at(way->local, send->sge, i) = ((u8 *)&before)[i];
}

static void execute(struct oracle_way *way, const struct oracle_send *send)
{
	const struct oracle_sge there = { .offset = send->remote, .length = U32_MAX };
	u32 i, length = oracle_length(send->sge, send->num_sge);
	const struct oracle_sge *to = &there;
	u8 *here;

	if (oracle_is_atomic(send->opcode)) {
		execute_atomic(way, send);
		return;
	}
	if (oracle_is_send(send->opcode))
		to = way->recv[way->num_recv_wc].sge;
	for (i = 0; i < length; i++) {
		here = byte_at(way->local, send->sge, i);
		if (send->opcode == IB_WR_RDMA_READ)
			*here = *byte_at(way->remote, to, i);
		else
			*byte_at(way->remote, to, i) = *here;
	}
}

static u32 packets(const struct oracle_send *send, u32 mtu)
{
	u32 length = oracle_length(send->sge, send->num_sge), num = 1;

	while (length > mtu) {
		length -= mtu;
		num++;
	}
	return num;
}

static void flush_recv(struct oracle_way *way)
{
	enum ib_wc_status status = way->recv_status ?: IB_WC_WR_FLUSH_ERR;

	for (; way->num_recv_wc < way->num_recv; way->num_recv_wc++) {
		way->recv_wc[way->num_recv_wc] = (struct ib_wc){
			.wr_id = way->recv[way->num_recv_wc].wr_id,
			.status = status,
		};
		status = IB_WC_WR_FLUSH_ERR;
	}
}

void oracle_execute(struct oracle_way *way, u32 mtu)
{
	const struct oracle_send *send;
	u32 i;

	for (i = 0; i < way->num_send; i++) {
		send = &way->send[i];
		if (i >= way->fail_at) {
			complete_send(way, send, i == way->fail_at ? way->status :
								     IB_WC_WR_FLUSH_ERR);
			continue;
		}
		execute(way, send);
		if (oracle_takes_recv(send->opcode))
			complete_recv(way, send);
		complete_send(way, send, IB_WC_SUCCESS);
		way->messages++;
		way->psns += packets(send, mtu);
	}
	if (way->fail_both)
		flush_recv(way);
}
