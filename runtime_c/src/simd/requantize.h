// SPDX-License-Identifier: Apache-2.0
// Requantization in portable C, for scalar kernels and for plain loops that compilers vectorize.
// docs/reference/quantized-arithmetic.md is the norm; vector kernels implement it with their
// instructions.
//
// There are two implementations with the same bits: one with floats, and one with integers for
// cores without a floating-point unit (Cortex-M0+, M3, rv32imc), where a product, two sums and
// three comparisons in software take some 300 cycles per output.
#ifndef SMR_SIMD_REQUANTIZE_H
#define SMR_SIMD_REQUANTIZE_H

#include "simd/common.h"

#if (defined(__arm__) && !defined(__ARM_FP)) || (defined(__riscv) && !defined(__riscv_flen))
#define SMR_INTEGER_REQUANTIZE 1
#else
#define SMR_INTEGER_REQUANTIZE 0
#endif

// ---- with floats ----

// Adding and subtracting 1.5 * 2^23 rounds a float of magnitude below 2^22 to an integer, half to
// even, in the default rounding mode. Values are clamped far below that first.
#define SMR_ROUND_MAGIC 12582912.0f

SMR_INLINE int32_t smr_rounded_by_floats(float p, float lo, float hi, int32_t zero) {
  const float number = p == p ? p : 0.0f, above = number > lo ? number : lo;
  const float within = above < hi ? above : hi;
  return (int32_t)((within + SMR_ROUND_MAGIC) - SMR_ROUND_MAGIC) + zero;
}

SMR_INLINE int32_t smr_requantized_by_floats(int32_t acc, float m, float lo, float hi,
                                             int32_t zero) {
  const float p = (float)acc * m;
  return smr_rounded_by_floats(p, lo, hi, zero);
}

// ---- with integers ----

enum {
  SMR_REQUANTIZE_FAR = 1 << 22,  // an integer beyond all limits
  SMR_FLOAT_LEAD = 1 << 23,      // the implicit leading bit of a normal float's fraction
  SMR_FLOAT_BIAS = 127,
};

SMR_INLINE uint32_t smr_float_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

/// v / 2^shift, rounded half to even; 1 <= shift <= 31, and v + 2^(shift - 1) fits.
SMR_INLINE uint32_t smr_shifted_half_even(uint32_t v, uint32_t shift) {
  return (v + (UINT32_C(1) << (shift - 1)) - 1 + (v >> shift & 1)) >> shift;
}

/// round_half_even of a float; FAR, with the float's sign, if larger; 0 for NaN.
SMR_INLINE int32_t smr_whole(float v) {
  const uint32_t bits = smr_float_bits(v), magnitude = bits & INT32_MAX;
  const uint32_t shift = SMR_FLOAT_BIAS + 23 - (magnitude >> 23);  // from fraction to integer
  const uint32_t fraction = (magnitude & (SMR_FLOAT_LEAD - 1)) | SMR_FLOAT_LEAD;
  int32_t whole = 0;
  if (shift - 1 < 24)  // 1/2 <= v < 2^23
    whole = (int32_t)smr_shifted_half_even(fraction, shift);
  else if (shift == 0 || (shift > INT32_MAX && magnitude <= UINT32_C(0x7f800000)))
    whole = SMR_REQUANTIZE_FAR;
  return bits >> 31 ? -whole : whole;
}

/// round_half_even(float(acc) * m), where float() and the product are both rounded as in IEEE; FAR,
/// with the product's sign, if larger. m is not NaN.
SMR_INLINE int32_t smr_whole_product(int32_t acc, float m) {
  const uint32_t bits = smr_float_bits(m), exponent = bits >> 23 & 0xff;
  uint32_t a = acc < 0 ? 0u - (uint32_t)acc : (uint32_t)acc;
  if (a == 0) return 0;
  if (a >> 24) {  // float(acc): 24 bits
    const uint32_t beyond = 8 - (uint32_t)__builtin_clz(a);
    a = smr_shifted_half_even(a, beyond) << beyond;
  }
  // Normalise both factors; the leading bit of the product is then the first or the second. (A
  // subnormal cannot be normalised; its product is so far below 1/2 that this does not matter.)
  const uint32_t zeros = (uint32_t)__builtin_clz(a);
  const uint64_t product = (uint64_t)(a << zeros) * ((bits << 8) | UINT32_C(1) << 31);
  const uint32_t high = (uint32_t)(product >> 32) | ((uint32_t)product != 0);  // keeps a sticky bit
  // As a float, the product keeps 24 bits.
  const uint32_t drop = 7 + (high >> 31);
  const uint32_t p = smr_shifted_half_even(high, drop) << (drop - 1);  // halved: 31 bits
  const uint32_t shift = SMR_FLOAT_BIAS - 2 - exponent + zeros;
  int32_t whole = 0;
  if (shift - 8 < 24)
    whole = (int32_t)smr_shifted_half_even(p, shift);
  else if (shift < 8 || shift > INT32_MAX)
    whole = SMR_REQUANTIZE_FAR;
  return (int32_t)(bits ^ (uint32_t)acc) < 0 ? -whole : whole;
}

/// Limits are integers, so clamping after rounding gives the same as before.
SMR_INLINE int32_t smr_limited(int32_t whole, float lo, float hi, int32_t zero) {
  const int32_t least = smr_whole(lo), most = smr_whole(hi);
  const int32_t above = whole > least ? whole : least;
  return (above < most ? above : most) + zero;
}

SMR_INLINE int32_t smr_rounded_by_integers(float p, float lo, float hi, int32_t zero) {
  return smr_limited(smr_whole(p), lo, hi, zero);
}

SMR_INLINE int32_t smr_requantized_by_integers(int32_t acc, float m, float lo, float hi,
                                               int32_t zero) {
  return smr_limited(smr_whole_product(acc, m), lo, hi, zero);
}

// ---- called by kernels ----

/// round_half_even(clamp(p, lo, hi)) + zero, with `p` in units of the output's scale. lo and hi are
/// integers: the output's limits minus its zero point. NaN counts as 0. Branch-free with floats.
SMR_INLINE int32_t smr_rounded(float p, float lo, float hi, int32_t zero) {
  return SMR_INTEGER_REQUANTIZE ? smr_rounded_by_integers(p, lo, hi, zero)
                                : smr_rounded_by_floats(p, lo, hi, zero);
}

/// The quantized value of a sum: float(acc) * m, rounded separately, then as smr_rounded. m is not
/// NaN.
SMR_INLINE int32_t smr_requantized(int32_t acc, float m, float lo, float hi, int32_t zero) {
  return SMR_INTEGER_REQUANTIZE ? smr_requantized_by_integers(acc, m, lo, hi, zero)
                                : smr_requantized_by_floats(acc, m, lo, hi, zero);
}

#endif
