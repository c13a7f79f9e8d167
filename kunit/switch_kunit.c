// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of fabric/switch.c, fdb.c and agent.c: forwarding, tables, traps, and malicious packets. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "fuzz.h"
#include "params.h"
#include "switch_model.h"

#define SWITCH_GUID		0x0200ff00fe000001ULL
#define SWITCH_LID		9
#define SWITCH_SM_LID		3
#define SWITCH_MLID		0xc005
#define SWITCH_SEED		0x77656674
#define SWITCH_FUZZ		1600
#define SWITCH_FUZZ_BURST	200
#define SWITCH_FLOOD		2000
/* More requests of QP 1 than the queue takes, and SMPs for which it must still have room. */
#define SWITCH_GENERALS		400
#define SWITCH_SMPS		100

/* Offsets and a bit in SwitchInfo. */
#define INFO_TOP	6
#define INFO_LIFE	11
#define INFO_CHANGE	0x04

/* Status of the response to a directed request, in CPU order */
#define STATUS_GOOD	0x8000
#define STATUS_INVALID	(STATUS_GOOD | IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE)

static int switch_test_init(struct kunit *test)
{
	struct model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	int ret;

	if (!model)
		return -ENOMEM;
	ret = model_create(model, SWITCH_GUID);
	if (!ret)
		test->priv = model;
	return ret;
}

static void switch_test_exit(struct kunit *test)
{
	if (test->priv)
		model_destroy(test->priv);
}

static void put16(u8 *p, u16 value)
{
	p[0] = value >> 8;
	p[1] = value;
}

static bool ask(struct kunit *test, struct model_mad *mad, u8 method, __be16 attr, u32 mod)
{
	return model_ask(test->priv, mad, method, attr, mod);
}

/* Port n is for LID n, but port 0 for the switch's own LID. Clears PortStateChange. */
static void set_tables(struct kunit *test, u16 top)
{
	struct model_mad mad = {};
	u8 i;

	put16(&mad.smp.data[INFO_TOP], top);
	mad.smp.data[INFO_LIFE] = INFO_CHANGE;
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_SET,
				    IB_SMP_ATTR_SWITCH_INFO, 0));
	for (i = 0; i < IB_SMP_DATA_SIZE; i++)
		mad.smp.data[i] = i;
	mad.smp.data[SWITCH_LID] = 0;
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_SET,
				    IB_SMP_ATTR_LINEAR_FORWARD_TABLE, 0));
	KUNIT_ASSERT_EQ(test, be16_to_cpu(mad.smp.status), STATUS_GOOD);
	model_set_lids(test->priv, SWITCH_LID, SWITCH_SM_LID);
}

static struct model_mad data_packet(u16 slid, u16 dlid)
{
	struct model_mad packet = {
		.address = {
			.slid = slid, .dlid = dlid, .pkey = 0xffff,
			.dqpn = 77, .sqpn = 78, .qkey = 79,
		},
	};

	memset(&packet.mad, 0x5a, sizeof(packet.mad));
	return packet;
}

static void forwards_by_lid(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad packet, got;

	set_tables(test, 40);
	packet = data_packet(1, 3);
	model_send(model, 1, &packet);
	KUNIT_ASSERT_TRUE(test, model_receive(model, 3, &got));
	KUNIT_EXPECT_EQ(test, got.address.slid, 1);
	KUNIT_EXPECT_EQ(test, got.address.dlid, 3);
	KUNIT_EXPECT_EQ(test, got.address.qkey, 79);
	KUNIT_EXPECT_MEMEQ(test, &got.mad, &packet.mad, sizeof(got.mad));
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RELAY_ERRORS), 0);
	KUNIT_EXPECT_TRUE(test, model_is_silent(model, 2));
}

