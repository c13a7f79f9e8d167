// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pairs of QPs: what is posted to them, and the completions and events that come of it.
 */
#include "products.h"

#include <fcntl.h>
#include <infiniband/weftdv.h>

struct pair pairs[MAX_PAIRS];
unsigned int num_pairs;

#define DC_KEY	0x1122334455667788ULL

static struct queue shared[5];		/* of RC; of UC and UD; of XRC; of DC; with tags */
static struct ibv_xrcd *xrcd;
static struct ibv_ah *ah;

static const enum ibv_qp_type qp_types[SERVICES] = {
	IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_UD, IBV_QPT_RC,
	IBV_QPT_RC, IBV_QPT_RC,
};

/*
 * ---- Making ----
 */

static void make_shared(struct queue *queue, struct ibv_pd *whose)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = MAX_RECVS, .max_sge = LIST } };

	queue->pd = whose;
	queue->srq = ibv_create_srq(whose, &attr);
	CHECK(queue->srq);
}

static void make_xrc_queue(struct queue *queue, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = MAX_RECVS, .max_sge = LIST },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq,
	};

	queue->pd = pd;
	queue->srq = ibv_create_srq_ex(ctx, &attr);
	CHECK(queue->srq);
	SAME(ibv_get_srq_num(queue->srq, &queue->srqn), 0);
}

static void replace_qp(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	SAME(ibv_destroy_qp(e->qp), 0);
	e->qp = ibv_create_qp_ex(ctx, attr);
	CHECK(e->qp);
}

static const uint64_t one_way_ops =
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV |
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

static void make_xrc(struct pair *pair)
{
	struct ibv_qp_init_attr_ex ini = {
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_cq = pair->side[0].e.scq,
		.sq_sig_all = pair->sig_all,
		.cap = { .max_send_wr = 64, .max_send_sge = LIST, .max_inline_data = INLINE },
		.send_ops_flags = one_way_ops,
	};
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_qp_init_attr_ex tgt = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	xrcd = ibv_open_xrcd(ctx, &attr);
	CHECK(xrcd);
	tgt.xrcd = xrcd;
	make_xrc_queue(&shared[2], pair->side[1].e.rcq);
	pair->side[1].queue = &shared[2];
	replace_qp(&pair->side[0].e, &ini);
	replace_qp(&pair->side[1].e, &tgt);
}

static void dc_step(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state, .port_num = 1, .qp_access_flags = ACCESS_ALL,
		.path_mtu = port.active_mtu, .min_rnr_timer = 10, .timeout = 18, .retry_cnt = 7,
		.rnr_retry = 2, .max_rd_atomic = 4,
	};

	av_to(&attr.ah_attr, gid4, gid4);
	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0);
}

static void start_initiator(struct ibv_qp *qp)
{
	dc_step(qp, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT);
	dc_step(qp, IBV_QPS_RTR, IBV_QP_PATH_MTU);
	dc_step(qp, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN);
}

static struct ibv_qp *dc_qp(struct ibv_qp_init_attr_ex *attr, enum weftdv_dc_type type)
{
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_DC, .dc_init_attr.dc_type = type,
	};
	struct ibv_qp *qp;

	if (type == WEFTDV_DCTYPE_DCT)
		dv.dc_init_attr.dct_access_key = DC_KEY;
	qp = weftdv_create_qp(ctx, attr, &dv);
	CHECK(qp);
	return qp;
}

