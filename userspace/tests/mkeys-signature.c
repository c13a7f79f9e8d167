// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mkeys with signatures: what is on the wire and in memory is compared with a naive model.
 */
#include <pthread.h>

#include "mkeys.h"

#define BLOCKS		3U
#define LONGEST		(BLOCKS * (4160 + 8))
#define SECOND_PART	32768

static const uint32_t block_sizes[] = { 512, 520, 4048, 4096, 4160 };

/*
 * ---- The model ----
 */

/* bit by bit, inverted */
static uint64_t reflected(uint64_t poly, int bits, uint64_t crc, const uint8_t *p, uint32_t length)
{
	const uint64_t all = ~0ULL >> (64 - bits);
	int bit;

	for (crc &= all; length; length--)
		for (crc ^= *p++, bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ poly : crc >> 1;
	return ~crc & all;
}

static uint64_t crc32(uint64_t seed, const uint8_t *p, uint32_t length)
{
	return reflected(0xedb88320, 32, seed, p, length);
}

static uint64_t crc32c(uint64_t seed, const uint8_t *p, uint32_t length)
{
	return reflected(0x82f63b78, 32, seed, p, length);
}

static uint64_t crc64(uint64_t seed, const uint8_t *p, uint32_t length)
{
	return reflected(0x9a6c9329ac4bc9b5, 64, seed, p, length);
}

static uint64_t t10_crc(uint64_t seed, const uint8_t *p, uint32_t length)
{
	uint16_t crc = seed;
	int bit;

	for (; length; length--)
		for (crc ^= *p++ << 8, bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x8bb7 : crc << 1;
	return crc;
}

static uint64_t ip_sum(uint64_t seed, const uint8_t *p, uint32_t length)
{
	uint64_t sum = (uint16_t)seed;
	uint32_t i;

	for (i = 0; i < length; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* a type of signature */
struct kind {
	const char *name;
	bool dif;
	int sub;			/* of enum weftdv_sig_t10dif_bg_type or _crc_type */
	uint32_t size;
	uint8_t mask;			/* of the guard */
	uint64_t (*guard)(uint64_t seed, const uint8_t *p, uint32_t length);
};

static const struct kind kinds[] = {
	{ "T10-DIF", true, WEFTDV_SIG_T10DIF_CRC, 8, WEFTDV_SIG_MASK_T10DIF_GUARD, t10_crc },
	{ "T10-DIF with IP", true, WEFTDV_SIG_T10DIF_CSUM, 8, WEFTDV_SIG_MASK_T10DIF_GUARD,
	  ip_sum },
	{ "CRC32", false, WEFTDV_SIG_CRC_TYPE_CRC32, 4, WEFTDV_SIG_MASK_CRC32, crc32 },
	{ "CRC32C", false, WEFTDV_SIG_CRC_TYPE_CRC32C, 4, WEFTDV_SIG_MASK_CRC32C, crc32c },
	{ "CRC64", false, WEFTDV_SIG_CRC_TYPE_CRC64_XP10, 8, WEFTDV_SIG_MASK_CRC64_XP10, crc64 },
};

#define T10_CRC	(&kinds[0])
#define CRC32	(&kinds[2])
#define CRC32C	(&kinds[3])

/* the signatures of a domain */
struct scheme {
	const struct kind *kind;	/* NULL: none */
	uint64_t seed;
	struct weftdv_sig_t10dif dif;	/* but for the guard */
};

static uint32_t size_of(const struct scheme *s)
{
	return s->kind ? s->kind->size : 0;
}

static void put(uint8_t *to, uint64_t value, uint32_t bytes, bool high_first)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		to[high_first ? bytes - 1 - i : i] = value >> 8 * i;
}

static void sign(const struct scheme *s, const uint8_t *data, uint32_t block, uint32_t number,
		 uint8_t *to)
{
	const uint64_t guard = s->kind->guard(s->seed, data, block);

	if (!s->kind->dif) {
		put(to, guard, s->kind->size, false);
		return;
	}
	put(to, guard, 2, true);
	put(to + 2, s->dif.app_tag, 2, true);
	put(to + 4, s->dif.ref_tag + (s->dif.flags & WEFTDV_SIG_T10DIF_FLAG_REF_REMAP ? number : 0),
	    4, true);
}

/* The stream of a domain; returns its length. */
static uint32_t stream(const struct scheme *s, const uint8_t *data, uint32_t block, uint8_t *to)
{
	const uint32_t stride = block + size_of(s);
	uint32_t i;

	for (i = 0; i < BLOCKS; i++) {
		memcpy(to + i * stride, data + i * block, block);
		if (s->kind)
			sign(s, data + i * block, block, i, to + i * stride + block);
	}
	return BLOCKS * stride;
}

/*
 * ---- Mkeys ----
 */

static struct weftdv_mkey *signed_mkey(void)
{
	return mkey_for(pd, WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE, 4);
}

/* an attribute with all that it points to */
struct attr {
	struct weftdv_sig_block_attr sig;
	struct weftdv_sig_block_domain mem, wire;
	struct weftdv_sig_crc mem_crc, wire_crc;
	struct weftdv_sig_t10dif mem_dif, wire_dif;
};

static const struct weftdv_sig_block_domain *
domain_of(const struct scheme *s, int block_size, struct weftdv_sig_block_domain *domain,
	  struct weftdv_sig_crc *crc, struct weftdv_sig_t10dif *dif)
{
	if (!s->kind)
		return NULL;
	*dif = s->dif;
	dif->bg = s->seed;
	dif->bg_type = s->kind->sub;
	*crc = (struct weftdv_sig_crc){ s->kind->sub, s->seed };
	*domain = (struct weftdv_sig_block_domain){ .block_size = block_size };
	if (s->kind->dif) {
		domain->sig_type = WEFTDV_SIG_TYPE_T10DIF;
		domain->sig.dif = dif;
	} else {
		domain->sig_type = WEFTDV_SIG_TYPE_CRC;
		domain->sig.crc = crc;
	}
	return domain;
}

/* @block_size: enum weftdv_block_size */
static void attr_of(struct attr *attr, const struct scheme *mem, const struct scheme *wire,
		    int block_size)
{
	attr->sig = (struct weftdv_sig_block_attr){
		.mem = domain_of(mem, block_size, &attr->mem, &attr->mem_crc, &attr->mem_dif),
		.wire = domain_of(wire, block_size, &attr->wire, &attr->wire_crc,
				  &attr->wire_dif),
		.check_mask = 0xff,
	};
}

static void post_signed(struct end *e, struct weftdv_mkey *mkey, int num, struct ibv_sge *sge,
			const struct weftdv_sig_block_attr *sig)
{
	struct weftdv_mkey_conf_attr conf = {};
	struct ibv_qp_ex *qp = wr_start(e, 700);

	weftdv_wr_mkey_configure(dv_of(e), mkey, 3, &conf);
	weftdv_wr_set_mkey_sig_block(dv_of(e), sig);
	weftdv_wr_set_mkey_access_flags(dv_of(e), REMOTE);
	weftdv_wr_set_mkey_layout_list(dv_of(e), num, sge);
	SAME(ibv_wr_complete(qp), 0);
}

static void set_signed(struct end *e, struct weftdv_mkey *mkey, int num, struct ibv_sge *sge,
		       const struct attr *attr)
{
	post_signed(e, mkey, num, sge, &attr->sig);
	SAME(expect_ok(e->scq, 700).opcode, WEFTDV_WC_MKEY);
}

static struct weftdv_mkey_err check(struct weftdv_mkey *mkey)
{
	struct weftdv_mkey_err err = {};

	SAME(weftdv_mkey_check(mkey, &err), 0);
	return err;
}

static void has_none(struct weftdv_mkey *mkey)
{
	SAME(check(mkey).err_type, WEFTDV_MKEY_NO_ERR);
}

/* and it is forgotten then */
static void has_error(struct weftdv_mkey *mkey, enum weftdv_mkey_err_type type, uint64_t computed,
		      uint64_t found, uint64_t offset)
{
	struct weftdv_mkey_err err = check(mkey);

	SAME(err.err_type, type);
	SAME(err.err.sig.actual_value, computed);
	SAME(err.err.sig.expected_value, found);
	SAME(err.err.sig.offset, offset);
	has_none(mkey);
}

/*
 * ---- Each type in each domain ----
 */

static uint8_t data[LONGEST], in_memory[LONGEST], on_wire[LONGEST], got[LONGEST];

/* an mkey whose memory is in two parts, the first of which ends within a signature */
struct signed_memory {
	struct end *own, *peer;		/* whose mkey it is; the other one has plain memory */
	struct weftdv_mkey *mkey;
	uint32_t cut, length;		/* of memory */
	uint32_t wire_length;
	uint32_t split;			/* the second message begins there; 0: there is one */
};

static void scatter(struct signed_memory *m, const uint8_t *from)
{
	memcpy(m->own->buf, from, m->cut);
	memcpy(m->own->buf + SECOND_PART, from + m->cut, m->length - m->cut);
}

static void gather(struct signed_memory *m, uint8_t *to)
{
	memcpy(to, m->own->buf, m->cut);
	memcpy(to + m->cut, m->own->buf + SECOND_PART, m->length - m->cut);
}

/* from the memory of the mkey to that of the peer, or back; @a is always the requester */
static void move(struct signed_memory *m, bool out)
{
	const bool own = m->own == &a;
	const enum ibv_wr_opcode op = own == out ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
	const uint32_t from[] = { 0, m->split, m->wire_length };
	uint32_t length;
	int i;

	for (i = m->split ? 0 : 1; i < 2; i++) {
		length = from[i + 1] - from[i];
		if (own)
			SAME(rdma(op, m->mkey->lkey, from[i], length, b.mr->rkey,
				  ADDR(b, from[i])), 0);
		else
			SAME(rdma(op, a.mr->lkey, ADDR(a, from[i]), length, m->mkey->rkey,
				  from[i]), 0);
	}
}

static void damage(struct signed_memory *m, const struct scheme *s, uint32_t block, bool out)
{
	const uint32_t stride = block + size_of(s);
	uint8_t *in = out ? in_memory : on_wire;
	uint64_t was = s->kind->guard(s->seed, data + block, block);

	/* a byte of the data of the second block */
	in[stride + block / 2] ^= 0x10;
	if (out)
		scatter(m, in);
	else
		memcpy(m->peer->buf, in, m->wire_length);
	move(m, out);
	has_error(m->mkey, WEFTDV_MKEY_SIG_BLOCK_BAD_GUARD,
		  s->kind->guard(s->seed, in + stride, block), was, stride);
	in[stride + block / 2] ^= 0x10;
}

static void pass(struct signed_memory *m, const struct scheme *mem, const struct scheme *wire,
		 int block_size)
{
	const uint32_t block = block_sizes[block_size];
	struct ibv_sge sge[2];
	struct attr attr;

	fill(data, BLOCKS * block, block_size + 1);
	m->length = stream(mem, data, block, in_memory);
	m->wire_length = stream(wire, data, block, on_wire);
	m->cut = block + 1;
	sge[0] = part(m->own->mr, 0, m->cut);
	sge[1] = part(m->own->mr, SECOND_PART, m->length - m->cut);
	attr_of(&attr, mem, wire, block_size);
	set_signed(m->own, m->mkey, 2, sge, &attr);

	scatter(m, in_memory);
	move(m, true);
	SAME(memcmp(m->peer->buf, on_wire, m->wire_length), 0);
	has_none(m->mkey);

	memset(m->own->buf, 0, BUF);
	memcpy(m->peer->buf, on_wire, m->wire_length);
	move(m, false);
	gather(m, got);
	SAME(memcmp(got, in_memory, m->length), 0);
	has_none(m->mkey);

	if (mem->kind)
		damage(m, mem, block, true);
	if (wire->kind)
		damage(m, wire, block, false);
}

static void pass_all(struct end *own, struct end *peer, bool forced)
{
	const struct weftdv_sig_t10dif dif = {
		.app_tag = 0xabcd, .ref_tag = 0xfffffffe,
		.flags = WEFTDV_SIG_T10DIF_FLAG_REF_REMAP,
	};
	struct signed_memory m = { .own = own, .peer = peer };
	const int num = ARRAY_SIZE(kinds);
	struct scheme mem, wire;
	int i, j, block;

	force_packets(forced);
	make_both();
	m.mkey = signed_mkey();
	for (i = 0; i <= num; i++)
		for (j = i ? 0 : 1; j <= num; j++) {
			mem = (struct scheme){ i ? &kinds[i - 1] : NULL, (i + j) & 1 ? -1ULL : 0,
						dif };
			wire = (struct scheme){ j ? &kinds[j - 1] : NULL, i & 2 ? -1ULL : 0, dif };
			/* in one message, in two, in two that split a signature of the wire */
			block = (i + j) % ARRAY_SIZE(block_sizes);
			m.split = (uint32_t[]){ 0, 3, block_sizes[block] + 1 }[(i + 2 * j) % 3];
			note("memory %s, wire %s, blocks of %u, split at %u",
			     i ? mem.kind->name : "none", j ? wire.kind->name : "none",
			     block_sizes[block], m.split);
			pass(&m, &mem, &wire, block);
		}
	note(NULL);
	SAME(weftdv_destroy_mkey(m.mkey), 0);
	force_packets(false);
}

void signatures(void)
{
	pass_all(&a, &b, false);
}

void signatures_in_packets(void)
{
	pass_all(&a, &b, true);
}

void signatures_remote(void)
{
	pass_all(&b, &a, false);
}

void signatures_remote_in_packets(void)
{
	pass_all(&b, &a, true);
}

/* both sides have an mkey: the signatures are on the wire only */
void signed_messages(void)
{
	const struct scheme none = {}, crc = { CRC32, UINT32_MAX };
	struct weftdv_mkey *from, *to;
	struct ibv_sge sge, into;
	struct attr attr;

	make_both();
	from = signed_mkey();
	to = signed_mkey();
	attr_of(&attr, &none, &crc, WEFTDV_BLOCK_SIZE_512);
	sge = part(a.mr, 0, 1024);
	set_signed(&a, from, 1, &sge, &attr);
	sge = part(b.mr, 0, 1024);
	set_signed(&b, to, 1, &sge, &attr);
	fill(a.buf, 1024, 5);
	into = (struct ibv_sge){ 0, 1032, to->lkey };
	struct ibv_recv_wr recv = { .wr_id = 9, .sg_list = &into, .num_sge = 1 }, *bad;
	struct ibv_qp_ex *qp;

	SAME(ibv_post_recv(b.qp, &recv, &bad), 0);
	qp = wr_start(&a, 8);
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, from->lkey, 0, 1032);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(a.scq, 8);
	/* lengths are those of the wire */
	SAME(expect_ok(b.rcq, 9).byte_len, 1032);
	check_filled(b.buf, 1024, 5);
	has_none(from);
	has_none(to);
	/* beyond the end there is nothing */
	SAME(rdma(IBV_WR_RDMA_WRITE, from->lkey, 0, 1033, b.mr->rkey, ADDR(b, 0)),
	     IBV_WC_LOC_PROT_ERR);
	again();
	/* the second block alone */
	SAME(rdma(IBV_WR_RDMA_WRITE, from->lkey, 516, 516, b.mr->rkey, ADDR(b, 2000)), 0);
	SAME(memcmp(b.buf + 2000, a.buf + 512, 512), 0);
	sign(&crc, a.buf + 512, 512, 1, got);
	SAME(memcmp(b.buf + 2512, got, 4), 0);
	/* another layout without the setter has no signatures */
	qp = wr_start(&a, 700);
	weftdv_wr_mr_list(dv_of(&a), from, 0, 1, (struct ibv_sge[]){ part(a.mr, 0, 1000) });
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(a.scq, 700);
	SAME(rdma(IBV_WR_RDMA_WRITE, from->lkey, 0, 1000, b.mr->rkey, ADDR(b, 0)), 0);
	SAME(memcmp(a.buf, b.buf, 1000), 0);
	SAME(rdma(IBV_WR_RDMA_WRITE, from->lkey, 0, 1001, b.mr->rkey, ADDR(b, 0)),
	     IBV_WC_LOC_PROT_ERR);
}

/* data in one place, their signatures in another: an interleaved pattern, as disks have it */
void signed_patterns(void)
{
	struct weftdv_mr_interleaved pattern[2];
	const struct scheme none = {}, crc = { CRC32C, UINT32_MAX };
	struct weftdv_mkey_conf_attr conf = {};
	struct weftdv_mkey *mkey;
	struct ibv_qp_ex *qp;
	struct attr attr;
	uint32_t i;

	make_both();
	mkey = signed_mkey();
	fill(a.buf, BLOCKS * 512, 3);
	for (i = 0; i < BLOCKS; i++)
		sign(&crc, a.buf + 512 * i, 512, i, a.buf + SECOND_PART + 4 * i);
	pattern[0] = (struct weftdv_mr_interleaved){ ADDR(a, 0), 512, 0, a.mr->lkey };
	pattern[1] = (struct weftdv_mr_interleaved){ ADDR(a, SECOND_PART), 4, 0, a.mr->lkey };
	attr_of(&attr, &crc, &none, WEFTDV_BLOCK_SIZE_512);
	qp = wr_start(&a, 700);
	weftdv_wr_mkey_configure(dv_of(&a), mkey, 2, &conf);
	weftdv_wr_set_mkey_layout_interleaved(dv_of(&a), BLOCKS, 2, pattern);
	weftdv_wr_set_mkey_sig_block(dv_of(&a), &attr.sig);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(a.scq, 700);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, BLOCKS * 512, b.mr->rkey, ADDR(b, 0)), 0);
	SAME(memcmp(a.buf, b.buf, BLOCKS * 512), 0);
	has_none(mkey);
	a.buf[SECOND_PART + 9] ^= 1;
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, BLOCKS * 512, b.mr->rkey, ADDR(b, 0)), 0);
	SAME(check(mkey).err.sig.offset, 2 * 516);
	/* a block is not scattered over passes */
	pattern[0].bytes_count = 514;
	pattern[1].bytes_count = 1;
	qp = wr_start(&a, 700);
	weftdv_wr_mkey_configure(dv_of(&a), mkey, 2, &conf);
	weftdv_wr_set_mkey_layout_interleaved(dv_of(&a), 516, 2, pattern);
	weftdv_wr_set_mkey_sig_block(dv_of(&a), &attr.sig);
	SAME(ibv_wr_complete(qp), 0);
	fails(&a);
}

