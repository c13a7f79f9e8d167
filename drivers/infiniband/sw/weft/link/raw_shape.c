// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The FCS of a frame is computed here, because no net device that weft is on hands it over. So it
 * is always right, as it is for each frame that an adapter does not drop.
 */
#include "link/raw_shape.h"

#include <linux/if_vlan.h>
#include <rdma/ib_verbs.h>

#include "compat/crc32.h"

/* Ethernet pads a short frame, and the FCS covers the padding. */
static const u8 shape_padding[ETH_ZLEN];

static void shape_add(struct weft_raw_shape *shape, const void *part, u32 length)
{
	if (!length)
		return;
	shape->part[shape->num++] = (struct weft_span){
		.addr = (uintptr_t)part, .length = length,
	};
	shape->length += length;
}

/* Has the frame a tag of type 0x8100 that can be taken out? */
static bool shape_has_cvlan(const struct vlan_ethhdr *frame, u32 length)
{
	return length >= VLAN_ETH_HLEN && frame->h_vlan_proto == htons(ETH_P_8021Q);
}

static void shape_add_fcs(struct weft_raw_shape *shape, const void *frame, u32 length)
{
	u32 padding = length < ETH_ZLEN ? ETH_ZLEN - length : 0;
	u32 crc = crc32_le(crc32_le(~0, frame, length), shape_padding, padding);

	shape->fcs = cpu_to_le32(~crc);
	shape_add(shape, shape_padding, padding);
	shape_add(shape, &shape->fcs, sizeof(shape->fcs));
}

/* @frame is as it was on the wire, of at least ETH_HLEN bytes. @create_flags: of the QP */
void weft_raw_shape(struct weft_raw_shape *shape, const void *frame, u32 length, u32 create_flags)
{
	const struct vlan_ethhdr *tagged = frame;
	u32 begin = 0;

	shape->num = 0;
	shape->length = 0;
	shape->cvlan = 0;
	if (create_flags & IB_QP_CREATE_CVLAN_STRIPPING && shape_has_cvlan(tagged, length)) {
		begin = 2 * ETH_ALEN;
		shape->cvlan = ntohs(tagged->h_vlan_TCI);
		shape_add(shape, frame, begin);
		begin += VLAN_HLEN;
	}
	shape_add(shape, frame + begin, length - begin);
	if (create_flags & IB_QP_CREATE_SCATTER_FCS)
		shape_add_fcs(shape, frame, length);
}
WEFT_EXPORT_FOR_TEST(weft_raw_shape);
