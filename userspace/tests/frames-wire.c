// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RAW_PACKET QPs and the rest of the world: the device is on one end of a cable (veth), and
 * $WEFT_WIRE is the other end, which is in the same network namespace. Packet sockets there send
 * and receive.
 */
#include "frames.h"

#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#define LEGACY_TYPE	0x88b7		/* of frames that are no IP */

static struct side b;
static int wire;

static const char *wire_name(void)
{
	const char *name = getenv("WEFT_WIRE");

	CHECK(name);
	return name;
}

/* The net device of the RDMA device. */
static const char *own_name(void)
{
	static char name[IF_NAMESIZE];

	snprintf(name, sizeof(name), "%s", getenv("WEFT_OWN_NETDEV") ?: "raw0");
	return name;
}

int packet_socket(const char *name, uint16_t type, bool headers)
{
	struct timeval patience = { .tv_sec = WAIT_MS / 1000 };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(type)), on = headers, room = 4 << 20;
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_protocol = htons(type),
		.sll_ifindex = if_nametoindex(name),
	};

	CHECK(fd >= 0 && to.sll_ifindex);
	if (headers)
		SAME(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)), 0);
	SAME(bind(fd, (void *)&to, sizeof(to)), 0);
	SAME(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	/* all frames of a case, however late they are read */
	SAME(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)), 0);
	return fd;
}

static void open_wire(void)
{
	side_open(&b);
	wire = packet_socket(wire_name(), 0, false);
}

static void wire_send(const void *frame, size_t length)
{
	SAME(send(wire, frame, length, 0), (long)length);
}

static void own_mac(uint8_t *mac)
{
	struct ifreq request = {};

	strcpy(request.ifr_name, own_name());
	SAME(ioctl(wire, SIOCGIFHWADDR, &request), 0);
	memcpy(mac, request.ifr_hwaddr.sa_data, ETH_ALEN);
}

static struct ibv_flow *steer(const uint8_t *mac, uint16_t port, int flags)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	if (mac)
		rule_mac(&rule, mac);
	if (port)
		rule_udp(&rule, port);
	rule.attr.flags = flags;
	return rule_make(&b, &rule);
}

static void same_frame(int slot, const uint8_t *want, size_t length)
{
	const uint8_t *got = b.buf + slot * SLOT;
	size_t i;

	for (i = 0; i < length; i++)
		if (got[i] != want[i])
			FAIL("byte %zu of %zu is %#x, not %#x", i, length, got[i], want[i]);
}

void wire_in(void)
{
	uint8_t frame[1514];
	uint32_t length, i;

	open_wire();
	steer(mac_unicast, 0, 0);
	for (i = 0; i < 8; i++) {
		side_recv(&b, i, SLOT);
		length = frame_udp(frame, mac_unicast, PORT_A, i * 200);
		wire_send(frame, length);
		CHECK(side_got(&b, i, length).wc_flags & IBV_WC_IP_CSUM_OK);
		same_frame(i, frame, length);
	}
	/* to others */
	side_recv(&b, 0, SLOT);
	frame_udp(frame, mac_source, PORT_A, 10);
	wire_send(frame, 60);
	expect_no_wc(b.cq);
}

/* The frames of a QP are on the wire as they were posted. */
void wire_out(void)
{
	uint8_t got[2048];
	struct pollfd ready;
	uint32_t length;

	open_wire();
	ready = (struct pollfd){ packet_socket(wire_name(), LEGACY_TYPE, false), POLLIN };
	length = frame_udp(b.buf, mac_unicast, PORT_A, 300);
	b.buf[12] = LEGACY_TYPE >> 8;
	b.buf[13] = LEGACY_TYPE & 0xff;
	side_send(&b, 0, length, 0);
	SAME(poll(&ready, 1, WAIT_MS), 1);
	SAME(recv(ready.fd, got, sizeof(got), 0), (long)length);
	SAME(memcmp(got, b.buf, length), 0);
}

