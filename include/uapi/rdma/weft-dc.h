/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Dynamic connections (DC): an initiator, each work request of which names the target that it is
 * for. A part of weft-abi.h.
 */
#ifndef WEFT_DC_USER_H
#define WEFT_DC_USER_H

#include <linux/types.h>

/* struct weft_create_dc_req.type */
enum weft_dc_type {
	WEFT_DC_TARGET		= 1,
	WEFT_DC_INITIATOR	= 2,
};

/**
 * struct weft_dc_address - the destination of a work request of an initiator
 * @key: the access key of the target
 * @ah_id: from struct weft_create_ah_resp
 * @dctn: number of the target, 24 bits; above them is the stream, 0 if the initiator was created
 *	without streams
 */
struct weft_dc_address {
	__aligned_u64	key;
	__u32		ah_id;
	__u32		dctn;
};

#define WEFT_DC_STREAM_SHIFT	24

/* The most of struct weft_create_dc_req.log_streams and .log_errored. */
#define WEFT_DC_LOG_STREAMS	8

/**
 * struct weft_create_dc_req - creation of a QP of the type IB_QPT_DRIVER, in place of struct
 *	weft_create_qp_req
 * @comp_mask: 0, for extensions
 * @cookie: returned in every completion of this QP
 * @access_key: target: what requests have to name; initiator: 0
 * @type: enum weft_dc_type
 * @streams: initiator: 1 if it has streams, else 0
 * @log_streams: with @streams: binary logarithm of their number, up to WEFT_DC_LOG_STREAMS; else 0
 * @log_errored: with @streams: binary logarithm of the number of streams in error that ends the QP,
 *	up to WEFT_DC_LOG_STREAMS; else 0
 * @reserved_1c: 0
 *
 * The response is struct weft_create_qp_resp, of a target without any ring.
 */
struct weft_create_dc_req {
	__aligned_u64	comp_mask;
	__aligned_u64	cookie;
	__aligned_u64	access_key;
	__u8		type;
	__u8		streams;
	__u8		log_streams;
	__u8		log_errored;
	__u32		reserved_1c;
};

#endif /* WEFT_DC_USER_H */
