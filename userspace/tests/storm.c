// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections of rdma_cm that come and go, from several processes at a time.
 *
 * usage: storm serve ADDRESS PORT		until SIGTERM, and all connections are gone
 *	  storm connect ADDRESS PORT PROCESSES ROUNDS
 *	  storm killed ADDRESS PORT PROCESSES	in the middle of it
 *	  storm nobody ADDRESS			that has no neighbour
 *	  storm silence ADDRESS PORT FILE	with a peer that is silent once FILE is there
 *
 * A client says by one byte of private data what is to become of a connection.
 */
#include "lib.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <signal.h>

enum wish {
	TALK,		/* a message, then the client disconnects */
	MOVE,		/* the same, and the server uses another event channel for it */
	REFUSE,		/* the server rejects it */
	LEAVE,		/* the server disconnects */
	ABANDON,	/* the client goes before there is an answer */
	WISHES
};

#define MESSAGE		100
#define REASON		"not today"
/* of enum ib_cm_rej_reason: by the consumer */
#define REJ_CONSUMER	28
#define RESOLVE_MS	20000

/* an end of a connection; what it has for its QP is its id's */
struct party {
	struct rdma_cm_id *id;
	enum wish wish;
	bool moved;	/* the server's thread that has accepted it is done with it */
	struct ibv_mr *mr;
	uint8_t data[MESSAGE];
};

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	SAME(inet_pton(AF_INET, address, &to.sin_addr), 1);
	return to;
}

static struct party *party_of(struct rdma_cm_id *id)
{
	struct party *party = calloc(1, sizeof(*party));

	CHECK(party);
	party->id = id;
	id->context = party;
	return party;
}

/* With CQs that librdmacm makes, and a receive. Return: false: the other end has gone. */
static bool party_prepare(struct party *party)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge = { (uintptr_t)party->data, MESSAGE };

	if (rdma_create_qp(party->id, NULL, &attr)) {
		SAME(errno, EINVAL);
		return false;
	}
	party->mr = ibv_reg_mr(party->id->pd, party->data, MESSAGE, IBV_ACCESS_LOCAL_WRITE);
	CHECK(party->mr);
	sge.lkey = party->mr->lkey;
	wr.sg_list = &sge;
	SAME(ibv_post_recv(party->id->qp, &wr, &bad), 0);
	return true;
}

static void party_end(struct party *party)
{
	if (party->id->qp)
		rdma_destroy_qp(party->id);
	if (party->mr)
		SAME(ibv_dereg_mr(party->mr), 0);
	SAME(rdma_destroy_id(party->id), 0);
	free(party);
}

static void party_send(struct party *party)
{
	struct ibv_sge sge = { (uintptr_t)party->data, MESSAGE, party->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct ibv_wc wc;
	int num;

	SAME(ibv_post_send(party->id->qp, &wr, &bad), 0);
	while (!(num = ibv_poll_cq(party->id->send_cq, 1, &wc))) {
		CHECK(now_ns() < end);
		sched_yield();
	}
	SAME(num, 1);
	SAME(wc.status, IBV_WC_SUCCESS);
}

/*
 * ---- The server ----
 */

static volatile sig_atomic_t stopped;
static struct rdma_event_channel *other_channel;
static long live, accepted, refused;

static void stop(int signal)
{
	stopped = 1;
}

static void add(long *number, long more)
{
	__atomic_add_fetch(number, more, __ATOMIC_SEQ_CST);
}

static void request(struct rdma_cm_id *id, enum wish wish)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct party *party = party_of(id);

	CHECK(wish < WISHES);
	party->wish = wish;
	if (wish == REFUSE) {
		/* as rdma_accept() below: it fails if the client has gone by now */
		if (rdma_reject(id, REASON, sizeof(REASON)))
			SAME(errno, EINVAL);
		else
			add(&refused, 1);
		party_end(party);
		return;
	}
	if (!party_prepare(party)) {
		party_end(party);
		return;
	}
	add(&live, 1);
	/* fails if the client has gone by now */
	if (rdma_accept(id, &param)) {
		add(&live, -1);
		party_end(party);
		return;
	}
	add(&accepted, 1);
	if (wish != MOVE)
		return;
	SAME(rdma_migrate_id(id, other_channel), 0);
	__atomic_store_n(&party->moved, true, __ATOMIC_RELEASE);
}