static void make_dc(struct pair *pair)
{
	struct end *from = &pair->side[0].e, *to = &pair->side[1].e;
	struct ibv_qp_init_attr_ex initiator = {
		.qp_type = IBV_QPT_DRIVER, .send_cq = from->scq, .recv_cq = from->rcq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = pd,
		.sq_sig_all = pair->sig_all,
		.cap = { .max_send_wr = 64, .max_send_sge = LIST, .max_inline_data = INLINE },
		.send_ops_flags = one_way_ops,
	};
	struct ibv_qp_init_attr_ex target = {
		.qp_type = IBV_QPT_DRIVER, .send_cq = to->scq, .recv_cq = to->rcq,
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd, .srq = shared[3].srq,
	};

	pair->side[1].queue = &shared[3];
	SAME(ibv_destroy_qp(from->qp), 0);
	SAME(ibv_destroy_qp(to->qp), 0);
	from->qp = dc_qp(&initiator, WEFTDV_DCTYPE_DCI);
	to->qp = dc_qp(&target, WEFTDV_DCTYPE_DCT);
	dc_step(to->qp, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	dc_step(to->qp, IBV_QPS_RTR, IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
}

static void make_tags(struct pair *pair)
{
	struct end *to = &pair->side[1].e;
	struct queue *queue = &shared[4];
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = MAX_RECVS, .max_sge = LIST },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM, .pd = pds[1], .cq = to->rcq,
		.tm_cap = { .max_num_tags = 2 * MAX_WORK, .max_ops = 16 },
	};
	struct ibv_qp_init_attr_ex qp = {
		.qp_type = IBV_QPT_RC, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
		.send_cq = to->scq, .recv_cq = to->rcq,
	};

	queue->pd = pds[1];
	queue->srq = ibv_create_srq_ex(ctx, &attr);
	CHECK(queue->srq);
	pair->side[1].queue = queue;
	qp.srq = queue->srq;
	replace_qp(to, &qp);
}

static void join(struct pair *pair)
{
	if (pair->service == DC) {
		start_initiator(pair->side[0].e.qp);
	} else if (is_ud(pair->service)) {
		to_ready(&pair->side[0].e);
		to_ready(&pair->side[1].e);
	} else {
		connect_ends(&pair->side[0].e, &pair->side[1].e);
	}
}

static void make_one(enum service service)
{
	struct pair *pair = &pairs[num_pairs++];
	struct queue *queue = service == RC_SRQ ? &shared[0] :
			      service == UC_SRQ || service == UD_SRQ ? &shared[1] : NULL;
	bool placement = has_placement && (service == RC || service == RC_SRQ);
	int i;

	CHECK(num_pairs <= MAX_PAIRS);
	pair->service = service;
	pair->sig_all = num_pairs % 2;
	for (i = 0; i < 2; i++) {
		make(&pair->side[i].e,
		     CONF(.type = qp_types[service], .sq = 64, .rq = 64, .sge = LIST,
			  .inline_data = INLINE, .cqe = 512, .ex = true,
			  .sig_all = pair->sig_all, .srq = queue ? queue->srq : NULL,
			  .access = ACCESS_ALL | (placement ? IBV_ACCESS_FLUSH_GLOBAL : 0),
			  .ops = placement ? IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE : 0,
			  .timeout = 18, .rnr_retry = 2, .rnr_timer = 10));
		pair->side[i].own.pd = pd;
		pair->side[i].queue = queue ?: &pair->side[i].own;
		pair->side[i].event = -1;
	}
	if (service == XRC)
		make_xrc(pair);
	else if (service == DC)
		make_dc(pair);
	else if (service == TAG)
		make_tags(pair);
	join(pair);
}

void make_pairs(void)
{
	static const enum service all[] = {
		RC, RC_SRQ, UC, UD, XRC, RC, RC_SRQ, UC_SRQ, UD_SRQ, DC, TAG,
	};
	unsigned int i;

	make_shared(&shared[0], pds[1]);
	make_shared(&shared[1], pd);
	make_shared(&shared[3], pd);
	ah = ah_to(gid4, gid4);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i] != DC || !packets)
			make_one(all[i]);
}

/*
 * ---- Windows ----
 */

/* A window of type 2 is of one QP, of which each has its turn. */
static struct end *binder(const struct key *window)
{
	struct end *ends[2 * MAX_PAIRS];
	unsigned int i, num = 0;

	for (i = 0; i < 2 * num_pairs; i++)
		if (!is_ud(pairs[i / 2].service) && !is_one_way(pairs[i / 2].service))
			ends[num++] = &pairs[i / 2].side[i % 2].e;
	return ends[(window->kind == KIND_WINDOW_2 ? (window - windows) / 2 : below(num)) % num];
}

