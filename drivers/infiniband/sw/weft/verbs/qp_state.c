// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/qp_state.h"

#include <linux/kernel.h>

#include "object/dc.h"

enum qp_service { RC, UC, UD, GSI, INI, TGT, RAW, DCI, DCT, SERVICES };

struct qp_transition {
	enum ib_qp_state	from;
	enum ib_qp_state	to;
	u32			required[SERVICES];
	u32			optional[SERVICES];
	/* optional for each service but TGT, RAW, DCI and DCT */
	u32			any;
	/* bit per service that does not have the transition */
	u32			absent;
};

#define ACCESS		IB_QP_ACCESS_FLAGS
#define CAP		IB_QP_CAP
#define RATE		IB_QP_RATE_LIMIT
#define PKEY		IB_QP_PKEY_INDEX
#define PORT		IB_QP_PORT
#define QKEY		IB_QP_QKEY
#define CUR		IB_QP_CUR_STATE
#define ALT		IB_QP_ALT_PATH
#define MIG		IB_QP_PATH_MIG_STATE
#define RNR		IB_QP_MIN_RNR_TIMER
#define CONNECT_UC	(IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN)
#define CONNECT_RC	(CONNECT_UC | IB_QP_MAX_DEST_RD_ATOMIC | RNR)
#define RETRIES		(IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY)
#define SEND_RC		(RETRIES | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC)
#define SEND_TGT	(IB_QP_TIMEOUT | IB_QP_SQ_PSN)
/* attributes that may change in RTS */
#define LIVE_RC		(CUR | ALT | ACCESS | RNR | MIG)
#define LIVE_UC		(CUR | ALT | ACCESS | MIG)
#define LIVE_UD		(CUR | QKEY)
#define DRAINED_RC	(PORT | IB_QP_AV | RETRIES | IB_QP_MAX_QP_RD_ATOMIC | \
			 IB_QP_MAX_DEST_RD_ATOMIC | ALT | ACCESS | PKEY | RNR | MIG)
/* uverbs sets IB_QP_PORT together with IB_QP_AV */
#define DRAINED_UC	(PORT | IB_QP_AV | ALT | ACCESS | PKEY | MIG)
#define DRAINED_INI	(PORT | IB_QP_AV | RETRIES | IB_QP_MAX_QP_RD_ATOMIC | \
			 ALT | ACCESS | PKEY | MIG)
#define DRAINED_TGT	(PORT | IB_QP_AV | IB_QP_TIMEOUT | IB_QP_MAX_DEST_RD_ATOMIC | \
			 ALT | ACCESS | PKEY | RNR | MIG)

#define NO_DC		(BIT(DCI) | BIT(DCT))

/*
 * DC is not in IBA. Its columns are those of mlx5, which has it, too; see also qp_dc_may_end().
 */
