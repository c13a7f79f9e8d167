// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of fabric/sma.c: Gets and Sets of a subnet manager in the order in which opensm sends them,
 * and requests that must fail.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "fabric/sma.h"
#include "fake_sm.h"
#include "fuzz.h"

#define SMA_SEED	0x736d6100
#define SMA_FUZZ	15000

#define SMA_MKEY	0x0123456789abcdefULL
#define SMA_SM_LID	1

static void discover_ca(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_node_info *node = (void *)sm->smp.data;

	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_NODE_INFO, 0), OK);
	KUNIT_EXPECT_EQ(test, node->base_version, 1);
	KUNIT_EXPECT_EQ(test, node->class_version, 1);
	KUNIT_EXPECT_EQ(test, node->node_type, WEFT_NODE_CA);
	KUNIT_EXPECT_EQ(test, node->num_ports, FAKE_PORTS);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(node->node_guid), FAKE_GUID);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(node->sys_guid), FAKE_GUID);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(node->port_guid), FAKE_GUID + 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(node->partition_cap), WEFT_IB_PKEYS);
	KUNIT_EXPECT_EQ(test, node->local_port_num, 1);
	KUNIT_EXPECT_EQ(test, node->vendor_id[1], 0x02);
	KUNIT_EXPECT_EQ(test, node->vendor_id[2], 0xc9);

	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_NODE_DESC, 0), OK);
	KUNIT_EXPECT_STREQ(test, (char *)sm->smp.data, "a fake");

	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 1), OK);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->linkspeed_portstate & 15, IB_PORT_INIT);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->portphysstate_linkdown, 0x52);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->local_port_num, 1);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->guid_cap, WEFT_IB_GUIDS);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->vlcap_inittype >> 4, 1);

	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 0), OK);
	KUNIT_EXPECT_EQ(test, sm->smp.data[0], 0xff);
	KUNIT_EXPECT_EQ(test, sm->smp.data[2], 0);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 1), OK);
}

/* The four Sets by which opensm brings a port from INIT to ACTIVE. */
static void opensm_brings_up_a_ca(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set, got;

	discover_ca(test);
	set = sm_begin_set(test, 1, IB_PORT_NOP);
	set->gid_prefix = cpu_to_be64(0xfe80000000000000ULL);
	set->lid = cpu_to_be16(SM_LID);
	set->sm_lid = cpu_to_be16(SMA_SM_LID);
	set->neighbormtu_mastersmsl = IB_MTU_2048 << 4 | 3;
	set->clientrereg_resv_subnetto = 0x80 | 17;
	set->mkeyprot_resv_lmc = 1;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	KUNIT_EXPECT_PTR_EQ(test, sm->effect.port, sm_port(sm, 1));
	KUNIT_EXPECT_EQ(test, sm->effect.events,
			WEFT_IBPORT_LID | WEFT_IBPORT_SM | WEFT_IBPORT_REREGISTER);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->lid, SM_LID);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->lmc, 1);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->state, IB_PORT_INIT);

	/* Get returns what was Set, but only the response to the Set has ClientReregister */
	got = *sm_info(sm);
	KUNIT_EXPECT_EQ(test, got.clientrereg_resv_subnetto, 0x80 | 17);
	got.clientrereg_resv_subnetto = 17;
	KUNIT_EXPECT_EQ(test, got.neighbormtu_mastersmsl, IB_MTU_2048 << 4 | 3);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(got.sm_lid), SMA_SM_LID);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 1), OK);
	KUNIT_EXPECT_EQ(test, memcmp(&got, sm_info(sm), sizeof(got)), 0);

	KUNIT_EXPECT_EQ(test, sm_set_state(test, BIT(31) | 1, IB_PORT_NOP), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, 0);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->clientrereg_resv_subnetto, 17);
	/* a response to a Set that failed does not have it */
	set = sm_begin_set(test, 1, IB_PORT_NOP);
	set->clientrereg_resv_subnetto = 0x80 | 17;
	set->lid = cpu_to_be16(0xffff);
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->clientrereg_resv_subnetto, 17);
	KUNIT_EXPECT_EQ(test, sm_set_state(test, 1, IB_PORT_ARMED), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, 0);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->state, IB_PORT_ARMED);
	KUNIT_EXPECT_EQ(test, sm_set_state(test, 1, IB_PORT_ACTIVE), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, WEFT_IBPORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->linkspeed_portstate & 15, IB_PORT_ACTIVE);

	/* the next sweep repeats the Sets */
	KUNIT_EXPECT_EQ(test, sm_set_state(test, 1, IB_PORT_ARMED), OK);
	KUNIT_EXPECT_EQ(test, sm_set_state(test, 1, IB_PORT_ACTIVE), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, 0);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->state, IB_PORT_ACTIVE);
}

