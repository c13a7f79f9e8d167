// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of fabric/route.c, and of forwarding in fabric/agent.c: directed routes, with what ib_mad
 * does at both ends.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "fabric/route.h"
#include "fuzz.h"
#include "switch_model.h"

#define ROUTE_GUID	0x0200ff00fe000010ULL
#define ROUTE_SEED	0x77656674
#define ROUTE_FUZZ	30000
#define ROUTE_PORTS	WEFT_SWITCH_PORTS
#define ROUTE_LID	12

/* CA - port 1 of first, its port 2 - port 3 of second, its port 4 - CA */
struct chain {
	struct model	first;
	struct model	second;
};

static int chain_init(struct kunit *test)
{
	struct chain *chain = kunit_kzalloc(test, sizeof(*chain), GFP_KERNEL);
	int ret;

	if (!chain)
		return -ENOMEM;
	ret = model_create(&chain->first, ROUTE_GUID);
	if (ret)
		return ret;
	ret = model_create(&chain->second, ROUTE_GUID + 1);
	if (ret) {
		model_destroy(&chain->first);
		return ret;
	}
	model_join(&chain->first, 2, &chain->second, 3);
	test->priv = chain;
	return 0;
}

static void chain_exit(struct kunit *test)
{
	struct chain *chain = test->priv;

	if (!chain)
		return;
	/* a switch must get no packets from the other one while it is destroyed */
	weft_ibport_unplug(chain->first.end[2].port);
	weft_ibport_unplug(chain->second.end[3].port);
	model_destroy(&chain->first);
	model_destroy(&chain->second);
}

/* A channel adapter receives a request at its port 1, and responds as ib_mad does. */
static void ca_answer(struct kunit *test, struct model_mad *mad)
{
	struct ib_smp *smp = &mad->smp;

	KUNIT_ASSERT_FALSE(test, ib_get_smp_direction(smp));
	KUNIT_ASSERT_EQ(test, smp->hop_ptr, smp->hop_cnt);
	smp->return_path[smp->hop_ptr] = 1;
	smp->hop_ptr++;
	smp->method = IB_MGMT_METHOD_GET_RESP;
	smp->status = IB_SMP_DIRECTION;
	smp->hop_ptr--;
	KUNIT_ASSERT_EQ(test, smp->return_path[smp->hop_ptr], 1);
}

static void relays_there_and_back(struct kunit *test)
{
	static const u8 path[] = { 2, 4 };
	struct chain *chain = test->priv;
	struct model_mad mad;

	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, path, ARRAY_SIZE(path));
	model_send(&chain->first, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(&chain->second, 4, &mad));
	KUNIT_EXPECT_EQ(test, mad.address.dlid, WEFT_LID_PERMISSIVE);
	KUNIT_EXPECT_EQ(test, mad.address.slid, WEFT_LID_PERMISSIVE);
	KUNIT_EXPECT_EQ(test, mad.address.vl, WEFT_VL_SMP);
	ca_answer(test, &mad);
	KUNIT_EXPECT_EQ(test, mad.smp.return_path[1], 1);
	KUNIT_EXPECT_EQ(test, mad.smp.return_path[2], 3);
	model_send(&chain->second, 4, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(&chain->first, 1, &mad));
	KUNIT_EXPECT_TRUE(test, model_answered(&mad));
}

/* The same from the other end. */
static void relays_the_other_way(struct kunit *test)
{
	static const u8 path[] = { 3, 1 };
	struct chain *chain = test->priv;
	struct model_mad mad;

	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, path, ARRAY_SIZE(path));
	model_send(&chain->second, 4, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(&chain->first, 1, &mad));
	ca_answer(test, &mad);
	model_send(&chain->first, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(&chain->second, 4, &mad));
	KUNIT_EXPECT_TRUE(test, model_answered(&mad));
}

static __be64 node_guid(const struct model_mad *mad)
{
	return ((const struct ib_node_info *)mad->smp.data)->node_guid;
}

static void ends_at_each_switch(struct kunit *test)
{
	static const u8 path[] = { 2 };
	struct chain *chain = test->priv;
	struct model_mad mad;

	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	model_send(&chain->first, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(&chain->first, 1, &mad));
	KUNIT_EXPECT_TRUE(test, model_answered(&mad));
	KUNIT_EXPECT_EQ(test, be64_to_cpu(node_guid(&mad)), ROUTE_GUID);
	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, path, ARRAY_SIZE(path));
	model_send(&chain->first, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(&chain->first, 1, &mad));
	KUNIT_EXPECT_TRUE(test, model_answered(&mad));
	KUNIT_EXPECT_EQ(test, be64_to_cpu(node_guid(&mad)), ROUTE_GUID + 1);
	/* the second switch received the request by port 3 */
	KUNIT_EXPECT_EQ(test, ((struct ib_node_info *)mad.smp.data)->local_port_num, 3);
}

