// SPDX-License-Identifier: Apache-2.0
// Sums of int8 and their conversion to means, for means and average pools: the contract.
#ifndef SMR_KERNELS_I8_MEAN_H
#define SMR_KERNELS_I8_MEAN_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/f32_pool/f32_pool.h"

enum {
  SMR_I8_MEAN_MOST = 1 << 23
};  // int8 elements whose sum, minus zero points, always fits
    // int32

/// The mean of a sum: round(clamp(float(sum - offset) * multiplier, lo - zero, hi - zero)) + zero,
/// rounded half to even.
struct smr_i8_mean_end {
  int32_t offset;    ///< the zero point of the input times the number of elements
  float multiplier;  ///< finite
  int32_t zero, lo, hi;
};

/// The mean of dequantized elements: p = (the sum of (x - x_zero) * x_scale, / count) / scale, with
/// each operation rounded to float32; then round(clamp(p, lo - zero, hi - zero)) + zero as above.
struct smr_i8_mean_real {
  float x_scale;  ///< at most 2^64, so that no sum overflows
  float count, scale;
  int32_t x_zero, zero, lo, hi;
};

struct smr_i8_mean {
  const char *name;  ///< for profiles, e.g. "i8_mean__avx2"

  /// y[c] = the mean of x[tap][c] over the window, for c < channels; at most SMR_I8_MEAN_MOST taps.
  /// Strides of the window are bytes.
  void (*window)(size_t channels, const struct smr_pool_window *window,
                 const struct smr_i8_mean_end *end, int8_t *y);

  /// The same for dequantized elements, added in row-major order, starting from 0; any number of
  /// taps.
  void (*window_real)(size_t channels, const struct smr_pool_window *window,
                      const struct smr_i8_mean_real *mean, int8_t *y);

  /// sums[c] += the sum of x[r * stride + c] over r < rows, for c < width.
  void (*columns)(size_t width, size_t rows, size_t stride, const int8_t *x, int32_t *sums);

  /// The sum of x[0 .. n).
  int32_t (*row)(size_t n, const int8_t *x);

  /// y[i] = the mean of sums[i].
  void (*finish)(size_t n, const int32_t *sums, const struct smr_i8_mean_end *end, int8_t *y);
};

/// The best kernels among `isa`; all give the same bits.
const struct smr_i8_mean *smr_i8_mean_config(uint32_t isa);

#endif
