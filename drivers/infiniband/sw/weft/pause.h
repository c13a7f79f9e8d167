/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fail points for races: a test holds a task at one of these points while another task acts. */
#ifndef WEFT_PAUSE_H
#define WEFT_PAUSE_H

#include <linux/jump_label.h>

struct dentry;

/*
 * POINT(name, sleeps): if @sleeps, all tasks that come to the point may sleep. Otherwise a task
 * sleeps if it may, and spins if it may not.
 */
#define WEFT_PAUSES(POINT) \
	/* create_qp: no number yet; the process has the response; lookups find the QP */ \
	POINT(QP_CREATE_NAMELESS, true) \
	POINT(QP_CREATE_TOLD, true) \
	POINT(QP_CREATE_PUBLISHED, true) \
	/* modify_qp: no turn, the send turn, both turns stopped; validated; committed */ \
	POINT(QP_MODIFY_BEGIN, true) \
	POINT(QP_MODIFY_SEND_STOPPED, true) \
	POINT(QP_MODIFY_STOPPED, true) \
	POINT(QP_MODIFY_VALID, true) \
	POINT(QP_MODIFY_DONE, true) \
	POINT(QP_MODIFY_RECV_RESUMED, true) \
	POINT(QP_RESIZE_TOLD, true) \
	/* destroy_qp, likewise */ \
	POINT(QP_DESTROY_UNPUBLISHED, true) \
	POINT(QP_DESTROY_SEND_STOPPED, true) \
	POINT(QP_DESTROY_RESET, true) \
	POINT(QP_DESTROY_ENDED, true) \
	POINT(QP_DESTROY_EMPTY, true) \
	/* lookups of a QP, without and with a reference; deliveries to it */ \
	POINT(QP_FOUND, false) \
	POINT(DOORBELL, true) \
	POINT(LOCAL_PEER, false) \
	POINT(LOCAL_PEER_HELD, false) \
	POINT(LOCAL_OWNED, false) \
	POINT(LOCAL_UD_PEER, false) \
	POINT(LOCAL_UD_OWNED, false) \
	POINT(LOCAL_MCAST_DEV, false) \
	POINT(LOCAL_MCAST_MEMBERS, false) \
	POINT(RX_PACKET, false) \
	POINT(RX_MEMBERS, false) \
	/* dynamic connections: the target takes the request */ \
	POINT(DC_ENTERED, false) \
	/* addresses */ \
	POINT(AH_CREATE_PUBLISHED, false) \
	POINT(AH_FOUND, false) \
	POINT(AH_USE, false) \
	POINT(AH_DESTROY, false) \
	POINT(GID_ADD, true) \
	POINT(GID_FOUND, false) \
	POINT(GID_DEL, true) \
	/* CQs */ \
	POINT(CQ_CREATE_TOLD, true) \
	POINT(CQ_RESIZE_TOLD, true) \
	POINT(CQ_RESIZE_SWITCHED, true) \
	POINT(CQ_MODIFY, true) \
	POINT(CQ_NOTIFY, false) \
	POINT(CQ_FAIL_QP, true) \
	POINT(CQ_DESTROY_BEGIN, true) \
	POINT(CQ_DESTROY_QUIET, true) \
	/* SRQs */ \
	POINT(SRQ_CREATE_NAMED, true) \
	POINT(SRQ_TAKE, false) \
	POINT(SRQ_RESIZE_TOLD, true) \
	POINT(SRQ_DESTROY, true) \
	POINT(XRC_PUBLISHED, true) \
	POINT(XRC_FOUND, false) \
	POINT(XRC_ENTERED, false) \
	POINT(XRC_UNPUBLISHED, true) \
	/* tags: a new one has memory, no messages yet; a message has one */ \
	POINT(TAG_NEW, true) \
	POINT(TAG_TOLD, true) \
	POINT(TAG_MATCHED, false) \
	POINT(RENDEZVOUS_POSTED, false) \
	/* memory */ \
	POINT(KEY_FOUND, false) \
	POINT(KEY_RESOLVED, false) \
	POINT(MR_REG_MAPPED, true) \
	POINT(MR_REREG_NEW, true) \
	POINT(MR_REREG_REPLACED, true) \
	POINT(MR_DEREG_SEALED, true) \
	POINT(REGION_ERASED, true) \
	POINT(MW_BIND_FOUND, false) \
	POINT(MW_BIND_OPEN, false) \
	POINT(MW_DEALLOC, true) \
	POINT(MKEY_REPLACE, false) \
	POINT(PINS_TAKEN, true) \
	POINT(PINS_READY, true) \
	POINT(PINS_EXPIRED, true) \
	POINT(PINS_FORGET, false) \
	POINT(PINS_USE, false) \
	POINT(ADVISE_FOUND, true) \
	POINT(ADVISE_RUN, true) \
	/* groups */ \
	POINT(MCAST_ATTACH_HEARS, true) \
	POINT(MCAST_FOUND, false) \
	POINT(MCAST_DETACH_GONE, true) \
	POINT(REACH_FOUND, false) \
	/* frames, and the rules that steer them */ \
	POINT(RAW_BUILT, true) \
	POINT(STEER_FOUND, false) \
	POINT(STEER_OWNED, false) \
	POINT(STEER_ADDED, true) \
	POINT(STEER_REMOVE, true) \
	/* WQs, and RSS QPs, whose frames go to one of them */ \
	POINT(WQ_CREATED, true) \
	POINT(WQ_MODIFY, true) \
	POINT(RSS_CREATE, true) \
	POINT(RSS_PICKED, false) \
	/* monitors */ \
	POINT(MONITOR_ADD, true) \
	POINT(MONITOR_FOUND, false) \
	POINT(MONITOR_UNINIT, true) \
	/* counters */ \
	POINT(COUNTER_BIND, true) \
	POINT(COUNTER_UNBIND, true) \
	POINT(COUNTER_DEALLOC, true) \
	POINT(COUNTER_READ, true) \
	/* contexts, and queries of objects */ \
	POINT(UCONTEXT_TOLD, true) \
	POINT(UCONTEXT_DEALLOC, true) \
	POINT(RESOURCE_QP, true) \
	POINT(RESOURCE_CQ, true) \
	POINT(RESOURCE_SRQ, true) \
	POINT(RESOURCE_MR, false) \
	/* devices */ \
	POINT(DEVICE_ATTACHED, true) \
	POINT(DEVICE_REGISTERED, true) \
	POINT(DEVICE_NETDEV_LEAVES, true) \
	POINT(DEVICE_UNPUBLISHED, true) \
	POINT(DEVICE_UNUSED, true) \
	POINT(REMOVAL_BEGINS, true) \
	POINT(REMOVAL_QP, true) \
	POINT(REMOVAL_QP_ENDED, true) \
	/* failures of devices */ \
	POINT(FATAL_DEAD, true) \
	POINT(FATAL_QP, true) \
	POINT(FATAL_RECOVER, true) \
	/* InfiniBand */ \
	POINT(IB_LID_FOUND, false) \
	POINT(IB_FAR_END, false) \
	POINT(IB_RECEIVE, false) \
	POINT(IB_DETACH, true) \
	POINT(IB_UNPLUGGED, true)

#define WEFT_PAUSE_ID(_name, _sleeps)	WEFT_PAUSE_##_name,
enum weft_pause {
	WEFT_PAUSES(WEFT_PAUSE_ID)
	WEFT_PAUSE_NUM
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
DECLARE_STATIC_KEY_FALSE(weft_pause_key);

void weft_pause_hold(enum weft_pause which);

static __always_inline void weft_pause(enum weft_pause which)
{
	if (static_branch_unlikely(&weft_pause_key))
		weft_pause_hold(which);
}

void weft_pause_init(struct dentry *dir);
#else
#define weft_pause(which)	do { } while (0)
#define weft_pause_init(dir)	do { } while (0)
#endif

#endif /* WEFT_PAUSE_H */
