/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * struct verbs_context_ops, the table of a context's functions. verbs_set_ops()
 * reads it as the library's release declares it, and leaves alone what is NULL.
 * The members are sorted by name, so a new one moves those behind it:
 *
 *	release		number	layout
 *	34		34	34
 *	35		34	35
 *	36 to 56	34	36
 *	57, 58		57	36
 *	59 to 61	59	59
 *	62, 63		59	62
 *	64		64	64
 *	65		65	65
 *
 * Where a number has several layouts, weft_set_ops() finds out which one the
 * library has by a function that came with it.
 */
#ifndef RDMACORE_OPS_H
#define RDMACORE_OPS_H

#include "driver.h"
#include "op-list.h"

#define FN(ret, name, args)	ret (*name)args;
#define NO(name)		void (*name)(void);

#define SINCE_35(member)
#define SINCE_36(member)
#define SINCE_59(member)
#define SINCE_62(member)
#define SINCE_64(member)
#define SINCE_65(member)
struct verbs_context_ops_34 {
	VERBS_CONTEXT_OPS
};

#undef SINCE_35
#define SINCE_35(member)	member
struct verbs_context_ops_35 {
	VERBS_CONTEXT_OPS
};

#undef SINCE_36
#define SINCE_36(member)	member
struct verbs_context_ops_36 {
	VERBS_CONTEXT_OPS
};

#undef SINCE_59
#define SINCE_59(member)	member
struct verbs_context_ops_59 {
	VERBS_CONTEXT_OPS
};

#undef SINCE_62
#define SINCE_62(member)	member
struct verbs_context_ops_62 {
	VERBS_CONTEXT_OPS
};

#undef SINCE_64
#define SINCE_64(member)	member
struct verbs_context_ops_64 {
	VERBS_CONTEXT_OPS
};

#undef SINCE_65
#define SINCE_65(member)	member
struct verbs_context_ops_65 {
	VERBS_CONTEXT_OPS
};

#undef FN
#undef NO

#endif /* RDMACORE_OPS_H */
