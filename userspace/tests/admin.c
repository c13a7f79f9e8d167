// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of the administrator by a grammar: several threads send requests of NETLINK_RDMA, and
 * write to the attributes of devices and to the file of injection rules, with values that are mostly
 * right and now and then are not. Devices are made, renamed, changed, queried and deleted meanwhile,
 * and another thread makes the objects that the queries are about. Nothing is expected of a single
 * request but an answer; each command has to be accepted at times, and a new device works in the
 * end.
 *
 * WEFT_SEED and ROUNDS (requests in all) repeat a run, as far as threads can.
 */
#include "lib.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#define THREADS		3
/* devices that a thread knows, by their indexes modulo this */
#define KNOWN		16
#define ROOM		65536
#define INFINIBAND	"/sys/class/infiniband/"
#define RULES		"/sys/kernel/debug/weft/inject"
/* how long objects live: many requests are about the same ones */
#define HOLD_MS		300
/* from here on a run is long enough to have every command accepted */
#define ENOUGH		100000

#define A(name)		RDMA_NLDEV_ATTR_##name

/*
 * Attributes that identify something; the first is the device, and the others are numbers of its
 * objects. The values of the kernel's answers are used again.
 */
static const uint16_t learnt[] = {
	A(DEV_INDEX), A(RES_LQPN), A(RES_CQN), A(RES_MRN), A(RES_PDN), A(RES_CM_IDN), A(RES_CTXN),
	A(RES_SRQN), A(STAT_COUNTER_ID),
};

/* Tables of the answers with such attributes in them. */
static const uint16_t tables[] = {
	A(RES_QP), A(RES_QP_ENTRY), A(RES_CM_ID), A(RES_CM_ID_ENTRY), A(RES_CQ), A(RES_CQ_ENTRY),
	A(RES_MR), A(RES_MR_ENTRY), A(RES_PD), A(RES_PD_ENTRY), A(RES_CTX), A(RES_CTX_ENTRY),
	A(RES_SRQ), A(RES_SRQ_ENTRY), A(STAT_COUNTER), A(STAT_COUNTER_ENTRY),
};

/* A request, and the attributes that it may have; 0 ends them. */
struct request {
	const char *name;
	uint16_t command;
	uint16_t attrs[8];
	/* it is sent only one of so many times; 0: always */
	uint16_t seldom;
	bool dumps;
};

#define DEV		A(DEV_INDEX)
#define PORT		A(PORT_INDEX)

