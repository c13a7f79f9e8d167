// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls that make, change and destroy objects other than QPs. One in eight has an argument
 * that is wrong; of the others the model says whether they succeed.
 */
#include "sequences.h"

#include <fcntl.h>

/* one argument in eight is wrong: which of @num ways, or 0 */
unsigned int wrong(unsigned int num)
{
	return one_in(8) ? 1 + below(num) : 0;
}

bool full(enum kind kind)
{
	return w->num[kind] == MAX_OBJECTS;
}

int some_context(void)
{
	return w->context[1] ? below(2) : 0;
}

/* of a call that returns an object, or NULL and errno */
int error_of(const void *ptr)
{
	return ptr ? 0 : errno;
}

/*
 * ---- Domains ----
 */

static bool alloc_pd(void)
{
	int context = some_context();
	struct ibv_pd *ipd;

	if (full(PD))
		return false;
	call("alloc_pd, context %d", context);
	ipd = ibv_alloc_pd(w->context[context]);
	result(V_ALLOC_PD, error_of(ipd), 0);
	add(PD, context, ipd);
	return true;
}

static bool alloc_td(void)
{
	struct ibv_td_init_attr attr = {};
	int context = some_context();
	struct ibv_td *itd;

	if (full(TD))
		return false;
	attr.comp_mask = !!wrong(1);
	call("alloc_td, context %d, comp_mask %u", context, attr.comp_mask);
	itd = ibv_alloc_td(w->context[context], &attr);
	result(V_ALLOC_TD, error_of(itd), attr.comp_mask ? EINVAL : 0);
	if (itd)
		add(TD, context, itd);
	return true;
}

static bool alloc_parent(void)
{
	struct ibv_parent_domain_init_attr attr = {};
	struct obj *pd = some(PD), *td, *o;
	unsigned int bad = wrong(2);
	struct ibv_pd *ipd;

	if (!pd || pd->parent || full(PD))
		return false;
	td = one_in(2) ? some_of(TD, pd->context) : NULL;
	attr.pd = bad == 1 ? NULL : pd->ipd;
	attr.td = td ? td->itd : NULL;
	attr.comp_mask = bad == 2 ? 1 << 20 : 0;
	call("alloc_parent_domain of PD %u, TD %u, wrong %u", pd->id, td ? td->id : 0, bad);
	ipd = ibv_alloc_parent_domain(w->context[pd->context], &attr);
	result(V_PARENT, error_of(ipd), bad ? EINVAL : 0);
	if (!ipd)
		return true;
	o = add(PD, pd->context, ipd);
	o->parent = true;
	o->pd = pd;
	o->td = td;
	hold(pd);
	hold(td);
	return true;
}

static bool open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	int context = some_context(), file = (int)below(FILES + 1) - 1, want = 0;
	struct domain *domain = NULL;
	struct ibv_xrcd *ixrcd;
	struct obj *o;

	if (full(XRCD))
		return false;
	if (file >= 0) {
		static const int oflags[] = { O_CREAT, O_CREAT, 0, O_CREAT | O_EXCL };

		attr.fd = wrong(1) ? 9999 : w->file[file];
		attr.oflags = oflags[below(ARRAY_SIZE(oflags))];
		domain = w->named[file];
		if (attr.fd == 9999)
			want = EBADF;
		else if (domain)
			want = attr.oflags & O_EXCL ? EINVAL : 0;
		else
			want = attr.oflags & O_CREAT ? 0 : EAGAIN;
	}
	call("open_xrcd, context %d, file %d (fd %d), oflags %#x", context, file, attr.fd,
	     attr.oflags);
	ixrcd = ibv_open_xrcd(w->context[context], &attr);
	result(V_OPEN_XRCD, error_of(ixrcd), want);
	if (!ixrcd)
		return true;
	if (!domain) {
		domain = calloc(1, sizeof(*domain));
		CHECK(domain);
		domain->file = file;
		if (file >= 0)
			w->named[file] = domain;
	}
	domain->handles++;
	o = add(XRCD, context, ixrcd);
	o->domain = domain;
	return true;
}

/*
 * ---- Memory ----
 */

