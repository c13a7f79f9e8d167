/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A switch with cables of ours in its lower ports, and what a channel adapter at the other
 * end does.
 */
#ifndef WEFT_KUNIT_SWITCH_MODEL_H
#define WEFT_KUNIT_SWITCH_MODEL_H

#include <linux/skbuff.h>

#include "fabric/mad.h"
#include "fabric/node.h"
#include "fabric/switch.h"

/* Ports with a cable: 1 to this. */
#define MODEL_ENDS	4

/**
 * struct model_end - the far end of a cable
 * @cable: in a port of the switch
 * @port: that port
 * @other: where the cable goes to, a port of another switch; NULL: to @queue
 * @queue: what has come out of the switch
 */
struct model_end {
	struct weft_cable	cable;
	struct weft_ibport	*port;
	struct weft_ibport	*other;
	struct sk_buff_head	queue;
};

/**
 * struct model - a switch, all its cabled ports active
 * @sw: the switch
 * @node: the same
 * @end: by port number, from 1 on
 */
struct model {
	struct weft_switch	*sw;
	struct weft_ibnode	*node;
	struct model_end	end[MODEL_ENDS + 1];
};

/* A MAD as a test looks at it. */
struct model_mad {
	struct weft_mad_address	address;
	union {
		struct ib_mad	mad;
		struct ib_smp	smp;
	};
};

int model_create(struct model *model, u64 guid);
void model_destroy(struct model *model);

/* Make an end of one switch and one of another the same cable. */
void model_join(struct model *a, u8 a_port, struct model *b, u8 b_port);

void model_activate(struct weft_ibport *port);
void model_set_lids(struct model *model, u16 lid, u16 sm_lid);

/* Into the switch by a port. */
void model_send_skb(struct model *model, u8 port, struct sk_buff *skb);
void model_send(struct model *model, u8 port, const struct model_mad *mad);

/* What has come out of one goes into the other, as by an uplink; false: nothing has. */
bool model_carry(struct model *from, u8 from_port, struct model *to, u8 to_port);

/* What has come out by a port; waits for it. Returns false if there is nothing. */
bool model_receive(struct model *model, u8 port, struct model_mad *mad);
/* Nothing comes out, and nothing will. */
bool model_is_silent(struct model *model, u8 port);
u64 model_counter(struct model *model, u8 port, enum weft_ibport_counter counter);

/* A directed request as it leaves port 1 of a channel adapter, @hops ports of switches. */
void model_directed(struct model_mad *mad, __be16 attr, u32 mod, const u8 *path, u8 hops);
/* What ib_mad makes of an answer; false: it drops it. */
bool model_answered(struct model_mad *mad);
/* Get or Set an attribute of the switch itself from port 1; false: no answer. */
bool model_ask(struct model *model, struct model_mad *mad, u8 method, __be16 attr, u32 mod);

/* A Get of PortCounters of port 1, by LID. */
struct model_mad model_counters_request(u16 slid, u16 dlid, u16 pkey);

#endif /* WEFT_KUNIT_SWITCH_MODEL_H */
