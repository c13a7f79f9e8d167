// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fabric/uplink.c: a node finds other nodes, which the test plays (see uplink_model.h), and has
 * cables to them.
 */
#include "uplink_model.h"

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>

#include "fabric/mad.h"
#include "fabric/remote.h"
#include "switch_model.h"

/* Windows of frames: one is sent at once, and the frames of the others by acknowledgments. */
#define UP_WINDOWS	3

/* ---- HELLO ---- */

static void says_hello_to_everybody(struct kunit *test)
{
	struct up_got got;
	u32 i;

	up_start(test, 2);
	KUNIT_EXPECT_TRUE(test, ups->opened);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, up_wait(&ups->everybody, WEFT_FRAME_HELLO, &got));
		KUNIT_EXPECT_EQ(test, got.frame.nonce, 0);
		KUNIT_EXPECT_EQ(test, got.frame.heard, 0);
		KUNIT_EXPECT_EQ(test, got.length, UP_HEADER + sizeof(struct weft_wire_hello));
		KUNIT_EXPECT_TRUE(test, got.hello.guid == ups->node.guid);
		KUNIT_EXPECT_EQ(test, got.hello.type, WEFT_NODE_SWITCH);
		KUNIT_EXPECT_EQ(test, got.hello.max_frame, UP_MAX_FRAME);
	}
	up_stop();
	KUNIT_EXPECT_FALSE(test, ups->opened);
	skb_queue_purge(&ups->everybody);
	msleep(UP_SILENCE_MS);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&ups->everybody));
}

/*
 * Anybody can send a HELLO with a forged address. So the answer is not longer than the HELLO, and
 * no port is taken before the sender names the nonce of the answer.
 */
static void answers_those_it_does_not_know(struct kunit *test)
{
	struct weft_hello hello = up_hello_of(0);
	struct up_other *other = ups->other;
	static const u16 lengths[] = { 16, 17, 500, 1472, 1473, 4000 };
	struct up_got got;
	u32 i, nonce;

	up_start(test, 2);
	KUNIT_ASSERT_TRUE(test, up_wait_meet(test, 0));
	nonce = other->heard;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		up_say_hello(test, 0, &hello, 7 + i, 0, lengths[i]);
		KUNIT_ASSERT_TRUE(test, up_next(&other->queue, WEFT_FRAME_HELLO, &got));
		KUNIT_EXPECT_TRUE(test, got.hello.answer);
		KUNIT_EXPECT_EQ(test, got.frame.heard, 7 + i);
		KUNIT_EXPECT_EQ(test, got.frame.nonce, nonce);
		KUNIT_EXPECT_EQ(test, got.length, min(UP_HEADER + lengths[i], UP_MAX_FRAME));
		KUNIT_EXPECT_TRUE(test, skb_queue_empty(&other->queue));
	}
	for (i = 1; i < UP_NODES; i++) {
		KUNIT_EXPECT_TRUE(test, up_meet(test, i));
		KUNIT_EXPECT_NE(test, ups->other[i].heard, nonce);
	}
	up_settle(test);
	KUNIT_EXPECT_EQ(test, ups->takes, 0);
	for (i = 0; i < UP_NODES; i++)
		KUNIT_EXPECT_TRUE(test, skb_queue_empty(&ups->other[i].queue));
}

