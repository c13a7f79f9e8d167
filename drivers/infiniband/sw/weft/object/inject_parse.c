// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A rule is a line of words: its place, then what has to match and what is to be done, each a word
 * or KEY=VALUE. Each key has a row in inject_keys[], which says where it may be used and how its
 * value is read. A word is never more than INJECT_WORD bytes, so it is copied before it is read.
 */
#include "object/inject_parse.h"

#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "compat/port_event.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#include <rdma/weft-abi.h>

#define INJECT_WORD	64

/* A name of a value. */
struct inject_name {
	const char	*name;
	u32		value;
};

struct inject_key {
	const char	*name;
	u8		places;		/* bit per enum weft_inject_place */
	u8		action;		/* enum weft_inject_action that the key asks for */
	u32		field;		/* enum weft_inject_match that it sets */
	bool		bare;		/* it has no value */
	/* returns NULL, or what is wrong with @value */
	const char	*(*read)(struct weft_inject_rule *rule, const char *value);
};

static const struct inject_name inject_places[] = {
	{ "request", WEFT_INJECT_REQUEST }, { "receive", WEFT_INJECT_RECEIVE },
	{ "packet", WEFT_INJECT_PACKET }, { "verb", WEFT_INJECT_VERB }, { "cq", WEFT_INJECT_CQ },
	{ "alloc", WEFT_INJECT_ALLOC }, { }
};

static const struct inject_name inject_services[] = {
	{ "rc", BIT(WEFT_TRANSPORT_RC) }, { "uc", BIT(WEFT_TRANSPORT_UC) },
	{ "ud", BIT(WEFT_TRANSPORT_UD) }, { "xrc", BIT(WEFT_TRANSPORT_XRC) }, { }
};

#define SQE(_name) BIT(WEFT_SQE_##_name)
static const struct inject_name inject_opcodes[] = {
	{ "send", SQE(SEND) | SQE(SEND_IMM) | SQE(SEND_INV) | SQE(LSO) },
	{ "send-imm", SQE(SEND_IMM) }, { "send-inv", SQE(SEND_INV) },
	{ "write", SQE(WRITE) | SQE(WRITE_IMM) }, { "write-imm", SQE(WRITE_IMM) },
	{ "read", SQE(READ) },
	{ "atomic", SQE(CMP_SWP) | SQE(FETCH_ADD) | SQE(MASKED_CMP_SWP) | SQE(MASKED_FETCH_ADD) },
	{ "cmp-swp", SQE(CMP_SWP) }, { "fetch-add", SQE(FETCH_ADD) },
	{ "atomic-write", SQE(ATOMIC_WRITE) }, { "flush", SQE(FLUSH) },
	{ "local-inv", SQE(LOCAL_INV) }, { "bind-mw", SQE(BIND_MW) }, { "reg-mr", SQE(REG_MR) },
	{ "mkey", SQE(MKEY) },
	{ "ack", WEFT_INJECT_ACK }, { "read-response", WEFT_INJECT_READ_RESPONSE },
	{ "atomic-ack", WEFT_INJECT_ATOMIC_ACK }, { }
};

static const struct inject_name inject_positions[] = {
	{ "first", WEFT_SEGMENT_FIRST }, { "last", WEFT_SEGMENT_LAST },
	{ "only", WEFT_SEGMENT_ONLY }, { }
};

/* Their values are places, as a packet that leaves is looked at elsewhere. */
static const struct inject_name inject_directions[] = {
	{ "in", WEFT_INJECT_PACKET }, { "out", WEFT_INJECT_SENT }, { }
};

static const struct inject_name inject_attempts[] = {
	{ "first", false }, { "retry", true }, { }
};

