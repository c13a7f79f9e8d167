// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * /sys/kernel/debug/weft/inject: the rules of all devices. Documentation/infiniband/weft/inject.rst
 * describes it.
 *
 * A write has lines, each a command: "DEVICE RULE", "DEVICE clear [NUMBER]", "DEVICE release",
 * "DEVICE port up", "DEVICE port down", "DEVICE port flap DOWN UP TIMES", "DEVICE device fatal",
 * "DEVICE device recover" or "DEVICE event NAME [qp=NUMBER]". If one line is wrong, none is
 * executed. Reading lists the rules, unless the last write to the same open file has failed: then
 * it says why.
 */
#include "inject_file.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#include "device.h"
#include "engine/inject.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/inject_parse.h"
#include "object/qp.h"
#include "object/table.h"

/* The longest write, in bytes. */
#define FILE_MOST	(64 * 1024)
/* How often a port flaps, at most. */
#define FILE_FLAPS	1000

/* An open file. */
struct inject_file {
	struct mutex	lock;
	char		message[128];	/* why the last write failed; empty: it has not */
};

/* A line of a write, which is cut into words. @column: of @rest, from 1 on. */
struct inject_line {
	struct inject_file	*file;
	u32			number;
	char			*device;
	char			*rest;
	u32			column;
};

static int file_refuse(const struct inject_line *line, u32 column, int err, const char *what)
{
	snprintf(line->file->message, sizeof(line->file->message), "line %u, column %u: %s\n",
		 line->number, column, what);
	return err;
}

static int file_rule(const struct inject_line *line, struct weft_dev *dev, bool apply)
{
	struct weft_inject_error error;
	struct weft_inject_rule *rule = weft_inject_parse(line->rest, &error);
	int ret = 0;

	if (IS_ERR(rule))
		return file_refuse(line, line->column + error.at, PTR_ERR(rule), error.what);
	error.what = weft_inject_unfit(dev, rule);
	if (error.what) {
		kfree(rule);
		return file_refuse(line, line->column, -EINVAL, error.what);
	}
	if (apply)
		ret = weft_inject_add(dev, rule);
	if (ret > 0)
		return 0;
	kfree(rule);
	return ret ? file_refuse(line, 1, ret, ret == -ENOSPC ? "the device has too many rules" :
								"no memory") : 0;
}

static int file_clear(const struct inject_line *line, struct weft_dev *dev, char *words, bool apply)
{
	u32 number = 0;
	int ret;

	if (*words && (kstrtou32(words, 10, &number) || !number))
		return file_refuse(line, line->column + (words - line->rest), -EINVAL,
				   "not a number of a rule");
	if (!apply)
		return 0;
	ret = weft_inject_remove(dev, number);
	if (!number)
		weft_inject_release(dev);
	return ret ? file_refuse(line, line->column, ret, ret == -ENOENT ? "no such rule" :
									   "no memory") : 0;
}

static int file_raise(struct weft_dev *dev, int type, const u32 *qpn)
{
	struct ib_event event = {
		.device = &dev->ibdev, .element.port_num = 1, .event = type,
	};
	struct weft_qp *qp;
	int ret;

	if (!qpn) {
		ib_dispatch_event(&event);
		return 0;
	}
	qp = weft_qp_get(*qpn);
	if (!qp)
		return -ENOENT;
	ret = qp->dev_id == dev->id ? weft_qp_event_now(qp, type) : -ENOENT;
	weft_qp_put(qp);
	return ret;
}

static int file_event(const struct inject_line *line, struct weft_dev *dev, char *words, bool apply)
{
	u32 column = line->column + (words - line->rest), qpn = 0;
	char *name = strsep(&words, " \t");
	bool of_qp;
	int type = weft_inject_event_type(name, &of_qp), ret;

	if (type == -EOPNOTSUPP)
		return file_refuse(line, column, type, "this kernel has no such event");
	if (type < 0)
		return file_refuse(line, column, -EINVAL, "no such event");
	column += strlen(name) + 1;
	words = words ? skip_spaces(words) : "";
	if (of_qp && (!str_has_prefix(words, "qp=") || kstrtou32(words + 3, 0, &qpn)))
		return file_refuse(line, column, -EINVAL, "the event needs qp=NUMBER");
	if (!of_qp && *words)
		return file_refuse(line, column, -EINVAL, "the event is one of the port");
	if (!apply)
		return 0;
	ret = file_raise(dev, type, of_qp ? &qpn : NULL);
	return ret ? file_refuse(line, column, ret,
				 ret == -EINVAL ? "the QP is in RESET or INIT" :
						  "no such QP here, or it has no such queue") : 0;
}

static int file_release_packets(const struct inject_line *line, struct weft_dev *dev, char *words,
				bool apply)
{
	if (*words)
		return file_refuse(line, line->column + (words - line->rest), -EINVAL,
				   "release has no argument");
	if (apply)
		weft_inject_release(dev);
	return 0;
}

/* Returns what follows the word @name and spaces in @text, or NULL. */
static char *file_after(char *text, const char *name)
{
	size_t length = str_has_prefix(text, name);

	if (!length || (text[length] && !isspace(text[length])))
		return NULL;
	return skip_spaces(text + length);
}