static volatile bool writers_end;

/* the peer writes the second block over and over */
static void *second_writer(void *mkey_)
{
	struct weftdv_mkey *mkey = mkey_;
	struct ibv_send_wr *wr;

	/* at least once, even if the machine is so busy that the other writer has ended */
	do {
		wr = swr(&b, 1, IBV_WR_RDMA_WRITE, 516, 516);
		wr->wr.rdma.remote_addr = 516;
		wr->wr.rdma.rkey = mkey->rkey;
		post(&b, wr);
		expect_ok(b.scq, 1);
	} while (!writers_end);
	return NULL;
}

/* whole blocks of different messages do not mix, although memory has no room for signatures */
void two_writers(void)
{
	const struct scheme none = {}, crc = { CRC32C, UINT32_MAX };
	int wire, i, rounds = repeat(300, 3000);
	struct weftdv_mkey *mkey;
	pthread_t other;
	struct ibv_sge sge;
	struct attr attr;

	for (wire = 0; wire < 2; wire++) {
		force_packets(wire);
		make_both();
		mkey = signed_mkey();
		attr_of(&attr, &none, &crc, WEFTDV_BLOCK_SIZE_512);
		sge = part(a.mr, 0, 1024);
		set_signed(&a, mkey, 1, &sge, &attr);
		fill(data, 1024, 6);
		stream(&crc, data, 512, b.buf);
		writers_end = false;
		SAME(pthread_create(&other, NULL, second_writer, mkey), 0);
		for (i = 0; i < rounds; i++)
			SAME(rdma(IBV_WR_RDMA_READ, mkey->lkey, 0, 516, b.mr->rkey, ADDR(b, 0)),
			     0);
		writers_end = true;
		SAME(pthread_join(other, NULL), 0);
		has_none(mkey);
		SAME(memcmp(a.buf, data, 1024), 0);
	}
	force_packets(false);
}

