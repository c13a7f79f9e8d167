// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of fabric/trap.c and notice.c: traps, their repetition, and how it ends. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/skbuff.h>

#include "fabric/mad.h"
#include "fabric/trap.h"
#include "fake_node.h"

#define TRAP_LID	9
#define TRAP_SM_LID	3
#define TRAP_SLID	17
#define TRAP_FLOOD	3000
/* ms to wait for a trap that is expected, and for one that is not */
#define TRAP_PATIENCE	2000
#define TRAP_SILENCE	100

/* A channel adapter that sends traps. */
struct teller {
	struct fake_node	*fake;
	struct weft_traps	traps;
	struct sk_buff_head	queue;	/* packets that have been sent */
	bool			unwanted;	/* weft_traps_ops.wanted returns false */
};

/* A trap that has been sent. */
struct told {
	struct weft_mad_address	address;
	union {
		struct ib_mad	mad;
		struct ib_smp	smp;
	};
};

static bool teller_wanted(struct weft_traps *traps, const struct weft_notice *notice)
{
	return !READ_ONCE(container_of(traps, struct teller, traps)->unwanted);
}

static void teller_send(struct weft_traps *traps, u16 dlid, struct sk_buff *skb)
{
	skb_queue_tail(&container_of(traps, struct teller, traps)->queue, skb);
}

static const struct weft_traps_ops teller_ops = {
	.wanted = teller_wanted,
	.send = teller_send,
};

static int trap_test_init(struct kunit *test)
{
	struct teller *teller = kunit_kzalloc(test, sizeof(*teller), GFP_KERNEL);
	struct ib_port_info *info;

	KUNIT_ASSERT_NOT_NULL(test, teller);
	teller->fake = fake_node_create(test, WEFT_NODE_CA);
	fake_node_plug(teller->fake);
	info = &teller->fake->port[1].ib.info;
	info->lid = cpu_to_be16(TRAP_LID);
	info->sm_lid = cpu_to_be16(TRAP_SM_LID);
	/* 4 us, of which a second is made */
	info->clientrereg_resv_subnetto = 0;
	skb_queue_head_init(&teller->queue);
	weft_traps_init(&teller->traps, &teller->fake->node, &teller_ops, system_highpri_wq);
	test->priv = teller;
	return 0;
}

static void trap_test_exit(struct kunit *test)
{
	struct teller *teller = test->priv;

	if (!teller)
		return;
	weft_traps_close(&teller->traps);
	skb_queue_purge(&teller->queue);
}

static bool is_told(struct teller *teller, u32 patience, struct told *told)
{
	struct sk_buff *skb = skb_dequeue(&teller->queue);
	bool valid;

	while (!skb && patience--) {
		usleep_range(1000, 1100);
		skb = skb_dequeue(&teller->queue);
	}
	valid = skb && weft_mad_parse(skb, &told->address, &told->mad);
	kfree_skb(skb);
	return valid;
}

/* Pretend that all traps are due. */
static void hurry(struct teller *teller)
{
	struct weft_traps *traps = &teller->traps;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&traps->lock, flags);
	for (i = 0; i < WEFT_TRAP_KINDS; i++)
		traps->trap[i].due = 0;
	spin_unlock_irqrestore(&traps->lock, flags);
	mod_delayed_work(traps->workqueue, &traps->work, 0);
}

static void change(struct teller *teller, u8 changes)
{
	struct weft_notice notice = weft_notice_local_change(changes);

	weft_traps_raise(&teller->traps, &notice);
}

static void violate(struct teller *teller, u16 trap, u32 key)
{
	static const u8 sgid[16] = { 1 }, dgid[16] = { [15] = 2 };
	const struct weft_violation violation = {
		.slid = TRAP_SLID,
		.dlid = TRAP_LID,
		.sl = 11,
		.key = key,
		.sqpn = 0x123456,
		.dqpn = 0x654321,
		.sgid = sgid,
		.dgid = dgid,
	};

	weft_traps_violation(&teller->traps, trap, &violation);
}