static const int rights[] = {
	ACCESS_ALL, ACCESS_ALL | IBV_ACCESS_MW_BIND, ACCESS_ALL | IBV_ACCESS_MW_BIND,
	IBV_ACCESS_LOCAL_WRITE, 0, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND,
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
};

static int some_rights(void)
{
	return rights[below(ARRAY_SIZE(rights))];
}

static void set_region(struct obj *o, uint64_t start, uint64_t size, int access)
{
	o->start = start;
	o->size = size;
	o->access = access;
}

static struct obj *add_region(struct obj *pd, struct ibv_mr *imr, enum mr_kind kind)
{
	struct obj *o = add(MR, pd->context, imr);

	o->pd = pd;
	o->mr_kind = kind;
	hold_pd(pd, true);
	remark("MR %u has lkey %#x, rkey %#x", o->id, imr->lkey, imr->rkey);
	return o;
}

static bool reg_mr(void)
{
	enum mr_kind kind = below(MR_DEVICE);
	size_t off = below(SPACE / 2), size = kind == MR_EMPTY ? 0 : 1 + below(SPACE / 2);
	int access = some_rights(), want = 0, other;
	uint8_t *p = w->space + off;
	struct obj *pd = some(PD);
	unsigned int bad = wrong(4);
	struct ibv_mr *imr;
	uint64_t iova = (uintptr_t)p;

	if (!pd || full(MR))
		return false;
	if (kind == MR_PAGED && !paging)
		kind = MR_PLAIN;
	if (one_in(2)) {
		p -= off;
		iova -= off;
		size = size ? SPACE : 0;
	}
	if (kind == MR_PAGED)
		access |= IBV_ACCESS_ON_DEMAND;
	want = bad ? EINVAL : 0;
	other = want;
	if (bad == 1) {
		access = IBV_ACCESS_REMOTE_WRITE;
	} else if (bad == 2) {
		iova ^= 8;
	} else if (bad == 3) {
		access |= 1 << 18;
		other = EOPNOTSUPP;
	} else if (bad == 4) {
		/* nothing is mapped there */
		p = (uint8_t *)4096;
		iova = 4096;
		size = 100;
		access = IBV_ACCESS_LOCAL_WRITE;
		want = other = EFAULT;
	}
	call("reg_mr in PD %u, +%td, %zu bytes, access %#x, wrong %u", pd->id, p - w->space,
	     size, access, bad);
	imr = iova == (uintptr_t)p ? ibv_reg_mr(pd->ipd, p, size, access) :
				     ibv_reg_mr_iova(pd->ipd, p, size, iova, access);
	result_of(V_REG_MR, error_of(imr), want, other);
	if (imr)
		set_region(add_region(pd, imr, kind), (uintptr_t)p, size, access);
	return true;
}

static bool reg_dm_mr(void)
{
	struct obj *dm = some(DM), *pd, *o;
	int access = some_rights() & ~IBV_ACCESS_MW_BIND, want;
	unsigned int bad = wrong(3);
	struct ibv_mr *imr;
	size_t off, size;

	pd = dm ? some_of(PD, dm->context) : NULL;
	if (!pd || full(MR))
		return false;
	/* of odd memory no atomic can be done: see limits.rst */
	off = below(dm->size) & ~7;
	size = bad == 1 ? dm->size - off + 1 : below(dm->size - off + 1);
	access |= bad == 2 ? 0 : IBV_ACCESS_ZERO_BASED;
	if (bad == 3)
		access |= IBV_ACCESS_MW_BIND;
	want = bad == 3 ? EOPNOTSUPP : bad ? EINVAL : 0;
	call("reg_dm_mr of DM %u in PD %u, +%zu, %zu bytes, access %#x", dm->id, pd->id, off,
	     size, access);
	imr = ibv_reg_dm_mr(pd->ipd, dm->idm, off, size, access);
	result(V_REG_MR, error_of(imr), want);
	if (!imr)
		return true;
	o = add_region(pd, imr, MR_DEVICE);
	o->dm = dm;
	hold(dm);
	set_region(o, 0, size, access);
	return true;
}

