/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Notices (IBA 13.4.8): what a trap to the subnet manager carries.
 */
#ifndef WEFT_FABRIC_NOTICE_H
#define WEFT_FABRIC_NOTICE_H

#include <rdma/ib_smi.h>

/**
 * weft_notice_tid - the transaction of a trap
 * @number: counts the things that there were to tell
 *
 * Return: transaction ID, for all times it is sent; that which represses it has the same.
 */
__be64 weft_notice_tid(u32 number);

/**
 * weft_notice_link_change - make trap 128: the state of a switch port has changed
 * @smp: result
 * @lid: of the switch
 * @number: see weft_notice_tid()
 */
void weft_notice_link_change(struct ib_smp *smp, u16 lid, u32 number);

#endif /* WEFT_FABRIC_NOTICE_H */
