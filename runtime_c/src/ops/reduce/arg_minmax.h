// SPDX-License-Identifier: Apache-2.0
// Index of the largest or smallest float along an axis: shared by argmax, argmin and hardmax.
#ifndef SMR_OPS_ARG_MINMAX_H
#define SMR_OPS_ARG_MINMAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/f32_reduce/f32_reduce.h"
#include "ops/op.h"

/// What to find: the largest or smallest element; among equal ones, the first or last. NaN counts
/// as largest and as smallest.
struct smr_arg_minmax {
  const struct smr_f32_reduce *kernels;
  bool smallest, last;
};

/// The index in x[0] ... x[n - 1]; n >= 1.
size_t smr_arg_minmax_row(const struct smr_arg_minmax *e, size_t n, const float *x);

/// index[j] in x[j], x[stride + j], ... for j < count <= 256; 1 <= n <= UINT32_MAX.
void smr_arg_minmax_columns(const struct smr_arg_minmax *e, size_t n, size_t count, size_t stride,
                            const float *x, uint32_t *index);

/// Record the kernels for both functions.
static inline samara_status smr_arg_minmax_need(struct smr_job *job,
                                                const struct smr_arg_minmax *e) {
  const enum smr_f32_reduce_op op = e->smallest ? SMR_F32_REDUCE_MIN : SMR_F32_REDUCE_MAX;
  SMR_NEED_KERNEL(job, f32_reduce_row_sum, op, e->kernels->row[op]);
  SMR_NEED_KERNEL(job, f32_reduce_row_sum, SMR_F32_REDUCE_COUNT + op, e->kernels->columns[op]);
  return SAMARA_OK;
}

/// Fails with LIMIT if an axis of `n` elements is too long for smr_arg_minmax_columns.
static inline samara_status smr_arg_minmax_check(const struct smr_job *job, size_t n) {
  const uint32_t narrow = (uint32_t)n;  // a cast, because size_t may also have 32 bits
  if (narrow != n)
    SMR_FAIL(job->error, LIMIT, "%s: an axis of %zu elements is too long", job->op->name, n);
  return SAMARA_OK;
}

#endif
