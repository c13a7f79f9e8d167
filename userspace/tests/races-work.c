// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The operations of a race. A process that a side has forked does most of them: it has the
 * side's objects, and its own copy of what the provider knows of them, so that one actor may
 * destroy an object that another one is using.
 */
#include "races.h"

#include <fcntl.h>
#include <infiniband/tm_types.h>

#define GSI_QKEY 0x80010000
#define INJECT	"/sys/kernel/debug/weft/inject"

/*
 * ---- Work ----
 */

/* It may be refused: another actor has done something to the QP. */
static int send_off(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, wr, &bad);
}

static int rc_work(enum ibv_wr_opcode opcode, uint32_t length, uint32_t key, uint64_t addr)
{
	return send_off(my.rc.qp, at_key(swr(&my.rc, new_id(), opcode, 8192, length), key, addr));
}

static int rc_send(void)
{
	return rc_work(IBV_WR_SEND, 1000, 0, 0);
}

static int rc_write(void)
{
	return rc_work(IBV_WR_RDMA_WRITE, 1000, my.peer->key, my.peer->addr + 8192);
}

static int rc_read(void)
{
	return rc_work(IBV_WR_RDMA_READ, 5000, my.peer->key, my.peer->addr + 8192);
}

static int rc_atomic(void)
{
	return rc_work(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, my.peer->key, my.peer->addr);
}

static int rc_long(void)
{
	return rc_work(IBV_WR_RDMA_WRITE, BUF - 8192, my.peer->key, my.peer->addr);
}

static int write_window(void)
{
	return rc_work(IBV_WR_RDMA_WRITE, 1000, my.peer->window_key, my.peer->addr);
}

static int write_mkey(void)
{
	return rc_work(IBV_WR_RDMA_WRITE, 1000, my.peer->mkey, 0);
}

static int write_paged(void)
{
	return rc_work(IBV_WR_RDMA_WRITE, 9000, my.peer->paged_key, my.peer->paged_addr + 100);
}


static int datagram(struct end *e, struct ibv_ah *to, uint32_t qpn)
{
	struct ibv_send_wr *wr = swr(e, new_id(), IBV_WR_SEND, 8192, 200);

	wr->wr.ud.ah = to;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = QKEY;
	return send_off(e->qp, wr);
}

static int ud_send(void)
{
	return datagram(&my.ud, my.ah, my.peer->ud_qpn);
}

/* to QP 1, with its Q_Key, which only that of the QP can be */
static int gsi_send(void)
{
	struct ibv_qp_attr attr = { .qkey = GSI_QKEY };
	struct ibv_send_wr *wr = swr(&my.ud, new_id(), IBV_WR_SEND, 8192, 200);
	int ret = ibv_modify_qp(my.ud.qp, &attr, IBV_QP_QKEY);

	wr->wr.ud.ah = my.ah;
	wr->wr.ud.remote_qpn = 1;
	wr->wr.ud.remote_qkey = GSI_QKEY;
	return ret ?: send_off(my.ud.qp, wr);
}

static int group_send(void)
{
	return datagram(&my.member, my.group_ah, 0xffffff);
}

static int xrc_send(void)
{
	struct ibv_sge sge = { (uintptr_t)my.from, 1000, my.from_mr->lkey };
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, new_id());

	return try_send(my.ini, my.peer->srqn, &wr);
}

/* more completions than the CQ has room for */
static int overrun(void)
{
	struct end e;
	int i;

	make(&e, CONF(.cqe = 1, .one_cq = true));
	connect_ends(&e, &e);
	for (i = 0; i < 4; i++)
		post_recv(&e, 0, 0, 100);
	for (i = 0; i < 4; i++)
		post(&e, swr(&e, 0, IBV_WR_SEND, 0, 100));
	for (i = 0; i < 1000 && state_of(&e) != IBV_QPS_ERR; i++)
		sleep_ms(1);
	unmake(&e);
	return 0;
}

