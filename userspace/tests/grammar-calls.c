// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The commands of uverbs, and of weft's own methods, field by field. See grammar.c.
 */
#include "grammar.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_verbs.h>

#define OBJECT_COMP_CNTR	19

#define ACCESS	(0x7f | IB_UVERBS_ACCESS_RELAXED_ORDERING)
#define QPTS	(1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD |	\
		 1 << IBV_QPT_RAW_PACKET | 1 << IBV_QPT_XRC_SEND | 1 << IBV_QPT_XRC_RECV)

int make_dmabuf(size_t size)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (device < 0)
		return -1;
	create.memfd = memfd_create("weft", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	CHECK(create.memfd != -1U);
	SAME(ftruncate(create.memfd, size), 0);
	SAME(fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	fd = ioctl(device, UDMABUF_CREATE, &create);
	CHECK(fd >= 0);
	/*
	 * udmabuf maps the buffer at the first access of a CPU, without a lock: two first accesses
	 * at once leak one of the two maps.
	 */
	SAME(ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync), 0);
	close(create.memfd);
	close(device);
	return fd;
}

/*
 * ---- modify_qp: fields that fit each other ----
 */

#define INIT	(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC	(RTR | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS	(IBV_QP_STATE | IBV_QP_SQ_PSN)
#define RTS_RC	(RTS | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static const struct step {
	int mask;
	enum ibv_qp_state state;
} steps[] = {
	{ INIT | IBV_QP_ACCESS_FLAGS, IBV_QPS_INIT }, { INIT | IBV_QP_QKEY, IBV_QPS_INIT },
	{ RTR_RC, IBV_QPS_RTR }, { RTR, IBV_QPS_RTR }, { IBV_QP_STATE, IBV_QPS_RTR },
	{ RTR_RC | IBV_QP_ALT_PATH, IBV_QPS_RTR }, { RTS, IBV_QPS_RTS }, { RTS_RC, IBV_QPS_RTS },
	{ IBV_QP_STATE, IBV_QPS_SQD }, { IBV_QP_STATE, IBV_QPS_RTS },
	{ IBV_QP_STATE | IBV_QP_PORT, IBV_QPS_INIT },
	{ IBV_QP_STATE, IBV_QPS_ERR }, { IBV_QP_STATE, IBV_QPS_RESET },
	{ IBV_QP_CAP, 0 }, { IBV_QP_MIN_RNR_TIMER, 0 }, { IBV_QP_ACCESS_FLAGS, 0 },
	{ IBV_QP_PATH_MIG_STATE, 0 }, { IBV_QP_STATE | IBV_QP_RATE_LIMIT, IBV_QPS_RTS },
};

static void modify_step(struct fuzzer *f, uint8_t *body)
{
	struct ib_uverbs_modify_qp *modify = (void *)body;
	const struct step *step = &steps[a_value(f, V_NUM, ARRAY_SIZE(steps) - 1) %
					 ARRAY_SIZE(steps)];

	if (one_of(f, 8))
		return;
	modify->attr_mask = step->mask;
	modify->qp_state = step->state;
}

/*
 * ---- create_flow: specs that follow each other ----
 */

#define FLOW_ROOM	320

static void *put_spec(uint8_t *at, uint32_t type, size_t size)
{
	struct ib_uverbs_flow_spec_hdr *hdr = (void *)at;

	hdr->type = type;
	hdr->size = size;
	return at;
}

static size_t eth_spec(struct fuzzer *f, uint8_t *at)
{
	struct ib_uverbs_flow_spec_eth *eth = put_spec(at, IBV_FLOW_SPEC_ETH, sizeof(*eth));

	eth->val.dst_mac[0] = 2 | one_of(f, 4);
	eth->val.dst_mac[5] = a_value(f, V_NUM, 3);
	memset(eth->mask.dst_mac, one_of(f, 3) ? 0 : 0xff, sizeof(eth->mask.dst_mac));
	eth->mask.vlan_tag = one_of(f, 6) ? 0xff0f : 0;
	return sizeof(*eth);
}

static size_t ipv4_spec(struct fuzzer *f, uint8_t *at)
{
	struct ib_uverbs_flow_spec_ipv4 *ip = put_spec(at, IBV_FLOW_SPEC_IPV4, sizeof(*ip));

	ip->val.dst_ip = a_value(f, V_NUM, 3);
	ip->mask.dst_ip = one_of(f, 3) ? a_value(f, V_ANY, 0) : -1;
	ip->mask.proto = one_of(f, 4) ? 0xff : 0;
	return sizeof(*ip);
}

static size_t ports_spec(struct fuzzer *f, uint8_t *at)
{
	struct ib_uverbs_flow_spec_tcp_udp *ports =
		put_spec(at, one_of(f, 2) ? IBV_FLOW_SPEC_UDP : IBV_FLOW_SPEC_TCP, sizeof(*ports));

	ports->val.dst_port = a_value(f, V_NUM, 3);
	ports->mask.dst_port = 0xffff;
	return sizeof(*ports);
}

/* One of the other kinds, perhaps of inner headers, with some bytes of its value and mask. */
static size_t other_spec(struct fuzzer *f, uint8_t *at)
{
	static const struct {
		uint32_t type;
		size_t size;
	} kinds[] = {
		{ IBV_FLOW_SPEC_ETH, sizeof(struct ib_uverbs_flow_spec_eth) },
		{ IBV_FLOW_SPEC_IPV4, sizeof(struct ib_uverbs_flow_spec_ipv4) },
		{ IBV_FLOW_SPEC_IPV6, sizeof(struct ib_uverbs_flow_spec_ipv6) },
		{ IBV_FLOW_SPEC_TCP, sizeof(struct ib_uverbs_flow_spec_tcp_udp) },
		{ IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof(struct ib_uverbs_flow_spec_tunnel) },
		{ IBV_FLOW_SPEC_GRE, sizeof(struct ib_uverbs_flow_spec_gre) },
		{ IBV_FLOW_SPEC_MPLS, sizeof(struct ib_uverbs_flow_spec_mpls) },
		{ IBV_FLOW_SPEC_ESP, sizeof(struct ib_uverbs_flow_spec_esp) },
	};
	unsigned int kind = a_value(f, V_NUM, ARRAY_SIZE(kinds) - 1) % ARRAY_SIZE(kinds);
	size_t size = kinds[kind].size, half = (size - 8) / 2, i;

	put_spec(at, kinds[kind].type | (one_of(f, 2) ? IBV_FLOW_SPEC_INNER : 0), size);
	for (i = a_value(f, V_NUM, 3) % 4; i; i--)
		at[8 + half + a_value(f, V_NUM, half - 1) % half] = 0xff;
	at[8 + a_value(f, V_NUM, half - 1) % half] = a_value(f, V_NUM, 3);
	return size;
}