/* Tags that the stack takes out of frames are in them again; they can be matched. */
void wire_tags(void)
{
	struct ibv_flow_spec_eth eth = {
		.type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth), .val.vlan_tag = htons(5),
		.mask.vlan_tag = htons(0xfff),
	};
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	uint8_t plain[200], frame[200];
	uint32_t length;

	open_wire();
	rule_add(&rule, &eth, sizeof(eth));
	rule_udp(&rule, PORT_A);
	rule_make(&b, &rule);
	length = frame_udp(plain, mac_unicast, PORT_A, 100);
	side_recv(&b, 0, SLOT);
	wire_send(plain, length);
	expect_no_wc(b.cq);
	memcpy(frame, plain, 12);
	memcpy(frame + 12, "\x81\x00\x60\x06", 4);
	memcpy(frame + 16, plain + 12, length - 12);
	wire_send(frame, length + 4);
	expect_no_wc(b.cq);
	frame[15] = 5;
	wire_send(frame, length + 4);
	CHECK(side_got(&b, 0, length + 4).wc_flags & IBV_WC_IP_CSUM_OK);
	same_frame(0, frame, length + 4);
}

/* A long packet that the net device has not cut up yet, with a checksum that is not there yet. */
void wire_aggregates(void)
{
	enum { PIECE = 1000, PIECES = 7, REST = 123 };
	struct {
		struct virtio_net_hdr head;
		uint8_t frame[42 + PIECE * PIECES + REST];
	} packet = {};
	struct rule counting = rule_new(IBV_FLOW_ATTR_NORMAL);
	uint8_t want[42 + PIECE];
	struct ibv_counters *counters;
	uint32_t length, i, payload;
	struct utsname kernel;
	struct side c;
	int fd;

	open_wire();
	side_open(&c);
	steer(mac_unicast, PORT_A, 0);
	/* a long packet counts as the frames that it stands for */
	rule_udp(&counting, PORT_A);
	rule_count(&counting, counters = usual_counters(&c));
	counting.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	rule_make(&c, &counting);
	fd = packet_socket(wire_name(), 0, true);
	length = frame_udp(packet.frame, mac_unicast, PORT_A, sizeof(packet.frame) - 42);
	/* the pseudo header alone, as for an adapter */
	i = 0x0a0a + 0x0902 + 0x0a0a + 0x0901 + 17 + length - 34;
	packet.frame[40] = (i & 0xffff) >> 8;
	packet.frame[41] = i;
	packet.head.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	packet.head.gso_type = 5;	/* VIRTIO_NET_HDR_GSO_UDP_L4 */
	packet.head.gso_size = PIECE;
	packet.head.hdr_len = 42;
	packet.head.csum_start = 34;
	packet.head.csum_offset = 6;
	for (i = 0; i <= PIECES; i++)
		side_recv(&b, i, SLOT);
	if (send(fd, &packet, sizeof(packet.head) + length, 0) < 0) {
		/* packet sockets have no aggregates of UDP before Linux 6.2; see wire_gro() */
		SAME(errno, EINVAL);
		CHECK(!uname(&kernel) && strverscmp(kernel.release, "6.2") < 0);
		return;
	}
	for (i = 0; i <= PIECES; i++) {
		note("piece %u", i);
		payload = i < PIECES ? PIECE : REST;
		CHECK(side_got(&b, i, 42 + payload).wc_flags & IBV_WC_IP_CSUM_OK);
		frame_udp(want, mac_unicast, PORT_A, payload);
		SAME(memcmp(b.buf + i * SLOT + 42, packet.frame + 42 + i * PIECE, payload), 0);
		SAME(memcmp(b.buf + i * SLOT, want, 12), 0);
	}
	have_counted(counters, PIECES + 1, length + 42 * PIECES);
}

static void mtu(const char *name, int bytes)
{
	char command[100];

	snprintf(command, sizeof(command), "ip link set %s mtu %d", name, bytes);
	SAME(system(command), 0);
}

