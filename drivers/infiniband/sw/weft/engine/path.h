/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The facts that a requester learns about its path. */
#ifndef WEFT_ENGINE_PATH_H
#define WEFT_ENGINE_PATH_H

#include "object/qp.h"

void weft_path_renew(struct weft_qp *qp);
void weft_path_forget(struct weft_qp *qp);

#endif /* WEFT_ENGINE_PATH_H */
