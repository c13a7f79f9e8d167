// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters of a port, shown by "rdma statistic" and in
 * /sys/class/infiniband/.../ports/1/hw_counters, and counters of a device, in
 * /sys/class/infiniband/.../hw_counters.
 */
#include "stats.h"

#include <linux/cpumask.h>
#include <rdma/ib_verbs.h>

#include "object/dev.h"
#include "object/refuse.h"

#define STATS_DESC(id, counter, doc) \
	[WEFT_STAT_##id] = { .name = #counter, .priv = doc },

#define STATS_ALIAS_DESC(id, counter)	{ .name = #counter },

/* the aliases follow the counters */
static const struct rdma_stat_desc stats_descs[] = {
	WEFT_STATS(STATS_DESC)
	WEFT_STAT_ALIASES(STATS_ALIAS_DESC)
};

#define STATS_ALIAS(id, counter)	WEFT_STAT_##id,

static const enum weft_stat stats_aliases[] = { WEFT_STAT_ALIASES(STATS_ALIAS) };

#define DEV_STATS_DESC(id, counter, doc) \
	[WEFT_DEV_STAT_##id] = { .name = #counter, .priv = doc },

static const struct rdma_stat_desc dev_stats_descs[WEFT_DEV_STAT_NUM] = {
	WEFT_DEV_STATS(DEV_STATS_DESC)
};

/* The name of a counter, as users know it. */
const char *weft_stats_name(enum weft_stat stat)
{
	return stats_descs[stat].name;
}

static u64 stats_sum(const struct weft_stats __percpu *stats, enum weft_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->count[stat]);
	return sum;
}

/* The sum over all CPUs, which is not a snapshot. */
u64 weft_stats_sum(const struct weft_dev *dev, enum weft_stat stat)
{
	return stats_sum(dev->stats, stat);
}
WEFT_EXPORT_FOR_TEST(weft_stats_sum);

/* Sums the counters of a device or of an rdma_counter; @to is for the counters of a port. */
void weft_stats_fill(const struct weft_stats __percpu *stats, struct rdma_hw_stats *to)
{
	int i;

	for (i = 0; i < WEFT_STAT_NUM; i++)
		to->value[i] = stats_sum(stats, i);
	for (; i < to->num_counters; i++)
		to->value[i] = to->value[stats_aliases[i - WEFT_STAT_NUM]];
}

struct rdma_hw_stats *weft_alloc_hw_device_stats(struct ib_device *ibdev)
{
	return rdma_alloc_hw_stats_struct(dev_stats_descs, WEFT_DEV_STAT_NUM,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

struct rdma_hw_stats *weft_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port_num)
{
	int num = ARRAY_SIZE(stats_descs);

	/* the last alias is for RoCE only */
	if (!rdma_protocol_roce(ibdev, port_num))
		num--;
	return rdma_alloc_hw_stats_struct(stats_descs, num, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int dev_stats_fill(struct weft_dev *dev, struct rdma_hw_stats *to)
{
	int i;

	for (i = 0; i < WEFT_DEV_STAT_NUM; i++)
		to->value[i] = atomic64_read(&dev->counts[i]);
	return WEFT_DEV_STAT_NUM;
}

/* Reads all counters, not only @index; port 0 means those of the device. */
int weft_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port_num, int index)
{
	struct weft_dev *dev = to_weft_dev(ibdev);

	if (!port_num)
		return dev_stats_fill(dev, stats);
	if (weft_check_port(ibdev, "get statistics", port_num))
		return -EINVAL;
	weft_stats_fill(dev->stats, stats);
	return stats->num_counters;
}
