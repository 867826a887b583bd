// SPDX-License-Identifier: Apache-2.0
// Gradients of softmax and its logarithm along rows and columns, and cross-entropy of rows: the
// contract.
//
//   softmax      dx = y * (dy - sum of dy * y)
//   log_softmax  dx = dy - e^y * sum of dy
//
// Sums are blocked, so errors do not grow with their length; their order depends on the extents and
// the ISA only. Nothing outside the elements is touched.
#ifndef SMR_KERNELS_F32_SOFTMAX_GRAD_H
#define SMR_KERNELS_F32_SOFTMAX_GRAD_H

#include <stddef.h>
#include <stdint.h>

/// One group of n >= 1 adjacent elements. `dx` may be `dy`; otherwise nothing overlaps.
typedef void (*smr_f32_softmax_grad_row)(size_t n, const float *dy, const float *y, float *dx);

/// `columns` groups side by side: group j is the `rows` >= 1 elements [j], [stride + j], ... of
/// each operand. `dx` may be `dy`.
typedef void (*smr_f32_softmax_grad_columns)(size_t rows, size_t columns, size_t stride,
                                             const float *dy, const float *y, float *dx);

struct smr_f32_softmax_grad {
  const char *name;  // for profiles
  /// Index 0: softmax, 1: log_softmax.
  smr_f32_softmax_grad_row row[2];
  smr_f32_softmax_grad_columns columns[2];
  /// ln of the sum of e^(x - best) over n >= 1 elements. Writes their largest to *best.
  float (*log_sum)(size_t n, const float *x, float *best);
  /// Sum of w * (best - x + log_sum); w NULL: 1.
  float (*distance)(size_t n, const float *x, const float *w, float best, float log_sum);
  /// dx = e^(x - log_sum) * factor - w * share; w NULL: 1. `dx` may be `x`.
  void (*descend)(size_t n, const float *x, const float *w, float log_sum, float factor,
                  float share, float *dx);
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_softmax_grad *smr_f32_softmax_grad_config(uint32_t isa);

#endif