/* Jumbo frames, in and out: up to the MTU, and a tag more. */
void wire_jumbo(void)
{
	enum { MTU = 9000 };
	static uint8_t frame[5 * SLOT], got[5 * SLOT];
	uint64_t before = counter("tx_dropped");
	struct pollfd ready;
	uint32_t length;

	open_wire();
	mtu(wire_name(), MTU);
	mtu(own_name(), MTU);
	steer(mac_unicast, 0, 0);
	length = frame_udp(frame, mac_unicast, PORT_A, MTU - 28);
	SAME(length, MTU + 14);
	side_recv(&b, 0, length);
	wire_send(frame, length);
	CHECK(side_got(&b, 0, length).wc_flags & IBV_WC_IP_CSUM_OK);
	same_frame(0, frame, length);
	ready = (struct pollfd){ packet_socket(wire_name(), LEGACY_TYPE, false), POLLIN };
	memcpy(b.buf + 12, "\x88\xb7", 2);
	side_send(&b, 0, length, 0);
	SAME(poll(&ready, 1, WAIT_MS), 1);
	SAME(recv(ready.fd, got, sizeof(got), 0), (long)length);
	SAME(memcmp(got, b.buf, length), 0);
	/* a packet socket gets it without the tag */
	memcpy(b.buf + 12, "\x81\x00\x00\x05\x88\xb7", 6);
	side_send(&b, 0, length + 4, 0);
	SAME(poll(&ready, 1, WAIT_MS), 1);
	SAME(recv(ready.fd, got, sizeof(got), 0), (long)length);
	SAME(memcmp(got + 14, b.buf + 18, MTU), 0);
	SAME(counter("tx_dropped"), before);
	side_send(&b, 0, length + 5, 0);
	SAME(poll(&ready, 1, QUIET_MS), 0);
	SAME(counter("tx_dropped"), before + 1);
	mtu(own_name(), 1500);
	mtu(wire_name(), 1500);
}

/* A frame to @port, from a QP or from the host, arrives at the other end of the cable. */
static bool leaves(int fd, struct side *s, uint16_t port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = inet_addr("10.10.9.2"),
	};
	struct pollfd ready = { fd, POLLIN };
	int host = socket(AF_INET, SOCK_DGRAM, 0);
	uint8_t got[2048];
	bool found = false;

	CHECK(host >= 0);
	if (s)
		side_send(s, 0, frame_udp(s->buf, mac_unicast, port, 30), 0);
	else
		SAME(sendto(host, got, 30, 0, (void *)&to, sizeof(to)), 30);
	while (!found && poll(&ready, 1, QUIET_MS) == 1)
		found = recv(fd, got, sizeof(got), 0) == 72 && got[36] << 8 == (port & 0xff00) &&
			got[37] == (port & 0xff);
	close(host);
	return found;
}

/* Rules for frames that leave: from any QP, and from the host. */
void wire_egress(void)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_counters *counters, *passes;
	struct ibv_flow *drop, *count;
	struct side a;
	int fd;

	open_wire();
	side_open(&a);
	fd = packet_socket(wire_name(), ETH_P_IP, false);
	SAME(leaves(fd, &a, PORT_A), true);
	SAME(leaves(fd, NULL, PORT_A), true);
	counters = usual_counters(&b);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	rule_udp(&rule, PORT_A);
	rule_count(&rule, counters);
	rule_drop(&rule);
	drop = rule_make(&b, &rule);
	SAME(leaves(fd, &a, PORT_A), false);
	SAME(leaves(fd, &b, PORT_A), false);
	SAME(leaves(fd, NULL, PORT_A), false);
	have_counted(counters, 3, 3 * 72);
	SAME(leaves(fd, &a, PORT_A + 1), true);
	have_counted(counters, 3, 3 * 72);
	/* a QP that would get the frame gets nothing either */
	steer(mac_unicast, PORT_A, 0);
	side_recv(&b, 0, SLOT);
	SAME(leaves(fd, &a, PORT_A), false);
	expect_no_wc(b.cq);
	have_counted(counters, 4, 4 * 72);
	/* without a drop, frames are only counted */
	passes = usual_counters(&b);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	rule.attr.priority = 1;
	rule_udp(&rule, PORT_A);
	rule_count(&rule, passes);
	count = rule_make(&b, &rule);
	SAME(ibv_destroy_flow(drop), 0);
	SAME(leaves(fd, &a, PORT_A), true);
	side_got(&b, 0, 72);
	SAME(leaves(fd, NULL, PORT_A), true);
	have_counted(passes, 2, 2 * 72);
	SAME(ibv_destroy_flow(count), 0);
	SAME(ibv_destroy_counters(passes), 0);
	SAME(ibv_destroy_counters(counters), 0);
	SAME(leaves(fd, NULL, PORT_A), true);
}

