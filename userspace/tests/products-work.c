// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random work. In a flow that is not bad all of it succeeds, and no two ranges depend on
 * which work is done first.
 */
#include "products.h"

#include <endian.h>
#include <infiniband/tm_types.h>

#define SMALL		(12 * PAGE)

static const enum kind local_kinds[] = {
	KIND_NULL, KIND_PINNED, KIND_HUGE, KIND_PAGED, KIND_WHOLE, KIND_FILE, KIND_DEVICE,
	KIND_DMABUF, KIND_MKEY,
};

static const enum kind remote_kinds[] = {
	KIND_PINNED, KIND_HUGE, KIND_PAGED, KIND_WHOLE, KIND_FILE, KIND_DEVICE, KIND_DMABUF,
	KIND_MKEY, KIND_WINDOW_1, KIND_WINDOW_2,
};

/* what is wrong with bad work */
enum spoil {
	GOOD, SPOIL_LOCAL, SPOIL_RECV, SPOIL_SHORT, SPOIL_REMOTE, SPOIL_MISALIGNED,
	SPOIL_NO_RECV, SPOIL_INV, SPOIL_TOO_LONG, SPOILS
};

static uint64_t last_id;

uint64_t next_id(void)
{
	return ++last_id;
}

/*
 * ---- Lists ----
 */

/* lengths of elements: [small or of MiBs], up to @total if that is said */
static unsigned int long_parts(size_t *parts, uint64_t *total)
{
	unsigned int num = 2 + below(6), i;
	uint64_t sum = 0, most = *total ? *total : longest;

	for (i = 0; i < num && sum < most; i++) {
		parts[i] = one_in(2) ? 1 + below(6000) : 1 + below(9 * MiB);
		if (parts[i] > most - sum)
			parts[i] = most - sum;
		sum += parts[i];
	}
	num = i;
	if (*total && sum < *total)
		parts[num++] = *total - sum;
	else
		*total = sum;
	return num;
}

/* @total, cut anywhere */
static unsigned int short_parts(size_t *parts, uint64_t total)
{
	unsigned int num = one_in(6) ? 1 + below(LIST - 2) : 1 + below(4), i;
	uint64_t left = total;

	if (!total && one_in(2))
		return 0;
	for (i = 0; i + 1 < num; i++) {
		parts[i] = one_in(8) ? 0 : below(one_in(2) ? left + 1 : 2 * left / (num - i) + 1);
		if (parts[i] > left)
			parts[i] = left;
		left -= parts[i];
	}
	parts[i] = left;
	return num;
}

static struct claim claim_of(const struct flow *flow, uint64_t id, bool write, bool remote)
{
	return (struct claim){
		.write = write, .remote = remote, .alone = flow->bad, .flow = flow->number,
		.id = id,
	};
}

static bool claim_range(struct claim c, struct area *area, size_t off, size_t length)
{
	c.area = area;
	c.off = off;
	c.length = length;
	return claim(&c);
}

/* one of the keys of an area that allow it */
static struct key *area_key(struct area *area, size_t off, size_t length, int access,
			    struct ibv_pd *whose)
{
	struct key *found = NULL;
	unsigned int i, num = 0;

	for (i = 0; i < KEYS; i++)
		if (key_allows(&area->keys[i], off, length, access, whose, 0) && !below(++num))
			found = &area->keys[i];
	return found;
}

static size_t random_off(const struct area *area, size_t length)
{
	size_t room = area->present - length, off = below(room + 1);

	/* around the end of a page, or of a huge one */
	if (one_in(3))
		off = (off & -PAGE) + PAGE - below(64);
	if (one_in(3) && area->size > 2 * MiB)
		off = 2 * MiB - below(length + 64);
	if (one_in(4))
		off &= -8UL;
	return off > room ? room : off;
}

static void nothing(struct ibv_sge *sge, size_t length)
{
	*sge = (struct ibv_sge){ below(-1UL), length, nulls[0]->lkey };
}

