// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of fabric/filter.c: packets that the external ports of a switch let pass, and the traps for
 * the others. Tables and filters are set by SMPs, as a subnet manager does it.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <rdma/ib_pack.h>

#include "fuzz.h"
#include "switch_model.h"

#define FILTER_GUID	0x0200ff00fe000030ULL
#define FILTER_LID	9
#define FILTER_SM_LID	3
#define FILTER_MLID	0xc005
#define FILTER_SEED	0x66696c74
#define FILTER_FUZZ	2000
#define FILTER_FLOOD	300
/* All of enum weft_ibport_filter */
#define FILTER_ALL	15
#define FILTER_BLOCK	32

/* Offsets in a packet */
#define LRH_VL		0
#define LRH_LNH		1
#define GRH_VERSION	8
#define BTH_OPCODE	8

/* Status of the response to a directed request, in CPU order */
#define STATUS_GOOD	0x8000
#define STATUS_INVALID	(STATUS_GOOD | IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE)

static u16 ask(struct kunit *test, struct model_mad *mad, u8 method, __be16 attr, u32 mod)
{
	KUNIT_ASSERT_TRUE(test, model_ask(test->priv, mad, method, attr, mod));
	return be16_to_cpu(mad->smp.status);
}

/* Port n is for LID n, but port 0 for the switch's own LID; the multicast group has all ports. */
static void set_tables(struct kunit *test)
{
	struct model_mad mad = {};
	__be16 *masks = (__be16 *)mad.smp.data;
	u8 i;

	/* LinearFDBTop; clear PortStateChange */
	mad.smp.data[7] = 40;
	mad.smp.data[11] = 4;
	ask(test, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_SWITCH_INFO, 0);
	for (i = 0; i < IB_SMP_DATA_SIZE; i++)
		mad.smp.data[i] = i;
	mad.smp.data[FILTER_LID] = 0;
	ask(test, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_LINEAR_FORWARD_TABLE, 0);
	memset(mad.smp.data, 0, sizeof(mad.smp.data));
	masks[FILTER_MLID - WEFT_LID_MCAST] = cpu_to_be16(0x1e);
	ask(test, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_MCAST_FORWARD_TABLE, 0);
	model_set_lids(test->priv, FILTER_LID, FILTER_SM_LID);
}

static int filter_test_init(struct kunit *test)
{
	struct model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	int ret;

	if (!model)
		return -ENOMEM;
	ret = model_create(model, FILTER_GUID);
	if (ret)
		return ret;
	test->priv = model;
	set_tables(test);
	return 0;
}

static void filter_test_exit(struct kunit *test)
{
	if (test->priv)
		model_destroy(test->priv);
}

/* Set a P_Key table with a single P_Key, in its last entry. */
static void set_pkey(struct kunit *test, u8 port, u16 pkey)
{
	struct model_mad mad = {};
	__be16 *pkeys = (__be16 *)mad.smp.data;

	KUNIT_EXPECT_EQ(test, ask(test, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_PKEY_TABLE,
				  port << 16), STATUS_GOOD);
	pkeys[FILTER_BLOCK - 1] = cpu_to_be16(pkey);
	KUNIT_EXPECT_EQ(test, ask(test, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_PKEY_TABLE,
				  port << 16 | 1), STATUS_GOOD);
}

/* Returns the filters that a Get shows afterwards. */
static u8 set_filters(struct kunit *test, u8 port, u8 filters)
{
	struct model_mad mad = {};
	struct ib_port_info *info = (struct ib_port_info *)mad.smp.data;

	ask(test, &mad, IB_MGMT_METHOD_GET, IB_SMP_ATTR_PORT_INFO, port);
	info->linkspeed_portstate &= 0xf0;
	info->portphysstate_linkdown &= 15;
	info->operationalvl_pei_peo_fpi_fpo &= 0xf0;
	info->operationalvl_pei_peo_fpi_fpo |= filters;
	KUNIT_EXPECT_EQ(test, ask(test, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_PORT_INFO, port),
			STATUS_GOOD);
	memset(mad.smp.data, 0, sizeof(mad.smp.data));
	ask(test, &mad, IB_MGMT_METHOD_GET, IB_SMP_ATTR_PORT_INFO, port);
	return info->operationalvl_pei_peo_fpi_fpo & 15;
}

