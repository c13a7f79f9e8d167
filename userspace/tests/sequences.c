// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random sequences of verbs, compared with a model of states and of lifetimes. See
 * sequences.h.
 *
 * usage: [WEFT_SEED=SEED] [WEFT_STEPS=STEPS] [WEFT_VERBOSE=1] sequences [CASE]...
 */
#include "sequences.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdarg.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define THREADS		4
#define KILLED		12		/* processes that are */

__thread struct world *w;
bool infiniband, paging, one_thread = true, has_frames, may_use_frames;

static uint64_t seed;
static unsigned long steps;
static bool verbose;

const char * const verb_names[VERBS] = {
	"alloc_pd", "alloc_parent_domain", "alloc_td", "reg_mr", "rereg_mr", "alloc_dm", "alloc_mw",
	"bind_mw", "create_comp_channel", "create_cq", "resize_cq", "req_notify_cq", "create_srq",
	"modify_srq", "query_srq", "open_xrcd", "create_qp", "open_qp", "modify_qp", "query_qp",
	"create_ah", "attach_mcast", "detach_mcast", "destroy", "post_send", "post_recv",
	"post_srq_recv", "poll_cq", "get_event", "open_device", "close_device", "create_wq",
	"modify_wq", "post_wq_recv", "create_rwq_ind_table", "create raw QP", "modify raw QP",
	"post_send, raw", "post_recv, raw", "create RSS QP", "use RSS QP", "create_flow",
	"create_counters", "attach_counters", "read_counters", "destroy, raw",
	"create DC QP", "modify DC QP", "use DC QP", "create_mkey", "destroy, DC",
};

/*
 * ---- Chance ----
 */

uint64_t below(uint64_t n)
{
	/* xorshift64* */
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return n ? (w->random * 2685821657736338717ULL >> 11) % n : 0;
}

bool one_in(unsigned int n)
{
	return !below(n);
}

/*
 * ---- What is shown when it fails ----
 */

static pthread_mutex_t show_lock = PTHREAD_MUTEX_INITIALIZER;

void mismatch(const char *format, ...)
{
	char text[512];
	unsigned int i;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	pthread_mutex_lock(&show_lock);
	printf("seed %llu, world %u, step %lu; the last calls, and what they returned:\n",
	       (unsigned long long)w->seed, w->number, w->step);
	for (i = w->traced > TRACED ? w->traced - TRACED : 0; i < w->traced; i++)
		printf("  %s\n", w->trace[i % TRACED]);
	FAIL("step %lu: %s", w->step, text);
}

void call(const char *format, ...)
{
	char *line = w->trace[w->traced++ % TRACED];
	va_list ap;
	int num;

	num = snprintf(line, sizeof(w->trace[0]), "%lu: ", w->step);
	va_start(ap, format);
	vsnprintf(line + num, sizeof(w->trace[0]) - num, format, ap);
	va_end(ap);
}

void remark(const char *format, ...)
{
	char *line = w->trace[(w->traced - 1) % TRACED];
	size_t length = strlen(line);
	va_list ap;

	length += snprintf(line + length, sizeof(w->trace[0]) - length, "; ");
	if (length >= sizeof(w->trace[0]))
		return;
	va_start(ap, format);
	vsnprintf(line + length, sizeof(w->trace[0]) - length, format, ap);
	va_end(ap);
	if (verbose)
		printf("%s\n", line);
}

void result_of(enum verb verb, int got, int want, int other)
{
	char *line = w->trace[(w->traced - 1) % TRACED];
	size_t length = strlen(line);

	snprintf(line + length, sizeof(w->trace[0]) - length, " = %d", got);
	if (verbose)
		printf("%s\n", line);
	if (got != want && got != other)
		mismatch("%s: expected %d (%s), got %d (%s)", verb_names[verb], want,
			 want ? strerror(want) : "success", got, got ? strerror(got) : "success");
	if (got)
		w->refused[verb]++;
	else
		w->done[verb]++;
}

/*
 * ---- Worlds ----
 */

static struct world *new_world(unsigned int number, unsigned long num)
{
	struct world *world = calloc(1, sizeof(*world));
	char path[64];
	int i;

	CHECK(world);
	world->number = number;
	world->seed = seed;
	world->random = (seed + number * 7919) * 0x9e3779b97f4a7c15ULL | 1;
	world->steps = num;
	world->context[0] = ctx;
	world->space = memory(SPACE);
	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "/tmp/weft-sequences-%d-%u-%d", getpid(), number, i);
		world->file[i] = open(path, O_RDWR | O_CREAT, 0600);
		CHECK(world->file[i] >= 0);
		unlink(path);
	}
	return world;
}

static int weight_of(const struct action *actions, int num)
{
	int i, sum = 0;

	for (i = 0; i < num; i++)
		sum += actions[i].weight;
	return sum;
}

static bool draw_from(const struct action *actions, int num)
{
	int at = below(weight_of(actions, num)), i;

	for (i = 0; at >= actions[i].weight; i++)
		at -= actions[i].weight;
	return actions[i].run();
}