static const struct request requests[] = {
	{ "GET", RDMA_NLDEV_CMD_GET, { DEV }, .dumps = true },
	{ "SET", RDMA_NLDEV_CMD_SET,
	  { DEV, A(DEV_NAME), RDMA_NLDEV_NET_NS_FD, A(DEV_DIM) }, .seldom = 5 },
	{ "NEWLINK", RDMA_NLDEV_CMD_NEWLINK,
	  { A(DEV_NAME), A(NDEV_NAME), A(LINK_TYPE) }, .seldom = 8 },
	{ "DELLINK", RDMA_NLDEV_CMD_DELLINK, { DEV }, .seldom = 20 },
	{ "PORT_GET", RDMA_NLDEV_CMD_PORT_GET, { DEV, PORT }, .dumps = true },
	{ "SYS_GET", RDMA_NLDEV_CMD_SYS_GET, {} },
	{ "SYS_SET", RDMA_NLDEV_CMD_SYS_SET, { RDMA_NLDEV_SYS_ATTR_NETNS_MODE }, .seldom = 20 },
	{ "RES_GET", RDMA_NLDEV_CMD_RES_GET, { DEV }, .dumps = true },
	{ "RES_QP_GET", RDMA_NLDEV_CMD_RES_QP_GET, { DEV, PORT, A(RES_LQPN) }, .dumps = true },
	{ "RES_CM_ID_GET", RDMA_NLDEV_CMD_RES_CM_ID_GET, { DEV, PORT, A(RES_CM_IDN) }, .dumps = true },
	{ "RES_CQ_GET", RDMA_NLDEV_CMD_RES_CQ_GET, { DEV, A(RES_CQN) }, .dumps = true },
	{ "RES_MR_GET", RDMA_NLDEV_CMD_RES_MR_GET, { DEV, A(RES_MRN) }, .dumps = true },
	{ "RES_PD_GET", RDMA_NLDEV_CMD_RES_PD_GET, { DEV, A(RES_PDN) }, .dumps = true },
	{ "RES_CTX_GET", RDMA_NLDEV_CMD_RES_CTX_GET, { DEV, A(RES_CTXN) }, .dumps = true },
	{ "RES_SRQ_GET", RDMA_NLDEV_CMD_RES_SRQ_GET, { DEV, A(RES_SRQN) }, .dumps = true },
	{ "GET_CHARDEV", RDMA_NLDEV_CMD_GET_CHARDEV, { A(CHARDEV_TYPE), DEV, PORT } },
	{ "STAT_SET", RDMA_NLDEV_CMD_STAT_SET,
	  { DEV, PORT, A(STAT_RES), A(STAT_MODE), A(STAT_AUTO_MODE_MASK), A(RES_LQPN),
	    A(STAT_COUNTER_ID) } },
	{ "STAT_SET counters", RDMA_NLDEV_CMD_STAT_SET,
	  { DEV, PORT, A(STAT_HWCOUNTERS), A(STAT_RES) } },
	{ "STAT_GET", RDMA_NLDEV_CMD_STAT_GET,
	  { DEV, PORT, A(STAT_RES), A(STAT_MODE), A(STAT_COUNTER_ID) }, .dumps = true },
	{ "STAT_GET of an MR", RDMA_NLDEV_CMD_STAT_GET, { DEV, A(STAT_RES), A(RES_MRN) }, .dumps = true },
	{ "STAT_DEL", RDMA_NLDEV_CMD_STAT_DEL,
	  { DEV, PORT, A(STAT_RES), A(STAT_COUNTER_ID), A(RES_LQPN) } },
	{ "STAT_GET_STATUS", RDMA_NLDEV_CMD_STAT_GET_STATUS, { DEV, PORT } },
	{ "RES_QP_GET_RAW", RDMA_NLDEV_CMD_RES_QP_GET_RAW, { DEV, PORT, A(RES_LQPN) }, .dumps = true },
	{ "RES_CQ_GET_RAW", RDMA_NLDEV_CMD_RES_CQ_GET_RAW, { DEV, A(RES_CQN) }, .dumps = true },
	{ "RES_MR_GET_RAW", RDMA_NLDEV_CMD_RES_MR_GET_RAW, { DEV, A(RES_MRN) }, .dumps = true },
};

/* what is done besides, in the table of results */
enum other { ATTRIBUTE = ARRAY_SIZE(requests), READ, RULE, ROWS };

static const char *const others[] = { "attribute written", "attribute read", "rule written" };

struct fuzzer {
	pthread_t thread;
	uint64_t state;
	int sock;
	uint32_t seq;
	/* those that @known takes into account */
	unsigned int changes;
	uint32_t known[KNOWN][ARRAY_SIZE(learnt)];
	/* the device that an answer or the next request is about */
	uint32_t *now;
	union {
		struct nlmsghdr msg;
		char room[2048];
	} ask;
	union {
		struct nlmsghdr msg;
		char room[ROOM];
	} answer;
};

static unsigned long tried[ROWS], accepted[ROWS];
static int last_error[ROWS];
static unsigned long budget;
/* how often a device was made, deleted or renamed */
static unsigned int changes;
static bool stop;

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

static bool one_of(struct fuzzer *f, uint32_t n)
{
	return !below(f, n);
}

#define CHOOSE(f, ...)							\
	({								\
		static const char *const list_[] = { __VA_ARGS__ };	\
		list_[below(f, ARRAY_SIZE(list_))];			\
	})

static const char *device(struct fuzzer *f)
{
	return one_of(f, 100) ? CHOOSE(f, "", "%s", "weft%d", "no_such_device",
				       "a_name_that_is_longer_than_sixty-four_bytes_and_so_has_no_room_") :
			       CHOOSE(f, "weft_admin0", "weft_admin1", "weft_admin2", "weft_admin3");
}

static uint32_t word(struct fuzzer *f)
{
	static const uint32_t likely[] = { 0, 1, 2, 3, 8, 255, 256, 65535, 65536, 0x7fffffff, -1U };
	uint32_t i = below(f, ARRAY_SIZE(likely) + 3);

	return i < ARRAY_SIZE(likely) ? likely[i] : below(f, -1U) >> below(f, 32);
}

