/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The fields of an Ethernet frame, or of a datagram of IPoIB, that flow steering looks at. */
#ifndef WEFT_FLOW_KEY_H
#define WEFT_FLOW_KEY_H

#include <linux/if_ether.h>
#include <linux/types.h>

/* The headers that a frame has: struct weft_flow_layer.has. */
enum weft_flow_has {
	WEFT_FLOW_ETH	= 1 << 0,
	WEFT_FLOW_VLAN	= 1 << 1,	/* the first tag has the type 0x8100 */
	WEFT_FLOW_IPV4	= 1 << 2,
	WEFT_FLOW_IPV6	= 1 << 3,
	WEFT_FLOW_TCP	= 1 << 4,
	WEFT_FLOW_UDP	= 1 << 5,
	WEFT_FLOW_VXLAN	= 1 << 6,	/* UDP to the port of VXLAN */
	WEFT_FLOW_GRE	= 1 << 7,
	WEFT_FLOW_MPLS	= 1 << 8,	/* behind the header of Ethernet */
	WEFT_FLOW_MPLS_UDP = 1 << 9,	/* in UDP to the port of MPLS */
	WEFT_FLOW_MPLS_GRE = 1 << 10,
	WEFT_FLOW_ESP	= 1 << 11,
};

/* The headers of a frame, or of a frame or IP packet in a tunnel. Big endian, as they arrive. */
struct weft_flow_layer {
	u8	dst_mac[ETH_ALEN];
	u8	src_mac[ETH_ALEN];
	__be16	ether_type;		/* behind the tags */
	__be16	vlan_tag;		/* of the first tag: priority, DEI, VID */
	__be32	src_ip[4];		/* IPv4: the first word */
	__be32	dst_ip[4];
	__be32	flow_label;
	__be32	mpls;			/* the first entry of the label stack */
	__be16	src_port;		/* TCP, UDP; ESP: with @dst_port the SPI */
	__be16	dst_port;
	u8	protocol;		/* IPv6: behind the extension headers */
	u8	tos;			/* IPv6: the traffic class */
	u16	has;			/* enum weft_flow_has */
};

/* Without padding, and aligned, because keys are compared and hashed as words. */
struct weft_flow_key {
	struct weft_flow_layer	outer;
	struct weft_flow_layer	inner;	/* in a tunnel of VXLAN, GRE or MPLS */
	union {
		__be32		vni;	/* VXLAN, in the lower 24 bits */
		__be32		qpn;	/* of a datagram: the QP that it is sent to */
	};
	__be32			gre_key;
	__be32			tunnel_mpls;	/* as weft_flow_layer.mpls, in UDP or GRE */
	__be16			gre_protocol;
	u16			zero;
} __aligned(sizeof(u64));

#define WEFT_FLOW_WORDS		(sizeof(struct weft_flow_key) / sizeof(u64))

/*
 * The bytes of a frame that weft_flow_parse() may look at. Extension headers of IPv6 may be longer;
 * what is behind them is not found then.
 */
#define WEFT_FLOW_HEADERS	256U

void weft_flow_parse(struct weft_flow_key *key, const void *frame, u32 length);
u32 weft_flow_find_inner(const void *frame, u32 length, u16 *type);
void weft_flow_parse_ipoib(struct weft_flow_key *key, u32 qpn, const void *payload, u32 length);

#endif /* WEFT_FLOW_KEY_H */
