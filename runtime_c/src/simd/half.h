// SPDX-License-Identifier: Apache-2.0
// Portable conversion between float32 and the 16-bit floats: float16, with the same bits as
// hardware conversions, and bfloat16, the upper half of a float32.
#ifndef SMR_SIMD_HALF_H
#define SMR_SIMD_HALF_H

#include <stdint.h>
#include <string.h>

#include "simd/common.h"

/// The float32 of a float16's bits. Exact; NaN becomes quiet.
static inline float smr_f16_to_f32(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  uint32_t exponent = h >> 10 & 0x1fu, mantissa = h & 0x3ffu, bits;
  if (exponent == 0x1f) {
    bits = sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0);
  } else if (exponent) {
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  } else {
    // Subnormal: mantissa * 2^-24, exact in float32.
    const float magnitude = (float)(int32_t)mantissa * 0x1p-24f;
    memcpy(&bits, &magnitude, sizeof bits);
    bits |= sign;
  }
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/// The float16 bits nearest to a float32, ties to even. Overflow gives infinity; NaN becomes quiet
/// and keeps the upper bits of its payload.
static inline uint16_t smr_f32_to_f16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
  if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);  // >= 65520 rounds to infinity
  if (bits >= 0x38800000u) {                                   // >= 2^-14: normal
    const uint32_t odd = bits >> 13 & 1u;
    return (uint16_t)(sign | (bits - 0x38000000u + 0xfffu + odd) >> 13);
  }
  if (bits <= 0x33000000u) return (uint16_t)sign;  // <= 2^-25 rounds to zero
  // Subnormal: shift the mantissa to units of 2^-24 and round it half to even.
  const uint32_t shift = 126 - (bits >> 23);  // 14 .. 24
  const uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u;
  const uint32_t whole = mantissa >> shift, rest = mantissa & ((1u << shift) - 1u);
  const uint32_t half = 1u << (shift - 1);
  const uint32_t up = rest > half || (rest == half && (whole & 1u));
  return (uint16_t)(sign | (whole + up));
}

/// The float32 of a bfloat16's bits. Exact.
SMR_INLINE float smr_bf16_to_f32(uint16_t b) {
  const uint32_t bits = (uint32_t)b << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/// The bfloat16 bits nearest to a float32, ties to even. NaN becomes quiet and keeps the upper bits
/// of its payload.
SMR_INLINE uint16_t smr_f32_to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  const uint32_t nan = bits >> 16 | 0x40u, rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

#endif
