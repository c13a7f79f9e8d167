/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A received packet, as the engine sees it.
 *
 * Its memory is a socket buffer, whose data begin with the BTH and end with the ICRC. Only
 * engine/pkt.c, engine/rx.c and the links know that.
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

/* Why a packet is answered by a congestion notification packet. */
enum weft_congestion {
	WEFT_CE_MARKED	= BIT(0),	/* a router has marked it, because of congestion */
	WEFT_CE_RULE	= BIT(1),	/* a rule of injection says so */
};

/* A received packet. */
struct weft_pkt {
	struct sk_buff		*skb;		/* its memory; the owner of the packet frees it */
	const struct weft_port_ops *port;	/* the kind of port it came by */
	/* namespace it arrived in, compared only; NULL: an InfiniBand port */
	const struct net	*net;
	int			ifindex;	/* IPv6: net device it came by; otherwise 0 */
	/* IPv4, IPv6 or IB; the IP header or LRH is at skb_network_header() */
	enum rdma_network_type	network;
	struct weft_lrh		lrh;		/* on InfiniBand */
	bool			grh;		/* it has the addresses @sgid and @dgid */
	struct weft_hdr		hdr;	/* of a run the first one's, with the payload of all */
	/* source address; an IPv4 address is mapped; zero without @grh */
	union ib_gid		sgid;
	union ib_gid		dgid;		/* destination address, the same */
	/* device that counts the packet; NULL: not known yet, or the packet comes from a backlog */
	struct weft_dev		*dev;
	/* destination, referenced by weft_rx(); NULL: a multicast group, or as @dev */
	struct weft_qp		*qp;
	enum weft_malformed	malformed;	/* what is wrong with the headers */
	u8			psns;		/* more than 1: a run, see link/run.c */
	u8			syndrome;	/* WEFT_MALFORMED_INJECTED: of the answer */
	u8			ce;	/* RoCEv2: enum weft_congestion bits */
	bool			counted;	/* it has been kept before, and counted then */
};

/* Where the payload of a packet is, without the pad: one span for each piece of the buffer. */
struct weft_payload_spans {
	u32			num;
	struct weft_span	span[MAX_SKB_FRAGS + 1];
};

/*
 * @net: the namespace that the packet arrived in; NULL: an InfiniBand port. @dev: NULL if not known
 * yet. weft_pkt_decode() sets the other members.
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
	pkt->psns = 1;
	pkt->ce = 0;
	pkt->counted = false;
}

/* Let a reliable responder answer the request with a NAK, in place of executing it. */
static inline void weft_pkt_refuse(struct weft_pkt *pkt, u8 syndrome)
{
	pkt->malformed = WEFT_MALFORMED_INJECTED;
	pkt->syndrome = syndrome;
}

void weft_pkt_decode(struct weft_pkt *pkt);

/*
 * Did a packet come from the peer, to us? True if both addresses are those of @av. One of the turns
 * of its QP is owned.
 */
static inline bool weft_pkt_is_on_path(const struct weft_pkt *pkt, const struct weft_av *av)
{
	if (av->ib && (pkt->lrh.slid != av->dlid || pkt->grh != av->grh))
		return false;
	return !memcmp(&pkt->sgid, &av->dgid, sizeof(pkt->sgid)) &&
	       !memcmp(&pkt->dgid, &av->sgid, sizeof(pkt->dgid));
}

void weft_pkt_payload(const struct weft_pkt *pkt, struct weft_payload_spans *spans,
		      struct weft_iter *iter);
void weft_pkt_keep(struct weft_pkt *pkt);
u32 weft_pkt_kept_psn(struct sk_buff *skb);
bool weft_pkt_kept_is_ack(const struct sk_buff *skb);
void weft_pkt_again(struct sk_buff *skb, struct weft_pkt *pkt);
bool weft_pkt_defer(struct weft_pkt *pkt, struct weft_backlog *backlog);
void weft_pkt_undo(struct weft_pkt *pkt, struct weft_backlog *backlog);
bool weft_pkt_peek(struct weft_backlog *backlog, struct weft_pkt *pkt);
bool weft_pkt_next(struct weft_backlog *backlog, struct weft_pkt *pkt);

/*
 * Free a packet that has been processed. In a soft interrupt the CPU keeps the buffer for its next
 * packet. Context: any but hard interrupts.
 */
static inline void weft_pkt_free(struct weft_pkt *pkt)
{
	napi_consume_skb(pkt->skb, in_softirq());
}

#endif /* WEFT_ENGINE_PKT_H */
