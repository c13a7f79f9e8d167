/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The beginning of a device's removal. */
#ifndef WEFT_VERBS_REMOVAL_H
#define WEFT_VERBS_REMOVAL_H

/* Comes before the first device. */
int weft_removal_init(void);

/* Begins the removal of all devices. New devices cannot be added any more. */
void weft_removal_exit(void);

#endif /* WEFT_VERBS_REMOVAL_H */
