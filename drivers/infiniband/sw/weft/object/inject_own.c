// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "object/inject_own.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "object/dev.h"
#include "object/inject_parse.h"
#include "object/refuse.h"

/* The list of a user's rules: of each its text, and less than 128 bytes in front of that. */
#define OWN_LIST_BYTES	(WEFT_INJECT_USER_RULES * (WEFT_INJECT_OWN_BYTES + 128))

/*
 * The user is the opener of the file, who must also be the one who writes: otherwise a program with
 * more rights could be made to write what it prints to a file that it was given.
 */
static int own_user(const struct file *file, struct weft_owner *who)
{
	who->pid = task_tgid(current);
	who->user = current_euid();
	return uid_eq(file->f_cred->euid, who->user) ? 0 : -EPERM;
}

/* Rules that could concern others than one QP stay with the administrator. */
static bool own_is_harmless(const struct weft_inject_rule *rule)
{
	switch (rule->place) {
	case WEFT_INJECT_REQUEST:
		/* the CQ may be that of other QPs, but they are of the same process */
		return true;
	case WEFT_INJECT_PACKET:
		/* held packets, which are not many, could stay for ever */
		return rule->action != WEFT_INJECT_HOLD &&
		       /* another user may have the QP of that number */
		       (rule->action != WEFT_INJECT_SET || rule->field != WEFT_FIELD_DEST_QP) &&
		       (rule->action != WEFT_INJECT_DELAY_IT ||
			rule->delay + rule->jitter <= NSEC_PER_SEC);
	case WEFT_INJECT_RECEIVE:
	case WEFT_INJECT_SENT:
		return true;
	case WEFT_INJECT_VERB:
		/* without a QP it is not known whose call it is */
		return rule->fields & WEFT_MATCH_VERB &&
		       (rule->verb == WEFT_VERB_MODIFY_QP || rule->verb == WEFT_VERB_QUERY_QP ||
			rule->verb == WEFT_VERB_ATTACH_MCAST);
	default:
		return false;
	}
}

static int own_rule(struct weft_dev *dev, const char *text, const struct weft_owner *who,
		    bool apply)
{
	struct weft_inject_error error;
	struct weft_inject_rule *rule = weft_inject_parse(text, &error);
	int ret = 0;

	if (IS_ERR(rule))
		return PTR_ERR(rule) == -EINVAL ?
		       weft_refuse(&dev->ibdev, -EINVAL, "write inject_own: column %u: %s",
				   error.at + 1, error.what) : PTR_ERR(rule);
	if (!own_is_harmless(rule))
		ret = weft_refuse(&dev->ibdev, -EPERM,
				  "write inject_own: a rule of users must be of QPs");
	else if (weft_inject_unfit(dev, rule))
		ret = weft_refuse(&dev->ibdev, -EINVAL, "write inject_own: %s",
				  weft_inject_unfit(dev, rule));
	if (!ret && apply) {
		rule->who = *who;
		get_pid(rule->who.pid);
		ret = weft_inject_add(dev, rule);
		if (ret > 0)
			return 0;
		put_pid(rule->who.pid);
	}
	kfree(rule);
	return ret;
}

/* A line: a rule, or "clear", which removes all rules of the user, or "clear NUMBER". */
static int own_line(struct weft_dev *dev, char *line, const struct weft_owner *who, bool apply)
{
	u32 number = 0;

	line[strcspn(line, "#")] = '\0';
	line = strim(line);
	if (!*line)
		return 0;
	if (!str_has_prefix(line, "clear") || (line[5] && line[5] != ' '))
		return own_rule(dev, line, who, apply);
	if (line[5] && (kstrtou32(skip_spaces(line + 5), 10, &number) || !number))
		return weft_refuse(&dev->ibdev, -EINVAL, "write inject_own: no number of a rule");
	return apply ? weft_inject_remove_own(dev, who, number) : 0;
}

static int own_lines(struct weft_dev *dev, const char *buf, size_t size,
		     const struct weft_owner *who, bool apply)
{
	char *text = kmemdup_nul(buf, size, GFP_KERNEL), *rest = text, *line;
	int ret = 0;

	if (!text)
		return -ENOMEM;
	while (!ret && (line = strsep(&rest, "\n")))
		ret = own_line(dev, line, who, apply);
	kfree(text);
	return ret;
}

/*
 * -EPERM: the administrator does not allow it, or the rule is not for one's own QPs; -EFBIG: @buf
 * may be a part of what was written. All lines are checked before the first one is executed.
 */
ssize_t weft_inject_write_own(struct weft_dev *dev, const struct file *file, const char *buf,
			      loff_t from, size_t size)
{
	struct weft_owner who;
	int ret = own_user(file, &who);

	if (ret || !READ_ONCE(dev->inject.allowed))
		return weft_refuse(&dev->ibdev, -EPERM,
				   "write inject_own: inject_users is 0, or the file is another user's");
	if (from || size >= WEFT_INJECT_OWN_BYTES)
		return weft_refuse(&dev->ibdev, -EFBIG, "write inject_own: %u bytes or more",
				   WEFT_INJECT_OWN_BYTES);
	ret = own_lines(dev, buf, size, &who, false) ?: own_lines(dev, buf, size, &who, true);
	return ret ?: size;
}

/* The rules of the user, as in the file of the administrator. */
ssize_t weft_inject_read_own(struct weft_dev *dev, const struct file *file, char *buf, loff_t from,
			     size_t size)
{
	struct weft_owner who;
	char *text;
	ssize_t length;

	if (own_user(file, &who))
		return -EPERM;
	text = kvzalloc(OWN_LIST_BYTES, GFP_KERNEL_ACCOUNT);
	if (!text)
		return -ENOMEM;
	length = weft_inject_show_own(dev, &who, text, OWN_LIST_BYTES);
	length = from < length ? min_t(ssize_t, size, length - from) : 0;
	memcpy(buf, text + from, length);
	kvfree(text);
	return length;
}
