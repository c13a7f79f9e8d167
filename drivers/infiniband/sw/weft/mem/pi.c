// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection information (PI).
 *
 * A region with PI has a memory domain and a wire domain. Either may have a signature behind each
 * block of data: a tuple of T10 (guard, application tag, reference tag) or a CRC. In memory, the
 * tuples of a kernel consumer are in a list of their own; in a process's mkey the signatures are
 * between the blocks, as they are on the wire. Data that pass from one domain to the other are
 * copied, and the signature of the domain that they come from is checked, and passed on, changed,
 * inserted or stripped.
 *
 * The guard is computed from the block in memory when the signature is read, or has been written:
 * for each block once, and right after the block has been copied. No state of a sum is kept between
 * two accesses. So a block may be spread over packets, and what is read again, or is begun again,
 * gives the same result. The data of a block that is written have to come before its signature.
 *
 * A process may change its memory at any time. Then it may get an error that is none, or miss one.
 */
#include "mem/pi.h"

#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "mem/copy.h"
#include "mem/layout.h"
#include "mem/region.h"

DEFINE_STATIC_KEY_DEFERRED_FALSE(weft_pi_key, HZ / 10);

/*
 * ---- Errors ----
 */

/* Has one reference. NULL: no memory. May sleep. */
struct weft_pi_report *weft_pi_report_create(gfp_t gfp)
{
	struct weft_pi_report *report = kzalloc(sizeof(*report), gfp);

	if (!report)
		return NULL;
	refcount_set(&report->refs, 1);
	spin_lock_init(&report->lock);
	static_branch_inc(&weft_pi_key.key);
	return report;
}
WEFT_EXPORT_FOR_TEST(weft_pi_report_create);

/* One more reference. @report may be NULL. */
struct weft_pi_report *weft_pi_report_get(struct weft_pi_report *report)
{
	if (report)
		refcount_inc(&report->refs);
	return report;
}

/* @report may be NULL. Any context. */
void weft_pi_report_put(struct weft_pi_report *report)
{
	if (!report || !refcount_dec_and_test(&report->refs))
		return;
	kfree(report);
	static_branch_slow_dec_deferred(&weft_pi_key);
}
WEFT_EXPORT_FOR_TEST(weft_pi_report_put);

/* No region is left. */
void weft_pi_exit(void)
{
	static_key_deferred_flush(&weft_pi_key);
}

/* The first error, which is forgotten. Return: false: there was none. */
bool weft_pi_report_take(struct weft_pi_report *report, struct weft_pi_error *error)
{
	unsigned long flags;
	bool failed;

	spin_lock_irqsave(&report->lock, flags);
	failed = report->failed;
	if (failed)
		*error = report->error;
	report->failed = false;
	spin_unlock_irqrestore(&report->lock, flags);
	return failed;
}
WEFT_EXPORT_FOR_TEST(weft_pi_report_take);

/* Has the mkey with the key @lkey an error that its process has not taken? Any context. */
bool weft_pi_failed(struct weft_region_table *table, u32 lkey)
{
	struct weft_region *mkey = weft_region_get(table, lkey);
	bool failed;

	if (!mkey)
		return false;
	failed = mkey->report && READ_ONCE(mkey->report->failed);
	weft_region_put(mkey);
	return failed;
}
WEFT_EXPORT_FOR_TEST(weft_pi_failed);

/* Only the first error is kept. Any context. */
void weft_pi_report_keep(struct weft_pi_report *report, const struct weft_pi_error *error)
{
	unsigned long flags;

	spin_lock_irqsave(&report->lock, flags);
	if (!report->failed)
		report->error = *error;
	report->failed = true;
	spin_unlock_irqrestore(&report->lock, flags);
}

/* The first error since the registration, which is forgotten. Return: false: there was none. */
bool weft_pi_status(struct weft_pi *pi, struct ib_sig_err *error)
{
	struct weft_pi_error found;

	pi->unchecked = false;
	if (!weft_pi_report_take(pi->report, &found))
		return false;
	*error = (struct ib_sig_err){
		.err_type = found.type,
		.expected = found.computed,
		.actual = found.found,
		.sig_err_offset = found.offset,
		.key = found.key,
	};
	return true;
}
WEFT_EXPORT_FOR_TEST(weft_pi_status);