static void all_lids_by_port_1(struct kunit *test, struct model *model)
{
	struct model_mad mad = {};

	/* LinearFDBTop */
	mad.smp.data[7] = ROUTE_LID;
	KUNIT_ASSERT_TRUE(test, model_ask(model, &mad, IB_MGMT_METHOD_SET,
					  IB_SMP_ATTR_SWITCH_INFO, 0));
	memset(mad.smp.data, 1, IB_SMP_DATA_SIZE);
	KUNIT_ASSERT_TRUE(test, model_ask(model, &mad, IB_MGMT_METHOD_SET,
					  IB_SMP_ATTR_LINEAR_FORWARD_TABLE, 0));
}

/* By LID to the second switch, and directed from there on; the response likewise. */
static void begins_behind_lids(struct kunit *test)
{
	struct chain *chain = test->priv;
	struct model_mad mad;

	model_set_lids(&chain->second, ROUTE_LID, 0);
	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	mad.address.dlid = ROUTE_LID;
	mad.address.slid = 1;
	mad.smp.dr_slid = cpu_to_be16(1);
	mad.smp.hop_ptr = 0;
	mad.smp.initial_path[1] = 4;
	model_send(&chain->second, 1, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(&chain->second, 4, &mad));
	KUNIT_EXPECT_EQ(test, mad.address.dlid, WEFT_LID_PERMISSIVE);
	ca_answer(test, &mad);
	all_lids_by_port_1(test, &chain->second);
	model_send(&chain->second, 4, &mad);
	KUNIT_ASSERT_TRUE(test, model_receive(&chain->second, 1, &mad));
	KUNIT_EXPECT_EQ(test, mad.address.dlid, 1);
	KUNIT_EXPECT_EQ(test, mad.address.slid, ROUTE_LID);
	KUNIT_EXPECT_EQ(test, mad.smp.hop_ptr, 0);
}

/* A step of a route, and its result. */
struct route_step {
	const char	*name;
	u8		hop_ptr;
	u8		hop_cnt;
	bool		back;
	bool		by_lid;
	u8		next;
	enum weft_route_verdict verdict;
	u8		then;		/* hop pointer after the step */
};

static const struct route_step route_steps[] = {
	{ "intermediate", 1, 2, false, false, 5, WEFT_ROUTE_PORT, 2 },
	{ "to the last port", 1, 2, false, false, 36, WEFT_ROUTE_PORT, 2 },
	{ "to no port", 1, 2, false, false, 37, WEFT_ROUTE_DROP, 2 },
	{ "to port 255", 1, 2, false, false, 255, WEFT_ROUTE_DROP, 2 },
	{ "to port 0", 1, 2, false, false, 0, WEFT_ROUTE_DROP, 2 },
	{ "first step not made", 0, 2, false, false, 5, WEFT_ROUTE_DROP, 0 },
	{ "first step not made, no directed part before", 0, 2, false, true, 5,
	  WEFT_ROUTE_DROP, 0 },
	{ "end", 2, 2, false, false, 5, WEFT_ROUTE_HERE, 3 },
	{ "longest", 63, 63, false, false, 5, WEFT_ROUTE_HERE, 64 },
	{ "next to longest", 62, 63, false, false, 5, WEFT_ROUTE_PORT, 63 },
	{ "too long", 1, 64, false, false, 5, WEFT_ROUTE_DROP, 1 },
	{ "much too long", 254, 255, false, false, 5, WEFT_ROUTE_DROP, 254 },
	{ "arrived", 3, 2, false, false, 5, WEFT_ROUTE_HERE, 3 },
	{ "beyond", 4, 2, false, false, 5, WEFT_ROUTE_DROP, 4 },
	{ "far beyond", 255, 2, false, false, 5, WEFT_ROUTE_DROP, 255 },
	{ "no hops", 0, 0, false, false, 5, WEFT_ROUTE_HERE, 1 },
	{ "back", 2, 2, true, false, 5, WEFT_ROUTE_PORT, 1 },
	{ "back, longest", 63, 63, true, false, 36, WEFT_ROUTE_PORT, 62 },
	{ "back to no port", 2, 2, true, false, 37, WEFT_ROUTE_DROP, 1 },
	{ "back to port 0", 2, 2, true, false, 0, WEFT_ROUTE_DROP, 1 },
	{ "back, first step not made", 3, 2, true, false, 5, WEFT_ROUTE_DROP, 3 },
	{ "back, beyond", 4, 2, true, false, 5, WEFT_ROUTE_DROP, 4 },
	{ "back, too long", 2, 64, true, false, 5, WEFT_ROUTE_DROP, 2 },
	{ "back at no manager", 1, 2, true, false, 5, WEFT_ROUTE_DROP, 0 },
	{ "back and done", 0, 2, true, false, 5, WEFT_ROUTE_DROP, 0 },
};

