/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The speed of a port as a number, which older cores do not ask for.
 */
#ifndef WEFT_COMPAT_PORT_SPEED_H
#define WEFT_COMPAT_PORT_SPEED_H

#ifdef COMPAT_HAS_PORT_SPEED
/* Member of struct ib_device_ops. */
#define COMPAT_QUERY_PORT_SPEED(function) .query_port_speed = function,
#else
#define COMPAT_QUERY_PORT_SPEED(function)
#endif

#endif /* WEFT_COMPAT_PORT_SPEED_H */