/* Frames that belong to no cable, and malformed ones: nothing is sent, no port is taken. */
static void ignores_what_is_not_for_it(struct kunit *test)
{
	struct weft_frame frame = { .type = WEFT_FRAME_HELLO, .nonce = 1, .length = 16 };
	struct weft_hello hello = up_hello_of(0);
	struct sk_buff *skb;
	u32 i;

	up_start(test, 2);
	KUNIT_ASSERT_TRUE(test, up_wait_meet(test, 0));
	up_data(test, 0, 1, ups->other[0].heard);
	up_frame(test, 0, WEFT_FRAME_ACK, 1, ups->other[0].heard);
	up_frame(test, 0, WEFT_FRAME_BYE, 1, ups->other[0].heard);
	/*
	 * a HELLO with our nonce, but without a nonce of its sender, is answered like a first HELLO
	 */
	up_hello(test, 0, 0, ups->other[0].heard);
	skb_queue_purge(&ups->other[0].queue);

	hello.guid = ups->node.guid;
	up_say_hello(test, 0, &hello, 1, 0, 16);
	hello.guid = 0;
	up_say_hello(test, 0, &hello, 1, 0, 16);
	hello = up_hello_of(0);
	hello.type = 3;
	up_say_hello(test, 0, &hello, 1, 0, 16);
	hello = up_hello_of(0);
	hello.max_frame = WEFT_FRAME_MIN_MTU - 1;
	up_say_hello(test, 0, &hello, 1, 0, 16);
	hello = up_hello_of(0);
	/* no room for struct weft_wire_hello; damaged; shorter than the header says */
	up_say_hello(test, 0, &hello, 1, 0, 0);
	for (i = 0; i < 3; i++) {
		skb = up_build(test, &frame, NULL);
		weft_hello_encode(skb->data + UP_HEADER, &hello);
		weft_frame_seal(skb);
		if (!i)
			skb->data[UP_HEADER + 3] ^= 1; /* damaged */
		else
			skb_trim(skb, i == 1 ? skb->len - 1 : UP_HEADER - 1);
		up_receive_skb(0, skb);
	}
	up_settle(test);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&ups->other[0].queue));
	KUNIT_EXPECT_EQ(test, ups->takes, 0);
	/* the same frame, intact and padded by Ethernet, is answered */
	skb = up_build(test, &frame, NULL);
	weft_hello_encode(skb->data + UP_HEADER, &hello);
	weft_frame_seal(skb);
	KUNIT_ASSERT_GE(test, skb_tailroom(skb), 4);
	skb_put_zero(skb, 4);
	up_receive_skb(0, skb);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&ups->other[0].queue), 1);
}

/* ---- cables ---- */

static void up_expect_carries(struct kunit *test, u32 i, u32 port)
{
	struct up_other *other = &ups->other[i];
	u32 received = ups->port[port].received;
	struct sk_buff *skb = up_smp(test);
	struct up_got got;

	up_data(test, i, other->nonce, other->heard);
	KUNIT_EXPECT_EQ(test, ups->port[port].received, received + 1);
	skb_queue_purge(&other->queue);
	local_bh_disable();
	rcu_read_lock();
	weft_ibport_xmit(&ups->port[port].ib, skb);
	rcu_read_unlock();
	local_bh_enable();
	KUNIT_ASSERT_TRUE(test, up_wait(&other->queue, WEFT_FRAME_DATA, &got));
	KUNIT_EXPECT_EQ(test, got.frame.nonce, other->heard);
	KUNIT_EXPECT_EQ(test, got.frame.heard, other->nonce);
}

static u32 up_received(void)
{
	u32 i, received = 0;

	for (i = 0; i < UP_PORTS; i++)
		received += ups->port[i].received;
	return received;
}

/* Each node has its own cable. Frames with other nonces or addresses are dropped. */
static void has_a_cable_to_each(struct kunit *test)
{
	u32 port[3], i;

	up_start(test, 4);
	for (i = 0; i < ARRAY_SIZE(port); i++)
		port[i] = up_connect(test, i);
	KUNIT_EXPECT_EQ(test, up_taken(), ARRAY_SIZE(port));
	for (i = 0; i < ARRAY_SIZE(port); i++)
		up_expect_carries(test, i, port[i]);
	KUNIT_EXPECT_EQ(test, up_received(), ARRAY_SIZE(port));
	/* another address, or another nonce */
	up_data(test, 1, ups->other[0].nonce, ups->other[0].heard);
	up_data(test, 0, ups->other[0].nonce + 1, ups->other[0].heard);
	up_data(test, 0, ups->other[0].nonce, ups->other[0].heard + 1);
	up_data(test, 3, ups->other[0].nonce, ups->other[0].heard);
	KUNIT_EXPECT_EQ(test, up_received(), ARRAY_SIZE(port));
	/* a node that has begun anew has to wait for the end of its cable */
	skb_queue_purge(&ups->other[0].queue);
	up_hello(test, 0, 99, 0);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&ups->other[0].queue));
	up_expect_carries(test, 0, port[0]);
}

