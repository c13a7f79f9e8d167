// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Functions that came with later releases of rdma-core are there from that release on, and
 * refused before. $RELEASE is the release of the library.
 */
#include "lib.h"

#include <dlfcn.h>

static struct end a, b;

static int release(void)
{
	return atoi(getenv("RELEASE"));
}

static struct ibv_qp *try_create(uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = a.scq, .recv_cq = a.rcq, .qp_type = IBV_QPT_RC, .pd = pd,
		.cap = { 1, 1, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = ops,
	};

	return ibv_create_qp_ex(ctx, &attr);
}

/* the library finds its own member behind the functions of the QP, whether they are set or not */
static void check_functions(uint64_t ops, bool there)
{
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;

	note("ops %#llx", (unsigned long long)ops);
	if (!there) {
		REFUSED(try_create(ops), EOPNOTSUPP);
		return;
	}
	qp = try_create(ops);
	CHECK(qp);
	ex = ibv_qp_to_qp_ex(qp);
	CHECK(ex == (struct ibv_qp_ex *)qp);
	CHECK(ex->wr_send);
	if (ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		CHECK(ex->wr_atomic_write);
	if (ops & IBV_QP_EX_WITH_FLUSH)
		CHECK(ex->wr_flush);
	SAME(ibv_destroy_qp(qp), 0);
}

/* it has no such functions, whatever is behind it */
static void plain_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 },
	};
	struct ibv_qp *qp;

	make_pair(&a, &b, CONF());
	attr.send_cq = a.scq;
	attr.recv_cq = a.rcq;
	qp = ibv_create_qp(pd, &attr);
	CHECK(qp);
	CHECK(!ibv_qp_to_qp_ex(qp));
	SAME(ibv_destroy_qp(qp), 0);
}

static void qp_functions(void)
{
	const uint64_t send = IBV_QP_EX_WITH_SEND;

	make_pair(&a, &b, CONF());
	check_functions(send, true);
	check_functions(send | IBV_QP_EX_WITH_ATOMIC_WRITE, release() >= 44);
	check_functions(send | IBV_QP_EX_WITH_FLUSH, release() >= 45);
	check_functions(send | IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE, release() >= 45);
	check_works(&a, &b);
}

/* EOPNOTSUPP: the provider has no such function; EPROTONOSUPPORT: the kernel is older than 7.2 */
static void port_speed(void)
{
	int (*query)(struct ibv_context *, uint32_t, uint64_t *) =
		dlsym(RTLD_DEFAULT, "ibv_query_port_speed");
	uint64_t speed = 0;
	int ret;

	CHECK(!query == (release() < 62));
	if (!query)
		return;
	ret = query(ctx, 1, &speed);
	note("port speed: %d", ret);
	CHECK(ret ? ret == EPROTONOSUPPORT : speed > 0);
}

/* those of rdma-core 65; headers of earlier ones have none of it */
struct comp_cntr_attr {
	uint32_t comp_mask, type, flags;
};

struct attach_attr {
	uint32_t comp_mask, op_mask;
};

#define FUNCTION(_ret, _name, ...) \
	_ret (*_name)(__VA_ARGS__) = (_ret (*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, "ibv_" #_name)

/* A counter of SENDs, by the library's functions; the program cntrs has the rest. */
static void completion_counters(void)
{
	FUNCTION(void *, create_comp_cntr, struct ibv_context *, struct comp_cntr_attr *);
	FUNCTION(int, destroy_comp_cntr, void *);
	FUNCTION(int, read_comp_cntr, void *, uint64_t *);
	FUNCTION(int, read_err_comp_cntr, void *, uint64_t *);
	FUNCTION(int, set_comp_cntr, void *, uint64_t);
	FUNCTION(int, set_err_comp_cntr, void *, uint64_t);
	FUNCTION(int, inc_comp_cntr, void *, uint64_t);
	FUNCTION(int, inc_err_comp_cntr, void *, uint64_t);
	FUNCTION(int, qp_attach_comp_cntr, struct ibv_qp *, void *, struct attach_attr *);
	struct comp_cntr_attr attr = {};
	struct attach_attr attach = { .op_mask = 1 };
	uint64_t value;
	void *cntr;
	int i;

	CHECK(!create_comp_cntr == (release() < 65));
	if (!create_comp_cntr)
		return;
	make(&a, CONF());
	make(&b, CONF());
	errno = 0;
	cntr = create_comp_cntr(ctx, &attr);
	if (!cntr) {
		note("no counter: errno %d", errno);
		/* kernels before 7.3 */
		CHECK(errno == EPROTONOSUPPORT || errno == EOPNOTSUPP);
		CHECK(strcmp(getenv("WEFT_KERNEL") ?: "", "7.3"));
		return;
	}
	SAME(qp_attach_comp_cntr(a.qp, cntr, &attach), 0);
	connect_ends(&a, &b);
	for (i = 0; i < 3; i++) {
		post_recv(&b, i, 0, 100);
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 100));
		expect_ok(a.scq, i);
		expect_ok(b.rcq, i);
	}
	SAME(read_comp_cntr(cntr, &value), 0);
	SAME(value, 3);
	SAME(read_err_comp_cntr(cntr, &value), 0);
	SAME(value, 0);
	SAME(set_comp_cntr(cntr, 40), 0);
	SAME(inc_comp_cntr(cntr, 2), 0);
	SAME(set_err_comp_cntr(cntr, 6), 0);
	SAME(inc_err_comp_cntr(cntr, 1), 0);
	SAME(read_comp_cntr(cntr, &value), 0);
	SAME(value, 42);
	SAME(read_err_comp_cntr(cntr, &value), 0);
	SAME(value, 7);
	unmake(&a);
	SAME(destroy_comp_cntr(cntr), 0);
	attr.type = 2;
	REFUSED(create_comp_cntr(ctx, &attr), EOPNOTSUPP);
}

TESTS(
	TEST(plain_qp), TEST(qp_functions), TEST(port_speed), TEST(completion_counters)
)
