// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/work.h"

#include <linux/init.h>

#include "engine/requester.h"
#include "engine/responder.h"
#include "object/turn.h"
#include "object/ucontext.h"
#include "wire/opcode.h"

int __init weft_engine_init(void)
{
	weft_opcode_init();
	weft_doorbell_install(weft_requester_doorbell, weft_responder_doorbell);
	return weft_turn_init_workqueue();
}

void weft_engine_exit(void)
{
	weft_turn_exit_workqueue();
}
