// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests for DC QPs that no library sends, by the commands of uverbs and by its ioctl.
 */
#include "dc.h"

#include "usage.h"

#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#define RESPONSE	sizeof(struct weft_create_qp_resp)
#define NOWHERE		8		/* no process has memory there */
#define PAGE		65536		/* of any architecture */

/* a request for a DC QP, and what the core has to know of it */
struct raw {
	struct weft_create_dc_req req;
	uint64_t behind[2];		/* bytes that the kernel does not know */
	uint32_t in, out;		/* bytes of request and response */
	uint32_t srq;			/* handle; 0: none, as the first of a context is not used */
	uint32_t max_recv_wr, max_recv_sge;
	uint32_t create_flags;		/* by ioctl() only */
	bool bad_in;			/* likewise */
	bool bad_out;			/* the response is for nowhere */
	bool late;			/* the core's is, which follows */
};

static struct ibv_cq *cq;
static struct ibv_srq *first_srq, *srq, *tagged;
static struct ib_uverbs_qp_cap cap_resp;
static uint8_t *hole;			/* the end of a page without rights; then comes another one */
static uint32_t created;		/* handle of the QP */

static struct raw initiator(void)
{
	return (struct raw){
		.req.type = WEFT_DC_INITIATOR, .req.cookie = 1, .in = sizeof(struct weft_create_dc_req),
		.out = RESPONSE,
	};
}

static struct raw target(void)
{
	return (struct raw){
		.req.type = WEFT_DC_TARGET, .req.cookie = 1, .req.access_key = KEY,
		.in = sizeof(struct weft_create_dc_req), .out = RESPONSE, .srq = srq->handle,
	};
}

/* Return: errno */
static int by_command(struct raw *raw)
{
	struct {
		struct ib_uverbs_create_qp_resp core;
		uint8_t weft[2 * RESPONSE];
	} resp = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_qp core;
		struct weft_create_dc_req req;
		uint64_t behind[2];
	} cmd = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_CREATE_QP,
			.in_words = (sizeof(cmd.hdr) + sizeof(cmd.core) + raw->in) / 4,
			.out_words = (sizeof(resp.core) + raw->out) / 4,
		},
		.core = {
			.response = raw->bad_out ? NOWHERE : raw->late ?
				    (uintptr_t)hole - sizeof(resp.core) : (uintptr_t)&resp,
			.pd_handle = pd->handle, .send_cq_handle = cq->handle,
			.recv_cq_handle = cq->handle, .srq_handle = raw->srq,
			.is_srq = !!raw->srq, .qp_type = IBV_QPT_DRIVER, .max_send_wr = 4,
			.max_send_sge = 1, .max_recv_wr = raw->max_recv_wr,
			.max_recv_sge = raw->max_recv_sge,
		},
		.req = raw->req, .behind = { raw->behind[0], raw->behind[1] },
	};

	if (write(ctx->cmd_fd, &cmd, sizeof(cmd.hdr) + sizeof(cmd.core) + raw->in) < 0)
		return errno;
	created = resp.core.qp_handle;
	return 0;
}

static void add(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, uint16_t length, uint64_t data)
{
	hdr->attrs[hdr->num_attrs++] = (struct ib_uverbs_attr){
		.attr_id = id, .len = length, .flags = UVERBS_ATTR_F_MANDATORY, .data = data,
	};
}

/* data of up to eight bytes are in the place of the pointer */
static void add_data(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, uint16_t length,
		     const void *data)
{
	uint64_t value = (uintptr_t)data;

	if (length <= 8)
		memcpy(&value, data, length);
	add(hdr, id, length, value);
}

