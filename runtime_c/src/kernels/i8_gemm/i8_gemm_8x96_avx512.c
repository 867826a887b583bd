// SPDX-License-Identifier: Apache-2.0
// int8 product for AVX-512 without VNNI: tiles up to 8x16 of pairs of int16.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"

#if SMR_ARCH_X86_64
#include "simd/avx512_begin.h"
#define I8_NAME(name) N(i8_gemm_##name)
#define I8_MR 8
#define I8_NR 96
#define I8_STAGED int16_t
#define I8_OFFSET 0
#define I8_REGISTER "v"

SMR_INLINE void N(i8_gemm_stage)(int16_t *staged, size_t row, size_t at, const int8_t *a,
                                 size_t n) {
  int16_t *to = staged + row * SMR_I8_GEMM_PITCH_BYTES / 2 + at;
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(a + i));
    _mm512_storeu_si512(to + i, _mm512_cvtepi8_epi16(bytes));
  }
  if (i < n) {
    const __mmask32 mask = ~(__mmask32)0 >> (32 - (n - i));
    _mm512_storeu_si512(to + i, _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, a + i)));
  }
}

#include "kernels/i8_gemm/narrow512.h"

SMR_INLINE __m512i N(i8_gemm_widen)(const int8_t *p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

SMR_INLINE __m512i N(i8_gemm_pairs)(__m512i a, __m512i b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_add_epi32(_mm512_permutex2var_epi32(a, even, b),
                          _mm512_permutex2var_epi32(a, odd, b));
}

#include "kernels/i8_gemm/widened.h"

#include "kernels/i8_gemm/core.h"
I8_KERNELS(8x96__avx512, gemv__avx512)
#include "kernels/i8_gemm/core_end.h"
#undef I8_REGISTER
#include "simd/end.h"
#endif
