/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Frames, and the WQ that the hash of each names. */
#ifndef TESTS_FRAMES_HASH_H
#define TESTS_FRAMES_HASH_H

#include "frames.h"

/* each WQ is in the table twice */
#define WQS		4
#define LOG_TABLE	3

#define HASH_IPV4	(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define HASH_IPV6	(IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define HASH_TCP	(IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define HASH_UDP	(IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)
#define HASH_SPI	((uint64_t)IBV_RX_HASH_IPSEC_SPI)
#define HASH_INNER	((uint64_t)1 << 31)
#define HASH_ALL	(HASH_IPV4 | HASH_IPV6 | HASH_TCP | HASH_UDP | HASH_SPI | HASH_INNER)

extern uint8_t hash_key[40];

struct packet {
	int version;			/* 4 or 6 */
	int protocol;
	bool later;			/* a later fragment */
	uint8_t src[16], dst[16];
	uint8_t ports[4];		/* or the SPI */
};

enum tunnel { PLAIN, VXLAN, GRE, MPLS, MPLS_GRE, TUNNELS };

struct traffic {
	enum tunnel tunnel;
	struct packet outer, inner;
};

struct packet random_packet(void);
struct traffic random_traffic(void);
uint32_t put_traffic(uint8_t *frame, const struct traffic *t);	/* returns its length */
uint32_t oracle_of(const struct traffic *t, uint64_t fields);	/* returns the hash */
int oracle(const struct traffic *t, uint64_t fields);	/* returns the number of the WQ */

#endif /* TESTS_FRAMES_HASH_H */
