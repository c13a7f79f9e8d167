// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of another driver (a GPU's, say) that was exported as a dma-buf.
 *
 * Transfers are copies by a CPU, not DMA. So the buffer is mapped into the kernel, and stays
 * mapped and pinned as long as a region of it exists.
 */
#include "object/dmabuf.h"

#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/slab.h>

#include "compat/dmabuf.h"
#include "object/refuse.h"

/* for exporters that move buffers unless they are pinned */
static const struct dma_buf_attach_ops dmabuf_pinned_ops = COMPAT_DMABUF_PINNED;

#define dmabuf_refuse(_dev, _err, _rule) \
	weft_refuse(rdma_device_to_ibdev(_dev), _err, "register dma-buf MR: " _rule)

/* Whether the exporter may move a buffer that has attachments, unless it is pinned. */
static bool dmabuf_moves(const struct dma_buf *dmabuf)
{
	return dmabuf->ops->pin;
}

/*
 * A kernel mapping alone does not keep a buffer in place: exporters expect it to end before the
 * reservation lock is released, and may move a buffer without attachments. Nothing is mapped
 * for DMA, so the device need not be capable of it.
 */
static int dmabuf_attach(struct weft_dmabuf *buf, struct device *dev)
{
	struct dma_buf *dmabuf = buf->dmabuf;
	int ret;

	if (!dmabuf_moves(dmabuf)) {
		buf->attach = dma_buf_attach(dmabuf, dev);
		return PTR_ERR_OR_ZERO(buf->attach);
	}
	buf->attach = dma_buf_dynamic_attach(dmabuf, dev, &dmabuf_pinned_ops, NULL);
	if (IS_ERR(buf->attach))
		return PTR_ERR(buf->attach);
	dma_resv_lock(dmabuf->resv, NULL);
	ret = dma_buf_pin(buf->attach);
	dma_resv_unlock(dmabuf->resv);
	if (ret)
		dma_buf_detach(dmabuf, buf->attach);
	return ret;
}

static void dmabuf_detach(struct weft_dmabuf *buf)
{
	struct dma_buf *dmabuf = buf->dmabuf;

	if (dmabuf_moves(dmabuf)) {
		dma_resv_lock(dmabuf->resv, NULL);
		dma_buf_unpin(buf->attach);
		dma_resv_unlock(dmabuf->resv);
	}
	dma_buf_detach(dmabuf, buf->attach);
}

static int dmabuf_map(struct weft_dmabuf *buf, struct device *dev)
{
	int ret = dma_buf_vmap_unlocked(buf->dmabuf, &buf->map);

	if (ret)
		return ret;
	/* copies and atomics are CPU instructions for memory, not for I/O memory */
	if (!buf->map.is_iomem)
		return 0;
	dma_buf_vunmap_unlocked(buf->dmabuf, &buf->map);
	return dmabuf_refuse(dev, -EOPNOTSUPP, "the buffer is I/O memory");
}

/*
 * CPU access begins when the region is registered and ends when it is deregistered, since a peer
 * may access the memory at any time in between. So peers see what devices wrote before, and
 * devices see afterwards what peers wrote. On hardware without cache coherence, a program has to
 * use DMA_BUF_IOCTL_SYNC in between, as it has to for its own access.
 */
static int dmabuf_begin(struct weft_dmabuf *buf)
{
	return dma_buf_begin_cpu_access(buf->dmabuf, DMA_BIDIRECTIONAL);
}

static int dmabuf_open(struct weft_dmabuf *buf, struct device *dev, int fd, bool writable)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);

	if (IS_ERR(dmabuf))
		return dmabuf_refuse(dev, PTR_ERR(dmabuf), "fd is no dma-buf");
	buf->dmabuf = dmabuf;
	/* the error of mmap() */
	if (writable && !(dmabuf->file->f_mode & FMODE_WRITE)) {
		dma_buf_put(dmabuf);
		return dmabuf_refuse(dev, -EACCES, "write access to a read-only buffer");
	}
	if (!dmabuf->ops->vmap) {
		dma_buf_put(dmabuf);
		return dmabuf_refuse(dev, -EOPNOTSUPP, "the exporter cannot map it for the kernel");
	}
	return 0;
}

/*
 * Map the dma-buf of file descriptor @fd. Process context, may sleep.
 *
 * Return: ERR_PTR(): -EBADF: no such file; -EINVAL: not a dma-buf; -EACCES: @writable, and the
 * file is not open for writing; -EOPNOTSUPP: not memory that the kernel can map; -ENOMEM, or
 * an error of the exporter.
 */
struct weft_dmabuf *weft_dmabuf_get(struct device *dev, int fd, bool writable)
{
	struct weft_dmabuf *buf;
	int ret;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	ret = dmabuf_open(buf, dev, fd, writable);
	if (ret)
		goto err_free_buf;
	ret = dmabuf_attach(buf, dev);
	if (ret)
		goto err_put_dmabuf;
	ret = dmabuf_map(buf, dev);
	if (ret)
		goto err_detach;
	ret = dmabuf_begin(buf);
	if (ret)
		goto err_unmap;
	return buf;

err_unmap:
	dma_buf_vunmap_unlocked(buf->dmabuf, &buf->map);
err_detach:
	dmabuf_detach(buf);
err_put_dmabuf:
	dma_buf_put(buf->dmabuf);
err_free_buf:
	kfree(buf);
	return ERR_PTR(ret);
}

/* Process context, may sleep. @buf may be NULL. */
void weft_dmabuf_put(struct weft_dmabuf *buf)
{
	if (!buf)
		return;
	dma_buf_end_cpu_access(buf->dmabuf, DMA_BIDIRECTIONAL);
	dma_buf_vunmap_unlocked(buf->dmabuf, &buf->map);
	dmabuf_detach(buf);
	dma_buf_put(buf->dmabuf);
	kfree(buf);
}

/* The kernel address of a piece of the buffer. Return: NULL: not within the buffer. */
void *weft_dmabuf_at(const struct weft_dmabuf *buf, u64 offset, u64 length)
{
	u64 size = buf->dmabuf->size;

	if (offset > size || length > size - offset)
		return NULL;
	return buf->map.vaddr + offset;
}

COMPAT_IMPORT_DMA_BUF();