/*
 * ---- Terms ----
 */

/* Prepare an unpublished region. Return: 0 or -ENOMEM. May sleep. */
int weft_pi_create(struct weft_region *region, u32 max_data, u32 max_meta)
{
	struct weft_pi *pi = kzalloc(sizeof(*pi), GFP_KERNEL);

	if (!pi)
		return -ENOMEM;
	pi->report = weft_pi_report_create(GFP_KERNEL);
	if (!pi->report) {
		kfree(pi);
		return -ENOMEM;
	}
	pi->max_data = max_data;
	pi->max_meta = max_meta;
	region->pi = pi;
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_pi_create);

/* Free the PI of a region that nobody accesses any more. @pi may be NULL. Any context. */
void weft_pi_free(struct weft_pi *pi)
{
	if (!pi)
		return;
	weft_pi_report_put(pi->report);
	/* weft_pi_wire_length() may look at it */
	kfree_rcu(pi, rcu);
}
WEFT_EXPORT_FOR_TEST(weft_pi_free);

/* How the signatures of a domain look. */
static const struct weft_signature_form *pi_form(const struct weft_pi_domain *domain)
{
	return weft_signature_form(domain->type);
}

/* Bytes of a signature in a domain. */
static u32 pi_size(const struct weft_pi_domain *domain)
{
	return pi_form(domain)->size;
}

/* Bytes of a block on the wire. */
static u32 pi_stride(const struct weft_pi_terms *terms)
{
	return terms->interval + pi_size(&terms->wire);
}

/* Bytes of a block in a layout. */
static u32 pi_layout_stride(const struct weft_pi_terms *terms)
{
	return terms->interval + pi_size(&terms->mem);
}

static bool pi_is_dif(const struct weft_pi_domain *domain)
{
	return domain->type == WEFT_SIGNATURE_DIF_CRC || domain->type == WEFT_SIGNATURE_DIF_CSUM;
}

/* The bits of a signature that a mask of verbs names: each of its bits stands for a byte. */
static u64 pi_mask(u8 mask)
{
	u64 bits = 0;
	int i;

	for (i = 0; i < WEFT_SIGNATURE_MAX; i++)
		if (mask & BIT(i))
			bits |= 0xffULL << (8 * i);
	return bits;
}

static u64 pi_tags_of(u16 app, u32 ref)
{
	return (u64)app << 32 | ref;
}

/* The bits of the tags that both domains have alike. */
static u64 pi_same_tags(const struct weft_pi_domain *mem, const struct weft_pi_domain *wire)
{
	const u64 differs = mem->tags ^ wire->tags;
	u64 same = 0;

	if (!pi_is_dif(mem) || !pi_is_dif(wire))
		return 0;
	if (!(differs & WEFT_SIGNATURE_APP))
		same |= WEFT_SIGNATURE_APP;
	if (!(differs & WEFT_SIGNATURE_REF))
		same |= WEFT_SIGNATURE_REF;
	return same;
}

/*
 * ---- Terms of a kernel consumer ----
 */