/*
 * ---- Tags ----
 */

#define REMAP	WEFTDV_SIG_T10DIF_FLAG_REF_REMAP
#define APP	WEFTDV_SIG_T10DIF_FLAG_APP_ESCAPE
#define APP_REF	WEFTDV_SIG_T10DIF_FLAG_APP_REF_ESCAPE
#define NONE	WEFTDV_MKEY_NO_ERR
#define GUARD	WEFTDV_MKEY_SIG_BLOCK_BAD_GUARD
#define APPTAG	WEFTDV_MKEY_SIG_BLOCK_BAD_APPTAG
#define REFTAG	WEFTDV_MKEY_SIG_BLOCK_BAD_REFTAG

/* the tags that are checked, and those of the wire */
void tags(void)
{
	static const struct {
		const char *name;
		uint16_t app, flags;
		uint32_t ref;
		uint16_t wire_app, wire_flags;
		uint32_t wire_ref;
		uint8_t mask;
		bool bad_data;
		enum weftdv_mkey_err_type type;
		uint64_t computed, found, block;
	} rows[] = {
		{ "same", 1, 0, 2, 1, 0, 2, 0xff, false, NONE },
		{ "application tag", 1, 0, 2, 3, 0, 2, 0xff, false, APPTAG, 1, 3, 0 },
		{ "reference tag", 1, 0, 2, 1, 0, 4, 0xff, false, REFTAG, 2, 4, 0 },
		{ "both tags", 1, 0, 2, 3, 0, 4, 0xff, false, APPTAG, 1, 3, 0 },
		{ "unchecked application tag", 1, 0, 2, 3, 0, 4, 0xcf, false, REFTAG, 2, 4, 0 },
		{ "a byte of it", 0x101, 0, 2, 0x102, 0, 2, 0xef, false, NONE },
		{ "the other byte of it", 0x101, 0, 2, 0x102, 0, 2, 0xdf, false, APPTAG, 0x101,
		  0x102, 0 },
		{ "a byte of the reference tag", 1, 0, 0x2030000, 1, 0, 0x2040000, 0xfb, false,
		  NONE },
		{ "unchecked guard", 1, 0, 2, 1, 0, 2, 0x3f, true, NONE },
		{ "nothing checked", 1, 0, 2, 3, 0, 4, 0, true, NONE },
		{ "remap", 1, REMAP, -1U, 1, REMAP, -1U, 0xff, false, NONE },
		{ "remap, and the wire does not", 1, REMAP, 7, 1, 0, 7, 0xff, false, REFTAG, 8, 7,
		  1 },
		{ "escape", 1, APP, 2, 0xffff, 0, 4, 0xff, true, NONE },
		{ "escape that is not asked for", 1, 0, 2, 0xffff, 0, 2, 0xff, false, APPTAG, 1,
		  0xffff, 0 },
		{ "escape by both tags", 1, APP_REF, 2, 0xffff, 0, -1U, 0xff, true, NONE },
		{ "escape by both tags, and only one has it", 1, APP_REF, 2, 0xffff, 0, 2, 0xff,
		  false, APPTAG, 1, 0xffff, 0 },
		{ "both escapes", 1, APP | APP_REF, 2, 0xffff, 0, 2, 0xff, false, APPTAG, 1,
		  0xffff, 0 },
		{ "no escape", 1, APP, 2, 0xfffe, 0, 2, 0xff, false, APPTAG, 1, 0xfffe, 0 },
	};
	struct scheme none = {}, dif = { T10_CRC }, wire = { T10_CRC };
	struct weftdv_mkey *mkey;
	struct ibv_sge sge;
	struct attr attr;
	int i;

	make_both();
	mkey = signed_mkey();
	sge = part(a.mr, 0, BLOCKS * 512);
	fill(data, BLOCKS * 512, 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("%s", rows[i].name);
		dif.dif.app_tag = rows[i].app;
		dif.dif.ref_tag = rows[i].ref;
		dif.dif.flags = rows[i].flags;
		wire.dif.app_tag = rows[i].wire_app;
		wire.dif.ref_tag = rows[i].wire_ref;
		wire.dif.flags = rows[i].wire_flags;
		attr_of(&attr, &none, &dif, WEFTDV_BLOCK_SIZE_512);
		attr.sig.check_mask = rows[i].mask;
		set_signed(&a, mkey, 1, &sge, &attr);
		stream(&wire, data, 512, b.buf);
		if (rows[i].bad_data)
			b.buf[77] ^= 1;
		SAME(rdma(IBV_WR_RDMA_READ, mkey->lkey, 0, BLOCKS * 520, b.mr->rkey, ADDR(b, 0)),
		     0);
		if (rows[i].type == NONE)
			has_none(mkey);
		else
			has_error(mkey, rows[i].type, rows[i].computed, rows[i].found,
				  rows[i].block * 520);
	}
	note(NULL);
}

