// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of fabric/portinfo.c: states, and valid and invalid fields. */
#include <kunit/test.h>
#include <linux/string.h>

#include "fabric/sma.h"
#include "fake_sm.h"

#define PORTINFO_MKEY	0x0123456789abcdefULL

/* A Set of PortState and PortPhysicalState. */
struct state_row {
	bool	plugged;		/* there is a cable */
	u8	from;			/* PortState before */
	u8	state;
	u8	phys;
	u16	status;			/* of the response */
	u8	to;			/* PortState after that */
	u32	events;
};

#define ERR_LINK	(WEFT_IBPORT_ERR | WEFT_IBPORT_LINK)

static const struct state_row state_rows[] = {
	{ true, IB_PORT_INIT, IB_PORT_NOP, 0, OK, IB_PORT_INIT, 0 },
	{ true, IB_PORT_INIT, IB_PORT_DOWN, 0, OK, IB_PORT_INIT, WEFT_IBPORT_LINK },
	{ true, IB_PORT_INIT, IB_PORT_INIT, 0, BAD_VALUE, IB_PORT_INIT, 0 },
	{ true, IB_PORT_INIT, IB_PORT_ARMED, 0, OK, IB_PORT_ARMED, 0 },
	{ true, IB_PORT_INIT, IB_PORT_ACTIVE, 0, BAD_VALUE, IB_PORT_INIT, 0 },
	{ true, IB_PORT_INIT, 5, 0, BAD_VALUE, IB_PORT_INIT, 0 },
	{ true, IB_PORT_INIT, 15, 0, BAD_VALUE, IB_PORT_INIT, 0 },
	{ true, IB_PORT_INIT, IB_PORT_ARMED, 2, BAD_VALUE, IB_PORT_INIT, 0 },
	{ true, IB_PORT_INIT, IB_PORT_NOP, 4, BAD_VALUE, IB_PORT_INIT, 0 },
	{ true, IB_PORT_INIT, IB_PORT_NOP, 15, BAD_VALUE, IB_PORT_INIT, 0 },
	{ true, IB_PORT_ARMED, IB_PORT_ARMED, 0, OK, IB_PORT_ARMED, 0 },
	{ true, IB_PORT_ARMED, IB_PORT_ACTIVE, 0, OK, IB_PORT_ACTIVE, WEFT_IBPORT_ACTIVE },
	{ true, IB_PORT_ARMED, IB_PORT_DOWN, 0, OK, IB_PORT_INIT, WEFT_IBPORT_LINK },
	{ true, IB_PORT_ACTIVE, IB_PORT_ARMED, 0, OK, IB_PORT_ACTIVE, 0 },
	{ true, IB_PORT_ACTIVE, IB_PORT_ACTIVE, 0, OK, IB_PORT_ACTIVE, 0 },
	{ true, IB_PORT_ACTIVE, IB_PORT_DOWN, 0, OK, IB_PORT_INIT, ERR_LINK },
	{ true, IB_PORT_ACTIVE, IB_PORT_NOP, 2, OK, IB_PORT_INIT, ERR_LINK },
	{ true, IB_PORT_ACTIVE, IB_PORT_DOWN, 1, OK, IB_PORT_INIT, ERR_LINK },
	{ true, IB_PORT_ACTIVE, IB_PORT_NOP, 3, OK, IB_PORT_DOWN, ERR_LINK },
	{ true, IB_PORT_ACTIVE, IB_PORT_DOWN, 3, OK, IB_PORT_DOWN, ERR_LINK },
	{ true, IB_PORT_ACTIVE, IB_PORT_ACTIVE, 3, BAD_VALUE, IB_PORT_ACTIVE, 0 },
	{ false, IB_PORT_DOWN, IB_PORT_DOWN, 0, OK, IB_PORT_DOWN, 0 },
	{ false, IB_PORT_DOWN, IB_PORT_ARMED, 0, BAD_VALUE, IB_PORT_DOWN, 0 },
	{ false, IB_PORT_DOWN, IB_PORT_ACTIVE, 0, BAD_VALUE, IB_PORT_DOWN, 0 },
	{ false, IB_PORT_DOWN, IB_PORT_NOP, 2, OK, IB_PORT_DOWN, 0 },
};

