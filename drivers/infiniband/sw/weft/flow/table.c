// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "flow/table.h"

#include <linux/hash.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

/* Rules for multicast frames alone come last, whatever their priority is. */
#define TABLE_LAST	(2 * WEFT_FLOW_PRIORITIES)

/*
 * Each frame pays for the hash, and programs with CAP_NET_RAW choose what is in the table. So this
 * one is quick, and need not withstand values that were chosen to collide.
 */
u32 weft_flow_packed_hash(const struct weft_flow_packed *value, u32 seed)
{
	u64 hash = seed;
	u32 i;

	for (i = 0; i < value->num; i++) {
		hash = (hash ^ value->word[i]) * GOLDEN_RATIO_64;
		hash ^= hash >> 32;
	}
	return hash_64(hash, 32);
}
WEFT_EXPORT_FOR_TEST(weft_flow_packed_hash);

static u32 table_hash(const void *key, u32 length, u32 seed)
{
	return weft_flow_packed_hash(key, seed);
}

static u32 table_hash_rule(const void *object, u32 length, u32 seed)
{
	const struct weft_flow_rule *rule = object;

	return weft_flow_packed_hash(&rule->value, seed);
}

/* Values of one group have equally many words. Returns 0 if these are the same. */
static int table_compare(struct rhashtable_compare_arg *arg, const void *object)
{
	const struct weft_flow_packed *value = arg->key;
	const struct weft_flow_rule *rule = object;
	u32 i;

	for (i = 0; i < value->num; i++)
		if (value->word[i] != rule->value.word[i])
			return 1;
	return 0;
}

static const struct rhashtable_params table_params = {
	.key_len = sizeof(struct weft_flow_packed),
	.key_offset = offsetof(struct weft_flow_rule, value),
	.head_offset = offsetof(struct weft_flow_rule, node),
	.hashfn = table_hash,
	.obj_hashfn = table_hash_rule,
	.obj_cmpfn = table_compare,
	.automatic_shrinking = true,
};

void weft_flow_table_init(struct weft_flow_table *table)
{
	INIT_LIST_HEAD(&table->groups);
	table->num = 0;
}
WEFT_EXPORT_FOR_TEST(weft_flow_table_init);

/* Within a priority, rules that let a frame go on (DONT_TRAP) come first. */
u32 weft_flow_rank(const struct weft_flow_spec *spec, u32 priority, bool trap)
{
	if (trap && weft_flow_spec_is_multicast(spec))
		return TABLE_LAST;
	return 2 * priority + trap;
}
WEFT_EXPORT_FOR_TEST(weft_flow_rank);

static void table_find_words(struct weft_flow_group *group)
{
	const u64 *mask = (const u64 *)&group->mask;
	u32 i;

	for (i = 0; i < WEFT_FLOW_WORDS; i++)
		if (mask[i])
			group->index[group->words++] = i;
}

static void table_pack(const struct weft_flow_group *group, struct weft_flow_packed *to,
		       const struct weft_flow_key *key)
{
	const u64 *from = (const u64 *)key, *mask = (const u64 *)&group->mask;
	u32 i, at;

	to->num = group->words;
	for (i = 0; i < group->words; i++) {
		at = group->index[i];
		to->word[i] = from[at] & mask[at];
	}
}

struct rhlist_head *weft_flow_find(struct weft_flow_group *group, const struct weft_flow_key *key)
{
	struct weft_flow_packed value __uninitialized;

	table_pack(group, &value, key);
	return rhltable_lookup(&group->rules, &value, table_params);
}
WEFT_EXPORT_FOR_TEST(weft_flow_find);

static struct weft_flow_group *table_new_group(struct weft_flow_table *table,
					       const struct weft_flow_spec *spec, u32 rank,
					       bool trap)
{
	struct weft_flow_group *group, *other;
	struct list_head *before = &table->groups;
	int ret;

	if (table->num == WEFT_FLOW_GROUPS)
		return ERR_PTR(-ENOMEM);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->table = table;
	group->rank = rank;
	group->trap = trap;
	group->mask = spec->mask;
	table_find_words(group);
	ret = rhltable_init(&group->rules, &table_params);
	if (ret) {
		kfree(group);
		return ERR_PTR(ret);
	}
	/* behind all groups of its rank, because older rules come first */
	list_for_each_entry(other, &table->groups, node) {
		if (other->rank > rank) {
			before = &other->node;
			break;
		}
	}
	list_add_tail_rcu(&group->node, before);
	table->num++;
	return group;
}

static struct weft_flow_group *table_group(struct weft_flow_table *table,
					   const struct weft_flow_spec *spec, u32 rank, bool trap)
{
	struct weft_flow_group *group;

	list_for_each_entry(group, &table->groups, node)
		if (group->rank == rank && group->trap == trap &&
		    !memcmp(&group->mask, &spec->mask, sizeof(group->mask)))
			return group;
	return table_new_group(table, spec, rank, trap);
}

/* An empty group leaves the table. Readers may still be in it. */
static void table_put_group(struct weft_flow_group *group)
{
	if (group->num)
		return;
	list_del_rcu(&group->node);
	group->table->num--;
	/* the quick kind of a grace period while RTNL is held */
	synchronize_net();
	rhltable_destroy(&group->rules);
	kfree(group);
}

/* Rules that match the same frames share them, so they must not want different things. */
static int table_check_others(struct weft_flow_group *group, const struct weft_flow_rule *rule,
			      const struct weft_flow_spec *spec)
{
	struct weft_flow_rule *other;
	struct rhlist_head *list, *at;
	int ret = 0;

	rcu_read_lock();
	list = rhltable_lookup(&group->rules, &rule->value, table_params);
	rhl_for_each_entry_rcu(other, at, list, node)
		if (other->drop != rule->drop || other->owner != rule->owner ||
		    (spec->tagged && other->tag != rule->tag))
			ret = -EEXIST;
	rcu_read_unlock();
	return ret;
}

/* Fill in and add @rule. The caller's lock is held. Returns 0, -EEXIST or -ENOMEM. */
int weft_flow_add(struct weft_flow_table *table, struct weft_flow_rule *rule,
		  const struct weft_flow_spec *spec, u32 rank, bool trap)
{
	struct weft_flow_group *group = table_group(table, spec, rank, trap);
	int ret;

	if (IS_ERR(group))
		return PTR_ERR(group);
	rule->group = group;
	table_pack(group, &rule->value, &spec->value);
	rule->tag = spec->tag;
	rule->owner = spec->owner;
	rule->drop = spec->drop;
	ret = table_check_others(group, rule, spec) ?:
	      rhltable_insert(&group->rules, &rule->node, table_params);
	if (ret)
		table_put_group(group);
	else
		group->num++;
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_flow_add);

/* The caller's lock is held. Readers may use @rule until a grace period is over. */
void weft_flow_remove(struct weft_flow_rule *rule)
{
	struct weft_flow_group *group = rule->group;

	rhltable_remove(&group->rules, &rule->node, table_params);
	group->num--;
	table_put_group(group);
}
WEFT_EXPORT_FOR_TEST(weft_flow_remove);
