// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What becomes of work, by the rules of IBA (volume 1, 9.9.2, 9.9.3, 10.7): of the memory of
 * the model, and which completions and events there are.
 */
#include "products.h"

#include <infiniband/tm_types.h>

unsigned long done_ops[OPS][SERVICES];
unsigned long done_kinds[USES][KINDS][SERVICES];
unsigned long done_statuses[IBV_WC_TM_RNDV_INCOMPLETE + 1];
unsigned long done_changes, done_long, done_unexpected, done_matched;

/* a list that has been looked up, as far as a message reaches */
struct pieces {
	struct piece piece[LIST + 1];
	unsigned int num;
	enum missing missing;		/* what the first of them that is not there misses */
	uint64_t good;			/* bytes before that, or of which the key was right */
};

struct ibv_pd *remote_pd(const struct flow *flow)
{
	return flow->pair->service == XRC ? flow->pair->side[1].queue->pd : pds[0];
}

/*
 * ---- Lists ----
 */

/* inline data have no key: only this process looks at them */
static enum missing resolve_inline(struct piece *piece, const struct ibv_sge *sge)
{
	unsigned int i;

	*piece = (struct piece){ .length = sge->length, .kind = KIND_INLINE };
	for (i = 0; i < num_areas && sge->length; i++) {
		if (!areas[i].p || sge->addr - (uintptr_t)areas[i].p >= areas[i].size)
			continue;
		piece->area = &areas[i];
		piece->off = sge->addr - (uintptr_t)areas[i].p;
	}
	return THERE;
}

/* bytes at the begin of an element that is too long: packets may have brought them */
static uint64_t right_part(const struct ibv_sge *sge, uint64_t used, int access,
			   struct ibv_pd *whose)
{
	const struct key *key = find_key(sge->lkey);
	struct piece piece;
	uint64_t room;

	if (!key || resolve(&piece, sge->lkey, sge->addr, 1, access, whose, 0))
		return 0;
	room = key->off + key->length - piece.off;
	return room < used ? room : used;
}

/* An element has to be right as far as bytes go to it, and not looked at behind that. */
static void look_up(struct pieces *pieces, const struct list *list, uint64_t length, int access,
		    struct ibv_pd *whose, bool is_inline)
{
	const struct ibv_sge *sge;
	enum missing missing;
	struct piece *piece;
	uint64_t at = 0, used;
	unsigned int i;

	pieces->num = 0;
	pieces->missing = THERE;
	for (i = 0; i < list->num && at < length; at += sge->length, i++) {
		sge = &list->sge[i];
		piece = &pieces->piece[pieces->num++];
		used = sge->length < length - at ? sge->length : length - at;
		missing = is_inline ? resolve_inline(piece, sge) :
				      resolve(piece, sge->lkey, sge->addr, used, access, whose, 0);
		if (missing && !pieces->missing) {
			pieces->missing = missing;
			pieces->good = at + (missing == NO_PAGES ? used :
					     right_part(sge, used, access, whose));
		}
	}
	if (!pieces->missing)
		pieces->good = length;
}

struct cursor {
	const struct piece *piece;
	size_t off;
};

/* bytes in one piece from there on, of @left */
static size_t run_of(struct cursor *cursor, uint64_t left)
{
	size_t run;

	while (cursor->off == cursor->piece->length) {
		cursor->piece++;
		cursor->off = 0;
	}
	run = cursor->piece->length - cursor->off;
	return run < left ? run : left;
}

static void copy_run(const struct cursor *to, const struct cursor *from, size_t run, bool torn)
{
	struct area *src = from->piece->area, *dst = to->piece->area;
	size_t at = to->piece->off + to->off;
	const uint8_t *data;
	uint8_t *zeros = NULL;

	if (!dst)
		return;
	if (!src) {
		zeros = calloc(1, run);
		CHECK(zeros);
	}
	data = src ? src->model + from->piece->off + from->off : zeros;
	if (torn)
		maybe(&(struct piece){ dst, at, run, to->piece->kind }, data);
	else
		memcpy(dst->model + at, data, run);
	free(zeros);
}

