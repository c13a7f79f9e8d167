/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames of an uplink: what is on the wire between two nodes. Encoding, decoding,
 * and making packets of frames again.
 *
 * See "Frames" in Documentation/infiniband/weft/fabric.rst.
 */
#ifndef WEFT_FABRIC_FRAME_H
#define WEFT_FABRIC_FRAME_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

#include "wire/codec.h"

struct sk_buff;

#define WEFT_FRAME_VERSION	1
/* Of its net device each end demands this MTU: a management packet is one frame. */
#define WEFT_FRAME_MIN_MTU	512
/* The first frame of a cable has this number: so that counters wrap soon, and always. */
#define WEFT_FRAME_FIRST_SEQ	0xffffff00U

/**
 * enum weft_frame_type - what a frame is for
 * @WEFT_FRAME_HELLO: here is a node
 * @WEFT_FRAME_DATA: a packet or a part of one
 * @WEFT_FRAME_ACK: nothing but what each frame of a cable says: what has come
 * @WEFT_FRAME_BYE: the cable is pulled out
 */
enum weft_frame_type {
	WEFT_FRAME_HELLO	= 1,
	WEFT_FRAME_DATA		= 2,
	WEFT_FRAME_ACK		= 3,
	WEFT_FRAME_BYE		= 4,
};

/* flags: of DATA, it begins or ends a packet, and that is one of VL 15 */
#define WEFT_FRAME_FIRST	BIT(0)
#define WEFT_FRAME_LAST		BIT(1)
#define WEFT_FRAME_VL15		BIT(2)
/* of ACK: frames have come, but not the one that is expected */
#define WEFT_FRAME_GAP		BIT(3)

/* flags of a HELLO: it answers one, and is no longer than that */
#define WEFT_HELLO_ANSWER	BIT(0)

/**
 * struct weft_wire_frame - what each frame begins with, behind the Ethernet header
 * @version: WEFT_FRAME_VERSION
 * @type: enum weft_frame_type
 * @flags: WEFT_FRAME_FIRST and so on
 * @hops: DATA: cables between hosts that the packet has gone by, this one counted; else 0
 * @seq: DATA but of VL 15: number of this frame
 * @ack: DATA, ACK: number of the frame that is expected next
 * @nonce: of the sender, new for each cable; 0: HELLO to everybody
 * @heard: nonce of the receiver; 0: not heard yet
 * @fabric: 0
 * @length: bytes that follow; what is behind them is padding of Ethernet
 * @check: CRC-32 of the header, in which it counts as zero, and of what follows
 */
struct weft_wire_frame {
	u8	version;
	u8	type;
	u8	flags;
	u8	hops;
	__be32	seq;
	__be32	ack;
	__be32	nonce;
	__be32	heard;
	__be16	fabric;
	__be16	length;
	u8	check[4];
} __packed;
static_assert(sizeof(struct weft_wire_frame) == 28);

/**
 * struct weft_wire_hello - what follows in a HELLO
 * @guid: node GUID of the sender
 * @max_frame: bytes it takes behind the Ethernet header
 * @type: WEFT_NODE_SWITCH or WEFT_NODE_CA
 * @flags: WEFT_HELLO_ANSWER; older nodes have 0, and do not look at it
 * @reserved: 0
 */
struct weft_wire_hello {
	__be64	guid;
	__be16	max_frame;
	u8	type;
	u8	flags;
	u8	reserved[4];
} __packed;
static_assert(sizeof(struct weft_wire_hello) == 16);

/**
 * struct weft_frame - struct weft_wire_frame in CPU order
 * @type: enum weft_frame_type
 * @flags: WEFT_FRAME_FIRST and so on
 * @hops: cables that the packet has gone by
 * @length: bytes that follow
 * @seq: number of this frame
 * @ack: number of the frame that is expected next
 * @nonce: of the sender
 * @heard: nonce of the receiver
 */
struct weft_frame {
	u8	type;
	u8	flags;
	u8	hops;
	u16	length;
	u32	seq;
	u32	ack;
	u32	nonce;
	u32	heard;
};

/**
 * struct weft_hello - struct weft_wire_hello in CPU order
 * @guid: node GUID of the sender
 * @max_frame: bytes it takes behind the Ethernet header
 * @type: WEFT_NODE_SWITCH or WEFT_NODE_CA
 * @answer: WEFT_HELLO_ANSWER is set
 */
