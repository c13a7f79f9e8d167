/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Address vector: where an address handle or a connected QP points to.
 */
#ifndef WEFT_OBJECT_AV_H
#define WEFT_OBJECT_AV_H

#include <rdma/ib_verbs.h>

struct weft_dev;
struct weft_fabric;
struct weft_ibport;

/**
 * struct weft_av - an address vector
 *
 * Immutable but @target and @generation.
 *
 * @ib: on an InfiniBand port
 * @grh: there is a global route; RoCE has always one. Without it @sgid, @dgid and what
 *	belongs to them are zero.
 * @dlid: InfiniBand: destination LID
 * @path_bits: InfiniBand: lower bits of the source LID
 * @port: InfiniBand: where it begins
 * @fabric: InfiniBand: in which the LIDs are
 * @sgid: source
 * @dgid: destination
 * @net: namespace of the source, compared only
 * @ifindex: net device of the source
 * @flow_label: 20 bits
 * @sgid_index: entry of the port's GID table
 * @hop_limit: as given
 * @traffic_class: as given
 * @sl: service level
 * @static_rate: as given
 * @multicast: to a group
 * @local: the destination was on this host when the path was set: no packets are needed;
 *	see weft_av_find_peer()
 * @generation: weft_path_generation when @target was looked up
 * @target: id of the local device that has @dgid, or on InfiniBand @dlid; 0: none
 */
struct weft_av {
	bool			ib;
	bool			grh;
	u16			dlid;
	u8			path_bits;
	const struct weft_ibport *port;
	const struct weft_fabric *fabric;
	union ib_gid		sgid;
	union ib_gid		dgid;
	const struct net	*net;
	int			ifindex;
	u32			flow_label;
	u8			sgid_index;
	u8			hop_limit;
	u8			traffic_class;
	u8			sl;
	u8			static_rate;
	bool			multicast;
	bool			local;
	u32			generation;
	u32			target;
};

/**
 * weft_av_init - from the attributes the core has checked
 * @av: result
 * @dev: the device
 * @attr: with its sgid_attr
 *
 * Return: 0; -EINVAL: no GRH (on InfiniBand: with a group), no such port or source GID,
 * or a reserved value.
 */
int weft_av_init(struct weft_av *av, struct weft_dev *dev,
		 const struct rdma_ah_attr *attr);

/**
 * weft_av_find_peer - whether a path can be one of the local link
 * @av: of weft_av_init(), which does that for RoCE; on InfiniBand the caller decides,
 *	as much of what goes there has to be in packets
 * @dev: the device
 */
void weft_av_find_peer(struct weft_av *av, const struct weft_dev *dev);

/**
 * weft_av_source_net - where packets of a path go out
 * @av: the path
 * @dev: the device
 *
 * The core moves an address to another entry of the GID table when it was gone for a
 * moment, as each address of a bond is when it fails over.
 *
 * Context: any but hard interrupts.
 * Return: the namespace, for put_net(); NULL: the source address is not there any more.
 */
struct net *weft_av_source_net(const struct weft_av *av, struct weft_dev *dev);

/**
 * weft_av_to_attr - for query_ah and query_qp
 * @av: filled in
 * @attr: result, without an sgid_attr reference
 */
void weft_av_to_attr(const struct weft_av *av, struct rdma_ah_attr *attr);

/* Counts changes of addresses; 0 is no generation. */
extern atomic_t weft_path_generation;

/* It was looked up before the last of them: see weft_av_target(). */
void weft_av_look_up(struct weft_av *av, u32 generation);

/**
 * weft_av_target - which local device has the destination address
 * @av: unicast; the caller excludes others
 *
 * Looks again only after some address on this host has changed. On InfiniBand its port is
 * active.
 *
 * Return: id of a device, 0: none.
 */
static inline u32 weft_av_target(struct weft_av *av)
{
	u32 generation = atomic_read_acquire(&weft_path_generation);

	if (unlikely(av->generation != generation))
		weft_av_look_up(av, generation);
	return av->target;
}

/**
 * weft_av_source_lid - what packets of a path have as their source
 * @av: on an InfiniBand port
 *
 * Return: the port's LID with the path bits; without a LID yet the permissive one (IBA
 * 14.2.2).
 */
u16 weft_av_source_lid(const struct weft_av *av);

/* The part of weft_av_meets() that is about LIDs, and the switch between the ports. */
bool weft_av_meets_lids(const struct weft_av *av, const struct weft_av *from);

/**
 * weft_av_meets - whether what is sent on a path arrives on another one
 * @av: of the receiver
 * @from: of the sender
 *
 * Return: true when each is the way back of the other.
 */
static inline bool weft_av_meets(const struct weft_av *av, const struct weft_av *from)
{
	return av->net == from->net && !memcmp(&av->dgid, &from->sgid, sizeof(av->dgid)) &&
	       !memcmp(&av->sgid, &from->dgid, sizeof(av->sgid)) &&
	       (likely(!from->ib) || weft_av_meets_lids(av, from));
}

/**
 * weft_path_changed - an address (a GID or a LID) came or went: every path is looked up
 *	again
 */
void weft_path_changed(void);

#endif /* WEFT_OBJECT_AV_H */