static struct model_mad data_packet(u16 slid, u16 dlid, u16 pkey)
{
	return (struct model_mad){
		.address = {
			.slid = slid, .dlid = dlid, .sl = 5, .pkey = pkey,
			.dqpn = 77, .sqpn = 78, .qkey = 79,
		},
	};
}

/* Count the data packets that have come out of a port. Drops them, and traps. */
static u32 arrived(struct model *model, u8 port)
{
	struct sk_buff *skb;
	u32 num = 0;

	while ((skb = skb_dequeue(&model->end[port].queue))) {
		num += skb->data[LRH_VL] >> 4 != WEFT_VL_SMP;
		kfree_skb(skb);
	}
	return num;
}

static void send_pkey(struct model *model, u16 pkey)
{
	struct model_mad packet = data_packet(1, 2, pkey);

	model_send(model, 1, &packet);
}

/* A P_Key and a table entry at a port that filters in one direction. */
struct match_row {
	u8	filter;
	u16	entry;
	u16	pkey;
	bool	passes;
};

static const struct match_row match_rows[] = {
	{ WEFT_IBPORT_PKEY_IN, 0x8001, 0x8001, true },
	{ WEFT_IBPORT_PKEY_IN, 0x8001, 0x0001, true },
	{ WEFT_IBPORT_PKEY_IN, 0x0001, 0x0001, true },
	{ WEFT_IBPORT_PKEY_IN, 0x0001, 0x8001, false },
	{ WEFT_IBPORT_PKEY_IN, 0x8001, 0x8002, false },
	{ WEFT_IBPORT_PKEY_IN, 0x8001, 0xffff, false },
	{ WEFT_IBPORT_PKEY_IN, 0, 0, false },
	{ WEFT_IBPORT_PKEY_IN, 0x8000, 0x8000, false },
	{ WEFT_IBPORT_PKEY_OUT, 0x8001, 0x8001, true },
	{ WEFT_IBPORT_PKEY_OUT, 0x8001, 0x0001, true },
	{ WEFT_IBPORT_PKEY_OUT, 0x0001, 0x8001, true },
	{ WEFT_IBPORT_PKEY_OUT, 0x0001, 0x0001, false },
	{ WEFT_IBPORT_PKEY_OUT, 0x8001, 0x8002, false },
	{ WEFT_IBPORT_PKEY_OUT, 0x8001, 0xffff, false },
	{ WEFT_IBPORT_PKEY_OUT, 0, 0x8000, false },
	{ WEFT_IBPORT_PKEY_OUT, 0x8000, 0x8000, false },
};

static void match_row_desc(const struct match_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %#06x in the table, %#06x",
		 row->filter == WEFT_IBPORT_PKEY_IN ? "in" : "out", row->entry, row->pkey);
}

KUNIT_ARRAY_PARAM(match_row, match_rows, match_row_desc);

static void filters_by_pkey(struct kunit *test)
{
	const struct match_row *row = test->param_value;
	struct model *model = test->priv;
	bool in = row->filter == WEFT_IBPORT_PKEY_IN;
	u8 port = in ? 1 : 2;

	set_pkey(test, port, row->entry);
	KUNIT_EXPECT_EQ(test, set_filters(test, port, row->filter), row->filter);
	send_pkey(model, row->pkey);
	KUNIT_EXPECT_EQ(test, arrived(model, 2), row->passes);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RCV_CONSTRAINT),
			in && !row->passes);
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_XMIT_CONSTRAINT),
			!in && !row->passes);
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_XMIT_PKTS), row->passes);
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_XMIT_DISCARDS), 0);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RELAY_ERRORS), 0);
}

