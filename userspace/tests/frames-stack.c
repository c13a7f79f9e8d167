// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RAW_PACKET QPs beside the network stack of the same net device: what it goes on to send and
 * receive, what of it is left when the last rule has gone, a queueing discipline that is full, lo.
 */
#include "frames.h"

#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static struct side a, b;

/* ---- may a program have frames? ---- */

static void can_nothing(void)
{
	struct ibv_device_attr_ex attr;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	SAME(attr.raw_packet_caps, 0);
	SAME(attr.max_wq_type_rq, 0);
	SAME(attr.rss_caps.supported_qpts, 0);
	SAME(attr.tso_caps.supported_qpts, 0);
	CHECK(!(attr.device_cap_flags_ex & IBV_DEVICE_RAW_SCATTER_FCS));
	/* an InfiniBand port has rules for datagrams */
	if (port.link_layer == IBV_LINK_LAYER_ETHERNET)
		CHECK(!(attr.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING));
	CHECK(!(attr.packet_pacing_caps.supported_qpts & 1 << IBV_QPT_RAW_PACKET));
}

/*
 * $EXPECT: the errno that a process of this user and namespace gets for a RAW_PACKET QP and a rule,
 * or 0 if frames arrive. By itself: root may have them.
 */
void net_raw_here(void)
{
	int error = getenv("EXPECT") ? atoi(getenv("EXPECT")) : 0;
	struct ibv_qp_init_attr raw = {
		.qp_type = IBV_QPT_RAW_PACKET, .cap = { .max_recv_wr = 1, .max_recv_sge = 1 },
	}, ud = { .qp_type = IBV_QPT_UD, .cap = raw.cap };
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_qp *qp;
	uint32_t length;

	rule_mac(&rule, mac_unicast);
	if (!error) {
		side_open(&a);
		side_open(&b);
		rule_make(&b, &rule);
		side_recv(&b, 0, SLOT);
		length = frame_udp(a.buf, mac_unicast, PORT_A, 100);
		side_send(&a, 0, length, 0);
		side_got(&b, 0, length);
		return;
	}
	if (error == EOPNOTSUPP)
		can_nothing();
	raw.send_cq = raw.recv_cq = ud.send_cq = ud.recv_cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	REFUSED(ibv_create_qp(pd, &raw), error);
	qp = ibv_create_qp(pd, &ud);
	CHECK(qp);
	REFUSED(ibv_create_flow(qp, &rule.attr), error);
}

/* ---- frames that are the stack's ---- */

struct layers {
	const uint8_t *ip, *transport;
	uint32_t length;		/* of the transport, with its payload */
	uint8_t proto;
	bool tagged;
};

static uint16_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

/* Finds IPv4 or IPv6 without options, behind at most one tag. Returns false for other frames. */
static bool layers_of(struct layers *l, const uint8_t *frame)
{
	*l = (struct layers){ .tagged = get16(frame + 12) == ETH_P_8021Q };
	l->ip = frame + ETH_HLEN + 4 * l->tagged;
	switch (get16(l->ip - 2)) {
	case ETH_P_IP:
		l->transport = l->ip + 20;
		l->proto = l->ip[9];
		l->length = get16(l->ip + 2) - 20;
		return l->ip[0] == 0x45 && !(get16(l->ip + 6) & 0x3fff);
	case ETH_P_IPV6:
		l->transport = l->ip + 40;
		l->proto = l->ip[6];
		l->length = get16(l->ip + 4);
		return true;
	default:
		return false;
	}
}

/* Are the checksums of IPv4 and of TCP or UDP in a frame right? @l: its layers */
static bool sums_are_right(const struct layers *l)
{
	bool v4 = l->ip[0] >> 4 == 4;
	uint32_t sum = l->proto + l->length, i;

	if (v4 && checksum(l->ip, 20, 0))
		return false;
	for (i = v4 ? 12 : 8; l->ip + i < l->transport; i += 2)
		sum += get16(l->ip + i);
	return !checksum(l->transport, l->length, sum);
}

/* Frames that a QP has got while the stack worked. */
struct watched {
	uint32_t tcp, udp, tagged, longest;
};