/* The input port, a LID above LinearFDBTop, ports that do not exist, LIDs without an entry. */
static void drops_without_way(struct kunit *test)
{
	static const u16 lids[] = { 1, 41, 38, 50, 0x100, 0xbfff };
	struct model *model = test->priv;
	struct model_mad packet;
	u32 i;

	set_tables(test, 40);
	for (i = 0; i < ARRAY_SIZE(lids); i++) {
		packet = data_packet(2, lids[i]);
		model_send(model, 1, &packet);
		KUNIT_EXPECT_EQ_MSG(test, model_counter(model, 1, WEFT_IBC_RELAY_ERRORS),
				    i + 1, "LID %u", lids[i]);
	}
	for (i = 1; i <= MODEL_ENDS; i++)
		KUNIT_EXPECT_TRUE(test, model_is_silent(model, i));
}

/* A port without a cable, and a port that is not active. */
static void does_not_send_by_closed_port(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad packet;

	set_tables(test, 40);
	packet = data_packet(1, 20);
	model_send(model, 1, &packet);
	KUNIT_EXPECT_EQ(test, model_counter(model, 20, WEFT_IBC_XMIT_DISCARDS), 1);
	WRITE_ONCE(model->node->port[2]->state, IB_PORT_INIT);
	packet = data_packet(1, 2);
	model_send(model, 1, &packet);
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_XMIT_DISCARDS), 1);
	packet.address.vl = WEFT_VL_SMP;
	model_send(model, 1, &packet);
	KUNIT_EXPECT_TRUE(test, model_receive(model, 2, &packet));
}

static void set_mask(struct kunit *test, u16 mask)
{
	struct model_mad mad = {};

	put16(&mad.smp.data[(SWITCH_MLID - WEFT_LID_MCAST) * 2], mask);
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_SET,
				    IB_SMP_ATTR_MCAST_FORWARD_TABLE, 0));
}

/* All subsets of the ports, but never the input port. */
static void copies_to_group(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad packet, got;
	u16 mask;
	u8 i;

	for (mask = 0; mask < BIT(MODEL_ENDS + 1); mask++) {
		set_mask(test, mask);
		packet = data_packet(1, SWITCH_MLID);
		model_send(model, 2, &packet);
		for (i = 1; i <= MODEL_ENDS; i++) {
			KUNIT_EXPECT_EQ_MSG(test, skb_queue_len(&model->end[i].queue),
					    i != 2 && mask & BIT(i) ? 1 : 0,
					    "mask %#x, port %u", mask, i);
			if (skb_queue_empty(&model->end[i].queue))
				continue;
			KUNIT_ASSERT_TRUE(test, model_receive(model, i, &got));
			KUNIT_EXPECT_MEMEQ(test, &got.mad, &packet.mad, sizeof(got.mad));
		}
	}
	/* of the masks only the empty one is an error */
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_RELAY_ERRORS), 1);
	packet = data_packet(1, WEFT_LID_MCAST + 1024);
	model_send(model, 2, &packet);
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_RELAY_ERRORS), 2);
}

static void sender_waits(struct sk_buff *skb)
{
}

/*
 * The packet that leaves by one port has a waiting sender; the copies for the other ports have
 * none.
 */
static void copies_have_no_sender(struct kunit *test)
{
	struct model_mad packet = data_packet(1, SWITCH_MLID);
	struct sk_buff *skb = weft_mad_build(&packet.address, &packet.mad, GFP_KERNEL);
	struct model *model = test->priv;
	u32 senders = 0;
	u8 i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	set_mask(test, GENMASK(MODEL_ENDS, 1));
	skb->destructor = sender_waits;
	model_send_skb(model, 1, skb);
	for (i = 2; i <= MODEL_ENDS; i++) {
		skb = skb_dequeue(&model->end[i].queue);
		KUNIT_ASSERT_NOT_NULL_MSG(test, skb, "port %u", i);
		senders += skb->destructor == sender_waits;
		kfree_skb(skb);
	}
	KUNIT_EXPECT_EQ(test, senders, 1U);
}