static void state_row_desc(const struct state_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u%s: Set %u, %u", row->from,
		 row->plugged ? "" : " without cable", row->state, row->phys);
}

KUNIT_ARRAY_PARAM(state_row, state_rows, state_row_desc);

/* The Set comes by one port and is about another one. */
static void states(struct kunit *test)
{
	const struct state_row *row = test->param_value;
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set;

	if (!row->plugged)
		weft_ibport_unplug(sm_port(sm, 2));
	if (row->from >= IB_PORT_ARMED)
		KUNIT_ASSERT_EQ(test, sm_set_state(test, 2, IB_PORT_ARMED), OK);
	if (row->from >= IB_PORT_ACTIVE)
		KUNIT_ASSERT_EQ(test, sm_set_state(test, 2, IB_PORT_ACTIVE), OK);
	set = sm_begin_set(test, 2, row->state);
	set->portphysstate_linkdown |= row->phys << 4;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 2), row->status);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 2)->state, row->to);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->linkspeed_portstate & 15, row->to);
	KUNIT_EXPECT_EQ(test, sm->effect.events & ~WEFT_IBPORT_LID, row->events);
}

static void bring_up(struct kunit *test, u8 num)
{
	KUNIT_ASSERT_EQ(test, sm_set_state(test, num, IB_PORT_ARMED), OK);
	KUNIT_ASSERT_EQ(test, sm_set_state(test, num, IB_PORT_ACTIVE), OK);
}

/* A subnet manager disables the port that it uses, and enables it by another port. */
static void disable_and_enable(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set;

	bring_up(test, 1);
	set = sm_begin_set(test, 1, IB_PORT_DOWN);
	set->portphysstate_linkdown |= IB_PORT_PHYS_STATE_DISABLED << 4;
	sm_request(sm, SET, IB_SMP_ATTR_PORT_INFO, 1);
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_DROP);
	KUNIT_EXPECT_PTR_EQ(test, sm->effect.port, sm_port(sm, 1));
	KUNIT_EXPECT_EQ(test, sm->effect.events, ERR_LINK);
	KUNIT_EXPECT_FALSE(test, sm->effect.bad_mkey);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->state, IB_PORT_DOWN);

	sm->in_port = 2;
	weft_ibport_unplug(sm_port(sm, 1));
	weft_ibport_plug(sm_port(sm, 1), &sm->fake->port[1].cable);
	KUNIT_EXPECT_EQ(test, sm_set_state(test, 1, IB_PORT_DOWN), OK);
	KUNIT_EXPECT_EQ(test, sm_phys(sm_port(sm, 1)), IB_PORT_PHYS_STATE_DISABLED);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->state, IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, sm_set_state(test, 1, IB_PORT_ARMED), BAD_VALUE);

	set = sm_begin_set(test, 1, IB_PORT_NOP);
	set->portphysstate_linkdown |= IB_PORT_PHYS_STATE_POLLING << 4;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	KUNIT_EXPECT_EQ(test, sm->effect.events, WEFT_IBPORT_LINK);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->state, IB_PORT_INIT);
}

static void set_phys(struct kunit *test, u8 phys)
{
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set = sm_begin_set(test, 1, IB_PORT_DOWN);

	set->portphysstate_linkdown |= phys << 4;
	sm->in_port = 2;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
}

static u32 port_fails(struct weft_ibport *port, bool failed)
{
	unsigned long flags;
	u32 events;

	spin_lock_irqsave(&port->lock, flags);
	events = weft_ibport_fail(port, failed);
	spin_unlock_irqrestore(&port->lock, flags);
	return events;
}

/*
 * Management does not enable the port of a device that has failed. What it has asked for last is
 * done when the device recovers.
 */
