/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory of somebody else, a GPU's driver say, that came as a dma-buf.
 *
 * There is no DMA: what transfers is a CPU. So the buffer is mapped into the
 * kernel, and stays so, and stays where it is, while a region of it is there.
 */
#ifndef WEFT_OBJECT_DMABUF_H
#define WEFT_OBJECT_DMABUF_H

#include <linux/iosys-map.h>
#include <linux/types.h>

struct device;
struct dma_buf;
struct dma_buf_attachment;

/**
 * struct weft_dmabuf - a dma-buf that is mapped
 *
 * Immutable.
 *
 * @dmabuf: with a reference
 * @attach: tells the exporter of us
 * @map: where all of it is
 */
struct weft_dmabuf {
	struct dma_buf			*dmabuf;
	struct dma_buf_attachment	*attach;
	struct iosys_map		map;
};

/**
 * weft_dmabuf_get - map a dma-buf
 * @dev: on whose behalf
 * @fd: file descriptor of the dma-buf
 * @writable: it is to be written
 *
 * Context: process, may sleep.
 * Return: the buffer, or ERR_PTR(): -EBADF: no such file; -EINVAL: another kind of
 * file; -EACCES: the file is not open for writing; -EOPNOTSUPP: no memory that the
 * kernel can map as such; what the exporter returned; -ENOMEM.
 */
struct weft_dmabuf *weft_dmabuf_get(struct device *dev, int fd, bool writable);

/**
 * weft_dmabuf_put - give a dma-buf back
 * @buf: not accessed any more; may be NULL
 *
 * Context: process, may sleep.
 */
void weft_dmabuf_put(struct weft_dmabuf *buf);

/**
 * weft_dmabuf_at - where a piece of a dma-buf is
 * @buf: any
 * @offset: bytes before it
 * @length: bytes
 *
 * Return: kernel address, or NULL when it is not inside of the buffer.
 */
void *weft_dmabuf_at(const struct weft_dmabuf *buf, u64 offset, u64 length);

#endif /* WEFT_OBJECT_DMABUF_H */
