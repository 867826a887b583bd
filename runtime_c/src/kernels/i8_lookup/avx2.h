// SPDX-License-Identifier: Apache-2.0
// Lookups of int8 for AVX2: sixteen shuffles by the low four bits; a tree selects by the high four.

// Part `h` of the table, for bytes 16 h to 16 h + 15 as unsigned. The table starts at -128.
SMR_INLINE __m256i N(i8_lookup_part)(const int8_t *table, size_t h) {
  return _mm256_broadcastsi128_si256(
      _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * (h ^ 8))));
}

// Parts h and h + 1. Shuffles give 0 where the highest bit of the index is set.
SMR_INLINE __m256i N(i8_lookup_two)(const int8_t *table, size_t h, __m256i even, __m256i odd) {
  return _mm256_or_si256(_mm256_shuffle_epi8(N(i8_lookup_part)(table, h), even),
                         _mm256_shuffle_epi8(N(i8_lookup_part)(table, h + 1), odd));
}

// Blends test the highest bit of each byte; bits shifted in from a neighbour are below it.
SMR_INLINE __m256i N(i8_lookup_32)(const int8_t *table, __m256i x) {
  const __m256i high = _mm256_set1_epi8(-128);
  const __m256i by_4 = _mm256_and_si256(_mm256_slli_epi16(x, 3), high);
  const __m256i even = _mm256_or_si256(_mm256_and_si256(x, _mm256_set1_epi8(0x0f)), by_4);
  const __m256i odd = _mm256_xor_si256(even, high);
  const __m256i by_5 = _mm256_slli_epi16(x, 2), by_6 = _mm256_slli_epi16(x, 1);
  __m256i half[2];
  SMR_UNROLL for (size_t k = 0; k < 2; k++) {
    const size_t h = 8 * k;
    const __m256i a = _mm256_blendv_epi8(N(i8_lookup_two)(table, h, even, odd),
                                         N(i8_lookup_two)(table, h + 2, even, odd), by_5);
    const __m256i b = _mm256_blendv_epi8(N(i8_lookup_two)(table, h + 4, even, odd),
                                         N(i8_lookup_two)(table, h + 6, even, odd), by_5);
    half[k] = _mm256_blendv_epi8(a, b, by_6);
  }
  return _mm256_blendv_epi8(half[0], half[1], x);
}

static void N(i8_lookup)(size_t n, const int8_t *x, const int8_t table[256], int8_t *y) {
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
    _mm256_storeu_si256((__m256i *)(void *)(y + i), N(i8_lookup_32)(table, v));
  }
  for (; i < n; i++) y[i] = table[x[i] + 128];
}
