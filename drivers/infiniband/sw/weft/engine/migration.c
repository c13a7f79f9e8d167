// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Automatic path migration (IBA 17.2.8): a connected QP has an alternate path, and migrates to it
 * when its own path fails, when its peer has migrated, or when software asks for it.
 *
 * The states are MIGRATED (also the state of a QP that never had an alternate path), REARM
 * (software wants the alternate path to be used) and ARMED (so does the peer's). A packet has
 * MigReq set if its sender is MIGRATED.
 *
 * Requester and responder both use the path, so it is changed with both turns stopped. A requester
 * or responder that finds that the QP has to migrate owns one of the two turns and must not wait
 * for the other one, so it leaves the migration to a work item. Until that has run, nothing is
 * lost: a packet that must not be answered on the old path waits in the backlog; a requester that
 * gets no answers keeps sending on the old path, and starts again on the new one.
 */
#include "engine/migration.h"

#include "engine/inflight.h"
#include "engine/link.h"
#include "engine/path.h"
#include "engine/retry.h"
#include "object/dev.h"
#include "stats.h"

/* Bits of struct weft_migration.asked. */
enum migration_asked {
	/* the peer does not answer */
	MIGRATION_LOST,
	/* the peer has migrated */
	MIGRATION_PEER,
	/* software has made the QP migrate: only the event is left to raise */
	MIGRATION_TELL,
};

static void migration_ask(struct weft_qp *qp, enum migration_asked what)
{
	set_bit(what, &qp->migration.asked);
	weft_turn_queue_work(qp, &qp->migration.work);
}

/* After a migration. @lost: the old path has failed, so unanswered packets are sent again. */
static void migration_go_on(struct weft_qp *qp, bool lost)
{
	struct weft_send *send = &qp->send;
	struct weft_inflight *inflight = &send->inflight;

	weft_retry_refill(&send->retry);
	if (inflight->una == inflight->sent)
		return;
	/* the local link has no packets under way that could still be answered */
	if (lost || !qp->link->xmit) {
		inflight->retried = true;
		weft_inflight_rewind(qp, inflight->una);
	}
	weft_retry_start(qp);
}

/*
 * The alternate path becomes the QP's path. Both turns are stopped, under the modify_lock. @lost:
 * because the old path has failed.
 */
static void migration_move(struct weft_qp *qp, bool lost)
{
	struct weft_migration *migration = &qp->migration;

	swap(qp->av, migration->av);
	migration->loaded = false;
	WRITE_ONCE(migration->state, IB_MIG_MIGRATED);
	qp->attr.timeout = migration->timeout;
	qp->attr.port_num = migration->port_num;
	qp->attr.pkey_index = migration->pkey_index;
	qp->pkey_index = migration->pkey_index;
	weft_retry_set_timeout(&qp->send, migration->timeout);
	weft_path_forget(qp);
	qp->dev->wire->forget(&qp->recv.tx);
	weft_stats_inc(qp, WEFT_STAT_MIGRATIONS);
	migration_go_on(qp, lost);
}

/*
 * Should the QP still migrate? If the peer has migrated then also in REARM, because the packet that
 * would have made this QP ARMED may have been lost.
 */
static bool migration_is_due(const struct weft_qp *qp, unsigned long asked)
{
	u32 state = READ_ONCE(qp->migration.state);

	if (state == IB_MIG_MIGRATED)
		return false;
	return asked & BIT(MIGRATION_PEER) ||
	       (asked & BIT(MIGRATION_LOST) && state == IB_MIG_ARMED);
}

static void migration_serve(struct weft_qp *qp)
{
	struct weft_migration *migration = &qp->migration;
	unsigned long asked;
	bool moved;

	weft_turn_stop(&qp->send.turn);
	weft_turn_stop(&qp->recv.turn);
	asked = xchg(&migration->asked, 0);
	moved = asked & BIT(MIGRATION_TELL);
	if (migration_is_due(qp, asked)) {
		migration_move(qp, asked & BIT(MIGRATION_LOST));
		moved = true;
	}
	if (moved)
		weft_qp_event(qp, IB_EVENT_PATH_MIG);
	weft_turn_resume(&qp->recv.turn);
	weft_turn_resume(&qp->send.turn);
}

/*
 * destroy_qp leaves the state RESET and both turns stopped for good: a destroyed QP is not served.
 */
static void migration_worker(struct work_struct *work)
{
	struct weft_qp *qp = container_of(work, struct weft_qp, migration.work);

	mutex_lock(&qp->modify_lock);
	if (READ_ONCE(qp->migration.asked) && weft_qp_can_receive(qp))
		migration_serve(qp);
	mutex_unlock(&qp->modify_lock);
	weft_qp_put(qp);
}

void weft_migration_init(struct weft_qp *qp)
{
	INIT_WORK(&qp->migration.work, migration_worker);
}

/* Forget the alternate path. Both turns are stopped. */
void weft_migration_reset(struct weft_qp *qp)
{
	struct weft_migration *migration = &qp->migration;

	migration->loaded = false;
	migration->known = false;
	WRITE_ONCE(migration->asked, 0);
	WRITE_ONCE(migration->state, IB_MIG_MIGRATED);
}

/*
 * May software set state @to? Both turns are stopped. @loading: the same call loads an alternate
 * path.
 *
 * MIGRATED is allowed in ARMED (the QP migrates) and in MIGRATED (nothing happens). REARM is
 * allowed in any state if there is an alternate path: in ARMED the path may have been replaced.
 * ARMED is never allowed: packets of the peer set it.
 */
bool weft_migration_allows(const struct weft_qp *qp, u32 to, bool loading)
{
	switch (to) {
	case IB_MIG_MIGRATED:
		return READ_ONCE(qp->migration.state) != IB_MIG_REARM;
	case IB_MIG_REARM:
		return loading || qp->migration.loaded;
	default:
		return false;
	}
}
WEFT_EXPORT_FOR_TEST(weft_migration_allows);

/* The QP's own path has been set: the alternate path uses the same link. Both turns are stopped. */
void weft_migration_follow(struct weft_qp *qp)
{
	struct weft_migration *migration = &qp->migration;

	migration->av.local = qp->av.local;
	migration->known = migration->loaded;
}

/*
 * Load the alternate path: @av, and the other members of @attr that go with IB_QP_ALT_PATH. Both
 * turns are stopped, and the QP's own path is set.
 */
void weft_migration_load(struct weft_qp *qp, const struct weft_av *av,
			 const struct ib_qp_attr *attr)
{
	struct weft_migration *migration = &qp->migration;

	migration->av = *av;
	migration->timeout = attr->alt_timeout;
	migration->port_num = attr->alt_port_num;
	migration->pkey_index = attr->alt_pkey_index;
	migration->loaded = true;
	weft_migration_follow(qp);
}
WEFT_EXPORT_FOR_TEST(weft_migration_load);

/*
 * Software sets the state, which weft_migration_allows(). Both turns are stopped, under the
 * modify_lock.
 */
void weft_migration_set(struct weft_qp *qp, u32 to)
{
	struct weft_migration *migration = &qp->migration;

	if (to == IB_MIG_REARM) {
		WRITE_ONCE(migration->failed, false);
		WRITE_ONCE(migration->state, IB_MIG_REARM);
		weft_path_renew(qp);
	} else if (!weft_qp_has_migrated(qp)) {
		migration_move(qp, false);
		migration_ask(qp, MIGRATION_TELL);
	}
}
WEFT_EXPORT_FOR_TEST(weft_migration_set);

/* Fill in the state, and the alternate path if one is loaded. Under the modify_lock. */
void weft_migration_query(const struct weft_qp *qp, struct ib_qp_attr *attr)
{
	const struct weft_migration *migration = &qp->migration;

	attr->path_mig_state = READ_ONCE(migration->state);
	if (!migration->loaded)
		return;
	weft_av_to_attr(&migration->av, &attr->alt_ah_attr);
	attr->alt_timeout = migration->timeout;
	attr->alt_port_num = migration->port_num;
	attr->alt_pkey_index = migration->pkey_index;
}

/*
 * The peer does not answer, and all retries are used up. The send turn is owned. Returns true if
 * the QP will migrate, and send unanswered requests again.
 */
bool weft_migrate_on_error(struct weft_qp *qp)
{
	weft_assert_turn(&qp->send.turn);
	if (READ_ONCE(qp->migration.state) != IB_MIG_ARMED)
		return false;
	migration_ask(qp, MIGRATION_LOST);
	return true;
}

/*
 * A packet came by neither path. If it has MigReq set, the peer has migrated to a path that this QP
 * does not have. Only ARMED counts: before that the peer may have sent it before it was armed.
 */
static void migration_mismatch(struct weft_qp *qp, bool migreq)
{
	struct weft_migration *migration = &qp->migration;

	if (migreq && READ_ONCE(migration->state) == IB_MIG_ARMED &&
	    !xchg(&migration->failed, true))
		weft_qp_event(qp, IB_EVENT_PATH_MIG_ERR);
}

/*
 * A packet came by the QP's own path or (@other) by the alternate path, or by both if these have
 * the same addresses.
 */
static enum weft_path_verdict migration_hear(struct weft_qp *qp, bool own, bool other,
					     bool migreq)
{
	struct weft_migration *migration = &qp->migration;
	u32 state = READ_ONCE(migration->state);

	if (state == IB_MIG_MIGRATED)
		return WEFT_PATH_YES;
	if (!migreq) {
		cmpxchg(&migration->state, IB_MIG_REARM, IB_MIG_ARMED);
		return WEFT_PATH_YES;
	}
	/* In REARM a packet with MigReq on the QP's own path may be older than the peer's REARM. */
	if (!other || (own && state == IB_MIG_REARM))
		return WEFT_PATH_YES;
	migration_ask(qp, MIGRATION_PEER);
	return WEFT_PATH_LATER;
}

/*
 * Are packets accepted from @migration.av? The alternate path is accepted while it is loaded; after
 * a migration @migration.av is the path that was left, which is accepted until another one is
 * loaded.
 */
static bool migration_other_counts(const struct weft_qp *qp)
{
	const struct weft_migration *migration = &qp->migration;

	return migration->known && migration->loaded != weft_qp_has_migrated(qp);
}

static enum weft_path_verdict migration_judge(struct weft_qp *qp, bool own, bool other,
					      bool migreq)
{
	if (own || other)
		return migration_hear(qp, own, other, migreq);
	migration_mismatch(qp, migreq);
	return WEFT_PATH_NO;
}

/* The slow path of weft_migration_packet(): there is an alternate path, or the addresses differ. */
enum weft_path_verdict weft_migration_examine(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	bool other = migration_other_counts(qp) &&
		     weft_pkt_is_on_path(pkt, &qp->migration.av);

	return migration_judge(qp, weft_pkt_is_on_path(pkt, &qp->av), other,
			       pkt->hdr.migreq);
}
WEFT_EXPORT_FOR_TEST(weft_migration_examine);

/* @from has sent a message on its path to @to. */
static enum weft_path_verdict migration_receive(struct weft_qp *to, const struct weft_qp *from)
{
	bool other = migration_other_counts(to) &&
		     weft_av_meets(&to->migration.av, &from->av);

	return migration_judge(to, weft_av_meets(&to->av, &from->av), other,
			       weft_qp_has_migrated(from));
}

/* The slow path of weft_migration_meeting(). */
enum weft_path_verdict weft_migration_confront(struct weft_qp *qp, struct weft_qp *peer)
{
	enum weft_path_verdict verdict;

	if (weft_av_meets(&peer->av, &qp->av) && weft_qp_has_migrated(qp) &&
	    weft_qp_has_migrated(peer)) {
		/* the LIDs of a port change without the path */
		if (!qp->av.ib)
			qp->send.met = peer->path;
		return WEFT_PATH_YES;
	}
	verdict = migration_receive(peer, qp);
	return verdict == WEFT_PATH_YES ? migration_receive(qp, peer) : verdict;
}
WEFT_EXPORT_FOR_TEST(weft_migration_confront);
