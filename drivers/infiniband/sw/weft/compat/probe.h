/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The headers that the table "probes" asks. Nothing includes this file; Kbuild.probe preprocesses
 * it.
 */
#ifndef WEFT_COMPAT_PROBE_H
#define WEFT_COMPAT_PROBE_H

#include <linux/crc32.h>
#include <linux/crc64.h>
#include <linux/dma-buf.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>
#include <net/gro.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

/* Shows what becomes of a namespace. It is also the end that probe.sh looks for. */
MODULE_IMPORT_NS(weft_probe);

#endif /* WEFT_COMPAT_PROBE_H */
