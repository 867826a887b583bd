// SPDX-License-Identifier: Apache-2.0
// Integer functions for tables of audio: docs/guides/preprocessing-audio.md, "Tables".
//
// Results are the same on every machine, because no libm is used.
#ifndef SMR_MEDIA_AUDIO_MATH_H_
#define SMR_MEDIA_AUDIO_MATH_H_

#include "base/fp.h"

#include <stdint.h>

#define SMR_AUDIO_ONE (UINT64_C(1) << 62)
enum { SMR_AUDIO_LOG_BITS = 48 };

/// m * 2^e with 2^31 <= m < 2^32, or zero: m = e = 0.
struct smr_audio_power {
  uint32_t m;
  int32_t e;
};

/// Number of significant bits of x; 0 for 0.
static inline uint32_t smr_audio_bits(uint64_t x) {
  return x == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(x);
}

/// value / 2^bits to the nearest whole number, halves up; bits <= 62.
static inline int64_t smr_audio_rounded(int64_t value, uint32_t bits) {
  return (value + (INT64_C(1) << bits >> 1)) >> bits;
}

/// m * 2^e, the bits of m after the first 32 dropped.
static inline struct smr_audio_power smr_audio_normalised(uint64_t m, int32_t e) {
  if (m == 0) return (struct smr_audio_power){0, 0};
  const int32_t left = 32 - (int32_t)smr_audio_bits(m);
  const uint64_t kept = left >= 0 ? m << left : m >> -left;
  return (struct smr_audio_power){(uint32_t)kept, e - left};
}

/// a * b / 2^62 of two numbers with 62 fractional bits.
uint64_t smr_audio_mul(uint64_t a, uint64_t b);

/// floor(a * b / c), which must fit 64 bits; 0 < c < 2^63.
uint64_t smr_audio_muldiv(uint64_t a, uint64_t b, uint64_t c);

/// sin(2 pi a / b) with 62 fractional bits; b < 2^30, a < 2^60.
int64_t smr_audio_sine(uint64_t a, uint64_t b);
/// cos(2 pi a / b); b < 2^28.
int64_t smr_audio_cosine(uint64_t a, uint64_t b);

/// The binary logarithm of n >= 1, with 48 fractional bits.
uint64_t smr_audio_log2(uint64_t n);
/// 2^(fraction / 2^48) for fraction < 2^48, with 62 fractional bits.
uint64_t smr_audio_exp2(uint64_t fraction);
/// floor(sqrt(n)).
uint32_t smr_audio_root(uint64_t n);

/// A nonnegative float, below 2^(62 - bits), to `bits` fractional bits, halves up.
int64_t smr_audio_fixed(float value, uint32_t bits);
/// A finite, normal or zero, nonnegative float, exactly.
struct smr_audio_power smr_audio_power_of(float value);

#endif  // SMR_MEDIA_AUDIO_MATH_H_
