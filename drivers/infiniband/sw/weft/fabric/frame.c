// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames are what nodes of different hosts send to each other. This is how they are encoded and
 * decoded, and how packets are reassembled from them.
 *
 * See "Frames" in Documentation/infiniband/weft/fabric.rst.
 */
#include "fabric/frame.h"

#include <linux/if_ether.h>
#include <linux/pkt_sched.h>
#include <linux/skbuff.h>

#include "fabric/node.h"
#include "fabric/port.h"
#include "params.h"
#include "wire/icrc.h"

#define FRAME_DATA_FLAGS	(WEFT_FRAME_FIRST | WEFT_FRAME_LAST | WEFT_FRAME_VL15)
#define FRAME_WHOLE		(WEFT_FRAME_FIRST | WEFT_FRAME_LAST)
/*
 * Frames are allocated by __netdev_alloc_skb(), which takes fragments of pages for most lengths.
 * Many kernels clear memory from kmalloc() each time (init_on_alloc).
 */
/* not from the memory reserves, because a net device may drop a frame that uses those */
#define FRAME_GFP		(GFP_ATOMIC | __GFP_NOWARN | __GFP_NOMEMALLOC)
/* All headers of a packet, which upper layers expect to be linear. */
#define FRAME_PULL		(sizeof(struct weft_wire_lrh) + sizeof(struct weft_wire_grh) + \
				 WEFT_HDR_MAX_LENGTH)

/* Write a header without checksum to a buffer for struct weft_wire_frame. */
void weft_frame_encode(void *buf, const struct weft_frame *frame)
{
	struct weft_wire_frame *wire = buf;

	wire->version = WEFT_FRAME_VERSION;
	wire->type = frame->type;
	wire->flags = frame->flags;
	wire->hops = frame->hops;
	wire->seq = cpu_to_be32(frame->seq);
	wire->ack = cpu_to_be32(frame->ack);
	wire->nonce = cpu_to_be32(frame->nonce);
	wire->heard = cpu_to_be32(frame->heard);
	wire->fabric = 0;
	wire->length = cpu_to_be16(frame->length);
	memset(wire->check, 0, sizeof(wire->check));
}
WEFT_EXPORT_FOR_TEST(weft_frame_encode);

static u32 frame_crc(const struct sk_buff *skb, u32 length)
{
	const struct weft_wire_frame *wire = (const void *)skb->data;
	struct weft_wire_frame header = *wire;

	memset(header.check, 0, sizeof(header.check));
	return weft_icrc_update(weft_icrc_update(~0U, &header, sizeof(header)), wire + 1, length);
}

/*
 * Store the checksum of a complete frame from weft_frame_build().
 *
 * The checksum of Ethernet does not protect a frame inside a bridge or a virtual machine, and ICRCs
 * are not computed.
 */
void weft_frame_seal(struct sk_buff *skb)
{
	struct weft_wire_frame *wire = (void *)skb->data;

	weft_icrc_store(wire->check, frame_crc(skb, skb->len - sizeof(*wire)));
}
WEFT_EXPORT_FOR_TEST(weft_frame_seal);

/* Is the checksum of a frame with a body of @length bytes right? May linearize the frame. */
bool weft_frame_is_intact(struct sk_buff *skb, u32 length)
{
	if (!pskb_may_pull(skb, sizeof(struct weft_wire_frame) + length))
		return false;
	return weft_icrc_matches(((const struct weft_wire_frame *)skb->data)->check,
				 frame_crc(skb, length));
}
WEFT_EXPORT_FOR_TEST(weft_frame_is_intact);

/* Frames of a cable have the nonces of both ends. A packet of VL 15 is always one frame. */
static bool frame_is_valid(const struct weft_frame *frame)
{
	switch (frame->type) {
	case WEFT_FRAME_HELLO:
		return !frame->flags && frame->length >= sizeof(struct weft_wire_hello);
	case WEFT_FRAME_DATA:
		return frame->nonce && frame->heard && frame->length &&
		       frame->length <= WEFT_FRAME_PACKET &&
		       !(frame->flags & ~FRAME_DATA_FLAGS) &&
		       (!(frame->flags & WEFT_FRAME_VL15) || frame->flags == FRAME_DATA_FLAGS);
	case WEFT_FRAME_ACK:
		return frame->nonce && frame->heard && !(frame->flags & ~WEFT_FRAME_GAP);
	case WEFT_FRAME_BYE:
		return frame->nonce && frame->heard && !frame->flags;
	default:
		return false;
	}
}

/*
 * Read and check the header of a frame of @len bytes, with padding, of which at least struct
 * weft_wire_frame is at @buf. Returns false if it is malformed or of another protocol.
 */
