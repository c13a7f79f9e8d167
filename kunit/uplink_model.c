// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "uplink_model.h"

#include <linux/delay.h>
#include <linux/netdevice.h>

#include "fabric/mad.h"
#include "switch_model.h"

#define UP_GUID		0x0200ff00fe000001ULL
#define UP_OTHER_GUID	0x0200ff00fe000100ULL

struct up_bench *ups;

/* ---- the underlay ---- */

static int up_open(struct weft_underlay *underlay)
{
	ups->opened = !ups->open_ret;
	return ups->open_ret;
}

static void up_close(struct weft_underlay *underlay)
{
	ups->opened = false;
}

static void up_update(struct weft_underlay *underlay)
{
}

static void up_keep(struct sk_buff_head *queue, struct sk_buff *skb)
{
	if (!ups->opened)
		ups->sent_late++;
	skb_queue_tail(queue, skb);
}

static void up_send(struct weft_underlay *underlay, const struct weft_underlay_addr *to,
		    struct sk_buff *skb)
{
	u32 i;

	for (i = 0; i < UP_NODES; i++) {
		if (weft_underlay_addr_equal(to, &ups->other[i].addr)) {
			up_keep(&ups->other[i].queue, skb);
			return;
		}
	}
	kfree_skb(skb);
}

static void up_send_all(struct weft_underlay *underlay, struct sk_buff *skb)
{
	up_keep(&ups->everybody, skb);
}

static u32 up_max_frame(struct weft_underlay *underlay, const struct weft_underlay_addr *to)
{
	return READ_ONCE(ups->max_frame);
}

static const struct weft_underlay_ops up_underlay_ops = {
	.open = up_open,
	.close = up_close,
	.update = up_update,
	.send = up_send,
	.send_all = up_send_all,
	.max_frame = up_max_frame,
	.head = 40,
};

/* ---- the node ---- */

static bool up_has(struct weft_uplink_node *node)
{
	u32 i;

	for (i = 0; i < ups->num_ports; i++)
		if (!READ_ONCE(ups->port[i].taken))
			return true;
	return false;
}

static struct weft_ibport *up_take(struct weft_uplink_node *node)
{
	u32 i;

	for (i = 0; i < ups->num_ports; i++) {
		if (ups->port[i].taken)
			continue;
		ups->port[i].taken = true;
		ups->takes++;
		return &ups->port[i].ib;
	}
	return NULL;
}

static void up_give(struct weft_uplink_node *node, struct weft_ibport *port)
{
	WRITE_ONCE(container_of(port, struct up_port, ib)->taken, false);
}

static const struct weft_uplink_ops up_node_ops = {
	.has = up_has,
	.take = up_take,
	.give = up_give,
};

static void up_port_receive(struct weft_ibport *port, struct sk_buff *skb, bool nested)
{
	container_of(port, struct up_port, ib)->received++;
	kfree_skb(skb);
}

static void up_port_event(struct weft_ibport *port, u32 events)
{
}

static const struct weft_ibport_ops up_port_ops = {
	.receive = up_port_receive,
	.event = up_port_event,
};