/* @torn: it may have happened, or some of it */
static void move(const struct piece *dst, const struct piece *src, uint64_t length, bool torn)
{
	struct cursor to = { dst, 0 }, from = { src, 0 };
	size_t run;

	while (length) {
		run = run_of(&to, length);
		run = run_of(&from, run);
		copy_run(&to, &from, run, torn);
		to.off += run;
		from.off += run;
		length -= run;
	}
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void count_pieces(const struct flow *flow, enum use use, const struct pieces *pieces)
{
	unsigned int i;

	for (i = 0; i < pieces->num; i++)
		done_kinds[use][pieces->piece[i].kind][flow->pair->service]++;
}

/*
 * ---- Completions ----
 */

static const enum ibv_wc_opcode wc_opcodes[OPS] = {
	IBV_WC_SEND, IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE,
	IBV_WC_RDMA_READ, IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD, IBV_WC_FLUSH, IBV_WC_ATOMIC_WRITE,
};

static struct want *want(struct wants *wants, uint64_t id, enum ibv_wc_status status)
{
	struct want *w = &wants->want[wants->num++];

	CHECK(wants->num <= MAX_WANTS);
	*w = (struct want){ .id = id, .status = status, .byte_len = -1 };
	done_statuses[status]++;
	return w;
}

static void want_completion(struct flow *flow, const struct work *work)
{
	struct want *w = want(&sender(flow)->sent, work->id, work->status);

	w->opcode = wc_opcodes[work->op];
	if (is_reply(work->op))
		w->byte_len = work->length;
}

static void want_sent(struct flow *flow, struct work *work, enum ibv_wc_status status)
{
	work->status = status;
	if (!status)
		done_ops[work->op][flow->pair->service]++;
	if (status || flow->pair->sig_all || work->flags & IBV_SEND_SIGNALED)
		want_completion(flow, work);
}

void want_last(struct flow *flow)
{
	struct work *work = &flow->work[flow->num - 1];

	if (!work->status && !flow->pair->sig_all && !(work->flags & IBV_SEND_SIGNALED))
		want_completion(flow, work);
	work->flags |= IBV_SEND_SIGNALED;
}

/* the oldest receive is no longer there */
static struct recv take(struct flow *flow)
{
	struct queue *queue = receiver(flow)->queue;
	struct recv recv = queue->recv[0];

	if (flow->num_used < MAX_WORK)
		flow->used[flow->num_used++] = recv;
	queue->num--;
	memmove(queue->recv, queue->recv + 1, queue->num * sizeof(recv));
	return recv;
}

/* A message gets the memory of its tag, instead of the oldest receive. */
static void match(struct queue *queue, struct tag *tag)
{
	CHECK(queue->num < MAX_RECVS);
	memmove(queue->recv + 1, queue->recv, queue->num * sizeof(*queue->recv));
	queue->recv[0] = tag->recv;
	queue->num++;
	tag->taken = true;
}

static void want_tagged(struct flow *flow, const struct work *work, struct want *w)
{
	w->opcode = work->tagged ? IBV_WC_TM_RECV : IBV_WC_TM_NO_TAG;
	if (work->tagged == UNEXPECTED) {
		receiver(flow)->queue->unexpected++;
		done_unexpected++;
	}
	if (work->tagged != MATCHED)
		return;
	done_matched++;
	w->byte_len -= TMH;
	w->flags |= IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID;
}

static void want_received(struct flow *flow, const struct work *work)
{
	struct recv recv = take(flow);
	struct want *w = want(&receiver(flow)->received, recv.id, IBV_WC_SUCCESS);

	w->opcode = work->op == OP_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	w->byte_len = work->length + (is_ud(flow->pair->service) ? GRH : 0);
	if (is_ud(flow->pair->service)) {
		w->flags = IBV_WC_GRH;
		w->src_qp = sender(flow)->e.qp->qp_num;
	}
	if (flow->pair->service == TAG && is_send(work->op))
		want_tagged(flow, work, w);
	if (work->op == OP_SEND_INV)
		w->flags |= IBV_WC_WITH_INV;
	else if (work->op != OP_SEND)
		w->flags |= IBV_WC_WITH_IMM;
	if (w->flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV))
		w->ex = work->more;
}

/* A receive is consumed by what fails. */
static void want_failed(struct flow *flow, enum ibv_wc_status status)
{
	struct recv recv = take(flow);

	want(&receiver(flow)->received, recv.id, status);
}

