// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Compares engine/rules.c with tables that were copied from IBA independently, in its terms and
 * units.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "engine/opdef.h"
#include "object/dc.h"

#define RULES_SEED	0x72756c65
#define RULES_ROUNDS	20000

/*
 * Classes of responder faults (IBA 9.9.3, table 59)
 *
 *	A	local fault: NAK Remote Operational Error, the receive completes, ERR
 *	B	not ready: RNR NAK only
 *	C	NAK Invalid Request or Remote Access Error, ERR
 *	D	dropped silently
 *	J	SEND with Invalidate: NAK Remote Access Error, the receive completes, ERR
 */
enum rules_class { A = 'A', B = 'B', C = 'C', D = 'D', J = 'J' };

/* A row of IBA table 58. */
struct rules_row {
	const char		*name;
	enum weft_fault		fault;
	/* class for RC, UC and UD */
	enum rules_class	service[WEFT_SERVICES];
	/* status of an RC requester after the NAK */
	enum ib_wc_status	requester;
	/* status of the receive work request (IBA 11.6.2); 0: none completes */
	enum ib_wc_status	responder;
	/* IBA 11.6.3.2 calls an invalid request an access violation */
	bool			violation;
};

static const struct rules_row rules_rows[] = {
	{ "resources not ready", WEFT_FAULT_RNR, { B, D, D }, 0, 0 },
	{ "R_Key violation", WEFT_FAULT_REMOTE_ACCESS, { C, D, D },
	  IB_WC_REM_ACCESS_ERR, 0 },
	{ "R_Key violation, with immediate", WEFT_FAULT_IMMEDIATE_ACCESS, { C, D, D },
	  IB_WC_REM_ACCESS_ERR, IB_WC_LOC_ACCESS_ERR },
	{ "function not supported by the QP", WEFT_FAULT_NOT_ENABLED, { C, D, D },
	  IB_WC_REM_INV_REQ_ERR, 0 },
	{ "misaligned ATOMIC", WEFT_FAULT_MISALIGNED, { C, D, D },
	  IB_WC_REM_INV_REQ_ERR, 0, true },
	{ "too many RDMA READ or ATOMIC", WEFT_FAULT_NO_RESOURCES, { C, D, D },
	  IB_WC_REM_INV_REQ_ERR, 0, true },
	{ "length error", WEFT_FAULT_RECV_LENGTH, { C, D, D },
	  IB_WC_REM_INV_REQ_ERR, IB_WC_LOC_LEN_ERR },
	{ "local protection error", WEFT_FAULT_RECV_PROTECTION, { A, A, A },
	  IB_WC_REM_OP_ERR, IB_WC_LOC_PROT_ERR },
	{ "malformed receive WQE", WEFT_FAULT_RECV_MALFORMED, { A, A, A },
	  IB_WC_REM_OP_ERR, IB_WC_LOC_QP_OP_ERR },
	{ "invalidate R_Key", WEFT_FAULT_INVALIDATE, { J, D, D },
	  IB_WC_REM_ACCESS_ERR, IB_WC_LOC_ACCESS_ERR },
	{ "opcode or order", WEFT_FAULT_BAD_REQUEST, { C, D, D },
	  IB_WC_REM_INV_REQ_ERR, IB_WC_REM_INV_REQ_ERR },
	{ "length of a request", WEFT_FAULT_REQUEST_LENGTH, { C, D, D },
	  IB_WC_REM_INV_REQ_ERR, IB_WC_REM_INV_REQ_ERR, true },
	/* for XRC only (IBA annex A14), which has the rules of RC */
	{ "XRC SRQ", WEFT_FAULT_XRC_SRQ, { C, D, D },
	  IB_WC_REM_INV_REQ_ERR, IB_WC_SUCCESS, true },
	{ "local QP error, no memory", WEFT_FAULT_NO_MEMORY, { A, A, D },
	  IB_WC_REM_OP_ERR, IB_WC_LOC_QP_OP_ERR },
};

static void rules_row_desc(const struct rules_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rules_row, rules_rows, rules_row_desc);

static enum weft_reply rules_reply(enum rules_class class, enum weft_service service)
{
	if (service != WEFT_SERVICE_RC || class == D)
		return WEFT_REPLY_NONE;
	return class == B ? WEFT_REPLY_RNR : WEFT_REPLY_NAK;
}

