/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The limits of real adapters, for strict mode: a row for each adapter. */
#ifndef WEFT_OBJECT_PROFILE_H
#define WEFT_OBJECT_PROFILE_H

#include "object/dev.h"

struct ib_qp_cap;
struct ib_qp_init_attr;

/* The figures that a profile limits. They also number the calls for weft_strict_call(). */
enum weft_profile_item {
	WEFT_PROFILE_TYPE,		/* bits of enum ib_qp_type; 0: all */
	WEFT_PROFILE_QPS,
	WEFT_PROFILE_SEND_WR,
	WEFT_PROFILE_RECV_WR,
	WEFT_PROFILE_SEND_SGE,
	WEFT_PROFILE_RECV_SGE,
	WEFT_PROFILE_INLINE,
	WEFT_PROFILE_READS,		/* max_rd_atomic */
	WEFT_PROFILE_DEST_READS,	/* max_dest_rd_atomic */
	WEFT_PROFILE_CQE,
	WEFT_PROFILE_MRS,
	WEFT_PROFILE_SRQS,
	WEFT_PROFILE_ITEMS
};

/* The figure of an adapter that does not have such a thing at all. */
#define WEFT_PROFILE_NONE	U32_MAX

struct weft_profile {
	const char	*name;
	const char	*adapter;
	u32		most[WEFT_PROFILE_ITEMS];	/* 0: no figure is known */
};

int weft_profile_set(struct weft_dev *dev, const char *name);
ssize_t weft_profile_show(const struct weft_dev *dev, char *buf);
int weft_profile_exceeded(struct weft_dev *dev, enum weft_profile_item item, u64 value);
int weft_profile_check_cap(struct weft_dev *dev, const struct ib_qp_cap *cap, bool srq);
int weft_profile_check_qp(struct weft_dev *dev, const struct ib_qp_init_attr *init);

/* Does a process ask for more than the adapter of the profile has? Returns 0, or the errno. */
static __always_inline int weft_profile_check(struct ib_device *ibdev, const struct ib_udata *udata,
					      enum weft_profile_item item, u64 value)
{
	return weft_strict_is_on() && udata ?
	       weft_profile_exceeded(to_weft_dev(ibdev), item, value) : 0;
}

#endif /* WEFT_OBJECT_PROFILE_H */