/* an element of no bytes: nobody looks at its key */
static void empty(struct ibv_sge *sge)
{
	*sge = (struct ibv_sge){ below(-1UL), 0, one_in(2) ? dead_key() : below(-1U) };
}

static bool try_element(struct ibv_sge *sge, size_t length, struct claim c, struct ibv_pd *whose)
{
	bool big = length > SMALL || one_in(5);
	struct area *area;
	struct key *key;
	enum kind kind;
	size_t off;

	kind = local_kinds[below(ARRAY_SIZE(local_kinds))];
	/* of what is as long as that there is little memory */
	if (length > 4 * MiB || (big && length < 8192 && longest > 4 * MiB && one_in(2)))
		kind = one_in(3) ? KIND_NULL : KIND_PAGED;
	if (kind == KIND_NULL) {
		nothing(sge, length);
		return true;
	}
	area = random_area(kind, big);
	if (!area || area->present < length)
		return false;
	off = random_off(area, length);
	key = area_key(area, off, length, c.write ? IBV_ACCESS_LOCAL_WRITE : 0, whose);
	if (!key || !claim_range(c, area, off, length))
		return false;
	*sge = (struct ibv_sge){ key->addr + (off - key->off), length, key->number };
	return true;
}

static bool add_element(struct list *list, size_t length, const struct claim *c,
			struct ibv_pd *whose)
{
	struct ibv_sge *sge = &list->sge[list->num];
	unsigned int i;

	CHECK(list->num < LIST);
	for (i = 0; i < 8; i++) {
		if (!length)
			empty(sge);
		else if (!try_element(sge, length, *c, whose))
			continue;
		list->num++;
		list->length += length;
		return true;
	}
	return false;
}

/* elements for @total bytes; for as many as there will be if that is -1 */
static bool make_list(struct list *list, uint64_t *total, const struct claim *c,
		      struct ibv_pd *whose)
{
	size_t parts[LIST];
	unsigned int num, i;

	list->num = 0;
	list->length = 0;
	if (*total > 2 * SMALL) {
		if (*total == -1ULL)
			*total = 0;
		num = long_parts(parts, total);
	} else {
		num = short_parts(parts, *total);
	}
	for (i = 0; i < num; i++)
		if (!add_element(list, parts[i], c, whose))
			return false;
	return true;
}

static bool make_inline(struct list *list, uint64_t total, const struct claim *c)
{
	struct claim alone = *c;
	struct ibv_sge *sge;
	size_t parts[LIST];
	struct area *area;
	unsigned int i;
	size_t off;

	alone.alone = true;
	list->length = total;
	list->num = short_parts(parts, total);
	for (i = 0; i < list->num; i++) {
		sge = &list->sge[i];
		area = &areas[below(num_areas)];
		if (!area->p || area->present < parts[i])
			return false;
		off = random_off(area, parts[i]);
		if (!claim_range(alone, area, off, parts[i]))
			return false;
		/* the key is not looked at */
		*sge = (struct ibv_sge){ (uintptr_t)area->p + off, parts[i], below(-1U) };
	}
	return true;
}

/* Return: whether one element that bytes go to is wrong now. */
static bool spoil_list(struct list *list, int access, struct ibv_pd *whose, const struct claim *c)
{
	unsigned int i = below(list->num);
	struct piece piece;
	struct ibv_sge *sge;
	struct area *file;
	size_t left;

	if (!list->num || !list->sge[i].length)
		return false;
	sge = &list->sge[i];
	switch (below(5)) {
	case 0:
		sge->lkey = dead_key();
		break;
	case 1:
		sge->lkey ^= 1 + below(255);
		break;
	case 2:
		sge->addr += one_in(2) ? SMALL : -SMALL;
		break;
	case 3:
		file = random_area(KIND_FILE, false);
		sge->lkey = file->keys[0].number;
		left = below(sge->length < file->present ? sge->length : file->present);
		sge->addr = file->keys[0].addr + file->present - left;
		/* bytes may go there before the end of the file is met */
		if (!claim_range(*c, file, file->present - left, left))
			return false;
		break;
	default:
		sge->lkey = areas[below(num_areas)].keys[1 + below(2)].number;
	}
	return is_wrong(resolve(&piece, sge->lkey, sge->addr, sge->length, access, whose, 0));
}

