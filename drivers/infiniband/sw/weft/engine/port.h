/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two kinds of ports, RoCE and InfiniBand, as the engine sees them.
 *
 * A packet knows the operations of the port that it came by (weft_pkt.port), a device those of its
 * port (weft_dev.port_ops). For operations on packets: soft interrupts or bottom halves off, RCU
 * read side.
 */
#ifndef WEFT_ENGINE_PORT_H
#define WEFT_ENGINE_PORT_H

#include "engine/message.h"
#include "stats.h"

struct weft_datagram;
struct weft_pkt;

/**
 * struct weft_port_ops - a kind of port
 * @addresses: find the addresses of a packet in its network header, which is in memory
 * @grh: what a receiver of a datagram finds before the payload
 * @find_qp: the QP that a packet is for, referenced; NULL: there is none
 * @counts: the device that counts a packet without a QP; NULL: none
 * @to_group: is a datagram to WEFT_MCAST_QPN addressed to a multicast group?
 * @pkey_valid: the P_Key of a packet, for @pkt->qp or a group. Tells the subnet manager if not.
 * @addressed: may a packet for @pkt->qp have come to its address?
 * @verify: what costs more to look at: the ICRC, or the virtual lane. Returns false: the packet is
 *	dropped, with @why.
 * @multicast: to the members of a group; returns how many there are
 * @is_own: has @qp sent this datagram itself?
 * @member_pkey_valid: is a member of a group in the partition of a datagram?
 * @datagram: fill in what a port knows of a datagram for a UD QP; @payload is its first byte
 * @service_level: of a datagram's completion
 * @bad_qkey: a datagram to @qp had this Q_Key; it has been counted
 */
struct weft_port_ops {
	void (*addresses)(struct weft_pkt *pkt);
	void (*grh)(const struct weft_pkt *pkt, u8 grh[WEFT_GRH_BYTES]);
	struct weft_qp *(*find_qp)(const struct weft_pkt *pkt);
	struct weft_dev *(*counts)(const struct weft_pkt *pkt);
	bool (*to_group)(const struct weft_pkt *pkt);
	bool (*pkey_valid)(const struct weft_pkt *pkt);
	bool (*addressed)(const struct weft_pkt *pkt);
	bool (*verify)(const struct weft_pkt *pkt, enum weft_stat *why);
	u32 (*multicast)(const struct weft_pkt *pkt);
	bool (*is_own)(const struct weft_qp *qp, const struct weft_pkt *pkt);
	bool (*member_pkey_valid)(const struct weft_qp *qp, const struct weft_pkt *pkt);
	void (*datagram)(const struct weft_qp *qp, const struct weft_pkt *pkt,
			 const struct weft_iter *payload, struct weft_request *req);
	u8 (*service_level)(const struct weft_qp *qp, const struct weft_request *req);
	void (*bad_qkey)(struct weft_qp *qp, const struct weft_request *req, u32 qkey);
};

#endif /* WEFT_ENGINE_PORT_H */