static size_t action_spec(struct fuzzer *f, uint8_t *at)
{
	struct ib_uverbs_flow_spec_action_tag *tag;
	struct ib_uverbs_flow_spec_action_count *count;

	if (one_of(f, 3)) {
		put_spec(at, IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ib_uverbs_flow_spec_action_drop));
		return sizeof(struct ib_uverbs_flow_spec_action_drop);
	}
	if (one_of(f, 2)) {
		count = put_spec(at, IBV_FLOW_SPEC_ACTION_COUNT, sizeof(*count));
		count->handle = a_value(f, V_HANDLE, COUNTERS);
		return sizeof(*count);
	}
	tag = put_spec(at, IBV_FLOW_SPEC_ACTION_TAG, sizeof(*tag));
	tag->tag_id = a_value(f, V_NUM, 0xffffff);
	return sizeof(*tag);
}

static void flow_specs(struct fuzzer *f, uint8_t *body)
{
	static size_t (*const specs[])(struct fuzzer *f, uint8_t *at) = {
		eth_spec, ipv4_spec, ports_spec, other_spec, other_spec, action_spec,
	};
	struct ib_uverbs_create_flow *flow = (void *)body;
	uint8_t *at = body + sizeof(*flow);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		if (!one_of(f, 2) || flow->flow_attr.type == IBV_FLOW_ATTR_SNIFFER)
			continue;
		at += specs[i](f, at);
		flow->flow_attr.num_of_specs++;
	}
	flow->flow_attr.size = at - body - sizeof(*flow);
	if (one_of(f, 30))
		flow->flow_attr.size = a_value(f, V_NUM, FLOW_ROOM);
	if (one_of(f, 30))
		body[sizeof(*flow) + a_value(f, V_NUM, FLOW_ROOM - 1) % FLOW_ROOM] ^= 0x55;
}

/* behind the core's part, which is as long as it is known here */
static void rss_hash(struct fuzzer *f, uint8_t *body)
{
	struct weft_create_rss_req *req = (void *)(body + sizeof(struct ib_uverbs_ex_create_qp));

	req->fields = WEFT_RX_HASH_SRC_IPV4 | (one_of(f, 2) ? WEFT_RX_HASH_DST_PORT_UDP : 0);
	req->function = WEFT_RX_HASH_TOEPLITZ;
	req->key_length = WEFT_RX_HASH_KEY;
	if (one_of(f, 10))
		req->fields = a_value(f, V_ANY, 0);
}

/* a target has an SRQ, an initiator no receives */
static void dc_request(struct fuzzer *f, uint8_t *body)
{
	struct ib_uverbs_ex_create_qp *create = (void *)body;
	struct weft_create_dc_req *req = (void *)(create + 1);

	create->is_srq = one_of(f, 2);
	req->type = create->is_srq ? WEFT_DC_TARGET : WEFT_DC_INITIATOR;
	if (create->is_srq) {
		req->access_key = a_value(f, V_ANY, 0);
	} else if (one_of(f, 2)) {
		req->streams = 1;
		req->log_streams = a_value(f, V_NUM, WEFT_DC_LOG_STREAMS);
		req->log_errored = a_value(f, V_NUM, WEFT_DC_LOG_STREAMS);
	}
	if (one_of(f, 10))
		req->type = a_value(f, V_ANY, 0);
}

#define TABLE_AT(i)	sizeof(struct ib_uverbs_ex_create_rwq_ind_table) + 4 * (i), 4

static void table_size(struct fuzzer *f, uint8_t *body)
{
	struct ib_uverbs_ex_create_rwq_ind_table *table = (void *)body;

	uint32_t *handle = (uint32_t *)(table + 1);

	/* as many as there are handles; mostly all the same, as few exist */
	if (!one_of(f, 8))
		table->log_ind_tbl_size = 2;
	if (!one_of(f, 4))
		handle[1] = handle[2] = handle[3] = handle[0];
}

/* The core keeps a WQ locked if it does not know a state (ib_uverbs_ex_modify_wq()). */
static void wq_states(struct fuzzer *f, uint8_t *body)
{
	struct ib_uverbs_ex_modify_wq *modify = (void *)body;

	modify->wq_state %= IBV_WQS_UNKNOWN;
	modify->curr_wq_state %= IBV_WQS_UNKNOWN;
}

/*
 * ---- Commands ----
 */