bool weft_frame_decode(struct weft_frame *frame, const void *buf, u32 len)
{
	const struct weft_wire_frame *wire = buf;

	if (len < sizeof(*wire) || wire->version != WEFT_FRAME_VERSION || wire->fabric)
		return false;
	frame->type = wire->type;
	frame->flags = wire->flags;
	frame->hops = wire->hops;
	frame->length = be16_to_cpu(wire->length);
	frame->seq = be32_to_cpu(wire->seq);
	frame->ack = be32_to_cpu(wire->ack);
	frame->nonce = be32_to_cpu(wire->nonce);
	frame->heard = be32_to_cpu(wire->heard);
	return frame->length <= len - sizeof(*wire) && frame_is_valid(frame);
}
WEFT_EXPORT_FOR_TEST(weft_frame_decode);

void weft_hello_encode(void *buf, const struct weft_hello *hello)
{
	struct weft_wire_hello *wire = buf;

	memset(wire, 0, sizeof(*wire));
	wire->guid = hello->guid;
	wire->max_frame = cpu_to_be16(hello->max_frame);
	wire->type = hello->type;
	wire->flags = hello->answer ? WEFT_HELLO_ANSWER : 0;
}
WEFT_EXPORT_FOR_TEST(weft_hello_encode);

bool weft_hello_decode(struct weft_hello *hello, const void *buf)
{
	const struct weft_wire_hello *wire = buf;

	hello->guid = wire->guid;
	hello->max_frame = be16_to_cpu(wire->max_frame);
	hello->type = wire->type;
	hello->answer = wire->flags & WEFT_HELLO_ANSWER;
	return hello->guid && hello->max_frame >= WEFT_FRAME_MIN_MTU &&
	       (hello->type == WEFT_NODE_CA || hello->type == WEFT_NODE_SWITCH);
}
WEFT_EXPORT_FOR_TEST(weft_hello_decode);

/* Read and check the LRH of a packet, which need not be complete. */
bool weft_frame_lrh(struct weft_lrh *lrh, const struct sk_buff *skb)
{
	struct weft_wire_lrh buf;
	const void *wire = skb_header_pointer(skb, 0, sizeof(buf), &buf);

	/* the decoder compares the length with the maximum */
	return wire && weft_lrh_decode(lrh, wire, WEFT_FRAME_PACKET) == WEFT_MALFORMED_NONE;
}
WEFT_EXPORT_FOR_TEST(weft_frame_lrh);

/*
 * Make a frame, not sealed and without the headers of its underlay. Its body is copied from @offset
 * in @packet, or is zero without a packet. Any context; returns NULL without memory.
 *
 * The body is copied, because a packet must not change until it is acknowledged, and an underlay
 * may write to a frame. A frame could refer to pages of the packet instead, but the data of most
 * packets are in one piece with the headers.
 */
struct sk_buff *weft_frame_build(const struct weft_frame *frame, const struct sk_buff *packet,
				 u32 offset, const struct weft_frame_headroom *room)
{
	u32 length = sizeof(struct weft_wire_frame) + frame->length;
	struct sk_buff *skb = __netdev_alloc_skb(NULL, room->head + length + room->tail,
						 FRAME_GFP);

	if (!skb)
		return NULL;
	skb_reserve(skb, room->head);
	skb_reset_network_header(skb);
	weft_frame_encode(skb_put(skb, sizeof(struct weft_wire_frame)), frame);
	if (!packet) {
		skb_put_zero(skb, frame->length);
	} else if (skb_copy_bits(packet, offset, skb_put(skb, frame->length), frame->length)) {
		kfree_skb(skb);
		return NULL;
	}
	skb->protocol = htons(WEFT_IB_ETHERTYPE);
	/* frames that keep the fabric going must not wait behind data */
	if (frame->type != WEFT_FRAME_DATA || frame->flags & WEFT_FRAME_VL15)
		skb->priority = TC_PRIO_CONTROL;
#ifdef CONFIG_XPS
	/*
	 * reordered frames have to be repeated: use one queue of the net device, whichever CPU
	 * sends
	 */
	skb->sender_cpu = 1;
#endif
	return skb;
}
WEFT_EXPORT_FOR_TEST(weft_frame_build);

/* Check that @skb is a complete packet, and set it up as one of a fabric. Frees it on an error. */
static int reasm_complete(struct sk_buff *skb, u8 flags, struct sk_buff **packet)
{
	bool marked = flags & WEFT_FRAME_VL15;
	struct weft_lrh lrh;

	if (!weft_frame_lrh(&lrh, skb) || lrh.length != skb->len ||
	    (marked ? lrh.vl != 15 : lrh.vl == 15)) {
		kfree_skb(skb);
		return -EBADMSG;
	}
	if (!pskb_may_pull(skb, min_t(u32, skb->len, FRAME_PULL))) {
		kfree_skb(skb);
		return -ENOMEM;
	}
	skb_reset_network_header(skb);
	skb_reset_transport_header(skb);
	skb->protocol = htons(WEFT_IB_ETHERTYPE);
	skb->ip_summed = CHECKSUM_NONE;
	/* the net device may be gone before the packet is */
	skb->dev = NULL;
	*packet = skb;
	return 0;
}

