/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A monitor: a net device that shows the packets of a weft device to packet sockets
 * (Documentation/infiniband/weft/capture.rst).
 *
 * It is no way into the host: a packet that it shows goes to packet sockets only, and a packet that
 * is sent by it is dropped. Its MTU is the snap length. While no monitor of the host is up, a
 * static key skips all of this.
 */
#ifndef WEFT_OBJECT_MONITOR_H
#define WEFT_OBJECT_MONITOR_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct net_device;
struct sk_buff;
struct weft_dev;

/* Says how a packet travelled. It is the last byte of the Ethernet source address. */
enum weft_monitor_kind {
	WEFT_MONITOR_SENT	= 1,
	WEFT_MONITOR_RECEIVED	= 2,
	WEFT_MONITOR_LOCAL	= 3,	/* as a message of the local link: there was no packet */
};

/* Counts the monitors that are up. */
DECLARE_STATIC_KEY_FALSE(weft_monitor_key);

static __always_inline bool weft_monitor_is_on(void)
{
	return static_branch_unlikely(&weft_monitor_key);
}

int weft_monitor_init(void);
void weft_monitor_exit(void);
int weft_monitor_add(struct weft_dev *dev, const char *name);
void weft_monitor_remove(struct weft_dev *dev);
int weft_monitor_name(struct weft_dev *dev, char *buf);
bool weft_monitor_is(const struct net_device *ndev);

u32 weft_monitor_snap(const struct weft_dev *dev);
struct sk_buff *weft_monitor_alloc(const struct weft_dev *dev, u32 room, u32 length);
struct sk_buff *weft_monitor_copy(const struct weft_dev *dev, const struct sk_buff *skb,
				  u32 length);
void weft_monitor_show(const struct weft_dev *dev, struct sk_buff *skb,
		       enum weft_monitor_kind kind);
void weft_monitor_show_copy(const struct weft_dev *dev, const struct sk_buff *skb,
			    enum weft_monitor_kind kind);
void weft_monitor_miss(const struct weft_dev *dev, u32 packets);

#endif /* WEFT_OBJECT_MONITOR_H */
