// SPDX-License-Identifier: Apache-2.0
// int8 product in portable C: tiles of 4x2 over panels. The reference of the other kernels.

#define I8_NAME(name) N(i8_gemm_##name)

// mr rows by two columns, because portable machines have few registers.
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

static const struct smr_i8_gemm_funcs N(i8_gemm_funcs) = {
    .staged_bytes = 1,
    .woven = 1,
    .fills = false,
    .tiles = N(i8_gemm_tiles),
    .ends = &smr_i8_gemm_ends_scalar,
    .stage = smr_i8_gemm_stage_bytes,
};
I8_GEMM_CONFIG(4, 32, 0);
#undef I8_NAME
