// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that writes what it likes into the entries of its send ring that configure mkeys, and
 * calls the builders of such entries with any arguments. Memory that it has no right to write stays
 * as it is, each entry completes in a way that weft(7) knows, and nothing is left of what failed.
 */
#include "mkeys.h"
#include "witness.h"

#include <pthread.h>

#define SLOTS		16		/* of the send ring of @a */
#define INLINE		512		/* so that an entry has room for the longest list */
#define STRIDE		(sizeof(struct weft_sqe) + INLINE)
#define ENTRIES		32
#define AREA		65536
#define ID		0x5eedf00d0000ULL

/* the part of @area that may be written, and the one that may be read */
#define WRITE_AT	5003
#define WRITE_LENGTH	9001
#define READ_AT		30001
#define READ_LENGTH	20000

static uint64_t state;
static uint8_t *area, *before, *foreign;
static struct ibv_mr *mr_write, *mr_read, *mr_foreign;
static struct ibv_pd *pd2;
static struct weftdv_mkey *plain, *with_signatures;
static uint8_t *slots;

/* what the provider has published of the send ring; prepare() knows where it is */
static volatile struct weft_ring_hdr *ring_of_a(void)
{
	return (void *)(slots - WEFT_RING_HDR_SIZE);
}

static uint32_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 16;
}

static uint32_t below(uint32_t end)
{
	return any() % end;
}

static bool one_of(uint32_t n)
{
	return !below(n);
}

/* numbers as they are likely to be right, or to be at a limit */
static uint32_t word(void)
{
	static const uint32_t likely[] = {
		0, 1, 2, 3, 8, 16, 31, 32, 33, 255, 512, 520, 4096, 65535, 65536, 0x7fffffff,
		0x80000000, -2U, -1U,
	};
	uint32_t i = below(ARRAY_SIZE(likely) + 3);

	return i < ARRAY_SIZE(likely) ? likely[i] : i % 2 ? any() : 1U << below(32);
}

static uint32_t key(void)
{
	const uint32_t keys[] = {
		a.mr->lkey, b.mr->lkey, mr_write->lkey, mr_read->lkey, mr_foreign->lkey,
		plain->lkey, with_signatures->lkey, WEFT_NULL_KEY, 0,
	};
	uint32_t i = below(ARRAY_SIZE(keys) + 2);

	return i < ARRAY_SIZE(keys) ? keys[i] : keys[below(ARRAY_SIZE(keys))] + word();
}

static struct weftdv_mkey *an_mkey(void)
{
	return one_of(2) ? plain : with_signatures;
}

static void prepare(void)
{
	const char *seed = getenv("WEFT_SEED");
	uint64_t first = seed && *seed ? strtoull(seed, NULL, 0) : 1;
	struct ibv_qp_ex *qp;
	struct ibv_sge sge;

	alarm(0);
	printf("seed %llu\n", (unsigned long long)first);
	state = (first + 1) * 0x9e3779b97f4a7c15ULL;
	make_both_with(INLINE);
	area = memory(AREA);
	before = memory(AREA);
	foreign = memory(4096);
	fill(area, AREA, 3);
	fill(foreign, 4096, 4);
	memcpy(before, area, AREA);
	pd2 = ibv_alloc_pd(ctx);
	CHECK(pd2);
	mr_write = ibv_reg_mr(pd, area + WRITE_AT, WRITE_LENGTH, REMOTE);
	mr_read = ibv_reg_mr(pd, area + READ_AT, READ_LENGTH, IBV_ACCESS_REMOTE_READ);
	mr_foreign = ibv_reg_mr(pd2, foreign, 4096, REMOTE);
	CHECK(mr_write && mr_read && mr_foreign);
	plain = mkey_for(pd, 0, ENTRIES);
	with_signatures = mkey_for(pd, WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE, ENTRIES);
	/* the first entry of a QP is in the first slot */
	sge = part(a.mr, 0, 1);
	qp = wr_start(&a, ID);
	weftdv_wr_mr_list(dv_of(&a), plain, 0, 1, &sge);
	slots = (uint8_t *)sqe_of(ID);
	SAME(ring_of_a()->producer, 0);
	ibv_wr_abort(qp);
}

static int rounds(void)
{
	return getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 200;
}

