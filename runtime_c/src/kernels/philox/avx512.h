// SPDX-License-Identifier: Apache-2.0
// Philox for AVX-512.

SMR_INLINE __m512i N(philox_high)(__m512i a, __m512i b) {
  const __m512i even = _mm512_mul_epu32(a, b);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
  return _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
}

// A transpose of four words by sixteen lanes.
SMR_INLINE void N(philox_store)(int32_t *p, __m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab0 = _mm512_unpacklo_epi32(a, b), ab1 = _mm512_unpackhi_epi32(a, b);
  const __m512i cd0 = _mm512_unpacklo_epi32(c, d), cd1 = _mm512_unpackhi_epi32(c, d);
  const __m512i lane0 = _mm512_unpacklo_epi64(ab0, cd0), lane1 = _mm512_unpackhi_epi64(ab0, cd0);
  const __m512i lane2 = _mm512_unpacklo_epi64(ab1, cd1), lane3 = _mm512_unpackhi_epi64(ab1, cd1);
  // Quarters of 128 bits: each of the four vectors holds every fourth lane.
  const __m512i low01 = _mm512_shuffle_i32x4(lane0, lane1, 0x44);
  const __m512i low23 = _mm512_shuffle_i32x4(lane2, lane3, 0x44);
  const __m512i high01 = _mm512_shuffle_i32x4(lane0, lane1, 0xee);
  const __m512i high23 = _mm512_shuffle_i32x4(lane2, lane3, 0xee);
  N(istore)(p, _mm512_shuffle_i32x4(low01, low23, 0x88));
  N(istore)(p + 16, _mm512_shuffle_i32x4(low01, low23, 0xdd));
  N(istore)(p + 32, _mm512_shuffle_i32x4(high01, high23, 0x88));
  N(istore)(p + 48, _mm512_shuffle_i32x4(high01, high23, 0xdd));
}