static void up_send_damaged(struct kunit *test, u32 i)
{
	struct weft_frame frame = {
		.type = WEFT_FRAME_ACK, .nonce = ups->other[i].nonce,
		.heard = ups->other[i].heard,
	};
	struct sk_buff *skb = up_build(test, &frame, NULL);

	weft_frame_seal(skb);
	skb->data[UP_HEADER - 1] ^= 1;
	up_receive_skb(i, skb);
}

static u64 up_counted(u32 port, enum weft_ibport_counter counter)
{
	return atomic64_read(&ups->port[port].ib.counters[counter]);
}

static u64 up_errors(u32 port)
{
	return up_counted(port, WEFT_IBC_SYMBOL_ERRORS);
}

/* A damaged frame counts as an error of the cable to the sender's address. */
static void counts_damaged_frames(struct kunit *test)
{
	u32 port;

	up_start(test, 2);
	port = up_connect(test, 0);
	up_send_damaged(test, 0);
	up_send_damaged(test, 1);
	KUNIT_EXPECT_EQ(test, up_errors(port), 1);
	KUNIT_EXPECT_EQ(test, up_errors(!port), 0);
}

/* A HELLO to a known node is as long as DATA may be, to show that such frames get through. */
static void hello_is_as_long_as_data(struct kunit *test)
{
	static const struct {
		u32	ours;
		u16	theirs;
		u32	length;
	} frames[] = {
		{ 1500, 1500, 1500 }, { 1500, 9000, 1500 }, { 9000, 1400, 1400 },
		{ 512, 1500, 512 }, { 9000, 512, 512 },
		{ 65000, 65000, WEFT_FRAME_PACKET + UP_HEADER },
	};
	struct up_got got;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		ups->max_frame = frames[i].ours;
		ups->other[0].max_frame = frames[i].theirs;
		up_start(test, 1);
		up_connect(test, 0);
		KUNIT_ASSERT_TRUE(test, up_wait(&ups->other[0].queue, WEFT_FRAME_HELLO, &got));
		KUNIT_EXPECT_EQ(test, got.length, frames[i].length);
		KUNIT_EXPECT_EQ(test, got.hello.max_frame, frames[i].ours);
		up_stop();
	}
}

/* An answer may be short, so it does not show that DATA frames get through. */
static void no_cable_by_an_answer(struct kunit *test)
{
	struct weft_hello hello = up_hello_of(0);
	struct up_other *other = ups->other;
	struct up_got got;

	up_start(test, 1);
	KUNIT_ASSERT_TRUE(test, up_wait_meet(test, 0));
	hello.answer = true;
	up_say_hello(test, 0, &hello, other->nonce, other->heard, 16);
	KUNIT_EXPECT_TRUE(test, up_wait(&other->queue, WEFT_FRAME_HELLO, &got));
	KUNIT_EXPECT_EQ(test, got.frame.heard, other->nonce);
	KUNIT_EXPECT_EQ(test, got.length, UP_MAX_FRAME);
	KUNIT_EXPECT_EQ(test, up_taken(), 1);
	KUNIT_EXPECT_FALSE(test, up_is_plugged(0));
	up_hello(test, 0, other->nonce, other->heard);
	KUNIT_EXPECT_TRUE(test, up_wait_plugged(0, true));
}

static void good_bye(struct kunit *test)
{
	struct up_other *other = ups->other;
	u32 port, heard;

	up_start(test, 2);
	port = up_connect(test, 0);
	heard = other->heard;
	up_frame(test, 0, WEFT_FRAME_BYE, other->nonce, heard + 1);
	up_frame(test, 0, WEFT_FRAME_BYE, other->nonce + 1, heard);
	up_frame(test, 1, WEFT_FRAME_BYE, other->nonce, heard);
	up_settle(test);
	up_expect_carries(test, 0, port);
	up_frame(test, 0, WEFT_FRAME_BYE, other->nonce, heard);
	KUNIT_EXPECT_TRUE(test, up_wait_plugged(port, false));
	KUNIT_EXPECT_TRUE(test, up_wait_taken(0));
	/* late frames of the old cable do not get into the new one */
	port = up_connect(test, 0);
	KUNIT_EXPECT_NE(test, other->heard, heard);
	up_data(test, 0, other->nonce, heard);
	KUNIT_EXPECT_EQ(test, ups->port[port].received, 1);
	up_expect_carries(test, 0, port);
}

