// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection information (PI) of T10.
 *
 * A region with PI has a memory domain and a wire domain. Either may have a tuple (guard,
 * application tag, reference tag) behind each block of data: in memory in a list of its own, on the
 * wire between the blocks. Data that pass from one domain to the other are copied, and the tuple
 * of the domain that they come from is checked, and passed on, changed, inserted or stripped.
 *
 * The guard is computed from the block in memory when the tuple is read, or has been written: for
 * each block once, and right after the block has been copied. No state of a sum is kept between
 * two accesses. So a block may be spread over packets, and what is read again, or is begun again,
 * gives the same result. The data of a block that is written have to come before its tuple.
 */
#include "mem/pi.h"

#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/checksum.h>

#include "compat/t10dif.h"
#include "mem/copy.h"
#include "mem/region.h"

/* As struct t10_pi_tuple, whose header wants a kernel with block devices. */
struct pi_tuple {
	__be16	guard_tag;	/* of the data */
	__be16	app_tag;	/* the consumer's */
	__be32	ref_tag;	/* says which block it is */
};

#define PI_APP_ESCAPE	cpu_to_be16(0xffff)
#define PI_REF_ESCAPE	cpu_to_be32(0xffffffff)

DEFINE_STATIC_KEY_FALSE(weft_pi_key);

/* Prepare an unpublished region. Return: 0 or -ENOMEM. May sleep. */
int weft_pi_create(struct weft_region *region, u32 max_data, u32 max_meta)
{
	struct weft_pi *pi = kzalloc(sizeof(*pi), GFP_KERNEL);

	if (!pi)
		return -ENOMEM;
	BUILD_BUG_ON(sizeof(struct pi_tuple) != WEFT_PI_TUPLE);
	spin_lock_init(&pi->lock);
	pi->max_data = max_data;
	pi->max_meta = max_meta;
	region->pi = pi;
	static_branch_inc(&weft_pi_key);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_pi_create);

/* Free the PI of a region that nobody accesses any more. May sleep. */
void weft_pi_free(struct weft_pi *pi)
{
	if (!pi)
		return;
	static_branch_dec(&weft_pi_key);
	/* weft_pi_wire_length() may look at it */
	kfree_rcu(pi, rcu);
}
WEFT_EXPORT_FOR_TEST(weft_pi_free);

/*
 * ---- Registration ----
 */

/* The T10-DIF of a domain; NULL: it has no tuples. */
static const struct ib_t10_dif_domain *pi_dif(const struct ib_sig_domain *domain)
{
	return domain->sig_type == IB_SIG_TYPE_T10_DIF ? &domain->sig.dif : NULL;
}

/* Bytes of a block on the wire. */
static u32 pi_stride(const struct weft_pi_terms *terms)
{
	return terms->interval + (pi_dif(&terms->attrs.wire) ? WEFT_PI_TUPLE : 0);
}

static bool pi_domain_valid(const struct ib_sig_domain *domain)
{
	const struct ib_t10_dif_domain *dif = pi_dif(domain);

	if (!dif)
		return domain->sig_type == IB_SIG_TYPE_NONE;
	return dif->pi_interval && dif->bg_type <= IB_T10DIF_CSUM;
}

/*
 * Take @attrs for the next registration, whose memory has been mapped. Return: 0; -EINVAL: the
 * status of the registration before has not been read, an attribute is invalid, no domain has
 * tuples, their intervals differ, or the memory is not of whole blocks, with as many tuples. A
 * consumer may map room for tuples that the memory domain does not have (isert does).
 */
int weft_pi_prepare(struct weft_pi *pi, const struct ib_sig_attrs *attrs)
{
	const struct ib_t10_dif_domain *mem = pi_dif(&attrs->mem), *wire = pi_dif(&attrs->wire);
	struct weft_pi_terms *next = &pi->next;
	u32 interval, rest;
	u64 blocks;

	if (pi->unchecked || !(mem || wire) || !pi_domain_valid(&attrs->mem) ||
	    !pi_domain_valid(&attrs->wire) ||
	    (mem && wire && mem->pi_interval != wire->pi_interval))
		return -EINVAL;
	interval = mem ? mem->pi_interval : wire->pi_interval;
	blocks = div_u64_rem(next->data, interval, &rest);
	if (!blocks || rest || (next->meta != blocks * WEFT_PI_TUPLE && (mem || next->meta)))
		return -EINVAL;
	next->attrs = *attrs;
	WRITE_ONCE(next->interval, interval);
	pi->unchecked = true;
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_pi_prepare);

