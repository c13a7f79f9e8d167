/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* ib_device_ops.query_port_speed, which older cores lack. */
#ifndef WEFT_COMPAT_PORT_SPEED_H
#define WEFT_COMPAT_PORT_SPEED_H

#ifdef COMPAT_HAS_PORT_SPEED
#define COMPAT_QUERY_PORT_SPEED(function) .query_port_speed = function,
#else
#define COMPAT_QUERY_PORT_SPEED(function)
#endif

#endif /* WEFT_COMPAT_PORT_SPEED_H */
