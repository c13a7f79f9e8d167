// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of uverbs by a grammar: several threads issue them on the same contexts, by
 * write() and by ioctl(), with fields that are mostly right (handles that exist, addresses
 * that are mapped, bits that are defined) and now and then are not. grammar-calls.c has the
 * commands. Nothing is expected of a single one; each has to be accepted at times, else
 * nothing behind its checks is tested; and the device works on for everybody else.
 *
 * WEFT_SEED and ROUNDS (commands in all) repeat a run, as far as threads can.
 */
#include "grammar.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#define THREADS		4
#define CONTEXTS	2
#define SLOTS		16
#define MEMORY		(4UL << 20)
/* commands until a context is closed, with all that is in it */
#define LIFE		4000
/* from here on a run is long enough to have every command accepted */
#define ENOUGH		500000

/* Threads read and write it without a lock: a stale number is as good as any. */
struct context {
	int fd, doorbell, async;
	uint32_t handle[KINDS][SLOTS];
};

/* of one thread */
struct fuzzer {
	pthread_t thread;
	uint64_t state;
	struct context *context;
	uint64_t body[160];
	uint64_t response[128];
	/* longer than what any attribute says of it */
	uint64_t spare[8][16];
	unsigned int num_spare;
};

static struct context contexts[CONTEXTS];
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t qpns[SLOTS], keys[SLOTS];
static unsigned long tried[MAX_CALLS], accepted[MAX_CALLS];
static int last_error[MAX_CALLS];
static unsigned long budget;
static bool checks_locks;
static uint8_t *area;
static int dmabuf = -1;
static union ibv_gid gid;

/*
 * ---- Values ----
 */

static uint32_t below(struct fuzzer *f, uint32_t n)
{
	/* xorshift64* */
	f->state ^= f->state >> 12;
	f->state ^= f->state << 25;
	f->state ^= f->state >> 27;
	return (f->state * 2685821657736338717ULL >> 32) % n;
}

static uint64_t word(struct fuzzer *f)
{
	static const uint64_t likely[] = {
		0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 255, 4095, 4096, 4097, 65535, 65536, 0xffffff,
		0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 47, 1ULL << 63, -1ULL,
	};
	uint32_t i = below(f, ARRAY_SIZE(likely) + 3);

	return i < ARRAY_SIZE(likely) ? likely[i] : (uint64_t)below(f, -1U) << below(f, 33);
}

static uint32_t *slot(struct fuzzer *f, uint32_t *slots)
{
	return &slots[below(f, SLOTS)];
}

static uint64_t address(struct fuzzer *f)
{
	uint64_t at = (uintptr_t)area;

	if (one_of(f, 3))
		return at;
	at += below(f, MEMORY / 4096) * 4096;
	return one_of(f, 4) ? at + below(f, 4096) : at;
}

bool one_of(struct fuzzer *f, uint32_t n)
{
	return !below(f, n);
}

static uint64_t spare(struct fuzzer *f, bool filled)
{
	uint64_t *p = f->spare[f->num_spare++ % ARRAY_SIZE(f->spare)];

	memset(p, 0, sizeof(f->spare[0]));
	if (filled) {
		p[0] = address(f);
		p[1] = (1 + below(f, 65536)) | (uint64_t)*slot(f, keys) << 32;
	}
	return (uintptr_t)p;
}