#define VERB(_name, _verb) { _name, WEFT_VERB_##_verb }
static const struct inject_name inject_verbs[] = {
	VERB("alloc_ucontext", ALLOC_UCONTEXT), VERB("alloc_pd", ALLOC_PD),
	VERB("create_cq", CREATE_CQ), VERB("resize_cq", RESIZE_CQ),
	VERB("create_qp", CREATE_QP), VERB("modify_qp", MODIFY_QP), VERB("query_qp", QUERY_QP),
	VERB("create_srq", CREATE_SRQ), VERB("modify_srq", MODIFY_SRQ),
	VERB("create_ah", CREATE_AH), VERB("reg_mr", REG_MR), VERB("rereg_mr", REREG_MR),
	VERB("alloc_mr", ALLOC_MR), VERB("alloc_mw", ALLOC_MW),
	VERB("attach_mcast", ATTACH_MCAST), VERB("create_wq", CREATE_WQ),
	VERB("create_rwq_ind_table", CREATE_RWQ_IND_TABLE), VERB("create_flow", CREATE_FLOW),
	VERB("create_counters", CREATE_COUNTERS), VERB("alloc_dm", ALLOC_DM),
	VERB("reg_dm_mr", REG_DM_MR), VERB("alloc_xrcd", ALLOC_XRCD),
	VERB("advise_mr", ADVISE_MR), VERB("query_srq", QUERY_SRQ),
	VERB("post_send", POST_SEND), VERB("post_recv", POST_RECV),
	VERB("post_srq_recv", POST_SRQ_RECV), { }
};

#define ALLOC(_name, _alloc) { _name, WEFT_ALLOC_##_alloc }
static const struct inject_name inject_allocs[] = {
	ALLOC("context", CONTEXT), ALLOC("qp", QP), ALLOC("ring", RING), ALLOC("slots", SLOTS),
	ALLOC("region", REGION), ALLOC("pages", PAGES), ALLOC("ah", AH), ALLOC("group", GROUP),
	ALLOC("replay", REPLAY), ALLOC("packet", PACKET), ALLOC("monitor", MONITOR), { }
};

static const struct inject_name inject_states[] = {
	{ "RESET", IB_QPS_RESET }, { "INIT", IB_QPS_INIT }, { "RTR", IB_QPS_RTR },
	{ "RTS", IB_QPS_RTS }, { "SQD", IB_QPS_SQD }, { "SQE", IB_QPS_SQE },
	{ "ERR", IB_QPS_ERR }, { }
};

/* The errors that the manual pages of verbs name, and those of a kernel without resources. */
#define ERRNO(_errno) { #_errno, _errno }
static const struct inject_name inject_errnos[] = {
	ERRNO(EACCES), ERRNO(EAGAIN), ERRNO(EBUSY), ERRNO(EFAULT), ERRNO(EINTR), ERRNO(EINVAL),
	ERRNO(EIO), ERRNO(EMFILE), ERRNO(ENETUNREACH), ERRNO(ENODEV), ERRNO(ENOENT),
	ERRNO(ENOMEM), ERRNO(ENOSPC), ERRNO(EOPNOTSUPP), ERRNO(EPERM), ERRNO(ETIMEDOUT), { }
};

/* Without IB_WC_SUCCESS, which is no failure. */
#define STATUS(_status) { #_status, IB_WC_##_status }
static const struct inject_name inject_statuses[] = {
	STATUS(LOC_LEN_ERR), STATUS(LOC_QP_OP_ERR), STATUS(LOC_EEC_OP_ERR), STATUS(LOC_PROT_ERR),
	STATUS(WR_FLUSH_ERR), STATUS(MW_BIND_ERR), STATUS(BAD_RESP_ERR), STATUS(LOC_ACCESS_ERR),
	STATUS(REM_INV_REQ_ERR), STATUS(REM_ACCESS_ERR), STATUS(REM_OP_ERR), STATUS(RETRY_EXC_ERR),
	STATUS(RNR_RETRY_EXC_ERR), STATUS(LOC_RDD_VIOL_ERR), STATUS(REM_INV_RD_REQ_ERR),
	STATUS(REM_ABORT_ERR), STATUS(INV_EECN_ERR), STATUS(INV_EEC_STATE_ERR), STATUS(FATAL_ERR),
	STATUS(RESP_TIMEOUT_ERR), STATUS(GENERAL_ERR), { }
};

/* Those of them that weft_rules_receive() knows. */
static const struct inject_name inject_receive_statuses[] = {
	STATUS(LOC_LEN_ERR), STATUS(LOC_QP_OP_ERR), STATUS(LOC_PROT_ERR), STATUS(WR_FLUSH_ERR),
	STATUS(LOC_ACCESS_ERR), STATUS(REM_INV_REQ_ERR), STATUS(REM_ABORT_ERR), STATUS(FATAL_ERR),
	STATUS(GENERAL_ERR), { }
};

