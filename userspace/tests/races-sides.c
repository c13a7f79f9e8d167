// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The two sides of a race: what each has, and how it goes at the end.
 */
#include "races.h"

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/tm_types.h>

/* posted to each queue */
#define RECEIVES	12

struct shared *sh;
struct mine my;

static int me;				/* which side */

/*
 * ---- Objects ----
 */

uint64_t new_id(void)
{
	uint64_t id = __atomic_fetch_add(&sh->next_id, 1, __ATOMIC_SEQ_CST);

	CHECK(id < MAX_IDS);
	return id;
}

static union ibv_gid group_gid(const char *address)
{
	union ibv_gid gid = {};

	memset(gid.raw + 10, 0xff, 2);
	SAME(inet_pton(AF_INET, address, gid.raw + 12), 1);
	return gid;
}

void set_path(struct ibv_ah_attr *av, union ibv_gid dgid, uint16_t dlid)
{
	*av = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.dlid = dlid,
		.grh = { .dgid = dgid, .sgid_index = gid4, .hop_limit = 64 },
	};
}

static struct ibv_ah *make_ah(union ibv_gid dgid, uint16_t dlid)
{
	struct ibv_ah_attr av;
	struct ibv_ah *made;

	set_path(&av, dgid, dlid);
	made = ibv_create_ah(pd, &av);
	CHECK(made);
	return made;
}

/* Give the QP the builders of mkeys. */
static void build_dv(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->scq, .recv_cq = e->rcq, .srq = my.srq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4,
			 .max_recv_sge = 4 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_LOCAL_INV,
	};
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = WEFTDV_QP_EX_WITH_MR_LIST,
	};

	SAME(ibv_destroy_qp(e->qp), 0);
	e->qp = weftdv_create_qp(ctx, &attr, &dv);
	CHECK(e->qp);
}

static void build_rc(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 4 } };
	struct conf conf = *CONF(.timeout = 10, .retry = 3, .rnr_retry = 3, .rnr_timer = 1);
	int i;

	if (sh->needs & HAS_SRQ && me == FAR) {
		my.srq = ibv_create_srq(pd, &attr);
		CHECK(my.srq);
		conf.srq = my.srq;
	}
	make(&my.rc, &conf);
	if (sh->needs & HAS_MKEY && me == FAR)
		build_dv(&my.rc);
	to_init(&my.rc);
	for (i = 0; i < RECEIVES; i++) {
		if (conf.srq)
			post_srq(conf.srq, &my.rc, new_id(), 0, 4096);
		else
			post_recv(&my.rc, new_id(), 0, 4096);
	}
	sh->side[me].rc_qpn = my.rc.qp->qp_num;
	sh->side[me].rc_psn = my.rc.psn;
	sh->side[me].key = my.rc.mr->rkey;
	sh->side[me].addr = (uintptr_t)my.rc.buf;
}

static void build_ud(void)
{
	int i;

	make(&my.ud, CONF(.type = IBV_QPT_UD));
	to_ready(&my.ud);
	for (i = 0; i < RECEIVES; i++)
		post_recv(&my.ud, new_id(), 0, 4096);
	sh->side[me].ud_qpn = my.ud.qp->qp_num;
}

static void build_member(void)
{
	int i;

	my.group = group_gid("239.7.7.7");
	my.other_group = group_gid("239.7.7.8");
	make(&my.member, CONF(.type = IBV_QPT_UD));
	to_ready(&my.member);
	for (i = 0; i < RECEIVES; i++)
		post_recv(&my.member, new_id(), 0, 4096);
	SAME(ibv_attach_mcast(my.member.qp, &my.group, GROUP_LID), 0);
	my.group_ah = make_ah(my.group, GROUP_LID);
}

static void build_xrc(void)
{
	int i;

	if (me == NEAR) {
		make_sender();
		set_init(ini);
		sh->side[me].xrc_qpn = ini->qp_num;
		my.ini = ini;
		my.from = from;
		my.from_mr = from_mr;
		return;
	}
	xrcd = open_domain(NULL, O_CREAT);
	tgt = make_target();
	set_init(tgt);
	sh->side[me].xrc_qpn = tgt->qp_num;
	make_sink(&my.sink, xrcd);
	sh->side[me].srqn = my.sink.num;
	for (i = 0; i < RECEIVES; i++)
		sink_post(&my.sink, new_id(), 0, 4096);
	my.tgt = tgt;
	my.xrcd = xrcd;
}