/* The table has no effect without a filter for the direction of the packet. */
static void filters_when_told_to(struct kunit *test)
{
	static const u8 off[][2] = {
		{ 0, 0 },
		{ WEFT_IBPORT_PKEY_OUT, WEFT_IBPORT_PKEY_IN },
		{ WEFT_IBPORT_RAW_IN | WEFT_IBPORT_RAW_OUT,
		  WEFT_IBPORT_RAW_IN | WEFT_IBPORT_RAW_OUT },
	};
	struct model *model = test->priv;
	u32 i;

	set_pkey(test, 1, 0x8001);
	set_pkey(test, 2, 0x8001);
	for (i = 0; i < ARRAY_SIZE(off); i++) {
		set_filters(test, 1, off[i][0]);
		set_filters(test, 2, off[i][1]);
		send_pkey(model, 0x8002);
		KUNIT_EXPECT_EQ_MSG(test, arrived(model, 2), 1, "%u", i);
	}
	set_filters(test, 1, WEFT_IBPORT_PKEY_IN);
	send_pkey(model, 0x8002);
	KUNIT_EXPECT_EQ(test, arrived(model, 2), 0);
	set_filters(test, 1, 0);
	send_pkey(model, 0x8002);
	KUNIT_EXPECT_EQ(test, arrived(model, 2), 1);
}

/* Packets on VL 15 pass with any P_Key, by LID and by a directed route. */
static void management_lane_passes(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad packet;
	u8 port;

	for (port = 1; port <= MODEL_ENDS; port++) {
		set_pkey(test, port, 0);
		set_filters(test, port, FILTER_ALL);
	}
	packet = data_packet(1, 2, 0x1234);
	packet.address.vl = WEFT_VL_SMP;
	model_send(model, 1, &packet);
	KUNIT_EXPECT_TRUE(test, model_receive(model, 2, &packet));
	KUNIT_EXPECT_EQ(test, set_filters(test, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RCV_CONSTRAINT), 0);
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_XMIT_CONSTRAINT), 0);
}

/* Each port filters its copy of a multicast packet. */
static void filters_copies_of_a_group(struct kunit *test)
{
	struct model_mad packet = data_packet(1, FILTER_MLID, 0x8001);
	struct model *model = test->priv;

	set_pkey(test, 2, 0x8001);
	set_filters(test, 2, WEFT_IBPORT_PKEY_OUT);
	set_pkey(test, 3, 0x8002);
	set_filters(test, 3, WEFT_IBPORT_PKEY_OUT);
	model_send(model, 1, &packet);
	KUNIT_EXPECT_EQ(test, arrived(model, 2), 1);
	KUNIT_EXPECT_EQ(test, arrived(model, 3), 0);
	KUNIT_EXPECT_EQ(test, arrived(model, 4), 1);
	KUNIT_EXPECT_EQ(test, model_counter(model, 3, WEFT_IBC_XMIT_CONSTRAINT), 1);
	/* the last port gets the packet itself instead of a copy */
	set_pkey(test, 4, 0x8002);
	set_filters(test, 4, WEFT_IBPORT_PKEY_OUT);
	model_send(model, 1, &packet);
	KUNIT_EXPECT_EQ(test, arrived(model, 2), 1);
	KUNIT_EXPECT_EQ(test, arrived(model, 4), 0);
	KUNIT_EXPECT_EQ(test, model_counter(model, 4, WEFT_IBC_XMIT_CONSTRAINT), 1);
}

