/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tx credit: a transmitter may have WEFT_TX_BYTES of packets under way. */
#ifndef WEFT_LINK_TX_CREDIT_H
#define WEFT_LINK_TX_CREDIT_H

#include <linux/types.h>

struct sk_buff;
struct weft_tx;
struct weft_tx_batch;

int weft_tx_credit_init(void);
void weft_tx_credit_exit(void);
void weft_tx_credit_take(struct weft_tx *tx, struct sk_buff *skb);
const struct weft_tx *weft_tx_credit_of(const struct sk_buff *skb);
bool weft_tx_credit_left(const struct weft_tx_batch *batch);
void weft_tx_credit_forget(struct weft_tx *tx);
bool weft_tx_credit_is_used(const struct weft_tx_batch *batch);
bool weft_tx_credit_wait(const struct weft_tx_batch *batch);
bool weft_tx_credit_backoff(const struct weft_tx_batch *batch);

#endif /* WEFT_LINK_TX_CREDIT_H */
