// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/ucontext.h"

#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <rdma/weft-abi.h>

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

#include "compat/placement.h"
#include "compat/signature.h"
#include "mem/odp_queue.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/qp.h"
#include "object/refuse.h"
#include "object/strict.h"
#include "object/table.h"
#include "params.h"
#include "pause.h"
#include "ring/rxe.h"

/* The object behind the doorbell files of a user context; the context of its QPs, too. */
struct weft_doorbell {
	struct kref	kref;	/* held by the files and the user context */
	bool		dead;	/* the user context is gone, with all its QPs */
	struct page	*posting;	/* struct weft_posting */
	struct weft_inject_poster poster;	/* until @dead */
};

static weft_doorbell_fn doorbell_send, doorbell_recv;

static void doorbell_free(struct kref *kref)
{
	struct weft_doorbell *doorbell = container_of(kref, struct weft_doorbell, kref);

	__free_page(doorbell->posting);
	kfree(doorbell);
}

static int doorbell_release(struct inode *inode, struct file *file)
{
	struct weft_doorbell *doorbell = file->private_data;

	kref_put(&doorbell->kref, doorbell_free);
	return 0;
}

/*
 * Strict mode: does a process post to the QP of another one, and is that to fail? It is a child
 * that has the rings of its parent, which an adapter's driver does not let it have.
 */
static noinline bool doorbell_is_stranger(struct weft_qp *qp)
{
	bool stranger = false;

	/* the device stays for a grace period after the state of its last QP has become RESET */
	rcu_read_lock();
	if (weft_qp_state(qp) != IB_QPS_RESET && current->tgid != qp->owner.pid)
		stranger = weft_strict_qp(qp, WEFT_FAULT_STRICT_FORK,
					  "another process than its maker posts to it");
	rcu_read_unlock();
	return stranger;
}

/* WEFT_ASK_SEND, WEFT_ASK_RECV. The errno of a rule is a result: to ask has not failed. */
static noinline long doorbell_ask(const struct weft_qp *qp, unsigned int cmd)
{
	long ret = 0;

	/* the device stays, as in doorbell_is_stranger() */
	rcu_read_lock();
	if (weft_qp_state(qp) != IB_QPS_RESET)
		ret = weft_inject_ask(qp->dev, cmd == WEFT_ASK_SEND ? WEFT_VERB_POST_SEND :
						  WEFT_VERB_POST_RECV, qp);
	rcu_read_unlock();
	return -ret;
}

static long doorbell_ring(struct file *file, unsigned int cmd, unsigned long qpn)
{
	struct weft_doorbell *doorbell = file->private_data;
	weft_doorbell_fn fn = cmd == WEFT_DOORBELL_SEND ? doorbell_send :
			      cmd == WEFT_DOORBELL_RECV ? doorbell_recv : NULL;
	struct weft_qp *qp;
	long ret = 0;

	if (unlikely(!fn && cmd != WEFT_ASK_SEND && cmd != WEFT_ASK_RECV))
		return -ENOTTY;
	qp = weft_qp_get(qpn);
	if (unlikely(!qp))
		return READ_ONCE(doorbell->dead) ? -EIO : -EINVAL;
	weft_pause(WEFT_PAUSE_DOORBELL);
	/* the error for a QP of another context is that for no QP */
	if (unlikely(qp->doorbell != doorbell))
		ret = READ_ONCE(doorbell->dead) ? -EIO : -EINVAL;
	else if (unlikely(!fn))
		ret = doorbell_ask(qp, cmd);
	else if (weft_strict_is_on() && doorbell_is_stranger(qp))
		ret = -EPERM;
	else
		fn(qp);
	weft_qp_put(qp);
	return ret;
}

/* The page of struct weft_posting. Who writes to it harms only the processes of this context. */
static int doorbell_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct weft_doorbell *doorbell = file->private_data;

	if (vma_pages(vma) != 1 || vma->vm_pgoff)
		return -EINVAL;
	return vm_insert_page(vma, vma->vm_start, doorbell->posting);
}

