// SPDX-License-Identifier: Apache-2.0
// int8 product for AVX2: tiles up to 6x8 of pairs of int16.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"

#if SMR_ARCH_X86_64
#include "simd/avx2_begin.h"
#define I8_NAME(name) N(i8_gemm_##name)
#define I8_MR 6
#define I8_NR 64
#define I8_STAGED int16_t
#define I8_OFFSET 0
#define I8_REGISTER "x"

SMR_INLINE __m128i N(i8_gemm_bytes)(const void *p) { return _mm_loadu_si128((const __m128i *)p); }

SMR_INLINE void N(i8_gemm_stage)(int16_t *staged, size_t row, size_t at, const int8_t *a,
                                 size_t n) {
  int16_t *to = staged + row * SMR_I8_GEMM_PITCH_BYTES / 2 + at;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm256_cvtepi8_epi16(N(i8_gemm_bytes)(a + i)));
  }
  for (; i + 4 <= n; i += 4) {
    int32_t four;
    memcpy(&four, a + i, sizeof four);
    _mm_storel_epi64((__m128i *)(void *)(to + i), _mm_cvtepi8_epi16(_mm_cvtsi32_si128(four)));
  }
  for (; i < n; i++) to[i] = a[i];
}

SMR_INLINE void N(i8_gemm_narrow)(int8_t *p, size_t stride, size_t rows, size_t n, const __m256i *v,
                                  int32_t zero, int32_t lo) {
  const __m256i zeros = _mm256_set1_epi16((int16_t)zero);
  const __m256i v01 = _mm256_adds_epi16(_mm256_packs_epi32(v[0], v[1]), zeros);
  const __m256i v23 = _mm256_adds_epi16(_mm256_packs_epi32(v[2], v[3]), zeros);
  __m256i packed = _mm256_max_epi8(_mm256_packs_epi16(v01, v23), _mm256_set1_epi8((int8_t)lo));
  // Packing works within halves: [half][row][4], which a permutation turns into [row][8].
  packed = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  const __m128i low = _mm256_castsi256_si128(packed), high = _mm256_extracti128_si256(packed, 1);
  const int64_t row[4] = {_mm_cvtsi128_si64(low), _mm_extract_epi64(low, 1),
                          _mm_cvtsi128_si64(high), _mm_extract_epi64(high, 1)};
  SMR_UNROLL for (size_t i = 0; i < 4; i++) {
    if (i < rows && n == 8) {
      memcpy(p + i * stride, &row[i], 8);
    } else if (i < rows) {
      memcpy(p + i * stride, &row[i], n);
    }
  }
}

SMR_INLINE __m256i N(i8_gemm_widen)(const int8_t *p) {
  return _mm256_cvtepi8_epi16(N(i8_gemm_bytes)(p));
}

SMR_INLINE __m256i N(i8_gemm_pairs)(__m256i a, __m256i b) {
  return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xd8);
}

#include "kernels/i8_gemm/widened.h"

#include "kernels/i8_gemm/core.h"
I8_KERNELS(6x64__avx2, gemv__avx2)
#include "kernels/i8_gemm/core_end.h"
#undef I8_REGISTER
#include "simd/end.h"
#endif