static int index_of(const uint16_t *list, int num, uint16_t attr)
{
	while (num-- && list[num] != attr)
		;
	return num;
}

static uint32_t number(struct fuzzer *f, uint16_t attr)
{
	int i = index_of(learnt, ARRAY_SIZE(learnt), attr);

	if (one_of(f, 40))
		return word(f);
	if (i >= 0)
		return f->now[i];
	switch (attr) {
	case A(PORT_INDEX):
		return 1;
	case A(STAT_RES):
		return one_of(f, 4) ? A(RES_MR) : A(RES_QP);
	case A(STAT_MODE):
		return below(f, 4);
	case A(STAT_AUTO_MODE_MASK):
		return below(f, 4);
	}
	return word(f);
}

static void add(struct fuzzer *f, uint16_t attr, const void *value, uint16_t length)
{
	struct nlmsghdr *msg = &f->ask.msg;
	struct nlattr *nla = (void *)(f->ask.room + NLMSG_ALIGN(msg->nlmsg_len));

	nla->nla_type = attr;
	nla->nla_len = NLA_HDRLEN + length;
	memcpy(nla + 1, value, length);
	if (one_of(f, 300))
		nla->nla_len = word(f);
	msg->nlmsg_len = NLMSG_ALIGN(msg->nlmsg_len) + NLA_ALIGN(NLA_HDRLEN + length);
}

static void add_text(struct fuzzer *f, uint16_t attr, const char *text)
{
	add(f, attr, text, strlen(text) + !one_of(f, 100));
}

/* Those that the port counts on demand, by their indexes */
static void add_counters(struct fuzzer *f)
{
	struct {
		struct nlattr nla;
		uint32_t index;
	} list[8];
	int i, num = below(f, ARRAY_SIZE(list) + 1);

	for (i = 0; i < num; i++) {
		list[i].nla.nla_type = RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX;
		list[i].nla.nla_len = sizeof(list[i]);
		list[i].index = one_of(f, 20) ? word(f) : below(f, 80);
	}
	add(f, A(STAT_HWCOUNTERS) | NLA_F_NESTED, list, num * sizeof(list[0]));
}

static void add_attr(struct fuzzer *f, uint16_t attr)
{
	static int own_ns = -1;
	uint32_t value[2] = {};

	switch (attr) {
	case A(DEV_NAME):
		return add_text(f, attr, device(f));
	case A(NDEV_NAME):
		return add_text(f, attr, one_of(f, 50) ? device(f) : CHOOSE(f, "eth0", "lo"));
	case A(LINK_TYPE):
		/* the kernel runs modprobe for a type that is not known */
		return add_text(f, attr, one_of(f, 1000) ? "no_such_type" :
						CHOOSE(f, "weft", "weft", "weft_rxe", "weft_ib"));
	case A(CHARDEV_TYPE):
		return add_text(f, attr, one_of(f, 1000) ? "none" :
						CHOOSE(f, "uverbs", "umad", "rdma_cm"));
	case A(STAT_HWCOUNTERS):
		return add_counters(f);
	case RDMA_NLDEV_NET_NS_FD:
		if (own_ns < 0)
			own_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		value[0] = one_of(f, 4) ? below(f, 20) : (uint32_t)own_ns;
		break;
	case RDMA_NLDEV_SYS_ATTR_NETNS_MODE:
	case A(DEV_DIM):
		value[0] = one_of(f, 20) ? word(f) : below(f, 2);
		return add(f, attr, value, 1);
	default:
		value[0] = number(f, attr);
	}
	add(f, attr, value, one_of(f, 200) ? below(f, 8) : sizeof(value[0]));
}

/*
 * ---- Requests ----
 */

static void learn(struct fuzzer *f, const void *attrs, size_t left)
{
	const struct nlattr *nla = attrs;
	int i;

	for (; left >= NLA_HDRLEN && nla->nla_len >= NLA_HDRLEN && nla->nla_len <= left;
	     left -= NLA_ALIGN(nla->nla_len), nla = (const void *)nla + NLA_ALIGN(nla->nla_len)) {
		uint16_t type = nla->nla_type & NLA_TYPE_MASK;

		i = index_of(learnt, ARRAY_SIZE(learnt), type);
		if (i == 0)
			f->now = f->known[*(const uint32_t *)(nla + 1) % KNOWN];
		if (i >= 0 && one_of(f, 2))
			f->now[i] = *(const uint32_t *)(nla + 1);
		if (index_of(tables, ARRAY_SIZE(tables), type) >= 0)
			learn(f, nla + 1, nla->nla_len - NLA_HDRLEN);
		if (NLA_ALIGN(nla->nla_len) > left)
			return;
	}
}