static void switch_info_reads_back(struct kunit *test)
{
	static const u8 want[20] = {
		0xc0, 0, 0, 0, 4, 0, 0x12, 0x34, 1, 2, 3, 18 << 3,
		0, 0, 0, WEFT_IB_PKEYS, 0xf0,
	};
	struct model_mad mad = {};

	/* all ports have come up, which is a change */
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_GET,
				    IB_SMP_ATTR_SWITCH_INFO, 0));
	KUNIT_EXPECT_EQ(test, mad.smp.data[INFO_LIFE], INFO_CHANGE);
	memset(mad.smp.data, 0xff, sizeof(mad.smp.data));
	memcpy(&mad.smp.data[INFO_TOP], &want[INFO_TOP], 5);
	mad.smp.data[INFO_LIFE] = 18 << 3 | INFO_CHANGE;
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_SET,
				    IB_SMP_ATTR_SWITCH_INFO, 0));
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mad.smp.status), STATUS_GOOD);
	KUNIT_EXPECT_MEMEQ(test, mad.smp.data, want, sizeof(want));
	memset(mad.smp.data, 0xff, sizeof(mad.smp.data));
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_GET,
				    IB_SMP_ATTR_SWITCH_INFO, 0));
	KUNIT_EXPECT_MEMEQ(test, mad.smp.data, want, sizeof(want));
	KUNIT_EXPECT_EQ(test, mad.smp.data[20], 0);
	put16(&mad.smp.data[INFO_TOP], WEFT_LID_MCAST);
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_SET,
				    IB_SMP_ATTR_SWITCH_INFO, 0));
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mad.smp.status), STATUS_INVALID);
	KUNIT_EXPECT_MEMEQ(test, mad.smp.data, want, sizeof(want));
}

static void linear_table_reads_back(struct kunit *test)
{
	static const u32 blocks[] = { 0, 1, 766, 767 };
	struct model_mad mad = {};
	u32 i;

	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_GET,
				    IB_SMP_ATTR_LINEAR_FORWARD_TABLE, 5));
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(mad.smp.data, 0xff, IB_SMP_DATA_SIZE), NULL);
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		memset(mad.smp.data, i + 1, IB_SMP_DATA_SIZE);
		KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_SET,
					    IB_SMP_ATTR_LINEAR_FORWARD_TABLE, blocks[i]));
	}
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_GET,
					    IB_SMP_ATTR_LINEAR_FORWARD_TABLE, blocks[i]));
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(mad.smp.data, i + 1, IB_SMP_DATA_SIZE),
				    NULL);
	}
}

/* The switch has 36 ports, so the last position has 5 of its 16 ports. */
static void multicast_table_reads_back(struct kunit *test)
{
	static const u8 kept[][2] = { { 0xff, 0xff }, { 0xff, 0xff }, { 0x00, 0x1f } };
	struct model_mad mad = {};
	u32 position, block, i;

	for (block = 0; block < 32; block += 31) {
		for (position = 0; position < ARRAY_SIZE(kept); position++) {
			memset(mad.smp.data, 0xff, IB_SMP_DATA_SIZE);
			KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_SET,
						    IB_SMP_ATTR_MCAST_FORWARD_TABLE,
						    position << 28 | block));
			for (i = 0; i < IB_SMP_DATA_SIZE; i++)
				KUNIT_EXPECT_EQ(test, mad.smp.data[i], kept[position][i % 2]);
		}
	}
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_GET,
				    IB_SMP_ATTR_MCAST_FORWARD_TABLE, 1));
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(mad.smp.data, 0, IB_SMP_DATA_SIZE), NULL);
}

static void refuses_bad_modifiers(struct kunit *test)
{
	static const struct {
		__be16	attr;
		u32	mod;
	} bad[] = {
		{ IB_SMP_ATTR_SWITCH_INFO, 1 },
		{ IB_SMP_ATTR_LINEAR_FORWARD_TABLE, 768 },
		{ IB_SMP_ATTR_LINEAR_FORWARD_TABLE, 0xffffffff },
		{ IB_SMP_ATTR_LINEAR_FORWARD_TABLE, 0x04000000 },
		{ IB_SMP_ATTR_MCAST_FORWARD_TABLE, 32 },
		{ IB_SMP_ATTR_MCAST_FORWARD_TABLE, 0x1ff },
		{ IB_SMP_ATTR_MCAST_FORWARD_TABLE, 3U << 28 },
		{ IB_SMP_ATTR_MCAST_FORWARD_TABLE, 0xffffffff },
	};
	struct model_mad mad = {};
	u8 method;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad) * 2; i++) {
		method = i % 2 ? IB_MGMT_METHOD_SET : IB_MGMT_METHOD_GET;
		KUNIT_ASSERT_TRUE(test, ask(test, &mad, method, bad[i / 2].attr,
					    bad[i / 2].mod));
		KUNIT_EXPECT_EQ_MSG(test, be16_to_cpu(mad.smp.status), STATUS_INVALID, "%u", i);
	}
}

