/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A packet that was received, as the engine sees it.
 *
 * The memory is a socket buffer; nothing but this file and the links knows
 * that. Its data begins with the BTH and ends with the ICRC.
 */
#ifndef WEFT_ENGINE_PKT_H
#define WEFT_ENGINE_PKT_H

#include <linux/skbuff.h>
#include <rdma/ib_verbs.h>

#include "engine/message.h"
#include "object/av.h"
#include "wire/codec.h"

struct net;
struct weft_backlog;
struct weft_port_ops;
struct weft_dev;
struct weft_qp;

/**
 * struct weft_pkt - a packet
 *
 * weft_pkt_init() is a link's, weft_pkt_decode() does the rest.
 *
 * @skb: its memory, owned by whoever has the packet
 * @port: the kind of port it came by
 * @net: namespace it arrived in, compared only; NULL: an InfiniBand port
 * @ifindex: net device it came by; 0 but for IPv6
 * @network: IPv4, IPv6 or IB; the header (IP, or the LRH) is at skb_network_header()
 * @lrh: of IB
 * @grh: there are addresses below
 * @hdr: decoded
 * @sgid: sender; an IPv4 address is mapped; zero without @grh
 * @dgid: destination, likewise
 * @dev: device that counts what becomes of it; set by weft_rx()
 * @qp: destination, referenced; NULL: a multicast group; likewise
 * @malformed: what the responder has to refuse
 */
struct weft_pkt {
	struct sk_buff		*skb;
	const struct weft_port_ops *port;
	const struct net	*net;
	int			ifindex;
	enum rdma_network_type	network;
	struct weft_lrh		lrh;
	bool			grh;
	struct weft_hdr		hdr;
	union ib_gid		sgid;
	union ib_gid		dgid;
	struct weft_dev		*dev;
	struct weft_qp		*qp;
	enum weft_malformed	malformed;
};

/**
 * struct weft_payload_spans - where the payload of a packet is
 * @num: used
 * @span: without the pad
 */
struct weft_payload_spans {
	u32			num;
	struct weft_span	span[MAX_SKB_FRAGS + 1];
};

/**
 * weft_pkt_init - begin with a packet
 * @pkt: written; what weft_pkt_decode() sets is not looked at before, and left as it is
 * @skb: its memory
 * @port: the kind of port it came by
 * @net: namespace it arrived in; NULL: an InfiniBand port
 * @dev: whose port; NULL: it is not known yet
 */
static inline void weft_pkt_init(struct weft_pkt *pkt, struct sk_buff *skb,
				 const struct weft_port_ops *port, const struct net *net,
				 struct weft_dev *dev)
{
	pkt->skb = skb;
	pkt->port = port;
	pkt->net = net;
	pkt->dev = dev;
	pkt->qp = NULL;
}

/**
 * weft_pkt_decode - read the headers, find the addresses
 * @pkt: from weft_pkt_init(). The network header, without options,
 *	is in memory, and of the data as many bytes as the longest headers
 *	(WEFT_HDR_MAX_LENGTH) or all there are.
 *
 * Sets @pkt->malformed; the addresses are valid in any case.
 */
void weft_pkt_decode(struct weft_pkt *pkt);

/**
 * weft_pkt_is_on_path - whether a packet came from the peer, to us
 * @pkt: decoded
 * @av: of a connected QP, one of its turns owned
 *
 * Return: true when both addresses are those of the path.
 */
static inline bool weft_pkt_is_on_path(const struct weft_pkt *pkt, const struct weft_av *av)
{
	if (av->ib && (pkt->lrh.slid != av->dlid || pkt->grh != av->grh))
		return false;
	return !memcmp(&pkt->sgid, &av->dgid, sizeof(pkt->sgid)) &&
	       !memcmp(&pkt->dgid, &av->sgid, sizeof(pkt->dgid));
}

/**
 * weft_pkt_payload - where the payload is
 * @pkt: decoded
 * @spans: filled in
 * @iter: its first byte; valid as long as @pkt and @spans
 */
void weft_pkt_payload(const struct weft_pkt *pkt, struct weft_payload_spans *spans,
		      struct weft_iter *iter);

/**
 * weft_pkt_defer - put a packet into a queue, to be decoded again later
 * @pkt: decoded; the memory is the queue's then
 * @backlog: of a half
 *
 * Return: false: WEFT_QUEUE_PACKETS wait there, or WEFT_QUEUE_BYTES.
 */
bool weft_pkt_defer(struct weft_pkt *pkt, struct weft_backlog *backlog);

/**
 * weft_pkt_undo - put a packet back that cannot be processed yet
 * @pkt: from weft_pkt_next(), or one that has found the queue empty
 * @backlog: of a half, whose turn is owned; it becomes the next one
 */
void weft_pkt_undo(struct weft_pkt *pkt, struct weft_backlog *backlog);

/**
 * weft_pkt_peek - look at the next packet of a queue
 * @backlog: of a half, whose turn is owned
 * @pkt: result, as of weft_pkt_next(); the queue keeps the memory
 *
 * Return: false when the queue is empty.
 */
bool weft_pkt_peek(struct weft_backlog *backlog, struct weft_pkt *pkt);

/**
 * weft_pkt_next - take the next packet out of a queue
 * @backlog: of a half
 * @pkt: result, decoded, but @pkt->dev and @pkt->qp are NULL
 *
 * Return: false when the queue is empty.
 */
bool weft_pkt_next(struct weft_backlog *backlog, struct weft_pkt *pkt);

/**
 * weft_pkt_free - give the memory back
 * @pkt: decoded or not
 *
 * In a soft interrupt the CPU keeps the buffer for its next packet.
 *
 * Context: any but hard interrupts.
 */
static inline void weft_pkt_free(struct weft_pkt *pkt)
{
	napi_consume_skb(pkt->skb, in_softirq());
}

#endif /* WEFT_ENGINE_PKT_H */
