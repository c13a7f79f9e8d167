// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A directory by 9P2000.L over rdma_cm, for one client: what the kernel's own asks for
 * when a tree is copied, compared and removed. Debian has no server that does this.
 *
 * usage: p9server PORT DIRECTORY
 *
 * It ends when its client has gone, and fails if that left work that has failed.
 */
#include "lib.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define MSIZE		65536
/* size[4] type[1] tag[2], as in each message */
#define HEADER		7
/* of a read: what is before the data */
#define READ_HEADER	(HEADER + 4)
#define QID		13
/* the client has 32 requests at a time; a slot waits for its answer to have been sent */
#define SLOTS		96
#define FIDS		4096
#define NO_FID		0xffffffffU
#define RLERROR		7

/* requests; the answer to each has the next number */
enum {
	STATFS = 8, LOPEN = 12, LCREATE = 14, GETATTR = 24, SETATTR = 26, READDIR = 40,
	FSYNC = 50, MKDIR = 72, RENAMEAT = 74, UNLINKAT = 76, VERSION = 100, ATTACH = 104,
	FLUSH = 108, WALK = 110, READ = 116, WRITE = 118, CLUNK = 120,
};

/* of Tsetattr */
enum {
	SET_MODE = 1, SET_UID = 2, SET_GID = 4, SET_SIZE = 8, SET_ATIME = 0x10, SET_MTIME = 0x20,
	SET_ATIME_TO = 0x80, SET_MTIME_TO = 0x100,
};

/* what a client holds of a file */
struct fid {
	uint32_t number;
	char path[PATH_MAX];
	int fd;
	DIR *dir;
};

/* a message that is read or written */
struct message {
	uint8_t *at, *end;
	bool bad;
};

static struct fid *fids[FIDS];
static const char *root;
static uint8_t *requests, *answers;

/*
 * ---- Messages ----
 */

static uint64_t get(struct message *m, int bytes)
{
	uint64_t value = 0;

	if (m->end - m->at < bytes) {
		m->bad = true;
		return 0;
	}
	memcpy(&value, m->at, bytes);
	m->at += bytes;
	return value;
}

/* the name of a file in a directory, and nothing else */
static void get_name(struct message *m, char name[NAME_MAX + 1])
{
	uint32_t length = get(m, 2);

	name[0] = 0;
	if (length > NAME_MAX || m->end - m->at < length) {
		m->bad = true;
		return;
	}
	memcpy(name, m->at, length);
	name[length] = 0;
	m->at += length;
	if (strchr(name, '/') || !strcmp(name, ".."))
		m->bad = true;
}

static void put(struct message *m, uint64_t value, int bytes)
{
	CHECK(m->end - m->at >= bytes);
	memcpy(m->at, &value, bytes);
	m->at += bytes;
}

static void put_name(struct message *m, const char *name)
{
	size_t length = strlen(name);

	put(m, length, 2);
	CHECK(m->end - m->at >= length);
	memcpy(m->at, name, length);
	m->at += length;
}

static void put_qid(struct message *m, mode_t mode, uint64_t number)
{
	put(m, S_ISDIR(mode) ? 0x80 : 0, 1);
	put(m, 0, 4);
	put(m, number, 8);
}

static int put_qid_of(struct message *m, const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno;
	put_qid(m, st.st_mode, st.st_ino);
	return 0;
}

/*
 * ---- Files ----
 */

static struct fid *fid_find(uint32_t number)
{
	int i;

	for (i = 0; i < FIDS; i++)
		if (fids[i] && fids[i]->number == number)
			return fids[i];
	return NULL;
}

static struct fid *fid_get(struct message *m)
{
	struct fid *fid = fid_find(get(m, 4));

	m->bad |= !fid;
	return fid;
}

static int fid_add(uint32_t number, const char *path)
{
	struct fid *fid = fid_find(number);
	int i;

	for (i = 0; !fid && i < FIDS; i++)
		if (!fids[i])
			fid = fids[i] = calloc(1, sizeof(*fid));
	if (!fid)
		return ENOMEM;
	fid->number = number;
	fid->fd = -1;
	snprintf(fid->path, sizeof(fid->path), "%s", path);
	return 0;
}

static void fid_close(struct fid *fid)
{
	if (fid->dir)
		closedir(fid->dir);
	else if (fid->fd >= 0)
		close(fid->fd);
	fid->dir = NULL;
	fid->fd = -1;
}

static void fid_remove(struct fid *fid)
{
	int i;

	fid_close(fid);
	for (i = 0; i < FIDS; i++)
		if (fids[i] == fid)
			fids[i] = NULL;
	free(fid);
}

static int path_of(char path[PATH_MAX], const char *dir, const char *name)
{
	return snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX ? 0 : ENAMETOOLONG;
}

