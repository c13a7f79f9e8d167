/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The newest kernel's interface to dma-buf. */
#ifndef WEFT_COMPAT_DMABUF_H
#define WEFT_COMPAT_DMABUF_H

#include <linux/dma-buf.h>
#include <linux/module.h>

#ifdef COMPAT_HAS_NAMESPACE_STRINGS
#define COMPAT_IMPORT_DMA_BUF() MODULE_IMPORT_NS("DMA_BUF")
#else
#define COMPAT_IMPORT_DMA_BUF() MODULE_IMPORT_NS(DMA_BUF)
#endif

#ifndef COMPAT_HAS_DMABUF_LOCKING
/* these took no lock of the dma-buf before */
#define dma_buf_vmap_unlocked dma_buf_vmap
#define dma_buf_vunmap_unlocked dma_buf_vunmap
#endif

#ifdef COMPAT_HAS_DMABUF_OPTIONAL_MOVE
#define COMPAT_DMABUF_PINNED { .allow_peer2peer = false }
#else
/*
 * A pinned dma-buf does not move, but the callback is mandatory. The initializer names no
 * members because move_notify was renamed before it became optional.
 */
static void compat_dmabuf_move_notify(struct dma_buf_attachment *attach)
{
}

#define COMPAT_DMABUF_PINNED { false, compat_dmabuf_move_notify }
#endif

#endif /* WEFT_COMPAT_DMABUF_H */
