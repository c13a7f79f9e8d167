/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Calls for which there is no memory. */
#ifndef TESTS_NOMEM_H
#define TESTS_NOMEM_H

#include "lib.h"

#include <infiniband/weftdv.h>

extern struct end a, b;
extern int failures;			/* calls so far that have failed for want of memory */

/*
 * Let each allocation of @call fail, one after the other. @call returns 0, or an errno, with
 * nothing to undo then; @undo undoes one that has succeeded.
 */
void walk(const char *name, int (*call)(void), void (*undo)(void));

#define WALK(name)		walk(#name, name, name##_undo)

/* the undo of a call that leaves nothing */
static inline void nothing(void)
{
}

/* Allocation @nth of this thread fails from now on; 0: none does. */
void write_nth(int nth);
/* whether it has failed */
bool was_injected(void);

/* of a call that returns NULL and sets errno */
static inline int of_pointer(const void *p)
{
	return p ? 0 : errno;
}

/* of one that returns an errno, or -1 and sets it */
static inline int of_number(int ret)
{
	return ret < 0 ? errno : ret;
}

/* nomem-memory.c */
void memory_regions(void);
void dma_bufs(void);
void mkeys(void);
struct weftdv_mkey *mkey_new(uint32_t flags);
void make_dv(struct end *e);		/* with a QP that configures mkeys */
void connect_again(void);		/* @a and @b */
/* Return: the status of @e's work request, which makes @mkey one of parts of its buffer */
enum ibv_wc_status mkey_list(struct end *e, struct weftdv_mkey *mkey);
enum ibv_wc_status mkey_invalidate(struct end *e, struct weftdv_mkey *mkey);

/* nomem-queues.c */
void tags(void);
void dynamic(void);
/* an initiator and a target, @a and @b */
void make_dc(void);
void unmake_dc(void);
void dc_restart(void);
/* Return: the status of a request of @a to @b */
enum ibv_wc_status dc_request(enum ibv_wr_opcode op, uint32_t length);

/* nomem-frames.c */
void frames(void);
void spreads(void);
void open_frames(void);
void close_frames(void);
void send_frame(int seed);		/* it completes */
int got_frame(void);			/* its seed; -1: nothing has come */

/* nomem-traffic.c */
void traffic(void);

#endif /* TESTS_NOMEM_H */