static int raw_send(void)
{
	return send_off(my.raw.qp, swr(&my.raw, new_id(), IBV_WR_SEND, 0, 100));
}

static int rss_send(void)
{
	return send_off(my.raw.qp, swr(&my.raw, new_id(), IBV_WR_SEND, RSS_FRAME, 100));
}

static int dc_begin(struct ibv_qp_ex **ex)
{
	*ex = ibv_qp_to_qp_ex(my.dc);
	ibv_wr_start(*ex);
	(*ex)->wr_id = new_id();
	(*ex)->wr_flags = IBV_SEND_SIGNALED;
	return 0;
}

static int dc_end(struct ibv_qp_ex *ex, uint64_t key, uint32_t length)
{
	weftdv_wr_set_dc_addr(weftdv_qp_ex_from_ibv_qp_ex(ex), my.dc_ah, my.peer->dctn, key);
	ibv_wr_set_sge(ex, my.dc_mr->lkey, (uintptr_t)my.dc_mr->addr, length);
	return ibv_wr_complete(ex);
}

static int dc_send_with(uint64_t key)
{
	struct ibv_qp_ex *ex;

	dc_begin(&ex);
	ibv_wr_send(ex);
	return dc_end(ex, key, 1000);
}

static int dc_send(void)
{
	return dc_send_with(5);
}

static int dc_wrong_key(void)
{
	return dc_send_with(6);
}

static int dc_write(void)
{
	struct ibv_qp_ex *ex;

	dc_begin(&ex);
	ibv_wr_rdma_write(ex, my.peer->dc_key, my.peer->dc_addr);
	return dc_end(ex, 5, BUF);
}

static int tag_eager(void)
{
	return send_off(my.tagged.qp, swr(&my.tagged, new_id(), IBV_WR_SEND, TAG_EAGER, 500));
}

static int tag_rendezvous(void)
{
	return send_off(my.tagged.qp, swr(&my.tagged, new_id(), IBV_WR_SEND, TAG_RNDV,
					  sizeof(struct ibv_tmh) + sizeof(struct ibv_rvh)));
}

/* add a tag, and take it away again if no message has it */
static int change_tags(void)
{
	struct ibv_ops_wr wr = {
		.wr_id = new_id(), .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED,
	}, *bad;
	int ret = add_tag(TAG, &wr.tm.handle);

	return ret ?: ibv_post_srq_ops(my.tags, &wr, &bad);
}

static int count_tags(void)
{
	struct ibv_ops_wr wr = {
		.wr_id = new_id(), .opcode = IBV_WR_TAG_SYNC,
		.flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC, .tm.unexpected_cnt = 1,
	}, *bad;

	return ibv_post_srq_ops(my.tags, &wr, &bad);
}

static int create_flow(void)
{
	struct ibv_flow *flow = make_flow(my.raw.qp, RAW_TO + 1);

	return flow ? ibv_destroy_flow(flow) : errno;
}

static int destroy_flow(void)
{
	return ibv_destroy_flow(my.flow);
}

/*
 * ---- QPs ----
 */

static int create_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = my.rc.scq, .recv_cq = my.rc.rcq, .qp_type = IBV_QPT_RC,
		.cap = { 16, 16, 2, 2, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	return qp ? ibv_destroy_qp(qp) : errno;
}

static int change_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static int rc_error(void)
{
	return change_state(my.rc.qp, IBV_QPS_ERR);
}

static int rc_reset(void)
{
	return change_state(my.rc.qp, IBV_QPS_RESET);
}

static int rc_drain(void)
{
	return change_state(my.rc.qp, IBV_QPS_SQD);
}

/* pages come for a QP that wants them no more, and are let go of when they are old */
static int expire_pages(void)
{
	int ret;

	write_text(PAUSE, "PINS_TAKEN 500 1");
	ret = write_paged() ?: rc_error();
	sleep_ms(500);
	write_text(PAUSE, "PINS_TAKEN 0 0");
	sleep_ms(1600);
	return ret;
}