static void tells_change(struct kunit *test)
{
	static const u8 notice[] = {
		0x84, 0, 0, 1, 0, 144, 0, TRAP_LID, 0, 0, 0, 0, 0, TRAP_LID, 0, 0,
		0, 0x12, 0x34, 0x56, 0, 0,
	};
	struct teller *teller = test->priv;
	struct told told;

	teller->fake->port[1].ib.info.cap_mask = cpu_to_be32(0x123456);
	change(teller, 0);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	KUNIT_EXPECT_EQ(test, told.address.dlid, TRAP_SM_LID);
	KUNIT_EXPECT_EQ(test, told.address.slid, TRAP_LID);
	KUNIT_EXPECT_EQ(test, told.address.vl, WEFT_VL_SMP);
	KUNIT_EXPECT_EQ(test, told.address.dqpn, 0);
	KUNIT_EXPECT_EQ(test, told.address.sqpn, 0);
	KUNIT_EXPECT_EQ(test, told.smp.method, IB_MGMT_METHOD_TRAP);
	KUNIT_EXPECT_EQ(test, told.smp.mgmt_class, IB_MGMT_CLASS_SUBN_LID_ROUTED);
	KUNIT_EXPECT_TRUE(test, told.smp.attr_id == IB_SMP_ATTR_NOTICE);
	KUNIT_EXPECT_MEMEQ(test, told.smp.data, notice, sizeof(notice));
}

/* A notice has the changes of earlier ones that were not repressed. */
static void changes_add_up(struct kunit *test)
{
	struct teller *teller = test->priv;
	struct told told;

	change(teller, IB_NOTICE_TRAP_NODE_DESC_CHG);
	change(teller, 0);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	KUNIT_EXPECT_EQ(test, told.smp.data[15], 1);
	KUNIT_EXPECT_EQ(test, told.smp.data[21], IB_NOTICE_TRAP_NODE_DESC_CHG);
	weft_traps_repress(&teller->traps, told.smp.tid);
	change(teller, 0);
	hurry(teller);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	KUNIT_EXPECT_EQ(test, told.smp.data[15], 0);
	KUNIT_EXPECT_EQ(test, told.smp.data[21], 0);
}

static void tells_bad_keys(struct kunit *test)
{
	static const u8 notice[64] = {
		0x82, 0, 0, 1, 1, 1, 0, TRAP_LID, 0, 0, 0, 0, 0, TRAP_SLID, 0, TRAP_LID,
		0, 0, 0x80, 0x05, 0xb0, 0x12, 0x34, 0x56, 0, 0x65, 0x43, 0x21,
		[28] = 1, [59] = 2,
	};
	struct teller *teller = test->priv;
	struct weft_ibport *port = &teller->fake->port[1].ib;
	struct told told;

	violate(teller, WEFT_TRAP_BAD_PKEY, 0x8005);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	KUNIT_EXPECT_MEMEQ(test, told.smp.data, notice, sizeof(notice));
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.pkey_violations), 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.qkey_violations), 0);
	violate(teller, WEFT_TRAP_BAD_QKEY, 0x12345678);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	KUNIT_EXPECT_EQ(test, told.smp.data[5], 2);
	KUNIT_EXPECT_EQ(test, told.smp.data[16], 0x12);
	KUNIT_EXPECT_EQ(test, told.smp.data[19], 0x78);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.pkey_violations), 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.qkey_violations), 1);
}

/* A return path that is longer than the field is truncated. */
static void tells_bad_mkey(struct kunit *test)
{
	struct teller *teller = test->priv;
	struct ib_smp smp = {
		.mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE,
		.method = IB_MGMT_METHOD_GET,
		.hop_cnt = 255,
		.mkey = cpu_to_be64(5),
		.return_path = { [1] = 4, [29] = 5, [30] = 6 },
	};
	struct told told;

	weft_traps_refused(&teller->traps, TRAP_SLID, &smp);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	KUNIT_EXPECT_EQ(test, told.smp.data[4], 1);
	KUNIT_EXPECT_EQ(test, told.smp.data[5], 0);
	KUNIT_EXPECT_EQ(test, told.smp.data[13], TRAP_SLID);
	KUNIT_EXPECT_EQ(test, told.smp.data[31], 5);
	KUNIT_EXPECT_EQ(test, told.smp.data[33], 0xc0 | 63);
	KUNIT_EXPECT_EQ(test, told.smp.data[35], 4);
	KUNIT_EXPECT_EQ(test, told.smp.data[63], 5);
	smp.method = IB_MGMT_METHOD_TRAP_REPRESS;
	weft_traps_repress(&teller->traps, told.smp.tid);
	weft_traps_refused(&teller->traps, TRAP_SLID, &smp);
	hurry(teller);
	KUNIT_EXPECT_FALSE(test, is_told(teller, TRAP_SILENCE, &told));
}

