/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tx credit: a transmitter may have WEFT_TX_BYTES of packets under way. */
#ifndef WEFT_LINK_TX_CREDIT_H
#define WEFT_LINK_TX_CREDIT_H

#include <linux/types.h>

struct sk_buff;
struct weft_tx;
struct weft_tx_batch;

/* At module load, before there is a device. Returns 0 or -ENOMEM. */
int weft_tx_credit_init(void);

/*
 * At module unload, when no QP is left: wait until the last packet has been freed, because its
 * destructor is code of this module, and may post an event to a turn. Context: process, sleeps as
 * long as a queue keeps a packet.
 */
void weft_tx_credit_exit(void);

/*
 * Charge a transmitter, whose turn is owned, for a packet of weft's, until that is freed. Sets the
 * packet's destructor.
 */
void weft_tx_credit_take(struct weft_tx *tx, struct sk_buff *skb);

/* Is there credit for a packet? If not, the turn (which is owned) will get WEFT_EV_RUN. */
bool weft_tx_credit_left(const struct weft_tx_batch *batch);

/*
 * The transmitter leaves its path, so it need not wait any more: if it waited, its turn gets
 * WEFT_EV_RUN. The turn is owned or stopped.
 */
void weft_tx_credit_forget(struct weft_tx *tx);

/* May packets of the transmitter be under way? Its turn is owned. */
bool weft_tx_credit_is_used(const struct weft_tx_batch *batch);

/*
 * A batch could not be sent, for another reason than tx credit: wait until half of what is under
 * way has left. The turn is owned. True: it will get WEFT_EV_RUN; false: nothing is under way.
 */
bool weft_tx_credit_wait(const struct weft_tx_batch *batch);

/*
 * A batch could not be sent although the transmitter has nothing under way: wait a moment for
 * others to empty the queue. The turn is owned. True: it will get WEFT_EV_RUN; false: it has waited
 * long enough, and the packet is lost.
 */
bool weft_tx_credit_backoff(const struct weft_tx_batch *batch);

#endif /* WEFT_LINK_TX_CREDIT_H */
