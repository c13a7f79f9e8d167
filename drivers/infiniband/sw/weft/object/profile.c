// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The figures are those that an adapter reports (ibv_devinfo -v), as their owners have published
 * them, or that its driver has. Documentation/infiniband/weft/strict.rst has the source of each. A
 * figure that is not known is left out, rather than guessed.
 */
#include "object/profile.h"

#include <linux/string.h>

#include "object/refuse.h"

static const struct weft_profile profiles[] = {
	{
		.name = "connectx5", .adapter = "ConnectX-5",
		.most = {
			[WEFT_PROFILE_QPS] = 262144,
			[WEFT_PROFILE_SEND_WR] = 32768,
			[WEFT_PROFILE_RECV_WR] = 32768,
			[WEFT_PROFILE_SEND_SGE] = 30,
			[WEFT_PROFILE_RECV_SGE] = 30,
			[WEFT_PROFILE_READS] = 16,
			[WEFT_PROFILE_DEST_READS] = 16,
			[WEFT_PROFILE_CQE] = 4194303,
			[WEFT_PROFILE_MRS] = 16777216,
		},
	},
	{
		.name = "connectx6", .adapter = "ConnectX-6",
		.most = {
			[WEFT_PROFILE_QPS] = 262144,
			[WEFT_PROFILE_SEND_WR] = 32768,
			[WEFT_PROFILE_RECV_WR] = 32768,
			[WEFT_PROFILE_SEND_SGE] = 30,
			[WEFT_PROFILE_RECV_SGE] = 30,
			[WEFT_PROFILE_READS] = 16,
			[WEFT_PROFILE_DEST_READS] = 16,
		},
	},
	{
		.name = "e810", .adapter = "E810",
		.most = {
			[WEFT_PROFILE_TYPE] = BIT(IB_QPT_RC) | BIT(IB_QPT_UD),
			[WEFT_PROFILE_QPS] = 4092,
			[WEFT_PROFILE_SEND_WR] = 8127,
			[WEFT_PROFILE_RECV_WR] = 8127,
			[WEFT_PROFILE_SEND_SGE] = 6,
			[WEFT_PROFILE_RECV_SGE] = 6,
			[WEFT_PROFILE_INLINE] = 101,
			[WEFT_PROFILE_READS] = 8,
			[WEFT_PROFILE_DEST_READS] = 8,
			[WEFT_PROFILE_CQE] = 1048574,
			[WEFT_PROFILE_MRS] = 4194301,
			[WEFT_PROFILE_SRQS] = WEFT_PROFILE_NONE,
		},
	},
	{
		.name = "efa", .adapter = "EFA",
		.most = {
			[WEFT_PROFILE_TYPE] = BIT(IB_QPT_UD),
			[WEFT_PROFILE_SEND_SGE] = 2,
			[WEFT_PROFILE_INLINE] = 32,
			[WEFT_PROFILE_SRQS] = WEFT_PROFILE_NONE,
		},
	},
};

static const struct {
	const char	*name;
	int		err;	/* of a call in mode 2 */
} profile_items[WEFT_PROFILE_ITEMS] = {
	[WEFT_PROFILE_TYPE]		= { "qp_type", -EOPNOTSUPP },
	[WEFT_PROFILE_QPS]		= { "number of QPs", -ENOMEM },
	[WEFT_PROFILE_SEND_WR]		= { "max_send_wr", -EINVAL },
	[WEFT_PROFILE_RECV_WR]		= { "max_recv_wr", -EINVAL },
	[WEFT_PROFILE_SEND_SGE]		= { "max_send_sge", -EINVAL },
	[WEFT_PROFILE_RECV_SGE]		= { "max_recv_sge", -EINVAL },
	[WEFT_PROFILE_INLINE]		= { "max_inline_data", -EINVAL },
	[WEFT_PROFILE_READS]		= { "max_rd_atomic", -EINVAL },
	[WEFT_PROFILE_DEST_READS]	= { "max_dest_rd_atomic", -EINVAL },
	[WEFT_PROFILE_CQE]		= { "cqe", -EINVAL },
	[WEFT_PROFILE_MRS]		= { "number of MRs", -ENOMEM },
	[WEFT_PROFILE_SRQS]		= { "number of SRQs", -EOPNOTSUPP },
};

