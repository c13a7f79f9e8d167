// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/notice.h"

#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_mad.h>

/* The upper half of transaction IDs: "weft". */
#define NOTICE_TID	0x7765667400000000ULL
/* Position of the service level, above the sender's QP number */
#define NOTICE_SL_SHIFT	28

static_assert(sizeof(struct weft_notice) == IB_SMP_DATA_SIZE);
static_assert(offsetof(struct weft_notice, details) == 12);

struct weft_notice weft_notice_link_change(void)
{
	return (struct weft_notice){
		.type = IB_NOTICE_TYPE_URGENT,
		.trap = cpu_to_be16(WEFT_TRAP_LINK_CHANGE),
	};
}

struct weft_notice weft_notice_local_change(u8 changes)
{
	return (struct weft_notice){
		.type = IB_NOTICE_TYPE_INFO,
		.trap = cpu_to_be16(WEFT_TRAP_LOCAL_CHANGE),
		.local.other = !!changes,
		.local.changes = cpu_to_be16(changes),
	};
}
WEFT_EXPORT_FOR_TEST(weft_notice_local_change);

static void notice_set_route(struct weft_notice *notice, const struct ib_smp *smp)
{
	u8 hops = min_t(u8, smp->hop_cnt, IB_SMP_MAX_PATH_HOPS - 1);
	/* the first byte of a path is not used */
	u8 length = min_t(u8, hops + 1, sizeof(notice->mkey.path));

	notice->mkey.dr_slid = smp->dr_slid;
	notice->mkey.hops = IB_NOTICE_TRAP_DR_NOTICE | hops;
	if (length <= hops)
		notice->mkey.hops |= IB_NOTICE_TRAP_DR_TRUNC;
	memcpy(notice->mkey.path, smp->return_path, length);
}

struct weft_notice weft_notice_bad_mkey(u16 slid, const struct ib_smp *smp)
{
	struct weft_notice notice = {
		.type = IB_NOTICE_TYPE_SECURITY,
		.trap = cpu_to_be16(WEFT_TRAP_BAD_MKEY),
		.mkey.lid = cpu_to_be16(slid),
		.mkey.method = smp->method,
		.mkey.attr_id = smp->attr_id,
		.mkey.attr_mod = smp->attr_mod,
		.mkey.mkey = smp->mkey,
	};

	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		notice_set_route(&notice, smp);
	return notice;
}

struct weft_notice weft_notice_bad_key(u16 trap, const struct weft_violation *violation)
{
	struct weft_notice notice = {
		.type = IB_NOTICE_TYPE_SECURITY,
		.trap = cpu_to_be16(trap),
		.key.slid = cpu_to_be16(violation->slid),
		.key.dlid = cpu_to_be16(violation->dlid),
		.key.key = cpu_to_be32(violation->key),
		.key.sl_sqpn = cpu_to_be32((u32)violation->sl << NOTICE_SL_SHIFT |
					   violation->sqpn),
		.key.dqpn = cpu_to_be32(violation->dqpn),
	};

	if (violation->sgid)
		memcpy(notice.key.sgid, violation->sgid, sizeof(notice.key.sgid));
	if (violation->dgid)
		memcpy(notice.key.dgid, violation->dgid, sizeof(notice.key.dgid));
	return notice;
}

static u16 notice_valid(const struct weft_violation *violation)
{
	u16 valid = WEFT_NOTICE_HAS_LIDS | WEFT_NOTICE_HAS_PKEY | WEFT_NOTICE_HAS_SL |
		    WEFT_NOTICE_HAS_DQPN;

	if (violation->sqpn)
		valid |= WEFT_NOTICE_HAS_SQPN;
	if (violation->sgid && violation->dgid)
		valid |= WEFT_NOTICE_HAS_GIDS;
	return valid;
}

struct weft_notice weft_notice_filtered(u8 port, const struct weft_violation *violation)
{
	struct weft_notice notice = {
		.type = IB_NOTICE_TYPE_SECURITY,
		.trap = cpu_to_be16(WEFT_TRAP_FILTERED),
		.valid = cpu_to_be16(notice_valid(violation)),
		.filter.slid = cpu_to_be16(violation->slid),
		.filter.dlid = cpu_to_be16(violation->dlid),
		.filter.pkey = cpu_to_be16(violation->key),
		.filter.sl_sqpn = cpu_to_be32((u32)violation->sl << NOTICE_SL_SHIFT |
					      violation->sqpn),
		.filter.dqpn = cpu_to_be32(violation->dqpn),
		.filter.port = port,
	};

	if (violation->sgid)
		memcpy(notice.filter.sgid, violation->sgid, sizeof(notice.filter.sgid));
	if (violation->dgid)
		memcpy(notice.filter.dgid, violation->dgid, sizeof(notice.filter.dgid));
	return notice;
}

/* Add to @notice what would get lost with @old, a notice of the same trap that it replaces. */
void weft_notice_merge(struct weft_notice *notice, const struct weft_notice *old)
{
	if (notice->trap != cpu_to_be16(WEFT_TRAP_LOCAL_CHANGE))
		return;
	notice->local.other |= old->local.other;
	notice->local.changes |= old->local.changes;
}

__be64 weft_notice_tid(u32 number)
{
	return cpu_to_be64(NOTICE_TID | number);
}

/* Set the fields that are not known until the trap is sent. */
static void notice_set_issuer(struct weft_notice *notice,
			      const struct weft_notice_issuer *issuer)
{
	notice->producer[2] = issuer->producer;
	notice->issuer_lid = cpu_to_be16(issuer->lid);
	switch (be16_to_cpu(notice->trap)) {
	case WEFT_TRAP_LINK_CHANGE:
		notice->switch_lid = notice->issuer_lid;
		break;
	case WEFT_TRAP_LOCAL_CHANGE:
		notice->local.lid = notice->issuer_lid;
		notice->local.cap_mask = issuer->cap_mask;
		break;
	case WEFT_TRAP_FILTERED:
		notice->filter.lid = notice->issuer_lid;
		break;
	}
}

/* Write a trap to @smp; see weft_notice_tid() for @number. */
void weft_notice_smp(struct ib_smp *smp, const struct weft_notice *notice,
		     const struct weft_notice_issuer *issuer, u32 number)
{
	struct weft_notice told = *notice;

	notice_set_issuer(&told, issuer);
	memset(smp, 0, sizeof(*smp));
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_TRAP;
	smp->tid = weft_notice_tid(number);
	smp->attr_id = IB_SMP_ATTR_NOTICE;
	memcpy(smp->data, &told, sizeof(told));
}