/* Receive a trap as the subnet manager. Returns false if there is none. */
static bool receive_trap(struct model *model, struct model_mad *mad)
{
	return model_receive(model, SWITCH_SM_LID, mad) &&
	       mad->smp.method == IB_MGMT_METHOD_TRAP;
}

static void tells_link_change(struct kunit *test)
{
	static const u8 notice[] = { 0x81, 0, 0, 2, 0, 128, 0, SWITCH_LID, 0, 0, 0, SWITCH_LID };
	struct model *model = test->priv;
	struct model_mad mad;

	set_tables(test, 40);
	weft_ibport_unplug(model->end[4].port);
	KUNIT_ASSERT_TRUE(test, receive_trap(model, &mad));
	KUNIT_EXPECT_EQ(test, mad.address.dlid, SWITCH_SM_LID);
	KUNIT_EXPECT_EQ(test, mad.address.slid, SWITCH_LID);
	KUNIT_EXPECT_EQ(test, mad.address.vl, WEFT_VL_SMP);
	KUNIT_EXPECT_EQ(test, mad.address.dqpn, 0);
	KUNIT_EXPECT_EQ(test, mad.smp.mgmt_class, IB_MGMT_CLASS_SUBN_LID_ROUTED);
	KUNIT_EXPECT_TRUE(test, mad.smp.attr_id == IB_SMP_ATTR_NOTICE);
	KUNIT_EXPECT_MEMEQ(test, mad.smp.data, notice, sizeof(notice));
	KUNIT_ASSERT_TRUE_MSG(test, receive_trap(model, &mad), "it is repeated");
	mad.smp.method = IB_MGMT_METHOD_TRAP_REPRESS;
	mad.address.dlid = SWITCH_LID;
	mad.address.slid = SWITCH_SM_LID;
	model_send(model, SWITCH_SM_LID, &mad);
	KUNIT_EXPECT_FALSE_MSG(test, receive_trap(model, &mad), "it has been heard");
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_GET,
				    IB_SMP_ATTR_SWITCH_INFO, 0));
	KUNIT_EXPECT_TRUE(test, mad.smp.data[INFO_LIFE] & INFO_CHANGE);
}

static void change_seen_is_not_told(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad;

	set_tables(test, 40);
	weft_ibport_unplug(model->end[4].port);
	KUNIT_ASSERT_TRUE(test, receive_trap(model, &mad));
	memset(&mad, 0, sizeof(mad));
	mad.smp.data[INFO_TOP + 1] = 40;
	mad.smp.data[INFO_LIFE] = INFO_CHANGE;
	KUNIT_ASSERT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_SET,
				    IB_SMP_ATTR_SWITCH_INFO, 0));
	KUNIT_EXPECT_EQ(test, mad.smp.data[INFO_LIFE], 0);
	KUNIT_EXPECT_FALSE(test, receive_trap(model, &mad));
}

