// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tables of rules. A table is replaced as a whole; what happens on the device reads it under RCU,
 * and writes the counters of its rules only.
 */
#include "object/inject.h"

#include <linux/jhash.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "object/dev.h"
#include "object/qp.h"
#include "object/refuse.h"

DEFINE_STATIC_KEY_FALSE(weft_inject_key);

/* Protects the tables, and the list of devices that have one. */
static DEFINE_MUTEX(inject_lock);
static LIST_HEAD(inject_devices);

static struct weft_inject_table *inject_table(const struct weft_inject *inject)
{
	return rcu_dereference_protected(inject->table, lockdep_is_held(&inject_lock));
}

static u32 inject_num(const struct weft_inject *inject)
{
	const struct weft_inject_table *table = inject_table(inject);

	return table ? table->num : 0;
}

/* Does a rule name a post? Then processes have to ask. */
static bool inject_has_posts(const struct weft_inject_table *table)
{
	u32 i;

	for (i = 0; table && i < table->num; i++)
		if (table->rules[i]->fields & WEFT_MATCH_VERB &&
		    table->rules[i]->verb >= WEFT_VERB_POST_SEND)
			return true;
	return false;
}

static bool inject_asks(const struct weft_inject *inject)
{
	return inject->dead || inject_has_posts(inject_table(inject));
}

/* Let the processes ask, or not, as the table and the device are now. */
static void inject_tell_posters(const struct weft_inject *inject)
{
	bool ask = inject_asks(inject);
	struct weft_inject_poster *poster;

	list_for_each_entry(poster, &inject->posters, node)
		WRITE_ONCE(poster->posting->ask, ask);
}

/* @dev: a context of it has come. May sleep. */
void weft_inject_watch(struct weft_dev *dev, struct weft_inject_poster *poster)
{
	mutex_lock(&inject_lock);
	list_add_tail(&poster->node, &dev->inject.posters);
	WRITE_ONCE(poster->posting->ask, inject_asks(&dev->inject));
	mutex_unlock(&inject_lock);
}

/* The context goes. May sleep. */
void weft_inject_unwatch(struct weft_inject_poster *poster)
{
	mutex_lock(&inject_lock);
	list_del(&poster->node);
	mutex_unlock(&inject_lock);
}

/* Replace the table of @dev by @table. Returns the old one. Each of both may be NULL. */
static struct weft_inject_table *inject_replace(struct weft_dev *dev,
						struct weft_inject_table *table)
{
	struct weft_inject *inject = &dev->inject;
	struct weft_inject_table *old = inject_table(inject);

	rcu_assign_pointer(inject->table, table);
	inject_tell_posters(inject);
	if (table && !old)
		list_add_tail(&inject->node, &inject_devices);
	else if (old && !table)
		list_del(&inject->node);
	return old;
}

/* Free what inject_replace() has returned, but not its rules. */
static void inject_free_table(struct weft_inject_table *table)
{
	if (table)
		kfree_rcu(table, rcu);
}

static u32 inject_count_own(const struct weft_inject_table *table, const struct weft_owner *who)
{
	u32 i, num = 0;

	for (i = 0; table && i < table->num; i++)
		num += table->rules[i]->who.pid &&
		       (!who || uid_eq(table->rules[i]->who.user, who->user));
	return num;
}

/* Is there room for one more rule? Users share a part of it. */
static bool inject_has_room(const struct weft_inject *inject, const struct weft_inject_rule *rule)
{
	const struct weft_inject_table *table = inject_table(inject);

	if (rule->who.pid && (inject_count_own(table, &rule->who) >= WEFT_INJECT_USER_RULES ||
			      inject_count_own(table, NULL) >= WEFT_INJECT_USERS_RULES))
		return false;
	return inject_num(inject) < WEFT_INJECT_RULES;
}

/* Why @dev cannot do what @rule says; NULL: it can. */
const char *weft_inject_unfit(const struct weft_dev *dev, const struct weft_inject_rule *rule)
{
	if (dev->hca && rule->action == WEFT_INJECT_CNP)
		return "an InfiniBand port has no congestion control";
	return NULL;
}

/*
 * Add @rule behind the rules of @dev, whose it is then. Returns its number; -ENOMEM; -ENOSPC:
 * there are too many; -EPERM: users may have none. On an error @rule is still the caller's. The
 * caller has a reference that keeps @dev registered.
 */