static void says_good_bye(struct kunit *test)
{
	struct up_got got;
	u32 i;

	up_start(test, 4);
	for (i = 0; i < 3; i++)
		up_connect(test, i);
	KUNIT_ASSERT_TRUE(test, up_wait_meet(test, 3));
	up_stop();
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, up_is_plugged(i));
		KUNIT_EXPECT_TRUE(test, up_next(&ups->other[i].queue, WEFT_FRAME_BYE, &got));
		KUNIT_EXPECT_EQ(test, got.frame.nonce, ups->other[i].heard);
		KUNIT_EXPECT_EQ(test, got.frame.heard, ups->other[i].nonce);
	}
	KUNIT_EXPECT_FALSE(test, up_next(&ups->other[3].queue, WEFT_FRAME_BYE, &got));
}

/* If two nodes have the same GUID, only the first one gets a cable, until it is gone. */
static void one_of_two_with_one_guid(struct kunit *test)
{
	struct weft_hello hello = up_hello_of(0);
	struct up_other *other = ups->other;
	u32 port = 0;

	other[1].guid = other[0].guid;
	up_start(test, 3);
	/* known, but without a cable */
	KUNIT_ASSERT_TRUE(test, up_wait_meet(test, 0));
	hello.answer = true;
	up_say_hello(test, 0, &hello, other[0].nonce, other[0].heard, 16);
	KUNIT_EXPECT_TRUE(test, up_wait_taken(1));
	KUNIT_EXPECT_FALSE(test, up_meet(test, 1));
	up_hello(test, 0, other[0].nonce, other[0].heard);
	KUNIT_ASSERT_TRUE(test, up_wait_plugged(port, true));
	KUNIT_EXPECT_FALSE(test, up_meet(test, 1));
	up_hello(test, 1, ups->other[1].nonce, ups->other[0].heard);
	up_settle(test);
	KUNIT_EXPECT_EQ(test, up_taken(), 1);
	up_expect_carries(test, 0, port);
	up_frame(test, 0, WEFT_FRAME_BYE, ups->other[0].nonce, ups->other[0].heard);
	KUNIT_EXPECT_TRUE(test, up_wait_taken(0));
	up_connect(test, 1);
}

/* ---- limits ---- */

/* A node is not answered while no port is free for it. */
static void has_no_free_port(struct kunit *test)
{
	u32 i;

	up_start(test, 2);
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_TRUE(test, up_wait_meet(test, i));
	up_connect(test, 0);
	up_connect(test, 1);
	KUNIT_EXPECT_FALSE(test, up_meet(test, 2));
	/* node 3 was answered while a port was free, but its next HELLO comes too late */
	up_hello(test, 3, ups->other[3].nonce, ups->other[3].heard);
	up_settle(test);
	KUNIT_EXPECT_EQ(test, ups->takes, 2);
	KUNIT_EXPECT_FALSE(test, up_meet(test, 3));
	up_frame(test, 1, WEFT_FRAME_BYE, ups->other[1].nonce, ups->other[1].heard);
	KUNIT_EXPECT_TRUE(test, up_wait_taken(1));
	up_connect(test, 3);
	KUNIT_EXPECT_FALSE(test, up_meet(test, 2));
	KUNIT_EXPECT_TRUE(test, up_is_plugged(0));
}

/* The number of cables is limited even if there are more ports. */
static void has_so_many_cables(struct kunit *test)
{
	u32 i;

	up_start(test, UP_PORTS);
	for (i = 0; i < WEFT_UPLINK_PEERS; i++)
		up_connect(test, i);
	KUNIT_EXPECT_FALSE(test, up_meet(test, i));
	KUNIT_EXPECT_EQ(test, up_taken(), WEFT_UPLINK_PEERS);
}