/*
 * ---- Receives ----
 */

/* A message that is dropped may leave its receive with the QP, where no other QP finds it. */
static bool keeps_receive(struct flow *flow)
{
	return flow->pair->service == UC_SRQ;
}

/* what is at the head of the queue is for a message that is not its */
static bool claim_waiting(struct flow *flow, const struct recv *recv, uint64_t length,
			  const struct claim *c)
{
	const struct ibv_sge *sge;
	struct piece piece;
	unsigned int i;

	for (i = 0; i < recv->list.num; i++) {
		sge = &recv->list.sge[i];
		if (resolve(&piece, sge->lkey, sge->addr, sge->length, IBV_ACCESS_LOCAL_WRITE,
			    receiver(flow)->queue->pd, 0) == NO_KEY)
			continue;
		if (!claim_range(*c, piece.area, piece.off, piece.length))
			return false;
	}
	return recv->list.length >= length || !keeps_receive(flow);
}

/* elements behind those that the message needs, which may be wrong */
static bool more_elements(struct list *list, const struct claim *c, struct ibv_pd *whose)
{
	struct ibv_sge *sge;

	while (list->num < LIST && one_in(2)) {
		if (one_in(2)) {
			if (!add_element(list, 1 + below(2000), c, whose))
				return false;
			continue;
		}
		sge = &list->sge[list->num++];
		*sge = (struct ibv_sge){ one_in(2) ? 0 : below(-1UL), 1 + below(5000), dead_key() };
		list->length += sge->length;
	}
	return true;
}

static bool add_receive(struct flow *flow, uint64_t length, enum spoil spoil)
{
	struct queue *queue = receiver(flow)->queue;
	struct claim c = claim_of(flow, last_id, true, true);
	struct recv *recv = &queue->recv[queue->num];
	bool ud = is_ud(flow->pair->service);

	if (queue->num) {
		if (ud)
			c.alone = true;
		return claim_waiting(flow, &queue->recv[0], length, &c);
	}
	/* all receives are posted before all messages */
	if (spoil == SPOIL_NO_RECV)
		flow->starved = true;
	if (flow->starved)
		return spoil == SPOIL_NO_RECV;
	if (spoil == SPOIL_SHORT) {
		if (!length)
			return false;
		length = below(length);
	}
	/* the header of a datagram is at the mercy of its link */
	if (ud)
		c.alone = true;
	CHECK(queue->num_fresh < MAX_RECVS);
	recv->id = next_id();
	if (!make_list(&recv->list, &length, &c, queue->pd))
		return false;
	if (spoil == SPOIL_RECV && !spoil_list(&recv->list, IBV_ACCESS_LOCAL_WRITE, queue->pd, &c))
		return false;
	if (spoil != SPOIL_SHORT && one_in(4) && !more_elements(&recv->list, &c, queue->pd))
		return false;
	queue->fresh[queue->num_fresh++] = *recv;
	queue->num++;
	return true;
}

