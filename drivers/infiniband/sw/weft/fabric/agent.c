// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The management agents of a switch. They process packets for the switch itself from a queue:
 * answer them, or forward them on their directed routes. They also send traps.
 */
#include "fabric/agent.h"

#include <linux/bottom_half.h>
#include <linux/rcupdate.h>

#include "fabric/fdb.h"
#include "fabric/filter.h"
#include "fabric/mad.h"
#include "fabric/pma.h"
#include "fabric/route.h"
#include "fabric/sma.h"

/* Packets in the queue: more than a subnet manager has outstanding to a whole fabric. */
#define AGENT_QUEUE		256
/* Packets of one run of the work item, which then lets other work items of the CPU run. */
#define AGENT_BATCH		64

/* When @room packets of any kind are queued, this kind is dropped and counted in @dropped. */
struct agent_class {
	u32				room;
	enum weft_ibport_counter	dropped;
};

/*
 * The subnet manager must reach the switch whatever else is sent to it, so packets of QP 1 fill at
 * most half of the queue. Other packets on the data lane are for QPs that the switch does not have.
 */
static const struct agent_class agent_classes[] = {
	[WEFT_MAD_NONE] = { 0, WEFT_IBC_RELAY_ERRORS },
	[WEFT_MAD_SUBNET] = { AGENT_QUEUE, WEFT_IBC_VL15_DROPPED },
	[WEFT_MAD_GENERAL] = { AGENT_QUEUE / 2, WEFT_IBC_RCV_ERRORS },
};

/* Control block of a queued packet. */
struct agent_cb {
	u8	in_port;
};

/* A packet that is being processed. */
struct agent_packet {
	struct weft_agent	*agent;
	u8			in_port;
	struct weft_mad_address	address;	/* of the packet; later of what is sent in return */
	union {
		struct ib_mad	mad;
		struct ib_smp	smp;
	};
};

static struct agent_cb *agent_cb(struct sk_buff *skb)
{
	return (struct agent_cb *)skb->cb;
}

static struct weft_ibport *agent_own_port(const struct weft_agent *agent)
{
	return agent->node->port[0];
}

/* weft_ibport_xmit() checks whether the state of the port allows this. */
static void agent_xmit(struct weft_agent *agent, u8 port, struct sk_buff *skb)
{
	/* port 0 is the switch itself, and WEFT_FDB_NONE is not a port */
	if (port && port <= agent->node->num_ports)
		weft_filter_xmit(&agent->traps, agent->node->port[port], skb);
	else
		kfree_skb(skb);
}

static void agent_send(struct agent_packet *packet, u8 port)
{
	struct sk_buff *skb = weft_mad_build(&packet->address, &packet->mad, GFP_NOIO);

	if (!skb)
		return;
	local_bh_disable();
	rcu_read_lock();
	agent_xmit(packet->agent, port, skb);
	rcu_read_unlock();
	local_bh_enable();
}

/*
 * Send a response to the source LID of the request. While the tables have no route for that LID,
 * the response leaves by the port by which the request came.
 */
static void agent_answer(struct agent_packet *packet)
{
	u8 port;

	weft_mad_answer(&packet->address);
	port = weft_fdb_port(packet->agent->fdb, packet->address.dlid);
	agent_send(packet, port == WEFT_FDB_NONE ? packet->in_port : port);
}

/* The directed part of a route ends here, and the packet goes on to a LID. */
static void agent_send_lid(struct agent_packet *packet, u16 lid)
{
	packet->address.dlid = lid;
	packet->address.slid = READ_ONCE(agent_own_port(packet->agent)->lid);
	if (packet->address.slid)
		agent_send(packet, weft_fdb_port(packet->agent->fdb, lid));
}

static void agent_send_port(struct agent_packet *packet, u8 port)
{
	packet->address.dlid = WEFT_LID_PERMISSIVE;
	packet->address.slid = WEFT_LID_PERMISSIVE;
	agent_send(packet, port);
}

/*
 * A response returns on the directed route of its request, or by LID if the last part of that route
 * was by LID.
 */
static void agent_answer_directed(struct agent_packet *packet)
{
	struct ib_smp *smp = &packet->smp;
	struct weft_route route;

	smp->status |= IB_SMP_DIRECTION;
	if (smp->dr_dlid != cpu_to_be16(WEFT_LID_PERMISSIVE) &&
	    packet->address.dlid != WEFT_LID_PERMISSIVE) {
		agent_answer(packet);
		return;
	}
	route = weft_route_smp(smp, 0, false, packet->agent->node->num_ports);
	if (route.verdict == WEFT_ROUTE_PORT)
		agent_send_port(packet, route.port);
	else if (route.verdict == WEFT_ROUTE_LID)
		agent_send_lid(packet, route.lid);
}