static void build_paged(void)
{
	my.paged = memory(PAGED_BYTES);
	my.paged_mr = ibv_reg_mr(pd, my.paged, PAGED_BYTES, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(my.paged_mr);
	sh->side[me].paged_key = my.paged_mr->rkey;
	sh->side[me].paged_addr = (uintptr_t)my.paged;
}

struct ibv_flow *make_flow(struct ibv_qp *qp, uint8_t last)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1,
			  .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth),
			 .val.dst_mac = { 2, 0, 0, 0, 0, last } },
	};

	memset(rule.eth.mask.dst_mac, 0xff, sizeof(rule.eth.mask.dst_mac));
	return ibv_create_flow(qp, &rule.attr);
}

/* An RSS QP with one WQ beside the QP of frames, in its context. */
static void build_rss(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = RECEIVES, .max_sge = 1, .pd = my.raw.qp->pd,
	};
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = &my.wq };
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	static uint8_t hash_key[40];
	struct ibv_qp_init_attr_ex rss = {
		.qp_type = IBV_QPT_RAW_PACKET, .pd = my.raw.qp->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(hash_key), .rx_hash_key = hash_key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4,
		},
	};
	struct ibv_recv_wr *bad;
	int i;

	/* a process that resets the WQ takes its completions away from the others of a CQ */
	my.wq_cq = ibv_create_cq(my.raw.qp->context, 64, NULL, NULL, 0);
	CHECK(my.wq_cq);
	attr.cq = my.wq_cq;
	my.wq = ibv_create_wq(my.raw.qp->context, &attr);
	CHECK(my.wq);
	SAME(ibv_modify_wq(my.wq, &ready), 0);
	for (i = 0; i < RECEIVES; i++)
		SAME(ibv_post_wq_recv(my.wq, rwr(&my.raw, new_id(), 4096, 4096), &bad), 0);
	my.table = ibv_create_rwq_ind_table(my.raw.qp->context, &table);
	CHECK(my.table);
	rss.rwq_ind_tbl = my.table;
	my.rss = ibv_create_qp_ex(my.raw.qp->context, &rss);
	CHECK(my.rss);
	my.rss_flow = make_flow(my.rss, RSS_TO);
	CHECK(my.rss_flow);
}

static void put_frame(size_t off, uint8_t to)
{
	memcpy(my.raw.buf + off, (uint8_t[]){ 2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, 1, 0x88, 0xb6 }, 14);
}

static void raw_step(enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	SAME(ibv_modify_qp(my.raw.qp, &attr, IBV_QP_STATE | mask), 0);
}

/* Frames go from one context of a device to another one. */
static void build_raw(void)
{
	struct ibv_flow_attr sniffer = {
		.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof(sniffer), .port = 1,
	};
	struct ibv_context *own = ctx;
	struct ibv_pd *own_pd = pd;
	int i;

	if (me == FAR)
		open_named(devices[NEAR]);
	make(&my.raw, CONF(.type = IBV_QPT_RAW_PACKET));
	ctx = own;
	pd = own_pd;
	raw_step(IBV_QPS_INIT, IBV_QP_PORT);
	raw_step(IBV_QPS_RTR, 0);
	raw_step(IBV_QPS_RTS, 0);
	if (me == NEAR) {
		put_frame(0, RAW_TO);
		put_frame(RSS_FRAME, RSS_TO);
		return;
	}
	for (i = 0; i < RECEIVES; i++)
		post_recv(&my.raw, new_id(), 0, 4096);
	my.flow = make_flow(my.raw.qp, RAW_TO);
	my.sniffer = ibv_create_flow(my.raw.qp, &sniffer);
	CHECK(my.flow && my.sniffer);
	if (sh->needs & HAS_RSS)
		build_rss();
}

