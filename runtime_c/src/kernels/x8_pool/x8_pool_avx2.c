// SPDX-License-Identifier: Apache-2.0
// The largest of 8-bit integers with AVX2.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/x8_pool/kernels.h"
#include "simd/tail.h"

#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"

SMR_INLINE __m256i N(x8_load)(const char *x, size_t n) {
  if (n == 32) return _mm256_loadu_si256((const __m256i *)(const void *)x);
  __m128i low = _mm_setzero_si128(), high = low;
  uint64_t bytes[2];
  size_t left = n;
  if (n >= 16) {
    low = _mm_loadu_si128((const __m128i *)(const void *)x);
    left -= 16;
  }
  if (left > 0) {
    smr_load_tail(x + n - left, left, bytes);
    high = _mm_set_epi64x((long long)bytes[1], (long long)bytes[0]);
  }
  return n >= 16 ? _mm256_set_m128i(high, low) : _mm256_castsi128_si256(high);
}

SMR_INLINE void N(x8_store)(char *y, __m256i v, size_t n) {
  if (n == 32) {
    _mm256_storeu_si256((__m256i *)(void *)y, v);
    return;
  }
  __m128i rest = _mm256_castsi256_si128(v);
  if (n >= 16) {
    _mm_storeu_si128((__m128i *)(void *)y, rest);
    rest = _mm256_extracti128_si256(v, 1);
  }
  const uint64_t bytes[2] = {(uint64_t)_mm_cvtsi128_si64(rest),
                             (uint64_t)_mm_extract_epi64(rest, 1)};
  smr_store_tail(y + (n & 16), n & 15, bytes);
}

SMR_INLINE __m256i N(x8_max_s8)(__m256i a, __m256i b) { return _mm256_max_epi8(a, b); }
SMR_INLINE __m256i N(x8_max_u8)(__m256i a, __m256i b) { return _mm256_max_epu8(a, b); }

#define X8_V __m256i
#define X8_BYTES 32
#define X8_POOL_SUFFIX avx2
#include "kernels/x8_pool/body.h"
#include "simd/end.h"
#endif
