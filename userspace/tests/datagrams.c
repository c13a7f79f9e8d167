// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UD: addressing, what is dropped, the GRH, another source, multicast.
 */
#include "lib.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>

#define GRH	40

/* of handles; no host has it by itself */
#define HOPS	9
/* a traffic class, the lower two bits of which are those of ECN */
#define MARK	0x4a

static struct end a, b;
static struct ibv_ah *ah;

static struct ibv_ah *create_ah(struct ibv_ah_attr *av)
{
	struct ibv_ah *to;

	av->grh.hop_limit = HOPS;
	to = ibv_create_ah(pd, av);
	CHECK(to);
	return to;
}

static void make_ud(void)
{
	struct ibv_ah_attr av;

	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	av_to(&av, gid4, gid4);
	ah = create_ah(&av);
}

static void send_ud(uint64_t id, int length)
{
	post(&a, to_ah(swr(&a, id, IBV_WR_SEND, 0, length), ah, &b));
	expect_ok(a.scq, id);
}

static void expect_ud(uint64_t id, int length)
{
	struct ibv_wc wc = expect_ok(b.rcq, id);

	SAME(wc.byte_len, length + GRH);
	SAME(wc.src_qp, a.qp->qp_num);
	SAME(wc.qp_num, b.qp->qp_num);
	SAME(wc.opcode, IBV_WC_RECV);
	CHECK(wc.wc_flags & IBV_WC_GRH);
	SAME(wc.pkey_index, 0);
}

/*
 * ---- What arrives, and what does not ----
 */

static void arrives(void)
{
	int i, length;

	make_ud();
	for (i = 0; i < 4; i++) {
		length = (int[]){ 0, 1, 500, 1024 }[i];
		note("%d bytes", length);
		memset(b.buf, 0, BUF);
		fill(a.buf, length, i);
		post_recv(&b, 1, 0, 2000);
		send_ud(2, length);
		expect_ud(1, length);
		check_filled(b.buf + GRH, length, i);
		check_zero(b.buf + GRH + length, 200);
	}
	/* just enough */
	post_recv(&b, 3, 0, 1024 + GRH);
	send_ud(4, 1024);
	expect_ud(3, 1024);
	/* of RoCE see grh_ipv4 and grh_ipv6 */
	if (port.link_layer == IBV_LINK_LAYER_INFINIBAND)
		SAME(((struct ibv_grh *)b.buf)->hop_limit, HOPS);
	expect_no_event();
}

