/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The workqueues of the objects, for work that needs process context. */
#ifndef WEFT_OBJECT_QUEUE_H
#define WEFT_OBJECT_QUEUE_H

#include <linux/workqueue.h>

bool weft_queue_work(struct work_struct *work);
bool weft_queue_work_on(int cpu, struct work_struct *work);
int weft_queue_init(void);
void weft_queue_exit(void);

#endif /* WEFT_OBJECT_QUEUE_H */
