// SPDX-License-Identifier: Apache-2.0
// Float routines with the same bits on every instruction set and compiler: the contract.
//
// All arithmetic is float32, rounded to nearest, ties to even. A product and the sum that follows
// it round separately. An operation in brackets rounds once.
//
//   sums        sixteen partial sums start at +0. Element i is added to partial i mod 16, in the
//               order of i. Then the upper half of the partials is added to the lower: 8 sums
//               p[j] + p[j + 8], 4, 2, 1. No element gives +0.
//   max         the largest element. NaN if any is NaN; -infinity of none; never -0.
//   exp(x)      x = x clamped to [-87.25, 89];     t = (x * 0x1.715476p+0) + 0x1.8p23;
//               n = t - 0x1.8p23 (an integer);      r = (x - (n * 0x1.62e4p-1)) +
//                                                       (n * -0x1.7f7d1cp-20);
//               q = 0x1.6a4b98p-10; q = (q * r) + c for c in 0x1.123e5cp-7, 0x1.5558bap-5,
//               0x1.55548cp-3, 0x1.fffffcp-2;
//               y = ((q * (r * r)) + r) + 1;        (y + y) * 2^(n - 1), with 0 for 2^-127.
//               Within 1 ulp where the result is normal. 1 at 0, 0 below -87.0 (results below
//               2^-125.5 count as 0), infinity above 88.7228.
//   the others  math.h, in terms of the vocabulary. Errors: log 0.9 ulp, sigmoid 2.4 and silu 3.6
//               ulp (above -86.9, where exp is not 0), tanh 1.4 ulp, erf 2 ulp of 1, gelu and
//               gelu_tanh 5e-7 for results up to 4.
//
// NaN gives NaN; which NaN (its sign and payload) is not defined. Subnormal inputs and results are
// those of IEEE: a thread that flushes them to zero gets other bits.
//
// Rows are contiguous. `y` may be `x`; otherwise nothing overlaps. Pointers are aligned to floats,
// and nothing beyond the elements is touched. n may be 0.
//
// exporter/samara/exporter/ops/exact_float.py has the same routines in numpy, bit for bit.
#ifndef SMR_KERNELS_F32_EXACT_H
#define SMR_KERNELS_F32_EXACT_H

#include "kernels/f32_vunary/f32_vunary.h"

#include <stddef.h>
#include <stdint.h>

enum { SMR_F32_EXACT_PARTIALS = 16 };

/// Functions of one element (math.h).
enum smr_f32_exact_function {
  SMR_F32_EXACT_EXP,
  SMR_F32_EXACT_LOG,
  SMR_F32_EXACT_SIGMOID,
  SMR_F32_EXACT_SILU,  // x * sigmoid(x)
  SMR_F32_EXACT_TANH,
  SMR_F32_EXACT_ERF,
  SMR_F32_EXACT_GELU,       // (x * 0.5) * (erf(x * 0.70710677) + 1)
  SMR_F32_EXACT_GELU_TANH,  // the same with tanh
  SMR_F32_EXACT_RELU,       // 0 if x < 0, else x: -0 stays
  SMR_F32_EXACT_CLAMP,      // params[0] if x < params[0], params[1] if x > params[1], else x
  SMR_F32_EXACT_COUNT
};

struct smr_f32_exact {
  const char *name;  // for profiles

  /// The sum of a[i] * b[i].
  float (*dot)(size_t n, const float *a, const float *b);
  /// y[r] = dot(n, a, b + r * stride) for r < rows: faster than as many calls.
  void (*dots)(size_t rows, size_t n, const float *a, const float *b, size_t stride, float *y);
  /// The sum of a[i].
  float (*sum)(size_t n, const float *a);
  /// The sum of (a[i] - shift) * (a[i] - shift).
  float (*squares)(size_t n, const float *a, float shift);
  float (*max)(size_t n, const float *a);

  /// y[i] = exp(x[i] - shift). Returns the sum of y[i].
  float (*exp_sum)(size_t n, const float *x, float shift, float *y);
  /// y[i] = w * x[i].
  void (*scale)(size_t n, float w, const float *x, float *y);
  /// y[i] = y[i] + (w * x[i]).
  void (*scale_add)(size_t n, float w, const float *x, float *y);
  /// scale_add(n, w[r], x + r * stride, y) for r = 0, 1 ... rows - 1: faster than as many calls.
  void (*scale_add_rows)(size_t rows, size_t n, const float *w, const float *x, size_t stride,
                         float *y);
  /// y[i] = (x[i] - a) - b: logarithms of a softmax.
  void (*minus)(size_t n, const float *x, float a, float b, float *y);
  /// y[i] = (((x[i] - mean) * inverse) * scale[i]) + bias[i]; scale and bias may be NULL.
  void (*normalize)(size_t n, const float *x, float mean, float inverse, const float *scale,
                    const float *bias, float *y);

  /// y[i] = f(x[i]); `params` is read by CLAMP only.
  smr_f32_vunary_ukernel function[SMR_F32_EXACT_COUNT];
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL. All give the
/// same bits. A build without a part has NULL in its place.
const struct smr_f32_exact *smr_f32_exact_config(uint32_t isa);

#endif
