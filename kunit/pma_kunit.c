// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of fabric/pma.c: requests of perfquery and similar tools. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <rdma/ib_pma.h>

#include "fabric/pma.h"
#include "fake_node.h"
#include "fuzz.h"

#define PMA_SEED	0x706d6120
#define PMA_FUZZ	6000

#define PMA_EVERYTHING	0xffff
#define PMA_ALL		255

/* A switch, and the MAD that it answers. */
struct pma_fixture {
	struct fake_node	*fake;
	struct ib_pma_mad	mad;	/* request and response */
};

static int pma_test_init(struct kunit *test)
{
	struct pma_fixture *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fx);
	fx->fake = fake_node_create(test, WEFT_NODE_SWITCH);
	test->priv = fx;
	return 0;
}

static void count(struct pma_fixture *fx, u8 port, enum weft_ibport_counter counter, u64 n)
{
	atomic64_add(n, &fx->fake->port[port].ib.counters[counter]);
}

static u16 pma_ask(struct kunit *test, u8 method, __be16 attr)
{
	struct pma_fixture *fx = test->priv;
	struct ib_mad_hdr *hdr = &fx->mad.mad_hdr;
	struct ib_mad *mad = (struct ib_mad *)&fx->mad;

	hdr->base_version = 1;
	hdr->mgmt_class = IB_MGMT_CLASS_PERF_MGMT;
	hdr->class_version = 1;
	hdr->method = method;
	hdr->attr_id = attr;
	hdr->tid = cpu_to_be64(0x1234);
	KUNIT_ASSERT_TRUE(test, weft_pma_process(&fx->fake->node, 1, mad, mad));
	KUNIT_EXPECT_EQ(test, hdr->method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(hdr->tid), 0x1234);
	return be16_to_cpu(hdr->status);
}

static struct ib_pma_portcounters *pma_get(struct kunit *test, u8 port)
{
	struct pma_fixture *fx = test->priv;
	struct ib_pma_portcounters *pc = (void *)fx->mad.data;

	memset(fx->mad.data, 0xa5, sizeof(fx->mad.data));
	pc->port_select = port;
	KUNIT_ASSERT_EQ(test, pma_ask(test, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS), 0);
	KUNIT_EXPECT_EQ(test, pc->port_select, port);
	return pc;
}

static struct ib_pma_portcounters_ext *pma_get_ext(struct kunit *test, u8 port)
{
	struct pma_fixture *fx = test->priv;
	struct ib_pma_portcounters_ext *pc = (void *)fx->mad.data;

	memset(fx->mad.data, 0xa5, sizeof(fx->mad.data));
	pc->port_select = port;
	KUNIT_ASSERT_EQ(test, pma_ask(test, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS_EXT), 0);
	return pc;
}

/* Reset counters as perfquery -R does. */
static void pma_reset(struct kunit *test, u8 port, u16 select, u8 select2)
{
	struct pma_fixture *fx = test->priv;
	struct ib_pma_portcounters *pc = (void *)fx->mad.data;

	memset(fx->mad.data, 0, sizeof(fx->mad.data));
	pc->port_select = port;
	pc->counter_select = cpu_to_be16(select);
	pc->reserved1 = select2;
	KUNIT_ASSERT_EQ(test, pma_ask(test, IB_MGMT_METHOD_SET, IB_PMA_PORT_COUNTERS), 0);
}

static void class_port_info(struct kunit *test)
{
	struct pma_fixture *fx = test->priv;
	struct ib_class_port_info *info = (void *)fx->mad.data;
	u16 caps;

	KUNIT_EXPECT_EQ(test, pma_ask(test, IB_MGMT_METHOD_GET, IB_PMA_CLASS_PORT_INFO), 0);
	caps = be16_to_cpu(info->capability_mask);
	KUNIT_EXPECT_EQ(test, caps, BIT(8) | BIT(9) | BIT(12));
	KUNIT_EXPECT_EQ(test, info->base_version, 1);
	KUNIT_EXPECT_EQ(test, info->class_version, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(info->cap_mask2_resp_time), 18);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(info->redirect_lid), 0);
	KUNIT_EXPECT_EQ(test, pma_ask(test, IB_MGMT_METHOD_SET, IB_PMA_CLASS_PORT_INFO),
			IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
}

