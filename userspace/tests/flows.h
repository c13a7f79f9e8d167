/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rules of flow steering. */
#ifndef TESTS_FLOWS_H
#define TESTS_FLOWS_H

#include <infiniband/verbs.h>

/* A rule, to be filled in: specs follow the attributes. */
struct rule {
	struct ibv_flow_attr attr;
	uint8_t specs[512];
};

struct rule rule_new(enum ibv_flow_attr_type type);
void rule_add(struct rule *rule, const void *spec, size_t size);
void rule_udp(struct rule *rule, uint16_t port);	/* destination */

#endif /* TESTS_FLOWS_H */