/* IBA 11.6.3: the affiliated asynchronous error that goes with a NAK */
static enum ib_event_type rules_event(enum weft_service service, const struct rules_row *row)
{
	if (service != WEFT_SERVICE_RC)
		return IB_EVENT_QP_FATAL;
	switch (row->requester) {
	case IB_WC_REM_INV_REQ_ERR:
		return row->violation ? IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR;
	case IB_WC_REM_ACCESS_ERR:
		return IB_EVENT_QP_ACCESS_ERR;
	default:
		return IB_EVENT_QP_FATAL;
	}
}

static void verdict_of_service(struct kunit *test, const struct rules_row *row,
			       enum weft_service service)
{
	enum rules_class class = row->service[service];
	enum weft_reply reply = rules_reply(class, service);
	bool fatal = class != B && class != D;
	enum ib_wc_status responder = fatal ? row->responder : 0;
	const struct weft_refusal *verdict;

	verdict = weft_rules_refusal(row->fault, service);
	KUNIT_EXPECT_EQ_MSG(test, verdict->reply, reply, "service %d", service);
	KUNIT_EXPECT_EQ_MSG(test, verdict->requester,
			    reply == WEFT_REPLY_NAK ? row->requester : 0,
			    "service %d", service);
	KUNIT_EXPECT_EQ_MSG(test, verdict->responder, responder, "service %d", service);
	KUNIT_EXPECT_EQ_MSG(test, verdict->fatal, fatal, "service %d", service);
	/* for when there is no receive that completes */
	KUNIT_EXPECT_EQ_MSG(test, verdict->has_event, fatal, "service %d", service);
	if (fatal)
		KUNIT_EXPECT_EQ_MSG(test, verdict->event, rules_event(service, row),
				    "service %d", service);
}

static void verdict_row(struct kunit *test)
{
	int service;

	for (service = 0; service < WEFT_SERVICES; service++)
		verdict_of_service(test, test->param_value, service);
}

static bool rules_is_responders(enum weft_fault fault)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rules_rows); i++)
		if (rules_rows[i].fault == fault)
			return true;
	return false;
}

/* The table has each fault that engine/rules.h marks as one of the responder. */
static void verdict_rows_are_complete(struct kunit *test)
{
	int fault;

	for (fault = WEFT_FAULT_NONE; fault < WEFT_FAULTS; fault++)
		KUNIT_EXPECT_EQ_MSG(test, rules_is_responders(fault),
				    (fault >= WEFT_FAULT_RNR &&
				     fault <= WEFT_FAULT_BAD_REQUEST) ||
				    fault == WEFT_FAULT_XRC_SRQ ||
				    fault == WEFT_FAULT_NO_MEMORY ||
				    fault == WEFT_FAULT_IMMEDIATE_ACCESS ||
				    fault == WEFT_FAULT_REQUEST_LENGTH, "fault %d", fault);
}

/* Other faults have an empty verdict: no NAK, and no change of the QP. */
static void verdict_of_others_is_nothing(struct kunit *test)
{
	static const struct weft_refusal nothing;
	int fault, service;

	for (fault = WEFT_FAULT_NONE; fault < WEFT_FAULTS; fault++) {
		if (rules_is_responders(fault))
			continue;
		for (service = 0; service < WEFT_SERVICES; service++)
			KUNIT_EXPECT_MEMEQ(test, weft_rules_refusal(fault, service),
					   &nothing, sizeof(nothing));
	}
}