/* Each counter has another value, so that none can be taken for another one. */
static void every_counter_at_its_place(struct kunit *test)
{
	struct ib_pma_portcounters_ext *ext;
	struct ib_pma_portcounters *pc;
	int i;

	for (i = 0; i < WEFT_IBC_COUNT; i++)
		count(test->priv, 1, i, 100 + i);
	pc = pma_get(test, 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->symbol_error_counter),
			100 + WEFT_IBC_SYMBOL_ERRORS);
	KUNIT_EXPECT_EQ(test, pc->link_error_recovery_counter, 100 + WEFT_IBC_LINK_RECOVERIES);
	KUNIT_EXPECT_EQ(test, pc->link_downed_counter, 100 + WEFT_IBC_LINK_DOWNED);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->port_rcv_errors), 100 + WEFT_IBC_RCV_ERRORS);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->port_rcv_remphys_errors), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->port_rcv_switch_relay_errors),
			100 + WEFT_IBC_RELAY_ERRORS);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->port_xmit_discards),
			100 + WEFT_IBC_XMIT_DISCARDS);
	KUNIT_EXPECT_EQ(test, pc->port_xmit_constraint_errors,
			100 + WEFT_IBC_XMIT_CONSTRAINT);
	KUNIT_EXPECT_EQ(test, pc->port_rcv_constraint_errors, 100 + WEFT_IBC_RCV_CONSTRAINT);
	KUNIT_EXPECT_EQ(test, pc->link_overrun_errors, 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->vl15_dropped), 100 + WEFT_IBC_VL15_DROPPED);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_data), 100 + WEFT_IBC_XMIT_DATA);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_rcv_data), 100 + WEFT_IBC_RCV_DATA);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_packets), 100 + WEFT_IBC_XMIT_PKTS);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_rcv_packets), 100 + WEFT_IBC_RCV_PKTS);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_wait), 100 + WEFT_IBC_XMIT_WAIT);

	ext = pma_get_ext(test, 1);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_xmit_data), 100 + WEFT_IBC_XMIT_DATA);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_rcv_data), 100 + WEFT_IBC_RCV_DATA);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_unicast_xmit_packets),
			100 + WEFT_IBC_UNICAST_XMIT);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_multicast_rcv_packets),
			100 + WEFT_IBC_MULTICAST_RCV);
}

static void counters_stay_at_the_top(struct kunit *test)
{
	struct pma_fixture *fx = test->priv;
	struct ib_pma_portcounters *pc;

	count(fx, 1, WEFT_IBC_SYMBOL_ERRORS, 0x10000);
	count(fx, 1, WEFT_IBC_LINK_DOWNED, 0x100);
	count(fx, 1, WEFT_IBC_XMIT_DATA, 0x100000000ULL);
	count(fx, 1, WEFT_IBC_RCV_DATA, 0xfffffffeULL);
	pc = pma_get(test, 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->symbol_error_counter), 0xffff);
	KUNIT_EXPECT_EQ(test, pc->link_downed_counter, 0xff);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_data), 0xffffffff);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_rcv_data), 0xfffffffe);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(pma_get_ext(test, 1)->port_xmit_data),
			0x100000000ULL);
}

/* A reset changes only the selected counters, and not those of the other attribute. */
static void resets_what_is_selected(struct kunit *test)
{
	struct pma_fixture *fx = test->priv;
	struct ib_pma_portcounters *pc;

	count(fx, 1, WEFT_IBC_XMIT_DATA, 10);
	count(fx, 1, WEFT_IBC_RCV_DATA, 20);
	count(fx, 1, WEFT_IBC_XMIT_WAIT, 30);
	pma_reset(test, 1, BIT(12), 0);
	pc = pma_get(test, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_data), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_rcv_data), 20);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(pma_get_ext(test, 1)->port_xmit_data), 10);

	pma_reset(test, 1, PMA_EVERYTHING, 0);
	pc = pma_get(test, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_rcv_data), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_wait), 30);
	pma_reset(test, 1, 0, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, 1)->port_xmit_wait), 0);

	count(fx, 1, WEFT_IBC_XMIT_DATA, 5);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, 1)->port_xmit_data), 5);
}

