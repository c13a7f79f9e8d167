// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Replays the requests of a real opensm: its first sweep of another host, which has a switch with
 * a channel adapter at port 1 and the cable to opensm's host at port 36, and the multicast tables
 * after IPoIB came up there. The packets were recorded with tcpdump on the net device of that host
 * (opensm 3.3.23, -Q, and -P with a partition 0x8001 of all).
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "fabric/sma.h"
#include "fabric/switch.h"
#include "fake_node.h"

#define SWEEP_GUID		0x525400fffe090002ULL
#define SWEEP_SPEED		1
#define SWEEP_LID		3
#define SWEEP_SWITCH_LID	4
#define SWEEP_SM_LID		1
#define SWEEP_PKEY		0x8001
/* Port of the switch towards the subnet manager. */
#define SWEEP_UPPER		WEFT_SWITCH_PORTS
#define SWEEP_LOWER		1

/* The nodes of the other host. */
enum sweep_node {
	SWEEP_SWITCH,
	SWEEP_CA,
};

/* A request; @data and @answer are hexadecimal, without trailing zeros. */
struct sweep_smp {
	enum sweep_node		node;
	u8			method;
	__be16			attr;
	/* sent for each attribute modifier from @mod to @last */
	u32			mod;
	u32			last;
	/* for Set only */
	const char		*data;
	/* NULL: the response has names of the host, and is not compared */
	const char		*answer;
};

#define NAME(_node, _attr) \
	{ SWEEP_##_node, IB_MGMT_METHOD_GET, IB_SMP_ATTR_##_attr, 0, 0, NULL, NULL }
#define GET(_node, _attr, _mod, _last, _answer) \
	{ SWEEP_##_node, IB_MGMT_METHOD_GET, IB_SMP_ATTR_##_attr, _mod, _last, NULL, _answer }
#define SET(_node, _attr, _mod, _data, _answer) \
	{ SWEEP_##_node, IB_MGMT_METHOD_SET, IB_SMP_ATTR_##_attr, _mod, _mod, _data, _answer }

/* joins two halves of a string that is too long for a line */
#define HEX(_begin, _end)	_begin _end

static const struct sweep_smp sweep_smps[] = {
	NAME(SWITCH, NODE_INFO),
	NAME(SWITCH, NODE_DESC),
	GET(SWITCH, SWITCH_INFO, 0, 0,
	    "c0000000040000000000000400000040f0"),
	GET(SWITCH, PORT_INFO, 0, 0,
	    HEX("0000000000000000fe8000000000000000000000002008080000000024030302",
		"145200115010002020050010000000000000101212ff")),
	GET(SWITCH, PORT_INFO, 1, 1,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"125200115010002020050010000000000000001212ff")),
	GET(SWITCH, PORT_INFO, 2, 35,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"112200115010002020050010000000000000001212ff")),
	GET(SWITCH, PORT_INFO, 36, 36,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"125200115010002020050010000000000000001212ff")),
	GET(SWITCH, PKEY_TABLE, 0, 0,
	    "ffff"),
	GET(SWITCH, PKEY_TABLE, 1, 1,
	    ""),
	NAME(CA, NODE_INFO),
	GET(SWITCH, PKEY_TABLE, 0x10000, 0x10000,
	    "ffff"),
	GET(SWITCH, PKEY_TABLE, 0x10001, 0x10001,
	    ""),
	GET(SWITCH, PKEY_TABLE, 0x240000, 0x240000,
	    "ffff"),
	GET(SWITCH, PKEY_TABLE, 0x240001, 0x240001,
	    ""),
	NAME(CA, NODE_DESC),
	GET(CA, PORT_INFO, 1, 1,
	    HEX("0000000000000000fe8000000000000000000000026008480000000001030302",
		"125200115010002020050010000000000000101212ff")),
	GET(CA, PKEY_TABLE, 0, 0,
	    "ffff"),
	GET(CA, PKEY_TABLE, 1, 1,
	    ""),
	SET(SWITCH, SWITCH_INFO, 0,
	    "c0000000040000000000000400000040f0",
	    "c0000000040000000000000000000040f0"),
	SET(CA, PKEY_TABLE, 0,
	    "ffff8001",
	    "ffff8001"),
	SET(SWITCH, PKEY_TABLE, 0x10000,
	    "ffff8001",
	    "ffff8001"),
	SET(SWITCH, PORT_INFO, 1,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"10000011501000202005001c000000000000001212ff"),
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"12520011501000202005001c000000000000001212ff")),
	SET(SWITCH, PKEY_TABLE, 0,
	    "ffff8001",
	    "ffff8001"),
	SET(CA, PORT_INFO, 1,
	    HEX("0000000000000000fe8000000000000000030001026008480000000001030302",
		"10020011501000202005001000000000000010921288"),
	    HEX("0000000000000000fe8000000000000000030001026008480000000001030302",
		"12520011501000202005001000000000000010921288")),
	SET(SWITCH, PORT_INFO, 0,
	    HEX("0000000000000000fe8000000000000000040001002008080000000024030302",
		"100200115010002020050010000000000000101212ff"),
	    HEX("0000000000000000fe8000000000000000040001002008080000000024030302",
		"145200115010002020050010000000000000101212ff")),
	SET(SWITCH, SWITCH_INFO, 0,
	    "c0000000040000040000009000000040f0",
	    "c0000000040000040000009000000040f0"),
	SET(SWITCH, LINEAR_FORWARD_TABLE, 0,
	    HEX("ff24240100ffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
	    HEX("ff24240100ffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff")),
	SET(CA, SL_TO_VL_TABLE, 0,
	    "",
	    ""),
	SET(SWITCH, PORT_INFO, 1,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"10020011501000202005f01c00000000000000121288"),
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"12520011501000202005f01c00000000000000121288")),
	SET(SWITCH, PORT_INFO, 36,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"10020011501000202005f21000000000000000121288"),
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"12520011501000202005f21000000000000000121288")),
	SET(CA, PORT_INFO, 1,
	    HEX("0000000000000000fe8000000000000000030001026008480000000001030302",
		"13020011501000202005001000000000000010121288"),
	    HEX("0000000000000000fe8000000000000000030001026008480000000001030302",
		"13520011501000202005001000000000000010121288")),
	SET(SWITCH, PORT_INFO, 1,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"13020011501000202005f01c00000000000000121288"),
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"13520011501000202005f01c00000000000000121288")),
	SET(SWITCH, PORT_INFO, 36,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"13020011501000202005f21000000000000000121288"),
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"13520011501000202005f21000000000000000121288")),
	SET(CA, PORT_INFO, 1,
	    HEX("0000000000000000fe8000000000000000030001026008480000000001030302",
		"14020011501000202005001000000000000010121288"),
	    HEX("0000000000000000fe8000000000000000030001026008480000000001030302",
		"14520011501000202005001000000000000010121288")),
	SET(SWITCH, PORT_INFO, 1,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"14020011501000202005f01c00000000000000121288"),
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"14520011501000202005f01c00000000000000121288")),
	SET(SWITCH, PORT_INFO, 36,
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"14020011501000202005f21000000000000000121288"),
	    HEX("0000000000000000000000000000000000000000000000000000000024030302",
		"14520011501000202005f21000000000000000121288")),
	SET(SWITCH, MCAST_FORWARD_TABLE, 0,
	    "0002",
	    "0002"),
	SET(SWITCH, MCAST_FORWARD_TABLE, 0x10000000,
	    "",
	    ""),
	SET(SWITCH, MCAST_FORWARD_TABLE, 0x20000000,
	    "0010",
	    "0010"),
	SET(SWITCH, MCAST_FORWARD_TABLE, 0,
	    "00020002000200020002",
	    "00020002000200020002"),
	SET(SWITCH, MCAST_FORWARD_TABLE, 0x10000000,
	    "",
	    ""),
	SET(SWITCH, MCAST_FORWARD_TABLE, 0x20000000,
	    "00100010001000100010",
	    "00100010001000100010"),
};