static int rc_modify(void)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };

	return ibv_modify_qp(my.rc.qp, &attr, IBV_QP_ACCESS_FLAGS);
}

static int rc_resize(void)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = 64, .max_recv_wr = my.srq ? 0 : 64 } };

	return ibv_modify_qp(my.rc.qp, &attr, IBV_QP_CAP);
}

static int rc_query(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(my.rc.qp, &attr, QP_ATTRS, &init);
}

static int rc_destroy(void)
{
	return ibv_destroy_qp(my.rc.qp);
}

static int ud_error(void)
{
	return change_state(my.ud.qp, IBV_QPS_ERR);
}

static int ud_destroy(void)
{
	return ibv_destroy_qp(my.ud.qp);
}

static int member_destroy(void)
{
	return ibv_detach_mcast(my.member.qp, &my.group, GROUP_LID) ?: ibv_destroy_qp(my.member.qp);
}

static int raw_error(void)
{
	return change_state(my.raw.qp, IBV_QPS_ERR);
}

static int raw_destroy(void)
{
	return ibv_destroy_flow(my.flow) ?: ibv_destroy_flow(my.sniffer) ?:
	       ibv_destroy_qp(my.raw.qp);
}

static int raw_destroy_sender(void)
{
	return ibv_destroy_qp(my.raw.qp);
}

static int dc_error(void)
{
	return change_state(my.dc, IBV_QPS_ERR);
}

static int dc_destroy(void)
{
	return ibv_destroy_qp(my.dc);
}

static int dc_destroy_srq(void)
{
	return ibv_destroy_qp(my.dc) ?: ibv_destroy_srq(my.dc_srq);
}

static int dc_destroy_ah(void)
{
	return ibv_destroy_ah(my.dc_ah);
}

static int tagged_error(void)
{
	return change_state(my.tagged.qp, IBV_QPS_ERR);
}

static int tagged_destroy(void)
{
	return ibv_destroy_qp(my.tagged.qp);
}

static int destroy_tags(void)
{
	return ibv_destroy_qp(my.tagged.qp) ?: ibv_destroy_srq(my.tags) ?:
	       ibv_destroy_cq(my.tags_cq);
}

/* also while it is in a table */
static int wq_error(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_ERR };

	return ibv_modify_wq(my.wq, &attr);
}

static int wq_again(void)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RESET };
	int ret = ibv_modify_wq(my.wq, &attr);

	attr.wq_state = IBV_WQS_RDY;
	return ret ?: ibv_modify_wq(my.wq, &attr);
}

static int create_wq(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = my.raw.qp->pd,
		.cq = my.wq_cq,
	};
	struct ibv_wq *wq = ibv_create_wq(my.raw.qp->context, &attr);

	return wq ? ibv_destroy_wq(wq) : errno;
}

static int create_rss(void)
{
	uint8_t key[40] = {};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET, .pd = my.raw.qp->pd, .rwq_ind_tbl = my.table,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = { IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key,
				  IBV_RX_HASH_SRC_IPV4 },
	};
	struct ibv_qp *qp = ibv_create_qp_ex(my.raw.qp->context, &attr);

	return qp ? ibv_destroy_qp(qp) : errno;
}

static int rss_destroy(void)
{
	return ibv_destroy_flow(my.rss_flow) ?: ibv_destroy_qp(my.rss) ?:
	       ibv_destroy_rwq_ind_table(my.table) ?: ibv_destroy_wq(my.wq);
}

static int target_destroy(void)
{
	return ibv_destroy_qp(my.tgt);
}

static int initiator_destroy(void)
{
	return ibv_destroy_qp(my.ini);
}

/*
 * ---- CQs and SRQs ----
 */

