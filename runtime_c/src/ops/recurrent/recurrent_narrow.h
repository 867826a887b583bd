// SPDX-License-Identifier: Apache-2.0
// Products of lstm and gru with quantized weights: each row of x and of the state is quantized with
// its own scale (kernels/i8_dynamic), sums are int32, everything else is float32.
#ifndef SMR_OPS_RECURRENT_NARROW_H
#define SMR_OPS_RECURRENT_NARROW_H

#include "ops/recurrent/recurrent.h"

/// Fail unless w and r are quantized per tensor or per row of the gates, x is float32, and the
/// operator is not in training.
samara_status smr_recurrent_narrow_check(const struct smr_job *job);

/// Take a direction's scratch; offsets are in all->narrow8.
samara_status smr_recurrent_narrow_scratch(struct smr_job *job, struct smr_recurrent *all);

/// Set the plans and the kernel's name.
samara_status smr_recurrent_narrow_plan(struct smr_job *job, struct smr_recurrent *all);

/// Pack the rows of bytes at `src` to panels, and compute their column sums.
void smr_recurrent_narrow_pack(const struct smr_job *job,
                               const struct smr_recurrent_weights *weights, const void *src,
                               void *out);

/// Once per run and direction: quantize x, fill the column arrays.
void smr_recurrent_narrow_start(const struct smr_recurrent_run *run);

/// Units [begin, end) of the product of x and the weights of all gates.
samara_status smr_recurrent_narrow_input(struct smr_recurrent_run *run, size_t begin, size_t end);

/// Like smr_recurrent_product.
samara_status smr_recurrent_narrow_product(struct smr_recurrent_run *run, uint32_t part,
                                           const float *a, const float *bias, bool add, float *out,
                                           size_t out_stride);

#endif
