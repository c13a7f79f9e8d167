// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/work.h"

#include <linux/init.h>

#include "engine/requester.h"
#include "engine/responder.h"
#include "mem/odp_pins.h"
#include "object/queue.h"
#include "object/ucontext.h"
#include "wire/opcode.h"

/* Returns 0 or -ENOMEM. */
int __init weft_engine_init(void)
{
	int ret;

	weft_opcode_init();
	weft_doorbell_install(weft_requester_doorbell, weft_responder_doorbell);
	ret = weft_odp_pins_init();
	if (ret)
		return ret;
	ret = weft_queue_init();
	if (ret)
		weft_odp_pins_exit();
	return ret;
}

/* After the last device. */
void weft_engine_exit(void)
{
	/* first pins, whose work items post events to turns */
	weft_odp_pins_exit();
	weft_queue_exit();
}
