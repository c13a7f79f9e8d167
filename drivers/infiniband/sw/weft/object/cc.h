/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Congestion control of a QP, see engine/cc.c. */
#ifndef WEFT_OBJECT_CC_H
#define WEFT_OBJECT_CC_H

#include <linux/ktime.h>
#include <linux/types.h>

/* The attribute "cc" of a device. */
enum weft_cc_mode {
	WEFT_CC_OFF,	/* no CNP is sent or obeyed */
	WEFT_CC_AUTO,	/* CNPs are */
	WEFT_CC_DCQCN,	/* and requests are marked as ECN-capable, and losses are obeyed */
	WEFT_CC_MODES,
};

/* The rate of a requester. The owner of the send turn writes it. */
struct weft_cc {
	u32	rate;		/* kbit/s; 0: no limit, and nothing else is valid */
	u32	target;		/* kbit/s: where @rate goes to */
	u16	alpha;		/* how much congestion there has been, in 1/1024 */
	bool	seen;		/* a CNP has come since @alpha_at */
	u16	time_stage;	/* increases since the last cut, by time */
	u16	byte_stage;	/* and by bytes sent */
	u32	period;		/* us, of the steps of @alpha */
	u32	bytes;		/* sent since the last increase by bytes */
	ktime_t	alpha_at;	/* the last step of @alpha */
	ktime_t	cut_at;		/* the last cut */
	ktime_t	time_at;	/* the last increase by time */
};

#endif /* WEFT_OBJECT_CC_H */