/* Returns 0; -EINVAL: there is no such profile. An empty name, or "none", means none. */
int weft_profile_set(struct weft_dev *dev, const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(profiles); i++)
		if (sysfs_streq(name, profiles[i].name))
			break;
	if (i == ARRAY_SIZE(profiles) && !sysfs_streq(name, "none") && !sysfs_streq(name, ""))
		return -EINVAL;
	WRITE_ONCE(dev->strict.profile, i < ARRAY_SIZE(profiles) ? &profiles[i] : NULL);
	return 0;
}

/* All names, that of the profile in brackets. */
ssize_t weft_profile_show(const struct weft_dev *dev, char *buf)
{
	const struct weft_profile *profile = READ_ONCE(dev->strict.profile);
	ssize_t length = sysfs_emit(buf, profile ? "none" : "[none]");
	u32 i;

	for (i = 0; i < ARRAY_SIZE(profiles); i++)
		length += sysfs_emit_at(buf, length, &profiles[i] == profile ? " [%s]" : " %s",
					profiles[i].name);
	return length + sysfs_emit_at(buf, length, "\n");
}

static bool profile_allows(enum weft_profile_item item, u32 most, u64 value)
{
	if (!most)
		return true;
	if (item == WEFT_PROFILE_TYPE)
		return value < BITS_PER_LONG_LONG && most & BIT_ULL(value);
	return most == WEFT_PROFILE_NONE ? !value : value <= most;
}

/* The slow part of weft_profile_check(). */
int weft_profile_exceeded(struct weft_dev *dev, enum weft_profile_item item, u64 value)
{
	const struct weft_profile *profile = READ_ONCE(dev->strict.profile);
	const char *name = profile_items[item].name;
	char most[24] = "none such";

	if (!profile || profile_allows(item, profile->most[item], value))
		return 0;
	if (item != WEFT_PROFILE_TYPE && profile->most[item] != WEFT_PROFILE_NONE)
		snprintf(most, sizeof(most), "at most %u", profile->most[item]);
	if (!weft_strict_call(dev, WEFT_FAULT_STRICT_PROFILE, item, "%s %llu: %s has %s", name,
			      value, profile->adapter, most))
		return 0;
	return weft_refuse(&dev->ibdev, profile_items[item].err, "strict mode: %s %llu, for %s",
			   name, value, profile->adapter);
}

/* A process creates or resizes a QP. Returns 0, or the errno. */
int weft_profile_check_cap(struct weft_dev *dev, const struct ib_qp_cap *cap, bool srq)
{
	const struct {
		enum weft_profile_item item;
		u64 value;
	} wishes[] = {
		{ WEFT_PROFILE_SEND_WR, cap->max_send_wr },
		{ WEFT_PROFILE_SEND_SGE, cap->max_send_sge },
		{ WEFT_PROFILE_INLINE, cap->max_inline_data },
		/* they are ignored with an SRQ */
		{ WEFT_PROFILE_RECV_WR, srq ? 0 : cap->max_recv_wr },
		{ WEFT_PROFILE_RECV_SGE, srq ? 0 : cap->max_recv_sge },
	};
	int ret = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wishes) && !ret; i++)
		ret = weft_profile_exceeded(dev, wishes[i].item, wishes[i].value);
	return ret;
}

/* A process creates a QP. Returns 0, or the errno. */
int weft_profile_check_qp(struct weft_dev *dev, const struct ib_qp_init_attr *init)
{
	return weft_profile_exceeded(dev, WEFT_PROFILE_TYPE, init->qp_type) ?:
	       weft_profile_exceeded(dev, WEFT_PROFILE_QPS, atomic_read(&dev->num_qp) + 1) ?:
	       weft_profile_check_cap(dev, &init->cap, init->srq);
}
