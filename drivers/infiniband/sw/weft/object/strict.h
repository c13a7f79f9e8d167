/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Strict mode of a device: it says what works here, and fails on hardware
 * (Documentation/infiniband/weft/strict.rst).
 *
 * Each rule has a number among enum weft_fault, a record in the file "why", and a line in the
 * kernel's log, once for each process and QP. Only processes are looked at. While no device is
 * strict a static key skips all of this.
 */
#ifndef WEFT_OBJECT_STRICT_H
#define WEFT_OBJECT_STRICT_H

#include <linux/jump_label.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-why.h>

struct weft_dev;
struct weft_profile;
struct weft_qp;

enum weft_strict_mode {
	WEFT_STRICT_OFF,
	WEFT_STRICT_WARN,
	WEFT_STRICT_FAIL,	/* the call or the work request fails, too */
	WEFT_STRICT_MODES
};

/* Warnings that are remembered, so that they are not repeated. */
#define WEFT_STRICT_SAID	64U

struct weft_strict_said {
	pid_t	pid;
	u32	qpn;
	u8	rule;
};

struct weft_strict {
	u8			mode;		/* enum weft_strict_mode; under strict_mutex */
	/* counts how often the mode has become another one, from 1 on; under strict_mutex */
	u32			generation;
	const struct weft_profile *profile;	/* NULL: none */
	spinlock_t		lock;		/* of the members below */
	u32			next;		/* entry of @said to be overwritten */
	struct weft_strict_said	said[WEFT_STRICT_SAID];
};

DECLARE_STATIC_KEY_FALSE(weft_strict_key);

static __always_inline bool weft_strict_is_on(void)
{
	return static_branch_unlikely(&weft_strict_key);
}

void weft_strict_open(struct weft_strict *strict);
void weft_strict_set(struct weft_dev *dev, enum weft_strict_mode mode);
__printf(3, 4)
bool weft_strict_qp(struct weft_qp *qp, enum weft_fault rule, const char *format, ...);
__printf(4, 5)
bool weft_strict_call(struct weft_dev *dev, enum weft_fault rule, u32 place, const char *format,
		      ...);

#endif /* WEFT_OBJECT_STRICT_H */
