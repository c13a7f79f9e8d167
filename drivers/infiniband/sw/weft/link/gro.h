/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Generic receive offload (GRO) of the sockets of link/udp.c. */
#ifndef WEFT_LINK_GRO_H
#define WEFT_LINK_GRO_H

struct list_head;
struct sk_buff;
struct sock;

struct sk_buff *weft_gro_receive(struct sock *sk, struct list_head *held, struct sk_buff *skb);
int weft_gro_complete(struct sock *sk, struct sk_buff *skb, int offset);

#endif /* WEFT_LINK_GRO_H */
