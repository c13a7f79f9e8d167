// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * raw_cost - what a frame costs that a program receives or sends, by several ways around the stack
 *
 * usage: raw_cost KIND SIZE ITERATIONS DEVICE INTERFACE NETNS PEER [RULES]
 *
 *	raw	a RAW_PACKET QP of DEVICE, with as many rules, one of which matches
 *	packet	a packet socket with a mapped ring (PACKET_MMAP)
 *	xdp	AF_XDP, copy mode, generic
 *	none	nobody wants it; with RULES there are so many rules for other frames
 *	rawsend		a RAW_PACKET QP sends it, until the work request completes
 *	packetsend	a packet socket sends it, by send()
 *	ringsend	a packet socket with a mapped ring (PACKET_MMAP) sends it
 *
 * PEER is the other end of the veth INTERFACE, in the namespace NETNS, where a packet socket sends
 * the frames that are received here, and nobody receives those that are sent here. SIZE is that of a
 * frame: UDP in IPv4 to an address that is not this host's. Prints "KIND,SIZE,MIN,MEDIAN" as verbs_cost
 * does: to send one, with all that follows, and to receive it.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "cost.h"

#define SLOTS	64
#define SLOT	2048
#define PORT	7777

static unsigned char frame[SLOT];
static uint32_t size;
static int sender;
static unsigned char *memory;
static const char *kind;

/*
 * ---- RAW_PACKET ----
 */

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;

static void raw_post(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)memory + slot * SLOT, SLOT, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("ibv_post_recv");
}

static void raw_rule(uint32_t ip)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_ipv4 ipv4;
		struct ibv_flow_spec_tcp_udp udp;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 2,
			  .port = 1 },
		.ipv4 = { .type = IBV_FLOW_SPEC_IPV4, .size = sizeof(rule.ipv4),
			  .val.dst_ip = htonl(ip), .mask.dst_ip = -1 },
		.udp = { .type = IBV_FLOW_SPEC_UDP, .size = sizeof(rule.udp),
			 .val.dst_port = htons(PORT), .mask.dst_port = 0xffff },
	};

	if (!ibv_create_flow(qp, &rule.attr))
		die("ibv_create_flow");
}

static struct ibv_context *raw_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	die(name);
}

static void raw_open(const char *device, uint32_t ip, int rules)
{
	struct ibv_context *context = raw_device(device);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_recv_wr = SLOTS, .max_recv_sge = 1,
			 .max_send_wr = 1, .max_send_sge = 1 },
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int i;

	cq = ibv_create_cq(context, SLOTS, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	mr = ibv_reg_mr(pd, memory, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE);
	if (!qp || !mr || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT))
		die("QP");
	for (attr.qp_state = IBV_QPS_RTR; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++)
		if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
			die("QP");
	for (i = 0; i < SLOTS; i++)
		raw_post(i);
	for (i = 0; i < rules; i++)
		raw_rule(ip + i);
}

static bool raw_receive(void)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(cq, 1, &wc) != 1)
		return false;
	if (wc.status || wc.byte_len != size)
		die("completion");
	raw_post(wc.wr_id);
	return true;
}

static void raw_send(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, size, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc;
	int num;

	if (ibv_post_send(qp, &wr, &bad))
		die("ibv_post_send");
	do {
		num = ibv_poll_cq(cq, 1, &wc);
	} while (!num);
	if (num < 0 || wc.status)
		die("completion");
}

/*
 * ---- PACKET_MMAP ----
 */

static unsigned int packet_at;
static int packet_fd;