static int udp_socket(uint16_t port)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	CHECK(fd >= 0);
	SAME(bind(fd, (void *)&to, sizeof(to)), 0);
	return fd;
}

static bool host_got(int fd)
{
	struct pollfd ready = { fd, POLLIN };
	char byte;

	if (poll(&ready, 1, 5 * QUIET_MS) != 1)
		return false;
	while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
		continue;
	return true;
}

/* A rule takes a frame from the host, unless it lets it go on. */
void wire_host(void)
{
	int fd = udp_socket(PORT_A);
	struct ibv_flow *flow;
	uint8_t frame[200], mac[ETH_ALEN];
	uint32_t length;

	open_wire();
	own_mac(mac);
	length = frame_udp(frame, mac, PORT_A, 30);
	wire_send(frame, length);
	CHECK(host_got(fd));
	flow = steer(NULL, PORT_A, 0);
	side_recv(&b, 0, SLOT);
	wire_send(frame, length);
	side_got(&b, 0, length);
	CHECK(!host_got(fd));
	SAME(ibv_destroy_flow(flow), 0);
	flow = steer(NULL, PORT_A, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	side_recv(&b, 1, SLOT);
	wire_send(frame, length);
	side_got(&b, 1, length);
	CHECK(host_got(fd));
	SAME(ibv_destroy_flow(flow), 0);
	wire_send(frame, length);
	CHECK(host_got(fd));
	expect_no_wc(b.cq);
}

/* RoCE's own packets cannot be taken, but a sniffer sees them. */
void wire_reserved(void)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_SNIFFER);
	uint64_t before = counter("rx_malformed");
	uint8_t frame[200], mac[ETH_ALEN];
	struct ibv_flow *flow;
	uint32_t length;

	open_wire();
	own_mac(mac);
	flow = steer(mac, 4791, 0);
	length = frame_udp(frame, mac, 4791, 8);
	side_recv(&b, 0, SLOT);
	wire_send(frame, length);
	expect_no_wc(b.cq);
	sleep_ms(20);
	SAME(counter("rx_malformed"), before + 1);
	SAME(ibv_destroy_flow(flow), 0);
	rule_make(&b, &rule);
	wire_send(frame, length);
	side_got(&b, 0, length);
	same_frame(0, frame, length);
	sleep_ms(20);
	SAME(counter("rx_malformed"), before + 2);
	/* a frame of an InfiniBand fabric */
	memcpy(frame + 12, "\x88\xb5", 2);
	steer(mac, 0, 0);
	side_recv(&b, 1, SLOT);
	side_recv(&b, 2, SLOT);
	wire_send(frame, length);
	side_got(&b, 1, length);
	expect_no_wc(b.cq);
	/* of another kind, the rule takes it as well */
	memcpy(frame + 12, "\x88\xb7", 2);
	side_recv(&b, 3, SLOT);
	wire_send(frame, length);
	side_got(&b, 2, length);
	side_got(&b, 3, length);
}

/* A sniffer gets what arrives and what leaves; all go on as without it. */
void wire_sniffer(void)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_SNIFFER);
	uint8_t frame[200], mac[ETH_ALEN];
	int fd = udp_socket(PORT_A), out;
	struct ibv_flow *flow;
	uint32_t length, i;

	open_wire();
	own_mac(mac);
	flow = rule_make(&b, &rule);
	for (i = 0; i < 3; i++)
		side_recv(&b, i, SLOT);
	length = frame_udp(frame, mac, PORT_A, 30);
	wire_send(frame, length);
	side_got(&b, 0, length);
	same_frame(0, frame, length);
	CHECK(host_got(fd));
	/* to others */
	length = frame_udp(frame, mac_unicast, PORT_A, 31);
	wire_send(frame, length);
	side_got(&b, 1, length);
	out = packet_socket(own_name(), 0, false);
	length = frame_udp(frame, mac_unicast, PORT_A, 32);
	SAME(send(out, frame, length, 0), (long)length);
	side_got(&b, 2, length);
	same_frame(2, frame, length);
	SAME(ibv_destroy_flow(flow), 0);
	side_recv(&b, 0, SLOT);
	wire_send(frame, length);
	SAME(send(out, frame, length, 0), (long)length);
	expect_no_wc(b.cq);
}