/* Nothing has been written that may not be written. */
static void check_memory(void)
{
	const size_t end = WRITE_AT + WRITE_LENGTH;

	SAME(memcmp(area, before, WRITE_AT), 0);
	SAME(memcmp(area + end, before + end, AREA - end), 0);
	check_filled(foreign, 4096, 4);
}

/* Nothing is left of the requests: regions can go, and a new QP and a new mkey work. */
static void check_the_end(void)
{
	struct ibv_sge sge;

	check_memory();
	expect_no_event();
	SAME(weftdv_destroy_mkey(plain), 0);
	SAME(weftdv_destroy_mkey(with_signatures), 0);
	SAME(ibv_dereg_mr(mr_write), 0);
	SAME(ibv_dereg_mr(mr_read), 0);
	SAME(ibv_dereg_mr(mr_foreign), 0);
	SAME(ibv_dealloc_pd(pd2), 0);
	SAME(ibv_destroy_qp(a.qp), 0);
	SAME(ibv_destroy_qp(b.qp), 0);
	make_both();
	check_works(&a, &b);
	plain = mkey_for(pd, 0, 1);
	sge = part(a.mr, 100, 50);
	weftdv_wr_mr_list((wr_start(&a, 700), dv_of(&a)), plain, 0, 1, &sge);
	SAME(ibv_wr_complete(ibv_qp_to_qp_ex(a.qp)), 0);
	expect_ok(a.scq, 700);
	fill(a.buf, BUF, 5);
	SAME(rdma(IBV_WR_RDMA_WRITE, plain->lkey, 0, 50, b.mr->rkey, ADDR(b, 0)), 0);
	SAME(memcmp(b.buf, a.buf + 100, 50), 0);
}

/*
 * ---- Entries ----
 */

/* an entry that is right */
static void write_part(struct weft_sge *sge, uint32_t length)
{
	struct ibv_mr *mrs[] = { a.mr, mr_write, mr_read }, *mr = mrs[below(3)];
	/* room for passes and skips */
	uint32_t at = below(mr->length - 4000);

	*sge = (struct weft_sge){ (uintptr_t)mr->addr + at, length, mr->lkey };
}

static void write_list(struct weft_sqe *sqe, struct weft_sge *sge)
{
	uint32_t num = 1 + below(one_of(4) ? ENTRIES : 4), i;

	sqe->mkey.passes = 1;
	sqe->num_sge = num;
	for (i = 0; i < num; i++)
		write_part(&sge[i], 1 + below(300));
}

static void write_pattern(struct weft_sqe *sqe, struct weft_sge *sge)
{
	uint32_t num = 1 + below(one_of(4) ? ENTRIES / 2 : 3), i;

	sqe->mkey.passes = 1 + below(8);
	sqe->mkey.flags = WEFT_MKEY_INTERLEAVED;
	sqe->num_sge = 2 * num;
	for (i = 0; i < num; i++) {
		write_part(&sge[2 * i], 1 + below(300));
		sge[2 * i + 1] = (struct weft_sge){ .addr = below(200) };
	}
}

static uint32_t signature(struct weft_signature *to, uint32_t type)
{
	static const uint32_t sizes[] = { 0, 8, 8, 4, 4, 8 };
	const bool dif = type == WEFT_SIGNATURE_DIF_CRC || type == WEFT_SIGNATURE_DIF_CSUM;

	*to = (struct weft_signature){ .type = type };
	if (type)
		to->flags = any() & (dif ? WEFT_SIGNATURE_FLAGS : WEFT_SIGNATURE_SEED);
	if (dif) {
		to->app_tag = word();
		to->ref_tag = word();
	}
	return sizes[type];
}

/* blocks of 512 bytes, as others hardly fit */
static void write_signed(struct weft_sqe *sqe, struct weft_sge *sge)
{
	uint32_t wire = below(6), size = signature(&sqe->mkey.memory, below(6));

	signature(&sqe->mkey.wire, wire || size ? wire : WEFT_SIGNATURE_CRC64);
	sqe->mkey.key = with_signatures->lkey;
	sqe->mkey.flags |= WEFT_MKEY_SIGNED | below(256) << 8;
	sqe->mkey.passes = 1;
	sqe->num_sge = sqe->mkey.flags & WEFT_MKEY_INTERLEAVED ? 2 : 1;
	write_part(sge, (1 + below(5)) * (512 + size));
}