static struct key *region_to_bind(void)
{
	static const enum kind kinds[] = {
		KIND_PINNED, KIND_PAGED, KIND_WHOLE, KIND_FILE, KIND_HUGE,
	};
	struct area *area = random_area(kinds[below(ARRAY_SIZE(kinds))], one_in(4));

	return area ? &area->keys[0] : NULL;
}

static void local_invalidate(struct key *window)
{
	struct ibv_send_wr wr = {
		.wr_id = next_id(), .opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = window->number,
	};

	post(window->owner, &wr);
	SAME(expect_ok(window->owner->scq, wr.wr_id).opcode, IBV_WC_LOCAL_INV);
	kill_window(window);
}

static void post_bind(struct key *window, struct key *key, struct ibv_mw_bind_info *info)
{
	struct ibv_mw_bind bind = {
		.wr_id = next_id(), .send_flags = IBV_SEND_SIGNALED, .bind_info = *info,
	};
	struct ibv_send_wr wr = {
		.wr_id = bind.wr_id, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
	};

	if (window->kind == KIND_WINDOW_1) {
		SAME(ibv_bind_mw(window->owner->qp, window->mw, &bind), 0);
		window->number = window->mw->rkey;
	} else {
		wr.bind_mw.mw = window->mw;
		wr.bind_mw.rkey = ibv_inc_rkey(window->number ?: window->mw->rkey);
		wr.bind_mw.bind_info = *info;
		post(window->owner, &wr);
		window->number = wr.bind_mw.rkey;
		window->mw->rkey = wr.bind_mw.rkey;
	}
	SAME(expect_ok(window->owner->scq, bind.wr_id).opcode, IBV_WC_BIND_MW);
	window->parent = key;
	key->bound++;
}

void bind_window(struct key *window)
{
	struct key *key = region_to_bind();
	struct ibv_mw_bind_info info;

	if (!key)
		return;
	if (window->valid && window->kind == KIND_WINDOW_2)
		local_invalidate(window);
	else if (window->valid)
		kill_window(window);
	window->owner = binder(window);
	window->area = key->area;
	window->pd = pd;
	window->qpn = window->kind == KIND_WINDOW_2 ? window->owner->qp->qp_num : 0;
	window->off = below(key->length / 2);
	window->length = 1 + below(key->length - window->off);
	window->addr = key->addr + window->off;
	window->access = below(-1UL) & (ACCESS_ALL & ~IBV_ACCESS_LOCAL_WRITE);
	if (one_in(2))
		window->access = ACCESS_ALL & ~IBV_ACCESS_LOCAL_WRITE;
	info = (struct ibv_mw_bind_info){
		.mr = key->mr, .addr = window->addr, .length = window->length,
		.mw_access_flags = window->access,
	};
	post_bind(window, key, &info);
	window->valid = true;
}

/*
 * ---- Posting ----
 */

static void post_tag_op(struct queue *queue, struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad;

	wr->flags |= IBV_OPS_TM_SYNC;
	wr->tm.unexpected_cnt = queue->seen;
	SAME(ibv_post_srq_ops(queue->srq, wr, &bad), 0);
}

static void post_tags(struct queue *queue)
{
	struct ibv_ops_wr wr;
	struct tag *tag;
	unsigned int i;

	for (i = 0; i < queue->num_tags; i++) {
		tag = &queue->tags[i];
		if (tag->posted)
			continue;
		wr = (struct ibv_ops_wr){
			.opcode = IBV_WR_TAG_ADD,
			.tm.add = {
				.recv_wr_id = tag->recv.id, .sg_list = &tag->recv.list.sge[1],
				.num_sge = tag->recv.list.num - 1, .tag = tag->value,
				.mask = one_in(2) ? UINT64_MAX : UINT64_MAX << 8,
			},
		};
		post_tag_op(queue, &wr);
		tag->handle = wr.tm.handle;
		tag->posted = true;
	}
}

