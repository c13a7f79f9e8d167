// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Without memory: each allocation of a function fails once. The function says so, and leaves
 * nothing behind, as kmemleak would tell.
 */
#include <kunit/test.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "fabric/arq.h"
#include "fabric/fabric.h"
#include "fabric/frame.h"
#include "fabric/tunnel.h"
#include "fabric/underlay.h"
#include "fabric/underlay_addr.h"
#include "mem/odp_queue.h"
#include "mem/region.h"
#include "nomem.h"
#include "object/dev.h"
#include "object/integrity.h"
#include "object/mr.h"
#include "ring/rxe.h"
#include "ring/sqe.h"
#include "switch_model.h"

#define NOMEM_GUID	0x0200ff00fe000030ULL
#define NOMEM_MLID	0xc000
#define NOMEM_HEADER	((u32)sizeof(struct weft_wire_frame))
#define NOMEM_PAGES	4
#define NOMEM_ENTRIES	9
/*
 * Each function has three allocations that it cannot do without. A walk may pass over one of them:
 * if an object needs a new slab, the page for that counts, too, and does not the next time.
 */
#define NOMEM_ERRORS	2U
/* A user whom no other test has. */
#define NOMEM_UID	3000

static int nomem_init(struct kunit *test)
{
	void *mem;

	fail_nth(1);
	mem = kmalloc(1, GFP_KERNEL);
	if (has_failed())
		return 0;
	kfree(mem);
	kunit_skip(test, "allocations that may sleep do not fail");
	return 0;
}

/* ---- fabric ---- */

static void nomem_receive(struct weft_ibport *port, struct sk_buff *skb, bool nested)
{
	kfree_skb(skb);
}

static void nomem_event(struct weft_ibport *port, u32 events)
{
}

static const struct weft_ibport_ops nomem_port_ops = {
	.receive = nomem_receive,
	.event = nomem_event,
};

/* Attach a port to the loopback device, while an allocation fails. Return: 0 or the error. */
static int attach_without(struct weft_ibport *port, __be64 guid, u32 nth, bool *failed)
{
	const struct weft_ibport_param param = {
		.ops = &nomem_port_ops, .num = 1, .guid = cpu_to_be64(1), .speed = 4,
	};
	static const struct weft_underlay_addrs none;
	struct weft_fabric *fabric;

	memset(port, 0, sizeof(*port));
	weft_ibport_init(port, &param);
	rtnl_lock();
	fail_nth(nth);
	fabric = weft_fabric_attach(init_net.loopback_dev, port, guid, &none);
	*failed = has_failed();
	if (!IS_ERR(fabric))
		weft_fabric_detach(fabric, port);
	rtnl_unlock();
	return PTR_ERR_OR_ZERO(fabric);
}

static void no_fabric(struct kunit *test)
{
	struct weft_ibport *port = kunit_kzalloc(test, sizeof(*port), GFP_KERNEL);
	const __be64 guids[] = { cpu_to_be64(NOMEM_GUID), 0 };
	u32 i, nth, errors;
	bool failed;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, port);
	for (i = 0; i < ARRAY_SIZE(guids); i++) {
		errors = 0;
		for_each_failure(nth, failed) {
			err = attach_without(port, guids[i], nth, &failed);
			if (!err)
				continue;
			errors++;
			KUNIT_EXPECT_EQ(test, err, -ENOMEM);
			KUNIT_EXPECT_TRUE(test, failed);
		}
		KUNIT_EXPECT_FALSE(test, failed);
		KUNIT_EXPECT_GE(test, errors, NOMEM_ERRORS);
	}
}

