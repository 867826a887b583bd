// SPDX-License-Identifier: Apache-2.0
// Float reductions: every table against double, NaN anywhere, exact buffers.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_reduce/f32_reduce.h"
#include "kernels/kernel_data.h"

#include "harness.h"

static double exact(enum smr_f32_reduce_op op, double a, double b) {
  switch (op) {
    case SMR_F32_REDUCE_MAX:
      return fmax(a, b);
    case SMR_F32_REDUCE_MIN:
      return fmin(a, b);
    case SMR_F32_REDUCE_PROD:
      return a * b;
    default:
      return a + b;
  }
}

static void check_row(const struct smr_f32_reduce *table, enum smr_f32_reduce_op op, size_t rows,
                      size_t length) {
  const size_t stride = length + 3, n = (rows - 1) * stride + length;
  uint32_t state = (uint32_t)(n + rows);
  float *x = kernel_floats(n, &state);
  double want = (double)smr_f32_reduce_start(op), magnitude = 1;
  for (size_t i = 0; i < n; i++) {
    if (i % stride >= length) continue;
    if (op == SMR_F32_REDUCE_PROD) x[i] = 1 + x[i] / 64;
    want = exact(op, want, (double)x[i]);
    magnitude += op == SMR_F32_REDUCE_SUM ? fabs((double)x[i]) : 0;
  }
  if (op == SMR_F32_REDUCE_PROD) magnitude = want * sqrt((double)n) * 4;
  if (!CHECK_NEAR(table->row[op](rows, length, x, stride), want, 2e-7 * magnitude))
    fprintf(stderr, "%s op %d rows %zu n %zu\n", table->name, (int)op, rows, length);
  if (op == SMR_F32_REDUCE_MAX || op == SMR_F32_REDUCE_MIN) {
    const size_t at = kernel_random(&state) % rows * stride + kernel_random(&state) % length;
    x[at] = NAN;
    CHECK(isnan(table->row[op](rows, length, x, stride)));
  }
  kernel_free(x, 4);
}

static void check_columns(const struct smr_f32_reduce *table, enum smr_f32_reduce_op op,
                          size_t rows, size_t n) {
  uint32_t state = (uint32_t)(rows * 31 + n);
  const size_t stride = n + 2, count = rows ? (rows - 1) * stride + n : 0;
  float *x = kernel_floats(count, &state), *acc = kernel_floats(n, &state);
  float *start = kernel_alloc(n * sizeof *start, 4);
  memcpy(start, acc, n * sizeof *start);
  table->columns[op](rows, n, x, stride, acc);
  for (size_t j = 0; j < n; j++) {
    double want = (double)start[j];
    for (size_t i = 0; i < rows; i++) want = exact(op, want, (double)x[i * stride + j]);
    CHECK_NEAR(acc[j], want, 2e-7 * (double)(rows + 2));
  }
  kernel_free(x, 4), kernel_free(acc, 4), kernel_free(start, 4);
}

static void check_table(const struct smr_f32_reduce *table, size_t lanes) {
  for (int op = 0; op < SMR_F32_REDUCE_COUNT; op++) {
    for (size_t n = 1; n <= 9 * lanes + 1; n++) check_row(table, (enum smr_f32_reduce_op)op, 1, n);
    check_row(table, (enum smr_f32_reduce_op)op, 1, 10000);
    for (size_t rows = 2; rows <= 200; rows += 63)
      for (size_t n = 1; n <= 5 * lanes; n += 3)
        check_row(table, (enum smr_f32_reduce_op)op, rows, n);
    for (size_t n = 1; n <= 3 * lanes + 1; n++)
      for (size_t rows = 0; rows <= 200; rows += 67)
        check_columns(table, (enum smr_f32_reduce_op)op, rows, n);
  }
  check_columns(table, SMR_F32_REDUCE_SUM, 9000, 3);
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_table(smr_f32_reduce_config(isa), lanes);
#include "kernels/float.inc"
#undef SMR_UKERNEL
}

SMR_TEST(joining) {
  CHECK(isnan(smr_f32_reduce_join(SMR_F32_REDUCE_MAX, NAN, 1)));
  CHECK(isnan(smr_f32_reduce_join(SMR_F32_REDUCE_MIN, 1, NAN)));
  CHECK_NEAR(smr_f32_reduce_join(SMR_F32_REDUCE_MIN, 1, 2), 1, 0);
  CHECK_NEAR(smr_f32_reduce_join(SMR_F32_REDUCE_PROD, 3, 2), 6, 0);
  CHECK_NEAR(smr_f32_reduce_join(SMR_F32_REDUCE_SUM, 3, 2), 5, 0);
}

SMR_TEST_MAIN(RUN(tables); RUN(joining))