static void watch(struct side *s, struct watched *seen)
{
	const uint8_t *frame;
	struct layers l;
	struct ibv_wc wc;

	while (ibv_poll_cq(s->cq, 1, &wc) == 1) {
		SAME(wc.status, IBV_WC_SUCCESS);
		frame = s->buf + wc.wr_id * SLOT;
		if (layers_of(&l, frame) && (l.proto == IPPROTO_TCP || l.proto == IPPROTO_UDP)) {
			CHECK(l.transport + l.length <= frame + wc.byte_len);
			CHECK(sums_are_right(&l));
			if (l.ip[0] == 0x45)
				CHECK(wc.wc_flags & IBV_WC_IP_CSUM_OK);
			seen->tcp += l.proto == IPPROTO_TCP;
			seen->udp += l.proto == IPPROTO_UDP;
			seen->tagged += l.tagged;
		}
		if (wc.byte_len > seen->longest)
			seen->longest = wc.byte_len;
		side_recv(s, wc.wr_id, SLOT);
	}
}

static void show(const char *name, const struct watched *seen)
{
	printf("%s tcp %u udp %u tagged %u longest %u\n", name, seen->tcp, seen->udp, seen->tagged,
	       seen->longest);
}

/*
 * Until there is the file $WATCH, two QPs look at what the stack sends and receives: a sniffer, and
 * one with a rule that lets all frames of TCP go on. Each frame is as long as on the wire, with
 * right checksums.
 */
void watches(void)
{
	struct ibv_flow_spec_tcp_udp tcp = { .type = IBV_FLOW_SPEC_TCP, .size = sizeof(tcp) };
	struct rule sniffs = rule_new(IBV_FLOW_ATTR_SNIFFER), copies = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct watched all = {}, passed = {};

	if (!getenv("WATCH"))
		return;
	side_open(&a);
	side_open(&b);
	side_recv_all(&a);
	side_recv_all(&b);
	rule_make(&a, &sniffs);
	copies.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	rule_add(&copies, &tcp, sizeof(tcp));
	rule_make(&b, &copies);
	printf("watching\n");
	fflush(stdout);
	while (access(getenv("WATCH"), F_OK)) {
		watch(&a, &all);
		watch(&b, &passed);
		usleep(500);
	}
	show("all", &all);
	show("passed", &passed);
}

/* ---- lo ---- */

/*
 * $LOOPS, on lo with the address 10.10.9.1: what a QP sends comes back once, to QPs of its own
 * context, too, or to the host.
 */
void loops(void)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(PORT_A),
		.sin_addr.s_addr = inet_addr("10.10.9.1"),
	};
	int host = socket(AF_INET, SOCK_DGRAM, 0);
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	static const uint8_t zero[ETH_ALEN];
	struct pollfd ready = { host, POLLIN };
	struct ibv_flow *flow;
	uint8_t got[2048];
	uint32_t length;
	struct side c;
	struct ibv_qp_init_attr_ex blocks = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.cap = { .max_recv_wr = 1, .max_recv_sge = 1 },
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};

	if (!getenv("LOOPS"))
		return;
	side_open(&a);
	side_open_in(&c, a.ctx);
	side_open(&b);
	SAME(bind(host, (void *)&to, sizeof(to)), 0);
	blocks.pd = a.pd;
	blocks.send_cq = a.cq;
	blocks.recv_cq = a.cq;
	REFUSED(ibv_create_qp_ex(a.ctx, &blocks), EOPNOTSUPP);
	length = frame_udp(a.buf, zero, PORT_A, 300);
	/* the host alone */
	side_send(&a, 0, length, IBV_SEND_IP_CSUM);
	SAME(poll(&ready, 1, WAIT_MS), 1);
	SAME(recv(host, got, sizeof(got), 0), 300);
	SAME(memcmp(got, a.buf + 42, 300), 0);
	/* two rules share it, and the host does not get it */
	rule_udp(&rule, PORT_A);
	side_recv(&b, 1, SLOT);
	side_recv(&b, 2, SLOT);
	side_recv(&c, 1, SLOT);
	side_recv(&c, 2, SLOT);
	flow = rule_make(&b, &rule);
	rule_make(&c, &rule);
	side_send(&a, 0, length, IBV_SEND_IP_CSUM);
	side_got(&b, 1, length);
	side_got(&c, 1, length);
	SAME(memcmp(b.buf + SLOT + 42, a.buf + 42, 300), 0);
	expect_no_wc(b.cq);
	expect_no_wc(c.cq);
	SAME(poll(&ready, 1, QUIET_MS), 0);
	/* a frame of the host's own is taken as well */
	SAME(ibv_destroy_flow(flow), 0);
	SAME(sendto(host, a.buf, 100, 0, (void *)&to, sizeof(to)), 100);
	side_got(&c, 2, 142);
	SAME(poll(&ready, 1, QUIET_MS), 0);
}

