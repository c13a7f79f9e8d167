// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/pd.h"

int weft_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

int weft_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}