#define AT(type, member)	offsetof(struct ib_uverbs_##type, member),		\
				sizeof(((struct ib_uverbs_##type *)0)->member)
#define RESPONSE(type)		{ AT(type, response), V_RESPONSE }
#define FIELDS(...)		.fields = (const struct field[]){ __VA_ARGS__, {} }
#define ATTRS(...)		.attrs = (const struct attr[]){ __VA_ARGS__, { 0, NO_ATTR } }
#define WRITE(cmd, type)	.name = #cmd, .number = IB_USER_VERBS_CMD_##cmd,	\
				.size = sizeof(struct ib_uverbs_##type), .makes = NOTHING
#define EX(cmd, type)		.name = "EX_" #cmd, .number = IB_USER_VERBS_EX_CMD_##cmd,	\
				.ex = true, .size = sizeof(struct ib_uverbs_##type),	\
				.makes = NOTHING
#define OUT(type)		.out = sizeof(struct ib_uverbs_##type)
#define MAKES(kind, type, handle)	.makes = kind, OUT(type),			\
				.at = offsetof(struct ib_uverbs_##type, handle)
#define OURS(type)		.ours = sizeof(struct weft_##type)
#define OURS_OUT(type)		.ours_out = sizeof(struct weft_##type)
#define METHOD(of, what)	.name = #what, .object = UVERBS_OBJECT_##of,		\
				.number = UVERBS_METHOD_##what, .makes = NOTHING
#define NEW(kind)		.makes = kind

#define DEST(av)								\
	{ AT(modify_qp, av.dgid), V_ANY },					\
	{ AT(modify_qp, av.sgid_index), V_NUM, 2 },				\
	{ AT(modify_qp, av.hop_limit), V_CONST, 64 },				\
	{ AT(modify_qp, av.is_global), V_CONST, 1 },				\
	{ AT(modify_qp, av.port_num), V_CONST, 1 },				\
	{ AT(modify_qp, av.sl), V_NUM, 15 }

#define MODIFY_FIELDS								\
	DEST(dest), DEST(alt_dest),						\
	{ AT(modify_qp, qp_handle), V_HANDLE, QP },				\
	{ AT(modify_qp, attr_mask), V_BITS, QP_ATTRS },				\
	{ AT(modify_qp, qkey), V_NUM, 0x7fffffff },				\
	{ AT(modify_qp, rq_psn), V_NUM, 0xffffff },				\
	{ AT(modify_qp, sq_psn), V_NUM, 0xffffff },				\
	{ AT(modify_qp, dest_qp_num), V_QPN },					\
	{ AT(modify_qp, qp_access_flags), V_ACCESS, ACCESS },			\
	{ AT(modify_qp, qp_state), V_NUM, 6 },					\
	{ AT(modify_qp, cur_qp_state), V_NUM, 6 },				\
	{ AT(modify_qp, path_mtu), V_NUM, 3 },					\
	{ AT(modify_qp, path_mig_state), V_NUM, 2 },				\
	{ AT(modify_qp, en_sqd_async_notify), V_NUM, 1 },			\
	{ AT(modify_qp, max_rd_atomic), V_NUM, 16 },				\
	{ AT(modify_qp, max_dest_rd_atomic), V_NUM, 16 },			\
	{ AT(modify_qp, min_rnr_timer), V_NUM, 31 },				\
	{ AT(modify_qp, port_num), V_CONST, 1 },				\
	{ AT(modify_qp, timeout), V_NUM, 14 },					\
	{ AT(modify_qp, retry_cnt), V_NUM, 7 },					\
	{ AT(modify_qp, rnr_retry), V_NUM, 7 },					\
	{ AT(modify_qp, alt_port_num), V_CONST, 1 },				\
	{ AT(modify_qp, alt_timeout), V_NUM, 14 }

#define CREATE_QP_FIELDS(type)							\
	{ AT(type, user_handle), V_ANY },					\
	{ AT(type, pd_handle), V_HANDLE, PD },					\
	{ AT(type, send_cq_handle), V_HANDLE, CQ },				\
	{ AT(type, recv_cq_handle), V_HANDLE, CQ },				\
	{ AT(type, srq_handle), V_HANDLE, SRQ },				\
	{ AT(type, max_send_wr), V_NUM, 4096 },					\
	{ AT(type, max_recv_wr), V_NUM, 4096 },					\
	{ AT(type, max_send_sge), V_NUM, 32 },					\
	{ AT(type, max_recv_sge), V_NUM, 32 },					\
	{ AT(type, max_inline_data), V_NUM, 512 },				\
	{ AT(type, sq_sig_all), V_NUM, 1 },					\
	{ AT(type, qp_type), V_ONE_OF, QPTS },					\
	{ AT(type, is_srq), V_NUM, 1 }

const struct call calls[] = {
	{ WRITE(QUERY_DEVICE, query_device), OUT(query_device_resp),
	  FIELDS(RESPONSE(query_device)) },
	{ WRITE(QUERY_PORT, query_port), OUT(query_port_resp),
	  FIELDS(RESPONSE(query_port), { AT(query_port, port_num), V_CONST, 1 }) },
	{ WRITE(ALLOC_PD, alloc_pd), MAKES(PD, alloc_pd_resp, pd_handle),
	  FIELDS(RESPONSE(alloc_pd)) },
	{ WRITE(DEALLOC_PD, dealloc_pd), FIELDS({ AT(dealloc_pd, pd_handle), V_HANDLE, PD }) },
	{ WRITE(REG_MR, reg_mr), .often = true, MAKES(MR, reg_mr_resp, mr_handle),
	  FIELDS(RESPONSE(reg_mr), { AT(reg_mr, start), V_ADDR }, { AT(reg_mr, length), V_LENGTH },
		 { AT(reg_mr, hca_va), V_ADDR }, { AT(reg_mr, pd_handle), V_HANDLE, PD },
		 { AT(reg_mr, access_flags), V_ACCESS, ACCESS }) },
	{ WRITE(REREG_MR, rereg_mr), OUT(rereg_mr_resp),
	  FIELDS(RESPONSE(rereg_mr), { AT(rereg_mr, mr_handle), V_HANDLE, MR },
		 { AT(rereg_mr, flags), V_NUM, 7 }, { AT(rereg_mr, start), V_ADDR },
		 { AT(rereg_mr, length), V_LENGTH }, { AT(rereg_mr, hca_va), V_ADDR },
		 { AT(rereg_mr, pd_handle), V_HANDLE, PD },
		 { AT(rereg_mr, access_flags), V_ACCESS, ACCESS }) },
	{ WRITE(DEREG_MR, dereg_mr), FIELDS({ AT(dereg_mr, mr_handle), V_HANDLE, MR }) },
	{ WRITE(ALLOC_MW, alloc_mw), MAKES(MW, alloc_mw_resp, mw_handle),
	  FIELDS(RESPONSE(alloc_mw), { AT(alloc_mw, pd_handle), V_HANDLE, PD },
		 { AT(alloc_mw, mw_type), V_ONE_OF, 6 }) },
	{ WRITE(DEALLOC_MW, dealloc_mw), FIELDS({ AT(dealloc_mw, mw_handle), V_HANDLE, MW }) },
	{ WRITE(CREATE_COMP_CHANNEL, create_comp_channel),
	  MAKES(CHANNEL, create_comp_channel_resp, fd), FIELDS(RESPONSE(create_comp_channel)) },
	{ WRITE(CREATE_CQ, create_cq), OURS(create_cq_req), OURS_OUT(create_cq_resp),
	  MAKES(CQ, create_cq_resp, cq_handle),
	  FIELDS(RESPONSE(create_cq), { AT(create_cq, cqe), V_NUM, 8192 },
		 { AT(create_cq, comp_vector), V_NUM, 1 },
		 { AT(create_cq, comp_channel), V_FD, NOTHING }) },
	{ WRITE(RESIZE_CQ, resize_cq), OUT(resize_cq_resp), OURS(resize_cq_req),
	  OURS_OUT(resize_cq_resp),
	  FIELDS(RESPONSE(resize_cq), { AT(resize_cq, cq_handle), V_HANDLE, CQ },
		 { AT(resize_cq, cqe), V_NUM, 8192 }) },
	{ WRITE(DESTROY_CQ, destroy_cq), OUT(destroy_cq_resp),
	  FIELDS(RESPONSE(destroy_cq), { AT(destroy_cq, cq_handle), V_HANDLE, CQ }) },
	{ WRITE(POLL_CQ, poll_cq), OUT(poll_cq_resp), .refused = true,
	  FIELDS(RESPONSE(poll_cq), { AT(poll_cq, cq_handle), V_HANDLE, CQ },
		 { AT(poll_cq, ne), V_NUM, 4 }) },
	{ WRITE(REQ_NOTIFY_CQ, req_notify_cq), .refused = true,
	  FIELDS({ AT(req_notify_cq, cq_handle), V_HANDLE, CQ },
		 { AT(req_notify_cq, solicited_only), V_NUM, 1 }) },
	{ WRITE(CREATE_QP, create_qp), .often = true, OURS(create_qp_req), OURS_OUT(create_qp_resp),
	  MAKES(QP, create_qp_resp, qp_handle),
	  FIELDS(RESPONSE(create_qp), CREATE_QP_FIELDS(create_qp)) },
	{ EX(CREATE_QP, ex_create_qp), .often = true, OURS(create_qp_req), OURS_OUT(create_qp_resp),
	  MAKES(QP, ex_create_qp_resp, base.qp_handle),
	  FIELDS(CREATE_QP_FIELDS(ex_create_qp),
		 { AT(ex_create_qp, create_flags), V_BITS, 0x702 },
		 { AT(ex_create_qp, comp_mask), V_CONST, 0 }) },
	{ EX(CREATE_QP, ex_create_qp), .often = true, OURS(create_rss_req), OURS_OUT(create_qp_resp),
	  MAKES(QP, ex_create_qp_resp, base.qp_handle), .prepare = rss_hash,
	  FIELDS({ AT(ex_create_qp, user_handle), V_ANY },
		 { AT(ex_create_qp, pd_handle), V_HANDLE, PD },
		 { AT(ex_create_qp, qp_type), V_CONST, IBV_QPT_RAW_PACKET },
		 { AT(ex_create_qp, comp_mask), V_CONST, IB_UVERBS_CREATE_QP_MASK_IND_TABLE },
		 { AT(ex_create_qp, rwq_ind_tbl_handle), V_HANDLE, TABLE }) },
	{ EX(CREATE_QP, ex_create_qp), OURS(create_dc_req), OURS_OUT(create_qp_resp),
	  MAKES(QP, ex_create_qp_resp, base.qp_handle), .prepare = dc_request,
	  FIELDS({ AT(ex_create_qp, user_handle), V_ANY },
		 { AT(ex_create_qp, pd_handle), V_HANDLE, PD },
		 { AT(ex_create_qp, send_cq_handle), V_HANDLE, CQ },
		 { AT(ex_create_qp, recv_cq_handle), V_HANDLE, CQ },
		 { AT(ex_create_qp, srq_handle), V_HANDLE, SRQ },
		 { AT(ex_create_qp, max_send_wr), V_NUM, 4096 },
		 { AT(ex_create_qp, max_send_sge), V_NUM, 32 },
		 { AT(ex_create_qp, max_inline_data), V_NUM, 512 },
		 { AT(ex_create_qp, qp_type), V_CONST, IBV_QPT_DRIVER },
		 { AT(ex_create_qp, comp_mask), V_CONST, 0 }) },
	{ EX(CREATE_WQ, ex_create_wq), OURS(create_qp_req), OURS_OUT(create_qp_resp),
	  MAKES(WQ, ex_create_wq_resp, wq_handle),
	  FIELDS({ AT(ex_create_wq, wq_type), V_CONST, IBV_WQT_RQ },
		 { AT(ex_create_wq, user_handle), V_ANY },
		 { AT(ex_create_wq, pd_handle), V_HANDLE, PD },
		 { AT(ex_create_wq, cq_handle), V_HANDLE, CQ },
		 { AT(ex_create_wq, max_wr), V_NUM, 4096 },
		 { AT(ex_create_wq, max_sge), V_NUM, 32 },
		 { AT(ex_create_wq, create_flags), V_BITS, 15 }) },
	{ EX(MODIFY_WQ, ex_modify_wq), .often = true, .prepare = wq_states,
	  FIELDS({ AT(ex_modify_wq, attr_mask), V_BITS, 7 },
		 { AT(ex_modify_wq, wq_handle), V_HANDLE, WQ },
		 { AT(ex_modify_wq, wq_state), V_NUM, 2 },
		 { AT(ex_modify_wq, curr_wq_state), V_NUM, 2 },
		 { AT(ex_modify_wq, flags), V_BITS, 1 },
		 { AT(ex_modify_wq, flags_mask), V_BITS, 1 }) },
	{ EX(DESTROY_WQ, ex_destroy_wq), OUT(ex_destroy_wq_resp),
	  FIELDS({ AT(ex_destroy_wq, wq_handle), V_HANDLE, WQ }) },
	{ .name = "EX_CREATE_RWQ_IND_TBL", .number = IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL,
	  .ex = true, .size = sizeof(struct ib_uverbs_ex_create_rwq_ind_table) + 4 * 4,
	  MAKES(TABLE, ex_create_rwq_ind_table_resp, ind_tbl_handle), .prepare = table_size,
	  FIELDS({ AT(ex_create_rwq_ind_table, log_ind_tbl_size), V_NUM, 3 },
		 { TABLE_AT(0), V_HANDLE, WQ }, { TABLE_AT(1), V_HANDLE, WQ },
		 { TABLE_AT(2), V_HANDLE, WQ }, { TABLE_AT(3), V_HANDLE, WQ }) },
	{ EX(DESTROY_RWQ_IND_TBL, ex_destroy_rwq_ind_table), .often = true,
	  FIELDS({ AT(ex_destroy_rwq_ind_table, ind_tbl_handle), V_HANDLE, TABLE }) },
	{ .name = "EX_CREATE_FLOW", .number = IB_USER_VERBS_EX_CMD_CREATE_FLOW, .ex = true,
	  .size = sizeof(struct ib_uverbs_create_flow) + FLOW_ROOM, .often = true,
	  MAKES(FLOW, create_flow_resp, flow_handle), .prepare = flow_specs,
	  FIELDS({ AT(create_flow, qp_handle), V_HANDLE, QP },
		 { AT(create_flow, flow_attr.type), V_ONE_OF, 15 },
		 { AT(create_flow, flow_attr.priority), V_NUM, 15 },
		 { AT(create_flow, flow_attr.port), V_CONST, 1 },
		 { AT(create_flow, flow_attr.flags), V_BITS, 6 }) },
	{ EX(DESTROY_FLOW, destroy_flow),
	  FIELDS({ AT(destroy_flow, flow_handle), V_HANDLE, FLOW }) },
	/* the core forgets to make the lock of its attachments to groups (ib_uverbs_open_qp()) */
	{ WRITE(OPEN_QP, open_qp), .unsafe = true, OURS(create_qp_req), OURS_OUT(create_qp_resp),
	  MAKES(QP, create_qp_resp, qp_handle),
	  FIELDS(RESPONSE(open_qp), { AT(open_qp, pd_handle), V_HANDLE, XRCD },
		 { AT(open_qp, qpn), V_QPN }, { AT(open_qp, qp_type), V_CONST, IBV_QPT_XRC_RECV }) },
	{ WRITE(QUERY_QP, query_qp), OUT(query_qp_resp),
	  FIELDS(RESPONSE(query_qp), { AT(query_qp, qp_handle), V_HANDLE, QP },
		 { AT(query_qp, attr_mask), V_BITS, QP_ATTRS }) },
	{ WRITE(MODIFY_QP, modify_qp), .often = true, .prepare = modify_step, FIELDS(MODIFY_FIELDS) },
	{ EX(MODIFY_QP, ex_modify_qp), .often = true, OUT(ex_modify_qp_resp), OURS(modify_qp_req),
	  OURS_OUT(modify_qp_resp), .prepare = modify_step,
	  FIELDS(MODIFY_FIELDS, { AT(ex_modify_qp, rate_limit), V_NUM, 100000 }) },
	{ WRITE(DESTROY_QP, destroy_qp), OUT(destroy_qp_resp),
	  FIELDS(RESPONSE(destroy_qp), { AT(destroy_qp, qp_handle), V_HANDLE, QP }) },
	{ WRITE(POST_SEND, post_send), OUT(post_send_resp), .ours = 128, .refused = true,
	  FIELDS(RESPONSE(post_send), { AT(post_send, qp_handle), V_HANDLE, QP },
		 { AT(post_send, wr_count), V_NUM, 1 }, { AT(post_send, sge_count), V_NUM, 1 },
		 { AT(post_send, wqe_size), V_CONST, sizeof(struct ib_uverbs_send_wr) }) },
	{ WRITE(POST_RECV, post_recv), OUT(post_recv_resp), .ours = 64, .refused = true,
	  FIELDS(RESPONSE(post_recv), { AT(post_recv, qp_handle), V_HANDLE, QP },
		 { AT(post_recv, wr_count), V_NUM, 1 }, { AT(post_recv, sge_count), V_NUM, 1 },
		 { AT(post_recv, wqe_size), V_CONST, sizeof(struct ib_uverbs_recv_wr) }) },
	{ WRITE(POST_SRQ_RECV, post_srq_recv), OUT(post_srq_recv_resp), .ours = 64,
	  .refused = true,
	  FIELDS(RESPONSE(post_srq_recv), { AT(post_srq_recv, srq_handle), V_HANDLE, SRQ },
		 { AT(post_srq_recv, wr_count), V_NUM, 1 },
		 { AT(post_srq_recv, wqe_size), V_CONST, sizeof(struct ib_uverbs_recv_wr) }) },
	{ WRITE(CREATE_AH, create_ah), OURS_OUT(create_ah_resp),
	  MAKES(AH, create_ah_resp, ah_handle),
	  FIELDS(RESPONSE(create_ah), { AT(create_ah, pd_handle), V_HANDLE, PD },
		 { AT(create_ah, attr.grh.dgid), V_ANY },
		 { AT(create_ah, attr.grh.sgid_index), V_NUM, 2 },
		 { AT(create_ah, attr.grh.hop_limit), V_CONST, 64 },
		 { AT(create_ah, attr.is_global), V_CONST, 1 },
		 { AT(create_ah, attr.port_num), V_CONST, 1 },
		 { AT(create_ah, attr.sl), V_NUM, 15 }) },
	{ WRITE(DESTROY_AH, destroy_ah), FIELDS({ AT(destroy_ah, ah_handle), V_HANDLE, AH }) },
	{ WRITE(ATTACH_MCAST, attach_mcast),
	  FIELDS({ AT(attach_mcast, gid), V_ANY, 1 }, { AT(attach_mcast, qp_handle), V_HANDLE, QP },
		 { AT(attach_mcast, mlid), V_CONST, 0 }) },
	{ WRITE(DETACH_MCAST, detach_mcast),
	  FIELDS({ AT(detach_mcast, gid), V_ANY, 1 }, { AT(detach_mcast, qp_handle), V_HANDLE, QP },
		 { AT(detach_mcast, mlid), V_CONST, 0 }) },
	{ WRITE(CREATE_SRQ, create_srq), OURS(create_srq_req), OURS_OUT(create_srq_resp),
	  MAKES(SRQ, create_srq_resp, srq_handle),
	  FIELDS(RESPONSE(create_srq), { AT(create_srq, pd_handle), V_HANDLE, PD },
		 { AT(create_srq, max_wr), V_NUM, 4096 }, { AT(create_srq, max_sge), V_NUM, 32 },
		 { AT(create_srq, srq_limit), V_NUM, 16 }) },
	{ WRITE(CREATE_XSRQ, create_xsrq), OURS(create_srq_req), OURS_OUT(create_srq_resp),
	  MAKES(SRQ, create_srq_resp, srq_handle),
	  FIELDS(RESPONSE(create_xsrq), { AT(create_xsrq, srq_type), V_ONE_OF, 7 },
		 { AT(create_xsrq, max_num_tags), V_NUM, 64 },
		 { AT(create_xsrq, pd_handle), V_HANDLE, PD },
		 { AT(create_xsrq, max_wr), V_NUM, 4096 }, { AT(create_xsrq, max_sge), V_NUM, 32 },
		 { AT(create_xsrq, xrcd_handle), V_HANDLE, XRCD },
		 { AT(create_xsrq, cq_handle), V_HANDLE, CQ }) },
	{ WRITE(MODIFY_SRQ, modify_srq), OURS(modify_srq_req),
	  FIELDS({ AT(modify_srq, srq_handle), V_HANDLE, SRQ },
		 { AT(modify_srq, attr_mask), V_BITS, 3 }, { AT(modify_srq, max_wr), V_NUM, 4096 },
		 { AT(modify_srq, srq_limit), V_NUM, 16 },
		 /* where our request wants the address of the answer */
		 { sizeof(struct ib_uverbs_modify_srq) +
		   offsetof(struct weft_modify_srq_req, ring_addr), 8, V_RESPONSE }) },
	{ WRITE(QUERY_SRQ, query_srq), OUT(query_srq_resp),
	  FIELDS(RESPONSE(query_srq), { AT(query_srq, srq_handle), V_HANDLE, SRQ }) },
	{ WRITE(DESTROY_SRQ, destroy_srq), OUT(destroy_srq_resp),
	  FIELDS(RESPONSE(destroy_srq), { AT(destroy_srq, srq_handle), V_HANDLE, SRQ }) },
	{ WRITE(OPEN_XRCD, open_xrcd), MAKES(XRCD, open_xrcd_resp, xrcd_handle),
	  FIELDS(RESPONSE(open_xrcd), { AT(open_xrcd, fd), V_FD, NOTHING },
		 { AT(open_xrcd, oflags), V_CONST, O_CREAT }) },
	{ WRITE(CLOSE_XRCD, close_xrcd), FIELDS({ AT(close_xrcd, xrcd_handle), V_HANDLE, XRCD }) },
	{ EX(QUERY_DEVICE, ex_query_device), OUT(ex_query_device_resp),
	  OURS_OUT(query_device_resp), FIELDS({ AT(ex_query_device, comp_mask), V_CONST, 0 }) },
	{ EX(CREATE_CQ, ex_create_cq), OURS(create_cq_req), OURS_OUT(create_cq_resp),
	  MAKES(CQ, ex_create_cq_resp, base.cq_handle),
	  FIELDS({ AT(ex_create_cq, cqe), V_NUM, 8192 }, { AT(ex_create_cq, comp_vector), V_NUM, 1 },
		 { AT(ex_create_cq, comp_channel), V_FD, CHANNEL },
		 { AT(ex_create_cq, flags), V_BITS, 3 }) },
	{ EX(MODIFY_CQ, ex_modify_cq),
	  FIELDS({ AT(ex_modify_cq, cq_handle), V_HANDLE, CQ },
		 { AT(ex_modify_cq, attr_mask), V_CONST, 1 },
		 { AT(ex_modify_cq, attr.cq_count), V_NUM, 8 },
		 { AT(ex_modify_cq, attr.cq_period), V_NUM, 100 }) },

	{ METHOD(PD, PD_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_PD_HANDLE, 0, V_HANDLE, PD }) },
	{ METHOD(MW, MW_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_MW_HANDLE, 0, V_HANDLE, MW }) },
	{ METHOD(AH, AH_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_AH_HANDLE, 0, V_HANDLE, AH }) },
	{ METHOD(XRCD, XRCD_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_XRCD_HANDLE, 0, V_HANDLE, XRCD }) },
	{ METHOD(MR, MR_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_MR_HANDLE, 0, V_HANDLE, MR }) },
	{ METHOD(DM, DM_ALLOC), NEW(DM),
	  ATTRS({ UVERBS_ATTR_ALLOC_DM_HANDLE, 0, V_NEW },
		{ UVERBS_ATTR_ALLOC_DM_LENGTH, 8, V_NUM, 65536 },
		{ UVERBS_ATTR_ALLOC_DM_ALIGNMENT, 4, V_NUM, 12 },
		{ WEFT_ATTR_ALLOC_DM_RESP, sizeof(struct weft_dm_resp), V_SPARE }) },
	{ METHOD(DM, DM_FREE), ATTRS({ UVERBS_ATTR_FREE_DM_HANDLE, 0, V_HANDLE, DM }) },
	{ .name = "WEFT_DM_QUERY", .object = UVERBS_OBJECT_DM, .number = WEFT_METHOD_DM_QUERY,
	  .makes = NOTHING,
	  ATTRS({ WEFT_ATTR_QUERY_DM_HANDLE, 0, V_HANDLE, DM },
		{ WEFT_ATTR_QUERY_DM_RESP, sizeof(struct weft_dm_resp), V_SPARE }) },
	{ .name = "WEFT_PD_QUERY", .object = UVERBS_OBJECT_PD, .number = WEFT_METHOD_PD_QUERY,
	  .makes = NOTHING, ATTRS({ WEFT_ATTR_QUERY_PD_HANDLE, 0, V_HANDLE, PD }) },
	{ METHOD(MR, DM_MR_REG), NEW(MR),
	  ATTRS({ UVERBS_ATTR_REG_DM_MR_HANDLE, 0, V_NEW },
		{ UVERBS_ATTR_REG_DM_MR_OFFSET, 8, V_NUM, 4096 },
		{ UVERBS_ATTR_REG_DM_MR_LENGTH, 8, V_NUM, 4096 },
		{ UVERBS_ATTR_REG_DM_MR_PD_HANDLE, 0, V_HANDLE, PD },
		{ UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 4, V_CONST, 15 | IB_UVERBS_ACCESS_ZERO_BASED },
		{ UVERBS_ATTR_REG_DM_MR_DM_HANDLE, 0, V_HANDLE, DM },
		{ UVERBS_ATTR_REG_DM_MR_RESP_LKEY, 4, V_SPARE },
		{ UVERBS_ATTR_REG_DM_MR_RESP_RKEY, 4, V_SPARE }) },
	{ METHOD(MR, ADVISE_MR), .often = true,
	  ATTRS({ UVERBS_ATTR_ADVISE_MR_PD_HANDLE, 0, V_HANDLE, PD },
		{ UVERBS_ATTR_ADVISE_MR_ADVICE, 8, V_NUM, 2 },
		{ UVERBS_ATTR_ADVISE_MR_FLAGS, 4, V_NUM, 1 },
		{ UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(struct ib_uverbs_sge), V_SPARE, 1 }) },
	{ METHOD(MR, QUERY_MR),
	  ATTRS({ UVERBS_ATTR_QUERY_MR_HANDLE, 0, V_HANDLE, MR },
		{ UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4, V_SPARE },
		{ UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4, V_SPARE },
		{ UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8, V_SPARE },
		{ UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8, V_SPARE, .optional = true }) },
	{ METHOD(MR, REG_DMABUF_MR), NEW(MR),
	  ATTRS({ UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, V_NEW },
		{ UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0, V_HANDLE, PD },
		{ UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, V_CONST, 0 },
		{ UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, V_LENGTH },
		{ UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, V_CONST, 0 },
		{ UVERBS_ATTR_REG_DMABUF_MR_FD, 4, V_DMABUF },
		{ UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4, V_ACCESS, 15 },
		{ UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4, V_SPARE },
		{ UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4, V_SPARE }) },
	{ METHOD(CQ, CQ_CREATE), NEW(CQ),
	  ATTRS({ UVERBS_ATTR_CREATE_CQ_HANDLE, 0, V_NEW },
		{ UVERBS_ATTR_CREATE_CQ_CQE, 4, V_NUM, 8192 },
		{ UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, V_ANY },
		{ UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0, V_FD, CHANNEL, .optional = true },
		{ UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, V_NUM, 1 },
		{ UVERBS_ATTR_CREATE_CQ_FLAGS, 4, V_BITS, 3, .optional = true },
		{ UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4, V_SPARE },
		{ UVERBS_ATTR_CREATE_CQ_EVENT_FD, 0, V_ASYNC, .optional = true },
		{ UVERBS_ATTR_UHW_IN, sizeof(struct weft_create_cq_req), V_CONST, 0 },
		{ UVERBS_ATTR_UHW_OUT, sizeof(struct weft_create_cq_resp), V_SPARE }) },
	{ METHOD(CQ, CQ_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_CQ_HANDLE, 0, V_HANDLE, CQ },
		{ UVERBS_ATTR_DESTROY_CQ_RESP, sizeof(struct ib_uverbs_destroy_cq_resp), V_SPARE }) },
	{ METHOD(QP, QP_CREATE), .often = true, NEW(QP),
	  ATTRS({ UVERBS_ATTR_CREATE_QP_HANDLE, 0, V_NEW },
		{ UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, V_HANDLE, PD },
		{ UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 0, V_HANDLE, SRQ, .optional = true },
		{ UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, V_HANDLE, CQ },
		{ UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, V_HANDLE, CQ },
		{ UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, V_ANY },
		{ UVERBS_ATTR_CREATE_QP_CAP, sizeof(struct ib_uverbs_qp_cap), V_SPARE },
		{ UVERBS_ATTR_CREATE_QP_TYPE, 8, V_ONE_OF, QPTS },
		{ UVERBS_ATTR_CREATE_QP_FLAGS, 4, V_BITS, 2, .optional = true },
		{ UVERBS_ATTR_CREATE_QP_EVENT_FD, 0, V_ASYNC, .optional = true },
		{ UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(struct ib_uverbs_qp_cap), V_SPARE },
		{ UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4, V_SPARE },
		{ UVERBS_ATTR_UHW_IN, sizeof(struct weft_create_qp_req), V_SPARE },
		{ UVERBS_ATTR_UHW_OUT, 64, V_SPARE }) },
	{ METHOD(QP, QP_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_QP_HANDLE, 0, V_HANDLE, QP },
		{ UVERBS_ATTR_DESTROY_QP_RESP, sizeof(struct ib_uverbs_destroy_qp_resp), V_SPARE }) },
	{ .name = "WEFT_QP_STREAM", .object = UVERBS_OBJECT_QP, .number = WEFT_METHOD_QP_STREAM,
	  .makes = NOTHING, .often = true, .refused = true,
	  ATTRS({ WEFT_ATTR_QP_STREAM_HANDLE, 0, V_HANDLE, QP },
		{ WEFT_ATTR_QP_STREAM_ID, 4, V_NUM, 300 }) },
	{ METHOD(SRQ, SRQ_CREATE), NEW(SRQ),
	  ATTRS({ UVERBS_ATTR_CREATE_SRQ_HANDLE, 0, V_NEW },
		{ UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, 0, V_HANDLE, PD },
		{ UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, 0, V_HANDLE, XRCD, .optional = true },
		{ UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, 0, V_HANDLE, CQ, .optional = true },
		{ UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 8, V_ANY },
		{ UVERBS_ATTR_CREATE_SRQ_MAX_WR, 4, V_NUM, 4096 },
		{ UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 4, V_NUM, 32 },
		{ UVERBS_ATTR_CREATE_SRQ_LIMIT, 4, V_NUM, 16 },
		{ UVERBS_ATTR_CREATE_SRQ_TYPE, 8, V_ONE_OF, 7 },
		{ UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, 4, V_NUM, 64, .optional = true },
		{ UVERBS_ATTR_CREATE_SRQ_EVENT_FD, 0, V_ASYNC, .optional = true },
		{ UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4, V_SPARE },
		{ UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4, V_SPARE },
		{ UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, 4, V_SPARE, .optional = true },
		{ UVERBS_ATTR_UHW_IN, sizeof(struct weft_create_srq_req), V_CONST, 0 },
		{ UVERBS_ATTR_UHW_OUT, sizeof(struct weft_create_srq_resp), V_SPARE }) },
	{ METHOD(SRQ, SRQ_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_SRQ_HANDLE, 0, V_HANDLE, SRQ },
		{ UVERBS_ATTR_DESTROY_SRQ_RESP, sizeof(struct ib_uverbs_destroy_srq_resp),
		  V_SPARE }) },
	{ .name = "WEFT_SRQ_TAG", .object = UVERBS_OBJECT_SRQ, .number = WEFT_METHOD_SRQ_TAG,
	  .makes = NOTHING, .often = true,
	  ATTRS({ WEFT_ATTR_SRQ_TAG_HANDLE, 0, V_HANDLE, SRQ },
		{ WEFT_ATTR_SRQ_TAG_OP, sizeof(struct weft_tag_op), V_SPARE },
		{ WEFT_ATTR_SRQ_TAG_RESP, 4, V_SPARE }) },
	{ .name = "WEFT_SRQ_ASK", .object = UVERBS_OBJECT_SRQ, .number = WEFT_METHOD_SRQ_ASK,
	  .makes = NOTHING, ATTRS({ WEFT_ATTR_SRQ_ASK_HANDLE, 0, V_HANDLE, SRQ }) },
	{ METHOD(COUNTERS, COUNTERS_CREATE), NEW(COUNTERS),
	  ATTRS({ UVERBS_ATTR_CREATE_COUNTERS_HANDLE, 0, V_NEW }) },
	{ METHOD(COUNTERS, COUNTERS_DESTROY),
	  ATTRS({ UVERBS_ATTR_DESTROY_COUNTERS_HANDLE, 0, V_HANDLE, COUNTERS }) },
	/* without the provider's list no rule counts, so there is nothing to read */
	{ METHOD(COUNTERS, COUNTERS_READ), .refused = true,
	  ATTRS({ UVERBS_ATTR_READ_COUNTERS_HANDLE, 0, V_HANDLE, COUNTERS },
		{ UVERBS_ATTR_READ_COUNTERS_BUFF, 64, V_SPARE },
		{ UVERBS_ATTR_READ_COUNTERS_FLAGS, 4, V_NUM, 1 }) },
	/* methods and attributes of Linux 7.3 by their numbers */
	{ .name = "COMP_CNTR_CREATE", .object = OBJECT_COMP_CNTR, .number = 0, .newer = true, NEW(CNTR),
	  ATTRS({ 0, 0, V_NEW },
		{ WEFT_ATTR_CREATE_COMP_CNTR_TYPE, 4, V_NUM, 2, .optional = true }) },
	{ .name = "COMP_CNTR_DESTROY", .object = OBJECT_COMP_CNTR, .number = 1, .newer = true,
	  .makes = NOTHING, ATTRS({ 0, 0, V_HANDLE, CNTR }) },
	{ .name = "COMP_CNTR_MODIFY", .object = OBJECT_COMP_CNTR, .number = 2, .newer = true,
	  .makes = NOTHING,
	  ATTRS({ 0, 0, V_HANDLE, CNTR }, { 1, 8, V_NUM, 2 }, { 2, 8, V_NUM, 2 },
		{ 3, 8, V_ANY }) },
	{ .name = "COMP_CNTR_READ", .object = OBJECT_COMP_CNTR, .number = 3, .newer = true,
	  .makes = NOTHING,
	  ATTRS({ 0, 0, V_HANDLE, CNTR }, { 1, 8, V_NUM, 2 }, { 2, 8, V_SPARE }) },
	{ .name = "QP_ATTACH_COMP_CNTR", .object = UVERBS_OBJECT_QP, .number = 2, .newer = true,
	  .makes = NOTHING, .often = true,
	  ATTRS({ 0, 0, V_HANDLE, QP }, { 1, 0, V_HANDLE, CNTR }, { 2, 4, V_BITS, 63 }) },
	{ .name = "QUERY_COMP_CNTR_CAPS", .object = UVERBS_OBJECT_DEVICE, .number = 8, .newer = true,
	  .makes = NOTHING,
	  ATTRS({ 0, 4, V_SPARE }, { 1, 8, V_SPARE }, { 2, 4, V_SPARE }) },
	{ METHOD(ASYNC_EVENT, ASYNC_EVENT_ALLOC), NEW(CHANNEL),
	  ATTRS({ UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0, V_NEW }) },
	{ METHOD(DEVICE, INFO_HANDLES),
	  ATTRS({ UVERBS_ATTR_INFO_OBJECT_ID, 8, V_NUM, 15 },
		{ UVERBS_ATTR_INFO_TOTAL_HANDLES, 4, V_SPARE, .optional = true },
		{ UVERBS_ATTR_INFO_HANDLES_LIST, 64, V_SPARE }) },
	{ .name = "QUERY_PORT (ioctl)", .object = UVERBS_OBJECT_DEVICE,
	  .number = UVERBS_METHOD_QUERY_PORT, .makes = NOTHING,
	  ATTRS({ UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, V_CONST, 1 },
		{ UVERBS_ATTR_QUERY_PORT_RESP, sizeof(struct ib_uverbs_query_port_resp_ex),
		  V_SPARE }) },
	{ METHOD(DEVICE, QUERY_CONTEXT),
	  ATTRS({ UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4, V_SPARE },
		{ UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8, V_SPARE },
		{ WEFT_ATTR_QUERY_CONTEXT_RESP, sizeof(struct weft_alloc_ucontext_resp),
		  V_SPARE }) },
	{ METHOD(DEVICE, QUERY_GID_TABLE),
	  ATTRS({ UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, 8, V_CONST,
		  sizeof(struct ib_uverbs_gid_entry) },
		{ UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 4, V_CONST, 0, .optional = true },
		{ UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 128, V_SPARE },
		{ UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8, V_SPARE }) },
	{ METHOD(DEVICE, QUERY_GID_ENTRY),
	  ATTRS({ UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 8, V_CONST, 1 },
		{ UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 8, V_NUM, 2 },
		{ UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 4, V_CONST, 0 },
		{ UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, sizeof(struct ib_uverbs_gid_entry),
		  V_SPARE }) },
};

const unsigned int num_calls = ARRAY_SIZE(calls);

_Static_assert(ARRAY_SIZE(calls) <= MAX_CALLS, "counts of all of them");
