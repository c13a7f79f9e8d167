// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Groups of InfiniBand, by their LID: what $WEFT_DEVICE sends to them comes back to members
 * on the same port. $PKEY_INDEX is where its second P_Key is, $ROCE a RoCE device on the
 * same net device.
 */
#include "lib.h"

#define GRH		40
#define GROUP_LID	0xc7f0
#define MULTICAST_QPN	0xffffff

#define FLOOD		4000
#define FLOOD_MEMBERS	8
#define FLOOD_LENGTH	4000

static const union ibv_gid group = { .raw = { [0] = 0xff, [1] = 0x12, [15] = 7 } };

static struct ibv_ah *ah_to_group(int from_gid)
{
	struct ibv_ah_attr av = {
		.dlid = GROUP_LID, .port_num = 1, .is_global = 1,
		.grh = { .dgid = group, .hop_limit = 1, .sgid_index = from_gid },
	};
	struct ibv_ah *to = ibv_create_ah(pd, &av);

	CHECK(to);
	return to;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		FAIL("$%s is not set", name);
	return value;
}

/* in the partition that this entry of the port's table has */
static void make_in(struct end *e, int pkey_index)
{
	struct ibv_qp_attr attr;
	int mask;

	make(e, CONF(.type = IBV_QPT_UD));
	mask = step_mask(e, IBV_QPS_INIT);
	attr = step_attr(e, NULL, IBV_QPS_INIT);
	attr.pkey_index = pkey_index;
	SAME(ibv_modify_qp(e->qp, &attr, mask), 0);
	to_rtr(e, NULL);
	to_rts(e);
}

static void join(struct end *e)
{
	SAME(ibv_attach_mcast(e->qp, &group, GROUP_LID), 0);
	post_recv(e, 0, 0, 1000 + GRH);
	post_recv(e, 1, 0, 1000 + GRH);
}

static void send_to(struct end *e, struct ibv_ah *to, uint32_t qpn)
{
	struct ibv_send_wr *wr = swr(e, 1, IBV_WR_SEND, 4096, 100);

	wr->wr.ud.ah = to;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = QKEY;
	post(e, wr);
	expect_ok(e->scq, 1);
}

/* The port is in both partitions, each member in one. */
static void partitions(void)
{
	int second = atoi(variable("PKEY_INDEX"));
	struct end in[2], from[2];
	uint64_t refused;
	int i;

	for (i = 0; i < 2; i++) {
		make_in(&in[i], i ? second : 0);
		make_in(&from[i], i ? second : 0);
		join(&in[i]);
	}
	for (i = 0; i < 2; i++) {
		note("partition %d", i);
		refused = counter("rx_pkey");
		send_to(&from[i], ah_to_group(0), MULTICAST_QPN);
		SAME(expect_ok(in[i].rcq, 0).src_qp, from[i].qp->qp_num);
		expect_no_wc(in[!i].rcq);
		SAME(counter("rx_pkey") - refused, 1);
	}
}

/* To the LID of a group, but to one QP: that is no packet (IBA 9.6). */
static void to_one(void)
{
	uint64_t refused = counter("rx_wrong_address");
	struct end member, from;

	make_in(&member, 0);
	make_in(&from, 0);
	join(&member);
	send_to(&from, ah_to_group(0), member.qp->qp_num);
	expect_no_wc(member.rcq);
	SAME(counter("rx_wrong_address") - refused, 1);
	send_to(&from, ah_to_group(0), MULTICAST_QPN);
	expect_ok(member.rcq, 0);
}

/* What a RoCE device on the same net device sends to the address of the group. */
static void other_link(void)
{
	struct end member, from, roce;

	make_in(&member, 0);
	make_in(&from, 0);
	join(&member);
	open_named(variable("ROCE"));
	make(&roce, CONF(.type = IBV_QPT_UD));
	to_ready(&roce);
	send_to(&roce, ah_to_group(gid6), MULTICAST_QPN);
	expect_no_wc(member.rcq);
	/* nor if somebody of RoCE hears it */
	SAME(ibv_attach_mcast(roce.qp, &group, 0), 0);
	post_recv(&roce, 0, 0, 1000 + GRH);
	send_to(&roce, ah_to_group(gid6), MULTICAST_QPN);
	expect_ok(roce.rcq, 0);
	expect_no_wc(member.rcq);
}

/* A member that does not want its own messages (IBV_QP_CREATE_BLOCK_SELF_MCAST_LB). */
static void not_to_self(void)
{
	struct end self, other;

	make_in(&other, 0);
	join(&other);
	make(&self, CONF(.type = IBV_QPT_UD));
	SAME(ibv_destroy_qp(self.qp), 0);
	self.qp = ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){
		.send_cq = self.scq, .recv_cq = self.rcq, .pd = pd, .qp_type = IBV_QPT_UD,
		.cap = { 16, 16, 4, 4, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	});
	CHECK(self.qp);
	to_ready(&self);
	join(&self);
	send_to(&self, ah_to_group(0), MULTICAST_QPN);
	SAME(expect_ok(other.rcq, 0).src_qp, self.qp->qp_num);
	expect_no_wc(self.rcq);
	send_to(&other, ah_to_group(0), MULTICAST_QPN);
	expect_ok(self.rcq, 0);
	expect_ok(other.rcq, 1);
}

static void join_flood(struct end *e)
{
	int i;

	make(e, CONF(.type = IBV_QPT_UD, .rq = FLOOD, .cqe = FLOOD));
	to_ready(e);
	SAME(ibv_attach_mcast(e->qp, &group, GROUP_LID), 0);
	for (i = 0; i < FLOOD; i++)
		post_recv(e, i, 0, FLOOD_LENGTH + GRH);
}

/* all at once */
static void post_flood(struct end *e, struct ibv_ah *to)
{
	struct ibv_send_wr *wr = calloc(FLOOD, sizeof(*wr)), *bad;
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf, .length = FLOOD_LENGTH, .lkey = e->mr->lkey,
	};
	int i;

	CHECK(wr);
	for (i = 0; i < FLOOD; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .next = i + 1 < FLOOD ? &wr[i + 1] : NULL,
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.wr.ud = { .ah = to, .remote_qpn = MULTICAST_QPN, .remote_qkey = QKEY },
		};
	SAME(ibv_post_send(e->qp, wr, &bad), 0);
	free(wr);
}

/*
 * Nobody but this port is in the group, so the switch has no use for the packets. Their
 * sender has to wait for who receives the copies, and none of those is lost.
 */
static void flood(void)
{
	struct end *member = calloc(FLOOD_MEMBERS, sizeof(*member));
	struct end from;
	int i, n;

	CHECK(member);
	for (i = 0; i < FLOOD_MEMBERS; i++)
		join_flood(&member[i]);
	make(&from, CONF(.type = IBV_QPT_UD, .sq = FLOOD, .cqe = FLOOD));
	to_ready(&from);
	post_flood(&from, ah_to_group(0));
	for (i = 0; i < FLOOD_MEMBERS; i++) {
		note("member %d", i);
		for (n = 0; n < FLOOD; n++)
			SAME(expect_ok(member[i].rcq, n).byte_len, FLOOD_LENGTH + GRH);
	}
}

TESTS(
	TEST(partitions), TEST(to_one), TEST(other_link), TEST(not_to_self), TEST(flood)
)
