// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "flows.h"

#include <arpa/inet.h>
#include <string.h>

struct rule rule_new(enum ibv_flow_attr_type type)
{
	return (struct rule){
		.attr = { .type = type, .size = sizeof(struct ibv_flow_attr), .port = 1 },
	};
}

void rule_add(struct rule *rule, const void *spec, size_t size)
{
	memcpy((uint8_t *)rule + rule->attr.size, spec, size);
	rule->attr.size += size;
	rule->attr.num_of_specs++;
}

void rule_udp(struct rule *rule, uint16_t port)
{
	struct ibv_flow_spec_tcp_udp udp = {
		.type = IBV_FLOW_SPEC_UDP, .size = sizeof(udp), .val.dst_port = htons(port),
		.mask.dst_port = 0xffff,
	};

	rule_add(rule, &udp, sizeof(udp));
}
