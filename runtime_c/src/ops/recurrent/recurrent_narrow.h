// SPDX-License-Identifier: Apache-2.0
// Products of lstm and gru with quantized weights: rows of x and of the state become bytes, each
// with a scale of its own (kernels/i8_dynamic), sums are int32, all else is float32.
#ifndef SMR_OPS_RECURRENT_NARROW_H
#define SMR_OPS_RECURRENT_NARROW_H

#include "ops/recurrent/recurrent.h"

/// Fail unless w and r are quantized per tensor or per row of the gates, beside float32 x and
/// without training.
samara_status smr_recurrent_narrow_check(const struct smr_job *job);

/// A direction's part of scratch, in all->narrow8.
samara_status smr_recurrent_narrow_scratch(struct smr_job *job, struct smr_recurrent *all);

/// The plans, and the kernel's name.
samara_status smr_recurrent_narrow_plan(struct smr_job *job, struct smr_recurrent *all);

/// Panels of the rows of bytes at `src`, and the sums of their columns.
void smr_recurrent_narrow_pack(const struct smr_job *job,
                               const struct smr_recurrent_weights *weights, const void *src,
                               void *out);

/// Once per run and direction: x as bytes, what belongs to columns.
void smr_recurrent_narrow_start(const struct smr_recurrent_run *run);

/// Units [begin, end) of the input part of all gates.
samara_status smr_recurrent_narrow_input(struct smr_recurrent_run *run, size_t begin, size_t end);

/// As smr_recurrent_product.
samara_status smr_recurrent_narrow_product(struct smr_recurrent_run *run, uint32_t part,
                                           const float *a, const float *bias, bool add, float *out,
                                           size_t out_stride);

#endif