/* Return: false: invalid. */
static bool pi_take_attrs(struct weft_pi_domain *domain, const struct ib_sig_domain *attrs,
			  u8 check_mask)
{
	const struct ib_t10_dif_domain *dif = &attrs->sig.dif;

	*domain = (struct weft_pi_domain){ .type = WEFT_SIGNATURE_NONE };
	if (attrs->sig_type != IB_SIG_TYPE_T10_DIF)
		return attrs->sig_type == IB_SIG_TYPE_NONE;
	domain->type = dif->bg_type == IB_T10DIF_CSUM ? WEFT_SIGNATURE_DIF_CSUM :
							WEFT_SIGNATURE_DIF_CRC;
	domain->seed = dif->bg;
	domain->tags = pi_tags_of(dif->app_tag, dif->ref_tag);
	domain->ref_remap = dif->ref_remap;
	domain->app_escape = dif->app_escape;
	domain->ref_escape = dif->ref_escape;
	domain->check = pi_mask(check_mask) &
			(~WEFT_SIGNATURE_APP | pi_tags_of(dif->apptag_check_mask, 0));
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
	struct weft_pi_terms *next = &pi->next;
	struct weft_pi_domain mem, wire;
	u32 interval, rest;
	u64 blocks;

	if (pi->unchecked || !pi_take_attrs(&mem, &attrs->mem, attrs->check_mask) ||
	    !pi_take_attrs(&wire, &attrs->wire, attrs->check_mask) ||
	    !(pi_is_dif(&mem) || pi_is_dif(&wire)) ||
	    (pi_is_dif(&mem) && pi_is_dif(&wire) &&
	     attrs->mem.sig.dif.pi_interval != attrs->wire.sig.dif.pi_interval))
		return -EINVAL;
	interval = (pi_is_dif(&mem) ? &attrs->mem : &attrs->wire)->sig.dif.pi_interval;
	blocks = div_u64_rem(next->data, interval, &rest);
	if (!blocks || rest ||
	    (next->meta != blocks * WEFT_PI_TUPLE && (pi_is_dif(&mem) || next->meta)))
		return -EINVAL;
	next->mem = mem;
	next->wire = wire;
	next->copy = pi_same_tags(&mem, &wire);
	if (mem.type == wire.type)
		next->copy |= pi_form(&mem)->guard;
	WRITE_ONCE(next->interval, interval);
	pi->unchecked = true;
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_pi_prepare);

/* The region is being registered: weft_fastreg_register(). Any context. */
void weft_pi_register(struct weft_region *region)
{
	struct weft_pi *pi = region->pi;
	struct weft_pi_error unread;

	pi->now = pi->next;
	region->num_pieces = pi->now.num_data;
	region->length = div_u64(pi->now.data, pi->now.interval) * pi_stride(&pi->now);
	weft_pi_report_take(pi->report, &unread);
}
WEFT_EXPORT_FOR_TEST(weft_pi_register);

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
		if (interval && !next->meta && !pi_is_dif(&next->mem))
			length += length / interval * WEFT_PI_TUPLE;
	}
	rcu_read_unlock();
	return length;
}
WEFT_EXPORT_FOR_TEST(weft_pi_wire_length);

/*
 * ---- Terms of a process ----
 */

static const u32 pi_blocks[] = {
	[WEFT_SIGNATURE_BLOCK_512]	= 512,
	[WEFT_SIGNATURE_BLOCK_520]	= 520,
	[WEFT_SIGNATURE_BLOCK_4048]	= 4048,
	[WEFT_SIGNATURE_BLOCK_4096]	= 4096,
	[WEFT_SIGNATURE_BLOCK_4160]	= 4160,
};

/* Return: false: invalid. */
static bool pi_take_domain(struct weft_pi_domain *domain, const struct weft_signature *from,
			   u8 check_mask)
{
	const struct weft_signature_form *form = weft_signature_form(from->type);
	u32 allowed;

	if (!form)
		return false;
	*domain = (struct weft_pi_domain){
		.type = from->type,
		.seed = from->flags & WEFT_SIGNATURE_SEED ? U64_MAX : 0,
		.tags = pi_tags_of(from->app_tag, from->ref_tag),
		.ref_remap = from->flags & WEFT_SIGNATURE_REF_REMAP,
		.app_escape = from->flags & (WEFT_SIGNATURE_APP_ESCAPE |
					     WEFT_SIGNATURE_REF_ESCAPE),
		.ref_escape = from->flags & WEFT_SIGNATURE_REF_ESCAPE,
		.check = pi_mask(check_mask) & form->bits,
	};
	if (pi_is_dif(domain))
		return !(from->flags & ~WEFT_SIGNATURE_FLAGS);
	/* only the kind of a CRC can be chosen, and its seed */
	allowed = domain->type ? WEFT_SIGNATURE_SEED : 0;
	return !domain->tags && !(from->flags & ~allowed);
}

