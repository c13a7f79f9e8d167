// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of every kind, its keys, and a copy of it that only the model writes to.
 */
#include "products.h"

#include <fcntl.h>
#include <infiniband/weftdv.h>
#include <pthread.h>
#include <sys/ioctl.h>

#include <linux/udmabuf.h>

#define HUGE		(2 * MiB)
#define SMALL		(12 * PAGE)
#define IOVA		0x7700000000ULL

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

struct area areas[16];
unsigned int num_areas;
struct key windows[WINDOWS];
struct ibv_pd *pds[2];
struct ibv_mr *nulls[2];
bool had[KINDS];
struct claim claims[MAX_CLAIMS];
unsigned int num_claims;

static uint32_t dead[16] = { 0, 0x7fffff00 };
static unsigned int num_dead = 2;
static uint8_t *spare;			/* what is in memory that has no address */

static const int all_rights = ACCESS_ALL;

/*
 * ---- Keys ----
 */

static void bury(uint32_t number)
{
	dead[num_dead++ % ARRAY_SIZE(dead)] = number;
}

uint32_t dead_key(void)
{
	return dead[below(num_dead < ARRAY_SIZE(dead) ? num_dead : ARRAY_SIZE(dead))];
}

static bool is_paged(const struct area *area)
{
	return area->kind == KIND_PAGED || area->kind == KIND_WHOLE || area->kind == KIND_FILE;
}

static bool can_bind(const struct area *area)
{
	return area->kind == KIND_PINNED || area->kind == KIND_HUGE || is_paged(area);
}

static int more_rights(const struct area *area)
{
	int more = 0;

	/* which is for memory of a process alone */
	if (has_placement && area->kind != KIND_DMABUF && area->kind != KIND_DEVICE &&
	    area->kind != KIND_MKEY)
		more |= IBV_ACCESS_FLUSH_GLOBAL;
	if (is_paged(area))
		more |= IBV_ACCESS_ON_DEMAND;
	if (can_bind(area))
		more |= IBV_ACCESS_MW_BIND;
	return more;
}

static struct ibv_mr *reg(const struct area *area, const struct key *key)
{
	int access = key->access | more_rights(area);

	switch (area->kind) {
	case KIND_WHOLE:
		return ibv_reg_mr(key->pd, NULL, SIZE_MAX, access);
	case KIND_DEVICE:
		return ibv_reg_dm_mr(key->pd, area->dm, key->off, key->length,
				     access | IBV_ACCESS_ZERO_BASED);
	case KIND_DMABUF:
		return ibv_reg_dmabuf_mr(key->pd, key->off, key->length, key->addr, area->fd,
					 access);
	default:
		return ibv_reg_mr_iova(key->pd, area->p + key->off, key->length, key->addr, access);
	}
}

/* of the whole layout, whatever it is a key of; there are no atomics on an mkey */
static void open_mkey(struct area *area, struct key *key)
{
	key->off = 0;
	key->length = area->size;
	key->addr = 0;
	key->access &= ~IBV_ACCESS_REMOTE_ATOMIC;
	key->mkey = mkey_open(key->pd, key->access);
	key->number = key->mkey->lkey;
	SAME(key->mkey->rkey, key->number);
}

static void open_key(struct area *area, struct key *key, struct ibv_pd *whose, size_t off,
		     size_t length, int access)
{
	*key = (struct key){
		.area = area, .kind = area->kind, .pd = whose, .off = off, .length = length,
		.addr = area->addr + off, .access = access, .valid = true,
	};
	/* device memory has no address but that in the region */
	if (area->kind == KIND_DEVICE)
		key->addr = 0;
	if (area->kind == KIND_WHOLE) {
		key->off = 0;
		key->length = area->size;
		key->addr = area->addr;
	}
	if (area->kind == KIND_MKEY) {
		open_mkey(area, key);
		return;
	}
	key->mr = reg(area, key);
	if (!key->mr)
		FAIL("no region of %s at %zu, %zu bytes, access %#x: %s", kind_names[area->kind],
		     key->off, key->length, access, strerror(errno));
	key->number = key->mr->lkey;
	SAME(key->mr->rkey, key->number);
	key->access |= more_rights(area) & IBV_ACCESS_FLUSH_GLOBAL;
}

