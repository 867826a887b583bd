// SPDX-License-Identifier: Apache-2.0
// int8 product for vectors of 128 bits: tiles of 4x4 of pairs of int16, which fit 16 registers.
#include "simd/v128_bytes.h"

#define I8_NAME(name) N(i8_gemm_##name)

static void N(i8_gemm_stage)(size_t rows, const int8_t *const *a, size_t n, size_t at,
                             void *staged) {
  for (size_t r = 0; r < rows; r++) {
    const int8_t *from = a[r];
    int16_t *to = (int16_t *)staged + r * SMR_I8_GEMM_PITCH_BYTES / 2 + at;
    for (size_t left = n;; left -= 16, from += 16, to += 16) {
      const N(v16i8) bytes = left < 16 ? N(load_8_n)(from, left) : N(load_8)(from);
      const N(v8i16) words[2] = {N(widen_low)(bytes), N(widen_high)(bytes)};
      memcpy(to, words, sizeof words);
      if (left <= 16) break;
    }
  }
}

SMR_INLINE N(vi) N(i8_gemm_widen)(const int8_t *p) { return (N(vi))N(widen)(p); }

SMR_INLINE N(vi) N(i8_gemm_pairs)(N(vi) a, N(vi) b) { return N(pair_sums)(a, b); }

SMR_INLINE void N(i8_gemm_madd)(N(vi) * acc, const int16_t *p, const N(vi) * b) {
  const N(v8i16) a = N(four_words)(p);
  acc[0] = N(iadd)(acc[0], N(madd)(a, (N(v8i16))b[0]));
  acc[1] = N(iadd)(acc[1], N(madd)(a, (N(v8i16))b[1]));
}

#include "kernels/i8_gemm/widened.h"

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = sizeof(int16_t),
    .woven = 1,
    .fills = true,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_v128,
    .stage = N(i8_gemm_stage),
};
I8_GEMM_CONFIG(4, 64, 0);
#undef I8_NAME