/* The statuses that a rule can complete a receive with; a requester of UC or UD hears of none. */
static void receive_statuses(struct kunit *test)
{
	static const u32 known = BIT(IB_WC_LOC_LEN_ERR) | BIT(IB_WC_LOC_QP_OP_ERR) |
		BIT(IB_WC_LOC_PROT_ERR) | BIT(IB_WC_WR_FLUSH_ERR) | BIT(IB_WC_LOC_ACCESS_ERR) |
		BIT(IB_WC_REM_INV_REQ_ERR) | BIT(IB_WC_REM_ABORT_ERR) | BIT(IB_WC_FATAL_ERR) |
		BIT(IB_WC_GENERAL_ERR);
	const struct weft_refusal *verdict;
	int status, service;

	for (status = IB_WC_SUCCESS; status <= IB_WC_GENERAL_ERR + 1; status++) {
		for (service = 0; service < WEFT_SERVICES; service++) {
			verdict = weft_rules_receive(status, service);
			KUNIT_EXPECT_EQ_MSG(test, !!verdict, !!(known & BIT(status)),
					    "status %d", status);
			if (!verdict)
				continue;
			KUNIT_EXPECT_EQ(test, verdict->responder, status);
			/* the completion tells */
			KUNIT_EXPECT_FALSE(test, verdict->has_event);
			if (service != WEFT_SERVICE_RC)
				KUNIT_EXPECT_EQ(test, verdict->reply, WEFT_REPLY_NONE);
			KUNIT_EXPECT_EQ_MSG(test, verdict->fatal,
					    service == WEFT_SERVICE_RC ||
					    status != IB_WC_REM_ABORT_ERR,
					    "status %d, service %d", status, service);
		}
	}
}

static void service_of_type(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, weft_rules_service(IB_QPT_RC), WEFT_SERVICE_RC);
	KUNIT_EXPECT_EQ(test, weft_rules_service(IB_QPT_UC), WEFT_SERVICE_UC);
	KUNIT_EXPECT_EQ(test, weft_rules_service(IB_QPT_UD), WEFT_SERVICE_UD);
	KUNIT_EXPECT_EQ(test, weft_rules_service(IB_QPT_GSI), WEFT_SERVICE_UD);
	/* DC is not in IBA: each message goes as on a connection */
	KUNIT_EXPECT_EQ(test, weft_rules_service(WEFT_QPT_DCI), WEFT_SERVICE_RC);
	KUNIT_EXPECT_EQ(test, weft_rules_service(WEFT_QPT_DCT), WEFT_SERVICE_RC);
}

/* IBA 11.6.2, completion return status */
struct rules_status_row {
	const char		*name;
	enum weft_fault		fault;
	enum ib_wc_status	status;
};

static const struct rules_status_row rules_status_rows[] = {
	{ "Work Request Flushed Error", WEFT_FAULT_FLUSHED, IB_WC_WR_FLUSH_ERR },
	{ "Local QP Operation Error, WQE", WEFT_FAULT_MALFORMED, IB_WC_LOC_QP_OP_ERR },
	{ "Local QP Operation Error, opcode", WEFT_FAULT_OPCODE, IB_WC_LOC_QP_OP_ERR },
	{ "Local Length Error", WEFT_FAULT_LOCAL_LENGTH, IB_WC_LOC_LEN_ERR },
	{ "Local Protection Error", WEFT_FAULT_LOCAL_PROTECTION, IB_WC_LOC_PROT_ERR },
	{ "Local QP Operation Error, address", WEFT_FAULT_ADDRESS, IB_WC_LOC_QP_OP_ERR },
	{ "Memory Management Operation Error", WEFT_FAULT_BIND, IB_WC_MW_BIND_ERR },
	{ "Local QP Operation Error, credit", WEFT_FAULT_NO_CREDIT, IB_WC_LOC_QP_OP_ERR },
	{ "Transport Retry Counter Exceeded", WEFT_FAULT_RETRY, IB_WC_RETRY_EXC_ERR },
	{ "RNR Retry Counter Exceeded", WEFT_FAULT_RNR_RETRY, IB_WC_RNR_RETRY_EXC_ERR },
	{ "Remote Invalid Request Error", WEFT_FAULT_NAK_REQUEST, IB_WC_REM_INV_REQ_ERR },
	{ "Remote Access Error", WEFT_FAULT_NAK_ACCESS, IB_WC_REM_ACCESS_ERR },
	{ "Remote Operation Error", WEFT_FAULT_NAK_OPERATION, IB_WC_REM_OP_ERR },
	{ "Bad Response Error", WEFT_FAULT_BAD_RESPONSE, IB_WC_BAD_RESP_ERR },
	{ "Work Request Flushed Error, queue", WEFT_FAULT_QUEUE_INDEX, IB_WC_WR_FLUSH_ERR },
	{ "Work Request Flushed Error, CQ", WEFT_FAULT_CQ_OVERRUN, IB_WC_WR_FLUSH_ERR },
	{ "no way to go on, device", WEFT_FAULT_REMOVED, IB_WC_FATAL_ERR },
	/* no memory at the requester */
	{ "General Error", WEFT_FAULT_NO_MEMORY, IB_WC_GENERAL_ERR },
	{ "by an injection rule", WEFT_FAULT_INJECTED, IB_WC_GENERAL_ERR },
};