/* Responses of the switch itself are filtered, too. */
static void filters_answers(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad;

	/* a limited member gets a response with the P_Key of a full member */
	set_pkey(test, 2, 0x7fff);
	set_filters(test, 2, WEFT_IBPORT_PKEY_IN | WEFT_IBPORT_PKEY_OUT);
	mad = model_counters_request(2, FILTER_LID, 0x7fff);
	model_send(model, 2, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(model, 2, &mad));
	KUNIT_EXPECT_EQ(test, mad.mad.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, mad.address.pkey, 0xffff);
	set_pkey(test, 2, 0x8001);
	mad = model_counters_request(2, FILTER_LID, 0xffff);
	model_send(model, 1, &mad);
	KUNIT_EXPECT_TRUE(test, model_is_silent(model, 2));
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_XMIT_CONSTRAINT), 1);
}

/* Send a packet by port 2, and expect a trap with this notice at the subnet manager. */
static void expect_trap(struct kunit *test, struct sk_buff *skb, const u8 *notice)
{
	struct model *model = test->priv;
	struct model_mad mad;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	model_send_skb(model, 2, skb);
	KUNIT_ASSERT_TRUE(test, model_receive(model, FILTER_SM_LID, &mad));
	KUNIT_EXPECT_EQ(test, mad.smp.method, IB_MGMT_METHOD_TRAP);
	KUNIT_EXPECT_EQ(test, mad.address.vl, WEFT_VL_SMP);
	KUNIT_EXPECT_EQ(test, mad.address.slid, FILTER_LID);
	KUNIT_EXPECT_MEMEQ(test, mad.smp.data, notice, IB_SMP_DATA_SIZE);
	mad.smp.method = IB_MGMT_METHOD_TRAP_REPRESS;
	mad.address.dlid = FILTER_LID;
	mad.address.slid = FILTER_SM_LID;
	model_send(model, FILTER_SM_LID, &mad);
}

static void tells_datagram(struct kunit *test)
{
	static const u8 notice[IB_SMP_DATA_SIZE] = {
		0x82, 0, 0, 2, 1, 3, 0, FILTER_LID, 0, 0, 0xff, 0,
		0, 2, 0, 1, 0x80, 7, 0x50, 0, 0, 78, 0, 0, 0, 77,
		[26] = 0xfe, [41] = 1, [42] = 0xfe, [57] = 2,
		[58] = 0, FILTER_LID, 2,
	};
	struct model_mad packet = data_packet(2, 1, 0x8007);

	packet.address.global = true;
	packet.address.grh.sgid[0] = 0xfe;
	packet.address.grh.sgid[15] = 1;
	packet.address.grh.dgid[0] = 0xfe;
	packet.address.grh.dgid[15] = 2;
	set_filters(test, 2, WEFT_IBPORT_PKEY_IN);
	expect_trap(test, weft_mad_build(&packet.address, &packet.mad, GFP_KERNEL), notice);
}

/* Headers of a connected QP have neither a source QP nor, without a GRH, GIDs. */
static void tells_connected(struct kunit *test)
{
	static const u8 notice[IB_SMP_DATA_SIZE] = {
		0x82, 0, 0, 2, 1, 3, 0, FILTER_LID, 0, 0, 0xf4, 0,
		0, 2, 0, 1, 0x80, 7, 0x50, 0, 0, 0, 0, 0, 0, 77,
		[58] = 0, FILTER_LID, 1,
	};
	struct model_mad packet = data_packet(2, 1, 0x8007);
	struct sk_buff *skb = weft_mad_build(&packet.address, &packet.mad, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb->data[BTH_OPCODE] = IB_OPCODE_RC_SEND_ONLY;
	set_filters(test, 1, WEFT_IBPORT_PKEY_OUT);
	expect_trap(test, skb, notice);
}

/* A flood is counted packet by packet, but causes one trap. */
static void flood_is_told_once(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad;
	u32 i;

	set_filters(test, 1, WEFT_IBPORT_PKEY_IN);
	for (i = 0; i < FILTER_FLOOD; i++)
		send_pkey(model, 0x8001);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RCV_CONSTRAINT), FILTER_FLOOD);
	KUNIT_EXPECT_TRUE(test, model_receive(model, FILTER_SM_LID, &mad));
	KUNIT_EXPECT_TRUE(test, model_is_silent(model, FILTER_SM_LID));
	KUNIT_EXPECT_EQ(test, arrived(model, 2), 0);
}

