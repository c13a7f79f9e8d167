/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets of the fake link that arrive as one buffer. */
#ifndef KUNIT_FAKE_BULK_H
#define KUNIT_FAKE_BULK_H

#include <linux/types.h>

struct fake_node;
struct sk_buff;

/*
 * Receive @skb, which is off the wire, together with packets behind it. @busy: another CPU owns
 * both turns meanwhile.
 */
void fake_bulk_arrive(struct fake_node *node, struct sk_buff *skb, bool busy);

#endif /* KUNIT_FAKE_BULK_H */
