// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Products of features: in each round some pairs of QPs get random work, over memory of
 * random kinds, and all memory and all completions are compared with a model. See products.h.
 *
 * usage: products [-s SEED] [-n ROUNDS] [-l LONGEST] [-g GID-INDEX]
 */
#include "products.h"

#define CAP_ATOMIC_WRITE	(1ULL << 40)

const char * const kind_names[KINDS] = {
	"null", "pinned", "huge", "paged", "whole", "file", "device", "dma-buf", "mkey",
	"window-1", "window-2", "empty", "inline",
};

const char * const service_names[SERVICES] = {
	"RC", "RC-SRQ", "UC", "UC-SRQ", "UD", "UD-SRQ", "XRC", "DC", "tags",
};

const char * const op_names[OPS] = {
	"SEND", "SEND_IMM", "SEND_INV", "WRITE", "WRITE_IMM", "READ", "CMP_SWP", "FETCH_ADD",
	"FLUSH", "ATOMIC_WRITE",
};

static const char * const use_names[USES] = { "gather", "place", "remote" };

struct flow flows[MAX_FLOWS];
unsigned int num_flows;
size_t longest = 64 * MiB;
bool packets, has_placement;

static uint64_t seed, state;
static unsigned int rounds = 1000, current;

/*
 * ---- Chance ----
 */

static uint64_t draw(void)
{
	/* xorshift64* */
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ULL;
}

uint64_t below(uint64_t n)
{
	return n ? draw() % n : 0;
}

bool one_in(unsigned int n)
{
	return !below(n);
}

/*
 * ---- What is shown when it fails ----
 */

static void show_list(const struct list *list, bool is_inline)
{
	const struct ibv_sge *sge;
	const struct key *key;
	unsigned int i;

	for (i = 0; i < list->num; i++) {
		sge = &list->sge[i];
		key = find_key(sge->lkey);
		if (!sge->length)
			printf(" [empty]");
		else if (is_inline)
			printf(" [inline %u]", sge->length);
		else if (sge->lkey == nulls[0]->lkey)
			printf(" [null %u]", sge->length);
		else if (key)
			printf(" [%s%s.%d%+lld %u]", kind_names[key->kind],
			       key->area->big ? "-big" : "", (int)(key - key->area->keys),
			       (long long)(key->off + (sge->addr - key->addr)), sge->length);
		else
			printf(" [key %#x, %u]", sge->lkey, sge->length);
	}
	printf("\n");
}

static void show_remote(const struct work *work)
{
	const struct key *key = find_key(work->rkey);

	if (key)
		printf(" at %s%s%+lld", kind_names[key->kind], key->area->big ? "-big" : "",
		       (long long)(key->off + (work->remote_addr - key->addr)));
	else
		printf(" at key %#x, %#llx", work->rkey, (unsigned long long)work->remote_addr);
}

static void show_work(const struct work *work)
{
	static const char * const tagged[] = { "", ", unexpected", ", tag matches" };

	printf("  %llu %s, %llu bytes%s%s%s%s%s", (unsigned long long)work->id,
	       op_names[work->op], (unsigned long long)work->length,
	       work->flags & IBV_SEND_FENCE ? ", fence" : "",
	       work->flags & IBV_SEND_SIGNALED ? ", signaled" : "",
	       work->flags & IBV_SEND_INLINE ? ", inline" : "", work->ex ? ", ex" : "",
	       tagged[work->tagged]);
	if (!is_send(work->op))
		show_remote(work);
	printf(": %s\n     ", ibv_wc_status_str(work->status));
	show_list(&work->list, work->flags & IBV_SEND_INLINE);
}

void show_round(void)
{
	struct flow *flow;
	unsigned int i, k;

	printf("seed %llu, round %u:\n", (unsigned long long)seed, current);
	for (i = 0; i < num_flows; i++) {
		flow = &flows[i];
		printf("%s, pair %d, from QP %#x to QP %#x%s\n",
		       service_names[flow->pair->service], (int)(flow->pair - pairs),
		       sender(flow)->e.qp->qp_num, receiver(flow)->e.qp->qp_num,
		       flow->pair->failed ? ", fails" : "");
		for (k = 0; k < flow->num; k++)
			show_work(&flow->work[k]);
		for (k = 0; k < flow->num_used; k++) {
			printf("  receive %llu:", (unsigned long long)flow->used[k].id);
			show_list(&flow->used[k].list, false);
		}
	}
	fflush(stdout);
}

/*
 * ---- Coverage ----
 */

/* Return: the sum. */
static unsigned long show_row(const char *name, const unsigned long *row)
{
	unsigned long sum = 0;
	int i;

	printf("%-14s", name);
	for (i = 0; i < SERVICES; i++) {
		printf(" %8lu", row[i]);
		sum += row[i];
	}
	printf("\n");
	return sum;
}

static void show_head(const char *name)
{
	int i;

	printf("%-14s", name);
	for (i = 0; i < SERVICES; i++)
		printf(" %8s", service_names[i]);
	printf("\n");
}

