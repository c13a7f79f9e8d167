// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Injection rules: verbs of rarer objects. */
#include "inject.h"

#include <fcntl.h>

static struct end a;

/* verbs of objects that few programs have, each once; the next call works */
void rarer_verbs(void)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 4096 };
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_counters_init_attr counters = {};
	struct ibv_srq_attr srq_attr;
	struct ibv_sge sge;
	struct ibv_srq *srq;
	struct ibv_dm *dm;

	make(&a, CONF());
	rule("verb verb=alloc_dm n=1 fail=ENOMEM");
	REFUSED(ibv_alloc_dm(ctx, &dm_attr), ENOMEM);
	dm = ibv_alloc_dm(ctx, &dm_attr);
	CHECK(dm);
	rule("verb verb=reg_dm_mr n=1 fail=EACCES");
	REFUSED(ibv_reg_dm_mr(pd, dm, 0, 4096, ACCESS_ALL | IBV_ACCESS_ZERO_BASED), EACCES);
	CHECK(ibv_reg_dm_mr(pd, dm, 0, 4096, ACCESS_ALL | IBV_ACCESS_ZERO_BASED));
	rule("verb verb=alloc_xrcd n=1 fail=EBUSY");
	REFUSED(ibv_open_xrcd(ctx, &xrcd), EBUSY);
	CHECK(ibv_open_xrcd(ctx, &xrcd));
	rule("verb verb=create_counters n=1 fail=ENOSPC");
	REFUSED(ibv_create_counters(ctx, &counters), ENOSPC);
	CHECK(ibv_create_counters(ctx, &counters));
	srq = ibv_create_srq(pd, &srq_init);
	CHECK(srq);
	rule("verb verb=query_srq n=1 fail=EAGAIN");
	REFUSED(ibv_query_srq(srq, &srq_attr), EAGAIN);
	SAME(ibv_query_srq(srq, &srq_attr), 0);
	/* the device refuses it, as the region is pinned, but by another errno */
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 100, a.mr->lkey };
	rule("verb verb=advise_mr n=1 fail=EIO");
	REFUSED(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EIO);
	REFUSED(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), ENOENT);
	rule("clear");
}

/* those of raw packets: a WQ, a table of it, a flow */
void raw_verbs(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .cap = { 1, 1, 1, 1, 0 },
	};
	struct ibv_wq_init_attr wq_init = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1 };
	struct ibv_rwq_ind_table_init_attr table = {};
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} flow = {
		.attr = { .size = sizeof(flow), .num_of_specs = 1, .port = 1 },
		.eth = {
			.type = IBV_FLOW_SPEC_ETH, .size = sizeof(flow.eth),
			.val.dst_mac = { 2, 0, 0, 0, 0, 9 },
			.mask.dst_mac = { 255, 255, 255, 255, 255, 255 },
		},
	};
	struct ibv_wq *wq;
	struct ibv_qp *qp;

	make(&a, CONF());
	wq_init.pd = pd;
	wq_init.cq = a.rcq;
	rule("verb verb=create_wq n=1 fail=EMFILE");
	REFUSED(ibv_create_wq(ctx, &wq_init), EMFILE);
	wq = ibv_create_wq(ctx, &wq_init);
	CHECK(wq);
	table.ind_tbl = &wq;
	rule("verb verb=create_rwq_ind_table n=1 fail=ENOSPC");
	REFUSED(ibv_create_rwq_ind_table(ctx, &table), ENOSPC);
	CHECK(ibv_create_rwq_ind_table(ctx, &table));
	init.send_cq = a.scq;
	init.recv_cq = a.rcq;
	qp = ibv_create_qp(pd, &init);
	CHECK(qp);
	rule("verb verb=create_flow qp=%u n=1 fail=EBUSY", qp->qp_num);
	REFUSED(ibv_create_flow(qp, &flow.attr), EBUSY);
	CHECK(ibv_create_flow(qp, &flow.attr));
	rule("clear");
}
