// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/mad.h"

#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>

#include "fabric/pma.h"
#include "fabric/sma.h"
#include "object/dev.h"
#include "object/hca.h"
#include "stats.h"

/* Bytes in the unit of PortXmitData and PortRcvData. */
#define MAD_DATA_UNIT	4
#define MAD_ANSWERED	(IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY)

static int mad_subnet(struct weft_hca *hca, u8 port_num, u16 slid, const struct ib_smp *in,
		      struct ib_smp *out)
{
	struct weft_sma_effect effect;
	enum weft_sma_verdict verdict;

	verdict = weft_sma_process(&hca->node, port_num, in, out, &effect);
	if (effect.represses)
		weft_traps_repress(&hca->traps, in->tid);
	if (effect.bad_mkey)
		weft_traps_refused(&hca->traps, slid, in);
	if (effect.port)
		weft_ibport_event(effect.port, effect.events);
	switch (verdict) {
	case WEFT_SMA_REPLY:
		return MAD_ANSWERED;
	case WEFT_SMA_DROP:
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	case WEFT_SMA_PASS:
		break;
	}
	return IB_MAD_RESULT_SUCCESS;
}

/*
 * Lets the agents of an InfiniBand port respond. @wc is NULL for a query by sysfs. @flags, which
 * can skip the checks of M_Key and B_Key, is ignored: the core sets it for the performance agent
 * only, which has no such check.
 *
 * Any context but hard interrupts. Returns a set of IB_MAD_RESULT_*.
 */
int weft_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		     const struct ib_wc *wc, const struct ib_grh *grh,
		     const struct ib_mad *in, struct ib_mad *out, size_t *out_size,
		     u16 *out_pkey)
{
	struct weft_hca *hca = to_weft_dev(ibdev)->hca;

	if (port_num != 1)
		return IB_MAD_RESULT_FAILURE;
	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		return mad_subnet(hca, port_num, wc ? wc->slid : WEFT_LID_PERMISSIVE,
				  (const struct ib_smp *)in, (struct ib_smp *)out);
	case IB_MGMT_CLASS_PERF_MGMT:
		return weft_pma_process(&hca->node, port_num, in, out) ?
		       MAD_ANSWERED : IB_MAD_RESULT_SUCCESS;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

/*
 * The IBA port counters and the statistics of a RoCE port that they show. A counter with several
 * statistics is their sum.
 */
static const struct {
	enum weft_ibport_counter	counter;
	enum weft_stat			stat;
} mad_roce_counts[] = {
	{ WEFT_IBC_XMIT_DATA,		WEFT_STAT_SENT_BYTES },
	{ WEFT_IBC_RCV_DATA,		WEFT_STAT_RCVD_BYTES },
	{ WEFT_IBC_XMIT_PKTS,		WEFT_STAT_TX_PACKETS },
	{ WEFT_IBC_RCV_PKTS,		WEFT_STAT_RX_PACKETS },
	{ WEFT_IBC_XMIT_DISCARDS,	WEFT_STAT_TX_DROPPED },
	{ WEFT_IBC_RCV_ERRORS,		WEFT_STAT_RX_MALFORMED },
	{ WEFT_IBC_RCV_ERRORS,		WEFT_STAT_RX_ICRC },
	{ WEFT_IBC_RCV_ERRORS,		WEFT_STAT_RX_QUEUE_FULL },
	{ WEFT_IBC_RCV_ERRORS,		WEFT_STAT_RX_NO_MEMORY },
};

/*
 * Shows the counters of a RoCE port below ports/1/counters. It responds only to the core's own
 * queries, which have no @wc: RoCE has no performance management, so MADs of others go on to the
 * agents of the core and of programs, and neither read nor reset a counter.
 */
int weft_process_mad_roce(struct ib_device *ibdev, int flags, u32 port_num,
			  const struct ib_wc *wc, const struct ib_grh *grh,
			  const struct ib_mad *in, struct ib_mad *out, size_t *out_size,
			  u16 *out_pkey)
{
	u64 counts[WEFT_IBC_COUNT] = {};
	int i;

	if (wc || in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT)
		return IB_MAD_RESULT_SUCCESS;
	for (i = 0; i < ARRAY_SIZE(mad_roce_counts); i++)
		counts[mad_roce_counts[i].counter] += weft_stats_sum(to_weft_dev(ibdev),
								     mad_roce_counts[i].stat);
	counts[WEFT_IBC_XMIT_DATA] /= MAD_DATA_UNIT;
	counts[WEFT_IBC_RCV_DATA] /= MAD_DATA_UNIT;
	return weft_pma_show(counts, in, out) ? MAD_ANSWERED : IB_MAD_RESULT_SUCCESS;
}
