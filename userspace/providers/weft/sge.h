/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef WEFT_SGE_H
#define WEFT_SGE_H

#include <assert.h>
#include <string.h>

#include "rdmacore/driver.h"

#include <rdma/weft-abi.h>

static_assert(sizeof(struct weft_sge) == sizeof(struct ibv_sge) &&
	      offsetof(struct weft_sge, length) ==
		      offsetof(struct ibv_sge, length) &&
	      offsetof(struct weft_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "a list of elements is copied as it is");

static inline void put_sges(struct weft_sge *to, const struct ibv_sge *sge,
			    uint32_t num_sge)
{
	for (; num_sge; num_sge--, to++, sge++)
		memcpy(to, sge, sizeof(*to));
}

#endif /* WEFT_SGE_H */
