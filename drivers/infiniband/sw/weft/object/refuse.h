/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Says why a verb is refused, in a record of the device (object/why.h) and in a line of dynamic
 * debug: "Why a verb was refused" in Documentation/infiniband/weft/admin.rst.
 */
#ifndef WEFT_OBJECT_REFUSE_H
#define WEFT_OBJECT_REFUSE_H

#include <rdma/ib_verbs.h>

#include "object/why.h"

/*
 * Logs the rule and evaluates to the error:
 *
 *	return weft_refuse(ibdev, -EINVAL, "create SRQ: max_sge %u is above %u", sge, max);
 *
 * A process can cause as many lines as it likes, so a line is never more than a debug message.
 * Not for polling and packets, nor for posts that no rule refuses.
 */
#define weft_refuse(_ibdev, _err, _fmt, ...) \
	({ ibdev_dbg(_ibdev, _fmt "\n", ##__VA_ARGS__);			\
	   weft_why_verb(_ibdev, (long)(_err), _fmt, ##__VA_ARGS__); (_err); })

/* For a request of the provider that weft_udata_check() and its siblings have refused. */
#define weft_refuse_request(_ibdev, _err, _verb, _udata) \
	weft_refuse(_ibdev, _err, \
		    "%s: invalid request of the provider, %zu bytes, and %zu for the response", \
		    _verb, (_udata)->inlen, (_udata)->outlen)

static inline int weft_check_range(const struct ib_device *ibdev, const char *verb,
				   const char *name, u64 value, u64 min, u64 max)
{
	if (value < min)
		return weft_refuse(ibdev, -EINVAL, "%s: %s %llu is below %llu", verb, name,
				   value, min);
	if (value > max)
		return weft_refuse(ibdev, -EINVAL, "%s: %s %llu is above %llu", verb, name,
				   value, max);
	return 0;
}

static inline int weft_check_max(const struct ib_device *ibdev, const char *verb,
				 const char *name, u64 value, u64 max)
{
	return weft_check_range(ibdev, verb, name, value, 0, max);
}

static inline int weft_check_port(const struct ib_device *ibdev, const char *verb, u32 port_num)
{
	return weft_check_range(ibdev, verb, "port_num", port_num, 1, 1);
}

#endif /* WEFT_OBJECT_REFUSE_H */
