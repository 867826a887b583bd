// SPDX-License-Identifier: Apache-2.0
// Reducing floats: the contract.
//
// The order of additions depends on n (or rows) and the ISA only, never on alignment or threads.
// Long sums are divided into blocks whose partial sums are added in turn, so the error does not
// grow with the length. MAX and MIN give NaN if any element is NaN. Nothing outside the elements is
// read.
#ifndef SMR_KERNELS_F32_REDUCE_H
#define SMR_KERNELS_F32_REDUCE_H

#include <stddef.h>
#include <stdint.h>

enum smr_f32_reduce_op {
  SMR_F32_REDUCE_SUM,
  SMR_F32_REDUCE_MAX,
  SMR_F32_REDUCE_MIN,
  SMR_F32_REDUCE_PROD,
  SMR_F32_REDUCE_COUNT
};

/// All elements x[r * stride + j], r < rows, j < n; rows and n >= 1.
typedef float (*smr_f32_reduce_row)(size_t rows, size_t n, const float *x, size_t stride);

/// acc[j] = acc[j] op x[j] op x[stride + j] ... over `rows` rows, for j < n.
typedef void (*smr_f32_reduce_columns)(size_t rows, size_t n, const float *x, size_t stride,
                                       float *acc);

struct smr_f32_reduce {
  const char *name;  // for profiles
  smr_f32_reduce_row row[SMR_F32_REDUCE_COUNT];
  smr_f32_reduce_columns columns[SMR_F32_REDUCE_COUNT];
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_reduce *smr_f32_reduce_config(uint32_t isa);

/// The neutral element of `op`: 0, -infinity, infinity, 1.
float smr_f32_reduce_start(enum smr_f32_reduce_op op);

/// a op b.
float smr_f32_reduce_join(enum smr_f32_reduce_op op, float a, float b);

#endif