/* The trap has the wrong M_Key and the return path. */
static void tells_bad_mkey(struct kunit *test)
{
	static const u8 notice[] = {
		0x82, 0, 0, 2, 1, 0, 0, SWITCH_LID, 0, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff, IB_MGMT_METHOD_SET, 0, 0, 0x15, 0, 0, 0, 2,
		0, 0, 0, 0, 0, 0, 0, 5, 0, 0x81, 0, 1,
	};
	struct model *model = test->priv;
	struct weft_ibport *own = model->node->port[0];
	struct model_mad mad;

	set_tables(test, 40);
	own->info.mkey = cpu_to_be64(77);
	model_directed(&mad, IB_SMP_ATTR_PORT_INFO, 2, NULL, 0);
	mad.smp.method = IB_MGMT_METHOD_SET;
	mad.smp.mkey = cpu_to_be64(5);
	model_send(model, 1, &mad);
	KUNIT_ASSERT_TRUE(test, receive_trap(model, &mad));
	KUNIT_EXPECT_MEMEQ(test, mad.smp.data, notice, sizeof(notice));
	/* a TrapRepress needs the right M_Key, but causes no trap */
	mad.smp.method = IB_MGMT_METHOD_TRAP_REPRESS;
	mad.smp.mkey = cpu_to_be64(5);
	mad.address.dlid = SWITCH_LID;
	mad.address.slid = SWITCH_SM_LID;
	model_send(model, SWITCH_SM_LID, &mad);
	KUNIT_ASSERT_TRUE(test, receive_trap(model, &mad));
	KUNIT_EXPECT_MEMEQ(test, mad.smp.data, notice, sizeof(notice));
	mad.smp.method = IB_MGMT_METHOD_TRAP_REPRESS;
	mad.smp.mkey = own->info.mkey;
	mad.address.dlid = SWITCH_LID;
	mad.address.slid = SWITCH_SM_LID;
	model_send(model, SWITCH_SM_LID, &mad);
	KUNIT_EXPECT_FALSE(test, receive_trap(model, &mad));
}

static void answers_by_lid(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad;

	set_tables(test, 40);
	mad = model_counters_request(2, SWITCH_LID, 0x7fff);
	model_send(model, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(model, 2, &mad));
	KUNIT_EXPECT_EQ(test, mad.mad.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, mad.address.slid, SWITCH_LID);
	KUNIT_EXPECT_EQ(test, mad.address.dlid, 2);
	KUNIT_EXPECT_EQ(test, mad.address.qkey, IB_QP1_QKEY);
	/* this LID has no entry: the response leaves by the input port */
	mad = model_counters_request(2, SWITCH_LID, 0x7fff);
	mad.address.slid = 200;
	model_send(model, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(model, 1, &mad));
	KUNIT_EXPECT_EQ(test, mad.address.dlid, 200);
}

static void expect_no_answer(struct kunit *test, const struct model_mad *mad)
{
	model_send(test->priv, 1, mad);
	KUNIT_EXPECT_TRUE(test, model_is_silent(test->priv, 2));
	KUNIT_EXPECT_TRUE(test, model_is_silent(test->priv, 1));
}

static void answers_nobody_without_keys(struct kunit *test)
{
	const struct weft_ibport *own = ((struct model *)test->priv)->node->port[0];
	struct model_mad mad;

	set_tables(test, 40);
	mad = model_counters_request(2, SWITCH_LID, 0x7fff);
	mad.address.qkey++;
	expect_no_answer(test, &mad);
	mad = model_counters_request(2, SWITCH_LID, 0x7fff);
	mad.address.pkey = 0x8001;
	expect_no_answer(test, &mad);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(own->info.qkey_violations), 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(own->info.pkey_violations), 1);
	mad = model_counters_request(2, SWITCH_LID, 0x7fff);
	mad.address.dqpn = 2;
	expect_no_answer(test, &mad);
	mad = model_counters_request(2, SWITCH_LID, 0x7fff);
	mad.address.vl = WEFT_VL_SMP;
	expect_no_answer(test, &mad);
	mad = model_counters_request(2, SWITCH_LID, 0x7fff);
	mad.mad.mad_hdr.mgmt_class = IB_MGMT_CLASS_SUBN_ADM;
	expect_no_answer(test, &mad);
}