/* Default rules get what neither a rule nor the host wants. */
void wire_defaults(void)
{
	struct rule all = rule_new(IBV_FLOW_ATTR_ALL_DEFAULT);
	struct rule groups = rule_new(IBV_FLOW_ATTR_MC_DEFAULT);
	uint8_t frame[200], mac[ETH_ALEN];
	struct ibv_flow *flow;
	uint32_t length, i;

	open_wire();
	own_mac(mac);
	for (i = 0; i < 4; i++)
		side_recv(&b, i, SLOT);
	flow = rule_make(&b, &groups);
	length = frame_udp(frame, mac_unicast, PORT_A, 30);
	wire_send(frame, length);
	expect_no_wc(b.cq);
	memcpy(frame, mac_group, ETH_ALEN);
	wire_send(frame, length);
	side_got(&b, 0, length);
	SAME(ibv_destroy_flow(flow), 0);
	flow = rule_make(&b, &all);
	wire_send(frame, length);
	side_got(&b, 1, length);
	memcpy(frame, mac_unicast, ETH_ALEN);
	wire_send(frame, length);
	side_got(&b, 2, length);
	memcpy(frame, mac, ETH_ALEN);
	wire_send(frame, length);
	memset(frame, 0xff, ETH_ALEN);
	wire_send(frame, length);
	expect_no_wc(b.cq);
	SAME(ibv_destroy_flow(flow), 0);
}

static bool listens(const uint8_t *mac)
{
	char line[256], want[16];
	FILE *file = fopen("/proc/net/dev_mcast", "r");
	bool found = false;

	CHECK(file);
	snprintf(want, sizeof(want), "%02x%02x%02x%02x%02x%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
	while (fgets(line, sizeof(line), file))
		found |= strstr(line, own_name()) && strstr(line, want);
	fclose(file);
	return found;
}

/* How many want all frames? The kernel itself is one if it cannot filter addresses of hosts. */
static int promiscuity(void)
{
	char command[128];
	FILE *pipe;
	int num;

	snprintf(command, sizeof(command), "ip -d link show %s | grep -o 'promiscuity [0-9]*'",
		 own_name());
	pipe = popen(command, "r");
	CHECK(pipe && fscanf(pipe, "promiscuity %d", &num) == 1);
	pclose(pipe);
	return num;
}

static bool promiscuous(void)
{
	return promiscuity();
}

/* The net device receives for a rule until the rule ends, also if the process does. */
void wire_filters(void)
{
	struct rule all = rule_new(IBV_FLOW_ATTR_ALL_DEFAULT);
	struct ibv_flow *flow;
	uint8_t mac[ETH_ALEN];
	int status;
	pid_t pid;

	open_wire();
	CHECK(!listens(mac_group) && !promiscuous());
	/* it receives what is to itself anyway */
	own_mac(mac);
	flow = steer(mac, 0, 0);
	CHECK(!promiscuous());
	SAME(ibv_destroy_flow(flow), 0);
	flow = steer(mac_group, 0, 0);
	CHECK(listens(mac_group));
	SAME(ibv_destroy_flow(flow), 0);
	CHECK(!listens(mac_group));
	flow = rule_make(&b, &all);
	CHECK(promiscuous());
	SAME(ibv_destroy_flow(flow), 0);
	CHECK(!promiscuous());
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		open_device();
		side_open(&b);
		steer(mac_group, 0, 0);
		rule_make(&b, &all);
		CHECK(listens(mac_group) && promiscuous());
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(!listens(mac_group) && !promiscuous());
}

static uint32_t random_state = 1;

static uint32_t below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* The last frames that wire_hostile() has sent. */
static struct {
	uint8_t bytes[1514];
	uint32_t length;
} sent[16];

static bool was_sent(const uint8_t *bytes, uint32_t length)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sent); i++)
		if (sent[i].length == length && !memcmp(sent[i].bytes, bytes, length))
			return true;
	return false;
}