static void immediate(void)
{
	struct ibv_send_wr *wr;
	struct ibv_wc wc;

	make_ud();
	post_recv(&b, 1, 0, 2000);
	wr = to_ah(swr(&a, 2, IBV_WR_SEND_WITH_IMM, 0, 7), ah, &b);
	wr->imm_data = htonl(0xfeedface);
	post(&a, wr);
	expect_ok(a.scq, 2);
	wc = expect_ok(b.rcq, 1);
	SAME(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	SAME(wc.imm_data, htonl(0xfeedface));
	SAME(wc.byte_len, 47);
}

/* the header may be in an element of its own, or across two */
static void scattered_header(void)
{
	struct ibv_recv_wr *rw;
	int i, split;

	make_ud();
	fill(a.buf, 100, 1);
	for (i = 0; i < 3; i++) {
		split = (int[]){ 40, 10, 60 }[i];
		note("split at %d", split);
		memset(b.buf, 0, BUF);
		rw = rwr(&b, 1, 0, split);
		rw->sg_list[1] = rw->sg_list[0];
		rw->sg_list[1].addr += split + 1000;
		rw->sg_list[1].length = 140 - split;
		rw->num_sge = 2;
		post_r(&b, rw);
		send_ud(2, 100);
		expect_ud(1, 100);
		memmove(b.buf + split, b.buf + split + 1000, 140 - split);
		check_filled(b.buf + GRH, 100, 1);
	}
}

/* the sender never learns */
static void dropped(void)
{
	struct ibv_port_attr before, after;
	struct ibv_send_wr *wr;

	make_ud();
	/* no receive */
	send_ud(1, 100);
	post_recv(&b, 10, 0, 4000);
	expect_no_wc(b.rcq);
	/* another key */
	SAME(ibv_query_port(ctx, 1, &before), 0);
	wr = to_ah(swr(&a, 2, IBV_WR_SEND, 0, 100), ah, &b);
	wr->wr.ud.remote_qkey = QKEY + 1;
	post(&a, wr);
	expect_ok(a.scq, 2);
	expect_no_wc(b.rcq);
	SAME(ibv_query_port(ctx, 1, &after), 0);
	SAME(after.qkey_viol_cntr, before.qkey_viol_cntr + 1);
	/* no such QP, a QP of another type */
	wr = to_ah(swr(&a, 3, IBV_WR_SEND, 0, 100), ah, &b);
	wr->wr.ud.remote_qpn = 0x7ffff0;
	post(&a, wr);
	expect_ok(a.scq, 3);
	/* more than the MTU (C10-93.1.1) */
	send_ud(4, 1025);
	send_ud(5, 4000);
	expect_no_wc(b.rcq);
	/* all that was harmless */
	expect_state(&a, IBV_QPS_RTS);
	expect_state(&b, IBV_QPS_RTS);
	send_ud(6, 100);
	expect_ud(10, 100);
	expect_no_event();
}

/* whatever the MTU of the port is; device/021-mtu has small ones */
static void mtu_of_the_port(void)
{
	int mtu = 128 << port.active_mtu;

	make_ud();
	post_recv(&b, 1, 0, BUF);
	send_ud(2, mtu + 1);
	send_ud(3, 5000);
	send_ud(4, BUF - GRH);
	expect_no_wc(b.rcq);
	/* that net device may be too small for it */
	if (packets_forced())
		return;
	send_ud(5, mtu);
	expect_ud(1, mtu);
}

static void dropped_in_states(void)
{
	make_ud();
	to_state(&b, IBV_QPS_ERR);
	send_ud(1, 100);
	to_state(&b, IBV_QPS_RESET);
	send_ud(2, 100);
	to_init(&b);
	post_recv(&b, 10, 0, 4000);
	send_ud(3, 100);
	expect_no_wc(b.rcq);
	to_rtr(&b, NULL);
	send_ud(4, 100);
	expect_ud(10, 100);
	/* UD has no communication to establish */
	expect_no_event();
}

static void to_other_type(void)
{
	struct end rc, rc_peer;

	make_ud();
	make_pair(&rc, &rc_peer, CONF());
	post_recv(&rc, 1, 0, 1000);
	post(&a, to_ah(swr(&a, 2, IBV_WR_SEND, 0, 100), ah, &rc));
	expect_ok(a.scq, 2);
	expect_no_wc(rc.rcq);
	expect_state(&rc, IBV_QPS_RTS);
	expect_no_event();
}

/* the highest bit says: the sender's own key */
static void own_qkey(void)
{
	struct ibv_qp_attr attr = { .qkey = 0x55 };
	struct ibv_send_wr *wr;

	make_ud();
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_QKEY), 0);
	post_recv(&b, 10, 0, 4000);
	wr = to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), ah, &b);
	wr->wr.ud.remote_qkey = 0x80000000;
	post(&a, wr);
	expect_ok(a.scq, 1);
	expect_no_wc(b.rcq);
	SAME(ibv_modify_qp(b.qp, &attr, IBV_QP_QKEY), 0);
	post(&a, wr);
	expect_ok(a.scq, 1);
	expect_ud(10, 100);
}

/* the receive has no room for it: anybody may have sent it, and the receive stays */
static void receive_too_small(void)
{
	uint64_t before;

	make_ud();
	before = counter("rx_too_long");
	post_recv(&b, 10, 0, 139);
	send_ud(1, 100);
	send_ud(2, 1024);
	expect_no_wc(b.rcq);
	SAME(counter("rx_too_long"), before + 2);
	expect_state(&b, IBV_QPS_RTS);
	expect_no_event();
	send_ud(3, 99);
	expect_ud(10, 99);
}

