// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/notice.h"

#include <linux/string.h>

/* The upper half of our transaction IDs: "weft". */
#define NOTICE_TID		0x7765667400000000ULL
#define NOTICE_PRODUCER_SWITCH	2
#define NOTICE_LINK_CHANGE	128

/**
 * struct notice - Notice, of generic type
 * @type: bit 7 set, IB_NOTICE_TYPE_*
 * @producer: kind of node
 * @trap: number of the trap
 * @issuer_lid: LID of who sends it
 * @toggle: of who is asked for it; 0 in a trap
 * @lid: trap 128: of the switch
 * @reserved: details of other traps
 */
struct notice {
	u8	type;
	u8	producer[3];
	__be16	trap;
	__be16	issuer_lid;
	__be16	toggle;
	__be16	lid;
	u8	reserved[52];
};

static_assert(sizeof(struct notice) == IB_SMP_DATA_SIZE);

__be64 weft_notice_tid(u32 number)
{
	return cpu_to_be64(NOTICE_TID | number);
}

void weft_notice_link_change(struct ib_smp *smp, u16 lid, u32 number)
{
	const struct notice notice = {
		.type = IB_NOTICE_TYPE_URGENT,
		.producer[2] = NOTICE_PRODUCER_SWITCH,
		.trap = cpu_to_be16(NOTICE_LINK_CHANGE),
		.issuer_lid = cpu_to_be16(lid),
		.lid = cpu_to_be16(lid),
	};

	memset(smp, 0, sizeof(*smp));
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_TRAP;
	smp->tid = weft_notice_tid(number);
	smp->attr_id = IB_SMP_ATTR_NOTICE;
	memcpy(smp->data, &notice, sizeof(notice));
}
