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

TESTS(
	TEST(plain_qp), TEST(qp_functions), TEST(port_speed)
)
