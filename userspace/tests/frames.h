/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RAW_PACKET QPs, the frames that they send, and the rules by which they receive.
 */
#ifndef TESTS_FRAMES_H
#define TESTS_FRAMES_H

#include "flows.h"
#include "lib.h"

#include <arpa/inet.h>
#include <infiniband/weftdv.h>
#include <linux/if_ether.h>
#include <netinet/in.h>

#define SLOT		2048		/* of a side's buffer, for a frame */
#define SLOTS		64
#define PORT_A		7000		/* of frames that a test makes */

/* A QP with a context of its own: what a context sends its own QPs do not get. */
struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_cq_ex *cq_ex;	/* the same, if it has flow tags */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

/* The MAC address of the frames that tests send, and another one, of a group. */
extern const uint8_t mac_unicast[ETH_ALEN], mac_group[ETH_ALEN], mac_source[ETH_ALEN];

void side_open(struct side *s);				/* with a QP in RTS */
void side_open_in(struct side *s, struct ibv_context *context);
void side_close(struct side *s);
struct ibv_qp *raw_qp(struct side *s, int sq, int rq);	/* in RESET */
int raw_step(struct ibv_qp *qp, enum ibv_qp_state state, int more);
void raw_ready(struct ibv_qp *qp);

void side_recv(struct side *s, int slot, uint32_t length);
void side_recv_all(struct side *s);			/* each slot */
void side_send(struct side *s, int slot, uint32_t length, int flags);
/* the next completion is of the receive @slot, with a frame of @length bytes */
struct ibv_wc side_got_(const char *file, int line, struct side *s, int slot, uint32_t length);
#define side_got(s, slot, length)	side_got_(__FILE__, __LINE__, s, slot, length)

/* the headers of Ethernet and IPv4; returns where the payload begins */
uint8_t *frame_ip(uint8_t *frame, const uint8_t *mac, uint8_t protocol, uint32_t payload);
/* behind them and in front of a payload that is there, with a right checksum */
void frame_udp_header(uint8_t *udp, uint16_t port, uint32_t payload);
/* an Ethernet frame of UDP in IPv4 with right checksums; returns its length, of at least 42 */
uint32_t frame_udp(uint8_t *frame, const uint8_t *mac, uint16_t port, uint32_t payload);
uint16_t checksum(const void *p, size_t length, uint32_t sum);

/* more specs of rules */
void rule_mac(struct rule *rule, const uint8_t *mac);
void rule_tag(struct rule *rule, uint32_t tag);
void rule_drop(struct rule *rule);
void rule_count(struct rule *rule, struct ibv_counters *counters);
struct ibv_flow *rule_make(struct side *s, struct rule *rule);

/* frames-offload.c */
void tso_frames(void);
void tso_refused(void);
void strips_vlan(void);
void scatters_fcs(void);
void sums_of_all(void);
void sums_in_tunnels(void);
void sums_in_tunnels_by_rss(void);
void wq_shapes(void);
void wire_tso(void);
void wire_gro(void);

/* frames-count.c */
struct ibv_counters *usual_counters(struct side *s);	/* packets at 0, bytes at 1, both at 3 */
void have_counted(struct ibv_counters *counters, uint64_t packets, uint64_t bytes);
void counts_frames(void);
void counters_refused(void);
void drops_and_ends(void);
void many_shapes(void);
void churns_rules(void);
void frames_wait(void);
void frame_without_memory(void);		/* wants $WEFT_STARVE */

/* frames-match.c; random_rules() wants $WEFT_WIRE */
void specs(void);
void random_rules(void);
void one_sided(void);
void paced(void);

/* frames-stack.c: what a program asks for alone, and what the stack has of rules */
void net_raw_here(void);
void watches(void);
void loops(void);
void self_loopback(void);
void wire_hooks(void);
void wire_queue(void);
void wire_no_queue(void);
void wire_filtered(void);
void wire_port_down(void);
void wire_moves_busy(void);

/* frames-wire.c: with a net device of the other end of the cable, $WEFT_WIRE */
/* a packet socket with, for @headers, a virtio_net_hdr; it waits no longer than a test does */
int packet_socket(const char *name, uint16_t type, bool headers);
void wire_in(void);
void wire_out(void);
void wire_tags(void);
void wire_aggregates(void);
void wire_jumbo(void);
void wire_egress(void);
void wire_host(void);
void wire_reserved(void);
void wire_sniffer(void);
void wire_defaults(void);
void wire_filters(void);
void wire_hostile(void);
void wire_moves(void);
void wire_churn(void);

/* frames-rss.c: WQs, indirection tables and RSS QPs */
void rss_caps(void);
void wq_refused(void);
void rss_refused(void);
void rss_objects(void);
void wq_states(void);
void wq_posts(void);
void rss_fields(void);
void rss_tunnels(void);
void rss_large(void);
void rss_moves(void);
void rss_single(void);
void rss_loopback(void);
void rss_fatal(void);
void rss_injected(void);
void rss_churn(void);
void rss_removed(void);

#endif /* TESTS_FRAMES_H */