/* ---- the sender's own context ---- */

static const uint8_t mac_all[ETH_ALEN] = { 255, 255, 255, 255, 255, 255 };

/* QPs of the sender's context: each gets the kinds of frames that it was created for, no other */
void self_loopback(void)
{
	static const struct {
		const char *name;
		uint32_t flags;
		bool unicast, multicast;
	} rows[] = {
		{ "none", 0, false, false },
		{ "unicast", WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC, true, false },
		{ "multicast", WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC, false, true },
		{ "both", WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC |
			  WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC, true, true },
	};
	static const uint8_t * const macs[] = { mac_unicast, mac_group, mac_all };
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET, .comp_mask = IBV_QP_INIT_ATTR_PD,
		.cap = { .max_recv_wr = SLOTS, .max_recv_sge = 1 },
	};
	struct weftdv_qp_init_attr dv = { .comp_mask = WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS };
	struct ibv_flow *flow;
	struct side own;
	int i, j;

	side_open(&a);
	side_open_in(&own, a.ctx);
	rule_udp(&rule, PORT_A);
	attr.pd = own.pd;
	attr.send_cq = own.cq;
	attr.recv_cq = own.cq;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		note("%s", rows[i].name);
		SAME(ibv_destroy_qp(own.qp), 0);
		dv.create_flags = rows[i].flags;
		own.qp = weftdv_create_qp(own.ctx, &attr, &dv);
		CHECK(own.qp);
		raw_ready(own.qp);
		flow = rule_make(&own, &rule);
		side_recv(&own, 0, SLOT);
		for (j = 0; j < ARRAY_SIZE(macs); j++) {
			frame_udp(a.buf, macs[j], PORT_A, 100);
			side_send(&a, 0, 142, 0);
			if (j ? rows[i].multicast : rows[i].unicast) {
				side_got(&own, 0, 142);
				side_recv(&own, 0, SLOT);
			} else {
				expect_no_wc(own.cq);
			}
		}
		SAME(ibv_destroy_flow(flow), 0);
	}
	note(NULL);
}

/* ---- the net device ---- */

static int status_of(const char *format)
{
	char text[256];

	snprintf(text, sizeof(text), format, getenv("WEFT_OWN_NETDEV") ?: "raw0");
	return system(text);
}

/* How many hooks of the net device are weft's? */
static int hooks(void)
{
	return status_of("exit $(nft list hooks netdev device %s | grep -c weft)") >> 8;
}

/* The stack has nothing of weft's in its way before the first rule and behind the last. */
void wire_hooks(void)
{
	struct rule sniffs = rule_new(IBV_FLOW_ATTR_SNIFFER), rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_flow *first, *second;

	/* not every kernel tells of its hooks */
	if (status_of("nft list hooks netdev device %s >/dev/null 2>&1")) {
		printf("wire_hooks: nft cannot list hooks here\n");
		return;
	}
	side_open(&a);
	side_open(&b);
	SAME(hooks(), 0);
	/* frames that arrive, and frames that leave */
	first = rule_make(&a, &sniffs);
	SAME(hooks(), 2);
	rule_mac(&rule, mac_unicast);
	second = rule_make(&b, &rule);
	SAME(ibv_destroy_flow(first), 0);
	SAME(hooks(), 1);
	SAME(ibv_destroy_flow(second), 0);
	SAME(hooks(), 0);
}

/*
 * The queue of the interface is full: the work requests of a list wait, and each frame is sent
 * once, in order.
 */