/* A tag for one message; its memory is one element. */
static bool add_tag(struct flow *flow, struct work *work, uint64_t value, enum spoil spoil)
{
	struct queue *queue = receiver(flow)->queue;
	struct claim c = claim_of(flow, last_id, true, true);
	struct tag *tag = &queue->tags[queue->num_tags];
	struct list one = { .num = 0 };
	uint64_t length = work->length - TMH;

	if (spoil == SPOIL_NO_RECV || (spoil == SPOIL_SHORT && !length))
		return false;
	if (spoil == SPOIL_SHORT)
		length = below(length);
	else if (one_in(3))
		length += below(1000);
	CHECK(queue->num_tags < MAX_WORK);
	*tag = (struct tag){ .value = value, .recv = { .id = next_id() } };
	if (length && !add_element(&one, length, &c, queue->pd))
		return false;
	if (spoil == SPOIL_RECV && !spoil_list(&one, IBV_ACCESS_LOCAL_WRITE, queue->pd, &c))
		return false;
	nothing(&tag->recv.list.sge[0], TMH);
	tag->recv.list.sge[1] = one.sge[0];
	tag->recv.list.num = 1 + one.num;
	tag->recv.list.length = TMH + length;
	work->tag = tag;
	queue->num_tags++;
	return true;
}

/*
 * ---- Remote ranges ----
 */

static bool window_range(struct flow *flow, struct work *work, enum kind kind, size_t length,
			 size_t step, struct claim c)
{
	unsigned int i = below(WINDOWS), n;
	struct key *key;
	size_t off;

	for (n = 0; n < WINDOWS; n++, i++) {
		key = &windows[i % WINDOWS];
		if (!key->valid || key->kind != kind || key->length < length)
			continue;
		off = key->off + (below(key->length - length + 1) & -step);
		if (off + length > key->area->present ||
		    !key_allows(key, off, length, access_of(work->op), remote_pd(flow),
				receiver(flow)->e.qp->qp_num) ||
		    (key->addr + (off - key->off)) % step ||
		    !claim_range(c, key->area, off, length))
			continue;
		work->rkey = key->number;
		work->remote_addr = key->addr + (off - key->off);
		return true;
	}
	return false;
}

static bool try_range(struct flow *flow, struct work *work, size_t length, size_t step,
		      struct claim c)
{
	enum kind kind = remote_kinds[below(ARRAY_SIZE(remote_kinds))];
	struct area *area;
	struct key *key;
	size_t off;

	if (kind == KIND_WINDOW_1 || kind == KIND_WINDOW_2)
		return window_range(flow, work, kind, length, step, c);
	/* a word may be of two parts */
	if (kind == KIND_MKEY && step > 1)
		return false;
	area = random_area(kind, length > SMALL || one_in(5));
	if (!area || area->present < length)
		return false;
	off = random_off(area, length) & -step;
	key = area_key(area, off, length, access_of(work->op), remote_pd(flow));
	if (!key || !claim_range(c, area, off, length))
		return false;
	work->rkey = key->number;
	work->remote_addr = key->addr + (off - key->off);
	return true;
}

static void spoil_range(struct work *work)
{
	struct area *file = random_area(KIND_FILE, false), *any = &areas[below(num_areas)];

	switch (below(7)) {
	case 0:
		work->rkey = dead_key();
		break;
	case 1:
		work->rkey ^= 1 + below(255);
		break;
	case 2:
		work->remote_addr += one_in(2) ? 16 * MiB : -16 * MiB;
		break;
	case 3:
		work->rkey = nulls[0]->lkey;
		break;
	case 4:
		work->rkey = windows[below(WINDOWS)].number;
		break;
	case 5:
		work->rkey = file->keys[0].number;
		work->remote_addr = file->keys[0].addr + file->present - 8;
		break;
	default:
		work->rkey = any->keys[1 + below(2)].number;
	}
}

