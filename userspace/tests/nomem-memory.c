// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory regions, windows, device memory, mkeys. */
#include "nomem.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <linux/udmabuf.h>

#define BLOCK		512
#define LIST		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static struct ibv_mr *mr;
static uint8_t *some;
static size_t size;
static int access_flags;
static int reg_mr(void)
{
	return of_pointer(mr = ibv_reg_mr(pd, some, size, access_flags));
}

static void reg_mr_undo(void)
{
	SAME(ibv_dereg_mr(mr), 0);
}

static struct ibv_context *other;
static struct ibv_pd *other_pd;
static struct ibv_mr *other_mr;

static void page_first_undo(void)
{
	if (other_mr)
		SAME(ibv_dereg_mr(other_mr), 0);
	if (other_pd)
		SAME(ibv_dealloc_pd(other_pd), 0);
	if (other)
		SAME(ibv_close_device(other), 0);
}

/* the first region of a context that is paged: the next ones find what this one makes */
static int page_first(void)
{
	int err;

	other_pd = NULL;
	other_mr = NULL;
	other = ibv_open_device(ctx->device);
	if (other)
		other_pd = ibv_alloc_pd(other);
	if (other_pd)
		other_mr = ibv_reg_mr(other_pd, some, 4096, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	if (other_mr)
		return 0;
	err = errno;
	page_first_undo();
	return err;
}

/* ibv_rereg_mr() may leave no region behind when it fails; weft's keeps the old one */
static int rereg_mr(void)
{
	return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, some + 4096, size, 0) ?
	       errno : 0;
}

static struct ibv_mw *mw;
static enum ibv_mw_type mw_type;
static int alloc_mw(void)
{
	return of_pointer(mw = ibv_alloc_mw(pd, mw_type));
}

static void alloc_mw_undo(void)
{
	SAME(ibv_dealloc_mw(mw), 0);
}

static struct ibv_dm *dm;
static int alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 100000 };

	return of_pointer(dm = ibv_alloc_dm(ctx, &attr));
}

static void alloc_dm_undo(void)
{
	SAME(ibv_free_dm(dm), 0);
}

static int reg_dm_mr(void)
{
	return of_pointer(mr = ibv_reg_dm_mr(pd, dm, 0, 100000,
					     ACCESS_ALL | IBV_ACCESS_ZERO_BASED));
}

static int alloc_null_mr(void)
{
	return of_pointer(mr = ibv_alloc_null_mr(pd));
}

static void alloc_null_mr_undo(void)
{
	SAME(ibv_dereg_mr(mr), 0);
}

static const enum ibv_advise_mr_advice advices[] = {
	IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
	IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
};
static size_t advice;

static int advise(uint32_t flags)
{
	struct ibv_sge sge[] = {
		{ (uintptr_t)some, 8192, mr->lkey }, { (uintptr_t)some + 40960, 40960, mr->lkey },
	};

	madvise(some, size, MADV_DONTNEED);
	return of_number(ibv_advise_mr(pd, advices[advice], flags, sge, ARRAY_SIZE(sge)));
}

static int prefetch(void)
{
	return advise(0);
}

static int prefetch_now(void)
{
	return advise(IBV_ADVISE_MR_FLAG_FLUSH);
}

void memory_regions(void)
{
	some = memory((1 << 20) + 4096);
	size = 1 << 20;
	access_flags = ACCESS_ALL;
	/* before anything else of this process is paged */
	WALK(page_first);
	WALK(reg_mr);
	access_flags |= IBV_ACCESS_ON_DEMAND;
	WALK(reg_mr);
	access_flags = ACCESS_ALL;
	SAME(reg_mr(), 0);
	walk("rereg_mr", rereg_mr, nothing);
	reg_mr_undo();
	mw_type = IBV_MW_TYPE_1;
	WALK(alloc_mw);
	mw_type = IBV_MW_TYPE_2;
	WALK(alloc_mw);
	WALK(alloc_dm);
	SAME(alloc_dm(), 0);
	walk("reg_dm_mr", reg_dm_mr, reg_mr_undo);
	alloc_dm_undo();
	/* it is the provider's alone */
	WALK(alloc_null_mr);
	access_flags = ACCESS_ALL | IBV_ACCESS_ON_DEMAND;
	SAME(reg_mr(), 0);
	for (advice = 0; advice < ARRAY_SIZE(advices); advice++) {
		walk("prefetch", prefetch, nothing);
		walk("prefetch_now", prefetch_now, nothing);
	}
	reg_mr_undo();
}

static int exported;
static int reg_dmabuf_mr(void)
{
	return of_pointer(mr = ibv_reg_dmabuf_mr(pd, 4096, 65536, 0x770000001000, exported,
						 access_flags));
}

/* a dma-buf of udmabuf's, which each of these kernels has */
void dma_bufs(void)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = 1 << 18 };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);

	CHECK(device >= 0);
	create.memfd = memfd_create("weft", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	CHECK(create.memfd != -1U);
	CHECK(!ftruncate(create.memfd, create.size));
	CHECK(!fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	exported = ioctl(device, UDMABUF_CREATE, &create);
	CHECK(exported >= 0);
	access_flags = ACCESS_ALL;
	walk("reg_dmabuf_mr", reg_dmabuf_mr, reg_mr_undo);
	CHECK(failures);
}

/*
 * ---- Mkeys ----
 */

static struct weftdv_mkey *mkey;
static uint32_t mkey_flags;

struct weftdv_mkey *mkey_new(uint32_t flags)
{
	struct weftdv_mkey_init_attr attr = {
		.pd = pd, .create_flags = WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags,
		.max_entries = 16,
	};

	return weftdv_create_mkey(&attr);
}

static int create_mkey(void)
{
	return of_pointer(mkey = mkey_new(mkey_flags));
}

static void create_mkey_undo(void)
{
	SAME(weftdv_destroy_mkey(mkey), 0);
}

void make_dv(struct end *e)
{
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = WEFTDV_QP_EX_WITH_MR_LIST | WEFTDV_QP_EX_WITH_MKEY_CONFIGURE,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .pd = pd,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 256 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_LOCAL_INV,
	};

	make(e, CONF());
	SAME(ibv_destroy_qp(e->qp), 0);
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	e->qp = weftdv_create_qp(ctx, &attr, &dv);
	CHECK(e->qp);
}

