// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WQs, indirection tables, RAW_PACKET and RSS QPs, rules and their counters, see raw.rst. Rules
 * match addresses that nobody has, so that no frame is received or counted: what is looked at is
 * states, lifetimes, and what is flushed. A port without frames refuses all of it.
 */
#include "flows.h"
#include "sequences.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>

#define LOG_MANY	12		/* entries of a table: more than there can be */
#define GROUP		3		/* the first address of a group; those below are of hosts */
#define LAST		100		/* rank behind all priorities */

#define IPV4		(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define IPV6		(IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define TCP		(IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define UDP		(IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

/* without frames one call in eight is enough to see that it is refused */
static bool has_turn(void)
{
	return may_use_frames && (has_frames || one_in(8));
}

/*
 * ---- WQs ----
 */

static int draw_wq(struct ibv_wq_init_attr *attr, unsigned int bad)
{
	static const uint32_t flags[] = {
		0, IBV_WQ_FLAGS_CVLAN_STRIPPING, IBV_WQ_FLAGS_SCATTER_FCS,
		IBV_WQ_FLAGS_PCI_WRITE_END_PADDING,
	};

	if (one_in(2)) {
		attr->comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
		attr->create_flags = flags[below(ARRAY_SIZE(flags))];
	}
	switch (bad) {
	case 0:
		return 0;
	case 1:
		attr->wq_type = 1;
		return EINVAL;
	case 2:
		attr->max_wr = one_in(2) ? 0 : 32769;
		return EINVAL;
	case 3:
		attr->max_sge = 33;
		return EINVAL;
	case 4:
		attr->comp_mask |= 1 << 20;
		return EOPNOTSUPP;
	default:
		attr->comp_mask |= IBV_WQ_INIT_ATTR_FLAGS;
		attr->create_flags |= one_in(2) ? IBV_WQ_FLAGS_DELAY_DROP : 1 << 20;
		return EOPNOTSUPP;
	}
}

static bool create_wq(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1 + below(12), .max_sge = below(4),
	};
	struct obj *pd = some(PD), *cq = pd ? some_of(CQ, pd->context) : NULL, *o;
	struct ibv_wq *iwq;
	struct qp *qp;
	int want;

	if (!cq || full(WQ) || !has_turn())
		return false;
	want = draw_wq(&attr, has_frames ? wrong(5) : 0);
	if (!has_frames)
		want = EOPNOTSUPP;
	o = add(WQ, pd->context, NULL);
	attr.wq_context = o;
	attr.pd = pd->ipd;
	attr.cq = cq->icq;
	call("create_wq WQ %u in PD %u, CQ %u, %u receives of %u, type %u, flags %#x", o->id,
	     pd->id, cq->id, attr.max_wr, attr.max_sge, attr.wq_type, attr.create_flags);
	iwq = ibv_create_wq(w->context[pd->context], &attr);
	result(V_CREATE_WQ, error_of(iwq), want);
	if (!iwq) {
		forget(o);
		return true;
	}
	o->iwq = iwq;
	qp = new_qp(o, WORKQ, iwq->wq_num);
	qp->pd = pd;
	qp->rcq = cq;
	qp->rq.max = attr.max_wr;
	qp->cap.max_recv_sge = attr.max_sge;
	CHECK(qp->rq.max <= MAX_WR && iwq->state == IBV_WQS_RESET);
	hold_pd(pd, false);
	hold(cq);
	return true;
}

static enum ibv_wq_state wq_state(const struct qp *qp)
{
	return qp->state == IBV_QPS_RESET ? IBV_WQS_RESET :
	       qp->state == IBV_QPS_ERR ? IBV_WQS_ERR : IBV_WQS_RDY;
}

static bool can_move(enum ibv_wq_state from, enum ibv_wq_state to)
{
	return to == IBV_WQS_RESET || to == from ||
	       (from == IBV_WQS_RESET && to == IBV_WQS_RDY) ||
	       (from == IBV_WQS_RDY && to == IBV_WQS_ERR);
}