static void discover_switch(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_node_info *node = (void *)sm->smp.data;
	int i;

	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_NODE_INFO, 0), OK);
	KUNIT_EXPECT_EQ(test, node->node_type, WEFT_NODE_SWITCH);
	KUNIT_EXPECT_EQ(test, node->local_port_num, 2);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(node->port_guid), FAKE_GUID);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_SWITCH_INFO, 0), OK);
	KUNIT_EXPECT_EQ(test, sm->fake->switch_calls, 1);
	for (i = 0; i <= FAKE_PORTS; i++) {
		KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, i), OK);
		KUNIT_EXPECT_EQ(test, sm_info(sm)->guid_cap, i ? 0 : WEFT_IB_GUIDS);
		KUNIT_EXPECT_EQ(test, sm_info(sm)->local_port_num, 2);
		KUNIT_EXPECT_EQ(test, sm_info(sm)->linkspeed_portstate & 15,
				i ? IB_PORT_INIT : IB_PORT_ACTIVE);
	}
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 0), OK);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 3 << 16 | 1), OK);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 4 << 16), BAD_VALUE);
}

static void opensm_brings_up_a_switch(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set;

	sm_use_switch(test);
	sm->in_port = 2;
	discover_switch(test);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_SWITCH_INFO, 0), OK);

	/* port 0 has a LID, and its state cannot be set */
	set = sm_begin_set(test, 0, IB_PORT_DOWN);
	set->lid = cpu_to_be16(SM_LID);
	set->clientrereg_resv_subnetto |= 0x80;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 0), OK);
	KUNIT_EXPECT_PTR_EQ(test, sm->effect.port, sm_port(sm, 0));
	KUNIT_EXPECT_EQ(test, sm->effect.events, WEFT_IBPORT_LID | WEFT_IBPORT_REREGISTER);
	KUNIT_EXPECT_TRUE(test, sm_info(sm)->clientrereg_resv_subnetto & 0x80);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 0)->lid, SM_LID);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 0)->state, IB_PORT_ACTIVE);

	/* external ports have a state, and no LID */
	set = sm_begin_set(test, 3, IB_PORT_ARMED);
	set->lid = cpu_to_be16(0xffff);
	set->clientrereg_resv_subnetto |= 0x80;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 3), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(sm_info(sm)->lid), 0);
	KUNIT_EXPECT_FALSE(test, sm_info(sm)->clientrereg_resv_subnetto & 0x80);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 3)->lid, 0);
	KUNIT_EXPECT_EQ(test, sm_set_state(test, 3, IB_PORT_ACTIVE), OK);
	KUNIT_EXPECT_PTR_EQ(test, sm->effect.port, sm_port(sm, 3));
	KUNIT_EXPECT_EQ(test, sm->effect.events, WEFT_IBPORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->state, IB_PORT_INIT);
}

static void pkey_table(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	__be16 *pkeys = (__be16 *)sm->smp.data;

	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 1), OK);
	pkeys[31] = cpu_to_be16(0x8123);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_PKEY_TABLE, 1), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, WEFT_IBPORT_PKEY);
	KUNIT_EXPECT_PTR_EQ(test, sm->effect.port, sm_port(sm, 1));
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->pkeys[63], 0x8123);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->pkeys[0], 0xffff);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pkeys[31]), 0x8123);

	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_PKEY_TABLE, 1), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, 0);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 2), BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_PKEY_TABLE, 0xffff), BAD_VALUE);
	/* the upper half is a port number of a switch, which is ignored here */
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 9 << 16 | 1), OK);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pkeys[31]), 0x8123);
}

