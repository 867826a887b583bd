// SPDX-License-Identifier: Apache-2.0
// Float product in bfloat16 for AVX-512 BF16: tiles up to 8x48, two terms of a sum per instruction.

#define GEMM_NAME(name) N(bf16_gemm_##name)
#include "kernels/f32_gemm/core.h"
#include "kernels/bf16_gemm/rows.h"

enum {
  BF16_512_MR = 8,
  BF16_512_CHUNK = 512,  // elements of a row that are rounded at once: 8 KB for all rows, in L1
};

// Rounds `count` elements of a row to pairs, in whole vectors padded with zeros.
SMR_INLINE void N(bf16_gemm_round)(const float *x, size_t count, uint32_t *pairs) {
  for (; count >= 32; count -= 32, x += 32, pairs += 16) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
    _mm512_storeu_si512(pairs, (__m512i)both);
  }
  if (count == 0) return;
  const uint32_t mask = (1u << count) - 1;
  const __m512 low = _mm512_maskz_loadu_ps((__mmask16)mask, x);
  const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), count > 16 ? x + 16 : x);
  _mm512_storeu_si512(pairs, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

// mr rows, all existing, by nv panels; `columns` columns are stored.
SMR_INLINE void N(bf16_gemm_pairs)(const size_t mr, const size_t nv, size_t columns, const float *a,
                                   const float *const *pointers, const void *w, const float *bias,
                                   void *out, const void *residual,
                                   const struct smr_f32_gemm_params *params) {
  _Alignas(64) uint32_t pairs[BF16_512_MR][BF16_512_CHUNK / 2];
  __m512 acc[BF16_512_MR][GEMM_MAX_NV];
  const size_t k = params->k, stride = params->panel_stride_bytes;
  const char *wp = (const char *)w;
  SMR_UNROLL for (size_t j = 0; j < nv; j++) {
    const __m512 b = bias ? _mm512_loadu_ps(bias + j * SMR_PANEL) : _mm512_setzero_ps();
    SMR_UNROLL for (size_t i = 0; i < mr; i++) acc[i][j] = b;
  }
  for (size_t tap = 0; tap < params->taps; tap++) {
    for (size_t c = 0; c < k; c += BF16_512_CHUNK) {
      const size_t count = k - c < BF16_512_CHUNK ? k - c : BF16_512_CHUNK;
      for (size_t i = 0; i < mr; i++)
        N(bf16_gemm_round)(N(bf16_gemm_row)(i, tap, a, pointers, params) + c, count, pairs[i]);
      for (size_t p = 0; p < (count + 1) / 2; p++, wp += SMR_PANEL * sizeof(uint32_t)) {
        __m512i b[GEMM_MAX_NV];
        SMR_UNROLL for (size_t j = 0; j < nv; j++) b[j] = _mm512_loadu_si512(wp + j * stride);
        SMR_UNROLL for (size_t i = 0; i < mr; i++) {
          const __m512i x = _mm512_set1_epi32((int)pairs[i][p]);
          SMR_UNROLL for (size_t j = 0; j < nv; j++) acc[i][j] =
              _mm512_dpbf16_ps(acc[i][j], (__m512bh)x, (__m512bh)b[j]);
        }
      }
    }
  }
  __m256 none[BF16_512_MR];
  GEMM_NAME(tile_end)(mr, nv, 0, 1, mr, columns, acc, none, out, residual, params);
}

typedef smr_f32_gemm_ukernel N(bf16_gemm_tile_function);
#define BF16_TILE(mr, nv)                                                                       \
  static void N(bf16_gemm_tile_##mr##x##nv)(size_t rows, size_t columns, const float *a,        \
                                            const float *const *indirect, const void *w,        \
                                            const float *bias, void *out, const void *residual, \
                                            const struct smr_f32_gemm_params *params) {         \
    (void)rows;                                                                                 \
    N(bf16_gemm_pairs)(mr, nv, columns, a, indirect, w, bias, out, residual, params);           \
  }
#define BF16_TILES(nv) \
  BF16_TILE(1, nv)     \
  BF16_TILE(2, nv)     \
  BF16_TILE(3, nv)     \
  BF16_TILE(4, nv) BF16_TILE(5, nv) BF16_TILE(6, nv) BF16_TILE(7, nv) BF16_TILE(8, nv)
BF16_TILES(1)
BF16_TILES(2)
BF16_TILES(3)

#define BF16_ROW(nv)                                                             \
  {N(bf16_gemm_tile_1x##nv), N(bf16_gemm_tile_2x##nv), N(bf16_gemm_tile_3x##nv), \
   N(bf16_gemm_tile_4x##nv), N(bf16_gemm_tile_5x##nv), N(bf16_gemm_tile_6x##nv), \
   N(bf16_gemm_tile_7x##nv), N(bf16_gemm_tile_8x##nv)}
// [panels - 1][rows - 1]
static const N(bf16_gemm_tile_function)
    N(bf16_gemm_tiles)[GEMM_MAX_NV][BF16_512_MR] = {BF16_ROW(1), BF16_ROW(2), BF16_ROW(3)};

static void N(bf16_gemm_kernel)(size_t rows, size_t columns, const float *a,
                                const float *const *indirect, const void *w, const float *bias,
                                void *out, const void *residual,
                                const struct smr_f32_gemm_params *params) {
  const N(bf16_gemm_tile_function) *const tiles = N(bf16_gemm_tiles)[(columns - 1) / SMR_PANEL];
  tiles[rows - 1](rows, columns, a, indirect, w, bias, out, residual, params);
}

static void N(bf16_gemm_gemv_kernel)(size_t rows, size_t columns, const float *a,
                                     const float *const *indirect, const void *w, const float *bias,
                                     void *out, const void *residual,
                                     const struct smr_f32_gemm_params *params) {
  (void)rows, (void)indirect;
  N(bf16_gemm_gemv)(N(bf16_gemm_kernel), 48, columns, a, w, bias, out, residual, params);
}

#undef BF16_TILE
#undef BF16_TILES
#undef BF16_ROW
BF16_CONFIG(8, 48);

#include "kernels/f32_gemm/core_end.h"