static bool make_range(struct flow *flow, struct work *work, enum spoil spoil)
{
	bool word = is_atomic(work->op) || work->op == OP_ATOMIC_WRITE;
	bool reads = work->op == OP_READ || work->op == OP_FLUSH;
	struct claim c = claim_of(flow, work->id, !reads, true);
	size_t length = work->op == OP_FLUSH ? work->swap : work->length;
	struct piece piece;
	unsigned int i;

	c.reply = is_reply(work->op) || work->op == OP_ATOMIC_WRITE;
	c.fence = work->flags & IBV_SEND_FENCE;
	for (i = 0; i < 12; i++)
		if (try_range(flow, work, length, word ? 8 : 1, c))
			break;
	if (i == 12)
		return false;
	/* nobody looks at the key of nothing, but for that of a FLUSH */
	if (!length && work->op != OP_FLUSH && one_in(2))
		work->rkey = dead_key();
	if (spoil == SPOIL_MISALIGNED)
		work->remote_addr += 1 + below(7);
	if (spoil != SPOIL_REMOTE)
		return true;
	spoil_range(work);
	if (word && work->remote_addr % 8)
		return false;
	return is_wrong(resolve(&piece, work->rkey, work->remote_addr, length,
				access_of(work->op), remote_pd(flow),
				receiver(flow)->e.qp->qp_num));
}

/*
 * ---- Work requests ----
 */

static bool has_op(enum service service, enum op op)
{
	if (is_ud(service))
		return op <= OP_SEND_IMM;
	if (service == UC || service == UC_SRQ)
		return op <= OP_SEND_IMM || op == OP_WRITE || op == OP_WRITE_IMM;
	if (op == OP_FLUSH || op == OP_ATOMIC_WRITE)
		return has_placement && !is_one_way(service);
	return true;
}

static uint64_t random_length(const struct flow *flow, enum op op)
{
	uint64_t length;

	switch (below(16)) {
	case 0:
		length = 0;
		break;
	case 1 ... 5:
		length = below(65);
		break;
	case 6 ... 9:
		length = below(1500);
		break;
	case 10 ... 13:
		length = below(9000);
		break;
	case 14:
		length = below(30000);
		break;
	default:
		length = one_in(2) ? -1ULL : below(5000);
	}
	if (is_atomic(op) || op == OP_ATOMIC_WRITE)
		return 8;
	if (op == OP_FLUSH)
		return 0;
	if (is_ud(flow->pair->service))
		return length % ((128U << port.active_mtu) + 1);
	/* what nobody acknowledges may get lost where queues are full */
	if (packets && !is_reliable(flow->pair->service) && length > 8000)
		length = below(8000);
	/* in its remote range a message is of one piece */
	if (length == -1ULL && !is_send(op))
		length = one_in(3) ? below(5 * MiB) : -1ULL;
	if (length != -1ULL && length > longest)
		length = longest;
	return length;
}

static uint32_t window_to_go(struct flow *flow)
{
	unsigned int i = below(WINDOWS), n;
	struct key *key;

	for (n = 0; n < WINDOWS; n++, i++) {
		key = &windows[i % WINDOWS];
		if (key->valid && key->kind == KIND_WINDOW_2 &&
		    key->qpn == receiver(flow)->e.qp->qp_num)
			return key->number;
	}
	return 0;
}

static bool make_local(struct flow *flow, struct work *work, enum spoil spoil)
{
	bool places = is_reply(work->op);
	struct claim c = claim_of(flow, work->id, places, false);

	c.reply = places;
	c.fence = work->flags & IBV_SEND_FENCE;
	if (work->op == OP_FLUSH) {
		work->list.num = 0;
		return true;
	}
	if (!places && work->length <= INLINE && one_in(4) && spoil != SPOIL_LOCAL &&
	    spoil != SPOIL_TOO_LONG && (flow->pair->service != TAG || !is_send(work->op))) {
		work->flags |= IBV_SEND_INLINE;
		return make_inline(&work->list, work->length, &c);
	}
	if (!make_list(&work->list, &work->length, &c, pds[0]))
		return false;
	return spoil != SPOIL_LOCAL ||
	       spoil_list(&work->list, places ? IBV_ACCESS_LOCAL_WRITE : 0, pds[0], &c);
}