/* some bytes pass from the wire to memory as they are */
void copies(void)
{
	static const struct {
		const char *name;
		bool masked;
		uint8_t mask;
		bool guard, app, ref;	/* copied */
	} rows[] = {
		{ "what is alike", false, 0, true, false, true },
		{ "nothing", true, 0, false, false, false },
		{ "guard", true, 0xc0, true, false, false },
		{ "application tag", true, 0x30, false, true, false },
		{ "reference tag", true, 0x0f, false, false, true },
		{ "all", true, 0xff, true, true, true },
	};
	const struct scheme mem = { T10_CRC, 0, { .app_tag = 2, .ref_tag = 3 } };
	const struct scheme wire = { T10_CRC, 0, { .app_tag = 1, .ref_tag = 3 } };
	uint8_t damaged[8] = { 0xba, 0xad, 0, 7, 0, 0, 0, 9 }, made[8], want[8];
	struct weftdv_mkey *mkey;
	struct ibv_sge sge;
	struct attr attr;
	int i;

	make_both();
	mkey = signed_mkey();
	sge = part(a.mr, 0, 520);
	fill(b.buf, 512, 1);
	memcpy(b.buf + 512, damaged, 8);
	sign(&mem, b.buf, 512, 0, made);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("%s", rows[i].name);
		attr_of(&attr, &mem, &wire, WEFTDV_BLOCK_SIZE_512);
		attr.sig.check_mask = 0;
		if (rows[i].masked)
			attr.sig.flags = WEFTDV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;
		attr.sig.copy_mask = rows[i].mask;
		set_signed(&a, mkey, 1, &sge, &attr);
		SAME(rdma(IBV_WR_RDMA_READ, mkey->lkey, 0, 520, b.mr->rkey, ADDR(b, 0)), 0);
		memcpy(want, rows[i].guard ? damaged : made, 2);
		memcpy(want + 2, (rows[i].app ? damaged : made) + 2, 2);
		memcpy(want + 4, (rows[i].ref ? damaged : made) + 4, 4);
		SAME(memcmp(a.buf + 512, want, 8), 0);
	}
	note(NULL);
}