static int by_ioctl(struct raw *raw)
{
	struct ib_uverbs_qp_cap cap = {
		.max_send_wr = 4, .max_send_sge = 1, .max_recv_wr = raw->max_recv_wr,
		.max_recv_sge = raw->max_recv_sge,
	};
	uint8_t buf[sizeof(struct ib_uverbs_ioctl_hdr) + 16 * sizeof(struct ib_uverbs_attr)] = {};
	struct ib_uverbs_ioctl_hdr *hdr = (void *)buf;
	uint8_t resp[2 * RESPONSE];
	uint32_t qpn;

	hdr->object_id = UVERBS_OBJECT_QP;
	hdr->method_id = UVERBS_METHOD_QP_CREATE;
	hdr->driver_id = RDMA_DRIVER_WEFT;
	/* the first one, as it is read below */
	add(hdr, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	add(hdr, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, pd->handle);
	add(hdr, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, cq->handle);
	add(hdr, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, cq->handle);
	if (raw->srq)
		add(hdr, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 0, raw->srq);
	add(hdr, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 0);
	add(hdr, UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap), (uintptr_t)&cap);
	add(hdr, UVERBS_ATTR_CREATE_QP_TYPE, 8, IBV_QPT_DRIVER);
	if (raw->create_flags)
		add(hdr, UVERBS_ATTR_CREATE_QP_FLAGS, 4, raw->create_flags);
	add(hdr, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap_resp), (uintptr_t)&cap_resp);
	add(hdr, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4,
	    raw->late ? NOWHERE : (uintptr_t)&qpn);
	if (raw->bad_in)
		add(hdr, UVERBS_ATTR_UHW_IN, raw->in, NOWHERE);
	else if (raw->in)
		add_data(hdr, UVERBS_ATTR_UHW_IN, raw->in, &raw->req);
	if (raw->out)
		add(hdr, UVERBS_ATTR_UHW_OUT, raw->out,
		    raw->bad_out ? NOWHERE : (uintptr_t)resp);
	hdr->length = sizeof(*hdr) + hdr->num_attrs * sizeof(hdr->attrs[0]);
	if (ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, hdr))
		return errno;
	created = hdr->attrs[0].data;
	return 0;
}

static void destroy(void)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_destroy_qp core;
	} cmd = {
		.hdr = { IB_USER_VERBS_CMD_DESTROY_QP, sizeof(cmd) / 4, sizeof(resp) / 4 },
		.core = { .response = (uintptr_t)&resp, .qp_handle = created },
	};

	SAME(write(ctx->cmd_fd, &cmd, sizeof(cmd)), sizeof(cmd));
}

/* by_command() or by_ioctl() */
static int (*ask)(struct raw *raw);

static void answers(struct raw raw, int error)
{
	int ret = ask(&raw);

	if (!ret)
		destroy();
	if (ret != error)
		FAIL("expected %s, got %s", strerror(error), strerror(ret));
}

/* @size bytes at @at of the request are @value */
static void with(struct raw raw, size_t at, size_t size, uint64_t value, int error)
{
	note("%zu bytes at %zu are %#llx", size, at, (unsigned long long)value);
	memcpy((uint8_t *)&raw.req + at, &value, size);
	answers(raw, error);
	note(NULL);
}

#define WITH(raw, member, value, error)						\
	with(raw, offsetof(struct weft_create_dc_req, member),			\
	     sizeof(((struct weft_create_dc_req *)0)->member), value, error)

static void each_field(void)
{
	struct raw dci = initiator(), dct = target(), streams = initiator();
	int i;

	answers(dci, 0);
	answers(dct, 0);
	streams.req.streams = 1;
	for (i = 0; i < 64; i++) {
		WITH(dci, comp_mask, 1ULL << i, EINVAL);
		WITH(dct, comp_mask, 1ULL << i, EINVAL);
		WITH(dci, cookie, 1ULL << i, 0);
		WITH(dct, access_key, 1ULL << i, 0);
		WITH(dci, access_key, 1ULL << i, EINVAL);
	}
	for (i = 0; i < 32; i++) {
		WITH(dci, reserved_1c, 1U << i, EINVAL);
		WITH(dct, reserved_1c, 1U << i, EINVAL);
	}
	for (i = 0; i < 256; i++) {
		WITH(dct, type, i, i == WEFT_DC_TARGET ? 0 : EINVAL);
		WITH(dci, type, i, i == WEFT_DC_INITIATOR ? 0 : EINVAL);
		WITH(dci, streams, i, i < 2 ? 0 : EINVAL);
		WITH(dct, streams, i, i ? EINVAL : 0);
		WITH(dci, log_streams, i, i ? EINVAL : 0);
		WITH(dci, log_errored, i, i ? EINVAL : 0);
		WITH(dct, log_streams, i, i ? EINVAL : 0);
		WITH(dct, log_errored, i, i ? EINVAL : 0);
		WITH(streams, log_streams, i, i <= WEFT_DC_LOG_STREAMS ? 0 : EINVAL);
		WITH(streams, log_errored, i, i <= WEFT_DC_LOG_STREAMS ? 0 : EINVAL);
	}
}