static void route_makes_one_step(struct kunit *test)
{
	const struct route_step *step = route_steps;
	struct weft_route route;
	struct model_mad mad;
	struct ib_smp *smp;

	for (; step < route_steps + ARRAY_SIZE(route_steps); step++) {
		model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
		smp = &mad.smp;
		smp->hop_ptr = step->hop_ptr;
		smp->hop_cnt = step->hop_cnt;
		smp->status = step->back ? IB_SMP_DIRECTION : 0;
		memset(step->back ? smp->return_path : smp->initial_path, step->next,
		       IB_SMP_MAX_PATH_HOPS);
		route = weft_route_smp(smp, 7, step->by_lid, ROUTE_PORTS);
		KUNIT_EXPECT_EQ_MSG(test, route.verdict, step->verdict, "%s", step->name);
		KUNIT_EXPECT_EQ_MSG(test, smp->hop_ptr, step->then, "%s", step->name);
		if (route.verdict == WEFT_ROUTE_PORT)
			KUNIT_EXPECT_EQ_MSG(test, route.port, step->next, "%s", step->name);
		if (step->back || step->then == step->hop_ptr || !step->hop_ptr)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, smp->return_path[step->hop_ptr], 7, "%s", step->name);
	}
}

/* The response to a route of any length leaves by the port by which the request came. */
static void answer_goes_back(struct kunit *test)
{
	struct weft_route route;
	struct model_mad mad;
	u8 hops;

	for (hops = 1; hops < IB_SMP_MAX_PATH_HOPS; hops++) {
		model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
		mad.smp.hop_cnt = hops;
		mad.smp.hop_ptr = hops;
		route = weft_route_smp(&mad.smp, 9, false, ROUTE_PORTS);
		KUNIT_ASSERT_EQ(test, route.verdict, WEFT_ROUTE_HERE);
		mad.smp.status |= IB_SMP_DIRECTION;
		route = weft_route_smp(&mad.smp, 0, false, ROUTE_PORTS);
		KUNIT_EXPECT_EQ(test, route.verdict, WEFT_ROUTE_PORT);
		KUNIT_EXPECT_EQ(test, route.port, 9);
		KUNIT_EXPECT_EQ(test, mad.smp.hop_ptr, hops);
	}
}

/* Random SMPs: the route stays inside the switch's ports, and no other field changes. */
static void route_survives_noise(struct kunit *test)
{
	struct weft_route route;
	struct ib_smp smp, old;
	struct rnd_state rnd;
	u32 i;

	prandom_seed_state(&rnd, ROUTE_SEED + fuzz_seed);
	for_each_fuzz(i, ROUTE_FUZZ) {
		prandom_bytes_state(&rnd, &smp, sizeof(smp));
		if (i % 2)
			smp.hop_cnt %= IB_SMP_MAX_PATH_HOPS;
		if (i % 4 == 1)
			smp.hop_ptr %= IB_SMP_MAX_PATH_HOPS;
		if (i % 8 == 1)
			smp.dr_slid = cpu_to_be16(WEFT_LID_PERMISSIVE);
		old = smp;
		route = weft_route_smp(&smp, i % (ROUTE_PORTS + 1), i & 64, ROUTE_PORTS);
		if (route.verdict == WEFT_ROUTE_PORT &&
		    (!route.port || route.port > ROUTE_PORTS))
			KUNIT_FAIL(test, "%u: port %u", i, route.port);
		old.hop_ptr = smp.hop_ptr;
		memcpy(old.return_path, smp.return_path, sizeof(old.return_path));
		if (memcmp(&old, &smp, sizeof(smp)))
			KUNIT_FAIL(test, "%u: something else has changed", i);
	}
}

static struct kunit_case chain_cases[] = {
	KUNIT_CASE(relays_there_and_back),
	KUNIT_CASE(relays_the_other_way),
	KUNIT_CASE(ends_at_each_switch),
	KUNIT_CASE(begins_behind_lids),
	{}
};

static struct kunit_suite chain_suite = {
	.name = "weft_route_chain",
	.init = chain_init,
	.exit = chain_exit,
	.test_cases = chain_cases,
};

static struct kunit_case route_cases[] = {
	KUNIT_CASE(route_makes_one_step),
	KUNIT_CASE(answer_goes_back),
	KUNIT_CASE(route_survives_noise),
	{}
};

static struct kunit_suite route_suite = {
	.name = "weft_route",
	.test_cases = route_cases,
};

kunit_test_suites(&chain_suite, &route_suite);
