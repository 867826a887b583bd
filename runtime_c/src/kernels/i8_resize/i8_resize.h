// SPDX-License-Identifier: Apache-2.0
// Linear interpolation of int8, one output row at a time: the contract.
//
// Weights have 11 fractional bits, and sums of them are exact: below 255 * 2^22 in magnitude.
#ifndef SMR_KERNELS_I8_RESIZE_H
#define SMR_KERNELS_I8_RESIZE_H

#include <stddef.h>
#include <stdint.h>

enum { SMR_I8_RESIZE_BITS = 11, SMR_I8_RESIZE_ONE = 1 << SMR_I8_RESIZE_BITS };

/// round(clamp(float(sum) * multiplier, lo - zero, hi - zero)) + zero, rounded half to even.
struct smr_i8_resize_end {
  float multiplier;
  int32_t zero, lo, hi;
};

struct smr_i8_resize {
  const char *name;  ///< for profiles, e.g. "i8_resize__avx2"

  /// y[i] = x[i] - x_zero.
  void (*centre)(size_t n, const int8_t *x, int32_t x_zero, int32_t *y);

  /// y[i] = (a[i] - x_zero) * (2^11 - weight) + (b[i] - x_zero) * weight.
  void (*blend)(size_t n, const int8_t *a, const int8_t *b, int32_t weight, int32_t x_zero,
                int32_t *y);

  /// Pixels of `channels` of an output row: pixel p is x[taps[3p]] * (2^11 - w) + x[taps[3p + 1]] *
  /// w with w = taps[3p + 2], requantized.
  void (*row)(size_t pixels, size_t channels, const int32_t *taps, const int32_t *x,
              const struct smr_i8_resize_end *end, int8_t *y);
};

/// The best kernels among `isa`; all give the same bits.
const struct smr_i8_resize *smr_i8_resize_config(uint32_t isa);

#endif
