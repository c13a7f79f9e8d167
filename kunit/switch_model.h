/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A switch with test cables in its lower ports, and the channel adapters at their other ends. */
#ifndef WEFT_KUNIT_SWITCH_MODEL_H
#define WEFT_KUNIT_SWITCH_MODEL_H

#include <linux/skbuff.h>

#include "fabric/mad.h"
#include "fabric/node.h"
#include "fabric/switch.h"

/* Ports 1 to 4 have cables. */
#define MODEL_ENDS	4

/* The other end of a cable. */
struct model_end {
	struct weft_cable	cable;	/* plugged into @port */
	struct weft_ibport	*port;	/* of the switch */
	struct weft_ibport	*other;	/* NULL: @queue; else the port of another switch */
	struct sk_buff_head	queue;	/* packets that have left the switch */
};

/* A switch whose cabled ports are active. */
struct model {
	struct weft_switch	*sw;
	struct weft_ibnode	*node;
	struct model_end	end[MODEL_ENDS + 1];	/* by port number, from 1 on */
};

/* A management packet. */
struct model_mad {
	struct weft_mad_address	address;
	union {
		struct ib_mad	mad;
		struct ib_smp	smp;
	};
};

int model_create(struct model *model, u64 guid);
void model_destroy(struct model *model);

/* Connect a port of one switch with a port of another one. */
void model_join(struct model *a, u8 a_port, struct model *b, u8 b_port);

void model_activate(struct weft_ibport *port);
void model_set_lids(struct model *model, u16 lid, u16 sm_lid);

/* Deliver a packet to a port of the switch. */
void model_send_skb(struct model *model, u8 port, struct sk_buff *skb);
void model_send(struct model *model, u8 port, const struct model_mad *mad);

/* Move a packet from one switch to another, as an uplink does. Returns false if there is none. */
bool model_carry(struct model *from, u8 from_port, struct model *to, u8 to_port);

/* Wait for a management packet to leave by a port. Returns false if none does. */
bool model_receive(struct model *model, u8 port, struct model_mad *mad);
/* Does no packet leave by a port for some time? */
bool model_is_silent(struct model *model, u8 port);
/* Free the packets that have arrived at all ends. */
void model_forget(struct model *model);

u64 model_counter(struct model *model, u8 port, enum weft_ibport_counter counter);

/* A directed request as it leaves port 1 of a channel adapter; the path has @hops switch ports. */
void model_directed(struct model_mad *mad, __be16 attr, u32 mod, const u8 *path, u8 hops);
/* Process a response as ib_mad does. Returns false if ib_mad would drop it. */
bool model_answered(struct model_mad *mad);
/* Get or Set an attribute of the switch by port 1. Returns false without a response. */
bool model_ask(struct model *model, struct model_mad *mad, u8 method, __be16 attr, u32 mod);

/* A Get of PortCounters of port 1, by LID. */
struct model_mad model_counters_request(u16 slid, u16 dlid, u16 pkey);

#endif /* WEFT_KUNIT_SWITCH_MODEL_H */
