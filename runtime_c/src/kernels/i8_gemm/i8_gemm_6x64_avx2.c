// SPDX-License-Identifier: Apache-2.0
// int8 product for AVX2: tiles up to 6x8 of pairs of int16.
#include "base/fp.h"

#include <string.h>

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"

#if SMR_ARCH_X86_64
#define SMR_SIMD_HOT
#include "simd/avx2_begin.h"
#define I8_NAME(name) N(i8_gemm_##name)
#define I8_ENDS smr_i8_gemm_ends__avx2
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

SMR_INLINE void N(i8_gemm_store)(int8_t *p, __m256i v, int32_t zero, int32_t lo, size_t n) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i moved = _mm_adds_epi16(words, _mm_set1_epi16((int16_t)zero));
  const __m128i bytes = _mm_max_epi8(_mm_packs_epi16(moved, moved), _mm_set1_epi8((int8_t)lo));
  const uint64_t eight[2] = {(uint64_t)_mm_cvtsi128_si64(bytes)};
  if (n == 8)
    memcpy(p, eight, 8);
  else
    smr_store_tail(p, n, eight);
}

SMR_INLINE __m256i N(i8_gemm_widen)(const int8_t *p) {
  return _mm256_cvtepi8_epi16(N(i8_gemm_bytes)(p));
}

SMR_INLINE __m256i N(i8_gemm_pairs)(__m256i a, __m256i b) {
  return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xd8);
}

#include "kernels/i8_gemm/widened.h"

#include "kernels/i8_gemm/scale.h"
#include "kernels/i8_gemm/ends.h"

const struct smr_i8_gemm_funcs smr_i8_gemm_funcs__avx2 = {
    .staged_bytes = sizeof(int16_t),
    .woven = 1,
    .fills = true,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends__avx2,
    .stage = N(i8_gemm_stage),
};
#undef I8_NAME
#undef I8_REGISTER
#include "simd/end.h"
#endif