static void mutate_signature(struct weft_signature *to)
{
	switch (below(4)) {
	case 0:
		to->type = below(8);
		break;
	case 1:
		to->flags = 1 << below(8);
		break;
	case 2:
		to->app_tag = word();
		break;
	case 3:
		to->ref_tag = word();
		break;
	}
}

static void mutate(struct weft_sqe *sqe, struct weft_sge *sge)
{
	uint32_t i = below(one_of(4) ? ENTRIES : 4);

	switch (below(14)) {
	case 0:
		sqe->flags = one_of(2) ? 1 << below(8) : below(32);
		break;
	case 1:
		sqe->num_sge = word();
		break;
	case 2:
		sqe->inline_length = word();
		break;
	case 3:
		sqe->flags |= WEFT_SQE_INLINE;
		sqe->inline_length = below(INLINE + 1);
		sqe->num_sge = 0;
		break;
	case 4:
		sqe->mkey.key = key();
		break;
	case 5:
		sqe->mkey.access = one_of(2) ? below(8) : word();
		break;
	case 6:
		sqe->mkey.passes = word();
		break;
	case 7:
		sqe->mkey.flags ^= one_of(2) ? 1U << below(4) : 1U << below(32);
		break;
	case 8:
		mutate_signature(&sqe->mkey.memory);
		break;
	case 9:
		mutate_signature(&sqe->mkey.wire);
		break;
	case 10:
		sge[i].addr = one_of(2) ? sge[i].addr + word() : (uint64_t)any() << 32 | word();
		break;
	case 11:
		sge[i].length = word();
		break;
	case 12:
		sge[i].lkey = key();
		break;
	case 13:
		sqe->ex = any();
		sqe->rkey = any();
		sqe->remote_addr = any();
		break;
	}
}

/* one in ten has nothing but garbage behind its opcode */
static void write_entry(struct weft_sqe *sqe)
{
	struct weft_sge *sge = (void *)(sqe + 1);
	uint32_t i;

	memset(&sqe->mkey, 0, sizeof(sqe->mkey));
	memset(sge, 0, INLINE);
	sqe->mkey.key = an_mkey()->lkey;
	sqe->mkey.access = one_of(2) ? IBV_ACCESS_LOCAL_WRITE : one_of(2) ? REMOTE : 0;
	if (one_of(10)) {
		sqe->num_sge = below(ENTRIES + 2);
		for (i = offsetof(struct weft_sqe, ex); i < STRIDE; i += 4)
			*(uint32_t *)((uint8_t *)sqe + i) = one_of(3) ? key() : word();
		return;
	}
	if (one_of(2))
		write_list(sqe, sge);
	else
		write_pattern(sqe, sge);
	if (one_of(3))
		write_signed(sqe, sge);
	for (i = below(3); i; i--)
		mutate(sqe, sge);
}

/* the entry that the next request of a batch of @a will be in */
static struct weft_sqe *next_slot(void)
{
	return (void *)(slots + ring_of_a()->producer % SLOTS * STRIDE);
}

/* begin a request of @a in a way that the library knows, which write_entry() may undo */
static struct ibv_qp_ex *begin(uint64_t id, struct weft_sqe **sqe)
{
	struct ibv_sge sge = part(a.mr, 0, 64);
	struct ibv_qp_ex *qp = wr_start(&a, id);

	*sqe = next_slot();
	weftdv_wr_mr_list(dv_of(&a), plain, 0, 1, &sge);
	SAME((*sqe)->wr_id, id);
	SAME((*sqe)->opcode, WEFT_SQE_MKEY);
	return qp;
}

/* access to an mkey, which may have any memory, or none */
static void use(struct ibv_qp_ex *qp, uint64_t id)
{
	uint32_t lkey = an_mkey()->lkey;

	qp->wr_id = id;
	if (one_of(2))
		ibv_wr_rdma_write(qp, b.mr->rkey, ADDR(b, 0));
	else
		ibv_wr_rdma_read(qp, b.mr->rkey, ADDR(b, 0));
	ibv_wr_set_sge(qp, lkey, below(one_of(2) ? 3000 : 10), 1 + below(one_of(2) ? 3000 : 100));
}

/* how often requests that change mkeys, and those that use them, had a status; refused batches */
static unsigned int changed[32], used[32], batches[2];