static struct ibv_qp *make_dc(struct weftdv_qp_init_attr *dv)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER, .send_cq = my.dc_cq, .recv_cq = my.dc_cq,
		.srq = my.dc_srq, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd,
	};
	struct ibv_qp *qp;

	dv->comp_mask = WEFTDV_QP_INIT_ATTR_MASK_DC;
	if (me == NEAR) {
		attr.cap = (struct ibv_qp_cap){ .max_send_wr = 16, .max_send_sge = 1 };
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
	}
	qp = weftdv_create_qp(ctx, &attr, dv);
	CHECK(qp);
	return qp;
}

static void build_dc(void)
{
	struct weftdv_qp_init_attr dv = { .dc_init_attr.dc_type = WEFTDV_DCTYPE_DCI };
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = RECEIVES, .max_sge = 1 } };
	uint8_t *buf = memory(BUF);
	int i;

	my.dc_cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	my.dc_mr = ibv_reg_mr(pd, buf, BUF, ACCESS_ALL);
	CHECK(my.dc_cq && my.dc_mr);
	sh->side[me].dc_key = my.dc_mr->rkey;
	sh->side[me].dc_addr = (uintptr_t)buf;
	if (me == FAR) {
		my.dc_srq = ibv_create_srq(pd, &attr);
		CHECK(my.dc_srq);
		for (i = 0; i < RECEIVES; i++) {
			struct ibv_sge sge = { (uintptr_t)buf, 4096, my.dc_mr->lkey };
			struct ibv_recv_wr wr = { .wr_id = new_id(), .sg_list = &sge, .num_sge = 1 };
			struct ibv_recv_wr *bad;

			SAME(ibv_post_srq_recv(my.dc_srq, &wr, &bad), 0);
		}
		dv.dc_init_attr.dc_type = WEFTDV_DCTYPE_DCT;
		dv.dc_init_attr.dct_access_key = 5;
	}
	my.dc = make_dc(&dv);
}

int add_tag(uint64_t tag, uint32_t *handle)
{
	struct ibv_sge sge = { (uintptr_t)my.tagged.buf, TAG_BYTES, my.tagged.mr->lkey };
	struct ibv_ops_wr wr = {
		.opcode = IBV_WR_TAG_ADD,
		.tm.add = { .recv_wr_id = new_id(), .sg_list = &sge, .num_sge = 1, .tag = tag,
			    .mask = UINT64_MAX },
	}, *bad;
	int ret = ibv_post_srq_ops(my.tags, &wr, &bad);

	*handle = wr.tm.handle;
	return ret;
}

static void put_tagged(size_t off, uint8_t opcode)
{
	struct ibv_tmh tmh = { .opcode = opcode, .tag = htobe64(TAG) };
	struct ibv_rvh rvh = {
		.va = htobe64((uintptr_t)my.tagged.buf), .rkey = htobe32(my.tagged.mr->rkey),
		.len = htobe32(TAG_BYTES),
	};

	memcpy(my.tagged.buf + off, &tmh, sizeof(tmh));
	memcpy(my.tagged.buf + off + sizeof(tmh), &rvh, sizeof(rvh));
}

static void build_tags(void)
{
	struct conf conf = *CONF(.timeout = 10, .retry = 3, .rnr_retry = 3, .rnr_timer = 1);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 }, .srq_type = IBV_SRQT_TM, .pd = pd,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.tm_cap = { .max_num_tags = 32, .max_ops = 16 },
	};
	uint32_t handle;
	int i;

	if (me == FAR) {
		my.tags_cq = ibv_create_cq(ctx, 256, NULL, NULL, 0);
		attr.cq = my.tags_cq;
		my.tags = ibv_create_srq_ex(ctx, &attr);
		CHECK(my.tags);
		conf.srq = my.tags;
		conf.sq = 0;
		conf.rq = 0;
	}
	make(&my.tagged, &conf);
	to_init(&my.tagged);
	sh->side[me].tagged_qpn = my.tagged.qp->qp_num;
	sh->side[me].tagged_psn = my.tagged.psn;
	for (i = 0; i < RECEIVES; i++) {
		if (me == NEAR) {
			post_recv(&my.tagged, new_id(), 20000, 4096);
			continue;
		}
		post_srq(my.tags, &my.tagged, new_id(), 20000, 4096);
		SAME(add_tag(TAG, &handle), 0);
	}
	put_tagged(TAG_EAGER, IBV_TMH_EAGER);
	put_tagged(TAG_RNDV, IBV_TMH_RNDV);
}