/* Raw packets are always dropped; the filter changes the counter. */
static void counts_raw_packets(struct kunit *test)
{
	struct model_mad packet = data_packet(1, 2, 0xffff);
	struct model *model = test->priv;
	struct sk_buff *skb;
	u8 i;

	for (i = 0; i < 4; i++) {
		if (i == 2)
			set_filters(test, 1, WEFT_IBPORT_RAW_IN);
		skb = weft_mad_build(&packet.address, &packet.mad, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		skb->data[LRH_LNH] = (skb->data[LRH_LNH] & ~3) | (i % 2);
		model_send_skb(model, 1, skb);
	}
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RCV_ERRORS), 2);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RCV_CONSTRAINT), 2);
	KUNIT_EXPECT_EQ(test, arrived(model, 2), 0);
}

static void wrong_ip_version_is_refused(struct kunit *test)
{
	struct model_mad packet = data_packet(1, 2, 0xffff);
	struct model *model = test->priv;
	struct sk_buff *skb;
	u8 i;

	packet.address.global = true;
	set_filters(test, 1, WEFT_IBPORT_PKEY_IN);
	for (i = 0; i < 2; i++) {
		skb = weft_mad_build(&packet.address, &packet.mad, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		if (i)
			skb->data[GRH_VERSION] = 0x40;
		model_send_skb(model, 1, skb);
		KUNIT_EXPECT_EQ(test, arrived(model, 2), !i);
		KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RCV_CONSTRAINT), i);
	}
}

/* Each port has a table of its own; that of port 0 is for packets to the switch itself. */
static void tables_read_back(struct kunit *test)
{
	static const u8 ports[] = { 0, 1, 36 };
	struct model *model = test->priv;
	struct model_mad mad;
	u32 i, block;

	for (i = 0; i < ARRAY_SIZE(ports) * 2; i++) {
		memset(mad.smp.data, i + 1, IB_SMP_DATA_SIZE);
		KUNIT_EXPECT_EQ(test, ask(test, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_PKEY_TABLE,
					  ports[i / 2] << 16 | i % 2), STATUS_GOOD);
	}
	for (i = 0; i < ARRAY_SIZE(ports) * 2; i++) {
		KUNIT_EXPECT_EQ(test, ask(test, &mad, IB_MGMT_METHOD_GET, IB_SMP_ATTR_PKEY_TABLE,
					  ports[i / 2] << 16 | i % 2), STATUS_GOOD);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(mad.smp.data, i + 1, IB_SMP_DATA_SIZE),
				    NULL);
		block = i % 2 * FILTER_BLOCK;
		KUNIT_EXPECT_EQ(test, model->node->port[ports[i / 2]]->pkeys[block],
				(i + 1) * 0x101);
	}
	KUNIT_EXPECT_EQ(test, model->node->port[2]->pkeys[0], 0xffff);
}

static void bad_tables_are_refused(struct kunit *test)
{
	static const u32 mods[] = {
		2, 0xffff, 1 << 16 | 2, 36 << 16 | 0x100, 37 << 16, 255 << 16, 0xffff0000,
	};
	struct model *model = test->priv;
	struct model_mad mad;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mods) * 2; i++) {
		memset(mad.smp.data, 0x11, IB_SMP_DATA_SIZE);
		KUNIT_EXPECT_EQ_MSG(test, ask(test, &mad, i % 2 ? IB_MGMT_METHOD_SET :
							  IB_MGMT_METHOD_GET,
					      IB_SMP_ATTR_PKEY_TABLE, mods[i / 2]),
				    STATUS_INVALID, "%#x", mods[i / 2]);
	}
	for (i = 0; i <= WEFT_SWITCH_PORTS; i++)
		KUNIT_EXPECT_EQ(test, model->node->port[i]->pkeys[0], 0xffff);
}