/* A node that sends HELLOs, but gets no cable, loses its port to another node after a while. */
static void waits_for_nobody_in_vain(struct kunit *test)
{
	struct weft_hello hello = up_hello_of(0);
	unsigned long began;
	u32 i;

	up_start(test, 1);
	KUNIT_ASSERT_TRUE(test, up_wait_meet(test, 0));
	hello.answer = true;
	up_say_hello(test, 0, &hello, ups->other[0].nonce, ups->other[0].heard, 16);
	KUNIT_EXPECT_TRUE(test, up_wait_taken(1));
	began = jiffies;
	up_settle(test);
	for (i = 0; i < 200 && !up_meet(test, 1); i++) {
		up_hello(test, 0, ups->other[0].nonce, 0);
		msleep(50);
	}
	KUNIT_EXPECT_LT(test, i, 200);
	KUNIT_EXPECT_TRUE(test, time_after(jiffies, began +
						    msecs_to_jiffies(WEFT_HELLO_DEAD_MS / 2)));
	up_hello(test, 1, ups->other[1].nonce, ups->other[1].heard);
	KUNIT_EXPECT_TRUE(test, up_wait_plugged(0, true));
	up_expect_carries(test, 1, 0);
}

/* With a cable in its only port a channel adapter neither looks for others nor answers. */
static void channel_adapter_has_one_cable(struct kunit *test)
{
	struct up_got got;

	ups->node.type = WEFT_NODE_CA;
	up_start(test, 1);
	KUNIT_ASSERT_TRUE(test, up_wait(&ups->everybody, WEFT_FRAME_HELLO, &got));
	KUNIT_EXPECT_EQ(test, got.hello.type, WEFT_NODE_CA);
	up_connect(test, 0);
	msleep(WEFT_HELLO_FAST_MS);
	skb_queue_purge(&ups->everybody);
	msleep(UP_SILENCE_MS);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&ups->everybody));
	KUNIT_EXPECT_FALSE(test, up_meet(test, 1));
	up_frame(test, 0, WEFT_FRAME_BYE, ups->other[0].nonce, ups->other[0].heard);
	KUNIT_EXPECT_TRUE(test, up_wait(&ups->everybody, WEFT_FRAME_HELLO, &got));
	up_connect(test, 1);
}

/* ---- the end of a cable ---- */

/* A cable without frames is pulled out; the other cable, with HELLOs, stays. */
static void misses_those_that_are_silent(struct kunit *test)
{
	unsigned long end = jiffies + msecs_to_jiffies(2 * WEFT_HELLO_DEAD_MS);
	bool silent_went = false;
	u32 port[2], i;

	up_start(test, 2);
	for (i = 0; i < 2; i++)
		port[i] = up_connect(test, i);
	while (!silent_went && time_before(jiffies, end + UP_PATIENCE)) {
		up_hello(test, 1, ups->other[1].nonce, ups->other[1].heard);
		msleep(50);
		silent_went = !up_is_plugged(port[0]) && !READ_ONCE(ups->port[port[0]].taken);
	}
	KUNIT_EXPECT_TRUE(test, silent_went);
	KUNIT_EXPECT_TRUE(test, up_is_plugged(port[1]));
	up_expect_carries(test, 1, port[1]);
}

static void up_set_carrier(bool on)
{
	if (on)
		clear_bit(__LINK_STATE_NOCARRIER, &ups->ndev->state);
	else
		set_bit(__LINK_STATE_NOCARRIER, &ups->ndev->state);
	weft_uplinks_update(ups->uplinks);
}

/* There are no cables without a carrier, or with an MTU below WEFT_FRAME_MIN_MTU. */
static void needs_a_net_device_that_works(struct kunit *test)
{
	struct up_got got;
	u32 i;

	up_start(test, 2);
	for (i = 0; i < 2; i++) {
		up_connect(test, 0);
		if (i)
			WRITE_ONCE(ups->max_frame, WEFT_FRAME_MIN_MTU - 1);
		up_set_carrier(i);
		KUNIT_EXPECT_TRUE(test, up_wait_taken(0));
		KUNIT_EXPECT_FALSE(test, up_is_plugged(0));
		KUNIT_EXPECT_FALSE(test, up_meet(test, 1));
		skb_queue_purge(&ups->everybody);
		msleep(UP_SILENCE_MS);
		KUNIT_EXPECT_TRUE(test, skb_queue_empty(&ups->everybody));
		WRITE_ONCE(ups->max_frame, UP_MAX_FRAME);
		up_set_carrier(true);
		KUNIT_EXPECT_TRUE(test, up_wait(&ups->everybody, WEFT_FRAME_HELLO, &got));
	}
	up_connect(test, 0);
}

