/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The specs of ibv_create_flow(3), as the bits that a frame must have and what becomes of it. */
#ifndef WEFT_FLOW_SPEC_H
#define WEFT_FLOW_SPEC_H

#include "flow/key.h"

struct ib_counters;
struct ib_flow_attr;

/* The default of the tag, which is also a tag that a program may choose. */
#define WEFT_FLOW_NO_TAG	0U

/*
 * @specs: bit per spec that was given, see spec.c
 * @value: has no bits that @mask has not
 * @mask: the bits of a frame's key that count
 * @tag: of ibv_wc_read_flow_tag(3)
 * @tagged: there is an action with a tag
 * @drop: frames are dropped
 * @counters: count frames, or NULL
 * @owner: another owner cannot have the same rule: a QP number of the type UD, or 0
 */
struct weft_flow_spec {
	u32			specs;
	struct weft_flow_key	value;
	struct weft_flow_key	mask;
	u32			tag;
	bool			tagged;
	bool			drop;
	struct ib_counters	*counters;
	u32			owner;
};

int weft_flow_spec_read(struct weft_flow_spec *spec, const struct ib_flow_attr *attr);
bool weft_flow_spec_is_multicast(const struct weft_flow_spec *spec);
bool weft_flow_spec_of_qp(struct weft_flow_spec *spec, u32 qpn, u32 owner);

#endif /* WEFT_FLOW_SPEC_H */
