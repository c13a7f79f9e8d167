/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Automatic path migration (IBA 17.2.8). */
#ifndef WEFT_ENGINE_MIGRATION_H
#define WEFT_ENGINE_MIGRATION_H

#include "engine/pkt.h"
#include "object/qp.h"

/* Does a packet or message come by a path of the QP? */
enum weft_path_verdict {
	WEFT_PATH_YES,	/* accepted */
	WEFT_PATH_NO,	/* dropped, it did not come by a path of the QP */
	/*
	 * accepted after the QP has migrated, which it is about to do; then both of its turns get
	 * WEFT_EV_RUN
	 */
	WEFT_PATH_LATER,
};

void weft_migration_init(struct weft_qp *qp);
void weft_migration_reset(struct weft_qp *qp);
bool weft_migration_allows(const struct weft_qp *qp, u32 to, bool loading);
void weft_migration_follow(struct weft_qp *qp);
void weft_migration_load(struct weft_qp *qp, const struct weft_av *av,
			 const struct ib_qp_attr *attr);
void weft_migration_set(struct weft_qp *qp, u32 to);
void weft_migration_query(const struct weft_qp *qp, struct ib_qp_attr *attr);
bool weft_migrate_on_error(struct weft_qp *qp);
enum weft_path_verdict weft_migration_examine(struct weft_qp *qp, const struct weft_pkt *pkt);

/*
 * Did a packet come from the peer, by the QP's path? The QP is connected, and the turn of its
 * requester or responder, for which the packet is, is owned. WEFT_PATH_LATER: the caller puts the
 * packet back.
 */
static inline enum weft_path_verdict weft_migration_packet(struct weft_qp *qp,
							   const struct weft_pkt *pkt)
{
	if (likely(weft_pkt_is_on_path(pkt, &qp->av) && weft_qp_has_migrated(qp)))
		return WEFT_PATH_YES;
	return weft_migration_examine(qp, pkt);
}

/*
 * May a packet have come from the peer, by one of the two paths? Needs no turn; the owner of the
 * turn then asks weft_migration_packet().
 */
static inline bool weft_migration_knows(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	/* data race: either answer is right while a path changes */
	return data_race(weft_pkt_is_on_path(pkt, &qp->av) ||
			 (qp->migration.known && weft_pkt_is_on_path(pkt, &qp->migration.av)));
}

enum weft_path_verdict weft_migration_confront(struct weft_qp *qp, struct weft_qp *peer);

/*
 * Would packets of @qp's message and of the answer be accepted, and what would they tell of the
 * states? This is weft_migration_packet() for the local link. The send turn of @qp and the receive
 * turn of @peer are owned. WEFT_PATH_LATER: one of the two QPs migrates first, and the result does
 * not say which.
 *
 * The answer for two QPs that have migrated stays the same until one of their paths changes.
 */
static __always_inline enum weft_path_verdict weft_migration_meeting(struct weft_qp *qp,
								     struct weft_qp *peer)
{
	if (likely(qp->send.met == peer->path))
		return WEFT_PATH_YES;
	return weft_migration_confront(qp, peer);
}

#endif /* WEFT_ENGINE_MIGRATION_H */
