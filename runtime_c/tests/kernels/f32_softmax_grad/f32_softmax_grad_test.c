// SPDX-License-Identifier: Apache-2.0
// Gradients of softmax, and cross-entropy of rows: every table against double, exact buffers.
#include "base/fp.h"

#include "base/isa.h"
#include "kernels/f32_softmax_grad/f32_softmax_grad.h"
#include "kernels/kernel_data.h"

#include "harness.h"

#include <math.h>

// Long sums in four lanes whose products round on their own are off by more.
static const double unit = SMR_ARCH_WASM_SIMD ? 2e-6 : 1e-6;

static void check_group(const float *dy, const float *y, const float *dx, size_t n, size_t stride,
                        int log_of) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (double)dy[i * stride] * (log_of ? 1 : (double)y[i * stride]);
  for (size_t i = 0; i < n; i++) {
    const double g = (double)dy[i * stride], v = (double)y[i * stride];
    CHECK_NEAR(dx[i * stride], log_of ? g - exp(v) * sum : v * (g - sum),
               unit * (1 + fabs(sum) * 2));
  }
}

static void check_rows(const struct smr_f32_softmax_grad *table, size_t n, int log_of) {
  uint32_t state = (uint32_t)n;
  float *dy = kernel_floats(n, &state), *y = kernel_floats(n, &state);
  float *dx = kernel_alloc(n * sizeof *dx, 4);
  table->row[log_of](n, dy, y, dx);
  check_group(dy, y, dx, n, 1, log_of);
  table->row[log_of](n, dy, y, dy);
  CHECK_MEM(dy, dx, n * sizeof *dx);
  kernel_free(dy, 4), kernel_free(y, 4), kernel_free(dx, 4);
}

static void check_columns(const struct smr_f32_softmax_grad *table, size_t rows, size_t columns,
                          int log_of) {
  uint32_t state = (uint32_t)columns;
  const size_t stride = columns + 3, count = (rows - 1) * stride + columns;
  float *dy = kernel_floats(count, &state), *y = kernel_floats(count, &state);
  float *dx = kernel_alloc(count * sizeof *dx, 4);
  memcpy(dx, dy, count * sizeof *dx);
  table->columns[log_of](rows, columns, stride, dy, y, dx);
  for (size_t j = 0; j < columns; j++) check_group(dy + j, y + j, dx + j, rows, stride, log_of);
  table->columns[log_of](rows, columns, stride, dy, y, dy);
  CHECK_MEM(dy, dx, count * sizeof *dx);
  kernel_free(dy, 4), kernel_free(y, 4), kernel_free(dx, 4);
}

static void check_cross(const struct smr_f32_softmax_grad *table, size_t n, int weighted) {
  uint32_t state = (uint32_t)n;
  float *x = kernel_floats(n, &state), *w = kernel_floats(n, &state);
  float *dx = kernel_alloc(n * sizeof *dx, 4);
  double sum = 0, distance = 0;
  for (size_t i = 0; i < n; i++) x[i] = x[i] * 20 - 60;  // all below 0: absent lanes must not win
  for (size_t i = 0; i < n; i++) sum += exp((double)x[i]);
  float best;
  const float more = table->log_sum(n, x, &best), got = best + more;
  CHECK_NEAR(got, log(sum), 1e-5);
  for (size_t i = 0; i < n; i++)
    distance += ((double)got - (double)x[i]) * (weighted ? (double)w[i] : 1);
  CHECK_NEAR(table->distance(n, x, weighted ? w : NULL, best, more), distance,
             1e-5 * (double)(n + 20));
  table->descend(n, x, weighted ? w : NULL, got, 0.5f, 0.25f, dx);
  for (size_t i = 0; i < n; i++)
    CHECK_NEAR(dx[i], exp((double)x[i] - (double)got) * 0.5 - (weighted ? (double)w[i] : 1) * 0.25,
               1e-6);
  table->descend(n, x, weighted ? w : NULL, got, 0.5f, 0.25f, x);
  CHECK_MEM(x, dx, n * sizeof *dx);
  kernel_free(x, 4), kernel_free(w, 4), kernel_free(dx, 4);
}

static void check_table(const struct smr_f32_softmax_grad *table, size_t lanes) {
  for (int form = 0; form < 2; form++) {
    for (size_t n = 1; n <= 3 * lanes + 1; n++) {
      check_rows(table, n, form);
      check_columns(table, 5, n, form);
      check_cross(table, n, form);
    }
    check_rows(table, 9001, form);
    check_columns(table, 700, lanes + 1, form);
    check_cross(table, 9001, form);
  }
  const float odd[3] = {0.0f, NAN, 1.0f}, low[2] = {-INFINITY, 1.0f};
  float best;
  CHECK(isnan(table->log_sum(3, odd, &best)));
  CHECK_NEAR(table->log_sum(2, low, &best), 0.0, 0);
  CHECK_NEAR(best, 1.0, 0);
}

SMR_TEST(tables) {
#define SMR_UKERNEL(isa, suffix, lanes) \
  if (KERNEL_RUNS(isa, suffix)) check_table(smr_f32_softmax_grad_config(isa), lanes);
#include "kernels/training.inc"
#undef SMR_UKERNEL
}

SMR_TEST_MAIN(RUN(tables))
