/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* /sys/kernel/debug/weft/inject: the rules of all devices. */
#ifndef WEFT_INJECT_FILE_H
#define WEFT_INJECT_FILE_H

struct dentry;

void weft_inject_file_init(struct dentry *dir);

#endif /* WEFT_INJECT_FILE_H */