/* An open doorbell file pins the module: rmmod fails with EBUSY. */
static const struct file_operations doorbell_fops = {
	.owner		= THIS_MODULE,
	.release	= doorbell_release,
	.unlocked_ioctl	= doorbell_ring,
	.compat_ioctl	= doorbell_ring,
	.mmap		= doorbell_mmap,
	.llseek		= noop_llseek,
};

/* Set the functions for WEFT_DOORBELL_SEND and WEFT_DOORBELL_RECV, at module load. */
void weft_doorbell_install(weft_doorbell_fn send, weft_doorbell_fn recv)
{
	doorbell_send = send;
	doorbell_recv = recv;
}

static int ucontext_check(const struct ib_device *ibdev, struct ib_udata *udata)
{
	struct weft_alloc_ucontext_req req;
	int ret;

	ret = weft_udata_read(udata, &req, sizeof(req), sizeof(req),
			      sizeof(struct weft_alloc_ucontext_resp));
	if (ret)
		return weft_refuse_request(ibdev, ret, "open device", udata);
	if (req.abi_version != WEFT_ABI_VERSION)
		return weft_refuse(ibdev, -EINVAL, "open device: ABI version %u is not %u",
				   req.abi_version, WEFT_ABI_VERSION);
	if (req.reserved_0c)
		return weft_refuse(ibdev, -EINVAL,
				   "open device: reserved bytes of the request are set");
	return 0;
}

/* An open doorbell file whose file descriptor is reserved, but not installed yet. */
struct doorbell_file {
	int		fd;
	struct file	*file;	/* has a reference to the doorbell */
};

static int doorbell_open(struct doorbell_file *new, struct weft_doorbell *doorbell)
{
	new->fd = get_unused_fd_flags(O_CLOEXEC);
	if (new->fd < 0)
		return new->fd;
	new->file = anon_inode_getfile("[weft]", &doorbell_fops, doorbell, O_RDWR);
	if (IS_ERR(new->file)) {
		put_unused_fd(new->fd);
		return PTR_ERR(new->file);
	}
	kref_get(&doorbell->kref);
	return 0;
}

/* If @ret is 0, the response with the fd was copied to the process: install it. Else close it. */
static int doorbell_install_or_close(const struct doorbell_file *new, int ret)
{
	if (!ret) {
		fd_install(new->fd, new->file);
	} else {
		put_unused_fd(new->fd);
		fput(new->file);
	}
	return ret;
}

static struct weft_alloc_ucontext_resp ucontext_resp(const struct ib_ucontext *ibuc,
						     const struct doorbell_file *new)
{
	return (struct weft_alloc_ucontext_resp){
		.comp_mask = (COMPAT_PLACEMENT_CAPS ? WEFT_UCONTEXT_PLACEMENT : 0) |
			     (to_weft_dev(ibuc->device)->hca ? WEFT_UCONTEXT_IP_CSUM : 0) |
			     WEFT_UCONTEXT_NULL_KEY | WEFT_UCONTEXT_MKEY | WEFT_UCONTEXT_POSTING |
			     WEFT_UCONTEXT_PACKET_CREDITS | WEFT_UCONTEXT_DC |
			     (COMPAT_SIGNATURES ? WEFT_UCONTEXT_SIGNATURES : 0),
		.doorbell_fd = new->fd,
		.max_inline = WEFT_MAX_INLINE,
	};
}

/* Give weft's provider its doorbell file, and tell it what the device can do. */
static int ucontext_greet(const struct ib_ucontext *ibuc, struct weft_doorbell *doorbell,
			  struct ib_udata *udata)
{
	struct weft_alloc_ucontext_resp resp;
	struct doorbell_file new;
	int ret;

	ret = ucontext_check(ibuc->device, udata) ?: doorbell_open(&new, doorbell);
	if (ret)
		return ret;
	resp = ucontext_resp(ibuc, &new);
	ret = doorbell_install_or_close(&new, ib_copy_to_udata(udata, &resp, sizeof(resp)));
	weft_pause(WEFT_PAUSE_UCONTEXT_TOLD);
	return ret;
}