/* A value as it should be. */
static uint64_t right_value(struct fuzzer *f, enum value value, uint64_t arg)
{
	switch (value) {
	case V_CONST:
		return arg;
	case V_NEW:
		return 0;
	case V_RESPONSE:
		return (uintptr_t)f->response;
	case V_HANDLE:
		return __atomic_load_n(slot(f, f->context->handle[arg]), __ATOMIC_RELAXED);
	case V_FD:
		return arg == CHANNEL ? *slot(f, f->context->handle[CHANNEL]) : (uint32_t)-1;
	case V_ASYNC:
		return f->context->async;
	case V_DMABUF:
		return dmabuf;
	case V_ADDR:
		return address(f);
	case V_LENGTH:
		return one_of(f, 3) ? MEMORY : 1 + below(f, one_of(f, 8) ? MEMORY : 20000);
	case V_NUM:
		return below(f, one_of(f, 8) ? arg + 1 : (arg < 16 ? arg : 16) + 1);
	case V_BITS:
		return arg & (below(f, -1U) | (one_of(f, 2) ? 1 : 0));
	case V_ACCESS:
		value = one_of(f, 2) ? IBV_ACCESS_ON_DEMAND : 0;
		return arg & (one_of(f, 4) ? below(f, -1U) : ACCESS_ALL | value);
	case V_ONE_OF:
		do
			value = below(f, 64);
		while (!(arg >> value & 1));
		return value;
	case V_QPN:
		return *slot(f, qpns);
	case V_KEY:
		return *slot(f, keys);
	case V_SPARE:
		return spare(f, arg);
	case V_ANY:
		break;
	}
	return word(f);
}

uint64_t a_value(struct fuzzer *f, enum value value, uint64_t arg)
{
	return one_of(f, 40) ? word(f) : right_value(f, value, arg);
}

static void set_fields(struct fuzzer *f, uint8_t *body, const struct field *field)
{
	uint64_t value;

	for (; field->size; field++) {
		if (field->size == sizeof(gid)) {
			memcpy(body + field->off, &gid, sizeof(gid));
			/* of a group */
			if (field->arg)
				memcpy(body + field->off, "\xff\x0e", 2);
			if (one_of(f, 40))
				body[field->off + below(f, 16)] ^= 1 << below(f, 8);
			continue;
		}
		value = a_value(f, field->value, field->arg);
		memcpy(body + field->off, &value, field->size);
	}
}

/*
 * ---- Contexts ----
 */

static void close_some(int fd)
{
	/* never what this program began with */
	if (fd > 9)
		close(fd);
}

static int raw_write(int fd, void *command, size_t size)
{
	return write(fd, command, size) < 0 ? errno : 0;
}

static void open_one(struct context *context)
{
	struct ib_uverbs_get_context_resp *resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint64_t response;
		struct weft_alloc_ucontext_req req;
	} command = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_GET_CONTEXT,
			.in_words = sizeof(command) / 4,
			.out_words = (sizeof(*resp) + sizeof(struct weft_alloc_ucontext_resp)) / 4,
		},
		.req.abi_version = WEFT_ABI_VERSION,
	};
	uint64_t response[16] = {};
	char path[128];

	command.response = (uintptr_t)response;
	snprintf(path, sizeof(path), "/dev/infiniband/%s", ctx->device->dev_name);
	context->fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(context->fd >= 0);
	/* another thread may have closed that number, or got it, by a command */
	if (raw_write(context->fd, &command, sizeof(command)))
		return;
	resp = (void *)response;
	context->async = resp->async_fd;
	context->doorbell = ((struct weft_alloc_ucontext_resp *)(resp + 1))->doorbell_fd;
}

static void reopen(struct context *context)
{
	unsigned int i;

	if (pthread_mutex_trylock(&open_lock))
		return;
	close_some(context->fd);
	close_some(context->doorbell);
	close_some(context->async);
	for (i = 0; i < SLOTS; i++)
		close_some(context->handle[CHANNEL][i]);
	memset(context->handle, 0, sizeof(context->handle));
	open_one(context);
	pthread_mutex_unlock(&open_lock);
}

static void made(struct fuzzer *f, enum kind kind, uint32_t number)
{
	uint32_t *at = slot(f, f->context->handle[kind]);
	uint32_t before = __atomic_exchange_n(at, number, __ATOMIC_RELAXED);

	if (kind == CHANNEL)
		close_some(before);
}

/*
 * ---- Commands ----
 */