/* A group gets a packet but for one port, for which there is no copy. */
static void no_copy_for_a_port(struct kunit *test)
{
	struct model_mad mad = {}, packet = model_counters_request(1, NOMEM_MLID, 0xffff);
	struct model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	struct sk_buff *skb;
	bool asked, failed;
	u8 i;

	KUNIT_ASSERT_NOT_NULL(test, model);
	skb = weft_mad_build(&packet.address, &packet.mad, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_EQ(test, model_create(model, NOMEM_GUID), 0);
	/* the first group has all ports with cables */
	mad.smp.data[1] = GENMASK(MODEL_ENDS, 1);
	asked = model_ask(model, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_MCAST_FORWARD_TABLE, 0);
	KUNIT_EXPECT_TRUE(test, asked);
	fail_nth(1);
	model_send_skb(model, 1, skb);
	failed = has_failed();
	KUNIT_EXPECT_TRUE(test, failed);
	KUNIT_EXPECT_EQ(test, model_counter(model, 2, WEFT_IBC_XMIT_DISCARDS), 1);
	for (i = 1; i <= MODEL_ENDS; i++)
		KUNIT_EXPECT_EQ(test, skb_queue_len(&model->end[i].queue), i > 2 ? 1 : 0);
	model_destroy(model);
}

/* ---- frames ---- */

static struct sk_buff *nomem_packet(struct kunit *test, u32 length)
{
	struct weft_lrh lrh = { .length = length, .dlid = 5, .slid = 7, .lnh = WEFT_LNH_BTH };
	struct sk_buff *skb = alloc_skb(length, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	weft_lrh_encode(skb_put(skb, 8), &lrh);
	skb_put_zero(skb, length - 8);
	return skb;
}

static void nomem_send(struct weft_arq *arq, struct sk_buff *skb)
{
	kfree_skb(skb);
}

/* Bytes. */
static u32 nomem_delivered;

static void nomem_deliver(struct weft_arq *arq, struct sk_buff *skb)
{
	nomem_delivered += skb->len;
	kfree_skb(skb);
}

static void nomem_arm(struct weft_arq *arq, u64 when)
{
}

static void nomem_count(struct weft_arq *arq, enum weft_ibport_counter counter)
{
}

static void nomem_more(struct weft_arq *arq)
{
}

static const struct weft_arq_ops nomem_arq_ops = {
	.send = nomem_send,
	.deliver = nomem_deliver,
	.arm = nomem_arm,
	.count = nomem_count,
	.more = nomem_more,
	.give_up = nomem_more,
};

/* One of the two frames of @packet comes, while an allocation fails unless @nth is 0. */
static bool frame_comes(struct kunit *test, struct weft_arq *arq, const struct sk_buff *packet,
			u32 i, u32 nth)
{
	const struct weft_frame frame = {
		.type = WEFT_FRAME_DATA, .length = packet->len / 2, .nonce = 2, .heard = 1,
		.flags = i ? WEFT_FRAME_LAST : WEFT_FRAME_FIRST,
		.seq = WEFT_FRAME_FIRST_SEQ + i, .ack = WEFT_FRAME_FIRST_SEQ,
	};
	static const struct weft_frame_headroom room;
	struct sk_buff *skb;

	skb = weft_frame_build(&frame, packet, i * packet->len / 2, &room);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	__skb_pull(skb, NOMEM_HEADER);
	fail_nth(nth);
	weft_arq_receive(arq, &frame, skb, 1);
	return has_failed();
}

/* A frame that there is no memory for is not acknowledged, so that it comes again. */
static void frame_comes_again(struct kunit *test)
{
	const struct weft_arq_param param = {
		.ops = &nomem_arq_ops, .nonce = 1, .heard = 2, .max_frame = 1500,
	};
	struct weft_arq *arq = kunit_kzalloc(test, sizeof(*arq), GFP_KERNEL);
	struct sk_buff *packet = nomem_packet(test, 2048), *tap;

	KUNIT_ASSERT_NOT_NULL(test, arq);
	weft_arq_init(arq, &param);
	nomem_delivered = 0;
	frame_comes(test, arq, packet, 0, 0);
	KUNIT_ASSERT_NOT_NULL(test, arq->receiver.reasm.skb);
	/* somebody else has it, too, so it has to be copied */
	tap = skb_clone(arq->receiver.reasm.skb, GFP_KERNEL);
	KUNIT_EXPECT_NOT_NULL(test, tap);
	KUNIT_EXPECT_TRUE(test, frame_comes(test, arq, packet, 1, 1));
	KUNIT_EXPECT_EQ(test, arq->receiver.expected, WEFT_FRAME_FIRST_SEQ + 1);
	frame_comes(test, arq, packet, 1, 0);
	KUNIT_EXPECT_EQ(test, arq->receiver.expected, WEFT_FRAME_FIRST_SEQ + 2);
	KUNIT_EXPECT_EQ(test, nomem_delivered, packet->len);
	kfree_skb(tap);
	kfree_skb(packet);
	weft_arq_stop(arq);
	weft_arq_destroy(arq);
}

/* A packet in pages whose headers cannot be pulled. */
static void no_headers(struct kunit *test)
{
	struct sk_buff *packet = nomem_packet(test, 2048), *paged, *tap;
	struct page *page = alloc_page(GFP_KERNEL);
	struct weft_reasm reasm = {};
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, page);
	paged = alloc_skb(0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, paged);
	memcpy(page_address(page), packet->data, packet->len);
	skb_add_rx_frag(paged, 0, page, 0, packet->len, PAGE_SIZE);
	tap = skb_clone(paged, GFP_KERNEL);
	KUNIT_EXPECT_NOT_NULL(test, tap);
	kfree_skb(packet);
	fail_nth(1);
	ret = weft_reasm_add(&reasm, paged, WEFT_FRAME_FIRST | WEFT_FRAME_LAST, &packet);
	KUNIT_EXPECT_TRUE(test, has_failed());
	KUNIT_EXPECT_EQ(test, ret, -ENOMEM);
	KUNIT_EXPECT_NULL(test, packet);
	KUNIT_EXPECT_NULL(test, reasm.skb);
	kfree_skb(tap);
}

/* ---- tunnels ---- */

static int tunnel_open(struct weft_underlay *tunnel)
{
	int ret;

	rtnl_lock();
	ret = tunnel->ops->open(tunnel);
	rtnl_unlock();
	return ret;
}

static void tunnel_close(struct weft_underlay *tunnel)
{
	rtnl_lock();
	tunnel->ops->close(tunnel);
	rtnl_unlock();
	tunnel->ops->destroy(tunnel);
}

static void no_tunnel(struct kunit *test)
{
	struct weft_underlay_addrs peers;
	u32 nth, none = 0, closed = 0;
	struct weft_underlay *tunnel;
	bool failed;
	int err;

	KUNIT_ASSERT_EQ(test, weft_underlay_addrs_parse(&peers, "192.0.2.1 2001:db8::1"), 0);
	for_each_failure(nth, failed) {
		fail_nth(nth);
		tunnel = weft_tunnel_create(init_net.loopback_dev, &peers);
		err = tunnel ? tunnel_open(tunnel) : 0;
		failed = has_failed();
		none += !tunnel;
		closed += !!err;
		/* errors of sockets are not always -ENOMEM */
		if (!tunnel || err)
			KUNIT_EXPECT_TRUE(test, failed);
		if (tunnel)
			tunnel_close(tunnel);
	}
	KUNIT_EXPECT_FALSE(test, failed);
	KUNIT_EXPECT_GE(test, none, 2U);
	KUNIT_EXPECT_GE(test, closed, 2U);
}

static u32 nomem_freed;

static void nomem_noted(struct sk_buff *skb)
{
	nomem_freed++;
}

/* A frame without headroom, and there is no memory for it. */
static void no_room_for_a_datagram(struct kunit *test)
{
	struct weft_underlay *tunnel;
	struct weft_underlay_addrs peers;
	struct sk_buff *skb;
	bool failed;
	u32 most;

	KUNIT_ASSERT_EQ(test, weft_underlay_addrs_parse(&peers, "192.0.2.1"), 0);
	skb = alloc_skb(100, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, 100);
	skb->destructor = nomem_noted;
	nomem_freed = 0;
	tunnel = weft_tunnel_create(init_net.loopback_dev, &peers);
	KUNIT_ASSERT_NOT_NULL(test, tunnel);
	KUNIT_EXPECT_EQ(test, tunnel_open(tunnel), 0);
	/* the route then needs no memory; no cache takes one in the jiffy that it is made in */
	msleep(2 * MSEC_PER_SEC / HZ);
	local_bh_disable();
	most = tunnel->ops->max_frame(tunnel, peers.addr);
	fail_nth(1);
	tunnel->ops->send(tunnel, peers.addr, skb);
	failed = has_failed();
	local_bh_enable();
	KUNIT_EXPECT_GT(test, most, 100U);
	KUNIT_EXPECT_TRUE(test, failed);
	KUNIT_EXPECT_EQ(test, nomem_freed, 1U);
	tunnel_close(tunnel);
}

/* ---- memory regions and rings ---- */

static struct ib_mr *nomem_mr(struct ib_pd *pd, u32 kind)
{
	if (kind == 2)
		return weft_alloc_mr_integrity(pd, NOMEM_PAGES, NOMEM_PAGES);
	return weft_alloc_mr(pd, kind ? IB_MR_TYPE_SG_GAPS : IB_MR_TYPE_MEM_REG, NOMEM_PAGES);
}

static void no_mr(struct kunit *test)
{
	/* only its regions are used, and the fact that there is no DMA device */
	struct weft_dev *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct ib_pd *pd = kunit_kzalloc(test, sizeof(*pd), GFP_KERNEL);
	u32 nth, kind, errors;
	struct ib_mr *mr;
	bool failed;

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_NOT_NULL(test, pd);
	weft_region_table_init(&dev->regions);
	pd->device = &dev->ibdev;
	for (kind = 0; kind < 3; kind++) {
		errors = 0;
		for_each_failure(nth, failed) {
			fail_nth(nth);
			mr = nomem_mr(pd, kind);
			failed = has_failed();
			if (IS_ERR(mr)) {
				errors++;
				KUNIT_EXPECT_EQ(test, PTR_ERR(mr), -ENOMEM);
				KUNIT_EXPECT_TRUE(test, failed);
				continue;
			}
			mr->device = pd->device;
			mr->pd = pd;
			KUNIT_EXPECT_EQ(test, weft_dereg_mr(mr, NULL), 0);
		}
		KUNIT_EXPECT_FALSE(test, failed);
		KUNIT_EXPECT_GE(test, errors, NOMEM_ERRORS);
	}
	weft_region_table_destroy(&dev->regions);
}

static void no_rxe_queue(struct kunit *test)
{
	struct weft_ring *ring;
	u32 nth, errors = 0;
	bool failed;

	for_each_failure(nth, failed) {
		fail_nth(nth);
		ring = weft_rxe_create(NOMEM_ENTRIES, weft_sq_stride(true, 4, 80), NULL, NULL);
		failed = has_failed();
		if (!IS_ERR(ring)) {
			weft_ring_destroy(ring);
			continue;
		}
		errors++;
		KUNIT_EXPECT_EQ(test, PTR_ERR(ring), -ENOMEM);
		KUNIT_EXPECT_TRUE(test, failed);
	}
	KUNIT_EXPECT_FALSE(test, failed);
	KUNIT_EXPECT_GE(test, errors, NOMEM_ERRORS);
}

/* ---- on-demand paging ---- */

/* The first queue of a user. */
static struct weft_odp_queue *odp_queue_without(struct kunit *test, u32 nth, bool *failed)
{
	struct weft_odp_queue *queue;
	const struct cred *old;
	struct cred *new;

	new = prepare_creds();
	KUNIT_ASSERT_NOT_NULL(test, new);
	new->uid = KUIDT_INIT(NOMEM_UID);
	old = override_creds(new);
	fail_nth(nth);
	queue = weft_odp_queue_create();
	*failed = has_failed();
	revert_creds(old);
	put_cred(new);
	return queue;
}

static void no_odp_queue(struct kunit *test)
{
	struct weft_odp_queue *queue;
	u32 nth, errors = 0;
	bool failed;

	for_each_failure(nth, failed) {
		queue = odp_queue_without(test, nth, &failed);
		if (queue)
			weft_odp_queue_put(queue);
		else
			KUNIT_EXPECT_TRUE(test, failed);
		errors += !queue;
	}
	KUNIT_EXPECT_FALSE(test, failed);
	KUNIT_EXPECT_GE(test, errors, NOMEM_ERRORS);
}

static struct kunit_case nomem_cases[] = {
	KUNIT_CASE(no_fabric),
	KUNIT_CASE(no_copy_for_a_port),
	KUNIT_CASE(frame_comes_again),
	KUNIT_CASE(no_headers),
	KUNIT_CASE(no_tunnel),
	KUNIT_CASE(no_room_for_a_datagram),
	KUNIT_CASE(no_mr),
	KUNIT_CASE(no_rxe_queue),
	KUNIT_CASE(no_odp_queue),
	{}
};

static struct kunit_suite nomem_suite = {
	.name = "weft_nomem",
	.init = nomem_init,
	.test_cases = nomem_cases,
};

kunit_test_suite(nomem_suite);