static void count_status(unsigned int *counts, enum ibv_wc_status status, uint32_t allowed)
{
	if (!(1U << status & allowed))
		FAIL("status %d (%s)", status, ibv_wc_status_str(status));
	counts[status]++;
}

#define CHANGES	(1U << IBV_WC_SUCCESS | 1U << IBV_WC_MW_BIND_ERR | 1U << IBV_WC_LOC_QP_OP_ERR)
#define USES	(1U << IBV_WC_SUCCESS | 1U << IBV_WC_LOC_PROT_ERR)

/* The completions of a request @id that changes an mkey, and of another one that uses one. */
static void two_completions(uint64_t id, bool signaled)
{
	struct ibv_wc wc = next_wc(a.scq);

	/* a success may be silent; a failure never is */
	if (wc.wr_id != id && signaled)
		FAIL("no completion of the first request");
	if (wc.wr_id == id) {
		count_status(changed, wc.status, CHANGES);
		if (wc.status) {
			SAME(expect_wc(a.scq, id + 1, IBV_WC_WR_FLUSH_ERR).vendor_err, 1);
			expect_state(&a, IBV_QPS_ERR);
			again();
			return;
		}
		wc = next_wc(a.scq);
	}
	SAME(wc.wr_id, id + 1);
	count_status(used, wc.status, USES);
	if (wc.status) {
		expect_state(&a, IBV_QPS_ERR);
		again();
	}
}

/* by the peer */
static void use_remotely(void)
{
	enum ibv_wr_opcode op = one_of(2) ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
	struct ibv_wc wc;

	post(&b, at_key(swr(&b, 5, op, 0, 1 + below(300)), an_mkey()->rkey, below(300)));
	wc = next_wc(b.scq);
	SAME(wc.wr_id, 5);
	if (!wc.status)
		return;
	SAME(wc.status, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, a.qp);
	again();
}

/* most kinds of outcomes are there, so the entries are neither too good nor too bad */
static void check_counts(int num)
{
	printf("%u changes, %u refused, %u malformed; %u uses, %u refused\n",
	       changed[IBV_WC_SUCCESS], changed[IBV_WC_MW_BIND_ERR],
	       changed[IBV_WC_LOC_QP_OP_ERR], used[IBV_WC_SUCCESS], used[IBV_WC_LOC_PROT_ERR]);
	CHECK(changed[IBV_WC_SUCCESS] > num / 10);
	CHECK(changed[IBV_WC_MW_BIND_ERR] > num / 20);
	CHECK(changed[IBV_WC_LOC_QP_OP_ERR]);
	CHECK(used[IBV_WC_SUCCESS] > num / 40);
	CHECK(used[IBV_WC_LOC_PROT_ERR]);
}

void random_entries(void)
{
	int num = rounds(), i;
	struct weft_sqe *sqe;
	struct ibv_qp_ex *qp;
	bool signaled;

	witness_start();
	prepare();
	for (i = 0; i < num; i++) {
		note("round %d", i);
		qp = begin(ID + 2 * i, &sqe);
		write_entry(sqe);
		signaled = sqe->flags & WEFT_SQE_SIGNALED;
		use(qp, ID + 2 * i + 1);
		SAME(ibv_wr_complete(qp), 0);
		two_completions(ID + 2 * i, signaled);
		if (one_of(4))
			use_remotely();
		if (i % 64 == 0)
			check_memory();
	}
	note(NULL);
	check_counts(num);
	check_the_end();
	witness_end();
}

static volatile bool over;

/*
 * Write to the entries that change mkeys, which are each other one, whatever the kernel does with
 * them: all but what the completions are found by.
 */
static void *scribble(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	uint8_t *sqe;
	uint32_t off;

	while (!over) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		sqe = slots + (seed >> 60) / 2 * 2 * STRIDE;
		off = (seed >> 40) % 8 ? offsetof(struct weft_sqe, mkey) : 12;
		off += (seed >> 32) % (off == 12 ? 4 : (seed >> 44) % 2 ? 32 : 128) & ~3U;
		if ((seed >> 48) % 4)
			*(volatile uint32_t *)(sqe + off) ^= 1U << (seed >> 50) % 32;
		else
			*(volatile uint16_t *)(sqe + offsetof(struct weft_sqe, num_sge)) =
				(seed >> 50) % 40;
	}
	return NULL;
}