#define NAK(_name, _code) { _name, WEFT_AETH_NAK << 5 | WEFT_NAK_##_code }
static const struct inject_name inject_naks[] = {
	NAK("sequence", PSN_SEQUENCE), NAK("invalid-request", INVALID_REQUEST),
	NAK("remote-access", REMOTE_ACCESS), NAK("remote-operation", REMOTE_OPERATION),
	NAK("invalid-rd-request", INVALID_RD_REQUEST), { }
};

/* The fields of packets that a rule can change, and the largest value of each. */
static const struct inject_field {
	const char	*name;
	u8		field;
	u64		most;
} inject_fields[] = {
	{ "se", WEFT_FIELD_SE, 1 }, { "ackreq", WEFT_FIELD_ACKREQ, 1 },
	{ "psn", WEFT_FIELD_PSN, WEFT_PSN_MASK }, { "imm", WEFT_FIELD_IMM, U32_MAX },
	{ "inv", WEFT_FIELD_INV, U32_MAX }, { "srqn", WEFT_FIELD_SRQN, WEFT_PSN_MASK },
	{ "qkey", WEFT_FIELD_QKEY, U32_MAX }, { "src-qp", WEFT_FIELD_SRC_QP, WEFT_PSN_MASK },
	{ "rkey", WEFT_FIELD_RKEY, U32_MAX }, { "address", WEFT_FIELD_ADDRESS, U64_MAX },
	{ "length", WEFT_FIELD_LENGTH, U32_MAX }, { "msn", WEFT_FIELD_MSN, WEFT_PSN_MASK },
	{ "fecn", WEFT_FIELD_FECN, 1 }, { "becn", WEFT_FIELD_BECN, 1 },
	{ "opcode", WEFT_FIELD_OPCODE, U8_MAX }, { "pkey", WEFT_FIELD_PKEY, U16_MAX },
	/* 0xffffff is multicast */
	{ "dest-qp", WEFT_FIELD_DEST_QP, WEFT_PSN_MASK - 1 },
};

#define EVENT(_event) { #_event, IB_EVENT_##_event }
static const struct inject_name inject_qp_events[] = {
	EVENT(QP_FATAL), EVENT(QP_REQ_ERR), EVENT(QP_ACCESS_ERR), EVENT(COMM_EST),
	EVENT(SQ_DRAINED), EVENT(PATH_MIG), EVENT(PATH_MIG_ERR), EVENT(QP_LAST_WQE_REACHED),
	EVENT(CQ_ERR), EVENT(SRQ_ERR), EVENT(SRQ_LIMIT_REACHED), EVENT(WQ_FATAL), { }
};

/* Without IB_EVENT_GID_CHANGE: the core keeps it for itself if a driver raises it. */
static const struct inject_name inject_port_events[] = {
	EVENT(DEVICE_FATAL), EVENT(PORT_ACTIVE), EVENT(PORT_ERR), EVENT(LID_CHANGE),
	EVENT(PKEY_CHANGE), EVENT(SM_CHANGE), EVENT(CLIENT_REREGISTER),
	{ "DEVICE_SPEED_CHANGE", COMPAT_EVENT_SPEED_CHANGE }, { }
};

static bool inject_lookup(const struct inject_name *names, const char *name, u32 *value)
{
	for (; names->name; names++)
		if (!strcmp(names->name, name)) {
			*value = names->value;
			return true;
		}
	return false;
}

/*
 * The enum ib_event_type of a name, and whether it is about a QP or a queue of it; -ENOENT: there
 * is none; -EOPNOTSUPP: this kernel has none.
 */
int weft_inject_event_type(const char *name, bool *of_qp)
{
	u32 type;

	*of_qp = inject_lookup(inject_qp_events, name, &type);
	if (*of_qp || inject_lookup(inject_port_events, name, &type))
		return type;
	return -ENOENT;
}

static const char *read_number(const char *value, u64 from, u64 to, u64 *number)
{
	if (kstrtou64(value, 0, number))
		return "not a number";
	return *number < from || *number > to ? "number out of range" : NULL;
}

static const char *read_u32(const char *value, u32 from, u32 to, u32 *number)
{
	u64 wide = 0;
	const char *wrong = read_number(value, from, to, &wide);

	*number = wide;
	return wrong;
}

