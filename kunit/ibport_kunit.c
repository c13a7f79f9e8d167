// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of fabric/port.c: cables, packets that pass in each state, and counters. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>

#include "fabric/port.h"
#include "fake_node.h"
#include "wire/codec.h"
#include "fuzz.h"

#define IBPORT_SEED	0x706f7274
#define IBPORT_FUZZ	5000

/* LRH, BTH, DETH, some data, ICRC */
#define IBPORT_LENGTH	(8 + 12 + 8 + 256 + 4)

static int ibport_test_init(struct kunit *test)
{
	test->priv = fake_node_create(test, WEFT_NODE_CA);
	return 0;
}

static struct fake_port *fake_port(struct kunit *test)
{
	return &((struct fake_node *)test->priv)->port[1];
}

/* Set PortState as a subnet manager would. */
static void force_state(struct weft_ibport *port, u8 state)
{
	port->info.linkspeed_portstate = (port->info.linkspeed_portstate & 0xf0) | state;
	WRITE_ONCE(port->state, state);
}

static u64 counted(struct fake_port *port, enum weft_ibport_counter counter)
{
	return atomic64_read(&port->ib.counters[counter]);
}

static struct sk_buff *packet(struct kunit *test, u8 vl, u16 dlid, u32 extra)
{
	struct weft_lrh lrh = {
		.length = IBPORT_LENGTH,
		.dlid = dlid,
		.vl = vl,
		.lnh = WEFT_LNH_BTH,
	};
	struct sk_buff *skb = alloc_skb(IBPORT_LENGTH + extra, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	memset(skb_put(skb, IBPORT_LENGTH + extra), 0, IBPORT_LENGTH + extra);
	weft_lrh_encode(skb->data, &lrh);
	return skb;
}

/* A packet whose data are in a page, as net devices deliver them. */
static struct sk_buff *paged_packet(struct kunit *test, u8 vl, u16 dlid, u32 extra)
{
	struct sk_buff *linear = packet(test, vl, dlid, extra);
	struct page *page = alloc_page(GFP_KERNEL);
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	memcpy(page_address(page), linear->data, linear->len);
	skb_add_rx_frag(skb, 0, page, 0, linear->len, PAGE_SIZE);
	kfree_skb(linear);
	return skb;
}

static void transmit(struct fake_port *port, struct sk_buff *skb)
{
	rcu_read_lock_bh();
	rcu_read_lock();
	weft_ibport_xmit(&port->ib, skb);
	rcu_read_unlock();
	rcu_read_unlock_bh();
}

static void deliver(struct fake_port *port, struct sk_buff *skb)
{
	rcu_read_lock_bh();
	rcu_read_lock();
	weft_ibport_deliver(&port->ib, skb, false);
	rcu_read_unlock();
	rcu_read_unlock_bh();
}

static void starts_down(struct kunit *test)
{
	struct fake_port *port = fake_port(test);

	KUNIT_EXPECT_EQ(test, port->ib.state, IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, port->ib.info.portphysstate_linkdown, 0x22);
	KUNIT_EXPECT_EQ(test, port->ib.info.linkspeed_portstate, 0x71);
	KUNIT_EXPECT_EQ(test, port->ib.info.linkspeedactive_enabled, 0x47);
	KUNIT_EXPECT_EQ(test, port->ib.lid, 0);
	KUNIT_EXPECT_EQ(test, port->ib.mtu, IB_MTU_4096);
	KUNIT_EXPECT_EQ(test, port->ib.pkeys[0], 0xffff);
	KUNIT_EXPECT_TRUE(test, port->ib.guids[0] == port->ib.guid);
}

static void own_port_of_a_switch(struct kunit *test)
{
	struct fake_node *fake = fake_node_create(test, WEFT_NODE_SWITCH);

	KUNIT_EXPECT_EQ(test, fake->port[0].ib.state, IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, fake->port[0].ib.info.portphysstate_linkdown, 0x52);
	KUNIT_EXPECT_EQ(test, fake->port[1].ib.state, IB_PORT_DOWN);
}

static void plug_and_unplug(struct kunit *test)
{
	struct fake_port *port = fake_port(test);

	weft_ibport_plug(&port->ib, &port->cable);
	KUNIT_EXPECT_EQ(test, port->ib.state, IB_PORT_INIT);
	KUNIT_EXPECT_EQ(test, port->ib.info.portphysstate_linkdown, 0x52);
	KUNIT_EXPECT_EQ(test, port->events, WEFT_IBPORT_LINK);

	port->events = 0;
	port->ib.lid = 7;
	force_state(&port->ib, IB_PORT_ACTIVE);
	weft_ibport_unplug(&port->ib);
	KUNIT_EXPECT_EQ(test, port->ib.state, IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, port->ib.info.portphysstate_linkdown, 0x22);
	KUNIT_EXPECT_EQ(test, port->events, WEFT_IBPORT_LINK | WEFT_IBPORT_ERR);
	KUNIT_EXPECT_EQ(test, port->ib.lid, 7);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_LINK_DOWNED), 1);

	port->events = 0;
	weft_ibport_unplug(&port->ib);
	KUNIT_EXPECT_EQ(test, port->events, 0);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_LINK_DOWNED), 1);
}

