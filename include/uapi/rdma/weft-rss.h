/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/* RSS QPs. A part of weft-abi.h. */
#ifndef WEFT_RSS_USER_H
#define WEFT_RSS_USER_H

#include <linux/types.h>

/* The values of enum ibv_rx_hash_function_flags. */
enum weft_rx_hash_function {
	WEFT_RX_HASH_TOEPLITZ		= 1 << 0,
};

/* The values of enum ibv_rx_hash_fields. */
enum weft_rx_hash_fields {
	WEFT_RX_HASH_SRC_IPV4		= 1 << 0,
	WEFT_RX_HASH_DST_IPV4		= 1 << 1,
	WEFT_RX_HASH_SRC_IPV6		= 1 << 2,
	WEFT_RX_HASH_DST_IPV6		= 1 << 3,
	WEFT_RX_HASH_SRC_PORT_TCP	= 1 << 4,
	WEFT_RX_HASH_DST_PORT_TCP	= 1 << 5,
	WEFT_RX_HASH_SRC_PORT_UDP	= 1 << 6,
	WEFT_RX_HASH_DST_PORT_UDP	= 1 << 7,
	WEFT_RX_HASH_IPSEC_SPI		= 1 << 8,
};

#define WEFT_RX_HASH_FIELDS	0x1ffU
/* with the fields: those of the packet in a tunnel */
#define WEFT_RX_HASH_INNER	(1U << 31)

/* bytes of a hash key */
#define WEFT_RX_HASH_KEY	40

/**
 * struct weft_create_rss_req - creation of a QP with an indirection table, in
 *	place of struct weft_create_qp_req
 * @comp_mask: 0, for extensions
 * @fields: enum weft_rx_hash_fields
 * @function: enum weft_rx_hash_function
 * @key_length: WEFT_RX_HASH_KEY
 * @raw_flags: enum weft_qp_flags, of WEFT_QP_RAW_FLAGS
 * @reserved_13: 0
 * @key: hash key
 *
 * The response is struct weft_create_qp_resp, without any ring.
 */
struct weft_create_rss_req {
	__aligned_u64	comp_mask;
	__aligned_u64	fields;
	__u8		function;
	__u8		key_length;
	__u8		raw_flags;
	__u8		reserved_13[5];
	__u8		key[WEFT_RX_HASH_KEY];
};

#endif /* WEFT_RSS_USER_H */