/* N, N-M, N- */
static const char *read_range(const char *value, u32 most, struct weft_inject_range *range)
{
	char from[INJECT_WORD];
	const char *dash = strchr(value, '-'), *wrong;

	if (!dash) {
		wrong = read_u32(value, 0, most, &range->from);
		range->to = range->from;
		return wrong;
	}
	strscpy(from, value, min_t(size_t, dash - value + 1, sizeof(from)));
	wrong = read_u32(from, 0, most, &range->from);
	if (wrong)
		return wrong;
	range->to = most;
	return dash[1] ? read_u32(dash + 1, range->from, most, &range->to) : NULL;
}

/* A decimal fraction such as 0.001, in millionths. */
static const char *read_chance(struct weft_inject_rule *rule, const char *value)
{
	u32 unit = WEFT_INJECT_CERTAIN, chance;

	if (*value != '0' && *value != '1')
		return "a chance is from 0.000001 to 1";
	chance = (*value++ - '0') * unit;
	if (*value && *value != '.')
		return "a chance is from 0.000001 to 1";
	if (*value && !*++value)
		return "a chance is from 0.000001 to 1";
	for (; *value; value++) {
		unit /= 10;
		if (!isdigit(*value) || !unit)
			return "a chance has at most six decimals";
		chance += (*value - '0') * unit;
	}
	rule->chance = chance;
	return chance && chance <= WEFT_INJECT_CERTAIN ? NULL : "a chance is from 0.000001 to 1";
}

/* Read a number with the unit of time, in ns. Returns NULL, or what is wrong with it. */
const char *weft_inject_read_time(const char *value, u64 *ns)
{
	static const struct inject_name units[] = {
		{ "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC }, { "s", NSEC_PER_SEC }, { }
	};
	size_t digits = strspn(value, "0123456789");
	char number[INJECT_WORD];
	const char *wrong;
	u32 unit;
	u64 n;

	if (!digits || !inject_lookup(units, value + digits, &unit))
		return "a time is a number and us, ms or s";
	strscpy(number, value, digits + 1);
	wrong = read_number(number, 1, WEFT_INJECT_TIME / unit, &n);
	if (wrong)
		return "a time is from 1us to 60s";
	*ns = n * unit;
	return NULL;
}

static const char *read_delay(struct weft_inject_rule *rule, const char *value)
{
	return weft_inject_read_time(value, &rule->delay);
}

static const char *read_jitter(struct weft_inject_rule *rule, const char *value)
{
	return weft_inject_read_time(value, &rule->jitter);
}

/* @value is NULL, as the word has none. */
static const char *read_reorder(struct weft_inject_rule *rule, const char *value)
{
	rule->reorder = true;
	return NULL;
}

/* A number with a unit of bits per second. */
static const char *read_rate(struct weft_inject_rule *rule, const char *value)
{
	static const struct inject_name units[] = {
		{ "kbit", 1 }, { "mbit", 1000 }, { "gbit", 1000 * 1000 }, { }
	};
	size_t digits = strspn(value, "0123456789");
	char number[INJECT_WORD];
	const char *wrong;
	u32 unit;

	if (!digits || !inject_lookup(units, value + digits, &unit))
		return "a rate is a number and kbit, mbit or gbit";
	strscpy(number, value, digits + 1);
	wrong = read_u32(number, 1, WEFT_INJECT_RATE / unit, &rule->rate);
	if (wrong)
		return "a rate is from 1kbit to 1000gbit";
	rule->rate *= unit;
	return NULL;
}

static const char *read_after(struct weft_inject_rule *rule, const char *value)
{
	return weft_inject_read_time(value, &rule->begin);
}

static const char *read_for(struct weft_inject_rule *rule, const char *value)
{
	return weft_inject_read_time(value, &rule->end);
}

static const char *read_peer(struct weft_inject_rule *rule, const char *value)
{
	struct in6_addr *to = (struct in6_addr *)&rule->peer;
	__be32 v4;

	if (in6_pton(value, -1, rule->peer.raw, -1, NULL))
		return NULL;
	if (!in4_pton(value, -1, (u8 *)&v4, -1, NULL))
		return "not an address";
	ipv6_addr_set_v4mapped(v4, to);
	return NULL;
}

static const char *read_truncate(struct weft_inject_rule *rule, const char *value)
{
	return read_number(value, 0, U32_MAX, &rule->value);
}

/* FIELD:VALUE */
static const char *read_set(struct weft_inject_rule *rule, const char *value)
{
	const char *colon = strchr(value, ':');
	size_t length = colon ? colon - value : 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(inject_fields); i++) {
		const struct inject_field *field = &inject_fields[i];

		if (strlen(field->name) != length || memcmp(field->name, value, length))
			continue;
		rule->field = field->field;
		return read_number(colon + 1, 0, field->most, &rule->value);
	}
	return "no such field of a packet";
}

