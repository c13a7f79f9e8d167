/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The ack timeout, retries and RNR delays of a requester (IBA 9.9.2, 9.9.3). */
#ifndef WEFT_ENGINE_RETRY_H
#define WEFT_ENGINE_RETRY_H

#include "object/send.h"

struct weft_map;
struct weft_qp;

void weft_retry_init(struct weft_retry *retry);
void weft_retry_reset(struct weft_retry *retry);
void weft_retry_stop(struct weft_retry *retry);
void weft_retry_set_timeout(struct weft_send *send, u8 timeout);

/* The peer has answered, or the limits have changed: all retries are left again. */
static inline void weft_retry_refill(struct weft_retry *retry)
{
	retry->left = retry->cnt;
	retry->rnr_left = retry->rnr_cnt;
}

u64 weft_retry_patience(const struct weft_retry *retry);
void weft_retry_heard(struct weft_qp *qp, u32 end);
void weft_retry_start(struct weft_qp *qp);

/*
 * The packet with @psn has been sent for the first time. If its round trip is measured, that begins
 * now: the window may have held it until something lost was repaired.
 */
static inline void weft_retry_sent(struct weft_retry *retry, u32 psn)
{
	if (retry->measuring && retry->sample_psn == psn)
		retry->sample_at = ktime_get();
}

void weft_retry_restart(struct weft_qp *qp);
bool weft_retry(struct weft_qp *qp);
bool weft_retry_missing(struct weft_qp *qp);
bool weft_retry_map(struct weft_qp *qp, const struct weft_map *map);
void weft_retry_begin(struct weft_qp *qp);
void weft_retry_repeated(struct weft_qp *qp);
void weft_retry_lost(struct weft_qp *qp);
void weft_retry_repair(struct weft_qp *qp);
void weft_retry_rnr(struct weft_qp *qp, u8 timer);
void weft_retry_busy(struct weft_qp *qp);
void weft_retry_timeout(struct weft_qp *qp);

#endif /* WEFT_ENGINE_RETRY_H */
