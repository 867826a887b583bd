// SPDX-License-Identifier: Apache-2.0
// Finds the minimum or maximum with vector kernels, then its index by equality. So no comparison
// waits for the one before.
#include "base/fp.h"

#include "ops/reduce/arg_minmax.h"

#include "ops/axis.h"
#include "simd/common.h"

enum { ARG_MINMAX_BLOCK = 64 };

// Whether v equals the minimum or maximum; NaN equals NaN.
SMR_INLINE int arg_minmax_is(float v, float extreme) {
  return (v == extreme) | ((v != v) & (extreme != extreme));
}

// Whether one of n <= ARG_MINMAX_BLOCK elements equals it.
SMR_VECTORIZED static int arg_minmax_among(size_t n, const float *x, float extreme) {
  int found = 0;
  for (size_t i = 0; i < n; i++) found |= arg_minmax_is(x[i], extreme);
  return found;
}

size_t smr_arg_minmax_row(const struct smr_arg_minmax *e, size_t n, const float *x) {
  const enum smr_f32_reduce_op op = e->smallest ? SMR_F32_REDUCE_MIN : SMR_F32_REDUCE_MAX;
  const float extreme = e->kernels->row[op](1, n, x, 0);
  size_t block = e->last ? (n - 1) / ARG_MINMAX_BLOCK * ARG_MINMAX_BLOCK : 0;
  for (;;) {
    const size_t count = n - block < ARG_MINMAX_BLOCK ? n - block : ARG_MINMAX_BLOCK;
    if (arg_minmax_among(count, x + block, extreme)) {
      size_t i = e->last ? count - 1 : 0;
      while (!arg_minmax_is(x[block + i], extreme)) i = e->last ? i - 1 : i + 1;
      return block + i;
    }
    block = e->last ? block - ARG_MINMAX_BLOCK : block + ARG_MINMAX_BLOCK;
  }
}

// Row `i` of the columns: record i in each column whose element equals the minimum or maximum.
SMR_VECTORIZED static void arg_minmax_mark(size_t count, const float *x, const float *extreme,
                                           uint32_t i, uint32_t *index) {
  for (size_t j = 0; j < count; j++) index[j] = x[j] == extreme[j] ? i : index[j];
}
static void arg_minmax_mark_nan(size_t count, const float *x, const float *extreme, uint32_t i,
                                uint32_t *index) {
  for (size_t j = 0; j < count; j++)
    if (arg_minmax_is(x[j], extreme[j])) index[j] = i;
}

void smr_arg_minmax_columns(const struct smr_arg_minmax *e, size_t n, size_t count, size_t stride,
                            const float *x, uint32_t *index) {
  const enum smr_f32_reduce_op op = e->smallest ? SMR_F32_REDUCE_MIN : SMR_F32_REDUCE_MAX;
  float extreme[SMR_AXIS_COLUMNS];
  bool nan = false;
  for (size_t j = 0; j < count; j++) extreme[j] = smr_f32_reduce_start(op);
  e->kernels->columns[op](n, count, x, stride, extreme);
  for (size_t j = 0; j < count; j++) nan = nan || extreme[j] != extreme[j];
  // The last match counts, so search backwards for the first index.
  for (size_t r = 0; r < n; r++) {
    const size_t i = e->last ? r : n - 1 - r;
    (nan ? arg_minmax_mark_nan : arg_minmax_mark)(count, x + i * stride, extreme, (uint32_t)i,
                                                  index);
  }
}