static const char *read_qp(struct weft_inject_rule *rule, const char *value)
{
	return read_u32(value, 0, WEFT_PSN_MASK, &rule->qpn);
}

static const char *read_cqn(struct weft_inject_rule *rule, const char *value)
{
	return read_u32(value, 0, U32_MAX, &rule->cqn);
}

static const char *read_pid(struct weft_inject_rule *rule, const char *value)
{
	return kstrtoint(value, 10, &rule->owner.pid) || rule->owner.pid <= 0 ? "not a process id" :
										NULL;
}

static const char *read_comm(struct weft_inject_rule *rule, const char *value)
{
	size_t length = strlen(value), i;

	if (!length || length >= sizeof(rule->owner.comm))
		return "a name of a process has 1 to 15 bytes";
	/* it is shown to users */
	for (i = 0; i < length; i++)
		if (!isascii(value[i]) || !isgraph(value[i]))
			return "a name of a process is printable ASCII";
	strscpy(rule->owner.comm, value, sizeof(rule->owner.comm));
	return NULL;
}

static const char *read_service(struct weft_inject_rule *rule, const char *value)
{
	return inject_lookup(inject_services, value, &rule->services) ? NULL : "no such service";
}

static const char *read_opcode(struct weft_inject_rule *rule, const char *value)
{
	return inject_lookup(inject_opcodes, value, &rule->opcodes) ? NULL : "no such opcode";
}

static const char *read_bytes(struct weft_inject_rule *rule, const char *value)
{
	return read_range(value, U32_MAX, &rule->bytes);
}

static const char *read_psn(struct weft_inject_rule *rule, const char *value)
{
	return read_range(value, WEFT_PSN_MASK, &rule->psn);
}

static const char *read_message(struct weft_inject_rule *rule, const char *value)
{
	const char *wrong = read_range(value, U32_MAX, &rule->messages);

	return wrong ?: rule->messages.from ? NULL : "messages are counted from 1 on";
}

/* Read a name into a member of a byte. */
static const char *read_u8_name(const struct inject_name *names, const char *value, u8 *member,
				const char *wrong)
{
	u32 number;

	if (!inject_lookup(names, value, &number))
		return wrong;
	*member = number;
	return NULL;
}

static const char *read_place(struct weft_inject_rule *rule, const char *word)
{
	return read_u8_name(inject_places, word, &rule->place,
			    "a rule begins with request, receive, packet, verb, cq or alloc");
}

static const char *read_direction(struct weft_inject_rule *rule, const char *value)
{
	return read_u8_name(inject_directions, value, &rule->place, "no such direction");
}

static const char *read_position(struct weft_inject_rule *rule, const char *value)
{
	return read_u8_name(inject_positions, value, &rule->segment, "no such position");
}

static const char *read_attempt(struct weft_inject_rule *rule, const char *value)
{
	u8 again = 0;
	const char *wrong = read_u8_name(inject_attempts, value, &again, "no such attempt");

	rule->again = again;
	return wrong;
}

/* There is one that has a name. */
static const char *read_path(struct weft_inject_rule *rule, const char *value)
{
	return strcmp(value, "armed") ? "no such path" : NULL;
}

static const char *read_verb(struct weft_inject_rule *rule, const char *value)
{
	return read_u8_name(inject_verbs, value, &rule->verb, "no such verb");
}

static const char *read_alloc(struct weft_inject_rule *rule, const char *value)
{
	return read_u8_name(inject_allocs, value, &rule->alloc, "no such allocation");
}