static void enable_after_failure(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct weft_ibport *port = sm_port(sm, 1);
	static const struct {
		u8 before, meanwhile, phys;
	} rows[] = {
		{ 0, 0, IB_PORT_PHYS_STATE_LINK_UP },
		{ 0, IB_PORT_PHYS_STATE_POLLING, IB_PORT_PHYS_STATE_LINK_UP },
		{ 0, IB_PORT_PHYS_STATE_DISABLED, IB_PORT_PHYS_STATE_DISABLED },
		{ IB_PORT_PHYS_STATE_DISABLED, 0, IB_PORT_PHYS_STATE_DISABLED },
		{ IB_PORT_PHYS_STATE_DISABLED, IB_PORT_PHYS_STATE_POLLING,
		  IB_PORT_PHYS_STATE_LINK_UP },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		set_phys(test, rows[i].before ?: IB_PORT_PHYS_STATE_POLLING);
		port_fails(port, true);
		KUNIT_EXPECT_EQ(test, sm_phys(port), IB_PORT_PHYS_STATE_DISABLED);
		set_phys(test, rows[i].meanwhile);
		KUNIT_EXPECT_EQ(test, sm_phys(port), IB_PORT_PHYS_STATE_DISABLED);
		KUNIT_EXPECT_EQ(test, port->state, IB_PORT_DOWN);
		KUNIT_EXPECT_EQ(test, sm_set_state(test, 1, IB_PORT_ARMED), BAD_VALUE);
		port_fails(port, false);
		KUNIT_EXPECT_EQ_MSG(test, sm_phys(port), rows[i].phys, "row %d", i);
	}
}

/* A subnet manager at the port itself gets the response nevertheless. */
static void disable_from_here(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set;

	set = sm_begin_set(test, 1, IB_PORT_DOWN);
	set->portphysstate_linkdown |= IB_PORT_PHYS_STATE_DISABLED << 4;
	sm_request(sm, SET, IB_SMP_ATTR_PORT_INFO, 1);
	sm->smp.hop_cnt = 0;
	KUNIT_EXPECT_EQ(test, sm_process(sm), WEFT_SMA_REPLY);
	KUNIT_EXPECT_EQ(test, sm_phys(sm_port(sm, 1)), IB_PORT_PHYS_STATE_DISABLED);
}

/* An invalid value of a byte of PortInfo. */
struct invalid_row {
	const char	*name;
	u8		offset;
	u8		value;
};

#define AT(member)	offsetof(struct ib_port_info, member)

static const struct invalid_row invalid_rows[] = {
	{ "multicast LID", AT(lid), 0xc0 },
	{ "multicast SM LID", AT(sm_lid), 0xc0 },
	{ "12X", AT(link_width_enabled), 8 },
	{ "20 Gb/s", AT(linkspeedactive_enabled), 8 },
	{ "MTU of none", AT(neighbormtu_mastersmsl), 0 },
	{ "MTU above the greatest", AT(neighbormtu_mastersmsl), 6 << 4 },
	{ "two lanes", AT(operationalvl_pei_peo_fpi_fpo), 2 << 4 },
	{ "no such state when the link is down", AT(portphysstate_linkdown), 3 },
};

static void invalid_row_desc(const struct invalid_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(invalid_row, invalid_rows, invalid_row_desc);

/* A Set with one invalid field changes nothing. */
static void all_or_nothing(struct kunit *test)
{
	const struct invalid_row *row = test->param_value;
	struct fake_sm *sm = test->priv;
	struct ib_port_info before, *set;

	before = sm_port(sm, 1)->info;
	set = sm_begin_set(test, 1, IB_PORT_ARMED);
	set->mkey = cpu_to_be64(PORTINFO_MKEY);
	set->gid_prefix = cpu_to_be64(PORTINFO_MKEY);
	set->vl_high_limit = 3;
	sm->smp.data[row->offset] = row->value;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), BAD_VALUE);
	KUNIT_EXPECT_EQ(test, memcmp(&sm_port(sm, 1)->info, &before, sizeof(before)), 0);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->lid, 0);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->state, IB_PORT_INIT);
	KUNIT_EXPECT_EQ(test, sm->effect.events, 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(sm_info(sm)->gid_prefix), 0xfe80000000000000ULL);
}

static void mtu_is_kept(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	sm_begin_set(test, 1, IB_PORT_NOP)->neighbormtu_mastersmsl = IB_MTU_1024 << 4;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), 0);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->mtu, IB_MTU_1024);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->info.neighbormtu_mastersmsl, IB_MTU_1024 << 4);
}

static void lid_zero_is_invalid(struct kunit *test)
{
	sm_begin_set(test, 1, IB_PORT_NOP)->lid = 0;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), BAD_VALUE);
}

