// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "switch_model.h"

#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/rcupdate.h>

/* ms to wait for a packet that is expected, and for one that is not */
#define MODEL_PATIENCE	2000
#define MODEL_SILENCE	30

static void model_xmit(struct weft_cable *cable, struct weft_ibport *from,
		       struct sk_buff *skb)
{
	struct model_end *end = container_of(cable, struct model_end, cable);

	if (end->other)
		weft_ibport_deliver(end->other, skb, true);
	else
		skb_queue_tail(&end->queue, skb);
}

void model_activate(struct weft_ibport *port)
{
	unsigned long flags;

	spin_lock_irqsave(&port->lock, flags);
	port->info.linkspeed_portstate &= 0xf0;
	port->info.linkspeed_portstate |= IB_PORT_ACTIVE;
	WRITE_ONCE(port->state, IB_PORT_ACTIVE);
	spin_unlock_irqrestore(&port->lock, flags);
}

void model_set_lids(struct model *model, u16 lid, u16 sm_lid)
{
	struct weft_ibport *own = model->node->port[0];
	unsigned long flags;

	spin_lock_irqsave(&own->lock, flags);
	own->info.lid = cpu_to_be16(lid);
	own->info.sm_lid = cpu_to_be16(sm_lid);
	WRITE_ONCE(own->lid, lid);
	spin_unlock_irqrestore(&own->lock, flags);
}

int model_create(struct model *model, u64 guid)
{
	struct model_end *end;
	u8 i;

	model->sw = weft_switch_create(cpu_to_be64(guid), "model", 4);
	if (IS_ERR(model->sw))
		return PTR_ERR(model->sw);
	model->node = weft_switch_node(model->sw);
	for (i = 1; i <= MODEL_ENDS; i++) {
		end = &model->end[i];
		end->cable.xmit = model_xmit;
		skb_queue_head_init(&end->queue);
		end->port = weft_switch_take_port(model->sw, false);
		weft_ibport_plug(end->port, &end->cable);
		model_activate(end->port);
	}
	return 0;
}

void model_destroy(struct model *model)
{
	struct model_end *end;

	for (end = &model->end[1]; end <= &model->end[MODEL_ENDS]; end++) {
		weft_ibport_unplug(end->port);
		synchronize_rcu();
		skb_queue_purge(&end->queue);
		weft_switch_give_port(model->sw, end->port);
	}
	weft_switch_destroy(model->sw);
}

void model_join(struct model *a, u8 a_port, struct model *b, u8 b_port)
{
	a->end[a_port].other = b->end[b_port].port;
	b->end[b_port].other = a->end[a_port].port;
}

void model_send_skb(struct model *model, u8 port, struct sk_buff *skb)
{
	local_bh_disable();
	rcu_read_lock();
	weft_ibport_deliver(model->end[port].port, skb, false);
	rcu_read_unlock();
	local_bh_enable();
}

void model_send(struct model *model, u8 port, const struct model_mad *mad)
{
	struct sk_buff *skb = weft_mad_build(&mad->address, &mad->mad, GFP_KERNEL);

	if (skb)
		model_send_skb(model, port, skb);
}

bool model_carry(struct model *from, u8 from_port, struct model *to, u8 to_port)
{
	struct sk_buff *skb = skb_dequeue(&from->end[from_port].queue);

	if (!skb)
		return false;
	weft_hop(skb)->hops++;
	model_send_skb(to, to_port, skb);
	return true;
}

static struct sk_buff *model_dequeue(struct model *model, u8 port, u32 patience)
{
	struct sk_buff *skb = skb_dequeue(&model->end[port].queue);

	while (!skb && patience--) {
		usleep_range(1000, 1100);
		skb = skb_dequeue(&model->end[port].queue);
	}
	return skb;
}

bool model_receive(struct model *model, u8 port, struct model_mad *mad)
{
	struct sk_buff *skb = model_dequeue(model, port, MODEL_PATIENCE);
	bool valid = skb && weft_mad_parse(skb, &mad->address, &mad->mad);

	kfree_skb(skb);
	return valid;
}

bool model_is_silent(struct model *model, u8 port)
{
	struct sk_buff *skb = model_dequeue(model, port, MODEL_SILENCE);

	kfree_skb(skb);
	return !skb;
}

void model_forget(struct model *model)
{
	struct model_end *end;

	for (end = &model->end[1]; end <= &model->end[MODEL_ENDS]; end++)
		skb_queue_purge(&end->queue);
}

u64 model_counter(struct model *model, u8 port, enum weft_ibport_counter counter)
{
	return atomic64_read(&model->node->port[port]->counters[counter]);
}

void model_directed(struct model_mad *mad, __be16 attr, u32 mod, const u8 *path, u8 hops)
{
	struct ib_smp *smp = &mad->smp;

	memset(mad, 0, sizeof(*mad));
	mad->address.dlid = WEFT_LID_PERMISSIVE;
	mad->address.slid = WEFT_LID_PERMISSIVE;
	mad->address.vl = WEFT_VL_SMP;
	mad->address.pkey = IB_DEFAULT_PKEY_FULL;
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_GET;
	smp->hop_cnt = hops + 1;
	smp->hop_ptr = 1;
	smp->tid = cpu_to_be64(0x1234567890abcdefULL);
	smp->attr_id = attr;
	smp->attr_mod = cpu_to_be32(mod);
	smp->dr_slid = cpu_to_be16(WEFT_LID_PERMISSIVE);
	smp->dr_dlid = cpu_to_be16(WEFT_LID_PERMISSIVE);
	smp->initial_path[1] = 1;
	if (hops)
		memcpy(&smp->initial_path[2], path, hops);
}

bool model_answered(struct model_mad *mad)
{
	struct ib_smp *smp = &mad->smp;

	if (!ib_get_smp_direction(smp) || smp->hop_ptr != 1 ||
	    smp->dr_slid != cpu_to_be16(WEFT_LID_PERMISSIVE) ||
	    smp->method != IB_MGMT_METHOD_GET_RESP ||
	    mad->address.dlid != WEFT_LID_PERMISSIVE || mad->address.vl != WEFT_VL_SMP)
		return false;
	smp->hop_ptr--;
	return true;
}

bool model_ask(struct model *model, struct model_mad *mad, u8 method, __be16 attr, u32 mod)
{
	u8 data[IB_SMP_DATA_SIZE];

	memcpy(data, mad->smp.data, sizeof(data));
	model_directed(mad, attr, mod, NULL, 0);
	memcpy(mad->smp.data, data, sizeof(data));
	mad->smp.method = method;
	model_send(model, 1, mad);
	return model_receive(model, 1, mad) && model_answered(mad);
}

struct model_mad model_counters_request(u16 slid, u16 dlid, u16 pkey)
{
	struct model_mad mad = {
		.address = {
			.slid = slid, .dlid = dlid, .pkey = pkey,
			.dqpn = 1, .sqpn = 1, .qkey = IB_QP1_QKEY,
		},
		.mad.mad_hdr = {
			.base_version = IB_MGMT_BASE_VERSION,
			.mgmt_class = IB_MGMT_CLASS_PERF_MGMT,
			.class_version = 1,
			.method = IB_MGMT_METHOD_GET,
			.attr_id = cpu_to_be16(0x12),
		},
	};

	/* PortSelect */
	mad.mad.data[41] = 1;
	return mad;
}
