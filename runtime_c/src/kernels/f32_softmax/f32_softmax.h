// SPDX-License-Identifier: Apache-2.0
// softmax and its logarithm along rows and along columns: the contract.
//
//   softmax      y = e^(x - max) / sum e^(x - max)
//   log_softmax  y = x - max - ln sum e^(x - max)
//
// `y` may be `x`; otherwise they do not overlap. Nothing outside the elements is touched. The order
// of additions depends on the extents and the ISA only. A NaN makes its whole group NaN.
#ifndef SMR_KERNELS_F32_SOFTMAX_H
#define SMR_KERNELS_F32_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

/// One group of n >= 1 adjacent elements.
typedef void (*smr_f32_softmax_row)(size_t n, const float *x, float *y);

/// `columns` groups side by side: group j is the `rows` >= 1 elements x[j], x[stride + j], ...
typedef void (*smr_f32_softmax_columns)(size_t rows, size_t columns, size_t stride, const float *x,
                                        float *y);

/// Index 0: softmax, 1: log_softmax.
struct smr_f32_softmax {
  const char *name;  // for profiles
  smr_f32_softmax_row row[2];
  smr_f32_softmax_columns columns[2];
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_softmax *smr_f32_softmax_config(uint32_t isa);

#endif