static void flush_queue(struct side *side)
{
	struct queue *queue = &side->own;
	unsigned int i;

	if (side->queue != queue)
		return;
	for (i = 0; i < queue->num; i++)
		want(&side->received, queue->recv[i].id, IBV_WC_WR_FLUSH_ERR);
	queue->num = 0;
}

void want_flush(struct flow *flow)
{
	flush_queue(sender(flow));
	flush_queue(receiver(flow));
}

/*
 * ---- Refusals ----
 */

static enum ibv_wc_status sender_fails(struct flow *flow, enum ibv_wc_status status)
{
	flow->failed = true;
	flow->pair->failed = true;
	return status;
}

/* but for a target of dynamic connections, which goes on for others */
static void receiver_fails(struct flow *flow)
{
	if (flow->pair->service == DC)
		return;
	flow->dead = true;
	flow->pair->failed = true;
}

/* an access of the sender's that is wrong: nobody but a reliable sender is told */
static enum ibv_wc_status refuse(struct flow *flow, enum ibv_wc_status status)
{
	if (!is_reliable(flow->pair->service))
		return IBV_WC_SUCCESS;
	receiver_fails(flow);
	return sender_fails(flow, status);
}

/* the same, and no receive completes with the error, so there is an event */
static enum ibv_wc_status refuse_access(struct flow *flow, enum ibv_wc_status status)
{
	if (is_reliable(flow->pair->service) && flow->pair->service != DC)
		receiver(flow)->event = IBV_EVENT_QP_ACCESS_ERR;
	return refuse(flow, status);
}

static enum ibv_wc_status no_receive(struct flow *flow)
{
	if (!is_reliable(flow->pair->service))
		return IBV_WC_SUCCESS;
	return sender_fails(flow, IBV_WC_RNR_RETRY_EXC_ERR);
}

/*
 * ---- Operations ----
 */

/* [@addr, @addr + @length) of the responder, for @work */
static enum missing look_up_remote(struct flow *flow, const struct work *work,
				   struct pieces *pieces)
{
	pieces->num = 1;
	pieces->missing = resolve(&pieces->piece[0], work->rkey, work->remote_addr, work->length,
				  access_of(work->op), remote_pd(flow),
				  receiver(flow)->e.qp->qp_num);
	return pieces->missing;
}

/* an element of the receive is wrong: that is the receiver's fault, of any service */
static enum ibv_wc_status bad_receive(struct flow *flow)
{
	want_failed(flow, IBV_WC_LOC_PROT_ERR);
	receiver_fails(flow);
	if (!is_reliable(flow->pair->service))
		return IBV_WC_SUCCESS;
	return sender_fails(flow, IBV_WC_REM_OP_ERR);
}

static enum ibv_wc_status too_long(struct flow *flow, const struct work *work,
				   const struct pieces *from)
{
	struct recv *recv = &receiver(flow)->queue->recv[0];
	uint64_t mtu = 128U << port.active_mtu;
	struct pieces to;

	/* dropped, as that of UC, and the receive waits on */
	if (is_ud(flow->pair->service))
		return IBV_WC_SUCCESS;
	look_up(&to, &recv->list, recv->list.length, IBV_ACCESS_LOCAL_WRITE,
		receiver(flow)->queue->pd, false);
	move(to.piece, from->piece, to.good, true);
	/* packets before the one that is too long come to the wrong element first */
	if (packets && to.missing && to.good < recv->list.length / mtu * mtu)
		return bad_receive(flow);
	if (is_reliable(flow->pair->service))
		want_failed(flow, IBV_WC_LOC_LEN_ERR);
	return refuse(flow, IBV_WC_REM_INV_REQ_ERR);
}

/* What the first 40 bytes of a datagram's receive hold is not ours to say. */
static void move_received(struct flow *flow, const struct pieces *to, const struct pieces *from,
			  uint64_t length, bool torn)
{
	uint8_t unknown[GRH] = {};
	struct area header = { .model = unknown };
	struct pieces all = { .num = 0 };
	unsigned int i;
	uint64_t at = 0;

	if (!is_ud(flow->pair->service)) {
		move(to->piece, from->piece, length, torn);
		return;
	}
	all.piece[0] = (struct piece){ &header, 0, GRH, KIND_EMPTY };
	memcpy(all.piece + 1, from->piece, from->num * sizeof(*from->piece));
	move(to->piece, all.piece, length, torn);
	for (i = 0; i < to->num && at < GRH && at < length; at += to->piece[i++].length) {
		struct piece piece = to->piece[i];

		piece.length = shorter(piece.length, shorter(GRH, length) - at);
		if (piece.area)
			maybe(&piece, NULL);
	}
}