static void monitor_near(void)
{
	SAME(system("echo " MONITOR " >/sys/class/infiniband/weft0/monitor && "
		    "ip link set " MONITOR " up"), 0);
}

static void build(void)
{
	SAME(ibv_query_gid(ctx, 1, gid4, &sh->side[me].gid), 0);
	sh->side[me].lid = port.lid;
	if (sh->needs & (HAS_RC | HAS_SRQ | HAS_PAGED | HAS_WINDOW))
		build_rc();
	if (sh->needs & HAS_UD)
		build_ud();
	if (sh->needs & HAS_GROUP)
		build_member();
	if (sh->needs & HAS_XRC)
		build_xrc();
	if (sh->needs & HAS_PAGED && me == FAR)
		build_paged();
	if (sh->needs & HAS_RAW)
		build_raw();
	if (sh->needs & HAS_DC)
		build_dc();
	if (sh->needs & HAS_TAGS)
		build_tags();
	if (sh->needs & HAS_MONITOR && me == NEAR)
		monitor_near();
}

int bind_window(void)
{
	struct ibv_mw_bind bind = {
		.wr_id = new_id(), .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { my.bound_mr, (uintptr_t)my.rc.buf, 4096, IBV_ACCESS_REMOTE_WRITE },
	};

	return ibv_bind_mw(my.rc.qp, my.window, &bind);
}

static void build_window(void)
{
	my.bound_mr = ibv_reg_mr(pd, my.rc.buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	my.window = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	CHECK(my.bound_mr && my.window);
	SAME(bind_window(), 0);
	sh->side[me].window_key = my.window->rkey;
}

int set_mkey(void)
{
	struct ibv_sge sge = { (uintptr_t)my.rc.buf, 4096, my.part->lkey };
	struct ibv_qp_ex *qp = wr_start(&my.rc, new_id());

	weftdv_wr_mr_list(weftdv_qp_ex_from_ibv_qp_ex(qp), my.mkey,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 1, &sge);
	return ibv_wr_complete(qp);
}

static void build_mkey(void)
{
	struct weftdv_mkey_init_attr attr = {
		.pd = pd, .create_flags = WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 1,
	};

	my.part = ibv_reg_mr(pd, my.rc.buf, BUF, ACCESS_ALL);
	my.mkey = weftdv_create_mkey(&attr);
	CHECK(my.part && my.mkey);
	SAME(set_mkey(), 0);
	sh->side[me].mkey = my.mkey->rkey;
}

static void connect_rc(struct end *e, uint32_t qpn, uint32_t psn)
{
	struct ibv_qp_attr attr = step_attr(e, NULL, IBV_QPS_RTR);

	attr.dest_qp_num = qpn;
	attr.rq_psn = psn;
	set_path(&attr.ah_attr, my.peer->gid, my.peer->lid);
	SAME(ibv_modify_qp(e->qp, &attr, step_mask(e, IBV_QPS_RTR)), 0);
	to_rts(e);
}

static void dc_step(enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state, .port_num = 1, .qp_access_flags = ACCESS_ALL,
		.path_mtu = IBV_MTU_1024, .min_rnr_timer = 1, .timeout = 10, .retry_cnt = 3,
		.rnr_retry = 3, .max_rd_atomic = 4,
	};

	set_path(&attr.ah_attr, my.peer->gid, my.peer->lid);
	SAME(ibv_modify_qp(my.dc, &attr, IBV_QP_STATE | mask), 0);
}