static void resets_extended_counters(struct kunit *test)
{
	struct pma_fixture *fx = test->priv;
	struct ib_pma_portcounters_ext *pc = (void *)fx->mad.data;

	count(fx, 1, WEFT_IBC_XMIT_DATA, 10);
	count(fx, 1, WEFT_IBC_UNICAST_RCV, 20);
	memset(fx->mad.data, 0, sizeof(fx->mad.data));
	pc->port_select = 1;
	pc->counter_select = IB_PMA_SELX_PORT_UNI_RCV_PACKETS;
	KUNIT_EXPECT_EQ(test, pma_ask(test, IB_MGMT_METHOD_SET, IB_PMA_PORT_COUNTERS_EXT), 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(pc->port_unicast_rcv_packets), 0);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(pc->port_xmit_data), 10);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, 1)->port_xmit_data), 10);
}

static void any_value_can_be_set(struct kunit *test)
{
	struct pma_fixture *fx = test->priv;
	struct ib_pma_portcounters *pc = (void *)fx->mad.data;

	count(fx, 2, WEFT_IBC_RCV_ERRORS, 3);
	memset(fx->mad.data, 0, sizeof(fx->mad.data));
	pc->port_select = 2;
	pc->counter_select = IB_PMA_SEL_PORT_RCV_ERRORS;
	pc->port_rcv_errors = cpu_to_be16(1000);
	KUNIT_EXPECT_EQ(test, pma_ask(test, IB_MGMT_METHOD_SET, IB_PMA_PORT_COUNTERS), 0);
	count(fx, 2, WEFT_IBC_RCV_ERRORS, 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pma_get(test, 2)->port_rcv_errors), 1001);
}

static void all_ports_add_up(struct kunit *test)
{
	struct pma_fixture *fx = test->priv;
	int i;

	for (i = 0; i <= FAKE_PORTS; i++)
		count(fx, i, WEFT_IBC_XMIT_PKTS, 10 + i);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, 0)->port_xmit_packets), 10);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, 3)->port_xmit_packets), 13);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, PMA_ALL)->port_xmit_packets), 36);
	pma_reset(test, PMA_ALL, PMA_EVERYTHING, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, PMA_ALL)->port_xmit_packets), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, 2)->port_xmit_packets), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pma_get(test, 0)->port_xmit_packets), 10);
}

static void refuses_what_is_wrong(struct kunit *test)
{
	struct pma_fixture *fx = test->priv;
	struct ib_mad *mad = (struct ib_mad *)&fx->mad;

	fx->mad.data[1] = FAKE_PORTS + 1;
	KUNIT_EXPECT_EQ(test, pma_ask(test, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS),
			IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	fx->mad.data[1] = 1;
	fx->mad.mad_hdr.attr_mod = cpu_to_be32(1);
	KUNIT_EXPECT_EQ(test, pma_ask(test, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS),
			IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	fx->mad.mad_hdr.attr_mod = 0;
	KUNIT_EXPECT_EQ(test, pma_ask(test, IB_MGMT_METHOD_GET, cpu_to_be16(0x7777)),
			IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	KUNIT_EXPECT_EQ(test, pma_ask(test, 0x40, IB_PMA_PORT_COUNTERS),
			IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD);

	mad->mad_hdr.method = IB_MGMT_METHOD_GET;
	mad->mad_hdr.class_version = 2;
	KUNIT_EXPECT_TRUE(test, weft_pma_process(&fx->fake->node, 1, mad, mad));
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mad->mad_hdr.status),
			IB_MGMT_MAD_STATUS_BAD_VERSION);
	mad->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	KUNIT_EXPECT_FALSE(test, weft_pma_process(&fx->fake->node, 1, mad, mad));
}

/* A port without a node answers Get only. */
static void shows_figures(struct kunit *test)
{
	const u64 counts[WEFT_IBC_COUNT] = {
		[WEFT_IBC_XMIT_DATA] = 0x100000000ULL, [WEFT_IBC_RCV_PKTS] = 7,
		[WEFT_IBC_RCV_ERRORS] = 3,
	};
	struct pma_fixture *fx = test->priv;
	struct ib_mad *mad = (struct ib_mad *)&fx->mad;
	struct ib_pma_portcounters *pc = (void *)fx->mad.data;
	struct ib_pma_portcounters_ext *ext = (void *)fx->mad.data;
	struct ib_class_port_info *info = (void *)fx->mad.data;

	mad->mad_hdr.method = IB_MGMT_METHOD_GET;
	mad->mad_hdr.attr_id = IB_PMA_PORT_COUNTERS;
	KUNIT_ASSERT_TRUE(test, weft_pma_show(counts, mad, mad));
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mad->mad_hdr.status), 0);
	KUNIT_EXPECT_EQ(test, mad->mad_hdr.method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_xmit_data), U32_MAX);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(pc->port_rcv_packets), 7);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(pc->port_rcv_errors), 3);

	mad->mad_hdr.method = IB_MGMT_METHOD_GET;
	mad->mad_hdr.attr_id = IB_PMA_PORT_COUNTERS_EXT;
	KUNIT_ASSERT_TRUE(test, weft_pma_show(counts, mad, mad));
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ext->port_xmit_data), 0x100000000ULL);

	mad->mad_hdr.method = IB_MGMT_METHOD_GET;
	mad->mad_hdr.attr_id = IB_PMA_CLASS_PORT_INFO;
	KUNIT_ASSERT_TRUE(test, weft_pma_show(counts, mad, mad));
	KUNIT_EXPECT_EQ(test, (__force u16)info->capability_mask,
			(__force u16)IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF);

	mad->mad_hdr.method = IB_MGMT_METHOD_GET;
	mad->mad_hdr.attr_id = IB_PMA_PORT_SAMPLES_CONTROL;
	KUNIT_ASSERT_TRUE(test, weft_pma_show(counts, mad, mad));
	KUNIT_EXPECT_EQ(test, be16_to_cpu(mad->mad_hdr.status),
			IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	mad->mad_hdr.method = IB_MGMT_METHOD_SET;
	mad->mad_hdr.attr_id = IB_PMA_PORT_COUNTERS;
	KUNIT_EXPECT_FALSE(test, weft_pma_show(counts, mad, mad));
}

