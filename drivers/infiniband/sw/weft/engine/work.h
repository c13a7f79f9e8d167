/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the engine sets up at module load.
 */
#ifndef WEFT_ENGINE_WORK_H
#define WEFT_ENGINE_WORK_H

/**
 * weft_engine_init - before the first device
 *
 * Return: 0 or -ENOMEM.
 */
int weft_engine_init(void);

/**
 * weft_engine_exit - after the last device
 */
void weft_engine_exit(void);

#endif /* WEFT_ENGINE_WORK_H */
