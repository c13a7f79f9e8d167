// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/pma.h"

#include <linux/string.h>
#include <rdma/ib_pma.h>

#define PMA_ALL_PORTS		255
/* RespTimeValue: 4.096 us * 2^18, about a second. */
#define PMA_TIME		18

/* A counter in an attribute. */
struct pma_field {
	enum weft_ibport_counter counter;
	u8	select;			/* bit of CounterSelect; from 16 on of CounterSelect2 */
	u8	offset;			/* in the attribute */
	u8	size;			/* in bytes */			/* in bytes */
};

#define PMA_FIELD(counter, select, type, member)			\
	{ counter, select, offsetof(struct type, member), sizeof_field(struct type, member) }

/*
 * Counters that are not listed stay 0: a link in software has no PortRcvRemotePhysicalErrors,
 * LocalLinkIntegrityErrors or ExcessiveBufferOverrunErrors.
 */
static const struct pma_field pma_fields[] = {
	PMA_FIELD(WEFT_IBC_SYMBOL_ERRORS, 0, ib_pma_portcounters, symbol_error_counter),
	PMA_FIELD(WEFT_IBC_LINK_RECOVERIES, 1, ib_pma_portcounters,
		  link_error_recovery_counter),
	PMA_FIELD(WEFT_IBC_LINK_DOWNED, 2, ib_pma_portcounters, link_downed_counter),
	PMA_FIELD(WEFT_IBC_RCV_ERRORS, 3, ib_pma_portcounters, port_rcv_errors),
	PMA_FIELD(WEFT_IBC_RELAY_ERRORS, 5, ib_pma_portcounters,
		  port_rcv_switch_relay_errors),
	PMA_FIELD(WEFT_IBC_XMIT_DISCARDS, 6, ib_pma_portcounters, port_xmit_discards),
	PMA_FIELD(WEFT_IBC_XMIT_CONSTRAINT, 7, ib_pma_portcounters,
		  port_xmit_constraint_errors),
	PMA_FIELD(WEFT_IBC_RCV_CONSTRAINT, 8, ib_pma_portcounters,
		  port_rcv_constraint_errors),
	PMA_FIELD(WEFT_IBC_VL15_DROPPED, 11, ib_pma_portcounters, vl15_dropped),
	PMA_FIELD(WEFT_IBC_XMIT_DATA, 12, ib_pma_portcounters, port_xmit_data),
	PMA_FIELD(WEFT_IBC_RCV_DATA, 13, ib_pma_portcounters, port_rcv_data),
	PMA_FIELD(WEFT_IBC_XMIT_PKTS, 14, ib_pma_portcounters, port_xmit_packets),
	PMA_FIELD(WEFT_IBC_RCV_PKTS, 15, ib_pma_portcounters, port_rcv_packets),
	PMA_FIELD(WEFT_IBC_XMIT_WAIT, 16, ib_pma_portcounters, port_xmit_wait),
};

static const struct pma_field pma_fields_ext[] = {
	PMA_FIELD(WEFT_IBC_XMIT_DATA, 0, ib_pma_portcounters_ext, port_xmit_data),
	PMA_FIELD(WEFT_IBC_RCV_DATA, 1, ib_pma_portcounters_ext, port_rcv_data),
	PMA_FIELD(WEFT_IBC_XMIT_PKTS, 2, ib_pma_portcounters_ext, port_xmit_packets),
	PMA_FIELD(WEFT_IBC_RCV_PKTS, 3, ib_pma_portcounters_ext, port_rcv_packets),
	PMA_FIELD(WEFT_IBC_UNICAST_XMIT, 4, ib_pma_portcounters_ext,
		  port_unicast_xmit_packets),
	PMA_FIELD(WEFT_IBC_UNICAST_RCV, 5, ib_pma_portcounters_ext,
		  port_unicast_rcv_packets),
	PMA_FIELD(WEFT_IBC_MULTICAST_XMIT, 6, ib_pma_portcounters_ext,
		  port_multicast_xmit_packets),
	PMA_FIELD(WEFT_IBC_MULTICAST_RCV, 7, ib_pma_portcounters_ext,
		  port_multicast_rcv_packets),
};