/* Take the whole answer to the last request. Return: errno. */
static int answered(struct fuzzer *f)
{
	struct nlmsghdr *msg;
	ssize_t left;

	for (;;) {
		left = recv(f->sock, &f->answer, sizeof(f->answer), 0);
		/* the queue of answers was too short for a table */
		if (left < 0 && errno == ENOBUFS)
			return ENOBUFS;
		CHECK(left > 0);
		for (msg = &f->answer.msg; NLMSG_OK(msg, left); msg = NLMSG_NEXT(msg, left)) {
			if (msg->nlmsg_seq != f->seq)
				continue;
			if (msg->nlmsg_type == NLMSG_ERROR)
				return -((struct nlmsgerr *)NLMSG_DATA(msg))->error;
			if (msg->nlmsg_type == NLMSG_DONE)
				return -*(int *)NLMSG_DATA(msg);
			learn(f, NLMSG_DATA(msg), msg->nlmsg_len - NLMSG_HDRLEN);
		}
	}
}

static void new_message(struct fuzzer *f, uint16_t command)
{
	memset(&f->ask, 0, sizeof(f->ask));
	f->ask.msg.nlmsg_len = NLMSG_HDRLEN;
	f->ask.msg.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	f->ask.msg.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	f->ask.msg.nlmsg_seq = ++f->seq;
}

/* The indexes of the devices that are there now; 0 for no device is as good as one that is gone. */
static void learn_devices(struct fuzzer *f)
{
	int i;

	f->changes = __atomic_load_n(&changes, __ATOMIC_RELAXED);
	memset(f->known, 0, sizeof(f->known));
	for (i = 0; i < 8; i++) {
		new_message(f, RDMA_NLDEV_CMD_GET);
		f->ask.msg.nlmsg_flags |= NLM_F_DUMP;
		if (send(f->sock, &f->ask, f->ask.msg.nlmsg_len, 0) > 0)
			answered(f);
	}
}

/* Let the next request be about one of them. */
static void choose_device(struct fuzzer *f)
{
	int i, num = 0;

	if (f->changes != __atomic_load_n(&changes, __ATOMIC_RELAXED))
		learn_devices(f);
	f->now = f->known[0];
	for (i = 0; i < KNOWN; i++)
		if (f->known[i][0] && one_of(f, ++num))
			f->now = f->known[i];
}

static int ask(struct fuzzer *f, const struct request *request)
{
	struct nlmsghdr *msg = &f->ask.msg;
	bool malformed = one_of(f, 500);
	unsigned int i;
	size_t length;

	choose_device(f);
	new_message(f, request->command);
	if (request->dumps && one_of(f, 3))
		msg->nlmsg_flags |= NLM_F_DUMP;
	if (one_of(f, 200))
		msg->nlmsg_flags |= word(f) & ~NLM_F_ECHO;
	for (i = 0; i < ARRAY_SIZE(request->attrs) && request->attrs[i]; i++)
		if (!one_of(f, request->attrs[i] == DEV ? 30 : 12))
			add_attr(f, request->attrs[i]);
	while (one_of(f, 20))
		add_attr(f, one_of(f, 3) ? learnt[below(f, ARRAY_SIZE(learnt))] : below(f, 120));
	length = msg->nlmsg_len;
	/* a message without a length that fits gets no answer */
	if (malformed) {
		msg->nlmsg_len = one_of(f, 2) ? below(f, NLMSG_HDRLEN) : length + 1 + word(f) / 2;
		msg->nlmsg_type = one_of(f, 2) ? word(f) : msg->nlmsg_type;
	}
	if (send(f->sock, &f->ask, length, 0) < 0)
		return errno;
	return malformed ? EBADMSG : answered(f);
}

/*
 * ---- Files ----
 */