/* @ring is PACKET_RX_RING or PACKET_TX_RING. */
static void packet_open(int index, int ring)
{
	struct tpacket_req req = {
		.tp_block_size = SLOTS * SLOT, .tp_block_nr = 1, .tp_frame_size = SLOT,
		.tp_frame_nr = SLOTS,
	};
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET, .sll_ifindex = index,
		.sll_protocol = ring == PACKET_RX_RING ? htons(ETH_P_IP) : 0,
	};
	int version = TPACKET_V2, i;

	packet_fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (setsockopt(packet_fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(packet_fd, SOL_PACKET, ring, &req, sizeof(req)) ||
	    bind(packet_fd, (void *)&addr, sizeof(addr)))
		die("packet socket");
	memory = mmap(NULL, SLOTS * SLOT, PROT_READ | PROT_WRITE, MAP_SHARED, packet_fd, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	for (i = 0; i < SLOTS && ring == PACKET_TX_RING; i++)
		memcpy(memory + i * SLOT + TPACKET2_HDRLEN - sizeof(addr), frame, size);
}

static void packet_send(void)
{
	struct tpacket2_hdr *hdr = (void *)(memory + packet_at++ % SLOTS * SLOT);

	hdr->tp_len = size;
	__atomic_store_n(&hdr->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
	if (send(packet_fd, NULL, 0, 0) != (ssize_t)size)
		die("send");
	while (__atomic_load_n(&hdr->tp_status, __ATOMIC_ACQUIRE) != TP_STATUS_AVAILABLE)
		;
}

static bool packet_receive(void)
{
	struct tpacket2_hdr *hdr = (void *)(memory + packet_at % SLOTS * SLOT);

	if (!(__atomic_load_n(&hdr->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
		return false;
	if (hdr->tp_len != size)
		die("frame");
	__atomic_store_n(&hdr->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	packet_at++;
	return true;
}

/*
 * ---- AF_XDP ----
 */

static uint32_t *fill_producer, *rx_producer, *rx_consumer;
static uint64_t *fill;
static struct xdp_desc *rx;

static long bpf(int cmd, union bpf_attr *attr)
{
	long ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	if (ret < 0)
		die("bpf");
	return ret;
}

/* A program that gives each frame to the socket. */
static void xdp_attach(int index, int fd)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4, .max_entries = 1,
	}, update = {}, load = {}, link = {};
	int map_fd = bpf(BPF_MAP_CREATE, &map), key = 0;
	struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map_fd },
		{},
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	update.map_fd = map_fd;
	update.key = (uintptr_t)&key;
	update.value = (uintptr_t)&fd;
	bpf(BPF_MAP_UPDATE_ELEM, &update);
	load.prog_type = BPF_PROG_TYPE_XDP;
	load.insns = (uintptr_t)code;
	load.insn_cnt = ARRAY_SIZE(code);
	load.license = (uintptr_t)"GPL";
	link.link_create.prog_fd = bpf(BPF_PROG_LOAD, &load);
	link.link_create.target_ifindex = index;
	link.link_create.attach_type = BPF_XDP;
	link.link_create.flags = XDP_FLAGS_SKB_MODE;
	bpf(BPF_LINK_CREATE, &link);
}

static unsigned char *xdp_ring(int fd, const struct xdp_ring_offset *off, size_t entry, off_t page)
{
	void *map = mmap(NULL, off->desc + SLOTS * entry, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_POPULATE, fd, page);

	if (map == MAP_FAILED)
		die("ring");
	return map;
}

static void xdp_open(int index)
{
	int entries = SLOTS, fd = socket(AF_XDP, SOCK_RAW, 0), i;
	struct xdp_umem_reg umem = {
		.addr = (uintptr_t)memory, .len = SLOTS * SLOT, .chunk_size = SLOT,
	};
	struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP, .sxdp_ifindex = index, .sxdp_flags = XDP_COPY,
	};
	struct xdp_mmap_offsets off;
	socklen_t length = sizeof(off);
	unsigned char *ring;

	if (fd < 0 || setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &entries, sizeof(entries)) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &entries, sizeof(entries)) ||
	    setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)) ||
	    getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &length))
		die("AF_XDP");
	ring = xdp_ring(fd, &off.fr, sizeof(*fill), XDP_UMEM_PGOFF_FILL_RING);
	fill_producer = (void *)(ring + off.fr.producer);
	fill = (void *)(ring + off.fr.desc);
	ring = xdp_ring(fd, &off.rx, sizeof(*rx), XDP_PGOFF_RX_RING);
	rx_producer = (void *)(ring + off.rx.producer);
	rx_consumer = (void *)(ring + off.rx.consumer);
	rx = (void *)(ring + off.rx.desc);
	for (i = 0; i < SLOTS; i++)
		fill[i] = i * SLOT;
	__atomic_store_n(fill_producer, SLOTS, __ATOMIC_RELEASE);
	if (bind(fd, (void *)&addr, sizeof(addr)))
		die("bind");
	xdp_attach(index, fd);
}

static bool xdp_receive(void)
{
	const struct xdp_desc *desc = &rx[*rx_consumer % SLOTS];

	if (__atomic_load_n(rx_producer, __ATOMIC_ACQUIRE) == *rx_consumer)
		return false;
	if (desc->len != size)
		die("frame");
	fill[*fill_producer % SLOTS] = desc->addr & ~(SLOT - 1ULL);
	__atomic_store_n(fill_producer, *fill_producer + 1, __ATOMIC_RELEASE);
	__atomic_store_n(rx_consumer, *rx_consumer + 1, __ATOMIC_RELEASE);
	return true;
}