static void up_set_phys(struct weft_ibport *port, u8 phys)
{
	unsigned long flags;
	u32 events;

	spin_lock_irqsave(&port->lock, flags);
	if (phys == IB_PORT_PHYS_STATE_DISABLED)
		events = weft_ibport_move(port, phys, IB_PORT_DOWN);
	else
		events = weft_ibport_retrain(port, phys);
	spin_unlock_irqrestore(&port->lock, flags);
	weft_ibport_event(port, events);
}

/* While a port is disabled the other end must not take the link for up. */
static void disabled_port_has_no_cable(struct kunit *test)
{
	struct up_other *other = ups->other;
	struct up_got got;

	up_start(test, 1);
	up_connect(test, 0);
	up_set_phys(&ups->port[0].ib, IB_PORT_PHYS_STATE_DISABLED);
	KUNIT_ASSERT_TRUE(test, up_wait(&other->queue, WEFT_FRAME_BYE, &got));
	KUNIT_EXPECT_EQ(test, got.frame.nonce, other->heard);
	KUNIT_ASSERT_TRUE(test, up_wait(&other->queue, WEFT_FRAME_HELLO, &got));
	KUNIT_EXPECT_EQ(test, got.frame.heard, 0);
	KUNIT_EXPECT_NE(test, got.frame.nonce, other->heard);
	other->heard = got.frame.nonce;
	KUNIT_EXPECT_FALSE(test, up_meet(test, 0));
	up_hello(test, 0, other->nonce, got.frame.nonce);
	KUNIT_ASSERT_TRUE(test, up_wait(&other->queue, WEFT_FRAME_HELLO, &got));
	KUNIT_EXPECT_EQ(test, got.frame.heard, 0);
	KUNIT_EXPECT_FALSE(test, up_is_plugged(0));
	up_set_phys(&ups->port[0].ib, IB_PORT_PHYS_STATE_POLLING);
	up_hello(test, 0, other->nonce, got.frame.nonce);
	KUNIT_EXPECT_TRUE(test, up_wait_plugged(0, true));
	up_expect_carries(test, 0, 0);
}

/* Packets leave by a port, one after the other. */
static void up_xmit(u32 port, struct sk_buff_head *packets)
{
	struct sk_buff *skb;

	local_bh_disable();
	rcu_read_lock();
	while ((skb = __skb_dequeue(packets)))
		weft_ibport_xmit(&ups->port[port].ib, skb);
	rcu_read_unlock();
	local_bh_enable();
}

static void up_add_packets(struct kunit *test, struct sk_buff_head *packets, u32 num)
{
	struct model_mad mad = model_counters_request(2, 3, IB_DEFAULT_PKEY_FULL);
	struct sk_buff *skb;

	__skb_queue_head_init(packets);
	while (num--) {
		skb = weft_mad_build(&mad.address, &mad.mad, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		__skb_queue_tail(packets, skb);
	}
}

/* The other node sends HELLOs, but acknowledges nothing. */
static void gives_up_a_cable(struct kunit *test)
{
	unsigned long end = jiffies + UP_PATIENCE;
	struct up_other *other = ups->other;
	struct sk_buff_head packets;
	struct up_got got;
	u32 port, times = 0;

	up_start(test, 1);
	port = up_connect(test, 0);
	model_activate(&ups->port[port].ib);
	up_add_packets(test, &packets, 1);
	up_xmit(port, &packets);
	while (up_is_plugged(port) && time_before(jiffies, end)) {
		up_hello(test, 0, other->nonce, other->heard);
		msleep(50);
		while (up_next(&other->queue, WEFT_FRAME_DATA, &got))
			times++;
	}
	KUNIT_EXPECT_FALSE(test, up_is_plugged(port));
	KUNIT_EXPECT_GT(test, times, 3U);
	KUNIT_EXPECT_GT(test, up_counted(port, WEFT_IBC_LINK_RECOVERIES), 2);
}

/* Frames come by a cable, whose timer hands nothing on then. */
static void up_get(u32 port, struct sk_buff_head *frames)
{
	struct weft_cable *cable = rcu_dereference(ups->port[port].ib.cable);
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(frames)))
		up_receive_skb(0, skb);
	if (cable)
		hrtimer_cancel(&container_of(cable, struct weft_remote, cable)->timer);
}