static void show_counts(void)
{
	unsigned long done = 0;
	int i, use;

	show_head("operations");
	for (i = 0; i < OPS; i++)
		done += show_row(op_names[i], done_ops[i]);
	for (use = 0; use < USES; use++) {
		show_head(use_names[use]);
		for (i = 0; i < KINDS; i++)
			show_row(kind_names[i], done_kinds[use][i]);
	}
	for (i = 0; i < ARRAY_SIZE(done_statuses); i++)
		if (done_statuses[i])
			printf("%s: %lu\n", ibv_wc_status_str(i), done_statuses[i]);
	printf("messages: %lu, %lu of them of more than 4 MiB; changes of memory: %lu\n", done,
	       done_long, done_changes);
	printf("tags matched: %lu, unexpected: %lu\n", done_matched, done_unexpected);
}

static bool can_have_op(enum op op, enum service service)
{
	if (service == DC && packets)
		return false;
	if (is_ud(service))
		return op <= OP_SEND_IMM;
	if (!is_reliable(service))
		return op <= OP_SEND_IMM || op == OP_WRITE || op == OP_WRITE_IMM;
	if (op == OP_FLUSH || op == OP_ATOMIC_WRITE)
		return has_placement && !is_one_way(service);
	return op != OP_SEND_INV || !is_one_way(service);
}

static bool can_have_kind(enum use use, enum kind kind, enum service service)
{
	if (!had[kind] || (service == DC && packets))
		return false;
	switch (kind) {
	case KIND_NULL:
		return use != USE_REMOTE;
	case KIND_INLINE:
		return use == USE_GATHER;
	case KIND_WINDOW_1:
		return use == USE_REMOTE && !is_ud(service);
	case KIND_WINDOW_2:
		return use == USE_REMOTE && !is_ud(service) && !is_one_way(service);
	default:
		return use != USE_REMOTE || !is_ud(service);
	}
}

static void check_counts(void)
{
	int i, use, service;

	CHECK(done_matched && done_unexpected);
	for (service = 0; service < SERVICES; service++) {
		for (i = 0; i < OPS; i++)
			if (can_have_op(i, service) && !done_ops[i][service])
				FAIL("no %s of %s has run", op_names[i], service_names[service]);
		for (use = 0; use < USES; use++)
			for (i = 0; i < KINDS; i++)
				if (can_have_kind(use, i, service) && !done_kinds[use][i][service])
					FAIL("%s: no %s of memory '%s' has run",
					     service_names[service], use_names[use], kind_names[i]);
	}
}

/*
 * ---- Rounds ----
 */

static bool add_flow(struct pair *pair, int from, bool bad)
{
	struct flow *flow = &flows[num_flows];
	struct queue *queue = pair->side[!from].queue;

	/* what others have left may be wrong by now: the whole pair may fail by it */
	if (queue->used || (pair->used && queue->num))
		return false;
	memset(flow, 0, sizeof(*flow));
	flow->pair = pair;
	flow->from = from;
	flow->number = num_flows + 1;
	flow->bad = bad;
	if (!plan_flow(flow))
		return false;
	queue->used = true;
	pair->used = true;
	num_flows++;
	return true;
}

static void plan_round(void)
{
	unsigned int i, wanted = 1 + below(3);
	struct pair *pair;
	int from;

	for (i = 0; i < wanted; i++) {
		pair = &pairs[below(num_pairs)];
		from = is_one_way(pair->service) ? 0 : below(2);
		if (pair->used || !add_flow(pair, from, one_in(8)))
			continue;
		/* what fails stops the other direction, too, who knows when */
		if (!flows[num_flows - 1].bad && !is_one_way(pair->service) && one_in(3))
			add_flow(pair, !from, false);
	}
}

static void run_round(void)
{
	unsigned int i;

	num_flows = 0;
	num_claims = 0;
	change_memory();
	for (i = 0; i < num_pairs; i++) {
		pairs[i].used = false;
		pairs[i].failed = false;
		pairs[i].side[0].queue->used = false;
		pairs[i].side[1].queue->used = false;
	}
	plan_round();
	for (i = 0; i < num_flows; i++)
		post_flow(&flows[i]);
	finish_round();
	remove_tags();
	settle_maybes();
	check_memory(current % 64 == 0);
}

static bool placement(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	return attr.device_cap_flags_ex & CAP_ATOMIC_WRITE;
}

static void products(void)
{
	int i;

	alarm(0);
	packets = packets_forced();
	has_placement = placement();
	if (getenv("WEFT_GID"))
		gid4 = atoi(getenv("WEFT_GID"));
	state = seed * 0x9e3779b97f4a7c15ULL | 1;
	for (i = 0; i < 8; i++)
		draw();
	make_memory();
	make_pairs();
	stir_memory();
	for (i = 0; i < 4 * WINDOWS; i++)
		bind_window(&windows[i % WINDOWS]);
	for (current = 1; current <= rounds; current++) {
		note("seed %llu, round %u", (unsigned long long)seed, current);
		run_round();
	}
	note("seed %llu", (unsigned long long)seed);
	check_memory(true);
	show_counts();
	if (rounds >= 800)
		check_counts();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = { TEST(products) };
	const char *text = getenv("WEFT_SEED");
	int c;

	seed = text && *text ? strtoull(text, NULL, 0) : now_ns() % 1000000000;
	while ((c = getopt(argc, argv, "s:n:l:g:")) >= 0) {
		switch (c) {
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			rounds = atoi(optarg);
			break;
		case 'l':
			longest = strtoull(optarg, NULL, 0);
			break;
		case 'g':
			setenv("WEFT_GID", optarg, 1);
			break;
		default:
			return 2;
		}
	}
	printf("seed %llu, %u rounds\n", (unsigned long long)seed, rounds);
	return run_tests(tests, 1, 1, argv);
}