/* The region is being registered: weft_fastreg_register(). Any context. */
void weft_pi_register(struct weft_region *region)
{
	struct weft_pi *pi = region->pi;
	unsigned long flags;

	pi->now = pi->next;
	region->num_pieces = pi->now.num_data;
	region->length = div_u64(pi->now.data, pi->now.interval) * pi_stride(&pi->now);
	spin_lock_irqsave(&pi->lock, flags);
	pi->failed = false;
	spin_unlock_irqrestore(&pi->lock, flags);
}
WEFT_EXPORT_FOR_TEST(weft_pi_register);

/* The first error since the registration, which is forgotten. Return: false: there was none. */
bool weft_pi_status(struct weft_pi *pi, struct ib_sig_err *error)
{
	unsigned long flags;
	bool failed;

	pi->unchecked = false;
	spin_lock_irqsave(&pi->lock, flags);
	failed = pi->failed;
	if (failed)
		*error = pi->error;
	pi->failed = false;
	spin_unlock_irqrestore(&pi->lock, flags);
	return failed;
}
WEFT_EXPORT_FOR_TEST(weft_pi_status);

/*
 * The bytes on the wire of @length bytes that a work request names by @lkey. If only the wire has
 * tuples, the consumer counts what it has mapped (rdma_rw_ctx_signature_init()): the data alone,
 * unless there is room for tuples, too. Any context.
 */
u32 weft_pi_wire_length(struct weft_region_table *table, u32 lkey, u32 length)
{
	const struct weft_region *region;
	const struct weft_pi_terms *next;
	u32 interval;

	rcu_read_lock();
	region = weft_region_peek(table, lkey);
	if (region && region->pi) {
		next = &region->pi->next;
		interval = READ_ONCE(next->interval);
		if (interval && !next->meta && !pi_dif(&next->attrs.mem))
			length += length / interval * WEFT_PI_TUPLE;
	}
	rcu_read_unlock();
	return length;
}
WEFT_EXPORT_FOR_TEST(weft_pi_wire_length);

/*
 * ---- Memory ----
 */

static void *pi_data_at(const struct weft_region *region, u64 offset, u64 *contiguous)
{
	const struct weft_pi_terms *now = &region->pi->now;

	return weft_pieces_at(region->pieces, now->num_data, now->data, offset, contiguous);
}

static void *pi_meta_at(const struct weft_region *region, u64 offset, u64 *contiguous)
{
	const struct weft_pi_terms *now = &region->pi->now;

	return weft_pieces_at(region->pieces + now->num_data, now->num_meta, now->meta, offset,
			      contiguous);
}

/* Copy the tuple of a block from memory, or with @store to it. It may lie in several pieces. */
static void pi_move_tuple(const struct weft_region *region, u64 block,
			  struct pi_tuple *tuple, bool store)
{
	u64 done, piece;
	void *at;

	for (done = 0; done < WEFT_PI_TUPLE; done += piece) {
		at = pi_meta_at(region, block * WEFT_PI_TUPLE + done, &piece);
		piece = min_t(u64, piece, WEFT_PI_TUPLE - done);
		if (store)
			memcpy(at, (u8 *)tuple + done, piece);
		else
			memcpy((u8 *)tuple + done, at, piece);
	}
}