void wire_queue(void)
{
	enum { FRAMES = SLOTS, LENGTH = 1014 };
	uint64_t dropped = counter("tx_dropped"), start = now_ns();
	struct ibv_send_wr wr[FRAMES] = {}, *bad;
	struct ibv_sge sge[FRAMES];
	struct rule sniffs = rule_new(IBV_FLOW_ATTR_SNIFFER), rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct ibv_counters *leave;
	struct ibv_wc wc;
	struct pollfd ready;
	uint8_t got[2048];
	int i, done = 0;

	/* 4 frames fit in the queue; the rate is 100 frames a second */
	SAME(status_of("tc qdisc add dev %s root tbf rate 800kbit burst 2000 limit 4100"), 0);
	side_open(&a);
	side_open(&b);
	leave = usual_counters(&b);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	rule_mac(&rule, mac_unicast);
	rule_count(&rule, leave);
	rule_make(&b, &rule);
	rule_make(&b, &sniffs);
	side_recv_all(&b);
	ready = (struct pollfd){ packet_socket(getenv("WEFT_WIRE"), 0x88b7, false), POLLIN };
	for (i = 0; i < FRAMES; i++) {
		fill(a.buf + i * SLOT, LENGTH, i);
		memcpy(a.buf + i * SLOT, mac_unicast, ETH_ALEN);
		memcpy(a.buf + i * SLOT + 12, "\x88\xb7", 2);
		sge[i] = (struct ibv_sge){ (uintptr_t)a.buf + i * SLOT, LENGTH, a.mr->lkey };
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .sg_list = &sge[i], .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED, .next = i + 1 < FRAMES ? &wr[i + 1] : NULL,
		};
	}
	SAME(ibv_post_send(a.qp, wr, &bad), 0);
	/* far less time than they need */
	sleep_ms(50);
	while (ibv_poll_cq(a.cq, 1, &wc) == 1) {
		SAME(wc.wr_id, done++);
		SAME(wc.status, IBV_WC_SUCCESS);
	}
	if (now_ns() - start < 300000000)
		CHECK(done < FRAMES);
	for (; done < FRAMES; done++)
		expect_ok(a.cq, done);
	for (i = 0; i < FRAMES; i++) {
		note("frame %d", i);
		SAME(poll(&ready, 1, WAIT_MS), 1);
		SAME(recv(ready.fd, got, sizeof(got), 0), LENGTH);
		SAME(memcmp(got, a.buf + i * SLOT, LENGTH), 0);
	}
	SAME(poll(&ready, 1, QUIET_MS), 0);
	CHECK(now_ns() - start > 300000000);
	SAME(counter("tx_dropped"), dropped);
	/* rules see a frame once, however often it is tried */
	have_counted(leave, FRAMES, FRAMES * LENGTH);
	for (i = 0; i < FRAMES; i++)
		side_got(&b, i, LENGTH);
	expect_no_wc(b.cq);
	SAME(status_of("tc qdisc del dev %s root"), 0);
}

/* A queue that takes nothing, and is empty: a work request does not wait for it. */
void wire_no_queue(void)
{
	enum { FRAMES = 20 };
	uint64_t dropped = counter("tx_dropped");
	int i;

	SAME(status_of("tc qdisc add dev %s root pfifo limit 0"), 0);
	side_open(&a);
	for (i = 0; i < FRAMES; i++)
		side_send(&a, 0, frame_udp(a.buf, mac_unicast, PORT_A, 30), 0);
	sleep_ms(QUIET_MS);
	SAME(counter("tx_dropped"), dropped + FRAMES);
	SAME(status_of("tc qdisc del dev %s root"), 0);
	side_send(&a, 0, frame_udp(a.buf, mac_unicast, PORT_A, 30), 0);
	sleep_ms(QUIET_MS);
	SAME(counter("tx_dropped"), dropped + FRAMES);
}

/*
 * A filter of tc drops what leaves, and says the same as a full queue. The queue is empty, so a
 * work request does not wait for it.
 */