/* A directed route may end, or begin, with a part by LID. */
static void answers_routes_by_lid(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad;

	set_tables(test, 40);
	/* the directed part has ended at another node, so the response goes back by LID */
	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	mad.address.slid = 2;
	mad.address.dlid = SWITCH_LID;
	mad.smp.dr_dlid = cpu_to_be16(SWITCH_LID);
	mad.smp.hop_ptr = mad.smp.hop_cnt + 1;
	model_send(model, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(model, 2, &mad));
	KUNIT_EXPECT_EQ(test, mad.smp.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_TRUE(test, ib_get_smp_direction(&mad.smp));
	KUNIT_EXPECT_EQ(test, mad.address.slid, SWITCH_LID);
	KUNIT_EXPECT_EQ(test, mad.address.dlid, 2);
	KUNIT_EXPECT_EQ(test, mad.smp.hop_ptr, mad.smp.hop_cnt + 1);
	/* it ends here, and the LID is that of the switch */
	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	mad.smp.dr_dlid = cpu_to_be16(SWITCH_LID);
	model_send(model, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(model, 1, &mad));
	KUNIT_EXPECT_TRUE(test, model_answered(&mad));
	/* a response to a subnet manager that does not run here */
	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	mad.smp.status |= IB_SMP_DIRECTION;
	mad.smp.dr_slid = cpu_to_be16(SWITCH_LID);
	expect_no_answer(test, &mad);
}

/* A request with a GRH gets a response with one. */
static void answers_with_grh(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad;

	set_tables(test, 40);
	mad = model_counters_request(2, SWITCH_LID, 0x7fff);
	mad.address.global = true;
	mad.address.grh = (struct weft_grh){ .hop_limit = 1, .sgid = { 1 }, .dgid = { 2 } };
	model_send(model, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(model, 2, &mad));
	KUNIT_EXPECT_EQ(test, mad.mad.mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_TRUE(test, mad.address.global);
	KUNIT_EXPECT_EQ(test, mad.address.grh.sgid[0], 2);
	KUNIT_EXPECT_EQ(test, mad.address.grh.dgid[0], 1);
	KUNIT_EXPECT_EQ(test, mad.address.grh.hop_limit, 255);
	/* subnet management has none */
	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	mad.address.global = true;
	expect_no_answer(test, &mad);
}

/* Requests are answered, or dropped and counted. */
static void queue_is_bounded(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad;
	u64 dropped, answers = 0;
	u32 i;

	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	for (i = 0; i < SWITCH_FLOOD; i++)
		model_send(model, 1, &mad);
	dropped = model_counter(model, 1, WEFT_IBC_VL15_DROPPED);
	while (answers + dropped < SWITCH_FLOOD && model_receive(model, 1, &mad))
		answers++;
	KUNIT_EXPECT_EQ(test, answers + dropped, SWITCH_FLOOD);
}

/* Send equal packets; a spinlock may be held. */
static void flood(struct kunit *test, const struct model_mad *mad, u32 num)
{
	struct sk_buff *skb;

	while (num--) {
		skb = weft_mad_build(&mad->address, &mad->mad, GFP_ATOMIC);
		if (skb)
			model_send_skb(test->priv, 1, skb);
	}
}

/* Packets for QPs that do not exist are dropped even if the queue is empty. */
static void data_are_not_queued(struct kunit *test)
{
	struct model_mad packet = data_packet(2, SWITCH_LID);
	struct model *model = test->priv;
	u32 i;

	set_tables(test, 40);
	for (i = 0; i < SWITCH_FLOOD; i++)
		model_send(model, 1, &packet);
	/* QP 0 does not exist on the data lane */
	packet = model_counters_request(2, SWITCH_LID, 0x7fff);
	packet.address.dqpn = 0;
	model_send(model, 1, &packet);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RELAY_ERRORS), SWITCH_FLOOD + 1);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RCV_ERRORS), 0);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_VL15_DROPPED), 0);
}