void changing_entries(void)
{
	int num = rounds(), i;
	struct weft_sqe *sqe;
	struct ibv_qp_ex *qp;
	pthread_t thread;

	witness_start();
	prepare();
	SAME(pthread_create(&thread, NULL, scribble, (void *)(uintptr_t)any()), 0);
	for (i = 0; i < num; i++) {
		note("round %d", i);
		qp = begin(ID + 2 * i, &sqe);
		write_entry(sqe);
		/* these stay; two_completions() needs them */
		sqe->flags = WEFT_SQE_SIGNALED;
		use(qp, ID + 2 * i + 1);
		SAME(ibv_wr_complete(qp), 0);
		two_completions(ID + 2 * i, true);
		if (i % 64 == 0)
			check_memory();
	}
	note(NULL);
	over = true;
	SAME(pthread_join(thread, NULL), 0);
	CHECK(changed[IBV_WC_SUCCESS] && changed[IBV_WC_MW_BIND_ERR]);
	check_the_end();
	witness_end();
}

/*
 * ---- Builders ----
 */

static void draw_sges(struct ibv_sge *sge)
{
	struct weft_sge to;
	int i;

	for (i = 0; i < 40; i++) {
		write_part(&to, one_of(10) ? word() : 1 + below(300));
		sge[i] = (struct ibv_sge){ to.addr, to.length, one_of(20) ? key() : to.lkey };
	}
}

static void draw_pattern(struct weftdv_mr_interleaved *data)
{
	struct weft_sge to;
	int i;

	for (i = 0; i < 40; i++) {
		write_part(&to, one_of(10) ? word() : 1 + below(300));
		data[i] = (struct weftdv_mr_interleaved){
			to.addr, to.length, one_of(10) ? word() : below(200),
			one_of(20) ? key() : to.lkey,
		};
	}
}

/* the pointers are right: a wrong one would be the end of this process */
struct terms {
	struct weftdv_sig_block_attr attr;
	struct weftdv_sig_block_domain domains[2];
	struct weftdv_sig_t10dif dif;
	struct weftdv_sig_crc crc;
};

static void draw_domain(struct terms *terms, struct weftdv_sig_block_domain *domain)
{
	memset(domain, 0, sizeof(*domain));
	domain->sig_type = one_of(12) ? word() : below(2);
	if (domain->sig_type == WEFTDV_SIG_TYPE_T10DIF)
		domain->sig.dif = &terms->dif;
	else
		domain->sig.crc = &terms->crc;
	domain->block_size = one_of(12) ? word() : 0;
	domain->comp_mask = one_of(20) ? word() : 0;
}

static void draw_terms(struct terms *terms)
{
	terms->dif = (struct weftdv_sig_t10dif){
		.bg_type = one_of(12) ? word() : below(2),
		.bg = one_of(12) ? word() : one_of(2) ? 0 : UINT16_MAX,
		.app_tag = word(), .ref_tag = word(), .flags = below(one_of(12) ? 65536 : 8),
	};
	terms->crc = (struct weftdv_sig_crc){
		.type = one_of(12) ? word() : below(3),
		.seed = one_of(8) ? word() : one_of(2) ? 0 : UINT64_MAX,
	};
	draw_domain(terms, &terms->domains[0]);
	draw_domain(terms, &terms->domains[1]);
	terms->attr = (struct weftdv_sig_block_attr){
		.mem = one_of(4) ? NULL : &terms->domains[0],
		.wire = one_of(4) ? NULL : &terms->domains[1],
		.flags = one_of(12) ? word() : one_of(4), .check_mask = any(), .copy_mask = any(),
		.comp_mask = one_of(20) ? word() : 0,
	};
}

static uint32_t draw_access(void)
{
	return one_of(10) ? word() : one_of(2) ? IBV_ACCESS_LOCAL_WRITE : REMOTE;
}

static uint16_t draw_num(void)
{
	return one_of(10) ? below(41) : 1 + below(4);
}