int weft_inject_add(struct weft_dev *dev, struct weft_inject_rule *rule)
{
	struct weft_inject *inject = &dev->inject;
	struct weft_inject_table *table;
	int ret = -ENOSPC;
	u64 now;
	u32 num;

	mutex_lock(&inject_lock);
	num = inject_num(inject);
	if (rule->who.pid && !inject->allowed) {
		ret = -EPERM;
		goto out;
	}
	if (!inject_has_room(inject, rule))
		goto out;
	ret = -ENOMEM;
	table = kzalloc(struct_size(table, rules, num + 1), GFP_KERNEL);
	if (!table)
		goto out;
	if (num)
		memcpy(table->rules, inject_table(inject)->rules, num * sizeof(table->rules[0]));
	table->rules[num] = rule;
	table->num = num + 1;
	rule->number = ++inject->number;
	now = ktime_get_mono_fast_ns();
	rule->begin += now;
	if (rule->end)
		rule->end += rule->begin;
	ret = rule->number;
	inject_free_table(inject_replace(dev, table));
	static_branch_inc(&weft_inject_key);
out:
	mutex_unlock(&inject_lock);
	return ret;
}

static void inject_free_later(struct rcu_head *rcu)
{
	struct weft_inject_rule *rule = container_of(rcu, struct weft_inject_rule, rcu);

	put_pid(rule->who.pid);
	kfree(rule);
}

/* No table has @rule any more. */
static void inject_free(struct weft_inject_rule *rule)
{
	call_rcu(&rule->rcu, inject_free_later);
	static_branch_dec(&weft_inject_key);
}

static void inject_clear(struct weft_dev *dev)
{
	struct weft_inject_table *table = inject_replace(dev, NULL);
	u32 i;

	for (i = 0; table && i < table->num; i++)
		inject_free(table->rules[i]);
	inject_free_table(table);
}

