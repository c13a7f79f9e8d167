/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Dynamic connections (DC). An initiator (DCI) has no peer: each work request names the target
 * (DCT) that it is for. A target has no send queue, an SRQ for its receives, and takes messages of
 * any initiator that knows its access key. Both are of the type IB_QPT_DRIVER to the core.
 */
#ifndef WEFT_OBJECT_DC_H
#define WEFT_OBJECT_DC_H

#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-dc.h>

#include "object/av.h"

/* struct weft_qp.type; the core leaves these values to drivers. */
#define WEFT_QPT_DCI	IB_QPT_RESERVED1
#define WEFT_QPT_DCT	IB_QPT_RESERVED2

/* Numbers of streams fit into the upper bits of weft_dc_address.dctn. */
#define WEFT_DC_STREAMS	BIT(32 - WEFT_DC_STREAM_SHIFT)

/* The part of a DC QP that other QPs do not have. */
struct weft_dc {
	/* target: access key; immutable */
	u64		key;
	/*
	 * initiator: the path of modify_qp, which only query_qp needs. weft_qp.av and
	 * weft_qp.dest_qpn are those of the request that is executed; the owner of the send turn
	 * writes them. Target: the path back to @initiator, if there is a monitor to show answers.
	 */
	struct weft_av	path;
	/*
	 * target, written by the owner of the receive turn: the initiator of the message that is
	 * executed or has paused, and until when others wait for the latter; 0: none has paused
	 */
	u32		initiator;
	ktime_t		paused_until;
	/* initiator: it has streams, and 1 << @log_errored of them in error end it; immutable */
	bool		streams;
	u8		log_errored;
	/* initiator, written by the owner of the send turn: the streams in error */
	u32		num_errored;
	DECLARE_BITMAP(errored, WEFT_DC_STREAMS);
};

/* Below WEFT_DC_STREAMS, whatever the process has written. */
static inline u32 weft_dc_stream(const struct weft_dc_address *to)
{
	return to->dctn >> WEFT_DC_STREAM_SHIFT;
}

#endif /* WEFT_OBJECT_DC_H */
