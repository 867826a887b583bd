// SPDX-License-Identifier: Apache-2.0
// Weighted sums (and maxima) of a few pixels at arbitrary offsets, and the sums for their
// gradients: the contract.
//
// A pixel is n floats from x + offsets[k] on, for k < taps; pixels may coincide. Alignment: that of
// a float.
#ifndef SMR_KERNELS_F32_TAPS_H
#define SMR_KERNELS_F32_TAPS_H

#include <stddef.h>
#include <stdint.h>

struct smr_f32_taps_kernels {
  /// y[i] = sum over k of weights[k] * x[offsets[k] + i], for i < n.
  void (*sum)(size_t n, size_t taps, const size_t *offsets, const float *weights, const float *x,
              float *y);
  /// x[offsets[k] + i] += weights[k] * y[i], for each k in turn and i < n.
  void (*spread)(size_t n, size_t taps, const size_t *offsets, const float *weights, const float *y,
                 float *x);
  /// dots[k] = sum over i < n of x[offsets[k] + i] * y[i].
  void (*dots)(size_t n, size_t taps, const size_t *offsets, const float *x, const float *y,
               float *dots);
  /// y[i] = the largest of y[i] and weights[k] * x[offsets[k] + i] over all k; NaN counts as
  /// largest.
  void (*largest)(size_t n, size_t taps, const size_t *offsets, const float *weights,
                  const float *x, float *y);
  const char *name;  // for profiles, e.g. "f32_taps__avx2"
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_f32_taps_kernels *smr_f32_taps_kernels(uint32_t isa);

#endif
