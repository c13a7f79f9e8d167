// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* link/run.c: which packets of a buffer are processed as one. */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

#include "engine/pkt.h"
#include "inet/ip.h"
#include "link/roce_port.h"
#include "link/run.h"
#include "link/uso.h"
#include "object/backlog.h"
#include "object/dev.h"
#include "object/qp.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

#define RUN_MTU		256
#define RUN_SIZE	(sizeof(struct weft_wire_bth) + RUN_MTU + WEFT_ICRC_LENGTH)
/* packets of the longest run, and more than fit into one */
#define RUN_MAX		17
#define RUN_PACKETS	24
/* the first PSN: numbers wrap */
#define RUN_PSN		0xfffffc
#define RUN_ID		0xfffe
#define RUN_OPCODE	WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_WRITE_MIDDLE)

/* A buffer of middle packets, and what the engine knows of their QP. */
struct run {
	struct kunit		*test;
	struct weft_qp		*qp;
	struct weft_dev		*dev;
	struct sk_buff		*skb;
	u8			*packets;	/* RUN_SIZE bytes each */
	struct weft_uso_cursor	at;
	struct weft_pkt		pkt;
};

static struct weft_wire_bth *run_bth(struct run *run, u32 i)
{
	return (void *)run->packets + i * RUN_SIZE;
}

/* The ICRC of packet @i, with the headers that a net device would give it. */
static void run_store_icrc(struct run *run, u32 i)
{
	struct iphdr ip = *ip_hdr(run->skb);
	struct udphdr udp = *udp_hdr(run->skb);
	u8 *packet = (u8 *)run_bth(run, i);
	u32 crc;

	ip.id = htons(RUN_ID + i);
	ip.tot_len = htons(sizeof(ip) + sizeof(udp) + RUN_SIZE);
	udp.len = htons(sizeof(udp) + RUN_SIZE);
	crc = weft_icrc_begin_ipv4(&ip, &udp, (void *)packet);
	crc = weft_icrc_update(crc, packet + sizeof(struct weft_wire_bth), RUN_MTU);
	weft_icrc_store(packet + RUN_SIZE - WEFT_ICRC_LENGTH, crc);
}

static void run_put_headers(struct sk_buff *skb)
{
	struct iphdr *ip;

	skb->protocol = htons(ETH_P_IP);
	skb_reset_network_header(skb);
	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->id = htons(RUN_ID);
	__skb_pull(skb, sizeof(*ip));
	skb_reset_transport_header(skb);
	skb_put_zero(skb, sizeof(struct udphdr));
}

/* The last packet is @last bytes long. */
static void run_make(struct kunit *test, struct run *run, u32 last)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(RUN_PACKETS * RUN_SIZE));
	u32 i;

	*run = (struct run){ .test = test };
	run->qp = kunit_kzalloc(test, sizeof(*run->qp), GFP_KERNEL);
	run->dev = kunit_kzalloc(test, sizeof(*run->dev), GFP_KERNEL);
	run->skb = alloc_skb(sizeof(struct iphdr) + sizeof(struct udphdr), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, run->qp && run->dev && run->skb && page);
	run->dev->icrc = true;
	run->qp->recv.psn = RUN_PSN;
	weft_backlog_init(&run->qp->recv.packets);
	weft_backlog_init(&run->qp->send.packets);
	run_put_headers(run->skb);
	skb_shinfo(run->skb)->gso_size = RUN_SIZE;
	skb_add_rx_frag(run->skb, 0, page, 0, (RUN_PACKETS - 1) * RUN_SIZE + last,
			RUN_PACKETS * RUN_SIZE);
	run->packets = page_address(page);
	for (i = 0; i < RUN_PACKETS; i++) {
		memset(run_bth(run, i), i + 1, RUN_SIZE);
		*run_bth(run, i) = (struct weft_wire_bth){
			.opcode = RUN_OPCODE,
			.pkey = htons(0xffff),
			.dqpn = htonl(77),
			.psn = htonl((RUN_PSN + i) & WEFT_BTH_PSN),
		};
		run_store_icrc(run, i);
	}
}

/* Take the next packet, and those that follow it in its run. Return: how many it is. */
static u32 run_next(struct run *run)
{
	struct sk_buff *piece = weft_uso_next(&run->at);

	KUNIT_ASSERT_NOT_NULL(run->test, piece);
	__skb_pull(piece, sizeof(struct udphdr));
	weft_pkt_init(&run->pkt, piece, &weft_port_roce, NULL, run->dev);
	run->pkt.qp = run->qp;
	weft_pkt_decode(&run->pkt);
	weft_run_extend(&run->pkt, &run->at);
	return run->pkt.psns;
}