/* the second key of an area: of some of it, with some rights */
static void open_lesser(struct area *area)
{
	static const int rights[] = {
		IBV_ACCESS_REMOTE_READ, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, 0, IBV_ACCESS_LOCAL_WRITE,
		ACCESS_ALL,
	};
	size_t from = below(area->size / 2) & -8UL, length;

	/* a whole number of words, as device memory has */
	length = (1 + below((area->size - from) / 8)) * 8;
	open_key(area, &area->keys[1], pds[0], from, length, rights[below(ARRAY_SIZE(rights))]);
}

static void open_keys(struct area *area)
{
	open_key(area, &area->keys[0], pds[0], 0, area->size, all_rights);
	open_lesser(area);
	open_key(area, &area->keys[2], pds[1], 0, area->size, all_rights);
}

static void close_key(struct key *key)
{
	if (key->bound) {
		REFUSED(ibv_dereg_mr(key->mr), EBUSY);
		return;
	}
	SAME(key->mkey ? weftdv_destroy_mkey(key->mkey) : ibv_dereg_mr(key->mr), 0);
	bury(key->number);
	key->valid = false;
}

void kill_window(struct key *window)
{
	bury(window->number);
	window->valid = false;
	window->parent->bound--;
}

struct key *find_key(uint32_t number)
{
	unsigned int i, k;

	for (i = 0; i < num_areas; i++)
		for (k = 0; k < KEYS; k++)
			if (areas[i].keys[k].valid && areas[i].keys[k].number == number)
				return &areas[i].keys[k];
	for (i = 0; i < WINDOWS; i++)
		if (windows[i].valid && windows[i].number == number)
			return &windows[i];
	return NULL;
}

#define REMOTE	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | \
		 IBV_ACCESS_FLUSH_GLOBAL)

bool key_allows(const struct key *key, size_t off, size_t length, int access,
		struct ibv_pd *whose, uint32_t qpn)
{
	if (!key->valid || key->pd != whose || access & ~key->access)
		return false;
	if (key->mw && (!(access & REMOTE) || (key->qpn && key->qpn != qpn)))
		return false;
	return off >= key->off && length <= key->length && off - key->off <= key->length - length;
}

/* the key of the whole address space: this is an area's memory, or nobody knows whose */
static enum missing resolve_whole(struct piece *piece, uint64_t addr, uint64_t length)
{
	struct area *area;
	unsigned int i;

	for (i = 0; i < num_areas; i++) {
		area = &areas[i];
		piece->off = addr - (uintptr_t)area->p;
		if (!area->p || piece->off >= area->size)
			continue;
		piece->area = area;
		if (length > area->size - piece->off)
			return UNKNOWN;
		return piece->off + length <= area->present ? THERE : NO_PAGES;
	}
	return UNKNOWN;
}

enum missing resolve(struct piece *piece, uint32_t number, uint64_t addr, uint64_t length,
		     int access, struct ibv_pd *whose, uint32_t qpn)
{
	struct key *key;

	*piece = (struct piece){ .length = length, .kind = KIND_EMPTY };
	if (!length)
		return THERE;
	if (number == nulls[0]->lkey && !(access & REMOTE)) {
		piece->kind = KIND_NULL;
		return THERE;
	}
	key = find_key(number);
	if (!key)
		return NO_KEY;
	piece->kind = key->kind;
	if (key->kind == KIND_WHOLE) {
		if (!key_allows(key, key->off, 1, access, whose, qpn))
			return NO_KEY;
		return resolve_whole(piece, addr, length);
	}
	piece->area = key->area;
	piece->off = key->off + (addr - key->addr);
	if (addr < key->addr || !key_allows(key, piece->off, length, access, whose, qpn))
		return NO_KEY;
	return piece->off + length <= key->area->present ? THERE : NO_PAGES;
}

/*
 * ---- Areas ----
 */

static uint8_t *map(size_t size, int flags, int fd)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static struct area *add_area(enum kind kind, size_t size, uint8_t *p)
{
	struct area *area = &areas[num_areas++];

	CHECK(num_areas <= ARRAY_SIZE(areas));
	*area = (struct area){
		.kind = kind, .size = size, .present = size, .p = p, .addr = (uintptr_t)p,
		.model = memory(size), .big = size > MiB, .fd = -1,
	};
	had[kind] = true;
	return area;
}

static void add_private(enum kind kind, size_t size)
{
	struct area *area = add_area(kind, size, memory(size));

	if (size < HUGE)
		madvise(area->p, size, MADV_NOHUGEPAGE);
	open_keys(area);
}

static void add_huge(void)
{
	uint8_t *p = map(2 * HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);

	if (p)
		open_keys(add_area(KIND_HUGE, 2 * HUGE, p));
	else
		printf("huge pages are not to be had\n");
}

