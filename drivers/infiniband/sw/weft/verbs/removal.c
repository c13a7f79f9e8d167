// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The beginning of a device's removal. The core tells its clients first, one after the other, and
 * the driver last, so the driver is a client of its own devices.
 *
 * The core tells its clients of a removal in the reverse order of their registration: weft before
 * ib_uverbs, which takes all objects away from the processes, and before the core's SA client,
 * which waits for responses of the subnet administration.
 */
#include "verbs/removal.h"

#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "object/advise.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/qp.h"
#include "object/table.h"
#include "pause.h"
#include "verbs/qp.h"

static int removal_add(struct ib_device *ibdev)
{
	struct weft_dev *dev;

	if (ibdev->ops.owner != THIS_MODULE)
		return -EOPNOTSUPP;
	/* a change of its namespace removes and adds the device again */
	dev = to_weft_dev(ibdev);
	/* the core has told uverbs before, which has copied the id of instance_enable() */
	ibdev->ops.driver_id = (enum rdma_driver_id)RDMA_DRIVER_WEFT;
	weft_advise_begin(&dev->advices);
	if (dev->hca)
		WRITE_ONCE(dev->hca->leaving, false);
	return 0;
}

/* Completes the outstanding work requests of processes while they can still poll. */
static void removal_end_qps(struct weft_dev *dev)
{
	unsigned long index = 0;
	struct weft_qp *qp;

	while ((qp = weft_qp_next(dev->id, &index))) {
		weft_pause(WEFT_PAUSE_REMOVAL_QP);
		weft_qp_end(qp);
		weft_pause(WEFT_PAUSE_REMOVAL_QP_ENDED);
		weft_qp_put(qp);
	}
}

static void removal_begins(struct ib_device *ibdev, void *client_data)
{
	struct weft_dev *dev = to_weft_dev(ibdev);

	if (dev->hca)
		WRITE_ONCE(dev->hca->leaving, true);
	weft_pause(WEFT_PAUSE_REMOVAL_BEGINS);
	weft_advise_end(&dev->advices);
	removal_end_qps(dev);
}

static struct ib_client removal_client = {
	.name = "weft",
	.add = removal_add,
	.remove = removal_begins,
};

/* Comes before the first device. */
int weft_removal_init(void)
{
	return ib_register_client(&removal_client);
}

/* Begins the removal of all devices. New devices cannot be added any more. */
void weft_removal_exit(void)
{
	ib_unregister_client(&removal_client);
}