static int create_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 20, NULL, NULL, 0);

	return cq ? ibv_destroy_cq(cq) : errno;
}

static int resize_cqs(void)
{
	return ibv_resize_cq(my.rc.scq, 1000) ?: ibv_resize_cq(my.rc.rcq, 1000);
}

static int moderate_cqs(void)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { 4, 100 },
	};

	return ibv_modify_cq(my.rc.scq, &attr) ?: ibv_modify_cq(my.rc.rcq, &attr);
}

static int notify_cqs(void)
{
	return ibv_req_notify_cq(my.rc.scq, 0) ?: ibv_req_notify_cq(my.rc.rcq, 0);
}

/* as soon as nobody uses them */
static int destroy_rc_cqs(void)
{
	return ibv_destroy_qp(my.rc.qp) ?: ibv_destroy_cq(my.rc.rcq) ?: ibv_destroy_cq(my.rc.scq);
}

static int destroy_used_cq(void)
{
	return ibv_destroy_cq(my.rc.rcq);
}

static int resize_srq(void)
{
	struct ibv_srq_attr attr = { .max_wr = 100, .srq_limit = 2 };

	return ibv_modify_srq(my.srq, &attr, IBV_SRQ_MAX_WR) ?:
	       ibv_modify_srq(my.srq, &attr, IBV_SRQ_LIMIT);
}

static int destroy_srq(void)
{
	return ibv_destroy_qp(my.rc.qp) ?: ibv_destroy_srq(my.srq);
}

static int create_xrc_srq(void)
{
	struct ibv_srq_init_attr_ex attr = srq_attr(&my.sink, my.xrcd);
	struct ibv_srq *made = ibv_create_srq_ex(ctx, &attr);

	return made ? ibv_destroy_srq(made) : errno;
}

static int destroy_xrc_srq(void)
{
	return ibv_destroy_srq(my.sink.srq) ?: ibv_destroy_cq(my.sink.cq);
}

/*
 * ---- Memory ----
 */

static int reg_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, my.rc.buf, 8192, ACCESS_ALL);

	return mr ? ibv_dereg_mr(mr) : errno;
}

static int rereg_mr(void)
{
	return ibv_rereg_mr(my.rc.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ) ? errno : 0;
}

static int rereg_memory(void)
{
	void *other = memory(BUF);

	return ibv_rereg_mr(my.rc.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, BUF, 0) ?
	       errno : 0;
}

static int dereg_mr(void)
{
	return ibv_dereg_mr(my.rc.mr);
}

static int dereg_paged(void)
{
	return ibv_dereg_mr(my.paged_mr);
}

static int drop_pages(void)
{
	return madvise(my.paged, PAGED_BYTES, MADV_DONTNEED) ? errno : 0;
}

static int prefetch(void)
{
	struct ibv_sge sge = { (uintptr_t)my.paged, PAGED_BYTES, my.paged_mr->lkey };

	return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
			     &sge, 1);
}

static int alloc_mw(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	return mw ? ibv_dealloc_mw(mw) : errno;
}

static int dealloc_window(void)
{
	return ibv_dealloc_mw(my.window);
}

static int dereg_bound(void)
{
	return ibv_dereg_mr(my.bound_mr);
}

static int invalidate_mkey(void)
{
	struct ibv_qp_ex *qp = wr_start(&my.rc, new_id());

	ibv_wr_local_inv(qp, my.mkey->rkey);
	return ibv_wr_complete(qp);
}

static int destroy_mkey(void)
{
	return weftdv_destroy_mkey(my.mkey);
}

static int dereg_part(void)
{
	return ibv_dereg_mr(my.part);
}

/*
 * ---- The rest ----
 */

static int create_ah(void)
{
	struct ibv_ah_attr av;
	struct ibv_ah *made;

	set_path(&av, my.peer->gid, my.peer->lid);
	made = ibv_create_ah(pd, &av);
	return made ? ibv_destroy_ah(made) : errno;
}