/* Port 0 does not filter. An invalid Set does not change filters. */
static void filters_read_back(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad = {};
	struct ib_port_info *info = (struct ib_port_info *)mad.smp.data;
	u8 filters;

	for (filters = 0; filters <= FILTER_ALL; filters++)
		KUNIT_EXPECT_EQ(test, set_filters(test, 2, filters), filters);
	KUNIT_EXPECT_EQ(test, set_filters(test, 0, FILTER_ALL), 0);
	KUNIT_EXPECT_EQ(test, model->node->port[0]->filters, 0);
	KUNIT_EXPECT_EQ(test, model->node->port[1]->filters, 0);
	ask(test, &mad, IB_MGMT_METHOD_GET, IB_SMP_ATTR_PORT_INFO, 2);
	info->linkspeed_portstate &= 0xf0;
	info->portphysstate_linkdown &= 15;
	info->operationalvl_pei_peo_fpi_fpo = 1 << 4;
	info->neighbormtu_mastersmsl = 0;
	KUNIT_EXPECT_EQ(test, ask(test, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_PORT_INFO, 2),
			STATUS_INVALID);
	KUNIT_EXPECT_EQ(test, info->operationalvl_pei_peo_fpi_fpo & 15, FILTER_ALL);
	KUNIT_EXPECT_EQ(test, model->node->port[2]->filters, FILTER_ALL);
}

/* Random bytes and lengths while all ports filter. */
static void survives_noise_at_filters(struct kunit *test)
{
	struct model_mad packet = data_packet(1, 2, 0xffff);
	struct model *model = test->priv;
	struct rnd_state rnd;
	struct sk_buff *skb;
	u32 i, n;

	for (i = 1; i <= MODEL_ENDS; i++)
		set_filters(test, i, FILTER_ALL);
	prandom_seed_state(&rnd, FILTER_SEED + fuzz_seed);
	for_each_fuzz(i, FILTER_FUZZ) {
		packet.address.global = i % 2;
		skb = weft_mad_build(&packet.address, &packet.mad, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		for (n = prandom_u32_state(&rnd) % 6; n; n--)
			skb->data[prandom_u32_state(&rnd) % 72] = prandom_u32_state(&rnd);
		/* let the length in the LRH of some of them be right */
		if (i % 3 == 0) {
			skb_trim(skb, 8 + prandom_u32_state(&rnd) % 32 * 4);
			skb->data[4] = 0;
			skb->data[5] = skb->len / 4;
		}
		if (i % FILTER_FUZZ == 0)
			model_forget(model);
		model_send_skb(model, 1, skb);
	}
	KUNIT_EXPECT_GT(test, model_counter(model, 1, WEFT_IBC_RCV_CONSTRAINT), 0);
	KUNIT_EXPECT_GT(test, arrived(model, 2), 0);
}

static struct kunit_case filter_cases[] = {
	KUNIT_CASE_PARAM(filters_by_pkey, match_row_gen_params),
	KUNIT_CASE(filters_when_told_to),
	KUNIT_CASE(management_lane_passes),
	KUNIT_CASE(filters_copies_of_a_group),
	KUNIT_CASE(filters_answers),
	KUNIT_CASE(tells_datagram),
	KUNIT_CASE(tells_connected),
	KUNIT_CASE(flood_is_told_once),
	KUNIT_CASE(counts_raw_packets),
	KUNIT_CASE(wrong_ip_version_is_refused),
	KUNIT_CASE(tables_read_back),
	KUNIT_CASE(bad_tables_are_refused),
	KUNIT_CASE(filters_read_back),
	KUNIT_CASE(survives_noise_at_filters),
	{}
};

static struct kunit_suite filter_suite = {
	.name = "weft_filter",
	.init = filter_test_init,
	.exit = filter_test_exit,
	.test_cases = filter_cases,
};

kunit_test_suite(filter_suite);