static void connect_dc(void)
{
	if (me == NEAR) {
		dc_step(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT);
		dc_step(IBV_QPS_RTR, IBV_QP_PATH_MTU);
		dc_step(IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN);
		my.dc_ah = make_ah(my.peer->gid, my.peer->lid);
		return;
	}
	dc_step(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	dc_step(IBV_QPS_RTR, IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
	sh->side[me].dctn = my.dc->qp_num;
}

static void connect_xrc(void)
{
	struct ibv_qp *qp = me == NEAR ? ini : tgt;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = my.peer->xrc_qpn,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 1, .rq_psn = 7,
	};

	set_path(&attr.ah_attr, my.peer->gid, my.peer->lid);
	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			   (me == FAR ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)), 0);
	if (me == NEAR)
		set_rts(qp, 7, IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_side(void)
{
	if (my.rc.qp)
		connect_rc(&my.rc, my.peer->rc_qpn, my.peer->rc_psn);
	if (my.tagged.qp)
		connect_rc(&my.tagged, my.peer->tagged_qpn, my.peer->tagged_psn);
	if (my.dc)
		connect_dc();
	if (sh->needs & HAS_UD)
		my.ah = make_ah(my.peer->gid, my.peer->lid);
	if (sh->needs & HAS_XRC)
		connect_xrc();
	if (sh->needs & HAS_WINDOW && me == FAR)
		build_window();
	if (sh->needs & HAS_MKEY && me == FAR)
		build_mkey();
}

/*
 * ---- What a side does ----
 */

/* Both are that far. */
static void meet(int step)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	__atomic_store_n(&sh->ready[me][step], 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&sh->ready[!me][step], __ATOMIC_SEQ_CST)) {
		if (now_ns() > end)
			FAIL("the other side is missing");
		sleep_ms(1);
	}
}

static void do_act(struct actor *actor)
{
	actor->err = actor->op->act();
	__atomic_store_n(&actor->done, 1, __ATOMIC_SEQ_CST);
}

static void start(struct actor *actor)
{
	bool posts = actor->op->needs & (IN_PACKETS | LOCALLY);

	if (actor->op->where == AT_FAR_ITSELF || (sh->together && posts)) {
		do_act(actor);
		return;
	}
	if (!fork()) {
		actor->pid = getpid();
		do_act(actor);
		_exit(0);
	}
}

static void start_what_is_due(void)
{
	int where, i;

	for (i = 0; i < ACTORS; i++) {
		if (!__atomic_load_n(&sh->actor[i].go, __ATOMIC_SEQ_CST))
			continue;
		where = sh->actor[i].op->where;
		if (where == ELSEWHERE || (where == AT_NEAR) != (me == NEAR))
			continue;
		sh->actor[i].go = 0;
		start(&sh->actor[i]);
	}
}

static bool is_legal(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
	case IBV_WC_WR_FLUSH_ERR:
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_QP_OP_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
	case IBV_WC_MW_BIND_ERR:
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
		return true;
	case IBV_WC_FATAL_ERR:
		return sh->leaves & (REMOVES | FAILS);
	case IBV_WC_TM_ERR:
	case IBV_WC_TM_RNDV_INCOMPLETE:
		return sh->needs & HAS_TAGS;
	default:
		return false;
	}
}

static void check_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (cq && ibv_poll_cq(cq, 1, &wc) > 0) {
		if (wc.wr_id >= sh->next_id)
			FAIL("completion %llu of nothing that was posted",
			     (unsigned long long)wc.wr_id);
		if (!is_legal(wc.status))
			FAIL("completion %llu has status %s", (unsigned long long)wc.wr_id,
			     ibv_wc_status_str(wc.status));
		/* a rendezvous has two: it begins, and the data are there */
		if (__atomic_fetch_add(&sh->completed[wc.wr_id], 1, __ATOMIC_SEQ_CST) >
		    (cq == my.tags_cq))
			FAIL("completion %llu came twice, with status %s, opcode %d, of QP %#x",
			     (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
			     wc.opcode, wc.qp_num);
	}
}

/* A call that ends an object, unless somebody else has done so. */
static void ends(const char *what, int ret)
{
	int err = ret < 0 ? errno : ret;

	if (!err || (sh->leaves & REMOVES && (err == EIO || err == ENODEV)) ||
	    (sh->leaves & (DESTROYS | REMOVES) && (err == ENOENT || err == EINVAL)))
		return;
	FAIL("%s: expected 0, got %s", what, strerror(err));
}

#define ENDS(call)	ends(#call, call)

static void end_end(struct end *e)
{
	if (!e->qp)
		return;
	ENDS(ibv_destroy_qp(e->qp));
	ENDS(ibv_dereg_mr(e->mr));
	ENDS(ibv_destroy_cq(e->scq));
	ENDS(ibv_destroy_cq(e->rcq));
}

