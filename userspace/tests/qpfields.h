/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The attributes of a QP, each with its bit: a table for programs that compare them.
 */
#ifndef TESTS_QPFIELDS_H
#define TESTS_QPFIELDS_H

#include <stddef.h>

#include <infiniband/verbs.h>

struct field {
	int bit;
	const char *name;
	size_t offset, size;
};

#define FIELD(_bit, _member) \
	{ IBV_QP_##_bit, #_member, offsetof(struct ibv_qp_attr, _member), \
	  sizeof(((struct ibv_qp_attr *)0)->_member) }
/* not the hop_limit: the core puts the route's in its place */
#define FIELDS_AH(_bit, _ah) \
	FIELD(_bit, _ah.grh.dgid), FIELD(_bit, _ah.grh.sgid_index), \
	FIELD(_bit, _ah.grh.flow_label), FIELD(_bit, _ah.grh.traffic_class), \
	FIELD(_bit, _ah.sl), FIELD(_bit, _ah.static_rate), \
	FIELD(_bit, _ah.is_global), FIELD(_bit, _ah.port_num)

/* ibv_query_qp() returns them as they were set; but for the states, which change by themselves */
#define QP_FIELDS \
	FIELD(ACCESS_FLAGS, qp_access_flags), FIELD(PKEY_INDEX, pkey_index), \
	FIELD(PORT, port_num), FIELD(QKEY, qkey), FIELDS_AH(AV, ah_attr), \
	FIELD(PATH_MTU, path_mtu), FIELD(TIMEOUT, timeout), FIELD(RETRY_CNT, retry_cnt), \
	FIELD(RNR_RETRY, rnr_retry), FIELD(RQ_PSN, rq_psn), FIELD(SQ_PSN, sq_psn), \
	FIELD(MAX_QP_RD_ATOMIC, max_rd_atomic), FIELD(MIN_RNR_TIMER, min_rnr_timer), \
	FIELD(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic), FIELDS_AH(ALT_PATH, alt_ah_attr), \
	FIELD(ALT_PATH, alt_pkey_index), FIELD(ALT_PATH, alt_port_num), \
	FIELD(ALT_PATH, alt_timeout), FIELD(DEST_QPN, dest_qp_num)

#endif /* TESTS_QPFIELDS_H */
