/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets of those who are not the peer. */
#ifndef TESTS_STRANGERS_H
#define TESTS_STRANGERS_H

#include "lib.h"

#define SERVICE_XRC	0xa0
#define PEER_PSN	1000		/* of the next request of a peer that does not exist */

/* how they come */
struct way {
	const char *name;
	bool v6;
	bool fragments;			/* of IP */
	bool other_network;		/* $WEFT_OTHER: from its address, by its interface */
};

/* one whom they are sent to */
struct victim {
	uint8_t service;
	uint32_t qpn, psn, srqn;	/* psn: of the next request */
};

/*
 * Each operation with the right PSN: from a process of this host to a connection of the local link;
 * from elsewhere to one whose peer is there.
 */
void forged_here(const struct victim *victim, const struct way *way);
void forged_elsewhere(const struct victim *victim, const struct way *way);
extern const struct way ways_here[], ways_elsewhere[];
extern const int num_ways_here, num_ways_elsewhere;

/* the path to a peer that does not exist */
void av_to_nobody(struct ibv_ah_attr *av, bool v6);

/*
 * 9 packets of the peer's wait for @held, the memory that they go to, while more of a stranger's than
 * the queue holds come by each way and are dropped.
 */
struct queue {
	struct victim victim;
	void *held;			/* HELD bytes, on demand */
	void (*post)(int i, size_t off, uint32_t length);
	struct ibv_cq *cq;
	int grh;			/* bytes in front of the payload */
	bool of_requester;		/* they are responses to READs */
};
#define HELD		4096
#define HELD_RECEIVES	9

void *held_memory(void);
void queue_is_not_filled(const struct queue *queue, bool v6);

/* strangers-xrc.c */
void xrc_of_this_host(void);
void xrc_elsewhere(void);
void xrc_queue(void);

#endif /* TESTS_STRANGERS_H */
