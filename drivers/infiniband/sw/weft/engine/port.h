/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two kinds of ports, RoCE and InfiniBand, as the engine sees them.
 *
 * A packet refers to the operations of the port that it came by (weft_pkt.port), a device to those
 * of its own port (weft_dev.port_ops). Operations on packets are called in soft interrupts or with
 * bottom halves off, in an RCU read side.
 */
#ifndef WEFT_ENGINE_PORT_H
#define WEFT_ENGINE_PORT_H

#include "engine/message.h"
#include "stats.h"

struct weft_datagram;
struct weft_pkt;

/**
 * struct weft_port_ops - a kind of port
 * @addresses: read the addresses of a packet from its network header
 * @grh: the 40 bytes in front of the payload that a receiver of the datagram gets
 * @find_qp: the QP that a packet is for, referenced, or NULL
 * @counts: the device that counts a packet without a device, or NULL; not set if all have one
 * @to_group: is a datagram to WEFT_MCAST_QPN addressed to a multicast group?
 * @pkey_valid: is the P_Key right for @pkt->qp or a group? If not, the subnet manager is told.
 * @addressed: may a packet for @pkt->qp have come to its address?
 * @verify: the ICRC, or the virtual lane. Returns false: the packet is dropped, @why counts it.
 * @multicast: give a packet to the members of its group; returns how many there are
 * @is_own: has @qp sent this datagram itself?
 * @member_pkey_valid: does a member of a group accept the P_Key of a datagram?
 * @datagram: fill in the members of a request for a UD QP that depend on the port; @payload is at
 *	the first byte
 * @service_level: the service level in a datagram's completion
 * @bad_qkey: tell of the wrong Q_Key of a datagram to @qp; it has been counted
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
