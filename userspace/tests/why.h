/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Wrong programs: why.c has those that a page is about, why-reasons.c a program for each reason. */
#ifndef TESTS_WHY_H
#define TESTS_WHY_H

#include "lib.h"

#include <rdma/weft-why.h>

/* the mistake is made; what is left of it is for the script */
void made(const char *mistake, uint32_t qpn, uint32_t reason);
/* @wr fails at @e, for this reason */
void fails_at(struct end *e, const char *mistake, struct ibv_send_wr *wr,
	      enum ibv_wc_status status, uint32_t reason);

void no_credit(void);
void short_atomic(void);
void foreign_handle(void);
void bind_refused(void);
void no_resources(void);
void foreign_window(void);
void local_domain(void);
void local_right(void);
void local_range(void);
void receive_key(void);
void receive_domain(void);
void receive_right(void);
void immediate_key(void);
void immediate_domain(void);
void immediate_right(void);
void immediate_range(void);
void no_srq(void);
void bad_request(void);
void request_length(void);
void dropped_message(void);
void dropped_datagram(void);

#endif /* TESTS_WHY_H */
