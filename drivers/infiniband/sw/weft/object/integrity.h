/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory regions of kernel consumers with protection information of T10. */
#ifndef WEFT_OBJECT_INTEGRITY_H
#define WEFT_OBJECT_INTEGRITY_H

#include <linux/types.h>

struct ib_mr;
struct ib_mr_status;
struct ib_pd;
struct scatterlist;

/* methods of ib_device_ops */
struct ib_mr *weft_alloc_mr_integrity(struct ib_pd *pd, u32 max_num_data_sg, u32 max_num_meta_sg);
int weft_map_mr_sg_pi(struct ib_mr *ib_mr, struct scatterlist *data_sg, int data_sg_nents,
		      unsigned int *data_sg_offset, struct scatterlist *meta_sg, int meta_sg_nents,
		      unsigned int *meta_sg_offset);
int weft_check_mr_status(struct ib_mr *ib_mr, u32 check_mask, struct ib_mr_status *status);

#endif /* WEFT_OBJECT_INTEGRITY_H */