/*
 * ---- All ----
 */

static bool (*receive)(void);

static void one_frame(void)
{
	if (send(sender, frame, size, 0) != (ssize_t)size)
		die("send");
	while (receive && !receive())
		;
}

/* Adds big endian words to the sum of a checksum. */
static uint32_t add_words(uint32_t sum, const unsigned char *at, uint32_t length)
{
	uint32_t i;

	for (i = 0; i < length; i++)
		sum += i % 2 ? at[i] : at[i] << 8;
	return sum;
}

static void store_sum(unsigned char *at, uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16));
	at[0] = sum >> 8;
	at[1] = sum;
}

static void make_frame(const char *interface, uint32_t ip)
{
	unsigned char *p = frame + ETH_HLEN;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq ifr = {};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", interface);
	if (ioctl(fd, SIOCGIFHWADDR, &ifr))
		die(interface);
	memcpy(frame, ifr.ifr_hwaddr.sa_data, ETH_ALEN);
	frame[6] = 2;
	frame[12] = ETH_P_IP >> 8;
	p[0] = 0x45;
	p[2] = (size - ETH_HLEN) >> 8;
	p[3] = size - ETH_HLEN;
	p[8] = 64;
	p[9] = IPPROTO_UDP;
	*(uint32_t *)(p + 16) = htonl(ip);
	*(uint16_t *)(p + 22) = htons(PORT);
	*(uint16_t *)(p + 24) = htons(size - ETH_HLEN - 20);
	store_sum(p + 10, add_words(0, p, 20));
	/* with the pseudo header */
	store_sum(p + 26, add_words(IPPROTO_UDP + size - ETH_HLEN - 20, p + 12,
				    size - ETH_HLEN - 12));
	close(fd);
}

static void open_sender(const char *interface)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(interface),
	};

	/* receives nothing */
	sender = socket(AF_PACKET, SOCK_RAW, 0);
	if (!addr.sll_ifindex || sender < 0 || bind(sender, (void *)&addr, sizeof(addr)))
		die(interface);
}

static void open_far_sender(const char *netns, const char *peer)
{
	char path[256];

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	if (setns(open(path, O_RDONLY), CLONE_NEWNET))
		die(netns);
	open_sender(peer);
}

int main(int argc, char **argv)
{
	/* 198.18.0.0/15 is for benchmarks */
	uint32_t ip = 198 << 24 | 18 << 16 | 1;
	void (*operation)(void) = one_frame;
	int rules, i;

	if (argc < 8) {
		fprintf(stderr, "usage: raw_cost KIND SIZE ITERATIONS DEVICE INTERFACE NETNS PEER [RULES]\n");
		return 2;
	}
	kind = argv[1];
	size = atoi(argv[2]);
	rules = argc > 8 ? atoi(argv[8]) : 0;
	if (size < 60 || size > 1514)
		die("SIZE");
	memory = aligned_alloc(4096, SLOTS * SLOT);
	memset(memory, 0, SLOTS * SLOT);
	make_frame(argv[5], ip);
	if (!strcmp(kind, "rawsend")) {
		memcpy(memory, frame, size);
		raw_open(argv[4], ip, 0);
		operation = raw_send;
	} else if (!strcmp(kind, "ringsend")) {
		packet_open(if_nametoindex(argv[5]), PACKET_TX_RING);
		operation = packet_send;
	} else if (!strcmp(kind, "raw")) {
		raw_open(argv[4], ip, rules);
		receive = raw_receive;
	} else if (!strcmp(kind, "packet")) {
		packet_open(if_nametoindex(argv[5]), PACKET_RX_RING);
		receive = packet_receive;
	} else if (!strcmp(kind, "xdp")) {
		xdp_open(if_nametoindex(argv[5]));
		receive = xdp_receive;
	} else if (rules) {
		raw_open(argv[4], ip + 1, rules);
	}
	if (!strcmp(kind, "packetsend"))
		open_sender(argv[5]);
	else
		open_far_sender(argv[6], argv[7]);
	/* caches are warm */
	for (i = 0; i < 100; i++)
		operation();
	measure(kind, size, atoi(argv[3]), NULL, operation);
	return 0;
}