/* A channel adapter has no port 0. */
static void no_port_0(struct kunit *test)
{
	struct pma_fixture *fx = test->priv;

	fx->fake = fake_node_create(test, WEFT_NODE_CA);
	KUNIT_EXPECT_EQ(test, pma_ask(test, IB_MGMT_METHOD_GET, IB_PMA_PORT_COUNTERS),
			IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
}

static void survives_anything(struct kunit *test)
{
	static const __be16 attrs[] = {
		IB_PMA_CLASS_PORT_INFO, IB_PMA_PORT_COUNTERS, IB_PMA_PORT_COUNTERS_EXT,
		IB_PMA_PORT_SAMPLES_CONTROL,
	};
	struct pma_fixture *fx = test->priv;
	struct ib_mad *in = kunit_kmalloc(test, sizeof(*in), GFP_KERNEL);
	struct ib_mad *out = kunit_kmalloc(test, sizeof(*out), GFP_KERNEL);
	u32 i, answers = 0;
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, in);
	KUNIT_ASSERT_NOT_NULL(test, out);
	prandom_seed_state(&rnd, PMA_SEED + fuzz_seed);
	for_each_fuzz(i, PMA_FUZZ) {
		prandom_bytes_state(&rnd, in, sizeof(*in));
		in->mad_hdr.base_version = 1;
		in->mad_hdr.class_version = 1;
		in->mad_hdr.method %= 8;
		in->mad_hdr.attr_id = attrs[prandom_u32_state(&rnd) % ARRAY_SIZE(attrs)];
		if (prandom_u32_state(&rnd) % 4)
			in->mad_hdr.attr_mod = 0;
		answers += weft_pma_process(&fx->fake->node, i, in, out);
	}
	KUNIT_EXPECT_GT(test, answers, 0);
	KUNIT_EXPECT_LT(test, answers, fuzz_rounds(PMA_FUZZ));
}

static struct kunit_case pma_cases[] = {
	KUNIT_CASE(class_port_info),
	KUNIT_CASE(every_counter_at_its_place),
	KUNIT_CASE(counters_stay_at_the_top),
	KUNIT_CASE(resets_what_is_selected),
	KUNIT_CASE(resets_extended_counters),
	KUNIT_CASE(any_value_can_be_set),
	KUNIT_CASE(all_ports_add_up),
	KUNIT_CASE(refuses_what_is_wrong),
	KUNIT_CASE(shows_figures),
	KUNIT_CASE(no_port_0),
	KUNIT_CASE(survives_anything),
	{}
};

static struct kunit_suite pma_suite = {
	.name = "weft_pma",
	.init = pma_test_init,
	.test_cases = pma_cases,
};

kunit_test_suite(pma_suite);