static bool alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 + below(4000) };
	unsigned int bad = wrong(4);
	int context = some_context();
	struct ibv_dm *idm;
	struct obj *o;

	if (full(DM))
		return false;
	if (bad == 1)
		attr.length = 0;
	else if (bad == 2)
		attr.log_align_req = 13;
	else if (bad == 3)
		attr.comp_mask = 1;
	else if (bad == 4)
		attr.length = 1ULL << 40;
	call("alloc_dm, context %d, %zu bytes, wrong %u", context, attr.length, bad);
	idm = ibv_alloc_dm(w->context[context], &attr);
	result(V_ALLOC_DM, error_of(idm), bad == 4 ? ENOMEM : bad ? EINVAL : 0);
	if (!idm)
		return true;
	o = add(DM, context, idm);
	o->size = attr.length;
	return true;
}

/* A work request that has been begun still needs it. */
static bool is_used_now(const struct obj *mr)
{
	const struct send *wr;
	const struct qp *qp;

	for (qp = w->qps; qp; qp = qp->link) {
		wr = &qp->sq.wr[qp->sq.next % MAX_WR];
		if (qp->sq.next != qp->sq.tail && wr->begun && wr->from.lkey == mr->imr->lkey)
			return true;
	}
	return false;
}

/* A datagram that is held in SQD still needs it: see limits.rst. */
static bool is_held(const struct obj *ah)
{
	const struct qp *qp;
	uint32_t i;

	for (qp = w->qps; qp; qp = qp->link)
		for (i = qp->sq.next; i != qp->sq.tail; i++)
			if (qp->sq.wr[i % MAX_WR].ah == ah)
				return true;
	return false;
}

struct change {
	int flags, access, want, code;
	uint8_t *start;
	size_t size;
	struct obj *pd;
};

static void draw_change(struct change *c, struct obj *mr)
{
	unsigned int bad = wrong(3);

	*c = (struct change){ .flags = 1 + below(7), .start = w->space, .size = SPACE };
	if (c->flags & IBV_REREG_MR_CHANGE_ACCESS)
		c->access = some_rights() | (mr->access & IBV_ACCESS_ON_DEMAND);
	if (c->flags & IBV_REREG_MR_CHANGE_PD)
		c->pd = some_of(PD, mr->context);
	c->code = IBV_REREG_MR_ERR_CMD;
	if (bad == 1) {
		c->flags = 0;
		c->access = 0;
		c->want = EINVAL;
	} else if (bad == 2) {
		c->flags &= ~IBV_REREG_MR_CHANGE_ACCESS;
		c->access = IBV_ACCESS_LOCAL_WRITE;
		c->want = EINVAL;
		c->code = IBV_REREG_MR_ERR_INPUT;
	} else if (mr->mr_kind == MR_DEVICE) {
		c->want = EINVAL;
	} else if (bad == 3) {
		c->flags |= IBV_REREG_MR_CHANGE_ACCESS;
		c->access = IBV_ACCESS_REMOTE_ATOMIC;
		c->want = EINVAL;
	} else if (mr->users) {
		c->want = EBUSY;
	} else if (c->flags & IBV_REREG_MR_CHANGE_ACCESS && paging && one_in(8)) {
		c->access ^= IBV_ACCESS_ON_DEMAND;
		c->want = EOPNOTSUPP;
	}
}

