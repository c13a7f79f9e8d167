// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each control call without memory: the first allocation that weft makes in it fails, then
 * the second one, and so on until none is left. A call fails as a whole, with ENOMEM, and
 * does the same as ever the next time. The script tells the kernel's fault injection which
 * code gets no memory (verbs/548-own-nomem), and looks for leaks.
 *
 * One that succeeds all the same, because it can do without, is undone and counts as well.
 *
 * With WEFT_COPIES=1 the script lets copies from and to the memory of the process fail instead, and
 * a call fails with EFAULT.
 */
#include "nomem.h"

#include <fcntl.h>

#define SITES	1000	/* more than there are in a call */

struct end a, b;
int failures;

/*
 * ---- The walk ----
 */

void write_nth(int nth)
{
	char text[16];
	int fd = open("/proc/thread-self/fail-nth", O_WRONLY);

	CHECK(fd >= 0);
	snprintf(text, sizeof(text), "%d", nth);
	CHECK(write(fd, text, strlen(text)) > 0);
	close(fd);
}

bool was_injected(void)
{
	char text[16] = "";
	int fd = open("/proc/thread-self/fail-nth", O_RDONLY);

	CHECK(fd >= 0);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return !atoi(text);
}

/* Append what the core says that there is of a device: PDs, CQs, QPs and so on. */
static void add_objects(char *text, size_t size)
{
	char command[64];
	size_t length;
	FILE *rdma;

	snprintf(command, sizeof(command), "rdma resource show %s",
		 ibv_get_device_name(ctx->device));
	rdma = popen(command, "r");
	CHECK(rdma);
	length = fread(text, 1, size - 1, rdma);
	CHECK(length);
	text[length] = 0;
	SAME(pclose(rdma), 0);
}

/* The objects of the device, and the charge of this process. The provider keeps rings mapped. */
static void take_stock(char *text, size_t size)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	int length = 0;

	CHECK(status);
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, "VmPin:", 6))
			length += snprintf(text + length, size - length, "%s", line);
	fclose(status);
	add_objects(text + length, size - length);
}

static int expected_error(void)
{
	return getenv("WEFT_COPIES") ? EFAULT : ENOMEM;
}

void walk(const char *name, int (*call)(void), void (*undo)(void))
{
	char before[512], after[512];
	bool failed_once;
	int nth, ret;

	take_stock(before, sizeof(before));
	for (nth = 1; nth < SITES; nth++) {
		note("%s, failure %d", name, nth);
		write_nth(nth);
		ret = call();
		failed_once = was_injected();
		write_nth(0);
		if (!ret)
			undo();
		if (!failed_once) {
			SAME(ret, 0);
			break;
		}
		failures += ret != 0;
		if (ret)
			SAME(ret, expected_error());
	}
	CHECK(nth < SITES);
	printf("%s: %d\n", name, nth - 1);
	take_stock(after, sizeof(after));
	if (strcmp(before, after))
		FAIL("before: %safterwards: %s", before, after);
}

/*
 * ---- Objects ----
 */

static struct ibv_context *opened;
static int open_device_again(void)
{
	return of_pointer(opened = ibv_open_device(ctx->device));
}

static void open_device_again_undo(void)
{
	SAME(ibv_close_device(opened), 0);
}

static struct ibv_pd *domain;
static int alloc_pd(void)
{
	return of_pointer(domain = ibv_alloc_pd(ctx));
}

static void alloc_pd_undo(void)
{
	SAME(ibv_dealloc_pd(domain), 0);
}

static struct ibv_cq *cq;
static int create_cq(void)
{
	return of_pointer(cq = ibv_create_cq(ctx, 100, NULL, NULL, 0));
}

static void create_cq_undo(void)
{
	SAME(ibv_destroy_cq(cq), 0);
}

static int resize_cq(void)
{
	return of_number(ibv_resize_cq(a.scq, 2000));
}

static void resize_cq_undo(void)
{
	SAME(ibv_resize_cq(a.scq, 100), 0);
}

static struct ibv_srq *srq;
static int create_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 100, .max_sge = 4 } };

	return of_pointer(srq = ibv_create_srq(pd, &attr));
}

static void create_srq_undo(void)
{
	SAME(ibv_destroy_srq(srq), 0);
}