/* The packet is @num ones from @first on, with their payload. */
static void run_expect(struct run *run, u32 first, u32 num)
{
	struct weft_payload_spans spans;
	struct weft_iter iter;
	u32 i, k, done = 0;

	KUNIT_EXPECT_EQ(run->test, run->pkt.psns, num);
	KUNIT_EXPECT_EQ(run->test, run->pkt.hdr.payload, num * RUN_MTU);
	weft_pkt_payload(&run->pkt, &spans, &iter);
	for (i = 0; i < spans.num; i++) {
		const u8 *bytes = (const u8 *)(uintptr_t)spans.span[i].addr;

		for (k = 0; k < spans.span[i].length; k++, done++)
			if (bytes[k] != first + done / RUN_MTU + 1)
				break;
	}
	KUNIT_EXPECT_EQ(run->test, done, num * RUN_MTU);
}

static void run_begin(struct run *run)
{
	local_bh_disable();
	KUNIT_EXPECT_TRUE(run->test, weft_uso_open(&run->at, run->skb));
}

static void run_end(struct run *run)
{
	weft_pkt_free(&run->pkt);
	weft_uso_end(&run->at);
	local_bh_enable();
	kfree_skb(run->skb);
}

/* A run has RUN_MAX packets at most. */
static void run_fills_buffer(struct kunit *test)
{
	struct run run;

	run_make(test, &run, RUN_SIZE);
	run_begin(&run);
	run_next(&run);
	run_expect(&run, 0, RUN_MAX);
	weft_pkt_free(&run.pkt);
	run.qp->recv.psn = (RUN_PSN + RUN_MAX) & WEFT_BTH_PSN;
	run_next(&run);
	run_expect(&run, RUN_MAX, RUN_PACKETS - RUN_MAX);
	KUNIT_EXPECT_TRUE(test, weft_uso_is_done(&run.at));
	run_end(&run);
}

/* It is kept, and decoded again, as what it is. */
static void run_is_kept(struct kunit *test)
{
	struct sk_buff *skb;
	struct run run;

	run_make(test, &run, RUN_SIZE);
	run_bth(&run, 5)->psn |= htonl(WEFT_BTH_ACKREQ);
	run_store_icrc(&run, 5);
	run_begin(&run);
	run_next(&run);
	KUNIT_EXPECT_TRUE(test, run.pkt.hdr.ackreq);
	weft_pkt_keep(&run.pkt);
	skb = run.pkt.skb;
	weft_pkt_again(skb, &run.pkt);
	KUNIT_EXPECT_EQ(test, (int)run.pkt.malformed, WEFT_MALFORMED_NONE);
	KUNIT_EXPECT_EQ(test, run.pkt.hdr.psn, RUN_PSN);
	KUNIT_EXPECT_TRUE(test, run.pkt.hdr.ackreq);
	run_expect(&run, 0, RUN_MAX);
	run_end(&run);
}

/* Those of a response to a READ are for the requester. */
static void run_of_response(struct kunit *test)
{
	struct run run;
	u32 i;

	run_make(test, &run, RUN_SIZE);
	for (i = 0; i < RUN_PACKETS; i++) {
		run_bth(&run, i)->opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC,
						       WEFT_OP_READ_RESPONSE_MIDDLE);
		run_store_icrc(&run, i);
	}
	run_begin(&run);
	run_next(&run);
	run_expect(&run, 0, 1);
	weft_pkt_free(&run.pkt);
	run.qp->send.inflight.una = (RUN_PSN + 1) & WEFT_BTH_PSN;
	run_next(&run);
	run_expect(&run, 1, RUN_MAX);
	run_end(&run);
}

/* The last packet is shorter than the others. */
static void run_ends_before_short(struct kunit *test)
{
	struct run run;

	run_make(test, &run, RUN_SIZE - 4);
	run_begin(&run);
	run_next(&run);
	weft_pkt_free(&run.pkt);
	run.qp->recv.psn = (RUN_PSN + RUN_MAX) & WEFT_BTH_PSN;
	run_next(&run);
	run_expect(&run, RUN_MAX, RUN_PACKETS - RUN_MAX - 1);
	KUNIT_EXPECT_FALSE(test, weft_uso_is_done(&run.at));
	run_end(&run);
}

