// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolution for AVX2.

SMR_INLINE __m256i N(i8dw_words)(const int8_t *x) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x));
}

SMR_INLINE __m256i N(i8dw_words_n)(const int8_t *x, size_t n) {
  uint64_t bytes[2];
  smr_load_tail(x, n, bytes);
  return _mm256_cvtepi8_epi16(_mm_set_epi64x((long long)bytes[1], (long long)bytes[0]));
}

SMR_INLINE __m256i N(i8dw_panels)(const int8_t *w, size_t panel_stride, size_t panels) {
  (void)panel_stride, (void)panels;
  return N(i8dw_words)(w);
}

// [16] words of four bytes, in the order of interleaved channels.
SMR_INLINE void N(i8dw_spread)(const void *x, size_t panels, __m256i *to) {
  (void)panels;
  const __m256i a = _mm256_loadu_si256((const __m256i *)x);
  const __m256i b = _mm256_loadu_si256((const __m256i *)x + 1);
  to[0] = _mm256_permute2x128_si256(a, b, 0x20);
  to[1] = _mm256_permute2x128_si256(a, b, 0x31);
}

SMR_INLINE void N(i8dw_store_ints)(int32_t *y, const __m256i *acc, size_t n) {
  const __m256i a = _mm256_permute2x128_si256(acc[0], acc[1], 0x20);
  const __m256i b = _mm256_permute2x128_si256(acc[0], acc[1], 0x31);
  N(istore_n)(y, a, n < 8 ? n : 8);
  if (n > 8) N(istore_n)(y + 8, b, n - 8);
}

SMR_INLINE void N(i8dw_store_bytes)(int8_t *y, __m256i words, size_t n) {
  const __m128i bytes =
      _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  if (n == 16) {
    _mm_storeu_si128((__m128i *)(void *)y, bytes);
    return;
  }
  const uint64_t both[2] = {(uint64_t)_mm_cvtsi128_si64(bytes),
                            (uint64_t)_mm_extract_epi64(bytes, 1)};
  smr_store_tail(y, n, both);
}

#define I8DW_V __m256i
#define I8DW_F __m256
#define I8DW_OP(op) _mm256_##op
#define I8DW_FLOATS _mm256_castsi256_ps
#define I8DW_WORDS 16
#include "kernels/i8_dwconv/pairs.h"