/* A file by its directory and its name. Return: the directory. */
static struct fid *get_path(struct message *in, char path[PATH_MAX])
{
	char name[NAME_MAX + 1];
	struct fid *dir = fid_get(in);

	get_name(in, name);
	in->bad = in->bad || path_of(path, dir->path, name);
	return dir;
}

/* The bits of Linux' own flags that a file is opened with. */
static int fid_open(struct fid *fid, uint32_t flags, mode_t mode)
{
	struct stat st;

	fid_close(fid);
	if (!(flags & O_CREAT) && !lstat(fid->path, &st) && S_ISDIR(st.st_mode)) {
		fid->dir = opendir(fid->path);
		return fid->dir ? 0 : errno;
	}
	flags &= O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND;
	fid->fd = open(fid->path, flags | O_NOFOLLOW, mode);
	return fid->fd < 0 ? errno : 0;
}

/*
 * ---- Requests: what is asked for is in @in, the answer goes to @out ----
 *
 * Return: 0 or an errno.
 */

static int answer_version(struct message *in, struct message *out)
{
	uint32_t msize = get(in, 4);

	put(out, msize < MSIZE ? msize : MSIZE, 4);
	put_name(out, "9P2000.L");
	return 0;
}

static int answer_attach(struct message *in, struct message *out)
{
	int error = fid_add(get(in, 4), root);

	return error ?: put_qid_of(out, root);
}

static int answer_walk(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);
	uint32_t number = get(in, 4), num = get(in, 2), i;
	uint8_t *count = out->at;
	char path[PATH_MAX], name[NAME_MAX + 1], next[PATH_MAX];

	if (in->bad || num > 16)
		return EINVAL;
	strcpy(path, fid->path);
	put(out, 0, 2);
	for (i = 0; i < num; i++) {
		get_name(in, name);
		if (in->bad)
			return EINVAL;
		if (path_of(next, path, name) || put_qid_of(out, next))
			break;
		strcpy(path, next);
	}
	*count = i;
	if (i == num)
		return fid_add(number, path);
	/* some of it is there: that is said, and no more */
	return i ? 0 : ENOENT;
}

static int answer_opened(struct fid *fid, struct message *out, int error)
{
	error = error ?: put_qid_of(out, fid->path);
	put(out, 0, 4);
	return error;
}

static int answer_lopen(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);
	uint32_t flags = get(in, 4);

	if (in->bad)
		return EINVAL;
	return answer_opened(fid, out, fid_open(fid, flags & ~O_CREAT, 0));
}

static int answer_lcreate(struct message *in, struct message *out)
{
	char path[PATH_MAX];
	struct fid *fid = get_path(in, path);
	uint32_t flags = get(in, 4), mode = get(in, 4);

	if (in->bad)
		return EINVAL;
	strcpy(fid->path, path);
	return answer_opened(fid, out, fid_open(fid, flags | O_CREAT, mode & 0777));
}

static int answer_read(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);
	uint64_t offset = get(in, 8);
	uint32_t count = get(in, 4);
	ssize_t done;

	if (in->bad || count > MSIZE - READ_HEADER)
		return EINVAL;
	done = pread(fid->fd, out->at + 4, count, offset);
	if (done < 0)
		return errno;
	put(out, done, 4);
	out->at += done;
	return 0;
}

static int answer_write(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);
	uint64_t offset = get(in, 8);
	uint32_t count = get(in, 4);
	ssize_t done;

	if (in->bad || in->end - in->at < count)
		return EINVAL;
	done = pwrite(fid->fd, in->at, count, offset);
	if (done < 0)
		return errno;
	put(out, done, 4);
	return 0;
}

static int answer_readdir(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);
	uint64_t offset = get(in, 8);
	uint32_t count = get(in, 4);
	uint8_t *length = out->at;
	struct dirent *entry;

	if (in->bad || !fid->dir || count > MSIZE - READ_HEADER)
		return EINVAL;
	put(out, 0, 4);
	seekdir(fid->dir, offset);
	while ((entry = readdir(fid->dir))) {
		if (out->at + QID + 8 + 1 + 2 + strlen(entry->d_name) > length + 4 + count)
			break;
		put_qid(out, DTTOIF(entry->d_type), entry->d_ino);
		put(out, entry->d_off, 8);
		put(out, entry->d_type, 1);
		put_name(out, entry->d_name);
	}
	count = out->at - length - 4;
	memcpy(length, &count, 4);
	return 0;
}

static void put_time(struct message *out, const struct timespec *time)
{
	put(out, time->tv_sec, 8);
	put(out, time->tv_nsec, 8);
}