/* Each port has a table, which a request by any port can read. */
static void pkey_tables_of_a_switch(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	__be16 *pkeys = (__be16 *)sm->smp.data;

	sm_use_switch(test);
	sm->in_port = 2;
	memset(sm->smp.data, 0, sizeof(sm->smp.data));
	pkeys[0] = cpu_to_be16(0x8123);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_PKEY_TABLE, 3 << 16), OK);
	KUNIT_EXPECT_PTR_EQ(test, sm->effect.port, sm_port(sm, 3));
	KUNIT_EXPECT_EQ(test, sm->effect.events, WEFT_IBPORT_PKEY);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 3)->pkeys[0], 0x8123);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 2)->pkeys[0], 0xffff);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 0)->pkeys[0], 0xffff);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PKEY_TABLE, 0), OK);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pkeys[0]), 0xffff);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_PKEY_TABLE, 4 << 16), BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_PKEY_TABLE, 3 << 16 | 2),
			BAD_VALUE);
}

static void guid_info(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	memset(sm->smp.data, 0x11, sizeof(sm->smp.data));
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_GUID_INFO, 0), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, WEFT_IBPORT_GID);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_port(sm, 1)->guids[0]), FAKE_GUID + 1);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_port(sm, 1)->guids[7]), 0x1111111111111111ULL);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_port(sm, 1)->guids[8]), 0);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_GUID_INFO, 0), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, 0);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_GUID_INFO, 1), OK);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_port(sm, 1)->guids[8]), FAKE_GUID + 1);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_GUID_INFO, 2), BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_GUID_INFO, U32_MAX), BAD_VALUE);
}

static void lane_tables(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	memset(sm->smp.data, 0x22, sizeof(sm->smp.data));
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_SL_TO_VL_TABLE, 0), OK);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_SL_TO_VL_TABLE, 0), OK);
	KUNIT_EXPECT_EQ(test, sm->smp.data[7], 0x22);
	KUNIT_EXPECT_EQ(test, sm->smp.data[8], 0);

	memset(sm->smp.data, 0x33, sizeof(sm->smp.data));
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_VL_ARB_TABLE, 3 << 16), OK);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_VL_ARB_TABLE, 1 << 16), OK);
	KUNIT_EXPECT_EQ(test, sm->smp.data[63], 0);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_VL_ARB_TABLE, 3 << 16), OK);
	KUNIT_EXPECT_EQ(test, sm->smp.data[63], 0x33);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_VL_ARB_TABLE, 0), BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_VL_ARB_TABLE, 2 << 16), BAD_VALUE);

	sm_use_switch(test);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_SL_TO_VL_TABLE, 1 << 8 | 3), OK);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_SL_TO_VL_TABLE, 1 << 8 | 4),
			BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_SL_TO_VL_TABLE, 4 << 8 | 3),
			BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_VL_ARB_TABLE, 1 << 16 | 0x103),
			BAD_VALUE);
}

/* Requests that are no valid Get or Set. */
static void methods_and_versions(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_NODE_INFO, 0), BAD_ATTR);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_NODE_DESC, 0), BAD_ATTR);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_LED_INFO, 0), BAD_ATTR);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_SWITCH_INFO, 0), BAD_ATTR);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_SM_INFO, 0), BAD_ATTR);
	KUNIT_EXPECT_EQ(test, sm_ask(test, 0, IB_SMP_ATTR_NODE_INFO, 0), BAD_METHOD);
	KUNIT_EXPECT_EQ(test, sm_ask(test, 0x7f, IB_SMP_ATTR_NODE_INFO, 0), BAD_METHOD);

	sm_request(sm, GET, IB_SMP_ATTR_NODE_INFO, 0);
	sm->smp.class_version = 2;
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_REPLY);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(sm->smp.status), 0x8000 | BAD_VERSION);
	sm_request(sm, GET, IB_SMP_ATTR_NODE_INFO, 0);
	sm->smp.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	sm->smp.base_version = 0;
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_REPLY);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(sm->smp.status), BAD_VERSION);

	sm_request(sm, IB_MGMT_METHOD_GET_RESP, IB_SMP_ATTR_NODE_INFO, 0);
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_PASS);
	sm_request(sm, IB_MGMT_METHOD_TRAP, IB_SMP_ATTR_NOTICE, 0);
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_PASS);
	sm_request(sm, IB_MGMT_METHOD_TRAP_REPRESS, IB_SMP_ATTR_NOTICE, 0);
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_DROP);
	KUNIT_EXPECT_FALSE(test, sm->effect.bad_mkey);
	KUNIT_EXPECT_TRUE(test, sm->effect.represses);
	sm_request(sm, IB_MGMT_METHOD_TRAP_REPRESS, IB_SMP_ATTR_NOTICE, 0);
	sm->smp.class_version = 2;
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_DROP);
	KUNIT_EXPECT_FALSE(test, sm->effect.represses);
}