static bool pi_take_request(struct weft_pi_terms *terms, const struct weft_pi_request *request)
{
	struct weft_pi_domain *mem = &terms->mem, *wire = &terms->wire;

	if (request->block >= ARRAY_SIZE(pi_blocks) ||
	    !pi_take_domain(mem, request->mem, request->check_mask) ||
	    !pi_take_domain(wire, request->wire, request->check_mask) ||
	    !(mem->type || wire->type))
		return false;
	terms->interval = pi_blocks[array_index_nospec(request->block, ARRAY_SIZE(pi_blocks))];
	terms->app_first = true;
	terms->copy = pi_same_tags(mem, wire);
	if (mem->type == wire->type && mem->seed == wire->seed)
		terms->copy |= pi_form(mem)->guard;
	if (!request->copy)
		return true;
	terms->copy = pi_mask(request->copy_mask);
	return mem->type == wire->type || (pi_is_dif(mem) && pi_is_dif(wire));
}

/*
 * A pass is not shorter than a block: of one that is scattered by the byte, each byte would be
 * looked for, and for one byte of its signature all of them.
 *
 * Return: 0; -EINVAL: the layout is not of whole blocks, or has shorter passes; -ERANGE: too long.
 */
static int pi_measure(struct weft_region *mkey, struct weft_pi_terms *terms)
{
	u32 rest;
	u64 blocks = div_u64_rem(mkey->layout->length, pi_layout_stride(terms), &rest);

	if (!blocks || rest || mkey->layout->pass < pi_layout_stride(terms))
		return -EINVAL;
	return check_mul_overflow(blocks, (u64)pi_stride(terms), &mkey->length) ? -ERANGE : 0;
}

/*
 * Let @mkey, which has a layout and is not published yet, have the signatures of @request, which is
 * not trusted. Return: 0; -EINVAL: @mkey has not been created for signatures, a type, flag or block
 * that does not exist, tags of a CRC, no signature at all, copies between signatures of different
 * structure, a layout that is not of whole blocks, or whose passes are shorter than one; -ERANGE:
 * longer than an address space; -ENOMEM. Any context.
 */
int weft_pi_sign(struct weft_region *mkey, const struct weft_pi_request *request, gfp_t gfp)
{
	struct weft_pi *pi;
	int err;

	if (!mkey->report)
		return -EINVAL;
	pi = kzalloc(sizeof(*pi), gfp);
	if (!pi)
		return -ENOMEM;
	err = pi_take_request(&pi->now, request) ? pi_measure(mkey, &pi->now) : -EINVAL;
	if (err) {
		kfree(pi);
		return err;
	}
	pi->report = weft_pi_report_get(mkey->report);
	mkey->pi = pi;
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_pi_sign);

/*
 * ---- Memory ----
 */

/* The byte at @offset in the data of a block. The @contiguous bytes may exceed the block. */
static void *pi_data_at(const struct weft_region *region, u64 block, u32 offset, u64 *contiguous)
{
	const struct weft_pi_terms *now = &region->pi->now;

	if (region->layout)
		return weft_layout_at(region->layout, block * pi_layout_stride(now) + offset,
				      contiguous);
	return weft_pieces_at(region->pieces, now->num_data, now->data,
			      block * now->interval + offset, contiguous);
}

/* The same of the signature. */
static void *pi_meta_at(const struct weft_region *region, u64 block, u32 offset, u64 *contiguous)
{
	const struct weft_pi_terms *now = &region->pi->now;

	if (region->layout)
		return pi_data_at(region, block, now->interval + offset, contiguous);
	return weft_pieces_at(region->pieces + now->num_data, now->num_meta, now->meta,
			      block * WEFT_PI_TUPLE + offset, contiguous);
}

/* Copy @size bytes of a block's signature from memory, or with @store to it. */
static void pi_move(const struct weft_region *region, u64 block, u8 *signature, u32 size,
		    bool store)
{
	u64 piece;
	u32 done;
	void *at;

	for (done = 0; done < size; done += piece) {
		at = pi_meta_at(region, block, done, &piece);
		piece = min_t(u64, piece, size - done);
		if (store)
			weft_copy_piece(at, signature + done, piece);
		else
			memcpy(signature + done, at, piece);
	}
}

