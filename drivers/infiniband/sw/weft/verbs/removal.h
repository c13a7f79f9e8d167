/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The beginning of a device's removal. */
#ifndef WEFT_VERBS_REMOVAL_H
#define WEFT_VERBS_REMOVAL_H

int weft_removal_init(void);
void weft_removal_exit(void);

#endif /* WEFT_VERBS_REMOVAL_H */
