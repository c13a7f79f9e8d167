/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection information (PI) of T10: regions that check, insert or strip a tuple of eight bytes
 * behind each block of data (ib_alloc_mr_integrity()).
 */
#ifndef WEFT_MEM_PI_H
#define WEFT_MEM_PI_H

#include <linux/jump_label.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct weft_iter;
struct weft_region;
struct weft_region_table;

#define WEFT_PI_TUPLE	8U

/* The memory of a registration, and how it is protected. */
struct weft_pi_terms {
	struct ib_sig_attrs	attrs;		/* the two domains, and what is checked */
	u32			interval;	/* bytes of data in front of each tuple */
	u32			num_data;	/* pieces of data */
	u32			num_meta;	/* pieces of tuples; they follow those of data */
	u64			data;		/* bytes of data */
	u64			meta;		/* bytes of tuples in memory */
};

/*
 * The PI of a region. An address in such a region, less its iova, is a position in the stream of
 * bytes that the wire has: data, with tuples between them if the wire domain has any.
 */
struct weft_pi {
	struct weft_pi_terms	now;		/* while the region is valid */
	struct weft_pi_terms	next;		/* of the registration that was last prepared */
	u32			max_data;	/* room for pieces of data */
	u32			max_meta;	/* room for pieces of tuples */
	/* the consumer has not asked for the status of the last registration */
	bool			unchecked;
	/*
	 * a tuple that is stripped, of which the first bytes may come in one packet and the others
	 * in the next
	 */
	u8			stripped[WEFT_PI_TUPLE];
	spinlock_t		lock;		/* of the members below */
	bool			failed;		/* @error is valid */
	struct ib_sig_err	error;		/* the first one */
	struct rcu_head		rcu;
};

/* There are regions with PI. */
DECLARE_STATIC_KEY_FALSE(weft_pi_key);

int weft_pi_create(struct weft_region *region, u32 max_data, u32 max_meta);
void weft_pi_free(struct weft_pi *pi);
int weft_pi_prepare(struct weft_pi *pi, const struct ib_sig_attrs *attrs);
void weft_pi_register(struct weft_region *region);
bool weft_pi_status(struct weft_pi *pi, struct ib_sig_err *error);
u32 weft_pi_wire_length(struct weft_region_table *table, u32 lkey, u32 length);
void weft_pi_copy(struct weft_iter *dst, struct weft_iter *src, u64 length);

#endif /* WEFT_MEM_PI_H */