static void repeats_until_heard(struct kunit *test)
{
	struct teller *teller = test->priv;
	unsigned long start = jiffies;
	struct told told, again;

	change(teller, 0);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &again));
	KUNIT_EXPECT_GE(test, jiffies - start, HZ);
	KUNIT_EXPECT_TRUE(test, told.smp.tid == again.smp.tid);
	/* a transaction ID that is not ours */
	weft_traps_repress(&teller->traps, again.smp.tid ^ cpu_to_be64(1ULL << 40));
	hurry(teller);
	KUNIT_EXPECT_TRUE(test, is_told(teller, TRAP_PATIENCE, &again));
	weft_traps_repress(&teller->traps, again.smp.tid);
	hurry(teller);
	KUNIT_EXPECT_FALSE(test, is_told(teller, TRAP_SILENCE, &again));
}

static void repeats_no_more(struct kunit *test)
{
	struct teller *teller = test->priv;
	struct told told;
	u32 times;

	change(teller, 0);
	for (times = 0; times < 100 && is_told(teller, TRAP_SILENCE, &told); times++)
		hurry(teller);
	KUNIT_EXPECT_EQ(test, times, 5);
}

/* A flood causes one packet a second, with the last notice. */
static void flood_is_one(struct kunit *test)
{
	struct teller *teller = test->priv;
	unsigned long start = jiffies;
	struct told told;
	u32 i;

	violate(teller, WEFT_TRAP_BAD_PKEY, 1);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	for (i = 0; i < TRAP_FLOOD; i++)
		violate(teller, WEFT_TRAP_BAD_PKEY, i);
	/* the first notice is repressed, the last one is not */
	weft_traps_repress(&teller->traps, told.smp.tid);
	KUNIT_ASSERT_TRUE(test, is_told(teller, TRAP_PATIENCE, &told));
	KUNIT_EXPECT_GE(test, jiffies - start, HZ);
	KUNIT_EXPECT_EQ(test, told.smp.data[18] << 8 | told.smp.data[19], TRAP_FLOOD - 1);
	weft_traps_repress(&teller->traps, told.smp.tid);
	/* repressed, but less than a second ago */
	violate(teller, WEFT_TRAP_BAD_PKEY, 5);
	KUNIT_EXPECT_FALSE(test, is_told(teller, TRAP_SILENCE, &told));
}

static void nobody_to_tell(struct kunit *test)
{
	struct teller *teller = test->priv;
	struct weft_ibport *port = &teller->fake->port[1].ib;
	struct told told;

	port->info.sm_lid = 0;
	change(teller, 0);
	KUNIT_EXPECT_FALSE(test, is_told(teller, TRAP_SILENCE, &told));
	port->info.sm_lid = cpu_to_be16(TRAP_SM_LID);
	hurry(teller);
	KUNIT_EXPECT_FALSE_MSG(test, is_told(teller, TRAP_SILENCE, &told), "it is forgotten");
	port->info.lid = 0;
	change(teller, 0);
	hurry(teller);
	KUNIT_EXPECT_FALSE(test, is_told(teller, TRAP_SILENCE, &told));
	port->info.lid = cpu_to_be16(TRAP_LID);
	weft_ibport_unplug(port);
	change(teller, 0);
	hurry(teller);
	KUNIT_EXPECT_FALSE(test, is_told(teller, TRAP_SILENCE, &told));
	weft_ibport_plug(port, &teller->fake->port[1].cable);
	WRITE_ONCE(teller->unwanted, true);
	change(teller, 0);
	hurry(teller);
	KUNIT_EXPECT_FALSE(test, is_told(teller, TRAP_SILENCE, &told));
}

static void closed_tells_nothing(struct kunit *test)
{
	struct teller *teller = test->priv;
	struct told told;

	change(teller, 0);
	weft_traps_close(&teller->traps);
	change(teller, 0);
	violate(teller, WEFT_TRAP_BAD_QKEY, 7);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&teller->traps.work));
	KUNIT_EXPECT_FALSE(test, is_told(teller, TRAP_SILENCE, &told));
}

static struct kunit_case trap_cases[] = {
	KUNIT_CASE(tells_change),
	KUNIT_CASE(changes_add_up),
	KUNIT_CASE(tells_bad_keys),
	KUNIT_CASE(tells_bad_mkey),
	KUNIT_CASE(repeats_until_heard),
	KUNIT_CASE(repeats_no_more),
	KUNIT_CASE(flood_is_one),
	KUNIT_CASE(nobody_to_tell),
	KUNIT_CASE(closed_tells_nothing),
	{}
};

static struct kunit_suite trap_suite = {
	.name = "weft_trap",
	.init = trap_test_init,
	.exit = trap_test_exit,
	.test_cases = trap_cases,
};

kunit_test_suite(trap_suite);
