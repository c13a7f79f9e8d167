/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * dma-buf, in the newest kernel's words.
 */
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
/* where the caller held no lock */
#define dma_buf_vmap_unlocked dma_buf_vmap
#define dma_buf_vunmap_unlocked dma_buf_vunmap
#endif

#ifdef COMPAT_HAS_DMABUF_OPTIONAL_MOVE
#define COMPAT_DMABUF_PINNED { .allow_peer2peer = false }
#else
/*
 * What is pinned does not move, but the core wants to be able to say so. By place:
 * the member was renamed before it became optional.
 */
static void compat_dmabuf_move_notify(struct dma_buf_attachment *attach)
{
}

#define COMPAT_DMABUF_PINNED { false, compat_dmabuf_move_notify }
#endif

#endif /* WEFT_COMPAT_DMABUF_H */
