// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Middle packets of one message, or of one response to a READ, that arrive in one buffer, one
 * behind the other, are a run. The engine gets it as one packet: with the BTH of the first one, the
 * payload of all, and as many PSNs as there are packets. So the memory is looked up once for all.
 */
#include "link/run.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "engine/pkt.h"
#include "link/uso.h"
#include "object/backlog.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/monitor.h"
#include "object/qp.h"
#include "trace.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* The fragments of a socket buffer on most kernels, each of which has one packet's payload. */
#define RUN_MAX		17

/* Is it the packet that its QP expects next, if nothing else comes meanwhile, and nothing waits? */
static bool run_is_expected(const struct weft_pkt *pkt)
{
	const struct weft_qp *qp = pkt->qp;

	switch (weft_opcode(pkt->hdr.opcode)->kind) {
	case WEFT_KIND_SEND:
	case WEFT_KIND_WRITE:
		return READ_ONCE(qp->recv.psn) == pkt->hdr.psn &&
		       weft_backlog_is_empty(&qp->recv.packets);
	case WEFT_KIND_READ_RESPONSE:
		return READ_ONCE(qp->send.inflight.una) == pkt->hdr.psn &&
		       weft_backlog_is_empty(&qp->send.packets);
	default:
		return false;
	}
}

/*
 * Is it a middle packet, whose only header is the BTH? Rules, monitors and tracepoints look at
 * single packets, and marks are counted for each.
 */
static bool run_may_begin(const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);

	return op->segment == WEFT_SEGMENT_MIDDLE && !op->ext && !pkt->hdr.pad && pkt->qp &&
	       !pkt->malformed && !pkt->ce && run_is_expected(pkt) && !weft_inject_is_on() &&
	       !weft_monitor_is_on() && !trace_weft_request_enabled() &&
	       !trace_weft_response_enabled();
}

/* Is @bth the first one's, but for the PSN, which is the next one, and AckReq? */
static bool run_goes_on(const struct weft_pkt *pkt, const struct weft_wire_bth *bth)
{
	const struct weft_wire_bth *first = (const void *)pkt->skb->data;
	u32 expected = (be32_to_cpu(first->psn) & ~(WEFT_BTH_ACKREQ | WEFT_BTH_PSN)) |
		       weft_psn_add(pkt->hdr.psn, pkt->psns);

	return !memcmp(first, bth, offsetof(struct weft_wire_bth, psn)) &&
	       (be32_to_cpu(bth->psn) & ~WEFT_BTH_ACKREQ) == expected;
}

/*
 * Is the ICRC of the next packet right, which has @size bytes from its BTH on? Its IP header is
 * that of the first packet, but for the identification of IPv4, which counts up.
 */
static bool run_is_intact(const struct weft_pkt *pkt, const struct weft_wire_bth *bth,
			  const u8 *data, u32 size)
{
	u32 left = size - sizeof(*bth) - WEFT_ICRC_LENGTH, crc;
	const struct sk_buff *skb = pkt->skb;
	struct iphdr ip;

	if (!READ_ONCE(pkt->dev->icrc))
		return true;
	if (pkt->network == RDMA_NETWORK_IPV4) {
		ip = *ip_hdr(skb);
		ip.id = cpu_to_be16(be16_to_cpu(ip.id) + pkt->psns);
		crc = weft_icrc_begin_ipv4(&ip, udp_hdr(skb), bth);
	} else {
		crc = weft_icrc_begin_ipv6(ipv6_hdr(skb), udp_hdr(skb), bth);
	}
	crc = weft_icrc_update(crc, data + sizeof(*bth), left);
	return weft_icrc_matches(data + size - WEFT_ICRC_LENGTH, crc);
}

static void run_take_ackreq(struct weft_pkt *pkt, const struct weft_wire_bth *bth)
{
	struct weft_wire_bth *first = (void *)pkt->skb->data;

	/* also for weft_pkt_again() */
	first->psn |= bth->psn & cpu_to_be32(WEFT_BTH_ACKREQ);
	pkt->hdr.ackreq |= !!(bth->psn & cpu_to_be32(WEFT_BTH_ACKREQ));
}

/*
 * Let a packet that weft_rx_accept() has returned true for continue with those behind it in its
 * buffer, as far as they are its run. Another process may change the buffer meanwhile, so what is
 * compared is a copy.
 */
void weft_run_extend(struct weft_pkt *pkt, struct weft_uso_cursor *at)
{
	struct weft_wire_bth bth;
	const u8 *data;
	u32 size;

	if (!run_may_begin(pkt))
		return;
	while (pkt->psns < RUN_MAX && (data = weft_uso_peek(at, &size))) {
		memcpy(&bth, data, sizeof(bth));
		if (!run_goes_on(pkt, &bth) || !run_is_intact(pkt, &bth, data, size) ||
		    !weft_uso_append(at, WEFT_ICRC_LENGTH, sizeof(bth)))
			break;
		run_take_ackreq(pkt, &bth);
		pkt->hdr.payload += size - sizeof(bth) - WEFT_ICRC_LENGTH;
		pkt->psns++;
	}
}
WEFT_EXPORT_FOR_TEST(weft_run_extend);
