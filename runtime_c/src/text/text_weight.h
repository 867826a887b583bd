/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of samplers, in integers, so that every machine chooses the same token.
 *
 * The depth of a token is how far its logit is below the highest one, in octaves of probability:
 * log2(e) / temperature * (highest - logit), in steps of 2^-24. Its weight is 2^-depth in units of
 * 2^-40: the share of the highest probability.
 */
#ifndef SMR_TEXT_TEXT_WEIGHT_H_
#define SMR_TEXT_TEXT_WEIGHT_H_

#include <stdint.h>

enum {
  SMR_TEXT_OCTAVE = 24,  // log2 of the steps of an octave
  SMR_TEXT_UNIT = 40,    // log2 of the highest weight
  // Tokens at least so deep have no weight.
  SMR_TEXT_DEPTHS = (SMR_TEXT_UNIT + 1) << SMR_TEXT_OCTAVE,
};

/// The weight of a depth, which is at most SMR_TEXT_DEPTHS.
///
/// 2^-f for f in [0, 1) is 1 - f (c1 - f (c2 - ... f c6)) in units of 2^-32, within 2^-27 of it. A
/// deeper token never weighs more.
static inline uint64_t smr_text_weight(uint32_t depth) {
  const uint32_t f = depth << (32 - SMR_TEXT_OCTAVE);
  uint32_t q = 472172;
  q = 5486705 - (uint32_t)((uint64_t)f * q >> 32);
  q = 41155296 - (uint32_t)((uint64_t)f * q >> 32);
  q = 238337602 - (uint32_t)((uint64_t)f * q >> 32);
  q = 1031757278 - (uint32_t)((uint64_t)f * q >> 32);
  q = UINT32_C(2977044080) - (uint32_t)((uint64_t)f * q >> 32);
  const uint64_t p = (UINT64_C(1) << 32) - ((uint64_t)f * q >> 32);
  return p << (SMR_TEXT_UNIT - 32) >> (depth >> SMR_TEXT_OCTAVE);
}

/// The upper 64 bits of a product.
static inline uint64_t smr_text_high(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  return a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & UINT32_MAX)) >> 32);
}

/// Number `block` of a seed: the first two words of a block of Philox4x32-10
/// (kernels/philox/philox.h), whose upper counter is the word "token" in ASCII, so that no operator
/// meets the same numbers.
static inline uint64_t smr_text_random(uint64_t seed, uint64_t block) {
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = 0x6f6b656e, c3 = 0x74;
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t a = UINT64_C(0xD2511F53) * c0, b = UINT64_C(0xCD9E8D57) * c2;
    c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)b;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return (uint64_t)c1 << 32 | c0;
}

#endif /* SMR_TEXT_TEXT_WEIGHT_H_ */