static bool invalidates(struct flow *flow, const struct work *work)
{
	struct key *key = find_key(work->more);

	return key && key->kind == KIND_WINDOW_2 && key->pd == remote_pd(flow) &&
	       key->qpn == receiver(flow)->e.qp->qp_num;
}

static enum ibv_wc_status deliver(struct flow *flow, const struct work *work,
				  const struct pieces *from)
{
	uint64_t length = work->length + (is_ud(flow->pair->service) ? GRH : 0);
	struct queue *queue = receiver(flow)->queue;
	struct pieces to;

	if (work->tagged == MATCHED)
		match(queue, work->tag);
	if (!queue->num)
		return no_receive(flow);
	if (length > queue->recv[0].list.length)
		return too_long(flow, work, from);
	look_up(&to, &queue->recv[0].list, length, IBV_ACCESS_LOCAL_WRITE, queue->pd, false);
	if (to.missing) {
		move_received(flow, &to, from, to.good, true);
		return bad_receive(flow);
	}
	if (work->op == OP_SEND_INV && !invalidates(flow, work)) {
		move_received(flow, &to, from, length, true);
		want_failed(flow, IBV_WC_LOC_ACCESS_ERR);
		return refuse(flow, IBV_WC_REM_ACCESS_ERR);
	}
	move_received(flow, &to, from, length, false);
	if (work->op == OP_SEND_INV)
		kill_window(find_key(work->more));
	count_pieces(flow, USE_PLACE, &to);
	want_received(flow, work);
	return IBV_WC_SUCCESS;
}

/* The responder knows of the immediate if it comes with the packet that is refused. */
static enum ibv_wc_status refuse_immediate(struct flow *flow, const struct work *work)
{
	if (!is_reliable(flow->pair->service))
		return IBV_WC_SUCCESS;
	if (packets && work->length > 128U << port.active_mtu)
		return refuse_access(flow, IBV_WC_REM_ACCESS_ERR);
	want_failed(flow, IBV_WC_LOC_ACCESS_ERR);
	return refuse(flow, IBV_WC_REM_ACCESS_ERR);
}