/*
 * ---- Errors and refusals ----
 */

/* the first error waits to be read, whatever becomes of the mkey */
void errors(void)
{
	const struct scheme none = {}, crc = { CRC32C, UINT32_MAX };
	struct weftdv_mkey *mkey, *plain;
	struct weftdv_mkey_err err;
	struct ibv_sge sge;
	struct attr attr;

	make_both();
	mkey = signed_mkey();
	has_none(mkey);
	sge = part(a.mr, 0, BLOCKS * 516);
	attr_of(&attr, &crc, &none, WEFTDV_BLOCK_SIZE_512);
	set_signed(&a, mkey, 1, &sge, &attr);
	has_none(mkey);
	fill(data, BLOCKS * 512, 1);
	stream(&crc, data, 512, a.buf);
	a.buf[516 + 512] ^= 1;
	a.buf[2 * 516 + 512] ^= 1;
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, BLOCKS * 512, b.mr->rkey, ADDR(b, 0)), 0);
	/* the data get there nevertheless */
	SAME(memcmp(b.buf, data, BLOCKS * 512), 0);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 1024, 512, b.mr->rkey, ADDR(b, 0)), 0);
	set_signed(&a, mkey, 1, &sge, &attr);
	invalidate(&a, mkey);
	err = check(mkey);
	SAME(err.err_type, GUARD);
	SAME(err.err.sig.offset, 516);
	has_none(mkey);
	/* less than a block is not checked */
	set_signed(&a, mkey, 1, &sge, &attr);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, 1023, b.mr->rkey, ADDR(b, 0)), 0);
	has_none(mkey);
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 1023, 1, b.mr->rkey, ADDR(b, 0)), 0);
	SAME(check(mkey).err.sig.offset, 516);
	/* it ends with an error that nobody has read */
	SAME(rdma(IBV_WR_RDMA_WRITE, mkey->lkey, 0, BLOCKS * 512, b.mr->rkey, ADDR(b, 0)), 0);
	SAME(weftdv_destroy_mkey(mkey), 0);
	plain = mkey_for(pd, 0, 1);
	REFUSED(weftdv_mkey_check(plain, &err), EINVAL);
}

