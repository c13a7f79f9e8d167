/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which attributes modify_qp takes in which transition (IBA 10.3, 11.2.5.3;
 * ibv_modify_qp(3)).
 */
#ifndef WEFT_VERBS_QP_STATE_H
#define WEFT_VERBS_QP_STATE_H

#include <rdma/ib_verbs.h>

/**
 * weft_qp_state_allows - check the attribute mask of a transition
 * @type: RC, UC, UD or GSI
 * @from: current state
 * @to: next state, @from when the mask has no IB_QP_STATE
 * @mask: enum ib_qp_attr_mask
 *
 * Pure: a function of its arguments.
 *
 * Return: true when the transition exists, every required attribute is there
 * and none that is not allowed.
 */
bool weft_qp_state_allows(enum ib_qp_type type, enum ib_qp_state from,
			  enum ib_qp_state to, u32 mask);

#endif /* WEFT_VERBS_QP_STATE_H */
