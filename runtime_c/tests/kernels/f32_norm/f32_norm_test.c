// SPDX-License-Identifier: Apache-2.0
// Normalisation kernels: every table against double, in place, exact buffers.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_norm/f32_norm.h"
#include "kernels/kernel_data.h"

#include "harness.h"

#define EPS 1e-3f

static void check_group(const float *x, const float *y, size_t n, size_t stride, int centred,
                        const float *scale, const float *bias, size_t affine_step) {
  double mean = 0, variance = 0;
  for (size_t i = 0; centred && i < n; i++) mean += (double)x[i * stride] / (double)n;
  for (size_t i = 0; i < n; i++) variance += pow((double)x[i * stride] - mean, 2) / (double)n;
  for (size_t i = 0; i < n; i++) {
    double want = ((double)x[i * stride] - mean) / sqrt(variance + (double)EPS);
    if (scale != NULL) want *= (double)scale[i * affine_step];
    if (bias != NULL) want += (double)bias[i * affine_step];
    CHECK_NEAR(y[i * stride], want, 4e-6);
  }
}

static void check_rows(const struct smr_f32_norm *table, size_t n, int affine) {
  uint32_t state = (uint32_t)n;
  float *x = kernel_floats(n, &state), *y = kernel_alloc(n * sizeof *y, 4);
  float *scale = kernel_floats(n, &state), *bias = kernel_floats(n, &state);
  for (int centred = 0; centred < 2; centred++) {
    const smr_f32_norm_row row = centred ? table->centred_row : table->plain_row;
    row(n, x, affine & 1 ? scale : NULL, affine & 2 ? bias : NULL, EPS, y);
    check_group(x, y, n, 1, centred, affine & 1 ? scale : NULL, affine & 2 ? bias : NULL, 1);
    float *copy = kernel_alloc(n * sizeof *copy, 4);
    memcpy(copy, x, n * sizeof *copy);
    row(n, copy, affine & 1 ? scale : NULL, affine & 2 ? bias : NULL, EPS, copy);
    CHECK_MEM(copy, y, n * sizeof *y);
    kernel_free(copy, 4);
  }
  kernel_free(x, 4), kernel_free(y, 4), kernel_free(scale, 4), kernel_free(bias, 4);
}

static void check_columns(const struct smr_f32_norm *table, size_t rows, size_t columns,
                          int affine) {
  uint32_t state = (uint32_t)(rows + columns);
  const size_t stride = columns + 1, count = (rows - 1) * stride + columns;
  float *x = kernel_floats(count, &state), *y = kernel_alloc(count * sizeof *y, 4);
  float *scale = kernel_floats(columns, &state), *bias = kernel_floats(columns, &state);
  memcpy(y, x, count * sizeof *y);
  table->centred_columns(rows, columns, stride, x, affine & 1 ? scale : NULL,
                         affine & 2 ? bias : NULL, EPS, y);
  for (size_t j = 0; j < columns; j++)
    check_group(x + j, y + j, rows, stride, 1, affine & 1 ? scale + j : NULL,
                affine & 2 ? bias + j : NULL, 0);
  table->centred_columns(rows, columns, stride, x, affine & 1 ? scale : NULL,
                         affine & 2 ? bias : NULL, EPS, x);
  CHECK_MEM(x, y, count * sizeof *y);
  kernel_free(x, 4), kernel_free(y, 4), kernel_free(scale, 4), kernel_free(bias, 4);
}

static void check_table(const struct smr_f32_norm *table, size_t lanes) {
  for (int affine = 0; affine < 4; affine++) {
    for (size_t n = 1; n <= 3 * lanes + 1; n++) check_rows(table, n, affine);
    check_rows(table, 9000, affine);
    for (size_t n = 1; n <= 3 * lanes + 1; n++) check_columns(table, 6, n, affine);
    check_columns(table, 700, lanes + 1, affine);
  }
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_table(smr_f32_norm_config(isa), lanes);
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(tables))