/* complete what @build has begun together with a good request; none of them runs */
#define BAD(error, ...)							\
	do {								\
		attr_of(&attr, &mem, &wire, WEFTDV_BLOCK_SIZE_512);	\
		qp = wr_start(&a, 1);					\
		ibv_wr_rdma_write(qp, b.mr->rkey, ADDR(b, 0));		\
		ibv_wr_set_sge(qp, a.mr->lkey, ADDR(a, 0), 8);		\
		weftdv_wr_mkey_configure(dv, mkey, 2, &conf);		\
		weftdv_wr_set_mkey_layout_list(dv, 1, &sge);		\
		__VA_ARGS__;						\
		weftdv_wr_set_mkey_sig_block(dv, &attr.sig);		\
		SAME(ibv_wr_complete(qp), error);			\
	} while (0)

void signatures_refused(void)
{
	struct scheme mem = { T10_CRC }, wire = { CRC32 };
	struct weftdv_mkey_conf_attr conf = {};
	struct weftdv_mkey *mkey, *good, *plain;
	struct weftdv_qp_ex *dv;
	struct ibv_qp_ex *qp;
	struct ibv_sge sge;
	struct attr attr;

	make_both();
	dv = dv_of(&a);
	good = signed_mkey();
	plain = mkey_for(pd, 0, 4);
	sge = part(a.mr, 0, 520);
	mkey = good;
	BAD(EINVAL, attr.sig.mem = attr.sig.wire = NULL);
	BAD(EINVAL, attr.sig.comp_mask = 1);
	BAD(EINVAL, attr.sig.flags = 2);
	BAD(EINVAL, attr.mem.comp_mask = 1);
	BAD(EINVAL, attr.wire.comp_mask = 1);
	BAD(EINVAL, attr.mem.sig_type = 2);
	BAD(EINVAL, attr.mem.block_size = 5);
	BAD(EINVAL, attr.wire.block_size = -1U);
	BAD(EINVAL, attr.mem_dif.bg_type = 2);
	BAD(EINVAL, attr.mem_dif.bg = 1);
	BAD(EINVAL, attr.mem_dif.flags = 8);
	BAD(EINVAL, attr.wire_crc.type = 3);
	BAD(EINVAL, attr.wire_crc.seed = 1);
	BAD(EINVAL, attr.wire_crc.type = WEFTDV_SIG_CRC_TYPE_CRC64_XP10;
	    attr.wire_crc.seed = UINT32_MAX);
	/* signatures of different structure cannot be copied */
	BAD(EINVAL, attr.sig.flags = WEFTDV_SIG_BLOCK_ATTR_FLAG_COPY_MASK);
	BAD(EINVAL, attr.sig.flags = WEFTDV_SIG_BLOCK_ATTR_FLAG_COPY_MASK; attr.sig.mem = NULL);
	BAD(EOPNOTSUPP, attr.wire.block_size = WEFTDV_BLOCK_SIZE_4096);
	/* twice */
	BAD(EINVAL, weftdv_wr_set_mkey_sig_block(dv, &attr.sig));
	mkey = plain;
	BAD(EINVAL, (void)0);
	/* outside of a work request that configures an mkey */
	qp = wr_start(&a, 1);
	weftdv_wr_set_mkey_sig_block(dv, &attr.sig);
	SAME(ibv_wr_complete(qp), EINVAL);
	expect_no_wc(a.scq);
	/* a layout has to be there; an abort takes all back */
	qp = wr_start(&a, 1);
	weftdv_wr_mkey_configure(dv, good, 1, &conf);
	weftdv_wr_set_mkey_sig_block(dv, &attr.sig);
	SAME(ibv_wr_complete(qp), EINVAL);
	qp = wr_start(&a, 1);
	weftdv_wr_mkey_configure(dv, good, 2, &conf);
	weftdv_wr_set_mkey_sig_block(dv, &attr.sig);
	weftdv_wr_set_mkey_layout_list(dv, 1, &sge);
	ibv_wr_abort(qp);
	SAME(rdma(IBV_WR_RDMA_WRITE, good->lkey, 0, 8, b.mr->rkey, ADDR(b, 0)),
	     IBV_WC_LOC_PROT_ERR);
	again();
	/* irrelevant bits of a seed are ignored */
	attr_of(&attr, &mem, &wire, WEFTDV_BLOCK_SIZE_512);
	attr.wire_crc.seed = 1ULL << 32;
	set_signed(&a, good, 1, &sge, &attr);
	/* what only the kernel knows: the layout is not of whole blocks */
	sge.length--;
	post_signed(&a, good, 1, &sge, &attr.sig);
	fails(&a);
	sge.length = 512;
	post_signed(&a, good, 1, &sge, &attr.sig);
	fails(&a);
	/* and the mkey is as it was */
	fill(data, 512, 1);
	stream(&mem, data, 512, a.buf);
	SAME(rdma(IBV_WR_RDMA_WRITE, good->lkey, 0, 516, b.mr->rkey, ADDR(b, 0)), 0);
	has_none(good);
	SAME(memcmp(b.buf, a.buf, 512), 0);
}

