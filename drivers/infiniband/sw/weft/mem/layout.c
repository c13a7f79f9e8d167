// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The memory of a region that has no memory of its own.
 *
 * A process describes it by a work request. All of it is checked from a private copy, when the
 * layout is made: keys, protection domain, rights, ranges. From then on a layout has a reference to
 * each leaf, so an access only has to look up where a byte is. A leaf has memory of its own, so
 * there is never a second level.
 *
 * A leaf knows the published layouts that it is a part of. Before it goes, its owner replaces their
 * mkeys by successors without memory (weft_mkey_part_ends()), and then waits for the accesses in
 * progress, whose references to the mkeys keep the layouts and so the leaf.
 */
#include "mem/layout.h"

#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "mem/region.h"

/*
 * The rights that a leaf must have for those of the layout. Everybody may read locally; what the
 * peer may do is a right of the mkey alone, as its owner could give it to the leaf, too (and as
 * with mlx5).
 */
static int layout_check_leaf(const struct weft_region *leaf, const struct weft_accessor *who,
			     u32 access)
{
	/* pages that come and go would need a list of their own for each leaf */
	if (leaf->kind != WEFT_REGION_MR || leaf->pd != who->pd || leaf->mm ||
	    (!leaf->blocks && !leaf->pieces) || weft_region_is_sealed(leaf))
		return -EINVAL;
	return access & ~leaf->access & IB_ACCESS_LOCAL_WRITE ? -EACCES : 0;
}

/* Fill in a part whose leaf has a reference, which the part then owns. */
static int layout_bind(struct weft_layout_part *part, struct weft_region *leaf,
		       const struct weft_accessor *who, const struct weft_layout_request *request)
{
	u64 extent;
	int err;

	err = layout_check_leaf(leaf, who, request->access);
	if (err)
		return err;
	if (check_mul_overflow(part->stride, (u64)request->passes - 1, &extent) ||
	    check_add_overflow(extent, part->length, &extent) ||
	    !weft_region_contains(leaf, part->addr, extent))
		return -ERANGE;
	part->leaf = leaf;
	return 0;
}

/* Append the part that @sge, and perhaps the skip behind it, describes. */
static int layout_add(struct weft_layout *layout, const struct weft_accessor *who,
		      const struct weft_layout_request *request, const struct weft_sge *sge)
{
	struct weft_layout_part *part = &layout->parts[layout->num];
	const struct weft_sge *skip = request->interleaved ? sge + 1 : NULL;
	struct weft_region *leaf;
	int err;

	if (!sge->length || (skip && (skip->lkey || skip->length || skip->addr > U32_MAX)))
		return -EINVAL;
	part->addr = sge->addr;
	part->length = sge->length;
	part->stride = sge->length + (skip ? skip->addr : 0);
	part->start = layout->pass;
	part->layout = layout;
	leaf = weft_region_get(who->table, sge->lkey);
	if (!leaf)
		return -EINVAL;
	err = layout_bind(part, leaf, who, request);
	if (err) {
		weft_region_put(leaf);
		return err;
	}
	layout->pass += part->length;
	layout->num++;
	return 0;
}

/*
 * Make a layout of at most @max parts for the QP @who. Returns it, or ERR_PTR(): -EINVAL: no parts,
 * too many, empty ones, or a leaf that is unknown, of another protection domain, on-demand, sealed,
 * or has no memory of its own; -EACCES: a leaf is not for writing; -ERANGE: outside of a leaf, or
 * longer than an address space; -ENOMEM. Any context.
 */
struct weft_layout *weft_layout_create(const struct weft_accessor *who,
				       const struct weft_layout_request *request, u32 max,
				       gfp_t gfp)
{
	u32 step = request->interleaved ? 2 : 1, num = request->num_sge / step, i;
	struct weft_layout *layout;
	int err = 0;

	if (!num || num > max || request->num_sge % step || !request->passes)
		return ERR_PTR(-EINVAL);
	layout = kzalloc(struct_size(layout, parts, num), gfp);
	if (!layout)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < num && !err; i++)
		err = layout_add(layout, who, request, request->sge + i * step);
	if (!err && check_mul_overflow(layout->pass, (u64)request->passes, &layout->length))
		err = -ERANGE;
	if (err) {
		weft_layout_free(layout);
		return ERR_PTR(err);
	}
	return layout;
}
WEFT_EXPORT_FOR_TEST(weft_layout_create);

/*
 * The mkey is about to be published. The lock of the table is held. Return: false: a leaf is
 * sealed, nothing is changed.
 */
bool weft_layout_publish(struct weft_region *mkey)
{
	struct weft_layout *layout = mkey->layout;
	u32 i;

	lockdep_assert_held(&mkey->table->xa.xa_lock);
	for (i = 0; i < layout->num; i++)
		if (weft_region_is_sealed(layout->parts[i].leaf))
			return false;
	layout->mkey = mkey;
	for (i = 0; i < layout->num; i++)
		hlist_add_head(&layout->parts[i].beside, &layout->parts[i].leaf->parts);
	return true;
}

/* The mkey is not published any more. The lock of the table is held. */
void weft_layout_unpublish(struct weft_region *mkey)
{
	struct weft_layout *layout = mkey->layout;
	u32 i;

	lockdep_assert_held(&mkey->table->xa.xa_lock);
	for (i = 0; i < layout->num; i++)
		hlist_del(&layout->parts[i].beside);
}

/* A published mkey that has @leaf as a part, with a reference; NULL: there is none. */
struct weft_region *weft_layout_user(struct weft_region *leaf)
{
	struct weft_layout_part *part;
	struct weft_region *mkey = NULL;
	unsigned long flags;

	xa_lock_irqsave(&leaf->table->xa, flags);
	part = hlist_entry_safe(leaf->parts.first, struct weft_layout_part, beside);
	if (part) {
		mkey = part->layout->mkey;
		refcount_inc(&mkey->refs);
	}
	xa_unlock_irqrestore(&leaf->table->xa, flags);
	return mkey;
}
WEFT_EXPORT_FOR_TEST(weft_layout_user);

/* Nobody accesses the memory any more. Any context. */
void weft_layout_free(struct weft_layout *layout)
{
	u32 i;

	for (i = 0; i < layout->num; i++)
		weft_region_put(layout->parts[i].leaf);
	kfree(layout);
}
WEFT_EXPORT_FOR_TEST(weft_layout_free);

/*
 * The kernel address of the byte at @offset, which is below the length. @contiguous: the bytes that
 * follow contiguously.
 */
void *weft_layout_at(const struct weft_layout *layout, u64 offset, u64 *contiguous)
{
	const struct weft_layout_part *part = layout->parts;
	u64 pass = div64_u64_rem(offset, layout->pass, &offset);
	void *at;

	while (offset - part->start >= part->length)
		part++;
	offset -= part->start;
	at = weft_region_at(&(struct weft_span){ .region = part->leaf },
			    part->addr + pass * part->stride + offset, contiguous);
	*contiguous = min(*contiguous, part->length - offset);
	return at;
}
WEFT_EXPORT_FOR_TEST(weft_layout_at);