/* The other host. */
struct sweep {
	struct weft_switch	*sw;
	struct fake_node	*ca;
	/* of the switch; they lead nowhere */
	struct weft_cable	cable[SWEEP_UPPER + 1];
};

static void sweep_xmit(struct weft_cable *cable, struct weft_ibport *from, struct sk_buff *skb)
{
	kfree_skb(skb);
}

static void sweep_plug(struct kunit *test, u8 num)
{
	struct sweep *sweep = test->priv;
	struct weft_ibport *port = weft_switch_take_port(sweep->sw, num == SWEEP_UPPER);

	KUNIT_ASSERT_NOT_NULL(test, port);
	KUNIT_ASSERT_EQ(test, port->num, num);
	sweep->cable[num].xmit = sweep_xmit;
	weft_ibport_plug(port, &sweep->cable[num]);
}

static void sweep_unplug(struct sweep *sweep, u8 num)
{
	struct weft_ibport *port = weft_switch_node(sweep->sw)->port[num];

	weft_ibport_unplug(port);
	synchronize_rcu();
	weft_switch_give_port(sweep->sw, port);
}

static int sweep_init(struct kunit *test)
{
	struct sweep *sweep = kunit_kzalloc(test, sizeof(*sweep), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sweep);
	sweep->ca = fake_node_create(test, WEFT_NODE_CA);
	fake_node_plug(sweep->ca);
	sweep->sw = weft_switch_create(cpu_to_be64(SWEEP_GUID), "eth0", SWEEP_SPEED);
	KUNIT_ASSERT_FALSE(test, IS_ERR(sweep->sw));
	test->priv = sweep;
	sweep_plug(test, SWEEP_LOWER);
	sweep_plug(test, SWEEP_UPPER);
	return 0;
}

