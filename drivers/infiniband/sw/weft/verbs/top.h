/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The file with the figures of a device's QPs. */
#ifndef WEFT_VERBS_TOP_H
#define WEFT_VERBS_TOP_H

#include <linux/types.h>

struct file;
struct weft_dev;

ssize_t weft_top_read(struct weft_dev *dev, const struct file *file, char *buf, loff_t from,
		      size_t size);

#endif /* WEFT_VERBS_TOP_H */
