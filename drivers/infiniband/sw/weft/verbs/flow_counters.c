// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program attaches what it wants to read (packets or bytes, and where) in user space, and the
 * first rule brings the list here. All rules of an object count together. The errors are those of
 * mlx5.
 */
#include "verbs/flow_counters.h"

#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "object/inject.h"

static struct weft_flow_counters *to_flow_counters(struct ib_counters *ibcounters)
{
	return container_of(ibcounters, struct weft_flow_counters, ibcounters);
}

int weft_create_counters(struct ib_counters *ibcounters, struct uverbs_attr_bundle *attrs)
{
	int ret = weft_inject_verb(ibcounters->device, WEFT_VERB_CREATE_COUNTERS);

	if (!ret)
		mutex_init(&to_flow_counters(ibcounters)->lock);
	return ret;
}

/* The core calls it without rules, and then frees the object. */
int weft_destroy_counters(struct ib_counters *ibcounters)
{
	/* frames may still be steered by a rule that has just been removed */
	synchronize_net();
	mutex_destroy(&to_flow_counters(ibcounters)->lock);
	return 0;
}

/* Takes over the list of a program. Returns 0, -EINVAL, -EFAULT or -ENOMEM. */
static int counters_describe(struct weft_flow_counters *counters,
			     const struct weft_create_flow_req *req)
{
	struct weft_flow_counter *values;
	u32 i, num_values = 0;

	if (!req->num_counters || req->num_counters > WEFT_FLOW_COUNTERS)
		return -EINVAL;
	values = memdup_user(u64_to_user_ptr(req->counters), req->num_counters * sizeof(*values));
	if (IS_ERR(values))
		return PTR_ERR(values);
	for (i = 0; i < req->num_counters; i++) {
		if (values[i].description > IB_COUNTER_BYTES ||
		    values[i].index >= WEFT_FLOW_COUNTERS) {
			kfree(values);
			return -EINVAL;
		}
		num_values = max(num_values, values[i].index + 1);
	}
	counters->values = values;
	counters->num = req->num_counters;
	counters->num_values = num_values;
	return 0;
}

/* A new rule counts here. Undone by weft_flow_counters_unbind(). */
struct weft_flow_count *weft_flow_counters_bind(struct ib_counters *ibcounters,
						const struct weft_create_flow_req *req)
{
	struct weft_flow_counters *counters = to_flow_counters(ibcounters);
	int ret = 0;

	mutex_lock(&counters->lock);
	if (!counters->rules)
		ret = counters_describe(counters, req);
	else if (req->num_counters)
		ret = -EINVAL;
	if (!ret)
		counters->rules++;
	mutex_unlock(&counters->lock);
	return ret ? ERR_PTR(ret) : &counters->count;
}

/* After the last rule, other values can be attached, and the count begins again. */
void weft_flow_counters_unbind(struct ib_counters *ibcounters)
{
	struct weft_flow_counters *counters = to_flow_counters(ibcounters);

	mutex_lock(&counters->lock);
	if (!--counters->rules) {
		/* the last rule may still count a frame that has found it */
		synchronize_net();
		kfree(counters->values);
		counters->values = NULL;
		atomic64_set(&counters->count.packets, 0);
		atomic64_set(&counters->count.bytes, 0);
	}
	mutex_unlock(&counters->lock);
}

/* Values with the same index are added. */
static void counters_store(struct weft_flow_counters *counters, u64 *to)
{
	const u64 counted[] = {
		[IB_COUNTER_PACKETS] = atomic64_read(&counters->count.packets),
		[IB_COUNTER_BYTES] = atomic64_read(&counters->count.bytes),
	};
	u32 i;

	for (i = 0; i < counters->num; i++)
		to[counters->values[i].index] += counted[counters->values[i].description];
}

/* The core has cleared the buffer. */
int weft_read_counters(struct ib_counters *ibcounters, struct ib_counters_read_attr *attr,
		       struct uverbs_attr_bundle *attrs)
{
	struct weft_flow_counters *counters = to_flow_counters(ibcounters);
	int ret = 0;

	mutex_lock(&counters->lock);
	if (!counters->rules || attr->ncounters < counters->num_values)
		ret = -EINVAL;
	else
		counters_store(counters, attr->counters_buff);
	mutex_unlock(&counters->lock);
	return ret;
}
