// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fail points for races: a test holds a task at one of these points while another task acts. The
 * points are between the steps of a change, and between a lookup and the use of its result.
 *
 * Kernels with CONFIG_FAULT_INJECTION_DEBUG_FS have them, at the cost of a static key. A line
 * "POINT MS TIMES" written to /sys/kernel/debug/weft/pause holds the next TIMES tasks that come to
 * the point, each for MS milliseconds or until another line for the point is written; "POINT 0 0"
 * lets them go. Reading the file shows for each point its name, the number of tasks that have come
 * while any point was armed, that were held, and that are held now.
 */
#include "pause.h"

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

/* Length limit of a written line. */
#define PAUSE_LINE	64
#define PAUSE_ALONE_MS	20U

struct pause_point {
	const char	*name;
	/* all tasks that come here may sleep */
	bool		sleeps;
	/* how long a task is held; 0: the point is not armed; written under pause_lock */
	unsigned int	ms;
	/* lines written for the point, each of which releases the held tasks; likewise */
	unsigned int	round;
	/* tasks still to be held */
	atomic_t	left;
	/* tasks that came while any point was armed, that were held, that are held now */
	atomic_t	hits;
	atomic_t	stayed;
	atomic_t	now;
};

#define PAUSE_POINT(_name, _sleeps) \
	[WEFT_PAUSE_##_name] = { .name = #_name, .sleeps = (_sleeps) },

static struct pause_point pause_points[WEFT_PAUSE_NUM] = {
	WEFT_PAUSES(PAUSE_POINT)
};

/* Counts the armed points. */
DEFINE_STATIC_KEY_FALSE(weft_pause_key);
WEFT_EXPORT_FOR_TEST(weft_pause_key);

static DEFINE_MUTEX(pause_lock);

static bool pause_may_sleep(const struct pause_point *point)
{
	return point->sleeps || (IS_ENABLED(CONFIG_PREEMPT_COUNT) && preemptible() &&
				 !rcu_preempt_depth());
}

static void pause_stay(struct pause_point *point)
{
	bool may_sleep = pause_may_sleep(point);
	unsigned int round = READ_ONCE(point->round), ms = READ_ONCE(point->ms);
	u64 end;

	/* a task that spins on the only CPU lets interrupts act, and no task */
	if (!may_sleep && num_online_cpus() == 1)
		ms = min(ms, PAUSE_ALONE_MS);
	end = ktime_get_mono_fast_ns() + ms * (u64)NSEC_PER_MSEC;
	while (READ_ONCE(point->round) == round && ktime_get_mono_fast_ns() < end) {
		if (may_sleep)
			usleep_range(1000, 2000);
		else
			mdelay(1);
	}
}

/* The slow part of weft_pause(). */
void weft_pause_hold(enum weft_pause which)
{
	struct pause_point *point = &pause_points[which];

	/* checked for each task, so that a wrong entry in WEFT_PAUSES() is found */
	if (point->sleeps)
		might_sleep();
	atomic_inc(&point->hits);
	if (atomic_dec_if_positive(&point->left) < 0)
		return;
	atomic_inc(&point->stayed);
	atomic_inc(&point->now);
	pause_stay(point);
	atomic_dec(&point->now);
}
WEFT_EXPORT_FOR_TEST(weft_pause_hold);

static void pause_set(struct pause_point *point, unsigned int ms, unsigned int times)
{
	bool was = point->ms;

	lockdep_assert_held(&pause_lock);
	atomic_set(&point->left, 0);
	WRITE_ONCE(point->ms, ms);
	WRITE_ONCE(point->round, point->round + 1);
	atomic_set(&point->left, ms ? times : 0);
	if (ms && !was)
		static_branch_inc(&weft_pause_key);
	else if (!ms && was)
		static_branch_dec(&weft_pause_key);
}

static int pause_find(const char *name)
{
	int i;

	for (i = 0; i < WEFT_PAUSE_NUM; i++)
		if (!strcmp(pause_points[i].name, name))
			return i;
	return -ENOENT;
}

static int pause_command(const char *line)
{
	unsigned int ms, times;
	char name[PAUSE_LINE + 1];
	int which;

	if (sscanf(line, "%64s %u %u", name, &ms, &times) != 3)
		return -EINVAL;
	which = pause_find(name);
	if (which < 0)
		return which;
	mutex_lock(&pause_lock);
	pause_set(&pause_points[which], ms, min_t(unsigned int, times, INT_MAX));
	mutex_unlock(&pause_lock);
	return 0;
}

static ssize_t pause_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	char *line;
	int ret;

	if (count > PAUSE_LINE)
		return -EINVAL;
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	ret = pause_command(line);
	kfree(line);
	return ret ?: count;
}

static int pause_show(struct seq_file *seq, void *unused)
{
	struct pause_point *point;
	int i;

	for (i = 0; i < WEFT_PAUSE_NUM; i++) {
		point = &pause_points[i];
		seq_printf(seq, "%s %d %d %d\n", point->name, atomic_read(&point->hits),
			   atomic_read(&point->stayed), atomic_read(&point->now));
	}
	return 0;
}

static int pause_open(struct inode *inode, struct file *file)
{
	return single_open(file, pause_show, NULL);
}

static const struct file_operations pause_fops = {
	.owner		= THIS_MODULE,
	.open		= pause_open,
	.read		= seq_read,
	.write		= pause_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

/* @dir: of the module in debugfs; the caller removes it when no task comes to a point any more. */
void weft_pause_init(struct dentry *dir)
{
	debugfs_create_file("pause", 0600, dir, NULL, &pause_fops);
}