/* Put a header in front of a message. Return: false: there is no room for it. */
static bool add_header(struct flow *flow, struct work *work, uint64_t value)
{
	struct ibv_tmh tmh = {
		.opcode = work->tagged ? IBV_TMH_EAGER : IBV_TMH_NO_TAG,
		.app_ctx = below(-1U), .tag = htobe64(value),
	};
	/* it is written now, which no work may see that has been planned */
	struct claim c = claim_of(flow, work->id, true, false);
	struct area *area = random_area(KIND_PINNED, false);
	size_t off = random_off(area, TMH);
	struct list *list = &work->list;
	struct key *key;

	c.alone = true;
	key = area_key(area, off, TMH, 0, pds[0]);
	if (!key || list->num == LIST || !claim_range(c, area, off, TMH))
		return false;
	memcpy(area->p + off, &tmh, TMH);
	memcpy(area->model + off, &tmh, TMH);
	memmove(list->sge + 1, list->sge, list->num * sizeof(*list->sge));
	list->sge[0] = (struct ibv_sge){ key->addr + (off - key->off), TMH, key->number };
	list->num++;
	list->length += TMH;
	work->length += TMH;
	return true;
}

static enum spoil random_spoil(struct flow *flow, enum op op)
{
	bool reliable = is_reliable(flow->pair->service);

	switch (below(5)) {
	case 0:
		return op == OP_FLUSH ? SPOIL_REMOTE : SPOIL_LOCAL;
	case 1:
		if (is_send(op) && !keeps_receive(flow))
			return SPOIL_SHORT;
		break;
	case 2:
		if (takes_receive(op))
			return SPOIL_NO_RECV;
		break;
	case 3:
		if (op == OP_SEND_INV)
			return SPOIL_INV;
		if (reliable && op != OP_FLUSH && one_in(6))
			return SPOIL_TOO_LONG;
	}
	if (is_send(op))
		return SPOIL_RECV;
	return is_atomic(op) && one_in(2) ? SPOIL_MISALIGNED : SPOIL_REMOTE;
}

static bool too_much(struct work *work)
{
	if (work->list.num == LIST)
		return false;
	nothing(&work->list.sge[work->list.num++], MAX_MSG + 1);
	work->length += MAX_MSG + 1;
	work->list.length = work->length;
	return true;
}

/* Is there more than one answer to what becomes of the receive? */
static bool is_ambiguous(struct flow *flow, const struct work *work, enum spoil spoil)
{
	const struct queue *queue = receiver(flow)->queue;
	uint64_t once = packets ? 128U << port.active_mtu : 4 * MiB;
	struct piece piece;

	if (!takes_receive(work->op))
		return false;
	/* it may be held by a message that its sender cannot finish */
	if (spoil == SPOIL_LOCAL)
		return work->length > once && (queue->srq || queue->num);
	if (spoil != SPOIL_REMOTE)
		return false;
	if (keeps_receive(flow))
		return true;
	/* by one whose last packet is the one that is refused */
	return packets && resolve(&piece, work->rkey, work->remote_addr, work->length,
				  access_of(work->op), remote_pd(flow),
				  receiver(flow)->e.qp->qp_num) == NO_PAGES;
}

static bool make_work(struct flow *flow, struct work *work, enum op op, enum spoil spoil)
{
	enum service service = flow->pair->service;

	*work = (struct work){
		.id = next_id(), .op = op, .flags = one_in(2) ? IBV_SEND_SIGNALED : 0,
		.more = below(-1U), .length = random_length(flow, op),
		.compare_add = below(-1UL), .swap = below(-1UL),
		.ex = one_in(4) || service == DC,
	};
	if (is_reliable(service) && one_in(4))
		work->flags |= IBV_SEND_FENCE;
	if (one_in(4))
		work->flags |= IBV_SEND_SOLICITED;
	if (op == OP_FLUSH) {
		work->ex = true;
		work->swap = below(3000);
	}
	if (op == OP_ATOMIC_WRITE)
		work->ex = false;
	if (op == OP_SEND_INV) {
		work->more = spoil == SPOIL_INV ? dead_key() : window_to_go(flow);
		/* leave some to be used */
		if (!work->more || (spoil != SPOIL_INV && one_in(2)))
			return false;
	}
	if (!make_local(flow, work, spoil))
		return false;
	/* without one a message that is too short for it has no tag either */
	if (service == TAG && is_send(op) && (work->length >= TMH || one_in(2))) {
		work->tagged = below(3);
		if (!add_header(flow, work, work->id << 8))
			return false;
	}
	if (!is_send(op) && !make_range(flow, work, spoil))
		return false;
	if (is_ambiguous(flow, work, spoil))
		return false;
	return spoil != SPOIL_TOO_LONG || too_much(work);
}

