// SPDX-License-Identifier: Apache-2.0
// Requantization in portable C, for scalar kernels and for plain loops that compilers make vectors
// of. docs/quantization.md is the norm; vector kernels do the same with their own instructions.
//
// Adding and taking away 1.5 * 2^23 rounds a float of magnitude below 2^22 to a whole number, half
// to even, in the default rounding mode. What is added to is clamped before and far below that.
#ifndef SMR_SIMD_REQUANTIZE_H
#define SMR_SIMD_REQUANTIZE_H

#include "simd/common.h"

#define SMR_ROUND_MAGIC 12582912.0f

/// round_half_even(clamp(p, lo, hi)) + zero for a `p` in steps of the output; lo and hi are the
/// output's limits less its zero point. NaN counts as 0. Without a branch.
SMR_INLINE int32_t smr_rounded(float p, float lo, float hi, int32_t zero) {
  const float number = p == p ? p : 0.0f, above = number > lo ? number : lo;
  const float within = above < hi ? above : hi;
  return (int32_t)((within + SMR_ROUND_MAGIC) - SMR_ROUND_MAGIC) + zero;
}

/// The quantized value of a sum: float(acc) * m rounds on its own, then as smr_rounded.
SMR_INLINE int32_t smr_requantized(int32_t acc, float m, float lo, float hi, int32_t zero) {
  const float p = (float)acc * m;
  return smr_rounded(p, lo, hi, zero);
}

#endif