/* While the agents wait for a lock, requests of QP 1 must leave half of the queue to SMPs. */
static void data_leave_room_for_management(struct kunit *test)
{
	struct model_mad general, smp;
	struct model *model = test->priv;
	u32 smps = 0, generals;

	set_tables(test, 40);
	general = model_counters_request(2, SWITCH_LID, 0x7fff);
	model_directed(&smp, IB_SMP_ATTR_PORT_INFO, 1, NULL, 0);
	spin_lock_bh(&model->node->port[1]->lock);
	flood(test, &general, SWITCH_GENERALS);
	flood(test, &smp, SWITCH_SMPS);
	spin_unlock_bh(&model->node->port[1]->lock);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_VL15_DROPPED), 0);
	while (smps < SWITCH_SMPS && model_receive(model, 1, &smp))
		smps += model_answered(&smp);
	KUNIT_EXPECT_EQ(test, smps, SWITCH_SMPS);
	/* requests of QP 1 that were in the queue have been answered, too */
	generals = skb_queue_len(&model->end[2].queue);
	KUNIT_EXPECT_GT(test, generals, 0);
	KUNIT_EXPECT_EQ(test, model_counter(model, 1, WEFT_IBC_RCV_ERRORS) + generals,
			SWITCH_GENERALS);
}

static void expect_alive(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad = {};
	u8 i;

	for (i = 1; i <= MODEL_ENDS; i++) {
		while (!model_is_silent(model, i))
			;
		model_activate(model->node->port[i]);
	}
	KUNIT_EXPECT_TRUE(test, ask(test, &mad, IB_MGMT_METHOD_GET, IB_SMP_ATTR_NODE_INFO, 0));
}