static const struct qp_transition qp_transitions[] = {
	{
		IB_QPS_RESET, IB_QPS_INIT,
		.required = {
			[RC] = PKEY | PORT | ACCESS, [UC] = PKEY | PORT | ACCESS,
			[UD] = PKEY | PORT | QKEY, [GSI] = PKEY | QKEY,
			[INI] = PKEY | PORT | ACCESS, [TGT] = PKEY | PORT | ACCESS,
			[RAW] = PORT,
			[DCI] = PKEY | PORT, [DCT] = PKEY | PORT | ACCESS,
		},
	}, {
		IB_QPS_INIT, IB_QPS_INIT,
		.optional = {
			[RC] = PKEY | PORT | ACCESS, [UC] = PKEY | PORT | ACCESS,
			[UD] = PKEY | PORT | QKEY, [GSI] = PKEY | QKEY,
			[INI] = PKEY | PORT | ACCESS, [TGT] = PKEY | PORT | ACCESS,
			[DCI] = PKEY | PORT,
		},
		.any = CAP,
		.absent = BIT(DCT),
	}, {
		IB_QPS_INIT, IB_QPS_RTR,
		.required = {
			[RC] = CONNECT_RC, [UC] = CONNECT_UC,
			[INI] = CONNECT_UC, [TGT] = CONNECT_RC,
			[DCI] = IB_QP_PATH_MTU, [DCT] = IB_QP_PATH_MTU | IB_QP_AV | RNR,
		},
		.optional = {
			[RC] = ALT | ACCESS | PKEY, [UC] = ALT | ACCESS | PKEY,
			[UD] = PKEY | QKEY, [GSI] = PKEY | QKEY,
			[INI] = ALT | ACCESS | PKEY, [TGT] = ALT | ACCESS | PKEY,
			[DCI] = PKEY | IB_QP_AV,
		},
		.any = CAP | RATE,
	}, {
		IB_QPS_RTR, IB_QPS_RTS,
		.required = {
			[RC] = SEND_RC, [UC] = IB_QP_SQ_PSN,
			[UD] = IB_QP_SQ_PSN, [GSI] = IB_QP_SQ_PSN,
			[INI] = SEND_RC, [TGT] = SEND_TGT,
			[DCI] = SEND_RC,
		},
		.optional = {
			[RC] = LIVE_RC, [UC] = LIVE_UC,
			[UD] = LIVE_UD, [GSI] = LIVE_UD,
			[INI] = LIVE_UC, [TGT] = LIVE_RC,
			[RAW] = RATE, [DCI] = RNR,
		},
		.any = CAP | RATE,
		.absent = BIT(DCT),
	}, {
		IB_QPS_RTS, IB_QPS_RTS,
		.optional = {
			[RC] = LIVE_RC, [UC] = LIVE_UC,
			[UD] = LIVE_UD, [GSI] = LIVE_UD,
			[INI] = LIVE_UC, [TGT] = LIVE_RC,
			[RAW] = RATE, [DCI] = RNR,
		},
		.any = CAP | RATE,
		.absent = BIT(DCT),
	}, {
		IB_QPS_RTS, IB_QPS_SQD,
		.optional = {
			[RC] = IB_QP_EN_SQD_ASYNC_NOTIFY,
			[UC] = IB_QP_EN_SQD_ASYNC_NOTIFY,
			[UD] = IB_QP_EN_SQD_ASYNC_NOTIFY,
			[GSI] = IB_QP_EN_SQD_ASYNC_NOTIFY,
			[INI] = IB_QP_EN_SQD_ASYNC_NOTIFY,
			[TGT] = IB_QP_EN_SQD_ASYNC_NOTIFY,
		},
		.absent = NO_DC,
	}, {
		IB_QPS_SQD, IB_QPS_SQD,
		.optional = {
			[RC] = DRAINED_RC, [UC] = DRAINED_UC,
			[UD] = PKEY | QKEY, [GSI] = PKEY | QKEY,
			[INI] = DRAINED_INI, [TGT] = DRAINED_TGT,
		},
		.any = CAP,
		.absent = NO_DC,
	}, {
		IB_QPS_SQD, IB_QPS_RTS,
		.optional = {
			[RC] = LIVE_RC, [UC] = LIVE_UC,
			[UD] = LIVE_UD, [GSI] = LIVE_UD,
			[INI] = LIVE_UC, [TGT] = LIVE_RC,
		},
		.any = CAP,
		.absent = NO_DC,
	}, {
		IB_QPS_SQE, IB_QPS_RTS,
		.optional = {
			[UC] = CUR | ACCESS, [UD] = LIVE_UD, [GSI] = LIVE_UD,
		},
		.any = CAP,
		.absent = NO_DC,
	},
};

static enum qp_service qp_service(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return RC;
	case IB_QPT_UC:
		return UC;
	case IB_QPT_UD:
		return UD;
	case IB_QPT_XRC_INI:
		return INI;
	case IB_QPT_XRC_TGT:
		return TGT;
	case IB_QPT_RAW_PACKET:
		return RAW;
	case WEFT_QPT_DCI:
		return DCI;
	case WEFT_QPT_DCT:
		return DCT;
	default:
		return GSI;
	}
}

/* May a DC QP change to RESET or ERR? A target is of no use any more, and has to be destroyed. */
static bool qp_dc_may_end(enum qp_service service, enum ib_qp_state from, enum ib_qp_state to)
{
	return service == DCI && (to == IB_QPS_RESET || from != IB_QPS_RESET);
}

/*
 * Finds the required attributes that @mask does not have, and the attributes in @mask that are not
 * allowed. Returns false if there is no such transition.
 */
bool weft_qp_state_attrs(enum ib_qp_type type, enum ib_qp_state from, enum ib_qp_state to,
			 u32 mask, u32 *missing, u32 *excess)
{
	enum qp_service service = qp_service(type);
	bool dc = service == DCI || service == DCT;
	u32 given = mask & ~IB_QP_STATE;
	int i;

	/* each state may change to RESET and to ERR, without attributes */
	*missing = dc ? IB_QP_STATE & ~mask : 0;
	*excess = given;
	if (to == IB_QPS_RESET || to == IB_QPS_ERR)
		return !dc || qp_dc_may_end(service, from, to);
	for (i = 0; i < ARRAY_SIZE(qp_transitions); i++) {
		const struct qp_transition *row = &qp_transitions[i];
		u32 required = row->required[service];
		/*
		 * attributes of the queues: an XRC target has none, and for RAW_PACKET the table of
		 * ibv_modify_qp(3) has no IBV_QP_CAP
		 */
		bool any = service != TGT && service != RAW && !dc;
		u32 optional = row->optional[service] | (any ? row->any : 0);

		if (row->from != from || row->to != to || row->absent & BIT(service))
			continue;
		*missing |= required & ~given;
		*excess = given & ~(required | optional);
		return true;
	}
	return false;
}

