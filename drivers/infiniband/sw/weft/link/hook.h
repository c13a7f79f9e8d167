/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A hook of netfilter, so that buffers of UDP segmentation offload reach our sockets whole. */
#ifndef WEFT_LINK_HOOK_H
#define WEFT_LINK_HOOK_H

struct net;

int weft_hook_open(struct net *net);
void weft_hook_close(struct net *net);

#endif /* WEFT_LINK_HOOK_H */
