// SPDX-License-Identifier: Apache-2.0
// Windows, Fourier transforms and resampling in 64-bit fixed point: the contract.
//
// Weights w of windows and transforms have 40 fractional bits and magnitudes of at most 1; values
// are below 2^43. A product is rounded once, to nearest, halves up. Every instruction set gives the
// same bits, because the order of integer sums does not matter.
#ifndef SMR_KERNELS_I64_SIGNAL_H
#define SMR_KERNELS_I64_SIGNAL_H

#include <stddef.h>
#include <stdint.h>

struct smr_i64_signal {
  const char *name;  ///< for profiles, e.g. "i64_signal__avx2"

  /// y[i] = x[i] * w[i] / 2^bits; 23 <= bits <= 62. y may be x.
  void (*window)(size_t n, const int64_t *x, const int64_t *w, unsigned bits, int64_t *y);

  /// The Fourier transform, in place, of n complex numbers in bit-reversed order. n is a power of
  /// two, at least 8. `wr`, `wi`: for each m = 8, 16 .. n in turn, the m / 2 twiddles exp(-2 pi i k
  /// / m).
  void (*transform)(size_t n, const int64_t *wr, const int64_t *wi, int64_t *re, int64_t *im);

  /// Twice the spectrum y[0..n] of 2 n real numbers. z[0..n) is the transform of the complex
  /// numbers made of their even (real part) and odd (imaginary part) elements; z[n] = z[0]. `wr`,
  /// `wi`: n + 1 twiddles of 2 n.
  void (*unfold)(size_t n, const int64_t *wr, const int64_t *wi, const int64_t *zr,
                 const int64_t *zi, int64_t *yr, int64_t *yi);

  /// sum x[i] * w[i] / 2^31; w has 31 fractional bits, |x| <= 2^41, n <= 2^14. The lower 16 bits of
  /// the x are summed separately, and that sum is truncated to multiples of 2^16.
  int64_t (*dot)(size_t n, const int64_t *x, const int32_t *w);
};

/// The best kernels among `isa`; all give the same bits.
const struct smr_i64_signal *smr_i64_signal_config(uint32_t isa);

#endif