static int answer_getattr(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);
	struct stat st;

	if (in->bad)
		return EINVAL;
	if (lstat(fid->path, &st))
		return errno;
	put(out, 0x7ff, 8); /* all but birth, generation and version */
	put_qid(out, st.st_mode, st.st_ino);
	put(out, st.st_mode, 4);
	put(out, st.st_uid, 4);
	put(out, st.st_gid, 4);
	put(out, st.st_nlink, 8);
	put(out, st.st_rdev, 8);
	put(out, st.st_size, 8);
	put(out, st.st_blksize, 8);
	put(out, st.st_blocks, 8);
	put_time(out, &st.st_atim);
	put_time(out, &st.st_mtim);
	put_time(out, &st.st_ctim);
	memset(out->at, 0, 32);
	out->at += 32;
	return 0;
}

static struct timespec get_time(struct message *in, bool set, bool to)
{
	struct timespec time = { .tv_sec = get(in, 8) };

	time.tv_nsec = get(in, 8);
	if (!to)
		time.tv_nsec = set ? UTIME_NOW : UTIME_OMIT;
	return time;
}

static int answer_setattr(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);
	uint32_t valid = get(in, 4), mode = get(in, 4), uid = get(in, 4), gid = get(in, 4);
	uint64_t size = get(in, 8);
	struct timespec times[2];

	times[0] = get_time(in, valid & SET_ATIME, valid & SET_ATIME_TO);
	times[1] = get_time(in, valid & SET_MTIME, valid & SET_MTIME_TO);
	if (in->bad)
		return EINVAL;
	if ((valid & SET_MODE && chmod(fid->path, mode & 07777)) ||
	    (valid & SET_UID && lchown(fid->path, uid, -1)) ||
	    (valid & SET_GID && lchown(fid->path, -1, gid)) ||
	    (valid & SET_SIZE && truncate(fid->path, size)) ||
	    utimensat(AT_FDCWD, fid->path, times, AT_SYMLINK_NOFOLLOW))
		return errno;
	return 0;
}

static int answer_mkdir(struct message *in, struct message *out)
{
	char path[PATH_MAX];
	uint32_t mode;

	get_path(in, path);
	mode = get(in, 4);
	if (in->bad)
		return EINVAL;
	return mkdir(path, mode & 07777) ? errno : put_qid_of(out, path);
}

static int answer_unlinkat(struct message *in, struct message *out)
{
	char path[PATH_MAX];
	uint32_t flags;

	get_path(in, path);
	flags = get(in, 4);
	if (in->bad)
		return EINVAL;
	return (flags & AT_REMOVEDIR ? rmdir(path) : unlink(path)) ? errno : 0;
}

static int answer_renameat(struct message *in, struct message *out)
{
	char from[PATH_MAX], to[PATH_MAX];

	get_path(in, from);
	get_path(in, to);
	if (in->bad)
		return EINVAL;
	return rename(from, to) ? errno : 0;
}

static int answer_statfs(struct message *in, struct message *out)
{
	struct statfs st;

	if (statfs(root, &st))
		return errno;
	put(out, st.f_type, 4);
	put(out, st.f_bsize, 4);
	put(out, st.f_blocks, 8);
	put(out, st.f_bfree, 8);
	put(out, st.f_bavail, 8);
	put(out, st.f_files, 8);
	put(out, st.f_ffree, 8);
	put(out, 0, 8);
	put(out, st.f_namelen, 4);
	return 0;
}

static int answer_fsync(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);

	if (in->bad)
		return EINVAL;
	return fid->fd >= 0 && fsync(fid->fd) ? errno : 0;
}

static int answer_clunk(struct message *in, struct message *out)
{
	struct fid *fid = fid_get(in);

	if (in->bad)
		return EINVAL;
	fid_remove(fid);
	return 0;
}

/* Requests are answered one after the other: the old one has been. */
static int answer_flush(struct message *in, struct message *out)
{
	return 0;
}

static int (*const answer_to[256])(struct message *, struct message *) = {
	[STATFS] = answer_statfs, [LOPEN] = answer_lopen, [LCREATE] = answer_lcreate,
	[GETATTR] = answer_getattr, [SETATTR] = answer_setattr, [READDIR] = answer_readdir,
	[FSYNC] = answer_fsync, [MKDIR] = answer_mkdir, [RENAMEAT] = answer_renameat,
	[UNLINKAT] = answer_unlinkat, [VERSION] = answer_version, [ATTACH] = answer_attach,
	[FLUSH] = answer_flush, [WALK] = answer_walk, [READ] = answer_read,
	[WRITE] = answer_write, [CLUNK] = answer_clunk,
};