/* SMInfo is for the subnet manager at the port, with any M_Key. */
static void sm_info_is_the_managers(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	sm_port(sm, 1)->sm_live = true;
	sm_port(sm, 1)->info.cap_mask |= cpu_to_be32(IB_PORT_SM);
	sm_port(sm, 1)->info.mkey = cpu_to_be64(SMA_MKEY);
	sm_request(sm, GET, IB_SMP_ATTR_SM_INFO, 0);
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_PASS);
	sm_request(sm, SET, IB_SMP_ATTR_SM_INFO, 0);
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_PASS);
}

static void protect(struct kunit *test, u8 level, u16 lease)
{
	struct ib_port_info *set = sm_begin_set(test, 1, IB_PORT_NOP);
	struct fake_sm *sm = test->priv;

	set->mkey = cpu_to_be64(SMA_MKEY);
	set->mkeyprot_resv_lmc = level << 6;
	set->mkey_lease_period = cpu_to_be16(lease);
	KUNIT_ASSERT_EQ(test, sm_end_set(test, 1), OK);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_info(sm)->mkey), SMA_MKEY);
}

static void expect_refused(struct kunit *test, u8 method, __be16 attr)
{
	struct fake_sm *sm = test->priv;

	sm_request(sm, method, attr, 0);
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_DROP);
	KUNIT_EXPECT_TRUE(test, sm->effect.bad_mkey);
	KUNIT_EXPECT_PTR_EQ(test, sm->effect.port, sm_port(sm, 1));
	KUNIT_EXPECT_EQ(test, sm->effect.events, 0);
}

static u16 violations(struct fake_sm *sm)
{
	return be16_to_cpu(sm_port(sm, 1)->info.mkey_violations);
}

static void mkey_level_0(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	protect(test, 0, 0);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 1), OK);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_info(sm)->mkey), SMA_MKEY);
	KUNIT_EXPECT_EQ(test, violations(sm), 0);
	expect_refused(test, SET, IB_SMP_ATTR_PORT_INFO);
	expect_refused(test, IB_MGMT_METHOD_TRAP_REPRESS, IB_SMP_ATTR_NOTICE);
	KUNIT_EXPECT_FALSE(test, sm->effect.represses);
	KUNIT_EXPECT_EQ(test, violations(sm), 2);
}

static void mkey_level_1(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	protect(test, 1, 0);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 1), OK);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_info(sm)->mkey), 0);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->mkeyprot_resv_lmc, 1 << 6);
	expect_refused(test, SET, IB_SMP_ATTR_PKEY_TABLE);
	sm->mkey = SMA_MKEY;
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 1), OK);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_info(sm)->mkey), SMA_MKEY);
}

static void mkey_level_2(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	protect(test, 2, 0);
	expect_refused(test, GET, IB_SMP_ATTR_NODE_INFO);
	expect_refused(test, GET, IB_SMP_ATTR_PORT_INFO);
	KUNIT_EXPECT_EQ(test, violations(sm), 2);
	/* without a lease period the protection does not end */
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->mkey_expires, 0);
	sm_port(sm, 1)->info.mkey_violations = cpu_to_be16(0xffff);
	expect_refused(test, GET, IB_SMP_ATTR_NODE_INFO);
	KUNIT_EXPECT_EQ(test, violations(sm), 0xffff);

	/* the counter can be reset */
	sm->mkey = SMA_MKEY;
	sm_begin_set(test, 1, IB_PORT_NOP)->mkey_violations = 0;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	KUNIT_EXPECT_EQ(test, violations(sm), 0);
}