/* too short, or longer than the kernel knows, which is right as long as there are only zeros */
static void each_size(void)
{
	struct raw kinds[] = { initiator(), target() }, raw;
	uint32_t i, size;

	for (i = 0; i < 2; i++) {
		for (size = 0; size < sizeof(raw.req); size += 4) {
			note("kind %u, request of %u bytes", i, size);
			raw = kinds[i];
			raw.in = size;
			answers(raw, EINVAL);
		}
		for (size = 4; size <= sizeof(raw.behind); size += 4) {
			note("kind %u, request with %u more bytes", i, size);
			raw = kinds[i];
			raw.in += size;
			answers(raw, 0);
			((uint8_t *)raw.behind)[size - 1] = 1;
			answers(raw, EINVAL);
		}
		for (size = 0; size < RESPONSE; size += 4) {
			note("kind %u, response of %u bytes", i, size);
			raw = kinds[i];
			raw.out = size;
			answers(raw, EINVAL);
		}
		note("kind %u, longer response", i);
		raw = kinds[i];
		raw.out += 4;
		answers(raw, 0);
		note("kind %u, response to nowhere", i);
		raw = kinds[i];
		raw.bad_out = true;
		answers(raw, EFAULT);
		/* when the QP is complete; so often that what it leaves would be seen */
		note("kind %u, the core's response to nowhere", i);
		raw = kinds[i];
		raw.late = true;
		for (size = 0; size < 20; size++)
			answers(raw, EFAULT);
	}
	note(NULL);
}

static void each_object(void)
{
	struct raw raw = target();

	note("target without SRQ");
	raw.srq = 0;
	answers(raw, EINVAL);
	note("target with an SRQ that has tags");
	raw.srq = tagged->handle;
	answers(raw, EINVAL);
	note("initiator with receives");
	raw = initiator();
	raw.max_recv_wr = 1;
	answers(raw, EINVAL);
	raw = initiator();
	raw.max_recv_sge = 1;
	answers(raw, EINVAL);
	note("initiator with an SRQ");
	raw = initiator();
	raw.srq = srq->handle;
	answers(raw, 0);
	note(NULL);
	if (ask != by_ioctl)
		return;
	note("target with flags");
	raw = target();
	raw.create_flags = IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	answers(raw, EINVAL);
	note("initiator with flags");
	raw = initiator();
	raw.create_flags = IB_UVERBS_QP_CREATE_SCATTER_FCS;
	answers(raw, EOPNOTSUPP);
	note("request from nowhere");
	raw = initiator();
	raw.bad_in = true;
	answers(raw, EFAULT);
	note(NULL);
}

static void ask_all(int num)
{
	for (; num; num--) {
		ask = by_command;
		each_field();
		each_size();
		each_object();
		ask = by_ioctl;
		each_field();
		each_size();
		each_object();
	}
}

static void make_objects(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex tags = {
		.attr = { .max_wr = 16, .max_sge = 1 }, .srq_type = IBV_SRQT_TM, .pd = pd,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.tm_cap = { .max_num_tags = 4, .max_ops = 4 },
	};

	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	first_srq = ibv_create_srq(pd, &attr);
	srq = ibv_create_srq(pd, &attr);
	hole = (uint8_t *)memory(2 * PAGE) + PAGE;
	SAME(mprotect(hole - PAGE, PAGE, PROT_NONE), 0);
	tags.cq = cq;
	tagged = ibv_create_srq_ex(ctx, &tags);
	CHECK(cq && first_srq && srq && tagged);
	CHECK(srq->handle);
}

/* The other objects can go, so no QP is left, and DC works. */
static void check_the_end(void)
{
	struct dci i = {};
	struct dct t = {};

	SAME(ibv_destroy_srq(tagged), 0);
	SAME(ibv_destroy_srq(srq), 0);
	SAME(ibv_destroy_srq(first_srq), 0);
	SAME(ibv_destroy_cq(cq), 0);
	expect_no_event();
	make_dci(&i);
	make_dct(&t);
	check_dc_works(&i, &t);
}

void raw_requests(void)
{
	make_objects();
	ask_all(1);
	check_the_end();
}

void raw_requests_leave_nothing(void)
{
	make_objects();
	ask_all(1);
	SAME(usage_watch(ask_all, repeat(1, 4)), 0);
	check_the_end();
}