static void disabled_stays_down(struct kunit *test)
{
	struct fake_port *port = fake_port(test);

	port->ib.info.portphysstate_linkdown = IB_PORT_PHYS_STATE_DISABLED << 4 | 2;
	weft_ibport_plug(&port->ib, &port->cable);
	KUNIT_EXPECT_EQ(test, port->ib.state, IB_PORT_DOWN);
	weft_ibport_unplug(&port->ib);
	KUNIT_EXPECT_EQ(test, port->ib.info.portphysstate_linkdown, 0x32);
	KUNIT_EXPECT_EQ(test, port->events, 0);
}

/* A packet that passes a port or does not. */
struct passage_row {
	u8	state;			/* of the port */
	u8	vl;
	bool	out;			/* can be sent */
	bool	in;			/* is received */
	u8	after;			/* state of the port after the packet was received */
};

static const struct passage_row passage_rows[] = {
	{ IB_PORT_DOWN, 15, false, false, IB_PORT_DOWN },
	{ IB_PORT_DOWN, 0, false, false, IB_PORT_DOWN },
	{ IB_PORT_INIT, 15, true, true, IB_PORT_INIT },
	{ IB_PORT_INIT, 0, false, false, IB_PORT_INIT },
	{ IB_PORT_ARMED, 15, true, true, IB_PORT_ARMED },
	{ IB_PORT_ARMED, 0, false, true, IB_PORT_ACTIVE },
	{ IB_PORT_ACTIVE, 15, true, true, IB_PORT_ACTIVE },
	{ IB_PORT_ACTIVE, 0, true, true, IB_PORT_ACTIVE },
};

static void passage_row_desc(const struct passage_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "state %u, VL %u", row->state, row->vl);
}

KUNIT_ARRAY_PARAM(passage_row, passage_rows, passage_row_desc);

static void passes_by_state(struct kunit *test)
{
	const struct passage_row *row = test->param_value;
	struct fake_port *port = fake_port(test);

	weft_ibport_plug(&port->ib, &port->cable);
	force_state(&port->ib, row->state);
	transmit(port, packet(test, row->vl, 5, 0));
	KUNIT_EXPECT_EQ(test, port->sent, row->out);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_XMIT_PKTS), row->out);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_XMIT_DISCARDS), !row->out);
	KUNIT_EXPECT_EQ(test, port->ib.state, row->state);
	port->events = 0;
	deliver(port, packet(test, row->vl, 5, 0));
	KUNIT_EXPECT_EQ(test, port->received, row->in);
	KUNIT_EXPECT_EQ(test, port->ib.state, row->after);
	KUNIT_EXPECT_EQ(test, port->ib.info.linkspeed_portstate & 15, row->after);
	KUNIT_EXPECT_EQ(test, port->events,
			row->after == row->state ? 0 : WEFT_IBPORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_RCV_PKTS), row->in);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_RCV_ERRORS), 0);
}