static int draw_wq_change(struct ibv_wq_attr *attr, enum ibv_wq_state from, unsigned int bad)
{
	int want;

	attr->attr_mask = one_in(8) ? 0 : IBV_WQ_ATTR_STATE;
	attr->wq_state = one_in(4) ? below(3) : (from + 1) % 3;
	attr->curr_wq_state = from;
	if (one_in(3))
		attr->attr_mask |= IBV_WQ_ATTR_CURR_STATE;
	if (!attr->attr_mask || one_in(4)) {
		attr->attr_mask |= IBV_WQ_ATTR_FLAGS;
		attr->flags_mask = one_in(4) ? 0 : IBV_WQ_FLAGS_CVLAN_STRIPPING;
		attr->flags = below(2) * IBV_WQ_FLAGS_CVLAN_STRIPPING;
	}
	want = attr->attr_mask & IBV_WQ_ATTR_STATE && !can_move(from, attr->wq_state) ? EINVAL : 0;
	switch (bad) {
	case 0:
		return want;
	case 1:
		attr->attr_mask |= IBV_WQ_ATTR_CURR_STATE;
		attr->curr_wq_state = (from + 1 + below(2)) % 3;
		return EINVAL;
	case 2:
		attr->attr_mask |= IBV_WQ_ATTR_CURR_STATE;
		attr->curr_wq_state = IBV_WQS_UNKNOWN;
		return EINVAL;
	case 3:
		attr->attr_mask |= IBV_WQ_ATTR_STATE;
		attr->wq_state = IBV_WQS_UNKNOWN + below(100);
		return EINVAL;
	case 4:
		attr->attr_mask = one_in(2) ? 0 : attr->attr_mask | 1 << 10;
		return EINVAL;
	default:
		attr->attr_mask |= IBV_WQ_ATTR_FLAGS;
		attr->flags_mask |= one_in(2) ? IBV_WQ_FLAGS_SCATTER_FCS : 1 << 20;
		/* of two faults either may be told */
		attr->wq_state = from;
		return EOPNOTSUPP;
	}
}

static bool modify_wq(void)
{
	struct obj *o = some(WQ);
	struct ibv_wq_attr attr = {};
	enum ibv_wq_state from;
	struct qp *qp;
	int want;

	if (!o)
		return false;
	qp = o->q;
	from = wq_state(qp);
	want = draw_wq_change(&attr, from, wrong(5));
	if (!may_lose(o))
		sync_all();
	call("modify_wq WQ %u (%d), mask %#x, state %d, current state %d, flags %#x of %#x", o->id,
	     from, attr.attr_mask, attr.wq_state, attr.curr_wq_state, attr.flags, attr.flags_mask);
	result(V_MODIFY_WQ, ibv_modify_wq(o->iwq, &attr), want);
	if (!want && attr.attr_mask & IBV_WQ_ATTR_STATE) {
		if (attr.wq_state == IBV_WQS_RESET)
			clear_queues(qp);
		if (attr.wq_state == IBV_WQS_ERR)
			set_error(qp);
		qp->state = attr.wq_state == IBV_WQS_RESET ? IBV_QPS_RESET :
			    attr.wq_state == IBV_WQS_ERR ? IBV_QPS_ERR : IBV_QPS_RTR;
	}
	if (o->iwq->state != wq_state(qp))
		mismatch("WQ %u is in state %d, expected %d", o->id, o->iwq->state, wq_state(qp));
	return true;
}

static bool post_to_wq(void)
{
	struct obj *o = some(WQ);

	return o && (o->q->state != IBV_QPS_RESET || one_in(4)) && post_receives_to(o);
}

static bool create_table(void)
{
	struct ibv_wq *entries[1 << LOG_MANY];
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = below(4), .ind_tbl = entries,
	};
	struct obj *wq = some(WQ), *member[1 << LOG_MANY], *o;
	unsigned int bad = wrong(3);
	struct ibv_rwq_ind_table *itable;
	int i;

	if (!wq || full(TABLE))
		return false;
	if (bad == 1)
		attr.log_ind_tbl_size = LOG_MANY;
	else if (bad == 2)
		attr.log_ind_tbl_size = 14;
	else if (bad == 3)
		attr.comp_mask = 1;
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		member[i] = one_in(2) ? some_of(WQ, wq->context) : wq;
		entries[i] = member[i]->iwq;
	}
	call("create_rwq_ind_table, log size %u, WQs %u %u.., wrong %u", attr.log_ind_tbl_size,
	     member[0]->id, member[1]->id, bad);
	itable = ibv_create_rwq_ind_table(w->context[wq->context], &attr);
	result(V_CREATE_TABLE, error_of(itable), bad ? EINVAL : 0);
	if (!itable)
		return true;
	o = add(TABLE, wq->context, itable);
	o->members = 1 << attr.log_ind_tbl_size;
	CHECK(o->members <= MAX_TABLE);
	for (i = 0; i < o->members; i++) {
		o->member[i] = member[i];
		hold(member[i]);
	}
	return true;
}