/*
 * An attribute with counters. A reset of one attribute does not affect the counters of the other.
 */
struct pma_table {
	const struct pma_field	*fields;
	u8			num;
	u8			size;
	bool			extended;
};

static const struct pma_table pma_counters = {
	pma_fields, ARRAY_SIZE(pma_fields), sizeof(struct ib_pma_portcounters), false,
};

static const struct pma_table pma_counters_ext = {
	pma_fields_ext, ARRAY_SIZE(pma_fields_ext), sizeof(struct ib_pma_portcounters_ext),
	true,
};

/* Big-endian numbers of 1 to 8 bytes */
static u64 pma_load(const u8 *bytes, u8 size)
{
	u64 value = 0;

	while (size--)
		value = value << 8 | *bytes++;
	return value;
}

static void pma_store(u8 *bytes, u8 size, u64 value)
{
	while (size--) {
		bytes[size] = value;
		value >>= 8;
	}
}

static u64 pma_greatest(const struct pma_field *field)
{
	return U64_MAX >> (64 - 8 * field->size);
}

static u64 *pma_base(struct weft_ibport *port, const struct pma_table *table,
		     const struct pma_field *field)
{
	return (table->extended ? port->base_ext : port->base) + field->counter;
}

static u64 pma_now(struct weft_ibport *port, const struct pma_field *field)
{
	return atomic64_read(&port->counters[field->counter]);
}

/* CounterSelect, and CounterSelect2 from bit 16 on */
static u32 pma_select(const struct pma_table *table, const u8 *data)
{
	const struct ib_pma_portcounters *counters = (const void *)data;
	u32 select = be16_to_cpu(counters->counter_select);

	return table->extended ? select : select | (u32)counters->reserved1 << 16;
}

static void pma_set_port(struct weft_ibport *port, const struct pma_table *table,
			 const u8 *data)
{
	u32 select = pma_select(table, data);
	const struct pma_field *field;
	unsigned long flags;

	spin_lock_irqsave(&port->lock, flags);
	for (field = table->fields; field < table->fields + table->num; field++)
		if (select & BIT(field->select))
			*pma_base(port, table, field) = pma_now(port, field) -
				pma_load(data + field->offset, field->size);
	spin_unlock_irqrestore(&port->lock, flags);
}

static void pma_add_port(struct weft_ibport *port, const struct pma_table *table, u64 *sums)
{
	const struct pma_field *field;
	unsigned long flags;

	spin_lock_irqsave(&port->lock, flags);
	for (field = table->fields; field < table->fields + table->num; field++)
		sums[field->counter] += pma_now(port, field) -
					*pma_base(port, table, field);
	spin_unlock_irqrestore(&port->lock, flags);
}

/* Numbers of the ports that a MAD is about. */
struct pma_range {
	u8	first;
	u8	last;
};

static bool pma_ports(const struct weft_ibnode *node, u8 select, struct pma_range *range)
{
	if (select == PMA_ALL_PORTS) {
		*range = (struct pma_range){ 1, node->num_ports };
		return true;
	}
	*range = (struct pma_range){ select, select };
	return select <= node->num_ports && node->port[select];
}

static void pma_write_sums(u8 *data, const struct pma_table *table, const u64 *sums)
{
	const struct pma_field *field;

	/* keep PortSelect and CounterSelect */
	memset(data + 4, 0, table->size - 4);
	for (field = table->fields; field < table->fields + table->num; field++)
		pma_store(data + field->offset, field->size,
			  min(sums[field->counter], pma_greatest(field)));
}

static u16 pma_port_counters(struct weft_ibnode *node, struct ib_pma_mad *mad,
			     const struct pma_table *table)
{
	u64 sums[WEFT_IBC_COUNT] = {};
	struct pma_range range;
	u8 num;

	/* PortSelect is at the same offset in both attributes */
	if (mad->mad_hdr.attr_mod || !pma_ports(node, mad->data[1], &range))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	for (num = range.first; num <= range.last; num++) {
		if (mad->mad_hdr.method == IB_MGMT_METHOD_SET)
			pma_set_port(node->port[num], table, mad->data);
		pma_add_port(node->port[num], table, sums);
	}
	pma_write_sums(mad->data, table, sums);
	return 0;
}

