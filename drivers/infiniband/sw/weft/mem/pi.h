/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection information (PI): regions that check, insert or strip a signature behind each block of
 * data: a tuple of T10 (ib_alloc_mr_integrity()), and in mkeys also CRCs.
 */
#ifndef WEFT_MEM_PI_H
#define WEFT_MEM_PI_H

#include <linux/jump_label_ratelimit.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "mem/signature.h"

struct weft_iter;
struct weft_region;
struct weft_region_table;

#define WEFT_PI_TUPLE	8U

/* The signatures of a domain. */
struct weft_pi_domain {
	enum weft_signature_type type;
	u64			seed;		/* of the guard */
	u64			tags;		/* of the first block, as in a tuple */
	bool			ref_remap;	/* the reference tag counts the blocks */
	bool			app_escape;	/* an application tag may forbid the check */
	bool			ref_escape;	/* only if the reference tag does, too */
	u64			check;		/* the bits that are compared */
};

/* The memory of a registration, and how it is protected. */
struct weft_pi_terms {
	struct weft_pi_domain	mem;
	struct weft_pi_domain	wire;
	u64			copy;		/* the bits that both domains have alike */
	bool			app_first;	/* check the application tag first */
	u32			interval;	/* bytes of data in front of each signature */
	u32			num_data;	/* pieces of data */
	u32			num_meta;	/* pieces of tuples; they follow those of data */
	u64			data;		/* bytes of data */
	u64			meta;		/* bytes of tuples in memory */
};

/* A wrong signature. */
struct weft_pi_error {
	enum ib_sig_err_type	type;
	u32			key;		/* of the region */
	u64			offset;		/* of the block, in the domain that was checked */
	u64			computed;	/* of the data, or what the terms say */
	u64			found;		/* in the signature */
};

/* The first error of a region, and of all its successors. */
struct weft_pi_report {
	refcount_t		refs;
	spinlock_t		lock;		/* of the members below */
	bool			failed;		/* @error is valid */
	struct weft_pi_error	error;
};

/*
 * The PI of a region. An address in such a region, less its iova, is a position in the stream of
 * bytes that the wire has: data, with signatures between them if the wire domain has any. A region
 * with a layout has the stream of the memory domain there, others have data and tuples apart.
 */
struct weft_pi {
	struct weft_pi_terms	now;		/* while the region is valid */
	struct weft_pi_terms	next;		/* of the registration that was last prepared */
	u32			max_data;	/* room for pieces of data */
	u32			max_meta;	/* room for pieces of tuples */
	/* the consumer has not asked for the status of the last registration */
	bool			unchecked;
	/*
	 * a signature that has no place in memory, and of which the first bytes have come in one
	 * packet, the others are to come in the next
	 */
	u8			held[WEFT_SIGNATURE_MAX];
	struct weft_pi_report	*report;	/* with a reference */
	struct rcu_head		rcu;
};

/* The signatures that a process wants. The request is a private copy, not checked yet. */
struct weft_pi_request {
	const struct weft_signature *mem;
	const struct weft_signature *wire;
	u32			block;		/* enum weft_signature_block */
	u8			check_mask;
	u8			copy_mask;
	bool			copy;		/* @copy_mask is valid */
};

/* There are regions with PI. */
extern struct static_key_false_deferred weft_pi_key;

int weft_pi_create(struct weft_region *region, u32 max_data, u32 max_meta);
void weft_pi_free(struct weft_pi *pi);
int weft_pi_prepare(struct weft_pi *pi, const struct ib_sig_attrs *attrs);
void weft_pi_register(struct weft_region *region);
bool weft_pi_status(struct weft_pi *pi, struct ib_sig_err *error);
struct weft_pi_report *weft_pi_report_create(gfp_t gfp);
struct weft_pi_report *weft_pi_report_get(struct weft_pi_report *report);
void weft_pi_report_put(struct weft_pi_report *report);
bool weft_pi_report_take(struct weft_pi_report *report, struct weft_pi_error *error);
void weft_pi_report_keep(struct weft_pi_report *report, const struct weft_pi_error *error);
int weft_pi_sign(struct weft_region *mkey, const struct weft_pi_request *request, gfp_t gfp);
bool weft_pi_failed(struct weft_region_table *table, u32 lkey);
void weft_pi_exit(void);
u32 weft_pi_wire_length(struct weft_region_table *table, u32 lkey, u32 length);
void weft_pi_copy(struct weft_iter *dst, struct weft_iter *src, u64 length);

#endif /* WEFT_MEM_PI_H */
