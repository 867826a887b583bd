// SPDX-License-Identifier: Apache-2.0
// Products of matrices of integers and of float64, in portable C.
#include "base/fp.h"

#include "kernels/vmatmul/vmatmul.h"

#include <samara/samara.h>

#include "base/parts.h"

#include <stdbool.h>

// One kernel: sums of a block of columns are kept in registers, and each step adds a multiple of a
// row of w, so that compilers vectorize the loop of constant length. Fewer columns, or columns that
// are not adjacent, are first copied to a zero-padded row.
#define VMATMUL(name, T)                                                                           \
  static void vmatmul_##name(const struct smr_vmatmul_args *args) {                                \
    enum { N = SMR_VMATMUL_COLUMNS };                                                              \
    const size_t n = args->n, w_row = args->w_row, w_step = args->w_step;                          \
    const bool whole = n == N && w_step == 1;                                                      \
    T sums[N], line[N] = {0};                                                                      \
    for (size_t r = 0; r < args->rows; r++) {                                                      \
      const T *x = (const T *)args->x + r * args->x_row, *w = (const T *)args->w;                  \
      const T *more = args->more == NULL ? NULL : (const T *)args->more + r * args->y_row;         \
      T *y = (T *)args->y + r * args->y_row;                                                       \
      for (size_t j = 0; j < N; j++) sums[j] = 0;                                                  \
      for (size_t j = 0; j < n && args->start != NULL; j++) sums[j] = ((const T *)args->start)[j]; \
      for (size_t j = 0; j < n && more != NULL; j++) sums[j] += more[j];                           \
      for (size_t i = 0; i < args->k; i++, w += w_row) {                                           \
        const T v = x[i * args->x_step];                                                           \
        const T *row = w;                                                                          \
        if (!whole) {                                                                              \
          for (size_t j = 0; j < n; j++) line[j] = w[j * w_step];                                  \
          row = line;                                                                              \
        }                                                                                          \
        for (size_t j = 0; j < N; j++) sums[j] += v * row[j];                                      \
      }                                                                                            \
      for (size_t j = 0; j < n; j++) y[j] = sums[j];                                               \
    }                                                                                              \
  }
VMATMUL(u32, uint32_t)
VMATMUL(u64, uint64_t)
VMATMUL(f64, double)
#undef VMATMUL

smr_vmatmul_ukernel smr_vmatmul_kernel(uint8_t dtype) {
  switch (dtype) {
    case SAMARA_INT32:
    case SAMARA_UINT32:
      return SMR_HAS(matmul_int32) ? vmatmul_u32 : NULL;
    case SAMARA_INT64:
    case SAMARA_UINT64:
      return SMR_HAS(matmul_int64) ? vmatmul_u64 : NULL;
    case SAMARA_FLOAT64:
      return SMR_HAS(matmul_float64) ? vmatmul_f64 : NULL;
    default:
      return NULL;
  }
}
