/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The removal of a device: when it begins. The core tells its clients, in turn, and the
 * driver last of all; so the driver is a client of its own devices.
 */
#ifndef WEFT_VERBS_REMOVAL_H
#define WEFT_VERBS_REMOVAL_H

/**
 * weft_removal_init - at module load, before there is a device
 *
 * Return: 0 or an error.
 */
int weft_removal_init(void);

/**
 * weft_removal_exit - at module unload: the removal of all devices begins
 *
 * There is nobody any more who makes new ones.
 */
void weft_removal_exit(void);

#endif /* WEFT_VERBS_REMOVAL_H */
