/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rules of flow steering, found by the key of a frame. */
#ifndef WEFT_FLOW_TABLE_H
#define WEFT_FLOW_TABLE_H

#include <linux/list.h>
#include <linux/rhashtable.h>

#include "flow/spec.h"

struct weft_flow_count;

/* The words of a key that a mask has bits in, masked. Most masks have few. */
struct weft_flow_packed {
	u32	num;
	u64	word[WEFT_FLOW_WORDS];
};

/*
 * Rules with the same rank and mask are a group: they are found by one lookup, however many there
 * are. Groups are in the order in which they are tried.
 */
struct weft_flow_table {
	struct list_head	groups;		/* changed under a lock of the caller; RCU */
	u32			num;		/* of groups */
};

struct weft_flow_group {
	struct list_head	node;
	struct weft_flow_table	*table;
	u32			rank;
	bool			trap;		/* a frame that matches is not tried further */
	u32			num;		/* rules */
	struct weft_flow_key	mask;
	u32			words;		/* in which the mask has bits */
	u8			index[WEFT_FLOW_WORDS];	/* of these, in a key */
	struct rhltable		rules;
};

/* A rule. Immutable once added. The caller sets @count before. */
struct weft_flow_rule {
	struct rhlist_head	node;
	struct weft_flow_group	*group;
	struct weft_flow_packed	value;
	u32			tag;
	u32			owner;		/* as weft_flow_spec.owner */
	bool			drop;
	struct weft_flow_count	*count;		/* or NULL; RCU */
};

/*
 * A frame is looked up in each group, so their number bounds the work that those who make rules
 * leave to the network stack.
 */
#define WEFT_FLOW_GROUPS	256U

/* Priorities that a program may choose; a lower number comes first. */
#define WEFT_FLOW_PRIORITIES	16U

u32 weft_flow_packed_hash(const struct weft_flow_packed *value, u32 seed);
void weft_flow_table_init(struct weft_flow_table *table);
u32 weft_flow_rank(const struct weft_flow_spec *spec, u32 priority, bool trap);
int weft_flow_add(struct weft_flow_table *table, struct weft_flow_rule *rule,
		  const struct weft_flow_spec *spec, u32 rank, bool trap);
void weft_flow_remove(struct weft_flow_rule *rule);

/* The rules of @group that match; they want the same. Under RCU. */
struct rhlist_head *weft_flow_find(struct weft_flow_group *group,
				   const struct weft_flow_key *key);

#define weft_flow_for_each_group(group, table) \
	list_for_each_entry_rcu(group, &(table)->groups, node)

#endif /* WEFT_FLOW_TABLE_H */