/*
 * Whether the transition exists, and @mask has each required attribute and none that is not
 * allowed. @to is @from if the mask has no IB_QP_STATE. A pure function of its arguments.
 */
bool weft_qp_state_allows(enum ib_qp_type type, enum ib_qp_state from,
			  enum ib_qp_state to, u32 mask)
{
	u32 missing, excess;

	return weft_qp_state_attrs(type, from, to, mask, &missing, &excess) &&
	       !missing && !excess;
}
WEFT_EXPORT_FOR_TEST(weft_qp_state_allows);

/* As in ibv_modify_qp(3). */
static const struct {
	u32		bit;
	const char	*name;
} qp_attr_names[] = {
	{ IB_QP_STATE,			"IBV_QP_STATE" },
	{ IB_QP_CUR_STATE,		"IBV_QP_CUR_STATE" },
	{ IB_QP_EN_SQD_ASYNC_NOTIFY,	"IBV_QP_EN_SQD_ASYNC_NOTIFY" },
	{ IB_QP_ACCESS_FLAGS,		"IBV_QP_ACCESS_FLAGS" },
	{ IB_QP_PKEY_INDEX,		"IBV_QP_PKEY_INDEX" },
	{ IB_QP_PORT,			"IBV_QP_PORT" },
	{ IB_QP_QKEY,			"IBV_QP_QKEY" },
	{ IB_QP_AV,			"IBV_QP_AV" },
	{ IB_QP_PATH_MTU,		"IBV_QP_PATH_MTU" },
	{ IB_QP_TIMEOUT,		"IBV_QP_TIMEOUT" },
	{ IB_QP_RETRY_CNT,		"IBV_QP_RETRY_CNT" },
	{ IB_QP_RNR_RETRY,		"IBV_QP_RNR_RETRY" },
	{ IB_QP_RQ_PSN,			"IBV_QP_RQ_PSN" },
	{ IB_QP_MAX_QP_RD_ATOMIC,	"IBV_QP_MAX_QP_RD_ATOMIC" },
	{ IB_QP_ALT_PATH,		"IBV_QP_ALT_PATH" },
	{ IB_QP_MIN_RNR_TIMER,		"IBV_QP_MIN_RNR_TIMER" },
	{ IB_QP_SQ_PSN,			"IBV_QP_SQ_PSN" },
	{ IB_QP_MAX_DEST_RD_ATOMIC,	"IBV_QP_MAX_DEST_RD_ATOMIC" },
	{ IB_QP_PATH_MIG_STATE,		"IBV_QP_PATH_MIG_STATE" },
	{ IB_QP_CAP,			"IBV_QP_CAP" },
	{ IB_QP_DEST_QPN,		"IBV_QP_DEST_QPN" },
	{ IB_QP_RATE_LIMIT,		"IBV_QP_RATE_LIMIT" },
};

/* Writes the names of the attributes in @mask, each after a space. */
void weft_qp_attr_names(u32 mask, char *buf, size_t size)
{
	size_t length = 0;
	int i;

	buf[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(qp_attr_names); i++)
		if (mask & qp_attr_names[i].bit)
			length += scnprintf(buf + length, size - length, " %s",
					    qp_attr_names[i].name);
}

const char *weft_qp_state_name(enum ib_qp_state state)
{
	static const char * const names[] = {
		[IB_QPS_RESET] = "RESET", [IB_QPS_INIT] = "INIT", [IB_QPS_RTR] = "RTR",
		[IB_QPS_RTS] = "RTS", [IB_QPS_SQD] = "SQD", [IB_QPS_SQE] = "SQE",
		[IB_QPS_ERR] = "ERR",
	};

	return (u32)state < ARRAY_SIZE(names) ? names[state] : "an unknown state";
}

const char *weft_qp_type_name(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return "RC";
	case IB_QPT_UC:
		return "UC";
	case IB_QPT_UD:
		return "UD";
	case IB_QPT_XRC_INI:
		return "XRC_INI";
	case IB_QPT_XRC_TGT:
		return "XRC_TGT";
	case IB_QPT_RAW_PACKET:
		return "RAW_PACKET";
	case WEFT_QPT_DCI:
		return "a DC initiator";
	case WEFT_QPT_DCT:
		return "a DC target";
	default:
		return "a special QP";
	}
}