/*
 * ---- QPs ----
 */

/* what a port without frames says, before anything that is wrong with the rest */
static bool create_refused_qp(void)
{
	struct obj *pd = some(PD), *cq = pd ? some_of(CQ, pd->context) : NULL;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!cq)
		return false;
	attr.send_cq = attr.recv_cq = cq->icq;
	call("create_qp of RAW_PACKET in PD %u", pd->id);
	result(V_CREATE_RAW, error_of(ibv_create_qp(pd->ipd, &attr)), EOPNOTSUPP);
	return true;
}

static bool create_raw_qp(void)
{
	if (!has_turn())
		return false;
	return has_frames ? create_qp_of(RAW) : create_refused_qp();
}

/* of the drawn ones, NULL: none */
static struct obj *some_raw_qp(bool rss)
{
	struct obj *o = some(RAWQP);

	return o && !!o->table == rss ? o : NULL;
}

static bool modify_raw_qp(void)
{
	struct obj *o = some_raw_qp(false);

	return o && modify_this_qp(o);
}

static bool post_frames(void)
{
	struct obj *o = some_raw_qp(false);

	return o && post_send_to(o);
}

static bool post_for_frames(void)
{
	struct obj *o = some_raw_qp(false);

	return o && !o->deaf && post_receives_to(o);
}

static int draw_rss(struct ibv_qp_init_attr_ex *attr, const struct obj *table, unsigned int bad,
		    struct ibv_cq *cq)
{
	static const uint64_t fields[] = {
		IPV4, IPV6, TCP, UDP, IPV4 | TCP, IPV6 | UDP, IBV_RX_HASH_SRC_IPV4,
		IPV4 | UDP | (uint64_t)IBV_RX_HASH_INNER,
	};
	struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;

	conf->rx_hash_fields_mask = fields[below(ARRAY_SIZE(fields))];
	switch (bad) {
	case 0:
		return 0;
	case 1:
		conf->rx_hash_key_len = 39;
		return EINVAL;
	case 2:
		conf->rx_hash_function = 1 << 1;
		return EOPNOTSUPP;
	case 3:
		conf->rx_hash_fields_mask = one_in(2) ? IPV4 | IPV6 : IPV4 | TCP | UDP;
		return EINVAL;
	case 4:
		conf->rx_hash_fields_mask |= 1 << 9;
		return EOPNOTSUPP;
	case 5:
		conf->rx_hash_fields_mask = 0;
		return table->members > 1 ? EINVAL : 0;
	case 6:
		attr->cap.max_recv_wr = 1;
		return EINVAL;
	case 7:
		attr->cap.max_send_wr = 1;
		attr->send_cq = cq;
		return EINVAL;
	case 8:
		attr->comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr->create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
		return EINVAL;
	case 9:
		attr->comp_mask &= ~IBV_QP_INIT_ATTR_RX_HASH;
		return EINVAL;
	default:
		attr->qp_type = IBV_QPT_UD;
		return EOPNOTSUPP;
	}
}

static bool create_rss_qp(void)
{
	static uint8_t key[40];
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key), .rx_hash_key = key,
		},
	};
	struct obj *table = some(TABLE), *pd = table ? some_of(PD, table->context) : NULL, *o;
	unsigned int bad = wrong(10);
	struct ibv_qp *iqp;
	int want;

	if (!pd || full(RAWQP))
		return false;
	want = draw_rss(&attr, table, bad, table->member[0]->q->rcq->icq);
	o = add(RAWQP, table->context, NULL);
	attr.qp_context = o;
	attr.pd = pd->ipd;
	attr.rwq_ind_tbl = table->itable;
	call("create_qp QP %u of table %u in PD %u, fields %#llx, wrong %u", o->id, table->id,
	     pd->id, (unsigned long long)attr.rx_hash_conf.rx_hash_fields_mask, bad);
	iqp = ibv_create_qp_ex(w->context[table->context], &attr);
	result(V_CREATE_RSS, error_of(iqp), want);
	if (!iqp) {
		forget(o);
		return true;
	}
	o->iqp = iqp;
	o->table = table;
	hold(table);
	new_qp(o, RSS, iqp->qp_num)->pd = pd;
	hold_pd(pd, false);
	check_qp(o);
	return true;
}

