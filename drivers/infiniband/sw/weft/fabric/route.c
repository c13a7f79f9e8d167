// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/route.h"

#include "fabric/port.h"

static const struct weft_route route_drop = { .verdict = WEFT_ROUTE_DROP };
static const struct weft_route route_here = { .verdict = WEFT_ROUTE_HERE };

/* Forward to a port of the path. Port 0, the switch itself, is not a way out. */
static struct weft_route route_port(u8 port, u8 ports)
{
	if (!port || port > ports)
		return route_drop;
	return (struct weft_route){ .verdict = WEFT_ROUTE_PORT, .port = port };
}

static struct weft_route route_lid(__be16 lid)
{
	return (struct weft_route){ .verdict = WEFT_ROUTE_LID, .lid = be16_to_cpu(lid) };
}

static bool route_permissive(__be16 lid)
{
	return lid == cpu_to_be16(WEFT_LID_PERMISSIVE);
}

/* C14-9:3: the last step of an outgoing packet's directed route. */
static struct weft_route route_end(struct ib_smp *smp, u8 in_port)
{
	if (smp->hop_cnt)
		smp->return_path[smp->hop_ptr] = in_port;
	smp->hop_ptr++;
	return route_permissive(smp->dr_dlid) ? route_here : route_lid(smp->dr_dlid);
}

/* C14-9: outgoing packets. */
static struct weft_route route_outgoing(struct ib_smp *smp, u8 in_port, bool by_lid,
					u8 ports)
{
	if (smp->hop_ptr == smp->hop_cnt)
		return route_end(smp, in_port);
	if (smp->hop_ptr > smp->hop_cnt)
		return smp->hop_ptr == smp->hop_cnt + 1 ? route_here : route_drop;
	if (smp->hop_ptr)
		smp->return_path[smp->hop_ptr] = in_port;
	else if (!by_lid || route_permissive(smp->dr_slid))
		/*
		 * a sender makes the first step itself, unless the directed route begins here after
		 * a part by LID
		 */
		return route_drop;
	smp->hop_ptr++;
	return route_port(smp->initial_path[smp->hop_ptr], ports);
}

/* C14-13: returning packets. */
static struct weft_route route_returning(struct ib_smp *smp, u8 in_port, bool by_lid,
					 u8 ports)
{
	/* 0: it has arrived at a subnet manager, but none runs here */
	if (!smp->hop_ptr || smp->hop_ptr > smp->hop_cnt + 1)
		return route_drop;
	/*
	 * The first step back is made by the node that responds, or, if the route ended with a part
	 * by LID, by the node where that part began.
	 */
	if (smp->hop_ptr == smp->hop_cnt + 1 && in_port &&
	    (!by_lid || route_permissive(smp->dr_dlid)))
		return route_drop;
	smp->hop_ptr--;
	if (smp->hop_ptr)
		return route_port(smp->return_path[smp->hop_ptr], ports);
	return route_permissive(smp->dr_slid) ? route_drop : route_lid(smp->dr_slid);
}

/*
 * Take a directed route one step further: how to forward @smp, which is of class
 * SUBN_DIRECTED_ROUTE and otherwise unchecked. Its hop pointer and return path are updated.
 * @in_port: the port by which it came; 0 for a response of the switch itself. @by_lid: its DLID was
 * that of the switch and not the permissive LID. @ports: number of external ports of the switch.
 */
struct weft_route weft_route_smp(struct ib_smp *smp, u8 in_port, bool by_lid, u8 ports)
{
	if (smp->hop_cnt >= IB_SMP_MAX_PATH_HOPS)
		return route_drop;
	if (ib_get_smp_direction(smp))
		return route_returning(smp, in_port, by_lid, ports);
	return route_outgoing(smp, in_port, by_lid, ports);
}
WEFT_EXPORT_FOR_TEST(weft_route_smp);
