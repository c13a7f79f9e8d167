/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>

#include "weft.h"
#include "weft-abi.h"

/* A rule, and the counters of its IBV_FLOW_SPEC_ACTION_COUNT, or NULL. */
struct weft_flow {
	struct ibv_flow flow;
	struct ibv_counters *counters;
};

/* The kernel refuses a second spec of this kind. */
static struct ibv_counters *flow_counters(const struct ibv_flow_attr *attr)
{
	const uint8_t *at = (const uint8_t *)(attr + 1);
	const struct ibv_flow_spec_counter_action *count;
	unsigned int i;

	for (i = 0; i < attr->num_of_specs; i++) {
		count = (const void *)at;
		if (count->type == IBV_FLOW_SPEC_ACTION_COUNT)
			return count->counters;
		at += count->size;
	}
	return NULL;
}

static int flow_create(struct ibv_qp *ibqp, struct weft_flow *flow,
		       struct ibv_flow_attr *attr)
{
	struct weft_create_flow_req req = {};
	int ret;

	if (!flow->counters)
		return ibv_cmd_create_flow(ibqp, &flow->flow, attr, NULL, 0);

	weft_counters_begin(flow->counters, &req);
	ret = ibv_cmd_create_flow(ibqp, &flow->flow, attr, &req, sizeof(req));
	weft_counters_end(flow->counters, !ret);
	return ret;
}

struct ibv_flow *weft_create_flow(struct ibv_qp *ibqp,
				  struct ibv_flow_attr *attr)
{
	struct weft_flow *flow;
	int ret;

	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;

	flow->counters = flow_counters(attr);
	ret = flow_create(ibqp, flow, attr);
	if (ret) {
		free(flow);
		errno = ret;
		return NULL;
	}
	return &flow->flow;
}

int weft_destroy_flow(struct ibv_flow *ibflow)
{
	struct weft_flow *flow = container_of(ibflow, struct weft_flow, flow);
	int ret;

	if (flow->counters)
		weft_counters_begin(flow->counters, NULL);
	ret = ibv_cmd_destroy_flow(ibflow);
	if (flow->counters)
		weft_counters_end(flow->counters, ret ? 0 : -1);
	if (ret)
		return ret;

	free(flow);
	return 0;
}