/* "DOWN UP TIMES", which follows the word flap. */
static int file_flap(const struct inject_line *line, struct weft_dev *dev, char *words, bool apply)
{
	const char *wrong, *word;
	u64 ns[2];
	u32 times, i;

	for (i = 0; i < 2; i++) {
		word = strsep(&words, " \t") ?: "";
		wrong = weft_inject_read_time(word, &ns[i]);
		if (wrong)
			return file_refuse(line, line->column, -EINVAL, wrong);
		words = words ? skip_spaces(words) : NULL;
	}
	if (!words || kstrtou32(words, 10, &times) || !times || times > FILE_FLAPS)
		return file_refuse(line, line->column, -EINVAL,
				   "flap needs a time down, a time up, and from 1 to 1000 times");
	return apply ? weft_device_port_flap(dev, ns[0], ns[1], times) : 0;
}

static int file_port(const struct inject_line *line, struct weft_dev *dev, char *words, bool apply)
{
	char *flap = file_after(words, "flap");
	bool down = !strcmp(words, "down");
	int ret = 0;

	if (dev->hca)
		return file_refuse(line, line->column, -EOPNOTSUPP,
				   "the state of an InfiniBand port is set by ibportstate");
	if (flap)
		return file_flap(line, dev, flap, apply);
	if (!down && strcmp(words, "up"))
		return file_refuse(line, line->column + (words - line->rest), -EINVAL,
				   "a port goes up or down");
	if (apply)
		ret = weft_device_port_down(dev, down);
	return ret;
}

static int file_device(const struct inject_line *line, struct weft_dev *dev, char *words,
		       bool apply)
{
	bool fatal = !strcmp(words, "fatal");
	int ret;

	if (!fatal && strcmp(words, "recover"))
		return file_refuse(line, line->column + (words - line->rest), -EINVAL,
				   "a device is told fatal or recover");
	if (!apply)
		return 0;
	ret = fatal ? weft_device_fatal(dev) : weft_device_recover(dev);
	return ret ? file_refuse(line, line->column, ret, fatal ? "the device has failed already" :
								  "the device has not failed") : 0;
}

/* The commands that are no rule. @words: what follows the name. */
static const struct {
	const char	*name;
	int		(*run)(const struct inject_line *line, struct weft_dev *dev, char *words,
			       bool apply);
} file_commands[] = {
	{ "clear", file_clear }, { "device", file_device }, { "event", file_event },
	{ "port", file_port }, { "release", file_release_packets },
};

static int file_command(const struct inject_line *line, bool apply)
{
	struct weft_dev *dev = weft_device_get(line->device);
	char *words;
	int ret;
	u32 i;

	if (!dev)
		return file_refuse(line, line->column - (line->rest - line->device), -ENODEV,
				   "no such weft device");
	for (i = 0; i < ARRAY_SIZE(file_commands); i++) {
		words = file_after(line->rest, file_commands[i].name);
		if (words)
			break;
	}
	ret = words ? file_commands[i].run(line, dev, words, apply) : file_rule(line, dev, apply);
	ib_device_put(&dev->ibdev);
	return ret;
}

/* Cut a line into the name of its device and the rest. Empty lines and comments are no commands. */
static int file_line(struct inject_file *file, char *text, u32 number, bool apply)
{
	struct inject_line line = { .file = file, .number = number };
	char *end;

	text[strcspn(text, "#")] = '\0';
	line.device = skip_spaces(text);
	strim(line.device);
	if (!*line.device)
		return 0;
	line.rest = line.device + strcspn(line.device, " \t");
	end = line.rest;
	line.rest = skip_spaces(line.rest);
	*end = '\0';
	line.column = line.rest - text + 1;
	return file_command(&line, apply);
}

/* Go through the lines of @text, which is kept. */
static int file_lines(struct inject_file *file, const char *text, bool apply)
{
	char *copy = kstrdup(text, GFP_KERNEL), *rest = copy, *line;
	u32 number = 0;
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	while (!ret && (line = strsep(&rest, "\n")))
		ret = file_line(file, line, ++number, apply);
	kfree(copy);
	return ret;
}

static ssize_t file_write(struct file *filp, const char __user *buf, size_t count, loff_t *pos)
{
	struct inject_file *file = ((struct seq_file *)filp->private_data)->private;
	char *text;
	int ret;

	if (count > FILE_MOST)
		return -E2BIG;
	text = memdup_user_nul(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&file->lock);
	file->message[0] = '\0';
	/* check all lines before the first is executed */
	ret = file_lines(file, text, false) ?: file_lines(file, text, true);
	mutex_unlock(&file->lock);
	kfree(text);
	return ret ?: count;
}

static int file_show(struct seq_file *seq, void *unused)
{
	struct inject_file *file = seq->private;

	mutex_lock(&file->lock);
	if (file->message[0])
		seq_puts(seq, file->message);
	else
		weft_inject_show(seq);
	mutex_unlock(&file->lock);
	return 0;
}

static int file_open(struct inode *inode, struct file *filp)
{
	struct inject_file *file = kzalloc(sizeof(*file), GFP_KERNEL);
	int ret;

	if (!file)
		return -ENOMEM;
	mutex_init(&file->lock);
	ret = single_open(filp, file_show, file);
	if (ret)
		kfree(file);
	return ret;
}

static int file_release(struct inode *inode, struct file *filp)
{
	kfree(((struct seq_file *)filp->private_data)->private);
	return single_release(inode, filp);
}

static const struct file_operations file_fops = {
	.owner		= THIS_MODULE,
	.open		= file_open,
	.read		= seq_read,
	.write		= file_write,
	.llseek		= seq_lseek,
	.release	= file_release,
};

/* @dir: of the module in debugfs. */
void weft_inject_file_init(struct dentry *dir)
{
	debugfs_create_file("inject", 0600, dir, NULL, &file_fops);
}
