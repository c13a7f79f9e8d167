// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/strict.h"

#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "object/dev.h"
#include "object/qp.h"
#include "object/why.h"

DEFINE_STATIC_KEY_FALSE(weft_strict_key);

static DEFINE_MUTEX(strict_mutex);

static const char *const strict_names[] = {
	[WEFT_FAULT_STRICT_BUFFER - WEFT_FAULT_STRICT]		= "BUFFER",
	[WEFT_FAULT_STRICT_RNR - WEFT_FAULT_STRICT]		= "RNR",
	[WEFT_FAULT_STRICT_PROFILE - WEFT_FAULT_STRICT]		= "PROFILE",
	[WEFT_FAULT_STRICT_ADDRESS - WEFT_FAULT_STRICT]		= "ADDRESS",
	[WEFT_FAULT_STRICT_NO_QP - WEFT_FAULT_STRICT]		= "NO_QP",
	[WEFT_FAULT_STRICT_QKEY - WEFT_FAULT_STRICT]		= "QKEY",
	[WEFT_FAULT_STRICT_PKEY - WEFT_FAULT_STRICT]		= "PKEY",
	[WEFT_FAULT_STRICT_FORK - WEFT_FAULT_STRICT]		= "FORK",
};

void weft_strict_open(struct weft_strict *strict)
{
	spin_lock_init(&strict->lock);
}

/* May sleep. What has been said is forgotten, and said again. */
void weft_strict_set(struct weft_dev *dev, enum weft_strict_mode mode)
{
	struct weft_strict *strict = &dev->strict;
	u8 was;

	mutex_lock(&strict_mutex);
	was = strict->mode;
	if (mode && !was)
		static_branch_inc(&weft_strict_key);
	spin_lock_irq(&strict->lock);
	memset(strict->said, 0, sizeof(strict->said));
	spin_unlock_irq(&strict->lock);
	WRITE_ONCE(strict->generation, strict->generation + 1);
	WRITE_ONCE(strict->mode, mode);
	/* last: its branches change one by one, and a slot may have the sum of an old request */
	if (!mode && was)
		static_branch_dec(&weft_strict_key);
	mutex_unlock(&strict_mutex);
}

static bool strict_is_new(struct weft_strict *strict, enum weft_fault rule, pid_t pid, u32 qpn)
{
	struct weft_strict_said *said = strict->said;
	unsigned long flags;
	bool new = true;
	u32 i;

	spin_lock_irqsave(&strict->lock, flags);
	for (i = 0; i < WEFT_STRICT_SAID && new; i++)
		new = said[i].rule != rule || said[i].pid != pid || said[i].qpn != qpn;
	if (new) {
		said[strict->next] = (struct weft_strict_said){ pid, qpn, rule };
		strict->next = (strict->next + 1) % WEFT_STRICT_SAID;
	}
	spin_unlock_irqrestore(&strict->lock, flags);
	return new;
}

/*
 * @qp, of a process, breaks @rule. Returns true: the caller lets its work request fail. Context:
 * any; the device of @qp is there.
 */
bool weft_strict_qp(struct weft_qp *qp, enum weft_fault rule, const char *format, ...)
{
	struct weft_dev *dev = qp->dev;
	const u8 mode = READ_ONCE(dev->strict.mode);
	struct weft_why_entry entry = {
		.record = { .kind = WEFT_WHY_STRICT, .fault = rule },
	};
	va_list args;

	if (!mode || qp->kernel)
		return false;
	if (!strict_is_new(&dev->strict, rule, qp->owner.pid, qp->qpn))
		return mode == WEFT_STRICT_FAIL;
	va_start(args, format);
	vscnprintf(entry.record.text, sizeof(entry.record.text), format, args);
	va_end(args);
	ibdev_warn_ratelimited(&dev->ibdev, "strict: %s: QP %u of %s (process %d): %s\n",
			       strict_names[rule - WEFT_FAULT_STRICT], qp->qpn, qp->owner.comm,
			       qp->owner.pid, entry.record.text);
	weft_why_failure(qp, &entry);
	return mode == WEFT_STRICT_FAIL;
}

/*
 * The same for a call of the current process. @place: a number of the call, below WEFT_MIN_QPN so
 * that it is that of no QP.
 */
bool weft_strict_call(struct weft_dev *dev, enum weft_fault rule, u32 place, const char *format,
		      ...)
{
	const u8 mode = READ_ONCE(dev->strict.mode);
	struct weft_why_entry entry = {
		.record = { .kind = WEFT_WHY_STRICT, .fault = rule },
	};
	va_list args;

	if (!mode)
		return false;
	if (!strict_is_new(&dev->strict, rule, current->tgid, place))
		return mode == WEFT_STRICT_FAIL;
	va_start(args, format);
	vscnprintf(entry.record.text, sizeof(entry.record.text), format, args);
	va_end(args);
	ibdev_warn_ratelimited(&dev->ibdev, "strict: %s: %s (process %d): %s\n",
			       strict_names[rule - WEFT_FAULT_STRICT], current->comm,
			       current->tgid, entry.record.text);
	weft_why_call(dev, &entry);
	return mode == WEFT_STRICT_FAIL;
}