struct weft_hello {
	__be64	guid;
	u16	max_frame;
	u8	type;
	bool	answer;
};

/**
 * struct weft_frame_headroom - what the net device wants around a frame
 * @head: bytes before it, for the Ethernet header and more
 * @tail: bytes behind it
 */
struct weft_frame_headroom {
	u16	head;
	u16	tail;
};

/**
 * struct weft_reasm - a packet that is made of frames
 * @skb: what has come; NULL: none is begun
 * @total: bytes it will have
 */
struct weft_reasm {
	struct sk_buff	*skb;
	u32		total;
};

/**
 * weft_frame_seal - compute the checksum of a frame
 * @skb: from weft_frame_build(), complete
 *
 * The checksum of Ethernet is gone where a bridge or a virtual machine takes a frame
 * over, and ICRCs are not computed.
 */
void weft_frame_seal(struct sk_buff *skb);

/**
 * weft_frame_is_intact - compare the checksum of a frame
 * @skb: its header is decoded; may be made linear
 * @length: bytes that follow the header
 *
 * Return: true when it is the right one.
 */
bool weft_frame_is_intact(struct sk_buff *skb, u32 length);

/**
 * weft_frame_encode - write the header of a frame, without a checksum
 * @buf: room for struct weft_wire_frame
 * @frame: what to write
 */
void weft_frame_encode(void *buf, const struct weft_frame *frame);

/**
 * weft_frame_decode - read the header of a frame
 * @frame: result; valid when true is returned
 * @buf: the frame, as much as struct weft_wire_frame of it in memory
 * @len: bytes of the frame, padding included
 *
 * Return: false: it is not one of ours, or is malformed.
 */
bool weft_frame_decode(struct weft_frame *frame, const void *buf, u32 len);

/**
 * weft_hello_encode - write what follows in a HELLO
 * @buf: room for struct weft_wire_hello
 * @hello: what to write
 */
void weft_hello_encode(void *buf, const struct weft_hello *hello);

/**
 * weft_hello_decode - read what follows in a HELLO
 * @hello: result; valid when true is returned
 * @buf: where it begins; as much as struct weft_wire_hello is there
 *
 * Return: false: no node that we could have a cable to.
 */
bool weft_hello_decode(struct weft_hello *hello, const void *buf);

/**
 * weft_frame_lrh - read the LRH of a packet
 * @lrh: result; valid when true is returned
 * @skb: it begins with the LRH; need not hold all of the packet
 *
 * Return: false: malformed, or longer than a packet may be.
 */
bool weft_frame_lrh(struct weft_lrh *lrh, const struct sk_buff *skb);

/**
 * weft_frame_build - make a frame
 * @frame: header
 * @packet: where the @frame->length bytes behind the header come from; NULL: they are
 *	zero
 * @offset: of the first of them in @packet
 * @room: to leave around the frame
 *
 * The bytes are copied: a packet has to stay as it is until it is acknowledged, and what
 * takes a frame may write to it. Pages could be referenced instead, but not where the
 * packet is in one piece with its headers, and that is what most packets are.
 *
 * Context: any.
 * Return: the frame, without Ethernet header, or NULL: no memory.
 */
struct sk_buff *weft_frame_build(const struct weft_frame *frame, const struct sk_buff *packet,
				 u32 offset, const struct weft_frame_headroom *room);

/**
 * weft_reasm_add - add a frame to a packet
 * @reasm: zeroed before the first one
 * @frame: without header and padding, not shared. Belongs to the callee.
 * @flags: of the header
 * @packet: result: a packet that is complete, or NULL
 *
 * Context: any.
 * Return: 0; -ENOMEM: as if the frame had not come; -EBADMSG: it does not fit what came
 * before, and all up to the next first one is skipped.
 */
int weft_reasm_add(struct weft_reasm *reasm, struct sk_buff *frame, u8 flags,
		   struct sk_buff **packet);

/**
 * weft_reasm_reset - forget what has come
 * @reasm: a packet, or none
 */
void weft_reasm_reset(struct weft_reasm *reasm);

#endif /* WEFT_FABRIC_FRAME_H */