static void nothing_without_cable(struct kunit *test)
{
	struct fake_port *port = fake_port(test);

	force_state(&port->ib, IB_PORT_ACTIVE);
	transmit(port, packet(test, 0, 5, 0));
	KUNIT_EXPECT_EQ(test, port->sent, 0);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_XMIT_DISCARDS), 1);
}

static void counts(struct kunit *test)
{
	static const u16 dlids[] = { 1, 0xbfff, 0xc000, 0xfffe };
	struct fake_port *port = fake_port(test);
	int i;

	weft_ibport_plug(&port->ib, &port->cable);
	force_state(&port->ib, IB_PORT_ACTIVE);
	for (i = 0; i < ARRAY_SIZE(dlids); i++) {
		transmit(port, packet(test, 0, dlids[i], 0));
		deliver(port, packet(test, 0, dlids[i], 0));
	}
	/* the permissive LID counts as unicast */
	transmit(port, packet(test, 15, 0xffff, 0));
	deliver(port, packet(test, 15, 0xffff, 0));
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_XMIT_PKTS), 5);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_RCV_PKTS), 5);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_UNICAST_XMIT), 3);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_UNICAST_RCV), 3);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_MULTICAST_XMIT), 2);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_MULTICAST_RCV), 2);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_XMIT_DATA), 5 * IBPORT_LENGTH / 4);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_RCV_DATA), 5 * IBPORT_LENGTH / 4);
}

/* Padding of an Ethernet frame is cut off. */
static void excess_is_trimmed(struct kunit *test)
{
	struct fake_port *port = fake_port(test);

	weft_ibport_plug(&port->ib, &port->cable);
	force_state(&port->ib, IB_PORT_ACTIVE);
	deliver(port, packet(test, 0, 5, 22));
	KUNIT_EXPECT_EQ(test, port->length, IBPORT_LENGTH);
	deliver(port, paged_packet(test, 0, 5, 22));
	KUNIT_EXPECT_EQ(test, port->length, IBPORT_LENGTH);
	KUNIT_EXPECT_EQ(test, port->received, 2);
	transmit(port, paged_packet(test, 0, 5, 0));
	KUNIT_EXPECT_EQ(test, port->sent, 1);
}

static void malformed_is_an_error(struct kunit *test)
{
	struct fake_port *port = fake_port(test);
	struct sk_buff *skb;

	weft_ibport_plug(&port->ib, &port->cable);
	force_state(&port->ib, IB_PORT_ACTIVE);
	deliver(port, packet(test, 1, 5, 0));
	deliver(port, packet(test, 15, 0xc000, 0));
	skb = packet(test, 0, 5, 0);
	skb_trim(skb, 7);
	deliver(port, skb);
	skb = packet(test, 0, 5, 0);
	skb_trim(skb, IBPORT_LENGTH - 4);
	deliver(port, skb);
	deliver(port, alloc_skb(8, GFP_KERNEL | __GFP_NOFAIL));
	KUNIT_EXPECT_EQ(test, port->received, 0);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_RCV_ERRORS), 5);
}

/* A damaged packet proves nothing about the other end; the first good one activates the port. */
static void armed_until_data_come(struct kunit *test)
{
	struct fake_port *port = fake_port(test);
	struct sk_buff *skb = packet(test, 0, 5, 0);

	weft_ibport_plug(&port->ib, &port->cable);
	force_state(&port->ib, IB_PORT_ARMED);
	port->events = 0;
	skb_trim(skb, IBPORT_LENGTH - 4);
	deliver(port, skb);
	deliver(port, packet(test, 1, 5, 0));
	KUNIT_EXPECT_EQ(test, port->ib.state, IB_PORT_ARMED);
	transmit(port, packet(test, 0, 5, 0));
	KUNIT_EXPECT_EQ(test, port->sent, 0);
	KUNIT_EXPECT_EQ(test, port->events, 0);

	deliver(port, packet(test, 0, 0xc000, 0));
	KUNIT_EXPECT_EQ(test, port->events, WEFT_IBPORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, port->ib.info.portphysstate_linkdown, 0x52);
	port->events = 0;
	deliver(port, packet(test, 0, 5, 0));
	KUNIT_EXPECT_EQ(test, port->events, 0);
	transmit(port, packet(test, 0, 5, 0));
	KUNIT_EXPECT_EQ(test, port->sent, 1);
	KUNIT_EXPECT_EQ(test, port->received, 2);
}

