/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The text of a rule (Documentation/infiniband/weft/inject.rst has the grammar). */
#ifndef WEFT_OBJECT_INJECT_PARSE_H
#define WEFT_OBJECT_INJECT_PARSE_H

#include "object/inject.h"

/* Why a text is no rule, and at which byte of it, from 0 on. */
struct weft_inject_error {
	const char	*what;
	u32		at;
};

struct weft_inject_rule *weft_inject_parse(const char *text, struct weft_inject_error *error);
const char *weft_inject_read_time(const char *value, u64 *ns);
int weft_inject_event_type(const char *name, bool *of_qp);

#endif /* WEFT_OBJECT_INJECT_PARSE_H */