static int destroy_ah(void)
{
	return ibv_destroy_ah(my.ah);
}

static int destroy_group_ah(void)
{
	return ibv_destroy_ah(my.group_ah);
}

static int attach(void)
{
	return ibv_attach_mcast(my.member.qp, &my.other_group, GROUP_LID) ?:
	       ibv_detach_mcast(my.member.qp, &my.other_group, GROUP_LID);
}

static int detach(void)
{
	return ibv_detach_mcast(my.member.qp, &my.group, GROUP_LID) ?:
	       ibv_attach_mcast(my.member.qp, &my.group, GROUP_LID);
}

static int dealloc_used_pd(void)
{
	return ibv_dealloc_pd(pd);
}

static int open_and_close(void)
{
	struct ibv_context *other = ibv_open_device(ctx->device);

	return other ? ibv_close_device(other) : errno;
}

/* a program in our place; it says what it says */
static int program(const char *command)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, 1);
	dup2(null, 2);
	execl("/bin/sh", "sh", "-c", command, NULL);
	return errno;
}

static int del_near(void)
{
	return program("exec rdma link del weft0");
}

static int del_far(void)
{
	return program("exec rdma link del weft1");
}

static int add_link(void)
{
	return program("rdma link add weft2 type weft netdev wraces; exec rdma link del weft2");
}

static int del_netdev(void)
{
	return program("exec ip link del wraces");
}

static int netdev_down(void)
{
	return program("exec ip link set wraces down");
}

static int del_address(void)
{
	return program("exec ip addr del 10.77.0.1/24 dev wraces");
}

static int add_address(void)
{
	return program("exec ip addr add 10.77.0.2/24 dev wraces");
}

static int show(void)
{
	return program("for i in qp cq mr pd ctx srq cm_id; do rdma -dd resource show $i; done");
}

static int show_raw(void)
{
	return program("for i in qp cq mr srq; do rdma -r resource show $i; done");
}

static int count(void)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "rdma statistic qp bind link weft1/1 lqpn %u; "
		 "c=$(rdma statistic qp show link weft1/1 | grep -o 'cntn [0-9]*'); "
		 "exec rdma statistic qp unbind link weft1/1 $c lqpn %u",
		 sh->side[FAR].rc_qpn, sh->side[FAR].rc_qpn);
	return program(command);
}

static int netns_address(void)
{
	return program("exec ip -n wraces addr add 10.78.0.2/24 dev wraces9");
}

static int del_netns(void)
{
	return program("exec ip netns del wraces");
}

static int fail_far(void)
{
	return program("echo weft1 device fatal >" INJECT "; exec echo weft1 device recover >" INJECT);
}

static int monitor_far(void)
{
	return program("echo wraces1 >/sys/class/infiniband/weft1/monitor; "
		       "ip link set wraces1 up; exec ip link del wraces1");
}

static int end_monitor(void)
{
	return program("exec ip link del " MONITOR);
}

static int kill_far(void)
{
	return 0; /* races.c does it */
}