static void survives_anything(struct kunit *test)
{
	struct fake_port *port = fake_port(test);
	struct rnd_state rnd;
	struct sk_buff *skb;
	u32 i, length;

	prandom_seed_state(&rnd, IBPORT_SEED + fuzz_seed);
	weft_ibport_plug(&port->ib, &port->cable);
	for_each_fuzz(i, IBPORT_FUZZ) {
		force_state(&port->ib, prandom_u32_state(&rnd) % 5);
		length = prandom_u32_state(&rnd) % 128;
		skb = alloc_skb(length, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		prandom_bytes_state(&rnd, skb_put(skb, length), length);
		/* let some of them have an LRH that may be valid */
		if (length > 5 && prandom_u32_state(&rnd) % 2) {
			skb->data[0] = prandom_u32_state(&rnd) % 2 ? 0xf0 : 0;
			skb->data[1] = WEFT_LNH_BTH;
			skb->data[4] = 0;
			skb->data[5] = prandom_u32_state(&rnd) % 33;
		}
		if (prandom_u32_state(&rnd) % 2)
			deliver(port, skb);
		else
			transmit(port, skb);
	}
	KUNIT_EXPECT_GT(test, port->received, 0);
	KUNIT_EXPECT_EQ(test, port->received, counted(port, WEFT_IBC_RCV_PKTS));
	KUNIT_EXPECT_EQ(test, port->sent, counted(port, WEFT_IBC_XMIT_PKTS));
}

/* A P_Key of a packet, and the index of its entry or an error. */
struct pkey_row {
	u16	pkey;
	int	index;
};

static const struct pkey_row pkey_rows[] = {
	{ 0xffff, 0 },		/* full and full */
	{ 0x7fff, 0 },		/* limited and full */
	{ 0x8001, 1 },		/* full and limited */
	{ 0x0001, -ENOENT },	/* both limited */
	{ 0x8002, 3 },		/* both are in the table: the full one */
	{ 0x0002, 3 },
	{ 0x8003, 63 },		/* the last entry */
	{ 0x8004, -ENOENT },
	{ 0x0000, -ENOENT },	/* the invalid P_Key */
	{ 0x8000, -ENOENT },
};

static void finds_pkeys(struct kunit *test)
{
	struct weft_ibport *port = &fake_port(test)->ib;
	int i;

	port->pkeys[1] = 0x0001;
	port->pkeys[2] = 0x0002;
	port->pkeys[3] = 0x8002;
	port->pkeys[4] = 0x8000;
	port->pkeys[63] = 0x8003;
	for (i = 0; i < ARRAY_SIZE(pkey_rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, weft_ibport_find_pkey(port, pkey_rows[i].pkey),
				    pkey_rows[i].index, "P_Key %#x", pkey_rows[i].pkey);
}

static void matches_pkeys(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, weft_pkeys_match(0x8001, 0x0001));
	KUNIT_EXPECT_TRUE(test, weft_pkeys_match(0x8001, 0x8001));
	KUNIT_EXPECT_FALSE(test, weft_pkeys_match(0x0001, 0x0001));
	KUNIT_EXPECT_FALSE(test, weft_pkeys_match(0x8001, 0x8002));
	/* the invalid P_Key, which unused entries may have */
	KUNIT_EXPECT_FALSE(test, weft_pkeys_match(0x0000, 0x8000));
	KUNIT_EXPECT_FALSE(test, weft_pkeys_match(0x8000, 0x8000));
}

static void knows_its_lids(struct kunit *test)
{
	struct weft_ibport *port = &fake_port(test)->ib;

	KUNIT_EXPECT_FALSE(test, weft_ibport_has_lid(port, 0));
	port->lid = 0x10;
	KUNIT_EXPECT_TRUE(test, weft_ibport_has_lid(port, 0x10));
	KUNIT_EXPECT_FALSE(test, weft_ibport_has_lid(port, 0x11));
	port->lmc = 2;
	KUNIT_EXPECT_TRUE(test, weft_ibport_has_lid(port, 0x13));
	KUNIT_EXPECT_FALSE(test, weft_ibport_has_lid(port, 0x14));
}

static struct sk_buff *long_packet(struct kunit *test, u8 vl, u32 length)
{
	struct sk_buff *skb = packet(test, vl, 5, length - IBPORT_LENGTH);
	struct weft_lrh lrh = { .length = length, .dlid = 5, .vl = vl, .lnh = WEFT_LNH_BTH };

	weft_lrh_encode(skb->data, &lrh);
	return skb;
}

/* A packet of a certain length, with LRH and ICRC, that passes or does not. */
struct length_row {
	u8	vl;
	u8	mtu;			/* NeighborMTU */
	u32	length;
	bool	out;
	bool	in;
};

static const struct length_row length_rows[] = {
	{ 0, IB_MTU_4096, 4096 + 124, true, true },
	{ 0, IB_MTU_4096, 4096 + 128, false, false },
	{ 0, IB_MTU_1024, 1024 + 124, true, true },
	/* NeighborMTU is for what is sent; MTUCap limits what is received */
	{ 0, IB_MTU_1024, 1024 + 128, false, true },
	{ 0, IB_MTU_256, 256 + 124, true, true },
	{ 0, IB_MTU_256, 256 + 128, false, true },
	{ 15, IB_MTU_4096, 256 + 124, true, true },
	{ 15, IB_MTU_4096, 256 + 128, false, false },
	{ 15, IB_MTU_256, 256 + 124, true, true },
};

static void length_row_desc(const struct length_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "VL %u, MTU %u, %u bytes", row->vl, row->mtu,
		 row->length);
}

