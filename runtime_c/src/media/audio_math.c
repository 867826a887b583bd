// SPDX-License-Identifier: Apache-2.0
// Integer functions for tables of audio.
#include "base/fp.h"

#include "media/audio_math.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const uint64_t audio_math_pi = UINT64_C(0xC90FDAA22168C234);   // pi * 2^62
static const uint64_t audio_math_ln2 = UINT64_C(0x2C5C85FDF473DE6A);  // ln 2 * 2^62

// The upper 64 bits of a product; *low the lower.
static uint64_t audio_math_wide(uint64_t a, uint64_t b, uint64_t *low) {
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
  const uint64_t middle = (p00 >> 32) + (uint32_t)p01 + (uint32_t)p10;
  *low = middle << 32 | (uint32_t)p00;
  return p11 + (p01 >> 32) + (p10 >> 32) + (middle >> 32);
}

uint64_t smr_audio_mul(uint64_t a, uint64_t b) {
  uint64_t low;
  const uint64_t high = audio_math_wide(a, b, &low);
  return high << 2 | low >> 62;
}

uint64_t smr_audio_muldiv(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low;
  uint64_t rest = audio_math_wide(a, b, &low);
  if (rest == 0) return low / c;
  // The quotient fits in 64 bits, so rest < c; rest stays below 2^63.
  for (int i = 0; i < 64; i++) {
    rest = rest << 1 | low >> 63;
    low <<= 1;
    if (rest >= c) {
      rest -= c;
      low |= 1;
    }
  }
  return low;
}

// Taylor's series of sin or cos for angles of 0..pi/4, by Horner's rule.
static uint64_t audio_math_octant(bool of_sine, uint64_t angle) {
  const uint64_t square = smr_audio_mul(angle, angle);
  uint64_t acc = SMR_AUDIO_ONE;
  for (int32_t n = of_sine ? 20 : 19; n > 0; n -= 2)
    acc = SMR_AUDIO_ONE - smr_audio_mul(square, acc) / (uint32_t)(n * (n + 1));
  return of_sine ? smr_audio_mul(angle, acc) : acc;
}

int64_t smr_audio_sine(uint64_t a, uint64_t b) {
  const uint64_t quarter = 4 * (a % b) / b;
  uint64_t rest = 4 * (a % b) % b;
  if (quarter % 2 == 1) rest = b - rest;
  const bool of_sine = 2 * rest <= b;
  const uint64_t angle = audio_math_pi / (2 * b) * (of_sine ? rest : b - rest);
  const int64_t value = (int64_t)audio_math_octant(of_sine, angle);
  return quarter >= 2 ? -value : value;
}

int64_t smr_audio_cosine(uint64_t a, uint64_t b) { return smr_audio_sine(4 * (a % b) + b, 4 * b); }

uint64_t smr_audio_log2(uint64_t n) {
  uint64_t m = n << (64 - smr_audio_bits(n)), log = smr_audio_bits(n) - 1, low;
  for (int i = 0; i < SMR_AUDIO_LOG_BITS; i++) {
    m = audio_math_wide(m, m, &low);
    log = log << 1 | m >> 63;
    if (m >> 63 == 0) m <<= 1;
  }
  return log;
}

uint64_t smr_audio_exp2(uint64_t fraction) {
  const uint64_t t = smr_audio_mul(fraction << (62 - SMR_AUDIO_LOG_BITS), audio_math_ln2);
  uint64_t acc = SMR_AUDIO_ONE;
  for (uint64_t n = 20; n > 0; n--) acc = SMR_AUDIO_ONE + smr_audio_mul(t, acc) / n;
  return acc;
}

#if defined(SMR_BARE_METAL)
uint32_t smr_audio_root(uint64_t n) {
  uint64_t root = 0, bit = UINT64_C(1) << 62;
  if (n == 0) return 0;
  bit >>= (64 - smr_audio_bits(n)) & ~1u;
  for (; bit != 0; bit >>= 2) {
    // Arithmetic instead of branches, because the bits of a root are unpredictable.
    const uint64_t more = (uint64_t)0 - (uint64_t)(n >= root + bit);
    n -= (root + bit) & more;
    root = (root >> 1) + (bit & more);
  }
  return (uint32_t)root;
}
#else
// The processor's root is close, whatever its rounding; the correction makes it exact. Three times
// as fast as bit by bit.
uint32_t smr_audio_root(uint64_t n) {
  uint64_t root = (uint64_t)sqrt((double)n);
  if (root > UINT32_MAX) root = UINT32_MAX;
  if (root * root > n)
    root--;
  else if (n - root * root > 2 * root)
    root++;
  return (uint32_t)root;
}
#endif

int64_t smr_audio_fixed(float value, uint32_t bits) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  const int32_t exponent = (int32_t)(word >> 23 & 0xff);
  if (exponent == 0) return 0;
  const int64_t mantissa = (word & 0x7fffff) | 0x800000;
  const int32_t left = exponent - 150 + (int32_t)bits;
  if (left >= 0) return (int64_t)((uint64_t)mantissa << (left & 63));
  return left < -25 ? 0 : smr_audio_rounded(mantissa, (uint32_t)-left);
}

struct smr_audio_power smr_audio_power_of(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  if (word << 1 == 0) return (struct smr_audio_power){0, 0};
  const uint32_t mantissa = (word & 0x7fffff) | 0x800000;
  return (struct smr_audio_power){mantissa << 8, (int32_t)(word >> 23 & 0xff) - 158};
}
