// SPDX-License-Identifier: Apache-2.0
// Lookups of int8 for AVX-512: sixteen shuffles by the low four bits; a tree selects by the high
// four.

// Without optimisation GCC's intrinsics are macros, whose casts trigger its own warnings.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

// Part `h` is for bytes 16 h to 16 h + 15 as unsigned. The table starts at -128.
SMR_INLINE __m512i N(i8_lookup_64)(const __m512i parts[16], __m512i x) {
  const __m512i low = _mm512_and_si512(x, _mm512_set1_epi8(0x0f));
  const __mmask64 by_4 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(0x10));
  const __mmask64 by_5 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(0x20));
  const __mmask64 by_6 = _mm512_test_epi8_mask(x, _mm512_set1_epi8(0x40));
  __m512i half[2];
  SMR_UNROLL for (size_t k = 0; k < 2; k++) {
    __m512i two[4];
    SMR_UNROLL for (size_t j = 0; j < 4; j++) {
      const __m512i even = _mm512_shuffle_epi8(parts[8 * k + 2 * j], low);
      two[j] = _mm512_mask_shuffle_epi8(even, by_4, parts[8 * k + 2 * j + 1], low);
    }
    half[k] = _mm512_mask_blend_epi8(by_6, _mm512_mask_blend_epi8(by_5, two[0], two[1]),
                                     _mm512_mask_blend_epi8(by_5, two[2], two[3]));
  }
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), half[0], half[1]);
}

static void N(i8_lookup)(size_t n, const int8_t *x, const int8_t table[256], int8_t *y) {
  __m512i parts[16];
  SMR_UNROLL for (size_t h = 0; h < 16; h++) parts[h] = _mm512_broadcast_i32x4(
      _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * (h ^ 8))));
  for (; n >= 64; n -= 64, x += 64, y += 64)
    _mm512_storeu_si512((void *)y, N(i8_lookup_64)(parts, _mm512_loadu_si512((const void *)x)));
  if (n == 0) return;
  const __mmask64 mask = ((__mmask64)1 << n) - 1;
  _mm512_mask_storeu_epi8(y, mask,
                          N(i8_lookup_64)(parts, _mm512_maskz_loadu_epi8(mask, (const void *)x)));
}
#pragma GCC diagnostic pop
