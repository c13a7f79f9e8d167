/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A subnet manager with a single node, which sends the requests that a test asks for. test->priv
 * points to it.
 */
#ifndef KUNIT_FAKE_SM_H
#define KUNIT_FAKE_SM_H

#include <kunit/test.h>

#include "fabric/sma.h"
#include "fake_node.h"

/* The LID that it assigns. */
#define SM_LID		4

#define OK		0
#define BAD_VERSION	IB_MGMT_MAD_STATUS_BAD_VERSION
#define BAD_METHOD	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD
#define BAD_ATTR	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB
#define BAD_VALUE	IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE

#define GET		IB_MGMT_METHOD_GET
#define SET		IB_MGMT_METHOD_SET

struct fake_sm {
	struct fake_node	*fake;	/* all its cables are plugged in */
	u8			in_port;	/* port by which requests come */
	u64			mkey;	/* M_Key in requests */
	struct ib_smp		smp;	/* request and response */
	struct weft_sma_effect	effect;
};

/* Initialize a test: the node is a channel adapter. */
int fake_sm_init(struct kunit *test);

/* Replace the node by a switch. */
void sm_use_switch(struct kunit *test);

struct weft_ibport *sm_port(struct fake_sm *sm, u8 num);
enum weft_sma_verdict sm_process(struct fake_sm *sm);

/* Make a request by a directed route of one hop. smp.data is left as it is. */
void sm_request(struct fake_sm *sm, u8 method, __be16 attr, u32 mod);

/* Make a request that must be answered. Returns the status of the response. */
u16 sm_ask(struct kunit *test, u8 method, __be16 attr, u32 mod);

/* PortInfo in the last response. */
struct ib_port_info *sm_info(struct fake_sm *sm);

/* Set PortInfo as subnet managers do: Get it, set the states, change other fields, Set it. */
struct ib_port_info *sm_begin_set(struct kunit *test, u32 mod, u8 state);
u16 sm_end_set(struct kunit *test, u32 mod);
u16 sm_set_state(struct kunit *test, u32 mod, u8 state);

/* PortPhysicalState */
u8 sm_phys(const struct weft_ibport *ibport);

#endif /* KUNIT_FAKE_SM_H */