/* an address handle can go as soon as the call that used it has returned */
static void ah_destroyed(void)
{
	int i;

	make_ud();
	for (i = 0; i < 100; i++) {
		post_recv(&b, i, 0, 4000);
		ah = ah_to(gid4, gid4);
		post(&a, to_ah(swr(&a, i, IBV_WR_SEND, 0, 100), ah, &b));
		SAME(ibv_destroy_ah(ah), 0);
		CHECK(next_wc(a.scq).wr_id == i);
		if (state_of(&a) == IBV_QPS_SQE)
			FAIL("round %d: the handle went before the work request was executed", i);
		expect_ud(i, 100);
	}
}

/* addresses of nobody on this host are not to be found, with no harm done */
static void to_nobody(void)
{
	struct ibv_ah_attr av;

	make_ud();
	av_to(&av, gid4, gid4);
	av.grh.dgid.raw[15] = 77;
	errno = 0;
	ah = ibv_create_ah(pd, &av);
	/* the core wants to know its MAC address first */
	if (!ah)
		return;
	post_recv(&b, 10, 0, 4000);
	send_ud(1, 100);
	expect_no_wc(b.rcq);
	expect_state(&a, IBV_QPS_RTS);
}

static void bad_ah(void)
{
	struct ibv_ah_attr av;

	av_to(&av, gid4, gid4);
	av.is_global = 0;
	REFUSED(ibv_create_ah(pd, &av), EINVAL);
	av_to(&av, gid4, gid4);
	av.port_num = 0;
	REFUSED(ibv_create_ah(pd, &av), EINVAL);
	av.port_num = 2;
	REFUSED(ibv_create_ah(pd, &av), EINVAL);
	/* there is such an index, and nothing at it: that is the core's word for it */
	av_to(&av, gid4, gid4);
	av.grh.sgid_index = port.gid_tbl_len - 1;
	REFUSED(ibv_create_ah(pd, &av), ENODATA);
}

/*
 * ---- The header ----
 */

static uint16_t ip_sum(const void *p, int words)
{
	const uint16_t *w = p;
	uint32_t sum = 0;

	while (words--)
		sum += *w++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static struct ibv_ah *ah_marked(int gid)
{
	struct ibv_ah_attr av;

	av_to(&av, gid, gid);
	av.sl = 5;
	av.grh.traffic_class = MARK;
	/* a header has 20 bits for it; UCX asks for 32 */
	av.grh.flow_label = 0xfff12345;
	ah = create_ah(&av);
	return ah;
}

static void reply_by(struct ibv_ah *back)
{
	struct ibv_send_wr *wr;

	CHECK(back);
	post_recv(&a, 20, 0, 1000);
	wr = to_ah(swr(&b, 21, IBV_WR_SEND, 0, 10), back, &a);
	post(&b, wr);
	expect_ok(b.scq, 21);
	SAME(expect_ok(a.rcq, 20).src_qp, b.qp->qp_num);
}

static void grh_ipv4(void)
{
	struct in_addr want = { htonl(0x0a090001) };
	struct ibv_wc wc;
	struct iphdr ip;

	make_ud();
	ah_marked(gid4);
	memset(b.buf, 0xee, 200);
	post_recv(&b, 10, 0, 4000);
	send_ud(1, 100);
	wc = expect_ok(b.rcq, 10);
	SAME(wc.wc_flags & IBV_WC_GRH, IBV_WC_GRH);
	SAME(wc.sl, 10); /* as of mlx5: no header has a service level, and that says IPv4 */
	/* annex 17: an IPv4 header is in the last 20 of the 40 bytes */
	memcpy(&ip, b.buf + 20, 20);
	SAME(ip.version, 4);
	SAME(ip.ihl, 5);
	SAME(ip.protocol, IPPROTO_UDP);
	SAME(ip.tos, MARK);
	check_zero(b.buf, 20);
	/* not HOPS: the core puts the route's in its place, but for a group */
	SAME(ip.ttl, read_number("/proc/sys/net/ipv4/ip_default_ttl"));
	SAME(ip.saddr, want.s_addr);
	SAME(ip.daddr, want.s_addr);
	SAME(ip_sum(&ip, 10), 0xffff);
	CHECK(ntohs(ip.tot_len) >= 100 + 20);
	reply_by(ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)b.buf, 1));
}