void remove_tags(void)
{
	struct queue *queue = &shared[4];
	struct ibv_cq *cq = pairs[num_pairs - 1].side[1].e.rcq;
	struct ibv_ops_wr wr;
	unsigned int i;

	queue->seen = queue->unexpected;
	for (i = 0; i < queue->num_tags; i++) {
		if (!queue->tags[i].posted || queue->tags[i].taken)
			continue;
		wr = (struct ibv_ops_wr){
			.wr_id = next_id(), .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED,
			.tm.handle = queue->tags[i].handle,
		};
		post_tag_op(queue, &wr);
		SAME(expect_ok(cq, wr.wr_id).opcode, IBV_WC_TM_DEL);
	}
	queue->num_tags = 0;
}

static void post_fresh(struct side *side)
{
	struct ibv_recv_wr wrs[MAX_RECVS], *bad;
	struct queue *queue = side->queue;
	struct recv *recv;
	unsigned int i;

	post_tags(queue);
	if (!queue->num_fresh)
		return;
	for (i = 0; i < queue->num_fresh; i++) {
		recv = &queue->fresh[i];
		wrs[i] = (struct ibv_recv_wr){
			.wr_id = recv->id, .next = i + 1 < queue->num_fresh ? &wrs[i + 1] : NULL,
			.sg_list = recv->list.sge, .num_sge = recv->list.num,
		};
	}
	if (queue->srq)
		SAME(ibv_post_srq_recv(queue->srq, wrs, &bad), 0);
	else
		post_r(&side->e, wrs);
	queue->num_fresh = 0;
}

static const enum ibv_wr_opcode opcodes[OPS] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_FLUSH, IBV_WR_ATOMIC_WRITE,
};

static struct ibv_send_wr request_of(struct flow *flow, struct work *work)
{
	struct ibv_send_wr wr = {
		.wr_id = work->id, .opcode = opcodes[work->op], .send_flags = work->flags,
		.sg_list = work->list.sge, .num_sge = work->list.num,
	};

	if (work->op == OP_SEND_INV)
		wr.invalidate_rkey = work->more;
	else
		wr.imm_data = work->more;
	if (is_ud(flow->pair->service)) {
		to_ah(&wr, ah, &receiver(flow)->e);
		return wr;
	}
	if (flow->pair->service == XRC)
		wr.qp_type.xrc.remote_srqn = receiver(flow)->queue->srqn;
	at_key(&wr, work->rkey, work->remote_addr);
	if (is_atomic(work->op)) {
		wr.wr.atomic.compare_add = work->compare_add;
		wr.wr.atomic.swap = work->swap;
	}
	return wr;
}

static void begin_ex(struct ibv_qp_ex *qp, const struct work *work)
{
	switch (work->op) {
	case OP_SEND:
		ibv_wr_send(qp);
		break;
	case OP_SEND_IMM:
		ibv_wr_send_imm(qp, work->more);
		break;
	case OP_SEND_INV:
		ibv_wr_send_inv(qp, work->more);
		break;
	case OP_WRITE:
		ibv_wr_rdma_write(qp, work->rkey, work->remote_addr);
		break;
	case OP_WRITE_IMM:
		ibv_wr_rdma_write_imm(qp, work->rkey, work->remote_addr, work->more);
		break;
	case OP_READ:
		ibv_wr_rdma_read(qp, work->rkey, work->remote_addr);
		break;
	case OP_CMP_SWP:
		ibv_wr_atomic_cmp_swp(qp, work->rkey, work->remote_addr, work->compare_add,
				      work->swap);
		break;
	case OP_FETCH_ADD:
		ibv_wr_atomic_fetch_add(qp, work->rkey, work->remote_addr, work->compare_add);
		break;
	default:
		ibv_wr_flush(qp, work->rkey, work->remote_addr, work->swap, IBV_FLUSH_GLOBAL,
			     IBV_FLUSH_RANGE);
	}
}

static void set_data(struct ibv_qp_ex *qp, const struct work *work)
{
	struct ibv_data_buf bufs[LIST];
	unsigned int i;

	if (!(work->flags & IBV_SEND_INLINE)) {
		ibv_wr_set_sge_list(qp, work->list.num, work->list.sge);
		return;
	}
	for (i = 0; i < work->list.num; i++)
		bufs[i] = (struct ibv_data_buf){ (void *)work->list.sge[i].addr,
						 work->list.sge[i].length };
	ibv_wr_set_inline_data_list(qp, work->list.num, bufs);
}

