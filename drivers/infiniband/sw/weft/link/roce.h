/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RoCEv2: packets of a QP in UDP datagrams, by the routes of the host.
 */
#ifndef WEFT_LINK_ROCE_H
#define WEFT_LINK_ROCE_H

struct weft_link;

/* Has xmit(), datagram() and forget(). */
extern const struct weft_link weft_link_roce;

/**
 * weft_roce_init - at module load, before there is a device
 *
 * Return: 0 or -ENOMEM.
 */
int weft_roce_init(void);

/**
 * weft_roce_exit - at module unload, when no QP is left
 *
 * Waits until the last packet has been freed: that is done by code of ours,
 * and may post an event to a turn.
 *
 * Context: process, sleeps as long as some queue keeps a packet.
 */
void weft_roce_exit(void);

#endif /* WEFT_LINK_ROCE_H */