KUNIT_ARRAY_PARAM(length_row, length_rows, length_row_desc);

static void passes_by_length(struct kunit *test)
{
	const struct length_row *row = test->param_value;
	struct fake_port *port = fake_port(test);

	weft_ibport_plug(&port->ib, &port->cable);
	force_state(&port->ib, IB_PORT_ACTIVE);
	port->ib.mtu = row->mtu;
	transmit(port, long_packet(test, row->vl, row->length));
	KUNIT_EXPECT_EQ(test, port->sent, row->out);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_XMIT_DISCARDS), !row->out);
	deliver(port, long_packet(test, row->vl, row->length));
	KUNIT_EXPECT_EQ(test, port->received, row->in);
	KUNIT_EXPECT_EQ(test, counted(port, WEFT_IBC_RCV_ERRORS), !row->in);
}

static void counts_violations(struct kunit *test)
{
	struct weft_ibport *port = &fake_port(test)->ib;
	int i;

	weft_ibport_violation(port, false);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.pkey_violations), 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.qkey_violations), 0);
	port->info.qkey_violations = cpu_to_be16(0xfeff);
	weft_ibport_violation(port, true);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.qkey_violations), 0xff00);
	port->info.qkey_violations = cpu_to_be16(0xfffe);
	port->info.pkey_violations = cpu_to_be16(0xfffe);
	for (i = 0; i < 3; i++) {
		weft_ibport_violation(port, true);
		weft_ibport_violation(port, false);
	}
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.qkey_violations), 0xffff);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(port->info.pkey_violations), 0xffff);
	KUNIT_EXPECT_EQ(test, counted(fake_port(test), WEFT_IBC_RCV_CONSTRAINT), 0);
}

/* The cable is told of changes by management, and not of changes by the cable itself. */
static void tells_the_cable(struct kunit *test)
{
	struct fake_port *port = fake_port(test);

	weft_ibport_plug(&port->ib, &port->cable);
	KUNIT_EXPECT_EQ(test, port->links, 0);
	weft_ibport_event(&port->ib, WEFT_IBPORT_LID | WEFT_IBPORT_ACTIVE);
	weft_ibport_event(&port->ib, 0);
	KUNIT_EXPECT_EQ(test, port->links, 0);
	weft_ibport_event(&port->ib, WEFT_IBPORT_LINK);
	KUNIT_EXPECT_EQ(test, port->links, 1);
	weft_ibport_tell(&port->ib, WEFT_IBPORT_LINK);
	weft_ibport_unplug(&port->ib);
	weft_ibport_event(&port->ib, WEFT_IBPORT_LINK);
	KUNIT_EXPECT_EQ(test, port->links, 1);
}