static void post_ex(struct flow *flow, const struct work *work)
{
	struct ibv_qp_ex *qp = wr_start(&sender(flow)->e, work->id);

	qp->wr_flags = work->flags & ~IBV_SEND_INLINE;
	begin_ex(qp, work);
	if (is_ud(flow->pair->service))
		ibv_wr_set_ud_addr(qp, ah, receiver(flow)->e.qp->qp_num, QKEY);
	if (flow->pair->service == DC)
		weftdv_wr_set_dc_addr(weftdv_qp_ex_from_ibv_qp_ex(qp), ah,
				      receiver(flow)->e.qp->qp_num, DC_KEY);
	if (flow->pair->service == XRC)
		ibv_wr_set_xrc_srqn(qp, receiver(flow)->queue->srqn);
	if (work->op != OP_FLUSH)
		set_data(qp, work);
	SAME(ibv_wr_complete(qp), 0);
}

/*
 * ---- Completions ----
 */

static void compare_wc(const struct want *want, const struct ibv_wc *wc, uint32_t qpn)
{
	if (wc->wr_id != want->id || wc->status != want->status)
		WRONG("expected completion %llu, %s; got %llu, %s, vendor_err %u",
		      (unsigned long long)want->id, ibv_wc_status_str(want->status),
		      (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
		      wc->vendor_err);
	if (wc->qp_num != qpn)
		WRONG("completion %llu is of QP %#x, expected %#x",
		      (unsigned long long)want->id, wc->qp_num, qpn);
	if (wc->status) {
		if (!wc->vendor_err)
			WRONG("completion %llu has no vendor_err", (unsigned long long)want->id);
		return;
	}
	if (wc->opcode != want->opcode)
		WRONG("completion %llu: opcode %d, expected %d", (unsigned long long)want->id,
		      wc->opcode, want->opcode);
	if (want->byte_len >= 0 && wc->byte_len != want->byte_len)
		WRONG("completion %llu: %u bytes, expected %lld", (unsigned long long)want->id,
		      wc->byte_len, (long long)want->byte_len);
	if (wc->wc_flags != want->flags)
		WRONG("completion %llu: flags %#x, expected %#x", (unsigned long long)want->id,
		      wc->wc_flags, want->flags);
	if (want->flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) && wc->imm_data != want->ex)
		WRONG("completion %llu: %#x, expected %#x", (unsigned long long)want->id,
		      wc->imm_data, want->ex);
	if (want->src_qp && wc->src_qp != want->src_qp)
		WRONG("completion %llu: from QP %#x, expected %#x", (unsigned long long)want->id,
		      wc->src_qp, want->src_qp);
}

/* those up to @num, each of which has to be the next */
static void collect(struct wants *wants, unsigned int num, struct ibv_cq *cq, uint32_t qpn)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct ibv_wc wc;
	int ret;

	while (wants->got < num) {
		ret = ibv_poll_cq(cq, 1, &wc);
		CHECK(ret >= 0);
		if (ret)
			compare_wc(&wants->want[wants->got++], &wc, qpn);
		else if (now_ns() > end)
			WRONG("expected completion %llu, %s; none came",
			      (unsigned long long)wants->want[wants->got].id,
			      ibv_wc_status_str(wants->want[wants->got].status));
		else
			sched_yield();
	}
}

/* One may overtake another on its way, so there is but one on its way. */
static void post_datagrams(struct flow *flow)
{
	struct side *to = receiver(flow);
	struct ibv_send_wr wr;
	unsigned int i;

	for (i = 0; i < flow->num; i++) {
		if (flow->work[i].ex) {
			post_ex(flow, &flow->work[i]);
		} else {
			wr = request_of(flow, &flow->work[i]);
			post(&sender(flow)->e, &wr);
		}
		collect(&to->received, flow->work[i].received, to->e.rcq, to->e.qp->qp_num);
	}
}