static void rules_status_row_desc(const struct rules_status_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rules_status_row, rules_status_rows, rules_status_row_desc);

static void status_row(struct kunit *test)
{
	const struct rules_status_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, weft_rules_status(row->fault), row->status);
}

/* The number of a fault that there is no more. */
#define RULES_UNUSED	31

/* A fault that completes with success would be lost. */
static void status_is_never_success(struct kunit *test)
{
	int fault;

	for (fault = WEFT_FAULT_FLUSHED; fault < WEFT_FAULTS; fault++)
		if (!rules_is_responders(fault) && fault != RULES_UNUSED)
			KUNIT_EXPECT_NE_MSG(test, weft_rules_status(fault),
					    IB_WC_SUCCESS, "fault %d", fault);
}

/*
 * The operations of each service (IBA 10.8.2 and the opcodes of table 38). ibv_post_send(3) lists
 * SEND with Invalidate for UC as well, but no packet of UC can carry it.
 */
struct rules_opcode_row {
	const char	*name;
	u8		opcode;
	bool		rc;
	bool		uc;
	bool		ud;
	bool		may_inline;
};

static const struct rules_opcode_row rules_opcode_rows[] = {
	{ "SEND", WEFT_SQE_SEND, true, true, true, true },
	{ "SEND with immediate", WEFT_SQE_SEND_IMM, true, true, true, true },
	{ "SEND with Invalidate", WEFT_SQE_SEND_INV, true, false, false, true },
	{ "RDMA WRITE", WEFT_SQE_WRITE, true, true, false, true },
	{ "RDMA WRITE with immediate", WEFT_SQE_WRITE_IMM, true, true, false, true },
	{ "RDMA READ", WEFT_SQE_READ, true, false, false, false },
	{ "Compare and Swap", WEFT_SQE_CMP_SWP, true, false, false, false },
	{ "Fetch and Add", WEFT_SQE_FETCH_ADD, true, false, false, false },
	{ "Local Invalidate", WEFT_SQE_LOCAL_INV, true, true, false, true },
	{ "Bind Memory Window", WEFT_SQE_BIND_MW, true, true, false, true },
	{ "Register Memory Region", WEFT_SQE_REG_MR, true, true, false, true },
	{ "FLUSH", WEFT_SQE_FLUSH, true, false, false, true },
	{ "ATOMIC WRITE", WEFT_SQE_ATOMIC_WRITE, true, false, false, true },
	/* allowed for some QPs, but not for all QPs of a service */
	{ "LSO", WEFT_SQE_LSO, false, false, false, true },
	{ "masked Compare and Swap", WEFT_SQE_MASKED_CMP_SWP, false, false, false, false },
	{ "masked Fetch and Add", WEFT_SQE_MASKED_FETCH_ADD, false, false, false, false },
	{ "mkey", WEFT_SQE_MKEY, true, false, false, true },
	{ "NOP", WEFT_SQE_NOP, true, false, false, true },
	{ "first that is none", WEFT_SQE_OPCODES, false, false, false },
	{ "32, as bit 0", 32, false, false, false },
	{ "64, as bit 0", 64, false, false, false },
	{ "last of all", 255, false, false, false },
};

static_assert(ARRAY_SIZE(rules_opcode_rows) == WEFT_SQE_OPCODES + 4);

static void rules_opcode_row_desc(const struct rules_opcode_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rules_opcode_row, rules_opcode_rows, rules_opcode_row_desc);