/* How a port follows the other end. */
struct follow_row {
	u8	phys;			/* PortPhysicalState before */
	bool	up;
	bool	anew;
	u8	want;			/* PortPhysicalState after that */
	u32	events;
};

static const struct follow_row follow_rows[] = {
	{ IB_PORT_PHYS_STATE_LINK_UP, true, false, IB_PORT_PHYS_STATE_LINK_UP, 0 },
	{ IB_PORT_PHYS_STATE_LINK_UP, true, true, IB_PORT_PHYS_STATE_LINK_UP,
	  WEFT_IBPORT_LINK | WEFT_IBPORT_ERR },
	{ IB_PORT_PHYS_STATE_LINK_UP, false, false, IB_PORT_PHYS_STATE_POLLING,
	  WEFT_IBPORT_LINK | WEFT_IBPORT_ERR },
	{ IB_PORT_PHYS_STATE_POLLING, true, false, IB_PORT_PHYS_STATE_LINK_UP,
	  WEFT_IBPORT_LINK },
	{ IB_PORT_PHYS_STATE_POLLING, true, true, IB_PORT_PHYS_STATE_LINK_UP,
	  WEFT_IBPORT_LINK },
	{ IB_PORT_PHYS_STATE_POLLING, false, true, IB_PORT_PHYS_STATE_POLLING, 0 },
	{ IB_PORT_PHYS_STATE_SLEEP, false, false, IB_PORT_PHYS_STATE_SLEEP, 0 },
	{ IB_PORT_PHYS_STATE_DISABLED, false, true, IB_PORT_PHYS_STATE_DISABLED, 0 },
	{ IB_PORT_PHYS_STATE_DISABLED, true, true, IB_PORT_PHYS_STATE_DISABLED, 0 },
};

static void follows(struct kunit *test)
{
	struct fake_port *port = fake_port(test);
	struct weft_ibport *ib = &port->ib;
	const struct follow_row *row;
	int i;

	weft_ibport_plug(ib, &port->cable);
	for (i = 0; i < ARRAY_SIZE(follow_rows); i++) {
		row = &follow_rows[i];
		ib->info.portphysstate_linkdown = row->phys << 4 | 2;
		force_state(ib, row->phys == IB_PORT_PHYS_STATE_LINK_UP ? IB_PORT_ACTIVE :
									  IB_PORT_DOWN);
		KUNIT_EXPECT_EQ_MSG(test, weft_ibport_follow(ib, row->up, row->anew),
				    row->events, "row %d", i);
		KUNIT_EXPECT_EQ_MSG(test, ib->info.portphysstate_linkdown >> 4, row->want,
				    "row %d", i);
	}
	KUNIT_EXPECT_EQ(test, port->links, 0);
}

static struct kunit_case ibport_cases[] = {
	KUNIT_CASE(starts_down),
	KUNIT_CASE(own_port_of_a_switch),
	KUNIT_CASE(plug_and_unplug),
	KUNIT_CASE(disabled_stays_down),
	KUNIT_CASE_PARAM(passes_by_state, passage_row_gen_params),
	KUNIT_CASE_PARAM(passes_by_length, length_row_gen_params),
	KUNIT_CASE(nothing_without_cable),
	KUNIT_CASE(counts),
	KUNIT_CASE(excess_is_trimmed),
	KUNIT_CASE(malformed_is_an_error),
	KUNIT_CASE(armed_until_data_come),
	KUNIT_CASE(survives_anything),
	KUNIT_CASE(finds_pkeys),
	KUNIT_CASE(matches_pkeys),
	KUNIT_CASE(knows_its_lids),
	KUNIT_CASE(counts_violations),
	KUNIT_CASE(tells_the_cable),
	KUNIT_CASE(follows),
	{}
};

static struct kunit_suite ibport_suite = {
	.name = "weft_ibport",
	.init = ibport_test_init,
	.test_cases = ibport_cases,
};

kunit_test_suite(ibport_suite);
