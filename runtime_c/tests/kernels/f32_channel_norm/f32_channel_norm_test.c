// SPDX-License-Identifier: Apache-2.0
// Column normalisation kernels: every table against double, in place, exact buffers.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_channel_norm/f32_channel_norm.h"
#include "kernels/kernel_data.h"

#include "harness.h"

#include <math.h>

struct columns {
  size_t rows, columns, stride, count;
  float *dy, *x, *per_column[4];
};

static struct columns columns_make(size_t rows, size_t n) {
  struct columns c = {.rows = rows, .columns = n, .stride = n + 1};
  c.count = (rows - 1) * c.stride + n;
  uint32_t state = (uint32_t)(rows + n);
  c.dy = kernel_floats(c.count, &state);
  c.x = kernel_floats(c.count, &state);
  for (int i = 0; i < 4; i++) c.per_column[i] = kernel_floats(n, &state);
  return c;
}

static void columns_free(const struct columns *c) {
  kernel_free(c->dy, 4), kernel_free(c->x, 4);
  for (int i = 0; i < 4; i++) kernel_free(c->per_column[i], 4);
}

static void check_sums(const struct smr_f32_channel_norm *table,
                       const struct smr_f32_channel_norm_grad *grads, const struct columns *c) {
  float *first = kernel_alloc(c->columns * sizeof *first, 4);
  float *second = kernel_alloc(c->columns * sizeof *second, 4);
  float *rest = kernel_alloc(c->columns * sizeof *rest, 4);
  table->moments(c->rows, c->columns, c->stride, c->x, first, rest, second);
  for (size_t j = 0; j < c->columns; j++) {
    double mean = 0, square = 0;
    for (size_t r = 0; r < c->rows; r++) mean += (double)c->x[r * c->stride + j] / (double)c->rows;
    for (size_t r = 0; r < c->rows; r++) square += pow((double)c->x[r * c->stride + j] - mean, 2);
    CHECK_NEAR(first[j], mean, 1e-6);
    CHECK_NEAR((double)first[j] + (double)rest[j] / (double)c->rows, mean, 1e-7);
    CHECK_NEAR(second[j], square, 1e-6 * (1 + square));
  }
  const float *shift = c->per_column[0];
  grads->products(c->rows, c->columns, c->stride, c->dy, c->x, shift, first, second);
  for (size_t j = 0; j < c->columns; j++) {
    double sum = 0, product = 0;
    for (size_t r = 0; r < c->rows; r++) {
      const double dy = (double)c->dy[r * c->stride + j];
      sum += dy;
      product += dy * ((double)c->x[r * c->stride + j] - (double)shift[j]);
    }
    CHECK_NEAR(first[j], sum, 1e-7 * (double)(c->rows + 4));
    CHECK_NEAR(second[j], product, 2e-7 * (double)(c->rows + 4));
  }
  kernel_free(first, 4), kernel_free(second, 4), kernel_free(rest, 4);
}

static void check_maps(const struct smr_f32_channel_norm *table,
                       const struct smr_f32_channel_norm_grad *grads, const struct columns *c) {
  const struct smr_f32_channel_map map = {.shift = c->per_column[0],
                                          .factor = c->per_column[1],
                                          .slope = c->per_column[2],
                                          .bias = c->per_column[3]};
  float *y = kernel_alloc(c->count * sizeof *y, 4), *dx = kernel_alloc(c->count * sizeof *dx, 4);
  memcpy(y, c->x, c->count * sizeof *y);
  memcpy(dx, c->dy, c->count * sizeof *dx);
  table->apply(c->rows, c->columns, c->stride, c->x, &map, y);
  grads->grad(c->rows, c->columns, c->stride, c->dy, c->x, &map, dx);
  for (size_t i = 0; i < c->count; i++) {
    const size_t j = i % c->stride;
    if (j == c->columns) {  // between the rows
      CHECK(y[i] == c->x[i] && dx[i] == c->dy[i]);
      continue;
    }
    const double u = (double)c->x[i] - (double)map.shift[j];
    CHECK_NEAR(y[i], u * (double)map.factor[j] + (double)map.bias[j], 3e-7);
    const double d = (double)c->dy[i] * (double)map.factor[j] + u * (double)map.slope[j];
    CHECK_NEAR(dx[i], d + (double)map.bias[j], 5e-7);
  }
  // In place of each operand that allows it.
  grads->grad(c->rows, c->columns, c->stride, c->dy, c->x, &map, c->dy);
  CHECK_MEM(c->dy, dx, c->count * sizeof *dx);
  table->apply(c->rows, c->columns, c->stride, c->x, &map, c->x);
  CHECK_MEM(c->x, y, c->count * sizeof *y);
  kernel_free(y, 4), kernel_free(dx, 4);
}

static void check_size(const struct smr_f32_channel_norm *table,
                       const struct smr_f32_channel_norm_grad *grads, size_t rows, size_t n) {
  const struct columns c = columns_make(rows, n);
  check_sums(table, grads, &c);
  check_maps(table, grads, &c);
  columns_free(&c);
}

static void check_table(const struct smr_f32_channel_norm *table,
                        const struct smr_f32_channel_norm_grad *grads, size_t lanes) {
  for (size_t n = 1; n <= 6 * lanes + 1; n++) check_size(table, grads, 5, n);
  check_size(table, grads, 1, 3);
  check_size(table, grads, 64, lanes + 1);
  check_size(table, grads, 200, 5 * lanes + 1);
}

// The variance of values far from 0 is exact, because the mean is subtracted first.
static void check_offset(const struct smr_f32_channel_norm *table) {
  enum { ROWS = 128 };
  float x[ROWS], mean, rest, square;
  for (int i = 0; i < ROWS; i++) x[i] = 4096.0f + (float)(i % 2);
  table->moments(ROWS, 1, 1, x, &mean, &rest, &square);
  CHECK_NEAR(mean, 4096.5, 0);
  CHECK_NEAR(rest, 0, 0);
  CHECK_NEAR(square, ROWS / 4, 0);
}

// Where values hardly differ, only the rounding error of the mean remains.
static void check_rest(const struct smr_f32_channel_norm *table) {
  const float x[2] = {1.0f, 1.0f + 0x1p-23f};
  float mean, rest, square;
  table->moments(2, 1, 1, x, &mean, &rest, &square);
  CHECK_NEAR((double)mean + (double)rest / 2, 1.0 + 0x1p-24, 0);
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes)                                                          \
  if (KERNEL_RUNS(isa, suffix)) {                                                                \
    check_table(smr_f32_channel_norm_config(isa), smr_f32_channel_norm_grad_config(isa), lanes); \
    check_offset(smr_f32_channel_norm_config(isa));                                              \
    check_rest(smr_f32_channel_norm_config(isa));                                                \
  }
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(tables))
