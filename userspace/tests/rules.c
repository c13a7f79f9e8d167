// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs that can have no rule of flow steering, on ports of either kind. frames.c has those that can.
 */
#include "lib.h"

static struct ibv_flow_attr attr = {
	.size = sizeof(attr), .type = IBV_FLOW_ATTR_NORMAL, .port = 1,
};

/* the core's own refusal */
static void connected(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct end a;
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		make(&a, CONF(.type = types[i]));
		REFUSED(ibv_create_flow(a.qp, &attr), EINVAL);
		unmake(&a);
	}
}

/* A datagram finds its QP by the number, in the name of another QP, too. */
static void datagrams(void)
{
	struct ibv_qp_init_attr_ex init = {
		.pd = pd, .qp_type = IBV_QPT_UD, .cap = { 16, 16, 4, 4, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_SOURCE_QPN,
	};
	struct ibv_qp *other;
	struct end a;

	make(&a, CONF(.type = IBV_QPT_UD));
	init.send_cq = a.scq;
	init.recv_cq = a.rcq;
	init.source_qpn = a.qp->qp_num;
	other = ibv_create_qp_ex(ctx, &init);
	CHECK(other);
	REFUSED(ibv_create_flow(a.qp, &attr), EOPNOTSUPP);
	REFUSED(ibv_create_flow(other, &attr), EOPNOTSUPP);
	attr.type = IBV_FLOW_ATTR_SNIFFER;
	REFUSED(ibv_create_flow(a.qp, &attr), EOPNOTSUPP);
	REFUSED(ibv_create_flow(other, &attr), EOPNOTSUPP);
	/* what was refused holds neither of them */
	SAME(ibv_destroy_qp(other), 0);
	unmake(&a);
}

TESTS(
	TEST(connected), TEST(datagrams)
)
