/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The attributes that modify_qp takes in each transition (IBA 10.3, 11.2.5.3; ibv_modify_qp(3)). */
#ifndef WEFT_VERBS_QP_STATE_H
#define WEFT_VERBS_QP_STATE_H

#include <rdma/ib_verbs.h>

bool weft_qp_state_allows(enum ib_qp_type type, enum ib_qp_state from,
			  enum ib_qp_state to, u32 mask);
bool weft_qp_state_attrs(enum ib_qp_type type, enum ib_qp_state from, enum ib_qp_state to,
			 u32 mask, u32 *missing, u32 *excess);

/* Bytes for the names of all attributes. */
#define WEFT_QP_ATTR_NAMES	512

void weft_qp_attr_names(u32 mask, char *buf, size_t size);
const char *weft_qp_state_name(enum ib_qp_state state);
const char *weft_qp_type_name(enum ib_qp_type type);

#endif /* WEFT_VERBS_QP_STATE_H */