static int inject_remove_one(struct weft_dev *dev, u32 number)
{
	const struct weft_inject_table *old = inject_table(&dev->inject);
	u32 i, num = inject_num(&dev->inject);
	struct weft_inject_table *table;
	struct weft_inject_rule *rule;

	for (i = 0; i < num && old->rules[i]->number != number; i++)
		;
	if (i == num)
		return -ENOENT;
	rule = old->rules[i];
	if (num == 1) {
		inject_clear(dev);
		return 0;
	}
	table = kzalloc(struct_size(table, rules, num - 1), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->num = num - 1;
	memcpy(table->rules, old->rules, i * sizeof(table->rules[0]));
	memcpy(table->rules + i, old->rules + i + 1, (num - 1 - i) * sizeof(table->rules[0]));
	inject_free_table(inject_replace(dev, table));
	inject_free(rule);
	return 0;
}

/*
 * Remove a rule of @dev; 0: all. Packets that are delayed still arrive when they are due. Returns
 * 0, -ENOENT or -ENOMEM.
 */
int weft_inject_remove(struct weft_dev *dev, u32 number)
{
	int ret = 0;

	mutex_lock(&inject_lock);
	if (number)
		ret = inject_remove_one(dev, number);
	else
		inject_clear(dev);
	mutex_unlock(&inject_lock);
	return ret;
}

/*
 * The number of a rule of @who, or of any user if that is NULL: @number, or the first one if that
 * is 0. Returns 0: there is none.
 */
static u32 inject_find_own(const struct weft_inject_table *table, const struct weft_owner *who,
			   u32 number)
{
	u32 i;

	for (i = 0; table && i < table->num; i++)
		if (table->rules[i]->who.pid && (!number || table->rules[i]->number == number) &&
		    (!who || weft_owner_is_same(&table->rules[i]->who, who)))
			return table->rules[i]->number;
	return 0;
}

/* Let users have rules, or not: then those that they have go. May sleep. Returns 0 or -ENOMEM. */
int weft_inject_allow(struct weft_dev *dev, bool allow)
{
	struct weft_inject *inject = &dev->inject;
	u32 number;
	int ret = 0;

	mutex_lock(&inject_lock);
	/* the key counts that, too: otherwise a user could switch it, with each rule */
	if (allow && !inject->allowed)
		static_branch_inc(&weft_inject_key);
	else if (!allow && inject->allowed)
		static_branch_dec(&weft_inject_key);
	WRITE_ONCE(inject->allowed, allow);
	while (!allow && !ret && (number = inject_find_own(inject_table(inject), NULL, 0)))
		ret = inject_remove_one(dev, number);
	mutex_unlock(&inject_lock);
	return ret;
}

/* Remove a rule of this user; 0: all. Returns 0, -ENOENT or -ENOMEM. */
int weft_inject_remove_own(struct weft_dev *dev, const struct weft_owner *who, u32 number)
{
	int ret = number ? -ENOENT : 0;
	u32 found;

	mutex_lock(&inject_lock);
	while ((found = inject_find_own(inject_table(&dev->inject), who, number))) {
		ret = inject_remove_one(dev, found);
		if (ret || number)
			break;
	}
	mutex_unlock(&inject_lock);
	return ret;
}

/* List the rules of this user. Returns the bytes of the text. */
ssize_t weft_inject_show_own(struct weft_dev *dev, const struct weft_owner *who, char *buf,
			     size_t size)
{
	const struct weft_inject_table *table;
	const struct weft_inject_rule *rule;
	size_t length = 0;
	u32 i;

	mutex_lock(&inject_lock);
	table = inject_table(&dev->inject);
	for (i = 0; table && i < table->num; i++) {
		rule = table->rules[i];
		if (rule->who.pid && weft_owner_is_same(&rule->who, who))
			length += scnprintf(buf + length, size - length,
					    "%s %u matched %lld fired %lld: %s\n",
					    dev->ibdev.name, rule->number,
					    (s64)atomic64_read(&rule->matched),
					    (s64)atomic64_read(&rule->fired), rule->text);
	}
	mutex_unlock(&inject_lock);
	return length;
}

/* Remember whether a port is down because of a command. Under RTNL, or the last use of @dev. */
void weft_inject_port_down(struct weft_dev *dev, bool down)
{
	if (dev->inject.port_down == down)
		return;
	WRITE_ONCE(dev->inject.port_down, down);
	if (down)
		static_branch_inc(&weft_inject_key);
	else
		static_branch_dec(&weft_inject_key);
}

/*
 * Remember whether the device has failed because of a command: then its verbs and posts fail. Under
 * RTNL, or the last use of @dev. May sleep.
 */
void weft_inject_die(struct weft_dev *dev, bool dead)
{
	struct weft_inject *inject = &dev->inject;

	if (inject->dead == dead)
		return;
	mutex_lock(&inject_lock);
	WRITE_ONCE(inject->dead, dead);
	inject_tell_posters(inject);
	mutex_unlock(&inject_lock);
	if (dead)
		static_branch_inc(&weft_inject_key);
	else
		static_branch_dec(&weft_inject_key);
}

/* List all rules. The name of a device may change meanwhile, so it is not dev_name(). */
void weft_inject_show(struct seq_file *seq)
{
	const struct weft_inject_table *table;
	const struct weft_inject_rule *rule;
	struct weft_dev *dev;
	u32 i;

	mutex_lock(&inject_lock);
	list_for_each_entry(dev, &inject_devices, inject.node) {
		table = inject_table(&dev->inject);
		for (i = 0; i < table->num; i++) {
			rule = table->rules[i];
			seq_printf(seq, "%s %u matched %lld fired %lld",
				   dev->ibdev.name, rule->number,
				   (s64)atomic64_read(&rule->matched),
				   (s64)atomic64_read(&rule->fired));
			if (rule->who.pid)
				seq_printf(seq, " user %u",
					   from_kuid_munged(seq_user_ns(seq), rule->who.user));
			seq_printf(seq, ": %s\n", rule->text);
		}
	}
	mutex_unlock(&inject_lock);
}

/* Remember which process makes a QP or a CQ. */
void weft_inject_own(struct weft_inject_owner *owner)
{
	owner->pid = current->tgid;
	/* in any context; the lock of get_task_comm() is for other tasks */
	strscpy_pad(owner->comm, current->comm, sizeof(owner->comm));
}

static bool inject_in_range(const struct weft_inject_range *range, u32 value)
{
	return value >= range->from && value <= range->to;
}

static bool inject_matches_qp(const struct weft_inject_rule *rule, const struct weft_qp *qp)
{
	if (rule->fields & WEFT_MATCH_QP && (!qp || qp->qpn != rule->qpn))
		return false;
	return !(rule->fields & WEFT_MATCH_SERVICE) || (qp && rule->services & BIT(qp->transport));
}

static bool inject_is_post(const struct weft_inject_event *event)
{
	return event->place == WEFT_INJECT_VERB && event->verb >= WEFT_VERB_POST_SEND;
}

/*
 * The process that an event belongs to: that of the QP or CQ, or the caller. A kernel consumer
 * posts in the context of whatever process runs, so that its posts belong to none.
 */
static bool inject_matches_owner(const struct weft_inject_rule *rule,
				 const struct weft_inject_event *event)
{
	struct weft_inject_owner owner = {};

	if (!(rule->fields & (WEFT_MATCH_PID | WEFT_MATCH_COMM)))
		return true;
	if (inject_is_post(event) && !event->process)
		return false;
	if (event->place == WEFT_INJECT_VERB ||
	    (event->place == WEFT_INJECT_ALLOC && !event->qp))
		weft_inject_own(&owner);
	else
		owner = event->owner ? *event->owner : event->qp->owner;
	if (rule->fields & WEFT_MATCH_PID && owner.pid != rule->owner.pid)
		return false;
	return !(rule->fields & WEFT_MATCH_COMM) || !strcmp(owner.comm, rule->owner.comm);
}

static bool inject_is_time(const struct weft_inject_rule *rule)
{
	u64 now = ktime_get_mono_fast_ns();

	return now >= rule->begin && (!rule->end || now < rule->end);
}

static bool inject_matches(const struct weft_inject_rule *rule,
			   const struct weft_inject_event *event)
{
	u32 fields = rule->fields;

	if (rule->place != event->place || !inject_matches_qp(rule, event->qp))
		return false;
	if (rule->who.pid && (!event->qp || !weft_owner_is_same(&rule->who, &event->qp->maker)))
		return false;
	/* the SRQ of an XRC target may be that of another user */
	if (rule->who.pid && event->place == WEFT_INJECT_RECEIVE &&
	    event->qp->type == IB_QPT_XRC_TGT)
		return false;
	if (fields & WEFT_MATCH_CQ && rule->cqn != event->cqn)
		return false;
	if (fields & WEFT_MATCH_ALLOC && rule->alloc != event->alloc)
		return false;
	if (fields & WEFT_MATCH_VERB ? rule->verb != event->verb : inject_is_post(event))
		return false;
	if (fields & WEFT_MATCH_STATE && rule->state != event->state)
		return false;
	if (fields & WEFT_MATCH_OPCODE && !(rule->opcodes & event->opcode))
		return false;
	if (fields & WEFT_MATCH_BYTES && !inject_in_range(&rule->bytes, event->bytes))
		return false;
	if (fields & WEFT_MATCH_PSN && !inject_in_range(&rule->psn, event->psn))
		return false;
	if (fields & WEFT_MATCH_MESSAGE && !inject_in_range(&rule->messages, event->message))
		return false;
	if (fields & WEFT_MATCH_SEGMENT && (event->segment & rule->segment) != rule->segment)
		return false;
	if (fields & WEFT_MATCH_ATTEMPT && rule->again != event->again)
		return false;
	if (fields & WEFT_MATCH_ARMED && !event->armed)
		return false;
	if (fields & WEFT_MATCH_PEER && memcmp(&rule->peer, event->peer, sizeof(rule->peer)))
		return false;
	if (fields & WEFT_MATCH_TIME && !inject_is_time(rule))
		return false;
	return inject_matches_owner(rule, event);
}

/* The seed and the number of the match alone decide, so a run can be repeated. */
static bool inject_has_luck(const struct weft_inject_rule *rule, u64 match)
{
	u32 draw = jhash_2words((u32)match, (u32)(match >> 32), rule->seed);

	return reciprocal_scale(draw, WEFT_INJECT_CERTAIN) < rule->chance;
}

/* @rule has matched once more: does it fire? */
bool weft_inject_fires(struct weft_inject_rule *rule)
{
	u64 match = atomic64_inc_return(&rule->matched), past;

	if (match < rule->nth)
		return false;
	if (rule->every) {
		div64_u64_rem(match - rule->nth, rule->every, &past);
		if (past)
			return false;
	} else if (match != rule->nth) {
		return false;
	}
	if (rule->chance < WEFT_INJECT_CERTAIN && !inject_has_luck(rule, match))
		return false;
	return atomic64_add_unless(&rule->fired, 1, rule->times);
}
WEFT_EXPORT_FOR_TEST(weft_inject_fires);

/* Returns the first rule that fires, or NULL. Context: any; RCU read side. */
struct weft_inject_rule *weft_inject_find(const struct weft_dev *dev,
					  const struct weft_inject_event *event)
{
	struct weft_inject_table *table = rcu_dereference(dev->inject.table);
	u32 i;

	for (i = 0; table && i < table->num; i++)
		if (inject_matches(table->rules[i], event) && weft_inject_fires(table->rules[i]))
			return table->rules[i];
	return NULL;
}

/* Put the rule @number into words: device, number, and text unless it is gone. Context: any. */
void weft_inject_name(const struct weft_dev *dev, u32 number, char *text, size_t size)
{
	const struct weft_inject_rule *rule = NULL;
	const struct weft_inject_table *table;
	u32 i;

	rcu_read_lock();
	table = rcu_dereference(dev->inject.table);
	for (i = 0; table && i < table->num; i++)
		if (table->rules[i]->number == number)
			rule = table->rules[i];
	scnprintf(text, size, "%s %u%s%s", dev->ibdev.name, number, rule ? ": " : "",
		  rule ? rule->text : "");
	rcu_read_unlock();
}

static int inject_fail_call(struct weft_dev *dev, const struct weft_inject_event *event)
{
	const struct weft_inject_rule *rule;
	u32 number = 0;
	int ret = 0;

	rcu_read_lock();
	rule = weft_inject_find(dev, event);
	if (rule) {
		ret = -rule->error;
		number = rule->number;
	}
	rcu_read_unlock();
	return ret ? weft_refuse(&dev->ibdev, ret, "rule %u says so", number) : 0;
}

/* The slow part of weft_inject_verb(). */
int weft_inject_fail_verb(struct ib_device *ibdev, enum weft_inject_verb verb, struct ib_qp *ibqp,
			  u8 state)
{
	const struct weft_inject_event event = {
		.place = WEFT_INJECT_VERB,
		.qp = ibqp ? to_weft_qp(ibqp) : NULL,
		.verb = verb,
		.state = state,
	};

	/* what ends with the device, and a QP that is drained, must not wait for it */
	if (READ_ONCE(to_weft_dev(ibdev)->inject.dead) &&
	    (verb != WEFT_VERB_MODIFY_QP || state != IB_QPS_ERR))
		return weft_refuse(ibdev, -EIO, "the device has failed");
	return inject_fail_call(to_weft_dev(ibdev), &event);
}

/*
 * The errno of a rule, negative, for a post that the current process is about to do; 0: none fires.
 * @qp: NULL for an SRQ. Any context.
 */
int weft_inject_ask(struct weft_dev *dev, enum weft_inject_verb verb, const struct weft_qp *qp)
{
	const struct weft_inject_event event = {
		.place = WEFT_INJECT_VERB,
		.qp = qp,
		.verb = verb,
		.process = true,
	};

	if (READ_ONCE(dev->inject.dead))
		return weft_refuse(&dev->ibdev, -EIO, "post: the device has failed");
	return inject_fail_call(dev, &event);
}

/*
 * The slow part of weft_inject_post(). A post in ERR drains the queue, and its consumer frees what
 * completions name if that fails. There is no record, as the caller may be any process.
 */
int weft_inject_fail_post(const struct weft_dev *dev, enum weft_inject_verb verb,
			  const struct weft_qp *qp)
{
	const struct weft_inject_event event = {
		.place = WEFT_INJECT_VERB,
		.qp = qp,
		.verb = verb,
	};
	const struct weft_inject_rule *rule;
	int ret = 0;

	if (qp && weft_qp_state(qp) == IB_QPS_ERR)
		return 0;
	if (READ_ONCE(dev->inject.dead))
		return -EIO;
	rcu_read_lock();
	rule = weft_inject_find(dev, &event);
	if (rule)
		ret = -rule->error;
	rcu_read_unlock();
	return ret;
}

/* The slow part of weft_inject_no_memory(). */
bool weft_inject_fail_alloc(const struct weft_dev *dev, const struct weft_qp *qp,
			    enum weft_inject_alloc alloc)
{
	const struct weft_inject_event event = {
		.place = WEFT_INJECT_ALLOC,
		.qp = qp,
		.alloc = alloc,
	};
	bool fails;

	rcu_read_lock();
	fails = weft_inject_find(dev, &event);
	rcu_read_unlock();
	return fails;
}