static const char *read_state(struct weft_inject_rule *rule, const char *value)
{
	return read_u8_name(inject_states, value, &rule->state, "no such state");
}

static const char *read_nth(struct weft_inject_rule *rule, const char *value)
{
	return read_number(value, 1, S64_MAX, &rule->nth);
}

static const char *read_every(struct weft_inject_rule *rule, const char *value)
{
	return read_number(value, 1, S64_MAX, &rule->every);
}

static const char *read_times(struct weft_inject_rule *rule, const char *value)
{
	return read_number(value, 1, S64_MAX, &rule->times);
}

static const char *read_seed(struct weft_inject_rule *rule, const char *value)
{
	return read_u32(value, 0, U32_MAX, &rule->seed);
}

static const char *read_status(struct weft_inject_rule *rule, const char *value)
{
	if (str_has_prefix(value, "IBV_WC_"))
		value += strlen("IBV_WC_");
	if (rule->place == WEFT_INJECT_RECEIVE)
		return read_u8_name(inject_receive_statuses, value, &rule->status,
				    "no receive completes with this status");
	return read_u8_name(inject_statuses, value, &rule->status, "no such error status");
}

static const char *read_vendor_err(struct weft_inject_rule *rule, const char *value)
{
	u32 number;
	const char *wrong = read_u32(value, 1, U8_MAX, &number);

	rule->vendor_err = number;
	return wrong;
}

static const char *read_error(struct weft_inject_rule *rule, const char *value)
{
	u32 number;

	if (!inject_lookup(inject_errnos, value, &number))
		return "no such errno";
	rule->error = number;
	return NULL;
}

static const char *read_nak(struct weft_inject_rule *rule, const char *value)
{
	return read_u8_name(inject_naks, value, &rule->syndrome, "no such NAK");
}

/* The timer of an RNR NAK, a code of five bits. */
static const char *read_rnr(struct weft_inject_rule *rule, const char *value)
{
	u32 timer;
	const char *wrong = read_u32(value, 0, WEFT_AETH_CODE, &timer);

	rule->syndrome = weft_aeth_syndrome(WEFT_AETH_RNR_NAK, timer);
	return wrong;
}

#define ON_REQUEST	BIT(WEFT_INJECT_REQUEST)
#define ON_PACKET	(BIT(WEFT_INJECT_PACKET) | BIT(WEFT_INJECT_SENT))
#define ON_VERB		BIT(WEFT_INJECT_VERB)
#define ON_CQ		BIT(WEFT_INJECT_CQ)
#define ON_ALLOC	BIT(WEFT_INJECT_ALLOC)
#define ON_RECEIVE	BIT(WEFT_INJECT_RECEIVE)
#define ON_QP		(ON_REQUEST | ON_PACKET)
#define ON_ALL		(ON_QP | ON_VERB | ON_CQ | ON_ALLOC | ON_RECEIVE)

