/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Steering: the rules of a device decide which QPs get a frame, or a datagram of IPoIB. */
#ifndef WEFT_LINK_STEER_H
#define WEFT_LINK_STEER_H

#include <linux/types.h>

struct ib_flow_attr;
struct net_device;
struct sk_buff;
struct weft_dev;
struct weft_flow_count;
struct weft_flow_spec;
struct weft_pkt;
struct weft_qp;
struct weft_steer_rule;
struct weft_steering;

struct weft_steer_rule *weft_steer_add(struct weft_qp *qp, const struct ib_flow_attr *attr,
				       const struct weft_flow_spec *spec,
				       struct weft_flow_count *count);
void weft_steer_remove(struct weft_steer_rule *rule);

/* Events of the net device, under RTNL. */
void weft_steer_leave(struct weft_dev *dev);
void weft_steer_return(struct weft_dev *dev);
void weft_steer_free(struct weft_dev *dev);

bool weft_steer_in(struct weft_steering *steering, struct sk_buff *skb, u32 mac);
bool weft_steer_out(struct weft_steering *steering, struct sk_buff *skb);
bool weft_steer_loop(struct weft_qp *qp, struct sk_buff *skb);
bool weft_steer_has_rules(const struct weft_dev *dev);
bool weft_steer_datagram(const struct weft_pkt *pkt, struct weft_qp **to);

#endif /* WEFT_LINK_STEER_H */