int up_create(struct kunit *test)
{
	struct weft_ibport_param param = { .ops = &up_port_ops, .speed = 4 };
	u32 i;

	ups = kunit_kzalloc(test, sizeof(*ups), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ups);
	ups->ndev = kunit_kzalloc(test, sizeof(*ups->ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ups->ndev);
	strscpy(ups->ndev->name, "kunit", sizeof(ups->ndev->name));
	set_bit(__LINK_STATE_START, &ups->ndev->state);
	ups->underlay.ops = &up_underlay_ops;
	ups->underlay.ndev = ups->ndev;
	ups->max_frame = UP_MAX_FRAME;
	ups->node.ops = &up_node_ops;
	ups->node.guid = cpu_to_be64(UP_GUID);
	ups->node.type = WEFT_NODE_SWITCH;
	skb_queue_head_init(&ups->everybody);
	for (i = 0; i < UP_PORTS; i++) {
		param.num = 1 + i;
		weft_ibport_init(&ups->port[i].ib, &param);
	}
	for (i = 0; i < UP_NODES; i++) {
		ups->other[i].addr.mac[5] = 1 + i;
		ups->other[i].guid = cpu_to_be64(UP_OTHER_GUID + i);
		ups->other[i].nonce = 0x1000 + i;
		ups->other[i].max_frame = UP_MAX_FRAME;
		skb_queue_head_init(&ups->other[i].queue);
	}
	return 0;
}

void up_start(struct kunit *test, u32 ports)
{
	struct weft_uplinks *uplinks;

	ups->num_ports = ports;
	uplinks = weft_uplinks_open(&ups->node, &ups->underlay);
	KUNIT_ASSERT_FALSE(test, IS_ERR(uplinks));
	ups->uplinks = uplinks;
}

void up_stop(void)
{
	if (ups->uplinks)
		weft_uplinks_close(ups->uplinks);
	ups->uplinks = NULL;
}

u32 up_taken(void)
{
	u32 i, taken = 0;

	for (i = 0; i < UP_PORTS; i++)
		taken += READ_ONCE(ups->port[i].taken);
	return taken;
}

void up_destroy(struct kunit *test)
{
	u32 i;

	if (!ups)
		return;
	up_stop();
	KUNIT_EXPECT_EQ(test, up_taken(), 0);
	KUNIT_EXPECT_EQ(test, ups->sent_late, 0);
	for (i = 0; i < UP_PORTS; i++)
		KUNIT_EXPECT_NULL(test, rcu_access_pointer(ups->port[i].ib.cable));
	for (i = 0; i < UP_NODES; i++)
		skb_queue_purge(&ups->other[i].queue);
	skb_queue_purge(&ups->everybody);
	ups = NULL;
}

/* ---- other nodes ---- */

void up_receive_skb(u32 i, struct sk_buff *skb)
{
	local_bh_disable();
	rcu_read_lock();
	ups->underlay.receive(ups->underlay.context, &ups->other[i].addr, skb);
	rcu_read_unlock();
	local_bh_enable();
}

struct sk_buff *up_build(struct kunit *test, const struct weft_frame *frame,
			 const struct sk_buff *packet)
{
	struct weft_frame_headroom room = {};
	struct sk_buff *skb = weft_frame_build(frame, packet, 0, &room);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	return skb;
}

struct weft_hello up_hello_of(u32 i)
{
	return (struct weft_hello) {
		.guid = ups->other[i].guid,
		.max_frame = ups->other[i].max_frame,
		.type = WEFT_NODE_SWITCH,
	};
}

void up_say_hello(struct kunit *test, u32 i, const struct weft_hello *hello, u32 nonce,
		  u32 heard, u16 length)
{
	struct weft_frame frame = {
		.type = WEFT_FRAME_HELLO, .nonce = nonce, .heard = heard, .length = length,
	};
	struct sk_buff *skb = up_build(test, &frame, NULL);

	weft_hello_encode(skb->data + UP_HEADER, hello);
	weft_frame_seal(skb);
	up_receive_skb(i, skb);
}

void up_hello(struct kunit *test, u32 i, u32 nonce, u32 heard)
{
	struct weft_hello hello = up_hello_of(i);

	up_say_hello(test, i, &hello, nonce, heard, sizeof(struct weft_wire_hello));
}

void up_frame(struct kunit *test, u32 i, u8 type, u32 nonce, u32 heard)
{
	struct weft_frame frame = { .type = type, .nonce = nonce, .heard = heard };
	struct sk_buff *skb = up_build(test, &frame, NULL);

	weft_frame_seal(skb);
	up_receive_skb(i, skb);
}

struct sk_buff *up_smp(struct kunit *test)
{
	struct model_mad mad;
	struct sk_buff *skb;

	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	skb = weft_mad_build(&mad.address, &mad.mad, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	return skb;
}

void up_data(struct kunit *test, u32 i, u32 nonce, u32 heard)
{
	struct sk_buff *packet = up_smp(test), *skb;
	struct weft_frame frame = {
		.type = WEFT_FRAME_DATA, .nonce = nonce, .heard = heard, .length = packet->len,
		.flags = WEFT_FRAME_FIRST | WEFT_FRAME_LAST | WEFT_FRAME_VL15,
		.seq = WEFT_FRAME_FIRST_SEQ, .ack = WEFT_FRAME_FIRST_SEQ, .hops = 1,
	};

	skb = up_build(test, &frame, packet);
	kfree_skb(packet);
	weft_frame_seal(skb);
	up_receive_skb(i, skb);
}

static bool up_parse(struct sk_buff *skb, struct up_got *got)
{
	got->length = skb->len;
	return weft_frame_decode(&got->frame, skb->data, skb->len) &&
	       weft_frame_is_intact(skb, got->frame.length) &&
	       (got->frame.type != WEFT_FRAME_HELLO ||
		weft_hello_decode(&got->hello, skb->data + UP_HEADER));
}

bool up_next(struct sk_buff_head *queue, u8 type, struct up_got *got)
{
	struct sk_buff *skb;
	bool found = false;

	while (!found && (skb = skb_dequeue(queue))) {
		found = up_parse(skb, got) && got->frame.type == type;
		kfree_skb(skb);
	}
	return found;
}

bool up_wait(struct sk_buff_head *queue, u8 type, struct up_got *got)
{
	unsigned long end = jiffies + UP_PATIENCE;

	while (!up_next(queue, type, got)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(1000, 2000);
	}
	return true;
}

bool up_is_plugged(u32 port)
{
	return READ_ONCE(ups->port[port].ib.state) != IB_PORT_DOWN;
}

bool up_wait_plugged(u32 port, bool plugged)
{
	unsigned long end = jiffies + UP_PATIENCE;

	while (up_is_plugged(port) != plugged) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(1000, 2000);
	}
	return true;
}

bool up_wait_taken(u32 taken)
{
	unsigned long end = jiffies + UP_PATIENCE;

	while (up_taken() != taken) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(1000, 2000);
	}
	return true;
}

