/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tx credit of a transmitter: it may have WEFT_TX_BYTES of packets under way.
 */
#ifndef WEFT_LINK_TX_CREDIT_H
#define WEFT_LINK_TX_CREDIT_H

#include <linux/types.h>

struct sk_buff;
struct weft_tx;
struct weft_tx_batch;

/**
 * weft_tx_credit_init - at module load, before there is a device
 *
 * Return: 0 or -ENOMEM.
 */
int weft_tx_credit_init(void);

/**
 * weft_tx_credit_exit - at module unload, when no QP is left
 *
 * Waits until the last packet has been freed: that is done by code of ours,
 * and may post an event to a turn.
 *
 * Context: process, sleeps as long as some queue keeps a packet.
 */
void weft_tx_credit_exit(void);

/**
 * weft_tx_credit_take - charge a transmitter for a packet until it is freed
 * @tx: of the half that sends it, its turn is owned
 * @skb: ours; its destructor is set
 */
void weft_tx_credit_take(struct weft_tx *tx, struct sk_buff *skb);

/**
 * weft_tx_credit_left - whether a transmitter has credit for a packet
 * @batch: about to be sent, its turn is owned
 *
 * Return: false: there is none, and the turn will get WEFT_EV_RUN.
 */
bool weft_tx_credit_left(const struct weft_tx_batch *batch);

/**
 * weft_tx_credit_forget - what a transmitter waits for is of a path that it leaves
 * @tx: its turn is owned or stopped; gets WEFT_EV_RUN if it has waited
 */
void weft_tx_credit_forget(struct weft_tx *tx);

/**
 * weft_tx_credit_is_used - whether something is under way
 * @batch: about to be sent, its turn is owned
 *
 * Return: true: there may be; false: nothing is.
 */
bool weft_tx_credit_is_used(const struct weft_tx_batch *batch);

/**
 * weft_tx_credit_wait - wait until half of what is under way has left
 * @batch: could not be sent for another reason than want of credit; its turn is owned
 *
 * Return: true: the turn will get WEFT_EV_RUN; false: nothing is.
 */
bool weft_tx_credit_wait(const struct weft_tx_batch *batch);

/**
 * weft_tx_credit_backoff - wait a moment for others to empty the queue
 * @batch: could not be sent, though nothing is under way; its turn is owned
 *
 * Return: true: the turn will get WEFT_EV_RUN; false: that was often enough.
 */
bool weft_tx_credit_backoff(const struct weft_tx_batch *batch);

#endif /* WEFT_LINK_TX_CREDIT_H */
