// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Clients are told in the reverse order of their registration. The one that waits for answers
 * of the subnet administration is part of the core, so it comes after us.
 */
#include "verbs/removal.h"

#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "object/dev.h"
#include "object/hca.h"

static int removal_add(struct ib_device *ibdev)
{
	bool ours = ibdev->ops.driver_id == (enum rdma_driver_id)RDMA_DRIVER_WEFT;

	return ours && to_weft_dev(ibdev)->hca ? 0 : -EOPNOTSUPP;
}

static void removal_begins(struct ib_device *ibdev, void *client_data)
{
	WRITE_ONCE(to_weft_dev(ibdev)->hca->leaving, true);
}

static struct ib_client removal_client = {
	.name = "weft",
	.add = removal_add,
	.remove = removal_begins,
};

int weft_removal_init(void)
{
	return ib_register_client(&removal_client);
}

void weft_removal_exit(void)
{
	ib_unregister_client(&removal_client);
}
