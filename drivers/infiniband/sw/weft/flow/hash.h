/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Receive hashing: a number of the fields of a frame, which chooses a queue for it. */
#ifndef WEFT_FLOW_HASH_H
#define WEFT_FLOW_HASH_H

#include <rdma/weft-abi.h>

#include "flow/key.h"

/*
 * @fields: enum weft_rx_hash_fields
 * @key: of the function Toeplitz
 */
struct weft_flow_hash {
	u32	fields;
	u8	key[WEFT_RX_HASH_KEY];
};

bool weft_flow_hash_is_valid(u64 fields);
u32 weft_flow_hash(const struct weft_flow_hash *hash, const struct weft_flow_key *key);

#endif /* WEFT_FLOW_HASH_H */
