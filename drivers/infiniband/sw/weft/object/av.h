/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Address vector: the path of an address handle or of a connected QP. */
#ifndef WEFT_OBJECT_AV_H
#define WEFT_OBJECT_AV_H

#include <rdma/ib_verbs.h>

struct rxe_av;
struct weft_dev;
struct weft_fabric;
struct weft_ibport;

/* Immutable but @target and @generation. "IB" members are for InfiniBand ports only. */
struct weft_av {
	bool			ib;		/* on an InfiniBand port */
	bool			grh;		/* RoCE: always; without it, its fields are 0 */
	u16			dlid;		/* IB */
	u8			path_bits;	/* IB: low bits of the source LID */
	const struct weft_ibport *port;		/* IB: source port */
	const struct weft_fabric *fabric;	/* IB: that the LIDs belong to */
	union ib_gid		sgid;
	union ib_gid		dgid;
	const struct net	*net;		/* of the source; only compared */
	int			ifindex;	/* net device of the source */
	u32			flow_label;	/* 20 bits */
	u8			sgid_index;
	u8			hop_limit;
	u8			traffic_class;
	u8			sl;
	u8			static_rate;
	bool			multicast;
	/* the destination was on this host when the path was set: use the local link */
	bool			local;
	u32			generation;	/* weft_path_generation of @target */
	u32			target;		/* see weft_av_target() */
};

int weft_av_init(struct weft_av *av, struct weft_dev *dev,
		 const struct rdma_ah_attr *attr);
int weft_av_from_rxe(struct weft_av *av, struct weft_dev *dev, const struct rxe_av *from);
void weft_av_find_peer(struct weft_av *av, const struct weft_dev *dev);
struct net *weft_av_source_net(const struct weft_av *av, struct weft_dev *dev);
void weft_av_to_attr(const struct weft_av *av, struct rdma_ah_attr *attr);

/* Counts changes of addresses. Never 0, which is the generation of a new address vector. */
extern atomic_t weft_path_generation;

void weft_av_look_up(struct weft_av *av, u32 generation);

/*
 * The id of the local device that has the destination address of a unicast path (RoCE: GID;
 * InfiniBand: LID, on an active port); 0: none. The lookup is repeated only after an address
 * of this host has changed. Callers serialise calls for @av.
 */
static inline u32 weft_av_target(struct weft_av *av)
{
	u32 generation = atomic_read_acquire(&weft_path_generation);

	if (unlikely(av->generation != generation))
		weft_av_look_up(av, generation);
	return av->target;
}

u16 weft_av_source_lid(const struct weft_av *av);
bool weft_av_meets_lids(const struct weft_av *av, const struct weft_av *from);

/* Whether path @from of a sender leads to the receiver with path @av, and @av leads back. */
static __always_inline bool weft_av_meets(const struct weft_av *av, const struct weft_av *from)
{
	return av->net == from->net && !memcmp(&av->dgid, &from->sgid, sizeof(av->dgid)) &&
	       !memcmp(&av->sgid, &from->dgid, sizeof(av->sgid)) &&
	       (likely(!from->ib) || weft_av_meets_lids(av, from));
}

void weft_path_changed(void);

#endif /* WEFT_OBJECT_AV_H */
