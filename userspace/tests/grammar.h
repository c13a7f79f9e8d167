/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The parts of a command of uverbs. See grammar.c.
 */
#ifndef TESTS_GRAMMAR_H
#define TESTS_GRAMMAR_H

#include "lib.h"

#include <limits.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/weft-abi.h>

#define MAX_CALLS	128

/* objects that a command makes, names or ends */
enum kind {
	PD, CQ, QP, SRQ, AH, MR, MW, XRCD, DM, CHANNEL, WQ, TABLE, FLOW, COUNTERS, CNTR, KINDS, NOTHING
};

/* what a field should hold */
enum value {
	V_ANY,
	V_CONST,			/* arg */
	V_RESPONSE,			/* address of the response */
	V_HANDLE,			/* of an object of kind arg */
	V_NEW,				/* the handle of a new object comes back here */
	V_FD,				/* of a completion channel, arg CHANNEL; or -1 */
	V_ASYNC,			/* of asynchronous events */
	V_DMABUF,
	V_ADDR,				/* of memory */
	V_LENGTH,			/* of some of it */
	V_NUM,				/* at most arg */
	V_BITS,				/* some of arg */
	V_ACCESS,			/* access flags, arg: of all these */
	V_ONE_OF,			/* number of a bit of arg */
	V_QPN,
	V_KEY,
	V_SPARE,			/* address of some bytes; arg: they hold an element */
};

/* at @off of a command; of 16 bytes: a GID, with arg that of a group */
struct field {
	unsigned short off, size;
	enum value value;
	uint64_t arg;
};

#define NO_ATTR		0xffff

/* an attribute of a method */
struct attr {
	uint16_t id, len;
	enum value value;
	uint64_t arg;
	bool optional;
};

struct fuzzer;

/* a command by write(), or a method by ioctl() if it has attributes */
struct call {
	const char *name;
	int number;
	bool ex;
	bool refused;			/* weft has none */
	bool newer;			/* not every kernel has it */
	bool often;
	bool unsafe;			/* on a kernel that checks its locks */
	uint16_t object;
	size_t size, out;		/* of the core's part and of its response */
	size_t ours, ours_out;		/* of the driver's */
	enum kind makes;
	size_t at;			/* of the response: the handle */
	void (*prepare)(struct fuzzer *f, uint8_t *body);	/* after the fields */
	const struct field *fields;
	const struct attr *attrs;
};

extern const struct call calls[];
extern const unsigned int num_calls;

bool one_of(struct fuzzer *f, uint32_t n);
uint64_t a_value(struct fuzzer *f, enum value value, uint64_t arg);
int make_dmabuf(size_t size);		/* -1: this kernel has none */

#endif /* TESTS_GRAMMAR_H */