/* The guard of a block in memory, in its place in the signature. */
static u64 pi_guard(const struct weft_region *region, const struct weft_pi_domain *domain,
		    u64 block)
{
	const struct weft_signature_form *form = pi_form(domain);
	const u32 interval = region->pi->now.interval;
	u64 sum = form->begin(domain->seed), piece;
	const void *at;
	u32 done;

	for (done = 0; done < interval; done += piece) {
		at = pi_data_at(region, block, done, &piece);
		piece = min_t(u64, piece, interval - done);
		sum = form->add(sum, at, piece, done);
	}
	return form->end(sum);
}

/*
 * ---- Signatures ----
 */

/* The tags that a block should have. */
static u64 pi_tags(const struct weft_pi_domain *domain, u64 block)
{
	const u32 ref = domain->tags + (domain->ref_remap ? block : 0);

	return (domain->tags & WEFT_SIGNATURE_APP) | ref;
}

/* Does the signature say that its block is not to be checked? */
static bool pi_escapes(const struct weft_pi_domain *domain, u64 signature)
{
	return domain->app_escape && !(~signature & WEFT_SIGNATURE_APP) &&
	       (!domain->ref_escape || !(~signature & WEFT_SIGNATURE_REF));
}

/* @field: the bits that are wrong, with those around them. */
static noinline void pi_fail(const struct weft_region *region, const struct weft_pi_domain *domain,
			     u64 block, enum ib_sig_err_type type, u64 field, u64 computed,
			     u64 found)
{
	const struct weft_pi_error error = {
		.type = type,
		.key = region->key,
		.offset = block * (region->pi->now.interval + pi_size(domain)),
		.computed = (computed & field) >> __ffs64(field),
		.found = (found & field) >> __ffs64(field),
	};

	weft_pi_report_keep(region->pi->report, &error);
}

static void pi_check(const struct weft_region *region, const struct weft_pi_domain *domain,
		     u64 block, u64 signature)
{
	const u64 guard = pi_form(domain)->guard;
	u64 expected, wrong;

	if (!domain->check || pi_escapes(domain, signature))
		return;
	if (domain->check & guard) {
		expected = pi_guard(region, domain, block);
		if ((expected ^ signature) & domain->check & guard) {
			pi_fail(region, domain, block, IB_SIG_BAD_GUARD, guard, expected,
				signature);
			return;
		}
	}
	expected = pi_tags(domain, block);
	wrong = (expected ^ signature) & domain->check & ~guard;
	if (wrong & WEFT_SIGNATURE_APP && (region->pi->now.app_first ||
					   !(wrong & WEFT_SIGNATURE_REF)))
		pi_fail(region, domain, block, IB_SIG_BAD_APPTAG, WEFT_SIGNATURE_APP, expected,
			signature);
	else if (wrong)
		pi_fail(region, domain, block, IB_SIG_BAD_REFTAG, WEFT_SIGNATURE_REF, expected,
			signature);
}

/*
 * Make the signature of a block for the domain @to of that for the other domain, if it has any.
 * The bits that both domains have alike are passed on as they are, also if they are wrong.
 */
static u64 pi_convert(const struct weft_region *region, const struct weft_pi_domain *to, u64 block,
		      u64 signature)
{
	const u64 copy = region->pi->now.copy, guard = pi_form(to)->guard;
	u64 made = pi_tags(to, block);

	if (guard & ~copy)
		made |= pi_guard(region, to, block);
	return (signature & copy) | (made & ~copy);
}

/* A block is being read: check its signature in memory, and make @bytes, the one for the wire. */
static void pi_read_block(const struct weft_region *region, u64 block, u8 *bytes)
{
	const struct weft_pi_domain *from = &region->pi->now.mem, *to = &region->pi->now.wire;
	u64 signature = 0;

	if (from->type) {
		pi_move(region, block, bytes, pi_size(from), false);
		signature = weft_signature_get(pi_form(from), bytes);
		pi_check(region, from, block, signature);
	}
	if (to->type)
		weft_signature_put(pi_form(to), bytes, pi_convert(region, to, block, signature));
}

/* Does memory have room for the signatures of the wire, until they have been converted? */
static bool pi_in_place(const struct weft_pi_terms *terms)
{
	return pi_size(&terms->mem) == pi_size(&terms->wire);
}

/*
 * A block has been written: check its signature from the wire, which is in memory or @held, and
 * make the one for memory.
 */