static bool rereg_mr(void)
{
	struct obj *mr = some(MR);
	struct change c;
	int ret;

	if (!mr || mr->spoilt || is_used_now(mr))
		return false;
	draw_change(&c, mr);
	sync_all();
	call("rereg_mr of MR %u, flags %d, access %#x, PD %u", mr->id, c.flags, c.access,
	     c.pd ? c.pd->id : 0);
	errno = 0;
	ret = ibv_rereg_mr(mr->imr, c.flags, c.pd ? c.pd->ipd : NULL, c.start, c.size, c.access);
	result(V_REREG_MR, ret ? errno : 0, c.want);
	if (ret) {
		/* by ibv_rereg_mr(3) it can be deregistered, and that is all */
		mr->spoilt = ret != IBV_REREG_MR_ERR_INPUT;
		return true;
	}
	if (c.flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = c.access;
	if (c.flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->start = (uintptr_t)c.start;
		mr->size = c.size;
	}
	if (c.pd) {
		drop_pd(mr->pd, true);
		mr->pd = c.pd;
		hold_pd(mr->pd, true);
	}
	return true;
}

static bool alloc_mw(void)
{
	int type = wrong(1) ? 3 : one_in(2) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
	struct obj *pd = some(PD), *o;
	struct ibv_mw *imw;

	if (!pd || full(MW))
		return false;
	call("alloc_mw of type %d in PD %u", type, pd->id);
	imw = ibv_alloc_mw(pd->ipd, type);
	result(V_ALLOC_MW, error_of(imw), type == 3 ? EINVAL : 0);
	if (!imw)
		return true;
	o = add(MW, pd->context, imw);
	o->mw_type = type;
	o->pd = pd;
	o->key = imw->rkey;
	hold_pd(pd, true);
	return true;
}

/*
 * ---- Queues ----
 */

static bool create_channel(void)
{
	int context = some_context();
	struct ibv_comp_channel *ichannel;

	if (full(CHANNEL))
		return false;
	call("create_comp_channel, context %d", context);
	ichannel = ibv_create_comp_channel(w->context[context]);
	result(V_CHANNEL, error_of(ichannel), 0);
	SAME(fcntl(ichannel->fd, F_SETFL, O_NONBLOCK), 0);
	add(CHANNEL, context, ichannel);
	return true;
}

static bool create_cq(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 + below(120) };
	struct obj *pd = one_in(4) ? some(PD) : NULL, *channel, *o;
	int context = pd ? pd->context : some_context();
	unsigned int bad = wrong(3);
	struct ibv_cq_ex *ex;

	if (full(CQ))
		return false;
	channel = one_in(2) ? some_of(CHANNEL, context) : NULL;
	o = add(CQ, context, NULL);
	attr.cq_context = o;
	attr.channel = channel ? channel->ichannel : NULL;
	if (bad == 1)
		attr.cqe = 0;
	else if (bad == 2)
		attr.cqe = (4 << 20) + 1;
	else if (bad == 3)
		attr.comp_vector = w->context[context]->num_comp_vectors;
	if (pd) {
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
		attr.parent_domain = pd->ipd;
	}
	call("create_cq, context %d, %u entries, channel %u, PD %u, vector %u", context,
	     attr.cqe, channel ? channel->id : 0, pd ? pd->id : 0, attr.comp_vector);
	ex = ibv_create_cq_ex(w->context[context], &attr);
	result(V_CREATE_CQ, error_of(ex), bad || (pd && !pd->parent) ? EINVAL : 0);
	if (!ex) {
		forget(o);
		return true;
	}
	o->icq = ibv_cq_ex_to_cq(ex);
	o->cqe = o->icq->cqe;
	if (o->cqe < attr.cqe)
		mismatch("CQ %u has %u entries, %u were asked for", o->id, o->cqe, attr.cqe);
	o->channel = channel;
	hold(channel);
	o->pd = pd;
	if (pd)
		hold(pd);
	return true;
}

static bool resize_cq(void)
{
	struct obj *cq = some(CQ);
	unsigned int bad = wrong(2), least;
	int cqe;

	if (!cq)
		return false;
	least = promised(cq);
	cqe = bad == 1 ? 0 : bad == 2 ? 1 << 30 : (least ? least : 1) + below(100);
	call("resize_cq of CQ %u, from %u to %d", cq->id, cq->cqe, cqe);
	result(V_RESIZE_CQ, ibv_resize_cq(cq->icq, cqe), bad ? EINVAL : 0);
	if (cq->icq->cqe < (bad ? cq->cqe : cqe))
		mismatch("CQ %u has %d entries", cq->id, cq->icq->cqe);
	cq->cqe = cq->icq->cqe;
	return true;
}

