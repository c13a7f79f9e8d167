/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node with uplinks. The underlay is a fake that keeps all sent frames, and the test plays the
 * other nodes.
 */
#ifndef WEFT_KUNIT_UPLINK_MODEL_H
#define WEFT_KUNIT_UPLINK_MODEL_H

#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/skbuff.h>

#include "fabric/frame.h"
#include "fabric/node.h"
#include "fabric/underlay.h"
#include "fabric/underlay_addr.h"
#include "fabric/uplink.h"
#include "params.h"

#define UP_NODES	(WEFT_UPLINK_PEERS + 1)
#define UP_PORTS	(WEFT_UPLINK_PEERS + 1)
#define UP_MAX_FRAME	1500U
/* jiffies that the test waits for something. */
#define UP_PATIENCE	(10 * HZ)
/* ms after which nothing more is expected: several periods of HELLOs. */
#define UP_SILENCE_MS	(3 * WEFT_HELLO_FAST_MS)
#define UP_HEADER	((u32)sizeof(struct weft_wire_frame))

/**
 * struct up_port - a port of the node
 * @ib: the port
 * @taken: the uplinks have it
 * @received: number of packets delivered to it
 */
struct up_port {
	struct weft_ibport	ib;
	bool			taken;
	u32			received;
};

/**
 * struct up_other - a node that the test plays
 * @addr: underlay address
 * @guid: node GUID
 * @nonce: its nonce
 * @heard: nonce of the node under test for this one
 * @max_frame: longest frame that it announces
 * @queue: frames sent to it
 */
struct up_other {
	struct weft_underlay_addr addr;
	__be64			guid;
	u32			nonce;
	u32			heard;
	u16			max_frame;
	struct sk_buff_head	queue;
};

/**
 * struct up_bench - the node under test and its environment
 * @node: the node under test
 * @uplinks: its uplinks; NULL: not open
 * @underlay: the fake underlay
 * @ndev: net device of @underlay, not registered
 * @open_ret: result of opening @underlay
 * @opened: @underlay is open
 * @sent_late: number of frames sent while @underlay was not open
 * @max_frame: longest frame of @underlay
 * @port: ports of the node under test
 * @num_ports: entries of @port that may be taken
 * @takes: how often a port was taken
 * @other: other nodes
 * @everybody: frames sent to all addresses
 */
struct up_bench {
	struct weft_uplink_node	node;
	struct weft_uplinks	*uplinks;
	struct weft_underlay	underlay;
	struct net_device	*ndev;
	int			open_ret;
	bool			opened;
	u32			sent_late;
	u32			max_frame;
	struct up_port		port[UP_PORTS];
	u32			num_ports;
	u32			takes;
	struct up_other		other[UP_NODES];
	struct sk_buff_head	everybody;
};

/**
 * struct up_got - a frame that the node under test has sent
 * @frame: its header
 * @hello: valid if it is a HELLO
 * @length: bytes of the whole frame
 */
struct up_got {
	struct weft_frame	frame;
	struct weft_hello	hello;
	u32			length;
};

extern struct up_bench *ups;

int up_create(struct kunit *test);
void up_destroy(struct kunit *test);
void up_start(struct kunit *test, u32 ports);
void up_stop(void);
u32 up_taken(void);
/* A sealed frame of another node arrives. */
void up_receive_skb(u32 i, struct sk_buff *skb);
struct sk_buff *up_build(struct kunit *test, const struct weft_frame *frame,
			 const struct sk_buff *packet);
struct weft_hello up_hello_of(u32 i);
/* A HELLO with @length bytes behind the frame header arrives. */
void up_say_hello(struct kunit *test, u32 i, const struct weft_hello *hello, u32 nonce,
		  u32 heard, u16 length);
void up_hello(struct kunit *test, u32 i, u32 nonce, u32 heard);
/* A BYE or ACK arrives. */
void up_frame(struct kunit *test, u32 i, u8 type, u32 nonce, u32 heard);
struct sk_buff *up_smp(struct kunit *test);
/* A DATA frame with a packet of subnet management arrives. */
void up_data(struct kunit *test, u32 i, u32 nonce, u32 heard);
/* Take the next frame of a type, and drop those before it. Returns false if there is none. */
bool up_next(struct sk_buff_head *queue, u8 type, struct up_got *got);
bool up_wait(struct sk_buff_head *queue, u8 type, struct up_got *got);
bool up_is_plugged(u32 port);
bool up_wait_plugged(u32 port, bool plugged);
bool up_wait_taken(u32 taken);
/* Let the work item run several times. */
void up_settle(struct kunit *test);
/* Send a HELLO that names no nonce. Returns true if the answer, which comes at once, has one. */
bool up_meet(struct kunit *test, u32 i);
/* The node answers only after its work item has seen that a port is free. */
bool up_wait_meet(struct kunit *test, u32 i);
/* Connect a node. Returns the index of the port that has the cable. */
u32 up_connect(struct kunit *test, u32 i);

#endif /* WEFT_KUNIT_UPLINK_MODEL_H */
