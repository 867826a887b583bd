// SPDX-License-Identifier: Apache-2.0
// Rows of integers as bytes, for tiles that write their output themselves.
SMR_INLINE void I8_NAME(narrow)(int8_t *p, size_t stride, size_t rows, size_t columns,
                                const __m512i *v, int32_t zero, int32_t lo) {
  const __m512i zeros = _mm512_set1_epi16((int16_t)zero);
  const __m512i v01 = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), zeros);
  const __m512i v23 = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), zeros);
  __m512i packed = _mm512_max_epi8(_mm512_packs_epi16(v01, v23), _mm512_set1_epi8((int8_t)lo));
  // Packing works within quarters: [quarter][row][4], which a permutation turns into [row][16].
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  packed = _mm512_permutexvar_epi32(order, packed);
  __m128i row[4] = {_mm512_castsi512_si128(packed), _mm512_extracti32x4_epi32(packed, 1),
                    _mm512_extracti32x4_epi32(packed, 2), _mm512_extracti32x4_epi32(packed, 3)};
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    if (i >= rows) continue;
    if (columns >= 16)
      _mm_storeu_si128((__m128i *)(void *)(p + i * stride), row[i]);
    else
      _mm_mask_storeu_epi8(p + i * stride, N(mask_n)(columns), row[i]);
  }
}