static void sweep_exit(struct kunit *test)
{
	struct sweep *sweep = test->priv;

	if (!sweep)
		return;
	sweep_unplug(sweep, SWEEP_LOWER);
	sweep_unplug(sweep, SWEEP_UPPER);
	weft_switch_destroy(sweep->sw);
}

static void sweep_data(u8 *data, const char *hex)
{
	memset(data, 0, IB_SMP_DATA_SIZE);
	if (hex)
		WARN_ON(hex2bin(data, hex, strlen(hex) / 2));
}

/* Clears fields in which the recorded channel adapter and a fake one differ. */
static void sweep_hide(const struct sweep_smp *row, u8 *data)
{
	struct ib_port_info *info = (void *)data;

	if (row->node != SWEEP_CA || row->attr != IB_SMP_ATTR_PORT_INFO)
		return;
	info->cap_mask = 0;
	info->linkspeed_portstate &= 0x0f;
	info->linkspeedactive_enabled = 0;
}

static void sweep_process(struct kunit *test, const struct sweep_smp *row, struct ib_smp *smp)
{
	struct sweep *sweep = test->priv;
	bool of_switch = row->node == SWEEP_SWITCH;
	struct weft_ibnode *node = of_switch ? weft_switch_node(sweep->sw) : &sweep->ca->node;
	struct weft_sma_effect effect;

	KUNIT_ASSERT_EQ(test, WEFT_SMA_REPLY,
			weft_sma_process(node, of_switch ? SWEEP_UPPER : 1, smp, smp, &effect));
	KUNIT_EXPECT_FALSE(test, effect.bad_mkey);
}

static void sweep_ask(struct kunit *test, const struct sweep_smp *row, u32 mod)
{
	struct ib_smp smp = {
		.base_version = IB_MGMT_BASE_VERSION,
		.mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE,
		.class_version = 1,
		.method = row->method,
		.attr_id = row->attr,
		.attr_mod = cpu_to_be32(mod),
		.dr_slid = cpu_to_be16(WEFT_LID_PERMISSIVE),
		.dr_dlid = cpu_to_be16(WEFT_LID_PERMISSIVE),
	};
	u8 answer[IB_SMP_DATA_SIZE];

	sweep_data(smp.data, row->data);
	sweep_process(test, row, &smp);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(smp.status), 0x8000);
	if (!row->answer)
		return;
	sweep_data(answer, row->answer);
	sweep_hide(row, answer);
	sweep_hide(row, smp.data);
	KUNIT_EXPECT_MEMEQ(test, smp.data, answer, sizeof(answer));
}

static void sweep_replayed(struct kunit *test)
{
	enum kunit_status before;
	u32 i, mod;

	for (i = 0; i < ARRAY_SIZE(sweep_smps); i++) {
		before = test->status;
		for (mod = sweep_smps[i].mod; mod <= sweep_smps[i].last; mod++)
			sweep_ask(test, &sweep_smps[i], mod);
		if (before != test->status)
			kunit_info(test, "it was request %u", i);
	}
}

/* Afterwards both nodes are active, and have the addresses and routes of the recording. */
static void sweep_brings_up(struct kunit *test)
{
	struct sweep *sweep = test->priv;
	struct weft_ibnode *node = weft_switch_node(sweep->sw);
	struct weft_ibport *port = &sweep->ca->port[1].ib;

	sweep_replayed(test);
	KUNIT_EXPECT_EQ(test, port->state, IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, port->lid, SWEEP_LID);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.sm_lid), SWEEP_SM_LID);
	KUNIT_EXPECT_GE(test, weft_ibport_find_pkey(port, SWEEP_PKEY), 0);
	KUNIT_EXPECT_EQ(test, node->port[0]->lid, SWEEP_SWITCH_LID);
	KUNIT_EXPECT_EQ(test, node->port[SWEEP_LOWER]->state, IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, node->port[SWEEP_UPPER]->state, IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, weft_switch_way(sweep->sw, SWEEP_LID), SWEEP_LOWER);
	KUNIT_EXPECT_EQ(test, weft_switch_way(sweep->sw, SWEEP_SM_LID), SWEEP_UPPER);
	KUNIT_EXPECT_EQ(test, weft_switch_way(sweep->sw, SWEEP_SWITCH_LID), 0);
}

static struct kunit_case sweep_cases[] = {
	KUNIT_CASE(sweep_brings_up),
	{}
};

static struct kunit_suite sweep_suite = {
	.name = "weft_sweep",
	.init = sweep_init,
	.exit = sweep_exit,
	.test_cases = sweep_cases,
};

kunit_test_suite(sweep_suite);