static bool create_srq(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 1 + below(16), .max_sge = 1 + below(4) },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
	};
	struct obj *pd = some(PD), *cq = NULL, *xrcd = NULL, *o;
	unsigned int bad = wrong(3);
	int want = bad ? EINVAL : 0;
	struct ibv_srq *isrq;

	if (!pd || full(SRQ))
		return false;
	if (one_in(2)) {
		cq = some_of(CQ, pd->context);
		xrcd = some_of(XRCD, pd->context);
	}
	attr.pd = pd->ipd;
	if (cq && xrcd) {
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.srq_type = IBV_SRQT_XRC;
		attr.cq = cq->icq;
		attr.xrcd = xrcd->ixrcd;
	}
	if (bad == 1) {
		attr.attr.max_wr = 32769;
	} else if (bad == 2) {
		attr.attr.max_sge = 33;
	} else if (bad == 3) {
		attr.srq_type = IBV_SRQT_TM + 1;
		want = EOPNOTSUPP;
	}
	o = add(SRQ, pd->context, NULL);
	attr.srq_context = o;
	call("create_srq of type %d in PD %u, %u receives, CQ %u, XRCD %u", attr.srq_type, pd->id,
	     attr.attr.max_wr, cq && xrcd ? cq->id : 0, cq && xrcd ? xrcd->id : 0);
	isrq = ibv_create_srq_ex(w->context[pd->context], &attr);
	result(V_CREATE_SRQ, error_of(isrq), want);
	if (!isrq) {
		forget(o);
		return true;
	}
	o->isrq = isrq;
	o->rq.max = attr.attr.max_wr;
	o->max_sge = attr.attr.max_sge;
	CHECK(o->rq.max <= MAX_WR);
	o->pd = pd;
	hold_pd(pd, false);
	if (attr.srq_type == IBV_SRQT_XRC) {
		o->cq = cq;
		o->xrcd = xrcd;
		o->domain = xrcd->domain;
		hold(cq);
		hold(xrcd);
		SAME(ibv_get_srq_num(isrq, &o->srqn), 0);
	}
	return true;
}

static void query_srq(struct obj *srq)
{
	struct ibv_srq_attr attr;

	call("query_srq of SRQ %u", srq->id);
	result(V_QUERY_SRQ, ibv_query_srq(srq->isrq, &attr), 0);
	if (attr.max_wr != srq->rq.max || attr.max_sge != srq->max_sge ||
	    attr.srq_limit != srq->limit)
		mismatch("SRQ %u: max_wr %u, max_sge %u, limit %u; expected %u, %u, %u", srq->id,
			 attr.max_wr, attr.max_sge, attr.srq_limit, srq->rq.max, srq->max_sge,
			 srq->limit);
}

static bool modify_srq(void)
{
	struct ibv_srq_attr attr = {}, got;
	struct obj *srq = some(SRQ);
	unsigned int bad = wrong(3), there;
	int mask = 1 + below(3), want = bad ? EINVAL : 0;

	if (!srq)
		return false;
	sync_all();
	there = srq->rq.tail - srq->rq.next;
	attr.max_wr = there < MAX_WR / 2 ? there + 1 + below(16) : MAX_WR;
	attr.srq_limit = below((mask & IBV_SRQ_MAX_WR ? attr.max_wr : srq->rq.max) + 1);
	if (bad == 1) {
		mask = IBV_SRQ_LIMIT;
		attr.srq_limit = srq->rq.max + 1;
	} else if (bad == 2) {
		mask |= IBV_SRQ_MAX_WR;
		attr.max_wr = 32769;
	} else if (bad == 3) {
		mask = 1 << 5;
	}
	call("modify_srq of SRQ %u, mask %#x, max_wr %u, limit %u", srq->id, mask, attr.max_wr,
	     attr.srq_limit);
	result(V_MODIFY_SRQ, ibv_modify_srq(srq->isrq, &attr, mask), want);
	if (want)
		return true;
	if (mask & IBV_SRQ_MAX_WR) {
		SAME(ibv_query_srq(srq->isrq, &got), 0);
		if (got.max_wr < attr.max_wr || got.max_wr > MAX_WR)
			mismatch("SRQ %u has %u receives, %u were asked for", srq->id,
				 got.max_wr, attr.max_wr);
		srq->rq.max = got.max_wr;
	}
	if (mask & IBV_SRQ_LIMIT) {
		srq->limit = attr.srq_limit;
		check_limit(srq);
	}
	return true;
}

static bool query_some_srq(void)
{
	struct obj *srq = some(SRQ);

	if (!srq)
		return false;
	sync_all();
	query_srq(srq);
	return true;
}

/*
 * ---- Address handles ----
 */

union ibv_gid group_gid(int group)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7,
				       [14] = w->number, [15] = 1 + group } };

	if (!infiniband)
		return gid;
	return (union ibv_gid){ .raw = { 0xff, 0x12, 0x40, 0x1b, [14] = w->number,
					 [15] = 1 + group } };
}

