/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>

#include "weft.h"
#include "weft-abi.h"

struct ibv_ah *weft_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct uweft_create_ah_resp resp = {};
	struct weft_ah *ah;
	int ret;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;

	ret = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp,
				sizeof(resp));
	if (ret)
		goto err_free_ah;

	ah->ah_id = resp.drv.ah_id;
	return &ah->ah;

err_free_ah:
	free(ah);
	errno = ret;
	return NULL;
}

int weft_destroy_ah(struct ibv_ah *ibah)
{
	int ret;

	ret = ibv_cmd_destroy_ah(ibah);
	if (ret)
		return ret;

	free(to_weft_ah(ibah));
	return 0;
}