static struct weft_doorbell *doorbell_create(void)
{
	struct weft_doorbell *doorbell = kzalloc(sizeof(*doorbell), GFP_KERNEL_ACCOUNT);

	if (!doorbell)
		return NULL;
	doorbell->posting = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!doorbell->posting) {
		kfree(doorbell);
		return NULL;
	}
	doorbell->poster.posting = page_address(doorbell->posting);
	kref_init(&doorbell->kref);
	return doorbell;
}

static int ucontext_alloc(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct weft_ucontext *uctx = container_of(ibuc, struct weft_ucontext, ibuc);
	struct weft_doorbell *doorbell;
	int ret;

	ret = weft_inject_verb(ibuc->device, WEFT_VERB_ALLOC_UCONTEXT);
	if (ret)
		return ret;
	doorbell = weft_inject_no_memory(to_weft_dev(ibuc->device), NULL, WEFT_ALLOC_CONTEXT) ?
		   NULL : doorbell_create();
	if (!doorbell)
		return -ENOMEM;
	/* the provider for rdma_rxe sends no request, and rings by weft_post_send() */
	uctx->rxe = to_weft_dev(ibuc->device)->rxe && !udata->inlen;
	ret = uctx->rxe ? 0 : ucontext_greet(ibuc, doorbell, udata);
	if (ret) {
		kref_put(&doorbell->kref, doorbell_free);
		return ret;
	}
	uctx->doorbell = doorbell;
	if (!uctx->rxe)
		weft_inject_watch(to_weft_dev(ibuc->device), &doorbell->poster);
	weft_page_cache_init(&uctx->page_cache, ibuc);
	return 0;
}

/*
 * The core's GET_CONTEXT method frees a context that is refused, but keeps the context's reference
 * to the task that opens the device, so the task would never be freed.
 */
int weft_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	int ret = ucontext_alloc(ibuc, udata);

	if (ret && ibuc->res.task) {
		put_task_struct(ibuc->res.task);
		ibuc->res.task = NULL;
	}
	return ret;
}

/* A process imports a context, and gets a doorbell file. Return: 0 or -errno. */
int weft_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs)
{
	struct weft_ucontext *uctx = container_of(ibuc, struct weft_ucontext, ibuc);
	struct weft_alloc_ucontext_resp resp;
	struct doorbell_file new;
	int ret;

	ret = doorbell_open(&new, uctx->doorbell);
	if (ret)
		return ret;
	resp = ucontext_resp(ibuc, &new);
	ret = uverbs_copy_to_struct_or_zero(attrs, WEFT_ATTR_QUERY_CONTEXT_RESP, &resp,
					    sizeof(resp));
	return doorbell_install_or_close(&new, ret);
}

void weft_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct weft_ucontext *uctx = container_of(ibuc, struct weft_ucontext, ibuc);

	weft_page_cache_clear(&uctx->page_cache);
	weft_odp_queue_put(uctx->odp_queue);
	weft_pause(WEFT_PAUSE_UCONTEXT_DEALLOC);
	if (!uctx->rxe)
		weft_inject_unwatch(&uctx->doorbell->poster);
	WRITE_ONCE(uctx->doorbell->dead, true);
	kref_put(&uctx->doorbell->kref, doorbell_free);
}

/*
 * The device is removed while the context is open. Nothing to do: the core destroys all objects
 * next, which marks their rings dead; mappings of rings stay valid. Then it deallocates the
 * context.
 */
void weft_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

/* A provider that is newer than this kernel finds zeros in what the response does not have. */
static int udata_clear(struct ib_udata *udata)
{
	return udata->outlen && clear_user(udata->outbuf, udata->outlen) ? -EFAULT : 0;
}

/*
 * Check a request of which this kernel knows the first @req_size bytes, which begin with comp_mask,
 * and that the response fits, and clear the response. @udata may be NULL: a kernel consumer.
 * Returns 0; -EINVAL: too short, or unknown bits or bytes are set; -EFAULT.
 */