static bool create_ah(void)
{
	struct obj *pd = some(PD), *o;
	unsigned int bad = wrong(4);
	struct ibv_ah_attr av;
	int want = bad ? EINVAL : 0, group = -1;
	struct ibv_ah *iah;

	if (!pd || full(AH))
		return false;
	av_to(&av, gid4, gid4);
	if (!infiniband && one_in(2)) {
		group = below(GROUPS);
		av.grh.dgid = group_gid(group);
	}
	if (bad == 1) {
		av.port_num = 2;
	} else if (bad == 2) {
		av.port_num = 0;
	} else if (bad == 3) {
		av.grh.sgid_index = port.gid_tbl_len - 1;
		want = ENODATA;
	} else if (bad == 4) {
		av.is_global = 0;
		want = infiniband ? 0 : EINVAL;
	}
	call("create_ah in PD %u, group %d, wrong %u", pd->id, group, bad);
	iah = ibv_create_ah(pd->ipd, &av);
	result(V_CREATE_AH, error_of(iah), want);
	if (!iah)
		return true;
	o = add(AH, pd->context, iah);
	o->pd = pd;
	o->group = group;
	hold_pd(pd, true);
	return true;
}

/*
 * ---- Contexts ----
 */

static bool open_context_2(void)
{
	if (w->context[1] || !one_thread)
		return false;
	call("open_device");
	w->context[1] = ibv_open_device(ctx->device);
	result(V_OPEN, error_of(w->context[1]), 0);
	SAME(fcntl(w->context[1]->async_fd, F_SETFL, O_NONBLOCK), 0);
	return true;
}

static void forget_domain(struct domain *domain)
{
	if (--domain->handles)
		return;
	if (domain->file >= 0)
		w->named[domain->file] = NULL;
	free(domain);
}

static void vanish_qp(struct obj *o)
{
	struct qp *qp = o->q, **link = &w->qps;

	drop(o->xrcd);
	drop(o->table);
	if (qp->maker == o)
		qp->maker = NULL;
	if (--qp->handles)
		return;
	clear_queues(qp);
	while (*link != qp)
		link = &(*link)->link;
	*link = qp->link;
	drop(qp->scq);
	drop(qp->rcq);
	drop(qp->srq);
	if (qp->pd)
		drop_pd(qp->pd, false);
	free(qp);
}

/* It is destroyed: of others, what depended on it. */
static void vanish(struct obj *o)
{
	bool loose = o->kind == MR || o->kind == MW || o->kind == AH || o->kind == MKEY;

	if (o->q)
		vanish_qp(o);
	else if (o->kind == XRCD)
		forget_domain(o->domain);
	else
		vanish_raw(o);
	if (o->kind != QP && o->kind != SRQ && o->kind != CQ && o->kind != PD && o->pd)
		drop_pd(o->pd, loose);
	if (o->kind == SRQ)
		drop_pd(o->pd, false);
	if (o->kind == CQ || o->kind == PD)
		drop(o->pd);
	drop(o->td);
	drop(o->dm);
	drop(o->channel);
	drop(o->bound);
	if (o->kind == SRQ) {
		drop(o->cq);
		drop(o->xrcd);
	}
	forget(o);
	run();
}

/* ibv_close_device(3): what is left in it would stay until the process ends */
static bool close_context_2(void)
{
	int i;

	for (i = 0; i < KINDS; i++)
		if (some_of(i, 1))
			return false;
	if (!w->context[1])
		return false;
	call("close_device");
	result(V_CLOSE, ibv_close_device(w->context[1]), 0);
	w->context[1] = NULL;
	return true;
}

/*
 * ---- Destroying ----
 */

static int call_destroy(struct obj *o)
{
	switch (o->kind) {
	case PD:
		return ibv_dealloc_pd(o->ipd);
	case TD:
		return ibv_dealloc_td(o->itd);
	case MR:
		return ibv_dereg_mr(o->imr);
	case DM:
		return ibv_free_dm(o->idm);
	case MW:
		return ibv_dealloc_mw(o->imw);
	case CHANNEL:
		return ibv_destroy_comp_channel(o->ichannel);
	case CQ:
		return ibv_destroy_cq(o->icq);
	case SRQ:
		return ibv_destroy_srq(o->isrq);
	case XRCD:
		return ibv_close_xrcd(o->ixrcd);
	case QP:
		return ibv_destroy_qp(o->iqp);
	case AH:
		return ibv_destroy_ah(o->iah);
	case DCQP:
		return ibv_destroy_qp(o->iqp);
	case MKEY:
		return destroy_mkey(o);
	default:
		return destroy_raw(o);
	}
}