/*
 * Events come by the other channel before rdma_migrate_id() has returned, which writes
 * to the id.
 */
static void await_move(const struct party *party)
{
	while (party->wish == MOVE && !__atomic_load_n(&party->moved, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void handle(struct rdma_cm_id *id, enum rdma_cm_event_type type, enum wish wish)
{
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		request(id, wish);
		return;
	}
	await_move(id->context);
	switch (type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		if (((struct party *)id->context)->wish == LEAVE)
			rdma_disconnect(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
		rdma_disconnect(id);
		party_end(id->context);
		add(&live, -1);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		FAIL("event %s", rdma_event_str(type));
	}
}

/* Events of a channel, until all is over. */
static void *handle_all(void *channel)
{
	struct rdma_event_channel *events = channel;
	struct pollfd fd = { events->fd, POLLIN };
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	enum wish wish;

	while (!stopped || __atomic_load_n(&live, __ATOMIC_SEQ_CST)) {
		if (poll(&fd, 1, 100) <= 0)
			continue;
		SAME(rdma_get_cm_event(events, &event), 0);
		id = event->id;
		type = event->event;
		wish = WISHES;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST && event->param.conn.private_data_len)
			wish = *(const uint8_t *)event->param.conn.private_data;
		/* an id is not destroyed before its events are acknowledged */
		SAME(rdma_ack_cm_event(event), 0);
		handle(id, type, wish);
	}
	return NULL;
}

static void serve(const char *address, const char *port)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in at = address_of(address, port);
	struct rdma_cm_id *listener;
	pthread_t thread;

	other_channel = rdma_create_event_channel();
	CHECK(channel && other_channel);
	signal(SIGTERM, stop);
	SAME(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	SAME(rdma_bind_addr(listener, (struct sockaddr *)&at), 0);
	SAME(rdma_listen(listener, 1024), 0);
	SAME(pthread_create(&thread, NULL, handle_all, other_channel), 0);
	handle_all(channel);
	SAME(pthread_join(thread, NULL), 0);
	SAME(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(other_channel);
	rdma_destroy_event_channel(channel);
	printf("%ld accepted, %ld refused, %ld left\n", accepted, refused, live);
}

/*
 * ---- Clients ----
 */

/* Return: its status. */
static int expect(struct party *party, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	int status;

	SAME(rdma_get_cm_event(party->id->channel, &event), 0);
	status = event->status;
	if (event->event != type)
		FAIL("expected %s, got %s, status %d", rdma_event_str(type),
		     rdma_event_str(event->event), status);
	if (type == RDMA_CM_EVENT_REJECTED && status == REJ_CONSUMER) {
		CHECK(event->param.conn.private_data_len >= sizeof(REASON));
		SAME(memcmp(event->param.conn.private_data, REASON, sizeof(REASON)), 0);
	}
	SAME(rdma_ack_cm_event(event), 0);
	return status;
}

/* Before anybody has been asked. */
static struct party *ready(struct rdma_event_channel *channel, struct sockaddr_in *to)
{
	struct rdma_cm_id *id;
	struct party *party;

	SAME(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	party = party_of(id);
	SAME(rdma_resolve_addr(id, NULL, (struct sockaddr *)to, RESOLVE_MS), 0);
	SAME(expect(party, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	SAME(rdma_resolve_route(id, RESOLVE_MS), 0);
	SAME(expect(party, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
	CHECK(party_prepare(party));
	return party;
}

static void ask(struct party *party, enum wish wish)
{
	uint8_t said = wish;
	struct rdma_conn_param param = {
		.private_data = &said, .private_data_len = sizeof(said),
		.retry_count = 7, .rnr_retry_count = 7,
	};

	SAME(rdma_connect(party->id, &param), 0);
}

static void one_connection(struct rdma_event_channel *channel, struct sockaddr_in *to,
			   enum wish wish)
{
	struct party *party = ready(channel, to);

	ask(party, wish);
	switch (wish) {
	case TALK:
	case MOVE:
		SAME(expect(party, RDMA_CM_EVENT_ESTABLISHED), 0);
		party_send(party);
		SAME(rdma_disconnect(party->id), 0);
		expect(party, RDMA_CM_EVENT_DISCONNECTED);
		break;
	case REFUSE:
		SAME(expect(party, RDMA_CM_EVENT_REJECTED), REJ_CONSUMER);
		break;
	case LEAVE:
		SAME(expect(party, RDMA_CM_EVENT_ESTABLISHED), 0);
		expect(party, RDMA_CM_EVENT_DISCONNECTED);
		/* which is the answer that the server waits for */
		rdma_disconnect(party->id);
		break;
	default:
		break;
	}
	party_end(party);
}

static void client(struct sockaddr_in *to, int rounds, int first)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int i;

	CHECK(channel);
	for (i = 0; i < rounds; i++) {
		note("process %d, round %d", first, i);
		one_connection(channel, to, (first + i) % WISHES);
	}
	rdma_destroy_event_channel(channel);
}

/* They are the children of this process. */
static pid_t *clients(struct sockaddr_in *to, int num, int rounds)
{
	pid_t *pids = calloc(num, sizeof(*pids));
	int i;

	for (i = 0; i < num; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			client(to, rounds, i);
			_exit(0);
		}
	}
	return pids;
}

static void storm(struct sockaddr_in to, int num, int rounds)
{
	pid_t *pids = clients(&to, num, rounds);
	int i, status, bad = 0;

	for (i = 0; i < num; i++) {
		SAME(waitpid(pids[i], &status, 0), pids[i]);
		bad += status != 0;
	}
	SAME(bad, 0);
	printf("%d connections each of %d processes\n", rounds, num);
}

static void killed(struct sockaddr_in to, int num)
{
	pid_t *pids = clients(&to, num, 1 << 20);
	int i, status;

	sleep_ms(1000);
	for (i = 0; i < num; i++) {
		sleep_ms(37);
		SAME(kill(pids[i], SIGKILL), 0);
		SAME(waitpid(pids[i], &status, 0), pids[i]);
		CHECK(WIFSIGNALED(status));
	}
	printf("%d processes were killed\n", num);
}

/*
 * ---- Nobody answers ----
 */

static void nobody(struct sockaddr_in to)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	struct party *party;

	SAME(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	party = party_of(id);
	SAME(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), 0);
	SAME(expect(party, RDMA_CM_EVENT_ADDR_ERROR), -ETIMEDOUT);
	party_end(party);
	printf("no such neighbour\n");
}

/* One that asks and one that says good-bye are told so, in the end. */
static void silence(struct sockaddr_in to, const char *file)
{
	struct rdma_event_channel *channel[2] = {
		rdma_create_event_channel(), rdma_create_event_channel(),
	};
	struct party *asks = ready(channel[0], &to), *leaves = ready(channel[1], &to);

	ask(leaves, TALK);
	SAME(expect(leaves, RDMA_CM_EVENT_ESTABLISHED), 0);
	printf("connected\n");
	fflush(stdout);
	while (access(file, F_OK))
		sleep_ms(50);
	ask(asks, TALK);
	SAME(rdma_disconnect(leaves->id), 0);
	SAME(expect(asks, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	SAME(expect(leaves, RDMA_CM_EVENT_DISCONNECTED), -ETIMEDOUT);
	party_end(asks);
	party_end(leaves);
	printf("nobody has answered\n");
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "serve") && argc == 4)
		serve(argv[2], argv[3]);
	else if (!strcmp(what, "connect") && argc == 6)
		storm(address_of(argv[2], argv[3]), atoi(argv[4]), atoi(argv[5]));
	else if (!strcmp(what, "killed") && argc == 5)
		killed(address_of(argv[2], argv[3]), atoi(argv[4]));
	else if (!strcmp(what, "nobody") && argc == 3)
		nobody(address_of(argv[2], "7600"));
	else if (!strcmp(what, "silence") && argc == 5)
		silence(address_of(argv[2], argv[3]), argv[4]);
	else
		FAIL("usage: see the source");
	return 0;
}