static const struct inject_key inject_keys[] = {
	{ "qp", ON_QP | ON_VERB | ON_RECEIVE, .field = WEFT_MATCH_QP, .read = read_qp },
	{ "cqn", ON_CQ, .field = WEFT_MATCH_CQ, .read = read_cqn },
	{ "pid", ON_ALL, .field = WEFT_MATCH_PID, .read = read_pid },
	{ "comm", ON_ALL, .field = WEFT_MATCH_COMM, .read = read_comm },
	{ "service", ON_QP | ON_VERB | ON_RECEIVE, .field = WEFT_MATCH_SERVICE,
	  .read = read_service },
	{ "opcode", ON_QP, .field = WEFT_MATCH_OPCODE, .read = read_opcode },
	{ "bytes", ON_QP | ON_RECEIVE, .field = WEFT_MATCH_BYTES, .read = read_bytes },
	{ "psn", ON_PACKET, .field = WEFT_MATCH_PSN, .read = read_psn },
	{ "message", ON_QP, .field = WEFT_MATCH_MESSAGE, .read = read_message },
	{ "position", ON_PACKET, .field = WEFT_MATCH_SEGMENT, .read = read_position },
	{ "attempt", ON_PACKET, .field = WEFT_MATCH_ATTEMPT, .read = read_attempt },
	{ "path", ON_PACKET, .field = WEFT_MATCH_ARMED, .read = read_path },
	{ "dir", ON_PACKET, .read = read_direction },
	{ "peer", ON_PACKET, .field = WEFT_MATCH_PEER, .read = read_peer },
	{ "after", ON_ALL, .field = WEFT_MATCH_TIME, .read = read_after },
	{ "for", ON_ALL, .field = WEFT_MATCH_TIME, .read = read_for },
	{ "verb", ON_VERB, .field = WEFT_MATCH_VERB, .read = read_verb },
	{ "name", ON_ALLOC, .field = WEFT_MATCH_ALLOC, .read = read_alloc },
	{ "state", ON_VERB, .field = WEFT_MATCH_STATE, .read = read_state },
	{ "n", ON_ALL, .read = read_nth },
	{ "every", ON_ALL, .read = read_every },
	{ "times", ON_ALL, .read = read_times },
	{ "chance", ON_ALL, .read = read_chance },
	{ "seed", ON_ALL, .read = read_seed },
	{ "complete", ON_REQUEST | ON_RECEIVE, WEFT_INJECT_COMPLETE, .read = read_status },
	{ "vendor_err", ON_REQUEST | ON_RECEIVE, .read = read_vendor_err },
	{ "cq-overrun", ON_REQUEST, WEFT_INJECT_OVERRUN, .bare = true },
	{ "delay", ON_QP, WEFT_INJECT_DELAY_IT, .read = read_delay },
	{ "jitter", ON_PACKET, WEFT_INJECT_DELAY_IT, .read = read_jitter },
	{ "rate", ON_PACKET, WEFT_INJECT_DELAY_IT, .read = read_rate },
	{ "reorder", ON_PACKET, .bare = true, .read = read_reorder },
	{ "late", ON_REQUEST, WEFT_INJECT_LATE, .read = read_delay },
	{ "drop", ON_PACKET, WEFT_INJECT_DROP, .bare = true },
	{ "duplicate", ON_PACKET, WEFT_INJECT_DUPLICATE, .bare = true },
	{ "bad-icrc", ON_PACKET, WEFT_INJECT_BAD_ICRC, .bare = true },
	{ "bad-data", ON_PACKET, WEFT_INJECT_BAD_DATA, .bare = true },
	{ "ce", ON_PACKET, WEFT_INJECT_MARK, .bare = true },
	{ "cnp", ON_PACKET, WEFT_INJECT_CNP, .bare = true },
	{ "hold", ON_PACKET, WEFT_INJECT_HOLD, .bare = true },
	{ "truncate", ON_PACKET, WEFT_INJECT_TRUNCATE, .read = read_truncate },
	{ "set", ON_PACKET, WEFT_INJECT_SET, .read = read_set },
	{ "nak", ON_PACKET, WEFT_INJECT_ANSWER, .read = read_nak },
	{ "rnr", ON_PACKET, WEFT_INJECT_ANSWER, .read = read_rnr },
	{ "fail", ON_VERB | ON_ALLOC, WEFT_INJECT_FAIL, .read = read_error },
	{ "lose-event", ON_CQ, WEFT_INJECT_LOSE, .bare = true },
};

static const struct inject_key *inject_key(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(inject_keys); i++)
		if (!strcmp(inject_keys[i].name, name))
			return &inject_keys[i];
	return NULL;
}

/* @word is writable. @keys: the keys that the rule has already, a bit each. */
static const char *inject_read_word(struct weft_inject_rule *rule, char *word, u64 *keys)
{
	char *value = strchr(word, '=');
	const struct inject_key *key;

	if (value)
		*value++ = '\0';
	key = inject_key(word);
	if (!key)
		return "no such word in a rule";
	if (!(key->places & BIT(rule->place)))
		return "not for this kind of rule";
	if (*keys & BIT_ULL(key - inject_keys))
		return "twice in one rule";
	*keys |= BIT_ULL(key - inject_keys);
	/* delay, jitter and rate are one action */
	if (key->action && rule->action &&
	    (key->action != WEFT_INJECT_DELAY_IT || rule->action != WEFT_INJECT_DELAY_IT))
		return "a second action";
	if (key->bare != !value)
		return key->bare ? "it has no value" : "its value is missing";
	if (key->action)
		rule->action = key->action;
	rule->fields |= key->field;
	return key->read ? key->read(rule, value) : NULL;
}