/* The guard of a block in memory. */
static __be16 pi_guard(const struct weft_region *region, const struct ib_t10_dif_domain *dif,
		       u64 block)
{
	__wsum sum = (__force __wsum)cpu_to_be16(dif->bg);
	u32 interval = region->pi->now.interval;
	u16 crc = dif->bg;
	u64 done, piece;
	const void *at;

	for (done = 0; done < interval; done += piece) {
		at = pi_data_at(region, block * interval + done, &piece);
		piece = min_t(u64, piece, interval - done);
		if (dif->bg_type == IB_T10DIF_CSUM)
			sum = csum_block_add(sum, csum_partial(at, piece, 0), done);
		else
			crc = compat_crc_t10dif(crc, at, piece);
	}
	if (dif->bg_type == IB_T10DIF_CSUM)
		return (__force __be16)csum_fold(sum);
	return cpu_to_be16(crc);
}

/*
 * ---- Tuples ----
 */

/* The reference tag that a block should have. */
static u32 pi_ref(const struct ib_t10_dif_domain *dif, u64 block)
{
	return dif->ref_tag + (dif->ref_remap ? (u32)block : 0);
}

/* Does the tuple say that its block is not to be checked? */
static bool pi_escapes(const struct ib_t10_dif_domain *dif, const struct pi_tuple *tuple)
{
	return dif->app_escape && tuple->app_tag == PI_APP_ESCAPE &&
	       (!dif->ref_escape || tuple->ref_tag == PI_REF_ESCAPE);
}

/* Only the first error is kept. Its offset is in a stream of blocks with tuples. */
static noinline void pi_fail(const struct weft_region *region, u64 block,
			     enum ib_sig_err_type type, u32 expected, u32 actual)
{
	struct weft_pi *pi = region->pi;
	unsigned long flags;

	spin_lock_irqsave(&pi->lock, flags);
	if (!pi->failed) {
		pi->failed = true;
		pi->error = (struct ib_sig_err){
			.err_type = type,
			.expected = expected,
			.actual = actual,
			.sig_err_offset = block * (pi->now.interval + WEFT_PI_TUPLE),
			.key = region->key,
		};
	}
	spin_unlock_irqrestore(&pi->lock, flags);
}

/* The bits of a tuple that are compared: each bit of @check_mask stands for a byte. */
static u64 pi_mask(u8 check_mask)
{
	u64 mask = 0;
	int i;

	for (i = 0; i < WEFT_PI_TUPLE; i++)
		if (check_mask & BIT(i))
			mask |= 0xffULL << (8 * i);
	return mask;
}

static void pi_check(const struct weft_region *region, const struct ib_t10_dif_domain *dif,
		     u64 block, const struct pi_tuple *tuple)
{
	u64 mask = pi_mask(region->pi->now.attrs.check_mask);
	u32 expected, actual;

	if (!mask || pi_escapes(dif, tuple))
		return;
	if (mask >> 48) {
		expected = be16_to_cpu(pi_guard(region, dif, block));
		actual = be16_to_cpu(tuple->guard_tag);
		if ((expected ^ actual) & (u32)(mask >> 48)) {
			pi_fail(region, block, IB_SIG_BAD_GUARD, expected, actual);
			return;
		}
	}
	expected = pi_ref(dif, block);
	actual = be32_to_cpu(tuple->ref_tag);
	if ((expected ^ actual) & (u32)mask) {
		pi_fail(region, block, IB_SIG_BAD_REFTAG, expected, actual);
		return;
	}
	expected = dif->app_tag;
	actual = be16_to_cpu(tuple->app_tag);
	if ((expected ^ actual) & (u16)(mask >> 32) & dif->apptag_check_mask)
		pi_fail(region, block, IB_SIG_BAD_APPTAG, expected, actual);
}

/*
 * Make the tuple of a block for the domain @to of that for @from, or NULL: of nothing. What both
 * domains have alike is passed on as it is, also if it is wrong.
 */
static void pi_convert(const struct weft_region *region, const struct ib_t10_dif_domain *from,
		       const struct ib_t10_dif_domain *to, u64 block, struct pi_tuple *tuple)
{
	if (!from || from->bg_type != to->bg_type)
		tuple->guard_tag = pi_guard(region, to, block);
	if (!from || from->app_tag != to->app_tag)
		tuple->app_tag = cpu_to_be16(to->app_tag);
	if (!from || from->ref_tag != to->ref_tag)
		tuple->ref_tag = cpu_to_be32(pi_ref(to, block));
}