/* InfiniBand's GRH is one of IPv6, but for what follows: 0x1b, a BTH (IBA 8.3.6) */
static void grh_ipv6(void)
{
	bool ib = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	union ibv_gid gid;
	struct ip6_hdr ip;
	struct ibv_wc wc;

	if (gid6 < 0)
		FAIL("no GID of an IPv6 address");
	make_ud();
	SAME(ibv_query_gid(ctx, 1, gid6, &gid), 0);
	ah_marked(gid6);
	memset(b.buf, 0xee, 200);
	post_recv(&b, 10, 0, 4000);
	send_ud(1, 100);
	wc = expect_ok(b.rcq, 10);
	SAME(wc.wc_flags & IBV_WC_GRH, IBV_WC_GRH);
	SAME(wc.sl, ib ? 5 : 9); /* see grh_ipv4 */
	memcpy(&ip, b.buf, 40);
	SAME(ntohl(ip.ip6_flow), 6 << 28 | MARK << 20 | 0x12345);
	SAME(ip.ip6_nxt, ib ? 0x1b : IPPROTO_UDP);
	/* see grh_ipv4 */
	SAME(ip.ip6_hlim, ib ? HOPS : read_number("/proc/sys/net/ipv6/conf/lo/hop_limit"));
	SAME(memcmp(&ip.ip6_src, &gid, 16), 0);
	SAME(memcmp(&ip.ip6_dst, &gid, 16), 0);
	CHECK(ntohs(ip.ip6_plen) >= 100);
	reply_by(ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)b.buf, 1));
}

static void init_ah_from_wc(void)
{
	int gids[] = { gid4, gid6 }, i;
	struct ibv_ah_attr av;
	union ibv_gid gid;
	struct ibv_wc wc;

	make_ud();
	for (i = 0; i < 2; i++) {
		note("GID index %d", gids[i]);
		SAME(ibv_query_gid(ctx, 1, gids[i], &gid), 0);
		ah_marked(gids[i]);
		post_recv(&b, 10, 0, 4000);
		send_ud(1, 100);
		wc = expect_ok(b.rcq, 10);
		SAME(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)b.buf, &av), 0);
		SAME(av.is_global, 1);
		SAME(av.grh.sgid_index, gids[i]);
		SAME(av.grh.traffic_class, MARK);
		SAME(memcmp(&av.grh.dgid, &gid, 16), 0);
		if (port.link_layer != IBV_LINK_LAYER_INFINIBAND)
			continue;
		SAME(av.dlid, port.lid);
		SAME(av.sl, 5);
		SAME(av.grh.flow_label, 0x12345);
	}
}

/* of InfiniBand alone: with a LID, and no GRH */
static void by_lid(void)
{
	struct ibv_ah_attr av = { .dlid = port.lid, .sl = 2, .port_num = 1 };
	struct ibv_wc wc;

	if (port.link_layer != IBV_LINK_LAYER_INFINIBAND)
		return;
	make_ud();
	ah = ibv_create_ah(pd, &av);
	CHECK(ah);
	fill(a.buf, 100, 1);
	memset(b.buf, 0, BUF);
	post_recv(&b, 10, 0, 4000);
	send_ud(1, 100);
	wc = expect_ok(b.rcq, 10);
	SAME(wc.wc_flags & IBV_WC_GRH, 0);
	SAME(wc.byte_len, 100 + GRH);
	SAME(wc.slid, port.lid);
	SAME(wc.dlid_path_bits, 0);
	SAME(wc.sl, 2);
	SAME(wc.src_qp, a.qp->qp_num);
	check_filled(b.buf + GRH, 100, 1);
	SAME(ibv_init_ah_from_wc(ctx, 1, &wc, (struct ibv_grh *)b.buf, &av), 0);
	SAME(av.is_global, 0);
	SAME(av.dlid, port.lid);
	SAME(av.sl, 2);
	reply_by(ibv_create_ah_from_wc(pd, &wc, (struct ibv_grh *)b.buf, 1));
}

