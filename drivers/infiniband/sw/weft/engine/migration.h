/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Automatic path migration (IBA 17.2.8): a connected QP has a second path, and takes it
 * when its own one fails, when its peer has taken it, or when it is told to.
 *
 * MIGRATED (also: never had another one), REARM (software wants to have one in
 * reserve), ARMED (the peer wants it, too). MigReq of a packet says that its sender is
 * MIGRATED.
 */
#ifndef WEFT_ENGINE_MIGRATION_H
#define WEFT_ENGINE_MIGRATION_H

#include "engine/pkt.h"
#include "object/qp.h"

/**
 * enum weft_path_verdict - what is to become of a packet, or of a message
 * @WEFT_PATH_YES: it is welcome
 * @WEFT_PATH_NO: it does not belong here
 * @WEFT_PATH_LATER: it is welcome when the QP has migrated, which it will do soon:
 *	both of its halves will get WEFT_EV_RUN
 */
enum weft_path_verdict {
	WEFT_PATH_YES,
	WEFT_PATH_NO,
	WEFT_PATH_LATER,
};

/**
 * weft_migration_init - at creation of a QP
 * @qp: with its memory zeroed
 */
void weft_migration_init(struct weft_qp *qp);

/**
 * weft_migration_reset - forget the other path
 * @qp: both turns stopped
 */
void weft_migration_reset(struct weft_qp *qp);

/**
 * weft_migration_allows - whether software may set this state
 * @qp: both turns stopped
 * @to: enum ib_mig_state
 * @loading: an alternate path is given with it
 *
 * MIGRATED: from ARMED, the QP migrates; it changes nothing when it is so already.
 * REARM: if there is an alternate path; from ARMED, too, whose alternate path may
 * have been replaced. Nobody but the peer's packets makes ARMED of it.
 *
 * Return: true when it may.
 */
bool weft_migration_allows(const struct weft_qp *qp, u32 to, bool loading);

/**
 * weft_migration_follow - the QP's own path has been set
 * @qp: both turns stopped
 */
void weft_migration_follow(struct weft_qp *qp);

/**
 * weft_migration_load - set the alternate path
 * @qp: both turns stopped; its own path is set
 * @av: the path
 * @attr: attributes with IB_QP_ALT_PATH
 */
void weft_migration_load(struct weft_qp *qp, const struct weft_av *av,
			 const struct ib_qp_attr *attr);

/**
 * weft_migration_set - software sets the state
 * @qp: both turns stopped, under its modify_lock
 * @to: see weft_migration_allows()
 */
void weft_migration_set(struct weft_qp *qp, u32 to);

/**
 * weft_migration_query - for query_qp
 * @qp: under its modify_lock
 * @attr: state and alternate path are filled in; without one it is all zero
 */
void weft_migration_query(const struct weft_qp *qp, struct ib_qp_attr *attr);

/**
 * weft_migrate_on_error - the peer does not answer
 * @qp: send turn owned; all retries have been made
 *
 * Return: true: it will migrate, and what is not answered will be sent again.
 */
bool weft_migrate_on_error(struct weft_qp *qp);

/* With another path in play: see weft_migration_packet(). */
enum weft_path_verdict weft_migration_examine(struct weft_qp *qp, const struct weft_pkt *pkt);

/**
 * weft_migration_packet - did a packet come from the peer, to us?
 * @qp: connected, the turn of the half that it is for is owned
 * @pkt: decoded
 *
 * Return: LATER: the packet is put back, it will be looked at again.
 */
static inline enum weft_path_verdict weft_migration_packet(struct weft_qp *qp,
							   const struct weft_pkt *pkt)
{
	if (likely(weft_pkt_is_on_path(pkt, &qp->av) && weft_qp_has_migrated(qp)))
		return WEFT_PATH_YES;
	return weft_migration_examine(qp, pkt);
}

/**
 * weft_migration_knows - may a packet have come from the peer, to us?
 * @qp: connected
 * @pkt: decoded
 *
 * The owner of the half's turn asks weft_migration_packet().
 *
 * Return: true: by the path, or by the other one.
 */
static inline bool weft_migration_knows(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	/* data race: while a path changes either answer is right */
	return data_race(weft_pkt_is_on_path(pkt, &qp->av) ||
			 (qp->migration.known && weft_pkt_is_on_path(pkt, &qp->migration.av)));
}

/* With another path in play: see weft_migration_meeting(). */
enum weft_path_verdict weft_migration_confront(struct weft_qp *qp, struct weft_qp *peer);

/**
 * weft_migration_meeting - would a message and its answer find their ways?
 * @qp: the sender, send turn owned
 * @peer: the receiver, receive turn owned
 *
 * What packets would say of the states is said by this.
 *
 * Return: LATER: one of them migrates first; it is not known which.
 */
static inline enum weft_path_verdict weft_migration_meeting(struct weft_qp *qp,
							    struct weft_qp *peer)
{
	if (likely(weft_av_meets(&peer->av, &qp->av) && weft_qp_has_migrated(qp) &&
		   weft_qp_has_migrated(peer)))
		return WEFT_PATH_YES;
	return weft_migration_confront(qp, peer);
}

#endif /* WEFT_ENGINE_MIGRATION_H */