static void mkey_lease(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	unsigned long expires;

	protect(test, 3, 10);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->mkey_expires, 0);
	expect_refused(test, GET, IB_SMP_ATTR_PORT_INFO);
	expires = sm_port(sm, 1)->mkey_expires;
	KUNIT_EXPECT_TRUE(test, expires && time_after(expires, jiffies));
	/* let some time pass: the lease is not extended */
	sm_port(sm, 1)->mkey_expires = --expires;
	expect_refused(test, GET, IB_SMP_ATTR_PORT_INFO);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->mkey_expires, expires);

	/* the right M_Key ends the countdown */
	sm->mkey = SMA_MKEY;
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_NODE_INFO, 0), OK);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->mkey_expires, 0);

	/* without it the lease expires */
	sm->mkey = 0;
	expect_refused(test, GET, IB_SMP_ATTR_PORT_INFO);
	sm_port(sm, 1)->mkey_expires = jiffies - 1 ?: 1;
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 1), OK);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_info(sm)->mkey), SMA_MKEY);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->mkeyprot_resv_lmc >> 6, 0);
	expect_refused(test, SET, IB_SMP_ATTR_PORT_INFO);
	sm->mkey = SMA_MKEY;
	KUNIT_EXPECT_EQ(test, sm_set_state(test, 1, IB_PORT_NOP), OK);
}

/* The M_Key of a switch is the M_Key of its port 0, by whatever port the request comes. */
static void mkey_of_a_switch(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set;

	sm_use_switch(test);
	set = sm_begin_set(test, 0, IB_PORT_NOP);
	set->mkey = cpu_to_be64(SMA_MKEY);
	set->mkeyprot_resv_lmc = 2 << 6;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 0), OK);
	sm->in_port = 3;
	sm_request(sm, GET, IB_SMP_ATTR_PORT_INFO, 3);
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_DROP);
	KUNIT_EXPECT_PTR_EQ(test, sm->effect.port, sm_port(sm, 0));
	sm->mkey = SMA_MKEY;
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 3), OK);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_info(sm)->mkey), 0);
}

static void expect_sane(struct kunit *test, struct weft_ibport *ibport)
{
	const struct ib_port_info *is = &ibport->info;

	KUNIT_ASSERT_LT(test, ibport->lid, WEFT_LID_MCAST);
	KUNIT_ASSERT_EQ(test, ibport->lid, be16_to_cpu(is->lid));
	KUNIT_ASSERT_EQ(test, ibport->lmc, is->mkeyprot_resv_lmc & 7);
	KUNIT_ASSERT_EQ(test, ibport->state, is->linkspeed_portstate & 15);
	KUNIT_ASSERT_GE(test, ibport->state, IB_PORT_DOWN);
	KUNIT_ASSERT_LE(test, ibport->state, IB_PORT_ACTIVE);
	KUNIT_ASSERT_EQ(test, ibport->state > IB_PORT_DOWN,
			sm_phys(ibport) == IB_PORT_PHYS_STATE_LINK_UP);
	KUNIT_ASSERT_LE(test, is->neighbormtu_mastersmsl >> 4, IB_MTU_4096);
	KUNIT_ASSERT_EQ(test, be32_to_cpu(is->cap_mask) & IB_PORT_SM, 0);
	KUNIT_ASSERT_TRUE(test, ibport->guids[0] == ibport->guid);
}

