// SPDX-License-Identifier: Apache-2.0
// int8 product for AVX-512 without VNNI: tiles up to 8x16 of pairs of int16.

#define I8_NAME(name) N(i8_gemm_##name)
#define I8_REGISTER "v"

SMR_INLINE __m512i N(i8_gemm_widen)(const int8_t *p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static void N(i8_gemm_stage)(size_t rows, const int8_t *const *a, size_t n, size_t at,
                             void *staged) {
  const size_t whole = n / 32 * 32;
  const __mmask32 mask = ((__mmask32)1 << n % 32) - 1;
  int16_t *to = (int16_t *)staged + at;
  for (size_t r = 0; whole > 0 && r < rows; r++, to += SMR_I8_GEMM_PITCH_BYTES / 2) {
    for (size_t i = 0; i < whole; i += 32) _mm512_storeu_si512(to + i, N(i8_gemm_widen)(a[r] + i));
  }
  to = (int16_t *)staged + at + whole;
  for (size_t r = 0; mask && r < rows; r++, to += SMR_I8_GEMM_PITCH_BYTES / 2) {
    const __m256i last = _mm256_maskz_loadu_epi8(mask, a[r] + whole);
    _mm512_storeu_si512(to, _mm512_cvtepi8_epi16(last));
  }
}

SMR_INLINE __m512i N(i8_gemm_pairs)(__m512i a, __m512i b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_add_epi32(_mm512_permutex2var_epi32(a, even, b),
                          _mm512_permutex2var_epi32(a, odd, b));
}

#include "kernels/i8_gemm/widened.h"

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = sizeof(int16_t),
    .woven = 1,
    .fills = true,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_avx512,
    .stage = N(i8_gemm_stage),
};
I8_GEMM_CONFIG(8, 96, 0);
#undef I8_NAME
#undef I8_REGISTER