/* now and then all that there is, when it is quiet */
static void check_all(void)
{
	int i;

	sync_all();
	settle_events();
	for (i = 0; i < w->num[QP]; i++)
		check_qp(w->obj[QP][i]);
	for (i = 0; i < w->num[RAWQP]; i++)
		check_qp(w->obj[RAWQP][i]);
	for (i = 0; i < w->num[DCQP]; i++)
		check_qp(w->obj[DCQP][i]);
}

static void take_step(void)
{
	bool done;

	do {
		switch (below(11)) {
		case 0:
		case 1:
			done = draw_from(object_actions, num_object_actions);
			break;
		case 2:
		case 3:
		case 4:
			done = draw_from(qp_actions, num_qp_actions);
			break;
		case 5:
		case 6:
			done = draw_from(raw_actions, num_raw_actions);
			break;
		case 7:
			done = draw_from(dc_actions, num_dc_actions);
			break;
		default:
			done = draw_from(work_actions, num_work_actions);
		}
	} while (!done);
	/* on InfiniBand a work item may execute what is posted: then it is not done yet */
	if (w->must_sync || port.link_layer == IBV_LINK_LAYER_INFINIBAND)
		sync_all();
	if (one_in(64))
		check_all();
	/* what others depend on would stay for good */
	if (one_in(500))
		close_all();
}

static void take_steps(void)
{
	while (w->step < w->steps) {
		w->step++;
		take_step();
	}
	check_all();
	close_all();
	settle_events();
	if (w->context[1])
		SAME(ibv_close_device(w->context[1]), 0);
}

static unsigned long long number_of(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* by the capability of the calling process */
static bool has_net_raw(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	SAME(syscall(SYS_capget, &header, data), 0);
	return data[0].effective & 1 << CAP_NET_RAW;
}

static void begin(void)
{
	struct ibv_device_attr_ex attr;

	seed = number_of("WEFT_SEED", now_ns() % 1000000000);
	steps = number_of("WEFT_STEPS", 20000);
	verbose = getenv("WEFT_VERBOSE");
	printf("seed %llu, %lu steps\n", (unsigned long long)seed, steps);
	infiniband = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	paging = attr.odp_caps.general_caps & IBV_ODP_SUPPORT;
	has_frames = attr.raw_packet_caps;
	may_use_frames = has_net_raw();
	alarm(0);
}

static void show_counts(void)
{
	int i;

	for (i = 0; i < VERBS; i++)
		printf("%-20s %8lu done %8lu refused\n", verb_names[i], w->done[i], w->refused[i]);
	for (i = 0; i < ARRAY_SIZE(w->statuses); i++)
		if (w->statuses[i])
			printf("%s: %lu\n", ibv_wc_status_str(i), w->statuses[i]);
	for (i = 0; i < ARRAY_SIZE(w->events); i++)
		if (w->events[i])
			printf("%s: %lu\n", ibv_event_type_str(i), w->events[i]);
}

/*
 * ---- Cases ----
 */

static void alone(void)
{
	begin();
	w = new_world(0, steps);
	take_steps();
	show_counts();
}

static void *run_world(void *arg)
{
	w = arg;
	take_steps();
	return NULL;
}

/* each its own objects, of one context */
static void threads(void)
{
	pthread_t thread[THREADS];
	int i;

	begin();
	one_thread = false;
	for (i = 0; i < THREADS; i++)
		SAME(pthread_create(&thread[i], NULL, run_world,
				    new_world(i, steps / THREADS)), 0);
	for (i = 0; i < THREADS; i++)
		SAME(pthread_join(thread[i], NULL), 0);
}

/* what "rdma resource" says of the device, without the number in front */
static void read_resources(char *text, size_t size)
{
	char command[128];
	FILE *file;

	snprintf(command, sizeof(command), "rdma resource show %s", ibv_get_device_name(ctx->device));
	file = popen(command, "r");
	CHECK(file);
	CHECK(fgets(text, size, file));
	SAME(pclose(file), 0);
}

/* a process that is killed leaves nothing, wherever it was */
static void killed(void)
{
	char before[512], after[512];
	uint64_t end;
	int i, status;
	pid_t pid;

	begin();
	w = new_world(0, 0);
	read_resources(before, sizeof(before));
	for (i = 0; i < KILLED; i++) {
		note("seed %llu, process %d", (unsigned long long)seed, i);
		fflush(stdout);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			open_device();
			w = new_world(i, 1UL << 40);
			take_steps();
		}
		sleep_ms(100 + below(400));
		SAME(kill(pid, SIGKILL), 0);
		SAME(waitpid(pid, &status, 0), pid);
		if (!WIFSIGNALED(status))
			FAIL("the process ended by itself, with %#x", status);
		end = now_ns() + WAIT_MS * 1000000ULL;
		do {
			read_resources(after, sizeof(after));
		} while (strcmp(before, after) && now_ns() < end);
		if (strcmp(before, after))
			FAIL("the process has left something.\nbefore: %safter: %s", before, after);
	}
}

TESTS(
	TEST(alone), TEST(threads), TEST(killed)
)
