// SPDX-License-Identifier: Apache-2.0
// Normalisation of rows and of columns: the contract.
//
//   y = (x - mean) / sqrt(mean of (x - mean)^2 + eps) * scale + bias
//
// or with 0 for the mean if not centred. `scale` and `bias` may be NULL. `y` may be `x`; otherwise
// nothing overlaps. Nothing outside the elements is touched. Orders of addition depend on the
// extents and the ISA only. Sums are blocked, so errors do not grow with the length.
#ifndef SMR_KERNELS_F32_NORM_H
#define SMR_KERNELS_F32_NORM_H

#include <stddef.h>
#include <stdint.h>

/// One group of n >= 1 adjacent elements; scale and bias have n elements.
typedef void (*smr_f32_norm_row)(size_t n, const float *x, const float *scale, const float *bias,
                                 float eps, float *y);

/// `columns` groups side by side: group j is the `rows` >= 1 elements x[j], x[stride + j], ...;
/// scale and bias have `columns` elements.
typedef void (*smr_f32_norm_columns)(size_t rows, size_t columns, size_t stride, const float *x,
                                     const float *scale, const float *bias, float eps, float *y);

struct smr_f32_norm {
  const char *name;              // for profiles
  smr_f32_norm_row centred_row;  // layer normalisation
  smr_f32_norm_row plain_row;    // root mean square
  smr_f32_norm_columns centred_columns;
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_norm *smr_f32_norm_config(uint32_t isa);

#endif