void up_settle(struct kunit *test)
{
	struct up_got got;

	msleep(UP_SILENCE_MS);
	skb_queue_purge(&ups->everybody);
	KUNIT_EXPECT_TRUE(test, up_wait(&ups->everybody, WEFT_FRAME_HELLO, &got));
}

bool up_meet(struct kunit *test, u32 i)
{
	struct up_other *other = &ups->other[i];
	struct up_got got;

	skb_queue_purge(&other->queue);
	up_hello(test, i, other->nonce, 0);
	if (!up_next(&other->queue, WEFT_FRAME_HELLO, &got))
		return false;
	KUNIT_EXPECT_EQ(test, got.frame.heard, other->nonce);
	KUNIT_EXPECT_TRUE(test, got.hello.answer);
	other->heard = got.frame.nonce;
	return true;
}

bool up_wait_meet(struct kunit *test, u32 i)
{
	unsigned long end = jiffies + UP_PATIENCE;

	while (!up_meet(test, i)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(1000, 2000);
	}
	return true;
}

u32 up_connect(struct kunit *test, u32 i)
{
	struct up_other *other = &ups->other[i];
	u32 port, taken = up_taken();
	struct up_got got;

	KUNIT_ASSERT_TRUE(test, up_wait_meet(test, i));
	for (port = 0; port < ups->num_ports && ups->port[port].taken; port++)
		;
	KUNIT_ASSERT_LT(test, port, ups->num_ports);
	skb_queue_purge(&other->queue);
	up_hello(test, i, other->nonce, other->heard);
	KUNIT_ASSERT_TRUE(test, up_wait_plugged(port, true));
	KUNIT_EXPECT_EQ(test, up_taken(), taken + 1);
	/* the node under test says that it has plugged the cable in */
	KUNIT_EXPECT_TRUE(test, up_wait(&other->queue, WEFT_FRAME_HELLO, &got));
	KUNIT_EXPECT_EQ(test, got.frame.nonce, other->heard);
	KUNIT_EXPECT_EQ(test, got.frame.heard, other->nonce);
	KUNIT_EXPECT_FALSE(test, got.hello.answer);
	return port;
}
