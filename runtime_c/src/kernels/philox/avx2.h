// SPDX-License-Identifier: Apache-2.0
// Philox for AVX2.

SMR_INLINE __m256i N(philox_high)(__m256i a, __m256i b) {
  const __m256i even = _mm256_mul_epu32(a, b);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
  return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

// A transpose of four words by eight lanes.
SMR_INLINE void N(philox_store)(int32_t *p, __m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i ab0 = _mm256_unpacklo_epi32(a, b), ab1 = _mm256_unpackhi_epi32(a, b);
  const __m256i cd0 = _mm256_unpacklo_epi32(c, d), cd1 = _mm256_unpackhi_epi32(c, d);
  const __m256i lane0 = _mm256_unpacklo_epi64(ab0, cd0), lane1 = _mm256_unpackhi_epi64(ab0, cd0);
  const __m256i lane2 = _mm256_unpacklo_epi64(ab1, cd1), lane3 = _mm256_unpackhi_epi64(ab1, cd1);
  N(istore)(p, _mm256_permute2x128_si256(lane0, lane1, 0x20));
  N(istore)(p + 8, _mm256_permute2x128_si256(lane2, lane3, 0x20));
  N(istore)(p + 16, _mm256_permute2x128_si256(lane0, lane1, 0x31));
  N(istore)(p + 24, _mm256_permute2x128_si256(lane2, lane3, 0x31));
}