static void opcode_allowed_row(struct kunit *test)
{
	const struct rules_opcode_row *row = test->param_value;
	u8 opcode = row->opcode;

	KUNIT_EXPECT_EQ(test, weft_opdef_allowed(IB_QPT_RC, false, 0, opcode), row->rc);
	KUNIT_EXPECT_EQ(test, weft_opdef_allowed(WEFT_QPT_DCI, false, 0, opcode), row->rc);
	KUNIT_EXPECT_EQ(test, weft_opdef_allowed(IB_QPT_UC, false, 0, opcode), row->uc);
	KUNIT_EXPECT_EQ(test, weft_opdef_allowed(IB_QPT_UD, false, 0, opcode), row->ud);
	KUNIT_EXPECT_EQ(test, weft_opdef_allowed(IB_QPT_GSI, false, 0, opcode), row->ud);
	if (opcode < WEFT_SQE_OPCODES)
		KUNIT_EXPECT_EQ(test, weft_opdef_may_inline(weft_opdef(opcode)), row->may_inline);
}

/* LSO: QPs of IPoIB, and of frames; masked atomics: RC QPs of kernel consumers */
static void opcode_of_some_qps(struct kunit *test)
{
	static const u8 masked[] = { WEFT_SQE_MASKED_CMP_SWP, WEFT_SQE_MASKED_FETCH_ADD };
	u32 lso = IB_QP_CREATE_IPOIB_UD_LSO, i;

	KUNIT_EXPECT_TRUE(test, weft_opdef_allowed(IB_QPT_UD, true, lso, WEFT_SQE_LSO));
	KUNIT_EXPECT_FALSE(test, weft_opdef_allowed(IB_QPT_UD, true, ~lso, WEFT_SQE_LSO));
	KUNIT_EXPECT_FALSE(test, weft_opdef_allowed(IB_QPT_RC, true, lso, WEFT_SQE_LSO));
	KUNIT_EXPECT_FALSE(test, weft_opdef_allowed(WEFT_QPT_DCI, false, lso, WEFT_SQE_LSO));
	KUNIT_EXPECT_TRUE(test, weft_opdef_allowed(IB_QPT_RAW_PACKET, false, lso, WEFT_SQE_LSO));
	KUNIT_EXPECT_FALSE(test, weft_opdef_allowed(IB_QPT_RAW_PACKET, false, ~lso, WEFT_SQE_LSO));
	for (i = 0; i < ARRAY_SIZE(masked); i++) {
		KUNIT_EXPECT_TRUE(test, weft_opdef_allowed(IB_QPT_RC, true, 0, masked[i]));
		KUNIT_EXPECT_FALSE(test, weft_opdef_allowed(IB_QPT_XRC_INI, true, 0, masked[i]));
		KUNIT_EXPECT_FALSE(test, weft_opdef_allowed(WEFT_QPT_DCI, true, 0, masked[i]));
		KUNIT_EXPECT_FALSE(test, weft_opdef_allowed(IB_QPT_UC, true, 0, masked[i]));
		KUNIT_EXPECT_FALSE(test, weft_opdef_allowed(IB_QPT_UD, true, 0, masked[i]));
	}
}

/* IBA table 45, RNR NAK timer field: milliseconds and hundredths */
static const struct {
	u32	ms;
	u32	hundredths;
} rules_rnr_rows[32] = {
	[0] = { 655, 36 },	[16] = { 2, 56 },
	[1] = { 0, 1 },		[17] = { 3, 84 },
	[2] = { 0, 2 },		[18] = { 5, 12 },
	[3] = { 0, 3 },		[19] = { 7, 68 },
	[4] = { 0, 4 },		[20] = { 10, 24 },
	[5] = { 0, 6 },		[21] = { 15, 36 },
	[6] = { 0, 8 },		[22] = { 20, 48 },
	[7] = { 0, 12 },	[23] = { 30, 72 },
	[8] = { 0, 16 },	[24] = { 40, 96 },
	[9] = { 0, 24 },	[25] = { 61, 44 },
	[10] = { 0, 32 },	[26] = { 81, 92 },
	[11] = { 0, 48 },	[27] = { 122, 88 },
	[12] = { 0, 64 },	[28] = { 163, 84 },
	[13] = { 0, 96 },	[29] = { 245, 76 },
	[14] = { 1, 28 },	[30] = { 327, 68 },
	[15] = { 1, 92 },	[31] = { 491, 52 },
};

static void rnr_ns_table(struct kunit *test)
{
	u64 ns;
	u32 i;

	for (i = 0; i < 32; i++) {
		ns = rules_rnr_rows[i].ms * 1000000ULL +
		     rules_rnr_rows[i].hundredths * 10000ULL;
		KUNIT_EXPECT_EQ_MSG(test, weft_rules_rnr_ns(i), ns, "timer %u", i);
	}
}