/* It has no states and no queues. */
static bool use_rss_qp(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = one_in(2) ? IBV_QPS_INIT : IBV_QPS_ERR, .port_num = 1,
	};
	int mask = IBV_QP_STATE | (attr.qp_state == IBV_QPS_INIT ? IBV_QP_PORT : 0);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_recv_wr receive = {}, *bad_receive = NULL;
	struct obj *o = some_raw_qp(true);

	if (!o)
		return false;
	switch (below(3)) {
	case 0:
		call("modify_qp of RSS QP %u, state %d", o->id, attr.qp_state);
		result(V_USE_RSS, ibv_modify_qp(o->iqp, &attr, mask), EOPNOTSUPP);
		break;
	case 1:
		call("post_send to RSS QP %u", o->id);
		result(V_USE_RSS, ibv_post_send(o->iqp, &send, &bad_send), EINVAL);
		break;
	default:
		call("post_recv to RSS QP %u", o->id);
		result(V_USE_RSS, ibv_post_recv(o->iqp, &receive, &bad_receive), EINVAL);
	}
	check_qp(o);
	return true;
}

/*
 * ---- Rules ----
 */

static void add_address(struct rule *rule, int address)
{
	struct ibv_flow_spec_eth eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth) };
	const uint8_t mac[ETH_ALEN] = {
		address < GROUP ? 2 : 3, 0, 0x57, 0xef, w->number, address,
	};

	memcpy(eth.val.dst_mac, mac, ETH_ALEN);
	memset(eth.mask.dst_mac, 0xff, ETH_ALEN);
	rule_add(rule, &eth, sizeof(eth));
}

static void add_tag(struct rule *rule, uint32_t tag)
{
	struct ibv_flow_spec_action_tag action = {
		.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(action), .tag_id = tag,
	};

	rule_add(rule, &action, sizeof(action));
}

static void add_drop(struct rule *rule)
{
	struct ibv_flow_spec_action_drop action = {
		.type = IBV_FLOW_SPEC_ACTION_DROP, .size = sizeof(action),
	};

	rule_add(rule, &action, sizeof(action));
}

static void add_count(struct rule *rule, const struct obj *counters)
{
	struct ibv_flow_spec_counter_action action = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(action),
		.counters = counters->icounters,
	};

	rule_add(rule, &action, sizeof(action));
}