/* Return: bytes of the answer to @length bytes of a request. */
static uint32_t answer(uint8_t *request, uint32_t length, uint8_t *to)
{
	struct message in = { request, request + length }, out = { to, to + MSIZE };
	uint32_t size = get(&in, 4), type = get(&in, 1), tag = get(&in, 2);
	int error = EOPNOTSUPP;

	CHECK(!in.bad && size == length);
	out.at += HEADER;
	if (answer_to[type])
		error = answer_to[type](&in, &out);
	if (error) {
		out.at = to + HEADER;
		put(&out, error, 4);
	}
	size = out.at - to;
	out.at = to;
	put(&out, size, 4);
	put(&out, error ? RLERROR : type + 1, 1);
	put(&out, tag, 2);
	return size;
}

/*
 * ---- A connection ----
 */

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel,
					enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	SAME(rdma_get_cm_event(channel, &event), 0);
	SAME(event->event, type);
	return event;
}

static struct ibv_mr *buffers(struct rdma_cm_id *id, uint8_t **p)
{
	struct ibv_mr *mr;

	*p = memory(SLOTS * MSIZE);
	mr = ibv_reg_mr(id->pd, *p, SLOTS * MSIZE, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr);
	return mr;
}

static void listen_for_request(struct rdma_cm_id *id, struct ibv_mr *mr, uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)requests + slot * MSIZE, MSIZE, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	SAME(ibv_post_recv(id->qp, &wr, &bad), 0);
}

static void send_answer(struct rdma_cm_id *id, struct ibv_mr *mr, uint64_t slot, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)answers + slot * MSIZE, length, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	SAME(ibv_post_send(id->qp, &wr, &bad), 0);
}

/* Sleep until there is a completion. Return: there is none, and the client has gone. */
static bool has_gone(struct rdma_cm_id *id, struct ibv_comp_channel *completions)
{
	struct pollfd fd[2] = {
		{ completions->fd, POLLIN }, { id->channel->fd, POLLIN },
	};
	struct ibv_cq *cq;
	void *context;

	CHECK(poll(fd, 2, -1) > 0);
	if (fd[0].revents) {
		SAME(ibv_get_cq_event(completions, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		return false;
	}
	rdma_ack_cm_event(next_event(id->channel, RDMA_CM_EVENT_DISCONNECTED));
	return true;
}

static long serve(struct rdma_cm_id *id, struct ibv_comp_channel *completions, struct ibv_cq *cq,
		  struct ibv_mr *in, struct ibv_mr *out)
{
	long answered = 0;
	struct ibv_wc wc;

	do {
		SAME(ibv_req_notify_cq(cq, 0), 0);
		while (ibv_poll_cq(cq, 1, &wc) > 0) {
			if (wc.status == IBV_WC_WR_FLUSH_ERR)
				continue;
			SAME(wc.status, IBV_WC_SUCCESS);
			if (wc.opcode == IBV_WC_SEND) {
				listen_for_request(id, in, wc.wr_id);
				continue;
			}
			send_answer(id, out, wc.wr_id,
				    answer(requests + wc.wr_id * MSIZE, wc.byte_len,
					   answers + wc.wr_id * MSIZE));
			answered++;
		}
	} while (!has_gone(id, completions));
	return answered;
}

/* The first who comes, and until it goes. */
static void connection(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_comp_channel *completions = ibv_create_comp_channel(id->verbs);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 2 * SLOTS, NULL, completions, 0);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SLOTS, .max_recv_wr = SLOTS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_mr *in, *out;
	int i;

	CHECK(cq);
	SAME(rdma_create_qp(id, NULL, &attr), 0);
	in = buffers(id, &requests);
	out = buffers(id, &answers);
	for (i = 0; i < SLOTS; i++)
		listen_for_request(id, in, i);
	SAME(rdma_accept(id, &param), 0);
	rdma_ack_cm_event(next_event(id->channel, RDMA_CM_EVENT_ESTABLISHED));
	printf("%ld answers\n", serve(id, completions, cq, in, out));
	rdma_destroy_qp(id);
	SAME(ibv_dereg_mr(in), 0);
	SAME(ibv_dereg_mr(out), 0);
	SAME(ibv_destroy_cq(cq), 0);
	SAME(ibv_destroy_comp_channel(completions), 0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener, *id;

	if (argc != 3)
		FAIL("usage: p9server PORT DIRECTORY");
	root = argv[2];
	any.sin_port = htons(atoi(argv[1]));
	CHECK(channel);
	umask(0);
	SAME(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	SAME(rdma_bind_addr(listener, (struct sockaddr *)&any), 0);
	SAME(rdma_listen(listener, 1), 0);
	event = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	rdma_ack_cm_event(event);
	connection(id);
	SAME(rdma_destroy_id(id), 0);
	SAME(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(channel);
	return 0;
}
