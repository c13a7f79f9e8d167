// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An area whose bytes are parts of two other buffers, by a list or an interleaved pattern of an
 * mkey. Whatever is between the parts keeps its bytes.
 */
#include "products.h"

#include <infiniband/weftdv.h>

#define ENTRIES		16
#define BUFFERS		2
#define GAP		300		/* bytes between two parts, at most */
#define PASSES		16
#define BLANK		0xee

/* where bytes of the area are */
struct part {
	int buffer;
	size_t at, length;
};

static struct {
	struct area *area;
	uint8_t *p[BUFFERS];
	size_t size;
	struct ibv_mr *mr[2][BUFFERS];	/* of each PD */
	struct end e[2];		/* whose QPs configure mkeys of each PD */
	struct part part[ENTRIES * PASSES];	/* in the order of the area's bytes */
	unsigned int num;
	/* entries, which are repeated if there are several passes */
	unsigned int entries, passes;
	uint32_t skip[ENTRIES];
} layout;

/*
 * ---- Layouts ----
 */

/* Lengths of entries, of @total bytes. */
static void draw_lengths(uint32_t *length, size_t total)
{
	unsigned int i;

	for (i = 0; i + 1 < layout.entries; i++) {
		length[i] = 1 + below(total - (layout.entries - i));
		if (one_in(2))
			length[i] = 1 + length[i] / 8;
		total -= length[i];
	}
	length[i] = total;
}

static void draw_layout(void)
{
	static const unsigned int passes[] = { 1, 1, 1, 2, 3, 4, 6, 8, 12, 16 };
	size_t used[BUFFERS] = {};
	uint32_t length[ENTRIES];
	unsigned int i, pass;
	int buffer;

	layout.passes = passes[below(ARRAY_SIZE(passes))];
	layout.entries = 1 + below(ENTRIES);
	draw_lengths(length, layout.area->size / layout.passes);
	layout.num = layout.passes * layout.entries;
	for (i = 0; i < layout.entries; i++) {
		buffer = below(BUFFERS);
		used[buffer] += below(GAP);
		layout.skip[i] = layout.passes > 1 ? below(GAP / layout.passes) : 0;
		for (pass = 0; pass < layout.passes; pass++) {
			layout.part[pass * layout.entries + i] =
				(struct part){ buffer, used[buffer], length[i] };
			used[buffer] += length[i] + layout.skip[i];
		}
		CHECK(used[buffer] <= layout.size);
	}
}

/* Copy bytes from or to the parts; @write: to them. */
static void copy_parts(size_t off, uint8_t *data, size_t length, bool write)
{
	struct part *part;
	size_t run;

	for (part = layout.part; length; off -= part->length, part++) {
		if (off >= part->length)
			continue;
		run = part->length - off < length ? part->length - off : length;
		if (write)
			memcpy(layout.p[part->buffer] + part->at + off, data, run);
		else
			memcpy(data, layout.p[part->buffer] + part->at + off, run);
		data += run;
		length -= run;
		off = part->length;
	}
}

void mkey_read(size_t off, uint8_t *data, size_t length)
{
	copy_parts(off, data, length, false);
}

void mkey_write(size_t off, uint8_t *data, size_t length)
{
	copy_parts(off, data, length, true);
}

/* Nothing but the parts has been written to. */
void check_gaps(void)
{
	static uint8_t *copy;
	unsigned int i;
	size_t at;
	int b;

	for (b = 0; b < BUFFERS; b++) {
		copy = copy ?: memory(layout.size);
		memcpy(copy, layout.p[b], layout.size);
		for (i = 0; i < layout.num; i++)
			if (layout.part[i].buffer == b)
				memset(copy + layout.part[i].at, BLANK, layout.part[i].length);
		for (at = 0; at < layout.size; at++)
			if (copy[at] != BLANK)
				WRONG("byte %#zx of buffer %d, beside the mkey's, is %#x", at, b,
				      copy[at]);
	}
}

void new_layout(void)
{
	int b;

	for (b = 0; b < BUFFERS; b++)
		memset(layout.p[b], BLANK, layout.size);
	draw_layout();
	mkey_write(0, layout.area->model, layout.area->size);
}

/*
 * ---- Mkeys ----
 */

static void post_layout(struct end *e, struct weftdv_mkey *mkey, struct ibv_mr **mr, int access)
{
	struct ibv_qp_ex *qp = wr_start(e, 1);
	struct weftdv_qp_ex *dv = weftdv_qp_ex_from_ibv_qp_ex(qp);
	struct weftdv_mr_interleaved data[ENTRIES];
	struct ibv_sge sge[ENTRIES];
	const struct part *part = layout.part;
	unsigned int i;

	for (i = 0; i < layout.entries; i++, part++) {
		sge[i] = (struct ibv_sge){
			(uintptr_t)layout.p[part->buffer] + part->at, part->length,
			mr[part->buffer]->lkey,
		};
		data[i] = (struct weftdv_mr_interleaved){
			sge[i].addr, part->length, layout.skip[i], sge[i].lkey,
		};
	}
	if (layout.passes > 1)
		weftdv_wr_mr_interleaved(dv, mkey, access, layout.passes, layout.entries, data);
	else
		weftdv_wr_mr_list(dv, mkey, access, layout.entries, sge);
	SAME(ibv_wr_complete(qp), 0);
	expect_ok(e->scq, 1);
}

struct weftdv_mkey *mkey_open(struct ibv_pd *whose, int access)
{
	int pd_index = whose == pds[1];
	struct weftdv_mkey_init_attr attr = {
		.pd = whose, .create_flags = WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = ENTRIES,
	};
	struct weftdv_mkey *mkey = weftdv_create_mkey(&attr);

	CHECK(mkey);
	post_layout(&layout.e[pd_index], mkey, layout.mr[pd_index], access);
	return mkey;
}

static void make_configurer(struct end *e, struct ibv_pd *whose)
{
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = WEFTDV_QP_EX_WITH_MR_LIST | WEFTDV_QP_EX_WITH_MR_INTERLEAVED,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .pd = whose,
		.cap = { .max_send_wr = 4, .max_send_sge = 1, .max_inline_data = 512 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	make(e, CONF());
	SAME(ibv_destroy_qp(e->qp), 0);
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	e->qp = weftdv_create_qp(ctx, &attr, &dv);
	CHECK(e->qp);
	to_init(e);
	to_rtr(e, e);
	to_rts(e);
}

void make_layout(struct area *area)
{
	int b, i;

	layout.area = area;
	layout.size = (area->size + 2 * ENTRIES * GAP + PAGE) & -PAGE;
	for (b = 0; b < BUFFERS; b++) {
		layout.p[b] = memory(layout.size);
		for (i = 0; i < 2; i++) {
			layout.mr[i][b] = ibv_reg_mr(pds[i], layout.p[b], layout.size, ACCESS_ALL);
			CHECK(layout.mr[i][b]);
		}
	}
	for (i = 0; i < 2; i++)
		make_configurer(&layout.e[i], pds[i]);
	new_layout();
}