static void pi_wrote_block(const struct weft_region *region, u64 block, const u8 *held)
{
	const struct weft_pi_terms *now = &region->pi->now;
	const struct weft_pi_domain *from = &now->wire, *to = &now->mem;
	u8 bytes[WEFT_SIGNATURE_MAX];
	u64 signature = 0;

	if (from->type) {
		if (pi_in_place(now))
			pi_move(region, block, bytes, pi_size(from), false);
		else
			memcpy(bytes, held, sizeof(bytes));
		signature = weft_signature_get(pi_form(from), bytes);
		pi_check(region, from, block, signature);
	}
	if (to->type) {
		weft_signature_put(pi_form(to), bytes, pi_convert(region, to, block, signature));
		pi_move(region, block, bytes, pi_size(to), true);
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

/* The signatures of one weft_pi_copy(). */
struct pi_bytes {
	u8	held[WEFT_SIGNATURE_MAX];	/* being written; memory has no place for it */
	u8	made[WEFT_SIGNATURE_MAX];	/* of the block that was read last */
	u64	block;				/* whose @made is; U64_MAX: none was read */
};

/*
 * The next bytes of the wire, and how many are contiguous there. The signature of a block that is
 * read is made once, however small the pieces are to which it is copied.
 */
static void *pi_at(struct weft_iter *iter, bool write, struct pi_bytes *bytes, u64 *length)
{
	const struct weft_region *region = iter->span->region;
	const struct weft_pi_terms *now;
	u32 offset, size;
	u64 block;
	void *at;

	if (!region || !region->pi)
		return weft_iter_piece(iter, length);
	now = &region->pi->now;
	block = pi_block(iter, &offset);
	if (offset < now->interval) {
		at = pi_data_at(region, block, offset, length);
		*length = min_t(u64, *length, now->interval - offset);
		return at;
	}
	offset -= now->interval;
	size = pi_size(&now->wire) - offset;
	*length = size;
	if (!write) {
		if (bytes->block != block)
			pi_read_block(region, block, bytes->made);
		bytes->block = block;
		return bytes->made + offset;
	}
	if (!pi_in_place(now))
		return bytes->held + offset;
	at = pi_meta_at(region, block, offset, length);
	*length = min_t(u64, *length, size);
	return at;
}

/* Advance by @length bytes, which have been copied. */
static void pi_advance(struct weft_iter *iter, bool write, const struct pi_bytes *bytes, u64 length)
{
	const struct weft_region *region = iter->span->region;
	u8 unused[WEFT_SIGNATURE_MAX];
	u32 offset;
	u64 block;

	iter->offset += length;
	if (!region || !region->pi)
		return;
	block = pi_block(iter, &offset);
	if (offset)
		return;
	if (write)
		pi_wrote_block(region, block - 1, bytes->held);
	else if (!region->pi->now.wire.type)
		pi_read_block(region, block - 1, unused);
}

/* Is the position within a signature that memory has no place for? */
static bool pi_splits(const struct weft_iter *iter)
{
	const struct weft_region *region = iter->span->region;
	u32 offset;

	if (!region || !region->pi || pi_in_place(&region->pi->now))
		return false;
	pi_block(iter, &offset);
	return offset > region->pi->now.interval;
}

/*
 * weft_copy() from or to a region with PI, or both. Both positions are within a span that has
 * @length bytes left. What one copy holds of a signature that the next one completes waits in the
 * region.
 */
void weft_pi_copy(struct weft_iter *dst, struct weft_iter *src, u64 length)
{
	struct pi_bytes bytes = { .block = U64_MAX };
	u64 to_length, piece;
	void *to, *from;

	if (pi_splits(dst))
		memcpy(bytes.held, dst->span->region->pi->held, sizeof(bytes.held));
	while (length) {
		to = pi_at(dst, true, &bytes, &to_length);
		from = pi_at(src, false, &bytes, &piece);
		piece = min3(piece, to_length, length);
		weft_copy_piece(to, from, piece);
		pi_advance(dst, true, &bytes, piece);
		pi_advance(src, false, &bytes, piece);
		length -= piece;
	}
	if (pi_splits(dst))
		memcpy(dst->span->region->pi->held, bytes.held, sizeof(bytes.held));
}