static u16 pma_class_port_info(struct ib_pma_mad *mad, __be16 capabilities)
{
	struct ib_class_port_info info = {
		.base_version = IB_MGMT_BASE_VERSION,
		.class_version = 1,
		.capability_mask = capabilities,
		.cap_mask2_resp_time = cpu_to_be32(PMA_TIME),
	};

	if (mad->mad_hdr.method == IB_MGMT_METHOD_SET)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	memset(mad->data, 0, sizeof(mad->data));
	memcpy(mad->data, &info, sizeof(info));
	return 0;
}

static const struct pma_table *pma_table_of(__be16 attr)
{
	switch (attr) {
	case IB_PMA_PORT_COUNTERS:
		return &pma_counters;
	case IB_PMA_PORT_COUNTERS_EXT:
		return &pma_counters_ext;
	default:
		return NULL;
	}
}

static u16 pma_answer(struct weft_ibnode *node, struct ib_pma_mad *mad)
{
	const struct ib_mad_hdr *hdr = &mad->mad_hdr;
	const struct pma_table *table = pma_table_of(hdr->attr_id);

	if (hdr->base_version != IB_MGMT_BASE_VERSION || hdr->class_version != 1)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (hdr->method != IB_MGMT_METHOD_GET && hdr->method != IB_MGMT_METHOD_SET)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD;
	if (hdr->attr_id == IB_PMA_CLASS_PORT_INFO)
		return pma_class_port_info(mad, IB_PMA_CLASS_CAP_ALLPORTSELECT |
						IB_PMA_CLASS_CAP_EXT_WIDTH |
						IB_PMA_CLASS_CAP_XMIT_WAIT);
	return table ? pma_port_counters(node, mad, table) :
		       IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
}

static u16 pma_show(const u64 *counts, struct ib_pma_mad *mad)
{
	const struct pma_table *table = pma_table_of(mad->mad_hdr.attr_id);

	/* such a port does not count multicast packets separately */
	if (mad->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO)
		return pma_class_port_info(mad, IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF);
	if (!table)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	pma_write_sums(mad->data, table, counts);
	return 0;
}

static void pma_respond(struct ib_mad *out, u16 status)
{
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = cpu_to_be16(status);
}

static bool pma_is_passed(const struct ib_mad_hdr *hdr)
{
	return hdr->method & IB_MGMT_METHOD_RESP || hdr->method == IB_MGMT_METHOD_TRAP ||
	       hdr->method == IB_MGMT_METHOD_TRAP_REPRESS ||
	       hdr->method == IB_MGMT_METHOD_REPORT;
}

/*
 * Answer @in, a MAD of class PERF_MGMT that is otherwise unchecked and came by port @in_port. @out
 * may be @in. Returns false if the agent does not answer such a MAD. Any context but hard
 * interrupts.
 *
 * Supported are Get and Set of PortCounters and PortCountersExtended, and Get of ClassPortInfo. Set
 * resets the counters that CounterSelect names. Counters of PortCounters saturate. PortSelect 255
 * means the sum of all ports (AllPortSelect), 0 the switch's own port.
 */
bool weft_pma_process(struct weft_ibnode *node, u8 in_port, const struct ib_mad *in,
		      struct ib_mad *out)
{
	if (pma_is_passed(&in->mad_hdr))
		return false;
	memmove(out, in, sizeof(*out));
	pma_respond(out, pma_answer(node, (struct ib_pma_mad *)out));
	return true;
}
WEFT_EXPORT_FOR_TEST(weft_pma_process);

/*
 * weft_pma_process() for a port that has no node: answer a query of the kernel from @counts, by
 * enum weft_ibport_counter. Returns false if it is not a Get. Any context.
 *
 * Supported are Get of ClassPortInfo, PortCounters, and PortCountersExtended without the counters
 * of unicast and multicast packets.
 */
bool weft_pma_show(const u64 *counts, const struct ib_mad *in, struct ib_mad *out)
{
	if (in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return false;
	memmove(out, in, sizeof(*out));
	pma_respond(out, pma_show(counts, (struct ib_pma_mad *)out));
	return true;
}
WEFT_EXPORT_FOR_TEST(weft_pma_show);
