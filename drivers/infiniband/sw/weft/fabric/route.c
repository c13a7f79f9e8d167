// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/route.h"

#include "fabric/port.h"

static const struct weft_route route_drop = { .verdict = WEFT_ROUTE_DROP };
static const struct weft_route route_here = { .verdict = WEFT_ROUTE_HERE };

/* Out by a port that a path names; 0 would be the switch itself, which is no way out. */
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

/* C14-9:3, the last step of the directed part of the way there. */
static struct weft_route route_end(struct ib_smp *smp, u8 in_port)
{
	if (smp->hop_cnt)
		smp->return_path[smp->hop_ptr] = in_port;
	smp->hop_ptr++;
	return route_permissive(smp->dr_dlid) ? route_here : route_lid(smp->dr_dlid);
}

/* C14-9: the way there. */
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
		/* who sends it makes the first step, unless it comes to us to begin here */
		return route_drop;
	smp->hop_ptr++;
	return route_port(smp->initial_path[smp->hop_ptr], ports);
}

/* C14-13: the way back. */
static struct weft_route route_returning(struct ib_smp *smp, u8 in_port, bool by_lid,
					 u8 ports)
{
	/* 0: it has arrived at a subnet manager, which is not here */
	if (!smp->hop_ptr || smp->hop_ptr > smp->hop_cnt + 1)
		return route_drop;
	/* the first step back is made by who answers, or where the way to it by LID ended */
	if (smp->hop_ptr == smp->hop_cnt + 1 && in_port &&
	    (!by_lid || route_permissive(smp->dr_dlid)))
		return route_drop;
	smp->hop_ptr--;
	if (smp->hop_ptr)
		return route_port(smp->return_path[smp->hop_ptr], ports);
	return route_permissive(smp->dr_slid) ? route_drop : route_lid(smp->dr_slid);
}

struct weft_route weft_route_smp(struct ib_smp *smp, u8 in_port, bool by_lid, u8 ports)
{
	if (smp->hop_cnt >= IB_SMP_MAX_PATH_HOPS)
		return route_drop;
	if (ib_get_smp_direction(smp))
		return route_returning(smp, in_port, by_lid, ports);
	return route_outgoing(smp, in_port, by_lid, ports);
}
WEFT_EXPORT_FOR_TEST(weft_route_smp);