/* Damaged headers and lengths, with rules of all shapes: what arrives are frames as they were sent. */
void wire_hostile(void)
{
	static const uint8_t types[][2] = {
		{ 8, 0 }, { 8, 0 }, { 0x86, 0xdd }, { 0x81, 0 }, { 0x88, 0xa8 }, { 0x88, 0x47 },
	};
	static const uint16_t ports[] = { PORT_A, 4789, 6635 };
	struct ibv_flow_spec_tunnel vxlan = {
		.type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .size = sizeof(vxlan),
	};
	struct ibv_flow_spec_gre gre = { .type = IBV_FLOW_SPEC_GRE, .size = sizeof(gre) };
	struct rule sniffer = rule_new(IBV_FLOW_ATTR_SNIFFER);
	struct rule in_vxlan = rule_new(IBV_FLOW_ATTR_NORMAL), in_gre = in_vxlan;
	int num = repeat(500, 20000), i, j;
	uint8_t *frame;
	struct ibv_wc wc;
	uint32_t length, got = 0;

	open_wire();
	steer(mac_unicast, 0, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	steer(NULL, PORT_A, 0);
	steer(mac_group, PORT_A, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	rule_make(&b, &sniffer);
	rule_add(&in_vxlan, &vxlan, sizeof(vxlan));
	in_vxlan.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	rule_make(&b, &in_vxlan);
	rule_add(&in_gre, &gre, sizeof(gre));
	rule_make(&b, &in_gre);
	side_recv_all(&b);
	for (i = 0; i < num; i++) {
		frame = sent[i % ARRAY_SIZE(sent)].bytes;
		length = frame_udp(frame, below(2) ? mac_unicast : mac_group, ports[below(3)],
				   below(1400));
		memcpy(frame + 12, types[below(ARRAY_SIZE(types))], 2);
		if (!below(4))
			frame[23] = IPPROTO_GRE;
		for (j = below(4); j; j--)
			frame[below(80)] = below(256);
		length = 14 + below(length - 13);
		sent[i % ARRAY_SIZE(sent)].length = length;
		/* an interface refuses what has no header, and the stack drops more */
		send(wire, frame, length, 0);
		/* some come a moment later, in the turn of another frame */
		for (; ibv_poll_cq(b.cq, 1, &wc) == 1; got++) {
			SAME(wc.status, IBV_WC_SUCCESS);
			CHECK(was_sent(b.buf + wc.wr_id * SLOT, wc.byte_len));
			side_recv(&b, wc.wr_id, SLOT);
		}
		if (!(i % 16)) {
			SAME(raw_step(b.qp, IBV_QPS_RESET, 0), 0);
			raw_ready(b.qp);
			side_recv_all(&b);
		}
	}
	CHECK(got > (uint32_t)num / 4);
	expect_no_event();
}

static void run(const char *format)
{
	char command[256];

	snprintf(command, sizeof(command), format, own_name());
	SAME(system(command), 0);
}

/* a frame that one rule takes and a sniffer sees: both have it, and one that leaves is dropped */
static void has_rules(struct side *sniffer, const uint8_t *frame, uint32_t length)
{
	struct pollfd ready = { packet_socket(wire_name(), LEGACY_TYPE, false), POLLIN };

	side_recv(&b, 0, SLOT);
	side_recv(sniffer, 0, SLOT);
	wire_send(frame, length);
	side_got(&b, 0, length);
	side_got(sniffer, 0, length);
	memcpy(b.buf + SLOT, mac_unicast, ETH_ALEN);
	b.buf[SLOT + 12] = LEGACY_TYPE >> 8;
	b.buf[SLOT + 13] = LEGACY_TYPE & 0xff;
	side_send(&b, 1, 60, 0);
	SAME(poll(&ready, 1, QUIET_MS), 0);
	expect_no_wc(sniffer->cq);
	close(ready.fd);
}

/* The net device goes to another namespace and comes back; it goes down and up. */
void wire_moves(void)
{
	struct ibv_flow_spec_eth type = {
		.type = IBV_FLOW_SPEC_ETH, .size = sizeof(type),
		.val.ether_type = htons(LEGACY_TYPE), .mask.ether_type = 0xffff,
	};
	struct rule all = rule_new(IBV_FLOW_ATTR_SNIFFER), drop = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_flow *sniffs;
	uint8_t frame[200];
	uint32_t length;
	struct side c;
	int before;

	open_wire();
	side_open(&c);
	steer(mac_unicast, 0, 0);
	steer(mac_group, 0, 0);
	sniffs = rule_make(&c, &all);
	drop.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	rule_add(&drop, &type, sizeof(type));
	rule_drop(&drop);
	rule_make(&c, &drop);
	before = promiscuity();
	CHECK(before);
	length = frame_udp(frame, mac_group, PORT_A, 30);
	run("ip netns add weft-frames && ip link set %s netns weft-frames");
	run("ip netns exec weft-frames ip link set %s up");
	sleep_ms(500);
	has_rules(&c, frame, length);
	run("ip netns exec weft-frames ip link set %s netns 1 && ip netns del weft-frames");
	run("ip link set %s up");
	sleep_ms(500);
	CHECK(listens(mac_group));
	SAME(promiscuity(), before);
	has_rules(&c, frame, length);
	SAME(ibv_destroy_flow(sniffs), 0);
	SAME(promiscuity(), before - 1);
	run("ip link set %s down");
	/* not sent, but the work request completes */
	frame_udp(b.buf, mac_unicast, PORT_A, 30);
	side_send(&b, 0, length, 0);
	run("ip link set %s up");
	sleep_ms(200);
	side_recv(&b, 2, SLOT);
	wire_send(frame, length);
	side_got(&b, 2, length);
}

/* One of the rules of wire_churn(): a port, by specs of one of four shapes. */
static struct ibv_flow *churn_rule(int port, int shape)
{
	struct ibv_flow_spec_ipv4 from = {
		.type = IBV_FLOW_SPEC_IPV4, .size = sizeof(from),
		.val.src_ip = inet_addr("10.10.9.2"), .mask.src_ip = ~0,
	};
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	if (shape & 1)
		rule_mac(&rule, mac_unicast);
	if (shape & 2)
		rule_add(&rule, &from, sizeof(from));
	rule_udp(&rule, PORT_A + port);
	rule_tag(&rule, 1 + port);
	return rule_make(&b, &rule);
}

/* Rules come and go while frames arrive: each frame that a QP gets is one that the rule matches. */
void wire_churn(void)
{
	enum { PORTS = 16, SHAPES = 4 };
	struct ibv_flow *flows[PORTS][SHAPES] = {}, **flow;
	int num = repeat(400, 10000), i, port, shape, got = 0;
	struct ibv_poll_cq_attr poll = {};
	const uint8_t *at;
	uint8_t frame[60];
	pid_t pid;

	open_wire();
	pid = fork();
	CHECK(pid >= 0);
	for (i = 0; !pid; i++) {
		frame_udp(frame, mac_unicast, PORT_A + i % PORTS, 10);
		send(wire, frame, 52, 0);
	}
	side_recv_all(&b);
	for (i = 0; i < num; i++) {
		port = below(PORTS);
		shape = below(SHAPES);
		flow = &flows[port][shape];
		if (*flow)
			SAME(ibv_destroy_flow(*flow), 0);
		*flow = *flow ? NULL : churn_rule(port, shape);
		while (!ibv_start_poll(b.cq_ex, &poll)) {
			SAME(b.cq_ex->status, IBV_WC_SUCCESS);
			at = b.buf + b.cq_ex->wr_id * SLOT;
			SAME(ibv_wc_read_flow_tag(b.cq_ex), 1 + (at[36] << 8 | at[37]) - PORT_A);
			side_recv(&b, b.cq_ex->wr_id, SLOT);
			ibv_end_poll(b.cq_ex);
			got++;
		}
	}
	SAME(kill(pid, SIGKILL), 0);
	SAME(waitpid(pid, NULL, 0), pid);
	CHECK(got);
}
