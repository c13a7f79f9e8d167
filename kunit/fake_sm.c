// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fake_sm.h"

#define FAKE_TID	0x1234

int fake_sm_init(struct kunit *test)
{
	struct fake_sm *sm = kunit_kzalloc(test, sizeof(*sm), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sm);
	sm->fake = fake_node_create(test, WEFT_NODE_CA);
	fake_node_plug(sm->fake);
	sm->in_port = 1;
	test->priv = sm;
	return 0;
}

void sm_use_switch(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	sm->fake = fake_node_create(test, WEFT_NODE_SWITCH);
	fake_node_plug(sm->fake);
}

struct weft_ibport *sm_port(struct fake_sm *sm, u8 num)
{
	return &sm->fake->port[num].ib;
}

enum weft_sma_verdict sm_process(struct fake_sm *sm)
{
	return weft_sma_process(&sm->fake->node, sm->in_port, &sm->smp, &sm->smp, &sm->effect);
}

void sm_request(struct fake_sm *sm, u8 method, __be16 attr, u32 mod)
{
	struct ib_smp *smp = &sm->smp;

	smp->base_version = 1;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
	smp->class_version = 1;
	smp->method = method;
	smp->status = 0;
	smp->hop_ptr = 2;
	smp->hop_cnt = 1;
	smp->tid = cpu_to_be64(FAKE_TID);
	smp->attr_id = attr;
	smp->attr_mod = cpu_to_be32(mod);
	smp->mkey = cpu_to_be64(sm->mkey);
	smp->dr_slid = cpu_to_be16(WEFT_LID_PERMISSIVE);
	smp->dr_dlid = cpu_to_be16(WEFT_LID_PERMISSIVE);
}

u16 sm_ask(struct kunit *test, u8 method, __be16 attr, u32 mod)
{
	struct fake_sm *sm = test->priv;

	sm_request(sm, method, attr, mod);
	KUNIT_ASSERT_EQ(test, sm_process(sm), WEFT_SMA_REPLY);
	KUNIT_EXPECT_EQ(test, sm->smp.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_TRUE(test, sm->smp.status & IB_SMP_DIRECTION);
	KUNIT_EXPECT_EQ(test, sm->smp.hop_ptr, 2);
	KUNIT_EXPECT_EQ(test, sm->smp.hop_cnt, 1);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm->smp.tid), FAKE_TID);
	KUNIT_EXPECT_TRUE(test, sm->smp.attr_id == attr);
	KUNIT_EXPECT_FALSE(test, sm->effect.bad_mkey);
	return be16_to_cpu(sm->smp.status) & 0x7fff;
}

struct ib_port_info *sm_info(struct fake_sm *sm)
{
	return (struct ib_port_info *)sm->smp.data;
}

struct ib_port_info *sm_begin_set(struct kunit *test, u32 mod, u8 state)
{
	struct fake_sm *sm = test->priv;

	KUNIT_ASSERT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, mod), OK);
	sm_info(sm)->linkspeed_portstate = (sm_info(sm)->linkspeed_portstate & 0xf0) | state;
	sm_info(sm)->portphysstate_linkdown &= 15;
	if (!sm_info(sm)->lid)
		sm_info(sm)->lid = cpu_to_be16(SM_LID);
	return sm_info(sm);
}

u16 sm_end_set(struct kunit *test, u32 mod)
{
	return sm_ask(test, SET, IB_SMP_ATTR_PORT_INFO, mod);
}

u16 sm_set_state(struct kunit *test, u32 mod, u8 state)
{
	sm_begin_set(test, mod, state);
	return sm_end_set(test, mod);
}

u8 sm_phys(const struct weft_ibport *ibport)
{
	return ibport->info.portphysstate_linkdown >> 4;
}