/* The field has five bits, but min_rnr_timer of a QP is a byte. */
static void rnr_ns_ignores_upper_bits(struct kunit *test)
{
	u32 i;

	for (i = 32; i < 256; i++)
		KUNIT_EXPECT_EQ(test, weft_rules_rnr_ns(i), weft_rules_rnr_ns(i % 32));
}

struct rules_psn_row {
	const char	*name;
	u32		length;
	u32		mtu;
	u32		count;
};

static const struct rules_psn_row rules_psn_rows[] = {
	{ "nothing is a packet", 0, 1024, 1 },
	{ "one byte", 1, 1024, 1 },
	{ "one less than a packet", 1023, 1024, 1 },
	{ "a packet", 1024, 1024, 1 },
	{ "one more", 1025, 1024, 2 },
	{ "two packets", 2048, 1024, 2 },
	{ "nothing, MTU 256", 0, 256, 1 },
	{ "a packet, MTU 256", 256, 256, 1 },
	{ "one more, MTU 256", 257, 256, 2 },
	{ "2^31, MTU 256: half of all PSNs", 1U << 31, 256, 1 << 23 },
	{ "2^31 - 255, MTU 256", (1U << 31) - 255, 256, 1 << 23 },
	{ "2^31 - 256, MTU 256", (1U << 31) - 256, 256, (1 << 23) - 1 },
	{ "nothing, MTU 4096", 0, 4096, 1 },
	{ "a packet, MTU 4096", 4096, 4096, 1 },
	{ "one more, MTU 4096", 4097, 4096, 2 },
	{ "2^31, MTU 4096", 1U << 31, 4096, 1 << 19 },
	{ "2^31 - 1, MTU 4096", (1U << 31) - 1, 4096, 1 << 19 },
	{ "more than a message may be", 0xffffffff, 4096, 1 << 20 },
};

static void rules_psn_row_desc(const struct rules_psn_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rules_psn_row, rules_psn_rows, rules_psn_row_desc);

static void psn_count_row(struct kunit *test)
{
	const struct rules_psn_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, weft_rules_psn_count(row->length, row->mtu), row->count);
}

/* Counts the whole packets, and one for the rest. */
static u32 rules_naive_count(u32 length, u32 mtu)
{
	u32 count = length / mtu;

	if (length % mtu)
		count++;
	return count ? count : 1;
}

static void psn_count_random(struct kunit *test)
{
	struct rnd_state rnd;
	u32 length, mtu;
	int i;

	kunit_info(test, "seed %#x", RULES_SEED);
	prandom_seed_state(&rnd, RULES_SEED);
	for (i = 0; i < RULES_ROUNDS; i++) {
		mtu = 256 << prandom_u32_state(&rnd) % 5;
		length = prandom_u32_state(&rnd) >> prandom_u32_state(&rnd) % 32;
		KUNIT_ASSERT_EQ_MSG(test, weft_rules_psn_count(length, mtu),
				    rules_naive_count(length, mtu),
				    "length %u, MTU %u", length, mtu);
	}
}

static struct kunit_case rules_cases[] = {
	KUNIT_CASE_PARAM(verdict_row, rules_row_gen_params),
	KUNIT_CASE(verdict_rows_are_complete),
	KUNIT_CASE(verdict_of_others_is_nothing),
	KUNIT_CASE(receive_statuses),
	KUNIT_CASE(service_of_type),
	KUNIT_CASE_PARAM(status_row, rules_status_row_gen_params),
	KUNIT_CASE(status_is_never_success),
	KUNIT_CASE_PARAM(opcode_allowed_row, rules_opcode_row_gen_params),
	KUNIT_CASE(opcode_of_some_qps),
	KUNIT_CASE(rnr_ns_table),
	KUNIT_CASE(rnr_ns_ignores_upper_bits),
	KUNIT_CASE_PARAM(psn_count_row, rules_psn_row_gen_params),
	KUNIT_CASE(psn_count_random),
	{}
};

static struct kunit_suite rules_suite = {
	.name = "weft_rules",
	.test_cases = rules_cases,
};

kunit_test_suite(rules_suite);