static bool agent_is_directed(const struct agent_packet *packet)
{
	return packet->smp.mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
}

/*
 * A request to the switch. Events are passed on after the response has been sent, because the
 * other end of a link follows them and may go down.
 */
static void agent_request(struct agent_packet *packet)
{
	struct weft_traps *traps = &packet->agent->traps;
	struct weft_sma_effect effect;

	if (weft_sma_process(packet->agent->node, packet->in_port, &packet->smp,
			     &packet->smp, &effect) == WEFT_SMA_REPLY) {
		if (agent_is_directed(packet))
			agent_answer_directed(packet);
		else
			agent_answer(packet);
	}
	if (effect.represses)
		weft_traps_repress(traps, packet->smp.tid);
	if (effect.bad_mkey)
		weft_traps_refused(traps, packet->address.slid, &packet->smp);
	if (effect.port)
		weft_ibport_event(effect.port, effect.events);
}

static void agent_directed(struct agent_packet *packet)
{
	const struct weft_ibnode *node = packet->agent->node;
	bool by_lid = packet->address.dlid != WEFT_LID_PERMISSIVE;
	struct weft_route route;

	route = weft_route_smp(&packet->smp, packet->in_port, by_lid, node->num_ports);
	switch (route.verdict) {
	case WEFT_ROUTE_DROP:
		break;
	case WEFT_ROUTE_PORT:
		agent_send_port(packet, route.port);
		break;
	case WEFT_ROUTE_LID:
		/*
		 * The part by LID may lead to this switch itself. A response that ends here is
		 * dropped, because no subnet manager runs here.
		 */
		if (!weft_ibport_has_lid(node->port[0], route.lid))
			agent_send_lid(packet, route.lid);
		else if (!ib_get_smp_direction(&packet->smp))
			agent_request(packet);
		break;
	case WEFT_ROUTE_HERE:
		agent_request(packet);
		break;
	}
}

/*
 * QP 0 needs no keys. Its packets are on VL 15, and have no GRH because they do not leave the
 * subnet.
 */
static void agent_subnet(struct agent_packet *packet)
{
	const struct ib_smp *smp = &packet->smp;

	if (packet->address.vl != WEFT_VL_SMP || packet->address.global ||
	    smp->base_version != IB_MGMT_BASE_VERSION)
		return;
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		agent_directed(packet);
	else if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_LID_ROUTED)
		agent_request(packet);
}

static void agent_violation(struct agent_packet *packet, u16 trap, u32 key)
{
	const struct weft_mad_address *address = &packet->address;
	const struct weft_violation violation = {
		.slid = address->slid,
		.dlid = address->dlid,
		.sl = address->sl,
		.key = key,
		.sqpn = address->sqpn,
		.dqpn = address->dqpn,
		.sgid = address->global ? address->grh.sgid : NULL,
		.dgid = address->global ? address->grh.dgid : NULL,
	};

	weft_traps_violation(&packet->agent->traps, trap, &violation);
}

static bool agent_has_keys(struct agent_packet *packet)
{
	const struct weft_ibport *port = agent_own_port(packet->agent);
	struct weft_mad_address *address = &packet->address;
	int index = weft_ibport_find_pkey(port, address->pkey);

	if (index < 0) {
		agent_violation(packet, WEFT_TRAP_BAD_PKEY, address->pkey);
		return false;
	}
	if (address->qkey != IB_QP1_QKEY) {
		agent_violation(packet, WEFT_TRAP_BAD_QKEY, address->qkey);
		return false;
	}
	/*
	 * Respond with our entry instead of the P_Key of the request: a limited member accepts only
	 * the P_Key of a full member.
	 */
	address->pkey = READ_ONCE(port->pkeys[index]);
	return true;
}

/* QP 1. Performance management is the only class that the switch supports. */
static void agent_general(struct agent_packet *packet)
{
	const struct weft_mad_address *address = &packet->address;
	struct weft_agent *agent = packet->agent;

	if (address->vl == WEFT_VL_SMP || address->dlid == WEFT_LID_PERMISSIVE ||
	    !agent_has_keys(packet))
		return;
	if (packet->mad.mad_hdr.base_version == IB_MGMT_BASE_VERSION &&
	    packet->mad.mad_hdr.mgmt_class == IB_MGMT_CLASS_PERF_MGMT &&
	    weft_pma_process(agent->node, packet->in_port, &packet->mad, &packet->mad))
		agent_answer(packet);
}

