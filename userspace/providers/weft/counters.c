/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of rules. What an object counts is collected here, and goes to the
 * kernel with its first rule.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "weft.h"
#include "weft-abi.h"

/**
 * struct weft_counters - counters
 * @vcounters: of libibverbs
 * @lock: protects all below; held while a rule is being created or destroyed
 * @rules: rules that count here
 * @num: elements of @list
 * @list: what is counted
 */
struct weft_counters {
	struct verbs_counters vcounters;
	pthread_mutex_t lock;
	unsigned int rules;
	uint32_t num;
	struct weft_flow_counter list[WEFT_FLOW_COUNTERS];
};

static struct weft_counters *to_weft_counters(struct ibv_counters *ibcounters)
{
	return container_of(ibcounters, struct weft_counters,
			    vcounters.counters);
}

struct ibv_counters *weft_create_counters(struct ibv_context *context,
					  struct ibv_counters_init_attr *attr)
{
	struct weft_counters *counters;
	int ret;

	if (!check_comp_mask(attr->comp_mask, 0)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	counters = calloc(1, sizeof(*counters));
	if (!counters)
		return NULL;
	pthread_mutex_init(&counters->lock, NULL);

	ret = ibv_cmd_create_counters(context, attr, &counters->vcounters,
				      NULL);
	if (ret) {
		free(counters);
		errno = ret;
		return NULL;
	}
	return &counters->vcounters.counters;
}

int weft_destroy_counters(struct ibv_counters *ibcounters)
{
	struct weft_counters *counters = to_weft_counters(ibcounters);
	int ret;

	ret = ibv_cmd_destroy_counters(&counters->vcounters);
	if (ret)
		return ret;

	pthread_mutex_destroy(&counters->lock);
	free(counters);
	return 0;
}

static int counters_add(struct weft_counters *counters,
			const struct ibv_counter_attach_attr *attr)
{
	if (counters->rules)
		return EBUSY;
	if (counters->num == WEFT_FLOW_COUNTERS)
		return ENOMEM;

	counters->list[counters->num++] = (struct weft_flow_counter){
		.description = attr->counter_desc,
		.index = attr->index,
	};
	return 0;
}

/* Only before the first rule, and not to a rule that exists. */
int weft_attach_counters_point_flow(struct ibv_counters *ibcounters,
				    struct ibv_counter_attach_attr *attr,
				    struct ibv_flow *flow)
{
	struct weft_counters *counters = to_weft_counters(ibcounters);
	int ret;

	if (!check_comp_mask(attr->comp_mask, 0))
		return EOPNOTSUPP;
	if (flow)
		return ENOTSUP;
	if (attr->counter_desc > IBV_COUNTER_BYTES ||
	    attr->index >= WEFT_FLOW_COUNTERS)
		return EINVAL;

	pthread_mutex_lock(&counters->lock);
	ret = counters_add(counters, attr);
	pthread_mutex_unlock(&counters->lock);
	return ret;
}

int weft_read_counters(struct ibv_counters *ibcounters, uint64_t *values,
		       uint32_t num, uint32_t flags)
{
	return ibv_cmd_read_counters(&to_weft_counters(ibcounters)->vcounters,
				     values, num, flags, NULL);
}

/*
 * A rule is about to be created, or, without @req, destroyed: the number of
 * rules stays that of the kernel. Ends with weft_counters_end().
 */
void weft_counters_begin(struct ibv_counters *ibcounters,
			 struct weft_create_flow_req *req)
{
	struct weft_counters *counters = to_weft_counters(ibcounters);

	pthread_mutex_lock(&counters->lock);
	if (!req || counters->rules)
		return;
	req->counters = (uintptr_t)counters->list;
	req->num_counters = counters->num;
}

/* @more: 1, -1, or 0 if the call has failed. */
void weft_counters_end(struct ibv_counters *ibcounters, int more)
{
	struct weft_counters *counters = to_weft_counters(ibcounters);

	counters->rules += more;
	pthread_mutex_unlock(&counters->lock);
}