/* 0 leaves the field as it is, all ones enable everything that is supported. */
static void widths_and_speeds(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set;

	set = sm_begin_set(test, 1, IB_PORT_NOP);
	set->link_width_enabled = 1;
	set->linkspeedactive_enabled = 3;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	set = sm_begin_set(test, 1, IB_PORT_NOP);
	set->link_width_enabled = 0;
	set->linkspeedactive_enabled = 0;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->link_width_enabled, 1);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->linkspeedactive_enabled, 0x43);
	set = sm_begin_set(test, 1, IB_PORT_NOP);
	set->link_width_enabled = 255;
	set->linkspeedactive_enabled = 15;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->link_width_enabled, 3);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->linkspeedactive_enabled, 0x47);
}

static void read_only_fields_stay(struct kunit *test)
{
	struct fake_sm *sm = test->priv;
	struct ib_port_info *set, before;

	before = sm_port(sm, 1)->info;
	set = sm_begin_set(test, 1, IB_PORT_NOP);
	set->cap_mask = cpu_to_be32(IB_PORT_SM);
	set->diag_code = cpu_to_be16(1);
	set->link_width_supported = 1;
	set->link_width_active = 1;
	set->linkspeed_portstate = 0x10;
	set->vlcap_inittype = 0x44;
	set->inittypereply_mtucap = 1;
	set->guid_cap = 1;
	/* only external ports of switches have filters */
	set->operationalvl_pei_peo_fpi_fpo |= 15;
	set->resv_resptimevalue = 1;
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	before.lid = cpu_to_be16(SM_LID);
	KUNIT_EXPECT_EQ(test, memcmp(&sm_port(sm, 1)->info, &before, sizeof(before)), 0);
	KUNIT_EXPECT_EQ(test, sm_port(sm, 1)->filters, 0);
}

static void prefix_is_told(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	sm_begin_set(test, 1, IB_PORT_NOP)->gid_prefix = cpu_to_be64(0xfec0000000000000ULL);
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	KUNIT_EXPECT_TRUE(test, sm->effect.events & WEFT_IBPORT_GID);
	/* the same again is no change */
	sm_begin_set(test, 1, IB_PORT_NOP);
	KUNIT_EXPECT_EQ(test, sm_end_set(test, 1), OK);
	KUNIT_EXPECT_FALSE(test, sm->effect.events & WEFT_IBPORT_GID);
}

static void ports_by_number(struct kunit *test)
{
	struct fake_sm *sm = test->priv;

	sm_port(sm, 2)->info.sm_lid = cpu_to_be16(2);
	sm_port(sm, 3)->info.sm_lid = cpu_to_be16(3);
	sm->in_port = 2;
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 0), OK);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(sm_info(sm)->sm_lid), 2);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, BIT(31) | 3), OK);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(sm_info(sm)->sm_lid), 3);
	KUNIT_EXPECT_EQ(test, sm_info(sm)->local_port_num, 2);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, FAKE_PORTS + 1),
			BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_ask(test, GET, IB_SMP_ATTR_PORT_INFO, 255), BAD_VALUE);
	KUNIT_EXPECT_EQ(test, sm_ask(test, SET, IB_SMP_ATTR_PORT_INFO, 255), BAD_VALUE);
}

static struct kunit_case portinfo_cases[] = {
	KUNIT_CASE_PARAM(states, state_row_gen_params),
	KUNIT_CASE(disable_and_enable),
	KUNIT_CASE(enable_after_failure),
	KUNIT_CASE(disable_from_here),
	KUNIT_CASE_PARAM(all_or_nothing, invalid_row_gen_params),
	KUNIT_CASE(mtu_is_kept),
	KUNIT_CASE(lid_zero_is_invalid),
	KUNIT_CASE(widths_and_speeds),
	KUNIT_CASE(read_only_fields_stay),
	KUNIT_CASE(prefix_is_told),
	KUNIT_CASE(ports_by_number),
	{}
};

static struct kunit_suite portinfo_suite = {
	.name = "weft_portinfo",
	.init = fake_sm_init,
	.test_cases = portinfo_cases,
};

kunit_test_suite(portinfo_suite);