/* A block is being read: check its tuple in memory, and make the one for the wire. */
static void pi_read_block(const struct weft_region *region, u64 block, struct pi_tuple *tuple)
{
	const struct ib_sig_attrs *attrs = &region->pi->now.attrs;
	const struct ib_t10_dif_domain *from = pi_dif(&attrs->mem), *to = pi_dif(&attrs->wire);

	if (from) {
		pi_move_tuple(region, block, tuple, false);
		pi_check(region, from, block, tuple);
	}
	if (to)
		pi_convert(region, from, to, block, tuple);
}

/*
 * A block has been written: check its tuple from the wire, which is in memory already unless it is
 * stripped, and make the one for memory.
 */
static void pi_wrote_block(const struct weft_region *region, u64 block)
{
	const struct ib_sig_attrs *attrs = &region->pi->now.attrs;
	const struct ib_t10_dif_domain *from = pi_dif(&attrs->wire), *to = pi_dif(&attrs->mem);
	struct pi_tuple tuple;

	if (from) {
		if (to)
			pi_move_tuple(region, block, &tuple, false);
		else
			memcpy(&tuple, region->pi->stripped, sizeof(tuple));
		pi_check(region, from, block, &tuple);
	}
	if (to) {
		pi_convert(region, from, to, block, &tuple);
		pi_move_tuple(region, block, &tuple, true);
	}
}

/*
 * ---- Copies ----
 */

/* The block of the byte at the position of @iter, and in @offset the bytes before it there. */
static u64 pi_block(const struct weft_iter *iter, u32 *offset)
{
	const struct weft_span *span = iter->span;

	return div_u64_rem(span->addr + iter->offset - span->region->iova,
			   pi_stride(&span->region->pi->now), offset);
}

/*
 * The next bytes of the wire, and how many are contiguous there. The tuple of a block that is
 * read is made in @tuple.
 */
static void *pi_at(struct weft_iter *iter, bool write, struct pi_tuple *tuple, u64 *length)
{
	const struct weft_region *region = iter->span->region;
	u32 interval, offset;
	u64 block;
	void *at;

	if (!region || !region->pi)
		return weft_iter_piece(iter, length);
	interval = region->pi->now.interval;
	block = pi_block(iter, &offset);
	if (offset < interval) {
		at = pi_data_at(region, block * interval + offset, length);
		*length = min_t(u64, *length, interval - offset);
		return at;
	}
	offset -= interval;
	*length = WEFT_PI_TUPLE - offset;
	if (!write) {
		pi_read_block(region, block, tuple);
		return (u8 *)tuple + offset;
	}
	if (!pi_dif(&region->pi->now.attrs.mem))
		return region->pi->stripped + offset;
	at = pi_meta_at(region, block * WEFT_PI_TUPLE + offset, length);
	*length = min_t(u64, *length, WEFT_PI_TUPLE - offset);
	return at;
}

/* Advance by @length bytes, which have been copied. */
static void pi_advance(struct weft_iter *iter, bool write, u64 length)
{
	const struct weft_region *region = iter->span->region;
	struct pi_tuple tuple;
	u32 offset;
	u64 block;

	iter->offset += length;
	if (!region || !region->pi)
		return;
	block = pi_block(iter, &offset);
	if (offset)
		return;
	if (write)
		pi_wrote_block(region, block - 1);
	else if (!pi_dif(&region->pi->now.attrs.wire))
		pi_read_block(region, block - 1, &tuple);
}

/*
 * weft_copy() from or to a region with PI, or both. Both positions are within a span that has
 * @length bytes left.
 */
void weft_pi_copy(struct weft_iter *dst, struct weft_iter *src, u64 length)
{
	struct pi_tuple tuple, unused;
	u64 to_length, piece;
	void *to, *from;

	while (length) {
		to = pi_at(dst, true, &unused, &to_length);
		from = pi_at(src, false, &tuple, &piece);
		piece = min3(piece, to_length, length);
		memcpy(to, from, piece);
		pi_advance(dst, true, piece);
		pi_advance(src, false, piece);
		length -= piece;
	}
}