static struct weftdv_qp_ex *dv_of(struct end *e)
{
	return weftdv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(e->qp));
}

/* parts of @e's buffer, each of which is as far from the next as it is long */
static void set_parts(struct end *e, struct ibv_sge *sge, int num, uint32_t length)
{
	int i;

	for (i = 0; i < num; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)e->buf + 2 * i * length, length,
					   e->mr->lkey };
}

enum ibv_wc_status mkey_list(struct end *e, struct weftdv_mkey *of)
{
	struct ibv_qp_ex *qp = wr_start(e, 700);
	struct ibv_sge sge[8];

	set_parts(e, sge, ARRAY_SIZE(sge), 4096);
	weftdv_wr_mr_list(dv_of(e), of, LIST, ARRAY_SIZE(sge), sge);
	SAME(ibv_wr_complete(qp), 0);
	return next_wc(e->scq).status;
}

enum ibv_wc_status mkey_invalidate(struct end *e, struct weftdv_mkey *of)
{
	struct ibv_qp_ex *qp = wr_start(e, 701);

	ibv_wr_local_inv(qp, of->rkey);
	SAME(ibv_wr_complete(qp), 0);
	return next_wc(e->scq).status;
}

/* Blocks in memory that have signatures, and on the wire have none. */
static enum ibv_wc_status mkey_sign(struct end *e)
{
	struct weftdv_sig_crc crc = { .type = WEFTDV_SIG_CRC_TYPE_CRC32, .seed = 0xffffffff };
	struct weftdv_sig_block_domain domain = {
		.sig_type = WEFTDV_SIG_TYPE_CRC, .sig.crc = &crc,
		.block_size = WEFTDV_BLOCK_SIZE_512,
	};
	struct weftdv_sig_block_attr sig = {
		.mem = &domain, .check_mask = WEFTDV_SIG_MASK_CRC32,
	};
	struct weftdv_mkey_conf_attr conf = {};
	struct ibv_qp_ex *qp = wr_start(e, 702);
	struct ibv_sge sge[4];

	set_parts(e, sge, ARRAY_SIZE(sge), BLOCK + 4);
	weftdv_wr_mkey_configure(dv_of(e), mkey, 3, &conf);
	weftdv_wr_set_mkey_access_flags(dv_of(e), LIST);
	weftdv_wr_set_mkey_layout_list(dv_of(e), ARRAY_SIZE(sge), sge);
	weftdv_wr_set_mkey_sig_block(dv_of(e), &sig);
	SAME(ibv_wr_complete(qp), 0);
	return next_wc(e->scq).status;
}

void connect_again(void)
{
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
}

/* A request that gets no memory ends the QP, and the mkey is as it was. */
static int of_request(enum ibv_wc_status status)
{
	if (!status)
		return 0;
	SAME(status, IBV_WC_MW_BIND_ERR);
	connect_again();
	return ENOMEM;
}

static int configure_list(void)
{
	return of_request(mkey_list(&a, mkey));
}

static int configure_signed(void)
{
	return of_request(mkey_sign(&a));
}

static void configured_undo(void)
{
	SAME(mkey_invalidate(&a, mkey), IBV_WC_SUCCESS);
}

static int invalidate(void)
{
	return of_request(mkey_invalidate(&a, mkey));
}

static void invalidate_undo(void)
{
	SAME(mkey_list(&a, mkey), IBV_WC_SUCCESS);
}

static int check_mkey(void)
{
	struct weftdv_mkey_err error;

	return of_number(weftdv_mkey_check(mkey, &error));
}

/* through @mkey, as in @b's memory */
static void uses_list(void)
{
	struct ibv_qp_ex *qp;

	SAME(mkey_list(&b, mkey), IBV_WC_SUCCESS);
	fill(a.buf, 8192, 6);
	memset(b.buf, 0, BUF);
	qp = wr_start(&a, 1);
	ibv_wr_rdma_write(qp, mkey->rkey, 0);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf, 8192);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(a.scq, 1);
	SAME(memcmp(b.buf, a.buf, 4096), 0);
	check_zero(b.buf + 4096, 4096);
	SAME(memcmp(b.buf + 8192, a.buf + 4096, 4096), 0);
	SAME(mkey_invalidate(&b, mkey), IBV_WC_SUCCESS);
}

void mkeys(void)
{
	make_dv(&a);
	make_dv(&b);
	connect_ends(&a, &b);
	WALK(create_mkey);
	CHECK(failures);
	SAME(create_mkey(), 0);
	walk("mkey of a list", configure_list, configured_undo);
	invalidate_undo();
	WALK(invalidate);
	configured_undo();
	uses_list();
	create_mkey_undo();
	mkey_flags = WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE;
	walk("create_mkey with signatures", create_mkey, create_mkey_undo);
	SAME(create_mkey(), 0);
	walk("mkey with signatures", configure_signed, configured_undo);
	SAME(mkey_sign(&a), IBV_WC_SUCCESS);
	walk("check_mkey", check_mkey, nothing);
	create_mkey_undo();
}
