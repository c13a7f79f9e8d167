// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * New devices without memory: each allocation fails once, as in nomem.c, while a device is made,
 * and while root makes a monitor and rules for it. A command that fails leaves nothing behind.
 *
 * usage: newlink TYPE NETDEV [STEP]
 *
 * A device has many allocations, most of them for the core's files in sysfs: STEP is how many of
 * them succeed between two that are tried.
 *
 * weft makes the device in the task that asks for it, so that this task's count of allocations
 * covers the core's part of the registration as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME	"weft_nomem0"
#define SITES	20000	/* more than there are in a command */

#define DIE(...)	do { fprintf(stderr, __VA_ARGS__); fputc('\n', stderr); exit(1); } while (0)

static const char *type, *netdev;
static int sock, step = 1;

static void write_nth(int nth)
{
	char text[16];
	int fd = open("/proc/thread-self/fail-nth", O_WRONLY);

	snprintf(text, sizeof(text), "%d", nth);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		DIE("fail-nth: %s", strerror(errno));
	close(fd);
}

static bool was_injected(void)
{
	char text[16] = "";
	int fd = open("/proc/thread-self/fail-nth", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		DIE("fail-nth: %s", strerror(errno));
	close(fd);
	return !atoi(text);
}

static void add_text(struct nlmsghdr *msg, int attr, const char *text)
{
	struct nlattr *nla = (void *)((char *)msg + NLMSG_ALIGN(msg->nlmsg_len));

	nla->nla_type = attr;
	nla->nla_len = NLA_HDRLEN + strlen(text) + 1;
	strcpy((char *)nla + NLA_HDRLEN, text);
	msg->nlmsg_len = NLMSG_ALIGN(msg->nlmsg_len) + NLA_ALIGN(nla->nla_len);
}

/* rdma link add NAME type TYPE netdev NETDEV: returns an errno */
static int add_device(void)
{
	union {
		struct nlmsghdr msg;
		char room[1024];
	} request = { 0 }, answer;
	const struct nlmsgerr *error = NLMSG_DATA(&answer.msg);

	request.msg.nlmsg_len = NLMSG_HDRLEN;
	request.msg.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK);
	request.msg.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	add_text(&request.msg, RDMA_NLDEV_ATTR_DEV_NAME, NAME);
	add_text(&request.msg, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	add_text(&request.msg, RDMA_NLDEV_ATTR_LINK_TYPE, type);
	if (send(sock, &request, request.msg.nlmsg_len, 0) < 0)
		return errno;
	/* the answer itself may get no memory: the next request brings it to light */
	if (recv(sock, &answer, sizeof(answer), 0) < 0)
		return errno;
	if (answer.msg.nlmsg_type != NLMSG_ERROR)
		DIE("an answer of type %d", answer.msg.nlmsg_type);
	return -error->error;
}

static bool there(void)
{
	return !access("/sys/class/infiniband/" NAME, F_OK);
}

static void delete_device(void)
{
	if (system("rdma link delete " NAME))
		DIE("%s: cannot be deleted", NAME);
}

static const char *file, *text;
static int write_file(void)
{
	int fd = open(file, O_WRONLY), ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = errno;
	close(fd);
	return ret;
}

/*
 * The kernel has other words for it, too: device_add() says EINVAL of a device whose name got no
 * memory, and sock_create_kern() says ENFILE.
 */
static void check(int ret, int nth)
{
	if (ret && ret != ENOMEM && ret != ENOBUFS && ret != EINVAL && ret != ENFILE)
		DIE("allocation %d: %s", nth, strerror(ret));
}

static void walk_device(void)
{
	int nth, ret, failures = 0;
	bool failed_once;

	for (nth = 1; nth < SITES; nth += step) {
		write_nth(nth);
		ret = add_device();
		failed_once = was_injected();
		write_nth(0);
		check(ret, nth);
		if (there() != !ret)
			DIE("allocation %d: %s, and there is %s device", nth, strerror(ret), ret ? "a" : "no");
		if (!failed_once) {
			if (ret)
				DIE("without a failure: %s", strerror(ret));
			if (!failures)
				DIE("nothing has failed");
			printf("%s: fewer than %d allocations, %d failures\n", type, nth, failures);
			return;
		}
		failures += ret != 0;
		if (!ret)
			delete_device();
	}
	DIE("it never ends");
}

/* a write of @with to the file, which @without undoes */
static void walk_file(const char *path, const char *with, const char *without)
{
	bool failed_once;
	int nth, ret;

	for (nth = 1; nth < SITES; nth++) {
		file = path;
		text = with;
		write_nth(nth);
		ret = write_file();
		failed_once = was_injected();
		write_nth(0);
		check(ret, nth);
		if (!failed_once && ret)
			DIE("%s: %s", path, strerror(ret));
		text = without;
		if (!ret && write_file())
			DIE("%s: %s: %s", path, without, strerror(errno));
		if (!failed_once) {
			printf("%s: %d allocations\n", path, nth - 1);
			return;
		}
	}
	DIE("%s: it never ends", path);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		DIE("usage: %s TYPE NETDEV [STEP]", argv[0]);
	if (argc > 3)
		step = atoi(argv[3]);
	type = argv[1];
	netdev = argv[2];
	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (sock < 0)
		DIE("no netlink: %s", strerror(errno));
	walk_device();
	walk_file("/sys/class/infiniband/" NAME "/monitor", "mon7", "\n");
	walk_file("/sys/kernel/debug/weft/inject", NAME " packet service=rc n=1 drop", NAME " clear");
	delete_device();
	return 0;
}