/* Changes of one byte, each of which takes a packet out of the run. */
static const struct run_row {
	const char	*name;
	u32		at;	/* byte */
	u8		bits;	/* that change */
	bool		corrupt;	/* its ICRC is wrong */
} run_rows[] = {
	{ "LAST", 0, WEFT_OP_WRITE_MIDDLE ^ WEFT_OP_WRITE_LAST },
	{ "SEND", 0, WEFT_OP_WRITE_MIDDLE ^ WEFT_OP_SEND_MIDDLE },
	{ "response", 0, WEFT_OP_WRITE_MIDDLE ^ WEFT_OP_READ_RESPONSE_MIDDLE },
	{ "solicited", 1, WEFT_BTH_SE },
	{ "migration", 1, WEFT_BTH_MIGREQ },
	{ "pad", 1, 0x10 },
	{ "version", 1, 1 },
	{ "P_Key", 2, 0x80 },
	{ "FECN", 4, 0x80 },
	{ "QP", 7, 1 },
	{ "gap maps", 8, 0x40 },
	{ "reserved", 8, 1 },
	{ "PSN", 11, 0x10 },
	{ "payload", 100, 1, true },
	{ "ICRC", RUN_SIZE - 1, 0x80, true },
};

static void run_row_desc(const struct run_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(run_row, run_rows, run_row_desc);

static void run_spoil(struct run *run, const struct run_row *row, u32 i)
{
	run_make(run->test, run, RUN_SIZE);
	((u8 *)run_bth(run, i))[row->at] ^= row->bits;
	if (!row->corrupt)
		run_store_icrc(run, i);
	run_begin(run);
}

static void run_ends_before_other(struct kunit *test)
{
	const struct run_row *row = test->param_value;
	struct run run = { .test = test };
	u32 i;

	for (i = 1; i < RUN_MAX; i++) {
		run_spoil(&run, row, i);
		run_next(&run);
		run_expect(&run, 0, i);
		weft_pkt_free(&run.pkt);
		/* it comes as it is */
		run_next(&run);
		KUNIT_EXPECT_EQ(test, run.pkt.psns, 1);
		KUNIT_EXPECT_FALSE(test, memcmp(run.pkt.skb->data, run_bth(&run, i), 12));
		run_end(&run);
	}
	run_spoil(&run, row, 0);
	if (row->at == 11)
		run.qp->recv.psn ^= row->bits;
	run_next(&run);
	KUNIT_EXPECT_EQ(test, run.pkt.psns > 1, row->corrupt);
	run_end(&run);
}

/* Nobody looks at the ICRC of a device without one. */
static void run_without_icrc(struct kunit *test)
{
	struct run run;

	run_make(test, &run, RUN_SIZE);
	run_bth(&run, 3)->psn |= htonl(WEFT_BTH_ACKREQ);
	run.dev->icrc = false;
	run_begin(&run);
	run_next(&run);
	run_expect(&run, 0, RUN_MAX);
	run_end(&run);
}

/* Packets that the QP does not expect stay single, as those of a marked buffer do. */
static void run_has_to_be_expected(struct kunit *test)
{
	struct run run;

	run_make(test, &run, RUN_SIZE);
	run.qp->recv.psn = RUN_PSN - 1;
	run_begin(&run);
	run_next(&run);
	run_expect(&run, 0, 1);
	run_end(&run);
	run_make(test, &run, RUN_SIZE);
	ip_hdr(run.skb)->tos = 3;
	run_begin(&run);
	run_next(&run);
	run_expect(&run, 0, 1);
	run_end(&run);
}

/* A packet that waits for the QP's turn comes before. */
static void run_waits_for_none(struct kunit *test)
{
	struct sk_buff waiting = {};
	struct run run;

	run_make(test, &run, RUN_SIZE);
	__skb_queue_tail(&run.qp->send.packets.queue, &waiting);
	run_begin(&run);
	run_next(&run);
	run_expect(&run, 0, RUN_MAX);
	weft_pkt_free(&run.pkt);
	run.qp->recv.psn = (RUN_PSN + RUN_MAX) & WEFT_BTH_PSN;
	__skb_unlink(&waiting, &run.qp->send.packets.queue);
	__skb_queue_tail(&run.qp->recv.packets.queue, &waiting);
	run_next(&run);
	run_expect(&run, RUN_MAX, 1);
	run_end(&run);
}

static struct kunit_case run_cases[] = {
	KUNIT_CASE(run_fills_buffer),
	KUNIT_CASE(run_is_kept),
	KUNIT_CASE(run_of_response),
	KUNIT_CASE(run_ends_before_short),
	KUNIT_CASE_PARAM(run_ends_before_other, run_row_gen_params),
	KUNIT_CASE(run_without_icrc),
	KUNIT_CASE(run_has_to_be_expected),
	KUNIT_CASE(run_waits_for_none),
	{}
};

static struct kunit_suite run_suite = {
	.name = "weft_run",
	.test_cases = run_cases,
};

kunit_test_suite(run_suite);