/*
 * ---- In the name of another QP: IBV_QP_CREATE_SOURCE_QPN ----
 */

static struct ibv_qp *create_flagged(const struct end *e, uint32_t flags, uint32_t source)
{
	return ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){
		.send_cq = e->scq, .recv_cq = e->rcq, .pd = pd, .qp_type = IBV_QPT_UD,
		.cap = { 16, 16, 4, 4, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = flags, .source_qpn = source,
	});
}

/* @e has another QP from now on */
static void remake(struct end *e, uint32_t flags, uint32_t source)
{
	SAME(ibv_destroy_qp(e->qp), 0);
	e->qp = create_flagged(e, flags, source);
	CHECK(e->qp);
	to_ready(e);
}

/* any number of 24 bits, whether somebody has it or not */
static void source_qpn(void)
{
	static const uint32_t numbers[] = { 0, 1, 0x123456, 0xffffff };
	struct ibv_send_wr *wr;
	struct ibv_wc wc;
	int i;

	make_ud();
	fill(a.buf, 500, 1);
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		note("%#x", numbers[i]);
		remake(&a, IBV_QP_CREATE_SOURCE_QPN, numbers[i]);
		CHECK(a.qp->qp_num != numbers[i]);
		memset(b.buf, 0, BUF);
		post_recv(&b, 1, 0, 2000);
		wr = to_ah(swr(&a, 2, IBV_WR_SEND_WITH_IMM, 0, 500), ah, &b);
		wr->imm_data = htonl(i);
		post(&a, wr);
		SAME(expect_ok(a.scq, 2).qp_num, a.qp->qp_num);
		wc = expect_ok(b.rcq, 1);
		SAME(wc.src_qp, numbers[i]);
		SAME(wc.qp_num, b.qp->qp_num);
		SAME(wc.imm_data, htonl(i));
		check_filled(b.buf + GRH, 500, 1);
	}
	/* without the flag it means nothing */
	remake(&a, 0, 0x123456);
	post_recv(&b, 1, 0, 2000);
	send_ud(2, 100);
	expect_ud(1, 100);
}

/* an answer goes to whom the number belongs; the sender has its own, too */
static void source_qpn_answered(void)
{
	struct ibv_send_wr *wr;
	struct ibv_wc wc;
	struct end c;

	make_ud();
	make(&c, CONF(.type = IBV_QPT_UD));
	to_ready(&c);
	remake(&a, IBV_QP_CREATE_SOURCE_QPN, c.qp->qp_num);
	post_recv(&a, 10, 0, 2000);
	post_recv(&b, 11, 0, 2000);
	post_recv(&c, 12, 0, 2000);
	post(&a, to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), ah, &b));
	expect_ok(a.scq, 1);
	wc = expect_ok(b.rcq, 11);
	SAME(wc.src_qp, c.qp->qp_num);
	wr = to_ah(swr(&b, 2, IBV_WR_SEND, 0, 100), ah, &a);
	wr->wr.ud.remote_qpn = wc.src_qp;
	post(&b, wr);
	expect_ok(b.scq, 2);
	SAME(expect_ok(c.rcq, 12).qp_num, c.qp->qp_num);
	expect_no_wc(a.rcq);
	wr->wr.ud.remote_qpn = a.qp->qp_num;
	post(&b, wr);
	expect_ok(b.scq, 2);
	SAME(expect_ok(a.rcq, 10).src_qp, b.qp->qp_num);
	expect_no_event();
}

static void refuse_source(struct ibv_qp_init_attr_ex *attr, int error)
{
	attr->cap = (struct ibv_qp_cap){ 1, 1, 1, 1, 0 };
	attr->comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr->create_flags = IBV_QP_CREATE_SOURCE_QPN;
	note("type %d, number %#x", attr->qp_type, attr->source_qpn);
	REFUSED(ibv_create_qp_ex(ctx, attr), error);
}