static void end_xrc(void)
{
	if (ini)
		ENDS(ibv_destroy_qp(ini));
	if (from_mr)
		ENDS(ibv_dereg_mr(from_mr));
	if (scq)
		ENDS(ibv_destroy_cq(scq));
	if (!xrcd)
		return;
	ENDS(ibv_destroy_qp(tgt));
	ENDS(ibv_destroy_srq(my.sink.srq));
	ENDS(ibv_dereg_mr(my.sink.mr));
	ENDS(ibv_destroy_cq(my.sink.cq));
	ENDS(ibv_dealloc_pd(my.sink.pd));
	ENDS(ibv_close_xrcd(xrcd));
}

static void end_dc(void)
{
	if (my.dc_ah)
		ENDS(ibv_destroy_ah(my.dc_ah));
	if (!my.dc)
		return;
	ENDS(ibv_destroy_qp(my.dc));
	if (my.dc_srq)
		ENDS(ibv_destroy_srq(my.dc_srq));
	ENDS(ibv_dereg_mr(my.dc_mr));
	ENDS(ibv_destroy_cq(my.dc_cq));
}

static void end_tags(void)
{
	end_end(&my.tagged);
	if (!my.tags)
		return;
	ENDS(ibv_destroy_srq(my.tags));
	ENDS(ibv_destroy_cq(my.tags_cq));
}

static void end_rss(void)
{
	if (!my.wq)
		return;
	ENDS(ibv_destroy_flow(my.rss_flow));
	ENDS(ibv_destroy_qp(my.rss));
	ENDS(ibv_destroy_rwq_ind_table(my.table));
	ENDS(ibv_destroy_wq(my.wq));
	ENDS(ibv_destroy_cq(my.wq_cq));
}

static void end_side(void)
{
	struct ibv_cq *cqs[] = {
		my.rc.scq, my.rc.rcq, my.ud.scq, my.ud.rcq, my.member.scq, my.member.rcq,
		my.raw.scq, my.raw.rcq, scq, my.sink.cq, my.dc_cq, my.tagged.scq, my.tagged.rcq,
		my.tags_cq, my.wq_cq,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cqs); i++)
		check_cq(cqs[i]);
	if (my.ah)
		ENDS(ibv_destroy_ah(my.ah));
	if (my.group_ah)
		ENDS(ibv_destroy_ah(my.group_ah));
	if (my.window)
		ENDS(ibv_dealloc_mw(my.window));
	if (my.mkey)
		ENDS(weftdv_destroy_mkey(my.mkey));
	if (my.part)
		ENDS(ibv_dereg_mr(my.part));
	if (my.bound_mr)
		ENDS(ibv_dereg_mr(my.bound_mr));
	if (my.paged_mr)
		ENDS(ibv_dereg_mr(my.paged_mr));
	if (my.member.qp)
		ENDS(ibv_detach_mcast(my.member.qp, &my.group, GROUP_LID));
	if (my.flow)
		ENDS(ibv_destroy_flow(my.flow));
	if (my.sniffer)
		ENDS(ibv_destroy_flow(my.sniffer));
	end_rss();
	end_end(&my.raw);
	end_dc();
	end_tags();
	end_end(&my.member);
	end_end(&my.ud);
	end_end(&my.rc);
	if (my.srq)
		ENDS(ibv_destroy_srq(my.srq));
	end_xrc();
	ENDS(ibv_dealloc_pd(pd));
	ibv_close_device(ctx);
	/* perhaps somebody has done so */
	if (sh->needs & HAS_MONITOR && me == NEAR && system("ip link del " MONITOR " 2>/dev/null") < 0)
		FAIL("%s stays", MONITOR);
}

void be_side(int side)
{
	me = side;
	my.peer = &sh->side[!me];
	open_named(devices[me]);
	force_packets(sh->needs & IN_PACKETS);
	build();
	meet(0);
	connect_side();
	meet(1);
	while (!__atomic_load_n(&sh->finish, __ATOMIC_SEQ_CST)) {
		start_what_is_due();
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(500);
	}
	end_side();
	_exit(0);
}