static void survives_truncation(struct kunit *test)
{
	struct model *model = test->priv;
	struct model_mad mad;
	struct sk_buff *skb;
	u32 length;

	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	for (length = 0; length < 288; length++) {
		skb = weft_mad_build(&mad.address, &mad.mad, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		skb_trim(skb, length);
		/* let the length in the LRH of some of them be right */
		if (length >= 8 && length % 8 == 0)
			put16(&skb->data[4], length / 4);
		model_send_skb(model, 1, skb);
	}
	KUNIT_EXPECT_TRUE(test, model_is_silent(model, 1));
	expect_alive(test);
}

/* Valid packets with random bytes in them. */
static void survives_noise(struct kunit *test)
{
	struct model *model = test->priv;
	struct rnd_state rnd;
	struct model_mad mad;
	struct sk_buff *skb;
	u32 i, n;

	prandom_seed_state(&rnd, SWITCH_SEED + fuzz_seed);
	set_tables(test, 40);
	for_each_fuzz(i, SWITCH_FUZZ) {
		if (i % 2)
			model_directed(&mad, cpu_to_be16(prandom_u32_state(&rnd) % 0x40),
				       prandom_u32_state(&rnd) & 0x3f, NULL, 0);
		else
			mad = model_counters_request(2, SWITCH_LID, 0x7fff);
		if (i % 4 == 1)
			mad.smp.method = IB_MGMT_METHOD_SET;
		skb = weft_mad_build(&mad.address, &mad.mad, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		for (n = prandom_u32_state(&rnd) % 8; n; n--)
			skb->data[prandom_u32_state(&rnd) % skb->len] =
				prandom_u32_state(&rnd);
		model_send_skb(model, 1 + i % MODEL_ENDS, skb);
		/* give the agents time to empty the queue */
		if (i % SWITCH_FUZZ_BURST == 0) {
			model_is_silent(model, 1);
			model_forget(model);
		}
	}
	/* anything may have been set, even the state of a port */
	KUNIT_EXPECT_GT(test, model_counter(model, 1, WEFT_IBC_RCV_PKTS), 0);
}

static struct kunit_case switch_cases[] = {
	KUNIT_CASE(forwards_by_lid),
	KUNIT_CASE(drops_without_way),
	KUNIT_CASE(does_not_send_by_closed_port),
	KUNIT_CASE(copies_to_group),
	KUNIT_CASE(copies_have_no_sender),
	KUNIT_CASE(switch_info_reads_back),
	KUNIT_CASE(linear_table_reads_back),
	KUNIT_CASE(multicast_table_reads_back),
	KUNIT_CASE(refuses_bad_modifiers),
	KUNIT_CASE(tells_link_change),
	KUNIT_CASE(change_seen_is_not_told),
	KUNIT_CASE(tells_bad_mkey),
	KUNIT_CASE(answers_by_lid),
	KUNIT_CASE(answers_nobody_without_keys),
	KUNIT_CASE(answers_routes_by_lid),
	KUNIT_CASE(answers_with_grh),
	KUNIT_CASE(queue_is_bounded),
	KUNIT_CASE(data_are_not_queued),
	KUNIT_CASE(data_leave_room_for_management),
	KUNIT_CASE(survives_truncation),
	KUNIT_CASE(survives_noise),
	{}
};

static struct kunit_suite switch_suite = {
	.name = "weft_switch",
	.init = switch_test_init,
	.exit = switch_test_exit,
	.test_cases = switch_cases,
};

/* Switches in a circle: port 2 of each is connected to port 1 of the next one. */
#define CIRCLE_MODELS	3
#define CIRCLE_LID	2
#define CIRCLE_PATIENCE	1000

struct circle {
	struct model	model[CIRCLE_MODELS];
	u32		num;
};

static void circle_exit(struct kunit *test)
{
	struct circle *circle = test->priv;

	while (circle && circle->num)
		model_destroy(&circle->model[--circle->num]);
}

static int circle_init(struct kunit *test)
{
	struct circle *circle = kunit_kzalloc(test, sizeof(*circle), GFP_KERNEL);
	int ret = 0;

	if (!circle)
		return -ENOMEM;
	test->priv = circle;
	while (!ret && circle->num < CIRCLE_MODELS) {
		ret = model_create(&circle->model[circle->num], SWITCH_GUID + circle->num);
		circle->num += !ret;
	}
	if (ret)
		circle_exit(test);
	return ret;
}

/* The tables of each switch lead to the next one. */
static void circle_set_tables(struct kunit *test)
{
	struct circle *circle = test->priv;
	struct model_mad mad = {};
	u32 i;

	for (i = 0; i < CIRCLE_MODELS; i++) {
		mad.smp.data[INFO_TOP + 1] = CIRCLE_LID;
		KUNIT_ASSERT_TRUE(test, model_ask(&circle->model[i], &mad, IB_MGMT_METHOD_SET,
						  IB_SMP_ATTR_SWITCH_INFO, 0));
		memset(mad.smp.data, 2, sizeof(mad.smp.data));
		KUNIT_ASSERT_TRUE(test, model_ask(&circle->model[i], &mad, IB_MGMT_METHOD_SET,
						  IB_SMP_ATTR_LINEAR_FORWARD_TABLE, 0));
		memset(mad.smp.data, 0, sizeof(mad.smp.data));
	}
}

static void circle_expect_end(struct kunit *test, u8 vl)
{
	struct circle *circle = test->priv;
	struct model *model = circle->model;
	struct model_mad packet = data_packet(1, CIRCLE_LID);
	u32 hops = 0, last = (WEFT_MAX_HOPS + 1) % CIRCLE_MODELS;
	u64 before = model_counter(&model[last], 1, WEFT_IBC_RELAY_ERRORS);

	packet.address.vl = vl;
	model_send(&model[0], 1, &packet);
	while (hops < CIRCLE_PATIENCE &&
	       model_carry(&model[hops % CIRCLE_MODELS], 2, &model[(hops + 1) % CIRCLE_MODELS], 1))
		hops++;
	/* the switch after one hop too many dropped the packet */
	KUNIT_EXPECT_EQ(test, hops, WEFT_MAX_HOPS + 1);
	KUNIT_EXPECT_EQ(test, model_counter(&model[last], 1, WEFT_IBC_RELAY_ERRORS), before + 1);
}

static void circle_has_an_end(struct kunit *test)
{
	circle_set_tables(test);
	circle_expect_end(test, 0);
	circle_expect_end(test, WEFT_VL_SMP);
}

static struct kunit_case circle_cases[] = {
	KUNIT_CASE(circle_has_an_end),
	{}
};

static struct kunit_suite circle_suite = {
	.name = "weft_circle",
	.init = circle_init,
	.exit = circle_exit,
	.test_cases = circle_cases,
};

kunit_test_suites(&switch_suite, &circle_suite);