static void source_qpn_of_types(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND };
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_qp_init_attr_ex attr;
	int i;

	make_ud();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		attr = (struct ibv_qp_init_attr_ex){
			.send_cq = a.scq, .pd = pd, .qp_type = types[i], .source_qpn = 7,
			.recv_cq = types[i] == IBV_QPT_XRC_SEND ? NULL : a.rcq,
			.comp_mask = IBV_QP_INIT_ATTR_PD,
		};
		refuse_source(&attr, EOPNOTSUPP);
	}
	attr = (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_XRC_RECV, .source_qpn = 7,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = ibv_open_xrcd(ctx, &domain),
	};
	CHECK(attr.xrcd);
	refuse_source(&attr, EOPNOTSUPP);
}

static void source_qpn_refused(void)
{
	static const uint32_t bad[] = { 1 << 24, 0x80000000, 0xffffffff };
	struct ibv_qp_init_attr_ex attr;
	int i;

	make_ud();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		attr = (struct ibv_qp_init_attr_ex){
			.send_cq = a.scq, .recv_cq = a.rcq, .pd = pd, .qp_type = IBV_QPT_UD,
			.comp_mask = IBV_QP_INIT_ATTR_PD, .source_qpn = bad[i],
		};
		refuse_source(&attr, EINVAL);
	}
	/* only who may open raw sockets may pretend to be another one */
	CHECK(!setresuid(65534, 65534, 65534));
	attr.source_qpn = 7;
	refuse_source(&attr, EPERM);
	CHECK(create_flagged(&a, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, 7));
}

/*
 * ---- Multicast ----
 */

static union ibv_gid group(int last)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1,
				       [14] = 2, [15] = last } };

	return gid;
}

static struct ibv_ah *ah_to_group(int last)
{
	struct ibv_ah_attr av;

	av_to(&av, gid4, gid4);
	av.grh.dgid = group(last);
	return create_ah(&av);
}

static int attach(struct end *e, int last)
{
	union ibv_gid gid = group(last);

	return ibv_attach_mcast(e->qp, &gid, 0);
}

static int detach(struct end *e, int last)
{
	union ibv_gid gid = group(last);

	return ibv_detach_mcast(e->qp, &gid, 0);
}

static void send_group(struct end *e, uint64_t id, struct ibv_ah *to)
{
	struct ibv_send_wr *wr = to_ah(swr(e, id, IBV_WR_SEND, 0, 100), to, e);

	wr->wr.ud.remote_qpn = 0xffffff;
	post(e, wr);
	expect_ok(e->scq, id);
}

static void post_recvs(struct end *e, int num)
{
	int i;

	for (i = 0; i < num; i++)
		post_recv(e, i, 2000 * i, 2000);
}

static void multicast(void)
{
	struct ibv_ah *to = ah_to_group(3);
	struct iphdr ip;

	make_ud();
	fill(a.buf, 100, 1);
	post_recvs(&b, 8);
	post_recv(&a, 30, 4000, 2000);
	/* nobody */
	send_group(&a, 1, to);
	expect_no_wc(b.rcq);
	/* one, attached twice: one copy */
	SAME(attach(&b, 3), 0);
	SAME(attach(&b, 3), 0);
	send_group(&a, 2, to);
	expect_ud(0, 100);
	check_filled(b.buf + GRH, 100, 1);
	memcpy(&ip, b.buf + 20, 20);
	SAME(ip.daddr, htonl(0xef010203));
	SAME(ip.saddr, htonl(0x0a090001));
	SAME(ip.ttl, HOPS);
	expect_no_wc(b.rcq);
	expect_no_wc_now(a.rcq);
	/* the sender too: each gets one */
	SAME(attach(&a, 3), 0);
	send_group(&a, 3, to);
	expect_ud(1, 100);
	expect_ok(a.rcq, 30);
	/* another group is another group */
	send_group(&a, 4, ah_to_group(4));
	expect_no_wc(b.rcq);
	SAME(detach(&a, 3), 0);
	SAME(detach(&b, 3), 0);
	send_group(&a, 5, to);
	expect_no_wc(b.rcq);
	expect_no_event();
}

