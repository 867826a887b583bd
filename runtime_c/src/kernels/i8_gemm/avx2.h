// SPDX-License-Identifier: Apache-2.0
// int8 product for AVX2: tiles up to 6x8 of pairs of int16.

#define I8_NAME(name) N(i8_gemm_##name)
#define I8_REGISTER "x"

SMR_INLINE __m128i N(i8_gemm_bytes)(const void *p) { return _mm_loadu_si128((const __m128i *)p); }

static void N(i8_gemm_stage)(size_t rows, const int8_t *const *a, size_t n, size_t at,
                             void *staged) {
  for (size_t r = 0; r < rows; r++) {
    const int8_t *from = a[r];
    __m256i *to = (__m256i *)(void *)((int16_t *)staged + r * SMR_I8_GEMM_PITCH_BYTES / 2 + at);
    size_t left = n;
    for (; left >= 16; left -= 16, from += 16, to++)
      _mm256_storeu_si256(to, _mm256_cvtepi8_epi16(N(i8_gemm_bytes)(from)));
    if (left > 0) {
      uint64_t last[2];
      smr_load_tail(from, left, last);
      const __m128i bytes = _mm_set_epi64x((long long)last[1], (long long)last[0]);
      _mm256_storeu_si256(to, _mm256_cvtepi8_epi16(bytes));
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

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = sizeof(int16_t),
    .woven = 1,
    .fills = true,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_avx2,
    .stage = N(i8_gemm_stage),
};
I8_GEMM_CONFIG(6, 64, 0);
#undef I8_NAME
#undef I8_REGISTER