/* work up to the next that is posted by itself is posted as a list */
void post_flow(struct flow *flow)
{
	struct ibv_send_wr wrs[MAX_WORK];
	unsigned int i, num = 0;

	post_fresh(receiver(flow));
	if (is_ud(flow->pair->service)) {
		post_datagrams(flow);
		return;
	}
	for (i = 0; i < flow->num; i++) {
		if (!flow->work[i].ex) {
			wrs[num] = request_of(flow, &flow->work[i]);
			if (num)
				wrs[num - 1].next = &wrs[num];
			num++;
		}
		if (num && (flow->work[i].ex || i + 1 == flow->num || one_in(4))) {
			post(&sender(flow)->e, wrs);
			num = 0;
		}
		if (flow->work[i].ex)
			post_ex(flow, &flow->work[i]);
	}
}

static void no_more(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(cq, 1, &wc) > 0)
		WRONG("expected no completion; got %llu, %s", (unsigned long long)wc.wr_id,
		      ibv_wc_status_str(wc.status));
}

static struct side *side_of(const struct ibv_qp *qp)
{
	unsigned int i;

	for (i = 0; i < 2 * num_pairs; i++)
		if (pairs[i / 2].side[i % 2].e.qp == qp)
			return &pairs[i / 2].side[i % 2];
	return NULL;
}

/* Return: false: there is none. */
static bool take_event(void)
{
	struct ibv_async_event event;
	struct side *side;

	if (ibv_get_async_event(ctx, &event))
		return false;
	ibv_ack_async_event(&event);
	/* of a shared receive queue's QP that has gone to ERR */
	if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
		return true;
	side = side_of(event.element.qp);
	if (!side || side->event != (int)event.event_type)
		WRONG("event '%s' was not expected", ibv_event_type_str(event.event_type));
	side->event = -1;
	return true;
}

static void collect_events(struct pair *pair)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (pair->side[0].event >= 0 || pair->side[1].event >= 0)
		if (!take_event() && now_ns() > end)
			WRONG("an event of %s did not come", service_names[pair->service]);
}

static void flush_and_join(struct pair *pair)
{
	/* a target of dynamic connections does not notice */
	int i, stopped = pair->service == DC ? 1 : 2;

	/* unreliable messages may be on their way */
	if (is_ud(pair->service) || (packets && !is_reliable(pair->service)))
		sleep_ms(20);
	for (i = 0; i < stopped; i++)
		to_state(&pair->side[i].e, IBV_QPS_ERR);
	for (i = 0; i < 2; i++)
		collect(&pair->side[i].received, pair->side[i].received.num, pair->side[i].e.rcq,
			pair->side[i].e.qp->qp_num);
	for (i = 0; i < 2; i++) {
		no_more(pair->side[i].e.rcq);
		if (i < stopped)
			to_state(&pair->side[i].e, IBV_QPS_RESET);
	}
	join(pair);
}

/* @sure: completions of receives that come by themselves */
static void finish_pair(struct pair *pair, const unsigned int *sure)
{
	struct side *side;
	int i;

	for (i = 0; i < 2; i++) {
		side = &pair->side[i];
		collect(&side->sent, side->sent.num, side->e.scq, side->e.qp->qp_num);
	}
	for (i = 0; i < 2; i++) {
		side = &pair->side[i];
		collect(&side->received, sure[i], side->e.rcq, side->e.qp->qp_num);
	}
	collect_events(pair);
	if (pair->failed)
		flush_and_join(pair);
	for (i = 0; i < 2; i++) {
		side = &pair->side[i];
		no_more(side->e.scq);
		no_more(side->e.rcq);
		side->sent.num = 0;
		side->sent.got = 0;
		side->received.num = 0;
		side->received.got = 0;
	}
}

void finish_round(void)
{
	unsigned int i, sure[MAX_FLOWS][2], s;

	for (i = 0; i < num_flows; i++) {
		for (s = 0; s < 2; s++)
			sure[i][s] = flows[i].pair->side[s].received.num;
		if (flows[i].pair->failed)
			want_flush(&flows[i]);
	}
	for (i = 0; i < num_flows; i++) {
		if (flows[i].pair->used)
			finish_pair(flows[i].pair, sure[i]);
		flows[i].pair->used = false;
	}
	while (take_event())
		;
}