/* Begin a packet with its first frame, to which the others are added. Belongs to the callee. */
static int reasm_begin(struct weft_reasm *reasm, struct sk_buff *frame)
{
	struct weft_lrh lrh;
	int ret = -EBADMSG;

	if (!weft_frame_lrh(&lrh, frame) || frame->len >= lrh.length)
		goto err_free;
	/* pull the headers here, so that reasm_complete() cannot fail without memory */
	ret = -ENOMEM;
	if (!pskb_may_pull(frame, min_t(u32, frame->len, FRAME_PULL)))
		goto err_free;
	reasm->skb = frame;
	reasm->total = lrh.length;
	return 0;

err_free:
	kfree_skb(frame);
	return ret;
}

/* Copy the packet to a linear buffer with room for all of it. */
static int reasm_flatten(struct weft_reasm *reasm)
{
	u32 length = reasm->skb->len;
	struct sk_buff *skb = __netdev_alloc_skb(NULL, reasm->total, FRAME_GFP);

	if (!skb)
		return -ENOMEM;
	skb_copy_bits(reasm->skb, 0, skb_put(skb, length), length);
	consume_skb(reasm->skb);
	reasm->skb = skb;
	return 0;
}

/* Take over the memory of the frame, which is possible for a fragment of a page, or copy it. */
static int reasm_join(struct weft_reasm *reasm, struct sk_buff *frame)
{
	bool stolen;
	int delta, ret;

	if (skb_try_coalesce(reasm->skb, frame, &stolen, &delta)) {
		kfree_skb_partial(frame, stolen);
		return 0;
	}
	if (skb_cloned(reasm->skb) || skb_tailroom(reasm->skb) < frame->len) {
		ret = reasm_flatten(reasm);
		if (ret)
			return ret;
	}
	skb_copy_bits(frame, 0, skb_put(reasm->skb, frame->len), frame->len);
	consume_skb(frame);
	return 0;
}

static bool reasm_takes(const struct weft_reasm *reasm, const struct sk_buff *frame, bool last)
{
	u32 left;

	if (!reasm->skb)
		return false;
	left = reasm->total - reasm->skb->len;
	return last ? frame->len == left : frame->len < left;
}

/* Add a frame that is not the first one. Belongs to the callee. */
static int reasm_append(struct weft_reasm *reasm, struct sk_buff *frame, bool last)
{
	int ret = -EBADMSG;

	if (reasm_takes(reasm, frame, last))
		ret = reasm_join(reasm, frame);
	if (ret)
		kfree_skb(frame);
	return ret;
}

static int reasm_part(struct weft_reasm *reasm, struct sk_buff *frame, u8 flags,
		      struct sk_buff **packet)
{
	bool last = flags & WEFT_FRAME_LAST;
	struct sk_buff *skb;
	int ret;

	if (flags & WEFT_FRAME_FIRST)
		return reasm_begin(reasm, frame);
	ret = reasm_append(reasm, frame, last);
	if (ret || !last)
		return ret;
	skb = reasm->skb;
	reasm->skb = NULL;
	return reasm_complete(skb, flags, packet);
}

/*
 * Add a frame to a packet. @frame has no header and no padding any more; it is not shared, and
 * belongs to the callee. @packet becomes the packet if it is complete, otherwise NULL. Returns 0;
 * -ENOMEM if the frame was dropped and may be repeated; -EBADMSG if it does not fit what came
 * before: the packet is dropped, and frames fail until the first one of another packet.
 */
int weft_reasm_add(struct weft_reasm *reasm, struct sk_buff *frame, u8 flags,
		   struct sk_buff **packet)
{
	int ret = -EBADMSG;

	*packet = NULL;
	if (flags & WEFT_FRAME_FIRST && reasm->skb) {
		kfree_skb(frame);
	} else if ((flags & FRAME_WHOLE) == FRAME_WHOLE) {
		/* the memory of the frame becomes that of the packet */
		ret = reasm_complete(frame, flags, packet);
	} else {
		ret = reasm_part(reasm, frame, flags, packet);
	}
	if (ret == -EBADMSG)
		weft_reasm_reset(reasm);
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_reasm_add);

/* Drop what has come of the packet. */
void weft_reasm_reset(struct weft_reasm *reasm)
{
	kfree_skb(reasm->skb);
	reasm->skb = NULL;
}
WEFT_EXPORT_FOR_TEST(weft_reasm_reset);