/* a word for one in two swaps to find */
static void guess(struct flow *flow, struct work *work)
{
	struct piece piece;

	if (work->op == OP_CMP_SWP && one_in(2) && work->remote_addr % 8 == 0 &&
	    !resolve(&piece, work->rkey, work->remote_addr, 8, access_of(work->op),
		     remote_pd(flow), receiver(flow)->e.qp->qp_num))
		memcpy(&work->compare_add, piece.area->model + piece.off, 8);
}

static bool plan_work(struct flow *flow, struct work *work, bool spoiled)
{
	uint64_t header = is_ud(flow->pair->service) ? GRH : 0;
	struct queue *queue = receiver(flow)->queue;
	unsigned int before = num_claims, fresh = queue->num_fresh, num = queue->num;
	unsigned int tags = queue->num_tags;
	enum op op = below(OPS);
	enum spoil spoil;

	if (!has_op(flow->pair->service, op))
		return false;
	spoil = spoiled ? random_spoil(flow, op) : GOOD;
	if (!make_work(flow, work, op, spoil) ||
	    (takes_receive(op) && !flow->failed && !flow->dead &&
	     !(work->tagged == MATCHED ? add_tag(flow, work, work->id << 8, spoil) :
	       add_receive(flow, is_send(op) ? work->length + header : below(50), spoil)))) {
		num_claims = before;
		queue->num_tags = tags;
		queue->num_fresh = fresh;
		queue->num = num;
		return false;
	}
	guess(flow, work);
	execute(flow, work);
	work->received = receiver(flow)->received.num;
	return true;
}

/* An unreliable sender is not told when all has arrived: a last message, of nothing, says so. */
static void plan_last(struct flow *flow)
{
	uint64_t header = is_ud(flow->pair->service) ? GRH : 0;
	struct queue *queue = receiver(flow)->queue;
	struct work *work = &flow->work[flow->num];
	struct recv *recv = &queue->recv[queue->num];

	if (is_reliable(flow->pair->service) || flow->failed || flow->dead)
		return;
	if (queue->num || flow->starved) {
		/* so does a reset */
		flow->pair->failed = true;
		return;
	}
	*work = (struct work){ .id = next_id(), .flags = IBV_SEND_SIGNALED };
	recv->id = next_id();
	recv->list = (struct list){ .num = 1, .length = header };
	nothing(recv->list.sge, header);
	queue->num++;
	queue->fresh[queue->num_fresh++] = *recv;
	execute(flow, work);
	work->received = receiver(flow)->received.num;
	flow->num++;
}

bool plan_flow(struct flow *flow)
{
	unsigned int wanted = 1 + below(MAX_WORK - 2), tries, bad;

	/* what others have left may be wrong by now */
	if (receiver(flow)->queue->num)
		flow->bad = true;
	bad = flow->bad ? below(wanted) : wanted;
	for (tries = 0; tries < 40 && flow->num < wanted; tries++)
		if (plan_work(flow, &flow->work[flow->num], flow->num == bad))
			flow->num++;
	if (!flow->num)
		return false;
	plan_last(flow);
	want_last(flow);
	return true;
}