/* whether completions that were not polled may go with it */
bool may_lose(const struct obj *o)
{
	const struct qp *qp = o->q;
	struct obj *cq;
	unsigned int i, k;

	/* a WQ has only receives that were flushed */
	if (o->kind == WQ)
		return one_in(2);
	if (o->kind != QP || qp->service == TGT)
		return false;
	for (k = 0; k < w->num[CQ]; k++) {
		cq = w->obj[CQ][k];
		for (i = 0; i < cq->num_pend; i++)
			if (!cq->pend[i].harmless && cq->pend[i].qp == qp)
				return false;
		/* may be the peer's answer */
		for (i = 0; i < cq->num_pend; i++)
			if (!cq->pend[i].harmless)
				return false;
	}
	return one_in(2);
}

bool destroy(struct obj *o)
{
	static const char * const names[KINDS] = {
		"PD", "TD", "MR", "DM", "MW", "CHANNEL", "CQ", "SRQ", "XRCD", "QP", "AH", "WQ",
		"TABLE", "RAWQP", "FLOW", "COUNTERS", "DCQP", "MKEY",
	};
	bool busy = o->kind == QP ? o->q->groups : o->users;

	/* ibv_alloc_parent_domain(3): what is made of it should be destroyed before */
	if ((o->parent && o->loose && !busy) || (o->kind == MR && is_used_now(o)) ||
	    (o->kind == AH && is_held(o)))
		return false;
	if (!may_lose(o))
		sync_all();
	call("destroy %s %u, %d users", names[o->kind], o->id, o->users);
	result(o->kind < WQ ? V_DESTROY : o->kind < DCQP ? V_DESTROY_RAW : V_DESTROY_DC,
	       call_destroy(o), busy ? EBUSY : 0);
	if (!busy)
		vanish(o);
	return true;
}

static bool destroy_one(void)
{
	struct obj *o = some(below(KINDS));

	/* mostly what is of no use to others */
	if (!o || (o->users && !one_in(3)))
		return false;
	return destroy(o);
}

/* in an order in which nothing is taken from below something else */
static const enum kind order[] = {
	FLOW, COUNTERS, RAWQP, TABLE, WQ, DCQP, MKEY, QP, AH, MW, MR, DM, SRQ, CQ, CHANNEL, XRCD,
	PD, TD,
};

void close_all(void)
{
	struct obj *o;
	int i;

	for (i = 0; i < w->num[QP]; i++)
		detach_all(w->obj[QP][i]);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		while (w->num[order[i]]) {
			o = w->obj[order[i]][below(w->num[order[i]])];
			if (o->kind == PD && o->users)
				o = o == w->obj[PD][0] ? w->obj[PD][w->num[PD] - 1] : w->obj[PD][0];
			destroy(o);
		}
	}
}

const struct action object_actions[] = {
	{ "alloc_pd", alloc_pd, 3 }, { "alloc_td", alloc_td, 1 },
	{ "alloc_parent", alloc_parent, 2 }, { "open_xrcd", open_xrcd, 3 },
	{ "reg_mr", reg_mr, 8 }, { "reg_dm_mr", reg_dm_mr, 2 }, { "alloc_dm", alloc_dm, 1 },
	{ "rereg_mr", rereg_mr, 4 }, { "alloc_mw", alloc_mw, 4 },
	{ "create_channel", create_channel, 2 }, { "create_cq", create_cq, 6 },
	{ "resize_cq", resize_cq, 3 }, { "create_srq", create_srq, 4 },
	{ "modify_srq", modify_srq, 4 }, { "query_srq", query_some_srq, 2 },
	{ "create_ah", create_ah, 4 }, { "open_context", open_context_2, 1 },
	{ "close_context", close_context_2, 1 }, { "destroy", destroy_one, 22 },
};
const int num_object_actions = ARRAY_SIZE(object_actions);