/* Without one of the sender's it is the host's. */
static void multicast_default_hops(void)
{
	struct ibv_ah_attr av;
	struct iphdr ip;

	make_ud();
	post_recvs(&b, 1);
	SAME(attach(&b, 3), 0);
	av_to(&av, gid4, gid4);
	av.grh.dgid = group(3);
	av.grh.hop_limit = 0;
	ah = ibv_create_ah(pd, &av);
	CHECK(ah);
	send_group(&a, 1, ah);
	expect_ud(0, 100);
	memcpy(&ip, b.buf + 20, 20);
	SAME(ip.ttl, read_number("/proc/sys/net/ipv4/ip_default_ttl"));
	SAME(detach(&b, 3), 0);
}

/* The core has an attachment for each LID, though a group of RoCE is its GID alone. */
static void multicast_lids(void)
{
	union ibv_gid gid = group(3);

	make_ud();
	post_recvs(&b, 2);
	SAME(attach(&b, 3), 0);
	SAME(ibv_attach_mcast(b.qp, &gid, 0xc001), 0);
	SAME(detach(&b, 3), 0);
	send_group(&a, 1, ah_to_group(3));
	expect_ud(0, 100);
	expect_no_wc(b.rcq);
	REFUSED(ibv_destroy_qp(b.qp), EBUSY);
	/* what the process leaves attached, the core detaches */
	SAME(attach(&b, 3), 0);
}

static void multicast_refused(void)
{
	union ibv_gid gid;
	struct end rc;

	make_ud();
	SAME(detach(&b, 3), EINVAL);
	SAME(attach(&b, 3), 0);
	SAME(detach(&b, 4), EINVAL);
	SAME(detach(&a, 3), EINVAL);
	/* attached: not destroyed */
	REFUSED(ibv_destroy_qp(b.qp), EBUSY);
	post_recvs(&b, 1);
	send_group(&a, 1, ah_to_group(3));
	expect_ud(0, 100);
	SAME(detach(&b, 3), 0);
	SAME(detach(&b, 3), EINVAL);
	SAME(ibv_destroy_qp(b.qp), 0);
	/* no group address, no UD */
	SAME(ibv_query_gid(ctx, 1, gid4, &gid), 0);
	SAME(ibv_attach_mcast(a.qp, &gid, 0), EINVAL);
	make(&rc, CONF());
	SAME(attach(&rc, 3), EINVAL);
}

/* IBV_QP_CREATE_BLOCK_SELF_MCAST_LB */
static void multicast_not_to_self(void)
{
	struct ibv_ah *to = ah_to_group(7);

	make_ud();
	remake(&a, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, 0);
	SAME(attach(&a, 7), 0);
	SAME(attach(&b, 7), 0);
	post_recv(&a, 30, 4000, 2000);
	post_recvs(&b, 2);
	send_group(&a, 1, to);
	expect_ud(0, 100);
	expect_no_wc(a.rcq);
	/* what others send it gets, and they get theirs */
	send_group(&b, 2, to);
	expect_ok(a.rcq, 30);
	expect_ok(b.rcq, 1);
	SAME(detach(&a, 7), 0);
	SAME(detach(&b, 7), 0);
}