/* a hostile process writes entries that no builder writes */
void signed_entries_refused(void)
{
	static const struct {
		const char *name;
		struct weft_signature mem, wire;
		uint32_t clear, set;		/* flags */
	} rows[] = {
		{ "no signature", {}, {} },
		{ "unknown type", { 6 }, {} },
		{ "last type", { 255 }, { 4 } },
		{ "unknown type of the wire", { 4 }, { 200 } },
		{ "unknown flag", { 1, 16 }, {} },
		{ "all flags", { 2, 255 }, {} },
		{ "flag of T10-DIF for a CRC", { 3, 2 }, {} },
		{ "escape of a CRC", { 4, 8 }, {} },
		{ "application tag of a CRC", { 4, 0, 1 }, {} },
		{ "reference tag of a CRC", { 5, 0, 0, 1 }, {} },
		{ "tags of nothing", { 0, 0, 1, 1 }, { 4 } },
		{ "seed of nothing", { 4 }, { 0, 1 } },
		{ "unknown block", { 4 }, { 4 }, 0, 5U << 24 },
		{ "last block", { 4 }, { 4 }, 0, 255U << 24 },
		{ "block that is too long", { 4 }, { 4 }, 0, 3U << 24 },
		{ "copy of what is not there", {}, { 4 }, 0, WEFT_MKEY_COPY },
		{ "copy of another type", { 3 }, { 4 }, 0, WEFT_MKEY_COPY },
		{ "copy of another length", { 5 }, { 4 }, 0, WEFT_MKEY_COPY },
		{ "masks without signatures", { 4 }, { 4 }, WEFT_MKEY_SIGNED },
		{ "unknown flag of the mkey", { 4 }, { 4 }, 0, 1 << 3 },
	};
	const uint64_t id = 0x5eedf00ddeadc0de;
	const struct scheme crc = { CRC32C };
	struct weftdv_mkey_conf_attr conf = {};
	struct weftdv_mkey *mkey, *plain;
	volatile struct weft_sqe *sqe;
	struct ibv_qp_ex *qp;
	struct ibv_sge sge;
	struct attr attr;
	int i;

	make_both();
	mkey = signed_mkey();
	plain = mkey_for(pd, 0, 4);
	sge = part(a.mr, 0, 4 * 516);
	attr_of(&attr, &crc, &crc, WEFTDV_BLOCK_SIZE_512);
	for (i = 0; i <= ARRAY_SIZE(rows); i++) {
		note("%s", i < ARRAY_SIZE(rows) ? rows[i].name : "mkey without signatures");
		qp = wr_start(&a, id + i);
		weftdv_wr_mkey_configure(dv_of(&a), mkey, 2, &conf);
		weftdv_wr_set_mkey_layout_list(dv_of(&a), 1, &sge);
		weftdv_wr_set_mkey_sig_block(dv_of(&a), &attr.sig);
		sqe = sqe_of(id + i);
		if (i < ARRAY_SIZE(rows)) {
			sqe->mkey.memory = rows[i].mem;
			sqe->mkey.wire = rows[i].wire;
			sqe->mkey.flags = (sqe->mkey.flags & ~rows[i].clear) | rows[i].set;
		} else {
			sqe->mkey.key = plain->lkey;
		}
		SAME(ibv_wr_complete(qp), 0);
		expect_wc(a.scq, id + i, IBV_WC_MW_BIND_ERR);
		/* the next scan must not find it */
		sqe->wr_id = 0;
		again();
	}
	note(NULL);
	set_signed(&a, mkey, 1, &sge, &attr);
}