/* The name of an attribute of this device that can be written, if @write. False: there is none. */
static bool attribute(struct fuzzer *f, const char *name, bool write, char *path, size_t size)
{
	char dir[128];
	struct dirent *entry;
	struct stat st;
	int num = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), INFINIBAND "%s", name);
	d = opendir(dir);
	if (!d)
		return false;
	while ((entry = readdir(d))) {
		if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
		    !(st.st_mode & (write ? S_IWUSR : S_IRUSR)))
			continue;
		if (one_of(f, ++num))
			snprintf(path, size, "%s/%s", dir, entry->d_name);
	}
	closedir(d);
	return num;
}

static int file(const char *path, char *text, size_t size, bool write_it)
{
	int fd = open(path, (write_it ? O_WRONLY : O_RDONLY) | O_CLOEXEC), error = 0;

	if (fd < 0)
		return errno;
	if ((write_it ? write(fd, text, size) : read(fd, text, size)) < 0)
		error = errno;
	close(fd);
	return error;
}

static int write_attribute(struct fuzzer *f, bool read_it)
{
	char path[512], text[4096];

	if (!attribute(f, CHOOSE(f, "weft_admin0", "weft_admin1", "weft_admin2", "weft_admin3"), !read_it, path, sizeof(path)))
		return ENODEV;
	if (read_it)
		return file(path, text, sizeof(text), false);
	if (one_of(f, 10))
		snprintf(text, sizeof(text), "%d", (int)word(f));
	else
		snprintf(text, sizeof(text), "%s%s", CHOOSE(f, "0", "1", "y", "n", "off", "auto", "dcqcn",
			 "", "mon7", "all", "mlx5", "connectx-4", "none", "10us", "1000", "5ms 10ms", "admin",
			 "127.0.0.1", "::1 10.0.0.1", "0x7f", "weft", "error", "warn", "on"),
			 CHOOSE(f, "", "\n", " ", "junk"));
	return file(path, text, strlen(text), true);
}

static int write_rule(struct fuzzer *f)
{
	char text[512];
	int n;

	n = snprintf(text, sizeof(text), "%s%s ", one_of(f, 3) ? "add " : "",
		     CHOOSE(f, "weft_admin0", "weft_admin1", "weft_admin2", "weft_admin3"));
	if (one_of(f, 5)) {
		n += snprintf(text + n, sizeof(text) - n, "%s", CHOOSE(f, "clear", "del 1", "del 7", "remove 1",
								       "release", "silent"));
		return file(RULES, text, n, true);
	}
	n += snprintf(text + n, sizeof(text) - n, "%s", CHOOSE(f, "request", "receive", "packet", "verb",
							      "cq", "alloc", "nothing"));
	while (!one_of(f, 4))
		n += snprintf(text + n, sizeof(text) - n, " %s",
			      CHOOSE(f, "service=rc", "service=ud", "opcode=send", "opcode=write", "n=1",
				     "n=3", "every=2", "chance=0.001", "seed=7", "qp=17", "comm=admin",
				     "pid=1", "bytes=1-", "bytes=9-3", "dir=out", "verb=create_qp", "psn=9",
				     "times=3", "n=99999999999999"));
	n += snprintf(text + n, sizeof(text) - n, " %s",
		      CHOOSE(f, "drop", "hold", "delay=1ms", "duplicate", "corrupt", "ce", "bad-icrc",
			     "complete=RETRY_EXC_ERR", "fail=ENOMEM", "nak=RNR", "fatal", "", "late=1ms"));
	return file(RULES, text, n, true);
}

/*
 * ---- Run ----
 */

static int one(struct fuzzer *f, int row)
{
	switch (row) {
	case ATTRIBUTE:
		return write_attribute(f, false);
	case READ:
		return write_attribute(f, true);
	case RULE:
		return write_rule(f);
	default:
		return ask(f, &requests[row]);
	}
}

static void *fuzz(void *arg)
{
	struct fuzzer *f = arg;
	int row, ret;

	while (__atomic_fetch_sub(&budget, 1, __ATOMIC_RELAXED) - 1 < LONG_MAX) {
		do
			row = below(f, ROWS);
		while (row < ATTRIBUTE ? requests[row].seldom && !one_of(f, requests[row].seldom) :
					 !one_of(f, 3));
		ret = one(f, row);
		if (!ret && row < ATTRIBUTE && requests[row].seldom)
			__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&tried[row], 1, __ATOMIC_RELAXED);
		if (!ret)
			__atomic_fetch_add(&accepted[row], 1, __ATOMIC_RELAXED);
		else
			last_error[row] = ret;
	}
	return NULL;
}