static enum ibv_wc_status write_remote(struct flow *flow, const struct work *work,
				       const struct pieces *from)
{
	enum missing missing;
	struct pieces to;

	missing = look_up_remote(flow, work, &to);
	if (work->op == OP_WRITE_IMM && !receiver(flow)->queue->num) {
		if (!missing)
			move(to.piece, from->piece, work->length, true);
		return no_receive(flow);
	}
	if (missing) {
		if (missing == NO_PAGES)
			move(to.piece, from->piece, work->length, true);
		if (work->op == OP_WRITE_IMM)
			return refuse_immediate(flow, work);
		return refuse_access(flow, IBV_WC_REM_ACCESS_ERR);
	}
	move(to.piece, from->piece, work->length, false);
	count_pieces(flow, USE_REMOTE, &to);
	if (work->op == OP_WRITE_IMM)
		want_received(flow, work);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status read_remote(struct flow *flow, const struct work *work,
				      const struct pieces *to)
{
	enum missing missing;
	struct pieces from;

	missing = look_up_remote(flow, work, &from);
	if (missing == NO_PAGES)
		move(to->piece, from.piece, work->length, true);
	if (missing)
		return refuse_access(flow, IBV_WC_REM_ACCESS_ERR);
	move(to->piece, from.piece, work->length, false);
	count_pieces(flow, USE_REMOTE, &from);
	count_pieces(flow, USE_PLACE, to);
	return IBV_WC_SUCCESS;
}

static uint64_t changed(const struct work *work, uint64_t before)
{
	if (work->op == OP_FETCH_ADD)
		return before + work->compare_add;
	return before == work->compare_add ? work->swap : before;
}

static enum ibv_wc_status change_word(struct flow *flow, const struct work *work,
				      const struct pieces *local)
{
	struct pieces word;
	struct area result;
	uint64_t before, after;

	if (work->remote_addr % 8)
		return refuse_access(flow, IBV_WC_REM_INV_REQ_ERR);
	if (look_up_remote(flow, work, &word))
		return refuse_access(flow, IBV_WC_REM_ACCESS_ERR);
	count_pieces(flow, USE_REMOTE, &word);
	if (work->op == OP_ATOMIC_WRITE) {
		move(word.piece, local->piece, 8, false);
		return IBV_WC_SUCCESS;
	}
	memcpy(&before, word.piece[0].area->model + word.piece[0].off, 8);
	result = (struct area){ .model = (uint8_t *)&before };
	move(local->piece, &(struct piece){ &result, 0, 8, KIND_EMPTY }, 8, false);
	after = changed(work, before);
	memcpy(word.piece[0].area->model + word.piece[0].off, &after, 8);
	count_pieces(flow, USE_PLACE, local);
	return IBV_WC_SUCCESS;
}

/* A FLUSH wants a key that is right, whatever the length. */
static enum ibv_wc_status flush(struct flow *flow, const struct work *work)
{
	struct key *key = find_key(work->rkey);
	uint64_t off;

	if (!key)
		return refuse_access(flow, IBV_WC_REM_ACCESS_ERR);
	off = key->off + (work->remote_addr - key->addr);
	if (work->remote_addr < key->addr ||
	    !key_allows(key, off, work->swap, access_of(OP_FLUSH), remote_pd(flow),
			receiver(flow)->e.qp->qp_num))
		return refuse_access(flow, IBV_WC_REM_ACCESS_ERR);
	done_kinds[USE_REMOTE][key->kind][flow->pair->service]++;
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status respond(struct flow *flow, const struct work *work,
				  const struct pieces *local)
{
	switch (work->op) {
	case OP_SEND:
	case OP_SEND_IMM:
	case OP_SEND_INV:
		return deliver(flow, work, local);
	case OP_WRITE:
	case OP_WRITE_IMM:
		return write_remote(flow, work, local);
	case OP_READ:
		return read_remote(flow, work, local);
	case OP_FLUSH:
		return flush(flow, work);
	default:
		return change_word(flow, work, local);
	}
}

/* It may have been done, and there is no place for the answer. */
static void begin_atomic(const struct work *work, const struct piece *word)
{
	uint64_t value;

	if (work->remote_addr % 8)
		return;
	memcpy(&value, word->area->model + word->off, 8);
	value = changed(work, value);
	maybe(word, (uint8_t *)&value);
}

/* What a message that its sender cannot finish may have brought before that. */
static void begin(struct flow *flow, const struct work *work, const struct pieces *local)
{
	struct queue *queue = receiver(flow)->queue;
	struct pieces far;
	uint64_t good;

	if (is_send(work->op)) {
		if (!queue->num || is_ud(flow->pair->service))
			return;
		good = shorter(local->good, queue->recv[0].list.length);
		look_up(&far, &queue->recv[0].list, good, IBV_ACCESS_LOCAL_WRITE, queue->pd,
			false);
		move(far.piece, local->piece, shorter(good, far.good), true);
		return;
	}
	if (work->op == OP_FLUSH || look_up_remote(flow, work, &far))
		return;
	if (is_atomic(work->op))
		begin_atomic(work, &far.piece[0]);
	else if (work->op == OP_READ)
		move(local->piece, far.piece, local->good, true);
	else
		move(far.piece, local->piece, local->good, true);
}

void execute(struct flow *flow, struct work *work)
{
	bool places = is_reply(work->op);
	enum ibv_wc_status status;
	struct pieces local;

	if (flow->failed) {
		want_sent(flow, work, IBV_WC_WR_FLUSH_ERR);
		return;
	}
	if (work->length > MAX_MSG) {
		want_sent(flow, work, sender_fails(flow, IBV_WC_LOC_LEN_ERR));
		return;
	}
	look_up(&local, &work->list, work->length, places ? IBV_ACCESS_LOCAL_WRITE : 0, pds[0],
		work->flags & IBV_SEND_INLINE);
	if (local.missing) {
		if (!flow->dead)
			begin(flow, work, &local);
		want_sent(flow, work, sender_fails(flow, IBV_WC_LOC_PROT_ERR));
		return;
	}
	status = flow->dead ? IBV_WC_SUCCESS : respond(flow, work, &local);
	if (!status && !places)
		count_pieces(flow, USE_GATHER, &local);
	if (!status && work->length > 4 * MiB)
		done_long++;
	want_sent(flow, work, status);
}
