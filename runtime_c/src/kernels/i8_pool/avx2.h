// SPDX-License-Identifier: Apache-2.0
// Maximum of 8-bit integers with AVX2.

// Fewer than 32 bytes are two overlapping parts of 16 or 8 bytes.
SMR_INLINE __m256i N(i8_pool_lanes_load)(const char *x, size_t n) {
  if (n == 32) return _mm256_loadu_si256((const __m256i *)(const void *)x);
  if (n >= 16)
    return _mm256_set_m128i(_mm_loadu_si128((const __m128i *)(const void *)(x + n - 16)),
                            _mm_loadu_si128((const __m128i *)(const void *)x));
  return _mm256_set_m128i(_mm_loadl_epi64((const __m128i *)(const void *)(x + n - 8)),
                          _mm_loadl_epi64((const __m128i *)(const void *)x));
}

SMR_INLINE void N(i8_pool_lanes_store)(char *y, __m256i v, size_t n) {
  if (n == 32) {
    _mm256_storeu_si256((__m256i *)(void *)y, v);
    return;
  }
  const __m128i first = _mm256_castsi256_si128(v), last = _mm256_extracti128_si256(v, 1);
  if (n >= 16) {
    _mm_storeu_si128((__m128i *)(void *)y, first);
    _mm_storeu_si128((__m128i *)(void *)(y + n - 16), last);
  } else {
    _mm_storel_epi64((__m128i *)(void *)y, first);
    _mm_storel_epi64((__m128i *)(void *)(y + n - 8), last);
  }
}

SMR_INLINE __m256i N(i8_pool_lanes_max_s8)(__m256i a, __m256i b) { return _mm256_max_epi8(a, b); }
SMR_INLINE __m256i N(i8_pool_lanes_max_u8)(__m256i a, __m256i b) { return _mm256_max_epu8(a, b); }

#define I8_POOL_V __m256i
#define I8_POOL_BYTES 32
