/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The responder of a RAW_PACKET QP. */
#ifndef WEFT_LINK_RAW_RECV_H
#define WEFT_LINK_RAW_RECV_H

#include <linux/types.h>

struct sk_buff;
struct weft_qp;

void weft_raw_recv_run(struct weft_qp *qp);
void weft_raw_recv(struct weft_qp *qp, struct sk_buff *frame, u32 tag, bool ip_csum_ok);

#endif /* WEFT_LINK_RAW_RECV_H */
