/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Injection rules of users: the file "inject_own" of a device, if the administrator allows it. A
 * rule is for QPs of the same user, whose processes are in the same namespace of process ids.
 */
#ifndef WEFT_OBJECT_INJECT_OWN_H
#define WEFT_OBJECT_INJECT_OWN_H

#include <linux/types.h>

struct file;
struct weft_dev;

/* A write is shorter. */
#define WEFT_INJECT_OWN_BYTES	4096U

ssize_t weft_inject_read_own(struct weft_dev *dev, const struct file *file, char *buf, loff_t from,
			     size_t size);
ssize_t weft_inject_write_own(struct weft_dev *dev, const struct file *file, const char *buf,
			      loff_t from, size_t size);

#endif /* WEFT_OBJECT_INJECT_OWN_H */
