// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "rdma.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |	\
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define DEPTH 64

static struct ibv_context *open_context(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	errno = ENODEV;
	return NULL;
}

void open_device(struct device *device, const char *name, int gid_index)
{
	struct ibv_port_attr port;

	device->context = open_context(name);
	if (!device->context || ibv_query_gid(device->context, 1, gid_index, &device->gid) ||
	    ibv_query_port(device->context, 1, &port))
		die(name);
	device->gid_index = gid_index;
	device->mtu = port.active_mtu;
	device->pd = ibv_alloc_pd(device->context);
	device->cq = ibv_create_cq(device->context, 256, NULL, NULL, 0);
	if (!device->pd || !device->cq)
		die("resources");
}

void create_memory(struct end *end, uint32_t size)
{
	size_t length = size < 4096 ? 4096 : size;

	if (posix_memalign((void **)&end->buf, 2 << 20, length))
		die("memory");
	memset(end->buf, 1, length);
	end->mr = ibv_reg_mr(end->device->pd, end->buf, length, ACCESS);
	if (!end->mr)
		die("ibv_reg_mr");
}

void create_qp(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->device->cq,
		.recv_cq = end->device->cq,
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = end->uc ? IBV_QPT_UC : IBV_QPT_RC,
	};

	end->qp = ibv_create_qp(end->device->pd, &init);
	if (!end->qp)
		die("ibv_create_qp");
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	errno = ibv_modify_qp(qp, attr, mask);
	if (errno)
		die("ibv_modify_qp");
}

static void connect_end(struct end *end, struct end *peer, enum ibv_mtu mtu)
{
	int rc_rtr = end->uc ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int rc_rts = end->uc ? 0 : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_MAX_QP_RD_ATOMIC;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
			(end->uc ? 0 : IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC),
	};

	modify(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       IBV_QP_ACCESS_FLAGS);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = mtu,
		.dest_qp_num = peer->qp->qp_num, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = {
				.dgid = peer->device->gid,
				.sgid_index = end->device->gid_index,
				.hop_limit = 64,
			},
		},
	};
	modify(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
	       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | rc_rtr);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1,
	};
	modify(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | rc_rts);
}

void connect_ends(struct end *a, struct end *b)
{
	enum ibv_mtu mtu = a->device->mtu;

	if (b->device->mtu < mtu)
		mtu = b->device->mtu;
	connect_end(a, b, mtu);
	connect_end(b, a, mtu);
}

void post_recv(struct end *end, uint32_t size)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf, .length = size, .lkey = end->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(end->qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

void post(struct end *end, struct end *peer, enum ibv_wr_opcode opcode, uint32_t size)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf, .length = size, .lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)peer->buf;
		wr.wr.atomic.rkey = peer->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->buf;
		wr.wr.rdma.rkey = peer->mr->rkey;
	}
	errno = ibv_post_send(end->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

void post_batch(struct end *end, struct end *peer, uint32_t size, int num)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf, .length = size, .lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr[DEPTH], *bad;
	int i;

	for (i = 0; i < num; i++) {
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < num ? &wr[i + 1] : NULL,
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
			.send_flags = i + 1 < num ? 0 : IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)peer->buf, peer->mr->rkey },
		};
	}
	errno = ibv_post_send(end->qp, wr, &bad);
	if (errno)
		die("ibv_post_send");
}

/* counts the messages among them in @messages, if that is not NULL */
static inline __attribute__((always_inline)) int poll_cq(struct ibv_cq *cq, int *messages)
{
	struct ibv_wc wc[4];
	int i, n = ibv_poll_cq(cq, ARRAY_SIZE(wc), wc);

	if (n < 0)
		die("ibv_poll_cq");
	for (i = 0; i < n; i++) {
		if (wc[i].status) {
			fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc[i].status));
			exit(1);
		}
		if (messages)
			*messages += wc[i].opcode == IBV_WC_RECV;
	}
	return n;
}

void wait_completions(struct ibv_cq *a, struct ibv_cq *b, int number)
{
	int n;

	while (number > 0) {
		n = poll_cq(a, NULL);
		if (b != a)
			n += poll_cq(b, NULL);
		number -= n;
		if (!n)
			sched_yield();
	}
}

void wait_message(struct ibv_cq *a, struct ibv_cq *b)
{
	int n, messages = 0;

	while (!messages) {
		n = poll_cq(a, &messages);
		if (b != a)
			n += poll_cq(b, &messages);
		if (!n)
			sched_yield();
	}
}