static void add_file(void)
{
	int fd = memfd_create("weft", MFD_CLOEXEC);
	struct area *area;

	CHECK(fd >= 0);
	SAME(ftruncate(fd, SMALL), 0);
	area = add_area(KIND_FILE, SMALL, map(SMALL, MAP_SHARED, fd));
	CHECK(area->p);
	area->fd = fd;
	open_keys(area);
}

static void add_device(void)
{
	struct ibv_alloc_dm_attr attr = { .length = SMALL };
	struct area *area = add_area(KIND_DEVICE, SMALL, NULL);

	area->dm = ibv_alloc_dm(ctx, &attr);
	CHECK(area->dm);
	spare = memory(SMALL);
	SAME(ibv_memcpy_to_dm(area->dm, 0, spare, SMALL), 0);
	open_keys(area);
}

static void add_mkey(void)
{
	struct area *area = add_area(KIND_MKEY, SMALL, NULL);

	make_layout(area);
	open_keys(area);
}

static void add_dmabuf(void)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = SMALL };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	struct area *area;

	if (device < 0) {
		printf("dma-bufs of udmabuf are not to be had\n");
		return;
	}
	create.memfd = memfd_create("weft", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	CHECK(create.memfd != -1U);
	SAME(ftruncate(create.memfd, SMALL), 0);
	SAME(fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	area = add_area(KIND_DMABUF, SMALL, map(SMALL, MAP_SHARED, create.memfd));
	CHECK(area->p);
	area->addr = IOVA;
	area->fd = ioctl(device, UDMABUF_CREATE, &create);
	CHECK(area->fd >= 0);
	close(create.memfd);
	close(device);
	open_keys(area);
}

void make_memory(void)
{
	unsigned int i;

	pds[0] = pd;
	pds[1] = ibv_alloc_pd(ctx);
	CHECK(pds[1]);
	for (i = 0; i < 2; i++) {
		nulls[i] = ibv_alloc_null_mr(pds[i]);
		CHECK(nulls[i]);
		SAME(nulls[i]->lkey, nulls[0]->lkey);
	}
	add_private(KIND_PINNED, SMALL);
	add_private(KIND_PINNED, 6 * MiB);
	add_huge();
	add_private(KIND_PAGED, SMALL);
	add_private(KIND_PAGED, 10 * MiB);
	add_private(KIND_WHOLE, SMALL);
	add_file();
	add_device();
	add_dmabuf();
	add_mkey();
	for (i = 0; i < WINDOWS; i++) {
		windows[i].kind = i % 2 ? KIND_WINDOW_2 : KIND_WINDOW_1;
		windows[i].mw = ibv_alloc_mw(pd, i % 2 ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
		CHECK(windows[i].mw);
	}
	had[KIND_NULL] = had[KIND_WINDOW_1] = had[KIND_WINDOW_2] = true;
	had[KIND_EMPTY] = had[KIND_INLINE] = true;
}

struct area *random_area(enum kind kind, bool big)
{
	struct area *found = NULL;
	unsigned int i, num = 0;

	for (i = 0; i < num_areas; i++)
		if (areas[i].kind == kind && areas[i].big == (big || kind == KIND_HUGE) &&
		    !below(++num))
			found = &areas[i];
	return found;
}

/*
 * ---- Claims ----
 */

static bool overlap(const struct claim *a, const struct claim *b)
{
	return a->area == b->area && a->off < b->off + b->length && b->off < a->off + a->length;
}

/* whatever @old does is done before @c begins */
static bool in_order(const struct claim *c, const struct claim *old)
{
	if (c->flow != old->flow || c->id == old->id || c->alone || old->alone)
		return false;
	if (old->reply)
		return c->fence;
	return c->remote && old->remote;
}

bool claim(const struct claim *c)
{
	unsigned int i;

	if (!c->area || !c->length)
		return true;
	CHECK(num_claims < MAX_CLAIMS);
	for (i = 0; i < num_claims; i++)
		if ((c->write || claims[i].write) && overlap(c, &claims[i]) &&
		    !in_order(c, &claims[i]))
			return false;
	claims[num_claims++] = *c;
	return true;
}

/*
 * ---- Changes ----
 */

static void scribble(struct area *area)
{
	size_t off = below(area->present + 1) & -8UL, length, i;
	uint64_t value = below(-1UL);

	length = below(area->present - off + 1);
	if (length > SMALL)
		length = SMALL;
	length &= -8UL;
	for (i = 0; i < length; i += 8, value = value * 6364136223846793005ULL + 7)
		memcpy(area->model + off + i, &value, 8);
	if (area->dm)
		SAME(ibv_memcpy_to_dm(area->dm, off, area->model + off, length), 0);
	else if (area->kind == KIND_MKEY)
		mkey_write(off, area->model + off, length);
	else
		memcpy(area->p + off, area->model + off, length);
}

/* pages that are not pinned: gone, or put away */
static void lose_pages(struct area *area)
{
	size_t off = below(area->size / PAGE) * PAGE;
	size_t length = (1 + below((area->size - off) / PAGE)) * PAGE;
	int way = below(4);

	if (area->kind == KIND_FILE && off + length > area->present)
		return;
	if (way == 0) {
		madvise(area->p + off, length, MADV_PAGEOUT);
	} else if (way == 1 || area->kind == KIND_FILE) {
		SAME(madvise(area->p + off, length, MADV_DONTNEED), 0);
		if (area->kind != KIND_FILE)
			memset(area->model + off, 0, length);
	} else {
		CHECK(mmap(area->p + off, length, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == area->p + off);
		if (way == 2)
			madvise(area->p + off, length, MADV_NOHUGEPAGE);
		memset(area->model + off, 0, length);
	}
}

static void truncate_file(struct area *area)
{
	size_t present = one_in(2) ? area->size : below(area->size / PAGE + 1) * PAGE;

	SAME(ftruncate(area->fd, present), 0);
	if (present > area->present)
		memset(area->model + area->present, 0, present - area->present);
	area->present = present;
}

static void change_key(struct area *area)
{
	struct key *key = &area->keys[below(KEYS)];

	close_key(key);
	if (key->valid)
		return;
	if (key == &area->keys[1])
		open_lesser(area);
	else
		open_key(area, key, key->pd, 0, area->size, all_rights);
}

/* other rights, by the same key */
static void change_rights(struct area *area)
{
	int access = IBV_ACCESS_LOCAL_WRITE | (below(-1UL) & ACCESS_ALL);
	struct key *key = &area->keys[1];

	if (area->kind == KIND_DMABUF || area->kind == KIND_DEVICE || area->kind == KIND_MKEY)
		return;
	if (key->bound) {
		REFUSED(ibv_rereg_mr(key->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				     access | more_rights(area)), EBUSY);
		return;
	}
	SAME(ibv_rereg_mr(key->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			  access | more_rights(area)), 0);
	if (key->number != key->mr->lkey)
		bury(key->number);
	key->number = key->mr->lkey;
	key->access = access | (more_rights(area) & IBV_ACCESS_FLUSH_GLOBAL);
}

/* other mkeys, of other parts of the same memory */
static void change_layout(struct area *area)
{
	unsigned int i;

	check_gaps();
	for (i = 0; i < KEYS; i++)
		close_key(&area->keys[i]);
	new_layout();
	open_keys(area);
}

static void advise(struct area *area)
{
	struct ibv_sge sge = { area->keys[0].addr, area->present, area->keys[0].number };

	if (sge.length)
		SAME(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				   one_in(2) ? IBV_ADVISE_MR_FLAG_FLUSH : 0, &sge, 1), 0);
}

static void change_one(void)
{
	struct area *area = &areas[below(num_areas)];

	done_changes++;
	switch (below(8)) {
	case 0:
	case 1:
		if (is_paged(area))
			lose_pages(area);
		break;
	case 2:
		if (area->kind == KIND_FILE)
			truncate_file(area);
		else if (area->kind == KIND_MKEY)
			change_layout(area);
		break;
	case 3:
		if (!area->big || one_in(20))
			change_key(area);
		break;
	case 4:
		if (!area->big || one_in(20))
			change_rights(area);
		break;
	case 5:
		if (is_paged(area) && (!area->big || one_in(10)))
			advise(area);
		break;
	default:
		bind_window(&windows[below(WINDOWS)]);
	}
}

/* one that is not bound, if there is any */
static struct key *window_to_bind(void)
{
	unsigned int i = below(WINDOWS), n;

	for (n = 0; n < WINDOWS && windows[i % WINDOWS].valid; n++, i++)
		;
	return &windows[i % WINDOWS];
}

void change_memory(void)
{
	unsigned int i, changes = below(4);

	scribble(&areas[below(num_areas)]);
	if (one_in(2))
		bind_window(window_to_bind());
	for (i = 0; i < changes; i++)
		change_one();
}

/*
 * While work runs pages go and come, and keep their bytes: those of a file are unmapped, others
 * become huge pages or are put away, and compaction moves any of them.
 */
static void *stir(void *arg)
{
	int compact = open("/proc/sys/vm/compact_memory", O_WRONLY);
	unsigned int random = 1, n;
	struct area *area;
	size_t off;

	for (n = 1; ; n++) {
		area = &areas[rand_r(&random) % num_areas];
		off = rand_r(&random) % (area->size / PAGE) * PAGE;
		if (area->kind == KIND_FILE) {
			madvise(area->p + off, area->size - off, MADV_DONTNEED);
		} else if (is_paged(area)) {
			madvise(area->p + off, area->size - off, MADV_COLLAPSE);
			madvise(area->p + off, area->size - off, MADV_PAGEOUT);
		}
		/* not each kernel has it, and only root may */
		if (n % 1024 == 0 && write(compact, "1", 1) < 0)
			continue;
		usleep(1000);
	}
	return NULL;
}

void stir_memory(void)
{
	pthread_t thread;

	SAME(pthread_create(&thread, NULL, stir, NULL), 0);
}

/*
 * ---- Comparison ----
 */

struct maybe {
	struct piece piece;
	uint8_t *data;
};

static struct maybe maybes[512];
static unsigned int num_maybes;

void maybe(const struct piece *piece, const uint8_t *data)
{
	struct maybe *m = &maybes[num_maybes++];

	CHECK(num_maybes <= ARRAY_SIZE(maybes));
	m->piece = *piece;
	m->data = NULL;
	if (!data)
		return;
	m->data = malloc(piece->length);
	CHECK(m->data);
	memcpy(m->data, data, piece->length);
}

/* what is there, [@off, @off + @length) of it in one piece */
static const uint8_t *content(const struct area *area, size_t off, size_t length)
{
	size_t start = off & -4UL;

	if (area->kind == KIND_MKEY) {
		mkey_read(off, spare, length);
		return spare;
	}
	if (!area->dm)
		return area->p + off;
	SAME(ibv_memcpy_from_dm(spare, area->dm, start, ((off + length + 3) & -4UL) - start), 0);
	return spare + (off - start);
}

static void wrong_byte(const struct area *area, size_t off, uint8_t is)
{
	WRONG("byte %#zx of %s%s is %#x, expected %#x", off, kind_names[area->kind],
	      area->big ? " (big)" : "", is, area->model[off]);
}

static void settle(const struct maybe *m)
{
	struct area *area = m->piece.area;
	size_t off = m->piece.off, length = m->piece.length, i;
	const uint8_t *is;

	if (off >= area->present)
		return;
	if (length > area->present - off)
		length = area->present - off;
	is = content(area, off, length);
	for (i = 0; m->data && i < length; i++)
		if (is[i] != area->model[off + i] && is[i] != m->data[i])
			wrong_byte(area, off + i, is[i]);
	memcpy(area->model + off, is, length);
}

/* First what may be anything: other work of the round may or may not have written over it. */
void settle_maybes(void)
{
	unsigned int i;

	for (i = 0; i < num_maybes; i++)
		if (!maybes[i].data)
			settle(&maybes[i]);
	while (num_maybes) {
		settle(&maybes[--num_maybes]);
		free(maybes[num_maybes].data);
	}
}

static void compare(const struct area *area, size_t off, size_t length)
{
	const uint8_t *is;
	size_t i;

	if (off >= area->present)
		return;
	if (length > area->present - off)
		length = area->present - off;
	is = content(area, off, length);
	if (!memcmp(is, area->model + off, length))
		return;
	for (i = 0; is[i] == area->model[off + i]; i++)
		;
	wrong_byte(area, off + i, is[i]);
}

/* what this round has written to, and a bit around it; of small areas, or if @all: everything */
void check_memory(bool all)
{
	unsigned int i;
	size_t off;

	if (all)
		check_gaps();
	for (i = 0; i < num_areas; i++)
		if (all || areas[i].size <= SMALL)
			compare(&areas[i], 0, areas[i].size);
	for (i = 0; i < num_claims && !all; i++) {
		if (!claims[i].write || claims[i].area->size <= SMALL)
			continue;
		off = claims[i].off > 64 ? claims[i].off - 64 : 0;
		compare(claims[i].area, off, claims[i].off + claims[i].length + 64 - off);
	}
}
