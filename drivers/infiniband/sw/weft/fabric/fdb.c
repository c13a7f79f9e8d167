// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/fdb.h"

#include <linux/bitfield.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

/* Entries of a block, in which the tables are read and set. */
#define FDB_LIDS_BLOCK		64
#define FDB_MLIDS_BLOCK		32
/* An entry of a block of the multicast table is a mask of 16 ports; the position says which 16. */
#define FDB_MASK_PORTS		16
#define FDB_POSITIONS		DIV_ROUND_UP(WEFT_SWITCH_PORTS + 1, FDB_MASK_PORTS)

/* Attribute modifier of MulticastForwardingTable */
#define FDB_MCAST_POSITION	GENMASK(31, 28)
#define FDB_MCAST_BLOCK		GENMASK(8, 0)

/* Bits of flags: P_Key enforcement and raw packet filters, each in both directions */
#define FDB_FILTERS		GENMASK(7, 4)
/* Bits of life_state */
#define FDB_LIFE_TIME		GENMASK(7, 3)
#define FDB_STATE_CHANGE	BIT(2)

/* SwitchInfo (IBA 14.2.5.4) */
struct fdb_switch_info {
	__be16	linear_cap;		/* LIDs of the linear table */
	__be16	random_cap;		/* 0: no random table */
	__be16	mcast_cap;		/* multicast LIDs */
	__be16	top;			/* LinearFDBTop */
	u8	defaults[3];		/* see struct weft_fdb */
	u8	life_state;		/* LifeTimeValue, PortStateChange */
	__be16	lids_per_port;		/* of a random table */
	__be16	partition_cap;		/* entries of the P_Key tables for enforcement */
	u8	flags;			/* enforcement capabilities of the external ports */
	u8	reserved;
	__be16	mcast_top;		/* valid with IB_PORT_MCAST_FDB_TOP_SUP, which is not set */
};

static_assert(sizeof(struct fdb_switch_info) == 20);

struct weft_fdb *weft_fdb_create(void)
{
	struct weft_fdb *fdb = kvzalloc(sizeof(*fdb), GFP_KERNEL);

	if (!fdb)
		return NULL;
	spin_lock_init(&fdb->lock);
	memset(fdb->linear, WEFT_FDB_NONE, sizeof(fdb->linear));
	return fdb;
}

void weft_fdb_destroy(struct weft_fdb *fdb)
{
	kvfree(fdb);
}

/* The port for any LID: 0 is the switch itself, WEFT_FDB_NONE means drop. */
u8 weft_fdb_port(const struct weft_fdb *fdb, u16 lid)
{
	u8 port;

	if (lid >= WEFT_FDB_LIDS || lid > READ_ONCE(fdb->top))
		return WEFT_FDB_NONE;
	port = READ_ONCE(fdb->linear[lid]);
	return port <= WEFT_SWITCH_PORTS ? port : WEFT_FDB_NONE;
}

/* The bitmap of ports for a LID from WEFT_LID_MCAST on; 0 means drop. */
u64 weft_fdb_ports(const struct weft_fdb *fdb, u16 lid)
{
	u32 index = lid - WEFT_LID_MCAST;

	return index < WEFT_FDB_MLIDS ? READ_ONCE(fdb->mcast[index]) : 0;
}