/* Return: errno. */
static int do_write(struct fuzzer *f, const struct call *call)
{
	struct ib_uverbs_cmd_hdr *hdr = (void *)f->body;
	struct ib_uverbs_ex_cmd_hdr *ex = (void *)(hdr + 1);
	uint8_t *body = (uint8_t *)(call->ex ? (void *)(ex + 1) : (void *)(hdr + 1));
	size_t unit = call->ex ? 8 : 4, ours = call->ours, out = call->out, i;
	uint32_t *resp = (uint32_t *)f->response;
	int ret;

	memset(f->body, 0, sizeof(f->body));
	memset(f->response, 0, sizeof(f->response));
	set_fields(f, body, call->fields);
	if (call->prepare)
		call->prepare(f, body);
	if (one_of(f, 30))
		ours = below(f, 40) * unit;
	if (one_of(f, 30))
		out = below(f, 20) * unit;
	for (i = 0; one_of(f, 6) && i + 4 <= ours; i += 4)
		if (one_of(f, 4))
			*(uint32_t *)(body + call->size + i) = word(f);
	hdr->command = call->number | (call->ex ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
	hdr->in_words = call->ex ? call->size / 8 : (sizeof(*hdr) + call->size + ours) / 4;
	hdr->out_words = call->ex ? out / 8 : (out + call->ours_out) / 4;
	if (call->ex) {
		ex->response = (uintptr_t)f->response;
		ex->provider_in_words = ours / 8;
		ex->provider_out_words = call->ours_out / 8;
	}
	ret = raw_write(f->context->fd, f->body,
			body - (uint8_t *)f->body + call->size + ours);
	if (ret)
		return ret;
	if (call->makes != NOTHING)
		made(f, call->makes, resp[call->at / 4]);
	if (call->makes == QP)
		*slot(f, qpns) = resp[1];
	if (call->makes == WQ)
		*slot(f, qpns) = resp[5];
	if (call->makes == MR || call->makes == MW)
		*slot(f, keys) = resp[1];
	return 0;
}

static void set_attr(struct fuzzer *f, struct ib_uverbs_attr *attr, const struct attr *a)
{
	*attr = (struct ib_uverbs_attr){
		.attr_id = one_of(f, 100) ? below(f, 20) : a->id,
		.len = one_of(f, 60) ? below(f, 80) : a->len,
		.flags = one_of(f, 60) ? below(f, 4) : a->optional ? 0 : UVERBS_ATTR_F_MANDATORY,
		.data = a_value(f, a->value, a->arg),
	};
	if (a->value == V_FD || a->value == V_ASYNC)
		attr->data_s64 = (int32_t)attr->data;
}

static int do_ioctl(struct fuzzer *f, const struct call *call)
{
	struct ib_uverbs_ioctl_hdr *hdr = (void *)f->body;
	struct ib_uverbs_attr *made_attr = NULL;
	const struct attr *a;
	unsigned int n = 0;

	memset(f->body, 0, sizeof(f->body));
	f->num_spare = 0;
	for (a = call->attrs; a->len != NO_ATTR; a++) {
		if (one_of(f, a->optional ? 3 : 60))
			continue;
		if (a->value == V_NEW)
			made_attr = &hdr->attrs[n];
		set_attr(f, &hdr->attrs[n++], a);
	}
	if (one_of(f, 60) && n)
		hdr->attrs[n] = hdr->attrs[below(f, n)], n++;
	hdr->length = sizeof(*hdr) + n * sizeof(hdr->attrs[0]);
	hdr->object_id = call->object;
	hdr->method_id = call->number;
	hdr->num_attrs = n;
	hdr->driver_id = RDMA_DRIVER_WEFT;
	if (one_of(f, 100))
		hdr->length = below(f, 400);
	if (ioctl(f->context->fd, RDMA_VERBS_IOCTL, hdr))
		return errno;
	if (call->makes != NOTHING && made_attr)
		made(f, call->makes, made_attr->data);
	return 0;
}

/* The two requests of a doorbell, and now and then one that it does not have. */
static void do_doorbell(struct fuzzer *f)
{
	unsigned long request = one_of(f, 2) ? WEFT_DOORBELL_SEND : WEFT_DOORBELL_RECV;

	ioctl(f->context->doorbell, one_of(f, 20) ? word(f) : request, *slot(f, qpns));
}

static void *fuzz(void *arg)
{
	struct fuzzer *f = arg;
	const struct call *call;
	int number, ret;

	while (__atomic_fetch_sub(&budget, 1, __ATOMIC_RELAXED) - 1 < LONG_MAX) {
		f->context = &contexts[below(f, CONTEXTS)];
		if (one_of(f, LIFE))
			reopen(f->context);
		if (one_of(f, 30))
			do_doorbell(f);
		do {
			number = below(f, num_calls);
			call = &calls[number];
		} while ((!call->often && !one_of(f, 4)) || (call->unsafe && checks_locks));
		ret = call->attrs ? do_ioctl(f, call) : do_write(f, call);
		__atomic_fetch_add(&tried[number], 1, __ATOMIC_RELAXED);
		if (!ret)
			__atomic_fetch_add(&accepted[number], 1, __ATOMIC_RELAXED);
		else
			last_error[number] = ret;
	}
	return NULL;
}

/*
 * ---- Run ----
 */

static void start(struct fuzzer *f, uint64_t seed)
{
	f->state = seed * 0x9e3779b97f4a7c15ULL | 1;
	SAME(pthread_create(&f->thread, NULL, fuzz, f), 0);
}

static void commands(void)
{
	static struct fuzzer fuzzers[THREADS];
	const char *seed = getenv("WEFT_SEED"), *kernel = getenv("WEFT_KERNEL");
	unsigned long rounds = repeat(60000, 1000000), all = 0, good = 0;
	uint64_t first = seed && *seed ? strtoull(seed, NULL, 0) : now_ns() % 1000000;
	struct end a, b;
	unsigned int i;

	alarm(0);
	checks_locks = kernel && (!strcmp(kernel, "debug") || !strcmp(kernel, "uml"));
	if (getenv("ROUNDS"))
		rounds = strtoul(getenv("ROUNDS"), NULL, 0);
	budget = rounds;
	printf("seed %llu, %lu commands\n", (unsigned long long)first, rounds);
	/* so that no file of a context has a number that this program needs */
	while (open("/dev/null", O_RDONLY) < 9)
		;
	area = memory(MEMORY);
	dmabuf = make_dmabuf(MEMORY / 4);
	SAME(ibv_query_gid(ctx, 1, gid4 < 0 ? 0 : gid4, &gid), 0);
	for (i = 0; i < CONTEXTS; i++)
		open_one(&contexts[i]);
	for (i = 0; i < THREADS; i++)
		start(&fuzzers[i], first * THREADS + i);
	for (i = 0; i < THREADS; i++)
		SAME(pthread_join(fuzzers[i].thread, NULL), 0);
	for (i = 0; i < num_calls; i++) {
		printf("%-24s %8lu of %8lu accepted, else, lastly, %s\n", calls[i].name,
		       accepted[i], tried[i], strerror(last_error[i]));
		all += tried[i];
		good += accepted[i];
	}
	printf("%lu of %lu commands were accepted\n", good, all);
	/* so much that most get behind the checks of the core */
	CHECK(good > all / 8);
	for (i = 0; i < num_calls && rounds >= ENOUGH; i++)
		if (tried[i] && !calls[i].newer && !calls[i].refused == !accepted[i])
			FAIL("%s: expected that it is %s", calls[i].name,
			     calls[i].refused ? "refused always" : "accepted at times");
	for (i = 0; i < CONTEXTS; i++)
		reopen(&contexts[i]);
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

TESTS(TEST(commands))
