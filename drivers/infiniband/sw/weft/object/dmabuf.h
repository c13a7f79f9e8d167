/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory of another driver (of a GPU, say) that was exported as a dma-buf. */
#ifndef WEFT_OBJECT_DMABUF_H
#define WEFT_OBJECT_DMABUF_H

#include <linux/iosys-map.h>
#include <linux/types.h>

struct device;
struct dma_buf;
struct dma_buf_attachment;

/* A mapped dma-buf. Immutable. */
struct weft_dmabuf {
	struct dma_buf			*dmabuf;	/* referenced */
	struct dma_buf_attachment	*attach;
	struct iosys_map		map;		/* of the whole buffer */
};

struct weft_dmabuf *weft_dmabuf_get(struct device *dev, int fd, bool writable);
void weft_dmabuf_put(struct weft_dmabuf *buf);
void *weft_dmabuf_at(const struct weft_dmabuf *buf, u64 offset, u64 length);

#endif /* WEFT_OBJECT_DMABUF_H */