static int resize_srq(void)
{
	struct ibv_srq_attr attr = { .max_wr = 2000 };

	return of_number(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
}

static void resize_srq_undo(void)
{
	struct ibv_srq_attr attr = { .max_wr = 100 };

	SAME(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
}

static struct ibv_xrcd *xrcd;
static int open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return of_pointer(xrcd = ibv_open_xrcd(ctx, &attr));
}

static void open_xrcd_undo(void)
{
	SAME(ibv_close_xrcd(xrcd), 0);
}

static int create_xrc_srq(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = a.rcq,
	};

	return of_pointer(srq = ibv_create_srq_ex(ctx, &attr));
}

static enum ibv_qp_type type;
static struct ibv_qp *qp;
static int create_qp(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type,
		.send_cq = type == IBV_QPT_XRC_RECV ? NULL : a.scq,
		.recv_cq = type >= IBV_QPT_XRC_SEND ? NULL : a.rcq,
		.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD :
							IBV_QP_INIT_ATTR_PD,
		.pd = type == IBV_QPT_XRC_RECV ? NULL : pd,
		.xrcd = type == IBV_QPT_XRC_RECV ? xrcd : NULL,
		.cap = { .max_send_wr = 2000, .max_send_sge = 4 },
	};

	if (type < IBV_QPT_XRC_SEND) {
		attr.cap.max_recv_wr = 2000;
		attr.cap.max_recv_sge = 4;
	}
	return of_pointer(qp = ibv_create_qp_ex(ctx, &attr));
}

static void create_qp_undo(void)
{
	SAME(ibv_destroy_qp(qp), 0);
}

static struct ibv_ah *ah;
static int create_ah(void)
{
	struct ibv_ah_attr av;

	av_to(&av, gid4, gid4);
	return of_pointer(ah = ibv_create_ah(pd, &av));
}

static void create_ah_undo(void)
{
	SAME(ibv_destroy_ah(ah), 0);
}

static void address_handles(void)
{
	WALK(create_ah);
}

/*
 * ---- Connections and groups ----
 */

static enum ibv_qp_state target;
static int step_up(void)
{
	struct ibv_qp_attr attr = step_attr(&a, target == IBV_QPS_RTR ? &b : NULL, target);

	return of_number(ibv_modify_qp(a.qp, &attr, step_mask(&a, target)));
}

/* to the state before */
static void step_up_undo(void)
{
	enum ibv_qp_state last = target;

	to_state(&a, IBV_QPS_RESET);
	for (target = IBV_QPS_INIT; target < last; target++)
		SAME(step_up(), 0);
}

static void connections_of(enum ibv_qp_type qp_type)
{
	make(&a, CONF(.type = qp_type));
	make(&b, CONF(.type = qp_type));
	for (target = IBV_QPS_INIT; target <= IBV_QPS_RTS; target++) {
		WALK(step_up);
		SAME(step_up(), 0);
	}
	unmake(&a);
	unmake(&b);
}

static int resize_qp(void)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = 2000, .max_recv_wr = 2000 } };

	return of_number(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP));
}

static void resize_qp_undo(void)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = 16, .max_recv_wr = 16 } };

	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), 0);
}

static union ibv_gid group = { .raw = { 0xff, 0x1e, [15] = 0x77 } };
static uint16_t group_lid(void)
{
	return port.link_layer == IBV_LINK_LAYER_INFINIBAND ? 0xc001 : 0;
}

static int attach(void)
{
	return of_number(ibv_attach_mcast(a.qp, &group, group_lid()));
}

static void attach_undo(void)
{
	SAME(ibv_detach_mcast(a.qp, &group, group_lid()), 0);
}

static void connections(void)
{
	connections_of(IBV_QPT_RC);
	connections_of(IBV_QPT_UC);
	connections_of(IBV_QPT_UD);
	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	WALK(resize_qp);
	unmake(&a);
}

static void groups(void)
{
	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	WALK(attach);
	unmake(&a);
}

static void objects(void)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
	};
	int i;

	make(&a, CONF());
	WALK(open_device_again);
	WALK(alloc_pd);
	WALK(create_cq);
	/* there is something to fail: injection works */
	CHECK(failures);
	WALK(resize_cq);
	WALK(create_srq);
	SAME(create_srq(), 0);
	WALK(resize_srq);
	create_srq_undo();
	WALK(open_xrcd);
	SAME(open_xrcd(), 0);
	walk("create_xrc_srq", create_xrc_srq, create_srq_undo);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		type = types[i];
		WALK(create_qp);
	}
	open_xrcd_undo();
	unmake(&a);
}

TESTS(
	TEST(objects), TEST(memory_regions), TEST(dma_bufs), TEST(mkeys), TEST(connections),
	TEST(groups), TEST(address_handles), TEST(tags), TEST(dynamic), TEST(frames), TEST(spreads),
	TEST(traffic),
)
