/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The subnet management agent of a node (IBA 14.2): what a subnet manager reads and
 * sets. It answers; how a packet came and goes is none of its business, so hop pointers
 * of directed routes are not touched.
 */
#ifndef WEFT_FABRIC_SMA_H
#define WEFT_FABRIC_SMA_H

#include "fabric/node.h"

/**
 * enum weft_sma_verdict - what is to be done with a MAD
 * @WEFT_SMA_REPLY: the answer is to be sent
 * @WEFT_SMA_DROP: nothing is answered (a wrong M_Key; the answer would leave by a port
 *	that has just been disabled)
 * @WEFT_SMA_PASS: not for the agent: a response, a trap, or SMInfo while a subnet
 *	manager runs at the port
 */
enum weft_sma_verdict {
	WEFT_SMA_REPLY,
	WEFT_SMA_DROP,
	WEFT_SMA_PASS,
};

/**
 * struct weft_sma_effect - what a MAD has done
 * @port: to which port, or NULL
 * @events: enum weft_ibport_event, for weft_ibport_event() after the answer is made
 * @bad_mkey: it had a wrong M_Key: trap 256 is due
 * @represses: it is a TrapRepress: the trap with its transaction ID has been heard
 */
struct weft_sma_effect {
	struct weft_ibport	*port;
	u32			events;
	bool			bad_mkey;
	bool			represses;
};

/**
 * weft_sma_process - answer a subnet management MAD
 * @node: the agent's
 * @in_port: number of the port it came by; for a switch 0 when by its LID and no port is
 *	meant
 * @in: request, of class SUBN_LID_ROUTED or SUBN_DIRECTED_ROUTE; anything may be in it
 * @out: answer, valid with WEFT_SMA_REPLY; may be @in
 * @effect: what has changed; always filled in
 *
 * NodeDescription, NodeInfo, GUIDInfo, PortInfo, P_KeyTable, SLtoVLMappingTable,
 * VLArbitrationTable; of a switch what weft_ibnode.switch_attribute knows. SMInfo is a subnet
 * manager's: without one at the port it is an attribute that is not there. What is Set is what
 * Get returns; ClientReregister of PortInfo is an order, and only the answer to it has it.
 * Unknown methods, attributes and modifiers get the status of IBA 13.4.7. M_Key protection and
 * its lease (IBA 14.2.4).
 *
 * Context: any but hard interrupts.
 * Return: what is to be done.
 */
enum weft_sma_verdict weft_sma_process(struct weft_ibnode *node, u8 in_port,
				       const struct ib_smp *in, struct ib_smp *out,
				       struct weft_sma_effect *effect);

#endif /* WEFT_FABRIC_SMA_H */