void wire_filtered(void)
{
	enum { FRAMES = 20 };
	uint64_t dropped = counter("tx_dropped"), stalls = counter("tx_stalls");
	int i;

	SAME(status_of("tc qdisc add dev %s root pfifo"), 0);
	if (status_of("tc qdisc add dev %1$s clsact && "
		      "tc filter add dev %1$s egress matchall action drop")) {
		printf("wire_filtered: no filters of tc here\n");
		SAME(status_of("tc qdisc del dev %s root"), 0);
		return;
	}
	side_open(&a);
	for (i = 0; i < FRAMES; i++)
		side_send(&a, 0, frame_udp(a.buf, mac_unicast, PORT_A, 30), 0);
	SAME(counter("tx_dropped"), dropped + FRAMES);
	CHECK(counter("tx_stalls") <= stalls + 2 * FRAMES);
	SAME(status_of("tc qdisc del dev %s clsact"), 0);
	side_send(&a, 0, frame_udp(a.buf, mac_unicast, PORT_A, 30), 0);
	SAME(counter("tx_dropped"), dropped + FRAMES);
	SAME(status_of("tc qdisc del dev %s root"), 0);
}

/* The port is down by a command: QPs get no frames, and sniffers neither; the host goes on. */
void wire_port_down(void)
{
	struct rule sniffs = rule_new(IBV_FLOW_ATTR_SNIFFER), rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	uint64_t dropped = counter("tx_dropped");
	uint8_t frame[100];
	char command[256];
	int fd, down;

	side_open(&a);
	side_open(&b);
	fd = packet_socket(getenv("WEFT_WIRE"), ETH_P_IP, false);
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);
	rule_make(&a, &sniffs);
	for (down = 1; down >= 0; down--) {
		snprintf(command, sizeof(command), "%s port %s %s",
			 getenv("WEFT_INJECT") ?: "weft-inject",
			 ibv_get_device_name(a.ctx->device), down ? "down" : "up");
		SAME(system(command), 0);
		side_recv(&a, 0, SLOT);
		side_recv(&b, 0, SLOT);
		SAME(send(fd, frame, frame_udp(frame, mac_unicast, PORT_A, 30), 0), 72);
		if (!down)
			break;
		expect_no_wc(a.cq);
		expect_no_wc(b.cq);
		side_send(&a, 1, 60, 0);
		SAME(counter("tx_dropped"), dropped + 1);
	}
	side_got(&a, 0, 72);
	side_got(&b, 0, 72);
}

/* $MOVES: the net device goes to another namespace and back, again and again, while frames come and go. */
void wire_moves_busy(void)
{
	struct rule sniffs = rule_new(IBV_FLOW_ATTR_SNIFFER), rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	int num = repeat(3, 10), fd, status, i;
	struct watched seen = {};
	uint8_t frame[200];
	uint32_t length;
	pid_t sender, mover;
	struct side c;

	if (!getenv("MOVES"))
		return;
	side_open(&a);
	side_open(&b);
	side_open(&c);
	side_recv_all(&a);
	side_recv_all(&b);
	rule_make(&a, &sniffs);
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);
	fd = packet_socket(getenv("WEFT_WIRE"), 0, false);
	length = frame_udp(frame, mac_unicast, PORT_A, 100);
	sender = fork();
	CHECK(sender >= 0);
	if (!sender)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!sender) {
		send(fd, frame, length, 0);
		usleep(100);
	}
	mover = fork();
	CHECK(mover >= 0);
	if (!mover) {
		status = status_of("ip netns add weft-frames");
		for (i = 0; i < num && !status; i++)
			status = status_of("ip link set %1$s netns weft-frames && "
					   "ip -n weft-frames link set %1$s up && sleep 0.2 && "
					   "ip -n weft-frames link set %1$s netns 1 && "
					   "ip link set %1$s up && sleep 0.2");
		_exit(status || status_of("ip netns del weft-frames"));
	}
	while (!waitpid(mover, &status, WNOHANG)) {
		watch(&a, &seen);
		watch(&b, &seen);
		/* whether it leaves or not, the work request completes */
		frame_udp(c.buf, mac_source, PORT_A, 100);
		side_send(&c, 0, length, 0);
		usleep(100);
	}
	SAME(status, 0);
	SAME(kill(sender, SIGKILL), 0);
	SAME(waitpid(sender, NULL, 0), sender);
	CHECK(seen.udp);
	/* the rules still work, when those frames are over */
	sleep_ms(300);
	watch(&b, &seen);
	seen = (struct watched){};
	for (i = 0; i < 50 && !seen.udp; i++) {
		SAME(send(fd, frame, 142, 0), 142);
		sleep_ms(50);
		watch(&b, &seen);
	}
	CHECK(seen.udp);
}