/* One object of each kind, on one device after the other. They may fail. */
static void hold_some(struct ibv_context *context)
{
	struct ibv_pd *hold_pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_srq *srq = hold_pd ? ibv_create_srq(hold_pd, &(struct ibv_srq_init_attr){
						.attr = { .max_wr = 8, .max_sge = 1 } }) : NULL;
	struct ibv_qp *qp[3] = {};
	struct ibv_mr *mr = hold_pd ? ibv_reg_mr(hold_pd, &budget, sizeof(budget), 0) : NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	unsigned int i;

	for (i = 0; hold_pd && cq && i < ARRAY_SIZE(qp); i++) {
		qp[i] = ibv_create_qp(hold_pd, &(struct ibv_qp_init_attr){
			.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = i ? IBV_QPT_RC : IBV_QPT_UD,
			.cap = { .max_send_wr = 4, .max_send_sge = 1 } });
		if (qp[i])
			ibv_modify_qp(qp[i], &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      (i ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY));
	}
	sleep_ms(HOLD_MS);
	for (i = 0; i < ARRAY_SIZE(qp); i++)
		if (qp[i])
			ibv_destroy_qp(qp[i]);
	if (mr)
		ibv_dereg_mr(mr);
	if (srq)
		ibv_destroy_srq(srq);
	if (cq)
		ibv_destroy_cq(cq);
	if (hold_pd)
		ibv_dealloc_pd(hold_pd);
}

static void *hold(void *unused)
{
	struct ibv_device **list;
	struct ibv_context *context;
	int i, num;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		list = ibv_get_device_list(&num);
		CHECK(list);
		for (i = 0; i < num; i++) {
			context = ibv_open_device(list[i]);
			if (!context)
				continue;
			hold_some(context);
			ibv_close_device(context);
		}
		ibv_free_device_list(list);
		sleep_ms(1);
	}
	return NULL;
}

static void listen_on_all(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	CHECK(channel);
	SAME(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	SAME(rdma_bind_addr(id, (struct sockaddr *)&any), 0);
	SAME(rdma_listen(id, 1), 0);
}

static void start(struct fuzzer *f, uint64_t seed)
{
	struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
	int size = 4 << 20;

	f->state = seed * 0x9e3779b97f4a7c15ULL | 1;
	f->sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	CHECK(f->sock >= 0);
	SAME(setsockopt(f->sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	SAME(setsockopt(f->sock, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)), 0);
	SAME(pthread_create(&f->thread, NULL, fuzz, f), 0);
}

static void show(unsigned long rounds)
{
	unsigned long all = 0, good = 0;
	const char *name;
	unsigned int i;

	for (i = 0; i < ROWS; i++) {
		name = i < ATTRIBUTE ? requests[i].name : others[i - ATTRIBUTE];
		printf("%-20s %8lu of %8lu accepted, else, lastly, %s\n", name, accepted[i], tried[i],
		       strerror(last_error[i]));
		all += tried[i];
		good += accepted[i];
		if (rounds >= ENOUGH && !accepted[i])
			FAIL("%s: expected that it is accepted at times", name);
	}
	printf("%lu of %lu requests were accepted\n", good, all);
	/* so much that most get behind the checks of the core */
	CHECK(good > all / 8);
}

static void commands(void)
{
	static struct fuzzer fuzzers[THREADS];
	const char *seed = getenv("WEFT_SEED");
	unsigned long rounds = repeat(20000, 200000);
	uint64_t first = seed && *seed ? strtoull(seed, NULL, 0) : now_ns() % 1000000;
	pthread_t holder;
	unsigned int i;

	alarm(0);
	if (getenv("ROUNDS"))
		rounds = strtoul(getenv("ROUNDS"), NULL, 0);
	budget = rounds;
	printf("seed %llu, %lu requests\n", (unsigned long long)first, rounds);
	listen_on_all();
	SAME(pthread_create(&holder, NULL, hold, NULL), 0);
	for (i = 0; i < THREADS; i++)
		start(&fuzzers[i], first * THREADS + i);
	for (i = 0; i < THREADS; i++)
		SAME(pthread_join(fuzzers[i].thread, NULL), 0);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	SAME(pthread_join(holder, NULL), 0);
	show(rounds);
}

static void works(void)
{
	struct end a, b;

	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

TESTS(TEST(commands), TEST(works))