static void fdb_invalid(struct ib_smp *smp)
{
	smp->status |= cpu_to_be16(IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
}

static void fdb_set_info(struct weft_fdb *fdb, struct ib_smp *smp)
{
	const struct fdb_switch_info *info = (const void *)smp->data;
	u16 top = be16_to_cpu(info->top);

	if (top >= WEFT_FDB_LIDS) {
		fdb_invalid(smp);
		return;
	}
	WRITE_ONCE(fdb->top, top);
	memcpy(fdb->defaults, info->defaults, sizeof(fdb->defaults));
	fdb->life_time = FIELD_GET(FDB_LIFE_TIME, info->life_state);
	if (info->life_state & FDB_STATE_CHANGE)
		clear_bit(0, &fdb->state_change);
}

static void fdb_get_info(const struct weft_fdb *fdb, struct ib_smp *smp)
{
	struct fdb_switch_info info = {
		.linear_cap = cpu_to_be16(WEFT_FDB_LIDS),
		.mcast_cap = cpu_to_be16(WEFT_FDB_MLIDS),
		.top = cpu_to_be16(fdb->top),
		.life_state = FIELD_PREP(FDB_LIFE_TIME, fdb->life_time),
		.partition_cap = cpu_to_be16(WEFT_IB_PKEYS),
		.flags = FDB_FILTERS,
	};

	memcpy(info.defaults, fdb->defaults, sizeof(info.defaults));
	if (test_bit(0, &fdb->state_change))
		info.life_state |= FDB_STATE_CHANGE;
	memset(smp->data, 0, sizeof(smp->data));
	memcpy(smp->data, &info, sizeof(info));
}

static void fdb_info(struct weft_fdb *fdb, struct ib_smp *smp, bool set)
{
	if (smp->attr_mod) {
		fdb_invalid(smp);
		return;
	}
	if (set)
		fdb_set_info(fdb, smp);
	fdb_get_info(fdb, smp);
}

static void fdb_linear(struct weft_fdb *fdb, struct ib_smp *smp, bool set)
{
	u32 block = be32_to_cpu(smp->attr_mod), i;
	u8 *entry;

	if (block >= WEFT_FDB_LIDS / FDB_LIDS_BLOCK) {
		fdb_invalid(smp);
		return;
	}
	entry = &fdb->linear[block * FDB_LIDS_BLOCK];
	for (i = 0; set && i < FDB_LIDS_BLOCK; i++)
		WRITE_ONCE(entry[i], smp->data[i]);
	memcpy(smp->data, entry, FDB_LIDS_BLOCK);
}

/* The ports of the switch that a mask at a position is about. */
static u64 fdb_mask(u32 position)
{
	return GENMASK_ULL(FDB_MASK_PORTS - 1, 0) << position * FDB_MASK_PORTS &
	       GENMASK_ULL(WEFT_SWITCH_PORTS, 0);
}

static void fdb_mcast(struct weft_fdb *fdb, struct ib_smp *smp, bool set)
{
	u32 position = FIELD_GET(FDB_MCAST_POSITION, be32_to_cpu(smp->attr_mod));
	u32 block = FIELD_GET(FDB_MCAST_BLOCK, be32_to_cpu(smp->attr_mod)), i;
	__be16 *data = (__be16 *)smp->data;
	u64 *entry, bits;

	if (position >= FDB_POSITIONS || block >= WEFT_FDB_MLIDS / FDB_MLIDS_BLOCK) {
		fdb_invalid(smp);
		return;
	}
	entry = &fdb->mcast[block * FDB_MLIDS_BLOCK];
	for (i = 0; i < FDB_MLIDS_BLOCK; i++) {
		bits = (u64)be16_to_cpu(data[i]) << position * FDB_MASK_PORTS;
		if (set)
			WRITE_ONCE(entry[i], (entry[i] & ~fdb_mask(position)) |
					     (bits & fdb_mask(position)));
		data[i] = cpu_to_be16((entry[i] & fdb_mask(position)) >>
				      position * FDB_MASK_PORTS);
	}
}

/* Get or Set an attribute, see weft_ibnode.switch_attribute; @smp->method is not read. */
bool weft_fdb_attribute(struct weft_fdb *fdb, struct ib_smp *smp, bool set)
{
	void (*process)(struct weft_fdb *fdb, struct ib_smp *smp, bool set);
	unsigned long flags;

	switch (smp->attr_id) {
	case IB_SMP_ATTR_SWITCH_INFO:
		process = fdb_info;
		break;
	case IB_SMP_ATTR_LINEAR_FORWARD_TABLE:
		process = fdb_linear;
		break;
	case IB_SMP_ATTR_MCAST_FORWARD_TABLE:
		process = fdb_mcast;
		break;
	default:
		return false;
	}
	spin_lock_irqsave(&fdb->lock, flags);
	process(fdb, smp, set);
	spin_unlock_irqrestore(&fdb->lock, flags);
	return true;
}