/* Random MADs, most of them similar to valid ones. */
static void random_request(struct fake_sm *sm, struct rnd_state *rnd, struct ib_smp *smp)
{
	static const __be16 attrs[] = {
		IB_SMP_ATTR_NOTICE, IB_SMP_ATTR_NODE_DESC, IB_SMP_ATTR_NODE_INFO,
		IB_SMP_ATTR_SWITCH_INFO, IB_SMP_ATTR_GUID_INFO, IB_SMP_ATTR_PORT_INFO,
		IB_SMP_ATTR_PORT_INFO, IB_SMP_ATTR_PORT_INFO, IB_SMP_ATTR_PKEY_TABLE,
		IB_SMP_ATTR_SL_TO_VL_TABLE, IB_SMP_ATTR_VL_ARB_TABLE, IB_SMP_ATTR_SM_INFO,
		IB_SMP_ATTR_LINEAR_FORWARD_TABLE, IB_SMP_ATTR_VENDOR_DIAG,
	};
	u32 dice = prandom_u32_state(rnd);

	prandom_bytes_state(rnd, smp, sizeof(*smp));
	smp->mgmt_class = dice & 1 ? IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE :
				     IB_MGMT_CLASS_SUBN_LID_ROUTED;
	if (dice & 0x0e) {
		smp->base_version = 1;
		smp->class_version = 1;
	}
	if (dice & 0x30)
		smp->method = dice & 0x40 ? SET : GET;
	if (dice & 0x700)
		smp->attr_id = attrs[prandom_u32_state(rnd) % ARRAY_SIZE(attrs)];
	if (dice & 0x1800)
		smp->attr_mod &= cpu_to_be32(0x80030303);
	/* the present PortInfo of a port, with some bytes changed */
	if (dice & 0x6000)
		memcpy(smp->data, &sm_port(sm, 1 + dice % FAKE_PORTS)->info, 64);
	if (dice & 0x2000) {
		smp->data[offsetof(struct ib_port_info, linkspeed_portstate)] &= 0xf7;
		smp->data[offsetof(struct ib_port_info, portphysstate_linkdown)] &= 0x3f;
		smp->data[(dice >> 16) % 64] = dice >> 24;
	}
}

static void fuzz(struct kunit *test, u64 seed)
{
	struct fake_sm *sm = test->priv;
	struct ib_smp *in = kunit_kmalloc(test, sizeof(*in), GFP_KERNEL);
	struct ib_smp *out = kunit_kmalloc(test, sizeof(*out), GFP_KERNEL);
	u32 verdicts[WEFT_SMA_PASS + 1] = {};
	enum weft_sma_verdict verdict;
	struct rnd_state rnd;
	u32 i, n;

	KUNIT_ASSERT_NOT_NULL(test, in);
	KUNIT_ASSERT_NOT_NULL(test, out);
	prandom_seed_state(&rnd, seed + fuzz_seed);
	for_each_fuzz(i, SMA_FUZZ) {
		random_request(sm, &rnd, in);
		for (n = 0; n <= FAKE_PORTS; n++)
			if (sm->fake->node.port[n] && i % 64)
				in->mkey = sm_port(sm, n)->info.mkey;
		verdict = weft_sma_process(&sm->fake->node, i % (FAKE_PORTS + 2), in, out,
					   &sm->effect);
		verdicts[verdict]++;
		if (verdict == WEFT_SMA_REPLY)
			KUNIT_ASSERT_EQ(test, out->method, IB_MGMT_METHOD_GET_RESP);
		for (n = 1; n <= FAKE_PORTS; n++) {
			expect_sane(test, sm_port(sm, n));
			/* otherwise nearly all requests would soon be refused */
			if (!(i % 16))
				sm_port(sm, n)->info.mkey = 0;
		}
		if (!(i % 16))
			sm_port(sm, 0)->info.mkey = 0;
	}
	for (i = 0; i < ARRAY_SIZE(verdicts); i++)
		KUNIT_EXPECT_GT(test, verdicts[i], 0);
}

static void ca_survives_anything(struct kunit *test)
{
	fuzz(test, SMA_SEED);
}

static void switch_survives_anything(struct kunit *test)
{
	sm_use_switch(test);
	fuzz(test, SMA_SEED + 1);
}

static struct kunit_case sma_cases[] = {
	KUNIT_CASE(opensm_brings_up_a_ca),
	KUNIT_CASE(opensm_brings_up_a_switch),
	KUNIT_CASE(pkey_table),
	KUNIT_CASE(pkey_tables_of_a_switch),
	KUNIT_CASE(guid_info),
	KUNIT_CASE(lane_tables),
	KUNIT_CASE(methods_and_versions),
	KUNIT_CASE(sm_info_is_the_managers),
	KUNIT_CASE(mkey_level_0),
	KUNIT_CASE(mkey_level_1),
	KUNIT_CASE(mkey_level_2),
	KUNIT_CASE(mkey_lease),
	KUNIT_CASE(mkey_of_a_switch),
	KUNIT_CASE(ca_survives_anything),
	KUNIT_CASE(switch_survives_anything),
	{}
};

static struct kunit_suite sma_suite = {
	.name = "weft_sma",
	.init = fake_sm_init,
	.test_cases = sma_cases,
};

kunit_test_suite(sma_suite);
