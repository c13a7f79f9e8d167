/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Counters of rules of flow steering: ibv_create_counters(3). */
#ifndef WEFT_VERBS_FLOW_COUNTERS_H
#define WEFT_VERBS_FLOW_COUNTERS_H

#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "flow/count.h"

struct weft_flow_counters {
	struct ib_counters	ibcounters;
	struct weft_flow_count	count;
	struct mutex		lock;		/* for all below */
	u32			rules;		/* that count here */
	u32			num_values;
	u32			num;		/* elements of @values */
	struct weft_flow_counter *values;	/* while there are rules */
};

struct weft_flow_count *weft_flow_counters_bind(struct ib_counters *ibcounters,
						const struct weft_create_flow_req *req);
void weft_flow_counters_unbind(struct ib_counters *ibcounters);

/* Members of struct ib_device_ops. */
int weft_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs);
int weft_destroy_counters(struct ib_counters *ibcounters);
int weft_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
		       struct uverbs_attr_bundle *attrs);

#endif /* WEFT_VERBS_FLOW_COUNTERS_H */