/* a rule of the type NORMAL for one address */
static void draw_rule(struct rule *rule, struct steering *s, const struct obj *counters)
{
	*s = (struct steering){
		.egress = one_in(4), .trap = !one_in(3), .rank = below(4) * 5,
		.address = below(GROUP + 2), .port = one_in(3) ? (int)below(2) : -1,
		.drop = one_in(4), .tag = one_in(3) ? 1 + below(2) : 0,
	};
	rule->attr.priority = s->rank;
	rule->attr.flags = (s->egress ? IBV_FLOW_ATTR_FLAGS_EGRESS : 0) |
			   (s->trap ? 0 : IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	/* raw.rst: rules for multicast frames alone come last */
	if (s->trap && s->address >= GROUP)
		s->rank = LAST;
	add_address(rule, s->address);
	if (s->port >= 0)
		rule_udp(rule, 7000 + s->port);
	if (s->drop)
		add_drop(rule);
	if (s->tag)
		add_tag(rule, s->tag);
	if (counters)
		add_count(rule, counters);
}

static int spoil_rule(struct rule *rule, unsigned int bad)
{
	struct ibv_flow_spec_esp esp = { .type = IBV_FLOW_SPEC_ESP, .size = sizeof(esp) };
	struct ibv_flow_spec_ipv4_ext ttl = {
		.type = IBV_FLOW_SPEC_IPV4_EXT, .size = sizeof(ttl), .mask.ttl = 1,
	};

	switch (bad) {
	case 1:
		rule->attr.priority = 16;
		return ENOMEM;
	case 2:
		rule->attr.port = 2;
		return EINVAL;
	case 3:
		rule->attr.flags |= 1 << 3;
		return EINVAL;
	case 4:
		rule->attr.type = 77;
		return EINVAL;
	case 5:
		rule_add(rule, &esp, sizeof(esp));
		return EOPNOTSUPP;
	case 6:
		rule_add(rule, &ttl, sizeof(ttl));
		return EOPNOTSUPP;
	case 7:
		rule->attr.type = one_in(2) ? IBV_FLOW_ATTR_ALL_DEFAULT : IBV_FLOW_ATTR_SNIFFER;
		return EINVAL;
	default:
		/* two of a kind */
		add_address(rule, 0);
		return EINVAL;
	}
}

/* Rules that match exactly the same frames share them, and must not want different things. */
static bool is_contradicted(const struct steering *s)
{
	const struct steering *other;
	int i;

	for (i = 0; i < w->num[FLOW]; i++) {
		other = w->obj[FLOW][i]->steering;
		if (other && other->egress == s->egress && other->trap == s->trap &&
		    other->rank == s->rank && other->address == s->address &&
		    other->port == s->port &&
		    (other->drop != s->drop || (s->tag && other->tag != s->tag)))
			return true;
	}
	return false;
}

static void add_flow(struct ibv_flow *iflow, struct obj *target, struct obj *counters,
		     const struct steering *s)
{
	struct obj *o = add(FLOW, target->context, iflow);

	o->target = target;
	o->counters = counters;
	hold(target);
	hold(counters);
	if (s) {
		o->steering = malloc(sizeof(*s));
		CHECK(o->steering);
		*o->steering = *s;
	}
}

static bool create_flow(void)
{
	struct obj *target = has_frames && !one_in(8) ? some(RAWQP) : some(QP), *counters;
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	unsigned int bad;
	struct ibv_flow *iflow;
	struct steering s;
	int want = 0;

	if (!target || full(FLOW) || !has_turn())
		return false;
	bad = target->kind == RAWQP ? wrong(8) : 0;
	counters = one_in(2) ? some_of(COUNTERS, target->context) : NULL;
	draw_rule(&rule, &s, counters);
	if (target->kind == QP)
		want = target->q->service == UD ? EOPNOTSUPP : EINVAL;
	else if (bad)
		want = spoil_rule(&rule, bad);
	else if (counters && !counters->attached)
		want = EINVAL;
	else if (is_contradicted(&s))
		want = EEXIST;
	call("create_flow of QP %u, address %d, port %d, priority %u, flags %#x, drop %d, tag %u, "
	     "counters %u, wrong %u", target->id, s.address, s.port, rule.attr.priority,
	     rule.attr.flags, s.drop, s.tag, counters ? counters->id : 0, bad);
	iflow = ibv_create_flow(target->iqp, &rule.attr);
	result(V_CREATE_FLOW, error_of(iflow), want);
	if (iflow)
		add_flow(iflow, target, counters, &s);
	return true;
}

/* They match what others send: a QP that has no receives gets nothing by them. */
static bool create_default_flow(void)
{
	static const enum ibv_flow_attr_type kinds[] = {
		IBV_FLOW_ATTR_ALL_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT, IBV_FLOW_ATTR_SNIFFER,
	};
	struct rule rule = rule_new(kinds[below(ARRAY_SIZE(kinds))]);
	struct obj *target = some(RAWQP);
	unsigned int bad = wrong(2);
	struct ibv_flow *iflow;

	if (!target || !target->deaf || full(FLOW))
		return false;
	if (bad == 1)
		rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	else if (bad == 2)
		rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	call("create_flow of QP %u, type %d, flags %#x", target->id, rule.attr.type,
	     rule.attr.flags);
	iflow = ibv_create_flow(target->iqp, &rule.attr);
	result(V_CREATE_FLOW, error_of(iflow), bad ? EINVAL : 0);
	if (iflow)
		add_flow(iflow, target, NULL, NULL);
	return true;
}

/*
 * ---- Counters ----
 */

static bool create_counters(void)
{
	struct ibv_counters_init_attr attr = { .comp_mask = wrong(1) };
	struct ibv_counters *icounters;
	int context = some_context();

	if (full(COUNTERS) || !has_turn())
		return false;
	call("create_counters, context %d, comp_mask %u", context, attr.comp_mask);
	icounters = ibv_create_counters(w->context[context], &attr);
	result(V_CREATE_COUNTERS, error_of(icounters), attr.comp_mask ? EOPNOTSUPP : 0);
	if (icounters)
		add(COUNTERS, context, icounters);
	return true;
}

static bool attach_counters(void)
{
	struct ibv_counter_attach_attr attr = {
		.counter_desc = one_in(2) ? IBV_COUNTER_PACKETS : IBV_COUNTER_BYTES,
		.index = below(6),
	};
	struct obj *o = some(COUNTERS), *flow = NULL;
	unsigned int bad = wrong(4);
	int want;

	if (!o)
		return false;
	want = o->users ? EBUSY : 0;
	if (bad == 1) {
		attr.counter_desc = IBV_COUNTER_BYTES + 1;
		want = EINVAL;
	} else if (bad == 2) {
		attr.index = 1024;
		want = EINVAL;
	} else if (bad == 3) {
		attr.comp_mask = 1;
		want = EOPNOTSUPP;
	} else if (bad == 4) {
		flow = some_of(FLOW, o->context);
		want = flow ? EOPNOTSUPP : want;
	}
	call("attach_counters_point_flow of counters %u, what %d, index %u, rule %u, wrong %u",
	     o->id, attr.counter_desc, attr.index, flow ? flow->id : 0, bad);
	result(V_ATTACH_COUNTERS, ibv_attach_counters_point_flow(o->icounters, &attr,
		flow ? flow->iflow : NULL), want);
	if (want)
		return true;
	o->attached++;
	if (o->values <= attr.index)
		o->values = attr.index + 1;
	return true;
}

static bool read_counters(void)
{
	uint32_t num = one_in(3) ? 1 + below(8) : 8, flags = wrong(1) ? 1 << 1 : below(2), i;
	struct obj *o = some(COUNTERS);
	uint64_t value[9];
	int want;

	if (!o || (!o->users && !one_in(4)))
		return false;
	memset(value, 0xff, sizeof(value));
	want = !o->users || num < o->values || flags > 1 ? EINVAL : 0;
	call("read_counters of counters %u, %u of %u values, flags %#x", o->id, num, o->values,
	     flags);
	result(V_READ_COUNTERS, ibv_read_counters(o->icounters, value, num, flags), want);
	for (i = 0; i < ARRAY_SIZE(value); i++)
		if (value[i] != (!want && i < num ? 0 : ~0ULL))
			mismatch("value %u of counters %u is %#llx", i, o->id,
				 (unsigned long long)value[i]);
	return true;
}

/*
 * ---- Destroying ----
 */

int destroy_raw(struct obj *o)
{
	switch (o->kind) {
	case WQ:
		return ibv_destroy_wq(o->iwq);
	case TABLE:
		return ibv_destroy_rwq_ind_table(o->itable);
	case RAWQP:
		return ibv_destroy_qp(o->iqp);
	case FLOW:
		return ibv_destroy_flow(o->iflow);
	default:
		return ibv_destroy_counters(o->icounters);
	}
}

/* It is destroyed: of others, what only these kinds hold. */
void vanish_raw(struct obj *o)
{
	int i;

	for (i = 0; i < o->members; i++)
		drop(o->member[i]);
	drop(o->target);
	drop(o->counters);
}

const struct action raw_actions[] = {
	{ "create_wq", create_wq, 6 }, { "modify_wq", modify_wq, 16 },
	{ "post_to_wq", post_to_wq, 16 }, { "create_table", create_table, 5 },
	{ "create_raw_qp", create_raw_qp, 4 }, { "modify_raw_qp", modify_raw_qp, 16 },
	{ "post_frames", post_frames, 12 }, { "post_for_frames", post_for_frames, 8 },
	{ "create_rss_qp", create_rss_qp, 4 }, { "use_rss_qp", use_rss_qp, 3 },
	{ "create_flow", create_flow, 10 }, { "create_default_flow", create_default_flow, 2 },
	{ "create_counters", create_counters, 3 }, { "attach_counters", attach_counters, 5 },
	{ "read_counters", read_counters, 5 },
};
const int num_raw_actions = ARRAY_SIZE(raw_actions);
