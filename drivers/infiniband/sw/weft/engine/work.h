/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Set up the engine at module load, before the first device. */
#ifndef WEFT_ENGINE_WORK_H
#define WEFT_ENGINE_WORK_H

int weft_engine_init(void);
void weft_engine_exit(void);

#endif /* WEFT_ENGINE_WORK_H */
