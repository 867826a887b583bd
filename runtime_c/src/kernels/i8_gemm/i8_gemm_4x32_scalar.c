// SPDX-License-Identifier: Apache-2.0
// int8 product in portable C: tiles of 4x2 over panels. The reference of the other kernels.
#include "base/fp.h"

#include <string.h>

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"
#include "simd/requantize.h"
#include "simd/scalar_begin.h"

#define I8_NAME(name) N(i8_gemm_##name)
#define I8_ENDS smr_i8_gemm_ends__scalar
#define I8_TO_I8

SMR_HOT static void N(i8_gemm_to_i8)(size_t rows, size_t first, size_t columns, const int32_t *sums,
                                     const struct smr_i8_gemm_direct *to) {
  const float lo = (float)(to->lo - to->zero);
  for (size_t i = 0; i < rows; i++, sums += SMR_I8_GEMM_SUMS) {
    int8_t *out = to->out + i * to->out_stride;
    for (size_t j = first; j < columns; j++)
      out[j] = (int8_t)smr_requantized(sums[j], to->multiplier[j], lo, to->hi, to->zero);
  }
}

// mr rows by two columns: portable machines have few registers.
SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const struct smr_i8_gemm_rows *at) {
  const int8_t *staged = at->staged, *w = at->w;
  uint32_t acc[4][2];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < 2; j++) acc[i][j] =
        (uint32_t)at->from[i * at->from_stride + j];
  }
  for (size_t g = at->groups; g > 0; g--) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      const int8_t *p = staged + i * SMR_I8_GEMM_PITCH_BYTES;
      SMR_UNROLL for (size_t j = 0; j < 2; j++) {
        const int8_t *q = w + j * SMR_I8_GROUP;
        acc[i][j] += (uint32_t)(p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]);
      }
    }
    staged += SMR_I8_GROUP;
    w += SMR_I8_PANEL * SMR_I8_GROUP;
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < 2; j++) {
      at->sums[i * SMR_I8_GEMM_SUMS + j] = (int32_t)acc[i][j];
    }
  }
}

#include "kernels/i8_gemm/rows.h"
I8_ROWS(4, 2, N(i8_gemm_tile)(4, &at))
I8_ROWS(1, 2, N(i8_gemm_tile)(1, &at))
#undef I8_ROWS

static const struct smr_i8_gemm_tile_kernel N(i8_gemm_tiles)[] = {{4, 4, N(i8_gemm_rows_4)},
                                                                  {1, 1, N(i8_gemm_rows_1)}};

#include "kernels/i8_gemm/ends.h"

const struct smr_i8_gemm_funcs smr_i8_gemm_funcs__scalar = {
    .staged_bytes = 1,
    .woven = 1,
    .fills = false,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends__scalar,
    .stage = smr_i8_gemm_stage_bytes,
};
#undef I8_NAME
#include "simd/end.h"