/* Call one of the setters. */
static void draw_setter(struct weftdv_qp_ex *dv)
{
	static struct weftdv_mr_interleaved data[40];
	static struct terms terms;
	struct ibv_sge sge[40];

	switch (below(4)) {
	case 0:
		weftdv_wr_set_mkey_access_flags(dv, draw_access());
		break;
	case 1:
		draw_sges(sge);
		weftdv_wr_set_mkey_layout_list(dv, draw_num(), sge);
		break;
	case 2:
		draw_pattern(data);
		weftdv_wr_set_mkey_layout_interleaved(dv, one_of(10) ? word() : 1 + below(8),
						      draw_num(), data);
		break;
	case 3:
		draw_terms(&terms);
		weftdv_wr_set_mkey_sig_block(dv, &terms.attr);
		break;
	}
}

/* Begin a request that changes an mkey, perhaps, and call some setters. */
static void draw_request(struct weftdv_qp_ex *dv)
{
	struct weftdv_mkey_conf_attr conf = {
		.conf_flags = one_of(30) ? word() : 0, .comp_mask = one_of(30) ? word() : 0,
	};
	static struct weftdv_mr_interleaved data[40];
	uint32_t setters = 1 + below(3), i;
	struct ibv_sge sge[40];

	switch (below(4)) {
	case 0:
		draw_sges(sge);
		weftdv_wr_mr_list(dv, an_mkey(), draw_access(), draw_num(), sge);
		break;
	case 1:
		draw_pattern(data);
		weftdv_wr_mr_interleaved(dv, an_mkey(), draw_access(),
					 one_of(10) ? word() : 1 + below(8), draw_num(), data);
		break;
	default:
		weftdv_wr_mkey_configure(dv, an_mkey(), one_of(20) ? word() : setters, &conf);
		for (i = one_of(20) ? below(5) : setters; i; i--)
			draw_setter(dv);
	}
}

/* All requests of a batch complete in their order; those behind a failure are flushed. */
static void batch_completes(uint64_t id, uint32_t num, uint32_t last)
{
	struct ibv_wc wc;
	bool flushed = false;
	uint32_t i;

	for (i = 0; i < num; i++) {
		wc = next_wc(a.scq);
		SAME(wc.wr_id, id + i);
		if (flushed)
			SAME(wc.status, IBV_WC_WR_FLUSH_ERR);
		else if (i == last)
			count_status(used, wc.status, USES);
		else
			count_status(changed, wc.status, CHANGES & ~(1U << IBV_WC_LOC_QP_OP_ERR));
		flushed |= !!wc.status;
	}
	if (flushed) {
		expect_state(&a, IBV_QPS_ERR);
		again();
	}
}

/* If a builder refuses its arguments, nothing of the batch is posted. */
static void one_batch(uint64_t id)
{
	uint32_t num = one_of(20) ? SLOTS + below(3) : 1 + below(3), i;
	uint32_t producer = ring_of_a()->producer;
	struct ibv_qp_ex *qp = wr_start(&a, id);
	bool uses = one_of(2);
	int ret;

	for (i = 0; i < num; i++) {
		qp->wr_id = id + i;
		draw_request(dv_of(&a));
	}
	if (uses)
		use(qp, id + num++);
	if (one_of(10)) {
		ibv_wr_abort(qp);
		SAME(ring_of_a()->producer, producer);
		return;
	}
	ret = ibv_wr_complete(qp);
	if (ret && ret != EINVAL && ret != ENOMEM && ret != EOPNOTSUPP)
		FAIL("errno %d (%s)", ret, strerror(ret));
	if (ret == ENOMEM)
		CHECK(num > SLOTS);
	batches[ret != 0]++;
	SAME(ring_of_a()->producer, producer + (ret ? 0 : num));
	if (!ret)
		batch_completes(id, num, uses ? num - 1 : num);
}

void random_builders(void)
{
	int num = rounds(), i;

	witness_start();
	prepare();
	for (i = 0; i < num; i++) {
		note("round %d", i);
		one_batch(ID + 32 * i);
		if (i % 64 == 0)
			check_memory();
	}
	note(NULL);
	printf("%u batches posted, %u refused\n", batches[0], batches[1]);
	CHECK(batches[0] > num / 10 && batches[1] > num / 10);
	CHECK(changed[IBV_WC_SUCCESS] > num / 20 && changed[IBV_WC_MW_BIND_ERR]);
	/* few have a range that is in the layout by chance */
	CHECK(used[IBV_WC_SUCCESS] + used[IBV_WC_LOC_PROT_ERR]);
	expect_no_wc(a.scq);
	check_the_end();
	witness_end();
}
