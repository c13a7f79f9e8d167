/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames, which nodes of different hosts send to each other: encoding, and reassembly of packets.
 */
#ifndef WEFT_FABRIC_FRAME_H
#define WEFT_FABRIC_FRAME_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>

#include "wire/codec.h"

struct sk_buff;

#define WEFT_FRAME_VERSION	1
/* The least MTU of a net device with uplinks, so that a management packet fits into one frame. */
#define WEFT_FRAME_MIN_MTU	512
/* Number of the first frame of a cable. Close to the wrap, so that each cable exercises it. */
#define WEFT_FRAME_FIRST_SEQ	0xffffff00U

enum weft_frame_type {
	WEFT_FRAME_HELLO	= 1,	/* announces a node */
	WEFT_FRAME_DATA		= 2,	/* carries a packet or a part of one */
	WEFT_FRAME_ACK		= 3,	/* acknowledges frames, as DATA does, without data */
	WEFT_FRAME_BYE		= 4,	/* the cable is pulled out */
};

/* Flags of DATA: it begins a packet, ends it, carries one of VL 15. */
#define WEFT_FRAME_FIRST	BIT(0)
#define WEFT_FRAME_LAST		BIT(1)
#define WEFT_FRAME_VL15		BIT(2)
/* Flag of ACK: frames have come, but not the one that is expected. */
#define WEFT_FRAME_GAP		BIT(3)

/* Flag in struct weft_wire_hello: this HELLO answers one, and is not longer than that one. */
#define WEFT_HELLO_ANSWER	BIT(0)

/* Header of a frame, behind that of Ethernet or UDP. */
struct weft_wire_frame {
	u8	version;	/* WEFT_FRAME_VERSION */
	u8	type;		/* enum weft_frame_type */
	u8	flags;		/* WEFT_FRAME_FIRST and so on */
	u8	hops;		/* DATA: uplinks crossed, including this one; otherwise 0 */
	__be32	seq;		/* DATA, but not of VL 15: number of this frame */
	__be32	ack;		/* DATA, ACK: number of the next frame that the sender expects */
	__be32	nonce;		/* the sender's, new for each cable; 0 in a HELLO to all nodes */
	__be32	heard;		/* the receiver's nonce; 0 if the sender does not know it */
	__be16	fabric;		/* 0 */
	__be16	length;		/* bytes that follow; more bytes are padding of Ethernet */
	u8	check[4];	/* CRC-32 of the header, with 0 here, and of the body */
} __packed;
static_assert(sizeof(struct weft_wire_frame) == 28);

/* The body of a HELLO. */
struct weft_wire_hello {
	__be64	guid;		/* node GUID of the sender */
	__be16	max_frame;	/* bytes of the longest frame that the sender can receive */
	u8	type;		/* WEFT_NODE_* */
	u8	flags;		/* WEFT_HELLO_ANSWER; older nodes send and ignore 0 */
	u8	reserved[4];
} __packed;
static_assert(sizeof(struct weft_wire_hello) == 16);

/* struct weft_wire_frame in CPU order */
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

/* struct weft_wire_hello in CPU order; @answer is WEFT_HELLO_ANSWER */
struct weft_hello {
	__be64	guid;
	u16	max_frame;
	u8	type;
	bool	answer;
};

/* Bytes that the net device and the underlay need before and behind a frame. */
struct weft_frame_headroom {
	u16	head;
	u16	tail;
};

/* Reassembly of one packet; initially zero. */
struct weft_reasm {
	struct sk_buff	*skb;	/* the part that has come; NULL: no packet has begun */
	u32		total;	/* bytes that the packet will have */
};

void weft_frame_seal(struct sk_buff *skb);
bool weft_frame_is_intact(struct sk_buff *skb, u32 length);
void weft_frame_encode(void *buf, const struct weft_frame *frame);
bool weft_frame_decode(struct weft_frame *frame, const void *buf, u32 len);

/* The body of a HELLO. Decoding returns false if a cable cannot lead to its sender. */
void weft_hello_encode(void *buf, const struct weft_hello *hello);
bool weft_hello_decode(struct weft_hello *hello, const void *buf);

bool weft_frame_lrh(struct weft_lrh *lrh, const struct sk_buff *skb);
struct sk_buff *weft_frame_build(const struct weft_frame *frame, const struct sk_buff *packet,
				 u32 offset, const struct weft_frame_headroom *room);
int weft_reasm_add(struct weft_reasm *reasm, struct sk_buff *frame, u8 flags,
		   struct sk_buff **packet);
void weft_reasm_reset(struct weft_reasm *reasm);

#endif /* WEFT_FABRIC_FRAME_H */
