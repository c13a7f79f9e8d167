// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <rdma/weft-abi.h>

#include "device.h"
#include "engine/work.h"
#include "fabric/uplink.h"
#include "inject_file.h"
#include "link/tx_credit.h"
#include "link/udp.h"
#include "mem/pi.h"
#include "netlink.h"
#include "object/backlog.h"
#include "object/monitor.h"
#include "object/table.h"
#include "pause.h"
#include "verbs/removal.h"
#include "wire/icrc.h"

#define SIZE_IS(_name, _size) (sizeof(struct _name) == (_size))
static_assert(WEFT_ABI_SIZES(SIZE_IS));

static struct dentry *main_debugfs;

static int __init weft_init(void)
{
	int ret;

	weft_icrc_init();
	main_debugfs = debugfs_create_dir("weft", NULL);
	weft_pause_init(main_debugfs);
	ret = weft_backlog_setup();
	if (ret)
		goto err_icrc_exit;
	ret = weft_engine_init();
	if (ret)
		goto err_backlog_exit;
	ret = weft_tx_credit_init();
	if (ret)
		goto err_engine_exit;
	ret = weft_udp_init();
	if (ret)
		goto err_tx_credit_exit;
	ret = weft_uplink_init();
	if (ret)
		goto err_udp_exit;
	ret = weft_removal_init();
	if (ret)
		goto err_uplink_exit;
	ret = weft_monitor_init();
	if (ret)
		goto err_removal_exit;
	ret = weft_device_init();
	if (ret)
		goto err_monitor_exit;
	/* last, because users can add devices as soon as it is done */
	weft_netlink_init();
	weft_inject_file_init(main_debugfs);
	return 0;

err_monitor_exit:
	weft_monitor_exit();
err_removal_exit:
	weft_removal_exit();
err_uplink_exit:
	weft_uplink_exit();
err_udp_exit:
	weft_udp_exit();
err_tx_credit_exit:
	weft_tx_credit_exit();
err_engine_exit:
	weft_engine_exit();
err_backlog_exit:
	weft_backlog_exit();
err_icrc_exit:
	debugfs_remove_recursive(main_debugfs);
	weft_icrc_exit();
	return ret;
}

static void __exit weft_exit(void)
{
	weft_netlink_exit();
	weft_removal_exit();
	weft_device_exit();
	weft_monitor_exit();
	weft_uplink_exit();
	weft_udp_exit();
	weft_tx_credit_exit();
	weft_engine_exit();
	/* a rule names a device, and no device is left */
	debugfs_remove_recursive(main_debugfs);
	weft_icrc_exit();
	/* RCU callbacks run code of this module */
	rcu_barrier();
	weft_backlog_exit();
	weft_pi_exit();
	weft_table_exit();
}

module_init(weft_init);
module_exit(weft_exit);

MODULE_AUTHOR("weft developers");
MODULE_DESCRIPTION("Software RDMA devices on any network interface");
MODULE_VERSION(WEFT_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
/* weft has to register its client after ib_uverbs, see verbs/removal.c */
MODULE_SOFTDEP("pre: ib_uverbs");