/* Without an opcode a NAK takes the place of an acknowledge. */
static const char *inject_complete_nak(struct weft_inject_rule *rule)
{
	const u32 responses = WEFT_INJECT_READ_RESPONSE | WEFT_INJECT_ATOMIC_ACK;

	if (!(rule->fields & WEFT_MATCH_OPCODE))
		rule->opcodes = WEFT_INJECT_ACK;
	rule->fields |= WEFT_MATCH_OPCODE;
	if (rule->opcodes & responses)
		return "a NAK takes the place of an ack, or refuses a request";
	if (rule->opcodes == WEFT_INJECT_ACK)
		return NULL;
	rule->action = WEFT_INJECT_REFUSE;
	return rule->syndrome == (WEFT_AETH_NAK << 5 | WEFT_NAK_INVALID_RD_REQUEST) ?
	       "there are no RD requests to refuse" : NULL;
}

/* Set the defaults of words that are missing, and refuse words that contradict each other. */
static const char *inject_complete(struct weft_inject_rule *rule)
{
	if (!rule->nth && !rule->every)
		rule->every = 1;
	if (!rule->nth)
		rule->nth = rule->every;
	if (!rule->action)
		return "no action";
	if (rule->vendor_err && rule->action != WEFT_INJECT_COMPLETE)
		return "vendor_err without complete";
	if (rule->reorder && !rule->jitter)
		return "reorder without jitter";
	if (rule->fields & WEFT_MATCH_STATE && rule->verb != WEFT_VERB_MODIFY_QP)
		return "state without verb=modify_qp";
	if (rule->place == WEFT_INJECT_ALLOC && rule->error != ENOMEM)
		return "an allocation fails with ENOMEM";
	if (rule->place == WEFT_INJECT_SENT && rule->action != WEFT_INJECT_DROP &&
	    rule->action != WEFT_INJECT_DUPLICATE)
		return "a packet that leaves can only be dropped or duplicated";
	if (rule->place == WEFT_INJECT_SENT && rule->fields & WEFT_MATCH_MESSAGE)
		return "messages are counted where they arrive";
	return rule->action == WEFT_INJECT_ANSWER ? inject_complete_nak(rule) : NULL;
}

/* Copy the word at @at of @text to @word. Returns its length; 0: it is too long. */
static size_t inject_word(const char *text, size_t at, char word[INJECT_WORD])
{
	size_t length = strcspn(text + at, " \t");

	if (length >= INJECT_WORD)
		return 0;
	memcpy(word, text + at, length);
	word[length] = '\0';
	return length;
}

static const char *inject_read(struct weft_inject_rule *rule, const char *text, u32 *at)
{
	char word[INJECT_WORD];
	const char *wrong;
	bool first = true;
	size_t length;
	u64 keys = 0;

	BUILD_BUG_ON(ARRAY_SIZE(inject_keys) > 64);
	for (;;) {
		*at += strspn(text + *at, " \t");
		if (!text[*at])
			break;
		length = inject_word(text, *at, word);
		if (!length)
			return "too long a word";
		if (first)
			wrong = read_place(rule, word);
		else
			wrong = inject_read_word(rule, word, &keys);
		if (wrong)
			return wrong;
		first = false;
		*at += length;
	}
	return first ? "no rule" : inject_complete(rule);
}

/*
 * Make a rule of @text, a line without its end. Returns the rule, for weft_inject_add() or
 * kfree(); ERR_PTR(): -ENOMEM; -EINVAL: @error says why.
 */
struct weft_inject_rule *weft_inject_parse(const char *text, struct weft_inject_error *error)
{
	size_t size = strlen(text) + 1;
	struct weft_inject_rule *rule;

	*error = (struct weft_inject_error){ .what = "no memory" };
	rule = kzalloc(struct_size(rule, text, size), GFP_KERNEL);
	if (!rule)
		return ERR_PTR(-ENOMEM);
	memcpy(rule->text, text, size);
	rule->chance = WEFT_INJECT_CERTAIN;
	rule->times = S64_MAX;
	error->what = inject_read(rule, text, &error->at);
	if (!error->what)
		return rule;
	kfree(rule);
	return ERR_PTR(-EINVAL);
}
WEFT_EXPORT_FOR_TEST(weft_inject_parse);
