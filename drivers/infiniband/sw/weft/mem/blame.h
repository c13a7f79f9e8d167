/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Why an access to memory was refused, and which region came nearest to allowing it. */
#ifndef WEFT_MEM_BLAME_H
#define WEFT_MEM_BLAME_H

#include <linux/uidgid.h>

#include "mem/region.h"

/* In the order of the blocks in enum weft_fault. */
enum weft_blame_cause {
	WEFT_BLAME_NOTHING,	/* by now the access would be allowed */
	WEFT_BLAME_KEY,
	WEFT_BLAME_DOMAIN,
	WEFT_BLAME_RIGHT,
	WEFT_BLAME_RANGE,
	WEFT_BLAME_WINDOW,
};

/* The members behind @found are those of the nearest region. */
struct weft_blame {
	enum weft_blame_cause	cause;
	bool			found;
	u32			key;
	u32			access;
	u64			addr;
	u64			length;
	struct weft_registrant	by;
};

void weft_blame_access(const struct weft_accessor *who, u32 key, u64 addr, u64 length,
		       u32 access, struct weft_blame *blame);

#endif /* WEFT_MEM_BLAME_H */