/*
 * Acknowledgments let more frames go than the CPU hands on that gets them. As all frames are
 * acknowledged then, none is repeated: only a work item sends the rest.
 */
static void work_item_sends_the_rest(struct kunit *test)
{
	struct up_other *other = ups->other;
	struct weft_frame ack = { .type = WEFT_FRAME_ACK, .nonce = other->nonce };
	struct sk_buff_head packets, acks;
	struct sk_buff *skb;
	struct up_got got;
	u32 port, i, sent = 0;

	up_start(test, 1);
	port = up_connect(test, 0);
	model_activate(&ups->port[port].ib);
	up_add_packets(test, &packets, UP_WINDOWS * WEFT_ARQ_WINDOW);
	__skb_queue_head_init(&acks);
	ack.heard = other->heard;
	for (i = 1; i <= UP_WINDOWS; i++) {
		ack.ack = WEFT_FRAME_FIRST_SEQ + i * WEFT_ARQ_WINDOW;
		skb = up_build(test, &ack, NULL);
		weft_frame_seal(skb);
		__skb_queue_tail(&acks, skb);
	}
	skb_queue_purge(&other->queue);
	local_bh_disable();
	rcu_read_lock();
	up_xmit(port, &packets);
	up_get(port, &acks);
	rcu_read_unlock();
	local_bh_enable();
	while (sent < UP_WINDOWS * WEFT_ARQ_WINDOW &&
	       up_wait(&other->queue, WEFT_FRAME_DATA, &got))
		sent = got.frame.seq - WEFT_FRAME_FIRST_SEQ + 1;
	KUNIT_EXPECT_EQ(test, sent, UP_WINDOWS * WEFT_ARQ_WINDOW);
}

/* ---- opening ---- */

static void underlay_may_be_idle(struct kunit *test)
{
	ups->underlay.idle = true;
	up_start(test, 1);
	weft_uplinks_update(ups->uplinks);
	msleep(UP_SILENCE_MS);
	KUNIT_EXPECT_FALSE(test, ups->opened);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&ups->everybody));
	up_stop();
}

static void underlay_may_not_open(struct kunit *test)
{
	struct weft_uplinks *uplinks;

	ups->open_ret = -EADDRINUSE;
	uplinks = weft_uplinks_open(&ups->node, &ups->underlay);
	KUNIT_EXPECT_TRUE(test, IS_ERR(uplinks));
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(uplinks), -EADDRINUSE);
	if (!IS_ERR(uplinks))
		ups->uplinks = uplinks;
}

static struct kunit_case up_cases[] = {
	KUNIT_CASE(says_hello_to_everybody),
	KUNIT_CASE(answers_those_it_does_not_know),
	KUNIT_CASE(ignores_what_is_not_for_it),
	KUNIT_CASE(has_a_cable_to_each),
	KUNIT_CASE(counts_damaged_frames),
	KUNIT_CASE(hello_is_as_long_as_data),
	KUNIT_CASE(no_cable_by_an_answer),
	KUNIT_CASE(good_bye),
	KUNIT_CASE(says_good_bye),
	KUNIT_CASE(one_of_two_with_one_guid),
	KUNIT_CASE(has_no_free_port),
	KUNIT_CASE(has_so_many_cables),
	KUNIT_CASE_SLOW(waits_for_nobody_in_vain),
	KUNIT_CASE(channel_adapter_has_one_cable),
	KUNIT_CASE_SLOW(misses_those_that_are_silent),
	KUNIT_CASE(needs_a_net_device_that_works),
	KUNIT_CASE(disabled_port_has_no_cable),
	KUNIT_CASE_SLOW(gives_up_a_cable),
	KUNIT_CASE(work_item_sends_the_rest),
	KUNIT_CASE(underlay_may_be_idle),
	KUNIT_CASE(underlay_may_not_open),
	{}
};

static struct kunit_suite up_suite = {
	.name = "weft_uplink",
	.init = up_create,
	.exit = up_destroy,
	.test_cases = up_cases,
};

kunit_test_suite(up_suite);