const struct op ops[] = {
	{ "rc_send",		AT_NEAR, HAS_RC | LOCALLY, 0, rc_send },
	{ "rc_write",		AT_NEAR, HAS_RC | LOCALLY, 0, rc_write },
	{ "rc_read",		AT_NEAR, HAS_RC | LOCALLY, 0, rc_read },
	{ "rc_atomic",		AT_NEAR, HAS_RC | LOCALLY, 0, rc_atomic },
	{ "rc_long",		AT_NEAR, HAS_RC | LOCALLY, 0, rc_long },
	{ "srq_send",		AT_NEAR, HAS_RC | HAS_SRQ | LOCALLY, 0, rc_send },
	{ "packet_send",	AT_NEAR, HAS_RC | IN_PACKETS, 0, rc_send },
	{ "packet_read",	AT_NEAR, HAS_RC | IN_PACKETS, 0, rc_read },
	{ "prefetch",		AT_FAR, HAS_RC | HAS_PAGED, 0, prefetch },
	{ "paged_write",	AT_NEAR, HAS_RC | HAS_PAGED | LOCALLY, 0, write_paged },
	{ "drop_pages",		AT_FAR_ITSELF, HAS_RC | HAS_PAGED, 0, drop_pages },
	{ "xrc_send",		AT_NEAR, HAS_XRC | LOCALLY, 0, xrc_send },
	{ "back_send",		AT_FAR, HAS_RC | LOCALLY, 0, rc_send },
	{ "back_read",		AT_FAR, HAS_RC | LOCALLY, 0, rc_read },
	{ "ud_send",		AT_NEAR, HAS_UD | LOCALLY, 0, ud_send },
	{ "gsi_send",		AT_NEAR, HAS_UD | LOCALLY, 0, gsi_send },
	{ "ud_packet",		AT_NEAR, HAS_UD | IN_PACKETS, 0, ud_send },
	{ "group_send",		AT_NEAR, HAS_GROUP | LOCALLY, 0, group_send },
	{ "group_packet",	AT_NEAR, HAS_GROUP | IN_PACKETS, 0, group_send },
	{ "raw_send",		AT_NEAR, HAS_RAW | LOCALLY, 0, raw_send },
	{ "rss_send",		AT_NEAR, HAS_RAW | HAS_RSS | LOCALLY, 0, rss_send },
	{ "dc_send",		AT_NEAR, HAS_DC | LOCALLY, 0, dc_send },
	{ "dc_write",		AT_NEAR, HAS_DC | LOCALLY, 0, dc_write },
	{ "tag_eager",		AT_NEAR, HAS_TAGS | LOCALLY, 0, tag_eager },
	{ "tag_packet",		AT_NEAR, HAS_TAGS | IN_PACKETS, 0, tag_eager },
	{ "tag_rendezvous",	AT_NEAR, HAS_TAGS | LOCALLY, 0, tag_rendezvous },
	{ "tag_read_packets",	AT_NEAR, HAS_TAGS | IN_PACKETS, 0, tag_rendezvous },
	{ "change_tags",	AT_FAR, HAS_TAGS, 0, change_tags },
	{ "count_tags",		AT_FAR, HAS_TAGS, 0, count_tags },
	{ "shown_send",		AT_NEAR, HAS_RC | HAS_MONITOR | LOCALLY, 0, rc_send },
	{ "shown_packet",	AT_NEAR, HAS_RC | HAS_MONITOR | IN_PACKETS, 0, rc_read },
	{ "window_write",	AT_NEAR, HAS_RC | HAS_WINDOW | LOCALLY, 0, write_window },
	{ "mkey_write",		AT_NEAR, HAS_RC | HAS_MKEY | LOCALLY, 0, write_mkey },
	{ "set_mkey",		AT_FAR, HAS_RC | HAS_MKEY | LOCALLY, 0, set_mkey },
	{ "invalidate_mkey",	AT_FAR, HAS_RC | HAS_MKEY | LOCALLY, 0, invalidate_mkey },
	{ "bind_window",	AT_FAR, HAS_RC | HAS_WINDOW | LOCALLY, 0, bind_window },
	{ "overrun",		AT_NEAR, STAYS, 0, overrun },
	{ "create_qp",		AT_NEAR, HAS_RC, 0, create_qp },
	{ "paged_expire",	AT_NEAR, HAS_RC | HAS_PAGED | LOCALLY, 0, expire_pages },
	{ "create_flow",	AT_FAR, HAS_RAW, 0, create_flow },
	{ "create_wq",		AT_FAR, HAS_RAW | HAS_RSS, 0, create_wq },
	{ "create_rss",		AT_FAR, HAS_RAW | HAS_RSS, 0, create_rss },
	{ "wq_again",		AT_FAR, HAS_RAW | HAS_RSS, 0, wq_again },
	{ "attach",		AT_NEAR, HAS_GROUP, 0, attach },
	{ "modify",		AT_NEAR, HAS_RC, 0, rc_modify },
	{ "resize",		AT_NEAR, HAS_RC, 0, rc_resize },
	{ "far_modify",		AT_FAR, HAS_RC, 0, rc_modify },
	{ "far_resize",		AT_FAR, HAS_RC, 0, rc_resize },
	{ "query",		AT_NEAR, HAS_RC, 0, rc_query },
	{ "show",		ELSEWHERE, HAS_RC, 0, show },
	{ "show_raw",		ELSEWHERE, HAS_RC | HAS_SRQ, 0, show_raw },
	{ "count",		ELSEWHERE, HAS_RC, 0, count },
	{ "drain",		AT_NEAR, HAS_RC, 0, rc_drain },
	{ "error",		AT_NEAR, HAS_RC, 0, rc_error },
	{ "reset",		AT_NEAR, HAS_RC, 0, rc_reset },
	{ "destroy",		AT_NEAR, HAS_RC, DESTROYS, rc_destroy },
	{ "far_error",		AT_FAR, HAS_RC, 0, rc_error },
	{ "far_reset",		AT_FAR, HAS_RC, 0, rc_reset },
	{ "far_destroy",	AT_FAR, HAS_RC, DESTROYS, rc_destroy },
	{ "ud_error",		AT_FAR, HAS_UD, 0, ud_error },
	{ "ud_destroy",		AT_FAR, HAS_UD, DESTROYS, ud_destroy },
	{ "ud_destroy_sender",	AT_NEAR, HAS_UD, DESTROYS, ud_destroy },
	{ "member_destroy",	AT_NEAR, HAS_GROUP, DESTROYS, member_destroy },
	{ "raw_error",		AT_FAR, HAS_RAW, 0, raw_error },
	{ "destroy_flow",	AT_FAR, HAS_RAW, DESTROYS, destroy_flow },
	{ "raw_destroy",	AT_FAR, HAS_RAW, DESTROYS, raw_destroy },
	{ "raw_destroy_sender",	AT_NEAR, HAS_RAW, DESTROYS, raw_destroy_sender },
	{ "wq_error",		AT_FAR, HAS_RAW | HAS_RSS, 0, wq_error },
	{ "rss_destroy",	AT_FAR, HAS_RAW | HAS_RSS, DESTROYS, rss_destroy },
	{ "dc_wrong_key",	AT_NEAR, HAS_DC | LOCALLY, 0, dc_wrong_key },
	{ "target_error",	AT_FAR, HAS_DC, 0, dc_error },
	{ "dct_destroy",	AT_FAR, HAS_DC, DESTROYS, dc_destroy },
	{ "dct_destroy_srq",	AT_FAR, HAS_DC, DESTROYS, dc_destroy_srq },
	{ "dci_destroy",	AT_NEAR, HAS_DC, DESTROYS, dc_destroy },
	{ "dci_destroy_ah",	AT_NEAR, HAS_DC, DESTROYS, dc_destroy_ah },
	{ "tagged_error",	AT_FAR, HAS_TAGS, 0, tagged_error },
	{ "tagged_destroy",	AT_FAR, HAS_TAGS, DESTROYS, tagged_destroy },
	{ "destroy_tags",	AT_FAR, HAS_TAGS, DESTROYS, destroy_tags },
	{ "target_destroy",	AT_FAR, HAS_XRC, DESTROYS, target_destroy },
	{ "initiator_destroy",	AT_NEAR, HAS_XRC, DESTROYS, initiator_destroy },
	{ "create_cq",		AT_NEAR, 0, 0, create_cq },
	{ "resize_cqs",		AT_FAR, HAS_RC, 0, resize_cqs },
	{ "moderate_cqs",	AT_FAR, HAS_RC, 0, moderate_cqs },
	{ "notify_cqs",		AT_FAR, HAS_RC, 0, notify_cqs },
	{ "destroy_cqs",	AT_FAR, HAS_RC, DESTROYS, destroy_rc_cqs },
	{ "destroy_used_cq",	AT_FAR, HAS_RC, DESTROYS, destroy_used_cq },
	{ "resize_srq",		AT_FAR, HAS_RC | HAS_SRQ, 0, resize_srq },
	{ "destroy_srq",	AT_FAR, HAS_RC | HAS_SRQ, DESTROYS, destroy_srq },
	{ "create_xrc_srq",	AT_FAR, HAS_XRC, 0, create_xrc_srq },
	{ "destroy_xrc_srq",	AT_FAR, HAS_XRC, DESTROYS, destroy_xrc_srq },
	{ "reg_mr",		AT_NEAR, HAS_RC, 0, reg_mr },
	{ "rereg_mr",		AT_FAR, HAS_RC, 0, rereg_mr },
	{ "rereg_memory",	AT_FAR, HAS_RC, 0, rereg_memory },
	{ "dereg_mr",		AT_NEAR, HAS_RC, DESTROYS, dereg_mr },
	{ "far_dereg_mr",	AT_FAR, HAS_RC, DESTROYS, dereg_mr },
	{ "dereg_paged",	AT_FAR, HAS_RC | HAS_PAGED, DESTROYS, dereg_paged },
	{ "alloc_mw",		AT_NEAR, 0, 0, alloc_mw },
	{ "dealloc_window",	AT_FAR, HAS_RC | HAS_WINDOW, DESTROYS, dealloc_window },
	{ "dereg_bound",	AT_FAR, HAS_RC | HAS_WINDOW, DESTROYS, dereg_bound },
	{ "destroy_mkey",	AT_FAR, HAS_RC | HAS_MKEY, DESTROYS, destroy_mkey },
	{ "dereg_part",		AT_FAR, HAS_RC | HAS_MKEY, DESTROYS, dereg_part },
	{ "create_ah",		AT_NEAR, HAS_UD, 0, create_ah },
	{ "destroy_ah",		AT_NEAR, HAS_UD, DESTROYS, destroy_ah },
	{ "destroy_group_ah",	AT_NEAR, HAS_GROUP, DESTROYS, destroy_group_ah },
	{ "detach",		AT_NEAR, HAS_GROUP, DESTROYS, detach },
	{ "dealloc_used_pd",	AT_NEAR, HAS_RC, DESTROYS, dealloc_used_pd },
	{ "context",		AT_NEAR, 0, 0, open_and_close },
	{ "monitor_far",	ELSEWHERE, 0, 0, monitor_far },
	{ "end_monitor",	ELSEWHERE, HAS_MONITOR, 0, end_monitor },
	{ "netns_address",	ELSEWHERE, HAS_NETNS, 0, netns_address },
	{ "del_netns",		ELSEWHERE, HAS_NETNS, EMPTIES, del_netns },
	{ "fail_far",		ELSEWHERE, HAS_RC, FAILS, fail_far },
	{ "kill_far",		ELSEWHERE, HAS_RC, KILLS_FAR, kill_far },
	{ "del_near",		ELSEWHERE, HAS_RC, REMOVES, del_near },
	{ "del_far",		ELSEWHERE, HAS_RC, REMOVES, del_far },
	{ "add_link",		ELSEWHERE, 0, 0, add_link },
	{ "del_netdev",		ELSEWHERE, HAS_RC, REMOVES | MOVES, del_netdev },
	{ "netdev_down",	ELSEWHERE, HAS_RC, MOVES, netdev_down },
	{ "del_address",	ELSEWHERE, HAS_RC, MOVES, del_address },
	{ "add_address",	ELSEWHERE, 0, MOVES, add_address },
};

const int num_ops = ARRAY_SIZE(ops);
