// SPDX-License-Identifier: Apache-2.0
// int8 product in portable C: tiles of 4x4 over panels. The reference of the other kernels.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/i8_gemm/kernels.h"
#include "simd/scalar_begin.h"

#define I8_NAME(name) N(i8_gemm_##name)
#define I8_MR 4
#define I8_NR 32
#define I8_STAGED int8_t
#define I8_OFFSET 0

SMR_INLINE void N(i8_gemm_stage)(int8_t *staged, size_t row, size_t at, const int8_t *a, size_t n) {
  memcpy(staged + row * SMR_I8_GEMM_PITCH_BYTES + at, a, n);
}

SMR_INLINE void N(i8_gemm_narrow)(int8_t *p, size_t stride, size_t rows, size_t n, const int32_t *v,
                                  int32_t zero, int32_t lo) {
  (void)n;
  for (size_t i = 0; i < rows; i++) {
    // Far below the bytes before the sum, so that it cannot overflow.
    const int32_t x = N(imax)(v[i], -1000) + zero;
    p[i * stride] = (int8_t)N(imin)(N(imax)(x, lo), 127);
  }
}

// mr rows by four columns at `w`.
SMR_INLINE void N(i8_gemm_tile)(const size_t mr, const int8_t *staged, const int8_t *w,
                                size_t groups, const int32_t *from, size_t from_stride,
                                int32_t *sums) {
  uint32_t acc[4][4];
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < 4; j++) { acc[i][j] = (uint32_t)from[i * from_stride + j]; }
  }
  for (size_t g = 0; g < groups; g++, w += SMR_I8_PANEL * SMR_I8_GROUP) {
    SMR_UNROLL for (size_t i = 0; i < mr; i++) {
      const int8_t *p = staged + i * SMR_I8_GEMM_PITCH_BYTES + g * SMR_I8_GROUP;
      SMR_UNROLL for (size_t j = 0; j < 4; j++) {
        const int8_t *q = w + j * SMR_I8_GROUP;
        acc[i][j] += (uint32_t)(p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]);
      }
    }
  }
  SMR_UNROLL for (size_t i = 0; i < mr; i++) {
    SMR_UNROLL for (size_t j = 0; j < 4; j++) sums[i * I8_NR + j] = (int32_t)acc[i][j];
  }
}

static void N(i8_gemm_tiles)(size_t rows, size_t panels, const int8_t *staged, const int8_t *w,
                             size_t panel_stride_bytes, size_t groups, const int32_t *from,
                             size_t from_stride, int32_t *sums) {
  for (size_t j = 0; j < panels * SMR_I8_PANEL; j += 4) {
    const int8_t *at = w + j / SMR_I8_PANEL * panel_stride_bytes + j % SMR_I8_PANEL * SMR_I8_GROUP;
    if (rows == 4) {
      N(i8_gemm_tile)(4, staged, at, groups, from + j, from_stride, sums + j);
    } else {
      for (size_t i = 0; i < rows; i++) {
        N(i8_gemm_tile)(1, staged + i * SMR_I8_GEMM_PITCH_BYTES, at, groups,
                        from + i * from_stride + j, 0, sums + i * I8_NR + j);
      }
    }
  }
}

#include "kernels/i8_gemm/core.h"
I8_KERNELS(4x32__scalar, gemv__scalar)
#include "kernels/i8_gemm/core_end.h"
#include "simd/end.h"