/* who has another number on the wire knows by that what it has sent itself */
static void multicast_source_qpn(void)
{
	struct ibv_ah *to = ah_to_group(8);
	uint32_t flags = IBV_QP_CREATE_SOURCE_QPN | IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;

	make_ud();
	remake(&a, flags, 0x4711);
	SAME(attach(&a, 8), 0);
	SAME(attach(&b, 8), 0);
	post_recv(&a, 30, 4000, 2000);
	post_recvs(&b, 2);
	send_group(&a, 1, to);
	SAME(expect_ok(b.rcq, 0).src_qp, 0x4711);
	expect_no_wc(a.rcq);
	/* with nothing against it */
	SAME(detach(&a, 8), 0);
	remake(&a, IBV_QP_CREATE_SOURCE_QPN, 0x4711);
	SAME(attach(&a, 8), 0);
	post_recv(&a, 31, 4000, 2000);
	send_group(&a, 2, to);
	SAME(expect_ok(b.rcq, 1).src_qp, 0x4711);
	SAME(expect_ok(a.rcq, 31).src_qp, 0x4711);
	SAME(detach(&a, 8), 0);
	SAME(detach(&b, 8), 0);
}

static void multicast_many(void)
{
	struct end *ends = calloc(20, sizeof(*ends));
	struct ibv_ah *to = ah_to_group(5);
	int i;

	make_ud();
	for (i = 0; i < 20; i++) {
		make(&ends[i], CONF(.type = IBV_QPT_UD));
		to_ready(&ends[i]);
		SAME(attach(&ends[i], 5), 0);
		if (i % 3)
			post_recvs(&ends[i], 2);
	}
	send_group(&a, 1, to);
	send_group(&a, 2, to);
	for (i = 0; i < 20; i++) {
		if (i % 3) {
			expect_ok(ends[i].rcq, 0);
			expect_ok(ends[i].rcq, 1);
		}
		expect_no_wc_now(ends[i].rcq);
	}
}

/* another device of the net device hears the same */
static void multicast_two_devices(void)
{
	struct ibv_ah *to = ah_to_group(9);
	struct end c;

	make_ud();
	post_recvs(&b, 4);
	open_named("weft1");
	make(&c, CONF(.type = IBV_QPT_UD));
	to_ready(&c);
	post_recvs(&c, 4);
	/* a member there alone; one on each, for either of them */
	SAME(attach(&c, 9), 0);
	send_group(&a, 1, to);
	SAME(expect_ok(c.rcq, 0).src_qp, a.qp->qp_num);
	SAME(attach(&b, 9), 0);
	send_group(&a, 2, to);
	expect_ok(c.rcq, 1);
	expect_ud(0, 100);
	send_group(&c, 3, ah_to_group(9));
	expect_ok(c.rcq, 2);
	SAME(expect_ok(b.rcq, 1).src_qp, c.qp->qp_num);
	/* a copy each, and not one more */
	expect_no_wc(b.rcq);
	expect_no_wc_now(c.rcq);
}

/* the key counts here as well */
static void multicast_qkey(void)
{
	struct ibv_ah *to = ah_to_group(6);
	struct ibv_send_wr *wr;

	make_ud();
	SAME(attach(&b, 6), 0);
	post_recvs(&b, 2);
	wr = to_ah(swr(&a, 1, IBV_WR_SEND, 0, 100), to, &b);
	wr->wr.ud.remote_qpn = 0xffffff;
	wr->wr.ud.remote_qkey = 1;
	post(&a, wr);
	expect_ok(a.scq, 1);
	expect_no_wc(b.rcq);
	send_group(&a, 2, to);
	expect_ud(0, 100);
}

TESTS(
	TEST(arrives), TEST(immediate), TEST(scattered_header), TEST(dropped), TEST(mtu_of_the_port),
	TEST(dropped_in_states), TEST(to_other_type), TEST(own_qkey),
	TEST(receive_too_small), TEST(ah_destroyed), TEST(to_nobody), TEST(bad_ah),
	TEST(grh_ipv4), TEST(grh_ipv6), TEST(init_ah_from_wc),
	TEST(by_lid), TEST(source_qpn), TEST(source_qpn_answered), TEST(source_qpn_of_types),
	TEST(source_qpn_refused),
	TEST(multicast), TEST(multicast_default_hops), TEST(multicast_lids), TEST(multicast_refused), TEST(multicast_not_to_self),
	TEST(multicast_source_qpn), TEST(multicast_many), TEST(multicast_qkey),
	TEST(multicast_two_devices)
)