int weft_udata_check(struct ib_udata *udata, size_t req_size, size_t resp_size)
{
	u64 comp_mask;
	int ret;

	if (!udata)
		return 0;
	if (udata->inlen < sizeof(comp_mask) || udata->outlen < resp_size)
		return -EINVAL;
	ret = ib_copy_from_udata(&comp_mask, udata, sizeof(comp_mask));
	if (ret)
		return ret;
	if (comp_mask || (udata->inlen > req_size &&
			  !ib_is_udata_cleared(udata, req_size,
					       udata->inlen - req_size)))
		return -EINVAL;
	return udata_clear(udata);
}

/*
 * For a call without a request, by a kernel consumer (NULL), too; clears the response. -EINVAL: the
 * provider has sent one; -EFAULT.
 */
int weft_udata_empty(struct ib_udata *udata)
{
	if (!udata)
		return 0;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return udata_clear(udata);
}

/*
 * weft_udata_check(), then copy the request of a process to @req. It must have @least bytes;
 * those missing from @size are zeroed.
 */
int weft_udata_read(struct ib_udata *udata, void *req, size_t least, size_t size,
		    size_t resp_size)
{
	int ret = weft_udata_check(udata, size, resp_size);

	if (ret)
		return ret;
	if (udata->inlen < least)
		return -EINVAL;
	memset(req, 0, size);
	return ib_copy_from_udata(req, udata, min(size, udata->inlen));
}

/* The context of the calling process. Return: NULL: kernel consumer. */
struct ib_ucontext *weft_udata_ucontext(struct ib_udata *udata)
{
	struct weft_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct weft_ucontext, ibuc);

	return uctx ? &uctx->ibuc : NULL;
}

/* The doorbell of the calling process, only to be compared; takes no reference. NULL as above. */
struct weft_doorbell *weft_udata_doorbell(struct ib_udata *udata)
{
	struct weft_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct weft_ucontext, ibuc);

	return uctx ? uctx->doorbell : NULL;
}

struct weft_page_cache *weft_udata_page_cache(struct ib_udata *udata)
{
	struct weft_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct weft_ucontext, ibuc);

	return uctx ? &uctx->page_cache : NULL;
}

/* Return: the queues of the calling process have the formats of ring/rxe.h. */
bool weft_udata_rxe(struct ib_udata *udata)
{
	const struct weft_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct weft_ucontext, ibuc);

	return uctx && uctx->rxe;
}

/* Tell a process of rdma_rxe's provider where it finds a queue: the response, or its beginning. */
int weft_udata_tell_rxe(struct ib_udata *udata, const struct weft_ring_resp *where)
{
	struct mminfo info = weft_rxe_mminfo(where);

	return udata->outlen < sizeof(info) ? -EINVAL :
	       ib_copy_to_udata(udata, &info, sizeof(info));
}

/*
 * The queue for work items that wait for ODP pages of the calling process, created on first use.
 * Regions borrow it from the context. Return: NULL: kernel consumer; ERR_PTR(): -ENOMEM.
 */
struct weft_odp_queue *weft_udata_odp_queue(struct ib_udata *udata)
{
	struct weft_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct weft_ucontext, ibuc);
	struct weft_odp_queue *queue, *other;

	if (!uctx || READ_ONCE(uctx->odp_queue))
		return uctx ? uctx->odp_queue : NULL;
	queue = weft_odp_queue_create();
	if (!queue)
		return ERR_PTR(-ENOMEM);
	/* another thread may have set it meanwhile */
	other = cmpxchg(&uctx->odp_queue, NULL, queue);
	if (!other)
		return queue;
	weft_odp_queue_put(queue);
	return other;
}

/*
 * The user, in the initial user namespace, that objects made by the current task are charged to.
 * In a user namespace it is the owner of the outermost one, as a user may have many uids there.
 */
kuid_t weft_user(void)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t user = current_uid();

	for (; ns != &init_user_ns; ns = ns->parent)
		user = ns->owner;
	return user;
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(ucontext_query, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(WEFT_ATTR_QUERY_CONTEXT_RESP,
						 UVERBS_ATTR_STRUCT(struct weft_alloc_ucontext_resp,
								    max_inline),
						 UA_MANDATORY));

const struct uapi_definition weft_ucontext_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &ucontext_query),
	{ }
};
