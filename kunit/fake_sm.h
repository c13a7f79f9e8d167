/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A subnet manager that knows one node, and does to it what a test says. It is what
 * test->priv points to.
 */
#ifndef KUNIT_FAKE_SM_H
#define KUNIT_FAKE_SM_H

#include <kunit/test.h>

#include "fabric/sma.h"
#include "fake_node.h"

/* The LID that it gives. */
#define SM_LID		4

#define OK		0
#define BAD_VERSION	IB_MGMT_MAD_STATUS_BAD_VERSION
#define BAD_METHOD	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD
#define BAD_ATTR	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB
#define BAD_VALUE	IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE

#define GET		IB_MGMT_METHOD_GET
#define SET		IB_MGMT_METHOD_SET

/**
 * struct fake_sm - a node, and the MAD it answers
 * @fake: the node; all its cables are plugged in
 * @in_port: where the MAD comes in
 * @mkey: that it has
 * @smp: request and answer
 * @effect: of it
 */
struct fake_sm {
	struct fake_node	*fake;
	u8			in_port;
	u64			mkey;
	struct ib_smp		smp;
	struct weft_sma_effect	effect;
};

/* Of a suite: a subnet manager of a channel adapter. */
int fake_sm_init(struct kunit *test);

/* Have a switch instead. */
void sm_use_switch(struct kunit *test);

struct weft_ibport *sm_port(struct fake_sm *sm, u8 num);
enum weft_sma_verdict sm_process(struct fake_sm *sm);

/* Make a directed route request of one hop; its data are what was there before. */
void sm_request(struct fake_sm *sm, u8 method, __be16 attr, u32 mod);

/* A request that has an answer; returns its status. */
u16 sm_ask(struct kunit *test, u8 method, __be16 attr, u32 mod);

/* PortInfo of the last answer. */
struct ib_port_info *sm_info(struct fake_sm *sm);

/* As subnet managers do: Set what was got, but for the two states and what is new. */
struct ib_port_info *sm_begin_set(struct kunit *test, u32 mod, u8 state);
u16 sm_end_set(struct kunit *test, u32 mod);
u16 sm_set_state(struct kunit *test, u32 mod, u8 state);

/* PortPhysicalState */
u8 sm_phys(const struct weft_ibport *ibport);

#endif /* KUNIT_FAKE_SM_H */
