// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolution for AVX-512 without VNNI.

SMR_INLINE __m512i N(i8dw_words)(const int8_t *x) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)x));
}

SMR_INLINE __mmask32 N(i8dw_mask)(size_t n) { return (__mmask32)(0xffffffffu >> (32 - n)); }

SMR_INLINE __m512i N(i8dw_words_n)(const int8_t *x, size_t n) {
  return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(N(i8dw_mask)(n), x));
}

SMR_INLINE __m512i N(i8dw_panels)(const int8_t *w, size_t panel_stride, size_t panels) {
  const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)w);
  __m128i high = _mm_setzero_si128();
  if (panels > 1) high = _mm_loadu_si128((const __m128i *)(const void *)(w + panel_stride));
  return _mm512_cvtepi8_epi16(_mm256_set_m128i(high, low));
}

// [16 * panels] words of four bytes, in the order of interleaved channels.
SMR_INLINE void N(i8dw_spread)(const void *x, size_t panels, __m512i *to) {
  const __m512i a = _mm512_loadu_si512(x);
  __m512i b = _mm512_setzero_si512();
  if (panels > 1) b = _mm512_loadu_si512((const char *)x + 64);
  to[0] = _mm512_shuffle_i32x4(a, b, 0x88);
  to[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
}

SMR_INLINE void N(i8dw_store_ints)(int32_t *y, const __m512i *acc, size_t n) {
  const __m512i a = _mm512_shuffle_i32x4(acc[0], acc[1], 0x44);
  const __m512i b = _mm512_shuffle_i32x4(acc[0], acc[1], 0xee);
  const __mmask32 mask = N(i8dw_mask)(n);
  _mm512_mask_storeu_epi32(y, (__mmask16)mask, _mm512_shuffle_i32x4(a, a, 0xd8));
  if (n > 16)
    _mm512_mask_storeu_epi32(y + 16, (__mmask16)(mask >> 16), _mm512_shuffle_i32x4(b, b, 0xd8));
}

SMR_INLINE void N(i8dw_store_bytes)(int8_t *y, __m512i words, size_t n) {
  const __m256i bytes = _mm512_cvtsepi16_epi8(words);
  if (n == 32)
    _mm256_storeu_si256((__m256i *)(void *)y, bytes);
  else
    _mm256_mask_storeu_epi8(y, N(i8dw_mask)(n), bytes);
}

#define I8DW_V __m512i
#define I8DW_F __m512
#define I8DW_OP(op) _mm512_##op
#define I8DW_FLOATS _mm512_castsi512_ps
#define I8DW_WORDS 32
#include "kernels/i8_dwconv/pairs.h"