static void agent_work(struct work_struct *work)
{
	struct weft_agent *agent = container_of(work, struct weft_agent, work);
	struct agent_packet packet = { .agent = agent };
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < AGENT_BATCH; i++) {
		skb = skb_dequeue(&agent->queue);
		if (!skb)
			return;
		packet.in_port = agent_cb(skb)->in_port;
		if (weft_mad_parse(skb, &packet.address, &packet.mad)) {
			if (packet.address.dqpn == 0)
				agent_subnet(&packet);
			else if (packet.address.dqpn == 1)
				agent_general(&packet);
		}
		consume_skb(skb);
	}
	queue_work(agent->workqueue, &agent->work);
}

/*
 * Queue a packet for the switch, which came by @port and belongs to the callee. Drops and counts
 * a packet on VL 15 when the queue is full (WEFT_IBC_VL15_DROPPED), one of QP 1 when it is half
 * full (WEFT_IBC_RCV_ERRORS), and any other packet (WEFT_IBC_RELAY_ERRORS). Any context but hard
 * interrupts.
 */
void weft_agent_receive(struct weft_agent *agent, struct weft_ibport *port,
			struct sk_buff *skb)
{
	const struct agent_class *class = &agent_classes[weft_mad_kind(skb)];

	/* several CPUs may exceed the limit by a few packets */
	if (skb_queue_len_lockless(&agent->queue) >= class->room) {
		weft_ibport_count(port, class->dropped);
		kfree_skb(skb);
		return;
	}
	/* it may stay in the queue for long, which must not count against its sender */
	skb_orphan(skb);
	agent_cb(skb)->in_port = port->num;
	skb_queue_tail(&agent->queue, skb);
	queue_work(agent->workqueue, &agent->work);
}

static struct weft_agent *agent_of_traps(struct weft_traps *traps)
{
	return container_of(traps, struct weft_agent, traps);
}

/* Trap 128 is pointless when a sweep of the subnet manager has already found the change. */
static bool agent_wants_trap(struct weft_traps *traps, const struct weft_notice *notice)
{
	return notice->trap != cpu_to_be16(WEFT_TRAP_LINK_CHANGE) ||
	       test_bit(0, &agent_of_traps(traps)->fdb->state_change);
}

static void agent_send_trap(struct weft_traps *traps, u16 dlid, struct sk_buff *skb)
{
	struct weft_agent *agent = agent_of_traps(traps);

	agent_xmit(agent, weft_fdb_port(agent->fdb, dlid), skb);
}

static const struct weft_traps_ops agent_traps_ops = {
	.wanted = agent_wants_trap,
	.send = agent_send_trap,
};

/* The link of a port went down or came up. Any context but hard interrupts. */
void weft_agent_link_changed(struct weft_agent *agent)
{
	struct weft_notice notice = weft_notice_link_change();

	set_bit(0, &agent->fdb->state_change);
	weft_traps_raise(&agent->traps, &notice);
}

/* Initialize zeroed memory for a switch. May sleep; returns 0 or -ENOMEM. */
int weft_agent_init(struct weft_agent *agent, struct weft_ibnode *node,
		    struct weft_fdb *fdb)
{
	/*
	 * A workqueue of its own, so that responses do not wait for other work items: a subnet
	 * manager waits 200 ms for a response. WQ_MEM_RECLAIM, because memory may be written out
	 * over the fabric, and a link that comes up again carries data only after the subnet
	 * manager has configured it through the agents.
	 */
	agent->workqueue = alloc_ordered_workqueue("weft_agent", WQ_HIGHPRI | WQ_MEM_RECLAIM);
	if (!agent->workqueue)
		return -ENOMEM;
	agent->node = node;
	agent->fdb = fdb;
	skb_queue_head_init(&agent->queue);
	INIT_WORK(&agent->work, agent_work);
	weft_traps_init(&agent->traps, node, &agent_traps_ops, agent->workqueue);
	return 0;
}

/* Drop all queued packets. Does nothing after a failed weft_agent_init(). Sleeps. */
void weft_agent_exit(struct weft_agent *agent)
{
	if (!agent->workqueue)
		return;
	cancel_work_sync(&agent->work);
	weft_traps_close(&agent->traps);
	destroy_workqueue(agent->workqueue);
	skb_queue_purge(&agent->queue);
}
